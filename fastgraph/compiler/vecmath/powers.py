"""Powers of lanes: the exponential of the exponent times the logarithm, with more digits than the result shows.

Rule: as in functions.py. An error of the product is one of the result's digits, so all up to it are sums of two
numbers: what the first was rounded by is the second, found by products' rests and by sums taken apart again.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.compiler.vecmath.float_formats import (
    LAYOUTS,
    LOG2_E,
    by_pairs,
    normal_of_denormal,
    scaled,
    split,
    two_to,
)

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

INF = math.inf

#: (2 atanh(s) / s - 2 - 2/3 s**2) / s**4 of s**2, for (1 + s) / (1 - s) in sqrt(1/2) .. sqrt(2)
_LOG = {
    "float32": (0.40000152587890625, 0.2854713201522827, 0.2341860979795456),
    "float64": (
        0.40000000000002256, 0.2857142857009992, 0.2222222251985246, 0.18181784373923182, 0.1538675699228975,
        0.13256826167228636, 0.1319624618130648,
    ),
}  # fmt: skip
_TWO_THIRDS = {"float32": (0.6666666865348816, -1.9868215517249155e-08), "float64": (2 / 3, 3.700743415417188e-17)}

#: How large the logarithm of the result may be, so that it is a normal number; and to be more than 0 and not infinite.
_LIMITS = {"float32": (87.0, 105.0), "float64": (708.0, 746.0)}


def pow_(x: Lane, y: Lane) -> Lane:
    """x**y with C's special cases."""
    return x.mostly("pow", _usual, _general, y, same=True)


def _usual(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """x**y, and whether it is: for x > 0 where neither x nor the result is out of the range of normal numbers."""
    layout = LAYOUTS[x.dtype]
    product, low = _product(*split(x), y)
    n, value = _exponential(product, low)
    fits = (x >= layout.tiny) & (x < INF) & (product.abs() < _LIMITS[x.dtype][0])
    return value * two_to(n, layout), fits


def _general(x: Lane, y: Lane) -> Lane:
    """x**y for all numbers."""
    layout, limit = LAYOUTS[x.dtype], _LIMITS[x.dtype][1]
    size = x.abs()
    denormal = size < layout.tiny
    e, m = split(denormal.select(normal_of_denormal(size, layout), size))
    product, low = _product(e - denormal.select(e.constant(layout.bias - 1 + layout.mantissa), 0), m, y)
    log = size.equals(0.0).select(-INF, size)  # or what stands for it
    product = ((size > 0.0) & (size < INF)).select(product, log * y)
    low = (product.abs() < limit).select(low, 0.0)
    product = (product > layout.exp_max + 0.3).select(layout.exp_max + 0.3, product)  # the result is inf from here on
    product = (product < -limit).select(-limit, product)
    # The result is 1, whatever the other operand is: infinite, or NaN.
    product = (size.equals(1.0) | y.equals(0.0)).select(0.0, product)
    n, value = _exponential(product, low)
    large = n > 0  # half of the result then, so that overflow is inf
    result = scaled(value, n - large.select(n.constant(1), 0), layout) * large.select(2.0, value.constant(1.0))
    value = value.equals(value).select(result, value)
    half = y * 0.5
    whole = y.floor().equals(y)
    odd = whole & half.floor().differs(half)
    value = (odd & (x.bits() < 0)).select(-value, value)
    return ((x < 0.0) & (x > -INF) & ~whole).select(math.nan, value)


def _product(e: Lane, m: Lane, y: Lane) -> tuple[Lane, Lane]:
    """y log(m 2**e) as a sum of two numbers."""
    layout = LAYOUTS[y.dtype]
    # m = (1 + s) / (1 - s)
    f, divisor = m - 1.0, m + 1.0
    inverse = 1.0 / divisor
    s = f * inverse
    s_low = s.muladd(m - (divisor - 1.0), s.rest_of_product(divisor, f)) * -inverse
    z = s * s
    z_low = (s + s).muladd(s_low, s.rest_of_product(s, z))
    # log(m) = 2 s + s z (2/3 + z r)
    more = z * by_pairs(z, _LOG[y.dtype])
    first, second = _TWO_THIRDS[y.dtype]
    factor = more + first
    factor_low = ((first - factor) + more) + second
    u = z * factor
    u_low = z.muladd(factor_low, z_low.muladd(factor, z.rest_of_product(factor, u)))
    v = s * u
    v_low = s.muladd(u_low, s_low.muladd(u, s.rest_of_product(u, v)))
    twice = s + s
    part = twice + v
    part_low = ((twice - part) + v) + s_low.muladd(2.0, v_low)
    n = e.to(y.dtype)
    whole = n * layout.ln2_high  # exactly
    log = whole + part
    log_low = ((whole - log) + part) + n.muladd(layout.ln2_low, part_low)
    product = y * log
    return product, y.muladd(log_low, y.rest_of_product(log, product))


def _exponential(x: Lane, low: Lane) -> tuple[Lane, Lane]:
    """(n, p) with p 2**n = e**(x + low); n is an integer lane, p about 1."""
    layout = LAYOUTS[x.dtype]
    magic = x.constant(1.5 * 2.0**layout.mantissa)
    shifted = x.muladd(LOG2_E, magic)
    n = shifted - magic
    whole = n.muladd(-layout.ln2_high, x)
    low = n.muladd(-layout.ln2_low, low)
    r = whole + low
    p = (r * r).muladd(by_pairs(r, layout.exp_poly), (whole - r) + low) + r
    return shifted.bits() - magic.bits(), p + 1.0
