"""LAPACK for large matrices of float32 and complex64 in their own precision: NumPy's linalg computes them in double.

Rule: functions are NumPy's of the same names, over stacks t[*b, m, n]; small matrices and those of double precision are
left to NumPy, whose loops over stacks are in C and need no SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from fastgraph.core.native.matmul import scipy_functions
from fastgraph.ops.families import Array

#: From as many rows and columns on, LAPACK's time is far above that of a call from Python.
_LARGE = 48


def cholesky(x: Array) -> Array:
    """L with L L^H = x, by the lower triangle of x. Raises: LinAlgError if an x is not positive definite."""
    if not _is_single(x):
        return np.linalg.cholesky(x)
    factor = scipy_functions("potrf", (x,))
    # Rows of C are columns of Fortran: the lower triangle is the upper one there, and the factor's turned is L.
    return _each(lambda a: [_checked(*factor(a.T, lower=0, clean=1))[0].T], x)[0]


def solve(a: Array, b: Array) -> Array:
    """x with a x = b. Raises: LinAlgError if an a has no inverse."""
    if not _is_single(a):
        return np.linalg.solve(a, b)
    solver = scipy_functions("gesv", (a, b))
    return _each(lambda one, other: _checked(*solver(one, other))[2:], a, b)[0]


def inv(x: Array) -> Array:
    """The inverse of x. Raises: LinAlgError if an x has none."""
    if not _is_single(x):
        return np.linalg.inv(x)
    factor, invert, room = scipy_functions(("getrf", "getri", "getri_lwork"), (x,))
    size = _room(*room(x.shape[-1]))

    def one(a: Array) -> Any:
        packed, pivots = _checked(*factor(a.T))  # the inverse of a turned matrix, turned back
        return [_checked(*invert(packed, pivots, lwork=size, overwrite_lu=1))[0].T]

    return _each(one, x)[0]


def qr(x: Array, mode: Literal["reduced", "complete"]) -> Any:
    """Q with orthonormal columns and R upper triangular, Q R = x; of all columns if `mode` is "complete"."""
    if not _is_single(x):
        return np.linalg.qr(x, mode)
    names = ("geqrf", "geqrf_lwork", "ungqr" if x.dtype.kind == "c" else "orgqr")
    factor, room, columns = scipy_functions(names, (x,))
    m, n = x.shape[-2:]
    k, size = m if mode == "complete" else min(m, n), _room(*room(m, n))

    def one(a: Array) -> Any:
        packed, scales = _checked(*factor(a, lwork=size))[:2]
        wide = np.zeros((m, k), x.dtype, order="F")
        wide[:, : min(n, k)] = packed[:, :k]
        return _checked(*columns(wide, scales, lwork=size, overwrite_a=1))[0], np.triu(packed[:k])

    return tuple(_each(one, x))


def svd(x: Array, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Left vectors, singular values falling, right vectors; or the values. Raises: LinAlgError if none are found."""
    how: dict[str, Any] = dict(full_matrices=full_matrices, compute_uv=compute_uv)
    if not _is_single(x):
        return np.linalg.svd(x, **how)
    decompose, room = scipy_functions(("gesdd", "gesdd_lwork"), (x,))
    size = _room(*room(*x.shape[-2:], **how))
    found = _each(lambda a: _checked(*decompose(a, lwork=size, **how)), x)
    return tuple(found) if compute_uv else found[1]


def eigh(x: Array) -> Any:
    """Eigenvalues, rising, and eigenvectors by the lower triangle of x. Raises: LinAlgError if none are found."""
    return tuple(_eigen(x, True)) if _is_single(x) else np.linalg.eigh(x)


def eigvalsh(x: Array) -> Array:
    """Eigenvalues, rising, by the lower triangle of x. Raises: LinAlgError if none are found."""
    return _eigen(x, False)[0] if _is_single(x) else np.linalg.eigvalsh(x)


def _eigen(x: Array, vectors: bool) -> list[Array]:
    solver, room = scipy_functions(("heevd", "heevd_lwork") if x.dtype.kind == "c" else ("syevd", "syevd_lwork"), (x,))
    sizes = map(_room, _checked(*room(x.shape[-1], compute_v=vectors, lower=1)))
    names = ("lwork", "liwork", "lrwork")
    how = dict(zip(names, sizes, strict=False))
    return _each(lambda a: _checked(*solver(a, compute_v=vectors, lower=1, **how)), x)


def _is_single(x: Array) -> bool:
    return x.dtype.char in "fF" and min(x.shape[-2:]) >= _LARGE and x.size > 0


def _each(function: Callable[..., Any], *stacks: Array) -> list[Array]:
    """The parts that a function of single matrices gives, each for the whole stacks."""
    lead = stacks[0].shape[:-2]
    if not lead:
        return [np.ascontiguousarray(part) for part in function(*stacks)]
    n = math.prod(lead)  # not -1: right sides without columns have no elements to count by
    matrices = zip(*(x.reshape((n, *x.shape[-2:])) for x in stacks), strict=True)
    parts = zip(*(function(*each) for each in matrices), strict=True)
    return [np.ascontiguousarray(np.stack(part)).reshape(lead + part[0].shape) for part in parts]


def _checked(*found: Any) -> tuple[Any, ...]:
    """Drop the code of a function of LAPACK from what it gave. Raises: LinAlgError if that is one of an error."""
    if found[-1]:
        raise np.linalg.LinAlgError
    return found[:-1]


def _room(work: Any, *code: int) -> int:
    """The size of working memory, which LAPACK tells as a number of the dtype, perhaps rounded down."""
    return int(np.nextafter(np.float32(np.real(work)), np.float32(np.inf)))
