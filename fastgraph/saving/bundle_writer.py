"""Bundles written: shards of data and the index, each whole or not there."""

from __future__ import annotations

import os
import secrets
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype, string
from fastgraph.core.base.file_errors import error_of, raising_for
from fastgraph.core.base.paths import local_path
from fastgraph.core.native.array_kernels import crc32c, masked
from fastgraph.core.tensor import EagerTensor, as_array
from fastgraph.errors import AlreadyExistsError, DataLossError, FailedPreconditionError, UnimplementedError
from fastgraph.graphdef.message_types import KINDS
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.node_bytes import varint
from fastgraph.graphdef.wire_format import parsed, serialized
from fastgraph.saving.folder_lock import left_behind, locked_folder, try_lock
from fastgraph.saving.sstable import entries_of, table
from fastgraph.saving.tensor_bundle import (
    BEHIND,
    BINARY,
    PIECE,
    PlainEntry,
    Slice,
    bundle_files,
    shard_name,
    slice_key,
    unfinished_files,
    words,
)

#: Large tensors begin at multiples of so many bytes, as they do in memory: reading copies them by whole lines then.
_LINE = 64


class BundleWriter:
    """Writes a bundle: `add` each tensor, then `finish`. Without that, nothing is there that was not before.

    Of several shards `next_shard` begins the second and so on.

    Raises TensorFlow's errors for what the system refuses (ResourceExhaustedError: the disk is full).
    """

    def __init__(self, prefix: str, n_shards: int = 1) -> None:
        self.prefix = local_path(prefix)
        self._entries: dict[bytes, Message | PlainEntry] = {}
        self._mark = f".tempstate{secrets.randbits(64)}"
        self._asked = self._n_shards = n_shards
        self._aligned = n_shards == 1  # of several, a limit of a shard's size counts its tensors alone
        self._shards: list[str] = []  # as they are called while they are written
        self._file = self._index = -1
        self.index = b""  # what the index has, once it is prepared
        self._temporary_index = f"{self.prefix}.index{self._mark}"
        folder = os.path.dirname(self.prefix)
        try:
            with raising_for(folder):
                if folder:
                    os.makedirs(folder, exist_ok=True)
        except AlreadyExistsError:
            raise FailedPreconditionError(None, None, f"{folder} is not a directory") from None
        try:
            with locked_folder(self.prefix):
                self._index = self._made(self._temporary_index)
                try_lock(self._index)
            self._open()
        except BaseException:
            self.discard()
            raise

    def _made(self, path: str) -> int:
        with raising_for(path):
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)

    def _open(self) -> None:
        self._size = self._begun = 0  # bytes of the file, and those that the disk was asked to take
        self._shards.append(shard_name(self.prefix, len(self._shards), self._asked) + self._mark)
        self._file = self._made(self._temporary)

    @property
    def _temporary(self) -> str:
        return self._shards[-1]

    def _close(self) -> None:
        with raising_for(self._temporary):
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def next_shard(self) -> None:
        """Let what is added from now on go to the next shard."""
        try:
            self._close()
            self._open()
        except BaseException:
            self.discard()
            raise

    def add(self, key: str, value: Any, dtype: DType | None = None) -> None:
        """Write a tensor: an array, a tensor, or (nested) bytes. Raises ValueError if the key was there before."""
        array = _array(value, dtype)
        self._add(key.encode(), array, as_dtype(array.dtype) if dtype is None else dtype)

    def add_slice(self, key: str, shape: Sequence[int], extents: Slice, value: Any) -> None:
        """Write part of a tensor of `shape`: of each axis from a start a length. All parts are given, one by one."""
        array = _array(value, None)
        kind = as_dtype(array.dtype)
        full = self._entries.get(key.encode())
        if isinstance(full, PlainEntry):
            raise ValueError(f"Adding duplicate key: {key}")
        if full is None:
            full = self._entries[key.encode()] = _entry(kind, shape)
        full.slices.append(_slice_message(extents, shape))
        self._add(slice_key(key, _full(extents, shape)), array, kind)

    def _add(self, key: bytes, array: np.ndarray, dtype: DType) -> None:
        if key in self._entries or not key:
            raise ValueError(f"Adding duplicate key: {key.decode(errors='replace')}")
        start = self._size
        if dtype is string:
            parts, crc = _strings(array)
            for part in parts:
                self._write(part)
        else:
            crc = 0
            flat = _bytes_of(array)
            if flat.size >= PIECE and self._aligned:
                self._write(bytes(-start % _LINE))
                start = self._size
            at = 0
            while at < flat.size:
                piece = flat[at : at + PIECE - self._size % PIECE]
                crc = crc32c(piece, crc)
                self._write(piece)
                at += piece.size
        shard = len(self._shards) - 1
        dims = tuple(map(int, array.shape))
        self._entries[key] = PlainEntry(dtype.code, dims, shard, start, self._size - start, masked(crc))

    def _write(self, part: Any) -> None:
        view = memoryview(part)
        try:
            while view:
                n = os.write(self._file, view)
                self._size += n
                view = view[n:]
            if self._size - self._begun >= BEHIND:
                _begin_writing(self._file, self._begun, self._size - self._begun)
                self._begun = self._size
        except OSError as error:
            self.discard()
            raise error_of(self._temporary, error) from None

    def _serialized(self) -> Iterator[tuple[bytes, bytes]]:
        for key, entry in self._entries.items():
            yield key, entry.bytes() if isinstance(entry, PlainEntry) else serialized(entry)

    def prepare(self) -> None:
        """Put all of the bundle on the disk, under names that nobody asks for."""
        try:
            self._close()
            self._write_index()
        except BaseException:
            self.discard()
            raise

    def _write_index(self) -> None:
        header = KINDS["BundleHeader"](num_shards=self._n_shards, version=KINDS["VersionDef"](producer=1))
        self.index = table([(b"", serialized(header)), *sorted(self._serialized())])
        content = memoryview(self.index)
        with raising_for(self._temporary_index):
            os.ftruncate(self._index, os.lseek(self._index, 0, os.SEEK_SET))
            while content:
                content = content[os.write(self._index, content) :]
            os.fsync(self._index)

    def finish(self, then: Callable[[], None] | None = None) -> None:
        """Make the bundle be there, on the disk, at once and whole. `then` is called as soon as it is there.

        Where one of both fails, nothing of the bundle is left, unless it has taken an older one's place already.
        """
        if self._file >= 0:
            self.prepare()
        index = self.prefix + ".index"
        with locked_folder(self.prefix):
            replaces, there, shards = os.path.exists(index), False, []
            try:
                number = _free_number(self.prefix, self._asked)
                if number != self._n_shards:
                    self._n_shards = number
                    self._write_index()
                shards = [shard_name(self.prefix, i, number) for i in range(len(self._shards))]
                with raising_for(self.prefix):
                    for temporary, shard in zip(self._shards, shards, strict=True):
                        os.replace(temporary, shard)
                    sync_folder(self.prefix)
                    os.replace(self._temporary_index, index)
                    there = True
                    if then is not None:
                        then()
                    sync_folder(self.prefix)
            except BaseException:
                self.discard()
                if not (there and replaces):
                    _remove([*([index] if there else []), *shards])
                raise
            self._close_index()
            _sweep(self.prefix, keep=[index, *shards])

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        _remove([*self._shards, self._temporary_index])
        self._close_index()

    def _close_index(self) -> None:
        if self._index >= 0:
            os.close(self._index)
            self._index = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *others: object) -> None:
        if kind is not None or self._file >= 0:
            self.discard()


