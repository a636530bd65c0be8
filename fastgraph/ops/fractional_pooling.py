"""Pooling by a ratio that is no whole number: regions of random sizes that add up to the image.

Rule: the sizes are drawn as tensors, anew at each call unless there is a seed; the rest is gathers and reductions.
Source: Graham, "Fractional Max-Pooling" (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arg_reduction import argmax
from fastgraph.ops.arguments import as_tensor, extents, of_dtypes
from fastgraph.ops.comparison import less_equal
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, identity, minimum, select, zeros_like_p
from fastgraph.ops.families import invalid, public
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, shape, transpose
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.random_ops import shuffled, uniform_of
from fastgraph.ops.random_states import Again, Source, generators, refuse_deferred
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.rounding import ceil, floor
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


def _bounds(n: int, count: int, pseudo_random: bool, source: Source, u: Any) -> Any:
    """Return where each of `count` regions begins, and where the last one ends: i64[count + 1]. u: f64[], below 1."""
    size, larger = divmod(n, count)
    if larger == 0:
        return as_tensor(np.arange(count + 1, dtype=np.int64) * size)
    if not pseudo_random:
        sizes = shuffled(source, np.repeat(np.array([size + 1, size], np.int64), [larger, count - larger]), None)
        return concat([np.zeros([1], np.int64), cumsum(sizes)], 0)
    alpha = n / count
    most = min((size + 2) / alpha - 1, (n + 1 - size) / alpha - (count - 1))
    return _steps_from(np.arange(1, count, dtype=np.float64), alpha, u * most, np.array([n], np.int64))


def _steps_from(numbers: Any, alpha: Any, u: Any, end: Any) -> Any:
    """Bounds at steps of alpha that begin at chance, as TensorFlow rounds them; the first and the last stand."""
    inner = cast(ceil(alpha * (numbers + u)), "int64") - 1
    return concat([np.zeros([1], np.int64), inner, end], 0)


def _bounds_of_any(n: Tensor, ratio: float, pseudo_random: bool, source: Source, u: Any) -> Any:
    """Return the same of a size that only a call knows, i64[]."""
    real = cast(n, "float64")
    count = cast(floor(real / ratio), "int64")
    size, numbers = n // count, range_(count)
    if not pseudo_random:
        sizes = shuffled(source, size + cast(numbers < n - size * count, "int64"), None)
        return concat([np.zeros([1], np.int64), cumsum(sizes)], 0)
    whole, count = cast(size, "float64"), cast(count, "float64")
    alpha = real / count
    u = u * minimum((whole + 2) / alpha - 1, (real + 1 - whole) / alpha - (count - 1))
    return _steps_from(cast(numbers[1:], "float64"), alpha, u, expand_dims(n, 0))


def _regions(x: Tensor, axis: int, bounds: TensorLike, most: TensorLike, overlapping: bool) -> tuple[Any, Any]:
    """x with `axis` as regions and places in them, and which of these are inside: places after the end repeat it."""
    n = x.shape[axis]
    n = cast(shape(x)[axis], "int64") if n is None else n
    bounds = as_tensor(bounds)
    first = expand_dims(bounds[:-1], 1)
    last = expand_dims(minimum(bounds[1:] - (0 if overlapping else 1), n - 1), 1)
    places = first + (np.arange(most, dtype=np.int64) if isinstance(most, int) else range_(most))
    return gather(x, minimum(places, last), axis=axis), less_equal(places, last)


def _of_value(value: TensorLike) -> Any:
    refuse_deferred(value)
    x = of_dtypes(as_tensor(value), "float32 float64 int32 int64")
    if x.shape.rank != 4:
        raise invalid("tensor_in must be 4-dimensional")
    return x


def _drawn(
    x: Tensor, pooling_ratio: float | Sequence[float], pseudo_random: bool, overlapping: bool, seed: TensorLike | None
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The bounds of regions, of rows and of columns, and of how many places regions are at most."""
    found, most, ratios = [], [], _ratios(pooling_ratio)
    # The state of pseudo-random ones moves on by two numbers a sequence.
    again = Again(seed) if seed else None  # 0, None: no seed
    double = as_dtype("float64")
    source = again or generators.source("fractional_pool", None)
    chances = uniform_of(source, extents([3]), 0.0, 1.0, double, "RandomUniform", None) if pseudo_random else [None] * 3
    for axis, ratio in zip((1, 2), ratios, strict=True):
        u, source = chances[2 * axis - 2], again or generators.source("fractional_pool", None)
        n = x.shape[axis]
        if n is None:
            found.append(_bounds_of_any(cast(shape(x)[axis], "int64"), ratio, pseudo_random, source, u))
            most.append(_most(found[-1], overlapping))
            continue
        count = int(n / ratio)
        if count < 1:
            raise invalid(
                f"Pooling ratio is higher than input dimension size for dimension {axis}. Input dim size: {n} pooling "
                f"ratio: {ratio:g}"
            )
        found.append(_bounds(n, count, pseudo_random, source, u))
        # Regions of pseudo-random sizes may be one larger, or smaller, than the shuffled ones.
        most.append(n // count + (1 if n % count else 0) + (1 if pseudo_random and n % count else 0) + overlapping)
    return (found[0], found[1]), (most[0], most[1])


def _most(bounds: Any, overlapping: bool) -> Any:
    return reduce_max(bounds[1:] - bounds[:-1]) + int(overlapping)


def _first_greatest(x: Any) -> Any:
    """The greatest along the last axis; of equals the first is that which has a gradient, as in TensorFlow."""
    n = x.shape[-1]
    chosen = one_hot(argmax(x, -1), shape(x)[-1] if n is None else n, True, False, dtype="bool")
    return reduce_sum(select(chosen, x, zeros_like_p(x)), -1)


def greatest_of_regions(x: Tensor, bounds: Sequence[Any], overlapping: bool, most: Sequence[Any] | None = None) -> Any:
    """The greatest elements of regions: t[n, h, w, c], bounds of rows and of columns -> t[n, *o, c]."""
    most = [_most(each, overlapping) for each in bounds] if most is None else most
    for axis, each, size in zip((1, 3), bounds, most, strict=True):
        x, _ = _regions(x, axis, each, size, overlapping)
    return _first_greatest(_first_greatest(transpose(x, [0, 1, 3, 5, 2, 4])))


def means_of_regions(x: Tensor, bounds: Sequence[Any], overlapping: bool, most: Sequence[Any] | None = None) -> Any:
    """The means of regions: t[n, h, w, c], bounds of rows and of columns -> t[n, *o, c]."""
    most = [_most(each, overlapping) for each in bounds] if most is None else most
    wide = x if x.dtype.is_floating else cast(x, "float64")
    x, rows = _regions(wide, 1, bounds[0], most[0], overlapping)
    x, columns = _regions(x, 3, bounds[1], most[1], overlapping)
    rows = expand_dims(expand_dims(rows, 2), 3)
    inside = cast(rows, wide.dtype) * cast(columns, wide.dtype)  # [rows, places, 1, 1] * [columns, places]
    inside = expand_dims(expand_dims(inside, 0), -1)
    return reduce_sum(select(inside > 0, x, zeros_like_p(x)), [2, 4]) / reduce_sum(inside, [2, 4])


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
    x = _of_value(value)
    bounds, most = _drawn(x, pooling_ratio, pseudo_random, overlapping, seed)
    return FractionalMaxPool(identity(greatest_of_regions(x, bounds, overlapping, most), name=name), *bounds)


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
    x = _of_value(value)
    bounds, most = _drawn(x, pooling_ratio, pseudo_random, overlapping, seed)
    return FractionalAvgPool(cast(means_of_regions(x, bounds, overlapping, most), x.dtype, name=name), *bounds)
