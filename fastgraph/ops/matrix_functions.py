"""Functions of matrices: expm, logm, sqrtm.

Rule: the derivative of f at A in a direction E is the upper right block of f([[A, E], [0, A]]), whatever f is (Mathias
1996); so each op is its own gradient, at every order. Batches are computed together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.matmul import scipy_functions
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import single_precision_lapack as lapack
from fastgraph.ops.arguments import as_tensor, named, of_dtypes
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.elementwise import abs, cast, maximum, ones_like_p, select, stop_gradient, widened, zeros_like
from fastgraph.ops.families import Array, custom, public, validated
from fastgraph.ops.gathering import dim
from fastgraph.ops.joining import concat
from fastgraph.ops.linear_solvers import substituted
from fastgraph.ops.matrix_algebra import (
    FLOATS,
    LAPACK,
    adjoint,
    drawn,
    is_number,
    square_errors,
    square_samples,
    square_shape,
    stacked,
)
from fastgraph.ops.reduction import reduce_max


def _greatest(x: Tensor) -> Any:
    """The greatest absolute value of each matrix, 0 of an empty one. t[*b, n, n] -> r[*b, 1, 1]."""
    return maximum(reduce_max(abs(x), (-2, -1), True), 0)


def _grad(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function of matrices: its derivative at the adjoint matrix in the direction dy."""

    def grad(dy: Tensor, input: Tensor) -> Any:
        a = adjoint(input)
        n = dim(input, -1)
        # The derivative is linear in dy, but a dy much larger than a would decide the norm by which the matrix is
        # scaled, and nothing would be left of a.
        size = stop_gradient(cast(_greatest(dy) / maximum(_greatest(a), 1), a.dtype))
        size = select(not_equal(size, 0), size, ones_like_p(size))
        whole = concat([concat([a, dy / size], -1), concat([zeros_like(a), a], -1)], -2)
        return function()(whole)[..., :n, n:] * size

    return grad


def _finite(function: Callable[[Array], Array], x: Array) -> Array:
    """function of the finite matrices of a row, NaN for the others. t[p, n, n] -> t[p, n, n]."""
    good = is_number(x)
    if good.all():
        return function(x) if x.size else x.copy()
    found = np.full_like(x, np.nan)
    if good.any():
        found[good] = function(x[good])
    return found


# ---- exponential ----------------------------------------------------------------------------------------------------

#: Degree of the Pade approximant, and the norm up to which it is good, by precision: Higham 2005, table 2.3.
PADE = {"f": (7, 3.925724783138660), "d": (13, 5.371920351148152)}


def _exponentials(x: Array) -> Array:
    """Exponentials by scaling and squaring."""
    degree, limit = PADE[x.real.dtype.char]
    norm = np.abs(x).sum(-2).max(-1)
    with np.errstate(divide="ignore"):
        halvings = np.clip(np.ceil(np.log2(norm / limit)), 0, 2000).astype(np.int64)
    x = x * np.ldexp(np.ones((), x.real.dtype), -halvings)[:, None, None]
    whole = math.factorial(2 * degree)
    weight = [math.comb(degree, j) * math.factorial(2 * degree - j) / whole for j in range(degree + 1)]
    squared = x @ x
    power = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    even, odd = np.zeros_like(x), np.zeros_like(x)
    for j in range(0, degree, 2):
        even += weight[j] * power
        odd += weight[j + 1] * power
        power = power @ squared
    odd = x @ odd
    found = lapack.solve(even - odd, even + odd)
    for step in range(int(halvings.max(initial=0))):
        some = halvings > step
        found[some] = found[some] @ found[some]
    return found


@custom(
    op="MatrixExponential",
    infer=lambda input: Aval(input.dtype, square_shape(input.shape)),
    dtypes=FLOATS,
    vjp=dict(input=_grad(lambda: expm_p)),
    samples=square_samples,
    error_samples=lambda: square_errors(InvalidArgumentError),
    reason=LAPACK,
)
def expm_p(input: Array) -> Any:
    """Exponentials of matrices. t[*b, n, n] -> t[*b, n, n]."""
    validated(square_shape, input.shape)
    found = _finite(_exponentials, stacked(widened(input)))
    return found.reshape(input.shape).astype(input.dtype, copy=False)


