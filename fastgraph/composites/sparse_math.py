"""tf.sparse: sums, extremes, products and counts of SparseTensors, and tf.nn's look-ups by them.

Rule: values whose indices are equal meet by sorting the indices once; what is reduced to a dense tensor needs no order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.sparse_ops import fitted, groups_of_equal, late_along, late_like, retain, sort_order, take
from fastgraph.composites.sparse_ops import reshape as reshape_sparse
from fastgraph.composites.sparse_tensor import (
    SparseLike,
    SparseTensor,
    SparseTensorSpec,
    as_sparse,
    known_rank,
    with_shape,
)
from fastgraph.core.base.dtype import DTypeLike, float32, int32, int64
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.op_errors import message_name
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import (
    are_known,
    as_tensor,
    holds_int64,
    known_value,
    not_allowed,
    preferred,
    refused,
    static_axes,
)
from fastgraph.ops.comparison import greater_equal, logical_or
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.counting import invert_permutation
from fastgraph.ops.deferred_calls import late, late_structure
from fastgraph.ops.elementwise import abs, cast, ones_like, stop_gradient
from fastgraph.ops.elementwise import add as add_dense
from fastgraph.ops.elementwise import maximum as maximum_dense
from fastgraph.ops.elementwise import minimum as minimum_dense
from fastgraph.ops.exponentials import exp, sqrt
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.gathering import dim, gather, where
from fastgraph.ops.joining import concat as join
from fastgraph.ops.joining import stack
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import expand_dims, reshape, shape, transpose
from fastgraph.ops.reduction import reduce_prod
from fastgraph.ops.reduction import reduce_sum as reduce_sum_dense
from fastgraph.ops.runtime_assertions import assert_equal, check_indices, ensure_shape
from fastgraph.ops.scans import cumprod
from fastgraph.ops.scatter import gather_nd, scatter_nd
from fastgraph.ops.segments import segment_mean as mean_by_segment
from fastgraph.ops.segments import segment_sum as sum_by_segment
from fastgraph.ops.segments import (
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from fastgraph.ops.sorting import argsort

# ---- two of them ----------------------------------------------------------------------------------------------------


def add(a: TensorLike, b: TensorLike, threshold: TensorLike = 0) -> SparseTensor | Any:
    """The sum of two SparseTensors, sparse, without sums below `threshold` in size; of one and a dense tensor, dense.

    What one of the two alone holds stays, however small, as TensorFlow's kernel has it.
    Raises: InvalidArgumentError if the shapes differ; TypeError if neither is sparse. Source: tf.sparse.add.
    """
    if not any(isinstance(one, (SparseTensor, tuple)) for one in (a, b)):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not all(isinstance(one, (SparseTensor, tuple)) for one in (a, b)):
        sparse, dense = (a, b) if isinstance(a, (SparseTensor, tuple)) else (b, a)
        return _add_dense(as_sparse(sparse), dense)
    a, b = as_sparse(a), as_sparse(b)
    if None in (a.shape.rank, b.shape.rank):
        return late_like(add, a, b, threshold)
    _check_alike(a, b, "SparseAdd")
    together = join([a.values, b.values], 0)
    one_each = ones_like(together, "int32")
    summed = lambda groups, n: [unsorted_segment_sum(x, groups, n) for x in (together, one_each)]
    indices, (values, count) = _merged(a, b, summed)
    result = with_shape(indices, values, a.dense_shape, a.shape)
    if isinstance(threshold, (int, float)) and threshold == 0:
        return result
    return retain(result, logical_or(count < 2, greater_equal(abs(values), threshold)))


def _add_dense(sparse: SparseTensor, dense: TensorLike) -> Any:
    dense = as_tensor(dense, sparse.dtype)
    ranks = sparse.shape.rank, dense.shape.rank
    if None not in ranks and ranks[0] != ranks[1]:
        raise invalid(f"Two operands have different ranks; received: {ranks[0]} and {ranks[1]}")
    if not sparse.shape.is_compatible_with(dense.shape):
        axis = next(i for i, (m, n) in enumerate(zip(sparse.shape, dense.shape, strict=True)) if m != n)
        raise invalid(
            f"Dimension {axis} does not equal (no broadcasting is supported): sparse side {sparse.shape[axis]} vs "
            f"dense side {dense.shape[axis]}"
        )
    return add_dense(dense, fitted(scatter_nd(sparse.indices, sparse.values, shape(dense, int64)), dense.shape))


def maximum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """The greater of each two elements, where one of the two SparseTensors has one. Source: tf.sparse.maximum.

    Raises: InvalidArgumentError if the shapes differ.
    """
    return _extreme(sp_a, sp_b, maximum_dense)


def minimum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """The lesser of each two elements, where one of the two SparseTensors has one. Source: tf.sparse.minimum.

    Raises: InvalidArgumentError if the shapes differ.
    """
    return _extreme(sp_a, sp_b, minimum_dense)


def _extreme(sp_a: SparseLike, sp_b: SparseLike, choose: Callable[..., Any]) -> SparseTensor:
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    ranks = a.shape.rank, b.shape.rank
    if None in ranks:
        return late_like(lambda a, b: _extreme(a, b, choose), a, b)
    if ranks[0] != ranks[1]:
        extents = [" ".join(map(str, one.shape)) for one in (a, b)]
        raise invalid(f"Operands do not have the same ranks; got shapes: {extents[0]} and {extents[1]}")
    _check_alike(a, b, "SparseSparseMaximum")
    n_a = shape(a.values)[0]

    def both(groups: Tensor, n: Tensor) -> list[Any]:
        return [unsorted_segment_sum(a.values, groups[:n_a], n), unsorted_segment_sum(b.values, groups[n_a:], n)]

    indices, sides = _merged(a, b, both)
    return with_shape(indices, choose(*sides), a.dense_shape, a.shape)


def _check_alike(a: SparseTensor, b: SparseTensor, what: str) -> None:
    """Raise InvalidArgumentError unless the two have the same dtype and dense shape."""
    if a.dtype is not b.dtype:
        raise invalid(
            f"cannot compute {what} as input #4(zero-based) was expected to be a {message_name(a.dtype)} tensor but is "
            f"a {message_name(b.dtype)} tensor"
        )
    if known_rank(a, what) != known_rank(b, what):
        raise invalid(f"Ranks of input tensors must match, but saw ranks: {a.shape.rank} and {b.shape.rank}")
    for axis, (m, n) in enumerate(zip(a.shape, b.shape, strict=True)):
        if None not in (m, n) and m != n:
            raise invalid(f"Operands' shapes do not match: got {m} and {n} for dimension {axis}")
    if not (a.shape.is_fully_defined() and b.shape.is_fully_defined()):
        assert_equal(a.dense_shape, b.dense_shape, "Operands' shapes do not match")


def _merged(a: SparseTensor, b: SparseTensor, combine: Callable[..., Any]) -> tuple[Any, Any]:
    """The indices that a or b has, in order, and combine(which of them each value of a, then b, has; their number)."""
    together = join([a.indices, b.indices], 0)
    order = sort_order(together, a.shape)
    indices, sorted_groups = groups_of_equal(gather(together, order))
    groups = gather(sorted_groups, invert_permutation(order))
    return indices, combine(groups, shape(indices, int64)[0])


# ---- reductions -----------------------------------------------------------------------------------------------------


def reduce_sum(
    sp_input: SparseLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor | Any:
    """Sum of the elements along `axis` (None: all), dense or sparse.

    Raises: InvalidArgumentError for an axis out of range. Source: tf.sparse.reduce_sum.
    """
    return _reduce(sp_input, axis, keepdims, output_is_sparse, unsorted_segment_sum)


def reduce_max(
    sp_input: SparseLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor | Any:
    """Greatest of the values along `axis` (None: all), dense, with 0 where there is none, or sparse.

    Raises: InvalidArgumentError for an axis out of range. Source: tf.sparse.reduce_max.
    """
    return _reduce(sp_input, axis, keepdims, output_is_sparse, unsorted_segment_max)


def _reduce(
    sp_input: SparseLike, axis: TensorLike | None, keepdims: bool | None, sparse: bool, combine: Callable[..., Any]
) -> Any:
    sp = as_sparse(sp_input)
    rank = sp.shape.rank
    if rank is None:
        spec = (SparseTensorSpec if sparse else TensorSpec)(None, sp.dtype)
        return late_structure(lambda sp, axis: _reduce(sp, axis, keepdims, sparse, combine), (sp, axis), spec)
    if axis is not None and not are_known(axis):
        if sparse:
            rest = [None] * rank if keepdims else None
            return late_along(lambda one, axis: [_reduce(one[0], axis, keepdims, True, combine)], [sp], axis, rest)[0]
        inputs = [sp.indices, sp.values, sp.dense_shape, preferred(axis, int32)]
        return late(lambda i, v, s, a: _reduce(SparseTensor(i, v, s), a, keepdims, False, combine), inputs, sp.dtype)
    axes = static_axes(axis)
    for one in axes or ():
        if not -rank <= one < rank:
            raise invalid(f"Invalid reduction dimension {one}, for input with {rank} dimensions.")
    gone = set(range(rank)) if axes is None else {one % rank for one in axes}
    left = [i for i in range(rank) if i not in gone]
    columns = np.array(left, np.int64)
    rows, extents = gather(sp.indices, columns, axis=1), gather(sp.dense_shape, columns)
    known = [sp.shape[i] for i in left]
    if sparse:
        order = sort_order(rows)
        indices, groups = groups_of_equal(gather(rows, order))
        values = combine(take(sp.values, order), groups, shape(indices, int64)[0])
        result = with_shape(indices, values, extents, known)
        if not keepdims:
            return result
        full = [1 if i in gone else sp.shape[i] for i in range(rank)]
        return reshape_sparse(result, [sp.dense_shape[i] if n is None else n for i, n in enumerate(full)])
    rows = check_indices(rows, extents, sorted=False)
    place = reduce_sum_dense(rows * cumprod(extents, exclusive=True, reverse=True), 1)
    n = reduce_prod(extents)
    totals = combine(sp.values, place, n)
    if combine is unsorted_segment_max:
        totals = where(unsorted_segment_sum(ones_like(place), place, n) > 0, totals, 0)
    lengths = [sp.shape[i] if sp.shape[i] is not None else sp.dense_shape[i] for i in left]
    if keepdims:
        for i in sorted(gone):
            lengths.insert(i, 1)
    return reshape(totals, lengths)


def softmax(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis over the values there are. f -> f. Source: tf.sparse.softmax.

    Raises: InvalidArgumentError for fewer than two axes, or values that are not floating.
    """
    sp = as_sparse(sp_input)
    if not sp.dtype.is_floating:
        raise refused(not_allowed(sp.dtype, "T", "half, float, double"))
    rank = sp.shape.rank
    if rank is None:
        return late_like(softmax, sp)
    if rank < 2:
        raise invalid(f"Input should have rank >= 2, but received shape: {' '.join(map(str, sp.shape))}")
    order = sort_order(sp.indices[:, : rank - 1])
    rows, sorted_groups = groups_of_equal(gather(sp.indices[:, : rank - 1], order))
    groups, n = gather(sorted_groups, argsort(order)), shape(rows, int64)[0]
    powers = exp(sp.values - stop_gradient(take(unsorted_segment_max(sp.values, groups, n), groups)))
    return sp.with_values(powers / take(unsorted_segment_sum(powers, groups, n), groups))


