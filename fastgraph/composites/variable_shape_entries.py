"""Entries that may differ in shape, as tensors: all numbers in one row, and places.

Rule: the first `used` numbers of `flat` are those of everything written so far, and row i of `places` says where those
of entry i begin (counted from 1; 0: not written), how many dimensions it has, and its extents, filled up by ones. A
write adds to both; `flat` has room for more, so that n writes take time in proportion to what they write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.dtype import DType, int32
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.creation import ones, zeros
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import reshape, size
from fastgraph.ops.movement import shape as shape_of_tensor
from fastgraph.ops.tensor_lists import list_grow, list_reserve, list_set

MOST_DIMENSIONS = 8
WIDTH = 2 + MOST_DIMENSIONS  # of a row of places


def nothing(dtype: DType) -> Any:
    """Return no numbers, of which there may be more."""
    return list_grow(zeros((0,), dtype), -1)


def row_of(start: Tensor, dims: Tensor) -> Any:
    """Return where an entry is, as a row of places."""
    rank = shape_of_tensor(dims)[0]
    return concat(
        [reshape(start + 1, [1]), reshape(rank, [1]), dims, ones(reshape(MOST_DIMENSIONS - rank, [1]), int32)], 0
    )


def parts_of(entries: Sequence[Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Return the numbers and places of entries, of which None were not written, and how many numbers there are."""
    used, places = convert(0, int32), list_reserve(convert(len(entries), int32), dtype="int32", element=(WIDTH,))
    numbers = [nothing(dtype)]
    for i, entry in enumerate(entries):
        if entry is not None:
            places = list_set(places, convert(i, int32), row_of(used, shape_of_tensor(entry)))
            numbers.append(reshape(entry, [-1]))
            used = used + size(entry)
    return concat(numbers, 0), places, used


def entries_of(flat: Tensor, places: Tensor) -> list[Any]:
    """Return the entries, tensors or None, that eager numbers and places stand for."""
    found: list[Any] = []
    for start, rank, *dims in places.numpy().tolist():
        n = 1
        for extent in dims:
            n *= extent
        found.append(reshape(flat[start - 1 : start - 1 + n], dims[:rank]) if start else None)
    return found
