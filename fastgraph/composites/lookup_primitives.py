"""The tables of tf.lookup, and the ops that read and change them.

Rule: a table is a Python dict that graphs hold by reference; looking up a fixed table is an op like others, what reads
or changes one that changes is an effect, in program order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype, int64, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.array_kernels import StringNumbers, places
from fastgraph.errors import FailedPreconditionError
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.strings import parts_of

_REASON = "its table is a Python dict"
_numbers = itertools.count()


class Table(str):
    """The name of a table among a node's attributes; it holds the table's dict."""

    __slots__ = ("dtype", "entries", "is_fixed", "is_waiting", "key_dtype", "places", "reserved", "shape")

    entries: dict[Any, Any]
    key_dtype: DType
    dtype: DType
    shape: tuple[int, ...]  # of a value
    is_fixed: bool  # whether nothing changes it once it is filled
    is_waiting: bool  # whether `fill` is still to come: who asks before has no answer
    reserved: tuple[Any, ...]  # keys that no entry has: those of empty places and of deleted entries
    places: _Range | _Strings | None  # of a fixed table, once it was asked

    def fill(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Replace all entries. The table stays the same one: graphs have it."""
        self.places, self.is_waiting = None, False
        self.entries.clear()
        self.entries.update(entries)

    def __reduce__(self) -> Any:  # a copy is a table of its own, with a name of its own
        held = dict(self.entries), self.reserved, self.is_waiting
        return _again, (self.key_dtype, self.dtype, self.shape, self.is_fixed, *held)


class _Range(NamedTuple):
    """Values by keys that are near each other: those from `first` on, and which of them there are; of `n` keys."""

    n: int
    first: int
    values: Array
    there: Array


class _Strings(NamedTuple):
    """Values by the numbers of their keys, which are strings; of `n` keys."""

    n: int
    numbers: StringNumbers
    values: Array

    def found(self, at: Array, default: Array) -> Array:
        """Return the values of keys by their numbers, `default` where that is -1."""
        return np.where(at < 0, default.astype(self.values.dtype), self.values[at])


def _index(table: Table) -> _Range | _Strings | None:
    """The entries of a fixed table where a loop finds them: strings, or whole numbers of which few are left out."""
    count = len(table.entries)
    if table.places is not None and table.places.n == count:
        return table.places
    if table.key_dtype == string:
        numbers = StringNumbers()
        numbers.numbers(np.fromiter(table.entries, object, count), True)
        table.places = _Strings(count, numbers, np.fromiter(table.entries.values(), table.dtype.numpy_dtype, count))
    elif table.key_dtype.is_integer and count:
        first, last = min(table.entries), max(table.entries)
        size = last - first + 1 if last - first < 4 * count + 1024 else 0
        values, there = np.zeros(size, table.dtype.numpy_dtype), np.zeros(size, bool)
        if size:
            at = np.fromiter(table.entries, np.int64, count) - first
            values[at], there[at] = np.array([*table.entries.values()], values.dtype), True
        table.places = _Range(count, first, values, there)
    return table.places


def new_table(key_dtype: DType, dtype: DType, value_shape: tuple[int, ...] = (), *, is_fixed: bool = False) -> Table:
    """Return an empty table."""
    table = Table(f"table_{next(_numbers)}")
    table.entries, table.key_dtype, table.dtype, table.shape = {}, key_dtype, dtype, value_shape
    table.is_fixed, table.is_waiting, table.reserved, table.places = is_fixed, False, (), None
    return table


def _again(
    key_dtype: DType, dtype: DType, shape: tuple[int, ...], is_fixed: bool, entries: dict[Any, Any], reserved: Any,
    is_waiting: bool,
) -> Table:  # fmt: skip
    table = new_table(key_dtype, dtype, shape, is_fixed=is_fixed)
    table.entries.update(entries)
    table.reserved, table.is_waiting = reserved, is_waiting
    return table


def _found(keys: Array, default: Array, table: Table) -> Any:
    entries, kind = table.entries, table.dtype.numpy_dtype
    if table.is_waiting:
        raise FailedPreconditionError(None, None, "Table not initialized.")
    size = len(table.shape)
    if default.shape not in (table.shape, (*keys.shape, *table.shape)):
        wanted = [shape_text(shape) for shape in (table.shape, (*keys.shape, *table.shape))]
        raise invalid(f"Expected shape {' or '.join(wanted)} for default value, got {shape_text(default.shape)}")
    index = _index(table) if not size and not default.ndim and table.is_fixed and entries else None
    if isinstance(index, _Strings):
        return index.found(index.numbers.numbers(np.ascontiguousarray(keys), False).reshape(keys.shape), default)
    if index is not None and index.values.size:
        at = keys.astype(np.int64) - index.first
        within = (at >= 0) & (at < index.values.size)
        at = np.where(within, at, 0)
        return np.where(within & index.there[at], index.values[at], default.astype(kind))
    asked = keys.reshape(-1).tolist()
    if not size and not default.ndim:
        values = map(entries.get, asked, itertools.repeat(default.item()))
        return np.fromiter(values, kind, keys.size).reshape(keys.shape)
    result = np.empty((*keys.shape, *table.shape), kind)
    flat = result.reshape(keys.size, *table.shape)
    others = np.broadcast_to(default, result.shape).reshape(flat.shape)
    for i, key in enumerate(asked):
        value = entries.get(key)
        flat[i] = others[i] if value is None else value
    return result


def _infer_found(keys: Aval, default: Aval, *, table: Table) -> Aval:
    return Aval(table.dtype, None if keys.shape is None else (*keys.shape, *table.shape))


def _sample_table() -> Table:
    table = new_table(string, int64)
    table.entries.update({b"a": 1, b"b": 2})
    return table


