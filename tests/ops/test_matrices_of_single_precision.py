"""Large matrices of single precision beside NumPy's functions, which compute in double: values, stacks, failures."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf

N = 60


def matrices(dtype: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    real = rng.normal(size=shape)
    return (real + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def definite(dtype: str, *lead: int) -> np.ndarray:
    a = matrices(dtype, *lead, N, N)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) / N + np.eye(N)).astype(dtype)


def check(found: tf.Tensor, wanted: np.ndarray, dtype: str) -> None:
    assert found.dtype.name == dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=3e-5 * np.abs(wanted).max(initial=1))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("lead", [(), (2,), (2, 1), (0,)])
def test_factors_and_solutions(dtype: str, lead: tuple[int, ...]) -> None:
    a, h = matrices(dtype, *lead, N, N) + N**0.5 * np.eye(N, dtype=dtype), definite(dtype, *lead)
    b = matrices(dtype, *lead, N, 3)
    wide = "complex128" if dtype == "complex64" else "float64"
    real = "float32"
    check(tf.linalg.cholesky(h), np.linalg.cholesky(h.astype(wide)), dtype)
    check(tf.linalg.solve(a, b), np.linalg.solve(a.astype(wide), b), dtype)
    check(tf.linalg.solve(a, b, adjoint=True), np.linalg.solve(np.conj(np.swapaxes(a, -1, -2)).astype(wide), b), dtype)
    check(tf.linalg.inv(a), np.linalg.inv(a.astype(wide)), dtype)
    values, vectors = tf.linalg.eigh(h)
    check(values, np.linalg.eigvalsh(h.astype(wide)), dtype)
    check(tf.linalg.eigvalsh(h), np.linalg.eigvalsh(h.astype(wide)), dtype)
    check(h @ vectors, (vectors * values[..., None, :]).numpy(), dtype)
    for rows, columns in ((N, N), (N + 9, N), (N, N + 9)):
        x = matrices(dtype, *lead, rows, columns)
        for full in (False, True):
            q, r = tf.linalg.qr(x, full_matrices=full)
            check(q @ r, x, dtype)
            check(tf.linalg.adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*lead, *[q.shape[-1]] * 2)), dtype)
            s, u, v = tf.linalg.svd(x, full_matrices=full)
            check(s, np.linalg.svd(x.astype(wide), compute_uv=False), real)
            k = s.shape[-1]
            check((u[..., :k] * tf.cast(s, dtype)[..., None, :]) @ tf.linalg.adjoint(v[..., :k]), x, dtype)
            assert u.shape[-1] == (rows if full else k) and v.shape[-1] == (columns if full else k)
        check(tf.linalg.svd(x, compute_uv=False), np.linalg.svd(x.astype(wide), compute_uv=False), real)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_matrices_that_cannot_be_factored(dtype: str) -> None:
    h = definite(dtype, 3)
    h[1, 5, 5] = -1
    found = tf.linalg.cholesky(h).numpy()
    assert np.isnan(found[1][np.tril_indices(N)]).all() and np.isfinite(found[[0, 2]]).all()
    assert (found[1][np.triu_indices(N, 1)] == 0).all()
    singular = matrices(dtype, 2, N, N)
    singular[1, :, 7] = 0
    for call in (lambda x: tf.linalg.inv(x), lambda x: tf.linalg.solve(x, x)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            call(singular)


def test_the_other_triangle_is_not_read() -> None:
    h = definite("float32")
    above = np.where(np.triu(np.ones((N, N)), 1) > 0, np.float32(np.nan), h)
    np.testing.assert_array_equal(tf.linalg.cholesky(above).numpy(), tf.linalg.cholesky(h).numpy())
    assert above[0, 1] != above[0, 1]  # nor written


def test_transposed_and_broadcast_operands() -> None:
    h = definite("float32")
    wanted = np.linalg.cholesky(h.astype("float64"))
    check(tf.linalg.cholesky(np.asfortranarray(h)), wanted, "float32")
    twice = np.broadcast_to(h, (2, N, N))
    check(tf.linalg.cholesky(twice), np.stack([wanted, wanted]), "float32")
    check(tf.linalg.inv(h.T), np.linalg.inv(h.T.astype("float64")), "float32")


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("lead", [(), (1,), (2, 3)])
def test_systems_without_right_sides(dtype: str, lead: tuple[int, ...]) -> None:
    matrices = np.broadcast_to(np.eye(300, dtype=dtype), (*lead, 300, 300))
    assert tf.linalg.solve(matrices, np.zeros((*lead, 300, 0), dtype)).shape == (*lead, 300, 0)
