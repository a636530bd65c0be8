"""Type specs: what is known of a value of several tensors, or of one: TypeSpec, TensorSpec.

Rule: a spec is immutable and hashable; it takes a value apart into tensors and puts it together again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType, DTypeLike
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.nesting import CompositeSpec, flatten, like_mapping, pack_sequence_as
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import (
    Aval,
    ShapeLike,
    TensorShape,
    as_dims,
    common_shape,
    compatible,
    generalises,
    shape_of,
)


def _ranks_only(part: Any) -> Any:
    if isinstance(part, TensorShape):
        return part if part.rank is None else TensorShape([None] * part.rank)
    if isinstance(part, TypeSpec):
        return part._with_tensor_ranks_only()
    if isinstance(part, (tuple, list)) and not hasattr(part, "_fields"):
        return type(part)(map(_ranks_only, part))
    return {key: _ranks_only(each) for key, each in part.items()} if type(part) is dict else part


@without(
    {
        "tf.saved_model.save, or pickle": "experimental_as_proto experimental_from_proto experimental_type_proto",
        "tf.cast, or the signature of a tf.function": "cast",
    }
)
class TypeSpec(CompositeSpec):
    """Knowledge of a value (a tensor or a composite of tensors) before it exists. Source: tf.TypeSpec.

    A composite value carries its spec as `_type_spec`; the spec takes it apart (`_to_components`) and puts it together
    (`_from_components`), with specs of the parts (`_component_specs`). This is how arguments, branches, loops and
    tapes see through it. A subclass also states `_serialize`: what tells one spec of the class from another; one that
    describes a single thing, not parts, sets `_is_composite = False`.
    """

    __slots__ = ("__weakref__",)

    @property
    def _is_open(self) -> bool:
        """True if the value's parts are not known yet: a loop that carries it finds them out."""
        return False

    @property
    def value_type(self) -> type:
        """The class of the values that this describes."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__}._serialize")

    @classmethod
    def _deserialize(cls, parts: tuple[Any, ...]) -> TypeSpec:
        return cls(*parts)

    def _without_tensor_names(self) -> TypeSpec:
        """Return the spec with no names of tensors in it; Keras 2 asks for it."""
        return self

    def _with_tensor_ranks_only(self) -> TypeSpec:
        """Return the spec with no extents in it: Keras 2 asks for it of what generators yield."""
        return self._deserialize(_ranks_only(self._serialize()))

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a value, or one of a spec, may be of this spec: shapes do not exclude each other."""
        spec = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return type(spec) is type(self) and self.__is_compatible(self._serialize(), spec._serialize())

    def is_subtype_of(self, other: TypeSpec) -> bool:
        """Return whether every value of this spec is one of `other`."""
        return type(other) is type(self) and takes_in(other._serialize(), self._serialize())

    def most_specific_common_supertype(self, others: Sequence[TypeSpec]) -> TypeSpec | None:
        """Return the most special spec that this one and all `others` fit, or None if there is none."""
        parts: Any = self._serialize()
        for other in others:
            if type(other) is not type(self):
                return None
            parts = _common(parts, other._serialize())
            if parts is _NOTHING:
                return None
        return self._deserialize(parts)

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Return the most special spec that both fit. Raises ValueError if there is none."""
        found = self.most_specific_common_supertype([other])
        if found is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return found

    def flatten(self) -> list[Any]:
        """Return the specs of the tensors in a value. Source: tf.types.experimental.TraceType, as the three below."""
        return flatten(self, expand_composites=True)

    def to_tensors(self, value: Any) -> list[Any]:
        """Return the tensors in a value, in the order of `flatten`."""
        return flatten(value, expand_composites=True)

    def from_tensors(self, tensors: Iterator[Any]) -> Any:
        """Return the value that has the next ones of these tensors."""
        parts = [next(tensors) for _ in self.flatten()]
        return pack_sequence_as(self, parts, expand_composites=True)

    def placeholder_value(self, placeholder_context: Any) -> Any:
        """Return what stands for a value in a trace."""
        return self.from_tensors(placeholder_context.tensors)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return False
        mine, theirs = self._serialize(), other._serialize()
        try:
            return mine == theirs
        except ValueError:  # arrays among the parts
            return bool(self.__make_cmp_key(mine) == self.__make_cmp_key(theirs))

    def __hash__(self) -> int:
        return hash((type(self), self.__make_cmp_key(self._serialize())))

    # By TensorFlow's names for them: libraries that write specs of their own call these two.

    def __make_cmp_key(self, value: Any) -> Any:
        """Return what is equal for equal parts of specs and can be hashed."""
        if isinstance(value, (tuple, list)):
            return type(value), *[self.__make_cmp_key(each) for each in value]
        if isinstance(value, Mapping):
            items = [(key, self.__make_cmp_key(each)) for key, each in value.items()]
            return dict, *sorted(items, key=lambda item: (type(item[0]).__name__, str(item[0])))
        if isinstance(value, np.ndarray):
            return np.ndarray, value.shape, value.dtype.str, value.tobytes()
        if isinstance(value, TensorShape):
            return TensorShape, value._dims
        return value

    @staticmethod
    def __is_compatible(a: Any, b: Any) -> bool:
        """Return whether a value may be of both specs, given parts of each: shapes that do not exclude each other."""
        if isinstance(a, (tuple, list)):
            return same_sequences(a, b) and all(map(TypeSpec.__is_compatible, a, b))
        if type(a) is not type(b):
            return False
        if isinstance(a, Mapping):
            return a.keys() == b.keys() and all(TypeSpec.__is_compatible(a[key], b[key]) for key in a)
        if isinstance(a, (TensorShape, TypeSpec)):
            return bool(a.is_compatible_with(b))
        return bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._deserialize, (self._serialize(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(part) for part in self._serialize())})"


_NOTHING = object()


def same_sequences(a: Any, b: Any) -> bool:
    """Return whether two are of one class and length; named tuples of one name and fields count as of one class."""
    if hasattr(a, "_fields") and hasattr(b, "_fields"):
        return type(a).__name__ == type(b).__name__ and bool(a._fields == b._fields)
    return type(a) is type(b) and len(a) == len(b)


def takes_in(general: object, special: object) -> bool:
    """Return whether the parts of one spec take in those of another: shapes may be wider, all else must be equal."""
    if isinstance(general, TensorShape) and isinstance(special, TensorShape):
        return generalises(general._dims, special._dims)
    if isinstance(general, TypeSpec) and isinstance(special, TypeSpec):
        return special.is_subtype_of(general)
    if isinstance(general, (tuple, list)) and isinstance(special, (tuple, list)):
        return len(general) == len(special) and all(map(takes_in, general, special))
    if isinstance(general, Mapping) and isinstance(special, Mapping):
        return general.keys() == special.keys() and all(takes_in(general[key], special[key]) for key in general)
    return bool(general == special)


def _common(a: Any, b: Any) -> Any:
    """The parts of the most special spec that two specs fit, or _NOTHING."""
    if isinstance(a, TensorShape) and isinstance(b, TensorShape):
        return shape_of(common_shape(a._dims, b._dims))
    if isinstance(a, TypeSpec) and isinstance(b, TypeSpec):
        found = a.most_specific_common_supertype([b])
        return _NOTHING if found is None else found
    if isinstance(a, (tuple, list)):
        if not same_sequences(a, b):
            return _NOTHING
        parts = tuple(map(_common, a, b))
        if any(part is _NOTHING for part in parts):
            return _NOTHING
        return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
    if isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys():
        items = [(key, _common(a[key], b[key])) for key in a]
        return _NOTHING if any(part is _NOTHING for _, part in items) else like_mapping(a, items)
    return a if a == b else _NOTHING


def as_specs(structure: object) -> Any:
    """Return a structure with a spec in the place of each composite that has one, but for those that grow."""
    return pack_sequence_as(structure, [_own_spec(leaf) or leaf for leaf in flatten(structure)])


def of_both(a: object, b: object) -> Any:
    """Return structure `a` with the most special spec of both where a composite is of another type than its like.

    So two shapes of a SparseTensor become one that either fits; what is no composite, or has no such spec, stays.
    """

    def both(x: object, y: object) -> Any:
        mine, theirs = _own_spec(x), _own_spec(y)
        if mine is None or theirs is None or mine == theirs:
            return x
        found = mine.most_specific_common_supertype([theirs])
        return x if found is None or found == mine else found

    return pack_sequence_as(a, list(map(both, flatten(a), flatten(b))))


def not_both(a: object, b: object) -> tuple[Any, Any] | None:
    """Return two shapes that exclude each other, of composites at one place of the two structures; None if none do."""
    for x, y in zip(flatten(a), flatten(b), strict=True):
        one, other = [getattr(spec, "shape", None) for spec in (_own_spec(x), _own_spec(y))]
        told = isinstance(one, TensorShape) and isinstance(other, TensorShape)
        if told and not one.is_compatible_with(other):  # type: ignore[union-attr]
            return one, other
    return None


def _own_spec(leaf: object) -> TypeSpec | None:
    spec = getattr(leaf, "_type_spec", leaf)
    return spec if isinstance(spec, TypeSpec) and spec._is_composite and not hasattr(leaf, "__fg_unify__") else None


@without({"tf.type_spec_from_value": "from_value", "most_specific_compatible_type": "most_specific_compatible_shape"})
class NoneTensorSpec(TypeSpec):
    """The spec of None where tensors are told by specs: it has no parts. Source: tf.NoneTensorSpec."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        return type(None)

    @property
    def _component_specs(self) -> Any:
        return ()

    def _to_components(self, value: Any) -> Any:
        return ()

    def _from_components(self, components: Any) -> None:
        return

    def _serialize(self) -> tuple[Any, ...]:
        return ()

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether it is None, or None's spec."""
        return spec_or_value is None or type(spec_or_value) is type(self)


class DenseSpec(TypeSpec):
    """The base of specs of what has the shape, the dtype and the name of one tensor."""

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> None:
        self._shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    shape = ReadOnly[TensorShape]("_shape", "The shape, perhaps partly known.")
    dtype = ReadOnly[DType]("_dtype", "The element type.")

    name = ReadOnly[str | None]("_name", "The name of the argument or result, or None.")

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name


class TensorSpec(DenseSpec):
    """Shape, dtype and name of a tensor that a Function takes or gives. Source: tf.TensorSpec.

    Args:
        shape: The extents; None for each that may be of any size, or for all: any shape.
        dtype: The dtype.

    Raises:
        TypeError: `dtype` names no dtype.

    Examples:
        >>> spec = tf.TensorSpec([None, 3], tf.float32, name="rows")
        >>> spec.is_compatible_with(tf.ones([5, 3])), spec.is_compatible_with(tf.ones([5, 4]))
        (True, False)
        >>> tf.TensorSpec.from_tensor(tf.constant([1, 2]))
        TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """

    __slots__ = ()
    _is_composite = False
    tensor_class: ClassVar[type] = object  # the layer above enters its Tensor here

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Return a TensorSpec with the shape and dtype of `spec`, and its name unless another is given."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def aval(self) -> Aval:
        """Shape and dtype as the inside of fastgraph has them."""
        return Aval(self._dtype, self._shape._dims)

    value_type = ReadOnly[type]("tensor_class", "fastgraph.Tensor.")

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: Any) -> Any:
        return value

    def _from_components(self, components: Any) -> Any:
        return components

    def _without_tensor_names(self) -> TensorSpec:
        return TensorSpec(self.shape, self.dtype)

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """Return whether a tensor (or a spec) has this dtype and could have this shape."""
        dtype, shape = getattr(spec_or_tensor, "dtype", None), getattr(spec_or_tensor, "shape", None)
        if not isinstance(dtype, (DType, np.dtype)) or shape is None:
            return False
        return self._dtype == dtype and compatible(self._shape._dims, as_dims(shape))

    def is_subtype_of(self, other: TypeSpec) -> bool:
        """Return whether every tensor of this spec is one of `other`, which must have this name if this has one."""
        return (
            isinstance(other, TensorSpec)
            and self._dtype is other._dtype
            and generalises(other._shape._dims, self._shape._dims)
            and (self._name is None or self._name == other._name)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """Return the most special TensorSpec that this one and all `others` fit, which are of one name and dtype."""
        dims = self._shape._dims
        for other in others:
            if not isinstance(other, TensorSpec) or (other._dtype, other._name) != (self._dtype, self._name):
                return None
            dims = common_shape(dims, other._shape._dims)
        return TensorSpec(shape_of(dims), self._dtype, self._name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorSpec)
            and self._dtype is other._dtype
            and self._shape._dims == other._shape._dims
            and self._name == other._name
        )

    def __hash__(self) -> int:
        return hash((self._shape._dims, self._dtype.code))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


def type_spec_from_value(value: object) -> TypeSpec:
    """Return the spec of a tensor, a composite, an array or a Python value that converts to a tensor.

    Raises TypeError for any other value. Source: tf.type_spec_from_value.
    """
    spec = getattr(value, "_type_spec", None)
    if isinstance(spec, TypeSpec):
        return spec
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if isinstance(dtype, (DType, np.dtype, np.generic)) and shape is not None:
        return TensorSpec(shape, dtypes.as_dtype(dtype))  # type: ignore[arg-type]
    if isinstance(value, (bool, int, float, complex, str, bytes, list, tuple)):
        try:
            array = np.asarray(value)
            found = dtypes.as_dtype(array.dtype)
        except (TypeError, ValueError):
            found = dtypes.variant
        # Python's numbers are 32-bit tensors, as everywhere in TensorFlow.
        found = {dtypes.int64: dtypes.int32, dtypes.float64: dtypes.float32}.get(found, found)
        if found is not dtypes.variant and array.dtype.kind != "O":
            return TensorSpec(array.shape, found)
    raise TypeError(f"Could not build a `TypeSpec` for {value!r} with type {type(value).__name__}.")
