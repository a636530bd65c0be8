"""Rows by their lengths: splits, places within rows, axes counted from the front."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, int32, int64
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.scans import cumsum
from fastgraph.ops.sorting import search_sorted
from fastgraph.ops.tiling import repeat


def splits_of(lengths: Any) -> Any:
    """The row splits of rows of these lengths. i[n] -> i[n + 1]."""
    return concat([zeros([1], lengths.dtype), cumsum(lengths)], 0)


def positions(lengths: object) -> Any:
    """0, 1, ... for each row of the given length. i[n] -> i[sum]."""
    splits = splits_of(lengths)
    return range_(splits[-1]) - repeat(splits[:-1], lengths)


def rows_of_values(splits: Tensor, count: Any) -> Tensor:
    """The row of each of `count` values that fill their rows: of an extent that a graph knows before it runs."""
    ends, places = expand_dims(splits[1:], 0), expand_dims(range_(cast(count, splits.dtype)), 0)
    return search_sorted(ends, places, right=True, out_type=splits.dtype)[0]


def along(axis: int, rank: int | None, what: str = "axis") -> int:
    """`axis` counted from the front. Raises: ValueError if it is out of range, TypeError for what is no int."""
    if not hasattr(axis, "__index__"):
        raise TypeError(f"{what} must be an int; got {type(axis).__name__}")
    if rank is None and axis < 0:
        raise ValueError(f"{what}={axis} may only be negative if the rank is known while tracing")
    if rank is None:
        return int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"{what}={axis} out of bounds: expected {-rank}<={what}<{rank}")
    return axis % rank


def as_partition(given: Any, what: str, hint: DType = int64) -> Tensor:
    """Splits, lengths, ... as a vector of int32 or int64: of the hint, where they are no tensor or array of int32."""
    own = isinstance(given, np.ndarray) and given.dtype == np.int32
    tensor = convert_to_tensor(given, dtype_hint=int32 if own else hint)
    if tensor.dtype not in (int32, int64):
        raise ValueError(f"{what} must have dtype int32 or int64")
    tensor.shape.assert_has_rank(1)
    return tensor


def common_dtype(hint: DType, **parts: Any) -> DType:
    """The dtype of those parts that are tensors, else the hint. Raises ValueError for tensors of two dtypes."""
    found: DType | None = None
    for name, part in parts.items():
        if isinstance(part, Tensor):
            if found not in (None, part.dtype):
                raise ValueError(
                    f"{name}: Tensor conversion requested dtype {found.name} for Tensor with dtype {part.dtype.name}: "
                    f"{part!r}"
                )
            found = part.dtype
    if found not in (None, int32, int64):
        raise ValueError(f"{', '.join(parts)} must have dtype int32 or int64")
    return found or hint
