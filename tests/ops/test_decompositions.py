"""tf.linalg's factorizations, solvers and functions of matrices: laws over drawn shapes, special values, errors.

What each op gives for its samples the tests made from the registry check; gradients: test_matrix_gradients.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastgraph as fg
from fastgraph import linalg

FAST = settings(max_examples=40, deadline=None, derandomize=True)
DTYPES = st.sampled_from(["float32", "float64", "complex64", "complex128"])
BATCHES = st.sampled_from([(), (1,), (3,), (0,), (2, 2), (9,), (2, 0)])
SIDES = st.integers(0, 5)


def number(random: Any, shape: Any, dtype: str) -> Any:
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def dominant(random: Any, shape: Any, dtype: str) -> Any:
    """Well-conditioned matrices: strong diagonals."""
    x = number(random, shape, dtype) / 2
    i = np.arange(min(shape[-2:]))
    x[..., i, i] += 3 + i
    return x


def positive(random: Any, shape: Any, dtype: str) -> Any:
    x = dominant(random, shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2))).astype(dtype)


@st.composite
def cases(draw: Any, make: Any = dominant, square: bool = True) -> Any:
    """Matrices of any batch, dtype and layout."""
    dtype, batch, n = draw(DTYPES), draw(BATCHES), draw(SIDES)
    m = n if square else draw(SIDES)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x = make(random, (*batch, m, n), dtype)
    layout = draw(st.sampled_from(["dense", "turned", "strided"]))
    if layout == "turned":
        x = np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2)
    elif layout == "strided":
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    return x


def rhs(a: Any, k: int = 2) -> Any:
    return number(np.random.default_rng(7), (*a.shape[:-1], k), a.dtype.name)


def close(got: Any, wanted: Any, scale: float = 1.0) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    single = got.dtype in (np.float32, np.complex64)
    size = float(np.abs(wanted).max(initial=1))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=scale * size * (3e-5 if single else 1e-11))


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


def unit(shape: Any, dtype: Any) -> Any:
    return np.broadcast_to(np.eye(shape[-1], dtype=dtype), (*shape[:-2], shape[-1], shape[-1]))


# ---- laws -----------------------------------------------------------------------------------------------------------


@FAST
@given(cases(positive))
def test_cholesky_times_its_adjoint(a: Any) -> None:
    factor = linalg.cholesky(a).numpy()
    close(factor @ turned(factor), a)
    assert not np.triu(factor, 1).any()
    close(a @ linalg.cholesky_solve(factor, rhs(a)).numpy(), rhs(a))
    close(linalg.logdet(a).numpy(), np.linalg.slogdet(a)[1].astype(a.real.dtype))


@FAST
@given(cases())
def test_lu_and_what_is_made_of_it(a: Any) -> None:
    packed, order = linalg.lu(a, fg.int64)
    assert order.dtype == fg.int64
    lower = np.tril(packed, -1) + unit(a.shape, a.dtype)
    close(lower @ np.triu(packed), np.take_along_axis(a, order.numpy()[..., None], -2))
    assert (np.abs(lower) <= 1.5).all()  # rows were exchanged; LAPACK's size of a complex number is |x| + |y|
    close(linalg.lu_reconstruct(packed, order).numpy(), a)
    close(linalg.lu_solve(packed, order, rhs(a)).numpy(), linalg.solve(a, rhs(a)).numpy())
    close(linalg.lu_matrix_inverse(packed, order).numpy(), linalg.inv(a).numpy())


@pytest.mark.parametrize("unknown", [False, True])
def test_batches_of_lu_solve_broadcast(unknown: bool) -> None:
    random = np.random.default_rng(0)
    for ours, theirs in (
        ((2,), ()),
        ((), (2,)),
        ((1,), (3,)),
        ((3,), (1,)),
        ((2, 1), (3,)),
        ((3,), (2, 1)),
        ((0,), ()),
    ):
        a, b = dominant(random, (*ours, 3, 3), "float64"), number(random, (*theirs, 3, 2), "float64")

        def solve(a: Any, b: Any) -> Any:
            return linalg.lu_solve(*linalg.lu(a), b)

        if unknown:
            spec = [fg.TensorSpec([None] * x.ndim, fg.float64) for x in (a, b)]
            solve = fg.function(solve, input_signature=spec)
        batch = np.broadcast_shapes(ours, theirs)
        whole = np.broadcast_to(a, (*batch, 3, 3)), np.broadcast_to(b, (*batch, 3, 2))
        close(solve(fg.constant(a), fg.constant(b)).numpy(), np.linalg.solve(*whole))


@FAST
@given(cases(square=False), st.booleans())
def test_qr_is_orthonormal_times_triangular(a: Any, full: bool) -> None:
    q, r = linalg.qr(a, full_matrices=full)
    m, n = a.shape[-2:]
    k = m if full else min(m, n)
    assert q.shape == (*a.shape[:-2], m, k)
    assert r.shape == (*a.shape[:-2], k, n)
    close(q.numpy() @ r.numpy(), a)
    close(turned(q) @ q.numpy(), unit(q.shape, a.dtype))
    assert not np.tril(r.numpy(), -1).any()


@FAST
@given(cases(square=False), st.booleans())
def test_svd_gives_back_the_matrix(a: Any, full: bool) -> None:
    s, u, v = linalg.svd(a, full_matrices=full)
    m, n = a.shape[-2:]
    k = min(m, n)
    assert s.dtype == fg.as_dtype(a.dtype).real_dtype
    assert u.shape == (*a.shape[:-2], m, m if full else k)
    assert v.shape == (*a.shape[:-2], n, n if full else k)
    close((u.numpy()[..., :k] * s.numpy()[..., None, :]) @ turned(v.numpy()[..., :k]), a)
    close(turned(u) @ u.numpy(), unit(u.shape, a.dtype))
    close(turned(v) @ v.numpy(), unit(v.shape, a.dtype))
    assert (np.diff(s.numpy()) <= 0).all()
    close(linalg.svd(a, compute_uv=False).numpy(), s.numpy())
    assert (linalg.matrix_rank(a).numpy() == k).all()


@FAST
@given(cases(positive))
def test_eigh_turns_into_a_diagonal(a: Any) -> None:
    e, v = linalg.eigh(a)
    assert e.dtype == v.dtype == fg.as_dtype(a.dtype)
    close(v.numpy() * e.numpy()[..., None, :] @ turned(v), a)
    assert (np.diff(e.numpy().real) >= 0).all()
    close(linalg.eigvalsh(a).numpy(), e.numpy())


@FAST
@given(cases())
def test_eig_keeps_the_directions_of_its_vectors(a: Any) -> None:
    e, v = fg.eig(a)
    assert e.dtype.is_complex
    close(a @ v.numpy(), v.numpy() * e.numpy()[..., None, :])
    close(np.linalg.norm(v, axis=-2), np.ones(e.shape, a.real.dtype))
    close(np.sort_complex(fg.eigvals(a).numpy()).sum(-1), np.trace(a, axis1=-2, axis2=-1).astype(e.numpy().dtype))


@FAST
@given(cases(), st.booleans())
def test_solutions_solve(a: Any, side: bool) -> None:
    b = rhs(a)
    mine = turned(a) if side else a
    close(mine @ linalg.solve(a, b, adjoint=side).numpy(), b)
    close(linalg.inv(a, adjoint=side).numpy() @ mine, unit(a.shape, a.dtype))
    for lower in (True, False):
        half = np.tril(a) if lower else np.triu(a)
        close((turned(half) if side else half) @ linalg.triangular_solve(a, b, lower, side).numpy(), b)
    close(linalg.det(a).numpy(), np.asarray(np.linalg.det(a)), 10)
    sign, size = linalg.slogdet(a)
    assert size.dtype == sign.dtype
    close(sign.numpy() * np.exp(size.numpy()), np.asarray(np.linalg.det(a)), 10)


@FAST
@given(cases(square=False))
def test_least_squares_and_pseudoinverses(a: Any) -> None:
    b = rhs(a)
    wanted = np.linalg.pinv(a, rcond=1e-5) @ b if a.size else np.zeros((*a.shape[:-2], a.shape[-1], 2), a.dtype)
    close(linalg.lstsq(a, b, fast=False).numpy(), wanted)
    close(linalg.lstsq(a, b).numpy(), wanted, 10)
    n = a.shape[-1]
    whole = np.concatenate([a, np.broadcast_to(np.sqrt(0.5) * np.eye(n), (*a.shape[:-2], n, n))], -2).astype(a.dtype)
    zeros = np.concatenate([b, np.zeros((*a.shape[:-2], n, 2))], -2).astype(a.dtype)
    close(linalg.lstsq(a, b, 0.5).numpy(), linalg.lstsq(whole, zeros, fast=False).numpy(), 10)
    if a.dtype.kind == "f":
        p = linalg.pinv(a).numpy()
        close(a @ p @ a, a)
        close(p @ a @ p, p)


@FAST
@given(cases())
def test_functions_of_matrices(a: Any) -> None:
    from scipy import linalg as scipy_linalg

    root = linalg.sqrtm(a).numpy()
    close(root @ root, a)
    close(fg.matrix_square_root(a).numpy(), root)
    flat = a.reshape(int(np.prod(a.shape[:-2])), *a.shape[-2:]).astype(complex)
    wanted = np.array([scipy_linalg.expm(x) for x in flat]).reshape(a.shape) if a.size else flat.reshape(a.shape)
    close(linalg.expm(a).numpy(), wanted.astype(a.dtype) if a.dtype.kind == "c" else wanted.real.astype(a.dtype), 10)
    z = a.astype(np.complex128)
    close(linalg.expm(linalg.logm(z)).numpy(), z)


@FAST
@given(BATCHES, st.integers(1, 6), st.integers(1, 3), DTYPES, st.booleans(), st.booleans())
def test_banded_systems(batch: Any, n: int, width: int, dtype: str, lower: bool, side: bool) -> None:
    random = np.random.default_rng(n + width)
    bands = number(random, (*batch, width, n), dtype) / 2
    bands[..., 0 if lower else -1, :] += 3
    dense = np.zeros((*batch, n, n), dtype)
    for k in range(width):
        for i in range(n):
            j = i - k if lower else i + k
            if 0 <= j < n:
                dense[..., i, j] = bands[..., k if lower else -1 - k, i]
    b = number(random, (*batch, n, 2), dtype)
    x = linalg.banded_triangular_solve(bands, b, lower, side).numpy()
    close((turned(dense) if side else dense) @ x, b)


def tridiagonal(compact: Any) -> Any:
    n = compact.shape[-1]
    dense = np.zeros((*compact.shape[:-2], n, n), compact.dtype)
    for i in range(n):
        dense[..., i, i] = compact[..., 1, i]
        if i + 1 < n:
            dense[..., i, i + 1], dense[..., i + 1, i] = compact[..., 0, i], compact[..., 2, i + 1]
    return dense


@FAST
@given(BATCHES, st.integers(1, 6), DTYPES)
def test_tridiagonal_systems(batch: Any, n: int, dtype: str) -> None:
    random = np.random.default_rng(n)
    compact = number(random, (*batch, 3, n), dtype)
    compact[..., 1, :] += 5
    dense, b = tridiagonal(compact), number(random, (*batch, n, 2), dtype)
    wanted = np.linalg.solve(dense, b)
    rows = [compact[..., i, :] for i in range(3)]
    short = [rows[0][..., :-1], rows[1], rows[2][..., 1:]]
    for form, given_ in (("compact", compact), ("sequence", rows), ("sequence", short), ("matrix", dense)):
        close(linalg.tridiagonal_solve(given_, b, form).numpy(), wanted)
    close(linalg.tridiagonal_solve(compact, b[..., 0]).numpy(), wanted[..., 0])
    flipped = turned(b)
    close(linalg.tridiagonal_solve(compact, flipped, transpose_rhs=True, conjugate_rhs=True).numpy(), wanted)
    small = compact.copy()
    small[..., 1, ::2] -= 5  # so that rows change places
    wanted = np.linalg.solve(tridiagonal(small), b)
    close(linalg.tridiagonal_solve(small, b, perturb_singular=True).numpy() / wanted, np.ones_like(wanted), 1e3)
    for form, given_ in (("compact", compact), ("sequence", rows), ("matrix", dense)):
        close(linalg.tridiagonal_matmul(given_, b, form).numpy(), dense @ b)


def test_a_matrix_that_is_not_finite_or_has_no_inverse_leaves_its_neighbours_alone() -> None:
    compact = np.tile(np.array([[1.0, 2, 0], [4, 5, 6], [0, 7, 8]]), (4, 1, 1))
    b = np.ones((4, 3, 1))
    wanted = linalg.tridiagonal_solve(compact[:1], b[:1]).numpy()[0]
    compact[1, 1] = np.nan
    compact[2] = 0
    got = linalg.tridiagonal_solve(compact, b).numpy()
    np.testing.assert_allclose(got[[0, 3]], [wanted, wanted])
    assert np.isnan(got[1:3]).all()
    b[1, 0] = np.inf
    bands = np.tile(np.array([[2.0, 3, 4], [0, 1, 1]]), (4, 1, 1))
    got = linalg.banded_triangular_solve(bands, b).numpy()
    np.testing.assert_allclose(got[[0, 2, 3]], np.tile(np.array([1 / 2, 1 / 6, 5 / 24])[:, None], (3, 1, 1)))
    x = np.tile(np.eye(2), (3, 1, 1))
    x[1] = np.nan
    for function in (linalg.expm, linalg.sqrtm, lambda x: linalg.svd(x)[1], lambda x: linalg.qr(x)[0], linalg.pinv):
        got = function(x).numpy()
        assert np.isnan(got[1]).all()
        assert np.isfinite(got[[0, 2]]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (2, 3), (3, 1), (60, 1), (9, 4)])
def test_the_kernel_of_tridiagonal_systems(rng: np.random.Generator, dtype: str, n: int, columns: int) -> None:
    """It exchanges rows as LAPACK does, so it gives LAPACK's numbers."""
    compact, b = rng.normal(size=(20, 3, n)).astype(dtype), rng.normal(size=(20, n, columns)).astype(dtype)
    compact[::3, 1] *= 1e-3
    compact[4], compact[5, 1, 0] = 0, np.nan
    spec = [fg.TensorSpec(x.shape, dtype) for x in (compact, b)]
    concrete = fg.function(linalg.tridiagonal_solve).get_concrete_function(*spec)
    assert concrete.wait(100) and concrete.host_steps == 0
    got, wanted = concrete(fg.constant(compact), fg.constant(b)), linalg.tridiagonal_solve(compact, b)
    np.testing.assert_allclose(got, wanted, rtol=1e-4 if dtype == "float32" else 1e-9)


