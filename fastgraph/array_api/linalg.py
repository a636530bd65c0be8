"""The extension `linalg`: products, factors, norms, by the standard's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastgraph.array_api.dtypes import array, axes_of, finfo, floating, named_rows, record, together
from fastgraph.array_api.statistics import widened
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api import products, shapes
from fastgraph.numpy_api.promotion import ops

EighResult = record("EighResult", "eigenvalues eigenvectors")
EigResult = record("EigResult", "eigenvalues eigenvectors")
QRResult = record("QRResult", "Q R")
SlogdetResult = record("SlogdetResult", "sign logabsdet")
SVDResult = record("SVDResult", "U S Vh")


def matrix_transpose(x: TensorLike, /) -> Any:
    """Return matrices with rows and columns changed. t[*s, m, n] -> t[*s, n, m]. Raises: ValueError below rank 2."""
    value = array(x)
    if (value.shape.rank or 2 * (value.shape.rank is None)) < 2:
        raise ValueError(f"matrix_transpose takes arrays of rank 2 and more, not {value.shape.rank}")
    return ops.matrix_transpose(value)


def _of_wide(function: Callable[..., Any], x1: TensorLike, x2: TensorLike) -> Any:
    """A product of two arrays of one dtype, that of the smallest integers in a wider one."""
    a, b = together(x1, x2)
    if a.dtype.name in ("bool", "int8"):
        return ops.cast(function(ops.cast(a, "int32"), ops.cast(b, "int32")), a.dtype)
    return function(a, b)


def matmul(x1: TensorLike, x2: TensorLike, /) -> Any:
    """Return products of matrices; vectors are rows before, columns behind. Raises: ValueError for numbers."""
    if 0 in (array(x1).shape.rank, array(x2).shape.rank):
        raise ValueError("matmul takes arrays of rank 1 and more")
    return _of_wide(lambda a, b: products.matmul(a, b), x1, x2)


def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: Any = 2) -> Any:
    """Return sums of products over axes of both."""
    if not isinstance(axes, int):
        axes = [axes_of(part, array(x).shape.rank, "tensordot") for part, x in zip(axes, (x1, x2), strict=True)]
    return _of_wide(lambda a, b: ops.tensordot(a, b, axes), x1, x2)


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Any:
    """Return sums of products of vectors along an axis, those of x1 conjugated.

    Raises: ValueError for other extents.
    """
    a, b = together(x1, x2)
    if a.shape[axis] != b.shape[axis] and None not in (a.shape[axis], b.shape[axis]):
        raise ValueError(f"vecdot: axis {axis} of {a.shape} and {b.shape} has two extents")
    return ops.reduce_sum(ops.conj(a) * b if a.dtype.is_complex else a * b, axis=axis)


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Any:
    """Return cross products of vectors of three elements, broadcasting. Raises: ValueError for other extents."""
    a, b = together(x1, x2)
    if (a.shape[axis], b.shape[axis]) != (3, 3):
        raise ValueError(f"cross: axis {axis} of {a.shape} and {b.shape} has not 3 elements")
    (a0, a1, a2), (b0, b1, b2) = (ops.unstack(x, axis=axis) for x in (a, b))
    return ops.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis)


def solve(x1: TensorLike, x2: TensorLike, /) -> Any:
    """Return x with x1 @ x = x2, of a vector or of matrices. f[*s, n, n], f[n] or f[*s, n, k] -> same."""
    a, b = together(floating(x1), floating(x2))
    vector = b.shape.rank == 1
    b = ops.expand_dims(b, -1) if vector else b
    stacks = ops.broadcast_dynamic_shape(ops.shape(a)[:-2], ops.shape(b)[:-2])
    a, b = (ops.broadcast_to(x, ops.concat([stacks, ops.shape(x)[-2:]], 0)) for x in (a, b))
    made = ops.solve(a, b)
    return ops.squeeze(made, [-1]) if vector else made


def qr(x: TensorLike, /, *, mode: str = "reduced") -> Any:
    """Return orthonormal columns and an upper triangle. Raises: ValueError for modes but "reduced", "complete"."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr: mode is "reduced" or "complete", not {mode!r}')
    return QRResult(*ops.qr(floating(x), full_matrices=mode == "complete"))


def svd(x: TensorLike, /, *, full_matrices: bool = True) -> Any:
    """Return singular vectors, values and vectors, x = U @ diag(S) @ Vh. f[*s, m, n] -> f, real[*s, k], f."""
    values, left, right = ops.svd(floating(x), full_matrices=full_matrices)
    return SVDResult(left, values, ops.adjoint(right))


def _least(x: Tensor, rtol: Any) -> Any:
    """The share of the greatest singular value below which others count as 0."""
    real = x.dtype.real_dtype
    return ops.cast(ops.reduce_max(ops.shape(x)[-2:]), real) * finfo(real).eps if rtol is None else ops.cast(rtol, real)


