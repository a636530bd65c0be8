"""Pictures and sounds from the bytes of their files: tf.io.decode_image and its kin, tf.audio.

Rule: Pillow reads pictures, Python's wave module sounds; both are imported when they are first needed.
"""

from __future__ import annotations

import io
import struct
import warnings
import wave
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int32, string, uint8, uint16
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.data.jpeg_pixels import jpeg_pixels, turbo_pixels
from fastgraph.errors import NotBuiltImportError
from fastgraph.ops.arguments import as_tensor, named, not_allowed, refused, whole, word
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.image_colors import convert_image_dtype
from fastgraph.records.png_files import png16
from fastgraph.summaries.media import wav

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_REASON = "the size of what is decoded is data"


def pillow() -> Any:
    """Return Pillow. Raises ImportError where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise NotBuiltImportError(
            "Pictures are decoded by Pillow, which is not installed: pip install fastgraph[pictures]"
        ) from None
    return Image


def _infer(contents: Aval, *, op: str, channels: int, frames: bool, bits: int, **jpeg: Any) -> Aval:
    several = (None, None, None, channels or None) if op != "DecodeImage" else None
    return Aval(uint16 if bits == 16 else uint8, several if frames else (None, None, channels or None))


_UNKNOWN = "Unknown image file format. One of JPEG, PNG, GIF, BMP required."
#: Bytes of pixels that a byte of a file may stand for: more than any of the formats reaches in earnest.
_DENSEST = 1 << 12


def _most_pixels(data: bytes) -> int:
    return (_DENSEST * len(data) + (1 << 20)) // 4


def opened_picture(data: bytes, formats: tuple[str, ...] = ("JPEG", "PNG", "GIF", "BMP")) -> Any:
    """The picture of a file, whose pixels are not read yet. Raises InvalidArgumentError for other bytes."""
    images = pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", images.DecompressionBombWarning)
            picture = images.open(io.BytesIO(data), formats=formats)
    except Exception:  # whatever a damaged head makes of the decoders
        raise invalid(_UNKNOWN) from None
    if picture.width * picture.height > _most_pixels(data):
        raise invalid(f"{len(data)} bytes are too few for a picture of {picture.width} x {picture.height}")
    return picture


@custom(op="DecodeImage", infer=_infer, groups=("string",), step="dynamic", reason=_REASON)
def decode_image_p(
    contents: Array, *, op: str, channels: int, frames: bool, bits: int, ratio: int, fast: bool = True,
    smooth: bool = True,
) -> Any:  # fmt: skip
    """The pixels of a picture. string[] -> u8[h, w, c], u8[n, h, w, 3] of an animation if `frames` are wanted."""
    if contents.ndim:
        raise invalid(f"`contents` must be scalar but got shape{shape_text(contents.shape)}")
    data = contents.item()
    if channels != 4 and op not in ("DecodeBmp", "DecodeWebP"):
        quick = turbo_pixels(data, channels, ratio, fast, smooth, _most_pixels(data))
        if quick is not None:
            return _shaped(quick, op, bits)
    picture = opened_picture(data, ("WEBP",) if op == "DecodeWebP" else ("JPEG", "PNG", "GIF", "BMP"))
    kind = picture.format
    if kind == "WEBP" and channels not in (0, len(picture.getbands())):
        raise invalid("Number of channels requested does not match input")
    if (kind == "BMP") != (op == "DecodeBmp") and op != "DecodeImage":
        right = f"decode_{kind.lower()}"
        raise invalid(f"Trying to decode {kind} format using {op} op. Use `{right}` or `decode_image` instead.")
    if kind == "JPEG" and channels == 4:
        raise invalid("JPEG does not support 4 channels")
    try:
        found = jpeg_pixels(picture, channels, ratio, fast, smooth) if kind == "JPEG" else None
        if found is None:
            return _pixels(picture, data, op, channels, frames, bits, ratio)
        return _shaped(found, op, bits)
    except NotImplementedError:
        raise
    except Exception:  # whatever damaged contents make of the decoders
        text = "jpeg::Uncompress failed. Invalid JPEG data or crop window."
        raise invalid(text if kind == "JPEG" else f"Invalid {kind} data, size {len(data)}") from None


def _pixels(picture: Any, data: bytes, op: str, channels: int, frames: bool, bits: int, ratio: int) -> Any:
    if picture.format in ("GIF", "WEBP") and frames:
        pages, mode = [], "RGB" if picture.format == "GIF" else picture.mode
        for i in range(picture.n_frames):
            picture.seek(i)
            pages.append(np.asarray(picture.convert(mode)))
        return np.stack(pages)
    if ratio > 1:
        picture.draft(picture.mode, (-(-picture.width // ratio), -(-picture.height // ratio)))
    if picture.format == "PNG" and data[24:25] == b"\x10" and (bits == 16 or picture.mode.startswith("I")):
        pixels = _with_channels(png16(data), channels)
        return pixels if bits == 16 else (pixels >> 8).astype(np.uint8)
    if channels and picture.mode != _MODES[channels]:
        picture = picture.convert(_MODES[channels])
    elif not channels and picture.mode not in ("L", "LA", "RGB", "RGBA"):
        has_alpha = picture.mode == "PA" or "transparency" in picture.info
        picture = picture.convert("L" if picture.mode in ("1", "I", "I;16", "F") else "RGBA" if has_alpha else "RGB")
    pixels = np.asarray(picture)
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    return _shaped(pixels, op, bits)


def _shaped(pixels: Array, op: str, bits: int) -> Array:
    """Pixels of 8 bits as an op gives them: one page of an animation, or 16 bits."""
    pixels = pixels[None] if op == "DecodeGif" else pixels
    return pixels.astype(np.uint16) * 257 if bits == 16 else pixels


def _with_channels(pixels: Array, channels: int) -> Array:
    """Pixels of 16 bits with as many channels: grey ones repeated, an alpha left out or added."""
    found = pixels.shape[2]
    if channels in (0, found):
        return pixels
    colors = pixels[..., :1] if found < 3 else pixels[..., :3]
    if channels == 1:
        grey = colors[..., :1] if found < 3 else np.rint(colors @ np.array([0.299, 0.587, 0.114]))[..., None]
        return np.asarray(grey).astype(np.uint16)
    alpha = pixels[..., -1:] if found in (2, 4) else np.full_like(pixels[..., :1], 65535)
    colors = np.broadcast_to(colors, (*colors.shape[:2], 3))
    return colors if channels == 3 else np.concatenate([colors, alpha], 2)


def decode_image(
    contents: TensorLike,
    channels: TensorLike | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF or BMP. string[] -> dtype[h, w, channels], with a first axis of an animated GIF.

    channels: 1 (grey), 3, 4 or those that the file has (0, None). expand_animations: False: the first picture alone, so
    that the rank is known. Raises: InvalidArgumentError for other bytes; ImportError without Pillow.
    Source: tf.io.decode_image.
    """
    return _decoded("DecodeImage", contents, channels, dtype, name, expand_animations)


