"""The meaning of `in` and of the patterns of `match` in converted code.

Rule: Python's own meaning unless a tensor decides.
"""

from __future__ import annotations

import collections.abc
from typing import Any

from fastgraph.core.tensor import convert
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops import comparison, reduction
from fastgraph.staging.autograph.staged_lists import StagedList

#: Classes that a pattern with one positional part compares as a whole.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def in_(value: Any, container: Any) -> Any:
    """value in container: of a tensor whether any element equals `value`, of a sequence whether any item does."""
    if isinstance(container, StagedList):
        container = convert(container)
    if isinstance(container, SymbolicTensor):
        return reduction.reduce_any(comparison.equal(container, value))
    items = isinstance(container, (list, tuple))
    if not isinstance(value, SymbolicTensor) and not (
        items and any(isinstance(item, SymbolicTensor) for item in container)
    ):
        return value in container
    if not isinstance(container, (list, tuple, range, set, frozenset, dict)):
        return value in container
    found: Any = False
    for item in container:
        if item is value:
            return True
        same = reduction.reduce_all(comparison.equal(value, item))
        found = same if found is False else comparison.logical_or(found, same)
    return found


def not_in(value: object, container: object) -> Any:
    """value not in container."""
    found = in_(value, container)
    return comparison.logical_not(found) if isinstance(found, SymbolicTensor) else not found


def matches_sequence(subject: object, n: int, exactly: bool) -> bool:
    """Say whether `subject` is a sequence of `n` items, or of at least as many."""
    if not isinstance(subject, collections.abc.Sequence) or isinstance(subject, (str, bytes, bytearray)):
        return False
    return len(subject) == n if exactly else len(subject) >= n


def matches_mapping(subject: object, keys: tuple[Any, ...]) -> bool:
    """Say whether `subject` is a mapping with these keys."""
    return isinstance(subject, collections.abc.Mapping) and all(key in subject for key in keys)


def rest_of_mapping(subject: Any, keys: tuple[Any, ...]) -> dict[Any, Any]:
    """Return the items of a mapping whose keys are not among `keys`."""
    return {key: value for key, value in subject.items() if key not in keys}


def matches_class(subject: Any, cls: type[Any], n_positional: int, names: tuple[str, ...]) -> bool:
    """Say whether `subject` is of a class and has the attributes that a pattern names. Raises TypeError as match."""
    if not isinstance(subject, cls):
        return False
    if n_positional == 1 and issubclass(cls, _WHOLE) and not hasattr(cls, "__match_args__"):
        return all(hasattr(subject, name) for name in names)
    positional = getattr(cls, "__match_args__", ())
    if n_positional > len(positional):
        raise TypeError(f"{cls.__name__}() accepts {len(positional)} positional sub-patterns ({n_positional} given)")
    return all(hasattr(subject, name) for name in (*positional[:n_positional], *names))


def matched_attribute(subject: Any, cls: type[Any], place: int | str) -> Any:
    """Return the attribute that a part of a class's pattern stands for."""
    if isinstance(place, str):
        return getattr(subject, place)
    if issubclass(cls, _WHOLE) and not hasattr(cls, "__match_args__"):
        return subject
    return getattr(subject, cls.__match_args__[place])
