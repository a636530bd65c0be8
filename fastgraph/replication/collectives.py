"""Arrays brought together over the processes of MPI: sums, joined arrays, the first one's, checked and with a limit.

Rule: every process begins the same exchanges in the same order. What is new (kind, dtypes, shapes) is compared before
any data is sent. Nothing blocks inside MPI: requests are asked for their end, and the verdict is looked at meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import itertools
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph import errors
from fastgraph.core.replicas import process
from fastgraph.errors import NotBuiltError
from fastgraph.replication import failure_detection, message_sums
from fastgraph.replication.message_sums import SumKind
from fastgraph.runtime.executor import count_exchanges

_HELLO, _TABLE, _ASKED, _ANSWER = 7703, 7704, 7705, 7706  # tags
_LOOKS = range(30)  # at a request before the processor is given to others again: each look moves bytes
_PATIENT = 2.0  # seconds after which it is looked at now and then

Arrays = list[np.ndarray]
#: The dtypes and shapes of arrays; None for what may differ.
Layout = tuple[tuple[np.dtype, tuple[int | None, ...]], ...]


def world() -> Any:
    """Return MPI's communicator of all processes. Raises NotBuiltError without mpi4py or an MPI."""
    try:
        with contextlib.nullcontext() if "mpi4py.MPI" in sys.modules else failure_detection.beginning():
            mpi: Any = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise NotBuiltError(
            f"MultiWorkerMirroredStrategy needs mpi4py and an MPI ({error}): pip install fastgraph[mpi], and start the "
            "program by `mpiexec -n 4 python PROGRAM`. In one process use tf.distribute.MirroredStrategy."
        ) from None
    _end_all_with_an_error(mpi.COMM_WORLD)
    return mpi.COMM_WORLD


