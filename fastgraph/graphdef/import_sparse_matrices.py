"""Operations on sparse matrices that are kept by rows: what is a variant in GraphDefs is a CSRSparseMatrix here.

Rule: each is a few lines of what composites/sparse_matrices and sparse tensors do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.composites.row_splits import splits_of
from fastgraph.composites.sparse_math import add, softmax
from fastgraph.composites.sparse_matrices import CSRSparseMatrix, matmul
from fastgraph.composites.sparse_ops import reorder
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import int32, int64
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import cast, ones_like
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.gathering import boolean_mask, gather
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import reshape
from fastgraph.ops.segments import unsorted_segment_sum

Make = Callable[[str, list[Any], dict[str, Any]], Any]
_FLAGS = ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")


def _sparse(matrix: Any) -> SparseTensor:
    """Return the SparseTensor of a matrix. Raises InvalidArgumentError for what is none."""
    if not isinstance(matrix, CSRSparseMatrix):
        raise invalid(f"Could not get a CSRSparseMatrix from {matrix!r}")
    return matrix.to_sparse_tensor()


def _typed(matrix: Any, attrs: dict[str, Any]) -> SparseTensor:
    found = _sparse(matrix)
    if attrs.get("type") not in (None, found.dtype):
        raise invalid(f"CSRSparseMatrix of dtype {found.dtype.name} is not of the type {attrs['type'].name}")
    return found


def _sum(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    a, b, alpha, beta = inputs
    left, right = _sparse(a), _sparse(b)
    if not left.shape.is_compatible_with(right.shape):
        raise invalid(f"Shapes {shape_text(left.shape)} and {shape_text(right.shape)} of matrices do not add")
    return CSRSparseMatrix(add(left.with_values(left.values * alpha), right.with_values(right.values * beta)))


def _by_tensor(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    found = matmul(*inputs, **{key: attrs.get(key, False) for key in _FLAGS})
    found = matrix_transpose(found) if attrs.get("transpose_output") else found
    return conj(found) if attrs.get("conjugate_output") else found


def _by_matrix(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return matmul(*inputs, **{key: attrs.get(key, False) for key in _FLAGS})


def _scaled(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Elements times a number, or those of each matrix of a batch times its own: b [] or [n, 1, 1]."""
    matrix, factor = _sparse(inputs[0]), inputs[1]
    if factor.shape.rank == 3 and matrix.shape.rank == 3 and factor.shape[1:].as_list() == [1, 1]:
        factor = gather(reshape(factor, [-1]), matrix.indices[:, 0])
    elif factor.shape.rank != 0:
        raise invalid(f"b must be a scalar, or [n, 1, 1] for n matrices, is {shape_text(factor.shape)}")
    return CSRSparseMatrix(matrix.with_values(matrix.values * factor))


def _transposed(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    _typed(inputs[0], attrs)
    return inputs[0].hermitian_transpose() if attrs.get("conjugate") else inputs[0].transpose()


def _empty(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    extents = cast(inputs[0], int64)
    return CSRSparseMatrix(SparseTensor(zeros([0, extents.shape[0]], int64), zeros([0], attrs["type"]), extents))


def _rows(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return splits of the rows of a matrix (of number `index` in a batch), columns and elements."""
    matrix = _typed(inputs[0], attrs)
    places, values, extents = matrix.indices, matrix.values, matrix.dense_shape
    if matrix.shape.rank == 3:
        own = places[:, 0] == cast(inputs[1], int64)
        places, values, extents = boolean_mask(places, own)[:, 1:], boolean_mask(values, own), extents[1:]
    lengths = unsorted_segment_sum(ones_like(places[:, 0]), places[:, 0], extents[0])
    return [cast(splits_of(lengths), int32), cast(places[:, 1], int32), values]


#: Types of operations on sparse matrices.
SPARSE_MATRICES: dict[str, Make] = {
    "SparseTensorToCSRSparseMatrix": lambda name, inputs, attrs: CSRSparseMatrix(reorder(SparseTensor(*inputs))),
    "DenseToCSRSparseMatrix": lambda name, inputs, attrs: CSRSparseMatrix(inputs[0], inputs[1]),
    "CSRSparseMatrixToDense": lambda name, inputs, attrs: CSRSparseMatrix(_typed(inputs[0], attrs)).to_dense(),
    "CSRSparseMatrixToSparseTensor": lambda name, inputs, attrs: [
        getattr(_typed(inputs[0], attrs), part) for part in ("indices", "values", "dense_shape")
    ],
    "CSRSparseMatrixComponents": _rows,
    "SparseMatrixAdd": _sum,
    "SparseMatrixMatMul": _by_tensor,
    "SparseMatrixMul": _scaled,
    "SparseMatrixNNZ": lambda name, inputs, attrs: cast(CSRSparseMatrix(_sparse(inputs[0])).nnz(), int32),
    "SparseMatrixSoftmax": lambda name, inputs, attrs: CSRSparseMatrix(softmax(_typed(inputs[0], attrs))),
    "SparseMatrixSparseMatMul": _by_matrix,
    "SparseMatrixTranspose": _transposed,
    "SparseMatrixZeros": _empty,
}
