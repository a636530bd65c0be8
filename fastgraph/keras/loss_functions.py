"""The functions of tf.keras.losses: from labels and predictions to one number for each example. Meaning of Keras 2.

Rule: a function casts labels to the dtype of the predictions and reduces the last axis; it weights nothing.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.core.base.dtype import as_dtype, int64
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend
from fastgraph.keras.ragged_rows import of_rows
from fastgraph.ops.activations import softplus
from fastgraph.ops.comparison import equal, logical_or, not_equal
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, square, zeros_like
from fastgraph.ops.exponentials import log, sigmoid
from fastgraph.ops.gathering import where
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.nn_ops import l2_normalize
from fastgraph.ops.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from fastgraph.ops.softmax import (
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)


@of_rows(means=False)
def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, axis: int = -1, ignore_class: int | None = None
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
    scores, targets = convert_to_tensor(y_pred), convert_to_tensor(y_true)
    if scores.shape.rank is None or targets.shape.rank is None:
        again = lambda y, p: sparse_categorical_crossentropy(y, p, from_logits, axis, ignore_class)
        return late(again, [targets, scores], scores.dtype)
    if axis not in (-1, (scores.shape.rank or 0) - 1):
        raise ValueError(f"axis={axis} is not supported: the classes must be along the last axis of y_pred.")
    if not from_logits:
        scores = log(_inside(scores))
    labels = cast(targets, int64)
    n_dims = len(scores.shape)
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


@of_rows(means=True)
def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of (y_pred - y_true)² along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    predicted = convert_to_tensor(y_pred)
    difference = predicted - cast(convert_to_tensor(y_true), predicted.dtype)
    return reduce_mean(difference * difference, axis=-1)


@of_rows(means=True)
def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of |y_pred - y_true| along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    predicted = convert_to_tensor(y_pred)
    return reduce_mean(abs(predicted - cast(convert_to_tensor(y_true), predicted.dtype)), axis=-1)


@of_rows(means=True)
def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """Return the mean of Huber's loss along the last axis. f[*s, n], f[*s, n] -> f32[*s]."""
    dtype = as_dtype(backend.floatx())
    distance = abs(cast(convert_to_tensor(y_pred), dtype) - cast(convert_to_tensor(y_true), dtype))
    line = delta * distance - 0.5 * delta * delta
    return reduce_mean(where(distance <= delta, 0.5 * distance * distance, line), axis=-1)


@of_rows(means=False)
def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
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
        return softmax_cross_entropy_with_logits(labels=wanted, logits=scores, axis=axis)
    shares = _inside(scores / reduce_sum(scores, axis=axis, keepdims=True))
    return -reduce_sum(wanted * log(shares), axis=axis)


@of_rows(means=True)
def binary_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Tensor:
    """Return the mean cross-entropy of yes and no along `axis`. f[*s, n], f[*s, n] -> f[*s]."""
    scores = convert_to_tensor(y_pred)
    wanted = cast(convert_to_tensor(y_true), scores.dtype)
    if label_smoothing:
        wanted = wanted * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduce_mean(_yes_and_no(wanted, scores, from_logits), axis=axis)


def _yes_and_no(wanted: Tensor, scores: Tensor, from_logits: bool) -> Any:
    """The cross-entropy of each element."""
    if from_logits:
        return sigmoid_cross_entropy_with_logits(labels=wanted, logits=scores)
    shares, small = _inside(scores), backend.epsilon()
    return -(wanted * log(shares + small) + (1.0 - wanted) * log(1.0 - shares + small))


@of_rows(means=True)
def binary_focal_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, apply_class_balancing: bool = False, alpha: float = 0.25,
    gamma: float = 2.0, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1,
) -> Tensor:  # fmt: skip
    """Return the mean along `axis` of (1 - share of the right answer)^gamma * its cross-entropy. f[*s, n] -> f[*s].

    apply_class_balancing: ones count `alpha`, zeros 1 - alpha. Source: Lin et al., arXiv:1708.02002.
    """
    wanted, scores = _pair(y_true, y_pred)
    if label_smoothing:
        wanted = wanted * (1.0 - label_smoothing) + 0.5 * label_smoothing
    shares = sigmoid(scores) if from_logits else scores
    right = wanted * shares + (1.0 - wanted) * (1.0 - shares)
    losses = pow(1.0 - right, gamma) * _yes_and_no(wanted, scores, from_logits)
    if apply_class_balancing:
        losses = losses * (wanted * alpha + (1.0 - wanted) * (1.0 - alpha))
    return reduce_mean(losses, axis=axis)


