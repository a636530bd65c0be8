"""Eight threads at once on ops, tapes, Functions and Variables that they share: the results of one thread.

In `make soak` for a minute.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

THREADS = 8


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Let threads switch as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def hammer(seconds: float, *works: Callable[[int, int], None]) -> list[int]:
    """Call the works in turn, with the number of the thread and of the round, in eight threads; return the rounds."""
    errors: list[BaseException] = []
    rounds = [0] * THREADS
    gate = threading.Barrier(THREADS)
    end = time.perf_counter() + seconds

    def run(thread: int) -> None:
        gate.wait()
        try:
            while time.perf_counter() < end and not errors:
                works[(thread + rounds[thread]) % len(works)](thread, rounds[thread])
                rounds[thread] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    assert min(rounds) > 0
    return rounds


def numbers(thread: int, n: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(1000 * thread + n % 7).standard_normal(shape).astype(np.float32)


class Work:
    """What the threads share, and the works on it, each of which knows what must come out."""

    def __init__(self) -> None:
        self.weight = tf.Variable(np.eye(8, dtype=np.float32) * 0.5)
        self.count = tf.Variable(0, dtype="int64")
        self.total = tf.Variable(np.zeros(8, np.float32))
        self.rows = tf.Variable(np.zeros([4, 3], np.float32))
        self.added = [0] * THREADS
        self.in_function = [0] * THREADS
        self.scattered = [0] * THREADS
        x = tf.constant(numbers(99, 0, (4, 8)))
        with tf.GradientTape(persistent=True) as self.tape:
            self.tape.watch(x)
            self.loss = tf.reduce_sum(tf.tanh(tf.matmul(x, self.weight)))
        self.source = x
        self.slope = self.tape.gradient(self.loss, x).numpy()

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.tanh(tf.matmul(x, self.weight)))
            self.count.assign_add(1)
            return loss, tape.gradient(loss, self.weight)

        self.step = step

    def ops(self, thread: int, n: int) -> None:
        x = numbers(thread, n, (3 + n % 5, 16))
        t = tf.constant(x)
        np.testing.assert_allclose(
            tf.reduce_sum(tf.square(t) + t * 2.0, axis=1), (x * x + x * 2).sum(1), rtol=1e-4, atol=1e-4
        )
        assert np.array_equal(tf.transpose(tf.concat([t, t], 0)), np.concatenate([x, x], 0).T)
        assert np.array_equal(tf.gather(t, [2, 0]), x[[2, 0]])
        assert np.array_equal(tf.sort(t, axis=0), np.sort(x, 0))

    def large(self, thread: int, n: int) -> None:
        x = np.full(200_000, thread + 1, np.float32)
        assert float(tf.reduce_sum(tf.exp(tf.constant(x) * 0.0) * x)) == 200_000.0 * (thread + 1)

    def tapes(self, thread: int, n: int) -> None:
        x = tf.constant(numbers(thread, n, (5,)))
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(x * x * x)
            first = inner.gradient(y, x)
        np.testing.assert_allclose(first, 3 * x.numpy() ** 2, rtol=1e-5)
        np.testing.assert_allclose(outer.gradient(first, x), 6 * x.numpy(), rtol=1e-5)

    def shared_tape(self, thread: int, n: int) -> None:
        np.testing.assert_allclose(self.tape.gradient(self.loss, self.source), self.slope, rtol=1e-6)

    def variables(self, thread: int, n: int) -> None:
        self.count.assign_add(1)
        self.total.assign_add(np.ones(8, np.float32))
        self.added[thread] += 1

    def sparse(self, thread: int, n: int) -> None:
        self.rows.scatter_add(tf.IndexedSlices(tf.ones([2, 3]), tf.constant([thread % 4, thread % 4])))
        self.scattered[thread] += 1

    def functions(self, thread: int, n: int) -> None:
        x = numbers(thread, n, (4, 8))
        loss, slope = self.step(tf.constant(x))
        self.in_function[thread] += 1
        y = np.tanh(x * 0.5)
        np.testing.assert_allclose(loss, y.sum(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(slope, x.T @ (1 - y * y), rtol=1e-3, atol=1e-4)

    def tracing(self, thread: int, n: int) -> None:
        k = float(n % 3)
        assert float(tf.function(lambda v: v * 2.0 + k)(tf.constant(float(thread)))) == thread * 2.0 + k

    def check(self) -> None:
        """No update was lost."""
        assert int(self.count) == sum(self.added) + sum(self.in_function)
        assert self.total.numpy().tolist() == [float(sum(self.added))] * 8
        for row in range(4):
            n = sum(2 * made for thread, made in enumerate(self.scattered) if thread % 4 == row)
            assert self.rows.numpy()[row].tolist() == [float(n)] * 3


def run(seconds: float) -> None:
    work = Work()
    hammer(
        seconds,
        work.ops,
        work.tapes,
        work.variables,
        work.functions,
        work.shared_tape,
        work.sparse,
        work.large,
        work.tracing,
    )
    work.check()


def test_threads_share_ops_tapes_and_variables() -> None:
    run(3.0)


@pytest.mark.soak
def test_threads_for_a_minute() -> None:
    run(60.0)


def test_a_lost_update_would_be_seen() -> None:
    work = Work()
    work.variables(0, 0)
    work.total.assign(np.zeros(8, np.float32))
    with pytest.raises(AssertionError):
        work.check()


def test_an_error_in_a_thread_is_raised() -> None:
    def wrong(thread: int, n: int) -> None:
        assert thread != 5

    with pytest.raises(AssertionError):
        hammer(1.0, wrong)
