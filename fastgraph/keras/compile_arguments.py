"""The arguments of `compile`, matched with the outputs of a model: one loss, its weight and metrics for each output.

Rule: which output something is for is decided at the first batch, when the structure of targets and outputs is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend, losses, metrics
from fastgraph.keras.identifiers import Identifier
from fastgraph.ops.elementwise import cast, multiply
from fastgraph.ops.movement import expand_dims, shape
from fastgraph.ops.nn_ops import add_n

#: Metrics whose kind the shapes of targets and outputs decide: {name: (of one score, of one-hot labels, of numbers)}.
_BY_SHAPE = {
    **dict.fromkeys(
        ("accuracy", "acc"),
        (metrics.binary_accuracy, metrics.categorical_accuracy, metrics.sparse_categorical_accuracy),
    ),
    **dict.fromkeys(
        ("crossentropy", "ce"),
        (metrics.binary_crossentropy, metrics.categorical_crossentropy, metrics.sparse_categorical_crossentropy),
    ),
}


class FunctionLoss(losses.Loss):
    """The mean, weighted, of what a function of (y_true, y_pred) gives for each example."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(name=getattr(function, "__name__", type(function).__name__))
        self.function = function

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
        """Return the losses of the examples."""
        if self.function in (losses.sparse_categorical_crossentropy, losses.categorical_crossentropy):
            return convert_to_tensor(self.function(y_true, y_pred))
        return convert_to_tensor(self.function(*losses.matched(y_true, y_pred)))


class Outputs:
    """The outputs of a model by name and in order: what turns a structure of things into one thing for each output."""

    def __init__(self, y_pred: Any, names: Sequence[str] | None) -> None:
        if isinstance(y_pred, Mapping):
            self.names = sorted(y_pred)
        elif isinstance(y_pred, (list, tuple)):
            self.names = list(names or (f"output_{i + 1}" for i in range(len(y_pred))))
        else:
            self.names = list(names or ["output_1"])

    def tensors(self, y_pred: Any) -> list[Any]:
        """Return the outputs in order."""
        if isinstance(y_pred, Mapping):
            return [y_pred[name] for name in self.names]
        return list(y_pred) if isinstance(y_pred, (list, tuple)) else [y_pred]

    def each(self, given: Any, what: str, everywhere: bool = False) -> list[Any]:
        """Return one of `given` for each output: by name from a dict, in order from a list, None where it has none.

        What is neither is for the first output, or with `everywhere` for all. Raises ValueError for a name or a number
        that the model does not have.
        """
        if isinstance(given, Mapping):
            unknown = sorted(set(map(str, given)) - set(self.names))
            if unknown:
                raise ValueError(
                    f"Found unexpected {what} that do not correspond to any Model output: {unknown}. Valid output "
                    f"names: {self.names}. Received: {given}."
                )
            return [given.get(name) for name in self.names]
        if isinstance(given, (list, tuple)) and (len(self.names) > 1 or len(given) == 1):
            if len(given) != len(self.names):
                raise ValueError(
                    f"The model has {len(self.names)} outputs ({', '.join(self.names)}), but received {len(given)} "
                    f"{what}: {given}"
                )
            return list(given)
        if everywhere or len(self.names) == 1 or given is None:
            return [given] * len(self.names)
        raise ValueError(f"The model has {len(self.names)} outputs ({', '.join(self.names)}), but one of {what}.")


