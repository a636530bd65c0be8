"""Losses and metrics of RaggedTensors: what a function of dense labels and predictions gives for rows of any lengths.

Rule: an axis of the innermost values is reduced there, as if all rows were one; along a ragged last axis each row is
an example, whose elements are averaged, or which the function sees alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.graph.map_and_scan import map_fn
from fastgraph.ops.movement import expand_dims, squeeze
from fastgraph.ops.reduction import reduce_mean
from fastgraph.ops.runtime_assertions import assert_equal

F = TypeVar("F", bound=Callable[..., Any])


def of_rows(means: bool) -> Callable[[F], F]:
    """Let a loss take RaggedTensors, too. means: it is the mean of what it is for each element alone."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def loss(y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(y_pred, RaggedTensor) and not isinstance(y_true, RaggedTensor):
                return function(y_true, y_pred, *args, **kwargs)
            return _of_rows(lambda wanted, found: function(wanted, found, *args, **kwargs), y_true, y_pred, means)

        return loss  # type: ignore[return-value]

    return decorate


def _of_rows(loss: Callable[..., Any], y_true: Any, y_pred: Any, means: bool) -> Any:
    if not isinstance(y_true, RaggedTensor) or not isinstance(y_pred, RaggedTensor):
        return loss(*[y.to_tensor() if isinstance(y, RaggedTensor) else y for y in (y_true, y_pred)])
    wanted, found = flat_values(y_true, y_pred)
    if found.shape.rank != 1:
        return y_pred.with_flat_values(loss(wanted, found))
    if means:
        each = loss(expand_dims(wanted, -1), expand_dims(found, -1))
        return reduce_mean(y_pred.with_flat_values(each), axis=-1)
    if y_pred.ragged_rank > 1:
        return y_pred.with_values(_of_rows(loss, y_true.values, y_pred.values, means))
    return map_fn(lambda rows: loss(*rows), (y_true, y_pred), fn_output_signature=TensorSpec([], found.dtype))


def flat_values(*given: Any) -> list[Any]:
    """The innermost values of RaggedTensors. Raises: InvalidArgumentError for rows of other lengths."""
    for each in given:
        for own, other in zip(each.nested_row_splits, given[0].nested_row_splits, strict=False):
            assert_equal(own, other, message="Inputs must have identical ragged splits")
    return [each.flat_values for each in given]


def elements(y_true: Any, y_pred: Any, sample_weight: Any = None) -> list[Any]:
    """Dense tensors as they are, of RaggedTensors each element, which is an example to a metric. t[*s, n] -> t[m, 1].

    Raises: TypeError for RaggedTensors beside dense tensors, InvalidArgumentError for rows of other lengths.
    """
    given = [y_true, y_pred] if sample_weight is None else [y_true, y_pred, sample_weight]
    ragged = [isinstance(each, RaggedTensor) for each in given]
    if any(ragged) and not all(ragged):
        kinds = ", ".join([type(each).__name__ for each in given])
        raise TypeError(f"Labels, predictions and weights are all RaggedTensors or none of them. Received: {kinds}")
    if any(ragged):
        given = [expand_dims(each, -1) for each in flat_values(*given)]
    return given if sample_weight is not None else [*given, None]


def without_last(x: Any) -> Any:
    """A tensor without its last axis, of length 1; of a RaggedTensor the innermost values' one."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(squeeze(x.flat_values, axis=[-1]))
    return squeeze(x, axis=[-1])
