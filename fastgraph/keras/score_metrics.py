"""Metrics of classes as a whole: intersection over union, F scores; and R². Meaning and messages of Keras 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras.metric_base import Metric
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arg_reduction import argmax
from fastgraph.ops.comparison import greater, is_inf, logical_and, not_equal
from fastgraph.ops.counting import confusion_matrix
from fastgraph.ops.elementwise import cast, ones_like, square, zeros_like
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.matrix_diagonals import diag_part
from fastgraph.ops.movement import expand_dims, reshape, size
from fastgraph.ops.reduction import reduce_max, reduce_mean, reduce_sum


class IoU(Metric):
    """Mean over classes of: elements that label and prediction share, over those that either has. Source: tf.keras.

    y_true, y_pred: class numbers, or scores along `axis` where `sparse_y_true` or `sparse_y_pred` is False; elements of
    RaggedTensors count as if all rows were one.
    ignore_class: elements with this label count for nothing.
    """

    def __init__(
        self, num_classes: int, target_class_ids: Sequence[int], name: str | None = None,
        dtype: DTypeLike | None = None, ignore_class: int | None = None, sparse_y_true: bool = True,
        sparse_y_pred: bool = True, axis: int = -1,
    ) -> None:  # fmt: skip
        super().__init__(name, dtype)
        self._take(locals())
        if max(target_class_ids) >= num_classes:
            raise ValueError(f"Target class id {max(target_class_ids)} is out of range, which is [0, {num_classes}).")
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add a batch to the confusion matrix. Raises InvalidArgumentError for a number that is no class."""
        labels, found, weights = [getattr(x, "flat_values", x) for x in (y_true, y_pred, sample_weight)]
        labels, found = convert_to_tensor(labels), convert_to_tensor(found)  # type: ignore[arg-type]  # None: weights
        labels = labels if self.sparse_y_true else argmax(labels, axis=self.axis)
        found = found if self.sparse_y_pred else argmax(found, axis=self.axis)
        labels, found = (reshape(cast(x, "int64"), [-1]) for x in (labels, found))
        if weights is not None:
            weights = reshape(cast(convert_to_tensor(weights), self._dtype), [-1])
        if self.ignore_class is not None:
            counted = not_equal(labels, self.ignore_class)
            labels, found = (where(counted, x, zeros_like(x)) for x in (labels, found))
            counted = cast(counted, self._dtype)
            weights = counted if weights is None else counted * weights
        matrix = confusion_matrix(labels, found, self.num_classes, weights=weights, dtype=self._dtype)
        return self.total_cm.assign_add(matrix)

    def result(self) -> Tensor:
        """Return the mean over the classes that were there. f[]."""
        matrix = self.total_cm.read_value()
        shared = diag_part(matrix)
        either = reduce_sum(matrix, axis=0) + reduce_sum(matrix, axis=1) - shared
        shared, either = (gather(x, list(self.target_class_ids)) for x in (shared, either))
        there = reduce_sum(cast(not_equal(either, 0.0), self._dtype))
        return divide_no_nan(reduce_sum(divide_no_nan(shared, either)), there)


class MeanIoU(IoU):
    """IoU of all classes. Source: tf.keras.metrics.MeanIoU."""

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None,
        ignore_class: int | None = None, sparse_y_true: bool = True, sparse_y_pred: bool = True, axis: int = -1,
    ) -> None:  # fmt: skip
        own = locals()
        super().__init__(num_classes, range(num_classes), name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)
        self._take(own)


class OneHotIoU(IoU):
    """IoU of labels that are one-hot along `axis`, and of scores. Source: tf.keras.metrics.OneHotIoU."""

    def __init__(
        self, num_classes: int, target_class_ids: Sequence[int], name: str | None = None,
        dtype: DTypeLike | None = None, ignore_class: int | None = None, sparse_y_pred: bool = False, axis: int = -1,
    ) -> None:  # fmt: skip
        own = locals()
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)
        self._take(own)


class OneHotMeanIoU(MeanIoU):
    """MeanIoU of labels that are one-hot along `axis`, and of scores. Source: tf.keras.metrics.OneHotMeanIoU."""

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None,
        ignore_class: int | None = None, sparse_y_pred: bool = False, axis: int = -1,
    ) -> None:  # fmt: skip
        own = locals()
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
        self._take(own)


