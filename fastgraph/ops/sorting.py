"""Order: sort, argsort, unique, searchsorted, is_non_decreasing.

Rule: of equal elements the first comes first; NaN counts as greater than any number (in searches, as `<` has it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float64, int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike, unsupported
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, index_list, known_value, named, of_dtypes
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import (
    Array,
    custom,
    invalid,
    misuse,
    public,
)
from fastgraph.ops.gathering import dim, gather_grad
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import reshape, shape, transpose_p
from fastgraph.ops.precise_sums import HALF, is_half
from fastgraph.ops.reduction import reduce_all
from fastgraph.ops.stable_sorting import in_order, stable_order

# ---- sorting --------------------------------------------------------------------------------------------------------


@custom(
    op="ArgSort",
    infer=lambda values, *, descending: Aval(int32, values.shape),
    dtypes="ordered",
    samples=lambda: [
        ((np.array([[3, 1, 2, 1], [5, 7, 5, 0]]).astype(t),), {"descending": d})
        for t in ("float32", "int32", "uint8")
        for d in (False, True)
    ],
    step="sort.places",
)
def argsort_p(values: Array, *, descending: bool) -> Any:
    """The positions of the elements along the last axis in rising (falling) order. t[*s] -> i32[*s]."""
    return stable_order(values, descending)


@custom(
    op="Sort",
    infer=lambda values, *, descending: Aval(values.dtype, values.shape),
    dtypes="ordered",
    vjp=dict(values=lambda dy, values, descending: _sort_grad(dy, values, descending)),
    samples=lambda: [
        ((np.array([[3, 1, 2, 7], [5, 6, 4, 0]]).astype(t),), {"descending": d})
        for t in ("float32", "float64", "int32", "uint8", "bfloat16")
        for d in (False, True)
    ],
    step="sort",
)
def sort_p(values: Array, *, descending: bool) -> Any:
    """The elements along the last axis in rising (falling) order. t[*s] -> t[*s]."""
    return in_order(values, descending)


def _sort_grad(dy: Tensor, values: Tensor, descending: bool) -> Any:
    """The cotangents where their elements came from. f[*s], f[*s] -> f[*s]."""
    last = (values.shape.rank or 1) - 1  # of unknown rank, `sort` waits for the call
    places = argsort_p(values, descending=descending)
    wide = cast(dy, "float32") if dy.dtype.name in HALF else dy
    return cast(gather_grad(wide, places, shape(values), axis=last, batch_dims=last), dy.dtype)


def _constant_axis(axis: TensorLike | None) -> int:
    """The axis of sorts, any number. Raises: ValueError for what is none."""
    number: Any = axis
    if axis is None:
        raise unsupported(None)
    if isinstance(axis, Tensor):
        number = known_value(axis)
    elif class_has(axis, "__fg_tensor__"):
        number = known_value(as_tensor(axis))
    if number is None or number is np.ma.masked or isinstance(number, (str, bytes)) or np.ndim(number):
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: axis={axis!s}.")
    return int(number)


def _to_last(x: Tensor, axis: TensorLike | None) -> tuple[Any, tuple[int, ...] | None]:
    rank = len(x.shape)  # sorts of unknown rank wait for the call
    if rank == 0:
        raise invalid("slice index -1 of dimension 0 out of bounds.", "StridedSlice")
    at = _constant_axis(axis)
    at = at + rank if at < 0 else at
    if not 0 <= at < rank:
        raise invalid(f"slice index {at} of dimension 0 out of bounds.", "StridedSlice")
    if at == rank - 1:
        return x, None
    swap = list(range(rank))
    swap[at], swap[-1] = swap[-1], swap[at]
    return transpose_p(x, perm=tuple(swap)), tuple(swap)


def _is_descending(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}"
        )
    return direction == "DESCENDING"


@public("argsort")
def argsort(
    values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", stable: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The positions of the elements along `axis` in order, the first of equals first. t[*s] -> i32[*s].

    Raises: ValueError for another direction. Source: tf.argsort.
    """
    descending = _is_descending(direction)
    x = as_tensor(values)
    if x.shape.rank is None:
        axis = _constant_axis(axis)
        return late(lambda rows: argsort(rows, axis, direction), [x], int32, name=name)
    x, swap = _to_last(x, axis)
    places = named(name, argsort_p, x, descending=descending)
    return places if swap is None else transpose_p(places, perm=swap)


