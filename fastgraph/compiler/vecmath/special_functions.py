"""Quantiles, lgamma, its derivatives, and zeta of lanes.

Rule: as in functions.py.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.compiler.vecmath.exponentials import exp, log
from fastgraph.compiler.vecmath.float_formats import polynomial
from fastgraph.compiler.vecmath.powers import pow_
from fastgraph.compiler.vecmath.trigonometry import tan_near

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

INF = math.inf
NAN = math.nan

#: Numerator and denominator of the normal quantile: near the middle in 0.425**2 - q**2, towards the tails in
#: sqrt(-log(tail)) - 1.6 and, from 5 on, - 5. Source: Wichura, "Algorithm AS 241" (1988), routine PPND16.
_MIDDLE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_SLOPE = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def _quantile(q: Lane, tail: Lane) -> Lane:
    """The normal quantile of q + 1/2, where `tail` is the smaller of that and what it lacks of 1."""

    def ratio(x: Lane, polynomials: tuple[tuple[float, ...], tuple[float, ...]]) -> Lane:
        return polynomial(x, polynomials[0]) / polynomial(x, polynomials[1])

    middle = q * ratio(0.180625 - q * q, _MIDDLE)
    r = (-log(tail)).sqrt()
    far = (r > 5.0).select(ratio(r - 5.0, _TAIL), ratio(r - 1.6, _SLOPE))
    far = tail.equals(0.0).select(INF, far).copysign(q)
    return (q.abs() <= 0.425).select(middle, (tail < 0.0).select(NAN, far))


def ndtri(p: Lane) -> Lane:
    """The quantile of the standard normal distribution; NaN outside [0, 1]."""
    return _quantile(p - 0.5, (p > 0.5).select(1.0 - p, p))


def erfinv(x: Lane) -> Lane:
    """The number whose erf is x; NaN outside [-1, 1]."""
    return _quantile(x * 0.5, (1.0 - x.abs()) * 0.5) * math.sqrt(0.5)


#: Bernoulli numbers 2, 4, ...: of the asymptotic series of digamma and zeta.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def digamma(x: Lane) -> Lane:
    """The derivative of lgamma, in float64: up to 8 by recurrence, then by its asymptotic series; NaN at its poles."""
    wide = x.to("float64")
    below = wide <= 0.0
    z = below.select(1.0 - wide, wide)
    before = z.constant(0.0)
    for _ in range(8):
        small = z < 8.0
        before = before + small.select(1.0 / z, 0.0)
        z = small.select(z + 1.0, z)
    inverse = 1.0 / (z * z)
    series = polynomial(inverse, tuple(b / (2 * k + 2) for k, b in enumerate(_BERNOULLI)))
    value = log(z) - 0.5 / z - (z < INF).select(inverse * series, 0.0) - before
    # psi(x) = psi(1 - x) - pi / tan(pi x), which has the period 1. Both differences are exact, just below 0 too.
    whole = wide.floor()
    turn = wide - whole
    turn = (turn > 0.5).select(wide - (whole + 1.0), turn)
    reflected = value - math.pi / tan_near(turn * math.pi)
    reflected = (turn.equals(0.0) | (wide <= -INF)).select(NAN, reflected)
    return below.select(reflected, value).to(x.dtype)


#: sin(pi r) / r of r**2, up to r = 1/2
_SIN_PI = (
    3.141592653589793, -5.167712780049969, 2.5501640398773002, -0.5992645293189403, 0.08214588657302717,
    -0.007370430505217146, 0.0004662998126284068, -2.1903487684769023e-05, 7.697726639610672e-07,
)  # fmt: skip


def lgamma(x: Lane) -> Lane:
    """log(|gamma(x)|), infinite at its poles; in float64 by libm.

    float32 is computed in float64: up to 8 by recurrence, then by Stirling's series, whose errors there are far below
    float32's last digit, also near the zeros at 1 and 2.
    """
    return x.call("lgamma") if x.dtype == "float64" else log_of_gamma(x.to("float64")).to("float32")


def log_of_gamma(wide: Lane) -> Lane:
    """log(|gamma|) of float64, right to some units of the last place of the larger of 1 and itself."""
    z = size = wide.abs()
    product = z.constant(1.0)
    for _ in range(8):
        small = z < 8.0
        product = small.select(product * z, product)
        z = small.select(z + 1.0, z)
    inverse = 1.0 / z
    terms = tuple(b / ((2 * k + 1) * (2 * k + 2)) for k, b in enumerate(_BERNOULLI[:7]))
    series = inverse * polynomial(inverse * inverse, terms)
    stirling = (z - 0.5) * log(z) - (z - 0.5 * math.log(2 * math.pi)) + series
    # gamma(x) gamma(-x) = -pi / (x sin(pi x))
    below = wide < 0.0
    turn = size - size.round()
    sine = (turn * polynomial(turn * turn, _SIN_PI)).abs()
    rest = log(below.select(product * math.pi / (size * sine), product))
    value = below.select(rest - stirling, stirling - rest)
    return (size >= INF).select(INF, value)


def zeta(s: Lane, q: Lane) -> Lane:
    """sum((q + k)**-s) for s > 1, q > 0, in float64: ten terms, then Euler and Maclaurin's formula."""
    order, z = s.to("float64"), q.to("float64")
    total = z.constant(0.0)
    for k in range(10):
        total = total + pow_(z + float(k), -order)
    n = z + 10.0
    power = pow_(n, -order)
    total = total + power * n / (order - 1.0) + power * 0.5
    factor = order * power / n
    inverse = 1.0 / (n * n)
    for k, b in enumerate(_BERNOULLI):
        total = total + factor * (b / math.factorial(2 * k + 2))
        factor = factor * (order + (2.0 * k + 1.0)) * (order + (2.0 * k + 2.0)) * inverse
    # Where the terms are 0 times infinity; of order infinity the first term alone counts.
    total = (((z >= INF) & (order > 1.0)) | ((order >= INF) & (z > 1.0))).select(0.0, total)
    total = (order >= INF).select(z.equals(1.0).select(1.0, (z < 1.0).select(INF, total)), total)
    half = order * 0.5
    pole = (half.floor().equals(half) & z.floor().equals(z)).select(z.constant(INF), NAN)
    total = (z <= 0.0).select(pole, total)
    return order.equals(1.0).select(INF, (order < 1.0).select(NAN, total)).to(s.dtype)


def polygamma(n: Lane, x: Lane) -> Lane:
    """The derivative of order n of digamma, for x > 0: (-1)**(n + 1) n! zeta(n + 1, x)."""
    order, wide = n.to("float64"), x.to("float64")
    factorial = exp(log_of_gamma(order + 1.0))
    half = order * 0.5
    sign = half.floor().equals(half).select(order.constant(-1.0), 1.0)
    value = sign * factorial * zeta(order + 1.0, wide)
    whole = (order >= 0.0) & order.floor().equals(order) & (order < INF)
    return whole.select(order.equals(0.0).select(digamma(wide), value), NAN).to(n.dtype)
