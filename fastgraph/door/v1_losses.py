"""tf.compat.v1.losses: losses of labels and predictions with weights, as one table.

Rule: a loss is returned and kept nowhere: there are no collections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fastgraph as tf
from fastgraph.core.conversion import TensorLike
from fastgraph.door.v1_arguments import taken


class Reduction:
    """Ways in which weighted losses become one. Source: tf.compat.v1.losses.Reduction."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """Check one. Raises ValueError."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def _check_weights(weights: Any, values: Any) -> None:
    """ValueError unless weights are one number, or have the extents of values or 1."""
    prefix, a, b = "weights can not be broadcast to values.", weights.shape, values.shape
    if a.rank in (0, None) or b.rank is None:
        return
    if a.rank != b.rank:
        raise ValueError(f"{prefix} values.rank={b.rank}. weights.rank={a.rank}. values.shape={b}. weights.shape={a}.")
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x not in (1, y):
            raise ValueError(f"{prefix} Mismatch at dim {i}. values.shape={list(b)}, weights.shape={list(a)}.")


def _weighted(losses: Any, weights: TensorLike = 1.0, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Any:
    Reduction.validate(reduction)
    given = tf.convert_to_tensor(losses)
    values, factors = tf.cast(given, tf.float32), tf.cast(weights, tf.float32)
    _check_weights(factors, values)
    loss = values * factors
    if reduction != Reduction.NONE:
        ones = tf.ones_like(values)
        counts: dict[str, Callable[[], Any]] = {
            Reduction.SUM: lambda: 1.0,
            Reduction.MEAN: lambda: tf.reduce_sum(ones * factors),
            Reduction.SUM_OVER_BATCH_SIZE: lambda: tf.reduce_sum(ones),
            Reduction.SUM_BY_NONZERO_WEIGHTS: lambda: tf.reduce_sum(_present(values, factors)),
        }
        loss = tf.math.divide_no_nan(tf.reduce_sum(loss), tf.convert_to_tensor(counts[reduction]()))
    return tf.cast(loss, given.dtype)


def _present(values: Any, factors: Any) -> Any:
    return tf.cast(factors != 0.0, tf.float32) * tf.ones_like(values)


def _cosine(x: TensorLike, y: Any, axis: Any = None, dim: Any = None) -> Any:
    if axis is None and dim is None:
        raise ValueError("You must specify argument `axis`.")
    return 1 - tf.reduce_sum(x * y, dim if axis is None else axis, keepdims=True)


def _huber(x: TensorLike, y: Any, delta: float = 1.0) -> Any:
    error = tf.abs(y - x)
    low = tf.minimum(error, delta)
    return 0.5 * low * low + delta * (error - low)


def _smooth(x: Any, label_smoothing: float, part: float) -> Any:
    return x * (1 - label_smoothing) + part * label_smoothing if label_smoothing > 0 else x


def _sigmoid(x: Any, y: Any, label_smoothing: float = 0) -> Any:
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=_smooth(x, label_smoothing, 0.5), logits=y)


def _softmax(x: Any, y: Any, label_smoothing: float = 0) -> Any:
    labels = tf.stop_gradient(_smooth(x, label_smoothing, 1 / x.shape[-1]))
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=y)


#: name -> (the parameters before scope, loss_collection, reduction; what is done with each pair).
_LOSSES: dict[str, tuple[str, Callable[..., Any]]] = {
    "absolute_difference": ("labels predictions weights", lambda x, y: tf.abs(y - x)),
    "mean_squared_error": ("labels predictions weights", tf.math.squared_difference),
    "cosine_distance": ("labels predictions axis weights", _cosine),
    "hinge_loss": ("labels logits weights", lambda x, y: tf.nn.relu(1 - (2 * x - 1) * y)),
    "huber_loss": ("labels predictions weights delta", _huber),
    "log_loss": (
        "labels predictions weights epsilon",
        lambda x, y, epsilon=1e-7: -x * tf.math.log(y + epsilon) - (1 - x) * tf.math.log(1 - y + epsilon),
    ),
    "sigmoid_cross_entropy": ("multi_class_labels logits weights label_smoothing", _sigmoid),
    "softmax_cross_entropy": ("onehot_labels logits weights label_smoothing", _softmax),
}


