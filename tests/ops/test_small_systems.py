"""Many small matrices: factors, solutions, inverses and determinants against NumPy's, and where only LAPACK can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.core.native import array_kernels


def both(function: Any, *args: Any) -> Any:
    """What an op gives eagerly; a Function gives the same, and so do its kernels."""
    given = [tf.constant(a) for a in args]
    eager = function(*given).numpy()
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            np.testing.assert_array_equal(tf.function(function)(*given), eager)
    return eager


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(5, 1), (2, 3, 2), (7, 5), (3, 32), (2, 33), (0, 4), (3, 0)], ids=str)
def test_systems_of_any_size(rng: Any, dtype: str, shape: Any) -> None:
    *batch, n = shape
    a = rng.standard_normal((*batch, n, n)) + np.eye(n) * rng.choice([0.0, n + 1], (*batch, 1, 1))
    a = a + 1j * rng.standard_normal(a.shape) if dtype == "complex64" else a
    a, b = a.astype(dtype), rng.standard_normal((*batch, n, 3)).astype(dtype)
    wide = a.astype(complex if dtype == "complex64" else float)
    condition = float(np.linalg.cond(wide).max()) if a.size else 1.0
    near = {"rtol": 0, "atol": (4e-3 if dtype == "float16" else 1e-15 if dtype == "float64" else 1e-6) * 30 * condition}
    inverse = np.linalg.inv(wide)
    if dtype != "float16":
        size = float(np.abs(inverse).max()) * (n + 1) if a.size else 1.0
        near["atol"] *= size
        np.testing.assert_allclose(both(tf.linalg.inv, a), inverse, **near)
        for adjoint in (False, True):
            wanted = (inverse.conj().swapaxes(-1, -2) if adjoint else inverse) @ b
            found = both(lambda a, b, t=adjoint: tf.linalg.solve(a, b, adjoint=t), a, b)
            assert found.dtype == b.dtype
            np.testing.assert_allclose(found, wanted, **near)
        if n < 32:  # others' may be too large
            wanted = np.linalg.det(wide)
            np.testing.assert_allclose(both(tf.linalg.det, a), wanted, rtol=near["atol"], atol=near["atol"])
    square = wide @ wide.conj().swapaxes(-1, -2) + (n + 1) * np.eye(n)
    factor = both(tf.linalg.cholesky, np.tril(square).astype(dtype)).astype(
        wide.dtype
    )  # the upper triangle is not read
    np.testing.assert_allclose(factor @ factor.conj().swapaxes(-1, -2), square, rtol=0, atol=np.abs(square).max(
        initial=1.0) * (1e-2 if dtype == "float16" else 1e-5))  # fmt: skip
    assert not np.triu(factor, 1).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_triangles_are_substituted(rng: Any, dtype: str, n: int) -> None:
    a = (rng.standard_normal((4, n, n)) / n + 2 * np.eye(n)).astype(dtype)
    a[0], b = np.asfortranarray(a[0]), rng.standard_normal((3, 4, n, 2)).astype(dtype)
    for lower in (False, True):
        triangle = np.tril(a) if lower else np.triu(a)
        for adjoint in (False, True):
            wanted = np.linalg.solve(triangle.swapaxes(-1, -2) if adjoint else triangle, b)
            found = both(lambda a, b, lo=lower, t=adjoint: tf.linalg.triangular_solve(a, b, lower=lo, adjoint=t), a, b)
            np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [33, 62, 256, 257])
def test_systems_of_moderate_size_by_vectors(rng: Any, dtype: str, n: int) -> None:
    a = rng.standard_normal((2, n, n)).astype(dtype)  # whose rows are exchanged
    for k in (1, 16, 71, 130):
        b = rng.standard_normal((2, n, k)).astype(dtype)
        x = b.copy()
        much = n * a.itemsize <= 512 or 2 * k >= n  # of substitution beside elimination
        assert array_kernels.solved(a, x, False) == (n <= 256 and much)
        for turned in (False, True):
            whole = a.swapaxes(1, 2) if turned else a
            found = tf.linalg.solve(a, b, adjoint=turned).numpy()
            assert found.dtype == dtype
            # The residual, which does not grow with the condition.
            rest = np.abs(whole.astype(float) @ found.astype(float) - b)
            size = np.abs(whole).max() * np.abs(found).max() * n
            assert rest.max() <= 4 * np.finfo(dtype).eps * size
            lower = np.tril(a) + n * np.eye(n, dtype=dtype)
            both_ways = tf.linalg.triangular_solve(lower, b, adjoint=turned).numpy()
            wanted = np.linalg.solve(lower.swapaxes(1, 2) if turned else lower, b.astype(float))
            np.testing.assert_allclose(both_ways, wanted, rtol=0, atol=2e3 * np.finfo(dtype).eps * np.abs(wanted).max())


def test_moderate_systems_without_solutions_are_told_as_ever(rng: Any) -> None:
    a = rng.standard_normal((40, 40))
    for bad in (np.nan, np.inf, 0.0):  # of what is not finite, and no column begins with it, something is found
        a[:, 20] = bad
        given = np.stack([np.eye(40), a])
        if bad != 0:
            assert not array_kernels.solved(given, np.ones((2, 40, 3)), False)
            continue
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            tf.linalg.solve(given, np.ones((2, 40, 3)))
    assert np.isinf(tf.linalg.triangular_solve(np.diag([1.0] * 39 + [0]), np.ones((40, 1))).numpy()[39, 0])


def test_what_has_no_factors_is_told_as_ever() -> None:
    one = np.eye(3)
    for bad in (np.zeros((3, 3)), np.ones((3, 3)), np.full((3, 3), np.nan)):
        a = np.stack([one, bad, one])
        for function in (tf.linalg.inv, lambda a: tf.linalg.solve(a, a)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                function(tf.constant(a))
            with flags.override(tier="last"), pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                tf.function(function)(tf.constant(a))
        found = both(tf.linalg.cholesky, np.stack([one, -bad if bad[0, 0] == 1 else bad, one]))
        assert np.array_equal(found[::2], [one, one]) and np.isnan(found[1][np.tril_indices(3)]).all()
        assert not found[1][np.triu_indices(3, 1)].any()
        determinants = tf.linalg.det(a).numpy()
        assert determinants[0] == determinants[2] == 1 and (determinants[1] == 0) is np.bool_(bad[0, 0] == bad[0, 0])
    infinite = np.array([[1.0, np.inf], [0.0, 1.0]])
    assert not array_kernels.solved(infinite[None], infinite[None].copy(), False)
    huge = np.diag([1e30, 1e30, 1e-30, 1e-30]).astype(np.float32)  # whose products leave float32 on the way
    np.testing.assert_allclose(tf.linalg.det([huge, huge[::-1].copy()]), [1, 1], rtol=1e-4)
    np.testing.assert_allclose(tf.linalg.det(np.diag([1e150] * 2 + [1e-150] * 2)), 1, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_what_is_divided_by_complex_infinities_is_nothing(dtype: str) -> None:
    """TensorFlow's numbers; NumPy's quotient by what is infinite in both parts would be NaN."""
    for endless in (complex(np.inf, 0), complex(1, -np.inf), complex(np.inf, np.inf), complex(-np.inf, np.inf)):
        a = np.array([[1, 2], [endless, 4]], dtype)
        assert both(tf.linalg.inv, a).tolist() == [[0, 0], [0.5, 0]]
        assert both(tf.linalg.solve, a, np.array([[1], [2]], dtype)).tolist() == [[0], [0.5]]


def test_arrays_of_other_sizes_are_refused() -> None:
    a, x = np.ones((2, 3, 3)), np.ones((2, 3, 1))
    for wrong in ((a[0], x), (a, x[:1]), (a, x[:, :2]), (a[:, :2], x)):
        with pytest.raises(ValueError):
            array_kernels.solved(*wrong, False)
        with pytest.raises(ValueError):
            array_kernels.substituted(*wrong, True, False)
    x.setflags(write=False)
    views = ((a, x), (a, np.ones((2, 1, 3)).swapaxes(1, 2)[:, ::-1]), (a[:, ::-1], x.copy()), (a, x.astype("f")))
    assert not any(array_kernels.solved(*each, False) or array_kernels.substituted(*each, True, True) for each in views)
    assert array_kernels.factored(a.astype(int)) is None and array_kernels.determinants(a[..., ::-1]) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_in_kernels(rng: Any, dtype: str) -> None:
    for _ in range(30):
        n = int(rng.integers(1, 5))
        a = (rng.standard_normal((3, n, n)) + 3 * np.eye(n)).astype(dtype)
        a[tuple(rng.integers(0, (3, n, n)))] = rng.choice([np.inf, -np.inf, np.nan])
        b = rng.standard_normal((3, n, 2)).astype(dtype)
        for function, args in (
            (tf.linalg.cholesky, [a]),
            (tf.linalg.triangular_solve, [a, b]),
            (tf.linalg.solve, [a, b]),
        ):
            given = [tf.constant(x) for x in args]
            try:
                eager = function(*given)
            except tf.errors.InvalidArgumentError:
                with flags.override(tier="last"), pytest.raises(tf.errors.InvalidArgumentError):
                    tf.function(function)(*given)
                continue
            with flags.override(tier="last"):
                np.testing.assert_allclose(tf.function(function)(*given), eager, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_a_loop_over_small_systems_is_one_kernel(rng: Any) -> None:
    """As in a Kalman filter: nothing of a step is Python's."""
    a = tf.constant(rng.standard_normal((4, 4)) * 0.1 + np.eye(4), tf.float32)

    @tf.function
    def run(p: Any, n: Any) -> Any:
        for _ in tf.range(n):
            p = a @ p @ tf.transpose(a) + 0.1 * tf.eye(4)
            gain = tf.linalg.solve(p + tf.eye(4), p)
            p = p - p @ gain + 1e-3 * tf.linalg.inv(tf.linalg.cholesky(p))
        return p

    given = (tf.eye(4), tf.constant(20))
    with flags.override(tier="last"):
        found = run(*given)
        assert run.get_concrete_function(*given).host_steps == 0
    with flags.override(tier="first"):
        np.testing.assert_allclose(found, tf.function(run.python_function)(*given), rtol=1e-4)


