"""What public functions do with their arguments: numbers that decide shapes and axes, known now or only at run time.

Rule: what is known while the op is called becomes an attribute; only what is not becomes a tensor input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph._tensor import EagerTensor, Tensor, as_array, bind, convert, current_trace
from fastgraph.conversion import INT_RANGE, unsupported
from fastgraph.dtype import DType, as_dtype
from fastgraph.errors import InvalidArgumentError
from fastgraph.op_errors import message_name
from fastgraph.ops.families import bind_named, dtype_set, shape_text
from fastgraph.primitive import get
from fastgraph.shapes import TensorShape


def no_layout(layout: Any) -> ValueError:
    """The error for a layout of DTensor: tensors are of one device."""
    return ValueError(f"Tensors are of one device: a layout of DTensor is not built, got layout={layout!r}")


def as_tensor(value: Any, dtype: Any = None) -> Tensor:
    """`value` as a Tensor, of `dtype` if it has none of its own. TypeError or ValueError as TensorFlow raises them.

    A composite that no one tensor can stand for stays what it is: the op, once applied, asks it.
    """
    if isinstance(value, Tensor):
        return value
    if hasattr(type(value), "__fg_bind__"):
        return value  # type: ignore[no-any-return]
    return convert(value, None if dtype is None or has_dtype(value) else as_dtype(dtype))


def has_dtype(value: Any) -> bool:
    """Whether a value is a tensor, or like a Variable always the same one: its dtype is nobody's to choose."""
    return isinstance(value, Tensor) or hasattr(type(value), "__fg_tensor__")


def known_value(value: Any) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor if they are known now: eager, a constant, or what follows from shapes."""
    found: np.ndarray[Any, Any] | None = as_array(value) if isinstance(value, EagerTensor) else value.aval.value
    return found


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


def index_list(value: Any, what: str) -> list[int]:
    """The attribute `what`, integers in a list, array or tensor that is known. Raises: TypeError for anything else."""
    if isinstance(value, Tensor):
        value = known_value(value)
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"Expected list for attr {what}, got {value!r}")
    return [whole(v, what) for v in np.ravel(np.asarray(value)).tolist()]


def word(value: Any, what: str) -> str:
    """The attribute `what`, a str or bytes in UTF-8. Raises: TypeError for anything else, as TensorFlow's ops do."""
    try:
        if isinstance(value, bytes):
            return value.decode()
    except UnicodeDecodeError:
        pass
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{what}' not {value!r}.")
    return value


def of_dtypes(value: Tensor, words: str, letter: str = "T") -> Tensor:
    """`value`, if its dtype is one that `words` list (DTYPE_SETS); for public functions written in ops that take more.

    Raises: InvalidArgumentError with TensorFlow's text; in a graph TypeError.
    """
    allowed = dtype_set(words)
    if value.dtype not in allowed:
        text = (
            f"Value for attr '{letter}' of {message_name(value.dtype)} is not in the list of allowed values: "
            f"{', '.join(message_name(dtype) for dtype in allowed)}"
        )
        raise InvalidArgumentError(None, None, text) if current_trace() is None else TypeError(text)
    return value


def static_int(value: Any, no_scalar: str = "") -> int | None:
    """An integer argument if it is known now, else None. TypeError if it is not an integer.

    One element is enough; with `no_scalar`, what is said (then its shape) of what is no scalar, it is not.
    """
    if type(value) is int:
        return _held(value)
    if isinstance(value, Tensor):
        if no_scalar and value.shape.rank:
            raise InvalidArgumentError(None, None, f"{no_scalar} {shape_text(value.shape.as_list())}")
        found = known_value(_integers(value))
        if found is not None and found.size != 1:
            raise InvalidArgumentError(None, None, f"Expected a single integer, got shape {shape_text(found.shape)}")
        return None if found is None else _held(int(found.reshape(())))
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if hasattr(type(value), "__index__"):
        return _held(int(value.__index__()))
    return static_int(as_tensor(value), no_scalar)


def _integers(value: Tensor) -> Tensor:
    """`value`, if it is of integers. Raises: InvalidArgumentError as TensorFlow's ops do for axes and sizes."""
    if not value.dtype.is_integer:
        raise InvalidArgumentError(
            None,
            None,
            f"Value for attr 'Tidx' of {message_name(value.dtype)} is not in the list of allowed values: int32, int64",
        )
    return value


def static_axes(axis: Any) -> tuple[int, ...] | None:
    """Axes given as an int, a list of ints or a tensor, as a tuple. NotImplementedError if they are not known now."""
    if axis is None:
        return None
    if type(axis) is int:
        return (_held(axis),)
    if isinstance(axis, Tensor):
        found = known_value(_integers(axis))
        if found is None:
            raise NotImplementedError("An axis must be known while a function is traced; give it as a Python int.")
        return tuple(_held(int(a)) for a in np.ravel(found))
    if isinstance(axis, (list, tuple, np.ndarray, range)):
        return tuple(_axis(a) for a in (np.ravel(axis) if isinstance(axis, np.ndarray) else axis))
    return (_axis(axis),)


