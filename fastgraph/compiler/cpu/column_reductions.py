"""Reductions down the columns: the loop over neighbouring results goes inside the loop that is summed over.

Rule: each result is folded in the same order as it would be alone, so where the columns are cut changes no bit.

    for tile of columns:                       instead of    for each column:
        for r: for each column of the tile:                      for r: total = fold(total, element)
            totals[column] = fold(totals[column], element)

The inner loop then reads neighbouring elements and vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.nest.canonicalize import FlatNest
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, walk
from fastgraph.core.native.matmul import vector_bits

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.emit import Block, Emitter

#: Columns that are reduced side by side, and the fewest that are so in registers.
TILE, LEAST = 64, 8


def apply(nest: FlatNest) -> bool:
    """Return whether the nest's reductions read along its innermost shared loop rather than along their own."""
    if not nest.dims or any(store.variables for store in nest.stores):
        return False
    column = nest.dims[-1]
    terms = walk([s.scalar for s in nest.stores])
    reductions = _down(nest, terms)
    if not reductions or any(t.risky for t in terms):
        return False
    inner = {v for t in reductions for v in t.args[: t.attr[1]]}
    if any(t.op == "reduce" and t not in reductions and t.free & (inner | {column}) for t in terms):
        return False
    across = 0
    for term in reductions:
        last = term.args[term.attr[1] - 1]
        for read in walk([term.args[-1]]):
            if read.op == "read":
                along, own = stride(read.args[0], column), stride(read.args[0], last)
                if own == 1 and along is None:
                    return False
                across += along == 1 and own is None
    return across > 0


def _down(nest: FlatNest, terms: list[Scalar]) -> list[Scalar]:
    return [t for t in terms if t.op == "reduce" and t in nest.stage and nest.dims[-1] in t.free]


def stride(position: Scalar, variable: Scalar) -> int | None:
    """Return by how much a position grows with a variable: 0, 1, or None for anything else."""
    if variable not in position.free:
        return 0
    if position is variable:
        return 1
    if position.op == "add":
        x, y = (stride(a, variable) for a in position.args)
        return None if x is None or y is None or x + y > 1 else x + y
    return None


def emit(emitter: Emitter, outside: Block) -> tuple[str, Block]:
    """Write the innermost shared loop tile by tile: its header, and its body."""
    nest = emitter.nest
    column = nest.dims[-1]
    groups: dict[int, list[Scalar]] = {}
    for term in _down(nest, walk([s.scalar for s in nest.stores])):
        groups.setdefault(nest.stage[term], []).append(term)
    if len(nest.dims) > 1 and column.args[0].is_known and (n := column.args[0].witness or 0) >= LEAST:
        width = _width(n, [t for members in groups.values() for t in members], max(map(len, groups.values())))
        # The last tile lies over the one before it: what is written twice is the same.
        count = emitter.size(column.args[0])
        start = f"t = {emitter.call('tile_int64', 'c', f'{count} - {width}')}"
        return f"for c in range(0, {count}, {width}):", _tile(emitter, outside, groups, str(width), start)
    first, stop = ("begin", "end") if len(nest.dims) == 1 else ("0", emitter.size(column.args[0]))
    body = _tile(emitter, outside, groups, "w", f"w = {emitter.call('min_int64', str(TILE), f'{stop} - t')}")
    return f"for t in range({first}, {stop}, {TILE}):", body


def _width(n: int, terms: Sequence[Scalar], together: int) -> int:
    """Columns of a tile, of `n`, whose totals stay in registers: LLVM takes them at once, in up to four vectors."""
    size = max(
        [2 if t.args[-1].dtype == "bool" else np.dtype(render.register(t.args[-1].dtype)).itemsize for t in terms]
    )
    most = max((vector_bits() or 128) // 2 // size // min(together, 2), LEAST)
    widths = [w for w in (64, 32, 16, 8) if w <= min(n, most)]
    return min(widths, key=lambda w: -(-n // w) * (w + LEAST))


def _tile(emitter: Emitter, outside: Block, groups: Mapping[int, list[Scalar]], width: str, *lines: str) -> Block:
    """The body of the loop over tiles: of the columns from t on as many as `width` says."""
    nest = emitter.nest
    column, at = nest.dims[-1], "k"
    block = emitter.block(outside, outside.variables)
    block.lines += lines
    each = f"for {at} in range({width}):"
    line = f"{emitter.variables[column]} = t + {at}"

    def cell(dtype: str) -> str:
        emitter.arrays[f"a{len(emitter.arrays)}"] = dtype
        return f"a{len(emitter.arrays) - 1}[{at}]"

    def for_each(where: Block, lines: list[str]) -> None:
        if lines:
            where.lines += [each, *["    " + line for line in lines]]

    for stage in sorted(groups):
        rows: dict[tuple[Scalar, ...], list[Scalar]] = {}
        for term in groups[stage]:
            rows.setdefault(emitter.bound(term), []).append(term)
        for variables, members in rows.items():
            _fold_rows(emitter, block, variables, members, line, cell, for_each, each)
    last = emitter.block(block, block.variables | {column})
    last.lines.append(line)
    for store in nest.stores:
        emitter.emit_store(store, last)
    block.nest(each, last)
    return block


def _fold_rows(
    emitter: Emitter,
    block: Block,
    variables: Index,
    members: list[Scalar],
    column: str,
    cell: Callable[[str], str],
    for_each: Callable[[Block, list[str]], None],
    each: str,
) -> None:
    """Write the loops of the reductions over `variables`; the results lie in arrays, one element per column."""
    blocks = [block]
    for v in variables:
        emitter.variables.setdefault(v, f"i{len(emitter.variables)}")
        blocks.append(emitter.block(blocks[-1], blocks[-1].variables | {v}))
    inner = emitter.block(blocks[-1], blocks[-1].variables | {emitter.nest.dims[-1]})
    inner.lines.append(column)
    last = emitter.variables[variables[-1]]
    folds: list[render.Fold] = []
    for term in members:
        value = emitter.emit(term.args[-1], inner)
        made = render.fold(term.attr[0], term.args[-1].dtype, value, last, cell, cell, emitter.call)
        inner.lines += made.step
        block.names[term] = made.result
        folds.append(made)
    blocks[-1].nest(each, inner)
    for_each(block, [line for made in folds for line in made.before])
    emitter.close_loops(blocks, variables, folds, for_each, down=True)
    for_each(block, [line for made in folds for line in made.after])
