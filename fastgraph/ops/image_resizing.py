"""Images of another size: tf.image.resize and its kin.

Rule: an axis is resized by weighted sums of the few pixels around each new one, which a method states; work and memory
go by the size of the images (short axes by a product with all pixels). All of it is ops, so that sizes may be unknown
until the graph runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastgraph.api import namespaces
from fastgraph.core.base.dtype import float32, int32, int64
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor, class_has, current_trace
from fastgraph.ops.arguments import as_tensor, has_dtype, of_dtypes, static_int, whole
from fastgraph.ops.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
)
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import of_known_ranks
from fastgraph.ops.elementwise import abs, cast, maximum, minimum, select, zeros_like_p
from fastgraph.ops.exponentials import exp, sin
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.matmul import extents_of, matmul, product_of
from fastgraph.ops.movement import expand_dims, reshape, squeeze
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.rounding import ceil, floor, rint
from fastgraph.ops.runtime_assertions import assert_non_negative, assert_positive
from fastgraph.ops.slicing import slice_tensor

#: How the table of the bicubic kernel divides the way between two pixels.
_TABLE = 1024
#: An axis of no more pixels than so many times those that make up a new one is resized by a product: in eager mode, and
#: in graphs, where what is gathered is in no memory.
_FEW, _FEW_TRACED = 48, 8
#: Sums of weights below it are taken for none.
_LEAST = 1000 * float(np.finfo(np.float32).tiny)


class ResizeMethod:
    """The names of the methods of `resize`. Source: tf.image.ResizeMethod."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


# ---- kernels: the weight of a pixel at a distance -------------------------------------------------------------------


#: How many pixels, known now or only when the graph runs.
Number = int | np.integer[Any] | Tensor


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def weight(x: Tensor) -> Any:
        angle = maximum(x, 1e-3) * math.pi
        inside = sin(angle) * sin(angle / radius) * radius / (angle * angle)
        return select(
            less_equal(x, 1e-3), zeros_like_p(x) + 1.0, select(less_equal(x, radius), inside, zeros_like_p(x))
        )

    return weight


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> Callable[[Any], Any]:
    """The kernel of two polynomials, up to distance 1 and from there to 2; coefficients from the highest power."""

    def polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
        total = x * coefficients[0]
        for c in coefficients[1:-1]:
            total = (total + c) * x
        return total + coefficients[-1]

    def weight(x: Tensor) -> Any:
        beyond = select(less(x, 2.0), polynomial(x, far), zeros_like_p(x))
        return select(less(x, 1.0), polynomial(x, near), beyond)

    return weight


def _box(x: Tensor) -> Any:
    edge = select(equal(x, 0.5), zeros_like_p(x) + 0.5, zeros_like_p(x))
    return select(less(x, 0.5), zeros_like_p(x) + 1.0, edge)


#: Kernel of each method that takes pixels by their distance: (weight, radius).
_KERNELS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "bilinear": (lambda x: maximum(1.0 - x, 0.0), 1.0),
    "bicubic": (_cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0)), 2.0),
    "box": (_box, 1.0),
    "gaussian": (lambda x: select(less(x, 1.5), exp(x * x * -2.0), zeros_like_p(x)), 1.5),
    "lanczos1": (_lanczos(1.0), 1.0),
    "lanczos3": (_lanczos(3.0), 3.0),
    "lanczos5": (_lanczos(5.0), 5.0),
    "mitchellcubic": (_cubic((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)), 2.0),
}
_EARLIER_CUBIC = _cubic((1.25, -2.25, 0.0, 1.0), (-0.75, 3.75, -6.0, 3.0))
_METHODS = _KERNELS.keys() - {"box", "lanczos1"}
#: The names that an operation has for methods.
_NAMED_OTHERWISE = {"triangle": "bilinear", "keyscubic": "bicubic"}


# ---- which pixels of an axis a new one is made of --------------------------------------------------------------------
# Each method gives places f[new, k], of which some may lie outside, and their weights f[new, k].


class Pixels(NamedTuple):
    """The places of pixels as TensorFlow 1 chooses them: their beginnings, or the corners of both images as one."""

    align_corners: bool = False
    half_pixel_centers: bool = True


_CENTERS = Pixels()


def _step(old: Tensor | int, new: Tensor | int, at: Pixels) -> Any:
    """Old pixels from one new one to the next, f[]."""
    if not at.align_corners or (isinstance(new, int) and new <= 1):
        return _ratio(old, new)
    if isinstance(new, int):
        return _ratio(old - 1, new - 1)
    return select(greater(new, 1), _ratio(old - 1, maximum(new - 1, 1)), _ratio(old, new))


