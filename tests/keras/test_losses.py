"""Losses against the values that Keras 2 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras import losses

LABELS = np.array([2, 0, 1])
SCORES = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], np.float32)
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
