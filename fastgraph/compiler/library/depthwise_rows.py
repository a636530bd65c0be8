"""Convolutions of each channel by itself that blocks do not serve: rows of pixels as lines of full vectors.

Of few channels, of long rows of taps, and gradients to inputs of those with strides; `depthwise_blocks` has the others.

Rule: as the other kernels of convolutions: special to window and channels, every size comes at run time, and a result
does not depend on how rows are shared. What is multiplied by the same tap lies side by side, whichever channel it is
of: the taps of few channels are repeated for a piece of a row. A row that a piece only partly covers is copied first.
"""

from __future__ import annotations

import math

from fastgraph.compiler.library.register_blocks import BIAS, BIAS_RELU, STORE, Axes, Geometry, SharedText
from fastgraph.ops.convolution_primitives import LINED, UNROLLED

#: Channels that fill a vector: more only where the op's loop nest does not write the window out.
FULL = 16
#: Elements of a piece of a row at most, where taps are repeated and where not; and its pixels.
REPEATED, LONG, PIXELS = 128, 2048, 32
#: Taps of a row of the window that are added in one go.
ROW = 8
#: Into how many parts the rows are cut that a gradient to a filter sums up.
CHUNKS = 16


def fits(g: Geometry) -> bool:
    """Return whether a convolution is of this kind."""
    taps = math.prod(g.window)
    return g.rank == 2 and g.c == g.f == 1 and taps <= LINED and (g.groups < FULL or taps > UNROLLED)


