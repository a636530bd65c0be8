"""Bessel functions, and the rarer special functions of one number: dawsn, expint, fresnel_cos, fresnel_sin, spence.

Rule: as in special_functions.py. What is outside a function's domain is what TensorFlow makes of it. Source of the
functions: Abramowitz and Stegun, chapters 5, 7, 9 and 27.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.tensor import Tensor
from fastgraph.ops.comparison import equal
from fastgraph.ops.elementwise import ones_like, reciprocal, select, sign, widened
from fastgraph.ops.exponentials import cos, exp, log, sin
from fastgraph.ops.families import Array, elementwise

_RARE = "rarely used, and SciPy's is as fast as a kernel of ours would be"


def _by_scipy(name: str, x: Array) -> Any:
    special = library("scipy.special")  # 30 ms, and only for these ops in eager mode

    with np.errstate(all="ignore"):
        return getattr(special, name)(widened(x))


def _unless(bad: Array, value: float, found: Array, x: Array) -> Any:
    return np.where(bad, np.asarray(value, found.dtype), found).astype(x.dtype)


def _except_at(x: Tensor, point: float, value: float, otherwise: Callable[[Any], Any]) -> Any:
    """A formula of x that divides by nought at `point`, where it is `value`."""
    there = equal(x, point)
    safe = select(there, ones_like(x) * (point + 1), x)
    return select(there, ones_like(x) * value, otherwise(safe))


# ---- modified, of the first kind ------------------------------------------------------------------------------------


@elementwise(
    "math.bessel_i0e",
    "math.special.bessel_i0e",
    expr="bessel_i0e(x)",
    vjp=dict(x=lambda dy, x, out: dy * (bessel_i1e(x) - sign(x) * out)),
)
def bessel_i0e(x: Array) -> Any:
    """The modified Bessel function I0 over e**|x|. f[*s] -> f[*s]. Source: tf.math.bessel_i0e."""
    return _by_scipy("i0e", x).astype(x.dtype)


def _by_i1e(x: Tensor) -> Any:
    return _except_at(x, 0.0, 0.5, lambda x: bessel_i0e(x) - bessel_i1e(x) * (sign(x) + reciprocal(x)))


@elementwise(
    "math.bessel_i1e", "math.special.bessel_i1e", expr="bessel_i1e(x)", vjp=dict(x=lambda dy, x: dy * _by_i1e(x))
)
def bessel_i1e(x: Array) -> Any:
    """The modified Bessel function I1 over e**|x|. f[*s] -> f[*s]. Source: tf.math.bessel_i1e."""
    return _by_scipy("i1e", x).astype(x.dtype)


@elementwise(
    "math.bessel_i0",
    "math.special.bessel_i0",
    expr="exp(abs(x)) * bessel_i0e(x)",
    vjp=dict(x=lambda dy, x: dy * bessel_i1(x)),
)
def bessel_i0(x: Array) -> Any:
    """The modified Bessel function I0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.bessel_i0."""
    return (np.exp(np.abs(widened(x))) * _by_scipy("i0e", x)).astype(x.dtype)


@elementwise(
    "math.bessel_i1",
    "math.special.bessel_i1",
    expr="exp(abs(x)) * bessel_i1e(x)",
    vjp=dict(x=lambda dy, x: dy * _except_at(x, 0.0, 0.5, lambda x: bessel_i0(x) - bessel_i1(x) / x)),
)
def bessel_i1(x: Array) -> Any:
    """The modified Bessel function I1; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.bessel_i1."""
    return (np.exp(np.abs(widened(x))) * _by_scipy("i1e", x)).astype(x.dtype)


# ---- modified, of the second kind -----------------------------------------------------------------------------------


def _of_positive(name: str, x: Array, below: float) -> Any:
    """SciPy's function of positive numbers; `below` for 0 and less."""
    return _unless(x <= 0, below, _by_scipy(name, x), x)


@elementwise(
    "math.special.bessel_k0", expr="bessel_k0(x)", vjp=dict(x=lambda dy, x: -dy * bessel_k1(x)), domain=(0.3, 4)
)
def bessel_k0(x: Array) -> Any:
    """The modified Bessel function K0, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k0."""
    return _of_positive("k0", x, math.inf)


@elementwise(
    "math.special.bessel_k0e",
    expr="bessel_k0e(x)",
    vjp=dict(x=lambda dy, x, out: dy * (out - bessel_k1e(x))),
    domain=(0.3, 4),
)
def bessel_k0e(x: Array) -> Any:
    """e**x times the modified Bessel function K0, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k0e."""
    return _of_positive("k0e", x, math.inf)