def _axis(axis: Any) -> int:
    found = static_int(axis)
    if found is None:
        raise NotImplementedError("An axis must be known while a function is traced; give it as a Python int.")
    return found


def known_axes(axis: Any) -> tuple[int, ...]:
    """`static_axes` of an argument that must be given."""
    found = static_axes(axis)
    if found is None:
        raise unsupported(None)
    return found


def known_axis(axis: Any) -> int:
    """`known_axes` of an argument that is one axis. Raises: InvalidArgumentError if it is another number of them."""
    found = known_axes(axis)
    if len(found) != 1:
        raise InvalidArgumentError(None, None, f"An axis must be a scalar, got {len(found)} numbers: {axis!r}")
    return found[0]


class Extents:
    """A shape argument: `static`, a tuple of ints, or, where that is None, `tensor` and what is `known` of it."""

    __slots__ = ("known", "static", "tensor")

    def __init__(
        self, static: tuple[int, ...] | None, tensor: Any = None, known: tuple[int | None, ...] | None = None
    ) -> None:
        self.static = static
        self.tensor = tensor
        self.known = known


def extents(shape: Any) -> Extents:
    """A shape given as TensorShape, list (also with tensors in it), array or tensor. Scalars count as one extent."""
    if type(shape) is tuple or type(shape) is list:
        for n in shape:
            if type(n) is not int or not -(2**63) <= n < 2**63:
                break
        else:
            return Extents(tuple(shape))
        return _mixed_extents(shape)
    if isinstance(shape, TensorShape):
        dims = shape.as_list()
        if None in dims:
            raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
        return Extents(tuple(n for n in dims if n is not None))
    if type(shape) is int:
        return Extents((_held(shape),))
    tensor = as_tensor(shape)
    value = known_value(tensor)
    if not tensor.dtype.is_integer:
        if tensor.shape.rank == 1 and tensor.shape[0] == 0:
            return Extents(())
        if isinstance(shape, Tensor):
            of_dtypes(tensor, "index", "Tshape")
        raise TypeError(f"A shape must be integers, not {tensor.dtype.name}: {shape!r}")
    if tensor.shape.rank is not None and tensor.shape.rank > 1:
        text = f"shape must be a vector of {{int32,int64}}, got shape {shape_text(tensor.shape.as_list())}"
        raise InvalidArgumentError(None, None, text)
    if value is not None:
        return Extents(tuple(_held(int(n)) for n in np.ravel(value)))
    return Extents(None, tensor)


def _mixed_extents(shape: Any) -> Extents:
    known: list[int | None] = []
    for n in shape:
        if n is None:
            raise ValueError(f"Cannot convert a partially known TensorShape {TensorShape(list(shape))} to a Tensor.")
        if isinstance(n, float):
            raise TypeError(f"A shape must be integers: {shape!r}")
        if isinstance(n, (list, tuple)):  # rows of them are no shape
            return extents(as_tensor(shape))
        known.append(static_int(n))
    if None not in known:
        return Extents(tuple(_held(n) for n in known if n is not None))
    types = [n.dtype for n in shape if isinstance(n, Tensor)]
    dtype = as_dtype("int64") if as_dtype("int64") in types else types[0]
    return Extents(None, stack_scalars(shape, dtype), tuple(None if n == -1 else n for n in known))


def stack_scalars(values: Any, dtype: DType) -> Any:
    """A vector of scalars, some of them tensors known only at run time."""
    scalars = [v if isinstance(v, Tensor) else convert(int(v), dtype) for v in values]
    scalars = [v if v.dtype is dtype else bind(get("cast"), (v,), {"dtype": dtype}) for v in scalars]
    return bind(get("stack"), tuple(scalars), {"axis": 0})


def index_vector(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """A static shape as the array that stands for it as an input."""
    try:
        array = np.array(shape, np.int64)
    except OverflowError:
        raise ValueError(INT_RANGE) from None
    return array.astype(np.int32) if not len(shape) or (array.max() < 2**31 and array.min() >= -(2**31)) else array


def named(name: str | None, function: Callable[..., Any], *inputs: Any, **attrs: Any) -> Any:
    """Apply the op behind `function`; a graph's node takes `name`."""
    if name is None:
        return bind(function.primitive, inputs, attrs)  # type: ignore[attr-defined]
    return bind_named(name, function.primitive, inputs, attrs)  # type: ignore[attr-defined]
