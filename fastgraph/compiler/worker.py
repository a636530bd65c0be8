"""The process that compiles: requests in, object code out, over two private pipes.

Rule: this side of the pipe imports nothing of fastgraph but the compiler. A message is two lengths (8 bytes each,
little endian), JSON, and code. The process ends when its input does, also in mid-compilation, so it never outlives its
parent, however that ends.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import sys
import threading
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


def serve(requests_fd: int, answers_fd: int) -> None:
    """Compile what is asked for until the input ends."""
    requests = os.fdopen(requests_fd, "rb")
    answers = os.fdopen(answers_fd, "wb")
    pending: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                pending.put(receive(requests)[0])
        except BaseException:
            os._exit(0)  # the parent is done with us, or gone; whatever is being compiled, nobody waits for it

    threading.Thread(target=read, daemon=True).start()
    # Numba looks whether SciPy's BLAS is there, which takes longer than all else that the first kernel needs. No kernel
    # calls BLAS: let it find none.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    from fastgraph.compiler import objectcode
    from fastgraph.compiler.kernel import KernelSpec

    send(answers, {"ready": True})
    while True:
        request = pending.get()
        spec = KernelSpec(
            request["source"], tuple(request["buffer_types"]), request["n_sizes"], tuple(request["imports"])
        )
        try:
            code, answer = objectcode.compile_kernel(spec, request["key"]).code, {"key": request["key"]}
        except objectcode.KernelError as error:
            code, answer = b"", {"key": request["key"], "error": str(error)}
        send(answers, answer, code)


def command(requests_fd: int, answers_fd: int, path: list[str]) -> list[str]:
    """The command line of a worker: a bare fastgraph package around this folder, then `serve`."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = (
        "import sys, types\n"
        f"sys.path[:] = {path!r}\n"
        "package = types.ModuleType('fastgraph')\n"
        f"package.__path__ = [{package!r}]\n"
        "sys.modules['fastgraph'] = package\n"
        "from fastgraph.compiler.worker import serve\n"
        f"serve({requests_fd}, {answers_fd})\n"
    )
    return [sys.executable, "-P", "-c", program]
