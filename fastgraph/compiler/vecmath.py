"""The mathematics of kernels, one element at a time: exp, log, tanh, ..., integer helpers, casts and half floats.

Rule: straight-line code over lanes (`lane.py`): no branch but `mostly`, no table, no call where a polynomial will do,
so that LLVM runs many lanes side by side; right for NaN, infinities, zeros, denormals, overflow and underflow. It
imports nothing of Numba.

Worst errors found, in units in the last place (tests/backend/test_vecmath.py; all 2**32 float32 values in `make soak`)
stand beside each function. Polynomials are minimax fits of our own (Remez exchange) to the stated function and
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastgraph.compiler import bessel
from fastgraph.compiler.formats import LAYOUTS, LOG2_E, polynomial, split, two_to
from fastgraph.compiler.powers import pow_
from fastgraph.compiler.turns import cos, sin, tan, tan_near

INF = math.inf
NAN = math.nan
FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
HALVES = ("float16", "bfloat16")  # carried as uint16
Lane = Any  # lane.Lane; not imported, so that this file is only mathematics


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
    clamped = (x > layout.exp_max).select(layout.exp_max, x)
    clamped = (clamped < layout.exp_min).select(layout.exp_min, clamped)
    n, p = _exp_reduced(clamped)
    half = n >> 1  # in two steps, so that results below the normal range are rounded once and overflow is inf
    return (p + 1.0) * two_to(half, layout) * two_to(n - half, layout)


def expm1(x: Lane) -> Lane:
    """e**x - 1 without cancellation near 0."""
    layout = LAYOUTS[x.dtype]
    low = -2.0 * layout.mantissa
    clamped = (x > layout.exp_max).select(layout.exp_max, x)
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
    e, m = split(denormal.select(x * 2.0**layout.mantissa, x))
    e = e - denormal.select(e.constant(layout.mantissa), 0)
    result = _log_of_one_plus(m - 1.0, e.to(x.dtype))
    result = (x > 0.0).select(result, x.equals(0.0).select(x.constant(-INF), NAN))
    return (x < INF).select(result, x)


def log1p(x: Lane) -> Lane:
    """log(1 + x) without cancellation near 0; -inf at -1, NaN below."""
    layout = LAYOUTS[x.dtype]
    u = x + 1.0
    rounded = u - 1.0
    lost = (x - rounded) + (1.0 - (u - rounded))  # 1 + x = u + lost, exactly
    e, m = split(u)
    scale = two_to((e > 64).select(e.constant(-64), 0 - e), layout)
    result = _log_of_one_plus(lost.muladd(scale, m - 1.0), e.to(x.dtype))
    result = (u > 0.0).select(result, u.equals(0.0).select(x.constant(-INF), NAN))
    return (x < INF).select(result, x).copysign(x)


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
    return x.mostly("tanh", lambda x: x.abs() < 0.6, _tanh_near, _tanh_far)


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
    n, p = _exp_reduced((size > -layout.exp_min).select(-layout.exp_min, size))
    half = n >> 1  # e**|x| = (1 + p) 2**n, and 2**-n in two steps
    first, second = two_to(0 - half, layout), two_to(half - n, layout)
    inverse = first * second
    # Large ones are added to 1 first, exactly; the others would be rounded by as much as they are.
    whole = (n < 16).select((inverse + 1.0) + p, (inverse + p) + 1.0)
    below = first / whole * second
    return (x < 0.0).select(below, 1.0 - below)


def softplus(x: Lane) -> Lane:
    """log(1 + e**x)."""
    return max_(x, x.constant(0.0)) + log1p(exp(-x.abs()))


def logaddexp(a: Lane, b: Lane) -> Lane:
    """log(e**a + e**b), without overflow."""
    apart = a.equals(b).select(0.0, (a - b).abs())  # infinities of one sign have no difference
    return max_(a, b) + log1p(exp(-apart))


def erf(x: Lane) -> Lane:
    """Error function; float64 by libm."""
    if x.dtype == "float64":
        return x.call("erf")
    size = x.abs()
    z = x * x
    # erf(x) / x - 1 of x**2, up to 0.9
    near = x.muladd(
        polynomial(z, (0.128379225730896, -0.37612634897232056, 0.11283719539642334, -0.026860753074288368,
                       0.005204435903578997, -0.0008181927260011435, 8.538837573723868e-05)),
        x,
    )  # fmt: skip
    # -log(1 - erf(x)), from 0.89 to 4, where erf rounds to 1
    exponent = polynomial(
        (size > 4.0).select(4.0, size),
        (-0.0001663763541728258, 1.1294746398925781, 0.6334291696548462, 0.10818876326084137, -0.025059916079044342,
         0.004148304928094149, -0.00042973627569153905, 2.0683999537141062e-05),
    )  # fmt: skip
    n, p = _exp_reduced(-exponent)
    far = 1.0 - (p + 1.0) * two_to(n, LAYOUTS[x.dtype])
    return (size < 0.9).select(near, far.copysign(x))


# ---- quantiles, gamma and zeta ----

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
    turn = wide - wide.floor()
    # psi(x) = psi(1 - x) - pi / tan(pi x), which has the period 1.
    turn = (turn > 0.5).select(turn - 1.0, turn)
    reflected = value - math.pi / tan_near(turn * math.pi)
    reflected = (turn.equals(0.0) | (wide <= -INF)).select(NAN, reflected)
    return below.select(reflected, value).to(x.dtype)


def zeta(s: Lane, q: Lane) -> Lane:
    """sum((q + k)**-s) for s > 1, q > 0, in float64: ten terms, then Euler and Maclaurin's formula."""
    order, z = s.to("float64"), q.to("float64")
    total = z.constant(0.0)
    for k in range(10):
        total = total + (z + float(k)).call("pow", -order)
    n = z + 10.0
    power = n.call("pow", -order)
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
    factorial = exp((order + 1.0).call("lgamma"))
    half = order * 0.5
    sign = half.floor().equals(half).select(order.constant(-1.0), 1.0)
    value = sign * factorial * zeta(order + 1.0, wide)
    whole = (order >= 0.0) & order.floor().equals(order) & (order < INF)
    return whole.select(order.equals(0.0).select(digamma(wide), value), NAN).to(n.dtype)


