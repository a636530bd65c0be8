"""Protocol messages without a protocol-buffer library: fields by name, the text format, the wire format.

Rule: a Message prints and serializes as the protocol buffer of the same fields does; where the tensorboard package is
there, it is made into one.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np


class Enum(str):
    """A name that prints without quotes."""


class Message:
    """A message: its fields in order, a list where a field is repeated."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the message has no field {name!r}; it has {', '.join(self.__dict__) or 'none'}")

    def __str__(self) -> str:
        return "".join(_lines(self, ""))

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def SerializeToString(self) -> bytes:
        """Return the message in the wire format."""
        return serialized(self, type(self).__name__)

    def ParseFromString(self, content: bytes) -> int:
        """Take the fields from the wire format; return the number of bytes."""
        self.__dict__ = dict(parsed(content, type(self).__name__).__dict__)
        return len(content)


class GraphDef(Message):
    """A graph: `node`, `library`, `versions`."""


class FunctionDef(Message):
    """A FunctionDef: a function of a GraphDef's library."""


class NodeDef(Message):
    """An operation: `name`, `op`, `input`, `device`, `attr`."""


class TensorProto(Message):
    """A tensor's value: `dtype`, `tensor_shape`, and the elements."""


class TensorShapeProto(Message):
    """A shape: `dim`, or `unknown_rank`."""


def _lines(message: Message, indent: str) -> Iterable[str]:
    for name, value in message.__dict__.items():
        if isinstance(value, dict):
            for key in sorted(value):
                yield f"{indent}{name} {{\n"
                yield f"{indent}  key: {_scalar(key)}\n"
                yield from _field("value", value[key], indent + "  ")
                yield f"{indent}}}\n"
        else:
            for item in value if isinstance(value, list) else [value]:
                yield from _field(name, item, indent)


def _field(name: str, value: Any, indent: str) -> Iterable[str]:
    if isinstance(value, Message):
        yield f"{indent}{name} {{\n"
        yield from _lines(value, indent + "  ")
        yield f"{indent}}}\n"
    else:
        yield f"{indent}{name}: {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, Enum):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in value) + '"'
    if isinstance(value, str):
        return _scalar(value.encode())
    if isinstance(value, float | np.floating):
        number = float(value)
        if number != number or number in (np.inf, -np.inf):
            return str(number)
        return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{value!s}"
    return str(value)


# ---------------------------------------------------------------------------------------------------------------------
# The wire format: the numbers of fields; "name" of another message, or a kind of number


_FIELDS: dict[str, dict[str, tuple[int, str]]] = {
    "GraphDef": {"node": (1, "NodeDef"), "library": (2, "FunctionDefLibrary"), "versions": (4, "VersionDef")},
    "VersionDef": {"producer": (1, "int"), "min_consumer": (2, "int")},
    "NodeDef": {"name": (1, "text"), "op": (2, "text"), "input": (3, "text"), "device": (4, "text"),
                "attr": (5, "text>AttrValue")},
    "AttrValue": {"list": (1, "ListValue"), "s": (2, "text"), "i": (3, "int"), "f": (4, "float"), "b": (5, "bool"),
                  "type": (6, "type"), "shape": (7, "TensorShapeProto"), "tensor": (8, "TensorProto"),
                  "func": (10, "NameAttrList")},
    "ListValue": {"s": (2, "text"), "i": (3, "ints"), "f": (4, "floats"), "b": (5, "bools"), "type": (6, "types"),
                  "shape": (7, "TensorShapeProto"), "tensor": (8, "TensorProto"), "func": (9, "NameAttrList")},
    "NameAttrList": {"name": (1, "text"), "attr": (2, "text>AttrValue")},
    "TensorShapeProto": {"dim": (2, "Dim"), "unknown_rank": (3, "bool")},
    "Dim": {"size": (1, "int"), "name": (2, "text")},
    "TensorProto": {"dtype": (1, "type"), "tensor_shape": (2, "TensorShapeProto"), "version_number": (3, "int"),
                    "tensor_content": (4, "text"), "float_val": (5, "floats"), "double_val": (6, "doubles"),
                    "int_val": (7, "ints"), "string_val": (8, "text"), "scomplex_val": (9, "floats"),
                    "int64_val": (10, "ints"), "bool_val": (11, "bools"), "dcomplex_val": (12, "doubles"),
                    "half_val": (13, "ints"), "uint32_val": (16, "ints"), "uint64_val": (17, "ints")},
    "FunctionDefLibrary": {"function": (1, "FunctionDef")},
    "FunctionDef": {"signature": (1, "OpDef"), "node_def": (3, "NodeDef"), "ret": (4, "text>text"),
                    "attr": (5, "text>AttrValue"), "control_ret": (6, "text>text"), "arg_attr": (7, "int>ArgAttrs")},
    "ArgAttrs": {"attr": (1, "text>AttrValue")},
    "OpDef": {"name": (1, "text"), "input_arg": (2, "ArgDef"), "output_arg": (3, "ArgDef"),
              "control_output": (20, "text")},
    "ArgDef": {"name": (1, "text"), "type": (3, "type")},
}  # fmt: skip