def matrix_rank(x: TensorLike, /, *, rtol: Any = None) -> Any:
    """Return how many singular values are above rtol times the greatest. f[*s, m, n] -> i64[*s]."""
    values = ops.svd(floating(x), compute_uv=False)
    limit = _least(floating(x), rtol) * ops.reduce_max(values, -1)
    return ops.count_nonzero(values > ops.expand_dims(limit, -1), -1)


def matrix_power(x: TensorLike, n: int, /) -> Any:
    """Return a product of n square matrices, of the inverse ones below 0. f[*s, n, n] -> f[*s, n, n]."""
    value = ops.inv(floating(x)) if n < 0 else floating(x)
    dims, n = ops.shape(value), abs(n)
    made = ops.eye(dims[-1], batch_shape=dims[:-2], dtype=value.dtype)
    while n:
        made = ops.matmul(made, value) if n & 1 else made
        n, value = n >> 1, ops.matmul(value, value) if n > 1 else value
    return made


def vector_norm(x: TensorLike, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """Return norms of vectors along axes, or of all elements. f[*s] -> real[*r]."""
    size = ops.abs(floating(x))
    if abs(ord) == math.inf:
        return (ops.reduce_max if ord > 0 else ops.reduce_min)(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        return ops.sqrt(ops.reduce_sum(size * size, axis=axis, keepdims=keepdims))
    power = ops.cast(size != 0, size.dtype) if ord == 0 else size if ord == 1 else size**ord
    total = ops.reduce_sum(power, axis=axis, keepdims=keepdims)
    return total if ord in (0, 1) else total ** (1 / ord)


def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf. f[*s, m, n] -> real[*s].

    Raises: ValueError for other orders.
    """
    value = floating(x)
    if ord == "fro":
        return vector_norm(value, axis=(-2, -1), keepdims=keepdims)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise ValueError(f"matrix_norm: there is no order {ord!r}")
    if ord in ("nuc", 2, -2):
        parts = ops.svd(value, compute_uv=False)
    else:
        parts = ops.reduce_sum(ops.abs(value), axis=-2 if abs(ord) == 1 else -1)
    op = ops.reduce_sum if ord == "nuc" else ops.reduce_max if ord > 0 else ops.reduce_min
    made = op(parts, axis=-1)
    return made[..., None, None] if keepdims else made


def _pinv(x: Tensor, rtol: TensorLike) -> Any:
    if not x.dtype.is_complex:
        return ops.pinv(x, _least(x, rtol))
    values, left, right = ops.svd(x)
    large = values > ops.expand_dims(_least(x, rtol), -1) * ops.reduce_max(values, -1, keepdims=True)
    inverse = ops.cast(ops.where(large, 1 / ops.where(large, values, 1.0), 0.0), x.dtype)
    return ops.matmul(right * ops.expand_dims(inverse, -2), ops.adjoint(left))


def _eigh(x: Tensor) -> Any:
    values, vectors = ops.eigh(x)
    return EighResult(ops.real(values), vectors)


def _slogdet(x: Tensor) -> Any:
    sign, logarithm = ops.slogdet(x)
    return SlogdetResult(sign, ops.real(logarithm))


_made: dict[str, Callable[..., Any]] = {
    **{each.__name__: each for each in
       (cross, matmul, matrix_norm, matrix_power, matrix_rank, matrix_transpose, qr, solve, svd, tensordot, vecdot,
        vector_norm)},
    **named_rows({
        "cholesky": (lambda x, /, *, upper=False: (ops.adjoint if upper else ops.identity)(ops.cholesky(floating(x))),
                     "triangles whose products with their adjoints are x"),
        "det": (lambda x, /: ops.det(floating(x)), "determinants"),
        "diagonal": (lambda x, /, *, offset=0: shapes.diagonal(array(x), offset, -2, -1), "a diagonal of matrices"),
        "eig": (lambda x, /: EigResult(*ops.eig(floating(x))), "eigenvalues and eigenvectors"),
        "eigh": (lambda x, /: _eigh(floating(x)), "eigenvalues and eigenvectors of Hermitian matrices"),
        "eigvals": (lambda x, /: ops.eigvals(floating(x)), "eigenvalues"),
        "eigvalsh": (lambda x, /: ops.real(ops.eigvalsh(floating(x))), "eigenvalues of Hermitian matrices"),
        "inv": (lambda x, /: ops.inv(floating(x)), "inverse matrices"),
        "outer": (lambda x1, x2, /: tensordot(x1, x2, axes=0), "all products of two vectors' elements"),
        "pinv": (lambda x, /, *, rtol=None: _pinv(floating(x), rtol), "pseudo-inverses"),
        "slogdet": (lambda x, /: _slogdet(floating(x)), "signs of determinants, and logarithms of their moduli"),
        "svdvals": (lambda x, /: ops.svd(floating(x), compute_uv=False), "singular values, from the greatest"),
        "trace": (lambda x, /, *, offset=0, dtype=None: ops.reduce_sum(
            widened(shapes.diagonal(array(x), offset, -2, -1), dtype), -1), "the sum of a diagonal of matrices"),
    }),
}  # fmt: skip
globals().update(_made)
__all__ = [*_made]
