"""The cost of a loop nest: nanoseconds on one thread of a plain x86-64 machine, by counting.

Rule: an estimate from the nest's structure and its extents; it decides what is fused and how work is cut, never what is
computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fastgraph.compiler.nest.loop_nest import LoopNest
from fastgraph.compiler.nest.loop_unrolling import MOST, is_few
from fastgraph.compiler.nest.scalar_ir import Scalar, walk

if TYPE_CHECKING:
    from fastgraph.compiler.nest.canonicalize import FlatNest

#: Nanoseconds to call one kernel, its share of scheduling included.
LAUNCH = 120.0

_ARITHMETIC = 0.05
LOAD = 0.12
_GATHER = 0.8
_STORE = 0.15
_WEIGHTS = {
    **dict.fromkeys(("const", "var", "extent", "param"), 0.0),
    **dict.fromkeys(("exp", "log", "log1p", "expm1", "tanh", "sigmoid", "softplus"), 0.4),
    **dict.fromkeys(("div", "sqrt", "rsqrt"), 0.2),
    **dict.fromkeys(("floordiv", "floormod", "truncatediv", "truncatemod"), 1.2),
    **dict.fromkeys(("sin", "cos"), 0.8),
    "tan": 2.0,
    **dict.fromkeys(("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "sinh", "cosh", "exp2", "log2"), 1.0),
    "lgamma": 4.0,
    **dict.fromkeys(("erf", "erfc", "pow", "fmod", "nextafter"), 8.0),
    **dict.fromkeys(("erfinv", "ndtri", "digamma"), 3.0),
    **dict.fromkeys(("bessel_i0e", "bessel_i1e", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e"), 4.0),
    "expint": 6.0,
    **dict.fromkeys(("zeta", "polygamma"), 60.0),
    **dict.fromkeys(("igamma", "igammac", "igamma_grad_a"), 150.0),
    "load": LOAD,
    "read": LOAD,
    "reduce": 1.0,  # its start and end; the steps are counted with its body
    "check": 0.3,
    "select": 0.04,
    "cast": 0.03,
}

#: How many times as long as with plain floats an operation takes.
_BY_DTYPE = {"float16": 4.0, "bfloat16": 4.0, "complex64": 3.0, "complex128": 6.0}


def weight(term: Scalar) -> float:
    """Nanoseconds of one operation where LLVM vectorises it."""
    if term.op in ("load", "read") and term.risky:
        return _GATHER
    known = _WEIGHTS.get(term.op)
    if known is not None:
        return known
    if term.dtype == "int64":  # mostly addresses, which LLVM folds into the access
        return 0.02
    return _ARITHMETIC * _BY_DTYPE.get(term.dtype, 1.0)


def cost(nest: LoopNest | FlatNest) -> float:
    """Nanoseconds for one run of the nest at its witness extents, without the launch."""
    terms = walk([s.scalar for s in nest.stores])
    chains = loop_chains(nest, terms)
    times: dict[frozenset[Scalar], int] = {}  # most terms depend on the same few sets of variables
    total = sum([(_GATHER - LOAD) * trips(load.free, chains) for load in _down_own_columns(nest)])
    total += sum([(_GATHER - LOAD) * trips(load.free, chains) for load in _turned(terms)])
    is_cut = _is_cut(nest, terms)
    for term in terms:
        own = LOAD if is_cut and term.op == "load" else weight(term)
        if term.op == "reduce":
            inner = trips(term.args[: term.attr[1]], chains)
            total += 0.06 * inner
        if own:
            free = term.free
            if free not in times:
                times[free] = trips(free, chains)
            total += own * times[free]
    for store in nest.stores:
        total += _STORE * trips((*nest.dims, *store.variables), chains)
    return total


def _is_cut(nest: LoopNest | FlatNest, terms: Sequence[Scalar]) -> bool:
    """Return whether one condition on places guards all that is read: loops are cut there, and have no branch."""
    if any(store.variables for store in nest.stores) or any(t.op in ("reduce", "check") for t in terms):
        return False
    guards = [t for t in terms if t.is_guard]
    return len(guards) == 1 and not any(t.op == "load" for t in walk([guards[0].args[0]]))


def _down_own_columns(nest: LoopNest | FlatNest) -> dict[Scalar, None]:
    """Loads of reductions down the columns of a loop that is not shared: each lies in another line of the cache.

    Tiles of columns (`fastgraph.compiler.cpu.column_reductions`) are made of shared loops only, not of a store's own
    nor of those of a reduction round this one.
    """
    found: dict[Scalar, None] = {}  # in an order that is the same in every process: costs are sums
    shared = _written_out(nest).union(nest.dims)
    for term in walk([store.scalar for store in nest.stores]):
        if term.op == "reduce" and not term.free <= shared:
            bound = term.args[: term.attr[1]]
            for load in walk([term.args[-1]]):
                along = load.args[-1].free if load.op == "load" and load.args else frozenset()
                if bound[-1] in load.free and bound[-1] not in along and not along <= shared.union(bound):
                    found[load] = None
    return found


def _turned(terms: Sequence[Scalar]) -> dict[Scalar, None]:
    """Loads of reductions whose rows lie along an outer loop of the same reduction: transposed, which stops vectors."""
    found: dict[Scalar, None] = {}
    for term in terms:
        bound = term.args[: term.attr[1]] if term.op == "reduce" else ()
        if len(bound) > 1:
            for load in walk([term.args[-1]]):
                along = load.args[-1].free if load.op == "load" and load.args else frozenset()
                if bound[-1] in load.free and bound[-1] not in along and not along.isdisjoint(bound):
                    found[load] = None
    return found


#: Terms that are no floating-point operation: what only names, moves or picks values.
MOVES = frozenset(("const", "var", "extent", "param", "load", "read", "cast", "select", "check"))


def operations(nest: LoopNest | FlatNest) -> float:
    """Arithmetic operations in one run of the nest at its witness extents; exp, log and the like count as one."""
    terms = walk([s.scalar for s in nest.stores])
    chains = loop_chains(nest, terms)
    total = 0.0
    for term in terms:
        if term.op == "reduce":
            total += trips(term.args[: term.attr[1]], chains)
        elif term.op not in MOVES and term.dtype not in ("int64", "bool"):  # those are addresses and conditions
            total += trips(term.free, chains)
    return total


def loop_chains(nest: LoopNest | FlatNest, terms: Sequence[Scalar]) -> dict[Scalar, frozenset[Scalar]]:
    """Return for each variable the loops round its body, its own among them; `terms` are all of the nest's."""
    chains: dict[Scalar, frozenset[Scalar]] = {}
    outer: frozenset[Scalar] = frozenset()
    for v in nest.dims:
        outer = chains[v] = outer | {v}
    short = _written_out(nest)
    outer -= short
    for store in nest.stores:
        around = outer
        for v in store.variables:
            around = chains[v] = around | {v}
    # Outer reductions come later in the walk than those in their bodies.
    for term in reversed(terms):
        if term.op == "reduce":
            around = frozenset().union(*[chains[v] for v in term.free]) - short
            for v in term.args[: term.attr[1]]:
                around = chains[v] = around | {v}
    return chains


def _written_out(nest: LoopNest | FlatNest) -> frozenset[Scalar]:
    """The short innermost loops round what is stored: what does not depend on them is computed once for all of it."""
    loops = [nest.dims, *[store.variables for store in nest.stores]]
    return frozenset([loop[-1] for loop in loops if len(loop) > 1 and is_few(loop[-1].args[0], MOST)])


def trips(variables: Iterable[Scalar], chains: Mapping[Scalar, frozenset[Scalar]]) -> int:
    """Return how often something that depends on `variables` is computed."""
    loops: frozenset[Scalar] = frozenset().union(*[chains[v] for v in variables])
    return math.prod([_count(v) for v in loops])


def _count(v: Scalar) -> int:
    # A loop that never runs counts as one run: were all that is in it free, all of a graph would become one kernel.
    extent = v.args[0].witness or 1
    if len(v.args) == 1:
        return extent
    (outer,) = v.args[1].free  # a chunk of the extent: together the chunks are all of it
    return -(-extent // (outer.args[0].witness or 1))
