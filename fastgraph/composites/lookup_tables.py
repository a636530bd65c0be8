"""tf.lookup: tables from keys to values, fixed ones and ones that change, and what fills them.

Rule: keys and values are checked and converted here; the table itself and its ops are `lookup_primitives`'.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.lookup_primitives import (
    check_same,
    mutable_table_find_p,
    new_table,
    table_export_p,
    table_find_p,
    table_size_p,
)
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int64, string
from fastgraph.core.base.paths import as_op_errors, opened
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor, convert, current_trace, init_scope
from fastgraph.errors import FailedPreconditionError
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.elementwise import cast, select
from fastgraph.ops.families import Array, bind_effect, invalid, shape_text
from fastgraph.ops.string_hashes import to_hash_bucket_fast
from fastgraph.ops.strings import as_string
from fastgraph.state.tracking import AutoTrackable, TrackableResource

# ---- what fills a fixed table ---------------------------------------------------------------------------------------


#: Numbers for the names of tables.
_numbers = itertools.count()


class TextFileIndex:
    """The part of a line that is meant: all of it, or its number. Source: tf.lookup.TextFileIndex."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class _OfDtypes(AutoTrackable):
    _key_dtype: DType
    _value_dtype: DType

    key_dtype = ReadOnly[DType]("_key_dtype", "The dtype of keys.")
    value_dtype = ReadOnly[DType]("_value_dtype", "The dtype of values.")


class TableInitializer(_OfDtypes):
    """The base of initializers, each of which fills a table once: its dtypes, and `initialize(table)`."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    def initialize(self, table: StaticHashTable) -> None:
        """Fill `table`."""
        raise NotImplementedError


class KeyValueTensorInitializer(TableInitializer):
    """Keys and values from two tensors of one shape, k[n] and v[n]. Source: tf.lookup.KeyValueTensorInitializer.

    Raises: ValueError in a Function for tensors that only its run knows.
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with init_scope():
            self._keys, self._values = as_tensor(keys, key_dtype), as_tensor(values, value_dtype)
        for given in (self._keys, self._values):
            if known_value(given) is None:
                raise ValueError("KeyValueTensorInitializer needs keys and values that are known when it is made")
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> None:
        """Fill `table`. Raises FailedPreconditionError for a key with two values."""
        _check_dtypes(table, self._keys.dtype, self._values.dtype)
        table.fill(known_value(self._keys), known_value(self._values))


class TextFileInitializer(TableInitializer):
    """Keys and values from the lines of a text file. Source: tf.lookup.TextFileInitializer.

    key_index, value_index: `TextFileIndex`, or which column between delimiters. Raises: ValueError for indices and
    dtypes that do not go together; when the table is made, InvalidArgumentError for lines that do not fit.
    """

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("Key", key_index, self.key_dtype), ("Value", value_index, self.value_dtype)):
            if index == TextFileIndex.LINE_NUMBER and dtype != int64:
                raise ValueError(f"`{what.lower()}_dtype` must be `tf.int64` if `{what.lower()}_index` is LINE_NUMBER")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype == string):
                raise ValueError(f"`{what.lower()}_dtype` must be an integer or string for a whole line, got {dtype}")
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"`{what.lower()}_index` should be >= -2, received: {index}.")
        if isinstance(filename, str | bytes) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        if isinstance(filename, Tensor) and filename.dtype != string:
            raise ValueError(f"`filename` must be a string, got {filename!r}")
        self._file, self._size, self._delimiter = filename, vocab_size, delimiter
        self._indices, self._offset = (key_index, value_index), value_index_offset

    def _column(self, index: int, number: int, line: bytes) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number
        if index == TextFileIndex.WHOLE_LINE:
            return line
        parts = line.split(self._delimiter.encode())
        if index >= len(parts):
            raise invalid(f"Invalid number of columns in {self._file!s} line {number} ({line.decode()}): no {index}")
        return parts[index]

    def _number(self, field: Any, number: int, dtype: DType) -> Any:
        try:
            return float(field) if dtype.is_floating else int(field)
        except ValueError:
            text = field.decode(errors="replace")
            raise invalid(f"Field {text} in line {number} is not a valid {dtype.name}.") from None

    def initialize(self, table: StaticHashTable) -> None:
        """Fill `table` from the file."""
        _check_dtypes(table, self.key_dtype, self.value_dtype)
        table.fill(*self.columns())

    file = ReadOnly[Any]("_file", "The file's path.")

    def described(self) -> dict[str, Any]:
        """Return what is read of a line, as operations of TensorFlow say it."""
        return {
            "key_index": self._indices[0], "value_index": self._indices[1],
            "vocab_size": -1 if self._size is None else self._size, "delimiter": self._delimiter,
            "offset": self._offset,
        }  # fmt: skip

    def columns(self) -> tuple[Array, Array]:
        """Return the keys and the values that the file has now: k[n], v[n]."""
        name = known_value(as_tensor(self._file, string))
        assert name is not None
        if name.ndim:
            raise invalid(f"filename should be a single string, but got {shape_text([name.size])}")
        path = name.item()
        if not path:
            raise invalid("filename cannot be empty.")
        with as_op_errors(path), opened(path, "rb") as file:
            lines = [line.rstrip(b"\r\n") for line in file]
        if self._size is not None and len(lines) < self._size:
            raise invalid(f"Invalid vocab_size in {self._file!s}: expected {self._size} but got {len(lines)}")
        columns = []
        for index, dtype in zip(self._indices, (self.key_dtype, self.value_dtype), strict=True):
            found = [self._column(index, number, line) for number, line in enumerate(lines[: self._size])]
            array = np.empty(len(found), dtype.numpy_dtype)
            array[:] = found if dtype == string else [self._number(v, n, dtype) for n, v in enumerate(found)]
            columns.append(array)
        if self._offset:
            columns[1] = columns[1] + np.array(self._offset, columns[1].dtype)
        return columns[0], columns[1]