def _samples() -> list[Any]:
    return [((np.array([b"a", b"z"], object), np.array(-1)), {"table": _sample_table()})]


_FIND: dict[str, Any] = dict(
    op="LookupTableFindV2", infer=_infer_found, groups=("Tin", "Tout"), samples=_samples, reason=_REASON
)


@custom(**_FIND)
def table_find_p(keys: Array, default: Array, *, table: Table) -> Any:
    """The value of each key in a table that does not change, `default` of those that are not in it. -> v[*s, *t]."""
    return _found(keys, default, table)


def _infer_parts_found(input: Aval, sep: Aval, default: Aval, *, table: Table) -> tuple[Aval, Aval, Aval]:
    return Aval(int64, (None, 2)), Aval(table.dtype, (None,)), Aval(int64, (2,))


@custom(
    infer=_infer_parts_found,
    groups=("string", "string", "Tout"),
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((np.array([b"a z b", b"", b"a"], object), np.array(sep, object), np.array(-1)), {"table": _sample_table()})
        for sep in (b"", b" ")
    ],
    reason=_REASON,
)
def string_split_find_p(input: Array, sep: Array, default: Array, *, table: Table) -> Any:
    """`string_split_v2` of all parts, and `table_find` of them in a table of numbers; the parts become no strings.

    string[n], string[], v[] -> i64[m, 2], v[m], i64[2].
    """
    index = _index(table) if table.entries and input.ndim == 1 else None
    if not isinstance(index, _Strings):
        where, parts, shape = parts_of(input, sep.item())
        return where, _found(parts, default, table), shape
    at, lengths = index.numbers.of_parts(np.ascontiguousarray(input), sep.item())
    return places(lengths), index.found(at, default), np.array([len(lengths), lengths.max(initial=0)], np.int64)


@custom(**_FIND, effect="host")
def mutable_table_find_p(keys: Array, default: Array, *, table: Table) -> Any:
    """The value of each key in a table that may change, `default` of those that are not in it. -> v[*s, *t]."""
    return _found(keys, default, table)


@custom(
    op="LookupTableInsertV2",
    infer=lambda keys, values, *, table: (),
    groups=("Tin", "Tout"),
    n_outputs=0,
    effect="host",
    samples=lambda: [((np.array([b"c"], object), np.array([3])), {"table": _sample_table()})],
    reason=_REASON,
)
def table_insert_p(keys: Array, values: Array, *, table: Table) -> Any:
    """Put values under keys, in place of what is there."""
    if values.shape != (*keys.shape, *table.shape):
        raise invalid(f"Expected shape {[*keys.shape, *table.shape]} for value, got {list(values.shape)}")
    rows = values.reshape(keys.size, *table.shape)
    for key, value in zip(keys.reshape(-1).tolist(), rows, strict=True):
        table.entries[key] = value if table.shape else value.item() if isinstance(value, np.generic) else value
    return ()


@custom(
    op="LookupTableRemoveV2",
    infer=lambda keys, *, table: (),
    groups=("Tin",),
    n_outputs=0,
    effect="host",
    samples=lambda: [((np.array([b"a", b"x"], object),), {"table": _sample_table()})],
    reason=_REASON,
)
def table_remove_p(keys: Array, *, table: Table) -> Any:
    """Take keys away, if they are there."""
    for key in keys.reshape(-1).tolist():
        table.entries.pop(key, None)
    return ()


@custom(
    op="LookupTableImportV2",
    infer=lambda keys, values, *, table: (),
    groups=("Tin", "Tout"),
    n_outputs=0,
    effect="host",
    samples=lambda: [((np.array([b"c"], object), np.array([3])), {"table": _sample_table()})],
    reason=_REASON,
)
def table_import_p(keys: Array, values: Array, *, table: Any) -> Any:
    """Have these keys and values, and nothing else."""
    rows = values.reshape(keys.size, *table.shape)
    found = dict(zip(keys.reshape(-1).tolist(), rows if table.shape else rows.tolist(), strict=True))
    if table.is_fixed and len(found) < keys.size:
        check_same(keys.reshape(-1).tolist(), rows.tolist())
    table.fill(found.items())
    return ()


def check_same(keys: list[Any], values: list[Any]) -> None:
    """Raise FailedPreconditionError for a key with two values."""
    found: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        if found.setdefault(key, value) != value:
            raise FailedPreconditionError(
                None,
                None,
                f"HashTable has different value for same key. Key {key} has {found[key]} and trying to add value "
                f"{value}",
            )


@custom(
    op="LookupTableExportV2",
    infer=lambda *, table, key_dtype: (Aval(as_dtype(key_dtype), (None,)), Aval(table.dtype, (None, *table.shape))),
    groups=(),
    n_outputs=2,
    effect="host",
    samples=lambda: [((), {"table": _sample_table(), "key_dtype": "string"})],
    reason=_REASON,
)
def table_export_p(*, table: Table, key_dtype: str) -> Any:
    """All keys and their values: k[n], v[n, *t]."""
    keys = np.empty(len(table.entries), as_dtype(key_dtype).numpy_dtype)
    keys[:] = list(table.entries)
    values = np.empty((len(keys), *table.shape), table.dtype.numpy_dtype)
    for i, value in enumerate(table.entries.values()):
        values[i] = value
    return keys, values


@custom(
    op="LookupTableSizeV2",
    infer=lambda *, table: Aval(int64, ()),
    groups=(),
    effect="host",
    samples=lambda: [((), {"table": _sample_table()})],
    reason=_REASON,
)
def table_size_p(*, table: Table) -> Any:
    """Number of keys. -> i64[]."""
    return np.array(len(table.entries), np.int64)
