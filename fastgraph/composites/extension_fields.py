"""Fields of extension types: which annotations they may have, and values made to be of them.

Rule: a value is converted once, when an object is made; what cannot be is a TypeError that names the field.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.tensor import Tensor, convert

_PLAIN = (int, float, str, bytes, bool, type(None))
_RESERVED = (
    "self Spec _type_spec _shape_invariant_to_type_spec _consumers value_type is_compatible_with "
    "most_specific_compatible_type _with_tensor_ranks_only _to_components _from_components _component_specs "
    "_to_tensor_list _from_tensor_list _from_compatible_tensor_list _flat_tensor_specs _serialize _deserialize "
    "_to_legacy_output_types _to_legacy_output_shapes _to_legacy_output_classes _keras_mask"
)


class ImmutableDict(Mapping[Any, Any]):
    """A dict that stays as it is, and so has a hash: what a field of Mapping[...] holds."""

    __slots__ = ("_items",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._items = dict(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"ImmutableDict({self._items})"


def is_reserved(name: str) -> bool:
    """Return whether no field may have this name."""
    return name in _RESERVED.split() or name.lower().startswith(("_tf_extension_type", "_fg_"))


def _is_composite(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, CompositeTensor) or hasattr(kind, "_type_spec"))


def check_annotation(kind: Any, in_key: bool = False) -> None:
    """Raise TypeError unless a field may be annotated so. Forward references are left alone."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is None or kind is DType or kind in _PLAIN or isinstance(kind, (str, typing.ForwardRef)):
        return
    if kind in (Tensor, TensorShape) or _is_composite(kind):
        if in_key:
            raise TypeError(f"Mapping had a key {kind.__name__!r} with type {type(kind).__name__!r}")
    elif origin in (tuple, typing.Union, types.UnionType):
        for each in inner[:1] if origin is tuple and inner[1:] == (...,) else inner:
            check_annotation(each, in_key)
    elif origin is Mapping:
        check_annotation(inner[0], True)
        check_annotation(inner[1], in_key)
    else:
        shown = kind.__name__ if isinstance(kind, type) and origin is None else kind
        raise TypeError(f"Unsupported type annotation {shown!r}")


def _wrong(path: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{path}: expected {expected}, got {type(value).__name__!r}")


def converted(value: Any, kind: Any, path: str, for_spec: bool = False) -> Any:
    """Return `value` as a field `path` annotated `kind` holds it; `for_spec`, as its spec does.

    Raises TypeError where it cannot be.
    """
    if kind is None:
        kind = type(None)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Tensor:
        return _tensor(value, path, for_spec)
    if _is_composite(kind):
        if for_spec:
            if not (isinstance(value, TypeSpec) and issubclass(value.value_type, kind)):
                raise _wrong(path, f"a TypeSpec for {kind.__name__!r}", value)
        elif not isinstance(value, kind):
            raise _wrong(path, f"{kind.__name__!r}", value)
        return value
    if kind in (TensorShape, DType):
        try:
            return TensorShape(value) if kind is TensorShape else as_dtype(value)
        except (TypeError, ValueError) as error:
            raise _wrong(path, f"'tf.{kind.__name__}'", value) from error
    if kind in _PLAIN:
        if not isinstance(value, kind):
            raise _wrong(path, f"{kind.__name__!r}", value)
        return value
    if origin is tuple:
        return _tuple(value, inner, path, for_spec)
    if origin in (typing.Union, types.UnionType):
        for option in inner:
            try:
                return converted(value, option, path, for_spec)
            except TypeError:
                continue
        raise _wrong(path, f"{kind!r}", value)
    if origin is None or isinstance(kind, str):
        raise TypeError(f"{path}: Unsupported type annotation {kind!r}")
    if not isinstance(value, Mapping):
        raise _wrong(path, "mapping", value)
    found = {}
    for key, each in value.items():
        name = converted(key, inner[0], f"{path}[<key>]", for_spec)
        found[name] = converted(each, inner[1], f"{path}[{key!r}]", for_spec)
    return ImmutableDict(found)


def _tensor(value: Any, path: str, for_spec: bool) -> Any:
    if for_spec:
        if not isinstance(value, TensorSpec):
            raise _wrong(path, "a TensorSpec", value)
        return value
    try:
        found = convert(value)
        if isinstance(found, Tensor):  # and no ragged or sparse one
            return found
    except (TypeError, ValueError) as error:
        raise _wrong(path, "a Tensor", value) from error
    raise _wrong(path, "a Tensor", value)


def _tuple(value: Any, kinds: tuple[Any, ...], path: str, for_spec: bool) -> Any:
    if not isinstance(value, Sequence):
        raise _wrong(path, "tuple", value)
    if kinds[1:] == (...,):
        kinds = (kinds[0],) * len(value)
    if len(value) != len(kinds):
        raise _wrong(path, f"tuple with length {len(kinds)}", value)
    pairs = enumerate(zip(value, kinds, strict=True))
    return tuple([converted(each, kind, f"{path}[{i}]", for_spec) for i, (each, kind) in pairs])
