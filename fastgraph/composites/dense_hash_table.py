"""tf.lookup.experimental.DenseHashTable: a table with two keys that no entry has.

Rule: in memory it is a table as any other; in a checkpoint it is TensorFlow's array of buckets, which is read there
as it lies, so every key stands where TensorFlow looks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.lookup_tables import MutableHashTable
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.comparison import logical_and, not_equal
from fastgraph.ops.families import Array, invalid
from fastgraph.ops.gathering import boolean_mask
from fastgraph.ops.movement import reshape
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.runtime_assertions import assert_none_equal
from fastgraph.ops.string_hashes import older_buckets


def in_buckets(keys: Array, values: Array, empty: Array) -> list[Array]:
    """Return the buckets, a power of two of which 4 in 5 at most are taken: keys k[b, 1] and values v[b, *t].

    A key stands at its hash (a number is its own), or by steps of 1, 2, 3 ... behind it, at the first empty bucket.
    """
    count = 4
    while count * 4 < len(keys) * 5 + 5:
        count *= 2
    first = older_buckets(keys, count) if keys.dtype == object else keys.astype(np.int64) & (count - 1)
    places: list[int] = []
    taken: set[int] = set()
    for place in first.tolist():
        step = 0
        while place in taken:
            step += 1
            place = (place + step) & (count - 1)
        taken.add(place)
        places.append(place)
    texts = values.dtype == object
    all_keys = np.full(count, empty[()], keys.dtype)
    all_values = np.full((count, *values.shape[1:]), b"" if texts else 0, values.dtype)
    all_keys[places], all_values[places] = keys, values
    return [all_keys[:, None], all_values if values.ndim > 1 else all_values[:, None]]


class DenseHashTable(MutableHashTable):
    """A table that changes, with a key that no entry has and one that stands for removed ones.

    Source: tf.lookup.experimental.DenseHashTable. Raises: InvalidArgumentError where one of these keys is used.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        self._reserved = [as_tensor(key, self._key_dtype) for key in (empty_key, deleted_key)]
        if any(key.shape.rank for key in self._reserved):
            raise NotImplementedError("a DenseHashTable whose keys are no scalars")
        if known_value(self._reserved[0]) == known_value(self._reserved[1]):
            raise invalid("Empty and deleted keys cannot be equal")

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor | Any:  # type: ignore[override]
        """Return the value of each key, the default of those that are not there. k[*s] -> v[*s, *t]."""
        return super().lookup(keys, name=name)

    insert_or_assign = MutableHashTable.insert

    def _keys(self, keys: TensorLike) -> tuple[Any, Callable[[Any], Any]]:
        flat, put = super()._keys(keys)
        for what, key in zip(("empty_key", "deleted_key"), self._reserved, strict=True):
            assert_none_equal(flat, key, message=f"Using the {what} as a table key is not allowed")
        return flat, put

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: the keys k[b, 1] and values v[b, *t] of all buckets, v[b, 1] of scalars."""
        keys, values = self.export()
        shape = values.shape[1:] if values.shape.rank != 1 else [1]
        results = (keys.dtype, [None, 1]), (values.dtype, [None, *shape])
        found = host_call(in_buckets, [keys, values, self._reserved[0]], *results)
        return dict(zip(("-keys", "-values"), found, strict=True))

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Take the entries of these buckets in place of what is there; also keys k[n] and values v[n, *t]."""
        keys = reshape(restored_tensors["-keys"], [-1])
        values = reshape(restored_tensors["-values"], [-1, *self._default_value.shape])
        there = logical_and(*[not_equal(keys, key) for key in self._reserved])
        tensors = {"-keys": boolean_mask(keys, there), "-values": boolean_mask(values, there)}
        return super()._restore_from_tensors(tensors)
