"""Convolutions in a few groups of few channels: computed group by group, with the values of the op and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags


@pytest.fixture(autouse=True)
def _last_tier(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FASTGRAPH_TIER", "last")
    yield


CASES = [  # channels, channels of a group, results, strides, padding
    (3, 1, 3, (1, 1), "VALID"),
    (2, 1, 6, (1, 1), "SAME"),
    (6, 2, 6, (2, 1), "SAME"),
    (8, 1, 8, (1, 1), "VALID"),
    (9, 3, 3, (1, 1), [[0, 0], [3, 1], [0, 2], [0, 0]]),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("channels", "own", "results", "strides", "padding"), CASES)
def test_groups_have_the_values_of_the_op(channels, own, results, strides, padding, dtype) -> None:
    rng = np.random.default_rng(channels)
    x = tf.cast(rng.integers(-3, 4, (2, 13, 12, channels)), dtype)
    filters = tf.cast(rng.integers(-3, 4, (7, 8, own, results)), dtype)

    def program(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = tf.nn.conv2d(x, filters, strides, padding)
            loss = tf.reduce_sum(tf.cast(y, tf.float32) * tf.cast(y, tf.float32)) / 1024
        return y, *tape.gradient(loss, [x, filters])

    for eager, staged in zip(program(x, filters), tf.function(program)(x, filters), strict=True):
        np.testing.assert_allclose(
            np.asarray(staged, "f4"), np.asarray(eager, "f4"), rtol=2e-2 if dtype != "float32" else 1e-5
        )


def test_each_group_has_a_step_of_its_own() -> None:
    f = tf.function(lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "VALID"))
    x, k = tf.ones([1, 20, 20, 3]), tf.ones([11, 11, 3, 2])
    f(x, k)
    told = str(f.get_concrete_function(x, k).explain())
    expanded = told[told.index("# after expand_all") : told.index("# after fuse_epilogues")]
    assert expanded.count("= conv2d(") == 3
    assert told[: told.index("# after optimise")].count("= conv2d(") == 1


EACH = [  # channels, window, strides, dilations, padding
    (3, (5, 5), (1, 1), (1, 1), "SAME"),
    (3, (5, 5), (2, 2), (1, 1), "SAME"),
    (1, (3, 7), (1, 2), (1, 1), "VALID"),
    (2, (1, 9), (1, 1), (1, 1), "SAME"),
    (4, (3, 3), (1, 1), (2, 3), "SAME"),
    (8, (7, 8), (3, 1), (1, 1), [[0, 0], [4, 1], [0, 9], [0, 0]]),
    (5, (2, 2), (2, 3), (1, 1), "VALID"),
    (24, (7, 7), (1, 1), (1, 1), "SAME"),
    (17, (5, 9), (2, 1), (1, 2), "SAME"),
]


@pytest.mark.parametrize(("channels", "window", "strides", "dilations", "padding"), EACH)
@pytest.mark.parametrize("size", [(9, 13), (20, 70)])
def test_each_channel_by_itself(size, channels, window, strides, dilations, padding) -> None:
    """Few channels: rows of pixels are lines of vectors, with a bias too; the same bits on any number of threads."""
    rng = np.random.default_rng(channels)
    x = tf.constant(rng.standard_normal((2, *size, channels)).astype("f4"))
    filters = tf.constant(rng.standard_normal((*window, 1, channels)).astype("f4"))
    bias = tf.constant(rng.standard_normal(channels).astype("f4"))

    def program(x, filters, bias):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = tf.nn.conv2d(x, filters, strides, padding, dilations=dilations)
            loss = tf.reduce_sum(y * y)
        return y, *tape.gradient(loss, [x, filters]), tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + bias)

    staged, found = tf.function(program), []
    for threads in (1, 3):
        with flags.override(threads=threads):
            found.append(staged(x, filters, bias))
    for eager, one, other in zip(program(x, filters, bias), *found, strict=True):
        scale = float(np.abs(eager).max())
        np.testing.assert_allclose(one, eager, rtol=1e-4, atol=1e-5 * scale)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize(
    ("image", "window", "strides", "padding", "dilations"),
    [
        ((2, 9, 16, 64), (7, 7), 1, "SAME", 1),
        ((1, 5, 5, 37), (7, 7), 1, "SAME", 1),  # fewer pixels than a block has; a part of a vector
        ((1, 6, 1, 16), (5, 3), 1, "SAME", 1),
        ((2, 17, 23, 33), (5, 5), 2, "SAME", 1),
        ((2, 20, 22, 17), (3, 5), 1, "VALID", (2, 3)),
        ((0, 9, 9, 16), (5, 5), 1, "SAME", 1),
        ((1, 3, 30, 16), (12, 2), 1, [[0, 0], [5, 6], [1, 1], [0, 0]], 1),
    ],
)
def test_many_channels_and_large_windows(
    image: Any, window: Any, strides: int, padding: Any, dilations: Any, rng: np.random.Generator
) -> None:
    """What is beyond the edges, NaN there too, is not seen; sums are those of an eager call."""
    x = rng.integers(-3, 4, image).astype(np.float32)
    if x.size:
        x.flat[rng.integers(0, x.size, 2)] = np.nan
    filters = rng.integers(-3, 4, (*window, image[-1], 1)).astype(np.float32)
    apart = dilations if isinstance(dilations, tuple) else (dilations, dilations)

    def step(x: Any, filters: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = tf.nn.depthwise_conv2d(x, filters, [1, strides, strides, 1], padding, dilations=apart)
            z = tf.nn.relu(y + tf.range(float(image[-1])))
        return [y, z, *tape.gradient(z, [x, filters])]

    eager = step(tf.constant(x), tf.constant(filters))
    found = tf.function(step)(tf.constant(x), tf.constant(filters))
    for one, other in zip(found, eager, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
