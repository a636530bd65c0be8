"""tf.train.Example, SequenceExample and what they are made of: messages that users fill in.

Rule: what is put in is checked there and then, as the protobuf library does, and copied if it is a message.
Source: tensorflow/core/example/*.proto.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np

from fastgraph.core.base.missing_methods import without
from fastgraph.graphdef.message_types import KINDS, Field
from fastgraph.graphdef.messages import Message, MessageMap, Messages, kind_of


class Scalars(list[Any]):
    """A repeated field of numbers or bytes."""

    __slots__ = ()
    dtype: Any = object

    @staticmethod
    def checked(value: Any) -> Any:
        """Return one value as the field holds it. Raises TypeError."""
        raise NotImplementedError

    @classmethod
    def all_checked(cls, values: Any) -> list[Any]:
        """Return values as the field holds them. Raises TypeError."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError("must assign iterable")
        return [cls.checked(value) for value in values]

    def append(self, value: Any) -> None:
        """Append a value. Raises TypeError for one of another type."""
        super().append(self.checked(value))

    def insert(self, index: SupportsIndex, value: Any) -> None:
        """Insert a value before the one at `index`. Raises TypeError."""
        super().insert(index, self.checked(value))

    def extend(self, values: Iterable[Any] | None) -> None:
        """Append values; None stands for none. Raises TypeError if one is of another type: then none is appended."""
        if values is not None:
            super().extend(self.all_checked(values))

    MergeFrom = extend

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, self.all_checked(value) if isinstance(key, slice) else self.checked(value))

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __deepcopy__(self, memo: object = None) -> Any:
        return type(self)(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(list(self), dtype or self.dtype)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return list, (list(self),)

    __hash__ = None


class Words(Scalars):
    """A repeated field of bytes."""

    __slots__ = ()
    dtype = None  # NumPy's own

    @staticmethod
    def checked(value: Any) -> Any:
        """Return the bytes. Raises TypeError for anything else."""
        if not isinstance(value, bytes):
            raise TypeError(f"expected bytes, {type(value).__name__} found")
        return value


class Floats(Scalars):
    """A repeated field of floats of 32 bits."""

    __slots__ = ()
    dtype = np.float32

    @staticmethod
    def checked(value: Any) -> float:
        """Return the number as 32 bits hold it. Raises TypeError for what is none."""
        if isinstance(value, str | bytes):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        try:
            return _FLOAT.unpack(_FLOAT.pack(value))[0]
        except (struct.error, OverflowError):
            with np.errstate(over="ignore"):
                return float(np.float32(float(value)))

    @classmethod
    def all_checked(cls, values: Any) -> list[Any]:
        """Return the numbers as 32 bits hold them. Raises TypeError for what is none."""
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu":
            with np.errstate(over="ignore"):
                return values.astype(np.float32).tolist()
        return super().all_checked(values)


class Ints(Scalars):
    """A repeated field of integers of 64 bits."""

    __slots__ = ()
    dtype = np.int64

    @staticmethod
    def checked(value: Any) -> int:
        """Return the integer. Raises TypeError for what is none, ValueError for one of more bits."""
        if isinstance(value, bool | np.bool_):
            raise TypeError("Field tensorflow.Int64List.value: Expected an int, got a boolean.")
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer") from None
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"Value out of range: {number}")
        return number

    @classmethod
    def all_checked(cls, values: Any) -> list[Any]:
        """Return the integers. Raises TypeError for what is none, ValueError for one of more bits."""
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
            return values.tolist()
        return super().all_checked(values)


_FLOAT = struct.Struct("<f")
_SCALARS: dict[str, type[Scalars]] = {"bytes": Words, "float": Floats, "int": Ints}


class Children(Messages):
    """A repeated field of messages."""

    __slots__ = ()

    def append(self, value: Any) -> None:
        """Append a copy of a message. Raises TypeError for another type."""
        super().append(_message(self.kind, value))

    def extend(self, values: Iterable[Any]) -> None:
        """Append copies of messages. Raises TypeError for other types."""
        super().extend([_message(self.kind, value) for value in values])

    MergeFrom = extend

    def add(self, **fields: object) -> Any:
        """Append a new message of these fields and return it."""
        made = self.kind(**fields)
        super().append(made)
        return made

    def __deepcopy__(self, memo: object = None) -> Any:
        return Children(self.kind, [each.__deepcopy__() for each in self])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("'RepeatedCompositeContainer' object does not support item assignment")


