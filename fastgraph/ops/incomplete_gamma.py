"""Incomplete gamma and beta functions: igamma, igammac, betainc, and their gradients.

Rule: as in special_functions.py: bodies are the NumPy oracles of what kernels compute (compiler/vecmath,
incomplete_gamma.py and incomplete_beta.py). Source of the functions: NIST Digital Library of Mathematical Functions, 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base import gamma_expansion
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import Tensor
from fastgraph.ops.exponentials import exp, log
from fastgraph.ops.families import Array, Dims, custom, elementwise, invalid, lower_elementwise, misuse, shape_text
from fastgraph.ops.special_functions import digamma, lgamma, scipy_special, xlog1py, xlogy

_EPS = 2.0**-53
_STEADY = 2.0**-49  # what rounding leaves of a change between convergents
_MOST_TERMS = 1000


def _density(a: Tensor, x: Tensor) -> Any:
    """The derivative of igamma(a, x) with respect to x."""
    return exp(-x + (a - 1) * log(x) - lgamma(a))


def _pairs() -> list[Any]:
    a = np.array([0.4, 1.0, 2.5, 7.0, 30.0, 150.0, 150.0, 2e4])
    x = np.array([0.2, 1.5, 2.5, 11.0, 24.0, 149.0, 260.0, 2.01e4])
    found: list[Any] = [((a.astype(t), x.astype(t)), {}) for t in ("float32", "float64")]
    found += [((np.array([0.5, 3.0], t), np.array([[0.75], [2.0]], t)), {}) for t in ("float16", "float32")]
    return [*found, ((np.ones([0, 2]), np.array(1.0)), {}), ((np.array(2.0), np.array(0.5)), {})]


def _unlike() -> list[Any]:
    return [misuse(r"Incompatible shapes: \[2\] vs. \[3\]", np.ones(2), np.ones(3))]


@elementwise(
    "math.igamma",
    expr="igamma(a, x)",
    vjp=dict(a=lambda dy, a, x: dy * igamma_grad_a(a, x), x=lambda dy, a, x: dy * _density(a, x)),
    samples=_pairs,
    error_samples=_unlike,
)
def igamma(a: Array, x: Array) -> Any:
    """The regularised lower incomplete gamma function, a > 0, x >= 0; NaN elsewhere. f[*s], f[*s] -> f[*s].

    Source: tf.math.igamma.
    """
    shape, wide, found = _regularised(a, x, "gammainc", -1.0)
    found = np.where((wide >= 0) & (shape == np.inf), 0.0, found)
    return np.where(wide == 0, 0.0, found).astype(a.dtype)


def _regularised(a: Array, x: Array, name: str, sign: float) -> tuple[Array, Array, Array]:
    """Both arguments in float64, and SciPy's function of them; `sign` is 1 for the upper one."""
    wide_a, wide = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    with np.errstate(all="ignore"):
        found = np.asarray(getattr(scipy_special(), name)(wide_a, wide))
        near = _is_near(wide_a, wide)
    if near.any():  # SciPy sums too few terms there
        found[near] = _value_near(wide_a[near], wide[near], sign)
    return wide_a, wide, np.where(np.isnan(wide) | ~(wide_a > 0) | (wide < 0), np.nan, found)


def _is_near(a: Array, x: Array) -> Any:
    """True where Temme's expansion is used."""
    return (a >= gamma_expansion.LEAST) & (a < np.inf) & (np.abs(x - a) < gamma_expansion.REACH * a)


@elementwise(
    "math.igammac",
    expr="igammac(a, x)",
    vjp=dict(a=lambda dy, a, x: -dy * igamma_grad_a(a, x), x=lambda dy, a, x: -dy * _density(a, x)),
    samples=_pairs,
    error_samples=_unlike,
)
def igammac(a: Array, x: Array) -> Any:
    """The regularised upper incomplete gamma function, a > 0, x >= 0; NaN elsewhere. f[*s], f[*s] -> f[*s].

    Source: tf.math.igammac.
    """
    shape, wide, found = _regularised(a, x, "gammaincc", 1.0)
    found = np.where((wide >= 0) & (shape == np.inf), 1.0, found)
    return np.where((wide == np.inf) & (shape > 0), 0.0, found).astype(a.dtype)


def _no_second_order(dy: Tensor) -> Any:
    raise LookupError("gradient registry has no entry for: IgammaGradA")


