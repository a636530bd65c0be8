"""Colours and edges of images: grey, hue and saturation, Sobel's filter.

Rule: colours are the last axis; integers count from 0 to their greatest, floats from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float16, float32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import FailedPreconditionError
from fastgraph.ops.arguments import as_tensor, of_dtypes
from fastgraph.ops.casts import saturate_cast
from fastgraph.ops.comparison import equal, greater, less
from fastgraph.ops.convolutions import depthwise_conv2d
from fastgraph.ops.deferred_calls import of_known_ranks
from fastgraph.ops.division import floormod
from fastgraph.ops.elementwise import abs, cast, clip_by_value, maximum, minimum, select, zeros_like_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.matmul import extents_of, tensordot
from fastgraph.ops.movement import expand_dims, reshape
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_max, reduce_min
from fastgraph.ops.runtime_checks import with_extents
from fastgraph.ops.tiling import tile

#: How bright red, green and blue look.
_BRIGHTNESS = (0.2989, 0.5870, 0.1140)


@public("image.convert_image_dtype")
def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Any:
    """Images of another dtype, scaled: integers count to their greatest, floats from 0 to 1. t[*s] -> dtype[*s].

    saturate: numbers out of range go to its ends before they become integers. Raises: AttributeError for other dtypes.
    Source: tf.image.convert_image_dtype.
    """
    x = as_tensor(image)
    kind = as_dtype(dtype)
    for each, what in ((x.dtype, "image dtype"), (kind, "dtype")):
        if not each.is_floating and not each.is_integer:
            raise AttributeError(f"{what} must be either floating point or integer")
    if kind == x.dtype:
        return x
    if not x.dtype.is_integer:
        if kind.is_floating:
            return cast(x, kind)
        wide = cast(x, float32) if x.dtype.size < 4 and kind.size > 2 else x  # float16 ends at 65504
        scaled = wide * (float(kind.max) + 0.5)
        return saturate_cast(scaled, kind) if saturate else cast(scaled, kind)
    if kind.is_floating:
        return cast(x, kind) * (1.0 / x.dtype.max)
    if x.dtype.max > kind.max:
        return cast(x // ((int(x.dtype.max) + 1) // (int(kind.max) + 1)), kind)
    wide = saturate_cast(x, kind) if saturate else cast(x, kind)
    return wide * ((int(kind.max) + 1) // (int(x.dtype.max) + 1))


@public("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Any:
    """Brightness of each pixel, as it looks. t[*s, 3] -> t[*s, 1]. Source: tf.image.rgb_to_grayscale."""
    x = as_tensor(images)
    wide = convert_image_dtype(x, float32)
    grey = expand_dims(tensordot(wide, np.array(_BRIGHTNESS, np.float32), [-1, -1]), -1)
    return convert_image_dtype(grey, x.dtype)


@public("image.grayscale_to_rgb")
@of_known_ranks
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Any:
    """Grey pixels as three equal colours. t[*s, 1] -> t[*s, 3].

    Raises: ValueError if the last axis is not 1. Source: tf.image.grayscale_to_rgb.
    """
    x = as_tensor(images)
    if len(x.shape) < 2:
        raise ValueError(f"A grayscale image (shape {x.shape}) must be at least two-dimensional.")
    if x.shape[-1] not in (1, None):
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    last = len(x.shape) - 1
    if x.shape[-1] is None:
        x = with_extents(x, {last: 1})
    return tile(x, [1] * last + [3])


def _colours(images: TensorLike, op: str) -> Any:
    """Images of floats with three channels. Raises: FailedPreconditionError, in a graph ValueError, for others."""
    x = of_dtypes(as_tensor(images), "float16 bfloat16 float32 float64")
    if x.shape.rank == 0:
        raise invalid("input must be at least 1D[]", op, x.shape)
    if x.shape.rank is not None and x.shape[-1] not in (3, None):
        if current_trace() is not None:
            raise misfit(f"Dimension must be 3 but is {x.shape[-1]}", op, x.shape)
        text = f"input must have 3 channels but input only has {x.shape[-1]} channels. [Op:{op}]"
        raise FailedPreconditionError(None, None, text)
    return x


@public("image.rgb_to_hsv")
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Any:
    """Hue, saturation and value of red, green and blue from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.rgb_to_hsv.
    """
    hue, low, value = _hue_and_range(_colours(images, "RGBToHSV"))
    none = zeros_like_p(value)
    saturation = select(greater(value, 0.0), (value - low) / select(greater(value, 0.0), value, none + 1.0), none)
    return stack([hue, saturation, value], axis=-1)


def _hue_and_range(x: Tensor) -> tuple[Any, Any, Any]:
    """(hue from 0 to 1, the least, the greatest) of each pixel's red, green and blue. f[*s, 3] -> f[*s] each."""
    red, green, blue = unstack(x, 3, axis=-1)
    value, low = reduce_max(x, -1), reduce_min(x, -1)
    span, none = value - low, zeros_like_p(value)
    sixth = 1.0 / (6.0 * select(greater(span, 0.0), span, none + 1.0))
    hue = select(
        equal(red, value),
        (green - blue) * sixth,
        select(equal(green, value), (blue - red) * sixth + 2.0 / 6.0, (red - green) * sixth + 4.0 / 6.0),
    )
    hue = select(greater(span, 0.0), hue, none)
    return select(less(hue, 0.0), hue + 1.0, hue), low, value