def test_tridiagonal_systems_without_an_inverse() -> None:
    """The values are TensorFlow's."""
    singular = np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0]])
    found = linalg.tridiagonal_solve(singular, np.ones((3, 1)), perturb_singular=True)
    np.testing.assert_allclose(found, [[1.0], [0.0], [2.0**52]], 1e-6)
    found = linalg.tridiagonal_solve(np.zeros((3, 3), "float32"), np.ones((3, 1), "float32"), perturb_singular=True)
    np.testing.assert_allclose(found, np.full((3, 1), 8.507059e37), 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("staged", [False, True])
def test_cholesky_divides_infinity_by_infinity(dtype: str, staged: bool) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[[inf, 0, 0], [inf, 5, 0], [1, 2, 3]], np.eye(3), [[4, 0, 0], [1, inf, 0], [1, inf, 3]]])
    x = np.concatenate([x, [[[inf, 0, 0], [1, 2, 0], [1, 0, 9]], [[inf, 0, 0], [1, -2, 0], [1, 0, 9]]]]).astype(dtype)
    got = (fg.function(linalg.cholesky) if staged else linalg.cholesky)(x).numpy()
    wanted = [
        [[inf, 0, 0], [nan, nan, 0], [0, nan, nan]],
        np.eye(3),
        [[2, 0, 0], [0.5, inf, 0], [0.5, nan, nan]],
        [[inf, 0, 0], [0, np.sqrt(2), 0], [0, 0, 3]],
        [[nan, 0, 0], [nan, nan, 0], [nan, nan, nan]],
    ]
    np.testing.assert_allclose(got.real, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_of_tridiagonal_matrices(dtype: str) -> None:
    alpha = np.array([1.0, 2.5, 3.0, 7.0]).astype(dtype)
    beta = np.array([1.0, 0.5, -2.0])
    beta = (beta * np.exp(1j * np.arange(3)) if np.dtype(dtype).kind == "c" else beta).astype(dtype)
    dense = np.diag(alpha) + np.diag(beta, 1) + np.diag(np.conj(beta), -1)
    wanted = np.linalg.eigvalsh(dense)
    close(linalg.eigh_tridiagonal(alpha, beta).numpy(), wanted)
    for select, span, kept in (("a", None, slice(None)), ("i", (1, 2), slice(1, 3)), ("v", (1.0, 5.0), slice(1, 3))):
        e, v = linalg.eigh_tridiagonal(alpha, beta, False, select, span)
        close(e.numpy(), wanted[kept])
        close(dense @ v.numpy(), v.numpy() * e.numpy().astype(dtype))
        close(turned(v) @ v.numpy(), np.eye(e.shape[0], dtype=dtype))


# ---- values that are special ----------------------------------------------------------------------------------------


def test_what_has_no_rows() -> None:
    empty = np.zeros((2, 0, 0))
    np.testing.assert_array_equal(linalg.det(empty).numpy(), [1, 1])
    np.testing.assert_array_equal(linalg.slogdet(empty)[1].numpy(), [0, 0])
    np.testing.assert_array_equal(linalg.logdet(empty).numpy(), [0, 0])
    np.testing.assert_array_equal(linalg.matrix_rank(empty).numpy(), [0, 0])
    np.testing.assert_array_equal(linalg.qr(np.ones((3, 0)), full_matrices=True)[0].numpy(), np.eye(3))
    assert linalg.svd(np.ones((3, 0)), full_matrices=True)[1].shape == (3, 3)


def test_singular_matrices() -> None:
    ones = np.ones((2, 2))
    assert linalg.det(ones).numpy() == 0
    sign, size = linalg.slogdet(np.zeros((2, 2)))
    assert (sign.numpy(), size.numpy()) == (0, -np.inf)
    assert linalg.matrix_rank(ones).numpy() == 1
    np.testing.assert_array_equal(linalg.matrix_rank(np.eye(3), tol=2.0).numpy(), 0)
    np.testing.assert_allclose(linalg.pinv(ones).numpy(), ones / 4)
    np.testing.assert_array_equal(linalg.pinv(np.eye(3), rcond=2.0).numpy(), np.zeros((3, 3)))
    np.testing.assert_array_equal(linalg.pinv(np.stack([np.eye(2)] * 2), rcond=[2.0, 0.5]).numpy()[1], np.eye(2))
    np.testing.assert_allclose(linalg.sqrtm(ones + 0j).numpy(), ones / np.sqrt(2), atol=1e-12)
    assert np.isnan(linalg.sqrtm(-np.eye(2)).numpy()).all()
    turn = linalg.sqrtm([[0.0, 1.0], [-1.0, 0.0]]).numpy()
    np.testing.assert_allclose(turn, np.array([[1, 1], [-1, 1]]) / 2**0.5, rtol=1e-6)
    assert np.isnan(linalg.logm(np.zeros((2, 2), complex)).numpy()).all()
    np.testing.assert_allclose(linalg.logm(-np.eye(2) + 0j).numpy(), np.pi * 1j * np.eye(2), atol=1e-12)
    inf = linalg.triangular_solve(np.zeros((2, 2)), np.ones((2, 1))).numpy()
    assert inf[0] == np.inf
    assert np.isinf(linalg.expm([[1000.0, 1.0], [2.0, 50.0]]).numpy()).all()


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "expm", "sqrtm", "svd", "qr", "lu", "eigh", "pinv"])
def test_half_floats(name: str) -> None:
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    wanted = fg.nest.flatten(getattr(linalg, name)(a))
    for got, exact in zip(fg.nest.flatten(getattr(linalg, name)(a.astype(np.float16))), wanted, strict=True):
        assert got.dtype == (fg.float16 if exact.dtype == fg.float64 else exact.dtype)
        np.testing.assert_allclose(np.abs(got.numpy()), np.abs(exact.numpy()), rtol=1e-2, atol=1e-2)


