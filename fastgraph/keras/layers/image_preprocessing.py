"""Layers of images: Resizing, CenterCrop, and changes by chance: RandomFlip, RandomRotation and kin, as in Keras 2.

Rule: what is left to chance is drawn in training only, one draw for each image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.graph.control_flow import cond
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.keras.layers.regularization import in_training
from fastgraph.keras.layers.reshaping import interpolation_of
from fastgraph.ops.elementwise import cast, clip_by_value, minimum, zeros_like
from fastgraph.ops.exponentials import cos, sin
from fastgraph.ops.image_adjustments import random_contrast
from fastgraph.ops.image_geometry import image_projective_transform
from fastgraph.ops.image_orientation import random_flip_left_right, random_flip_up_down
from fastgraph.ops.image_resizing import resize
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import expand_dims, shape, squeeze
from fastgraph.ops.random_ops import uniform
from fastgraph.ops.reduction import reduce_all


def smart_resize(x: TensorLike, size: Sequence[int], interpolation: str = "bilinear") -> Tensor | Any:
    """Return images of another size, cut first so that nothing is distorted. [*b, h, w, c] -> f32[*b, *size, c].

    Raises ValueError for another rank than 3 or 4. Source: tf.keras.preprocessing.image.smart_resize.
    """
    if len(size) != 2:
        raise ValueError(f"Expected `size` to be a tuple of 2 integers, but got: {size}.")
    image = convert_to_tensor(x)
    if image.shape.rank not in (3, 4):
        raise ValueError(
            "Expected an image array with shape `(height, width, channels)`, or `(batch_size, height, width, "
            f"channels)`, but got input with incorrect rank, of shape {image.shape}."
        )
    height, width = _sides(image)

    def most(side: Any, other: Any, new: float, by: float) -> Any:
        if isinstance(other, int):
            return minimum(side, int(np.float32(other * new) / np.float32(by)))
        return minimum(side, cast(cast(other * new, "float32") / float(by), "int32"))

    rows, columns = most(height, width, size[0], size[1]), most(width, height, size[1], size[0])
    cut = _cut(image, (height - rows) // 2, (width - columns) // 2, rows, columns)
    resized = resize(cut, size, method=interpolation_of(interpolation))
    return resized.numpy() if isinstance(x, np.ndarray) else resized


def _sides(images: Tensor) -> list[Any]:
    """Height and width: numbers where they are known."""
    return [shape(images)[i] if images.shape[i] is None else images.shape[i] for i in (-3, -2)]


def _cut(images: Tensor, top: Any, left: Any, height: Any, width: Any) -> Any:
    return images[..., top : top + height, left : left + width, :]


class Resizing(Layer):
    """Images of another size. [*b, h, w, c] -> f[*b, height, width, c]. Source: tf.keras.layers.Resizing.

    interpolation: a method of tf.image.resize. crop_to_aspect_ratio: they are cut first, so that nothing is distorted.
    """

    def __init__(
        self, height: int, width: int, interpolation: str = "bilinear", crop_to_aspect_ratio: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        interpolation = interpolation_of(interpolation)
        self._take(locals())

    def call(self, inputs: Any) -> Tensor:
        """Return the resized images."""
        images = cast(convert_to_tensor(inputs), self._dtype if self.interpolation == "nearest" else "float32")
        size = [self.height, self.width]
        if self.crop_to_aspect_ratio:
            return cast(smart_resize(images, size, self.interpolation), self._dtype)
        return cast(resize(images, size, method=self.interpolation), self._dtype)


class CenterCrop(Layer):
    """The middle of images; of smaller ones as much as has these proportions, resized.

    [*b, h, w, c] -> f[*b, height, width, c]. Source: tf.keras.layers.CenterCrop.
    """

    def __init__(self, height: int, width: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self._take(locals())

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the parts of the images."""
        images: Any = cast(convert_to_tensor(inputs), self._dtype)
        size = [self.height, self.width]
        over: list[Any] = [side - n for side, n in zip(_sides(images), size, strict=True)]
        return cond(
            reduce_all(stack(over) >= 0),
            lambda: _cut(images, over[0] // 2, over[1] // 2, *size),
            lambda: cast(smart_resize(images, size), self._dtype),
        )


class _Random(Layer):
    """The base of layers that change images by chance in training: `_changed(images)`."""

    def __init__(self, given: dict[str, Any]) -> None:
        kwargs = given.pop("kwargs")
        super().__init__(**kwargs)
        self._take(given)
        modes = {"fill_mode": ("reflect", "wrap", "constant", "nearest"), "interpolation": ("nearest", "bilinear")}
        for name, known in modes.items():
            value = given.get(name, "nearest")
            if value not in known:
                raise NotImplementedError(f"Unknown `{name}` {value}. Only {', '.join(known)} are supported.")

    def call(self, inputs: Any, training: Training = True) -> Tensor:
        """Return the images, changed in training. [*b, h, w, c] -> the same."""
        images = cast(convert_to_tensor(inputs), self._dtype)

        def changed() -> Any:
            made = self._changed(images)
            made.set_shape(images.shape)
            return made

        return in_training(training, changed, images)

    def _changed(self, images: Tensor) -> Any:
        raise NotImplementedError

    def _bounds(self, name: str, most: float = 1.0) -> tuple[float, float]:
        """A factor as its least and greatest value. Raises ValueError for one outside of what is allowed."""
        factor = getattr(self, name)
        low, high = factor if isinstance(factor, (tuple, list)) else (-factor, factor)
        if high < low:
            raise ValueError(f"`{name}` cannot have upper bound less than lower bound, got {factor}")
        if low < -1.0 or high > most:
            raise ValueError(f"`{name}` argument must have values between [-1, 1]. Received: {name}={factor}")
        return low, high

    def _drawn(self, images: Tensor, bounds: Any, scale: float = 1.0, base: float = 0.0) -> Any:
        """A number for each image. f32[b]."""
        low, high = (base + scale * one for one in bounds)
        return uniform([shape(images)[0]], low, high, seed=self.seed)


class RandomFlip(_Random):
    """Images turned over by chance in training: mode "horizontal", "vertical" or "horizontal_and_vertical"."""

    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(locals())
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"RandomFlip layer {self.name} received an unknown mode argument {mode}")

    def _changed(self, images: Tensor) -> Any:
        if "horizontal" in self.mode:
            images = random_flip_left_right(images, self.seed)
        return random_flip_up_down(images, self.seed) if "vertical" in self.mode else images


