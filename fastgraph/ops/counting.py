"""Counts and places: bincount, histograms, confusion matrices, permutations, positions as indices.

Rule: what counts is a scatter; a number out of range is an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import as_tensor, of_dtypes, static_int
from fastgraph.ops.comparison import greater, greater_equal, less
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, clip_by_value, identity, maximum, minimum, ones_like, select
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    Scalar,
    custom,
    elementwise,
    invalid,
    lower_elementwise,
    misuse,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import reshape, shape, size
from fastgraph.ops.movement import size as size_of
from fastgraph.ops.reduction import count_nonzero, reduce_max, reduce_prod
from fastgraph.ops.rounding import floor
from fastgraph.ops.runtime_assertions import assert_less, assert_non_negative, ensure_shape_p
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.scatter import scatter_nd
from fastgraph.ops.segments import unsorted_segment_sum

# ---- counts ---------------------------------------------------------------------------------------------------------


@elementwise(
    op="DenseBincount",
    dtypes="index",
    lower=lower_elementwise("arr", ("arr",), (), "arr >= 0"),
    samples=lambda: [((np.array([3, 0, 2], t),), {}) for t in ("int32", "int64")],
    error_samples=lambda: [misuse("Input arr must be non-negative!", np.array([1, -1]))],
)
def countable(arr: Array) -> Any:
    """arr as it is, if nothing in it is negative. i[*s] -> i[*s]."""
    if (arr < 0).any():
        raise invalid("Input arr must be non-negative! [Op:DenseBincount]")
    return arr


@public("math.bincount")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """Count each number's occurrences, or sum the weights of these. i[*s] -> dtype[n].

    There are as many results as the greatest number and `minlength` say, at most `maxlength`. With axis -1 each row is
    counted by itself: i[b, n] -> dtype[b, n]. With binary_output: whether it occurs, as 1 and 0. Of a SparseTensor or
    RaggedTensor, with weights of its kind, what it holds is counted.
    Raises: InvalidArgumentError for negative numbers, and for more axes than two with axis -1; ValueError for another
    axis. Source: tf.math.bincount.
    """
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    first, n_rows = None, None
    if hasattr(arr, "dense_shape") or hasattr(arr, "flat_values"):
        from fastgraph.composites.sparse_lookups import counted

        first, n_rows, arr, weights = counted(arr, weights, axis == -1)
    numbers, least, most = (None if each is None else as_tensor(each) for each in (arr, minlength, maxlength))
    # As wide as the widest of them: 2**32 + 1 is not 1.
    kind = int64 if any(each is not None and each.dtype is int64 for each in (numbers, least, most)) else int32
    x = countable(cast(numbers, kind))
    fixed = None if least is None or most is None else static_int(least)
    if fixed is not None and fixed >= 0 and fixed == static_int(most):
        size = cast(as_tensor(most), kind)  # whatever the numbers are
    else:
        greatest = (
            reduce_max(x) if most is None else minimum(reduce_max(x), cast(most, kind) - 1)
        )  # one more could wrap
        size = maximum(greatest + 1, 0)  # of no numbers the greatest is the least integer
        if least is not None:
            size = maximum(size, cast(least, kind))
    values = ones_like(x, dtype=dtype) if weights is None else as_tensor(weights)
    if not values.shape.is_compatible_with(x.shape):
        if values.shape.num_elements() != 0:
            raise invalid(
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all "
                f"weights equal to 1. Received {shape_text(values.shape.as_list())}",
                "DenseBincount",
            )
        values = ones_like(x, dtype=values.dtype)
    ids, n = x, size
    if most is not None:
        n = size = minimum(size, cast(most, kind))
        ids = select(less(x, size), x, ones_like(x) * -1)
    lead = None
    if axis == -1 and first is None and x.shape.rank not in (0, 1):
        text = "Shape must be at most rank 2 but is rank {}"
        if x.shape.rank is not None and x.shape.rank > 2:
            raise invalid(text.format(x.shape.rank), "DenseBincount")
        lead = shape(x)[: checked(size_of(shape(x)), 0, 2, text) - 1]
        n_rows = reduce_prod(lead)
        first = reshape(range_(n_rows), concat([lead, [1]], 0))
    if first is not None:
        n_rows = cast(n_rows, kind)
        ids = select(greater_equal(ids, 0), ids + cast(first, kind) * size, ids)
        n = size * n_rows
    counts = unsorted_segment_sum(reshape(values, [-1]), reshape(ids, [-1]), n)
    if binary_output:
        counts = cast(greater(counts, 0), dtype)
    if first is None:
        return identity(counts, name=name)
    return reshape(counts, stack([n_rows, size]) if lead is None else concat([cast(lead, kind), [size]], 0), name=name)


def _lower_numbers(b: Builder, node: Node) -> list[Any]:
    values = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        value = values.at(index)
        return b.check(value.eq(value), value)

    return [element]


@elementwise(
    op="HistogramFixedWidth",
    dtypes="float32 float64",
    lower=_lower_numbers,
    samples=lambda: [((np.array([3.0, -np.inf, 2.0], t),), {}) for t in ("float32", "float64")],
    error_samples=lambda: [misuse("Histogram values must not contain NaN", np.array([1.0, np.nan]))],
)
def numbers(values: Array) -> Array:
    """The values as they are, if none is NaN. f[*s] -> f[*s]."""
    if np.isnan(values).any():
        raise invalid("Histogram values must not contain NaN")
    return values


def _lower_interval(b: Builder, node: Node) -> list[Any]:
    given = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        return b.check(given.at((b.const(0),)) < given.at((b.const(1),)), given.at(index))

    return [element]


@custom(
    op="HistogramFixedWidth",
    infer=lambda value_range: Aval(value_range.dtype, value_range.shape),  # not its value: what is known is not checked
    dtypes="float32 float64 int32 int64",
    lower=_lower_interval,
    samples=lambda: [((np.array([-1, 2], t),), {}) for t in ("float32", "float64", "int32", "int64")],
    error_samples=lambda: [
        misuse(r"value_range\[0\] < value_range\[1\], but got '\[1.0, 1.0\]'", np.array([1.0, 1.0])),
        misuse(r"value_range\[0\] < value_range\[1\]", np.array([np.nan, 1.0])),
    ],
)
def interval(value_range: Array) -> Array:
    """The two ends as they are, if the first is less. t[2] -> t[2]."""
    if not value_range[0] < value_range[1]:
        raise invalid(f"value_range should satisfy value_range[0] < value_range[1], but got '{value_range.tolist()}'")
    return value_range


@public("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = int32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Count the values in each of nbins equal parts of value_range; those outside count at its ends.

    t[*s], t[2] -> dtype[nbins].
    Raises: InvalidArgumentError for NaN and for a range that does not rise. Source: tf.histogram_fixed_width.
    """
    x = reshape(values, [-1])
    value_range = convert(value_range, x.dtype) if not isinstance(value_range, Tensor) else value_range
    of_dtypes(x, "int32 int64 float32 float64")
    if x.dtype.is_floating:
        x = numbers(x)
    ends = as_tensor(value_range)
    if ends.shape.rank is not None and ends.shape.as_list() not in ([2], [None]):
        raise invalid("value_range should be a vector of 2 elements.", "HistogramFixedWidth")
    ends = interval(ends if ends.shape.is_fully_defined() else ensure_shape_p(ends, shape=(2,)))
    low, high = (cast(cast(end, x.dtype), "float64") for end in (ends[0], ends[1]))
    scaled = (cast(x, "float64") - low) / (high - low) * cast(nbins, "float64")
    places = cast(clip_by_value(floor(scaled), 0.0, cast(nbins, "float64") - 1.0), int32)
    return unsorted_segment_sum(ones_like(places, dtype=dtype), places, nbins, name=name)


