"""Sums of arrays that keep their precision.

Rule: no float is added to a sum of more than a few hundred: partial sums are, so that long sums keep their precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BLOCK = 256
SMALL = 1024  # so few elements lose nothing when they are added one after the other
HALF = ("float16", "bfloat16")


def is_half(dtype: np.dtype[Any]) -> bool:
    """Return whether elements are 16-bit floats (bfloat16 is of kind V). Names of dtypes are slow to ask for."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def block_sum(x: np.ndarray[Any, Any], axes: Sequence[int], keepdims: bool = False) -> np.ndarray[Any, Any]:
    """Sum over `axes` (rising, >= 0), pairwise or in blocks: the error grows with the logarithm of the length.

    NumPy adds pairwise only along the innermost axis; over others a float32 sum of 1e7 values is off by 7e-4. 16-bit
    floats accumulate in float32.
    """
    dtype = x.dtype
    if dtype.kind in "iub" or (x.size <= SMALL and not is_half(dtype)):
        return np.asarray(np.add.reduce(x, axis=tuple(axes), dtype=dtype, keepdims=keepdims))  # type: ignore[call-overload]
    if is_half(dtype):
        x = x.astype(np.float32)
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    rank = x.ndim
    trailing = 0  # axes that end the shape are summed as one
    while trailing < len(axes) and axes[len(axes) - 1 - trailing] == rank - 1 - trailing:
        trailing += 1
    if trailing:
        head = x.shape[: rank - trailing]
        x = np.sum(x.reshape((*head, int(np.prod(x.shape[rank - trailing :], dtype=np.int64)))), axis=-1)
    for axis in reversed(axes[: len(axes) - trailing]):
        while x.shape[axis] > 2 * BLOCK:
            before, after = (slice(None),) * axis, x.shape[axis + 1 :]
            blocks = x.shape[axis] // BLOCK
            whole = x[(*before, slice(blocks * BLOCK))].reshape((*x.shape[:axis], blocks, BLOCK, *after))
            rest = x[(*before, slice(blocks * BLOCK, None))]
            x = np.concatenate([np.sum(whole, axis=axis + 1), np.sum(rest, axis=axis, keepdims=True)], axis=axis)
        x = np.sum(x, axis=axis)
    x = np.asarray(x).astype(dtype, copy=False)
    return x.reshape(kept) if keepdims else x
