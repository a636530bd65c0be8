"""Attributes and tensors of GraphDefs as Python values: what `exporter` writes, read back."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import ALL, STORED, DType
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.messages import Message, TensorProto, TensorShapeProto
from fastgraph.graphdef.op_table import Dims
from fastgraph.ops.arguments import known_value

_DTYPES = {dtype.code: dtype for dtype in (*ALL, *STORED)}


def dtype_of(enum: int) -> DType:
    """Return the dtype of a number of the enum DataType. Raises NotFoundError for what has no equal here."""
    found = _DTYPES.get(int(enum))
    if found is None:
        raise NotFoundError(None, None, f"tensors of type {Enum(enum).name} have no equal here")
    return found


def field_of(message: Message, name: str, default: object = None) -> Any:
    """Return a field, or what is there where it was not written."""
    if "" in message.__dict__:
        message._settle()
    return message.__dict__.get(name, default)


#: Values of attributes of few bytes, by the bytes, and how many bytes these are at most.
_READ: dict[bytes, Any] = {}
_FEW = 24


def attribute(message: Message) -> Any:
    """Return an AttrValue as the table has it: a number, str, DType, Dims, tensor, name of a function, or a list."""
    content = message.__dict__.get("")
    if type(content) is bytes and len(content) <= _FEW:
        found = _READ.get(content)
        if found is None:
            found = _value(message)
            if not isinstance(found, list) and len(_READ) < 100_000:
                _READ[content] = found
        return found
    return _value(message)


def _value(message: Message) -> Any:
    for field, value in message._set():
        return _plain(field.name, value)
    return None


def attributes(node: Message) -> dict[str, Any]:
    """Return the attributes of a node by name, see `attribute`."""
    return {key: attribute(value) for key, value in field_of(node, "attr", {}).items()}


_MOST_BYTES = 1 << 31  # of a constant whose elements are alike: as much as a GraphDef can spell out


def _plain(name: str, value: Any) -> Any:
    if name == "list":
        return [_plain(field.name, item) for field, items in value._set() for item in items]
    if name == "s":
        return value.decode(errors="surrogateescape")
    if name == "b":
        return bool(value)
    if name == "type":
        return dtype_of(value)
    if name == "shape":
        return Dims(dims_of(value))
    if name == "tensor":
        return tensor_of(value)
    return value.name if name == "func" else value


def dims_of(shape: Message) -> tuple[int | None, ...] | None:
    if field_of(shape, "unknown_rank"):
        return None
    sizes = [field_of(dim, "size", 0) for dim in field_of(shape, "dim", [])]
    return tuple([None if size < 0 else size for size in sizes])


def tensor_of(message: Message) -> EagerTensor:
    """Return the tensor of a TensorProto. Raises ValueError if its elements do not fit its shape."""
    message._set()
    dtype = dtype_of(message.dtype)
    dims = dims_of(field_of(message, "tensor_shape", TensorShapeProto())) or ()
    n = math.prod(size or 0 for size in dims)
    content = field_of(message, "tensor_content")
    if content and dtype.name == "string":
        array = np.array([*_strings_of(content, n)], object)
    elif content:
        array = np.frombuffer(message.tensor_content, dtype.numpy_dtype).copy()
    else:
        listed: list[Any] = next((value for field, value in message._set() if field.name.endswith("_val")), [])
        if dtype.name == "string":
            array = np.array([*listed], object)
        elif dtype.is_complex:
            array = np.array(listed, np.float64).reshape(-1, 2) @ np.array([1, 1j])
        elif dtype.name in ("float16", "bfloat16"):
            array = np.array(listed, np.uint16).view(dtype.numpy_dtype)
        else:
            array = np.array(listed).astype(dtype.numpy_dtype)
        if array.size < n and n * array.itemsize > _MOST_BYTES:
            raise ValueError(f"a constant of shape {dims} takes more than 2 GiB")
        if array.size < n:  # the last one stands for the rest
            last = array[-1:] if array.size else np.zeros(1, array.dtype)
            array = np.concatenate([array, np.repeat(last, n - array.size)])
    if array.size != n:
        raise ValueError(f"a tensor of shape {dims} has {n} elements, and {array.size} were given")
    return from_array(array.reshape(dims), dtype)


def _strings_of(content: bytes, n: int) -> list[bytes]:
    """Return n strings written one behind the other after their lengths. Raises ValueError if they are not there."""
    lengths: list[int] = []
    at = 0
    while len(lengths) < n:
        length = shift = 0
        while True:
            if at == len(content) or shift > 63:
                raise ValueError(f"{len(content)} bytes are not {n} strings")
            byte = content[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise ValueError(f"{len(content)} bytes are not {n} strings")
    ends = list(itertools.accumulate(lengths, initial=at))
    return [content[a:b] for a, b in itertools.pairwise(ends)]


def fixed(tensor: object, what: str) -> Any:
    """Return the elements of an argument that must be known. Raises NotFoundError if they are not."""
    found = known_value(tensor)
    if found is None:
        raise NotFoundError(None, None, f"{what} must be a constant")
    return np.array(found)


def fixed_words(tensor: Any, what: str) -> np.ndarray:
    """Return texts that must be known. Raises NotFoundError if they are not."""
    node = None if isinstance(tensor, EagerTensor) else tensor.value.node
    while node is not None and node.op.name == "identity":
        node = node.inputs[0].node
    found = tensor if node is None else node.attrs.get("value")
    if found is None or found.dtype.name != "string":
        raise NotFoundError(None, None, f"{what} must be a constant")
    return np.array(found.numpy(), object)


def fixed_text(tensor: Any, what: str) -> bytes:
    """Return a text that must be known. Raises NotFoundError if it is not."""
    found = fixed_words(tensor, what)
    if found.ndim:
        raise NotFoundError(None, None, f"{what} must be a constant")
    return bytes(found.item())


def make_ndarray(tensor: Any) -> np.ndarray:
    """Return the elements of a TensorProto as an array; strings are bytes. Source: tf.make_ndarray.

    Raises ValueError if there are more or fewer than its shape has, NotFoundError for types that have no equal here.
    """
    message = tensor if isinstance(tensor, Message) else TensorProto.FromString(tensor.SerializeToString())
    return np.array(tensor_of(message).numpy(), object if message.dtype == Enum("DT_STRING") else None)
