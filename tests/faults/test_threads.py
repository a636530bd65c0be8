"""Eight threads at once on ops, tapes, Functions and Variables that they share: the results of one thread.

In `make soak` for a minute.
"""

from __future__ import annotations

import subprocess
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


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """Run each work in a thread of its own and return what they return. Raises TimeoutError where one hangs."""
    results: list[Any] = [None] * len(works)

    def run(i: int) -> None:
        results[i] = works[i]()

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError("a thread hangs")
    return results


def test_two_functions_that_call_each_other_are_traced_from_two_threads() -> None:
    inside = [threading.Event(), threading.Event()]

    def meet(mine: int) -> None:
        inside[mine].set()
        inside[1 - mine].wait(5.0)

    @tf.function(autograph=False)
    def there(x: Any) -> Any:
        if x.shape[0] == 1:
            meet(0)
            return back(x) + 1.0
        return x * 2.0

    @tf.function(autograph=False)
    def back(x: Any) -> Any:
        if x.shape[0] == 1:
            meet(1)
            return there(tf.ones([2]))[0] * x
        return x

    x = tf.ones([1])
    # The thread that closes the circle traces `back` beside the other one, and meets nobody there.
    found = in_threads(lambda: float(there(x)[0]), lambda: float(back(x)[0]))
    assert found == [3.0, 2.0]
    assert float(there(x)[0]) == 3.0 and float(back(x)[0]) == 2.0


def test_a_circle_of_three_functions() -> None:
    gate = threading.Barrier(3, timeout=5.0)
    functions: list[Any] = []

    def make(i: int) -> Any:
        first = [True]

        @tf.function(autograph=False)
        def each(x: Any, depth: int) -> Any:
            if depth == 0:
                return x
            if first.pop() if first else False:
                gate.wait()
            return functions[(i + 1) % 3](x, depth - 1) + float(i + 1)

        return each

    functions.extend(make(i) for i in range(3))
    x = tf.constant(0.0)
    found = in_threads(*[lambda i=i: float(functions[i](x, 3)) for i in range(3)])
    assert found == [6.0, 6.0, 6.0]


def test_variables_of_first_calls_in_functions_that_call_each_other() -> None:
    inside = [threading.Event(), threading.Event()]
    weights: dict[str, Any] = {}

    def meet(mine: int) -> None:
        inside[mine].set()
        inside[1 - mine].wait(5.0)

    @tf.function(autograph=False)
    def there(x: Any, deep: bool) -> Any:
        if "there" not in weights:
            weights["there"] = tf.Variable(2.0)
        if not deep:
            return x * weights["there"]
        meet(0)
        return back(x, False) * weights["there"]

    @tf.function(autograph=False)
    def back(x: Any, deep: bool) -> Any:
        if "back" not in weights:
            weights["back"] = tf.Variable(3.0)
        if not deep:
            return x * weights["back"]
        meet(1)
        return there(x, False) * weights["back"]

    x = tf.constant(1.0)
    assert in_threads(lambda: float(there(x, True)), lambda: float(back(x, True))) == [6.0, 6.0]
    weights["there"].assign(5.0)
    assert in_threads(lambda: float(there(x, True)), lambda: float(back(x, True))) == [15.0, 15.0]


def test_who_must_not_wait_for_long_still_waits_for_one_trace() -> None:
    traced = []

    @tf.function(autograph=False)
    def slow(x: Any) -> Any:
        traced.append(1)
        time.sleep(0.2)
        return x + 1.0

    x = tf.constant(1.0)
    assert in_threads(*[lambda: float(slow(x))] * 6) == [2.0] * 6
    assert len(traced) == 1


REPLACED = """
import gc, threading, time
import fastgraph as tf

def body(n):
    i, y = tf.constant(0), tf.ones([1000])
    while i < n:
        y = tf.cumsum(y) / 1000.0
        i += 1
    return y

def traced():
    concrete = tf.function(body).get_concrete_function(tf.constant(3))
    concrete(tf.constant(3))
    concrete.wait(60)
    return concrete

called, n = tf.function(body), tf.constant(400_000)
first, second = traced(), traced()
first.offer(called, (n,), {}, [n])
results = []
thread = threading.Thread(target=lambda: results.append(called(n)))
thread.start()
time.sleep(0.2)
second.offer(called, (n,), {}, [n])
del first
gc.collect()
junk = [bytearray(1 << k) for k in range(4, 16) for _ in range(200)]
print("running" if not results else "done")
thread.join()
print(results[0].shape)
"""


@pytest.mark.slow
def test_a_plan_that_runs_outlives_its_place_in_the_cache() -> None:
    """Another thread may meanwhile remember another Plan for the same kind of call, as after clear_cache."""
    run = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True, timeout=200)
    assert (run.returncode, run.stdout) == (0, "running\n(1000,)\n"), run.stderr[-2000:]


def test_clear_cache_while_threads_call() -> None:
    f = tf.function(lambda x: tf.while_loop(lambda i: i < 3000, lambda i: i + 1, [x])[0])

    def call() -> bool:
        return all(int(f(tf.constant(0))) == 3000 for _ in range(30))

    def clear() -> bool:
        for _ in range(30):
            f.clear_cache()
            time.sleep(0.002)
        return True

    assert in_threads(call, call, call, call, clear) == [True] * 5
