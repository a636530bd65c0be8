"""Loops over joined axes, cut up where what they read has those axes apart: no index is divided in a loop.

Rule: the same elements in the same order; a loop whose pieces have no extent, known now or at run time, stays as it is.

    for a: for b: y[a * n + b] = x[b, a]       instead of    for i: y[i] = x[i % n, i // n]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fastgraph.compiler.nest.loop_nest import LoopNest, Store
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, walk


def divide(nest: LoopNest) -> LoopNest:
    """The nest with every loop cut whose variable is divided by extents that its own is a product of."""
    terms = walk([t for s in nest.stores for t in (s.scalar, *s.index)])
    cuts = _cuts(terms)
    if not cuts:
        return nest
    pieces: dict[Scalar, Index] = {}
    sizes = _sizes(nest, terms)
    for v, steps in cuts.items():
        made = _pieces(v, steps, sizes)
        if made is not None:
            pieces[v] = made
    for term in terms:
        # The place of a largest element counts the iterations of one loop; chunks have bounds.
        if term.op == "reduce" and term.attr[0] in ("argmax", "argmin"):
            pieces.pop(term.args[0], None)
    return _rewritten(nest, pieces) if pieces else nest


def _cuts(terms: Sequence[Scalar]) -> dict[Scalar, dict[int, Scalar]]:
    """Return by what each loop variable is divided: products of divisors, each with the last of them."""
    parts: dict[Scalar, tuple[Scalar, int]] = {}  # v // a // b: the variable v, a * b
    found: dict[Scalar, dict[int, Scalar]] = {}
    for term in terms:
        if term.op not in ("floordiv", "floormod") or term.dtype != "int64":
            continue
        base, divisor = term.args
        v, before = parts.get(base, (base, 1))
        if v.op != "var" or len(v.args) != 1 or not v.args[0].witness or not divisor.witness or divisor.free:
            continue
        product = before * divisor.witness
        if term.op == "floordiv":
            parts[term] = v, product
        if 1 < product < v.args[0].witness and v.args[0].witness % product == 0:
            found.setdefault(v, {}).setdefault(product, divisor)
    return found


def _sizes(nest: LoopNest, terms: Sequence[Scalar]) -> dict[int, Scalar]:
    """A run-time extent for each number that is one."""
    found: dict[int, Scalar] = {}
    for shape in nest.shapes.values():
        for n in shape:
            found.setdefault(n.witness or 0, n)
    for term in terms:
        if term.op in ("floordiv", "floormod") and term.args[1].op == "extent":
            found.setdefault(term.args[1].witness or 0, term.args[1])
    return found


def _pieces(v: Scalar, steps: dict[int, Scalar], sizes: dict[int, Scalar]) -> Index | None:
    """The variables, outermost first, that run over what `v` runs over."""
    whole = v.args[0].witness or 0
    products = [1]
    for product in sorted(steps):
        if product % products[-1] == 0:
            products.append(product)
    products.append(whole)
    extents: list[Scalar] = []
    for low, high in pairwise(products):
        own = steps.get(high)
        extent = own if own is not None and own.witness == high // low else sizes.get(high // low)
        if extent is None:
            if not (v.args[0].is_known and all(n.is_known for n in steps.values())):
                return None
            extent = v.table.const(high // low, "int64")  # of sizes that are the same in every call
        extents.append(extent)
    return tuple([v.table.var(n) for n in reversed(extents)])


def _rewritten(nest: LoopNest, pieces: dict[Scalar, Index]) -> LoopNest:
    table = nest.stores[0].scalar.table
    memo: dict[Scalar, Scalar] = {}
    for v, made in pieces.items():
        place = made[0]
        for piece in made[1:]:
            place = place * piece.args[0] + piece
        memo[v] = place

    def several(variables: Sequence[Scalar]) -> Index:
        return tuple([piece for v in variables for piece in pieces.get(v, (v,))])

    def new(term: Scalar) -> Scalar:
        found = memo.get(term)
        if found is not None:
            return found
        if term.op == "reduce":
            kind, n = term.attr
            bound = several(term.args[:n])
            found = table.make("reduce", term.dtype, (*bound, new(term.args[n])), (kind, len(bound)))
        else:
            args = tuple([new(a) for a in term.args])
            if args == term.args:
                found = term
            elif term.op == "load":
                found = table.load(term.attr, term.dtype, args, nest.shapes[term.attr])
            elif term.dtype in ("int64", "bool") and term.attr is None and term.op not in ("cast", "select"):
                found = table.op(term.op, *args)
            else:
                found = table.make(term.op, term.dtype, args, term.attr, witness=term.witness)
        memo[term] = found
        return found

    stores = [
        Store(s.key, s.dtype, tuple([new(i) for i in s.index]), s.shape, several(s.variables), new(s.scalar))
        for s in nest.stores
    ]
    return LoopNest(several(nest.dims), stores, nest.shapes, nest.in_place)
