"""Sums down few columns of many rows, cut so that threads share the rows: a partial result per chunk and column.

Rule: the number of chunks is fixed and their length follows from the extents, so the order of every sum depends on
shapes alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore
from fastgraph.compiler.nest.loop_nest import stages
from fastgraph.compiler.nest.scalar_ir import Scalar, Table, walk
from fastgraph.compiler.nest.split_reductions import CHUNKS, COMBINED, LONG

#: Columns up to which the rows are shared rather than the columns.
MOST_COLUMNS = 2048
#: Rows from which on they are cut, and the least number in a chunk.
LEAST_ROWS, LEAST = 256, 32


def split_columns(nest: FlatNest, scratch: Callable[[str, int], object]) -> list[FlatNest]:
    """The nests that compute `nest`, whose reductions go down its columns; `scratch(dtype, n)` names a new value."""
    if len(nest.dims) != 1 or nest.in_place or not nest.dims[0].args[0].is_known:
        return [nest]
    if (nest.dims[0].args[0].witness or 0) > MOST_COLUMNS:
        return [nest]
    done: list[FlatNest] = []
    stores = nest.stores
    while members := _first_long(nest.dims[0], stores):
        parts, stores = _chunked(nest.dims[0], stores, members, scratch)
        done += parts
    return [*done, FlatNest(nest.dims, stores, stages(nest.dims, stores), {})] if done else [nest]


def _first_long(column: Scalar, stores: list[FlatStore]) -> list[Scalar]:
    """The reductions of the first stage that go down many rows, those of one loop."""
    columns = column.args[0].witness or 0
    found = []
    for term, stage in stages((column,), stores).items():
        if isinstance(term, Scalar) and column in term.free and term.attr[0] in COMBINED:
            first, *_ = variables = term.args[: term.attr[1]]
            rows = math.prod([v.args[0].witness or 0 for v in variables])
            if len(first.args) == 1 and rows >= LEAST_ROWS and rows * columns >= LONG and first.args[0].op != "const":
                found.append((stage, variables, term))
    if not found:
        return []
    stage, variables, _ = min(found, key=lambda each: each[0])
    return [term for when, loop, term in found if (when, loop) == (stage, variables)]


def _chunked(
    column: Scalar, stores: list[FlatStore], members: list[Scalar], scratch: Callable[[str, int], object]
) -> tuple[list[FlatNest], list[FlatStore]]:
    """The nests that make the results of some reductions chunk by chunk, and the stores with what is left to do."""
    table: Table = column.table
    columns = column.args[0]  # no number: what differs by it alone is one kernel
    chunk, own = table.var(table.const(CHUNKS, "int64")), table.var(columns)
    first = members[0].args[0]
    extent = first.args[0]
    length = table.op("max", (extent + (CHUNKS - 1)) // CHUNKS, table.const(LEAST, "int64"))
    low = chunk * length
    part = table.make("var", "int64", (extent, low, table.op("min", low + length, extent)), first.attr)
    made: list[FlatStore] = []
    combined: dict[Scalar, Scalar] = {}
    for term in members:
        kind, n = term.attr
        body = table.substitute(term.args[n], {first: part, column: own})
        key = scratch(body.dtype, CHUNKS * (columns.witness or 0))
        total = table.reduce(kind, (part, *term.args[1:n]), body)
        made.append(FlatStore(key, body.dtype, chunk * columns + own, (), total))
        other = table.var(table.const(CHUNKS, "int64"))
        read = table.make("read", body.dtype, (other * columns + column,), key)
        combined[term] = table.reduce(kind, (other,), read)
    dims = (chunk, own)
    nests = [FlatNest(dims, made, stages(dims, made), {})]
    reductions = [t for t in walk([s.scalar for s in stores]) if t.op == "reduce" and t not in combined]
    if any(not combined.keys().isdisjoint(walk([t.args[-1]])) for t in reductions):
        kept = [FlatStore(scratch(t.dtype, columns.witness or 0), t.dtype, column, (), c) for t, c in combined.items()]
        nests.append(FlatNest((column,), kept, stages((column,), kept), {}))
        combined = {t: table.make("read", t.dtype, (column,), s.key) for t, s in zip(combined, kept, strict=True)}
    left = [
        FlatStore(s.key, s.dtype, s.position, s.variables, table.replaced(s.scalar, dict(combined))) for s in stores
    ]
    return nests, left
