"""Signals cut into frames: window functions, frame, overlap_and_add, stft, mdct and their inverses, mel scales.

Rule: all of it is written in other ops, so that it has gradients and kernels; only the transforms are host steps.
Source of the definitions: Allen and Rabiner 1977 (stft), Princen, Johnson and Bradley 1987 (mdct), O'Shaughnessy
1987 (mel).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import ResourceExhaustedError
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import are_known, as_tensor, known_value, real, static_int, tensor_of, whole
from fastgraph.ops.bessel import bessel_i0
from fastgraph.ops.cosine_transforms import dct
from fastgraph.ops.creation import ones, range_
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, maximum, minimum, square
from fastgraph.ops.exponentials import cos, sin, sqrt
from fastgraph.ops.families import canonical_axis, invalid, public
from fastgraph.ops.fourier import irfft, rfft
from fastgraph.ops.gathering import dim, gather, where
from fastgraph.ops.joining import concat, split
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims, reshape, shape, squeeze_p, transpose_p
from fastgraph.ops.padding import pad, reverse
from fastgraph.ops.reduction import reduce_min, reduce_sum
from fastgraph.ops.runtime_checks import checked, narrow
from fastgraph.ops.scans import cumsum
from fastgraph.ops.tiling import tile

# ---- window functions -----------------------------------------------------------------------------------------------


def _length(window_length: TensorLike, dtype: DTypeLike) -> tuple[Any, Any]:
    """The length as an int, or a scalar tensor, and the dtype. Raises: ValueError for other dtypes and ranks."""
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind!r}")
    tensor = as_tensor(window_length)
    if tensor.shape.rank not in (0, None):
        raise ValueError(f"Shape {tensor.shape} must have rank 0")
    if not tensor.dtype.is_integer:
        raise TypeError(f"Cannot convert {window_length!s} to EagerTensor of dtype int32")
    known = static_int(tensor)
    return (checked(tensor, 0, 2**63 - 1, "window_length must not be negative: {}") if known is None else known), kind


def _places(count: Tensor | int, kind: DType) -> tuple[Any, Any]:
    """0, 1, ... count - 1, and the dtype in which to compute with them: 16-bit floats round once, at the end."""
    wide = kind if kind.name == "float64" else float32
    return cast(range_(count), wide), wide


def _raised_cosine(length: TensorLike, periodic: TensorLike, dtype: DTypeLike, middle: float, name: str | None) -> Any:
    count, kind = _length(length, dtype)
    if count == 1 if isinstance(count, int) else False:
        return ones([1], kind)
    # A periodic window of even length is the symmetric one of one element more, without the last.
    period = count + (1 - count % 2 if periodic else 0) - 1
    k, wide = _places(count, kind)
    turns = k / cast(maximum(as_tensor(period), 1), wide)
    value = middle - (1 - middle) * cos((2 * math.pi) * turns)
    if not isinstance(count, int):
        value = maximum(value, cast(as_tensor(count < 2), wide))
    return cast(value, kind, name=name)


@public("signal.hann_window")
def hann_window(
    window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """One period of a cosine between 0 and 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.hann_window.
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5, name)