class CompiledLoss:
    """The loss of a model: called on a batch it returns their weighted sum, and notes the means for the logs."""

    def __init__(self, loss: Any, weights: Any = None, names: Sequence[str] | None = None) -> None:
        for one in nesting.flatten(loss):
            _loss(one)  # unknown names are told by compile already
        self._given, self._given_weights, self._names = loss, weights, names
        self._outputs: Outputs | None = None
        self._total = metrics.Mean(name="loss")
        self._losses: list[Any] = []
        self._weights: list[Any] = []
        self._means: list[Any] = []

    @property
    def metrics(self) -> list[Any]:
        """The mean of the loss, then those of the outputs' losses if there are several."""
        if self._outputs is None:
            return []
        return [self._total, *(mean for mean in self._means if mean is not None)]

    def _build(self, y_pred: Any) -> Outputs:
        outputs = Outputs(y_pred, self._names)
        self._losses = [_loss(one) for one in outputs.each(self._given, "losses", everywhere=True)]
        for one in self._losses:
            if one is not None:
                one._in_compile = True
        self._weights = outputs.each(self._given_weights, "loss weights", everywhere=self._given_weights is None)
        if len(outputs.names) > 1:
            pairs = zip(outputs.names, self._losses, strict=True)
            self._means = [None if loss is None else metrics.Mean(name=f"{name}_loss") for name, loss in pairs]
        else:
            self._means = [None]
        self._outputs = outputs
        return outputs

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Sequence[Any] = ()
    ) -> Tensor | None:
        """Return the loss of a batch: f[], or None without a loss or targets."""
        outputs = self._outputs or self._build(y_pred)
        predictions = outputs.tensors(y_pred)
        total, of_all, batch = [], [], None
        if y_true is not None:
            targets = outputs.each(y_true, "targets")
            weights = outputs.each(sample_weight, "sample weights", everywhere=True)
            rows = zip(targets, predictions, weights, self._losses, self._weights, self._means, strict=True)
            for target, prediction, weight, loss, factor, mean in rows:
                if target is None or loss is None:
                    continue
                target = _labels(target, prediction)
                value = loss(target, prediction, sample_weight=weight)
                whole = loss.reduction != losses.Reduction.SUM
                batch = shape(target)[0]
                if mean is not None:
                    mean.update_state(value, sample_weight=batch)
                total.append(value if factor is None else value * cast(factor, value.dtype))
                of_all.append(whole)
        total += [convert_to_tensor(loss) for loss in regularization_losses]
        if not total:
            return None
        total = [value if value.dtype is total[0].dtype else cast(value, total[0].dtype) for value in total]
        found: Tensor = total[0] if len(total) == 1 else add_n(total)
        if batch is None:
            batch = shape(predictions[0])[0]
        self._total.update_state(found, sample_weight=batch)
        if (n := replicas.count()) == 1:
            return found
        of_all += [True] * (len(total) - len(of_all))
        own = [value / cast(n, value.dtype) if whole else value for value, whole in zip(total, of_all, strict=True)]
        share: Tensor = add_n(own)  # the replicas' gradients are added up
        return share


class CompiledMetrics:
    """The metrics of a model: `update_state` gives each the targets and outputs that it is for."""

    def __init__(self, metrics: Any, weighted: Any = None, names: Sequence[str] | None = None) -> None:
        for one in nesting.flatten([metrics, weighted]):
            _metric(one, None, None, "")
        self._given, self._given_weighted, self._names = metrics, weighted, names
        self._outputs: Outputs | None = None
        self._plain: list[list[Any]] = []
        self._weighted: list[list[Any]] = []

    @property
    def metrics(self) -> list[Any]:
        """The metrics, output by output."""
        return [m for rows in zip(self._plain, self._weighted, strict=True) for row in rows for m in row]

    def _build(self, targets: list[Any], y_pred: Any, outputs: Outputs) -> Outputs:
        predictions = outputs.tensors(y_pred)
        with backend.counting_anew():  # "AUC" is `auc` in each model, as programs read it from their history
            self._plain = self._of_outputs(self._given, targets, predictions, outputs)
            self._weighted = self._of_outputs(self._given_weighted, targets, predictions, outputs)
        taken = {metric._name for row in self._plain for metric in row}
        for metric in (metric for row in self._weighted for metric in row if metric._name in taken):
            metric._name = f"weighted_{metric._name}"
        self._outputs = outputs
        return outputs

    def _of_outputs(self, given: Any, targets: list[Any], predictions: list[Any], outputs: Outputs) -> list[list[Any]]:
        if not isinstance(given, (list, tuple, Mapping)):
            given = [] if given is None else [given]
        if len(outputs.names) == 1 and not isinstance(given, Mapping):
            rows = [list(nesting.flatten(given))]
        elif not isinstance(given, Mapping) and not any(isinstance(one, (list, tuple)) for one in given):
            # Each metric for each output, with a state of its own.
            rows = [given, *([_another(one) for one in given] for _ in outputs.names[1:])]
        else:
            rows = outputs.each(given, "metrics", everywhere=True)
        prefixes = [f"{name}_" if len(outputs.names) > 1 else "" for name in outputs.names]
        found: list[list[Any]] = []
        for row, target, prediction, prefix in zip(rows, targets, predictions, prefixes, strict=True):
            row = [] if row is None else row if isinstance(row, (list, tuple)) else [row]
            if target is None:
                found.append([])
                continue
            found.append([_metric(m, target, prediction, prefix) for m in row])
        return found

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> None:
        """Add a batch to the metrics; sample weights count for the weighted ones only, masks for all."""
        if self._given is None and self._given_weighted is None:
            return
        outputs = self._outputs or Outputs(y_pred, self._names)
        targets = outputs.each(y_true, "targets")
        if self._outputs is None:
            self._build(targets, y_pred, outputs)
        weights = outputs.each(sample_weight, "sample weights", everywhere=True)
        rows = zip(targets, outputs.tensors(y_pred), weights, self._plain, self._weighted, strict=True)
        for target, prediction, weight, plain, weighted in rows:
            if target is None or not (plain or weighted):
                continue
            mask = mask_of(prediction)
            target = _labels(target, prediction)
            for metric in plain:
                if mask is None:
                    metric.update_state(target, prediction)
                else:
                    metric.update_state(target, prediction, sample_weight=mask)
            for metric in weighted:
                metric.update_state(target, prediction, sample_weight=masked_weight(prediction, weight, mask))