class ChildMap(MessageMap):
    """A map from text to messages: asking for one that is not there makes it."""

    __slots__ = ()

    def __missing__(self, key: object) -> Any:
        made = self.kind()
        super().__setitem__(_text(key), made)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ValueError("Message objects may not be assigned")

    def __deepcopy__(self, memo: object = None) -> Any:
        return ChildMap(self.kind, [(key, value.__deepcopy__()) for key, value in self.items()])

    def MergeFrom(self, other: Mapping[str, Any]) -> None:
        """Take over copies of the messages of another map."""
        for key, value in other.items():
            super().__setitem__(_text(key), _message(self.kind, value))


def _text(key: Any) -> str:
    if not isinstance(key, str | bytes):
        raise TypeError("bad argument type for built-in operation")
    return key.decode() if isinstance(key, bytes) else key


def _message(kind: type[Message], value: Any) -> Any:
    """A copy of a message, or one of a dict's fields. Raises TypeError for anything else."""
    if type(value) is not kind:
        if isinstance(value, Mapping):
            return kind(**value)
        raise TypeError(
            "Parameter to initialize message field must be dict or instance of same class: expected "
            f"{kind} got {type(value)}."
        )
    return value.__deepcopy__()


@without({"a dict for the field": "FeatureEntry FeatureListEntry"})
class ExampleMessage(Message):
    """A message that users fill in."""

    __slots__ = ()

    def __init__(self, *arguments: object, **fields: Any) -> None:
        if arguments:
            raise TypeError("No positional arguments allowed")
        held = self.__dict__
        for name, value in fields.items():
            field = self._fields.get(name)
            if field is None:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            if value is not None:
                if field.oneof and held:
                    held.clear()  # all of its fields exclude each other
                held[name] = _contained(field, value)

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> Any:
        made = cls()
        for name, value in fields.items():
            field = cls._fields[name]
            if field.oneof:
                made.__dict__.clear()
            made.__dict__[name] = _held(field, value)
        return made

    def __deepcopy__(self, memo: object = None) -> Any:
        held = self.__dict__
        if "" in held:
            self._settle()
        made = type(self)()
        for name, value in held.items():
            if name:
                made.__dict__[name] = value.__deepcopy__()
        if not held and self._touched:
            made.SetInParent()
        return made

    __copy__ = __deepcopy__

    def __getattr__(self, name: str) -> Any:
        field = self._fields.get(name)
        if field is None or not (field.repeated or field.key is not None):
            return super().__getattr__(name)
        made = self.__dict__[name] = _held(field, {} if field.key is not None else ())
        return made

    @classmethod
    def FromString(cls, content: bytes) -> Any:
        """Return the message that the wire format holds. Raises ValueError for other bytes, TypeError for no bytes."""
        made = cls()
        made.ParseFromString(content)
        return made

    def ParseFromString(self, content: bytes) -> int:
        """Take the fields from the wire format; return the number of bytes. Raises ValueError for other bytes."""
        if not isinstance(content, bytes | bytearray | memoryview):
            raise TypeError(f"expected bytes, {type(content).__name__} found")
        try:
            return super().ParseFromString(bytes(content))
        except ValueError as error:
            raise ValueError(f"Error parsing message with type 'tensorflow.{type(self).__name__}': {error}") from None


def _contained(field: Field, value: Any) -> Any:
    """A user's value of a field as its message holds it: checked, and copied."""
    kind = KINDS.get(field.kind)
    if kind is None:
        scalars = _SCALARS[field.kind]
        return scalars(scalars.all_checked(value))
    if field.key is None and not field.repeated:
        return _message(kind, value)
    held = _held(field, {} if field.key is not None else ())
    held.MergeFrom(value)
    return held


def _held(field: Field, value: Any) -> Any:
    """A value that is known to fit a field, as its message holds it."""
    kind = KINDS.get(field.kind)
    if kind is None:
        return _SCALARS[field.kind](value)
    if field.key is not None:
        return ChildMap(kind, value)
    return Children(kind, value) if field.repeated else value


_NAMES = ("Example", "Features", "Feature", "BytesList", "FloatList", "Int64List", "SequenceExample", "FeatureLists",
          "FeatureList")  # fmt: skip
KINDS.update({name: kind_of(name, ExampleMessage) for name in _NAMES})
(Example, Features, Feature, BytesList, FloatList, Int64List, SequenceExample, FeatureLists, FeatureList) = [
    KINDS[name] for name in _NAMES
]
for _kind in _NAMES:
    KINDS[_kind].__module__ = __name__
    KINDS[_kind].__doc__ = f"{KINDS[_kind].__doc__} Source: tf.train.{_kind}."
