"""The service's side of the processes that compile: started, asked, heard or given up, left behind.

Rule: what is asked for is also noted in a file without a name that the process shares (`_Spool`): it stores what the
program did not live to see, however the program ended. Nothing of the program's is handed on: no pipe, no terminal, no
folder.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import cpu_count
from fastgraph.core.base.locks import importing

if TYPE_CHECKING:
    from fastgraph.compiler.store.kernel_service import Entry, KernelService

#: How long a worker may take over one kernel, or to start, before it counts as hung.
TIMEOUT_SECONDS = 120.0


class WorkerLost(Exception):
    """A worker that was killed, hangs, or did not start."""


class CompilerCrashed(Exception):
    """A worker that died of a fault while it compiled: the kernel must not be tried in this process."""


class ForkedWorkerLost(Exception):
    """A worker's twin that ended."""


class Worker:
    """The parent's side of one compiling process."""

    def __init__(self, desk: KernelService, linger: int) -> None:
        """Start it; for `linger` seconds it goes on after this process. Raises OSError."""
        with importing:
            import subprocess

            from fastgraph.compiler.store import worker

        if not sys.executable or getattr(sys, "frozen", False):
            raise OSError("this Python is embedded or frozen")
        self._desk = desk
        kept: list[int] = []  # this process's descriptors
        theirs: list[int] = []
        try:
            for _ in range(1 + most_twins()):
                (asked, ask), (answer, answered) = _pipe(), _pipe()
                kept += (ask, answer)
                theirs += (asked, answered)
            self._errors, self._spool = _unnamed_file(), _unnamed_file()
            kept += (self._errors, self._spool)
            pairs = list(itertools.pairwise(theirs))[::2]
            self.process = subprocess.Popen(
                worker.command(*pairs[0], _absolute(sys.path), pairs[1:], self._spool, linger),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")},
                pass_fds=(*theirs, self._spool),
                cwd="/",  # the program's own may be gone, and may be wanted when only this process is left
                start_new_session=True,  # Ctrl-C and the terminal are for the program
            )
        except BaseException:
            for fd in kept:
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self._requests, self._answers, *spares = kept[:-2]
        self._spares = list(itertools.pairwise(spares))[::2]  # this process's ends of the pipes to twins
        self._started = False
        with desk.lock:
            desk.workers.add(self)
            self.note(desk.wanted())
            if desk.closing:
                self.leave()

    def note(self, entries: Iterable[Entry]) -> None:
        """Have these kernels stored if this process ends before it has them."""
        from fastgraph.compiler.store.worker import packed

        with contextlib.suppress(OSError):
            os.write(self._spool, b"".join([packed(_message(entry)) for entry in entries]))

    def twin(self) -> ForkedWorker | None:
        """Another process like this one, forked from it once it has imported Numba, if it may have one more."""
        if not self._spares:
            return None
        requests, answers = self._spares.pop()
        twin = ForkedWorker(self._desk, requests, answers)
        with contextlib.suppress(OSError):  # if it is gone, so is the twin
            self._send({"twin": len(self._spares) + 1})
        return twin

    def _close_spares(self) -> None:
        for fd in itertools.chain(*self._spares):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._spares.clear()

    def compile(self, entry: Entry) -> tuple[bytes | str, bool]:
        """The object code, or the compiler's complaint; and whether it was in the store by now.

        Raises WorkerLost, CompilerCrashed.
        """
        try:
            if not self._started:
                self._receive()
                self._started = True
            self._send(_message(entry))
            answer, code = self._receive()
        except (OSError, EOFError) as error:
            raise self._verdict(error) from None
        for kind, text in answer["troubles"]:
            entry.store.report(kind, text)
        return (str(answer["error"]) if "error" in answer else code), bool(answer["found"])

    def _verdict(self, error: Exception) -> Exception:
        """Tell what became of the process, from how it ended."""
        import signal

        hung = isinstance(error, TimeoutError)
        if hung:
            self.kill()
        self.close()
        status = self.process.returncode
        if hung:
            return WorkerLost(f"did not answer within {TIMEOUT_SECONDS:g} s")
        if self._started and status in (
            -signal.SIGSEGV,
            -signal.SIGABRT,
            -signal.SIGILL,
            -signal.SIGBUS,
            -signal.SIGFPE,
        ):
            return CompilerCrashed(f"the compiler died of signal {-status}")
        said = self._last_words
        return WorkerLost(
            (f"was killed by signal {-status}" if status < 0 else f"ended with status {status}")
            + (f": {said}" if said else "")
        )

    def _send(self, message: dict[str, object]) -> None:
        from fastgraph.compiler.store.worker import send

        with open(self._requests, "wb", closefd=False) as stream:
            send(stream, message)

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        from fastgraph.compiler.store.worker import receive

        return receive(_TimedReader(self._answers, TIMEOUT_SECONDS))  # type: ignore[arg-type]

    def kill(self) -> None:
        """End the process, whatever it does."""
        with contextlib.suppress(OSError):
            self.process.kill()

    def leave(self) -> None:
        """End its input, as this process's end does; the number of the pipe stays taken while a thread may use it."""
        with contextlib.suppress(OSError):
            nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nothing, self._requests, inheritable=False)
            os.close(nothing)

    def close(self) -> None:
        """End the process, and reap it; one that is left behind goes on."""
        with self._desk.lock:
            if self not in self._desk.workers:
                return
            self._desk.workers.discard(self)
        left = self._desk.closing
        if not left:
            with contextlib.suppress(OSError):
                self._send({"end": True})
        for fd in (self._requests, self._answers, self._spool):
            os.close(fd)
        self._close_spares()
        self._last_words = ""
        if left:
            self.process.returncode = 0
        else:
            try:
                self.process.wait(2.0)
            except Exception:
                self.process.kill()
                self.process.wait()
            with contextlib.suppress(OSError):
                said = os.pread(self._errors, 4096, max(0, os.fstat(self._errors).st_size - 4096))
                self._last_words = (said.decode(errors="replace").strip().splitlines() or [""])[-1]
        os.close(self._errors)

    def disown(self) -> None:
        """Leave the process to the parent, in a forked child."""
        for fd in (self._requests, self._answers, self._spool, self._errors):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._close_spares()
        self.process.returncode = 0  # not ours to wait for


