"""Rows handed out and put together: dynamic_partition, dynamic_stitch; isotonic_regression, collapse_repeated, Sobol
points, approximate top k.

Rule: only what data decides the size or the order of is a host step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import ResourceExhaustedError
from fastgraph.ops.arguments import (
    alike,
    as_tensor,
    index_vector,
    named,
    not_allowed,
    of_dtypes,
    refused,
    static_int,
    whole,
)
from fastgraph.ops.array_ops import sequence_mask
from fastgraph.ops.comparison import logical_and, not_equal
from fastgraph.ops.counting import interval
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast, clip_by_value, ones_like, zeros_like
from fastgraph.ops.families import Array, canonical_axis, custom, invalid, misuse, public, shape_text
from fastgraph.ops.gathering import boolean_mask
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import reshape, shape, size, transpose_p
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.rounding import floor
from fastgraph.ops.runtime_checks import checked, of_rank
from fastgraph.ops.scans import cumsum
from fastgraph.ops.scatter import scatter_nd, tensor_scatter_update_p
from fastgraph.ops.sorting import top_k

_COUNTED = "the number of results is data: a pass over all elements decides it"

# ---- partition and stitch -------------------------------------------------------------------------------------------


def _infer_partition(data: Aval, partitions: Aval, *, count: int) -> tuple[Aval, ...]:
    dims = None
    if data.shape is not None and partitions.shape is not None:
        rank = len(partitions.shape)
        if len(data.shape) < rank or any(
            n != m for n, m in zip(data.shape, partitions.shape, strict=False) if None not in (n, m)
        ):
            raise ValueError(_UNLIKE.format(shape_text(data.shape), shape_text(partitions.shape)))
        dims = (None, *data.shape[rank:])
    return (Aval(data.dtype, dims),) * count


_UNLIKE = "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}"


def _partition_grad(
    dys: Sequence[Tensor | None],
    partitions: Tensor,
    outs: Sequence[Tensor],
    data_shape: tuple[int, ...] | Tensor,
    count: int,
) -> Any:
    places = reshape(range_(reduce_sum(ones_like(partitions))), shape(partitions))
    parts = [zeros_like(out) if dy is None else dy for dy, out in zip(dys, outs, strict=True)]
    rank, n = len(partitions.shape), reshape(size(partitions), [1])
    tail = index_vector(data_shape[rank:]) if isinstance(data_shape, tuple) else data_shape[rank:]
    where = reshape(concat(dynamic_partition(places, partitions, count), 0), [-1, 1])  # each place once
    return reshape(scatter_nd(where, concat(parts, 0), concat([n, cast(tail, int32)], 0)), data_shape)


@custom(
    infer=_infer_partition,
    groups=("T", "int32"),
    n_outputs=None,
    step="dynamic",
    vjp=dict(data=_partition_grad),
    samples=lambda: [
        ((np.arange(12).reshape(4, 3).astype(t), np.array(p, np.int32)), {"count": 3})
        for t in ("float32", "float64", "int32", "bool")
        for p in ([0, 2, 0, 1], [1, 1, 1, 1], [[0, 1, 2], [2, 1, 0], [0, 0, 0], [2, 2, 2]])
    ],
    error_samples=lambda: [
        misuse(r"\[1\] = 5 is not in \[0, 2\)", np.ones(3), np.array([0, 5, 1], np.int32), count=2),
        misuse("must start with partitions.shape", np.ones(3), np.array([0, 1], np.int32), count=2),
    ],
    reason=_COUNTED,
)
def dynamic_partition_p(data: Array, partitions: Array, *, count: int) -> Any:
    """The slices of data that partitions gives 0, those it gives 1, ... t[*p, *r], i32[*p] -> t[n, *r]..."""
    if data.shape[: partitions.ndim] != partitions.shape:
        raise invalid(_UNLIKE.format(shape_text(data.shape), shape_text(partitions.shape)))
    bad = np.argwhere((partitions < 0) | (partitions >= count))
    if len(bad):
        place = tuple(bad[0])
        text = ",".join(map(str, place))
        raise invalid(f"partitions[{text}] = {partitions[place]} is not in [0, {count})")
    return tuple(data[partitions == i] for i in range(count))


@public("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: TensorLike, name: str | None = None
) -> Any:
    """The slices of data by the numbers in partitions, below num_partitions. t[*p, *r], i32[*p] -> list of t[n, *r].

    Raises: InvalidArgumentError for numbers outside, or shapes that do not fit; TypeError for a
    num_partitions that is no int. Source: tf.dynamic_partition.
    """
    given = isinstance(num_partitions, Tensor)
    count = static_int(num_partitions) if given else whole(num_partitions, "num_partitions")
    if count is None:
        raise NotImplementedError("num_partitions must be known while a function is traced")
    if count < 1:
        raise invalid(f"Value for attr 'num_partitions' of {count} must be at least minimum 1")
    if count >= 2**28:
        raise ResourceExhaustedError(None, None, f"Out of memory: {count} tensors")
    return list(named(name, dynamic_partition_p, as_tensor(data), as_tensor(partitions, "int32"), count=count))


def _bad(text: str) -> Exception:
    """The error of wrong arguments: another class while a function is traced."""
    return invalid(text) if current_trace() is None else ValueError(text)


#: Tensors in a list, or one, whose slices along axis 0 they are.
Rows = Tensor | Array | Sequence[TensorLike]


@public("dynamic_stitch")
def dynamic_stitch(indices: Rows, data: Rows, name: str | None = None) -> Any:
    """Slices put where the indices say, 0 elsewhere; of equal indices the last counts.

    i[*s]..., t[*s, *r]... -> t[n, *r].
    Raises: InvalidArgumentError for negative indices, or shapes that do not fit. Source: tf.dynamic_stitch.
    """
    indices, data = (unstack(x) if isinstance(x, Tensor) else x for x in (indices, data))
    if not indices or len(indices) != len(data):
        raise _bad(
            f"dynamic_stitch needs as many indices as data, and at least one, got {len(indices)} and {len(data)}"
        )
    places = [as_tensor(i, "int32") for i in indices]
    values = alike(data)
    if any(t.shape.rank is None for t in (*places, *values)):
        n = len(places)
        return late(lambda *t: dynamic_stitch(list(t[:n]), list(t[n:])), [*places, *values], values[0].dtype, name=name)
    rank = places[0].shape.rank
    rest = values[0].shape[rank:].as_list() if values[0].shape.rank is not None else None
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        own, whole = place.shape.as_list(), value.shape.as_list()
        if len(whole) < len(own) or any(n != m for n, m in zip(own, whole, strict=False) if None not in (n, m)):
            raise _bad(
                f"data[{i}].shape = {shape_text(whole)} does not start with indices[{i}].shape = {shape_text(own)}"
            )
        if rest is not None and len(whole) - len(own) != len(rest):
            raise _bad(
                f"Need data[0].shape[{rank}:] = data[{i}].shape[{len(own)}:], got data[0].shape = "
                f"{shape_text(values[0].shape.as_list())}, data[{i}].shape = {shape_text(whole)}"
            )
    tail = extents_of(values[0])[rank:]
    where = concat([reshape(p, [-1]) for p in places], 0)
    count = reduce_max(concat([where, np.array([-1], np.int32)], 0)) + 1
    nothing = zeros(stack([count, *[cast(as_tensor(n), "int32") for n in tail]]), values[0].dtype)
    if any(isinstance(n, int) and n == 0 for n in tail):  # slices of nothing
        return nothing
    rows = concat([reshape(v, [-1, *tail]) for v in values], 0)
    return named(name, tensor_scatter_update_p, nothing, reshape(where, [-1, 1]), rows)


# ---- isotonic regression --------------------------------------------------------------------------------------------


class IsotonicRegression(NamedTuple):
    """Results of isotonic_regression."""

    output: Tensor
    segments: Tensor


def _falling(row: Array) -> tuple[Array, Array]:
    """The falling row nearest to `row`, and the number of each element's level: pool adjacent violators."""
    starts: list[int] = []
    sums: list[float] = []
    counts: list[int] = []
    for i, value in enumerate(row.tolist()):
        starts.append(i)
        sums.append(value)
        counts.append(1)
        while len(sums) > 1 and sums[-1] * counts[-2] > sums[-2] * counts[-1]:
            total, n = sums.pop(), counts.pop()
            starts.pop()
            sums[-1] += total
            counts[-1] += n
    levels = np.repeat(np.arange(len(sums)), counts)
    means = np.array([s / n for s, n in zip(sums, counts, strict=True)])
    return means[levels] if len(sums) else row.astype(np.float64), levels


