"""What is left in a list object of Python's whose elements have become the rows of tensors.

Rule: where the program reads a name, calls a method or gives an argument, the list stands for what it has become.
"""

from __future__ import annotations

from typing import Any


class Moved:
    """What is left in a list object whose elements have become rows: `to` is what now stands for the list."""

    def __init__(self, name: str, to: Any) -> None:
        self.name = name
        self.to = to

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def _error(self) -> ValueError:
        return ValueError(
            f"a staged loop or branch has changed the length of the list '{self.name}', and this is another name of "
            f"the same list, where the program cannot be told: read it by the name '{self.name}' of the function with "
            "that statement."
        )


def current(value: Any) -> Any:
    """Return what stands for `value` now: of a list object whose elements have become rows the staged list."""
    if type(value) is list and len(value) == 1 and type(value[0]) is Moved:
        return value[0].to
    return value