@of_rows(means=False)
def categorical_focal_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, alpha: TensorLike = 0.25, gamma: float = 2.0, from_logits: bool = False,
    label_smoothing: float = 0.0, axis: int = -1,
) -> Tensor:  # fmt: skip
    """Return alpha * sum (1 - p)^gamma * cross-entropy over the classes. f[*s, classes], the same -> f[*s].

    alpha: a number, or one for each class. Raises ValueError for an axis that is a bool.
    """
    if isinstance(axis, bool):
        raise ValueError(f"`axis` must be of type `int`. Received: axis={axis} of type {type(axis)}")
    wanted, scores = _pair(y_true, y_pred)
    if label_smoothing:
        wanted = wanted * (1.0 - label_smoothing) + label_smoothing / cast(shape(wanted)[-1], scores.dtype)
    if not wanted.shape.is_compatible_with(scores.shape):
        raise ValueError(f"Shapes {wanted.shape} and {scores.shape} are incompatible")
    shares = softmax(scores, axis=axis) if from_logits else scores
    shares = _inside(shares / reduce_sum(shares, axis=axis, keepdims=True))
    return reduce_sum(pow(1.0 - shares, gamma) * alpha * (-wanted * log(shares)), axis=axis)


@of_rows(means=True)
def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return 100 times the mean of |y_true - y_pred| / |y_true| along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    wanted, found = _pair(y_true, y_pred)
    whole = maximum(abs(wanted), cast(backend.epsilon(), wanted.dtype))
    return 100.0 * reduce_mean(abs((wanted - found) / whole), axis=-1)


@of_rows(means=True)
def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of the squared differences of log(1 + y) along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    wanted, found = (log(maximum(x, cast(backend.epsilon(), x.dtype)) + 1.0) for x in _pair(y_true, y_pred))
    return reduce_mean(square(found - wanted), axis=-1)


def _margins(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """max(0, 1 - y_true * y_pred), of labels -1 and 1; labels of zeros and ones become such."""
    wanted, found = _pair(y_true, y_pred)
    of_two = reduce_all(logical_or(equal(wanted, 0.0), equal(wanted, 1.0)))
    return maximum(1.0 - where(of_two, 2.0 * wanted - 1.0, wanted) * found, cast(0.0, found.dtype))


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of max(0, 1 - y_true * y_pred) along the last axis, of labels -1 and 1. f[*s, n] -> f[*s]."""
    return reduce_mean(_margins(y_true, y_pred), axis=-1)


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of the squares of `hinge`'s numbers along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    return reduce_mean(square(_margins(y_true, y_pred)), axis=-1)


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return max(0, 1 + the best score of a wrong class - that of the right one). f[*s, classes], the same -> f[*s]."""
    wanted, found = _pair(y_true, y_pred)
    wrong = reduce_max((1.0 - wanted) * found, axis=-1)
    return maximum(wrong - reduce_sum(wanted * found, axis=-1) + 1.0, cast(0.0, found.dtype))


def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of log(cosh(y_pred - y_true)) along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    wanted, found = _pair(y_true, y_pred)
    apart = found - wanted
    return reduce_mean(apart + softplus(-2.0 * apart) - math.log(2.0), axis=-1)


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the sum of y_true * log(y_true / y_pred) along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    wanted, found = (clip_by_value(x, backend.epsilon(), 1.0) for x in _pair(y_true, y_pred))
    return reduce_sum(wanted * log(wanted / found), axis=-1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Return the mean of y_pred - y_true * log(y_pred) along the last axis. f[*s, n], f[*s, n] -> f[*s]."""
    wanted, found = _pair(y_true, y_pred)
    return reduce_mean(found - wanted * log(found + backend.epsilon()), axis=-1)


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Return less the cosine of the angle between vectors along `axis`: -1 for one direction. f[*s, n] -> f[*s]."""
    wanted, found = (l2_normalize(x, axis=axis) for x in _pair(y_true, y_pred))
    return -reduce_sum(wanted * found, axis=axis)


def _pair(y_true: TensorLike, y_pred: TensorLike) -> tuple[Any, Any]:
    """Both as tensors of the scores' dtype."""
    found = convert_to_tensor(y_pred)
    return cast(convert_to_tensor(y_true), found.dtype), found


def _inside(shares: Tensor) -> Any:
    """Probabilities, kept so far from 0 and 1 that their logarithms are finite."""
    small = backend.epsilon()
    return clip_by_value(shares, small, 1.0 - small)
