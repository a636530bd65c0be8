"""The messages of GraphDefs as Python objects: what a program does with a protocol buffer, without the library.

Rule: a field that is not set reads as its default, and asking for it sets nothing; what is printed, compared and
serialized are the fields that are set, in the order of their numbers. Source: tensorflow/core/framework/*.proto.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.missing_methods import without
from fastgraph.graphdef.message_types import DEFAULTS, FIELDS, KINDS, Descriptor, Enum, Field, entry_fields
from fastgraph.graphdef.wire_format import opened_message, parsed, serialized


class Messages(list[Any]):
    """A repeated field of messages."""

    __slots__ = ("kind",)

    def __init__(self, kind: type[Message], items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.kind = kind

    def add(self, **fields: object) -> Any:
        """Append a new message of these fields and return it."""
        made = self.kind(**fields)
        self.append(made)
        return made


class ScalarMap(dict[Any, Any]):
    """A map from text to text."""

    def GetEntryClass(self) -> type[Any]:
        """Return the type of message that a key and its value are in the formats of the protobuf library."""
        return _entries("text", "text")


class MessageMap(dict[Any, Any]):
    """A map to messages: asking for one that is not there makes it."""

    __slots__ = ("kind",)

    def __init__(self, kind: type[Message], items: Mapping[Any, Any] | Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.kind = kind

    def __missing__(self, key: object) -> Any:
        made = self[key] = self.kind()
        return made

    def get_or_create(self, key: object) -> Any:
        """Return the message of a key, which is made if it is not there."""
        return self[key]

    def GetEntryClass(self) -> type[Any]:
        """Return the type of message that a key and its value are in the formats of the protobuf library."""
        return _entries("int" if self.kind.__name__ == "ArgAttrs" else "text", self.kind.__name__)


@without(
    {
        "fields: no extensions are read": "ClearExtension HasExtension Extensions",
        "SerializeToString: what is unknown is not kept": "UnknownFields DiscardUnknownFields",
        "IsInitialized": "FindInitializationErrors",
    }
)
class Message:
    """A message. `_fields` are those of its type by name, in the order of their numbers.

    The attribute "" knows of messages that were asked for and are not set; of a message that is sealed, that nobody has
    looked at, it is all there is, the bytes.
    """

    __slots__ = ("__dict__", "_touched")
    _fields: ClassVar[dict[str, Field]] = {}
    _held: tuple[tuple[str, Field], ...] = ()  # those of many messages
    DESCRIPTOR = Descriptor("Message", "tensorflow.Message", ())

    def __init__(self, **fields: Any) -> None:
        held = self.__dict__
        held.update(fields)
        if not held.keys() <= self._fields.keys():
            unknown = sorted(held.keys() - self._fields.keys())[0]
            raise ValueError(f'Protocol message {type(self).__name__} has no "{unknown}" field.')
        self._kept(held)

    @classmethod
    def _kept(cls, held: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with lists and maps of messages as they are kept."""
        for name, field in cls._held:
            items = held.get(name)
            if items is not None:
                held[name] = (Messages if field.key is None else MessageMap)(KINDS[field.kind], items)
        return held

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> Any:
        """The message of fields that were read."""
        return cls(**fields)

    def __getattr__(self, name: str) -> Any:
        if name == "_touched":
            return False
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self._fields)}")
        if type(self.__dict__.get("")) is bytes:
            self._open()
            return getattr(self, name)
        kind = KINDS.get(field.kind)
        made: Any
        if field.key is not None:
            made = self.__dict__[name] = ScalarMap() if kind is None else MessageMap(kind)
        elif field.repeated:
            made = self.__dict__[name] = [] if kind is None else Messages(kind)
        elif kind is not None:
            asked = self.__dict__.setdefault("", {})
            made = asked.get(name)
            if made is None:
                made = asked[name] = kind()
        else:
            made = DEFAULTS[field.kind]
        return made

    def __setattr__(self, name: str, value: object) -> None:
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f'Assignment not allowed (no field "{name}" in protocol message object).')
        if field.repeated or field.key is not None or field.kind in KINDS:
            raise AttributeError(
                f'Assignment not allowed to message, map, or repeated field "{name}" in protocol message object.'
            )
        found = _checked(field, value)
        self._settle(name if field.oneof else None)
        self.__dict__[name] = found

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f'Field "{name}" of a protocol message is not deleted but cleared: ClearField.')

    def _open(self) -> None:
        """Read the bytes, whose messages are sealed in turn."""
        held = self.__dict__
        content = held[""]
        held.update(opened_message(content, type(self).__name__))
        if held.get("") is content:
            del held[""]

    def _settle(self, keep: str | None = None) -> None:
        """Enter what was asked for and filled in since; let only `keep` stay of those that exclude each other."""
        held = self.__dict__
        if type(held.get("")) is bytes:
            self._open()
        asked = held.get("", ())
        for name in list(asked):
            child = asked[name]
            if child._touched or child._set():
                del asked[name]
                if self._fields[name].oneof:
                    self._drop_others(name)
                held[name] = child
        if keep is not None:
            self._drop_others(keep)

    def _drop_others(self, keep: str) -> None:
        for name in [name for name in self.__dict__ if name and name != keep and self._fields[name].oneof]:
            del self.__dict__[name]

    def _set(self) -> list[tuple[Field, Any]]:
        """The fields that are set, in the order of their numbers."""
        held = self.__dict__
        if "" in held:
            self._settle()
        found = []
        fields = self._fields
        for name, value in held.items():
            if name and (value or not _is_empty(fields[name], value)):
                found.append((fields[name], value))
        if len(found) > 1:
            found.sort(key=lambda item: item[0].number)
        return found

    # -- what protocol buffers have

    def HasField(self, name: str) -> bool:
        """Return whether a field, or one of several that exclude each other, is set. Raises ValueError for others."""
        field = self._named(name)
        if field.repeated or field.key is not None or not (field.oneof or field.kind in KINDS):
            raise ValueError(f'Can\'t test field "{type(self).__name__}.{name}": it has no presence.')
        self._settle()
        return name in self.__dict__

    def WhichOneof(self, group: str) -> str | None:
        """Return which of the fields that exclude each other is set, None for none. Raises ValueError."""
        if not group or not any(field.oneof == group for field in self._fields.values()):
            raise ValueError(f'Protocol message {type(self).__name__} has no oneof "{group}" field.')
        return next((field.name for field, _ in self._set() if field.oneof), None)

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Return the fields that are set, with their values."""
        return self._set()

    def Clear(self) -> None:
        """Unset all fields."""
        self.__dict__.clear()

    def ClearField(self, name: str) -> None:
        """Unset a field, or all that exclude each other. Raises ValueError for a name of none."""
        if name not in self._fields and any(field.oneof == name != "" for field in self._fields.values()):
            self._settle()
            self._drop_others("")
            return
        self._named(name)
        self._settle()
        self.__dict__.pop(name, None)
        self.__dict__.get("", {}).pop(name, None)

    def SetInParent(self) -> None:
        """Let the message be set in what holds it, though it may be empty."""
        object.__setattr__(self, "_touched", True)

    def CopyFrom(self, other: Message) -> None:
        """Become a copy of a message of the same type. Raises TypeError for another."""
        if other is self:
            return
        self._check(other)
        self.Clear()
        self.MergeFrom(other)

    def MergeFrom(self, other: Message) -> None:
        """Take over what another message of the same type has: single fields anew, repeated ones after what is there.

        Raises TypeError for another type.
        """
        self._check(other)
        self.SetInParent()
        for field, value in other._set():
            name = field.name
            if field.key is not None:
                mine = getattr(self, name)
                for key, item in value.items():
                    dict.__setitem__(mine, key, item.__deepcopy__() if isinstance(item, Message) else item)
            elif field.repeated:
                items = [each.__deepcopy__() if isinstance(each, Message) else each for each in value]
                list.extend(getattr(self, name), items)
            elif isinstance(value, Message):
                self._settle(name if field.oneof else None)
                mine = getattr(self, name)
                mine.MergeFrom(value)
                self._settle()
            else:
                self._settle(name if field.oneof else None)
                self.__dict__[name] = value

    def IsInitialized(self) -> bool:
        """Say True: no field has to be there."""
        return True

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message in the wire format."""
        with resting:
            return serialized(self)

    SerializePartialToString = SerializeToString

    def ParseFromString(self, content: bytes) -> int:
        """Take the fields from the wire format; return the number of bytes. Raises ValueError for other bytes."""
        found = parsed(content, type(self).__name__)
        self.Clear()
        self.__dict__.update(found.__dict__)
        return len(content)

    def MergeFromString(self, content: bytes) -> int:
        """Take over the fields of the wire format; return the number of bytes. Raises ValueError for other bytes."""
        self.MergeFrom(type(self).FromString(content))
        return len(content)

    @classmethod
    def FromString(cls, content: bytes) -> Any:
        """Return the message that the wire format holds. Raises ValueError for other bytes."""
        made = cls()
        made.ParseFromString(content)
        return made

    def ByteSize(self) -> int:
        """Return the number of bytes in the wire format."""
        return len(self.SerializeToString())

    def _named(self, name: str) -> Field:
        field = self._fields.get(name)
        if field is None:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        return field

    def _check(self, other: object) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to MergeFrom() must be instance of same class: expected {type(self).__name__} got "
                f"{type(other).__name__}."
            )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._set() == other._set()

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: object = None) -> Any:
        made = type(self)()
        made.MergeFrom(self)
        return made

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        return _restored, (type(self).__name__, self.SerializeToString())

    def __str__(self) -> str:
        return "".join(_lines(self, ""))

    __repr__ = __str__


