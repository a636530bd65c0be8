"""Gradients of Functions that call Functions, however deep: Python's stack is no limit."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graph import differentiate


def nested(depth: int, first: Any = lambda x: x * 1.5) -> Any:
    """A Function that calls one that calls one ...: traced from the innermost on."""
    f = first
    for _ in range(depth):

        def g(x: Any, f: Any = f) -> Any:
            return f(x) + 0.25

        f = tf.function(g, autograph=False)
        f.get_concrete_function(tf.TensorSpec([2]))
    return f


def test_functions_nested_deeper_than_pythons_stack() -> None:
    depth = sys.getrecursionlimit() // 2
    f, x = nested(depth), tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(y, x * 1.5 + 0.25 * depth)
    np.testing.assert_array_equal(tape.gradient(y, x), [1.5, 1.5])


@pytest.mark.parametrize("most", [1, 2, 40])
def test_gradients_of_gradients_do_not_depend_on_how_many_are_made_inside_of_one_another(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(differentiate, "MOST_NESTED", most)
    v = tf.Variable(2.0)

    def inner(x: Any) -> Any:
        z = tf.sin(x) * v
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: z * x, lambda: z)

    f = nested(5, inner)
    sums = tf.function(lambda x: tf.reduce_sum(f(x) * f(2.0 * x)), autograph=False)
    x = tf.constant([0.5, 1.0])

    def second(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = sums(x)
            first = tape.gradient(y, x)
        return first, tape.gradient(y, v), outer.gradient(first, x)

    found = [*second(x), *tf.function(second, autograph=False)(x)]
    assert not any(each is None for each in found)

    def plain(x: Any) -> Any:
        one = lambda x: tf.sin(x) * v * x + 1.25
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = tf.reduce_sum(one(x) * one(2.0 * x))
            first = tape.gradient(y, x)
        return first, tape.gradient(y, v), outer.gradient(first, x)

    for each, wanted in zip(found, [*plain(x)] * 2, strict=True):
        np.testing.assert_allclose(each, wanted, rtol=2e-5)