def rsqrt(x: Lane) -> Lane:
    """1 / sqrt(x)."""
    return 1.0 / x.sqrt()


def max_(a: Lane, b: Lane) -> Lane:
    """The larger; NaN if either is NaN."""
    larger = (a > b).select(a, b)  # b when either is NaN: one instruction
    return a.differs(a).select(a, larger) if a.dtype in FLOATS else larger


def min_(a: Lane, b: Lane) -> Lane:
    """The smaller; NaN if either is NaN."""
    smaller = (a < b).select(a, b)
    return a.differs(a).select(a, smaller) if a.dtype in FLOATS else smaller


def rank(x: Lane, nan: float) -> Lane:
    """A whole number that is ordered as x is, NaN standing beside the infinity `nan`.

    The largest rank is the maximum's: a reduction of integers costs one instruction an element, one of floats that
    propagates NaN five, one after the other.
    """
    width = 31 if x.dtype == "float32" else 63
    bits = x.differs(x).select(math.copysign(NAN, nan), x).bits()
    return bits ^ ((bits >> width) & ((1 << width) - 1))


def ranked(n: Lane) -> Lane:
    """The float whose rank is n."""
    width = 31 if n.dtype == "int32" else 63
    return (n ^ ((n >> width) & ((1 << width) - 1))).from_bits()


def sign(x: Lane) -> Lane:
    """-1, 0 or 1; NaN of NaN."""
    if x.dtype not in FLOATS:
        return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    return (x > 0.0).select(1.0, (x < 0.0).select(-1.0, x + 0.0))


def isnan(x: Lane) -> Lane:
    """Whether x is NaN."""
    return x.differs(x)


def isinf(x: Lane) -> Lane:
    """Whether x is an infinity."""
    return x.abs().equals(INF) if x.dtype in FLOATS else x.differs(x)


def isfinite(x: Lane) -> Lane:
    """Whether x is neither NaN nor an infinity."""
    return x.abs() < INF if x.dtype in FLOATS else x.equals(x)


