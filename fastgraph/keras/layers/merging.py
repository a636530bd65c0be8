"""Layers that make one tensor of several: Concatenate, Add, Subtract, Multiply, Average, Maximum, Minimum."""

from __future__ import annotations

from functools import reduce
from typing import Any

from fastgraph.keras.layers.base import Layer
from fastgraph.ops.elementwise import add, maximum, minimum, multiply, subtract
from fastgraph.ops.joining import concat


class _Merge(Layer):
    """Takes a list of tensors."""

    def build(self, input_shape: Any) -> None:
        """Check that there are several inputs."""
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 1:
            raise ValueError(
                f"A merge layer should be called on a list of at least 1 input. Received: input_shape={input_shape}"
            )
        self.built = True


class Concatenate(_Merge):
    """The inputs one after another along `axis`. Source: tf.keras.layers.Concatenate."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        """Return the joined inputs."""
        return concat(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "axis": self.axis}


class Add(_Merge):
    """The sum of the inputs. Source: tf.keras.layers.Add."""

    def call(self, inputs: Any) -> Any:
        """Return the sum."""
        return reduce(add, inputs)


class Subtract(_Merge):
    """The first of two inputs less the second. Raises ValueError unless there are two."""

    def call(self, inputs: Any) -> Any:
        """Return the difference."""
        if len(inputs) != 2:
            raise ValueError(f"A `Subtract` layer should be called on exactly 2 inputs. Received: inputs={inputs}")
        return subtract(*inputs)


class Multiply(_Merge):
    """The product of the inputs. Source: tf.keras.layers.Multiply."""

    def call(self, inputs: Any) -> Any:
        """Return the product."""
        return reduce(multiply, inputs)


class Average(_Merge):
    """The mean of the inputs. Source: tf.keras.layers.Average."""

    def call(self, inputs: Any) -> Any:
        """Return the mean."""
        return reduce(add, inputs) / len(inputs)


class Maximum(_Merge):
    """The greatest of the inputs, element by element. Source: tf.keras.layers.Maximum."""

    def call(self, inputs: Any) -> Any:
        """Return the greatest."""
        return reduce(maximum, inputs)


class Minimum(_Merge):
    """The least of the inputs, element by element. Source: tf.keras.layers.Minimum."""

    def call(self, inputs: Any) -> Any:
        """Return the least."""
        return reduce(minimum, inputs)
