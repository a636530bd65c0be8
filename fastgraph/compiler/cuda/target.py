"""The import shim round Numba's CUDA target: kernels from text, for a GPU or for its simulator.

Rule: the only module that imports `numba.cuda`. NUMBA_ENABLE_CUDASIM=1, set before Numba is imported, gives the
simulator, in which threads are Python's and `m` is NumPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numba.cuda
import numpy as np

from fastgraph.compiler.cuda.emit import CudaKernel
from fastgraph.compiler.cuda.functions import THREADS, THREADS_SIMULATED, function

cuda: Any = numba.cuda
_numba: Any = numba
SIMULATED = bool(_numba.config.ENABLE_CUDASIM)
#: Threads in a block, and blocks in a grid at most: what is left, each takes in turns.
N_THREADS = THREADS_SIMULATED if SIMULATED else THREADS
MAX_BLOCKS = 2 if SIMULATED else 65535
#: Rows and columns of a product that a block computes at a time.
TILE = 2 if SIMULATED else 16
_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")

_MATMUL = """
def matmul(a, b, out, starts, a_row, a_column, b_row, b_column, rows, columns, inner):
    left = cuda.shared.array((TILE, TILE), {dtype})
    right = cuda.shared.array((TILE, TILE), {dtype})
    y, x = cuda.threadIdx.y, cuda.threadIdx.x
    row, column, batch = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x, cuda.blockIdx.z
    a_start, b_start = starts[batch, 0], starts[batch, 1]
    total = {dtype}(0)
    for first in range(0, inner, TILE):
        left[y, x] = {dtype}(0)
        right[y, x] = {dtype}(0)
        if row < rows and first + x < inner:
            left[y, x] = a[a_start + row * a_row + (first + x) * a_column]
        if column < columns and first + y < inner:
            right[y, x] = b[b_start + (first + y) * b_row + column * b_column]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    if row < rows and column < columns:
        out[(batch * rows + row) * columns + column] = total
"""

_ADD = """
def add(a, b, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = a[i] + b[i]
"""
#: NumPy's functions that Python's `math` has by another name.
_IN_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power",
}  # fmt: skip


class _NumpyNames:
    """NumPy's functions by the names of Python's `math`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, _IN_NUMPY.get(name, name), None)
        return found if found is not None else getattr(math, name)


def _namespace() -> dict[str, Any]:
    names: dict[str, Any] = {name: getattr(np, name) for name in _TYPES}
    names.update(
        cuda=cuda, m=_NumpyNames() if SIMULATED else math, inf=math.inf, nan=math.nan,
        THREADS=N_THREADS, TILE=TILE, device=cuda.jit(device=True), abs=abs,
    )  # fmt: skip
    return names


def python_function(spec: CudaKernel) -> Any:
    """The kernel as a Python function over device functions."""
    names = _namespace()
    for name in spec.imports:
        if name not in names:
            exec(function(name), names)
    exec(spec.source, names)
    return names["kernel"]


@functools.cache
def kernel(spec: CudaKernel) -> Any:
    """The kernel, to be launched: kernel(spec)[blocks, threads](status, n_units, *buffers, *sizes)."""
    return cuda.jit(python_function(spec))


@functools.cache
def matmul(dtype: str) -> Any:
    """The kernel of products of matrices, by tiles that a block of threads keeps in shared memory."""
    names = _namespace()
    exec(_MATMUL.format(dtype=dtype), names)
    return cuda.jit(names["matmul"])


@functools.cache
def _add() -> Any:
    names = _namespace()
    exec(_ADD, names)
    return cuda.jit(names["add"])


def add(a: Any, b: Any, out: Any) -> None:
    """Add up two arrays of the GPU. t[n], t[n] -> t[n]."""
    if out.size:
        _add()[min(-(-out.size // N_THREADS), MAX_BLOCKS), N_THREADS](a, b, out, out.size)


def empty(nbytes: int) -> Any:
    """Memory of the GPU."""
    return cuda.device_array(max(nbytes, 1), "uint8")


def part(memory: Any, at: int, dtype: np.dtype, n: int) -> Any:
    """Elements in memory of the GPU, from a byte on. uint8[b] -> dtype[n]."""
    return memory[at : at + n * dtype.itemsize].view(dtype)


def packed(arrays: Sequence[Any], layout: Sequence[tuple[np.dtype, int]], places: Sequence[int], nbytes: int) -> Any:
    """Memory of the GPU with arrays in it, from given bytes on. t[n]... -> uint8[nbytes]."""
    whole = cuda.to_device(np.zeros(max(nbytes, 1), "uint8"))
    for array, (dtype, n), at in zip(arrays, layout, places, strict=True):
        if n:
            part(whole, at, dtype, n).copy_to_device(array[:n])
    return whole


def address(memory: Any) -> int:
    """The address of memory of the GPU, once all is in it that was asked for: the simulator's is main memory."""
    cuda.synchronize()
    return int(memory._ary.ctypes.data if SIMULATED else memory.__cuda_array_interface__["data"][0])


def runs() -> bool:
    """Return whether kernels can run: in the simulator, or on a GPU."""
    return bool(cuda.is_available())
