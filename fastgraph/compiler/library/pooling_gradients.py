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
    dtype = x.aval.dtype.name
    windows = given if how == "spread" else result
    image, out = shapes.avals[x].shape, shapes.avals[windows].shape
    taps = math.prod(node.attrs["window"])
    if how == "spread" and to_each(node.attrs["window"]):
        return None
    if dtype in _HALVES or image is None or out is None or 0 in image or len(image) != len(out):
        return None
    if image[0] != out[0] or image[-1] != out[-1]:  # what comes back fits another tensor
        return None
    rank, window, strides, padding = len(image) - 2, node.attrs["window"], node.attrs["strides"], node.attrs["padding"]
    text = Text()
    sizes = {f"{name}{k}": shapes.of(v, 1 + k, 2 + k) for name, v in (("n", x), ("m", windows)) for k in range(rank)}
    sizes["c"] = shapes.of(x, rank + 1)
    # Run-time numbers, so that a network has few such kernels: strides, padding (-1: half of what is missing), and
    # windows that are not written out.
    written = 1 < taps <= WRITTEN_OUT
    lines: list[str] = []
    channels = image[-1]
    if written and channels is not None and channels <= TILE and channels % EVEN == 0:
        # Written as a number: of loops of an unknown length LLVM makes vectors of four times the width and goes over
        # what these leave, all of 32 channels, element by element (28x28x32 by 3x3/2: 470 to 575 us, 205 with it).
        lines.append(f"c = {channels}")
    for k in range(rank):
        known = (0 if padding == "VALID" else -1) if isinstance(padding, str) else padding[k][0]
        sizes |= {f"s{k}": Size(strides[k]), f"z{k}": Size(known)} | ({} if written else {f"l{k}": Size(window[k])})
        half = text.call("max_int64", f"(m{k} - 1) * s{k} + {window[k] if written else f'l{k}'} - n{k}", "0") + " // 2"
        lines.append(f"a{k} = z{k} if z{k} >= 0 else {half}")
    length = [str(w) if written else f"l{k}" for k, w in enumerate(window)]
    whole, all_windows = (" * ".join([*[f"{name}{k}" for k in range(rank)], "c"]) for name in "nm")
    number_type = "int64" if dtype in ("float64", "int64") else "int32"
    lines += [
        f"best = {text.call(f'local_{dtype}', str(TILE))}",
        f"place = {text.call(f'local_{number_type}', str(TILE))}",
        f"all = {whole}",
        f"windows = {all_windows}",
        "for image in range(begin, end):",
    ]
    spread = how == "spread"
    # Windows side by side: each element is in one of them, and if there are windows enough, no other zeros are needed.
    apart = spread and strides == window
    inner = " * ".join([*[f"n{k}" for k in range(1, rank)], "c"])
    if spread:
        few = " or ".join([f"m{k} * s{k} - a{k} < n{k}" for k in range(rank)])
        lines.append("    top = n0" + (f" if {few} else 0" if apart else ""))
    else:
        lines += ["    for e in range(windows):", f"        y[image * windows + e] = {dtype}(0)"]
    depth = 1

    def put(*more: str) -> None:
        lines.extend("    " * depth + line for line in more)

    for k in range(rank):
        put(f"for p{k} in range(m{k}):")
        depth += 1
        # From the last window to the first: so the body's sums go, element of the window by element.
        put(
            f"o{k} = m{k} - 1 - p{k}",
            f"b{k} = o{k} * s{k} - a{k}",
            f"t{k} = {text.call('max_int64', '0', f'-b{k}')}",
            f"u{k} = {text.call('min_int64', length[k], f'n{k} - b{k}')}",
        )
        if spread and not k:  # zeros just before they are added to, while they are near
            put(
                f"low = {text.call('max_int64', '0', 'b0')}",
                f"for e in range(low * {inner}, top * {inner}):",
                f"    y[image * all + e] = {dtype}(0)",
                f"top = {text.call('min_int64', 'top', 'low')}",
            )
    here, tap, to = "image", "0", "image"
    for k in range(rank):
        here, tap, to = f"({here} * n{k} + b{k} + r{k})", f"({tap} * {length[k]} + r{k})", f"({to} * m{k} + o{k})"

    def into(element: str, more: str) -> str:
        """The line that adds to an element of the result."""
        return f"{element} = {dtype}({f'{dtype}(0)' if apart else element} + {more})"

    if written:
        put(f"if {' and '.join(f't{k} == 0 and u{k} == {window[k]}' for k in range(rank))}:")
        depth += 1
        *outer, last = window
        rows = [*itertools.product(*map(range, outer))]
        for number, at in enumerate(rows):
            row = here.replace(f"r{rank - 1}", "0")
            for k, r in enumerate(at):
                row = row.replace(f"r{k}", str(r))
            put(f"q{number} = {row} * c")
        put(f"to = {to} * c", f"for f in range(0, c, {TILE}):")
        depth += 1
        # Told that one follows the other by c, LLVM knows that the elements of a row do not overlap.
        places = [[f"q{row} + {r} * c + h" for r in range(last)] for row in range(len(rows))]
        flat = [*itertools.chain(*places)]
        put(f"g = {text.call('min_int64', f'f + {TILE}', 'c')}", "for h in range(f, g):")
        depth += 1
        put(f"most = x[{flat[0]}]", f"which = {number_type}(0)")
        for number, place in enumerate(flat[1:], 1):
            # Calls: of every conditional expression Numba's front end makes three blocks.
            put(f"value = x[{place}]", "larger = value > most")
            put(f"most = {text.call(f'select_{dtype}', 'larger', 'value', 'most')}")
            put(f"which = {text.call(f'select_{number_type}', 'larger', f'{number_type}({number})', 'which')}")
        if spread:
            put("place[h - f] = which")
            depth -= 1
            for line, some in enumerate(places):
                put("for h in range(f, g):", "    which = place[h - f]", "    more = given[to + h]")
                for r, element in enumerate(some):
                    more = text.call(f"select_{dtype}", f"which == {line * last + r}", "more", f"{dtype}(0)")
                    put("    " + into(f"y[{element}]", more))
        else:
            put(f"found = given[{flat[0]}]")
            for number, place in enumerate(flat[1:], 1):
                put(f"found = {text.call(f'select_{dtype}', f'which == {number}', f'given[{place}]', 'found')}")
            put("y[to + h] = found")
            depth -= 1
        depth -= 2
        put(f"elif {' and '.join(f't{k} < u{k}' for k in range(rank))}:")
    else:
        put(f"if {' and '.join(f't{k} < u{k}' for k in range(rank))}:")
    depth += 1
    first, first_tap = here, tap
    for k in range(rank):
        first, first_tap = first.replace(f"r{k}", f"t{k}"), first_tap.replace(f"r{k}", f"t{k}")
    put(f"for f in range(0, c, {TILE}):")
    depth += 1
    put(
        f"w = {text.call('min_int64', str(TILE), 'c - f')}",
        f"to = {to} * c + f",
        f"at = {first} * c + f",
        f"number = {number_type}({first_tap})",
        "for h in range(w):",
        "    best[h] = x[at + h]",
        "    place[h] = number",
    )
    inside = [f"at = {here} * c + f", f"number = {number_type}({tap})", "for h in range(w):"]

    def over_window(*body: str) -> None:
        nonlocal depth
        for k in range(rank):
            put(f"for r{k} in range(t{k}, u{k}):")
            depth += 1
        put(*inside, *[f"    {line}" for line in body])
        depth -= rank

    over_window(
        "value = x[at + h]",
        "larger = value > best[h]",  # no number is larger than NaN, nor is NaN larger than one
        "best[h] = value if larger else best[h]",
        "place[h] = number if larger else place[h]",
    )
    if spread:
        over_window(f"more = given[to + h] if place[h] == number else {dtype}(0)", into("y[at + h]", "more"))
        depth = 1
        put(f"for e in range(0, top * {inner}):", f"    y[image * all + e] = {dtype}(0)")
    else:
        over_window("y[to + h] = given[at + h] if place[h] == number else y[to + h]")
    cost = (0.1 if written else 0.4) * taps + 0.3
    buffers = {"x": x, "given": given, "y": result}
    return text.kernel(buffers, sizes, lines, shapes.of(x, 0, 1), cost, (Size(1, shapes.of(windows, 1).dims),))