def test_batches_that_are_not_known(rng: Any) -> None:
    a, b = rng.standard_normal((3, 2, 2)) + 3 * np.eye(2), rng.standard_normal((3, 2, 1))
    signature = [tf.TensorSpec([None, 2, 2], tf.float64), tf.TensorSpec([None, 2, 1], tf.float64)]
    solve = tf.function(tf.linalg.solve, input_signature=signature)
    with flags.override(tier="last"):
        np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b))
        with pytest.raises(tf.errors.InvalidArgumentError, match="same outer dimensions"):
            solve(a, b[:2])
        grow = tf.function(tf.linalg.inv, input_signature=[tf.TensorSpec([None, None, None], tf.float64)])
        for n in (1, 2, 40):
            x = rng.standard_normal((2, n, n)) + 9 * np.eye(n)
            np.testing.assert_allclose(grow(x) @ x, np.broadcast_to(np.eye(n), x.shape), atol=1e-9)


def everything(a: Any, b: Any) -> list[Any]:
    """Factors of a, and solutions of its triangles, each side of each: of [p, n, n] and [p, n, k]."""
    sides = [(lower, turned) for lower in (False, True) for turned in (False, True)]
    solved = [tf.linalg.triangular_solve(a, b, lower=lower, adjoint=turned) for lower, turned in sides]
    whole = [tf.linalg.solve(a, b), tf.linalg.solve(a, b, adjoint=True), tf.linalg.inv(a)]
    return [tf.linalg.cholesky(a), *solved, tf.linalg.triangular_solve(a[0], b), *whole]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_small_systems(rng: Any, dtype: str) -> None:
    """They give what eager calls do, also of what has no factors, and of infinite pivots; none is a host step."""
    shapes = [tf.TensorSpec([None, 5, 5], dtype), tf.TensorSpec([None, 5, 2], dtype)]
    kernels = tf.function(everything, input_signature=shapes)
    concrete = kernels.get_concrete_function()
    a, b = rng.standard_normal((6, 5, 5)) + 3 * np.eye(5), rng.standard_normal((6, 5, 2))
    a[:5] = a[:5] @ a[:5].swapaxes(-1, -2) + np.eye(5)
    a[1] *= np.where(np.eye(5) > 0, -1, 1)
    a[2, 3, 3], a[3, 2, 2], a[4, 2, 0] = np.nan, np.inf, np.nan
    for p in (6, 1):
        given = tf.constant(a[:p], dtype), tf.constant(b[:p], dtype)
        with flags.override(tier="last"):
            found = kernels(*given)
        for one, wanted in zip(found, everything(*given), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5)
    assert concrete.host_steps == 0
    for bad in (np.zeros((5, 5)), np.full((5, 5), np.nan), np.outer(np.arange(1, 6), np.arange(1, 6) / 10)):
        with flags.override(tier="last"), pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            kernels(tf.constant(bad[None], dtype), tf.constant(b[:1], dtype))


