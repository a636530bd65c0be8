"""Pictures and sounds as the bytes of files, both ways."""

from __future__ import annotations

import contextlib
import io
import struct
import wave
import zlib
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors
from fastgraph.data import jpeg_pixels

PIXELS = (np.arange(4 * 6 * 4) * 37 % 256).reshape(4, 6, 4).astype(np.uint8)
DEEP = (np.arange(5 * 7 * 4) * 911 % 65536).reshape(5, 7, 4).astype(np.uint16)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("filters", [[2] * 5, [0, 1, 2, 3, 4]])
def test_pngs_of_16_bits(channels: int, filters: list[int]) -> None:
    pytest.importorskip("PIL")
    pixels = DEEP[..., :channels]
    content = tf.io.encode_png(pixels).numpy() if filters[1] == 2 else _filtered(pixels, filters)
    np.testing.assert_array_equal(tf.io.decode_png(content, dtype=tf.uint16), pixels)
    np.testing.assert_array_equal(tf.io.decode_png(content), pixels >> 8)
    with pytest.raises(errors.InvalidArgumentError):
        tf.io.decode_png(content[:60], dtype=tf.uint16)


def _filtered(pixels: np.ndarray, filters: list[int]) -> bytes:
    """A PNG whose rows have these filters, written element by element as its specification says."""
    height, width, channels = pixels.shape
    rows, step = pixels.astype(">u2").view(np.uint8).reshape(height, -1).astype(int), 2 * channels
    body = b""
    for y, kind in enumerate(filters):
        line = []
        for i, value in enumerate(rows[y]):
            a = rows[y, i - step] if i >= step else 0
            b = rows[y - 1, i] if y else 0
            c = rows[y - 1, i - step] if y and i >= step else 0
            p = a + b - c
            paeth = a if abs(p - a) <= min(abs(p - b), abs(p - c)) else b if abs(p - b) <= abs(p - c) else c
            line.append((value - [0, a, b, (a + b) // 2, paeth][kind]) % 256)
        body += bytes([kind, *line])
    head = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return _png((b"IHDR", head), (b"IDAT", zlib.compress(body)), (b"IEND", b""))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join([_chunk(*chunk) for chunk in chunks])


def test_pngs_are_encoded_without_loss() -> None:
    image = pytest.importorskip("PIL.Image")
    for channels in (1, 2, 3, 4):
        content = tf.io.encode_png(PIXELS[..., :channels]).numpy()
        np.testing.assert_array_equal(
            np.asarray(image.open(io.BytesIO(content))).reshape(4, 6, channels), PIXELS[..., :channels]
        )
        np.testing.assert_array_equal(tf.io.decode_png(content), PIXELS[..., :channels])
    deep = tf.io.encode_png(DEEP[..., :3])
    np.testing.assert_array_equal(tf.io.decode_png(deep, dtype=tf.uint16), DEEP[..., :3])
    np.testing.assert_array_equal(tf.io.decode_png(deep), DEEP[..., :3] >> 8)
    eight = tf.io.decode_png(tf.io.encode_png(PIXELS[..., :3]), dtype=tf.uint16)
    np.testing.assert_array_equal(eight, PIXELS[..., :3].astype(np.uint16) * 257)
    batch = tf.function(tf.io.encode_png)(np.stack([PIXELS, PIXELS]))
    assert batch.shape == (2,) and batch.numpy()[1] == tf.io.encode_png(PIXELS).numpy()
    for wrong in (PIXELS[..., 0], np.zeros((2, 2, 5), "u1"), PIXELS.astype("f"), np.zeros((0, 2, 3), "u1")):
        with pytest.raises(errors.InvalidArgumentError):
            tf.io.encode_png(wrong)
    with pytest.raises(errors.InvalidArgumentError, match=r"compression should be in \[-1,9\], got 10"):
        tf.io.encode_png(PIXELS, compression=10)


# A picture as it is behind a JPEG, by TensorFlow 2.21: sums of pixels times their numbers, and the first ones.
BEHIND_A_JPEG = [
    ((17, 33, 3), 75, {}, 178881351, [0, 51, 79, 0, 44, 81]),
    ((17, 33, 3), 100, {}, 178907922, [0, 31, 70, 11, 50, 91]),
    ((9, 4, 3), 50, {}, 721906, [27, 19, 76, 55, 47, 104]),
    ((9, 4, 3), 50, {"fancy_upscaling": False}, 721906, [27, 19, 76, 55, 47, 104]),
    ((17, 33, 1), 95, {}, 19871176, [0, 0, 6, 15, 22, 31]),
    ((17, 33, 3), 95, {"channels": 1}, 20118149, [29, 36, 42, 51, 59, 69]),
    ((17, 33, 3), 75, {"ratio": 2}, 13278190, [0, 57, 85, 57, 51, 121]),
    ((17, 33, 3), 75, {"ratio": 8}, 121840, [108, 129, 134, 133, 156, 140]),
    ((17, 33, 3), 75, {"fancy_upscaling": False}, 178954650, [0, 51, 79, 0, 50, 78]),
    ((17, 33, 3), 100, {"dct_method": "INTEGER_ACCURATE"}, 180105851, [1, 40, 81, 8, 47, 88]),
]


@pytest.mark.parametrize("decoder", ["PIL.Image", "simplejpeg"])
@pytest.mark.parametrize(("shape", "quality", "how", "total", "first"), BEHIND_A_JPEG)
def test_jpegs_have_the_pixels_that_tensorflow_decodes(
    shape: Any, quality: int, how: Any, total: int, first: Any, decoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL.Image")
    module = pytest.importorskip(decoder)
    monkeypatch.setattr(jpeg_pixels, "_turbo", lambda: module if decoder == "simplejpeg" else None)
    content = tf.io.encode_jpeg(_waves(shape), quality=quality)
    pixels = tf.io.decode_jpeg(content, **how).numpy().ravel().astype(np.int64)
    assert (int(pixels @ np.arange(1, pixels.size + 1)), pixels[:6].tolist()) == (total, first)
    if not how:
        np.testing.assert_array_equal(tf.image.adjust_jpeg_quality(_waves(shape), quality), tf.io.decode_jpeg(content))


def _waves(shape: tuple[int, int, int]) -> Any:
    y, x, c = np.indices(shape)
    return ((y * y * 3 + x * 7 + c * 40 + (x * y) % 11 * 9) % 256).astype(np.uint8)


@pytest.mark.parametrize("decoder", ["PIL.Image", "simplejpeg"])
def test_jpegs_that_are_cut_off_small_or_of_four_inks(decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, images = pytest.importorskip(decoder), pytest.importorskip("PIL.Image")
    monkeypatch.setattr(jpeg_pixels, "_turbo", lambda: module if decoder == "simplejpeg" else None)
    content = tf.io.encode_jpeg(_waves((50, 33, 3))).numpy()
    whole, cut = tf.io.decode_jpeg(content).numpy(), content[: len(content) * 9 // 10]
    for options in ({}, {"acceptable_fraction": 0.9}):
        with pytest.raises(errors.InvalidArgumentError, match="Invalid JPEG data"):
            tf.io.decode_jpeg(cut, **options)
    found = tf.io.decode_jpeg(cut, acceptable_fraction=0.2).numpy()
    rows = int((found == whole).all((1, 2)).sum())
    assert (
        found.shape == whole.shape
        and 10 < rows < 50
        and (found[:rows] == whole[:rows]).all()
        and not found[rows:].any()
    )
    recovered = tf.io.decode_jpeg(cut, try_recover_truncated=True).numpy()
    assert (recovered[:rows] == whole[:rows]).all() and recovered[rows:].any()
    np.testing.assert_array_equal(tf.io.decode_and_crop_jpeg(cut, [2, 0, 9, 33]), whole[2:11])
    with pytest.raises(errors.InvalidArgumentError, match="Invalid JPEG data"):
        tf.io.decode_and_crop_jpeg(cut, [40, 0, 9, 33])
    half = tf.io.decode_jpeg(content, ratio=2).numpy()
    np.testing.assert_array_equal(tf.io.decode_and_crop_jpeg(content, [3, 4, 5, 6], ratio=2), half[3:8, 4:10])
    small = tf.io.encode_jpeg(_waves((3, 5, 3)))
    assert [tuple(tf.io.decode_jpeg(small, ratio=ratio).shape) for ratio in (4, 8)] == [(1, 2, 3), (1, 1, 3)]
    inks, file = np.concatenate([_waves((40, 24, 3)), _waves((40, 24, 1))], 2), io.BytesIO()
    images.fromarray(inks, "CMYK").save(file, "JPEG", quality=100)
    light = 255 - np.array(images.open(io.BytesIO(file.getvalue()))).astype(int)
    decoded = tf.io.decode_jpeg(file.getvalue(), dct_method="INTEGER_ACCURATE")
    np.testing.assert_array_equal(decoded, light[..., :3] * light[..., 3:] // 255)
    assert tf.io.decode_jpeg(file.getvalue(), ratio=4).shape == (10, 6, 3)
    for wrong in (lambda: tf.io.decode_jpeg(file.getvalue(), 1), lambda: tf.io.extract_jpeg_shape([content])):
        with pytest.raises(errors.InvalidArgumentError):
            wrong()


def test_jpegs() -> None:
    pytest.importorskip("PIL.Image")
    smooth = np.add.outer(np.arange(64), np.arange(48)).astype(np.uint8)[..., None].repeat(3, 2)
    content = tf.io.encode_jpeg(smooth).numpy()
    pixels = tf.io.decode_jpeg(content)
    assert np.abs(pixels.numpy().astype(int) - smooth).max() <= 3 and tf.io.is_jpeg(content) and not tf.io.is_jpeg(b"")
    assert tf.io.extract_jpeg_shape(content).numpy().tolist() == [64, 48, 3]
    assert tf.io.extract_jpeg_shape(tf.io.encode_jpeg(smooth[..., :1]), tf.int64).numpy().tolist() == [64, 48, 1]
    np.testing.assert_array_equal(tf.io.decode_and_crop_jpeg(content, [1, 2, 30, 40]), pixels[1:31, 2:42])
    assert [tf.io.decode_jpeg(content, ratio=ratio).shape[:2] for ratio in (2, 8)] == [[32, 24], [8, 6]]
    assert len(tf.io.encode_jpeg(smooth, quality=10).numpy()) < len(content)
    for wrong in (
        lambda: tf.io.encode_jpeg(smooth[..., :2]), lambda: tf.io.encode_jpeg(smooth, quality=101),
        lambda: tf.io.encode_jpeg(smooth[..., :1], format="rgb"), lambda: tf.io.encode_jpeg(smooth, format="x"),
        lambda: tf.io.decode_jpeg(content, ratio=3), lambda: tf.io.decode_jpeg(content, channels=4),
        lambda: tf.io.decode_and_crop_jpeg(content, [1, 2, 64, 4]), lambda: tf.io.extract_jpeg_shape(b"xx"),
        lambda: tf.io.decode_bmp(content), lambda: tf.io.decode_png([content, content]), lambda: tf.io.decode_png(b"xx"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidArgumentError):
            wrong()
    assert tf.io.decode_gif(tf.io.encode_png(PIXELS)).shape == [1, 4, 6, 3]


def test_damaged_pictures_end_in_an_error_or_in_other_pixels(rng: np.random.Generator) -> None:
    image = pytest.importorskip("PIL.Image")
    files = [tf.io.encode_png(PIXELS).numpy(), tf.io.encode_png(DEEP).numpy()]
    for kind in ("JPEG", "GIF", "BMP"):
        written = io.BytesIO()
        image.fromarray(PIXELS[..., :3]).save(written, kind)
        files.append(written.getvalue())
    refused = 0
    for i in range(600):
        damaged = bytearray(files[i % len(files)])
        for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        if rng.random() < 0.3:
            del damaged[rng.integers(0, len(damaged)) :]
        try:
            tf.io.decode_image(bytes(damaged), dtype=tf.uint16 if i % 2 else tf.uint8)
        except (errors.InvalidArgumentError, NotImplementedError):
            refused += 1
    assert refused > 200
    large = bytearray(files[0])
    large[16:24] = struct.pack(">II", 12000, 12000)
    large[29:33] = struct.pack(">I", zlib.crc32(large[12:29]))
    with pytest.raises(errors.InvalidArgumentError, match="too few for a picture of 12000 x 12000"):
        tf.io.decode_png(bytes(large))


def test_sounds(rng: np.random.Generator) -> None:
    samples = np.array([[0, 0.5], [1, -1], [2, -2], [0.3, -0.3]], np.float32)
    written = tf.audio.encode_wav(samples, 8000).numpy()
    assert written == bytes.fromhex(  # as TensorFlow 2.21 writes it
        "524946463400000057415645666d74201000000001000200401f0000007d000004001000646174611000000000000040ff7f0080ff7f0080"
        "66269ad9"
    )
    decoded = tf.audio.decode_wav(written)
    np.testing.assert_array_equal(
        decoded.audio, np.array([[0, 16384], [32767, -32768], [32767, -32768], [9830, -9830]]) / 32768
    )
    eight = io.BytesIO()
    with wave.open(eight, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8)
        sound.writeframes(b"abc")
    with pytest.raises(errors.InvalidArgumentError, match="Can only read 16-bit WAV files, but received 8"):
        tf.audio.decode_wav(eight.getvalue())
    for content in (b"xx", written[:-3], written[:30]):
        with pytest.raises(errors.InvalidArgumentError, match="Data too short when trying to read string"):
            tf.audio.decode_wav(content)
    with pytest.raises(errors.InvalidArgumentError, match="sample_rate must be"):
        tf.audio.encode_wav(samples, 0)
    for _ in range(300):
        damaged = bytearray(written)
        damaged[rng.integers(0, 44)] = rng.integers(0, 256)
        with contextlib.suppress(errors.InvalidArgumentError):
            tf.audio.decode_wav(bytes(damaged))


def _file(pixels: Any, kind: str) -> bytes:
    written = io.BytesIO()
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.array(pixels, np.uint8)).save(written, kind)
    return written.getvalue()


@pytest.mark.parametrize(("kind", "dtype", "pixels"), [
    ("PNG", "uint16", [2570, 51400]), ("PNG", "int16", [1285, 25700]), ("PNG", "int32", [84213760, 1684275200]),
    ("PNG", "float64", [2570 / 65535, 51400 / 65535]), ("PNG", "float32", [10 / 255, 200 / 255]),
    ("BMP", "uint16", [2560, 51200]), ("BMP", "float64", [2560 / 65535, 51200 / 65535]),
    ("BMP", "float32", [10 / 255, 200 / 255]), ("BMP", "int8", [5, 100]), ("GIF", "uint16", [2560, 51200]),
    ("GIF", "float64", [2560 / 65535, 51200 / 65535]), ("GIF", "uint8", [10, 200]),
])  # fmt: skip
def test_scales_of_pictures(kind: str, dtype: str, pixels: list[float]) -> None:
    found = tf.io.decode_image(_file([[10, 200]], kind), dtype=getattr(tf, dtype))
    assert found.dtype.name == dtype
    np.testing.assert_allclose(found.numpy()[..., 0].reshape(-1), pixels, rtol=1e-6)


def test_png_of_16_bits_as_floats_keeps_them() -> None:
    content = tf.io.encode_png(np.array([[[10], [65535]]], np.uint16))
    np.testing.assert_allclose(tf.io.decode_image(content, dtype=tf.float32).numpy().ravel(), [10 / 65535, 1], 1e-6)
    assert tf.io.decode_image(content, dtype=tf.int16).numpy().ravel().tolist() == [5, 32767]


def test_grey_of_coloured_pngs_and_heads_of_jpegs() -> None:
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]], np.uint8)
    for pixels in (colours, np.concatenate([colours, colours[..., :1]], -1)):
        grey = tf.io.decode_png(tf.io.encode_png(pixels), channels=1)
        assert grey[0, :, 0].numpy().tolist() == [76, 149, 29, 9]  # libpng's, cut off where Pillow rounds
    wide = tf.io.encode_png(colours.astype(np.uint16) * 257)
    assert tf.io.decode_png(wide, 1, tf.uint16)[0, :, 0].numpy().tolist() == [19594, 38467, 7474, 9 * 257]
    head = tf.io.encode_jpeg(np.zeros([5, 7, 3], np.uint8)).numpy()
    assert tf.io.extract_jpeg_shape(head).numpy().tolist() == [5, 7, 3]
    with pytest.raises(errors.InvalidArgumentError, match="Invalid JPEG data"):
        tf.io.extract_jpeg_shape(head[: head.index(b"\xff\xda")])  # no scan begins


def test_channels_of_bmps_and_gifs() -> None:
    pixels = [[[10, 200, 3, 4], [5, 6, 7, 8]], [[1, 2, 3, 0], [9, 9, 9, 9]]]
    bmp, gif = _file(pixels, "BMP"), _file([[10, 200]], "GIF")
    assert tf.io.decode_bmp(bmp).numpy().tolist() == pixels
    assert tf.io.decode_image(bmp, channels=3).numpy().tolist() == np.array(pixels)[..., :3].tolist()
    for content, channels in ((bmp, 1), (gif, 1), (gif, 4), (bmp, 2)):
        with pytest.raises(errors.InvalidArgumentError, match="channels"):
            tf.io.decode_image(content, channels=channels)
    with pytest.raises(errors.InvalidArgumentError):
        tf.io.decode_bmp(bmp[:-3])
    with pytest.raises(errors.InvalidArgumentError, match="density_unit"):
        tf.io.encode_jpeg(np.zeros((2, 2, 3), np.uint8), density_unit="q")


def test_heads_of_sounds() -> None:
    data = tf.audio.encode_wav(np.zeros((3, 1), np.float32), 8000).numpy()
    extra = b"LIST\x04\0\0\0abcd"
    longer = data[:16] + b"\x12\0\0\0" + data[20:36] + b"\0\0" + data[36:]
    for good in (data[:4] + b"\0" * 4 + data[8:], data[:36] + extra + data[36:], data + extra, longer):
        assert tf.audio.decode_wav(good).audio.shape == (3, 1)
    for bad, text in {
        data[:20] + b"\3\0" + data[22:]: "Bad audio format",
        data[:12] + data[36:]: "Unexpected field data",
        data[:36]: "No data chunk",
        data + data[36:]: "More than one data chunk",
        data[:22] + b"\0\0" + data[24:]: "Bad number of channels",
        data[:28] + b"\0" * 4 + data[32:]: "Bad bytes per second",
        data[:40] + b"\xff" * 4 + data[44:]: "Data too short",
    }.items():
        with pytest.raises(errors.InvalidArgumentError, match=text):
            tf.audio.decode_wav(bad)


def _with_chunks(pixels: Any, *chunks: tuple[bytes, bytes]) -> bytes:
    whole = tf.io.encode_png(np.asarray(pixels)).numpy()
    return bytes(whole[:33] + b"".join([_chunk(*chunk) for chunk in chunks]) + whole[33:])


_SRGB, _GAMA = (b"sRGB", b"\0"), (b"gAMA", struct.pack(">I", 30000))
_SBIT = (b"sBIT", b"\5\6\5")


@pytest.mark.parametrize(
    ("chunks", "eight", "sixteen", "narrowed"),  # as TensorFlow has them
    [
        ([_SRGB], [147, 200, 95, 101], [37856, 51440, 24427, 25613], [147, 200, 95, 100]),
        ([_GAMA], [177, 217, 133, 107], [45621, 55854, 34166, 27090], [178, 218, 133, 105]),
        ([_GAMA, _SRGB], [147, 200, 95, 101], [37856, 51440, 24427, 25613], [147, 200, 95, 100]),
        ([_SRGB, _SBIT], [147, 200, 95, 101], [37801, 51490, 24396, 25512], [147, 201, 95, 99]),
        ([(b"gAMA", struct.pack(">I", 100_000))], [76, 149, 29, 84], [19594, 38467, 7474, 21802], [76, 150, 29, 85]),
    ],
)
def test_greys_in_linear_light(chunks: list[Any], eight: list[int], sixteen: list[int], narrowed: list[int]) -> None:
    pytest.importorskip("PIL")
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 120, 100]]], np.uint8)
    narrow, wide = _with_chunks(colours, *chunks), _with_chunks(colours.astype(np.uint16) * 257, *chunks)
    for content, dtype, greys in ((narrow, "uint8", eight), (wide, "uint16", sixteen), (wide, "uint8", narrowed)):
        assert tf.io.decode_png(content, 1, dtype).numpy().ravel().tolist() == greys


