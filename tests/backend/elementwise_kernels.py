"""Kernels of one expression for the tests of the compiler's back end: source, compilation, a call on arrays."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from fastgraph.compiler.cpu.loader import PROTOTYPE, Library
from fastgraph.compiler.cpu.target import kernel_key, symbol
from fastgraph.compiler.program.kernel_spec import KernelSpec

_NAMES = "abcdefgh"


def call(address: int, buffers: list[int], sizes: list[int], begin: int, end: int) -> int:
    """Run a kernel over begin .. end and return its status. Raises RuntimeError if it returned an internal error."""
    status, excinfo = ctypes.c_int64(0), ctypes.c_void_p()
    code = PROTOTYPE(address)(
        ctypes.byref(status),
        ctypes.byref(excinfo),
        (ctypes.c_void_p * max(1, len(buffers)))(*buffers),
        (ctypes.c_int64 * max(1, len(sizes)))(*sizes),
        begin,
        end,
    )
    if code != 0:
        raise RuntimeError(f"a kernel returned the internal error {code}")
    return status.value


def elementwise(expression: str, operands: tuple[str, ...], result: str, comment: str = "") -> KernelSpec:
    """out[i] = expression of a[i], b[i], ...: Numba element types of the operands and of the result."""
    n = len(operands)
    lines = ["def kernel(buffers, sizes, begin, end):"]
    lines += [f"    p{i} = buffers[{i}]" for i in range(n + 1)]
    lines += ["    for i in range(begin, end):"]
    lines += [f"        {_NAMES[k]} = p{k}[i]" for k in range(n)]
    lines += [f"        p{n}[i] = {expression}", "    return 0", f"# {comment}" if comment else ""]
    return KernelSpec("\n".join(lines), (*operands, result), 0)


@cache
def compiled(expression: str, operands: tuple[str, ...], result: str) -> Library:
    """The loaded kernel, compiled in this process without the store."""
    from fastgraph.compiler.cpu.object_code import compile_kernel

    spec = elementwise(expression, operands, result)
    key = kernel_key(spec)
    return Library(compile_kernel(spec, key).code, symbol(key))


def run(address: int, inputs: list[np.ndarray], result: Any, begin: int = 0, end: int | None = None) -> np.ndarray:
    """Call an elementwise kernel on arrays of one length."""
    out = np.zeros(inputs[0].shape, result)
    status = call(address, [x.ctypes.data for x in (*inputs, out)], [], begin, out.size if end is None else end)
    assert status == 0
    return out


def evaluate(expression: str, *inputs: np.ndarray, result: Any = None) -> np.ndarray:
    """Compile and call: `evaluate("exp_float32(a)", x)`."""
    inputs = tuple(np.ascontiguousarray(x) for x in inputs)
    dtype = np.dtype(result or inputs[0].dtype)
    library = compiled(expression, tuple(x.dtype.name for x in inputs), dtype.name)
    return run(library.address, list(inputs), dtype)
