"""Functions that call themselves where a tensor decides, against plain Python."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.staging import trace_cache

SCALAR = tf.TensorSpec((), tf.int32)


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


# ---- values ---------------------------------------------------------------------------------------------------------


def test_factorial(tier: str) -> None:
    @tf.function
    def fact(n: Any) -> Any:
        if n <= 1:
            return 1
        return n * fact(n - 1)

    assert [int(fact(tf.constant(n))) for n in range(9)] == [math.factorial(n) for n in range(9)]
    assert fact.experimental_get_tracing_count() == 1


def test_input_signature(tier: str) -> None:
    @tf.function(input_signature=[SCALAR])
    def fact(n: Any) -> Any:
        if n <= 1:
            return 1
        return n * fact(n - 1)

    assert int(fact(5)) == int(fact(tf.constant(5))) == 120


def test_two_calls_of_itself(tier: str) -> None:
    @tf.function
    def fib(n: Any) -> Any:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert [int(fib(tf.constant(n))) for n in range(10)] == [fibonacci(n) for n in range(10)]


def test_calls_in_calls(tier: str) -> None:
    @tf.function
    def ackermann(m: Any, n: Any) -> Any:
        if m == 0:
            return n + 1
        if n == 0:
            return ackermann(m - 1, 1)
        return ackermann(m - 1, ackermann(m, n - 1))

    assert int(ackermann(tf.constant(2), tf.constant(2))) == 7


def test_one_another(tier: str) -> None:
    @tf.function
    def even(n: Any) -> Any:
        if n == 0:
            return True
        return odd(n - 1)

    @tf.function
    def odd(n: Any) -> Any:
        return n != 0 and even(n - 1)

    for n in range(5):
        assert bool(even(tf.constant(n))) == (n % 2 == 0)
        assert bool(odd(tf.constant(n))) == (n % 2 == 1)


def test_three_of_them_and_each_also_itself(tier: str) -> None:
    def make(wrap: Callable[[Any], Any]) -> Any:
        @wrap
        def a(n: Any) -> Any:
            return 1 if n <= 0 else a(n - 3) + b(n - 1)

        @wrap
        def b(n: Any) -> Any:
            return 2 if n <= 1 else b(n - 2) + c(n - 1)

        @wrap
        def c(n: Any) -> Any:
            return 3 if n <= 2 else c(n - 4) + a(n - 1) * b(n - 2)

        return a, b, c

    plain, staged = make(lambda f: f), make(tf.function)
    for f, g in zip(plain, staged, strict=True):
        assert [int(g(tf.constant(n))) for n in range(7)] == [f(n) for n in range(7)]


class Pair(NamedTuple):
    first: Any
    rest: Any


def test_structures_as_results(tier: str) -> None:
    @tf.function
    def halves(n: Any, x: Any) -> Any:
        if n == 0:
            return Pair(x, {"n": tf.constant(0), "none": None})
        deeper = halves(n - 1, x / 2.0)
        return Pair(deeper.first + x, {"n": deeper.rest["n"] + 1, "none": deeper.rest["none"]})

    first, rest = halves(tf.constant(3), tf.constant([8.0, 4.0]))
    np.testing.assert_array_equal(first, [15.0, 7.5])
    assert int(rest["n"]) == 3 and rest["none"] is None


def test_sizes_that_grow_and_shrink(tier: str) -> None:
    @tf.function
    def count(n: Any) -> Any:
        if n == 0:
            return tf.zeros([0], tf.int32)
        return tf.concat([count(n - 1), [n]], 0)

    np.testing.assert_array_equal(count(tf.constant(4)), [1, 2, 3, 4])
    assert count.get_concrete_function(tf.constant(1)).output_shapes.as_list() == [None]

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def total(x: Any) -> Any:
        if tf.size(x) == 0:
            return 0.0
        return x[0] + total(x[1:])

    for n in (5, 0, 3):
        assert float(total(tf.range(float(n)))) == n * (n - 1) / 2

    @tf.function(reduce_retracing=True)
    def product(x: Any) -> Any:
        if tf.size(x) == 0:
            return 1.0
        return x[0] * product(x[1:])

    for n in (3, 5, 4):
        assert float(product(tf.range(1.0, n + 1.0))) == math.factorial(n)
    assert product.experimental_get_tracing_count() == 2


def test_ragged_results() -> None:
    @tf.function
    def rows(n: Any) -> Any:
        if n == 0:
            return tf.RaggedTensor.from_row_lengths(tf.constant([], tf.int32), tf.constant([], tf.int64))
        own = tf.RaggedTensor.from_row_lengths(tf.range(n), tf.reshape(tf.cast(n, tf.int64), [1]))
        return tf.concat([rows(n - 1), own], 0)

    assert rows(tf.constant(3)).to_list() == [[0], [0, 1], [0, 1, 2]]


def test_in_loops(tier: str) -> None:
    def make(wrap: Callable[[Any], Any], range_: Any) -> Any:
        @wrap
        def trees(n: Any) -> Any:  # ordered trees of depth up to n whose nodes have one child, two, ... up to n
            total = 1
            for i in range_(n):
                total += trees(n - 1 - i)
            return total

        @wrap
        def down(n: Any) -> Any:
            total = 0
            while n > 0:
                n -= 1
                total += down(n) + 1
            return total

        return trees, down

    plain, staged = make(lambda f: f, range), make(tf.function, tf.range)
    for f, g in zip(plain, staged, strict=True):
        assert [int(g(tf.constant(n))) for n in range(6)] == [f(n) for n in range(6)]


def test_as_a_method_and_without_autograph(tier: str) -> None:
    class Powers:
        def __init__(self, base: int) -> None:
            self.base = tf.Variable(base)

        @tf.function
        def of(self, n: Any) -> Any:
            if n == 0:
                return 1
            return self.base * self.of(n - 1)

    two, three = Powers(2), Powers(3)
    assert int(two.of(tf.constant(5))) == 32 and int(three.of(tf.constant(3))) == 27
    two.base.assign(4)
    assert int(two.of(tf.constant(2))) == 16

    @tf.function(autograph=False)
    def fact(n: Any) -> Any:
        return tf.cond(n > 1, lambda: n * fact(n - 1), lambda: 1)

    assert int(fact(tf.constant(5))) == 120


def test_inside_other_functions(tier: str) -> None:
    @tf.function
    def fact(n: Any) -> Any:
        return 1 if n <= 1 else n * fact(n - 1)

    @tf.function
    def both(n: Any) -> Any:
        return fact(n) + fact(n + 1)

    assert int(both(tf.constant(4))) == 144
    data = tf.data.Dataset.range(1, 5).map(lambda n: fact(tf.cast(n, tf.int32)))
    assert [int(x) for x in data] == [1, 2, 6, 24]
    np.testing.assert_array_equal(tf.map_fn(fact, tf.constant([3, 4])), [6, 24])


def test_random_numbers_datasets_and_python_inside(tier: str) -> None:
    @tf.function
    def noise(n: Any) -> Any:
        if n == 0:
            return tf.zeros([3])
        return tf.random.uniform([3], 1.0, 2.0) + noise(n - 1)

    tf.random.set_seed(7)
    first, second = noise(tf.constant(3)).numpy(), noise(tf.constant(3)).numpy()
    assert ((first >= 3.0) & (first < 6.0)).all() and (first != second).all()
    tf.random.set_seed(7)
    np.testing.assert_array_equal(noise(tf.constant(3)), first)

    @tf.function
    def visits(n: Any, x: Any) -> Any:
        found = x
        for i in tf.data.Dataset.range(3):
            if n > 0:
                found += tf.cast(i, tf.float32) * visits(n - 1, x)
        return found

    def plain(n: int, x: float) -> float:
        return x + sum(i * plain(n - 1, x) for i in range(3)) if n > 0 else x

    assert float(visits(tf.constant(2), tf.constant(2.0))) == plain(2, 2.0)

    @tf.function
    def called(n: Any) -> Any:
        if n == 0:
            return 0
        return tf.numpy_function(lambda k: k * 10, [n], tf.int32) + called(n - 1)

    assert int(called(tf.constant(3))) == 60


def test_python_arguments_that_differ_are_traces_of_their_own() -> None:
    @tf.function
    def f(x: Any, depth: int) -> Any:
        return x if depth == 0 else f(x + 1.0, depth - 1)

    assert float(f(tf.constant(0.0), 3)) == 3.0
    assert f.experimental_get_tracing_count() == 4


def test_search_with_loops_breaks_and_returns(tier: str) -> None:
    def make(wrap: Callable[[Any], Any], range_: Any) -> Any:
        @wrap
        def first(n: Any) -> Any:
            for i in range_(n):
                if i > 2:
                    return i
                if first(i) > 1:
                    return first(i) + 10
            return n

        @wrap
        def doubling(n: Any) -> Any:
            total = 0
            while True:
                if n <= 0:
                    break
                n -= 1
                total += doubling(n) + 1
            return total

        return first, doubling

    plain, staged = make(lambda f: f, range), make(tf.function, tf.range)
    for f, g in zip(plain, staged, strict=True):
        assert [int(g(tf.constant(n))) for n in range(6)] == [f(n) for n in range(6)]


def test_trees(tier: str) -> None:
    children = tf.constant([[1, 2], [3, -1], [-1, -1], [4, -1], [-1, -1]])
    weights = tf.Variable([1.0, 2.0, 4.0, 8.0, 16.0])

    @tf.function
    def total(i: Any) -> Any:
        found = 0.0
        if i >= 0:
            found = weights[i] ** 2
            for child in children[i]:
                found += total(child)
        return found

    @tf.function(input_signature=[SCALAR])
    def mapped(i: Any) -> Any:
        if i < 0:
            return 0.0
        return weights[i] ** 2 + tf.reduce_sum(tf.map_fn(mapped, children[i], fn_output_signature=tf.float32))

    for function in (total, mapped):
        with tf.GradientTape() as tape:
            y = function(tf.constant(0))
        assert float(y) == 341.0
        np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(y, weights)), [2.0, 4.0, 8.0, 16.0, 32.0])


# ---- effects --------------------------------------------------------------------------------------------------------


def test_variables_are_read_and_assigned_in_order(tier: str) -> None:
    def make(wrap: Callable[[Any], Any]) -> Any:
        v = tf.Variable(1)

        @wrap
        def f(n: Any) -> Any:
            before = v.read_value()
            if n > 0:
                v.assign(v * 2 + n)
                inner = f(n - 1)
                v.assign_add(inner)
                before += v.read_value()
            return before

        return v, f

    (v, f), (w, g) = make(lambda f: f), make(tf.function)
    for n in (0, 1, 4):
        assert int(g(tf.constant(n))) == int(f(tf.constant(n)))
        assert int(w) == int(v)


def test_calls_for_effects_alone(tier: str, capfd: pytest.CaptureFixture[str]) -> None:
    v = tf.Variable(0)

    @tf.function
    def steps(n: Any) -> None:
        if n > 0:
            tf.print("at", n)
            steps(n - 1)
            v.assign_add(n)

    assert steps(tf.constant(3)) is None
    assert int(v) == 6
    assert capfd.readouterr().err.split("\n")[:3] == ["at 3", "at 2", "at 1"]


def test_a_variable_made_in_the_first_call() -> None:
    class Counter:
        made: Any = None

        @tf.function
        def down(self, n: Any) -> Any:
            if self.made is None:
                self.made = tf.Variable(0)
            self.made.assign_add(1)
            if n > 0:
                return self.down(n - 1)
            return self.made.read_value()

    assert int(Counter().down(tf.constant(3))) == 4


# ---- with the rest --------------------------------------------------------------------------------------------------


def test_explained_written_and_forgotten() -> None:
    @tf.function
    def fact(n: Any) -> Any:
        return 1 if n <= 1 else n * fact(n - 1)

    concrete = fact.get_concrete_function(SCALAR)
    assert int(concrete(tf.constant(5))) == 120
    assert "recursive_call" in concrete.explain() and concrete.name.decode() in str(concrete.graph)
    definition = concrete.graph.as_graph_def()
    functions = {each.signature.name: each for each in definition.library.function}
    called = [n for each in functions.values() for n in each.node_def if n.op.endswith("PartitionedCall")]
    assert called and all(node.attr["f"].func.name in functions for node in called)
    fact.clear_cache()
    assert int(fact(tf.constant(4))) == 24


def test_few_traces_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEWEST_TRACES", "MOST_TRACES"):
        monkeypatch.setattr(trace_cache, name, 2)

    @tf.function
    def total(x: Any, n: Any) -> Any:
        return tf.reduce_sum(x) if n == 0 else total(x, n - 1) + other(x, n - 1)

    @tf.function
    def other(x: Any, n: Any) -> Any:
        return 1.0 if n == 0 else total(x * 2.0, n - 1)

    with flags.override(tier="first"):  # compiled ones are in use for longer
        for size in (1, 2, 3, 4, 1, 2):
            assert float(total(tf.ones([size]), tf.constant(2))) == 3.0 * size + 1.0
    assert len(total._list_all_concrete_functions()) == 2


def test_pickled() -> None:
    copied = pickle.loads(pickle.dumps(module_level))
    assert copied is module_level and int(copied(tf.constant(4))) == 24
    again = copy.copy(module_level)
    assert int(again(tf.constant(5))) == 120


@tf.function
def module_level(n: Any) -> Any:
    return 1 if n <= 1 else n * module_level(n - 1)


def test_collected_with_its_graphs() -> None:
    def made() -> Any:
        @tf.function
        def f(x: Any, n: Any) -> Any:
            return x if n <= 1 else x * f(x, n - 1)

        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(3))
        tape.gradient(y, x)
        concrete = f.get_concrete_function(x, tf.constant(3))
        concrete.wait()
        return weakref.ref(f), weakref.ref(concrete.graph)

    gone = made()
    for _ in range(200):  # who compiles a graph holds it
        gc.collect()
        if all(each() is None for each in gone):
            break
        time.sleep(0.05)
    assert [each() for each in gone] == [None, None]


def test_a_caller_outlives_the_function() -> None:
    def made() -> Any:
        @tf.function
        def fact(n: Any) -> Any:
            return 1 if n <= 1 else n * fact(n - 1)

        concrete = tf.function(lambda n: fact(n) + 1).get_concrete_function(SCALAR)
        return concrete, weakref.ref(fact)

    concrete, gone = made()
    gc.collect()
    assert gone() is None and int(concrete(tf.constant(5))) == 121


def test_its_concrete_function_is_not_there_yet() -> None:
    @tf.function
    def f(n: Any) -> Any:
        if n == 0:
            return 0
        return f.get_concrete_function(SCALAR)(n - 1)

    with pytest.raises(RuntimeError, match="f is being traced"):
        f(tf.constant(2))


def test_two_threads_that_trace_one_another() -> None:
    for _ in range(5):

        @tf.function
        def even(n: Any) -> Any:
            return True if n == 0 else odd(n - 1)

        @tf.function
        def odd(n: Any) -> Any:
            return False if n == 0 else even(n - 1)

        start, results = threading.Barrier(4), []

        def run(function: Any, start: threading.Barrier = start, results: list[bool] = results) -> None:
            start.wait()
            results.append(bool(function(tf.constant(6))))

        threads = [threading.Thread(target=run, args=(f,), daemon=True) for f in (even, odd, even, odd)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(results) == [False, False, True, True]
