"""The process that compiles: requests in, object code out, over two private pipes.

Rule: this side of the pipe imports nothing of fastgraph but the compiler. A message is two lengths (8 bytes each,
little endian), JSON, and code. The process ends when its input does, also in mid-compilation, so it never outlives its
parent, however that ends.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Sequence
from typing import Any, BinaryIO

_HEAD = struct.Struct("<QQ")  # bytes of JSON, bytes of code after it


def send(stream: BinaryIO, message: dict[str, Any], code: bytes = b"") -> None:
    """Write one message."""
    text = json.dumps(message).encode()
    stream.write(_HEAD.pack(len(text), len(code)) + text + code)
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


def serve(pairs: list[tuple[int, int]]) -> None:
    """Compile what is asked for until the input ends. `pairs`: pipes for requests and answers; the first is this one's.

    A request {"twin": k} has a twin of this process serve pair k: it shares what this one has imported, and a fork
    takes a hundredth of the time of an import.
    """
    pending = _pending(pairs[0][0])
    # Numba looks whether SciPy's BLAS is there, which takes longer than all else that the first kernel needs. No kernel
    # calls BLAS: let it find none.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    from fastgraph.compiler import objectcode
    from fastgraph.compiler.kernel import KernelSpec

    objectcode.prepare()
    gc.freeze()  # what is imported stays: the collector would walk it all in the middle of a kernel
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a twin that ends leaves no zombie
    answers = os.fdopen(pairs[0][1], "wb", closefd=False)
    send(answers, {"ready": True})
    while True:
        request = pending.get()
        if "twin" in request:
            k = request["twin"]
            if os.fork() == 0:  # this process's ends are closed, or nobody would see it end
                own = pairs[k]
                for each in {*pairs} - {own}:
                    _close(each)
                pending = _pending(own[0])
                answers = os.fdopen(own[1], "wb", closefd=False)
                send(answers, {"ready": True})
            else:
                _close(pairs[k])
            continue
        spec = KernelSpec(
            request["source"], tuple(request["buffer_types"]), request["n_sizes"], tuple(request["imports"])
        )
        try:
            code, answer = objectcode.compile_kernel(spec, request["key"]).code, {"key": request["key"]}
        except objectcode.KernelError as error:
            code, answer = b"", {"key": request["key"], "error": str(error)}
        send(answers, answer, code)


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


def _pending(fd: int) -> queue.SimpleQueue[dict[str, Any]]:
    """The requests that come, in order. Their end is the end of this process."""
    requests: Any = _Pipe(fd)
    pending: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                pending.put(receive(requests)[0])
        except BaseException:
            os._exit(0)  # the parent is done with us, or gone; whatever is being compiled, nobody waits for it

    threading.Thread(target=read, daemon=True).start()
    return pending


def command(requests_fd: int, answers_fd: int, path: list[str], twins: Sequence[tuple[int, int]] = ()) -> list[str]:
    """The command line of a worker: a bare fastgraph package around this folder, then `serve`."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = (
        "import sys, types\n"
        f"sys.path[:] = {path!r}\n"
        "package = types.ModuleType('fastgraph')\n"
        f"package.__path__ = [{package!r}]\n"
        "sys.modules['fastgraph'] = package\n"
        "from fastgraph.compiler.worker import serve\n"
        f"serve({[(requests_fd, answers_fd), *twins]!r})\n"
    )
    return [sys.executable, "-P", "-c", program]
