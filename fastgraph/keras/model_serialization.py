"""Whole models as configs and files: save_model, load_model, clone_model, model_from_json, serialize_keras_object.

Rule: a file has the classes and configs of the layers, how the model was compiled, and the weights; no code. Layouts:
`.keras` (a zip; its weights need h5py), or a folder, which is a SavedModel with the config beside it.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import TensorShape
from fastgraph.errors import NotBuiltError
from fastgraph.keras import (
    constraints,
    identifiers,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    regularizers,
    weight_files,
)
from fastgraph.saving import saved_model_loader, saved_model_saver
from fastgraph.saving.checkpoint import Checkpoint

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
    with identifiers.CustomObjectScope(custom_objects or {}):
        return layers.deserialize(config)


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the model that `to_json` of one described, with weights of its own. Source: tf.keras.models."""
    return model_from_config(json.loads(json_string), custom_objects)


def to_json(model: Any, **kwargs: Any) -> str:
    """Return the class and config of a model as text."""
    whole = {**layers.serialize(model), "keras_version": "2", "backend": "tensorflow"}
    return json.dumps(whole, default=_plain, **kwargs)


def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """Return a model of such layers, with weights of its own. Source: tf.keras.models.clone_model."""
    if input_tensors is not None:
        raise NotBuiltError("clone_model takes no input_tensors: call the clone on them.")
    if clone_function is not None:
        raise NotBuiltError("clone_model takes no clone_function: from_config of a changed get_config() makes others.")
    return type(model).from_config(model.get_config())


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

    filepath: `.keras`, or a folder, which has no config if the model cannot be described. Raises NotBuiltError for .h5,
    FileExistsError unless `overwrite`, NotImplementedError for a `.keras` of what cannot be described, ValueError for a
    model that is not built and goes to a folder.
    """
    path = os.fspath(filepath)
    if path.endswith((".h5", ".hdf5")) or save_format == "h5":
        raise NotBuiltError(f"{path}: whole models are written as .keras, or as a folder; .h5 files are Keras 3's.")
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"{path} is there already: save(..., overwrite=True) writes over it.")
    if not path.endswith(".keras") and model.save_spec() is None:
        raise ValueError(
            f"Model {model!r} cannot be saved either because the input shape is not available or because the forward "
            "pass of the model is not defined: call it, `fit` it, or give the shape of its inputs."
        )
    shapes = getattr(model, "_shapes", None)
    try:
        described = layers.serialize(model)
    except NotImplementedError:
        if path.endswith(".keras"):
            raise
        saved_model_saver.save(model, path)
        with contextlib.suppress(FileNotFoundError):  # of a model that was there before
            os.remove(os.path.join(path, _CONFIG))
        return
    whole = {
        **described, "module": "keras", "compile_config": _compiled(model),
        "build_config": {"input_shape": None if shapes is None else [None, *shapes[0][1:]]},
    }  # fmt: skip
    text = json.dumps(whole, default=_plain)
    if not path.endswith(".keras"):
        saved_model_saver.save(model, path)
        weight_files.atomically(os.path.join(path, _CONFIG), lambda name: weight_files.write_bytes(name, text.encode()))
        return

    weights = weight_files.h5_content(model, _optimizer_group(model))

    def write(name: str) -> None:
        with zipfile.ZipFile(name, "w") as file:
            file.writestr("config.json", text)
            file.writestr("metadata.json", json.dumps({"keras_version": "2"}))
            file.writestr("model.weights.h5", weights)

    weight_files.atomically(path, write)


def _optimizer_group(model: Any) -> tuple[str, list[Any]]:
    optimizer: Any = getattr(model, "optimizer", None)
    known = list(optimizer.variables) if optimizer is not None and optimizer._index_dict else []
    return "/optimizer/vars", known


def load_model(
    filepath: Any, custom_objects: Mapping[str, Any] | None = None, compile: bool = True, safe_mode: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Return the model that `save_model` wrote; of a SavedModel without a config what tf.saved_model.load gives.

    custom_objects: {name: class} of what is not Keras's own. Source: tf.keras.models.load_model.
    """
    path = os.fspath(filepath)
    if not os.path.exists(path):
        raise OSError(f"No file or directory found at {path}")
    if path.endswith((".h5", ".hdf5")):
        raise NotBuiltError(f"{path}: whole models are read from .keras or a folder; .h5 files are Keras 3's.")
    folder, version = os.path.isdir(path), ""
    if folder and not os.path.exists(os.path.join(path, _CONFIG)):
        return saved_model_loader.load(path)
    if folder:
        with open(os.path.join(path, _CONFIG), encoding="utf-8") as file:
            whole = json.load(file)
    else:
        with zipfile.ZipFile(path) as file:
            whole = json.loads(file.read("config.json"))
            if "metadata.json" in file.namelist():
                version = str(json.loads(file.read("metadata.json")).get("keras_version"))
    with identifiers.CustomObjectScope(custom_objects or {}):
        try:
            model = layers.deserialize(whole)
        except (KeyError, TypeError, ValueError) as error:
            if not version.startswith("3"):
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
            model.compile(**deserialize_keras_object(how))
            if not folder:
                model.optimizer.build(model.trainable_variables)
    if folder:
        Checkpoint(root=model).read(os.path.join(path, "variables", "variables")).expect_partial()
        return model
    with zipfile.ZipFile(path) as file, tempfile.TemporaryDirectory() as room:
        file.extract("model.weights.h5", room)
        weight_files._read_h5(os.path.join(room, "model.weights.h5"), model, _optimizer_group(model))
        for group, _, layer in weight_files.groups_of(model):  # words are no weights, and Keras has them in no config
            words = f"assets{group.removesuffix('/vars')}/vocabulary.txt"
            if hasattr(layer, "set_vocabulary") and words in file.namelist():
                layer.set_vocabulary(file.read(words).decode().split("\n"))
    return model