def abs_(x: Lane) -> Lane:
    """|x|; the smallest integer stays itself."""
    if x.dtype in FLOATS:
        return x.abs()
    return x if x.dtype in UNSIGNED else (x < 0).select(-x, x)


# ---- division: a zero integer divisor gives 0, as the C loops do; the op reports it ----


def _divide(a: Lane, b: Lane) -> tuple[Lane, Lane, Lane]:
    """(quotient towards zero, remainder, divisor is zero), the smallest integer over -1 wrapping."""
    zero = b.equals(0)
    if a.dtype in UNSIGNED:
        safe = zero.select(1, b)
        quotient = a.quotient(safe)
        return quotient, a - quotient * safe, zero
    minus = b.equals(-1)
    safe = (zero | minus).select(1, b)
    quotient = a.quotient(safe)
    return minus.select(-quotient, quotient), a - quotient * safe, zero


def truncatediv(a: Lane, b: Lane) -> Lane:
    """Integer division towards zero."""
    quotient, _, zero = _divide(a, b)
    return zero.select(0, quotient)


def truncatemod(a: Lane, b: Lane) -> Lane:
    """What truncatediv leaves: the dividend's sign."""
    _, remainder, zero = _divide(a, b)
    return zero.select(0, remainder)


def floordiv(a: Lane, b: Lane) -> Lane:
    """Division rounded down; for floats TensorFlow's floor(a / b)."""
    if a.dtype in FLOATS:
        return (a / b).floor()
    quotient, remainder, zero = _divide(a, b)
    if a.dtype in SIGNED:
        quotient = quotient - (remainder.differs(0) & ((remainder ^ b) < 0)).to(a.dtype)
    return zero.select(0, quotient)


def floormod(a: Lane, b: Lane) -> Lane:
    """What floordiv leaves: the divisor's sign. For floats a call of fmod, as exact as TensorFlow's."""
    if a.dtype in FLOATS:
        remainder = a.call("fmod", b)
        return (remainder.differs(0.0) & (remainder < 0.0).differs(b < 0.0)).select(remainder + b, remainder)
    _, remainder, zero = _divide(a, b)
    if a.dtype in SIGNED:
        remainder = (remainder.differs(0) & ((remainder ^ b) < 0)).select(remainder + b, remainder)
    return zero.select(0, remainder)


def lshift(a: Lane, b: Lane) -> Lane:
    """a << b; 0 for shifts by the width or more, or by a negative amount."""
    width = int(a.dtype.lstrip("uint"))
    wild = _outside(b, width)
    return wild.select(0, a << wild.select(0, b))


def rshift(a: Lane, b: Lane) -> Lane:
    """a >> b with the sign; shifts by the width or more, or by a negative amount, shift everything out."""
    width = int(a.dtype.lstrip("uint"))
    wild = _outside(b, width)
    if a.dtype in SIGNED:
        return a >> wild.select(width - 1, b)
    return wild.select(0, a >> wild.select(0, b))


def _outside(b: Lane, width: int) -> Lane:
    return (b >= width) if b.dtype in UNSIGNED else (b < 0) | (b >= width)


# ---- half floats ----


def _from_float16(h: Lane) -> Lane:
    bits = h.to("int32")
    magnitude = (bits & 0x7FFF) << 13
    # Times 2**112 moves the exponent's bias, and normalises denormals on the way.
    value = (magnitude.from_bits() * 2.0**112).bits()
    special = magnitude >= 0x7C00 << 13
    return (special.select(magnitude | 0x7F800000, value) | ((bits & 0x8000) << 16)).from_bits()


def _to_float16(x: Lane) -> Lane:
    bits = x.bits()
    magnitude = bits & 0x7FFFFFFF
    # Below 2**-14: adding 0.5 leaves the result, rounded half to even by the addition, in the low bits.
    denormal = (magnitude.from_bits() + 0.5).bits() - 0x3F000000
    normal = (magnitude + (0xC8000FFF + ((magnitude >> 13) & 1))) >> 13
    finite = (magnitude < 0x38800000).select(denormal, normal)
    infinite = (magnitude > 0x7F800000).select(finite.constant(0x7E00), 0x7C00)
    return ((magnitude >= 0x47800000).select(infinite, finite) | ((bits >> 16) & 0x8000)).to("uint16")


