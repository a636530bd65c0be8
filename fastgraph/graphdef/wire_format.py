"""The wire format of messages, written and read.

Rule: a Message serializes as the protocol buffer of the same fields does.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from fastgraph.graphdef.message_types import FIELDS, KINDS, Enum, Field
from fastgraph.graphdef.node_bytes import field, opened, varint

if TYPE_CHECKING:
    from fastgraph.graphdef.messages import Message


def _scalar_bytes(kind: str, value: Any) -> bytes:
    if kind == "float":
        return struct.pack("<f", value)
    if kind == "double":
        return struct.pack("<d", value)
    if kind == "zigzag":
        return varint(int(value) << 1 ^ int(value) >> 63)
    if kind == "fixed32":
        return struct.pack("<I", value)
    return varint(int(value))


_WIRE = {"float": 5, "double": 1, "fixed32": 5}


def _packed(kind: str, values: list[Any]) -> bytes:
    if kind == "float":
        return struct.pack(f"<{len(values)}f", *values)
    return b"".join([_scalar_bytes(kind, item) for item in values])


def _written(number: int, kind: str, value: Any) -> bytes:
    if kind in FIELDS:
        return field(number, serialized(value))
    if kind in ("text", "bytes"):
        return field(number, value.encode() if isinstance(value, str) else bytes(value))
    return varint(number << 3 | _WIRE.get(kind, 0)) + _scalar_bytes(kind, value)


def serialized(message: Message) -> bytes:
    """Return a message in the wire format."""
    sealed = message.__dict__.get("")
    if type(sealed) is bytes:
        return sealed
    parts: list[bytes] = []
    for (_, number, kind, repeated, key, _), value in message._set():
        if key is not None:
            parts += [field(number, _written(1, key, each) + _written(2, kind, value[each])) for each in sorted(value)]
        elif kind == "text":
            parts += [field(number, item.encode() if type(item) is str else bytes(item))
                      for item in (value if repeated else (value,))]  # fmt: skip
        elif not repeated:
            parts.append(_written(number, kind, value))
        elif kind in FIELDS or kind == "bytes":
            parts += [_written(number, kind, item) for item in value]
        else:
            parts.append(field(number, _packed(kind, value)))
    return b"".join(parts)


# Reading the wire format: what `serialized` writes, in any order of fields, unknown ones left out.


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = content[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number & _UINT64, at
    raise ValueError("a number has more than ten bytes")


def _number(kind: str, wire: int, content: bytes, at: int) -> tuple[Any, int]:
    if kind and wire != _WIRE.get(kind, 2 if kind in _BY_LENGTH else 0):
        raise ValueError(f"a field of kind {kind} has wire type {wire}")
    if wire == 5:
        return struct.unpack_from("<I" if kind == "fixed32" else "<f", content, at)[0], at + 4
    if wire == 1:
        return struct.unpack_from("<d", content, at)[0], at + 8
    if wire != 0:
        raise ValueError(f"wire type {wire}")
    number, at = _varint(content, at)
    if kind == "bool":
        return bool(number), at
    if kind == "type":
        return Enum(number), at
    if kind == "zigzag":
        return number >> 1 ^ -(number & 1), at
    return number - (1 << 64) if number >> 63 else number, at


_UINT64 = (1 << 64) - 1
_BY_LENGTH = {"text", "bytes", *FIELDS}
_BY_NUMBER = {kind: {each.number: each for each in fields} for kind, fields in FIELDS.items()}


def _code(field: Field) -> int:
    """The number by which `opened` reads a field."""
    if field.key is not None:
        return 3 if field.key == "text" and field.kind in FIELDS else 0
    return 1 if field.kind == "text" else 2 if field.kind in FIELDS else 0


_OPENED = {kind: {each.number: (each, _code(each)) for each in fields} for kind, fields in FIELDS.items()}


def opened_message(content: bytes, kind: str) -> dict[str, Any]:
    """Return the fields of a message of type `kind` which bytes are known to be; those in it are sealed."""
    return KINDS[kind]._kept(opened(content, _OPENED[kind], sealed_message, _take, _number))


def parsed(content: bytes, kind: str = "GraphDef") -> Message:
    """Return the message of type `kind` that the bytes hold. Raises ValueError for bytes that are none."""
    table = _BY_NUMBER[kind]
    fields: dict[str, Any] = {}
    at, end = 0, len(content)
    try:
        while at < end:
            tag = content[at]
            at += 1
            if tag > 127:
                tag, at = _varint(content, at - 1)
            wire, found = tag & 7, table.get(tag >> 3)
            if wire == 2:
                size = content[at]
                at += 1
                if size > 127:
                    size, at = _varint(content, at - 1)
                part = content[at : at + size]
                at += size
                if len(part) != size:
                    raise ValueError("the last field is cut off")
                if found is not None:
                    _take(fields, found, part)
            else:
                value, at = _number("" if found is None else found.kind, wire, content, at)
                if found is None:
                    continue
                if found.repeated:
                    fields.setdefault(found.name, []).append(value)
                else:
                    fields[found.name] = value
    except (IndexError, struct.error, ValueError, RecursionError) as error:
        raise ValueError(f"these bytes are no {kind}: {error or type(error).__name__}") from None
    return KINDS[kind]._of(fields)


def _take(fields: dict[str, Any], found: Field, part: bytes) -> None:
    """Enter a field that came as bytes: an entry of a map, packed numbers, a text or a message."""
    name, _, kind, repeated, key, _ = found
    value: Any
    if key is not None:
        entry, value = _entry(part, key, kind)
        fields.setdefault(name, {})[entry] = value
        return
    if kind == "text":
        value = part.decode()
    elif kind == "bytes":
        value = part
    elif kind in FIELDS:
        value = parsed(part, kind)
    elif not repeated:
        raise ValueError(f"the number {name} has wire type 2")
    else:
        wire, at = _WIRE.get(kind, 0), 0
        packed = fields.setdefault(name, [])
        if kind == "float":
            packed.extend(struct.unpack(f"<{len(part) // 4}f", part))
            return
        while at < len(part):
            value, at = _number(kind, wire, part, at)
            packed.append(value)
        return
    if repeated:
        fields.setdefault(name, []).append(value)
    elif kind in FIELDS and name in fields:  # a message may come in pieces
        fields[name].MergeFrom(value)
    else:
        fields[name] = value


def sealed_message(content: bytes, kind: str) -> Message:
    """Return the message of type `kind` that bytes hold which are known to be one: read when it is looked at."""
    found: Message = KINDS[kind].__new__(KINDS[kind])
    found.__dict__[""] = content
    return found


def _entry(part: bytes, key_kind: str, value_kind: str) -> tuple[Any, Any]:
    key: Any = "" if key_kind == "text" else 0
    value: Any = None
    at = 0
    while at < len(part):
        tag, at = part[at], at + 1
        kind = key_kind if tag >> 3 == 1 else value_kind
        found: Any
        if tag & 7 == 2:
            size, at = _varint(part, at)
            piece, at = part[at : at + size], at + size
            if len(piece) != size:
                raise ValueError("the last field is cut off")
            if kind not in _BY_LENGTH:
                raise ValueError(f"a {kind} in a map has wire type 2")
            found = (piece.decode() if kind == "text" else bytes(piece) if kind == "bytes" else
                     parsed(piece, kind))  # fmt: skip
        else:
            found, at = _number(kind, tag & 7, part, at)
        if tag >> 3 == 1:
            key = found
        else:
            value = found
    if value is None:
        value = "" if value_kind == "text" else KINDS[value_kind]()
    return key, value
