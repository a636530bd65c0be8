"""Complex numbers in kernels: the values of the NumPy bodies, of finite numbers, infinities, NaN and signed zeros."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

F = Callable[..., Any]

COMPLEX = ("complex64", "complex128")
TOLERANCE = {"complex64": 4e-6, "float32": 4e-6, "complex128": 1e-13, "float64": 1e-13}


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    return fg.constant((random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype))


def special(dtype: str) -> np.ndarray:
    parts = (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 2.0**40, 2.0**-40)
    x = np.empty(len(parts) ** 2, dtype)
    x.real, x.imag = zip(*itertools.product(parts, parts), strict=True)
    return x


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(f: F, *args: Any, kinds: set[str] | None = None, like: Any = None) -> None:
    """f compiled has the dtypes and values of f; its steps are of these kinds."""
    function = fg.function(f, input_signature=like)
    with flags.override(tier="last"):
        got = flat(function(*args))
        steps = function.get_concrete_function(*args).steps()
    for a, b in zip(got, flat(f(*args)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        tolerance = TOLERANCE.get(a.dtype.name, 0)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)
    assert {s.kind for s in steps} <= (kinds or {"kernel"}), steps


def arithmetic(x: Any, y: Any) -> list[Any]:
    return [x + y, x - y, x * y, x / y, -x, fg.square(x), fg.math.reciprocal(x), x == y, x != y]


def parts(x: Any, y: Any) -> list[Any]:
    real, imag = fg.math.real(x), fg.math.imag(y)
    return [real, imag, fg.math.conj(x), fg.abs(x), fg.sign(y), fg.complex(real, imag), fg.where(real > imag, x, y)]


def curves(x: Any) -> list[Any]:
    return [fg.exp(x), fg.math.log(x), fg.sqrt(x)]


def totals(x: Any) -> list[Any]:
    axes: list[Any] = [None, *([i] for i in range(x.shape.rank or 0))]
    return [f(x, a) for a in axes for f in (fg.reduce_sum, fg.reduce_mean, fg.reduce_prod)]


def moves(x: Any) -> list[Any]:
    y = fg.stack([x, x * 2])
    return [
        fg.transpose(y),
        fg.reverse(y, [0]),
        fg.pad(y, [[1, 0]] * (y.shape.rank or 0)),
        fg.tile(y[::-1], [2] * y.shape.rank),
    ]


SHAPES = [(), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0,), (3, 0)]


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_every_rank(shape: tuple[int, ...], dtype: str) -> None:
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    check(arithmetic, x, y, kinds={"kernel", "alias"})
    check(parts, x, y)
    check(curves, x)
    check(totals, x, kinds={"kernel", "alias"})
    if shape:
        check(moves, x)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_broadcasting_and_unknown_sizes(dtype: str) -> None:
    like = [fg.TensorSpec([None, None], dtype), fg.TensorSpec([None], dtype)]
    for rows, columns in ((3, 4), (1, 1), (0, 2), (200, 70)):
        x, y = numbers((rows, columns), dtype), numbers((columns,), dtype, 1)
        check(lambda a, b: [*arithmetic(a, b), fg.reduce_sum(a * b, 0), fg.reduce_mean(a / b, 1)], x, y, like=like)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_infinities_nan_and_zeros(dtype: str) -> None:
    values = special(dtype)
    x, y = (fg.constant(v.reshape(-1)) for v in np.meshgrid(values, values))
    functions = [arithmetic, parts, lambda a, b: [fg.reduce_sum(a), fg.reduce_prod(a * 0 + b)]]
    for f in functions:
        check(f, x, y)
    check(curves, fg.constant(values))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_zeros_keep_their_signs(dtype: str) -> None:
    x = fg.constant(special(dtype)[:20])
    y = fg.constant(special(dtype)[1:21])
    for f in (arithmetic, parts):
        with flags.override(tier="last"):
            got = fg.function(f)(x, y)
        for a, b in zip(got, f(x, y), strict=True):
            if a.dtype.is_complex:
                for part in (np.real, np.imag):
                    p, q = part(a.numpy()), part(b.numpy())
                    np.testing.assert_array_equal(np.signbit(p)[q == 0], np.signbit(q)[q == 0])


def test_curves_near_their_edges() -> None:
    for dtype, scales in (("complex64", (1e-36, 1e30, 3e38, 88, 100)), ("complex128", (1e-300, 1.7e308, 709))):
        for scale in scales:
            x = np.array([1 + 1j, 1 - 1.57079632679j, 0.001 + 1j, -1, -1j, 1 + 1e-3j, 0.6 + 0.8j], dtype)
            check(curves, fg.constant((x * scale).astype(dtype)))
            check(lambda t: [fg.exp(t)], fg.constant((x.real * scale + 1j * x.imag).astype(dtype)))
    check(curves, fg.constant(x))


def test_moduli_neither_overflow_nor_underflow() -> None:
    for dtype, scales in (("complex64", (1e-42, 1e-30, 1e30, 3e38)), ("complex128", (1e-320, 1e-200, 1e200, 1.7e308))):
        for scale in scales:
            x = fg.constant(np.array([3 + 4j, 0.1 - 0.2j, 1j, 1], dtype) * 0.2 * scale)
            check(lambda t: [fg.abs(t), fg.sign(t)], x)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_casts_of_every_pair(dtype: str) -> None:
    others = (
        "bool",
        "uint8",
        "int16",
        "int32",
        "uint64",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        *COMPLEX,
    )
    x = fg.constant(np.array([0, 1.5 - 2j, -3 + 0j, 2j, 100.25], dtype))
    check(lambda t: [fg.cast(t, d) for d in others if d != dtype], x)
    for d in others:
        y = fg.cast(fg.constant([0, 1, 1, 0, 3]), d)
        check(lambda t: [fg.cast(t, dtype), fg.cast(t, dtype) + 1j], y)


def test_parts_of_float32_stay_float32() -> None:
    """A sum of complex64 parts rounds as float32 does: nothing is computed in complex128 in between."""
    x = fg.constant(np.array([1 + 1j, 1e8 + 1e8j], "complex64"))
    with flags.override(tier="last"):
        got = fg.function(lambda t: (t + 1e-4) - t)(x)
    np.testing.assert_array_equal(got.numpy(), (x.numpy() + np.complex64(1e-4)) - x.numpy())


@pytest.mark.parametrize("dtype", COMPLEX)
def test_long_reductions(dtype: str) -> None:
    x = numbers((300, 401), dtype)
    check(lambda t: [fg.reduce_sum(t), fg.reduce_mean(t, 0), fg.reduce_sum(t, 1)], x)
    like = [fg.TensorSpec([None, None], dtype)]
    check(lambda t: [fg.reduce_sum(t), fg.reduce_mean(t, 0), fg.reduce_sum(t, 1)], x, like=like)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_running_totals_and_scatters(dtype: str) -> None:
    x = numbers((6, 3), dtype)
    indices = fg.constant([[1], [4], [1], [0], [2], [4]])
    ids = indices[:, 0]

    def f(t: Any) -> list[Any]:
        return [
            fg.cumsum(t), fg.cumsum(t, 1, reverse=True, exclusive=True), fg.math.cumprod(t),
            fg.scatter_nd(indices, t, [7, 3]), fg.tensor_scatter_nd_add(t, indices, t),
            fg.math.unsorted_segment_sum(t, ids, 5), fg.gather(t, ids),
        ]  # fmt: skip

    check(f, x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", COMPLEX)
def test_gradients_of_both_orders(dtype: str) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y / (x + 2) + fg.math.conj(x) * fg.cast(fg.abs(y), dtype) - fg.sign(x)
        return fg.reduce_sum(fg.math.real(z) * fg.math.imag(z)) + fg.abs(fg.reduce_prod(z))

    def second(x: Any, y: Any) -> list[Any]:
        with fg.GradientTape(persistent=True) as outer:
            outer.watch([x, y])
            with fg.GradientTape() as tape:
                tape.watch([x, y])
                total = f(x, y)
            first = tape.gradient(total, [x, y])
            size = fg.add_n([fg.reduce_sum(fg.math.real(g) ** 2 - fg.math.imag(g)) for g in first])
        return [total, *first, *outer.gradient(size, [x, y])]

    check(second, numbers((2, 3), dtype) / 2, numbers((3,), dtype, 1), kinds={"kernel", "alias"})


def test_functions_that_kernels_do_not_know_run_on_the_host_alone() -> None:
    x = numbers((4,), "complex64")
    check(lambda t: fg.exp(t * 2) + fg.sqrt(t) * fg.tanh(t), x, kinds={"kernel", "host"})
    check(lambda t: fg.pow(t, t) - fg.sin(t), x, kinds={"kernel", "host"})
    for value in special("complex64"):
        with np.errstate(all="ignore"):
            check(lambda t: [fg.sin(t), fg.tanh(t)], fg.constant([value]), kinds={"host"})


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products_of_matrices(dtype: str) -> None:
    """Large ones are products of the parts by BLAS, small ones a kernel."""

    def f(a: Any, b: Any) -> list[Any]:
        return [
            fg.matmul(a, b),
            fg.matmul(a, a, adjoint_b=True),
            fg.matmul(a, fg.math.conj(a), transpose_a=True),
            fg.linalg.matvec(b, b[..., 0], transpose_a=True),
        ]

    check(f, numbers((2, 3), dtype), numbers((3, 4), dtype), kinds={"kernel", "alias"})
    check(f, numbers((2, 20, 30), dtype), numbers((30, 25), dtype), kinds={"kernel", "alias", "gemm"})
    like = [fg.TensorSpec([None, None], dtype)] * 2
    for shape in ((2, 3), (40, 30), (0, 3), (2, 0)):
        check(f, numbers(shape, dtype), numbers((shape[1], 5), dtype), kinds={"kernel", "alias", "gemm"}, like=like)
