"""Passes over loops that add up: sums over iterations, which are ops on all of them at once.

Rule: a gradient's loop that carries nothing on only adds up what it computes element by element of rows that are there
already, so that no more memory is needed. Of products of matrices the factors are stacked where these are smaller than
the sum, and not many times what the loop reads anyway. What is summed keeps its value; the order of the additions may
differ.

    while(i > 0, sum + f(gather(rows, i - 1)))  ->  sum + reduce_sum(f(rows), 0), f by the batching rules (`batching`)
    while(..., sum + matmul(a^T, b))            ->  sum + matmul(all a^T side by side, all b one below the other)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import use_trace
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.rewriter import Application, Rebuild, fuel, is_constant, is_pure
from fastgraph.graph.structural_ops import known_trips
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops.elementwise import add, zeros_like

#: Names of the bodies of gradients' loops (control_gradients).
BODY = "while_grad_body"


def sum_at_once(graph: Graph) -> Graph:
    """Return `graph` with such loops as ops on all iterations; the graph itself without any."""
    sums = [node for node in graph.nodes if _is_sum(node)]
    if not sums:
        return graph
    result = Graph(graph.name)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        inputs = tuple([mapping[value] for value in node.inputs])
        if node in sums and fuel().spend("a loop that adds up"):
            outputs = _at_once(node, inputs, result)
        else:
            avals = tuple([value.aval for value in node.outputs])
            made = result.add(
                node.op, inputs, node.attrs, avals=avals, name=node.name, source=node.source, device=node.device
            )
            outputs = list(made.outputs)
        mapping.update(zip(node.outputs, outputs, strict=True))
    return result.with_ends_of(graph, mapping)


def _is_sum(node: Node) -> bool:
    """Return whether a node is a gradient's loop: it carries how many iterations are left, and sums only added to."""
    if node.op.name != "while" or node.attrs.get("joined"):
        return False
    test, body, n = (node.attrs[key] for key in ("cond_graph", "body_graph", "n_carried"))
    if not body.name.startswith(BODY) or len(body.outputs) != n:
        return False
    goes_on, at = test.outputs[0].node, body.outputs[0]
    if goes_on.op.name != "greater" or goes_on.inputs[0] is not test.inputs[0] or not is_constant(goes_on.inputs[1], 0):
        return False
    if (
        at.node.op.name != "subtract"
        or at.node.inputs[0] is not body.inputs[0]
        or not is_constant(at.node.inputs[1], 1)
    ):
        return False
    uses = Counter([value for each in body.nodes for value in each.inputs] + body.outputs)
    totals = set(body.inputs[1:n])
    for total, after in zip(body.inputs[1:n], body.outputs[1:], strict=True):
        if after.node.op.name != "add" or total not in after.node.inputs or (uses[total], uses[after]) != (1, 1):
            return False
        if not total.aval.is_static or any(value.aval.shape != total.aval.shape for value in after.node.inputs):
            return False
    given = set(body.parameters[n:])
    rows = [each for each in body.nodes if each.op.name == "gather"]
    if not rows or any(
        each.inputs[0] not in given or each.inputs[1] is not at or each.attrs != {"axis": 0, "batch_dims": 0}
        for each in rows
    ):
        return False
    return all(_is_simple(each) for each in body.nodes if each not in rows) and not any(
        total in other.inputs for total in totals for other in body.nodes if other.outputs[0] not in body.outputs
    )


def _is_simple(node: Node) -> bool:
    """Return whether a node computes numbers from numbers, each from those in the same place, or sums of them."""
    if any(value.aval.shape is None or value.aval.dtype.name in _OTHER for value in node.outputs):
        return False
    if node.op.name in ("placeholder", "const"):
        return True
    return node.op.family in ("elementwise", "reduction") and is_pure(node.op, node.attrs)


_OTHER = frozenset({"resource", "string", "variant"})


