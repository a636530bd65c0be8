"""Shapes and what is known of tensors before they exist: TensorShape, Aval, broadcasting.

Rule: inside, a shape is a plain tuple of `int | None` (None: that dimension is not known), or None where not even the
rank is known. TensorShape is the users' view of the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, SupportsIndex, Union, overload

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.missing_methods import without

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
    if dim is None or (type(dim) is Dimension and dim.value is None):
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


class Dimension:
    """An extent as TensorFlow 1 has it, known or not: what `TensorShape.dims` lists. Source: tf.compat.v1.Dimension.

    It counts as its value; arithmetic with an unknown one is unknown, a comparison None.
    """

    __slots__ = ("value",)
    value: Any

    def __init__(self, value: Any) -> None:
        value = value.value if isinstance(value, Dimension) else value
        if value is not None:
            try:
                value = operator.index(value)
            except TypeError:
                raise TypeError(
                    "Dimension value must be integer or None or have an __index__ method, "
                    f"got value '{value!r}' with type '{type(value)!r}'"
                ) from None
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self.value = value

    def __repr__(self) -> str:
        return f"Dimension({self.value!r})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return self.value  # type: ignore[no-any-return]

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self.value,)

    def is_compatible_with(self, other: object) -> bool:
        """Return whether the two may be the same extent."""
        other = Dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise ValueError unless the two may be the same extent."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def __truediv__(self, other: object) -> NoReturn:
        _no_quotient(self, other)

    def __rtruediv__(self, other: object) -> NoReturn:
        _no_quotient(other, self)

    def merge_with(self, other: object) -> Dimension:
        """Return the one that is known. Raises ValueError where they differ."""
        self.assert_is_compatible_with(other)
        return Dimension(other if self.value is None else self)


def _no_quotient(a: object, b: object) -> NoReturn:
    names = f"'{type(a).__name__}' and '{type(b).__name__}'"
    raise TypeError(f"unsupported operand type(s) for /: {names}, please use // instead")


def _of_dimensions(name: str, wrap: Callable[[Any], Any], reflected: bool = False) -> Callable[..., Any]:
    function = getattr(operator, name)

    def operate(self: Dimension, other: object) -> Any:
        try:
            value = Dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or value is None:
            return wrap(None)
        return wrap(function(value, self.value) if reflected else function(self.value, value))

    return operate


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Dimension, f"__{_name}__", _of_dimensions(_name, Dimension))
    setattr(Dimension, f"__r{_name}__", _of_dimensions(_name, Dimension, reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _of_dimensions(_name, lambda value: value))


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
        """True if every dimension is known."""
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


@without(
    {
        "tf.saved_model.save, or pickle": "experimental_as_proto experimental_from_proto experimental_type_proto",
        "tf.cast, or the signature of a tf.function": "cast flatten from_tensors placeholder_value to_tensors",
        "as_list": "as_proto",
    }
)
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
    def dims(self) -> list[Dimension] | None:
        """The dimensions as a list of Dimensions, or None for unknown rank."""
        return None if self._dims is None else [Dimension(dim) for dim in self._dims]

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

    @overload  # `| Any`: None where it is not known, for which programs seldom ask
    def __getitem__(self, key: SupportsIndex) -> int | Any: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
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