class BinaryIoU(IoU):
    """IoU of the classes 0 and 1, which a score of `threshold` or more is. Source: tf.keras.metrics.BinaryIoU."""

    def __init__(
        self, target_class_ids: Sequence[int] = (0, 1), threshold: float = 0.5, name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        own = locals()
        super().__init__(2, target_class_ids, name, dtype)
        self._take(own)

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add a batch to the confusion matrix. Raises InvalidArgumentError for a label that is neither 0 nor 1."""
        return super().update_state(y_true, cast(y_pred, self._dtype) >= self.threshold, sample_weight)


def _classes(y_true: Any, y_pred: Any, metric: str = "FBetaScore") -> int:
    """The last length of two matrices. Raises ValueError if they are none."""
    if any(y.shape.rank != 2 or y.shape[-1] is None for y in (y_true, y_pred)):
        raise ValueError(
            f"{metric} expects 2D inputs with shape (batch_size, output_dim), with output_dim fully defined. "
            f"Received input shapes: y_pred.shape={y_pred.shape} and y_true.shape={y_true.shape}."
        )
    return int(y_pred.shape[-1])


class FBetaScore(Metric):
    """(1 + beta²) * precision * recall / (beta² * precision + recall), of labels and scores f[b, classes].

    threshold: above it a score is a yes; None: the greatest of an example. average: None (one for each class), "micro"
    (all counts together), "macro" (the mean) or "weighted" (by how many labels). Source: tf.keras.metrics.FBetaScore.
    """

    _SUMS = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")

    def __init__(
        self, average: str | None = None, beta: float = 1.0, threshold: float | None = None,
        name: str | None = "fbeta_score", dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, dtype)
        self._take(locals())
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(f"Invalid `average` argument value. Received: average={average}")
        for own, value, most in (("beta", beta, math.inf), ("threshold", 1.0 if threshold is None else threshold, 1.0)):
            if not isinstance(value, float) or not 0.0 < value <= most:
                raise ValueError(f"Invalid `{own}` argument value. It should be a Python float > 0. Received: {value}")
        self.built = False

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add a batch: y_true and y_pred f[b, classes], sample_weight f[b]. Raises ValueError for other ranks."""
        wanted, scores = (cast(convert_to_tensor(y), self._dtype) for y in (y_true, y_pred))
        if not self.built:
            n = _classes(wanted, scores)
            for name in self._SUMS:
                setattr(self, name, self.add_weight(name, () if self.average == "micro" else (n,)))
            self.built = True
        if self.threshold is None:
            yes = logical_and(scores >= reduce_max(scores, axis=-1, keepdims=True), abs(scores) > 1e-9)
        else:
            yes = scores > self.threshold
        found = cast(yes, self._dtype)
        for name, part in zip(
            self._SUMS, (found * wanted, found * (1 - wanted), (1 - found) * wanted, wanted), strict=True
        ):
            if sample_weight is not None:
                part = part * expand_dims(cast(convert_to_tensor(sample_weight), self._dtype), 1)
            getattr(self, name).assign_add(reduce_sum(part, axis=None if self.average == "micro" else 0))

    def result(self) -> Tensor:
        """Return the score. f[], without an average f[classes]."""
        right, mistaken, missed, weights = (getattr(self, name).read_value() for name in self._SUMS)
        precision, recall = divide_no_nan(right, right + mistaken), divide_no_nan(right, right + missed)
        beta = self.beta**2
        scores = divide_no_nan(precision * recall, beta * precision + recall) * (1 + beta)
        if self.average == "weighted":
            return reduce_sum(scores * divide_no_nan(weights, reduce_sum(weights)))
        return scores if self.average is None else reduce_mean(scores)


class F1Score(FBetaScore):
    """FBetaScore with beta 1: the harmonic mean of precision and recall. Source: tf.keras.metrics.F1Score."""

    def __init__(
        self, average: str | None = None, threshold: float | None = None, name: str | None = "f1_score",
        dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(average, 1.0, threshold, name, dtype)
        self._take(locals())


class R2Score(Metric):
    """1 - the sum of squared errors over that of deviations from the mean, of f[b, n]: for each of n, or one of all.

    class_aggregation: None (all n), "uniform_average" (the mean) or "variance_weighted_average". num_regressors: the
    score is adjusted for so many, where there are more examples. Source: tf.keras.metrics.R2Score.
    """

    _SUMS = ("squared_sum", "sum", "residual", "count")

    def __init__(
        self, class_aggregation: str | None = "uniform_average", num_regressors: int = 0,
        name: str | None = "r2_score", dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, dtype)
        self._take(locals())
        known = None, "uniform_average", "variance_weighted_average"
        for own, right, wanted in (
            ("class_aggregation", class_aggregation in known, f"one of {known}"),
            ("num_regressors", num_regressors >= 0, "a value >= 0"),
        ):
            if not right:
                raise ValueError(
                    f"Invalid value for argument `{own}`. Expected {wanted}. Received: {own}={getattr(self, own)}"
                )
        self.num_samples = self.add_weight("num_samples", dtype="int32")
        self.built = False

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add a batch: y_true and y_pred f[b, n], sample_weight f[b] or f[b, n]. Raises ValueError for other ranks."""
        wanted, found = (convert_to_tensor(y, self._dtype) for y in (y_true, y_pred))
        if not self.built:
            n = _classes(wanted, found, "R2Score")
            self._kept = [self.add_weight(name, (n,)) for name in self._SUMS]
            self.built = True
        weights = convert_to_tensor(1 if sample_weight is None else sample_weight, self._dtype)
        weights = (expand_dims(weights, 1) if weights.shape.rank == 1 else weights) * ones_like(wanted)
        for kept, part in zip(self._kept, (square(wanted), wanted, square(wanted - found), 1.0), strict=True):
            kept.assign_add(reduce_sum(part * weights, axis=0))
        return self.num_samples.assign_add(size(wanted))

    def result(self) -> Tensor:
        """Return the score. f[], without aggregation f[n]."""
        squares, total, residual, count = (kept.read_value() for kept in self._kept)
        deviations = squares - total * total / count
        scores = 1.0 - residual / deviations
        scores = where(is_inf(scores), zeros_like(scores), scores)
        if self.class_aggregation == "uniform_average":
            scores = reduce_mean(scores)
        elif self.class_aggregation is not None:
            scores = reduce_sum(deviations * scores) / reduce_sum(deviations)
        if not self.num_regressors:
            return scores
        samples = cast(self.num_samples, scores.dtype) - 1.0
        adjusted = 1.0 - (1.0 - scores) * samples / (samples - self.num_regressors)
        return where(greater(samples, float(self.num_regressors)), adjusted, scores)
