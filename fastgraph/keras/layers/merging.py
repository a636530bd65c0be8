"""Layers that make one tensor of several: Concatenate, Add, Subtract, Multiply, Average, Maximum, Minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.tensor import Tensor
from fastgraph.keras.layers.base import Layer
from fastgraph.ops import elementwise
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.elementwise import ones_like
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.reduction import reduce_all


class _Merge(Layer):
    """Takes a list of tensors."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Sequence[ShapeLike]) -> None:
        """Check that there are several inputs."""
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < 1:
            raise ValueError(
                f"A merge layer should be called on a list of at least 1 input. Received: input_shape={input_shape}"
            )
        self.built = True

    def compute_mask(self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None) -> Any:
        """Return where all inputs that have a mask have something. b[*s]."""
        masks = [one for one in mask or () if one is not None]
        return reduce(logical_and, masks) if masks else None


class Concatenate(_Merge):
    """The inputs one after another along `axis`. Source: tf.keras.layers.Concatenate."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the joined inputs."""
        return concat(inputs, axis=self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the joined masks, without the last axis: there where all features have something."""
        if not any(one is not None for one in mask or ()):
            return None
        masks = []
        for given, one in zip(inputs, mask, strict=True):
            if one is None:
                one = ones_like(given, "bool")
            elif one.shape.rank < given.shape.rank:
                one = expand_dims(one, -1)
            masks.append(one)
        return reduce_all(concat(masks, axis=self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "axis": self.axis}


class Add(_Merge):
    """The sum of the inputs. Source: tf.keras.layers.Add."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the sum."""
        return reduce(elementwise.add, inputs)


class Subtract(_Merge):
    """The first of two inputs less the second. Raises ValueError unless there are two."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the difference."""
        if len(inputs) != 2:
            raise ValueError(f"A `Subtract` layer should be called on exactly 2 inputs. Received: inputs={inputs}")
        return elementwise.subtract(*inputs)


class Multiply(_Merge):
    """The product of the inputs. Source: tf.keras.layers.Multiply."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the product."""
        return reduce(elementwise.multiply, inputs)


class Average(_Merge):
    """The mean of the inputs. Source: tf.keras.layers.Average."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the mean."""
        return reduce(elementwise.add, inputs) / len(inputs)


class Maximum(_Merge):
    """The greatest of the inputs, element by element. Source: tf.keras.layers.Maximum."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the greatest."""
        return reduce(elementwise.maximum, inputs)


class Minimum(_Merge):
    """The least of the inputs, element by element. Source: tf.keras.layers.Minimum."""

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the least."""
        return reduce(elementwise.minimum, inputs)


def _function(kind: type[_Merge]) -> Callable[..., Any]:
    def merged(inputs: Sequence[Tensor], **kwargs: Any) -> Any:
        return kind(**kwargs)(inputs)

    merged.__name__ = merged.__qualname__ = kind.__name__.lower()
    merged.__doc__ = f"Return what a new {kind.__name__} layer makes of the inputs."
    return merged


add, average, concatenate = _function(Add), _function(Average), _function(Concatenate)
maximum, minimum, multiply, subtract = (_function(kind) for kind in (Maximum, Minimum, Multiply, Subtract))
