"""The process that compiles: requests in, object code out and into the store, over two private pipes.

Rule: this side of the pipe imports nothing of fastgraph but the compiler and the store. A message is two lengths (8
bytes each, little endian), JSON, and code.

The end of the input is the end of the program, however that came. What the program had asked for by then stands in the
spool, a file that both processes share: the process compiles the rest of it for the next program, for some seconds at
the lowest priority, once no other process of this user does so any more. It holds nothing of the program's meanwhile.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.store import background_scheduling
from fastgraph.compiler.store.kernel_store import Store

_HEAD = struct.Struct("<QQ")  # bytes of JSON, bytes of code after it


def packed(message: dict[str, Any], code: bytes = b"") -> bytes:
    """One message as bytes."""
    text = json.dumps(message).encode()
    return _HEAD.pack(len(text), len(code)) + text + code


def send(stream: BinaryIO, message: dict[str, Any], code: bytes = b"") -> None:
    """Write one message."""
    stream.write(packed(message, code))
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Read one message. Raises EOFError at the end, also in the middle of a message."""
    n_text, n_code = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return json.loads(_exactly(stream, n_text)), _exactly(stream, n_code)


def _exactly(stream: BinaryIO, n: int) -> bytes:
    data = stream.read(n) if n else b""
    if len(data) != n:
        raise EOFError("the other side of the pipe is gone")
    return data


def serve(pairs: list[tuple[int, int]], spool: int = -1, linger: int = 0) -> None:
    """Compile what is asked for until the input ends, then what is left of the spool, for `linger` seconds at most.

    `pairs`: pipes for requests and answers; the first is this process's. A request {"twin": k} has a twin of this
    process serve pair k: it shares what this one has imported, and a fork takes a hundredth of the time of an import.
    """
    compiler = _KernelCompiler()
    orders = _DeferredWork(compiler, spool, linger, pairs[0][1])
    pending = _pending(pairs[0][0], orders.take_over)
    # Numba looks whether SciPy's BLAS is there, which takes longer than all else that the first kernel needs. No kernel
    # calls BLAS: let it find none.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    from fastgraph.compiler.cpu import object_code

    object_code.prepare()
    gc.freeze()  # what is imported stays: the collector would walk it all in the middle of a kernel
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a twin that ends leaves no zombie
    answers = _Answers(pairs[0][1])
    answers.send({"ready": True})
    while True:
        request = pending.get()
        if "twin" in request:
            k = request["twin"]
            if os.fork() == 0:  # this process's ends are closed, or nobody would see it end
                own = pairs[k]
                for each in {*pairs} - {own}:
                    _close(each)
                pending = _pending(own[0], list)
                answers = _Answers(own[1])
                answers.send({"ready": True})
            else:
                _close(pairs[k])
        elif "end" in request:
            os._exit(0)
        elif "left" in request:
            if not compiler.leave(request):
                os._exit(0)
        else:
            answers.send(*compiler.make(request))


