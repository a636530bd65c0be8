"""Innermost loops cut where conditions on their variable change: what is left in each range has no branch.

Rule: the same elements, each computed as it would be in one loop; bounds may have any values at run time.

    for i < s: y[i] = x[i + n - s]                 instead of    for i: y[i] = x[i + n - s] if i < s else x[i - s]
    for i >= s: y[i] = x[i - s]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from itertools import accumulate
from operator import add, mod, mul, sub
from typing import TYPE_CHECKING, NamedTuple

from fastgraph.compiler.cpu import check_hoisting as checks
from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore
from fastgraph.compiler.nest.scalar_ir import Scalar, walk

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.emit import Block, Emitter

#: Terms that all ranges may have together: more take too long to compile.
MOST_TERMS = 800
#: Bounds, each with the conditions on a loop's variable that change there, and with whether they hold below it.
Bounds = list[tuple[Scalar, list[tuple[Scalar, bool]]]]


class Cuts(NamedTuple):
    """The cuts of a loop: bounds in their order, and whether there is a range for each, or a middle and two edges."""

    bounds: Bounds
    each: bool


def find(nest: FlatNest) -> Cuts | None:
    """Return where to cut the nest's innermost loop; None where that does not pay."""
    if not nest.dims or any(store.variables for store in nest.stores):
        return None
    v = nest.dims[-1]
    terms = walk([t for s in nest.stores for t in (s.scalar, s.position)])
    if len(v.args) > 1 or any(t.op == "reduce" for t in terms):
        return None
    found: dict[Scalar, list[tuple[Scalar, bool]]] = {}
    guards = set(walk([t.args[0] for t in terms if t.is_guard]))
    for term in terms:
        bound = _bound(term, v)
        # Rows that end elsewhere each, as triangles have, are cut where else there would be a branch.
        if bound is not None and (term in guards or not bound.free):
            found.setdefault(bound, []).append((term, term.op in ("lt", "le")))
    bounds = sorted(found.items(), key=lambda cut: _guess(cut[0]) or 0)
    each = _are_ordered(bounds) and (len(bounds) + 1) * len(terms) <= MOST_TERMS
    return Cuts(bounds, each) if bounds and (each or 3 * len(terms) <= MOST_TERMS) else None


def _bound(term: Scalar, v: Scalar) -> Scalar | None:
    """The value of the variable from which on a condition is another one than below it, if it is of that kind."""
    if term.op not in ("lt", "le", "gt", "ge") or v not in term.args[0].free or term.args[0].dtype != "int64":
        return None
    x, bound = term.args
    while x is not v:
        if x.op not in ("add", "sub") or sum(v in a.free for a in x.args) != 1 or v in x.args[-1].free:
            return None
        bound = bound - x.args[1] if x.op == "add" else bound + x.args[1]
        x = x.args[0]
    if term.op in ("le", "gt"):
        bound = bound + 1
    return None if _guess(bound) is None else bound


#: Operations that bounds may be computed by.
_GUESSED: Mapping[str, Callable[..., int]] = {"add": add, "sub": sub, "mul": mul, "floormod": mod}


def _guess(x: Scalar) -> int | None:
    """A run-time number as the witnesses say it; None if it is not made of sizes and variables of outer loops."""
    if x.witness is not None:
        return x.witness
    if x.op == "var":  # of a loop outside
        return (x.args[0].witness or 0) // 2
    args = [_guess(a) for a in x.args]
    if x.op not in _GUESSED or None in args or (x.op == "floormod" and not args[1]):
        return None
    return _GUESSED[x.op](*args)


def _are_ordered(bounds: Bounds) -> bool:
    """Return whether the order of the bounds is the same in every call."""
    terms = walk([bound for bound, _ in bounds])
    if len({_without_numbers(bound) for bound, _ in bounds}) == 1:
        return True
    return all(t.op in ("const", "param", "add", "sub", "mul") or t.is_known for t in terms)


def _without_numbers(bound: Scalar) -> Scalar:
    """A bound without the constants that are added to it."""
    while bound.op in ("add", "sub") and bound.args[1].op == "const":
        bound = bound.args[0]
    return bound


def _ranges(v: Scalar, cuts: Cuts) -> list[dict[Scalar, bool]]:
    """Return what is known of the conditions in each range: one range more than cuts, or three."""
    if cuts.each:
        return [
            {c: below == (k <= j) for j, (_, conditions) in enumerate(cuts.bounds) for c, below in conditions}
            for k in range(len(cuts.bounds) + 1)
        ]
    # Which bound comes first is not known, or they are many: the middle has those of the first half behind it.
    middle = {c: below == _is_late(v, bound) for bound, conditions in cuts.bounds for c, below in conditions}
    return [{}, middle, {}]


def _is_late(v: Scalar, bound: Scalar) -> bool:
    return 2 * (_guess(bound) or 0) > (v.args[0].witness or 0)


def emit(emitter: Emitter, outside: Block, cuts: Cuts) -> tuple[str, Block]:
    """Write the innermost shared loop range by range: the header of the last one, and its body."""
    nest, call = emitter.nest, emitter.call
    v = nest.dims[-1]
    name = emitter.variables[v]
    first, stop = ("begin", "end") if len(nest.dims) == 1 else ("0", emitter.size(v.args[0]))
    texts = [emitter.emit(bound, outside) for bound, _ in cuts.bounds]
    larger, lesser = partial(call, "max_int64"), partial(call, "min_int64")
    if cuts.each:
        ends = list(accumulate(texts, larger, initial=first))[1:]
    else:
        late = [_is_late(v, bound) for bound, _ in cuts.bounds]
        low = reduce(larger, [t for t, last in zip(texts, late, strict=True) if not last], first)
        ends = [low, larger(low, reduce(lesser, [t for t, last in zip(texts, late, strict=True) if last], stop))]
    places = [first, *[emitter.local() for _ in ends], stop]
    outside.lines += [f"{place} = {lesser(end, stop)}" for place, end in zip(places[1:], ends, strict=False)]
    for known, low, high in zip(_ranges(v, cuts), places, places[1:], strict=False):
        header, block = f"for {name} in range({low}, {high}):", emitter.block(outside, outside.variables | {v})
        stores = [_with(store, known) for store in nest.stores]
        made = set(emitter.checked)
        checks.emit(emitter, [t for s in stores for t in (s.scalar, s.position)], v, header, block)
        for store in stores:
            emitter.emit(store.scalar, block)
        for store in stores:
            emitter.emit_store(store, block)
        emitter.checked = made  # the next range makes its own
        if high != stop:
            outside.nest(header, block)
    return header, block


def _with(store: FlatStore, known: Mapping[Scalar, bool]) -> FlatStore:
    """A store with what is known of some conditions."""
    table = store.scalar.table
    memo = {condition: table.const(holds, "bool") for condition, holds in known.items()}

    def new(term: Scalar) -> Scalar:
        found = memo.get(term)
        if found is None:
            found = memo[term] = table.rebuilt(term, tuple([new(a) for a in term.args]))
        return found

    return FlatStore(store.key, store.dtype, new(store.position), (), new(store.scalar))
