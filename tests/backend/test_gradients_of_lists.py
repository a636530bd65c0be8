"""Gradients of loops that append to lists, read them and write TensorArrays: right, and linear in the iterations."""

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from tests.proportion import grows_in_proportion


@pytest.fixture(autouse=True)
def last_tier():
    with flags.override(tier="last"):
        yield


def in_a_branch(x, n):
    rows = []
    for i in tf.range(n):
        if i % 3 == 0:
            rows.append(x * tf.cast(i, x.dtype))
    return tf.stack(rows)


def with_break(x, n):
    rows = []
    for i in tf.range(n):
        if i > n - 5:
            break
        rows.append(tf.sin(x))
    return tf.stack(rows)


def nested(x, n):
    rows = [x]
    for _ in tf.range(n // 10):
        for j in tf.range(10):
            rows.append(rows[-1] * 0.5 + tf.cast(j, x.dtype))
    return tf.stack(rows)


def of_the_last(x, n):
    rows = [x]
    for _ in tf.range(n):
        rows.append(tf.tanh(rows[-1]))
    return tf.stack(rows)


def of_two(x, n):
    rows = [x]
    for i in tf.range(n):
        if i % 2 == 0:
            rows.append(tf.tanh(rows[-1]) + rows[i // 2] * x)
    return tf.stack(rows)


def array(x, n):
    rows = tf.TensorArray(x.dtype, n, clear_after_read=False).write(0, x)
    for i in tf.range(1, n):
        rows = rows.write(i, tf.tanh(rows.read(i - 1)))
    return rows.stack()


def growing_array(x, n):
    rows = tf.TensorArray(x.dtype, 0, dynamic_size=True, clear_after_read=False).write(0, x)
    for i in tf.range(1, n):
        if i % 2 == 0:
            rows = rows.write(i, tf.tanh(rows.read(i - 1)))
        else:
            rows = rows.write(i, rows.read(i // 2))
    return rows.stack()


def read_in_a_loop(x, n):
    rows = []
    for i in tf.range(n):
        rows.append(x * tf.cast(i, x.dtype))
    total = x
    for i in tf.range(n):
        total += tf.sin(rows[i])
    return total


def read_of_a_tensor(x, n):
    rows = tf.tile(x[None], [n, 1])
    total = x
    for i in tf.range(n):
        total += tf.sin(tf.gather(rows, i))
    return total


PROGRAMS = [in_a_branch, with_break, nested, of_the_last, of_two, array, growing_array, read_in_a_loop,
            read_of_a_tensor]  # fmt: skip


def gradient(program):
    def run(x, n):
        values = program(x, n)
        weights = tf.cos(tf.cast(tf.reshape(tf.range(tf.size(values)), tf.shape(values)), x.dtype))
        return tf.gradients(tf.reduce_sum(values * weights), x)[0]

    return run


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("known", [True, False], ids=["of known size", "of unknown size"])
@pytest.mark.slow
def test_gradients_are_those_of_the_unrolled_loop(program, known, rng):
    x = rng.standard_normal(3)
    n = 20 if known else tf.constant(20)

    def plain(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            values = program(x, tf.constant(20))
            weights = tf.cos(tf.cast(tf.reshape(tf.range(tf.size(values)), tf.shape(values)), x.dtype))
            loss = tf.reduce_sum(values * weights)
        return tape.gradient(loss, x)

    wanted = plain(tf.constant(x))
    found = tf.function(gradient(program))(tf.constant(x), n)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-9)
    half = tf.function(gradient(program))(tf.constant(x, tf.bfloat16), n)
    assert half.dtype == tf.bfloat16


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("known", [True, False], ids=["of known size", "of unknown size"])
def test_gradients_take_time_in_proportion_to_the_iterations(program, known):
    x = tf.ones([256]) * 0.25

    def prepared(n):
        step, size = tf.function(gradient(program)), n if known else tf.constant(n)
        step(x, size)
        return lambda: step(x, size)

    # A row is 1 kB: to copy the list at each iteration would make 64 times as much of 8 times as many iterations.
    assert grows_in_proportion(prepared(500), prepared(4000), 8 * 3)


def test_second_gradients_go_through_rows_that_are_read(rng):
    x = tf.constant(rng.standard_normal(3))

    def second(x, n):
        first = gradient(of_the_last)(x, n)
        return tf.gradients(tf.reduce_sum(first * first), x)[0]

    def plain(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                values = of_the_last(x, 6)
                loss = tf.reduce_sum(values * tf.cos(tf.cast(tf.reshape(tf.range(21), [7, 3]), x.dtype)))
            loss = tf.reduce_sum(tape.gradient(loss, x) ** 2)
        return outer.gradient(loss, x)

    np.testing.assert_allclose(tf.function(second)(x, tf.constant(6)).numpy(), plain(x).numpy(), rtol=1e-9)


def test_a_gradient_of_half_floats_that_stays_sparse_becomes_dense_by_float32():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.bfloat16)])
    def run(x):
        return tf.gradients(tf.reduce_sum(tf.gather(x * 1.0, [0] * 300)), x)[0]

    assert run(tf.ones([2, 2], tf.bfloat16)).numpy().tolist() == [[300, 300], [0, 0]]
