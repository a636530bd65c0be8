"""Concrete shapes for a graph: with the witnesses when a Program is made, with the real extents when a Plan is made.

Rule: one run of ordinary inference, node by node; a dimension that is data stays None unless a witness is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.shapes import Aval

Shape = tuple[int | None, ...]
#: Witnesses start here: large enough not to be somebody's layer width, small enough for products of four.
FIRST_WITNESS = 10_007


def witnesses(taken: set[int]) -> Iterator[int]:
    """Distinct primes that are not in `taken`."""
    n = FIRST_WITNESS
    while True:
        if n not in taken and all(n % d for d in range(3, int(n**0.5) + 1, 2)):
            yield n
        n += 2


def concrete_avals(
    graph: Graph, shapes: Sequence[Shape | None], fresh: Callable[[], int] | None = None
) -> dict[Value, Aval]:
    """The aval of every value of `graph` when its parameters have these shapes.

    Avals carry the values that follow from shapes and constants. A dimension that is data is None, or `fresh()`.

    Raises: what inference raises for shapes that do not fit.
    """
    avals: dict[Value, Aval] = {}
    for value, shape in zip(graph.parameters, shapes, strict=True):
        avals[value] = Aval(value.aval.dtype, shape)
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        found = _infer(node, [avals[v] for v in node.inputs])
        for value, aval in zip(node.outputs, found, strict=True):
            aval = _narrowed(aval, value.aval)
            if fresh is not None and aval.shape is not None and None in aval.shape:
                aval = Aval(aval.dtype, tuple([fresh() if n is None else n for n in aval.shape]))
            avals[value] = aval
    return avals


def _narrowed(found: Aval, noted: Aval) -> Aval:
    """What inference says, and where it says nothing, what the graph notes (set_shape)."""
    if noted.shape is None or (found.shape is not None and None not in found.shape):
        return found
    if found.shape is None:
        return Aval(found.dtype, noted.shape)
    return Aval(found.dtype, tuple([b if a is None else a for a, b in zip(found.shape, noted.shape, strict=True)]))


def _infer(node: Node, inputs: list[Aval]) -> Sequence[Aval]:
    name = node.op.name
    if name == "call":
        graph = node.attrs["graph"]
        inner = concrete_avals(graph, [a.shape for a in inputs])
        return [inner[v].without_value() for v in graph.outputs]
    if name == "cond":
        branches = []
        for key in ("then_graph", "else_graph"):
            graph = node.attrs[key]
            inner = concrete_avals(graph, [a.shape for a in inputs[1:]])
            branches.append([inner[v] for v in graph.outputs])
        return [Aval(a.dtype, _common(a.shape, b.shape)) for a, b in zip(*branches, strict=True)]
    if name == "while":
        return _infer_while(node, inputs)
    return ir.infer(node.op, inputs, node.attrs)


def loop_shapes(node: Node, inputs: Sequence[Aval]) -> list[Shape | None]:
    """The shapes of a loop body's parameters over all iterations: None where an extent changes on the way."""
    body, n = node.attrs["body_graph"], node.attrs["n_carried"]
    shapes = [a.shape for a in inputs]
    while True:
        inner = concrete_avals(body, shapes)
        after = [_common(s, inner[v].shape) for s, v in zip(shapes, body.outputs[:n], strict=False)]
        if after == shapes[:n]:
            return shapes
        shapes[:n] = after


def _infer_while(node: Node, inputs: list[Aval]) -> list[Aval]:
    body, n = node.attrs["body_graph"], node.attrs["n_carried"]
    shapes = loop_shapes(node, inputs)
    inner = concrete_avals(body, shapes)
    carried = [Aval(v.aval.dtype, s) for v, s in zip(body.inputs[:n], shapes, strict=False)]
    rows = [inner[v] for v in body.outputs[n:]]
    return [*carried, *[Aval(r.dtype, None if r.shape is None else (None, *r.shape)) for r in rows]]


def _common(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple([m if m == n else None for m, n in zip(a, b, strict=True)])


def witness_shapes(graph: Graph, shapes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """What stands for these run-time shapes while a Program is made: itself where static, primes where the graph says None.

    Every unknown dimension gets a prime of its own; if inference does not like that, dimensions of equal extent share
    one; if it still fails, the extents themselves are the witness, and the Program is special to them.
    """
    noted = [v.aval.shape for v in graph.parameters]
    if all(s is not None and None not in s for s in noted):
        return tuple(tuple(s) for s in shapes)
    taken = {n for v in _all_values(graph) for n in (v.aval.shape or ()) if n is not None}
    taken.update(n for s in shapes for n in s)
    for shared in (False, True):
        primes = witnesses(taken)
        known: dict[int, int] = {}
        chosen: list[tuple[int, ...]] = []
        for shape, extents in zip(noted, shapes, strict=True):
            dims: list[int] = []
            for axis, extent in enumerate(extents):
                if shape is not None and shape[axis] is not None:
                    dims.append(extent)
                elif shared:
                    # An extent of 1 may broadcast: it cannot be stood for by another number.
                    dims.append(1 if extent == 1 else known.setdefault(extent, next(primes)))
                else:
                    dims.append(next(primes))
            chosen.append(tuple(dims))
        try:
            concrete_avals(graph, chosen, fresh=lambda primes=primes: next(primes))  # type: ignore[misc]
        except Exception:  # whatever inference says of shapes that do not fit
            continue
        return tuple(chosen)
    return tuple(tuple(s) for s in shapes)


def _all_values(graph: Graph) -> Iterator[Value]:
    for node in graph.nodes:
        yield from node.outputs
