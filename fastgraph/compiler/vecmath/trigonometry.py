"""Sine, cosine and tangent of lanes: which quarter of a turn an argument is in, and what is left of it.

Rule: as in functions.py; the one branch is for large arguments, whose multiples of pi / 2 take all digits of pi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastgraph.compiler.vecmath.float_formats import by_pairs, polynomial

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

#: 2 / pi times 2**_DIGITS, cut off: as many bits as float64 has above a turn, and what its rests take below.
_DIGITS = 1168
_TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1D"
    "EB1CB129A73EE88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B"
    "5A0A6D1F6D367ECF27CB09B74F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D085603",
    16,
)
#: The same in parts of 29 bits, so that a part times a float32 is exact in float64. The arguments nearest to a multiple
#: of pi / 2 leave 2**-29 of a turn: of x < 2**128, 128 + 29 + 24 bits count, which is seven parts.
_PARTS = tuple(
    float(_TWO_OVER_PI >> (_DIGITS - 29 * (k + 1)) & ((1 << 29) - 1)) * 2.0 ** (-29 * (k + 1)) for k in range(7)
)


def _quarter_turns(x: Lane) -> tuple[Lane, Lane]:
    """(n, r) with x = (n + 4 k) pi / 2 + r, |r| <= pi / 4, for any float32 x; n is an int32 lane, r a float64 one.

    Payne and Hanek's reduction, without a branch: x times each part of 2 / pi is exact, and so is taking
    the multiples of 4 from it.
    """
    wide = x.to("float64")
    whole, turns = wide.constant(0.0), None
    for part in reversed(_PARTS):
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
    """`_quarter_turns` for |x| < _NEAR, in half the time: Cody and Waite's reduction."""
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


def _parted(turns: tuple[Lane, Lane]) -> Reduced:
    n, r = turns
    near = r.to("float32")
    return n, near, (r - near.to("float64")).to("float32")


def _few_in_float32(x: Lane) -> Reduced:
    """The same, |x| < _NEAR32, where `muladd` rounds once: half the instructions, and none waits for a conversion."""
    magic = x.constant(1.5 * 2.0**23)
    shifted = x.muladd(2 / math.pi, magic)
    nearest = shifted - magic
    first, second, third = _HALF_PI32
    whole = nearest.muladd(-first, x)  # exactly: neither has digits below 2**-24
    r = nearest.muladd(-second, whole)
    # Not far from whole, r is rounded by what is known; smaller, it is rounded little, and pi / 2's last part counts.
    s = (r.abs() > 2.0**-10).select(nearest.muladd(-second, whole - r), nearest * -third)
    return shifted.bits(), r, s


def _by_turns(
    name: str, x: Lane, of: Callable[[Lane, Reduced], Lane], cut: Callable[[tuple[Lane, Lane]], Reduced] = _rounded
) -> Lane:
    """of(x, its quarter and the rest): found the short way where x is small, which it nearly always is."""
    far = lambda x: of(x, cut(_quarter_turns(x)))
    if x.fused:
        return x.mostly(name, lambda x: (of(x, _few_in_float32(x)), x.abs() < _NEAR32), far)
    return x.mostly(name, lambda x: (of(x, cut(_few_quarter_turns(x))), x.abs() < _NEAR), far)


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


#: (tan(r) - r) / r**3 of r**2, for |r| <= pi / 4
_TANGENT = (
    0.33333349812710134, 0.13332661300777823, 0.05406015407690431, 0.021280925315580988, 0.010839173695506571,
    8.516580643479992e-05, 0.004378483432859988,
)  # fmt: skip


def _tangent(x: Lane, reduced: Reduced) -> Lane:
    """The tangent of r, and minus its inverse in odd quarters, both with what they are rounded by."""
    n, r, s = reduced
    z = r * r
    assert s is not None
    rest = (r * z).muladd(by_pairs(z, _TANGENT), s.muladd(z * 1.6, s))  # 1 + tan(r)**2 is about 1 + 1.6 r**2
    tangent = r + rest
    low = (r - tangent) + rest
    inverse = 1.0 / tangent
    inverse = inverse.muladd(inverse.muladd(low, inverse.rest_of_product(tangent, 1.0)), -inverse)
    return x.equals(0.0).select(x, (n & 1).differs(0).select(inverse, tangent))


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


