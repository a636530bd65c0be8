"""Ops on factors: solutions from Cholesky's and LU, least squares, pseudoinverses, ranks, log-determinants.

Rule: written in other ops; only the pseudoinverse is one of its own, whose gradient is simpler than that of the SVD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import greater
from fastgraph.ops.complex_numbers import real
from fastgraph.ops.counting import invert_permutation
from fastgraph.ops.creation import eye, range_
from fastgraph.ops.elementwise import cast, ones_like, widened, zeros_like
from fastgraph.ops.exponentials import log, sqrt
from fastgraph.ops.factorizations import cholesky, inverse_permutation, rows_at
from fastgraph.ops.families import Array, custom, public, validated
from fastgraph.ops.gathering import dim, gather_p
from fastgraph.ops.joining import concat
from fastgraph.ops.linear_solvers import triangular_solve, triangular_solve_p
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import (
    FLOATS,
    LAPACK,
    adjoint,
    drawn,
    lower_triangle,
    matrix_shape,
    times,
    upper_triangle,
    with_diagonal,
)
from fastgraph.ops.matrix_diagonals import diag_part
from fastgraph.ops.movement import expand_dims, shape
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal
from fastgraph.ops.svd_and_eigen import factors_svd, svd

# ---- by factors of Cholesky and LU ----------------------------------------------------------------------------------


@public("linalg.cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Any:
    """x with A x = rhs, given Cholesky's factor of A. t[*b, n, n], t[*b, n, k] -> t[*b, n, k].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.cholesky_solve.
    """
    half = triangular_solve(chol, rhs)
    return named(name, triangular_solve_p, chol, half, lower=True, adjoint=True)


@public("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Any:
    """Log-determinants of Hermitian positive definite matrices, as real numbers. t[*b, n, n] -> f[*b].

    NaN where `cholesky` is. Raises: InvalidArgumentError as `cholesky` does. Source: tf.linalg.logdet.
    """
    return reduce_sum(log(real(diag_part(cholesky(matrix)))), -1, name=name) * 2


def _packed(lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike | None = None) -> tuple[Any, ...]:
    """Checked tensors of `lu_*`'s arguments."""
    packed, order = as_tensor(lower_upper), as_tensor(perm)
    rank = packed.shape.rank
    if rank is not None and rank < 2:
        raise ValueError(f"Input `lower_upper` must have at least 2 dimensions. Received: {rank}.")
    if rank is not None and None not in packed.shape[-2:] and packed.shape[-1] != packed.shape[-2]:
        raise ValueError("`lower_upper` must be square.")
    if order.shape.rank is not None and rank is not None and order.shape.rank + 1 != rank:
        raise ValueError("Input `lower_upper` must have one more dimension than `perm`.")
    if rhs is None:
        return packed, order
    b = as_tensor(rhs, packed.dtype)
    if b.shape.rank is not None and b.shape.rank < 2:
        raise ValueError("Input `rhs` must have at least 2 dimensions.")
    if b.shape.rank is not None and None not in (packed.shape[-1], b.shape[-2]) and packed.shape[-1] != b.shape[-2]:
        raise ValueError("`lower_upper.shape[-1]` must equal `rhs.shape[-1]`.")
    return packed, order, b


def _unit_lower(packed: Tensor) -> Any:
    return with_diagonal(lower_triangle(packed), ones_like)


@public("linalg.lu_solve")
def lu_solve(
    lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike, validate_args: bool = False, name: str | None = None
) -> Any:
    """x with A x = rhs, given `lu` of A. t[*b, n, n], i[*b, n], t[*b, n, k] -> t[*b, n, k].

    Raises: ValueError for shapes that do not fit. Source: tf.linalg.lu_solve.
    """
    packed, order, b = _packed(lower_upper, perm, rhs)
    if order.shape.rank == 1 and b.shape.rank is not None:
        moved = rows_of(b, order)
    elif None in (order.shape.rank, b.shape.rank):
        moved = rows_at(b, order)
    else:
        if order.shape.as_list()[:-1] != b.shape.as_list()[:-2] or None in order.shape.as_list():
            order += cast(reduce_sum(zeros_like(b), -1), order.dtype)  # the batches of both
            b += cast(expand_dims(zeros_like(order), -1), b.dtype)
        moved = rows_at(b, order)
    half = triangular_solve_p(_unit_lower(packed), moved, lower=True, adjoint=False)
    return named(name, triangular_solve_p, packed, half, lower=False, adjoint=False)


