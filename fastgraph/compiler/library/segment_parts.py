"""Many integers combined in few segments: parts of them by several threads, each in a result of its own.

Rule: integers alone, for which any order of sums, products and extremes gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.library.sequential_ops import COMBINE, identity_of
from fastgraph.compiler.program.program import Size
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value

#: How many parts there are, whatever threads there are.
PARTS = 8
#: Elements from which on parts pay; there are at least as many for each element of the parts' results.
_MANY, _FOR_EACH = 1 << 15, 4


def in_parts(
    node: Node, number: Mapping[Value, int], avals: Mapping[Value, Aval], scratch: Callable[[str, int], Value]
) -> list[tuple[Ordered, tuple[Value, ...], Value]] | None:
    """The kernels of the parts and of what is made of them, and what they take and give; None where one is all."""
    kind, _, how = (node.op.step or "").partition(".")
    if kind != "segment":
        return None
    (data, ids), out = node.inputs[:2], node.outputs[0]
    n, (rows, *columns) = avals[data].size or 0, out.aval.shape or (None,)
    if not rows or columns or not out.aval.dtype.is_integer or n < max(_MANY, _FOR_EACH * PARTS * rows):
        return None
    dtype, index, shapes = out.aval.dtype.name, ids.aval.dtype.name, Shapes(number, avals)
    partial = scratch(dtype, PARTS * rows)
    text, last = Text(), Text()
    first = f"""
for part in range(begin, end):
    base = part * rows
    for i in range(base, base + rows):
        x2[i] = {render.number(identity_of(how, out.aval.dtype), dtype)}
    for j in range({_begin(text, "part")}, {_begin(text, "part + 1")}):
        at = {text.call(f"cast_{index}_int64", "x1[j]")}
        if at < 0 or at >= rows:
            if at >= 0:
                return {1 << 48} + j
            continue
        value = x0[j]
        old = x2[base + at]
        x2[base + at] = {COMBINE[how](text, dtype)}
"""
    second = f"""
for i in range(begin, end):
    old = x0[i]
    for part in range(1, {PARTS}):
        value = x0[part * rows + i]
        old = {COMBINE[how](last, dtype)}
    x1[i] = old
"""
    sizes, few = {"n": shapes.of(data), "rows": shapes.of(out)}, {"rows": shapes.of(out)}
    buffers = {"x0": data, "x1": ids, "x2": partial}
    made = text.kernel(buffers, sizes, first, Size(PARTS), 1.2 / PARTS, (sizes["n"],), fallible=True)
    whole = last.kernel({"x0": partial, "x1": out}, few, second, few["rows"], 0.2 * PARTS)
    return [(made, node.inputs, partial), (whole, (partial,), out)]


def _begin(text: Text, part: str) -> str:
    return text.call("truncatediv_int64", f"n * ({part})", str(PARTS))
