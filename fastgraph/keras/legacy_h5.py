"""Files of Keras up to 2: whole models in `.h5`, and the weights alone.

Rule: a group for each of a model's layers, in order, and in it the weights by their names; what makes the model and how
it was compiled are attributes, as text. Configs are changed here as data, from the layout that `get_config` has.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastgraph.core.registry import get
from fastgraph.errors import NotBuiltError
from fastgraph.keras.functional import end_places

#: Bytes of the header of an object in HDF5: longer lists of names are cut in several attributes.
_MOST = 64_512
_MODEL, _TRAINING, _OPTIMIZER = "model_weights", "training_config", "optimizer_weights"

Row = tuple[str, Any, Any]  # where in the file, the value, the weight


def h5py_module() -> Any:
    """Return the package h5py. Raises NotBuiltError where it is not installed."""
    try:
        import h5py  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise NotBuiltError(
            "Files named .h5 need h5py: pip install h5py. Without it give a name without a suffix."
        ) from error
    return h5py


def content(
    model: Any, config: Mapping[str, Any] | None = None, training: str = "", slots: Iterable[Any] = ()
) -> memoryview:
    """Return the bytes of a file of a model of this config, or of its weights alone if there is none.

    training: how it was compiled, as text. slots: the optimizer's variables.
    """
    room = io.BytesIO()
    with h5py_module().File(room, "w") as file:
        if config is not None:
            _say(file, model_config=json.dumps(of_keras_2(config)), backend="tensorflow", keras_version="2")
            if training:
                _say(file, training_config=training)
                _write_values(file.create_group(_OPTIMIZER), slots)
        group = file if config is None else file.create_group(_MODEL)
        _say(group, backend="tensorflow", keras_version="2")
        _write_names(group, "layer_names", [layer.name for layer in model.layers])
        for layer in model.layers:
            here = () if config is not None and layer._IN_CONFIG else layer.weights
            _write_values(group.create_group(layer.name), here)
        _write_values(group.create_group("top_level_model_weights"), _top(model))
    return room.getbuffer()


def is_legacy(file: Any) -> bool:
    """Return whether an open file has a model of this layout, or weights of one."""
    return _MODEL in file or any(name.startswith("layer_names") for name in file.attrs)


def described(path: str, file: Any) -> tuple[dict[str, Any], dict[str, Any] | None, str]:
    """Return the config of the model in a file, how it was compiled, and Keras's version. Raises ValueError if none."""
    if "model_config" not in file.attrs:
        raise ValueError(f"No model config found in the file at {path}: it may have weights alone.")
    model, training = (_text(file.attrs.get(name)) for name in ("model_config", _TRAINING))
    return json.loads(model), json.loads(training) if training else None, _text(file.attrs.get("keras_version"))


def rows_of(path: str, file: Any, model: Any, by_name: bool = False) -> list[list[Row] | str]:
    """Return each layer's rows, or what is wrong: weights in another number.

    Layers are found by their names where the model has the same ones, or `by_name`, else in order. Raises ValueError
    for layers in another number.
    """
    group = file.get(_MODEL, file)
    held = {name: values for name in _names(group, "layer_names") if (values := _values(group[name]))}
    own = {layer.name: layer.weights for layer in model.layers if layer.weights}
    if by_name or set(held) == set(own):
        pairs = [(name, held[name], own[name]) for name in held if name in own]
    elif len(held) == len(own):
        pairs = [(name, values, weights) for (name, weights), values in zip(own.items(), held.values(), strict=True)]
    else:
        raise ValueError(
            f"Layer count mismatch when loading weights from {path}: the model has {len(own)} layers with weights, the "
            f"file {len(held)}. In the file: {list(held)}; in the model: {list(own)}"
        )
    if "top_level_model_weights" in group:
        pairs.append((model.name, _values(group["top_level_model_weights"]), _top(model)))
    return [
        [(place, value, weight) for (place, value), weight in zip(values.items(), weights, strict=True)]
        if len(values) == len(weights)
        else f"Layer '{name}' expected {len(weights)} weights, but {path} has {len(values)}"
        for name, values, weights in pairs
    ]


def optimizer_values(file: Any) -> list[Any]:
    """Return the values of the optimizer's variables, those of Keras 3 among them, as they stand in a file."""
    return list(_values(file[_OPTIMIZER]).values()) if _OPTIMIZER in file else []


def _top(model: Any) -> list[Any]:
    return sorted(model._own_weights, key=lambda weight: not weight.trainable)


def _text(value: object) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _say(group: Any, **said: object) -> None:
    for name, value in said.items():
        group.attrs.create(name, value)


