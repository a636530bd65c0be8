"""The ops that take serialized Examples apart: what TensorFlow calls ParseExampleV2 and ParseSequenceExampleV2.

Rule: features are found and counted in C (wire_scan.pyx), all of a batch at once; what is here puts arrays together and
says what is wrong. Nothing is made for a single feature. Source: tf.raw_ops.ParseExampleV2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import as_dtype, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.records.wire_scan import Slices, counted, filled, fixed, located, members

_REASON = "how many values there are is data"
_KINDS = {"string": 1, "float32": 2, "int64": 3}
_WORDS = {1: "string", 2: "float", 3: "int64"}

#: A feature: its key and dtype; of a dense one the shape, of a ragged one the dtype of its splits.
Sparse = tuple[str, str]
Dense = tuple[str, str, tuple[int | None, ...]]
Ragged = tuple[str, str, str]


class Row(NamedTuple):
    """One feature of all messages: how many values each has (-1: it is not there), and these one after the other."""

    counts: Array
    values: Array


class Batch:
    """Serialized messages and the features found in them."""

    def __init__(self, serialized: Array, names: Array, keys: Sequence[str], field: int) -> None:
        self.single = serialized.ndim == 0
        self.messages: list[bytes] = serialized.reshape(-1).tolist()
        self.names = names.reshape(-1).tolist()
        if self.names and len(self.names) != len(self.messages):
            raise invalid(f"Expected names to be of length {len(self.messages)}, got {len(self.names)}")
        self.rows = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        found, bad = located(self.messages, [key.encode() for key in self.rows], field)
        if found is None:
            raise self.no_message(bad)
        self.found: Slices = found

    def no_message(self, i: int) -> Exception:
        """Return the error for bytes that are no message."""
        shown = self.messages[i].decode(errors="backslashreplace")
        return invalid(f"Could not parse example input, value: '{shown}'")

    def name(self, i: int) -> str:
        """Return how errors name a message."""
        return self.names[i].decode(errors="replace") if self.names else "<unknown>"

    def place(self, i: int, key: str) -> str:
        """Return how errors begin that a feature of a message has."""
        return f"Key: {key}. " if self.single else f"Name: {self.name(i)}, Key: {key}, Index: {i}. "

    def other(self, i: int, key: str, dtype: str, found: str, dense: bool) -> Exception:
        """Return the error for a feature of another dtype."""
        wanted = _WORDS[_KINDS[dtype]]
        said = f"Data type: {found} but expected type: {wanted}"
        said = said if dense else f"Expected type: {wanted}, Actual type: {found}"
        return invalid(f"{self.place(i, key)} Data types don't match. {said}")

    def values(self, key: str, dtype: str, dense: bool = False) -> Row:
        """Return a feature. Raises InvalidArgumentError for one that is none or of another dtype."""
        row, kind = self.rows[key], _KINDS[dtype]
        counts = counted(self.found, row, kind)
        if len(counts) and counts.min() < -1:
            i = int(np.argmax(counts < -1))
            if counts[i] == -2:
                raise self._unparsed(i, key)
            raise self.other(i, key, dtype, _WORDS[-3 - int(counts[i])], dense)
        total = int(counts[counts > 0].sum())
        try:
            return Row(counts, _array(filled(self.found, row, kind, total)))
        except ValueError:
            raise self._unparsed(0, key) from None

    def _unparsed(self, i: int, key: str) -> Exception:
        return invalid(f"{self.place(i, key)} Can't parse serialized Example.")


def _array(values: Any) -> Array:
    if not isinstance(values, list):
        return values
    words = np.empty(len(values), object)
    words[:] = values
    return words


def _sparse(batch: Batch, feature: Sparse) -> tuple[Array, Array, Array]:
    """Indices, values and shape."""
    counts, values = batch.values(*feature)
    counts = np.maximum(counts, 0)
    inner = _positions(counts)
    if batch.single:
        return inner[:, None], values, np.array([len(values)], np.int64)
    outer = np.repeat(np.arange(len(counts)), counts)
    return np.stack([outer, inner], 1), values, np.array([len(counts), counts.max(initial=0)], np.int64)


def _size(shape: Sequence[Any]) -> int:
    return math.prod(shape)


def _positions(counts: Array) -> Array:
    """0, 1, ... for each count."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _dense(batch: Batch, feature: Dense, default: Array) -> Array:
    key, dtype, shape = feature
    if shape[:1] == (None,):
        return _padded(batch, feature, default)
    size = _size(shape)
    whole = fixed(batch.found, batch.rows[key], _KINDS[dtype], size)
    if whole is not None:
        return _array(whole).reshape(shape if batch.single else (len(batch.messages), *shape))
    counts, values = batch.values(key, dtype, dense=True)
    missing = counts < 0
    wrong = (counts != size) & ~missing
    if wrong.any():
        i = int(np.argmax(wrong))
        kind = _KINDS[dtype]
        if batch.single:
            kinds = {1: "bytes_list", 2: "float_list", 3: "int64_list"}
            raise invalid(f"Key: {key}.  Can't parse serialized Example: Some {kinds[kind]} slice was not parsed.")
        raise invalid(
            f"{batch.place(i, key)} Number of {_WORDS[kind]} values != expected.  Values size: {counts[i]} but output "
            f"shape: {list(shape)}"
        )
    if missing.any():
        if default.size != size or (size and not default.size):
            i = int(np.argmax(missing))
            named = "" if batch.single else f"Name: {batch.name(i)}, "
            word = _WORDS[_KINDS[dtype]]
            raise invalid(f"{named}Feature: {key} (data type: {word}) is required but could not be found.")
        rows = np.empty((len(counts), size), values.dtype)
        rows[~missing] = values.reshape(-1, size)
        rows[missing] = default.reshape(-1)
        values = rows
    return values.reshape(shape if batch.single else (len(counts), *shape))


