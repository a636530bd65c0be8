"""Brightness, contrast, gamma and colour spaces of images; the same by chance.

Rule: integers become floats from 0 to 1, are changed, and come back in their dtype; what is by chance draws one number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.core.base.dtype import float16, float32
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, real
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.exponentials import pow as power
from fastgraph.ops.exponentials import rsqrt
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.image_colors import adjust_hue, adjust_saturation, convert_image_dtype
from fastgraph.ops.matmul import extents_of, product_of, tensordot
from fastgraph.ops.random_ops import uniform
from fastgraph.ops.random_states import refuse_deferred
from fastgraph.ops.reduction import reduce_mean, reduce_std
from fastgraph.ops.runtime_assertions import assert_non_negative
from fastgraph.ops.stateless_random import stateless_uniform

#: One number spread over [low, high).
Draw = Callable[[float, float], Any]


def _changed(image: TensorLike, change: Callable[[Tensor], Any]) -> Any:
    """Return what `change` makes of images as floats, in their dtype; what is out of range goes to its ends."""
    x = as_tensor(image)
    wide = x if x.dtype in (float16, float32) else convert_image_dtype(x, float32)
    return convert_image_dtype(change(wide), x.dtype, saturate=True)


@public("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Any:
    """Add a number, of floats from 0 to 1, to all pixels. t[*s], f[] -> t[*s]. Source: tf.image.adjust_brightness."""
    return _changed(image, lambda x: x + cast(delta, x.dtype))


@public("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Move pixels away from the mean of their channel in their image: (x - mean) factor + mean. t[*s, h, w, c] -> t.

    Raises: InvalidArgumentError for ranks below 3. Source: tf.image.adjust_contrast.
    """

    def contrasted(x: Tensor) -> Any:
        if x.shape.rank is not None and x.shape.rank < 3:
            raise invalid(f"input must be at least 3-D, got shape{shape_text(x.shape.as_list())}", "AdjustContrastv2")
        factor = as_tensor(contrast_factor, None if isinstance(contrast_factor, Tensor) else float32)
        if factor.shape.rank not in (0, None):
            raise invalid(f"contrast_factor must be scalar: {shape_text(factor.shape.as_list())}", "AdjustContrastv2")
        exact = cast(x, float32)
        mean = reduce_mean(exact, axis=[-3, -2], keepdims=True)
        return cast((exact - mean) * cast(factor, float32) + mean, x.dtype)

    return _changed(images, contrasted)


@public("image.adjust_gamma")
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Any:
    """gain * x ** gamma of pixels from 0 to 1. t[*s] -> t[*s].

    Raises: ValueError, for tensors InvalidArgumentError, for a gamma below 0. Source: tf.image.adjust_gamma.
    """
    text = "Gamma should be a non-negative real number."
    if isinstance(gamma, Tensor):
        assert_non_negative(gamma, text)
    elif real(gamma, "gamma") < 0:
        raise ValueError(text)
    return _changed(image, lambda x: cast(gain, x.dtype) * power(x, cast(gamma, x.dtype)))


