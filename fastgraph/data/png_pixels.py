"""The pixels of a PNG as TensorFlow decodes them, where Pillow gives others: 16 bits, greys, transparent colours.

Rule: Pillow takes the rows apart. Greys are libpng's integers: in linear light where the file tells its gamma.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from fastgraph.ops.families import Array

_GREY, _RGB, _GREY_ALPHA, _RGB_ALPHA = 0, 2, 4, 6
_CHANNELS = {_GREY: 1, _RGB: 3, _GREY_ALPHA: 2, _RGB_ALPHA: 4}
#: The first row and column and the steps of the parts in which pictures are interlaced.
_PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
#: Gammas are whole numbers, 100,000 times as large, as in the chunk gAMA.
_ONE = 100_000


def png_pixels(images: Any, picture: Any, data: bytes, channels: int, bits: int) -> Array | None:
    """Return the pixels [h, w, c], u8 or, of 16 bits where more than 8 are wanted, u16; None for what Pillow has right.

    images: Pillow's module Image. channels: 1, 3, 4 or those of the file (0). Raises ValueError for a file cut off.
    """
    depth, color = data[24], data[25]
    chunks, packed = _chunks(memoryview(data))
    is_grey = color in (_GREY, _GREY_ALPHA)
    clear = chunks.get(b"tRNS", b"") if channels == 4 and color in (_GREY, _RGB) else b""
    if color in (_GREY, _RGB):
        picture.info.pop("transparency", None)  # which Pillow takes from chunks of other sizes, too
    key = np.frombuffer(clear, ">u2") if len(clear) == (2 if is_grey else 6) else None
    if depth < 16:
        if channels == 1 and not is_grey:
            return _grey(np.asarray(picture.convert("RGB")), chunks, True)
        if key is None:
            return None
        pixels = np.asarray(picture.convert("L" if is_grey else "RGB")).reshape(picture.height, picture.width, -1)
        return _with_channels(pixels, 4, (key & (1 << depth) - 1) * (255 // ((1 << depth) - 1)))
    if bits == 8 and not is_grey and channels != 1 and key is None:
        return None
    pixels = png16(images, data, b"".join(packed))
    if channels == 1 and not is_grey:
        pixels = _grey(pixels, chunks, bits == 8)
    pixels = _with_channels(pixels, channels, key)
    return pixels if bits > 8 else (pixels >> 8).astype(np.uint8)


def _chunks(data: memoryview) -> tuple[dict[bytes, bytes], list[memoryview]]:
    """The chunks before the pixels, of each kind the first that is whole and in its place; parts of packed pixels."""
    found: dict[bytes, bytes] = {}
    at, parts = 8, []
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IDAT":
            parts.append(content)
        elif parts or zlib.crc32(content, zlib.crc32(kind)).to_bytes(4, "big") != data[at - 4 : at]:
            continue
        elif kind in (b"PLTE", b"tRNS") or b"PLTE" not in found:
            found.setdefault(kind, bytes(content))
    return found, parts


def png16(images: Any, data: bytes, body: bytes) -> Array:
    """Return the pixels u16[h, w, c] of a PNG file of 16 bits. Raises ValueError for one that is cut off.

    Pillow unpacks high bytes and low bytes: as channels of 8 bits side by side, or one after the other.
    """
    width, height, _, color, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    size = sum(
        len(range(y, height, down)) * (1 + 2 * _CHANNELS[color] * len(range(x, width, right)))
        for y, x, down, right in (_PASSES if interlaced else [(0, 0, 1, 1)])
        if x < width
    )
    if len(zlib.decompressobj().decompress(body, size)) < size:  # Pillow takes an end that comes early for zeros
        raise ValueError("cut off")

    def unpacked(mode: str, raw: str) -> Array:
        pixels: Array = np.asarray(images.frombytes(mode, (width, height), body, "zip", raw, interlaced))
        return pixels

    if color in (_GREY, _GREY_ALPHA):
        mode = "LA" if color == _GREY else "RGBA"
        return unpacked(mode, mode).view(">u2").astype(np.uint16)
    mode = "RGB" if color == _RGB else "RGBA"
    return unpacked(mode, f"{mode};16B").astype(np.uint16) << 8 | unpacked(mode, f"{mode};16L")


def _with_channels(pixels: Array, channels: int, key: Array | None) -> Array:
    """Pixels with as many channels: grey ones repeated, an alpha left out or added, 0 where the colour is `key`."""
    found = pixels.shape[2]
    if channels in (0, found):
        return pixels
    colors = pixels[..., :1] if found < 3 else pixels[..., :3]
    if channels == 1:
        return colors
    alpha = pixels[..., -1:] if found in (2, 4) else np.full_like(pixels[..., :1], np.iinfo(pixels.dtype).max)
    if key is not None:
        alpha[(pixels == key).all(2)] = 0
    colors = np.broadcast_to(colors, (*colors.shape[:2], 3))
    return colors if channels == 3 else np.concatenate([colors, alpha], 2)


def _luma(colors: Array, half: int) -> Array:
    """The luma of colours in libpng's numbers, of 15 bits; half: what is added before they are cut off."""
    r, g, b = (colors[..., i : i + 1].astype(np.uint32) for i in range(3))
    found: Array = (9797 * r + 19234 * g + 3737 * b + half) >> 15
    return found