def mask_of(tensor: object) -> Any:
    """Return the mask that a layer has put on its output, or None. b[*s]."""
    return getattr(tensor, "_keras_mask", None)


def masked_weight(prediction: Tensor, weight: Any, mask: Any) -> Any:
    """Return the sample weights, 0 where the mask says that there is nothing."""
    if mask is None:
        return weight
    mask = cast(mask, prediction.dtype)
    if weight is None:
        return mask
    weight = cast(convert_to_tensor(weight), mask.dtype)
    while weight.shape.rank < mask.shape.rank:
        weight = expand_dims(weight, -1)
    return multiply(weight, mask)


def _labels(target: Any, prediction: Any) -> Any:
    """The targets as a tensor of the outputs' kind: a column for [n, 1], floating or integer numbers in their dtype."""
    target = convert_to_tensor(target)
    if target.shape.rank == 1 and prediction.shape.rank == 2:
        target = expand_dims(target, -1)
    dtypes = target.dtype, prediction.dtype
    alike = all(d.is_floating for d in dtypes) or all(d.is_integer for d in dtypes)
    return cast(target, prediction.dtype) if alike and dtypes[0] is not dtypes[1] else target


def _loss(given: Identifier) -> Any:
    """The Loss that was meant: itself, by name, or a function of (y_true, y_pred). Raises ValueError if unknown."""
    found = losses.get(given)
    if found is None or isinstance(found, losses.Loss):
        return found
    if isinstance(found, type) and issubclass(found, losses.Loss):
        raise ValueError(f"loss={found.__name__} is a class: make one of it, {found.__name__}().")
    return FunctionLoss(found)


def _another(given: Any) -> Any:
    """A metric like this one, with a state of its own; names and functions are taken as they are."""
    return type(given).from_config(given.get_config()) if isinstance(given, metrics.Metric) else given


def _metric(given: Any, target: Any, prediction: Any, prefix: str) -> Any:
    """The Metric that was meant, with the output's name before its own where there are several outputs."""
    if given is None:
        return None
    if isinstance(given, str) and given.lower() in _BY_SHAPE:
        if prediction is None:
            return None
        return metrics.MeanMetricWrapper(_by_shape(given.lower(), target, prediction), name=prefix + given)
    if prediction is None:  # only asked whether it is known: nothing is made, as that would take the first name
        return metrics.get(given) if not isinstance(given, str) else metrics.known(given) and None
    found = metrics.get(given)
    if isinstance(found, metrics.Metric):
        if prefix and not found._name.startswith(prefix):
            found._name = prefix + found._name
        return found
    if isinstance(found, type) and issubclass(found, metrics.Metric):
        raise TypeError(f"metrics={found.__name__} is a class: make one of it, {found.__name__}().")
    own_name = getattr(found, "__name__", None) or getattr(found, "name", type(found).__name__)
    return metrics.MeanMetricWrapper(found, name=prefix + (given if isinstance(given, str) else str(own_name)))


def _by_shape(name: str, target: Any, prediction: Tensor) -> Any:
    binary, one_hot, numbers = _BY_SHAPE[name]
    target = convert_to_tensor(target)
    ranks = target.shape.rank, prediction.shape.rank
    if prediction.shape[-1] == 1:
        return binary
    if ranks[0] < ranks[1] or (ranks[0] and target.shape[-1] == 1):
        return numbers
    return one_hot
