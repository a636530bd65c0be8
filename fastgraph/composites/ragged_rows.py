"""Rows of RaggedTensors taken, repeated, joined and wrapped: what indexing and the movement ops have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor, check_splits_dtypes, levels, made, splits_dtype
from fastgraph.composites.row_splits import along, positions, splits_of
from fastgraph.core.base.dtype import bool_, int64
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.arguments import as_tensor, static_int
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import expand_dims, reshape, shape, transpose
from fastgraph.ops.movement import squeeze as squeeze_dense
from fastgraph.ops.runtime_assertions import assert_equal
from fastgraph.ops.scans import cumsum
from fastgraph.ops.tiling import repeat


def gather_rows(rows: RaggedTensor, index: Tensor) -> Any:
    """The rows, of a Tensor or RaggedTensor, that index i[n] names. Raises: InvalidArgumentError out of range."""
    if not isinstance(rows, RaggedTensor):
        return gather(rows, index, axis=0)
    starts = gather(rows.row_starts(), index)
    lengths = gather(rows.row_limits(), index) - starts
    places = repeat(starts, lengths) + positions(lengths)
    return made(gather_rows(rows.values, places), splits_of(lengths), rows._uniform)


def expand_axis(x: Tensor | RaggedTensor, axis: int) -> Any:
    """x with an axis of size 1 before `axis`, counted from the front."""
    if not isinstance(x, RaggedTensor):
        return expand_dims(x, axis)
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(x, x.nrows(), 1, validate=False)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(x, 1, validate=False)
    return x.with_values(expand_axis(x.values, axis - 1))


def squeeze(x: RaggedTensor, axes: Sequence[int]) -> Any:
    """tf.squeeze of a RaggedTensor. Raises: ValueError without axes; InvalidArgumentError if one is not of size 1."""
    rank = len(x.shape)
    chosen = []
    for i, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ValueError(f"axis[{i}]={axis} out of bounds: expected {-rank}<=axis[{i}]<{rank}")
        chosen.append(axis % rank)
    for axis in sorted(set(chosen), reverse=True):
        x = _squeezed(x, axis, axis)
    return x


def _squeezed(x: object, axis: int, named: int) -> Any:
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
    return RaggedTensor.from_tensor(x, ragged_rank=rank, row_splits_dtype=splits_dtype)


def alike(values: Sequence[Any]) -> list[Any]:
    """The tensors, all ragged to the same rank where one of them is ragged. Raises: ValueError for other ranks."""
    ragged = [v for v in values if isinstance(v, RaggedTensor)]
    if not ragged:
        return [as_tensor(v) for v in values]
    check_splits_dtypes(ragged)
    dtype = ragged[0].dtype
    tensors = [v if isinstance(v, RaggedTensor) else as_tensor(v, dtype) for v in values]
    rank = tensors[0].shape.rank
    for tensor in tensors:
        if rank is not None:
            tensor.shape.assert_has_rank(rank)
    deepest = max(v.ragged_rank for v in ragged)
    return [_deepened(v, deepest, ragged[0].row_splits.dtype) for v in tensors]


def _deepened(x: object, ragged_rank: int, splits_dtype: object) -> Any:
    if not isinstance(x, RaggedTensor):
        return as_ragged(x, ragged_rank, splits_dtype)
    if x.ragged_rank < ragged_rank:
        return x.with_values(_deepened(x.values, ragged_rank - 1, splits_dtype))
    return x


def broadcasted(parts: Sequence[RaggedTensor]) -> list[RaggedTensor]:
    """RaggedTensors of one rank, those with rows of one element repeated to be as others are."""
    found = list(parts)
    if len(found) > 1 and len({x.shape.rank for x in found}) == 1:
        deepest = max(x.ragged_rank for x in found)
        found = [_deepened(x, deepest, x.row_splits.dtype) for x in found]
        for i in range(len(found)) if any(map(_has_ones, found)) else ():
            for other in found:
                if found[i].shape[0] == 1 and other.shape[0] != 1:
                    found[i] = gather_rows(found[i], zeros(reshape(other.nrows(), [1]), int64))
                found[i] = _repeated(found[i], other)
    return found


def _has_ones(x: RaggedTensor) -> bool:
    return x.shape[0] == 1 or any(map(_of_ones, levels(x)))


def _of_ones(x: RaggedTensor) -> bool:
    """Return whether all rows are known to have one element."""
    return x._uniform is not None and static_int(x._uniform) == 1


def _repeated(x: Any, other: Any) -> Any:
    """x with the partition of another where it has rows of one element and that has not."""
    if not isinstance(x, RaggedTensor):
        return x
    if _of_ones(x) and not _of_ones(other):
        return other.with_values(_repeated(gather_rows(x.values, other.value_rowids()), other.values))
    return x.with_values(_repeated(x.values, other.values))


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
        lengths = stack([shape(v)[0] for v in values])  # int32, as tf.shape is
        return made(concat(values, 0), splits_of(lengths))
    if axis == 0:
        lengths = stack([v.nrows() for v in values])
        return made(join(values, 0), splits_of(lengths))
    return join([expand_axis(v, axis) for v in values], axis)


def tile(rt: RaggedTensor, multiples: Sequence[int]) -> Any:
    """tf.tile of a RaggedTensor. Raises: ValueError for another number of axes, InvalidArgumentError below 0."""
    if len(multiples) != rt.shape.rank:
        raise ValueError(f"tile needs one multiple per axis: {len(multiples)} of {rt.shape.rank} were given")
    for axis, times in enumerate(multiples):
        if times < 0:
            raise invalid(f"Input argument 'repeats' must be non-negative, got {times}")
        if times == 0:
            rt = rt[(slice(None),) * axis + (slice(0, 0),)]
        elif times > 1:
            rt = join([rt] * times, axis)
    return rt


def boolean_mask_ragged(data: Any, mask: Any) -> Any:
    """The elements of data, ragged or not, for which mask holds, in their rows. ValueError for a scalar mask."""
    if isinstance(mask, RaggedTensor) and mask.dtype is not bool_:
        raise ValueError(
            f"Tensor conversion requested dtype bool for RaggedTensor with dtype {mask.dtype.name}: {mask}."
        )
    mask = mask if isinstance(mask, RaggedTensor) else convert_to_tensor(mask, bool_)
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
    check_splits_dtypes((data, mask))
    dtype = splits_dtype(data, splits_dtype(mask))
    data, mask = _deepened(data, rank - 1, dtype), _deepened(mask, rank - 1, dtype)
    for mine, theirs in zip(levels(mask), levels(data), strict=False):
        if mine.row_splits is not theirs.row_splits:
            assert_equal(mine.row_splits, theirs.row_splits, "Inputs must have identical ragged splits")
    return _masked(data, mask)


def _masked(data: RaggedTensor, mask: RaggedTensor) -> Any:
    if isinstance(mask.values, RaggedTensor):
        return made(_masked(data.values, mask.values), mask.row_splits)
    kept = concat([[0], cumsum(cast(mask.values, int64))], 0)
    splits = cast(gather(kept, mask.row_splits), mask.row_splits.dtype)
    return made(boolean_mask_ragged(data.values, mask.values), splits)


def coordinates(rt: RaggedTensor) -> list[Any]:
    """The place of each innermost value along the first axis and along each ragged one."""
    found: list[Any] = []
    for level in levels(rt):
        rows = level.value_rowids()
        found = [gather(column, rows) for column in found] if found else [rows]
        found.append(level._places())
    return found
