"""PNG files, written.

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
