"""The functions of models in SavedModels: what `tf.saved_model.save` writes of one, and `Model.export`."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.keras.layers.core import Embedding
from fastgraph.saving.saved_model_saver import save
from fastgraph.staging.function_decorator import function
from fastgraph.state.tracking import AutoTrackable


def export(model: Any, filepath: Any) -> None:
    """Write a model as a SavedModel with the endpoint `serve`, which is its signatures too.

    Raises ValueError for a model that was neither called nor built.
    """
    specs = _specs(model)
    root: Any = AutoTrackable()
    root._model = model
    root.trainable_variables, root.non_trainable_variables = model.trainable_weights, model.non_trainable_weights
    root.variables = model.weights
    root.serve = function(lambda *inputs: model(*inputs, training=False), input_signature=specs)
    save(root, filepath, signatures={"serve": root.serve, "serving_default": root.serve})


def save_spec(model: Any) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the specs of what a model is called with, (inputs, {}); None if it is not built."""
    try:
        return _specs(model), {}
    except ValueError:
        return None


def call_of(model: Any) -> Any:
    """Return how a model is called, traced to predict and to train; None if it is not built."""
    try:
        specs = _specs(model)
    except ValueError:
        return None
    call = function(lambda inputs, *more, training=False: model(inputs, *more, training=training))
    if len(specs) == 1:  # `training` may come by place, as in Keras
        call = function(lambda inputs, training=False: model(inputs, training=training))
    for training in (False, True):
        call.get_concrete_function(*specs, training=training)
    return call


def signature_of(model: Any) -> Any:
    """Return the function that predicts, its results by the names of the outputs; None if the model is not built."""
    try:
        specs = _specs(model)
    except ValueError:
        return None
    known = getattr(model, "output_names", None) or []

    def serving_default(*inputs: Any) -> Any:
        found = model(*inputs, training=False)
        names = _names(found, "output_")
        return dict(zip(known if len(known) == len(names) else names, nesting.flatten(found), strict=True))

    if getattr(model, "_inputs", specs) is None and isinstance(model.layers[0], Embedding) and specs[0].shape.rank == 2:
        with contextlib.suppress(ValueError):  # of a layer that asks for the length
            free = function(serving_default, input_signature=[TensorSpec([None, None], model._dtype, specs[0].name)])
            free.get_concrete_function()
            return free
    return function(serving_default, input_signature=specs)


def _names(values: Any, prefix: str, way: tuple[Any, ...] = ()) -> list[str]:
    """Names of what is in a structure that says none, as Keras makes them: the ways there, counted from 1."""
    if nesting.is_nested(values):
        counted = zip(sorted(values) if isinstance(values, dict) else itertools.count(1), nesting.children(values))
        return [name for step, child in counted for name in _names(child, prefix, (*way, step))]
    name = "_".join(map(str, way)) or "1"
    return [name if way and not isinstance(way[0], int) else prefix + name]


def _specs(model: Any) -> list[Any]:
    """The specs of what a model takes by place, batches of any size; of several the names are Keras's `args_0`."""
    more = model._more_specs
    if not more:
        return [_first_spec(model)]
    return [
        nesting.map_structure(lambda spec, i=i: _spec(spec.shape, spec.dtype, f"args_{i}"), given)
        for i, given in enumerate((model._given_specs, *more))
    ]


def _first_spec(model: Any) -> Any:
    """The specs of the inputs alone, in their structure."""
    given = getattr(model, "_network", None)
    if given is not None:
        return nesting.map_structure(lambda x: _spec(x.shape, x.dtype, x.name), given.structure)
    try:
        shapes = model.input_shape
    except (AttributeError, RuntimeError):
        raise ValueError(
            f"The model {model.name!r} must be built before it is exported: call it, or give its inputs."
        ) from None
    symbols = getattr(model, "_symbols", None)  # of a Sequential model that knows its inputs
    if symbols:
        return _spec(symbols[0].shape, symbols[0].dtype, symbols[0].name)
    head = [f"{model.layers[0].name}_input"] if symbols is not None and model.layers else None
    taken = model._given_specs
    if taken is None:  # built for a shape
        return _spec(shapes, model._dtype, head[0] if head else "input_1")
    flat = zip(nesting.flatten(taken), head or _names(taken, "input_"), strict=True)
    return nesting.pack_sequence_as(taken, [_spec(spec.shape, spec.dtype, name) for spec, name in flat])


def _spec(shape: Any, dtype: Any, name: str | None) -> TensorSpec:
    dims = TensorShape(shape).as_list()
    return TensorSpec([None, *dims[1:]], dtype, None if name is None else name.partition(":")[0])
