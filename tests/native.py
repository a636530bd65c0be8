"""What the extensions share with one another, for tests: their C functions and variables, as `cimport` finds them.

Product code has no switch that only tests would use; what must be set or called from outside is reached here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

import fastgraph as fg
from fastgraph.core import primitive
from fastgraph.core.native import buffer, convolutions, matmul
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import as_array, from_array

_name = ctypes.pythonapi.PyCapsule_GetName
_name.argtypes, _name.restype = (ctypes.py_object,), ctypes.c_char_p
_address = ctypes.pythonapi.PyCapsule_GetPointer
_address.argtypes, _address.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def address(module: ModuleType, name: str) -> int:
    """Where a C function or variable of an extension lies, one that its .pxd names."""
    capsule = module.__pyx_capi__[name]
    found = _address(capsule, _name(capsule))
    assert found is not None
    return int(found)


def _integer(module: ModuleType, name: str) -> ctypes.c_int:
    return ctypes.c_int.from_address(address(module, name))


# ---- instructions of the CPU ----------------------------------------------------------------------------------------

#: Bits of the vectors of eager convolutions and pooling, and of products by blocks; 0: NumPy or BLAS instead.
CONVOLUTION_BITS, PRODUCT_BITS = _integer(convolutions, "_bits"), _integer(matmul, "_bits")
#: What multiplies bfloat16 in convolutions (2: registers of tiles, 1: vectors of pairs, 0: neither), and from how many
#: operations on.
TILES = _integer(convolutions, "_tiles")
TILED = ctypes.c_double.from_address(address(convolutions, "_tiled"))
#: 0 (any CPU's), 1 (AVX2), 2 (AVX-512): what loops of mathematics use; -1 until one of them has asked.
LEVEL = _integer(primitive, "_level")
#: What this CPU has, as the process found it.
MOST_BITS, MOST_TILES = CONVOLUTION_BITS.value, TILES.value


@contextmanager
def using(variable: Any, value: Any) -> Iterator[None]:
    """Let a C variable have another value within a `with` block."""
    before = variable.value
    variable.value = value
    try:
        yield
    finally:
        variable.value = before


def most_level() -> int:
    """Return the most that LEVEL may be on this CPU: what the first loop of mathematics finds out."""
    with using(LEVEL, -1):
        fg.exp(fg.constant([1.0, 2.0]))
        return LEVEL.value


# ---- memory ---------------------------------------------------------------------------------------------------------

_trim = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address(buffer, "block_trim"))
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address(buffer, "block_free"))  # without the GIL
_block_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)(
    address(buffer, "block_of_object")
)
FOREIGN = 1  # BlockKind of _buffer.pxd: memory of another owner


def trim_pool() -> int:
    """Give cached memory back to the system; return the number of bytes."""
    return _trim(0)


def drop_without_gil(owner: object) -> None:
    """Let a Block that holds `owner` go as a pool thread does, without the GIL: `owner` is let go a little later."""
    _free(_block_of(owner, None, 0, FOREIGN))


# ---- ops ------------------------------------------------------------------------------------------------------------


def run_body(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """What an op's NumPy body gives of eager tensors, whatever faster way there is."""
    with np.errstate(all="ignore"):
        result = prim.body(*map(as_array, inputs), **attrs)
    return tuple(map(from_array, result)) if isinstance(result, tuple) else from_array(np.asarray(result))
