"""Reductions: sums, means, extremes, logic, and what is made of them.

Rule: sums go in blocks and 16-bit floats accumulate in float32, so that long sums keep their precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, bfloat16, float64, int32, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import UnknownAxis, as_tensor, named, preferred, static_axes
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import equal_p, is_finite, not_equal_p
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import abs, add, cast, maximum, select, square, stop_gradient, zeros_like
from fastgraph.ops.exponentials import exp, log, sqrt
from fastgraph.ops.families import Array, Builder, Scalar, canonical_axes, lower_reduction, public, reduction
from fastgraph.ops.movement import expand_dims_p, reshape, shape, transpose
from fastgraph.ops.precise_sums import block_sum, is_half
from fastgraph.ops.scans import cumprod_p


def _spread(dy: Tensor, x_shape: TensorLike, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """`dy` of a reduction, repeated along the reduced axes to the shape of the input."""
    if not keepdims and axes is not None:  # of all axes: a scalar broadcasts as it is
        dy = expand_dims_p(dy, axes=axes)
    return broadcast_to(dy, x_shape)


def _count(x_shape: Any, axes: tuple[int, ...] | None, like: Tensor) -> Any:
    """The number of elements reduced into one, as a number or as a scalar of `like`'s dtype."""
    if isinstance(x_shape, tuple):
        count = 1
        for axis in canonical_axes(axes, len(x_shape)):
            count *= x_shape[axis]
        return cast(max(count, 1), like.dtype)
    if axes is None:
        return cast(prod_p(x_shape, axes=None, keepdims=False), like.dtype)
    count = 1
    for axis in axes:
        count = x_shape[axis] * count
    return cast(count, like.dtype)


# ---- primitives -----------------------------------------------------------------------------------------------------


@reduction(
    kind="sum", dtypes="summable", vjp=dict(x=lambda dy, x_shape, axes, keepdims: _spread(dy, x_shape, axes, keepdims))
)
def sum_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Sum of the elements along `axes`. t[*s] -> t[*r]."""
    return block_sum(x, canonical_axes(axes, x.ndim), keepdims)


def _mean_finish(b: Builder, total: Scalar, extents: Sequence[Any], dtype: DType) -> Any:
    count = b.const(1, "int64")
    for n in extents:
        count = count * n
    if dtype.is_integer:
        quotient = b.op("truncatediv", total, b.cast(b.select(count.eq(0), 1, count), total.dtype))
        return b.cast(quotient, dtype)
    return total / b.cast(count, total.dtype)


@reduction(
    kind="sum",
    dtypes="summable",
    vjp=dict(x=lambda dy, x_shape, axes, keepdims: _spread(dy / _count(x_shape, axes, dy), x_shape, axes, keepdims)),
    lower=lower_reduction("sum", _mean_finish, wide_integers=True),
)
def mean_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Mean of the elements along `axes`. t[*s] -> t[*r].

    Of integers it is cut off towards zero; of no elements it is NaN, or 0 of integers.
    """
    axes = canonical_axes(axes, x.ndim)
    count = 1
    for a in axes:
        count *= x.shape[a]
    if x.dtype.kind in "iu":
        total = np.sum(x, axis=axes, dtype=np.uint64 if x.dtype.kind == "u" else np.int64, keepdims=keepdims)
        divisor = np.asarray(max(count, 1), total.dtype)
        quotient = total // divisor
        if x.dtype.kind == "i":  # towards zero; the least integer has no absolute value
            quotient = quotient + ((total < 0) & (quotient * divisor != total))
        return np.asarray(quotient).astype(x.dtype)
    wide = x.astype(np.float32) if is_half(x.dtype) else x
    total = block_sum(wide, axes, keepdims)
    return np.divide(total, np.asarray(count, total.dtype)).astype(x.dtype, copy=False)


