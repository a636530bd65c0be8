"""Copies side by side: tile, repeat, meshgrid.

Rule: as of padding: an element function says which input element stands at an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.dtype import int32, int64, uint64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.op_errors import MAX_RANK
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError
from fastgraph.ops.arguments import as_tensor, extents, known_value, named, preferred
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.families import Array, canonical_axis, invalid, misuse, movement, public
from fastgraph.ops.gathering import dim, gather_densely
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import expand_dims_p, reshape, shape
from fastgraph.ops.reduction import reduce_prod, reduce_sum
from fastgraph.ops.runtime_checks import MOST, checked, wide
from fastgraph.ops.scans import cumsum_p
from fastgraph.ops.sorting import search_sorted


def _tiled(dims: Sequence[int | None], multiples: Sequence[int]) -> tuple[int | None, ...]:
    if len(multiples) != len(dims):
        raise ValueError(
            f"Expected multiples argument to be a vector of length {len(dims)} but got length {len(multiples)}"
        )
    for i, m in enumerate(multiples):
        if m < 0:
            raise ValueError(f"Expected multiples[{i}] >= 0, but got {m}")
    return tuple(None if n is None else n * m for n, m in zip(dims, multiples, strict=True))


def _tile_grad(dy: Tensor, input: Tensor, multiples: tuple[int, ...]) -> Any:
    split: list[Any] = []
    axes = []
    for i, m in enumerate(multiples):
        if m != 1:
            axes.append(len(split))
            split.append(m)
        split.append(dim(input, i))
    return reduce_sum(reshape(dy, split), tuple(axes))


@movement(
    infer=lambda input, *, multiples: Aval(
        input.dtype, (None,) * len(multiples) if input.shape is None else _tiled(input.shape, multiples)
    ),
    lower=lambda b, node: [lambda index: b.input(0).at([i % n for i, n in zip(index, b.input(0).shape, strict=True)])],
    vjp=dict(input=lambda dy, input, multiples: _tile_grad(dy, input, multiples)),
    samples=lambda: [
        ((np.arange(6).reshape(2, 3).astype(t),), {"multiples": m})
        for t in ("float32", "int32", "bool")
        for m in ((2, 1), (1, 3), (0, 1), (2, 2))
    ],
    error_samples=lambda: [
        misuse(
            "Expected multiples argument to be a vector of length 2 but got length 1", np.ones([2, 3]), multiples=(2,)
        ),
        misuse(r"Expected multiples\[1\] >= 0, but got -1", np.ones([2, 3]), multiples=(2, -1)),
    ],
)
def tile_p(input: Array, *, multiples: tuple[int, ...]) -> Any:
    """input repeated multiples[i] times along axis i. t[*s] -> t[*r]."""
    try:
        _tiled(input.shape, multiples)
    except ValueError as error:
        raise invalid(str(error)) from None
    # By one copy: [n, m] -> [1, n, m] -> [a, n, m] -> [a * n, m]; what is not repeated keeps its one axis.
    pairs = list(zip(multiples, input.shape, strict=True))
    dims = [n for m, size in pairs for n in ((size,) if m == 1 else (m, size))]
    if len(dims) > MAX_RANK:
        return np.tile(input, multiples)  # axis by axis
    apart = input.reshape([n for m, size in pairs for n in ((size,) if m == 1 else (1, size))])
    return np.broadcast_to(apart, dims).reshape([m * size for m, size in pairs])


@public("tile")
def tile(input: TensorLike, multiples: SizeLike, name: str | None = None) -> Any:
    """input repeated multiples[i] times along axis i. t[*s] -> t[*r].

    Raises: InvalidArgumentError if there is not one number per axis, or a negative one. Source: tf.tile.
    """
    times = extents(multiples, "Tile.Tmultiples", "Expected multiples to be 1-D, but got shape [] [Op:Tile]")
    if times.static is not None:
        return named(name, tile_p, input, multiples=times.static)
    input = as_tensor(input)
    rank = input.shape.rank
    if rank is None:
        return late(tile, [input, times.tensor], input.dtype, name=name)
    # [n, m] -> [1, n, 1, m] -> [a, n, b, m] -> [a * n, b * m]
    spread = expand_dims_p(input, axes=tuple(range(0, 2 * rank, 2)))
    dims: list[Any] = []
    for i in range(rank):
        dims += [times.tensor[i], dim(input, i)]
    return reshape(broadcast_to(spread, dims), shape(input, int64) * wide(times.tensor), name)


_MOST_PLACES = 2**20  # that are written into a graph; places of more are computed as it runs


def _times(repeats: TensorLike) -> Any:
    """Return the numbers of times: one below 0 is none, and too many do not wrap. i[*s] -> i64[*s]."""
    return minimum(maximum(wide(repeats), 0), MOST)


@public("repeat")
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Any:
    """Each element (or slice along `axis`) `repeats` times. t[*s] -> t[*r].

    Raises: ValueError for an axis out of range. Source: tf.repeat.
    """
    x = as_tensor(input)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if not isinstance(axis, int):
        raise TypeError(f"Argument `axis` must be an int. Received `axis` = {axis} of type {type(axis).__name__}")
    amounts: Any = preferred(int(repeats) if isinstance(repeats, (bool, np.generic)) else repeats, int32)
    if amounts.dtype == uint64 or amounts.shape == (0,):
        amounts = cast(amounts, int64)
    if x.shape.rank is None and axis >= 0:  # the same along the middle of three axes
        dims = shape(x)
        before, after = dims[:axis], dims[axis + 1 :]
        y = repeat(reshape(x, stack([reduce_prod(before), dim(x, axis), reduce_prod(after)])), amounts, 1)
        return reshape(y, concat([before, shape(y)[1:2], after], 0), name=name)
    if x.shape.rank is None:
        return late(lambda t, n: repeat(t, n, axis), [x, amounts], x.dtype, name=name)
    if not amounts.dtype.is_integer:
        raise TypeError(f"Argument `tensor` (name: repeats) must be of type integer. Received `tensor` = {amounts}")
    if (amounts.shape.rank or 0) > 1:
        raise ValueError(f"Shape {amounts.shape} must have rank at most 1")
    x = x if len(x.shape) else reshape(x, [1])
    axis = canonical_axis(axis, len(x.shape))
    counts, n = known_value(amounts), x.shape[axis]
    if n is not None and counts is not None and (current_trace() is None or n <= _MOST_PLACES):
        if counts.size == 1 and counts.dtype.kind == "i" and counts.min() < 0:
            raise InvalidArgumentError(
                None, None, f"Expected multiples[{axis + 1}] >= 0, but got {counts.min()} [Op:Tile]"
            )
        counts = np.maximum(counts, 0) if counts.dtype.kind == "i" else counts  # of many, fewer than none are none
        # NumPy does not see that the number of bytes overflows.
        total = sum(counts.ravel().tolist()) * (n if counts.size == 1 else 1) if counts.dtype.kind in "iu" else 0
        if total >= 2**40:
            raise ResourceExhaustedError(None, None, f"OOM when allocating tensor of {total} elements")
        try:
            places = np.repeat(np.arange(n, dtype=np.int32), counts)
        except MemoryError as error:
            raise ResourceExhaustedError(None, None, f"Out of memory: {error}") from None
        return gather_densely(x, places, axis, name)
    dims = [dim(x, i) for i in range(len(x.shape))]
    if amounts.shape.num_elements() == 1:
        text = f"Expected multiples[{axis + 1}] >= 0, but got {{}}"
        times: Any = checked(reshape(amounts, ()), 0, 2**63 - 1, text) if counts is None else int(counts.reshape(()))
        every = wide(dims[axis]) * times if isinstance(times, Tensor) else dims[axis] * times
        rows = broadcast_to(expand_dims_p(x, axes=(axis + 1,)), [*dims[: axis + 1], times, *dims[axis + 1 :]])
        return reshape(rows, [*dims[:axis], every, *dims[axis + 1 :]], name=name)
    each = broadcast_to(_times(amounts), [dims[axis]])
    ends = cumsum_p(each, axis=0, exclusive=False, reverse=False)
    places = range_(reduce_sum(each))  # each shows the element whose end is the first above it
    ends, places = (expand_dims_p(each, axes=(0,)) for each in (ends, places))
    return gather_densely(x, search_sorted(ends, places, right=True, out_type=int32)[0], axis, name)


@public("meshgrid")
def meshgrid(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Vectors repeated to grids of coordinates; indexing "xy" (first two swapped) or "ij". Source: tf.meshgrid."""
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    del name
    vectors = [reshape(as_tensor(a), (-1,)) for a in args]
    n = len(vectors)
    first: Any = vectors[0].dtype if vectors else None
    for i, v in enumerate(vectors):  # TensorFlow multiplies each by ones of the first one's dtype
        if v.dtype is not first and (v.dtype.is_bool or first.is_bool):
            vectors[i] = cast(v, "bool")
        elif v.dtype is not first:
            raise op_errors.mixed_dtypes("Mul", ("x", "y"), [v.dtype, first], "", current_trace())
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    full: list[Any] = [None] * n
    for i, v in enumerate(vectors):
        full[order[i]] = dim(v, 0)
    return [
        broadcast_to(reshape(v, [-1 if k == order[i] else 1 for k in range(n)]), full) for i, v in enumerate(vectors)
    ]