def rows_of(x: Any, indices: TensorLike) -> Any:
    """The same rows of all matrices. t[*b, m, n], i[k] -> t[*b, k, n]."""
    return gather_p(x, indices, axis=x.shape.rank - 2, batch_dims=0)


@public("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Any:
    """The matrix whose `lu` is given. t[*b, n, n], i[*b, n] -> t[*b, n, n].

    Raises: ValueError for shapes that do not fit, InvalidArgumentError for a `perm` that is no permutation. Source:
    tf.linalg.lu_reconstruct.
    """
    packed, order = _packed(lower_upper, perm)
    product = matmul(_unit_lower(packed), upper_triangle(packed))
    if order.shape.rank == 1:
        return rows_at(product, invert_permutation(order))
    inverse = inverse_permutation(order)
    if order.shape.rank is not None:  # in order, a permutation's numbers are 0, 1, 2, ...
        last = order.shape.rank - 1
        found = gather_p(order, inverse, axis=last, batch_dims=last)
        wanted = broadcast_to(range_(dim(order, -1), dtype=found.dtype), shape(found))
        assert_equal(found, wanted, "perm is not a permutation")
    return rows_at(product, inverse)


@public("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Any:
    """The inverse of the matrix whose `lu` is given. t[*b, n, n], i[*b, n] -> t[*b, n, n].

    Raises: ValueError for shapes that do not fit. Source: tf.linalg.lu_matrix_inverse.
    """
    packed, order = _packed(lower_upper, perm)
    ones = with_diagonal(zeros_like(packed), ones_like)
    return lu_solve(packed, order, ones, validate_args, name)


# ---- pseudoinverse and rank -----------------------------------------------------------------------------------------


def _pinv_grad(dy: Tensor, a: Tensor, out: Tensor) -> Any:
    """Gradient for matrices whose rank stays: Golub and Pereyra 1973."""
    left = times(out, adjoint(out))  # P P^H
    right = times(adjoint(out), out)  # P^H P
    d = adjoint(dy)
    found = -times(adjoint(out), dy, adjoint(out))
    inner = times(d, left)
    found += inner - times(a, out, inner)
    inner = times(right, d)
    return found + inner - times(inner, out, a)


def _infer_pinv(a: Aval, rcond: Aval) -> Aval:
    dims = matrix_shape(a.shape)
    return Aval(a.dtype, None if dims is None else (*dims[:-2], dims[-1], dims[-2]))


@custom(
    infer=_infer_pinv,
    groups=("T", "-"),
    dtypes=FLOATS,
    vjp=dict(a=_pinv_grad),
    samples=lambda: [
        ((drawn(s, t, 4), np.asarray(np.full(s[: -2 if c else 0], 1e-5)).astype(np.dtype(t).char.lower())), {})
        for t in ("float64", "float32", "complex64")
        for s, c in (((3, 3), 1), ((4, 2), 1), ((2, 3), 0), ((2, 2, 3), 1), ((0, 2, 2), 1), ((3, 0), 0))
    ],
    reason=LAPACK,
)
def pinv_p(a: Array, rcond: Array) -> Any:
    """Pseudoinverses; singular values up to rcond times the greatest count as 0. t[*b, m, n], f[*b] -> t[*b, n, m]."""
    validated(matrix_shape, a.shape)
    u, s, vh = factors_svd(widened(a), full_matrices=False)
    limit = rcond[..., None] * (s.max(-1, keepdims=True) if s.shape[-1] else np.zeros((*s.shape[:-1], 1), s.dtype))
    kept = np.where(s <= limit, np.zeros((), s.dtype), 1 / s)
    product = np.conj(np.swapaxes(vh, -1, -2)) @ (kept[..., None] * np.conj(np.swapaxes(u, -1, -2)))
    return product.astype(a.dtype, copy=False)


def _number_matrix(a: TensorLike, complex_too: bool = False) -> Any:
    x = as_tensor(a)
    if not (x.dtype.is_floating or (complex_too and x.dtype.is_complex)):
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {x.dtype.name}).")
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {x.shape.rank}).")
    return x


