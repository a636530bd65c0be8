"""Metrics against the values that Keras 2 gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.keras import metrics

SCORES = [[0.1, 0.9, 0.0], [0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]
BINARY = ([[0.0, 1.0], [0.0, 0.0]], [[0.6, 0.4], [0.4, 0.6]])
SQUARES = ([[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.5]])
SHARES = [[0.05, 0.95, 0.0], [0.1, 0.8, 0.1]]

CASES: list[tuple[Callable[[], Any], tuple[Any, ...], float, float]] = [
    (metrics.SparseCategoricalAccuracy, ([1, 2, 0], SCORES), 2 / 3, 0.5),
    (metrics.SparseCategoricalAccuracy, ([[1], [2], [0]], SCORES), 2 / 3, 0.5),
    (metrics.CategoricalAccuracy, ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], SCORES), 2 / 3, 0.5),
    (metrics.BinaryAccuracy, ([[1], [1], [0], [0]], [[0.98], [0.4], [0.6], [0.0]]), 0.5, 0.5),
    (lambda: metrics.BinaryAccuracy(threshold=0.3), ([[1], [1], [0], [0]], [[0.98], [0.4], [0.6], [0.0]]), 0.75, 0.7),
    (metrics.MeanSquaredError, SQUARES, 0.3125, 0.25),
    (metrics.MeanAbsoluteError, SQUARES, 0.375, 0.33333334),
    (metrics.RootMeanSquaredError, SQUARES, 0.559017, 0.5),
    (metrics.Accuracy, ([1, 2, 3], [1, 2, 4]), 2 / 3, 0.5),
    (metrics.Sum, ([1.0, 2.0],), 3.0, 5.0),
    (metrics.BinaryCrossentropy, BINARY, 0.81492424, 0.7811355),
    (metrics.CategoricalCrossentropy, ([[0, 1, 0], [0, 0, 1]], SHARES), 1.1769392, 1.5521545),
    (metrics.SparseCategoricalCrossentropy, ([1, 2], SHARES), 1.1769392, 1.5521545),
]


@pytest.mark.parametrize(("make", "batch", "expected", "weighted"), CASES)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_values(
    make: Callable[[], Any], batch: tuple[Any, ...], expected: float, weighted: float, staged: bool
) -> None:
    metric = make()
    update = fg.function(metric.update_state) if staged else metric.update_state
    arrays = [fg.constant(np.array(a)) for a in batch]
    update(*arrays)
    np.testing.assert_allclose(metric.result().numpy(), expected, rtol=2e-6)
    metric.reset_state()
    update(*arrays, sample_weight=fg.constant(np.arange(1, 1 + len(batch[0])).astype(np.float32)))
    np.testing.assert_allclose(metric.result().numpy(), weighted, rtol=2e-6)
    names = ["total:0"] if isinstance(metric, metrics.Sum) else ["total:0", "count:0"]
    assert [v.name for v in metric.variables] == names and metric.trainable_variables == []


def test_mean_of_weighted_values() -> None:
    metric = metrics.Mean("loss")
    for values, weights, expected in (
        ([1.0, 2.0, 3.0], [1.0, 0.0, 1.0], 2.0), ([[1.0, 2.0], [3.0, 4.0]], [1.0, 0.0], 1.5),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0], [0.5]], 2.1666667), ([[1.0, 2.0], [3.0, 4.0]], 2.0, 2.5),
    ):  # fmt: skip
        metric.reset_state()
        assert metric.result().numpy() == 0.0
        metric.update_state(values, sample_weight=weights)
        np.testing.assert_allclose(metric.result().numpy(), expected, rtol=1e-6)


def test_mean_over_calls() -> None:
    metric = metrics.Mean("loss")
    metric(0)
    assert float(metric(5)) == 2.5
    metric([8, 9])
    assert repr(metric.result()) == "<tf.Tensor: shape=(), dtype=float32, numpy=5.5>"
    assert metric.get_config() == {"name": "loss", "dtype": "float32"}
    other = metrics.Mean()
    other(8)
    metric.merge_state([other])
    assert float(metric.result()) == (22 + 8) / 5
    metric.reset_states()
    assert float(metric.result()) == 0.0


def test_a_metric_of_a_model_is_no_layer() -> None:
    class Measured(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2)
            self.mean = metrics.Mean("loss")

        def call(self, x: Any) -> Any:
            return self.dense(x)

    model = Measured()
    model(np.ones((1, 2)))
    assert model.layers == [model.dense] and model.metrics == [model.mean]
    assert [w.name.rpartition("/")[2] for w in model.weights] == ["kernel:0", "bias:0", "total:0", "count:0"]
    assert len(model.trainable_weights) == 2


def test_functions_and_names() -> None:
    np.testing.assert_array_equal(metrics.sparse_categorical_accuracy([1, 0], SCORES[:2]).numpy(), [1.0, 0.0])
    np.testing.assert_array_equal(metrics.binary_accuracy([[1, 1]], [[0.9, 0.2]]).numpy(), [0.5])
    assert metrics.get("mse") is metrics.mean_squared_error and fg.metrics.Mean is metrics.Mean
    assert isinstance(metrics.get("MeanSquaredError"), metrics.MeanSquaredError)
    with pytest.raises(ValueError, match="Unknown metric function: 'zz'"):
        metrics.get("zz")
    with pytest.raises(ValueError, match="Could not interpret metric identifier: 3"):
        metrics.get(3)


def test_a_metric_of_ones_own() -> None:
    class Greatest(metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="greatest")
            self.value = self.add_weight("value", initializer="zeros")

        def update_state(self, values: Any) -> None:
            self.value.assign(fg.maximum(self.value, fg.reduce_max(values)))

        def result(self) -> Any:
            return self.value

    metric = Greatest()
    for values in ([1.0, 4.0], [3.0]):
        metric(fg.constant(values))
    assert float(metric.result()) == 4.0
    metric.reset_state()
    assert float(metric.result()) == 0.0
    with pytest.raises(NotImplementedError, match="Must be implemented in subclasses"):
        metrics.Metric().result()


def test_binary_accuracy_counts_each_score() -> None:
    found = metrics.BinaryAccuracy()
    found.update_state([0.0, 1.0, 1.0], [0.2, 0.7, 0.4], sample_weight=[1.0, 2.0, 3.0])
    found.update_state([1.0], [0.9])
    assert float(found.result()) == np.float32(4 / 7)
    found.reset_state()
    found.update_state([[0.0, 1.0], [1.0, 1.0]], [[0.2, 0.7], [0.4, 0.3]], sample_weight=[1.0, 2.0])
    found.update_state([[1.0]], [[0.9]])
    assert float(found.result()) == np.float32(3 / 7)
