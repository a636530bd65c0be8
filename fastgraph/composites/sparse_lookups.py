"""tf.sparse.bincount, and tf.nn's look-ups of rows that SparseTensors (or RaggedTensors) of numbers name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgraph.composites.sparse_math import segment_mean, segment_sqrt_n
from fastgraph.composites.sparse_math import segment_sum as sum_of_rows
from fastgraph.composites.sparse_ops import fill_empty_rows, groups_of_equal, retain, sort_order, take
from fastgraph.composites.sparse_ops import reshape as reshape_sparse
from fastgraph.composites.sparse_tensor import SparseTensor, as_sparse, known_rank
from fastgraph.core.base.dtype import int64
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import as_tensor, of_dtypes
from fastgraph.ops.comparison import greater, greater_equal, less, logical_and
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast, maximum, minimum, ones_like, square
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.joining import concat as join
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.nn_ops import embedding_lookup
from fastgraph.ops.reduction import reduce_max, reduce_min
from fastgraph.ops.runtime_assertions import assert_equal
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.segments import segment_sum, unsorted_segment_sum
from fastgraph.ops.sorting import unique

if TYPE_CHECKING:
    from fastgraph.composites.ragged_tensor import RaggedTensor


def bincount(
    values: TensorLike,
    weights: TensorLike | None = None,
    axis: int | None = 0,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count each number of `values`, or sum its weights; with axis -1 row by row.

    i[*s] -> SparseTensor [n] or [rows, n], n as `maxlength`, else `minlength` and the greatest number say.
    Raises: InvalidArgumentError for negative numbers; ValueError for another axis. Source: tf.sparse.bincount.
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    rows, n_rows, numbers, own_weights = counted(values, weights, axis == -1)
    ids = cast(of_dtypes(numbers, "int32 int64"), int64)
    assert_equal(minimum(reduce_min(ids), 0), zeros([], int64), "Input values must all be non-negative")
    amounts = ones_like(numbers) if own_weights is None else own_weights
    size = maximum(reduce_max(ids) + 1, 0)  # of no numbers the greatest is the least integer
    if minlength is not None:
        size = maximum(size, cast(minlength, int64))
    if maxlength is not None:
        size = cast(convert_to_tensor(maxlength), int64)  # however small the numbers are
        kept = less(ids, size)
        ids, amounts = boolean_mask(ids, kept), boolean_mask(amounts, kept)
        rows = None if rows is None else boolean_mask(rows, kept)
    places = expand_dims(ids, 1)
    extents = reshape(size, [1])
    if rows is not None:
        places = join([expand_dims(rows, 1), places], 1)
        extents = join([reshape(n_rows, [1]), extents], 0)
    order = sort_order(places)
    indices, groups = groups_of_equal(gather(places, order))
    totals = unsorted_segment_sum(take(amounts, order), groups, shape(indices, int64)[0])
    return SparseTensor(indices, ones_like(totals) if binary_output else totals, extents)


def counted(values: Any, weights: TensorLike | None, by_row: bool) -> tuple[Any, Any, Any, Any]:
    """(each number's row or None, how many rows, the numbers, their weights or None)."""
    if isinstance(values, SparseTensor):
        if weights is not None:
            if not isinstance(weights, SparseTensor):
                raise ValueError(
                    "Argument `weights` must be a SparseTensor if `values` is a SparseTensor. Received weights="
                    f"{weights!s} of type: {type(weights).__name__}"
                )
            assert_equal(
                weights.dense_shape, values.dense_shape, "'weights' and 'values' must have the same dense shape."
            )
            assert_equal(weights.indices, values.indices, "'weights' and 'values' must have the same indices.")
            weights = weights.values
        if not by_row or known_rank(values, "bincount") == 1:
            return None, None, values.values, weights
        text = "Invalid index value: {} is out of bounds of the dense shape"
        places = checked(values.indices, 0, values.dense_shape - 1, text)
        return places[:, 0], values.dense_shape[0], values.values, weights
    if hasattr(values, "flat_values"):
        if weights is not None and not hasattr(weights, "flat_values"):
            raise ValueError(
                "`weights` must be a RaggedTensor if `values` is a RaggedTensor. Received argument weights="
                f"{weights!s} of type: {type(weights).__name__}."
            )
        flat, same = None, "'weights' and 'values' must have the same row splits."
        if weights is not None:
            given: Any = weights
            splits, others = values.nested_row_splits, given.nested_row_splits
            if len(splits) != len(others):
                raise invalid(f"{same} Received {len(others)} and {len(splits)} of them")
            for own, other in zip(splits, others, strict=True):
                assert_equal(cast(other, int64), cast(own, int64), same)
            flat = given.flat_values
        if not by_row:
            return None, None, values.flat_values, flat
        return cast(values.value_rowids(), int64), cast(values.nrows(), int64), values.values, flat
    numbers = as_tensor(values)
    if weights is not None:
        weights = as_tensor(weights)
        if not weights.shape.is_compatible_with(numbers.shape):
            raise invalid(
                "Weights and data must have the same shape. Weight shape: "
                f"{shape_text(weights.shape.as_list())}; data shape: {shape_text(numbers.shape.as_list())}"
            )
        weights = reshape(weights, [-1])
    flat = reshape(numbers, [-1])
    if not by_row or numbers.shape.rank == 1:
        return None, None, flat, weights
    if numbers.shape.rank not in (2, None):
        raise invalid(f"Input must be a 1 or 2-dimensional tensor. Got: {shape_text(numbers.shape.as_list())}")
    extents = shape(numbers, int64)
    return range_(shape(flat, int64)[0]) // maximum(extents[1], 1), extents[0], flat, weights


# ---- rows that sparse numbers name ----------------------------------------------------------------------------------

_COMBINERS = {"sum": sum_of_rows, "mean": segment_mean, "sqrtn": segment_sqrt_n}


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor | RaggedTensor,
    sp_weights: SparseTensor | RaggedTensor | None,
    combiner: str | None = None,
    max_norm: TensorLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """The rows of params that each row of sp_ids names, combined by "sum", "mean" (the default) or "sqrtn".

    f[n, *r], ids [rows, _] -> f[rows up to the last with ids, *r]. sp_weights: one per id, or None.
    Raises: ValueError for another combiner. Source: tf.nn.embedding_lookup_sparse.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    ids, segments = _ids_and_rows(sp_ids)
    if sp_weights is not None and type(sp_weights) is not type(sp_ids):
        raise TypeError(f"sp_weights must be None or of the class of sp_ids, not {type(sp_weights)}")
    distinct, places = unique(ids)
    table = embedding_lookup(params, distinct, max_norm)
    if sp_weights is None:
        return _COMBINERS[combiner](table, places, segments)
    weights = cast(_ids_and_rows(sp_weights)[0], table.dtype)
    wide = reshape(weights, [-1, *[1] * (table.shape.rank - 1)])
    total = segment_sum(gather(table, places) * wide, segments)
    if combiner == "sum":
        return total
    norm = segment_sum(wide, segments) if combiner == "mean" else sqrt(segment_sum(square(wide), segments))
    return divide_no_nan(total, norm)  # 0 for rows without ids, and for those whose weights are 0


def _ids_and_rows(ids: Any) -> tuple[Any, Any]:
    """The numbers in a SparseTensor or RaggedTensor, and the row that each is in."""
    if hasattr(ids, "flat_values"):
        return ids.flat_values, ids.value_rowids()
    if not isinstance(ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor or RaggedTensor, got {type(ids)}")
    return ids.values, ids.indices[:, 0]


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: TensorLike | None = None,
    max_norm: TensorLike | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """embedding_lookup_sparse, but rows without ids get the row default_id, or zeros; invalid ids do not count.

    Ids below 0 are invalid, and unless the combiner is "sum" those of weights not above 0. f[n, *r], ids [*s, _] ->
    f[*s, *r]. Raises: ValueError without embedding_weights. Source: tf.nn.safe_embedding_lookup_sparse.
    """
    if embedding_weights is None or (isinstance(embedding_weights, (list, tuple)) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    ragged = hasattr(sparse_ids, "flat_values")
    ids = sparse_ids.to_sparse() if ragged else as_sparse(sparse_ids)
    weights = sparse_weights
    if weights is not None:
        weights = weights.to_sparse() if hasattr(weights, "flat_values") else as_sparse(weights)
    rank = known_rank(ids, "safe_embedding_lookup_sparse")
    lead = [ids.shape[i] if ids.shape[i] is not None else ids.dense_shape[i] for i in range(rank - 1)]
    flat = [-1, ids.shape[rank - 1] if ids.shape[rank - 1] is not None else ids.dense_shape[rank - 1]]
    if rank != 2:
        ids = reshape_sparse(ids, flat)
        weights = None if weights is None else reshape_sparse(weights, flat)
    valid = greater_equal(ids.values, 0)
    if weights is not None and combiner != "sum":
        valid = logical_and(valid, greater(weights.values, 0))
    ids = retain(ids, valid)
    weights = None if weights is None else retain(weights, valid)
    ids, empty = fill_empty_rows(ids, cast(0 if default_id is None else default_id, ids.dtype))
    if weights is not None:
        weights, _ = fill_empty_rows(weights, cast(1, weights.dtype))
    rows = embedding_lookup_sparse(embedding_weights, ids, weights, combiner, max_norm)
    if default_id is None:
        rows = where(reshape(empty, [-1, *[1] * (rows.ndim - 1)]), cast(0, rows.dtype), rows)
    tail = [rows.shape[i] if rows.shape[i] is not None else shape(rows)[i] for i in range(1, rows.ndim)]
    return rows if rank == 2 else reshape(rows, [*lead, *tail])
