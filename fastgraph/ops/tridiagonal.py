"""Tridiagonal matrices: tridiagonal_solve, tridiagonal_matmul, eigh_tridiagonal.

Rule: three rows hold A[i, i + 1], A[i, i] and A[i, i - 1] at i; what would stand outside of A is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.matmul import know_scipy, scipy_functions
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, known_value, named, of_dtypes
from fastgraph.ops.banded_solvers import RECURRENCE, shifted, together
from fastgraph.ops.comparison import equal, greater, less_equal, logical_and
from fastgraph.ops.complex_numbers import complex_of, conj
from fastgraph.ops.deferred_calls import of_known_ranks
from fastgraph.ops.elementwise import abs, add, cast, maximum, ones_like, select, zeros_like
from fastgraph.ops.families import Array, Dims, custom, invalid, misuse, public, shape_text, validated
from fastgraph.ops.gathering import boolean_mask, dim
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.matmul import matmul
from fastgraph.ops.matrix_algebra import reciprocal_gaps, stacked, times
from fastgraph.ops.matrix_diagonals import diag, diag_part
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import expand_dims, squeeze
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_assertions import assert_less, assert_less_equal
from fastgraph.ops.runtime_checks import with_extents
from fastgraph.ops.scans import cumprod

# ---- tridiagonal systems --------------------------------------------------------------------------------------------


def _tridiagonal_shape(diagonals: Dims, rhs: Dims) -> Dims:
    if diagonals is None or rhs is None:
        return None
    if len(diagonals) < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {len(diagonals)}")
    if len(diagonals) != len(rhs):
        raise ValueError(f"Expected the rank of rhs to be {len(diagonals)}, got {len(rhs)}")
    if diagonals[-2] not in (None, 3):
        raise ValueError(f"Expected 3 diagonals got {diagonals[-2]}")
    batch: list[int | None] = []
    for a, b in zip(diagonals[:-2], rhs[:-2], strict=True):
        if a is not None and b is not None and a != b:
            raise ValueError(f"Batch shapes {diagonals[:-2]} and {rhs[:-2]} are incompatible")
        batch.append(b if a is None else a)
    n, m = diagonals[-1], rhs[-2]
    if n is not None and m is not None and n != m:
        raise ValueError(f"Expected number of left-hand sided and right-hand sides to be equal, got {n} and {m}")
    return (*batch, m if n is None else n, rhs[-1])


def _tridiagonal_grad(
    dys: list[Any], diagonals: Tensor, outs: list[Any], needs: tuple[Any, ...], perturb: bool
) -> dict[str, Any]:
    sup, main, sub = diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
    turned = conj(stack([shifted(sub, 1), main, shifted(sup, -1)], -2))
    d_rhs = tridiagonal_solve_p(turned, dys[0], perturb=perturb)
    if not needs[0]:
        return {"rhs": d_rhs}
    x = conj(outs[0])
    rows = [-reduce_sum(d_rhs * shifted(x, by, -2), -1) for by in (1, 0, -1)]
    return {"diagonals": stack(rows, -2), "rhs": d_rhs}


def _tridiagonal_samples() -> list[Any]:
    random = np.random.default_rng(5)
    found: list[Any] = []
    for t in ("float64", "float32", "complex64"):
        for batch, n, k in (
            ((), 3, 2),
            ((2,), 4, 1),
            ((2, 2), 2, 1),
            ((), 1, 1),
            ((0,), 3, 1),
            ((2,), 0, 1),
            ((), 3, 0),
        ):
            diagonals = random.uniform(-1, 1, (*batch, 3, n))
            diagonals[..., 1, :] += 3
            rhs = random.uniform(-1, 1, (*batch, n, k))
            found += [((diagonals.astype(t), rhs.astype(t)), {"perturb": each}) for each in (False, True)]
    return found


def _perturbed(a: Array, b: Array) -> Any:
    """Solutions by elimination with exchanges of rows, in which pivots next to 0 are made as large as rounding is."""
    n = a.shape[-1]
    ahead, main, behind = (np.moveaxis(a[:, i], -1, 0).copy() for i in range(3))
    second, x = np.zeros_like(main), np.moveaxis(b, 1, 0).copy()
    info = np.finfo(a.dtype)
    least = np.maximum(np.abs(a).max((1, 2), initial=0) * info.eps, info.tiny).astype(a.dtype)

    def pivot(i: int) -> None:
        main[i] = np.where(np.abs(main[i]) < np.abs(least), np.where(main[i].real < 0, -least, least), main[i])

    for i in range(n - 1):
        swap = np.abs(behind[i + 1]) > np.abs(main[i])
        first = np.where(swap, behind[i + 1], main[i])
        other = np.where(swap, main[i], behind[i + 1])
        upper, lower = np.where(swap, main[i + 1], ahead[i]), np.where(swap, ahead[i], main[i + 1])
        second[i] = np.where(swap, ahead[i + 1], 0)
        main[i] = first
        pivot(i)
        factor = other / main[i]
        ahead[i], main[i + 1] = upper, lower - factor * upper
        ahead[i + 1] = np.where(swap, -factor * second[i], ahead[i + 1])
        top, below = np.where(swap[:, None], x[i + 1], x[i]), np.where(swap[:, None], x[i], x[i + 1])
        x[i], x[i + 1] = top, below - factor[:, None] * top
    for i in reversed(range(n)):
        if i == n - 1:
            pivot(i)
        for k, part in ((1, ahead), (2, second)):
            if i + k < n:
                x[i] -= part[i][:, None] * x[i + k]
        x[i] /= main[i][:, None]
    return np.moveaxis(x, 0, 1)


@custom(
    infer=lambda diagonals, rhs, *, perturb: Aval(diagonals.dtype, _tridiagonal_shape(diagonals.shape, rhs.shape)),
    dtypes="float64 float32 complex64 complex128",
    vjp_all=_tridiagonal_grad,
    samples=_tridiagonal_samples,
    error_samples=lambda: [
        misuse("Expected 3 diagonals got 2", np.ones([2, 3]), np.ones([3, 1]), perturb=False),
        misuse(
            "Expected number of left-hand sided and right-hand sides to be equal, got 3 and 4",
            np.ones([3, 3]),
            np.ones([4, 1]),
            perturb=False,
        ),
    ],
    step="tridiagonal",
    reason=RECURRENCE,
)
def tridiagonal_solve_p(diagonals: Array, rhs: Array, *, perturb: bool) -> Any:
    """x with A x = rhs; A[i, i + 1], A[i, i], A[i, i - 1] in the rows of diagonals. t[*b, 3, n], t[*b, n, k] -> rhs.

    With exchanges of rows; where A has no inverse NaN, or with `perturb` that of a matrix next to A.
    """
    dims = validated(_tridiagonal_shape, diagonals.shape, rhs.shape)
    if not rhs.size:
        return np.empty(dims, rhs.dtype)
    a, b = stacked(diagonals).copy(), stacked(rhs)
    a[:, 0, -1] = a[:, 2, 0] = 0  # between the blocks
    if perturb:
        return _perturbed(a, b).reshape(dims)
    every = np.isfinite(a).all((1, 2)) & np.isfinite(b).all((1, 2))
    solve = scipy_functions("gtsv", (a, b))
    x = np.empty_like(b)

    def eliminate(some: slice | Array) -> None:
        if a[some].shape[0] * a.shape[-1] < 2:  # the wrapper takes no empty diagonals
            x[some] = b[some] / np.where(a[some][:, 1, :, None] == 0, np.nan, a[some][:, 1, :, None])
            return
        sup, main, sub = (np.ascontiguousarray(a[some][:, i]).reshape(-1) for i in range(3))
        *_, found, info = solve(sub[1:], main, sup[:-1], b[some].reshape(-1, b.shape[-1]))
        if info == 0:
            x[some] = found.reshape(x[some].shape)
        elif x[some].shape[0] == 1:
            x[some] = np.nan
        else:
            for i in np.arange(len(x))[some]:
                eliminate(slice(i, i + 1))

    together(every, eliminate)
    return x.reshape(dims)


def _compact(diagonals: TensorLike, form: str, padded: bool) -> Any:
    """The diagonals in one tensor, from any of the formats. t[*b, 3, n]."""
    if form == "compact":
        return as_tensor(diagonals)
    if form == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        sup, main, sub = (as_tensor(d) for d in diagonals)
        n = main.shape[-1]
        if padded and n is not None:
            sup, sub = _filled(sup, n, 0, 1), _filled(sub, n, 1, 0)
        for what, d in (("super", sup), ("sub", sub)):
            if not d.shape.is_compatible_with(main.shape):
                raise invalid(f"Invalid {what}diagonal shape. [Op:TridiagonalMatMul]")
        return stack([sup, main, sub], -2)
    if form != "matrix":
        raise ValueError(f"Unrecognized diagonals_format: {form}")
    x = as_tensor(diagonals)
    if x.shape.rank is None:
        raise NotImplementedError("tridiagonal matrices need tensors of known rank")
    m, n = x.shape[-2:]
    if m is not None and n is not None and m != n:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {n} and {m}")
    main = diag_part(x)
    if n == 1:
        return stack([zeros_like(main), main, zeros_like(main)], -2)
    ahead = [[0, 0]] * (main.shape.rank - 1)
    sup, sub = diag_part(x, k=1), diag_part(x, k=-1)
    return stack([pad(sup, [*ahead, [0, 1]]), main, pad(sub, [*ahead, [1, 0]])], -2)


def _filled(d: Any, n: int, before: int, after: int) -> Any:
    """A diagonal next to the main one as long as that: TensorFlow takes it with and without the unused element."""
    if d.shape[-1] == n - 1:
        return pad(d, [*[[0, 0]] * (d.shape.rank - 1), [before, after]])
    if d.shape[-1] not in (n, None):
        raise ValueError(f"Expected a diagonal of {n} or {n - 1} elements, got {d.shape[-1]}")
    return d


@public("linalg.tridiagonal_solve")
@of_known_ranks
def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Any:
    """x with A x = rhs for a tridiagonal A. t[*b, 3, n], t[*b, n(, k)] -> t[*b, n(, k)].

    diagonals: one tensor of A[i, i + 1], A[i, i], A[i, i - 1] ("compact"), a sequence of these ("sequence"), or A
    ("matrix"). Rows are exchanged whether or not `partial_pivoting` asks for it; NaN comes from A without an inverse.
    With `perturb_singular` that of a matrix next to A instead. Raises: ValueError for shapes that do not fit.
    Source: tf.linalg.tridiagonal_solve.
    """
    if perturb_singular and not partial_pivoting:
        raise ValueError("partial_pivoting must be True if perturb_singular is.")
    a = _compact(diagonals, diagonals_format, True)
    b = as_tensor(rhs, a.dtype)
    if a.shape.rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {a.shape.rank}")
    if b.shape.rank not in (a.shape.rank - 1, a.shape.rank):
        raise ValueError(f"Expected the rank of rhs to be {a.shape.rank - 1} or {a.shape.rank}, got {b.shape.rank}")
    flat = b.shape.rank == a.shape.rank - 1
    if conjugate_rhs:
        b = conj(b)
    if flat:
        b = expand_dims(b, -1)
    elif transpose_rhs:
        b = matrix_transpose(b)
    _tridiagonal_shape(tuple(a.shape.as_list()), tuple(b.shape.as_list()))
    found = named(name, tridiagonal_solve_p, a, b, perturb=perturb_singular)
    return squeeze(found, [-1]) if flat else found


@public("linalg.tridiagonal_matmul")
@of_known_ranks
def tridiagonal_matmul(
    diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Any:
    """The product of a tridiagonal matrix, in a format of `tridiagonal_solve`, and rhs.

    t[*b, 3, n], t[*b, n, k] -> t[*b, n, k]. Raises: InvalidArgumentError for shapes that do not fit.
    Source: tf.linalg.tridiagonal_matmul.
    """
    a = _compact(diagonals, diagonals_format, False)
    b = as_tensor(rhs, a.dtype)
    of_dtypes(a, "float64 float32 complex64 complex128", "TridiagonalMatMul.T")
    dims_a, dims_b = a.shape.as_list(), b.shape.as_list()
    text = None
    if len(dims_a) < 2:
        text = f"Expected diagonals to have rank at least 2, got {len(dims_a)}"
    elif len(dims_a) != len(dims_b):
        text = "All input tensors must have the same rank."
    elif any(m is not None and n is not None and m != n for m, n in zip(dims_a[:-2], dims_b[:-2], strict=True)):
        text = "All input tensors must have the same outer dimensions."
    elif dims_a[-2] not in (3, None):
        text = f"Expected 3 diagonals got {dims_a[-2]}"
    elif None not in (dims_a[-1], dims_b[-2]) and dims_a[-1] != dims_b[-2]:
        text = "Invalid superdiagonal shape."
    if text is not None:
        raise invalid(text, "TridiagonalMatMul")
    like = {i: (n, dims_b[i]) for i, n in enumerate((*dims_a[:-2], dims_a[-1]))}  # of b's axes but the last
    b = with_extents(b, {i: dim(a, i if i < len(dims_a) - 2 else -1) for i in like if None in like[i]})
    sup, main, sub = (expand_dims(a[..., i, :], -1) for i in range(3))
    total = main * b + sup * shifted(b, 1, -2)
    return add(total, sub * shifted(b, -1, -2), name)


# ---- eigenvalues of tridiagonal matrices ----------------------------------------------------------------------------


def _pair_shape(alpha: Dims, beta: Dims) -> int | None:
    for what, dims in (("alpha", alpha), ("beta", beta)):
        if dims is not None and len(dims) != 1:
            raise ValueError(f"{what} must be a vector, got shape {shape_text(dims)}")
    if alpha is None or beta is None:
        return None if alpha is None else alpha[0]
    (n,), (m,) = alpha, beta
    if n is not None and m is not None and m != max(n - 1, 0):
        raise ValueError(f"Incompatible shapes: beta must have {max(n - 1, 0)} elements, one less than alpha, got {m}")
    return n


def _infer_tridiagonal(alpha: Aval, beta: Aval) -> tuple[Aval, Aval]:
    n = _pair_shape(alpha.shape, beta.shape)
    return Aval(alpha.dtype, (n,)), Aval(alpha.dtype, (n, n))


def _eigh_tridiagonal_grad(dys: list[Any], outs: list[Any]) -> dict[str, Any]:
    (de, dv), (e, v) = dys, outs
    inner = zeros_like(v) if de is None else diag(de)
    if dv is not None:
        inner += reciprocal_gaps(e) * matmul(v, dv, adjoint_a=True)
    left = times(v, inner)
    n = dim(e, 0)
    above = reduce_sum(left[: n - 1] * v[1:], -1) + reduce_sum(left[1:] * v[: n - 1], -1)
    return {"alpha": reduce_sum(left * v, -1), "beta": above}


@custom(
    infer=_infer_tridiagonal,
    n_outputs=2,
    dtypes="float32 float64",
    vjp_all=_eigh_tridiagonal_grad,
    samples=lambda: [
        ((np.arange(n, dtype=t) ** 2, np.linspace(1, 2, max(n - 1, 0)).astype(t)), {})
        for t in ("float64", "float32")
        for n in (4, 2, 1)
    ],
    error_samples=lambda: [
        misuse("beta must have 2 elements, one less than alpha", np.ones([3]), np.ones([3])),
        misuse(r"alpha must be a vector, got shape \[2,3\]", np.ones([2, 3]), np.ones([2])),
    ],
    reason=RECURRENCE,
)
def eigh_tridiagonal_p(alpha: Array, beta: Array) -> Any:
    """Eigenvalues, rising, and eigenvectors of the matrix of alpha beside which beta stands. f[n], f[n - 1]."""
    validated(_pair_shape, alpha.shape, beta.shape)
    n = len(alpha)
    if n < 2:
        return alpha.copy(), np.ones((n, n), alpha.dtype)
    eigh_tridiagonal = library("scipy.linalg").eigh_tridiagonal

    know_scipy()
    try:
        e, v = eigh_tridiagonal(alpha, beta, lapack_driver="stemr")
    except (ValueError, np.linalg.LinAlgError):
        raise invalid("Eigen decomposition was not successful. The input might not be valid.") from None
    v = v * np.where(v[0] < 0, -1, 1)  # LAPACK's signs jump
    return e.astype(alpha.dtype, copy=False), v.astype(alpha.dtype, copy=False)


def _selected(e: Tensor, v: Tensor, select_: str, span: Any) -> tuple[Any, Any]:
    """The eigenvalues and eigenvectors with indices, or values, in a range."""
    if select_ == "a":
        return e, v
    low, high = span[0], span[1]
    if select_ == "i":
        low, high = as_tensor(low, "int32"), as_tensor(high, "int32")
        assert_less_equal(low, high, message="Got empty index range in select_range.")
        low = maximum(low, 0)
        if known_value(low) is not None and known_value(high) is not None:
            low, high = int(known_value(low)), int(known_value(high))  # type: ignore[arg-type]
        return e[low : high + 1], v[:, low : high + 1]
    low, high = as_tensor(low, e.dtype), as_tensor(high, e.dtype)
    assert_less(low, high, message="Got empty interval in select_range.")
    inside = logical_and(greater(e, low), less_equal(e, high))
    return boolean_mask(e, inside), boolean_mask(v, inside, axis=1)


@public("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: TensorLike | None,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: TensorLike | None = None,
    tol: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Eigenvalues, rising, of a Hermitian tridiagonal matrix; also eigenvectors, in columns, unless eigvals_only.

    t[n], t[n - 1] -> f[k] (, t[n, k]): its diagonal, and what stands above that. select "i": those with indices from
    select_range[0] to [1]; "v": those in ]select_range[0], select_range[1]]; "a": all. `tol` changes nothing here.
    Raises: ValueError for another `select`; InvalidArgumentError for an empty range or shapes that do not fit.
    Source: tf.linalg.eigh_tridiagonal.
    """
    if select not in ("a", "i", "v"):
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    a, b = as_tensor(alpha), as_tensor(beta)
    if a.dtype is not b.dtype:
        raise ValueError("'alpha' and 'beta' must have the same type.")
    if not (a.dtype.is_floating or a.dtype.is_complex):
        raise ValueError(f"alpha and beta must be floating or complex, got {a.dtype.name}")
    dtype = a.dtype
    real_type = dtype.real_dtype
    work = "float32" if real_type.size < 4 else real_type
    size = cast(abs(b), work) if dtype.is_complex else cast(b, work)
    e, v = named(name, eigh_tridiagonal_p, cast(a, work), size)
    e, v = _selected(cast(e, real_type), cast(v, real_type), select, select_range)
    if eigvals_only:
        return e
    if dtype.is_complex:  # D T D^-1 is real for a D of phases
        turns = conj(cumprod(concat([ones_like(a[:1]), _phases(b)], 0)))
        v = cast(v, dtype) * expand_dims(turns, -1)
    return e, v


def _phases(b: Tensor) -> Any:
    """b / |b|, 1 where b is 0."""
    safe = select(equal(b, zeros_like(b)), ones_like(b), b)
    size = abs(safe)
    return safe / complex_of(size, zeros_like(size))
