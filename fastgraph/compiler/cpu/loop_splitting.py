"""Innermost loops cut where conditions on their variable change: what is left in each range has no branch.

Rule: the same elements, each computed as it would be in one loop; bounds may have any values at run time.

    for i < s: y[i] = x[i + n - s]                 instead of    for i: y[i] = x[i + n - s] if i < s else x[i - s]
    for i >= s: y[i] = x[i - s]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from fastgraph.compiler.cpu import check_hoisting as checks
from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore
from fastgraph.compiler.nest.scalar_ir import Scalar, walk

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.emit import Block, Emitter

#: Terms that all ranges may have together: more take too long to compile.
MOST_TERMS = 800
#: The conditions on a loop's variable, with whether they hold below their bound; in the order of the bounds.
Cuts = list[tuple[Scalar, list[tuple[Scalar, bool]]]]


def find(nest: FlatNest) -> Cuts:
    """Return where to cut the nest's innermost loop; nothing where that does not pay."""
    if not nest.dims or any(store.variables for store in nest.stores):
        return []
    v = nest.dims[-1]
    terms = walk([t for s in nest.stores for t in (s.scalar, s.position)])
    if len(v.args) > 1 or any(t.op == "reduce" for t in terms):
        return []
    found: dict[Scalar, list[tuple[Scalar, bool]]] = {}
    for term in terms:
        bound = _bound(term, v)
        if bound is not None:
            found.setdefault(bound, []).append((term, term.op in ("lt", "le")))
    n = len(_ranges(v, list(found.items()))) if found else 0
    return sorted(found.items(), key=lambda cut: _guess(cut[0]) or 0) if n * len(terms) <= MOST_TERMS else []


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
    if bound.free or _guess(bound) is None:
        return None
    return bound


def _guess(x: Scalar) -> int | None:
    """A run-time number as the witnesses say it; None if it is not made of sizes alone."""
    if x.witness is not None:
        return x.witness
    args = [_guess(a) for a in x.args]
    if x.op != "floormod" or None in args or not args[1]:
        return None
    return args[0] % args[1]  # type: ignore[operator]


def _are_ordered(cuts: Cuts) -> bool:
    """Return whether the order of the bounds is the same in every call."""
    terms = walk([bound for bound, _ in cuts])
    return len(cuts) == 1 or all(t.op in ("const", "param", "add", "sub", "mul") or t.is_known for t in terms)


def _ranges(v: Scalar, cuts: Cuts) -> list[dict[Scalar, bool]]:
    """Return what is known of the conditions in each range: one range more than cuts, or three."""
    if _are_ordered(cuts):
        return [
            {c: below == (k <= j) for j, (_, conditions) in enumerate(cuts) for c, below in conditions}
            for k in range(len(cuts) + 1)
        ]
    # Which bound comes first is not known: the middle has those of the first half behind it.
    middle = {c: below == _is_late(v, bound) for bound, conditions in cuts for c, below in conditions}
    return [{}, middle, {}]


def _is_late(v: Scalar, bound: Scalar) -> bool:
    return 2 * (_guess(bound) or 0) > (v.args[0].witness or 0)


def emit(emitter: Emitter, outside: Block, cuts: Cuts) -> tuple[str, Block]:
    """Write the innermost shared loop range by range: the header of the last one, and its body."""
    nest, call = emitter.nest, emitter.call
    v = nest.dims[-1]
    name = emitter.variables[v]
    first, stop = ("begin", "end") if len(nest.dims) == 1 else ("0", emitter.size(v.args[0]))
    texts = [emitter.emit(bound, outside) for bound, _ in cuts]
    larger, lesser = partial(call, "max_int64"), partial(call, "min_int64")
    if _are_ordered(cuts):
        ends = list(accumulate(texts, larger, initial=first))[1:]
    else:
        late = [_is_late(v, bound) for bound, _ in cuts]
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
