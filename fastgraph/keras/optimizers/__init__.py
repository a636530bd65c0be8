"""tf.keras.optimizers: SGD, Adam and kin with the meaning that they have in Keras 2.

Rule: a step is written in ops and Variables, so that it runs eagerly, or as part of the graph of a training step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastgraph.api.namespaces import lookup
from fastgraph.keras import identifiers
from fastgraph.keras.optimizers.adam import Adam, AdamW
from fastgraph.keras.optimizers.adaptive import Adadelta, Adafactor, Adamax, Ftrl, Lion, Nadam
from fastgraph.keras.optimizers.base import Optimizer
from fastgraph.keras.optimizers.gradient_descent import SGD, Adagrad, RMSprop

if TYPE_CHECKING:
    from fastgraph.keras.optimizers import experimental as experimental

__all__ = [
    "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "Nadam", "Optimizer",
    "RMSprop", "deserialize", "get", "serialize",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.optimizers")

_TABLE: dict[str, Any] = {
    kind.__name__.lower(): kind
    for kind in (SGD, Adadelta, Adafactor, Adagrad, Adam, Adamax, AdamW, Ftrl, Lion, Nadam, RMSprop)
}


def get(identifier: Optimizer | str | dict[str, Any], **kwargs: Any) -> Optimizer:
    """Return an optimizer: itself, or by its name ("adam") or config. Raises ValueError for an unknown one."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return identifiers.made(identifier, _TABLE, "optimizer")(**kwargs)
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")


def deserialize(
    config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None, use_legacy_format: bool = False
) -> Optimizer:
    """Return the optimizer of a config, of either format. Raises ValueError for an unknown class."""
    kind: Any = identifiers.made(str(config.get("class_name")), {**_TABLE, **(custom_objects or {})}, "optimizer")
    return kind.from_config(config.get("config") or {})


def serialize(optimizer: Optimizer, use_legacy_format: bool = False) -> Any:
    """Return the config of an optimizer; in the format of Keras up to 2.12 if that is wanted."""
    return identifiers.described(optimizer, "keras.optimizers", use_legacy_format)
