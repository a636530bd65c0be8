"""Incomplete gamma functions of lanes: the regularised lower and upper one, and the derivative by the first argument.

Rule: as in functions.py, but for branches and loops in functions with forms for vectors (`Lane.inside`); float64
inside, whatever the kernel's floats are. Methods: the power series for small x, the continued fraction for large x,
Temme's expansion where both are large and near. Of float32, sums end where its last digit does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from fastgraph.compiler.vecmath.exponentials import erfc, exp, expm1, log
from fastgraph.compiler.vecmath.float_formats import max_, min_, polynomial
from fastgraph.compiler.vecmath.special_functions import digamma, log_of_gamma
from fastgraph.core.base import gamma_expansion
from fastgraph.core.native.lane_operators import LaneOperators as Lane

INF = math.inf
NAN = math.nan
_STEADY = 2.0**-49  # what rounding leaves of a change between convergents
_MOST_TERMS = 1000
_LEAST, _REACH = gamma_expansion.LEAST, gamma_expansion.REACH
_EULER = 0.5772156649015329
#: Beyond it sums are those at it: what they are multiplied by is 0.
_LARGE = 1e60
#: Up to here the lower function is summed, though x be larger than a: it is near 1, and all terms are positive.
_SUMMED = 12.0

_sums = cache(gamma_expansion.terms)  # 40 ms, and few kernels have these functions


def _total(rows: tuple[tuple[float, ...], ...], eta: Lane, inverse: Lane) -> Any:
    """The sum of rows[k][n] eta**n / a**k."""
    total = eta.constant(0.0)
    for row in reversed(rows):
        total = total.muladd(inverse, polynomial(eta, row))
    return total


def mu_less_log(mu: Lane) -> Any:
    """mu - log(1 + mu) for |mu| < 1 / 3, by the series of atanh."""
    s = mu / (mu + 2.0)
    square = s * s
    return mu * s - 2.0 * s * square * polynomial(square, tuple(1.0 / (2 * k + 3) for k in range(12)))


def _log_gamma(x: Lane, single: bool) -> Any:
    """lgamma of numbers from 1 on, to be an exponent."""
    return log_of_gamma(x) if single else x.call("lgamma")


def stirling_rest(z: Lane) -> Any:
    """log(gamma(z)) less its first three terms by Stirling, for z from 10 on."""
    inverse = 1.0 / (z * z)
    rest = polynomial(inverse, (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360))
    return rest / z


def _power(a: Lane, x: Lane, single: bool) -> Any:
    """x**a e**-x / gamma(a + 1)."""
    small = a < 10.0
    large = max_(a, a.constant(10.0))
    ratio = x / large
    far = exp(large * (log(ratio) - (ratio - 1.0)) - stirling_rest(large)) / (large * (2.0 * math.pi)).sqrt()
    return small.only_where(lambda: exp(a * log(x) - x - _log_gamma(a + 1.0, single)), far)


def _series(where: Lane, a: Lane, x: Lane, least: float) -> Any:
    """The power series of the lower function, four terms at a time."""
    a, x = min_(a, a.constant(_LARGE)), min_(x, x.constant(_LARGE))

    def step(d: Lane, term: Lane, total: Lane) -> tuple[list[Lane], Lane]:
        d1, d2, d3, d4 = d + 1.0, d + 2.0, d + 3.0, d + 4.0
        unit = term / ((d1 * d2) * (d3 * d4))
        pair = d3 * d4
        first = unit * x
        total = total + first * (pair * (d2 + x) + x * x * (d4 + x))
        term = first * x * (x * x)
        return [d4, term, total], term > total * least

    one = a.constant(1.0)
    return where.repeated([a, one, one], step, _MOST_TERMS)[2]


def _fraction(where: Lane, a: Lane, x: Lane, least: float) -> Any:
    """The continued fraction of the upper function, for x above a and not small: four convergents at a time, the
    denominator made 1 after each time."""
    a, x = min_(a, a.constant(_LARGE)), min_(x, x.constant(_LARGE))

    def step(n: Lane, b: Lane, value: Lane, p: Lane, q: Lane) -> tuple[list[Lane], Lane]:
        p1, q1 = value, n.constant(1.0)
        for _ in range(4):
            n, b = n + 1.0, b + 2.0
            factor = n * (a - n)
            p, p1 = p1, b * p1 + factor * p
            q, q1 = q1, b * q1 + factor * q
        inverse = 1.0 / q1
        new = p1 * inverse
        return [n, b, new, p * inverse, q * inverse], (new - value).abs() > new.abs() * least

    b = x + 1.0 - a
    nought, inverse = a.constant(0.0), 1.0 / b
    return where.repeated([nought, b, inverse, nought, inverse], step, _MOST_TERMS // 4)[2]


def _upper_series(a: Lane, x: Lane, single: bool) -> Any:
    """The upper function for x up to 1.1 and small a: 1 - the lower function would cancel."""
    total = factor = a.constant(0.0)
    factor = factor + 1.0
    for n in range(1, 15 if single else 21):
        factor = factor * (x * (-1.0 / n))
        total = total + factor / (a + float(n))
    logarithm = log(x)
    whole = a + 1.0
    logarithm_of_gamma = _log_gamma(whole, single)
    # A small a loses digits in 1 + a.
    rounded = logarithm_of_gamma - (a < 1e-3).select((a - (whole - 1.0)) * _EULER, 0.0)
    exponent = a * logarithm
    return -expm1(exponent - rounded) - a * exp(exponent - logarithm_of_gamma) * total


def _eta(a: Lane, x: Lane) -> tuple[Lane, Lane, Lane]:
    """mu, eta**2 / 2 and eta of Temme's expansion."""
    mu = (x - a) / a
    half_square = mu_less_log(mu)
    return mu, half_square, (half_square * 2.0).sqrt().copysign(mu)


