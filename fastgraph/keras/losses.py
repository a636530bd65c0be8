"""tf.keras.losses: how far predictions are from what was wanted. Meaning and messages of Keras 2.

Rule: a loss function gives one number per example; a Loss object weights and reduces them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.core import replicas
from fastgraph.core.base.dtype import as_dtype, int64
from fastgraph.core.conversion import Data, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend, identifiers
from fastgraph.keras.identifiers import Identifier
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.elementwise import abs, cast, clip_by_value, multiply, ones_like, zeros_like
from fastgraph.ops.exponentials import log
from fastgraph.ops.gathering import where
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import expand_dims, reshape, shape, size, squeeze
from fastgraph.ops.nn_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from fastgraph.ops.reduction import reduce_mean, reduce_sum

__all__ = [
    "MAE",
    "MSE",
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "Huber",
    "Loss",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Reduction",
    "SparseCategoricalCrossentropy",
    "binary_crossentropy",
    "categorical_crossentropy",
    "deserialize",
    "get",
    "huber",
    "mae",
    "mean_absolute_error",
    "mean_squared_error",
    "mse",
    "serialize",
    "sparse_categorical_crossentropy",
]

__getattr__, __dir__ = lookup("keras.losses")


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
    def validate(cls, key: object) -> None:
        """Raise ValueError if `key` is none of them."""
        if key not in cls.all():
            raise ValueError(f'Invalid Reduction Key: {key}. Expected keys are "{cls.all()}"')


_NO_MEAN = (
    "Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` for loss reduction when losses are "
    "used with `tf.distribute.Strategy`, except for specifying losses in `Model.compile()`."
)


class Loss:
    """The base of losses: `call(y_true, y_pred)` gives the losses of the examples. Source: tf.keras.losses.Loss."""

    _in_compile = False  # whether a model calls it, which divides by the number of replicas

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true: Data, y_pred: Data, sample_weight: Data | None = None) -> Tensor:
        """Return the loss: a number, or with reduction "none" one per example.

        `sample_weight`, of the losses' shape or one that broadcasts to it, weights the examples; the mean divides by
        their number all the same, not by the sum of the weights.
        """
        alone = self._in_compile or self.reduction in (Reduction.NONE, Reduction.SUM)
        if not alone and replicas.strategy() is not None:
            raise ValueError(_NO_MEAN)
        losses = self.call(y_true, y_pred)
        valid = self.valid(y_true, y_pred)
        mask = getattr(y_pred, "_keras_mask", None)
        if mask is not None:  # of steps that are none: they weigh nothing, and the mean is that of the others
            weights = multiply(_fitted(cast(mask, losses.dtype), losses), ones_like(losses))
            losses = where(weights > 0, losses, zeros_like(losses))
            valid = weights if valid is None else weights * cast(valid, weights.dtype)
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

    A call takes `y_true` i[*s] (or [*s, 1]) and `y_pred` f[*s, classes].

    Args:
        from_logits: Whether the scores are logits; else they are probabilities.
        ignore_class: Examples with this label count for nothing; None: all count.
        reduction: "none": the examples' losses f[*s]; "sum"; "sum_over_batch_size" or "auto": their mean.

    Raises:
        ValueError: There is no such reduction.
        InvalidArgumentError: On a call: a label is no class.

    Examples:
        >>> logits = tf.constant([[2.0, 2.0], [0.0, 50.0]])
        >>> loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        >>> round(float(loss([0, 1], logits)), 4)
        0.3466
        >>> tf.keras.losses.SparseCategoricalCrossentropy(True, reduction="none")([0, 0], logits).numpy().round(4)
        array([ 0.6931, 50.    ], dtype=float32)
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
        return mean_squared_error(*matched(y_true, y_pred))


class MeanAbsoluteError(Loss):
    """Mean of the absolute differences. Source: tf.keras.losses.MeanAbsoluteError."""

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = "mean_absolute_error") -> None:
        super().__init__(reduction, name)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the losses of the examples."""
        return mean_absolute_error(*matched(y_true, y_pred))


