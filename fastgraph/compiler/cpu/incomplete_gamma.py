"""Incomplete gamma functions of kernels, compiled by Numba from the plain Python here.

Rule: scalar code with loops, which `functions` has none of; float64 inside, whatever the kernel's floats are. Methods:
the power series for small x, the continued fraction for large x, Temme's expansion where both are large and near.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from fastgraph.core.base import gamma_expansion

_EPS = 2.0**-53
_STEADY = 2.0**-49  # what rounding leaves of a change between convergents
_MOST_TERMS = 1000
_LEAST, _REACH = gamma_expansion.LEAST, gamma_expansion.REACH
_EULER = 0.5772156649015329


def _polynomial(rows: tuple[tuple[float, ...], ...]) -> Callable[[float, float], float]:
    """A compiled function of (eta, 1 / a): the sum of rows[k][n] eta**n / a**k, written out."""
    text = "0.0"
    for row in reversed(rows):
        inner = repr(row[-1])
        for c in reversed(row[:-1]):
            inner = f"({inner} * eta + {c!r})"
        text = f"({text} * inverse + {inner})"
    scope: dict[str, Any] = {}
    exec(f"def total(eta, inverse):\n    return {text}\n", scope)
    function: Callable[[float, float], float] = _compiled(scope["total"])
    return function


def _compiled(function: Callable[..., Any]) -> Any:
    return njit(error_model="numpy", forceinline=True)(function)


def functions(table: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """igamma, igammac and igamma_grad_a of both floats; `table` has the functions of one number that they need."""
    exp, log, expm1 = table["exp_float64"], table["log_float64"], table["expm1_float64"]
    lgamma, erfc, digamma = table["lgamma_float64"], table["erfc_float64"], table["digamma_float64"]
    terms = gamma_expansion.terms()  # 40 ms, and few kernels have these functions
    sum_of_terms = _polynomial(terms)
    sum_by_eta, sum_by_a = _polynomial(gamma_expansion.by_eta(terms)), _polynomial(gamma_expansion.by_a(terms))

    @_compiled
    def mu_less_log(mu: float) -> Any:
        """mu - log(1 + mu) for |mu| < 1 / 3, by the series of atanh."""
        s = mu / (2.0 + mu)
        square = s * s
        total = 0.0
        for k in range(11, -1, -1):
            total = total * square + 1.0 / (2 * k + 3)
        return mu * s - 2.0 * s * square * total

    @_compiled
    def power(a: float, x: float) -> Any:
        """x**a e**-x / gamma(a + 1)."""
        if a < 10.0:
            return exp(a * log(x) - x - lgamma(a + 1.0))
        inverse = 1.0 / (a * a)
        rest = 1 / 1188 - inverse * (691 / 360360)
        rest = 1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse * rest)))
        ratio = x / a
        return exp(a * (log(ratio) - (ratio - 1.0)) - 0.5 * log(2.0 * math.pi * a) - rest / a)

    @_compiled
    def series(a: float, x: float) -> Any:
        """The lower function by its power series."""
        term = 1.0
        total = 1.0
        for n in range(1, _MOST_TERMS):
            term *= x / (a + n)
            total += term
            if term <= _EPS * total:
                break
        return power(a, x) * total

    @_compiled
    def fraction(a: float, x: float) -> Any:
        """The upper function by its continued fraction, for x above a and not small."""
        b = x + 1.0 - a
        c = 1e300
        d = 1.0 / b
        total = d
        for n in range(1, _MOST_TERMS):
            factor = -n * (n - a)
            b += 2.0
            d = factor * d + b
            c = b + factor / c
            d = 1.0 / (d if d != 0.0 else 1e-300)
            c = c if c != 0.0 else 1e-300
            total *= c * d
            if abs(c * d - 1.0) <= 4 * _EPS:
                break
        return a * power(a, x) * total

    @_compiled
    def upper_series(a: float, x: float) -> Any:
        """The upper function for small x and a: 1 - the lower function would cancel."""
        factor = 1.0
        total = 0.0
        for n in range(1, _MOST_TERMS):
            factor *= -x / n
            term = factor / (a + n)
            total += term
            if abs(term) <= _EPS * abs(total):
                break
        logarithm = log(x)
        whole = 1.0 + a
        rounded = lgamma(whole) - (a - (whole - 1.0)) * (_EULER if a < 1e-3 else 0.0)
        return -expm1(a * logarithm - rounded) - exp(a * logarithm - lgamma(a)) * total

    @_compiled
    def near(a: float, x: float, upper: bool) -> Any:
        mu = (x - a) / a
        half_square = mu_less_log(mu)
        eta = math.copysign(math.sqrt(2.0 * half_square), mu)
        sign = 1.0 if upper else -1.0
        rest = exp(-a * half_square) / math.sqrt(2.0 * math.pi * a) * sum_of_terms(eta, 1.0 / a)
        return 0.5 * erfc(sign * eta * math.sqrt(0.5 * a)) + sign * rest

    @_compiled
    def is_near(a: float, x: float) -> Any:
        return a >= _LEAST and abs(x - a) < _REACH * a

    @_compiled
    def is_lower(a: float, x: float) -> Any:
        """Return whether the lower function is to be computed, the upper one being what it leaves of 1."""
        if x > 1.1:
            return x < a
        return (-0.4 / log(x) if x <= 0.5 else 1.1 * x) < a

    @_compiled
    def tail(a: float, x: float) -> Any:
        return upper_series(a, x) if x <= 1.1 else fraction(a, x)

    @_compiled
    def igamma(a: float, x: float) -> Any:
        if x == 0.0:
            return 0.0
        if not (a > 0.0 and x >= 0.0):
            return math.nan
        if a == math.inf:
            return 0.0
        if x == math.inf:
            return 1.0
        if is_near(a, x):
            return near(a, x, False)
        return 1.0 - tail(a, x) if x > 1.0 and x > a else series(a, x)

    @_compiled
    def igammac(a: float, x: float) -> Any:
        if not (a > 0.0 and x >= 0.0):
            return math.nan
        if x == math.inf:
            return 0.0
        if a == math.inf or x == 0.0:
            return 1.0
        if is_near(a, x):
            return near(a, x, True)
        return 1.0 - series(a, x) if is_lower(a, x) else tail(a, x)

    @_compiled
    def near_by_a(a: float, x: float) -> Any:
        mu = (x - a) / a
        half_square = mu_less_log(mu)
        eta = math.copysign(math.sqrt(2.0 * half_square), mu)
        slope = 1.0 if mu == 0.0 else mu / eta
        inverse = 1.0 / a
        grown = (mu - half_square - 0.5 * inverse) * sum_of_terms(eta, inverse) + sum_by_a(eta, inverse)
        grown -= sum_by_eta(eta, inverse) * slope * inverse
        return exp(-a * half_square) / math.sqrt(2.0 * math.pi * a) * (0.5 * eta - slope - grown)

    @_compiled
    def series_by_a(a: float, x: float) -> Any:
        term = 1.0
        total = 1.0
        harmonic = 0.0
        slope = 0.0
        for n in range(1, _MOST_TERMS):
            term *= x / (a + n)
            harmonic += 1.0 / (a + n)
            total += term
            slope -= term * harmonic
            if term * harmonic <= -_EPS * slope:
                break
        return power(a, x) * (total * (log(x) - digamma(a + 1.0)) + slope)

    @_compiled
    def fraction_by_a(a: float, x: float) -> Any:
        """The derivative of the convergents p / q of the upper function's continued fraction."""
        y, z = 1.0 - a, x + 2.0 - a
        p0, p1, q0, q1 = 1.0, x + 1.0, x, z * x
        dp0, dp1, dq0, dq1 = 0.0, 0.0, 0.0, -x
        value = p1 / q1
        slope = (dp1 - value * dq1) / q1
        for n in range(1, _MOST_TERMS):
            y += 1.0
            z += 2.0
            less = y * n
            p, dp = p1 * z - p0 * less, dp1 * z - p1 - dp0 * less + p0 * n
            q, dq = q1 * z - q0 * less, dq1 * z - q1 - dq0 * less + q0 * n
            p0, p1, dp0, dp1 = p1, p, dp1, dp
            q0, q1, dq0, dq1 = q1, q, dq1, dq
            before, slope_before = value, slope
            value = p1 / q1
            slope = (dp1 - value * dq1) / q1
            if abs(value - before) <= _STEADY * abs(value) and abs(slope - slope_before) <= _STEADY * abs(slope):
                break
            if abs(p1) > 2.0**50:
                p0, p1, q0, q1 = p0 * 2.0**-50, p1 * 2.0**-50, q0 * 2.0**-50, q1 * 2.0**-50
                dp0, dp1, dq0, dq1 = dp0 * 2.0**-50, dp1 * 2.0**-50, dq0 * 2.0**-50, dq1 * 2.0**-50
        return -a * power(a, x) * (slope + value * (log(x) - digamma(a)))

    @_compiled
    def igamma_grad_a(a: float, x: float) -> Any:
        if x == 0.0:
            return 0.0
        if not (a > 0.0 and x >= 0.0):
            return math.nan
        if a == math.inf or x == math.inf:
            return 0.0
        if is_near(a, x):
            return near_by_a(a, x)
        return series_by_a(a, x) if x <= 1.0 or x <= a else fraction_by_a(a, x)

    def cast(function: Callable[..., Any], kind: type[np.floating[Any]]) -> Any:
        def of_kind(a: float, x: float) -> np.floating[Any]:
            return kind(function(np.float64(a), np.float64(x)))

        return _compiled(of_kind)

    every = {"igamma": igamma, "igammac": igammac, "igamma_grad_a": igamma_grad_a}
    return {f"{name}_{kind.__name__}": cast(f, kind) for name, f in every.items() for kind in (np.float32, np.float64)}