class _Transformed(_Random):
    """The base of changes that are projective transforms."""

    def _changed(self, images: Tensor) -> Any:
        batch = expand_dims(images, 0) if images.shape.rank == 3 else images
        sides = _sides(batch)
        rows = [*self._rows(batch, *(cast(side, "float32") for side in sides)), 0.0, 0.0]
        whole = sum(zeros_like(row) for row in rows if isinstance(row, Tensor))
        made = image_projective_transform(
            batch, stack([whole + row for row in rows], axis=1), stack(sides), self.fill_value,
            self.interpolation.upper(), self.fill_mode.upper(),
        )  # fmt: skip
        return squeeze(made, [0]) if images.shape.rank == 3 else made

    def _rows(self, images: Tensor, height: Any, width: Any) -> list[Any]:
        """The first six numbers of each transform, f32[b] or alike for all."""
        raise NotImplementedError


class RandomRotation(_Transformed):
    """Images turned in training by shares of a whole turn drawn from the factor. Source: tf.keras.layers."""

    def __init__(
        self, factor: Any, fill_mode: str = "reflect", interpolation: str = "bilinear", seed: int | None = None,
        fill_value: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(locals())
        self._turn = factor if isinstance(factor, (tuple, list)) else (-factor, factor)
        if self._turn[1] < self._turn[0]:
            raise ValueError(f"`factor` argument cannot have a negative value. Received: factor={factor}")

    def _rows(self, images: Tensor, height: Any, width: Any) -> list[Any]:
        angle = self._drawn(images, self._turn, 2.0 * math.pi)
        c, s, h, w = cos(angle), sin(angle), height - 1.0, width - 1.0
        return [c, -s, (w - (c * w - s * h)) / 2.0, s, c, (h - (s * w + c * h)) / 2.0]


class RandomZoom(_Transformed):
    """Images seen from nearer (negative factors) or farther in training. width_factor None: as the height.

    Source: tf.keras.layers.RandomZoom.
    """

    def __init__(
        self, height_factor: Any, width_factor: Any = None, fill_mode: str = "reflect",
        interpolation: str = "bilinear", seed: int | None = None, fill_value: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(locals())
        self._down = self._bounds("height_factor")
        self._across = None if width_factor is None else self._bounds("width_factor", math.inf)

    def _rows(self, images: Tensor, height: Any, width: Any) -> list[Any]:
        down = self._drawn(images, self._down, base=1.0)
        across = down if self._across is None else self._drawn(images, self._across, base=1.0)
        x, y = (width - 1.0) / 2.0 * (1.0 - across), (height - 1.0) / 2.0 * (1.0 - down)
        return [across, 0.0, x, 0.0, down, y]


class RandomTranslation(_Transformed):
    """Images moved down and to the right in training by shares of their height and width. Source: tf.keras.layers."""

    def __init__(
        self, height_factor: Any, width_factor: Any, fill_mode: str = "reflect", interpolation: str = "bilinear",
        seed: int | None = None, fill_value: float = 0.0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(locals())
        self._down, self._across = self._bounds("height_factor"), self._bounds("width_factor")

    def _rows(self, images: Tensor, height: Any, width: Any) -> list[Any]:
        down = self._drawn(images, self._down) * height
        return [1.0, 0.0, -self._drawn(images, self._across) * width, 0.0, 1.0, -down]


class RandomBrightness(_Random):
    """Images brighter or darker in training by a share, drawn from the factor, of the value range.

    factor, value_range: two numbers, or one for -factor and factor. The result is in the range. Source:
    tf.keras.layers.RandomBrightness.
    """

    def __init__(
        self, factor: float | Sequence[float], value_range: Sequence[float] = (0, 255), seed: int | None = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        ends = [-factor, factor] if isinstance(factor, (int, float)) else factor
        if not isinstance(ends, (tuple, list)) or len(ends) != 2 or max(map(abs, ends)) > 1.0:
            raise ValueError(
                "The `factor` argument should be a number (or a list of two numbers) in the range [-1.0, 1.0]. "
                f"Got {factor}"
            )
        if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
            raise ValueError(f"The `value_range` argument should be a list of two numbers. Got {value_range}")
        factor, value_range = sorted(ends), sorted(value_range)
        super().__init__({"factor": factor, "value_range": value_range, "seed": seed, "kwargs": kwargs})

    def _changed(self, images: Tensor) -> Any:
        low, high = self.value_range
        rows = [] if images.shape.rank == 3 else [shape(images)[0]]
        by = uniform([*rows, 1, 1, 1], *self.factor, seed=self.seed) * (high - low)
        return clip_by_value(images + cast(by, images.dtype), low, high)


class RandomContrast(_Random):
    """Images with another contrast in training: (x - mean) * c + mean, c from [1 - lower, 1 + upper].

    factor: lower and upper, or one number for both. The result is between 0 and 255. Source: tf.keras.layers.
    """

    def __init__(self, factor: float | Sequence[float], seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(locals())
        self._ends = factor if isinstance(factor, (tuple, list)) else (factor, factor)
        if min(self._ends) < 0.0 or self._ends[0] > 1.0:
            raise ValueError(
                f"`factor` argument cannot have negative values or values greater than 1. Received: factor={factor}"
            )

    def _changed(self, images: Tensor) -> Any:
        return clip_by_value(random_contrast(images, 1.0 - self._ends[0], 1.0 + self._ends[1], self.seed), 0, 255)
