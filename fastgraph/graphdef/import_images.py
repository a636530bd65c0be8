"""Types of operations on pictures and sounds: resizing by place, crops, poolings by place, boxes by chance, spectra.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.conversion import constant
from fastgraph.core.registry import public_function
from fastgraph.graphdef.import_arrays import Make
from fastgraph.graphdef.import_gradients import slopes_of
from fastgraph.graphdef.import_random import seeded
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid
from fastgraph.ops.image_resizing import Pixels, resize_at, scale_and_translate
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.signal_frames import mel

# ---- resizing


def _pixels(attrs: dict[str, Any]) -> Pixels:
    found = Pixels(attrs.get("align_corners", False), attrs.get("half_pixel_centers", False))
    if all(found):
        raise invalid("If half_pixel_centers is True, align_corners must be False.")
    return found


def _resized(method: str) -> Make:
    return lambda name, inputs, attrs: resize_at(inputs[0], inputs[1], method, _pixels(attrs))


def _resized_gradient(method: str) -> Make:
    """The gradient to the image before, f32[b, h, w, c], image -> of the image's dtype."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        dy, image = inputs
        wide = cast(image, dtypes.float32)
        found = slopes_of(lambda x: resize_at(x, shape(dy)[1:3], method, _pixels(attrs)), [wide], dy)[0]
        return cast(found, image.dtype)

    return make


def _nearest_gradient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The same of the nearest pixels; the size before is an input."""
    dy, size = inputs
    dims = public_function("concat")([shape(dy)[:1], size, shape(dy)[3:]], 0)
    zeros = public_function("zeros")(dims, dy.dtype)
    return slopes_of(lambda x: resize_at(x, shape(dy)[1:3], "nearest", _pixels(attrs)), [zeros], dy)[0]


def _kernel(attrs: dict[str, Any]) -> tuple[str, bool]:
    return attrs.get("kernel_type", "lanczos3"), attrs.get("antialias", True)


def _moved(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    image, size, scale, translation = inputs
    return scale_and_translate(image, size, scale, translation, *_kernel(attrs))


def _moved_gradient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dy, image, scale, translation = inputs
    size = shape(dy)[1:3]
    return slopes_of(lambda x: scale_and_translate(x, size, scale, translation, *_kernel(attrs)), [image], dy)[0]


# ---- crops and poolings by place


def _crops(image: Any, boxes: Any, which: Any, dy: Any, attrs: dict[str, Any]) -> Any:
    method = attrs.get("method", "bilinear")
    return public_function("image.crop_and_resize")(image, boxes, which, shape(dy)[1:3], method)


def _crop_to_image(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dy, boxes, which, size = inputs
    zeros = public_function("zeros")(size, attrs["T"])
    return slopes_of(lambda x: _crops(x, boxes, which, dy, attrs), [zeros], dy)[0]


def _crop_to_boxes(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dy, image, boxes, which = inputs
    return slopes_of(lambda x: _crops(image, x, which, dy, attrs), [boxes], dy)[0]


def _whole_places(x: Any, argmax: Any, attrs: dict[str, Any]) -> Any:
    """Return places in the batch's elements, one after the other, of those in an image's."""
    if attrs.get("include_batch_in_index", False):
        return argmax
    dims = public_function("shape")(x, argmax.dtype)
    images = public_function("range")(dims[0]) * public_function("reduce_prod")(dims[1:])
    return argmax + reshape(images, [-1, 1, 1, 1])


def _pool_by_place(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The gradient to the image of a pooling that said where its largest elements are."""
    x, dy, argmax = inputs
    places = reshape(_whole_places(x, argmax, attrs), [-1])
    found = public_function("math.unsorted_segment_sum")(reshape(dy, [-1]), places, public_function("size")(x))
    return reshape(found, shape(x), name=name)


