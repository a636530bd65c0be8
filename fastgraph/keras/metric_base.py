"""The bases of metrics: Metric, PyMetric, Sum, Mean, MeanTensor, MeanMetricWrapper. Meaning and names of Keras 2.

Rule: a metric is a layer whose weights are sums; `update_state` adds to them, `result` reads them, both in ops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor, current_trace, init_scope
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.ragged_rows import elements
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.elementwise import cast, multiply, ones_like
from fastgraph.ops.movement import expand_dims, size, squeeze
from fastgraph.ops.python_functions import py_function
from fastgraph.ops.reduction import reduce_mean, reduce_sum
from fastgraph.staging import autograph
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization


class Metric(Layer):
    """The base of metrics: state `update_state` and `result`; make weights with `add_weight` in the constructor.

    Calling a metric updates it and returns the result. Source: tf.keras.metrics.Metric.
    """

    _is_metric = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "result" in cls.__dict__:
            cls.result = _of_all_replicas(cls.__dict__["result"], cls.__module__)  # type: ignore[method-assign]

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.stateful = True
        self.built = True

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | Any:
        """Update the state, and return the result."""
        self.update_state(*args, **kwargs)
        return self.result()

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch to the state."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Tensor:
        """Return the value over all batches since the last reset."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_state(self) -> None:
        """Begin anew: set all weights to 0."""
        for weight in self.weights:
            weight.assign(cast(0, weight.dtype) * ones_like(weight))

    def reset_states(self) -> None:
        """The older name of `reset_state`."""
        self.reset_state()

    def merge_state(self, metrics: Iterable[Metric]) -> list[Any]:
        """Add the states of other metrics of this kind; return the weights. Raises ValueError for other weights."""
        added: list[Any] = []
        for metric in metrics:
            if len(self.weights) != len(metric.weights):
                raise ValueError(f"Metric {metric} is not compatible with {self}")
            for weight, other in zip(self.weights, metric.weights, strict=True):
                added.append(weight.assign_add(other))
        return added

    def add_weight(  # type: ignore[override,return]
        self, name: str, shape: ShapeLike = (), aggregation: VariableAggregation | None = None,
        synchronization: VariableSynchronization | None = None, initializer: Identifier = None,
        dtype: DTypeLike | None = None,
    ) -> Variable:  # fmt: skip
        """Return a new weight, of zeros unless `initializer` says otherwise; those of replicas are added up."""
        with init_scope():
            return super().add_weight(
                name, shape, dtype, initializer or "zeros", trainable=False,
                synchronization=synchronization or VariableSynchronization.ON_READ,
                aggregation=aggregation or VariableAggregation.SUM,
            )  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a metric."""
        return {"name": self.name, "dtype": self.dtype, **self._config()}


def _of_all_replicas(stated: Callable[..., Any], module: str) -> Callable[..., Any]:
    """`result` of a metric; on one of several replicas that of what all of them have added."""
    own = module.partition(".")[0] == __name__.partition(".")[0]

    @functools.wraps(stated)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        replica, result = replicas.current(), stated
        if not own and current_trace() is not None:
            result = autograph.convert(stated)
        if replica is None or replica.context is None:
            return result(self, *args, **kwargs)
        return replica.context.merge_call(lambda strategy: result(self, *args, **kwargs))

    return wrapped


class PyMetric(Metric):
    """The base of metrics whose `update_state`, `result` and `reset_state` are Python, not ops: they get eager tensors.

    `result` gives one number. Source: tf.keras.metrics.experimental.PyMetric.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in {"update_state", "result"} & set(cls.__dict__):
            setattr(cls, name, _as_python(cls.__dict__[name], name))
        super().__init_subclass__(**kwargs)

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.reset_state()

    def merge_state(self, metrics: Iterable[Metric]) -> list[Any]:
        """Add the states of other metrics, if a subclass knows how."""
        raise NotImplementedError("Subclasses should implement `merge_state`")

    def reset_state(self) -> None:
        """Begin anew: set the attributes that are the state; called by the constructor, too."""
        raise NotImplementedError("Subclasses should implement `reset_state`")


