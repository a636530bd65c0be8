"""Pixels moved into channels or into the batch by blocks, and back: space_to_depth, space_to_batch and inverses.

Rule: blocks are static; what is padded and cut may be known only at run time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import are_known, as_tensor, known_value, of_dtypes, preferred, whole
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.families import Array, invalid, public, shape_text
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import reshape, transpose_p
from fastgraph.ops.padding import pad
from fastgraph.ops.runtime_assertions import ensure_shape_p


def _checked_block(x: TensorLike, block_size: int, data_format: str, op: str) -> tuple[Any, bool]:
    if block_size < 2:
        raise invalid(f"Value for attr 'block_size' of {block_size} must be at least minimum 2 [Op:{op}]")
    if data_format not in ("NHWC", "NCHW"):
        raise invalid(f"Value for attr 'data_format' of \"{data_format}\" is not built; use NHWC or NCHW [Op:{op}]")
    x = as_tensor(x)
    if x.shape.rank is None:  # known when the graph runs
        x = ensure_shape_p(x, shape=(None,) * 4)
    elif x.shape.rank != 4:
        raise invalid(f"Input rank should be 4 instead of {x.shape.rank} [Op:{op}]")
    return x, data_format == "NHWC"


@public("nn.space_to_depth")
def space_to_depth(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Blocks of block_size x block_size pixels as channels. t[n, h, w, c] -> t[n, h / b, w / b, b * b * c].

    Raises: InvalidArgumentError for extents that b does not divide. Source: tf.nn.space_to_depth.
    """
    block_size = whole(block_size, "block_size")
    x, last = _checked_block(input, block_size, data_format, "SpaceToDepth")
    h, w = (1, 2) if last else (2, 3)
    height, width = x.shape[h], x.shape[w]
    if (height or 0) % block_size or (width or 0) % block_size:
        if current_trace() is not None:
            extent = height if (height or 0) % block_size else width
            what = f"Dimension size must be evenly divisible by {block_size} but is {extent}"
            raise misfit(what, "SpaceToDepth", x.shape)
        raise invalid(
            f"Image width {width} and height {height} should be divisible by block_size: {block_size} [Op:SpaceToDepth]"
        )
    e = extents_of(x)
    if last:
        cut = reshape(x, [e[0], e[1] // block_size, block_size, e[2] // block_size, block_size, e[3]])
        moved = transpose_p(cut, perm=(0, 1, 3, 2, 4, 5))
        result = [e[0], e[1] // block_size, e[2] // block_size, e[3] * block_size * block_size]
    else:
        cut = reshape(x, [e[0], e[1], e[2] // block_size, block_size, e[3] // block_size, block_size])
        moved = transpose_p(cut, perm=(0, 3, 5, 1, 2, 4))
        result = [e[0], e[1] * block_size * block_size, e[2] // block_size, e[3] // block_size]
    return reshape(moved, result, name=name)


@public("nn.depth_to_space")
def depth_to_space(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Channels as blocks of block_size x block_size pixels. t[n, h, w, b * b * c] -> t[n, h * b, w * b, c].

    Raises: InvalidArgumentError for channels that b * b does not divide. Source: tf.nn.depth_to_space.
    """
    block_size = whole(block_size, "block_size")
    x, last = _checked_block(input, block_size, data_format, "DepthToSpace")
    depth, square = x.shape[3 if last else 1], block_size * block_size
    if (depth or 0) % square:
        raise invalid(f"Input depth dimension {depth} should be divisible by: {square} [Op:DepthToSpace]")
    e = extents_of(x)
    if last:
        cut = reshape(x, [e[0], e[1], e[2], block_size, block_size, e[3] // square])
        moved = transpose_p(cut, perm=(0, 1, 3, 2, 4, 5))
        return reshape(moved, [e[0], e[1] * block_size, e[2] * block_size, e[3] // square], name=name)
    cut = reshape(x, [e[0], block_size, block_size, e[1] // square, e[2], e[3]])
    moved = transpose_p(cut, perm=(0, 3, 4, 1, 5, 2))
    return reshape(moved, [e[0], e[1] // square, e[2] * block_size, e[3] * block_size], name=name)


def _numbers(values: Any, what: str) -> Array:
    """An argument of integers, tensors among them; NotImplementedError where one is known only at run time."""
    small = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
    tensor = preferred(values.astype(np.int64) if small else values, int32)
    found = known_value(tensor if tensor.shape.num_elements() == 0 else of_dtypes(tensor, "index", f"T{what}"))
    if found is None:
        raise NotImplementedError(f"{what} must be known while a function is traced")
    return found


def _block(block_shape: TensorLike) -> list[int]:
    found = np.ravel(_numbers(block_shape, "block_shape")).tolist()
    block = [whole(b, "block_shape") for b in found]
    if any(b < 1 for b in block):
        raise invalid(f"All values in block_shape must be positive, got {block}")
    return block


def _sides(values: TensorLike, k: int, x: Tensor, what: str) -> list[list[int]]:
    """An argument of two numbers for each axis of a block; x has these axes, and one of batches before them."""
    pairs = _numbers(values, what)
    if pairs.shape != (k, 2):
        raise invalid(f"{what} should have shape [{k}, 2] instead of {shape_text(pairs.shape)}")
    if len(x.shape) < k + 1:
        raise invalid(f"input rank should be >= {k + 1} instead of {len(x.shape)}")
    sides = [[whole(n, what) for n in pair] for pair in pairs.tolist()]
    if any(n < 0 for pair in sides for n in pair):
        raise invalid(f"{what} must be non-negative, got {sides}")
    return sides


@public("space_to_batch")
def space_to_batch(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None) -> Any:
    """Blocks of the padded axes after the first as batches. t[n, *m, *r] -> t[n * prod(block), *m / block, *r].

    Raises: InvalidArgumentError for extents that the block does not divide. Source: tf.space_to_batch.
    """
    x = as_tensor(input)
    if x.shape.rank is None or not are_known(block_shape, paddings):
        return late(space_to_batch, [x, preferred(block_shape, int32), preferred(paddings, int32)], x.dtype, name=name)
    block = _block(block_shape)
    k, rank = len(block), len(x.shape)
    sides = _sides(paddings, k, x, "paddings")
    x = pad(x, [[0, 0], *sides, *[[0, 0]] * (rank - k - 1)])
    e = extents_of(x)
    for i, b in enumerate(block):
        if isinstance(e[i + 1], int) and e[i + 1] % b:
            raise invalid(f"padded_shape[{i}]={e[i + 1]} is not divisible by block_shape[{i}]={b} [Op:SpaceToBatchND]")
    cut = [e[0], *[n for i, b in enumerate(block) for n in (e[i + 1] // b, b)], *e[k + 1 :]]
    perm = (*[2 * i + 2 for i in range(k)], 0, *[2 * i + 1 for i in range(k)], *range(2 * k + 1, rank + k))
    result = [e[0] * product_of(block), *[e[i + 1] // b for i, b in enumerate(block)], *e[k + 1 :]]
    return reshape(transpose_p(reshape(x, cut), perm=perm), result, name=name)


@public("batch_to_space")
def batch_to_space(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None) -> Any:
    """Batches as blocks of the axes after the first, which are then cropped: the inverse of space_to_batch.

    t[n * prod(block), *m, *r] -> t[n, *m * block - crops, *r]. A Python number is the block of two axes.
    Raises: InvalidArgumentError for a batch that the block does not divide. Source: tf.batch_to_space.
    """
    x, block_shape = as_tensor(input), [block_shape] * 2 if isinstance(block_shape, int) else block_shape
    if x.shape.rank is None or not are_known(block_shape, crops):
        return late(batch_to_space, [x, preferred(block_shape, int32), preferred(crops, int32)], x.dtype, name=name)
    block = _block(block_shape)
    k, rank = len(block), len(x.shape)
    sides = _sides(crops, k, x, "crops")
    e, total = extents_of(x), math.prod(block)
    if isinstance(e[0], int) and e[0] % total:
        raise invalid(
            f"Input batch dimension ({e[0]}) is not divisible by product of block sizes ({total}) [Op:BatchToSpaceND]"
        )
    for i, (n, b, pair) in enumerate(zip(e[1:], block, sides, strict=False)):
        if isinstance(n, int) and n * b < sum(pair):
            raise invalid(f"cropped_shape[{i}]={n * b - sum(pair)} must be non-negative [Op:BatchToSpaceND]")
    cut = reshape(x, [*block, e[0] // total, *e[1:]])
    perm = (k, *[i for j in range(k) for i in (k + 1 + j, j)], *range(2 * k + 1, rank + k))
    wide = reshape(
        transpose_p(cut, perm=perm), [e[0] // total, *[e[i + 1] * b for i, b in enumerate(block)], *e[k + 1 :]]
    )
    key = [slice(a, -c if c else None) for a, c in sides]
    return wide[(slice(None), *key)]
