"""Pictures as the bytes of files: tf.io.encode_png, encode_jpeg, and what is asked of a JPEG without all of its pixels.

Rule: PNGs are written here (png_files.py), JPEGs by Pillow.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, bool_, int32, int64, string, uint8, uint16
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.data.jpeg_pixels import jpeg_pixels
from fastgraph.data.media_decoding import decoded_picture, is_fast, jpeg_options, opened_picture, pillow
from fastgraph.ops.arguments import as_tensor, named, not_allowed, refused, whole, word
from fastgraph.ops.families import Array, body_of, custom, invalid, shape_text
from fastgraph.ops.image_colors import convert_image_dtype
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.random_ops import uniform
from fastgraph.ops.random_states import refuse_deferred
from fastgraph.ops.stateless_random import stateless_uniform
from fastgraph.records.png_files import png

_REASON = "the bytes of a file lie in Python objects, which kernels do not see"


def _infer_png(image: Aval, *, compression: int) -> Aval:
    return Aval(string, None if image.shape is None else image.shape[:-3])


@custom(op="EncodePng", infer=_infer_png, groups=("T",), dtypes="uint8 uint16", reason=_REASON)
def encode_png_p(image: Array, *, compression: int) -> Any:
    """Pictures as PNG files. t[*s, h, w, c] -> string[*s]."""
    if image.ndim < 3:
        raise invalid(f"images must be at least rank 3{shape_text(image.shape)}")
    channels = image.shape[-1]
    if not 1 <= channels <= 4:
        raise invalid(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    found = np.empty(image.shape[:-3], object)
    if found.size and not image.size:
        raise invalid(f"a picture has pixels, got shape {shape_text(image.shape)}")
    pictures = image.reshape(-1, *image.shape[-3:])
    flat = found.reshape(-1)
    for i in range(flat.size):
        flat[i] = png(pictures[i], compression)
    return found


def encode_png(image: TensorLike, compression: TensorLike = -1, name: str | None = None) -> Tensor:
    """Pictures as PNG files, without loss. u8 or u16 [*s, h, w, 1 to 4 channels] -> string[*s].

    compression: zlib's, from 0 to 9, -1: as it chooses. Raises: InvalidArgumentError for other shapes, dtypes and
    compressions. Source: tf.io.encode_png.
    """
    level = whole(compression, "compression")
    if not -1 <= level <= 9:
        raise invalid(f"compression should be in [-1,9], got {level}")
    given = as_tensor(image) if isinstance(image, np.ndarray) else as_tensor(image, uint8)
    if given.dtype not in (uint8, uint16):
        raise refused(not_allowed(given.dtype, "EncodePng.T", "uint8, uint16"))
    return named(name, encode_png_p, given, compression=level)


@custom(op="EncodeJpeg", infer=lambda image, **attrs: Aval(string, ()), groups=("uint8",), reason=_REASON)
def encode_jpeg_p(image: Array, *, kind: str, quality: int, progressive: bool, small: bool, sampled: bool) -> Any:
    """A picture as a JPEG file. u8[h, w, 1 or 3] -> string[]."""
    if image.ndim != 3:
        raise invalid(f"image must be 3-dimensional{shape_text(image.shape)}")
    channels = image.shape[2]
    if channels not in (1, 3):
        raise invalid(f"image must have 1 or 3 channels, got {shape_text(image.shape)}")
    if kind and {"grayscale": 1, "rgb": 3}[kind] != channels:
        raise invalid(f"format {kind} expects {4 - channels} channels, got {shape_text(image.shape)}")
    written = io.BytesIO()
    picture = pillow().fromarray(np.ascontiguousarray(image[..., 0] if channels == 1 else image))
    picture.save(
        written, "JPEG", quality=quality, progressive=progressive, optimize=small, subsampling=2 if sampled else 0
    )
    found = np.empty((), object)
    found[()] = written.getvalue()
    return found


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: TensorLike = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: TensorLike = 300,
    y_density: TensorLike = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A picture as a JPEG file. u8[h, w, 1 or 3] -> string[].

    quality: from 0 to 100. The densities and xmp_metadata are not written. Raises: InvalidArgumentError for other
    shapes and qualities; ImportError without Pillow. Source: tf.io.encode_jpeg.
    """
    kind, level = word(format, "format"), whole(quality, "quality")
    if kind not in ("", "grayscale", "rgb"):
        allowed = '"", "grayscale", "rgb"'
        raise invalid(f"Value for attr 'format' of \"{kind}\" is not in the list of allowed values: {allowed}")
    if (unit := word(density_unit, "density_unit")) not in ("in", "cm"):
        raise invalid(f'Value for attr \'density_unit\' of "{unit}" is not in the list of allowed values: "in", "cm"')
    if not 0 <= level <= 100:
        raise invalid(f"quality must be in [0,100], got {level}")
    return named(
        name, encode_jpeg_p, as_tensor(image, uint8), kind=kind, quality=level, progressive=bool(progressive),
        small=bool(optimize_size), sampled=bool(chroma_downsampling),
    )  # fmt: skip


@custom(op="IsJpeg", infer=lambda contents: Aval(bool_, contents.shape), groups=("string",), reason=_REASON)
def is_jpeg_p(contents: Array) -> Any:
    """True where bytes begin as a JPEG file does."""
    return np.array([data[:3] == b"\xff\xd8\xff" for data in contents.reshape(-1)], bool).reshape(contents.shape)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """True where bytes begin as a JPEG file does. string[*s] -> bool[*s]. Source: tf.io.is_jpeg."""
    return named(name, is_jpeg_p, contents)


