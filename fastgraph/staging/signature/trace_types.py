"""tf.types.experimental: how objects of a program's own classes say what about them decides which trace serves a call.

Rule: an object with `__tf_tracing_type__` counts by the TraceType that this returns, not by its identity.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from fastgraph.core.tensor import Tensor, class_has


class TraceType(abc.ABC):
    """The type of an argument, as a trace knows it. Source: tf.types.experimental.TraceType.

    A trace that was made for one serves arguments whose types are equal to it, or subtypes of it.
    """

    @abc.abstractmethod
    def is_subtype_of(self, other: TraceType) -> bool:
        """Return whether a trace for `other` serves arguments of this type."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others: Sequence[TraceType]) -> TraceType | None:
        """Return the most special type that this one and all `others` are subtypes of, None if there is none."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context: object) -> Any:
        """Return what stands for the argument in the trace; the TensorSpecs in it make its tensors from the context."""

    @abc.abstractmethod
    def __hash__(self) -> int: ...

    @abc.abstractmethod
    def __eq__(self, other: object) -> bool: ...

    def to_tensors(self, value: object) -> list[Tensor]:
        """Return the tensors in an argument of this type, in the order of `flatten`."""
        return []

    def from_tensors(self, tensors: Iterator[Tensor]) -> Any:
        """Return an argument of this type with the next ones of these tensors."""
        return self.placeholder_value(PlaceholderContext(tensors))

    def flatten(self) -> list[Any]:
        """Return the TensorSpecs of the tensors in it."""
        return []

    def cast(self, value: object, cast_context: object) -> Any:
        """Return an argument as one of this type."""
        return value


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """An object with a TraceType of its own. Source: tf.types.experimental.SupportsTracingProtocol."""

    def __tf_tracing_type__(self, context: object) -> TraceType:
        """Return its type."""
        ...


class TracingContext:
    """The argument of `__tf_tracing_type__`."""


class PlaceholderContext:
    """The argument of `placeholder_value`: the tensors of the trace, in the order of `flatten`."""

    def __init__(self, tensors: Iterator[Any]) -> None:
        self.tensors = tensors


class Typed:
    """Stands for an object with a TraceType among arguments that were taken apart."""

    __slots__ = ("type", "value")

    def __init__(self, type_: TraceType, value: Any) -> None:
        self.type = type_
        self.value = value


def has_type(value: object) -> bool:
    """Return whether an object says its TraceType."""
    return class_has(value, "__tf_tracing_type__")


def type_of(value: Any) -> TraceType:
    """Return the TraceType that an object says. Raises TypeError if it is none."""
    found = value.__tf_tracing_type__(TracingContext())
    if not isinstance(found, TraceType):
        raise TypeError(f"{type(value).__name__}.__tf_tracing_type__ must return a TraceType, got {found!r}")
    return found