@public("signal.hamming_window")
def hamming_window(
    window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """One period of a cosine between 0.08 and 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.hamming_window.
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54, name)


@public("signal.kaiser_window")
def kaiser_window(
    window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """Kaiser's window: I0(beta sqrt(1 - t**2)) over I0(beta), t from -1 to 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.kaiser_window.
    """
    count, kind = _length(window_length, dtype)
    k, wide = _places(count, kind)
    half = cast(as_tensor(count - 1, "int32"), wide) * 0.5
    t = (k - half) / maximum(half, 0.5)
    shape = cast(as_tensor(beta), wide)
    value = bessel_i0(shape * sqrt(maximum(1 - square(t), 0.0))) / bessel_i0(shape)
    return cast(value, kind, name=name)


@public("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = float32, name: str | None = None
) -> Any:
    """The window of `mdct` made of sums of Kaiser's: its halves' squares add up to 1. -> f[window_length // 2 * 2].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.kaiser_bessel_derived_window.
    """
    count, kind = _length(window_length, dtype)
    half = count // 2
    total = cumsum(kaiser_window(half + 1, beta, float32 if kind.name != "float64" else kind))
    rising = sqrt(total[:-1] / total[-1])
    return cast(concat([rising, reverse(rising, [0])], 0), kind, name=name)


@public("signal.vorbis_window")
def vorbis_window(window_length: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Any:
    """sin(pi / 2 sin(t)**2), t from 0 to pi: the window of the Vorbis codec. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.vorbis_window.
    """
    count, kind = _length(window_length, dtype)
    k, wide = _places(count, kind)
    t = (k + 0.5) * math.pi / cast(maximum(as_tensor(count, "int32"), 1), wide)
    return cast(sin((math.pi / 2) * square(sin(t))), kind, name=name)


def _even_window(length: int, dtype: DType) -> Any:
    """The window of `mdct` without one: its halves' squares add up to 1."""
    return as_tensor(math.sqrt(0.5), dtype)


def _windowed(x: Tensor, window_fn: Callable[..., Any] | None, length: int) -> Any:
    return x if window_fn is None else x * window_fn(length, dtype=x.dtype)


# ---- frames ---------------------------------------------------------------------------------------------------------


def _scalar(value: TensorLike, what: str, least: int = -(2**31)) -> Any:
    """A number that decides a size: an int, or where only a run knows it an int32[] from `least` on."""
    tensor = as_tensor(value)
    if tensor.shape.rank not in (0, None):
        raise ValueError(f"Shape {tensor.shape} must have rank 0")
    found = static_int(tensor)
    if found is not None:
        return found
    number = tensor if least < 1 else minimum(tensor, 2**31 - 1)  # a step beyond that is beyond any signal
    return narrow(number, least, f"{what} must be {least} or more, got {{}}")


def _most(x: Any, y: TensorLike) -> Any:
    """The larger of two integers, which may be known only at run time."""
    return max(x, y) if isinstance(x, int) and isinstance(y, int) else maximum(x, y)


@public("signal.frame")
def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: TensorLike = -1,
    name: str | None = None,
) -> Any:
    """Frames of frame_length elements along `axis`, one each frame_step. t[*s, n, *r] -> t[*s, frames, length, *r].

    Raises: ValueError for arguments that are no scalars, or a signal of rank 0; InvalidArgumentError for a step that
    is not positive or a negative length. Source: tf.signal.frame.
    """
    x = as_tensor(signal)
    length, step = _scalar(frame_length, "frame_length", 0), _scalar(frame_step, "frame_step", 1)
    rank = x.shape.rank
    if rank is None or not are_known(axis):
        numbers = [as_tensor(n, "int32") for n in (length, step, axis)]
        operands = [x, as_tensor(pad_value, x.dtype), *numbers]
        made = late(lambda t, v, n, by, at: frame(t, n, by, pad_end, v, at), operands, x.dtype, name=name)
        made.set_shape(None if rank is None else [None] * (rank + 1))
        return made
    if rank < 1:
        raise ValueError(f"Shape {x.shape} must have rank at least 1")
    if (isinstance(step, int) and step < 1) or (isinstance(length, int) and length < 0):
        raise invalid(f"frame_length must not be negative and frame_step must be positive, got {length} and {step}")
    at = canonical_axis(_scalar(axis, "axis"), rank)
    n = extents_of(x)[at]
    if pad_end:
        pad_value = tensor_of(pad_value, x.dtype)
        pad_value.shape.assert_has_rank(0)
        count = -(-n // step)
        # Zeros for the rest of the last frame; more do no harm. Their number does not depend on the signal's length.
        missing = _most(length + step * (count - 1) - n, 0) if isinstance(n, int) else length
        x = pad(x, [[0, missing if i == at else 0] for i in range(rank)], constant_values=pad_value)
    else:
        count = _most(1 + (n - length) // step, 0)
    if isinstance(length, int) and length > 2**31 - 1:
        raise ResourceExhaustedError(None, None, f"Out of memory: a frame of {length} elements")
    first = expand_dims(range_(count) * step, 1)
    known = isinstance(length, int) and length < 2**20  # of longer ones the op says that there is no room
    places = first + (np.arange(length, dtype=np.int32) if known else range_(length))
    if at > 0:
        return gather(x, places, axis=at, name=name)
    return squeeze_p(gather(expand_dims(x, 0), places, axis=1, name=name), axes=(0,))  # for a dense gradient


@public("signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Any:
    """Frames laid out frame_step apart and summed. t[*s, frames, length] -> t[*s, (frames - 1) * step + length].

    Raises: ValueError for a rank below 2 or a step that is no integer scalar; InvalidArgumentError for one that is not
    positive. Source: tf.signal.overlap_and_add.
    """
    x = as_tensor(signal)
    rank = x.shape.rank
    if rank is not None and rank < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    if not as_tensor(frame_step).dtype.is_integer:
        raise ValueError(f"frame_step must be an integer. Got {as_tensor(frame_step).dtype!r}")
    step = _scalar(frame_step, "frame_step", 1)
    if isinstance(step, int) and step < 1:
        raise invalid(f"frame_step must be positive, got {step}")
    if rank is None:
        return late(overlap_and_add, [x, as_tensor(step, "int32")], x.dtype, name=name)
    *outer, frames, length = extents_of(x)
    if frames == 0 if isinstance(frames, int) else False:
        return reduce_sum(x, -2)[..., : _most(length - step, 0)]
    parts = _most(-(-length // step), 1)
    still = [[0, 0]] * len(outer)
    x = reshape(pad(x, [*still, [0, 0], [0, parts * step - length]]), [*outer, frames, parts, step])
    x = transpose_p(x, perm=(*range(rank - 2), rank - 1, rank - 2, rank))
    # Row j of the parts belongs j steps later: one frame more in each row, read with one frame less, shifts them.
    x = reshape(pad(x, [*still, [0, 0], [0, parts], [0, 0]]), [*outer, parts * (frames + parts) * step])
    width = (frames + parts - 1) * step
    x = reduce_sum(reshape(x[..., : parts * width], [*outer, parts, width]), -2)
    return x[..., : (frames - 1) * step + length]


# ---- short-time Fourier transform -----------------------------------------------------------------------------------


def _enclosing_power(n: Any) -> Any:
    """The least power of 2 from n on, 0 for 0. Raises: ValueError for a negative n."""
    if not isinstance(n, int):
        powers = as_tensor(2 ** np.arange(31, dtype=np.int32))
        return reduce_min(where(powers >= n, powers, powers[-1])) * cast(n > 0, int32)
    if n < 0:
        raise ValueError(f"frame_length must not be negative, got {n}")
    return 1 << (n - 1).bit_length() if n else 0


@public("signal.stft")
def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """The Fourier transforms of a signal's frames. f[*s, n] -> c[*s, frames, fft_length // 2 + 1].

    fft_length is the power of 2 from frame_length on if it is not given.
    Raises: ValueError for a signal of rank 0 or arguments that are no scalars. Source: tf.signal.stft.
    """
    x = as_tensor(signals)
    if x.shape.rank == 0:
        raise ValueError(f"Shape {x.shape} must have rank at least 1")
    length = _scalar(frame_length, "frame_length", 0)
    size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
    frames = frame(x, length, frame_step, pad_end=pad_end)
    return rfft(_windowed(frames, window_fn, length), [size], name=name)


@public("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[[Any, Any], Any]:
    """A function of (frame_length, dtype) that gives the window with which inverse_stft undoes stft.

    Source: tf.signal.inverse_stft_window_fn.
    """

    def window(frame_length: int, dtype: DType) -> Any:
        length, step = _scalar(frame_length, "frame_length", 0), _scalar(frame_step, "frame_step", 1)
        if isinstance(step, int) and step == 0:
            raise invalid("Integer division by zero: frame_step must not be 0")
        forward = forward_window_fn(length, dtype=dtype)
        overlaps = -(-length // step)
        total = pad(square(forward), [[0, overlaps * step - length]])
        total = reduce_sum(reshape(total, [overlaps, step]), 0, keepdims=True)
        # A sample that no window looks at cannot be had back.
        return divide_no_nan(forward, reshape(tile(total, [overlaps, 1]), [overlaps * step])[:length])

    return window


@public("signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Any:
    """The signal that frames' Fourier transforms came from, windowed and summed. c[*s, frames, k] -> f[*s, n].

    Raises: ValueError for a rank below 2 or arguments that are no scalars. Source: tf.signal.inverse_stft.
    """
    x = as_tensor(stfts)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    length = _scalar(frame_length, "frame_length", 0)
    size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
    frames = irfft(x, [size])
    known = isinstance(size, int) and isinstance(length, int)
    if not known or size > length:
        frames = frames[..., :length]
    if not known or size < length:
        frames = pad(frames, [*[[0, 0]] * (frames.shape.rank - 1), [0, _most(length - size, 0)]])
    return overlap_and_add(_windowed(frames, window_fn, length), frame_step, name)


# ---- modified cosine transform --------------------------------------------------------------------------------------


@public("signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: Callable[..., Any] | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The modified cosine transforms of frames that overlap by half. f[*s, n] -> f[*s, frames, frame_length / 2].

    Raises: ValueError for a frame_length that 4 does not divide. Source: tf.signal.mdct.
    """
    x = as_tensor(signals)
    if x.shape.rank == 0:
        raise ValueError(f"Shape {x.shape} must have rank at least 1")
    length = _scalar(frame_length, "frame_length", 0)
    if isinstance(length, int) and length % 4:
        raise ValueError("The frame length must be a multiple of 4.")
    frames = _windowed(frame(x, length, length // 2, pad_end=pad_end), window_fn or _even_window, length)
    a, b, c, d = split(frames, 4, axis=-1)
    folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
    return dct(folded, type=4, norm=norm, name=name)


@public("signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Callable[..., Any] | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """The signal that modified cosine transforms of its frames came from. f[*s, frames, m] -> f[*s, (frames + 1) * m].

    Raises: ValueError for a rank below 2. Source: tf.signal.inverse_mdct.
    """
    x = as_tensor(mdcts)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Shape {x.shape} must have rank at least 2")
    half = extents_of(x)[-1] if x.shape.rank else shape(x)[-1]
    if isinstance(half, int) and half == 0:
        return reduce_sum(x, -2)
    folded = dct(x, type=4, norm=norm)
    if norm is None:
        folded = folded * (0.5 / half if isinstance(half, int) else 0.5 / cast(half, x.dtype))
    first, second = split(folded, 2, axis=-1)
    frames = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], -1)
    return overlap_and_add(_windowed(frames, window_fn or _even_window, 2 * half), half, name)


# ---- mel scale ------------------------------------------------------------------------------------------------------


def mel(hertz: TensorLike) -> Any:
    """Return frequencies in Hz on the mel scale, f64[*s]."""
    return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)


def _number(value: TensorLike, what: str) -> Any:
    if not isinstance(value, Tensor):
        return real(value, what) if np.asarray(value).dtype.kind not in "iufb" else value

    found = known_value(value)
    return None if found is None else found.item()


@public("signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: TensorLike = 125.0,
    upper_edge_hertz: TensorLike = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Triangles on the mel scale over linear frequencies, in hertz. -> f[num_spectrogram_bins, num_mel_bins].

    Raises: ValueError for counts that are not positive and edges out of order. Source:
    tf.signal.linear_to_mel_weight_matrix.
    """
    kind = as_dtype(dtype)
    rate = _number(sample_rate, "sample_rate")
    low, high = _number(lower_edge_hertz, "lower_edge_hertz"), _number(upper_edge_hertz, "upper_edge_hertz")
    n_mel = whole(num_mel_bins, "num_mel_bins", 32)
    n_linear: Any = None
    if are_known(num_spectrogram_bins):
        n_linear = whole(num_spectrogram_bins, "num_spectrogram_bins", 32)
    if None in (n_linear, rate, low, high):
        bounds = [cast(as_tensor(value), "float64") for value in (sample_rate, lower_edge_hertz, upper_edge_hertz)]
        call = partial(linear_to_mel_weight_matrix, n_mel, dtype=kind)
        made = late(call, [as_tensor(num_spectrogram_bins), *bounds], kind, name=name)
        made.set_shape([n_linear, n_mel])
        return made
    if n_mel <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if high > rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got {high} for "
            f"sample_rate: {rate}"
        )
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {kind!r}")
    try:
        bins = mel(np.linspace(0.0, rate / 2, n_linear)[1:])[:, None]  # frequency 0 has no weight
        edges = np.linspace(mel(low), mel(high), n_mel + 2)
    except MemoryError as error:
        raise ResourceExhaustedError(None, None, f"Out of memory: {error}") from None
    below, centre, above = edges[:-2], edges[1:-1], edges[2:]
    weights = np.minimum((bins - below) / (centre - below), (above - bins) / (above - centre))
    weights = np.pad(np.maximum(weights, 0.0), [[1, 0], [0, 0]])
    return as_tensor(weights.astype(kind.numpy_dtype))


@public("signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Any:
    """The cepstral coefficients of log-magnitude mel spectrograms. f[*s, bins] -> f[*s, bins].

    Raises: ValueError for no bins. Source: tf.signal.mfccs_from_log_mel_spectrograms.
    """
    x = as_tensor(log_mel_spectrograms)
    if x.shape.rank == 0:
        raise ValueError(f"log_mel_spectrograms must have an axis of bins, got a scalar: {x}")
    bins = x.shape[-1] if x.shape.rank else None
    if bins == 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {x}")
    n = dim(x, -1)
    return dct(x, type=2) * cast(1.0 / sqrt(2.0 * cast(as_tensor(n), "float64")), x.dtype)
