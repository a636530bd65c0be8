"""Clusters of nodes -> loop nests: every value inside a cluster is put in place where it is used, the rest is loaded.

Rule: what is built is right for any choice of nodes and roots; whether it is worth while is for fusion to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.compiler.nest.loop_nest import Builder, LoopNest, Operand, Store
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, walk
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value

#: Scalar constants that are written into a kernel. All others are loaded, so that a learning rate is no new kernel.
LITERALS = frozenset({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0})
#: Operations of integers whose second operand is written into a kernel: by a known number they become multiplications.
_BY_NUMBERS = frozenset({"floordiv", "floormod", "truncatediv", "truncatemod", "left_shift", "right_shift"})


def literal(value: Value) -> Any:
    """The number of a scalar constant that belongs in the source, else None."""
    if value.node.op.name != "const" or value.aval.shape != () or value.aval.dtype.is_complex:
        return None
    number = np.asarray(value.node.attrs["value"]).reshape(())[()]
    if value.aval.dtype.is_bool:
        return bool(number)
    real = float(number)
    return number.item() if real in LITERALS and not (real == 0 and math.copysign(1, real) < 0) else None


def _whole(value: Value) -> int | None:
    """The number of a scalar constant of integers."""
    if value.node.op.name != "const" or value.aval.shape != () or not value.aval.dtype.is_integer:
        return None
    return int(np.asarray(value.node.attrs["value"]).reshape(())[()])


class Lowering:
    """Element functions of the nodes of one cluster; `inside` says which values are computed in place."""

    def __init__(self, table: Table, avals: Mapping[Value, Aval], inside: Callable[[Value], bool]) -> None:
        self.table = table
        self.avals = avals
        self.inside = inside
        self.loaded: dict[Value, None] = {}
        self._functions: dict[Node, Sequence[Callable[[Index], Scalar]]] = {}
        self._shapes: dict[Value, tuple[Scalar, ...]] = {}
        self._memo: dict[tuple[Value, Index], Scalar] = {}

    def begin(self, inside: Callable[[Value], bool]) -> None:
        """Begin another cluster: nothing is loaded or computed yet."""
        self.inside = inside
        self.loaded = {}
        self._memo = {}

    def shape(self, value: Value) -> tuple[Scalar, ...]:
        """The run-time extents of a value."""
        found = self._shapes.get(value)
        if found is None:
            dims = self.avals[value].shape
            assert dims is not None
            found = tuple([self.table.extent(value, axis, n) for axis, n in enumerate(dims) if n is not None])
            assert len(found) == len(dims), value
            self._shapes[value] = found
        return found

    def element(self, value: Value, index: Index) -> Scalar:
        """The element of a value at an index, computed in place or loaded."""
        key = (value, index)
        found = self._memo.get(key)
        if found is None:
            dtype = value.aval.dtype.name
            number = literal(value)
            if number is not None:
                found = self.table.const(number, dtype)
            elif self.inside(value):
                found = self.table.cast(self.functions(value.node)[value.index](index), dtype)
            else:
                self.loaded.setdefault(value)
                found = self.table.load(value, dtype, index, self.shape(value))
            self._memo[key] = found
        return found

    def functions(self, node: Node) -> Sequence[Callable[[Index], Scalar]]:
        """The node's element functions, one per output."""
        found = self._functions.get(node)
        if found is None:
            inputs = [self.operand(v) for v in node.inputs]
            if node.op.name in _BY_NUMBERS and (by := _whole(node.inputs[1])) is not None:
                inputs[1] = Operand(inputs[1].dtype, (), lambda _: self.table.const(by, node.inputs[1].aval.dtype))
            outputs = [Operand(v.aval.dtype.name, self.shape(v), None) for v in node.outputs]
            found = self._functions[node] = node.op.lower(Builder(self.table, inputs, outputs, node), node)  # type: ignore[misc]  # asked before
        return found

    def operand(self, value: Value) -> Operand:
        """A value as its consumers' lowerings see it."""
        if value.aval.dtype.name in ("resource", "string", "variant"):
            return Operand(value.aval.dtype.name, (), None)
        return Operand(value.aval.dtype.name, self.shape(value), lambda index: self.element(value, index))


def build(lowering: Lowering, inside: Callable[[Value], bool], roots: Sequence[Value]) -> LoopNest:
    """The nest that stores `roots`. The loops they have in common are shared, down to where reductions hang.

    One `lowering` serves for all clusters of a graph, one after the other: what a node's elements are made of is asked
    once, however often fusion tries the node in another cluster.
    """
    lowering.begin(inside)
    axes = [[a for a, n in enumerate(lowering.shape(root)) if not (n.op == "const" and n.attr == 1)] for root in roots]
    extents = [[lowering.shape(root)[a].witness for a in own] for root, own in zip(roots, axes, strict=True)]
    n_shared = _common_length(extents)
    first = lowering.shape(roots[0])
    shared = tuple([lowering.table.var(first[a]) for a in axes[0][:n_shared]])
    stores = [_store(lowering, root, own, shared) for root, own in zip(roots, axes, strict=True)]
    level = _level(shared, stores)
    if level < n_shared:
        shared = shared[:level]
        stores = [_store(lowering, root, own, shared) for root, own in zip(roots, axes, strict=True)]
    shapes: dict[object, tuple[Scalar, ...]] = {v: lowering.shape(v) for v in (*lowering.loaded, *roots)}
    return LoopNest(shared, stores, shapes)


def _store(lowering: Lowering, root: Value, axes: Sequence[int], shared: Index) -> Store:
    shape = lowering.shape(root)
    own = tuple([lowering.table.var(shape[a]) for a in axes[len(shared) :]])
    zero = lowering.table.const(0, "int64")
    variables = dict(zip(axes, (*shared, *own), strict=True))
    index = tuple([variables.get(a, zero) for a in range(len(shape))])
    scalar = lowering.table.cast(lowering.functions(root.node)[root.index](index), root.aval.dtype.name)
    lowering._memo[(root, index)] = scalar
    return Store(root, root.aval.dtype.name, index, shape, own, scalar)


def _common_length(lists: Sequence[Sequence[Any]]) -> int:
    n = min(len(own) for own in lists)
    for k in range(n):
        if any(own[k] != lists[0][k] for own in lists):
            return k
    return n


def _level(shared: Index, stores: Iterable[Store]) -> int:
    """Return how many shared loops stay round everything: reductions that hang further out take their stores along."""
    position = {v: k + 1 for k, v in enumerate(shared)}
    variables = frozenset(shared)
    own = frozenset(v for s in stores for v in s.variables)
    levels = set()
    for term in walk([s.scalar for s in stores]):
        if term.op == "reduce" and term.free <= variables | own:
            levels.add(max((position.get(v, len(shared)) for v in term.free), default=0))
    inner = [n for n in levels if n < len(shared)]
    return max(inner) if inner else len(shared)


def effective_inputs(nodes: Collection[Node], absorbed: Callable[[Value], bool]) -> dict[Value, None]:
    """The values that nodes take from outside, looking through the producers that are recomputed in place."""
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    stack = [v for node in nodes for v in reversed(node.inputs)]
    while stack:
        value = stack.pop()
        if value in seen or value.node in nodes or literal(value) is not None:
            continue
        seen.add(value)
        if absorbed(value):
            stack += reversed(value.node.inputs)
        else:
            found[value] = None
    return found
