"""Reductions, scans, sorting and statistics, by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api.elementwise import isnan
from fastgraph.numpy_api.promotion import Behavior, default_float, dtype_argument, is_inexact, ops, result_type, tensor
from fastgraph.numpy_api.tables import Function, as_function, make_weak, named, of_first, reduction, refuse

amax = reduction("amax", "reduce_max", "reduce_any", None, keeps_bools=True, takes="out")
amin = reduction("amin", "reduce_min", "reduce_all", None, keeps_bools=True, takes="out")
max = reduction("max", "reduce_max", "reduce_any", None, keeps_bools=True, takes="")
mean = reduction("mean", "reduce_mean", None, "float", takes="dtype out")
min = reduction("min", "reduce_min", "reduce_all", None, keeps_bools=True, takes="")
prod = reduction("prod", "reduce_prod", "reduce_all")
std = reduction("std", "reduce_std", None, "float", takes="")
sum = reduction("sum", "reduce_sum", "reduce_any")
_variance = reduction("var", "reduce_variance", None, "float")


all = as_function(
    "all",
    lambda a, axis=None, keepdims=None: ops.reduce_all(tensor(a, bool), axis=axis, keepdims=bool(keepdims)),
    "whether no element is 0, along axes",
)


any = as_function(
    "any",
    lambda a, axis=None, keepdims=None: ops.reduce_any(tensor(a, bool), axis=axis, keepdims=bool(keepdims)),
    "whether an element is not 0, along axes",
)


def ptp(a: TensorLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Return the greatest less the least. t[*s] -> t[*r]."""
    return amax(a, axis=axis, keepdims=keepdims) - amin(a, axis=axis, keepdims=keepdims)


def var(
    a: TensorLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: TensorLike | None = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """Return the mean square distance from the mean; sums are over n - ddof."""
    refuse(out is not None, "Setting out is not supported.")
    working = result_type(a, dtype) if dtype else None
    made = _variance(a, axis=axis, dtype=working, keepdims=keepdims)
    if ddof:
        n = ops.cast(ops.size(tensor(a)), "int64") // ops.maximum(ops.cast(ops.size(made), "int64"), 1)
        made = made * ops.cast(n, made.dtype) / ops.cast(n - ddof, made.dtype)
    return ops.cast(made, dtype_argument(dtype)) if dtype else made


def _without_nan(name: str, reduce: Function, instead: int) -> Function:
    def function(a: TensorLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
        x = tensor(a)
        kept = ops.where(isnan(x), ops.cast(instead, x.dtype), x)
        return reduce(kept, axis=axis, dtype=dtype, keepdims=keepdims)

    return named(function, name, f"Return NumPy's `{name}`: of what is a number. t[*s] -> t[*r].")


nansum = _without_nan("nansum", sum, 0)
nanprod = _without_nan("nanprod", prod, 1)


def nanmean(a: TensorLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool | None = None) -> Tensor:
    """Return the mean of what is a number. t[*s] -> t[*r]."""
    x = tensor(a)
    if x.dtype.is_bool or x.dtype.is_integer:
        return mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    dtype = x.dtype if dtype is None else dtype
    count = sum(ops.logical_not(isnan(x)), axis=axis, dtype=dtype, keepdims=keepdims)
    return nansum(x, axis=axis, dtype=dtype, keepdims=bool(keepdims)) / count


count_nonzero = of_first(
    "count_nonzero", lambda a, axis=None: ops.count_nonzero(a, axis), "how many elements are not 0: i64[*r]"
)


def _scan(name: str, op: str) -> Function:
    def function(a: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
        x = tensor(a, dtype)
        if dtype is None and x.dtype.is_integer:
            wide = np.promote_types(x.dtype.numpy_dtype, np.int64)  # of uint64 float64, as TensorFlow's
            narrow = Behavior.auto and x.dtype.numpy_dtype != wide
            x = ops.cast(x, wide.name.replace("64", "32") if narrow else wide)
        return getattr(ops, op)(ops.reshape(x, [-1]), 0) if axis is None else getattr(ops, op)(x, axis)

    return named(function, name, f"Return NumPy's `{name}` along an axis, or of all elements. t[*s] -> t[*s].")


cumprod = _scan("cumprod", "cumprod")
cumsum = _scan("cumsum", "cumsum")


def _extreme(name: str) -> Function:
    def function(a: TensorLike, axis: Any = None) -> Any:
        x = tensor(a)
        return getattr(ops, name)(ops.reshape(x, [-1]) if axis is None or x.shape.rank == 0 else x, axis=axis)

    return named(function, name, f"Return NumPy's `{name}` along an axis, or of all elements. t[*s] -> i64[*r].")


argmax = _extreme("argmax")
argmin = _extreme("argmin")


def _checked_order(kind: str, kinds: tuple[str, ...], order: object) -> None:
    refuse(kind not in kinds, f"Invalid value for argument `kind`. Only {kinds} are supported. Received: kind={kind}")
    refuse(order is not None, "The `order` argument is not supported. Pass order=None")


def argsort(a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Return where the elements stand that sort a tensor. t[*s] -> i64[*s].

    Raises: ValueError for another kind than "quicksort" and "stable", or an order; TypeError for complex numbers.
    """
    _checked_order(kind, ("quicksort", "stable"), order)
    x = tensor(a)
    if x.dtype.is_complex:
        raise TypeError(f"argsort does not support complex64/complex128 dtypes. Received dtype: {x.dtype!r}")
    if axis is None or x.shape.rank == 0:
        x, axis = ops.reshape(x if x.shape.rank != 0 else ops.zeros_like(x, "int32"), [-1]), 0
    return ops.cast(ops.argsort(x, axis, stable=kind == "stable"), "int32" if Behavior.auto else "int64")


def sort(a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """Return a tensor sorted along an axis. t[*s] -> t[*s].

    Raises: ValueError for another kind than "quicksort", or an order.
    """
    _checked_order(kind, ("quicksort",), order)
    x = tensor(a)
    return ops.sort(ops.reshape(x, [-1]), 0) if axis is None else ops.sort(x, axis)


def average(
    a: TensorLike, axis: int | None = None, weights: TensorLike | None = None, returned: bool = False
) -> Tensor | Any:
    """Return the mean, weighted, and if asked the sum of the weights.

    Raises: ValueError for an axis that is no int; InvalidArgumentError for weights of another shape.
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(f"Argument `axis` must be an integer. Received axis={axis} (of type {type(axis)})")
    x = tensor(a)
    total: Tensor
    if weights is None:
        x = x if is_inexact(x.dtype) else ops.cast(x, result_type(x.dtype, default_float()))
        made = ops.reduce_mean(x, axis=axis)
        total = ops.cast(ops.size(x) if axis is None else ops.shape(x)[axis], x.dtype)
    else:
        kind = result_type(x.dtype, weights, *([] if is_inexact(x.dtype) else [default_float()]))
        x, w = tensor(x, kind), tensor(weights, kind)
        if axis is None or x.shape.rank == w.shape.rank:
            ops.assert_equal(ops.shape(x), ops.shape(w))
            total = ops.reduce_sum(w, axis=axis)
            made = ops.reduce_sum(x * w, axis=axis) / total
        else:
            ops.assert_equal(ops.rank(w), 1)
            total = ops.reduce_sum(w)
            made = ops.tensordot(x, w, [[axis], [0]]) / total
    return (made, ops.broadcast_to(total, ops.shape(made))) if returned else made


make_weak(globals())
