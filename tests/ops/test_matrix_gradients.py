"""Gradients of tf.linalg's ops, of orders 1 and 2, through complex matrices; and their graphs of unknown sizes.

Functions here do not depend on signs and phases of vectors. Real gradients: test_op_gradients.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import linalg
from fastgraph.core.base import flags
from tests.ops.test_decompositions import dominant, number

Maker = Callable[[Any], Any]


def turned(x: Any) -> Any:
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


def outer(x: Any, y: Any = None) -> Any:
    return linalg.matmul(x, x if y is None else y, adjoint_b=True)


def scaled(u: Any, s: Any) -> Any:
    return u * fg.cast(s, u.dtype)[..., None, :]


def b(a: Any) -> Any:
    """A right-hand side of a's dtype."""
    return fg.cast(dominant(np.random.default_rng(2), (3, 2), "complex128"), a.dtype)


ALPHA = fg.constant([1.0, 2.0, 4.0, 8.0], fg.complex128)
#: name -> (kind of the matrix, a function that does not depend on phases)
FUNCTIONS: dict[str, tuple[str, Maker]] = {
    "cholesky": ("hermitian", linalg.cholesky),
    "logdet": ("hermitian", linalg.logdet),
    "eigh": ("hermitian", lambda a: fg.abs(linalg.eigh(a)[1]) ** 2),
    "eigenvalues of eigh": ("hermitian", lambda a: linalg.eigh(a)[0]),
    "eigvalsh": ("hermitian", lambda a: linalg.eigvalsh(a) ** 2),
    "function by eigh": ("hermitian", lambda a: outer(scaled(linalg.eigh(a)[1], fg.exp(linalg.eigh(a)[0] / 9)))),
    "cholesky_solve": ("square", lambda a: linalg.cholesky_solve(a, b(a))),
    "lu": ("square", lambda a: linalg.lu(a)[0]),
    "lu_solve": ("square", lambda a: linalg.lu_solve(*linalg.lu(a), b(a))),
    "lu_reconstruct": ("square", lambda a: linalg.lu_reconstruct(*linalg.lu(a))),
    "q": ("square", lambda a: linalg.qr(a)[0]),
    "r": ("square", lambda a: linalg.qr(a)[1]),
    "q of tall": ("tall", lambda a: linalg.qr(a)[0]),
    "r of tall": ("tall", lambda a: linalg.qr(a)[1]),
    "q of wide": ("wide", lambda a: linalg.qr(a)[0]),
    "r of wide": ("wide", lambda a: linalg.qr(a)[1]),
    "r of wide, full": ("wide", lambda a: linalg.qr(a, full_matrices=True)[1]),
    "s": ("tall", lambda a: linalg.svd(a)[0]),
    "s alone": ("wide", lambda a: linalg.svd(a, compute_uv=False)),
    "u": ("tall", lambda a: fg.abs(linalg.svd(a)[1]) ** 2),
    "v": ("tall", lambda a: fg.abs(linalg.svd(a)[2]) ** 2),
    "u of wide": ("wide", lambda a: fg.abs(linalg.svd(a)[1]) ** 2),
    "v of wide": ("wide", lambda a: fg.abs(linalg.svd(a)[2]) ** 2),
    "full u": ("tall", lambda a: fg.abs(linalg.svd(a, full_matrices=True)[1]) ** 2),
    "full v": ("wide", lambda a: fg.abs(linalg.svd(a, full_matrices=True)[2]) ** 2),
    "function by svd": ("square", lambda a: outer(scaled(linalg.svd(a)[1], linalg.svd(a)[0] ** 2), linalg.svd(a)[2])),
    "eig": ("square", lambda a: fg.abs(linalg.eig(a)[1]) ** 2),
    "eigvals": ("square", lambda a: linalg.eigvals(a) ** 3),
    "det": ("square", linalg.det),
    "phase of det": ("square", lambda a: linalg.slogdet(a)[0]),
    "size of det": ("square", lambda a: linalg.slogdet(a)[1]),
    "inv": ("square", lambda a: linalg.inv(a, adjoint=True)),
    "solve": ("square", lambda a: linalg.solve(a, a[:, :2] * b(a))),
    "solve of the adjoint": ("square", lambda a: linalg.solve(a, a[:, :2] * b(a), adjoint=True)),
    "triangular": ("square", lambda a: linalg.triangular_solve(a, a[:, :2] * b(a))),
    "triangular, broadcast": ("square", lambda a: linalg.triangular_solve(a, fg.stack([b(a), b(a) * 2]), False, True)),
    "banded": ("bands", lambda a: linalg.banded_triangular_solve(a, b(a))),
    "banded, adjoint, broadcast": (
        "bands",
        lambda a: linalg.banded_triangular_solve(a, fg.stack([b(a), b(a)]), True, True),
    ),
    "tridiagonal": ("square", lambda a: linalg.tridiagonal_solve(a, a[:, :2] * b(a), "matrix")),
    "tridiagonal product": ("square", lambda a: linalg.tridiagonal_matmul(a, a * a)),
    "eigh_tridiagonal": ("row", lambda c: linalg.eigh_tridiagonal(ALPHA, c[0])),
    "vectors of eigh_tridiagonal": ("row", lambda c: outer(linalg.eigh_tridiagonal(ALPHA, c[0], False)[1][:, :2])),
    "lstsq": ("tall", lambda a: linalg.lstsq(a, a[:, :2] * a[:, 1:])),
    "lstsq of wide": ("wide", lambda a: linalg.lstsq(a, a[:, :2], 0.3)),
    "lstsq by singular values": ("tall", lambda a: linalg.lstsq(a, a[:, :2] * a[:, 1:], fast=False)),
    "expm": ("square", lambda a: linalg.expm(a / 4)),
    "sqrtm": ("square", linalg.sqrtm),
    "logm": ("square", linalg.logm),
}
SHAPES = {"hermitian": (3, 3), "square": (3, 3), "tall": (4, 3), "wide": (2, 3), "bands": (2, 3), "row": (1, 3)}


