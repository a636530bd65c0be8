"""Gains by more cores: plans replayed on any number of threads (python -m benchmarks.cores [--report docs/cores.md]).

With `--report` rows are kept in cores.json, so that programs can be measured one by one (`--only`).

The steps of each program of `benchmarks.models` are timed while they run on one thread. A simulation then runs them as
the executor would on more: shards are handed out by urgency, steps that need Python stay with the thread that called, a
thread that sleeps takes a while to wake, and two that work at once slow each other down as this machine's do. What it
says of one thread and of this machine's cores is measured beside; what it says of more is for a machine whose further
cores are like these.
"""

from __future__ import annotations

import argparse
import bisect
import heapq
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

THREADS = (1, 2, 4, 8, 16, 64)
#: The rows of the page, by program; each run brings its own up to date.
RESULTS = Path(__file__).with_name("cores.json")
#: Nanoseconds: from an invitation to a sleeping thread's first work; that a thread without work stays awake; the least
#: work worth an invitation (`WORTH_NS` of the executor); handing out one shard.
WAKE, AWAKE, WORTH, HANDOVER = 15_000.0, 20_000.0, 8_000.0, 150.0
#: What is compared takes turns, each so many seconds.
TURNS, MOST_TURNS, TURN_S = 6, 18, 0.2
#: Other programs' part of the time of processors up to which the machine counts as quiet.
QUIET = 0.03
#: Bytes of a step's buffers up to which they count as kept in a core's cache; those of what is measured.
CACHED, LARGE = 1 << 20, 1 << 27
#: Times as fast as memory moves, from which on a shard did not move its buffers: they lay in a cache, or of a table few
#: rows were touched.
TOUCHED = 1.5


@dataclass
class Shard:
    """One part of a step: nanoseconds alone, and how much of what one core can move it moved meanwhile (0 to 1)."""

    alone: float
    streaming: float = 0.0


@dataclass
class Step:
    """A step of one run; `inner`: the runs of its sub-plans, one after another, between which `alone` passed."""

    shards: list[Shard]
    after: tuple[int, ...] = ()
    pinned: bool = False
    inner: list[Run] = field(default_factory=list)


@dataclass
class Run:
    """One run of a plan."""

    steps: list[Step]
    parallel: bool = False


@dataclass(frozen=True)
class Contention:
    """Times as long as something takes while another thread works, too: arithmetic, moving memory."""

    computing: float = 1.0
    streaming: float = 1.0

    def of(self, shard: Shard) -> float:
        """The factor of one shard."""
        return self.computing + (self.streaming - self.computing) * shard.streaming


def simulate(run: Run, threads: int, contention: Contention) -> float:
    """Nanoseconds that a run takes on so many threads."""
    if not run.parallel or threads == 1:
        return sum(_shard_ns(s, k, threads, contention, False) for s in run.steps for k in range(len(s.shards)))
    successors: list[list[int]] = [[] for _ in run.steps]
    waiting = [len(step.after) for step in run.steps]
    for i, step in enumerate(run.steps):
        for before in step.after:
            successors[before].append(i)
    tail = [0.0] * len(run.steps)
    for i in reversed(range(len(run.steps))):
        longest = max((tail[j] for j in successors[i]), default=0.0)
        inner = sum(simulate(each, 1, contention) for each in run.steps[i].inner)
        tail[i] = longest + inner + sum(shard.alone for shard in run.steps[i].shards)
    ready: list[tuple[float, int, int]] = []  # (-urgency, step, next shard)
    pinned: list[tuple[float, int, int]] = []
    left = [len(step.shards) for step in run.steps]

    def push(i: int, shard: int = 0) -> None:
        heapq.heappush(pinned if run.steps[i].pinned else ready, (-tail[i], i, shard))

    for i, n in enumerate(waiting):
        if n == 0:
            push(i)
    now, remaining, running = 0.0, len(run.steps), 0
    asleep = [-AWAKE] * threads  # since when a thread has had nothing to do; the first is the one that calls
    events: list[tuple[float, int, int]] = []  # (when, thread, step that it ends; -1: it is awake)
    idle = set(range(threads))
    invited: set[int] = set()

    def begin(thread: int) -> bool:
        """Give a thread the most urgent thing there is for it."""
        nonlocal running
        queue = pinned if thread == 0 and pinned else ready
        if not queue:
            return False
        _, i, shard = heapq.heappop(queue)
        if shard + 1 < len(run.steps[i].shards):
            push(i, shard + 1)
        running += 1
        taken = _shard_ns(run.steps[i], shard, threads, contention, running > 1)
        heapq.heappush(events, (now + HANDOVER + taken, thread, i))
        return True

    def worth() -> bool:
        return sum(s.alone for _, i, k in ready for s in run.steps[i].shards[k:]) >= WORTH

    while remaining:
        for thread in sorted(idle - invited):
            if thread == 0 or now - asleep[thread] < AWAKE:
                if begin(thread):
                    idle.discard(thread)
            elif worth():
                invited.add(thread)
                heapq.heappush(events, (now + WAKE, thread, -1))
        now, thread, i = heapq.heappop(events)
        if i < 0:
            invited.discard(thread)
            asleep[thread] = now
            continue
        running -= 1
        idle.add(thread)
        asleep[thread] = now
        left[i] -= 1
        if left[i] == 0:
            remaining -= 1
            for j in successors[i]:
                waiting[j] -= 1
                if waiting[j] == 0:
                    push(j)
    return now


