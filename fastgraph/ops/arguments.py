"""Arguments of public functions made ready for ops: numbers that decide shapes and axes, known now or only at run time.

Rule: what is known while the op is called becomes an attribute; only what is not becomes a tensor input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import (
    INT_RANGE,
    SizeLike,
    TensorLike,
    cast_every_item,
    cast_items,
    convert_to_tensor,
    first_tensor_dtype,
    has_tensor,
    unsupported,
)
from fastgraph.core.op_errors import message_name
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, bind, class_has, convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.families import bind_named, dtype_set, invalid, shape_text


def no_layout(layout: object) -> ValueError:
    """The error for a layout of DTensor: tensors are of one device."""
    return ValueError(f"Tensors are of one device: a layout of DTensor is not built, got layout={layout!r}")


def as_tensor(value: Any, dtype: DTypeLike | None = None) -> Tensor:
    """`value` as a Tensor, of `dtype` if it has none of its own. TypeError or ValueError as TensorFlow raises them.

    A composite that no one tensor can stand for stays what it is: the op, once applied, asks it.
    """
    if isinstance(value, Tensor):
        return value
    if class_has(value, "__fg_bind__"):
        return value
    return convert(value, None if dtype is None or has_dtype(value) else as_dtype(dtype))


def converted_like(value: Any, other: Tensor) -> Tensor:
    """`value` as a Tensor, of `other`'s dtype if it has none of its own and can be that."""
    if isinstance(value, Tensor):
        return value
    try:
        return as_tensor(value, other.dtype)
    except (TypeError, ValueError):
        return as_tensor(value)


def alike(values: Any) -> list[Tensor]:
    """`values` as Tensors: those without a dtype of their own take that of the first that has one, else the first's."""
    dtype = next((value.dtype for value in values if has_dtype(value)), None)
    tensors: list[Tensor] = []
    for value in values:
        tensors.append(as_tensor(value, dtype or (tensors[0].dtype if tensors else None)))
    return tensors


def tensor_of(value: TensorLike, dtype: DType) -> Tensor:
    """`value` as a Tensor of `dtype` and no other. Raises: ValueError for a tensor or a Variable of another dtype."""
    return convert_to_tensor(value, dtype) if has_dtype(value) else as_tensor(value, dtype)


def has_dtype(value: TensorLike) -> bool:
    """Return whether a value is a tensor, or like a Variable always the same one: its dtype is nobody's to choose."""
    return isinstance(value, Tensor) or class_has(value, "__fg_tensor__")


def preferred(value: TensorLike, dtype: DType) -> Tensor:
    """`value` as a Tensor of integers, of `dtype` if it has none: arrays and tensors in lists are cast, others not.

    Lists whose first tensor is of int64 keep it: 2**32 cut to 32 bits would be another axis, and a valid one.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and first_tensor_dtype(value) is int64:
        return as_tensor(cast_every_item(value, int64))
    if isinstance(value, np.ndarray | np.generic):
        kept = value.dtype.kind in "iu"
    else:
        kept = not has_tensor(value)
    return as_tensor(value) if kept else convert_to_tensor(value, dtype_hint=dtype)


def known_value(value: Any) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor if they are known now: eager, a constant, or what follows from shapes."""
    return as_array(value) if isinstance(value, EagerTensor) else value.aval.value


def are_known(*values: TensorLike | None) -> bool:
    """Return whether arguments of integers are known now, as all are that are no tensors."""
    return not any(v is not None and has_tensor(v) and known_value(preferred(v, int32)) is None for v in values)


def _held(value: int) -> int:
    """`value`, if an int64 holds it. Raises: ValueError, as making a tensor of it would."""
    if not -(2**63) <= value < 2**63:
        raise ValueError(INT_RANGE)
    return value


def whole(value: Any, what: str, bits: int = 64) -> int:
    """The attribute `what`, a Python number or whatever int() takes of what is not complex.

    Raises: TypeError for anything else; InvalidArgumentError, or ValueError in a graph, for what `bits` do not hold.
    """
    if type(value) is not int:
        dtype = getattr(value, "dtype", None)
        try:
            if isinstance(value, (str, bytes)) or (dtype is not None and as_dtype(dtype).is_complex):
                raise TypeError
            value = int(value)
        except Exception:  # whatever its __int__ says
            raise TypeError(f"Expected int for argument '{what}' not {value!r}.") from None
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        text = f"Attr {what} has value {value} out of range for an int{bits}"
        raise InvalidArgumentError(None, None, text) if current_trace() is None else ValueError(text)
    return int(value)


