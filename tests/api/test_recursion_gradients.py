"""Gradients of Functions that call themselves: tests/api/test_recursion.py has their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors


def power() -> Any:
    @tf.function
    def power(x: Any, n: Any) -> Any:
        if n == 0:
            return tf.ones_like(x)
        return x * power(x, n - 1)

    return power


def test_gradients_to_third_order(tier: str) -> None:
    x, n, f = tf.constant([2.0, -1.5]), tf.constant(4), power()
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x, n)
            dy = first.gradient(y, x)
        ddy = second.gradient(dy, x)
    dddy = third.gradient(ddy, x)
    a = x.numpy()
    for got, want in ((y, a**4), (dy, 4 * a**3), (ddy, 12 * a**2), (dddy, 24 * a)):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_gradients_for_variables_and_captured_tensors(tier: str) -> None:
    v, table, c = tf.Variable(3.0), tf.Variable([1.0, 2.0, 4.0]), tf.constant(0.5)

    @tf.function
    def f(n: Any) -> Any:
        if n == 0:
            return c * 1.0
        return v * f(n - 1) + tf.gather(table, n % 3) + c

    def plain(n: int) -> Any:
        return c * 1.0 if n == 0 else v * plain(n - 1) + tf.gather(table, n % 3) + c

    found = []
    for function, n in ((f, tf.constant(4)), (plain, 4)):
        with tf.GradientTape() as tape:
            tape.watch(c)
            y = function(n)
        found.append([np.asarray(tf.convert_to_tensor(g)) for g in tape.gradient(y, [v, table, c])])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_gradients_of_one_another_and_in_loops(tier: str) -> None:
    def make(wrap: Callable[[Any], Any], range_: Any) -> Any:
        @wrap
        def a(x: Any, n: Any) -> Any:
            if n <= 0:
                return tf.sin(x)
            return b(x * 1.1, n - 1) * x

        @wrap
        def b(x: Any, n: Any) -> Any:
            total = x
            for i in range_(n):
                total += a(x, n - 1 - i) * tf.exp(-x)
            return total

        return a

    plain, staged = make(lambda f: f, range), make(tf.function, tf.range)
    for n in (1, 3):
        found = []
        for f, depth in ((plain, n), (staged, tf.constant(n))):
            x = tf.constant(0.7)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = f(x, depth)
                dy = first.gradient(y, x)
            found.append([float(y), float(dy), float(second.gradient(dy, x))])
        np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


def test_gradients_inside_functions(tier: str) -> None:
    f = power()

    @tf.function
    def slope(x: Any, n: Any) -> Any:
        return tf.gradients(f(x, n), x)[0]

    assert float(slope(tf.constant(2.0), tf.constant(3))) == 12.0

    @tf.function
    def derivative(x: Any, n: Any) -> Any:  # the n-th, of x ** 4
        if n == 0:
            return x**4
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * f(x, n)
        return tape.gradient(y, x)

    assert float(derivative(tf.constant(2.0), tf.constant(1))) == 12.0


def test_a_custom_gradient_and_a_training_step(tier: str) -> None:
    @tf.custom_gradient
    def hundred(x: Any) -> Any:
        return x * x, lambda dy: dy * 100.0

    @tf.function
    def tower(x: Any, n: Any) -> Any:
        return x if n == 0 else hundred(tower(x, n - 1))

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tower(x, tf.constant(2))
    assert float(y) == 16.0 and float(tape.gradient(y, x)) == 10_000.0

    v = tf.Variable(1.0)

    @tf.function
    def net(x: Any, n: Any) -> Any:
        return x if n == 0 else tf.tanh(v * net(x, n - 1))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = net(x, tf.constant(3))
        slope = tape.gradient(y, v)
        v.assign_sub(0.1 * slope)
        return slope

    for _ in range(3):
        with tf.GradientTape() as tape:
            y = x
            for _ in range(3):
                y = tf.tanh(v * y)
        expected = float(tape.gradient(y, v))
        assert float(step(x)) == pytest.approx(expected, rel=1e-5)


def test_no_gradient_where_calls_do_more_than_compute() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def counted(x: Any, n: Any) -> Any:
        if n == 0:
            return x
        v.assign_add(1.0)
        return counted(x * x, n - 1)

    x = tf.constant(2.0)
    assert float(counted(x, tf.constant(2))) == 16.0
    with (
        tf.GradientTape() as tape,
        pytest.raises(NotImplementedError, match=r"counted.*test_recursion_gradients.py:\d+.*assign"),
    ):
        tape.watch(x)
        tape.gradient(counted(x, tf.constant(2)), x)


def test_assertions_are_made_again() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        tf.debugging.assert_less(x, 5.0)
        return x if n == 0 else x * f(x, n - 1)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(2))
    assert float(tape.gradient(y, x)) == 12.0
    with pytest.raises(errors.InvalidArgumentError):
        f(tf.constant(6.0), tf.constant(2))


def test_a_gradient_after_an_assign_is_an_error_not_a_wrong_number() -> None:
    v = tf.Variable(2.0)

    @tf.function
    def f(n: Any) -> Any:
        return 1.0 if n == 0 else v * f(n - 1)

    with tf.GradientTape() as tape:
        y = f(tf.constant(3))
    v.assign(5.0)
    with pytest.raises(errors.FailedPreconditionError, match="assigned since"):
        tape.gradient(y, v)
    with tf.GradientTape() as tape:
        y = f(tf.constant(3))
    assert float(tape.gradient(y, v)) == 75.0


def test_for_each_element() -> None:
    @tf.function
    def fact(n: Any) -> Any:
        return 1 if n <= 1 else n * fact(n - 1)

    np.testing.assert_array_equal(tf.vectorized_map(fact, tf.constant([3, 4, 5])), [6, 24, 120])
    many = tf.function(lambda n: tf.vectorized_map(fact, n))
    np.testing.assert_array_equal(many(tf.constant([3, 4, 5])), [6, 24, 120])
    x, f = tf.constant([2.0, 3.0]), power()
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
        y = f(x, tf.constant(3))
    np.testing.assert_allclose(forward.jvp(y), [12.0, 27.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda x: f(x, tf.constant(3)), x)
    np.testing.assert_allclose(tape.gradient(y, x), [12.0, 27.0])
