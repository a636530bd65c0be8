"""Windows of images: glimpses at given places, and boxes drawn by chance that hold enough of an object.

Rule: they run on the host; boxes follow TensorFlow's from the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32, int32
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, known_value, of_dtypes
from fastgraph.ops.candidate_samplers import Words
from fastgraph.ops.families import invalid, public
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.random_states import Source, Stateless, generators


@public("image.extract_glimpse")
def extract_glimpse(
    input: TensorLike, size: TensorLike, offsets: TensorLike, centered: bool = True, normalized: bool = True,
    noise: str = "uniform", name: str | None = None,
) -> Tensor:  # fmt: skip
    """Windows of images around given places, noise beyond the edges. f32[b, h, w, c], i32[2], f32[b, 2] -> f32.

    offsets: rows and columns of the middles; centered: from the image's middle; normalized: the image counts 1 (from
    the middle 2: -1 to 1). noise: "uniform", "gaussian" or "zero". Raises: InvalidArgumentError for other shapes.
    Source: tf.image.extract_glimpse.
    """
    if noise not in ("uniform", "gaussian", "zero"):
        raise invalid(f"noise should be uniform or gaussian or zero got {noise}")
    x, places = convert_to_tensor(input, float32), convert_to_tensor(offsets, float32)
    extent = convert_to_tensor(size, int32)
    if x.shape.rank not in (4, None):
        raise invalid(f"input must be 4-dimensional (batch_size, height, width, depth){x.shape}")
    state = [] if noise == "zero" else [generators.source("ExtractGlimpse", None, input, offsets).blocks(1)]

    def cut(images: Any, extent: Any, places: Any, *state: Any) -> list[Any]:
        if extent.shape != (2,) or places.shape != (len(images), 2):
            raise invalid("input must be a vector of size 2 (height, width), and offsets a matrix of size [batch, 2]")
        result = np.zeros((len(images), *extent, images.shape[3]), np.float32)
        random = np.random.Generator(np.random.PCG64(state[0].view(np.uint64).tolist())) if state else None
        sides = np.array(images.shape[1:3])
        for image, found, place in zip(images, result, places.astype(np.float64), strict=True):
            if random is not None and noise == "uniform":
                found[:] = random.uniform(image.min(), image.max(), found.shape)
            elif random is not None:
                found[:] = random.normal(image.mean(), image.std(), found.shape)
            at = place * sides if normalized else place
            if centered:
                at = (at - extent + sides) / 2 if normalized else at + sides / 2
            at = np.trunc(at).astype(int)
            low, high = np.clip(at, 0, sides), np.clip(at + extent, 0, sides)
            if (low < high).all():
                (top, left), (bottom, right) = low - at, high - at
                found[top:bottom, left:right] = image[low[0] : high[0], low[1] : high[1]]
        return [result]

    known = known_value(extent)
    dims = [None, None] if known is None else known.tolist()
    batch, depth = (None, None) if x.shape.rank is None else (x.shape[0], x.shape[3])
    said = {"centered": centered, "normalized": normalized, "uniform_noise": False, "noise": noise}
    written = None if state else ("ExtractGlimpseV2", "glimpse", said)
    return host_call(cut, [x, extent, places, *state], (float32, [batch, *dims, depth]), written=written)[0]


# ---- boxes by chance ------------------------------------------------------------------------------------------------


def _crop(sides: tuple[int, int], areas: tuple[float, float], aspect: Any, words: Words) -> Any:
    """A box (top, left, bottom, right) of an aspect and an area, None where there is none. Floats are float32."""
    height, width = sides
    least, most = areas
    if most <= 0 or aspect <= 0 or height <= 0 or width <= 0 or least > most:
        return None
    f = np.float32
    aspect = f(aspect)
    low, high = f(least) * f(width) * f(height), f(most) * f(width) * f(height)
    rows, limit = (int(np.rint(np.sqrt(area / aspect))) for area in (low, high))
    if np.rint(f(limit) * aspect) > width:
        limit = int((width + 0.5 - 1e-7) / float(aspect))
        limit -= np.rint(f(limit) * aspect) > width
    limit = min(limit, height)
    rows = min(rows, limit)
    if rows < limit:
        rows += words.below32(limit - rows + 1)
    columns = int(np.rint(f(rows) * aspect))
    if rows * columns < low:
        rows += 1
        columns = int(np.rint(f(rows) * aspect))
    if rows * columns > high:
        rows -= 1
        columns = int(np.rint(f(rows) * aspect))
    if not (low <= rows * columns <= high and 0 < columns <= width and 0 < rows <= height):
        return None
    top = words.below32(height - rows) if rows < height else 0
    left = words.below32(width - columns) if columns < width else 0
    return top, left, top + rows, left + columns


def _area(box: Any) -> int:
    return int(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


def _holds(crop: Any, boxes: Any, least: float) -> bool:
    if _area(crop) < 1:
        return False
    for box in boxes:
        both = (*np.maximum(crop[:2], box[:2]), *np.minimum(crop[2:], box[2:]))
        if _area(box) >= 1 and _area(both) / _area(box) >= least:
            return True
    return False


def _distorted(source: Source, image_size: TensorLike, bounding_boxes: TensorLike, min_object_covered: Any, aspects:
               Sequence[float], areas: Sequence[float], attempts: int, whole_if_none: bool) -> Any:  # fmt: skip
    size, boxes = (
        of_dtypes(as_tensor(image_size), "uint8 int8 int16 int32 int64"),
        convert_to_tensor(bounding_boxes, float32),
    )
    if size.shape.rank not in (1, None) or size.shape[0] not in (3, None):
        raise invalid(f"image_size must be 1-dimensional and contain 3 elements: {size.shape}")
    if boxes.shape.rank not in (3, None) or (boxes.shape.rank and boxes.shape[2] not in (4, None)):
        raise invalid(f"input boxes must be 3-dimensional [batch, num_boxes, coords]: {boxes.shape}")
    for what, ends in (("aspect_ratio_range", aspects), ("area_range", areas)):
        if len(ends) != 2:
            raise invalid(f"{what.replace('_', ' ').capitalize()} field must specify 2 dimensions.")
        if not ends[0] > 0 or not ends[1] > 0:
            raise invalid(f"{what} must be non-negative: [{ends[0]}, {ends[1]}]")
    if attempts <= 0:
        raise invalid(f"Max attempts must be non-negative: {attempts}")

    def draw(state: Any, size: Any, boxes: Any, covered: Any) -> tuple[Any, Any, Any]:
        if size.shape != (3,):
            raise invalid(f"image_size must be 1-dimensional and contain 3 elements: {size.shape}")
        height, width = int(size[0]), int(size[1])
        if not 0 <= covered <= 1:
            raise invalid(f"Min object covered must be in [0, 1], got {covered}")
        scale = np.array([height, width, height, width], np.float32)
        known = [tuple((box * scale).astype(int)) for box in boxes.reshape(-1, 4)]
        if not known and not whole_if_none:
            raise invalid(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to "
                "not provide any bounding boxes."
            )
        known = known or [(0, 0, height, width)]
        words, f = Words(state), np.float32
        crop = (0, 0, height, width)
        for _ in range(attempts):
            aspect = f(words.single()) * (f(aspects[1]) - f(aspects[0])) + f(aspects[0])
            found = _crop((height, width), (areas[0], areas[1]), float(aspect), words)
            if found is not None and _holds(found, known, float(covered)):
                crop = found
                break
        top, left, bottom, right = crop
        if size[0] < 1 or size[1] < 1:
            raise invalid("Image height and width must be positive")
        box = (np.array([[[top, left, bottom, right]]], np.float32) / scale).astype(np.float32)
        begin = np.array([top, left, 0], size.dtype)
        return begin, np.array([bottom - top, right - left, -1], size.dtype), box

    inputs = [source.blocks(attempts), size, boxes, as_tensor(min_object_covered, float32)]
    return tuple(host_call(draw, inputs, (size.dtype, [3]), (size.dtype, [3]), (float32, [1, 1, 4])))


@public("image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: TensorLike, bounding_boxes: TensorLike, seed: int = 0, min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None, area_range: Sequence[float] | None = None,
    max_attempts: int | None = None, use_image_if_no_bounding_boxes: bool | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """A box by chance that holds enough of some given one: where it begins i[3], its size i[3], it itself f32[1, 1, 4].

    image_size: i[3]. bounding_boxes: f32[b, n, 4], of rows and columns from 0 to 1. The box has an aspect of the range
    (0.75 to 1.33) and an area of the range (0.05 to 1 of the image); after max_attempts (100) it is the image.
    Raises: InvalidArgumentError for no boxes, unless the image counts as one. Source: same name.
    """
    return _distorted(
        generators.source("SampleDistortedBoundingBoxV2", seed or None, image_size, bounding_boxes), image_size,
        bounding_boxes, min_object_covered,
        aspect_ratio_range or (0.75, 1.33), area_range or (0.05, 1.0), max_attempts or 100,
        bool(use_image_if_no_bounding_boxes),
    )  # fmt: skip


@public("image.stateless_sample_distorted_bounding_box")
def stateless_sample_distorted_bounding_box(image_size: TensorLike, bounding_boxes: TensorLike, seed: TensorLike,
                                            min_object_covered: TensorLike = 0.1,
                                            aspect_ratio_range: Sequence[float] | None = None,
                                            area_range: Sequence[float] | None = None, max_attempts: int | None = None,
                                            use_image_if_no_bounding_boxes: bool | None = None,
                                            name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`sample_distorted_bounding_box`, the same for the same seed i[2]. Source: same name."""
    return _distorted(
        Stateless(seed), image_size, bounding_boxes, min_object_covered, aspect_ratio_range or (0.75, 1.33),
        area_range or (0.05, 1.0), max_attempts or 100, bool(use_image_if_no_bounding_boxes),
    )  # fmt: skip
