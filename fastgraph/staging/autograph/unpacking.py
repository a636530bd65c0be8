"""a, b = values and first, *rest = values, of tensors and of lists whose length a tensor decides as well.

Rule: what has another number of elements is an error, of Python's where Python knows the number, else at run time.
"""

from __future__ import annotations

from typing import Any

from fastgraph._tensor import convert
from fastgraph.ops import comparison
from fastgraph.ops.checks import Assert
from fastgraph.staging.autograph.iterables import unpacked
from fastgraph.staging.autograph.list_rows import at_line
from fastgraph.staging.autograph.lists import StagedList
from fastgraph.staging.autograph.moved import current


def _has_unknown_length(value: Any) -> bool:
    return isinstance(value, StagedList) and not isinstance(value.length(), int)


def unpacked_to(value: Any, n: int) -> Any:
    """Return what is taken apart into `n` names. Raises InvalidArgumentError at run time for another number."""
    value = current(value)
    if not _has_unknown_length(value):
        return unpacked(value)
    found = value.length()
    Assert(comparison.equal(found, n), [f"unpacking the list '{value.name}'{at_line()}: {n} values expected, got",
                                         found])  # fmt: skip
    return tuple([value.row(convert(i)) for i in range(n)])


def unpacked_around(value: Any, before: int, after: int) -> tuple[Any, ...]:
    """Return the first elements, a list of those between, and the last ones.

    Raises ValueError, or InvalidArgumentError at run time, where there are not as many.
    """
    value = current(value)
    n = before + after
    if not _has_unknown_length(value):
        items = list(unpacked(value))
        if len(items) < n:
            raise ValueError(f"not enough values to unpack (expected at least {n}, got {len(items)})")
        stop = len(items) - after
        return (*items[:before], items[before:stop], *items[stop:])
    found = value.length()
    Assert(comparison.greater_equal(found, n), [f"unpacking the list '{value.name}'{at_line()}: at least {n} values "
                                                 "expected, got", found])  # fmt: skip
    first = [value.row(convert(i)) for i in range(before)]
    last = [value.row(found - i) for i in range(after, 0, -1)]
    return (*first, value[before : None if not after else found - after], *last)
