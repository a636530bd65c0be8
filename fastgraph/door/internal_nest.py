"""Structures of tf.data's elements: tf.nest where lists are no structure, but become one tensor each.

Rule: a list is put into a box, which tf.nest takes for a leaf; what comes out is taken out of its box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import nesting, shallow_nesting


class _Box:
    """A list, as a leaf."""

    __slots__ = ("value",)

    def __init__(self, value: list[Any]) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def _boxed(structure: Any) -> Any:
    if isinstance(structure, list):
        return _Box(structure)
    if not nesting.is_nested(structure):
        return structure
    return nesting.rebuilt(structure, [_boxed(each) for each in nesting.children(structure)])


def _open(structure: Any) -> Any:
    if isinstance(structure, _Box):
        return structure.value
    if not nesting.is_nested(structure) or isinstance(structure, list):
        return structure
    return nesting.rebuilt(structure, [_open(each) for each in nesting.children(structure)])


def is_nested(structure: object) -> bool:
    """Return whether a value is a container of others: a tuple, a dict, ..., and no list."""
    return nesting.is_nested(structure) and not isinstance(structure, list)


def flatten(structure: Any) -> list[Any]:
    """Return the leaves, dicts in the order of their keys."""
    return [_open(leaf) for leaf in nesting.flatten(_boxed(structure))]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """Return `structure` with other leaves. Raises ValueError for another number of them."""
    return nesting.pack_sequence_as(_boxed(structure), flat_sequence)


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """Return the structure of what `func` gives for the leaves at one place in all structures."""
    if len(structure) > 1:
        for each in structure[1:]:
            assert_same_structure(structure[0], each, check_types)
    leaves = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*each) for each in leaves])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError, or TypeError for other classes of containers, unless both are nested alike."""
    nesting.assert_same_structure(_boxed(nest1), _boxed(nest2), check_types)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raise ValueError or TypeError unless `input_tree` is like `shallow_tree` as deep as that one goes."""
    shallow_nesting.assert_shallow_structure(_boxed(shallow_tree), _boxed(input_tree), check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """Return what stands in `input_tree` at the leaves of `shallow_tree`."""
    return [_open(part) for part in shallow_nesting.flatten_up_to(_boxed(shallow_tree), _boxed(input_tree))]


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """Return `shallow_tree` with `func(part, ...)` of what stands in the inputs at its leaves."""
    parts = zip(*[flatten_up_to(shallow_tree, each) for each in inputs], strict=True)
    return pack_sequence_as(shallow_tree, [func(*each) for each in parts])
