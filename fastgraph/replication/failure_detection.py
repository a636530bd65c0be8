"""Health of MPI's processes, and that they go the same way: their signs of life, the first one's verdict, the end.

Rule: who waits for another process looks at the verdict meanwhile and has a limit, so none waits for one that will not
come. A thread of each process sends a sign of life to the first, which alone judges; to die is seen by neighbours too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fastgraph import errors
from fastgraph.core.base import cpu_count, flags
from fastgraph.replication import beginning_watch
from fastgraph.replication.message_sums import Journal

BEAT = 0.1  #: Seconds between two signs of life.
SILENCE = 120.0  #: Seconds without any after which a process counts as dead.
LIMIT = 1800.0  #: Seconds that one waits for another where `timeout_seconds` says nothing.
SOON = 2e-3  #: Seconds between two looks for sums under way, while there are such now and then.
GRACE = 5.0  #: Seconds that the program has to see the verdict before its process is ended.
_REMEMBERED = 16  # of what was begun last: a sign is small enough to be sent without being asked for
_SIGN, _WORD = 7701, 7702  # tags: to the first process, from it


class Person(NamedTuple):
    """A process: its number, machine, number there, when it began, as the machine says."""

    rank: int
    host: str
    pid: int
    began: str


class Sign(NamedTuple):
    """A process's word on itself: how many exchanges it has begun, the last that was compared behind an error that was
    caught, the last of all (number, way, words), which it waits for (0: none), what it is at ("runs", "waits", "late",
    "ended", "failed"), and why it failed.
    """

    rank: int
    begun: int
    compared: int
    recent: tuple[tuple[int, int, str], ...]
    awaited: int
    phase: str
    failure: tuple[str, str] | None


def began(pid: int) -> str:
    """Return when a process of this machine began, "" where that cannot be told; a number alone may be used again."""
    try:
        return beginning_watch.stat(pid)[19]
    except (OSError, IndexError):
        return ""


def _has_ended(person: Person) -> bool:
    try:
        fields = beginning_watch.stat(person.pid)
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:  # out of descriptors: nothing can be told
        return False
    return fields[0] in "ZX" or fields[19] != person.began


class Company:
    """This process among those of MPI: says how it is, hears of the others, and ends all where one cannot go on."""

    def __init__(self, world: Any, comm: Any, people: Sequence[Person], threaded: bool, journal: Journal) -> None:
        self._world, self._comm, self._people, self.threaded = world, comm, people, threaded
        self._own = people[world.rank]
        self._near = [p for p in people if p.host == self._own.host and p is not self._own and p.began]
        self._near = [p for p in self._near if not _has_ended(p)]  # seen from here, so not in another container
        here = sum(1 for person in people if person.host == self._own.host)
        #: Sums go on beside the program: there is a network, or a processor that nobody else wants.
        self._goes_on = here < len(people) or cpu_count.available() > here * int(flags.get("threads"))
        self._every = BEAT * max(1.0, world.size / 64)  # what the first process can hear
        self._journal = journal
        journal.limit, journal.asked = LIMIT, not threaded
        self.phase = "runs"  # or "late", "ended", "failed"
        self.failure: tuple[str, str] | None = None
        self.verdict: tuple[str, str] | None = None
        self._judged = 0.0
        self._taken = self._all_ended = False
        self._signs: dict[int, Sign] = {}
        self._heard = dict.fromkeys(range(world.size), time.monotonic())
        self._sent: list[Any] = []
        self._last = self._looked = 0.0
        self._lock = threading.Lock()
        self._stopped, self._wake = False, threading.Event()
        self._witness = _witness(self._own, world.size)
        self._thread = threading.Thread(target=self._watch, daemon=True, name="fastgraph-signs-of-life")
        if threaded:
            self._thread.start()
        atexit.register(self._goodbye)
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """Let a fork of this process, which is none of MPI's, say so where it would take this one's place."""
        if self._witness is not None:  # else the witness would wait for the fork too
            os.close(self._witness)
            self._witness = None
        self.threaded = True  # so that nothing here calls MPI before the verdict is looked at
        self.verdict = (
            "FailedPreconditionError",
            (
                f"This is a fork of {self.of(self._own.rank)} and none of MPI's processes: what brings replicas "
                "together is done in the process that mpiexec has started."
            ),
        )
        self._journal.forked()

    def _silence(self) -> float:
        """Seconds without a sign after which a process counts as dead; without a thread signs come with exchanges."""
        return min(SILENCE, self._journal.limit + GRACE) if self.threaded else self._journal.limit + GRACE

    # This process's own part.

    def look(self) -> None:
        """Raise the error of what has happened to another process, if anything has."""
        if not self.threaded:
            self.beat()
        if self.verdict is not None:
            self._taken = True
            kind, text = self.verdict
            raise getattr(errors, kind)(None, None, text)

    def accuse(self, verdict: tuple[str, str]) -> None:
        """Take over what the program of this process has found of another."""
        self.failure = self.failure or verdict
        self._judge(verdict)
        self.beat(now=True)

    def left(self, number: int, error: BaseException) -> None:
        """Say that this process does not go on with an exchange that others wait for."""
        if self.verdict is None:
            text = f"{self.of(self._own.rank)} has left exchange number {number}: {type(error).__name__}: {error}"
            self.accuse(("UnavailableError", text[:1000]))

    def late(self, number: int, more: str = "") -> None:
        """Say that the limit has passed for an exchange, and raise the error of who has not come."""
        self.phase = "late"
        until = time.monotonic() + GRACE
        try:
            while time.monotonic() < until:
                self.beat(now=True)
                self.look()
                time.sleep(self._every / 2)
        finally:
            self.phase = "runs"
        limit = self._journal.limit
        raise errors.DeadlineExceededError(None, None, f"Exchange {number} has not ended in {limit:g} s{more}.")

    def fail(self, kind: str, text: str) -> None:
        """Say that this process cannot go on, and why."""
        self.phase, self.failure = "failed", self.verdict or self.failure or (kind, text)
        self._taken = True
        self._part()
        self._spread()

    def _spread(self) -> None:
        """Let the others hear why, and say so, before MPI ends them without a word."""
        until = time.monotonic() + 10 * self._every
        while time.monotonic() < until:
            self.beat(now=True)
            time.sleep(self._every / 2)

    def of(self, rank: int) -> str:
        """Return the name of a process in messages."""
        person = self._people[rank]
        return f"Process {rank} of {len(self._people)} (pid {person.pid} on {person.host})"

    # Signs of life.

    def _watch(self) -> None:
        large = given_up = 0
        while not self._stopped:
            journal = self._journal
            goes_on = given_up or (self._goes_on and journal.under_way and not journal.waits)
            # Nobody wakes it for a sum: that costs several times what a sum of 128 KiB does.
            idle = SOON if self._goes_on and journal.large != large else self._every / 2
            large = journal.large
            self._wake.wait(5e-4 if goes_on else idle)
            if goes_on:
                self._comm.Iprobe()
            given_up = journal.go_on()
            self.beat()
            if self.verdict and not self._taken and time.monotonic() - self._judged > GRACE:
                print(self.verdict[1], file=sys.stderr, flush=True)
                self._part()
                self._world.Abort(1)

    def beat(self, now: bool = False) -> None:
        """Say how this process is, and take what others have said. Does nothing while another thread does it."""
        at = time.monotonic()
        if (at - self._last < self._every and not now) or not self._lock.acquire(blocking=False):
            return
        try:
            self._last = at
            self._sent = [request for request in self._sent if not request.Test()]
            journal = self._journal
            phase = "waits" if journal.waits and self.phase == "runs" else self.phase
            sign = Sign(self._own.rank, *journal.recent(), journal.awaited, phase, self.failure)
            if self._own.rank:
                if len(self._sent) < _REMEMBERED:
                    self._sent.append(self._comm.isend(sign, 0, _SIGN))
                self._hear(at)
            else:
                self._signs[0] = sign
                self._hear_all(at)
            self._look_at_neighbours(at)
        finally:
            self._lock.release()

    def _hear(self, at: float) -> None:
        """Take what the first process says; where it says nothing, it is dead."""
        while (message := self._comm.improbe(0, _WORD)) is not None:
            verdict, self._all_ended = message.recv()
            self._heard[0] = at
            self._judge(verdict)
        if at - self._heard[0] > self._silence():
            self._judge(("UnavailableError", self._silent(0)))

    def _hear_all(self, at: float) -> None:
        """Take what all say, judge, and say what was found."""
        while (message := self._comm.improbe(tag=_SIGN)) is not None:
            sign = message.recv()
            self._signs[sign.rank] = sign
            self._heard[sign.rank] = at
        self._heard[0] = at
        self._judge(self._found(at))
        self._all_ended = len(self._signs) == len(self._people) and all(
            sign.phase in ("ended", "failed") for sign in self._signs.values()
        )
        for rank in range(1, len(self._people)):
            if len(self._sent) < _REMEMBERED * len(self._people):
                self._sent.append(self._comm.isend((self.verdict, self._all_ended), rank, _WORD))

    def _look_at_neighbours(self, at: float) -> None:
        if at - self._looked < 2 * self._every or self._all_ended or self.verdict:
            return
        self._looked = at
        for person in self._near:
            sign = self._signs.get(person.rank)
            if _has_ended(person) and not (sign and sign.phase == "ended"):
                text = f"{self.of(person.rank)} has ended without an error of its own: it was killed, or has crashed."
                self.failure = self.failure or ("UnavailableError", text)
                self._judge(self.failure)

    def _judge(self, verdict: tuple[str, str] | None) -> None:
        if verdict and not self.verdict:
            self.verdict, self._judged = verdict, time.monotonic()
            self._journal.asked = True

    def _silent(self, rank: int) -> str:
        return (
            f"{self.of(rank)} gives no sign of life: it is stopped, or has ended, or its machine cannot be reached; "
            f"the last was {self._at(rank)}."
        )

    def _at(self, rank: int) -> str:
        """Return where a process was when it was last heard of."""
        sign = self._signs.get(rank)
        if sign is None or not sign.recent:
            return "before its first exchange"
        number, _, what = sign.recent[-1]
        return f"{'in' if sign.phase in ('waits', 'late') else 'after'} number {number}, {what}"

    # The first process's part.

    def _found(self, at: float) -> tuple[str, str] | None:
        signs = list(self._signs.values())
        for sign in signs:
            if sign.failure is not None:
                return sign.failure
        silence = self._silence()
        for rank, heard in self._heard.items():
            gone = rank in self._signs and self._signs[rank].phase == "ended"
            if at - heard > silence and not gone:
                return "UnavailableError", self._silent(rank)
        return self._ahead(signs) or self._other_ways(signs) or self._left_alone(signs) or self._late(signs)

    def _ahead(self, signs: list[Sign]) -> tuple[str, str] | None:
        """Find who compares an exchange, behind an error that it has caught, which others have begun without one."""
        for sign in signs:
            for other in signs:
                if other.begun >= sign.compared > other.compared:
                    return self.failed(sign.rank, sign.compared, other.rank)
        return None

    def failed(self, rank: int, number: int, other: int, another: int = 0) -> tuple[str, str]:
        """Return the verdict on a process that has caught an error where another one has had none, or elsewhere."""
        where = "none there" if not another else "one of another step" if another == number else f"one before {another}"
        return "InvalidArgumentError", (
            f"{self.of(rank)} has caught an error of a run before exchange number {number}, process {other} has had "
            f"{where}: they are not at the same step any more."
        )

    def _other_ways(self, signs: list[Sign]) -> tuple[str, str] | None:
        """Find who has begun something else than most as the exchange of the same number."""
        begun: dict[int, dict[int, list[tuple[int, str]]]] = {}
        for sign in signs:
            for number, way, what in sign.recent:
                begun.setdefault(number, {}).setdefault(way, []).append((sign.rank, what))
        for number in sorted(begun):
            if len(begun[number]) > 1:
                return self.differ(number, list(begun[number].values()))
        return None

    def differ(self, number: int, groups: list[list[tuple[int, str]]]) -> tuple[str, str]:
        """Return the verdict on processes that have begun different things: (rank, words) of those that agree."""
        groups = sorted(groups, key=lambda group: (-len(group), group[0][0]))
        (one, usual), (rank, other) = groups[0][0], groups[1][0]
        where = f"(exchange number {number})"
        if usual == other:  # the exchanges that differed are too long ago to be named
            usual, where = "something else", f"(an exchange before number {number}), and values may be wrong since"
            other = "an exchange"
        return "InvalidArgumentError", (
            f"{self.of(rank)} has begun {other} where process {one} has begun {usual} {where}: the "
            "processes run different programs, or have tensors of different shapes or dtypes."
        )

    def _left_alone(self, signs: list[Sign]) -> tuple[str, str] | None:
        """Find who has ended while others wait for it."""
        for sign in signs:
            for other in signs if sign.phase == "ended" else ():
                if other.awaited > sign.begun:
                    what = other.recent[-1][2]
                    return "FailedPreconditionError", (
                        f"{self.of(sign.rank)} has ended after {sign.begun} exchanges; process {other.rank} waits for "
                        f"it in number {other.awaited}, {what}."
                    )
        return None

    def _late(self, signs: list[Sign]) -> tuple[str, str] | None:
        """Find who has not come to what another has waited for too long."""
        limit = self._journal.limit
        for sign in signs:
            if sign.phase != "late":
                continue
            what = {number: words for number, _, words in sign.recent}.get(sign.awaited, "an exchange")
            away = [s for s in signs if s.begun < sign.awaited] or [
                s for s in signs if s.phase not in ("waits", "late") and s.rank != sign.rank
            ]
            if not away:
                return "DeadlineExceededError", f"Exchange number {sign.awaited}, {what}, takes over {limit:g} s."
            return "DeadlineExceededError", (
                f"{self.of(away[0].rank)} has not come to exchange number {sign.awaited}, {what}, within "
                f"{limit:g} s: it is {self._at(away[0].rank)}."
            )
        return None

    # The end.

    def _part(self) -> None:
        """Let the witness know that this process ends with its knowledge."""
        if self._witness is not None:
            with contextlib.suppress(OSError):
                os.write(self._witness, b"bye\n")
                os.close(self._witness)
            self._witness = None

    def _goodbye(self) -> None:
        """End with the others: none of them is to wait for this one in vain, nor this one in MPI's own end."""
        if os.getpid() != self._own.pid:  # a fork of it
            return
        if self.phase == "runs":
            self.phase = "ended"
        while not self._all_ended and self.verdict is None:
            self._journal.go_on()
            self.beat(now=True)
            time.sleep(self._every / 4)
        self._stopped = True
        self._wake.set()
        if self.threaded:
            self._thread.join()
        self._part()
        if self.verdict is not None:
            if not self._taken:
                print(self.verdict[1], file=sys.stderr, flush=True)
            sys.stdout.flush()
            self._spread()
            self._world.Abort(1)


