"""einsum: any equation as transposes, products of matrices and sums, pair by pair in the cheapest order.

Rule: written in other ops, so its gradient, kernels and unknown sizes are theirs. Each pair of operands becomes one
batched matmul: [batch, rows, summed] @ [batch, summed, columns].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import Any

from fastgraph.core.op_errors import misfit
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import alike
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import identity, multiply
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.matmul import extents_of, matmul_p, product_of
from fastgraph.ops.movement import reshape, squeeze_p, transpose_p
from fastgraph.ops.reduction import sum_p
from fastgraph.ops.runtime_checks import with_extents

#: The number for an extent that is not known yet in the cost of an order.
UNKNOWN = 64
#: Up to so many operands the cheapest order is found; of more, the cheapest next pair is taken.
EXHAUSTIVE = 6

_SIDE = re.compile(r"[a-zA-Z]*(\.\.\.[a-zA-Z]*)?")
Labels = tuple[str, ...]


class _Term:
    """An operand on its way: a tensor and the label of each of its axes."""

    def __init__(self, tensor: Tensor, labels: Labels) -> None:
        self.tensor = tensor
        self.labels = labels

    def extent(self, label: str) -> int | None:
        """The extent of the axis of this label, where it is known."""
        return self.tensor.shape[self.labels.index(label)]

    def ordered(self, labels: Labels) -> Any:
        """The tensor with its axes in the order of `labels`."""
        perm = tuple(self.labels.index(label) for label in labels)
        return self.tensor if perm == tuple(range(len(perm))) else transpose_p(self.tensor, perm=perm)

    def without(self, labels: Sequence[str]) -> _Term:
        """The sum over these labels."""
        axes = tuple(self.labels.index(label) for label in labels)
        if not axes:
            return self
        kept = tuple(label for label in self.labels if label not in labels)
        return _Term(sum_p(self.tensor, axes=axes, keepdims=False), kept)


# ---- the equation ---------------------------------------------------------------------------------------------------


def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[Labels], Labels]:
    """The labels of each operand's axes and of the result's; axes of an ellipsis are "0", "1", ... from the right."""
    text = equation.replace(" ", "")
    sides = text.split("->")
    inputs = sides[0].split(",")
    if len(sides) > 2 or any(not _SIDE.fullmatch(part) for part in (*inputs, *sides[1:])):
        raise ValueError(f"Subscripts have incorrect format: {equation}")
    if len(inputs) != len(ranks):
        raise ValueError(f'Got {len(ranks)} inputs for equation "{equation}", expecting {len(inputs)}')
    operands = []
    widest = 0
    for i, (part, rank) in enumerate(zip(inputs, ranks, strict=True)):
        named = len(part.replace("...", ""))
        spare = rank - named
        if spare < 0 or (spare and "..." not in part):
            most = "at least " if "..." in part else ""
            if current_trace() is not None:
                raise ValueError(f"Shape must be {most}rank {named} but is rank {rank} for {i}th input of einsum")
            raise _invalid(f"Expected input {i} to have rank {most}{named} but got: {rank}")
        widest = max(widest, spare)
        head, _, tail = part.partition("...")
        operands.append((*head, *_ellipsis(spare), *tail) if "..." in part else tuple(part))
    if widest and (len(sides) == 1 or "..." not in sides[1]):
        raise _invalid(
            f"Output contains {widest} broadcasting dimension(s) but no ellipsis (...) was found in the output "
            "subscripts."
        )
    if len(sides) == 2:
        head, _, tail = sides[1].partition("...")
        result: Labels = (*head, *_ellipsis(widest), *tail) if "..." in sides[1] else tuple(sides[1])
    else:
        result = tuple([c for c in sorted(set(sides[0]) - set(",.")) if sides[0].count(c) == 1])
    if len(set(result)) != len(result):
        raise ValueError(f"Output subscripts contain a label appearing more than once: {equation}")
    for label in result:
        if not label.isdigit() and not any(label in part for part in operands):
            raise ValueError(f"Output subscripts contain the label {label} not present in the input subscripts.")
    return operands, result


_parsed = lru_cache(maxsize=256)(_parse)


def _ellipsis(n: int) -> Labels:
    return tuple(str(i) for i in reversed(range(n)))


def _invalid(text: str) -> InvalidArgumentError:
    return invalid(text, "Einsum")


def _of_one_extent(terms: Sequence[_Term]) -> list[_Term]:
    """The operands, whose axes of one label are shown to agree where that is known only when this runs.

    Products broadcast a 1, and sums over several labels ask for their product alone: neither would notice.
    """
    wanted: dict[str, Any] = {}
    for term in terms:
        for label, n in zip(term.labels, term.tensor.shape.as_list(), strict=True):
            if n is not None and not label.isdigit():
                wanted[label] = n
    found = []
    for term in terms:
        axes: dict[int, Any] = {}
        for axis, label in enumerate(term.labels):
            if term.tensor.shape[axis] is None and not label.isdigit():
                if label in wanted:
                    axes[axis] = wanted[label]
                else:
                    wanted[label] = extents_of(term.tensor)[axis]
        found.append(_Term(with_extents(term.tensor, axes), term.labels))
    return found


def _check_extents(terms: Sequence[_Term]) -> None:
    """InvalidArgumentError where axes of one label differ; those of an ellipsis may also be 1."""
    seen: dict[str, int] = {}
    for term in terms:
        for axis, (label, n) in enumerate(zip(term.labels, term.tensor.shape.as_list(), strict=True)):
            if n is None or (label.isdigit() and n == 1):
                continue
            if seen.setdefault(label, n) != n:
                if current_trace() is not None:
                    what = f"Dimensions must be equal, but are {seen[label]} and {n}"
                    raise misfit(what, "Einsum", *(each.tensor.shape for each in terms))
                raise _invalid(
                    f"Expected dimension {seen[label]} at axis {axis} of the input shaped "
                    f"{shape_text(term.tensor.shape.as_list())} but got dimension {n}"
                )


# ---- one operand ----------------------------------------------------------------------------------------------------


def _diagonal(term: _Term) -> _Term:
    """The operand with each label once: of axes that share one, the diagonal."""
    while len(set(term.labels)) < len(term.labels):
        label = next(c for c in term.labels if term.labels.count(c) > 1)
        pair = [i for i, c in enumerate(term.labels) if c == label][:2]
        rest = [i for i in range(len(term.labels)) if i not in pair]
        moved = transpose_p(term.tensor, perm=(*rest, *pair))
        extents = extents_of(moved)
        n = extents[-1]
        # The elements of a diagonal are n + 1 apart in the flat square.
        flat = reshape(moved, [*extents[:-2], product_of(extents[-2:])])
        term = _Term(flat[(..., slice(None, None, n + 1))], (*[term.labels[i] for i in rest], label))
    return term


def _squeezed(term: _Term, others: Sequence[_Term]) -> _Term:
    """The term without the ellipsis axes of extent 1 that another operand has wider: products broadcast them anyway."""
    gone = [
        label
        for label in term.labels
        if label.isdigit()
        and term.extent(label) == 1
        and any(label in o.labels and o.extent(label) != 1 for o in others)
    ]
    if not gone:
        return term
    axes = tuple(term.labels.index(label) for label in gone)
    return _Term(squeeze_p(term.tensor, axes=axes), tuple(c for c in term.labels if c not in gone))


# ---- two operands ---------------------------------------------------------------------------------------------------


def _pair(a: _Term, b: _Term, kept: set[str]) -> _Term:
    """The product of two operands, summed over the labels that nothing else asks for."""
    a = a.without([c for c in a.labels if c not in kept and c not in b.labels])
    b = b.without([c for c in b.labels if c not in kept and c not in a.labels])
    shared = [c for c in a.labels if c in b.labels]
    batch = tuple(c for c in shared if c in kept)
    summed = tuple(c for c in shared if c not in kept)
    rows = tuple(c for c in a.labels if c not in b.labels)
    columns = tuple(c for c in b.labels if c not in a.labels)
    if not summed:
        return _spread(a, b, (*batch, *rows, *columns))
    left, transpose_a = _matrices(a, batch, rows, summed)
    right, transpose_b = _matrices(b, batch, summed, columns)
    product = matmul_p(left, right, transpose_a=transpose_a, transpose_b=transpose_b)
    labels = (*batch, *rows, *columns)
    if len(rows) == len(columns) == 1:
        return _Term(product, labels)
    # Of the product, since either operand's axis of an ellipsis may turn out to be a 1.
    extents = list(extents_of(product)[: len(batch)])
    extents += [_extent(a if c in a.labels else b, c) for c in (*rows, *columns)]
    return _Term(reshape(product, extents), labels)


def _extent(term: _Term, label: str) -> Any:
    return extents_of(term.tensor)[term.labels.index(label)]


def _spread(a: _Term, b: _Term, labels: Labels) -> _Term:
    """The product of two operands over which nothing is summed: element by element, broadcasting."""

    def aligned(term: _Term) -> Any:
        own = tuple(c for c in labels if c in term.labels)
        moved = term.ordered(own)
        if len(own) == len(labels) or labels[len(labels) - len(own) :] == own:
            return moved
        extents = iter(extents_of(moved))
        return reshape(moved, [next(extents) if c in own else 1 for c in labels])

    return _Term(multiply(aligned(a), aligned(b)), labels)


def _matrices(term: _Term, batch: Labels, rows: Labels, columns: Labels) -> tuple[Any, bool]:
    """The operand as [*batch, rows, columns], and whether the last two are the other way round."""
    # Where the operand has its columns first, the product reads it transposed: nothing is moved.
    swapped = term.labels == (*batch, *columns, *rows)
    first, second = (columns, rows) if swapped else (rows, columns)
    moved = term.ordered((*batch, *first, *second))
    if len(first) == len(second) == 1:
        return moved, swapped
    extents = extents_of(moved)
    middle = len(batch) + len(first)
    shape = [*extents[: len(batch)], product_of(extents[len(batch) : middle]), product_of(extents[middle:])]
    return reshape(moved, shape), swapped


# ---- the order ------------------------------------------------------------------------------------------------------


def _plan(operands: tuple[Labels, ...], result: Labels, sizes: tuple[tuple[str, int], ...]) -> list[tuple[int, int]]:
    """Return pairs of operands in the order in which they are multiplied, by position; products go to the end."""
    size = dict(sizes)

    def volume(labels: set[str]) -> float:
        total = 1.0
        for c in labels:
            total *= size[c]
        return total

    def left(sets: Sequence[frozenset[str]], i: int, j: int) -> frozenset[str]:
        others = set(result).union(*[s for k, s in enumerate(sets) if k not in (i, j)])
        return frozenset((sets[i] | sets[j]) & others)

    def step(sets: tuple[frozenset[str], ...], i: int, j: int) -> tuple[frozenset[str], ...]:
        return (*[s for k, s in enumerate(sets) if k not in (i, j)], left(sets, i, j))

    def price(sets: tuple[frozenset[str], ...], i: int, j: int) -> float:
        return volume(set(sets[i] | sets[j])) + volume(set(left(sets, i, j)))

    @cache
    def best(sets: tuple[frozenset[str], ...]) -> tuple[float, tuple[tuple[int, int], ...]]:
        if len(sets) == 1:
            return 0.0, ()
        found: tuple[float, tuple[tuple[int, int], ...]] | None = None
        for i, j in combinations(range(len(sets)), 2):
            rest, order = best(step(sets, i, j))
            total = price(sets, i, j) + rest
            if found is None or total < found[0]:
                found = total, ((i, j), *order)
        assert found is not None
        return found

    sets = tuple(frozenset(labels) for labels in operands)
    order: list[tuple[int, int]] = []
    while len(sets) > EXHAUSTIVE:
        i, j = min(combinations(range(len(sets)), 2), key=lambda pair: price(sets, *pair))
        order.append((i, j))
        sets = step(sets, i, j)
    return [*order, *best(sets)[1]]


_planned = lru_cache(maxsize=256)(_plan)


@public("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """The sum of products that `equation` says, "ij,jk->ik": labels not in the result are summed over.

    Without "->" the result has the labels that stand once, sorted. "..." stands for any axes, which broadcast; a label
    twice in one operand takes its diagonal. t[*a], t[*b], ... -> t[*c].

    Raises: ValueError for an equation that is none; InvalidArgumentError for extents that do not fit.
    Source: tf.einsum.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)  # the order is the cheapest by any name
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for this function: {', '.join(sorted(kwargs))}. Expected: name.")
    given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    tensors = alike(given)
    if any(t.shape.rank is None for t in tensors):
        made = late(lambda *operands: einsum(equation, *operands), tensors, tensors[0].dtype, name=name)
        labels = equation.rpartition("->")[2].strip() if isinstance(equation, str) and "->" in equation else "..."
        if "..." not in labels:
            made.set_shape([None] * len(labels))
        return made
    if not isinstance(equation, str):
        raise TypeError(f"An equation must be a string, not {equation!r}")
    operands, result = _parsed(equation, tuple(t.shape.rank for t in tensors))
    terms = [_Term(t, labels) for t, labels in zip(tensors, operands, strict=True)]
    _check_extents(terms)
    terms = _of_one_extent(terms)
    terms = [_diagonal(term) for term in terms]
    terms = [_squeezed(term, terms) for term in terms]
    if len(terms) > 1:
        known: dict[str, int] = {}
        for term in terms:
            for label in term.labels:
                known[label] = max(known.get(label, 0), term.extent(label) or UNKNOWN)
        for i, j in _planned(tuple(t.labels for t in terms), result, tuple(sorted(known.items()))):
            a, b = terms[i], terms[j]
            terms = [t for k, t in enumerate(terms) if k not in (i, j)]
            terms.append(_pair(a, b, set(result).union(*[t.labels for t in terms])))
    last = terms[0].without([c for c in terms[0].labels if c not in result])
    moved = last.ordered(tuple(c for c in result if c in last.labels))
    return moved if name is None and moved is not tensors[0] else identity(moved, name=name)
