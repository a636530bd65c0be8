"""Bundles: files that map keys to tensors, an index and shards of data. Checkpoints and SavedModels keep theirs so.

Rule: a bundle is there when its index is, and the index comes last: written beside, synced, renamed. A bundle that is
written over stays whole until that moment. Source: TensorFlow's tensor bundles (the V2 format of checkpoints).

The index is a table (see sstable): under "" a BundleHeader, under each key a BundleEntry: dtype, shape, where the
elements are, their checksum. Of a tensor in slices the entry lists the slices, and each has an entry of its own.
"""

from __future__ import annotations

import glob
import math
import os
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from fastgraph.core.base.dtype import DType, from_code
from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.paths import local_path
from fastgraph.core.native.array_kernels import crc32c, crc32c_of_file, joined_crc, masked
from fastgraph.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.node_bytes import field, varint
from fastgraph.graphdef.wire_format import parsed
from fastgraph.saving.sstable import entries_of

PIECE = 1 << 18  # bytes written at once: a piece stays in the CPU's cache between checksum and copy
_READ = 1 << 20  # bytes read at once
_PART = 1 << 21  # bytes of a part, which one thread reads; the system reads ahead by itself
BEHIND = 1 << 25  # bytes after which the disk may begin, beside what is still to be written
BINARY = getattr(os, "O_BINARY", 0)
_VARIANT, _STRING = 21, 7
#: Numbers of dtypes that have no DType here, as they lie in files: quantised ones, and those of four bits, a byte each.
_OTHERS = {11: "i1", 12: "u1", 13: "i4", 15: "i2", 16: "u2", 29: "i1", 30: "u1"}
Slice = Sequence[tuple[int, int]]  #: of each axis the start and the length; a length of -1 is all of the axis


def shard_name(prefix: str, number: int, n_shards: int) -> str:
    """Return the path of a bundle's shard."""
    return f"{prefix}.data-{number:05d}-of-{n_shards:05d}"


def bundle_files(prefix: str) -> list[str]:
    """Return the paths of a bundle's files, the index first."""
    return _files(prefix, "", "")


def unfinished_files(prefix: str, numbered: bool = False) -> list[tuple[str, str]]:
    """Return the files of bundles that are being written, or never were to the end, those that are locked last.

    Each with the one that its writer has locked. `numbered`: those of all bundles named `prefix`-number.
    """
    found = _files(prefix, r"-\d+" if numbered else "", r"\.tempstate\d+")[::-1]
    return [(path, re.sub(r"\.(index|data-\d+-of-\d+)(\.tempstate\d+)$", r".index\2", path)) for path in found]


def _files(prefix: str, number: str, mark: str) -> list[str]:
    named = [path for kind in ("index", "data-") for path in glob.glob(f"{glob.escape(prefix)}*.{kind}*")]
    mine = re.compile(rf"{re.escape(prefix)}{number}\.(index|data-\d{{5,}}-of-\d{{5,}}){mark}")
    return sorted([path for path in named if mine.fullmatch(path)], key=lambda path: (".data-" in path, path))


def words(lengths: Iterable[int]) -> bytes:
    """Lengths of strings as their checksum takes them: four bytes each, eight of one that is longer."""
    return b"".join([struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths])


def slice_key(name: str, extents: Slice) -> bytes:
    """The key of a slice's own entry: 0, the name, the rank, starts and lengths, in a code whose order is theirs."""
    text = b"".join([_ESCAPES.get(byte, bytes([byte])) for byte in name.encode()])
    numbers = b"".join([_signed(n) for extent in extents for n in extent])
    return _unsigned(0) + text + b"\x00\x01" + _unsigned(len(extents)) + numbers


_ESCAPES = {0: b"\x00\xff", 255: b"\xff\x00"}


def _unsigned(number: int) -> bytes:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(content)]) + content


def _signed(number: int) -> bytes:
    """An integer in as many bytes as it begins with ones (zeros, if it is negative) before its sign."""
    size = (~number if number < 0 else number).bit_length() // 7 + 1
    ones = ((1 << size) - 1) << 7 * size
    return (number & ((1 << 8 * size) - 1) ^ ones).to_bytes(size, "big")


