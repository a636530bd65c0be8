"""Sine, cosine and tangent of lanes: which quarter of a turn an argument is in, and what is left of it.

Rule: as in vecmath.py; the one branch is for large arguments, whose multiples of pi / 2 take all digits of pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Lane = Any  # lane.Lane; not imported, so that this file is only mathematics


def _polynomial(x: Lane, coefficients: tuple[float, ...]) -> Lane:
    result = x.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result.muladd(x, c)
    return result


#: 2 / pi in parts of 29 bits, so that a part times a float32 is exact in float64. The arguments nearest to a multiple
#: of pi / 2 leave 2**-29 of a turn: of x < 2**128, 128 + 29 + 24 bits count, which is seven parts.
_TWO_OVER_PI_BITS = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDE  # times 2**-232
_TWO_OVER_PI = tuple(
    float(_TWO_OVER_PI_BITS >> (232 - 29 * (k + 1)) & ((1 << 29) - 1)) * 2.0 ** (-29 * (k + 1)) for k in range(7)
)


def _quarter_turns(x: Lane) -> tuple[Lane, Lane]:
    """(n, r) with x = (n + 4 k) pi / 2 + r, |r| <= pi / 4, for any float32 x; n is an int32 lane, r a float64 one.

    Payne and Hanek's reduction, without a branch: x times each part of 2 / pi is exact, and so is taking
    the multiples of 4 from it.
    """
    wide = x.to("float64")
    whole, turns = wide.constant(0.0), None
    for part in reversed(_TWO_OVER_PI):
        product = wide * part
        if part > 2.0**-78:  # x < 2**128: here the product may be too large for its whole number to be counted
            product = (product * 0.25).round().muladd(-4.0, product)
        if part > 2.0**-140:
            # Summed without their whole numbers, the parts lose nothing that counts where they cancel.
            rounded = product.round()
            whole, product = whole + rounded, product - rounded
        turns = product if turns is None else turns + product
    magic = wide.constant(1.5 * 2.0**52)  # rounds to an integer and leaves it in the low bits
    nearest = (turns + magic) - magic
    r = (turns - nearest) * (math.pi / 2)
    shifted = (whole + nearest) + magic
    return shifted.bits().to("int32"), r


#: Up to here multiples of pi / 2 are taken off in two steps: their numbers have 20 bits, pi / 2's first part has 33.
_NEAR = 2.0**20
_HALF_PI = (1.57079632673412561417e00, 6.07710050650619224932e-11)
#: And up to here in float32, where products and sums are rounded together: pi / 2 in three numbers of 24 bits.
_NEAR32 = 2.0**13
_HALF_PI32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)


def _few_quarter_turns(x: Lane) -> tuple[Lane, Lane]:
    """As `_quarter_turns`, for |x| < _NEAR, in half the time: Cody and Waite's reduction."""
    wide = x.to("float64")
    magic = wide.constant(1.5 * 2.0**52)  # rounds to an integer and leaves it in the low bits
    shifted = wide.muladd(2 / math.pi, magic)
    nearest = shifted - magic
    r = nearest.muladd(-_HALF_PI[1], nearest.muladd(-_HALF_PI[0], wide))
    return shifted.bits().to("int32"), r


#: (n, r, s): the number of the quarter, and in float32 what is left and how much that is rounded by, if it is known.
Reduced = tuple[Lane, Lane, Lane | None]


def _rounded(turns: tuple[Lane, Lane]) -> Reduced:
    return turns[0], turns[1].to("float32"), None


def _few_in_float32(x: Lane) -> Reduced:
    """For |x| < _NEAR32, where `muladd` rounds once: half the instructions, and none waits for a conversion."""
    magic = x.constant(1.5 * 2.0**23)
    shifted = x.muladd(2 / math.pi, magic)
    nearest = shifted - magic
    first, second, third = _HALF_PI32
    whole = nearest.muladd(-first, x)  # exactly: neither has digits below 2**-24
    r = nearest.muladd(-second, whole)
    # Not far from whole, r is rounded by what is known; smaller, it is rounded little, and pi / 2's last part counts.
    s = (r.abs() > 2.0**-10).select(nearest.muladd(-second, whole - r), nearest * -third)
    return shifted.bits(), r, s


def _by_turns(name: str, x: Lane, of: Callable[[Lane, Reduced], Lane]) -> Lane:
    """of(x, its quarter and the rest): found the short way where x is small, which it nearly always is."""
    far = lambda x: of(x, _rounded(_quarter_turns(x)))
    if x.fused:
        return x.mostly(name, lambda x: x.abs() < _NEAR32, lambda x: of(x, _few_in_float32(x)), far)
    return x.mostly(name, lambda x: x.abs() < _NEAR, lambda x: of(x, _rounded(_few_quarter_turns(x))), far)


#: (sin(r) - r) / r**3 and (cos(r) - 1 + r**2 / 2) / r**4, of r**2
_SINE = (-0.1666666716337204, 0.008333329111337662, -0.0001983933470910415, 2.7183154998056125e-06)
_COSINE = (0.0416666679084301, -0.0013888883404433727, 2.4799521270324476e-05, -2.7210390385334904e-07)


