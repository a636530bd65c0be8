"""Rows by their lengths: splits, places within rows, axes counted from the front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.joining import concat
from fastgraph.ops.scans import cumsum
from fastgraph.ops.tiling import repeat

if TYPE_CHECKING:
    pass


def splits_of(lengths: Any) -> Any:
    """The row splits of rows of these lengths. i[n] -> i[n + 1]."""
    return concat([zeros([1], lengths.dtype), cumsum(lengths)], 0)


def positions(lengths: object) -> Any:
    """0, 1, ... for each row of the given length. i[n] -> i[sum]."""
    splits = splits_of(lengths)
    return range_(splits[-1]) - repeat(splits[:-1], lengths)


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


def as_partition(given: Any, what: str) -> Any:
    """Splits, lengths, ... as a vector of int32 or int64; Python's integers become int64."""
    plain = isinstance(given, (list, tuple)) and not any(isinstance(n, Tensor) for n in given)
    whole = plain and (len(given) == 0 or np.asarray(given).dtype.kind in "iu")
    tensor = as_tensor(given, int64 if whole else None)
    if tensor.dtype not in (int32, int64):
        raise ValueError(f"{what} must have dtype int32 or int64")
    tensor.shape.assert_has_rank(1)
    return tensor
