"""Systems of linear equations: solve, triangular_solve, inv, and determinants.

Rule: a matrix that has no inverse (or begins with NaN) is an error where LAPACK factors it, and infinities or NaN where
it only substitutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.native.matmul import scipy_functions
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import single_precision_lapack as lapack
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.broadcasting import sum_to
from fastgraph.ops.complex_numbers import complex_of, conj, imag
from fastgraph.ops.elementwise import cast, widened, zeros_like
from fastgraph.ops.families import Array, Dims, custom, invalid, misuse, public, validated
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import (
    FLOATS,
    LAPACK,
    all_finite,
    drawn,
    eliminated,
    invertible,
    lower_triangle,
    over_columns,
    solved_shape,
    spread_to,
    square_errors,
    square_samples,
    square_shape,
    stacked,
    substitute_back,
    triangular_shape,
    upper_triangle,
)
from fastgraph.ops.matrix_algebra import adjoint as adjoint_of
from fastgraph.ops.matrix_transposes import adjoint as matrix_adjoint
from fastgraph.ops.movement import shape
from fastgraph.ops.precise_sums import is_half

# ---- inverse and determinants ---------------------------------------------------------------------------------------


@custom(
    op="MatrixInverse",
    infer=lambda input: Aval(input.dtype, square_shape(input.shape)),
    dtypes=FLOATS,
    vjp=dict(input=lambda dy, out: -matmul(matmul(out, dy, adjoint_a=True), out, adjoint_b=True)),
    samples=square_samples,
    error_samples=lambda: [
        *square_errors(InvalidArgumentError),
        misuse("Input is not invertible.", np.ones([2, 2])),
        misuse("Input is not invertible.", np.full([2, 2], np.nan)),
    ],
    step="solution",
    reason=LAPACK,
)
def inv_p(input: Array) -> Any:
    """Inverse matrices. t[*b, n, n] -> t[*b, n, n]."""
    validated(square_shape, input.shape)
    x = np.array(np.broadcast_to(np.eye(input.shape[-1], dtype=widened(input).dtype), input.shape), order="C")
    try:
        if _solved_here(input, x, False):
            return x.astype(input.dtype, copy=False)
        if not all_finite(input).all():
            return _solved(input, np.broadcast_to(np.eye(input.shape[-1], dtype=input.dtype), input.shape))
        return lapack.inv(widened(input)).astype(input.dtype, copy=False)
    except np.linalg.LinAlgError:
        raise invalid("Input is not invertible.") from None


def _solved_here(a: Array, x: Array, turned: bool) -> bool:
    """Solve a x' = x (or with a's transpose) in the contiguous x, for many small real matrices; return whether it did.

    Raises: LinAlgError if one has no inverse.
    """
    try:
        return array_kernels.solved(np.ascontiguousarray(stacked(widened(a))), stacked(x), turned)
    except ZeroDivisionError:
        raise np.linalg.LinAlgError from None


def _solved(a: Array, b: Array) -> Array:
    """Solve a x = b, some of a being infinite or NaN. Raises: LinAlgError if a pivot is 0, or the first NaN."""
    n = a.shape[-1]
    packed, perm, _ = eliminated(widened(a).reshape(-1, n, n))
    if not invertible(packed):
        raise np.linalg.LinAlgError
    moved = np.take_along_axis(widened(b).reshape(-1, n, b.shape[-1]), perm[:, :, None], 1)
    return substitute_back(packed, moved).reshape(b.shape).astype(b.dtype, copy=False)


@public("linalg.inv")
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Any:
    """Inverse matrices, or those of the adjoint matrices. t[*b, n, n] -> t[*b, n, n].

    Raises: InvalidArgumentError for what is not square or has no inverse. Source: tf.linalg.inv.
    """
    x = as_tensor(input)
    return named(name, inv_p, matrix_adjoint(x) if adjoint and x.shape.rank not in (0, 1) else x)


def _det_shape(dims: Dims) -> Dims:
    dims = square_shape(dims)
    return None if dims is None else dims[:-2]


def _inverse_adjoint(input: Tensor, factor: Tensor) -> Any:
    return over_columns(over_columns(factor, input.dtype), input.dtype) * adjoint_of(inv_p(input))


@custom(
    "linalg.det",
    op="MatrixDeterminant",
    infer=lambda input: Aval(input.dtype, _det_shape(input.shape)),
    dtypes="float16 float32 float64 complex64 complex128",
    vjp=dict(input=lambda dy, input, out: _inverse_adjoint(input, dy * conj(out))),
    samples=square_samples,
    error_samples=lambda: square_errors(InvalidArgumentError),
    reason=LAPACK,
)
def det(input: Array) -> Any:
    """Determinants; their gradient needs matrices that have inverses. t[*b, n, n] -> t[*b].

    Raises: InvalidArgumentError for what is not square. Source: tf.linalg.det.
    """
    validated(square_shape, input.shape)
    small = array_kernels.determinants(np.ascontiguousarray(stacked(widened(input))))
    if small is not None:
        return small.reshape(input.shape[:-2]).astype(input.dtype, copy=False)
    found = np.asarray(np.linalg.det(widened(input)))
    if not (finite := all_finite(input)).all():
        packed, _, exchanges = eliminated(widened(input)[~finite])
        with np.errstate(all="ignore"):
            pivots = np.diagonal(packed, axis1=-2, axis2=-1)
            product = np.where(exchanges % 2, -1, 1) * pivots.prod(-1)
            if pivots.dtype.kind == "c":  # a phase of what is infinite
                product[~np.isfinite(pivots).all(-1)] = complex(np.nan, np.nan)
            found[~finite] = product
    return found.astype(input.dtype, copy=False)


def _infer_slogdet(input: Aval) -> tuple[Aval, Aval]:
    dims = _det_shape(input.shape)
    return Aval(input.dtype, dims), Aval(input.dtype.real_dtype, dims)


def _slogdet_grad(dys: list[Any], input: Tensor, outs: list[Any]) -> dict[str, Any]:
    (d_sign, d_log), sign = dys, outs[0]
    total = None if d_log is None else cast(d_log, input.dtype)
    if d_sign is not None and input.dtype.is_complex:  # a phase, which turns with the imaginary part of the logarithm
        turn = imag(d_sign * conj(sign))
        turned = complex_of(zeros_like(turn), turn)
        total = turned if total is None else total + turned
    return {"input": zeros_like(input) if total is None else _inverse_adjoint(input, total)}


@custom(
    op="LogMatrixDeterminant",
    infer=_infer_slogdet,
    n_outputs=2,
    dtypes="float16 float32 float64 complex64 complex128",
    vjp_all=_slogdet_grad,
    samples=square_samples,
    error_samples=lambda: square_errors(InvalidArgumentError),
    reason=LAPACK,
)
def slogdet_p(input: Array) -> Any:
    """Sign, or phase, and logarithm of the absolute value of determinants. t[*b, n, n] -> t[*b], f[*b]."""
    validated(square_shape, input.shape)
    sign, logarithm = map(np.asarray, np.linalg.slogdet(widened(input)))
    if not (finite := all_finite(input)).all():
        packed, _, exchanges = eliminated(widened(input)[~finite])
        with np.errstate(all="ignore"):
            pivots = np.diagonal(packed, axis1=-2, axis2=-1)
            logarithms = np.log(np.abs(pivots)).sum(-1)
            signs = np.where(exchanges % 2, -1, 1) * np.sign(pivots).prod(-1)
            if pivots.dtype.kind == "c":  # a phase of what is infinite, and quotients by it
                bounded = np.isfinite(pivots)
                logarithms[~bounded[:, :-1].all(-1)] = np.nan
                signs[~bounded.all(-1)] = complex(np.nan, np.nan)
            logarithm[~finite], sign[~finite] = logarithms, signs
    if is_half(input.dtype):
        sign, logarithm = sign.astype(input.dtype), logarithm.astype(input.dtype)
    return sign.astype(input.dtype, copy=False), logarithm


class LogMatrixDeterminant(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    log_abs_determinant: Tensor


@public("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Sign (of complex matrices the phase) and log(|det|), both of the input's dtype. t[*b, n, n] -> t[*b], t[*b].

    Raises: InvalidArgumentError for what is not square. Source: tf.linalg.slogdet.
    """
    sign, logarithm = named(name, slogdet_p, input)
    return LogMatrixDeterminant(sign, cast(logarithm, sign.dtype))