@elementwise(
    "math.special.bessel_k1",
    expr="bessel_k1(x)",
    vjp=dict(x=lambda dy, x, out: dy * (-bessel_k0(x) - out / x)),
    domain=(0.3, 4),
)
def bessel_k1(x: Array) -> Any:
    """The modified Bessel function K1, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k1."""
    return _of_positive("k1", x, math.inf)


@elementwise(
    "math.special.bessel_k1e",
    expr="bessel_k1e(x)",
    vjp=dict(x=lambda dy, x, out: dy * (out * (1 - reciprocal(x)) - bessel_k0e(x))),
    domain=(0.3, 4),
)
def bessel_k1e(x: Array) -> Any:
    """e**x times the modified Bessel function K1, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k1e."""
    return _of_positive("k1e", x, math.inf)


# ---- of the first and second kind -----------------------------------------------------------------------------------


@elementwise("math.special.bessel_j0", vjp=dict(x=lambda dy, x: -dy * bessel_j1(x)), reason=_RARE)
def bessel_j0(x: Array) -> Any:
    """The Bessel function J0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_j0."""
    return _unless(np.isinf(x), math.nan, _by_scipy("j0", x), x)


@elementwise(
    "math.special.bessel_j1",
    vjp=dict(x=lambda dy, x: dy * _except_at(x, 0.0, 0.5, lambda x: bessel_j0(x) - bessel_j1(x) / x)),
    reason=_RARE,
)
def bessel_j1(x: Array) -> Any:
    """The Bessel function J1; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_j1."""
    return _unless(np.isinf(x), math.nan, _by_scipy("j1", x), x)


@elementwise("math.special.bessel_y0", vjp=dict(x=lambda dy, x: -dy * bessel_y1(x)), domain=(0.3, 4), reason=_RARE)
def bessel_y0(x: Array) -> Any:
    """The Bessel function Y0, x > 0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_y0."""
    return np.where(x == np.inf, np.asarray(np.nan, x.dtype), _of_positive("y0", x, -math.inf))


@elementwise(
    "math.special.bessel_y1",
    vjp=dict(x=lambda dy, x, out: dy * (bessel_y0(x) - out / x)),
    domain=(0.3, 4),
    reason=_RARE,
)
def bessel_y1(x: Array) -> Any:
    """The Bessel function Y1, x > 0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_y1."""
    return np.where(x == np.inf, np.asarray(np.nan, x.dtype), _of_positive("y1", x, -math.inf))


# ---- integrals ------------------------------------------------------------------------------------------------------


@elementwise("math.special.dawsn", vjp=dict(x=lambda dy, x, out: dy * (1 - 2 * x * out)), reason=_RARE)
def dawsn(x: Array) -> Any:
    """Dawson's integral e**-x**2 times the integral of e**t**2 from 0. f[*s] -> f[*s].

    Source: tf.math.special.dawsn.
    """
    return _by_scipy("dawsn", x).astype(x.dtype)


@elementwise("math.special.expint", expr="expint(x)", vjp=dict(x=lambda dy, x: dy * exp(x) / x), domain=(0.3, 4))
def expint(x: Array) -> Any:
    """The exponential integral Ei, x > 0; NaN below. f[*s] -> f[*s]. Source: tf.math.special.expint."""
    return _unless((x < 0) | np.isinf(x), math.nan, _by_scipy("expi", x), x)


@elementwise("math.special.fresnel_cos", vjp=dict(x=lambda dy, x: dy * cos((math.pi / 2) * (x * x))), reason=_RARE)
def fresnel_cos(x: Array) -> Any:
    """Fresnel's integral of cos(pi t**2 / 2) from 0. f[*s] -> f[*s]. Source: tf.math.special.fresnel_cos."""
    return _by_scipy("fresnel", x)[1].astype(x.dtype)


@elementwise("math.special.fresnel_sin", vjp=dict(x=lambda dy, x: dy * sin((math.pi / 2) * (x * x))), reason=_RARE)
def fresnel_sin(x: Array) -> Any:
    """Fresnel's integral of sin(pi t**2 / 2) from 0. f[*s] -> f[*s]. Source: tf.math.special.fresnel_sin."""
    return _by_scipy("fresnel", x)[0].astype(x.dtype)


@elementwise(
    "math.special.spence",
    vjp=dict(x=lambda dy, x: dy * _except_at(x, 1.0, -1.0, lambda x: log(x) / (1 - x))),
    domain=(0.2, 4),
    reason=_RARE,
)
def spence(x: Array) -> Any:
    """Spence's integral of log(t) / (1 - t) from 1, x >= 0; NaN below. f[*s] -> f[*s].

    Source: tf.math.special.spence.
    """
    return _unless((x < 0) | np.isinf(x), math.nan, _by_scipy("spence", x), x)
