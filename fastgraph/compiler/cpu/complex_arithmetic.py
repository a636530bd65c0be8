"""Arithmetic of complex numbers in kernels, over pairs of lanes: what NumPy's loops give, infinities and NaN included.

Rule: as in compiler/vecmath/functions.py: straight-line code without calls, and nothing of Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.compiler.cpu.llvm_lanes import ComplexLane, Lane
from fastgraph.compiler.vecmath import exponentials, trigonometry
from fastgraph.compiler.vecmath.float_formats import FLOATS
from fastgraph.compiler.vecmath.functions import FOLDS, INF, INTEGERS, NAN, Function

#: Complex dtypes and those of their parts.
PARTS = {"complex64": "float32", "complex128": "float64"}


def add(a: ComplexLane, b: ComplexLane) -> ComplexLane:
    """a + b."""
    return ComplexLane(a.real + b.real, a.imag + b.imag)


def sub(a: ComplexLane, b: ComplexLane) -> ComplexLane:
    """a - b."""
    return ComplexLane(a.real - b.real, a.imag - b.imag)


def mul(a: ComplexLane, b: ComplexLane) -> ComplexLane:
    """a * b by the textbook's formula, rounded as NumPy does: infinities may give NaN."""
    return ComplexLane(a.real.muladd(b.real, -(a.imag * b.imag)), a.real.muladd(b.imag, a.imag * b.real))


def fold_add(a: ComplexLane, b: ComplexLane) -> ComplexLane:
    """A sum that LLVM may reorder."""
    return ComplexLane(FOLDS["add"](a.real, b.real), FOLDS["add"](a.imag, b.imag))


def div(a: ComplexLane, b: ComplexLane) -> ComplexLane:
    """a / b by Smith's way, which divides by the larger part first and so does not overflow."""
    first = b.real.abs() >= b.imag.abs()
    large, small = first.select(b.real, b.imag), first.select(b.imag, b.real)
    x, y = first.select(a.real, a.imag), first.select(a.imag, a.real)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    real = (x + y * ratio) * scale
    imag = first.select(y - x * ratio, x * ratio - y) * scale
    zero = b.real.equals(0.0) & b.imag.equals(0.0)
    by = b.real.abs()
    return ComplexLane(zero.select(a.real / by, real), zero.select(a.imag / by, imag))


def abs_(x: ComplexLane) -> Lane:
    """|x| without overflow, by powers of two where squares would; infinite if a part is."""
    real, imag = x.real.abs(), x.imag.abs()
    infinite = real.equals(INF) | imag.equals(INF)
    limit, by = (2.0**50, 2.0**100) if real.dtype == "float32" else (2.0**500, 2.0**600)
    larger = (real > imag).select(real, imag)
    down, up = larger > limit, larger < 1 / limit
    scale = down.select(1 / by, up.select(by, real.constant(1.0)))
    back = down.select(by, up.select(1 / by, real.constant(1.0)))
    r, i = real * scale, imag * scale
    return infinite.select(INF, r.muladd(r, i * i).sqrt() * back)


def _scaled_abs(x: ComplexLane) -> tuple[Lane, Lane]:
    """Return if a part is above 1, and |x|, an eighth of it if so: |x| may overflow where its logarithm does not."""
    above = (x.real.abs() > 1.0) | (x.imag.abs() > 1.0)
    by = above.select(x.real.constant(0.125), 1.0)
    return above, abs_(ComplexLane(x.real * by, x.imag * by))


def sign(x: ComplexLane) -> ComplexLane:
    """x / |x|; 0 of 0. Of an infinite |x| it is 1, -1, i or -i, or NaN where both parts are infinite."""
    size = abs_(x)
    zero, infinite = size.equals(0.0), size.equals(INF)
    nan = size.differs(size)
    along = x.real.abs().equals(INF)
    both = along & x.imag.abs().equals(INF)

    def part(value: Lane, there: Lane) -> Lane:
        unit = (value > 0.0).select(value.constant(1.0), -1.0)
        far = both.select(NAN, there.select(unit, 0.0))
        return nan.select(NAN, infinite.select(far, zero.select(0.0, value / size)))

    return ComplexLane(part(x.real, along), part(x.imag, ~along))


