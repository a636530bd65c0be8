"""Properties that give an attribute as it is: a line each instead of a method.

Rule: the type and the text are stated where the property is; reading one runs no Python.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    _Base = object
else:
    _Base = property  # which type checkers would take for a property of Any that can be set


class ReadOnly(_Base, Generic[T]):
    """A property that gives the attribute at a path: `shape = ReadOnly[TensorShape]("_shape", "The shape.")`."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(operator.attrgetter(path))  # type: ignore[call-arg]
        self.__doc__ = text

    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> T: ...
