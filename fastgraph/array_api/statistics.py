"""Reductions, running totals, sorting, searching and sets, by the standard's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.array_api.dtypes import DEFAULTS, INDEX, array, axes_of, floating, record, together
from fastgraph.core.base.dtype import DTypeLike, as_dtype
from fastgraph.core.conversion import TensorLike
from fastgraph.numpy_api import shapes
from fastgraph.numpy_api.promotion import ops
from fastgraph.numpy_api.tables import named

__all__ = [
    "all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "isin",
    "max", "mean", "min", "nonzero", "prod", "searchsorted", "sort", "std", "sum", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "var", "where",
]  # fmt: skip

Function = Callable[..., Any]


def widened(x: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """An argument to be summed: of `dtype`, by default small integers and bools as the default integer."""
    value = array(x)
    if dtype is not None:
        return ops.cast(value, as_dtype(dtype))
    if value.dtype.is_bool or (value.dtype.is_integer and value.dtype.size < 4):
        return ops.cast(value, "uint32" if value.dtype.is_unsigned else DEFAULTS["integral"])
    return value


def _reduction(name: str, op: str, of: Function) -> Function:
    def function(x: TensorLike, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return getattr(ops, op)(of(x), axis=axis, keepdims=keepdims)

    return named(function, name, f"Return the standard's `{name}` along axes, or of all elements. t[*s] -> t[*r].")


def _total(name: str, op: str) -> Function:
    def function(x: TensorLike, /, *, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Any:
        return getattr(ops, op)(widened(x, dtype), axis=axis, keepdims=keepdims)

    return named(function, name, f"Return the standard's `{name}` along axes, or of all elements. t[*s] -> t[*r].")


def _bools(x: TensorLike) -> Any:
    return ops.cast(array(x), "bool")


all = _reduction("all", "reduce_all", _bools)
any = _reduction("any", "reduce_any", _bools)
count_nonzero = _reduction("count_nonzero", "count_nonzero", array)
max = _reduction("max", "reduce_max", array)
mean = _reduction("mean", "reduce_mean", floating)
min = _reduction("min", "reduce_min", array)
prod = _total("prod", "reduce_prod")
sum = _total("sum", "reduce_sum")


def var(x: TensorLike, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the mean square distance from the mean; sums are over n - correction. t[*s] -> t[*r]."""
    value = floating(x)
    made = ops.reduce_variance(value, axis=axis, keepdims=keepdims)
    if not correction:
        return made
    n = ops.size(value, out_type=INDEX) // ops.maximum(ops.size(made, out_type=INDEX), 1)
    left = ops.maximum(ops.cast(n, made.dtype) - correction, 0)
    return made * ops.cast(n, made.dtype) / left


