"""Angles and areas: the inverses of sine, cosine, tangent and of their hyperbolic kin, of lanes.

Rule: as in functions.py. Every angle is that of a point, by one polynomial of the arc tangent.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.compiler.vecmath.exponentials import log, log1p
from fastgraph.compiler.vecmath.float_formats import LAYOUTS, polynomial

Lane = Any  # llvm_lanes.Lane; not imported, so that this file is only mathematics

INF = math.inf
NAN = math.nan

#: (atan(t) - t) / t**3 of t**2, up to tan(pi / 8)
_ATAN = {
    "float32": (
        -0.33333331746431516, 0.19999537099824088, -0.14263838476131002, 0.10742466849090754, -0.06447741047112404,
    ),
    "float64": (
        -0.3333333333333333, 0.19999999999995438, -0.14285714284649173, 0.11111111013860688, -0.0909090452147169,
        0.07692181876036845, -0.06664492945806264, 0.05857988350245762, -0.05084610357631765, 0.03920743321261196,
        -0.019147248964611764,
    ),
}  # fmt: skip
#: pi as the nearest number of the format, and what it lacks.
_PI = {"float32": (3.1415927410125732, -8.742278012618954e-08), "float64": (math.pi, 1.2246467991473532e-16)}


def _angle(y: Lane, x: Lane) -> Lane:
    """The angle of the point (x, y), in 0 .. pi / 2; of numbers that are not negative, of (0, 0) and infinities too."""
    pi, rest = _PI[y.dtype]
    far = y.equals(x) & (y.equals(0.0) | y.equals(INF))  # where no quotient says anything
    flat, steep = y <= x * math.tan(math.pi / 8), y > x * math.tan(3 * math.pi / 8)
    # The tangent of the angle, of what it lacks of a right angle, or of its difference from half of one.
    top = flat.select(y, steep.select(-x, y - x))
    t = top / flat.select(x, steep.select(y, y + x))
    t = far.select(t.constant(0.0), t)
    z = t * t
    small = (t * z).muladd(
        polynomial(z, _ATAN[y.dtype]), flat.select(0.0, steep.select(rest / 2, t.constant(rest / 4)))
    )
    whole = flat.select(0.0, steep.select(pi / 2, t.constant(pi / 4)))
    return far.select(y.equals(0.0).select(y.constant(0.0), pi / 4), whole + (t + small))


def _opposite(x: Lane, angle: Lane) -> Lane:
    """The angle, or where x has a minus what it lacks of pi."""
    pi, rest = _PI[x.dtype]
    return (x.bits() < 0).select((pi - angle) + rest, angle)


def atan(x: Lane) -> Lane:
    """Arc tangent, in -pi / 2 .. pi / 2."""
    size = x.abs()
    return _angle(size, size.constant(1.0)).copysign(x)


def atan2(y: Lane, x: Lane) -> Lane:
    """The angle of the point (x, y), in -pi .. pi; zeros have signs, and so have the angles."""
    a, b = y.abs(), x.abs()
    most = 2.0 ** (LAYOUTS[x.dtype].bias - 2)
    large = (a > most) | (b > most)  # no sum may overflow
    angle = _angle(large.select(a * 0.25, a), large.select(b * 0.25, b))
    return a.differs(a).select(y, _opposite(x, angle).copysign(y))


def _beside(x: Lane) -> Lane:
    """sqrt(1 - x**2), as precise near 1; NaN beyond."""
    return ((1.0 - x) * (1.0 + x)).sqrt()


def asin(x: Lane) -> Lane:
    """Arc sine, in -pi / 2 .. pi / 2; NaN beyond 1."""
    return _angle(x.abs(), _beside(x)).copysign(x)


def acos(x: Lane) -> Lane:
    """Arc cosine, in 0 .. pi; NaN beyond 1."""
    return _opposite(x, _angle(_beside(x), x.abs()))


def asinh(x: Lane) -> Lane:
    """Inverse of sinh."""
    size = x.abs()
    square = size * size
    usual = log1p(size + square / (1.0 + (square + 1.0).sqrt()))
    return (size > _large(x)).select(log(size) + math.log(2.0), usual).copysign(x)


def acosh(x: Lane) -> Lane:
    """Inverse of cosh; NaN below 1."""
    above = x - 1.0
    usual = log1p(above + (above * (above + 2.0)).sqrt())
    return (x < 1.0).select(NAN, (x > _large(x)).select(log(x) + math.log(2.0), usual))


def _large(x: Lane) -> float:
    """Beyond which 1 is nothing beside a square."""
    return float(2.0 ** (LAYOUTS[x.dtype].mantissa // 2 + 2))


def atanh(x: Lane) -> Lane:
    """Inverse of tanh; infinite at 1, NaN beyond."""
    size = x.abs()
    return (log1p((size + size) / (1.0 - size)) * 0.5).copysign(x)
