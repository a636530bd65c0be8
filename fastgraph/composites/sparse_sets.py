"""Sets and crossings of features: tf.sets, tf.sparse.cross_hashed, tf.ragged.cross.

Rule: the last axis holds what belongs together; rows are walked on the host, as their lengths are data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import int32, int64, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.array_kernels import fingerprints
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, named, whole
from fastgraph.ops.creation import fill
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.string_hashes import together

_REASON = "rows whose lengths are data"
_HASH_KEY = 0xDECAFCAFFE
#: Set operation -> (keeps a value of the first set alone, of the second alone).
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a-b": lambda a, b: a & ~b,
    "b-a": lambda a, b: b & ~a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _infer_sets(*parts: Aval, operation: str) -> tuple[Aval, ...]:
    rank = parts[2].shape[0] if parts[2].shape else None
    return Aval(int64, (None, rank)), Aval(parts[1].dtype, (None,)), Aval(int64, (rank,))


def _check_inside(indices: Array, extents: Array) -> None:
    """Raises: InvalidArgumentError for places outside of the extents."""
    outside = np.flatnonzero(((indices < 0) | (indices >= extents)).any(1))
    if outside.size:
        place, within = shape_text(indices[outside[0]].tolist()), shape_text(extents.tolist())
        raise invalid(f"indices[{outside[0]}] = {place} is out of bounds: need 0 <= index < {within}")


def _groups(indices: Array, extents: Array) -> Array:
    """The number of the row of each value, rising with its place. i64[n, rank], i64[rank] -> i64[n]."""
    if math.prod(extents[:-1].tolist()) >= 1 << 63:
        return np.unique(indices[:, :-1], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.zeros(len(indices), np.int64)
    for extent, column in zip(extents[:-1], indices.T, strict=False):
        rows = rows * extent + column
    return rows


def _order(rows: Array, numbers: Array) -> Array:
    """Places of the values, by row and number: of one number each where both fit in it."""
    if not len(rows):
        return np.zeros(0, np.int64)
    least, row = int(numbers.min()), int(rows.max()) + 1
    span = int(numbers.max()) - least + 1
    if row * span < 1 << 63 and abs(least) < 1 << 62:
        return np.argsort(rows * span + (numbers.astype(np.int64) - least))
    return np.lexsort((numbers, rows))


def _starts(*columns: Array) -> Array:
    """True where another group of equal columns begins, columns being in order. -> bool[n]."""
    starts = np.ones(len(columns[0]), bool)
    starts[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return starts


@custom(
    op="SparseToSparseSetOperation",
    infer=_infer_sets,
    groups=("int64", "T", "int64", "int64", "T", "int64"),
    dtypes="int8 int16 int32 int64 uint8 uint16 string",
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        (
            (
                *(np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 2, 3]), np.array([2, 2])),
                *(np.array([[0, 0], [1, 0]]), np.array([2, 4]), np.array([2, 2])),
            ),
            {"operation": operation},
        )
        for operation in _OPERATIONS
    ],
    reason=_REASON,
)
def set_operation_p(
    indices1: Array, values1: Array, shape1: Array, indices2: Array, values2: Array, shape2: Array, *, operation: str
) -> Any:
    """The sets that two sparse tensors have in their last axes, combined: indices, values in order, and shape."""
    if len(shape1) != len(shape2) or (shape1[:-1] != shape2[:-1]).any():
        raise invalid(f"Mismatched group shapes: {shape1[:-1].tolist()} and {shape2[:-1].tolist()}")
    for each, extents in ((indices1, shape1), (indices2, shape2)):
        _check_inside(each, extents)
    indices = np.concatenate([indices1, indices2])
    rows = _groups(indices, shape1)
    values = np.concatenate([values1, values2])
    if values.dtype == object:  # each text by its number
        words, numbers = np.unique(values, return_inverse=True)
    else:
        words, numbers = None, values
    order = _order(rows, numbers)
    rows, numbers, first = rows[order], numbers[order], order < len(values1)
    starts = _starts(rows, numbers)
    at = np.flatnonzero(starts)
    held = [np.logical_or.reduceat(each, at) if len(at) else each for each in (first, ~first)]
    kept = at[_OPERATIONS[operation](*held)]
    rows, numbers, indices = rows[kept], numbers[kept], indices[order[kept]]
    begins = np.flatnonzero(_starts(rows)) if len(rows) else kept
    places = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    indices[:, -1] = places
    most = int(places.max(initial=-1)) + 1
    return indices, numbers if words is None else words[numbers], np.array([*shape1[:-1].tolist(), most], np.int64)


def _parts(value: TensorLike) -> tuple[Any, Any, Any]:
    if isinstance(value, SparseTensor):
        return value.indices, value.values, value.dense_shape
    dense = as_tensor(value)
    everywhere = where(fill(shape(dense), True))
    return everywhere, reshape(dense, [-1]), shape(dense, int64)


def _operation(a: TensorLike, b: TensorLike, operation: str) -> SparseTensor:
    if isinstance(b, SparseTensor) and not isinstance(a, SparseTensor) and operation in ("a-b", "b-a"):
        operation = {"a-b": "b-a", "b-a": "a-b"}[operation]
        a, b = b, a
    return SparseTensor(*set_operation_p(*_parts(a), *_parts(b), operation=operation))


def intersection(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """The intersection of the sets in the last axes of two tensors. t[*s, n], t[*s, m] -> SparseTensor t[*s, k].

    Raises: InvalidArgumentError for other axes before the last. Source: tf.sets.intersection.
    """
    return _operation(a, b, "intersection")


def union(a: TensorLike, b: TensorLike, validate_indices: bool = True) -> SparseTensor:
    """The union of the sets, see `intersection`. Source: tf.sets.union."""
    return _operation(a, b, "union")


def difference(a: TensorLike, b: TensorLike, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of the first set less the second (aminusb=False: the other way). Source: tf.sets.difference."""
    return _operation(a, b, "a-b" if aminusb else "b-a")