def _loss(name: str) -> Callable[..., Any]:
    first, elements = _LOSSES[name]
    order = f"{first} scope loss_collection reduction" + (" dim" if name == "cosine_distance" else "")

    def function(*args: Any, **kwargs: Any) -> Any:
        given = taken(name, order, args, kwargs)
        sides = []
        for which in first.split()[:2]:
            if given.get(which) is None:
                raise ValueError(f"Argument `{which}` must not be None.")
            sides.append(tf.convert_to_tensor(given.pop(which)))
        sides = [tf.cast(side, sides[1].dtype if "entropy" in name else tf.float32) for side in sides]
        sides[1].shape.assert_is_compatible_with(sides[0].shape)
        reduced = {key: given.pop(key) for key in ("weights", "reduction") if key in given}
        scope = given.pop("scope", None)
        given.pop("loss_collection", None)
        with tf.name_scope(scope or name):
            return _weighted(elements(*sides, **given), **reduced)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the weighted loss, with the parameters {order}. Source: tf.compat.v1.losses.{name}."
    return function


def compute_weighted_loss(*args: Any, **kwargs: Any) -> Any:
    """Return losses times weights, reduced. ValueError for weights of other shapes and unknown reductions."""
    given = taken("compute_weighted_loss", "losses weights scope loss_collection reduction", args, kwargs)
    return _weighted(**{key: value for key, value in given.items() if key not in ("scope", "loss_collection")})


def sparse_softmax_cross_entropy(*args: Any, **kwargs: Any) -> Any:
    """Return the cross-entropy of logits, labels given as numbers."""
    order = "labels logits weights scope loss_collection reduction"
    given = taken("sparse_softmax_cross_entropy", order, args, kwargs)
    x, y, w = (tf.convert_to_tensor(given.pop(key, 1.0)) for key in order.split()[:3])
    if x.shape.rank is not None and x.shape.rank == y.shape.rank and x.shape[-1] == 1:
        x = tf.squeeze(x, [-1])
    if w.shape.rank is not None and w.shape.rank == (x.shape.rank or 0) + 1:
        w = tf.squeeze(w, [-1])
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x, logits=y)
    return _weighted(found, w, given.get("reduction", Reduction.SUM_BY_NONZERO_WEIGHTS))


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: Any = None,
) -> Any:
    """Return the mean of squared differences of differences within each element of the batch."""
    x, factors = tf.cast(labels, tf.float32), tf.cast(weights, tf.float32)
    difference = tf.cast(predictions, tf.float32) - x
    _check_weights(factors, x)
    axes = list(range(1, difference.shape.rank or 1))
    n, squares, total = (
        tf.reduce_sum(each, axes, keepdims=True)
        for each in (_present(difference, factors), difference * difference, difference)
    )
    first = 2.0 * tf.math.divide_no_nan(squares, tf.maximum(n - 1, 0.0))
    second = 2.0 * tf.math.divide_no_nan(total * total, tf.maximum(n * (n - 1), 0.0))
    loss = tf.reduce_sum((first - second) * factors)
    return tf.where(tf.reduce_sum(n) > 0, loss, tf.zeros_like(loss))


globals().update({name: _loss(name) for name in _LOSSES})


class GraphKeys:
    """The names of TensorFlow 1's collections: programs name them (`loss_collection=`), though there are none."""

    GLOBAL_VARIABLES = VARIABLES = "variables"
    TABLE_INITIALIZERS = "table_initializer"


_COLLECTIONS = """
LOCAL_VARIABLES METRIC_VARIABLES MODEL_VARIABLES TRAINABLE_VARIABLES SUMMARIES QUEUE_RUNNERS ASSET_FILEPATHS
MOVING_AVERAGE_VARIABLES REGULARIZATION_LOSSES CONCATENATED_VARIABLES SAVERS WEIGHTS BIASES ACTIVATIONS UPDATE_OPS
LOSSES SAVEABLE_OBJECTS RESOURCES LOCAL_RESOURCES TRAINABLE_RESOURCE_VARIABLES INIT_OP LOCAL_INIT_OP READY_OP
READY_FOR_LOCAL_INIT_OP SUMMARY_OP GLOBAL_STEP EVAL_STEP TRAIN_OP COND_CONTEXT WHILE_CONTEXT
"""
for _name in _COLLECTIONS.split():
    setattr(GraphKeys, _name, _name.lower())
