"""tf.keras with the meaning that it has in Keras 2: layers, models, losses, metrics, optimizers.

Rule: what stands here is written in public ops and Variables only; nothing below knows of it. Importing this package
imports none of its parts: each comes when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.deferred_signals import imported

if TYPE_CHECKING:
    from fastgraph.keras import activations as activations
    from fastgraph.keras import backend as backend
    from fastgraph.keras import callbacks as callbacks
    from fastgraph.keras import constraints as constraints
    from fastgraph.keras import datasets as datasets
    from fastgraph.keras import initializers as initializers
    from fastgraph.keras import layers as layers
    from fastgraph.keras import losses as losses
    from fastgraph.keras import metrics as metrics
    from fastgraph.keras import models as models
    from fastgraph.keras import optimizers as optimizers
    from fastgraph.keras import preprocessing as preprocessing
    from fastgraph.keras import regularizers as regularizers
    from fastgraph.keras import saving as saving
    from fastgraph.keras import utils as utils
    from fastgraph.keras.layers import Input as Input
    from fastgraph.keras.models import Model as Model
    from fastgraph.keras.models import Sequential as Sequential

__all__ = ["Input", "Model", "Sequential"]

_HOMES = {"Input": "layers", "Model": "models", "Sequential": "models"}
_submodule, __dir__ = lookup("keras")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        return _submodule(name)
    value = getattr(imported(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
