"""The pixels of a JPEG as TensorFlow decodes them: by the fast inverse transform, with chroma interpolated.

Rule: Pillow transforms (by the accurate transform, or by the fast one without interpolation); what libjpeg does behind
the transform is a loop in C, with libjpeg's integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.native.array_kernels import jpeg_colors
from fastgraph.ops.families import Array


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
