"""Functions made inside of Functions that use the tensors around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.errors import InaccessibleTensorError

x = tf.constant([1.0, 2.0, 3.0])


def once(x: Any) -> Any:
    y = x * 2.0

    @tf.function
    def inner(z: Any) -> Any:
        return tf.sin(z) * y

    return inner(x) + inner(x * y)


def through_two(x: Any) -> Any:
    y = tf.exp(x)

    @tf.function
    def middle(z: Any) -> Any:
        @tf.function
        def inner(w: Any) -> Any:
            return w * y * z

        return inner(y) + z

    return middle(x)


def in_a_branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 0.0:
        y = x * x
        result = tf.function(lambda z: z * y + x)(x)
    else:
        result = x
    return result


def in_a_loop(x: Any) -> Any:
    for i in tf.range(3):
        y = x * tf.cast(i, tf.float32)
        x = tf.function(lambda z: tf.sin(z) + x)(y)  # noqa: B023  # it is called at once
    return x


def with_a_loop(x: Any) -> Any:
    y = x * 3.0

    @tf.function
    def inner(n: Any) -> Any:
        total = tf.zeros_like(y)
        for i in tf.range(n):
            total += tf.sin(y) * tf.cast(i, tf.float32)
        return total

    return inner(tf.constant(4)) + inner(tf.constant(2))


def with_a_variable(x: Any) -> Any:
    y = x + 1.0

    @tf.function
    def inner() -> Any:
        return y * scale * y

    return inner()


scale = tf.Variable(2.0)
CASES = [once, through_two, in_a_branch, in_a_loop, with_a_loop, with_a_variable]


def derivatives(f: Any, x: Any) -> tuple[Any, Any, Any]:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x)
    return y, first, outer.gradient(first, x)


@pytest.mark.parametrize("f", CASES)
@pytest.mark.parametrize("shape", [[3], [None]])
def test_values_and_derivatives_are_those_of_plain_python(f: Any, shape: list[int | None]) -> None:
    tf.config.run_functions_eagerly(True)
    try:
        wanted = derivatives(f, x)
    finally:
        tf.config.run_functions_eagerly(False)
    staged = tf.function(f, input_signature=[tf.TensorSpec(shape, tf.float32)])
    both = tf.function(lambda x: derivatives(f, x), input_signature=[tf.TensorSpec(shape, tf.float32)])
    for _ in range(2):
        for got in (derivatives(staged, x), both(x)):
            for a, b in zip(got, wanted, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a, b, rtol=2e-5)
        assert staged.get_concrete_function().wait(120) and both.get_concrete_function().wait(120)


def test_a_function_of_many_traces_takes_the_tensors_of_each() -> None:
    held: list[Any] = []

    @tf.function
    def inner(z: Any) -> Any:
        return z + held[-1]

    @tf.function
    def outer(x: Any) -> Any:
        held.append(x * 2.0)
        return inner(x) + inner(x)

    assert float(outer(tf.constant(1.0))) == 6.0
    np.testing.assert_array_equal(outer(tf.constant([1.0, 2.0])), [6.0, 12.0])
    assert float(outer(tf.constant(2.0))) == 12.0
    assert inner.experimental_get_tracing_count() == 2  # one for each trace around it


def test_it_is_an_error_where_the_trace_around_is_over() -> None:
    made: list[Any] = []

    @tf.function
    def outer(x: Any) -> Any:
        y = x * 2.0
        inner = tf.function(lambda z: z + y)
        made.append(inner)
        made.append(inner.get_concrete_function(x))
        return inner(x)

    outer(x)
    for leaked in made:
        with pytest.raises(InaccessibleTensorError, match="out of scope"):
            leaked(x)
        with pytest.raises(InaccessibleTensorError, match="out of scope"):
            tf.function(lambda x, f=leaked: f(x))(x)
    assert outer(x).shape == [3]
