"""Short loops written out: a few elements become terms of their own, so that the loop round them vectorises.

Rule: the same elements, folded in the same order. Only extents that the graph knows are written into a kernel; a
loop whose iterations may fail each for itself stays one.

    for i: y[i] = x[i, 0] + x[i, 1] + x[i, 2]       instead of    for i: for k: y[i] += x[i, k]
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from fastgraph.compiler.nest.loop_nest import LoopNest, Store
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, walk

#: Iterations of a loop that is written out at most: those that LLVM reads side by side.
MOST = 8
#: Iterations up to which a known number of them is written into a kernel: they become whole vectors.
FEW = 64
#: Operations that are written for one reduction or store at most: more take too long to compile.
MOST_TERMS = 96
#: Stores that a nest may have then: one of more is cut into several.
MOST_STORES = 48
_HALVES = ("float16", "bfloat16")


def unrolled(nest: LoopNest, runs: Callable[[LoopNest], Sequence[Index]]) -> LoopNest:
    """The nest without its short loops; `runs` finds the variables that are one loop together."""
    terms = walk([s.scalar for s in nest.stores])
    loops = [nest.dims[1:], *[s.variables for s in nest.stores], *[_bound(t) for t in terms if t.op == "reduce"]]
    few = {v for loop in loops for v in loop if len(v.args) == 1 and is_few(v.args[0], FEW)}
    short = few | {v for v in nest.dims[:1] if is_few(v.args[0], MOST)}
    short &= {run[0] for run in runs(nest) if len(run) == 1}
    short = short.difference(*[t.args[0].free for t in terms if t.op == "check"])
    made = _Unrolling(nest, short, {v.args[0].witness for v in short}).run(terms) if short else nest
    return _columns(made)


def _columns(nest: LoopNest) -> LoopNest:
    """The nest with the length of short rows, of which several places are read, as a number: LLVM reads them whole."""
    terms = walk([s.scalar for s in nest.stores])
    loads = [t for t in terms if t.op == "load" and _is_column(t, nest.shapes[t.attr])]
    rows = Counter((t.attr, t.args[:-1]) for t in loads)
    loads = [t for t in loads if rows[t.attr, t.args[:-1]] > 1]
    numbers = {nest.shapes[t.attr][-1].witness for t in loads}
    return _Unrolling(nest, set(), numbers, walk([t.args[-1] for t in loads])).run(terms) if loads else nest


def _is_column(load: Scalar, shape: Sequence[Scalar]) -> bool:
    """Return whether a load takes one place of each of many short rows."""
    return len(shape) > 1 and bool(load.free) and not load.args[-1].free and is_few(shape[-1], MOST)


def _bound(term: Scalar) -> Index:
    return term.args[: term.attr[1]]


def is_few(extent: Scalar, most: int) -> bool:
    """Return whether an extent is known and not above `most`, nor 0 or 1."""
    return 2 <= (extent.witness or 0) <= most and extent.is_known


class _Unrolling:
    def __init__(
        self, nest: LoopNest, short: set[Scalar], numbers: set[int | None], places: Sequence[Scalar] = ()
    ) -> None:
        self.nest = nest
        self.short = short
        self.table: Table = nest.stores[0].scalar.table
        self.numbers = numbers
        self.places = set(places)
        self.memo: dict[Scalar, Scalar] = {}

    def run(self, terms: Sequence[Scalar]) -> LoopNest:
        stores = [
            Store(s.key, s.dtype, self.each(s.index), self.each(s.shape), self.each(s.variables), self.new(s.scalar))
            for s in self.nest.stores
        ]
        short = {self.new(v) for v in self.short}
        dims = self.each(self.nest.dims)
        if (
            dims
            and dims[-1] in short
            and self.pays(self.nest.dims, terms)
            and self.fits(dims[-1:], [s.scalar for s in stores], True)
        ):
            stores = [each for s in stores for each in self.written(s, dims[-1:])]
            dims = dims[:-1]
        if len(dims) > 1 and dims[0] in short and self.picks(dims[0], [s.scalar for s in stores]):
            stores = [each for s in stores for each in self.written(s, dims[:1])]
            dims = dims[1:]
        found: list[Store] = []
        for s in stores:
            last = s.variables[-1:]
            if last and short.issuperset(s.variables) and self.fits(s.variables, [s.scalar]):
                found += self.written(s, s.variables)
            elif (
                short.issuperset(last)
                and self.pays(s.variables, walk([s.scalar]))
                and self.fits(last, [s.scalar], True)
            ):
                found += self.written(s, last)
            else:
                found.append(s)
        return LoopNest(dims, found, {k: self.each(s) for k, s in self.nest.shapes.items()}, self.nest.in_place)

    def each(self, terms: Iterable[Scalar]) -> Index:
        return tuple([self.new(t) for t in terms])

    def new(self, term: Scalar) -> Scalar:
        """A term with known extents as numbers, and short reductions as terms."""
        found = self.memo.get(term)
        if found is None:
            if term.op == "extent":
                known = term.witness in self.numbers and term.is_known
                found = self.table.const(term.witness or 0, "int64") if known else term
            elif term.op == "param":
                found = self.table.const(term.attr, "int64") if term in self.places else term
            else:
                found = self.table.rebuilt(term, self.each(term.args))
                if term.op == "reduce" and self.short.issuperset(_bound(term)):
                    found = self.folded(found)
            self.memo[term] = found
        return found

    def folded(self, term: Scalar) -> Scalar:
        """A reduction over short loops as the terms it adds up; itself where those would be too many."""
        variables, body = _bound(term), term.args[-1]
        if not self.fits(variables, [body]):
            return term
        return fold(self.table, term.attr[0], [self.table.substitute(body, at) for at in _places(variables)])

    def fits(self, variables: Index, scalars: Sequence[Scalar], nested: bool = False) -> bool:
        """Return whether loops may be written out: few iterations and operations, if not `nested` no loop inside."""
        n = math.prod([v.args[0].witness or 0 for v in variables])
        own = [t for t in walk(scalars) if not t.free.isdisjoint(variables)]
        if n > MOST or n * len(own) > MOST_TERMS or n * len(self.nest.stores) > MOST_STORES:
            return False
        return nested or not any(t.op == "reduce" for t in own)

    def pays(self, loops: Index, terms: Sequence[Scalar]) -> bool:
        """Return whether to write out the innermost of several loops: reductions in it read across it, or none are."""
        if len(loops) < 2:
            return False
        v = loops[-1]
        inner = [t for t in terms if t.op == "reduce" and v in t.free and not self.fits(_bound(t), [])]
        if not inner:
            return True
        reads = [t for t in walk([t.args[-1] for t in inner]) if t.op == "load" and t.args]
        return any(t.args[-1] is v for t in reads)

    def picks(self, v: Scalar, scalars: Sequence[Scalar]) -> bool:
        """Return whether the iterations of an outer loop pick from what all of them would compute, as stacks do."""
        conditions = [t.args[0].free for t in walk(scalars) if t.op == "select"]
        return any(free == {v} for free in conditions) and self.fits((v,), scalars)

    def written(self, store: Store, variables: Index) -> list[Store]:
        """The stores of each iteration."""
        own = tuple([v for v in store.variables if v not in variables])
        made = []
        for at in _places(variables):
            index = tuple([self.table.substitute(i, at) for i in store.index])
            made.append(Store(store.key, store.dtype, index, store.shape, own, self.table.substitute(store.scalar, at)))
        return made


def _places(variables: Index) -> list[dict[Scalar, Scalar]]:
    """The numbers of the variables in each iteration of their loops."""
    table = variables[0].table
    ranges = [range(v.args[0].witness or 0) for v in variables]
    return [
        dict(zip(variables, [table.const(k, "int64") for k in place], strict=True))
        for place in itertools.product(*ranges)
    ]


def fold(table: Table, kind: str, elements: Sequence[Scalar]) -> Scalar:
    """The result of a reduction over these elements."""
    dtype, total = elements[0].dtype, elements[0]
    if kind in ("argmax", "argmin"):
        at = table.const(0, "int64")
        for k, element in enumerate(elements[1:], 1):
            better = table.op("gt" if kind == "argmax" else "lt", element, total)
            at = table.select(better, table.const(k, "int64"), at)
            total = table.select(better, element, total)
        return at
    op = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(kind, kind)
    if op in ("add", "mul") and dtype in _HALVES:
        elements = [table.cast(e, "float32") for e in elements]
        total = elements[0]
    if op == "add":  # as in a loop, no zeros give -0.0
        total = table.op(op, table.const(0, total.dtype), total)
    for element in elements[1:]:
        total = table.op(op, total, element)
    return table.cast(total, dtype)


def located(nest: LoopNest) -> LoopNest:
    """The nest with places of extremes found in two loops that vectorise: the extreme, then the first equal to it."""
    terms = walk([s.scalar for s in nest.stores])
    memo: dict[Scalar, Scalar] = {}
    again: dict[Scalar, Scalar] = {}
    for term in terms:
        if term.op != "reduce" or term.attr[0] not in ("argmax", "argmin"):
            continue
        v, body = term.args
        if body.risky or len(v.args) > 1 or any(t.op == "reduce" and v in t.free for t in walk([body])):
            continue
        table, extent = v.table, v.args[0]
        other = again.setdefault(v, table.var(extent))
        index = "int32" if extent.is_known and (extent.witness or 0) < 2**31 else "int64"
        extreme = table.reduce(term.attr[0][3:], (v,), body)
        found = table.op("eq", table.substitute(body, {v: other}), extreme)
        # Not the greatest integer: LLVM would see through that, and vectorise no more.
        none = table.cast(extent, index)
        place = table.reduce("min", (other,), table.select(found, table.cast(other, index), none))
        memo[term] = table.cast(place, "int64")
    if not memo:
        return nest
    stores = [
        Store(s.key, s.dtype, s.index, s.shape, s.variables, nest.stores[0].scalar.table.replaced(s.scalar, memo))
        for s in nest.stores
    ]
    return LoopNest(nest.dims, stores, nest.shapes, nest.in_place)
