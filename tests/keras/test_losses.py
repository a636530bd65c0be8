"""Losses against the values that Keras 2 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras import losses

LABELS = np.array([2, 0, 1])
SCORES = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], np.float32)
WANTED = np.array([[0, 1], [0, 0]], np.float32)
GIVEN = np.array([[0.6, 0.4], [0.4, 0.6]], np.float32)
EACH = [0.76795, 0.939831, 1.250424]
Sparse = losses.SparseCategoricalCrossentropy


@pytest.mark.parametrize(
    ("loss", "arguments", "expected"),
    [(Sparse(), (LABELS, SCORES), 0.88642), (Sparse(from_logits=True), (LABELS, SCORES), 0.986068),
     (Sparse(from_logits=True, reduction="none"), (LABELS, SCORES), EACH),
     (Sparse(from_logits=True, reduction="sum"), (LABELS, SCORES), 2.958205),
     (Sparse(from_logits=True), (LABELS, SCORES, [1.0, 2.0, 0.0]), 0.882537),
     (Sparse(from_logits=True), (LABELS[:, None], SCORES, [[1.0], [2.0], [0.0]]), 0.882537),
     (Sparse(from_logits=True), (LABELS, SCORES, 0.5), 0.493034),
     (Sparse(from_logits=True, ignore_class=0), (LABELS, SCORES), 1.009187),
     (Sparse(from_logits=True, ignore_class=0, reduction="none"), (LABELS, SCORES), [0.76795, 0.0, 1.250424]),
     (Sparse(from_logits=True), (LABELS[None], SCORES[None]), 0.986068),
     (Sparse(from_logits=True), (LABELS.astype(np.float32), SCORES.astype(np.float64)), 0.986068),
     (losses.BinaryCrossentropy(), (WANTED, GIVEN), 0.81492424),
     (losses.BinaryCrossentropy(reduction="none"), (WANTED, GIVEN), [0.91629052, 0.71355796]),
     (losses.BinaryCrossentropy(), (WANTED, GIVEN, [[1.0], [0.5]]), 0.63653475),
     (losses.BinaryCrossentropy(from_logits=True), (WANTED, GIVEN), 0.87525165),
     (losses.BinaryCrossentropy(label_smoothing=0.1), (WANTED, GIVEN), 0.80478764),
     (losses.CategoricalCrossentropy(), (WANTED, GIVEN), 0.45814535),
     (losses.CategoricalCrossentropy(reduction="sum"), (WANTED, GIVEN, [1.0, 0.5]), 0.9162907),
     (losses.CategoricalCrossentropy(from_logits=True), (WANTED, GIVEN), 0.39906943),
     (losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), (WANTED, GIVEN), 0.42897636),
     (losses.MeanAbsoluteError(), (WANTED, GIVEN), 0.55),
     (losses.MeanAbsoluteError(reduction="none"), (WANTED, GIVEN), [0.6, 0.5]),
     (losses.Huber(), (WANTED, GIVEN), 0.155), (losses.Huber(delta=0.3), (WANTED, GIVEN), 0.120000005),
     (losses.Huber(delta=0.3, reduction="sum"), (WANTED, GIVEN, [1.0, 0.5]), 0.1875),
     (losses.MeanSquaredError(), (SCORES, SCORES * 2), 0.151111),
     (losses.MeanSquaredError(reduction="none"), (SCORES, SCORES * 2), [0.18, 0.126667, 0.146667])],
)  # fmt: skip
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_values(loss: losses.Loss, arguments: tuple[Any, ...], expected: Any, staged: bool) -> None:
    run = fg.function(lambda *a: loss(*a)) if staged else loss
    result = run(*(fg.constant(a) for a in arguments)) if staged else run(*arguments)
    np.testing.assert_allclose(result.numpy(), expected, rtol=3e-6, atol=1e-6)
    assert result.dtype == arguments[1].dtype


def test_functions() -> None:
    np.testing.assert_allclose(
        losses.sparse_categorical_crossentropy(LABELS.reshape(1, 3, 1), SCORES[None], from_logits=True).numpy(),
        [EACH],
        rtol=3e-6,
    )
    assert int(losses.mean_squared_error([1, 2], [2, 4]).numpy()) == 2
    assert losses.mse is losses.mean_squared_error is fg.losses.MSE


def test_gradient() -> None:
    scores = fg.Variable(SCORES)
    with fg.GradientTape() as tape:
        loss = Sparse(from_logits=True)(LABELS, scores)
    softmax = np.exp(SCORES) / np.exp(SCORES).sum(1, keepdims=True)
    np.testing.assert_allclose(
        tape.gradient(loss, scores).numpy(), (softmax - np.eye(3)[LABELS]) / 3, rtol=1e-5, atol=1e-7
    )


def test_label_that_is_no_class() -> None:
    with pytest.raises(
        fg.errors.InvalidArgumentError, match="Received a label value of 5 which is outside the valid range"
    ):
        Sparse(from_logits=True)([0, 5], [[0.9, 0.1], [0.2, 0.8]])


def test_reductions() -> None:
    assert losses.Reduction.all() == ("auto", "none", "sum", "sum_over_batch_size")
    with pytest.raises(ValueError, match=r"Invalid Reduction Key: bad. Expected keys are"):
        Sparse(reduction="bad")
    config = Sparse(from_logits=True, reduction="sum").get_config()
    assert Sparse.from_config(config).get_config() == config
    with pytest.raises(NotImplementedError, match="Must be implemented in subclasses"):
        losses.Loss()(1.0, 2.0)


def test_a_loss_of_ones_own() -> None:
    class Absolute(losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return fg.abs(fg.convert_to_tensor(y_pred) - y_true)

    assert float(Absolute()([1.0, 2.0], [3.0, 3.0]).numpy()) == 1.5
    assert float(Absolute(reduction="sum")([1.0, 2.0], [3.0, 3.0]).numpy()) == 3.0


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(2, 2\) are incompatible"):
        losses.CategoricalCrossentropy()([1, 2], GIVEN)
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2,2\] vs. \[3\]"):
        losses.MeanSquaredError()([1.0, 2.0, 3.0], GIVEN)


def test_tensors_get_the_same_rank() -> None:
    y_true, y_pred = fg.constant([1.0, 2.0]), fg.constant([[0.1], [0.3]])
    np.testing.assert_allclose(losses.MeanSquaredError()(y_true, y_pred).numpy(), (0.9**2 + 1.7**2) / 2, rtol=1e-6)


def test_found_by_name() -> None:
    assert losses.get("mse") is losses.mean_squared_error and losses.get(None) is None
    assert isinstance(losses.get("MeanSquaredError"), losses.MeanSquaredError)
    config = losses.serialize(losses.Huber(delta=0.5))
    assert losses.get(config).get_config() == losses.Huber(delta=0.5).get_config()
    with pytest.raises(ValueError, match="Unknown loss function: 'zz'"):
        losses.get("zz")
    with pytest.raises(ValueError, match="Could not interpret loss function identifier: 3"):
        losses.get(3)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("label", [-1, 3])
def test_labels_out_of_range_are_refused_in_every_tier(staged: bool, label: int) -> None:
    loss = Sparse(from_logits=True)
    run = fg.function(lambda labels, scores: loss(labels, scores)) if staged else loss
    if staged:
        run.get_concrete_function(fg.constant(LABELS), fg.constant(SCORES)).wait()
        run(fg.constant(LABELS), fg.constant(SCORES))
    with pytest.raises(fg.errors.InvalidArgumentError, match=f"Received a label value of {label} which is outside"):
        run(fg.constant(np.array([0, label, 1])), fg.constant(SCORES))
