"""Nests without shared loops, cut so that threads share the work: long reductions give a partial result per chunk.

Rule: the number of chunks is fixed and their length follows from the extents, so the order of every sum depends on
shapes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore
from fastgraph.compiler.nest.loop_nest import stages
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, walk

#: Into how many chunks a long loop is cut, and the least number of elements in one.
CHUNKS = 64
LEAST = 2048
#: Elements from which on a loop counts as long. No more than a witness: an unknown extent may always be long.
LONG = 10_000
#: Values that one kernel writes at most, where it only moves elements: what compiles it looks at all pairs of them.
MOST_MOVED = 32
COMBINED = frozenset({"sum", "prod", "max", "min", "any", "all"})


def split(nest: FlatNest, scratch: Callable[[str, int], object]) -> list[FlatNest]:
    """The nests that compute `nest` one after another; `scratch(dtype, n)` names a new value of n elements."""
    if nest.dims or nest.in_place:
        return [nest]
    table = nest.stores[0].scalar.table
    stores = nest.stores
    done: list[FlatNest] = []
    while True:
        key = _first_long_reduction(stores)
        if key is None:
            break
        part, stores = _chunked(table, stores, *key, scratch)
        done.append(part)
    long = [s for s in stores if _is_long(s.variables, s.scalar)]
    groups: dict[Index, list[FlatStore]] = {}
    for store in long:
        groups.setdefault(store.variables, []).append(store)
    for variables, members in groups.items():
        # The loops of the stores become the shared loops of a kernel of their own.
        alone = _together(variables, [FlatStore(s.key, s.dtype, s.position, (), s.scalar) for s in members])
        done.append(FlatNest(variables, alone, stages(variables, alone), {}))
    rest = [s for s in stores if not _is_long(s.variables, s.scalar)]
    if rest:
        done.append(FlatNest((), rest, stages((), rest), {}))
    return done


def _together(dims: Index, stores: list[FlatStore]) -> list[FlatStore]:
    """The stores with loops of reductions joined: what several of them compute alike is then computed once."""
    table, level = dims[0].table, {v: k for k, v in enumerate(dims)}
    for stage in range(1, 1 + max(stages(dims, stores).values())):
        first: dict[tuple[object, ...], Index] = {}
        memo: dict[Scalar, Scalar] = {}
        for term, when in stages(dims, stores).items():
            if when != stage or not isinstance(term, Scalar):
                continue
            kind, n = term.attr
            key = (max((level[v] for v in term.free), default=-1), *[v.args for v in term.args[:n]])
            other = first.setdefault(key, term.args[:n])
            body = table.substitute(term.args[n], dict(zip(term.args[:n], other, strict=True)))
            memo[term] = table.reduce(kind, other, body)
        scalars = [table.replaced(s.scalar, memo) for s in stores]
        stores = [
            FlatStore(s.key, s.dtype, s.position, s.variables, scalar)
            for s, scalar in zip(stores, scalars, strict=True)
        ]
    return stores


def few_at_a_time(nest: FlatNest) -> list[FlatNest]:
    """The nests that write what one writes which moves elements to very many values: they are alike, most of them."""
    stores = nest.stores
    if len(stores) <= MOST_MOVED or nest.in_place or any(s.scalar.op not in ("read", "const", "cast") for s in stores):
        return [nest]
    if any(t.op == "read" and t.attr in {s.key for s in stores} for t in walk([s.scalar for s in stores])):
        return [nest]
    by_value: dict[object, list[FlatStore]] = {}
    for store in stores:
        by_value.setdefault(store.key, []).append(store)
    parts: list[list[FlatStore]] = [[]]
    for members in by_value.values():  # a value is written by one kernel: who takes it waits for no other
        if parts[-1] and len(parts[-1]) + len(members) > MOST_MOVED:
            parts.append([])
        parts[-1] += members
    return [FlatNest(nest.dims, part, stages(nest.dims, part), {}) for part in parts]


def _is_long(variables: Sequence[Scalar], body: Scalar) -> bool:
    """Return whether a loop is worth several threads: by its own extents and those of the longest loop inside it."""
    if not variables:
        return False
    return _count(variables) * _inner(variables, body) >= LONG


def _inner(variables: Sequence[Scalar], body: Scalar) -> int:
    """The length of the longest reduction that runs anew in each iteration."""
    own = frozenset(variables)
    nested = [t for t in walk([body]) if t.op == "reduce" and t.free & own]
    return max([_count(t.args[: t.attr[1]]) * _inner(t.args[: t.attr[1]], t.args[-1]) for t in nested], default=1)


def _count(variables: Sequence[Scalar]) -> int:
    return math.prod([v.args[0].witness or 0 for v in variables])


def _parts(stores: Sequence[FlatStore]) -> set[Scalar]:
    """The reductions that may be computed chunk by chunk: always wanted, and combined from partial results."""
    guarded: set[Scalar] = set()  # what a branch not taken must not compute
    terms = walk([s.scalar for s in stores])
    for term in terms:
        if term.is_guard:
            guarded.update(walk(term.args[1:]))
        elif term.op == "check":
            guarded.update(walk([term.args[1]]))
    return {t for t in terms if t.op == "reduce" and not t.free and t.attr[0] in COMBINED and t not in guarded}


def _first_long_reduction(stores: Sequence[FlatStore]) -> tuple[Index, int] | None:
    """The variables and the stage of the first long loop with a reduction in it."""
    parts = _parts(stores)
    found = [
        (stage, item.args[: item.attr[1]])
        for item, stage in stages((), stores).items()
        if item in parts and _is_long(item.args[: item.attr[1]], item.args[-1])
    ]
    if not found:
        return None
    stage = min(n for n, _ in found)
    return next(variables for n, variables in found if n == stage), stage


def _chunked(
    table: Table, stores: list[FlatStore], variables: Index, stage: int, scratch: Callable[[str, int], object]
) -> tuple[FlatNest, list[FlatStore]]:
    """The nest that runs one long loop chunk by chunk, and what is left to do with its partial results."""
    chunk = table.var(table.const(CHUNKS, "int64"))
    first, extent = variables[0], variables[0].args[0]
    bodies = [t.args[-1] for t in stages((), stores) if isinstance(t, Scalar) and t.args[:-1] == variables]
    plain = len(variables) == 1 and not any(t.op == "reduce" for t in walk(bodies))
    least = table.const(LEAST if plain else 1, "int64")
    length = table.op("max", (extent + (CHUNKS - 1)) // CHUNKS, least)
    low = chunk * length
    high = table.op("min", low + length, extent)
    part = table.make("var", "int64", (extent, low, high), first.attr)
    inside = {first: part}
    when = stages((), stores)
    made: list[FlatStore] = []
    combined: dict[Scalar, Scalar] = {}
    parts = _parts(stores)
    for term in [t for t in when if t in parts]:
        kind, n = term.attr
        if term.args[:n] != variables or when[term] != stage:
            continue
        body = table.substitute(term.args[n], inside)
        key = scratch(body.dtype, CHUNKS)
        made.append(FlatStore(key, body.dtype, chunk, (), table.reduce(kind, (part, *variables[1:]), body)))
        other = table.var(table.const(CHUNKS, "int64"))
        read = table.make("read", body.dtype, (other,), key)
        combined[term] = table.reduce(kind, (other,), read)
    left: list[FlatStore] = []
    for i, store in enumerate(stores):
        if store.variables == variables and when[i] == stage:
            made.append(
                FlatStore(
                    store.key,
                    store.dtype,
                    table.substitute(store.position, inside),
                    (part, *variables[1:]),
                    table.substitute(store.scalar, inside),
                )
            )
        else:
            scalar = table.replaced(store.scalar, combined)
            left.append(FlatStore(store.key, store.dtype, store.position, store.variables, scalar))
    return FlatNest((chunk,), made, stages((chunk,), made), {}), left
