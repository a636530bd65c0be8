"""Witnesses: the numbers that stand for unknown dimensions while a Program is made.

Rule: every unknown dimension is a prime of its own as long as inference allows it; dimensions that come out equal are
equal in every call, and nothing that is compiled contains a witness.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fastgraph.compiler.program.shape_inference import CannotPlan, calls_python, infer_node, narrowed
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.graph.ir import Graph, Node, Value

#: Large enough not to be somebody's layer width, small enough for products of four.
FIRST_WITNESS = 10_007
#: So many times extents of a batch are found equal one after the other; then those of all its parts count as one.
ROUNDS = 4
#: Ops whose results are parts of elements of datasets: of batches, mostly.
_ELEMENTS = frozenset({"iterator_get_next", "iterator_get_next_as_optional"})


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
    """Avals of every value when the parameters have these shapes; a dimension that is data is a prime.

    Raises: CannotPlan where the shapes do not fit.
    """
    taken = _numbers(graph)
    taken.update(n for shape in shapes for n in shape or () if n is not None)
    return _infer(graph, shapes, primes(taken).__next__)


def _infer(
    graph: Graph, shapes: Sequence[Shape], fresh: Callable[[], int], doubtful: Container[Node] | None = None
) -> Witnesses:
    """See witness_avals. With `doubtful`, a branch or a loop that does not fit is an error if it is not among them.

    Extents of datasets' elements, and of what is made of them, that only fit if they are equal (examples and labels of
    a batch) have one witness: a run in which they are not is refused (`fits`).
    """
    alike: dict[tuple[Value, int], tuple[Value, int]] = {}
    for round_ in itertools.count():
        found, equal = _attempt(graph, shapes, fresh, doubtful, alike)
        if not equal:
            break
        alike.update(equal)
        if round_ == ROUNDS:  # a table of many columns that meet one after the other: each round takes as long
            for node in graph.nodes:
                parts = [value for value in node.outputs if value.aval.shape and value.aval.shape[0] is None]
                for value in parts[1:] if node.op.name in _ELEMENTS else ():
                    part, first = _root((value, 0), alike), _root((parts[0], 0), alike)
                    if part != first:
                        alike[part] = first
    return found


def _attempt(
    graph: Graph,
    shapes: Sequence[Shape],
    fresh: Callable[[], int],
    doubtful: Container[Node] | None,
    alike: Mapping[tuple[Value, int], tuple[Value, int]],
) -> tuple[Witnesses, dict[tuple[Value, int], tuple[Value, int]]]:
    """See _infer; extents that have to be equal come second, and then the first are not complete."""
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
        inputs = [found.avals[v] for v in node.inputs]
        if any(aval.shape is None for aval in inputs):
            found.opaque.add(node)
        try:
            avals = infer_node(node, inputs)
        except Exception as error:
            # Sizes that are data may fit after all, and so may a branch that is not taken: that is for the run to say.
            may_fit = node.op.name in ("cond", "while") and (doubtful is None or node in doubtful)
            if not (tainted or may_fit):
                raise CannotPlan(node, error, error.avals if isinstance(error, CannotPlan) else inputs) from error
            equal = _equal(error.avals if isinstance(error, CannotPlan) else inputs, counts) if tainted else {}
            if equal:
                return found, equal
            found.opaque.add(node)
            avals = [v.aval for v in node.outputs]
        for value, aval in zip(node.outputs, avals, strict=True):
            if aval.shape is None:  # data, too: which calls of Python can only be told (set_shape)
                aval = Aval(aval.dtype, value.aval.shape)
            if aval.shape is None and (calls_python(node) or node in found.opaque):
                found.opaque.add(node)  # of any rank: what takes it runs by its body, until a rank is known again
                found.avals[value] = aval
                data.add(value)
                continue
            if aval.shape is None or (value.aval.shape is None and (tainted or not exact)):
                raise CannotPlan(node, ValueError("the rank depends on an extent"))
            if value.aval.shape is not None and len(value.aval.shape) != len(aval.shape):
                raise CannotPlan(node, ValueError(f"a result of rank {len(aval.shape)} is noted as {value.aval}"))
            aval = narrowed(aval, value.aval.shape)
            if tainted and node not in found.opaque and _is_guess(aval, value.aval):
                found.opaque.add(node)
                aval = value.aval
            shape = aval.shape or ()
            if None in shape:
                data.add(value)
                dims = [_count(value, a, counts, fresh, alike) if n is None else n for a, n in enumerate(shape)]
                aval = Aval(aval.dtype, tuple(dims))
            elif tainted:
                data.add(value)
            found.avals[value] = aval
    return found, {}


def _equal(
    avals: Sequence[Aval], counts: Mapping[tuple[Value, int], int]
) -> dict[tuple[Value, int], tuple[Value, int]]:
    """Extents that are data, among those that do not fit together, with the one of a dataset's along the same axis."""
    extents = {n for aval in avals for n in aval.shape or ()}
    unfit = {key: n for key, n in counts.items() if n in extents and key[1] >= 0}
    origins = {key[1]: key for key in reversed(unfit) if key[0].node.op.name in _ELEMENTS}
    return {key: origins[key[1]] for key, n in unfit.items() if n != unfit.get(origins.get(key[1], key))}


