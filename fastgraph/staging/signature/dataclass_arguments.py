"""Dataclasses among the arguments of traced functions: taken apart into their fields, and put together again.

Rule: a dataclass that is frozen, or holds tensors, counts by its fields; any other is an object with a state, which
counts by identity.
"""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TypeSpec
from fastgraph.core.tensor import Tensor, class_has


class Fields(dict[str, Any]):
    """The fields of a dataclass, and what else is in its `__dict__`; each dataclass has a subclass of this."""

    of: ClassVar[type]

    def __repr__(self) -> str:
        return f"{self.of.__name__}({', '.join(f'{name}={value!r}' for name, value in self.items())})"


_classes: weakref.WeakKeyDictionary[type, type[Fields]] = weakref.WeakKeyDictionary()


def counts_by_fields(value: object) -> bool:
    """Return whether a leaf is a dataclass whose fields count."""
    cls = type(value)
    if not hasattr(cls, "__dataclass_fields__") or isinstance(value, Tensor | TypeSpec) or callable(value):
        return False
    if hasattr(value, "__fg_cell__") or hasattr(cls, "_type_spec") or hasattr(cls, "__tf_tracing_type__"):
        return False
    return is_frozen(value) or _holds_tensors(value)


def is_frozen(value: object) -> bool:
    """Return whether a value is a frozen dataclass."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, Tensor | TypeSpec | np.ndarray | np.generic) or isinstance(
        getattr(value, "_type_spec", None), TypeSpec
    ):
        return True
    if class_has(value, "__dataclass_fields__"):
        return any(_holds_tensors(getattr(value, name, None)) for name in type(value).__dataclass_fields__)
    return nesting.is_nested(value) and any(_holds_tensors(leaf) for leaf in nesting.flatten(value))


def fields_of(value: Any) -> Fields:
    """Return a dataclass taken apart: itself, not what is in its fields."""
    cls = type(value)
    found = _classes.get(cls)
    if found is None:
        found = _classes[cls] = type(cls.__name__, (Fields,), {"of": cls})
    items = {name: getattr(value, name) for name in cls.__dataclass_fields__ if hasattr(value, name)}
    return found({**items, **getattr(value, "__dict__", {})})


def apart(structure: object) -> Any:
    """Return the structure with its dataclasses that count by their fields taken apart."""
    if nesting.is_nested(structure):
        return nesting.map_structure(apart, structure)
    return _apart(structure) if counts_by_fields(structure) else structure


def _apart(value: object) -> Fields:
    found = fields_of(value)
    return type(found)({name: apart(item) for name, item in found.items()})


def together(structure: object) -> Any:
    """Return the structure with its dataclasses put together again: as copies, without a call of `__init__`."""
    if isinstance(structure, Fields):
        made: Any = object.__new__(structure.of)
        for name, item in structure.items():
            object.__setattr__(made, name, together(item))
        return made
    if nesting.is_nested(structure) and _has_fields(structure):
        return nesting.rebuilt(structure, [together(child) for child in nesting.children(structure)])
    return structure


def _has_fields(structure: object) -> bool:
    return isinstance(structure, Fields) or (
        nesting.is_nested(structure) and any(_has_fields(child) for child in nesting.children(structure))
    )
