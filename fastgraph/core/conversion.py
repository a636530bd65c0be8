"""Conversion to tensors, and the dtypes that they get: TensorFlow's rules for Python values, sequences and arrays.

Rule: conversion is strict about a dtype it is given; what a value may become because of its neighbours is bind's
business. While a trace is active, TensorFlow converts with NumPy: numbers of several kinds become the widest, and what
is no tensor is a TypeError instead of a ValueError.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

import fastgraph.core.base.dtype as dtypes
import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import (
    EagerTensor,
    Leaves,
    Tensor,
    class_has,
    convert,
    current_trace,
    from_array,
    get_slot,
    register_slot,
    take_apart,
)
from fastgraph.errors import InvalidArgumentError


class HasTensor(Protocol):
    """A value that always stands for the same tensor, as a Variable does."""

    def __fg_tensor__(self, dtype: DType | None = None) -> Any:
        """Return the tensor."""


class HasSpec(Protocol):
    """A composite: a value of several tensors."""

    @property
    def _type_spec(self) -> Any: ...


class HasArray(Protocol):
    """A value that NumPy makes an array of: a pandas Series, a tensor of another library."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


_Arrays = np.ndarray[Any, Any] | np.generic
#: Values that are taken for a tensor; where none can be made of one, the call raises TypeError or ValueError.
TensorLike = Tensor | HasTensor | HasSpec | TensorShape | _Arrays | HasArray | complex | str | bytes | Sequence[Any]
#: A shape as users give it: extents, None among them where one is not known, a tensor of them, or one extent.
SizeLike = TensorLike | ShapeLike

BOOL, INT, FLOAT, COMPLEX, STR, TENSOR, OTHER, ARRAY = 1, 2, 4, 8, 16, 32, 64, 128

_PYTHON_VALUES = (bool, int, float, complex, str, bytes, np.generic)

MIXED = "Can't convert Python sequence with mixed types to Tensor."
RAGGED = "Can't convert non-rectangular Python sequence to Tensor."
INT_RANGE = "Can't convert Python sequence with out-of-range integer to Tensor."
FLOAT_RANGE = "Can't convert Python sequence with a value out of range for a double-precision float."
_FLOAT32_MAX = 3.4028235677973366e38  # from here on a double rounds to infinity

