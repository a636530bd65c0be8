"""Stand-ins of a loaded SavedModel for the objects that were saved: user objects, signatures, assets, tables.

Rule: of a user's class nothing is known but its attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fastgraph.composites.dense_hash_table import in_buckets
from fastgraph.composites.lookup_primitives import Table, table_export_p
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, convert
from fastgraph.ops.families import Array
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


class RestoredMutableTable(RestoredTable):
    """A table of a SavedModel that changes: checkpoints keep its entries, as they keep those of the one it was."""

    _legacy_saveable_name = "table"

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: keys k[n] and values v[n, *t], or the buckets of a table that has such."""
        keys, values = table_export_p(table=self._table, key_dtype=self._table.key_dtype.name)
        if self._table.reserved:
            empty = np.array(self._table.reserved[0], self._table.key_dtype.numpy_dtype)
            keys, values = in_buckets(as_array(keys), as_array(values), empty)
        return {"-keys": keys, "-values": values}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> None:
        """Take these keys and values in place of what is there."""
        fill_table(self._table, *(convert(restored_tensors[name]).numpy() for name in ("-keys", "-values")))


def restored_table(table: Table) -> RestoredTable:
    """Return the object that stands for a table: checkpoints keep those that change."""
    return RestoredTable(table) if table.is_fixed else RestoredMutableTable(table)


def fill_table(table: Table, keys: Array, values: Array) -> None:
    """Give a table these entries, k[n] and v[n, *t], in place of what is there; none of keys that no entry has."""
    rows = values.reshape(keys.size, *table.shape)
    pairs = zip(keys.reshape(-1).tolist(), rows if table.shape else rows.tolist(), strict=True)
    table.fill((key, value) for key, value in pairs if key not in table.reserved)


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