class _KernelCompiler:
    """The process that makes kernels and puts them into the store."""

    def __init__(self) -> None:
        self.done: set[str] = set()  # the keys of kernels that were made, or cannot be
        self._stores: dict[tuple[Any, ...], Store] = {}
        self._troubles: list[tuple[str, str]] = []  # of the stores, to be told to the program

    def store(self, request: dict[str, Any]) -> Store:
        """The store that a kernel belongs into."""
        place = tuple(request["store"])
        if place not in self._stores:
            directory, limit, key_file, copied = place
            self._stores[place] = Store(directory, limit, key_file, copied, self._note)
        return self._stores[place]

    def _note(self, kind: str, text: str) -> None:
        self._troubles.append((kind, text))

    def make(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The answer to a request and the code, which is in the store then."""
        place, key = self.store(request), request["key"]
        code = None if request["refused"] else place.read(key)
        answer: dict[str, Any] = {"key": key, "found": code is not None}
        if code is None:
            code = self._compile(request, answer)
            if code:
                place.write(key, code)
        self.done.add(key)
        answer["troubles"], self._troubles[:] = list(self._troubles), []
        return answer, code

    def leave(self, request: dict[str, Any]) -> bool:
        """Store a kernel that nobody waits for any more; whether that was possible."""
        place, key = self.store(request), request["key"]
        if key in self.done or (place.has(key) and not request["refused"]):
            return True
        code = self._compile(request, {})
        return not code or place.write(key, code, create=False)

    def _compile(self, request: dict[str, Any], answer: dict[str, Any]) -> bytes:
        from fastgraph.compiler.cpu import object_code

        spec = KernelSpec(
            request["source"], tuple(request["buffer_types"]), request["n_sizes"], tuple(request["imports"])
        )
        try:
            return object_code.compile_kernel(spec, request["key"], vectors=not request["plain"]).code
        except object_code.KernelError as error:
            answer["error"] = str(error)
            return b""


class _DeferredWork:
    """Orders for the time when the program is gone."""

    def __init__(self, compiler: _KernelCompiler, spool: int, seconds: int, answers: int) -> None:
        self._compiler, self._spool, self._seconds, self._answers = compiler, spool, seconds, answers
        background_scheduling.mortal()

    def take_over(self) -> list[dict[str, Any]]:
        """The kernels that are still to be made, each marked as "left", then the end; none where nobody is to do it."""
        if not self._seconds:
            return []
        left = self._left()
        # In the store of the first, that is: programs have one.
        if not left or not os.access(left[0]["store"][0], os.W_OK | os.X_OK):
            return []
        signal.alarm(self._seconds)  # wherever it is then, in LLVM as well
        background_scheduling.step_back()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._answers)  # where a thread of the program's process waits, it need not
        os.close(nothing)
        if not background_scheduling.has_turn(left[0]["store"][2]):
            return []
        left = self._left()  # others may have stored some of it meanwhile
        return [*[{**each, "left": True} for each in left], {"end": True}]

    def _left(self) -> list[dict[str, Any]]:
        """Kernels that the program had asked for and that are neither made nor stored."""
        return [
            each
            for each in self._noted()
            if each["key"] not in self._compiler.done
            and (each["refused"] or not self._compiler.store(each).has(each["key"]))
        ]

    def _noted(self) -> list[dict[str, Any]]:
        """Orders that the program had noted in the spool; what it was writing when it was killed is not whole."""
        data = b""
        while part := os.pread(self._spool, 1 << 20, len(data)):
            data += part
        stream = io.BytesIO(data)
        noted: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(EOFError, ValueError):
            while True:
                each = receive(stream)[0]
                noted[each["key"]] = each
        return list(noted.values())


class _Answers:
    """A pipe's writing end; that nobody reads is no error."""

    def __init__(self, fd: int) -> None:
        self._stream = os.fdopen(fd, "wb", closefd=False)

    def send(self, message: dict[str, Any], code: bytes = b"") -> None:
        """Write one message."""
        with contextlib.suppress(OSError):
            send(self._stream, message, code)


class _Pipe:
    """A pipe's reading end, without a lock: a twin must not find one that a thread of this process held."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def read(self, n: int) -> bytes:
        """n bytes, or fewer at the end."""
        data = b""
        while len(data) < n and (part := os.read(self.fd, n - len(data))):
            data += part
        return data


def _close(pair: tuple[int, int]) -> None:
    for fd in pair:
        with contextlib.suppress(OSError):
            os.close(fd)


def _pending(fd: int, afterwards: Callable[[], list[dict[str, Any]]]) -> queue.SimpleQueue[dict[str, Any]]:
    """The requests that come, in order, and what is to be done after their end; where that is nothing, all ends."""
    requests: Any = _Pipe(fd)
    pending: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        try:
            with contextlib.suppress(EOFError, OSError):
                while True:
                    pending.put(receive(requests)[0])
            left = afterwards()
        except BaseException:
            left = []
        if not left:
            os._exit(0)  # whatever is being compiled, nobody waits for it
        for each in left:
            pending.put(each)

    threading.Thread(target=read, daemon=True).start()
    return pending


def command(
    requests_fd: int,
    answers_fd: int,
    path: list[str],
    twins: Sequence[tuple[int, int]] = (),
    spool: int = -1,
    linger: int = 0,
) -> list[str]:
    """The command line of a worker: a bare fastgraph package around this folder, then `serve`."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    program = (
        "import sys, types\n"
        f"sys.path[:] = {path!r}\n"
        "package = types.ModuleType('fastgraph')\n"
        f"package.__path__ = [{package!r}]\n"
        "sys.modules['fastgraph'] = package\n"
        "from fastgraph.compiler.store.worker import serve\n"
        f"serve({[(requests_fd, answers_fd), *twins]!r}, {spool}, {linger})\n"
    )
    return [sys.executable, "-P", "-c", program]
