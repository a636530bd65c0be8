"""Objects that are equal by value are one argument of a Function, and what counts as a trace."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import fractions
import gc
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as tf


def traced() -> Any:
    @tf.function
    def f(x: Any, option: Any) -> Any:
        return x + 1.0

    return f


VALUES: list[Callable[[], Any]] = [
    lambda: pathlib.Path("a") / "b",
    lambda: decimal.Decimal("1.5"),
    lambda: fractions.Fraction(1, 2),
    lambda: frozenset(["a", "b"]),
    lambda: datetime.date(2020, 1, 1),
    lambda: range(3),
]


@pytest.mark.parametrize("make", VALUES)
def test_equal_values_share_a_trace(make: Callable[[], Any]) -> None:
    f, x = traced(), tf.constant(1.0)
    for _ in range(3):
        assert float(f(x, make())) == 2.0
        assert float(f(x, [make()])) == 2.0
        gc.collect()
    assert f.experimental_get_tracing_count() == 2
    assert float(f.get_concrete_function(x, make())(x, make())) == 2.0


def test_other_values_have_their_own_traces() -> None:
    f, x = traced(), tf.constant(1.0)
    for option in (pathlib.Path("a"), pathlib.Path("b"), decimal.Decimal(1), fractions.Fraction(1), frozenset([1])):
        f(x, option)
    assert f.experimental_get_tracing_count() == 5
    with pytest.raises(TypeError, match="was constructed with PosixPath value"):
        f.get_concrete_function(x, pathlib.Path("a"))(x, pathlib.Path("b"))


def test_objects_without_values_count_by_identity() -> None:
    class Option:
        pass

    f, x = traced(), tf.constant(1.0)
    kept = [Option(), Option()]
    for option in kept * 2:
        f(x, option)
    assert f.experimental_get_tracing_count() == 2


def test_a_trace_that_fails_does_not_count() -> None:
    calls = []

    @tf.function
    def f(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("the first time")
        return x

    counts = []
    for _ in range(3):
        with contextlib.suppress(ValueError):
            f(tf.constant(1.0))
        counts.append(f.experimental_get_tracing_count())
    assert counts == [0, 1, 1]
