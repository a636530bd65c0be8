"""Whole models as configs and files: save_model, load_model, clone_model, model_from_json, serialize_keras_object.

Rule: a file has the classes and configs of the layers, how the model was compiled, and the weights; no code. Layouts:
`.keras` (a zip; its weights need h5py), Keras 2's `.h5`, or a folder, which is a SavedModel with the config beside it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastgraph.core.base.paths import local_path
from fastgraph.core.base.shapes import TensorShape
from fastgraph.errors import NotBuiltError
from fastgraph.keras import (
    config_versions,
    constraints,
    functional,
    identifiers,
    initializers,
    layers,
    legacy_h5,
    losses,
    metrics,
    optimizers,
    regularizers,
    weight_files,
)
from fastgraph.saving import saved_model_loader, saved_model_saver
from fastgraph.saving.checkpoint import Checkpoint
from fastgraph.state.variable import Variable

_CONFIG = "keras_config.json"


def _plain(value: Any) -> Any:
    """A value that JSON does not know, as one that it does."""
    if isinstance(value, TensorShape):
        return value.as_list()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if inspect.isfunction(value) and value.__name__ == "<lambda>":
        warnings.warn(
            "A config has the names of functions and no code: this model, in which a layer has a Python lambda, is "
            "loaded with custom_objects={'<lambda>': function} only. A function with a name is told from others.",
            stacklevel=2,
        )
    if hasattr(value, "get_config") or inspect.isfunction(value):
        return serialize_keras_object(value)
    return str(getattr(value, "name", value))


def serialize_keras_object(obj: Any) -> Any:
    """Return an object as a config: {class_name, config, module, registered_name}; plain values as they are."""
    if isinstance(obj, Mapping):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [serialize_keras_object(value) for value in obj]
    if obj is None or isinstance(obj, (str, bool, int, float)):
        return obj
    kinds: Any = (("layers", layers.Layer), ("losses", losses.Loss), ("optimizers", optimizers.Optimizer))
    kinds = (("metrics", metrics.Metric), *kinds)
    own = type(obj).__module__.removeprefix("fastgraph.")
    module = next((f"keras.{name}" for name, kind in kinds if isinstance(obj, kind)), own)
    return identifiers.described(obj, module)


def deserialize_keras_object(config: Any, custom_objects: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
    """Return the object of a config that `serialize_keras_object` made. Raises ValueError for an unknown class."""
    if isinstance(config, list):
        return [deserialize_keras_object(one, custom_objects) for one in config]
    if not isinstance(config, Mapping):
        return config
    if "class_name" not in config:
        return {key: deserialize_keras_object(one, custom_objects) for key, one in config.items()}
    with identifiers.CustomObjectScope(custom_objects or {}):
        own = identifiers.get_registered_object(config.get("registered_name") or config["class_name"])
        if own is not None:
            return own.from_config(config["config"])
        part: dict[str, Any] = {"keras.losses": losses, "keras.metrics": metrics, "keras.optimizers": optimizers}
        part["keras.optimizers.schedules"] = optimizers.schedules
        part |= {f"keras.{one.__name__.rpartition('.')[2]}": one for one in (constraints, initializers, regularizers)}
        made: Any = part.get(str(config.get("module")), layers)
        return made.deserialize(dict(config))


def model_from_config(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the model of a config of its class. Source: tf.keras.models.model_from_config."""
    with identifiers.CustomObjectScope(custom_objects or {}), identifiers.sharing():
        return layers.deserialize(config)


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the model that `to_json` of one described, with weights of its own. Source: tf.keras.models."""
    return model_from_config(json.loads(json_string), custom_objects)


def to_json(model: Any, **kwargs: Any) -> str:
    """Return the class and config of a model as text."""
    with identifiers.sharing():
        described = layers.serialize(model)
    whole = {**described, "keras_version": "2", "backend": "tensorflow"}
    return json.dumps(whole, default=_plain, **kwargs)


def clone_model(model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None) -> Any:
    """Return a model of such layers, with weights of its own. Source: tf.keras.models.clone_model.

    clone_function: makes a layer of each of them; None: another one of its config.
    """
    if input_tensors is not None:
        raise NotBuiltError("clone_model takes no input_tensors: call the clone on them.")
    if clone_function is not None:
        return _cloned_by(clone_function, model)
    with identifiers.sharing():
        config = model.get_config()
    classes: dict[str, Any] = {}
    for layer in model._flatten_layers():
        if classes.setdefault(type(layer).__name__, type(layer)) is not type(layer):
            raise NotBuiltError(f"clone_model takes no two classes of one name ({type(layer).__name__}): rename one.")
    with identifiers.CustomObjectScope(classes), identifiers.sharing():
        return type(model).from_config(config)


def _cloned_by(function: Callable[[Any], Any], model: Any) -> Any:
    """Return a model of the layers that a function makes of a model's layers; its Inputs are copied."""
    if not callable(function):
        raise ValueError(f"Expected `layer_fn` argument to be a callable. Received: layer_fn={function}")
    config: dict[str, Any] = {}
    with identifiers.sharing(), contextlib.suppress(NotImplementedError):  # what has no config
        config = model.get_config()
    if "layers" not in config:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclassed model instead: "
            f"{model}"
        )
    own = {layer.name: layer for layer in model.layers}

    def made(row: dict[str, Any]) -> Any:
        return layers.deserialize(row) if row["class_name"] == "InputLayer" else function(own[row["config"]["name"]])

    if "input_layers" not in config:
        return type(model)([made(row) for row in config["layers"]], name=model.name)
    inputs, outputs, losses = functional.rebuilt(config, made)
    clone = type(model)(inputs=inputs, outputs=outputs, name=model.name)
    clone.add_loss(losses)
    return clone