def _rows(x: Array) -> Array:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


@custom(
    op="IsotonicRegression",
    infer=lambda x: (Aval(x.dtype, x.shape), Aval(as_dtype("int32"), x.shape)),
    n_outputs=2,
    dtypes="floating",
    vjp=dict(x=lambda dys, outs: None if dys[0] is None else isotonic_grad(dys[0], outs[1])),
    samples=lambda: [
        ((np.array(v).astype(t),), {})
        for t in ("float32", "float64")
        for v in ([3.0, 1.0, 2.5, 5.0], [[1.0, 2.0, 0.5], [0.25, 0.5, 0.125]], np.zeros([2, 0]), [1.5])
    ],
    reason="which elements share a level depends on data, one after the other",
)
def isotonic_p(x: Array) -> Any:
    """The falling rows nearest to x's, by least squares, and the number of each element's level. f[*s, n] -> f, i32."""
    wide = _rows(x.astype(np.float64))
    output, levels = np.empty_like(wide), np.empty(wide.shape, np.int32)
    for i, row in enumerate(wide):
        output[i], levels[i] = _falling(row)
    return output.reshape(x.shape).astype(x.dtype), levels.reshape(x.shape)


@custom(
    op="IsotonicRegressionGrad",
    infer=lambda dy, segments: Aval(dy.dtype, dy.shape),
    groups=("T", "int32"),
    dtypes="floating",
    vjp=dict(dy=lambda dy, segments: isotonic_grad(dy, segments)),
    samples=lambda: [((np.array([[1.0, 2.0, 4.0, 3.0]]), np.array([[0, 1, 1, 2]], np.int32)), {})],
    reason="which elements share a level depends on data, one after the other",
)
def isotonic_grad(dy: Array, segments: Array) -> Any:
    """The mean of dy over the elements of each level. f[*s, n], i32[*s, n] -> f[*s, n]."""
    rows, levels = _rows(dy.astype(np.float64)), _rows(segments)
    result = np.empty_like(rows)
    for i, (row, level) in enumerate(zip(rows, levels, strict=True)):
        result[i] = (np.bincount(level, row) / np.maximum(np.bincount(level), 1))[level] if len(row) else row
    return result.reshape(dy.shape).astype(dy.dtype)


