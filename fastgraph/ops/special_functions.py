"""Special functions and the rarer arithmetic: erfinv, lgamma, digamma, zeta, xdivy, truncated division, nextafter.

Rule: as in elementwise.py, a body is the NumPy oracle of its `expr`. Source of the functions: Abramowitz and Stegun,
chapters 6, 7 and 23.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InternalError
from fastgraph.ops.activations import divide_no_nan_p
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.comparison import not_equal_p
from fastgraph.ops.complex_numbers import imag, real
from fastgraph.ops.elementwise import cast, ones_like, select, widened, zeros_like_p
from fastgraph.ops.exponentials import atan2, exp
from fastgraph.ops.families import Array, elementwise, lower_elementwise, public
from fastgraph.ops.reduction import reduce_sum

_SQRT_HALF = 0.7071067811865476


def scipy_special() -> Any:
    """The module of SciPy, imported when it is first needed."""
    special = library("scipy.special")  # 30 ms, and only for these ops in eager mode

    return special


# ---- error function and its inverses --------------------------------------------------------------------------------


@elementwise(
    "math.erfinv",
    expr="erfinv(x)",
    vjp=dict(x=lambda dy, out: dy * exp(out * out) * 0.8862269254527580),
    domain=(-0.9, 0.9),
)
def erfinv(x: Array) -> Any:
    """The number whose erf is x; infinite at -1 and 1, NaN outside. f[*s] -> f[*s]. Source: tf.math.erfinv."""
    return scipy_special().erfinv(widened(x)).astype(x.dtype)


@elementwise(
    "math.ndtri",
    expr="ndtri(x)",
    vjp=dict(x=lambda dy, out: dy * exp(out * out * 0.5) * 2.5066282746310002),
    domain=(0.05, 0.95),
)
def ndtri(x: Array) -> Any:
    """The quantile of the standard normal distribution. f[*s] -> f[*s]. Source: Wichura 1988; tf.math.ndtri."""
    return scipy_special().ndtri(widened(x)).astype(x.dtype)


@public("math.erfcinv")
def erfcinv(x: TensorLike, name: str | None = None) -> Any:
    """The number whose erfc is x, precise for small x. f[*s] -> f[*s]. Source: tf.math.erfcinv."""
    x = as_tensor(x)
    return ndtri(x * 0.5) * -_SQRT_HALF


# ---- gamma and zeta -------------------------------------------------------------------------------------------------


@elementwise("math.lgamma", expr="lgamma(x)", vjp=dict(x=lambda dy, x: dy * digamma(x)), domain=(0.3, 4))
def lgamma(x: Array) -> Any:
    """log(|gamma(x)|); infinite at 0, -1, -2, ... f[*s] -> f[*s]. Source: tf.math.lgamma.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        The gamma function of n is the factorial of n - 1:

        >>> tf.round(tf.exp(tf.math.lgamma([1.0, 4.0, 6.0])))
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([  1.,   6., 120.], dtype=float32)>
    """
    wide = widened(x)  # SciPy's is -inf at -inf, and inf at denormals, dividing 1 by them
    size = np.abs(wide)
    near = np.where(size < np.finfo(wide.dtype).tiny, -np.log(size), scipy_special().gammaln(wide))
    return np.where(wide == -np.inf, np.asarray(np.inf, wide.dtype), near).astype(x.dtype)


@elementwise(
    "math.digamma", expr="digamma(x)", vjp=dict(x=lambda dy, x: dy * polygamma(ones_like(x), x)), domain=(0.3, 4)
)
def digamma(x: Array) -> Any:
    """The derivative of lgamma; NaN at 0, -1, -2, ... f[*s] -> f[*s]. Source: tf.math.digamma."""
    wide = widened(x)
    return np.where(wide == 0, np.asarray(np.nan, wide.dtype), scipy_special().psi(wide)).astype(x.dtype)


@elementwise(
    "math.zeta",
    expr="zeta(x, q)",
    dtypes="float32 float64",
    vjp=dict(q=lambda dy, x, q: -x * zeta(x + 1, q) * dy),
    domain=(1.2, 4),
)
def zeta(x: Array, q: Array) -> Any:
    """Hurwitz's zeta function sum((q + k) ** -x), x > 1, q > 0. f[*s], f[*s] -> f[*s]. Source: tf.math.zeta."""
    found = scipy_special().zeta(x, q).astype(x.dtype)
    # TensorFlow's poles: SciPy has infinities at every q <= 0 that is whole, and nothing at x infinite.
    pole = (q <= 0) & (np.floor(q) == q) & (np.floor(x / 2) * 2 != x)
    found = np.where((x == np.inf) & (q > 1), np.asarray(0, x.dtype), found)
    found = np.where(np.isnan(x) | np.isnan(q) | pole, np.asarray(np.nan, x.dtype), found)
    return np.where(x == 1, np.asarray(np.inf, x.dtype), found)