@public("image.per_image_standardization")
def per_image_standardization(image: TensorLike) -> Tensor:
    """(x - mean) / max(stddev, 1 / sqrt(numbers in it)) of each image. t[*b, h, w, c] -> f32 of that shape.

    Raises: ValueError for ranks below 3. Source: tf.image.per_image_standardization.
    """
    x = cast(as_tensor(image), float32)
    if x.shape.rank is None:
        return late(per_image_standardization, [x], float32)
    if x.shape.rank < 3:
        raise ValueError(f"'image' (shape {x.shape}) must be at least three-dimensional.")
    if 0 in x.shape.as_list()[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {x.shape}")
    number = cast(product_of(extents_of(x)[-3:]), float32)
    axes = [-1, -2, -3]
    spread = maximum(reduce_std(x, axes, keepdims=True), rsqrt(number))
    return (x - reduce_mean(x, axes, keepdims=True)) / spread


# ---- by chance ------------------------------------------------------------------------------------------------------


def _seeded(seed: TensorLike | None, image: TensorLike) -> Draw:
    refuse_deferred(image)
    return lambda low, high: uniform([], low, high, seed=seed)


def _stateless(seed: TensorLike) -> Draw:
    return lambda low, high: stateless_uniform([], seed, low, high)


def _delta(max_delta: float, draw: Draw, most: float = float("inf")) -> Any:
    max_delta = real(max_delta, "max_delta")
    if max_delta > most:
        raise ValueError(f"max_delta must be <= {most}.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return draw(-max_delta, max_delta)


def _factor(lower: float, upper: float, draw: Draw) -> Any:
    lower, upper = real(lower, "lower"), real(upper, "upper")
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return draw(lower, upper)


@public("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Any:
    """`adjust_brightness` by a number from -max_delta to max_delta. t[*s] -> t[*s].

    Raises: ValueError for a max_delta below 0. Source: tf.image.random_brightness.
    """
    return adjust_brightness(image, _delta(max_delta, _seeded(seed, image)))


@public("image.stateless_random_brightness")
def stateless_random_brightness(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_brightness`, the same for the same seed i[2]. Source: tf.image.stateless_random_brightness."""
    return adjust_brightness(image, _delta(max_delta, _stateless(seed)))


@public("image.random_contrast")
def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor from lower to upper. t[*s, h, w, c] -> t.

    Raises: ValueError unless 0 <= lower < upper. Source: tf.image.random_contrast.
    """
    return adjust_contrast(image, _factor(lower, upper, _seeded(seed, image)))


@public("image.stateless_random_contrast")
def stateless_random_contrast(image: TensorLike, lower: float, upper: float, seed: TensorLike) -> Tensor:
    """`random_contrast`, the same for the same seed i[2]. Source: tf.image.stateless_random_contrast."""
    return adjust_contrast(image, _factor(lower, upper, _stateless(seed)))


@public("image.random_hue")
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Any:
    """`adjust_hue` by a number from -max_delta to max_delta. t[*s, 3] -> t[*s, 3].

    Raises: ValueError unless 0 <= max_delta <= 0.5. Source: tf.image.random_hue.
    """
    return adjust_hue(image, _delta(max_delta, _seeded(seed, image), 0.5))


@public("image.stateless_random_hue")
def stateless_random_hue(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`random_hue`, the same for the same seed i[2]. Source: tf.image.stateless_random_hue."""
    return adjust_hue(image, _delta(max_delta, _stateless(seed), 0.5))


@public("image.random_saturation")
def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Any:
    """`adjust_saturation` by a factor from lower to upper. t[*s, 3] -> t[*s, 3].

    Raises: ValueError unless 0 <= lower < upper. Source: tf.image.random_saturation.
    """
    return adjust_saturation(image, _factor(lower, upper, _seeded(seed, image)))


@public("image.stateless_random_saturation")
def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: TensorLike | None = None
) -> Tensor:
    """`random_saturation`, the same for the same seed i[2]. Source: tf.image.stateless_random_saturation."""
    if seed is None:
        raise ValueError("stateless_random_saturation wants a seed of two integers")
    return adjust_saturation(image, _factor(lower, upper, _stateless(seed)))


# ---- colour spaces of television ------------------------------------------------------------------------------------

_TO_YIQ = (
    (0.299, 0.59590059, 0.2115),
    (0.587, -0.27455667, -0.52273617),
    (0.114, -0.32134392, 0.31119955),
)
_FROM_YIQ = (
    (1.0, 1.0, 1.0),
    (0.95598634, -0.27201283, -1.10674021),
    (0.6208248, -0.64720424, 1.70423049),
)
_TO_YUV = (
    (0.299, -0.14714119, 0.61497538),
    (0.587, -0.28886916, -0.51496512),
    (0.114, 0.43601035, -0.10001026),
)
_FROM_YUV = (
    (1.0, 1.0, 1.0),
    (0.0, -0.394642334, 2.03206185),
    (1.13988303, -0.58062185, 0.0),
)


def _mixed(images: TensorLike, matrix: tuple[tuple[float, ...], ...]) -> Any:
    x = as_tensor(images)
    return tensordot(x, convert_to_tensor(matrix, x.dtype), [[-1], [0]])


@public("image.rgb_to_yiq")
def rgb_to_yiq(images: TensorLike) -> Any:
    """Brightness and two differences of red, green and blue. f[*s, 3] -> f[*s, 3]. Source: tf.image.rgb_to_yiq."""
    return _mixed(images, _TO_YIQ)


@public("image.yiq_to_rgb")
def yiq_to_rgb(images: TensorLike) -> Any:
    """Red, green and blue of what `rgb_to_yiq` gives. f[*s, 3] -> f[*s, 3]. Source: tf.image.yiq_to_rgb."""
    return _mixed(images, _FROM_YIQ)


@public("image.rgb_to_yuv")
def rgb_to_yuv(images: TensorLike) -> Any:
    """Brightness and two differences of red, green and blue. f[*s, 3] -> f[*s, 3]. Source: tf.image.rgb_to_yuv."""
    return _mixed(images, _TO_YUV)


@public("image.yuv_to_rgb")
def yuv_to_rgb(images: TensorLike) -> Any:
    """Red, green and blue of what `rgb_to_yuv` gives. f[*s, 3] -> f[*s, 3]. Source: tf.image.yuv_to_rgb."""
    return _mixed(images, _FROM_YUV)
