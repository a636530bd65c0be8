"""Pooling: the greatest or mean element of each window, or of all positions.

Rule: a class per kind and rank, because Keras names them so; one base does the work of each kind.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.tensor import Tensor
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.window_arguments import Sizes, layout, padding_of, sizes
from fastgraph.ops.elementwise import cast
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.poolings import pool
from fastgraph.ops.reduction import reduce_max, reduce_mean, reduce_sum


class _Pooling(Layer):
    """The base of those over windows."""

    RANK, KIND = 2, "MAX"

    def __init__(
        self, pool_size: Sizes = 2, strides: Sizes | None = None, padding: str = "valid", data_format: str | None =
        None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._take(locals())
        self.pool_size = sizes(pool_size, self.RANK, "pool_size")
        self.strides = sizes(pool_size if strides is None else strides, self.RANK, "strides")
        self.padding = padding_of(padding)
        self.data_format, self._layout = layout(data_format, self.RANK)
        self.input_spec = InputSpec(ndim=self.RANK + 2)

    def call(self, inputs: Tensor) -> Any:
        """Return the pooled inputs."""
        return pool(inputs, self.pool_size, self.KIND, self.strides, self.padding.upper(), self._layout)


class MaxPooling1D(_Pooling):
    """The greatest of each window. f[n, w, c] -> f[n, w', c]. Source: tf.keras.layers.MaxPooling1D."""

    RANK = 1


class MaxPooling2D(_Pooling):
    """The greatest of each window. f[n, h, w, c] -> f[n, h', w', c]. Source: tf.keras.layers.MaxPooling2D.

    Args:
        pool_size: The window's extents, an int or two.
        strides: How far the window moves, an int or two; None: pool_size.
        padding: "valid": windows inside the image only; "same": those over its border, too.
        data_format: "channels_last" (None) or "channels_first".
        kwargs: What `tf.keras.layers.Layer` takes: name, dtype, trainable, input_shape.

    Raises:
        ValueError: The inputs are of another rank.

    Examples:
        >>> image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
        >>> tf.keras.layers.MaxPool2D()(image)[0, :, :, 0]
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[ 5.,  7.],
               [13., 15.]], dtype=float32)>
    """


class MaxPooling3D(_Pooling):
    """The greatest of each window. f[n, d, h, w, c] -> f[n, d', h', w', c]. Source: tf.keras.layers.MaxPooling3D."""

    RANK = 3


class AveragePooling1D(_Pooling):
    """The mean of each window. f[n, w, c] -> f[n, w', c]. Source: tf.keras.layers.AveragePooling1D."""

    RANK, KIND = 1, "AVG"


class AveragePooling2D(_Pooling):
    """The mean of each window, of what of it is inside. f[n, h, w, c] -> f[n, h', w', c].

    strides: `pool_size` if not given. Source: tf.keras.layers.AveragePooling2D.
    """

    KIND = "AVG"


class AveragePooling3D(_Pooling):
    """The mean of each window. f[n, d, h, w, c] -> f[n, d', h', w', c]. Source: tf.keras.layers.AveragePooling3D."""

    RANK, KIND = 3, "AVG"


class _GlobalPooling(Layer):
    """The base of those over all positions."""

    RANK = 2

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        self.data_format, _ = layout(data_format, self.RANK)
        self.input_spec = InputSpec(ndim=self.RANK + 2)

    @property
    def _axes(self) -> list[int]:
        first = 1 if self.data_format == "channels_last" else 2
        return list(range(first, first + self.RANK))


class _GlobalAverage(_GlobalPooling):
    def call(self, inputs: Tensor) -> Any:
        """Return the means."""
        return reduce_mean(inputs, axis=self._axes, keepdims=self.keepdims)


class _GlobalMax(_GlobalPooling):
    def call(self, inputs: Tensor) -> Any:
        """Return the greatest elements."""
        return reduce_max(inputs, axis=self._axes, keepdims=self.keepdims)


class GlobalAveragePooling1D(_GlobalAverage):
    """The mean over all steps, or those of a mask. f[n, w, c] -> f[n, c]. Source: tf.keras.layers."""

    RANK = 1

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(data_format, keepdims, **kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return None: there are no steps left."""
        return None

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return the means. mask: b[n, w]."""
        if mask is None:
            return super().call(inputs)
        weights = expand_dims(cast(mask, inputs.dtype), 2 if self.data_format == "channels_last" else 1)
        total = reduce_sum(inputs * weights, axis=self._axes, keepdims=self.keepdims)
        return total / reduce_sum(weights, axis=self._axes, keepdims=self.keepdims)


class GlobalAveragePooling2D(_GlobalAverage):
    """The mean over all pixels. f[n, h, w, c] -> f[n, c]. Source: tf.keras.layers.GlobalAveragePooling2D."""


class GlobalAveragePooling3D(_GlobalAverage):
    """The mean over all positions. f[n, d, h, w, c] -> f[n, c]. Source: tf.keras.layers.GlobalAveragePooling3D."""

    RANK = 3


class GlobalMaxPooling1D(_GlobalMax):
    """The greatest of all steps. f[n, w, c] -> f[n, c]. Source: tf.keras.layers.GlobalMaxPooling1D."""

    RANK = 1


class GlobalMaxPooling2D(_GlobalMax):
    """The greatest of all pixels. f[n, h, w, c] -> f[n, c]. Source: tf.keras.layers.GlobalMaxPooling2D."""


class GlobalMaxPooling3D(_GlobalMax):
    """The greatest of all positions. f[n, d, h, w, c] -> f[n, c]. Source: tf.keras.layers.GlobalMaxPooling3D."""

    RANK = 3
