"""The service where kernels are asked for: from memory, from the store, or from a compiler in the background.

Rule: `request` never waits for a compilation and never imports Numba; whoever wants the code at once waits on its
handle. One process holds each kernel once, however many plans use it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.store.kernel_store import Store, store, warn
from fastgraph.compiler.store.worker_processes import (
    CompilerCrashed,
    ForkedWorker,
    ForkedWorkerLost,
    Worker,
    WorkerLost,
    most_twins,
)
from fastgraph.core.base import cpu_count, flags
from fastgraph.core.base.locks import importing
from fastgraph.core.base.read_only import ReadOnly

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.loader import Library

IDLE_SECONDS = 10.0
#: How long the end of a program waits for a worker that is being started: it takes over what is still to be compiled.
START_SECONDS = 1.0


@dataclass(eq=False)
class Entry:
    """A kernel of this process: asked for, perhaps loaded."""

    key: str
    spec: KernelSpec
    store: Store
    users: int = 0
    library: Library | None = None
    error: str | None = None
    refused: bool = False  # what the store has does not link
    plain: bool = False  # to be compiled without vectors, of which the compiler died
    done: threading.Event = field(default_factory=threading.Event)


class Handle:
    """One user's hold on a kernel. The address may be called as long as the handle is open."""

    __slots__ = ("__weakref__", "_entry", "_open")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._open = True

    @property
    def key(self) -> str:
        """The name of the kernel's machine code, the same in every process of this machine."""
        return self._entry.key

    spec = ReadOnly[KernelSpec]("_entry.spec", "The kernel that was asked for.")

    @property
    def ready(self) -> bool:
        """True if `address` may be called."""
        return self._open and self._entry.library is not None

    @property
    def address(self) -> int:
        """The kernel's entry point, 0 until it is ready."""
        library = self._entry.library if self._open else None
        return library.address if library is not None else 0

    error = ReadOnly[str | None]("_entry.error", "The reason why there will be no address, if so.")

    @property
    def told(self) -> bool:
        """True if a warning has said so already."""
        return self.error is not None and self.error == _desk.missing

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernel is ready or has failed, at most `timeout` seconds; return `ready`."""
        if not self._entry.done.is_set():
            _desk.hire()
            self._entry.done.wait(timeout)
        return self.ready

    def close(self) -> None:
        """Let go; the last user's leaving releases the code."""
        if self._open:
            self._open = False
            _desk.release(self._entry)

    def __del__(self) -> None:
        try:  # noqa: SIM105  at interpreter exit every global name may be gone, contextlib's and the desk's as well
            self.close()
        except Exception:
            pass


@dataclass
class Statistics:
    """Counts of what this process has done so far."""

    loaded_from_store: int = 0
    compiled: int = 0
    compiled_in_place: int = 0
    failed: int = 0


