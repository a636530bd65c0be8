"""Structures of Python values and specs as SavedModels write them: the message StructuredValue, read and written.

Rule: what is read becomes numbers, text, containers and specs of this package, and nothing else; no class is looked up
by a name that a file gives.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fastgraph.api import namespaces
from fastgraph.composites.extension_type import names, registered
from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.shapes import ShapeLike, TensorShape, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.op_errors import enum_name
from fastgraph.core.tape.indexed_slices import IndexedSlicesSpec
from fastgraph.core.tensor import EagerTensor, convert
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.exporter import tensor_message
from fastgraph.graphdef.import_values import dims_of, dtype_of, field_of, tensor_of
from fastgraph.graphdef.message_types import KINDS, Enum
from fastgraph.graphdef.messages import Dim, Message, TensorShapeProto
from fastgraph.staging.signature.cache_keys import is_variable


class VariableSpec(TypeSpec):
    """The place of a Variable among the arguments of a function: its shape, dtype and whether it is trained.

    alias_id: equal in the places that have one Variable; None where nobody said.
    """

    __slots__ = ("alias_id", "dtype", "shape", "trainable")
    _is_composite = False

    def __init__(self, shape: ShapeLike, dtype: DTypeLike, trainable: bool = True, alias_id: int | None = None) -> None:
        self.shape, self.dtype, self.trainable, self.alias_id = TensorShape(shape), as_dtype(dtype), trainable, alias_id

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.trainable, self.alias_id

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a value is a Variable that can stand here."""
        given: Any = spec_or_value
        return is_variable(given) and given.dtype == self.dtype and self.shape.is_compatible_with(given.shape)

    def to_tensors(self, value: Any) -> list[Any]:
        """Return no tensor: a Variable is taken as it is."""
        return []


#: The numbers by which the format knows the classes of specs.
_SPECS: dict[int, Any] = {1: SparseTensorSpec, 2: IndexedSlicesSpec, 3: RaggedTensorSpec, 9: VariableSpec}
_NUMBERS = {spec: number for number, spec in _SPECS.items()}
_OF_DATA = {5: "DatasetSpec", 6: "IteratorSpec"}  # which lie in a higher room
_OF_USERS = 15  # an extension type's, by the name that its class has registered

# ---- Reading --------------------------------------------------------------------------------------------------------


#: The message of a structure.
StructuredValue = KINDS["StructuredValue"]


def decoded(message: Message) -> Any:
    """Return what a StructuredValue says. Raises NotFoundError for specs of classes that have no equal here.

    Raises ValueError for a message that says nothing.
    """
    found = message._set()
    if len(found) != 1:
        raise ValueError(f"a StructuredValue says one thing, not {len(found)}")
    (field, value) = found[0]
    return _READERS[field.name](value)


def _shape(message: Message) -> TensorShape:
    return shape_of(dims_of(message))


def _tensor_spec(message: Message) -> TensorSpec:
    shape = _shape(field_of(message, "shape", TensorShapeProto()))
    return TensorSpec(shape, dtype_of(message.dtype), field_of(message, "name"))


def _type_spec(message: Message) -> Any:
    kind, name = _SPECS.get(message.type_spec_class), field_of(message, "type_spec_class_name", "")
    if message.type_spec_class == _OF_USERS and name in registered:
        kind = registered[name]
    if message.type_spec_class in _OF_DATA:
        kind = getattr(namespaces.file_module("data"), _OF_DATA[message.type_spec_class])
    if kind is None:
        raise NotFoundError(None, None, f"values of type {name!r} ({message.type_spec_class}) have no equal here")
    state = decoded(message.type_state)
    if not isinstance(state, tuple):
        raise ValueError(f"the state of a spec is a tuple, not {state!r}")
    if message.type_spec_class in _OF_DATA and not all(
        isinstance(leaf, TypeSpec) for leaf in nesting.flatten(state[:1])
    ):
        raise ValueError(f"{name!r} is described by {state!r}, which are no specs")
    try:
        return kind._deserialize(state)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"no {kind.__name__} is described by {state!r}: {error}") from None


def _named_tuple(message: Message) -> Any:
    pairs = [(field_of(pair, "key", ""), decoded(pair.value)) for pair in field_of(message, "values", [])]
    name = field_of(message, "name", "")
    names = [key for key, _ in pairs]
    plain = all(each.isidentifier() and not keyword.iskeyword(each) for each in (name, *names))
    if not plain or len(set(names)) < len(names):
        raise ValueError(f"{name!r} with fields {names} can be no named tuple")
    return namedtuple(name, names, rename=True)(  # noqa: PYI024  # its names are data
        *[value for _, value in pairs]
    )


def _items(message: Message) -> list[Any]:
    return [decoded(each) for each in field_of(message, "values", [])]


_READERS: dict[str, Callable[[Any], Any]] = {
    "none_value": lambda value: None,
    "float64_value": float,
    "int64_value": int,
    "string_value": str,
    "bool_value": bool,
    "tensor_shape_value": _shape,
    "tensor_dtype_value": dtype_of,
    "tensor_spec_value": _tensor_spec,
    "type_spec_value": _type_spec,
    "bounded_tensor_spec_value": _tensor_spec,
    "list_value": _items,
    "tuple_value": lambda value: tuple(_items(value)),
    "dict_value": lambda value: {key: decoded(each) for key, each in field_of(value, "fields", {}).items()},
    "named_tuple_value": _named_tuple,
    "tensor_value": tensor_of,
    "numpy_value": lambda value: tensor_of(value).numpy(),
}

