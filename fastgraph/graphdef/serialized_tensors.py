"""Tensors, sparse tensors and Examples as strings: tf.io.serialize_tensor, serialize_sparse, decode_json_example, ...

Rule: what a string holds is checked against its own size before a tensor is made of it.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor, as_sparse
from fastgraph.core.base.dtype import DTypeLike, as_dtype, int64, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.core.tensor import Tensor, as_array
from fastgraph.graphdef import example_messages
from fastgraph.graphdef.import_values import dims_of, dtype_of, tensor_of
from fastgraph.graphdef.message_types import KINDS, Enum, Field
from fastgraph.graphdef.node_bytes import field, varint
from fastgraph.graphdef.wire_format import parsed
from fastgraph.ops.arguments import as_tensor, named, whole
from fastgraph.ops.families import Array, custom, invalid

_REASON = "strings: their bytes lie in Python objects, which kernels do not see"
_FILLED = 1 << 20  # elements of a tensor that one number stands for, as constants of graphs may have it


def _message(array: Array) -> bytes:
    """An array as TensorFlow's serialize_tensor writes it."""
    dtype = as_dtype(array.dtype)
    dims = b"".join([field(2, b"\x08" + varint(size) if size else b"") for size in array.shape])
    head = b"\x08" + varint(int(Enum(f"DT_{message_name(dtype).upper()}"))) + field(2, dims)
    if dtype == string:
        return head + b"".join([field(8, word) for word in array.reshape(-1).tolist()])
    return head + (field(4, np.ascontiguousarray(array).tobytes()) if array.size else b"")


def _array(content: bytes, what: str) -> tuple[Any, Array]:
    """The dtype and the elements of a string. Raises InvalidArgumentError, with what is said of other bytes."""
    try:
        message = parsed(content, "TensorProto")
    except ValueError:
        raise invalid(what) from None
    try:
        size = math.prod(extent or 0 for extent in dims_of(message.tensor_shape) or ())
        if size > max(len(content), _FILLED):
            raise ValueError(f"it has {len(content)} bytes, its shape {size} elements")
        return dtype_of(message.dtype), as_array(tensor_of(message))
    except Exception as error:
        raise invalid(f"Cannot parse tensor from proto: {error}") from None


@custom(op="SerializeTensor", infer=lambda tensor: Aval(string, ()), groups=("T",), reason=_REASON)
def serialize_tensor_p(tensor: Array) -> Any:
    """A tensor as a string. t[*s] -> string[]."""
    return _word(_message(np.asarray(tensor)))


def _word(content: bytes) -> Array:
    found = np.empty((), object)
    found[()] = content
    return found


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A tensor as a string, as TensorFlow writes it. t[*s] -> string[]. Source: tf.io.serialize_tensor."""
    return named(name, serialize_tensor_p, as_tensor(tensor))


@custom(
    op="ParseTensor",
    infer=lambda serialized, *, dtype: Aval(as_dtype(dtype), None),
    groups=("string",),
    step="dynamic",
    reason=_REASON,
)
def parse_tensor_p(serialized: Array, *, dtype: str) -> Any:
    """The tensor that a string is. string[] -> dtype[...]."""
    if serialized.ndim:
        shape = ",".join(map(str, serialized.shape))
        raise invalid(f"Expected `serialized` to be a scalar, got shape: [{shape}]")
    content = serialized.item()
    shown = base64.b64encode(content[:1000]).decode()
    found, array = _array(content, f"Could not parse `serialized` as TensorProto, base64: {shown}")
    if found != as_dtype(dtype):
        raise invalid(
            f"Type mismatch between parsed tensor ({message_name(found)}) and dtype ({message_name(as_dtype(dtype))})"
        )
    return array


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that `serialize_tensor` made a string of. string[] -> out_type[...].

    Raises: InvalidArgumentError for other bytes and for a tensor of another dtype. Source: tf.io.parse_tensor.
    """
    return named(name, parse_tensor_p, as_tensor(serialized, string), dtype=as_dtype(out_type).name)


# ---- sparse tensors -------------------------------------------------------------------------------------------------


