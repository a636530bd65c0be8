"""Sums at places: what the gradients of indexing and of gather add to a tensor, as ops that give the whole sum.

Rule: values, never places: the kernels write over the first operand where it dies, so that a loop which adds a row an
iteration to a long tensor takes time in proportion to the rows. Passes make these ops of `add`
(graph/passes/loop_accumulators.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.ops.families import Array, body_of, custom, movement
from fastgraph.ops.gathering import gather_grad, gather_p
from fastgraph.ops.indexing import Spec, fill_in, lay_out, numpy_key, position_values, strided_slice_p


def _add_infer(x: Aval, dy: Aval, *positions: Aval, spec: Spec) -> Aval:
    if x.shape is not None:
        lay_out(spec, len(x.shape))
    return Aval(x.dtype, x.shape)


def _add_samples() -> list[Any]:
    found: list[Any] = [((x, dy), attrs) for (dy, x), attrs in get("strided_slice_grad").samples()]
    y = np.arange(24, dtype=np.float64).reshape(4, 6)
    found += [
        ((y, np.ones(6), np.array(-1, np.int32)), {"spec": (("i", "t"),)}),
        ((y, np.ones([]), np.array(2), np.array(-3)), {"spec": (("i", "t"), ("i", "t"))}),
        ((y, np.ones([4, 1, 3]), np.array(1)), {"spec": (("e",), ("n",), ("s", "t", None, 2))}),
        ((y, np.ones([2, 6]), np.array(3), np.array(1), np.array(-1)), {"spec": (("s", "t", "t", "t"),)}),
        ((y.astype(np.int64), np.ones([0, 6], np.int64)), {"spec": (("s", 3, 1, None),)}),
        ((y.astype(np.complex64), np.ones([4], np.complex64)), {"spec": (("s", None, None, None), ("i", 5))}),
    ]
    return found


@movement(
    infer=_add_infer,
    groups=("T", "T", "Index"),
    dtypes={"Index": "index"},
    vjp=dict(x=lambda dy: dy, dy=lambda dy, positions, spec: strided_slice_p(dy, *positions, spec=spec)),
    step="slice_add",
    samples=_add_samples,
)
def strided_slice_add(x: Array, dy: Array, *positions: Array, spec: Spec) -> Any:
    """x with dy added where strided_slice takes it from. t[*s], t[*r], i[] ... -> t[*s]."""
    result = np.array(x)
    key = numpy_key(fill_in(spec, position_values(positions)), x.shape)
    result[key] = result[key] + dy
    return result


@custom(
    infer=lambda x, dy, indices, *, axis, batch_dims: Aval(x.dtype, x.shape),
    groups=("T", "T", "Tindices"),
    dtypes={"T": "summable", "Tindices": "int16 int32 int64"},
    vjp=dict(
        x=lambda dy: dy,
        dy=lambda dy, indices, axis, batch_dims: gather_p(dy, indices, axis=axis, batch_dims=batch_dims),
    ),
    samples=lambda: [
        ((np.arange(6.0).reshape(2, 3), dy, indices), attrs)
        for (dy, indices, shape), attrs in get("gather_grad").samples()
        if shape.tolist() == [2, 3]
    ],
    step="gather_add.add",
)
def gather_add(x: Array, dy: Array, indices: Array, *, axis: int, batch_dims: int) -> Any:
    """x with dy added at the places that gather took it from. t[*s], t[*r], i[*q] -> t[*s]."""
    at = body_of(gather_grad)(dy, indices, np.array(x.shape), axis=axis, batch_dims=batch_dims)
    return np.add(x, at, dtype=x.dtype)
