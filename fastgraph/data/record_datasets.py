"""Datasets of what files hold: records, lines of text, pieces of one length.

Rule: a file is read in blocks when its elements are asked for; after an error the next file goes on. With
`num_parallel_reads` as many files take turns, one element each, and each reads ahead in a thread.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph import errors
from fastgraph.core.base.dtype import string
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import from_array
from fastgraph.data.dataset import Dataset, made
from fastgraph.data.element_specs import Element
from fastgraph.data.random_access import Table, table_of
from fastgraph.data.sources import OfTensors, Run
from fastgraph.ops.arguments import as_tensor, known_value, whole
from fastgraph.ops.movement import reshape
from fastgraph.records.parsing import parse_example
from fastgraph.records.record_files import Bytes, blocks_of_records

#: Makes blocks of a file's elements.
Blocks = Callable[[str], Iterator[list[bytes]]]
_BLOCK = 1 << 18


class Files(OfTensors):
    """The elements of files, one after the other, or of `turns` files at once."""

    def __init__(self, filenames: Any, blocks: Blocks, turns: int | None, name: str) -> None:
        self.filenames, self.blocks, self.turns, self.name = filenames, blocks, turns, name
        self.spec = TensorSpec((), string)

    def elements(self, run: Run) -> Iterator[Element]:
        names = self._names()
        return _InTurn(names, self.blocks) if self.turns is None else _AtOnce(names, self.blocks, self.turns)

    def table(self, run: Run) -> Table | None:
        return table_of(_InBlocks(self._names(), self.blocks)) if self.turns is None else None

    def _names(self) -> list[str]:
        return [os.fsdecode(name) for name in np.asarray(self.filenames).reshape(-1).tolist()]


class _InTurn(Iterator[Element]):
    """The elements of files one after the other."""

    def __init__(self, names: list[str], blocks: Blocks) -> None:
        self.names, self.blocks = iter(names), blocks
        self.file: Iterator[list[bytes]] = iter(())
        self.block: Iterator[bytes] = iter(())

    def __next__(self) -> Element:
        for content in self.block:
            return _element(content)
        while True:
            try:
                self.block = iter(next(self.file))
                return _element(next(self.block))
            except StopIteration:
                self.file = self.blocks(next(self.names))


class _InBlocks(Iterator[Element]):
    """The same, as many elements at a time as are read at a time."""

    def __init__(self, names: list[str], blocks: Blocks) -> None:
        self.names, self.blocks = iter(names), blocks
        self.file: Iterator[list[bytes]] = iter(())

    def __next__(self) -> Element:
        while True:
            block = next(self.file, None)
            if block is None:
                self.file = self.blocks(next(self.names))
            elif block:
                return (from_array(np.fromiter(block, object, len(block)), string, False),)


class _AtOnce(Iterator[Element]):
    """The elements of several files that take turns; the next block of each is read in a thread."""

    def __init__(self, names: list[str], blocks: Blocks, turns: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        turns = min(turns, len(names))
        self.names = iter(names)
        self.pool = ThreadPoolExecutor(max(turns, 1), "fastgraph-reads")
        self.blocks = blocks
        self.files: list[Any] = [self._opened() for _ in range(turns)]
        self.at = 0

    def _opened(self) -> Any:
        name = next(self.names, None)
        return None if name is None else _Ahead(self.blocks(name), self.pool)

    def __next__(self) -> Element:
        while any(self.files):
            at = self.at
            self.at = (at + 1) % len(self.files)
            if self.files[at] is None:
                continue
            try:
                return _element(next(self.files[at]))
            except StopIteration:
                self.files[at] = self._opened()
            except Exception:
                self.files[at] = self._opened()
                raise
        self.pool.shutdown(wait=False)
        raise StopIteration


class _Ahead(Iterator[bytes]):
    """The elements of a file, of which the next block is being read."""

    def __init__(self, file: Iterator[list[bytes]], pool: Any) -> None:
        self.file, self.pool = file, pool
        self.block: Iterator[bytes] = iter(())
        self.following = pool.submit(next, file, None)

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> bytes:
        for content in self.block:
            return content
        found = self.following.result()
        if found is None:
            raise StopIteration
        self.following = self.pool.submit(next, self.file, None)
        self.block = iter(found)
        return next(self.block)


def _element(content: bytes) -> Element:
    array = np.empty((), object)
    array[()] = content
    return (from_array(array, string, False),)


def _bytes_of(path: str, compression: str, block: int) -> Bytes:
    """Open a file. Raises InvalidArgumentError for a compression that only records have, or nothing has."""
    if compression not in ("", "GZIP", "ZLIB"):
        raise errors.InvalidArgumentError(None, None, f"Unsupported compression_type: {compression!r}.")
    return Bytes(path, compression, block)


def _lines(path: str, compression: str, block: int) -> Iterator[list[bytes]]:
    """Lines without their ends, and without "\\r" wherever it stands, as TensorFlow reads them."""
    source = _bytes_of(path, compression, block)
    try:
        begun: list[bytes] = []  # of a line
        while part := source.read(source.block):
            *whole_lines, rest = part.split(b"\n")
            if whole_lines:
                whole_lines[0] = b"".join([*begun, whole_lines[0]])
                begun = []
                yield [line.replace(b"\r", b"") for line in whole_lines] if b"\r" in part else whole_lines
            begun.append(rest)
        last = b"".join(begun)
        if last:
            yield [last.replace(b"\r", b"")]
    finally:
        source.close()


def _pieces(path: str, compression: str, block: int, size: int, header: int, footer: int) -> Iterator[list[bytes]]:
    """Pieces of one size between a header and a footer."""
    if size <= 0:
        raise errors.InvalidArgumentError(None, None, "`record_bytes` must be > 0")
    if header < 0 or footer < 0:
        raise errors.InvalidArgumentError(None, None, "`header_bytes` and `footer_bytes` must be >= 0")
    source = _bytes_of(path, compression, block)

    def wrong(body: int) -> Exception:
        kind = errors.DataLossError if compression else errors.InvalidArgumentError
        return kind(
            None, None, f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f'"{path}" has body length {max(body, 0)} bytes, which is not an exact multiple of the record length '
            f"({size} bytes).",
        )  # fmt: skip

    try:
        if not compression and os.path.exists(path) and (body := os.path.getsize(path) - header - footer) % size:
            raise wrong(body)
        held, begun, total = b"", False, 0
        while part := source.read(source.block):
            total += len(part)
            held += part
            if not begun and len(held) >= header:
                held, begun = held[header:], True
            n = (len(held) - footer) // size if begun else 0
            if n > 0:
                yield [held[i * size : (i + 1) * size] for i in range(n)]
                held = held[n * size :]
        if len(held) != footer or not begun:
            raise wrong(total - header - footer)
    finally:
        source.close()


class _OfFiles(Dataset):
    """The base of datasets that files hold: made of names, or of a dataset of names."""

    _READ: Callable[..., Any]

    def __init__(
        self, filenames: Any, compression_type: TensorLike | None = None, buffer_size: TensorLike | None = None,
        num_parallel_reads: TensorLike | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self._begin(filenames, self._READ, compression_type, buffer_size, num_parallel_reads)

    def _begin(self, filenames: Any, read: Callable[..., Any], compression: Any, size: Any, reads: Any) -> None:
        block = _BLOCK if size is None else _count(size, "buffer_size")
        blocks = functools.partial(read, compression=_compression(compression), block=block)
        turns = None if reads is None else _count(reads, "num_parallel_reads")
        if turns is not None and turns < 1:
            turns = os.cpu_count() or 1
        kind = type(self).__name__ + "V2"
        if isinstance(filenames, Dataset):
            spec = filenames.element_spec
            wrong = f"Got a dataset of `{spec.dtype!r}` elements." if spec.dtype is not string else ""
            if wrong or spec.shape.rank not in (None, 0):
                of = "" if wrong else f" of shape [] (i.e. scalars). Got a dataset of element shape {spec.shape}"
                raise TypeError(f"The `filenames` argument must contain `tf.string` elements{of}. {wrong}".rstrip())
            found = filenames.flat_map(lambda name: made(Files, _names(name), blocks=blocks, turns=None, name=kind))
        else:
            found = made(Files, _names(filenames), blocks=blocks, turns=turns, name=kind)
        super().__init__(found.source, found._spec, found._symbolic)


def _names(filenames: Any) -> Any:
    if isinstance(filenames, os.PathLike):
        filenames = os.fspath(filenames)
    if isinstance(filenames, list | tuple):
        filenames = [os.fspath(each) if isinstance(each, os.PathLike) else each for each in filenames]
        filenames = filenames or np.zeros(0, object)
    try:
        tensor = as_tensor(filenames, string)
    except (TypeError, ValueError):
        tensor = as_tensor(filenames)
    if tensor.dtype != string:
        raise TypeError(f"The `filenames` argument must contain `tf.string` elements. Got `{tensor.dtype!r}` elements.")
    return tensor if tensor.shape.rank == 1 else reshape(tensor, [-1])


def _count(value: Any, what: str) -> int:
    known = None if isinstance(value, int) else known_value(as_tensor(value))
    return whole(value if known is None else known.item(), what)


def _compression(given: Any) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    known = known_value(as_tensor(given, string))
    if known is None:
        raise NotImplementedError("compression_type must be known while the dataset is described")
    return os.fsdecode(known.item())


class TFRecordDataset(_OfFiles):
    """The records of files. Source: tf.data.TFRecordDataset.

    Args:
        filenames: Paths: a text, a list, a tensor or a dataset of them.
        compression_type: "GZIP", "ZLIB" or "" for none.
        buffer_size: How many bytes are read at once.
        num_parallel_reads: How many files take turns, one record each; None: one file after the other.
        name: Ignored.

    Raises:
        TypeError: The paths are no texts.
        NotFoundError: There is no such file (when it is its turn).
        DataLossError: A record is damaged or cut off (when it is its turn).

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/records"
        >>> with tf.io.TFRecordWriter(path, "GZIP") as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> [record.numpy() for record in tf.data.TFRecordDataset(path, "GZIP")]
        [b'first', b'second']
    """

    _READ = staticmethod(blocks_of_records)


class TextLineDataset(_OfFiles):
    """The lines of text files, without their ends. Source: tf.data.TextLineDataset.

    The arguments are those of `TFRecordDataset`. Raises: as there.
    """

    _READ = staticmethod(_lines)


class FixedLengthRecordDataset(_OfFiles):
    """The pieces of `record_bytes` bytes of files, between a header and a footer. Source:
    tf.data.FixedLengthRecordDataset.

    The other arguments are those of `TFRecordDataset`. Raises: InvalidArgumentError, when it is read, for sizes below 0
    and for a file whose size is none of such.
    """

    def __init__(
        self, filenames: Any, record_bytes: TensorLike, header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None, buffer_size: TensorLike | None = None,
        compression_type: TensorLike | None = None, num_parallel_reads: TensorLike | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        size, header, footer = [
            0 if given is None else _count(given, what)
            for given, what in (
                (record_bytes, "record_bytes"), (header_bytes, "header_bytes"), (footer_bytes, "footer_bytes")
            )
        ]  # fmt: skip
        read = functools.partial(_pieces, size=size, header=header, footer=footer)
        self._begin(filenames, read, compression_type, buffer_size, num_parallel_reads)


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: TensorLike | None = 1, deterministic: bool | None = None
) -> Callable[[Dataset], Dataset]:
    """Return the function that parses a dataset of serialized Examples, string[batch], as tf.io.parse_example does.

    Raises: ValueError without features; InvalidArgumentError for what is no Example. Source:
    tf.data.experimental.parse_example_dataset.
    """
    if not features:
        raise ValueError("Argument `features` cannot be None or empty.")
    return lambda dataset: dataset.map(
        lambda examples: parse_example(examples, features),
        None if num_parallel_calls == 1 else num_parallel_calls,
        deterministic,
    )


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: TensorLike | None = None,
    prefetch_buffer_size: TensorLike | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of the Examples in files as {key: tensor}, or pairs of such and the feature `label_key`.

    `reader` makes a dataset of Examples, or of pairs whose second is one, of a file's name. Raises: ValueError if
    `label_key` is no feature. Source: tf.data.experimental.make_batched_features_dataset.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: {[*features]}.")
    make = reader or TFRecordDataset
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    reads = 1 if reader_num_threads is None else reader_num_threads
    dataset = files.interleave(
        lambda name: make(name, *(reader_args or ())),
        None if reads == -1 else reads,
        deterministic=False if sloppy_ordering else None,
    )
    if isinstance(dataset.element_spec, tuple):
        dataset = dataset.map(lambda _, example: example)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = parse_example_dataset(features, 2 if parser_num_threads is None else parser_num_threads)(dataset)
    if label_key is not None:
        dataset = dataset.map(lambda parsed: (parsed, parsed.pop(label_key)))
    return dataset.prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)