def _extreme_grad(dy: Tensor, x: Tensor, out: Tensor, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """The cotangent shared equally by all elements that attain the extreme."""
    if not keepdims and axes is not None:
        dy, out = expand_dims_p(dy, axes=axes), expand_dims_p(out, axes=axes)
    chosen = cast(equal_p(x, out), dy.dtype)
    return chosen / sum_p(chosen, axes=axes, keepdims=True) * dy


_EXTREME_VJP = dict(x=lambda dy, x, out, axes, keepdims: _extreme_grad(dy, x, out, axes, keepdims))


def lowest(dtype: np.dtype[Any]) -> Any:
    """The maximum of no elements: -inf, or the least integer."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else np.asarray(-np.inf, dtype)


def highest(dtype: np.dtype[Any]) -> Any:
    """The minimum of no elements: inf, or the greatest integer."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.asarray(np.inf, dtype)


@reduction(kind="max", dtypes="ordered", vjp=_EXTREME_VJP)
def max_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Greatest element along `axes`; NaN if there is one; -inf or the least integer of none. t[*s] -> t[*r]."""
    return np.maximum.reduce(x, axis=canonical_axes(axes, x.ndim), keepdims=keepdims, initial=lowest(x.dtype))  # type: ignore[call-overload]


@reduction(kind="min", dtypes="ordered", vjp=_EXTREME_VJP)
def min_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Least element along `axes`; NaN if there is one; inf or the greatest integer of none. t[*s] -> t[*r]."""
    return np.minimum.reduce(x, axis=canonical_axes(axes, x.ndim), keepdims=keepdims, initial=highest(x.dtype))  # type: ignore[call-overload]


def _leading(x: Tensor, n: int) -> list[Any]:
    """The first n extents of x, as ints where they are known."""
    dims = x.shape.as_list()[:n]
    return [shape(x)[i] if d is None else d for i, d in enumerate(dims)]


def _prod_grad(dy: Tensor, x: Tensor, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """dy times the product of all other elements, from the left and from the right: zeros are no problem."""
    rank = x.shape.rank
    if rank is None:
        return late(lambda d, t: _prod_grad(d, t, axes, keepdims), [dy, x], x.dtype)
    axes = canonical_axes(axes, rank)
    others = tuple(i for i in range(rank) if i not in axes)
    if not keepdims:
        dy = expand_dims_p(dy, axes=axes)
    order = others + axes
    moved = transpose(x, order)
    flat = reshape(moved, [*_leading(moved, len(others)), -1])
    left = cumprod_p(flat, axis=-1, exclusive=True, reverse=False)
    right = cumprod_p(flat, axis=-1, exclusive=True, reverse=True)
    rest = reshape(left * right, shape(moved))
    inverse = tuple(int(i) for i in np.argsort(order))
    return conj(transpose(rest, inverse)) * dy


@reduction(
    kind="prod",
    dtypes="summable",
    vjp=dict(x=lambda dy, x, axes, keepdims: _prod_grad(dy, x, axes, keepdims)),
    domain=(0.5, 1.5),
)
def prod_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """Product of the elements along `axes`; of none 1. t[*s] -> t[*r]."""
    wide = x.astype(np.float32) if is_half(x.dtype) else x
    return np.prod(wide, axis=canonical_axes(axes, x.ndim), dtype=wide.dtype, keepdims=keepdims).astype(x.dtype)


@reduction(kind="any", dtypes="any", groups=("bool",))
def any_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """True where any element along `axes` holds. bool[*s] -> bool[*r]."""
    return np.any(x, axis=canonical_axes(axes, x.ndim), keepdims=keepdims)


@reduction(kind="all", dtypes="any", groups=("bool",))
def all_p(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
    """True where all elements along `axes` hold. bool[*s] -> bool[*r]."""
    return np.all(x, axis=canonical_axes(axes, x.ndim), keepdims=keepdims)


# ---- public functions -----------------------------------------------------------------------------------------------


def _reducer(primitive: Callable[..., Any], name: str, what: str, kind: str, examples: str) -> Callable[..., Any]:
    """The public reduction `reduce_<name>(input_tensor, axis=None, keepdims=False, name=None)`."""

    def reduce_(input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
        try:
            axes = axis if axis is None else static_axes(axis)
        except UnknownAxis:
            x, along = as_tensor(input_tensor), preferred(axis, int32)
            made = late(lambda rows, at: reduce_(rows, at, keepdims), [x, along], x.dtype, name=name)
            made.set_shape([None] * x.shape.rank if keepdims and x.shape.rank is not None else None)
            return made
        if name is not None:
            made = named(name, primitive, input_tensor, axes=axes, keepdims=bool(keepdims))
        else:
            made = primitive(input_tensor, axes=axes, keepdims=bool(keepdims))
        if type(axis) in (list, tuple) and len(axis) == 1:
            around: Any = current_trace()
            traced = around is not None and around is getattr(made, "trace", None)
            if traced:
                around.graph.listed.add(made.value.node)
        return made

    reduce_.__name__ = reduce_.__qualname__ = f"reduce_{name}"
    reduce_.__doc__ = f"""{what} along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of {kind}.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
{examples}
    Source: tf.reduce_{name}.
    """
    return public(f"reduce_{name}", f"math.reduce_{name}")(reduce_)


reduce_sum = _reducer(
    sum_p,
    "sum",
    "Sum of the elements",
    "numbers",
    """\
        >>> x = tf.constant([[1, 2, 3], [4, 5, 6]])
        >>> tf.reduce_sum(x, axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([ 6, 15], dtype=int32)>
        >>> int(tf.reduce_sum(x)), tf.reduce_sum(x, 0, keepdims=True).shape
        (21, TensorShape([1, 3]))
""",
)
reduce_mean = _reducer(
    mean_p,
    "mean",
    "Mean of the elements (of integers cut off towards zero)",
    "numbers",
    """\
        >>> tf.reduce_mean([[1.0, 2.0], [5.0, 8.0]], axis=0)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 5.], dtype=float32)>
        >>> int(tf.reduce_mean([1, 2])), float(tf.reduce_mean([1.0, 2.0]))
        (1, 1.5)
""",
)
reduce_max = _reducer(
    max_p,
    "max",
    "Greatest element",
    "real numbers",
    """\
        >>> tf.reduce_max([[1, 7], [5, 3]], axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([7, 5], dtype=int32)>
        >>> float(tf.reduce_max(tf.zeros([0])))
        -inf
""",
)
reduce_min = _reducer(
    min_p,
    "min",
    "Least element",
    "real numbers",
    """\
        >>> tf.reduce_min([[1, 7], [5, 3]], axis=0)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 3], dtype=int32)>
""",
)
reduce_prod = _reducer(
    prod_p,
    "prod",
    "Product of the elements",
    "numbers",
    """\
        >>> tf.reduce_prod([[1, 2, 3], [4, 5, 6]], axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([  6, 120], dtype=int32)>
        >>> int(tf.reduce_prod(tf.zeros([0], tf.int32)))
        1
""",
)
reduce_any = _reducer(
    any_p,
    "any",
    "True where any element holds",
    "bools",
    """\
        >>> x = tf.constant([[0.5, -1.0], [2.0, 3.0]])
        >>> tf.reduce_any(x < 0, axis=1)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>
""",
)
reduce_all = _reducer(
    all_p,
    "all",
    "True where all elements hold",
    "bools",
    """\
        >>> x = tf.constant([[0.5, -1.0], [2.0, 3.0]])
        >>> tf.reduce_all(x > 0, axis=1)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>
        >>> bool(tf.reduce_all(x > -2))
        True
""",
)


@public("math.reduce_variance")
def reduce_variance(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Mean of the squared distances from the mean along `axis`. f[*s] -> f[*r].

    Raises: TypeError for integers. Source: tf.math.reduce_variance.
    """
    x = as_tensor(input_tensor)
    if hasattr(x, "with_flat_values"):
        return _ragged_variance(x, axis, keepdims)
    means = reduce_mean(x, axis, True)
    if means.dtype.is_integer:
        raise TypeError(f"Input must be either real or complex. Received integer type {means.dtype!r}.")
    apart = x - means
    return reduce_mean(square(abs(apart)) if x.dtype.is_complex else square(apart), axis, keepdims, name=name)


def _ragged_variance(x: Any, axis: Any, keepdims: bool) -> Any:
    """The variance along axes of a RaggedTensor: of rows and of all elements as of dense ones, along other axes, whose
    means do not broadcast, from the means of squares.

    Those are of distances from one number near all of them, so that little cancels: the mean of the finite ones, of few
    digits, so that distances of whole numbers stay whole. What is not finite stays in its own place.
    """
    if x.dtype.is_complex:
        raise ValueError("reduce_variance is not supported for RaggedTensors with complex dtypes.")
    flat = x.flat_values if x.dtype.is_floating else cast(x.flat_values, float64)
    if axis is None and not keepdims:
        return reduce_variance(flat)
    if axis == 1 and x.ragged_rank == 1:
        x = x.with_flat_values(flat)
        return reduce_mean(square(x - reduce_mean(x, 1, True)), 1, keepdims)
    near = reduce_mean(select(is_finite(flat), flat, zeros_like(flat)))
    near = near if flat.dtype.size == 2 else cast(cast(near, bfloat16), flat.dtype)
    apart = x.with_flat_values(flat - stop_gradient(near))
    variance = reduce_mean(square(apart), axis, keepdims) - square(reduce_mean(apart, axis, keepdims))
    return maximum(variance, 0)


@public("math.reduce_std")
def reduce_std(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Square root of the variance along `axis`. f[*s] -> f[*r]. Source: tf.math.reduce_std."""
    return sqrt(reduce_variance(input_tensor, axis, keepdims), name=name)


@public("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """log(sum(exp(x))) along `axis`, without overflow. f[*s] -> f[*r]. Source: tf.reduce_logsumexp."""
    x = as_tensor(input_tensor)
    top = reduce_max(x, axis, True)
    top = stop_gradient(select(is_finite(top), top, zeros_like(top)))
    result = add(log(reduce_sum(exp(x - top), axis, True)), top)
    return result if keepdims else reduce_sum(result, axis, False, name=name)


@public("math.count_nonzero")
def count_nonzero(
    input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Any:
    """The number of elements along `axis` that are not 0 (of strings: not empty). t[*s] -> i64[*r].

    Source: tf.math.count_nonzero.
    """
    x = as_tensor(input)
    there = not_equal_p(x, as_tensor("" if x.dtype.name == "string" else x.dtype.as_numpy_dtype(0), x.dtype))
    return cast(reduce_sum(cast(there, int64), axis, bool(keepdims)), dtype, name=name)


@public("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Square root of the sum of squares along `axis`. f[*s] -> f[*r]. Source: tf.math.reduce_euclidean_norm."""
    x = as_tensor(input_tensor)
    if x.dtype.is_integer:  # the root is rounded to an integer, downwards
        return cast(sqrt(cast(reduce_sum(x * x, axis, keepdims), "float64")), x.dtype, name=name)
    return sqrt(reduce_sum(x * conj(x), axis, keepdims), name=name)


def _spectral_norm(x: Tensor, axis: Any, keep: bool, name: str | None) -> Any:
    """The greatest singular values of the matrices that lie along two axes. t[*s] -> r[*r]."""
    if x.shape.rank is None:
        return late(lambda t: _spectral_norm(t, axis, keep, None), [x], x.dtype.real_dtype, name=name)
    at = canonical_axes(axis, x.shape.rank)
    others = [i for i in range(x.shape.rank) if i not in at]
    svd = public_function("linalg.svd")  # whose module is built on this one
    greatest = reduce_max(svd(transpose(x, [*others, *at]), compute_uv=False), -1, name=name)
    for i in sorted(at) if keep else ():
        greatest = expand_dims_p(greatest, axes=(i,))
    return greatest


@public("norm", "linalg.norm")
def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Any:
    """Norm of vectors along `axis` (None: of all elements): "euclidean", 1, 2, inf or another p. f[*s] -> f[*r].

    With two axes, of matrices: "fro", 1, 2 (the greatest singular value) or inf. Raises: ValueError for other norms or
    axes. Source: tf.norm.
    """
    x = as_tensor(tensor)
    keep = bool(keepdims)
    along: Any = axis
    pair = isinstance(along, (list, tuple)) and len(along) == 2
    if (not pair and not isinstance(axis, int | None)) or (pair and along[0] == along[1]):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {along}")
    if ord == "euclidean" or ord == ("fro" if pair else 2):
        return sqrt(reduce_sum(x * conj(x), axis, keep), name=name)
    if pair and ord in (1, np.inf):  # the greatest sum of a column, of a row
        sums = reduce_sum(abs(x), along[0 if ord == 1 else 1], True)
        return reduce_max(sums, axis, keep, name=name)
    if pair and ord == 2:
        return _spectral_norm(x, axis, keep, name)
    if pair:
        raise ValueError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}")
    if ord == 1:
        return reduce_sum(abs(x), axis, keep, name=name)
    if ord == np.inf:
        return reduce_max(abs(x), axis, keep, name=name)
    if isinstance(ord, (int, float)) and ord > 0:
        return reduce_sum(abs(x) ** float(ord), axis, keep) ** (1.0 / ord)
    raise ValueError(f"'ord' must be a supported vector norm, got {ord!r}")


@public("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: str | float = "euclidean", axis: TensorLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """tensor over its norm along `axis`, and that norm with its axes kept. f[*s] -> f[*s], f[*r].

    Source: tf.linalg.normalize.
    """
    x = as_tensor(tensor)
    length = cast(norm(x, ord, axis, True), x.dtype)  # some norms of complex numbers are real
    return x / length, length