def _decoded(
    op: str, contents: TensorLike, channels: Any, dtype: DTypeLike, name: str | None, frames: bool = False,
    **jpeg: Any,
) -> Any:  # fmt: skip
    count, wanted = whole(channels or 0, "channels", 32), as_dtype(dtype)
    if count not in (0, 1, 3, 4):
        text = f"`channels` must be 0, 1, 3 or 4 but got {count}"
        raise ValueError(text) if op == "DecodeImage" else invalid(text)
    bits = 16 if wanted == uint16 else 8
    pixels = named(
        name, decode_image_p, as_tensor(contents, string), op=op, channels=count, frames=bool(frames), bits=bits,
        **{"ratio": 1, **jpeg},
    )  # fmt: skip
    return pixels if wanted in (uint8, uint16) else convert_image_dtype(pixels, wanted)


def decode_png(
    contents: TensorLike, channels: TensorLike = 0, dtype: DTypeLike = uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG (JPEG, GIF). string[] -> dtype[h, w, channels], dtype u8 or u16. Source: tf.io.decode_png."""
    if as_dtype(dtype) not in (uint8, uint16):
        raise refused(not_allowed(as_dtype(dtype), "DecodePng.dtype", "uint8, uint16"))
    return _decoded("DecodePng", contents, channels, dtype, name)


def decode_bmp(contents: TensorLike, channels: TensorLike = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP. string[] -> u8[h, w, channels]. Source: tf.io.decode_bmp."""
    return _decoded("DecodeBmp", contents, channels, uint8, name)


def decode_jpeg(
    contents: TensorLike, channels: TensorLike = 0, ratio: TensorLike = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG (PNG, GIF), each side by `ratio` smaller. string[] -> u8[h, w, channels].

    fancy_upscaling: interpolate chroma. dct_method: "INTEGER_FAST" ("" is the same) or "INTEGER_ACCURATE", which is
    the faster one here. A file that is cut off is refused, whatever is said of it. Raises: InvalidArgumentError for
    another ratio or method, and for other bytes. Source: tf.io.decode_jpeg.
    """
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio!r}")
    given: Any = ratio
    how: dict[str, Any] = {"ratio": int(given), "fast": is_fast(dct_method), "smooth": bool(fancy_upscaling)}
    return _decoded("DecodeJpeg", contents, channels, uint8, name, **how)


def is_fast(dct_method: Any) -> bool:
    """Return whether a method's name asks for the fast transform. Raises InvalidArgumentError for another name."""
    method = word(dct_method, "dct_method")
    if method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise invalid("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    return method != "INTEGER_ACCURATE"


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """All pictures of a GIF. string[] -> u8[n, h, w, 3]. Source: tf.io.decode_gif."""
    return _decoded("DecodeGif", contents, 3, uint8, name, frames=True)


def decode_webp(
    contents: TensorLike, channels: TensorLike = 0, dtype: DTypeLike = uint8, name: str | None = None
) -> Tensor:
    """All pictures of a WebP. string[] -> u8[n, h, w, channels]: 3, or 4 with an alpha. Source: tf.io.decode_webp.

    Raises: InvalidArgumentError for other bytes, or other channels than the file's; ImportError without Pillow.
    """
    if channels not in (0, 3, 4):
        raise invalid("WebP only supports 3 or 4 channels")
    if as_dtype(dtype) != uint8:
        raise invalid(not_allowed(as_dtype(dtype), "DecodeWebP.dtype", "uint8"))
    return _decoded("DecodeWebP", contents, channels, uint8, name, frames=True)


# ---- sounds ---------------------------------------------------------------------------------------------------------


class DecodeWav(NamedTuple):
    """The results of decode_wav."""

    audio: Tensor
    sample_rate: Tensor


def _infer_wav(contents: Aval, *, channels: int, samples: int) -> tuple[Aval, Aval]:
    return Aval(float32, (None if samples < 0 else samples, None if channels < 0 else channels)), Aval(int32, ())


@custom(op="DecodeWav", infer=_infer_wav, groups=("string",), n_outputs=2, step="dynamic", reason=_REASON)
def decode_wav_p(contents: Array, *, channels: int, samples: int) -> Any:
    """The samples of a sound of 16 bits, from -1 to 1, and how many there are in a second."""
    try:
        with wave.open(io.BytesIO(np.asarray(contents).item())) as sound:
            if sound.getsampwidth() != 2:
                raise invalid(f"Can only read 16-bit WAV files, but received {8 * sound.getsampwidth()}")
            frames = sound.readframes(sound.getnframes())
            if len(frames) != sound.getnframes() * sound.getnchannels() * 2:
                raise EOFError
            found, rate = np.frombuffer(frames, "<i2").reshape(-1, sound.getnchannels()), sound.getframerate()
    except wave.Error:
        raise invalid("Header mismatch: Expected RIFF but found something else") from None
    except (EOFError, RuntimeError, ValueError, ZeroDivisionError, struct.error):
        raise invalid("Data too short when trying to read string") from None
    numbers = found.astype(np.float32) / 32768
    if channels > 0:  # missing ones repeat the last
        numbers = numbers[:, np.minimum(np.arange(channels), numbers.shape[1] - 1)]
    if samples >= 0:
        numbers = np.concatenate([numbers[:samples], np.zeros((max(0, samples - len(numbers)), numbers.shape[1]), "f")])
    return numbers.astype(np.float32), np.array(rate, np.int32)


def decode_wav(
    contents: TensorLike, desired_channels: TensorLike = -1, desired_samples: TensorLike = -1, name: str | None = None
) -> DecodeWav:
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


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """The bytes of a WAV file of 16 bits. f32[n, channels], i32[] -> string[]. Source: tf.audio.encode_wav."""
    return named(name, encode_wav_p, as_tensor(audio, float32), as_tensor(sample_rate, int32))
