"""Convolutions of each channel by itself, of many channels and large windows: blocks of sums in registers.

Rule: lanes are channels. A block of pixels goes from one vector of channels to the next, each read where it lies; what
is outside the image is read from zeros. Every element is summed in the order of the taps, as in `depthwise_rows`.
"""

from __future__ import annotations

import math

from fastgraph.compiler.library.register_blocks import BIAS, BIAS_RELU, STORE, Axes, Geometry, SharedText, width

#: Taps of a row at most, all of which are in registers; pixels of a block where they fit beside these.
TAPS, PIXELS = 8, 7
#: Taps up to which a loop nest, which is one with what comes before and after, is as fast.
FEW = 9


def fits(g: Geometry, turned: bool) -> bool:
    """Return whether a convolution, or (`turned`) the gradient to its input, is of this kind."""
    return (
        g.rank == 2 and g.c == g.f == 1 and g.groups >= width().lanes and math.prod(g.window) > FEW
        and g.window[1] <= TAPS and not (turned and max(g.strides) > 1)
    )  # fmt: skip


def _begin(g: Geometry, turned: bool, *buffers: str, more: tuple[str, ...] = ()) -> SharedText:
    """The lines before those of rows: how far windows reach over the edges, and the zeros that are there."""
    text, lanes = SharedText("n0", "n1", "m0", "m1", *more), width().lanes
    text(*(f"{name} = buffers[{k}]" for k, name in enumerate(buffers)))
    axes = Axes(g, text)
    for k in range(2):
        axes.before(k, *((f"m{k}", f"n{k}") if turned else (f"n{k}", f"m{k}")))
    text(f"left = {f'{(g.window[1] - 1) * g.dilations[1]} - a1' if turned else 'a1'}")
    text(f"nothing = local_float32({lanes})")
    text.open(f"for e in range({lanes}):")
    text("nothing[e] = float32(0.0)")
    text.close()
    return text


def _row(g: Geometry, turned: bool, text: SharedText) -> None:
    """The lines of row i of the windows: rows [first, stop) of taps lie inside, of which the first is at `row`."""
    down = g.dilations[0]
    text("o0 = i % m0", "image = i // m0")
    text(f"top = {f'o0 + a0 - {(g.window[0] - 1) * down}' if turned else f'o0 * {g.strides[0]} - a0'}")
    text(f"first = 0 if top >= 0 else (-top + {down - 1}) // {down}")
    text(f"stop = min({g.window[0]}, (n0 - top + {down - 1}) // {down}) if n0 > top else 0")
    text(f"row = (image * n0 + top + first * {down}) * n1 * {g.groups}", "inside = max(stop - first, 0)")


def text(g: Geometry, turned: bool = False, ending: int = STORE) -> SharedText:
    """The kernel of results, or of the gradient to the input. Sizes: the image that is read, the one that is made."""
    c, lanes, wide, stride = g.groups, width().lanes, g.window[1], 1 if turned else g.strides[1]
    text = _begin(g, turned, "x", "w", *["bias"] * (ending != STORE), "y")
    text.open("for i in range(begin, end):")
    _row(g, turned, text)
    last = math.prod(g.window) - 1
    text(f"taps = {f'{last} - first * {wide}' if turned else f'first * {wide}'}")
    text("q = 0")
    text.open("while q < m1:")
    most = min(PIXELS, width().registers - wide - 2)
    for pixels in sorted({most, 2, 1}, reverse=True):
        if pixels > 1:
            text.open(f"{'if' if pixels == most else 'elif'} m1 >= {pixels}:")
            text(f"q = min(q, m1 - {pixels})")  # the last blocks may share pixels
        else:
            text.open("else:")
        text(f"from_x = q * {stride} - left", f"for_y = (i * m1 + q) * {c}")
        text.open(f"for part in range({-(-c // lanes)}):")
        text(f"e = min(part * {lanes}, {c - lanes})")
        shape = f"({pixels}, {wide}, {lanes}, {stride}, {g.dilations[1]}, {ending})"
        places = f"pointer_float32(x, row + from_x * {c} + e), pointer_float32(nothing, 0)"
        places += f", pointer_float32(w, taps * {c} + e), pointer_float32(y, for_y + e)"
        places += f", pointer_float32({'bias' if ending in (BIAS, BIAS_RELU) else 'y'}, e)"
        steps = f"inside, {g.dilations[0]} * n1 * {c}, {-wide * c if turned else wide * c}"
        text(f"apart_float32({shape}, {places}, {c}, {-c if turned else c}, {steps}, -from_x, n1 - from_x)")
        text.close()
        text(f"q += {pixels}")
        text.close()
    text.close(2)
    return text


def filter_gradient(g: Geometry, chunks: int) -> SharedText:
    """The kernel of the gradient to the filter: part[chunk, tap, channel]. One more size: the number of rows."""
    c, lanes, (_, wide), stride = g.groups, width().lanes, g.window, g.strides[1]
    size = math.prod(g.window) * c
    text = _begin(g, False, "x", "dy", "part", more=("total",))
    text(f"share = (total + {chunks - 1}) // {chunks}")
    text.open("for chunk in range(begin, end):")
    text(f"sums = chunk * {size}")
    text.open(f"for p in range({size}):")
    text("part[sums + p] = float32(0.0)")
    text.close()
    text.open("for i in range(min(chunk * share, total), min(chunk * share + share, total)):")
    _row(g, False, text)
    text("q = 0")
    text.open("while q < m1:")
    text(f"from_x = q * {stride} - left", f"from_dy = (i * m1 + q) * {c}", f"taps = sums + first * {wide * c}")
    for pixels in sorted({min(PIXELS, width().registers - wide - 2), 2, 1}, reverse=True):
        text.open(f"if m1 - q >= {pixels}:")

        def call(e: str, tail: int, pixels: int = pixels) -> str:
            shape = f"({pixels}, {wide}, {lanes}, {tail}, {stride}, {g.dilations[1]})"
            places = f"pointer_float32(x, row + from_x * {c} + {e}), pointer_float32(nothing, 0)"
            places += f", pointer_float32(dy, from_dy + {e}), pointer_float32(part, taps + {e})"
            steps = f"{c}, inside, {g.dilations[0]} * n1 * {c}, {wide * c}, -from_x, n1 - from_x"
            return f"apart_gradient_float32({shape}, {places}, {steps})"

        text.open(f"for vector in range({c // lanes}):")
        text(call(f"vector * {lanes}", lanes))
        text.close()
        if c % lanes:
            text(call(f"{c - c % lanes}", c % lanes))
        text(f"q += {pixels}", "continue")
        text.close()
    text.close(3)
    return text
