"""tf.compat.v1's collections: lists by name that belong to the graph under construction, losses among them.

Rule: the lists are the graph's (graphdef/graph_view.py); outside of all those of the graph that stands for none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import fastgraph as tf
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import current_trace
from fastgraph.door.v1_functions import get_default_graph
from fastgraph.graphdef.graph_view import Graph
from fastgraph.state.variable import Variable

_KEYS = (
    "local_variables metric_variables model_variables trainable_variables summaries queue_runners asset_filepaths "
    "moving_average_variables regularization_losses concatenated_variables savers weights biases activations "
    "update_ops losses saveable_objects resources local_resources trainable_resource_variables init_op local_init_op "
    "ready_op ready_for_local_init_op summary_op eval_step train_op cond_context while_context"
)


class GraphKeys:
    """The names of the collections that have a meaning. Source: tf.compat.v1.GraphKeys."""

    GLOBAL_VARIABLES = VARIABLES = "variables"
    TABLE_INITIALIZERS = "table_initializer"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    LOCAL_VARIABLES = "local_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    GLOBAL_STEP = "global_step"


for _key in _KEYS.split():
    setattr(GraphKeys, _key.upper(), _key)


class Alone(threading.local):
    """Counts the wrapped functions that this thread is tracing: they do not see what is in collections outside."""

    wrapped = 0


alone = Alone()


def add_to_collection(name: object, value: object) -> None:
    """Append to a collection. Source: tf.compat.v1.add_to_collection."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: object, value: object) -> None:
    """Append to each of several collections, or to one. Source: tf.compat.v1.add_to_collections."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: object, scope: str | None = None) -> list[Any]:
    """Return what is in a collection, with a scope what it begins the name of. Source: tf.compat.v1.get_collection."""
    found: list[Any] = get_default_graph().get_collection(key, scope)
    trace: Any = current_trace()
    if trace is None or trace.root.kind == "graph" or alone.wrapped:
        return found
    with tf.init_scope():  # a Function sees what was there outside
        outside: list[Any] = get_default_graph().get_collection(key, scope)
    return [each for each in outside if all(each is not mine for mine in found)] + found


def train_get_global_step(graph: Graph | None = None) -> Any:
    """Return the Variable that counts steps, None where there is none. Source: tf.compat.v1.train.get_global_step."""
    found = get_collection(GraphKeys.GLOBAL_STEP) if graph is None else graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        tf.get_logger().error("Multiple tensors in global_step collection.")
        return None
    return found[0] if found else None


def train_create_global_step(graph: Graph | None = None) -> Any:
    """Make the Variable that counts steps. ValueError for a second. Source: tf.compat.v1.train.create_global_step."""
    if train_get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with tf.init_scope():
        made = tf.Variable(0, trainable=False, name="global_step", dtype=tf.int64)
        (graph or get_default_graph()).add_to_collection(GraphKeys.GLOBAL_STEP, made)
    return made


def train_get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the Variable that counts steps, made where it is not there yet."""
    found = train_get_global_step(graph)
    return train_create_global_step(graph) if found is None else found


def get_collection_ref(key: object) -> list[Any]:
    """Return the list that is a collection. Source: tf.compat.v1.get_collection_ref."""
    found: list[Any] = get_default_graph().get_collection_ref(key)
    return found


class Penalty:
    """A loss: the word of a regularizer on a Variable, computed each time that it is used, so that tapes see it."""

    def __init__(self, regularizer: Callable[[Any], Any], variable: Variable) -> None:
        self._of = regularizer, variable

    def _value(self) -> Any:
        regularizer, variable = self._of
        return regularizer(variable)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tf.convert_to_tensor(self._value(), dtype, name=name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value(), name)

    def __add__(self, other: TensorLike) -> Any:
        return self._value() + other

    __radd__ = __add__


def penalize(variable: Variable, regularizer: Callable[[Any], Any]) -> None:
    """Put what a regularizer says of a new Variable among the losses of the graph, unless that is None."""
    with tf.name_scope(f"{variable.name.partition(':')[0]}/Regularizer/"):
        found = regularizer(variable)
    if found is not None:
        loss = Penalty(regularizer, variable) if tf.executing_eagerly() else found
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def losses_add_loss(loss: TensorLike, loss_collection: object = GraphKeys.LOSSES) -> None:
    """Put a loss into a collection of the graph; in eager mode nowhere. Source: tf.compat.v1.losses.add_loss."""
    if loss_collection and not tf.executing_eagerly():
        add_to_collection(loss_collection, loss)


def losses_get_losses(scope: str | None = None, loss_collection: object = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses of the graph. Source: tf.compat.v1.losses.get_losses."""
    return get_collection(loss_collection, scope)


def losses_get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return what regularizers say of Variables. Source: tf.compat.v1.losses.get_regularization_losses."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def losses_get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Any:
    """Return the sum of what regularizers say, 0 of none. Source: tf.compat.v1.losses.get_regularization_loss."""
    found = [tf.convert_to_tensor(loss) for loss in losses_get_regularization_losses(scope)]
    return tf.add_n(found, name=name) if found else tf.constant(0.0)


def losses_get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """Return the sum of the losses of the graph. ValueError for none. Source: tf.compat.v1.losses.get_total_loss."""
    losses = losses_get_losses(scope)
    if add_regularization_losses:
        losses += losses_get_regularization_losses(scope)
    return tf.add_n([tf.convert_to_tensor(loss) for loss in losses], name=name)
