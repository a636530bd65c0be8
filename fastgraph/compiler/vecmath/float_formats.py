"""The float formats as the kernels' mathematics sees them, and the pieces that its functions share.

Rule: as in functions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Layout:
    """A float format, and the constants whose last digits depend on it."""

    mantissa: int
    bias: int
    ln2_high: float  # few enough bits that times any exponent is exact
    ln2_low: float
    exp_min: float  # exp is 0 below and inf above
    exp_max: float
    sqrt_half: int  # bits of sqrt(1/2), rounded
    tiny: float  # smallest normal number
    exp_poly: tuple[float, ...]  # (e**r - 1 - r) / r**2 on |r| <= ln(2) / 2
    integer: str


LAYOUTS = {
    "float32": Layout(
        23, 127, 355 / 512, -2.12194440054690583e-4, -104.0, 88.72283172607422, 0x3F3504F3, 2.0**-126,
        (0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368710987269878, 0.0013814610429108143),
        "int32",
    ),
    "float64": Layout(
        52, 1023, 6.93147180369123816490e-01, 1.90821492927058770002e-10, -746.0, 709.782712893384,
        0x3FE6A09E667F3BCD, 2.0**-1022,
        (0.5, 0.16666666666666682, 0.04166666666666614, 0.008333333333317417, 0.0013888888889104327,
         0.0001984126989558522, 2.4801586940939128e-05, 2.75572355551665e-06, 2.755757349399387e-07,
         2.511182218275177e-08, 2.082845072962251e-09),
        "int64",
    ),
}  # fmt: skip
LOG2_E = 1.4426950408889634


def polynomial(x: Lane, coefficients: tuple[float, ...]) -> Lane:
    """coefficients[0] + coefficients[1] x + ... by Horner's rule."""
    result = x.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = result.muladd(x, c)
    return result


def by_pairs(x: Lane, coefficients: tuple[float, ...]) -> Lane:
    """The same by Estrin's scheme: a few products more, and half as many operations that wait for each other.

    For where much stands behind one another, and the processor does not see far enough ahead to work on the next lanes.
    """
    terms: list[Any] = [x.constant(c) for c in coefficients]
    while len(terms) > 1:
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [high.muladd(x, low) for low, high in zip(terms[::2], terms[1::2], strict=True)] + odd
        x = x * x
    return terms[0]


def two_to(n: Lane, layout: Layout) -> Lane:
    """2.0**n for an integer lane n within the normal exponents."""
    return ((n + layout.bias) << layout.mantissa).from_bits()


def scaled(value: Lane, n: Lane, layout: Layout) -> Lane:
    """value 2**n, below the normal range rounded once; garbage for NaN, and for results above the range.

    value: of 2**-2 .. 2. n: an integer lane. The exponent is added as an integer. Results that are no normal numbers
    are the low digits of a sum of normal ones: a product that is none takes a processor ten times as long.
    """
    bits = value.bits() + (n << layout.mantissa)
    magic = value.constant(2.0**layout.mantissa)
    least = value.muladd(two_to(n + (layout.bias - 1 + layout.mantissa), layout), magic).bits() - magic.bits()
    return (bits < 1 << layout.mantissa).select(least, bits).from_bits()


def normal_of_denormal(x: Lane, layout: Layout) -> Lane:
    """x 2**(bias - 1 + mantissa) for a denormal x, as a normal number; garbage for others."""
    magic = x.constant(2.0**layout.mantissa)
    return (x.bits() + magic.bits()).from_bits() - magic


def split(x: Lane) -> tuple[Lane, Lane]:
    """(e, m) with x = m 2**e and m in sqrt(1/2) .. sqrt(2), for normal positive x; e is an integer lane."""
    layout = LAYOUTS[x.dtype]
    i = x.bits() - layout.sqrt_half
    return i >> layout.mantissa, ((i & ((1 << layout.mantissa) - 1)) + layout.sqrt_half).from_bits()


def max_(a: Lane, b: Lane) -> Lane:
    """The larger; NaN if either is NaN."""
    larger = (a > b).select(a, b)  # b when either is NaN: one instruction
    return a.differs(a).select(a, larger) if a.dtype in FLOATS else larger


def min_(a: Lane, b: Lane) -> Lane:
    """The smaller; NaN if either is NaN."""
    smaller = (a < b).select(a, b)
    return a.differs(a).select(a, smaller) if a.dtype in FLOATS else smaller
