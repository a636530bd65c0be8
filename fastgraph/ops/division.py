"""Division: quotients of floats, rounded ones, remainders, and Python's `/` of any numbers.

Rule: an integer divisor of 0 is an error on every path; a float's gives what IEEE 754 says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, converted_like, has_dtype, named
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.elementwise import cast_p, rounded, widened
from fastgraph.ops.families import Array, elementwise, public


@elementwise(
    op="RealDiv",
    expr="x / y",
    dtypes="fractional",
    vjp=dict(x=lambda dy, y: dy / conj(y), y=lambda dy, x, y: dy * conj(-x / y / y)),
)
def realdiv(x: Array, y: Array) -> Any:
    """Quotient x / y of floats or complex numbers; x / 0 is inf or nan. f[*s], f[*s] -> f[*s], broadcasting."""
    return np.divide(x, y)


def _check_divisor(y: Array) -> None:
    if y.dtype.kind in "iu" and not np.all(y):
        raise InvalidArgumentError(None, None, "Integer division by zero")


@elementwise(
    "math.floordiv",
    op="FloorDiv",
    expr="x // y",
    check="y != 0",
    dtypes="bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 uint32 uint64 int64",
)
def floordiv(x: Array, y: Array) -> Any:
    """Quotient rounded towards minus infinity. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for an integer y of 0. Source: tf.math.floordiv; floats are floor(x / y).
    """
    _check_divisor(y)
    if y.dtype.kind in "iu":
        return np.floor_divide(x, y)
    quotient = rounded(np.divide(widened(x), widened(y)), x.dtype)  # rounded before it is cut, as TensorFlow's is
    return rounded(np.floor(widened(quotient)), x.dtype)


@elementwise(
    "math.floormod",
    "math.mod",
    op="FloorMod",
    expr="x % y",
    check="y != 0",
    dtypes="int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 float64",
    vjp=dict(x=lambda dy: dy, y=lambda dy, x, y: -dy * floordiv(x, y)),
)
def floormod(x: Array, y: Array) -> Any:
    """Remainder with the sign of y. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for an integer y of 0. Source: tf.math.floormod.
    """
    _check_divisor(y)
    return np.mod(x, y)


_TRUE_DIVISION = {"uint8": "float32", "int8": "float32", "uint16": "float32", "int16": "float32"} | dict.fromkeys(
    ("uint32", "int32", "uint64", "int64"), "float64"
)


@public("truediv", "math.truediv")
def truediv(x: TensorLike | None, y: TensorLike, name: str | None = None) -> Any:
    """Quotient as Python's `/`: integers of up to 16 bits divide as float32, wider ones as float64.

    t[*s], t[*s] -> f[*s], broadcasting. Raises: TypeError if the dtypes differ or are no numbers. Source: tf.truediv.
    """
    return named(name, realdiv, *fractions(x, y))


def fractions(x: Any, y: TensorLike) -> tuple[Any, Any]:
    """Dividend and divisor as they are divided: of one dtype that has fractions."""
    if isinstance(x, Tensor):
        y = converted_like(y, x)
    elif has_dtype(y) and not has_dtype(x):
        y = as_tensor(y)
        x = converted_like(x, y)
    else:
        x = as_tensor(x)
        y = converted_like(y, x)
    if x.dtype is not y.dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    wide = _TRUE_DIVISION.get(x.dtype.name)
    if wide is not None:
        x, y = cast_p(x, dtype=as_dtype(wide)), cast_p(y, dtype=as_dtype(wide))
    elif not (x.dtype.is_floating or x.dtype.is_complex):
        raise TypeError(
            f"Invalid dtype {x.dtype!r} in __truediv__. Expected one of {{tf.uint8, tf.int8, tf.uint16, tf.int16, "
            "tf.uint32, tf.int32, tf.uint64, tf.int64, tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.complex64, "
            "tf.complex128}."
        )
    return x, y


@public("divide", "math.divide")
def divide(x: TensorLike | None, y: TensorLike, name: str | None = None) -> Any:
    """Quotient as Python's `/`. t[*s], t[*s] -> f[*s], broadcasting. Source: tf.divide."""
    return x / y if isinstance(x, CompositeTensor) else truediv(x, y, name)


@public("realdiv")
def realdiv_(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Quotient x / y of floats or complex numbers. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.realdiv."""
    first = as_tensor(x)
    return realdiv(first, as_tensor(y, first.dtype))