@custom(
    op="SetSize",
    infer=lambda indices, values, extents: Aval(int32, None if not extents.shape else (None,) * (extents.shape[0] - 1)),
    groups=("int64", "T", "int64"),
    dtypes="int8 int16 int32 int64 uint8 uint16 string",
    samples=lambda: [((np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 1, 3]), np.array([2, 2])), {})],
    step="dynamic",
    reason=_REASON,
)
def set_size_p(indices: Array, values: Array, extents: Array) -> Any:
    """Number of different elements of each set. -> i32[*s]."""
    _check_inside(indices, extents)
    rows = _groups(indices, extents)
    numbers = np.unique(values, return_inverse=True)[1] if values.dtype == object else values
    order = _order(rows, numbers)
    different = rows[order][_starts(rows[order], numbers[order])] if len(rows) else rows
    n = int(np.prod(extents[:-1]))
    return np.bincount(different, minlength=n).astype(np.int32).reshape(extents[:-1].tolist())


def size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """Number of different elements of each set of the last axis. SparseTensor t[*s, n] -> i32[*s].

    Raises: TypeError for what is no SparseTensor. Source: tf.sets.size.
    """
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return set_size_p(a.indices, a.values, a.dense_shape)


# ---- crossings ------------------------------------------------------------------------------------------------------


@custom(
    op="SparseCross",
    infer=lambda *parts, **_: (Aval(int64, (None, 2)), Aval(int64, (None,)), Aval(int64, (2,))),
    groups=("-",),
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        (
            (
                np.array([[0, 0], [1, 0]]), np.array([b"a", b"b"], object), np.array([2, 1]),
                np.array([[0, 0], [0, 1]]), np.array([3, 4]), np.array([2, 2]),
            ),
            {"num_buckets": 100, "key": _HASH_KEY},
        )
    ],
    reason=_REASON,
)  # fmt: skip
def cross_hashed_p(*parts: Array, num_buckets: int, key: int) -> Any:
    """Every choice of one feature of each column, row by row, as a bucket: indices, values and shape."""
    places, columns, extents = _choices(parts)
    codes = np.full(len(places), key, np.uint64)
    for values, at in columns:
        codes = together(codes, (fingerprints(values) if values.dtype == object else values).view(np.uint64)[at])
    return places, (codes % np.uint64(num_buckets or (1 << 63) - 1)).astype(np.int64), extents


@custom(
    op="SparseCrossV2",
    infer=lambda *parts, **_: (Aval(int64, (None, 2)), Aval(string, (None,)), Aval(int64, (2,))),
    groups=("-",),
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((np.array([[0, 0], [1, 0]]), np.array([b"a", b"b"], object), np.array([2, 1])), {"separator": b"_X_"})
    ],
    reason=_REASON,
)
def cross_p(*parts: Array, separator: bytes) -> Any:
    """Every choice of one feature of each column, row by row, as text: indices, values and shape."""
    places, columns, extents = _choices(parts)
    words = [values if values.dtype == object else np.array([b"%d" % v for v in values.tolist()], object)
             for values, _ in columns]  # fmt: skip
    chosen = [each[at].tolist() for each, (_, at) in zip(words, columns, strict=True)]
    made = np.empty(len(places), object)
    made[:] = [separator.join(choice) for choice in zip(*chosen, strict=True)]
    return places, made, extents