def _at_once(node: Node, inputs: tuple[Value, ...], into: Graph) -> list[Value]:
    """Append what a loop adds up; return its results."""
    from fastgraph.graph.vectorized_map import Part, Run

    body, n = node.attrs["body_graph"], node.attrs["n_carried"]

    class AllIterations(Run):
        """The body run for all iterations; the sums take what all have added."""

        def node(self, each: Node, parts: Sequence[Part]) -> list[Part]:
            if each.op.name == "gather":
                return [Part(parts[0].tensor, True)]
            if each.outputs[0] in body.outputs[1:]:
                k = 1 - each.inputs.index(body.inputs[body.outputs.index(each.outputs[0])])
                rows = self.full(parts[k], each.inputs[k].aval)
                return [Part(add(parts[1 - k].tensor, public_function("reduce_sum")(rows, 0)), False)]
            return super().node(each, parts)

    trace = GraphTrace(node.name)
    with use_trace(trace):
        arguments: list[Any] = [trace.add_input(value.aval, f"x{i}") for i, value in enumerate(inputs)]
        left = Part(add(public_function("range")(arguments[0]), 1), True)
        parts = [left, *[Part(tensor, False) for tensor in arguments[1:]]]
        made = AllIterations(arguments[0]).graph(body, parts)
        results = [zeros_like(arguments[0]), *[part.tensor for part in made[1:n]]]
        outputs = [trace.value_of(tensor) for tensor in results]
    graph: Any = trace.finish(outputs)
    for each in graph.nodes:
        each.source = each.source or node.source
    return ir.splice(graph, into, list(inputs), prefix=f"{node.name}/")


def product_at_once(graph: Graph) -> Graph:
    """Return `graph` with the products that its loops add up as one product of all factors; itself without any."""
    found = {node: sums for node in graph.nodes if node.op.name == "while" and (sums := _sums_of_products(node))}
    return _Products(graph, found).run() if found and fuel().spend("products that a loop adds up") else graph


def _sums_of_products(node: Node) -> dict[int, list[Value]]:
    """The products that a loop adds to values it carries, which it looks at nowhere else, by the numbers of these."""
    test, body, n = (node.attrs[key] for key in ("cond_graph", "body_graph", "n_carried"))
    if node.attrs.get("joined"):
        return {}
    uses = Counter([value for each in body.nodes for value in each.inputs] + body.outputs)
    tested = {value for each in test.nodes for value in each.inputs}.union(test.outputs)
    found = {}
    for k, (total, after) in enumerate(zip(body.inputs[:n], body.outputs, strict=False)):
        terms = _terms(after, uses)
        if uses[total] == 1 and terms.count(total) == 1 and test.inputs[k] not in tested:
            products = [term for term in terms if uses[term] == 1 and _is_large(term, total)]
            if products:
                found[k] = products
    factors = {factor for products in found.values() for term in products for factor in term.node.inputs}
    return found if _has_room(node, sum([_bytes(factor) for factor in factors])) else {}


def _has_room(node: Node, each: int) -> bool:
    """Return whether so many bytes more may be kept of each iteration: few in all, or as many as the rows it reads."""
    trips, body, n = known_trips(node), node.attrs["body_graph"], node.attrs["n_carried"]
    given = set(body.parameters[n:])
    rows = [one for one in body.nodes if one.op.name == "gather" and one.inputs[0] in given]
    there = sum([_bytes(one.outputs[0]) for one in rows if one.inputs[1].aval.shape == ()])
    return each <= _TIMES * there or (trips is not None and each * trips <= _FEW_BYTES)


def _bytes(value: Value) -> int:
    return math.prod([extent or 0 for extent in value.aval.shape or (0,)]) * value.aval.dtype.size


def _terms(value: Value, uses: Counter[Value]) -> list[Value]:
    """The terms of a sum that is used once, as each of its parts is."""
    same = all(other.aval.shape == value.aval.shape for other in value.node.inputs)
    if value.node.op.name != "add" or uses[value] != 1 or not (same and value.aval.is_static):
        return [value]
    return [term for each in value.node.inputs for term in _terms(each, uses)]


