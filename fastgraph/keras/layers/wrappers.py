"""Layers around a layer: Wrapper, TimeDistributed, SpectralNormalization. Meaning and messages of Keras 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.keras.initializers import TruncatedNormal
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training, parameters_of
from fastgraph.keras.layers.serialization import deserialize, serialize
from fastgraph.ops.elementwise import stop_gradient
from fastgraph.ops.gathering import where
from fastgraph.ops.matmul import matmul
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.nn_ops import l2_normalize
from fastgraph.ops.reduction import reduce_all, reduce_any


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


class SpectralNormalization(Wrapper):
    """A layer whose kernel, or embeddings, are divided by an estimate of their largest singular value in training.

    Raises ValueError for `power_iterations` below 1, or for a layer without such a weight.
    Source: tf.keras.layers.SpectralNormalization; Miyato et al. 2018.
    """

    def __init__(self, layer: Layer, power_iterations: int = 1, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        if power_iterations <= 0:
            raise ValueError(
                f"`power_iterations` should be greater than zero. Received: `power_iterations={power_iterations}`"
            )
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        """Make the weights of the layer inside, and the vector that the estimate goes on with."""
        super().build(input_shape)
        kernel: Any = getattr(self.layer, "kernel", None)
        if kernel is None:
            kernel = getattr(self.layer, "embeddings", None)
        if kernel is None:
            raise ValueError(f"{type(self.layer).__name__} object has no attribute 'kernel' nor 'embeddings'")
        self.kernel = kernel
        self.vector_u = self.add_weight(
            "vector_u", [1, kernel.shape[-1]], kernel.dtype, TruncatedNormal(stddev=0.02), trainable=False
        )

    def call(self, inputs: Any, training: Training = None) -> Any:
        """Return what the layer inside makes, of a kernel that was divided if `training`."""
        if training:
            self.normalize_weights()
        return self.layer(inputs)

    def normalize_weights(self) -> None:
        """Divide the kernel by the estimate, and keep the vector of that."""
        weights = reshape(self.kernel, [-1, self.kernel.shape[-1]])
        u: Any = self.vector_u.read_value()
        for _ in range(self.power_iterations):
            v = stop_gradient(l2_normalize(matmul(u, weights, transpose_b=True)))
            u = stop_gradient(l2_normalize(matmul(v, weights)))
        sigma = matmul(matmul(v, weights), u, transpose_b=True)
        is_empty = reduce_all(weights == 0.0)  # stays as it is
        self.vector_u.assign(where(is_empty, self.vector_u, u))
        self.kernel.assign(where(is_empty, self.kernel, reshape(weights / sigma, self.kernel.shape)))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {"power_iterations": self.power_iterations, **super().get_config()}


def _regrouped(x: Any, leading: list[Any], n: int) -> Any:
    """x with other axes in the place of its first n."""
    rest = [shape(x)[i] if length is None else length for i, length in enumerate(x.shape.as_list()) if i >= n]
    return reshape(x, [*leading, *rest])