def _cubic(x: Lane, square: Lane, coefficients: tuple[float, ...]) -> Lane:
    """A polynomial of four terms, in pairs: two operations wait for each other instead of three."""
    a, b, c, d = coefficients
    return square.muladd(x.muladd(d, x.constant(c)), x.muladd(b, x.constant(a)))


def _sine_and_cosine(r: Lane, s: Lane | None) -> tuple[Lane, Lane]:
    """Both of r + s, for |r| <= pi / 4, as good as float32 can show."""
    z = r * r
    square = z * z
    p, q = _cubic(z, square, _SINE), _cubic(z, square, _COSINE)
    sine = (r * z).muladd(p, r) if s is None else r + (r * z).muladd(p, s)
    return sine, square.muladd(q, z.muladd(-0.5, z.constant(1.0)))


def _signed(value: Lane, n: Lane) -> Lane:
    """The value, or minus it where the second bit of n is set."""
    return (value.bits() ^ ((n & 2) << 30)).from_bits()


def _sine(x: Lane, reduced: Reduced) -> Lane:
    n, r, s = reduced
    sine, cosine = _sine_and_cosine(r, s)
    value = _signed((n & 1).differs(0).select(cosine, sine), n)
    return x.equals(0.0).select(x, value)  # the sign of zero


def _cosine(_: Lane, reduced: Reduced) -> Lane:
    n, r, s = reduced
    sine, cosine = _sine_and_cosine(r, s)
    return _signed((n & 1).differs(0).select(sine, cosine), n + 1)


def _tangent(x: Lane, turns: tuple[Lane, Lane]) -> Lane:
    n, r = turns
    sine, cosine = _sine_and_cosine(r, None)  # in float64: in float32 three roundings and the quotient's were 3.7 units
    odd = (n & 1).differs(0)
    quotient = odd.select(-cosine, sine) / odd.select(sine, cosine)
    return x.equals(0.0).select(x, quotient.to("float32"))


#: The same two for float64, and pi / 2 in three parts of which times n the first two are exact.
_SINE64 = (
    -0.16666666666666666, 0.008333333333330948, -0.00019841269836758574, 2.7557316102551507e-06,
    -2.5051131844808866e-08, 1.5918129280835e-10,
)  # fmt: skip
_COSINE64 = (
    0.041666666666666664, -0.0013888888888887398, 2.4801587298765686e-05, -2.755731727172921e-07,
    2.087614626828136e-09, -1.1382632416743667e-11,
)  # fmt: skip
_HALF_PI64 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)


def _turns64(x: Lane) -> tuple[Lane, Lane, Lane]:
    """(n, r, s) with x = (n + 4 k) pi / 2 + r + s for float64 x below _NEAR: r, |r| <= pi / 4, is rounded by s."""
    magic = x.constant(1.5 * 2.0**52)
    shifted = x.muladd(2 / math.pi, magic)
    nearest = shifted - magic
    first, second, third = _HALF_PI64
    whole, part = nearest.muladd(-first, x), nearest * second
    rest = whole - part
    more = nearest * third - ((whole - rest) - part)
    r = rest - more
    return shifted.bits(), r, (rest - r) - more


def _is_near64(x: Lane) -> Lane:
    """Whether `_turns64` will do: r is then known to all its digits."""
    n, r, _ = _turns64(x)
    return (x.abs() < _NEAR) & (n.from_bits().equals(1.5 * 2.0**52) | (r.abs() > 2.0**-48))


def _wave64(x: Lane, later: int) -> Lane:
    """The sine of x + later * pi / 2, for `_is_near64` x."""
    n, r, s = _turns64(x)
    n = n + later
    z = r * r
    half = z * 0.5
    one = 1.0 - half
    sine = r + (r * z).muladd(_polynomial(z, _SINE64), s * one)
    cosine = one + (((1.0 - one) - half) + (z * z).muladd(_polynomial(z, _COSINE64), -(r * s)))
    value = (n & 1).differs(0).select(cosine, sine)
    return (value.bits() ^ ((n & 2) << 62)).from_bits()


def sin(x: Lane) -> Lane:
    """Sine; of large float64 by libm."""
    if x.dtype == "float32":
        return _by_turns("sin", x, _sine)
    near = lambda x: x.equals(0.0).select(x, _wave64(x, 0))
    return x.mostly("sin", _is_near64, near, lambda x: x.call("sin"))


def cos(x: Lane) -> Lane:
    """Cosine; of large float64 by libm."""
    if x.dtype == "float32":
        return _by_turns("cos", x, _cosine)
    return x.mostly("cos", _is_near64, lambda x: _wave64(x, 1), lambda x: x.call("cos"))


def tan(x: Lane) -> Lane:
    """Tangent; float64 by libm."""
    if x.dtype == "float64":
        return x.call("tan")
    near = lambda x: _tangent(x, _few_quarter_turns(x))
    return x.mostly("tan", lambda x: x.abs() < _NEAR, near, lambda x: _tangent(x, _quarter_turns(x)))