def _padded(batch: Batch, feature: Dense, default: Array) -> Array:
    """Features of any number of elements, each of the shape but its first size, filled up to the longest."""
    key, dtype, (_, *element) = feature
    counts, values = batch.values(key, dtype, dense=True)
    stride = _size(element)
    counts = np.maximum(counts, 0)
    odd = counts % stride != 0 if stride else counts > 0
    if odd.any():
        i = int(np.argmax(odd))
        if batch.single:
            raise invalid(
                f"Error while parsing feature with key {key}: number of elements should be divisible by {stride}, "
                f"found {counts[i]} instead"
            )
        sizes = ",".join(map(str, ["?", *element]))
        raise invalid(
            f"{batch.place(i, key)} Number of {_WORDS[_KINDS[dtype]]} values is not a multiple of stride length. Saw "
            f"{counts[i]} values but output shape is: [{sizes}]"
        )
    most = int(counts.max(initial=0))
    shape = (most // stride if stride else 0, *element)
    if batch.single:
        return values.reshape(shape)
    return filled_up(values, counts, most, default).reshape(len(counts), *shape)


def filled_up(values: Array, counts: Array, most: int, default: Array) -> Array:
    """Rows of `counts` values, one after the other, filled up to `most` each. t[sum], i64[n] -> t[n, most]."""
    if len(values) == len(counts) * most:
        return values.reshape(len(counts), most)
    rows = np.empty((len(counts), most), values.dtype)
    rows[:] = default.reshape(-1)[0] if default.size else b"" if values.dtype == object else 0
    rows[np.arange(most) < counts[:, None]] = values
    return rows


def _ragged(batch: Batch, feature: Ragged) -> tuple[Array, Array]:
    """Values and splits."""
    key, dtype, splits = feature
    counts, values = batch.values(key, dtype)
    return values, np.zeros(0, splits) if batch.single else _splits(np.maximum(counts, 0), splits)


def _splits(counts: Array, dtype: str) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(dtype)


def _columns(rows: Sequence[tuple[Any, ...]], n: int) -> list[Any]:
    """Rows of n results as n rows, one after the other."""
    return [row[i] for i in range(n) for row in rows]


def _infer(
    serialized: Aval, names: Aval, *defaults: Aval,
    sparse: tuple[Sparse, ...], dense: tuple[Dense, ...], ragged: tuple[Ragged, ...],
) -> tuple[Aval, ...]:  # fmt: skip
    outer = serialized.shape
    if outer is not None and len(outer) > 1:
        raise invalid(f"Expected serialized to be a scalar or vector, got shape: {shape_text(outer)}")
    rank = None if outer is None else len(outer) + 1
    single = outer == ()
    n = None if outer is None or single or outer[0] is None else outer[0] + 1
    return (
        *[Aval(int64, (None, rank)) for _ in sparse],
        *[Aval(as_dtype(dtype), (None,)) for _, dtype in sparse],
        *[Aval(int64, (rank,)) for _ in sparse],
        *[Aval(as_dtype(dtype), None if outer is None else (*outer, *shape)) for _, dtype, shape in dense],
        *[Aval(as_dtype(dtype), (None,)) for _, dtype, _ in ragged],
        *[Aval(as_dtype(splits), (0 if single else n,)) for _, _, splits in ragged],
    )


@custom(op="ParseExampleV2", infer=_infer, groups=("string", "string", "-"), n_outputs=None, step="dynamic",
        reason=_REASON)  # fmt: skip
def parse_example_v2(
    serialized: Array, names: Array, *defaults: Array,
    sparse: tuple[Sparse, ...], dense: tuple[Dense, ...], ragged: tuple[Ragged, ...],
) -> Any:  # fmt: skip
    """The features of Examples. string[n] or string[], names string[n] or [0], a default for each dense feature ->
    indices, values and shapes of the sparse ones, the dense ones, values and splits of the ragged ones."""
    if serialized.ndim > 1:
        raise invalid(f"Expected serialized to be a scalar or vector, got shape: {shape_text(serialized.shape)}")
    batch = Batch(serialized, names, [str(each[0]) for each in (*sparse, *dense, *ragged)], 1)
    return (
        *_columns([_sparse(batch, each) for each in sparse], 3),
        *[_dense(batch, *pair) for pair in zip(dense, defaults, strict=True)],
        *_columns([_ragged(batch, each) for each in ragged], 2),
    )


# ---- sequences ------------------------------------------------------------------------------------------------------


class _Context(Batch):
    """The contexts of SequenceExamples."""

    def no_message(self, i: int) -> Exception:
        return invalid(f"Invalid protocol message input, example id: {self.name(i)}")

    def place(self, i: int, key: str) -> str:
        return f"Name: {self.name(i)}, Context feature: {key}. "

    def other(self, i: int, key: str, dtype: str, found: str, dense: bool) -> Exception:
        wanted = _WORDS[_KINDS[dtype]]
        return invalid(f"{self.place(i, key)} Data types don't match. Expected type: {wanted}")


class List(NamedTuple):
    """One list of features of all messages: how many each has (-1: it is not there), how many values each feature has,
    and these one after the other."""

    lengths: Array
    counts: Array
    values: Array


class _Lists(_Context):
    """The lists of features of SequenceExamples."""

    def values_of(self, key: str, dtype: str) -> List:
        """Return a list. Raises InvalidArgumentError for one that is none or of another dtype."""
        lengths, inner = members(self.found, self.rows[key])
        if len(lengths) and lengths.min() < -1:
            raise self.no_message(int(np.argmax(lengths < -1)))
        kind = _KINDS[dtype]
        counts = counted(inner, 0, kind)
        bad = counts < -1
        if bad.any():
            at = int(np.argmax(bad))
            starts = np.cumsum(np.maximum(lengths, 0))
            i = int(np.searchsorted(starts, at, "right"))
            if counts[at] == -2:
                raise self.no_message(i)
            index = at - (int(starts[i - 1]) if i else 0)
            raise invalid(
                f"Name: {self.name(i)}, Feature list: {key}, Index: {index}.  Data types don't match. Expected type: "
                f"{_WORDS[kind]}"
            )
        counts = np.maximum(counts, 0)
        try:
            return List(lengths, counts, _array(filled(inner, 0, kind, int(counts.sum()))))
        except ValueError:
            raise self.no_message(0) from None


def _sparse_list(lists: _Lists, feature: Sparse) -> tuple[Array, Array, Array]:
    lengths, counts, values = lists.values_of(*feature)
    lengths = np.maximum(lengths, 0)
    step, inner = np.repeat(_positions(lengths), counts), _positions(counts)
    shape = [lengths.max(initial=0), counts.max(initial=0)]
    if lists.single:
        return np.stack([step, inner], 1), values, np.array(shape, np.int64)
    outer = np.repeat(np.repeat(np.arange(len(lengths)), lengths), counts)
    return np.stack([outer, step, inner], 1), values, np.array([len(lengths), *shape], np.int64)


def _dense_list(lists: _Lists, feature: Dense, optional: bool) -> tuple[Array, Array]:
    key, dtype, shape = feature
    found = lists.values_of(key, dtype)
    if not optional and (found.lengths < 0).any():
        i = int(np.argmax(found.lengths < 0))
        raise invalid(
            f"Name: {lists.name(i)}, Feature list '{key}' is required but could not be found.  Did you mean to include "
            "it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
        )
    size, lengths = _size(shape), np.maximum(found.lengths, 0)
    wrong = found.counts != size
    if wrong.any():
        at = int(np.argmax(wrong))
        starts = np.cumsum(lengths)
        i = int(np.searchsorted(starts, at, "right"))
        index = at - (int(starts[i - 1]) if i else 0)
        raise invalid(
            f"Name: {lists.name(i)}, Key: {key}, Index: {index}.  Number of values != expected.  values size: "
            f"{found.counts[at]} but output shape: {shape_text(shape)}"
        )
    if lists.single:
        return found.values.reshape(int(lengths[0]), *shape), np.array(lengths[0])
    most = int(lengths.max(initial=0))
    rows = filled_up(found.values, lengths * size, most * size, np.zeros(0))
    return rows.reshape(len(lengths), most, *shape), lengths


def _ragged_list(lists: _Lists, feature: Ragged) -> tuple[Array, Array, Array]:
    """Values, the splits of messages, and those of features."""
    key, dtype, splits = feature
    lengths, counts, values = lists.values_of(key, dtype)
    outer = np.zeros(0, splits) if lists.single else _splits(np.maximum(lengths, 0), splits)
    return values, outer, _splits(counts, splits)


def _infer_sequences(
    serialized: Aval, names: Aval, *defaults: Aval,
    context: tuple[tuple[Sparse, ...], tuple[Dense, ...], tuple[Ragged, ...]],
    lists: tuple[tuple[Sparse, ...], tuple[Dense, ...], tuple[Ragged, ...]], optional: tuple[str, ...],
) -> tuple[Aval, ...]:  # fmt: skip
    outer = serialized.shape
    if outer is not None and len(outer) > 1:
        raise invalid(f"Expected serialized to be a scalar or vector, got shape: {shape_text(outer)}")
    sparse, dense, ragged = lists
    rank = None if outer is None else len(outer) + 2
    n = 0 if outer == () else None if not outer or outer[0] is None else outer[0] + 1
    return (
        *_infer(serialized, names, sparse=context[0], dense=context[1], ragged=context[2]),
        *[Aval(int64, (None, rank)) for _ in sparse],
        *[Aval(as_dtype(dtype), (None,)) for _, dtype in sparse],
        *[Aval(int64, (rank,)) for _ in sparse],
        *[Aval(as_dtype(dtype), None if outer is None else (*outer, None, *shape)) for _, dtype, shape in dense],
        *[Aval(int64, outer) for _ in dense],
        *[Aval(as_dtype(dtype), (None,)) for _, dtype, _ in ragged],
        *[Aval(as_dtype(splits), (n,)) for _, _, splits in ragged],
        *[Aval(as_dtype(splits), (None,)) for _, _, splits in ragged],
    )


@custom(op="ParseSequenceExampleV2", infer=_infer_sequences, groups=("string", "string", "-"), n_outputs=None,
        step="dynamic", reason=_REASON)  # fmt: skip
def parse_sequence_example_v2(
    serialized: Array, names: Array, *defaults: Array,
    context: tuple[tuple[Sparse, ...], tuple[Dense, ...], tuple[Ragged, ...]],
    lists: tuple[tuple[Sparse, ...], tuple[Dense, ...], tuple[Ragged, ...]], optional: tuple[str, ...],
) -> Any:  # fmt: skip
    """The features of SequenceExamples: those of the contexts as `parse_example_v2` gives them, then of the lists
    indices, values and shapes of the sparse ones, the dense ones, their lengths, values, outer and inner splits of the
    ragged ones. Lists that `optional` names may be missing."""
    if serialized.ndim > 1:
        raise invalid(f"Expected serialized to be a scalar or vector, got shape: {shape_text(serialized.shape)}")
    head = _Context(serialized, names, [each[0] for kind in context for each in kind], 1)
    tail = _Lists(serialized, names, [each[0] for kind in lists for each in kind], 2)
    return (
        *_columns([_sparse(head, each) for each in context[0]], 3),
        *[_dense(head, *pair) for pair in zip(context[1], defaults, strict=True)],
        *_columns([_ragged(head, each) for each in context[2]], 2),
        *_columns([_sparse_list(tail, each) for each in lists[0]], 3),
        *_columns([_dense_list(tail, each, each[0] in optional) for each in lists[1]], 2),
        *_columns([_ragged_list(tail, each) for each in lists[2]], 3),
    )
