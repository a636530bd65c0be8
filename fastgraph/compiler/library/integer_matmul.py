"""Products of matrices of integers as kernels that go row by row of the result.

Rule: sums of integers wrap, so no order shows. A piece of a row of the result is kept while all rows of the right
operand pass by it: those lie in a line, as the columns that the op's loop nest goes down do not.

    for row: for piece: sums = 0; for k: sums += a[row, k] * b[k, piece]
"""

from __future__ import annotations

from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.core.base import expr
from fastgraph.graph.ir import Node

#: Columns of the result that are kept together.
TILE = 64
#: Multiplications from which it pays; the nest of a small product goes together with its neighbours.
LEAST = 1 << 15


def integer_product(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The kernel; None for other dtypes, small products, a turned right operand, and batches that are broadcast."""
    a, b, out = node.inputs[0], node.inputs[1], node.outputs[0]
    dtype = out.aval.dtype.name
    left, right, result = (shapes.avals[v].shape for v in (a, b, out))
    if dtype not in expr.INTEGERS or node.attrs["transpose_b"] or left is None or right is None or result is None:
        return None
    batch = len(result) - 2
    k, n = right[-2], right[-1]
    if len(left) != len(result) or len(right) not in (2, len(result)) or left[:-2] != result[:-2]:
        return None
    if len(right) > 2 and right[:-2] != result[:-2]:
        return None
    if (result[-2] or 0) * (n or 0) * (k or 0) < LEAST:
        return None
    turned = node.attrs["transpose_a"]
    text = Text()
    product = text.call(f"mul_{dtype}", "x", "b[from_b + p * n + h]")
    total = text.call(f"add_{dtype}", "sums[h]", product)
    at = "(image * k + p) * m + row" if turned else "i * k + p"

    def piece(w: str) -> str:
        lines = [f"for h in range({w}):", f"    sums[h] = {dtype}(0)", "for p in range(k):", f"    x = a[{at}]"]
        lines += [f"    for h in range({w}):", f"        sums[h] = {total}"]
        lines += [f"for h in range({w}):", "    y[i * n + f + h] = sums[h]"]
        return "\n".join(["            " + line for line in lines])

    lines = f"""sums = {text.call(f"local_{dtype}", str(TILE))}
for i in range(begin, end):
    image = i // m
    row = i - image * m
    for f in range(0, n, {TILE}):
        w = {text.call("min_int64", str(TILE), "n - f")}
        from_b = {"image * k * n" if len(right) > 2 else "0"} + f
        if w == {TILE}:
{piece(str(TILE))}
        else:
{piece("w")}
"""
    last = len(right) - 1
    sizes = {"m": shapes.of(out, batch, batch + 1), "k": shapes.of(b, last - 1, last), "n": shapes.of(b, last)}
    per_row = Size(1, (*sizes["k"].dims, *sizes["n"].dims))
    return text.kernel({"a": a, "b": b, "y": out}, sizes, lines, shapes.of(out, 0, batch + 1), 0.05, (per_row,))
