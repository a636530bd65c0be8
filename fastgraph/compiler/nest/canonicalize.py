"""Loop nests made canonical for an emitter: loops over equal extents joined, contiguous axes collapsed, indices flat.

Rule: what comes out depends on the nest's structure alone, so that equal computations give equal kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fastgraph.compiler.nest.index_division import divide
from fastgraph.compiler.nest.loop_nest import LoopNest, Store, stages
from fastgraph.compiler.nest.loop_unrolling import located, unrolled
from fastgraph.compiler.nest.row_reuse import reuse
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, row_major, walk


@dataclass
class FlatStore:
    """`scalar` written to element `position` of the value `key`, for all values of `variables`."""

    key: object
    dtype: str
    position: Scalar
    variables: Index
    scalar: Scalar


@dataclass
class FlatNest:
    """Loops `dims` round stores; "read" scalars (attr: key; args: flat position) take the place of loads.

    `stage` of a reduction at the level of the shared loops, or of a store with loops of its own (by its position in
    `stores`), tells which of them may run in one loop: those of equal variables and equal stage.
    """

    dims: Index
    stores: list[FlatStore]
    stage: dict[Scalar | int, int]
    in_place: dict[object, object]


def arrange(nest: LoopNest) -> FlatNest:
    """The nest with sibling loops joined, axes collapsed and every index flat."""
    table = nest.stores[0].scalar.table
    nest = joined(nest)
    flat, dims = _flatten(table, nest)
    return FlatNest(dims, flat, stages(dims, flat), nest.in_place)


def joined(nest: LoopNest) -> LoopNest:
    """Give reductions and stores that may share one loop the same variables, and equal extents one name.

    Short ones are written out (loop_unrolling.py). What several have in common is kept from one to the next
    (row_reuse.py).
    """
    nest = divide(nest)
    table = nest.stores[0].scalar.table
    stage = stages(nest.dims, nest.stores)
    level = {v: i + 1 for i, v in enumerate(nest.dims)}
    groups: dict[tuple[object, ...], Index] = {}
    chosen: dict[Scalar, Scalar] = {v: v for v in nest.dims}

    def join(home: object, when: int, variables: Index) -> None:
        key = (home, when, tuple([v.args[0].witness for v in variables]))
        chosen.update(zip(variables, groups.setdefault(key, variables), strict=True))

    terms = walk([s.scalar for s in nest.stores])
    for term in terms:
        if term.op == "reduce":
            # A reduction inside other loops than the shared ones keeps its variables to itself.
            home = max((level[v] for v in term.free), default=0) if term in stage else term
            join(home, stage.get(term, 0), term.args[: term.attr[1]])
    for i, store in enumerate(nest.stores):
        if store.variables:
            join(len(nest.dims), stage[i], store.variables)
    name = _equal_extents(nest, terms)
    memo: dict[Scalar, Scalar] = {}
    for v, other in chosen.items():
        memo[v] = table.make("var", "int64", (name(other.args[0]),), other.attr)

    def new(term: Scalar) -> Scalar:
        found = memo.get(term)
        if found is None:
            found = name(term) if term.op == "extent" else table.rebuilt(term, tuple([new(a) for a in term.args]))
            memo[term] = found
        return found

    def each(terms: Sequence[Scalar]) -> Index:
        return tuple([new(t) for t in terms])

    stores = [
        Store(s.key, s.dtype, each(s.index), each(s.shape), each(s.variables), new(s.scalar)) for s in nest.stores
    ]
    made = LoopNest(each(nest.dims), stores, {k: each(s) for k, s in nest.shapes.items()}, nest.in_place)
    return reuse(located(unrolled(made, _collapsed)))


def _equal_extents(nest: LoopNest, terms: Sequence[Scalar]) -> Callable[[Scalar], Scalar]:
    """One name for the extents of axes that the same loop runs over (not for those that happen to be as long)."""
    parent: dict[Scalar, Scalar] = {}

    def find(extent: Scalar) -> Scalar:
        while extent in parent:
            extent = parent[extent]
        return extent

    def look(index: Sequence[Scalar], shape: Sequence[Scalar]) -> None:
        for i, n in zip(index, shape, strict=True):
            if i.op == "var" and n.op == "extent" and i.args[0].op == "extent" and i.args[0].witness == n.witness:
                a, b = find(i.args[0]), find(n)
                if a is not b:
                    parent[b] = a

    for store in nest.stores:
        look(store.index, store.shape)
    for term in terms:
        if term.op == "load":
            look(term.args, nest.shapes[term.attr])
    return find


def _axes(index: Sequence[Scalar], shape: Sequence[Scalar]) -> list[tuple[Scalar, Scalar]]:
    """Indices with their extents, none of 1; what several loops run over together is as many axes."""
    found: list[tuple[Scalar, Scalar]] = []
    for i, n in zip(index, shape, strict=True):
        several = row_major(i) if i.op == "add" else ()
        if several and math.prod([v.args[0].witness or 0 for v in several]) == n.witness:
            found += [(v, v.args[0]) for v in several]
        elif not (n.op == "const" and n.attr == 1):
            found.append((i, n))
    return found


def _operations(nest: LoopNest) -> list[Scalar]:
    """Every term but the positions that are axes of their own."""
    taken: set[Scalar] = set()
    terms: dict[Scalar, None] = {}
    stack = [t for s in reversed(nest.stores) for t in (s.scalar, *_own(s.index, s.shape))]
    while stack:
        term = stack.pop()
        if term in taken:
            continue
        taken.add(term)
        terms[term] = None
        stack += _own(term.args, nest.shapes[term.attr]) if term.op == "load" else term.args
    return list(terms)


def _own(index: Sequence[Scalar], shape: Sequence[Scalar]) -> list[Scalar]:
    return [i for i, _ in _axes(index, shape)]


def _collapsed(nest: LoopNest) -> list[Index]:
    """Runs of variables that every index uses together as one contiguous run of axes."""
    stores = nest.stores
    chains: dict[Index, None] = {nest.dims: None}
    chains.update((s.variables, None) for s in stores)
    terms = _operations(nest)
    chains.update((t.args[: t.attr[1]], None) for t in terms if t.op == "reduce")
    after = {a: b for chain in chains for a, b in pairwise(chain)}
    before = {b: a for a, b in after.items()}
    bad: set[Scalar] = set()  # variables that cannot be joined to the next one

    def separate(v: Scalar) -> None:
        bad.add(v)
        if v in before:
            bad.add(before[v])

    def look(index: Sequence[Scalar], shape: Sequence[Scalar]) -> None:
        axes = _axes(index, shape)
        for p, (i, _) in enumerate(axes):
            if i.op != "var":
                continue
            follower = after.get(i)
            if follower is not None and (
                p + 1 == len(axes)
                or axes[p + 1][0] is not follower
                or axes[p + 1][1].witness != follower.args[0].witness
            ):
                bad.add(i)
            if i in before and (p == 0 or axes[p - 1][0] is not before[i]):
                bad.add(before[i])

    for store in stores:
        look(store.index, store.shape)
    for term in terms:
        if term.op == "load":
            look(term.args, nest.shapes[term.attr])
        elif term.op not in ("reduce", "var"):
            for a in term.args:
                if a.op == "var":
                    separate(a)
        elif term.op == "reduce" and term.args[-1].op == "var":
            separate(term.args[-1])
    for store in stores:
        if store.scalar.op == "var":
            separate(store.scalar)
    runs: list[Index] = []
    for chain in chains:
        run: list[Scalar] = []
        for v in chain:
            run.append(v)
            if v in bad or v not in after:
                runs.append(tuple(run))
                run = []
    return runs


def _flatten(table: Table, nest: LoopNest) -> tuple[list[FlatStore], Index]:
    joined: dict[Scalar, tuple[Scalar, int]] = {}  # first variable of a run -> its variable, its length
    for run in _collapsed(nest):
        if len(run) > 1 and run[0] not in joined:
            extent = run[0].args[0]
            for v in run[1:]:
                extent = extent * v.args[0]
            joined[run[0]] = (table.var(extent), len(run))
    memo: dict[Scalar, Scalar] = {}

    def chain(variables: Sequence[Scalar]) -> Index:
        result: list[Scalar] = []
        i = 0
        while i < len(variables):
            v, n = joined.get(variables[i], (variables[i], 1))
            result.append(v)
            i += n
        return tuple(result)

    def position(index: Sequence[Scalar], shape: Sequence[Scalar]) -> Scalar:
        axes = _axes(index, shape)
        total: Scalar = table.const(0, "int64")
        p = 0
        while p < len(axes):
            i, n = axes[p][0], 1
            if i in joined:
                i, n = joined[i]
                extent = i.args[0]
                own = [m for _, m in axes[p : p + n]]
                if math.prod([m.witness or 0 for m in own]) != extent.witness:  # a slice that begins at 0
                    extent = math.prod(own[1:], start=own[0])
                total = total * extent + i
            else:
                extent = i.args[0] if i.op == "var" and i.args[0].witness == axes[p][1].witness else axes[p][1]
                total = total * extent + new(i)
            p += n
        return total

    def new(term: Scalar) -> Scalar:
        found = memo.get(term)
        if found is not None:
            return found
        if term.op == "load":
            at, shape = position(term.args, nest.shapes[term.attr]), nest.shapes[term.attr]
            found = table.make("read", term.dtype, (at,), term.attr)
            # A position that is one loop over all elements (a reshape) is in range whatever the index looked like.
            whole = at.op == "var" and at.args[0].witness == math.prod([n.witness or 0 for n in shape])
            found.risky = found.risky or (term.risky and not whole)
        elif term.op == "reduce":
            kind, n = term.attr
            bound = chain(term.args[:n])
            found = table.make("reduce", term.dtype, (*bound, new(term.args[n])), (kind, len(bound)))
        elif term.op == "var":
            found = term
        else:
            found = table.rebuilt(term, tuple([new(a) for a in term.args]))
        memo[term] = found
        return found

    flat = [
        FlatStore(s.key, s.dtype, position(s.index, s.shape), chain(s.variables), new(s.scalar)) for s in nest.stores
    ]
    return flat, chain(nest.dims)