class PlainEntry(NamedTuple):
    """A BundleEntry of a tensor that is kept whole: what an index of many small tensors is full of."""

    dtype: int
    dims: tuple[int, ...]
    shard_id: int
    offset: int
    size: int
    crc32c: int
    slices: tuple[()] = ()

    def bytes(self) -> bytes:
        """Return the bytes of the message."""
        sizes = [b"\x08" + varint(size) if size else b"" for size in self.dims]
        numbers = ((b"\x18", self.shard_id), (b"\x20", self.offset), (b"\x28", self.size))
        found = b"\x08" + varint(self.dtype) + field(2, b"".join([field(2, size) for size in sizes]))
        found += b"".join([mark + varint(number) for mark, number in numbers if number])
        return found + (b"\x35" + struct.pack("<I", self.crc32c) if self.crc32c else b"")


#: A part of an entry of numbers: the entry, where the part begins in it, and its length.
Part = tuple[PlainEntry, int, int]

_WORD = struct.Struct("<I")


def plain_entry(content: bytes) -> PlainEntry | None:
    """Return the entry whose message these bytes are, None if it says anything else or says it in another way."""
    found = [0, 0, 0, 0, 0, 0]  # by the numbers of fields, of which 2 is the shape
    dims: list[int] = []
    crc = at = 0
    try:
        while at < len(content):
            mark = content[at]
            if mark == 0x35:
                crc, at = _WORD.unpack_from(content, at + 1)[0], at + 5
                continue
            number, at = _varint(content, at + 1)
            if mark in (0x08, 0x18, 0x20, 0x28):
                found[mark >> 3] = number
            elif mark == 0x12 and not dims:
                end = at + number
                while at < end:  # each size is a message of at most one number
                    if content[at] != 0x12:
                        return None
                    size = 0
                    if content[at + 1]:
                        if content[at + 2] != 0x08:
                            return None
                        size, after = _varint(content, at + 3)
                        if after != at + 2 + content[at + 1]:
                            return None
                    dims.append(size)
                    at += 2 + content[at + 1]
                if at != end:
                    return None
            else:
                return None
    except (IndexError, ValueError, struct.error):
        return None
    fits = at == len(content) > 0 and len(dims) <= 254 and found[1] < 128 and max(found, default=0) < 1 << 62
    if not fits or max(dims, default=0) >= 1 << 62:
        return None
    return PlainEntry(found[1], tuple(dims), found[3], found[4], found[5], crc)


# -- Reading