@public("nn.isotonic_regression")
def isotonic_regression(inputs: TensorLike, decreasing: bool = True, axis: TensorLike = -1) -> IsotonicRegression:
    """The falling (or rising) numbers along `axis` nearest to inputs, and each element's level. f[*s] -> f, i32[*s].

    Raises: InvalidArgumentError for other dtypes than real ones.
    Source: Best, Chakravarti and Ubhaya 2000; tf.nn.isotonic_regression.
    """
    x = of_dtypes(as_tensor(inputs), "real")
    if not x.dtype.is_floating:
        x = cast(x, "float64" if x.dtype.name in ("int32", "int64", "uint32", "uint64") else "float32")
    rank = x.shape.rank
    if rank is None:
        return IsotonicRegression(*late(lambda t: isotonic_regression(t, decreasing, axis), [x], x.dtype, int32))
    if rank == 0:
        return IsotonicRegression(x, cast(zeros_like(x), "int32"))
    at = canonical_axis(whole(axis, "axis"), rank)
    perm = (*[i for i in range(rank) if i != at], at)
    back = tuple(int(i) for i in np.argsort(perm))
    output, levels = isotonic_p(transpose_p(x if decreasing else -x, perm=perm))
    output = transpose_p(output, perm=back)
    return IsotonicRegression(output if decreasing else -output, transpose_p(levels, perm=back))


# ---- labels ---------------------------------------------------------------------------------------------------------


@public("nn.collapse_repeated")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels without those equal to the one before, zeros after them, and how many are left.

    i[n, t], i[n] -> i[n, m], i[n].
    Raises: InvalidArgumentError for labels of another rank, ValueError for such lengths.
    Source: tf.nn.collapse_repeated.
    """
    x, lengths = as_tensor(labels), as_tensor(seq_length)
    if x.shape.rank not in (2, None):
        raise invalid(f"labels must be 2-dimensional, got shape {shape_text(x.shape.as_list())}")
    if lengths.shape.rank not in (0, 1, None):
        raise ValueError(f"seq_length must be a scalar or a vector, got shape {shape_text(lengths.shape.as_list())}")
    x = of_rank(x, 2)
    n, t = extents_of(x)
    new = concat([ones_like(x[:, :1], dtype="bool"), not_equal(x[:, 1:], x[:, :-1])], 1)
    kept = logical_and(new, sequence_mask(cast(lengths, "int64"), t))
    count = reduce_sum(cast(kept, "int32"), 1)
    column = cumsum(cast(kept, "int32"), 1) - 1
    row = reshape(range_(n), [-1, 1]) + column * 0
    places = boolean_mask(stack([row, column], -1), kept)
    width = reduce_max(concat([count, np.zeros([1], np.int32)], 0))
    found = scatter_nd(places, boolean_mask(x, kept), stack([cast(as_tensor(n), "int32"), width]))
    return found, cast(count, lengths.dtype)


# ---- histogram bins -------------------------------------------------------------------------------------------------


@public("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = int32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Find which of nbins equal parts of value_range a value is in; those outside are at its ends. t[*s] -> i[*s].

    Raises: InvalidArgumentError for a range that does not rise, no bins, or values that are not real. Source:
    tf.histogram_fixed_width_bins.
    """
    x, ends = of_dtypes(as_tensor(values), "real"), as_tensor(value_range)
    count = static_int(nbins)
    if count is not None and count <= 0:
        raise invalid(f"nbins {count} must > 0")
    if count is None:
        nbins = checked(nbins, 1, 2**63 - 1, "nbins {} must > 0")
    if ends.shape.rank is not None and ends.shape.as_list() not in ([2], [None]):
        raise invalid("value_range should be a vector of 2 elements.")
    ends = interval(ends)
    # In the values' own precision, as TensorFlow: it decides on which side of an edge a value is.
    kind = x.dtype if x.dtype.is_floating else as_dtype("float64")
    low, high = (cast(cast(end, x.dtype), kind) for end in (ends[0], ends[1]))
    scaled = cast(nbins, kind) * ((cast(x, kind) - low) / (high - low))
    return cast(clip_by_value(floor(scaled), 0.0, cast(nbins, kind) - 1.0), as_dtype(dtype), name=name)


