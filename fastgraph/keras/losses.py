"""tf.keras.losses: how far predictions are from what was wanted. Meaning and messages of Keras 2.

Rule: a loss function gives one number per example; a Loss object weights and reduces them.
"""

from __future__ import annotations

from typing import Any

from fastgraph._namespaces import lookup
from fastgraph._tensor import Tensor
from fastgraph.conversion import convert_to_tensor
from fastgraph.dtype import int64
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.elementwise import cast, clip_by_value, multiply, not_equal, zeros_like
from fastgraph.ops.exponentials import log
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import expand_dims, reshape, shape, size, squeeze
from fastgraph.ops.nnops import sparse_softmax_cross_entropy_with_logits
from fastgraph.ops.reduction import reduce_mean, reduce_sum

__all__ = [
    "MSE",
    "Loss",
    "MeanSquaredError",
    "Reduction",
    "SparseCategoricalCrossentropy",
    "mean_squared_error",
    "mse",
    "sparse_categorical_crossentropy",
]

__getattr__ = lookup("keras.losses")

EPSILON = 1e-7  # keras.backend.epsilon(): probabilities are kept this far from 0 and 1


class Reduction:
    """How the losses of a batch become one: the names of tf.keras.losses.Reduction."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise ValueError if `key` is none of them."""
        if key not in cls.all():
            raise ValueError(f'Invalid Reduction Key: {key}. Expected keys are "{cls.all()}"')


class Loss:
    """The base of losses: `call(y_true, y_pred)` gives the losses of the examples. Source: tf.keras.losses.Loss."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the loss: a number, or with reduction "none" one per example.

        `sample_weight`, of the losses' shape or one that broadcasts to it, weights the examples; the mean divides by
        their number all the same, not by the sum of the weights.
        """
        losses = self.call(y_true, y_pred)
        valid = self.valid(y_true, y_pred)
        if sample_weight is not None:
            losses = multiply(losses, _fitted(cast(convert_to_tensor(sample_weight), losses.dtype), losses))
        if self.reduction == Reduction.NONE:
            return losses
        total: Tensor = reduce_sum(losses)
        if self.reduction == Reduction.SUM:
            return total
        count = size(losses) if valid is None else reduce_sum(cast(valid, losses.dtype))
        mean: Tensor = divide_no_nan(total, cast(count, losses.dtype))
        return mean

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def valid(self, y_true: Any, y_pred: Any) -> Tensor | None:
        """Return which losses count in the mean, or None if all do."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """Return the loss that `get_config` described."""
        return cls(**config)


class SparseCategoricalCrossentropy(Loss):
    """Cross-entropy of integer labels and scores of the classes. Source: tf.keras.losses.SparseCategoricalCrossentropy.

    `y_true` i[*s] (or [*s, 1]), `y_pred` f[*s, classes]: logits if `from_logits`, else probabilities. Examples labelled
    `ignore_class` count for nothing.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str = Reduction.AUTO,
        name: str | None = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(reduction, name)
        self.from_logits = from_logits
        self.ignore_class = ignore_class

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return f[*s], the losses of the examples."""
        return sparse_categorical_crossentropy(y_true, y_pred, self.from_logits, ignore_class=self.ignore_class)

    def valid(self, y_true: Any, y_pred: Any) -> Tensor | None:
        """Return which examples are not of the ignored class."""
        if self.ignore_class is None:
            return None
        counted: Tensor = not_equal(cast(convert_to_tensor(y_true), int64), self.ignore_class)
        return counted

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {**super().get_config(), "from_logits": self.from_logits, "ignore_class": self.ignore_class}


class MeanSquaredError(Loss):
    """Mean of the squared differences. Source: tf.keras.losses.MeanSquaredError."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_squared_error") -> None:
        super().__init__(reduction, name)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the losses of the examples."""
        return mean_squared_error(y_true, y_pred)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1, ignore_class: int | None = None
) -> Tensor:
    """Return the cross-entropy of each example. i[*s] or [*s, 1], f[*s, classes] -> f[*s].

    Raises: InvalidArgumentError for a label that is no class. Source: tf.keras.losses.sparse_categorical_crossentropy.
    """
    scores = convert_to_tensor(y_pred)
    if axis not in (-1, (scores.shape.rank or 0) - 1):
        raise ValueError(f"axis={axis} is not supported: the classes must be along the last axis of y_pred.")
    if not from_logits:
        scores = log(clip_by_value(scores, EPSILON, 1.0 - EPSILON))
    labels = cast(convert_to_tensor(y_true), int64)
    n_dims = scores.shape.rank
    if n_dims is None or labels.shape.rank is None:
        raise ValueError("sparse_categorical_crossentropy needs operands of known rank.")
    outside = shape(scores)[:-1]
    if labels.shape.rank != n_dims - 1 or n_dims > 2:
        labels = reshape(labels, [-1])
        scores = reshape(scores, [-1, scores.shape[-1]] if scores.shape[-1] is not None else _rows(scores))
    if ignore_class is not None:
        counted = not_equal(labels, ignore_class)
        labels = where(counted, labels, zeros_like(labels))
    losses: Tensor = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    if ignore_class is not None:
        losses = where(counted, losses, zeros_like(losses))
    if n_dims > 2:
        losses = reshape(losses, outside)
    return losses


def _rows(scores: Tensor) -> Any:
    """The shape that leaves only the last axis of `scores` apart, where its length is not known yet."""
    from fastgraph.ops.joining import stack

    return stack([-1, shape(scores)[-1]])


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """Return the mean of (y_pred - y_true)² along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    predicted = convert_to_tensor(y_pred)
    difference = predicted - cast(convert_to_tensor(y_true), predicted.dtype)
    mean: Tensor = reduce_mean(difference * difference, axis=-1)
    return mean


mse = MSE = mean_squared_error


def _fitted(weights: Tensor, losses: Tensor) -> Tensor:
    """`weights` with one dimension less or more where their rank differs from that of the losses by one."""
    ranks = weights.shape.rank, losses.shape.rank
    if None in ranks or ranks[0] in (0, ranks[1]):
        return weights
    if ranks[0] == ranks[1] + 1 and weights.shape[-1] == 1:  # type: ignore[operator]
        weights = squeeze(weights, axis=[-1])
    elif ranks[0] + 1 == ranks[1]:  # type: ignore[operator]
        weights = expand_dims(weights, axis=-1)
    return weights