def _choices(parts: Any) -> tuple[Array, list[tuple[Array, Array]], Array]:
    """The choices of columns, given as indices, values and shapes: [row, number of the choice in its row] of each, of
    every column its values and of which of them a choice is made, and the shape. The last column's change first."""
    given = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    n = int(given[0][2][0]) if given else 0
    if any(int(extents[0]) != n for _, _, extents in given):
        raise invalid("Expected batch sizes of the inputs to agree")
    counts = [np.bincount(indices[:, 0], minlength=n) for indices, _, _ in given]
    per_row = np.prod(counts, 0, np.int64) if given else np.zeros(0, np.int64)
    row = np.repeat(np.arange(n), per_row)
    number = np.arange(row.size) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    columns, left = [], number
    for (indices, values, _), count in zip(reversed(given), reversed(counts), strict=True):
        left, at = np.divmod(left, count[row])
        order = np.argsort(indices[:, 0], kind="stable")
        columns.append((values, order[(np.cumsum(count) - count)[row] + at]))
    extents = np.array([n, per_row.max(initial=0)], np.int64)
    return np.stack([row, number], 1), columns[::-1], extents


def _given(inputs: Any, sparse_first: bool) -> list[Any]:
    """Indices, values and shapes of columns, one after the other.

    Raises: TypeError for what is no list; of tf.ragged.cross's also ValueError, InvalidArgumentError for other ranks
    than 2, ValueError for other dtypes than integers and text.
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    columns = [v if isinstance(v, SparseTensor | RaggedTensor) else as_tensor(v) for v in inputs]
    for i, value in enumerate(() if sparse_first else columns):
        if value.dtype != string and not value.dtype.is_integer:
            raise ValueError(f"Unexpected dtype for inputs[{i}]: {value.dtype}")
        if value.shape.rank not in (None, 2):
            text = f"tf.ragged.cross only supports inputs with rank=2. inputs[{i}] has rank {value.shape.rank}"
            raise ValueError(text) if isinstance(value, RaggedTensor) else invalid(text)
    columns = [v.to_sparse() if isinstance(v, RaggedTensor) else v for v in columns]
    parts: list[Any] = []
    for value in sorted(columns, key=lambda v: sparse_first and not isinstance(v, SparseTensor)):
        indices, values, extents = _parts(value)
        parts += [indices, values if values.dtype == string else cast(values, int64), extents]
    return parts


def cross(inputs: Sequence[TensorLike], name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Every choice of one feature from each of the inputs, row by row, joined by `separator` ("_X_").

    inputs: as those of `cross_hashed`. -> SparseTensor string[n, k]. Source: tf.sparse.cross.
    """
    mark = ("_X_" if separator is None else separator).encode()
    return SparseTensor(*named(name, cross_p, *_given(inputs, True), separator=mark))


def ragged_cross(inputs: Sequence[Any], name: str | None = None) -> RaggedTensor:
    """Every choice of one feature from each of the inputs, row by row, joined by "_X_".

    inputs: a list of RaggedTensors, SparseTensors and tensors [n, (m)] of text or integers. -> RaggedTensor
    string[n, (k)]. Raises: ValueError, InvalidArgumentError for others. Source: tf.ragged.cross.
    """
    found = named(name, cross_p, *_given(inputs, False), separator=b"_X_")
    return RaggedTensor.from_sparse(SparseTensor(*found))


def ragged_cross_hashed(
    inputs: Sequence[Any], num_buckets: TensorLike = 0, hash_key: TensorLike | None = None, name: str | None = None
) -> RaggedTensor:
    """`ragged_cross` with each choice as the number of a bucket; 0 for all numbers. -> RaggedTensor i64[n, (k)].

    Source: tf.ragged.cross_hashed.
    """
    key, buckets = _HASH_KEY if hash_key is None else whole(hash_key, "hash_key"), whole(num_buckets, "num_buckets")
    found = named(name, cross_hashed_p, *_given(inputs, False), num_buckets=buckets, key=key)
    return RaggedTensor.from_sparse(SparseTensor(*found))


def cross_hashed(
    inputs: Sequence[TensorLike], num_buckets: TensorLike = 0, hash_key: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """Every choice of one feature from each of the inputs, row by row, as a number of a bucket.

    inputs: a list of SparseTensors and tensors [n, m] of text or integers; of all those the sparse ones come first.
    num_buckets: 0 for all numbers. -> SparseTensor i64[n, k]. Raises: TypeError for what is no list.
    Source: tf.sparse.cross_hashed.
    """
    key = _HASH_KEY if hash_key is None else whole(hash_key, "hash_key")
    parts = _given(inputs, True)
    return SparseTensor(*named(name, cross_hashed_p, *parts, num_buckets=whole(num_buckets, "num_buckets"), key=key))