# ---- solve ----------------------------------------------------------------------------------------------------------


def _solve_grad(
    dys: Sequence[Tensor], matrix: Tensor, outs: Sequence[Tensor], adjoint: bool, needs: Sequence[bool]
) -> dict[str, Any]:
    x = outs[0]
    d_rhs = solve_p(matrix, dys[0], adjoint=not adjoint)
    if not needs[0]:
        return {"rhs": d_rhs}
    left, right = (x, d_rhs) if adjoint else (d_rhs, x)
    return {"matrix": -matmul(left, right, adjoint_b=True), "rhs": d_rhs}


def _solve_samples() -> list[Any]:
    shapes = (((3, 3), (3, 2)), ((2, 2, 2), (2, 2, 1)), ((0, 2, 2), (0, 2, 1)), ((2, 2), (2, 0)), ((0, 0), (0, 2)))
    return [
        ((drawn(a, t, 1), drawn(b, t, 2)), {"adjoint": side})
        for t in ("float64", "float32", "complex64")
        for side in (False, True)
        for a, b in shapes
    ]


def _solve_errors() -> list[Any]:
    cases = (
        ((3,), (3, 2), "Input tensor 0 must have rank >= 2, got 1"),
        ((2, 3), (2, 2), r"First input \(lhs\) must be a square matrix."),
        ((2, 2), (3, 2), "Input matrix and rhs are incompatible."),
        ((2, 2), (2,), "All input tensors must have the same rank."),
        ((3, 2, 2), (2, 2), "All input tensors must have the same rank."),
        ((3, 2, 2), (2, 2, 2), "All input tensors must have the same outer dimensions."),
        ((2, 2), (2, 1), "Input matrix is not invertible."),
    )
    return [misuse(text, np.ones(a), np.ones(b), adjoint=False) for a, b, text in cases]


