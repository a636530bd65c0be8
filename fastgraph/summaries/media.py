"""Pictures as PNG files and sounds as WAV files, of arrays."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from fastgraph.errors import InvalidArgumentError
from fastgraph.records.png_files import png


def picture_file(picture: Any) -> bytes:
    """A picture u8[h, w, 1 to 4] as a PNG file. Raises InvalidArgumentError for other shapes, and empty ones."""
    height, width, channels = picture.shape
    if not 1 <= channels <= 4:
        raise InvalidArgumentError(None, None, f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise InvalidArgumentError(None, None, f"image must have pixels, got shape {list(picture.shape)}")
    return png(picture, -1)


def wav(samples: Any, rate: int) -> bytes:
    """Samples f32[n, channels] from -1 to 1 as a WAV file of 16 bits. Raises InvalidArgumentError for what is none."""
    if samples.ndim != 2:
        raise InvalidArgumentError(None, None, f"audio must be 2-dimensional, got rank {samples.ndim}")
    for what, number, bits in (("sample_rate", rate, 32), ("num_channels", samples.shape[1], 16)):
        if not 0 < number < 1 << bits:
            raise InvalidArgumentError(None, None, f"{what} must be in (0, 2^{bits}), got: {number}")
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = samples.astype(np.float32) * np.float32(32768)
        rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
        whole = np.nan_to_num(np.clip(rounded, -32768, 32767), nan=0).astype("<i2")
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(samples.shape[1])
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(whole.tobytes())
    return written.getvalue()
