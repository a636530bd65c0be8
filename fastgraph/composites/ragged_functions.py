"""tf.ragged: RaggedTensors made of lists and ranges, functions of their innermost values, row splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_ops import merged, same_partition
from fastgraph.composites.ragged_rows import boolean_mask_ragged, expand_axis, gather_rows, pile
from fastgraph.composites.ragged_tensor import RaggedTensor, made, splits_dtype
from fastgraph.composites.row_splits import along, positions, splits_of
from fastgraph.core.base.dtype import DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.nesting import flatten, map_structure
from fastgraph.core.conversion import TensorLike
from fastgraph.core.conversion import constant as constant_tensor
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import zeros
from fastgraph.ops.division import floordiv
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack as stack_dense
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.rounding import ceil
from fastgraph.ops.runtime_assertions import assert_equal, assert_less, assert_non_negative, assert_none_equal
from fastgraph.ops.sorting import argsort
from fastgraph.ops.tiling import repeat


def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor | Any:
    """A RaggedTensor of nested lists; without ragged dimensions a Tensor.

    ragged_rank: how many dimensions after the first are ragged, by default all that inner_shape leaves.
    Raises: ValueError for lists of other depths than these. Source: tf.ragged.constant.
    """
    splits_dtype = as_dtype(row_splits_dtype)
    if splits_dtype not in (int32, int64):
        raise ValueError("row_splits must have dtype int32 or int64")
    if not _is_list(pylist):
        for what, given in (("ragged_rank", ragged_rank), ("dim(inner_shape)", inner_shape and len(inner_shape))):
            if given:
                raise ValueError(f"Invalid pylist={pylist!r}: incompatible with {what}={given}")
        return constant_tensor(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank}: must be nonnegative")
    depth, most = _scalar_depth(pylist), _list_depth(pylist)
    if depth is not None and most > depth:
        raise ValueError(f"Invalid pylist={pylist}: empty list nesting is greater than scalar value nesting")
    if ragged_rank is not None and depth is not None and depth < ragged_rank:
        raise ValueError(f"Invalid pylist={pylist!r}, max depth smaller than ragged_rank={ragged_rank}")
    inner = None if inner_shape is None else tuple(inner_shape)
    if ragged_rank is None:
        ragged_rank = max(0, most - 1 - (0 if inner is None else len(inner)))
        if ragged_rank and depth is None:  # all are rows: there is nothing yet that inner_shape could be of
            ragged_rank = most - 1
    elif inner is not None and (
        most > ragged_rank + 1 + len(inner) or depth not in (None, ragged_rank + 1 + len(inner))
    ):
        raise ValueError(
            f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank} and dim(inner_shape)={len(inner)}"
        )
    if ragged_rank == 0:
        return constant_tensor(pylist, dtype, inner)
    if depth is not None and ragged_rank >= depth:
        raise ValueError(
            f"pylist has scalar values depth {depth}, but ragged_rank={ragged_rank} requires scalar value depth "
            f"greater than {ragged_rank}"
        )
    rows, splits = pylist, []
    for _ in np.arange(ragged_rank):
        lengths = [len(row) for row in rows]
        splits.append(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(splits_dtype.numpy_dtype))
        rows = [item for row in rows for item in row]
    flat: Any
    try:
        flat = constant_tensor(rows, dtype, None if inner is None else (len(rows), *inner))
    except ValueError as error:
        if "non-rectangular" in str(error) and inner is None:
            raise ValueError("inner values have inconsistent shape") from None
        raise
    for level in reversed(splits):
        flat = made(flat, convert(level))
    return flat


def _is_list(x: object) -> bool:
    return isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim > 0)


def _scalar_depth(x: Any) -> int | None:
    """Return how deep the numbers lie, None where there are none. Raises: ValueError if not all as deep."""
    if not _is_list(x):
        return 0
    depths = {depth for item in x if (depth := _scalar_depth(item)) is not None}
    if len(depths) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return depths.pop() + 1 if depths else None


def _list_depth(x: Any) -> int:
    """Return how deep lists are nested, empty ones included."""
    return 1 + max((_list_depth(item) for item in x), default=0) if _is_list(x) else 0


def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor:
    """Row i: starts[i], starts[i] + deltas[i], ... up to limits[i].

    Raises: InvalidArgumentError for a delta of 0, ends that are NaN or infinite, or other numbers of them. Source:
    tf.ragged.range.
    """
    if limits is None:
        starts, limits = 0, starts
    given = [as_tensor(x, dtype) for x in (starts, limits, deltas)]
    common = given[int(np.argmax([x.dtype.is_floating * 99 + x.dtype.size for x in given]))].dtype
    given = [cast(x, common if dtype is None else dtype) for x in given]
    sizes = {x.shape[0] for x in given if x.shape.rank == 1 and x.shape[0] is not None}
    if len(sizes) > 1:
        raise invalid("starts, limits, and deltas must have the same shape")
    vectors = [x for x in given if x.shape.rank == 1]
    extents = shape(vectors[0]) if vectors else [1]
    start, limit, delta = (x if x.shape.rank == 1 else broadcast_to(x, extents) for x in given)
    assert_none_equal(delta, zeros([], delta.dtype), message="Requires delta != 0")
    if start.dtype.is_floating:
        steps = ceil((limit - start) / delta)
        assert_less(
            steps, as_tensor(2.0**63, steps.dtype), message=f"Requires ((limit - start) / delta) <= {2**63 - 1}"
        )
        count = cast(steps, int64)
    else:  # in int64, which holds the distance of any two int32
        first, last, step = (cast(x, int64) for x in (start, limit, delta))
        count = -floordiv(first - last, step)
    lengths = cast(maximum(count, 0), row_splits_dtype)
    if lengths.dtype is int32:
        text = "The total range size overflowed. Consider using int64 instead of int32 for row_splits_dtype."
        assert_less(reduce_sum(maximum(count, 0)), 2**31, message=text)
    values = repeat(start, lengths) + cast(positions(lengths), start.dtype) * repeat(delta, lengths)
    return made(values, splits_of(lengths))


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> RaggedTensor | Any:
    """op of the innermost values of the RaggedTensors among the arguments (or in them), in their rows.

    Raises: ValueError if op gives another number of values; InvalidArgumentError if rows differ.
    Source: tf.ragged.map_flat_values.
    """
    ragged = [x for x in flatten((args, kwargs)) if isinstance(x, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    sizes = {x.flat_values.shape[0] for x in ragged}
    if len(sizes - {None}) > 1:
        raise ValueError(
            f"Input RaggedTensors' flat_values must all have the same outer-dimension size.  Got sizes: {sizes}"
        )
    same_partition(ragged, "partitions have incompatible row_splits")
    flat, named = map_structure(lambda x: x.flat_values if isinstance(x, RaggedTensor) else x, (args, kwargs))
    result = op(*flat, **named)
    expected = ragged[0].flat_values.shape[:1]
    if result.shape.rank == 0 or not result.shape[:1].is_compatible_with(expected):
        raise ValueError(
            "tf.ragged.map_flat_values requires that the output of `op` have the same outer-dimension size as "
            f"flat_values of any ragged inputs. (output shape: {result.shape}; expected outer dimension size: "
            f"{expected[0]})"
        )
    return merged(ragged).with_flat_values(result)


def stack(values: TensorLike, axis: int = 0, name: str | None = None) -> RaggedTensor | Any:
    """Tensors or RaggedTensors of one rank along a new axis, rows of any lengths. Raises: ValueError without any.
    Source: tf.ragged.stack.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    tensors = [x if isinstance(x, RaggedTensor) else as_tensor(x) for x in values]
    if tensors[0].shape.rank == 0 or (len(tensors) > 1 and not any(isinstance(x, RaggedTensor) for x in tensors)):
        _of_one_rank(tensors)

        if tensors[0].shape.rank == 0 or axis != 0:
            return stack_dense(tensors, axis)
    axis = along(axis, len(tensors[0].shape) + 1)
    if len(tensors) == 1 and (axis != 0 or isinstance(tensors[0], RaggedTensor)):
        return expand_axis(tensors[0], axis)
    _of_one_rank(tensors)
    return pile(tensors, axis)


