"""Ops of Python's operators on tensors, and the ops that lower layers ask for by slot.

Rule: where a Primitive stands here, the operator applies it without entering Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.core import conversion, devices, printing  # noqa: F401 - they fill slots of their own
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import Tensor, bind, current_trace, register_slot
from fastgraph.ops import comparison as c
from fastgraph.ops import elementwise as e
from fastgraph.ops.arguments import named
from fastgraph.ops.broadcasting import sum_to_like
from fastgraph.ops.division import truediv
from fastgraph.ops.exponentials import pow as pow_
from fastgraph.ops.matmul import matmul_p
from fastgraph.ops.movement import shape


def _matmul(x: Tensor, y: Tensor) -> Any:
    if current_trace() is None:
        return matmul_p(x, y, transpose_a=False, transpose_b=False)
    return named("matmul", matmul_p, x, y, transpose_a=False, transpose_b=False)


def _by_kind(logical: Callable[..., Any], bitwise: Callable[..., Any]) -> Any:
    """`&`, `|`, `^`: logical on bool, bitwise on integers."""
    return lambda x, y: (logical if x.dtype.is_bool else bitwise)(x, y)


def _round(x: Tensor, digits: int = 0) -> Any:
    """Python's `round`: halves to even, with so many decimals, below 0 with so many digits less."""
    rounded = public_function("round")
    if not digits or (x.dtype.is_integer and digits > 0):
        return rounded(x)
    wide = e.cast(x, "float64" if x.dtype.is_integer else x.dtype)
    factor = 10.0 ** abs(digits)
    return e.cast(rounded(wide * factor) / factor if digits > 0 else rounded(wide / factor) * factor, x.dtype)


def _fill() -> None:
    plain = dict(add="add", sub="subtract", floordiv="floordiv", mod="floormod", lt="less", le="less_equal")
    plain |= dict(gt="greater", ge="greater_equal", eq="equal", ne="not_equal", neg="negative", mul="multiply")
    for slot, name in plain.items():
        register_slot(slot, get(name))
    register_slot("pow", pow_.primitive)  # type: ignore[attr-defined]
    register_slot("truediv", truediv)
    register_slot("realdiv", get("realdiv"))
    register_slot("abs_real", get("abs"))
    register_slot("matmul", _matmul)
    register_slot("matmul_primitive", get("matmul"))
    register_slot("and", _by_kind(c.logical_and, c.bitwise_and))
    register_slot("or", _by_kind(c.logical_or, c.bitwise_or))
    register_slot("xor", _by_kind(c.logical_xor, c.bitwise_xor))
    register_slot("lshift", get("left_shift"))
    register_slot("rshift", get("right_shift"))
    register_slot("invert", lambda x: (c.logical_not if x.dtype.is_bool else c.invert)(x))
    register_slot("abs", e.abs)
    register_slot("round", _round)
    register_slot("zeros_like", e.zeros_like_p)
    register_slot("ones_like", e.ones_like_p)
    register_slot("cast", e.cast)
    register_slot("identity", e.identity)
    register_slot("shape", shape)
    register_slot("sum_to", sum_to_like)
    # Operators that few programs begin with are looked up when they are used: its module is one more to import.
    register_slot("pack", lambda tensors: bind(get("stack"), tuple(tensors), {"axis": 0}))
    register_slot("boolean_mask", lambda tensor, mask: public_function("boolean_mask")(tensor, mask))


_fill()
