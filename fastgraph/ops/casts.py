"""Casts beyond tf.cast: bits read as another dtype, numbers limited to what a dtype holds: bitcast, saturate_cast.

Rule: no element is read as a dtype that its bytes do not fill.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.ops.arguments import as_tensor, named, not_allowed, refused
from fastgraph.ops.complex_numbers import complex_of, imag, real
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.families import Array, Dims, misuse, movement, public, validated

#: Dtypes whose bits can be read as another dtype's.
_BITS = (
    "bfloat16 float16 float32 float64 int64 int32 uint8 uint16 uint32 uint64 int8 int16 complex64 complex128 qint8 "
    "quint8 qint16 quint16 qint32"
)


def _cast_shape(dims: Dims, old: DType, new: DType) -> Dims:
    if dims is None or old.size == new.size:
        return dims
    if old.size > new.size:
        return (*dims, old.size // new.size)
    if not dims or dims[-1] not in (None, new.size // old.size):
        raise ValueError(f"Cannot bitcast from {old.as_datatype_enum} to {new.as_datatype_enum}")
    return dims[:-1]


def _bitcast_samples() -> list[Any]:
    pairs = [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float64", "int64"),
        ("bfloat16", "int16"),
        ("uint8", "int8"),
        ("float32", "uint8"),
        ("float64", "int32"),
        ("int64", "float32"),
    ]
    numbers = np.array([[1.0, 2.0], [3.0, 0.5]])
    found = [((numbers.astype(as_dtype(a).numpy_dtype),), {"type": as_dtype(b)}) for a, b in pairs]
    return [*found, ((np.array([[0, 0, 128, 63]], np.uint8),), {"type": as_dtype("float32")})]


@movement(
    infer=lambda input, *, type: Aval(type, _cast_shape(input.shape, input.dtype, type)),
    dtypes=_BITS,
    step="alias",
    samples=_bitcast_samples,
    error_samples=lambda: [
        misuse("Cannot bitcast from 4 to 1", np.array([0, 0, 1], np.uint8), type=as_dtype("float32"))
    ],
)
def bitcast_p(input: Array, *, type: DType) -> Any:
    """The same bytes as elements of another dtype; narrower ones add a last axis, wider ones take it."""
    dims = validated(_cast_shape, input.shape, as_dtype(input.dtype), type)
    return np.frombuffer(np.ascontiguousarray(input).tobytes(), type.numpy_dtype).reshape(dims)


@public("bitcast")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Any:
    """The same bytes as elements of another dtype; narrower ones add a last axis, wider ones take it. t[*s] -> u[*r].

    Raises: InvalidArgumentError where the last axis does not make up one element. Source: tf.bitcast.
    """
    target = as_dtype(type)
    if target.name not in _BITS.split():
        allowed = ", ".join(message_name(as_dtype(each)) for each in _BITS.split())
        raise refused(not_allowed(target, "Bitcast.type", allowed))
    return named(name, bitcast_p, input, type=target)


def _limits(dtype: DType) -> tuple[Any, Any]:
    """The smallest and largest number of a dtype as Python's, which compare exactly."""
    plain = float if dtype.is_floating else int
    return plain(dtype.min), plain(dtype.max)


@public("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """value with elements of `dtype`, limited to what that holds; of complex ones each part. t[*s] -> dtype[*s].

    Source: tf.saturate_cast.
    """
    x, target = as_tensor(value), as_dtype(dtype)
    if x.dtype.is_complex and target.is_complex:
        return complex_of(saturate_cast(real(x), target.real_dtype), saturate_cast(imag(x), target.real_dtype), name)
    if x.dtype.is_complex:
        x = real(x)
    (low, high), (least, most) = _limits(x.dtype), _limits(target.real_dtype)
    floating = x.dtype.is_floating  # whose infinities are beyond its own limits, too
    for beyond, limit, pick in ((low < least, max(low, least), maximum), (high > most, min(high, most), minimum)):
        if beyond or floating:
            bound = np.asarray(limit).astype(x.dtype.numpy_dtype)
            if floating and abs(float(bound)) > abs(limit):
                bound = np.nextafter(bound, np.asarray(0, bound.dtype))  # rounded away from 0, it would not fit
            x = pick(x, as_tensor(bound))
    return cast(x, target, name)
