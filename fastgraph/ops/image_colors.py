"""Colours and edges of images: grey, hue and saturation, Sobel's filter.

Rule: colours are the last axis; integers count from 0 to their greatest, floats from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, of_dtypes
from fastgraph.ops.array_ops import saturate_cast
from fastgraph.ops.comparison import equal, greater, less
from fastgraph.ops.convolutions import depthwise_conv2d
from fastgraph.ops.division import floormod
from fastgraph.ops.elementwise import abs, cast, clip_by_value, select, zeros_like_p
from fastgraph.ops.families import invalid, public
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.matmul import extents_of, tensordot
from fastgraph.ops.movement import expand_dims, reshape
from fastgraph.ops.padding import pad, tile
from fastgraph.ops.reduction import reduce_max, reduce_min

#: How bright red, green and blue look.
_BRIGHTNESS = (0.2989, 0.5870, 0.1140)


@public("image.convert_image_dtype")
def convert_image_dtype(image: Data, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Any:
    """Images of another dtype, scaled: integers count to their greatest, floats from 0 to 1. t[*s] -> dtype[*s].

    saturate: numbers out of range go to its ends before they become integers. Raises: TypeError for other dtypes.
    Source: tf.image.convert_image_dtype.
    """
    x = as_tensor(image)
    kind = as_dtype(dtype)
    for each in (x.dtype, kind):
        if not each.is_floating and not each.is_integer:
            raise TypeError("dtype must be either floating point or integer")
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
def rgb_to_grayscale(images: Data, name: str | None = None) -> Any:
    """How bright each pixel looks. t[*s, 3] -> t[*s, 1]. Source: tf.image.rgb_to_grayscale."""
    x = as_tensor(images)
    wide = convert_image_dtype(x, float32)
    grey = expand_dims(tensordot(wide, np.array(_BRIGHTNESS, np.float32), [-1, -1]), -1)
    return convert_image_dtype(grey, x.dtype)


@public("image.grayscale_to_rgb")
def grayscale_to_rgb(images: Data, name: str | None = None) -> Any:
    """Grey pixels as three equal colours. t[*s, 1] -> t[*s, 3].

    Raises: ValueError if the last axis is not 1. Source: tf.image.grayscale_to_rgb.
    """
    x = as_tensor(images)
    if x.shape.rank is None or x.shape.rank < 1 or x.shape[-1] not in (1, None):
        raise ValueError("Last dimension of a grayscale image should be size 1.")
    return tile(x, [1] * (x.shape.rank - 1) + [3])


def _colours(images: Data) -> Any:
    x = of_dtypes(as_tensor(images), "floating")
    if x.shape.rank is not None and (x.shape.rank < 1 or x.shape[-1] not in (3, None)):
        raise invalid(f"input must have 3 channels but input only has {x.shape[-1] if x.shape.rank else 0} channels.")
    return x


@public("image.rgb_to_hsv")
def rgb_to_hsv(images: Data, name: str | None = None) -> Any:
    """Hue, saturation and value of red, green and blue from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: InvalidArgumentError if the last axis is not 3. Source: tf.image.rgb_to_hsv.
    """
    x = _colours(images)
    red, green, blue = unstack(x, 3, axis=-1)
    value = reduce_max(x, -1)
    span = value - reduce_min(x, -1)
    none = zeros_like_p(value)
    saturation = select(greater(value, 0.0), span / select(greater(value, 0.0), value, none + 1.0), none)
    sixth = 1.0 / (6.0 * select(greater(span, 0.0), span, none + 1.0))
    hue = select(
        equal(red, value),
        (green - blue) * sixth,
        select(equal(green, value), (blue - red) * sixth + 2.0 / 6.0, (red - green) * sixth + 4.0 / 6.0),
    )
    hue = select(greater(span, 0.0), hue, none)
    hue = select(less(hue, 0.0), hue + 1.0, hue)
    return stack([hue, saturation, value], axis=-1)


@public("image.hsv_to_rgb")
def hsv_to_rgb(images: Data, name: str | None = None) -> Any:
    """Red, green and blue of hue, saturation and value from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: InvalidArgumentError if the last axis is not 3. Source: tf.image.hsv_to_rgb.
    """
    hue, saturation, value = unstack(_colours(images), 3, axis=-1)
    six = hue * 6.0
    shares = (abs(six - 3.0) - 1.0, 2.0 - abs(six - 2.0), 2.0 - abs(six - 4.0))
    return stack([(1.0 - saturation + saturation * clip_by_value(c, 0.0, 1.0)) * value for c in shares], axis=-1)


def _adjusted(image: Data, change: Callable[[Tensor, Tensor, Tensor], list[Any]]) -> Any:
    """Change hue, saturation and value of an image, as floats, and put the result into its dtype."""
    x = as_tensor(image)
    wide = x if x.dtype.is_floating else convert_image_dtype(x, float32)
    hue, saturation, value = unstack(rgb_to_hsv(wide), 3, axis=-1)
    result = hsv_to_rgb(stack(change(hue, saturation, value), axis=-1))
    return convert_image_dtype(result, x.dtype, saturate=True)


@public("image.adjust_hue")
def adjust_hue(image: Data, delta: Data, name: str | None = None) -> Any:
    """Turn the hue by `delta`, from -1 to 1. t[*s, 3] -> t[*s, 3]. Source: tf.image.adjust_hue."""
    return _adjusted(image, lambda h, s, v: [floormod(h + cast(delta, h.dtype), cast(1.0, h.dtype)), s, v])


@public("image.adjust_saturation")
def adjust_saturation(image: Data, saturation_factor: Data, name: str | None = None) -> Any:
    """Multiply the saturation, up to 1. t[*s, 3] -> t[*s, 3]. Source: tf.image.adjust_saturation."""
    return _adjusted(image, lambda h, s, v: [h, clip_by_value(s * cast(saturation_factor, s.dtype), 0.0, 1.0), v])


@public("image.sobel_edges")
def sobel_edges(image: Data) -> Any:
    """How much pixels change downwards and to the right, by Sobel's filter. t[b, h, w, c] -> t[b, h, w, c, 2].

    Source: tf.image.sobel_edges.
    """
    x = as_tensor(image)
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)
    b, h, w, c = extents_of(x)
    kernels = cast(np.stack([down, down.T], -1)[:, :, None, :], x.dtype)
    padded = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = depthwise_conv2d(padded, tile(kernels, [1, 1, c, 1]), [1, 1, 1, 1], "VALID")
    return reshape(edges, [b, h, w, c, 2])