def _is_large(value: Value, total: Value) -> bool:
    """Return whether a value is the product of two smaller matrices, which need not be transposed to be stacked."""
    node = value.node
    if node.op.name != "matmul" or value.aval.shape != total.aval.shape or value.aval.dtype.name not in _FLOATS:
        return False
    shapes = [each.aval.shape for each in (*node.inputs, value) if each.aval.is_static and each.aval.shape]
    if [len(shape) for shape in shapes] != [2, 2, 2] or node.inputs[0].aval.dtype is not value.aval.dtype:
        return False
    deep, (m, n) = shapes[0][0 if node.attrs["transpose_a"] else 1] or 0, (extent or 0 for extent in shapes[2])
    lie = node.attrs["transpose_a"] and not node.attrs["transpose_b"]
    return (lie or deep == 1) and 0 < deep <= _DEEPEST and deep * (m + n) <= 2 * m * n


#: Of more rows a product takes longer than to add it up, and its factors fill memory.
_DEEPEST = 8
#: Factors that are kept may take so many times the rows that a loop reads, or so many bytes.
_TIMES, _FEW_BYTES = 4, 1 << 26
_FLOATS = frozenset({"float32", "float64"})


class _Products(Rebuild):
    """A graph with its loops' products stacked by their factors, and multiplied behind them."""

    def __init__(self, graph: Graph, found: Mapping[Node, Mapping[int, list[Value]]]) -> None:
        super().__init__(graph)
        self.found = found

    def node(self, node: Node) -> None:
        """Rebuild one node; behind a loop, the products of what it stacks."""
        sums = self.found.get(node)
        if sums is None:
            super().node(node)
            return
        self.source, self.device, self.name = node.source + self.callers, node.device, node.name
        body, mapping = ir.copy(node.attrs["body_graph"])
        trips, given = known_trips(node), [value.aval for value in node.outputs]
        places: dict[Value, int] = {}
        for k, products in sums.items():
            value = body.inputs[k]
            uses = Counter([each for other in body.nodes for each in other.inputs] + body.outputs)
            for term in _terms(body.outputs[k], uses):
                if term is not body.inputs[k] and term not in {mapping[each] for each in products}:
                    value = body.add(get("add"), (value, term), {}, source=node.source).outputs[0]
            body.outputs[k] = value
            for factor in [mapping[each] for term in products for each in term.node.inputs]:
                if factor not in places:
                    places[factor] = len(body.outputs)
                    body.outputs.append(factor)
                    given.append(Aval(factor.aval.dtype, (trips, *(factor.aval.shape or ()))))
        inputs = tuple([self.mapping[value] for value in node.inputs])
        made = list(self.emit(node.op, inputs, {**node.attrs, "body_graph": body}, tuple(given)))
        for k, products in sums.items():
            for term in products:
                sides = [made[places[mapping[each]]] for each in term.node.inputs]
                flat = [
                    self.emit1("reshape", rows, shape=(-1, n))
                    for rows, n in zip(sides, term.aval.shape or (), strict=True)
                ]
                product = self.emit("matmul", tuple(flat), {"transpose_a": True, "transpose_b": False}, (term.aval,))
                made[k] = self.emit("add", (made[k], product[0]), {}, (term.aval,))[0]
        self.mapping.update(zip(node.outputs, made, strict=False))


def shape_of_rows(build: Rebuild, applied: Application) -> Value | None:
    """The shape of what a loop stacks, by the rows without elements that it stacks besides for its gradient.

    If nothing else looks at the others they are then stacked no more.
    """
    value, dtype = applied.inputs[0], applied.avals[0].dtype
    node = value.node
    if node.op.name != "while" or value.index < node.attrs["n_carried"] or node.attrs.get("joined"):
        return None
    row = node.attrs["body_graph"].outputs[value.index].aval.shape
    none = next((v for v in node.outputs[node.attrs["n_carried"] :] if v.aval.shape and v.aval.shape[1:] == (0,)), None)
    if row is None or None in row or none is None or none is value:
        return None
    if not build.spend("shape of what a loop stacks"):
        return None
    sizes = build.emit1("shape", none, **applied.attrs)
    n = build.emit1("slice", sizes, build.constant(np.zeros(1, np.int32)), size=(1,))
    if not row:
        return n
    rest = build.constant(np.array(row, dtype.as_numpy_dtype))
    return build.emit("concat", (n, rest), {"axis": 0}, applied.avals)[0]
