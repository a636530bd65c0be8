"""Images moved and cut: projective transforms, patches.

Rule: a transform says for each new pixel where in the image it comes from; what lies outside is filled by a mode.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.dtype import float32, int32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, of_dtypes, static_int, word
from fastgraph.ops.comparison import equal, greater, greater_equal, less, logical_and
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import of_known_ranks
from fastgraph.ops.elementwise import abs as abs_of
from fastgraph.ops.elementwise import cast, clip_by_value, select, sign, zeros_like_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import unstack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims, reshape, transpose_p
from fastgraph.ops.patches import spatial, windows_of
from fastgraph.ops.rounding import floor
from fastgraph.ops.runtime_assertions import assert_positive
from fastgraph.ops.window_arguments import paddings


def _truncated(x: Tensor) -> Any:
    return sign(x) * floor(abs_of(x))


def _reflected(x: Tensor, n: Tensor) -> Any:
    turn = 2.0 * n
    low = select(less(x, -turn), turn * _truncated(-x / turn) + x, x)
    low = select(less(low, -n), low + turn, -low - 1.0)
    high = x - turn * _truncated(x / turn)
    high = select(greater_equal(high, n), turn - high - 1.0, high)
    return _outside(x, n, low, high)


def _wrapped(x: Tensor, n: Tensor) -> Any:
    turn = select(greater(n, 1.0), n - 1.0, n)
    return _outside(x, n, x + n * (_truncated(-x / turn) + 1.0), x - n * _truncated(x / turn))


def _outside(x: Tensor, n: Tensor, low: Tensor, high: Tensor) -> Any:
    """Return `low` where x is below 0, `high` above n - 1, else x; within the image."""
    few = equal(n + zeros_like_p(x), 1.0)
    moved = select(less(x, 0.0), low, select(greater(x, n - 1.0), high, x))
    moved = select(few, zeros_like_p(x), moved)
    return clip_by_value(moved, 0.0, n - 1.0)


_MODES: dict[str, Any] = {
    "CONSTANT": lambda x, n: x,
    "REFLECT": _reflected,
    "WRAP": _wrapped,
    "NEAREST": lambda x, n: clip_by_value(x, 0.0, n - 1.0),
}


@public("raw_ops.ImageProjectiveTransformV3")
def image_projective_transform(
    images: TensorLike,
    transforms: TensorLike,
    output_shape: TensorLike,
    fill_value: TensorLike,
    interpolation: str,
    fill_mode: str = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """Images seen through projective transforms [a0 a1 a2 b0 b1 b2 c0 c1]. t[b, h, w, c], f32[b or 1, 8] -> t.

    The pixel (x, y) of the result comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1.
    Raises: InvalidArgumentError for transforms of another shape, ValueError for unknown modes.
    Source: tf.raw_ops.ImageProjectiveTransformV3.
    """
    x = of_dtypes(as_tensor(images), "uint8 int32 int64 float16 bfloat16 float32 float64", "dtype")
    rows = as_tensor(transforms, float32)
    if x.shape.rank not in (None, 4):
        raise invalid(f"input must be 4-dimensional{shape_text(x.shape.as_list())}")
    if rows.shape.rank != 2 or rows.shape[1] not in (8, None):
        raise invalid("Input transform should be num_images x 8 or 1 x 8")
    fill_mode, interpolation = word(fill_mode, "fill_mode").upper(), word(interpolation, "interpolation").upper()
    if fill_mode not in _MODES or interpolation not in ("NEAREST", "BILINEAR"):
        raise ValueError(f"Unknown interpolation {interpolation} or fill mode {fill_mode}")
    b, h, w, c = extents_of(x)
    height, width = (n if (k := static_int(n)) is None else k for n in unstack(as_tensor(output_shape, int32), 2))
    for side in (height, width):
        if not isinstance(side, int):
            assert_positive(side, "output dimensions must be positive")
        elif side <= 0:
            raise invalid("output dimensions must be positive")
    a0, a1, a2, b0, b1, b2, c0, c1 = (expand_dims(expand_dims(v, 1), 1) for v in unstack(rows, 8, axis=1))
    across = cast(range_(width), float32)
    down = expand_dims(cast(range_(height), float32), 1)
    k = c0 * across + c1 * down + 1.0
    there = equal(k, 0.0)
    k = select(there, zeros_like_p(k) + 1.0, k)
    mode, sides = _MODES[fill_mode], (cast(w, float32), cast(h, float32))
    at_x, at_y = ((p * across + q * down + r) / k for p, q, r in ((a0, a1, a2), (b0, b1, b2)))
    at_x, at_y = mode(at_x, sides[0]), mode(at_y, sides[1])
    fill = cast(fill_value, x.dtype)
    flat = reshape(x, [b, product_of([h, w]), c])

    def read(column: Tensor, row: Tensor) -> Any:
        inside = logical_and(
            logical_and(greater_equal(row, 0.0), less(row, sides[1])),
            logical_and(greater_equal(column, 0.0), less(column, sides[0])),
        )
        place = cast(select(inside, row, zeros_like_p(row)), int32) * cast(w, int32)
        place = place + cast(select(inside, column, zeros_like_p(column)), int32)
        place = place + zeros_like_p(reshape(range_(b), [-1, 1, 1]))  # one transform may serve all images
        inside = logical_and(inside, greater_equal(place, 0))
        return select(expand_dims(inside, -1), gather(flat, place, axis=1, batch_dims=1), fill)

    if interpolation == "NEAREST":
        result = read(*(sign(v) * floor(abs_of(v) + 0.5) for v in (at_x, at_y)))
    else:
        left, top = floor(at_x), floor(at_y)
        # In the pixels' dtype for floats as wide, else in float32, as the weights are.
        kind = x.dtype if x.dtype.name == "float64" else float32
        dx, dy = (expand_dims(cast(v, kind), -1) for v in (at_x - left, at_y - top))
        corners = [[cast(read(left + i, top + j), kind) for i in (0.0, 1.0)] for j in (0.0, 1.0)]
        upper, lower = ((1.0 - dx) * first + dx * second for first, second in corners)
        result = cast((1.0 - dy) * upper + dy * lower, x.dtype)
    return select(expand_dims(there, -1), zeros_like_p(result) + fill, result)


_PATCHES = (
    "bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 bool"
)


@public("image.extract_patches")
@of_known_ranks
def extract_patches(
    images: TensorLike, sizes: TensorLike, strides: TensorLike, rates: TensorLike, padding: str, name: str | None = None
) -> Any:
    """The elements of each window of images as channels, 0 outside. t[b, h, w, c] -> t[b, *o, kh * kw * c].

    sizes, strides, rates: [1, rows, columns, 1]. Raises: InvalidArgumentError for another rank, ValueError for sizes
    that are not of this form. Source: tf.image.extract_patches.
    """
    x = of_dtypes(as_tensor(images), _PATCHES)
    if x.shape.rank != 4:
        raise invalid(f"input must be 4-dimensional: {shape_text(x.shape.as_list())}")
    window, stride, rate = (
        spatial(v, 2, what) for v, what in ((sizes, "ksizes"), (strides, "strides"), (rates, "rates"))
    )
    pads = paddings(padding, 2, False, explicit=False)
    assert isinstance(pads, str)
    found = windows_of(x, window, stride, pads, rate)
    values = found.values
    if found.inside is not None:
        values = select(found.inside, values, zeros_like_p(values))
    b, _, _, c = extents_of(x)
    rows = transpose_p(values, perm=(0, 1, 3, 2, 4, 5))
    return reshape(rows, [b, *found.out, product_of([*window, c])], name=name)
