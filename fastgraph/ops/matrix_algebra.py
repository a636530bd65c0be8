"""Parts that ops on whole matrices share: checks of shapes, half floats and NaN, products with adjoints, triangles.

Rule: matrices stand in the last two axes; all axes before them are batches, of any number, and may be empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.elementwise import cast, ones_like, zeros_like
from fastgraph.ops.families import Array, Dims, shape_text
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_diagonals import diag_part, matrix_band_part, set_diag
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import expand_dims

#: Why ops on whole matrices are host steps.
LAPACK = "a factorization: its order of work depends on data, and LAPACK's is as fast as any kernel of ours would be"
FLOATS = "float64 float32 float16 complex64 complex128"

# ---- shapes ---------------------------------------------------------------------------------------------------------


def matrix_shape(shape: Dims, position: int | None = 0) -> Dims:
    """`shape`, if it has rows and columns. ValueError otherwise."""
    if shape is not None and len(shape) < 2:
        which = "" if position is None else f" {position}"
        raise ValueError(f"Input tensor{which} must have rank >= 2, got {len(shape)}")
    return shape


def unequal(rows: int | None, columns: int | None) -> str:
    """TensorFlow's words while a graph is made for extents that are to be equal; "" elsewhere: each op has its own."""
    return "" if current_trace() is None else f"Dimensions must be equal, but are {rows} and {columns}"


def square_shape(shape: Dims, position: int | None = 0) -> Dims:
    """`shape`, if its matrices are square; an extent that is known once is known twice. ValueError otherwise."""
    if matrix_shape(shape, position) is None:
        return None
    assert shape is not None
    rows, columns = shape[-2:]
    n = columns if rows is None else rows
    if columns not in (None, n):
        raise ValueError(unequal(rows, columns) or "Input matrix must be square.")
    return (*shape[:-2], n, n)