def _value_near(a: Lane, x: Lane, sign: float) -> Any:
    """Temme's expansion: of the upper function (sign 1) or the lower one (-1)."""
    _, half_square, eta = _eta(a, x)
    rest = exp(-a * half_square) / (a * (2.0 * math.pi)).sqrt() * _total(_sums(), eta, 1.0 / a)
    return erfc(eta * (a * 0.5).sqrt() * sign) * 0.5 + rest * sign


def _cases(a: Lane, x: Lane) -> tuple[Lane, Lane]:
    """True where a and x are positive and finite but not near each other; and where they are near."""
    usable = (a > 0.0) & (x > 0.0) & (a < INF) & (x < INF)
    near = usable & (a >= _LEAST) & ((x - a).abs() < a * _REACH)
    return usable & ~near, near


def _lower(a: Lane, x: Lane, single: bool) -> Any:
    usable, near = _cases(a, x)
    least = 2.0**-30 if single else 2.0**-53
    by_fraction = usable & (x > a) & (x > _SUMMED)
    by_series = usable & ~by_fraction
    result = usable.only_where(lambda: _power(a, x, single), a.constant(0.0))
    power = result
    result = by_series.only_where(lambda: min_(power * _series(by_series, a, x, least), a.constant(1.0)), result)
    result = by_fraction.only_where(lambda: 1.0 - a * power * _fraction(by_fraction, a, x, least * 4.0), result)
    result = near.only_where(lambda: _value_near(a, x, -1.0), result)
    result = (a >= INF).select(0.0, (x >= INF).select(1.0, result))
    return x.equals(0.0).select(0.0, ((a > 0.0) & (x >= 0.0)).select(result, NAN))


def _upper(a: Lane, x: Lane, single: bool) -> Any:
    usable, near = _cases(a, x)
    least = 2.0**-30 if single else 2.0**-53
    bound = (x <= 0.5).select(-0.4 / log(x), x * 1.1)
    by_series = usable & ((x > 1.1).select(x, bound) < a)  # where the upper function is what the lower leaves of 1
    short = usable & ~by_series & (x <= 1.1)
    by_fraction = usable & ~by_series & (x > 1.1)
    result = (by_series | by_fraction).only_where(lambda: _power(a, x, single), a.constant(0.0))
    power = result
    result = by_series.only_where(lambda: 1.0 - power * _series(by_series, a, x, least), result)
    result = short.only_where(lambda: _upper_series(a, x, single), result)
    result = by_fraction.only_where(lambda: a * power * _fraction(by_fraction, a, x, least * 4.0), result)
    result = near.only_where(lambda: _value_near(a, x, 1.0), result)
    result = (x >= INF).select(0.0, (a >= INF).select(1.0, result))
    return ((a > 0.0) & (x >= 0.0)).select(x.equals(0.0).select(1.0, result), NAN)