@custom(op="SerializeSparse", infer=lambda *_: Aval(string, (3,)), groups=("int64", "T", "int64"), reason=_REASON)
def serialize_sparse_p(sparse_indices: Array, sparse_values: Array, sparse_shape: Array) -> Any:
    """A sparse tensor as three strings."""
    found = np.empty(3, object)
    found[:] = [_message(part) for part in (sparse_indices, sparse_values, sparse_shape)]
    return found


@custom(
    op="SerializeManySparse",
    infer=lambda *_: Aval(string, (None, 3)),
    groups=("int64", "T", "int64"),
    step="dynamic",
    reason=_REASON,
)
def serialize_many_sparse_p(sparse_indices: Array, sparse_values: Array, sparse_shape: Array) -> Any:
    """Each row along the first axis of a sparse tensor, in order, as three strings. -> string[n, 3]."""
    if len(sparse_shape) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(sparse_shape)}")
    n, rest = int(sparse_shape[0]), sparse_shape[1:]
    rows = sparse_indices[:, 0]
    if len(rows) and not (rows[0] >= 0 and (np.diff(rows) >= 0).all() and rows[-1] < n):
        raise invalid("indices must be in order along the first axis, and within it")
    if n > max(_FILLED, len(sparse_indices)):
        raise invalid(f"{n} rows of a sparse tensor with {len(sparse_indices)} values are too many")
    starts = np.searchsorted(rows, np.arange(n + 1))
    found = np.empty((n, 3), object)
    shape = _message(rest)
    for i in range(n):
        row = slice(starts[i], starts[i + 1])
        found[i] = [_message(sparse_indices[row, 1:]), _message(sparse_values[row]), shape]
    return found


def _parts(sp_input: Any) -> tuple[Any, Any, Any]:
    sparse = as_sparse(sp_input)
    return sparse.indices, sparse.values, sparse.dense_shape


def _of_strings(out_type: Any) -> None:
    if as_dtype(out_type) != string:
        raise NotImplementedError(f"sparse tensors are serialized as strings, not as {out_type!r}")


