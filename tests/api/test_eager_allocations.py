"""No hidden copies: how much memory common eager calls take, from the pool and from NumPy."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native.buffer import pool_statistics

N = 100_000
BYTES = 4 * N
SLACK = 0.26  # the pool has four sizes to each power of two: up to a quarter more than asked for

VALUES = np.random.default_rng(0).uniform(0.1, 1, N).astype(np.float32)


def taken(call: Callable[[], Any]) -> tuple[float, float]:
    """What a call takes of the pool and what NumPy holds at most, in vectors of N floats."""
    call()
    before = pool_statistics()["made_bytes"]
    tracemalloc.start()
    try:
        held = call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    made = pool_statistics()["made_bytes"] - before
    del held
    return made / BYTES, peak / BYTES


x = tf.constant(VALUES)
rows = tf.reshape(x, (100, 1000))
square = tf.constant(VALUES[: 300 * 300].reshape(300, 300))
image = tf.constant(VALUES[:98_000].reshape(10, 35, 35, 8))
windows = tf.constant(VALUES[: 9 * 64].reshape(3, 3, 8, 8))
half = x > 0.5
evens = tf.constant(np.arange(0, N, 2))
kept = tf.Variable(VALUES)

#: Call, vectors that its result takes.
CALLS: dict[str, tuple[Callable[[], Any], float]] = {
    "x + x": (lambda: x + x, 1),
    "x * 2.0": (lambda: x * 2.0, 1),
    "rows + row": (lambda: rows + rows[0], 1),
    "exp": (lambda: tf.exp(x), 1),
    "tanh": (lambda: tf.tanh(x), 1),
    "relu": (lambda: tf.nn.relu(x), 1),
    "maximum with a number": (lambda: tf.maximum(x, 0.5), 1),
    "softmax": (lambda: tf.nn.softmax(rows), 1),
    "where": (lambda: tf.where(half, x, x), 1),
    "cast to float64": (lambda: tf.cast(x, tf.float64), 2),
    "cast to its own dtype": (lambda: tf.cast(x, tf.float32), 0),
    "concat": (lambda: tf.concat([x, x], 0), 2),
    "stack": (lambda: tf.stack([x, x]), 2),
    "broadcast_to": (lambda: tf.broadcast_to(x, (2, N)), 2),
    "gather": (lambda: tf.gather(x, evens), 0.5),
    "one_hot": (lambda: tf.one_hot(evens, 4), 2),
    "transpose": (lambda: tf.transpose(square), 0.9),
    "matmul": (lambda: square @ square, 0.9),
    "conv2d": (lambda: tf.nn.conv2d(image, windows, 1, "SAME"), 0.98),
    "conv2d_transpose": (lambda: tf.nn.conv2d_transpose(image, windows, image.shape, 1), 0.98),
    "depthwise_conv2d": (lambda: tf.nn.depthwise_conv2d(image, windows[..., :1], [1, 1, 1, 1], "SAME"), 0.98),
    "max_pool": (lambda: tf.nn.max_pool(image, 3, 1, "SAME"), 0.98),
    "avg_pool": (lambda: tf.nn.avg_pool(image, 3, 1, "SAME"), 0.98),
    "channels first": (lambda: tf.transpose(image, [0, 3, 1, 2]), 0.98),
    "equal": (lambda: tf.equal(x, x), 0.25),
    "reduce_sum": (lambda: tf.reduce_sum(x), 0),
    "reduce_mean of columns": (lambda: tf.reduce_mean(rows, 0), 0.01),
    "reduce_max": (lambda: tf.reduce_max(x), 0),
    "argmax": (lambda: tf.argmax(rows, -1), 0),
    "reshape": (lambda: tf.reshape(x, (100, 1000)), 0),
    "expand_dims": (lambda: tf.expand_dims(x, 0), 0),
    "squeeze": (lambda: tf.squeeze(tf.expand_dims(x, 0)), 0),
    "identity": (lambda: tf.identity(x), 0),
    "split": (lambda: tf.split(x, 4), 0),
    "a slice": (lambda: x[10:], 0),
    "a row": (lambda: rows[5], 0),
    "constant of an array": (lambda: tf.constant(VALUES), 1),
    "convert_to_tensor of an array": (lambda: tf.convert_to_tensor(VALUES), 1),
    "Variable of an array": (lambda: tf.Variable(VALUES), 1),
    "reading a Variable": (kept.value, 0),
    "assign": (lambda: kept.assign(x), 0),
}


#: The same of calls that NumPy computes, or whose results are not the pool's.
OTHER_CALLS: dict[str, tuple[Callable[[], Any], float]] = {
    "cumsum": (lambda: tf.cumsum(x), 1),
    "cumsum from the end": (lambda: tf.cumsum(rows, 0, exclusive=True, reverse=True), 1),
    "add_n": (lambda: tf.add_n([x, x, x]), 1),
    "tile": (lambda: tf.tile(x, [2]), 2),
    "range": (lambda: tf.range(N), 1),
    "a slice with steps": (lambda: x[::2], 0.5),
    "pad": (lambda: tf.pad(x, [[1, 1]]), 1),
    "matmul of a transposed matrix": (lambda: tf.matmul(square, square, transpose_b=True), 0.9),
    "random.normal": (lambda: tf.random.normal([N]), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_what_its_result_takes(name: str) -> None:
    call, result = CALLS[name]
    pool, numpy = taken(call)
    assert result <= pool + 0.01 and pool <= result * (1 + SLACK) + 0.02, f"{pool:.2f} instead of {result}"
    assert numpy < 0.1, f"NumPy held {numpy:.2f}"


@pytest.mark.parametrize("name", OTHER_CALLS)
def test_a_call_of_numpy_takes_what_its_result_takes(name: str) -> None:
    call, result = OTHER_CALLS[name]
    pool, numpy = taken(call)
    assert result <= pool + numpy + 0.01
    assert pool + numpy <= result * (1 + SLACK) + 0.02, f"{pool:.2f} of the pool and {numpy:.2f} instead of {result}"


def test_an_array_of_a_tensor_shares_its_memory_and_numpy_copies_once() -> None:
    assert taken(lambda: np.asarray(x)) < (0.01, 0.1)
    assert taken(lambda: np.from_dlpack(x)) < (0.01, 0.1)
    pool, numpy = taken(x.numpy)
    assert pool < 0.01 and 0.99 < numpy < 1.1


def test_updates_of_an_unshared_variable_are_in_place() -> None:
    variable = tf.Variable(VALUES)
    assert taken(lambda: variable.assign_add(x))[0] < 0.02
    assert taken(lambda: variable.assign_sub(x))[0] < 0.02
    np.testing.assert_allclose(variable.numpy(), VALUES, rtol=1e-5)
    value = variable.value()  # now somebody else holds the memory
    variable.assign_add(x)
    np.testing.assert_allclose(value.numpy(), VALUES, rtol=1e-5)


def gradient(function: Callable[..., Any], *inputs: Any) -> Any:
    with tf.GradientTape() as tape:
        for each in inputs:
            tape.watch(each)
        y = function(*inputs)
    return tape.gradient(y, inputs)


#: Function, inputs, vectors: the forward results, the gradient of the sum (ones), and each product and sum behind it.
GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
    "reshape": (lambda q: tf.reshape(q, (100, -1)), (x,), 1),
    "exp": (tf.exp, (x,), 3),
    "relu": (tf.nn.relu, (x,), 3),
    "sum": (tf.reduce_sum, (x,), 1),
    "sum of squares": (lambda q: tf.reduce_sum(tf.square(q)), (x,), 4),
    "product": (lambda a, b: a @ b, (square, tf.transpose(square)), 0.9 * 4),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_take_what_they_compute(name: str) -> None:
    function, inputs, vectors = GRADIENTS[name]
    pool, numpy = taken(lambda: gradient(function, *inputs))
    assert pool <= vectors * (1 + SLACK) + 0.05, f"{pool:.2f} instead of {vectors}"
    assert numpy < 0.1, f"NumPy held {numpy:.2f}"


def test_large_zeros_take_no_memory_before_they_are_written() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    try:
        before = resident()
    except OSError:
        pytest.skip("the system does not tell how much memory is resident")
    held = tf.zeros((20_000_000,))
    live = pool_statistics()["live_bytes"]
    assert resident() - before < 20e6
    assert held[-1].numpy() == 0
    del held
    assert live - pool_statistics()["live_bytes"] > 79e6