def _from_bfloat16(h: Lane) -> Lane:
    return (h.to("int32") << 16).from_bits()


def _to_bfloat16(x: Lane) -> Lane:
    bits = x.bits()
    rounded = bits + (((bits >> 16) & 1) + 0x7FFF)  # half to even
    return (x.differs(x).select(bits | 0x00400000, rounded) >> 16).to("uint16")


def _narrow_to_odd(x: Lane) -> Lane:
    """float64 -> float32, inexact results made odd: rounded once more to float16 it is as if rounded once."""
    narrow = x.to("float32")
    wide = narrow.to("float64")
    bits = narrow.bits() - (wide.abs() > x.abs()).to("int32")
    return (wide.differs(x) & x.equals(x)).select(bits | 1, narrow.bits()).from_bits()


def _cast(source: str, target: str) -> Callable[[Lane], Lane]:
    def body(x: Lane) -> Lane:
        if source in HALVES:
            x = _from_float16(x) if source == "float16" else _from_bfloat16(x)
        if target in HALVES:
            if target == "float16" and source == "float64":
                x = _narrow_to_odd(x)
            x = x.to("float32")
            return _to_float16(x) if target == "float16" else _to_bfloat16(x)
        return x.to(target)

    return body


# ---- the table ----


@dataclass(frozen=True)
class Function:
    """A function as kernels call it: `name` is the operation and the dtype it works on."""

    name: str
    operands: tuple[str, ...]
    result: str
    body: Callable[..., Lane]