def same_batches(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The batch axes of two tensors that must have the same ones. ValueError if they differ."""
    if len(a) != len(b):
        raise ValueError("All input tensors must have the same rank.")
    if any(m is not None and n is not None and m != n for m, n in zip(a, b, strict=True)):
        raise ValueError("All input tensors must have the same outer dimensions.")
    return tuple(n if m is None else m for m, n in zip(a, b, strict=True))


def solved_shape(matrix: Dims, rhs: Dims) -> Dims:
    """The shape of what solves square systems whose batches are the same. ValueError for shapes that do not fit."""
    matrix_shape(matrix)
    if matrix is None or rhs is None:
        return None
    batch = same_batches(matrix[:-2], rhs[:-2]) if len(matrix) == len(rhs) else same_batches(matrix, rhs)
    (m, n), k = matrix[-2:], rhs[-2]
    if m is not None and n is not None and m != n:
        raise ValueError(unequal(m, n) or "First input (lhs) must be a square matrix.")
    n = m if n is None else n
    if n is not None and k is not None and n != k:
        raise ValueError(unequal(n, k) or "Input matrix and rhs are incompatible.")
    return (*batch, k if n is None else n, rhs[-1])


def triangular_shape(matrix: Dims, rhs: Dims, lower: bool, adjoint: bool, banded: bool = False) -> Dims:
    """The shape of what solves triangular systems, whose batches broadcast. ValueError for shapes that do not fit."""
    for i, shape in enumerate((matrix, rhs)):
        if shape is not None and len(shape) < 2:
            raise ValueError(f"In[{i}] ndims must be >= 2: {len(shape)}")
    if matrix is None or rhs is None:
        return None
    (m, n), k = matrix[-2:], rhs[-2]
    if not banded and m is not None and n is not None and m != n:
        raise ValueError(unequal(m, n) or f"In[0] matrices in the last dimensions must be square ({n} =/= {m})")
    n = m if n is None and not banded else n
    if n is not None and k is not None and n != k:
        shapes = f"{shape_text(matrix)} {shape_text(rhs)} {int(lower)} {int(adjoint)}"
        raise ValueError(unequal(n, k) or f"In[0] mismatch In[1] shape: {n} vs. {k}: {shapes}")
    a, b = matrix[:-2], rhs[:-2]
    a, b = (1,) * (len(b) - len(a)) + a, (1,) * (len(a) - len(b)) + b
    batch: list[int | None] = []
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None and x != y and 1 not in (x, y):
            raise ValueError(
                f"In[0] and In[1] must have compatible batch dimensions: {shape_text(matrix)} vs. {shape_text(rhs)}"
            )
        batch.append(y if x == 1 else x if y == 1 or y is None else y)
    return (*batch, k if n is None else n, rhs[-1])


# ---- bodies ---------------------------------------------------------------------------------------------------------


def is_number(x: Array) -> Array:
    """True for matrices whose elements are all finite. t[*b, m, n] -> bool[*b]."""
    return np.asarray(np.isfinite(x).all((-2, -1)))


def stacked(x: Array) -> Array:
    """The matrices of all batches in one row. t[*b, m, n] -> t[p, m, n]."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def spread_to(x: Array, batch: tuple[int, ...]) -> Array:
    """The matrices of x broadcast to other batches, in one row. t[*b, m, n] -> t[p, m, n]."""
    return stacked(x if x.shape[:-2] == batch else np.broadcast_to(x, (*batch, *x.shape[-2:])))


# ---- what gradients are made of -------------------------------------------------------------------------------------


def times(*factors: Tensor) -> Any:
    """The product of matrices, from the left."""
    product = factors[0]
    for factor in factors[1:]:
        product = matmul(product, factor)
    return product


def adjoint(x: Tensor) -> Any:
    """Matrices transposed and, if complex, conjugated."""
    return matrix_transpose(x, conjugate=x.dtype.is_complex)


def lower_triangle(x: Tensor) -> Any:
    """Matrices with zeros above the diagonal."""
    return matrix_band_part(x, lower=-1, upper=0)


def upper_triangle(x: Tensor) -> Any:
    """Matrices with zeros below the diagonal."""
    return matrix_band_part(x, lower=0, upper=-1)


def strictly_lower(x: Tensor) -> Any:
    """Matrices with zeros on the diagonal and above it."""
    return with_diagonal(lower_triangle(x), zeros_like)


def with_diagonal(x: Tensor, change: Callable[[Any], Any]) -> Any:
    """Matrices with their diagonal changed."""
    return set_diag(x, change(diag_part(x)))


def over_rows(x: Tensor, dtype: DType) -> Any:
    """Vectors as what scales the columns of matrices. f[*b, n] -> dtype[*b, 1, n]."""
    return expand_dims(cast(x, dtype), -2)


def over_columns(x: Tensor, dtype: DType) -> Any:
    """Vectors as what scales the rows of matrices. f[*b, n] -> dtype[*b, n, 1]."""
    return expand_dims(cast(x, dtype), -1)


def safe_reciprocal(x: Tensor) -> Any:
    """1 / x, but 0 where x is 0: equal values have no gap to divide by, and add nothing to a gradient."""
    return x / (x * x + 1e-20)


def reciprocal_gaps(e: Tensor) -> Any:
    """1 / (e[j] - e[i]) at (i, j), 0 for equal values and on the diagonal. t[*b, n] -> t[*b, n, n]."""
    gaps = set_diag(expand_dims(e, -2) - expand_dims(e, -1), ones_like(e))
    return set_diag(safe_reciprocal(gaps), zeros_like(e))


# ---- samples --------------------------------------------------------------------------------------------------------


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Matrices for tests, well conditioned: small numbers, and larger ones that differ on the diagonal."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.uniform(-1, 1, shape)
    i = np.arange(min(shape[-2:]))
    x[..., i, i] += 2.5 + i
    return np.asarray(x).astype(dtype)


def hermitian(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Matrices for tests, equal to their adjoints and positive definite."""
    x = drawn(shape, dtype, seed)
    return np.asarray((x + np.conj(np.swapaxes(x, -1, -2))) / 2).astype(dtype)


def square_samples(
    draw: Callable[..., Array] = drawn, dtypes: tuple[str, ...] = ("float64", "float32", "complex64"), **attrs: Any
) -> list[Any]:
    """One square matrix, batches of them, none, and those without rows."""
    shapes = ((3, 3), (2, 2, 2), (1, 1), (0, 3, 3), (2, 0, 0))
    return [((draw(s, t, len(s)),), attrs) for t in dtypes for s in shapes]


def square_errors(error: type[Exception], **attrs: Any) -> list[Any]:
    """Rows of errors for what is no square matrix."""
    return [
        ((np.ones([3]),), attrs, error, "Input tensor 0 must have rank >= 2, got 1"),
        ((np.ones([2, 3]),), attrs, error, "Input matrix must be square."),
    ]


# ---- infinities and NaN ---------------------------------------------------------------------------------------------


def all_finite(matrices: Array) -> Array:
    """True for matrices with neither infinities nor NaN. t[*b, n, n] -> bool[*b]."""
    return np.asarray(np.isfinite(matrices).all((-2, -1)))


def eliminated(matrices: Array) -> tuple[Array, Array, Array]:
    """Packed factors, the order of rows, and how often they were exchanged. t[p, n, n] -> t[p, n, n], i[p, n], i[p].

    Row by row of all matrices at once, every product taken: BLAS leaves out those with 0, of which some are NaN. As in
    LAPACK's comparisons, NaN is the largest only where it comes first. A pivot of 0 divides.
    """
    packed = np.array(matrices)
    p, n = packed.shape[:2]
    perm, exchanges = np.tile(np.arange(n), (p, 1)), np.zeros(p, np.int64)
    with np.errstate(all="ignore"):
        for i in range(n):
            sizes = np.abs(packed[:, i:, i])
            sizes[:, 1:][np.isnan(sizes[:, 1:])] = -1
            pivots = i + sizes.argmax(1)
            exchanges += pivots != i
            exchange_rows(perm, i, pivots)
            exchange_rows(packed, i, pivots)
            packed[:, i + 1 :, i] /= _divisor(packed[:, i, i, None])
            packed[:, i + 1 :, i + 1 :] -= packed[:, i + 1 :, i, None] * packed[:, i, None, i + 1 :]
    return packed, perm, exchanges


def _divisor(pivots: Array) -> Array:
    """`pivots`, by which a number divided is 0 if they are infinite: NumPy makes NaN of a quotient by inf+infj."""
    endless = np.isinf(pivots.real) & np.isinf(pivots.imag)
    return np.where(endless, pivots.real, pivots) if endless.any() else pivots


def exchange_rows(rows: Array, i: int, pivots: Array) -> None:
    """Exchange row i and the row pivots[k] of each rows[k]."""
    every = np.arange(len(rows))
    old = rows[:, i].copy()
    rows[:, i] = rows[every, pivots]
    rows[every, pivots] = old


def invertible(packed: Array) -> bool:
    """Return whether no pivot of packed factors is 0, and none of the first is NaN. t[p, n, n]."""
    pivots = np.diagonal(packed, axis1=-2, axis2=-1)
    return not ((pivots == 0).any() or np.isnan(pivots[..., :1]).any())


def substitute_back(packed: Array, rhs: Array) -> Array:
    """The solution of L U x = rhs, every product taken. t[p, n, n], t[p, n, k] -> t[p, n, k]."""
    x, n = np.array(rhs), packed.shape[-1]
    with np.errstate(all="ignore"):
        for i in range(n):
            x[:, i] -= (packed[:, i, :i, None] * x[:, :i]).sum(1)
        for i in range(n - 1, -1, -1):
            x[:, i] = (x[:, i] - (packed[:, i, i + 1 :, None] * x[:, i + 1 :]).sum(1)) / _divisor(packed[:, i, i, None])
    return x
