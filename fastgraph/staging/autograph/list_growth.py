"""Staged statements that make a list of Python's the rows of tensors, when one inside needs that.

Rule: the outermost staged statement that reaches the list makes the rows, in the trace round it, and is traced again;
the statements inside of it then carry the rows like other values.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.tensor import convert, current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops import elementwise
from fastgraph.ops.tensor_lists import list_grow
from fastgraph.staging.autograph.block_state import STAND_IN, at_line, like_zeros, same_structure
from fastgraph.staging.autograph.container_changes import Containers, Found
from fastgraph.staging.autograph.stacking import as_rows, check_dtypes, check_shapes
from fastgraph.staging.autograph.staged_lists import StagedList

MOST_LISTS = 50
_local = threading.local()


class Grow(BaseException):
    """A list must have a tensor for its length. No handler of the user's stops it."""

    def __init__(self, owner: Owner, found: Found, sample: Any, refused: Exception) -> None:
        super().__init__()
        self.owner = owner
        self.found = found
        self.sample = sample
        self.refused = refused


class Owner:
    """A staged statement that is being traced, and the containers that it can reach."""

    def __init__(self, containers: Containers) -> None:
        self.containers = containers
        trace: Any = current_trace()
        self.root = trace.root


def _stack() -> list[Owner]:
    if not hasattr(_local, "stack"):
        _local.stack = []
    found: list[Owner] = _local.stack
    return found


@contextmanager
def owning(containers: Containers) -> Iterator[Owner]:
    """A context in which a staged statement with these containers is being traced."""
    owner = Owner(containers)
    _stack().append(owner)
    try:
        yield owner
    finally:
        _stack().pop()


def owner_of(changed: Found) -> tuple[Owner, Found] | None:
    """Return the outermost statement that can make a list have a tensor for its length, None if none can."""
    container = changed.container
    origin = container.origin if isinstance(container, StagedList) else container
    trace: Any = current_trace()
    for owner in _stack():
        found = owner.containers.of(origin, changed.places)
        if found is None or owner.root is not trace.root or type(found.container) is not list:
            continue
        if not (found.own or found.is_of_made):
            continue
        if None not in found.places:
            return owner, found
    return None


def grow(changed: Found, sample: object, refused: Exception) -> NoReturn:
    """Have a list's length be a tensor; raises `refused` where no statement can do that.

    `sample` is an element that is added to the list, or None.
    """
    owned = owner_of(changed)
    if owned is None:
        raise refused
    raise Grow(*owned, sample, refused)


def elements_added(found: Found, end: object) -> Any:
    """Return what a block has appended to a list, None where it has changed the list otherwise."""
    if not isinstance(found.container, (list, StagedList)) or not isinstance(end, list):
        return None
    n = len(found.before)
    kept = len(end) >= n and all(a is b for a, b in zip(found.before, end, strict=False))
    return end[n:] if kept else None


def grown(revision: Grow, owner: Owner) -> None:
    """Make the rows that are asked for, in the trace round `owner`; raises `revision` again if another is to do it."""
    owner.containers.restore()
    if revision.owner is not owner:
        raise revision
    found = revision.found
    check_elements([*found.before, *([] if revision.sample is None else [revision.sample])], found.name)
    made = as_rows(found.before, revision.sample)
    if made is None:
        raise revision.refused
    structure, rows = made
    count = convert(len(found.before), dtypes.int32)
    rows = [list_grow(row, elementwise.subtract(count, 1)) for row in rows]
    staged = StagedList(found.name, structure, rows, count)
    found.put(staged)
    stand_in(found, staged)


def stand_in(found: Found, staged: StagedList) -> None:
    """Let a list that was appended to, for which the rows `staged` stand, be out of scope for all who hold it yet.

    As in TensorFlow it then has a tensor that is not of the graph round the loop or branch.
    """
    outer = current_trace()
    assert isinstance(outer, GraphTrace)
    with entering(GraphTrace(f"{STAND_IN}{found.name}", parent=outer, kind="branch")):
        list.append(found.container, elementwise.identity(like_zeros(staged.parts()[0])))


def check_elements(elements: list[Any], name: str) -> None:
    """Raise TypeError or ValueError where elements of a list cannot be rows."""
    for element in elements:
        if any(isinstance(each, (list, dict)) for each in _within(element)):
            raise TypeError(
                f"an element of the list '{name}'{at_line()} is a list or dict, and a staged statement appends to it, "
                "so that its elements are the rows of tensors: append a tensor, tf.stack(element), or a tuple"
            )
        difference = same_structure(elements[0], element)
        if difference is not None:
            raise TypeError(f"the elements of the list '{name}'{at_line()}, which a staged statement appends to, must "
                            f"be alike: {difference}")  # fmt: skip
    check_dtypes(elements, name)
    check_shapes(elements, name)


def _within(value: object) -> Iterator[Any]:
    yield value
    if isinstance(value, tuple):
        for each in value:
            yield from _within(each)
