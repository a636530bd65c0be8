"""Witnesses: the numbers that stand for unknown dimensions while a Program is made.

Rule: every unknown dimension is a prime of its own as long as inference allows it; dimensions that come out equal are
equal in every call, and nothing that is compiled contains a witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fastgraph.compiler.sizes import infer_node
from fastgraph.graph.ir import Graph, Value
from fastgraph.shapes import Aval, Shape

#: Large enough not to be somebody's layer width, small enough for products of four.
FIRST_WITNESS = 10_007


def primes(taken: set[int]) -> Iterator[int]:
    """Distinct primes that are not in `taken`."""
    n = FIRST_WITNESS
    while True:
        if n not in taken and all(n % d for d in range(3, int(n**0.5) + 1, 2)):
            yield n
        n += 2


def witness_avals(graph: Graph, shapes: Sequence[Shape]) -> dict[Value, Aval]:
    """The aval of every value of `graph` when its parameters have these shapes; a dimension that is data is a prime.

    Raises: what inference raises for shapes that do not fit.
    """
    taken = _numbers(graph)
    taken.update(n for shape in shapes for n in shape or () if n is not None)
    return _avals(graph, shapes, primes(taken).__next__)


def _avals(graph: Graph, shapes: Sequence[Shape], fresh: Callable[[], int]) -> dict[Value, Aval]:
    avals: dict[Value, Aval] = {}
    for value, shape in zip(graph.parameters, shapes, strict=True):
        avals[value] = Aval(value.aval.dtype, shape)
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        found = infer_node(node, [avals[v] for v in node.inputs])
        for value, aval in zip(node.outputs, found, strict=True):
            aval = _narrowed(aval, value.aval)
            if aval.shape is not None and None in aval.shape:
                aval = Aval(aval.dtype, tuple([fresh() if n is None else n for n in aval.shape]))
            avals[value] = aval
    return avals


def _narrowed(found: Aval, noted: Aval) -> Aval:
    """What inference says, and where it says nothing, what the graph notes (set_shape)."""
    if noted.shape is None or found.is_static:
        return found
    if found.shape is None:
        return Aval(found.dtype, noted.shape)
    return Aval(found.dtype, tuple([b if a is None else a for a, b in zip(found.shape, noted.shape, strict=True)]))


def witness_shapes(graph: Graph, shapes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """What stands for these run-time shapes while a Program is made: itself where static, primes where the graph says None.

    Every unknown dimension gets a prime of its own; if inference does not like that, dimensions of equal extent share
    one; if it still fails, the extents themselves are the witness, and the Program is special to them.
    """
    noted = [v.aval.shape for v in graph.parameters]
    actual = tuple([tuple(shape) for shape in shapes])
    if all(s is not None and None not in s for s in noted):
        return actual
    taken = _numbers(graph) | {n for shape in shapes for n in shape}
    for shared in (False, True):
        fresh = primes(taken).__next__
        known: dict[int, int] = {}

        def stand(
            extent: int, shared: bool = shared, known: dict[int, int] = known, fresh: Callable[[], int] = fresh
        ) -> int:
            if not shared:
                return fresh()
            # An extent of 1 may broadcast: no other number stands for it.
            return 1 if extent == 1 else known[extent] if extent in known else known.setdefault(extent, fresh())

        chosen = tuple(
            [
                tuple([n if s is not None and s[a] is not None else stand(n) for a, n in enumerate(shape)])
                for s, shape in zip(noted, actual, strict=True)
            ]
        )
        try:
            _avals(graph, chosen, fresh)
        except Exception:  # whatever inference says of shapes that do not fit
            continue
        return chosen
    return actual


def _numbers(graph: Graph) -> set[int]:
    return {n for node in graph.nodes for v in node.outputs for n in v.aval.shape or () if n is not None}