# ---- points and ranks -----------------------------------------------------------------------------------------------

_MOST_DIMENSIONS = 21200


@public("math.sobol_sample")
def sobol_sample(
    dim: TensorLike, num_results: TensorLike, skip: TensorLike = 0, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """Points of Sobol's sequence in the unit cube, after the origin and `skip` more. -> f[num_results, dim].

    Raises: InvalidArgumentError for no dimension, or more than there are direction numbers for. Source: Joe and Kuo
    2008; tf.math.sobol_sample.
    """
    sizes = [static_int(n) for n in (dim, num_results, skip)]
    if None in sizes:
        given = {"dim": dim, "num_results": num_results, "skip": skip}
        call = partial(sobol_sample, dtype=dtype)
        return late_unless_known(call, [], given, as_dtype(dtype), [sizes[1], sizes[0]], name)
    dims, count, first = (int(n or 0) for n in sizes)
    kind = as_dtype(dtype)
    if kind.name not in ("float32", "float64"):
        raise refused(not_allowed(kind, "dtype", "float, double"))
    if dims < 1:
        raise invalid("dim must be at least one")
    if dims > _MOST_DIMENSIONS:
        raise invalid(f"dim must be at most {_MOST_DIMENSIONS}")
    if count < 1 or first < 0:
        raise invalid(f"num_results must be at least one and skip not negative, got {count} and {first}")
    if first + count >= 2**32:
        raise invalid(f"skip and num_results must stay below 2**32, got {first} and {count}")
    from scipy.stats import qmc

    try:
        points = qmc.Sobol(dims, scramble=False, bits=32).fast_forward(first + 1).random(count)
    except MemoryError as error:
        raise ResourceExhaustedError(None, None, f"Out of memory: {error}") from None
    return as_tensor(points.astype(kind.numpy_dtype))


class ApproxTopK(NamedTuple):
    """Results of approx_max_k and approx_min_k."""

    values: Tensor
    indices: Tensor


def _extreme(operand: TensorLike, k: TensorLike, axis: Tensor | int, sign: int, name: str | None) -> Any:
    x = as_tensor(operand)
    rank = x.shape.rank
    if rank is None:
        again = lambda t, n: _extreme(t, n, axis, sign, None)
        return ApproxTopK(*late(again, [x, as_tensor(k)], x.dtype, int32, name=name))
    if rank == 0:
        raise invalid("input must be >= 1-D, got shape []")
    at = canonical_axis(whole(axis, "axis"), rank)
    perm = (*[i for i in range(rank) if i != at], at)
    back = tuple(int(i) for i in np.argsort(perm))
    moved = transpose_p(x, perm=perm)
    found = top_k(moved if sign > 0 else -moved, k, name=name)
    values = found.values if sign > 0 else -found.values
    return ApproxTopK(transpose_p(values, perm=back), transpose_p(found.indices, perm=back))


@public("math.approx_max_k", "nn.approx_max_k")
def approx_max_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k greatest elements along an axis, falling, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_max_k.
    """
    return _extreme(operand, k, reduction_dimension, 1, name)


@public("math.approx_min_k", "nn.approx_min_k")
def approx_min_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k least elements along an axis, rising, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_min_k.
    """
    return _extreme(operand, k, reduction_dimension, -1, name)
