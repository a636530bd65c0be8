"""tf.matmul of RaggedTensors: products of matrices of different sizes, as one product of those filled up with zeros."""

from __future__ import annotations

from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor, made
from fastgraph.composites.row_splits import splits_of
from fastgraph.core.base.dtype import int64
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import bind
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import fill
from fastgraph.ops.elementwise import cast
from fastgraph.ops.gathering import boolean_mask, where
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.runtime_assertions import assert_equal
from fastgraph.ops.segments import unsorted_segment_max
from fastgraph.ops.sequences import sequence_mask
from fastgraph.ops.tiling import repeat

_RAGGED = "The matrices in `a` and `b` may not be ragged in their innermost dimension."


def matmul(prim: Primitive, a: Any, b: Any, attrs: dict[str, Any]) -> Any:
    """Product of the matrices in the last two axes, matrix by matrix; `prim` multiplies dense ones.

    Dense of two matrices; else ragged in the rows, and in the columns where those of an operand are. Raises: ValueError
    for other ranks or dtypes; InvalidArgumentError for rows of several lengths in one matrix and sizes that do not fit.
    """
    ragged = a if isinstance(a, RaggedTensor) else b
    a, b = (x if isinstance(x, RaggedTensor) else as_tensor(x, ragged.dtype) for x in (a, b))
    if a.dtype is not b.dtype:
        raise ValueError("`a` and `b` must have the same dtype.")
    rank = a.shape.rank
    if rank is None or b.shape.rank is None:
        raise ValueError("matmul requires at least one input to have known rank if either input is ragged.")
    if rank != b.shape.rank:
        raise ValueError("`a` and `b` must have the same rank.")
    if rank < 2:
        raise ValueError("`a` and `b` must have the rank of a matrix or more.")
    if rank == 2:
        return bind(prim, (_matrix(a), _matrix(b)), attrs)
    a, b = (x if isinstance(x, RaggedTensor) else RaggedTensor.from_tensor(x, ragged_rank=rank - 2) for x in (a, b))
    if rank > 3:
        assert_equal(a.row_splits, cast(b.row_splits, a.row_splits.dtype), "`a` and `b` must have the same batches.")
        return a.with_values(matmul(prim, a.values, b.values, attrs))
    return _of_batch(prim, a, b, attrs)


def _matrix(x: Any) -> Any:
    """A matrix that may be called ragged as a dense one."""
    if not isinstance(x, RaggedTensor):
        return x
    width = x.bounding_shape(axis=1)
    assert_equal(x.row_lengths(), width + x.row_lengths() * 0, _RAGGED)
    return x.to_tensor()


def _sizes(x: RaggedTensor) -> tuple[Any, Any]:
    """Return how many rows and columns each matrix has. i64[n], i64[n]"""
    rows = cast(x.row_lengths(), int64)
    if not isinstance(x.values, RaggedTensor):
        return rows, fill([shape(rows)[0]], shape(x.values, int64)[1])
    lengths, matrix = cast(x.values.row_lengths(), int64), x.value_rowids()
    columns = where(rows > 0, unsorted_segment_max(lengths, matrix, x.nrows()), 0)
    assert_equal(lengths, repeat(columns, rows), _RAGGED)
    return rows, columns


def _of_batch(prim: Primitive, a: RaggedTensor, b: RaggedTensor, attrs: dict[str, Any]) -> Any:
    """The products of matrices, one of a and one of b each."""
    (rows, inner), (theirs, columns) = _sizes(a), _sizes(b)
    if attrs["transpose_a"]:
        rows, inner = inner, rows
    if attrs["transpose_b"]:
        theirs, columns = columns, theirs
    assert_equal(inner, theirs, "Matrix size-incompatible: columns of `a` and rows of `b`")
    dense = bind(prim, (a.to_tensor(), b.to_tensor()), attrs)
    extents = shape(dense, int64)
    kept = sequence_mask(rows, extents[1])
    splits = cast(splits_of(rows), a.row_splits.dtype)
    n_columns = b.shape[-2 if attrs["transpose_b"] else -1]
    if n_columns is not None or not (attrs["transpose_b"] or isinstance(b.values, RaggedTensor)):
        products = boolean_mask(dense, kept)
        if n_columns is not None:
            products = reshape(products, [splits[-1], n_columns])
        return made(products, splits, _uniform(a, attrs))
    cells = kept[:, :, None] & sequence_mask(columns, extents[2])[:, None, :]
    lengths = cast(splits_of(repeat(columns, rows)), a.row_splits.dtype)
    return made(made(boolean_mask(dense, cells), lengths), splits, _uniform(a, attrs))


def _uniform(a: RaggedTensor, attrs: dict[str, Any]) -> Any:
    """Return how many rows all products have, where that is known."""
    return a.shape[-1 if attrs["transpose_a"] else -2]