def _compiled(model: Any) -> Any:
    """Return the arguments with which a model was compiled."""
    if not model._is_compiled:
        return None
    loss, measured = model._compiled_loss, model._compiled_metrics
    parts = {
        "optimizer": model.optimizer, "loss": model.loss, "loss_weights": loss._given_weights,
        "metrics": measured._given, "weighted_metrics": measured._given_weighted, "run_eagerly": model.run_eagerly,
    }  # fmt: skip
    return serialize_keras_object(parts)


def save_model(
    model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None, **kwargs: Any
) -> None:
    """Write a model: layers, how it was compiled, weights and the optimizer's. Source: tf.keras.models.save_model.

    filepath: `.keras`, `.h5`, or a folder, which has no config if the model cannot be described. Raises FileExistsError
    unless `overwrite`, NotImplementedError for a file of what cannot be described, ValueError for a model that is not
    built and goes to a folder.
    """
    path = local_path(filepath)
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"{path} is there already: save(..., overwrite=True) writes over it.")
    if path.endswith((".h5", ".hdf5")) or save_format == "h5":
        weight_files.write_content(path, _legacy(model, kwargs.get("include_optimizer", True)))
        return
    if not path.endswith(".keras") and model.save_spec() is None:
        raise ValueError(
            f"Model {model!r} cannot be saved either because the input shape is not available or because the forward "
            "pass of the model is not defined: call it, `fit` it, or give the shape of its inputs."
        )
    shapes = getattr(model, "_shapes", None)
    try:
        with identifiers.sharing():
            described = layers.serialize(model)
    except NotImplementedError:
        if path.endswith(".keras"):
            raise
        saved_model_saver.save(model, path)
        with contextlib.suppress(FileNotFoundError):  # of a model that was there before
            os.remove(os.path.join(path, _CONFIG))
        return
    whole = {
        **described, "compile_config": _compiled(model),
        "build_config": {"input_shape": None if shapes is None else [None, *shapes[0][1:]]},
    }  # fmt: skip
    if path.endswith(".keras"):  # what of it is no plain value yet has none of what differs
        whole = config_versions.for_keras_3(json.loads(json.dumps(whole, default=_plain)))
    text = json.dumps(whole, default=_plain)
    if not path.endswith(".keras"):
        saved_model_saver.save(model, path)
        weight_files.write_content(os.path.join(path, _CONFIG), text.encode())
        return

    where, layouts = _optimizer_group(model)
    plain = isinstance(model.optimizer, optimizers.SGD) and not model.optimizer.momentum  # Keras 3 makes no slots of it
    weights = weight_files.h5_content(model, (where, layouts[3 if plain else 0]))

    def write(name: str) -> None:
        with zipfile.ZipFile(name, "w") as file:
            file.writestr("config.json", text)
            file.writestr("metadata.json", json.dumps({"keras_version": "3"}))
            file.writestr("model.weights.h5", weights)

    weight_files.atomically(path, write)