def std(x: TensorLike, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return the square root of `var`. t[*s] -> t[*r]."""
    return ops.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _running(name: str, op: str, first: int) -> Function:
    def function(
        x: TensorLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
    ) -> Any:
        value = widened(x, dtype)
        if axis is None and value.shape.rank != 1:
            raise ValueError(f"{name} needs an axis of an array of rank {value.shape.rank}")
        (along,) = axes_of(axis, value.shape.rank, name)
        made = getattr(ops, op)(value, along)
        if not include_initial:
            return made
        start = [[1 if i == along else 0, 0] for i in range(value.shape.rank or 0)]
        return ops.pad(made, start, constant_values=ops.cast(first, made.dtype))

    return named(function, name, f"Return the standard's `{name}` along an axis. t[*s] -> t[*s].")


cumulative_prod = _running("cumulative_prod", "cumprod", 1)
cumulative_sum = _running("cumulative_sum", "cumsum", 0)


def diff(
    x: TensorLike, /, *, axis: int = -1, n: int = 1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> Any:
    """Return differences of neighbours along an axis, n times."""
    parts = [array(part) for part in (prepend, x, append) if part is not None]
    return shapes.diff(parts[0] if len(parts) == 1 else ops.concat(together(*parts), axis), n, axis)


# ---- where elements stand -------------------------------------------------------------------------------------------


def _extreme(name: str) -> Function:
    def function(x: TensorLike, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        value = array(x)
        found = getattr(ops, name)(ops.reshape(value, [-1]) if axis is None else value, axis=axis or 0)
        if not keepdims:
            return found
        ones = ops.ones([ops.rank(value)], "int32")
        return ops.reshape(found, ones) if axis is None else ops.expand_dims(found, axis)

    return named(function, name, f"Return the standard's `{name}` along an axis, or of all elements. t[*s] -> i64[*r].")


argmax = _extreme("argmax")
argmin = _extreme("argmin")


def nonzero(x: TensorLike, /) -> tuple[Any, ...]:
    """Return where elements are not 0, an array of indices for each axis. Raises: ValueError for a number."""
    value = array(x)
    if not value.shape.rank:
        raise ValueError("nonzero takes arrays of a known rank above 0")
    return tuple(shapes.nonzero(value))


def searchsorted(x1: TensorLike, x2: TensorLike, /, *, side: str = "left", sorter: TensorLike | None = None) -> Any:
    """Return where elements of x2 would stand in the sorted vector x1, or in x1[sorter]. t[n], t[*s] -> i64[*s]."""
    edges, values = together(x1, x2)
    if sorter is not None:
        edges = ops.gather(edges, array(sorter))
    found = ops.searchsorted(edges, ops.reshape(values, [-1]), side=side, out_type=INDEX)
    return ops.reshape(found, ops.shape(values))


def where(condition: TensorLike, x1: TensorLike, x2: TensorLike, /) -> Any:
    """Return x1 where a condition holds, else x2. bool[*s], t[*s], t[*s] -> t[*s], broadcasting."""
    return ops.where(_bools(condition), *together(x1, x2))


def argsort(x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return where the elements stand that sort an array. t[*s] -> i64[*s]."""
    value = array(x)
    value = ops.cast(value, "int8") if value.dtype.is_bool else value
    direction = "DESCENDING" if descending else "ASCENDING"
    return ops.cast(ops.argsort(value, axis, direction=direction, stable=stable), INDEX)


def sort(x: TensorLike, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return an array sorted along an axis. t[*s] -> t[*s]."""
    value = array(x)
    kind = "int8" if value.dtype.is_bool else value.dtype
    made = ops.sort(ops.cast(value, kind), axis, direction="DESCENDING" if descending else "ASCENDING")
    return ops.cast(made, value.dtype)


# ---- sets -----------------------------------------------------------------------------------------------------------


UniqueAll = record("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = record("UniqueCounts", "values counts")
UniqueInverse = record("UniqueInverse", "values inverse_indices")


def unique_all(x: TensorLike, /) -> Any:
    """Return each value once, where it first stands, where each element's value is, and how many there are."""
    value = array(x)
    flat = ops.reshape(value, [-1])
    if flat.dtype.is_floating or flat.dtype.is_complex:
        flat = flat + ops.zeros_like(flat)  # of two zeros one
    values, inverse, counts = ops.unique_with_counts(flat, out_idx=INDEX)
    first = ops.unsorted_segment_min(ops.range(ops.size(flat, out_type=INDEX)), inverse, ops.size(values))
    return UniqueAll(values, first, ops.reshape(inverse, ops.shape(value)), counts)


def _part(name: str, make: Callable[[Any], Any], text: str) -> Callable[..., Any]:
    return named(lambda x, /: make(unique_all(x)), name, f"Return each value once{text}.")


unique_counts = _part(
    "unique_counts", lambda found: UniqueCounts(found.values, found.counts), ", and how many there are"
)
unique_inverse = _part(
    "unique_inverse",
    lambda found: UniqueInverse(found.values, found.inverse_indices),
    ", and where each element's value is",
)
unique_values = _part("unique_values", lambda found: found.values, "")


def isin(x1: TensorLike, x2: TensorLike, /, *, invert: bool = False) -> Any:
    """Return whether elements of x1 are among those of x2, or are not. t[*s], t[*r] -> bool[*s]."""
    one, other = together(x1, x2)
    found = ops.reduce_any(ops.expand_dims(one, -1) == ops.reshape(other, [-1]), -1)
    return ops.logical_not(found) if invert else found
