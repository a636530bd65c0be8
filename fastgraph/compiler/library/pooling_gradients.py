"""Kernels of max_pool's gradients, which go window by window: they find the largest element of each.

Rule: elements are added in the order in which the op's NumPy body adds them. The innermost loop goes over channels and
vectorises. Of a small window that lies inside, all elements are written out in it, so that what is compared stays in
registers; for others the loops over the window are loops in the source too, so that it compiles in no time.

    for window: for channel: place[channel] = which element is the largest
        for element of the window: for channel: y[element] += dy[window] where place[channel] is that element
"""

from __future__ import annotations

import itertools
import math

from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node
from fastgraph.ops.pooling_numpy import to_each

#: Channels whose largest elements are kept side by side.
TILE = 128
#: Channels come in vectors without a rest if they are a multiple of this.
EVEN = 8
#: Elements of a window up to which they are written out: 3 x 3.
WRITTEN_OUT = 9
_HALVES = ("float16", "bfloat16")


def pool_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The kernel of max_pool_grad ("spread") or of the gradient of that ("pick"); None where operands do not fit."""
    x, given, result = node.inputs[0], node.inputs[1], node.outputs[0]
    windows = given if how == "spread" else result
    image, out = shapes.avals[x].shape, shapes.avals[windows].shape
    if how == "spread" and to_each(node.attrs["window"]):
        return None
    if x.aval.dtype.name in _HALVES or image is None or out is None or 0 in image or len(image) != len(out):
        return None
    if image[0] != out[0] or image[-1] != out[-1]:  # what comes back fits another tensor
        return None
    source = _Source(node, how == "spread")
    rank = source.rank
    sizes = {f"{name}{k}": shapes.of(v, 1 + k, 2 + k) for name, v in (("n", x), ("m", windows)) for k in range(rank)}
    sizes |= {"c": shapes.of(x, rank + 1), **source.sizes()}
    source.write((x.aval.shape or (None,))[-1])
    cost = (0.1 if source.is_written else 0.4) * source.taps + 0.3
    buffers = {"x": x, "given": given, "y": result}
    ends = (Size(1, shapes.of(windows, 1).dims),)
    return source.text.kernel(buffers, sizes, source.lines, shapes.of(x, 0, 1), cost, ends)


class _Source:
    """The lines of a kernel: n{k}, m{k}, s{k} are the extents of images and results and the strides along an axis,
    a{k} what is padded before it, l{k} the window's extent, o{k} a window, b{k} where it begins, from t{k} to u{k}
    what of it lies inside, r{k} an element of it, c the channels."""

    def __init__(self, node: Node, is_spread: bool) -> None:
        self.window, self.strides, self.padding = (node.attrs[name] for name in ("window", "strides", "padding"))
        self.axes, self.rank, self.taps = range(len(self.window)), len(self.window), math.prod(self.window)
        self.dtype = node.inputs[0].aval.dtype.name
        self.number = "int64" if self.dtype in ("float64", "int64") else "int32"  # the type of elements' numbers
        self.is_spread, self.is_written = is_spread, 1 < self.taps <= WRITTEN_OUT
        # Windows side by side: each element is in one of them, and if there are windows enough, no zeros are needed.
        self.is_apart = is_spread and self.strides == self.window
        self.length = [str(w) if self.is_written else f"l{k}" for k, w in enumerate(self.window)]
        self.text, self.lines, self.depth = Text(), list[str](), 0
        # Offsets, without the channel: of the element r of window o, of that in the window, of the window.
        self.here, self.tap, self.to = "image", "0", "image"
        for k in self.axes:
            self.here = f"({self.here} * n{k} + b{k} + r{k})"
            self.tap, self.to = f"({self.tap} * {self.length[k]} + r{k})", f"({self.to} * m{k} + o{k})"

    def put(self, *lines: str) -> None:
        self.lines.extend("    " * self.depth + line for line in lines)

    def begin(self, head: str) -> None:
        """Open the block under this line."""
        self.put(head)
        self.depth += 1

    def least(self, a: str, b: str) -> str:
        return self.text.call("min_int64", a, b)

    def most(self, a: str, b: str) -> str:
        return self.text.call("max_int64", a, b)

    def chosen(self, dtype: str, test: str, a: str, b: str) -> str:
        # Calls: of every conditional expression Numba's front end makes three blocks.
        return self.text.call(f"select_{dtype}", test, a, b)

    def into(self, element: str, more: str) -> str:
        """The line that adds to an element of the result."""
        return f"{element} = {self.dtype}({f'{self.dtype}(0)' if self.is_apart else element} + {more})"

    def sizes(self) -> dict[str, Size]:
        """Numbers of run time, so that a network has few such kernels: strides, padding (-1: half of what is missing),
        and windows that are not written out."""
        found: dict[str, Size] = {}
        for k in self.axes:
            same = isinstance(self.padding, str)
            known = (0 if self.padding == "VALID" else -1) if same else self.padding[k][0]
            found |= {f"s{k}": Size(self.strides[k]), f"z{k}": Size(known)}
            found |= {} if self.is_written else {f"l{k}": Size(self.window[k])}
        return found

    def write(self, channels: int | None) -> None:
        self._write_head(channels)
        inner = " * ".join([*[f"n{k}" for k in self.axes[1:]], "c"])
        if self.is_spread:
            few = " or ".join([f"m{k} * s{k} - a{k} < n{k}" for k in self.axes])
            self.put("top = n0" + (f" if {few} else 0" if self.is_apart else ""))
        else:
            self.put("for e in range(windows):", f"    y[image * windows + e] = {self.dtype}(0)")
        self._write_loops(inner)
        if self.is_written:
            self.begin(f"if {' and '.join(f't{k} == 0 and u{k} == {self.window[k]}' for k in self.axes)}:")
            self._write_whole_window()
            self.depth -= 1
        self.begin(f"{'elif' if self.is_written else 'if'} {' and '.join(f't{k} < u{k}' for k in self.axes)}:")
        self._write_any_window()
        if self.is_spread:
            self.depth = 1
            self.put(f"for e in range(0, top * {inner}):", f"    y[image * all + e] = {self.dtype}(0)")

    def _write_head(self, channels: int | None) -> None:
        if self.is_written and channels is not None and channels <= TILE and channels % EVEN == 0:
            # Written as a number: of loops of an unknown length LLVM makes vectors of four times the width and goes
            # over what these leave, all of 32 channels, one by one (28x28x32 by 3x3/2: 470 to 575 us, 205 with it).
            self.put(f"c = {channels}")
        for k in self.axes:
            half = self.most(f"(m{k} - 1) * s{k} + {self.length[k]} - n{k}", "0") + " // 2"
            self.put(f"a{k} = z{k} if z{k} >= 0 else {half}")
        whole, all_windows = (" * ".join([*[f"{name}{k}" for k in self.axes], "c"]) for name in "nm")
        self.put(
            f"best = {self.text.call(f'local_{self.dtype}', str(TILE))}",
            f"place = {self.text.call(f'local_{self.number}', str(TILE))}",
            f"all = {whole}",
            f"windows = {all_windows}",
        )
        self.begin("for image in range(begin, end):")

    def _write_loops(self, inner: str) -> None:
        """Go over the windows, from the last to the first: so the body's sums go, element of the window by element."""
        for k in self.axes:
            self.begin(f"for p{k} in range(m{k}):")
            self.put(
                f"o{k} = m{k} - 1 - p{k}",
                f"b{k} = o{k} * s{k} - a{k}",
                f"t{k} = {self.most('0', f'-b{k}')}",
                f"u{k} = {self.least(self.length[k], f'n{k} - b{k}')}",
            )
            if self.is_spread and not k:  # zeros just before they are added to, while they are near
                self.put(
                    f"low = {self.most('0', 'b0')}",
                    f"for e in range(low * {inner}, top * {inner}):",
                    f"    y[image * all + e] = {self.dtype}(0)",
                    f"top = {self.least('top', 'low')}",
                )

    def _write_whole_window(self) -> None:
        """A window that lies inside, its elements written out."""
        *outer, last = self.window
        rows = [*itertools.product(*map(range, outer))]
        for number, at in enumerate(rows):
            row = self.here.replace(f"r{self.rank - 1}", "0")
            for k, r in enumerate(at):
                row = row.replace(f"r{k}", str(r))
            self.put(f"q{number} = {row} * c")
        self.put(f"to = {self.to} * c")
        self.begin(f"for f in range(0, c, {TILE}):")
        # Told that one follows the other by c, LLVM knows that the elements of a row do not overlap.
        places = [[f"q{row} + {r} * c + h" for r in range(last)] for row in range(len(rows))]
        flat = [*itertools.chain(*places)]
        self.put(f"g = {self.least(f'f + {TILE}', 'c')}")
        self.begin("for h in range(f, g):")
        self.put(f"most = x[{flat[0]}]", f"which = {self.number}(0)")
        for number, place in enumerate(flat[1:], 1):
            self.put(f"value = x[{place}]", "larger = value > most")
            self.put(f"most = {self.chosen(self.dtype, 'larger', 'value', 'most')}")
            self.put(f"which = {self.chosen(self.number, 'larger', f'{self.number}({number})', 'which')}")
        if self.is_spread:
            self.put("place[h - f] = which")
        else:
            self.put(f"found = given[{flat[0]}]")
            for number, place in enumerate(flat[1:], 1):
                self.put(f"found = {self.chosen(self.dtype, f'which == {number}', f'given[{place}]', 'found')}")
            self.put("y[to + h] = found")
        self.depth -= 1
        for line, some in enumerate(places if self.is_spread else ()):
            self.put("for h in range(f, g):", "    which = place[h - f]", "    more = given[to + h]")
            for r, element in enumerate(some):
                more = self.chosen(self.dtype, f"which == {line * last + r}", "more", f"{self.dtype}(0)")
                self.put("    " + self.into(f"y[{element}]", more))
        self.depth -= 1

    def _write_any_window(self) -> None:
        """The part of a window that lies inside, by loops over its elements."""
        first, first_tap = self.here, self.tap
        for k in self.axes:
            first, first_tap = first.replace(f"r{k}", f"t{k}"), first_tap.replace(f"r{k}", f"t{k}")
        self.begin(f"for f in range(0, c, {TILE}):")
        self.put(
            f"w = {self.least(str(TILE), 'c - f')}",
            f"to = {self.to} * c + f",
            f"at = {first} * c + f",
            f"number = {self.number}({first_tap})",
            "for h in range(w):",
            "    best[h] = x[at + h]",
            "    place[h] = number",
        )
        self._write_elements(
            "value = x[at + h]",
            "larger = value > best[h]",  # no number is larger than NaN, nor is NaN larger than one
            "best[h] = value if larger else best[h]",
            "place[h] = number if larger else place[h]",
        )
        if self.is_spread:
            more = f"more = given[to + h] if place[h] == number else {self.dtype}(0)"
            self._write_elements(more, self.into("y[at + h]", "more"))
        else:
            self._write_elements("y[to + h] = given[at + h] if place[h] == number else y[to + h]")

    def _write_elements(self, *body: str) -> None:
        """Loops over the elements of a window that lie inside, and over channels."""
        for k in self.axes:
            self.begin(f"for r{k} in range(t{k}, u{k}):")
        self.put(f"at = {self.here} * c + f", f"number = {self.number}({self.tap})")
        self.put("for h in range(w):", *[f"    {line}" for line in body])
        self.depth -= self.rank
