"""tf.compat.v1.train's optimizers, counters of steps and rates that fall, against TensorFlow's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
import fastgraph.compat.v1 as v1

train = v1.train

#: After three steps down sum(rows ** 2) * scale, all rows' and those of rows 0, 2, 0: the first two rows, and `scale`.
AFTER: list[tuple[Any, list[float], list[float]]] = [
    (lambda: train.GradientDescentOptimizer(0.01), [0.87754, 1.75509, 2.63263, 3.51017, 0.54766],
     [0.74588, 1.49176, 3.0, 4.0, 1.11891]),
    (lambda: train.MomentumOptimizer(0.01, 0.9), [0.75484, 1.50968, 2.26451, 3.01935, -1.64624],
     [0.49303, 0.98607, 3.0, 4.0, -0.57657]),
    (lambda: train.MomentumOptimizer(0.01, 0.9, use_nesterov=True), [0.75749, 1.51497, 2.27246, 3.02995, -3.15706],
     [0.44684, 0.89367, 3.0, 4.0, -1.67276]),
    (lambda: train.AdamOptimizer(fg.constant(0.02), beta1=0.5, epsilon=0.1),
     [0.9573, 1.95016, 2.94721, 3.94559, 2.94165], [0.95027, 1.94565, 3.0, 4.0, 2.94207]),
    (lambda: train.AdagradOptimizer(lambda: 0.1), [0.7835, 1.7787, 2.7772, 3.77647, 2.77538],
     [0.78334, 1.77866, 3.0, 4.0, 2.77551]),
    (lambda: train.RMSPropOptimizer(0.01), [0.93257, 1.92836, 2.92743, 3.92707, 2.92662],
     [0.92877, 1.92728, 3.0, 4.0, 2.92665]),
    (lambda: train.RMSPropOptimizer(0.01, centered=True, momentum=0.5), [0.89316, 1.88503, 2.88321, 3.88252, 2.88164],
     [0.88578, 1.88289, 3.0, 4.0, 2.8817]),
    (lambda: train.AdadeltaOptimizer(1.0), [0.99864, 1.99864, 2.99864, 3.99864, 2.99864],
     [0.99864, 1.99864, 3.0, 4.0, 2.99864]),
    (lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), [0.73459, 1.72778, 2.7257, 3.7247, 2.76635],
     [0.75898, 1.75334, 3.0, 4.0, 2.76333]),
    (lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.01),
     [0.73405, 1.72712, 2.72501, 3.72399, 2.76623], [0.75871, 1.75302, 3.0, 4.0, 2.76317]),
    (lambda: train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
     [0.78312, 1.77851, 2.77707, 3.77638, 2.77536], [0.78315, 1.77856, 3.0, 4.0, 2.77547]),
    (lambda: train.ProximalGradientDescentOptimizer(0.01, l2_regularization_strength=0.01),
     [0.87729, 1.75457, 2.63186, 3.50915, 0.54772], [0.74567, 1.49134, 3.0, 4.0, 1.11874]),
]  # fmt: skip


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("case", AFTER, ids=lambda case: type(case[0]()).__name__)
def test_steps_are_tensorflows(case: Any, staged: bool) -> None:
    make, *wanted = case
    for sparse, after in enumerate(wanted):
        rows, scale = fg.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), fg.Variable(3.0)
        optimizer = make()

        def loss(rows: Any = rows, scale: Any = scale, sparse: int = sparse) -> Any:
            taken = fg.gather(rows, [0, 2, 0]) if sparse else fg.identity(rows)
            return fg.reduce_sum(taken * taken) * scale

        def step(optimizer: Any = optimizer, loss: Any = loss, variables: Any = (rows, scale)) -> None:
            optimizer.minimize(loss, var_list=list(variables))

        run = fg.function(step) if staged else step
        for _ in range(3):
            run()
        assert np.allclose([*rows.numpy().ravel()[:4], scale.numpy()], after, atol=2e-5)


def test_gradients_steps_and_slots() -> None:
    v1.reset_default_graph()
    x, optimizer = fg.Variable([1.0, 2.0], name="x"), train.AdamOptimizer(0.1)
    count = train.get_or_create_global_step()
    assert train.get_global_step() is count and fg.function(train.get_global_step)() == 0

    def loss() -> Any:
        return fg.reduce_sum(x * x)

    ((gradient, variable),) = optimizer.compute_gradients(loss)
    assert gradient.numpy().tolist() == [2.0, 4.0] and variable is x
    assert optimizer.compute_gradients(loss, [x], grad_loss=fg.constant(3.0))[0][0].numpy().tolist() == [6.0, 12.0]
    assert optimizer.apply_gradients([(fg.ones(2), x)], global_step=count) is None and count.numpy() == 1
    assert np.allclose(x, [0.9, 1.9]) and np.allclose(optimizer.get_slot(x, "m"), 0.1)
    assert optimizer.get_slot_names() == ["m", "v"] and optimizer.get_slot(x, "other") is None
    assert [each.name.partition("/")[0].partition(":")[0] for each in optimizer.variables()] == [
        "beta1_power", "beta2_power", "x", "x"
    ]  # fmt: skip
    assert optimizer.get_name() == "Adam" and isinstance(optimizer, train.Optimizer)
    with pytest.raises(ValueError, match='"global_step" already exists'):
        train.create_global_step()
    v1.reset_default_graph()
    assert train.get_global_step() is None


def test_what_optimizers_refuse() -> None:
    x, optimizer = fg.Variable([1.0, 2.0]), train.GradientDescentOptimizer(0.1)
    with pytest.raises(RuntimeError, match="should be a function when eager execution is enabled"):
        optimizer.minimize(fg.constant(1.0), var_list=[x])
    with pytest.raises(ValueError, match="No gradients provided for any variable, check your graph"):
        optimizer.minimize(lambda: fg.constant(1.0), var_list=[x])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="No gradients provided for any variable: "):
        optimizer.apply_gradients([(None, x)])
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.compute_gradients(lambda: x[0], gate_gradients=5)
    for make, text in (
        (lambda: train.AdamOptimizer(name=""), "Must specify the optimizer name"),
        (lambda: train.AdagradOptimizer(0.1, 0.0), "must be positive"),
        (lambda: train.FtrlOptimizer(0.1, learning_rate_power=1.0), "needs to be negative or zero"),
        (lambda: train.exponential_decay(0.1, None, 1, 0.5), "cannot be None"),
    ):
        with pytest.raises(ValueError, match=text):
            make()


def test_an_optimizer_of_ones_own() -> None:
    class Own(train.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(False, "Own")
            self.done: list[str] = []

        def _create_slots(self, var_list: Any) -> None:
            for variable in var_list:
                self._zeros_slot(variable, "seen", self._name)

        def _prepare(self) -> None:
            self.done.append("prepare")

        def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
            self.get_slot(handle, "seen").assign_add(grad)
            return handle.assign_sub(grad / 2)

        def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
            self.done.append(f"rows {indices.numpy().tolist()}")
            return handle.scatter_sub(fg.IndexedSlices(grad, indices))

    x = fg.Variable([1.0, 2.0], constraint=lambda v: fg.maximum(v, 1.0))
    own = Own()
    own.apply_gradients([(fg.ones(2), x)])
    assert x.numpy().tolist() == [1.0, 1.5] and own.get_slot(x, "seen").numpy().tolist() == [1.0, 1.0]
    own.apply_gradients([(fg.IndexedSlices(fg.constant([0.25, 0.25]), fg.constant([1, 1])), x)])
    assert x.numpy().tolist() == [1.0, 1.0] and own.done == ["prepare", "prepare", "rows [1]"]
    wrapped = v1.wrap_function(lambda: Own().minimize(fg.reduce_sum(x), var_list=[x]), [])
    assert wrapped() is None and x.numpy().tolist() == [1.0, 1.0]


def test_an_optimizer_in_a_checkpoint(tmp_path: Path) -> None:
    def made(start: list[float]) -> tuple[Any, Any, Any]:
        x, optimizer = fg.Variable(start), train.AdamOptimizer(0.1)
        return x, lambda: optimizer.minimize(lambda: fg.reduce_sum(x * x), var_list=[x]), fg.train.Checkpoint(
            optimizer=optimizer, x=x
        )  # fmt: skip

    x, step, checkpoint = made([1.0, 2.0])
    step()
    path = checkpoint.save(str(tmp_path / "x"))
    names = [name for name, _ in fg.train.list_variables(path)]
    assert {"x/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE", "optimizer/beta1_power/.ATTRIBUTES/VARIABLE_VALUE"
            } < {*names}  # fmt: skip
    step()
    other, again, restored = made([0.0, 0.0])
    status = restored.restore(path)
    again()
    status.assert_consumed()
    assert np.array_equal(other, x)


def test_rates_that_fall() -> None:
    step = fg.Variable(3, dtype=fg.int64)
    rates = {
        "exponential": train.exponential_decay(0.1, step, 10, 0.5),
        "natural": train.natural_exp_decay(0.1, step, 10, 0.5),
        "inverse": train.inverse_time_decay(0.1, step, 10, 0.5, staircase=True),
        "polynomial": train.polynomial_decay(0.1, step, 10),
        "cosine": train.cosine_decay(0.1, step, 10),
        "restarts": train.cosine_decay_restarts(0.1, step, 10),
        "pieces": train.piecewise_constant(step, [1, 3], [1.0, 2.0, 3.0]),
    }
    found = {name: round(float(rate()), 5) for name, rate in rates.items()}
    assert found == {
        "exponential": 0.08123, "natural": 0.08607, "inverse": 0.1, "polynomial": 0.07003, "cosine": 0.07939,
        "restarts": 0.07939, "pieces": 2.0,
    }  # fmt: skip
    step.assign(13)
    assert round(float(rates["exponential"]()), 5) == 0.04061
    staged = fg.function(lambda: train.exponential_decay(0.1, fg.constant(3), 10, 0.5))
    assert round(float(staged()), 5) == 0.08123
