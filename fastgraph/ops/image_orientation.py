"""Images turned, cut and fitted: flips, quarter turns, crops, other sizes with bars; by choice or by chance.

Rule: images are t[h, w, c] or t[b, h, w, c]; what is by chance is given the function that draws, seeded or stateless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32, float64, int32, int64
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.tensor import EagerTensor, Tensor
from fastgraph.ops.arguments import as_tensor, real, static_int
from fastgraph.ops.comparison import equal, greater_equal, less
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import late, of_known_ranks
from fastgraph.ops.elementwise import cast, maximum, minimum, select, zeros_like_p
from fastgraph.ops.families import invalid, public
from fastgraph.ops.gathering import gather
from fastgraph.ops.image_resizing import (
    ResizeMethod,
    crop_to_bounding_box,
    pad_to_bounding_box,
    positive,
    resize,
    with_pixels,
)
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims, reshape, shape, size, squeeze, transpose_p
from fastgraph.ops.padding import reverse
from fastgraph.ops.random_ops import uniform
from fastgraph.ops.random_states import refuse_deferred
from fastgraph.ops.reduction import reduce_all
from fastgraph.ops.rounding import floor, rint
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.slicing import slice_
from fastgraph.ops.stateless_random import stateless_uniform

#: Numbers spread over [0, 1) of a shape.
Unit = Callable[[SizeLike], Any]


def _pixels(image: TensorLike) -> tuple[Tensor, Any]:
    """`with_pixels`; of images of unknown rank the axes before those of pixels, in place of whether it is a batch."""
    x = as_tensor(image)
    if x.shape.rank is not None:
        return with_pixels(x)
    extents = shape(x)
    return reshape(x, [-1, extents[-3], extents[-2], extents[-1]]), extents[:-3]


def _unbatched(x: Tensor, is_batch: Any) -> Any:
    if isinstance(is_batch, Tensor):
        return reshape(x, concat([is_batch, shape(x)[1:]], 0))
    return x if is_batch else squeeze(x, axis=[0])


def _flipped(image: TensorLike, axis: int) -> Any:
    x, is_batch = _pixels(image)
    return _unbatched(reverse(x, [axis]), is_batch)


@public("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """Images mirrored: their columns from the last to the first. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.flip_left_right.
    """
    return _flipped(image, 2)


@public("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """Images upside down: their rows from the last to the first. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.flip_up_down.
    """
    return _flipped(image, 1)


def _flipped_by_chance(image: TensorLike, axis: int, unit: Unit) -> Any:
    """Each image flipped or not: a single one if its number is below a half, those of a batch if it is above."""
    x, is_batch = _pixels(image)
    if is_batch is False:
        return squeeze(select(less(unit([]), 0.5), reverse(x, [axis]), x), axis=[0])
    drawn = reshape(unit([extents_of(x)[0]]), [-1, 1, 1, 1])
    chosen = greater_equal(rint(drawn), 1.0)
    if is_batch is not True:
        chosen = select(equal(size(is_batch), 0), less(drawn, 0.5), chosen)
    return _unbatched(select(chosen, reverse(x, [axis]), x), is_batch)


def _seeded(seed: TensorLike | None, image: TensorLike) -> Unit:
    refuse_deferred(image)
    return lambda size: uniform(size, 0.0, 1.0, seed=seed)


def _stateless(seed: TensorLike) -> Unit:
    return lambda size: stateless_uniform(size, seed)


@public("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image mirrored with a probability of a half. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.random_flip_left_right.
    """
    return _flipped_by_chance(image, 2, _seeded(seed, image))


