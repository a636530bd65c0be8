"""Results of convolutions, and their gradients to the input, as kernels over rows of pixels.

Rule: a gradient to the input is the correlation of what comes back with the turned filter; with strides there is one
such correlation for each phase of the pixels, each with the taps that its pixels see. Where a pixel has few results (an
image of one to three channels), the lanes of vectors are terms of one sum, and the filter is laid out for that. A large
filter lies in panels, one for each block of results: rows a power of two apart would share few places of the caches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastgraph.compiler.library.register_blocks import (
    STORE,
    Axes,
    Geometry,
    SharedText,
    block_call,
    most_broadcast,
    over_blocks,
    vectors,
    width,
)
from fastgraph.compiler.program.kernel_spec import SIDES

#: Floats of a padded piece of the input that a kernel keeps on its stack.
SCRATCH = 1 << 16
#: Results of a pixel up to which lanes are the terms of one of them, where there are enough: a vector of so few results
#: is nearly empty.
FEW = 4
#: Bytes of a filter from which on a panel of it stays in the cache while all rows pass by, not the rows.
LARGE_FILTER = 1 << 19
#: Side of the blocks that a filter is turned in.
SIDE = SIDES[4]


class Correlation:
    """out[n, *i, co] = sum of source[n, *(first + tap), ci] * filter[tap, ci, co], row of pixels by row of pixels."""

    def __init__(self, g: Geometry, turned: bool, ending: int = STORE, pixels: int | None = None) -> None:
        """`pixels`: how many a row of the result has, where that is known; others are right too, not as fast."""
        self.g = g
        self.ending = ending
        self.turned = turned
        self.c, self.f = (g.f, g.c) if turned else (g.c, g.f)
        self.c_all = self.c * g.groups
        # Along x: distance of neighbouring pixels in the source, and of those computed together in the result.
        self.move = 1 if turned else g.strides[-1]
        self.apart = g.strides[-1] if turned else 1
        self.merged = g.groups == 1 and g.dilations[-1] == 1  # taps along x and channels are one run of memory
        self.lanes, self.tail, self.n_vectors, self.each = vectors(self.f)
        self.few = self.merged and self.f <= FEW and g.window[-1] // self.apart * self.c >= width().lanes
        if self.few:
            self.lanes, self.each = width().lanes, self.f
        self.blocks = -(-self.n_vectors // self.each)
        self.looped = self.blocks > 1 and 4 * g.filter_size > LARGE_FILTER
        self.packed = g.groups == 1 and not self.few and (turned or self.looped)
        self.options = self._options(None if pixels is None else -(-pixels // self.apart))

    @property
    def panel(self) -> int:
        """Results of a panel of the filter."""
        return self.each * self.lanes

    @property
    def filter_room(self) -> int:
        """The number of elements of the filter as the kernel reads it."""
        whole = self.g.filter_size
        return whole // self.f * self.blocks * self.panel if self.packed else whole

    def fits(self) -> bool:
        """Return whether the padded piece of the source has a place."""
        return self.room(1) <= SCRATCH

    def reach(self, n: int) -> int:
        """Pixels of the source under n pixels."""
        return (n - 1) * self.move + (self.g.window[-1] - 1) * self.g.dilations[-1] + 1

    def room(self, n: int) -> int:
        return math.prod(self.g.window[:-1]) * self.reach(n) * self.c_all

    def _options(self, count: int | None) -> list[int]:
        """The numbers of pixels computed together, largest first; 1 is always there.

        Each is a block of its own that has to be compiled: where the number of pixels is known the best of them is
        kept, and one for rows that turn out to be short.
        """
        most = most_broadcast(self.each)
        sizes = (14, 13, 12, 8, *[7] * (count is not None), 4) if most >= 12 else (8, 6, 4, 2)
        found = [n for n in sizes if n <= most and self.room(n) <= SCRATCH]
        if count is not None:
            best = min((n for n in found if n <= count), key=lambda n: -(-count // n) * self._price(n), default=1)
            found = [n for n in found if n == best or n == min(found, key=lambda n: abs(n - 4))]
        return [*found, 1]

    def _price(self, n: int) -> int:
        """The cost of n pixels together: the units add at most two vectors in a cycle, and the sums are stored."""
        return max(n * self.each, 8) + 2

    def text(self) -> SharedText:
        """The kernel over all rows of pixels of the result, if `looped` those for one panel after the other.

        Sizes: the image that is read, the one that is written; if `looped`, how many rows there are.
        """
        g, rank = self.g, self.g.rank
        names = [*[f"n{k}" for k in range(rank)], *[f"m{k}" for k in range(rank)], *["rows"] * self.looped]
        text = SharedText(*names)
        axes = Axes(g, text)
        text("x = buffers[0]", "w = buffers[1]")
        text(*(["y = buffers[2]"] if self.ending == STORE else ["bias = buffers[2]", "y = buffers[3]"]))
        for name, value in (("c", self.c), ("f", self.f)):
            text.number(name, value)
        groups = text.number("groups", g.groups) if g.groups > 1 else "1"
        text(f"all_c = c * {groups}", f"all_f = f * {groups}")
        for k in range(rank):
            whole, windows = (f"m{k}", f"n{k}") if self.turned else (f"n{k}", f"m{k}")
            axes.before(k, whole, windows)
        text(f"scratch = local_float32({self._scratch()})")
        if self.apart == 1:
            self._choose(text, f"m{rank - 1}")
        if self.looped:  # each panel of the filter is used by all rows before the next one comes
            text.open("for unit in range(begin, end):")
            text("block = unit // rows", "i = unit % rows")
        else:
            text.open("for i in range(begin, end):")
        rest = "i"
        for k in range(rank - 2, -1, -1):
            text(f"o{k} = {rest} % m{k}", f"rest{k} = {rest} // m{k}")
            rest = f"rest{k}"
        text(f"image = {rest}")
        for k in range(rank - 1):
            self._rows(text, axes, k)
        if self.apart > 1:
            self._phases(text, axes)
        else:
            last = rank - 1
            reach = axes.dilated(last, f"{axes.window(last)} - 1")
            text(f"left = a{last} - ({reach})" if self.turned else f"left = -a{last}")
            text(f"taps{last} = {axes.window(last)}", "first = 0", f"count = m{last}")
        if g.groups > 1:
            text.open("for group in range(groups):")
        else:
            text("group = 0")
        self._filter_place(text, axes)
        self._pixels(text, axes)
        return text

    def _scratch(self) -> int:
        """Floats of the padded piece: one of two numbers, or each would be a kernel of its own."""
        return SCRATCH if self.room(self.options[0]) > SCRATCH >> 2 else SCRATCH >> 2

    def _choose(self, text: SharedText, count: str) -> None:
        """Choose how many pixels to compute together: the least waste where the last ones overlap the ones before."""
        text("best = 1", f"price = {count} * {max(self.each, 4) + 2}")
        for n in reversed(self.options[:-1]):
            text(f"trial = ({count} + {n - 1}) // {n} * {self._price(n)}")
            text.open(f"if {count} >= {n} and trial <= price:")
            text(f"best = {n}", "price = trial")
            text.close()

    def _rows(self, text: SharedText, axes: Axes, k: int) -> None:
        """Write `b`, where this row's window begins along an outer axis, and its taps `t`, `u` inside the source."""
        s, d = axes.stride(k), axes.dilation(k)
        if not self.turned:
            text(f"b{k} = o{k} * {s} - a{k}", f"taps{k} = {axes.window(k)}")
        elif self.g.strides[k] == 1:
            reach = axes.dilated(k, f"{axes.window(k)} - 1")
            text(f"b{k} = o{k} + a{k} - ({reach})", f"taps{k} = {axes.window(k)}")
        else:
            text(f"q{k} = (o{k} + a{k}) % {s}", f"taps{k} = max(0, ({axes.window(k)} + {s} - 1 - q{k}) // {s})")
            text(f"b{k} = (o{k} + a{k}) // {s} - taps{k} + 1")
        if d == "1":
            text(f"t{k} = max(0, -b{k})", f"u{k} = min(taps{k}, n{k} - b{k})", f"b{k} += t{k}")
        else:
            text(f"t{k} = max(0, ({d} - 1 - b{k}) // {d})", f"u{k} = min(taps{k}, (n{k} - b{k} + {d} - 1) // {d})")
            text(f"b{k} += t{k} * {d}")
        text(f"rows{k} = max(0, u{k} - t{k})")

    def _phases(self, text: SharedText, axes: Axes) -> None:
        """Along x, with strides and a turned filter: every `apart`th pixel sees the same taps."""
        last = self.g.rank - 1
        s = axes.stride(last)
        text.open(f"for q{last} in range({s}):")
        text(f"first = (q{last} - a{last}) % {s}", f"count = (m{last} - first + {s} - 1) // {s}")
        text(f"taps{last} = max(0, ({axes.window(last)} + {s} - 1 - q{last}) // {s})")
        text(f"left = (first + a{last}) // {s} - taps{last} + 1")
        self._choose(text, "count")

    def _filter_place(self, text: SharedText, axes: Axes) -> None:
        """`place`: where the taps of this row begin in the filter; `line{k}`: from one tap along axis k to the next.

        `filter_row`: from one channel to the next.
        """
        g, last = self.g, self.g.rank - 1
        row = text.number("panel", self.panel) if self.packed else "f" if self.turned else "all_f"
        text(f"filter_row = {row}", "inner = c * filter_row")
        windows = " * ".join([axes.window(k) for k in range(g.rank)]) if self.turned and g.groups > 1 else "1"
        text(f"place = group * {windows} * inner" if self.turned else "place = group * f")
        text(f"line{last - 1} = taps{last} * inner")
        for k in range(last - 2, -1, -1):
            text(f"line{k} = line{k + 1} * taps{k + 1}")
        if self.turned:
            for k in range(g.rank):
                if g.strides[k] > 1:  # the taps of the phases before this one, which `turned_filter` put there
                    window, s = axes.window(k), axes.stride(k)
                    factors = [f"taps{j}" for j in range(k)] + [axes.window(j) for j in range(k + 1, g.rank)]
                    before = f"(q{k} * ({window} // {s}) + min(q{k}, {window} % {s}))"
                    text(f"place += {' * '.join([before, *factors, 'inner'])}")
        for k in range(last):
            text(f"place += t{k} * line{k}")

    def _pixels(self, text: SharedText, axes: Axes) -> None:
        """All pixels of one row: blocks straight from the source, and by way of a padded piece at its edges."""
        last = self.g.rank - 1
        reach = f"{axes.dilated(last, f'taps{last} - 1')} + 1"
        self._along(text, axes)
        strides = []  # of the outer axes in the source, in floats
        step = f"n{last} * all_c"
        for k in range(last - 1, -1, -1):
            strides.append((k, axes.dilated(k, step), step))
            step = f"{step} * n{k}"
        text(f"origin = image * {step}" + "".join(f" + b{k} * {one}" for k, _, one in strides))
        text(f"target = i * m{last} * all_f + group * f")
        text.open("for j0 in range(0, count, best):")
        text("j = min(j0, count - best)", "p0 = left + j * move", f"p1 = p0 + (best - 1) * move + {reach}")
        text.open(f"if p0 >= 0 and p1 <= n{last}:")
        text("xp = pointer_float32(x, origin + p0 * all_c + group * c)")
        text(*[f"xs{k} = {far}" for k, far, _ in strides])
        text.close()
        text.open("else:")
        self._copy(text, strides)
        text.close()
        # Common expressions of the calls stand before them once: each statement costs time in the compiler.
        loops = [f"rows{k}, xs{k}, line{k}" for k in range(last)]
        if self.merged:
            # A block of few results goes over the taps by itself.
            loops += [] if self.few else [f"taps{last} * c, 1, filter_row"]
        else:
            loops += [f"taps{last}, {axes.dilated(last, 'all_c')}, inner", "c, 1, filter_row"]
        text(f"loops = ({', '.join(loops)})", "wp = pointer_float32(w, place)")
        text("yp = pointer_float32(y, target + (first + j * apart) * all_f)")
        if self.ending != STORE:
            text("bp = pointer_float32(bias, group * f)")
        for number, n in enumerate(self.options):
            last_one = number == len(self.options) - 1
            text.open("else:" if last_one and number else f"{'elif' if number else 'if'} best == {n}:")
            self._blocks(text, n)
            text.close()

    def _along(self, text: SharedText, axes: Axes) -> None:
        """`move`, `apart`: along x, the distance of neighbouring pixels in the source and in the result."""
        s = axes.stride(self.g.rank - 1)
        text(f"move = {'1' if self.turned else s}", f"apart = {s if self.turned and self.apart > 1 else '1'}")
        text("x_by = move * all_c", "y_by = apart * all_f")

    def _copy(self, text: SharedText, strides: Sequence[tuple[int, str, str]]) -> None:
        """The piece of the source under these pixels, with zeros where it reaches over an edge, in `scratch`."""
        last = self.g.rank - 1
        text("wide = (p1 - p0) * all_c", "low = min(max(0, -p0) * all_c, wide)")
        text(f"high = max(low, min(wide, (n{last} - p0) * all_c))")
        outer = sorted(k for k, _, _ in strides)
        far = {k: text_ for k, text_, _ in strides}
        row = "0"
        for k in outer:
            text.open(f"for r{k} in range(rows{k}):")
            row = f"r{k}" if row == "0" else f"({row}) * rows{k} + r{k}"
        text(f"to = ({row}) * wide")
        text("at = origin + p0 * all_c" + "".join(f" + r{k} * {far[k]}" for k in outer))
        for bounds, value in (("low", "float32(0.0)"), ("low, high", "x[at + e]"), ("high, wide", "float32(0.0)")):
            text.open(f"for e in range({bounds}):")
            text(f"scratch[to + e] = {value}")
            text.close()
        text.close(len(outer))
        text("xp = pointer_float32(scratch, group * c)")
        line = "wide"
        for k in reversed(outer):
            text(f"xs{k} = {line}")
            line = f"{line} * rows{k}"

    def _blocks(self, text: SharedText, n: int) -> None:
        """The calls that compute n pixels, all channels."""
        if self.few:
            shape = f"({n}, {self.f}, {self.lanes}, {self.ending}, {int(self.apart == 1)})"
            places = f"xp, wp, yp, {'yp' if self.ending == STORE else 'bp'}"
            text(f"few_float32({shape}, {places}, x_by, y_by, taps{self.g.rank - 1} * c, loops)")
            return

        def call(first: str, n_v: int, tail: int) -> str:
            panel = f"{first} * depth" if self.packed else first
            y, target, also = (
                name if at == "0" else f"pointer_float32({name}, {at})"
                for name, at in (("wp", "0" if first == "0" else panel), ("yp", first), ("bp", first))
            )
            return block_call(
                n, n_v, self.lanes, tail, self.ending, "xp", y, target, "x_by, y_by", "loops",
                "" if self.ending == STORE else also,
            )  # fmt: skip

        if self.packed:
            text.number("depth", self.g.filter_size // self.f)
        over_blocks(text, self.n_vectors, self.each, self.lanes, self.tail, call, self.looped)

    def packed_filter(self) -> SharedText:
        """The kernel that lays a filter out in panels [block][position][c][result], block by block of each position.

        A turned one has the order of `turned_filter` in each.
        """
        g, text = self.g, SharedText()
        axes, panel = Axes(g, text), text.number("panel", self.panel)  # of any width: a network has several
        text("w = buffers[0]", "y = buffers[1]")
        for name, value in (("c", self.c), ("f", self.f), ("blocks", self.blocks), ("depth", g.filter_size // self.f)):
            text.number(name, value)
        text.open("for unit in range(begin, end):")
        text("i = unit // blocks", f"first = unit % blocks * {panel}", f"wide = min({panel}, f - first)")
        if self.turned:
            _turned_place(text, axes, g, f"c * {panel}")
            text("to = first * depth + place + turned", "at = (i * f + first) * c")
            text(f"high = c // {SIDE} * {SIDE}", f"whole = wide // {SIDE} * {SIDE}")
            text.open(f"for l in range(0, whole, {SIDE}):")
            text.open(f"for e in range(0, high, {SIDE}):")
            text(f"turned_block(y, to + e * {panel} + l, {panel}, w, at + l * c + e, c)")
            text.close(2)
            text.open("for e in range(c):")
            text.open("for l in range(whole if e < high else 0, wide):")
            text(f"y[to + e * {panel} + l] = w[at + l * c + e]")
            text.close(3)
            return text
        text("to = first * depth + i * c * panel", "at = i * c * f + first")
        text.open("for e in range(c):")
        text.open("for l in range(wide):")
        text(f"y[to + e * {panel} + l] = w[at + e * f + l]")
        text.close(3)
        return text


def few_filter(g: Geometry) -> SharedText:
    """The kernel that lays a filter out for few results: [tap of axis 0]..[f][tap of the last axis][c]."""
    text = SharedText()
    text("w = buffers[0]", "y = buffers[1]")
    for name, value in (("c", g.c), ("f", g.f), ("last", g.window[-1])):
        text.number(name, value)
    text.open("for i in range(begin, end):")
    text.open("for r in range(f):")
    text.open("for e in range(c):")
    text("y[((i // last * f + r) * last + i % last) * c + e] = w[(i * c + e) * f + r]")
    text.close(3)
    return text


def turned_filter(g: Geometry, few: bool) -> SharedText:
    """The kernel that lays a filter out for the gradient to the input, position by position of the window.

    [group][phase of axis 0]..[phase of the last axis][tap of axis 0, from the last to the first]..[f][c]: each phase of
    a strided convolution has the taps that its pixels see, in the order in which a correlation meets them. If `few`, c
    stands before the taps of the last axis.
    """
    text = SharedText()
    axes = Axes(g, text)
    text("w = buffers[0]", "y = buffers[1]")
    for name, value in (("c", g.c), ("f", g.f), ("groups", g.groups), ("size", math.prod(g.window) * g.c * g.f)):
        text.number(name, value)
    text.open("for i in range(begin, end):")
    _turned_place(text, axes, g, "c * f")
    to = "place + turned + group * size + r * c + e"
    if few:
        along = f"taps{g.rank - 1}"
        text("turned = turned // inner")
        to = f"place + turned // {along} * {along} * inner + (e * {along} + turned % {along}) * f + r"
    text.open("for group in range(groups):")
    text.open("for r in range(f):")
    text.open("for e in range(c):")
    text(f"y[{to}] = w[(i * c + e) * f * groups + group * f + r]")
    text.close(4)
    return text


def _turned_place(text: SharedText, axes: Axes, g: Geometry, inner: str) -> None:
    """`place`: where the phase of position i of the window begins; `turned`: how far behind that i stands.

    `inner`: the numbers of a position.
    """
    text(f"inner = {inner}")
    rest = "i"
    for k in range(g.rank - 1, 0, -1):
        text(f"k{k} = {rest} % {axes.window(k)}", f"rest{k} = {rest} // {axes.window(k)}")
        rest = f"rest{k}"
    text(f"k0 = {rest}")
    text("place = 0")
    for k in range(g.rank):
        s, window = axes.stride(k), axes.window(k)
        # In its phase the tap is number k // s; turned, it counts from the end.
        text(f"q{k} = k{k} % {s}", f"taps{k} = ({window} + {s} - 1 - q{k}) // {s}")
        factors = [f"taps{j}" for j in range(k)] + [axes.window(j) for j in range(k + 1, g.rank)] + ["inner"]
        text(f"place += (q{k} * ({window} // {s}) + min(q{k}, {window} % {s})) * {' * '.join(factors)}")
    text("turned = 0")
    for k in range(g.rank):
        text(f"turned = turned * taps{k} + taps{k} - 1 - k{k} // {axes.stride(k)}")
    text("turned *= inner")