def _legacy(model: Any, with_optimizer: bool) -> memoryview:
    """The bytes of a model in Keras 2's .h5. Raises NotImplementedError for a model of one's own class."""
    if not hasattr(model, "get_layer") or (model._network is None and "_layers" not in model._UNTRACKED):
        raise NotImplementedError(
            "Saving the model to HDF5 format requires the model to be a Functional model or a Sequential model. It "
            "does not work for subclassed models: save those to a folder, or their weights."
        )
    training, slots = _compiled(model) if with_optimizer else None, []
    if training is not None:
        slots = _optimizer_group(model)[1][2]
        rule = training.pop("optimizer")
        own = rule["registered_name"] or f"Custom>{rule['class_name']}"
        training["optimizer_config"] = {"class_name": own, "config": {**rule["config"], "is_legacy_optimizer": False}}
    with identifiers.sharing():
        described = layers.serialize(model)
    config = config_versions.for_both(json.loads(json.dumps(described, default=_plain)))
    return legacy_h5.content(model, config, json.dumps(training, default=_plain) if training else "", slots)


def _optimizer_group(model: Any) -> tuple[str, list[list[Any]]]:
    """The place of the optimizer's variables in a file, and which these are in Keras 3.

    Then without what comes behind slots, as in Keras 2, which has no rate either, and as Keras 3 has those of SGD.
    """
    optimizer: Any = getattr(model, "optimizer", None)
    if optimizer is None or not optimizer._index_dict:
        return "/optimizer/vars", [[]] * 4
    first, *slots = optimizer.variables
    head = [first, *([optimizer._learning_rate] if isinstance(optimizer._learning_rate, Variable) else [])]
    return "/optimizer/vars", [[*head, *slots, *optimizer._behind_slots], [*head, *slots], [first, *slots], head]


