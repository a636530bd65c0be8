"""tf.keras.utils of pictures: files and arrays as Pillow's images, and back."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from fastgraph.data.media_decoding import pillow
from fastgraph.keras import backend
from fastgraph.keras.layers.core import checked_data_format

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_RESAMPLING = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def img_to_array(img: ArrayLike, data_format: str | None = None, dtype: DTypeLike | None = None) -> np.ndarray:
    """Return a Pillow image as f32[h, w, c]. Source: tf.keras.utils.img_to_array."""
    x = np.asarray(img, dtype=dtype or backend.floatx())
    if x.ndim not in (2, 3):
        raise ValueError(f"Unsupported image shape: {x.shape}")
    x = x[..., None] if x.ndim == 2 else x
    return x.transpose(2, 0, 1) if checked_data_format(data_format) == "channels_first" else x


def array_to_img(
    x: ArrayLike, data_format: str | None = None, scale: bool = True, dtype: DTypeLike | None = None
) -> Any:
    """Return [h, w, c] as a Pillow image; `scale`: stretched to 0 to 255. Source: tf.keras.utils.array_to_img.

    Raises ValueError for other ranks, and for other numbers of channels than 1, 3 and 4.
    """
    images = pillow()
    pixels: Any = np.asarray(x, dtype=dtype or backend.floatx())
    if pixels.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {pixels.shape}")
    if checked_data_format(data_format) == "channels_first":
        pixels = pixels.transpose(1, 2, 0)
    if scale:
        pixels = pixels - np.min(pixels)
        most = np.max(pixels)
        pixels = pixels / most * 255 if most != 0 else pixels
    if pixels.shape[2] not in (1, 3, 4):
        raise ValueError(f"Unsupported channel number: {pixels.shape[2]}")
    if pixels.shape[2] == 1 and np.max(pixels) > 255:  # Pillow's 32 bits
        return images.fromarray(pixels[:, :, 0].astype("int32"), "I")
    return images.fromarray((pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).astype("uint8"))


def load_img(
    path: str | bytes | os.PathLike[str] | io.BytesIO, grayscale: bool = False, color_mode: str = "rgb",
    target_size: Sequence[int] | None = None,
    interpolation: str = "nearest", keep_aspect_ratio: bool = False,
) -> Any:  # fmt: skip
    """Return the picture in a file, or in an io.BytesIO, as a Pillow image. Source: tf.keras.utils.load_img.

    color_mode: "grayscale", "rgb", "rgba". target_size: (height, width), by an `interpolation` of Pillow's;
    keep_aspect_ratio: cut in the middle to that shape first. Raises TypeError for what is no path, ValueError for
    another mode or interpolation, and what the file system says.
    """
    images = pillow()
    mode = "grayscale" if grayscale else color_mode
    if mode not in _MODES:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    if interpolation not in _RESAMPLING:
        raise ValueError(
            f"Invalid interpolation method {interpolation} specified. Supported methods are {', '.join(_RESAMPLING)}"
        )
    if not isinstance(path, str | bytes | os.PathLike | io.BytesIO):
        raise TypeError(f"path should be path-like or io.BytesIO, not {type(path)}")
    image = images.open(io.BytesIO(path.getvalue()) if isinstance(path, io.BytesIO) else os.fsdecode(path))
    with image:
        image.load()
        wide = mode == "grayscale" and image.mode in ("I;16", "I", "L")  # kept as it is
        image = image if wide else image.convert(_MODES[mode])
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    height, width = target_size
    box = None
    if keep_aspect_ratio:
        across, down = image.size
        within = min(across, int(down * width / height)), min(down, int(across * height / width))
        left, top = (across - within[0]) // 2, (down - within[1]) // 2
        box = (left, top, left + within[0], top + within[1])
    return image.resize((width, height), getattr(images.Resampling, interpolation.upper()), box=box)


def save_img(
    path: str | os.PathLike[str],
    x: ArrayLike,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write [h, w, c] as a picture, whose format is that of the path's ending. Source: tf.keras.utils.save_img."""
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and (file_format or "").lower() in ("jpg", "jpeg"):
        image = image.convert("RGB")  # which has no place for an alpha
    image.save(path, format=file_format, **kwargs)
