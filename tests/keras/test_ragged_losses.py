"""Losses and metrics of RaggedTensors: Keras 2's numbers, in eager mode and in Functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf

LABELS = tf.ragged.constant([[1.0, 0.0], [1.0], [0.0, 1.0, 1.0]])
SCORES = tf.ragged.constant([[0.5, 0.2], [0.3], [0.1, 0.7, 0.6]])
ONE_HOT = tf.ragged.constant([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]]], inner_shape=(2,))
SHARES = tf.ragged.constant([[[0.6, 0.4], [0.3, 0.7]], [[0.8, 0.2]]], inner_shape=(2,))
COLUMN = tf.RaggedTensor.from_row_splits(SCORES.flat_values[:, None], SCORES.row_splits)


@pytest.mark.parametrize(
    ("name", "of_rows", "of_vectors"),
    [
        ("MeanSquaredError", [0.145, 0.49, 0.0866667], [[0.16, 0.09], [0.04]]),
        ("MeanAbsoluteError", [0.35, 0.7, 0.2666667], [[0.4, 0.3], [0.2]]),
        ("MeanSquaredLogarithmicError", [0.058, 0.18557, 0.02843], [[0.0815033, 0.0476237], [0.022171]]),
        ("CategoricalCrossentropy", [0.33647, 0.0, 1.54045], [[0.510826, 0.356675], [0.223144]]),
        ("BinaryCrossentropy", [0.458145, 1.203973, 0.324287], [[0.510826, 0.356675], [0.223144]]),
    ],
)
def test_losses_of_rows(name: str, of_rows: list[float], of_vectors: list[list[float]]) -> None:
    loss = getattr(tf.keras.losses, name)(reduction="none")
    for find in (loss, tf.function(lambda wanted, found: loss(wanted, found))):
        np.testing.assert_allclose(find(LABELS, SCORES), of_rows, rtol=1e-4, atol=1e-6)
        if name != "CategoricalCrossentropy":
            np.testing.assert_allclose(find(LABELS, COLUMN), of_rows, rtol=1e-4, atol=1e-6)
        found = find(ONE_HOT, SHARES)
        assert found.row_lengths().numpy().tolist() == [2, 1]
        np.testing.assert_allclose(found.flat_values, np.concatenate(of_vectors), rtol=1e-4)
    mean = getattr(tf.keras.losses, name)()
    np.testing.assert_allclose(mean(LABELS, SCORES), np.mean(of_rows), rtol=1e-4)
    np.testing.assert_allclose(mean(LABELS, SCORES, [1.0, 2.0, 0.0]), (of_rows[0] + 2 * of_rows[1]) / 3, rtol=1e-4)
    weights = tf.ragged.constant([[1.0, 0.0], [2.0]])
    total = of_vectors[0][0] + 2 * of_vectors[1][0]
    np.testing.assert_allclose(mean(ONE_HOT, SHARES, weights), total / 3, rtol=1e-4)


def test_classes_of_rows() -> None:
    loss = tf.keras.losses.SparseCategoricalCrossentropy()
    with tf.GradientTape() as tape:
        tape.watch(SHARES.flat_values)
        found = loss(tf.ragged.constant([[0, 1], [0]]), SHARES)
    np.testing.assert_allclose(found, (0.510826 + 0.356675 + 0.223144) / 3, rtol=1e-4)
    gradient = tape.gradient(found, SHARES.flat_values)
    # Each loss is that of softmax(log(p)): its gradient has the shares themselves as well.
    np.testing.assert_allclose(gradient, (1 - np.array([[1, 0], [0, 1], [1, 0]]) / SHARES.flat_values) / 3, rtol=1e-4)


def test_rows_of_other_lengths_are_refused() -> None:
    other = tf.ragged.constant([[1.0], [1.0, 0.0], [0.0, 1.0, 1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="identical ragged splits"):
        tf.keras.losses.MeanSquaredError()(other, SCORES)
    for labels, error in ((other, tf.errors.InvalidArgumentError), (LABELS.to_tensor(), TypeError)):
        with pytest.raises(error):
            tf.keras.metrics.MeanSquaredError().update_state(labels, SCORES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("MeanSquaredError", 0.173333), ("BinaryAccuracy", 0.666667), ("AUC", 1.0), ("Recall", 0.5), ("Hinge", 0.7)],
)
def test_metrics_take_each_element_for_an_example(name: str, expected: float) -> None:
    def find(labels: Any, scores: Any, weights: Any = None) -> Any:
        metric = getattr(tf.keras.metrics, name)()
        metric.update_state(labels, scores, weights)
        return metric.result().numpy()

    assert find(LABELS, SCORES) == pytest.approx(expected, rel=1e-4)
    assert find(LABELS, SCORES, LABELS.with_flat_values(tf.ones([6]))) == pytest.approx(expected, rel=1e-4)
    mean = tf.keras.metrics.Mean()
    mean.update_state(SCORES)
    assert mean.result().numpy() == pytest.approx(0.4)


def test_metrics_of_classes_take_the_elements_of_rows() -> None:
    labels, scores = tf.ragged.constant([[1, 0], [1]]), tf.ragged.constant([[0.7, 0.2], [0.3]])
    weights = tf.ragged.constant([[1.0, 2.0], [3.0]])
    found = tf.keras.metrics.BinaryIoU()
    found.update_state(labels, scores)
    assert float(found.result()) == 0.5
    weighted = tf.keras.metrics.MeanIoU(2)
    weighted.update_state(labels, tf.ragged.constant([[1, 0], [0]]), weights)
    np.testing.assert_allclose(weighted.result(), (2 / 5 + 1 / 4) / 2)
    best = tf.keras.metrics.SparseCategoricalAccuracy()
    best.update_state(labels, tf.ragged.constant([[[0.1, 0.9], [0.8, 0.2]], [[0.7, 0.3]]], ragged_rank=1), weights)
    assert float(best.result()) == 0.5
