"""Singular values and eigenvalues: svd, eigh, eig, by LAPACK.

Rule: a gradient is right for what does not depend on the signs and phases of vectors. Vectors of equal singular values
or eigenvalues could be any of their plane: between them nothing is added. Source of the gradients: Giles 2008; Wan
and Zhang 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import single_precision_lapack as lapack
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.complex_numbers import complex_of, conj, imag, real
from fastgraph.ops.elementwise import cast, widened, zeros_like
from fastgraph.ops.factorizations import least, rectangle_errors, rectangle_samples
from fastgraph.ops.families import Array, custom, invalid, misuse, public, validated
from fastgraph.ops.gathering import dim
from fastgraph.ops.linear_solvers import solve_p
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import (
    FLOATS,
    LAPACK,
    adjoint,
    hermitian,
    is_number,
    lower_triangle,
    matrix_shape,
    over_columns,
    over_rows,
    reciprocal_gaps,
    safe_reciprocal,
    square_errors,
    square_samples,
    square_shape,
    times,
    with_diagonal,
)
from fastgraph.ops.matrix_diagonals import diag, diag_part
from fastgraph.ops.precise_sums import is_half

# ---- svd ------------------------------------------------------------------------------------------------------------


def _infer_svd(input: Aval, *, full_matrices: bool) -> tuple[Aval, Aval, Aval]:
    shape, s = matrix_shape(input.shape), _infer_singular(input)
    if shape is None:
        return s, Aval(input.dtype, None), Aval(input.dtype, None)
    m, n = shape[-2:]
    k = least(m, n)
    batch = shape[:-2]
    return (
        s,
        Aval(input.dtype, (*batch, m, m if full_matrices else k)),
        Aval(input.dtype, (*batch, n, n if full_matrices else k)),
    )


def _infer_singular(input: Aval) -> Aval:
    shape = matrix_shape(input.shape)
    return Aval(input.dtype.real_dtype, None if shape is None else (*shape[:-2], least(*shape[-2:])))


def _svd_grad(dys: list[Any], input: Tensor, outs: list[Any], full_matrices: bool) -> dict[str, Any]:
    (ds, du, dv), (s, u, v) = dys, outs
    dtype = u.dtype
    m, n = input.shape[-2:] if input.shape.rank is not None else (None, None)
    beyond = full_matrices and (m is None or n is None or m != n)
    if beyond and not (du is None and dv is None) and m is not None and n is not None and abs(m - n) > 1:
        raise NotImplementedError(
            "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True. Received: "
            f"m={min(m, n)} and n={max(m, n)} from op input={input!r} with shape={input.shape}."
        )
    k = dim(s, -1)
    u1, v1 = (u[..., :k], v[..., :k]) if beyond else (u, v)
    du1, dv1 = [dy if dy is None or not beyond else dy[..., :k] for dy in (du, dv)]
    inner = zeros_like(matmul(u1, u1, adjoint_a=True)) if ds is None else diag(cast(ds, dtype))
    rows, columns = over_rows(s, dtype), over_columns(s, dtype)
    gaps = None if du is None and dv is None else cast(reciprocal_gaps(s * s), dtype)
    inverse = safe_reciprocal(s)
    outside = None
    if du1 is not None:
        along = matmul(u1, du1, adjoint_a=True)
        turned = gaps * along
        inner += (turned + adjoint(turned)) * rows
        outside = (du1 - times(u1, along)) * over_rows(inverse, dtype)
        if beyond:
            outside -= times(u[..., k:], matmul(du[..., k:], u1, adjoint_a=True)) * over_rows(inverse, dtype)
    across = None
    if dv1 is not None:
        along = matmul(v1, dv1, adjoint_a=True)
        turned = gaps * along
        inner += columns * (turned + adjoint(turned))
        if dtype.is_complex:
            phase = -imag(diag_part(along)) * inverse
            inner += diag(complex_of(zeros_like(phase), phase))
        across = (dv1 - times(v1, along)) * over_rows(inverse, dtype)
        if beyond:
            across -= times(v[..., k:], matmul(dv[..., k:], v1, adjoint_a=True)) * over_rows(inverse, dtype)
    left = times(u1, inner) if outside is None else times(u1, inner) + outside
    found = matmul(left, v1, adjoint_b=True)
    return {"input": found if across is None else found + matmul(u1, across, adjoint_b=True)}


def factors_svd(x: Array, **how: Any) -> Any:
    """NumPy's factors; NaN for matrices that are not finite, which LAPACK complains of on stderr."""
    good = is_number(x)
    try:
        if good.all():
            return lapack.svd(x, **how)
        found = lapack.svd(np.where(good[..., None, None], x, np.zeros((), x.dtype)), **how)
    except np.linalg.LinAlgError:
        raise invalid("SVD decomposition was not successful. The input might not be valid.") from None
    for part in found if isinstance(found, tuple) else (found,):
        part[~good] = np.nan
    return found