@elementwise(
    expr="igamma_grad_a(a, x)",
    vjp=dict(a=lambda dy: _no_second_order(dy), x=lambda dy, a, x: dy * _density(a, x) * (log(x) - digamma(a))),
    samples=_pairs,
)
def igamma_grad_a(a: Array, x: Array) -> Any:
    """The derivative of igamma(a, x) by a. f[*s], f[*s] -> f[*s], broadcasting."""
    a, x = np.broadcast_arrays(a, x)
    shape, wide = a.astype(np.float64).ravel(), x.astype(np.float64).ravel()
    found = np.full(shape.shape, np.nan)
    found[((shape > 0) & (wide == np.inf)) | ((shape == np.inf) & (wide >= 0)) | (wide == 0)] = 0.0
    usable = (shape > 0) & (wide > 0) & np.isfinite(shape) & np.isfinite(wide)
    with np.errstate(invalid="ignore"):
        near = usable & _is_near(shape, wide)
    below = usable & ~near & ((wide <= 1) | (wide <= shape))
    above = usable & ~near & ~below
    for where, method in ((near, _near), (below, _below), (above, _above)):
        if where.any():
            found[where] = method(shape[where], wide[where])
    return found.reshape(a.shape).astype(a.dtype)


def _sum_of(rows: tuple[tuple[float, ...], ...], eta: Array, inverse: Array) -> Any:
    total: Any = 0.0
    for row in reversed(rows):
        total = total * inverse + np.polynomial.polynomial.polyval(eta, row)
    return total


def _eta(a: Array, x: Array) -> tuple[Array, Array, Array]:
    """mu, eta**2 / 2 and eta of Temme's expansion."""
    mu = (x - a) / a
    half_square = _mu_less_log(mu)
    return mu, half_square, np.copysign(np.sqrt(2 * half_square), mu)


def _value_near(a: Array, x: Array, sign: float) -> Any:
    """Temme's expansion, for large a and x of about that size: the upper function (sign 1) or the lower one (-1)."""
    _, half_square, eta = _eta(a, x)
    rest = np.exp(-a * half_square) / np.sqrt(2 * np.pi * a) * _sum_of(gamma_expansion.terms(), eta, 1 / a)
    return 0.5 * scipy_special().erfc(sign * eta * np.sqrt(0.5 * a)) + sign * rest


def _near(a: Array, x: Array) -> Any:
    """The derivative by a of Temme's expansion."""
    rows = gamma_expansion.terms()
    mu, half_square, eta = _eta(a, x)
    slope = np.where(mu == 0, 1.0, mu / np.where(mu == 0, 1.0, eta))
    inverse = 1 / a
    total = _sum_of(rows, eta, inverse)
    grown = (mu - half_square - 0.5 * inverse) * total + _sum_of(gamma_expansion.by_a(rows), eta, inverse)
    grown -= _sum_of(gamma_expansion.by_eta(rows), eta, inverse) * slope * inverse
    return np.exp(-a * half_square) / np.sqrt(2 * np.pi * a) * (eta / 2 - slope - grown)


def _mu_less_log(mu: Array) -> Any:
    """mu - log(1 + mu) for |mu| < 1 / 3, by the series of atanh."""
    s = mu / (2 + mu)
    square = s * s
    return mu * s - 2 * s * square * np.polynomial.polynomial.polyval(square, [1 / (2 * k + 3) for k in range(12)])


def _log_power(a: Array, x: Array) -> Any:
    """log(x**a e**-x / gamma(a + 1))."""
    special = scipy_special()
    large = np.maximum(a, 10.0)
    inverse = 1 / (large * large)
    rest = np.polynomial.polynomial.polyval(inverse, [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360])
    ratio = x / a
    stirling = a * (np.log(ratio) - (ratio - 1)) - 0.5 * np.log(2 * np.pi * large) - rest / large
    return np.where(a >= 10, stirling, a * np.log(x) - x - special.gammaln(a + 1))


def _below(a: Array, x: Array) -> Any:
    """The power series, whose terms are all of one sign: for x up to a."""
    term, total = np.ones_like(a), np.ones_like(a)
    harmonic, slope = np.zeros_like(a), np.zeros_like(a)
    for n in range(1, _MOST_TERMS):
        term = term * (x / (a + n))
        harmonic = harmonic + 1 / (a + n)
        total += term
        slope -= term * harmonic
        if np.all(term * harmonic <= -_EPS * slope):
            break
    return np.exp(_log_power(a, x)) * (total * (np.log(x) - scipy_special().psi(a + 1)) + slope)


