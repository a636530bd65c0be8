"""Factorizations of matrices: cholesky, lu, qr, by LAPACK.

Rule: a gradient is that of the factors as functions of the matrix, of which LAPACK chooses the signs.
Source of the gradients: Giles 2008; Seeger et al. 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.native.matmul import scipy_functions
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import single_precision_lapack as lapack
from fastgraph.ops.arguments import named
from fastgraph.ops.complex_numbers import complex_of, imag
from fastgraph.ops.elementwise import widened, zeros_like
from fastgraph.ops.families import Array, Dims, custom, invalid, misuse, public, validated
from fastgraph.ops.gathering import dim, gather_p
from fastgraph.ops.joining import concat
from fastgraph.ops.linear_solvers import triangular_solve_p
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import (
    FLOATS,
    LAPACK,
    adjoint,
    all_finite,
    drawn,
    eliminated,
    exchange_rows,
    hermitian,
    invertible,
    lower_triangle,
    matrix_shape,
    square_errors,
    square_samples,
    square_shape,
    stacked,
    strictly_lower,
    times,
    upper_triangle,
    with_diagonal,
)
from fastgraph.ops.matrix_diagonals import diag, diag_part
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.sorting import argsort_p

# ---- cholesky -------------------------------------------------------------------------------------------------------


def _cholesky_grad(dy: Tensor, out: Tensor) -> Any:
    """Gradient by the lower triangle of L^H dy, halved on the diagonal: L^-H (...) L^-1, made equal to its adjoint."""
    inner = with_diagonal(lower_triangle(matmul(out, dy, adjoint_a=True)), lambda d: d * 0.5)
    half = triangular_solve_p(out, inner, lower=True, adjoint=True)
    found = triangular_solve_p(out, adjoint(half), lower=True, adjoint=True)
    return (found + adjoint(found)) * 0.5


@custom(
    "linalg.cholesky",
    infer=lambda input: Aval(input.dtype, square_shape(input.shape)),
    dtypes=FLOATS,
    vjp=dict(input=_cholesky_grad),
    samples=lambda: square_samples(hermitian),
    error_samples=lambda: square_errors(InvalidArgumentError),
    step="cholesky",
    reason=LAPACK,
)
def cholesky(input: Array) -> Any:
    """L with L L^H = input, lower triangular; the input's lower triangle is read. t[*b, n, n] -> t[*b, n, n].

    Of a matrix that is not positive definite the lower triangle is NaN.

    Args:
        input: Symmetric (Hermitian) positive definite matrices of floating or complex numbers.

    Raises:
        InvalidArgumentError: They are not square.

    Examples:
        >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[2., 0.],
               [1., 2.]], dtype=float32)>
        >>> bool(tf.math.is_nan(tf.linalg.cholesky([[-1.0]]))[0, 0])
        True

    Source: tf.linalg.cholesky.
    """
    validated(square_shape, input.shape)
    wide = widened(input)
    if (small := array_kernels.factored(np.ascontiguousarray(stacked(wide)))) is not None:
        return small.reshape(input.shape).astype(input.dtype, copy=False)
    try:
        found = lapack.cholesky(wide)
    except np.linalg.LinAlgError:
        found = np.empty(wide.shape, wide.dtype)
        size = wide.shape[-2:]
        for matrix, factor in zip(wide.reshape((-1, *size)), found.reshape((-1, *size)), strict=True):
            try:
                factor[...] = lapack.cholesky(matrix)
            except np.linalg.LinAlgError:
                factor[...] = np.tril(np.full(size, np.nan, wide.dtype))
    if np.isinf(np.diagonal(found, axis1=-2, axis2=-1)).any():
        _divide_by_infinity(wide, found)
    return found.astype(input.dtype, copy=False)


def _divide_by_infinity(a: Array, found: Array) -> None:
    """Rewrite, in the factors `found` of `a` that have an infinite pivot, the columns from it on.

    LAPACK multiplies by 1 / pivot, or by 0 where that is 0 without a look at what it multiplies, so that inf / inf
    would be 0 in the pivot's column, and what follows from it finite.
    """
    n = a.shape[-1]
    for matrix, factor in zip(a.reshape((-1, n, n)), found.reshape((-1, n, n)), strict=True):
        infinite = np.isinf(factor.diagonal())
        with np.errstate(all="ignore"):
            for j in range(int(infinite.argmax()) if infinite.any() else n, n):
                column = matrix[j:, j] - factor[j:, :j] @ factor[j, :j].conj()
                if column[0].real <= 0:  # not positive definite
                    factor[...] = np.tril(np.full((n, n), np.nan, factor.dtype))
                    break
                factor[j, j] = np.sqrt(column[0].real)
                factor[j + 1 :, j] = column[1:] / factor[j, j].real


# ---- lu -------------------------------------------------------------------------------------------------------------


def _lu_shape(shape: Dims) -> Any:
    return square_shape(shape, None)


def _infer_lu(input: Aval, *, output_idx_type: DType) -> tuple[Aval, Aval]:
    shape = _lu_shape(input.shape)
    return Aval(input.dtype, shape), Aval(output_idx_type, None if shape is None else shape[:-1])


def _lu_grad(dys: list[Any], outs: list[Any]) -> dict[str, Any]:
    dy, (packed, perm) = dys[0], outs
    if dy is None:
        return {}
    unit_lower = with_diagonal(lower_triangle(packed), lambda d: zeros_like(d) + 1)
    upper = upper_triangle(packed)
    inner = strictly_lower(matmul(unit_lower, strictly_lower(dy), adjoint_a=True))
    inner += upper_triangle(matmul(upper_triangle(dy), upper, adjoint_b=True))
    left = triangular_solve_p(unit_lower, inner, lower=True, adjoint=True)
    found = adjoint(triangular_solve_p(upper, adjoint(left), lower=False, adjoint=False))
    return {"input": rows_at(found, inverse_permutation(perm))}


def inverse_permutation(perm: Tensor) -> Any:
    """Inverse permutations: where each number stands. i[*b, n] -> i32[*b, n]."""
    return argsort_p(perm, descending=False)


def rows_at(x: Tensor, indices: Tensor) -> Any:
    """Rows of matrices, taken batch by batch. t[*b, m, n], i[*b, k] -> t[*b, k, n]."""
    if indices.shape.rank is None:  # whose batches are not known: a product with a permutation matrix
        return matmul(one_hot(indices, dim(x, -2), dtype=x.dtype), x)
    last = indices.shape.rank - 1
    return gather_p(x, indices, axis=last, batch_dims=last)


def _factored(matrices: Array) -> tuple[Array, Array]:
    """Packed factors and orders of rows, matrix by matrix. t[p, n, n] -> t[p, n, n], i[p, n]."""
    factor = scipy_functions("getrf", (matrices,))
    packed, pivots = np.empty_like(matrices), np.empty(matrices.shape[:-1], np.int64)
    for i, matrix in enumerate(matrices):
        packed[i], pivots[i], info = factor(matrix)
        if info > 0:
            raise invalid("Input is not invertible.")
    n = matrices.shape[-1]
    perm = np.tile(np.arange(n), (len(pivots), 1))
    for i in range(n):
        exchange_rows(perm, i, pivots[:, i])
    return packed, perm


def _eliminated(matrices: Array) -> tuple[Array, Array]:
    """`_factored` row by row of all matrices at once: for many small ones, and for infinities and NaN."""
    packed, perm, _ = eliminated(matrices)
    if not invertible(packed):
        raise invalid("Input is not invertible.")
    return packed, perm


@custom(
    infer=_infer_lu,
    n_outputs=2,
    dtypes=FLOATS,
    vjp_all=_lu_grad,
    samples=lambda: square_samples(output_idx_type=int32),
    error_samples=lambda: [
        *[
            (x, a, error, text.replace("tensor 0", "tensor"))
            for x, a, error, text in square_errors(InvalidArgumentError, output_idx_type=int32)
        ],
        misuse("Input is not invertible.", np.ones([2, 2]), output_idx_type=int32),
    ],
    reason=LAPACK,
)
def lu_p(input: Array, *, output_idx_type: DType) -> Any:
    """L below the diagonal and U above it, with input[p] = L U, and p. t[*b, n, n] -> t[*b, n, n], i[*b, n]."""
    validated(_lu_shape, input.shape)
    matrices = stacked(widened(input))
    p, n = matrices.shape[:2]
    packed, perm = (_eliminated if p > 2 * n or n == 0 or not all_finite(matrices).all() else _factored)(matrices)
    return (
        packed.reshape(input.shape).astype(input.dtype, copy=False),
        perm.reshape(input.shape[:-1]).astype(output_idx_type.numpy_dtype),
    )


class Lu(NamedTuple):
    """The packed factors, and the order of the rows."""

    lu: Tensor
    p: Tensor


@public("linalg.lu")
def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> Lu:
    """L (unit) below the diagonal and U on and above it, with input[p] = L U, and p. t[*b, n, n] -> same, i[*b, n].

    Raises: InvalidArgumentError for what is not square or not invertible. Source: tf.linalg.lu.
    """
    return Lu(*named(name, lu_p, input, output_idx_type=as_dtype(output_idx_type)))


# ---- qr -------------------------------------------------------------------------------------------------------------


def _infer_qr(input: Aval, *, full_matrices: bool) -> tuple[Aval, Aval]:
    shape = matrix_shape(input.shape)
    if shape is None:
        return Aval(input.dtype, None), Aval(input.dtype, None)
    m, n = shape[-2:]
    k = m if full_matrices else least(m, n)
    return Aval(input.dtype, (*shape[:-2], m, k)), Aval(input.dtype, (*shape[:-2], k, n))


def least(m: int | None, n: int | None) -> int | None:
    """The lesser of two extents, if it is known."""
    if m is None or n is None:
        return 0 if 0 in (m, n) else None
    return min(m, n)


def _qr_grad(dys: list[Any], input: Tensor, outs: list[Any], full_matrices: bool) -> dict[str, Any]:
    q, r = outs
    dq, dr = [zeros_like(out) if dy is None else dy for dy, out in zip(dys, outs, strict=True)]
    m, n = input.shape[-2:] if input.shape.rank is not None else (None, None)
    if full_matrices and (m is None or n is None or m > n):
        raise NotImplementedError(
            "QrGrad not implemented when nrows > ncols and full_matrices is true. Received r.shape="
            f"{r.shape} with nrows={m} and ncols={n}."
        )
    if n is not None and m is not None and m >= n:
        return {"input": _tall_qr_grad(dq, dr, q, r)}
    k = dim(r, -2)  # the first k columns decide q, and q the rest
    rest, d_rest = input[..., k:], dr[..., k:]
    first = _tall_qr_grad(dq + matmul(rest, d_rest, adjoint_b=True), dr[..., :k], q, r[..., :k])
    return {"input": concat([first, matmul(q, d_rest)], -1)}


def _tall_qr_grad(dq: Tensor, dr: Tensor, q: Tensor, r: Tensor) -> Any:
    """Q dR + (Q W + (1 - Q Q^H) dQ) R^-H, W of the parts of dQ^H Q - R dR^H that turn Q."""
    turns = matmul(dq, q, adjoint_a=True) - matmul(r, dr, adjoint_b=True)
    inner = strictly_lower(adjoint(turns) - turns)
    if q.dtype.is_complex:  # LAPACK's R has a real diagonal
        part = imag(diag_part(turns))
        inner -= diag(complex_of(zeros_like(part), part))
    right = times(q, inner - matmul(q, dq, adjoint_a=True)) + dq
    return times(q, dr) + adjoint(triangular_solve_p(r, adjoint(right), lower=False, adjoint=False))


_RECTANGLES = ((3, 3), (4, 3), (2, 3), (2, 3, 2), (0, 2, 2), (3, 0), (1, 1))


def rectangle_samples(without_tall: bool = False, **attrs: Any) -> list[Any]:
    """Square, tall and wide matrices; `without_tall` leaves out what the gradient of QR is not there for."""
    return [
        ((drawn(s, t, len(s)),), attrs | {"full_matrices": full} if full is not None else attrs)
        for t in ("float64", "float32", "complex64")
        for full in ((False, True) if "full_matrices" in attrs else (None,))
        for s in _RECTANGLES
        if not (full and s[-2] > s[-1] and without_tall)
    ]


def rectangle_errors(**attrs: Any) -> list[Any]:
    """Rows of errors for what is no matrix."""
    return [((np.ones([3]),), attrs, InvalidArgumentError, "Input tensor 0 must have rank >= 2, got 1")]


@custom(
    infer=_infer_qr,
    n_outputs=2,
    dtypes=FLOATS,
    vjp_all=_qr_grad,
    samples=lambda: rectangle_samples(True, full_matrices=False),
    error_samples=lambda: rectangle_errors(full_matrices=False),
    step="qr",
    reason=LAPACK,
)
def qr_p(input: Array, *, full_matrices: bool) -> Any:
    """Q with orthonormal columns and R upper triangular, Q R = input. t[*b, m, n] -> t[*b, m, k], t[*b, k, n]."""
    validated(matrix_shape, input.shape)
    q, r = lapack.qr(widened(input), "complete" if full_matrices else "reduced")
    return q.astype(input.dtype, copy=False), r.astype(input.dtype, copy=False)


class Qr(NamedTuple):
    """Orthonormal columns, and an upper triangular matrix."""

    q: Tensor
    r: Tensor


@public("linalg.qr")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Q with orthonormal columns and R upper triangular, Q R = input. t[*b, m, n] -> t[*b, m, k], t[*b, k, n].

    k is min(m, n), or m with full_matrices. Raises: InvalidArgumentError for ranks below 2. Source: tf.linalg.qr.
    """
    return Qr(*named(name, qr_p, input, full_matrices=bool(full_matrices)))
