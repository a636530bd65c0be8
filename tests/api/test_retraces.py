"""The warning of frequent tracing, and why a Function traced: which argument, old against new."""

from __future__ import annotations

import itertools
import logging
import threading
import time
import types
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

numbers = itertools.count()


def first(x: Any, *rest: Any) -> Any:
    return x


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Any:
    """Return a function that gives the warnings since it was called last."""
    caplog.set_level(logging.WARNING, "tensorflow")

    def texts() -> list[str]:
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return texts


def new(python_function: Any) -> Any:
    """Return the function with code of its own: warnings are counted for code."""
    code = python_function.__code__.replace(co_name=f"f{next(numbers)}")
    return types.FunctionType(code, python_function.__globals__, None, None, python_function.__closure__)


def counts(texts: list[str]) -> list[tuple[int, int]]:
    return [(int(text.split()[0]), int(text.split("last ")[1].split()[0])) for text in texts]


# The numbers are those that TensorFlow counts for the same calls.
CALLS = {
    "strings": ([1, 1, 2, None, None, "a", "b", "c", "d"], [(5, 7), (6, 8)]),
    "each twice": ([k // 2 for k in range(14)], [(5, 9), (6, 11)]),
    "after many without": ([1] * 31 + [2, 3, 4, 5, 6, 7], [(5, 35), (6, 36)]),
    "seldom enough": ([k // 5 for k in range(40)], []),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_counts_of_the_warning(name: str, warned: Any) -> None:
    arguments, expected = CALLS[name]
    f = fg.function(new(lambda x, k: x), autograph=False)
    for argument in arguments:
        f(fg.constant(1.0), argument)
    assert counts(warned()) == expected


@pytest.mark.parametrize(("n_calls", "expected"), [(1, [(5, 5), (6, 6)]), (2, [(5, 9), (6, 11)])])
def test_a_function_made_in_a_loop(n_calls: int, expected: Any, warned: Any) -> None:
    @new
    def made(x: Any) -> Any:
        return x

    for _ in range(8):
        f = fg.function(made, autograph=False)
        for _ in range(n_calls):
            f(fg.constant(1.0))
    texts = warned()
    assert counts(texts) == expected
    assert f"test_retraces.py:{made.__code__.co_firstlineno}: make it once" in texts[0]


def test_traces_inside_of_traces_are_not_counted(warned: Any) -> None:
    @fg.function(autograph=False)
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else x * power(x, n - 1)

    assert float(power(fg.constant(2.0), 8)) == 512.0
    assert warned() == []


def test_threads_that_wait_for_a_trace_have_not_traced(warned: Any) -> None:
    gate = threading.Barrier(12)
    held: list[Any] = []

    @fg.function(autograph=False)
    def f(x: Any) -> Any:
        if not held:
            time.sleep(0.1)
            held.append(fg.Variable(1.0))
        return held[0] * x

    def call() -> None:
        gate.wait()
        f(fg.constant(2.0))

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warned() == [] and f.explain_retraces().splitlines()[0] == "f has 1 trace."


def test_methods_of_many_instances_are_no_fault(warned: Any) -> None:
    class Model:
        @fg.function(autograph=False)
        def call(self, x: Any) -> Any:
            return x

    for _ in range(10):
        Model().call(fg.constant(1.0))
    assert warned() == []


def test_get_concrete_function_is_no_call(warned: Any) -> None:
    f = fg.function(first, autograph=False)
    for n in range(10):
        f.get_concrete_function(fg.TensorSpec([n]))
    assert warned() == []


class Model:
    pass


VARIABLES = [fg.Variable(float(k)) for k in range(6)]

REASONS = {
    "int": (lambda k: 7 + k, "`x`: 10 -> 11 (Python int); pass tf.constant(x)"),
    "float": (lambda k: 0.5 + k, "`x`: 3.5 -> 4.5 (Python float); pass tf.constant(x)"),
    "str": (lambda k: f"s{k}", "`x`: 's3' -> 's4' (Python str); each value has a graph of its own"),
    "shape": (
        lambda k: np.zeros([2, k], np.float32),
        "`x`: shape (2, 3) -> (2, 4); pass reduce_retracing=True, or an input_signature with "
        "tf.TensorSpec([2, None], tf.float32)",
    ),
    "rank": (lambda k: np.zeros([1] * k, np.int32), "an input_signature with tf.TensorSpec(None, tf.int32)"),
    "dtype": (
        lambda k: np.zeros([], ["float32", "float64", "int32", "int64", "int8"][k]),
        "`x`: int64 -> int8 tensor; cast it before the call (tf.cast)",
    ),
    "object": (lambda k: Model(), "`x`: another object of class Model, and objects count by identity"),
    "variable": (lambda k: VARIABLES[k], "`x`: another tf.Variable; pass its value as a tensor, or the same Variable"),
    "in a dict": (lambda k: {"a": [1, {"step": k}]}, "`x['a'][1]['step']`: 3 -> 4 (Python int); pass tf.constant("),
    "length": (lambda k: [fg.constant(1.0)] * k, "`x`: list of 3 -> list of 4"),
    "keys": (lambda k: {f"k{k}": fg.constant(1.0)}, "`x`: dict with keys 'k3' -> dict with keys 'k4'"),
    "kind": (lambda k: [1, "a", None, fg.constant(1.0), [2]][k], " -> list of 1"),
}


@pytest.mark.parametrize("name", REASONS)
def test_the_warning_says_which_argument(name: str, warned: Any) -> None:
    make, reason = REASONS[name]
    f = fg.function(new(lambda x: fg.constant(1.0)), autograph=False)
    given = [make(k) for k in range(5)]
    for argument in given:
        f(argument)
    (text,) = warned()
    assert text.startswith("5 out of the last 5 calls to <function")
    assert reason in text and "\nThe latest trace differs from an earlier one in `x" in text
    assert f.explain_retraces().splitlines()[-1].startswith("  5: `x")
    assert reason in f.explain_retraces().splitlines()[-1]


def test_only_what_changed_is_named() -> None:
    f = fg.function(lambda x, step, *rest, scale=1.0, **more: x, autograph=False)
    x = fg.constant(1.0)
    f(x, 1)
    f(x, 2)
    f(x, 2, 5, scale=2.0)
    f(fg.zeros([3]), 2)
    f(x, 2, name="other")
    lines = f.explain_retraces().splitlines()
    assert lines[0].endswith("has 5 traces.")
    assert lines[1] == "  1: the first"
    assert lines[2] == "  2: `step`: 1 -> 2 (Python int); pass tf.constant(step)"
    assert "`rest_0`: not given -> 5 (Python int)" in lines[3] and "`scale`: 1.0 -> 2.0" in lines[3]
    assert "step" not in lines[3] and "`x`" not in lines[3]
    assert lines[4].startswith("  4: `x`: shape () -> (3,)") and "step" not in lines[4]
    assert lines[5] == "  5: `name`: not given -> 'other' (Python str)"


def test_the_nearest_trace_is_compared() -> None:
    f = fg.function(lambda x, a, b: x, autograph=False)
    x = fg.constant(1.0)
    for a, b in [(1, 1), (2, 9), (1, 2)]:
        f(x, a, b)
    assert f.explain_retraces().splitlines()[-1] == "  3: `b`: 1 -> 2 (Python int); pass tf.constant(b)"


def test_methods_explain_too() -> None:
    class Counter:
        @fg.function(autograph=False)
        def step(self, x: Any, k: int) -> Any:
            return x

    counter = Counter()
    for k in range(3):
        counter.step(fg.constant(1.0), k)
    assert "`k`: 1 -> 2 (Python int)" in counter.step.explain_retraces()
    assert Counter().step.explain_retraces() == "step has 0 traces."


def test_after_clear_cache_the_reason_is_that() -> None:
    f = fg.function(first, autograph=False)
    f(fg.constant(1.0))
    f.clear_cache()
    f(fg.constant(1.0))
    assert f.explain_retraces().splitlines()[-1] == "  2: nothing: the trace for such arguments was not kept"


def test_objects_are_not_kept_by_the_explanation() -> None:
    import gc
    import weakref

    f = fg.function(lambda m: fg.constant(1.0), autograph=False)
    m = Model()
    reference = weakref.ref(m)
    f(m)
    del m
    gc.collect()
    assert reference() is None and "the first" in f.explain_retraces()


# ---------------------------------------------------------------------------------------------------------------------
# Numbers as tensors, on request


def test_boxed_numbers_trace_once(warned: Any) -> None:
    f = fg.function(lambda x, step, *rest, scale=1.0: x * step + rest[0]["k"] * scale, experimental_box_numbers=True)
    x = fg.constant(2.0)
    for step in range(10):
        assert float(f(x, float(step), {"k": step + 0.5}, scale=0.5 * step)) == 2.0 * step + (step + 0.5) * 0.5 * step
    assert f.experimental_get_tracing_count() == 1 and warned() == []


def test_boxed_numbers_leave_the_others_alone() -> None:
    f = fg.function(lambda x, flag, name: x if flag else x + 1, autograph=False, experimental_box_numbers=True)
    assert int(f(1, True, "a")) == 1 and int(f(2, False, "a")) == 3 and int(f(3, False, "a")) == 4
    assert f.experimental_get_tracing_count() == 2
    for k in (1, 2, 1):  # what was called before is not found by its value
        assert int(f(k, True, "a")) == k


def test_methods_box_too() -> None:
    class Model:
        @fg.function(experimental_box_numbers=True)
        def step(self, x: Any) -> Any:
            return x + 1

    m = Model()
    assert [int(m.step(k)) for k in range(5)] == [1, 2, 3, 4, 5] and m.step.experimental_get_tracing_count() == 1
