"""tf.gather and tf.gather_nd where what is taken from, or the indices, are ragged.

Rule: axes are brought down to the first one, level by level: an axis before the one that is taken from becomes rows
that keep their partition, a batch becomes where its rows begin, added to the indices.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites.ragged_rows import as_ragged, expand_axis, gather_rows
from fastgraph.composites.ragged_tensor import RaggedTensor, check_splits_dtypes
from fastgraph.composites.row_splits import along
from fastgraph.core.base.dtype import int64
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.runtime_assertions import assert_equal, assert_less, assert_non_negative
from fastgraph.ops.scatter import gather_nd
from fastgraph.ops.tiling import tile


def gather_ragged(
    params: Tensor | RaggedTensor, indices: Tensor | RaggedTensor, axis: int | None, batch_dims: int
) -> Any:
    """tf.gather where params, indices or both are ragged; the axis None is that after the batches.

    Raises: ValueError for axes and batches that there are not; InvalidArgumentError for an index out of its row.
    """
    params = params if isinstance(params, RaggedTensor) else as_tensor(params)
    indices = indices if isinstance(indices, RaggedTensor) else as_tensor(indices)
    check_splits_dtypes((params, indices))
    rank = _rank(indices)
    if batch_dims != rank:
        if not -rank <= batch_dims < max(rank, 1):
            raise ValueError(f"batch_dims={batch_dims} out of bounds: expected {-rank}<=batch_dims<{rank}")
        batch_dims %= max(rank, 1)
    if batch_dims and batch_dims >= (params.shape.rank or batch_dims + 1):
        raise ValueError("batch_dims must be less than rank(params)")
    axis = along(batch_dims if axis is None else axis, params.shape.rank)
    if axis < batch_dims:
        raise ValueError("axis must be greater than or equal to batch_dims")
    known = indices.shape[:batch_dims]
    if not known.is_compatible_with(params.shape[:batch_dims]):
        raise ValueError(f"batch shape from indices {known} does not match params shape {params.shape}")
    return _gathered(params, indices, axis, batch_dims)


def _rank(indices: Tensor | RaggedTensor) -> int:
    if indices.shape.rank is None:
        raise ValueError("rank(indices) must be known statically")
    return indices.shape.rank


def _gathered(params: object, indices: Any, axis: int, batches: int) -> Any:
    """gather_ragged with axes counted from the front."""
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return gather(params, indices, axis=axis, batch_dims=batches)
    if axis == 0:
        return _rows_at(params, indices)
    splits = (params if isinstance(params, RaggedTensor) else indices).row_splits.dtype
    rows = as_ragged(params, 1, splits)
    if axis == 1:
        if batches == 0:  # the same indices in every row
            n, q = rows.nrows(), _extents(indices)
            if isinstance(indices, RaggedTensor):
                indices = gather_rows(indices, tile(range_(indices.nrows()), reshape(n, [1])))
                indices = RaggedTensor.from_uniform_row_length(indices, q[0], n, validate=False)
            else:
                indices = tile(expand_dims(indices, 0), concat([reshape(n, [1]), [1] * len(q)], 0))
        return _in_rows(rows, indices)
    if batches == 0:
        return rows.with_values(_gathered(rows.values, indices, axis - 1, 0))
    if batches == 1:
        counts = [x.nrows() if isinstance(x, RaggedTensor) else shape(x, int64)[0] for x in (rows, indices)]
        assert_equal(*[cast(each, int64) for each in counts], "batch shape from indices does not match params shape")
        # The elements of a row of params are batches as well, all with the indices of the row.
        return rows.with_values(_gathered(rows.values, gather_ragged(indices, rows.value_rowids(), 0, 0), axis - 1, 1))
    _check_batches(params, indices, "params", "indices")
    _check_batches(indices, params, "indices", "params")
    inner = as_ragged(indices, 1, splits)
    if rows.row_splits is not inner.row_splits:
        what = "the rows of params and of indices, which are batches, differ in length"
        assert_equal(cast(rows.row_splits, int64), cast(inner.row_splits, int64), what)
    return rows.with_values(_gathered(rows.values, inner.values, axis - 1, batches - 1))


def _check_batches(given: object, other: object, what: str, others: str) -> None:
    """Raise ValueError where batches of one of the two are known to have rows of several lengths, and of one not."""
    if isinstance(given, RaggedTensor) and given.uniform_row_length is None and not isinstance(other, RaggedTensor):
        raise ValueError(
            f"batch shape from indices does not match params shape: ragged {what} dimension corresponds to uniform "
            f"{others} dimension"
        )


def _in_rows(rows: RaggedTensor, indices: Tensor) -> Any:
    """The elements of row i that indices[i] names. Raises: InvalidArgumentError for one that the row has not."""
    dtype = rows.row_splits.dtype
    wide = [-1, *[1] * (_rank(indices) - 1)]
    indices = cast(indices, dtype)
    starts, lengths = (reshape(x, wide) for x in (rows.row_starts(), rows.row_lengths()))
    flat = [x.flat_values if isinstance(x, RaggedTensor) else x for x in (indices, lengths + indices * 0)]
    assert_non_negative(flat[0], message="indices must not be negative")
    assert_less(*flat, message="indices are out of range of their row")
    return _rows_at(rows.values, indices + starts)


def _rows_at(params: Any, indices: Tensor | RaggedTensor) -> Any:
    """The rows that indices name, in axes as the indices have."""
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_rows_at(params, indices.values))
    if not isinstance(params, RaggedTensor):
        return gather(params, indices, axis=0)
    rows, q = gather_rows(params, reshape(indices, [-1])), _extents(indices)
    if not q:
        return rows[0]
    counts = q[:1]  # how many rows the axis has that comes before q[i + 1]
    for length in q[1:-1]:
        counts.append(cast(counts[-1], int64) * length if isinstance(counts[-1], Tensor) else counts[-1] * length)
    for length, count in reversed(list(zip(q[1:], counts, strict=False))):
        rows = RaggedTensor.from_uniform_row_length(rows, length, count, validate=False)
    return rows


def _extents(x: Tensor | RaggedTensor) -> list[Any]:
    """The extents of a Tensor, of a RaggedTensor the number of rows: ints, and tensors where only a call knows."""
    if isinstance(x, RaggedTensor):
        return [x.nrows()]
    return [n if n is not None else shape(x, int64)[i] for i, n in enumerate(x.shape)]


def gather_nd_ragged(params: Tensor | RaggedTensor, indices: Tensor | RaggedTensor) -> Any:
    """tf.gather_nd where params, indices or both are ragged.

    Raises: ValueError for indices of unknown or ragged length; InvalidArgumentError out of range.
    """
    params = params if isinstance(params, RaggedTensor) else as_tensor(params)
    indices = indices if isinstance(indices, RaggedTensor) else as_tensor(indices)
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("indices.rank be statically known.")
    if rank == 0:
        raise ValueError("indices.rank must be at least 1.")
    if isinstance(indices, RaggedTensor):
        if rank == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        return indices.with_flat_values(_at(params, indices.flat_values))
    return _at(params, indices)


def _at(params: Tensor | RaggedTensor, indices: Tensor | RaggedTensor) -> Any:
    """gather_nd at a dense tensor of index vectors."""
    if not isinstance(params, RaggedTensor):
        return gather_nd(params, indices)
    depth = indices.shape[-1]
    if depth is None:
        raise ValueError("indices.shape[-1] must be statically known.")
    if depth == 0:  # all of it, at each
        return _rows_at(expand_axis(params, 0), zeros(_extents(indices)[:-1], int64))
    if depth == 1 and _rank(indices) == 1:  # one row, with an axis more than of a dense tensor: as in TensorFlow
        return _rows_at(params, indices)
    place = indices[..., 0]
    for i in range(1, depth):
        if not isinstance(params, RaggedTensor):
            return gather_nd(params, concat([place[..., None], cast(indices[..., i:], place.dtype)], -1))
        place = _checked(place, params.nrows())
        within = _checked(cast(indices[..., i], params.row_splits.dtype), gather(params.row_lengths(), place))
        place, params = gather(params.row_starts(), place) + within, params.values
    return _rows_at(params, place)


def _checked(index: Tensor, n: Tensor) -> Any:
    """Index, each element less than that of n. Raises: InvalidArgumentError for others."""
    assert_non_negative(index, message="indices must not be negative")
    assert_less(cast(index, n.dtype), n + cast(index, n.dtype) * 0, message="indices are out of range of their row")
    return index