# ---- errors ---------------------------------------------------------------------------------------------------------

I2, I3 = np.eye(2), np.eye(3)
Z3 = I3 + 0j
BAD: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "integers": (fg.errors.InvalidArgumentError, "Value for attr 'T' of int32", lambda: linalg.inv(I2.astype("int32"))),
    "logm of floats": (fg.errors.InvalidArgumentError, "Value for attr 'T' of float", lambda: linalg.logm(np.eye(2, dtype="f4"))),
    "expm of integers": (ValueError, "tf.linalg.expm does not support", lambda: linalg.expm(I2.astype("int32"))),
    "pinv of complex": (TypeError, "`float`-like `dtype` .saw complex128", lambda: linalg.pinv(Z3)),
    "pinv of a vector": (ValueError, "at least 2 dimensions .saw: 1", lambda: linalg.pinv(np.ones(3))),
    "rank of a vector": (ValueError, "at least 2 dimensions .saw: 1", lambda: linalg.matrix_rank(np.ones(3))),
    "lu_solve, rhs": (ValueError, "`lower_upper.shape.-1.` must equal", lambda: linalg.lu_solve(I2, [0, 1], np.ones((3, 1)))),
    "lu_solve, vector": (ValueError, "`rhs` must have at least 2", lambda: linalg.lu_solve(I2, [0, 1], np.ones(2))),
    "lu_reconstruct": (ValueError, "`lower_upper` must be square", lambda: linalg.lu_reconstruct(np.ones((2, 3)), [0, 1])),
    "lu_matrix_inverse": (ValueError, "must have at least 2", lambda: linalg.lu_matrix_inverse(np.ones(2), [0, 1])),
    "lu_solve, perm": (ValueError, "one more dimension than `perm`", lambda: linalg.lu_solve(I2, 0, I2)),
    "tridiagonal format": (ValueError, "Unrecognized diagonals_format: x", lambda: linalg.tridiagonal_solve(I3, I3, "x")),
    "two diagonals": (ValueError, "Expected 3 diagonals got 2", lambda: linalg.tridiagonal_solve(np.ones((2, 3)), np.ones(3))),
    "diagonals of a vector": (ValueError, "rank at least 2, got 1", lambda: linalg.tridiagonal_solve(np.ones(3), np.ones(3))),
    "sequence of two": (ValueError, "sequence of length 3", lambda: linalg.tridiagonal_solve([I3[0]] * 2, I3, "sequence")),
    "matrix that is not square": (
        ValueError, "to be same, got 4 and 3", lambda: linalg.tridiagonal_solve(np.ones((3, 4)), np.ones(3), "matrix")
    ),
    "batches": (ValueError, "Batch shapes", lambda: linalg.tridiagonal_solve(np.ones((2, 3, 3)), np.ones((3, 3, 1)))),
    "rank of rhs": (ValueError, "rank of rhs to be 1 or 2, got 3", lambda: linalg.tridiagonal_solve(I3, np.ones((1, 3, 1)))),
    "sizes": (ValueError, "to be equal, got 3 and 4", lambda: linalg.tridiagonal_solve(I3, np.ones(4))),
    "perturbed without pivots": (
        ValueError, "partial_pivoting must be True",
        lambda: linalg.tridiagonal_solve(I3, I3, partial_pivoting=False, perturb_singular=True),
    ),
    "product's ranks": (
        fg.errors.InvalidArgumentError, "must have the same rank", lambda: linalg.tridiagonal_matmul(I3, np.ones(3))
    ),
    "product of vectors": (
        fg.errors.InvalidArgumentError, "rank at least 2, got 1", lambda: linalg.tridiagonal_matmul(I3[0], np.ones(3))
    ),
    "product's batches": (
        fg.errors.InvalidArgumentError, "same outer dimensions",
        lambda: linalg.tridiagonal_matmul(np.ones((2, 3, 3)), np.ones((1, 3, 3))),
    ),
    "product's sizes": (
        fg.errors.InvalidArgumentError, "Invalid superdiagonal", lambda: linalg.tridiagonal_matmul(I3, np.ones((4, 1)))
    ),
    "select": (ValueError, "select must have a value in", lambda: linalg.eigh_tridiagonal(I3[0], I2[0], select="q")),
    "empty interval": (
        fg.errors.InvalidArgumentError, "Got empty interval",
        lambda: linalg.eigh_tridiagonal(I3[0], I2[0], select="v", select_range=[2.0, 0.0]),
    ),
    "empty range": (
        fg.errors.InvalidArgumentError, "Got empty index range",
        lambda: linalg.eigh_tridiagonal(I3[0], I2[0], select="i", select_range=[1, 0]),
    ),
    "two dtypes": (ValueError, "must have the same type", lambda: linalg.eigh_tridiagonal(I3[0], I2[0] + 0j)),
    "no gradient of full qr": (
        NotImplementedError, "QrGrad not implemented when nrows > ncols",
        lambda: slope(lambda a: linalg.qr(a, full_matrices=True)[1], np.ones((4, 3))),
    ),
    "no gradient of full svd": (
        NotImplementedError, r"svd gradient is not implemented for abs\(m - n\) > 1",
        lambda: slope(lambda a: linalg.svd(a, full_matrices=True)[1], np.ones((5, 3))),
    ),
}  # fmt: skip


