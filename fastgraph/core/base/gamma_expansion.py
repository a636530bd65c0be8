"""Coefficients of Temme's uniform expansion of the incomplete gamma functions, for a kernel and for NumPy alike.

Rule: standard library only. Q(a, x) = erfc(eta sqrt(a / 2)) / 2 + R, with eta**2 / 2 = mu - log(1 + mu), mu = x / a - 1
and R = exp(-a eta**2 / 2) / sqrt(2 pi a) times the sum over k, n of `TERMS`[k][n] eta**n / a**k. Source: NIST Digital
Library of Mathematical Functions, 8.12.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

#: From here on, and where |x / a - 1| is below REACH, the sums below are right to the last digits.
LEAST = 100.0
REACH = 0.3
_POWERS, _ORDERS = 18, 7
#: gamma(a) ~ sqrt(2 pi / a) (a / e)**a (1 + g[1] / a + g[2] / a**2 + ...).
_STIRLING = (
    Fraction(1),
    Fraction(1, 12),
    Fraction(1, 288),
    Fraction(-139, 51840),
    Fraction(-571, 2488320),
    Fraction(163879, 209018880),
    Fraction(5246819, 75246796800),
)


@cache
def terms() -> tuple[tuple[float, ...], ...]:
    """The coefficients d[k][n] of eta**n / a**k."""
    size = _POWERS + 2 * _ORDERS
    alpha = [Fraction(0), Fraction(1)]  # of eta**n in mu
    for n in range(2, size + 3):
        inner = sum((j * alpha[j] * alpha[n - j + 1] for j in range(2, n)), Fraction(0))
        alpha.append((alpha[n - 1] - inner) / (n + 1))
    first = [Fraction(-1, 3)] + [(n + 2) * alpha[n + 2] for n in range(1, size)]
    rows, row = [first], first
    for k in range(1, _ORDERS):
        count = len(row) - 2
        row = [(-1) ** k * _STIRLING[k] * first[n] + (n + 2) * row[n + 2] for n in range(count)]
        rows.append(row)
    return tuple(tuple(float(d) for d in row[:_POWERS]) for row in rows)


def by_eta(rows: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """The coefficients of the sum's derivative by eta."""
    return tuple(tuple(n * d for n, d in enumerate(row))[1:] for row in rows)


def by_a(rows: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """The coefficients of the sum's derivative by a."""
    return ((0.0,), (0.0,), *[tuple(-k * d for d in row) for k, row in enumerate(rows) if k > 0])