def _root(key: tuple[Value, int], alike: Mapping[tuple[Value, int], tuple[Value, int]]) -> tuple[Value, int]:
    while key in alike:  # what was made one with others may become so with more
        key = alike[key]
    return key


def _is_guess(found: Aval, noted: Aval) -> bool:
    """Return whether an extent that the graph leaves open came out as a small number: the first of many, or none."""
    return any(
        b is None and a is not None and a < FIRST_WITNESS
        for a, b in zip(found.shape or (), noted.shape or (), strict=True)
    )


def fits(witness: Sequence[tuple[int, ...] | None], shapes: Iterable[Shape]) -> bool:
    """Return whether a Program made for `witness` holds for these shapes of its values: 1 is 1, what is equal is equal.

    An extent that is not known yet fits.
    """
    actual = {1: 1}
    for stand_in, shape in dict.fromkeys(zip(witness, shapes, strict=False)):  # most say the same
        if stand_in is None or shape is None:
            continue
        if len(stand_in) != len(shape):
            return False
        for n, extent in zip(stand_in, shape, strict=True):
            if extent is not None and actual.setdefault(n, extent) != extent:
                return False
    return True


def leaked(source: str, avals: Mapping[Value, Aval]) -> set[int]:
    """Return the witnesses of unknown dimensions that stand in a kernel's source: numbers that no run-time size has."""
    numbers = {int(text) for text in re.findall(r"(?<![\w.])\d{5,}(?![\w.])", source)}
    if not numbers:
        return numbers
    unknown = {
        n
        for value, aval in avals.items()
        for n, known in zip(aval.shape or (), value.aval.shape or (), strict=False)
        if known is None and n is not None and n >= FIRST_WITNESS
    }
    return numbers & unknown


def _count(
    value: Value,
    axis: int,
    counts: dict[tuple[Value, int], int],
    fresh: Callable[[], int],
    alike: Mapping[tuple[Value, int], tuple[Value, int]],
) -> int:
    """The witness of a dimension that is data; the same for all that one mask picks, and for all that a loop stacks."""
    node = value.node
    if node.op.name in ("mask", "where_index"):
        key = (node.inputs[-1], -2)
    elif _is_stacked(value) and axis == 0:
        key = (node.outputs[0], -1)
    else:
        key = _root((value, axis), alike)
    if key not in counts:
        counts[key] = fresh()
    return counts[key]


def _is_stacked(value: Value) -> bool:
    """Return whether a value has a row for each iteration of a loop."""
    attrs = value.node.attrs
    stacks = value.node.op.name == "while" and value.index >= attrs["n_carried"]
    return stacks and value.index not in attrs.get("joined", ())


def stand_ins(graph: Graph, shapes: Sequence[Shape]) -> Sequence[Shape]:
    """These shapes with a prime for each extent that is not known, whatever the graph says; one for those that must
    be equal.
    """
    unknown = [(i, axis) for i, shape in enumerate(shapes) for axis, n in enumerate(shape or ()) if n is None]
    if not unknown:
        return shapes
    any_ = FIRST_WITNESS - 1
    given = [tuple([any_ if n is None else n for n in shape or ()]) for shape in shapes]
    found = witness_shapes(graph, given, unknown)
    if found == tuple(given):  # none will do
        fresh = primes(_numbers(graph) | {n for shape in given for n in shape})
        found = tuple([tuple([next(fresh) if n is None else n for n in shape or ()]) for shape in shapes])
    return [None if shape is None else made for shape, made in zip(shapes, found, strict=True)]


