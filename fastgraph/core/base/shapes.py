"""Shapes and what is known of values before they exist: TensorShape, TypeSpec, TensorSpec, Aval, broadcasting.

Rule: inside, a shape is a plain tuple of `int | None` (None: that dimension is not known), or None where not even the
rank is known. TensorShape and TensorSpec are the users' view of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Union

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType, DTypeLike
from fastgraph.core.base.nesting import CompositeSpec, flatten, pack_sequence_as

Shape = tuple[int | None, ...] | None
ShapeLike = Union["TensorShape", Iterable[Any], int, None]


def as_dims(shape: ShapeLike) -> Shape:
    """Return `shape` (TensorShape, sequence of dimensions, one int, or None) as a plain tuple, or None.

    Raises TypeError for dimensions that are not integers, ValueError for negative ones.
    """
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape._dims
    if isinstance(shape, str):
        raise TypeError(
            f"Failed to convert '{shape!r}' to a shape: '{shape[:1]!r}' could not be converted to a dimension. A shape "
            "should either be single dimension (e.g. 10), or an iterable of dimensions (e.g. [1, 10, None])."
        )
    if hasattr(shape, "__index__") and getattr(shape, "ndim", 0) == 0:
        return (_as_dim(shape),)
    try:
        dims = iter(shape)  # type: ignore[arg-type]
    except TypeError:
        return (_as_dim(shape),)
    return tuple(_as_dim(dim) for dim in dims)


def _as_dim(dim: Any) -> int | None:
    """Return one dimension as an int, or None if it is not known."""
    if dim is None:
        return None
    try:
        value = int(dim.__index__())
    except (AttributeError, TypeError):
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got value '{dim!r}' with type '{type(dim)!r}'"
        ) from None
    if value < 0:
        raise ValueError(f"Dimension {value} must be >= 0")
    return value


def dims_text(dims: Shape) -> str:
    """Return `dims` as TensorFlow prints it: (2, None), (3,), (), <unknown>."""
    return "<unknown>" if dims is None else str(dims)


def n_elements(dims: Shape) -> int | None:
    """Return the product of the dimensions, or None if one of them or the rank is not known."""
    if dims is None:
        return None
    total = 1
    for dim in dims:
        if dim is None:
            return None
        total *= dim
    return total


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """Return the shape of an elementwise op on operands of shapes `a` and `b`.

    An unknown dimension beside one that is not 1 becomes that one; beside 1, or another unknown one, it stays unknown.
    Raises ValueError if the shapes cannot be broadcast. Source: tf.broadcast_static_shape.
    """
    if a == b and a is not None:
        return a
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a, b = b, a
    result = list(a)
    offset = len(a) - len(b)
    for i, y in enumerate(b):
        x = a[offset + i]
        if x == y or y == 1:
            continue
        if x == 1 or (x is None and y is not None):
            result[offset + i] = y
        elif y is not None:
            raise ValueError(
                "Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they are "
                f"either equal or one of them is 1. Received: {dims_text(a)} and {dims_text(b)}."
            )
    return tuple(result)


def compatible(a: Shape, b: Shape) -> bool:
    """Return whether one array could have both shapes."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def generalises(general: Shape, special: Shape) -> bool:
    """Return whether every array of shape `special` also has shape `general`."""
    if general is None:
        return True
    return (
        special is not None
        and len(general) == len(special)
        and all(x is None or x == y for x, y in zip(general, special, strict=True))
    )


