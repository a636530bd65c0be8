"""Handles: the number by which a graph knows a dataset or an iterator, as a tensor int64[].

Rule: a handle that an eager object gave does not keep it: the object's user does, or the trace that captured it. One
that a graph made while it ran is its object's only owner: the object goes when the last tensor with its memory goes.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int64
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import current_trace, from_array
from fastgraph.errors import FailedPreconditionError

HANDLE = TensorSpec((), int64)

_numbers = itertools.count(1)
_objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


class Handled:
    """The base of objects that a graph can reach by a number."""

    _number: int | None = None
    _handle: Any = None

    @property
    def number(self) -> int:
        """The number, given when it is first asked for."""
        if self._number is None:
            self._number = next(_numbers)
            _objects[self._number] = self
        return self._number

    def handle(self) -> Any:
        """Return the number as an eager tensor; a trace that asks for it keeps the object as long as its graph."""
        trace: Any = current_trace()
        if trace is not None:
            trace.root.generators.append(self)
        if self._handle is None:
            self._handle = from_array(np.array(self.number), int64)
        return self._handle


class _Memory(bytearray):
    """The eight bytes of a number, and the object that lives as long as they do."""

    held: Any = None


def owned(value: Handled) -> np.ndarray[Any, Any]:
    """Return the number of `value` as an array that keeps it."""
    memory = _Memory(value.number.to_bytes(8, sys.byteorder))
    memory.held = value
    return np.frombuffer(memory, np.int64).reshape(())


def together(arrays: list[Any]) -> np.ndarray[Any, Any]:
    """Return arrays of numbers as one, along a new first axis, that keeps what they keep."""
    stacked = np.stack(arrays)
    memory = _Memory(stacked.tobytes())
    memory.held = arrays
    return np.frombuffer(memory, np.int64).reshape(stacked.shape)


def held_by(held: object) -> Any:
    """Return the object whose handle a function captured, None for what is none."""
    dtype = getattr(held, "dtype", None)
    if dtype is not int64 or getattr(held, "dims", None) != ():
        return None
    found = _objects.get(int(held.numpy()))  # type: ignore[attr-defined]
    return found if found is not None and found._handle is held else None


def resolve(handle: Any) -> Any:
    """Return the object with this number. Raises FailedPreconditionError if it is gone."""
    found = _objects.get(int(handle))
    if found is None:
        raise FailedPreconditionError(
            None, None, "The dataset or iterator behind this handle is gone: keep it as long as a graph may use it."
        )
    return found