@custom(
    op="MatrixSolve",
    infer=lambda matrix, rhs, *, adjoint: Aval(matrix.dtype, solved_shape(matrix.shape, rhs.shape)),
    dtypes=FLOATS,
    vjp_all=_solve_grad,
    samples=_solve_samples,
    error_samples=_solve_errors,
    step="solution",
    reason=LAPACK,
)
def solve_p(matrix: Array, rhs: Array, *, adjoint: bool) -> Any:
    """x with matrix x = rhs, or with its adjoint. t[*b, n, n], t[*b, n, k] -> t[*b, n, k]."""
    validated(solved_shape, matrix.shape, rhs.shape)
    x = np.array(widened(rhs), order="C")
    a = np.conj(np.swapaxes(matrix, -1, -2)) if adjoint else matrix
    try:
        if _solved_here(matrix, x, adjoint):
            return x.astype(rhs.dtype, copy=False)
        if not all_finite(a).all():
            return _solved(a, rhs)
        return lapack.solve(widened(a), widened(rhs)).astype(rhs.dtype, copy=False)
    except np.linalg.LinAlgError:
        raise invalid("Input matrix is not invertible.") from None


@public("linalg.solve")
def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Any:
    """x with matrix x = rhs, or, with `adjoint`, with the adjoint matrix. t[*b, n, n], t[*b, n, k] -> t[*b, n, k].

    Raises: InvalidArgumentError for shapes that do not fit and matrices without an inverse. Source: tf.linalg.solve.
    """
    return named(name, solve_p, matrix, rhs, adjoint=bool(adjoint))


# ---- triangular systems ---------------------------------------------------------------------------------------------


def substituted(a: Array, b: Array, lower: bool, adjoint: bool) -> Array:
    """x with a x = b for triangular matrices, not checked. t[p, n, n], t[p, n, k] -> t[p, n, k].

    Matrix by matrix, or, where there are more matrices than rows, row by row of them all.
    """
    p, n = b.shape[:2]
    x = np.array(b, order="C")
    if not x.size or array_kernels.substituted(np.ascontiguousarray(a), x, lower, adjoint):
        return x
    if p > 2 * n:
        if adjoint:
            a, lower = np.conj(np.swapaxes(a, -1, -2)), not lower
        for i in range(n) if lower else range(n - 1, -1, -1):
            before = slice(0, i) if lower else slice(i + 1, n)
            x[:, i] -= (a[:, i, None, before] @ x[:, before])[:, 0]
            x[:, i] /= a[:, i, i, None]
        return x
    solve_one = scipy_functions("trsm", (a, x), of="blas")
    for one, each in zip(a, x, strict=True):
        # Rows of C are columns of Fortran: x^T a^T = b^T, of which nothing needs to be moved.
        solve_one(1, np.ascontiguousarray(one).T, each.T, 1, not lower, 2 if adjoint else 0, overwrite_b=1)
    return x


