"""PNG files: written, and read where they have 16 bits a channel, which Pillow does not keep.

Rule: pixels are u8 or u16 [h, w, c] of 1 to 4 channels: grey, grey and alpha, colours, colours and alpha.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from fastgraph.ops.families import Array

_HEAD = b"\x89PNG\r\n\x1a\n"
_COLORS = {1: 0, 2: 4, 3: 2, 4: 6}


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels: Array, level: int) -> bytes:
    """Return pixels as a PNG file; `level` is zlib's, -1 to 9."""
    height, width, channels = pixels.shape
    bits = 8 * pixels.itemsize
    rows = np.ascontiguousarray(pixels.astype(f">u{pixels.itemsize}")).view(np.uint8).reshape(height, -1)
    below = np.concatenate([rows[:1], rows[1:] - rows[:-1]])  # each row as what it differs by from the one above
    filters = np.full((height, 1), 2, np.uint8)
    head = struct.pack(">IIBBBBB", width, height, bits, _COLORS[channels], 0, 0, 0)
    body = zlib.compress(np.concatenate([filters, below], 1).tobytes(), level)
    return _HEAD + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def png16(data: bytes) -> Array:
    """Return the pixels of a PNG file of 16 bits, u16[h, w, c]. Raises ValueError for one that is none or cut off.

    Raises NotImplementedError for one that is interlaced.
    """
    width, height, bits, color, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    channels = {number: count for count, number in _COLORS.items()}[color]
    if bits != 16:
        raise ValueError(f"{bits} bits")
    if interlaced:
        raise NotImplementedError("interlaced PNGs of 16 bits are not built")
    at, parts = 8, []
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            parts.append(data[at + 8 : at + 8 + size])
        at += 12 + size
    step = 2 * channels
    stride = step * width + 1
    raw = zlib.decompressobj().decompress(b"".join(parts), height * stride)
    if len(raw) != height * stride:
        raise ValueError("cut off")
    rows = np.frombuffer(raw, np.uint8).reshape(height, stride)
    found = np.zeros((height, stride - 1), np.uint8)
    above = np.zeros(stride - 1, np.uint8)
    for y in range(height):
        above = found[y] = _unfiltered(int(rows[y, 0]), rows[y, 1:], above, step)
    return found.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _unfiltered(kind: int, row: Array, above: Array, step: int) -> Array:
    """A row of bytes that was written as differences: from the pixel before, above, their mean, or Paeth's choice."""
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row.reshape(-1, step), 0, np.uint8).reshape(-1)
    if kind == 2:
        return row + above
    if kind not in (3, 4):
        raise ValueError(f"filter {kind}")
    out, up = row.tolist(), above.tolist()
    for i in range(len(out)):
        left, corner = (out[i - step], up[i - step]) if i >= step else (0, 0)
        if kind == 3:
            near = (left + up[i]) // 2
        else:
            guess = left + up[i] - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up[i]), 1, up[i]), (abs(guess - corner), 2, corner))[
                2
            ]
        out[i] = (out[i] + near) & 255
    return np.array(out, np.uint8)
