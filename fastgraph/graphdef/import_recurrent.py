"""Types of operations that are a whole LSTM layer, or one step of a recurrent one.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.graph.map_and_scan import scan
from fastgraph.graphdef.import_arrays import Make
from fastgraph.ops.elementwise import cast, clip_by_value, stop_gradient, zeros_like
from fastgraph.ops.exponentials import sigmoid, tanh
from fastgraph.ops.joining import concat, split
from fastgraph.ops.matmul import matmul, tensordot
from fastgraph.ops.movement import shape
from fastgraph.ops.padding import pad


def _clipped(x: Any, limit: float) -> Any:
    """x within -limit .. limit; the gradient passes as if it were x, as TensorFlow's does."""
    within = clip_by_value(x, -limit, limit)
    return x + stop_gradient(within - x)


def _lstm(columns: Any, cell: Any, order: Sequence[int], peepholes: Any, forget: float, limit: float) -> Any:
    """One step: i, cell, f, o, ci, co, h from x and h times the weights, and the cell before."""
    blocks = split(columns, 4, axis=-1)
    i, f, ci, o = [blocks[place] for place in order]
    i, f = (i + cell * peepholes[0], f + cell * peepholes[1]) if peepholes else (i, f)
    i, f, ci = sigmoid(i), sigmoid(f + forget), tanh(ci)
    cell = ci * i + cell * f
    cell = _clipped(cell, limit) if limit > 0 else cell
    o = sigmoid(o + cell * peepholes[2] if peepholes else o)
    co = tanh(cell)
    return i, cell, f, o, ci, co, co * o


def _lstm_cell(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, cell, hidden, w, *peepholes, b = inputs
    columns = matmul(concat([x, hidden], 1), w) + b
    used = peepholes if attrs.get("use_peephole", False) else None
    return list(_lstm(columns, cell, (0, 2, 1, 3), used, attrs.get("forget_bias", 1.0), attrs.get("cell_clip", 3.0)))


def _gru_cell(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """r, u, c, h of one step."""
    x, hidden, w_ru, w_c, b_ru, b_c = inputs
    r, u = split(sigmoid(matmul(concat([x, hidden], 1), w_ru) + b_ru), 2, axis=-1)
    c = tanh(matmul(concat([x, r * hidden], 1), w_c) + b_c)
    return [r, u, c, u * hidden + (1 - u) * c]


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
            columns = row + matmul(state[6], recurrent)
            return _lstm(columns, state[1], order, (wci, wcf, wco) if peephole else None, forget, limit)

        start = (blank, first_cell, blank, blank, blank, blank, first_hidden)
        found = scan(step, (tensordot(x, within, 1) + b)[:n], start)
        rest = shape(x)[0] - cast(n, "int32")
        return [pad(each, [[0, rest], [0, 0], [0, 0]]) for each in found]

    return make


RECURRENT: dict[str, Make] = {
    "GRUBlockCell": _gru_cell,
    "LSTMBlockCell": _lstm_cell,
    "BlockLSTM": _block((0, 2, 1, 3), 1.0, 3.0),
    "BlockLSTMV2": _block((0, 1, 2, 3), 0.0, 0.0),
}