def common_shape(a: Shape, b: Shape) -> Shape:
    """Return the most special shape that both `a` and `b` fit."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


#: The element of `Aval.partial` that is not known.
UNKNOWN = -(2**63)


class Aval:
    """Knowledge of a value before it is computed: dtype, shape, and the value itself where it follows already.

    `shape` is a tuple of `int | None`, or None for unknown rank. `value` is a read-only ndarray for constants and for
    what follows from shapes alone, else None. Where only some elements are known, of integers that may say a shape,
    `value` is None and `partial` an int64 ndarray with UNKNOWN in the place of the others; else that is None. Two avals
    are equal if dtype and shape are; the values do not count.
    """

    __slots__ = ("dtype", "partial", "shape", "value")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        value: np.ndarray[Any, Any] | None = None,
        partial: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.value = value
        self.partial = partial

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self.shape is None else len(self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements, or None."""
        return n_elements(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is known."""
        return self.shape is not None and None not in self.shape

    @property
    def numbers(self) -> list[int | None] | None:
        """The elements in order as far as they are known, or None if none is; for integers."""
        if self.value is not None:
            return [int(n) for n in self.value.reshape(-1).tolist()]
        if self.partial is None:
            return None
        return [None if n == UNKNOWN else n for n in self.partial.reshape(-1).tolist()]

    @property
    def nbytes(self) -> int | None:
        """The bytes of the elements, or None if the shape is not known or they are not held in memory as such."""
        total = self.dtype.size
        if self.shape is None or not total:
            return None
        for dim in self.shape:  # no call of `size`: plans ask for every value
            if dim is None:
                return None
            total *= dim
        return total

    def without_value(self) -> Aval:
        """Return this aval with nothing said about the value."""
        return self if self.value is None and self.partial is None else Aval(self.dtype, self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aval) and self.dtype is other.dtype and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.dtype.code, self.shape))

    def __repr__(self) -> str:
        if self.shape is None:
            dims = "<unknown>"
        else:
            dims = "[" + ", ".join("?" if dim is None else str(dim) for dim in self.shape) + "]"
        return f"{self.dtype.name}{dims}"


class TensorShape:
    """The shape of a tensor, wholly or partly known. Source: tf.TensorShape.

    Indexing gives ints (or None), slicing TensorShapes.

    Args:
        dims: The extents, None for each that is unknown; None instead of all: the rank is unknown.

    Raises:
        ValueError: An extent is negative.

    Examples:
        >>> shape = tf.TensorShape([None, 28, 28])
        >>> shape.rank, shape[1], shape[1:]
        (3, 28, TensorShape([28, 28]))
        >>> shape.is_compatible_with([32, 28, 28]), shape.is_fully_defined()
        (True, False)
        >>> shape.merge_with([32, None, None])
        TensorShape([32, 28, 28])
    """

    __slots__ = ("_dims",)
    _dims: Shape

    def __init__(self, dims: ShapeLike) -> None:
        self._dims = as_dims(dims)

    @property
    def dims(self) -> list[int | None] | None:
        """The dimensions as a list, or None for unknown rank."""
        return None if self._dims is None else list(self._dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """Return the dimensions as a list. Raises ValueError for unknown rank."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """Return the number of elements, or None."""
        return n_elements(self._dims)

    def is_fully_defined(self) -> bool:
        """Return whether every dimension is known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Return whether one array could have both shapes."""
        return compatible(self._dims, as_dims(other))

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Return whether every array of this shape also has shape `other`."""
        return isinstance(other, TensorShape) and generalises(other._dims, self._dims)

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Return the most special shape that both this one and `other` fit."""
        return shape_of(common_shape(self._dims, as_dims(other)))

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorShape | None:
        """Return the most special shape that this one and all `others` fit; None if one of them is no shape."""
        dims = self._dims
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            dims = common_shape(dims, other._dims)
        return shape_of(dims)

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Return what both shapes together say. Raises ValueError if they contradict each other."""
        dims = as_dims(other)
        if not compatible(self._dims, dims):
            raise ValueError(f"Shapes {self} and {dims_text(dims)} are not compatible")
        if self._dims is None or dims is None:
            return shape_of(dims if self._dims is None else self._dims)
        return shape_of(tuple(y if x is None else x for x, y in zip(self._dims, dims, strict=True)))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Return the dimensions of this shape followed by those of `other`."""
        dims = as_dims(other)
        return shape_of(None if self._dims is None or dims is None else self._dims + dims)

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape with the given rank. Raises ValueError if it has another."""
        if self._dims is None:
            return shape_of((None,) * rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape. Raises ValueError if its rank is less."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape. Raises ValueError if its rank is more."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError if the rank is known and not `rank`."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raise ValueError if the ranks are known and differ."""
        dims = as_dims(other)
        if self._dims is not None and dims is not None and len(self._dims) != len(dims):
            raise ValueError(f"Shapes {self} and {dims_text(dims)} must have the same rank")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raise ValueError if no array could have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError if a dimension is not known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key: Any) -> Any:
        if self._dims is not None:
            found = self._dims[key]
            return shape_of(found) if isinstance(key, slice) else found
        if not isinstance(key, slice):
            return None
        # As much of the slice's length as follows without the rank.
        start = key.start or 0
        if key.step is not None or key.stop is None or start < 0 or key.stop < 0:
            return shape_of(None)
        return shape_of((None,) * max(key.stop - start, 0))

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        try:
            return self._dims == as_dims(other)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._dims,)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        return dims_text(self._dims)


