"""Ops on RaggedTensors, and how these become dense and sparse.

Rule: an op reaches `apply` because `bind` met a RaggedTensor among its inputs; what is not said there is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_axis_ops import bits, running_sum, softmax_along
from fastgraph.composites.ragged_gathering import gather_nd_ragged, gather_ragged
from fastgraph.composites.ragged_matmul import matmul
from fastgraph.composites.ragged_rows import (
    broadcasted,
    coordinates,
    expand_axis,
    gather_rows,
    join,
    pile,
    squeeze,
    tile,
)
from fastgraph.composites.ragged_shape import DynamicRaggedShape
from fastgraph.composites.ragged_strings import format_rows, join_segments
from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec, check_splits_dtypes, levels, made
from fastgraph.composites.row_splits import along, positions, splits_of
from fastgraph.composites.sparse_tensor import SparseTensor, with_shape
from fastgraph.core.base.dtype import DType, as_dtype, float64, int32, int64
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import SizeLike, TensorLike, unsupported
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import Tensor, bind, convert
from fastgraph.ops import reduction
from fastgraph.ops.arguments import as_tensor, known_value, of_dtypes
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import equal
from fastgraph.ops.creation import fill, ones, range_, zeros
from fastgraph.ops.deferred_calls import late_structure
from fastgraph.ops.dynamic_partition import dynamic_partition
from fastgraph.ops.elementwise import cast, maximum, ones_like, select
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.reduction import reduce_all, reduce_max, reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal, ensure_shape
from fastgraph.ops.scatter import gather_nd, tensor_scatter_update_p
from fastgraph.ops.segments import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from fastgraph.ops.sequences import sequence_mask
from fastgraph.ops.strings import reduce_join
from fastgraph.ops.tiling import repeat

# ---- dense and sparse -----------------------------------------------------------------------------------------------


def from_dense(tensor: object, lengths: Any, padding: object, ragged_rank: int, splits_dtype: DType) -> Any:
    """RaggedTensor.from_tensor."""
    if lengths is not None and padding is not None:
        raise ValueError("Specify argument `lengths` or `padding`, but not both.")
    if not isinstance(ragged_rank, int | np.integer):
        raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
    if ragged_rank <= 0:
        raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
    tensor = as_tensor(tensor)
    rank = tensor.shape.rank
    several = isinstance(lengths, (list, tuple)) and len(lengths) and not isinstance(lengths[0], (int, np.integer))
    if rank is None:
        n = len(lengths) if several else ragged_rank
        again = lambda x, n, pad: from_dense(x, n, pad, ragged_rank, splits_dtype)
        return late_structure(again, (tensor, lengths, padding), RaggedTensorSpec(None, tensor.dtype, n, splits_dtype))
    if rank <= 1:
        raise ValueError(
            "The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars won't have ragged dimensions. "
            f"Received argument `tensor` with rank {rank}."
        )
    tensor.shape.with_rank_at_least(ragged_rank + 1)
    if several:
        if ragged_rank not in (1, len(lengths)):
            raise ValueError(
                "If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must be len(lengths): "
                f"{len(lengths)}. Received ragged_rank: {ragged_rank}."
            )
        ragged_rank = len(lengths)
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        masks = [_kept(n, tensor, axis + 1) for axis, n in enumerate(lengths)]
        rows: Any = _cut(tensor, masks[0], splits_dtype)
        for axis, n in enumerate(lengths[1:], 2):
            inner = _cut(rows.flat_values, sequence_mask(cast(n, int64), _extent(tensor, axis)), splits_dtype)
            rows = rows.with_flat_values(inner)
        return rows
    if ragged_rank > 1:
        flat = reshape(tensor, [_extent(tensor, 0) * _extent(tensor, 1), *[_extent(tensor, i) for i in range(2, rank)]])
        inner = from_dense(flat, lengths, padding, ragged_rank - 1, splits_dtype)
        return RaggedTensor.from_uniform_row_length(inner, _extent(tensor, 1), _extent(tensor, 0), validate=False)
    if lengths is not None:
        return _cut(tensor, _kept(lengths, tensor, 1), splits_dtype)
    if padding is None:
        flat = reshape(tensor, [_extent(tensor, 0) * _extent(tensor, 1), *[_extent(tensor, i) for i in range(2, rank)]])
        made_ = RaggedTensor.from_uniform_row_length(flat, _extent(tensor, 1), _extent(tensor, 0), validate=False)
        return made_.with_row_splits_dtype(splits_dtype)
    padding = as_tensor(padding, tensor.dtype)
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    full = equal(tensor, padding)
    if rank > 2:
        full = reduce_all(full, list(range(2, rank)))
    places = range_(1, shape(tensor, int64)[1] + 1)
    last = reduce_max(concat([where(full, convert(0, int64), places), zeros([shape(full)[0], 1], int64)], 1), 1)
    return _cut(tensor, sequence_mask(last, _extent(tensor, 1)), splits_dtype)


def _extent(x: Any, axis: int) -> Any:
    return x.shape[axis] if x.shape[axis] is not None else shape(x, int64)[axis]


def _kept(lengths: object, tensor: Tensor, axis: int) -> Any:
    lengths = as_tensor(lengths, int64)
    lengths.shape.assert_has_rank(1)
    return sequence_mask(lengths, as_tensor(_extent(tensor, axis), int64))  # in whose dtype it compares


def _cut(tensor: Tensor, mask: Tensor, splits_dtype: DType) -> RaggedTensor:
    lengths = reduce_sum(cast(mask, int64), 1)
    return made(boolean_mask(tensor, mask), cast(splits_of(lengths), splits_dtype))


def from_sparse(st_input: object, splits_dtype: DType) -> RaggedTensor:
    """RaggedTensor.from_sparse."""
    if not isinstance(st_input, SparseTensor):
        raise TypeError(f"Argument `st_input` must be of type SparseTensor, but is of type {type(st_input).__name__}.")
    if st_input.shape.rank != 2:
        raise ValueError("rank(st_input) must be 2.")
    rows, columns = st_input.indices[:, 0], st_input.indices[:, 1]
    n = st_input.shape[0] if st_input.shape[0] is not None else st_input.dense_shape[0]
    lengths = unsorted_segment_sum(ones_like(rows), rows, n)
    fits = reduce_all(equal(columns, positions(lengths))) & reduce_all(rows[1:] >= rows[:-1]) & reduce_all(rows >= 0)
    assert_equal(fits, convert(True), "SparseTensor is not right-ragged")
    return made(st_input.values, cast(splits_of(lengths), splits_dtype))


def to_dense(rt: RaggedTensor, default_value: object, wanted: Any) -> Any:
    """RaggedTensor.to_tensor."""
    flat, rank = rt.flat_values, rt.shape.rank
    if rank is None:
        return late_structure(lambda rt, d: to_dense(rt, d, wanted), (rt, default_value), TensorSpec(None, rt.dtype))
    own = rt.bounding_shape(out_type=int64)
    wanted = None if isinstance(wanted, TensorShape) and wanted.rank is None else wanted
    known: list[int | None] = [rt.shape[0], *[None] * rt.ragged_rank, *flat.shape[1:]]
    for axis in range(1, rt.ragged_rank + 1):
        known[axis] = rt.shape[axis]
    index = stack([cast(column, int64) for column in coordinates(rt)], 1)
    if wanted is not None:
        limits = _limits(wanted, rank)
        if len(limits) != rank:
            raise invalid(
                f"rt_input.shape and shape={limits} are incompatible: rt_input.rank = {rank} but shape.rank = "
                f"{len(limits)}"
            )
        known = [k if n is None else None if isinstance(n, Tensor) else n for k, n in zip(known, limits, strict=True)]
        own = stack([own[i] if n is None else _limit(n, own[i]) for i, n in enumerate(limits)])
        inside = reduce_all(index < own[: rt.ragged_rank + 1], 1)
        index, flat = boolean_mask(index, inside), boolean_mask(flat, inside)
    default = zeros([], rt.dtype) if default_value is None else as_tensor(default_value, rt.dtype)
    ranks = default.shape.rank, flat.shape.rank
    if ranks[0] is not None and ranks[1] is not None and ranks[0] >= max(ranks[1], 1):
        raise invalid(
            f"default_value.shape={default.shape} and rt_input.flat_values.shape={flat.shape} are incompatible: "
            f"default_value.rank = {default.shape.rank}  must be less than rt_input.flat_values.rank = "
            f"{flat.shape.rank}"
        )
    extents = known if None not in known else own
    dense = tensor_scatter_update_p(_filled(extents, default), index, flat)
    return dense if dense.shape.is_fully_defined() else ensure_shape(dense, known)


def _limits(wanted: Any, rank: int | None) -> list[Any]:
    """The extents that are wanted: ints, None for a tensor's own, and scalar tensors that only a call knows."""
    limits = wanted.as_list() if hasattr(wanted, "as_list") else wanted
    if isinstance(limits, int):
        limits = TensorShape([limits]).as_list()
    elif isinstance(limits, Tensor) and limits.shape.rank != 1:  # one number, below 0, is that of every axis
        given = known_value(limits)
        limits = broadcast_to(limits, [rank]) if given is None or (given < 0).all() else np.ravel(given).tolist()
    if isinstance(limits, Tensor):
        n = limits.shape[0] if limits.shape.rank == 1 else None
        limits = [limits[i] for i in range(n if n is not None else rank or 0)]
    found: list[Any] = []
    for extent in limits:
        n = known_value(convert(extent)) if isinstance(extent, Tensor) else extent
        if n is not None and n < 0 and not isinstance(extent, Tensor):
            raise ValueError(f"Dimension {n} must be >= 0")
        if n is not None and n < -1:
            raise invalid(f"Invalid value in tensor used for shape: {n}")
        found.append(
            cast(extent, int64) if n is None and extent is not None else None if n is None or n < 0 else int(n)
        )
    return found


