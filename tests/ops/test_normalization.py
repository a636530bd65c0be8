"""Batch normalisation as TensorFlow 2.21's CPU kernel does it (the numbers are its), and its gradient in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.ops.normalization import fused_batch_norm

ROWS = [
    (
        "fused_batch_norm(tf.reshape(tf.range(8.),[2,1,2,2]),[1.,2.],[.5,.5])",
        [
            [
                [[[-0.8415066003799438, -2.1830132007598877], [0.05283114314079285, -0.3943377137184143]]],
                [[[0.9471688270568848, 1.3943376541137695], [1.8415066003799438, 3.1830132007598877]]],
            ],
            [3.0, 4.0],
            [6.6666669845581055, 6.6666669845581055],
        ],
    ),
    (
        "fused_batch_norm(tf.reshape(tf.range(8.),[2,1,2,2]),[1.,2.],[.5,.5],mean=[1.,1.],variance=[2.,2.],is_training=False)",
        [
            [
                [[[-0.20693010091781616, 0.5], [1.206930160522461, 3.3277204036712646]]],
                [[[2.6207902431488037, 6.155440807342529], [4.034650802612305, 8.983160972595215]]],
            ],
            [1.0, 1.0],
            [2.0, 2.0],
        ],
    ),
    (
        "fused_batch_norm(tf.reshape(tf.range(8.),[2,1,2,2]),[1.,2.],[.5,.5],mean=[1.,1.],variance=[2.,2.],exponential_avg_factor=0.5)",
        [
            [
                [[[-0.8415066003799438, -2.1830132007598877], [0.05283114314079285, -0.3943377137184143]]],
                [[[0.9471688270568848, 1.3943376541137695], [1.8415066003799438, 3.1830132007598877]]],
            ],
            [2.0, 2.5],
            [4.333333492279053, 4.333333492279053],
        ],
    ),
    (
        'fused_batch_norm(tf.reshape(tf.range(8.),[2,2,1,2]),[1.,2.],[.5,.5],data_format="NCHW")',
        [
            [
                [[[-0.7125356197357178, -0.2275213599205017]], [[-1.9250712394714355, -0.9550427198410034]]],
                [[[1.2275214195251465, 1.7125356197357178]], [[1.9550427198410034, 2.9250712394714355]]],
            ],
            [2.5, 4.5],
            [5.6666669845581055, 5.6666669845581055],
        ],
    ),
    (
        "fused_batch_norm(tf.reshape(tf.range(2.),[1,1,1,2]),[1.,2.],[.5,.5])",
        [[[[[0.5, 0.5]]]], [0.0, 1.0], [0.0, 0.0]],
    ),
    (
        "fused_batch_norm(tf.cast(tf.reshape(tf.range(8.),[2,1,2,2]),tf.float16),[1.,2.],[.5,.5])",
        [
            [
                [[[-0.84130859375, -2.18359375], [0.052825927734375, -0.394287109375]]],
                [[[0.947265625, 1.39453125], [1.841796875, 3.18359375]]],
            ],
            [3.0, 4.0],
            [6.6666669845581055, 6.6666669845581055],
        ],
    ),
]


@pytest.mark.parametrize(("call", "wanted"), ROWS)
def test_fused_batch_norm_is_tensorflows(call: str, wanted: Any) -> None:
    def run() -> Any:
        return eval(call, {"tf": tf, "fused_batch_norm": fused_batch_norm})

    for results in (run(), tf.function(run)()):
        for got, expected in zip(results, wanted, strict=True):
            tolerance = 1e-3 if got.dtype == tf.float16 else 2e-6
            np.testing.assert_allclose(got.numpy().astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        ('fused_batch_norm(tf.ones([2,2]),[1.,2.],[.5,.5])', tf.errors.InvalidArgumentError, 'input must be 4-dimensional\\[2,2\\]'),
        ('fused_batch_norm(tf.ones([2,1,1,2]),[1.,2.,3.],[.5,.5])', tf.errors.InvalidArgumentError, 'scale must have the same number of elements as the channels of x, got 3 and 2'),
        ("fused_batch_norm(tf.ones([2, 1, 1, 2]), [1.0, 2.0], [0.5, 0.5], is_training=False)", ValueError, "must be a 1D tensor"),
        ("fused_batch_norm(tf.ones([2, 1, 1, 2]), [1.0, 2.0], [0.5, 0.5], data_format='X')", ValueError, "data_format"),
    ],
)  # fmt: skip
def test_fused_batch_norm_refuses(call: str, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        eval(call, {"tf": tf, "fused_batch_norm": fused_batch_norm})


def test_an_empty_batch_has_no_moments() -> None:
    y, mean, variance = fused_batch_norm(tf.zeros([0, 1, 1, 2]), [1.0, 2.0], [0.5, 0.5])
    assert y.shape == (0, 1, 1, 2) and np.isnan(mean.numpy()).all() and np.isnan(variance.numpy()).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_gradients_of_batch_normalisation(training: bool, data_format: str) -> None:
    random = np.random.default_rng(0)
    x = tf.constant(random.normal(size=(3, 2, 2, 2)))

    def normalised(x: Any, scale: Any, offset: Any) -> Any:
        given = {} if training else dict(mean=[0.1, 0.2], variance=[0.8, 1.1])
        y = fused_batch_norm(
            tf.cast(x, "float32"), tf.cast(scale, "float32"), tf.cast(offset, "float32"), is_training=training,
            data_format=data_format, **given,
        )[0]  # fmt: skip
        return tf.reduce_sum(tf.sin(y))

    with tf.GradientTape() as tape:
        arguments = [x, tf.constant([1.5, 0.5], "float64"), tf.constant([0.1, -0.3], "float64")]
        tape.watch(arguments)
        y = normalised(*arguments)
    slopes = tape.gradient(y, arguments)
    for i, slope in enumerate(slopes):
        v = random.uniform(-1, 1, slope.shape)
        moved = [[a + (s * 1e-2 * v if k == i else 0) for k, a in enumerate(arguments)] for s in (1, -1)]
        wanted = (float(normalised(*moved[0])) - float(normalised(*moved[1]))) / 2e-2
        assert float(np.sum(slope.numpy() * v)) == pytest.approx(wanted, rel=2e-2, abs=2e-3)
    with flags.override(tier="last"):
        assert float(tf.function(normalised)(*arguments)) == pytest.approx(float(y), rel=1e-5)


def test_weights_that_broadcast_count_for_each_element_at_unknown_sizes() -> None:
    x = tf.constant(np.arange(10.0).reshape(5, 1, 2) + 1)
    weights = tf.constant(np.arange(10.0).reshape(1, 5, 2) + 1)
    unknown = [tf.TensorSpec([None] * 3, tf.float64)] * 2
    staged = tf.function(lambda x, w: tf.nn.weighted_moments(x, [0, 1, 2], w), input_signature=unknown)
    for _ in range(2):
        for got, wanted in zip(staged(x, weights), tf.nn.weighted_moments(x, [0, 1, 2], weights), strict=True):
            np.testing.assert_allclose(got, wanted)
        assert staged.get_concrete_function().wait(120)


def test_weighted_moments_of_infinity_have_infinite_means() -> None:
    mean, _ = tf.nn.weighted_moments(tf.constant([1.0, np.inf]), [0], tf.constant(1.0))
    assert np.isposinf(mean)
