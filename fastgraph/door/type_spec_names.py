"""Specs that libraries derive theirs from, and the names under which TensorFlow knows classes of specs in files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import fastgraph
from fastgraph.composites import extension_type
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import DenseSpec, TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike

#: The classes by the names that TensorFlow registers them under.
NAMES = (
    *("DatasetSpec", "IndexedSlicesSpec", "NoneTensorSpec", "OptionalSpec", "RaggedTensorSpec", "SparseTensorSpec"),
    *("TensorArraySpec", "TensorSpec"),
)
#: Those that libraries have registered, and extension types with a `__name__`: by name, and the names of classes.
NAME_TO_TYPE_SPEC: dict[str, type] = extension_type.registered
TYPE_SPEC_TO_NAME: dict[type, str] = extension_type.names


def register(name: str) -> Callable[[type], type]:
    """Return a decorator that registers a class of specs as "project.name".

    Raises:
        TypeError: The name is no text, or the class no TypeSpec.
        ValueError: The name is not of that form, or the name or the class has been registered.
    """
    if not isinstance(name, str):
        raise TypeError(f"Expected `name` to be a string; got {name!r}")
    if not re.fullmatch(r"(\w+\.)+\w+", name):
        raise ValueError(
            "Registered name must have the form '{project_name}.{type_name}' (e.g. 'my_project.MyTypeSpec')."
        )

    def registered(cls: type) -> type:
        if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
            raise TypeError(f"Expected `cls` to be a TypeSpec; got {cls!r}")
        if cls in TYPE_SPEC_TO_NAME:
            raise ValueError(f"Class {cls.__module__}.{cls.__name__} has already been registered with name "
                             f"{TYPE_SPEC_TO_NAME[cls]}.")  # fmt: skip
        if name in NAME_TO_TYPE_SPEC:
            other = NAME_TO_TYPE_SPEC[name]
            raise ValueError(f"Name {name} has already been registered for class {other.__module__}.{other.__name__}.")
        TYPE_SPEC_TO_NAME[cls], NAME_TO_TYPE_SPEC[name] = name, cls
        return cls

    return registered


def get_name(cls: type) -> str:
    """Return the name of a class of specs. Raises TypeError for what is none, ValueError for one without a name."""
    if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
        raise TypeError(f"Expected `cls` to be a TypeSpec; got {cls!r}")
    if cls in TYPE_SPEC_TO_NAME:
        return TYPE_SPEC_TO_NAME[cls]
    if cls.__name__ not in NAMES or lookup(f"tf.{cls.__name__}") is not cls:
        raise ValueError(f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")
    return f"tf.{cls.__name__}"


def lookup(name: str) -> Any:
    """Return the class of a name. Raises TypeError for what is no text, ValueError where there is none."""
    if not isinstance(name, str):
        raise TypeError(f"Expected `name` to be a string; got {name!r}")
    if name in NAME_TO_TYPE_SPEC:
        return NAME_TO_TYPE_SPEC[name]
    last = name.removeprefix("tf.")
    if last not in NAMES:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return fastgraph.data.DatasetSpec if last == "DatasetSpec" else getattr(fastgraph, last)


class BatchableTypeSpec(TypeSpec):
    """The base of specs whose values are batched and taken apart along a first axis, by `_batch` and `_unbatch`."""

    __slots__ = ()

    def _batch(self, batch_size: int | None) -> TypeSpec:
        raise NotImplementedError(f"{type(self).__name__}._batch")

    def _unbatch(self) -> TypeSpec:
        raise NotImplementedError(f"{type(self).__name__}._unbatch")


class VariableSpec(DenseSpec):
    """The spec of a Variable: its shape and dtype, and whether it is trained."""

    __slots__ = ("alias_id", "trainable")
    _is_composite = False

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike = fastgraph.float32, trainable: bool = True, alias_id: Any = None
    ) -> None:
        super().__init__(shape, dtype)
        self.trainable, self.alias_id = trainable, alias_id

    @classmethod
    def from_value(cls, value: Any) -> VariableSpec:
        """Return the spec of a Variable."""
        return cls(value.shape, value.dtype, value.trainable)

    @property
    def value_type(self) -> type:
        """The class of Variables."""
        return fastgraph.Variable

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self.trainable, self.alias_id


def convert_variables_to_tensors(values: Any) -> Any:
    """Return a structure with the present value of each Variable in its place, in composites as well."""

    def converted(leaf: Any) -> Any:
        if isinstance(leaf, fastgraph.Variable):
            return fastgraph.convert_to_tensor(leaf)
        own = getattr(leaf, "_convert_variables_to_tensors", None) if isinstance(leaf, CompositeTensor) else None
        return leaf if own is None else own()

    return fastgraph.nest.map_structure(converted, values)


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the least and the greatest number that its elements may be, each in a shape that broadcasts.

    Raises ValueError for bounds that are None or do not fit the shape. Source: TensorFlow's inner tensor_spec.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike, minimum: TensorLike, maximum: TensorLike, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        self._minimum, self._maximum = self._bound("minimum", minimum), self._bound("maximum", maximum)

    def _bound(self, what: str, given: Any) -> Any:
        if given is None:
            raise ValueError(f"`{what}` can not be None.")
        bound = np.array(given, self.dtype.as_numpy_dtype)
        try:
            fastgraph.broadcast_static_shape(TensorShape(bound.shape), self.shape)
        except ValueError:
            raise ValueError(f"`{what}` {given} is not compatible with shape {self.shape}.") from None
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any) -> BoundedTensorSpec:  # type: ignore[override]
        """Return a spec with the bounds of `spec` or, where it has none, the dtype's."""
        least, most = (getattr(spec, f"{each}imum", getattr(spec.dtype, each, None)) for each in ("min", "max"))
        return cls(spec.shape, spec.dtype, least, most, spec.name)  # type: ignore[arg-type]  # None is refused

    minimum = ReadOnly[Any]("_minimum", "The least number, an array that cannot be written.")
    maximum = ReadOnly[Any]("_maximum", "The greatest number, an array that cannot be written.")

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self._minimum, self._maximum, self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundedTensorSpec, self._serialize()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundedTensorSpec)
            and super().__eq__(other)
            and np.allclose(self._minimum, other._minimum)
            and np.allclose(self._maximum, other._maximum)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.name))

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )
