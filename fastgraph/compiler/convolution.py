"""Convolutions -> kernels: steps whose sums of products stay in vector registers, for float32 and known filters.

Rule: a kernel is special to the filter's extents, the strides and dilations, and to the CPU's vector width; batch and
image are run-time sizes. Work is cut along rows of the result (the filter's gradient: into a fixed number of chunks of
rows, added up in their order), so where it is cut does not change a bit.

What differs is only where operands stand. A result, and a gradient to the input (the result's convolution with the
turned filter; with strides one such convolution for each phase), are `_correlation`; a gradient to the filter is
`_filter_gradient`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastgraph.compiler.kernel import KernelSpec
from fastgraph.compiler.program import KernelStep, Size
from fastgraph.graph.ir import Node, Value

#: Floats of a padded piece of the input that a kernel keeps on its stack.
SCRATCH = 1 << 16
#: Chunks of rows whose parts of a filter's gradient are added up, and floats of all of them at most.
CHUNKS = 16
PARTIAL = 1 << 20
#: Bytes of a filter's block from which on it stays in the cache while all rows pass by, not the rows.
LARGE_FILTER = 1 << 19
#: Floating-point operations per nanosecond of one thread that the estimates reckon with.
FLOPS_NS = 90.0
_IMPORTS = ("block_float32", "local_float32", "pointer_float32")


@dataclass(frozen=True)
class Geometry:
    """What is known of one convolution before any run: all about the filter. `c`, `f`: channels of one group."""

    window: tuple[int, ...]
    c: int
    f: int
    groups: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Any

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.window)

    @property
    def filter_size(self) -> int:
        """The number of elements of the filter."""
        return math.prod(self.window) * self.c * self.f * self.groups


@dataclass(frozen=True)
class Width:
    """The vectors of this CPU, as far as blocks are concerned."""

    lanes: int
    registers: int


@cache
def width() -> Width:
    """The vectors of the CPU that kernels are compiled for."""
    from fastgraph.compiler.target import host

    this = host()
    if this.vector_bits == 512:
        return Width(16, 32)
    if "+avx" in this.features:
        return Width(8, 16)
    return Width(4, 32 if this.triple.startswith("aarch64") else 16)


# ---- which nodes ----------------------------------------------------------------------------------------------------


def geometry(node: Node, shape_of: Callable[[Value], Any]) -> Geometry | None:
    """The geometry of a convolution that has a kernel of blocks, else None. `shape_of`: run-time (witness) shapes."""
    if node.op.step != "convolution" or node.outputs[0].aval.dtype.name != "float32":
        return None
    x, filter, _ = operands(node)
    noted = filter.aval.shape if filter is not node.outputs[0] else shape_of(filter)
    dims, image = shape_of(filter), shape_of(x)
    if noted is None or None in noted or dims is None or image is None or 0 in dims or dims[-2] == 0:
        return None
    *window, c, f = dims
    groups = image[-1] // c
    attrs = node.attrs
    made = Geometry(tuple(window), c, f // groups, groups, attrs["strides"], attrs["dilations"], attrs["padding"])
    if groups > 1 and min(made.c, made.f) < 4:
        return None  # a vector would be nearly empty: the loop nest goes over all channels
    if node.op.name.endswith("input_grad") and any(
        s > 1 and d > 1 for s, d in zip(made.strides, made.dilations, strict=True)
    ):
        return None
    fits = _Correlation(made, turned=node.op.name.endswith("input_grad")).fits()
    return made if fits or node.op.name.endswith("filter_grad") else None


def operands(node: Node) -> tuple[Value, Value, Value]:
    """(x, filter, result) of the convolution that a node or its gradient belongs to; what is computed is among them."""
    if node.op.name.endswith("input_grad"):
        return node.outputs[0], node.inputs[1], node.inputs[2]
    if node.op.name.endswith("filter_grad"):
        return node.inputs[0], node.outputs[0], node.inputs[2]
    return node.inputs[0], node.inputs[1], node.outputs[0]


# ---- text -----------------------------------------------------------------------------------------------------------


class Text:
    """Lines of a kernel's source."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def __call__(self, *lines: str) -> None:
        """Append lines."""
        self.lines += ["    " * self.depth + line for line in lines]

    def open(self, header: str) -> None:
        """Append a header; what follows is inside it."""
        self(header)
        self.depth += 1

    def close(self, n: int = 1) -> None:
        """End the last n headers."""
        self.depth -= n

    def source(self) -> str:
        """The whole function."""
        return "def kernel(buffers, sizes, begin, end):\n" + "\n".join(self.lines) + "\n    return 0\n"