class BundleReader:
    """Reads a bundle. The index is read at once, tensors when they are asked for; open shards outlive their removal.

    Raises NotFoundError if there is none, DataLossError where the files are damaged, UnimplementedError for what has no
    equal here; all name the file or the key.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = local_path(prefix)
        path = self.prefix + ".index"
        try:
            with raising_for(path), open(path, "rb") as file:
                content = file.read()
        except NotFoundError:
            raise NotFoundError(
                None, None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {self.prefix}",
            ) from None  # fmt: skip
        raw = entries_of(content, path)
        header = raw.pop(b"", None)
        if header is None:
            raise DataLossError(None, None, f"{path}: the header of the bundle is missing")
        self.header = _parsed(header, "BundleHeader", path)
        if self.header.version.min_consumer > 1:
            raise InvalidArgumentError(None, None, f"{path}: made for later versions than this one (1)")
        self._raw = raw
        self._parsed: dict[bytes, Message] = {}
        self._plain: dict[str, PlainEntry] = {}
        self._files: dict[int, int] = {}
        self._sizes: dict[int, int] = {}

    # Contents.

    def keys(self) -> list[str]:
        """Return the keys of all tensors, in order; slices have none of their own."""
        return [key.decode(errors="replace") for key in self._raw if not key.startswith(b"\0")]

    def __contains__(self, key: str) -> bool:
        return key.encode() in self._raw

    def entry(self, key: str) -> Message:
        """Return the BundleEntry of a key. Raises NotFoundError."""
        return self._entry(key.encode(), key)

    def _entry(self, key: bytes, name: str) -> Message:
        found = self._parsed.get(key)
        if found is None:
            raw = self._raw.get(key)
            if raw is None:
                raise NotFoundError(None, None, f"Key {name} not found in checkpoint")
            found = self._parsed[key] = _parsed(raw, "BundleEntry", f"{self.prefix}.index: {name}")
        return found

    def _entry_of(self, key: str) -> Message | PlainEntry:
        """The entry of a key, without a message where it says no more than one of a whole tensor does."""
        found = self._plain.get(key)
        if found is None:
            found = plain_entry(self._raw.get(key.encode(), b""))
            if found is None:
                return self.entry(key)
            self._plain[key] = found
        return found

    def dtype_and_shape(self, key: str) -> tuple[DType, tuple[int, ...]]:
        """Return dtype and shape. Raises NotFoundError, UnimplementedError if there is no such dtype here."""
        entry = self._entry_of(key)
        try:
            return from_code(int(entry.dtype)), _dims(entry, key)
        except KeyError:
            raise UnimplementedError(None, None, f"{key}: dtype {int(entry.dtype)} has no equal here") from None

    def n_bytes(self, key: str) -> int:
        """Return how many bytes of the files are the tensor's."""
        entry = self._entry_of(key)
        if entry.slices:
            return sum(self._part(key, each).size for each in entry.slices)
        return int(entry.size)

    # Tensors.

    def read(self, key: str) -> np.ndarray:
        """Return a tensor, checked, as an array of its own; strings are bytes in an array of objects."""
        entry = self._entry_of(key)
        dims = _dims(entry, key)
        if not entry.slices:
            return self._read(entry, key)
        dtype = _numpy_dtype(int(entry.dtype), key)
        n = size = 0
        for each, _ in self._slices(entry, key):
            self._located(each, key, 0 if dtype.hasobject else dtype.itemsize)
            n, size = n + math.prod(_dims(each, key)), size + each.size
        if n != math.prod(dims) or size > sum(self._sizes.values()):
            raise DataLossError(None, None, f"{key}: slices of {n} elements are not a tensor of shape {dims}")
        found = _room(dims, dtype, key)
        for each, place in self._slices(entry, key):
            found[place] = self._read(each, key)
        return found

    def plain(self, key: str) -> PlainEntry | None:
        """Return the entry of a whole tensor of numbers that lies in its file as in memory; None for others."""
        entry = self._entry_of(key) if key in self else None
        same_order = (self.header.endianness == 1) == (sys.byteorder == "big")
        plain = isinstance(entry, PlainEntry) and entry.dtype not in (_STRING, _VARIANT) and same_order
        return entry if plain else None  # type: ignore[return-value]

    def bytes_of(self, first: PlainEntry, last: PlainEntry, key: str) -> bytes:
        """Return the bytes of a file from one entry to another. Raises DataLossError if they are not there."""
        for entry in first, last:
            self._located(entry, key, _numpy_dtype(entry.dtype, key).itemsize)
        return self._bytes(first._replace(size=last.offset + last.size - first.offset), key)

    def parts(self, key: str) -> list[Part]:
        """Return an entry of numbers cut in parts that threads share: it, where each begins in it, and its length.

        None of what `verify` and `read` read at once: strings, tensors in slices, files of another order of bytes.
        """
        entry = self.plain(key)
        if entry is None:
            return []
        self._located(entry, key, _numpy_dtype(entry.dtype, key).itemsize)
        return [(entry, at, min(_PART, entry.size - at)) for at in range(0, entry.size, _PART)]

    def buffer(self) -> np.ndarray:
        """Return memory that a thread reads parts through for their checksums."""
        return np.empty(_READ, np.uint8)

    def check_part(self, key: str, part: Part, buffer: np.ndarray) -> int:
        """Return the checksum of a part of a tensor."""
        entry, at, n = part
        return self._piece(entry, key, at, n, buffer[:n], checked=True)

    def read_part(self, key: str, part: Part, memory: np.ndarray) -> None:
        """Read a part of a tensor into the tensor's memory."""
        entry, at, n = part
        self._piece(entry, key, at, n, memory[at : at + n], checked=False)

    def expect(self, key: str, parts: list[Part], crcs: Sequence[int]) -> None:
        """Raise DataLossError unless the checksums of an entry's parts make its own."""
        crc = 0
        for (_, _, n), each in zip(parts, crcs, strict=True):
            crc = joined_crc(crc, each, n)
        if masked(crc) != parts[0][0].crc32c:
            raise _wrong_checksum(self.prefix, key, parts[0][0].crc32c, masked(crc))

    def verify(self, key: str) -> None:
        """Read a tensor and keep nothing of it. Raises DataLossError if it is not whole."""
        entry = self._entry_of(key)
        for each in [entry] if not entry.slices else [part for part, _ in self._slices(entry, key)]:
            code = int(each.dtype)
            if code in (_STRING, _VARIANT):
                self._read(each, key)
            else:
                self._located(each, key, _numpy_dtype(code, key).itemsize)
                buffer = np.empty(min(each.size, _READ), np.uint8)
                self._fill(each, key, buffer)

    def _part(self, key: str, piece: Message) -> Message:
        return self._entry(slice_key(key, _extents(piece)), f"{key} (slice {_extents(piece)})")

    def _slices(self, entry: Message | PlainEntry, key: str) -> Iterator[tuple[Message, tuple[slice, ...]]]:
        """The entries of a tensor's slices, and where these lie in it."""
        dims = _dims(entry, key)
        for piece in entry.slices:
            part, extents = self._part(key, piece), _extents(piece)
            place = tuple(slice(start, size if length < 0 else start + length)
                          for (start, length), size in zip(extents, dims, strict=False))  # fmt: skip
            wanted = tuple(each.stop - each.start for each in place)
            fits = len(extents) == len(dims) and all(map(lambda p, n: 0 <= p.start <= p.stop <= n, place, dims))
            if not fits or _dims(part, key) != wanted or part.dtype != entry.dtype:
                raise DataLossError(None, None, f"{key}: slice {extents} does not fit a tensor of shape {dims}")
            yield part, place

    def _read(self, entry: Message | PlainEntry, key: str) -> np.ndarray:
        """The tensor of an entry without slices."""
        dims, code = _dims(entry, key), int(entry.dtype)
        if code in (_STRING, _VARIANT):
            self._located(entry, key)
            return self._strings(entry, key, math.prod(dims)).reshape(dims)
        dtype = _numpy_dtype(code, key)
        self._located(entry, key, dtype.itemsize)
        found = _room(dims, dtype, key)
        self._fill(entry, key, found.reshape(-1).view(np.uint8))
        return found.byteswap() if (self.header.endianness == 1) != (sys.byteorder == "big") else found

    def _located(self, entry: Message | PlainEntry, key: str, itemsize: int = 0) -> None:
        """Open the shard of an entry. Raises DataLossError if its bytes are not there, or too many or few."""
        if itemsize and entry.size != math.prod(_dims(entry, key)) * itemsize:
            text = f"{key}: {entry.size} bytes stored, and a tensor of shape {_dims(entry, key)} has others"
            raise DataLossError(None, None, text)
        number = entry.shard_id
        path = shard_name(self.prefix, number, self.header.num_shards)
        if number not in self._files:
            with raising_for(path, f"{key}: "):
                self._files[number] = os.open(path, os.O_RDONLY | BINARY)
                self._sizes[number] = os.fstat(self._files[number]).st_size
        if entry.size < 0 or entry.offset < 0 or entry.offset + entry.size > self._sizes[number]:
            raise DataLossError(
                None, None,
                f"{key}: {path} is truncated: {entry.size} bytes at {entry.offset} are wanted, and it has "
                f"{self._sizes[number]}",
            )  # fmt: skip

    def _fill(self, entry: Message | PlainEntry, key: str, target: np.ndarray) -> None:
        """Read an entry's bytes into `target`; into a smaller one again and again, for the checksum alone."""
        crc, whole = 0, target.size >= entry.size
        for at in range(0, entry.size, _PART):
            n = min(_PART, entry.size - at)
            found = self._piece(entry, key, at, n, target[at : at + n] if whole else target, checked=True)
            crc = joined_crc(crc, found, n)
        if masked(crc) != entry.crc32c:
            raise _wrong_checksum(self.prefix, key, entry.crc32c, masked(crc))

    def _piece(
        self, entry: Message | PlainEntry, key: str, at: int, n: int, into: np.ndarray, checked: bool,
    ) -> int:  # fmt: skip
        """Read n bytes of an entry; return their checksum if it is asked for."""
        file = self._files[entry.shard_id]
        try:
            with raising_for(self.prefix, f"{key}: "):
                return crc32c_of_file(file, entry.offset + at, n, into, _READ, checked)
        except EOFError:
            raise DataLossError(None, None, f"{key}: the data of {self.prefix} is truncated") from None

    def _bytes(self, entry: Message | PlainEntry, key: str) -> bytes:
        parts, at, end = [], entry.offset, entry.offset + entry.size
        while at < end:
            with raising_for(self.prefix, f"{key}: "):
                part = os.pread(self._files[entry.shard_id], min(PIECE, end - at), at)
            if not part:
                raise DataLossError(None, None, f"{key}: the data of {self.prefix} is truncated")
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    def _strings(self, entry: Message | PlainEntry, key: str, n: int) -> np.ndarray:
        """The strings of an entry (of variants, as they are serialized). -> object[n]"""
        if n > entry.size:  # each has a length
            raise DataLossError(None, None, f"{key}: {n} strings cannot be in {entry.size} bytes")
        content = self._bytes(entry, key)
        found = np.empty(n, object)
        try:
            crc = _take_strings(content, n, found) if entry.dtype == _STRING else _take_variants(content, n, found)
        except (IndexError, ValueError, struct.error) as error:
            raise DataLossError(None, None, f"{key}: {error}") from None
        if masked(crc) != entry.crc32c:
            raise _wrong_checksum(self.prefix, key, entry.crc32c, masked(crc))
        return found

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_files", None):
            self.close()