class KernelService:
    """All state of the process: the table of kernels, the queue of those to compile, the threads that serve it."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.in_place = False  # set for good once a worker could not be used
        self.missing = ""  # why nothing can be compiled at all: Numba or llvmlite is not to be had
        self.closing = False
        self._table: dict[str, Entry] = {}
        self._left: deque[Entry] = deque()  # of handles that are gone
        self._reset()

    def _reset(self) -> None:
        # Reentrant, because a handle may be collected, and so closed, anywhere.
        self.lock = threading.RLock()
        self.work = threading.Condition(self.lock)
        self.queue: deque[Entry] = deque()
        self.threads: set[threading.Thread] = set()
        self.workers: set[Worker] = set()
        self.twins: set[ForkedWorker] = set()
        self.idle = 0
        self.starting = 0  # threads that are about to start a worker
        self.compiling = threading.Lock()  # held while Numba runs in this process

    def request(self, specs: Iterable[KernelSpec]) -> list[Handle]:
        kernel_key = _target().kernel_key
        handles = []
        missing: list[Entry] = []
        place = store()
        for spec in specs:
            key = kernel_key(spec)
            with self.lock:
                entry = self._table.get(key)
                if entry is None:
                    entry = self._table[key] = Entry(key, spec, place)
                    if self.closing:  # LLVM must not run during the exit
                        self.fail(entry, "the process is ending")
                    elif not self._load(entry, place.read(key), stored=True):
                        missing.append(entry)
                entry.users += 1
            handles.append(Handle(entry))
        # The longest first: no other process waits for the last one then.
        missing.sort(key=lambda each: -len(each.spec.source))
        with self.lock:
            self._let_go()
            self.queue.extend(missing)
            for worker in self.workers if missing else ():
                worker.note(missing)
        self.hire()
        return handles

    def release(self, entry: Entry) -> None:
        if self.closing:  # nothing is released any more, and a thread that died in the exit may have held the lock
            return
        # Handles are collected anywhere, amid an import for example, for which the thread that has the lock may wait.
        self._left.append(entry)
        if self.lock.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self.lock.release()

    def _let_go(self) -> None:
        while self._left:
            entry = self._left.popleft()
            entry.users -= 1
            if entry.users == 0 and self._table.get(entry.key) is entry:
                del self._table[entry.key]
                entry.library = None

    def _load(self, entry: Entry, code: bytes | None, stored: bool) -> bool:
        """Link `code` and mark the entry done; False if there is none, or stored code does not link."""
        if code is None:
            return False
        from fastgraph.compiler.cpu.loader import Library, LoadError

        try:
            library = Library(code, _target().symbol(entry.key))
        except LoadError as error:
            if stored:
                entry.refused = True
                warn(f"a stored kernel does not load and is compiled again: {error}")
                return False
            self.fail(entry, str(error))
            return True
        if stored:
            self.statistics.loaded_from_store += 1
        else:
            self.statistics.compiled += 1
        entry.library = library
        entry.done.set()
        return True

    def fail(self, entry: Entry, why: str) -> None:
        self.statistics.failed += 1
        entry.error = why
        entry.done.set()

    def finish(self, entry: Entry, code: bytes, found: bool = False) -> None:
        """Load what was compiled, or `found` in the store, where another process had stored it meanwhile."""
        with self.lock:  # LLVM must not be amid linking at a fork
            if not self.closing and not self._load(entry, code, stored=found):
                self.queue.appendleft(entry)

    def wanted(self) -> list[Entry]:
        """The kernels that are asked for and not there, in their order."""
        return list(dict.fromkeys([*self.queue, *[e for e in self._table.values() if not e.done.is_set()]]))

    # ---- the threads that have kernels compiled ----

    def hire(self) -> None:
        """See that enough threads serve the queue."""
        with self.lock:
            if not self.queue or self.closing:
                return
            in_place = self.in_place or not flags.get("worker")
            most = 1 if in_place or most_twins() else max(1, cpu_count.available() - 1)
            # A further worker costs half a second of one core before its first kernel.
            if not self.threads or (
                self.idle == 0 and len(self.threads) < most and len(self.queue) > 8 * len(self.threads)
            ):
                self._employ(None, in_place)
            self.work.notify_all()

    def expect(self) -> None:
        """Start a process that compiles, where kernels are about to be asked for and the store has none at all."""
        with self.lock:
            idle = self.threads or self.closing or self.in_place or not flags.get("worker")
            if not idle and store().is_empty():
                self._employ(None)

    def _employ(self, worker: Worker | None, in_place: bool = False) -> None:
        thread = threading.Thread(target=self._serve, args=(worker, in_place), name="fastgraph-compile", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
            return  # the process is ending
        self.threads.add(thread)
        self.starting += worker is None and not in_place

    def _serve(self, worker: Worker | None, in_place: bool) -> None:
        try:
            if not in_place and worker is None:
                try:
                    worker = self._start()
                finally:
                    with self.lock:
                        self.starting -= 1
                        self.work.notify_all()
            while (entry := self._next()) is not None:
                if worker is None:
                    self._compile_here(entry)
                    continue
                try:
                    with self.lock:
                        more = len(self.queue) > len(self.twins) and not self.closing
                    twin = worker.twin() if more else None
                    if twin is not None:
                        with self.lock:
                            self._employ(twin)
                    code, found = worker.compile(entry)
                except CompilerCrashed as crash:
                    if entry.plain:
                        self.fail(entry, str(crash))
                        warn(f"a kernel's ops run uncompiled: {crash}")
                    else:
                        entry.plain = True
                        with self.lock:
                            self.queue.appendleft(entry)
                    worker = self._start()
                except ForkedWorkerLost:  # whatever the reason: the process it was forked from says what it is
                    with self.lock:
                        self.queue.appendleft(entry)
                    return
                except WorkerLost as lost:
                    if self.closing:
                        return
                    if self._can_compile():
                        self._give_up(str(lost))
                    worker = None
                    self._compile_here(entry)
                else:
                    if isinstance(code, str):
                        self.fail(entry, code)
                    else:
                        self.finish(entry, code, found)
        except BaseException as error:
            if not self.closing:
                self._abandon(f"the compiler's thread failed: {error!r}")
                raise
        finally:
            if worker is not None:
                worker.close()
            with self.lock:
                self.threads.discard(threading.current_thread())
            self.hire()  # a kernel may have been asked for since this thread found nothing to do

    def _start(self) -> Worker | None:
        """A new worker; None, after one warning, where none can be started."""
        try:
            return Worker(self, int(flags.get("linger")) if store().prepare() else 0)
        except OSError as error:
            self._give_up(f"cannot be started: {error}")
            return None

    def _next(self) -> Entry | None:
        """The next kernel to compile; None when there was none for a while."""
        with self.lock:
            while True:
                while self.queue:
                    entry = self.queue.popleft()
                    if entry.users > 0:
                        return entry
                    if self._table.get(entry.key) is entry:
                        del self._table[entry.key]
                    entry.error = "nobody asks for it any more"
                    entry.done.set()  # who waits for all kernels may have seen it
                if self.closing:
                    return None
                self.idle += 1
                told = self.work.wait(IDLE_SECONDS)
                self.idle -= 1
                if self.closing or (not told and not self.queue):
                    return None

    def _can_compile(self) -> bool:
        """Return whether Numba can be imported in this process."""
        with self.compiling:
            if not self.missing and not self.closing:
                try:
                    from fastgraph.compiler.cpu import object_code
                except Exception as error:  # Numba raises whatever it likes where another package does not suit it
                    self.miss(error)
                else:
                    assert object_code is not None
        return not self.missing

    def miss(self, error: Exception) -> None:
        """Compile nothing from now on; say so once."""
        with self.lock:
            told, self.missing, self.in_place = self.missing, _told(error), True
        if not told:
            warn(f"kernels cannot be compiled, every op runs uncompiled: {error}")

    def _compile_here(self, entry: Entry) -> None:
        if entry.plain or not self._can_compile():  # what a compiler died of must not be tried in this process
            self.fail(entry, "the compiler died of it" if entry.plain else self.missing)
            return
        with self.compiling:
            if self.closing:
                return
            try:
                from fastgraph.compiler.cpu import object_code

                code = object_code.compile_kernel(entry.spec, entry.key).code
            except Exception as error:
                self.fail(entry, str(error))
                return
        self.statistics.compiled_in_place += 1
        self.finish(entry, code)
        if entry.error is None:
            entry.store.write(entry.key, code)

    def _give_up(self, why: str) -> None:
        """Compile in this process from now on; say so once."""
        with self.lock:
            told, self.in_place = self.in_place, True
        if not told:
            warn(f"the process that compiles kernels {why}; they are compiled in this process from now on")

    def _abandon(self, why: str) -> None:
        with self.lock:
            waiting = [entry for entry in self._table.values() if not entry.done.is_set()]
            self.queue.clear()
        for entry in waiting:
            self.fail(entry, why)

    # ---- the end of the process, and fork ----

    def close(self, patience: float = START_SECONDS) -> None:
        """Stop compiling here; a worker goes on for a while, also one that starts within `patience` seconds."""
        with self.lock:  # a thread that builds a program may be linking: it ends that, and links nothing after it
            if self.queue and not self.workers:
                self.work.wait_for(lambda: not self.starting, patience)
            self.closing = True
            workers, threads = [*self.workers, *self.twins], list(self.threads)
            here = not workers and self.compiling.locked()
            self.queue.clear()
            self.work.notify_all()
        for worker in workers:
            worker.leave()
        for thread in threads if here else ():  # it finishes its kernel: LLVM must not run during the exit
            thread.join(5.0)

    def before_fork(self) -> None:
        self.compiling.acquire(timeout=5.0)
        self.lock.acquire()

    def after_fork_in_parent(self) -> None:
        for lock in (self.lock, self.compiling):
            with contextlib.suppress(RuntimeError):  # it was not to be had, or this module was imported meanwhile
                lock.release()

    def after_fork_in_child(self) -> None:
        """The child has the kernels, but no thread and no worker; what was pending starts over when waited for."""
        for worker in (*self.workers, *self.twins):
            worker.disown()
        self._reset()
        for entry in self._table.values():
            if not entry.done.is_set():
                entry.done = threading.Event()
                self.queue.append(entry)


_desk = KernelService()
atexit.register(lambda: _desk.close())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _desk.before_fork(),
        after_in_parent=lambda: _desk.after_fork_in_parent(),
        after_in_child=lambda: _desk.after_fork_in_child(),
    )


def request(specs: Iterable[KernelSpec]) -> list[Handle]:
    """A handle for each kernel. Those in memory or in the store are ready at once; the others are being compiled."""
    return _desk.request(specs)


def environment() -> bytes:
    """A name of what kernels are compiled by, and of the CPU that they are compiled for. Raises ImportError."""
    return bytes(_target().environment())


def _target() -> types.ModuleType:
    """The module that knows the CPU."""
    with importing:
        try:
            from fastgraph.compiler.cpu import target
        except Exception as error:  # a shared object that does not load, say
            raise error if isinstance(error, ImportError) else ImportError(_told(error)) from error
    return target


def _told(error: Exception) -> str:
    """The text of an error, and its class where that is no ImportError; never nothing."""
    return str(error) if isinstance(error, ImportError) and str(error) else f"{type(error).__name__}: {error}"


def expect() -> None:
    """Say that kernels will be asked for soon: importing what compiles them takes longer than making their sources."""
    _desk.expect()


def hand_over(patience: float) -> None:
    """Leave what is to be compiled to a process that goes on after this one; it has so many seconds to start."""
    _desk.close(patience)


def miss(error: ImportError) -> None:
    """Warn, once in a process, that a package without which nothing can be compiled or loaded is not there."""
    _desk.miss(error)


def statistics() -> Statistics:
    """Return how many kernels this process loaded and compiled."""
    return _desk.statistics


def wait_for_all(timeout: float) -> bool:
    """Wait until every kernel that was asked for is there, or failed; say whether that was within so many seconds."""
    end = time.monotonic() + timeout
    with _desk.lock:
        wanted = _desk.wanted()
    return all(entry.done.wait(max(0.0, end - time.monotonic())) for entry in wanted)
