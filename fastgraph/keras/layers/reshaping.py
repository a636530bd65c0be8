"""Layers that move, repeat, pad and cut: Permute, RepeatVector, UpSampling2D, ZeroPadding2D, Cropping2D and kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.tensor import Tensor
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.core import checked_data_format
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.window_arguments import Sizes, sizes
from fastgraph.ops.elementwise import identity
from fastgraph.ops.image_resizing import resize
from fastgraph.ops.movement import expand_dims, shape, transpose
from fastgraph.ops.padding import pad
from fastgraph.ops.tiling import repeat


class Identity(Layer):
    """The inputs as they are. Source: tf.keras.layers.Identity."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Return the inputs."""
        return nesting.map_structure(identity, inputs)


class Permute(Layer):
    """The axes after the first in another order, counted from 1. f[b, *s] -> f[b, *t]. Source: tf.keras.layers.Permute.

    Raises ValueError for axes that are no order of 1, 2, ...
    """

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take({"dims": tuple(dims)})
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                "Invalid permutation argument `dims` for Permute Layer. The set of indices in `dims` must be "
                f"consecutive and start from 1. Received dims={dims}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Tensor) -> Any:
        """Return the inputs with their axes moved."""
        return transpose(inputs, (0, *self.dims))


class RepeatVector(Layer):
    """Each vector `n` times, one after another. f[b, m] -> f[b, n, m]. Source: tf.keras.layers.RepeatVector."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        self._take(locals())
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Tensor) -> Any:
        """Return the vectors, repeated."""
        return repeat(expand_dims(inputs, 1), self.n, axis=1)


class _Spatial(Layer):
    """The base of layers on f[b, *s, c], or with `data_format` "channels_first" f[b, c, *s]."""

    RANK = 2

    def __init__(self, given: dict[str, Any], kwargs: dict[str, Any]) -> None:
        super().__init__(**kwargs)
        formats = {key: checked_data_format(given[key]) for key in ("data_format",) if key in given}
        self._take({**given, **formats})
        self.input_spec = InputSpec(ndim=self.RANK + 2)

    @property
    def _first(self) -> int:
        """The first of the axes in space."""
        return 2 if vars(self).get("data_format") == "channels_first" else 1


class UpSampling2D(_Spatial):
    """Images `size` times as high and wide. f[b, h, w, c] -> f[b, h * size, w * size, c].

    interpolation: "nearest" or another method of tf.image.resize. Source: tf.keras.layers.UpSampling2D.
    """

    def __init__(
        self, size: Sizes = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        size, interpolation = sizes(size, 2, "size"), interpolation_of(interpolation)
        super().__init__({"size": size, "data_format": data_format, "interpolation": interpolation}, kwargs)

    def call(self, inputs: Tensor) -> Any:
        """Return the larger inputs."""
        if vars(self).get("interpolation", "nearest") == "nearest":
            for axis, n in enumerate(self.size if self.RANK > 1 else [self.size]):
                inputs = repeat(inputs, n, axis=self._first + axis)
            return inputs
        images: Any = inputs if self._first == 1 else transpose(inputs, [0, 2, 3, 1])
        now = [shape(images)[1 + i] if n is None else n for i, n in enumerate(images.shape[1:3])]
        made = resize(images, [n * k for n, k in zip(now, self.size, strict=True)], method=self.interpolation)
        return made if self._first == 1 else transpose(made, [0, 3, 1, 2])


class UpSampling1D(UpSampling2D):
    """Each step `size` times, one after another. f[b, t, c] -> f[b, t * size, c]. Source: tf.keras.layers."""

    RANK = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        _Spatial.__init__(self, {"size": int(size)}, kwargs)


class UpSampling3D(UpSampling2D):
    """Volumes `size` times as deep, high and wide. f[b, d, h, w, c] -> the same rank. Source: tf.keras.layers."""

    RANK = 3

    def __init__(self, size: Sizes = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        _Spatial.__init__(self, {"size": sizes(size, 3, "size"), "data_format": data_format}, kwargs)


def _pairs(value: Any, rank: int, name: str) -> Any:
    """Amounts before and after, for each axis in space. Raises ValueError for other numbers of them."""
    if rank == 1:
        return sizes(value, 2, name, allow_zero=True)
    if isinstance(value, int):
        return ((value, value),) * rank
    if not hasattr(value, "__len__"):
        raise ValueError(
            f"`{name}` should be either an int, a tuple of {rank} ints, or a tuple of {rank} tuples of 2 ints. "
            f"Received: {value}."
        )
    if len(value) != rank:
        raise ValueError(f"`{name}` should have {'two' if rank == 2 else rank} elements. Received: {value}.")
    entries = zip(("1st", "2nd", "3rd"), value, strict=False)
    return tuple(sizes(one, 2, f"{place} entry of {name}", allow_zero=True) for place, one in entries)


class ZeroPadding2D(_Spatial):
    """Zeros around images: `padding` on all sides, (rows, columns) or ((top, bottom), (left, right)).

    f[b, h, w, c] -> f[b, h', w', c]. Source: tf.keras.layers.ZeroPadding2D.
    """

    def __init__(self, padding: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        given = {"padding": _pairs(padding, self.RANK, "padding"), "data_format": data_format}
        super().__init__(given if self.RANK > 1 else {"padding": given["padding"]}, kwargs)

    def call(self, inputs: Tensor) -> Any:
        """Return the padded inputs."""
        amounts = [[0, 0] for _ in range(self.RANK + 2)]
        amounts[self._first : self._first + self.RANK] = self.padding if self.RANK > 1 else [self.padding]
        return pad(inputs, amounts)


class ZeroPadding1D(ZeroPadding2D):
    """Zeros before and after the steps. f[b, t, c] -> f[b, t', c]. Source: tf.keras.layers.ZeroPadding1D."""

    RANK = 1


class ZeroPadding3D(ZeroPadding2D):
    """Zeros around volumes, as ZeroPadding2D's around images. f[b, d, h, w, c] -> the same rank. Source: tf.keras."""

    RANK = 3


class Cropping2D(_Spatial):
    """Images without `cropping` pixels at each side, (rows, columns) or ((top, bottom), (left, right)).

    f[b, h, w, c] -> f[b, h', w', c]. Raises ValueError where nothing is left. Source: tf.keras.layers.Cropping2D.
    """

    def __init__(self, cropping: Any = 0, data_format: str | None = None, **kwargs: Any) -> None:
        given = {"cropping": _pairs(cropping, self.RANK, "cropping"), "data_format": data_format}
        super().__init__(given if self.RANK > 1 else {"cropping": given["cropping"]}, kwargs)

    def call(self, inputs: Tensor) -> Any:
        """Return what is left of the inputs."""
        places: list[Any] = [slice(None)] * (self.RANK + 2)
        for axis, (before, after) in enumerate(self.cropping if self.RANK > 1 else [self.cropping]):
            n = inputs.shape[self._first + axis]
            if n is not None and before + after >= n and self.RANK < 3:  # Keras makes volumes without voxels
                raise ValueError(
                    "Argument `cropping` must be greater than the input shape. Received: inputs.shape="
                    f"{inputs.shape}, and cropping={self.cropping}"
                )
            places[self._first + axis] = slice(before, -after if after else None)
        return inputs[tuple(places)]


class Cropping1D(Cropping2D):
    """The steps without some at the beginning and the end. f[b, t, c] -> f[b, t', c]. Source: tf.keras.layers."""

    RANK = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class Cropping3D(Cropping2D):
    """Volumes without some voxels at each side, as Cropping2D. f[b, d, h, w, c] -> the same rank. Source: tf.keras."""

    RANK = 3

    def __init__(self, cropping: Any = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


def interpolation_of(name: str) -> str:
    """Return the method of tf.image.resize that an argument `interpolation` names. Raises NotImplementedError."""
    known = ("area", "bicubic", "bilinear", "gaussian", "lanczos3", "lanczos5", "mitchellcubic", "nearest")
    if str(name).lower() not in known:
        raise NotImplementedError(f"Value not recognized for `interpolation`: {name}. Supported values are: {known}")
    return str(name).lower()
