"""Configs of Keras 3 as those of the layers here, which are Keras 2's, and the other way round.

Rule: configs are changed as data. What one version alone has is left out where its value asks for nothing; else it
stays, and whoever reads it refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastgraph.keras import backend

#: Arguments of Keras 2's configs that Keras 3's classes do not take, and the values that ask for nothing; None for any.
_OF_2: dict[str, tuple[Any, ...] | None] = {
    "time_major": (False,), "sparse": (False,), "softmax_robust_masking": (False,),
    "input_length": (None,), "rng_type": ("stateful",), "jit_compile": None, "name": (None,),
}  # fmt: skip
_SHAPES: dict[str, None] = dict.fromkeys(("query_shape", "key_shape", "value_shape"))  # Keras 2 needs them

#: The same for what is no layer, of Keras 3's configs: layers' own are in `Layer.from_config`.
_OF_3: dict[str, tuple[Any, ...] | None] = {
    "input_axes": (None,), "output_axes": (None,), "loss_scale_factor": (None,), "gradient_accumulation_steps": (None,),
}  # fmt: skip


def for_both(value: object) -> Any:
    """Return a config with everything in it as Keras 2 and 3 take it, but for ops."""
    return _changed(value, _to_both)


def for_keras_3(value: object) -> Any:
    """Return a config with everything in it as Keras 3 takes it."""
    return _changed(value, _to_3)


def from_keras_3(value: object) -> Any:
    """Return a config of Keras 3 as `get_config` gives it here."""
    return _changed(value, _from_3)


def with_vocabularies(value: object, learnt: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a config in which layers of these names have learnt these words and weights."""

    def taught(own: dict[str, Any]) -> Any:
        return {**own, "config": {**own["config"], **learnt.get(own["config"].get("name"), {})}}

    return _changed(value, taught)


def with_words_to_come(value: object) -> Any:
    """Return a config whose layers have as many words as they will have learnt, if their rows are as wide as that."""

    def filled(own: dict[str, Any]) -> Any:
        config = own["config"]
        if own["class_name"] not in _OF_WORDS or config["vocabulary"] or config["output_mode"] == "int":
            return own
        n = max(1, (config.get("vocabulary_size") or 0) - config.get("num_oov_indices", 1))
        words = range(n) if own["class_name"] == "IntegerLookup" else [f" {i}" for i in range(n)]
        weights = [1.0] * n if config["output_mode"] in ("tf_idf", "tf-idf") else None
        return {**own, "config": {**config, "vocabulary": [*words], "idf_weights": weights}}

    return _changed(value, filled)


def _changed(value: object, change: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_changed(item, change) for item in value]
    if not isinstance(value, Mapping):
        return value
    own = {key: _changed(item, change) for key, item in value.items()}
    keras = "class_name" in own and isinstance(own.get("config"), dict) and ">" not in str(own.get("registered_name"))
    return change(own) if keras else own


def _without(config: Mapping[str, Any], unknown: Mapping[str, tuple[Any, ...] | None]) -> dict[str, Any]:
    def asks(key: str, value: object) -> bool:
        nothing = unknown.get(key, ())
        return nothing is not None and not any(value is one or value == one for one in nothing)

    return {key: value for key, value in config.items() if asks(key, value)}


def _to_both(own: dict[str, Any]) -> Any:
    config = own["config"] = _without(own["config"], _OF_2)
    if "kernel_size" in config and config.get("groups") == 1:
        del config["groups"]
    if own["class_name"] in ("Model", "Sequential"):
        own["module"] = "keras"
    return own


def _to_3(own: dict[str, Any]) -> Any:
    config = own["config"]
    if config.get("reduction") == "auto":  # of losses: what it means outside of strategies
        config["reduction"] = "sum_over_batch_size"
    if own["class_name"] == "Discretization":  # which takes nothing of the kind there
        config.pop("trainable", None)
    if own["class_name"] != "TFOpLambda" or config["attrs"]:
        return _to_both({**own, "config": _without(config, _SHAPES)})
    name = config["operation"]
    kind = _OPS_OF_3.get(name) or "".join(part.capitalize() for part in name.split("_"))
    part = "nn" if name in _OPS_OF_NN else "numpy"
    return {**own, "module": f"keras.src.ops.{part}", "class_name": kind, "config": {"name": config["name"]}}


def _from_3(own: dict[str, Any]) -> Any:
    config = own["config"] = _without(own["config"], _OF_3)
    if own["class_name"] == "DTypePolicy":
        return config["name"]
    if str(own.get("module", "keras.src.ops.")).startswith("keras.src.ops.") and config.keys() == {"name"}:
        function = {"name": config["name"], "function": f"ops.{backend.snake_case(own['class_name'])}"}
        return {**own, "class_name": "TFOpLambda", "config": function, "registered_name": None}
    for theirs, ours in _RENAMED.get(own["class_name"], {}).items():
        if theirs in config:
            config[ours] = config.pop(theirs)
    if own["class_name"] in _OF_WORDS:  # that of sums there, of texts and numbers here
        del config["dtype"]
    if own["class_name"] == "SparseCategoricalCrossentropy" and config.get("axis") == -1:
        del config["axis"]
    return own


_OF_WORDS = ("TextVectorization", "StringLookup", "IntegerLookup")
_OPS_OF_3 = {"realdiv": "Divide", "pow": "Power", "abs": "Absolute"}
_OPS_OF_NN = {"relu", "relu6", "sigmoid", "softplus", "softsign", "elu", "selu"}
_RENAMED = {"InputLayer": {"batch_shape": "batch_input_shape"}, "LeakyReLU": {"negative_slope": "alpha"}}