def slope(f: Any, x: Any) -> Any:
    x = fg.constant(x)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("name", BAD)
def test_errors_are_tensorflows_in_public_functions(name: str) -> None:
    error, text, act = BAD[name]
    with pytest.raises(error, match=text):
        act()


def test_errors_while_tracing_and_while_running() -> None:
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        fg.function(linalg.cholesky).get_concrete_function(fg.TensorSpec([None, 2, 3]))
    with pytest.raises(ValueError, match="must have rank >= 2, got 1"):
        fg.function(linalg.inv).get_concrete_function(fg.TensorSpec([2]))
    with pytest.raises(ValueError, match="Dimensions must be equal, but are "):
        fg.function(linalg.solve).get_concrete_function(fg.TensorSpec([3, 3]), fg.TensorSpec([4, 2]))
    solve = fg.function(linalg.solve, input_signature=[fg.TensorSpec([None, None]), fg.TensorSpec([None, None])])
    with pytest.raises(fg.errors.InvalidArgumentError, match="Input matrix and rhs are incompatible"):
        solve(fg.eye(3), fg.ones([4, 2]))
    with pytest.raises(fg.errors.InvalidArgumentError, match="Input matrix is not invertible"):
        solve(fg.ones([2, 2]), fg.ones([2, 2]))


def test_no_warning_of_numpy_or_lapack_gets_out(capfd: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.zeros((2, 2)), np.full((2, 2), 1e200), np.full((2, 2), np.inf), np.full((2, 2), np.nan)):
            for name in ("det", "slogdet", "expm", "sqrtm", "pinv", "matrix_rank", "qr", "svd"):
                getattr(linalg, name)(x)
            linalg.logm(x + 0j)
            linalg.triangular_solve(x, x)
            linalg.tridiagonal_solve(x, x[0], "matrix")
        linalg.tridiagonal_matmul(np.full((3, 2), np.inf), np.zeros((2, 1)))
    assert capfd.readouterr().err == ""
