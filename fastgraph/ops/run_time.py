"""Integers that are known only when a graph runs: their check, at the one place where graphs check them.

Rule: an int64 stays an int64 until it is known to be small; what eager mode refuses, the graph refuses as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph._tensor import Tensor
from fastgraph.dtype import int32, int64
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, elementwise, invalid, lower_elementwise

#: More of anything than memory holds, and few enough that sums and products of such numbers do not wrap.
MOST = 2**40


@elementwise(
    op="Within",
    groups=("T", "T", "T"),
    dtypes="index",
    lower=lower_elementwise("value", ("value", "least", "most"), (), "(value >= least) & (value <= most)"),
    samples=lambda: [
        ((np.array(v, t), np.array(0, t), np.array(9, t)), {"text": "{}"})
        for v in (4, [0, 9])
        for t in ("int32", "int64")
    ],
    error_samples=lambda: [
        (
            (np.array([3, -1]), np.array(0), np.array(9)),
            {"text": "in range: {}"},
            InvalidArgumentError,
            "e: -1",
        ),
        ((np.array(10), np.array(0), np.array(9)), {"text": "{} of {most}"}, InvalidArgumentError, "10 of 9"),
    ],
)
def within(value: Array, least: Array, most: Array, *, text: str) -> Any:
    """The integers themselves, if least <= value <= most; else `text` says which is not. i[*s], i[], i[] -> i[*s]."""
    wrong = (value < least) | (value > most)
    if np.any(wrong):
        first = np.broadcast_to(value, wrong.shape)[wrong].flat[0]
        raise invalid(text.format(int(first), least=int(np.min(least)), most=int(np.max(most))))
    return np.array(np.broadcast_to(value, wrong.shape))


def checked(value: Any, least: Any, most: Any, text: str) -> Any:
    """`within`, with bounds that are ints or tensors of any integer dtype, in int64. i[*s] -> i64[*s]."""
    return within(wide(value), wide(least), wide(most), text=text)


def wide(value: Any) -> Any:
    """An int or a tensor of integers as int64."""
    value = value if isinstance(value, Tensor) else as_tensor(value, int64)
    return value if value.dtype is int64 else cast(value, int64)


def narrow(value: Any, least: int, text: str) -> Any:
    """Integers of an int32's range, from `least` on, as int32. i[*s] -> i32[*s]."""
    return cast(checked(value, least, 2**31 - 1, text), int32)