def _compile_arguments(training: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `compile` of what a .h5 file has: losses and metrics by names, or configs of either format."""

    def made(value: Any, part: Any) -> Any:
        if isinstance(value, list):
            return [made(one, part) for one in value if one is not None]
        if not isinstance(value, Mapping):
            return value
        if "class_name" not in value:
            return {key: made(one, part) for key, one in value.items()}
        if value["class_name"] == "MeanMetricWrapper":  # of a function by its name
            own = {**value["config"], "fn": metrics.deserialize(value["config"]["fn"])}
            value = {**value, "config": own}
        return part.deserialize(value)

    found = {"loss": made(training.get("loss"), losses), "loss_weights": training.get("loss_weights")}
    found |= {name: made(training.get(name), metrics) for name in ("metrics", "weighted_metrics")}
    rule = dict(training["optimizer_config"])
    if identifiers.get_registered_object(rule["class_name"]) is None:
        rule["class_name"] = rule["class_name"].removeprefix("Custom>")  # Keras 2 registers its own like that
    return {"optimizer": optimizers.deserialize(rule), **found}


def _has_assets(path: str) -> bool:
    with zipfile.ZipFile(path) as file:
        return any(name.startswith("assets/") for name in file.namelist())


def _vocabularies(path: str, model: Any) -> dict[str, dict[str, Any]]:
    """The words that a model's layers have learnt, and their weights, by names: Keras has them in no config."""
    found: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(path) as file:
        held = {*file.namelist()}
        for group, _, layer in weight_files.groups_of(model):
            place = f"assets{group.removesuffix('/vars')}/vocabulary.txt"
            if place in held and hasattr(layer, "set_vocabulary"):
                found[layer.name] = {"vocabulary": file.read(place).decode().split("\n")}
                if layer.output_mode == "tf_idf":
                    weights = io.BytesIO(file.read("model.weights.h5"))
                    with legacy_h5.h5py_module().File(weights, "r") as values:
                        all_of_them = values[f"{group}/idf_weights"][: len(found[layer.name]["vocabulary"])]
                    found[layer.name]["idf_weights"] = all_of_them.tolist()
    return found


def load_model(
    filepath: Any, custom_objects: Mapping[str, Any] | None = None, compile: bool = True, safe_mode: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Return the model that `save_model` wrote; of a SavedModel without a config what tf.saved_model.load gives.

    custom_objects: {name: class} of what is not Keras's own. Source: tf.keras.models.load_model.
    """
    path = local_path(filepath)
    if not os.path.exists(path):
        raise OSError(f"No file or directory found at {path}")
    folder, version = os.path.isdir(path), ""
    legacy = not folder and (path.endswith((".h5", ".hdf5")) or not zipfile.is_zipfile(path))
    if folder and not os.path.exists(os.path.join(path, _CONFIG)):
        return saved_model_loader.load(path)
    if folder:
        with open(os.path.join(path, _CONFIG), encoding="utf-8") as file:
            whole = json.load(file)
    elif legacy:
        with legacy_h5.h5py_module().File(path, "r") as file:
            whole, training, version = legacy_h5.described(path, file)
        whole["compile_config"] = training
    else:
        with zipfile.ZipFile(path) as file:
            missing = {"config.json", "model.weights.h5"} - {*file.namelist()}
            if missing:
                raise ValueError(f"{path} is no whole model: {' and '.join(sorted(missing))} is not in it")
            whole = json.loads(file.read("config.json"))
            if "metadata.json" in file.namelist():
                version = str(json.loads(file.read("metadata.json")).get("keras_version"))
    if version.startswith("3"):
        whole = config_versions.from_keras_3(whole)
    with identifiers.CustomObjectScope(custom_objects or {}):
        try:
            learnt = not folder and not legacy and _has_assets(path)
            with identifiers.sharing():
                model = layers.deserialize(config_versions.with_words_to_come(whole) if learnt else whole)
            if learnt and (words := _vocabularies(path, model)):
                with identifiers.sharing():
                    model = layers.deserialize(config_versions.with_vocabularies(whole, words))
        except (KeyError, TypeError, ValueError) as error:
            if not version.startswith("3."):  # files of this package say 3
                raise
            raise NotBuiltError(
                f"{path} is a model of Keras {version}, whose configs are others ({error}). Its weights are read: "
                "write them there by save_weights('w.weights.h5'), and here load_weights into such a model."
            ) from error
        shape = (whole.get("build_config") or {}).get("input_shape")
        if not model.built and shape is not None:
            model.build(shape)
        how = whole.get("compile_config")
        if compile and how:
            model.compile(**(_compile_arguments(how) if legacy else deserialize_keras_object(how)))
            if not folder:
                model.optimizer.build(model.trainable_variables)
    if folder:
        Checkpoint(root=model).read(os.path.join(path, "variables", "variables")).expect_partial()
        return model
    if legacy:
        weight_files.read_h5(path, model, _optimizer_group(model))
        return model
    with zipfile.ZipFile(path) as file, tempfile.TemporaryDirectory() as room:
        file.extract("model.weights.h5", room)
        weight_files.read_h5(os.path.join(room, "model.weights.h5"), model, _optimizer_group(model))
    return model