ARITHMETIC: dict[str, Callable[..., Lane]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min_,
    "max": max_,
    "floordiv": floordiv,
    "floormod": floormod,
}
COMPARISONS: dict[str, Callable[..., Lane]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a.equals(b),
    "ne": lambda a, b: a.differs(b),
}
LOGIC: dict[str, Callable[..., Lane]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
FLOAT_FUNCTIONS: dict[str, Callable[[Lane], Lane]] = {
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "erf": erf,
    "erfinv": erfinv,
    "ndtri": ndtri,
    "digamma": digamma,
    "bessel_i0e": bessel.i0e,
    "bessel_i1e": bessel.i1e,
    "rsqrt": rsqrt,
    "sqrt": lambda x: x.sqrt(),
    "floor": lambda x: x.floor(),
    "ceil": lambda x: x.ceil(),
    "trunc": lambda x: x.trunc(),
    "round": lambda x: x.round(),
}
# ---- random numbers --------------------------------------------------------------------------------------------------
#
# The same operations in the same order as in _philox.h, none of them fused: kernels and eager mode give the same bits.


def _philox_words(low: Lane, high: Lane, key: Lane, block: Lane) -> tuple[Lane, ...]:
    """The four words, in uint64 lanes, of a block of Philox 4x32-10 (int64 lanes: a state and the block's number)."""
    half, block = 0xFFFFFFFF, block.to("uint64")
    low = low.to("uint64") + block
    high = high.to("uint64") + (low < block).select(low.constant(1), low.constant(0))
    words = (low & half, low >> 32, high & half, high >> 32)
    first, second = key.to("uint64") & half, key.to("uint64") >> 32
    for i in range(10):
        p, q = (words[0] & half) * 0xD2511F53, (words[2] & half) * 0xCD9E8D57
        words = (
            (q >> 32) ^ words[1] ^ ((first + 0x9E3779B9 * i) & half),
            q & half,
            (p >> 32) ^ words[3] ^ ((second + 0xBB67AE85 * i) & half),
            p & half,
        )
    return words


def _philox_word(number: int) -> Callable[..., Lane]:
    return lambda *state: _philox_words(*state)[number].to("uint32")


def _pair(first: Lane, second: Lane) -> Lane:
    """Two words as one of 64 bits, the first one below."""
    return first.to("uint64") | (second.to("uint64") << 32)


def _unit_half(bits: int) -> Callable[[Lane], Lane]:
    """A word's low bits as a number in [0, 1) that a half float of so many bits holds."""
    return lambda word: (word & ((1 << bits) - 1)).to("float32") * 2.0**-bits


def _unit32(word: Lane) -> Lane:
    return ((word & 0x7FFFFF) | 0x3F800000).from_bits() - 1.0


def _unit64(first: Lane, second: Lane) -> Lane:
    bits = ((first.to("uint64") & 0xFFFFF) << 32) | second.to("uint64")
    return (bits | 0x3FF0000000000000).from_bits() - 1.0


def _strict_polynomial(x: Lane, coefficients: tuple[float, ...]) -> Lane:
    result = x.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result * x + c
    return result


def _box_muller(first: Lane, second: Lane) -> tuple[Lane, Lane]:
    """Two numbers of the standard normal distribution (float32) of two words."""
    layout = LAYOUTS["float32"]
    unit, least = _unit32(first).bits(), 0x33D6BF95  # 1e-7
    i = (unit < least).select(unit.constant(least), unit) - layout.sqrt_half
    e = (i >> layout.mantissa).to("float32")
    f = ((i & ((1 << layout.mantissa) - 1)) + layout.sqrt_half).from_bits() - 1.0
    p = _strict_polynomial(
        f,
        (0.3333331048488617, -0.24999986588954926, 0.20002226531505585, -0.16669252514839172, 0.14218664169311523,
         -0.12384334951639175, 0.11872926354408264, -0.11789866536855698, 0.06915541738271713),
    )  # fmt: skip
    square = f * f
    small = e * layout.ln2_low + square * f * p
    radius = ((e * layout.ln2_high + ((small - square * 0.5) + f)) * -2.0).sqrt()

    angle = (_unit32(second).to("float64") * 6.283185307179586).to("float32")
    shifted = angle * 0.6366197723675814 + 12582912.0
    turns, quarter = shifted - 12582912.0, shifted.bits()
    r = ((angle - turns * 1.5703125) - turns * 4.837512969970703125e-4) - turns * 7.54978995489188216e-8
    z = r * r
    p = _strict_polynomial(
        z, (-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415, 2.7183154998056125e-06)
    )
    q = _strict_polynomial(
        z, (0.0416666679084301, -0.0013888883404433727, 2.4799521270324476e-05, -2.7210390385334904e-07)
    )
    sine, cosine = p * (r * z) + r, q * (z * z) + (z * -0.5 + 1.0)
    odd = (quarter & 1).differs(0)
    one, two = odd.select(cosine, sine), odd.select(sine, cosine)
    one = (quarter & 2).differs(0).select(-one, one)
    two = ((quarter + 1) & 2).differs(0).select(-two, two)
    return one * radius, two * radius


def _box_muller64(a: Lane, b: Lane, c: Lane, d: Lane) -> tuple[Lane, Lane]:
    """Two numbers of the standard normal distribution (float64) of a block's words; logarithm, sine, cosine by libm."""
    u = _unit64(a, b)
    u = (u < 1.0e-7).select(u.constant(1.0e-7), u)
    angle, radius = _unit64(c, d) * 6.283185307179586, (u.call("log") * -2.0).sqrt()
    return angle.call("sin") * radius, angle.call("cos") * radius


#: Name -> operands, result, body of what `ordered` makes random numbers by.
RANDOM: dict[str, tuple[tuple[str, ...], str, Callable[..., Lane]]] = {
    **{f"philox_word{j}": (("int64",) * 4, "uint32", _philox_word(j)) for j in range(4)},
    "random_pair": (("uint32",) * 2, "uint64", _pair),
    "random_unit_float16": (("uint32",), "float32", _unit_half(10)),
    "random_unit_bfloat16": (("uint32",), "float32", _unit_half(7)),
    "random_unit_float32": (("uint32",), "float32", _unit32),
    "random_unit_float64": (("uint32",) * 2, "float64", _unit64),
    "random_sine_float32": (("uint32",) * 2, "float32", lambda a, b: _box_muller(a, b)[0]),
    "random_cosine_float32": (("uint32",) * 2, "float32", lambda a, b: _box_muller(a, b)[1]),
    "random_sine_float64": (("uint32",) * 4, "float64", lambda *w: _box_muller64(*w)[0]),
    "random_cosine_float64": (("uint32",) * 4, "float64", lambda *w: _box_muller64(*w)[1]),
}

#: Functions left to libm: right, but one element at a time.
LIBM_1 = (
    "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "exp2", "log2", "lgamma",
)  # fmt: skip
LIBM_2 = ("atan2", "fmod", "nextafter")


def _libm(symbol: str) -> Callable[..., Lane]:
    return lambda x, *others: x.call(symbol, *others)


def _reordered(method: str) -> Callable[[Lane, Lane], Lane]:
    """A sum or product that LLVM may reorder: the loop of a reduction vectorises, everything round it stays strict."""
    return lambda total, x: total._make(getattr(total.builder, method)(total.value, x.value, flags=("reassoc", "nsz")))


#: Steps of reductions: fold_add_float32(total, x). Maximum and minimum go by `rank`.
FOLDS: dict[str, Callable[[Lane, Lane], Lane]] = {"add": _reordered("fadd"), "mul": _reordered("fmul")}


def functions() -> dict[str, Function]:
    """Every function that a kernel may call, by name: `exp_float32`, `floordiv_int8`, `cast_bool_float16`, ..."""
    table: dict[str, Function] = {}

    def define(name: str, operands: tuple[str, ...], result: str, body: Callable[..., Lane]) -> None:
        table[name] = Function(name, operands, result, body)

    for dtype in (*FLOATS, *INTEGERS):
        for op, body in ARITHMETIC.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        for op, body in {"isnan": isnan, "isinf": isinf, "isfinite": isfinite}.items():
            define(f"{op}_{dtype}", (dtype,), "bool", body)
        for op, body in {"neg": lambda x: -x, "abs": abs_, "sign": sign}.items():
            define(f"{op}_{dtype}", (dtype,), dtype, body)
    for dtype in (*FLOATS, *INTEGERS, "bool"):
        for op, body in COMPARISONS.items():
            define(f"{op}_{dtype}", (dtype, dtype), "bool", body)
        define(f"select_{dtype}", ("bool", dtype, dtype), dtype, lambda c, a, b: c.select(a, b))
    for dtype in (*INTEGERS, "bool"):
        for op, body in LOGIC.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        define(f"not_{dtype}", (dtype,), dtype, lambda x: ~x)
    for dtype in INTEGERS:
        for op, body in {
            "truncatediv": truncatediv,
            "truncatemod": truncatemod,
            "lshift": lshift,
            "rshift": rshift,
        }.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        for op in ("floor", "ceil", "trunc", "round"):
            define(f"{op}_{dtype}", (dtype,), dtype, lambda x: x)
    for dtype in FLOATS:
        define(f"div_{dtype}", (dtype, dtype), dtype, lambda a, b: a / b)
        define(f"pow_{dtype}", (dtype, dtype), dtype, pow_)
        for op, body in {"logaddexp": logaddexp, "zeta": zeta, "polygamma": polygamma}.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        define(f"muladd_{dtype}", (dtype, dtype, dtype), dtype, lambda a, b, c: a.muladd(b, c))
        for op, body in FLOAT_FUNCTIONS.items():
            define(f"{op}_{dtype}", (dtype,), dtype, body)
        whole = LAYOUTS[dtype].integer
        define(f"rank_max_{dtype}", (dtype,), whole, lambda x: rank(x, INF))
        define(f"rank_min_{dtype}", (dtype,), whole, lambda x: rank(x, -INF))
        define(f"ranked_{dtype}", (whole,), dtype, ranked)
        for op, body in FOLDS.items():
            define(f"fold_{op}_{dtype}", (dtype, dtype), dtype, body)
        for op in LIBM_1:
            define(f"{op}_{dtype}", (dtype,), dtype, _libm(op))
        for op in LIBM_2:
            define(f"{op}_{dtype}", (dtype, dtype), dtype, _libm(op))
    for name, row in RANDOM.items():
        define(name, *row)
    everything = ("bool", *INTEGERS, *FLOATS, *HALVES)
    for source in everything:
        for target in everything:
            carried = ["uint16" if d in HALVES else d for d in (source, target)]
            define(f"cast_{source}_{target}", (carried[0],), carried[1], _cast(source, target))
    return table