def shape_of(dims: Shape) -> TensorShape:
    """Return the TensorShape of a tuple that is known to hold ints and None; the fast way inside fastgraph."""
    shape = TensorShape.__new__(TensorShape)
    shape._dims = dims
    return shape


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
        """Whether the value's parts are not known yet: a loop that carries it finds them out."""
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

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a value (or every value of a spec) can stand where this spec is wanted."""
        spec = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return type(spec) is type(self) and _generalise(self._serialize(), spec._serialize())

    def is_subtype_of(self, other: TypeSpec) -> bool:
        """Return whether every value of this spec is one of `other`."""
        return type(other) is type(self) and _generalise(other._serialize(), self._serialize())

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
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self) -> int:
        return hash((type(self), self._serialize()))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._deserialize, (self._serialize(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(part) for part in self._serialize())})"


_NOTHING = object()


def _generalise(general: object, special: object) -> bool:
    """Whether the parts of one spec take in those of another: shapes may be wider, all else must be equal."""
    if isinstance(general, TensorShape) and isinstance(special, TensorShape):
        return generalises(general._dims, special._dims)
    if isinstance(general, TypeSpec) and isinstance(special, TypeSpec):
        return special.is_subtype_of(general)
    if isinstance(general, (tuple, list)) and isinstance(special, (tuple, list)):
        return len(general) == len(special) and all(map(_generalise, general, special))
    return bool(general == special)


def _common(a: object, b: object) -> Any:
    """The parts of the most special spec that two specs fit, or _NOTHING."""
    if isinstance(a, TensorShape) and isinstance(b, TensorShape):
        return shape_of(common_shape(a._dims, b._dims))
    if isinstance(a, TypeSpec) and isinstance(b, TypeSpec):
        found = a.most_specific_common_supertype([b])
        return _NOTHING if found is None else found
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and len(a) == len(b):
        parts = tuple(map(_common, a, b))
        return _NOTHING if any(part is _NOTHING for part in parts) else parts
    return a if a == b else _NOTHING


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


class TensorSpec(TypeSpec):
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

    __slots__ = ("_dtype", "_name", "_shape")
    _is_composite = False
    tensor_class: ClassVar[type] = object  # the layer above enters its Tensor here

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> None:
        self._shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """Return a TensorSpec with the shape and dtype of `spec`, and its name unless another is given."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def shape(self) -> TensorShape:
        """The shape, perhaps partly known."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name of the argument or result, or None."""
        return self._name

    @property
    def aval(self) -> Aval:
        """Shape and dtype as the inside of fastgraph has them."""
        return Aval(self._dtype, self._shape._dims)

    @property
    def value_type(self) -> type:
        """fastgraph.Tensor."""
        return self.tensor_class

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_components(self, value: Any) -> Any:
        return value

    def _from_components(self, components: Any) -> Any:
        return components

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Return whether a tensor (or a spec) has this dtype and could have this shape."""
        dtype, shape = getattr(spec_or_value, "dtype", None), getattr(spec_or_value, "shape", None)
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
        """Return the most special TensorSpec that this one and all `others` fit; the name stays if all have it."""
        dims, name = self._shape._dims, self._name
        for other in others:
            if not isinstance(other, TensorSpec) or other._dtype is not self._dtype:
                return None
            dims = common_shape(dims, other._shape._dims)
            name = name if name == other._name else None
        return TensorSpec(shape_of(dims), self._dtype, name)

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
