"""Sums over all axes but the last of what a filter's gradient takes too: the gradient of a bias, as register blocks.

Rule: chunks of rows are as many as the kernel says and are added up in their order, so a result has the same bits
however many threads made it.

A loop over rows that keeps its totals in memory waits for each store; here the totals of a row, several sets of them,
stay in registers. It pays where the rows are in memory anyway; elsewhere fusion computes them where they are summed.
"""

from __future__ import annotations

from fastgraph.compiler.library.register_blocks import ADD, SharedText, block_call, over_blocks, vectors
from fastgraph.graph.ir import Node

CHUNKS = 16
#: Rows that are added up before their sum is added to the chunk's, so that long sums keep their precision.
ROWS = 2048
_NAMES = frozenset({"sum", "sum_to_like", "sum_to_shape"})


def is_column_sum(node: Node, source: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Return whether a node sums rows of a known length, of a float32 of shape `source`, to one of shape `result`."""
    if node.op.name not in _NAMES or node.outputs[0].aval.dtype.name != "float32":
        return False
    if len(source) < 2 or len(result) != 1 or result[0] != source[-1] or result[0] == 1:
        return False
    if node.op.name != "sum":
        return True  # shapes align at the end
    axes = node.attrs["axes"]
    return axes is not None and sorted(a % len(source) for a in axes) == list(range(len(source) - 1))


def source(n: int) -> SharedText:
    """The kernel that sums chunks of rows of n numbers: part[chunk] = sum of its rows. One size: the number of rows."""
    text = SharedText("total")
    lanes, tail, n_vectors, each = vectors(n)
    text("x = buffers[0]", "part = buffers[1]")
    text.number("n", n)
    text("one = local_float32(1)", "one[0] = float32(1.0)", "ones = pointer_float32(one, 0)")
    text(f"share = (total + {CHUNKS - 1}) // {CHUNKS}")
    text.open("for chunk in range(begin, end):")
    text.open("for e in range(chunk * n, (chunk + 1) * n):")
    text("part[e] = float32(0.0)")
    text.close()
    text("low = min(chunk * share, total)", "high = min(low + share, total)")
    text.open(f"for row in range(low, high, {ROWS}):")
    text(f"rows = min({ROWS}, high - row)")

    def call(v: str, n_v: int, last: int) -> str:
        x, out = f"pointer_float32(x, row * n + {v})", f"pointer_float32(part, chunk * n + {v})"
        return block_call(1, n_v, lanes, last, ADD, "ones", x, out, "0, 0", "rows, 0, n")

    over_blocks(text, n_vectors, each, lanes, tail, call, looped=False)
    text.close(2)
    return text