def _parsed(content: bytes, kind: str, where: str) -> Message:
    try:
        return parsed(content, kind)
    except ValueError as error:
        raise DataLossError(None, None, f"{where}: {error}") from None


def _dims(entry: Message | PlainEntry, key: str) -> tuple[int, ...]:
    if isinstance(entry, PlainEntry):
        return entry.dims
    dims = tuple([int(dim.size) for dim in entry.shape.dim])
    if any(size < 0 for size in dims) or len(dims) > 254:
        raise DataLossError(None, None, f"{key}: a tensor of shape {dims}")
    return dims


def _room(dims: tuple[int, ...], dtype: np.dtype[Any], key: str) -> np.ndarray:
    try:
        return np.empty(dims, dtype)
    except ValueError as error:  # too many axes, or one too long beside one of length 0
        raise DataLossError(None, None, f"{key}: {error}") from None


def _extents(piece: Message) -> list[tuple[int, int]]:
    """Return the start and the length of each axis, -1 for all of it."""
    return [(int(each.start), int(each.length) if each.HasField("length") else -1) for each in piece.extent]


def _numpy_dtype(code: int, key: str) -> np.dtype[Any]:
    if code in _OTHERS:
        return np.dtype(_OTHERS[code])
    try:
        return from_code(code).numpy_dtype
    except (KeyError, TypeError):
        raise UnimplementedError(None, None, f"{key}: dtype {code} has no equal here") from None


