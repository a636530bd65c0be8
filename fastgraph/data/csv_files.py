"""Rows of files of comma-separated values and of databases: CsvDataset, make_csv_dataset, SqlDataset.

Rule: fields are read as bytes; a row that does not fit is an error at that row, and the next one goes on behind it.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import (
    DType,
    as_dtype,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
)
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.core.tensor import Tensor, as_array, convert, from_array
from fastgraph.data.dataset import Dataset
from fastgraph.data.dataset_base import made
from fastgraph.data.element_specs import Element, tensor_specs
from fastgraph.data.options import Options
from fastgraph.data.random_access import Table, table_of
from fastgraph.data.sources import OfTensors, Run, Source
from fastgraph.data.stored_elements import matching
from fastgraph.errors import OpError, UnknownError
from fastgraph.ops.families import Array, invalid
from fastgraph.records import wire_scan
from fastgraph.records.csv_fields import KINDS, columns_of
from fastgraph.records.record_files import Bytes

#: The messages for wrong rows, in TensorFlow's words.
_FAULTS = {
    2: "Unquoted fields cannot have quotes inside",
    3: "Reached end of file without closing quoted field in record",
    4: "Quote inside a string has to be escaped by another quote",
}
_BLOCK = 1 << 18
_ROWS = 2048  # read at once


class CsvRows(OfTensors):
    """The rows of files, as tuples of scalars. Operands: the paths string[] or string[n]; defaults t[0] or t[1]."""

    name = "CsvDatasetV2"

    def __init__(self, paths: Any, *defaults: Any, **options: Any) -> None:
        self.paths, self.defaults, self.options = paths, defaults, options
        self.spec = tuple([TensorSpec((), default.dtype) for default in defaults])

    def elements(self, run: Run) -> Iterator[Element]:
        return _Rows(self)

    def table(self, run: Run) -> Table:
        return table_of(_Columns(self))


class _Rows(Iterator[Element]):
    """One pass over the files, row by row."""

    def __init__(self, rows: CsvRows) -> None:
        self.columns = _Columns(rows)
        self.left: Iterator[Element] = iter(())

    def __next__(self) -> Element:
        while True:
            element = next(self.left, None)
            if element is not None:
                return element
            self.left = zip(*next(self.columns), strict=True)


class _Columns(Iterator[Element]):
    """One pass over the files, many rows at a time, as tensors of their columns; an error after the rows before it."""

    def __init__(self, rows: CsvRows) -> None:
        self.paths = iter(np.atleast_1d(as_array(rows.paths)).tolist())
        self.options, self.kinds = rows.options, [spec.dtype for spec in rows.spec]
        self.defaults = [as_array(default).reshape(-1) for default in rows.defaults]
        self.missing = rows.options["na_value"].encode("latin-1")
        self.path: bytes | None = None
        self.file: Bytes | None = None
        self.block, self.at, self.last = b"", 0, False  # what is read of the file, where its next row begins
        self.error: Exception | None = None
        chosen, excluded, n = self.options["columns"], self.options["excluded"], len(self.kinds)
        self.enough = n if chosen is None else ~n
        if chosen is not None:
            self.places = np.full(chosen[-1] + 1 if chosen else 0, -1, np.int32)
            self.places[chosen] = range(n)
        else:
            kept = itertools.filterfalse(excluded.__contains__, itertools.count())
            ends = [*itertools.islice(kept, n), next(kept)]  # columns; behind the last one there may be excluded ones
            self.places = np.full(ends[-1], -1, np.int32)
            self.places[ends[:-1]] = range(n)

    def __next__(self) -> Element:
        while self.error is None:
            if self.file is None:
                # one that failed is tried again
                self.path = next(self.paths) if self.path is None else self.path
                self._open(self.path)
                self.path = None
                continue
            found, n, after, fault, have = self._scan(self.places, _ROWS, self.enough)
            if n or fault:
                kinds = [kind.name for kind in self.kinds]
                columns, fit, wrong = columns_of(found, n, kinds, self.defaults, self.missing)
                if wrong:
                    after, fault = self._scan(self.places, fit + 1, self.enough)[2], 0
                    self.error = invalid(f"{wrong % ''} [Op:IteratorGetNext]")
                elif fault:
                    more = have if have < len(self.kinds) else "more"
                    text = _FAULTS.get(fault) or f"Expect {len(self.kinds)} fields but have {more} in record"
                    self.error = invalid(f"{text} [Op:IteratorGetNext]")
                self.at = after
                if fit:
                    pairs = zip(columns, self.kinds, strict=True)
                    return tuple([from_array(column[:fit], kind, False) for column, kind in pairs])
            elif self.last:
                self.file.close()
                self.file = None
        error, self.error = self.error, None
        raise error

    def _open(self, path: bytes) -> None:
        own = self.options
        if own["compression_type"] not in ("", "GZIP", "ZLIB", None):
            raise invalid(f"Unsupported compression_type: {own['compression_type']}.")
        self.file = Bytes(path, own["compression_type"] or "", _BLOCK)
        self.block, self.at, self.last = b"", 0, False
        if own["header"]:
            _, n, self.at, fault, _ = self._scan(np.zeros(0, np.int32), 1, ~0)
            text = _FAULTS[fault] if fault else "" if n else "Can't read header of file"
            self.error = invalid(f"{text} [Op:IteratorGetNext]") if text else None

    def _scan(self, places: Array, most: int, enough: int) -> tuple[Any, int, int, int, int]:
        """Read until there is a row: (its fields and those of more rows, how many, where the row behind the faulty one
        or the last one begins, what is wrong with that, how many fields it has)."""
        assert self.file is not None
        own, size = self.options, _BLOCK
        while True:
            delimiter, quoted = ord(own["field_delim"]), own["use_quote_delim"]
            found, n, end, fault, have, after = wire_scan.rows(
                self.block, self.at, most, places, len(self.kinds), enough, delimiter, quoted, self.last
            )
            if n or fault or self.last:
                return found, n, after if fault else end, fault, have
            try:
                part = self.file.read(size)
            except OpError:
                self.file = None
                raise
            self.block, self.at, self.last = self.block[self.at :] + part, 0, not part
            size = max(size, len(self.block))


class _Stream(io.BufferedIOBase):
    """A file, uncompressed, as Python's own files are."""

    def __init__(self, path: bytes, compression: str) -> None:
        self.source = Bytes(path, compression, _BLOCK)

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        return self.source.read(size if size > 0 else _BLOCK)

    def close(self) -> None:
        self.source.close()


