"""Which staged statement makes a list of Python's one with a tensor for its length, when one inside of it needs that.

Rule: the outermost staged statement round a change of the list's length makes the rows, in the trace round it, and is
traced again; the statements inside of it then carry the rows like other values.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from fastgraph import dtype as dtypes
from fastgraph._tensor import convert, current_trace
from fastgraph.ops import elementwise
from fastgraph.ops.tensor_lists import list_grow
from fastgraph.staging.autograph import identity
from fastgraph.staging.autograph.containers import Containers, Found, is_of_trace
from fastgraph.staging.autograph.left_lists import LeftList
from fastgraph.staging.autograph.lists import StagedList
from fastgraph.staging.autograph.moved import Moved
from fastgraph.staging.autograph.rows import as_rows, check_shapes

MOST_LISTS = 50
#: The sample for a list whose elements are known not to be alike.
UNLIKE = object()
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

    def __init__(self, containers: Containers, frame: Any) -> None:
        self.containers = containers
        self.frame = frame
        self.root = _root(current_trace())


def _root(trace: Any) -> Any:
    """Return the trace of the Function that a branch or body belongs to."""
    while trace is not None and trace.kind == "branch":
        trace = trace.parent
    return trace


def _stack() -> list[Owner]:
    if not hasattr(_local, "stack"):
        _local.stack = []
    found: list[Owner] = _local.stack
    return found


@contextmanager
def owning(containers: Containers) -> Iterator[Owner]:
    """While active, a staged statement with these containers is being traced."""
    owner = Owner(containers, sys._getframe(2))
    _stack().append(owner)
    try:
        yield owner
    finally:
        _stack().pop()


def owner_of(changed: Found) -> tuple[Owner, Found] | None:
    """Return the outermost statement that can make a list have a tensor for its length, None if none can."""
    container = changed.container
    origin = container.origin if isinstance(container, StagedList) else container
    root = _root(current_trace())
    for owner in _stack():
        found = owner.containers.of(origin, changed.places)
        if found is None or owner.root is not root or not found.places or not isinstance(found.container, list):
            continue
        if is_of_trace(found, owner.frame, parameters=True):
            return owner, found
    return None


def grow(changed: Found, sample: Any, refused: Exception) -> NoReturn:
    """Have a list's length be a tensor; raises `refused` where no statement can do that.

    `sample` is an element that is added to the list, or None.
    """
    owned = owner_of(changed)
    if owned is None:
        raise refused
    raise Grow(*owned, sample, refused)


def added(found: Found, *ends: Any) -> Any:
    """Return an element that one of `ends`, states of the list `found`, has and that was not there before.

    Where there is none an element that was there, which the list may have got inside of the statement; else None.
    """
    before = {id(element) for element in found.before}
    new = [each.to.structure if isinstance(each, Moved) and isinstance(each.to, StagedList) else each
           for end in (*ends, found.before) for each in end]  # fmt: skip
    new = [each for each in new if not isinstance(each, Moved)]
    return next((each for each in new if id(each) not in before), new[0] if new else None)


def grown(revision: Grow, owner: Owner) -> None:
    """Make the rows that are asked for, in the trace round `owner`; raises `revision` again if another is to do it."""
    owner.containers.restore()
    if revision.owner is not owner:
        raise revision
    found = revision.found
    made = as_rows(found.before, revision.sample, found.name)
    if made is None:
        _leave(found, revision)
        return
    structure, rows = made
    count = convert(len(found.before), dtypes.int32)
    rows = [list_grow(row, elementwise.subtract(count, 1)) for row in rows]
    staged = StagedList(found.name, structure, rows, count=count)
    found.put(staged)
    identity.stands_for(staged, found.container, found.name)
    list.__setitem__(found.container, slice(None), [Moved(found.name, staged)])


def _leave(found: Found, revision: Grow) -> None:
    """Let nobody read a list whose elements cannot be rows."""
    refused = revision.refused
    try:
        check_shapes([*found.before, *([] if revision.sample is None else [revision.sample])], found.name)
    except ValueError as error:
        refused = error
    left = LeftList(found.name, found.before, refused)
    found.put(left)
    list.__setitem__(found.container, slice(None), [Moved(found.name, left)])
