"""Pictures and sounds from the bytes of their files: tf.io.decode_image and its kin, tf.audio.

Rule: Pillow, imported when it is first needed, reads pictures; sounds are read here.
"""

from __future__ import annotations

import io
import struct
import warnings
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int32, string, uint8, uint16
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.data.jpeg_pixels import jpeg_pixels, turbo_pixels
from fastgraph.data.png_pixels import png_pixels
from fastgraph.errors import NotBuiltImportError
from fastgraph.ops.arguments import as_tensor, named, not_allowed, refused, whole, word
from fastgraph.ops.families import Array, custom, invalid, shape_text
from fastgraph.ops.image_colors import convert_image_dtype
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
    return Aval({8: uint8, 16: uint16, 32: float32}[bits], several if frames else (None, None, channels or None))


_UNKNOWN = "Unknown image file format. One of JPEG, PNG, GIF, BMP required."
_NO_JPEG = "jpeg::Uncompress failed. Invalid JPEG data or crop window."
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
        text = _NO_JPEG if data.startswith(b"\xff\xd8\xff") else _UNKNOWN
        raise invalid(text if data else "Input is empty.") from None
    if picture.width * picture.height > _most_pixels(data):
        raise invalid(f"{len(data)} bytes are too few for a picture of {picture.width} x {picture.height}")
    return picture


@custom(op="DecodeImage", infer=_infer, groups=("string",), step="dynamic", reason=_REASON)
def decode_image_p(
    contents: Array, *, op: str, channels: int, frames: bool, bits: int, ratio: int, fast: bool = True,
    smooth: bool = True, recover: bool = False, enough: float = 1,
) -> Any:  # fmt: skip
    """The pixels of a picture. string[] -> u8[h, w, c], u8[n, h, w, 3] of an animation if `frames` are wanted."""
    jpeg: dict[str, Any] = {"ratio": ratio, "fast": fast, "smooth": smooth, "enough": lambda rows: enough * rows}
    return decoded_picture(contents, op, channels, frames, bits, recover, jpeg)


def decoded_picture(
    contents: Array, op: str, channels: int, frames: bool, bits: int, recover: bool, jpeg: dict[str, Any]
) -> Array:
    """Return the pixels of a picture; recover: let a JPEG that is cut off end there; jpeg: for `jpeg_pixels`."""
    if contents.ndim:
        raise invalid(f"`contents` must be scalar but got shape{shape_text(contents.shape)}")
    if channels not in (0, 1, 3, 4):
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {channels}")
    data = contents.item() + b"\xff\xd9" * recover
    if channels != 4 and op not in ("DecodeBmp", "DecodeWebP"):
        quick = turbo_pixels(data, channels, jpeg["ratio"], jpeg["fast"], jpeg["smooth"], _most_pixels(data))
        if quick is not None:
            return _shaped(quick, "JPEG", op, bits)
    picture = opened_picture(data, ("WEBP",) if op == "DecodeWebP" else ("JPEG", "PNG", "GIF", "BMP"))
    kind = picture.format
    if kind == "WEBP" and channels not in (0, len(picture.getbands())):
        raise invalid("Number of channels requested does not match input")
    if (kind == "BMP") != (op == "DecodeBmp") and op != "DecodeImage":
        right = f"decode_{kind.lower()}"
        raise invalid(f"Trying to decode {kind} format using {op} op. Use `{right}` or `decode_image` instead.")
    if kind == "BMP" and channels == 1:
        raise invalid("`channels` must be 0, 3 or 4 for BMP, but got 1")
    if kind == "GIF" and channels in (1, 4):
        raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
    if kind == "JPEG" and channels == 4:
        raise invalid("JPEG does not support 4 channels")
    try:
        found = jpeg_pixels(picture, channels, **jpeg) if kind == "JPEG" else None
        if found is None:
            found = _pixels(picture, data, channels, frames, bits, jpeg["ratio"])
            op = "" if found.ndim == 4 else op  # which are all pages
        return _shaped(found, kind, op, bits)
    except NotImplementedError:
        raise
    except Exception:  # whatever damaged contents make of the decoders
        raise invalid(_NO_JPEG if kind == "JPEG" else f"Invalid {kind} data, size {len(data)}") from None