def _check_dtypes(table: LookupInterface, key_dtype: DType, value_dtype: DType) -> None:
    for what, wanted, given in (("key", table.key_dtype, key_dtype), ("value", table.value_dtype, value_dtype)):
        if wanted != given:
            raise TypeError(f"Invalid {what} dtype for table, expected {wanted} but got {given}.")


# ---- tables ---------------------------------------------------------------------------------------------------------


class LookupInterface(_OfDtypes, TrackableResource):
    """The base of tables: dtypes, `lookup`, `size`, `[keys]`."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, name: str) -> None:
        self._key_dtype, self._value_dtype, self._name = as_dtype(key_dtype), as_dtype(value_dtype), name

    name = ReadOnly[str]("_name", "The table's name.")

    def _keys(self, keys: TensorLike) -> tuple[Any, Callable[[Any], Any]]:
        """(keys as a tensor, what puts values in their place) of tensors and composites. Raises TypeError."""
        put: Callable[[Any], Any] = lambda found: found
        if isinstance(keys, SparseTensor):
            flat, put = keys.values, lambda found: SparseTensor(keys.indices, found, keys.dense_shape)
        elif isinstance(keys, RaggedTensor):
            flat, put = keys.flat_values, keys.with_flat_values
        else:
            flat = as_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype)
        if flat.dtype != self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype}, received: {flat.dtype}")
        return flat, put

    def __getitem__(self, keys: TensorLike) -> Any:
        return self.lookup(keys)

    def lookup(self, keys: TensorLike, name: str | None = None) -> Any:
        """Return the values of keys."""
        raise NotImplementedError


class _Entries(LookupInterface):
    _table: Any
    _default_value: Tensor

    def _default(self) -> Any:
        """The default value; in a tf.Graph, which takes no tensors from outside, as an array."""
        trace = current_trace()
        return self._default_value if trace is None or trace.root.kind != "graph" else self._default_value.numpy()

    def size(self, name: str | None = None) -> Any:
        """Return how many keys there are. -> i64[]."""
        return table_size_p(table=self._table)

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values: k[n], v[n, *t]."""
        keys, values = table_export_p(table=self._table, key_dtype=self._key_dtype.name)
        return keys, values


class StaticHashTable(_Entries):
    """A table that an initializer fills once. Source: tf.lookup.StaticHashTable.

    Raises: TypeError for keys of another dtype.
    """

    def __init__(
        self,
        initializer: TableInitializer,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype, name or f"hash_table_{next(_numbers)}")
        self._initializer = initializer
        with init_scope():
            self._default_value = as_tensor(default_value, self._value_dtype)
        if self._default_value.shape.rank not in (0, None):
            raise ValueError(f"default_value must be a scalar, got shape {self._default_value.shape}")
        self._table = new_table(self._key_dtype, self._value_dtype, is_fixed=True)
        self._filled = False
        initializer.initialize(self)

    default_value = ReadOnly[Tensor]("_default_value", "The value of keys that are not in the table.")

    def fill(self, keys: Array, values: Array) -> None:
        """Put keys and values into the table, once. Raises FailedPreconditionError for a key with two values."""
        if keys.shape != values.shape:
            wanted, given = shape_text(list(keys.shape)), shape_text(list(values.shape))
            raise invalid(f"Expected shape {wanted} for value, got {given}")
        flat = keys.reshape(-1).tolist(), values.reshape(-1).tolist()
        self._table.entries.update(zip(*flat, strict=True))
        if len(self._table.entries) < len(flat[0]):
            check_same(*flat)
        self._filled = True

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor | Any:
        """Return the value of each key, the default of those that are not there. k[*s] -> v[*s].

        keys may be a SparseTensor or RaggedTensor. Raises: TypeError for another dtype, FailedPreconditionError if
        nothing has filled the table.
        """
        flat, put = self._keys(keys)
        if not self._filled:
            raise FailedPreconditionError(None, None, "Table not initialized.")
        with name_scope(name or f"{self._name}_Lookup"):
            return put(table_find_p(flat, self._default(), table=self._table))


