"""Pictures and sounds from the bytes of their files: tf.io.decode_image and its kin, tf.audio.

Rule: Pillow reads pictures, Python's wave module sounds; both are imported when they are first needed.
"""

from __future__ import annotations

import io
import wave
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int32, string, uint8
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import Data
from fastgraph.errors import NotBuiltImportError
from fastgraph.ops.arguments import as_tensor, named, whole
from fastgraph.ops.families import Array, custom, invalid
from fastgraph.ops.image_colors import convert_image_dtype
from fastgraph.summaries.media import wav

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_REASON = "the size of what is decoded is data"


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise NotBuiltImportError(
            "Pictures are decoded by Pillow, which is not installed: pip install pillow"
        ) from None
    return Image


def _infer(contents: Aval, *, channels: int, frames: bool) -> Aval:
    return Aval(uint8, None if frames else (None, None, channels or None))


@custom(op="DecodeImage", infer=_infer, groups=("string",), step="dynamic", reason=_REASON)
def decode_image_p(contents: Array, *, channels: int, frames: bool) -> Any:
    """The pixels of a picture. string[] -> u8[h, w, c], u8[n, h, w, 3] of an animation if `frames` are wanted."""
    data = np.asarray(contents).item()
    try:
        picture = _pillow().open(io.BytesIO(data))
    except OSError:
        raise invalid("Unknown image file format. One of JPEG, PNG, GIF, BMP required.") from None
    if picture.format not in ("JPEG", "PNG", "GIF", "BMP"):
        raise invalid("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")
    if picture.format == "GIF" and frames:
        pages = []
        for i in range(picture.n_frames):
            picture.seek(i)
            pages.append(np.asarray(picture.convert("RGB")))
        return np.stack(pages)
    if channels:
        picture = picture.convert(_MODES[channels])
    elif picture.mode not in ("L", "RGB", "RGBA"):
        has_alpha = picture.mode in ("LA", "PA") or "transparency" in picture.info
        picture = picture.convert("L" if picture.mode in ("1", "I", "I;16", "F") else "RGBA" if has_alpha else "RGB")
    pixels = np.array(picture)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def decode_image(
    contents: Data,
    channels: Data | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """The pixels of a JPEG, PNG, GIF or BMP. string[] -> dtype[h, w, channels], with a first axis of an animated GIF.

    channels: 1 (grey), 3, 4 or those that the file has (0, None). expand_animations: False: the first picture alone, so
    that the rank is known. Raises: InvalidArgumentError for other bytes; ImportError without Pillow.
    Source: tf.io.decode_image.
    """
    count = whole(channels or 0, "channels", 32)
    if count not in (0, 1, 3, 4):
        raise ValueError("`channels` must be in (None, 0, 1, 3, 4)")
    pixels = named(name, decode_image_p, as_tensor(contents, string), channels=count, frames=bool(expand_animations))
    return pixels if as_dtype(dtype) == uint8 else convert_image_dtype(pixels, dtype)


def decode_png(contents: Data, channels: Data = 0, dtype: DTypeLike = uint8, name: str | None = None) -> Any:
    """As `decode_image`, of one picture. string[] -> u8[h, w, channels]. Source: tf.io.decode_png."""
    return decode_image(contents, channels, dtype, name, expand_animations=False)


def decode_bmp(contents: Data, channels: Data = 0, name: str | None = None) -> Any:
    """As `decode_image`, of one picture. string[] -> u8[h, w, channels]. Source: tf.io.decode_bmp."""
    return decode_image(contents, channels, uint8, name, expand_animations=False)


def decode_jpeg(contents: Data, channels: Data = 0, ratio: Data = 1, name: str | None = None, **options: Any) -> Any:
    """As `decode_image`, of one picture. string[] -> u8[h, w, channels].

    Other options say how exact and how fast a decoder is, and change nothing here. Raises: NotImplementedError for
    another ratio. Source: tf.io.decode_jpeg.
    """
    if ratio != 1:
        raise NotImplementedError("decode_jpeg: only ratio=1 is built")
    return decode_image(contents, channels, uint8, name, expand_animations=False)


def decode_gif(contents: Data, name: str | None = None) -> Any:
    """All pictures of a GIF. string[] -> u8[n, h, w, 3]. Source: tf.io.decode_gif."""
    return named(name, decode_image_p, as_tensor(contents, string), channels=3, frames=True)


# ---- sounds ---------------------------------------------------------------------------------------------------------


class DecodeWav(NamedTuple):
    """The results of decode_wav."""

    audio: Any
    sample_rate: Any


def _infer_wav(contents: Aval, *, channels: int, samples: int) -> tuple[Aval, Aval]:
    return Aval(float32, (None if samples < 0 else samples, None if channels < 0 else channels)), Aval(int32, ())


@custom(op="DecodeWav", infer=_infer_wav, groups=("string",), n_outputs=2, step="dynamic", reason=_REASON)
def decode_wav_p(contents: Array, *, channels: int, samples: int) -> Any:
    """The samples of a sound of 16 bits, from -1 to 1, and how many there are in a second."""
    try:
        with wave.open(io.BytesIO(np.asarray(contents).item())) as sound:
            if sound.getsampwidth() != 2:
                raise invalid(f"Can only read 16-bit WAV files, but received {8 * sound.getsampwidth()}")
            found = np.frombuffer(sound.readframes(sound.getnframes()), "<i2").reshape(-1, sound.getnchannels())
            rate = sound.getframerate()
    except (wave.Error, EOFError):
        raise invalid("Header mismatch: Expected RIFF but found something else") from None
    numbers = found.astype(np.float32) / 32768
    if channels > 0:  # missing ones repeat the last
        numbers = numbers[:, np.minimum(np.arange(channels), numbers.shape[1] - 1)]
    if samples >= 0:
        numbers = np.concatenate([numbers[:samples], np.zeros((max(0, samples - len(numbers)), numbers.shape[1]), "f")])
    return numbers.astype(np.float32), np.array(rate, np.int32)


def decode_wav(contents: Data, desired_channels: Data = -1, desired_samples: Data = -1, name: str | None = None) -> Any:
    """The samples of a WAV file of 16 bits, from -1 to 1, and its rate: string[] -> f32[n, channels], i32[].

    desired_channels, desired_samples: cut, or filled up with the last channel and with silence; -1: as they are.
    Raises: InvalidArgumentError for other bytes. Source: tf.audio.decode_wav.
    """
    found = named(
        name,
        decode_wav_p,
        as_tensor(contents, string),
        channels=whole(desired_channels, "desired_channels"),
        samples=whole(desired_samples, "desired_samples"),
    )
    return DecodeWav(*found)


@custom(op="EncodeWav", infer=lambda audio, sample_rate: Aval(string, ()), groups=("float32", "int32"), reason=_REASON)
def encode_wav_p(audio: Array, sample_rate: Array) -> Any:
    """Samples from -1 to 1 as the bytes of a WAV file of 16 bits."""
    return np.array(wav(audio, int(sample_rate)), object)


def encode_wav(audio: Data, sample_rate: Data, name: str | None = None) -> Any:
    """The bytes of a WAV file of 16 bits. f32[n, channels], i32[] -> string[]. Source: tf.audio.encode_wav."""
    return named(name, encode_wav_p, as_tensor(audio, float32), as_tensor(sample_rate, int32))
