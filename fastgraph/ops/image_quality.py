"""Differences between images, and their roughness: PSNR, SSIM at one and at several scales, total variation.

Rule: numbers are those of pixels as floats; the last three axes are an image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import MisfitError
from fastgraph.ops.activations import relu
from fastgraph.ops.arguments import as_tensor, real, whole
from fastgraph.ops.convolutions import depthwise_conv2d
from fastgraph.ops.elementwise import abs as abs_of
from fastgraph.ops.elementwise import cast, square, squared_difference
from fastgraph.ops.exponentials import log
from fastgraph.ops.exponentials import pow as power
from fastgraph.ops.families import invalid, public
from fastgraph.ops.image_colors import convert_image_dtype
from fastgraph.ops.joining import stack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import reshape
from fastgraph.ops.padding import pad
from fastgraph.ops.poolings import avg_pool2d
from fastgraph.ops.reduction import reduce_mean, reduce_prod, reduce_sum
from fastgraph.ops.tiling import tile

#: The weights of five scales. Wang, Simoncelli, Bovik, Multiscale structural similarity, 2003.
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _pair(
    a: TensorLike, b: TensorLike, max_val: TensorLike, error: Callable[[str], Exception]
) -> tuple[Tensor, Tensor, Tensor]:
    """Two images and the greatest number of a pixel as floats. Raises `error` for shapes that cannot be compared."""
    x, y = as_tensor(a), as_tensor(b)
    greatest = cast(max_val, x.dtype)
    for each in (x, y):
        if each.shape.rank is not None and each.shape.rank < 3:
            raise error(f"Images have at least three axes, got shape {each.shape}")
    if x.shape.rank is not None and y.shape.rank is not None:
        if not x.shape[-3:].is_compatible_with(y.shape[-3:]):
            raise error(f"Incompatible shapes: {x.shape} vs. {y.shape}")
        for m, n in zip(reversed(x.shape[:-3].as_list()), reversed(y.shape[:-3].as_list()), strict=False):
            if 1 not in (m, n) and None not in (m, n) and m != n:
                raise error(f"Incompatible shapes: {x.shape} vs. {y.shape}")
    return (*(convert_image_dtype(each, float32) for each in (x, y)), convert_image_dtype(greatest, float32))


@public("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Any:
    """The ratio of the greatest pixel to the noise between images, in decibels. t[*s, h, w, c], same -> f32[*s].

    Raises: ValueError, InvalidArgumentError too, for shapes that do not fit. Source: tf.image.psnr.
    """
    x, y, greatest = _pair(a, b, max_val, invalid)
    error = reduce_mean(squared_difference(x, y), [-3, -2, -1])
    decibel = float(np.float32(10 / np.log(10)))
    return 20.0 * log(greatest) / float(np.float32(np.log(10.0))) - decibel * log(error)


def _alike(img1: TensorLike, img2: TensorLike, max_val: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
    x, y = as_tensor(img1), as_tensor(img2)
    if x.dtype != y.dtype:
        raise invalid(f"Images to compare have one dtype, got {x.dtype.name} and {y.dtype.name}")
    return _pair(x, y, max_val, lambda text: MisfitError(None, None, text))


def _weights(size: int, sigma: float) -> np.ndarray[Any, Any]:
    """One side of a Gaussian window that sums to 1: the window is its outer product. -> f32[size, 1, 1, 1]."""
    with np.errstate(all="ignore"):  # a width of 0 gives NaN, as in TensorFlow
        scale = np.float32(-0.5 / np.square(np.float64(sigma)))
        line = np.square(np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)) * scale
        window = np.exp(line, dtype=np.float64)
        return np.asarray(window / window.sum(), np.float32)[:, None, None, None]


def _of_channels(
    x: Tensor, y: Tensor, greatest: Tensor, window: np.ndarray[Any, Any], k1: float, k2: float
) -> tuple[Any, Any]:
    """(similarity, its part of contrast and structure) of f[*s, h, w, c]. -> f[*s, h', w', c] each."""
    kernel = tile(as_tensor(window), [1, 1, extents_of(x)[-1], 1])
    across = reshape(kernel, [1, window.shape[0], extents_of(x)[-1], 1])

    def smooth(z: Tensor) -> Any:
        *outer, h, w, c = extents_of(z)
        found = reshape(z, [product_of(outer), h, w, c])
        for filters in (kernel, across):
            found = depthwise_conv2d(found, filters, [1, 1, 1, 1], "VALID")
        return reshape(found, [*outer, *extents_of(found)[1:]])

    first, second = square(k1 * greatest), square(k2 * greatest)
    mean_x, mean_y = smooth(x), smooth(y)
    product, squares = mean_x * mean_y * 2.0, square(mean_x) + square(mean_y)
    luminance = (product + first) / (squares + first)
    structure = (smooth(x * y) * 2.0 - product + second) / (smooth(square(x) + square(y)) - squares + second)
    return luminance * structure, structure


def _check_size(x: Tensor, filter_size: TensorLike) -> int:
    """Return the size of a window. Raises InvalidArgumentError if images, where their sizes are known, are smaller."""
    size = whole(filter_size, "filter_size")
    sides = [n for n in extents_of(x)[-3:-1] if isinstance(n, int)]
    if size < 1 or any(n < size for n in sides):
        raise invalid(f"image of shape {x.shape.as_list()} is smaller than the filter of {size}")
    return size


@public("image.ssim")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """The structural similarity of images, up to 1, or of each place in them. t[*s, h, w, c], same -> f32[*s].

    max_val: The greatest number a pixel can be less the least. filter_size, filter_sigma: of the Gaussian window.
    k1, k2: What keeps quotients finite, as shares of max_val. Raises: InvalidArgumentError (in a graph
    ValueError) for shapes that do not fit and images smaller than the window. Source: tf.image.ssim.
    """
    x, y, greatest = _alike(img1, img2, max_val)
    size = _check_size(x, filter_size)
    window = _weights(size, real(filter_sigma, "filter_sigma"))
    found, _ = _of_channels(x, y, greatest, window, real(k1, "k1"), real(k2, "k2"))
    return reduce_mean(found, [-1] if return_index_map else [-3, -2, -1])


@public("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """The product of the similarities of images at half, a quarter ... their size, each to a power. -> f32[*s].

    power_factors: One for each scale, the whole images first. Else as `image.ssim`. Source: tf.image.ssim_multiscale.
    """
    x, y, greatest = _alike(img1, img2, max_val)
    size = _check_size(x, filter_size)
    window = _weights(size, real(filter_sigma, "filter_sigma"))
    powers = np.array([real(each, "power_factors") for each in power_factors], np.float32)
    parts = []
    for scale in range(len(powers)):
        if scale:
            x, y = _halved(x), _halved(y)
        _check_size(x, size)
        similar, structure = _of_channels(x, y, greatest, window, real(k1, "k1"), real(k2, "k2"))
        parts.append(relu(reduce_mean(similar if scale == len(powers) - 1 else structure, [-3, -2])))
    return reduce_mean(reduce_prod(power(stack(parts, -1), powers), [-1]), [-1])


def _halved(x: Tensor) -> Any:
    """The means of 2 x 2 pixels; the last row or column of an odd side counts twice."""
    *batch, height, width, channels = extents_of(x)
    rows = reshape(x, [product_of(batch), height, width, channels])
    if not all(isinstance(n, int) and n % 2 == 0 for n in (height, width)):
        rows = pad(rows, [[0, 0], [0, height % 2], [0, width % 2], [0, 0]], mode="SYMMETRIC")
    found = avg_pool2d(rows, 2, 2, "VALID")
    return reshape(found, [*batch, *extents_of(found)[1:]])


@public("image.total_variation")
def total_variation(images: TensorLike, name: str | None = None) -> Any:
    """The sum of the differences between neighbours. t[(b,) h, w, c] -> t[(b)].

    Raises: ValueError for another rank. Source: tf.image.total_variation.
    """
    x = as_tensor(images)
    if x.shape.rank not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    axes = [-3, -2, -1]
    return reduce_sum(abs_of(x[..., 1:, :, :] - x[..., :-1, :, :]), axes) + reduce_sum(
        abs_of(x[..., 1:, :] - x[..., :-1, :]), axes
    )


@public("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """(what a pixel lacks to the one below, to the one on its right), 0 at the edge. t[b, h, w, c] -> two of the same.

    Raises: ValueError for another rank. Source: tf.image.image_gradients.
    """
    x = as_tensor(image)
    if x.shape.rank != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {x.shape}.")
    down = pad(x[:, 1:] - x[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    return down, pad(x[:, :, 1:] - x[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
