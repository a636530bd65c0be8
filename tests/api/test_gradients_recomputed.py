"""Functions that state their gradient: custom_gradient's finer points, grad_pass_through, recompute_grad."""

from __future__ import annotations

import gc
import inspect
import logging
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.graph.passes import optimize

MODES = [pytest.param(lambda f: f, id="eager"), pytest.param(fg.function, id="function")]
X = np.array([0.3, 1.1, -0.7], np.float32)


def test_the_cotangents_of_a_nested_result_come_one_by_one() -> None:
    @fg.custom_gradient
    def f(x: Any) -> Any:
        return {"a": x * 2.0, "b": (x * 3.0,)}, lambda *dys: dys[0] * 10.0 + dys[1] * 100.0

    x = fg.constant(1.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 110.0


@pytest.mark.parametrize("mode", MODES)
def test_grad_pass_through(mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.grad_pass_through(fg.round)(x) * 2.0
        return y, tape.gradient(y, x)

    y, dx = mode(f)(fg.constant(X))
    np.testing.assert_allclose(y, np.round(X) * 2)
    np.testing.assert_allclose(dx, [2.0, 2.0, 2.0])


@pytest.mark.parametrize("mode", MODES)
def test_grad_pass_through_where_the_call_is_converted(mode: Callable[..., Any]) -> None:
    def shifted(x: Any) -> Any:
        return x + 1.0

    @mode
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.zeros_like(x)
            if fg.reduce_sum(x) < 100.0:
                y = fg.grad_pass_through(fg.round)(x) * fg.grad_pass_through(shifted)(x)
        return y, tape.gradient(y, x)

    y, dx = f(fg.constant(X))
    np.testing.assert_allclose(y, np.round(X) * (X + 1.0))
    np.testing.assert_allclose(dx, np.round(X) + X + 1.0)


def test_grad_pass_through_an_assign() -> None:
    x, z = fg.Variable(2.0), fg.Variable(4.0)
    with fg.GradientTape() as tape:
        y = fg.grad_pass_through(z.assign)(x) * 3.0
    assert float(y) == 6.0 and float(z) == 2.0
    assert float(tape.gradient(y, x)) == 3.0


@pytest.mark.parametrize("mode", MODES)
def test_recomputed_gradients_of_two_orders(mode: Callable[..., Any]) -> None:
    w = fg.Variable([1.0, 2.0, 3.0])

    @fg.recompute_grad
    def block(x: Any, scale: float = 1.0) -> Any:
        return fg.sin(x) * w * scale

    def f(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = block(x, scale=2.0)
            dx, dw = inner.gradient(y, [x, w])
        return dx, dw, outer.gradient(dx, x)

    dx, dw, dxx = mode(f)(fg.constant(X))
    np.testing.assert_allclose(dx, 2 * np.cos(X) * w.numpy(), rtol=1e-5)
    np.testing.assert_allclose(dw, 2 * np.sin(X), rtol=1e-5)
    np.testing.assert_allclose(dxx, -2 * np.sin(X) * w.numpy(), rtol=1e-5)


def test_structures_and_integers_as_arguments() -> None:
    @fg.recompute_grad
    def block(pair: Any, n: Any) -> Any:
        return [pair["a"] ** 2 * fg.cast(n, fg.float32), pair["b"] * 3.0]

    a, b = fg.constant(2.0), fg.constant(5.0)
    with fg.GradientTape() as tape:
        tape.watch([a, b])
        y = block({"a": a, "b": b}, fg.constant(4))
    assert [float(g) for g in tape.gradient(y, [a, b])] == [16.0, 3.0]


@pytest.mark.parametrize("mode", MODES)
def test_the_second_run_draws_the_same_numbers(mode: Callable[..., Any]) -> None:
    @fg.recompute_grad
    def block(x: Any) -> Any:
        return x * fg.random.uniform([1000]) + fg.nn.dropout(x, 0.5)

    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = block(x)
        return y, tape.gradient(y, x), fg.random.uniform([3])

    staged = mode(f)
    x = fg.ones([1000])
    y, dx, after = staged(x)
    np.testing.assert_allclose(y, dx, rtol=1e-6)  # y = x * mask for x of ones: only equal numbers give that
    assert len(np.unique(y)) > 900
    again, _, later = staged(x)
    assert not np.allclose(again, y) and not np.allclose(after, later)


def test_what_is_computed_inside_is_let_go() -> None:
    inner: list[Any] = []

    @fg.recompute_grad
    def block(x: Any) -> Any:
        y = fg.sin(x)
        inner.append(weakref.ref(y))
        return fg.cos(y) * y

    x = fg.ones([10_000])
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = block(block(x))
    gc.collect()
    assert [each() for each in inner] == [None, None]
    tape.gradient(y, x)
    assert len(inner) == 4


def test_in_a_graph_nothing_is_merged_with_the_first_run() -> None:
    @fg.recompute_grad
    def block(x: Any) -> Any:
        return fg.reduce_sum(fg.sin(fg.cos(x)))

    @fg.function
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = block(x)
        return y, tape.gradient(y, x)

    graph = optimize.optimise(f.get_concrete_function(fg.TensorSpec([3])).graph.ir)
    assert [node.op.name for node in graph.nodes].count("cos") >= 2


def test_random_numbers_in_a_cond_inside_are_refused() -> None:
    @fg.recompute_grad
    def block(x: Any) -> Any:
        return fg.cond(fg.reduce_sum(x) > 0, lambda: x * fg.random.uniform([3]), lambda: x)

    with pytest.raises(NotImplementedError, match="recompute_grad: a random op in a cond or loop"):
        fg.function(block)(fg.ones(3))


@pytest.mark.parametrize("mode", MODES[1:])
def test_gradients_and_hessians(mode: Callable[..., Any]) -> None:
    v = fg.Variable([2.0, 2.0, 2.0])

    def f(x: Any) -> Any:
        y = x * x
        z = fg.reduce_sum(y * v)
        return (
            fg.gradients(z, [x, y, v]),
            fg.gradients(x, y),
            fg.gradients(x, y, unconnected_gradients="zero"),
            fg.gradients(z, [x, y], stop_gradients=[y]),
            fg.gradients([y, z], x, grad_ys=[x, fg.constant(2.0)]),
            fg.hessians(fg.reduce_sum(x**3) + x[0] * x[1], x),
        )

    first, none, zero, stopped, given, second = mode(f)(fg.constant(X))
    np.testing.assert_allclose(first[0], 4 * X, rtol=1e-6)
    np.testing.assert_allclose(first[1], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(first[2], X * X, rtol=1e-6)
    assert none == [None]
    np.testing.assert_array_equal(zero[0], [0.0, 0.0, 0.0])
    assert stopped[0] is None
    np.testing.assert_allclose(stopped[1], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(given[0], 2 * X * X + 8 * X, rtol=1e-6)
    wanted = np.diag(6 * X)
    wanted[0, 1] = wanted[1, 0] = 1
    np.testing.assert_allclose(second[0], wanted, rtol=1e-5)


@pytest.mark.parametrize("function", [fg.gradients, fg.hessians])
def test_gradients_are_refused_in_eager_mode(function: Callable[..., Any]) -> None:
    x = fg.constant(1.0)
    with pytest.raises(RuntimeError, match="tf.gradients is not supported when eager execution is enabled"):
        function(x * x, x)


def test_a_missing_gradient_names_the_op_and_the_lines(caplog: pytest.LogCaptureFixture) -> None:
    x = fg.constant([1.0, 2.0])
    with caplog.at_level(logging.WARNING, "fastgraph"):
        for _ in range(3):
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = fg.cast(fg.argmax(x), fg.float32) * 2.0
            assert tape.gradient(y, x) is None
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.constant((x * 2.0).numpy())
        assert tape.gradient(y, x) is None
    first, second = [record.getMessage() for record in caplog.records]
    lines = inspect.getsource(test_a_missing_gradient_names_the_op_and_the_lines).splitlines()
    start = test_a_missing_gradient_names_the_op_and_the_lines.__code__.co_firstlineno
    at = start + next(i for i, line in enumerate(lines) if "argmax(x)" in line)
    assert f"argmax ({__file__}:{at})" in first and f"GradientTape.gradient ({__file__}:{at + 1})" in first
    assert ".numpy()" in second and f"GradientTape.gradient ({__file__}:" in second


def test_watched_variables_come_in_the_order_in_which_they_were_made() -> None:
    a, b = fg.Variable(1.0), fg.Variable(2.0)
    with fg.GradientTape() as tape:
        _ = b * a
    assert tape.watched_variables()[0] is a
