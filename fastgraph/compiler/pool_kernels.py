"""Which element of each window is the largest, as kernels that go window by window: max_pool's gradients.

Rule: elements are added in the order in which the op's NumPy body adds them. The loops over a window are loops in the
source too, so that it compiles in no time; the innermost one goes over channels and vectorises.

    for window: for channel: place[channel] = which element is the largest
        for element of the window: for channel: y[element] += dy[window] where place[channel] is that element
"""

from __future__ import annotations

import math

from fastgraph.compiler.kernel_text import Ordered, Shapes, Text
from fastgraph.compiler.program import Size
from fastgraph.graph.ir import Node

#: Channels whose largest elements are kept side by side.
TILE = 128
#: Comparisons per element up to which the op's loop nest, which writes all of them out, is as good and goes together
#: with its neighbours.
WRITTEN_OUT = 16
_HALVES = ("float16", "bfloat16")


def goes_by_windows(node: Node, how: str) -> bool:
    """Whether the loop nest would write out too much."""
    taps: int = math.prod(node.attrs["window"])
    covering = math.prod([-(-k // s) for k, s in zip(node.attrs["window"], node.attrs["strides"], strict=True)])
    return taps * (covering if how == "spread" else taps) > WRITTEN_OUT


def pool_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The kernel of max_pool_grad ("spread") or of the gradient of that ("pick"); None where operands do not fit."""
    x, given, result = node.inputs[0], node.inputs[1], node.outputs[0]
    dtype = x.aval.dtype.name
    windows = given if how == "spread" else result
    image, out = shapes.avals[x].shape, shapes.avals[windows].shape
    taps = math.prod(node.attrs["window"])
    if not goes_by_windows(node, how):
        return None
    if dtype in _HALVES or image is None or out is None or 0 in image or len(image) != len(out):
        return None
    if image[0] != out[0] or image[-1] != out[-1]:  # what comes back fits another tensor
        return None
    rank, window, strides, padding = len(image) - 2, node.attrs["window"], node.attrs["strides"], node.attrs["padding"]
    text = Text()
    lines = ["x = buffers[0]", "given = buffers[1]", "y = buffers[2]", f"c = sizes[{2 * rank}]"]
    for k in range(rank):
        n, m = f"n{k}", f"m{k}"
        lines += [f"{n} = sizes[{k}]", f"{m} = sizes[{rank + k}]"]
        if isinstance(padding, str):
            reach = f"({m} - 1) * {strides[k]} + {window[k]} - {n}"
            before = "0" if padding == "VALID" else text.call("max_int64", reach, "0") + " // 2"
        else:
            before = str(padding[k][0])
        lines.append(f"a{k} = {before}")
    whole, all_windows = (" * ".join([*[f"{name}{k}" for k in range(rank)], "c"]) for name in "nm")
    number = "int64" if dtype in ("float64", "int64") else "int32"
    lines += [
        f"best = {text.call(f'local_{dtype}', str(TILE))}",
        f"place = {text.call(f'local_{number}', str(TILE))}",
        f"all = {whole}",
        f"windows = {all_windows}",
        "for image in range(begin, end):",
    ]
    spread = how == "spread"
    lines += [
        f"    for e in range({'all' if spread else 'windows'}):",
        f"        y[image * {'all' if spread else 'windows'} + e] = {dtype}(0)",
    ]
    depth = 1

    def put(*more: str) -> None:
        lines.extend("    " * depth + line for line in more)

    for k in range(rank):
        put(f"for p{k} in range(m{k}):")
        depth += 1
        # From the last window to the first: so the body's sums go, element of the window by element.
        put(
            f"o{k} = m{k} - 1 - p{k}",
            f"b{k} = o{k} * {strides[k]} - a{k}",
            f"t{k} = {text.call('max_int64', '0', f'-b{k}')}",
            f"u{k} = {text.call('min_int64', str(window[k]), f'n{k} - b{k}')}",
        )
    put(f"if {' and '.join(f't{k} < u{k}' for k in range(rank))}:")
    depth += 1
    here, tap, to = "image", "0", "image"
    for k in range(rank):
        here, tap, to = f"({here} * n{k} + b{k} + r{k})", f"({tap} * {window[k]} + r{k})", f"({to} * m{k} + o{k})"
    first, first_tap = here, tap
    for k in range(rank):
        first, first_tap = first.replace(f"r{k}", f"t{k}"), first_tap.replace(f"r{k}", f"t{k}")
    put(f"for f in range(0, c, {TILE}):")
    depth += 1
    put(
        f"w = {text.call('min_int64', str(TILE), 'c - f')}",
        f"to = {to} * c + f",
        f"at = {first} * c + f",
        f"number = {number}({first_tap})",
        "for h in range(w):",
        "    best[h] = x[at + h]",
        "    place[h] = number",
    )
    inside = [f"at = {here} * c + f", f"number = {number}({tap})", "for h in range(w):"]

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
        more = f"given[to + h] if place[h] == number else {dtype}(0)"
        over_window(f"more = {more}", f"y[at + h] = {dtype}(y[at + h] + more)")
    else:
        over_window("y[to + h] = given[at + h] if place[h] == number else y[to + h]")
    source = "def kernel(buffers, sizes, begin, end):\n" + "".join(f"    {line}\n" for line in [*lines, "return 0"])
    sizes = [shapes.of(v, 1 + k, 2 + k) for v in (x, windows) for k in range(rank)]
    return Ordered(
        text.spec(source, (dtype,) * 3, 2 * rank + 1), (x, given, result), (*sizes, shapes.of(x, rank + 1)),
        shapes.of(x, 0, 1), 0.4 * taps + 0.3, (Size(1, shapes.of(windows, 1).dims),),
    )  # fmt: skip
