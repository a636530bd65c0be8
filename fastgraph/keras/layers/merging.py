"""Layers that make one tensor of several: Concatenate, Add, Subtract, Multiply, Average, Maximum, Minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor
from fastgraph.keras.layers.base import Layer
from fastgraph.ops import elementwise
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.einsum import einsum
from fastgraph.ops.elementwise import ones_like
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.nn_ops import l2_normalize
from fastgraph.ops.reduction import reduce_all


class _Merge(Layer):
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
        self._take(locals())

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


class Dot(_Merge):
    """Products of two inputs summed along one axis of each, batch by batch. f[b, *s, k], f[b, *t, k] -> f[b, *s, *t].

    axes: an axis of both, or one of each. normalize: vectors along them are made of length 1: cosines. Raises
    ValueError for lengths that differ. Source: tf.keras.layers.Dot.
    """

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())
        told = "Invalid format for argument `axes`: "
        if not isinstance(axes, (int, list, tuple)):
            raise TypeError(f"Invalid type for argument `axes`: it should be a list or an int. Received: axes={axes}")
        if not isinstance(axes, int):
            if len(axes) != 2:
                raise ValueError(f"{told}it should contain two elements. Received: axes={axes}")
            if not all(isinstance(axis, int) for axis in axes):
                raise ValueError(f"{told}list elements should be integers. Received: axes={axes}")

    def _places(self, ranks: Sequence[int]) -> list[int]:
        given = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        return [axis % rank if axis < 0 else axis for axis, rank in zip(given, ranks, strict=True)]

    def build(self, input_shape: Sequence[ShapeLike]) -> None:
        """Check that the lengths of both axes are the same."""
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) != 2:
            raise ValueError(f"A `Dot` layer should be called on a list of 2 inputs. Received: {input_shape=}")
        dims = [TensorShape(one).as_list() for one in input_shape]
        axes = self._places([len(one) for one in dims])
        lengths = [one[axis] for one, axis in zip(dims, axes, strict=True)]
        if lengths[0] != lengths[1]:
            raise ValueError(
                f"Incompatible input shapes: axis values {lengths[0]} (at axis {axes[0]}) != {lengths[1]} (at axis "
                f"{axes[1]}). Full input shapes: {tuple(dims[0])}, {tuple(dims[1])}"
            )
        self.built = True

    def call(self, inputs: Sequence[Tensor]) -> Any:
        """Return the products' sums; of two matrices f[b, 1]."""
        axes = self._places([one.shape.rank for one in inputs])  # type: ignore[misc]
        if self.normalize:
            inputs = [l2_normalize(one, axis=axis) for one, axis in zip(inputs, axes, strict=True)]
        letters = iter("abcdefghijklm")
        terms = [["z", *(next(letters) for _ in range(one.shape.rank - 1))] for one in inputs]  # type: ignore[operator]
        for term, axis in zip(terms, axes, strict=True):
            term[axis] = "k"
        out = "z" + "".join(letter for term in terms for letter in term[1:] if letter != "k")
        product = einsum(f"{''.join(terms[0])},{''.join(terms[1])}->{out}", *inputs)
        return expand_dims(product, -1) if len(out) == 1 else product

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return None: the axes are others."""


def dot(inputs: Sequence[Tensor], axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> Any:
    """Return what a new Dot layer makes of the inputs."""
    return Dot(axes, normalize, **kwargs)(inputs)


def _function(kind: type[_Merge]) -> Callable[..., Any]:
    def merged(inputs: Sequence[Tensor], **kwargs: Any) -> Any:
        return kind(**kwargs)(inputs)

    merged.__name__ = merged.__qualname__ = kind.__name__.lower()
    merged.__doc__ = f"Return what a new {kind.__name__} layer makes of the inputs."
    return merged


add, average, concatenate = _function(Add), _function(Average), _function(Concatenate)
maximum, minimum, multiply, subtract = (_function(kind) for kind in (Maximum, Minimum, Multiply, Subtract))