_registered: list[tuple[int, int, type | tuple[type, ...], Callable[..., Any]]] = []


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Have values of `base_type` converted by `conversion_func(value, dtype=None, name=None, as_ref=False)`.

    Lower priorities are asked first; NotImplemented passes on. Source: tf.register_tensor_conversion_function.
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    for kind in kinds:
        if not isinstance(kind, type):
            raise TypeError("base_type must be a type or a tuple of types.")
        if issubclass(kind, (int, float, str, bytes, list, tuple, np.ndarray, np.generic)):
            raise TypeError("Cannot register conversions for Python numeric types and NumPy scalars and arrays.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _registered.append((priority, len(_registered), base_type, conversion_func))
    _registered.sort(key=lambda entry: entry[:2])


def is_tensor(x: object) -> bool:
    """True for tensors, Variables, ragged and sparse ones and what has `is_tensor_like`; other composites are none.

    Source: tf.is_tensor.
    """
    if isinstance(x, Tensor):
        return True
    if type(x).__name__ in ("ObjectProxy", "_DictWrapper"):  # wrapt's, which have every attribute of what they wrap
        return False
    return bool(getattr(x, "_is_tensor", hasattr(x, "__fg_tensor__"))) or hasattr(x, "is_tensor_like")


def convert_value(value: Any, dtype: DType | None = None) -> Tensor:
    """A Tensor of `value`, of dtype `dtype` or its own. Python values become constants where a trace is active.

    TypeError where a Python value cannot be of `dtype`, ValueError for what cannot be a tensor, while tracing TypeError
    but for None and lists that are not rectangular. Arrays are copied, and cast to `dtype` whatever they hold.
    """
    if class_has(value, "__tf_tensor__"):
        own = value.__tf_tensor__(dtype, None)
        if own is NotImplemented:
            raise unsupported(value)
        return own if isinstance(own, Tensor) else convert(own, dtype)
    for _, _, base_type, function in _registered:
        if isinstance(value, base_type):
            found = function(value, dtype=dtype, name=None, as_ref=False)
            if found is not NotImplemented:
                if not isinstance(found, Tensor):
                    raise RuntimeError(f"{function!r} gave {found!r}, which is not a Tensor")
                return found
    tensor = _convert(value, dtype)
    if isinstance(tensor, EagerTensor):
        trace = current_trace()
        if trace is not None:
            made: Tensor = trace.constant(tensor)
            return made
    return tensor


def _convert(value: TensorLike, dtype: DType | None) -> Tensor:
    if isinstance(value, np.ndarray):
        return _from_array(value, dtype)
    if isinstance(value, TensorShape):
        return _from_shape(value, dtype)
    if isinstance(value, (list, tuple, range, bytearray, memoryview)):
        return _from_sequence(value, dtype)
    if isinstance(value, np.generic):
        return _from_array(np.asarray(value), dtype)
    if isinstance(value, (bool, int, float, complex, str, bytes)):
        return _from_leaves(_single(value), value, dtype)
    if class_has(value, "__array__") or hasattr(value, "__array_interface__"):
        return _from_array(np.asarray(value), dtype)
    if is_sequence(value):
        return _from_sequence(_as_lists(value), dtype)
    raise unsupported(value, dtype)


def _from_array(array: np.ndarray, dtype: DType | None) -> Tensor:
    """A tensor of an array; what holds objects, long doubles, dates or text is cast by NumPy if `dtype` is given."""
    if dtype is not None and dtype is not dtypes.string and (array.dtype.kind in "OUSMm" or array.dtype.char in "gG"):
        array = array.astype(dtype.as_numpy_dtype)
    if array.dtype.kind == "O" and current_trace() is not None:
        for item in array.flat:
            if not isinstance(item, (str, bytes)):
                raise TypeError(f"Expected binary or unicode string, got {item!r}")
    return from_array(array, dtype)


def is_sequence(value: object) -> bool:
    """Return whether a value of none of the classes known here has elements by number, as far as its class says."""
    kind = type(value)
    if isinstance(value, _NO_SEQUENCES) or any(hasattr(kind, name) for name in _OWN_WAYS):
        return False
    named = {name for each in kind.__mro__ for name in vars(each)}  # hasattr would ask the class's own class as well
    return "__getitem__" in named and "__len__" in named


_NO_SEQUENCES = (dict, set, frozenset, str, bytes, list, tuple, range, bytearray, memoryview, TensorShape)
_OWN_WAYS = ("__fg_tensor__", "__tf_tensor__", "__array__")  # how else they become tensors


def _as_lists(value: Any) -> Any:
    """A sequence of any class as a list, and those in it; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [_as_lists(item) for item in value]
    if isinstance(value, (Tensor, np.ndarray, np.generic)) or not is_sequence(value):
        return value
    try:
        items = value if class_has(value, "__iter__") else [value[i] for i in range(len(value))]
    except IndexError:  # fewer than its length says
        raise ValueError(RAGGED) from None
    return [_as_lists(item) for item in items]


def unsupported(value: object, dtype: DType | None = None) -> Exception:
    """`value` is nothing that a tensor (of `dtype`) can be made of: a ValueError, while tracing often a TypeError."""
    if current_trace() is None:
        text = f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor."
        return ValueError(text)
    return ValueError("None values not supported.") if value is None else _inconvertible(value, dtype)


def _inconvertible(value: object, dtype: DType | None = None) -> TypeError:
    """The error, while tracing, for a value that no tensor can be made of, or an element that is not of `dtype`."""
    if dtype is not None:
        return TypeError(f"Expected {dtype.name}, but got {value} of type {type(value).__name__!r}.")
    return TypeError(
        f"Failed to convert elements of {value!r} to Tensor. Consider casting elements to a supported type (tf.dtypes)."
    )


def _single(value: Any) -> Leaves:
    leaves = take_apart([value])
    leaves.dims = []
    return leaves


def _from_shape(shape: TensorShape, dtype: DType | None) -> EagerTensor:
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    dims = shape.as_list()
    if dtype is None:
        dtype = dtypes.int64 if any(d > dtypes.int32.max for d in dims) else dtypes.int32
    if dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Cannot convert TensorShape {shape} to dtype {dtype!r}. Allowed dtypes are tf.int32 and tf.int64."
        )
    if any(d > dtype.max for d in dims):
        raise ValueError(
            f"Cannot convert TensorShape {shape} to dtype {dtype.name}; a dimension is too large. Consider using "
            "tf.int64."
        )
    return from_array(np.array(dims, np.int64), dtype)


def _from_sequence(value: Any, dtype: DType | None) -> Tensor:
    leaves = take_apart(value)
    if leaves.kinds & OTHER and any(map(is_sequence, leaves.values)):
        value = _as_lists(value)
        leaves = take_apart(value)
    if leaves.kinds & TENSOR:
        packed: Tensor = _pack(value if dtype is None else cast_items(value, dtype), dtype)
        return packed
    if leaves.kinds & ARRAY:
        if leaves.kinds & (STR | OTHER):
            raise ValueError(MIXED) if current_trace() is None else _inconvertible(value)
        try:
            stacked = np.array(value)
        except ValueError:
            raise ValueError(RAGGED) from None
        if stacked.dtype == object:
            raise ValueError(RAGGED)
        if dtype is None and stacked.dtype.kind in "iu":
            dtype = dtypes.int32 if _fits_int32(stacked) else dtypes.int64
        return from_array(stacked, dtype)
    return _from_leaves(leaves, value, dtype)


def _fits_int32(array: np.ndarray) -> bool:
    return array.size == 0 or (array.min() >= dtypes.int32.min and array.max() <= dtypes.int32.max)


def _from_leaves(leaves: Leaves, value: Any, dtype: DType | None) -> EagerTensor:
    """A tensor of Python numbers or strings: the first one says of what kind, `dtype` of which type."""
    kinds, first, tracing = leaves.kinds, leaves.first, current_trace() is not None
    if kinds & OTHER and not tracing:
        culprit = next(x for x in leaves.values if not isinstance(x, _PYTHON_VALUES))
        if first == OTHER and len(leaves.values) == 1 and not leaves.dims:
            raise unsupported(culprit)
        raise ValueError(MIXED) if first != OTHER else unsupported(culprit)
    if leaves.mixed_depth:
        raise ValueError(MIXED)
    if leaves.ragged:
        raise ValueError(RAGGED)
    if kinds and not tracing and not _homogeneous(first, kinds, dtype):
        raise ValueError(MIXED)
    if tracing and dtype is None and (kinds & OTHER or (kinds & STR and kinds != STR)):
        raise _inconvertible(value)
    is_free = dtype is None
    if dtype is None:
        dtype = _default_dtype(leaves)
    elif kinds & ~_accepted(dtype):
        if tracing:
            wrong = next(x for x in leaves.values if take_apart([x]).kinds & ~_accepted(dtype))
            raise _inconvertible(wrong, dtype)
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {op_errors.message_name(dtype)}")
    shape = tuple(leaves.dims)
    if dtype is dtypes.string:
        return from_array(_object_array(leaves.values, shape), dtype)
    try:
        return from_array(_numbers(leaves.values, dtype, kinds, is_free and not tracing).reshape(shape), dtype, False)
    except OverflowError:
        raise (_inconvertible(value) if tracing and is_free else ValueError(INT_RANGE)) from None


#: Dtypes for a sequence that begins with a bool and goes on with numbers, as in TensorFlow.
_OF_BOOLS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _homogeneous(first: int, kinds: int, dtype: DType | None) -> bool:
    if first == BOOL and dtype in _OF_BOOLS:
        return not kinds & ~_accepted(dtype)
    if first in (STR, BOOL):
        return kinds == first
    if kinds & STR:
        return False
    if first in (INT, FLOAT) and kinds & COMPLEX:
        return dtype is not None and dtype.is_complex
    return True


def _accepted(dtype: DType) -> int:
    """The kinds of Python values that can be of `dtype`."""
    if dtype.is_floating:
        return FLOAT | INT | BOOL
    if dtype.is_integer or dtype.is_quantized:
        return INT | BOOL
    if dtype.is_complex:
        return COMPLEX | FLOAT | INT | BOOL
    if dtype.is_bool:
        return BOOL
    return STR if dtype is dtypes.string else 0


def _default_dtype(leaves: Leaves) -> DType:
    kinds = leaves.kinds
    if kinds == 0:
        return dtypes.float32
    if kinds & STR:
        return dtypes.string
    if kinds & COMPLEX:
        return dtypes.complex128
    if kinds & FLOAT:
        first = leaves.values[0]
        if isinstance(first, (np.floating, np.ndarray)):
            return as_dtype(first.dtype)  # a NumPy number in front keeps its precision
        return dtypes.float32
    if kinds & INT:
        small = all(-2147483648 <= x <= 2147483647 for x in leaves.values)
        return dtypes.int32 if small else dtypes.int64
    return dtypes.bool_


def _numbers(values: list[Any], dtype: DType, kinds: int, within_range: bool) -> np.ndarray:
    """The flat array of `values` in `dtype`: integers wrap, what is too large for a float32 is infinite.

    With `within_range` that is a ValueError. Raises: OverflowError for an integer of more than 64 bits.
    """
    target = dtype.plain
    if dtype.is_quantized:
        return np.array(values, target).view(dtype.numpy_dtype)
    if dtype.is_integer:
        wide = np.uint64 if dtype is dtypes.uint64 else np.int64
        return np.array([int(x) for x in values] if kinds & BOOL else values, wide).astype(target)
    if dtype.is_floating:
        doubles = np.array(values, np.float64)
        if within_range and kinds & FLOAT and dtype is dtypes.float32:
            for x, y in zip(values, doubles, strict=True):
                if not isinstance(x, int) and abs(y) >= _FLOAT32_MAX and not math.isinf(y):
                    raise ValueError(FLOAT_RANGE)
        with np.errstate(all="ignore"):
            return doubles.astype(target)
    with np.errstate(all="ignore"):
        return np.array(values, target)


def _object_array(values: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array.reshape(shape)


def _pack(value: Any, dtype: DType | None) -> Any:
    """A sequence with tensors in it: each item becomes a tensor of their dtype, then they are stacked."""
    if dtype is None:
        dtype = first_tensor_dtype(value)
    items = [
        _pack(item, dtype) if isinstance(item, (list, tuple)) and has_tensor(item) else _item(item, dtype)
        for item in value
    ]
    return get_slot("pack")(items)


def cast_items(value: Any, dtype: DType) -> Any:
    """A list or tuple with its tensors cast to `dtype`, if the first of them is of another."""
    return value if first_tensor_dtype(value) in (None, dtype) else cast_every_item(value, dtype)


def cast_every_item(item: Any, dtype: DType) -> Any:
    """A tensor, or the tensors of a nested list, cast to `dtype`; numbers stay as they are."""
    if isinstance(item, (list, tuple)):
        return [cast_every_item(each, dtype) for each in item]
    return public_function("cast")(item, dtype) if has_tensor(item) else item


def _item(item: Any, dtype: DType | None) -> Tensor:
    if isinstance(item, Tensor) or class_has(item, "__fg_tensor__"):
        return convert(item, None)  # a tensor of another dtype: the op that stacks says so
    return convert(item, dtype)


def has_tensor(value: object) -> bool:
    """Say whether a value is a tensor, or a list with one in it."""
    if isinstance(value, (list, tuple)):
        return any(has_tensor(item) for item in value)
    return isinstance(value, Tensor) or class_has(value, "__fg_tensor__")


def first_tensor_dtype(value: Sequence[Any]) -> Any:
    """The dtype of the first tensor in a nested list; None where there is none."""
    for item in value:
        if isinstance(item, (list, tuple)):
            found = first_tensor_dtype(item)
            if found is not None:
                return found
        elif isinstance(item, Tensor) or class_has(item, "__fg_tensor__"):
            return item.dtype
    return None


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
    *,
    preferred_dtype: DTypeLike | None = None,
) -> Tensor:
    """A Tensor of `value`: Tensors as they are, Variables read, arrays and Python values copied.

    Args:
        value: A Tensor, a Variable, or what `tf.constant` takes.
        dtype: The dtype that the result must have; None: any.
        dtype_hint, preferred_dtype: A dtype that is used where the value can be of it.

    Returns:
        A Tensor of the value's shape.

    Raises:
        ValueError: A Tensor has another dtype than `dtype`, or the value cannot be a tensor.
        TypeError: Python values are of another kind than `dtype`.

    Examples:
        >>> tf.convert_to_tensor(np.array([1.5, 2.5]))
        <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1.5, 2.5])>
        >>> tf.convert_to_tensor([1, 2], dtype_hint=tf.float32)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
        >>> tf.convert_to_tensor([1.5], tf.int32)
        Traceback (most recent call last):
            ...
        TypeError: Cannot convert [1.5] to EagerTensor of dtype int32

    Source: tf.convert_to_tensor.
    """
    found = _converted(value, dtype, dtype_hint if dtype_hint is not None else preferred_dtype)
    return found if name is None or is_tensor(value) else _named(found, name)


def _converted(value: TensorLike, dtype: DTypeLike | None, hint: DTypeLike | None) -> Tensor:
    if dtype is not None:
        return convert(value, as_dtype(dtype))
    if hint is not None and not isinstance(value, Tensor):
        try:
            return convert(value, as_dtype(hint))
        except (TypeError, ValueError):
            pass
    return convert(value, None)


#: Classes of usual arguments of `constant`; of other classes it asks whether they make a tensor themselves.
_CONSTANTS = (float, int, list, tuple, np.ndarray, str, Tensor)


def constant(value: Any, dtype: DTypeLike | None = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor of `value`, copied. Source: tf.constant.

    Args:
        value: A number, string, array or nested list of them; an int is int32 (else int64), a float float32.
        dtype: What the elements are to be; None: what follows from the value.
        shape: The result's shape. One number fills it, as many as it has elements are laid out in it row by row.

    Returns:
        A Tensor of `dtype` and of the value's shape or `shape`.

    Raises:
        TypeError: `value` cannot be of `dtype` or does not fit `shape`.

    Examples:
        >>> tf.constant([[1, 2], [3, 4]])
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[1, 2],
               [3, 4]], dtype=int32)>
        >>> tf.constant(0.5, shape=[2])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.5, 0.5], dtype=float32)>
        >>> tf.constant("half", tf.float16)
        Traceback (most recent call last):
            ...
        TypeError: Cannot convert 'half' to EagerTensor of dtype half
    """
    wanted = as_dtype(dtype) if dtype is not None else None
    if not isinstance(value, _CONSTANTS) and class_has(value, "__tf_tensor__"):
        raise unsupported(value)
    if isinstance(value, Tensor) and wanted is not None and value.dtype is not wanted:
        raise TypeError(f"Expected tensor {value} with dtype {wanted!r}, but got dtype {value.dtype!r}.")
    if isinstance(value, TensorShape) and wanted not in (None, dtypes.int32, dtypes.int64):
        value = value.as_list()  # as a list, of any dtype: only convert_to_tensor keeps to dtypes of shapes
    if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
        raise TypeError(f"Expected any non-tensor type, but got a tensor instead: {value!r}.")
    if shape is None:
        return _named(convert(value, wanted), name)
    dims = shape_dims(shape if current_trace() is None else whole_numbers(shape))
    tensor = _convert(value, wanted) if not isinstance(value, Tensor) else value
    if not isinstance(tensor, EagerTensor):
        raise TypeError(f"constant() with a shape takes a value, not the symbolic {tensor!r}")
    if tensor.dims != dims:
        count = math.prod(dims)
        if tensor.num_elements == count:
            tensor = from_array(np.asarray(tensor).reshape(dims), None, tensor.dtype is dtypes.string)
        elif tensor.num_elements == 1:
            tensor = filled(dims, np.asarray(tensor).reshape(()), tensor.dtype)
        elif current_trace() is not None:
            raise TypeError(f"Expected Tensor's shape: {dims}, but got {tensor.shape}.")
        else:
            raise TypeError(
                f"Eager execution of tf.constant with unsupported shape. Tensor {tensor:} (converted from {value}) "
                f"has {tensor.num_elements} elements, but got `shape` {dims} with {count} elements)."
            )
    trace = current_trace()
    made: Tensor = tensor if trace is None else trace.constant(tensor)
    return _named(made, name)