def exp(x: ComplexLane) -> ComplexLane:
    """e**x: the exponential of the real part, turned by the imaginary one; real where that is 0."""
    part = x.real.dtype
    limit, apart = (80.0, 64.0) if part == "float32" else (700.0, 512.0)  # from where e**real alone may overflow
    large = x.real > limit
    size, turned = exponentials.exp(x.real - large.select(x.real.constant(apart), 0.0)), x.imag - x.imag  # 0 or NaN
    rest = large.select(x.real.constant(float(np.exp(np.dtype(part).type(apart)))), 1.0)
    gone = x.real.equals(-INF) & turned.differs(turned)
    real = size * trigonometry.cos(x.imag) * rest
    imag = size * trigonometry.sin(x.imag) * rest
    flat, endless = x.imag.equals(0.0), x.real.equals(INF) & turned.differs(turned)
    real = flat.select(exponentials.exp(x.real), endless.select(INF, real))
    return ComplexLane(gone.select(0.0, real), flat.select(x.imag, gone.select(0.0, imag)))


def log(x: ComplexLane) -> ComplexLane:
    """The logarithm of |x|, and the angle. Near |x| = 1 by way of |x|**2 - 1, which does not round that away."""
    a, b = x.real.abs(), x.imag.abs()
    first = a > b
    large, small = first.select(a, b), first.select(b, a)
    near = (large > 0.5) & (large < 2.0) & (small < 2.0)
    beyond = near.select((large - 1.0).muladd(large + 1.0, small * small), 0.0)
    above, whole = _scaled_abs(x)
    away = exponentials.log(whole) + above.select(x.real.constant(float(np.log(8.0))), 0.0)
    size = near.select(exponentials.log1p(beyond) * 0.5, away)
    return ComplexLane(size, x.imag.call("atan2", x.real))


def sqrt(x: ComplexLane) -> ComplexLane:
    """The root in the right half-plane."""
    above, size = _scaled_abs(x)
    by = above.select(x.real.constant(0.125), 0.5)
    half = (x.real.abs() * by + above.select(size, size * 0.5)).sqrt() * above.select(x.real.constant(2.0), 1.0)
    other = x.imag.abs() / (half + half)
    right = x.real >= 0.0
    real, imag = right.select(half, other), right.select(other, half)
    imag = imag.copysign(x.imag)
    zero, endless = x.real.equals(0.0) & x.imag.equals(0.0), x.imag.abs().equals(INF)
    return ComplexLane(endless.select(INF, zero.select(0.0, real)), (zero | endless).select(x.imag, imag))


def _parts(x: Lane | ComplexLane, part: str) -> ComplexLane:
    """A number of any dtype as a complex one."""
    if isinstance(x, ComplexLane):
        return ComplexLane(x.real.to(part), x.imag.to(part))
    real = x.to(part)
    return ComplexLane(real, real.constant(0.0))


def functions() -> dict[str, Function]:
    """Every function of complex numbers that a kernel may call: `mul_complex64`, `cast_float32_complex128`, ..."""
    table: dict[str, Function] = {}

    def define(name: str, operands: tuple[str, ...], result: str, body: Callable[..., Any]) -> None:
        table[name] = Function(name, operands, result, body)

    for dtype, part in PARTS.items():
        two = (dtype, dtype)
        for op, body in {"add": add, "sub": sub, "mul": mul, "div": div}.items():
            define(f"{op}_{dtype}", two, dtype, body)
        define(f"fold_add_{dtype}", two, dtype, fold_add)
        define(f"neg_{dtype}", (dtype,), dtype, lambda x: ComplexLane(-x.real, -x.imag))
        define(f"conj_{dtype}", (dtype,), dtype, lambda x: ComplexLane(x.real, -x.imag))
        for op, curve in {"sign": sign, "exp": exp, "log": log, "sqrt": sqrt}.items():
            define(f"{op}_{dtype}", (dtype,), dtype, curve)
        define(f"real_{dtype}", (dtype,), part, lambda x: x.real)
        define(f"imag_{dtype}", (dtype,), part, lambda x: x.imag)
        define(f"abs_{dtype}", (dtype,), part, abs_)
        define(f"complex_{part}", (part, part), dtype, ComplexLane)
        define(f"eq_{dtype}", two, "bool", lambda a, b: a.real.equals(b.real) & a.imag.equals(b.imag))
        define(f"ne_{dtype}", two, "bool", lambda a, b: a.real.differs(b.real) | a.imag.differs(b.imag))
        define(
            f"select_{dtype}",
            ("bool", *two),
            dtype,
            lambda c, a, b: ComplexLane(c.select(a.real, b.real), c.select(a.imag, b.imag)),
        )
        for source in ("bool", *INTEGERS, *FLOATS, *PARTS):
            define(f"cast_{source}_{dtype}", (source,), dtype, lambda x, part=part: _parts(x, part))
    return table