def real(value: Any, what: str) -> float:
    """The attribute `what`, a number or whatever float() takes that is no text. Raises: TypeError for anything else."""
    try:
        if isinstance(value, (str, bytes)) or value is np.ma.masked:
            raise TypeError
        number = float(value)
    except Exception:  # whatever its __float__ says
        raise TypeError(f"Expected float for argument '{what}' not {value!r}.") from None
    return number


def index_list(value: TensorLike | None, what: str) -> list[int]:
    """The attribute `what`, integers in a list, array or tensor that is known. Raises: TypeError for anything else."""
    if isinstance(value, Tensor):
        value = known_value(value)
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"Expected list for attr {what}, got {value!r}")
    return [whole(v, what) for v in np.ravel(np.asarray(value)).tolist()]


def word(value: TensorLike | None, what: str) -> str:
    """The attribute `what`, a str or bytes in UTF-8. Raises: TypeError for anything else, as TensorFlow's ops do."""
    try:
        if isinstance(value, bytes):
            return value.decode()
    except UnicodeDecodeError:
        pass
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{what}' not {value!r}.")
    return value


def not_allowed(dtype: DType, letter: str, allowed: str) -> str:
    """TensorFlow's text for an argument of a dtype that the attribute does not take: "Tidx", or "Sum.Tidx" of an op."""
    op, _, letter = letter.rpartition(".")
    text = f"Value for attr '{letter}' of {message_name(dtype)} is not in the list of allowed values: {allowed}"
    return f"{text}\n\t; NodeDef: {{{{node {op}}}}}; Op<name={op}> [Op:{op}]" if op else text


def refused(text: str) -> Exception:
    """The error for a dtype that an op does not take: InvalidArgumentError; in a graph TypeError."""
    return InvalidArgumentError(None, None, text) if current_trace() is None else TypeError(text)


def of_dtypes(value: Tensor, words: str, letter: str = "T") -> Tensor:
    """`value`, if its dtype is one that `words` list (DTYPE_SETS); for public functions written in ops that take more.

    Raises: InvalidArgumentError with TensorFlow's text; in a graph TypeError.
    """
    allowed = dtype_set(words)
    if value.dtype not in allowed:
        raise refused(not_allowed(value.dtype, letter, ", ".join(message_name(dtype) for dtype in allowed)))
    return value