def _write_names(group: Any, key: str, names: list[str]) -> None:
    encoded = np.asarray([name.encode() for name in names], "S1" if not names else None)
    parts = np.array_split(encoded, max(1, -(-encoded.nbytes * 2 // _MOST)))
    for number, part in enumerate(parts):
        _say(group, **{key if len(parts) == 1 else f"{key}{number}": part})


def _names(group: Any, key: str) -> list[str]:
    parts = [key, *(f"{key}{i}" for i in range(len(group.attrs)))]
    return [str(_text(name)) for part in parts for name in group.attrs.get(part, ())]


def _write_values(group: Any, weights: Iterable[Any]) -> None:
    names: list[str] = []
    for weight in weights:
        name = weight.name
        while name in group:  # of two weights of one name; Keras refuses them
            name += "_"
        group.create_dataset(name, data=weight.numpy())
        names.append(name)
    _write_names(group, "weight_names", names)


def _values(group: Any) -> dict[str, Any]:
    """The values of a group by their names, without the states of random numbers, which Keras 3 has among them."""
    names = [name for name in _names(group, "weight_names") if "seed_generator_state" not in name]
    return {name: np.asarray(group[name]) for name in names}


# Configs.


def of_keras_2(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a layer or model as Keras 2 has it in these files, its calls as lists of places."""
    config = dict(row["config"])
    kind = row.get("registered_name") or row["class_name"]
    if isinstance(config.get("layers"), list):
        headed = {one["name"]: _headed(one) for one in config["layers"] if "name" in one}
        config["layers"] = [of_keras_2(one) for one in config["layers"]]
        if "input_layers" in config:
            kind = "Functional" if kind == "Model" else kind
            for one in config["layers"]:
                names = one["config"].pop("operands", None)
                one["inbound_nodes"] = [_call(call, headed, names) for call in one["inbound_nodes"]]
            first = {one["name"]: 1 for one in row["config"]["layers"] if "input_layers" in one["config"]}
            for key in ("input_layers", "output_layers"):
                config[key] = _nested(_placed(end_places(config[key], first), headed))
    if kind == "Discretization" and config["bin_boundaries"]:  # which takes one of both
        config["num_bins"] = None
    if kind == "TFOpLambda" and not config["attrs"]:
        op = get(config["operation"])
        function = {"realdiv": "math.truediv"}.get(op.name) or (*op.public, f"math.{op.name}")[-1]
        config = {"name": config["name"], "function": function, "operands": op.inputs[1:]}
    more = {key: row[key] for key in ("name", "inbound_nodes", "shared_object_id") if key in row}
    return {"class_name": kind, "config": config, **more}


def _headed(row: Mapping[str, Any]) -> bool:
    """Tell models that know their inputs: Keras 2 counts a call that came with those."""
    config = row["config"]
    if row["class_name"] != "Sequential":
        return "input_layers" in config
    first = config["layers"][0] if config["layers"] else {"class_name": "", "config": {}}
    return "batch_input_shape" in first["config"] or (first["class_name"] in ("Model", "Sequential") and _headed(first))


def _call(call: Mapping[str, Any], headed: Mapping[str, bool], names: Iterable[str] | None) -> Any:
    """A call as Keras 2 has it: the first argument's places, each with the others behind it, which of ops have `names`.

    Of layers the places are a list.
    """
    first, *others = call["args"]
    keywords = _placed({**dict(zip(names or (), others, strict=False)), **call["kwargs"]}, headed)

    def with_keywords(value: object) -> Any:
        if isinstance(value, Mapping):
            return {key: with_keywords(item) for key, item in value.items()}
        if not isinstance(value, list):
            return ["_CONSTANT_VALUE", -1, value, keywords]
        return [*value, keywords] if _is_place(value) else [with_keywords(item) for item in value]

    found = with_keywords(_placed(first, headed))
    return _nested(found) if names is None else found


def _nested(value: object) -> Any:
    return [value] if isinstance(value, list) and value and isinstance(value[0], str) else value


def _is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str)


def _placed(value: object, headed: Mapping[str, bool]) -> Any:
    """A value of a call with places as Keras 2 has them."""
    if isinstance(value, Mapping):
        if value.get("class_name") == "__keras_tensor__":
            name, number, index = value["config"]["keras_history"]
            return [name, number + headed.get(name, False), index]
        if value.get("class_name") == "__tensor__":
            return value["config"]["value"]
        return {key: _placed(item, headed) for key, item in value.items()}
    return [_placed(item, headed) for item in value] if isinstance(value, (list, tuple)) else value
