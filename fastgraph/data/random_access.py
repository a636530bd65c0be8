"""Rows by number: what lets `batch` gather many elements of tensors at once, with no Python step for each.

Rule: a table's rows, taken one after the other, are exactly the elements of a pass of the same source.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.core.tensor import as_array, from_array

Keys = np.ndarray[Any, Any]
_CHUNK = 1 << 16


class Table:
    """The numbers of a pass's rows, some at a time, and how rows with given numbers are put together.

    whole: No row is an error, and any may be asked for. fixed: Another pass puts the same rows together for the same
    numbers. ordered: It has them in the same order.
    """

    def __init__(
        self,
        keys: Iterator[Keys],
        gather: Callable[[Keys], tuple[Any, ...]],
        *,
        fixed: bool = True,
        ordered: bool = True,
        whole: bool = True,
    ) -> None:
        self.whole = whole
        self.keys, self.gather, self.fixed, self.ordered = keys, gather, fixed, ordered

    def with_keys(self, keys: Iterator[Keys], ordered: bool = True) -> Table:
        """Return the table with other rows, or in another order."""
        return Table(keys, self.gather, fixed=self.fixed, ordered=ordered and self.ordered, whole=self.whole)

    def batches(self, size: int, drop: bool) -> Iterator[tuple[Any, ...]]:
        """Go over the rows, `size` at a time."""
        return _Batches(self, size, drop)


class _Batches(Iterator[tuple[Any, ...]]):
    def __init__(self, table: Table, size: int, drop: bool) -> None:
        self.table, self.size, self.drop = table, size, drop
        self.left = np.empty(0, np.int64)
        self.at = 0

    def __next__(self) -> tuple[Any, ...]:
        end = self.at + self.size
        if end > self.left.size:
            self._fill()
            end = self.size
        keys = self.left[self.at : end]
        if not keys.size or (self.drop and keys.size < self.size):
            raise StopIteration
        self.at = end
        return self.table.gather(keys)

    def _fill(self) -> None:
        parts = [self.left[self.at :]]
        n = parts[0].size
        while n < self.size:
            try:
                chunk = next(self.table.keys, None)
            except BaseException:
                self.left, self.at = self.left[:0], 0  # what came before an error is lost with it, as in TensorFlow
                raise
            if chunk is None:
                break
            parts.append(chunk)
            n += chunk.size
        self.left, self.at = np.concatenate(parts), 0


def whole(source: Any, run: Any) -> Table | None:
    """Return the table of a source if all its rows may be asked for."""
    table: Table | None = source.table(run)
    return table if table is not None and table.whole else None


def numbers(n: int) -> Iterator[Keys]:
    """Go over 0 to n - 1, some at a time."""
    return (np.arange(begin, min(begin + _CHUNK, n)) for begin in range(0, n, _CHUNK))


def rows_of(tensors: Sequence[Any]) -> Callable[[Keys], tuple[Any, ...]]:
    """Return the function that puts rows of tensors together; rows one behind the other are a view."""
    columns = [(as_array(tensor), tensor.dtype) for tensor in tensors]

    def gather(keys: Keys) -> tuple[Any, ...]:
        first, last = int(keys[0]), int(keys[-1])
        if last - first == keys.size - 1 and bool((keys[1:] > keys[:-1]).all()):
            return tuple([from_array(array[first : last + 1], dtype, False) for array, dtype in columns])
        return tuple([from_array(array.take(keys, 0), dtype, False) for array, dtype in columns])

    return gather


def table_of(columns: Iterator[tuple[Any, ...]]) -> Table:
    """Return the table of rows that come some at a time, as tensors of columns: each can be had once, in order."""
    held: list[tuple[int, tuple[Any, ...]]] = []  # (number of the first row, columns)
    total = 0

    def next_numbers(_: None) -> Keys:
        nonlocal total
        found = next(columns)
        held.append((total, found))
        total += found[0].shape[0]
        return np.arange(held[-1][0], total)

    def gather(keys: Keys) -> tuple[Any, ...]:
        first, last = int(keys[0]), int(keys[-1]) + 1
        while len(held) > 1 and held[1][0] <= first:
            del held[0]
        parts = [[as_array(part)[max(first - at, 0) : last - at] for part in found] for at, found in held if at < last]
        joined = [pieces[0] if len(pieces) == 1 else np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        return tuple([from_array(array, part.dtype, False) for array, part in zip(joined, held[0][1], strict=True)])

    return Table(map(next_numbers, itertools.repeat(None)), gather, fixed=False, whole=False)


class Cut(Iterator[Keys]):
    """The keys with the numbers of range(start, stop, step), as itertools.islice has them; an error does not end it."""

    def __init__(self, keys: Iterator[Keys], start: int, stop: int | None, step: int = 1) -> None:
        self.keys, self.start, self.stop, self.step, self.at = keys, start, stop, step, 0

    def __next__(self) -> Keys:
        if self.stop is not None and self.at >= self.stop:
            raise StopIteration
        chunk, at = next(self.keys), self.at
        self.at += chunk.size
        begin = self.start - at if at < self.start else (self.start - at) % self.step
        return chunk[begin : None if self.stop is None else self.stop - at : self.step]