def _is_empty(field: Field, value: object) -> bool:
    """Say whether a value that is false is none: not a message, and no field of those that exclude each other."""
    return field.repeated or field.key is not None or not (field.oneof or isinstance(value, Message))


def _restored(kind: str, content: bytes) -> Message:
    return KINDS[kind].FromString(content)


_WANTED: dict[str, Any] = {
    "text": (str,), "bytes": (bytes, str), "int": (int, np.integer), "zigzag": (int, np.integer),
    "type": (int, np.integer), "fixed32": (int,),
    "bool": (int, np.integer, np.bool_), "float": (int, float, np.number), "double": (int, float, np.number),
}  # fmt: skip


def _checked(field: Field, value: object) -> Any:
    """The value of a single field. Raises TypeError if it is of another type."""
    if not isinstance(value, _WANTED[field.kind]):
        raise TypeError(f"{value!r} has type {type(value).__name__}, but expected {field.kind} for {field.name}")
    if field.kind == "bytes":
        return value.encode() if isinstance(value, str) else value
    if field.kind in ("float", "double"):
        return float(np.float32(value)) if field.kind == "float" else float(value)
    if field.kind == "text":
        return value
    return {"int": int, "zigzag": int, "bool": bool, "type": Enum, "fixed32": int}[field.kind](value)


