"""Stand-ins of a loaded SavedModel for the objects that were saved: user objects, signatures, assets, tables.

Rule: of a user's class nothing is known but its attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from fastgraph.composites.lookup_primitives import Table
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.tensor import EagerTensor, Tensor, convert
from fastgraph.state.tracking import AutoTrackable, Trackable, TrackableResource


class Asset(Trackable):
    """A file that is saved with a SavedModel: `asset_path` tells where it lies now. Source: tf.saved_model.Asset.

    A table's initializer that reads a file makes one by itself.
    """

    def __init__(self, path: str | os.PathLike[str] | Any) -> None:
        self._path = path if isinstance(path, EagerTensor) else convert(os.fspath(path), dtypes.string)

    asset_path = ReadOnly[Tensor]("_path", "The path: string[].")

    def __fg_tensor__(self, dtype: DTypeLike | None = None) -> Any:
        return self._path


class SignatureMap(Mapping[str, Any], Trackable):
    """The signatures of a SavedModel: what each is called, and the function. Source: tf.saved_model.load."""

    def __init__(self, signatures: Mapping[str, Any] | None = None) -> None:
        self._signatures = dict(signatures or {})

    def __getitem__(self, key: str) -> Any:
        return self._signatures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"_SignatureMap({self._signatures!r})"

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return dict(self._signatures) if save_type == "savedmodel" else {}


class RestoredTable(TrackableResource):
    """A table of a SavedModel: the functions that were saved with it look things up in it."""

    def __init__(self, table: Table) -> None:
        self._table = table

    key_dtype = ReadOnly[Any]("_table.key_dtype", "The dtype of keys.")
    value_dtype = ReadOnly[Any]("_table.dtype", "The dtype of values.")


class CapturedName(str):
    """The name of a tensor of a function, which a gradient that a program states takes."""

    __slots__ = ("function",)

    function: str


def user_object() -> Any:
    """Return an object that has only the attributes that it is given, of a class of its own."""
    return type("_UserObject", (AutoTrackable,), {"__module__": __name__})()


_OWN = frozenset(dir(AutoTrackable))


def set_child(parent: Any, name: str, child: Any) -> None:
    """Give an object an attribute of this name; with one called `__call__` it can be called."""
    if name == "__call__":
        if not callable(parent):
            type(parent).__call__ = _call_attribute
        setattr(parent, name, child)
    elif name in _OWN or (name.startswith("__") and name.endswith("__")):
        parent.__dict__.setdefault("_self_unnamed", {})[name] = child  # Python's own names stay what they are
    else:
        setattr(parent, name, child)


def _call_attribute(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.__dict__["__call__"](*args, **kwargs)
