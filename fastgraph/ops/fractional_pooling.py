"""Pooling by a ratio that is no whole number: regions of random sizes that add up to the image.

Rule: the sizes are drawn as tensors, and the rest is gathers and reductions, so that graphs draw anew at each call.
Source: Graham, "Fractional Max-Pooling" (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, of_dtypes
from fastgraph.ops.comparison import less_equal
from fastgraph.ops.elementwise import cast, minimum, select, zeros_like_p
from fastgraph.ops.families import invalid, public
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, reshape
from fastgraph.ops.random_ops import shuffle, uniform
from fastgraph.ops.random_states import refuse_deferred
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.rounding import floor
from fastgraph.ops.scans import cumsum


class FractionalMaxPool(NamedTuple):
    """Results of fractional_max_pool."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


class FractionalAvgPool(NamedTuple):
    """Results of fractional_avg_pool."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


def _ratios(pooling_ratio: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(pooling_ratio, (int, float)):
        if pooling_ratio < 1.0:
            raise ValueError(f"`pooling_ratio` should be >= 1.0. Received: pooling_ratio={pooling_ratio}")
        return float(pooling_ratio), float(pooling_ratio)
    given = [float(r) for r in pooling_ratio]
    if any(r < 1.0 for r in given):
        raise ValueError(f"`pooling_ratio` elements should be >= 1.0. Received: pooling_ratio={pooling_ratio}")
    if len(given) in (1, 2):
        return given[0], given[-1]
    if len(given) != 4 or given[0] != 1.0 or given[-1] != 1.0:
        raise ValueError(
            "`pooling_ratio` should have first and last elements with value 1.0. "
            f"Received: pooling_ratio={pooling_ratio}"
        )
    return given[1], given[2]


def _bounds(n: int, count: int, pseudo_random: bool, seed: TensorLike | None) -> Any:
    """Return where each of `count` regions begins, and where the last one ends: i64[count + 1]."""
    size, larger = divmod(n, count)
    if larger == 0:
        return as_tensor(np.arange(count + 1, dtype=np.int64) * size)
    if not pseudo_random:
        sizes = shuffle(np.repeat(np.array([size, size + 1], np.int64), [count - larger, larger]), seed)
        return concat([np.zeros([1], np.int64), cumsum(sizes)], 0)
    alpha = n / count
    most = min((size + 2) / alpha - 1, (n + 1 - size) / alpha - (count - 1))
    u = uniform([], 0.0, most, "float64", seed)
    inner = floor(alpha * (np.arange(count, dtype=np.float64) + u)) - floor(alpha * u)
    return concat([cast(inner, "int64"), np.array([n], np.int64)], 0)


def _regions(x: Tensor, axis: int, bounds: Tensor, most: int, overlapping: bool) -> tuple[Any, Any]:
    """x with `axis` as regions and places in them, and which of these are inside: places after the end repeat it."""
    n = x.shape[axis]
    first = expand_dims(bounds[:-1], 1)
    last = expand_dims(minimum(bounds[1:] - (0 if overlapping else 1), n - 1), 1)
    places = first + np.arange(most, dtype=np.int64)
    return gather(x, minimum(places, last), axis=axis), less_equal(places, last)


def _pool(
    value: TensorLike, pooling_ratio: float | Sequence[float], pseudo_random: bool, overlapping: bool,
    seed: TensorLike | None,
) -> tuple[Any, Any, tuple[Any, Any]]:  # fmt: skip
    refuse_deferred(value)
    x = of_dtypes(as_tensor(value), "float32 float64 int32 int64")
    if x.shape.rank != 4:
        raise invalid("tensor_in must be 4-dimensional")
    if None in x.shape[1:3].as_list():
        raise NotImplementedError("fractional pooling needs an image of known height and width")
    found, inside = [], []
    for axis, ratio in zip((1, 3), _ratios(pooling_ratio), strict=True):
        n = int(x.shape[axis] or 0)
        count = int(n / ratio)
        if count < 1:
            raise invalid(f"pooling_ratio {ratio} leaves nothing of {n}")
        bounds = _bounds(n, count, pseudo_random, seed if seed else None)
        # Regions of pseudo-random sizes may be one larger, or smaller, than the shuffled ones.
        most = n // count + (1 if n % count else 0) + (1 if pseudo_random and n % count else 0) + overlapping
        x, where = _regions(x, axis, bounds, most, overlapping)
        found.append(bounds)
        inside.append(where)
    rows, columns = inside
    oh, kh = rows.shape.as_list()
    ow, kw = columns.shape.as_list()
    down, across = reshape(rows, [1, oh, kh, 1, 1, 1]), reshape(columns, [1, 1, 1, ow, kw, 1])
    return x, cast(down, "float64") * cast(across, "float64"), (found[0], found[1])


@public("nn.fractional_max_pool")
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: TensorLike = 0,
    name: str | None = None,
) -> FractionalMaxPool:
    """The largest element of each of extent / pooling_ratio random regions.

    t[n, h, w, c] -> t[n, *o, c], i64[o + 1] x2.
    Raises: ValueError for ratios below 1, or over batch or channels; InvalidArgumentError for other dtypes or ranks.
    Source: Graham 2014; tf.nn.fractional_max_pool.
    """
    x, _, bounds = _pool(value, pooling_ratio, pseudo_random, overlapping, seed)
    return FractionalMaxPool(reduce_max(x, [2, 4], name=name), *bounds)


@public("nn.fractional_avg_pool")
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: TensorLike | None = 0,
    name: str | None = None,
) -> FractionalAvgPool:
    """The mean of each of extent / pooling_ratio random regions. t[n, h, w, c] -> t[n, *o, c], i64[o + 1] x2.

    Raises: ValueError for ratios below 1, or over batch or channels; InvalidArgumentError for other dtypes or ranks.
    Source: Graham 2014; tf.nn.fractional_avg_pool.
    """
    x, mask, bounds = _pool(value, pooling_ratio, pseudo_random, overlapping, seed)
    wide = x if x.dtype.is_floating else cast(x, "float64")
    inside = cast(mask, wide.dtype)
    total = reduce_sum(select(inside > 0, wide, zeros_like_p(wide)), [2, 4])
    mean = total / reduce_sum(inside, [2, 4])
    return FractionalAvgPool(cast(mean, x.dtype, name=name), *bounds)