def static_int(value: Any, no_scalar: str = "", letter: str = "", hint: bool = True) -> int | None:
    """An integer argument if it is known now, else None. TypeError if it is not an integer.

    One element is enough; with `no_scalar`, what is said (then its shape) of what is no scalar, it is not. `letter` is
    the attribute that TensorFlow's op has for its dtype, int32 or int64 (none: any integers are taken); without a
    `hint` of int32 NumPy's numbers and bools keep their dtype, and must have one that the op takes.
    """
    if type(value) is int:
        return _held(value)
    if isinstance(value, Tensor):
        tensor = _integers(value, letter)
        if no_scalar and tensor.shape.rank:
            raise invalid(f"{no_scalar} {shape_text(tensor.shape.as_list())}")
        found = known_value(tensor)
        if found is not None and found.size != 1:
            raise invalid(f"Expected a single integer, got shape {shape_text(found.shape)}")
        return None if found is None else _held(int(found.reshape(())))
    if isinstance(value, (bool, np.bool_, np.generic, float)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        if not hint:
            return static_int(as_tensor(value), no_scalar, letter)
        if isinstance(value, float) and not isinstance(value, np.generic):
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int32")
        try:
            return int(value)
        except Exception:  # masked, infinite, text
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int32") from None
    kind = type(value)
    if hasattr(kind, "__index__") and not isinstance(value, np.ndarray) and not hasattr(kind, "__fg_tensor__"):
        return _held(int(value.__index__()))
    if isinstance(value, (str, bytes)) and not letter:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype int32")
    listed = isinstance(value, (list, tuple)) and not has_tensor(value)
    return static_int(_listed(value) if listed else preferred(value, int32), no_scalar, letter)


def _integers(value: Tensor, letter: str = "Tidx") -> Tensor:
    """`value`, if it is of integers. Raises: InvalidArgumentError as TensorFlow's ops do, in a graph TypeError."""
    if not value.dtype.is_integer or (letter and value.dtype.name not in ("int32", "int64")):
        raise refused(not_allowed(value.dtype, letter or "Tidx", "int32, int64"))
    return value


class UnknownAxis(NotImplementedError):
    """An axis that only a run knows, given where it must be known while a function is traced."""

    def __init__(self) -> None:
        super().__init__("An axis must be known while a function is traced; give it as a Python int.")


def static_axes(axis: Any, letter: str = "Tidx", hint: bool = True) -> tuple[int, ...] | None:
    """Axes given as an int, a list of ints or a tensor, as a tuple. UnknownAxis if they are not known now."""
    if axis is None:
        return None
    if type(axis) is int:
        return (_held(axis),)
    if isinstance(axis, Tensor):
        found = known_value(_integers(axis, letter))
        if found is None:
            raise UnknownAxis()
        if found.ndim > 1 and current_trace() is not None:  # eager mode takes them, as TensorFlow's
            raise invalid(f"Shape must be at most rank 1 but is rank {found.ndim}")
        return tuple(_held(int(a)) for a in np.ravel(found))
    if isinstance(axis, np.ndarray) and axis.ndim:
        return static_axes(preferred(axis, int32) if axis.dtype.kind == "f" else as_tensor(axis), letter)
    if isinstance(axis, (list, tuple, range)):
        if not all(type(a) is int for a in axis):
            if not has_tensor(axis):
                return static_axes(_listed(axis), letter)
            axis = whole_items(axis)
        return tuple(known_axis(a, letter=letter) for a in axis)
    return (known_axis(axis, letter=letter, hint=hint),)


def _listed(numbers: Sequence[Any]) -> Any:
    """A list of numbers as a tensor; an empty one is of int32."""
    return as_tensor(numbers, None if len(numbers) else "int32")


def known_axes(axis: TensorLike, letter: str = "Tidx", hint: bool = True) -> tuple[int, ...]:
    """`static_axes` of an argument that must be given."""
    found = static_axes(axis, letter, hint)
    if found is None:
        raise unsupported(None)
    return found


def known_axis(axis: TensorLike | None, no_scalar: str = "", letter: str = "Tidx", hint: bool = True) -> int:
    """`static_int` of an axis, which must be given. Raises: UnknownAxis if it is not known now."""
    if axis is None:
        raise unsupported(None)
    found = static_int(axis, no_scalar, letter, hint)
    if found is None:
        raise UnknownAxis()
    return found


class Extents:
    """A shape argument: `static`, a tuple of ints, or, where that is None, `tensor`."""

    __slots__ = ("static", "tensor")

    def __init__(self, static: tuple[int, ...] | None, tensor: Any = None) -> None:
        self.static = static
        self.tensor = tensor


def extents(shape: SizeLike, letter: str = "Tshape", no_vector: str = "") -> Extents:
    """A shape given as TensorShape, list (also with tensors in it), array or tensor. Scalars count as one extent.

    With `no_vector`, what is said of a scalar, they are refused. `letter` is the attribute that TensorFlow's op has for
    the shape's dtype, with the op's name if one op alone is meant; without one it asks for int32.
    Raises: InvalidArgumentError, TypeError or ValueError likewise.
    """
    if type(shape) is tuple or type(shape) is list:
        for n in shape:
            if type(n) is not int or not -(2**63) <= n < 2**63:
                break
        else:
            return Extents(tuple(shape))
        return _mixed_extents(shape, letter)
    if isinstance(shape, TensorShape):
        dims = shape.as_list()
        if None in dims:
            raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
        return Extents(tuple(n for n in dims if n is not None))
    if type(shape) is int and not no_vector:
        return Extents((_held(shape),))
    tensor = as_tensor(shape)
    if not isinstance(tensor, Tensor):  # that of a RaggedTensor: the op asks it
        return Extents(None, tensor)
    if isinstance(shape, np.ndarray | np.generic) and not tensor.dtype.is_integer:
        tensor = preferred(shape, int32)
    value = known_value(tensor)
    if not tensor.dtype.is_integer and tensor.shape.rank == 1 and tensor.shape[0] == 0:
        return Extents(())
    if isinstance(shape, Tensor) or (letter and not tensor.dtype.is_integer):
        of_dtypes(tensor, "index", letter or "Tshape")
    elif not tensor.dtype.is_integer:
        raise TypeError(f"Cannot convert {shape!r} to EagerTensor of dtype int32")
    if no_vector and tensor.shape.rank == 0:
        raise invalid(no_vector)
    if tensor.shape.rank is not None and tensor.shape.rank > 1:
        text = f"shape must be a vector of {{int32,int64}}, got shape {shape_text(tensor.shape.as_list())}"
        raise invalid(text)
    if value is not None:
        return Extents(tuple(_held(int(n)) for n in np.ravel(value)))
    return Extents(None, tensor)


def _mixed_extents(shape: Sequence[Any], letter: str) -> Extents:
    if any(n is None for n in shape):
        if current_trace() is not None:
            raise unsupported(shape)
        raise ValueError(f"Cannot convert a partially known TensorShape {TensorShape(list(shape))} to a Tensor.")
    shape = whole_items([convert(n) if class_has(n, "__fg_tensor__") else n for n in shape])  # Variables, too
    if any(isinstance(n, (float, str, bytes, list, tuple)) for n in shape):  # no shape, whatever else is in it
        tensor = as_tensor(shape)
        if not letter and not tensor.dtype.is_integer:
            raise TypeError(f"Cannot convert {shape!r} to EagerTensor of dtype int32")
        return extents(of_dtypes(tensor, "index", letter or "Tshape"))
    known = [static_int(n) for n in shape]
    if None not in known:
        return Extents(tuple(_held(n) for n in known if n is not None))
    types = [n.dtype for n in shape if isinstance(n, Tensor)]
    dtype = as_dtype("int64") if as_dtype("int64") in types else types[0]
    return Extents(None, stack_scalars(shape, dtype))


def holds_int64(values: TensorLike) -> bool:
    """Return whether a list has a tensor of int64 in it."""
    return isinstance(values, list | tuple) and any(isinstance(v, Tensor) and v.dtype.name == "int64" for v in values)


def whole_items(values: Any) -> Any:
    """A list with tensors in it of which the first is not of integers: these cast to int32, as are NumPy's numbers."""
    if not isinstance(values, list | tuple):
        return values
    tensors = [each for each in values if isinstance(each, Tensor)]
    if not tensors:
        return values
    if not tensors[0].dtype.is_integer and tensors[0].dtype.name not in ("bool", "string"):
        values = cast_items(values, int32)
    return [preferred(each, int32) if isinstance(each, np.ndarray | np.generic) else each for each in values]


def stack_scalars(values: Sequence[Any], dtype: DType) -> Any:
    """A vector of scalars, some of them tensors known only at run time."""
    scalars = [v if isinstance(v, Tensor) and type(v) is not EagerTensor else convert(int(v), dtype) for v in values]
    scalars = [v if v.dtype is dtype else bind(get("cast"), (v,), {"dtype": dtype}) for v in scalars]
    return bind(get("stack"), tuple(scalars), {"axis": 0})


def index_vector(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A static shape as the array that stands for it as an input."""
    narrow = not len(shape) or (max(shape) < 2**31 and min(shape) >= -(2**31))
    try:
        return np.array(shape, np.int32 if narrow else np.int64)
    except OverflowError:
        raise ValueError(INT_RANGE) from None


def residual_shape(extents: TensorLike) -> Any:
    """Return a shape that a gradient kept as the input of an op."""
    return index_vector(extents) if isinstance(extents, tuple) else extents


def named(name: str | None, function: Callable[..., Any], *inputs: Any, **attrs: Any) -> Any:
    """Apply the op behind `function`; a graph's node takes `name`."""
    if name is None:
        return bind(function.primitive, inputs, attrs)  # type: ignore[attr-defined]
    return bind_named(name, function.primitive, inputs, attrs)  # type: ignore[attr-defined]