def sync_folder(path: str) -> None:
    """Let the names in the folder of `path` be on the disk. What no system promises of its folders is not asked for."""
    with suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _free_number(prefix: str, n: int) -> int:
    """Return how many shards a new bundle of n says it has, or one more: its files are then not the old bundle's."""
    try:
        with open(prefix + ".index", "rb") as file:
            header = parsed(entries_of(file.read(), prefix)[b""], "BundleHeader")
        return n + 1 if header.num_shards == n else n
    except (OSError, KeyError, ValueError, DataLossError, UnimplementedError):
        return n


def remove_bundle(prefix: str) -> None:
    """Remove a bundle: the index first, so that what is left at any moment is a bundle or none."""
    with locked_folder(prefix):
        _sweep(prefix, keep=[])


def sweep_numbered(prefix: str) -> None:
    """Remove what writers of bundles named `prefix`-number left that are no more."""
    with locked_folder(prefix):
        _sweep_unfinished(unfinished_files(prefix, numbered=True))


def _sweep(prefix: str, keep: list[str]) -> None:
    """Remove what an older bundle of this prefix, or writing that did not finish, left."""
    _remove([path for path in bundle_files(prefix) if path not in keep])
    _sweep_unfinished(unfinished_files(prefix))


def _sweep_unfinished(files: Iterable[tuple[str, str]]) -> None:
    _remove([path for path, owner in files if left_behind(path, owner)])


def _remove(paths: Sequence[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def _array(value: Any, dtype: DType | None) -> np.ndarray:
    if isinstance(value, EagerTensor):
        return as_array(value)
    if isinstance(value, np.ndarray) and value.dtype.kind not in "SU":
        return value
    return np.array(value, object if dtype is string else None if dtype is None else dtype.numpy_dtype)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of an array's elements in order, without a copy if they lie so. -> u8[n]"""
    if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big"):
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _entry(dtype: DType, shape: Iterable[int]) -> Message:
    dims = [KINDS["Dim"](size=int(size)) for size in shape]
    made = KINDS["BundleEntry"](dtype=dtype.code, shape=KINDS["TensorShapeProto"](dim=dims))
    made.shape.SetInParent()
    return made


def _strings(array: np.ndarray) -> tuple[list[bytes], int]:
    """Return strings as in files: all lengths, their checksum, all bytes; the checksum of that, lengths as words."""
    items = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()]
    lengths = b"".join([varint(len(item)) for item in items])
    crc = crc32c(words(len(item) for item in items))
    sum_of_lengths = struct.pack("<I", masked(crc))
    crc = crc32c(sum_of_lengths, crc)
    for item in items:
        crc = crc32c(item, crc)
    return [lengths, sum_of_lengths, b"".join(items)], crc


def _slice_message(extents: Slice, shape: Sequence[int]) -> Message:
    made = KINDS["TensorSlice"]()
    for start, length in _full(extents, shape):
        extent = made.extent.add()
        if length >= 0:
            if start:
                extent.start = start
            extent.length = length
    return made


def _full(extents: Slice, shape: Sequence[int]) -> list[tuple[int, int]]:
    """Extents; those that are all of their axis as (0, -1)."""
    return [(0, -1) if length == -1 or (start, length) == (0, size) else (start, length)
            for (start, length), size in zip(extents, shape, strict=True)]  # fmt: skip


def _begin_writing(file: int, at: int, size: int) -> None:
    """Let the system begin to put on the disk what was written: that it is not needed any more makes it do so."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file, at, size, os.POSIX_FADV_DONTNEED)
