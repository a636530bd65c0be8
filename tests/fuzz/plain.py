"""Kernels run as plain Python from the very source that Numba would compile: a program costs no compilation.

All else is real: passes, fusion, schedule, arena, executor, threads. So thousands of programs can be tried where
compiling them allows a few, and a difference between this mode and the compiled one is the compiler's.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.store import kernel_service
from tests.backend.nests import TYPES, plain_function

_FAR = 1 << 30  # bytes that a view of a buffer spans: the source's own indices must stay inside
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_int64,
    ctypes.c_int64,
)
_callbacks: dict[KernelSpec, Any] = {}


class PlainHandle:
    """What `kernels.request` gives, for a kernel that is there at once."""

    ready = True
    error = None

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        if spec not in _callbacks:
            _callbacks[spec] = _callback(spec)
        self.address: int = ctypes.cast(_callbacks[spec], ctypes.c_void_p).value or 0

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def close(self) -> None:
        pass


def _callback(spec: KernelSpec) -> Any:
    namespace: dict[str, Any] = {"inf": math.inf, "nan": math.nan}
    namespace |= {name: plain_function(name) for name in spec.imports}
    namespace |= {name: getattr(np, name) for name in TYPES}
    exec(compile(spec.source, "<plain kernel>", "exec"), namespace)
    kernel = namespace["kernel"]

    def run(status: Any, _: Any, buffers: Any, sizes: Any, begin: int, end: int) -> int:
        try:
            views = [_view(buffers[i], dtype) for i, dtype in enumerate(spec.buffer_types)]
            with np.errstate(all="ignore"):
                status[0] = int(kernel(views, sizes[: spec.n_sizes], begin, end))
        except Exception as error:
            print(f"plain kernel: {type(error).__name__}: {error}\n{spec.source}", flush=True)
            return 1  # an internal error, which the executor shows
        return 0

    return _SIGNATURE(run)


def _view(address: int | None, dtype: str) -> np.ndarray:
    memory = (ctypes.c_char * _FAR).from_address(address or 0)
    return np.frombuffer(memory, np.dtype(dtype))


def request(specs: Iterable[KernelSpec]) -> list[PlainHandle]:
    return [PlainHandle(spec) for spec in specs]


@contextlib.contextmanager
def plain_kernels() -> Iterator[None]:
    """Within the block, new programs get their kernels as plain Python."""
    real = kernel_service.request
    kernel_service.request = request  # type: ignore[assignment]
    try:
        yield
    finally:
        kernel_service.request = real
