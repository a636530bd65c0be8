"""Rows that stay in the cache: what several loops over a row compute is computed once and read back by the later ones.

Rule: nothing but speed changes: a value is read where it was written, by the same kernel, for the same row.

    for row:                                        instead of    for row:
        for j: out[j] = e = exp(x[j] - top); total += e               for j: total += exp(x[j] - top)
        for j: out[j] = out[j] / total                                for j: out[j] = exp(x[j] - top) / total

What a later loop overwrites serves as the place to keep it, so no memory is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from fastgraph.compiler.nest.cost_model import LOAD, weight
from fastgraph.compiler.nest.loop_nest import LoopNest, Store, stages
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, walk

#: Nanoseconds from which on it pays to write an element and read it back (both from the nearest cache).
WORTH = 0.3
#: Values kept in one nest at most: looking for more takes time and finds little.
MOST = 4


def reuse(nest: LoopNest) -> LoopNest:
    """The nest with what its loops over a row have in common kept in memory. Its loops must be joined."""
    if not nest.dims or not any(s.variables for s in nest.stores):  # one loop has nothing to keep for another
        return nest
    stores = _read_back(nest)
    for _ in range(MOST):
        found = _once(nest, stores)
        if found is None:
            break
        stores = found
    return nest if stores is nest.stores else LoopNest(nest.dims, stores, nest.shapes, nest.in_place)


def _read_back(nest: LoopNest) -> list[Store]:
    """The stores, with what one of them writes read back by the loops that come later."""
    stores = nest.stores
    for number, store in enumerate(stores):
        if not store.variables or store.scalar.risky or _price(store.scalar, store.variables, True) <= LOAD:
            continue
        when = stages(nest.dims, stores)
        replaced = _reads(store, store.scalar, store.variables, _loops(stores, when, when[number]))
        if replaced:
            stores = _rewritten(stores, when, when[number], replaced)
    return stores


def _loops(stores: Sequence[Store], when: Mapping[Scalar | int, int], first: int, end: float = math.inf) -> list[Index]:
    """The variables of the loops after stage `first`, up to stage `end`."""
    loops = [t.args[: t.attr[1]] for t in when if isinstance(t, Scalar) and first < when[t] <= end]
    return list(dict.fromkeys([*loops, *[s.variables for i, s in enumerate(stores) if first < when[i] <= end]]))


def _reads(store: Store, term: Scalar, variables: Index, loops: Sequence[Index]) -> dict[Scalar, Scalar]:
    """Return `term` as it stands in each of the loops, and the element of the store's value to read instead."""
    table = term.table
    found: dict[Scalar, Scalar] = {}
    for other in loops:
        if other != variables and _alike(variables, other):
            mapping = dict(zip(variables, other, strict=True))
            at = tuple([table.substitute(i, dict(zip(store.variables, other, strict=True))) for i in store.index])
            found[table.substitute(term, mapping)] = table.load(store.key, store.dtype, at, store.shape)
    return found


def _rewritten(
    stores: Sequence[Store], when: Mapping[Scalar | int, int], first: int, replaced: Mapping[Scalar, Scalar]
) -> list[Store]:
    """The stores after stage `first` with terms replaced."""
    memo, table = dict(replaced), stores[0].scalar.table
    return [
        Store(s.key, s.dtype, s.index, s.shape, s.variables, table.replaced(s.scalar, memo)) if when[i] > first else s
        for i, s in enumerate(stores)
    ]


def _once(nest: LoopNest, stores: list[Store]) -> list[Store] | None:
    """The stores with the most expensive common term kept; None where there is none worth it."""
    when = stages(nest.dims, stores)
    table = stores[0].scalar.table
    reductions = [t for t in when if isinstance(t, Scalar)]
    if not reductions:
        return None
    kept = {s.key for i, s in enumerate(stores) if any(s.key == o.key for o in stores[:i])}
    best: tuple[float, Scalar, Scalar, int] | None = None
    for number, store in enumerate(stores):
        if not store.variables or store.key in kept or store.scalar.risky:
            continue
        terms = set(walk([store.scalar]))
        for reduction in reductions:
            variables = reduction.args[: reduction.attr[1]]
            if when[reduction] >= when[number] or not _alike(variables, store.variables):
                continue
            mapping = dict(zip(variables, store.variables, strict=True))
            memo: dict[Scalar, Scalar] = {}
            for term in _candidates(reduction.args[-1], variables):
                price = _price(term, variables)
                if term.dtype != store.dtype or price < WORTH or (best is not None and price <= best[0]):
                    continue
                if table.substitute(term, mapping, memo) in terms:
                    best = price, term, reduction, number
    if best is None:
        return None
    _, term, reduction, number = best
    return _kept(table, stores, when, term, reduction, number)


def _alike(a: Index, b: Index) -> bool:
    return len(a) == len(b) and all(m.args[0].witness == n.args[0].witness for m, n in zip(a, b, strict=True))


def _candidates(body: Scalar, variables: Index) -> Iterator[Scalar]:
    """The terms of a reduction's body that are computed anew for each element, none that might fail."""
    own = frozenset(variables)
    for term in walk([body]):
        if own <= term.free and not term.risky and term.op not in ("load", "var", "const", "reduce"):
            yield term


def _price(term: Scalar, variables: Index, loads: bool = False) -> float:
    """The cost of one element of a term, what it takes from memory included or not."""
    own = frozenset(variables)
    return sum([weight(t) for t in walk([term]) if t.free & own and (loads or t.op != "load")])


def _kept(
    table: Table,
    stores: Sequence[Store],
    when: Mapping[Scalar | int, int],
    term: Scalar,
    reduction: Scalar,
    number: int,
) -> list[Store]:
    """The stores, with `term` written where store `number` writes later, and read back in the loops between."""
    variables = reduction.args[: reduction.attr[1]]
    last, first = stores[number], when[reduction]
    to_first = dict(zip(last.variables, variables, strict=True))
    index = tuple([table.substitute(i, to_first) for i in last.index])
    keep = Store(last.key, last.dtype, index, last.shape, variables, term)
    # Loops that come later than the store which overwrites it compute it anew.
    replaced = _reads(keep, term, variables, _loops(stores, when, first, when[number]))
    done = _rewritten(stores, when, first, replaced)
    # Before all that reads it, after what it reads itself.
    place = next(i for i in range(len(stores)) if when[i] > first)
    return [*done[:place], keep, *done[place:]]
