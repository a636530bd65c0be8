"""Metrics of right and wrong positives and negatives over thresholds: Precision, Recall, AUC and kin, as in Keras 2.

Rule: one function counts; the metrics say which of the four counts they keep and what they make of them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.keras import backend
from fastgraph.keras.arguments import variant
from fastgraph.keras.metric_base import Metric, same_rank, weighted
from fastgraph.keras.ragged_rows import elements
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, minimum, ones_like, zeros_like
from fastgraph.ops.exponentials import log, sigmoid
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import expand_dims, reshape, shape, transpose
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.reduction import reduce_max, reduce_mean, reduce_sum
from fastgraph.ops.rounding import ceil
from fastgraph.ops.scans import cumsum
from fastgraph.ops.segments import unsorted_segment_sum
from fastgraph.ops.top_k import top_k

_COUNTS = ("true_positives", "true_negatives", "false_positives", "false_negatives")
_LOWEST = -1e10  # the threshold that scores are above which are among the greatest
_RATES = {
    "precision": ("true_positives", "false_positives"),
    "recall": ("true_positives", "false_negatives"),
    "specificity": ("true_negatives", "false_positives"),
}


class _Counting(Metric):
    """The base: keeps some of the four counts, each f[thresholds] or f[thresholds, labels]."""

    KEPT: ClassVar[tuple[str, ...]] = _COUNTS

    def __init__(
        self, thresholds: Any, name: str | None, dtype: DTypeLike | None, top_k: int | None = None,
        class_id: int | None = None, labels: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, dtype)
        self.limits = list(thresholds)
        self.top_k, self.class_id = top_k, class_id
        n = len(self.limits)
        even = np.arange(n, dtype="float32") / max(n - 1, 1)
        self._even = n > 2 and bool(np.allclose(self.limits, even, atol=backend.epsilon()))
        self._kept: dict[str, str] = {}  # the counts that are there -> the attributes with their weights
        if labels is None or labels:
            self._make(labels)

    def _make(self, labels: int | None) -> None:
        dims = (len(self.limits),) if labels is None else (len(self.limits), labels)
        for name in self.KEPT:
            self._kept[name] = own = name if len(self.KEPT) > 1 else "accumulator"
            setattr(self, own, self.add_weight(own, dims))

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add the counts of a batch: y_true, y_pred f[*s], true above 0; sample_weight broadcasts to them."""
        wanted, found, weights = elements(y_true, y_pred, sample_weight)
        self._count(wanted, cast(convert_to_tensor(found), self._dtype), weights)

    def _count(
        self, y_true: TensorLike, y_pred: Any, sample_weight: Any, each: bool = False, of_labels: Any = None
    ) -> None:
        wanted, scores = same_rank(cast(convert_to_tensor(y_true), self._dtype), y_pred)
        if not wanted.shape.is_compatible_with(scores.shape):
            raise ValueError(f"Shapes {scores.shape} and {wanted.shape} are incompatible")
        if self.top_k is not None:
            best = top_k(scores, self.top_k, sorted=False)[1]
            among = reduce_sum(one_hot(best, shape(scores)[-1], axis=-1, dtype=self._dtype), axis=-2)
            scores = scores * among + _LOWEST * (1.0 - among)
        if self.class_id is not None:
            wanted, scores = (x[..., self.class_id, None] for x in (wanted, scores))
        _, weights = weighted(scores, sample_weight, self._dtype, reduce_sum)
        if of_labels is not None:
            weights = ones_like(scores) * of_labels * (1.0 if weights is None else weights)
        found = counts(wanted, scores, self.limits, weights, self._even, each)
        for name, own in self._kept.items():
            getattr(self, own).assign_add(found[name])

    def _value(self, name: str) -> Any:
        return getattr(self, self._kept[name]).read_value()

    def _rate(self, name: str) -> Any:
        part, other = (self._value(one) for one in _RATES[name])
        return divide_no_nan(part, part + other)


def counts(wanted: Any, scores: Any, limits: list[float], weights: Any, even: bool, each: bool) -> dict[str, Any]:
    """Return the four counts by name: f[thresholds], or for `each` label f[thresholds, labels] of scores f[b, labels].

    even: the thresholds are 0, 1/n, ... 1 (its ends may be a little farther out): each score is put into its place
    among them once, instead of being compared with all.
    """
    dtype, n, n_labels = scores.dtype, len(limits), scores.shape[-1] if each else 1
    right = cast(cast(wanted, "bool"), dtype)
    wrong = 1.0 - right
    if weights is not None:
        right, wrong = right * weights, wrong * weights
    right, wrong, scores = (reshape(x, [-1, n_labels]) for x in (right, wrong, scores))
    if even:
        place = ceil(clip_by_value(scores, 0.0, 1.0) * (n - 1))
        if limits[0] < 0 or limits[-1] > 1:
            place = maximum(place, cast(1, dtype))
        slots = reshape(cast(place, "int32") + np.arange(n_labels, dtype="int32") * n, [-1])
        sums = (unsorted_segment_sum(reshape(part, [-1]), slots, n * n_labels) for part in (right, wrong))
        above = [cumsum(transpose(reshape(x, [n_labels, n])), exclusive=True, reverse=True) for x in sums]
    else:
        over = cast(expand_dims(scores, 0) > np.asarray(limits, dtype.as_numpy_dtype).reshape(-1, 1, 1), dtype)
        above = [reduce_sum(over * part, axis=1) for part in (right, wrong)]
    if not each:
        above = [reshape(part, [n]) for part in above]
    axis = 0 if each else None
    return {
        "true_positives": above[0], "false_negatives": reduce_sum(right, axis=axis) - above[0],
        "false_positives": above[1], "true_negatives": reduce_sum(wrong, axis=axis) - above[1],
    }  # fmt: skip


