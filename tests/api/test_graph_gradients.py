"""tf.gradients for tensors that a Function captures: eager ones, those of enclosing traces, and through control flow."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf

V = tf.constant([1.0, 2.0, 3.0])
W = tf.Variable([1.0, 2.0, 3.0])


def _loop(x):
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * V), (0, x))[1]


def _nested(x):
    return tf.function(lambda: x * V)()


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda: V * V, [2, 4, 6]),
        (lambda: tf.identity(V), [1, 1, 1]),
        (lambda: [V, V * V], [3, 5, 7]),
        (lambda: _loop(V), [3, 12, 27]),
        (lambda: tf.cond(V[0] > 0, lambda: V * V, lambda: V), [2, 4, 6]),
        (lambda: _nested(V) * V, [3, 12, 27]),
        (lambda: W * W, None),
    ],
)
def test_gradients_for_an_eager_tensor_from_outside(f, expected):
    @tf.function
    def g():
        y = f()
        return tf.gradients(y, [V])[0] if expected else tf.stack(tf.gradients(y, [V], unconnected_gradients="zero"))

    assert np.array_equal(g(), expected or np.zeros((1, 3)))


def test_gradients_of_gradients_and_hessians_for_a_capture():
    @tf.function
    def f():
        first = tf.gradients(V**3, V)[0]
        return tf.gradients(first, V)[0], tf.hessians(tf.reduce_sum(V**3), V)[0]

    second, hessian = f()
    assert np.allclose(second, [6, 12, 18]) and np.allclose(hessian, np.diag([6.0, 12, 18]))


def test_gradients_in_a_branch_and_in_a_nested_function_reach_what_is_outside():
    @tf.function
    def f(x):
        y = x * x
        inside = tf.cond(x[0] > 0, lambda: tf.gradients(y * x, x)[0], lambda: x)
        for_y = tf.cond(x[0] > 0, lambda: tf.gradients(y * x, y)[0], lambda: x)
        nested = tf.function(lambda: tf.gradients(_loop(x) * y, [x])[0])()
        rows = tf.map_fn(lambda a: tf.gradients(a * x, [x])[0], x)
        return inside, for_y, nested, rows

    inside, for_y, nested, rows = f(V)
    assert np.allclose(inside, [3, 12, 27]) and np.allclose(for_y, [1, 2, 3])
    assert np.allclose(nested, 3 * np.array([1.0, 2, 3]) ** 4)
    assert np.allclose(rows, [[7, 1, 1], [2, 8, 2], [3, 3, 9]])  # the element is of x as well


def test_stopped_captures_and_handles_of_variables():
    @tf.function
    def f():
        y = V * V
        stopped = tf.gradients(y * V, [V], stop_gradients=[y])[0]
        return stopped, tf.gradients(W * W, [W.handle])[0], tf.gradients(V * 2, [V], grad_ys=[V])[0]

    stopped, of_handle, seeded = f()
    assert np.allclose(stopped, [1, 4, 9]) and np.allclose(of_handle, [2, 4, 6]) and np.allclose(seeded, [2, 4, 6])
