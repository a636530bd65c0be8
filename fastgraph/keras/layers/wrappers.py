"""Layers around a layer: Wrapper, TimeDistributed. Meaning and messages of Keras 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training, parameters_of
from fastgraph.keras.layers.serialization import deserialize, serialize
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.reduction import reduce_any


class Wrapper(Layer):
    """The base of layers around another one, `layer`. Raises ValueError for what is none. Source: tf.keras.layers."""

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Layer {layer} supplied to wrapper is not a supported layer type. Please ensure wrapped layer is a "
                "valid TF-Keras layer."
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Make the weights of the layer inside."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "layer": serialize(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Return the layer that `get_config` described."""
        config = dict(config)
        return cls(deserialize(config.pop("layer"), custom_objects), **config)


class TimeDistributed(Wrapper):
    """A layer applied to each step. f[b, t, *s] -> f[b, t, *r]. Source: tf.keras.layers.TimeDistributed.

    The steps of all examples are one batch of the layer inside.
    """

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `TimeDistributed` layer with a `tf.keras.layers.Layer` instance. Received: {layer}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any = None) -> None:
        """Make the weights of the layer inside. Raises ValueError for inputs of fewer than three axes."""
        shapes = nesting.map_structure(TensorShape, input_shape)
        if any((one.rank or 0) < 3 for one in nesting.flatten(shapes)):
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, received: "
                f"{input_shape}"
            )
        super().build(nesting.map_structure(lambda one: TensorShape([one[0], *one.as_list()[2:]]), shapes))

    def call(self, inputs: Any, training: Training = None, mask: TensorLike | None = None) -> Any:
        """Return what the layer inside makes of each step."""
        first = nesting.flatten(inputs)[0]
        batch, steps = (n if n is not None else shape(first)[i] for i, n in enumerate(first.shape.as_list()[:2]))
        given = {}
        if mask is not None and parameters_of(type(self.layer).call).takes_mask:
            given["mask"] = nesting.map_structure(lambda one: _regrouped(one, [-1], 2), mask)
        inner = nesting.map_structure(lambda one: _regrouped(one, [-1], 2), inputs)
        outputs = self.layer(inner, training=training, **given)
        return nesting.map_structure(lambda one: _regrouped(one, [batch, steps], 1), outputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask that the layer inside makes of each step's, or which steps have something."""
        first = nesting.flatten(inputs)[0]
        batch, steps = (n if n is not None else shape(first)[i] for i, n in enumerate(first.shape.as_list()[:2]))
        own = None if mask is None else _regrouped(mask, [-1], 2)
        made = self.layer.compute_mask(nesting.map_structure(lambda one: _regrouped(one, [-1], 2), inputs), own)
        if made is not None:
            return _regrouped(made, [batch, steps], 1)
        while mask is not None and mask.shape.rank > 2:
            mask = reduce_any(mask, axis=-1)
        return mask


def _regrouped(x: Any, leading: list[Any], n: int) -> Any:
    """x with other axes in the place of its first n."""
    rest = [shape(x)[i] if length is None else length for i, length in enumerate(x.shape.as_list()) if i >= n]
    return reshape(x, [*leading, *rest])