@custom(
    infer=_infer_svd,
    n_outputs=3,
    dtypes=FLOATS,
    vjp_all=_svd_grad,
    samples=lambda: rectangle_samples(full_matrices=False),
    error_samples=lambda: rectangle_errors(full_matrices=False),
    reason=LAPACK,
)
def svd_p(input: Array, *, full_matrices: bool) -> Any:
    """s falling, u and v with orthonormal columns, u diag(s) v^H = input. t[*b, m, n] -> f[*b, k], t, t."""
    validated(matrix_shape, input.shape)
    u, s, vh = factors_svd(widened(input), full_matrices=full_matrices)
    v = np.conj(np.swapaxes(vh, -1, -2))
    s = s.astype(s.dtype if not is_half(input.dtype) else input.dtype, copy=False)
    return s, u.astype(input.dtype, copy=False), v.astype(input.dtype, copy=False)


def _singular_grad(dy: Tensor, input: Tensor) -> Any:
    _, u, v = svd_p(input, full_matrices=False)
    return matmul(u * over_rows(dy, u.dtype), v, adjoint_b=True)


@custom(
    op="Svd",
    infer=_infer_singular,
    dtypes=FLOATS,
    vjp=dict(input=_singular_grad),
    samples=lambda: rectangle_samples(),
    error_samples=lambda: rectangle_errors(),
    reason=LAPACK,
)
def singular_values(input: Array) -> Any:
    """The singular values, falling. t[*b, m, n] -> f[*b, min(m, n)]."""
    validated(matrix_shape, input.shape)
    s = factors_svd(widened(input), compute_uv=False)
    return s.astype(s.dtype if not is_half(input.dtype) else input.dtype, copy=False)


def wide_tensor(x: TensorLike) -> tuple[Any, Any]:
    """A tensor, a half float as float32; and what casts results back."""
    x = as_tensor(x)
    if x.dtype.name != "float16":
        return x, lambda found: found
    return cast(x, "float32"), lambda found: cast(found, "float16")


@public("linalg.svd")
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """s falling, u and v with u diag(s) v^H = tensor; without compute_uv only s. t[*b, m, n] -> f[*b, k], t, t.

    u is [*b, m, k] and v [*b, n, k] for k = min(m, n), or square with full_matrices.
    Raises: InvalidArgumentError for ranks below 2. Source: tf.linalg.svd.
    """
    x, back = wide_tensor(tensor)
    if not compute_uv:
        return back(named(name, singular_values, x))
    s, u, v = named(name, svd_p, x, full_matrices=bool(full_matrices))
    return back(s), back(u), back(v)


# ---- eigenvalues ----------------------------------------------------------------------------------------------------


def _read_part(found: Tensor) -> Any:
    """The gradient of what reads only the lower triangle of matrices equal to their adjoints."""
    return with_diagonal(lower_triangle(found + adjoint(found)), lambda d: d * 0.5)


def _infer_eigvalsh(input: Aval) -> Aval:
    shape = square_shape(input.shape)
    return Aval(input.dtype.real_dtype, None if shape is None else shape[:-1])


def _eigh_grad(dys: list[Any], outs: list[Any]) -> dict[str, Any]:
    (de, dv), (e, v) = dys, outs
    inner = zeros_like(v) if de is None else diag(cast(de, v.dtype))
    if dv is not None:
        inner += cast(reciprocal_gaps(e), v.dtype) * matmul(v, dv, adjoint_a=True)
    return {"input": _read_part(matmul(times(v, inner), v, adjoint_b=True))}


def _eigh(x: Array, solve: Callable[[Array], Any]) -> Any:
    validated(square_shape, x.shape)
    try:
        if not np.isfinite(x).all():
            raise np.linalg.LinAlgError
        return solve(widened(x))
    except np.linalg.LinAlgError:
        raise invalid("Self-adjoint eigen decomposition was not successful. The input might not be valid.") from None


def _eigh_errors() -> list[Any]:
    text = "Self-adjoint eigen decomposition was not successful. The input might not be valid."
    return [*square_errors(InvalidArgumentError), misuse(text, np.full([2, 2], np.nan))]


@custom(
    op="SelfAdjointEigV2",
    infer=lambda input: (_infer_eigvalsh(input), Aval(input.dtype, square_shape(input.shape))),
    n_outputs=2,
    dtypes=FLOATS,
    vjp_all=_eigh_grad,
    samples=lambda: square_samples(hermitian),
    error_samples=_eigh_errors,
    reason=LAPACK,
)
def eigh_p(input: Array) -> Any:
    """Eigenvalues, rising, and eigenvectors of Hermitian matrices. t[*b, n, n] -> f[*b, n], t[*b, n, n]."""
    e, v = _eigh(input, lapack.eigh)
    return e.astype(np.float16) if is_half(input.dtype) else e, v.astype(input.dtype, copy=False)


def _eigvalsh_grad(dy: Tensor, input: Tensor) -> Any:
    _, v = eigh_p(input)
    return _read_part(matmul(v * over_rows(dy, v.dtype), v, adjoint_b=True))


