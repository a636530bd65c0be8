"""Gradients of convolutions to the filter, as kernels over chunks of rows.

Rule: the number of chunks depends on the filter, their length on the shapes, and they are added up in their order: a
result has the same bits however many threads made it.
"""

from __future__ import annotations

import math

from fastgraph.compiler.library.register_blocks import (
    ADD,
    Axes,
    Geometry,
    SharedText,
    block_call,
    most_broadcast,
    over_blocks,
    shared,
    vectors,
)

#: Chunks of rows whose parts of a filter's gradient are added up, and floats of all of them at most.
CHUNKS = 16
PARTIAL = 1 << 18
#: Floats of the wider one of x and dy that the second cache holds until all entries have seen them.
PASS = 1 << 17


class FilterGradient:
    """part[chunk][tap, c, f] = sum over the rows of a chunk of x[n, *(o * s + tap * d), c] * dy[n, *o, f].

    A unit of work is one chunk of rows and one share of the filter. Small filters have many chunks, large ones are
    shared out instead, so that the parts take little memory.
    """

    def __init__(self, g: Geometry) -> None:
        self.g = g
        self.chunks = max(1, min(CHUNKS, PARTIAL // max(g.filter_size, 1)))
        self.lanes, self.tail, self.n_vectors, self.each = vectors(g.f)
        most = most_broadcast(self.each)
        # Few channels: the taps along x are computed together with them where every tap is inside.
        self.joint = g.groups == 1 and g.dilations[-1] == 1 and g.window[-1] > 1 and g.c * 2 <= most
        entries = g.c * g.window[-1] if self.joint else g.c
        self.entries = shared(entries, self.each)
        self.n_entries = entries
        self.blocks = math.prod(g.window[:-1]) * g.groups * (1 if self.joint else g.window[-1])
        wanted = -(-CHUNKS // self.chunks)
        # A window of few taps is shared out by its entries as well.
        self.cut = g.groups == 1 and not self.joint
        self.pieces = min(-(-wanted // self.blocks), max(1, entries // self.entries)) if self.cut else 1
        self.shares = min(self.blocks, wanted) if self.pieces == 1 else self.blocks * self.pieces

    @property
    def units(self) -> int:
        """Units of work."""
        return self.chunks * self.shares

    def text(self) -> SharedText:
        """The kernel over all units; sizes: batch, image, result."""
        g = self.g
        rank, last = g.rank, g.rank - 1
        text = SharedText("batch", *[f"n{k}" for k in range(rank)], *[f"m{k}" for k in range(rank)])
        axes = Axes(g, text)
        text("x = buffers[0]", "dy = buffers[1]", "part = buffers[2]")
        for name, value in (("c", g.c), ("f", g.f), ("chunks", self.chunks), ("shares", self.shares)):
            text.number(name, value)
        text.number("blocks", self.blocks * self.pieces)
        text.number("size", g.filter_size)
        groups = text.number("groups", g.groups) if g.groups > 1 else "1"
        text(f"all_c = c * {groups}", f"all_f = f * {groups}")
        for k in range(rank):
            axes.before(k, f"n{k}", f"m{k}")
        lines = "batch" + "".join(f" * m{k}" for k in range(last - 1))  # of all axes but the last two
        text(f"total = {lines} * m{last - 1}", "length = (total + chunks - 1) // chunks")
        text.open("for unit in range(begin, end):")
        text("chunk = unit // shares", "share = unit % shares")
        text("low = chunk * length", "high = min(low + length, total)")
        text("from_block = blocks * share // shares", "to_block = blocks * (share + 1) // shares")
        text("base = chunk * size")
        if self.cut:
            text.number("pieces", self.pieces)
            text.number("runs", self.n_entries // self.entries)
            for end in ("from", "to"):
                first = self._run(f"({end}_block % pieces)")
                text(f"{end}_at = base + ({end}_block // pieces * c + {first}) * f")
            text.open("for e in range(from_at, to_at):")
            text("part[e] = float32(0.0)")
            text.close()
        elif g.groups == 1:
            text("inner = size // blocks")
            text.open("for e in range(base + from_block * inner, base + to_block * inner):")
            text("part[e] = float32(0.0)")
            text.close()
        else:
            text.open("for block in range(from_block, to_block):")
            text("group = block % groups", "tap = block // groups")
            text.open("for e in range(c):")
            text("at = base + (tap * c + e) * all_f + group * f")
            text.open("for to in range(at, at + f):")
            text("part[to] = float32(0.0)")
            text.close(3)
        text("row = low")
        text.open("while row < high:")
        # At most one image (volume: one slice) at once, so that it stays in the cache for all taps and entries.
        passing = text.number("passing", PASS // max(g.c, g.f))
        text(
            f"o_low = row % m{last - 1}",
            f"o_high = min(m{last - 1}, o_low + min(high - row, max(1, {passing} // m{last})))",
            f"outer = row // m{last - 1}",
        )
        rest = "outer"
        for k in range(last - 2, -1, -1):
            text(f"o{k} = {rest} % m{k}", f"rest{k} = {rest} // m{k}")
            rest = f"rest{k}"
        text(f"image = {rest}")
        text.open("for block in range(from_block, to_block):")
        rest = "block"
        if g.groups > 1:
            text("group = block % groups", "taps = block // groups")
            rest = "taps"
        elif self.cut:
            text("group = 0", "piece = block % pieces", "taps = block // pieces")
            rest = "taps"
        else:
            text("group = 0")
        for k in range(last - 1 if self.joint else last, 0, -1):
            text(f"k{k} = {rest} % {axes.window(k)}", f"left{k} = {rest} // {axes.window(k)}")
            rest = f"left{k}"
        text(f"k0 = {rest}")
        self._rows(text, axes)
        if self.joint:
            self._joint(text, axes)
        else:
            self._columns(text, axes, f"k{last}")
            self._entries(text, axes, f"k{last}", "c_low", "c_high", "entries", self.n_entries, self.entries)
        text.close()
        text("row += o_high - o_low")
        text.close()
        return text

    def _run(self, piece: str) -> str:
        """The first entry of a piece."""
        return f"runs * {piece} // pieces * {self.entries}"

    def _rows(self, text: SharedText, axes: Axes) -> None:
        """`r_low`, `r_high`: the rows whose tap is inside; `x_row`, `dy_row`: where the first of them begins."""
        last = self.g.rank - 1
        k = last - 1
        s = axes.stride(k)
        text(f"shift = {axes.dilated(k, f'k{k}')} - a{k}")
        text(f"r_low = max(o_low, ({s} - 1 - shift) // {s})", f"r_high = min(o_high, (n{k} - 1 - shift) // {s} + 1)")
        place = "image"
        for j in range(k):
            text(f"p{j} = o{j} * {axes.stride(j)} + {axes.dilated(j, f'k{j}')} - a{j}")
            text.open(f"if p{j} < 0 or p{j} >= n{j}:")
            text("r_high = r_low")
            text.close()
            place = f"({place} * n{j} + p{j})"
        text(f"x_line = n{last} * all_c", f"dy_line = m{last} * all_f", "rows = max(0, r_high - r_low)")
        text(f"x_row = ({place} * n{k} + r_low * {s} + shift) * x_line + group * c")
        text(f"dy_row = (outer * m{k} + r_low) * dy_line + group * f")

    def _columns(self, text: SharedText, axes: Axes, tap: str) -> None:
        """`c_low`, `c_high`: the pixels along x whose tap is inside."""
        last = self.g.rank - 1
        s = axes.stride(last)
        text(f"move = {axes.dilated(last, tap)} - a{last}")
        text(
            f"c_low = max(0, ({s} - 1 - move) // {s})",
            f"c_high = max(c_low, min(m{last}, (n{last} - 1 - move) // {s} + 1))",
        )

    def _joint(self, text: SharedText, axes: Axes) -> None:
        """All taps along x together where all are inside, each alone at the edges."""
        g, last = self.g, self.g.rank - 1
        together = ("entries", self.n_entries, self.entries)
        if g.padding == "VALID":
            text("move = 0")
            self._entries(text, axes, "0", "0", f"m{last}", *together)
            return
        self._columns(text, axes, "0")
        text("i_low = c_low")
        self._columns(text, axes, f"{axes.window(last)} - 1")
        text("i_high = max(i_low, c_high)", "move = -a" + str(last))
        self._entries(text, axes, "0", "i_low", "i_high", *together)
        text.open(f"for tap in range({axes.window(last)}):")
        self._columns(text, axes, "tap")
        text("to_low, to_high = min(c_high, i_low), max(c_low, i_high)")
        text.open("for side in range(2):")
        text.open("if side == 0:")
        text("e_low = c_low", "e_high = max(c_low, to_low)")
        text.close()
        text.open("else:")
        text("e_low = to_high", "e_high = max(to_high, c_high)")
        text.close()
        self._entries(text, axes, "tap", "e_low", "e_high", "edges", g.c, shared(g.c, self.each))
        text.close(2)

    def _entries(
        self, text: SharedText, axes: Axes, tap: str, low: str, high: str, name: str, n_entries: int, each: int
    ) -> None:
        """The calls for a run of entries of the filter at one tap, over the pixels low..high of all rows.

        `name`: of the number of entries that blocks of `each` take.
        """
        last = self.g.rank - 1
        s = axes.stride(last)
        taps = f"(block * {axes.window(last)} + {tap})" if self.joint else "taps"
        text(f"x_at = x_row + ({low} * {s} + move) * all_c", f"dy_at = dy_row + {low} * all_f")
        text(f"to = base + {taps} * c * all_f + group * f")
        text(f"loops = (rows, {axes.stride(last - 1)} * x_line, dy_line, {high} - {low}, {s} * all_c, all_f)")

        def block(first: str, n: int) -> None:
            def call(v: str, n_v: int, tail: int) -> str:
                x = f"pointer_float32(x, x_at + {first})"
                y = f"pointer_float32(dy, dy_at + {v})"
                out = f"pointer_float32(part, to + {first} * all_f + {v})"
                return block_call(n, n_v, self.lanes, tail, ADD, x, y, out, "1, all_f", "loops")

            over_blocks(text, self.n_vectors, self.each, self.lanes, self.tail, call, looped=False)

        whole, rest = divmod(n_entries, each)
        if whole and self.cut:
            text.open(f"for first in range({self._run('piece')}, {self._run('(piece + 1)')}, {each}):")
        elif whole:
            text.open(f"for first in range(0, {text.number(name, whole * each)}, {each}):")
        if whole:
            block("first", each)
            text.close()
        if rest and self.cut:
            text.open("if piece == pieces - 1:")
        if rest:
            block(text.number(name, whole * each) if whole else "0", rest)
        if rest and self.cut:
            text.close()


def combined(size: int, chunks: int) -> SharedText:
    """The kernel that adds up `chunks` parts of `size` elements in their order, in pieces of 256 elements."""
    text = SharedText()
    text("part = buffers[0]", "y = buffers[1]")
    text.number("size", size)
    text.number("chunks", chunks)
    text.open("for i in range(begin, end):")
    text("low = i * 256", "high = min(low + 256, size)")
    text.open("for e in range(low, high):")
    text("y[e] = part[e]")
    text.close()
    text.open("for chunk in range(1, chunks):")
    text("at = chunk * size")
    text.open("for e in range(low, high):")
    text("y[e] += part[at + e]")
    text.close(3)
    return text
