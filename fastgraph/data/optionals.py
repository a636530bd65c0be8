"""Values that may be missing, as `Iterator.get_next_as_optional` gives them.

Rule: an Optional is the tensors of its element and a bool that says whether they count; where it is empty they are
zeros, as small as the spec allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import bool_, string
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.data.element_specs import OfElements, flat, least_extents, normalized, packed, spec_of, tensor_specs
from fastgraph.ops import creation, gathering, movement, runtime_assertions

_HAS_VALUE = TensorSpec([], bool_)


class Optional(CompositeTensor):
    """A value that may be missing. Source: tf.experimental.Optional."""

    def __init__(self, element_spec: Any, has_value: Any, components: Sequence[Any] | None) -> None:
        self._element_spec = element_spec  # None: not known yet; a loop that carries it sets it, or who has made it
        self._has_value = has_value
        self._given = None if components is None else tuple(components)

    @property
    def _components(self) -> tuple[Any, ...]:
        """The tensors of the value; where it is empty they stand for nothing."""
        if self._given is not None:
            return self._given
        return tuple([] if self._element_spec is None else _no_element(self._element_spec))

    @staticmethod
    def from_value(value: object) -> Optional:
        """Return the Optional that holds a nest of tensors. Source: tf.experimental.Optional.from_value."""
        value = normalized(value)
        return Optional(spec_of(value), convert(True), flat(value))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return the Optional that holds none of the values so described. Source: tf.experimental.Optional.empty.

        With None for the spec it is open: tf.while_loop gives it that of the values which its body puts in its place.
        """
        if element_spec is None:
            return Optional(None, convert(False), None)
        return Optional(element_spec, convert(False), _no_element(element_spec))

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value, a bool scalar. Source: tf.experimental.Optional.has_value."""
        return self._has_value

    def get_value(self, name: str | None = None) -> Any:
        """Return the value. Raises InvalidArgumentError if there is none. Source: tf.experimental.Optional."""
        runtime_assertions.Assert(self._has_value, ["The given optional does not have a value."])
        return packed(self._element_spec, self._components)

    element_spec = ReadOnly[Any]("_element_spec", "The spec of the value, if there is one.")

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._element_spec)

    def __repr__(self) -> str:
        return f"<Optional has_value={self._has_value} element_spec={self._element_spec}>"


class OptionalSpec(OfElements):
    """The type of an Optional. Source: tf.OptionalSpec."""

    __slots__ = ()

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Return the spec of an Optional."""
        return OptionalSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        return Optional

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        return (_HAS_VALUE,) if self._element_spec is None else (_HAS_VALUE, *tensor_specs(self._element_spec))

    @property
    def _is_open(self) -> bool:
        return self._element_spec is None

    def _close(self, value: Optional) -> None:
        value._element_spec = self._element_spec

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        return (value._has_value, *value._components)

    def _from_components(self, components: tuple[Any, ...]) -> Optional:
        return Optional(self._element_spec, components[0], None if self._is_open else components[1:])


def _no_element(element_spec: Any) -> list[Any]:
    return list(map(_nothing, tensor_specs(element_spec), least_extents(element_spec)))


def _nothing(spec: TensorSpec, least: int) -> Any:
    sizes: list[Any] = spec.shape.as_list() if spec.shape.rank else []
    if None in sizes and current_trace() is not None:  # what the spec leaves open the graph is not to know either
        none = movement.shape(gathering.where(convert([False])))[0] + least
        sizes = [none if size is None else size for size in sizes]
    sizes = [least if size is None else size for size in sizes]
    return creation.fill(sizes, "") if spec.dtype == string else creation.zeros(sizes, spec.dtype)


def get_next_as_optional(iterator: Any) -> Optional:
    """Return the next element of an iterator, an empty Optional after the last. Source: tf.data.experimental."""
    return iterator.get_next_as_optional()