def _precision(x: Tensor) -> Any:
    """eps of x's dtype times the longer side of its matrices: f[]."""
    real_type = x.dtype.real_dtype
    eps = float(np.finfo(real_type.numpy_dtype).eps) if real_type.name != "bfloat16" else 2.0**-7
    if x.shape.rank is not None and None not in x.shape[-2:]:
        return as_tensor(eps * max(x.shape[-2], x.shape[-1]), real_type)
    return cast(reduce_max(shape(x)[-2:]), real_type) * eps


@public("linalg.pinv")
def pinv(a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Any:
    """Pseudoinverses; singular values up to rcond (10 eps max(m, n)) times the greatest count as 0.

    f[*b, m, n] -> f[*b, n, m]; rcond is f[*b]. Raises: TypeError for other dtypes; ValueError for ranks below 2.
    Source: tf.linalg.pinv.
    """
    x = _number_matrix(a)
    limit = _precision(x) * 10 if rcond is None else as_tensor(rcond, x.dtype)
    return named(name, pinv_p, x, limit)


@public("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """Number of singular values above tol (eps max(m, n) times the greatest). f[*b, m, n] -> i32[*b].

    Raises: TypeError for other dtypes; ValueError for ranks below 2. Source: tf.linalg.matrix_rank.
    """
    x = _number_matrix(a, True)
    s = svd(x, compute_uv=False)
    limit = _precision(x) * reduce_max(s, -1, keepdims=True) if tol is None else as_tensor(tol, s.dtype)
    return reduce_sum(cast(greater(s, limit), "int32"), -1, name=name)


# ---- least squares --------------------------------------------------------------------------------------------------


@public("linalg.lstsq")
def lstsq(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: TensorLike = 0.0, fast: bool = True, name: str | None = None
) -> Any:
    """x with the least |matrix x - rhs|^2 + l2_regularizer |x|^2. t[*b, m, n], t[*b, m, k] -> t[*b, n, k].

    By Cholesky's factor of the normal equations, for full rank; with fast=False by singular values, for any rank and
    without the regularizer: then of all best x the shortest. Raises: InvalidArgumentError. Source: tf.linalg.lstsq.
    """
    a = as_tensor(matrix)
    b = as_tensor(rhs, a.dtype)
    validated(matrix_shape, None if a.shape.rank is None else tuple(a.shape.as_list()))
    if not fast:
        return matmul(pinv_p(a, _precision(a)), b, name=name)
    rows, columns = dim(a, -2), dim(a, -1)
    if not isinstance(rows, int) or not isinstance(columns, int):  # of which are more is not known yet
        below = with_diagonal(zeros_like(matmul(a, a, adjoint_a=True)), ones_like)
        below *= cast(sqrt(as_tensor(l2_regularizer, a.dtype.real_dtype)), a.dtype)
        whole = concat([a, below], -2)
        return matmul(pinv_p(whole, _precision(whole))[..., :rows], b, name=name)
    gram = matmul(a, a, adjoint_a=True) if rows >= columns else matmul(a, a, adjoint_b=True)
    factor = cholesky(gram + eye(min(rows, columns), dtype=a.dtype) * cast(as_tensor(l2_regularizer), a.dtype))
    if rows >= columns:
        return cholesky_solve(factor, matmul(a, b, adjoint_a=True), name)
    return matmul(a, cholesky_solve(factor, b), adjoint_a=True, name=name)
