"""Products of matrices in eager mode: the small and integer ones done here, the large ones by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf

SIZES = [(1, 1, 1), (2, 3, 4), (4, 0, 3), (0, 2, 3), (3, 2, 0), (10, 10, 10), (5, 130, 17), (33, 7, 65), (70, 300, 40)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "complex64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_are_numpys(size: tuple[int, int, int], dtype: str) -> None:
    m, k, n = size
    rng = np.random.default_rng(m + 31 * k + 977 * n)
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            a = rng.integers(0, 9, (k, m) if transpose_a else (m, k)).astype(dtype)
            b = rng.integers(0, 9, (n, k) if transpose_b else (k, n)).astype(dtype)
            got = tf.matmul(tf.constant(a), tf.constant(b), transpose_a=transpose_a, transpose_b=transpose_b)
            expected = (a.T if transpose_a else a) @ (b.T if transpose_b else b)
            assert got.shape == expected.shape and got.dtype == expected.dtype
            np.testing.assert_array_equal(got.numpy(), expected)  # small whole numbers: no rounding


def test_integers_wrap() -> None:
    for dtype in ("int32", "int64"):
        big = np.full((5, 5), np.iinfo(dtype).max, dtype)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal((tf.constant(big) @ tf.constant(big)).numpy(), big @ big)


def test_operator_records_and_converts() -> None:
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(a)
        product = a @ a
    np.testing.assert_array_equal(product.numpy(), [[7, 10], [15, 22]])
    np.testing.assert_array_equal(tape.gradient(product, a).numpy(), [[7, 11], [9, 13]])
    np.testing.assert_array_equal((a @ [[1.0], [1.0]]).numpy(), [[3], [7]])
    np.testing.assert_array_equal(([[1.0, 1.0]] @ a).numpy(), [[4, 6]])


def test_special_values() -> None:
    a = np.array([[np.inf, 0.0], [np.nan, 1.0]], np.float32)
    b = np.array([[0.0, 1.0], [2.0, -np.inf]], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((tf.constant(a) @ tf.constant(b)).numpy(), a @ b)


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2,), (2, 2)), ((2, 2), ()), ((2, 2, 3), (3, 3, 4))], ids=str)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:(Batch)?MatMul(V2)?\]"):
        tf.constant(np.ones(shapes[0])) @ tf.constant(np.ones(shapes[1]))


@pytest.mark.parametrize("stage", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("dtype", "output_type", "row"),
    [
        ("uint8", "float32", [200, 100]),
        ("uint8", "int64", [200, 100]),
        ("int8", "float64", [100, -100]),
        ("int32", "int64", [2**17, 3]),
        ("int32", "float64", [2**17, 3]),
        ("float32", "float64", [2**13, 0.5]),
        ("float32", "int32", [200, 100]),
    ],
)
def test_products_are_summed_in_the_wider_type(dtype: str, output_type: str, row: list[float], stage: Any) -> None:
    """One that a's dtype does not hold does not wrap, or round, on its way to the result's."""
    a = tf.constant([row], dtype)
    got = stage(lambda a: tf.matmul(a, a, transpose_b=True, output_type=output_type))(a)
    assert got.dtype == output_type and got.numpy().tolist() == [[sum(x * x for x in row)]]