def test_a_loop_of_small_systems_has_no_host_step(rng: Any) -> None:
    a = tf.constant(rng.standard_normal((3, 3)) / 3, tf.float32)

    def filtered(p: Any) -> Any:
        for _ in tf.range(50):
            shown = tf.matmul(a @ p, a, transpose_b=True) + tf.eye(3)
            p = 0.5 * p + 0.3 * tf.linalg.cholesky_solve(tf.linalg.cholesky(shown), p) + 0.2 * tf.linalg.inv(shown)
        return p

    p, staged = tf.eye(3) + 0.1, tf.function(filtered)
    with flags.override(tier="last"):
        np.testing.assert_allclose(staged(p), filtered(p), rtol=1e-5)
    assert staged.get_concrete_function(p).host_steps == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [33, 130])
def test_one_column_of_larger_systems(rng: Any, dtype: str, n: int) -> None:
    """As in a proximal step or a Gaussian process: a loop over them has no host step."""
    a, b = rng.standard_normal((2, n, n)) / n + 2 * np.eye(n), rng.standard_normal((2, n, 1))
    given = tf.constant(a, dtype), tf.constant(b, dtype)
    for lower in (False, True):
        for turned in (False, True):
            solve = tf.function(lambda a, b: tf.linalg.triangular_solve(a, b, lower=lower, adjoint=turned))  # noqa: B023
            half = np.tril(a) if lower else np.triu(a)
            exact = np.linalg.solve(half.swapaxes(-1, -2) if turned else half, b)
            with flags.override(tier="last"):
                for found, wanted in ((solve(*given), exact), (solve(given[0][1], given[1][1]), exact[1])):
                    np.testing.assert_allclose(found, wanted, rtol=2e-4 if dtype == "float32" else 1e-12, atol=1e-5)
            assert solve.get_concrete_function(*given).host_steps == 0
