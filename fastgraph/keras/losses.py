"""tf.keras.losses: how far predictions are from what was wanted. Meaning and messages of Keras 2.

Rule: a loss function gives one number per example; a Loss object weights and reduces them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fastgraph.api.namespaces import lookup
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core import replicas
from fastgraph.core.base.dtype import int64
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import identifiers, loss_functions
from fastgraph.keras.arguments import after, variant
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.loss_functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    cosine_similarity,
    hinge,
    huber,
    kl_divergence,
    log_cosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from fastgraph.keras.ragged_rows import without_last
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.comparison import not_equal
from fastgraph.ops.elementwise import cast, multiply, ones_like, zeros_like
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import expand_dims, size, squeeze
from fastgraph.ops.reduction import reduce_sum

__all__ = [
    "KLD", "MAE", "MAPE", "MSE", "MSLE", "BinaryCrossentropy", "BinaryFocalCrossentropy",
    "CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalHinge", "CosineSimilarity", "Hinge",
    "Huber", "KLDivergence", "LogCosh", "Loss", "MeanAbsoluteError", "MeanAbsolutePercentageError",
    "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "Reduction", "SparseCategoricalCrossentropy",
    "SquaredHinge", "binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy",
    "categorical_focal_crossentropy", "categorical_hinge", "cosine_similarity", "deserialize", "get", "hinge",
    "huber", "kl_divergence", "kld", "kullback_leibler_divergence", "log_cosh", "logcosh", "mae", "mape",
    "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_error",
    "mean_squared_logarithmic_error", "mse", "msle", "poisson", "serialize", "sparse_categorical_crossentropy",
    "squared_hinge",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.losses")


class Reduction:
    """Ways in which the losses of a batch become one: the names of tf.keras.losses.Reduction."""

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

    def __call__(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Tensor:
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
            losses = multiply(losses, _fitted(cast(as_tensor(sample_weight), losses.dtype), losses))
        if self.reduction == Reduction.NONE:
            return losses
        total: Tensor = reduce_sum(losses)
        if self.reduction == Reduction.SUM:
            return total
        count = size(losses) if valid is None else reduce_sum(cast(valid, losses.dtype))
        return divide_no_nan(total, cast(count, losses.dtype))

    def call(self, y_true: Any, y_pred: Any) -> Tensor:  # subclasses may take Tensors alone
        """Return the loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def valid(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor | None:
        """Return which losses count in the mean, or None if all do."""
        return None

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """Return the loss that `get_config` described, here or in Keras, which names the function too."""
        return cls(**{name: value for name, value in config.items() if name != "fn"})


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
        self, from_logits: bool = False, ignore_class: int | None = None, reduction: str = Reduction.AUTO, name:
        str | None = "sparse_categorical_crossentropy",
    ) -> None:  # fmt: skip
        super().__init__(reduction, name)
        self.from_logits = from_logits
        self.ignore_class = ignore_class

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
        """Return f[*s], the losses of the examples."""
        return sparse_categorical_crossentropy(y_true, y_pred, self.from_logits, ignore_class=self.ignore_class)

    def valid(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor | None:
        """Return which examples are not of the ignored class."""
        if self.ignore_class is None:
            return None
        return not_equal(cast(convert_to_tensor(y_true), int64), self.ignore_class)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {**super().get_config(), "from_logits": self.from_logits, "ignore_class": self.ignore_class}


class OfFunction(Loss):
    """The base of losses that are a function's values: FUNCTION(y_true, y_pred, **arguments)."""

    FUNCTION: ClassVar[Callable[..., Any]]

    def __init__(self, reduction: Any = Reduction.AUTO, name: Any = None, **arguments: Any) -> None:
        super().__init__(reduction, name or self.FUNCTION.__name__)
        self._arguments = arguments
        vars(self).update(arguments)

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
        """Return the losses of the examples."""
        if self.FUNCTION is not categorical_crossentropy:
            y_true, y_pred = matched(y_true, y_pred)
        return as_tensor(self.FUNCTION(y_true, y_pred, **self._arguments))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a loss."""
        return {**super().get_config(), **self._arguments}


def _class(name: str, function: Callable[..., Any], text: str) -> type[OfFunction]:
    """The loss of a function, which takes the function's arguments after (y_true, y_pred), reduction and name."""
    called = "huber_loss" if function is huber else function.__name__
    parameters = {**after(function, 2), "reduction": Reduction.AUTO, "name": called}
    return variant(OfFunction, "losses", name, text, parameters, FUNCTION=staticmethod(function))


MeanSquaredError = _class("MeanSquaredError", mean_squared_error, "Mean of the squared differences.")
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error, "Mean of the absolute differences.")
MeanAbsolutePercentageError = _class(
    "MeanAbsolutePercentageError", mean_absolute_percentage_error, "100 times the mean of |y - p| / |y|."
)
MeanSquaredLogarithmicError = _class(
    "MeanSquaredLogarithmicError", mean_squared_logarithmic_error, "Mean of the squared differences of log(1 + y)."
)
Poisson = _class("Poisson", poisson, "Mean of p - y * log(p).")
KLDivergence = _class("KLDivergence", kl_divergence, "Divergence of wanted and found probabilities.")
LogCosh = _class("LogCosh", log_cosh, "Mean of log(cosh(p - y)).")
Hinge = _class("Hinge", hinge, "Mean of max(0, 1 - y * p), of labels -1 and 1; 0 and 1 become such.")
SquaredHinge = _class("SquaredHinge", squared_hinge, "Mean of the squares of Hinge's numbers.")
CategoricalHinge = _class("CategoricalHinge", categorical_hinge, "max(0, 1 + best wrong score - right one).")
CosineSimilarity = _class("CosineSimilarity", cosine_similarity, "Less the cosine of the angle along `axis`.")
Huber = _class("Huber", huber, "Half the squared difference up to `delta`, a straight line beyond. Huber 1964.")
CategoricalCrossentropy = _class(
    "CategoricalCrossentropy", categorical_crossentropy,
    "Cross-entropy of wanted probabilities and scores f[*s, classes]: logits if `from_logits`, else probabilities.",
)  # fmt: skip
BinaryCrossentropy = _class(
    "BinaryCrossentropy", binary_crossentropy, "Cross-entropy of yes and no, its mean along `axis`."
)
BinaryFocalCrossentropy = _class(
    "BinaryFocalCrossentropy", binary_focal_crossentropy, "BinaryCrossentropy in which easy examples count little."
)
CategoricalFocalCrossentropy = _class(
    "CategoricalFocalCrossentropy", categorical_focal_crossentropy,
    "CategoricalCrossentropy in which easy examples count little.",
)  # fmt: skip

