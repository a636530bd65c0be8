"""Reductions of what is transposed, done where it lies: the transpose comes after them, smaller or undone by another.

Rule: elementwise ops of values that are turned the same way, and of numbers, are computed before they are turned.

    softmax along a middle axis: transpose, max, subtract, exp, sum, divide, transpose back
    becomes:                     max, subtract, exp, sum, divide along the middle axis

Read across its rows a reduction is no vectors; down the columns of what lies there it is.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.rewriter import Application, Rebuild, is_pure

Perm = tuple[int, ...]


def reduces_transposed(graph: Graph) -> bool:
    """Return whether a reduction takes a transpose, or what elementwise ops make of one."""
    turned: dict[Value, Perm] = {}
    for node in graph.nodes:
        perm = _perm(node) or _common([(v, turned.get(v)) for v in node.inputs])
        if perm is None:
            continue
        if node.op.family == "reduction":
            return True
        if node.op.name == "transpose" or _is_plain(node.op, node.attrs, len(node.outputs)):
            turned[node.outputs[0]] = perm
    return False


def sunk(build: Rebuild, applied: Application) -> Value | None:
    """An op of transposed values as the transpose of the op of the values themselves: a rule for every op."""
    op, attrs = applied.op, applied.attrs
    perm = _common([(value, _perm(value.node)) for value in applied.inputs])
    if perm is None or not _is_plain(op, attrs, len(applied.avals)):
        return None
    if any(value.node.op.name == "transpose" and value.aval.shape is None for value in applied.inputs):
        return None
    aval, rank = applied.avals[0], len(perm)
    if op.family == "reduction":
        axes = None if attrs["axes"] is None else tuple([perm[axis] for axis in attrs["axes"]])
        attrs = {**attrs, "axes": axes}
        reduced = range(rank) if axes is None else {axis % rank for axis in axes}
        if not attrs["keepdims"]:
            kept = [axis for axis in perm if axis not in reduced]
            perm = tuple([sorted(kept).index(axis) for axis in kept])
    if aval.shape is None or len(aval.shape) != len(perm) or not build.spend(f"{op.name} before its transpose"):
        return None
    dims: list[Any] = [None] * len(perm)
    for extent, axis in zip(aval.shape, perm, strict=True):
        dims[axis] = extent
    inputs = tuple([v.node.inputs[0] if v.node.op.name == "transpose" else v for v in applied.inputs])
    (made,) = build.emit(op, inputs, attrs, (Aval(aval.dtype, tuple(dims)),))
    return made if perm == tuple(range(len(perm))) else build.emit("transpose", (made,), {"perm": perm}, (aval,))[0]


def _perm(node: Node) -> Perm | None:
    """The order of axes of a transpose, counted from the front."""
    perm = node.attrs.get("perm") if node.op.name == "transpose" else None
    return tuple([int(axis) % len(perm) for axis in perm]) if isinstance(perm, tuple) and perm else None


def _common(operands: list[tuple[Value, Perm | None]]) -> Perm | None:
    """The order of axes that all operands have but numbers; None where some are not turned, or not alike."""
    found = {perm for value, perm in operands if perm is not None or value.aval.shape != ()}
    return found.pop() if len(found) == 1 else None


def _is_plain(op: Any, attrs: dict[str, Any], n_outputs: int) -> bool:
    return op.family in ("elementwise", "reduction") and n_outputs == 1 and is_pure(op, attrs)
