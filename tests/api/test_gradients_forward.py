"""tf.autodiff.ForwardAccumulator: values by closed forms, orders, mixtures with tapes, Functions, errors, memory."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

Accumulator = fg.autodiff.ForwardAccumulator
MODES = [pytest.param(lambda f: f, id="eager"), pytest.param(fg.function, id="function"),
         pytest.param(lambda f: fg.function(f, input_signature=[fg.TensorSpec([None])]), id="unknown size")]  # fmt: skip
X = np.array([0.3, 1.1, -0.7], np.float32)
T = np.array([1.0, -2.0, 0.5], np.float32)


@pytest.mark.parametrize("mode", MODES)
def test_the_tangent_of_a_composition(mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        with Accumulator(x, fg.constant(T)) as accumulator:
            y = fg.sin(x) * x + fg.exp(x)
        return accumulator.jvp(y)

    np.testing.assert_allclose(mode(f)(fg.constant(X)), T * (np.cos(X) * X + np.sin(X) + np.exp(X)), rtol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_nested_accumulators_give_higher_orders(mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        ones = fg.ones_like(x)
        with Accumulator(x, ones) as third, Accumulator(x, ones) as second, Accumulator(x, ones) as first:
            y = x**5
        one = first.jvp(y)
        two = second.jvp(one)
        return one, two, third.jvp(two)

    for got, wanted in zip(mode(f)(fg.constant(X)), (5 * X**4, 20 * X**3, 60 * X**2), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_forward_over_reverse_is_a_hessian_vector_product(mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        with Accumulator(x, fg.constant(T)) as accumulator:
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = fg.reduce_sum(x) * fg.reduce_sum(x**3)
            g = tape.gradient(y, x)
        return accumulator.jvp(g)

    hessian = 3 * X[:, None] ** 2 + 3 * X**2 + np.diag(6 * X * X.sum())
    np.testing.assert_allclose(mode(f)(fg.constant(X)), hessian @ T, rtol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_reverse_over_forward(mode: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            with Accumulator(x, fg.constant(T)) as accumulator:
                y = fg.exp(x) * x
            tangent = accumulator.jvp(y)
        return tape.gradient(tangent, x)

    np.testing.assert_allclose(mode(f)(fg.constant(X)), T * np.exp(X) * (X + 2), rtol=1e-5)


def test_a_tape_entered_inside_does_not_see_the_tangents() -> None:
    x = fg.constant(1.1)
    with Accumulator(x, fg.constant(1.0)) as accumulator, fg.GradientTape() as tape:
        tape.watch(x)
        tangent = accumulator.jvp(x**3)
    assert tape.gradient(tangent, x) is None


def test_variables_structures_and_broadcasting() -> None:
    x, v = fg.constant([1.0, 2.0, 3.0]), fg.Variable([4.0, 5.0])
    with Accumulator({"x": x, "v": (v,)}, {"x": fg.ones(3), "v": (fg.constant([1.0, 0.0]),)}) as accumulator:
        y = x[:, None] * v
        z = fg.reduce_sum(v)
    got = accumulator.jvp({"y": y, "more": [z, x, v]})
    np.testing.assert_allclose(got["y"], [[5, 5], [6, 5], [7, 5]])
    np.testing.assert_allclose(got["more"][0], 1.0)
    np.testing.assert_allclose(got["more"][2], [1.0, 0.0])


def test_several_outputs_of_which_some_are_integers() -> None:
    x = fg.constant([3.0, 1.0, 2.0])
    with Accumulator(x, fg.constant([1.0, 2.0, 3.0])) as accumulator:
        top = fg.nn.top_k(x, 2)
        parts = fg.unstack(x)
    np.testing.assert_allclose(accumulator.jvp(top.values), [1.0, 3.0])
    assert accumulator.jvp(top.indices) is None
    assert [float(p) for p in accumulator.jvp(parts)] == [1.0, 2.0, 3.0]


def test_sparse_gradients_have_dense_tangents() -> None:
    table = fg.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with Accumulator(table, fg.constant([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])) as accumulator:
        y = fg.gather(table, [2, 2, 0]) ** 2
    np.testing.assert_allclose(accumulator.jvp(y), [[20, 24], [20, 24], [2, 0]])


def test_complex_numbers() -> None:
    z, t = np.array([1 + 2j, 3 - 1j]), np.array([1 + 1j, 1j])
    with Accumulator(fg.constant(z), fg.constant(t)) as accumulator:
        pass
    x = fg.constant(z)
    with Accumulator(x, fg.constant(t)) as accumulator:
        square, size, real, conj = x * x, fg.abs(x), fg.math.real(x), fg.math.conj(x)
    np.testing.assert_allclose(accumulator.jvp(square), 2 * z * t)
    np.testing.assert_allclose(accumulator.jvp(size), (np.conj(z) * t).real / abs(z))
    np.testing.assert_allclose(accumulator.jvp(real), t.real)
    np.testing.assert_allclose(accumulator.jvp(conj), np.conj(t))


def test_around_a_function_with_control_flow_and_a_variable() -> None:
    v = fg.Variable(2.0)

    @fg.function
    def f(x: Any) -> Any:
        y = fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, fg.ones_like(x)))[1]
        return fg.cond(fg.reduce_sum(y) > 0, lambda: y * v, lambda: y)

    x = fg.constant([1.0, 2.0])
    with Accumulator([x, v], [fg.constant([1.0, 3.0]), fg.constant(0.5)]) as accumulator:
        y = f(x)
    np.testing.assert_allclose(accumulator.jvp(y), [6 * 1 + 0.5 * 1, 6 * 4 * 3 + 0.5 * 8], rtol=1e-6)


def test_custom_gradients_count_alike_with_and_without_a_function() -> None:
    @fg.custom_gradient
    def f(x: Any) -> Any:
        return x * 2.0, lambda dy: dy * 7.0

    x = fg.constant(1.0)
    for each in (f, fg.function(f)):
        with Accumulator(x, fg.constant(1.0)) as accumulator:
            y = each(x)
        assert float(accumulator.jvp(y)) == 7.0


def test_what_is_not_connected() -> None:
    x, v = fg.constant([1.0, 2.0]), fg.Variable([3.0, 4.0])
    with Accumulator(x, fg.ones(2)) as accumulator:
        y = v * 2
        stopped = fg.stop_gradient(x) * 1.0
    z = x * 2
    assert accumulator.jvp(y) is None and accumulator.jvp(z) is None and accumulator.jvp(stopped) is None
    np.testing.assert_array_equal(accumulator.jvp(y, unconnected_gradients="zero"), [0.0, 0.0])
    np.testing.assert_array_equal(accumulator.jvp(y, fg.UnconnectedGradients.ZERO), [0.0, 0.0])
    with pytest.raises(ValueError, match="'all' is not a valid UnconnectedGradients"):
        accumulator.jvp(y, unconnected_gradients="all")


def test_it_may_be_entered_again_but_not_twice() -> None:
    x = fg.constant(3.0)
    accumulator = Accumulator(x, fg.constant(1.0))
    with accumulator:
        y = x * x
    with accumulator:
        z = y * x
        with pytest.raises(ValueError, match="already recording"), accumulator:
            pass
    assert float(accumulator.jvp(z)) == 27.0


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "text"),
    [
        (lambda x: [x, x], lambda x: [x, x], ValueError, "specified as a primal multiple times"),
        (lambda x: [x], lambda x: x, (ValueError, TypeError), "same nested structure"),
        (lambda x: x, lambda x: fg.ones(3, fg.float64), ValueError, "float64"),
        (lambda x: x, lambda x: fg.ones(2), ValueError, r"shape \(3,\) has shape \(2,\)"),
        (lambda x: 2.0, lambda x: 1.0, TypeError, "Tensor, a Variable or a structure"),
    ],
)
def test_wrong_primals_and_tangents(primals: Any, tangents: Any, error: Any, text: str) -> None:
    x = fg.ones(3)
    with pytest.raises(error, match=text):
        Accumulator(primals(x), tangents(x))


def test_each_thread_has_its_own() -> None:
    x = fg.constant(2.0)
    found = []
    with Accumulator(x, fg.constant(1.0)) as accumulator:
        thread = threading.Thread(target=lambda: found.append(x * x))
        thread.start()
        thread.join()
    assert accumulator.jvp(found[0]) is None


def test_a_tangent_does_not_outlive_its_tensor_nor_the_accumulator() -> None:
    x = fg.ones([1000])
    with Accumulator(x, fg.ones([1000])) as accumulator:
        y = x * 2.0
        tangent = weakref.ref(accumulator.jvp(y))
        assert tangent() is not None
        del y
        gc.collect()
        assert tangent() is None
        z = x * 3.0
    tangent = weakref.ref(accumulator.jvp(z))
    del accumulator
    gc.collect()
    assert tangent() is None


def test_an_exception_inside_ends_it() -> None:
    x = fg.constant(1.0)
    accumulator = Accumulator(x, fg.constant(1.0))
    with pytest.raises(RuntimeError, match="stop"), accumulator:
        raise RuntimeError("stop")
    assert accumulator.jvp(x * 2.0) is None
