"""Checks of a loop's indices in a loop of their own before it: what is behind them vectorises.

Rule: the same status for the same element: where anything is wrong, a third loop finds the first place, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastgraph.compiler.nest.cost_model import MOVES, weight
from fastgraph.compiler.nest.scalar_ir import Scalar, walk

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.emit import Block, Emitter

#: Nanoseconds of arithmetic behind the checks of one element from which on reading the indices twice pays, where what
#: they name is read one by one.
_WORTH = 0.2
#: Terms that may fail, or read outside a buffer, themselves.
_READING = frozenset({"check", "load", "read"})
#: Iterations of a loop known to be shorter than this are no vectors.
_FEW = 8


def emit(emitter: Emitter, scalars: Sequence[Scalar], v: Scalar, header: str, inner: Block) -> None:
    """Write the checks of the loop over `v`, of which `inner` is the body, before it; none where that does not pay."""
    own = [t for t in walk(scalars) if v in t.free]
    checks = [t for t in own if t.op == "check" and v in t.args[0].free]
    if not checks or (v.args[0].witness or _FEW) < _FEW:
        return
    if _arithmetic(own) < _WORTH and any(t.risky and t.op in ("load", "read") for t in own):
        return
    asked = walk([t for check in checks for t in (check.args[0], check.args[2])])
    if any(t.op == "reduce" for t in own) or any(t.risky and v in t.free and t.op in _READING for t in asked):
        return
    if not certain(scalars).issuperset(checks):
        return
    parent = inner.chain[-2]
    ahead = emitter.block(parent, inner.variables)
    conditions, leave = [], []
    for check in checks:
        ok, _, position = check.args
        condition, at = emitter.emit(ok, ahead), emitter.emit(position, ahead)
        conditions.append(condition)
        leave += [f"if not {condition}:", *[f"    {line}" for line in emitter.leave(emitter.status(check, at))]]
    right = emitter.local()
    loop = [header, *[f"    {line}" for line in ahead.lines]]
    every = [f"    {right} = {right} & {each}" for each in dict.fromkeys(conditions)]
    parent.lines += [f"{right} = True", *loop, *every]
    parent.lines += [f"if not {right}:", *[f"    {line}" for line in [*loop, *[f"    {line}" for line in leave]]]]
    emitter.checked.update(checks)


def _arithmetic(terms: Sequence[Scalar]) -> float:
    """Nanoseconds of arithmetic of one iteration."""
    return sum(
        [
            _WORTH if _rounds(t) else weight(t)
            for t in terms
            if _rounds(t) or (t.op not in MOVES and t.dtype not in ("int64", "bool"))
        ]
    )


def _rounds(term: Scalar) -> bool:
    """Return whether a float becomes an integer: what is out of range has to be told, one by one or for a vector."""
    return term.op == "cast" and "float" in term.args[0].dtype and "int" in term.dtype and term.dtype != "int64"


def certain(scalars: Sequence[Scalar]) -> set[Scalar]:
    """The terms that are asked for outside the guarded branches of selects."""
    found: set[Scalar] = set()
    stack = list(scalars)
    while stack:
        term = stack.pop()
        if term not in found:
            found.add(term)
            stack += term.args[:1] if term.is_guard else term.args
    return found