def test_greys_and_colours_that_are_clear() -> None:
    pytest.importorskip("PIL")
    deep = np.array([[[1, 2, 3], [1, 2, 4]]], np.uint16) * 256
    assert tf.io.decode_png(_with_chunks(deep[..., :2])).numpy().tolist() == [[[1, 2], [1, 2]]]
    plain = np.full((1, 1, 3), 0x10F0, np.uint16)  # rounded to 8 bits where a gamma is known
    assert [tf.io.decode_png(_with_chunks(plain, *chunks), 1).numpy().item() for chunks in ([], [_GAMA])] == [16, 17]
    clear = _with_chunks(deep, (b"tRNS", deep[0, 1].astype(">u2").tobytes()))
    assert tf.io.decode_png(clear, 4)[..., 3].numpy().tolist() == [[255, 0]]
    assert tf.io.decode_png(clear, 4, tf.uint16)[..., 3].numpy().tolist() == [[65535, 0]]
    for depth, row in ((1, 0b01_000000), (2, 0b00_01_0000)):
        head = struct.pack(">IIBBBBB", 2, 1, depth, 0, 0, 0, 0)
        rows = (b"IDAT", zlib.compress(bytes([0, row])))
        content = _png((b"IHDR", head), (b"tRNS", b"\0\1"), rows, (b"IEND", b""))
        white = 255 // ((1 << depth) - 1)
        pixels = tf.io.decode_png(content, 4).numpy()
        assert pixels.tolist() == [[[0, 0, 0, 255], [white, white, white, 0]]]


def test_interlaced_pngs_of_16_bits() -> None:
    pytest.importorskip("PIL")
    body = b"\0\0\1" + b"\0\0\2" + b"\0\0\3\1\0"  # 2 x 2: parts 1, 6 and 7
    head = (b"IHDR", struct.pack(">IIBBBBB", 2, 2, 16, 0, 0, 0, 1))
    whole, cut = (_png(head, (b"IDAT", zlib.compress(part)), (b"IEND", b"")) for part in (body, body[:-4]))
    assert tf.io.decode_png(whole, dtype=tf.uint16).numpy()[..., 0].tolist() == [[1, 2], [3, 256]]
    with pytest.raises(errors.InvalidArgumentError):
        tf.io.decode_png(cut, dtype=tf.uint16)