def _shard_ns(step: Step, k: int, threads: int, contention: Contention, beside: bool) -> float:
    shard = step.shards[k]
    inner = sum(simulate(each, threads, contention) for each in step.inner) if k == 0 else 0.0
    return shard.alone * (contention.of(shard) if beside else 1.0) + inner


# ---- recordings ------------------------------------------------------------------------------------------------------


def recorded(events: Any, plans: dict[int, Any], bandwidth: float) -> list[tuple[Run, float]]:
    """The calls of a recording on one thread, each with the nanoseconds outside of its steps."""
    from fastgraph.profiling.recording import with_inner_plans

    known: dict[int, Any] = {}
    for plan in plans.values():
        with_inner_plans(plan, known)
    rows = sorted(events.tolist(), key=lambda e: (e[0], -e[1]))
    whole = [e for e in rows if e[5] == -1]
    begins = [e[0] for e in rows]
    calls = []
    for call in whole:
        near = rows[bisect.bisect_left(begins, call[0]) : bisect.bisect_right(begins, call[1])]
        within = [e for e in near if e[5] >= 0 and e[1] <= call[1]]
        run, used = _run_of(call[2], within, known, bandwidth)
        calls.append((run, call[1] - call[0] - used))
    return calls


def touched(plan: Any) -> int:
    """Bytes of the memory that a run of a plan uses."""
    from fastgraph.runtime.plan import Place

    own = sum(slot.nbytes for slot in plan.spec.slots if slot.place != Place.ARENA)
    return int(own + sum(plan.spec.arenas.values()))


def _run_of(address: int, events: list[Any], known: Any, bandwidth: float) -> tuple[Run, float]:
    """A run of one plan from the events in it, and the nanoseconds that its steps took."""
    from fastgraph.profiling.recording import bytes_moved
    from fastgraph.runtime.plan import GemmCall, KernelCall

    plan = known[address]
    steps: dict[int, Step] = {}
    used, at = 0.0, 0
    while at < len(events):
        begin, end, owner, first, last, number, _ = events[at]
        inside = at + 1
        while inside < len(events) and events[inside][0] < end:
            inside += 1
        if owner == address:
            spec = plan.spec.steps[number]
            step = steps.setdefault(number, Step([], tuple(spec.after), spec.pinned))
            taken = float(end - begin)
            used += taken
            for each in _inner_runs(events[at + 1 : inside]):
                run, spent = _run_of(each[0][2], each, known, bandwidth)
                step.inner.append(run)
                taken -= spent
            units = (
                spec.extent
                if isinstance(spec, KernelCall)
                else len(spec.a_offsets) * spec.pieces
                if isinstance(spec, GemmCall)
                else 1
            )
            share = (last - first) / max(units, 1)
            whole = bytes_moved(plan.spec, spec)
            rate = whole * share / max(taken, 1.0) / bandwidth if whole > CACHED else 0.0
            step.shards.append(Shard(max(taken, 0.0), 0.0 if rate > TOUCHED else min(1.0, rate)))
        at = inside
    made = [steps.get(i, Step([Shard(0.0)], tuple(spec.after), spec.pinned)) for i, spec in enumerate(plan.spec.steps)]
    return Run(made, plan.parallel), used


def _inner_runs(events: Sequence[Any]) -> list[list[Any]]:
    """The events of a loop cut where another plan begins, or the same one again."""
    runs: list[list[Any]] = []
    end, seen = -1, -1
    for event in events:
        if event[0] < end:
            runs[-1].append(event)  # deeper inside
            continue
        if not runs or event[2] != runs[-1][0][2] or event[5] < seen:
            runs.append([])
        runs[-1].append(event)
        end, seen = event[1], event[5]
    return runs


