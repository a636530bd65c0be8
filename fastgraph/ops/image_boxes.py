"""Boxes in images: cut out, drawn, and thinned out where they overlap.

Rule: a box is (y1, x1, y2, x2), of images from 0 to 1. What depends on the best box so far is a host step: how many
results there are is data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastgraph.api import namespaces
from fastgraph.core.base.dtype import float32, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, of_dtypes, static_int, tensor_of
from fastgraph.ops.comparison import greater_equal, is_finite, less, less_equal, logical_and, logical_or
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, minimum, select
from fastgraph.ops.families import Array, custom, invalid, misuse, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.rounding import ceil, floor
from fastgraph.ops.runtime_checks import checked, narrow, of_rank, wide, with_extents
from fastgraph.ops.scatter import gather_nd
from fastgraph.ops.sorting import argsort_p

_REASON = "one box after the other, until the best is taken"


def _overlaps(box: np.ndarray[Any, Any], boxes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Intersection of a box and each of others over their union; 0 of empty ones. f32[4], f32[n, 4] -> f32[n]."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    first, last = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    area, areas = np.prod(last - first), np.prod(high - low, axis=1)
    common = np.prod(np.maximum(np.minimum(high, last) - np.maximum(low, first), 0), axis=1)
    union = area + areas - common
    return np.where((area > 0) & (areas > 0), common / np.where(union > 0, union, 1), 0).astype(np.float32)


def _thinned(overlaps: np.ndarray[Any, Any], left: np.ndarray[Any, Any], most: int, above: float) -> list[int]:
    """The best of those that are `left`, each time without those that overlap it by more than `above`."""
    found: list[int] = []
    while left.size and len(found) < most:
        found.append(int(left[0]))
        left = left[1:]
        left = left[overlaps[left, found[-1]] <= above]
    return found


def _softly_taken(
    boxes: np.ndarray[Any, Any], scores: np.ndarray[Any, Any], most: int, score_above: float, sigma: float
) -> tuple[list[int], list[Any]]:
    """The places and the scores of the best, each time with lower scores of those that overlap it.

    Source: Bodla et al., Soft-NMS, 2017.
    """
    scores = scores.copy()
    alive = scores > score_above
    found: list[int] = []
    kept: list[Any] = []
    while alive.any() and len(found) < most:
        best = int(np.argmax(np.where(alive, scores, -np.inf)))
        found.append(best)
        kept.append(scores[best])
        alive[best] = False
        scores *= np.exp(np.float32(-0.5 / sigma) * np.square(_overlaps(boxes[best], boxes)))
        alive &= scores > score_above
    return found, kept


def _check(boxes: Any, scores: Any, n: int = 4) -> None:
    """Raises InvalidArgumentError, ValueError in a graph, for shapes that are not [k, n] and [k]."""
    if boxes is not None and len(boxes) != 2:
        raise invalid(f"boxes must be 2-D{shape_text(boxes)}", "NonMaxSuppressionV5", boxes)
    if scores is not None and len(scores) != 1:
        raise invalid(f"scores must be 1-D{shape_text(scores)}", "NonMaxSuppressionV5", scores)
    if boxes is None or scores is None:
        return
    if n == 4 and boxes[1] not in (4, None):
        raise invalid("boxes must have 4 columns", "NonMaxSuppressionV5", boxes)
    if None not in (boxes[0], scores[0]) and boxes[0] != scores[0]:
        raise invalid("scores has incompatible shape", "NonMaxSuppressionV5", boxes, scores)


def _infer_suppression(boxes: Aval, scores: Aval, *numbers: Aval, overlaps: bool) -> tuple[Aval, Aval]:
    _check(boxes.shape, scores.shape, 0 if overlaps else 4)
    return Aval(int32, (None,)), Aval(scores.dtype, (None,))


def _boxes(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [
        rng.random((n, 4), np.float32), rng.random(n, np.float32), np.float32(3.0), np.float32(0.2), np.float32(0.1),
        np.float32(0.0),
    ]  # fmt: skip


@custom(
    op="NonMaxSuppressionV5",
    infer=_infer_suppression,
    n_outputs=2,
    step="dynamic",
    samples=lambda: [(tuple(_boxes(n)), {"overlaps": False}) for n in (0, 1, 9)],
    error_samples=lambda: [
        misuse("boxes must have 4 columns", np.ones([3, 5], np.float32), *_boxes(3)[1:], overlaps=False)
    ],
    reason=_REASON,
)
def suppression_p(
    boxes: Array, scores: Array, most: Array, above: Array, score_above: Array, sigma: Array, *, overlaps: bool
) -> Any:
    """(places, scores) of the best boxes that overlap none that is better; of `overlaps` for boxes f[k, k]."""
    _check(boxes.shape, scores.shape, 0 if overlaps else 4)
    limit, threshold, spread = float(above), float(score_above), float(sigma)
    if int(most) < 0:
        raise invalid("max_output_size must be non-negative", "NonMaxSuppressionV5")
    if not overlaps and not 0 <= limit <= 1:
        raise invalid("iou_threshold must be in [0, 1]", "NonMaxSuppressionV5")
    if spread < 0:
        raise invalid("soft_nms_sigma must be non-negative", "NonMaxSuppressionV5")
    if spread > 0:
        found, kept = _softly_taken(boxes, scores, int(most), threshold, spread)
        return np.array(found, np.int32), np.array(kept, np.float32)
    order = np.argsort(-scores, kind="stable")
    left = order[scores[order] > threshold]
    if not overlaps:
        places = left[array_kernels.suppressed(np.ascontiguousarray(boxes[left]), int(most), limit)].astype(np.int32)
        return places, scores[places]
    if boxes.shape[0] != boxes.shape[1]:
        raise invalid(f"overlaps must be square{shape_text(boxes.shape)}", "NonMaxSuppressionV5")
    places = np.array(_thinned(boxes, left, int(most), limit), np.int32)
    return places, scores[places]


def _suppressed(
    boxes: TensorLike, scores: TensorLike, most: TensorLike, above: TensorLike, score_above: TensorLike,
    sigma: TensorLike = 0.0, overlaps: bool = False,
) -> Any:  # fmt: skip
    x = of_dtypes(as_tensor(boxes, float32), "float16 float32")
    y = of_dtypes(as_tensor(scores, float32), "float16 float32")
    numbers = [cast(each, float32) for each in (x, y, tensor_of(most, int32), above, score_above, sigma)]
    places, kept = suppression_p(*numbers, overlaps=overlaps)
    return places, cast(kept, y.dtype)


@public("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Any:
    """The best boxes, none of which has more than a share in common with a better one. f[n, 4], f[n] -> i32[k].

    max_output_size: The most boxes. iou_threshold: The share of the union. score_threshold: What scores must be above.
    Raises: InvalidArgumentError for shapes or numbers that do not fit. Source: tf.image.non_max_suppression.
    """
    return _suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


@public("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` and the scores; with a sigma, boxes that overlap get lower scores instead. -> i32[k], f[k].

    Raises: InvalidArgumentError as that. Source: tf.image.non_max_suppression_with_scores.
    """
    return _suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)