class ForkedWorker(Worker):
    """The parent's side of a process that a worker forked off: it ends when its pipe does."""

    def __init__(self, desk: KernelService, requests: int, answers: int) -> None:
        self._desk, self._requests, self._answers = desk, requests, answers
        self._started = False
        self._spares = []
        with desk.lock:
            desk.twins.add(self)
            if desk.closing:
                self.leave()

    def _verdict(self, error: Exception) -> Exception:
        return ForkedWorkerLost()

    def close(self) -> None:
        """End the process by ending its input; the worker that forked it reaps it."""
        with self._desk.lock:
            if self not in self._desk.twins:
                return
            self._desk.twins.discard(self)
        os.close(self._requests)
        os.close(self._answers)

    def disown(self) -> None:
        """Leave the process to the parent, in a forked child."""
        for fd in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                os.close(fd)


class _TimedReader:
    """A pipe's reading end with a deadline."""

    def __init__(self, fd: int, seconds: float) -> None:
        import time

        self._fd = fd
        self._clock = time.monotonic
        self._deadline = time.monotonic() + seconds

    def read(self, n: int) -> bytes:
        """Exactly n bytes, or fewer at the end. Raises TimeoutError."""
        import select

        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        data = b""
        while len(data) < n:
            if not poll.poll(max(0.0, 1000.0 * (self._deadline - self._clock()))):
                raise TimeoutError
            part = os.read(self._fd, n - len(data))
            if not part:
                break
            data += part
        return data


def most_twins() -> int:
    """Return how many processes a worker may fork off: each shares what it has imported, which is the slow part."""
    return min(3, cpu_count.available() - 1) if sys.platform == "linux" else 0


def _message(entry: Entry) -> dict[str, Any]:
    """A kernel that is asked for. What lies in the store is `refused` where it does not link."""
    spec = entry.spec
    return {
        "key": entry.key,
        "source": spec.source,
        "buffer_types": spec.buffer_types,
        "n_sizes": spec.n_sizes,
        "imports": spec.imports,
        "refused": entry.refused,
        "plain": entry.plain,
        "store": entry.store.place,
    }


def _pipe() -> tuple[int, int]:
    ends = [*os.pipe()]
    try:
        for i, fd in enumerate(ends):
            ends[i] = _above(fd)
    except BaseException:
        for fd in ends:
            os.close(fd)
        raise
    return ends[0], ends[1]


def _unnamed_file() -> int:
    """A descriptor of an empty file that is gone with the last process that holds it."""
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):
            return _above(os.memfd_create("fastgraph", os.MFD_CLOEXEC))
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _above(fd: int) -> int:
    """The same file under a number above those of input, output and errors: a program may have closed them.

    What it, or a library in C, writes there must not get into a pipe of ours.
    """
    if fd > 2:
        return fd
    import fcntl

    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def _absolute(path: list[str]) -> list[str]:
    """Python's search path without regard to the working folder, which may have been deleted."""
    found = []
    for each in path:
        with contextlib.suppress(OSError, TypeError):
            found.append(os.path.abspath(os.fsdecode(each)))
    return found
