"""The mathematics of kernels, one element at a time: all functions by name; integers, casts and half floats.

Rule, also for the modules imported here: straight-line code over lanes (`llvm_lanes`): no branch but `mostly`, no table
but `apart`, no call where a polynomial will do, so that LLVM runs many lanes side by side; right for NaN, infinities,
zeros, denormals, overflow and underflow. They import nothing of Numba.

Polynomials are minimax fits of our own (Remez exchange) to the stated function and interval. The worst errors found, in
units in the last place: docs/vecmath.md (tests/backend/test_vecmath.py; all 2**32 float32 values in `make soak`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastgraph.compiler.vecmath import bessel
from fastgraph.compiler.vecmath.exponentials import (
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    log,
    log1p,
    logaddexp,
    sigmoid,
    sinh,
    softplus,
    tanh,
)
from fastgraph.compiler.vecmath.float_formats import FLOATS, LAYOUTS, LOG2_E, max_, min_
from fastgraph.compiler.vecmath.incomplete_beta import betainc
from fastgraph.compiler.vecmath.incomplete_gamma import igamma, igamma_grad_a, igammac
from fastgraph.compiler.vecmath.inverse_functions import acos, acosh, asin, asinh, atan, atan2, atanh
from fastgraph.compiler.vecmath.philox import RANDOM
from fastgraph.compiler.vecmath.powers import pow_
from fastgraph.compiler.vecmath.special_functions import digamma, erfinv, lgamma, ndtri, polygamma, zeta
from fastgraph.compiler.vecmath.trigonometry import cos, sin, tan

INF = math.inf
NAN = math.nan
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
HALVES = ("float16", "bfloat16")  # carried as uint16
Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics


def rsqrt(x: Lane) -> Lane:
    """1 / sqrt(x)."""
    return 1.0 / x.sqrt()


def exp2(x: Lane) -> Lane:
    """2**x; float64 by libm."""
    return exp(x.to("float64") * math.log(2.0)).to("float32") if x.dtype == "float32" else x.call("exp2")


def log2(x: Lane) -> Lane:
    """Logarithm to base 2; float64 by libm."""
    return (log(x.to("float64")) * LOG2_E).to("float32") if x.dtype == "float32" else x.call("log2")


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
    whole = f"uint{width + 1}"
    return (n ^ ((n >> width).to(whole) >> 1).to(n.dtype)).from_bits()


def sign(x: Lane) -> Lane:
    """-1, 0 or 1; NaN of NaN."""
    if x.dtype not in FLOATS:
        return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    return (x > 0.0).select(1.0, (x < 0.0).select(-1.0, x + 0.0))


def isnan(x: Lane) -> Lane:
    """True where x is NaN."""
    return x.differs(x)


def isinf(x: Lane) -> Lane:
    """True where x is an infinity."""
    return x.abs().equals(INF) if x.dtype in FLOATS else x.differs(x)


def isfinite(x: Lane) -> Lane:
    """True where x is neither NaN nor an infinity."""
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
    """The remainder that truncatediv leaves: the dividend's sign."""
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


def _fmod(a: Lane, b: Lane) -> Lane:
    """The rest of a float behind the whole multiples of another, with the dividend's sign: exactly."""
    if a.dtype == "float64" and not a.fused:
        return a.call("fmod", b)
    return a.mostly("fmod", _few_multiples, lambda a, b: a.call("fmod", b), b, same=True)


def _few_multiples(a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """`_fmod` where the quotient has fewer digits than a float has: it is a whole number too large at most by one."""
    size, divisor = a.abs(), b.abs()
    quotient = size / divisor
    rest = -quotient.trunc().rest_of_product(divisor, size)
    rest = (rest < 0.0).select(rest + divisor, rest)
    few = 2.0**22 if a.dtype == "float32" else 2.0**51
    return rest.copysign(a), (quotient < few) & (divisor < INF)


def floormod(a: Lane, b: Lane) -> Lane:
    """The remainder that floordiv leaves: the divisor's sign. For floats fmod's, as exact as TensorFlow's."""
    if a.dtype in FLOATS:
        remainder = _fmod(a, b)
        return (remainder.differs(0.0) & (remainder < 0.0).differs(b < 0.0)).select(remainder + b, remainder)
    _, remainder, zero = _divide(a, b)
    if a.dtype in SIGNED:
        remainder = (remainder.differs(0) & ((remainder ^ b) < 0)).select(remainder + b, remainder)
    return zero.select(0, remainder)


def lshift(a: Lane, b: Lane) -> Lane:
    """a << b, by 0 to its width less one."""
    return a << _within_width(a, b)


def rshift(a: Lane, b: Lane) -> Lane:
    """a >> b with the sign, by 0 to its width less one."""
    return a >> _within_width(a, b)


def _within_width(a: Lane, b: Lane) -> Lane:
    most = int(a.dtype.lstrip("uint")) - 1
    amount = (b > most).select(most, b)
    return amount if b.dtype in UNSIGNED else (b < 0).select(0, amount)


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
LOGIC: dict[str, Callable[..., Lane]] = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
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
    "sinh": sinh,
    "cosh": cosh,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "exp2": exp2,
    "log2": log2,
    "lgamma": lgamma,
    "erf": erf,
    "erfc": erfc,
    "erfinv": erfinv,
    "ndtri": ndtri,
    "digamma": digamma,
    "bessel_i0e": bessel.i0e,
    "bessel_k0": bessel.k0,
    "bessel_k0e": bessel.k0e,
    "bessel_k1": bessel.k1,
    "bessel_k1e": bessel.k1e,
    "expint": bessel.expint,
    "bessel_i1e": bessel.i1e,
    "rsqrt": rsqrt,
    "sqrt": lambda x: x.sqrt(),
    "floor": lambda x: x.floor(),
    "ceil": lambda x: x.ceil(),
    "trunc": lambda x: x.trunc(),
    "round": lambda x: x.round(),
}


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
        for op, body in {"logaddexp": logaddexp, "atan2": atan2, "zeta": zeta, "polygamma": polygamma}.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        for op, body in {"igamma": igamma, "igammac": igammac, "igamma_grad_a": igamma_grad_a}.items():
            define(f"{op}_{dtype}", (dtype, dtype), dtype, body)
        define(f"betainc_{dtype}", (dtype, dtype, dtype), dtype, betainc)
        define(f"muladd_{dtype}", (dtype, dtype, dtype), dtype, lambda a, b, c: a.muladd(b, c))
        for op, body in FLOAT_FUNCTIONS.items():
            define(f"{op}_{dtype}", (dtype,), dtype, body)
        whole = LAYOUTS[dtype].integer
        define(f"rank_max_{dtype}", (dtype,), whole, lambda x: rank(x, INF))
        define(f"rank_min_{dtype}", (dtype,), whole, lambda x: rank(x, -INF))
        define(f"ranked_{dtype}", (whole,), dtype, ranked)
        for op, body in FOLDS.items():
            define(f"fold_{op}_{dtype}", (dtype, dtype), dtype, body)
        define(f"fmod_{dtype}", (dtype, dtype), dtype, _fmod)
        define(f"nextafter_{dtype}", (dtype, dtype), dtype, lambda x, to: x.call("nextafter", to))
    for name, row in RANDOM.items():
        define(name, *row)
    everything = ("bool", *INTEGERS, *FLOATS, *HALVES)
    for source in everything:
        for target in everything:
            carried = ["uint16" if d in HALVES else d for d in (source, target)]
            define(f"cast_{source}_{target}", (carried[0],), carried[1], _cast(source, target))
    return table
