"""The regularised incomplete beta function of lanes.

Rule: as in incomplete_gamma.py. Method: the continued fraction of Didonato and Morris, "Algorithm 708" (1992), equation
9, on the side of the mean where it ends soon.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.compiler.vecmath.exponentials import exp, log, log1p
from fastgraph.compiler.vecmath.float_formats import max_, min_
from fastgraph.compiler.vecmath.incomplete_gamma import mu_less_log, stirling_rest
from fastgraph.core.native.lane_operators import LaneOperators as Lane

INF = math.inf
NAN = math.nan
_MOST_TERMS = 20_000
#: Beyond it the arguments are as if they were it, so that products of four are numbers.
_LARGE = 1e60


def _raised(small: Lane, sum_: Lane) -> tuple[Lane, Lane, Lane]:
    """A number moved up to 10, the sum moved up with it, and gamma(z) / gamma(sum) now less what it was before."""
    numerator = denominator = small.constant(1.0)
    ratio = numerator
    for k in range(10):
        below = small < 10.0
        numerator = below.select(numerator * small, numerator)
        denominator = below.select(denominator * sum_, denominator)
        small, sum_ = below.select(small + 1.0, small), below.select(sum_ + 1.0, sum_)
        if k % 5 == 4:
            ratio = ratio * (numerator / denominator)
            numerator = denominator = small.constant(1.0)
    return small, sum_, ratio


def _power_by_gamma(a: Lane, b: Lane, log_x: Lane, log_y: Lane) -> Any:
    """x**a y**b / B(a, b) where a or b is below 10."""
    least, most = min_(a, b), max_(a, b)
    least, whole, ratio = _raised(least, a + b)
    most, whole, other = _raised(most, whole)
    exponent = (most - 0.5) * log1p(least / most) + least * log(whole) - (least - 0.5) * log(least)
    exponent = exponent - 0.5 * math.log(2 * math.pi)
    exponent = exponent + stirling_rest(whole) - stirling_rest(least) - stirling_rest(most)
    return exp(exponent + (a * log_x + b * log_y)) * (ratio * other)


def _less_log(u: Lane) -> Any:
    """u - log(1 + u)."""
    near = u.abs() < 0.3
    return near.select(mu_less_log(near.select(u, 0.0)), u - log1p(u))


def _power_by_mean(a: Lane, b: Lane, distance: Lane) -> Any:
    """x**a y**b / B(a, b) where both are large: by the `distance` (a + b) x - a from the mean, without cancellation."""
    whole = a + b
    exponent = a * _less_log(distance / a) + b * _less_log(-distance / b)
    rest = stirling_rest(whole) - stirling_rest(a) - stirling_rest(b)
    return exp(rest - exponent) * (a / whole * (b * (0.5 / math.pi))).sqrt()


def _fraction(a: Lane, b: Lane, x: Lane, y: Lane, excess: Lane, least: float) -> Any:
    """The continued fraction, two convergents at a time, the denominator made 1 after each time."""

    def step(n: Lane, below: Lane, value: Lane, p: Lane, q: Lane) -> tuple[list[Lane], Lane]:
        p1, q1 = value, n.constant(1.0)
        for _ in range(2):
            n = n + 1.0
            tail = n * (b - n) * x
            left = tail * below
            factor = (a + (n - 1.0)) * (a + b + (n - 1.0)) * below * x * left
            below = 1.0 / (a + (2.0 * n + 1.0))
            term = n + left + (a + n) * below * (excess + 1.0 + n * (1.0 + y))
            p, p1 = p1, term * p1 + factor * p
            q, q1 = q1, term * q1 + factor * q
        inverse = 1.0 / q1
        new = p1 * inverse
        return [n, below, new, p * inverse, q * inverse], (new - value).abs() > new.abs() * least

    below = 1.0 / (a + 1.0)
    first = 1.0 / (a * below * (excess + 1.0))
    nought = a.constant(0.0)
    everywhere = x.equals(x)
    return everywhere.repeated([nought, below, first, nought, first], step, _MOST_TERMS // 2)[2]


def _regularised(a: Lane, b: Lane, x: Lane, single: bool) -> Any:
    y = 1.0 - x
    inside = (a > 0.0) & (b > 0.0) & (x >= 0.0) & (x <= 1.0)
    usable = inside & (a < INF) & (b < INF) & (x > 0.0) & (x < 1.0)
    result = usable.only_where(lambda: _between(usable, a, b, x, y, single), x.constant(NAN))
    result = x.equals(1.0).select(1.0, x.equals(0.0).select(0.0, result))
    # NaN of a or b is no ground for NaN at the ends.
    bad = (a <= 0.0) | (b <= 0.0) | ~((x >= 0.0) & (x <= 1.0))
    return bad.select(NAN, result)


def _between(usable: Lane, a: Lane, b: Lane, x: Lane, y: Lane, single: bool) -> Any:
    one = a.constant(1.0)
    a, b = (min_(usable.select(each, one), a.constant(_LARGE)) for each in (a, b))
    x, y = usable.select(x, 0.5), usable.select(y, 0.5)
    distance = (x <= 0.5).select((a + b) * x - a, b - (a + b) * y)
    turned = distance > 0.0  # above the mean: 1 less the function of b, a and y
    log_x, log_y = log(x), log1p(-x)
    log_x, log_y = turned.select(log_y, log_x), turned.select(log_x, log_y)
    a, b, x, y = turned.select(b, a), turned.select(a, b), turned.select(y, x), turned.select(x, y)
    distance = -distance.abs()
    both = (a >= 10.0) & (b >= 10.0)
    power = (~both).only_where(lambda: _power_by_gamma(a, b, log_x, log_y), one)
    power = both.only_where(lambda: _power_by_mean(a, b, distance), power)
    value = power * _fraction(a, b, x, y, -distance, 2.0**-30 if single else 2.0**-52)
    return turned.select(1.0 - value, value)


def betainc(a: Lane, b: Lane, x: Lane) -> Any:
    """The regularised incomplete beta function; NaN but for a > 0, b > 0, x in [0, 1]."""
    single = a.dtype == "float32"
    wide = [each.to("float64") for each in (a, b, x)]
    found = wide[0].inside(f"betainc_{a.dtype}", lambda a, b, x: _regularised(a, b, x, single), *wide[1:])
    return found.to(x.dtype)