class Huber(Loss):
    """Half the squared difference up to `delta`, a straight line beyond. Source: tf.keras.losses.Huber; Huber 1964."""

    def __init__(self, delta: float = 1.0, reduction: str = Reduction.AUTO, name: str | None = "huber_loss") -> None:
        super().__init__(reduction, name)
        self.delta = delta

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the losses of the examples."""
        return huber(*matched(y_true, y_pred), delta=self.delta)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {**super().get_config(), "delta": self.delta}


class _Crossentropy(Loss):
    """The base of losses of wanted probabilities."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.from_logits = from_logits
        self.label_smoothing = label_smoothing
        self.axis = axis

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        own = {"from_logits": self.from_logits, "label_smoothing": self.label_smoothing, "axis": self.axis}
        return {**super().get_config(), **own}


class CategoricalCrossentropy(_Crossentropy):
    """Cross-entropy of wanted probabilities (one-hot, say) and scores. Source: tf.keras.losses.CategoricalCrossentropy.

    `y_true`, `y_pred` f[*s, classes]: logits if `from_logits`, else probabilities. label_smoothing: the share of each
    label that is spread over all classes. Raises ValueError for shapes that differ.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str | None = "categorical_crossentropy",
    ) -> None:
        super().__init__(from_logits, label_smoothing, axis, reduction, name)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the losses of the examples."""
        return categorical_crossentropy(y_true, y_pred, self.from_logits, self.label_smoothing, self.axis)


class BinaryCrossentropy(_Crossentropy):
    """Cross-entropy of yes and no, its mean along `axis`. Source: tf.keras.losses.BinaryCrossentropy.

    `y_true`, `y_pred` f[*s]: logits if `from_logits`, else probabilities. label_smoothing: moves labels towards 1/2.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = Reduction.AUTO,
        name: str | None = "binary_crossentropy",
    ) -> None:
        super().__init__(from_logits, label_smoothing, axis, reduction, name)

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the losses of the examples."""
        pair = matched(y_true, y_pred)
        return binary_crossentropy(*pair, self.from_logits, self.label_smoothing, self.axis)


def sparse_categorical_crossentropy(
    y_true: Data, y_pred: Data, from_logits: bool = False, axis: int = -1, ignore_class: int | None = None
) -> Tensor:
    """Return the cross-entropy of each example. i[*s] or [*s, 1], f[*s, classes] -> f[*s].

    Args:
        y_true: The classes: integers, or floats that are whole.
        y_pred: Probabilities, or with `from_logits` any numbers.
        from_logits: Whether `tf.nn.softmax` has still to make probabilities of y_pred.
        axis: Where the classes are.
        ignore_class: Examples with this label give 0; None: there are none.

    Raises:
        InvalidArgumentError: A label is no class.

    Examples:
        >>> loss = tf.keras.losses.sparse_categorical_crossentropy([0, 1], [[1.0, 0.0], [0.5, 0.5]])
        >>> loss.numpy().round(4)
        array([0.    , 0.6931], dtype=float32)

    Source: tf.keras.losses.sparse_categorical_crossentropy.
    """
    scores = convert_to_tensor(y_pred)
    if axis not in (-1, (scores.shape.rank or 0) - 1):
        raise ValueError(f"axis={axis} is not supported: the classes must be along the last axis of y_pred.")
    if not from_logits:
        scores = log(_inside(scores))
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

    return stack([-1, shape(scores)[-1]])


def mean_squared_error(y_true: Data, y_pred: Data) -> Tensor:
    """Return the mean of (y_pred - y_true)² along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    predicted = convert_to_tensor(y_pred)
    difference = predicted - cast(convert_to_tensor(y_true), predicted.dtype)
    mean: Tensor = reduce_mean(difference * difference, axis=-1)
    return mean


def mean_absolute_error(y_true: Data, y_pred: Data) -> Tensor:
    """Return the mean of |y_pred - y_true| along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    predicted = convert_to_tensor(y_pred)
    mean: Tensor = reduce_mean(abs(predicted - cast(convert_to_tensor(y_true), predicted.dtype)), axis=-1)
    return mean


def huber(y_true: Data, y_pred: Data, delta: float = 1.0) -> Tensor:
    """Return the mean of Huber's loss along the last axis. f[*s, n], f[*s, n] -> f32[*s]."""
    dtype = as_dtype(backend.floatx())
    distance = abs(cast(convert_to_tensor(y_pred), dtype) - cast(convert_to_tensor(y_true), dtype))
    line = delta * distance - 0.5 * delta * delta
    mean: Tensor = reduce_mean(where(distance <= delta, 0.5 * distance * distance, line), axis=-1)
    return mean