@public("sort")
def sort(values: TensorLike, axis: TensorLike = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """The elements along `axis` in order. t[*s] -> t[*s]. Raises: ValueError for another direction. Source: tf.sort."""
    descending = _is_descending(direction)
    x = as_tensor(values)
    if x.shape.rank is None:
        axis = _constant_axis(axis)
        return late(lambda rows: sort(rows, axis, direction), [x], x.dtype, name=name)
    x, swap = _to_last(x, axis)
    result = named(name, sort_p, x, descending=descending)
    return result if swap is None else transpose_p(result, perm=swap)


_UNIQUE = "a sort whose number of results is data"


def _infer_unique(x: Aval, *, out_idx: DType) -> tuple[Aval, Aval, Aval]:
    if x.shape is not None and len(x.shape) != 1:
        raise ValueError("unique expects a 1D vector.")
    return Aval(x.dtype, (None,)), Aval(out_idx, x.shape), Aval(out_idx, (None,))


@custom(
    op="UniqueWithCounts",
    infer=_infer_unique,
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((np.array(x).astype(t),), {"out_idx": int32}) for t in ("float32", "int64", "bool") for x in ([3, 1, 3, 0], [])
    ],
    error_samples=lambda: [misuse("unique expects a 1D vector.", np.ones([1, 1]), out_idx=int32)],
    reason=_UNIQUE,
)
def unique_p(x: Array, *, out_idx: DType) -> Any:
    """The different elements in order of appearance, where each element is among them, and how many there are."""
    if x.ndim != 1:
        raise invalid("unique expects a 1D vector.")
    index = out_idx.numpy_dtype
    if x.dtype == object:  # NumPy sorts no bytes of Python
        numbers = array_kernels.StringNumbers()
        where = numbers.numbers(np.ascontiguousarray(x), True)
        found = numbers.words()
        return found, where.astype(index), np.bincount(where, minlength=len(found)).astype(index)
    if x.dtype.kind == "c":
        _, at, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
        )
        order = np.argsort(at, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first, counts, where = at[order], counts[order], rank[inverse.reshape(-1)]
    else:
        first, counts, where = array_kernels.unique(_as_words(x))
    return x[first], where.astype(index, copy=False), counts.astype(index)


def _as_words(x: Array) -> Array:
    """The elements, contiguous, as what has 4 or 8 bytes and is as different. t[n] -> t[n]."""
    if x.itemsize < 4:
        return x.astype(np.float32 if is_half(x.dtype) else np.int32)
    return np.ascontiguousarray(x)


class Unique(NamedTuple):
    """The different elements, and where each element is among them."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The different elements, where each element is among them, and how often each occurs."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # which tuples have otherwise


@public("unique")
def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """The different elements in order of appearance, and where each element is among them. t[n] -> t[m], i[n].

    Raises: InvalidArgumentError for other ranks. Source: tf.unique.
    """
    return Unique(*named(name, unique_p, x, out_idx=as_dtype(out_idx))[:2])


@public("unique_with_counts")
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> UniqueWithCounts:
    """`unique`, and how often each element occurs. t[n] -> t[m], i[n], i[m]. Source: tf.unique_with_counts."""
    return UniqueWithCounts(*named(name, unique_p, x, out_idx=as_dtype(out_idx)))


def _infer_unique_slices(x: Aval, *, axis: int, out_idx: DType) -> tuple[Aval, Aval, Aval]:
    if x.shape is None:
        return Aval(x.dtype, None), Aval(out_idx, (None,)), Aval(out_idx, (None,))
    if not -len(x.shape) <= axis < len(x.shape):
        raise ValueError(f"axis has to be between 0 and {len(x.shape) - 1}, got {axis}")
    dims = list(x.shape)
    n, dims[axis] = dims[axis], None
    return Aval(x.dtype, tuple(dims)), Aval(out_idx, (n,)), Aval(out_idx, (None,))


@custom(
    op="UniqueWithCountsV2",
    infer=_infer_unique_slices,
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((np.array([[3, 1], [3, 1], [0, 2]]).astype(t),), {"axis": a, "out_idx": int32})
        for t in ("float32", "int64")
        for a in (0, 1)
    ],
    reason=_UNIQUE,
)
def unique_slices_p(x: Array, *, axis: int, out_idx: DType) -> Any:
    """The different slices along an axis in order of appearance, where each is among them, and how many there are."""
    rows = np.moveaxis(x, axis, 0)
    flat = np.ascontiguousarray(rows).reshape(len(rows), math.prod(rows.shape[1:]))
    if flat.dtype.kind in "fc":
        flat = flat + np.zeros((), flat.dtype)  # -0.0 is 0.0
    table: dict[Any, int] = {}
    keys: list[Any] = [repr(row.tolist()).encode() if x.dtype == object else row.tobytes() for row in flat]
    for i in np.flatnonzero(np.not_equal(flat, flat).any(1)):
        keys[i] = int(i)  # NaN equals nothing
    where = np.array([table.setdefault(key, len(table)) for key in keys], np.int64)
    first = np.array([keys.index(key) for key in table], np.int64)
    kind = out_idx.numpy_dtype
    return (
        np.ascontiguousarray(np.take(x, first, axis)),
        where.astype(kind),
        np.bincount(where, minlength=len(table)).astype(kind),
    )


@public("raw_ops.UniqueWithCountsV2")
def unique_with_counts_v2(
    x: TensorLike, axis: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> UniqueWithCounts:
    """The different slices along the one axis of `axis`, in order of appearance: t, i[n], i[m]; of a vector if empty.

    Raises: InvalidArgumentError for several axes. Source: tf.raw_ops.UniqueWithCountsV2.
    """
    return UniqueWithCounts(*_unique_slices(x, axis, out_idx, name, "UniqueWithCountsV2"))


def _unique_slices(x: Any, axis: Any, out_idx: Any, name: str | None, op: str) -> Any:
    x = as_tensor(x)
    given = axis if isinstance(axis, Tensor) else as_tensor(axis, int64 if np.size(axis) == 0 else None)
    if given.shape.rank != 1:
        raise invalid("axis expects a 1D vector.", op, x.shape, given.shape)
    along = index_list(given, "axis")
    if len(along) > 1:
        raise invalid("axis does not support input tensors larger than 1 elements", op, x.shape, given.shape)
    rank = x.shape.rank
    if not along and rank not in (1, None):
        raise invalid("unique expects a 1D vector.", op, x.shape, given.shape)
    if along and rank is not None and not -rank <= along[0] < rank:
        raise invalid(f"axis has to be between [{-rank}, {rank})", op, x.shape, given.shape)
    return named(name, unique_slices_p, x, axis=along[0] if along else 0, out_idx=as_dtype(out_idx))


@public("raw_ops.UniqueV2")
def unique_v2(x: TensorLike, axis: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """`raw_ops.UniqueWithCountsV2` without the counts. Source: tf.raw_ops.UniqueV2."""
    return Unique(*_unique_slices(x, axis, out_idx, name, "UniqueV2")[:2])


@public("raw_ops.Bucketize")
def bucketize(input: TensorLike, boundaries: Iterable[float], name: str | None = None) -> Any:
    """Number of the sorted `boundaries` that are no more than each number: t[*s] -> i32[*s].

    Raises: InvalidArgumentError for boundaries that are not sorted. Source: tf.raw_ops.Bucketize.
    """
    x = of_dtypes(as_tensor(input), "int32 int64 float32 float64")
    ends = np.array([float(b) for b in boundaries], np.float32)
    if (ends[1:] < ends[:-1]).any():
        raise invalid("Expected sorted boundaries")
    wide = reshape(cast(x, float64), [-1])
    found = searchsorted(ends.astype(np.float64), wide, side="right")
    return reshape(found, shape(x), name=name)


_UNLIKE_ROWS = "Leading dim_size of both tensors must match."


def _infer_search(sequence: Aval, values: Aval, *, right: bool, out_type: DType) -> Aval:
    rows = [None if x.shape is None else x.shape[0] for x in (sequence, values)]
    if None not in rows and rows[0] != rows[1]:
        raise InvalidArgumentError(None, None, _UNLIKE_ROWS)
    return Aval(out_type, values.shape)


@custom(
    infer=_infer_search,
    dtypes="ordered",
    step="search",
    samples=lambda: [
        (
            (np.array([[1, 3, 3, 5], [0, 2, 4, 6]]).astype(t), np.array([[0, 3, 6], [2, 7, 1]]).astype(t)),
            {"right": r, "out_type": int32},
        )
        for t in ("float32", "int32", "float64", "uint8")
        for r in (False, True)
    ],
    error_samples=lambda: [
        misuse(
            "Leading dim_size of both tensors must match", np.ones([1, 2]), np.ones([3, 2]), right=False, out_type=int32
        )
    ],
)
def search_sorted(sequence: Array, values: Array, *, right: bool, out_type: DType) -> Any:
    """Place of each value in its sorted row: before its equals, or after them. t[b, n], t[b, m] -> i[b, m]."""
    if len(sequence) != len(values):
        raise invalid(_UNLIKE_ROWS)
    nan = values.dtype.kind not in "iu" and any(bool((x != x).any()) for x in (sequence, values))
    if nan or len(sequence) > 8:
        return _bisected(sequence, values, right).astype(out_type.numpy_dtype)
    side: Any = "right" if right else "left"
    rows = [np.searchsorted(s, v, side) for s, v in zip(sequence, values, strict=True)]
    return np.array(rows).astype(out_type.numpy_dtype).reshape(values.shape)


def _bisected(sequence: Array, values: Array, right: bool) -> Array:
    """`search_sorted` of all rows at once; what comes before NaN, and where NaN goes, is as `<` has it."""
    n = sequence.shape[1]
    first = np.arange(len(values))[:, None] * n
    low = np.broadcast_to(first, values.shape)
    high = low + n
    for _ in range(n.bit_length()):
        middle = (low + high) >> 1
        kept = sequence.reshape(-1).take(middle, mode="clip")
        before = ~(values < kept) if right else kept < values
        open_ = low < high
        low, high = np.where(before & open_, middle + 1, low), np.where(before | ~open_, high, middle)
    return np.asarray(low - first)


def _as_rows(x: Tensor) -> Any:
    """The last axis alone, below one other: t[*s, n] -> t[prod(s), n]."""
    n = dim(x, -1)
    if x.shape.rank is None:
        return reshape(x, [-1, n])
    # Not -1: of an array without elements reshape cannot tell how many rows it has.
    return reshape(x, [product_of(extents_of(x)[:-1]), n])


@public("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike, values: TensorLike, side: str = "left", out_type: DTypeLike = int32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Place of each value in a sorted sequence (last axis): before its equals, or after ("right").

    t[*s, n], t[*s, m] -> i[*s, m]. Raises: ValueError for another side. Source: tf.searchsorted.
    """
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    sequence = as_tensor(sorted_sequence)
    wanted = as_tensor(values, sequence.dtype)
    if 0 in (sequence.shape.rank, wanted.shape.rank):
        raise invalid("slice index -1 of dimension 0 out of bounds.", "StridedSlice")
    flat, rows = _as_rows(sequence), _as_rows(wanted)
    found = named(name, search_sorted, flat, rows, right=side == "right", out_type=as_dtype(out_type))
    return reshape(found, shape(wanted, "int64"))


def _in_order(x: TensorLike) -> Any:
    """The elements in row-major order. Raises: TypeError for what is no number."""
    x = as_tensor(x)
    if x.dtype.is_bool or x.dtype.name == "string":
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    return reshape(x, [-1])


@public("math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Any:
    """True if no element is less than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_non_decreasing.
    """
    flat = _in_order(x)
    return reduce_all(flat[1:] >= flat[:-1], name=name)


@public("math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Any:
    """True if every element is greater than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_strictly_increasing.
    """
    flat = _in_order(x)
    return reduce_all(flat[1:] > flat[:-1], name=name)
