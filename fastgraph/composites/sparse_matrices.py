"""Products of two sparse matrices, by the names that libraries have for them inside of TensorFlow.

Rule: which numbers meet is found on the host; the products and their sums are ops, so that they have gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.sparse_math import sparse_dense_matmul
from fastgraph.composites.sparse_ops import from_dense, reorder, to_dense, transpose
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import DTypeLike, int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.elementwise import cast, ones_like
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.gathering import dim, gather
from fastgraph.ops.joining import stack
from fastgraph.ops.matmul import matmul as dense_matmul
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.runtime_checks import wide
from fastgraph.ops.scatter import gather_nd
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
        ((np.array([[0, 1], [1, 0]]), np.array([2, 2]), np.array([[0, 0], [1, 1]]), np.array([2, 3])), {})
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


class SparseMatrix:
    """A matrix, or a batch of them, of which few elements are not 0. Source: TensorFlow's inner SparseMatrix."""


class CSRSparseMatrix(SparseMatrix):
    """A sparse matrix of a SparseTensor or, by its elements that are not 0 or those at `indices`, of a tensor.

    Raises InvalidArgumentError for another rank than 2 and 3, ValueError for `indices` beside a SparseTensor.
    """

    def __init__(
        self, value: SparseTensor | TensorLike, indices: TensorLike | None = None, name: str | None = None
    ) -> None:
        if not isinstance(value, SparseTensor):
            value = as_tensor(value)
            if indices is None:
                value = from_dense(value, name)
            else:
                value = SparseTensor(indices, gather_nd(value, indices), shape(value, int64))
        elif indices is not None:
            raise ValueError("indices must be None if value is a SparseTensor.")
        if value.shape.rank not in (2, 3):
            raise invalid(f"a sparse matrix must have rank == 2 or 3; but saw shape: {shape_text(value.shape)}")
        self._sparse = value
        self.dtype, self.shape = value.dtype, value.shape

    def to_sparse_tensor(self) -> SparseTensor:
        """Return the matrix as a SparseTensor."""
        return self._sparse

    def to_dense(self) -> Any:
        """Return the matrix as a tensor."""
        return to_dense(self._sparse)

    def nnz(self) -> Any:
        """Return how many elements are held: of each matrix of a batch. [] or [n]."""
        if self.shape.rank == 2:
            return shape(self._sparse.values)[0]
        batch = self._sparse.indices[:, 0]
        return unsorted_segment_sum(ones_like(batch, int32), batch, self._sparse.dense_shape[0])

    def sorted_indices(self) -> CSRSparseMatrix:
        """Return the same matrix with its elements in order, row by row."""
        return CSRSparseMatrix(reorder(self._sparse))

    def conj(self) -> CSRSparseMatrix:
        """Return the matrix of complex conjugates."""
        return CSRSparseMatrix(self._sparse.with_values(conj(self._sparse.values)))

    def transpose(self) -> CSRSparseMatrix:
        """Return the transposed matrix, of each of a batch."""
        return CSRSparseMatrix(transpose(self._sparse, [0, 2, 1] if self.shape.rank == 3 else [1, 0]))

    def hermitian_transpose(self) -> CSRSparseMatrix:
        """Return the transposed matrix of complex conjugates."""
        return self.transpose().conj()


def matmul(
    a: CSRSparseMatrix | TensorLike, b: CSRSparseMatrix | TensorLike, transpose_a: bool = False,
    transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """The product of two matrices, tensors or sparse: of two sparse ones a sparse one. [(n,) i, k], [(n,) k, j].

    Raises InvalidArgumentError for shapes that do not multiply, and for transpose and adjoint of one matrix.
    """
    sides = [a, b]
    for k, (turned, adjoint) in enumerate([(transpose_a, adjoint_a), (transpose_b, adjoint_b)]):
        if turned and adjoint:
            raise invalid(f"Only one of adjoint_{'ab'[k]} and transpose_{'ab'[k]} may be true.")
        if turned or adjoint:
            sides[k] = _turned(sides[k], adjoint)
    left, right = sides
    if not isinstance(left, CSRSparseMatrix):
        if not isinstance(right, CSRSparseMatrix):
            return dense_matmul(left, right)
        return _turned(_by_dense(right.transpose(), _turned(as_tensor(left), False)), False)
    if not isinstance(right, CSRSparseMatrix):
        return _by_dense(left, as_tensor(right))
    return CSRSparseMatrix(
        sparse_matrix_sparse_mat_mul(left.to_sparse_tensor(), right.to_sparse_tensor(), left.dtype, name)
    )


def _turned(matrix: Any, adjoint: bool) -> Any:
    if isinstance(matrix, CSRSparseMatrix):
        return matrix.hermitian_transpose() if adjoint else matrix.transpose()
    return matrix_transpose(matrix, conjugate=adjoint)


def _by_dense(sparse: CSRSparseMatrix, dense: Tensor) -> Any:
    """A sparse matrix times a tensor: [i, k], [k, j] -> [i, j]; of batches matrix by matrix, as rows of one."""
    given = sparse.to_sparse_tensor()
    if sparse.shape.rank == 2:
        return sparse_dense_matmul(given, dense)
    n, rows, columns = [given.dense_shape[k] for k in range(3)]
    at = given.indices[:, :1] * stack([rows, columns]) + given.indices[:, 1:]
    whole = SparseTensor(at, given.values, stack([n * rows, n * columns]))
    found = sparse_dense_matmul(whole, reshape(dense, stack([n * columns, wide(dim(dense, 2))])))
    return reshape(found, stack([n, rows, wide(dim(dense, 2))]))
