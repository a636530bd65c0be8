"""Images turned, cut, adjusted and compared: TensorFlow's numbers, by chance too; graphs with unknown sizes; gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

FLOATS = np.random.default_rng(5).random((2, 6, 9, 3), np.float32)
BYTES = np.random.default_rng(6).integers(0, 256, (5, 7, 3), np.uint8)
#: Pixels that any program can make again, for numbers that TensorFlow gave.
RAMP = (np.arange(2 * 12 * 13 * 3, dtype=np.float32).reshape(2, 12, 13, 3) * 37 % 101) / 101
OTHER = np.clip(RAMP * 0.8 + 0.1, 0, 1).astype(np.float32)

image: Any = tf.image

#: What leaves the rank; all are tried with and without a batch, eager and with unknown sizes.
CALLS: dict[str, Callable[[Any], Any]] = {
    "flip_left_right": image.flip_left_right,
    "flip_up_down": image.flip_up_down,
    "transpose": image.transpose,
    "rot90": lambda x: image.rot90(x, 3),
    "central_crop": lambda x: image.central_crop(x, 0.6),
    "resize_with_crop_or_pad": lambda x: image.resize_with_crop_or_pad(x, 3, 11),
    "resize_with_pad": lambda x: image.resize_with_pad(x, 8, 8),
    "adjust_brightness": lambda x: image.adjust_brightness(x, 0.2),
    "adjust_contrast": lambda x: image.adjust_contrast(x, 0.5),
    "adjust_gamma": lambda x: image.adjust_gamma(x, 0.7, 0.9),
    "per_image_standardization": image.per_image_standardization,
    "random_flip_left_right": lambda x: image.stateless_random_flip_left_right(x, [3, 2]),
    "random_flip_up_down": lambda x: image.stateless_random_flip_up_down(x, [3, 6]),
    "random_brightness": lambda x: image.stateless_random_brightness(x, 0.3, [1, 2]),
    "random_contrast": lambda x: image.stateless_random_contrast(x, 0.3, 1.4, [1, 2]),
    "random_hue": lambda x: image.stateless_random_hue(x, 0.3, [1, 2]),
    "random_saturation": lambda x: image.stateless_random_saturation(x, 0.3, 1.4, [1, 2]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("pixels", [FLOATS, BYTES, FLOATS[0].astype(np.float16)], ids=["floats", "bytes", "half"])
def test_graphs_with_unknown_sizes_give_what_eager_mode_gives(name: str, pixels: np.ndarray) -> None:
    call = CALLS[name]
    channels = 3 if "hue" in name or "saturation" in name else None
    spec = tf.TensorSpec([None] * (pixels.ndim - 1) + [channels], pixels.dtype)
    eager, traced = call(pixels), tf.function(call, input_signature=[spec])(pixels)
    assert eager.dtype == traced.dtype and eager.shape == traced.shape
    one = pixels.dtype.kind == "u" and eager.dtype == tf.uint8  # a number between two may go to either
    np.testing.assert_allclose(traced.numpy().astype(float), eager.numpy().astype(float), atol=1 if one else 2e-3)
    if pixels.ndim == 4 and "random_flip" not in name:
        np.testing.assert_allclose(call(pixels[1]), eager[1], atol=1e-6)


def test_orientation_is_that_of_numpy() -> None:
    for x, axes in ((FLOATS, (1, 2)), (BYTES, (0, 1))):
        np.testing.assert_array_equal(image.flip_left_right(x), np.flip(x, axes[1]))
        np.testing.assert_array_equal(image.flip_up_down(x), np.flip(x, axes[0]))
        np.testing.assert_array_equal(image.transpose(x), np.swapaxes(x, *axes))
        for k in range(-3, 6):
            np.testing.assert_array_equal(image.rot90(x, k), np.rot90(x, k, axes))
    turned = tf.function(image.rot90)
    for k in range(-1, 5):
        np.testing.assert_array_equal(turned(FLOATS, tf.constant(k)), np.rot90(FLOATS, k, (1, 2)))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: image.psnr(RAMP, OTHER, 1.0), [24.7542, 24.7837]),
        (lambda: image.ssim(RAMP, OTHER, 1.0), [0.9758, 0.9758]),
        (lambda: image.ssim(RAMP, OTHER, 1.0, filter_size=5, filter_sigma=0.8, k1=0.02), [0.9752, 0.9752]),
        (lambda: image.ssim_multiscale(RAMP, OTHER, 1.0, (0.3, 0.7), filter_size=3), [0.9761, 0.9761]),
        (lambda: image.total_variation(RAMP), [252.0, 252.0]),
        (lambda: tf.reduce_sum(image.stateless_random_crop(RAMP, [1, 4, 5, 3], [3, 4])), 29.5941),
        (lambda: image.rgb_to_yiq(RAMP)[0, 0, 1], [0.3976, -0.3360, 0.0365]),
        (lambda: image.yuv_to_rgb(RAMP)[0, 0, 1], [1.0470, -0.5675, 1.0446]),
    ],
)
def test_numbers_are_tensorflows(call: Callable[[], Any], wanted: Any) -> None:
    np.testing.assert_allclose(call(), wanted, atol=2e-4)


def test_what_is_by_chance_is_tensorflows_for_a_seed() -> None:
    x = np.arange(8, dtype=np.float32).reshape(8, 1, 1, 1) + np.float32([0.0, 0.5]).reshape(1, 1, 2, 1)
    tf.random.set_seed(7)
    assert image.random_flip_left_right(x, seed=3)[:, 0, 0, 0].numpy().tolist() == [
        0.0,
        1.0,
        2.0,
        3.0,
        4.5,
        5.0,
        6.5,
        7.0,
    ]
    tf.random.set_seed(7)
    np.testing.assert_allclose(image.random_brightness(x[:1, 0], 0.3, seed=3)[0, 0, 0], -0.059347, atol=1e-6)
    assert len({bool(image.random_flip_up_down(x.transpose(0, 2, 1, 3)[0])[0, 0, 0] == 0) for _ in range(40)}) == 2


def test_gradients() -> None:
    x = tf.constant(FLOATS[:1, :4, :5])
    for call in (
        lambda x: image.adjust_contrast(x, 2.0),
        image.per_image_standardization,
        image.total_variation,
        lambda x: image.ssim(x, x * 0.9 + 0.05, 1.0, filter_size=3),
        lambda x: image.resize_with_pad(x, 6, 6),
        lambda x: image.rot90(x) ** 2,
    ):
        np.testing.assert_allclose(*_both(call, x), atol=2e-2, rtol=2e-2)


def _both(call: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The gradient of the sum of squares, and the same by differences."""

    def total(v: Any) -> Any:
        return tf.reduce_sum(call(v) ** 2)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = total(x)
    flat = x.numpy().astype(np.float64).ravel()
    numbers = []
    for i in range(0, flat.size, 7):
        moved = [np.array(flat) for _ in range(2)]
        moved[0][i] += 1e-3
        moved[1][i] -= 1e-3
        ends = [float(total(tf.constant(m.reshape(x.shape).astype(np.float32)))) for m in moved]
        numbers.append((ends[0] - ends[1]) / 2e-3)
    return tape.gradient(y, x).numpy().ravel()[::7], np.array(numbers)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: image.central_crop(BYTES, 1.5), "central_fraction must be within"),
        (lambda: image.rot90(BYTES, [1]), "rank 0 but is rank 1"),
        (lambda: image.adjust_gamma(FLOATS, -1), "non-negative real"),
        (lambda: image.random_brightness(FLOATS, -1), "max_delta must be non-negative"),
        (lambda: image.random_hue(FLOATS, 0.7), "max_delta must be <= 0.5"),
        (lambda: image.random_contrast(FLOATS, 2.0, 1.0), "upper must be > lower"),
        (lambda: image.random_saturation(FLOATS, -1.0, 1.0), "lower must be non-negative"),
        (lambda: image.resize_with_pad(FLOATS, 0, 1), "target_height must be > 0"),
        (lambda: image.resize_with_crop_or_pad(FLOATS, 1, 0), "target_width must be > 0"),
        (lambda: image.flip_left_right(FLOATS[0, 0]), "either 3 or 4 dimensions"),
        (lambda: image.image_gradients(BYTES), "expects a 4D tensor"),
        (lambda: image.total_variation(BYTES[0]), "either 3 or 4-dimensional"),
        (lambda: image.ssim(FLOATS, FLOATS[:, :5], 1.0), "Incompatible shapes"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        call()


def test_what_is_wrong_with_tensors_is_said_too() -> None:
    for call in (
        lambda: image.random_crop(BYTES, [6, 7, 3]),
        lambda: tf.function(lambda s: image.random_crop(BYTES, s))([6, 7, 3]),
        lambda: image.stateless_random_flip_left_right(BYTES, [1]),
        lambda: image.ssim(FLOATS, FLOATS, 1.0),
        lambda: image.ssim(FLOATS, FLOATS.astype(np.float16), 1.0, filter_size=3),
        lambda: image.psnr(FLOATS, BYTES, 1.0),
        lambda: image.adjust_contrast(FLOATS[0, 0], 2.0),
        lambda: image.adjust_gamma(FLOATS, tf.constant(-1.0)),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()
