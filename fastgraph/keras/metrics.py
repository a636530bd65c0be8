"""tf.keras.metrics: running values over the batches of an epoch. Meaning and names of Keras 2.

Rule: a metric is a layer whose weights are sums; `update_state` adds to them, `result` reads them, both in ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend, identifiers, losses
from fastgraph.keras.arguments import after, variant
from fastgraph.keras.confusion_metrics import (
    AUC,
    FalseNegatives,
    FalsePositives,
    Precision,
    PrecisionAtRecall,
    Recall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    TrueNegatives,
    TruePositives,
)
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.loss_functions import (
    binary_crossentropy,
    binary_focal_crossentropy,
    categorical_crossentropy,
    categorical_focal_crossentropy,
    categorical_hinge,
    hinge,
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
from fastgraph.keras.metric_base import Mean, MeanMetricWrapper, MeanTensor, Metric, Sum, same_rank
from fastgraph.keras.score_metrics import (
    BinaryIoU,
    F1Score,
    FBetaScore,
    IoU,
    MeanIoU,
    OneHotIoU,
    OneHotMeanIoU,
    R2Score,
)
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arg_reduction import argmax
from fastgraph.ops.comparison import equal, greater
from fastgraph.ops.elementwise import cast, square
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.movement import reshape, shape, squeeze
from fastgraph.ops.reduction import reduce_mean
from fastgraph.ops.top_k import in_top_k

__all__ = [
    "AUC", "KLD", "MAE", "MAPE", "MSE", "MSLE", "Accuracy", "BinaryAccuracy", "BinaryCrossentropy", "BinaryIoU",
    "CategoricalAccuracy", "CategoricalCrossentropy", "CategoricalHinge", "CosineSimilarity", "F1Score",
    "FBetaScore", "FalseNegatives", "FalsePositives", "Hinge", "IoU", "KLDivergence", "LogCoshError", "Mean",
    "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanIoU", "MeanMetricWrapper", "MeanRelativeError",
    "MeanSquaredError", "MeanSquaredLogarithmicError", "MeanTensor", "Metric", "OneHotIoU", "OneHotMeanIoU",
    "Poisson", "Precision", "PrecisionAtRecall", "R2Score", "Recall", "RecallAtPrecision", "RootMeanSquaredError",
    "SensitivityAtSpecificity", "SparseCategoricalAccuracy", "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy", "SpecificityAtSensitivity", "SquaredHinge", "Sum", "TopKCategoricalAccuracy",
    "TrueNegatives", "TruePositives", "binary_accuracy", "binary_crossentropy", "binary_focal_crossentropy",
    "categorical_accuracy", "categorical_crossentropy", "categorical_focal_crossentropy", "deserialize", "get",
    "hinge", "kl_divergence", "kld", "kullback_leibler_divergence", "log_cosh", "logcosh", "mae", "mape",
    "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_error", "mean_squared_logarithmic_error",
    "mse", "msle", "poisson", "serialize", "sparse_categorical_accuracy", "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy", "squared_hinge", "top_k_categorical_accuracy",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.metrics")

# Means of losses go by the losses' names.
MAE = mae = mean_absolute_error
MSE = mse = mean_squared_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence = kl_divergence
logcosh = log_cosh


class RootMeanSquaredError(MeanMetricWrapper):
    """Root of the mean of the squared differences. Source: tf.keras.metrics.RootMeanSquaredError."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(lambda y_true, y_pred: square(y_pred - y_true), name, dtype)

    def result(self) -> Tensor:
        """Return the root of the mean. f[]."""
        return sqrt(super().result())


class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| / normalizer, which has their shape. Source: tf.keras.metrics.MeanRelativeError."""

    def __init__(self, normalizer: TensorLike, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.normalizer = cast(convert_to_tensor(normalizer), self._dtype)

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:  # type: ignore[override]
        """Add a batch of predictions to the mean."""
        wanted, found = same_rank(*(cast(convert_to_tensor(y), self._dtype) for y in (y_true, y_pred)))
        scale, found = same_rank(self.normalizer, found)
        return super().update_state(divide_no_nan(abs(wanted - found), scale), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a metric."""
        return {**super().get_config(), "normalizer": self.normalizer.numpy()}