@elementwise(
    "math.polygamma",
    expr="polygamma(a, x)",
    dtypes="float32 float64",
    vjp=dict(x=lambda dy, a, x: polygamma(a + 1, x) * dy),
    samples=lambda: [
        ((np.array(a, t), np.array([0.4, 1.0, 2.5, 9.0], t)), {}) for t in ("float32", "float64") for a in (0, 1, 2, 5)
    ],
)
def polygamma(a: Array, x: Array) -> Any:
    """The derivative of order a of digamma, x > 0; NaN if a is not whole. f[*s], f[*s] -> f[*s], broadcasting.

    Source: tf.math.polygamma.
    """
    special, wide, order = scipy_special(), x.astype(np.float64), a.astype(np.float64)
    sign = np.where(order % 2 == 0, -1.0, 1.0)
    higher = sign * special.gamma(order + 1) * special.zeta(order + 1, wide)
    found = np.where(order == 0, special.psi(wide), higher)
    whole = (order >= 0) & (order == np.floor(order)) & np.isfinite(order)  # other orders have no derivative
    return np.where(whole & ~np.isnan(wide), found, np.nan).astype(x.dtype)


@public("math.lbeta")
def lbeta(x: TensorLike, name: str | None = None) -> Any:
    """log(|Beta|) of the last axis: sum(lgamma(x)) - lgamma(sum(x)). f[*s, n] -> f[*s]. Source: tf.math.lbeta."""

    x = as_tensor(x)
    return reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1))


# ---- products and quotients that stay 0 -----------------------------------------------------------------------------


@elementwise(
    "math.xdivy",
    expr="select(x == 0, x, x / y)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x, y: dy * xdivy(_there(x), y), y=lambda dy, x, y: dy * xdivy(-x, y * y)),
    domain=(0.3, 3),
)
def xdivy(x: Array, y: Array) -> Any:
    """x / y, and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xdivy."""
    x, y = np.broadcast_arrays(x, y)
    return np.where(x == 0, x, np.divide(x, y))


@elementwise(
    "math.xlogy",
    expr="select(x == 0, 0, x * log(y))",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x, y: dy * xlogy(_there(x), y), y=lambda dy, x, y: dy * xdivy(x, y)),
    domain=(0.3, 3),
)
def xlogy(x: Array, y: Array) -> Any:
    """x * log(y), and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xlogy."""
    x, y = np.broadcast_arrays(x, y)
    wide, other = widened(x), widened(y)
    return np.where(wide == 0, np.zeros((), wide.dtype), wide * np.log(other)).astype(x.dtype)


@elementwise(
    "math.xlog1py",
    expr="select(x == 0, x, x * log1p(y))",
    dtypes="fractional",
    vjp=dict(x=lambda dy, x, y: dy * xlog1py(_there(x), y), y=lambda dy, x, y: dy * xdivy(x, y + 1)),
    domain=(0.3, 3),
)
def xlog1py(x: Array, y: Array) -> Any:
    """x * log(1 + y), and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xlog1py."""
    x, y = np.broadcast_arrays(x, y)
    wide, other = widened(x), widened(y)
    return np.where(wide == 0, wide, wide * np.log1p(other)).astype(x.dtype)


def _there(x: Tensor) -> Any:
    return cast(not_equal_p(x, zeros_like_p(x)), x.dtype)


