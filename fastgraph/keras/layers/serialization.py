"""Layers as configs and back: tf.keras.layers.serialize and deserialize.

Rule: a name is looked for among the user's objects, then among Keras's own layers and models.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from fastgraph.keras import identifiers
from fastgraph.keras.layers.core import TFOpLambda

#: Name -> class of Keras's own layers; the room's __init__ enters them.
BUILT_IN: dict[str, Any] = {}


def serialize(layer: Any, use_legacy_format: bool = False) -> dict[str, Any]:
    """Return the class of a layer and its config, of which `deserialize` makes the layer again.

    use_legacy_format: as Keras up to 2.12 writes them.
    """
    return identifiers.described(layer, "keras.layers", use_legacy_format)


def deserialize(
    config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the layer of a config, of either format. Raises ValueError for a class that is unknown."""
    from fastgraph.keras import models

    name = config.get("registered_name") or config["class_name"]
    own: dict[str, Any] = {"Functional": models.Model, "Model": models.Model, "Sequential": models.Sequential}
    kind = identifiers.get_registered_object(name, custom_objects, {**own, "TFOpLambda": TFOpLambda})
    kind = kind or identifiers.get_registered_object(config["class_name"], custom_objects) or BUILT_IN.get(name)
    if kind is None:
        raise ValueError(
            f"Unknown layer: {name!r}. If it is a class of yours, give it: "
            f"from_config(config, custom_objects={{{name!r}: {name}}})."
        )
    taken = inspect.signature(kind.from_config).parameters
    said = {"custom_objects": custom_objects} if "custom_objects" in taken else {}
    return identifiers.made_once(config, lambda: kind.from_config(config["config"], **said))
