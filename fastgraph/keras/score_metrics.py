"""Metrics of classes as a whole: intersection over union, F scores; and R². Meaning and messages of Keras 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras.metric_base import Metric
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.counting import confusion_matrix
from fastgraph.ops.elementwise import cast, zeros_like
from fastgraph.ops.extreme_positions import argmax
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.matrix_diagonals import diag_part
from fastgraph.ops.movement import reshape
from fastgraph.ops.reduction import reduce_sum


class IoU(Metric):
    """Mean over classes of: elements that label and prediction share, over those that either has. Source: tf.keras.

    y_true, y_pred: class numbers, or scores along `axis` where `sparse_y_true` or `sparse_y_pred` is False.
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
        labels, found = convert_to_tensor(y_true), convert_to_tensor(y_pred)
        labels = labels if self.sparse_y_true else argmax(labels, axis=self.axis)
        found = found if self.sparse_y_pred else argmax(found, axis=self.axis)
        labels, found = (reshape(cast(x, "int64"), [-1]) for x in (labels, found))
        weights = sample_weight
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
        mean: Tensor = divide_no_nan(reduce_sum(divide_no_nan(shared, either)), there)
        return mean


class MeanIoU(IoU):
    """IoU of all classes. Source: tf.keras.metrics.MeanIoU."""

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None,
        ignore_class: int | None = None, sparse_y_true: bool = True, sparse_y_pred: bool = True, axis: int = -1,
    ) -> None:  # fmt: skip
        own = locals()
        super().__init__(num_classes, range(num_classes), name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)
        self._take(own)