@public("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Any:
    """1 / x, and 0 where x is 0. f[*s] -> f[*s]. Source: tf.math.reciprocal_no_nan."""
    x = as_tensor(x)
    return named(name, divide_no_nan_p, ones_like(x), x)


# ---- division towards zero, neighbours, angles ----------------------------------------------------------------------


def _check_divisor(y: Array) -> None:
    if y.dtype.kind in "iu" and not np.all(y):
        text = "Unexpected error in binary operator (only integer div and mod should have errors)"
        raise InternalError(None, None, text)  # TensorFlow's class and words for this op


def _lower_truncated(integers: str, floats: str) -> Any:
    whole = lower_elementwise(integers, ("x", "y"), (), "y != 0")
    part = lower_elementwise(floats, ("x", "y"))
    return lambda b, node: (whole if node.inputs[0].aval.dtype.is_integer else part)(b, node)


_DIVISIBLE = "bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 uint32 uint64 int64"


def _division_samples() -> list[Any]:
    x, y = np.array([[7, -7, 6], [-6, 0, 5]]), np.array([2, 2, -4])
    floats: list[Any] = [(((x + 0.5).astype(t), y.astype(t)), {}) for t in ("float32", "float64", "float16")]
    whole: list[Any] = [((x.astype(t), y.astype(t)), {}) for t in ("int32", "int64", "int8")]
    return [*floats, *whole, ((np.array([7, 200], np.uint8), np.array([3], np.uint8)), {})]


def _division_errors() -> list[Any]:
    return [((np.array([7]), np.array([0])), {}, InternalError, "Unexpected error in binary operator")]


@elementwise(
    "truncatediv",
    op="TruncateDiv",
    dtypes=_DIVISIBLE,
    lower=_lower_truncated("truncatediv(x, y)", "trunc(x / y)"),
    samples=_division_samples,
    error_samples=_division_errors,
)
def truncatediv(x: Array, y: Array) -> Any:
    """Quotient rounded towards zero. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InternalError for an integer y of 0. Source: tf.truncatediv.
    """
    _check_divisor(y)
    if y.dtype.kind not in "iu":
        return np.trunc(widened(np.divide(widened(x), widened(y)).astype(x.dtype))).astype(x.dtype)
    if y.dtype.kind == "u":
        return x // y
    quotient = x // y
    return (quotient + ((x - quotient * y != 0) & ((x < 0) != (y < 0)))).astype(x.dtype)


@elementwise(
    "truncatemod",
    op="TruncateMod",
    dtypes=_DIVISIBLE,
    lower=_lower_truncated("truncatemod(x, y)", "fmod(x, y)"),
    samples=_division_samples,
    error_samples=_division_errors,
)
def truncatemod(x: Array, y: Array) -> Any:
    """Remainder with the sign of x. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InternalError for an integer y of 0. Source: tf.truncatemod.
    """
    _check_divisor(y)
    return np.fmod(widened(x), widened(y)).astype(x.dtype)


@elementwise(
    "math.nextafter",
    op="NextAfter",
    expr="nextafter(x1, x2)",
    dtypes="float64 float32",
    vjp=dict(x1=lambda dy: dy, x2=lambda dy: zeros_like_p(dy)),
)
def nextafter(x1: Array, x2: Array) -> Any:
    """The number next to x1 in the direction of x2. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.nextafter."""
    return np.nextafter(x1, x2)


@public("math.angle")
def angle(input: TensorLike, name: str | None = None) -> Any:
    """The angle of complex numbers; 0 of positive real ones, pi of negative ones. c64[*s] -> f32[*s].

    Source: tf.math.angle.
    """
    x = as_tensor(input)
    if x.dtype.is_complex:
        return atan2(imag(x), real(x), name=name)
    pi = as_tensor(np.pi, x.dtype) if x.dtype.is_floating else as_tensor(3, x.dtype)
    return select(x < zeros_like_p(x), pi, zeros_like_p(x))


@elementwise(
    "nn.softsign",
    "math.softsign",
    expr="features / (abs(features) + 1)",
    vjp=dict(features=lambda dy, features: dy / (abs(features) + 1) / (abs(features) + 1)),
)
def softsign(features: Array) -> Any:
    """features / (1 + |features|). f[*s] -> f[*s]. Source: tf.nn.softsign."""
    wide = widened(features)
    return (wide / (np.abs(wide) + np.ones((), wide.dtype))).astype(features.dtype)