def serialize_sparse(sp_input: Any, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """A SparseTensor as three strings: its indices, values and shape. -> string[3]. Source: tf.io.serialize_sparse."""
    _of_strings(out_type)
    return named(name, serialize_sparse_p, *_parts(sp_input))


def serialize_many_sparse(sp_input: Any, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """Each row along the first axis of a SparseTensor as three strings. -> string[n, 3].

    Raises: InvalidArgumentError for one axis alone. Source: tf.io.serialize_many_sparse.
    """
    _of_strings(out_type)
    return named(name, serialize_many_sparse_p, *_parts(sp_input))


def _infer_deserialized(serialized: Aval, *, dtype: str, rank: int) -> tuple[Aval, ...]:
    shape = serialized.shape
    if shape is not None and (len(shape) != 2 or shape[1] not in (3, None)):
        last = shape[-1] if shape else 0
        raise invalid(f"Serialized sparse should have 3 as the last dimension [{last}]")
    size = rank or None
    return Aval(int64, (None, size)), Aval(as_dtype(dtype), (None,)), Aval(int64, (size,))


@custom(
    op="DeserializeManySparse",
    infer=_infer_deserialized,
    groups=("string",),
    n_outputs=3,
    step="dynamic",
    reason=_REASON,
)
def deserialize_many_sparse_p(serialized: Array, *, dtype: str, rank: int) -> Any:
    """Sparse tensors, three strings each, one after the other along a new first axis."""
    _infer_deserialized(Aval(string, serialized.shape), dtype=dtype, rank=rank)
    wanted = as_dtype(dtype)
    indices: list[Array] = []
    values: list[Array] = []
    shapes: list[Array] = []
    for i, row in enumerate(serialized.tolist()):
        (_, index), (kind, value), (_, shape) = [_array(word, "Could not parse serialized proto") for word in row]
        if kind != wanted:
            raise invalid(
                f"Requested SparseTensor of type {message_name(wanted)} but SparseTensor[{i}].values.dtype() == "
                f"{message_name(kind)}"
            )
        if index.ndim != 2 or value.shape != index.shape[:1] or shape.shape != index.shape[1:]:
            raise invalid(f"SparseTensor[{i}] has indices {index.shape}, values {value.shape}, a shape {shape.shape}")
        if shapes and len(shape) != len(shapes[0]):
            raise invalid(
                f"Inconsistent rank across SparseTensors: {len(shapes[0])} and {len(shape)} of SparseTensor[{i}]"
            )
        indices.append(np.concatenate([np.full((len(index), 1), i), index], 1).astype(np.int64))
        values.append(value)
        shapes.append(shape)
    if not shapes:
        raise invalid("Must have at least 1 serialized SparseTensor")
    if rank and rank != len(shapes[0]) + 1:
        raise invalid(f"the SparseTensor has {len(shapes[0]) + 1} axes, and rank={rank} is asked for")
    extents = np.max(np.array(shapes, np.int64), 0)
    return np.concatenate(indices), np.concatenate(values), np.array([len(shapes), *extents], np.int64)


def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """One SparseTensor of those that `serialize_sparse` made strings of. string[n, 3] -> SparseTensor of n rows.

    rank: the number of axes of the result, if it is to be known. Raises: InvalidArgumentError for other bytes, dtypes,
    ranks. Source: tf.io.deserialize_many_sparse.
    """
    given = as_tensor(serialized_sparse, string)
    known = 0 if rank is None else whole(rank, "rank")
    return SparseTensor(*named(name, deserialize_many_sparse_p, given, dtype=as_dtype(dtype).name, rank=known))


# ---- Examples as JSON -----------------------------------------------------------------------------------------------


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join([word.title() for word in rest])


def _value_of(spec: Field, value: Any) -> Any:
    """A number or bytes as JSON writes them for protocol buffers."""
    if spec.kind == "bytes":
        return base64.b64decode(
            value + "=" * (-len(value) % 4), altchars=None if "+" in value or "/" in value else b"-_"
        )
    if spec.kind == "int":
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(f"int64, near {value}")
        return int(value)
    return float(
        {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(value, value) if isinstance(value, str) else value
    )


def _filled(kind: str, content: Any, where: str) -> Any:
    """The message that a JSON object stands for."""
    if not isinstance(content, dict):
        raise ValueError(f"{where}: an object is wanted, not {content!r}")
    cls = KINDS[kind]
    fields = {name: spec for spec in cls._fields.values() for name in (spec.name, _camel(spec.name))}
    given: dict[str, Any] = {}
    for name, value in content.items():
        spec = fields.get(name)
        if spec is None:
            raise ValueError(f"invalid JSON in {where}: no such field: '{name}'")
        place = f"{where}.{name}"
        if value is None:
            continue
        if spec.key is not None:
            given[spec.name] = {key: _filled(spec.kind, each, f"{place}[{key}]") for key, each in value.items()}
        elif spec.kind in KINDS:
            given[spec.name] = (
                [_filled(spec.kind, each, place) for each in value]
                if spec.repeated
                else _filled(spec.kind, value, place)
            )
        else:
            given[spec.name] = [_value_of(spec, each) for each in value]
    return cls(**given)


def _serialized_json(text: bytes) -> bytes:
    try:
        made = _filled(example_messages.Example.__name__, json.loads(text), "tensorflow.Example")
        return made.SerializeToString()
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise invalid(f"Error while parsing JSON: {error}") from None


@custom(
    op="DecodeJSONExample",
    infer=lambda json_examples: Aval(string, json_examples.shape),
    groups=("string",),
    reason=_REASON,
)
def decode_json_example_p(json_examples: Array) -> Any:
    """Examples as JSON writes them, serialized. string[*s] -> string[*s]."""
    found = np.empty(json_examples.shape, object)
    found.reshape(-1)[:] = [_serialized_json(text) for text in json_examples.reshape(-1).tolist()]
    return found


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Examples as protocol buffers' JSON has them, serialized. string[*s] -> string[*s].

    Raises: InvalidArgumentError for other texts. Source: tf.io.decode_json_example.
    """
    return named(name, decode_json_example_p, as_tensor(json_examples, string))
