"""The pixels of a JPEG as TensorFlow decodes them: by the fast inverse transform, with chroma interpolated.

Rule: where simplejpeg is installed, libjpeg-turbo does it all, in half the time. Otherwise, and for what is not of its
usual kind, Pillow transforms (by the accurate transform, or by the fast one without interpolation); what libjpeg does
behind the transform is a loop in C, with libjpeg's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import uint8
from fastgraph.core.native.array_kernels import jpeg_colors
from fastgraph.core.tensor import new_array
from fastgraph.ops.families import Array

#: How many rows a picture must have, of the number that its head says.
Enough = Callable[[int], float]


@cache
def _turbo() -> Any:
    """Return the module simplejpeg; None where there is none, or an older one, whose errors read memory given back."""
    try:
        import simplejpeg
    except ImportError:
        return None
    return simplejpeg if tuple(map(int, simplejpeg.__version__.split(".")[:2])) >= (1, 9) else None


def turbo_pixels(data: bytes, channels: int, ratio: int, fast: bool, smooth: bool, most: int) -> Array | None:
    """Return the pixels u8[h, w, c] of a JPEG's bytes by libjpeg-turbo; None for what Pillow has to judge or decode.

    most: how many pixels there may be. The rest: as in `jpeg_pixels`.
    """
    turbo = _turbo() if data[:3] == b"\xff\xd8\xff" else None
    if turbo is None:
        return None
    try:
        height, width, colors, _ = turbo.decode_jpeg_header(data)
        if colors not in ("Gray", "RGB", "YCbCr") or height * width > most or (ratio > 1 and max(height, width) <= 8):
            return None  # of the smallest ones several scales have the size
        wanted = "GRAY" if channels == 1 or (channels == 0 and colors == "Gray") else "RGB"
        if ratio > 1:
            found: Array = turbo.decode_jpeg(data, wanted, fast, not smooth, -(-height // ratio), -(-width // ratio))
            return found
        pixels = new_array((height, width, 3 if wanted == "RGB" else 1), uint8)
        turbo.decode_jpeg(data, wanted, fast, not smooth, buffer=pixels)
    except Exception:  # damaged, a little or wholly, or sampled in a way that it has no name for
        return None
    return pixels


def jpeg_pixels(
    picture: Any, channels: int, ratio: int = 1, fast: bool = True, smooth: bool = True, enough: Enough = int
) -> Array | None:
    """Return the pixels u8[h, w, c] of an opened JPEG; None for colours without chroma, as grey.

    channels: 0 (as in the file), 1 or 3. ratio: by how much each side is smaller. fast: by the fast transform, as
    TensorFlow does unless asked. smooth: interpolate chroma (the accurate transform always does). enough: how many rows
    must be there, of so many; missing ones are black. Raises: OSError for fewer, ValueError for CMYK as grey.
    """
    mode, layers = picture.mode, [layer[1:3] for layer in picture.layer]
    colors = mode == "RGB" and not _has_chroma(picture)
    if colors and channels == 1:
        return None
    if mode == "CMYK" and channels == 1:
        raise ValueError("CMYK has no layer of brightness")
    wanted = "L" if mode == "RGB" and channels == 1 else mode
    across, down = layers[0]
    # A smaller picture's chroma comes from larger transforms: nothing to interpolate; libjpeg leaves narrow ones out.
    plain = wanted != "RGB" or colors or not (fast and smooth) or ratio > 1 or (across == 2 and picture.width <= 4)
    plain = plain or layers[1:] != [(1, 1)] * 2 or (across, down) not in ((2, 2), (2, 1), (1, 2))
    picture.draft(wanted if plain else "YCbCr", None)
    size = (-(-picture.width // ratio), -(-picture.height // ratio))
    picture._size, picture.tile = size, [picture.tile[0]._replace(extents=(0, 0, *size))]  # as draft, of any size
    picture.decoderconfig = (ratio, int(fast))
    pixels, rows = _rows(picture, enough, 0 if plain else down)
    if not plain:
        jpeg_colors(pixels, across, down)
    if mode == "CMYK":
        ink = 255 - pixels.astype(np.int32)
        pixels = (ink[..., :3] * ink[..., 3:] // 255).astype(np.uint8)
    pixels[rows:] = 0
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    return np.repeat(pixels, 3, 2) if channels == 3 and wanted == "L" else pixels


def _rows(picture: Any, enough: Enough, held: int) -> tuple[Array, int]:
    """Return a picture's pixels and how many rows its file has; `held`: those that wait for the next one's chroma."""
    height = picture.height
    try:
        return np.array(picture), height
    except OSError:
        if enough(height) >= height:
            raise
    from PIL import Image

    found = []
    for shade in (0, 255):  # what the file has is the same on both
        canvas = Image.new(picture.mode, picture.size, (shade,) * len(picture.getbands()))
        picture.im = canvas.im
        with suppress(OSError):
            picture.load()
        found.append(np.array(canvas).reshape(height, -1))
    rows = int((found[0] == found[1]).all(1).sum()) - held
    if rows < max(1, enough(height)):
        raise OSError(f"{max(rows, 0)} rows of {height}")
    return np.array(canvas), rows


def _has_chroma(picture: Any) -> bool:
    """Return whether three layers are Y, Cb and Cr rather than red, green and blue, by libjpeg's rule."""
    if "jfif" in picture.info:
        return True
    if "adobe_transform" in picture.info:
        return bool(picture.info["adobe_transform"])
    return [layer[0] for layer in picture.layer] != [ord(c) for c in "RGB"]
