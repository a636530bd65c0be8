"""The pixels of a JPEG as TensorFlow decodes them: by the fast inverse transform, with chroma interpolated.

Rule: where simplejpeg is installed, libjpeg-turbo does it all, in half the time. Otherwise, and for what is not of its
usual kind, Pillow transforms (by the accurate transform, or by the fast one without interpolation); what libjpeg does
behind the transform is a loop in C, with libjpeg's integers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fastgraph.core.native.array_kernels import jpeg_colors
from fastgraph.ops.families import Array


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
        pixels: Array = turbo.decode_jpeg(data, wanted, fast, not smooth, -(-height // ratio), -(-width // ratio))
    except Exception:  # damaged, a little or wholly, or sampled in a way that it has no name for
        return None
    return pixels


def jpeg_pixels(picture: Any, channels: int, ratio: int = 1, fast: bool = True, smooth: bool = True) -> Array | None:
    """Return the pixels u8[h, w, c] of an opened JPEG of one or three layers; None for other ones.

    channels: 0 (as in the file), 1 or 3. ratio: by how much each side is smaller. fast: by the fast transform, as
    TensorFlow does unless asked. smooth: interpolate chroma (the accurate transform always does).
    """
    colors = picture.mode == "RGB" and not _has_chroma(picture)
    if picture.mode not in ("L", "RGB") or (colors and channels == 1) or min(picture.size) < ratio:
        return None
    layers = [layer[1:3] for layer in picture.layer]
    size = (picture.width // ratio, picture.height // ratio)  # Pillow takes the scale that is not below it
    if picture.mode == "L" or channels == 1:
        picture.draft("L", size)
        picture.decoderconfig = (ratio, int(fast))
        grey = np.array(picture)[..., None]
        return np.repeat(grey, 3, 2) if channels == 3 else grey
    across, down = layers[0]
    # A smaller picture's chroma comes from larger transforms: nothing to interpolate; libjpeg leaves narrow ones out.
    plain = (
        not (fast and smooth)
        or ratio > 1
        or layers[1:] != [(1, 1)] * 2
        or (across, down) not in ((2, 2), (2, 1), (1, 2))
    )
    plain = plain or colors or (across == 2 and picture.width <= 4)
    picture.draft("RGB" if plain else "YCbCr", size)
    picture.decoderconfig = (ratio, int(fast))
    pixels = np.array(picture)
    if not plain:
        jpeg_colors(pixels, across, down)
    return pixels


def _has_chroma(picture: Any) -> bool:
    """Return whether three layers are Y, Cb and Cr rather than red, green and blue, by libjpeg's rule."""
    if "jfif" in picture.info:
        return True
    if "adobe_transform" in picture.info:
        return bool(picture.info["adobe_transform"])
    return [layer[0] for layer in picture.layer] != [ord(c) for c in "RGB"]