class StaticVocabularyTable(LookupInterface):
    """Keys to numbers; keys that are not in the table get one of some buckets. Source: tf.lookup.StaticVocabularyTable.

    Raises: ValueError for less than one bucket, TypeError for dtypes of keys and values that do not fit.
    """

    def __init__(
        self,
        initializer: TableInitializer,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets < 1:
            raise ValueError("`num_oov_buckets` must be >= 1; use StaticHashTable for no buckets.")
        inner = None
        if initializer is not None:
            if initializer.value_dtype != int64:
                raise TypeError(f"Invalid `value_dtype`, expected {int64} but got {initializer.value_dtype}.")
            inner = StaticHashTable(initializer, -1)
        kind = lookup_key_dtype or (inner.key_dtype if inner is not None else string)
        super().__init__(kind, int64, name or f"vocabulary_{next(_numbers)}")
        self._inner, self._count = inner, num_oov_buckets

    def lookup(self, keys: TensorLike, name: str | None = None) -> Tensor | Any:
        """Return the number of each key. k[*s] -> i64[*s]. Raises TypeError for another dtype."""
        flat, put = self._keys(keys)
        words = flat if flat.dtype == string else as_string(cast(flat, int64))
        buckets = to_hash_bucket_fast(words, self._count)
        if self._inner is None:
            return put(buckets)
        keyed = flat if flat.dtype == self._inner.key_dtype else cast(flat, self._inner.key_dtype)
        found = self._inner.lookup(keyed)
        return put(select(found >= 0, found, buckets + self._inner.size()))

    def size(self, name: str | None = None) -> Tensor:
        """Return how many numbers there are, buckets included. -> i64[]."""
        own = as_tensor(self._count, int64)
        return own if self._inner is None else own + self._inner.size()


class MutableHashTable(_Entries):
    """A table that changes. Source: tf.lookup.experimental.MutableHashTable.

    default_value: v[*t], what keys get that are not there, and the shape of values.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, name)
        with init_scope():
            self._default_value = as_tensor(default_value, self._value_dtype)
        extents = [int(n) for n in self._default_value.shape.as_list() if n is not None]
        self._table = new_table(self._key_dtype, self._value_dtype, tuple(extents))

    def lookup(  # type: ignore[override]  # as TensorFlow has it
        self, keys: TensorLike, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Tensor | Any:
        """Return the value of each key. k[*s] -> v[*s, *t].

        dynamic_default_values: v[*s, *t], what each key gets if it is not there. Raises: ValueError for another dtype.
        """
        flat, put = self._keys(self._own_keys(keys))
        given = dynamic_default_values is not None
        default = as_tensor(dynamic_default_values, self._value_dtype) if given else self._default()
        return put(mutable_table_find_p(flat, default, table=self._table))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Any:
        """Put values v[*s, *t] under keys k[*s], in place of what is there. Raises ValueError for other dtypes."""
        flat, _ = self._keys(self._own_keys(keys))
        return bind_effect(
            name, get("table_insert"), (flat, convert(values, self._value_dtype)), {"table": self._table}
        )

    def _own_keys(self, keys: TensorLike) -> Any:
        return keys if isinstance(keys, SparseTensor | RaggedTensor) else convert(keys, self._key_dtype)

    def remove(self, keys: TensorLike, name: str | None = None) -> Any:
        """Take keys away; those that are not there are passed over. Raises TypeError for another dtype."""
        flat, _ = self._keys(keys)
        return bind_effect(name, get("table_remove"), (flat,), {"table": self._table})

    erase = remove

    _legacy_saveable_name = "table"

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: keys k[n] and values v[n, *t]."""
        keys, values = self.export()
        return {"-keys": keys, "-values": values}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Take these keys and values in place of what is there."""
        self._table.entries.clear()
        return self.insert(restored_tensors["-keys"], restored_tensors["-values"])