def _above(a: Array, x: Array) -> Any:
    """The continued fraction of the other tail, its convergents differentiated: for x above a."""
    y, z = 1 - a, x + 2 - a
    p0, p1, q0, q1 = np.ones_like(a), x + 1, x, z * x
    dp0, dp1, dq0, dq1 = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a), -x
    value = p1 / q1
    slope = (dp1 - value * dq1) / q1
    found, left = np.stack([value, slope]), np.arange(a.size)  # left: those that still change
    for n in range(1, _MOST_TERMS):
        y, z = y + 1, z + 2
        less = y * n
        p0, p1, dp0, dp1 = p1, p1 * z - p0 * less, dp1, dp1 * z - p1 - dp0 * less + p0 * n
        q0, q1, dq0, dq1 = q1, q1 * z - q0 * less, dq1, dq1 * z - q1 - dq0 * less + q0 * n
        new = p1 / q1
        grown = (dp1 - new * dq1) / q1
        going = (np.abs(new - value) > _STEADY * np.abs(new)) | (np.abs(grown - slope) > _STEADY * np.abs(grown))
        value, slope = new, grown
        found[:, left] = value, slope
        if not going.any():
            break
        scale = np.where(np.abs(p1) > 2.0**50, 2.0**-50, 1.0)
        kept = [v[going] for v in (p0, p1, q0, q1, dp0, dp1, dq0, dq1, scale)]
        p0, p1, q0, q1, dp0, dp1, dq0, dq1 = (v * kept[-1] for v in kept[:-1])
        y, z, value, slope, left = (v[going] for v in (y, z, value, slope, left))
    power = np.exp(_log_power(a, x)) * a  # x**a e**-x / gamma(a)
    return -power * (found[1] + found[0] * (np.log(x) - scipy_special().psi(a)))


# ---- beta -----------------------------------------------------------------------------------------------------------


def _infer_beta(a: Aval, b: Aval, x: Aval) -> Aval:
    shapes = [v.shape for v in (a, b, x)]
    text = _unlike_shapes(*shapes)
    if text is not None:
        raise ValueError(text)
    return Aval(x.dtype, None if None in shapes else next((s for s in shapes if s != ()), ()))


def _unlike_shapes(a: Dims, b: Dims, x: Dims) -> str | None:
    """Tell what is wrong with shapes that are not one shape, scalars apart; None if nothing is."""
    for name, one, other_name, other in (("a", a, "b", b), ("a", a, "x", x), ("b", b, "x", x)):
        if not one or not other:  # a scalar, or unknown
            continue
        if len(one) != len(other) or any(n != m for n, m in zip(one, other, strict=True) if None not in (n, m)):
            return f"Shapes of {name} and {other_name} are inconsistent: {shape_text(one)} vs. {shape_text(other)}"
    return None


def _betainc_x(dy: Tensor, a: Tensor, b: Tensor, x: Tensor) -> Any:
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return dy * exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta)


def _triples() -> list[Any]:
    a, b, x = np.array([0.5, 2.0, 7.0]), np.array([1.5, 3.0, 0.5]), np.array([0.2, 0.5, 0.9])
    found: list[Any] = [((a.astype(t), b.astype(t), x.astype(t)), {}) for t in ("float32", "float64")]
    return [*found, ((np.array(2.0), b, np.array(0.3)), {}), ((np.array(2.0), np.array(1.0), np.zeros([0, 2])), {})]


@custom(
    "math.betainc",
    infer=_infer_beta,
    groups=("T", "T", "T"),
    dtypes="float32 float64",
    vjp=dict(x=_betainc_x),
    samples=_triples,
    error_samples=lambda: [
        misuse("Shapes of a and x are inconsistent", np.ones(2), np.ones(2), np.ones([1, 2])),
        misuse("Shapes of a and b are inconsistent", np.ones(2), np.ones(1), np.ones(2)),
    ],
    lower=lower_elementwise("betainc(a, b, x)", ("a", "b", "x")),
)
def betainc(a: Array, b: Array, x: Array) -> Any:
    """The regularised incomplete beta function, a > 0, b > 0, x in [0, 1]; NaN elsewhere. f[*s] x3 -> f[*s].

    Raises: InvalidArgumentError for shapes that differ, scalars apart. Source: tf.math.betainc.
    """
    text = _unlike_shapes(a.shape, b.shape, x.shape)
    if text is not None:
        raise invalid(text)
    first, second, wide = (v.astype(np.float64) for v in np.broadcast_arrays(a, b, x))
    found = np.where(np.isfinite(first) & np.isfinite(second), scipy_special().betainc(first, second, wide), np.nan)
    found = np.where(np.isnan(found) & (wide == 0), 0.0, np.where(np.isnan(found) & (wide == 1), 1.0, found))
    bad = (first <= 0) | (second <= 0) | ~((wide >= 0) & (wide <= 1))
    return np.where(bad, np.nan, found).astype(x.dtype)