def drawn(kind: str, dtype: str, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = dominant(random, SHAPES[kind], dtype)
    return x + turned(x) if kind == "hermitian" else x


def along(kind: str, dtype: str, seed: int) -> Any:
    v = number(np.random.default_rng(seed), SHAPES[kind], dtype)
    return v + turned(v) if kind == "hermitian" else v


def weighed(y: Any) -> Any:
    w = number(np.random.default_rng(4), tuple(y.shape), y.dtype.name)
    return fg.reduce_sum(fg.math.real(y * w))


def slope_of(f: Maker, x: Any) -> Any:
    x = fg.convert_to_tensor(x)
    with fg.GradientTape() as tape:
        tape.watch(x)
        total = weighed(f(x))
    return tape.gradient(total, x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_complex_matrices(name: str) -> None:
    kind, f = FUNCTIONS[name]
    x, v, p = drawn(kind, "complex128"), along(kind, "complex128", 1), along(kind, "complex128", 2)
    h = 1e-5

    def inner(a: Any, b: Any) -> float:
        return float(np.sum((np.conj(a) * b).real))

    wanted = float((weighed(f(fg.constant(x + h * v))) - weighed(f(fg.constant(x - h * v)))) / (2 * h))
    assert inner(slope_of(f, x).numpy(), v) == pytest.approx(wanted, rel=1e-6, abs=1e-7)

    z = fg.constant(x)
    with fg.GradientTape() as tape:
        tape.watch(z)
        total = fg.reduce_sum(fg.math.real(slope_of(f, z) * np.conj(p)))
    second = tape.gradient(total, z, unconnected_gradients="zero").numpy()
    change = (slope_of(f, x + h * v).numpy() - slope_of(f, x - h * v).numpy()) / (2 * h)
    assert inner(second, v) == pytest.approx(inner(change, p), rel=1e-5, abs=1e-6)


def test_equal_values_have_no_infinite_gradients() -> None:
    w = np.arange(9.0).reshape(3, 3)
    for f in (
        lambda a: linalg.svd(a)[1],
        lambda a: linalg.svd(a)[2],
        lambda a: linalg.svd(a)[0],
        lambda a: linalg.eigh(a)[1],
        lambda a: fg.math.real(linalg.eig(a)[1]),
    ):
        for x in (np.eye(3), np.zeros((3, 3))):
            assert np.isfinite(slope_of(f, x).numpy()).all()
            z = fg.constant(x)
            with fg.GradientTape() as tape:
                tape.watch(z)
                total = fg.reduce_sum(slope_of(f, z) * w)
            assert np.isfinite(tape.gradient(total, z, unconnected_gradients="zero").numpy()).all()
    x = fg.eye(3, dtype=fg.float64)  # the pseudoinverse of an inverse, though singular values are equal
    with fg.GradientTape() as tape:
        tape.watch(x)
        total = fg.reduce_sum(linalg.pinv(x) * w)
    np.testing.assert_allclose(tape.gradient(total, x).numpy(), -w, atol=1e-12)


def test_gradients_read_the_triangle_that_the_op_reads() -> None:
    a = np.array([[4.0, 9.0, 9.0], [1.0, 3.0, 9.0], [1.0, 1.0, 2.0]])
    for f in (linalg.eigvalsh, lambda a: linalg.eigh(a)[1], lambda a: linalg.triangular_solve(a, np.ones((3, 1)))):
        assert not np.triu(slope_of(f, a).numpy(), 1).any()
    found = slope_of(linalg.cholesky, a).numpy()
    np.testing.assert_allclose(found, found.T)


# ---- graphs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, (kind, _) in FUNCTIONS.items() if kind != "row"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_one_trace_with_unknown_sizes(name: str, dtype: str) -> None:
    kind, f = FUNCTIONS[name]
    dtype = "complex128" if name == "logm" else dtype
    x = fg.constant(drawn(kind, dtype))
    spec = x.shape if name == "r of wide, full" else [None, None]

    def both(a: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(a)
            y = f(a)
            total = fg.reduce_sum(fg.math.real(y))
        return y, tape.gradient(total, a)

    function = fg.function(both, input_signature=[fg.TensorSpec(spec, dtype)], autograph=False)
    for got, wanted in zip(function(x), both(x), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cholesky", "function by eigh", "solve", "lstsq", "expm", "r"])
def test_compiled_between_kernels(name: str) -> None:
    """Host steps for LAPACK, kernels around them."""
    kind, f = FUNCTIONS[name]

    def step(a: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(a)
            total = fg.reduce_sum(fg.tanh(f(a * 0.5 + a * 0.5)) * 2.0)
        return total, tape.gradient(total, a)

    x = fg.constant(drawn(kind, "float64"))
    with flags.override(tier="last"):
        function = fg.function(step, autograph=False)
        got = function(x)
        assert function.get_concrete_function(x).executable.is_compiled
    for mine, wanted in zip(got, step(x), strict=True):
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


#: What asks for a known rank, and says so.
RANKED = {"r of wide, full", "banded", "banded, adjoint, broadcast"}


@pytest.mark.parametrize("name", [n for n, (kind, _) in FUNCTIONS.items() if kind != "row"])
def test_unknown_rank(name: str) -> None:
    kind, f = FUNCTIONS[name]
    x = fg.constant(drawn(kind, "complex128"))
    function = fg.function(lambda a: slope_of(f, a), input_signature=[fg.TensorSpec(None, x.dtype)], autograph=False)

    def weighed_now(y: Any) -> Any:
        return fg.reduce_sum(fg.math.real(y))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "weighed", weighed_now)  # weights of an unknown shape cannot be drawn
        if name in RANKED:
            with pytest.raises(NotImplementedError):
                function(x)
        else:
            np.testing.assert_allclose(function(x).numpy(), slope_of(f, x).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("transpose", [linalg.matrix_transpose, linalg.adjoint])
def test_transposes_of_unknown_rank(transpose: Maker) -> None:
    function = fg.function(transpose, input_signature=[fg.TensorSpec(None, fg.float32)])
    for shape in ((2, 3), (2, 2, 3), (1, 1), (0, 3)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        np.testing.assert_array_equal(function(fg.constant(x)).numpy(), np.swapaxes(x, -1, -2))
    with pytest.raises(fg.errors.InvalidArgumentError, match="at least 2-dim"):
        function(fg.ones([3]))


@pytest.mark.parametrize(
    "function", [linalg.expm, linalg.sqrtm, lambda a: fg.math.real(linalg.logm(fg.cast(a, "complex64")))]
)
@pytest.mark.parametrize("factor", [1e-8, 1e8, 0.0])
def test_functions_of_matrices_with_a_large_cotangent(function: Maker, factor: float) -> None:
    a = fg.constant(drawn("square", "float32"))

    def slopes(by: float) -> list[Any]:
        with fg.GradientTape() as outer:
            outer.watch(a)
            with fg.GradientTape() as tape:
                tape.watch(a)
                y = fg.reduce_sum(function(a)) * by
            first = tape.gradient(y, a)
        return [first, outer.gradient(first, a)]

    for found, wanted in zip(slopes(factor), slopes(1.0), strict=True):
        scale = np.abs(wanted.numpy()).max() * factor
        np.testing.assert_allclose(found.numpy(), wanted.numpy() * factor, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(("shape", "axes"), [((3, 4), (0, 1)), ((3, 4, 2), (-1, 0)), ((2, 3, 4), (2, 1))])
def test_greatest_singular_value_as_norm(dtype: str, shape: Any, axes: Any) -> None:
    x = number(np.random.default_rng(1), shape, dtype)
    for keep in (False, True):
        wanted = np.linalg.norm(x, 2, axes, keepdims=keep)
        for f in (fg.norm, fg.function(fg.norm)):
            found = f(fg.constant(x), 2, axes, keepdims=keep)
            assert found.shape == wanted.shape and found.dtype.name == wanted.dtype.name
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
    if dtype == "float64":
        x = fg.constant(x)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.reduce_sum(fg.norm(x, 2, axes))
        step = 1e-6 * np.random.default_rng(2).standard_normal(shape)
        moved = (fg.reduce_sum(fg.norm(x + step, 2, axes)) - fg.reduce_sum(fg.norm(x - step, 2, axes))).numpy()
        np.testing.assert_allclose(2 * (tape.gradient(y, x).numpy() * step).sum(), moved, rtol=1e-4)


def test_a_matrix_without_a_cholesky_factor_leaves_the_others_of_its_batch_alone() -> None:
    good, bad = [[4.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]

    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.linalg.cholesky(x)
        return tape.gradient(y, x)

    wanted = gradient(fg.constant(good)).numpy()
    for f in (gradient, fg.function(gradient)):
        found = f(fg.constant([good, bad, good])).numpy()
        np.testing.assert_allclose(found[[0, 2]], [wanted, wanted], rtol=1e-6)
        assert np.isnan(found[1]).all()