def _pool_by_place_twice(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, g, argmax = inputs
    return public_function("gather")(reshape(g, [-1]), _whole_places(x, argmax, attrs), name=name)


def _box_by_chance(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """A box that holds enough of some given one; the oldest type has how much of it as an attribute."""
    size, boxes, *rest = inputs
    covered = rest[0] if rest else attrs.get("min_object_covered", 0.1)
    keys = ("aspect_ratio_range", "area_range", "max_attempts", "use_image_if_no_bounding_boxes")
    said = {key: attrs[key] for key in keys if key in attrs}
    if len(rest) > 1:
        return public_function("image.stateless_sample_distorted_bounding_box")(size, boxes, rest[1], covered, **said)
    with seeded(attrs):
        return public_function("image.sample_distorted_bounding_box")(size, boxes, 0, covered, **said)


# ---- sounds


def _spectrogram(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """f32[samples, channels] -> f32[channels, frames, bins]: what frames under Hann's window have of each frequency."""
    (sound,) = inputs
    window, stride = int(attrs["window_size"]), int(attrs["stride"])
    if sound.shape.rank not in (2, None):
        raise invalid(f"input must be 2-dimensional, got shape {sound.shape} [Op:AudioSpectrogram]")
    if window < 2 or stride < 1:
        raise invalid(f"a window of {window} samples, and one every {stride}: both must be larger")
    frames = public_function("signal.frame")(public_function("transpose")(sound), window, stride)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    parts = public_function("signal.rfft")(frames * hann.astype(np.float32), [1 << (window - 1).bit_length()])
    power = public_function("math.real")(parts * public_function("math.conj")(parts))
    return power if attrs.get("magnitude_squared", False) else public_function("sqrt")(power)


def _mel_weights(bins: int, rate: float, low: float, high: float, channels: int) -> np.ndarray:
    """Shares of each bin in each channel of the mel scale: triangles side by side. f32[bins, channels]."""
    first, last = mel(low), mel(high)
    centers = first + (last - first) / (channels + 1) * np.arange(1, channels + 2)
    hertz = 0.5 * rate / (bins - 1)
    begin, end = int(1.5 + low / hertz), int(high / hertz)
    weights = np.zeros((bins, channels))
    for i in range(begin, min(end, bins - 1) + 1):
        at = mel(i * hertz)
        channel = int(np.searchsorted(centers[:channels], at)) - 1  # -1: before the first centre
        edge = first if channel < 0 else centers[channel]
        share = (centers[channel + 1] - at) / (centers[channel + 1] - edge)
        if channel >= 0:
            weights[i, channel] += share
        if channel + 1 < channels:
            weights[i, channel + 1] += 1 - share
    return weights


def _mfcc(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """f32[channels, frames, bins] of powers, i32[] -> f32[channels, frames, n]: the cepstrum on the mel scale."""
    spectrum, rate = inputs
    bins = spectrum.shape[-1]
    channels, n = attrs.get("filterbank_channel_count", 40), attrs.get("dct_coefficient_count", 13)
    low, high = attrs.get("lower_frequency_limit", 20.0), attrs.get("upper_frequency_limit", 4000.0)
    rate = float(fixed(rate, f"Node '{name}': the sample rate"))
    if bins is None or bins < 2 or not 0 < low < high or rate <= 0 or not 0 < n <= channels:
        raise invalid(
            f"no cepstrum of {n} numbers of {bins} bins at {rate} samples a second, from {low} to {high} Hz in "
            f"{channels} channels [Op:Mfcc]"
        )
    weights = constant(_mel_weights(bins, rate, low, high, channels).astype(np.float32))
    loud = public_function("tensordot")(public_function("sqrt")(spectrum), weights, 1)
    loud = public_function("math.log")(public_function("maximum")(loud, 1e-12))
    places = np.arange(channels) + 0.5
    waves = math.sqrt(2 / channels) * np.cos(np.pi / channels * np.arange(n)[None] * places[:, None])
    return public_function("tensordot")(loud, constant(waves.astype(np.float32)), 1, name=name)


IMAGES: dict[str, Make] = {
    "AudioSpectrogram": _spectrogram,
    "CropAndResizeGradBoxes": _crop_to_boxes,
    "CropAndResizeGradImage": _crop_to_image,
    "MaxPoolGradGradWithArgmax": _pool_by_place_twice,
    "MaxPoolGradWithArgmax": _pool_by_place,
    "Mfcc": _mfcc,
    "ResizeArea": _resized("area"),
    "ResizeBicubic": _resized("bicubic"),
    "ResizeBicubicGrad": _resized_gradient("bicubic"),
    "ResizeBilinear": _resized("bilinear"),
    "ResizeBilinearGrad": _resized_gradient("bilinear"),
    "ResizeNearestNeighbor": _resized("nearest"),
    "ResizeNearestNeighborGrad": _nearest_gradient,
    **dict.fromkeys(
        ("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox"),
        _box_by_chance,
    ),
    "ScaleAndTranslate": _moved,
    "ScaleAndTranslateGrad": _moved_gradient,
}
