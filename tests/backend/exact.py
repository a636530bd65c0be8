"""Mathematical functions of floats to as many digits as anyone asks for, in whole numbers and decimals: references."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

#: Fixed point: 1024 bits that float64's largest numbers have above a turn, and what their rests need below.
BITS = 1400
ONE = 1 << BITS
DIGITS = decimal.Context(prec=60, Emin=-(10**6), Emax=10**6)


@cache
def pi() -> int:
    """Machin's formula, in fixed point."""

    def arctangent(n: int) -> int:
        term, total, k = ONE // n, 0, 1
        while term:
            total += -(term // k) if k & 2 else term // k
            term //= n * n
            k += 2
        return total

    return 4 * (4 * arctangent(5) - arctangent(239))


def sine_and_cosine(x: float) -> tuple[Fraction, Fraction]:
    """Of any finite number."""
    fixed = Fraction(x) * ONE
    quarter = round(fixed * 2 / pi())
    r = round(fixed) - quarter * pi() // 2
    sums, term, k = [0, 0], ONE, 0  # of the cosine's terms, and of the sine's
    while term:
        sums[k % 2] += -term if k & 2 else term
        k += 1
        term = term * abs(r) // (k * ONE)
    s, c = Fraction(sums[1] if r > 0 else -sums[1], ONE), Fraction(sums[0], ONE)
    return [(s, c), (c, -s), (-s, -c), (-c, s)][quarter % 4]


def tangent(x: float) -> Fraction:
    sine, cosine = sine_and_cosine(x)
    return sine / cosine


def power(x: float, y: float) -> Fraction:
    """x**y for x > 0."""
    return Fraction(DIGITS.exp(DIGITS.multiply(DIGITS.ln(Decimal(x)), Decimal(y))))


def exponential(x: float) -> Fraction:
    return Fraction(DIGITS.exp(Decimal(x)))


def logarithm(x: float) -> Fraction:
    return Fraction(DIGITS.ln(Decimal(x)))


def exponential_less_one(x: float) -> Fraction:
    if abs(x) < 1e-9:  # where decimals would cancel
        return sum((Fraction(x) ** k / math.factorial(k) for k in range(1, 6)), Fraction(0))
    return exponential(x) - 1


def logarithm_of_one_more(x: float) -> Fraction:
    if abs(x) < 1e-9:
        return sum((-((-Fraction(x)) ** k) / k for k in range(1, 6)), Fraction(0))
    return Fraction(DIGITS.ln(DIGITS.add(Decimal(x), 1))) if abs(x) < 1e40 else logarithm(x)


def hyperbolic_tangent(x: float) -> Fraction:
    twice = exponential_less_one(2 * x)
    return twice / (twice + 2)


def logistic(x: float) -> Fraction:
    e = exponential(-abs(x))
    return (e if x < 0 else 1) / (1 + e)


def softplus(x: float) -> Fraction:
    e = exponential(-abs(x))
    more = e - e * e / 2 if e < Fraction(1, 10**30) else Fraction(DIGITS.ln(DIGITS.add(_decimal(e), 1)))
    return max(Fraction(x), Fraction(0)) + more


def _decimal(x: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


def units(got: float, want: Fraction, mantissa: int = 52, least: int = -1022) -> float:
    """How far `got` is from `want`, in units of the last place of a format (float64 if not given)."""
    size = abs(want)
    exponent = size.numerator.bit_length() - size.denominator.bit_length() if want else least
    exponent -= size < Fraction(2) ** exponent
    return float(abs(Fraction(got) - want) / Fraction(2) ** (max(exponent, least) - mantissa))