def _grey(colors: Array, chunks: dict[bytes, bytes], narrow: bool) -> Array:
    """The luma of colours u8 or u16[h, w, 3 or 4]; narrow: it is for 8 bits, so that fewer bits of 16 count.

    What has no colour stays as it is, but rounded to the bits that count.
    """
    wide = colors.dtype == np.uint16
    gamma = _file_gamma(chunks)
    screen = _whole(1e10 / gamma)
    if not (_significant(gamma) or _significant(screen)):
        return _luma(colors, (1 << 14) * wide).astype(colors.dtype)
    shift = 0
    if wide:
        told = chunks.get(b"sBIT", b"")
        fits = len(told) == colors.shape[2] and all(0 < number <= 16 for number in told)
        shift = min(max(16 - max(told[:3]) if fits else 0, 5 * narrow), 8)
    size, top = (1 << (16 - shift), 65535) if wide else (256, 255)
    to_linear, back = (_curve(size, top, exponent) for exponent in (screen, _whole(1e10 / screen)))
    if wide and narrow:
        steps = np.arange(255) * 257 + 128
        bounds = (_power(steps / 65535, 65535, _whole(gamma * screen / _ONE)) * (size - 1) + 32768) // 65535 + 1
        same = 257 * np.searchsorted(bounds, np.arange(size), "right")
    else:
        same = _curve(size, top, _whole(1e15 / gamma / screen))
    luma = _luma(to_linear[colors[..., :3] >> shift], 1 << 14)
    first = colors[..., :1]
    plain = (colors[..., :3] == first).all(2, keepdims=True)
    found: Array = np.where(plain, same[first >> shift], back[luma >> shift]).astype(colors.dtype)
    return found


def _file_gamma(chunks: dict[bytes, bytes]) -> int:
    """The exponent of a file, 100,000 where it has none: sRGB's, or that of gAMA."""
    intent, gamma = chunks.get(b"sRGB", b""), chunks.get(b"gAMA", b"")
    if len(intent) == 1 and intent[0] < 4:
        return 45455
    number = int.from_bytes(gamma, "big")
    return number if len(gamma) == 4 and 16 <= number <= 625_000_000 else _ONE


def _significant(gamma: int) -> bool:
    return abs(gamma - _ONE) > 5000


def _whole(number: float) -> int:
    return int(number + 0.5)


def _power(part: Array, top: int, gamma: int) -> Array:
    """Parts of 1 to the power of a gamma, as whole numbers up to `top`."""
    return np.floor(top * part ** (gamma * 1e-5) + 0.5).astype(np.int64)


def _curve(size: int, top: int, gamma: int) -> Array:
    """The table of a gamma, from numbers below `size` to those up to `top`."""
    index = np.arange(size)
    if _significant(gamma):
        return _power(index * (1 / (size - 1)), top, gamma)
    return (index * top + size // 2) // (size - 1)