def _places(old: Tensor | int, new: Tensor | int, at: Pixels) -> Any:
    """Return where new pixels stand among old ones, f[new]."""
    step = _step(old, new, at)
    return (_numbers(new) + 0.5) * step - 0.5 if at.half_pixel_centers else _numbers(new) * step


def _numbers(n: Tensor | int) -> Any:
    return cast(range_(cast(n, int32)), float32)


def _ratio(a: Tensor | int, b: Tensor | int) -> Any:
    return cast(a, float32) / cast(b, float32)


def _most(span: float, old: Tensor | int, new: Tensor | int) -> Any:
    """Return how many pixels lie at most in `span` times the larger of an old and a new pixel; an int if known."""
    if isinstance(old, int) and isinstance(new, int):
        return math.ceil(span * max(old / new, 1.0)) + 1
    return cast(ceil(maximum(_ratio(old, new), 1.0) * span), int32) + 1


def _inside(pixels: Tensor, old: Tensor | int, weights: Tensor) -> Any:
    """The weights, 0 for pixels that are none."""
    there = logical_and(greater_equal(pixels, 0.0), less(pixels, cast(old, float32)))
    return select(there, weights, zeros_like_p(weights))


def _by_distance(
    old: Tensor | int, new: Tensor | int, method: str, antialias: bool, affine: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    """Pixels by a kernel of their distance, widened to the new pixels' size by `antialias`.

    affine: A scale and a translation of the image, f[] each, where the sizes do not say them.
    """
    weight, radius = _KERNELS[method]
    inverse = 1.0 / (_ratio(new, old) if affine is None else affine[0])
    wide = maximum(inverse, 1.0) if antialias else cast(1.0, float32)
    place = expand_dims((_numbers(new) + 0.5) * inverse - (0.0 if affine is None else affine[1] * inverse), 1)
    last = floor(place + radius * wide - 0.5)
    if antialias and affine is not None:
        most = cast(ceil(wide * (2 * radius)), int32) + 1
    else:
        most = _most(2 * radius, old, new) if antialias else math.ceil(2 * radius) + 1
    pixels = ceil(place - radius * wide - 0.5) + _numbers(most)
    given = weight(abs((pixels + 0.5 - place) * (1.0 / wide)))
    within = less_equal(pixels, last)
    if affine is not None:  # nothing is seen from places beside the image
        beside = logical_or(less(place, 0.0), greater(place, cast(old, float32)))
        within = logical_and(within, logical_not(beside))
    given = select(within, given, zeros_like_p(given))
    return pixels, _normalised(_inside(pixels, old, given))


def _normalised(weights: Tensor) -> Any:
    total = reduce_sum(weights, 1, keepdims=True)
    return weights / select(greater_equal(abs(total), _LEAST), total, zeros_like_p(total) + 1.0)


def _by_table(old: Tensor | int, new: Tensor | int, at: Pixels = _CENTERS) -> tuple[Any, Any]:
    """Four neighbours by the cubic kernel, whose distances go in steps of a table."""
    place = _places(old, new, at)
    low = floor(place)
    step = rint((place - low) * _TABLE) * (1.0 / _TABLE)
    near = np.arange(-1, 3, dtype=np.float32)
    pixels, away = expand_dims(low, 1) + near, abs(expand_dims(step, 1) - near)
    if not at.half_pixel_centers:  # another kernel, and the pixels at the edges stand for those outside
        return _clamped(pixels, old), _EARLIER_CUBIC(away)
    weight, _ = _KERNELS["bicubic"]
    return pixels, _normalised(_inside(pixels, old, weight(away)))


def _clamped(pixels: Tensor, old: Tensor | int) -> Any:
    return maximum(minimum(pixels, cast(old, float32) - 1.0), 0.0)


def _by_area(old: Tensor | int, new: Tensor | int, at: Pixels = _CENTERS) -> tuple[Any, Any]:
    """Pixels by the shares of them that a new one covers."""
    scale = _step(old, new, at)
    first, last = (expand_dims((_numbers(new) + k) * scale, 1) for k in (0.0, 1.0))
    pixels = floor(first) + _numbers(_most(1.0, old, new))
    shares = maximum(minimum(pixels + 1.0, last) - maximum(pixels, first), 0.0) / scale
    return (_clamped(pixels, old), shares) if at.align_corners else (pixels, _inside(pixels, old, shares))


def _weighted(images: Tensor, axis: int, old: Tensor | int, pixels: Tensor, weights: Tensor) -> Any:
    """Images with the pixels of an axis weighted: f[b, h, w, c], f[o, k], f[o, k] -> f with o for that axis."""
    k = weights.shape[1]
    few = _FEW if current_trace() is None else _FEW_TRACED
    if k is not None and isinstance(old, int) and old <= few * k:  # a product with all pixels' weights is faster
        of_each = equal(expand_dims(pixels, 2), _numbers(old))
        return _product(reduce_sum(select(of_each, expand_dims(weights, 2), 0.0), 1), images, axis)
    places = maximum(minimum(cast(pixels, int32), cast(old, int32) - 1), 0)
    found = gather(images, places, axis=axis)
    return reduce_sum(found * reshape(weights, [*extents_of(weights), *[1] * (3 - axis)]), axis + 1)


def _product(weights: Tensor, images: Tensor, axis: int) -> Any:
    """Images with an axis weighted by a product: f[o, i], f[b, h, w, c] -> f with o for i."""
    if axis == 2:
        return matmul(weights, images)
    b, h, w, c = extents_of(images)
    rows = matmul(weights, reshape(images, [b, h, product_of([w, c])]))
    return reshape(rows, [b, extents_of(rows)[1], w, c])


def _bilinear(images: Tensor, axis: int, old: Tensor | int, new: Tensor | int, at: Pixels = _CENTERS) -> Any:
    place = _places(old, new, at)
    low = floor(place)
    before = cast(maximum(low, 0.0), int32)
    after = minimum(cast(ceil(place), int32), cast(old, int32) - 1)
    share = reshape(place - low, [-1, 1, 1] if axis == 1 else [-1, 1])
    first, second = gather(images, before, axis=axis), gather(images, after, axis=axis)
    return first + (second - first) * share


def _nearest(images: Tensor, axis: int, old: Tensor | int, new: Tensor | int, at: Pixels = _CENTERS) -> Any:
    place = _numbers(new) + 0.5 if at.half_pixel_centers else _numbers(new)
    place = place * _step(old, new, at)
    place = cast(floor(place + 0.5 if at.align_corners else place), int32)
    return gather(images, maximum(minimum(place, cast(old, int32) - 1), 0), axis=axis)


# ---- what programs call ---------------------------------------------------------------------------------------------


def as_batch(images: TensorLike, what: str = "'images'") -> tuple[Tensor, bool]:
    """Return ([b, h, w, c], whether there was a batch) of images with or without a batch. Raises ValueError."""
    x = as_tensor(images)
    if x.shape.rank is None:
        raise ValueError(f"{what} contains no shape.")
    if x.shape.rank not in (3, 4):
        raise ValueError(f"{what} must have either 3 or 4 dimensions.")
    return (x, True) if x.shape.rank == 4 else (expand_dims(x, 0), False)


def _wanted(
    size: TensorLike, height: Tensor | int, width: Tensor | int, preserve_aspect_ratio: bool
) -> tuple[Any, Any]:
    try:
        given = convert_to_tensor(size, int32)
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not given.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    new_height, new_width = unstack(given, 2)
    if preserve_aspect_ratio:
        scale = minimum(_ratio(new_height, height), _ratio(new_width, width))
        new_height, new_width = (cast(rint(scale * cast(side, float32)), int32) for side in (height, width))
    sides = [(side if (known := static_int(side)) is None else known) for side in (new_height, new_width)]
    for side in sides:
        if not isinstance(side, int):
            assert_positive(side, "output dimensions must be positive")
        elif side < -1:
            raise ValueError(f"Dimension {side} must be >= 0")
        elif side <= 0:
            raise invalid("output dimensions must be positive")
    return sides[0], sides[1]


@public("image.resize")
def resize(
    images: TensorLike,
    size: TensorLike,
    method: str | int = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another height and width. t[b, h, w, c] or t[h, w, c], i32[2] -> f32 of that size.

    Images that have the size already are converted all the same, and smoothed by the methods that smooth.

    Args:
        images: Images, or one.
        size: The new height and width.
        method: bilinear, nearest (which keeps the dtype), bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic.
        preserve_aspect_ratio: Whether the size is the most that either may be, and their ratio stays.
        antialias: Whether kernels are as wide as the new pixels where images shrink.

    Raises:
        ValueError: The rank or the method is another one, or the size is no two numbers.

    Examples:
        >>> tf.image.resize([[[0.0], [1.0]]], [1, 4])[0, :, 0]
        <tf.Tensor: shape=(4,), dtype=float32, numpy=array([0.  , 0.25, 0.75, 1.  ], dtype=float32)>

    Source: tf.image.resize.
    """
    if class_has(images, "__fg_bind__"):  # images of different sizes, in a RaggedTensor
        ragged: Any = images
        rest = (size, method, preserve_aspect_ratio, antialias)
        if ragged.shape.rank not in (4, None):
            raise ValueError("tf.image.resize: images.shape.rank must be 4 if images is ragged.")
        dtype = ragged.dtype if method == "nearest" else float32
        mapped = namespaces.resolve("", "map_fn")
        made = mapped(lambda one: resize(one.to_tensor(), *rest), ragged, fn_output_signature=dtype)
        if preserve_aspect_ratio:
            return made
        wanted = _wanted(size, 1, 1, False)  # of no image too
        return reshape(made, [extents_of(made)[0], *wanted, extents_of(ragged.flat_values)[-1]])
    x, is_batch = as_batch(images)
    _, height, width, _ = extents_of(x)
    new_height, new_width = _wanted(size, height, width, preserve_aspect_ratio)
    sides = (height, width, new_height, new_width)
    of_dtypes(x, "int8 uint8 int16 uint16 int32 int64 bfloat16 float16 float32 float64")
    if x.shape[-1] == 0:
        raise invalid("image must have at least one channel")
    if any(isinstance(n, int) and n == 0 for n in sides):
        raise invalid(f"input image must be of non-zero size, got {shape_text(x.shape.as_list())}")
    same = all(isinstance(n, int) for n in sides) and sides[:2] == sides[2:]
    new = {2: (width, new_width), 1: (height, new_height)}
    if method == "nearest":
        x = x if same else _by_place(x, new, method, _CENTERS)
    else:
        x = cast(x, float32)
        if same and method in ("bilinear", "bicubic", "area"):
            pass  # pixels that lie where they lay are as they were
        elif method == "area" or (method in ("bilinear", "bicubic") and not antialias):
            x = _by_place(x, new, str(method), _CENTERS)
        elif method in _METHODS:
            for axis, (old, wanted) in new.items():
                x = _weighted(x, axis, old, *_by_distance(old, wanted, str(method), bool(antialias)))
        else:
            raise ValueError(f"Resize method is not implemented: {method}")
    return x if is_batch else squeeze(x, axis=[0])


def _by_place(x: Tensor, new: dict[int, tuple[Any, Any]], method: str, at: Pixels) -> Any:
    """Axes resized by one of the methods that know where pixels stand: axis -> (old extent, new one)."""
    for axis, (old, wanted) in new.items():
        if method in ("nearest", "bilinear"):
            x = (_nearest if method == "nearest" else _bilinear)(x, axis, old, wanted, at)
        else:
            x = _weighted(x, axis, old, *(_by_table if method == "bicubic" else _by_area)(old, wanted, at))
    return x


def resize_at(images: TensorLike, size: TensorLike, method: str, at: Pixels) -> Any:
    """Images of another size, whose pixels stand where TensorFlow 1 says. t[b, h, w, c], i32[2] -> f32, nearest: t.

    method: bilinear, nearest, bicubic, area. Raises: as `resize`. Source: tf.raw_ops.ResizeBilinear and its kin.
    """
    if at == _CENTERS or (method == "area" and not at.align_corners):
        return resize(images, size, method)
    x, _ = as_batch(images)
    _, height, width, _ = extents_of(x)
    new_height, new_width = _wanted(size, height, width, False)
    x = x if method == "nearest" else cast(x, float32)
    return _by_place(x, {2: (width, new_width), 1: (height, new_height)}, method, at)


def scale_and_translate(
    images: TensorLike, size: TensorLike, scale: TensorLike, translation: TensorLike, kernel: str, antialias: bool
) -> Any:
    """Images scaled and moved, as much of them as has a size: t[b, h, w, c], i32[2], f32[2], f32[2] -> f32.

    kernel: lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic, mitchellcubic. Raises:
    InvalidArgumentError for other ones. Source: tf.raw_ops.ScaleAndTranslate.
    """
    method = _NAMED_OTHERWISE.get(kernel, kernel)
    if method not in _KERNELS or kernel in _NAMED_OTHERWISE.values():
        raise invalid(f"Unrecognized kernel type: {kernel} [Op:ScaleAndTranslate]")
    x, _ = as_batch(images)
    _, height, width, _ = extents_of(x)
    new_height, new_width = _wanted(size, height, width, False)
    scales, moves = (unstack(convert_to_tensor(each, float32), 2) for each in (scale, translation))
    x = cast(x, float32)
    for axis, old, new in ((2, width, new_width), (1, height, new_height)):
        weights = _by_distance(old, new, method, antialias, (scales[axis - 1], moves[axis - 1]))
        x = _weighted(x, axis, old, *weights)
    return x


def with_pixels(image: TensorLike) -> tuple[Tensor, bool]:
    """`as_batch` of images that have pixels and channels. Raises: ValueError for others."""
    x, is_batch = as_batch(image, "'image'")
    if 0 in x.shape.as_list()[1:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {x.shape}")
    return x, is_batch


@public("image.pad_to_bounding_box")
@of_known_ranks
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: Number,
    offset_width: Number,
    target_height: Number,
    target_width: Number,
    name: str | None = None,
) -> Tensor:
    """Images with zeros around them, so that they stand at an offset in a larger one. t[(b,) h, w, c] -> t.

    Raises: ValueError for offsets below 0 and a target that is too small. Source: tf.image.pad_to_bounding_box.
    """
    x, is_batch = with_pixels(image)
    offset_height, offset_width = number(offset_height, "offset_height"), number(offset_width, "offset_width")
    target_height, target_width = number(target_height, "target_height"), number(target_width, "target_width")
    _, height, width, _ = extents_of(x)
    sides = []
    for what, at, old, wanted in (
        ("height", offset_height, height, target_height),
        ("width", offset_width, width, target_width),
    ):
        after = wanted - at - old
        _not_negative(at, f"offset_{what} must be >= 0")
        _not_negative(after, f"{what} must be <= target - offset")
        sides.append([cast(at, int64), cast(after, int64)])
    known = [[static_int(side) for side in pair] for pair in sides]
    sides = [[n if n is not None else side for n, side in zip(ns, pair)] for ns, pair in zip(known, sides)]
    x = pad(x, [[0, 0], *sides, [0, 0]])
    x.set_shape([None, static_int(target_height), static_int(target_width), None])
    return x if is_batch else squeeze(x, axis=[0])


def number(value: TensorLike, what: str) -> Any:
    """An integer argument: a tensor, or a Python number. Raises: TypeError for what is neither."""
    return as_tensor(value) if has_dtype(value) else whole(value, what)


def _not_negative(value: Number, message: str) -> None:
    """Raise ValueError for a number below 0, InvalidArgumentError for a tensor of one, at once or when a graph runs."""
    if isinstance(value, Tensor):
        assert_non_negative(value, message)
    elif value < 0:
        raise ValueError(message)


def positive(value: TensorLike, what: str) -> Any:
    """`number`, an int where it is known. Raises: as `_not_negative`, for numbers that are not above 0."""
    found = number(value, what)
    if isinstance(found, Tensor):
        assert_positive(found, f"{what} must be > 0.")
    elif found <= 0:
        raise ValueError(f"{what} must be > 0.")
    known = static_int(found)
    return found if known is None else known


@public("image.crop_to_bounding_box")
@of_known_ranks
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: Number,
    offset_width: Number,
    target_height: Number,
    target_width: Number,
    name: str | None = None,
) -> Any:
    """The part of images that begins at an offset and has a size. t[(b,) h, w, c] -> t[(b,) target, c].

    Raises: ValueError for a part that does not lie in the image. Source: tf.image.crop_to_bounding_box.
    """
    x, is_batch = with_pixels(image)
    offset_height, offset_width = number(offset_height, "offset_height"), number(offset_width, "offset_width")
    target_height, target_width = number(target_height, "target_height"), number(target_width, "target_width")
    _, height, width, _ = extents_of(x)
    for what, at, old, wanted in (
        ("height", offset_height, height, target_height),
        ("width", offset_width, width, target_width),
    ):
        _not_negative(at, f"offset_{what} must be >= 0.")
        _not_negative(wanted - 1, f"target_{what} must be > 0.")
        _not_negative(old - wanted - at, f"{what} must be >= target + offset.")
    dims = x.shape
    size = [dims[0], static_int(target_height), static_int(target_width), dims[3]]
    if None in size:
        rows = slice(offset_height, offset_height + target_height)
        x = x[:, rows, offset_width : offset_width + target_width, :]
    else:
        begin: Any = [0, offset_height, offset_width, 0]
        if any(isinstance(n, Tensor) for n in begin):
            begin = stack([cast(n, int64) for n in begin])
        x = slice_tensor(x, begin, size)
    x.set_shape([None, static_int(target_height), static_int(target_width), None])
    return x if is_batch else squeeze(x, axis=[0])
