"""Fractional pooling: regions that cover the image, their maxima and means, gradients, seeds, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

X = np.random.default_rng(3).standard_normal((2, 10, 7, 3))


def pooled(x: Any, rows: Any, columns: Any, overlapping: bool, how: Callable[..., Any]) -> Any:
    more = 1 if overlapping else 0
    return np.stack(
        [
            np.stack([how(x[:, a : b + more, c : d + more], (1, 2)) for c, d in itertools.pairwise(columns)], 1)
            for a, b in itertools.pairwise(rows)
        ],
        1,
    )


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("ratio", [[1, 1.44, 1.73, 1], 1.1, 2.6, 1.0])
def test_regions_cover_the_image(ratio: Any, overlapping: bool, pseudo_random: bool) -> None:
    for function, how in ((tf.nn.fractional_max_pool, np.max), (tf.nn.fractional_avg_pool, np.mean)):
        for way in (function, tf.function(function)):
            for seed in (0, 1, 2, 3) if way is function else (1,):
                y, rows, columns = way(tf.constant(X), ratio, pseudo_random, overlapping, seed)
                for bounds, n, r in (
                    (rows, 10, np.ravel(ratio)[len(np.ravel(ratio)) // 3]),
                    (columns, 7, np.ravel(ratio)[-2:][0]),
                ):
                    assert bounds.dtype is tf.int64
                    assert bounds[0] == 0 and bounds[-1] == n and len(bounds) == int(n / r) + 1
                    assert (np.diff(bounds) >= 1).all()
                wanted = pooled(X, rows.numpy(), columns.numpy(), overlapping, how)
                np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-12)


def test_gradient_and_seed() -> None:
    x = tf.constant(X)
    for function in (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(function(x, 1.4, True, True, seed=5).output)
        slope = tape.gradient(y, x)
        assert slope.shape == x.shape
        assert np.isclose(np.sum(slope * X), y)  # both are homogeneous of degree one
    drawn = {tuple(tf.nn.fractional_max_pool(x, 1.4).row_pooling_sequence.numpy().tolist()) for _ in range(20)}
    assert len(drawn) > 1
    whole = tf.nn.fractional_avg_pool(np.arange(16).reshape(1, 4, 4, 1), 2.0).output
    assert whole.dtype is tf.int64 and whole.numpy().ravel().tolist() == [2, 4, 10, 12]


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.5, "`pooling_ratio` should be >= 1.0"),
        ([1.0, 0.5, 1.4, 1.0], "elements should be >= 1.0"),
        ([2.0, 1.4, 1.4, 1.0], "first and last elements with value 1.0"),
        ([1.0, 1.4, 1.4], "first and last elements with value 1.0"),
    ],
)
def test_errors(ratio: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tf.nn.fractional_max_pool(X, ratio)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 4-dimensional"):
        tf.nn.fractional_max_pool(X[0], 1.4)


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("pool", [tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool])
def test_pictures_of_sizes_that_a_call_knows(pool: Any, pseudo_random: bool) -> None:
    traced = tf.function(
        lambda x: pool(x, [1.0, 1.6, 1.4, 1.0], pseudo_random, seed=3), input_signature=[tf.TensorSpec([None] * 4)]
    )
    for height, width in ((9, 7), (12, 7), (8, 21)):
        x = np.arange(height * width, dtype=np.float32).reshape(1, height, width, 1)
        y, rows, columns = (each.numpy() for each in traced(x))
        assert y.shape == (1, int(height / 1.6), int(width / 1.4), 1)
        for bounds, n in ((rows, height), (columns, width)):
            assert bounds[0] == 0 and bounds[-1] == n and set(np.diff(bounds)) <= {1, 2, 3}
        corner = x[0, rows[0] : rows[1], columns[0] : columns[1], 0]
        assert y[0, 0, 0, 0] == (corner.max() if pool is tf.nn.fractional_max_pool else pytest.approx(corner.mean()))


def test_regions_are_those_that_tensorflow_draws() -> None:
    x = np.zeros((1, 23, 19, 1), np.float32)
    tf.random.set_seed(None)
    pool = tf.function(lambda: tf.nn.fractional_max_pool(x, 1.6, pseudo_random=True, seed=3))  # draws anew
    _, rows, columns = pool()
    assert rows.numpy().tolist() == [0, 1, 3, 5, 6, 8, 9, 11, 13, 14, 16, 18, 19, 21, 23]
    assert columns.numpy().tolist() == [0, 1, 3, 5, 6, 8, 10, 12, 13, 15, 17, 19]


@pytest.mark.parametrize("traced", [False, True])
def test_a_seed_has_the_regions_that_tensorflow_gives_it_in_every_call(traced: bool) -> None:
    x = tf.ones([1, 7, 7, 1])

    def rows(seed: int, pseudo_random: bool) -> tf.Tensor:
        found = tf.nn.fractional_max_pool(x, [1.0, 1.4, 1.5, 1.0], pseudo_random, seed=seed)
        return found.row_pooling_sequence

    tf.random.set_seed(1234)
    called = tf.function(rows) if traced else rows
    for _ in range(2):
        assert called(3, False).numpy().tolist() == [0, 1, 3, 4, 6, 7]
        assert called(7, False).numpy().tolist() == [0, 1, 2, 4, 6, 7]
        assert called(3, True).numpy().tolist() == [0, 2, 3, 5, 6, 7]