def _named(tensor: Tensor, name: str) -> Tensor:
    """The tensor; a new constant of a trace is called `name`."""
    trace: Any = current_trace()
    if trace is not None:
        trace.name_constant(tensor, name)
    found: Tensor = tensor
    return found


def filled(dims: tuple[int, ...], value: TensorLike, dtype: DType) -> EagerTensor:
    """An eager tensor of shape `dims` with every element `value`."""
    check_size(dims)
    return from_array(np.broadcast_to(np.asarray(value, dtype.numpy_dtype), dims), dtype)


def whole_numbers(shape: Any) -> Any:
    """A shape of Python's and NumPy's numbers as integers: in a graph TensorFlow calls int() on them."""
    if isinstance(shape, np.ndarray) and shape.dtype.kind == "f":
        shape = shape.tolist()
    numbers = isinstance(shape, list | tuple) and all(
        isinstance(n, int | float | np.generic | np.ndarray) for n in shape
    )
    return [int(n) for n in shape] if numbers else shape


def shape_dims(shape: Sequence[int]) -> tuple[int, ...]:
    """`shape` (a sequence of ints, an int, a TensorShape, a 1-D integer tensor) as a tuple of sizes.

    ValueError for a negative or unknown size, InvalidArgumentError if the number of elements does not fit an int64.
    """
    dims: tuple[int | None, ...]
    if isinstance(shape, TensorShape):
        dims = tuple(shape.as_list())
    elif isinstance(shape, (Tensor, np.ndarray)):
        array = np.asarray(shape)
        if array.dtype.kind not in "iu":
            raise TypeError(f"A shape must be of integers, not {array.dtype}")
        dims = tuple(int(d) for d in array.reshape(-1))
    elif isinstance(shape, (int, np.integer)):
        dims = (int(shape),)
    else:
        dims = tuple(TensorShape(shape).as_list())
    known = tuple([d for d in dims if d is not None])
    if len(known) != len(dims):
        raise ValueError(f"The shape {dims} must be fully known here")
    for d in known:
        if d < 0:
            raise ValueError(f"Dimension {d} must be >= 0")
    check_size(known)
    return known


def check_size(dims: tuple[int, ...]) -> None:
    """Raise InvalidArgumentError if a shape has more elements than an int64 counts, or too many dimensions."""
    if len(dims) > op_errors.MAX_RANK:
        raise InvalidArgumentError(None, None, op_errors.rank_too_large(len(dims)))
    if 0 in dims:
        return
    total = 1
    for d in dims:
        if total * d > 2**63 - 1:
            raise InvalidArgumentError(
                None, None, f"Encountered overflow when multiplying {total} with {d}, result: -1"
            )
        total *= d


register_slot("convert", convert_value)