def _given(thresholds: Any, default: float) -> list[float]:
    """Thresholds as a list. Raises ValueError for one outside [0, 1]."""
    if thresholds is None:
        return [default]
    found = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    invalid = [t for t in found if t is None or t < 0 or t > 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {invalid}")
    return found


class _Count(_Counting):
    """The base of single counts. f[], of several thresholds f[thresholds]."""

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(_given(thresholds, 0.5), name, dtype)
        self._take({"thresholds": thresholds})

    def result(self) -> Any:
        """Return the count."""
        found = self._value(self.KEPT[0])
        return found[0] if len(self.limits) == 1 else found


def _count(name: str, text: str) -> type[_Count]:
    parameters = {"thresholds": None, "name": None, "dtype": None}
    return variant(_Count, "metrics", name, text, parameters, KEPT=(backend.snake_case(name),))


TruePositives = _count("TruePositives", "Number of true ones that have a score above the threshold (0.5).")
TrueNegatives = _count("TrueNegatives", "Number of false ones that have no score above the threshold (0.5).")
FalsePositives = _count("FalsePositives", "Number of false ones that have a score above the threshold (0.5).")
FalseNegatives = _count("FalseNegatives", "Number of true ones that have no score above the threshold (0.5).")


class Precision(_Counting):
    """Share of true ones among those that score above a threshold (0.5). Source: tf.keras.metrics.Precision.

    thresholds: a number or several in [0, 1]. top_k: instead, an example's greatest count as positive. class_id: the
    only class that counts.
    """

    KEPT = ("true_positives", "false_positives")

    def __init__(
        self, thresholds: Any = None, top_k: int | None = None, class_id: int | None = None, name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(_given(thresholds, 0.5 if top_k is None else _LOWEST), name, dtype, top_k, class_id)
        self._take(locals())

    def result(self) -> Tensor:
        """Return the share. f[], of several thresholds f[thresholds]."""
        share = self._rate("precision" if "false_positives" in self.KEPT else "recall")
        return share[0] if len(self.limits) == 1 else share


class Recall(Precision):
    """Share of the true ones that score above a threshold (0.5). Arguments of Precision. Source: tf.keras.metrics."""

    KEPT = ("true_positives", "false_negatives")


def _spread(n: int) -> list[float]:
    """n thresholds from 0 to 1."""
    return [0.5] if n == 1 else [0.0, *((i + 1) * 1.0 / (n - 1) for i in range(n - 2)), 1.0]


class _Best(_Counting):
    """The base of metrics that are the greatest of one rate at thresholds where another is at least a value."""

    RATES: ClassVar[tuple[str, str, str]]  # the value's name; the rate that has to be so great; the result

    def __init__(
        self, num_thresholds: int, class_id: int | None, name: str | None, dtype: DTypeLike | None, **value: float
    ) -> None:
        own = self.RATES[0]
        if not 0 <= value[own] <= 1:
            raise ValueError(f"Argument `{own}` must be in the range [0, 1]. Received: {own}={value[own]}")
        if num_thresholds <= 0:
            raise ValueError(
                f"Argument `num_thresholds` must be an integer > 0. Received: num_thresholds={num_thresholds}"
            )
        super().__init__(_spread(num_thresholds), name, dtype, class_id=class_id)
        self._take({"num_thresholds": num_thresholds, "class_id": class_id, **value})

    def result(self) -> Any:
        """Return the greatest rate, 0 where no threshold will do. f[]."""
        enough, rate = (self._rate(name) for name in self.RATES[1:])
        return reduce_max(where(enough >= getattr(self, self.RATES[0]), rate, zeros_like(rate)))


def _best(name: str, *rates: str) -> Any:
    text = f"The greatest {rates[2]} at thresholds where the {rates[1]} is at least a value."
    parameters = {rates[0]: ..., "num_thresholds": 200, "class_id": None, "name": None, "dtype": None}
    return variant(_Best, "metrics", name, text, parameters, RATES=rates)


SensitivityAtSpecificity = _best("SensitivityAtSpecificity", "specificity", "specificity", "recall")
SpecificityAtSensitivity = _best("SpecificityAtSensitivity", "sensitivity", "recall", "specificity")
PrecisionAtRecall = _best("PrecisionAtRecall", "recall", "recall", "precision")
RecallAtPrecision = _best("RecallAtPrecision", "precision", "precision", "recall")


@without({"result()": "interpolate_pr_auc", "`num_thresholds`": "thresholds"})
class AUC(_Counting):
    """The area under the curve of true over false positives, or of precision over recall. Source: tf.keras.metrics.AUC.

    curve: "ROC" or "PR". summation_method: "interpolation", "minoring" or "majoring". multi_label: scores f[b, labels],
    each label with a curve of its own; the result is their mean, weighted by `label_weights`.
    """

    def __init__(
        self, num_thresholds: int = 200, curve: str = "ROC", summation_method: str = "interpolation",
        name: str | None = None, dtype: DTypeLike | None = None, thresholds: Any = None, multi_label: bool = False,
        num_labels: int | None = None, label_weights: Any = None, from_logits: bool = False,
    ) -> None:  # fmt: skip
        given = locals()
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(
                f"Argument `num_thresholds` must be an integer > 1. Received: num_thresholds={num_thresholds}"
            )
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        curve = str(getattr(curve, "value", curve)).upper()
        if curve not in ("PR", "ROC"):
            raise ValueError(f'Invalid AUC curve value: "{curve}". Expected values are ["PR", "ROC"]')
        method = str(getattr(summation_method, "value", summation_method)).lower()
        if method not in ("interpolation", "majoring", "minoring"):
            raise ValueError(
                f'Invalid AUC summation method value: "{summation_method}". Expected values are ["interpolation", '
                '"majoring", "minoring"]'
            )
        inner = _spread(num_thresholds)[1:-1] if thresholds is None else sorted(thresholds)
        ends, labels = backend.epsilon(), (num_labels or 0) if multi_label else None
        super().__init__([0.0 - ends, *inner, 1.0 + ends], name, dtype, labels=labels)
        own = {"num_thresholds": len(inner) + 2, "curve": curve, "summation_method": method}
        given.update(own, thresholds=inner)
        self._take({name: value for name, value in given.items() if thresholds is not None or name != "thresholds"})
        self._weights = None if label_weights is None else convert_to_tensor(label_weights, self._dtype)
        if label_weights is not None and np.any(np.asarray(label_weights) < 0):
            raise InvalidArgumentError(None, None, "All values of `label_weights` must be non-negative.")

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add the counts of a batch: y_true, y_pred f[*s], true above 0; sample_weight broadcasts to them."""
        y_true, y_pred, sample_weight = elements(y_true, y_pred, sample_weight)
        scores = cast(convert_to_tensor(y_pred), self._dtype)
        if not self._kept:
            if scores.shape.rank != 2:
                raise ValueError(
                    f"`y_pred` must have rank 2 when `multi_label=True`. Found rank {scores.shape.rank}. Full shape "
                    f"received for `y_pred`: {scores.shape}"
                )
            self._make(scores.shape[1])
        scores = sigmoid(scores) if self.from_logits else scores
        self._count(y_true, scores, sample_weight, self.multi_label, None if self.multi_label else self._weights)

    def result(self) -> Tensor:
        """Return the area. f[]."""
        positives, negatives, mistaken, missed = (self._value(name) for name in _COUNTS)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._mean(_under_precision(positives, mistaken, missed))
        recall = divide_no_nan(positives, positives + missed)
        if self.curve == "ROC":
            x, y = divide_no_nan(mistaken, mistaken + negatives), recall
        else:
            x, y = recall, divide_no_nan(positives, positives + mistaken)
        before, after = y[:-1], y[1:]
        if self.summation_method == "interpolation":
            heights = (before + after) / 2.0
        else:
            heights = (minimum if self.summation_method == "minoring" else maximum)(before, after)
        return self._mean((x[:-1] - x[1:]) * heights)

    def _mean(self, parts: Any) -> Any:
        if not self.multi_label:
            return reduce_sum(parts)
        areas = reduce_sum(parts, axis=0)
        if self._weights is None:
            return reduce_mean(areas)
        return divide_no_nan(reduce_sum(areas * self._weights), reduce_sum(self._weights))


def _under_precision(positives: Any, mistaken: Any, missed: Any) -> Any:
    """The parts of the area under precision over recall. Source: Davis and Goadrich 2006."""
    found = positives + mistaken
    more, less, gained = found[:-1], found[1:], positives[:-1] - positives[1:]
    slope = divide_no_nan(gained, maximum(more - less, 0.0))
    ratio = where(logical_and(more > 0, less > 0), divide_no_nan(more, maximum(less, 0.0)), ones_like(less))
    grown = slope * (gained + (positives[1:] - slope * less) * log(ratio))
    return divide_no_nan(grown, maximum(positives[1:] + missed[1:], 0.0))