class DepthwiseRows:
    """Texts of kernels over rows of pixels. Sizes: the image that is read, and the one of windows."""

    def __init__(self, g: Geometry, turned: bool = False, ending: int = STORE) -> None:
        self.g, self.turned, self.ending = g, turned, ending
        self.taps, self.c = math.prod(g.window), g.groups
        self.pixels = PIXELS
        while self.pixels > 4 and self.pixels * self.c > (REPEATED if self.c < FULL else LONG):
            self.pixels //= 2
        self.piece = self.pixels * self.c
        self.repeated = self.pixels if self.c < FULL else 1
        self.held = self.repeated * self.c
        self.line = self.piece + (g.window[1] - 1) * g.dilations[1] * self.c

    def _begin(self, *buffers: str, more: tuple[str, ...] = ()) -> SharedText:
        text = SharedText("n0", "n1", "m0", "m1", *more)
        text(*(f"{name} = buffers[{k}]" for k, name in enumerate(buffers)))
        axes = Axes(self.g, text)
        for k in range(2):
            whole, windows = (f"m{k}", f"n{k}") if self.turned else (f"n{k}", f"m{k}")
            axes.before(k, whole, windows)
        reach = (self.g.window[1] - 1) * self.g.dilations[1]
        text(f"left = {f'{reach} - a1' if self.turned else 'a1'}")
        text(f"line = local_float32({self.line})", f"held = local_float32({self.taps * self.held})")
        return text

    def _source_row(self, text: SharedText) -> None:
        """Open what is done where tap t0 of the window of row o0 has a row of the source: it begins at `row`."""
        stride, dilation = self.g.strides[0], self.g.dilations[0]
        text.open(f"for t0 in range({self.g.window[0]}):")
        if self.turned:
            reach = (self.g.window[0] - 1) * dilation
            text(f"r = o0 + a0 - {reach} + t0 * {dilation}")
            if stride > 1:
                text(f"apart = r % {stride}", f"r = r // {stride}")
            text.open(f"if r >= 0 and r < n0{' and apart == 0' if stride > 1 else ''}:")
        else:
            text(f"r = o0 * {stride} - a0 + t0 * {dilation}")
            text.open("if r >= 0 and r < n0:")
        text(f"row = (image * n0 + r) * n1 * {self.c}")

    def _fill(self, text: SharedText) -> None:
        """Write the piece of a row of the source under the windows from pixel q on, and zeros around it."""
        c, stride = self.c, self.g.strides[1] if self.turned else 1
        text.open(f"for e in range({self.line}):")
        text("line[e] = float32(0.0)")
        text.close()
        if stride == 1:
            text(f"s = (q - left) * {c}", "low = max(0, -s)", f"high = min({self.line}, n1 * {c} - s)")
            text.open("for e in range(low, high):")
            text("line[e] = x[row + s + e]")
            text.close()
            return
        text(f"first = max(0, (q - left + {stride - 1}) // {stride})")
        text(f"stop = min(n1, (q - left + {self.line // c} + {stride - 1}) // {stride})")
        text.open("for v in range(first, stop):")
        text.open(f"for e in range({c}):")
        text(f"line[(v * {stride} - q + left) * {c} + e] = x[row + v * {c} + e]")
        text.close(2)

    def _taps(self, text: SharedText, begin: list[str], tap: str, end: list[str]) -> None:
        """Write, for each element p of a piece, `tap` for the taps of a row of the window, and what goes round it.

        In `tap`, `value` stands for the source's element and `k` for the place of the tap in `held`.
        """
        wide, c, dilation = self.g.window[1], self.c, self.g.dilations[1]

        def over(values: str, start: str) -> None:
            for first in range(0, wide, ROW):
                taps = range(first, min(first + ROW, wide))
                text(*(f"s{t} = {start} + {t * dilation * c}" for t in taps))
                text(*(f"k{t} = (t0 * {wide} + {t}) * {self.held}" for t in taps))
                place = "p"
                if self.repeated == 1:
                    text.open(f"for o in range(0, {self.piece}, {c}):")
                    place = "o + p"
                text.open(f"for p in range({self.held}):")
                text(*(line.replace("[p]", f"[{place}]") for line in begin))
                text(*(tap.replace("value", f"{values}[s{t} + {place}]").replace("held[k", f"held[k{t}") for t in taps))
                text(*(line.replace("[p]", f"[{place}]") for line in end))
                text.close(2 - (self.repeated > 1))

        if self.turned and self.g.strides[1] > 1:
            self._fill(text)
            over("line", "0")
            return
        text.open(f"if q >= left and (q - left) * {c} + {self.line} <= n1 * {c}:")
        over("x", f"row + (q - left) * {c}")
        text.close()
        text.open("else:")
        self._fill(text)
        over("line", "0")
        text.close()

    def text(self) -> SharedText:
        """The kernel of results, or of the gradient to the input."""
        c, piece, kept = self.c, self.piece, self.g.strides[1] if not self.turned else 1
        text = self._begin("x", "w", *["bias"] * (self.ending != STORE), "y")
        text(f"sums = local_float32({piece})")
        text.open(f"for t in range({self.taps}):")
        text(f"from_w = ({f'{self.taps - 1} - t' if self.turned else 't'}) * {c}", f"k = t * {self.held}")
        text.open(f"for pixel in range({self.repeated}):")
        text.open(f"for e in range({c}):")
        text(f"held[k + pixel * {c} + e] = w[from_w + e]")
        text.close(3)
        text(f"wide = (m1 - 1) * {kept} + 1")
        text.open("for i in range(begin, end):")
        text("o0 = i % m0", "image = i // m0")
        text.open(f"for q in range(0, wide, {self.pixels}):")
        text.open(f"for p in range({piece}):")
        text("sums[p] = float32(0.0)")
        text.close()
        self._source_row(text)
        tap = "found = muladd_float32(value, held[k + p], found)"
        self._taps(text, ["found = sums[p]"], tap, ["sums[p] = found"])
        text.close(2)
        if kept == 1:
            text(f"to = (i * m1 + q) * {c}", f"count = min({self.pixels}, wide - q)")
            place = f"pixel * {c} + e"
        else:
            text(
                f"first = (q + {kept - 1}) // {kept}",
                f"count = min(m1, (q + {self.pixels + kept - 1}) // {kept}) - first",
            )
            text(f"to = (i * m1 + first) * {c}", f"off = (first * {kept} - q) * {c}")
            place = f"off + pixel * {kept * c} + e"
        if kept == 1 and self.ending == STORE:
            text.open(f"for p in range(count * {c}):")
            text("y[to + p] = sums[p]")
            text.close()
        else:
            text.open("for pixel in range(count):")
            text.open(f"for e in range({c}):")
            text(f"found = sums[{place}]{' + bias[e]' if self.ending in (BIAS, BIAS_RELU) else ''}")
            if self.ending == BIAS_RELU:
                text("found = float32(0.0) if found < float32(0.0) else found")  # NaN stays
            text(f"y[to + pixel * {c} + e] = found")
            text.close(2)
        text.close(2)
        return text

    def filter_gradient(self) -> SharedText:
        """The kernel of the gradient to the filter: part[chunk, tap, channel]. One more size: the number of rows."""
        c, piece, stride = self.c, self.piece, self.g.strides[1]
        text = self._begin("x", "dy", "part", more=("total",))
        text(f"back = local_float32({piece})")
        text(f"wide = (m1 - 1) * {stride} + 1")
        text(f"share = (total + {CHUNKS - 1}) // {CHUNKS}")
        text.open("for chunk in range(begin, end):")
        text.open(f"for p in range({self.taps * self.held}):")
        text("held[p] = float32(0.0)")
        text.close()
        text.open("for i in range(min(chunk * share, total), min(chunk * share + share, total)):")
        text("o0 = i % m0", "image = i // m0")
        text.open(f"for q in range(0, wide, {self.pixels}):")
        text.open(f"for p in range({piece}):")
        text("back[p] = float32(0.0)")
        text.close()
        text(
            f"start = (q + {stride - 1}) // {stride}", f"behind = min(m1, (q + {self.pixels + stride - 1}) // {stride})"
        )
        text.open("for v in range(start, behind):")
        text.open(f"for e in range({c}):")
        text(f"back[(v * {stride} - q) * {c} + e] = dy[(i * m1 + v) * {c} + e]")
        text.close(2)
        self._source_row(text)
        self._taps(text, ["came = back[p]"], "held[k + p] = muladd_float32(value, came, held[k + p])", [])
        text.close(4)
        text.open(f"for t in range({self.taps}):")
        text.open(f"for e in range({c}):")
        text("found = float32(0.0)")
        text.open(f"for pixel in range({self.repeated}):")
        text(f"found = found + held[t * {self.held} + pixel * {c} + e]")
        text.close()
        text(f"part[(chunk * {self.taps} + t) * {c} + e] = found")
        text.close(3)
        return text
