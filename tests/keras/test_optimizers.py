"""Optimizers against the values that Keras 2 gives for the same three steps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop, schedules

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
    (lambda: AdamW(0.1), [[0.8064484, 1.9924295, 2.7922244, 3.8502998], [0.3070482, -0.5045717]]),
    (lambda: AdamW(0.1, weight_decay=0.05), [[0.7937628, 1.9642882, 2.7523937, 3.7957397], [0.3012254, -0.498399]]),
    (lambda: RMSprop(0.1), [[0.5493567, 1.9142634, 2.7580061, 3.3697453], [0.0493567, -0.5857368]]),
    (lambda: RMSprop(0.1, momentum=0.5), [[0.3859072, 2.0006783, 2.4471142, 3.2116318], [-0.1140928, -0.4993217]]),
    (lambda: RMSprop(0.1, centered=True), [[0.5162732, 1.9198995, 2.7268305, 3.3315227], [0.0162732, -0.5801007]]),
    (
        lambda: RMSprop(0.1, rho=0.5, momentum=0.9, centered=True, epsilon=0.01),
        [[0.4637167, 2.1341281, 2.3208754, 3.4350860], [-0.0362833, -0.3658721]],
    ),
    (lambda: Adagrad(0.1), [[0.8702689, 1.9709337, 2.9232457, 3.8165607], [0.3702689, -0.5290663]]),
    (
        lambda: Adam(schedules.ExponentialDecay(0.1, 2, 0.5)),
        [[0.8482634, 2.037209, 2.8285472, 3.9121227], [0.3482634, -0.462791]],
    ),
    (
        lambda: SGD(schedules.PiecewiseConstantDecay([1, 2], [0.1, 0.2, 0.3])),
        [[0.775, 1.5999999, 3.1000001, 3.1500001], [0.275, -0.9000000]],
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
    np.testing.assert_allclose(w.numpy().ravel(), expected[0], rtol=3e-6)
    np.testing.assert_allclose(bias.numpy(), expected[1], rtol=3e-6)
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


@pytest.mark.parametrize("staged", [False, True])
def test_an_unknown_variable_is_refused_before_anything_changes(staged: bool) -> None:
    optimizer = Adam(0.1, weight_decay=0.1)
    known, unknown = fg.Variable(1.0, name="known"), fg.Variable(1.0, name="unknown")
    optimizer.build([known])

    def step() -> None:
        optimizer.apply_gradients([(fg.constant(1.0), known), (fg.constant(1.0), unknown)])

    with pytest.raises(KeyError, match="The optimizer cannot recognize variable unknown"):
        (fg.function(step) if staged else step)()
    assert known.numpy() == unknown.numpy() == 1 and int(optimizer.iterations) == 0
    assert all(not v.numpy().any() for v in optimizer.variables)


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
     (lambda: Adam(use_ema=True, ema_momentum=2.0), ValueError, r"`ema_momentum` must be in the range \[0, 1\]"),
     (lambda: AdamW(weight_decay=None), ValueError, "Missing value of `weight_decay`"),
     (lambda: schedules.PiecewiseConstantDecay([1], [0.1]), ValueError, "boundaries should be 1 less"),
     (lambda: fg.keras.optimizers.get("nonsense"), ValueError, "Unknown optimizer: 'nonsense'"),
     (lambda: fg.keras.optimizers.get(3), ValueError, "Could not interpret optimizer identifier: 3")],
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
    assert not hasattr(fg.keras.optimizers, "legacy") and hasattr(fg.keras.optimizers, "Ftrl")
    with pytest.raises(NotImplementedError, match=r"fastgraph\.keras\.optimizers\.legacy is not built yet"):
        _ = fg.keras.optimizers.legacy
    with pytest.raises(NotImplementedError, match=r"fastgraph\.keras\.applications is not built yet.*Keras 3"):
        _ = fg.keras.applications


@pytest.mark.parametrize("make", [Adam, lambda: SGD(0.1, momentum=0.9), lambda: RMSprop(0.1, centered=True), Adagrad])
def test_slots_are_made_in_staged_loops_and_branches(make: Callable[[], Optimizer]) -> None:
    def train(optimizer: Optimizer, w: Any, n: Any) -> None:
        for i in fg.range(n):
            with fg.GradientTape() as tape:
                loss = fg.reduce_sum(w * w)
            if i != 1:
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    results = []
    for run in (train, fg.function(train)):
        w = fg.Variable([1.0, -2.0])
        optimizer = make()
        for _ in range(2):
            run(optimizer, w, fg.constant(4))
        results.append([w.numpy(), *(v.numpy() for v in optimizer.variables)])
    for plain, staged in zip(*results, strict=True):
        np.testing.assert_allclose(staged, plain, rtol=1e-6)


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


@pytest.mark.parametrize(
    "optimizer", [AdamW(0.1, beta_1=0.5), RMSprop(0.1, rho=0.3, centered=True), Adagrad(0.2), SGD()]
)
def test_configs(optimizer: Optimizer) -> None:
    again = fg.keras.optimizers.get(fg.keras.optimizers.serialize(optimizer))
    assert type(again) is type(optimizer) and again.get_config() == optimizer.get_config()


def test_a_config_of_keras() -> None:
    """As tf_keras 2.21 writes it."""
    config = {
        "name": "SGD", "weight_decay": None, "clipnorm": None, "global_clipnorm": None, "clipvalue": None,
        "use_ema": False, "ema_momentum": 0.99, "ema_overwrite_frequency": None, "jit_compile": False,
        "is_legacy_optimizer": False, "learning_rate": 0.25, "momentum": 0.5, "nesterov": True,
    }  # fmt: skip
    again = SGD.from_config(config, custom_objects={}).get_config()
    del config["is_legacy_optimizer"]
    assert again == config


SCHEDULES = [
    (schedules.ExponentialDecay(0.1, 10, 0.5), [(0, 0.1), (5, 0.07071068), (20, 0.025)]),
    (schedules.ExponentialDecay(0.1, 10, 0.5, staircase=True), [(5, 0.1), (25, 0.025)]),
    (schedules.PiecewiseConstantDecay([10, 20], [0.1, 0.2, 0.3]), [(0, 0.1), (10, 0.1), (11, 0.2), (20, 0.2), (21, 0.3)]),
    (schedules.PolynomialDecay(0.1, 10, 0.01, power=2.0), [(0, 0.1), (5, 0.0325), (10, 0.01), (20, 0.01)]),
    (schedules.PolynomialDecay(0.1, 10, 0.01, cycle=True), [(0, 0.1), (5, 0.055), (10, 0.01), (15, 0.0325)]),
    (schedules.InverseTimeDecay(0.1, 10, 0.5), [(0, 0.1), (5, 0.08), (15, 0.05714286)]),
    (schedules.InverseTimeDecay(0.1, 10, 0.5, staircase=True), [(5, 0.1), (15, 0.06666667)]),
    (schedules.CosineDecay(0.1, 10, alpha=0.1), [(0, 0.1), (5, 0.055), (10, 0.01), (20, 0.01)]),
    (schedules.CosineDecay(0.0, 10, alpha=0.1, warmup_target=0.2, warmup_steps=4),
     [(0, 0.0), (2, 0.1), (4, 0.2), (5, 0.1955951), (14, 0.02), (20, 0.02)]),
    (schedules.CosineDecayRestarts(0.1, 10), [(0, 0.1), (5, 0.05), (10, 0.1), (15, 0.08535535), (25, 0.01464466)]),
]  # fmt: skip


@pytest.mark.parametrize(("schedule", "expected"), SCHEDULES)
def test_schedules(schedule: Any, expected: list[tuple[int, float]]) -> None:
    for run in (schedule, fg.function(schedule)):
        rates = [float(run(fg.constant(step, fg.int64))) for step, _ in expected]
        np.testing.assert_allclose(rates, [rate for _, rate in expected], rtol=2e-6, atol=1e-8)
    again = schedules.deserialize(schedules.serialize(schedule))
    assert again.get_config() == schedule.get_config()
    optimizer = SGD(schedule)
    assert SGD.from_config(optimizer.get_config()).get_config() == optimizer.get_config()


@pytest.mark.parametrize("make", [lambda: Adam(0.1), lambda: SGD(0.1, momentum=0.9), lambda: RMSprop(0.1)])
def test_the_updates_of_a_model_are_few_kernels(make: Callable[[], Optimizer]) -> None:
    """Ten Variables of different shapes: not a kernel for each of the ops of each of the updates."""
    optimizer = make()
    variables = [fg.Variable(np.ones((n, 3), np.float32)) for n in range(1, 11)]

    @fg.function
    def step(scale: Any) -> Any:
        optimizer.apply_gradients([(scale * v, v) for v in variables])

    concrete = step.get_concrete_function(fg.constant(0.5))
    assert concrete.wait() and concrete.host_steps == 0
    kernels = [row for row in concrete.steps() if row.kind == "kernel"]
    assert len(kernels) <= len(variables) + 2
    step(fg.constant(0.5))
    assert all((v.numpy() < 1).all() for v in variables) and int(optimizer.iterations) == 1


@pytest.mark.parametrize("make", [lambda: Adam(0.1), lambda: SGD(0.1, momentum=0.9), lambda: RMSprop(0.1)])
def test_updates_of_one_shape_are_one_kernel(make: Callable[[], Optimizer]) -> None:
    """And they are the updates: each Variable has what an optimizer of its own gives it."""
    random = np.random.default_rng(0)
    values = [random.standard_normal(shape).astype(np.float32) for shape in [(4, 3)] * 6 + [(3,)] * 6]
    optimizer, variables = make(), [fg.Variable(v) for v in values]

    @fg.function
    def step(scale: Any) -> Any:
        optimizer.apply_gradients([(scale * v, v) for v in variables])

    concrete = step.get_concrete_function(fg.constant(0.5))
    assert concrete.wait() and concrete.host_steps == 0
    assert len([row for row in concrete.steps() if row.kind == "kernel"]) <= 4  # two shapes, numbers, iterations
    for _ in range(3):
        step(fg.constant(0.5))
    for value, variable in zip(values, variables, strict=True):
        alone, own = make(), fg.Variable(value)
        for _ in range(3):
            alone.apply_gradients([(0.5 * own, own)])
        np.testing.assert_allclose(variable.numpy(), own.numpy(), rtol=2e-6)


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize(
    ("clip", "expected"),
    [
        ({"clipnorm": 0.5}, [1.0, 0.8333333, 1.0, 0.6666667]),
        ({"global_clipnorm": 0.5}, [1.0, 0.8333333, 1.0, 0.6666667]),
        ({"clipvalue": 1.5}, [1.0, 0.5, 1.0, -0.5]),
    ],
)
def test_slices_are_clipped_before_those_of_a_row_meet(in_function: bool, clip: Any, expected: list[float]) -> None:
    optimizer, variable = SGD(1.0, **clip), fg.Variable(fg.ones([4]))

    def step(values: Any) -> None:
        optimizer.apply_gradients([(fg.IndexedSlices(values, fg.constant([1, 3, 1]), fg.constant([4])), variable)])

    (fg.function(step) if in_function else step)(fg.constant([2.0, 2.0, -1.0]))
    np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("made", [lambda: SGD(1.0, momentum=0.5), lambda: fg.keras.optimizers.Adam(1.0)])
def test_slices_without_a_dense_shape(in_function: bool, made: Any) -> None:
    """As those that say of what shape they are rows."""
    results = []
    for shape in (None, [3, 2]):
        optimizer, variable = made(), fg.Variable(fg.zeros([3, 2]))
        optimizer.build([variable])

        def step(values: Any, optimizer: Any = optimizer, variable: Any = variable, shape: Any = shape) -> None:
            whole = None if shape is None else fg.constant(shape)
            optimizer.apply_gradients([(fg.IndexedSlices(values, fg.constant([1]), whole), variable)])

        (fg.function(step) if in_function else step)(fg.constant([[2.0, 1.0]]))
        results.append(variable.numpy())
    np.testing.assert_array_equal(*results)
    assert results[0][0].tolist() == [0.0, 0.0] and (results[0][1] < 0).all()


class Heavy(Optimizer):
    """An optimizer as Keras 2's guide has users write one."""

    def __init__(self, learning_rate: Any = 0.1, name: str = "heavy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self._learning_rate = self._build_learning_rate(learning_rate)

    def build(self, var_list: Any) -> None:
        super().build(var_list)
        if getattr(self, "_built", False):
            return
        self.kept = [self.add_variable_from_reference(model_variable=v, variable_name="m") for v in var_list]
        self._built = True

    def update_step(self, gradient: Any, variable: Any) -> None:
        kept = self.kept[self._index_dict[self._var_key(variable)]]
        kept.assign(0.9 * kept - gradient * fg.cast(self.learning_rate, variable.dtype))
        variable.assign_add(kept)


@pytest.mark.parametrize("staged", [False, True])
def test_an_optimizer_that_sets_its_own_rate(staged: bool) -> None:
    for rate in (0.1, schedules.PolynomialDecay(0.1, 10, 0.1)):
        v, optimizer = fg.Variable([1.0, 2.0]), Heavy(rate, clipvalue=100.0)
        step = lambda v=v, optimizer=optimizer: optimizer.apply_gradients([(2 * v, v)])
        step = fg.function(step) if staged else step
        for _ in range(3):
            step()
        np.testing.assert_allclose(v.numpy(), [0.062, 0.124], rtol=1e-5)
    assert Heavy(0.25).learning_rate.numpy() == 0.25
    with pytest.raises(AttributeError, match="_learning_rate"):
        _ = Optimizer("bare").learning_rate


def test_a_function_of_nothing_is_the_learning_rate() -> None:
    optimizer, v = SGD(lambda: 0.5), fg.Variable(1.0)
    optimizer.apply_gradients([(fg.constant(1.0), v)])
    assert float(v) == 0.5 == float(optimizer.learning_rate) == optimizer.get_config()["learning_rate"]


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "Ftrl", "Lion", "Nadam", "RMSprop", "SGD"]
)
def test_a_restored_optimizer_goes_on_as_if_it_had_not_been_saved(name: str, tmp_path: Path) -> None:
    def begun() -> tuple[Any, Any]:
        return fg.Variable([1.0, -2.0, 3.0]), getattr(fg.keras.optimizers, name)(0.1)

    def step(v: Any, optimizer: Any) -> None:
        optimizer.apply_gradients([(v * v - 0.5, v)])

    v, optimizer = begun()
    step(v, optimizer)
    step(v, optimizer)
    path = fg.train.Checkpoint(v=v, optimizer=optimizer).write(str(tmp_path / "c"))
    step(v, optimizer)
    w, other = begun()
    status = fg.train.Checkpoint(v=w, optimizer=other).read(path)  # what it keeps is made later
    step(w, other)
    status.assert_consumed()
    assert w.numpy().tolist() == v.numpy().tolist()