def _many_turns64(x: Lane) -> tuple[Lane, Lane, Lane]:
    """`_turns64` for any finite float64 x from 1 on, in whole numbers: Payne and Hanek's reduction."""
    size = x.abs().bits().to("uint64")
    exponent = size >> 52
    exponent = (exponent < 1023).select(1023, exponent)  # of a lane that another one brought here
    mantissa = (size & ((1 << 52) - 1)) | (1 << 52)
    # |x| is mantissa * 2**(exponent - 1075): the bits of 2 / pi from `top` on make multiples of four quarters. The 192
    # below count, or up to seven higher ones, for these begin at a byte, and the mantissa makes up for it.
    top = exponent.constant(1077 + _DIGITS) - exponent
    first = (top - 185) >> 3
    mantissa = mantissa << ((first << 3) + 192 - top)
    digits = (_TWO_OVER_PI).to_bytes(_DIGITS // 8, "little") + bytes(16)
    low, middle, high = (first.bytes_at("two_over_pi", digits, 8 * k) for k in range(3))
    # Their product but for multiples of 2**192: two bits of quarters, 126 of what is left, and the rest is dropped.
    carried = mantissa * middle
    below = carried + mantissa.high_of_product(low)
    above = mantissa * high + mantissa.high_of_product(middle) + (below < carried).to("uint64")
    n = ((above >> 61) + 1) >> 1
    signed = (above - (n << 62)).to("int64")
    # In quarters, as sums of two numbers: what the bits say, and that times pi / 2.
    most = (signed >> 32).to("float64") * 2.0**-30
    more = (signed & 0xFFFFFFFF).to("float64") * 2.0**-62
    least = (below >> 11).to("int64").to("float64") * 2.0**-115
    part = most + more
    part_low = (more - (part - most)) + least
    turn = part + part_low
    turn_low = part_low - (turn - part)
    r = turn * (math.pi / 2)
    s = turn.muladd(6.123233995736766e-17, turn_low.muladd(math.pi / 2, turn.rest_of_product(math.pi / 2, r)))
    sign = x.constant(1.0).copysign(x)
    n = n.to("int64")
    return (x < 0.0).select(0 - n, n), r * sign, s * sign


def _reduced64(name: str, x: Lane, of: Callable[[Lane, Lane, Lane], Lane]) -> Lane:
    """of(the quarter that x is in, and the rest in two numbers): found the short way where that has all its digits."""

    def usual(x: Lane) -> tuple[Lane, Lane]:
        n, r, s = _turns64(x)
        few = n.from_bits().equals(1.5 * 2.0**52) | (r.abs() > 2.0**-48)
        return of(n, r, s), (x.abs() < _NEAR) & few

    def long(x: Lane) -> Lane:
        return (x.abs() < math.inf).select(of(*_many_turns64(x)), math.nan)

    return x.mostly(name, usual, lambda x: x.apart(name, long))


def _sine64(n: Lane, r: Lane, s: Lane) -> Lane:
    """The sine of n pi / 2 + r + s."""
    z = r * r
    half = z * 0.5
    one = 1.0 - half
    sine = r + (r * z).muladd(polynomial(z, _SINE64), s * one)
    cosine = one + (((1.0 - one) - half) + (z * z).muladd(polynomial(z, _COSINE64), -(r * s)))
    value = (n & 1).differs(0).select(cosine, sine)
    return (value.bits() ^ ((n & 2) << 62)).from_bits()


#: tan(r) / r = (1 + a z) / (1 + b z), a and b of z = r**2, for |r| <= pi / 4
_ABOVE64 = (-0.13338301599055685, 0.003424829068618269, -1.7860721823350778e-05)
_BELOW64 = (-0.46671634932389017, 0.02566361217658172, -0.0003118055057533463, 4.981470047719927e-07)


def _tangent64(n: Lane, r: Lane, s: Lane) -> Lane:
    """The tangent of n pi / 2 + r + s: the quotient of two polynomials, all with what they are rounded by."""
    z = r * r
    rest = (r * z).muladd(polynomial(z, _ABOVE64), s.muladd(z * (3.0 * _ABOVE64[0]), s))
    above = r + rest
    above_low = (r - above) + rest
    rest = z.muladd(polynomial(z, _BELOW64), r * s * (2.0 * _BELOW64[0]))
    below = 1.0 + rest
    below_low = (1.0 - below) + rest
    odd = (n & 1).differs(0)
    above, below = odd.select(below, above), odd.select(-above, below)
    above_low, below_low = odd.select(below_low, above_low), odd.select(-above_low, below_low)
    inverse = 1.0 / below
    quotient = above * inverse
    rest = quotient.muladd(below_low, quotient.rest_of_product(below, above)) - above_low
    return quotient - rest * inverse


def tan_near(x: Lane) -> Lane:
    """The tangent of float64 x, |x| <= pi / 2."""
    return _tangent64(*_turns64(x))


def sin(x: Lane) -> Lane:
    """Sine."""
    if x.dtype == "float32":
        return _by_turns("sin", x, _sine)
    return x.equals(0.0).select(x, _reduced64("sin", x, _sine64))


def cos(x: Lane) -> Lane:
    """Cosine."""
    if x.dtype == "float32":
        return _by_turns("cos", x, _cosine)
    return _reduced64("cos", x, lambda n, r, s: _sine64(n + 1, r, s))


def tan(x: Lane) -> Lane:
    """Tangent."""
    if x.dtype == "float32":
        return _by_turns("tan", x, _tangent, _parted)
    return x.equals(0.0).select(x, _reduced64("tan", x, _tangent64))
