"""Transposing loops, tile by tile: what is read across its rows is turned in registers, and all of it used at once.

Rule: the same elements, each computed as it would be in plain loops; only their order differs.

    for tile of i: for tile of j:              instead of    for i: for j: y[i, j] = f(x[j, i])
        turned[i, j] = x[j, i], in square blocks
        for i of the tile: for j of the tile: y[i, j] = f(turned[i, j])

The last loop then reads and writes neighbouring elements and vectorises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.cpu.column_reductions import stride
from fastgraph.compiler.nest.canonicalize import FlatNest
from fastgraph.compiler.nest.scalar_ir import Scalar, walk
from fastgraph.compiler.program.kernel_spec import SIDES

if TYPE_CHECKING:
    from fastgraph.compiler.cpu.emit import Block, Emitter

#: Values that are turned in one kernel at most; others are read where they lie, still tile by tile.
MOST = 4
#: Iterations from which on two loops are worth tiles.
LEAST = 16


def crossing(nest: FlatNest) -> int | None:
    """The number of the loop along which lies what the innermost one reads across rows, where tiles pay."""
    if len(nest.dims) < 2 or any(store.variables for store in nest.stores):
        return None
    terms = _terms(nest)
    # A failing check names the first element that fails; reductions have loops of their own to cross.
    if any(t.op in ("reduce", "check") for t in terms):
        return None
    crossed = [0] * len(nest.dims)
    for term in _crossed(nest, terms):
        for k, v in enumerate(nest.dims[:-1]):
            crossed[k] += stride(term.args[0], v) == 1
    best = max(range(len(crossed)), key=crossed.__getitem__)
    wide = min(nest.dims[best].args[0].witness or 0, nest.dims[-1].args[0].witness or 0) >= LEAST
    return best if crossed[best] and wide else None


def _terms(nest: FlatNest) -> list[Scalar]:
    return walk([t for s in nest.stores for t in (s.scalar, s.position)])


def _crossed(nest: FlatNest, terms: list[Scalar]) -> list[Scalar]:
    """The elements whose neighbours along the innermost loop lie in other rows."""
    return [t for t in terms if t.op == "read" and stride(t.args[0], nest.dims[-1]) is None]


def open_loops(emitter: Emitter, crossed: int, root: Block) -> tuple[list[Block], list[str]]:
    """The blocks of the nest's shared loops, `root` first, and the headers between them."""
    nest = emitter.nest
    dims = nest.dims
    emitter.variables.update({v: f"i{k}" for k, v in enumerate(dims)})
    blocks, headers = [root], []
    bounds = {v: ("0", emitter.size(v.args[0])) if k else ("begin", "end") for k, v in enumerate(dims)}

    def deeper(header: str, *more: Scalar) -> Block:
        headers.append(header)
        blocks.append(emitter.block(blocks[-1], blocks[-1].variables | {*more}))
        return blocks[-1]

    pair = (dims[crossed], dims[-1])
    for v in dims:
        if v not in pair:
            deeper(f"for {emitter.variables[v]} in range({', '.join(bounds[v])}):", v)
    reads = [t for t in _crossed(nest, _terms(nest)) if _turns(t, *pair)][:MOST]
    tile = 64 if all(_size(t) <= 4 for t in reads) else 32
    corner = tuple([v.table.make("var", "int64", v.args, f"t{n}") for n, v in enumerate(pair)])
    for n, (v, first) in enumerate(zip(pair, corner, strict=True)):
        low, high = bounds[v]
        emitter.variables[first] = f"t{n}"
        body = deeper(f"for t{n} in range({low}, {high}, {tile}):", first)
        body.lines.append(f"e{n} = {emitter.call('min_int64', f't{n} + {tile}', high)}")
    places = [_turn(emitter, blocks[-1], t, dict(zip(pair, corner, strict=True)), tile) for t in reads]
    row = deeper(f"for {emitter.variables[pair[0]]} in range(t0, e0):", pair[0])
    row.lines += [f"r{n} = ({emitter.variables[pair[0]]} - t0) * {tile} - t1" for n in range(bool(reads))]
    inner = deeper(f"for {emitter.variables[pair[1]]} in range(t1, e1):", pair[1])
    for term, array in zip(reads, places, strict=True):
        inner.names[term] = emitter.local()
        value = render.loaded(f"{array}[r0 + {emitter.variables[pair[1]]}]", term.dtype, emitter.call)
        inner.lines.append(f"{inner.names[term]} = {value}")
    return blocks, headers


def _size(term: Scalar) -> int:
    """The bytes of an element as it is stored."""
    kind = render.storage(term.dtype)
    return int(kind.lstrip("uintfloacmpex")) // 8


def _turns(term: Scalar, along: Scalar, across: Scalar) -> bool:
    """Return whether a read may be turned: it goes row by row in both directions, and is in range for all elements."""
    return (
        not term.risky
        and _size(term) in SIDES
        and stride(term.args[0], along) == 1
        and _is_linear(term.args[0], across)
        and not any(t.op == "read" for t in walk(term.args))
    )


def _is_linear(position: Scalar, v: Scalar) -> bool:
    """Return whether a position grows by the same number with each step of a loop."""
    if v not in position.free or position is v:
        return True
    if position.op in ("add", "sub"):
        return all(_is_linear(a, v) for a in position.args)
    return position.op == "mul" and sum(v in a.free for a in position.args) == 1 and all(
        _is_linear(a, v) for a in position.args
    )  # fmt: skip


def _turn(emitter: Emitter, block: Block, read: Scalar, corner: dict[Scalar, Scalar], tile: int) -> str:
    """Write the lines that put a tile of what is read into an array of the kernel's own, rows as columns."""
    table, kind = read.table, render.storage(read.dtype)
    array = f"a{len(emitter.tiles)}"
    emitter.tiles[array] = kind, tile * tile
    across = list(corner)[1]
    at = table.substitute(read.args[0], corner)
    after = table.substitute(read.args[0], {**corner, across: corner[across] + 1})
    first = emitter.emit(at, block)
    step = emitter.local()
    block.lines.append(f"{step} = {emitter.emit(after, block)} - {first}")
    values, side = emitter.buffer(read.attr, read.dtype), SIDES[_size(read)]
    block_at = f"h * {tile} + k", str(tile), values, f"{first} + k * {step} + h", step
    # The last block lies over the one before it: what is written twice is the same.
    block.lines += [
        f"if e1 - t1 >= {side} and e0 - t0 >= {side}:",
        f"    for r in range(0, e1 - t1, {side}):",
        f"        k = {emitter.call('min_int64', 'r', f'e1 - t1 - {side}')}",
        f"        for c in range(0, e0 - t0, {side}):",
        f"            h = {emitter.call('min_int64', 'c', f'e0 - t0 - {side}')}",
        f"            {emitter.call('turned_block', array, *block_at)}",
        "else:",
        "    for k in range(e1 - t1):",
        "        for h in range(e0 - t0):",
        f"            {array}[h * {tile} + k] = {values}[{first} + k * {step} + h]",
    ]
    return array