@public("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Any:
    """`non_max_suppression` of boxes whose overlaps are known. f[n, n], f[n] -> i32[k].

    Raises: InvalidArgumentError as that. Source: tf.image.non_max_suppression_overlaps.
    """
    return _suppressed(overlaps, scores, max_output_size, overlap_threshold, score_threshold, overlaps=True)[0]


@public("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression`, with zeros up to the most boxes if wanted, and their number. -> i32[(b,) k], i32[(b)].

    boxes and scores with a batch need `pad_to_max_output_size`. sorted_input, canonicalized_coordinates, tile_size say
    what is known of the boxes, and how TensorFlow computes; nothing here depends on them.
    Raises: ValueError for a batch without it. Source: tf.image.non_max_suppression_padded.
    """
    x, y = as_tensor(boxes, float32), as_tensor(scores, float32)
    size = tensor_of(max_output_size, int32)
    room = static_int(size) if pad_to_max_output_size else None
    if x.shape.rank is not None and x.shape.rank < 2:
        raise invalid(
            f"boxes must be 2-D or have a batch{shape_text(x.shape.as_list())}", "NonMaxSuppressionV5", x.shape
        )
    again = lambda *t: non_max_suppression_padded(*t, pad_to_max_output_size=True)
    given = [x, y, size, *(as_tensor(each, float32) for each in (iou_threshold, score_threshold))]
    if x.shape.rank is None and pad_to_max_output_size:
        return tuple(late(again, given, int32, int32, name=name))
    if x.shape.rank in (2, None):
        found = _suppressed(x, y, size, iou_threshold, score_threshold)[0]
        n = shape(found)[0]
        found = pad(found, [[0, size - n]]) if pad_to_max_output_size else found
        found.set_shape([room])
        return found, n
    if not pad_to_max_output_size:
        raise ValueError("'pad_to_max_output_size' (value False) must be True for batched input")
    outer = extents_of(x)[:-2]
    n_boxes, number = extents_of(x)[-2], product_of(outer)
    if not isinstance(number, int):
        found, counts = late(again, given, int32, int32, name=name)
        found.set_shape([*x.shape[:-2], room])
        counts.set_shape(x.shape[:-2])
        return found, counts
    rows = [
        _suppressed(b, s, size, iou_threshold, score_threshold)[0]
        for b, s in zip(
            unstack(reshape(x, [number, n_boxes, 4]), number),
            unstack(reshape(y, [number, n_boxes]), number),
            strict=True,
        )
    ]
    counts = [shape(row)[0] for row in rows]
    places = [pad(row, [[0, size - n]]) for row, n in zip(rows, counts, strict=True)]
    if not places:
        raise ValueError("There are no boxes: the batch is empty")
    return reshape(stack(places), [*outer, size]), reshape(stack(counts), outer)


class CombinedNonMaxSuppression(NamedTuple):
    """Results of combined_non_max_suppression."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


@public("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """`non_max_suppression` of each class, and the best of all of them. f32[b, n, q, 4], f32[b, n, c] -> 4 tensors.

    boxes: With q = 1 the same for all classes, else one for each. Results, filled with zeros, are boxes f32[b, k, 4],
    scores f32[b, k], classes f32[b, k] and how many there are i32[b]; k is max_total_size, or with `pad_per_class` at
    most the number of classes times max_output_size_per_class. clip_boxes: boxes end at 0 and 1.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.image.combined_non_max_suppression.
    """
    x, y = (of_dtypes(as_tensor(each, float32), "float32") for each in (boxes, scores))
    if x.shape.rank != 4 or y.shape.rank != 3:
        raise invalid("boxes must be 4-D and scores 3-D", "CombinedNonMaxSuppression", x.shape, y.shape)
    n, own, classes = *extents_of(x)[1:3], extents_of(y)[2]
    text = "max_output_size_per_class and max_total_size must be > 0"
    given = [tensor_of(each, int32) for each in (max_output_size_per_class, max_total_size)]
    per_class, size = (narrow(each, 1, text) if (k := static_int(each)) is None else k for each in given)
    if any(isinstance(each, int) and each <= 0 for each in (per_class, size)):
        raise invalid(text, "CombinedNonMaxSuppression")
    text = "third dimension of boxes must be either 1 or num classes"
    if not isinstance(own, int) or not isinstance(classes, int):
        own += cast(checked((wide(own) - 1) * (wide(own) - wide(classes)), 0, 0, text), int32)
    elif own not in (1, classes):
        raise invalid(f"{text} {classes}", "CombinedNonMaxSuppression")
    if pad_per_class:
        known = isinstance(per_class, int) and isinstance(classes, int)
        size = _least(size, per_class * classes if known else wide(per_class) * wide(classes))
    room = _least(per_class, n)  # no class has more
    mapped = namespaces.resolve("", "map_fn")

    def of_image(image: Any) -> Any:
        places, numbers = image  # f32[n, q, 4], f32[n, c]

        def of_class(k: Tensor) -> Any:
            found = _suppressed(
                places[:, minimum(k, own - 1)], numbers[:, k], per_class, iou_threshold, score_threshold
            )[0]
            count = shape(found)[0]
            found = reshape(pad(found, [[0, room - count]]), [room])
            return found, select(less(range_(room), count), gather(numbers[:, k], found), -np.inf), count

        best, ranked, counts = mapped(of_class, range_(classes), fn_output_signature=(int32, float32, int32))
        count = minimum(reduce_sum(counts), size)
        order = argsort_p(reshape(ranked, [-1]), descending=True)[:count]
        kinds, rest = order // maximum(room, 1), [0, size - count]
        at = stack([gather(reshape(best, [-1]), order), minimum(kinds, own - 1)], 1)
        scores = gather(reshape(ranked, [-1]), order)
        kept = [reshape(pad(part, [rest]), [size]) for part in (scores, cast(kinds, float32))]
        return reshape(pad(gather_nd(places, at), [rest, [0, 0]]), [size, 4]), *kept, count

    made = mapped(of_image, (x, y), fn_output_signature=(float32, float32, float32, int32))
    batch = extents_of(x)[0]  # without images nothing says how many there are of each
    places, numbers, kinds = (reshape(r, [batch, size, *last]) for r, last in zip(made, ([4], [], []), strict=False))
    if clip_boxes:
        places = clip_by_value(places, 0.0, 1.0)
    return CombinedNonMaxSuppression(places, numbers, kinds, made[3])


def _least(a: Any, b: Any) -> Any:
    """The smaller of two ints, or of tensors as an int32."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else cast(minimum(wide(a), wide(b)), int32)


@public("image.crop_and_resize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Parts of images, cut out by boxes, of one size. t[b, h, w, c], f32[n, 4], i32[n], i32[2] -> f32[n, *k, c].

    box_indices: Which image a box is of. method: bilinear or nearest. extrapolation_value: What lies outside of images.
    Raises: InvalidArgumentError for shapes and methods, OutOfRangeError for images that are not there.
    Source: tf.image.crop_and_resize.
    """
    x = of_dtypes(as_tensor(image), "uint8 uint16 int8 int16 int32 int64 float16 float32 float64")
    corners, which = tensor_of(boxes, float32), tensor_of(box_indices, int32)
    if method not in ("bilinear", "nearest"):
        raise invalid(f"method must be 'bilinear' or 'nearest', got {method!r}", "CropAndResize")
    x, corners, which = of_rank(x, 4), of_rank(corners, 2), of_rank(which, 1)
    if x.shape.rank != 4:
        raise invalid(f"input image must be 4-D{shape_text(x.shape.as_list())}", "CropAndResize", x.shape)
    if corners.shape.rank != 2 or corners.shape[1] not in (4, None):
        raise invalid(f"boxes must be 2-D with 4 columns{shape_text(corners.shape.as_list())}", "CropAndResize")
    if which.shape.rank != 1 or not which.shape.is_compatible_with(corners.shape[:1]):
        raise invalid(f"box_index must be 1-D{shape_text(which.shape.as_list())}", "CropAndResize")
    if None in (which.shape[0], corners.shape[0]):
        which = with_extents(which, {0: shape(corners)[0]})
    batch, height, width, channels = extents_of(x)
    if 0 in x.shape.as_list()[1:3]:
        raise invalid("image dimensions must be positive", "CropAndResize", x.shape)
    which = cast(checked(which, 0, wide(batch) - 1, "box_index has values outside [0, {most}]", beyond=True), int32)
    sizes = [n if (k := static_int(n)) is None else k for n in unstack(as_tensor(crop_size, int32), 2)]
    if any(isinstance(n, int) and n <= 0 for n in sizes):
        raise invalid("crop dimensions must be positive", "CropAndResize")
    sizes = [n if isinstance(n, int) else narrow(n, 1, "crop dimensions must be positive") for n in sizes]
    finite = checked(cast(is_finite(corners), int32), 1, 1, "Boxes contains at least one element that is not finite")
    corners = corners * cast(finite, float32)
    y1, x1, y2, x2 = (expand_dims(v, 1) for v in unstack(corners, 4, axis=1))
    rows, columns = _along(y1, y2, height, sizes[0]), _along(x1, x2, width, sizes[1])
    flat = cast(reshape(x, [-1, channels]), float32)
    base = expand_dims(expand_dims(which * cast(product_of([height, width]), int32), 1), 2)

    def read(row: Tensor, column: Tensor) -> Any:
        place = (
            base + expand_dims(_within(row, height) * cast(width, int32), 2) + expand_dims(_within(column, width), 1)
        )
        return gather(flat, place)

    inside = logical_and(expand_dims(_is_within(rows, height), 2), expand_dims(_is_within(columns, width), 1))
    if method == "nearest":
        found = read(floor(rows + 0.5), floor(columns + 0.5))
    else:
        top, left = floor(rows), floor(columns)
        down, right = expand_dims(expand_dims(rows - top, 2), 3), expand_dims(expand_dims(columns - left, 1), 3)
        upper = read(top, left) * (1.0 - right) + read(top, ceil(columns)) * right
        lower = read(ceil(rows), left) * (1.0 - right) + read(ceil(rows), ceil(columns)) * right
        found = upper + (lower - upper) * down
    return select(expand_dims(inside, 3), found, cast(extrapolation_value, float32))


def _along(first: Tensor, last: Tensor, side: Tensor | int, size: Tensor | int) -> Any:
    """Places of a crop's pixels along a side. f32[n, 1], f32[n, 1] -> f32[n, size]."""
    span = cast(side, float32) - 1.0
    steps = expand_dims(cast(range_(size), float32), 0)
    between = cast(size, float32) - 1.0
    scale = (last - first) * span / maximum(between, 1.0)
    return select(greater_equal(between, 1.0), first * span + steps * scale, 0.5 * (first + last) * span + steps * 0.0)


def _within(place: Tensor, side: Tensor | int) -> Any:
    return cast(clip_by_value(place, 0.0, cast(side, float32) - 1.0), int32)


def _is_within(place: Tensor, side: Tensor | int) -> Any:
    return logical_and(greater_equal(place, 0.0), less_equal(place, cast(side, float32) - 1.0))


_COLOURS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1), (0.5, 0.5, 0, 1), (0.5, 0, 0, 1),
    (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


@public("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None = None, name: str | None = None
) -> Any:
    """Images with boxes drawn on them, the last on top. f[b, h, w, c], f32[b, n, 4] -> f[b, h, w, c].

    colors: f32[k, c], taken in turn; None: yellow, blue, red and more, of grey images white.
    Raises: InvalidArgumentError for other shapes. Source: tf.image.draw_bounding_boxes.
    """
    x = of_dtypes(as_tensor(images), "float16 float32")
    corners = tensor_of(boxes, float32)
    x, corners = of_rank(x, 4), of_rank(corners, 3)
    if x.shape.rank != 4:
        raise invalid("The rank of the images should be 4", "DrawBoundingBoxesV2", x.shape)
    if corners.shape.rank != 3 or corners.shape[2] not in (4, None):
        raise invalid(
            f"The rank of the boxes tensor should be 3, of 4 columns, got {corners.shape}", "DrawBoundingBoxesV2"
        )
    if not x.shape[:1].is_compatible_with(corners.shape[:1]):
        raise invalid("The batch sizes should be the same", "DrawBoundingBoxesV2", x.shape, corners.shape)
    if x.shape[3] is None or corners.shape[1] is None:
        more = [] if colors is None else [as_tensor(colors, float32)]
        made = late(draw_bounding_boxes, [x, corners, *more], x.dtype, name=name)
        made.set_shape(x.shape)
        return made
    _, height, width, channels = extents_of(x)
    if channels not in (1, 3, 4):
        raise invalid("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)", "DrawBoundingBoxesV2", x.shape)
    number = extents_of(corners)[1]
    table = as_tensor(np.array(_COLOURS, np.float32) if colors is None else colors, float32)
    if colors is None and channels == 1:
        table = table * 0.0 + 1.0
    if table.shape.rank != 2:
        raise invalid("colors must be a 2-D matrix", "DrawBoundingBoxesV2", table.shape)
    table = table[:, :channels]
    rows, columns = expand_dims(range_(height), 1), expand_dims(range_(width), 0)
    found = x
    for i in range(number):
        first, left, last, right = (
            cast(v * (cast(side, float32) - 1.0), int32)[:, None, None]
            for v, side in zip(unstack(corners[:, i], 4, axis=1), (height, width, height, width), strict=True)
        )
        across = logical_and(greater_equal(columns, left), less_equal(columns, right))
        down = logical_and(greater_equal(rows, first), less_equal(rows, last))
        on_row = logical_or(rows - first == 0, rows - last == 0)
        on_column = logical_or(columns - left == 0, columns - right == 0)
        line = logical_or(logical_and(on_row, across), logical_and(on_column, down))
        fits = logical_and(less_equal(first, last), less_equal(left, right))
        colour = cast(table[i % shape(table)[0]], x.dtype)
        found = select(expand_dims(logical_and(line, fits), 3), colour, found)
    return found