def _of_one_rank(tensors: list[Any]) -> None:
    """Raise ValueError for tensors of several ranks."""
    rank = tensors[0].shape.rank
    for tensor in tensors if rank is not None else ():
        tensor.shape.assert_has_rank(rank)


def boolean_mask(data: TensorLike, mask: TensorLike, name: str | None = None) -> Any:
    """The elements of data for which mask holds, in their rows. Raises: ValueError for a scalar mask;
    InvalidArgumentError if rows differ. Source: tf.ragged.boolean_mask.
    """
    return boolean_mask_ragged(data, mask)


def row_splits_to_segment_ids(splits: TensorLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """The row of each value. i[n + 1] -> i[nvals]. Raises: ValueError for none. Source: tf."""
    vector = as_tensor(splits, int64)
    if vector.dtype not in (int32, int64):
        raise ValueError(f"splits must have dtype int32 or int64, got {vector.dtype.name}")
    vector.shape.assert_has_rank(1)
    if vector.shape[0] == 0:
        raise ValueError("Invalid row_splits: []")
    ids = made(vector, vector).value_rowids()
    return ids if out_type is None else cast(ids, out_type)


def segment_ids_to_row_splits(
    segment_ids: TensorLike, num_segments: TensorLike | None = None, out_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The row splits of values whose rows these are, int64 but of tensors. i[nvals] -> i[n + 1]. Source: tf."""
    plain = not isinstance(segment_ids, Tensor)
    ids = as_tensor(segment_ids, int64 if plain else None)
    if not ids.dtype.is_integer:
        raise TypeError(f"Argument `tensor` (name: segment_ids) must be of type integer. Received `tensor` = {ids}")
    splits = RaggedTensor.from_value_rowids(ids, ids, num_segments, validate=False).row_splits
    return splits if out_type is None else cast(splits, out_type)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: TensorLike, name: str | None = None
) -> RaggedTensor:
    """Row i: the elements of data whose partition is i.

    Raises: InvalidArgumentError for a partition out of range; ValueError for shapes that do not fit, or partitions of
    unknown rank. Source: tf.ragged.stack_dynamic_partitions.
    """
    data = data if isinstance(data, RaggedTensor) else as_tensor(data)
    as_tensor(num_partitions).shape.assert_has_rank(0)
    if isinstance(partitions, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=partitions.row_splits.dtype)
        text = "data and partitions have incompatible ragged shapes"
        assert_equal(data.row_splits, partitions.row_splits, message=text)
        data, partitions = data.values, partitions.values
        return stack_dynamic_partitions(data, partitions, num_partitions)
    partitions = as_tensor(partitions)
    rank = partitions.shape.rank
    if rank is None:
        raise ValueError("partitions must have known rank.")
    partitions.shape.assert_is_compatible_with(data.shape[:rank])
    if rank == 0:
        data, partitions = expand_axis(data, 0), reshape(partitions, [1])
    elif rank > 1:
        data = (
            data.merge_dims(0, rank - 1) if isinstance(data, RaggedTensor) else reshape(data, [-1, *data.shape[rank:]])
        )
        partitions = reshape(partitions, [-1])
    assert_non_negative(partitions, message="partitions must be non-negative.")
    count = cast(num_partitions, partitions.dtype)
    assert_less(partitions, count, message="partitions must be less than num_partitions")
    order = argsort(partitions, stable=True)
    ids = cast(gather(partitions, order), splits_dtype(data))
    return RaggedTensor.from_value_rowids(gather_rows(data, order), ids, num_partitions)