@functools.cache
def _entries(key: str, kind: str) -> type[Any]:
    return kind_of("Entry", fields=entry_fields(key, kind))


def kind_of(name: str, base: type[Message] = Message, fields: tuple[Field, ...] = ()) -> type[Any]:
    """Return a new class for the type of message `name`, of its fields or those given."""
    fields = fields or FIELDS[name]
    held = [(f.name, f) for f in fields if f.kind in FIELDS and (f.repeated or f.key is not None)]
    words = ", ".join([f"`{field.name}`" for field in fields])
    return type(
        name,
        (base,),
        {
            "__slots__": (), "__doc__": f"A message: {words}.", "__module__": __name__, "_held": tuple(held),
            "_fields": {field.name: field for field in fields},
            "DESCRIPTOR": Descriptor(name, f"tensorflow.{name}", fields),
        },
    )  # fmt: skip


KINDS.update({name: kind_of(name) for name in FIELDS})
(ArgAttrs, ArgDef, AttrValue, Dim, FunctionDef, FunctionDefLibrary, GraphDef, ListValue, NameAttrList, NodeDef, OpDef,
 TensorProto, TensorShapeProto, VersionDef, Event, SummaryMetadata) = [KINDS[name] for name in (
    "ArgAttrs", "ArgDef", "AttrValue", "Dim", "FunctionDef", "FunctionDefLibrary", "GraphDef", "ListValue",
    "NameAttrList", "NodeDef", "OpDef", "TensorProto", "TensorShapeProto", "VersionDef",
    "Event", "SummaryMetadata")]  # fmt: skip
for _outer, _inner in ((AttrValue, "ListValue"), (SummaryMetadata, "PluginData")):  # by which programs make them
    setattr(_outer, _inner, KINDS[_inner])

# ---- The text format ------------------------------------------------------------------------------------------------


def _lines(message: Message, indent: str) -> Iterator[str]:
    for field, value in message._set():
        if field.key is not None:
            for key in sorted(value):
                yield f"{indent}{field.name} {{\n"
                yield f"{indent}  key: {_scalar(field.key, key)}\n"
                yield from _one("value", field.kind, value[key], indent + "  ")
                yield f"{indent}}}\n"
        else:
            for item in value if field.repeated else [value]:
                yield from _one(field.name, field.kind, item, indent)


def _one(name: str, kind: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Message):
        yield f"{indent}{name} {{\n"
        yield from _lines(value, indent + "  ")
        yield f"{indent}}}\n"
    else:
        yield f"{indent}{name}: {_scalar(kind, value)}\n"


_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def _scalar(kind: str, value: Any) -> str:
    if kind in ("text", "bytes"):
        content = value.encode() if isinstance(value, str) else value
        return '"' + "".join([_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in content]) + '"'
    if kind == "bool":
        return "true" if value else "false"
    if kind == "type":
        return Enum(value).name
    if kind in ("int", "zigzag", "fixed32"):
        return str(int(value))
    number: Any = np.float32(value) if kind == "float" else np.float64(value)
    if not np.isfinite(number):
        return str(number)
    few, many = (6, 9) if kind == "float" else (15, 17)
    text = f"{float(number):.{few}g}"
    return text if type(number)(text) == number else f"{float(number):.{many}g}"