@dataclass
class Turn:
    """One turn of what is compared: nanoseconds of some work by one core and by two, of a step, recorded calls."""

    work: list[tuple[float, float]]  # arithmetic, copying
    measured: float = math.inf
    alone: float = math.inf
    recording: Any = None
    calls: int = 0
    beside: float = 0.0  # the part of what the processors did meanwhile that was other programs'


class Works:
    """Arithmetic and copying, one long call of NumPy on each thread: the GIL is free."""

    def __init__(self, nbytes: int) -> None:
        """For a program that uses `nbytes`: each thread has half of them, which caches keep or do not."""
        import numpy as np

        n, some = max(min(nbytes, LARGE), CACHED) // 32, np.full(1 << 18, 0.5)
        again = range(max(1, LARGE // n // 32))
        self.copied = len(again) * n * 16
        self._arrays = [(np.full(n, 0.5), np.zeros(n)) for _ in range(2)]

        def copy(origin: Any, target: Any) -> None:
            for _ in again:
                np.copyto(target, origin)

        self._works = (lambda origin, target: np.tan(some), copy)

    def times(self) -> list[tuple[float, float]]:
        """Nanoseconds of each by one core and by two at once, the least of five."""
        from concurrent.futures import ThreadPoolExecutor

        def least(work: Any, n: int) -> float:
            taken = []
            with ThreadPoolExecutor(n) as pool:
                for _ in range(5):
                    begin = time.perf_counter_ns()
                    list(pool.map(lambda k: work(*self._arrays[k]), range(n)))
                    taken.append(time.perf_counter_ns() - begin)
            return min(taken)

        return [(least(work, 1), least(work, 2)) for work in self._works]


def used() -> tuple[float, float]:
    """Seconds of processors that this process has used, and that all have; where the system does not tell, the same."""
    mine = time.process_time()
    try:
        busy = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return mine, mine
    return mine, sum(int(each) for k, each in enumerate(busy[:8]) if k not in (3, 4)) / os.sysconf("SC_CLK_TCK")


# ---- processes -------------------------------------------------------------------------------------------------------


def child(workload: str, case: str) -> dict[str, Any]:
    """One program on one thread and on as many as there are cores, in turn, and what the simulation says of both.

    In turn, in one process: the machine's clock changes. A turn in which other programs ran counts only where there are
    too few without; of what was measured and of the recorded calls the quickest quarter counts.
    """
    from benchmarks.peers import PEERS
    from benchmarks.worker import Cases, Timer
    from fastgraph.core.native.thread_pool import set_num_threads
    from fastgraph.runtime import executor

    small, cores = "small" in sys.argv, os.cpu_count() or 1
    cases = Cases(next(peer for peer in PEERS if peer.name == "fastgraph"), workload, small)
    call = cases.call(case)
    assert not isinstance(call, str) and cases.driver is not None
    call()
    cases.driver.settle()
    timer = Timer(call, 0.0 if small else 0.5)
    executor.start_recording(1 << 18)
    call()
    works = Works(max(touched(plan) for plan in executor.stop_recording()[1].values()))
    most, enough, seconds = (1, 1, 0.0) if small else (MOST_TURNS, TURNS, TURN_S)
    turns: list[Turn] = []
    while len(turns) < most and sum(turn.beside < QUIET for turn in turns) < enough:
        mine, all_of_them = used()
        turn = Turn(works.times())
        set_num_threads(cores)
        turn.measured = 1e9 * timer.sample(seconds)
        set_num_threads(1)
        turn.alone = 1e9 * timer.sample(seconds)
        executor.start_recording(1 << 18)
        begin = time.perf_counter()
        while not turn.calls or time.perf_counter() < begin + seconds:
            call()
            turn.calls += 1
        turn.recording = executor.stop_recording()
        now = used()
        turn.beside = max(0.0, 1 - (now[0] - mine) / max(now[1] - all_of_them, 1e-9))
        turns.append(turn)
    turns = sorted(turns, key=lambda turn: turn.beside)[:enough]
    least = [[min(turn.work[k][n] for turn in turns) for n in range(2)] for k in range(2)]
    found, bandwidth = Contention(*(two / one for one, two in least)), works.copied / least[1][0]
    groups = []
    for turn in turns:
        events, plans, _ = turn.recording
        calls = recorded(events, plans, bandwidth)
        per_call = max(1, round(len(calls) / turn.calls))
        groups += [calls[i : i + per_call] for i in range(0, len(calls) - per_call + 1, per_call)]

    def said(group: list[tuple[Run, float]], threads: int) -> float:
        return sum(simulate(run, threads, found) + outside for run, outside in group)

    groups.sort(key=lambda group: said(group, 1))
    simulated = {
        threads: statistics.median([said(group, threads) for group in quickest(groups)]) for threads in THREADS
    }
    step_ns, measured = (
        statistics.median(quickest(sorted(each))) for each in zip(*((t.alone, t.measured) for t in turns))
    )
    outside = max(0.0, step_ns - simulated[1])
    return {
        "step_ns": step_ns, "measured": measured, "outside": outside, "lost": sum(t.recording[2] for t in turns),
        "said": {threads: ns + outside for threads, ns in simulated.items()},
        "contention": [found.computing, found.streaming], "beside": turns[-1].beside,
    }  # fmt: skip


def quickest(ascending: list[Any]) -> list[Any]:
    """The first quarter."""
    return ascending[: max(1, len(ascending) // 4)]


def asked(workload: str, case: str, small: bool) -> dict[str, Any]:
    """The words of a child."""
    words = [sys.executable, "-m", "benchmarks.cores", "--child", workload, case, *(["small"] if small else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{workload}, {case}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def programs(only: str | None = None) -> list[tuple[str, str]]:
    """Workloads and cases."""
    from benchmarks.models import FAMILIES
    from benchmarks.run import cases

    found = cases(only, tuple(f"models.{family}" for family in FAMILIES)).items()
    return [(workload, case) for workload, names in found for case in names]


def line(row: dict[str, Any]) -> str:
    """A row of the page's table."""
    said = {int(t): ns for t, ns in row["said"].items()}
    cores = os.cpu_count() or 1
    own = said.get(cores, said[1])
    disturbed = f" ({row['beside']:.0%} beside)" if row["beside"] >= QUIET else ""
    cells = [row["program"] + disturbed]
    cells += [f"{row['step_ns'] / 1e6:.3g}", f"{row['measured'] / 1e6:.3g}", f"{own / 1e6:.3g}"]
    cells += [f"{own / row['measured'] - 1:+.0%}", *(f"{said[1] / said[t]:.1f}" for t in THREADS[1:])]
    return "| " + " | ".join(cells) + " |"


def page(rows: list[dict[str, Any]]) -> str:
    """The page."""
    from benchmarks.run import machine

    where, cores = machine(), os.cpu_count() or 1
    said = [{int(t): ns for t, ns in row["said"].items()} for row in rows]
    errors = [abs(each.get(cores, each[1]) / row["measured"] - 1) for each, row in zip(said, rows, strict=True)]
    factors = [statistics.median([row["contention"][k] for row in rows]) for k in range(2)]
    place = f"{where['date']}, {where['cpu']}, {cores} cores, {where['system']}"
    head = [
        "# Cores", "",
        f"{place}.", "",
        "Written by `python -m benchmarks.cores`, which says how the simulation works. Milliseconds of a step on one",
        f"thread and on {cores}, measured; on {cores}, simulated from the one thread's recording, and how much that is",
        "off; how many times as fast as on one thread more are by the simulation, on a machine whose further cores",
        "are like these. Two cores that work at once take {:.2f} times as long each for arithmetic here, {:.2f} times"
        " for memory.".format(*factors), "",
        f"The simulation is off by {statistics.median(errors):.0%} in the median, by 15 % or less in "
        f"{sum(e <= 0.15 for e in errors)} of {len(rows)} programs. \"Beside\" is the part of the processors' time",
        "that other programs had meanwhile, where that was 3 % or more: such a row says little.", "",
        f"| program | 1, ms | {cores}, ms | simulated | off | " + " | ".join(f"x {t}" for t in THREADS[1:]) + " |",
        "| --- |" + " --- |" * (4 + len(THREADS) - 1),
    ]  # fmt: skip
    return "\n".join([*head, *map(line, rows), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="patterns of workload/case, separated by semicolons")
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--report", type=Path, help="write the page there")
    parser.add_argument("--child", nargs=2, metavar=("WORKLOAD", "CASE"), help=argparse.SUPPRESS)
    options, _ = parser.parse_known_args()
    if options.child:
        print(json.dumps(child(*options.child)))
        return
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() and options.report else {}
    for workload, case in programs(options.only):
        kept[case] = {"program": case, **asked(workload, case, options.small)}
        print(line(kept[case]), flush=True)
        if options.report:
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
            options.report.write_text(page([kept[name] for _, name in programs() if name in kept]))


if __name__ == "__main__":
    main()