def _versions() -> dict[str, str]:
    """The versions that have to be the same in all processes, by name."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        with open(main or "", "rb") as file:
            program = file.read()
    except OSError:
        program = "\0".join(sys.orig_argv[1:3]).encode() if "-c" in sys.orig_argv[1:2] else b""
    digest = hashlib.sha256(program).hexdigest()[:12]
    return {
        "fastgraph": sys.modules["fastgraph"].__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "NumPy": np.__version__,
        "the program": f"{os.path.basename(main or '-c')} ({digest})",
    }


def _layout(arrays: Sequence[np.ndarray]) -> Layout:
    if len(arrays) == 1:  # twice as fast, and what is this small is often alone
        array = arrays[0]
        return ((array.dtype, array.shape),)
    return tuple([(array.dtype, array.shape) for array in arrays])


def _looked(ready: Callable[[], Any], times: range) -> Any:
    for _ in times:
        if found := ready():
            return found
    return None


class Link:
    """This process's connection to the others."""

    def __init__(self, comm_world: Any, limit: float) -> None:
        mpi: Any = sys.modules["mpi4py.MPI"]
        self._mpi, self.rank, self.size = mpi, int(comm_world.rank), int(comm_world.size)
        self.journal = message_sums.Journal()
        self._known: dict[Hashable, tuple[int, str]] = {}  # what was compared: its digest, and words for it
        self._kinds: dict[tuple[Layout, bool], SumKind] = {}
        self.company: Any = None
        self._sent: list[Any] = []  # until the next comparison
        self.names = [f"{mpi.Get_processor_name()}:0"]
        if self.size == 1:
            return
        people = self._met(comm_world, limit)
        self.names = [f"{person.host}:{person.rank}" for person in people]
        self._control, self._data = self._copy(comm_world), self._copy(comm_world)
        threaded = mpi.Query_thread() == mpi.THREAD_MULTIPLE
        self.company = failure_detection.Company(comm_world, self._control, people, threaded, self.journal)
        process.journal = self.journal
        count_exchanges(self.journal.place_of_begun())

    # At the start.

    def _met(self, comm: Any, limit: float) -> list[failure_detection.Person]:
        """Return who the processes are. Raises DeadlineExceededError where some do not come; where versions differ."""
        pid = os.getpid()
        own = failure_detection.Person(self.rank, self._mpi.Get_processor_name(), pid, failure_detection.began(pid))
        until = time.monotonic() + limit
        if self.rank:
            request = comm.isend((own, _versions()), 0, _HELLO)
            while (message := comm.improbe(0, _TABLE)) is None:
                if time.monotonic() > until + failure_detection.GRACE:
                    raise errors.DeadlineExceededError(None, None, f"Process 0 has not come within {limit:g} s.")
                time.sleep(1e-3)
            people, fault = message.recv()
            request.Wait()
        else:
            came = {0: (own, _versions())}
            while len(came) < self.size and time.monotonic() < until:
                message = comm.improbe(tag=_HELLO)
                if message is None:
                    time.sleep(1e-3)
                else:
                    given = message.recv()
                    came[given[0].rank] = given
            people = [came[rank][0] for rank in sorted(came)]
            fault = self._fault(came, limit)
            for request in [comm.isend((people, fault), rank, _TABLE) for rank in came if rank]:
                request.Wait()
        if fault:
            raise getattr(errors, fault[0])(None, None, fault[1])
        return list(people)

    def _fault(self, came: dict[int, Any], limit: float) -> tuple[str, str] | None:
        away = [rank for rank in range(self.size) if rank not in came]
        if away:
            names = ", ".join(map(str, away))
            return "DeadlineExceededError", (
                f"Process {names} of {self.size} has made no MultiWorkerMirroredStrategy within {limit:g} s."
            )
        usual = came[0][1]
        for rank, (person, versions) in sorted(came.items()):
            for name, version in versions.items():
                if version != usual[name]:
                    return "FailedPreconditionError", (
                        f"Process {rank} of {self.size} (pid {person.pid} on {person.host}) has {version} as {name}, "
                        f"process 0 has {usual[name]}: all have to run the same."
                    )
        return None

    def _copy(self, comm: Any) -> Any:
        copy, request = comm.Idup()
        while not request.Test():
            time.sleep(0)
        return copy

    # Each exchange.

    def _begin(self, what: str, layout: Layout, more: Hashable = None) -> int:
        """Number an exchange, and compare it with the others' if there has been none such. Raises what they raise."""
        company, key = self.company, (what, layout, more)
        company.look()
        digest, words = self._known.get(key) or _told(key)
        with self._all_of_it():
            number, way = self.journal.go(digest, words)
            if key not in self._known or number == self.journal.compared:
                self._compare(number, way, words)
                self._known[key] = digest, words
            return int(number)

    @contextlib.contextmanager
    def _all_of_it(self) -> Iterator[None]:
        """A context in which an exchange begins, and may end: where an error leaves it, the others are told."""
        begun = self.journal.begun
        try:
            yield
        except BaseException as error:
            if self.journal.begun != begun:
                self.company.left(self.journal.begun, error)
            raise

    def _compare(self, number: int, digest: int, words: str) -> None:
        caught = self.journal.caught if number == self.journal.compared else 0
        comm, own = self._control, (number, digest, words, caught)
        if self.rank:
            self._sent = [comm.isend(own, 0, _ASKED)]
            self._await(lambda: comm.improbe(0, _ANSWER), number).recv()
            return
        probes = [functools.partial(comm.improbe, rank, _ASKED) for rank in range(1, self.size)]
        all_ = [own, *[self._await(probe, number).recv() for probe in probes]]
        groups: dict[Any, list[tuple[int, str]]] = {}
        for rank, theirs in enumerate(all_):
            groups.setdefault(tuple(theirs[:2]), []).append((rank, theirs[2]))
        if len(groups) > 1:
            verdict = self.company.differ(number, list(groups.values()))
            places = [(theirs[0], theirs[3]) if theirs[3] else (0, 0) for theirs in all_]  # where errors were caught
            if len(set(places)) > 1:
                rank = places.index(max(places))
                other = places.index(min(places))
                verdict = self.company.failed(rank, places[rank][0], other, places[other][0])
            self.company.accuse(verdict)
            self.company.look()
        self._sent = [comm.isend(True, rank, _ANSWER) for rank in range(1, self.size)]

    def _await(self, ready: Callable[[], Any], number: int) -> Any:
        """Return what `ready` gives once it is true. Raises the verdict, and DeadlineExceededError past the limit."""
        company, journal = self.company, self.journal
        company.look()  # a fork of the process asks MPI nothing
        try:
            while not (found := _looked(ready, _LOOKS)):
                waited = journal.wait(number)
                company.look()
                if waited > journal.limit:
                    company.late(number)
                if waited > _PATIENT:
                    time.sleep(2e-4)
                else:
                    os.sched_yield()
        finally:
            journal.wait(0)
        return found

    def _end(self, ready: Callable[[], Any], number: int) -> None:
        try:
            self._await(ready, number)
        except self._mpi.Exception as error:  # a message of another size, or a process that has gone: who says why?
            self.company.late(number, f" ({error})")

    # Sums.

    def _kind(self, layout: Layout, compress: bool) -> SumKind:
        found = self._kinds.get((layout, compress))
        if found is None:
            digest, _ = _told(("the sum", layout, compress))
            made = SumKind(self._mpi, self._data, self.journal, digest, layout, compress)
            found = self._kinds.setdefault((layout, compress), made)
        return found

    def steps(self, layout: Layout, compress: bool) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the steps in C that do what `start` and `end` do: see runtime/plan.py."""
        return self._kind(layout, compress).steps()

    def start(self, arrays: Sequence[np.ndarray], compress: bool = False) -> np.ndarray:
        """Begin to add up arrays of one dtype that MPI knows. t[*s]... -> the number of the sum, int64[], for `end`.

        compress: float32 is sent as bfloat16, and added up in float32. Where nobody has the number any more the sum
        goes on for the others alone.
        """
        layout = _layout(arrays)
        kind = self._kind(layout, compress)
        begun = kind.start(arrays)
        if begun is None:
            begun = kind.start(arrays, functools.partial(self._begin, "the sum", layout, compress))
            assert begun is not None
        return begun

    def end(self, number: np.ndarray) -> Arrays:
        """Wait for a sum and return it. Raises what waiting for others raises."""
        while not (found := message_sums.results(int(number))):
            self._ended(int(number))
        return found

    def _ended(self, number: int) -> None:
        with self.journal:
            self._end(functools.partial(message_sums.advance, number), message_sums.exchange_of(number))

    def all_reduce(self, arrays: Sequence[np.ndarray]) -> Arrays:
        """Return the sums of arrays over all processes."""
        return self.end(self.start(arrays))

    # Sums of what lies on a GPU: the same messages, from its memory and into it.

    def start_on_device(self, gpu: Any, layout: Layout, arrays: Sequence[Any]) -> np.ndarray:
        """Begin to add up what `start` adds up, of a GPU. t[n]... -> the number of the sum, int64[], for its end.

        gpu: what copies and adds up there (compiler/cuda/target.py).
        """
        kind, sizes = self._kind(layout, False), _sizes(layout)
        own, total = gpu.packed(arrays, sizes, kind.places, kind.size_in_bytes), gpu.empty(kind.size_in_bytes)
        kept = gpu.address(own), gpu.address(total), own, total
        return kind.start_on_device(kept, functools.partial(self._begin, "the sum", layout, False))

    def end_on_device(self, gpu: Any, layout: Layout, number: np.ndarray) -> list[Any]:
        """Wait for such a sum; return the sums, on the GPU. Raises what waiting for others raises."""
        ((_, _, own, total),) = self.end(number)
        found = []
        for (dtype, n), at in zip(_sizes(layout), self._kind(layout, False).places, strict=True):
            ours, sums = gpu.part(own, at, dtype, n), gpu.part(total, at, dtype, n)
            if self.size == 2:  # what has come is what the other has sent
                gpu.add(*((sums, ours) if self.rank else (ours, sums)), sums)
            found.append(sums)
        return found

    # Whole arrays.

    def all_gather(self, arrays: Sequence[np.ndarray], axis: int = 0) -> list[Arrays]:
        """Return for each of the arrays what each process has of it; shapes may differ along one axis. All at once."""
        with self.journal, self._all_of_it():
            number = self._begin(
                "the joining", tuple([(array.dtype, _open(array.shape, axis)) for array in arrays]), axis
            )
            if any(array.dtype == object for array in arrays):
                return [list(parts) for parts in zip(*self._objects(list(arrays), number), strict=True)]
            sizes = np.array([[array.size, array.shape[axis] if array.ndim else 1] for array in arrays], np.int64)
            all_sizes = np.empty((self.size, *sizes.shape), np.int64)
            self._end(self._data.Iallgather(sizes, all_sizes).Test, number)
            own = np.concatenate([np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays])
            widths = np.array([array.itemsize for array in arrays])
            counts = (all_sizes[:, :, 0] * widths).sum(1)
            whole, ends = np.empty(int(counts.sum()), np.uint8), np.concatenate([[0], np.cumsum(counts)])
            self._end(self._data.Iallgatherv(own, [whole, counts, ends[:-1], self._mpi.BYTE]).Test, number)
            found: list[Arrays] = [[] for _ in arrays]
            for rank in range(self.size):
                at = int(ends[rank])
                for i, array in enumerate(arrays):
                    size, extent = (int(n) for n in all_sizes[rank, i])
                    part = whole[at : at + size * array.itemsize]
                    part = part if at % array.itemsize == 0 else part.copy()
                    at += size * array.itemsize
                    shape = list(array.shape)
                    if shape:
                        shape[axis] = extent
                    found[i].append(part.view(array.dtype).reshape(shape))
            return found

    def of_first(self, array: np.ndarray) -> np.ndarray:
        """Return what the first process has. t[*s] -> t[*s]."""
        with self.journal, self._all_of_it():
            number = self._begin("the first one's part", ((array.dtype, array.shape),))
            if array.dtype == object:
                return np.asarray(self._objects(array, number)[0], object).reshape(array.shape)
            found = np.ascontiguousarray(array).copy()
            self._end(self._data.Ibcast([found.reshape(-1).view(np.uint8), self._mpi.BYTE], 0).Test, number)
            return found.reshape(array.shape)

    def _objects(self, value: object, number: int) -> list[Any]:
        """Return what each process has, of Python objects."""
        own = np.frombuffer(self._mpi.pickle.dumps(value), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self._end(self._data.Iallgather(np.array([own.size], np.int64), sizes).Test, number)
        whole, ends = np.empty(int(sizes.sum()), np.uint8), np.concatenate([[0], np.cumsum(sizes)])
        self._end(self._data.Iallgatherv(own, [whole, sizes, ends[:-1], self._mpi.BYTE]).Test, number)
        parts = [whole[a:b].tobytes() for a, b in itertools.pairwise(ends)]
        return [self._mpi.pickle.loads(part) for part in parts]


def takes_memory_of(gpu: Any) -> bool:
    """Return whether MPI reads and writes a GPU's memory: a simulator's is main memory."""
    mpi: Any = sys.modules["mpi4py.MPI"]
    asked = getattr(ctypes.CDLL(mpi.__file__), "MPIX_Query_cuda_support", None)
    return bool(gpu.SIMULATED or (asked is not None and asked() == 1))


def _sizes(layout: Layout) -> list[tuple[np.dtype, int]]:
    return [(dtype, math.prod(int(n or 0) for n in shape)) for dtype, shape in layout]


def _open(shape: tuple[int, ...], axis: int) -> tuple[int | None, ...]:
    """A shape without what it is along an axis."""
    axis %= max(len(shape), 1)
    return (*shape[:axis], None, *shape[axis + 1 :]) if shape else shape


def _told(key: tuple[str, Layout, Hashable]) -> tuple[int, str]:
    """The digest of an exchange, and words for it."""
    what, layout, _ = key
    first = "{}[{}]".format(layout[0][0], ", ".join("?" if n is None else str(n) for n in layout[0][1]))
    many = f" and {len(layout) - 1} more" if len(layout) > 1 else ""
    return int.from_bytes(
        hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big"
    ), f"{what} of {first}{many}"


def _end_all_with_an_error(comm_world: Any) -> None:
    """Have an uncaught error of this process end all: the others would wait for it for ever."""
    hook, rank, size, pid = sys.excepthook, int(comm_world.rank), int(comm_world.size), os.getpid()
    if size == 1 or getattr(hook, "ends_all", False):
        return

    def ending(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        hook(kind, error, trace)
        if os.getpid() != pid:  # a fork, which must not finalize MPI either
            sys.stdout.flush()
            os._exit(1)
        company, text = None if _link is None else _link.company, f"Process {rank} of {size} failed: all are ended."
        print(text, file=sys.stderr, flush=True)
        sys.stdout.flush()
        if company is None:
            time.sleep(5 * failure_detection.BEAT)  # the others may have found the same
        else:
            company.fail("UnavailableError", f"{company.of(rank)} failed: {kind.__name__}: {error}"[:1000])
        comm_world.Abort(1)

    ending.ends_all = True  # type: ignore[attr-defined]
    sys.excepthook = ending


_link: Link | None = None


def link(limit: float | None) -> Link:
    """Return this process's connection, made at the first call by all processes. limit: seconds to wait for others."""
    global _link
    if _link is None:
        _link = Link(world(), limit or failure_detection.LIMIT)
    if _link.company is not None:
        _link.journal.limit = limit or failure_detection.LIMIT
    return _link
