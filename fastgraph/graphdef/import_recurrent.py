"""Types of operations that are a whole LSTM layer: BlockLSTM and BlockLSTMV2.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

from fastgraph.graph.map_and_scan import scan
from fastgraph.graphdef.import_arrays import Make
from fastgraph.ops.elementwise import cast, clip_by_value, stop_gradient, zeros_like
from fastgraph.ops.exponentials import sigmoid, tanh
from fastgraph.ops.joining import split
from fastgraph.ops.matmul import matmul, tensordot
from fastgraph.ops.movement import shape
from fastgraph.ops.padding import pad


def _clipped(x: Any, limit: float) -> Any:
    """x within -limit .. limit; the gradient passes as if it were x, as TensorFlow's does."""
    within = clip_by_value(x, -limit, limit)
    return x + stop_gradient(within - x)


def _block(order: tuple[int, int, int, int], bias: float, clip: float) -> Make:
    """An LSTM over time. order: at which of the four blocks of columns the weights of i, f, ci and o are."""

    def make(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        n, x, first_cell, first_hidden, w, wci, wcf, wco, b = inputs
        forget, limit = attrs.get("forget_bias", bias), attrs.get("cell_clip", clip)
        peephole = attrs.get("use_peephole", False)
        width = shape(x)[-1]
        within, recurrent = w[:width], w[width:]
        blank = zeros_like(first_cell)

        def step(state: Any, row: Any) -> Any:
            cell, hidden = state[1], state[6]
            blocks = split(row + matmul(hidden, recurrent), 4, axis=-1)
            i, f, ci, o = [blocks[place] for place in order]
            i, f = (i + cell * wci, f + cell * wcf) if peephole else (i, f)
            i, f, ci = sigmoid(i), sigmoid(f + forget), tanh(ci)
            cell = ci * i + cell * f
            cell = _clipped(cell, limit) if limit > 0 else cell
            o = sigmoid(o + cell * wco if peephole else o)
            co = tanh(cell)
            return i, cell, f, o, ci, co, co * o

        start = (blank, first_cell, blank, blank, blank, blank, first_hidden)
        found = scan(step, (tensordot(x, within, 1) + b)[:n], start)
        rest = shape(x)[0] - cast(n, "int32")
        return [pad(each, [[0, rest], [0, 0], [0, 0]]) for each in found]

    return make


RECURRENT: dict[str, Make] = {
    "BlockLSTM": _block((0, 2, 1, 3), 1.0, 3.0),
    "BlockLSTMV2": _block((0, 1, 2, 3), 0.0, 0.0),
}
