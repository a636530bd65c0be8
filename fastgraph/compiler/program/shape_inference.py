"""Concrete sizes: what every value of a graph is, dtype and shape, once the shapes of its arguments are known.

Rule: nothing runs here but inference. What follows from shapes comes out as a value (`Aval.value`); what is data
comes out with unknown dimensions.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.graph.ir import PYTHON, Graph, Node, Value, infer, subgraphs
from fastgraph.graph.passes.rewriter import attrs_key

_WITH_GRAPHS = frozenset(("cond", "while", "call"))


class CannotPlan(Exception):
    """The ops do not fit these shapes. The caller runs the graph by the ops' bodies, which say what is wrong."""

    def __init__(self, node: Node, error: Exception, avals: Sequence[Aval] = ()) -> None:
        super().__init__(f"{node.name}: {error}")
        self.node = node
        self.error = error
        self.avals = tuple(avals)  # of the node's inputs


def infer_graph(
    graph: Graph,
    arguments: Sequence[Aval],
    known: Mapping[Value, Aval] | None = None,
    partial: bool = False,
    alike: Mapping[Node, int] | None = None,
) -> dict[Value, Aval]:
    """Return the aval of every value of `graph` for arguments of these avals (inputs, then captures).

    `known` are avals that are found already: nodes whose results are all among them are not looked at. Nodes of one
    number in `alike` (see `alike_nodes`) give the same for the same shapes: only the first is asked.
    What the graph notes besides counts where inference says nothing, but not behind calls of Python:
    it was told of their results (`set_shape`), and a run may differ.
    Raises CannotPlan where an op does not fit; with `partial`, its results are what the graph notes of them.
    """
    table: dict[Value, Aval] = dict(known or {})
    for value, aval in zip(graph.parameters, arguments, strict=True):
        table.setdefault(value, aval)
    numbers = alike or {}
    found: dict[tuple[Any, ...] | None, Sequence[Aval]] = {}
    told: set[Value] = set()
    for node in graph.nodes:
        outputs = node.outputs
        if outputs and outputs[-1] in table and all(value in table for value in outputs):
            continue
        inputs = [table[value] for value in node.inputs]
        number = numbers.get(node)
        key = None if number is None else _key(number, inputs)
        avals = found.get(key)
        if not inputs and node.op.name == "const":
            avals = (outputs[0].aval,)
        try:
            if avals is None:
                avals = infer_node(node, inputs)
                if key is not None:
                    found[key] = avals
        except Exception as error:  # whatever inference raises, the bodies raise better
            if not partial:
                raise error if isinstance(error, CannotPlan) else CannotPlan(node, error, inputs) from error
            avals = [value.aval for value in outputs]
        loose = calls_python(node) or (told and not told.isdisjoint(node.inputs))
        if loose:
            told.update(outputs)
        for value, aval in zip(outputs, avals, strict=True):
            shape = aval.shape
            settled = loose or (shape and None not in shape)
            table.setdefault(value, aval if settled else narrowed(aval, value.aval.shape))
    return table


def calls_python(node: Node) -> bool:
    """Say whether a node, or one in its graphs, calls the program's Python."""
    if node.op.name not in _WITH_GRAPHS:
        return node.op.name in PYTHON
    return any(_in_graph(graph) for graph, _ in subgraphs(node))


def _in_graph(graph: Graph) -> bool:
    found = _known.get(graph)
    if found is None:
        found = _known[graph] = any(map(calls_python, graph.nodes))
    return found


_known: weakref.WeakKeyDictionary[Graph, bool] = weakref.WeakKeyDictionary()


def _key(number: int, inputs: Sequence[Aval]) -> tuple[Any, ...] | None:
    """Return what decides the results of nodes of one number, if it is shapes alone: a value that is known may, too."""
    for aval in inputs:
        if aval.value is not None or aval.partial is not None:
            return None
    return (number, *[aval.shape for aval in inputs])


def alike_nodes(graph: Graph) -> dict[Node, int]:
    """Return a number for each node that another one is like: same op, attributes and dtypes of what it takes."""
    numbers: dict[tuple[Any, ...], int] = {}
    nodes: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node.inputs and node.op.name not in _WITH_GRAPHS:
            key = (node.op, attrs_key(node.attrs), *[value.aval.dtype for value in node.inputs])
            nodes.setdefault(numbers.setdefault(key, len(numbers)), []).append(node)
    return {node: number for number, those in nodes.items() if len(those) > 1 for node in those}


def narrowed(found: Aval, noted: Shape) -> Aval:
    """Return what inference says of a value and, where it says nothing, what the graph notes (set_shape)."""
    if noted is None or found.is_static or (found.shape is not None and len(found.shape) != len(noted)):
        return found
    if found.shape is None:
        return Aval(found.dtype, noted)
    return Aval(found.dtype, tuple([b if a is None else a for a, b in zip(found.shape, noted, strict=True)]))


def infer_outputs(graph: Graph, arguments: Sequence[Aval]) -> list[Aval]:
    """Return the avals of the outputs of `graph`."""
    table = infer_graph(graph, arguments)
    return [table[value] for value in graph.outputs]


def infer_node(node: Node, inputs: list[Aval]) -> Sequence[Aval]:
    """Return the avals of a node's results, those of its subgraphs' shapes included."""
    name = node.op.name
    if name not in _WITH_GRAPHS:
        return infer(node.op, inputs, node.attrs)
    if name == "cond":
        then = infer_outputs(node.attrs["then_graph"], inputs[1:])
        other = infer_outputs(node.attrs["else_graph"], inputs[1:])
        return [Aval(a.dtype, merged(a.shape, b.shape)) for a, b in zip(then, other, strict=True)]
    if name == "while":
        return infer_loop(node, inputs)
    return infer_outputs(node.attrs["graph"], inputs)


def infer_loop(node: Node, inputs: Sequence[Aval]) -> list[Aval]:
    """Return the avals of a while node's results; a dimension that an iteration changes is unknown."""
    if node.attrs.get("joined"):
        raise CannotPlan(node, ValueError("each iteration gives another number of rows: the loop is interpreted"))
    n_carried: int = node.attrs["n_carried"]
    body: Graph = node.attrs["body_graph"]
    start = [aval.without_value() for aval in inputs[:n_carried]]
    carried: list[Aval] | None = None  # a loop may carry nothing and give rows all the same
    final = start
    while carried != final:  # what an iteration changes may be handed on to another value by the next one
        carried = final
        table = infer_graph(body, [*carried, *inputs[n_carried:]], partial=carried != start)
        results = [table[value] for value in body.outputs]
        final = [Aval(a.dtype, merged(a.shape, b.shape)) for a, b in zip(carried, results[:n_carried], strict=True)]
    stable = start == final
    rows = results[n_carried:] if stable else [value.aval for value in body.outputs[n_carried:]]
    known = [value.aval.shape[0] if value.aval.shape else None for value in node.outputs[n_carried:]]
    return [
        *final,
        *[Aval(a.dtype, None if a.shape is None else (n, *a.shape)) for a, n in zip(rows, known, strict=True)],
    ]


def merged(a: Shape, b: Shape) -> Shape:
    """Return the shape that a value has which may have either: where they differ nothing is known."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([m if m == n else None for m, n in zip(a, b, strict=True)])


def shape_key(avals: Sequence[Aval]) -> tuple[Any, ...]:
    """Return what tells apart the plans of one program: the shapes of its arguments."""
    return tuple([aval.shape for aval in avals])