_PACKED = ("ints", "bools", "floats", "doubles", "types")  # kinds of repeated numbers
_TYPES = [
    f"DT_{name}"
    for name in (
        *("INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64", "BOOL"),
        *("QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128", "HALF", "RESOURCE"),
        *("VARIANT", "UINT32", "UINT64"),
    )
]


_ONE_BYTE = [bytes([number]) for number in range(128)]


def varint(number: int) -> bytes:
    """Return an integer seven bits a byte; a negative one as 64 bits."""
    if 0 <= number < 128:
        return _ONE_BYTE[number]
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def field(number: int, content: bytes) -> bytes:
    """Return a field that holds bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def _scalar_bytes(kind: str, value: Any) -> tuple[int, bytes]:
    """The wire type and the bytes of one number."""
    if kind.startswith("float"):
        return 5, struct.pack("<f", value)
    if kind.startswith("double"):
        return 1, struct.pack("<d", value)
    if kind.startswith("type"):
        return 0, varint(_TYPES.index(str.__str__(value)))
    return 0, varint(int(value))


def _content(kind: str, value: Any) -> bytes | None:
    """The bytes of a text or message; None for a number."""
    if kind == "text":
        return value.encode() if isinstance(value, str) else bytes(value)
    return serialized(value, kind) if kind in _FIELDS else None


def _written(number: int, kind: str, value: Any) -> bytes:
    content = _content(kind, value)
    if content is not None:
        return field(number, content)
    wire, content = _scalar_bytes(kind, value)
    return varint(number << 3 | wire) + content


def serialized(message: Message, kind: str = "GraphDef") -> bytes:
    """Return a message of type `kind` in the wire format."""
    parts: list[bytes] = []
    table = _FIELDS[kind]
    for name, value in sorted(message.__dict__.items(), key=lambda item: table[item[0]][0]):
        number, kind_of = table[name]
        if isinstance(value, dict):
            key_kind, _, value_kind = kind_of.partition(">")
            parts += [
                field(number, _written(1, key_kind, key) + _written(2, value_kind, value[key])) for key in sorted(value)
            ]
        elif kind_of in _PACKED:
            items = value if isinstance(value, list) else [value]
            parts.append(field(number, b"".join(_scalar_bytes(kind_of, item)[1] for item in items)))
        else:
            parts += [_written(number, kind_of, item) for item in (value if isinstance(value, list) else [value])]
    return b"".join(parts)


# Reading the wire format: what `serialized` writes, in any order of fields, unknown ones left out.


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def _number(kind: str, wire: int, content: bytes, at: int) -> tuple[Any, int]:
    if wire == 5:
        return struct.unpack_from("<f", content, at)[0], at + 4
    if wire == 1:
        return struct.unpack_from("<d", content, at)[0], at + 8
    number, at = _varint(content, at)
    if kind.startswith("bool"):
        return bool(number), at
    if kind.startswith("type"):
        return Enum(_TYPES[number]), at
    return number - (1 << 64) if number >> 63 else number, at


def parsed(content: bytes, kind: str) -> Message:
    """Return the message of type `kind` that the bytes hold. Raises ValueError for bytes that are none."""
    table = {number: (name, kind_of) for name, (number, kind_of) in _FIELDS[kind].items()}
    fields: dict[str, Any] = {}
    at = 0
    try:
        while at < len(content):
            tag, at = _varint(content, at)
            number, wire = tag >> 3, tag & 7
            name, kind_of = table.get(number, ("", ""))
            if wire == 2:
                size, at = _varint(content, at)
                part, at = content[at : at + size], at + size
                if len(part) != size:
                    raise ValueError("the last field is cut off")
                if name:
                    _take(fields, kind, name, kind_of, part)
            else:
                value, at = _number(kind_of, wire, content, at)
                if name:
                    _enter(fields, kind, name, value)
    except (IndexError, struct.error) as error:
        raise ValueError(f"these bytes are no {kind}") from error
    return _OWN[kind](**fields) if kind in _OWN else Message(**fields)


_REPEATED = {
    ("GraphDef", "node"), ("NodeDef", "input"), ("TensorShapeProto", "dim"), ("FunctionDefLibrary", "function"),
    ("FunctionDef", "node_def"), ("OpDef", "input_arg"), ("OpDef", "output_arg"), ("OpDef", "control_output"),
    ("TensorProto", "string_val"),
}  # fmt: skip


def _enter(fields: dict[str, Any], kind: str, name: str, value: Any) -> None:
    repeated = kind == "ListValue" or (kind, name) in _REPEATED or _FIELDS[kind][name][1].endswith("s")
    if repeated:
        fields.setdefault(name, []).append(value)
    else:
        fields[name] = value


def _take(fields: dict[str, Any], kind: str, name: str, kind_of: str, part: bytes) -> None:
    """Enter a field that came as bytes: an entry of a map, packed numbers, a text or a message."""
    if ">" in kind_of:
        key_kind, _, value_kind = kind_of.partition(">")
        key, value = _entry(part, key_kind, value_kind)
        fields.setdefault(name, {})[key] = value
    elif kind_of in _PACKED:
        wire = {"floats": 5, "doubles": 1}.get(kind_of, 0)
        at = 0
        while at < len(part):
            value, at = _number(kind_of, wire, part, at)
            _enter(fields, kind, name, value)
    elif kind_of == "text":
        binary = name in ("s", "tensor_content", "string_val")
        _enter(fields, kind, name, part if binary else part.decode())
    else:
        _enter(fields, kind, name, parsed(part, kind_of))


def _entry(part: bytes, key_kind: str, value_kind: str) -> tuple[Any, Any]:
    found: dict[int, Any] = {1: "" if key_kind == "text" else 0, 2: "" if value_kind == "text" else Message()}
    at = 0
    while at < len(part):
        tag, at = _varint(part, at)
        kind_of = key_kind if tag >> 3 == 1 else value_kind
        if tag & 7 == 2:
            size, at = _varint(part, at)
            piece, at = part[at : at + size], at + size
            found[tag >> 3] = piece.decode() if kind_of == "text" else parsed(piece, kind_of)
        else:
            found[tag >> 3], at = _number(kind_of, tag & 7, part, at)
    return found[1], found[2]


def _text(buffer: Any) -> str:
    """The text of a protocol buffer: a Message's, if a Message has all of its fields."""
    kind = type(buffer).__name__
    content = buffer.SerializeToString()
    message = parsed(content, kind)
    if len(serialized(message, kind)) == len(content):
        return str(message)
    from google.protobuf import text_format

    return str(text_format.MessageToString(buffer))


@functools.cache
def _protocol_buffers() -> dict[str, Any] | None:
    """The classes of the tensorboard package by name; None if it is not there.

    Their text is a Message's: maps by key, where protobuf's `upb` turns them round.
    """
    try:
        from tensorboard.compat.proto import function_pb2, graph_pb2, node_def_pb2, tensor_pb2, tensor_shape_pb2
    except ImportError:
        return None
    classes = (
        function_pb2.FunctionDef,
        graph_pb2.GraphDef,
        node_def_pb2.NodeDef,
        tensor_pb2.TensorProto,
        tensor_shape_pb2.TensorShapeProto,
    )
    for kind in classes:
        kind.__str__ = kind.__repr__ = _text
    return {kind.__name__: kind for kind in classes}


_OWN = {kind.__name__: kind for kind in (FunctionDef, GraphDef, NodeDef, TensorProto, TensorShapeProto)}


def as_protocol_buffer(message: Message, kind: str = "GraphDef") -> Any:
    """Return a message as a protocol buffer if the tensorboard package is there, else as a Message of that name."""
    classes = _protocol_buffers()
    if classes is None:
        return _OWN[kind](**message.__dict__)
    return classes[kind].FromString(serialized(message, kind))