@custom(op="ExtractJpegShape", infer=lambda contents, *, wide: Aval(int64 if wide else int32, (3,)), groups=("string",),
        reason=_REASON)  # fmt: skip
def extract_jpeg_shape_p(contents: Array, *, wide: bool) -> Any:
    """The height, width and channels of a JPEG file."""
    if contents.ndim:
        raise invalid(f"contents must be scalar, got shape {shape_text(contents.shape)}")
    data = contents.item()
    if data[:3] != b"\xff\xd8\xff" or b"\xff\xda" not in data:  # the head ends where the scan begins
        raise invalid(f"Invalid JPEG data, size {len(data)}")
    picture = opened_picture(data)
    sizes = [picture.height, picture.width, len(picture.getbands())]
    return np.array(sizes, np.int64 if wide else np.int32)


def extract_jpeg_shape(contents: TensorLike, output_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """The height, width and channels of a JPEG file, whose pixels are not read. string[] -> i32[3] or i64[3].

    Raises: InvalidArgumentError for other bytes; ImportError without Pillow. Source: tf.io.extract_jpeg_shape.
    """
    wide = as_dtype(output_type) == int64
    return named(name, extract_jpeg_shape_p, as_tensor(contents, string), wide=wide)


def _infer_crop(contents: Aval, crop_window: Aval, *, channels: int, **jpeg: Any) -> Aval:
    *_, height, width = shape_of_value(crop_window) or (None,) * 4
    return Aval(uint8, (height, width, channels or None))


@custom(op="DecodeAndCropJpeg", infer=_infer_crop, groups=("string", "int32"), step="dynamic", reason=_REASON)
def decode_and_crop_jpeg_p(
    contents: Array, crop_window: Array, *, channels: int, ratio: int, fast: bool, smooth: bool, recover: bool,
    enough: float,
) -> Any:  # fmt: skip
    """A part of a JPEG: string[], i32[4] (y, x, height, width) -> u8[height, width, channels]."""
    y, x, height, width = map(int, crop_window)
    jpeg = {"ratio": ratio, "fast": fast, "smooth": smooth, "enough": lambda rows: y + enough * height}
    whole_picture = decoded_picture(contents, "DecodeJpeg", channels, False, 8, recover, jpeg)
    rows, columns = whole_picture.shape[:2]
    if not (0 <= y < y + height <= rows and 0 <= x < x + width <= columns):
        raise invalid("jpeg::Uncompress failed. Invalid JPEG data or crop window.")
    return np.ascontiguousarray(whole_picture[y : y + height, x : x + width])


def decode_and_crop_jpeg(
    contents: TensorLike, crop_window: TensorLike, channels: TensorLike = 0, ratio: TensorLike = 1,
    fancy_upscaling: bool = True, try_recover_truncated: bool = False, acceptable_fraction: float = 1,
    dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """A part of a JPEG: string[], i32[4] (y, x, height, width) -> u8[height, width, channels].

    Options as for decode_jpeg. Raises: InvalidArgumentError for a part that is not within, another ratio or method, and
    for other bytes. Source: tf.io.decode_and_crop_jpeg.
    """
    count = whole(channels, "channels", 32)
    if count not in (0, 1, 3):
        raise invalid(f"`channels` must be 0, 1 or 3 but got {count}")
    return named(
        name, decode_and_crop_jpeg_p, as_tensor(contents, string), as_tensor(crop_window, int32), channels=count,
        **jpeg_options(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method),
    )  # fmt: skip


def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """A picture as it is after a JPEG file of a quality. t[h, w, 1 or 3] -> t[h, w, 1 or 3].

    Raises: InvalidArgumentError for a quality that is not from 0 to 100, and for a `dct_method` that `decode_jpeg`
    does not know; ImportError without Pillow.
    Source: tf.image.adjust_jpeg_quality.
    """
    x, quality, fast = as_tensor(image), as_tensor(jpeg_quality, int32), is_fast(dct_method)
    pixels = convert_image_dtype(x, uint8, saturate=True)

    def through(picture: Any, quality: Any) -> list[Any]:
        if not 0 <= quality <= 100:
            raise invalid(f"quality must be in [0,100], got {quality}")
        encode: Any = encode_jpeg_p
        options = {"kind": "", "quality": int(quality), "progressive": False, "small": False, "sampled": True}
        written = opened_picture(body_of(encode)(picture, **options).item())
        return [jpeg_pixels(written, picture.shape[2], fast=fast)]

    return convert_image_dtype(host_call(through, [pixels, quality], (uint8, pixels.shape))[0], x.dtype, saturate=True)


def _quality(low: Any, high: Any, draw: Callable[[Any, Any], Any]) -> Any:
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return draw(low, high)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` by a random quality below the greatest. Source: tf.image.random_jpeg_quality."""
    refuse_deferred(image)
    quality = _quality(min_jpeg_quality, max_jpeg_quality, lambda a, b: uniform([], a, b, int32, seed))
    return adjust_jpeg_quality(image, quality)


def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: TensorLike
) -> Tensor:
    """`random_jpeg_quality`, the same for the same seed i[2]. Source: tf.image.stateless_random_jpeg_quality."""
    quality = _quality(min_jpeg_quality, max_jpeg_quality, lambda a, b: stateless_uniform([], seed, a, b, int32))
    return adjust_jpeg_quality(image, quality)
