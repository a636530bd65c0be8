"""Tables: files that map keys to values, sorted, in blocks with checksums. A bundle's index is one.

Rule: facts of the format and nothing else; a damaged file is a DataLossError. Source: the tables of TensorFlow (and of
LevelDB, whose format it is).

A block is a row of entries (bytes of the key shared with the one before, further bytes, bytes of the value; then both),
the places of the entries that share nothing, and their number; behind it stand a byte, 0, and the checksum. The block
of the index says where the others are; a footer of 48 bytes says where that is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from fastgraph.core.native.array_kernels import crc32c, masked
from fastgraph.errors import DataLossError, UnimplementedError
from fastgraph.graphdef.node_bytes import varint

_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_FOOTER = 48  # bytes: two handles of at most 20 each, and the magic number
_BLOCK = 1 << 18  # bytes after which a block ends
_RESTART = 16  # entries until one is written whole again


class _Block:
    """A block in the making."""

    def __init__(self, restart: int = _RESTART) -> None:
        self.content = bytearray()
        self.restarts = [0]
        self.every = restart
        self.n = 0  # entries since the last one that shares nothing
        self.last = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.n < self.every:
            most = min(len(key), len(self.last))
            while shared < most and key[shared] == self.last[shared]:
                shared += 1
        else:
            self.restarts.append(len(self.content))
            self.n = 0
        self.content += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self.last = key
        self.n += 1

    def size(self) -> int:
        return len(self.content) + 4 * len(self.restarts) + 4

    def bytes(self) -> bytes:
        ends = struct.pack(f"<{len(self.restarts) + 1}I", *self.restarts, len(self.restarts))
        body = bytes(self.content) + ends + b"\0"
        return body + struct.pack("<I", masked(crc32c(body)))


def _between(last: bytes, following: bytes | None) -> bytes:
    """A short key that is not less than `last`, and less than what follows."""
    if following is None:
        for i, byte in enumerate(last):
            if byte != 255:
                return last[:i] + bytes([byte + 1])
        return last
    for i, (ours, theirs) in enumerate(zip(last, following, strict=False)):
        if ours != theirs:
            return last[:i] + bytes([ours + 1]) if ours < 255 and ours + 1 < theirs else last
    return last


def table(entries: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the file of entries, which come in the order of their keys."""
    content = bytearray()
    index = _Block(restart=1)
    block = _Block()

    def written(each: _Block) -> bytes:
        """The handle of a block that is now in the file."""
        body = each.bytes()
        handle = varint(len(content)) + varint(len(body) - 5)
        content.extend(body)
        return handle

    handle = b""
    for key, value in entries:
        if handle:
            index.add(_between(block.last, key), handle)
            block, handle = _Block(), b""
        block.add(key, value)
        if block.size() >= _BLOCK:
            handle = written(block)
    if not handle and block.content:
        handle = written(block)
    beside = written(_Block())
    if handle:
        index.add(_between(block.last, None), handle)
    footer = beside + written(index)
    return bytes(content) + footer.ljust(_FOOTER - len(_MAGIC), b"\0") + _MAGIC


def entries_of(content: bytes, name: str) -> dict[bytes, bytes]:
    """Return the entries of a file's content; `name` is for errors. Raises DataLossError, UnimplementedError."""
    if len(content) < _FOOTER:
        raise DataLossError(None, None, f"{name}: not an sstable (file is too short: {len(content)} bytes)")
    if content[-8:] != _MAGIC:
        raise DataLossError(None, None, f"{name}: not an sstable (bad magic number)")
    try:
        footer = content[-_FOOTER:-8]
        start, size, at = _handle(footer, 0)
        found: dict[bytes, bytes] = {}
        room = len(content) - _FOOTER
        _body(content, start, size, room)  # of no use here, but a part of the file
        start, size, _ = _handle(footer, at)
        for _, handle in _entries(_body(content, start, size, room)):
            start, size, _ = _handle(handle, 0)
            room -= size  # blocks that lie over each other would give more than the file holds
            for key, value in _entries(_body(content, start, size, room + size)):
                found[key] = value
        return found
    except (IndexError, ValueError, struct.error) as error:
        raise DataLossError(None, None, f"{name}: corrupted table: {error}") from None


def _body(content: bytes, start: int, size: int, room: int) -> bytes:
    """The entries and restarts of a block, checked. ValueError if it is damaged."""
    if size > room or start + size + 5 > len(content) - _FOOTER:
        raise ValueError(f"a block of {size} bytes at {start} reaches beyond the end")
    body = content[start : start + size + 1]
    (stored,) = struct.unpack_from("<I", content, start + size + 1)
    if stored != masked(crc32c(body)):
        raise ValueError("block checksum mismatch")
    if body[-1] != 0:
        raise UnimplementedError(None, None, "a block of the table is compressed, which no bundle of tensors is")
    return body[:-1]


def _entries(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a block. Raises ValueError for what is none."""
    (n_restarts,) = struct.unpack_from("<I", body, len(body) - 4)
    end = len(body) - 4 - 4 * n_restarts
    if end < 0:
        raise ValueError("bad entry in block")
    at, last = 0, b""
    room = 16 * len(body) + (1 << 16)  # of keys: what is shared is told again and again
    while at < end:
        shared, at = _number(body, at)
        own, at = _number(body, at)
        size, at = _number(body, at)
        room -= shared
        if shared > len(last) or at + own + size > end or room < 0:
            raise ValueError("bad entry in block")
        last = last[:shared] + body[at : at + own]
        at += own
        yield last, body[at : at + size]
        at += size


def _handle(content: bytes, at: int) -> tuple[int, int, int]:
    start, at = _number(content, at)
    size, at = _number(content, at)
    return start, size, at


def _number(content: bytes, at: int) -> tuple[int, int]:
    byte = content[at]
    at += 1
    if byte < 128:
        return byte, at
    number, shift = byte & 127, 7
    while byte >= 128:
        if shift > 63:
            raise ValueError("a number has more than ten bytes")
        byte = content[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
    return number, at
