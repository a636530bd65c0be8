"""Lists whose elements' extents are not noted before one is written, made with the extents that will be written.

A TensorArray in a Function whose batch is unknown begins as a list of blanks (`list_blank`): what its loop leaves has
extents that are data, and all that takes it, a gradient's loop too, would wait for them, and run by the ops' bodies.
But the first element that is written has extents that inference knows, most often those of an argument.

Rule: a graph in, a graph out; only what a list is made of changes. Blanks of the right extents are blanks all the same:
whether one was written is asked of a flag, and the first that is written says the extents of all.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping, Sequence
from typing import Any

from fastgraph.compiler.decompose import computed
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.compiler.program.symbolic_extents import FIRST_WITNESS, witness_avals, witness_shapes
from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Shape
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import shape as shape_of

#: An extent of the arguments of which nothing is known: all are alike, so any may share a witness with another.
_UNKNOWN = FIRST_WITNESS - 1
#: Of a blank list: for each axis of its elements the extent, or the value and the axis that have it.
_Extents = list["int | tuple[Value, int]"]


def size_lists(graph: Graph) -> Graph:
    """`graph` with lists of known extents in place of blank ones, in its subgraphs too, where inference knows them."""
    blanks: set[Graph] = set()
    if not _find_blanks(graph, blanks):
        return graph
    given = [[_UNKNOWN if n is None else n for n in value.aval.shape or ()] for value in graph.parameters]
    try:
        return _Inferred(graph, witness_shapes(graph, given)).sized(blanks)
    except CannotPlan:
        return graph


def _find_blanks(graph: Graph, found: set[Graph]) -> bool:
    """Note the graphs with a blank list at or below this one; return whether this is one."""
    for node in graph.nodes:
        inside = [_find_blanks(inner, found) for inner, _ in ir.subgraphs(node)]
        if node.op.name == "list_blank" or any(inside):
            found.add(graph)
    return graph in found


class _Inferred:
    """A graph with the witnesses of its values. Each of its subgraphs is inferred once, whatever asks for it."""

    def __init__(self, graph: Graph, shapes: Sequence[Shape]) -> None:
        self.graph = graph
        self.avals = witness_avals(graph, shapes).avals
        self.uses = ir.uses(graph)
        self.inner: dict[tuple[Node, Graph], _Inferred | None] = {}

    def sized(self, blanks: Container[Graph]) -> Graph:
        """Return the graph with lists of known extents, in its subgraphs too."""
        found: dict[int, tuple[Value, int]] = {}  # extents that are no numbers of the graph's: the first values of them
        made: dict[Node, _Extents | dict[str, Graph]] = {}
        for node in self.graph.nodes:
            if node.op.name == "list_blank" and node.attrs["element"] is not None:
                row = self.row(node.outputs[0])
                extents = [n if n < _UNKNOWN else found.get(n) for n in row or ()]
                if row is not None and None not in extents:
                    made[node] = extents  # type: ignore[assignment]  # none is None
            inside = {}
            for key, inner in node.attrs.items() if node.op.step in ir.WITH_SUBGRAPHS else ():
                if isinstance(inner, Graph) and inner in blanks:
                    inferred = self.inside(node, inner)
                    if inferred is not None:
                        inside[key] = inferred.sized(blanks)
            if inside:
                made[node] = inside
            for value in node.outputs:
                for axis, n in enumerate(self.avals[value].shape or () if value in self.avals else ()):
                    if n is not None and n >= _UNKNOWN:
                        found.setdefault(n, (value, axis))
        return _rebuilt(self.graph, made) if made else self.graph

    def row(self, buffer: Value) -> tuple[int, ...] | None:
        """Return the extents of the first element that is written to a list, in this graph or one it is handed to."""
        for node in self.uses.get(buffer, ()):
            if node.op.step == "list_set" and node.inputs[0] is buffer:
                return self.avals[node.inputs[2]].shape  # type: ignore[return-value]  # no witness is None
            place = node.inputs.index(buffer)
            for inner, first in ir.subgraphs(node):
                if place < first or (node.op.name == "while" and inner is not node.attrs["body_graph"]):
                    continue
                inferred = self.inside(node, inner)
                row = None if inferred is None else inferred.row(inner.parameters[place - first])
                if row is not None:
                    return row
        return None

    def inside(self, node: Node, inner: Graph) -> _Inferred | None:
        """Return a subgraph of a node, inferred; None if it does not fit."""
        if (node, inner) not in self.inner:
            first = next(place for graph, place in ir.subgraphs(node) if graph is inner)
            shapes = [self.avals[value].shape or () for value in node.inputs[first:]]
            try:
                self.inner[node, inner] = _Inferred(inner, shapes)
            except CannotPlan:
                self.inner[node, inner] = None
        return self.inner[node, inner]


def _rebuilt(graph: Graph, made: Mapping[Node, _Extents | dict[str, Graph]]) -> Graph:
    result = Graph(graph.name)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        change = made.get(node)
        if isinstance(change, list):
            sources = [mapping[each[0]] for each in change if isinstance(each, tuple)]
            given = [mapping[node.inputs[0]], *sources]
            mapping[node.outputs[0]] = computed(node, given, result, functools.partial(_blank, node, change))[0]
            continue
        if change is None:
            ir.copy_node(node, result, mapping)
            continue
        inputs, avals = tuple([mapping[value] for value in node.inputs]), tuple([value.aval for value in node.outputs])
        attrs = {**node.attrs, **change}
        new = result.add(node.op, inputs, attrs, avals=avals, name=node.name, source=node.source, device=node.device)
        mapping.update(zip(node.outputs, new.outputs, strict=True))
    return result.with_ends_of(graph, mapping)


def _blank(node: Node, extents: _Extents, size: Any, *sources: Any) -> Any:
    """The list in terms of ops."""
    left = iter(sources)
    dims = [shape_of(next(left))[each[1]] if isinstance(each, tuple) else each for each in extents]
    made = zeros(stack([cast(size, int32), *dims]), node.attrs["dtype"])
    made.set_shape(node.outputs[0].aval.shape)
    return made
