"""tf.compat.v1's functions that have no counterpart of the same meaning in TensorFlow 2, by their names ("." is "_").

Rule: each is a few lines of public names. What would need a session, or another mode than TensorFlow 2's, is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import fastgraph as tf
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import current_trace
from fastgraph.errors import NotBuiltError
from fastgraph.graphdef.func_graph import placeholder as placeholder
from fastgraph.state.variable import Variable

Dimension = int  # an extent of a TensorShape is an int already, or None


def assign(
    ref: Variable,
    value: Data,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assign a value to a Variable and return it."""
    return ref.assign(value, name=name)


def assign_add(ref: Variable, value: Data, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Add a value to a Variable and return it."""
    return ref.assign_add(value, name=name)


def assign_sub(ref: Variable, value: Data, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract a value from a Variable and return it."""
    return ref.assign_sub(value, name=name)


def data_make_one_shot_iterator(dataset: Any) -> Any:
    """Return an iterator over a dataset."""
    return iter(dataset)


def _of_specs(part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(dataset_or_iterator: Any) -> Any:
        return tf.nest.map_structure(part, dataset_or_iterator.element_spec)

    return function


data_get_output_shapes = _of_specs(lambda spec: spec.shape)
data_get_output_types = _of_specs(lambda spec: spec.dtype)
data_get_output_classes = _of_specs(lambda spec: tf.Tensor if isinstance(spec, tf.TensorSpec) else spec.value_type)


def _on() -> None:
    """Do nothing: this is how fastgraph is."""


def _off(what: str) -> Callable[[], None]:
    def function() -> None:
        raise NotBuiltError(f"tf.compat.v1.{what} is not built: there is no mode of TensorFlow 1. Leave the call out.")

    function.__name__ = function.__qualname__ = what
    return function


enable_control_flow_v2 = enable_eager_execution = enable_resource_variables = enable_tensor_equality = _on
enable_v2_behavior = enable_v2_tensorshape = _on
disable_control_flow_v2 = _off("disable_control_flow_v2")
disable_eager_execution = _off("disable_eager_execution")
disable_resource_variables = _off("disable_resource_variables")
disable_tensor_equality = _off("disable_tensor_equality")
disable_v2_behavior = _off("disable_v2_behavior")
disable_v2_tensorshape = _off("disable_v2_tensorshape")


def executing_eagerly_outside_functions() -> bool:
    """Return whether ops run at once outside of traced functions: not within a graph that a program builds itself."""
    trace: Any = current_trace()
    return trace is None or trace.root.kind != "graph"


def control_flow_v2_enabled() -> bool:
    """Return True."""
    return True


def resource_variables_enabled() -> bool:
    """Return True."""
    return True


_default_graph: list[Any] = []


def get_default_graph() -> Any:
    """Return the graph that ops are added to; outside of all, one that stands for none."""
    trace: Any = current_trace()
    if trace is not None:
        return trace.graph.public
    if not _default_graph:
        _default_graph.append(tf.Graph())
    return _default_graph[0]


def reset_default_graph() -> None:
    """Forget the graph that stands for none. Raises AssertionError within a graph."""
    if current_trace() is not None:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default_graph.clear()


class name_scope(tf.name_scope):
    """A context in which names begin with `name`, or with `default_name` where that is None."""

    def __init__(self, name: str | None, default_name: str | None = None, values: Sequence[Any] | None = None) -> None:
        super().__init__(name if name is not None else default_name or "")


def nn_dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: Any = None,
    name: str | None = None,
    rate: Any = None,
) -> Any:
    """Return `x` with elements set to zero with probability `rate`, which is 1 - `keep_prob`."""
    if (keep_prob is None) == (rate is None):
        raise ValueError("`rate` or `keep_prob` must be given, and not both.")
    return tf.nn.dropout(x, rate=1 - keep_prob if rate is None else rate, noise_shape=noise_shape, seed=seed, name=name)


def nn_softmax_cross_entropy_with_logits(
    labels: Data | None = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """Return the cross-entropy of labels that no gradient goes to."""
    return tf.nn.softmax_cross_entropy_with_logits(
        tf.stop_gradient(labels), logits, axis=dim if axis is None else axis, name=name
    )


def placeholder_with_default(input: Data, shape: ShapeLike, name: str | None = None) -> Any:
    """Return a tensor of a graph that is `input` where nothing is fed: there is no feeding, so it is `input`."""
    return tf.ensure_shape(tf.identity(input, name=name), shape)


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Any:
    """Return a SparseTensor of the graph under construction whose parts are inputs of it."""
    shape = tf.TensorShape(shape)
    rank = shape.rank
    base = name or "sparse"
    if rank is not None and shape.is_fully_defined():
        dense_shape = tf.constant(shape.as_list(), tf.int64, shape=[rank])
    else:
        dense_shape = placeholder(tf.int64, [rank], f"{base}/shape")
    result = tf.SparseTensor(
        placeholder(tf.int64, [None, rank], f"{base}/indices"),
        placeholder(dtype, [None], f"{base}/values"),
        dense_shape,
    )
    if rank is not None:
        result.set_shape(shape)
    return result


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Data | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Return what tf.while_loop gives; of a single loop variable, unless `return_same_structure`, not in a list."""
    found = tf.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants=shape_invariants,
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
        maximum_iterations=maximum_iterations,
        name=name,
    )
    return found[0] if not return_same_structure and len(found) == 1 else found


def logging_set_verbosity(level: int | str) -> None:
    """Set from which level on messages are written."""
    get_logger().setLevel(level)


def logging_get_verbosity() -> int:
    """Return from which level on messages are written."""
    return get_logger().getEffectiveLevel() if get_logger().level else logging.WARNING