def witness_shapes(
    graph: Graph, shapes: Sequence[Sequence[int]], unknown: Sequence[tuple[int, int]] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Witnesses for these run-time shapes while a Program is made: primes where the graph says None, or at `unknown`.

    Every unknown dimension gets a prime of its own. Where inference does not like that, some that are equal now share
    one, as few as will do: what two sizes of 1 have in common, or a size with a constant, is most often an accident,
    and a Program that takes it for a rule serves no other call. If all fails, the extents themselves are the witness.
    """
    noted = [v.aval.shape for v in graph.parameters]
    actual = tuple([tuple(shape) for shape in shapes])
    if unknown is None:
        unknown = [
            (i, axis)
            for i, (known, shape) in enumerate(zip(noted, actual, strict=True))
            for axis in range(len(shape))
            if known is None or known[axis] is None
        ]
    if not unknown:
        return actual
    taken = _numbers(graph) | {n for shape in shapes for n in shape}
    extents = [actual[i][axis] for i, axis in unknown]
    position = {node: place for place, node in enumerate(graph.nodes)}
    doubtful: set[Node] = set()

    def attempt(roots: Roots) -> tuple[tuple[tuple[int, ...], ...], dict[int, int], CannotPlan | None]:
        """The witness in which dimensions with one root share a prime, whose primes they are, what is wrong with it."""
        fresh = primes(taken).__next__
        numbers = {root: -1 - root if root < 0 else fresh() for root in dict.fromkeys(roots)}
        chosen = [list(shape) for shape in actual]
        for (i, axis), root in zip(unknown, roots, strict=True):
            chosen[i][axis] = numbers[root]
        witness = tuple([tuple(shape) for shape in chosen])
        try:
            _infer(graph, witness, fresh, doubtful)
        except CannotPlan as error:
            return witness, {n: root for root, n in numbers.items() if root >= 0}, error
        return witness, {}, None

    roots: Roots = tuple(range(len(unknown)))
    witness, owners, failure = attempt(roots)
    while failure is not None:
        for candidate in _unions(failure, roots, owners, extents):
            tried = attempt(candidate)
            if tried[2] is None or position.get(tried[2].node, 0) > position.get(failure.node, 0):
                roots, (witness, owners, failure) = candidate, tried
                break
        else:
            if failure.node.op.name not in ("cond", "while") or failure.node in doubtful:
                return actual
            doubtful.add(failure.node)
            witness, owners, failure = attempt(roots)
    return witness


def shapes_of(graph: Graph, witness: Sequence[Shape], values: Sequence[Value]) -> tuple[Shape, ...] | None:
    """The shapes of some values of `graph` when its parameters have the shapes `witness`; None if they do not fit."""
    try:
        avals = witness_avals(graph, witness).avals
    except CannotPlan:
        return None
    return tuple([avals[value].shape if value in avals else None for value in values])


#: For each unknown dimension the number of the first one that has the same prime; -1 - n: it is n.
Roots = tuple[int, ...]


def _unions(failure: CannotPlan, roots: Roots, owners: dict[int, int], extents: list[int]) -> Iterator[Roots]:
    """Ways to make a node's inputs fit: dimensions that are equal now made one, the likelier ones first."""
    rows = [row for aval in failure.avals for row in (aval.shape, _whole_numbers(aval))]
    shapes = [[n for n in row if n is not None] for row in rows if row]
    aligned = [
        pair for a, b in itertools.combinations(shapes, 2) for pair in zip(reversed(a), reversed(b), strict=False)
    ]
    anywhere = list(itertools.combinations([n for shape in shapes for n in shape], 2))

    def united(pairs: Iterable[tuple[int, int]], with_constants: bool) -> Roots:
        result = list(roots)
        for m, n in pairs:
            for a, b in ((m, n), (n, m)):
                if a not in owners or a == b:
                    continue
                old = result[owners[a]]
                extent = extents[owners[a]]
                if old < 0:
                    continue
                if b in owners and extents[owners[b]] == extent:
                    new = result[owners[b]]
                elif with_constants and (extent == 1 or (b not in owners and b == extent)):
                    new = -1 - extent  # one row for all, or as many as a constant has
                else:
                    continue
                result = [new if root == old else root for root in result]
        return tuple(result)

    found = [united(aligned, False), *[united([pair], False) for pair in anywhere], united(anywhere, False)]
    found += [united(aligned, True), *[united([pair], True) for pair in anywhere], united(anywhere, True)]
    yield from dict.fromkeys([each for each in found if each != roots])


def _whole_numbers(aval: Aval) -> tuple[int, ...] | None:
    """The value of a vector that may say a shape."""
    if aval.value is None or aval.shape is None or len(aval.shape) != 1 or not aval.dtype.is_integer:
        return None
    return tuple([int(n) for n in aval.value])


def _numbers(graph: Graph) -> set[int]:
    return {n for node in graph.nodes for v in node.outputs for n in v.aval.shape or () if n is not None}