class CsvDataset(Dataset):
    """The rows of files of comma-separated values, as tuples of scalars. Source: tf.data.experimental.CsvDataset.

    record_defaults: For each column read its dtype, where a value is required, or a tensor t[1]. select_cols,
    exclude_cols: which are read. Raises: InvalidArgumentError for arguments that do not fit and, on iteration, for such
    rows, NotFoundError.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: TensorLike | None = None,
        header: bool = False,
        field_delim: Any = ",",
        use_quote_delim: bool = True,
        na_value: Any = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise invalid("Either select_cols or exclude_cols should be empty")
        defaults = [_default(item) for item in record_defaults]
        for i, shape in enumerate(default.shape for default in defaults):
            if (shape.rank or 0) > 1:
                raise invalid("Each record default should be at most rank 1 [Op:CSVDatasetV2]")
            if shape.rank and (shape[0] or 0) > 1:
                text = f"There should only be 1 default per field but field {i} has {shape[0]} [Op:CSVDatasetV2]"
                raise invalid(text)
        paths = filenames if isinstance(filenames, Tensor) else convert(filenames, string)
        columns = None if select_cols is None else [int(i) for i in select_cols]
        for wrong, text in (
            (not defaults, "Length for attr 'output_types' of 0 must be at least minimum 1"),
            (columns is not None and len(columns) != len(defaults), "select_cols should match output size"),
            (
                columns is not None and columns != sorted(set(columns)),
                "select_cols should be strictly increasing indices",
            ),
            (columns is not None and min(columns, default=0) < 0, "select_cols should be non-negative indices"),
            (len(_text(field_delim)) != 1, "field_delim should be only 1 char"),
            (buffer_size is not None and int(_text(buffer_size)) < 1, "buffer_size should be positive"),
        ):
            if wrong:
                raise invalid(f"{text} [Op:CSVDatasetV2]")
        dataset = made(
            CsvRows,
            paths,
            *defaults,
            compression_type=_text(compression_type),
            header=bool(header),
            field_delim=_text(field_delim),
            use_quote_delim=bool(use_quote_delim),
            na_value=_text(na_value),
            columns=columns,
            excluded=frozenset(map(int, exclude_cols or ())),
        )
        super().__init__(dataset.source, dataset.element_spec, dataset._symbolic)


def _text(value: Any) -> Any:
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _default(item: Any) -> Any:
    if isinstance(item, str | bytes | int | float | list | np.ndarray | Tensor):
        found = convert(item)
        found = found if found.shape.rank else convert([item])
    else:
        dtype = as_dtype(item)
        found = from_array(np.zeros(0, dtype.as_numpy_dtype), dtype)
    if found.dtype.name not in KINDS:
        raise ValueError(f"Each record default should be one of {tuple(map(as_dtype, KINDS))} but is {found.dtype}")
    return found


def make_csv_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: TensorLike | None = None,
    prefetch_buffer_size: TensorLike | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Return batches of the rows of files as {column: t[batch]}, or pairs of such and the column `label_name`.

    Names come from the header, dtypes from the first rows. Raises: ValueError for names and columns that do not fit.
    Source: tf.data.experimental.make_csv_dataset.
    """
    paths = matching(file_pattern)
    if not paths:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    quoting: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE

    def rows(path: bytes) -> Iterator[list[str]]:
        source: Any = _Stream(path, compression_type or "")
        with io.TextIOWrapper(source, encoding, newline="") as file:
            yield from csv.reader(file, delimiter=field_delim, quoting=quoting)

    if compression_type not in (None, "", "GZIP") and (column_names is None or column_defaults is None):
        known = f"Received unknown `compression_type` {compression_type}. Expected: GZIP, ZLIB or '' (empty string)."
        zipped = "`compression_type` ZLIB is not supported for probing columns."
        raise ValueError(zipped if compression_type == "ZLIB" else known)
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        heads = [next(rows(path), None) for path in paths]
        for path, head in zip(paths, heads, strict=True):
            if head is None:
                raise ValueError(f"Failed when reading the header line of {path!r}. Is it an empty file?")
            if head != heads[0]:
                raise ValueError(f"All input CSV files should have the same column names. {path!r} has different ones.")
        column_names = heads[0]
    names = list(column_names or ())
    if len(names) != len(set(names)):
        raise ValueError("Either `column_names` argument or CSV header row contains duplicate column names.")
    columns = None if select_columns is None else _indices(select_columns, names)
    chosen = list(range(len(names))) if columns is None else columns
    if column_defaults is None:
        first = (row for path in paths for i, row in enumerate(rows(path)) if i or not header)
        column_defaults = _inferred(first, len(names), chosen, na_value, num_rows_for_inference)
    if len(column_defaults) != len(chosen) and columns is not None:
        raise ValueError("If specified, `column_defaults` and `select_columns` must have the same length.")
    names = [names[i] for i in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError(f"`label_name` provided must be one of the columns: {names}. Received: {label_name}.")
    defaults = [_default(item) for item in column_defaults]

    def of_file(path: Any) -> Any:
        found = CsvDataset(
            path, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, columns
        )
        return found.ignore_errors() if ignore_errors else found

    def named(*fields: Any) -> Any:
        features = OrderedDict(zip(names, fields, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    files = Dataset.from_tensor_slices(from_array(np.array(paths, object), string))
    if shuffle:
        files = files.shuffle(len(paths), shuffle_seed)
    reads = 1 if num_parallel_reads is None else num_parallel_reads
    dataset = files.interleave(of_file, None if reads == -1 else reads)
    if sloppy:
        options = Options()
        options.deterministic = False
        dataset = dataset.with_options(options)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _indices(chosen: Sequence[Any], names: list[str]) -> list[int]:
    found = []
    for item in chosen:
        if isinstance(item, int) and not 0 <= item < len(names):
            raise ValueError(f"Column index {item} specified in `select_columns` should be in [0, {len(names)}).")
        if not isinstance(item, int) and item not in names:
            raise ValueError(f"Column {item} specified in `select_columns` must be of one of the columns: {names}.")
        found.append(item if isinstance(item, int) else names.index(item))
    if len(set(found)) != len(found):
        raise ValueError("The `select_columns` argument contains duplicate columns.")
    return sorted(found)


def _inferred(rows: Iterator[list[str]], n: int, chosen: list[int], na: str, most: int | None) -> list[Any]:
    """The narrowest kind of each column that fits its first rows, with its default."""
    order: list[tuple[DType, Callable[[str], Any]]] = [
        (int32, lambda text: -(2**31) <= int(text) < 2**31),
        (int64, lambda text: -(2**63) <= int(text) < 2**63),
        (float32, lambda text: abs(float(text)) <= float(np.finfo(np.float32).max) or not np.isfinite(float(text))),
        (float64, lambda text: (float(text), True)[1]),
        (string, lambda text: True),
    ]
    ranks = [-1] * len(chosen)
    for number, row in enumerate(rows):
        if most is not None and number >= most:
            break
        if len(row) != n:
            raise ValueError(f"Problem inferring types: CSV row {row} has {len(row)} columns. Expected: {n}.")
        for j, i in enumerate(chosen):
            if row[i] in ("", na):
                continue
            while ranks[j] < 0 or not _fits(order[ranks[j]][1], row[i]):
                ranks[j] += 1
    kinds = [order[rank][0] if rank >= 0 else string for rank in ranks]
    return [from_array(np.array([b"" if kind is string else 0], kind.as_numpy_dtype), kind) for kind in kinds]


def _fits(test: Callable[[str], Any], text: str) -> bool:
    try:
        return bool(test(text)) and "_" not in text
    except (ValueError, OverflowError):
        return False


class SqlRows(Source):
    """The rows of a query."""

    name = "SqlDatasetV2"

    def __init__(self, path: str, query: str, spec: Any) -> None:
        self.path, self.query, self.spec = path, query, spec

    def elements(self, run: Run) -> Iterator[Element]:
        if not os.path.exists(self.path):
            raise invalid(f"Failed to connect to database: unable to open database file {self.path}")
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            rows = connection.execute(self.query)
            self._check(len(rows.description or ()))
            for row in rows:
                pairs = zip(row, tensor_specs(self.spec), strict=True)
                yield tuple([_cell(value, leaf.dtype) for value, leaf in pairs])
        except sqlite3.Error as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_READONLY:  # no query, so that it has no columns
                self._check(0)
            raise UnknownError(None, None, f"Failed to execute query: {error}") from None
        finally:
            connection.close()

    def _check(self, columns: int) -> None:
        wanted = len(tensor_specs(self.spec))
        if columns != wanted:
            text = f"The number of columns in query ({columns}) must match the number of elements in output_types"
            raise invalid(f"{text} ({wanted}). [Op:IteratorGetNext]")


_COLUMNS = (string, int8, int16, int32, int64, uint8, uint16, bool_, float64)
_WHOLE, _NUMBER = re.compile(r"\s*[-+]?\d+"), re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def _cell(value: Any, dtype: DType) -> Any:
    if dtype is string:
        text = "" if value is None else value
        return from_array(np.array(text if isinstance(text, bytes) else str(text).encode(), object), string)
    if isinstance(value, str | bytes):  # as SQLite reads a number from a text: what it begins with
        text = value if isinstance(value, str) else value.decode(errors="replace")
        found = (_NUMBER if dtype is float64 else _WHOLE).match(text)
        value = (float if dtype is float64 else int)(found[0]) if found else 0
    return from_array(np.array(value or 0).astype(dtype.as_numpy_dtype), dtype)


class SqlDataset(Dataset):
    """The rows that a query of an SQLite database gives, as tuples of scalars. Source: tf.data.experimental.SqlDataset.

    Raises: InvalidArgumentError for other databases and dtypes; on iteration UnknownError for a query that fails.
    """

    def __init__(self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> None:
        if _text(driver_name) != "sqlite":
            raise invalid(f"The database type, {_text(driver_name)}, is not supported by SqlDataset. Only sqlite is.")
        kinds: Any = output_types  # a list is a value here, and no dtype
        types = as_dtype(kinds) if isinstance(output_types, list) else nesting.map_structure(as_dtype, kinds)
        for kind in nesting.flatten(types):
            if kind not in _COLUMNS:
                allowed = ", ".join(message_name(each) for each in _COLUMNS)
                raise invalid(f"Each element of `output_types_` must be one of: {allowed}, not {message_name(kind)}")
        spec = nesting.map_structure(lambda kind: TensorSpec((), kind), types)
        super().__init__(SqlRows(_text(data_source_name), _text(query), spec))
