"""Random numbers of lanes: Philox's words, and the uniform and normal numbers made of them.

Rule: as in functions.py, and the same operations in the same order as in philox.h, none of them fused: kernels and
eager mode give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.compiler.vecmath.float_formats import LAYOUTS

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics


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