@public("math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Any:
    """Count how often each label (row) met each prediction (column), or sum weights. i[n], i[n] -> dtype[c, c].

    Raises: InvalidArgumentError for a negative number, or one that is no class. Source: tf.math.confusion_matrix.
    """
    labels, predictions = (cast(reshape(v, [-1]), "int64") for v in (labels, predictions))
    if current_trace() is None:  # in a graph the scatter says which pair is wrong
        for what, given in (("labels", labels), ("predictions", predictions)):
            assert_non_negative(given, message=f"`{what}` contains negative values")
            if num_classes is not None:
                assert_less(given, cast(num_classes, "int64"), message=f"`{what}` out of bound")
    n = maximum(reduce_max(labels), reduce_max(predictions)) + 1 if num_classes is None else cast(num_classes, "int64")
    counted = ones_like(predictions, dtype=dtype) if weights is None else cast(weights, dtype)
    if weights is not None:
        as_tensor(predictions).shape.assert_is_compatible_with(counted.shape)
    known = static_int(n)
    sides = stack([n, n]) if known is None else [known, known]
    return scatter_nd(stack([labels, predictions], axis=1), counted, sides, name=name)


# ---- permutations ---------------------------------------------------------------------------------------------------


def _check_permutation(dims: Dims) -> Dims:
    if dims is not None and len(dims) != 1:
        raise ValueError("invert_permutation expects a 1D vector.")
    return (None,) if dims is None else dims


@custom(
    "math.invert_permutation",
    infer=lambda x: Aval(x.dtype, _check_permutation(x.shape)),
    dtypes="index",
    step="permutation",
    samples=lambda: [((np.array(p, t),), {}) for t in ("int32", "int64") for p in ([2, 0, 1], [0], [], [3, 2, 1, 0])],
    error_samples=lambda: [
        misuse("0 is duplicated in the input.", np.array([2, 0, 0])),
        misuse("3 is not between 0 and 3", np.array([3, 0, 1])),
        misuse("invert_permutation expects a 1D vector.", np.array([[0]])),
    ],
)
def invert_permutation(x: Array) -> Any:
    """The permutation that undoes x: y[x[i]] = i. i[n] -> i[n].

    Raises: InvalidArgumentError for numbers that are no permutation. Source: tf.math.invert_permutation.
    """
    if x.ndim != 1:
        raise invalid("invert_permutation expects a 1D vector.")
    result, own = np.full(x.shape, -1, x.dtype), np.arange(len(x), dtype=x.dtype)
    if not len(x) or (x.min() >= 0 and x.max() < len(x)):
        result[x] = own
        if (result[x] == own).all():
            return result
        result[:] = -1
    for i, at in enumerate(x.tolist()):
        if not 0 <= at < len(x):
            raise invalid(f"{at} is not between 0 and {len(x)}")
        if result[at] != -1:
            raise invalid(f"{at} is duplicated in the input.")
        result[at] = i
    return result


def _unravelled(indices: Dims, dims: Dims) -> Dims:
    if dims is not None and len(dims) != 1:
        raise ValueError("The indices can only be scalar or vector.")
    if indices is None or dims is None:
        return None
    return (dims[0], *indices)


def _lower_unravel(b: Builder, node: Node) -> list[Any]:
    indices, dims = b.input(0), b.input(1)
    n: Any = (node.inputs[1].aval.shape or (None,))[0]

    most = np.iinfo(node.inputs[1].aval.dtype.as_numpy_dtype).max

    def size(d: Scalar) -> Any:
        return b.cast(dims.at((d,)), "int64")

    def fit(total: Scalar, doubles: Scalar, least: Scalar) -> Any:
        """True if all sizes are positive and their product, which may have wrapped, is no more than their dtype has."""
        wrapped = b.cast(total, "float64") - doubles
        return (least > 0) & (total <= most) & (wrapped > -(2.0**62)) & (wrapped < 2.0**62)

    def looped(index: Sequence[Any]) -> Any:  # over dimensions that are counted as it runs
        one, rest = b.const(1, "int64"), b.cast(indices.at(index[1:]), "int64")
        total = b.reduce("prod", dims.shape, lambda at: size(at[0]))
        step = b.reduce("prod", dims.shape, lambda at: b.select(at[0] > index[0], size(at[0]), one))
        place = rest // b.op("max", step, one) % b.op("max", size(index[0]), one)
        doubles = b.reduce("prod", dims.shape, lambda at: b.cast(size(at[0]), "float64"))
        least = b.reduce("min", dims.shape, lambda at: size(at[0]))
        inside = (rest >= 0) & (rest < total) & fit(total, doubles, least)
        return b.check(inside, b.cast(place, node.inputs[0].aval.dtype), b.flat(index[1:], indices.shape))

    def element(index: Sequence[Any]) -> Any:
        assert n is not None
        extents = [size(b.const(d, "int64")) for d in range(n)]
        rest = b.cast(indices.at(index[1:]), "int64")
        total = least = b.const(1, "int64")
        doubles = b.const(1.0, "float64")
        for extent in extents:
            total, doubles = total * extent, doubles * b.cast(extent, "float64")
            least = b.op("min", least, extent)
        place, inside = b.const(0, "int64"), (rest >= 0) & (rest < total) & fit(total, doubles, least)
        for d in reversed(range(n)):
            whole = b.op("max", extents[d], b.const(1, "int64"))
            place = b.select(index[0].eq(d), rest % whole, place)
            rest = rest // whole
        return b.check(inside, b.cast(place, node.inputs[0].aval.dtype), b.flat(index[1:], indices.shape))

    return [looped if n is None else element]


@custom(
    "unravel_index",
    infer=lambda indices, dims: Aval(indices.dtype, _unravelled(indices.shape, dims.shape)),
    groups=("Tidx", "Tidx"),
    dtypes={"Tidx": "index"},
    lower=_lower_unravel,
    samples=lambda: [
        ((np.array(i, t), np.array([3, 4], t)), {}) for t in ("int32", "int64") for i in ([5, 7], 5, [0, 11, 3])
    ],
    error_samples=lambda: [
        misuse("index is out of bound as with dims", np.array([12]), np.array([3, 4])),
        misuse(
            "Input dims cannot contain a dim of zero, but dims contains zero at index 1",
            np.array([1]),
            np.array([3, 0]),
        ),
        misuse("negative. Got dim = -3 at index 0", np.array([1]), np.array([-3, -4])),
        misuse(r"integer overflow: \(3 9223372", np.array([1]), np.array([3, 2**63 - 1])),
        misuse(r"integer overflow: \(4294967296 4", np.array([1]), np.array([2**32, 2**32])),
        misuse(r"overflow: \(65536 65536", np.array([1], "i"), np.array([65536, 65536], "i")),
    ],
)
def unravel_index(indices: Array, dims: Array) -> Any:
    """The index in a tensor of shape dims of each row-major position. i[*s], i[d] -> i[d, *s].

    Raises: InvalidArgumentError for a position outside, sizes below 1, and more elements than the dtype counts.
    Source: tf.unravel_index.
    """
    validated(_unravelled, indices.shape, dims.shape)
    if (dims == 0).any():
        at = int(np.argmax(dims == 0))
        raise invalid(f"Input dims cannot contain a dim of zero, but dims contains zero at index {at}")
    numbers = dims.tolist()
    if min(numbers, default=0) < 0:
        at = next(i for i, n in enumerate(numbers) if n < 0)
        raise invalid(f"Input dims cannot be negative. Got dim = {numbers[at]} at index {at}")
    total = math.prod(numbers)
    if total > np.iinfo(dims.dtype).max:
        raise invalid(f"Input dims product is causing integer overflow: ({' '.join(map(str, numbers))})")
    if ((indices < 0) | (indices >= total)).any():
        raise invalid("index is out of bound as with dims")
    if not numbers:
        return np.zeros((0, *indices.shape), indices.dtype)
    return np.array(np.unravel_index(indices, tuple(dims.tolist()))).astype(indices.dtype)


@public("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Any:
    """The share of elements that are 0; NaN of none. t[*s] -> f32[]. Source: tf.math.zero_fraction."""
    x = as_tensor(value)
    total = size(x, int64)
    return cast(total - count_nonzero(x), "float32") / cast(total, "float32")


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
