"""[] of RaggedTensors: rows and slices of rows; no single elements of ragged axes, which rows may lack."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.ragged_rows import boolean_mask_ragged, gather_rows
from fastgraph.composites.ragged_tensor import RaggedTensor, made, nvals
from fastgraph.composites.row_splits import positions, splits_of
from fastgraph.core.tensor import Tensor, convert
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import static_int
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, clip_by_value, maximum
from fastgraph.ops.gathering import where
from fastgraph.ops.tiling import repeat

_WHOLE = slice(None)


def getitem(rt: RaggedTensor, key: object) -> Any:
    """rt[key]. Raises: ValueError for an element of a ragged axis, TypeError for what is no index, IndexError for a row
    that is not there.
    """
    if isinstance(key, (RaggedTensor, Tensor, np.ndarray)) and key.dtype in ("bool", bool):
        return boolean_mask_ragged(rt, key)
    if key is True or key is False:
        raise ValueError("mask cannot be scalar.")
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    for each in keys:
        _check(each)
    if any(each is ... for each in keys):
        at = next(i for i, each in enumerate(keys) if each is ...)
        rest = keys[at + 1 :]
        if rt.shape.rank is None:
            raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
        taken = sum(each is not None for each in keys[:at] + rest)
        keys = keys[:at] + [_WHOLE] * max(rt.shape.rank - taken, 0) + rest
    return _rows(rt, keys)


def _check(key: object) -> None:
    index = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
    scalar = isinstance(key, Tensor) and key.shape.rank in (0, None) and key.dtype.is_integer
    if not (key is None or key is ... or index or scalar or isinstance(key, slice)):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors "
            f"are valid indices, got {key!r}"
        )


def _rows(rt: Tensor | RaggedTensor, keys: list[Any]) -> Any:
    """rt[keys], the first of which is for its rows."""
    if not isinstance(rt, RaggedTensor):
        return rt[tuple(keys)] if keys else rt
    if not keys:
        return rt
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _rows(rt, rest)
        return RaggedTensor.from_uniform_row_length(inner, nvals(inner), 1, validate=False)
    if isinstance(first, slice):
        chosen = rt if first == _WHOLE else gather_rows(rt, range_(rt.nrows())[first])
        return _inner(chosen, rest)
    at, n = static_int(first), rt.row_splits.shape[0]
    if at is not None and n is not None:
        if at >= n - 1:
            raise IndexError(f"Row key {at} out of bounds")
        if at < 1 - n:
            raise InvalidArgumentError(None, None, f"slice index {at + n - 1} of dimension 0 out of bounds.")
    place = first if at is None else at
    row = rt.values[rt.row_starts()[place] : rt.row_limits()[place]]
    return _rows(row, rest)


def _inner(rt: RaggedTensor, keys: list[Any]) -> Any:
    """rt[:, keys]."""
    if not keys:
        return rt
    first, rest = keys[0], keys[1:]
    if first is None:
        return RaggedTensor.from_uniform_row_length(_inner(rt, rest), 1, validate=False)
    if not isinstance(first, slice):
        length = rt.uniform_row_length
        if length is None:
            raise ValueError("Cannot index into an inner ragged dimension.")
        known, at = static_int(length), static_int(first)
        if known is not None and at is not None and not -known <= at < known:
            raise InvalidArgumentError(None, None, f"slice index {at} of dimension 1 out of bounds.")
        place = cast(first if at is None else at, length.dtype)
        column = gather_rows(rt.values, rt.row_starts() + where(place < 0, place + length, place))
        return _rows(column, [_WHOLE, *rest])
    if first != _WHOLE:
        rt = _cut(rt, first)
    values = rt.values
    if isinstance(values, RaggedTensor):
        return rt.with_values(_inner(values, rest))
    return rt.with_values(values[(_WHOLE, *rest)]) if rest else rt


def _cut(rt: RaggedTensor, part: slice) -> RaggedTensor:
    """Each row's slice, as Python cuts a list."""
    step = 1 if part.step is None else static_int(part.step)
    if not step:
        raise ValueError("A slice of ragged rows needs a step that is known and not 0.")
    lengths = rt.row_lengths()
    low, high = (lengths * 0, lengths) if step > 0 else (lengths * 0 - 1, lengths - 1)

    def bound(given: Tensor | int | None, default: object) -> Any:
        if given is None:
            return default
        given = cast(convert(given), lengths.dtype)
        return clip_by_value(where(given < 0, given + lengths, given), low, high)

    start = bound(part.start, low if step > 0 else high)
    stop = bound(part.stop, high if step > 0 else low)
    counts = maximum((stop - start + (step - (1 if step > 0 else -1))) // step, 0)
    places = repeat(rt.row_starts() + start, counts) + positions(counts) * step
    known = rt._uniform if isinstance(rt._uniform, int) else None
    uniform = None if known is None else _length(part, known)
    return made(gather_rows(rt.values, places), splits_of(counts), uniform)


def _length(part: slice, n: int) -> int | None:
    """Return how many of n a slice takes, None where its ends are not known."""
    given = (part.start, part.stop, part.step)
    ends = [None if end is None else static_int(end) for end in given]
    if any(known is None and end is not None for known, end in zip(ends, given, strict=True)):
        return None
    return len(range(n)[slice(*ends)])
