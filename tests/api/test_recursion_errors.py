"""Functions that call themselves without an end, or with an error inside."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import fastgraph as tf
from fastgraph import errors


def test_no_base_case() -> None:
    @tf.function
    def forever(n: Any) -> Any:
        return forever(n - 1) + 1

    @tf.function
    def ping(n: Any) -> Any:
        if n > 0:
            return pong(n - 1)
        return pong(n + 1)

    @tf.function
    def pong(n: Any) -> Any:
        return ping(n) * 2

    for function, name in ((forever, "forever"), (ping, "ping"), (pong, "pong"), (forever, "forever")):
        with pytest.raises(RecursionError, match=rf"{name} calls itself at .*test_recursion_errors.py:\d+.*base case"):
            function(tf.constant(3))


def test_arguments_of_another_kind_in_every_call() -> None:
    @tf.function
    def f(n: Any, options: dict[str, int]) -> Any:
        if n == 0:
            return 0
        return f(n - 1, {"depth": options["depth"] + 1})

    with pytest.raises(RecursionError, match=r"f calls itself, \d+ times.*depth.*\d+ -> \d+.*reduce_retracing"):
        f(tf.constant(3), {"depth": 0})

    @tf.function
    def grow(x: Any) -> Any:
        return 0.0 if tf.size(x) == 0 else grow(tf.concat([x, [1.0]], 0))

    with pytest.raises(RecursionError, match=r"grow calls itself.*shape \(\d+,\) -> \(\d+,\).*None"):
        grow(tf.constant([3.0]))


def test_results_of_different_dtypes() -> None:
    @tf.function
    def f(n: Any) -> Any:
        if n == 0:
            return 1
        return tf.cast(f(n - 1), tf.float32)

    with pytest.raises(TypeError, match="int32.*float32|float32.*int32"):
        f(tf.constant(3))


def test_deep_recursion_is_a_result_or_an_error() -> None:
    @tf.function
    def deep(n: Any) -> Any:
        return 0 if n == 0 else deep(n - 1) + 1

    assert int(deep(tf.constant(500))) == 500
    for depth in (9_000, 20_000, -1):
        try:
            assert int(deep(tf.constant(depth))) == depth
        except errors.ResourceExhaustedError as error:
            assert "deep" in str(error) and "base case" in str(error)
    assert int(deep(tf.constant(5))) == 5


def test_errors_inside_name_the_op_and_the_line() -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        if n == 0:
            return tf.gather(x, 7)
        return f(x, n - 1) * 2.0

    with pytest.raises(errors.InvalidArgumentError, match=r"(?s)test_recursion_errors.py.*indices = 7 is not in"):
        f(tf.constant([1.0, 2.0]), tf.constant(40))


def test_an_error_while_tracing_leaves_nothing_behind() -> None:
    fails = [True]

    @tf.function
    def f(n: Any) -> Any:
        if n == 0:
            return 0
        inner = f(n - 1)
        if fails[0]:
            raise ValueError("not today")
        return inner + 1

    with pytest.raises(ValueError, match="not today"):
        f(tf.constant(3))
    fails[0] = False
    assert int(f(tf.constant(3))) == 3


def test_an_interrupt_ends_it() -> None:
    @tf.function
    def fib(n: Any) -> Any:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert int(fib(tf.constant(5))) == 5
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            fib(tf.constant(90))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert int(fib(tf.constant(6))) == 8
