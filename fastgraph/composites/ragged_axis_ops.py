"""Ops along one axis of a RaggedTensor: softmax, running sums, pieces; and bits, which may change the last axis.

Rule: an axis of the innermost values is theirs; along the last ragged one rows are segments; along another, elements at
the same place of rows belong together, and the tensor is padded with what changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.ragged_rows import coordinates
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.row_splits import along
from fastgraph.core.base.dtype import DType, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import bind
from fastgraph.ops.arguments import as_tensor, static_int
from fastgraph.ops.elementwise import cast, stop_gradient
from fastgraph.ops.exponentials import exp
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal, assert_non_negative, ensure_shape
from fastgraph.ops.scatter import gather_nd
from fastgraph.ops.segments import unsorted_segment_max, unsorted_segment_sum
from fastgraph.ops.softmax import softmax


def softmax_along(rt: RaggedTensor, axis: int) -> Any:
    """tf.nn.softmax of a RaggedTensor. Raises: ValueError for an axis out of range."""
    axis = along(axis, rt.shape.rank)
    if axis > rt.ragged_rank:
        return rt.with_flat_values(softmax(rt.flat_values, axis - rt.ragged_rank))
    if axis == rt.ragged_rank:
        return _softmax_of_rows(rt, axis)
    return _padded(rt, -np.inf, lambda x: softmax(x, axis))


def _softmax_of_rows(rt: RaggedTensor, axis: int) -> Any:
    if axis > 1:
        return rt.with_values(_softmax_of_rows(rt.values, axis - 1))
    rows, n = rt.value_rowids(), rt.nrows()
    powers = exp(rt.values - stop_gradient(gather(unsorted_segment_max(rt.values, rows, n), rows)))
    return rt.with_values(powers / gather(unsorted_segment_sum(powers, rows, n), rows))


def _padded(rt: RaggedTensor, padding: TensorLike, function: Callable[..., Any]) -> Any:
    """The function of rt as a dense tensor, at the places where rt has elements."""
    dense = function(rt.to_tensor(as_tensor(padding, rt.dtype)))
    return rt.with_flat_values(gather_nd(dense, stack([cast(column, int64) for column in coordinates(rt)], 1)))


def running_sum(prim: Primitive, rt: RaggedTensor, attrs: dict[str, Any]) -> Any:
    """tf.cumsum of a RaggedTensor. Raises: ValueError for an axis out of range."""
    axis = along(attrs["axis"], rt.shape.rank)
    if axis > rt.ragged_rank:
        return rt.with_flat_values(bind(prim, (rt.flat_values,), {**attrs, "axis": axis - rt.ragged_rank}))
    return _padded(rt, 0, lambda x: bind(prim, (x,), {**attrs, "axis": axis}))


def bits(prim: Primitive, rt: RaggedTensor, type: DType) -> Any:
    """tf.bitcast of a RaggedTensor. Raises: ValueError where wider elements would be made of a ragged axis."""
    if type.size > rt.dtype.size and rt.flat_values.shape.rank == 1:
        raise ValueError(
            "`input.flat_values` is required to have rank >= 2 when input.dtype.size < type.size. Actual rank: 1"
        )
    return rt.with_flat_values(bind(prim, (rt.flat_values,), {"type": type}))


def split_ragged(value: Any, num_or_size_splits: Any, axis: Any, num: Any) -> list[Any]:
    """tf.split of a RaggedTensor.

    Raises: ValueError for an axis that is ragged or out of range, a number of pieces below 1, not known, or
    another than `num`; TypeError for sizes that are no integers in a row; InvalidArgumentError for sizes that do
    not fit.
    """
    axis, given = along(axis, value.shape.rank), as_tensor(num_or_size_splits)
    wanted = "`num_or_size_splits` must be an `int` or 1-D list or `Tensor` of integers."
    if not given.dtype.is_integer:
        raise TypeError(f"{wanted} Received {num_or_size_splits!s} of dtype {given.dtype.name}")
    if given.shape.rank == 0 and static_int(given) == 1:
        return [value]
    n = value.nrows() if axis == 0 else _length(value, axis)
    what = "Cannot exactly split the `axis` dimension of `value` with the given `num_or_size_split`."
    if given.shape.rank == 0:
        count = static_int(given)
        if count is None or count < 1:
            raise ValueError(f"`num_or_size_splits` must be >=1 if it is an `int`. Received {num_or_size_splits!s}")
        assert_equal(n // count * count, n, what)
        pieces = [n // count] * count
    else:
        if given.shape.rank not in (1, None):
            raise TypeError(f"{wanted} Received {num_or_size_splits!s}")
        known = given.shape[0] if given.shape.rank == 1 else None
        count = known if num is None else num
        if count is None:
            raise ValueError("`num` must be specified as an `int` where the size of `num_or_size_splits` is not known.")
        if known not in (count, None):
            raise ValueError(
                "`num` does not match the size of `num_or_size_splits`. "
                f"Received `num`: {num} and size of `num_or_size_splits`: {known}."
            )
        if known is None:
            assert_equal(shape(given), [count], f"`num`={num} is inconsistent with `num_or_size_splits`.")
            given = ensure_shape(given, [count])
        assert_non_negative(given, message="`num_or_size_splits` must be non-negative.")
        assert_equal(cast(reduce_sum(given), n.dtype), n, what)
        pieces = list(unstack(cast(given, n.dtype), count))
    found, start = [], n * 0
    for size in pieces:
        found.append(value[(*[slice(None)] * axis, slice(start, start + size))])
        start = start + size
    return found


def _length(value: RaggedTensor, axis: int) -> Any:
    """Return how long an axis after the first is. Raises: ValueError for one whose rows may be of several lengths."""
    level, at = value, axis
    while isinstance(level, RaggedTensor) and at > 1:
        level, at = level.values, at - 1
    if not isinstance(level, RaggedTensor):
        return shape(level, int64)[at]
    if level.uniform_row_length is None:
        raise ValueError(f"Cannot split a ragged dimension. Got `value` with shape {value.shape} and `axis` {axis}.")
    return level.uniform_row_length
