"""Methods of TensorFlow's that a class here has not: they say so, and what to use.

Rule: the error is an AttributeError too, so `hasattr` and `getattr` with a default find nothing; what an object or a
derived class sets by such a name counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from fastgraph.errors import NotBuiltError

Class = TypeVar("Class", bound=type)


class MissingMethod:
    """A descriptor that raises NotBuiltError."""

    __slots__ = ("instead", "name")

    def __init__(self, name: str, instead: str) -> None:
        self.name = name
        self.instead = instead

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise NotBuiltError(f"{owner.__name__}.{self.name} is not built. Use {self.instead}.")


def without(ways: dict[str, str]) -> Callable[[Class], Class]:
    """Decorate a class that lacks methods of TensorFlow's: {what to use: the methods that it stands for}."""

    def decorate(cls: Class) -> Class:
        for instead, names in ways.items():
            for name in names.split():
                if not hasattr(cls, name):  # a base has a table for all of its kind, some of which have it
                    setattr(cls, name, MissingMethod(name, instead))
        return cls

    return decorate
