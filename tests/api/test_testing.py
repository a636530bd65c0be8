"""The public checks find what is wrong and pass what is right."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import testing


@pytest.mark.parametrize(
    ("f", "inputs"),
    [
        (lambda x: x * x * x, [[0.3, -1.2]]),
        (lambda x, y: fg.tanh(fg.matmul(x, y)), [[[0.1, 0.2], [0.3, 0.4]], [[1.0, -1.0], [0.5, 2.0]]]),
        (lambda x, y: x / y + fg.exp(x), [[[0.5, 1.5]], [[2.0], [3.0]]]),
        (lambda x: {"a": fg.sigmoid(x), "b": [fg.cast(x, fg.int32), fg.reduce_mean(x * x)]}, [[0.5, 1.5]]),
        (lambda x: fg.gather(x, [1, 1, 0]) ** 2.0, [[0.5, 1.5]]),
        (lambda x: fg.reduce_sum(x), [[]]),
    ],
)
def test_right_gradients_pass(f, inputs):
    testing.check_gradients(f, *inputs, order=2)


def test_wrong_gradients_are_found():
    @fg.custom_gradient
    def wrong(x):
        return x * x, lambda dy: dy * 3.0 * x

    with pytest.raises(AssertionError, match=r"check_gradients: order 1: .*seed=7"):
        testing.check_gradients(wrong, [1.0, 2.0], seed=7)

    @fg.custom_gradient
    def wrong_second(x):
        @fg.custom_gradient
        def first(dy, x):
            return dy * 2.0 * x, lambda ddy: (ddy * 2.0 * x, ddy * dy * 5.0)

        return x * x, lambda dy: first(dy, x)

    testing.check_gradients(wrong_second, [1.0, 2.0], order=1)
    with pytest.raises(AssertionError, match="order 2"):
        testing.check_gradients(wrong_second, [1.0, 2.0], order=2)


def test_assert_close():
    testing.assert_close(
        {"a": fg.constant([1.0, np.nan]), "b": 1}, {"a": np.float32([1.0, np.nan]), "b": fg.constant(1)}
    )
    testing.assert_close(fg.constant(1.0), 1.0 + 1e-6)
    testing.assert_close([None, b"a"], [None, fg.constant("a")])
    testing.assert_close(np.zeros((0, 2)), fg.zeros([0, 2]))
    for ours, theirs, text in (
        ([1.0, 2.0], [1.0, 2.001], r"worst at \[1\]|leaf 1"),
        (fg.constant([1.0, 2.0]), np.float32([1.0, 2.1]), r"1 of 2 elements differ .*worst at \[1\]"),
        (fg.constant([1, 2]), fg.constant([1, 3]), r"at \[1\]: np.int32\(2\) against np.int32\(3\)"),
        (fg.constant([1.0]), fg.constant(1.0), r"shape \(1,\) against \(\)"),
        (fg.constant(np.inf), fg.constant(-np.inf), "differ"),
        (fg.constant(np.nan), fg.constant(1.0), "differ"),
        (None, fg.constant(1.0), "None against"),
    ):
        with pytest.raises(AssertionError, match=text):
            testing.assert_close(ours, theirs)
    with pytest.raises((ValueError, TypeError)):
        testing.assert_close([1.0], [1.0, 2.0])