class _OfFunction(MeanMetricWrapper):
    """The base of means of a function's values: FUNCTION(y_true, y_pred, **arguments)."""

    FUNCTION: ClassVar[Callable[..., Any]]

    def __init__(self, name: Any = None, dtype: DTypeLike | None = None, **arguments: Any) -> None:
        super().__init__(self.FUNCTION, name, dtype, **arguments)


class _Sparse(_OfFunction):
    """The base of those whose labels are integers: they stay such."""

    def _values(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        return self._fn(*same_rank(convert_to_tensor(y_true), convert_to_tensor(y_pred)), **self._fn_kwargs)


def _class(
    name: str, function: Callable[..., Any], text: str, *arguments: str, base: Any = _OfFunction
) -> type[_OfFunction]:
    """The mean of a function, which takes name, dtype and some of its arguments."""
    own = {key: value for key, value in after(function, 2).items() if key in arguments}
    called = {"name": backend.snake_case(name), "dtype": None}
    if function in (logcosh, kl_divergence):
        called["name"] = "logcosh" if function is logcosh else "kullback_leibler_divergence"
    parameters = {**own, **called} if arguments == ("k",) else {**called, **own}
    return variant(base, "metrics", name, text, parameters, FUNCTION=staticmethod(function))


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """Return the share of scores on their label's side of `threshold`, along the last axis. f[*s, n] -> f[*s]."""
    return reduce_mean(_on_the_side(y_true, y_pred, threshold), axis=-1)


def _on_the_side(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Any:
    """1 where a score is on its label's side of `threshold`, else 0: the class counts each of them. f[*s] -> f[*s]."""
    y_pred = convert_to_tensor(y_pred)
    return _equal(y_true, cast(greater(y_pred, cast(threshold, y_pred.dtype)), y_pred.dtype))


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 1 where the greatest score is the one-hot label's, else 0. f[*s, classes] -> f32[*s]."""
    return _equal(argmax(convert_to_tensor(y_true), axis=-1), argmax(convert_to_tensor(y_pred), axis=-1))


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 1 where the greatest score is the label's, else 0. i[*s] or [*s, 1], f[*s, classes] -> f32[*s]."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = squeeze(y_true, axis=[-1])
    return _equal(y_true, argmax(y_pred, axis=-1))


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Return 1 where the one-hot label's score is among the k greatest, else 0. f[*s, classes] -> f32[*s]."""
    return sparse_top_k_categorical_accuracy(argmax(convert_to_tensor(y_true), axis=-1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Return 1 where the label's score is among the k greatest, else 0. i[*s], f[*s, classes] -> f32[*s]."""
    labels, scores = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if (scores.shape.rank or 0) > 2:
        scores = reshape(scores, [-1, scores.shape[-1]])
    flat = labels if labels.shape.rank == 1 else reshape(labels, [-1])
    found = cast(in_top_k(cast(flat, "int32"), scores, k), backend.floatx())
    return found if flat is labels else reshape(found, shape(labels))


def _cosine(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Any:
    return -losses.cosine_similarity(y_true, y_pred, axis)


_cosine.__name__ = "cosine_similarity"


def _equal(a: TensorLike, b: TensorLike) -> Any:
    """1 where both are equal, else 0, in the default dtype."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    return cast(equal(a if a.dtype is b.dtype else cast(a, b.dtype), b), backend.floatx())


Accuracy = _class("Accuracy", _equal, "Share of predictions that equal labels.")
BinaryAccuracy = _class(
    "BinaryAccuracy", _on_the_side, "Share of scores on their labels' side of `threshold`.", "threshold"
)
CategoricalAccuracy = _class(
    "CategoricalAccuracy", categorical_accuracy, "Share of greatest scores that are the one-hot label's."
)
SparseCategoricalAccuracy = _class(
    "SparseCategoricalAccuracy", sparse_categorical_accuracy, "Share of greatest scores that are the integer label's.",
    base=_Sparse,
)  # fmt: skip
TopKCategoricalAccuracy = _class(
    "TopKCategoricalAccuracy", top_k_categorical_accuracy,
    "Share of one-hot labels' scores among the `k` greatest.", "k",
)  # fmt: skip
SparseTopKCategoricalAccuracy = _class(
    "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy,
    "Share of integer labels' scores among the `k` greatest.", "k", base=_Sparse,
)  # fmt: skip
BinaryCrossentropy = _class(
    "BinaryCrossentropy", binary_crossentropy, "Mean cross-entropy of yes and no.", "from_logits", "label_smoothing"
)
CategoricalCrossentropy = _class(
    "CategoricalCrossentropy", categorical_crossentropy, "Mean cross-entropy of one-hot labels and scores.",
    "from_logits", "label_smoothing", "axis",
)  # fmt: skip
SparseCategoricalCrossentropy = _class(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy,
    "Mean cross-entropy of integer labels and scores.", "from_logits", "ignore_class", "axis",
)  # fmt: skip
MeanSquaredError = _class("MeanSquaredError", mean_squared_error, "Mean of the squared differences.")
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error, "Mean of the absolute differences.")
MeanAbsolutePercentageError = _class(
    "MeanAbsolutePercentageError", mean_absolute_percentage_error, "100 times the mean of |y - p| / |y|."
)
MeanSquaredLogarithmicError = _class(
    "MeanSquaredLogarithmicError", mean_squared_logarithmic_error, "Mean of the squared differences of log(1 + y)."
)
LogCoshError = _class("LogCoshError", logcosh, "Mean of log(cosh(p - y)).")
Hinge = _class("Hinge", hinge, "Mean of max(0, 1 - y * p).")
SquaredHinge = _class("SquaredHinge", squared_hinge, "Mean of the squares of max(0, 1 - y * p).")
CategoricalHinge = _class("CategoricalHinge", categorical_hinge, "Mean of max(0, 1 + best wrong score - right one).")
Poisson = _class("Poisson", poisson, "Mean of p - y * log(p).")
KLDivergence = _class("KLDivergence", kl_divergence, "Divergence of wanted and found probabilities.")
CosineSimilarity = _class("CosineSimilarity", _cosine, "Mean of the cosine of the angle along `axis`.", "axis")

FUNCTIONS: dict[str, Any] = {
    **losses.FUNCTIONS,
    **{f.__name__: f for f in (binary_accuracy, categorical_accuracy, sparse_categorical_accuracy)},
    **{f.__name__: f for f in (top_k_categorical_accuracy, sparse_top_k_categorical_accuracy)},
    "cosine_similarity": _cosine, "cosine_proximity": _cosine,
}  # fmt: skip
_CLASSES: dict[str, Any] = {
    name: value for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Metric) and name in __all__
}  # fmt: skip


def get(identifier: Identifier) -> Any:
    """Return a metric: a callable itself, a function by its name, a Metric by its class's name or config.

    Raises ValueError for an unknown one. Source: tf.keras.metrics.get.
    """
    if callable(identifier):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret metric identifier: {identifier}")


def known(name: str) -> bool:
    """Return whether there is a metric of this name. Raises ValueError if there is none."""
    return name in FUNCTIONS or identifiers.made(name, _CLASSES, "metric function") is not None


def deserialize(
    config: str | Mapping[str, Any], custom_objects: dict[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the metric of a name or config, of either format. Raises ValueError for an unknown one."""
    if isinstance(config, Mapping) and isinstance(config.get("config"), str):  # a function's
        config = config["config"]
    if isinstance(config, str) and config in FUNCTIONS:
        return FUNCTIONS[config]
    return identifiers.find(config, {**_CLASSES, **(custom_objects or {})}, "metric function")


def serialize(metric: Metric | Callable[..., Any], use_legacy_format: bool = False) -> Any:
    """Return the name of a function, or the config of a Metric; in the format of Keras up to 2.12 if that is wanted."""
    if not isinstance(metric, Metric):
        return metric.__name__
    return identifiers.described(metric, "keras.metrics", use_legacy_format)