def _vectors(f: int) -> tuple[int, int, int, int]:
    """(lanes, lanes of the last vector, vectors, vectors in a block) for rows of f numbers."""
    lanes = width().lanes
    while lanes > 4 and lanes // 2 >= f:
        lanes //= 2
    n = -(-f // lanes)
    most = 4 if width().registers >= 32 else 2
    return lanes, f - (n - 1) * lanes, n, -(-n // -(-n // most))


def _most(n_vectors: int) -> int:
    """How many numbers to broadcast against so many vectors: all sums, the vectors and one more are in registers."""
    return max(1, min(14, (width().registers - n_vectors - 2) // n_vectors))


def _shared(entries: int, n_vectors: int) -> int:
    """Into runs of how many to cut entries of a filter's gradient: even ones, as long as their sums fit registers."""
    most = max(1, (width().registers - n_vectors - 2) // n_vectors)
    return entries if entries <= most else -(-entries // -(-entries // min(most, 16)))


def _turns(n: int) -> int:
    """How many sets of n sums take turns, so that none waits for itself (two units, four cycles)."""
    return max(1, 8 // n)


def _call(n_p: int, n_v: int, lanes: int, tail: int, adds: bool, x: str, y: str, out: str, steps: str, loops: str) -> str:
    shape = f"({n_p}, {n_v}, {lanes}, {tail}, {_turns(n_p * n_v)}, {int(adds)})"
    return f"block_float32({shape}, {x}, {y}, {out}, {steps}, ({loops}))"


def _before(text: Text, name: str, n: str, m: str, k: int, s: int, d: int, padding: Any) -> None:
    """The line that says how far windows reach over the beginning of an axis."""
    if padding == "VALID":
        text(f"{name} = 0")
    elif padding == "SAME":
        text(f"{name} = max(({m} - 1) * {s} + {(k - 1) * d + 1} - {n}, 0) // 2")
    else:
        text(f"{name} = {padding[0]}")


def _pad_of(g: Geometry, axis: int) -> Any:
    return g.padding if isinstance(g.padding, str) else g.padding[axis]


# ---- result, and gradient to the input ------------------------------------------------------------------------------


class _Correlation:
    """out[n, *i, co] = sum of source[n, *(first + tap), ci] * filter[tap, ci, co], row of pixels by row of pixels."""

    def __init__(self, g: Geometry, turned: bool) -> None:
        self.g = g
        self.turned = turned
        self.c, self.f = (g.f, g.c) if turned else (g.c, g.f)
        self.c_all, self.f_all = self.c * g.groups, self.f * g.groups
        # Along x: distance of neighbouring pixels in the source, and of those computed together in the result.
        self.move = 1 if turned else g.strides[-1]
        self.apart = g.strides[-1] if turned else 1
        self.merged = g.groups == 1 and g.dilations[-1] == 1  # taps along x and channels are one run of memory
        self.lanes, self.tail, self.n_vectors, self.each = _vectors(self.f)
        self.options = self._options()

    def fits(self) -> bool:
        """Whether the padded piece of the source has a place."""
        return self.room(1) <= SCRATCH

    def reach(self, n: int) -> int:
        """Pixels of the source under n pixels."""
        return (n - 1) * self.move + (self.g.window[-1] - 1) * self.g.dilations[-1] + 1

    def room(self, n: int) -> int:
        return math.prod(self.g.window[:-1]) * self.reach(n) * self.c_all

    def _options(self) -> list[int]:
        """The numbers of pixels computed together, largest first; 1 is always there."""
        most = _most(self.each)
        sizes = (14, 13, 12, 8, 4) if most >= 12 else (8, 6, 4, 2)
        found = [n for n in sizes if n <= most and self.room(n) <= SCRATCH]
        return [*found, 1]

    def source(self) -> str:
        """The kernel over all rows of pixels of the result."""
        g, text = self.g, Text()
        rank = g.rank
        text("x = buffers[0]", "w = buffers[1]", "y = buffers[2]")
        # n: the image that is read, m: the image that is written.
        text(*[f"n{k} = sizes[{k}]" for k in range(rank)], *[f"m{k} = sizes[{rank + k}]" for k in range(rank)])
        for k in range(rank):
            whole, windows = (f"m{k}", f"n{k}") if self.turned else (f"n{k}", f"m{k}")
            _before(text, f"a{k}", whole, windows, g.window[k], g.strides[k], g.dilations[k], _pad_of(g, k))
        text(f"scratch = local_float32({self.room(self.options[0])})")
        if self.apart == 1:
            self._choose(text, f"m{rank - 1}")
        n_blocks = -(-self.n_vectors // self.each)
        looped = n_blocks > 1 and 4 * g.filter_size > LARGE_FILTER
        if looped:  # each block of the filter is used by all rows before the next one comes
            text.open(f"for block in range({n_blocks}):")
        text.open("for i in range(begin, end):")
        rest = "i"
        for k in range(rank - 2, -1, -1):
            text(f"o{k} = {rest} % m{k}", f"rest{k} = {rest} // m{k}")
            rest = f"rest{k}"
        text(f"image = {rest}")
        for k in range(rank - 1):
            self._rows(text, k)
        if self.apart > 1:
            self._phases(text)
        else:
            last = rank - 1
            reach = (g.window[last] - 1) * g.dilations[last]
            text(f"left = a{last} - {reach}" if self.turned else f"left = -a{last}")
            text(f"taps{last} = {g.window[last]}", "first = 0", f"count = m{last}")
        if g.groups > 1:
            text.open(f"for group in range({g.groups}):")
        else:
            text("group = 0")
        self._filter_place(text)
        self._pixels(text, looped)
        return text.source()

    def _choose(self, text: Text, count: str) -> None:
        """How many pixels to compute together: what wastes the least where the last ones overlap the ones before."""
        n_v = self.each
        text("best = 1", f"price = {count} * {max(n_v, 4) + 2}")
        for n in reversed(self.options[:-1]):
            each = max(n * n_v, 8) + 2
            text(f"trial = ({count} + {n - 1}) // {n} * {each}")
            text.open(f"if {count} >= {n} and trial <= price:")
            text(f"best = {n}", "price = trial")
            text.close()

    def _rows(self, text: Text, k: int) -> None:
        """Along an outer axis: `b`, where the window of this row begins, and its taps `t`, `u` inside the source."""
        g = self.g
        window, s, d = g.window[k], g.strides[k], g.dilations[k]
        if not self.turned:
            text(f"b{k} = o{k} * {s} - a{k}", f"taps{k} = {window}")
        elif s == 1:
            text(f"b{k} = o{k} + a{k} - {(window - 1) * d}", f"taps{k} = {window}")
        else:
            text(f"q{k} = (o{k} + a{k}) % {s}", f"taps{k} = max(0, ({window + s - 1} - q{k}) // {s})")
            text(f"b{k} = (o{k} + a{k}) // {s} - taps{k} + 1")
        if d == 1:
            text(f"t{k} = max(0, -b{k})", f"u{k} = min(taps{k}, n{k} - b{k})")
        else:
            text(f"t{k} = max(0, ({d - 1} - b{k}) // {d})", f"u{k} = min(taps{k}, (n{k} - b{k} + {d - 1}) // {d})")
        text(f"rows{k} = max(0, u{k} - t{k})", f"b{k} += t{k} * {d}")

    def _phases(self, text: Text) -> None:
        """Along x, with strides and a turned filter: every `apart`th pixel sees the same taps."""
        last, s = self.g.rank - 1, self.apart
        text.open(f"for q{last} in range({s}):")
        text(f"first = (q{last} - a{last}) % {s}", f"count = (m{last} - first + {s - 1}) // {s}")
        text(f"taps{last} = max(0, ({self.g.window[last] + s - 1} - q{last}) // {s})")
        text(f"left = (first + a{last}) // {s} - taps{last} + 1")
        self._choose(text, "count")

    def _filter_place(self, text: Text) -> None:
        """`place`: where the taps of this row begin in the filter; `line{k}`: from one tap along axis k to the next."""
        g, last = self.g, self.g.rank - 1
        self.filter_row = self.f if self.turned else self.f_all
        inner = self.c * self.filter_row
        group = math.prod(g.window) * inner if self.turned else self.f
        text(f"place = group * {group}")
        text(f"line{last - 1} = taps{last} * {inner}")
        for k in range(last - 2, -1, -1):
            text(f"line{k} = line{k + 1} * taps{k + 1}")
        if self.turned:
            for k in range(g.rank):
                if g.strides[k] > 1:  # the taps of the phases before this one, which `_turned_filter` put there
                    whole, part = divmod(g.window[k], g.strides[k])
                    factors = [f"taps{j}" for j in range(k)] + [str(math.prod(g.window[k + 1 :]) * inner)]
                    text(f"place += (q{k} * {whole} + min(q{k}, {part})) * {' * '.join(factors)}")
        for k in range(last):
            text(f"place += t{k} * line{k}")

    def _pixels(self, text: Text, looped: bool) -> None:
        """All pixels of one row: blocks straight from the source, and by way of a padded piece at its edges."""
        g, last = self.g, self.g.rank - 1
        d, reach = g.dilations[last], f"(taps{last} - 1) * {g.dilations[last]} + 1"
        strides = []  # of the outer axes in the source, in floats
        step = f"n{last} * {self.c_all}"
        for k in range(last - 1, -1, -1):
            strides.append((k, f"{step} * {g.dilations[k]}", step))
            step = f"{step} * n{k}"
        text(f"origin = image * {step}" + "".join(f" + b{k} * {one}" for k, _, one in strides))
        text(f"target = i * m{last} * {self.f_all} + group * {self.f}")
        text.open("for j0 in range(0, count, best):")
        text("j = min(j0, count - best)", f"p0 = left + j * {self.move}", f"p1 = p0 + (best - 1) * {self.move} + {reach}")
        text.open(f"if p0 >= 0 and p1 <= n{last}:")
        text(f"xp = pointer_float32(x, origin + p0 * {self.c_all} + group * {self.c})")
        text(*[f"xs{k} = {far}" for k, far, _ in strides])
        text.close()
        text.open("else:")
        self._copy(text, strides)
        text.close()
        out = f"target + (first + j * {self.apart}) * {self.f_all}"
        for number, n in enumerate(self.options):
            text.open(f"{'elif' if number else 'if'} best == {n}:")
            self._blocks(text, n, out, d, looped)
            text.close()

    def _copy(self, text: Text, strides: Sequence[tuple[int, str, str]]) -> None:
        """The piece of the source under these pixels, with zeros where it reaches over an edge, in `scratch`."""
        last = self.g.rank - 1
        text(f"wide = (p1 - p0) * {self.c_all}")
        text(f"low = min(max(0, -p0) * {self.c_all}, wide)", f"high = max(low, min(wide, (n{last} - p0) * {self.c_all}))")
        outer = sorted(k for k, _, _ in strides)
        far = {k: text_ for k, text_, _ in strides}
        row = "0"
        for k in outer:
            text.open(f"for r{k} in range(rows{k}):")
            row = f"r{k}" if row == "0" else f"({row}) * rows{k} + r{k}"
        text(f"to = ({row}) * wide")
        text(f"at = origin + p0 * {self.c_all}" + "".join(f" + r{k} * {far[k]}" for k in outer))
        for bounds, value in (("low", "float32(0.0)"), ("low, high", "x[at + e]"), ("high, wide", "float32(0.0)")):
            text.open(f"for e in range({bounds}):")
            text(f"scratch[to + e] = {value}")
            text.close()
        text.close(len(outer))
        text(f"xp = pointer_float32(scratch, group * {self.c})")
        line = "wide"
        for k in reversed(outer):
            text(f"xs{k} = {line}")
            line = f"{line} * rows{k}"

    def _blocks(self, text: Text, n: int, out: str, d: int, looped: bool) -> None:
        """The calls that compute n pixels, all channels."""
        g = self.g
        loops = [f"rows{k}, xs{k}, line{k}" for k in range(g.rank - 1)]
        if self.merged:
            loops.append(f"taps{g.rank - 1} * {self.c}, 1, {self.filter_row}")
        else:
            loops.append(f"taps{g.rank - 1}, {d * self.c_all}, {self.c * self.filter_row}")
            loops.append(f"{self.c}, 1, {self.filter_row}")

        def call(first: str, n_v: int, tail: int) -> str:
            y = f"pointer_float32(w, place + {first})"
            target = f"pointer_float32(y, {out} + {first})"
            steps = f"{self.move * self.c_all}, {self.apart * self.f_all}"
            return _call(n, n_v, self.lanes, tail, False, "xp", y, target, steps, ", ".join(loops))

        _over_blocks(text, self.n_vectors, self.each, self.lanes, self.tail, call, looped)


def _over_blocks(
    text: Text, n_vectors: int, each: int, lanes: int, tail: int, call: Callable[[str, int, int], str], looped: bool
) -> None:
    """The calls for all vectors of a row, in blocks of `each`; if `looped`, for the block that `block` names."""
    n_blocks = -(-n_vectors // each)
    last = n_vectors - (n_blocks - 1) * each
    whole = n_blocks if last == each and tail == lanes else n_blocks - 1
    step = each * lanes
    if looped:
        text.open(f"if block < {whole}:")
        text(call(f"block * {step}", each, lanes))
        text.close()
    elif whole == 1:
        text(call("0", each, lanes))
    elif whole > 1:
        text.open(f"for v in range(0, {whole * step}, {step}):")
        text(call("v", each, lanes))
        text.close()
    if whole < n_blocks:
        if looped:
            text.open("else:")
        text(call(str(whole * step), last, tail))
        if looped:
            text.close()


def _turned_filter(g: Geometry) -> str:
    """The kernel that lays a filter out for the gradient to the input, position by position of the window.

    [group][phase of axis 0]..[phase of the last axis][tap of axis 0, from the last to the first]..[f][c]: each phase of
    a strided convolution has the taps that its pixels see, in the order in which a correlation meets them.
    """
    text = Text()
    text("w = buffers[0]", "y = buffers[1]")
    text.open("for i in range(begin, end):")
    rest = "i"
    for k in range(g.rank - 1, 0, -1):
        text(f"k{k} = {rest} % {g.window[k]}", f"rest{k} = {rest} // {g.window[k]}")
        rest = f"rest{k}"
    text(f"k0 = {rest}")
    inner = g.c * g.f
    text("place = 0")
    for k in range(g.rank):
        s, window = g.strides[k], g.window[k]
        whole, part = divmod(window, s)
        # In its phase the tap is number k // s; turned, it counts from the end.
        text(f"q{k} = k{k} % {s}", f"taps{k} = ({window + s - 1} - q{k}) // {s}")
        factors = [f"taps{j}" for j in range(k)] + [str(math.prod(g.window[k + 1 :]) * inner)]
        text(f"place += (q{k} * {whole} + min(q{k}, {part})) * {' * '.join(factors)}")
    text("turned = 0")
    for k in range(g.rank):
        text(f"turned = turned * taps{k} + taps{k} - 1 - k{k} // {g.strides[k]}")
    text(f"place += turned * {inner}")
    text.open(f"for group in range({g.groups}):")
    text.open(f"for f in range({g.f}):")
    text.open(f"for c in range({g.c}):")
    source = f"(i * {g.c} + c) * {g.f * g.groups} + group * {g.f} + f"
    text(f"y[place + group * {math.prod(g.window) * inner} + f * {g.c} + c] = w[{source}]")
    text.close(4)
    return text.source()


# ---- gradient to the filter -----------------------------------------------------------------------------------------


class _FilterGradient:
    """part[chunk][tap, c, f] = sum over the rows of a chunk of x[n, *(o * s + tap * d), c] * dy[n, *o, f].

    A unit of work is one chunk of rows and one share of the filter. Small filters have many chunks, large ones are
    shared out instead, so that the parts take little memory.
    """

    def __init__(self, g: Geometry) -> None:
        self.g = g
        self.chunks = max(1, min(CHUNKS, PARTIAL // max(g.filter_size, 1)))
        self.lanes, self.tail, self.n_vectors, self.each = _vectors(g.f)
        most = _most(self.each)
        # Few channels: the taps along x are computed together with them where every tap is inside.
        self.joint = g.groups == 1 and g.dilations[-1] == 1 and g.window[-1] > 1 and g.c * 2 <= most
        entries = g.c * g.window[-1] if self.joint else g.c
        self.entries = _shared(entries, self.each)
        self.n_entries = entries
        self.blocks = math.prod(g.window[:-1]) * g.groups * (1 if self.joint else g.window[-1])
        self.shares = min(self.blocks, -(-CHUNKS // self.chunks))

    @property
    def units(self) -> int:
        """Units of work."""
        return self.chunks * self.shares

    def source(self) -> str:
        """The kernel over all units."""
        g, text = self.g, Text()
        rank, last = g.rank, g.rank - 1
        text("x = buffers[0]", "dy = buffers[1]", "part = buffers[2]", "batch = sizes[0]")
        text(*[f"n{k} = sizes[{1 + k}]" for k in range(rank)], *[f"m{k} = sizes[{1 + rank + k}]" for k in range(rank)])
        for k in range(rank):
            _before(text, f"a{k}", f"n{k}", f"m{k}", g.window[k], g.strides[k], g.dilations[k], _pad_of(g, k))
        lines = "batch" + "".join(f" * m{k}" for k in range(last - 1))  # of all axes but the last two
        text(f"total = {lines} * m{last - 1}", f"length = (total + {self.chunks - 1}) // {self.chunks}")
        text.open("for unit in range(begin, end):")
        text(f"chunk = unit // {self.shares}", f"share = unit % {self.shares}")
        text(f"low = chunk * length", "high = min(low + length, total)")
        text(f"from_block = {self.blocks} * share // {self.shares}", f"to_block = {self.blocks} * (share + 1) // {self.shares}")
        inner = g.c * g.f * g.groups * (g.window[-1] if self.joint else 1)
        if g.groups == 1:
            text(f"base = chunk * {g.filter_size}")
            text.open(f"for e in range(base + from_block * {inner}, base + to_block * {inner}):")
            text("part[e] = float32(0.0)")
            text.close()
        else:
            text(f"base = chunk * {g.filter_size}")
            text.open("for block in range(from_block, to_block):")
            text(f"group = block % {g.groups}", f"tap = block // {g.groups}")
            text.open(f"for c in range({g.c}):")
            text(f"at = base + (tap * {g.c} + c) * {g.f * g.groups} + group * {g.f}")
            text.open(f"for e in range(at, at + {g.f}):")
            text("part[e] = float32(0.0)")
            text.close(3)
        text("row = low")
        text.open("while row < high:")
        # One image (volume: one slice) after the other, so that it stays in the cache for all taps.
        text(f"o_low = row % m{last - 1}", f"o_high = min(m{last - 1}, o_low + high - row)", f"outer = row // m{last - 1}")
        rest = "outer"
        for k in range(last - 2, -1, -1):
            text(f"o{k} = {rest} % m{k}", f"rest{k} = {rest} // m{k}")
            rest = f"rest{k}"
        text(f"image = {rest}")
        text.open("for block in range(from_block, to_block):")
        rest = "block"
        if g.groups > 1:
            text(f"group = block % {g.groups}", f"taps = block // {g.groups}")
            rest = "taps"
        else:
            text("group = 0")
        for k in range(last - 1 if self.joint else last, 0, -1):
            text(f"k{k} = {rest} % {g.window[k]}", f"left{k} = {rest} // {g.window[k]}")
            rest = f"left{k}"
        text(f"k0 = {rest}")
        self._rows(text)
        if self.joint:
            self._joint(text)
        else:
            self._columns(text, f"k{last}")
            self._entries(text, f"k{last}", "c_low", "c_high", self.n_entries, self.entries)
        text.close()
        text("row += o_high - o_low")
        text.close()
        return text.source()

    def _rows(self, text: Text) -> None:
        """`r_low`, `r_high`: the rows whose tap is inside; `x_row`, `dy_row`: where the first of them begins."""
        g, last = self.g, self.g.rank - 1
        k = last - 1
        s, d = g.strides[k], g.dilations[k]
        text(f"shift = k{k} * {d} - a{k}")
        text(f"r_low = max(o_low, ({s - 1} - shift) // {s})", f"r_high = min(o_high, (n{k} - 1 - shift) // {s} + 1)")
        c, f = g.c * g.groups, g.f * g.groups
        place = "image"
        for j in range(k):
            text(f"p{j} = o{j} * {g.strides[j]} + k{j} * {g.dilations[j]} - a{j}")
            text.open(f"if p{j} < 0 or p{j} >= n{j}:")
            text("r_high = r_low")
            text.close()
            place = f"({place} * n{j} + p{j})"
        text(f"x_line = n{last} * {c}", f"dy_line = m{last} * {f}", "rows = max(0, r_high - r_low)")
        text(f"x_row = ({place} * n{k} + r_low * {s} + shift) * x_line + group * {g.c}")
        text(f"dy_row = (outer * m{k} + r_low) * dy_line + group * {g.f}")

    def _columns(self, text: Text, tap: str) -> None:
        """`c_low`, `c_high`: the pixels along x whose tap is inside."""
        g, last = self.g, self.g.rank - 1
        s = g.strides[last]
        text(f"move = {tap} * {g.dilations[last]} - a{last}")
        text(f"c_low = max(0, ({s - 1} - move) // {s})", f"c_high = max(c_low, min(m{last}, (n{last} - 1 - move) // {s} + 1))")

    def _joint(self, text: Text) -> None:
        """All taps along x together where all are inside, each alone at the edges."""
        g, last = self.g, self.g.rank - 1
        if g.padding == "VALID":
            text("move = 0")
            self._entries(text, "0", "0", f"m{last}", self.n_entries, self.entries)
            return
        self._columns(text, "0")
        text("i_low = c_low")
        self._columns(text, str(g.window[last] - 1))
        text("i_high = max(i_low, c_high)", "move = -a" + str(last))
        self._entries(text, "0", "i_low", "i_high", self.n_entries, self.entries)
        text.open(f"for tap in range({g.window[last]}):")
        self._columns(text, "tap")
        text("to_low, to_high = min(c_high, i_low), max(c_low, i_high)")
        text.open("for side in range(2):")
        text.open("if side == 0:")
        text("e_low = c_low", "e_high = max(c_low, to_low)")
        text.close()
        text.open("else:")
        text("e_low = to_high", "e_high = max(to_high, c_high)")
        text.close()
        self._entries(text, "tap", "e_low", "e_high", g.c, _shared(g.c, self.each))
        text.close(2)

    def _entries(self, text: Text, tap: str, low: str, high: str, n_entries: int, each: int) -> None:
        """The calls for a run of entries of the filter at one tap, over the pixels low..high of all rows."""
        g, last = self.g, self.g.rank - 1
        s, c, f = g.strides[last], g.c * g.groups, g.f * g.groups
        taps = "block" if self.joint else "taps" if g.groups > 1 else "block"
        if self.joint:
            taps = f"(block * {g.window[last]} + {tap})"
        text(f"x_at = x_row + ({low} * {s} + move) * {c}", f"dy_at = dy_row + {low} * {f}")
        text(f"to = base + {taps} * {g.c * f} + group * {g.f}")
        loops = f"rows, {g.strides[last - 1]} * x_line, dy_line, {high} - {low}, {s * c}, {f}"

        def block(first: str, n: int) -> None:
            def call(v: str, n_v: int, tail: int) -> str:
                return _call(
                    n, n_v, self.lanes, tail, True, f"pointer_float32(x, x_at + {first})",
                    f"pointer_float32(dy, dy_at + {v})", f"pointer_float32(part, to + {first} * {f} + {v})", f"1, {f}", loops,
                )  # fmt: skip

            _over_blocks(text, self.n_vectors, self.each, self.lanes, self.tail, call, looped=False)

        whole, rest = divmod(n_entries, each)
        if whole == 1:
            block("0", each)
        elif whole:
            text.open(f"for first in range(0, {whole * each}, {each}):")
            block("first", each)
            text.close()
        if rest:
            block(str(whole * each), rest)


def _combined(size: int, chunks: int) -> str:
    """The kernel that adds up the parts of a gradient in their order, in pieces of 256 elements."""
    text = Text()
    text("part = buffers[0]", "y = buffers[1]")
    text.open("for i in range(begin, end):")
    text("low = i * 256", f"high = min(low + 256, {size})")
    text.open("for e in range(low, high):")
    text("y[e] = part[e]")
    text.close()
    text.open(f"for chunk in range(1, {chunks}):")
    text.open("for e in range(low, high):")
    text(f"y[e] += part[chunk * {size} + e]")
    text.close(3)
    return text.source()


# ---- steps ----------------------------------------------------------------------------------------------------------


def steps(
    node: Node, g: Geometry, number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    """The steps of a convolution. `number` numbers values, `scratch(dtype, n)` names a new one of n elements."""
    if node.op.name.endswith("filter_grad"):
        return _filter_steps(node, g, number, scratch)
    x, filter, result = operands(node)
    turned = node.op.name.endswith("input_grad")
    made: list[KernelStep] = []
    source, target, weights = x, result, filter
    if turned:
        source, target, weights = result, x, scratch("float32", g.filter_size)
        positions = math.prod(g.window)
        made.append(
            _step(
                node, (number(filter),), number(weights), _turned_filter(g), (), Size(positions),
                0.6 * g.filter_size / positions, (),
            )
        )  # fmt: skip
    kernel = _Correlation(g, turned)
    sizes = [(number(v), 1 + k) for v in (source, target) for k in range(g.rank)]
    rows = Size(1, tuple((number(target), k) for k in range(g.rank)))
    flops = 2.0 * math.prod(g.window) * g.c * g.f * g.groups / (math.prod(g.strides) if turned else 1)
    cost = flops / FLOPS_NS + 0.3 * max(g.c, g.f)
    made.append(
        _step(
            node, (number(source), number(weights)), number(target), kernel.source(),
            [Size(1, (s,)) for s in sizes], rows, cost, (Size(1, ((number(target), g.rank),)),),
        )
    )  # fmt: skip
    return made


def _filter_steps(
    node: Node, g: Geometry, number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    x, filter, dy = operands(node)
    kernel = _FilterGradient(g)
    part = number(scratch("float32", kernel.chunks * g.filter_size)) if kernel.chunks > 1 else number(filter)
    sizes = [(number(x), 0), *[(number(v), 1 + k) for v in (x, dy) for k in range(g.rank)]]
    pixels = tuple((number(dy), k) for k in range(g.rank + 1))
    cost = 2.0 * g.filter_size / kernel.units / FLOPS_NS
    made = [
        _step(
            node, (number(x), number(dy)), part, kernel.source(), [Size(1, (s,)) for s in sizes], Size(kernel.units),
            cost, (Size(1, pixels),),
        )
    ]  # fmt: skip
    if kernel.chunks > 1:
        n = -(-g.filter_size // 256)
        cost = 256 * kernel.chunks * 0.05
        made.append(_step(node, (part,), number(filter), _combined(g.filter_size, kernel.chunks), (), Size(n), cost, ()))
    return made


def _step(
    node: Node,
    inputs: tuple[int, ...],
    output: int,
    source: str,
    sizes: Sequence[Size],
    extent: Size,
    cost: float,
    cost_dims: tuple[Size, ...],
) -> KernelStep:
    imports = tuple(name for name in _IMPORTS if name in source)
    spec = KernelSpec(source, ("float32",) * (len(inputs) + 1), len(sizes), imports)
    return KernelStep(
        inputs=inputs, outputs=(output,), nodes=(node,), kernel=spec, buffers=(*inputs, output), sizes=tuple(sizes),
        extent=extent, cost=cost, cost_dims=cost_dims,
    )  # fmt: skip