def _limit(wanted: object, own: object) -> Any:
    """An extent in int64; one that only a call knows may be below 0, which is the tensor's own."""
    return select(wanted < 0, own, wanted) if isinstance(wanted, Tensor) else convert(wanted, int64)


def _filled(extents: SizeLike, default: Tensor) -> Any:
    return fill(extents, default) if default.shape.rank == 0 else broadcast_to(default, extents)


def to_sparse(rt: RaggedTensor) -> Any:
    """RaggedTensor.to_sparse."""
    index, flat = stack([cast(column, int64) for column in coordinates(rt)], 1), rt.flat_values
    if flat.shape.rank != 1:
        inner = where(ones(shape(flat), "bool"))
        index, flat = concat([gather(index, inner[:, 0]), inner[:, 1:]], 1), reshape(flat, [-1])
    return with_shape(index, flat, rt.bounding_shape(out_type=int64), [rt.shape[0], *[None] * (index.shape[1] - 1)])


def merge_dims(rt: RaggedTensor, outer_axis: int, inner_axis: int) -> Any:
    """RaggedTensor.merge_dims."""
    rank = rt.shape.rank
    outer, inner = along(outer_axis, rank, "outer_axis"), along(inner_axis, rank, "inner_axis")
    if outer > inner:
        raise ValueError(f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis ({inner_axis}).")
    if outer == inner:
        return rt
    if not isinstance(rt, RaggedTensor):
        extents = [_extent(rt, i) for i in range(rt.shape.rank)]
        return reshape(rt, [*extents[:outer], -1, *extents[inner + 1 :]])
    if outer > 1:
        return rt.with_values(merge_dims(rt.values, outer - 1, inner - 1))
    for _ in range(inner - max(outer, 1)):
        rt = _without_axis_2(rt)
    return rt.values if outer == 0 else rt


def _without_axis_2(rt: RaggedTensor) -> Any:
    """Axes 1 and 2 as one."""
    inner = rt.values
    if isinstance(inner, RaggedTensor):
        return made(inner.values, gather(inner.row_splits, rt.row_splits))
    width = shape(inner, rt.row_splits.dtype)[1]
    tail = [_extent(inner, i) for i in range(2, inner.shape.rank)]
    return made(reshape(inner, [-1, *tail]), rt.row_splits * width)


# ---- element by element ---------------------------------------------------------------------------------------------


def same_partition(parts: Sequence[RaggedTensor], message: str = "") -> None:
    """Raise InvalidArgumentError unless the RaggedTensors have the same rows."""
    first = parts[0].nested_row_splits
    check_splits_dtypes(parts)
    for other in parts[1:]:
        if other.ragged_rank != parts[0].ragged_rank:
            raise ValueError("All ragged inputs must have the same ragged_rank.")
        for mine, theirs in zip(first, other.nested_row_splits, strict=True):
            if mine is not theirs:
                assert_equal(mine, theirs, message or None)


def merged(parts: Sequence[RaggedTensor]) -> RaggedTensor:
    """The first of RaggedTensors of the same rows, with what any of them knows of rows of one length."""
    first, inner = parts[0], [part.values for part in parts]
    values = merged(inner) if isinstance(inner[0], RaggedTensor) else inner[0]
    known = next((part for part in parts if part._uniform is not None), first)
    return made(values, first._row_splits, known._uniform)


def _elementwise(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> RaggedTensor:
    ragged = broadcasted([x for x in inputs if isinstance(x, RaggedTensor)])
    same_partition(ragged)
    spread = iter(ragged)
    inputs = tuple([next(spread) if isinstance(x, RaggedTensor) else x for x in inputs])
    place: list[Any] = []
    flat = []
    letters = [prim.groups[min(i, len(prim.groups) - 1)] for i in range(len(inputs))]
    own = {letter: x.dtype for letter, x in zip(letters, inputs, strict=True) if isinstance(x, (RaggedTensor, Tensor))}
    for letter, x in zip(letters, inputs, strict=True):
        dtype = own.get(letter) if letter[0].isupper() else None if letter == "-" else as_dtype(letter)
        flat.append(x.flat_values if isinstance(x, RaggedTensor) else _spread(x, ragged[0], dtype, place))
    return ragged[0].with_flat_values(bind(prim, tuple(flat), attrs))


def _spread(x: TensorLike, rt: RaggedTensor, dtype: DType | None, place: list[Any]) -> Any:
    """A dense input at each innermost value, its axes matched with those of rt from the last."""
    if isinstance(x, (bool, int, float, complex, str, bytes)):
        return x
    x = as_tensor(x, None if hasattr(x, "__fg_tensor__") else dtype)
    own, rank, split = x.shape.rank, rt.shape.rank, rt.ragged_rank + 1
    if own == 0:
        return x
    if own is None or rank is None or own > rank:
        raise ValueError(f"Cannot broadcast a tensor of shape {x.shape} with a RaggedTensor of shape {rt.shape}")
    outer = own - (rank - split)  # how many of its axes lie along rt's first and ragged ones
    if outer <= 0:
        return x
    if not place:
        place += coordinates(rt)
    columns = []
    for i in range(outer):
        axis, n = split - outer + i, x.shape[i]
        column = cast(place[axis], int64)
        if n != 1:
            lengths = rt.nrows() if axis == 0 else levels(rt)[axis - 1].row_lengths()
            extent = shape(x, lengths.dtype)[i]
            if n is None:
                lengths, column = where(extent == 1, extent, lengths), where(extent == 1, cast(0, int64), column)
            assert_equal(lengths, extent + lengths * 0, "Unable to broadcast: dimension size mismatch in dimension")
        columns.append(column if n != 1 else column * 0)
    return gather_nd(x, stack(columns, 1))


# ---- reductions -----------------------------------------------------------------------------------------------------

#: The ways in which rows become one: along a ragged axis, by the rows' numbers, and along one of the innermost values.
Kind = tuple[Callable[..., Any], Callable[..., Any]]
_KINDS: dict[str, Kind] = {
    "sum": (unsorted_segment_sum, reduction.reduce_sum),
    "prod": (unsorted_segment_prod, reduction.reduce_prod),
    "max": (unsorted_segment_max, reduction.reduce_max),
    "min": (unsorted_segment_min, reduction.reduce_min),
}


def _reduce(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    (rt,), axes, keepdims = inputs, attrs["axes"], attrs["keepdims"]
    rank = rt.shape.rank
    if prim.name == "mean" and not (rt.dtype.is_floating or rt.dtype.is_complex):
        rt = _map(lambda x: cast(of_dtypes(x, "summable"), float64), rt)
    if axes is None:
        total = bind(prim, (rt.flat_values,), {"axes": None, "keepdims": False})
        return reshape(total, [1] * rank) if keepdims else total
    chosen = sorted([along(axis, rank) for axis in axes])
    if prim.name == "mean":
        one = rt.with_flat_values(ones_like(rt.flat_values))
        return _along(rt, chosen, _KINDS["sum"], keepdims) / _along(one, chosen, _KINDS["sum"], keepdims)
    if prim.name in ("any", "all"):
        counts = _map(lambda x: cast(x, int32), rt)
        return _along(counts, chosen, _KINDS["max" if prim.name == "any" else "min"], keepdims) > 0
    return _along(rt, chosen, _KINDS[prim.name], keepdims)


def _along(rt: RaggedTensor, axes: Sequence[int], kind: Kind, keepdims: bool) -> Any:
    for axis in reversed(axes):  # an axis that is named twice is reduced twice
        rt = _along_one(rt, axis, kind)
        rt = expand_axis(rt, axis) if keepdims else rt
    return rt


def _along_one(rt: RaggedTensor, axis: int, kind: Kind) -> Any:
    if not isinstance(rt, RaggedTensor):
        return kind[1](rt, axis)
    if axis > 1:
        return rt.with_values(_along_one(rt.values, axis - 1, kind))
    if axis == 1:
        return _segments(rt.values, rt.value_rowids(), rt.nrows(), kind)
    lengths = rt.row_lengths()
    longest = reduce_max(concat([lengths, zeros([1], lengths.dtype)], 0))
    return _segments(rt.values, rt._places(), longest, kind)


def _segments(rows: Tensor | RaggedTensor, ids: Tensor, n: TensorLike, kind: Kind) -> Any:
    """The rows that belong to each of n segments as one, element by element; as long as the longest of them."""
    if not isinstance(rows, RaggedTensor):
        return kind[0](rows, ids, n)
    lengths = rows.row_lengths()
    splits = splits_of(maximum(unsorted_segment_max(lengths, ids, n), 0))
    starts = gather(splits, ids)
    inner = repeat(starts, lengths) + positions(lengths)
    return made(_segments(rows.values, inner, splits[-1], kind), splits)


def _join(rt: RaggedTensor, axes: Sequence[int] | None, keepdims: bool, separator: str) -> Any:
    """tf.strings.reduce_join of a RaggedTensor. Raises: ValueError for an axis out of range."""
    rank = rt.shape.rank
    if axes is None:
        whole = reduce_join(rt.flat_values, separator=separator)
        return reshape(whole, [1] * (rank or 0)) if keepdims else whole
    kind = (
        lambda rows, ids, n: join_segments(rows, ids, cast(n, int64), separator=separator),
        lambda rows, axis: reduce_join(rows, axis, separator=separator),
    )
    return _along(rt, [along(axis, rank) for axis in axes], kind, keepdims)


def _segmented(name: str, rt: RaggedTensor, ids: Any, n: Any) -> Any:
    """tf.math.unsorted_segment_sum and its like: rows that have one number become one. Raises: ValueError."""
    if isinstance(ids, RaggedTensor):
        if not isinstance(rt, RaggedTensor):
            raise ValueError("segment_ids is ragged, and data is not")
        assert_equal(rt.row_splits, ids.row_splits, "segment_ids.shape must be a prefix of data.shape")
        return _segmented(name, rt.values, ids.values, n)
    if not isinstance(rt, RaggedTensor):
        return _KINDS[name][0](rt, ids, n)
    ids = as_tensor(ids)
    ids.shape.assert_has_rank(1)
    return _segments(rt, ids, n, _KINDS[name])


def _parted(rt: Any, partitions: Any, count: int) -> tuple[Any, ...]:
    """tf.dynamic_partition: the rows whose number is 0, those whose is 1, ..."""
    if isinstance(partitions, RaggedTensor):
        if isinstance(rt, RaggedTensor):
            assert_equal(rt.row_splits, partitions.row_splits, "partitions.shape must be a prefix of data.shape")
            return _parted(rt.values, partitions.values, count)
        raise ValueError("partitions is ragged, and data is not")
    partitions = as_tensor(partitions, int32)
    if not isinstance(rt, RaggedTensor):
        return tuple(dynamic_partition(rt, partitions, count))
    rank = partitions.shape.rank
    if rank == 0:
        return _parted(expand_axis(rt, 0), reshape(partitions, [1]), count)
    if rank != 1:
        raise ValueError(f"partitions of rank {rank} for a RaggedTensor: 1, or ragged as it is")
    places = dynamic_partition(range_(shape(partitions)[0]), partitions, count)
    return tuple([gather_rows(rt, own) for own in places])


def _map(function: Callable[..., Any], rt: RaggedTensor) -> RaggedTensor:
    return rt.with_flat_values(function(rt.flat_values))


# ---- one rule per op ------------------------------------------------------------------------------------------------

#: Ops that do to the innermost values what they would do to a dense tensor.
_MAPPED = {"check_numerics", "as_string", "decode_compressed", "encode_base64", "decode_base64", "substr"}
_MAPPED |= {f"string_{name}" for name in ("lower", "upper", "strip", "length", "join")}
_MAPPED |= {"to_number", "regex_full_match", "regex_replace", "hash_bucket", "hash_bucket_fast", "hash_bucket_strong"}
_MAPPED |= {"unicode_script", "unicode_transcode", "is_jpeg"}


def _where_index(rt: RaggedTensor) -> Any:
    sparse = to_sparse(rt)
    return boolean_mask(sparse.indices, sparse.values)


def _one(prim: Primitive, rt: RaggedTensor, attrs: dict[str, Any]) -> Any:
    """An op on one RaggedTensor that moves or counts it."""
    rank = rt.shape.rank
    if prim.name == "expand_dims" and len(attrs["axes"]) == 1:
        return expand_axis(rt, along(attrs["axes"][0], None if rank is None else rank + 1))
    if prim.name == "size":
        return cast(shape(reshape(rt.flat_values, [-1]), int64)[0], attrs["out_type"])
    if prim.name == "rank":
        return convert(rank, int32)
    if prim.name == "shape":
        return DynamicRaggedShape.from_tensor(rt, attrs["out_type"])
    if prim.name == "where_index":
        return _where_index(_map(lambda x: x if x.dtype.is_bool else x != 0, rt))
    if prim.name == "tile":
        return tile(rt, attrs["multiples"])
    if prim.name == "reverse":
        chosen = {along(axis, rank) for axis in attrs["axes"]}
        return rt[tuple(slice(None, None, -1 if axis in chosen else None) for axis in range(rank or 0))]
    if prim.name == "squeeze":
        return squeeze(rt, attrs["axes"])
    if prim.name == "softmax":
        return softmax_along(rt, -1)
    if prim.name == "cumsum":
        return running_sum(prim, rt, attrs)
    if prim.name == "bitcast":
        return bits(prim, rt, attrs["type"])
    if prim.name == "reshape":
        return reshape(rt.flat_values, attrs["shape"])
    raise unsupported(rt)


def _one_hot_axis(indices: TensorLike, axis: int) -> int:
    """The axis of the innermost values' one_hot. Raises: ValueError for one that is ragged, or outside of these."""
    if not isinstance(indices, RaggedTensor) or axis < 0:
        return axis
    if axis <= indices.ragged_rank:
        raise ValueError(f"axis ({axis}) must be greater than indices.ragged_rank ({indices.ragged_rank}).")
    return axis - indices.ragged_rank


def apply(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply an op one of whose inputs is a RaggedTensor. Raises: ValueError for ops that take none."""
    name = prim.name
    if isinstance(inputs[-1], DynamicRaggedShape):
        return inputs[-1].__fg_bind__(prim, inputs, attrs)
    if prim.family == "reduction":
        return _reduce(prim, inputs, attrs)
    if name == "one_hot":
        attrs = {**attrs, "axis": _one_hot_axis(inputs[0], attrs["axis"])}
    if prim.family == "elementwise" or name in _MAPPED or name in ("add_n", "one_hot"):
        return _elementwise(prim, inputs, attrs)
    if name == "matmul":
        return matmul(prim, inputs[0], inputs[1], attrs)
    if name == "concat":
        return join(inputs, attrs["axis"])
    if name == "stack":
        return pile(inputs, attrs["axis"])
    if name == "gather":
        return gather_ragged(inputs[0], inputs[1], attrs["axis"], attrs["batch_dims"])
    if name == "gather_nd":
        return gather_nd_ragged(*inputs)
    if name == "reduce_join":
        return _join(inputs[0], attrs["axes"], attrs["keepdims"], attrs["separator"])
    if name == "string_format":
        return format_rows(inputs, attrs)
    if name == "dynamic_partition":
        return _parted(inputs[0], inputs[1], attrs["count"])
    if name.startswith("unsorted_segment_"):
        n = attrs["num_segments"] if "num_segments" in attrs else inputs[2]
        return _segmented(name.split("_")[2], inputs[0], inputs[1], n)
    if len(inputs) == 1:
        return _one(prim, inputs[0], attrs)
    raise unsupported(next(x for x in inputs if isinstance(x, RaggedTensor)))