# ---- Writing --------------------------------------------------------------------------------------------------------


def encoded(value: Any) -> Message:
    """Return the StructuredValue of a value. Raises ValueError for one that the format has no place for."""
    field, found = _encoded(value)
    return KINDS["StructuredValue"](**{field: found})


def _encoded(value: Any) -> tuple[str, Any]:
    items = KINDS["StructuredItems"]
    if value is None:
        return "none_value", KINDS["StructuredNone"]()
    if isinstance(value, bool):
        return "bool_value", value
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"{value} does not fit into 64 bits")
        return "int64_value", int(value)
    if isinstance(value, float):
        return "float64_value", float(value)
    if isinstance(value, str):
        return "string_value", str(value)
    if isinstance(value, np.ndarray | np.generic):
        return "numpy_value", tensor_message(convert(value))
    if isinstance(value, EagerTensor):
        return "tensor_value", tensor_message(value)
    if isinstance(value, DType):
        return "tensor_dtype_value", Enum(enum_name(value))
    if isinstance(value, TensorShape):
        return "tensor_shape_value", shape_message(value)
    if isinstance(value, TensorSpec):
        fields: dict[str, Any] = {"shape": shape_message(value.shape), "dtype": Enum(enum_name(value.dtype))}
        if value.name:
            fields["name"] = value.name
        return "tensor_spec_value", KINDS["TensorSpecProto"](**fields)
    if isinstance(value, TypeSpec):
        return "type_spec_value", _type_spec_message(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        pairs = [
            KINDS["StructuredPair"](key=key, value=encoded(each))
            for key, each in zip(value._fields, value, strict=True)
        ]
        return "named_tuple_value", KINDS["StructuredFields"](name=type(value).__name__, values=pairs)
    if isinstance(value, tuple):
        return "tuple_value", items(values=[encoded(each) for each in value])
    if isinstance(value, list):
        return "list_value", items(values=[encoded(each) for each in value])
    if isinstance(value, Mapping):
        fields = {str(key): encoded(each) for key, each in value.items()}
        return "dict_value", KINDS["StructuredDict"](fields=fields)
    raise ValueError(f"No encoder for object {value} of type {type(value)}.")


def _type_spec_message(spec: Any) -> Message:
    name = names.get(type(spec))
    number = _NUMBERS.get(type(spec)) if name is None else _OF_USERS
    number = {name: each for each, name in _OF_DATA.items()}.get(type(spec).__name__, number)
    if number is None:
        raise ValueError(f"No encoder for object {spec} of type {type(spec)}.")
    return KINDS["TypeSpecProto"](
        type_spec_class=number,
        type_state=encoded(spec._serialize()),
        type_spec_class_name=name or type(spec).__name__,
        num_flat_components=len(nesting.flatten(spec, expand_composites=True)),
    )


def shape_message(shape: TensorShape) -> Message:
    """Return a TensorShapeProto."""
    if shape.rank is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[Dim(size=-1 if size is None else size) for size in shape])


# ---- Values in the places of specs ----------------------------------------------------------------------------------


def flat_specs(structure: Any) -> list[TensorSpec]:
    """Return the specs of the tensors in a structure, those in composites included, in order."""
    flat = nesting.flatten(structure, expand_composites=True)
    return [each for each in flat if isinstance(each, TensorSpec)]


def filled(structure: Any, tensors: Iterator[Any]) -> Any:
    """Return a structure with the next ones of `tensors` in the places of its specs."""

    def each(leaf: Any) -> Any:
        if isinstance(leaf, TensorSpec):
            return next(tensors)
        return leaf.from_tensors(tensors) if isinstance(leaf, TypeSpec) else leaf

    return nesting.map_structure(each, structure)


def matched(expected: Any, given: Any, fits: Callable[[Any, Any], bool], leaves: list[Any]) -> bool:
    """Return whether `given` has the structure `expected`, its leaves fit, and all else is equal; append its tensors.

    What stands in the place of a TensorSpec is appended as it is.
    """
    if isinstance(expected, TensorSpec):
        leaves.append(given)
        return fits(expected, given)
    if isinstance(expected, TypeSpec):
        if not expected.is_compatible_with(given):
            return False
        leaves += expected.to_tensors(given)
        return True
    if isinstance(expected, Mapping):
        if not isinstance(given, Mapping) or expected.keys() != given.keys():
            return False
        return all(matched(expected[key], given[key], fits, leaves) for key in sorted(expected))
    if isinstance(expected, list | tuple):
        if not _alike(expected, given) or len(expected) != len(given):
            return False
        return all(matched(*pair, fits, leaves) for pair in zip(expected, given, strict=True))
    if expected is None or given is None:
        return expected is given
    try:
        return type(given) in (bool, int, float, str, bytes, type(expected)) and bool(expected == given)
    except (TypeError, ValueError):
        return False


def _alike(expected: Any, given: Any) -> bool:
    if hasattr(expected, "_fields"):
        return (
            isinstance(given, tuple)
            and type(given).__name__ == type(expected).__name__
            and getattr(given, "_fields", None) == expected._fields
        )
    if isinstance(expected, tuple):
        return isinstance(given, tuple) and not hasattr(given, "_fields")
    return isinstance(given, list)
