"""Order: top_k, approx_max_k, in_top_k, sort, unique, searchsorted, is_non_decreasing.

Rule: of equal elements the first comes first; NaN counts as greater than any number (in searches, as `<` has it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float64, int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike, unsupported
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, has_dtype, index_list, known_value, named, of_dtypes, static_int, whole
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.division import floordiv
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    canonical_axis,
    custom,
    invalid,
    misuse,
    public,
    validated,
)
from fastgraph.ops.gathering import dim, gather_grad
from fastgraph.ops.joining import stack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import reshape, shape, size, transpose_p
from fastgraph.ops.precise_sums import HALF, is_half
from fastgraph.ops.reduction import reduce_all
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.slicing import slice_tensor
from fastgraph.ops.stable_sorting import greatest, in_order, stable_order

_ORDERED = "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64"

# ---- the k greatest -------------------------------------------------------------------------------------------------


def _top_shape(dims: Dims, k: int | None) -> Dims:
    if dims is None:
        return None
    if not dims:
        raise ValueError("input must be >= 1-D, got shape []")
    if k is not None and k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    if k is not None and dims[-1] is not None and dims[-1] < k:
        raise ValueError(f"input must have at least k columns. Had {dims[-1]}, needed {k}")
    return (*dims[:-1], k)


def _infer_top(input: Aval, *, k: int, index_type: DType) -> tuple[Aval, Aval]:
    dims = _top_shape(input.shape, k)
    return Aval(input.dtype, dims), Aval(index_type, dims)


def _top_grad(dys: list[Any], input: Tensor, outs: list[Any]) -> dict[str, Any]:
    if dys[0] is None:
        return {}
    rank, places = input.shape.rank, outs[1]
    if places.dtype.name not in ("int16", "int32", "int64"):
        places = cast(places, "int32")
    dy = dys[0]
    wide = cast(dy, "float32") if dy.dtype.name in HALF else dy  # which kernels add
    if rank is None:  # the same of the rows of a matrix
        n, k = dim(input, -1), dim(places, -1)
        rows = floordiv(size(places), maximum(k, 1))
        wide, places = (reshape(x, stack([rows, k])) for x in (wide, places))
        found = reshape(gather_grad(wide, places, stack([rows, n]), axis=1, batch_dims=1), shape(input))
        return {"input": cast(found, dy.dtype)}
    return {"input": cast(gather_grad(wide, places, shape(input), axis=rank - 1, batch_dims=rank - 1), dy.dtype)}


def _top_samples() -> list[Any]:
    x = np.array([[3, 1, 4, 0, 5], [9, 2, 6, 5, 3]])
    found = [
        ((x.astype(as_dtype(t).numpy_dtype),), {"k": k, "index_type": int32})
        for t in ("float32", "float64", "int32", "uint8", "bfloat16")
        for k in (0, 1, 3, 5)
    ]
    nan = np.array([1.0, np.nan, 3.0, 5.0, np.nan], np.float32)
    return [
        *found,
        ((nan,), {"k": 4, "index_type": as_dtype("int64")}),
        ((np.array([2, 2, 2]),), {"k": 2, "index_type": int32}),
    ]


def _top_errors() -> list[Any]:
    x = np.ones([4])
    return [
        misuse("input must have at least k columns. Had 4, needed 5", x, k=5, index_type=int32),
        misuse("Need k >= 0, got -1", x, k=-1, index_type=int32),
        misuse(r"input must be >= 1-D, got shape \[\]", np.array(1.0), k=1, index_type=int32),
    ]


@custom(
    op="TopKV2",
    infer=_infer_top,
    dtypes=_ORDERED,
    n_outputs=2,
    step="top_k",
    vjp_all=_top_grad,
    samples=_top_samples,
    error_samples=_top_errors,
)
def top_k_p(input: Array, *, k: int, index_type: DType) -> Any:
    """The k greatest along the last axis, falling, and where they stand. t[*s, n] -> t[*s, k], i[*s, k]."""
    validated(_top_shape, input.shape, k)
    places = greatest(input, k)
    return np.take_along_axis(input, places, -1), places.astype(index_type.numpy_dtype)


class TopKV2(NamedTuple):
    """The k greatest elements, and where they stand."""

    values: Tensor
    indices: Tensor


@public("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None
) -> TopKV2:
    """The k greatest elements along the last axis, falling, and where they stand. t[*s, n] -> t[*s, k], i[*s, k].

    Raises: InvalidArgumentError for more than there are. Source: tf.math.top_k.
    """
    number = static_int(k, "k must be scalar, got shape")
    if number is None:
        x = as_tensor(input)
        if x.shape.rank == 0:
            raise ValueError("input must be >= 1-D, got shape []")
        if x.shape.rank is None or x.shape[-1] is None:
            as_index = as_dtype(index_type)
            again = lambda t, n: top_k(t, n, sorted, as_index)
            found = late(again, [x, k], x.dtype, as_index, name=name)
            for part in found:
                part.set_shape(None if x.shape.rank is None else [*x.shape[:-1], None])
            return TopKV2(*found)
        n = x.shape[-1]
        every = top_k_p(x, k=n, index_type=as_dtype(index_type))
        k = checked(reshape(k, ()), 0, n, "Need 0 <= k <= {most}, the last dimension of input, got {}")
        begin, size = [0] * x.shape.rank, [*[-1] * (x.shape.rank - 1), k]
        return TopKV2(*[slice_tensor(found, begin, size) for found in every])
    return TopKV2(*named(name, top_k_p, input, k=number, index_type=as_dtype(index_type)))


def _infer_in_top(predictions: Aval, targets: Aval, k: Aval) -> Aval:
    _check_in_top(predictions.shape, targets.shape)
    if k.shape is not None and k.shape != ():
        raise ValueError("k must be 0-D")
    return Aval(as_dtype("bool"), targets.shape)


def _check_in_top(predictions: Dims, targets: Dims) -> None:
    if predictions is not None and len(predictions) != 2:
        raise ValueError("predictions must be 2-dimensional")
    if targets is not None and len(targets) != 1:
        raise ValueError("targets must be 1-dimensional")
    if predictions is None or targets is None or None in (predictions[0], targets[0]):
        return
    if predictions[0] != targets[0]:
        raise ValueError(f"First dimension of predictions {predictions[0]} must match length of targets {targets[0]}")


def _lower_in_top(b: Builder, node: Node) -> list[Any]:
    predictions, targets, k = b.input(0), b.input(1), b.input(2)

    def element(index: Sequence[Any]) -> Any:
        row, n = index[0], predictions.shape[1]
        target = b.cast(targets.at((row,)), "int64")
        inside = (target >= 0) & (target < n)
        mine = b.select(inside, predictions.at((row, target)), b.const(np.nan, "float32"))
        finite = b.reduce("all", [n], lambda at: b.op("isfinite", predictions.at((row, at[0]))))
        above = b.reduce("sum", [n], lambda at: b.cast(predictions.at((row, at[0])) > mine, "int64"))
        return inside & finite & (above < b.cast(k.at(()), "int64"))

    return [element]


@custom(
    op="InTopKV2",
    infer=_infer_in_top,
    groups=("float32", "T", "T"),
    dtypes="index",
    lower=_lower_in_top,
    samples=lambda: [
        ((np.array(p, np.float32), np.array(t, it), np.array(k, it)), {})
        for it in ("int32", "int64")
        for k in (1, 2)
        for p, t in (
            ([[0.1, 0.9], [0.2, 0.8], [0.5, 0.5]], [0, 1, 1]),
            ([[0.1, 0.9], [np.inf, 0.8], [np.nan, 0.5]], [0, 1, 1]),
            ([[0.1, 0.9], [0.2, 0.8]], [-1, 5]),
        )
    ],
    error_samples=lambda: [
        misuse(
            "First dimension of predictions 2 must match length of targets 1",
            np.ones([2, 2], np.float32),
            np.array([0]),
            np.array(1),
        ),
        misuse("targets must be 1-dimensional", np.ones([1, 2], np.float32), np.array([[0]]), np.array(1)),
        misuse("predictions must be 2-dimensional", np.ones([2], np.float32), np.array([0]), np.array(1)),
    ],
)
def in_top_k_p(predictions: Array, targets: Array, k: Array) -> Any:
    """True where fewer than k classes have more than the target's; never where something is not finite."""
    validated(_check_in_top, predictions.shape, targets.shape)
    if k.ndim:
        raise invalid("k must be 0-D")
    inside = (targets >= 0) & (targets < predictions.shape[1])
    safe = np.where(inside, targets, 0)[:, None]
    if not predictions.shape[1]:  # no class, and so no target
        return inside
    above = (predictions > np.take_along_axis(predictions, safe, 1)).sum(1)
    return inside & np.isfinite(predictions).all(1) & (above < k)


@public("math.in_top_k", "nn.in_top_k")
def in_top_k(targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None) -> Any:
    """True where the target of a row is among its k greatest predictions. i[n], f32[n, c] -> bool[n].

    Never for a target out of range or where something is not finite.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.math.in_top_k.
    """
    targets = as_tensor(targets, getattr(k, "dtype", None) if has_dtype(k) else None)
    return named(name, in_top_k_p, predictions, targets, as_tensor(k, targets.dtype))


# ---- sorting --------------------------------------------------------------------------------------------------------


@custom(
    op="ArgSort",
    infer=lambda values, *, descending: Aval(int32, values.shape),
    dtypes=_ORDERED,
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
    dtypes=_ORDERED,
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
    if flat.dtype.kind == "f":
        flat = flat + np.zeros((), flat.dtype)  # -0.0 is 0.0
    table: dict[bytes, int] = {}
    keys = [repr(row.tolist()).encode() if x.dtype == object else row.tobytes() for row in flat]
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
    dtypes=_ORDERED,
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