def categorical_crossentropy(
    y_true: Data, y_pred: Data, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Return the cross-entropy of each example. f[*s, classes], f[*s, classes] -> f[*s].

    Probabilities are divided by their sum. Raises ValueError for shapes that differ.
    """
    scores = convert_to_tensor(y_pred)
    wanted = cast(convert_to_tensor(y_true), scores.dtype)
    if not wanted.shape.is_compatible_with(scores.shape):
        raise ValueError(f"Shapes {wanted.shape} and {scores.shape} are incompatible")
    if label_smoothing:
        n = cast(shape(wanted)[axis], scores.dtype)
        wanted = wanted * (1.0 - label_smoothing) + label_smoothing / n
    if from_logits:
        by_logits: Tensor = softmax_cross_entropy_with_logits(labels=wanted, logits=scores, axis=axis)
        return by_logits
    shares = _inside(scores / reduce_sum(scores, axis=axis, keepdims=True))
    losses: Tensor = -reduce_sum(wanted * log(shares), axis=axis)
    return losses


def binary_crossentropy(
    y_true: Data, y_pred: Data, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Return the mean cross-entropy of yes and no along `axis`. f[*s, n], f[*s, n] -> f[*s]."""
    scores = convert_to_tensor(y_pred)
    wanted = cast(convert_to_tensor(y_true), scores.dtype)
    if label_smoothing:
        wanted = wanted * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        losses = sigmoid_cross_entropy_with_logits(labels=wanted, logits=scores)
    else:
        shares = _inside(scores)
        small = backend.epsilon()
        losses = -(wanted * log(shares + small) + (1.0 - wanted) * log(1.0 - shares + small))
    mean: Tensor = reduce_mean(losses, axis=axis)
    return mean


mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error

_FUNCTIONS: dict[str, Any] = {
    **{f.__name__: f for f in (binary_crossentropy, categorical_crossentropy, huber, mean_absolute_error)},
    **{f.__name__: f for f in (mean_squared_error, sparse_categorical_crossentropy)},
    "mae": mae,
    "MAE": mae,
    "mse": mse,
    "MSE": mse,
    "huber_loss": huber,
}
_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (BinaryCrossentropy, CategoricalCrossentropy, Huber, MeanAbsoluteError, MeanSquaredError,
                 SparseCategoricalCrossentropy)
}  # fmt: skip


def get(identifier: Identifier) -> Any:
    """Return a loss: a callable itself, a function by its name, a Loss by its class's name or config, or None.

    Raises ValueError for an unknown one. Source: tf.keras.losses.get.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret loss function identifier: {identifier}")


def deserialize(name: str | Mapping[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """Return the loss of a name or config. Raises ValueError for an unknown one."""
    if isinstance(name, str) and name in _FUNCTIONS:
        return _FUNCTIONS[name]
    return identifiers.find(name, {**_CLASSES, **(custom_objects or {})}, "loss function")


def serialize(loss: Loss | Callable[..., Any]) -> Any:
    """Return the name of a function, or the config of a Loss."""
    return identifiers.described(loss, "keras.losses") if isinstance(loss, Loss) else loss.__name__


def _inside(shares: Tensor) -> Any:
    """Probabilities, kept so far from 0 and 1 that their logarithms are finite."""
    small = backend.epsilon()
    return clip_by_value(shares, small, 1.0 - small)


def matched(y_true: Data, y_pred: Data) -> tuple[Any, Any]:
    """Both tensors with the same rank where one has an axis of length 1 more at its end; others as they are."""
    if not (isinstance(y_true, Tensor) and isinstance(y_pred, Tensor)):
        return y_true, y_pred
    ranks = y_true.shape.rank, y_pred.shape.rank
    if None not in ranks:
        if ranks[1] == ranks[0] + 1 and y_pred.shape[-1] == 1:  # type: ignore[operator]
            y_pred = squeeze(y_pred, axis=[-1])
        elif ranks[0] == ranks[1] + 1 and y_true.shape[-1] == 1:  # type: ignore[operator]
            y_true = squeeze(y_true, axis=[-1])
    return y_true, y_pred


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