def _as_python(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method of a PyMetric as an op."""

    @functools.wraps(method)
    def update_state(self: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        given = [y_true, y_pred, *([] if sample_weight is None else [sample_weight])]
        return py_function(lambda *inputs: method(self, *inputs), given, [])

    @functools.wraps(method)
    def result(self: Any) -> Any:
        return py_function(lambda: method(self), [], self._dtype)

    return result if name == "result" else update_state


class Sum(Metric):
    """The sum of the values, each times its weight. Source: tf.keras.metrics.Sum."""

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add values to the sum."""
        values, _ = weighted(values, sample_weight, self._dtype, reduce_sum)
        return self.total.assign_add(reduce_sum(values))

    def result(self) -> Tensor:
        """Return the sum. f[]."""
        return self.total.read_value()


class Mean(Metric):
    """The mean of the values, each with its weight. Source: tf.keras.metrics.Mean."""

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add values of any shape to the mean; `sample_weight` broadcasts to them."""
        values, weights = weighted(values, sample_weight, self._dtype, reduce_mean)
        self.total.assign_add(reduce_sum(values))
        count = cast(size(values), self._dtype) if weights is None else reduce_sum(weights)
        return self.count.assign_add(count)

    def result(self) -> Tensor:
        """Return the mean, 0 of no values. f[]."""
        return divide_no_nan(self.total.read_value(), self.count.read_value())


class MeanTensor(Metric):
    """The mean of each element of tensors of one shape, each with its weight. Source: tf.keras.metrics.MeanTensor."""

    total: Any = None
    count: Any = None

    def __init__(
        self, name: str | None = "mean_tensor", dtype: DTypeLike | None = None, shape: ShapeLike = None
    ) -> None:
        super().__init__(name, dtype)
        if shape is not None:
            self._make(shape)

    def _make(self, shape: ShapeLike) -> None:
        self.total, self.count = self.add_weight("total", shape), self.add_weight("count", shape)

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Add a tensor of the first one's shape; `sample_weight` broadcasts to it. Raises ValueError for others."""
        tensor: Any = cast(convert_to_tensor(values), self._dtype)
        if self.total is None:
            self._make(tensor.shape)
        elif tensor.shape != self.total.shape:
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set during the first call): "
                f"{self.total.shape}. Got: {tensor.shape}."
            )
        total, weights = weighted(tensor, sample_weight, self._dtype, reduce_mean)
        self.total.assign_add(total)
        return self.count.assign_add(ones_like(tensor) if weights is None else weights)

    def result(self) -> Tensor:
        """Return the means, in the shape of the tensors. Raises ValueError before the first of them."""
        if self.total is None:
            raise ValueError(
                "MeanTensor does not have any value yet. Please call the MeanTensor instance or use "
                "`.update_state(value)` before retrieving the result."
            )
        return divide_no_nan(self.total.read_value(), self.count.read_value())


class MeanMetricWrapper(Mean):
    """The mean of what a function of (y_true, y_pred) gives for each example."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name, dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:  # type: ignore[override]
        """Add a batch of predictions to the mean."""
        wanted, found, weights = elements(y_true, y_pred, sample_weight)
        return super().update_state(self._values(wanted, found), weights)

    def _values(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = (cast(convert_to_tensor(y), self._dtype) for y in (y_true, y_pred))
        return self._fn(*same_rank(y_true, y_pred), **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a metric."""
        function = {"fn": self._fn} if type(self) is MeanMetricWrapper else {}
        return {**function, **super().get_config(), **self._fn_kwargs}


def same_rank(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both with the same rank where one has an axis of length 1 more at its end."""
    ranks = y_true.shape.rank, y_pred.shape.rank
    if None in ranks:
        return y_true, y_pred
    if ranks[1] == ranks[0] + 1 and y_pred.shape[-1] == 1:
        return y_true, squeeze(y_pred, axis=[-1])
    if ranks[0] == ranks[1] + 1 and y_true.shape[-1] == 1:
        return squeeze(y_true, axis=[-1]), y_pred
    return y_true, y_pred


def weighted(values: Any, weights: Any, dtype: DTypeLike, reduce: Callable[..., Any]) -> tuple[Any, Any]:
    """Return values times weights, and the weights in the values' shape (None if there are none).

    Weights of fewer axes belong to the first ones; values are reduced along the rest where that cannot be broadcast.
    """
    values = cast(convert_to_tensor(getattr(values, "flat_values", values)), dtype)
    if weights is None:
        return values, None
    weights = cast(convert_to_tensor(weights), dtype)
    ranks = values.shape.rank, weights.shape.rank
    if None not in ranks and ranks[1]:
        if ranks[1] == ranks[0] + 1 and weights.shape[-1] == 1:
            weights = squeeze(weights, axis=[-1])
        elif ranks[1] + 1 == ranks[0]:
            weights = expand_dims(weights, -1)
        elif ranks[1] < ranks[0]:
            values = reduce(values, axis=list(range(ranks[1], ranks[0])))
    return multiply(values, weights), multiply(ones_like(values), weights)
