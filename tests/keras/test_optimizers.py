"""SGD and Adam against the values that Keras 2 gives for the same three steps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras.optimizers import SGD, Adam, Optimizer

GRADIENTS = [
    np.array(g, np.float32) for g in ([[0.5, -1.0], [2.0, 0.0]], [[-0.25, 3.0], [1.0, 0.5]], [[1.0, 1.0], [-2.0, 4.0]])
]

CASES: list[tuple[Callable[[], Optimizer], list[list[float]]]] = [
    (lambda: SGD(0.1), [[0.8749999, 1.7, 2.9, 3.55], [0.375, -0.8000001]]),
    (lambda: SGD(0.1, momentum=0.9), [[0.812, 1.601, 2.468, 3.505], [0.312, -0.899]]),
    (lambda: SGD(0.1, momentum=0.9, nesterov=True), [[0.7058, 1.3409, 2.4212, 3.1045], [0.2058, -1.1591]]),
    (lambda: SGD(0.1, weight_decay=0.01), [[0.8720779, 1.694106, 2.891509, 3.538062], [0.3735765, -0.7984014]]),
    (lambda: SGD(0.1, clipnorm=1.0), [[0.9646431, 1.928903, 2.924213, 3.89915], [0.3928725, -0.5809225]]),
    (lambda: SGD(0.1, clipvalue=0.75), [[0.9, 1.925, 2.925, 3.875], [0.4, -0.575]]),
    (lambda: SGD(0.1, global_clipnorm=1.0), [[0.9656556, 1.950655, 2.93966, 3.906991], [0.4656556, -0.5493446]]),
    (lambda: Adam(0.1), [[0.8075573, 1.994889, 2.795706, 3.855068], [0.3075573, -0.5051112]]),
    (
        lambda: Adam(0.05, beta_1=0.8, beta_2=0.9, epsilon=0.1),
        [[0.9363628, 1.986784, 2.915523, 3.942379], [0.4363628, -0.5132157]],
    ),
    (lambda: Adam(0.1, weight_decay=0.02), [[0.8020222, 1.982612, 2.778327, 3.831265], [0.3050161, -0.502418]]),
]


def make_variables() -> tuple[fg.Variable, fg.Variable]:
    return fg.Variable([[1.0, 2.0], [3.0, 4.0]], name="w"), fg.Variable([0.5, -0.5], name="bias")


@pytest.mark.parametrize(("make", "expected"), CASES)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_three_steps(make: Callable[[], Optimizer], expected: list[list[float]], staged: bool) -> None:
    optimizer = make()
    w, bias = make_variables()

    def step(g: Any, h: Any) -> None:
        optimizer.apply_gradients([(g, w), (h, bias)])

    run = fg.function(step) if staged else step
    for gradient in GRADIENTS:
        run(fg.constant(gradient), fg.constant(gradient[0]))
    np.testing.assert_allclose(w.numpy().ravel(), expected[0], rtol=2e-6)
    np.testing.assert_allclose(bias.numpy(), expected[1], rtol=2e-6)
    assert int(optimizer.iterations.numpy()) == 3


def test_amsgrad_remembers_the_greatest_square() -> None:
    optimizer = Adam(0.1, amsgrad=True)
    w = fg.Variable([1.0])
    value, m, v, hat = 1.0, 0.0, 0.0, 0.0
    for step, g in enumerate([2.0, 0.01, 0.01, 0.01], start=1):
        optimizer.apply_gradients([(fg.constant([g]), w)])
        m, v = m + (g - m) * 0.1, v + (g * g - v) * 0.001
        hat = max(hat, v)
        value -= 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step) * m / (np.sqrt(hat) + 1e-7)
    assert hat > v
    np.testing.assert_allclose(w.numpy(), [value], rtol=1e-5)


def test_excluded_from_weight_decay() -> None:
    optimizer = SGD(0.1, weight_decay=0.01)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    w, bias = make_variables()
    for gradient in GRADIENTS:
        optimizer.apply_gradients([(fg.constant(gradient), w), (fg.constant(gradient[0]), bias)])
    np.testing.assert_allclose(w.numpy().ravel(), [0.8720779, 1.694106, 2.891509, 3.538062], rtol=2e-6)
    np.testing.assert_allclose(bias.numpy(), [0.375, -0.8], rtol=2e-6)


def test_learning_rate_can_be_set_and_be_a_function_of_the_step() -> None:
    optimizer = SGD(0.5)
    optimizer.learning_rate = 0.25
    assert float(optimizer.learning_rate.numpy()) == 0.25 == float(optimizer.lr.numpy())
    w = fg.Variable(1.0)
    scheduled = SGD(lambda step: 1.0 / fg.cast(step + 1, fg.float32))
    for _ in range(2):
        scheduled.apply_gradients([(fg.constant(1.0), w)])
    np.testing.assert_allclose(w.numpy(), 1.0 - 1.0 - 0.5)
    with pytest.raises(TypeError, match="not settable"):
        scheduled.learning_rate = 0.1


def test_minimize() -> None:
    w = fg.Variable(2.0)
    optimizer = Adam(0.1)
    optimizer.minimize(lambda: w * w, [w])
    np.testing.assert_allclose(w.numpy(), 1.9, rtol=1e-6)
    with fg.GradientTape() as tape:
        loss = w * w
    optimizer.minimize(loss, [w], tape=tape)
    assert float(w.numpy()) < 1.9
    with pytest.raises(ValueError, match="`tape` is required when a `Tensor` loss is passed"):
        optimizer.minimize(loss, [w])


def test_empty_gradients(caplog: pytest.LogCaptureFixture) -> None:
    w, bias = make_variables()
    optimizer = SGD(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, w)])
    assert optimizer.apply_gradients([]) is optimizer.iterations
    with caplog.at_level(logging.WARNING, logger="fastgraph"):
        optimizer.apply_gradients([(None, w), (fg.constant([1.0, 1.0]), bias)])
    assert "Gradients do not exist for variables ['w:0']" in caplog.text
    np.testing.assert_allclose(bias.numpy(), [-0.5, -1.5])


def test_unknown_variable() -> None:
    optimizer = SGD(1.0)
    w, bias = make_variables()
    optimizer.build([w])
    with pytest.raises(KeyError, match="The optimizer cannot recognize variable bias:0"):
        optimizer.apply_gradients([(fg.constant([1.0, 1.0]), bias)])


def test_a_constraint_holds_after_each_step() -> None:
    w = fg.Variable([1.0, -1.0], constraint=lambda x: fg.maximum(x, 0.0))
    SGD(0.5).apply_gradients([(fg.constant([1.0, 1.0]), w)])
    np.testing.assert_allclose(w.numpy(), [0.5, 0.0])


def test_indexed_slices_are_gradients_too() -> None:
    w = fg.Variable([[1.0], [2.0], [3.0]])
    slices = fg.IndexedSlices(fg.constant([[1.0], [2.0], [4.0]]), fg.constant([0, 2, 0]), fg.constant([3, 1]))
    SGD(0.5).apply_gradients([(slices, w)])
    np.testing.assert_allclose(w.numpy(), [[-1.5], [2.0], [2.0]])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [(lambda: SGD(momentum=2), ValueError, "`momentum` must be between"),
     (lambda: Adam(clipnorm=1.0, global_clipnorm=1.0), ValueError, "At most one of"),
     (lambda: Adam(nonsense=1), TypeError, "nonsense are not valid arguments"),
     (lambda: Adam(use_ema=True), NotImplementedError, "use_ema=True is not built yet"),
     (lambda: fg.keras.optimizers.get("rmsprop"), ValueError, "Could not interpret optimizer identifier: rmsprop")],
)  # fmt: skip
def test_bad_arguments(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_config_and_names() -> None:
    optimizer = Adam(0.25, beta_1=0.5)
    again = Adam.from_config(optimizer.get_config())
    assert again.get_config() == optimizer.get_config() and again.beta_1 == 0.5
    assert isinstance(fg.keras.optimizers.get("sgd", learning_rate=0.1), SGD)
    assert fg.optimizers.Adam is Adam and fg.keras.optimizers.SGD is SGD
    w, _ = make_variables()
    optimizer.build([w])
    assert [v.name for v in optimizer.variables] == ["iteration:0", "m/w:0", "v/w:0"]
    assert not hasattr(fg.keras.optimizers, "RMSprop")
    with pytest.raises(NotImplementedError, match=r"fastgraph\.keras\.optimizers\.RMSprop is not built yet"):
        _ = fg.keras.optimizers.RMSprop
    with pytest.raises(NotImplementedError, match=r"fastgraph\.keras\.layers is not built yet.*fastgraph\.Module"):
        _ = fg.keras.layers


def test_second_optimizer_is_refused() -> None:
    @fg.function
    def train_step(w: Any, x: Any, optimizer: Any) -> None:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(fg.square(w * x))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))

    w, x = fg.Variable(2.0), fg.constant([-1.0])
    train_step(w, x, Adam(1e-2))
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        train_step(w, x, Adam(1e-3))
    built = Adam(1e-3)
    built.build([w])
    fg.function(train_step.python_function)(w, x, built)
