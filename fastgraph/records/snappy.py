"""Snappy, as files of records have it: blocks, each its length in four bytes, the greatest first, and its content.

Rule: what is written is not made smaller, for its bytes are literal ones, which every reader takes; what is read may
be at most as long as its compressed bytes can say. Source: Snappy's format, TensorFlow's SnappyOutputBuffer.
"""

from __future__ import annotations

import struct
from typing import Any

from fastgraph.errors import DataLossError

_BLOCK = 1 << 17  # TensorFlow's readers take up to twice as much at once
_MOST = 64  # bytes that a copy of two bytes, the shortest, could stand for at the most


def _bad(words: str) -> DataLossError:
    return DataLossError(None, None, f"corrupted block of Snappy: {words}")


def compressed(content: bytes) -> bytes:
    """Return a block that says these bytes as they are."""
    n, head = len(content), bytearray()
    while n > 127:
        head.append(n & 127 | 128)
        n >>= 7
    head.append(n)
    if content:
        head += b"\xfc" + struct.pack("<I", len(content) - 1)  # a literal, whose length takes four bytes
    return bytes(head) + content


def decompressed(block: bytes) -> bytes:
    """Return what a block says. Raises DataLossError for one that is damaged."""
    try:
        return bytes(_decompressed(block))
    except IndexError:
        raise _bad("it ends within an element") from None


def _decompressed(block: bytes) -> bytearray:
    wanted = at = shift = 0
    while True:
        byte = block[at]
        wanted, at, shift = wanted | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            break
    if wanted > _MOST * len(block):
        raise _bad(f"{len(block)} bytes cannot hold {wanted}")
    out, end = bytearray(), len(block)
    while at < end:
        tag = block[at]
        at += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > 60:
                more = size - 60
                size, at = int.from_bytes(block[at : at + more], "little") + 1, at + more
            if at + size > end:
                raise _bad("it ends within a literal")
            out += block[at : at + size]
            at += size
        else:
            if tag & 3 == 1:
                size, offset, at = (tag >> 2 & 7) + 4, tag >> 5 << 8 | block[at], at + 1
            else:
                more = 2 if tag & 3 == 2 else 4
                size, offset, at = (tag >> 2) + 1, int.from_bytes(block[at : at + more], "little"), at + more
            begin = len(out) - offset
            if begin < 0 or not offset or at > end:
                raise _bad(f"a copy from {offset} bytes before, where there are {len(out)}")
            out += out[begin : begin + size] if offset >= size else (out[begin:] * (size // offset + 1))[:size]
        if len(out) > wanted:
            break
    if len(out) != wanted:
        raise _bad(f"{len(out)} bytes instead of {wanted}")
    return out


class SnappyWriter:
    """Writes bytes to a file in blocks."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115  close() closes it
        self._left = bytearray()
        self.fileno = self._file.fileno

    def write(self, content: bytes) -> None:
        """Take bytes."""
        self._left += content
        while len(self._left) >= _BLOCK:
            self._put(self._left[:_BLOCK])
            del self._left[:_BLOCK]

    def _put(self, part: bytes | bytearray) -> None:
        block = compressed(bytes(part))
        self._file.write(struct.pack(">I", len(block)) + block)

    def flush(self) -> None:
        """Write what is left."""
        if self._left:
            self._put(self._left)
            self._left.clear()
        self._file.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        self.flush()
        self._file.close()


class SnappyReader:
    """Reads the bytes of a file of blocks, from its begin to its end."""

    def __init__(self, file: Any) -> None:
        self._file, self._block, self._at = file, b"", 0

    def seek(self, at: int) -> None:
        """Stay: records are read one after the other."""

    def read(self, size: int) -> bytes:
        """Return so many bytes or fewer, none at the end. Raises DataLossError for a damaged block."""
        while self._at == len(self._block):
            head = self._file.read(4)
            if not head:
                return b""
            n = int.from_bytes(head, "big")
            content = self._file.read(min(n, _BLOCK * 2 + 1024)) if len(head) == 4 else b""
            if len(content) != n:
                raise _bad(f"{len(content)} bytes instead of {n}")
            self._block, self._at = decompressed(content), 0
        part = self._block[self._at : self._at + size]
        self._at += len(part)
        return part

    def close(self) -> None:
        """Close the file."""
        self._file.close()
