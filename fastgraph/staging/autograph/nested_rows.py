"""Lists within lists, tuples and dicts whose lengths a tensor decides: each becomes rows where it is.

Rule: a place is a path of indices and keys from a value, of a Perhaps from what it holds; the value is copied where
something else is put into a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fastgraph import nesting
from fastgraph.staging.autograph.lists import StagedList, as_list, lists_differ, may_be_rows
from fastgraph.staging.autograph.state import Perhaps, inner, is_tensor, is_variable, leaves_of, shown

Path = tuple[Any, ...]


def unlike(a: Any, b: Any, path: Path = ()) -> Iterator[Path]:
    """The places where two values have lists, or tuples, of different lengths, as far as only the graph may know it."""
    a, b = inner(a), inner(b)
    if a is b:
        return
    if may_be_rows(a, b) and lists_differ(a, b):
        yield path
    elif isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from unlike(x, y, (*path, k))
    elif isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            yield from unlike(a[key], b[key], (*path, key))


def at(value: Any, path: Path) -> Any:
    """Return what is in a place; None where there is no such place."""
    value = inner(value)
    for key in path:
        try:
            value = value[key]
        except (TypeError, LookupError):
            return None
    return value


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Return the value with something else in a place."""
    if isinstance(value, Perhaps):
        return Perhaps(replaced(value.value, path, new), value.defined, value.why)
    if not path:
        return new
    key, rest = path[0], path[1:]
    items = value if isinstance(value, dict) else dict(enumerate(value))
    items = {**items, key: replaced(items[key], rest, new)}
    if isinstance(value, dict):
        return nesting.like_mapping(value, list(items.items()))
    return nesting.rebuilt(value, list(items.values()))


def spelled(name: str, path: Path) -> str:
    """Return how the program writes a place of what `name` holds."""
    return name + "".join(f"[{key!r}]" for key in path)


class _Shape:
    def __init__(self, shape: Any) -> None:
        self.shape = shape


class NestedRows:
    """A value with some of its lists, each at its path, as what a graph can carry: their rows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lists: dict[Path, StagedList] = {}

    def add(self, path: Path, value: Any, other: Any) -> None:
        """Have a list be rows; `other` is what is elsewhere in its place. Raises TypeError where it cannot be."""
        self.lists[path] = as_list(value, other, shown(spelled(self.name, path)))

    def has_element(self, name: str) -> bool:
        """Say whether a name, as the program writes it, is an element of one of the lists."""
        return any(name.startswith(spelled(self.name, path) + "[") for path in self.lists)

    def taken_apart(self, value: Any, lists: Mapping[Path, StagedList] | None = None) -> Any:
        """Return a value with the rows of the lists in their places."""
        for path, staged in (self.lists if lists is None else lists).items():
            value = replaced(value, path, staged.held())
        return value

    def put_together(self, value: Any) -> Any:
        """Return a value with lists of rows in their places."""
        for path, staged in self.lists.items():
            rows = list(at(value, path).values())
            value = replaced(value, path, type(staged)(staged.name, staged.structure, rows))
        return value

    def shapes(self, value: Any) -> list[Any]:
        """Return the shapes of a value's tensors, taken apart; of rows any number may come."""
        held = self.taken_apart(value)
        marked = held
        for path, staged in self.lists.items():
            shapes = map(_Shape, staged.shapes_of(staged.held()))
            marked = replaced(marked, path, dict(zip(staged.held(), shapes, strict=True)))
        return [
            mark.shape if type(mark) is _Shape else leaf.aval.shape if hasattr(leaf, "aval") else np.shape(leaf)
            for leaf, mark in zip(leaves_of(inner(held)), leaves_of(inner(marked)), strict=True)
            if is_tensor(leaf) and not is_variable(leaf)
        ]