@public("linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Any:
    """Exponentials of matrices: sum of A^k / k!. t[*b, n, n] -> t[*b, n, n].

    Raises: ValueError for signed integers; InvalidArgumentError for other dtypes and what is not square.
    Source: tf.linalg.expm.
    """
    x = as_tensor(input)
    if x.dtype.name not in FLOATS.split():
        of_dtypes(x, f"{FLOATS} int8 int16 int32 int64")
        raise ValueError(f"tf.linalg.expm does not support matrices of type {x.dtype!r}")
    return named(name, expm_p, x)


# ---- square root and logarithm: of Schur's triangle -----------------------------------------------------------------


def _schur(x: Array) -> tuple[Array, Array]:
    """Upper triangular T and unitary Z with Z T Z^H = x. t[p, n, n] -> c[p, n, n], c[p, n, n]."""
    x = x.astype(np.result_type(x.dtype, np.complex64))
    factor = scipy_functions("gees", (x,))
    size = int(factor(_unsorted, x[0], lwork=-1)[-2][0].real)
    t, z = np.empty_like(x), np.empty_like(x)
    for i, matrix in enumerate(x):
        t[i], _, _, z[i], _, info = factor(_unsorted, matrix, lwork=size)
        if info:
            t[i] = z[i] = np.nan
    return t, z


def _unsorted(_: complex) -> None:
    """LAPACK's order of eigenvalues will do."""


#: Up to this size columns are computed one after the other, each for the whole batch.
_LEAF = 24


def _triangular_root(t: Array) -> Array:
    """The square root of upper triangular matrices, by halves: Bjorck and Hammarling 1983; Deadman et al. 2012."""
    root = np.zeros_like(t)
    n = t.shape[-1]
    if n > _LEAF:
        h = n // 2
        first, last = _triangular_root(t[:, :h, :h]), _triangular_root(t[:, h:, h:])
        root[:, :h, :h], root[:, h:, h:] = first, last
        solve = scipy_functions("trsyl", (t,))
        for k in range(len(t)):
            corner, scale, _ = solve(first[k], last[k], t[k, :h, h:])
            root[k, :h, h:] = corner / scale
        return root
    i = np.arange(n)
    root[:, i, i] = np.sqrt(t[:, i, i])
    for j in range(1, n):
        before = root[:, :j, :j].copy()
        before[:, i[:j], i[:j]] += root[:, j, j, None]
        root[:, :j, j] = substituted(before, t[:, :j, j, None], False, False)[..., 0]
    return root


def _back(t: Array, z: Array, like: Array) -> Array:
    """Z T Z^H in the dtype of `like`; NaN where that is real and the result is not."""
    found = z @ t @ np.conj(np.swapaxes(z, -1, -2))
    if like.dtype.kind == "c":
        return found
    size = np.abs(found).max((-2, -1), initial=0)
    limit = 1e3 * like.shape[-1] * np.finfo(like.dtype).eps * size
    complex_ = ~(np.abs(found.imag).max((-2, -1), initial=0) <= limit)
    return np.where(complex_[:, None, None], np.asarray(np.nan, like.dtype), found.real)


def _roots(x: Array) -> Array:
    if np.array_equal(x, np.conj(np.swapaxes(x, -1, -2))):  # Schur's triangle is diagonal
        values, vectors = lapack.eigh(x)
        if (values >= 0).all():
            return (vectors * np.sqrt(values)[:, None]) @ np.conj(np.swapaxes(vectors, -1, -2))
    t, z = _schur(x)
    return _back(_triangular_root(t), z, x)


@custom(
    "linalg.sqrtm",
    "matrix_square_root",
    op="MatrixSquareRoot",
    infer=lambda input: Aval(input.dtype, square_shape(input.shape)),
    dtypes=FLOATS,
    vjp=dict(input=_grad(lambda: sqrtm)),
    samples=square_samples,
    error_samples=lambda: square_errors(InvalidArgumentError),
    reason=LAPACK,
)
def sqrtm(input: Array) -> Any:
    """R with R R = input, of whose eigenvalues none has a negative real part; NaN where there is none of this dtype.

    t[*b, n, n] -> t[*b, n, n]. Raises: InvalidArgumentError for what is not square. Source: tf.linalg.sqrtm.
    """
    validated(square_shape, input.shape)
    found = _finite(_roots, stacked(widened(input)))
    return found.reshape(input.shape).astype(input.dtype, copy=False)


_NODES = 8  # of Gauss and Legendre: good to the last bit for the distance to 1 below
_NEAR = {"F": 0.5, "D": 0.28}


def _logarithms(x: Array) -> Array:
    """Logarithms by roots until a matrix is near 1, and a Pade approximant in partial fractions there: Higham 2001."""
    t, z = _schur(x)
    i = np.arange(t.shape[-1])
    exact = np.log(t[:, i, i])
    unit = np.eye(t.shape[-1], dtype=t.dtype)
    roots = np.zeros(len(t), np.int64)
    far = (t[:, i, i] != 0).all(-1)
    while True:
        far &= (np.abs(t - unit).sum(-2).max(-1) > _NEAR[t.dtype.char]) & (roots < 100)
        if not far.any():
            break
        t[far] = _triangular_root(t[far])
        roots[far] += 1
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    near = t - unit
    total = np.zeros_like(t)
    for node, weight in zip(nodes, weights, strict=True):
        total += (weight / 2) * substituted(unit + ((node + 1) / 2).astype(t.real.dtype) * near, near, False, False)
    total *= np.ldexp(np.ones((), t.real.dtype), roots)[:, None, None]
    total[:, i, i] = exact
    return _back(total, z, x)


@custom(
    "linalg.logm",
    op="MatrixLogarithm",
    infer=lambda input: Aval(input.dtype, square_shape(input.shape)),
    dtypes="complex64 complex128",
    vjp=dict(input=_grad(lambda: logm)),
    samples=lambda: square_samples(drawn, ("complex64", "complex128")),
    error_samples=lambda: [
        (tuple(a.astype(complex) for a in arrays), attrs, error, text)
        for arrays, attrs, error, text in square_errors(InvalidArgumentError)
    ],
    reason=LAPACK,
)
def logm(input: Array) -> Any:
    """The matrix whose exponential is the input, with eigenvalues of imaginary parts in ]-pi, pi]; NaN if singular.

    c[*b, n, n] -> c[*b, n, n]. Raises: InvalidArgumentError for what is not square or not complex.
    Source: tf.linalg.logm.
    """
    validated(square_shape, input.shape)
    found = _finite(_logarithms, stacked(input))
    return np.where(is_number(found)[:, None, None], found, found.dtype.type(complex(np.nan, np.nan))).reshape(
        input.shape
    )