@public("image.hsv_to_rgb")
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Any:
    """Red, green and blue of hue, saturation and value from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.hsv_to_rgb.
    """
    hue, saturation, value = unstack(_colours(images, "HSVToRGB"), 3, axis=-1)
    return stack([(1.0 - saturation + saturation * share) * value for share in _shares(hue)], axis=-1)


def _shares(hue: Tensor) -> list[Any]:
    """Shares of red, green and blue of a hue from 0 to 1, each from 0 to 1."""
    six = hue * 6.0
    shares = (abs(six - 3.0) - 1.0, 2.0 - abs(six - 2.0), 2.0 - abs(six - 4.0))
    return [clip_by_value(each, 0.0, 1.0) for each in shares]


def _adjusted(
    image: TensorLike, number: TensorLike, what: str, op: str, change: Callable[[Tensor, Tensor], Tensor]
) -> Any:
    """Return what `change` makes of an image of floats and a number, in the image's dtype.

    Raises: InvalidArgumentError, or ValueError in a graph, for a rank below 3; for other channels or several numbers.
    """
    x = as_tensor(image)
    rank = x.shape.rank
    if rank is not None and rank < 3:
        raise invalid(f"input must be at least 3-D, got shape{shape_text(x.shape.as_list())}", op, x.shape)
    if rank is not None and x.shape[-1] not in (3, None):
        raise invalid(f"input must have 3 channels but instead has {x.shape[-1]} channels.", op)
    by = of_dtypes(as_tensor(number, float32), "float32")
    if by.shape.rank not in (0, None):
        raise invalid(f"{what} must be scalar: {shape_text(by.shape.as_list())}", op)
    wide = x if x.dtype in (float16, float32) else convert_image_dtype(x, float32)
    return convert_image_dtype(change(wide, cast(by, wide.dtype)), x.dtype)


def _turned(x: Tensor, by: Tensor) -> Any:
    hue, low, value = _hue_and_range(x)
    shares = _shares(floormod(hue + by, cast(1.0, hue.dtype)))
    return stack([low + (value - low) * share for share in shares], axis=-1)


def _saturated(x: Tensor, by: Tensor) -> Any:
    """x with each colour's distance from the greatest times a number: as far as the saturation stays from 0 to 1."""
    value = reduce_max(x, -1, keepdims=True)
    span = value - reduce_min(x, -1, keepdims=True)
    most = select(
        greater(span, 0.0), maximum(value, 0.0) / select(greater(span, 0.0), span, zeros_like_p(span) + 1.0), 0.0
    )
    return value - (value - x) * minimum(maximum(by, 0.0), most)


@public("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Any:
    """Turn the hue by `delta`, from -1 to 1. t[*s, 3] -> t[*s, 3].

    Raises: ValueError in eager mode for another delta; InvalidArgumentError for other channels, ranks below 3 (in a
    graph ValueError) and several deltas. Source: tf.image.adjust_hue.
    """
    if current_trace() is None and np.ndim(delta) == 0 and not -1 <= delta <= 1:  # type: ignore[operator, arg-type]
        raise ValueError("delta must be in the interval [-1, 1]")
    return _adjusted(image, delta, "delta", "AdjustHue", _turned)


@public("image.adjust_saturation")
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Any:
    """Multiply the saturation, up to 1. t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError as adjust_hue. Source: tf.image.adjust_saturation.
    """
    return _adjusted(image, saturation_factor, "scale", "AdjustSaturation", _saturated)


@public("image.sobel_edges")
@of_known_ranks
def sobel_edges(image: TensorLike) -> Any:
    """Change of pixels downwards and to the right, by Sobel's filter. t[b, h, w, c] -> t[b, h, w, c, 2].

    Source: tf.image.sobel_edges.
    """
    x = of_dtypes(as_tensor(image), "float16 bfloat16 float32 float64")
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    padded = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    b, h, w, c = extents_of(x)
    kernels = cast(np.stack([down, down.T], -1)[:, :, None, :], x.dtype)
    edges = depthwise_conv2d(padded, tile(kernels, [1, 1, c, 1]), [1, 1, 1, 1], "VALID")
    return reshape(edges, [b, h, w, c, 2])