def _wrong_checksum(prefix: str, key: str, stored: int, found: int) -> DataLossError:
    return DataLossError(
        None, None,
        f"Checksum does not match for {key} in {prefix}: stored {stored:#010x} vs. calculated on the restored bytes "
        f"{found:#010x}",
    )  # fmt: skip


def _take_strings(content: bytes, n: int, found: np.ndarray) -> int:
    """Take n strings out of an entry's bytes; return their checksum."""
    lengths, at = [], 0
    for _ in range(n):
        length, at = _varint(content, at)
        lengths.append(length)
    crc = crc32c(words(lengths))
    if struct.unpack_from("<I", content, at)[0] != masked(crc):
        raise ValueError("the checksum of the lengths does not match")
    crc = crc32c(content[at : at + 4], crc)
    at += 4
    if at + sum(lengths) != len(content):
        raise ValueError(f"strings of {sum(lengths)} bytes do not fit {len(content) - at}")
    for i, length in enumerate(lengths):
        found[i] = content[at : at + length]
        at += length
    return crc32c(memoryview(content)[len(content) - sum(lengths) :], crc)


def _take_variants(content: bytes, n: int, found: np.ndarray) -> int:
    """Take n variants, each serialized with its length before it and the checksum so far behind it; return that."""
    at = crc = 0
    for i in range(n):
        length, at = _varint(content, at)
        body = content[at : at + length]
        crc = crc32c(body, crc32c(struct.pack("<Q", length), crc))
        if struct.unpack_from("<I", content, at + length)[0] != masked(crc):
            raise ValueError("the checksum of a variant does not match")
        crc = crc32c(content[at + length : at + length + 4], crc)
        found[i] = body
        at += length + 4
    return crc


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 70:
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    raise ValueError("a length has more than ten bytes")
