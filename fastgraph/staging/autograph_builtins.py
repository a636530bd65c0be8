"""What Python's expressions and builtins mean in converted code: Python's own meaning unless a tensor decides.

Rule: as in autograph_statements.py; nothing here knows of blocks and their state.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert
from fastgraph.graph import control_flow
from fastgraph.graph.trace import SymbolicTensor
from fastgraph.ops import checks, creation, elementwise, movement, output


def decides(value: Any) -> bool:
    """Say whether `value` is known only when the graph runs."""
    return isinstance(value, SymbolicTensor)


def if_exp(cond: Any, if_true: Any, if_false: Any, expr_repr: str) -> Any:
    """a if cond else b."""
    if not decides(cond):
        return if_true() if cond else if_false()
    return control_flow.cond(cond, if_true, if_false)


def and_(a: Any, b: Any) -> Any:
    """a and b; b is not evaluated where a is false."""
    left = a()
    if not decides(left):
        return left and b()
    return control_flow.cond(left, lambda: convert(b()), lambda: left)


def or_(a: Any, b: Any) -> Any:
    """a or b; b is not evaluated where a is true."""
    left = a()
    if not decides(left):
        return left or b()
    return control_flow.cond(left, lambda: left, lambda: convert(b()))


def not_(a: Any) -> Any:
    """not a."""
    return elementwise.logical_not(a) if decides(a) else not a


def not_eq(a: Any, b: Any) -> Any:
    """a != b."""
    return a != b


def assert_stmt(expression1: Any, expression2: Any) -> None:
    """assert expression1, expression2()."""
    if not decides(expression1):
        assert expression1, expression2()
        return
    checks.Assert(expression1, [expression2()])


def range_(*limits: Any) -> Any:
    """range(...), of tensors tf.range."""
    return creation.range_(*limits) if any(map(decides, limits)) else range(*limits)


def len_(value: Any) -> Any:
    """len(value); a tensor's may be known only when the graph runs."""
    if not decides(value):
        return len(value)
    if value.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor")
    known = None if value.shape.rank is None else value.shape[0]
    return known if known is not None else movement.shape(value)[0]


def print_(*values: Any, **options: Any) -> None:
    """print(...), where a symbolic tensor is among the values at every run of the graph."""
    if any(map(decides, nesting.flatten(list(values)))) and not options:
        output.print_(*values)
    else:
        builtins.print(*values, **options)


def int_(value: Any = 0, *base: Any) -> Any:
    """int(...), of a symbolic tensor a cast."""
    return elementwise.cast(value, dtypes.int32) if decides(value) else int(value, *base)


def float_(value: Any = 0.0) -> Any:
    """float(...), of a symbolic tensor a cast."""
    return elementwise.cast(value, dtypes.float32) if decides(value) else float(value)


#: What a call of a builtin means in converted code.
BUILTINS: dict[Any, Callable[..., Any]] = {
    print: print_, range: range_, len: len_, int: int_, float: float_,
}  # fmt: skip
