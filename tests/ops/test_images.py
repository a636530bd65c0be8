"""Images of other sizes, colours and places: TensorFlow's numbers; in graphs with unknown sizes; gradients."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf

X = np.arange(12, dtype="float32").reshape(1, 3, 4, 1) ** 1.5
RGB = np.array([[[0.2, 0.4, 0.9], [0.5, 0.5, 0.5], [0.9, 0.1, 0.3]]], "float32")

#: (method, antialias) -> the first row of X as 2 x 6, as TensorFlow gives it.
FIRST_ROW = {
    ("bilinear", False): [2.0, 2.7725, 3.9202, 5.4205, 7.1614, 8.5272],
    ("bilinear", True): [3.0, 3.9088, 5.2279, 6.8689, 8.7359, 10.1927],
    ("nearest", False): [0.0, 1.0, 1.0, 2.8284, 5.1962, 5.1962],
    ("bicubic", False): [1.1065, 1.726, 2.8919, 4.3181, 6.2229, 7.5042],
    ("bicubic", True): [2.0995, 2.8798, 4.2798, 5.8722, 7.9431, 9.3243],
    ("area", False): [2.6667, 3.5301, 4.3934, 6.7846, 8.2111, 9.6375],
    ("lanczos3", False): [0.511, 1.0216, 2.2029, 3.4896, 5.571, 6.7279],
    ("lanczos3", True): [1.6259, 2.2914, 3.7406, 5.1844, 7.4503, 8.7024],
    ("lanczos5", False): [-0.1789, 0.5324, 1.4406, 2.7435, 4.6832, 5.9853],
    ("gaussian", True): [4.0445, 4.8947, 6.279, 8.0945, 9.9537, 11.2652],
    ("mitchellcubic", True): [3.0086, 3.8274, 5.265, 6.9152, 8.9303, 10.2834],
}


@pytest.mark.parametrize("method, antialias", FIRST_ROW)
def test_resize(method: str, antialias: bool) -> None:
    wanted = FIRST_ROW[method, antialias]
    found = tf.image.resize(X, (2, 6), method=method, antialias=antialias)
    np.testing.assert_allclose(found[0, 0, :, 0], wanted, atol=1e-4)
    unknown = tf.TensorSpec([None, None, None, 1], "float32")
    in_graph = tf.function(lambda x: tf.image.resize(x, (2, 6), method, antialias=antialias), input_signature=[unknown])
    np.testing.assert_allclose(in_graph(X), found, atol=1e-5)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.image.resize(x, (2, 6), method=method, antialias=antialias))
    # Weights of a new pixel sum to one.
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(total, x)), 12.0, rtol=1e-5)


# Of an image that has the size already: the dtype and first numbers that TensorFlow 2.21 gives.
SAME_SIZE = {
    "bilinear": ("float32", [0, 9, 18]), "nearest": ("uint8", [0, 9, 18]), "bicubic": ("float32", [0, 9, 18]),
    "area": ("float32", [0, 9, 18]), "lanczos3": ("float32", [0, 9, 18]),
    "gaussian": ("float32", [16.0924, 25.0924, 34.0924]), "mitchellcubic": ("float32", [7.9412, 16.9412, 25.9412]),
}  # fmt: skip


@pytest.mark.parametrize("method", SAME_SIZE)
def test_resizing_to_the_size_that_is_there_converts_and_smooths_all_the_same(method: str) -> None:
    numbers = np.arange(24, dtype="uint8").reshape(2, 4, 3) * np.uint8(9)
    dtype, first = SAME_SIZE[method]
    for antialias in (False, True):
        found = tf.function(lambda x: tf.image.resize(x, (2, 4), method, antialias=antialias))(numbers)  # noqa: B023
        assert found.dtype == dtype
        np.testing.assert_allclose(found[0, 0], first, atol=1e-4)
        np.testing.assert_allclose(tf.image.resize(numbers, (2, 4), method, antialias=antialias), found, atol=1e-4)


def test_resize_keeps_an_aspect_ratio() -> None:
    numbers = np.arange(24, dtype="uint8").reshape(2, 4, 3)
    assert tf.image.resize(numbers, (8, 8), preserve_aspect_ratio=True).shape == (4, 8, 3)
    with pytest.raises(ValueError, match="new_height, new_width"):
        tf.image.resize(numbers, (2,))
    with pytest.raises(ValueError, match="either 3 or 4 dimensions"):
        tf.image.resize(numbers[0], (2, 2))
    with pytest.raises(ValueError, match="not implemented: cubic"):
        tf.image.resize(numbers, (2, 2), method="cubic")


def test_colours() -> None:
    hsv = [0.61905, 0.77778, 0.9, 0.0, 0.0, 0.5, 0.95833, 0.88889, 0.9]
    np.testing.assert_allclose(np.ravel(tf.image.rgb_to_hsv(RGB)), hsv, atol=1e-5)
    np.testing.assert_allclose(tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(RGB)), RGB, atol=1e-6)
    grey = tf.image.rgb_to_grayscale((RGB * 255).astype("uint8"))
    assert np.ravel(grey).tolist() == [101, 127, 91]
    with pytest.raises(tf.errors.FailedPreconditionError, match="3 channels"):
        tf.image.rgb_to_hsv(RGB[..., :2])


def test_boxes_patches_and_edges() -> None:
    padded = tf.image.pad_to_bounding_box(X, 1, 2, 6, 8)
    assert padded.shape == (1, 6, 8, 1)
    np.testing.assert_array_equal(tf.image.crop_to_bounding_box(padded, 1, 2, 3, 4), X)
    with pytest.raises(ValueError, match="height must be <= target"):
        tf.image.pad_to_bounding_box(X, 1, 2, 3, 8)
    for box in (tf.image.pad_to_bounding_box, tf.image.crop_to_bounding_box):
        with pytest.raises(TypeError, match="Expected int for argument 'offset_width'"):
            box(X, 1, np.array(["a"]), 6, 8)
    patches = tf.image.extract_patches(X, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    np.testing.assert_allclose(np.ravel(patches)[8:], [22.627, 27, 0, 0, 31.623, 36.483, 0, 0], atol=1e-3)
    edges = np.ravel(tf.image.sobel_edges(X))
    np.testing.assert_allclose(edges[:8], [0, 0, 0, 19.051, 0, 23.072, 0, 0], atol=1e-3)


@pytest.mark.parametrize(
    "interpolation, fill_mode, wanted",
    [
        ("NEAREST", "CONSTANT", [-1.0, 14.697, 18.52, 36.483]),
        ("NEAREST", "REFLECT", [0.0, 14.697, 18.52, 36.483]),
        ("NEAREST", "WRAP", [5.196, 14.697, 18.52, 5.196]),
        ("BILINEAR", "CONSTANT", [0.7, 11.116, 25.09, 23.509]),
        ("BILINEAR", "REFLECT", [2.4, 11.116, 25.09, 35.586]),
        ("BILINEAR", "WRAP", [9.193, 11.116, 25.09, 4.759]),
        ("BILINEAR", "NEAREST", [2.4, 11.116, 25.09, 35.586]),
    ],
)
def test_projective_transforms(interpolation: str, fill_mode: str, wanted: list[float]) -> None:
    transform = np.array([[1.0, 0.2, -0.5, 0.1, 0.9, 0.3, 0.01, 0.0]], "float32")
    found = tf.raw_ops.ImageProjectiveTransformV3(
        images=np.concatenate([X, X]), transforms=transform, output_shape=[3, 4], fill_value=-1.0,
        interpolation=interpolation, fill_mode=fill_mode,
    )  # fmt: skip
    np.testing.assert_allclose(np.ravel(found[1])[[0, 3, 7, 11]], wanted, atol=1e-3)


@pytest.mark.parametrize("method", ["bicubic", "lanczos5", "area", "mitchellcubic"])
def test_the_cost_of_another_size_goes_by_the_size(method: str) -> None:
    """A sum over all old pixels for each new one would take 8 GB here."""
    x = np.random.default_rng(0).random((1, 1, 50_000, 1), "float32")
    for antialias in (False, True):
        found = tf.image.resize(x, (1, 40_000), method, antialias=antialias)
        part = tf.image.resize(x[:, :, :5_000], (1, 4_000), method, antialias=antialias)
        np.testing.assert_allclose(found[:, :, :3_900], part[:, :, :3_900], atol=2e-2)  # places in float32
        assert np.isfinite(found).all()


def test_images_of_other_dtypes_and_shapes_are_refused() -> None:
    for size in ((2, 2), (3, 5)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the list of allowed values: int8, uint8"):
            tf.image.resize(tf.zeros([1, 3, 4, 1], "uint32"), size)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one channel"):
        tf.image.resize(tf.zeros([1, 3, 4, 0]), (2, 2))
    for change in (tf.image.rgb_to_hsv, tf.image.hsv_to_rgb):
        with pytest.raises(tf.errors.FailedPreconditionError, match="but input only has 4 channels"):
            change(tf.zeros([2, 4]))
        with pytest.raises(ValueError, match="Dimension must be 3 but is 4"):
            tf.function(change)(tf.zeros([2, 4]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="at least 1D"):
            change(0.5)
    for adjust in (tf.image.adjust_hue, tf.image.adjust_saturation):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"at least 3-D, got shape\[4,3\]"):
            adjust(tf.zeros([4, 3]), 0.5)
        with pytest.raises(ValueError, match="at least 3-D"):
            tf.function(adjust)(tf.zeros([4, 3]), 0.5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="but instead has 2 channels"):
            adjust(tf.zeros([1, 4, 2]), 0.5)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be scalar: \[2\]"):
            adjust(RGB, tf.constant([0.1, 0.2]))
    with pytest.raises(ValueError, match="delta must be in the interval"):
        tf.image.adjust_hue(RGB, 1.5)


def test_hues_are_turned_between_the_least_and_the_greatest_colour() -> None:
    """TensorFlow's numbers; below 0 the range from the least colour on is what counts, not a saturation."""
    dark = tf.constant([[[-0.2, -0.13478261, -0.06956521]]])
    wanted = [-0.06956521, -0.2, -0.10869568]
    for way in (tf.image.adjust_hue, tf.function(tf.image.adjust_hue)):
        np.testing.assert_allclose(np.ravel(way(dark, 0.3)), wanted, atol=1e-6)
    bright = (RGB * 255).astype("uint8")
    assert np.ravel(tf.image.adjust_hue(bright, 0.3))[:3].tolist() == [229, 51, 137]
    assert tf.image.adjust_saturation(RGB.astype("float64"), 1.5).dtype == tf.float64