def _pixels(picture: Any, data: bytes, channels: int, frames: bool, bits: int, ratio: int) -> Any:
    if picture.format in ("GIF", "WEBP") and frames:
        pages, mode = [], "RGB" if picture.format == "GIF" else picture.mode
        for i in range(picture.n_frames):
            picture.seek(i)
            pages.append(np.asarray(picture.convert(mode)))
        return np.stack(pages)
    if picture.format == "BMP" and data[28:30] == b"\x20\0":  # an alpha, which Pillow leaves out
        begin, (width, height) = int.from_bytes(data[10:14], "little"), picture.size
        raw = np.frombuffer(data, np.uint8, 4 * width * height, begin).reshape(height, width, 4)
        downwards = int.from_bytes(data[22:26], "little", signed=True) < 0
        return (raw if downwards else raw[::-1])[..., [2, 1, 0, 3][: channels or 4]]
    if ratio > 1:
        picture.draft(picture.mode, (-(-picture.width // ratio), -(-picture.height // ratio)))
    if picture.format == "PNG" and (exact := png_pixels(pillow(), picture, data, channels, bits)) is not None:
        return exact
    if channels and picture.mode != _MODES[channels]:
        picture = picture.convert(_MODES[channels])
    elif not channels and picture.mode not in ("L", "LA", "RGB", "RGBA"):
        has_alpha = picture.mode == "PA" or "transparency" in picture.info
        picture = picture.convert("L" if picture.mode in ("1", "I", "I;16", "F") else "RGBA" if has_alpha else "RGB")
    pixels = np.asarray(picture)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _shaped(pixels: Array, kind: str, op: str, bits: int) -> Array:
    """Pixels as an op gives them: as a page of an animation, of 16 bits, or as floats (32), of a PNG from 16 bits."""
    pixels = pixels[None] if op == "DecodeGif" else pixels
    if pixels.dtype == np.uint8 and (bits == 16 or (bits == 32 and kind == "PNG")):
        pixels = pixels.astype(np.uint16) * (257 if kind == "PNG" else 256)  # the scale that TensorFlow has for it
    return pixels * np.float32(1 / np.iinfo(pixels.dtype).max) if bits == 32 else pixels


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
    if count not in (0, 1, 3, 4) and op != "DecodeImage":  # which says so when it runs
        raise invalid(f"`channels` must be 0, 1, 3 or 4 but got {count}")
    bits = {uint8: 8, float32: 32}.get(wanted, 16)
    pixels = named(
        name, decode_image_p, as_tensor(contents, string), op=op, channels=count, frames=bool(frames), bits=bits,
        **{"ratio": 1, **jpeg},
    )  # fmt: skip
    return pixels if wanted in (uint8, uint16, float32) else convert_image_dtype(pixels, wanted)


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
    the faster one here. acceptable_fraction: of the rows, where a file is cut off: the others are black;
    try_recover_truncated: they are what libjpeg makes of them. Raises: InvalidArgumentError for another ratio or
    method, and for other bytes. Source: tf.io.decode_jpeg.
    """
    how = jpeg_options(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _decoded("DecodeJpeg", contents, channels, uint8, name, **how)


def jpeg_options(ratio: Any, fancy_upscaling: Any, try_recover: Any, acceptable_fraction: Any, method: Any) -> Any:
    """Return the attributes of a decoded JPEG. Raises InvalidArgumentError for a ratio or method that there is not."""
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio!r}")
    return {
        "ratio": int(ratio), "fast": is_fast(method), "smooth": bool(fancy_upscaling), "recover": bool(try_recover),
        "enough": float(acceptable_fraction),
    }  # fmt: skip


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
    found, rate = _samples(np.asarray(contents).item())
    numbers = found.astype(np.float32) / 32768
    if channels > 0:  # missing ones repeat the last
        numbers = numbers[:, np.minimum(np.arange(channels), numbers.shape[1] - 1)]
    if samples >= 0:
        numbers = np.concatenate([numbers[:samples], np.zeros((max(0, samples - len(numbers)), numbers.shape[1]), "f")])
    return numbers.astype(np.float32), np.array(rate, np.int32)


def _samples(data: bytes) -> tuple[Array, int]:
    """The samples i16[n, channels] and the rate of a WAV file, whose own word of its size is not asked."""
    at = 0

    def read(form: str) -> Any:
        nonlocal at
        if at + struct.calcsize(form) > len(data):
            raise invalid("Data too short when trying to read string")
        found = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return found[0] if len(found) == 1 else found

    for wanted in (b"RIFF", b"WAVE"):
        if (mark := read("<4s")) != wanted:
            raise invalid(f"Header mismatch: Expected {wanted.decode()} but found {mark.decode(errors='replace')}")
        at += 4 if wanted == b"RIFF" else 0
    if (mark := read("<4s")) != b"fmt ":
        raise invalid(f"Unexpected field {mark.decode(errors='replace')}")
    if (size := read("<I")) not in (16, 18):
        raise invalid(f"Bad format chunk size for WAV: Expected 16 or 18, but got {size}")
    kind, channels, rate, per_second, per_sample, bits = read("<HHIIHH")
    at += size - 16
    if kind != 1:
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if not channels:
        raise invalid("Bad number of channels for WAV: Expected at least 1, but got 0")
    if bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {bits}")
    for what, given, right in (("sample", per_sample, 2 * channels), ("second", per_second, 2 * channels * rate)):
        if given != right:
            raise invalid(f"Bad bytes per {what} in WAV header: Expected {right} but got {given}")
    found = None
    while at < len(data):
        mark, size = read("<4sI")
        if mark != b"data":
            at += size
            continue
        if found is not None:
            raise invalid("More than one data chunk found in WAV")
        n = size // per_sample
        found = np.frombuffer(read(f"<{n * per_sample}s"), "<i2").reshape(n, channels)
    if found is None:
        raise invalid("No data chunk found in WAV")
    return found, rate


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