@custom(
    op="SelfAdjointEigV2",
    infer=_infer_eigvalsh,
    dtypes=FLOATS,
    vjp=dict(input=_eigvalsh_grad),
    samples=lambda: square_samples(hermitian),
    error_samples=_eigh_errors,
    reason=LAPACK,
)
def eigvalsh_p(input: Array) -> Any:
    """Eigenvalues of Hermitian matrices, rising. t[*b, n, n] -> f[*b, n]."""
    e = _eigh(input, lapack.eigvalsh)
    return e.astype(np.float16) if is_half(input.dtype) else e


@public("linalg.eigh")
def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, rising, and eigenvectors of Hermitian matrices, whose lower triangle is read.

    t[*b, n, n] -> t[*b, n], t[*b, n, n]. Raises: InvalidArgumentError for what is not square or not finite.
    Source: tf.linalg.eigh.
    """
    x, back = wide_tensor(tensor)
    e, v = named(name, eigh_p, x)
    return back(cast(e, v.dtype)), back(v)


@public("linalg.eigvalsh")
def eigvalsh(tensor: TensorLike, name: str | None = None) -> Any:
    """Eigenvalues, rising, of Hermitian matrices, whose lower triangle is read. t[*b, n, n] -> t[*b, n].

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eigvalsh.
    """
    x, back = wide_tensor(tensor)
    return back(cast(named(name, eigvalsh_p, x), x.dtype))


def _complex_dtype(dtype: DType) -> DType:
    return dtype if dtype.is_complex else as_dtype("complex128" if dtype.name == "float64" else "complex64")


def _infer_eig(input: Aval) -> tuple[Aval, Aval]:
    shape = square_shape(input.shape)
    dtype = _complex_dtype(input.dtype)
    return Aval(dtype, None if shape is None else shape[:-1]), Aval(dtype, shape)


def _of_input(found: Tensor, dtype: DType) -> Any:
    return found if dtype.is_complex else cast(real(found), dtype)


def _eig_grad(dys: list[Any], input_dtype: DType, outs: list[Any]) -> dict[str, Any]:
    (de, dv), (e, v) = dys, outs
    inner = zeros_like(v) if de is None else diag(de)
    if dv is not None:
        along = matmul(v, dv, adjoint_a=True)
        length = over_rows(real(diag_part(along)), v.dtype)  # the columns have length 1
        inner += conj(reciprocal_gaps(e)) * (along - matmul(v, v, adjoint_a=True) * length)
    return {"input": _of_input(solve_p(v, matmul(inner, v, adjoint_b=True), adjoint=True), input_dtype)}


def _eig(x: Array, solve: Callable[[Array], Any]) -> Any:
    validated(square_shape, x.shape)
    try:
        return solve(widened(x))
    except np.linalg.LinAlgError:
        raise invalid("Eigen decomposition was not successful. The input might not be valid.") from None


def _eig_errors() -> list[Any]:
    text = "Eigen decomposition was not successful. The input might not be valid."
    return [*square_errors(InvalidArgumentError), misuse(text, np.full([2, 2], np.nan))]


@custom(
    infer=_infer_eig,
    n_outputs=2,
    dtypes="float32 float64 complex64 complex128",
    vjp_all=_eig_grad,
    samples=square_samples,
    error_samples=_eig_errors,
    reason=LAPACK,
)
def eig_p(input: Array) -> Any:
    """Eigenvalues and eigenvectors of length 1, in columns. t[*b, n, n] -> c[*b, n], c[*b, n, n]."""
    e, v = _eig(input, np.linalg.eig)
    dtype = np.result_type(input.dtype, np.complex64)
    return e.astype(dtype, copy=False), v.astype(dtype, copy=False)


def _eigvals_grad(dy: Tensor, input: Tensor) -> Any:
    _, v = eig_p(input)
    return _of_input(solve_p(v, matmul(diag(dy), v, adjoint_b=True), adjoint=True), input.dtype)


@custom(
    op="Eig",
    infer=lambda input: _infer_eig(input)[0],
    dtypes="float32 float64 complex64 complex128",
    vjp=dict(input=_eigvals_grad),
    samples=square_samples,
    error_samples=_eig_errors,
    reason=LAPACK,
)
def eigvals_p(input: Array) -> Any:
    """Eigenvalues, in LAPACK's order. t[*b, n, n] -> c[*b, n]."""
    return _eig(input, np.linalg.eigvals).astype(np.result_type(input.dtype, np.complex64), copy=False)


@public("linalg.eig", "eig")
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of length 1, in columns, in no particular order. t[*b, n, n] -> c[*b, n], c.

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eig.
    """
    return tuple(named(name, eig_p, tensor))


@public("linalg.eigvals", "eigvals")
def eigvals(tensor: TensorLike, name: str | None = None) -> Any:
    """Eigenvalues, in no particular order. t[*b, n, n] -> c[*b, n].

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eigvals.
    """
    return named(name, eigvals_p, tensor)