bce = BCE = binary_crossentropy
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
huber_loss = huber

#: {name: function}, the functions' other names among them.
FUNCTIONS: dict[str, Any] = {
    name: value
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == loss_functions.__name__
}
_CLASSES: dict[str, Any] = {
    name: value for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Loss) and name[0] != "_" and value is not Loss
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


def deserialize(
    name: str | Mapping[str, Any], custom_objects: dict[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the loss of a name or config, of either format. Raises ValueError for an unknown one."""
    if isinstance(name, Mapping) and isinstance(name.get("config"), str):  # a function's
        name = name["config"]
    if isinstance(name, str) and name in FUNCTIONS:
        return FUNCTIONS[name]
    return identifiers.find(name, {**_CLASSES, **(custom_objects or {})}, "loss function")


def serialize(loss: Loss | Callable[..., Any], use_legacy_format: bool = False) -> Any:
    """Return the name of a function, or the config of a Loss; in the format of Keras up to 2.12 if that is wanted."""
    if not isinstance(loss, Loss):
        return loss.__name__
    return identifiers.described(loss, "keras.losses", use_legacy_format)


def matched(y_true: TensorLike, y_pred: TensorLike) -> tuple[Any, Any]:
    """Both tensors with the same rank where one has an axis of length 1 more at its end; others as they are."""
    if not (isinstance(y_true, Tensor | RaggedTensor) and isinstance(y_pred, Tensor | RaggedTensor)):
        return y_true, y_pred
    ranks = y_true.shape.rank, y_pred.shape.rank
    if None not in ranks:
        if ranks[1] == ranks[0] + 1 and y_pred.shape[-1] == 1:  # type: ignore[operator]
            y_pred = without_last(y_pred)
        elif ranks[0] == ranks[1] + 1 and y_true.shape[-1] == 1:  # type: ignore[operator]
            y_true = without_last(y_true)
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
