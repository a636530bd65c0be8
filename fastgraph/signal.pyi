# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Callable
from fastgraph import fftnd as fftnd
from fastgraph import ifftnd as ifftnd
from fastgraph import irfftnd as irfftnd
from fastgraph import rfftnd as rfftnd
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from typing import Any
import builtins

def dct(input: TensorLike, type: builtins.int = 2, n: TensorLike | None = None, axis: builtins.int = -1, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The discrete cosine transform of type 1 to 4 of the last axis, brought to n elements. f[*s, m] -> f[*s, n].

    Raises: ValueError for another type, n or norm; NotImplementedError for another axis. Source: tf.signal.dct."""
def fft(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The discrete Fourier transform over the last axis. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.fft."""
def fft2d(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform over the last two axes. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.fft2d."""
def fft3d(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform over the last three axes. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.fft3d."""
def fftshift(x: TensorLike, axes: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """x with frequency 0 in the middle of `axes` (all). t[*s] -> t[*s]. Source: tf.signal.fftshift."""
def frame(signal: TensorLike, frame_length: TensorLike, frame_step: TensorLike, pad_end: builtins.bool = False, pad_value: TensorLike = 0, axis: TensorLike = -1, name: builtins.str | None = None) -> Tensor:
    """Frames of frame_length elements along `axis`, one each frame_step. t[*s, n, *r] -> t[*s, frames, length, *r].

    Raises: ValueError for arguments that are no scalars, or a signal of rank 0; InvalidArgumentError for a step that
    is not positive or a negative length. Source: tf.signal.frame."""
def hamming_window(window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """One period of a cosine between 0.08 and 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.hamming_window."""
def hann_window(window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """One period of a cosine between 0 and 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.hann_window."""
def idct(input: TensorLike, type: builtins.int = 2, n: TensorLike | None = None, axis: builtins.int = -1, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse of `dct` of the last axis, times 2 n unless norm is "ortho". f[*s, m] -> f[*s, n].

    Raises: ValueError for another type, n or norm; NotImplementedError for another axis. Source: tf.signal.idct."""
def ifft(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The inverse Fourier transform over the last axis. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.ifft."""
def ifft2d(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The inverse transform over the last two axes. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.ifft2d."""
def ifft3d(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The inverse transform over the last three axes. c[*s] -> c[*s]. Raises: InvalidArgumentError for a lower rank.

    Source: tf.signal.ifft3d."""
def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """x with frequency 0 moved from the middle of `axes` (all) to the front. t[*s] -> t[*s].

    Source: tf.signal.ifftshift."""
def inverse_mdct(mdcts: TensorLike, window_fn: Callable[..., Any] | None = ..., norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The signal that modified cosine transforms of its frames came from. f[*s, frames, m] -> f[*s, (frames + 1) * m].

    Raises: ValueError for a rank below 2. Source: tf.signal.inverse_mdct."""
def inverse_stft(stfts: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None, window_fn: Callable[..., Any] | None = ..., name: builtins.str | None = None) -> Tensor:
    """The signal that frames' Fourier transforms came from, windowed and summed. c[*s, frames, k] -> f[*s, n].

    Raises: ValueError for a rank below 2 or arguments that are no scalars. Source: tf.signal.inverse_stft."""
def inverse_stft_window_fn(frame_step: TensorLike, forward_window_fn: Callable[..., Any] = ..., name: builtins.str | None = None) -> Callable[[Any, Any], Any]:
    """A function of (frame_length, dtype) that gives the window with which inverse_stft undoes stft.

    Source: tf.signal.inverse_stft_window_fn."""
def irfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse Fourier transform that is real, from frequencies over the last axis that are not negative. c[*r] -> f[*s]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.irfft."""
def irfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse transform that is real, from frequencies over the last two axes that are not negative. c[*r] -> f[*s]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.irfft2d."""
def irfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse transform that is real, from frequencies over the last three axes that are not negative. c[*r] -> f[*s]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.irfft3d."""
def kaiser_bessel_derived_window(window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """The window of `mdct` made of sums of Kaiser's: its halves' squares add up to 1. -> f[window_length // 2 * 2].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.kaiser_bessel_derived_window."""
def kaiser_window(window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Kaiser's window: I0(beta sqrt(1 - t**2)) over I0(beta), t from -1 to 1. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.kaiser_window."""
def linear_to_mel_weight_matrix(num_mel_bins: builtins.int = 20, num_spectrogram_bins: TensorLike = 129, sample_rate: TensorLike = 8000, lower_edge_hertz: TensorLike = 125.0, upper_edge_hertz: TensorLike = 3800.0, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Triangles on the mel scale over linear frequencies, in hertz. -> f[num_spectrogram_bins, num_mel_bins].

    Raises: ValueError for counts that are not positive and edges out of order. Source:
    tf.signal.linear_to_mel_weight_matrix."""
def mdct(signals: TensorLike, frame_length: TensorLike, window_fn: Callable[..., Any] | None = ..., pad_end: builtins.bool = False, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The modified cosine transforms of frames that overlap by half. f[*s, n] -> f[*s, frames, frame_length / 2].

    Raises: ValueError for a frame_length that 4 does not divide. Source: tf.signal.mdct."""
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The cepstral coefficients of log-magnitude mel spectrograms. f[*s, bins] -> f[*s, bins].

    Raises: ValueError for no bins. Source: tf.signal.mfccs_from_log_mel_spectrograms."""
def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Frames laid out frame_step apart and summed. t[*s, frames, length] -> t[*s, (frames - 1) * step + length].

    Raises: ValueError for a rank below 2 or a step that is no integer scalar; InvalidArgumentError for one that is not
    positive. Source: tf.signal.overlap_and_add."""
def rfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform of real numbers, brought to fft_length, without negative frequencies over the last axis. f[*s] -> c[*r]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.rfft."""
def rfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform of real numbers, brought to fft_length, without negative frequencies over the last two axes. f[*s] -> c[*r]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.rfft2d."""
def rfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform of real numbers, brought to fft_length, without negative frequencies over the last three axes. f[*s] -> c[*r]. Raises: ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or negative.

    Source: tf.signal.rfft3d."""
def stft(signals: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None, window_fn: Callable[..., Any] | None = ..., pad_end: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The Fourier transforms of a signal's frames. f[*s, n] -> c[*s, frames, fft_length // 2 + 1].

    fft_length is the power of 2 from frame_length on if it is not given.
    Raises: ValueError for a signal of rank 0 or arguments that are no scalars. Source: tf.signal.stft."""
def vorbis_window(window_length: TensorLike, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """sin(pi / 2 sin(t)**2), t from 0 to pi: the window of the Vorbis codec. -> f[window_length].

    Raises: ValueError for a dtype that is no float. Source: tf.signal.vorbis_window."""