def _near_by_a(a: Lane, x: Lane) -> Any:
    mu, half_square, eta = _eta(a, x)
    slope = mu.equals(0.0).select(1.0, mu / eta)
    inverse, rows = 1.0 / a, _sums()
    grown = (mu - half_square - inverse * 0.5) * _total(rows, eta, inverse)
    grown = grown + _total(gamma_expansion.by_a(rows), eta, inverse)
    grown = grown - _total(gamma_expansion.by_eta(rows), eta, inverse) * slope * inverse
    return exp(-a * half_square) / (a * (2.0 * math.pi)).sqrt() * (eta * 0.5 - slope - grown)


def _series_by_a(where: Lane, a: Lane, x: Lane, least: float) -> Any:
    def step(d: Lane, term: Lane, total: Lane, harmonic: Lane, slope: Lane) -> tuple[list[Lane], Lane]:
        d = d + 1.0
        inverse = 1.0 / d
        term = term * (x * inverse)
        harmonic = harmonic + inverse
        change = term * harmonic
        slope = slope - change
        return [d, term, total + term, harmonic, slope], change > slope * -least

    nought, one = a.constant(0.0), a.constant(1.0)
    _, _, total, _, slope = where.repeated([a, one, one, nought, nought], step, _MOST_TERMS)
    return total * (log(x) - digamma(a + 1.0)) + slope


def _fraction_by_a(where: Lane, a: Lane, x: Lane, steady: float) -> Any:
    """The derivative of the convergents p / q of the upper function's continued fraction."""

    def step(*state: Lane) -> tuple[list[Lane], Lane]:
        n, y, z, p0, p1, q0, q1, dp0, dp1, dq0, dq1, value, slope = state
        n, y, z = n + 1.0, y + 1.0, z + 2.0
        less = y * n
        p, dp = p1 * z - p0 * less, dp1 * z - p1 - dp0 * less + p0 * n
        q, dq = q1 * z - q0 * less, dq1 * z - q1 - dq0 * less + q0 * n
        inverse = 1.0 / q
        new = p * inverse
        new_slope = (dp - new * dq) * inverse
        more = ((new - value).abs() > new.abs() * steady) | ((new_slope - slope).abs() > new_slope.abs() * steady)
        scale = (p.abs() > 2.0**50).select(p.constant(2.0**-50), 1.0)
        scaled = [part * scale for part in (p1, p, q1, q, dp1, dp, dq1, dq)]
        return [n, y, z, *scaled, new, new_slope], more

    nought, one = a.constant(0.0), a.constant(1.0)
    z = x + 2.0 - a
    p, q = x + 1.0, z * x
    value = p / q
    slope = (value * x) / q
    state = [nought, 1.0 - a, z, one, p, x, q, nought, nought, nought, -x, value, slope]
    *_, value, slope = where.repeated(state, step, _MOST_TERMS)
    return slope + value * (log(x) - digamma(a))


def _grad_a(a: Lane, x: Lane, single: bool) -> Any:
    usable, near = _cases(a, x)
    least, steady = (2.0**-30, 2.0**-28) if single else (2.0**-53, _STEADY)
    by_series = usable & ((x <= 1.0) | (x <= a))
    by_fraction = usable & ~by_series
    power = usable.only_where(lambda: _power(a, x, single), a.constant(0.0))
    result = by_series.only_where(lambda: power * _series_by_a(by_series, a, x, least), a.constant(0.0))
    result = by_fraction.only_where(lambda: -a * power * _fraction_by_a(by_fraction, a, x, steady), result)
    result = near.only_where(lambda: _near_by_a(a, x), result)
    return x.equals(0.0).select(0.0, ((a > 0.0) & (x >= 0.0)).select(result, NAN))


def _of(name: str, function: Callable[[Lane, Lane, bool], Lane]) -> Callable[[Lane, Lane], Lane]:
    def of_lanes(a: Lane, x: Lane) -> Any:
        single = a.dtype == "float32"
        wide = a.to("float64").inside(f"{name}_{a.dtype}", lambda a, x: function(a, x, single), x.to("float64"))
        return wide.to(a.dtype)

    return of_lanes


igamma = _of("igamma", _lower)
igammac = _of("igammac", _upper)
igamma_grad_a = _of("igamma_grad_a", _grad_a)
