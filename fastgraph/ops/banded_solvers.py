"""Banded triangular systems, and what banded matrices share.

Rule: the systems of a batch are one long system whose blocks do not touch, and LAPACK is called once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.matmul import scipy_functions
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import named
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import select, zeros_like
from fastgraph.ops.families import Array, Dims, custom, invalid, misuse, public, shape_text, validated
from fastgraph.ops.gathering import dim, gather_p
from fastgraph.ops.linear_solvers import summed_like
from fastgraph.ops.matrix_algebra import spread_to, triangular_shape
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum

#: Why ops on banded matrices are host steps.
RECURRENCE = "a recurrence, each row after those before it: LAPACK's is as fast as any kernel of ours would be"

# ---- shifts ---------------------------------------------------------------------------------------------------------


def shifted(x: Tensor, by: int, axis: int = -1) -> Any:
    """x[i + by] at i along an axis counted from the end, 0 from outside. t[*s] -> t[*s]."""
    rank = x.shape.rank
    if rank is None:
        raise NotImplementedError("tridiagonal matrices need tensors of known rank")
    paddings = [[0, 0] for _ in range(rank)]
    paddings[axis] = [max(-by, 0), max(by, 0)]
    key: list[Any] = [slice(None)] * rank
    key[axis] = slice(by, None) if by > 0 else slice(None, by)
    return pad(x, paddings)[tuple(key)] if by else x


# ---- banded_triangular_solve ----------------------------------------------------------------------------------------


def _banded_shape(bands: Dims, rhs: Dims, lower: bool, adjoint: bool) -> Dims:
    if bands is not None and len(bands) >= 2 and bands[-2] == 0:
        raise ValueError(f"In[0] must not be an empty tensor: shape {shape_text(bands)}")
    return triangular_shape(bands, rhs, lower, adjoint, True)


def _banded_grad(
    dys: Sequence[Tensor],
    bands: Tensor,
    rhs: Tensor,
    outs: Sequence[Tensor],
    lower: bool,
    adjoint: bool,
    needs: Sequence[bool],
) -> dict[str, Any]:
    x = outs[0]
    d_rhs = banded_triangular_solve_p(bands, dys[0], lower=lower, adjoint=not adjoint)
    found = {"rhs": summed_like(d_rhs, rhs)}
    if needs[0]:
        left, right = (x, d_rhs) if adjoint else (d_rhs, x)
        near = _near(conj(right), dim(bands, -2), lower)
        found["bands"] = summed_like(-reduce_sum(expand_dims(left, -3) * near, -1), bands)
    return found


def _near(x: Tensor, number: int, lower: bool) -> Any:
    """The rows that each band joins to row i, 0 outside. t[*b, n, k] -> t[*b, number, n, k]."""
    if x.shape.rank is None:
        raise NotImplementedError("The gradient of banded_triangular_solve needs tensors of known rank")
    n = dim(x, -2)
    band, row = expand_dims(range_(number), 1), expand_dims(range_(n), 0)
    at = row - band if lower else row + (number - 1 - band)
    inside = logical_and(at >= 0, at < n)
    found = gather_p(x, select(inside, at, zeros_like(at)), axis=x.shape.rank - 2, batch_dims=0)
    return select(expand_dims(inside, -1), found, zeros_like(found))


def _banded_samples() -> list[Any]:
    random = np.random.default_rng(3)
    found = []
    for t in ("float64", "float32", "complex64"):
        for lower, side in ((True, False), (False, True), (False, False), (True, True)):
            for a, b in (
                ((2, 3), (3, 2)),
                ((2, 3, 4), (4, 1)),
                ((1, 3), (2, 3, 1)),
                ((4, 2), (2, 2)),
                ((2, 0), (0, 1)),
            ):
                bands = random.uniform(-1, 1, a)
                bands[..., 0 if lower else -1, :] += 3
                found.append(((bands.astype(t), random.uniform(-1, 1, b).astype(t)), {"lower": lower, "adjoint": side}))
    return found


def _banded_errors() -> list[Any]:
    cases = (
        (np.ones([3]), np.ones([3, 2]), r"In\[0\] ndims must be >= 2: 1"),
        (np.ones([2, 3]), np.ones([3]), r"In\[1\] ndims must be >= 2: 1"),
        (np.ones([2, 3]), np.ones([4, 2]), r"In\[0\] mismatch In\[1\] shape: 3 vs. 4: \[2,3\] \[4,2\] 1 0"),
        (np.ones([0, 3]), np.ones([3, 2]), r"In\[0\] must not be an empty tensor"),
        (np.ones([2, 2, 3]), np.ones([3, 3, 2]), r"In\[0\] and In\[1\] must have compatible batch dimensions"),
        (np.zeros([2, 3]), np.ones([3, 2]), "Input matrix is not invertible."),
    )
    return [misuse(text, a, b, lower=True, adjoint=False) for a, b, text in cases]


@custom(
    infer=lambda bands, rhs, *, lower, adjoint: Aval(
        bands.dtype, _banded_shape(bands.shape, rhs.shape, lower, adjoint)
    ),
    dtypes="float64 float32 complex64 complex128",
    vjp_all=_banded_grad,
    samples=_banded_samples,
    error_samples=_banded_errors,
    reason=RECURRENCE,
)
def banded_triangular_solve_p(bands: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Any:
    """x with A x = rhs, A[i, i - k] in bands[k, i], or A[i, i + k] in bands[-1 - k, i]. t[*b, m, n], t[*b, n, k]."""
    dims = validated(_banded_shape, bands.shape, rhs.shape, lower, adjoint)
    if not (bands[..., 0 if lower else -1, :] != 0).all():
        raise invalid("Input matrix is not invertible.")
    number, n = bands.shape[-2:]
    kept = min(number, max(n, 1))  # those further out than the corners are not read
    bands = bands[..., :kept, :] if lower else bands[..., number - kept :, :]
    # LAPACK counts along columns, TensorFlow along rows: here stands the transposed matrix, and its other triangle.
    a = spread_to(bands[..., ::-1, :], dims[:-2]).copy()
    for i in range(kept):
        k = i if not lower else kept - 1 - i
        a[:, i, n - k if not lower else 0 : n if not lower else k] = 0
    b = spread_to(rhs, dims[:-2])
    if not b.size:
        return np.empty(dims, rhs.dtype)
    if adjoint:
        a = np.conj(a)
    every = np.isfinite(a).all((1, 2)) & np.isfinite(b).all((1, 2))
    solve = scipy_functions("tbtrs", (a, b))
    x = np.empty_like(b)

    def substitute(some: slice | Array) -> None:
        flat = np.ascontiguousarray(a[some].transpose(1, 0, 2)).reshape(kept, -1)
        found = solve(flat, b[some].reshape(-1, b.shape[-1]), uplo="U" if lower else "L", trans="N" if adjoint else "T")
        x[some] = found[0].reshape(x[some].shape)

    together(every, substitute)
    return x.reshape(dims)


def together(every: Any, act: Callable[[Any], None]) -> None:
    """Act on all that is finite at once and on the rest one by one: NaN times 0 would spread."""
    if every.all():
        act(slice(None))
        return
    act(every)
    for i in np.flatnonzero(~every):
        act(slice(i, i + 1))


@public("linalg.banded_triangular_solve")
def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """x with A x = rhs for a triangular A of few diagonals. t[*b, m, n], t[*b, n, k] -> t[*b, n, k], broadcasting.

    bands[k, i] is A[i, i - k]; without `lower` the main diagonal is the last of the bands, and bands[-1 - k, i] is
    A[i, i + k]. Raises: InvalidArgumentError for shapes that do not fit and zeros on the main diagonal.
    Source: tf.linalg.banded_triangular_solve.
    """
    return named(name, banded_triangular_solve_p, bands, rhs, lower=bool(lower), adjoint=bool(adjoint))
