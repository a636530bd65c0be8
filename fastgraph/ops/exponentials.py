"""Elementwise ops: roots, powers, exponentials, trigonometry, the error function.

Rule: as in elementwise.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.comparison import greater, not_equal
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.elementwise import multiply_no_nan_p, ones_like_p, select, widened, zeros_like_p
from fastgraph.ops.families import Array, elementwise

# ---- roots and powers -----------------------------------------------------------------------------------------------


@elementwise(
    "sqrt",
    "math.sqrt",
    expr="sqrt(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: multiply_no_nan_p(0.5 / conj(out), dy)),  # 0 where dy is, as in TensorFlow
    domain=(0.1, 4),
)
def sqrt(x: Array) -> Any:
    """Square root; NaN of negative numbers. f[*s] -> f[*s]. Source: tf.sqrt.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.sqrt([4.0, 0.25])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2. , 0.5], dtype=float32)>
    """
    return np.sqrt(x)


@elementwise(
    "math.rsqrt",
    expr="rsqrt(x)",
    dtypes="fractional",
    # One by one: the cube of a small or a large root alone is 0 or infinite where the gradient is neither.
    vjp=dict(
        x=lambda dy, out: multiply_no_nan_p(
            conj(out), multiply_no_nan_p(conj(out), multiply_no_nan_p(-0.5 * conj(out), dy))
        )
    ),
    domain=(0.2, 4),
)
def rsqrt(x: Array) -> Any:
    """1 / sqrt(x). f[*s] -> f[*s]. Source: tf.math.rsqrt."""
    wide = widened(x)
    return (np.ones((), wide.dtype) / np.sqrt(wide)).astype(x.dtype)


def _pow_y(dy: Tensor, x: Tensor, y: Tensor, out: Tensor) -> Any:
    """d(x ** y)/dy; where x <= 0 (complex: x == 0) the logarithm counts as 0, as in TensorFlow."""
    usable = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
    safe = select(usable, x, ones_like_p(x))
    return dy * conj(out * select(usable, log(safe), zeros_like_p(x)))


@elementwise(
    "pow",
    "math.pow",
    expr="x ** y",
    check="y >= 0",
    dtypes="bfloat16 float32 float16 float64 int8 int16 int32 int64 complex64 complex128",
    vjp=dict(x=lambda dy, x, y: dy * conj(y * pow(x, y - 1)), y=_pow_y),
    domain=(0.3, 2),
)
def pow(x: Array, y: Array) -> Any:
    """x to the power of y. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for integers with a negative y. Source: tf.pow.
    """
    if y.dtype.kind == "i" and np.any(y < 0):
        raise InvalidArgumentError(None, None, "Integers to negative integer powers are not allowed")
    result = np.power(x, y)
    if y.size == 1 and y.dtype.kind == "f" and y.item() == 0.5:
        # NumPy takes the square root then, which is -0 of -0 and NaN of minus infinity.
        result = np.where(x == -np.inf, x.dtype.type(np.inf), np.abs(result))
    return result


# ---- exponentials and trigonometry ----------------------------------------------------------------------------------


@elementwise("exp", "math.exp", expr="exp(x)", dtypes="fractional", vjp=dict(x=lambda dy, out: dy * conj(out)))
def exp(x: Array) -> Any:
    """e to the power of x. f[*s] -> f[*s]. Source: tf.exp.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.exp([0.0, float("-inf"), 100.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([ 1.,  0., inf], dtype=float32)>
    """
    return np.exp(x)


@elementwise("math.log", expr="log(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy / conj(x)), domain=(0.2, 4))
def log(x: Array) -> Any:
    """Natural logarithm; -inf of 0, NaN of negative numbers. f[*s] -> f[*s]. Source: tf.math.log.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.math.log([1.0, 0.0, -1.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([  0., -inf,  nan], dtype=float32)>
    """
    return np.log(x)


@elementwise(
    "math.log1p", expr="log1p(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy / conj(x + 1)), domain=(-0.7, 3)
)
def log1p(x: Array) -> Any:
    """log(1 + x), precise near 0. f[*s] -> f[*s]. Source: tf.math.log1p.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> float(tf.math.log(1.0 + tf.constant(1e-10)))
        0.0
        >>> bool(tf.math.log1p(1e-10) == 1e-10)
        True
    """
    return np.log1p(x)


@elementwise("math.expm1", expr="expm1(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy * conj(exp(x))))
def expm1(x: Array) -> Any:
    """exp(x) - 1, precise near 0. f[*s] -> f[*s]. Source: tf.math.expm1."""
    return np.expm1(x)


@elementwise(
    "tanh",
    "math.tanh",
    "nn.tanh",
    expr="tanh(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: dy * conj(1 - out * out)),
)
def tanh(x: Array) -> Any:
    """Hyperbolic tangent. f[*s] -> f[*s]. Source: tf.tanh."""
    return np.tanh(x)


@elementwise(
    "sigmoid",
    "math.sigmoid",
    "nn.sigmoid",
    expr="sigmoid(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: dy * conj(out * (1 - out))),
)
def sigmoid(x: Array) -> Any:
    """1 / (1 + exp(-x)). f[*s] -> f[*s]. Source: tf.sigmoid.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sigmoid([0.0, 100.0, -200.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0.5, 1. , 0. ], dtype=float32)>
    """
    wide = widened(x)
    one = np.ones((), wide.dtype)
    if wide.dtype.kind == "c":
        return (one / (one + np.exp(-wide))).astype(x.dtype)
    small = np.exp(-np.abs(wide))
    return (np.where(wide >= 0, one, small) / (one + small)).astype(x.dtype)


@elementwise("sin", "math.sin", expr="sin(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy * conj(cos(x))))
def sin(x: Array) -> Any:
    """Sine of x, in radians. f[*s] -> f[*s]. Source: tf.sin.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sin([0.0, np.pi / 2])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 1.], dtype=float32)>
    """
    return np.sin(x)


@elementwise("cos", "math.cos", expr="cos(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: -dy * conj(sin(x))))
def cos(x: Array) -> Any:
    """Cosine of x, in radians. f[*s] -> f[*s]. Source: tf.cos."""
    return np.cos(x)


@elementwise(
    "tan",
    "math.tan",
    expr="tan(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: dy * conj(out * out + 1)),
    domain=(-1, 1),
)
def tan(x: Array) -> Any:
    """Tangent of x, in radians. f[*s] -> f[*s]. Source: tf.tan."""
    return np.tan(x)


@elementwise("sinh", "math.sinh", expr="sinh(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy * conj(cosh(x))))
def sinh(x: Array) -> Any:
    """Hyperbolic sine. f[*s] -> f[*s]. Source: tf.sinh."""
    return np.sinh(x)


@elementwise("cosh", "math.cosh", expr="cosh(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy * conj(sinh(x))))
def cosh(x: Array) -> Any:
    """Hyperbolic cosine. f[*s] -> f[*s]. Source: tf.cosh."""
    return np.cosh(x)


@elementwise(
    "asin",
    "math.asin",
    expr="asin(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x: dy * conj(rsqrt(1 - x * x))),
    domain=(-0.8, 0.8),
)
def asin(x: Array) -> Any:
    """Angle whose sine is x. f[*s] -> f[*s]. Source: tf.asin."""
    return np.arcsin(x)


@elementwise(
    "acos",
    "math.acos",
    expr="acos(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x: -dy * conj(rsqrt(1 - x * x))),
    domain=(-0.8, 0.8),
)
def acos(x: Array) -> Any:
    """Angle whose cosine is x. f[*s] -> f[*s]. Source: tf.acos."""
    return np.arccos(x)


@elementwise("atan", "math.atan", expr="atan(x)", dtypes="fractional", vjp=dict(x=lambda dy, x: dy / conj(x * x + 1)))
def atan(x: Array) -> Any:
    """Angle whose tangent is x. f[*s] -> f[*s]. Source: tf.atan."""
    return np.arctan(x)


@elementwise(
    "asinh", "math.asinh", expr="asinh(x)", dtypes="fractional", vjp=dict(x=lambda dy, out: dy / conj(cosh(out)))
)
def asinh(x: Array) -> Any:
    """Number whose hyperbolic sine is x. f[*s] -> f[*s]. Source: tf.asinh."""
    return np.arcsinh(x)


@elementwise(
    "acosh",
    "math.acosh",
    expr="acosh(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: dy / conj(sinh(out))),
    domain=(1.3, 4),
)
def acosh(x: Array) -> Any:
    """Number, not negative, whose hyperbolic cosine is x. f[*s] -> f[*s]. Source: tf.acosh."""
    return np.arccosh(x)


@elementwise(
    "atanh",
    "math.atanh",
    expr="atanh(x)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x: dy / conj(1 - x * x)),
    domain=(-0.8, 0.8),
)
def atanh(x: Array) -> Any:
    """Number whose hyperbolic tangent is x. f[*s] -> f[*s]. Source: tf.atanh."""
    return np.arctanh(x)


@elementwise(
    "math.atan2",
    "atan2",
    expr="atan2(y, x)",
    vjp=dict(y=lambda dy, y, x: dy * x / (x * x + y * y), x=lambda dy, y, x: -dy * y / (x * x + y * y)),
    domain=(0.3, 2),
)
def atan2(y: Array, x: Array) -> Any:
    """Angle of the point (x, y) in [-pi, pi]. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.atan2."""
    return np.arctan2(y, x)


@elementwise("math.erf", expr="erf(x)", vjp=dict(x=lambda dy, x: dy * exp(-(x * x)) * 1.1283791670955126))
def erf(x: Array) -> Any:
    """Gauss's error function. f[*s] -> f[*s]. Source: tf.math.erf."""
    special = library("scipy.special")  # 30 ms, and only for this op in eager mode

    return special.erf(widened(x)).astype(x.dtype)


@elementwise("math.erfc", expr="erfc(x)", vjp=dict(x=lambda dy, x: dy * exp(-(x * x)) * -1.1283791670955126))
def erfc(x: Array) -> Any:
    """1 - erf(x), precise for large x. f[*s] -> f[*s]. Source: tf.math.erfc."""
    special = library("scipy.special")

    return special.erfc(widened(x)).astype(x.dtype)