def test_velocities_that_no_step_uses_are_made_for_checkpoints_alone(tmp_path: Path) -> None:
    v, optimizer = fg.Variable([1.0, 2.0]), fg.keras.optimizers.SGD(0.1)
    traces = []

    @fg.function
    def train() -> None:
        traces.append(1)
        optimizer.apply_gradients([(2 * v, v)])

    train()
    assert len(traces) == 1 and not optimizer.momentums
    path = fg.train.Checkpoint(v=v, o=optimizer).write(str(tmp_path / "c"))
    w, other = fg.Variable([0.0, 0.0]), fg.keras.optimizers.SGD(0.1)
    status = fg.train.Checkpoint(v=w, o=other).read(path)
    other.apply_gradients([(2 * w, w)])
    status.assert_existing_objects_matched().assert_consumed()
    assert [len(each.variables) for each in (optimizer, other)] == [2, 2] and int(other.iterations) == 2
    train()
    assert len(traces) == 1


def test_what_checkpoints_keep_of_an_optimizer_is_what_keras_2_keeps(tmp_path: Path) -> None:
    def kept(name: str) -> list[str]:
        w, b = fg.Variable([[1.0, 2.0]]), fg.Variable([1.0])
        optimizer = getattr(fg.keras.optimizers, name)(0.1)
        optimizer.apply_gradients([(fg.ones([1, 2]), w), (fg.ones([1]), b)])
        path = fg.train.Checkpoint(o=optimizer).write(str(tmp_path / "c"))
        keys = [key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for key, _ in fg.train.list_variables(path)]
        return [key.removeprefix("o/") for key in keys if key[:4] in ("o/_v", "o/_r", "o/_c")]

    assert kept("SGD") == ["_variables/1", "_variables/2"]  # velocities, though there is no momentum
    assert kept("Adafactor") == ["_c/1", "_r/1", "_variables/1", "_variables/2", "_variables/3", "_variables/4"]
