"""Exponentials and logarithms of lanes, and what is made of them: tanh, sigmoid, softplus, erf.

Rule: as in functions.py.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.compiler.vecmath.float_formats import (
    LAYOUTS,
    LOG2_E,
    max_,
    normal_of_denormal,
    polynomial,
    scaled,
    split,
    two_to,
)

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

INF = math.inf
NAN = math.nan


def _exp_reduced(x: Lane) -> tuple[Lane, Lane]:
    """(n, e**r - 1) with x = n ln 2 + r, |r| <= ln(2) / 2; n is an integer lane, garbage for NaN."""
    layout = LAYOUTS[x.dtype]
    # Adding 1.5 * 2**mantissa rounds to an integer and leaves it in the low bits: no conversion, so nothing undefined.
    magic = x.constant(1.5 * 2.0**layout.mantissa)
    shifted = x.muladd(LOG2_E, magic)
    n = shifted - magic
    r = n.muladd(-layout.ln2_low, n.muladd(-layout.ln2_high, x))
    return shifted.bits() - magic.bits(), (r * r).muladd(polynomial(r, layout.exp_poly), r)


def exp(x: Lane) -> Lane:
    """e**x."""
    layout = LAYOUTS[x.dtype]
    n, p = _exp_reduced((x < layout.exp_min).select(layout.exp_min, x))
    return (x <= layout.exp_max).select(scaled(p + 1.0, n, layout), x + INF)  # or NaN


def expm1(x: Lane) -> Lane:
    """e**x - 1 without cancellation near 0."""
    layout = LAYOUTS[x.dtype]
    low, high = -2.0 * layout.mantissa, layout.exp_max + 0.3  # from where on the result is inf
    clamped = (x > high).select(high, x)
    clamped = (clamped < low).select(low, clamped)
    n, p = _exp_reduced(clamped)
    half = two_to(n - 1, layout)  # 2**n may overflow where the result does not
    return (half.muladd(p, half - 0.5) * 2.0).copysign(x)


def _log_of_one_plus(f: Lane, exponent: Lane) -> Lane:
    """log((1 + f) 2**exponent) for 1 + f in sqrt(1/2) .. sqrt(2); exponent is a float lane."""
    layout = LAYOUTS[f.dtype]
    square = f * f
    if f.dtype == "float32":
        # (log(1 + f) - f + f**2 / 2) / f**3
        p = polynomial(
            f,
            (0.3333331048488617, -0.24999986588954926, 0.20002226531505585, -0.16669252514839172, 0.14218664169311523,
             -0.12384334951639175, 0.11872926354408264, -0.11789866536855698, 0.06915541738271713),
        )  # fmt: skip
        small = exponent.muladd(layout.ln2_low, square * f * p)
        return exponent.muladd(layout.ln2_high, square.muladd(-0.5, small) + f)
    # fdlibm's form: log(1 + f) = f - f**2 / 2 + s (f**2 / 2 + R), s = f / (2 + f), R = (log(1 + f) - 2 s) / s of s**2
    s = f / (f + 2.0)
    z = s * s
    r = z * polynomial(
        z,
        (0.6666666666666704, 0.39999999999527497, 0.2857142872746242, 0.22222199493599798, 0.18183536778324597,
         0.15314403593024295, 0.14794907946171662),
    )  # fmt: skip
    half_square = square * 0.5
    small = s.muladd(half_square + r, exponent * layout.ln2_low)
    return exponent.muladd(layout.ln2_high, f - (half_square - small))


def log(x: Lane) -> Lane:
    """Natural logarithm; -inf at 0, NaN below."""
    layout = LAYOUTS[x.dtype]
    denormal = x < layout.tiny
    e, m = split(denormal.select(normal_of_denormal(x, layout), x))
    e = e - denormal.select(e.constant(layout.bias - 1 + layout.mantissa), 0)
    result = _log_of_one_plus(m - 1.0, e.to(x.dtype))
    result = (x > 0.0).select(result, x.equals(0.0).select(x.constant(-INF), NAN))
    return (x < INF).select(result, x)


def log1p(x: Lane) -> Lane:
    """log(1 + x) without cancellation near 0; -inf at -1, NaN below."""
    layout = LAYOUTS[x.dtype]
    # Others are their own result: infinity, and small ones, whose squares may be no normal numbers.
    usual = (x.abs() >= 2.0 ** -(layout.mantissa + 2)) & (x < INF)
    given, x = x, usual.select(x, 0.0)
    u = x + 1.0
    rounded = u - 1.0
    lost = (x - rounded) + (1.0 - (u - rounded))  # 1 + x = u + lost, exactly
    e, m = split(u)
    scale = two_to((e > 64).select(e.constant(-64), 0 - e), layout)
    result = _log_of_one_plus(lost.muladd(scale, m - 1.0), e.to(x.dtype))
    result = (u > 0.0).select(result, u.equals(0.0).select(x.constant(-INF), NAN))
    return usual.select(result, given)


#: Where e**-x is nothing beside e**x, and e**x is still far from overflowing.
_LARGE = {"float32": 80.0, "float64": 700.0}

#: (tanh(x) - x) / x**3 of x**2, up to 0.6
_TANH = {
    "float32": (
        -0.3333333134651184, 0.13332915306091309, -0.053873877972364426, 0.021110596135258675, -0.00626854645088315,
    ),
    "float64": (
        -0.33333333333333326, 0.13333333333330188, -0.05396825396474957, 0.02186948838347231, -0.00886323210756411,
        0.003592083100155057, -0.0014554643584226892, 0.0005880523149422649, -0.0002322464518223871,
        8.154105979082278e-05, -1.8332274332628754e-05,
    ),
}  # fmt: skip


def tanh(x: Lane) -> Lane:
    """Hyperbolic tangent: near 0 by a polynomial, 1 - 2 / (e**(2 |x|) + 1) beyond, where that does not cancel."""
    # Small states of recurrences, and all of them near a fixed point, need the polynomial alone: a third of the
    # operations, and of the time that the next iteration waits.
    return x.mostly("tanh", lambda x: (_tanh_near(x), x.abs() < 0.6), _tanh_far, rare=False)


def _tanh_near(x: Lane) -> Lane:
    z = x * x
    square, coefficients = z * z, _TANH[x.dtype]
    # Two coefficients are taken together, so that half as many operations wait in a row; there are an odd number.
    p = z.constant(coefficients[-1])
    for k in range(len(coefficients) - 3, -1, -2):
        p = square.muladd(p, z.muladd(coefficients[k + 1], z.constant(coefficients[k])))
    return (x * z).muladd(p, x).copysign(x)


def _tanh_far(x: Lane) -> Lane:
    size = x.abs()
    top = 9.02 if x.dtype == "float32" else 19.1  # 1 from here on
    limited = (size > top).select(top, size)
    n, p = _exp_reduced(limited + limited)
    half = two_to(n - 1, LAYOUTS[x.dtype])
    return (1.0 - 1.0 / half.muladd(p, half + 0.5)).copysign(x)


def sigmoid(x: Lane) -> Lane:
    """1 / (1 + e**-x), right down to the smallest denormal."""
    layout = LAYOUTS[x.dtype]
    size = x.abs()
    n, p = _exp_reduced((size > -layout.exp_min).select(-layout.exp_min, size))  # e**|x| = (1 + p) 2**n
    least = layout.bias - 1
    inverse = two_to(0 - (n > least).select(n.constant(least), n), layout)  # which is nothing beside 1, long before
    # Large ones are added to 1 first, exactly; the others would be rounded by as much as they are.
    quotient = 1.0 / (n < 16).select((inverse + 1.0) + p, (inverse + p) + 1.0)
    below = scaled(quotient, 0 - n, layout)
    return (x < 0.0).select(below, (x >= 0.0).select(1.0 - below, x))  # or NaN


def _of_halves(x: Lane) -> Lane:
    """e**x / 2 for large x, which overflows where e**x / 2 does, and not where e**x does."""
    root = exp(x * 0.5)
    return (root * 0.5) * root


def sinh(x: Lane) -> Lane:
    """Hyperbolic sine."""
    size = x.abs()
    above = expm1(size)
    return (size > _LARGE[x.dtype]).select(_of_halves(size), (above + above / (above + 1.0)) * 0.5).copysign(x)


def cosh(x: Lane) -> Lane:
    """Hyperbolic cosine."""
    size = x.abs()
    power = exp(size)
    return (size > _LARGE[x.dtype]).select(_of_halves(size), power.muladd(0.5, 0.5 / power))


def softplus(x: Lane) -> Lane:
    """log(1 + e**x)."""
    return max_(x, x.constant(0.0)) + log1p(exp(-x.abs()))


def logaddexp(a: Lane, b: Lane) -> Lane:
    """log(e**a + e**b), without overflow."""
    apart = a.equals(b).select(0.0, (a - b).abs())  # infinities of one sign have no difference
    return max_(a, b) + log1p(exp(-apart))


def _erf_near(x: Lane, square: Lane) -> Lane:
    """erf(x) for |x| up to 0.9, in float32: erf(x) / x - 1 is a polynomial of x**2."""
    p = polynomial(square, (0.128379225730896, -0.37612634897232056, 0.11283719539642334, -0.026860753074288368,
                            0.005204435903578997, -0.0008181927260011435, 8.538837573723868e-05))  # fmt: skip
    return x.muladd(p, x)


def erf(x: Lane) -> Lane:
    """Error function; float64 by libm."""
    if x.dtype == "float64":
        return x.call("erf")
    size = x.abs()
    z = x * x
    near = _erf_near(x, z)
    # -log(1 - erf(x)), from 0.89 to 4, where erf rounds to 1
    exponent = polynomial(
        (size > 4.0).select(4.0, size),
        (-0.0001663763541728258, 1.1294746398925781, 0.6334291696548462, 0.10818876326084137, -0.025059916079044342,
         0.004148304928094149, -0.00042973627569153905, 2.0683999537141062e-05),
    )  # fmt: skip
    n, p = _exp_reduced(-exponent)
    far = 1.0 - (p + 1.0) * two_to(n, LAYOUTS[x.dtype])
    return (size < 0.9).select(near, far.copysign(x))


def erfc(x: Lane) -> Lane:
    """1 - erf(x), as precise where it is small; float64 by libm."""
    if x.dtype == "float64":
        return x.call("erfc")
    size = x.abs()
    # Where erfc rounds to 0 or 2, its difference from these is not computed: it is no normal number.
    beyond = (x > 10.1) | (x < -5.0)
    size = beyond.select(5.0, size)
    square = size * size
    rest = size.rest_of_product(size, square)  # an error of x**2 would be one of its size in the exponential
    u = 1.0 / (size + 2.0)
    # erfc(x) e**(x**2) / u of u = 1 / (x + 2), from 0.48 to 10.1
    p = polynomial(u, (0.5641427636146545, 1.1307488679885864, 1.9233735799789429, 3.4429214000701904,
                       -1.9591037034988403, 21.539653778076172, -69.93768310546875, 81.27340698242188,
                       -34.19467544555664))  # fmt: skip
    scaled = u * p
    tail = exp(-square) * scaled.muladd(-rest, scaled)
    tail = beyond.select(0.0, tail)
    return (size < 0.48).select(1.0 - _erf_near(x, square), (x < 0.0).select(2.0 - tail, tail))