def _triangular_grad(
    dys: list[Any], matrix: Tensor, rhs: Tensor, outs: list[Any], lower: bool, adjoint: bool, needs: tuple[Any, ...]
) -> dict[str, Any]:
    x = outs[0]
    d_rhs = triangular_solve_p(matrix, dys[0], lower=lower, adjoint=not adjoint)
    found = {"rhs": summed_like(d_rhs, rhs)}
    if needs[0]:
        left, right = (x, d_rhs) if adjoint else (d_rhs, x)
        outer = -matmul(left, right, adjoint_b=True)
        found["matrix"] = summed_like(lower_triangle(outer) if lower else upper_triangle(outer), matrix)
    return found


def summed_like(dy: Tensor, x: Tensor) -> Any:
    """dy, summed over the batches along which x was broadcast."""
    dims = x.shape.as_list() if x.shape.rank is not None else [None]
    if None not in dims and dims == dy.shape:
        return dy
    return sum_to(dy, tuple(dims) if None not in dims else shape(x))


def _triangular_samples() -> list[Any]:
    shapes = (
        ((3, 3), (3, 2)),
        ((2, 2, 2), (2, 2, 1)),
        ((2, 2), (3, 2, 1)),
        ((7, 2, 2), (2, 1)),
        ((2, 1, 2, 2), (3, 2, 1)),
        ((0, 2, 2), (2, 1)),
        ((2, 2), (2, 0)),
    )
    return [
        ((drawn(a, t, 1), drawn(b, t, 2)), {"lower": lower, "adjoint": side})
        for t in ("float64", "float32", "complex64")
        for lower, side in ((True, False), (False, True), (False, False), (True, True))
        for a, b in shapes[:: 1 if lower is not side else 3]
    ]


def _triangular_errors() -> list[Any]:
    cases = (
        ((3,), (3, 2), r"In\[0\] ndims must be >= 2: 1"),
        ((2, 2), (2,), r"In\[1\] ndims must be >= 2: 1"),
        ((2, 3), (3, 2), r"In\[0\] matrices in the last dimensions must be square \(3 =/= 2\)"),
        ((2, 2), (3, 2), r"In\[0\] mismatch In\[1\] shape: 2 vs. 3: \[2,2\] \[3,2\] 1 0"),
        ((3, 2, 2), (2, 2, 2), r"In\[0\] and In\[1\] must have compatible batch dimensions: \[3,2,2\] vs. \[2,2,2\]"),
    )
    attrs = {"lower": True, "adjoint": False}
    return [((np.ones(a), np.ones(b)), attrs, InvalidArgumentError, text) for a, b, text in cases]


@custom(
    op="MatrixTriangularSolve",
    infer=lambda matrix, rhs, *, lower, adjoint: Aval(
        matrix.dtype, triangular_shape(matrix.shape, rhs.shape, lower, adjoint)
    ),
    dtypes=f"bfloat16 {FLOATS}",
    vjp_all=_triangular_grad,
    samples=_triangular_samples,
    error_samples=_triangular_errors,
    step="substitution",
    reason="substitution, each row after those before it: BLAS's is as fast as any kernel of ours would be",
)
def triangular_solve_p(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Any:
    """x with matrix x = rhs, one triangle of the matrix being read. t[*b, n, n], t[*b, n, k] -> t[*b, n, k]."""
    dims = validated(triangular_shape, matrix.shape, rhs.shape, lower, adjoint)
    a, b = spread_to(widened(matrix), dims[:-2]), spread_to(widened(rhs), dims[:-2])
    return substituted(a, b, lower, adjoint).reshape(dims).astype(rhs.dtype, copy=False)


@public("linalg.triangular_solve")
def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """x with matrix x = rhs, only the lower (upper) triangle of the matrix being read; batches broadcast.

    t[*b, n, n], t[*b, n, k] -> t[*b, n, k]. With `adjoint`: of the adjoint matrix. Zeros on the diagonal give infinity.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.triangular_solve.
    """
    return named(name, triangular_solve_p, matrix, rhs, lower=bool(lower), adjoint=bool(adjoint))
