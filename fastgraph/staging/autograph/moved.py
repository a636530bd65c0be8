"""What is left in a list object of Python's whose elements have become the rows of tensors.

Rule: where the program reads a name, calls a method or gives an argument, the list stands for what it has become.
"""

from __future__ import annotations

import types
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import Tensor, current_trace

_DEPTH = 3
_MOST_ELEMENTS = 4096
_moves = 0  # how many lists' elements have become rows in this process


class Moved:
    """What is left in a list object whose elements have become rows: `to` is what now stands for the list."""

    def __init__(self, name: str, to: Any) -> None:
        global _moves
        _moves += 1
        self.name = name
        self.to = to

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def __repr__(self) -> str:
        return f"<the elements of the list '{self.name}', whose length a tensor decides>"

    def _error(self) -> ValueError:
        return ValueError(
            f"a staged loop or branch has changed the length of the list '{self.name}', and this is another name of "
            f"the same list, where the program cannot be told: read it by the name '{self.name}' of the function with "
            "that statement."
        )


def current(value: Any) -> Any:
    """Return what stands for `value` now: of a list object whose elements have become rows the staged list."""
    if isinstance(value, list) and len(value) == 1 and type(value[0]) is Moved:
        return value[0].to
    return value


def resolved(value: Any) -> Any:
    """Return what a name holds with what stands now for the lists that are in it, in dicts, tuples and attributes.

    They are put where the lists are; a tuple becomes another one.
    """
    if isinstance(value, list):
        value = current(value)
        choice = getattr(value, "choice", None)
        if choice is not None and type(value) is not list and isinstance(value, list) and not choice.is_as_seen():
            return choice.follower(value)
    if not _moves or isinstance(value, _NOTHING_INSIDE):
        return value
    trace: Any = current_trace()
    if trace is None:
        return _resolved(value, _DEPTH)
    # A function that reads a large table again and again has it looked through again only if there is a reason.
    state = _moves, len(value) if isinstance(value, (list, dict, tuple)) else 0
    known = (looked_through := trace.root.looked_through).get(id(value))
    if known is not None and known[0] is value and known[1] == state:
        return value
    new = _resolved(value, _DEPTH)
    if new is value:
        looked_through[id(value)] = value, state
    return new


#: Values in which no lists are looked for.
_NOTHING_INSIDE = (Tensor, int, float, str, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
                   types.MethodType, type(None))  # fmt: skip


def _resolved(value: Any, depth: int) -> Any:
    if isinstance(value, list) and (now := current(value)) is not value:
        return value if hasattr(now, "choice") else now  # which is read by its names
    if not depth or isinstance(value, _NOTHING_INSIDE):
        return value
    if isinstance(value, dict):
        for key, item in list(value.items())[:_MOST_ELEMENTS]:
            if (new := _resolved(item, depth - 1)) is not item:
                dict.__setitem__(value, key, new)
    elif isinstance(value, list):
        for k, item in enumerate(value[:_MOST_ELEMENTS]):
            if (new := _resolved(item, depth - 1)) is not item:
                list.__setitem__(value, k, new)
    elif isinstance(value, tuple):
        items = [_resolved(item, depth - 1) for item in value[:_MOST_ELEMENTS]]
        if any(new is not item for new, item in zip(items, value, strict=False)):
            return nesting.rebuilt(value, [*items, *value[_MOST_ELEMENTS:]])
    elif not type(value).__module__.startswith(("fastgraph", "builtins", "numpy")):
        attributes: Any = getattr(value, "__dict__", None)
        for name, item in list(attributes.items()) if isinstance(attributes, dict) else ():
            if isinstance(item, (list, tuple, dict)) and (new := _resolved(item, depth - 1)) is not item:
                attributes[name] = new
    return value
