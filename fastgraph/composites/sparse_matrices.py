"""Products of two sparse matrices, by the names that libraries have for them inside of TensorFlow.

Rule: which numbers meet is found on the host; the products and their sums are ops, so that they have gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import DTypeLike, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.movement import shape
from fastgraph.ops.segments import unsorted_segment_sum


def _infer(*parts: Aval) -> tuple[Aval, ...]:
    rank = parts[1].shape[0] if parts[1].shape else None
    return Aval(int64, (None, rank)), *(Aval(int64, (None,)) for _ in range(3)), Aval(int64, (rank,))


def _keys(indices: Array, columns: list[int], extents: Array) -> Array:
    """One number for each row of some columns of indices."""
    key = np.zeros(len(indices), np.int64)
    for c in columns:
        key = key * extents[c] + indices[:, c]
    return key


@custom(
    op="SparseMatrixSparseMatMul",
    infer=_infer,
    groups=("int64", "int64", "int64", "int64"),
    n_outputs=5,
    step="dynamic",
    samples=lambda: [
        (
            (np.array([[0, 1], [1, 0]]), np.array([2, 2]), np.array([[0, 0], [1, 1]]), np.array([2, 3])),
            {},
        )
    ],
    reason="the number of products is data",
)
def meeting_p(a: Array, a_shape: Array, b: Array, b_shape: Array) -> Any:
    """Pairs of elements of two sparse matrices that are multiplied: (places in a, in b, in the result), and shape."""
    rank = len(a_shape)
    if rank not in (2, 3) or rank != len(b_shape) or a_shape[-1] != b_shape[-2] or (a_shape[:-2] != b_shape[:-2]).any():
        raise invalid(
            f"Matrices of shapes {shape_text(a_shape.tolist())}, {shape_text(b_shape.tolist())} do not multiply"
        )
    batch = list(range(rank - 2))
    left, right = _keys(a, [*batch, rank - 1], a_shape), _keys(b, [*batch, rank - 2], b_shape)
    order = np.argsort(right, kind="stable")
    sorted_right = right[order]
    first, last = (np.searchsorted(sorted_right, left, side=side) for side in ("left", "right"))
    counts = last - first
    in_a = np.repeat(np.arange(len(a)), counts)
    in_b = order[np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(in_a))]
    places = np.concatenate([a[in_a][:, : rank - 1], b[in_b][:, -1:]], 1)
    found, group = np.unique(places, axis=0, return_inverse=True)
    extents = np.array([*a_shape[:-1].tolist(), b_shape[-1]], np.int64)
    return found.reshape(-1, rank), in_a.astype(np.int64), in_b, group.reshape(-1).astype(np.int64), extents


def sparse_tensor_to_csr_sparse_matrix(
    indices: TensorLike, values: TensorLike, dense_shape: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return the sparse matrix of these parts."""
    return SparseTensor(indices, values, dense_shape)


def csr_sparse_matrix_to_sparse_tensor(
    sparse_matrix: SparseTensor, type: DTypeLike, name: str | None = None
) -> SparseTensor:
    """Return the SparseTensor of a sparse matrix, its values of a dtype."""
    return SparseTensor(sparse_matrix.indices, cast(sparse_matrix.values, type), sparse_matrix.dense_shape)


def sparse_matrix_sparse_mat_mul(
    a: SparseTensor, b: SparseTensor, type: DTypeLike, name: str | None = None
) -> SparseTensor:
    """The product of two sparse matrices, or of each of a batch. [(n,) i, k], [(n,) k, j] -> [(n,) i, j].

    Raises: InvalidArgumentError for shapes that do not multiply.
    """
    indices, in_a, in_b, group, extents = meeting_p(a.indices, a.dense_shape, b.indices, b.dense_shape)
    products = gather(cast(a.values, type), in_a) * gather(cast(b.values, type), in_b)
    return SparseTensor(indices, unsorted_segment_sum(products, group, shape(indices, int64)[0]), extents)
