"""Rows of RaggedTensors taken, repeated, joined and wrapped: what indexing and the movement ops have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph._tensor import Tensor, convert
from fastgraph.dtype import int64
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.checks import assert_equal, assert_less, assert_non_negative
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import broadcast_to, expand_dims, reshape, shape, transpose
from fastgraph.ops.movement import squeeze as squeeze_dense
from fastgraph.ops.padding import repeat
from fastgraph.ops.scans import cumsum
from fastgraph.ragged_tensor import RaggedTensor, along, levels, made, nvals, positions, splits_of


def gather_rows(rows: Any, index: Any) -> Any:
    """The rows, of a Tensor or RaggedTensor, that index i[n] names. Raises: InvalidArgumentError out of range."""
    if not isinstance(rows, RaggedTensor):
        return gather(rows, index, axis=0)
    starts = gather(rows.row_starts(), index)
    lengths = gather(rows.row_limits(), index) - starts
    places = repeat(starts, lengths) + positions(lengths)
    return made(gather_rows(rows.values, places), splits_of(lengths), rows._uniform)


def expand_axis(x: Any, axis: int) -> Any:
    """x with an axis of size 1 before `axis`, counted from the front."""
    if not isinstance(x, RaggedTensor):
        return expand_dims(x, axis)
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(x, x.nrows(), 1, validate=False)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(x, 1, validate=False)
    return x.with_values(expand_axis(x.values, axis - 1))


def squeeze(x: Any, axes: Sequence[int]) -> Any:
    """tf.squeeze of a RaggedTensor. Raises: ValueError without axes; InvalidArgumentError if one is not of size 1."""
    rank = x.shape.rank
    chosen = []
    for i, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ValueError(f"axis[{i}]={axis} out of bounds: expected {-rank}<=axis[{i}]<{rank}")
        chosen.append(axis % rank)
    for axis in sorted(set(chosen), reverse=True):
        x = _squeezed(x, axis, axis)
    return x


def _squeezed(x: Any, axis: int, named: int) -> Any:
    """x without the axis of size 1 that its caller has called `named`."""
    if not isinstance(x, RaggedTensor):
        return squeeze_dense(x, axis)
    if axis > 1:
        return x.with_values(_squeezed(x.values, axis - 1, named))
    lengths = reshape(x.nrows(), [1]) if axis == 0 else x.row_lengths()
    assert_equal(lengths, lengths * 0 + 1, f"the given axis (axis = {named}) is not squeezable!")
    return x.values


def as_ragged(x: Any, rank: int, splits_dtype: Any) -> RaggedTensor:
    """A dense tensor as a RaggedTensor of this ragged rank, whose rows are all of one length."""
    if isinstance(x, RaggedTensor):
        return x
    return RaggedTensor.from_tensor(x, ragged_rank=rank, row_splits_dtype=splits_dtype)  # type: ignore[no-any-return]


def alike(values: Sequence[Any]) -> list[Any]:
    """The tensors, all ragged to the same rank where one of them is ragged. Raises: ValueError for other ranks."""
    ragged = [v for v in values if isinstance(v, RaggedTensor)]
    if not ragged:
        return [as_tensor(v) for v in values]
    dtype = ragged[0].dtype
    tensors = [v if isinstance(v, RaggedTensor) else as_tensor(v, dtype) for v in values]
    rank = tensors[0].shape.rank
    for tensor in tensors:
        if rank is not None:
            tensor.shape.assert_has_rank(rank)
    deepest = max(v.ragged_rank for v in ragged)
    return [_deepened(v, deepest, ragged[0].row_splits.dtype) for v in tensors]


def _deepened(x: Any, ragged_rank: int, splits_dtype: Any) -> Any:
    if not isinstance(x, RaggedTensor):
        return as_ragged(x, ragged_rank, splits_dtype)
    if x.ragged_rank < ragged_rank:
        return x.with_values(_deepened(x.values, ragged_rank - 1, splits_dtype))
    return x


def join(values: Sequence[Any], axis: int) -> Any:
    """tf.concat where one of the values is ragged. Raises: InvalidArgumentError if other axes do not fit."""
    values = alike(values)
    axis = along(axis, values[0].shape.rank)
    if not isinstance(values[0], RaggedTensor):
        return concat(values, axis)
    if axis == 0:
        lengths = concat([v.row_lengths() for v in values], 0)
        return made(join([v.values for v in values], 0), splits_of(lengths))
    for i, other in enumerate(values[1:], 1):
        mine, theirs = (values[0].nrows(), other.nrows()) if axis == 1 else (values[0].row_splits, other.row_splits)
        if mine is not theirs:
            what = f"Input tensors at index 0 (=x) and {i} (=y) have incompatible shapes."
            assert_equal(mine, theirs, what)
    if axis > 1:
        return values[0].with_values(join([v.values for v in values], axis - 1))
    # Each one's first row, each one's second, ...: then as many rows as there are values make one.
    n, count = values[0].nrows(), len(values)
    order = reshape(transpose(reshape(range_(n * count), stack([convert(count, n.dtype), n])), [1, 0]), [-1])
    rows = gather_rows(join(values, 0), order)
    return made(rows.values, rows.row_splits[::count])


def pile(values: Sequence[Any], axis: int) -> Any:
    """tf.stack where one of the values is ragged."""
    values = alike(values)
    axis = along(axis, values[0].shape.rank + 1)
    rank = values[0].shape.rank
    if axis == 0 and rank is not None and rank > 1:
        values = [_deepened(v, 1, int64) for v in values]
    if axis == 0 and not isinstance(values[0], RaggedTensor):
        lengths = stack([nvals(v) for v in values])
        return made(concat(values, 0), splits_of(lengths))
    if axis == 0:
        lengths = stack([v.nrows() for v in values])
        return made(join(values, 0), splits_of(lengths))
    return join([expand_axis(v, axis) for v in values], axis)


def tile(rt: Any, multiples: Sequence[int]) -> Any:
    """tf.tile of a RaggedTensor. Raises: ValueError for another number of axes."""
    if len(multiples) != rt.shape.rank:
        raise ValueError(f"tile needs one multiple per axis: {len(multiples)} of {rt.shape.rank} were given")
    for axis, times in enumerate(multiples):
        if times == 0:
            rt = rt[(slice(None),) * axis + (slice(0, 0),)]
        elif times > 1:
            rt = join([rt] * times, axis)
    return rt


def gather_ragged(params: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    """tf.gather where params, indices or both are ragged."""
    params = params if isinstance(params, RaggedTensor) else as_tensor(params)
    if batch_dims and not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return gather(params, indices, axis=axis, batch_dims=batch_dims)
    if batch_dims:
        return _gather_batches(params, indices, batch_dims, axis)
    if isinstance(indices, RaggedTensor):
        if axis != 0:
            raise NotImplementedError("gather along another axis than 0 needs indices that are not ragged")
        return indices.with_values(gather_ragged(params, indices.values, 0, 0))
    indices = as_tensor(indices)
    if not isinstance(params, RaggedTensor):
        return gather(params, indices, axis=axis)
    axis = along(axis, params.shape.rank)
    if axis > 1:
        return params.with_values(gather_ragged(params.values, indices, axis - 1, 0))
    if axis == 1:
        flat = reshape(indices, [1, -1])
        wide = broadcast_to(flat, stack([params.nrows(), shape(flat, params.row_splits.dtype)[1]]))
        taken = _gather_batches(params, wide, 1, 1)
        if isinstance(taken, RaggedTensor):
            return _like_indices(taken.values, indices, params.nrows())
        q = [_extent(indices, i) for i in range(_rank(indices))]
        return reshape(taken, [_extent(taken, 0), *q, *[_extent(taken, i) for i in range(2, taken.shape.rank)]])
    if indices.shape.rank == 0:
        return params[indices]
    return _like_indices(gather_rows(params, reshape(indices, [-1])), indices)


def _rank(indices: Any) -> int:
    if indices.shape.rank is None:
        raise NotImplementedError("gather of a RaggedTensor needs indices of known rank")
    rank: int = indices.shape.rank
    return rank


def _like_indices(rows: Any, indices: Any, batches: Any = None) -> Any:
    """Rows taken at all of the indices, one after another (for each batch, if any), in axes as the indices have.

    r[n * q0 * q1 ..., *rest], i[q0, q1, ...] -> r[q0, q1, ..., *rest], or [n, q0, q1, ..., *rest] of n batches.
    """
    q = [indices.shape[i] if indices.shape[i] is not None else shape(indices, int64)[i] for i in range(_rank(indices))]
    counts = [1 if batches is None else batches]  # how many rows the axis has that comes before q[i]
    for length in q:
        counts.append(cast(counts[-1], int64) * length if isinstance(counts[-1], Tensor) else counts[-1] * length)
    for i in reversed(range(batches is None, len(q))):
        rows = RaggedTensor.from_uniform_row_length(rows, q[i], counts[i], validate=False)
    return rows


def _gather_batches(params: Any, indices: Any, batch_dims: int, axis: int) -> Any:
    if not isinstance(indices, RaggedTensor):
        indices = as_tensor(indices)
    rank = indices.shape.rank
    if rank is not None and batch_dims < 0:
        axis = axis + rank if axis == batch_dims else axis
        batch_dims += rank
    if axis < 0:
        axis = along(axis, params.shape.rank)
    if rank == batch_dims:  # one index per batch
        return squeeze(_gather_batches(params, expand_axis(indices, rank), batch_dims, axis), [axis])
    known = indices.shape[:batch_dims]
    if not known.is_compatible_with(params.shape[:batch_dims]):
        raise ValueError(f"batch shape from indices {known} does not match params shape {params.shape}")
    if axis > batch_dims == 1 and isinstance(params, RaggedTensor):  # the same indices for all that a batch holds
        inner = gather_ragged(indices, params.value_rowids(), 0, 0)
        return params.with_values(gather_ragged(params.values, inner, axis - 1, 1))
    if axis < batch_dims or (axis > batch_dims == 1):
        raise NotImplementedError("gather of RaggedTensors with batch_dims takes from axes after them only")
    if not isinstance(params, RaggedTensor):
        params = as_ragged(as_tensor(params), batch_dims, int64)
    if batch_dims > 1:
        inner = as_ragged(indices, batch_dims - 1, params.row_splits.dtype)
        return inner.with_values(_gather_batches(params.values, inner.values, batch_dims - 1, axis - 1))
    ragged = isinstance(indices, RaggedTensor)
    rows = indices if ragged else as_ragged(as_tensor(indices), 1, params.row_splits.dtype)
    within = cast(rows.values, params.row_splits.dtype)
    batch = rows.value_rowids()
    lengths = gather(params.row_lengths(), batch)
    assert_non_negative(within, message="indices must not be negative")
    assert_less(within, lengths, message="indices are out of range of their row")
    taken = gather_rows(params.values, within + gather(params.row_starts(), batch))
    if ragged or isinstance(taken, RaggedTensor):
        return rows.with_values(taken)
    tail = [n if n is not None else shape(taken)[i + 1] for i, n in enumerate(taken.shape[1:])]
    return reshape(taken, [*[_extent(indices, i) for i in range(2)], *tail])


def _extent(x: Any, axis: int) -> Any:
    return x.shape[axis] if x.shape[axis] is not None else shape(x)[axis]


def boolean_mask_ragged(data: Any, mask: Any) -> Any:
    """The elements of data, ragged or not, for which mask holds, in their rows. ValueError for a scalar mask."""
    mask = mask if isinstance(mask, RaggedTensor) else as_tensor(mask, "bool")
    data = data if isinstance(data, RaggedTensor) else as_tensor(data)
    rank = mask.shape.rank
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if rank is None:
        raise ValueError("mask.shape.ndims must be known statically.")
    if rank == 1:
        if not isinstance(data, RaggedTensor):
            return boolean_mask(data, mask)
        data.shape[:1].assert_is_compatible_with(mask.shape)
        return gather_rows(data, where(mask)[:, 0])
    dtype = next((x.row_splits.dtype for x in (data, mask) if isinstance(x, RaggedTensor)), int64)
    data, mask = _deepened(data, rank - 1, dtype), _deepened(mask, rank - 1, dtype)
    for mine, theirs in zip(levels(mask), levels(data), strict=False):
        if mine.row_splits is not theirs.row_splits:
            assert_equal(mine.row_splits, theirs.row_splits, "Inputs must have identical ragged splits")
    return _masked(data, mask)


def _masked(data: Any, mask: Any) -> Any:
    if isinstance(mask.values, RaggedTensor):
        return made(_masked(data.values, mask.values), mask.row_splits)
    kept = concat([[0], cumsum(cast(mask.values, int64))], 0)
    splits = cast(gather(kept, mask.row_splits), mask.row_splits.dtype)
    return made(boolean_mask_ragged(data.values, mask.values), splits)
