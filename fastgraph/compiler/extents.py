"""Witnesses: the numbers that stand for unknown dimensions while a Program is made.

Rule: every unknown dimension is a prime of its own as long as inference allows it; dimensions that come out equal are
equal in every call, and nothing that is compiled contains a witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fastgraph.compiler.sizes import CannotPlan, infer_node
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.shapes import Aval, Shape

#: Large enough not to be somebody's layer width, small enough for products of four.
FIRST_WITNESS = 10_007


def primes(taken: set[int]) -> Iterator[int]:
    """Distinct primes that are not in `taken`."""
    n = FIRST_WITNESS
    while True:
        if n not in taken and all(n % d for d in range(3, int(n**0.5) + 1, 2)):
            yield n
            n += 1_000  # sums and differences of extents must not be another one's witness
        n += 2


@dataclass
class Witnesses:
    """The aval of every value, and the nodes whose results only a run can tell: their bodies are run as they are."""

    avals: dict[Value, Aval] = field(default_factory=dict)
    opaque: set[Node] = field(default_factory=set)


def witness_avals(graph: Graph, shapes: Sequence[Shape]) -> Witnesses:
    """What is known of every value when the parameters have these shapes; a dimension that is data is a prime.

    Raises: CannotPlan where the shapes do not fit.
    """
    taken = _numbers(graph)
    taken.update(n for shape in shapes for n in shape or () if n is not None)
    return _infer(graph, shapes, primes(taken).__next__)


def _infer(graph: Graph, shapes: Sequence[Shape], fresh: Callable[[], int]) -> Witnesses:
    found = Witnesses()
    exact = not any(n is not None and n >= FIRST_WITNESS for shape in shapes for n in shape or ())
    data: set[Value] = set()  # values whose shapes depend on data
    counts: dict[tuple[Value, int], int] = {}
    for value, shape in zip(graph.parameters, shapes, strict=True):
        found.avals[value] = Aval(value.aval.dtype, shape)
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        tainted = any(v in data for v in node.inputs)
        try:
            avals = infer_node(node, [found.avals[v] for v in node.inputs])
        except Exception as error:
            # Sizes that are data may fit after all, and so may a branch that is not taken: that is for the run to say.
            if not (tainted or node.op.name in ("cond", "while")):
                raise CannotPlan(node, error) from error
            found.opaque.add(node)
            avals = [v.aval for v in node.outputs]
        for value, aval in zip(node.outputs, avals, strict=True):
            if aval.shape is None or (value.aval.shape is None and (tainted or not exact)):
                raise CannotPlan(node, ValueError("the rank depends on an extent"))
            aval = _narrowed(aval, value.aval)
            if tainted and node not in found.opaque and _is_guess(aval, value.aval):
                found.opaque.add(node)
                aval = value.aval
            shape = aval.shape or ()
            if None in shape:
                data.add(value)
                dims = [_count(node, a, counts, fresh) if n is None else n for a, n in enumerate(shape)]
                aval = Aval(aval.dtype, tuple(dims))
            elif tainted:
                data.add(value)
            found.avals[value] = aval
    return found


def _is_guess(found: Aval, noted: Aval) -> bool:
    """Whether an extent that the graph leaves open came out as a small number: the first of many, say, of none."""
    return any(
        b is None and a is not None and a < FIRST_WITNESS
        for a, b in zip(found.shape or (), noted.shape or (), strict=True)
    )


def fits(witness: Sequence[tuple[int, ...] | None], shapes: Iterable[Shape]) -> bool:
    """Whether a Program made for `witness` holds for these shapes of its values: 1 is 1, what is equal is equal.

    An extent that is not known yet fits.
    """
    actual = {1: 1}
    for stand_in, shape in zip(witness, shapes, strict=False):
        if stand_in is None or shape is None:
            continue
        if len(stand_in) != len(shape):
            return False
        for n, extent in zip(stand_in, shape, strict=True):
            if extent is not None and actual.setdefault(n, extent) != extent:
                return False
    return True


def _count(node: Node, axis: int, counts: dict[tuple[Value, int], int], fresh: Callable[[], int]) -> int:
    """The witness of a dimension that is data; the same for all that one mask picks."""
    if node.op.name not in ("mask", "where_index"):
        return fresh()
    key = (node.inputs[-1], 0)
    if key not in counts:
        counts[key] = fresh()
    return counts[key]


def _narrowed(found: Aval, noted: Aval) -> Aval:
    """What inference says, and where it says nothing, what the graph notes (set_shape)."""
    if noted.shape is None or found.is_static:
        return found
    if found.shape is None:
        return Aval(found.dtype, noted.shape)
    return Aval(found.dtype, tuple([b if a is None else a for a, b in zip(found.shape, noted.shape, strict=True)]))


def witness_shapes(graph: Graph, shapes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """What stands for these run-time shapes while a Program is made: primes where the graph says None.

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
            _infer(graph, chosen, fresh)
        except CannotPlan:
            continue
        return chosen
    return actual


def _numbers(graph: Graph) -> set[int]:
    return {n for node in graph.nodes for v in node.outputs for n in v.aval.shape or () if n is not None}