def _witness(person: Person, size: int) -> int | None:
    """Start a process that tells if this one ends without a word, and return the pipe that keeps it silent.

    mpiexec ends all processes at once when one is killed, so none of them could, and often names another's pid: the
    times that witnesses tell say who was first.
    """
    text = (
        f"Process {person.rank} of {size} (pid {person.pid} on {person.host}) has ended without an error of its own: "
        "killed, or crashed, at"
    )
    try:
        end, pipe = os.pipe()
        clock = "$(date +%T.%N). Of several such lines the earliest is the one to look at."
        script = f'read -r word; [ "$word" = bye ] || echo "$0 {clock}" >&2'
        with open(os.devnull, "w") as nowhere:
            subprocess.Popen(["/bin/sh", "-c", script, text], stdin=end, stdout=nowhere, start_new_session=True)
        os.close(end)
    except OSError:
        return None
    return pipe


@contextlib.contextmanager
def beginning() -> Iterator[None]:
    """While MPI begins, end this process where MPICH's mpiexec has started one that has ended: MPI waits for it."""
    watcher, parent = None, os.getppid()
    if beginning_watch.is_of_mpich(parent):
        command = [sys.executable, "-I", "-S", beginning_watch.__file__, str(os.getpid()), str(parent)]
        with contextlib.suppress(OSError):
            watcher = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        if watcher is not None:
            watcher.kill()
            watcher.wait()