# ---- products -------------------------------------------------------------------------------------------------------


def sparse_dense_matmul(
    sp_a: TensorLike, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product of a SparseTensor and a dense matrix (or the other way round), either of them adjoint first.

    t[m, k], t[k, n] -> t[m, n]. Raises: InvalidArgumentError for shapes that do not fit or indices out of range.
    Source: tf.sparse.sparse_dense_matmul.
    """
    if isinstance(b, SparseTensor):  # the adjoint of the product of the adjoints
        return _adjoint(sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a))
    sp = as_sparse(sp_a)
    b = as_tensor(b, sp.dtype)
    if sp.dtype is not b.dtype:
        raise invalid(
            f"cannot compute SparseTensorDenseMatMul as input #3(zero-based) was expected to be a "
            f"{message_name(sp.dtype)} tensor but is a {message_name(b.dtype)} tensor"
        )
    if sp.shape.rank is None:
        sp = with_shape(sp.indices, sp.values, sp.dense_shape, [None, None])
    if sp.shape.rank != 2:
        raise invalid("Tensor 'a_shape' must have 2 elements")
    if b.shape.rank not in (None, 2):
        raise invalid("Tensor 'b' is not a matrix")
    b = _adjoint(b) if adjoint_b else b
    rows, columns = (1, 0) if adjoint_a else (0, 1)
    inner, other = sp.shape[columns], b.shape[0] if b.shape.rank is not None else None
    if None in (inner, other):
        assert_equal(sp.dense_shape[columns], shape(b, int64)[0], "Cannot multiply A and B: the inner sizes differ")
    elif inner != other:
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {other}.  Did you forget a "
            f"transpose?  Dimensions of A: [{sp.shape[rows]}, {inner}).  Dimensions of B: {shape_text(b.shape)}"
        )
    values = conj(sp.values) if adjoint_a else sp.values
    products = expand_dims(values, 1) * take(b, sp.indices[:, columns])
    n = sp.shape[rows] if sp.shape[rows] is not None else sp.dense_shape[rows]
    # A scatter and no segment sum, which would pass over rows below 0.
    found = scatter_nd(sp.indices[:, rows : rows + 1], products, stack([cast(n, int64), shape(b, int64)[1]]))
    static = [sp.shape[rows], b.shape[1] if b.shape.rank is not None else None]
    return found if None not in found.shape else ensure_shape(found, static)


def _adjoint(x: TensorLike) -> Any:
    return conj(transpose(x, [1, 0]))


def sampled_addmm(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    mat1: Any,
    mat2: TensorLike,
    beta: TensorLike = 1.0,
    alpha: TensorLike = 1.0,
    output_type: DTypeLike = float32,
) -> tuple[Any, Any, Any]:
    """(indices, beta * values + alpha * (mat1 @ mat2)[indices], dense_shape), matrix by matrix.

    indices: i[*b, n, 2]; values: t[*b, n]; dense_shape: i[2], of one product; mat1: t[*b, r, k]; mat2: t[*b, k, c].
    Raises: ValueError for another dense_shape. Source: tf.sparse.sampled_addmm.
    """
    indices, dense_shape = as_tensor(indices), convert_to_tensor(dense_shape, int32)
    values, mat1, mat2 = (convert_to_tensor(each, output_type) for each in (values, mat1, mat2))
    extents, given = [dim(mat1, -2), dim(mat2, -1)], known_value(dense_shape)
    text = "Dense shape: {} does not match output shape: {}"
    if given is not None and all(isinstance(n, int) for n in extents):
        if given.tolist() != extents:
            raise ValueError(text.format(dense_shape, as_tensor(extents)))
    else:
        assert_equal(
            dense_shape, stack([cast(n, int32) for n in extents]), text.format("that is given", "the matrices")
        )
    columns = join([indices[..., :-2], indices[..., -1:]], -1)
    n_batch = known_rank(mat1, "sampled_addmm") - 2
    left = gather_nd(mat1, indices[..., :-1], batch_dims=n_batch)
    right = gather_nd(matrix_transpose(mat2), columns, batch_dims=n_batch)
    return indices, values * beta + reduce_sum_dense(left * right, -1) * alpha, dense_shape


# ---- rows of a dense tensor, by segments ----------------------------------------------------------------------------


def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums of the rows of data that `indices` names, by segment. t[n, *s], i[m], i[m] -> t[k, *s].

    Raises: InvalidArgumentError for an index or a segment out of range, or out of order.
    sparse_gradient: that of data is IndexedSlices. Source: tf.sparse.segment_sum.
    """
    return _by_segment(data, indices, segment_ids, num_segments, sum_by_segment, unsorted_segment_sum, sparse_gradient)


def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Means of the rows of data that `indices` names, by segment; as segment_sum. Source: tf.sparse.segment_mean."""
    return _by_segment(
        data, indices, segment_ids, num_segments, mean_by_segment, unsorted_segment_mean, sparse_gradient
    )


def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums over the root of the number of rows, by segment; as segment_sum. Source: tf.sparse.segment_sqrt_n."""

    def over_root(rows: Any, ids: Tensor) -> Any:
        counts = sum_by_segment(ones_like(ids, rows.dtype), ids)
        wide = reshape(maximum_dense(counts, 1), [-1, *[1] * (rows.shape.rank - 1)])
        return sum_by_segment(rows, ids) / sqrt(wide)

    return _by_segment(data, indices, segment_ids, num_segments, over_root, unsorted_segment_sqrt_n, sparse_gradient)


def _by_segment(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    number: TensorLike | None,
    ordered: Callable[..., Any],
    counted: Callable[..., Any],
    sparse_gradient: bool,
) -> Any:
    indices, ids = (as_tensor(each, int64 if holds_int64(each) else int32) for each in (indices, segment_ids))
    if not indices.shape.is_compatible_with(ids.shape):
        raise invalid("segment_ids and indices should have same size.")
    data = as_tensor(data)
    if data.shape.rank == 0:
        raise invalid("Shape must be at least rank 1")
    rows = gather(data, indices, axis=0) if sparse_gradient else take(data, indices)
    if number is None:
        return ordered(rows, ids)
    limits = reshape(cast(number, int64), [1])
    inside = check_indices(expand_dims(cast(ids, int64), 1), limits, sorted=False)
    return counted(rows, inside[:, 0], number)