@public("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image upside down with a probability of a half. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.random_flip_up_down.
    """
    return _flipped_by_chance(image, 1, _seeded(seed, image))


@public("image.stateless_random_flip_left_right")
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_left_right`, the same for the same seed i[2]. Source: tf.image.stateless_random_flip_left_right."""
    return _flipped_by_chance(image, 2, _stateless(seed))


@public("image.stateless_random_flip_up_down")
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_up_down`, the same for the same seed i[2]. Source: tf.image.stateless_random_flip_up_down."""
    return _flipped_by_chance(image, 1, _stateless(seed))


@public("image.transpose")
def transpose_image(image: TensorLike, name: str | None = None) -> Any:
    """Images with rows and columns exchanged. t[(b,) h, w, c] -> t[(b,) w, h, c].

    Raises: ValueError for another rank. Source: tf.image.transpose.
    """
    x, is_batch = _pixels(image)
    return _unbatched(transpose_p(x, perm=(0, 2, 1, 3)), is_batch)


@public("image.rot90")
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Images turned k times by a quarter, against the clock. t[(b,) h, w, c] -> t.

    k: An int, or a tensor of one. Raises: ValueError for another rank, or several k. Source: tf.image.rot90.
    """
    x, is_batch = _pixels(image)
    turns = as_tensor(k, int32)
    if turns.shape.rank not in (0, None):
        raise ValueError(f"Shape must be rank 0 but is rank {turns.shape.rank}")
    known = static_int(turns)
    if known is not None:
        across = transpose_p(x, perm=(0, 2, 1, 3)) if known % 2 else x
        axes = ((), (1,), (1, 2), (2,))[known % 4]
        return _unbatched(reverse(across, list(axes)) if axes else across, is_batch)
    turns = turns % 4
    b, h, w, c = extents_of(x)
    rows, columns = (select(equal(turns % 2, 1), m, n) for m, n in ((w, h), (h, w)))
    i, j = expand_dims(range_(rows), 1), range_(columns)
    forth, back = ((i, j), (h - 1 - i, w - 1 - j)), ((j, w - 1 - i), (h - 1 - j, i))
    places = [
        select(turns < 2, *(m * w + n + zeros_like_p(i + j) for m, n in pair)) for pair in (forth, back)
    ]  # of turns by none and a half, by one and three quarters
    place = reshape(select(equal(turns % 2, 1), places[1], places[0]), [-1])
    found = gather(reshape(x, [b, product_of([h, w]), c]), place, axis=1)
    return _unbatched(reshape(found, [b, rows, columns, c]), is_batch)


@public("image.central_crop")
def central_crop(image: TensorLike, central_fraction: TensorLike) -> Tensor:
    """The middle of images: a fraction of each side. t[(b,) h, w, c], number in (0, 1] -> t.

    Raises: ValueError for other fractions and ranks. Source: tf.image.central_crop.
    """
    fraction = central_fraction
    if isinstance(fraction, Tensor):
        fraction = float(fraction.numpy()) if isinstance(fraction, EagerTensor) else cast(fraction, float64)
    if not isinstance(fraction, Tensor):
        fraction = real(fraction, "central_fraction")
        if not 0.0 < fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if fraction == 1.0:
            return as_tensor(image)
    x, is_batch = with_pixels(image)
    _, height, width, _ = extents_of(x)

    def start(side: Tensor | int) -> Any:
        if isinstance(side, int) and not isinstance(fraction, Tensor):
            return int((float(side) - float(side) * float(fraction)) / 2)
        wide = cast(side, float64)
        return cast((wide - wide * fraction) / 2.0, int32)

    top, left = start(height), start(width)
    return _unbatched(x[:, top : height - top, left : width - left, :], is_batch)


@public("image.resize_with_crop_or_pad")
@of_known_ranks
def resize_with_crop_or_pad(image: TensorLike, target_height: TensorLike, target_width: TensorLike) -> Any:
    """Images cut at their edges, or with zeros around them, to have a size. t[(b,) h, w, c] -> t[(b,) target, c].

    Raises: ValueError for sizes that are not above 0 and other ranks. Source: tf.image.resize_with_crop_or_pad.
    """
    x, is_batch = with_pixels(image)
    sizes = [positive(target_height, "target_height"), positive(target_width, "target_width")]
    sides = extents_of(x)[1:3]
    crops, pads, kept = [], [], []
    for side, wanted in zip(sides, sizes, strict=True):
        if isinstance(side, int) and isinstance(wanted, int):
            crops.append(max((side - wanted) // 2, 0))
            pads.append(max((wanted - side) // 2, 0))
            kept.append(min(side, wanted))
        else:
            crops.append(maximum((side - wanted) // 2, 0))
            pads.append(maximum((wanted - side) // 2, 0))
            kept.append(minimum(wanted, side))
    x = crop_to_bounding_box(x, *crops, *kept)
    return _unbatched(pad_to_bounding_box(x, *pads, *sizes), is_batch)


@public("image.resize_with_pad")
def resize_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Images as large as fits a size, with zeros where their sides have another ratio. -> t[(b,) target, c].

    method, antialias: As in `image.resize`. Raises: ValueError as that. Source: tf.image.resize_with_pad.
    """
    x = as_tensor(image)
    if x.shape.rank is None:
        again = lambda x, h, w: resize_with_pad(x, h, w, method, antialias)
        dtype = x.dtype if method == ResizeMethod.NEAREST_NEIGHBOR else float32
        return late(again, [x, target_height, target_width], dtype)
    x, is_batch = with_pixels(x)
    sides = extents_of(x)[1:3]
    wanted = [positive(target_height, "target_height"), positive(target_width, "target_width")]
    if all(isinstance(n, int) for n in [*sides, *wanted]):
        lengths, targets = (np.array(pair, np.float32) for pair in (sides, wanted))
        fitted = lengths / np.max(lengths / targets)
        x = resize(x, np.floor(fitted).astype(int).tolist(), method, antialias=antialias)
        if method != ResizeMethod.NEAREST_NEIGHBOR:
            x = cast(x, float32)  # those that had the size, too
        bars = np.floor((targets - fitted) / 2).clip(0).astype(int).tolist()
        return _unbatched(pad_to_bounding_box(x, *bars, *wanted), is_batch)
    old, new = ([cast(n, float32) for n in pair] for pair in (sides, wanted))
    ratio = maximum(old[0] / new[0], old[1] / new[1])
    reached = [side / ratio for side in old]
    before = [maximum(cast(floor((n - length) / 2.0), int32), 0) for n, length in zip(new, reached, strict=True)]
    x = resize(x, stack([cast(floor(length), int32) for length in reached]), method, antialias=antialias)
    return _unbatched(pad_to_bounding_box(x, *before, *wanted), is_batch)


def _cropped_by_chance(value: TensorLike, size: TensorLike, draw: Callable[[SizeLike, Any], Any]) -> Any:
    """The slice of a size that begins at a place that numbers of the size's dtype choose."""
    x = as_tensor(value)
    wanted = as_tensor(size, int32)
    if wanted.dtype not in (int32, int64):
        raise TypeError(f"The size must be of int32 or int64, got {wanted.dtype.name}")
    sides = cast(shape(x), wanted.dtype)
    if isinstance(x, EagerTensor) and isinstance(wanted, EagerTensor):
        if wanted.shape != sides.shape or not bool(reduce_all(greater_equal(sides, wanted))):
            raise invalid(f"Need value.shape >= size, got  {x.shape.as_list()} {wanted.numpy().tolist()}")
    else:
        Assert(reduce_all(greater_equal(sides, wanted)), ["Need value.shape >= size, got ", sides, wanted])
    offset = draw(shape(sides), wanted.dtype) % (sides - wanted + 1)
    return slice_(x, offset, wanted)


@public("image.random_crop")
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Any:
    """A part of a tensor, as large as `size`, at a random place. t[*s], i[rank] -> t[*size].

    Raises: InvalidArgumentError for a size that is larger than the tensor. Source: tf.image.random_crop.
    """
    refuse_deferred(value)
    return _cropped_by_chance(value, size, lambda n, kind: uniform(n, 0, kind.max, kind, seed))


@public("image.stateless_random_crop")
def stateless_random_crop(value: TensorLike, size: TensorLike, seed: TensorLike, name: str | None = None) -> Tensor:
    """`random_crop`, the same for the same seed i[2]. Source: tf.image.stateless_random_crop."""
    return _cropped_by_chance(value, size, lambda n, kind: stateless_uniform(n, seed, 0, kind.max, kind))
