"""tf.signal: transforms against NumPy and SciPy, frames and windows against loops, gradients, unknown sizes, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft as scipy_fft
from scipy import signal as scipy_signal

import fastgraph as tf
from fastgraph.core.native.thread_pool import num_threads, set_num_threads

X, Y = np.random.default_rng(5).standard_normal((2, 2, 3, 4, 5))
C = X + 1j * Y
AXES = {1: (-1,), 2: (-2, -1), 3: (-3, -2, -1)}
NAMES = {1: "fft", 2: "fft2d", 3: "fft3d"}


def unknown(function: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """`function` traced for tensors of `like`'s rank and dtype and no known size."""
    return tf.function(function, input_signature=[tf.TensorSpec([None] * np.ndim(like), np.asarray(like).dtype)])


def check(function: Callable[..., Any], x: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    """The same in eager mode, compiled, and with unknown sizes."""
    for way in (function, tf.function(function), unknown(function, x)):
        np.testing.assert_allclose(way(tf.constant(x)), wanted, rtol=tolerance, atol=tolerance)


def slopes(function: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """The gradients of sum |f|**2 and of the sum of that gradient's squares."""
    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(tf.abs(function(x))))
        first = tape.gradient(y, x)
        z = tf.reduce_sum(tf.square(tf.abs(first)))
    return first, outer.gradient(z, x)


def energy(function: Callable[..., Any], x: Any) -> float:
    return float(np.sum(np.abs(np.asarray(function(tf.constant(x)))) ** 2))


def check_slopes(function: Callable[..., Any], x: Any) -> None:
    """Gradients of both orders against differences along a random direction, and the same when compiled."""
    first, second = slopes(function, x)
    v, imaginary = np.random.default_rng(0).standard_normal((2, *x.shape))
    if x.dtype.kind == "c":
        v = v + 1j * imaginary
    step = 1e-5
    along = (energy(function, x + step * v) - energy(function, x - step * v)) / (2 * step)
    assert np.sum((np.conj(first) * v).real) == pytest.approx(along, rel=1e-6, abs=1e-6)

    def size(at: Any) -> float:
        return float(np.sum(np.abs(np.asarray(slopes(function, at)[0])) ** 2))

    along = (size(x + step * v) - size(x - step * v)) / (2 * step)
    assert np.sum((np.conj(second) * v).real) == pytest.approx(along, rel=1e-6, abs=1e-6)
    compiled = unknown(lambda at: slopes(function, at), x)(tf.constant(x))
    np.testing.assert_allclose(compiled[0], first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(compiled[1], second, rtol=1e-9, atol=1e-9)


# ---- Fourier transforms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("inverse", [False, True])
def test_complex_transforms(count: int, inverse: bool) -> None:
    function = getattr(tf.signal, ("i" if inverse else "") + NAMES[count])
    wanted = (np.fft.ifftn if inverse else np.fft.fftn)(C, axes=AXES[count])
    check(lambda x: function(x), C, wanted)
    single = function(tf.constant(C, tf.complex64))
    assert single.dtype is tf.complex64
    np.testing.assert_allclose(single, wanted, rtol=1e-5, atol=1e-5)
    check_slopes(lambda x: function(x) * tf.constant(C), C)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("length", [None, 3, 4, 7])
def test_real_transforms(count: int, length: int | None, rng: np.random.Generator) -> None:
    sizes = None if length is None else [length] * count
    forward, back = (getattr(tf.signal, prefix + NAMES[count]) for prefix in ("r", "ir"))
    check(lambda x: forward(x, sizes), X, np.fft.rfftn(X, sizes, AXES[count]))
    check(lambda x: back(x, sizes), C, np.fft.irfftn(C, sizes, AXES[count]))
    assert forward(tf.constant(X, tf.float32), sizes).dtype is tf.complex64
    assert back(tf.constant(C, tf.complex64), sizes).dtype is tf.float32
    weight = tf.constant(rng.standard_normal(back(C, sizes).shape), tf.float32)
    check_slopes(lambda x: forward(x, sizes), X)
    check_slopes(lambda x: back(x, sizes) * tf.cast(weight, tf.float64), C)


def test_lengths_known_only_at_run_time() -> None:
    @tf.function
    def both(x: Any, length: Any) -> Any:
        y = tf.signal.rfft(x, [length])
        return y, tf.signal.irfft(y, [length])

    for n in (3, 5, 8):
        y, back = both(tf.constant(X), tf.constant(n))
        np.testing.assert_allclose(y, np.fft.rfft(X, n), atol=1e-12)
        np.testing.assert_allclose(back, np.fft.irfft(np.fft.rfft(X, n), n), atol=1e-12)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("axes", [None, [0], [1, 2], [-1, 0], [3, 1, 0]])
def test_transforms_over_chosen_axes(axes: list[int] | None, norm: str | None) -> None:
    for name, x in (("fftn", C), ("ifftn", C), ("rfftn", X), ("irfftn", C)):
        function = getattr(tf, name + "d")
        assert function is getattr(tf.signal, name + "d")
        for sizes in (None, None if axes is None else [4, 6, 3][: len(axes)]):
            wanted = getattr(np.fft, name)(x, sizes, axes, norm)
            check(lambda x, s=sizes, f=function: f(x, s, axes, norm), x, wanted)


def test_empty_and_strided_inputs() -> None:
    assert tf.signal.fft(tf.zeros([0, 3], tf.complex64)).shape == (0, 3)
    assert tf.signal.rfft(tf.zeros([0, 4])).shape == (0, 3)
    assert tf.signal.irfft(tf.zeros([0, 3], tf.complex64)).shape == (0, 4)
    np.testing.assert_allclose(tf.signal.fft(tf.constant(C)[:, ::2]), np.fft.fft(C[:, ::2]))
    assert tf.signal.fft([1.0, 2.0]).dtype is tf.complex64  # what is no tensor takes single precision, as in TensorFlow
    assert tf.signal.rfft([1, 2, 3]).dtype is tf.complex64


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tf.signal.fft(1 + 1j), tf.errors.InvalidArgumentError, "Input must have rank of at least 1 but got"),
        (lambda: tf.signal.fft2d(C[0, 0, 0]), tf.errors.InvalidArgumentError, "rank of at least 2 but got: 1"),
        (lambda: tf.signal.fft(tf.constant([1.0])), tf.errors.InvalidArgumentError, "not in the list of allowed"),
        (lambda: tf.signal.rfft(1.0), ValueError, "must have rank at least 1"),
        (lambda: tf.signal.rfft([1.0], [-1]), tf.errors.InvalidArgumentError, r"fft_length\[0\] must >= 0"),
        (lambda: tf.signal.rfft([1.0], [2, 2]), tf.errors.InvalidArgumentError, r"fft_length must have shape \[1\]"),
        (lambda: tf.signal.rfft(tf.constant([1j])), ValueError, "RFFT requires tf.float32 or tf.float64 inputs"),
        (lambda: tf.fftnd(C, axes=[0, 0]), tf.errors.InvalidArgumentError, "axes must be distinct"),
        (lambda: tf.fftnd(C, axes=[4]), tf.errors.InvalidArgumentError, "out of bounds"),
        (lambda: tf.signal.dct([1.0, 2.0], 5), ValueError, "Types I, II, III and IV"),
        (lambda: tf.signal.dct([1.0, 2.0], n=0), ValueError, "n should be a positive integer"),
        (lambda: tf.signal.dct([1.0, 2.0], axis=0), NotImplementedError, "axis must be -1"),
        (lambda: tf.signal.dct([1.0, 2.0], norm="x"), ValueError, "Unknown normalization"),
        (lambda: tf.signal.dct([1.0, 2.0], 1, norm="ortho"), ValueError, "Type-I DCT"),
        (lambda: tf.signal.dct([1.0], 1), tf.errors.InvalidArgumentError, "dimension to be greater than one"),
        (lambda: tf.signal.frame([1.0], [2], 1), ValueError, "must have rank 0"),
        (lambda: tf.signal.frame(1.0, 2, 1), ValueError, "must have rank at least 1"),
        (lambda: tf.signal.overlap_and_add([1.0], 1), ValueError, "must have rank at least 2"),
        (lambda: tf.signal.overlap_and_add([[1.0]], 1.0), ValueError, "frame_step must be an integer"),
        (
            lambda: tf.signal.frame([1.0], 2, 0),
            tf.errors.InvalidArgumentError,
            "frame_step must be positive, got 2 and 0",
        ),
        (lambda: tf.signal.frame([1.0], -1, 1), tf.errors.InvalidArgumentError, "frame_length must not be negative"),
        (lambda: tf.signal.frame([1.0], 2, 1, True, tf.constant(1)), ValueError, "requested dtype float32 for Tensor"),
        (lambda: tf.signal.overlap_and_add([[1.0]], 0), tf.errors.InvalidArgumentError, "frame_step must be positive"),
        (lambda: tf.signal.stft([1.0], -1, 1), ValueError, "frame_length must not be negative"),
        (lambda: tf.signal.fftshift([1.0], 1), tf.errors.InvalidArgumentError, "axis 1 is out of bounds"),
        (lambda: tf.function(lambda: tf.signal.ifftshift([1.0], [0, -2]))(), ValueError, "axis -2 is out of bounds"),
        (lambda: tf.signal.mdct(X, 6), ValueError, "must be a multiple of 4"),
        (lambda: tf.signal.hann_window(4, dtype=tf.int32), ValueError, "must be a floating point type"),
        (lambda: tf.signal.hann_window([4]), ValueError, "must have rank 0"),
        (lambda: tf.signal.linear_to_mel_weight_matrix(0), ValueError, "num_mel_bins must be positive"),
        (lambda: tf.signal.linear_to_mel_weight_matrix(5, 9, 100, 10.0, 60.0), ValueError, "Nyquist"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_frames_of_no_elements_have_no_transforms() -> None:
    assert tf.signal.stft(tf.ones([2, 20]), 0, 4).shape == (2, 6, 0)
    assert tf.signal.stft(tf.ones([2, 20]), 1, 4).shape == (2, 5, 1)


def test_shifts() -> None:
    check(lambda x: tf.signal.fftshift(x), X, np.fft.fftshift(X))
    check(lambda x: tf.signal.ifftshift(x, axes=[1, -1]), X, np.fft.ifftshift(X, axes=(1, -1)))


@pytest.mark.parametrize(("kind", "norm"), [(1, None), *[(k, n) for k in (2, 3, 4) for n in (None, "ortho")]])
@pytest.mark.parametrize("n", [None, 3, 8])
def test_cosine_transforms(kind: int, norm: str | None, n: int | None, rng: np.random.Generator) -> None:
    check(lambda x: tf.signal.dct(x, kind, n, norm=norm), X, scipy_fft.dct(X, kind, n, norm=norm))
    assert tf.signal.dct(tf.constant(X, tf.float32), kind, n, norm=norm).dtype is tf.float32
    weight = tf.constant(rng.standard_normal(n or 5))
    check_slopes(lambda x: weight * tf.signal.dct(x, kind, n, norm=norm), X)
    round_trip = tf.signal.idct(tf.signal.dct(X.astype(np.float32), kind, norm=norm), kind, norm=norm).numpy()
    scale = 1 if norm else 2 * (5 - (kind == 1))
    np.testing.assert_allclose(round_trip / scale, X, rtol=1e-4, atol=1e-5)


# ---- windows and frames ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 6, 17])
def test_window_functions(n: int) -> None:
    signal, windows = tf.signal, scipy_signal.windows
    even = n % 2 == 0
    for function, wanted in (
        (signal.hann_window, windows.hann(n, sym=not even)),
        (signal.hamming_window, windows.hamming(n, sym=not even)),
        (lambda n, dtype: signal.hann_window(n, False, dtype), windows.hann(n)),
        (signal.kaiser_window, windows.kaiser(n, 12.0)),
        (lambda n, dtype: signal.kaiser_window(n, 3.0, dtype), windows.kaiser(n, 3.0)),
        (signal.vorbis_window, np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(n) + 0.5) / n) ** 2)),
        *([(signal.kaiser_bessel_derived_window, windows.kaiser_bessel_derived(n, 12.0, sym=True))] if even else []),
    ):
        np.testing.assert_allclose(function(n, dtype=tf.float64), wanted, rtol=1e-12, atol=1e-12)
        assert function(n, dtype=tf.float16).dtype is tf.float16
        traced = tf.function(lambda n, f=function: f(n, dtype=tf.float64))
        np.testing.assert_allclose(traced(tf.constant(n)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "kaiser_window", "vorbis_window"])
def test_windows_of_one_element(name: str) -> None:
    function = getattr(tf.signal, name)
    assert function(1).numpy().tolist() == [1.0]
    assert tf.function(lambda n: function(n))(tf.constant(1)).numpy() == pytest.approx([1.0])
    assert function(0).shape == (0,)


def frames_of(x: Any, length: int, step: int, pad_end: bool) -> Any:
    """Frames along the last axis, by a loop."""
    n = x.shape[-1]
    count = -(-n // step) if pad_end else max(0, 1 + (n - length) // step)
    x = np.concatenate([x, np.full((*x.shape[:-1], length), 9.0)], -1)
    found = [x[..., i * step : i * step + length] for i in range(count)]
    return np.stack(found, -2) if found else np.zeros((*x.shape[:-1], 0, length))


@pytest.mark.parametrize(("length", "step"), [(4, 2), (3, 3), (2, 5), (20, 3), (7, 1)])
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames(length: int, step: int, pad_end: bool, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 15))

    def framed(x: Any) -> Any:
        return tf.signal.frame(x, length, step, pad_end=pad_end, pad_value=9.0)

    wanted = frames_of(x, length, step, pad_end)
    check(framed, x, wanted)
    check_slopes(framed, x)
    check(lambda x: tf.signal.frame(x, length, step, pad_end, 9.0, axis=0), x.T, np.moveaxis(wanted, 0, -1))
    check(framed, x[0], wanted[0])
    assert isinstance(slopes(framed, x[0])[0], tf.Tensor)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8])
def test_overlap_and_add(step: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4, 5))
    wanted = np.zeros((2, 3 * step + 5))
    for i in range(4):
        wanted[:, i * step : i * step + 5] += x[:, i]
    for way in (
        lambda x: tf.signal.overlap_and_add(x, step),
        tf.function(
            lambda x: tf.signal.overlap_and_add(x, step), input_signature=[tf.TensorSpec([None, None, 5], tf.float64)]
        ),
    ):
        np.testing.assert_allclose(way(tf.constant(x)), wanted, rtol=1e-12)
    first, second = slopes(lambda x: tf.signal.overlap_and_add(x, step), x)
    np.testing.assert_allclose(first, 2 * frames_of(wanted, 5, step, False), rtol=1e-12)
    assert second is not None
    whole = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(tf.signal.overlap_and_add(whole, 4), np.arange(12))
    assert tf.signal.overlap_and_add(tf.zeros([2, 0, 4]), 2).shape == (2, 2)


def test_stft_is_the_transform_of_windowed_frames(rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 40))
    frames = frames_of(x, 10, 4, False) * scipy_signal.windows.hann(10, sym=False)
    check(lambda x: tf.signal.stft(x, 10, 4), x, np.fft.rfft(frames, 16), 1e-7)
    check(lambda x: tf.signal.stft(x, 10, 4, 10, window_fn=None), x, np.fft.rfft(frames_of(x, 10, 4, False), 10))
    check_slopes(lambda x: tf.signal.stft(x, 8, 3, pad_end=True), x)
    assert tf.signal.stft(x[0], 10, 4).shape == (8, 9)


@pytest.mark.parametrize(("length", "step"), [(16, 8), (16, 4), (12, 5)])
def test_inverse_stft_undoes_stft(length: int, step: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 64))

    def there_and_back(x: Any) -> Any:
        window = tf.signal.inverse_stft_window_fn(step)
        return tf.signal.inverse_stft(tf.signal.stft(x, length, step), length, step, window_fn=window)

    for way in (there_and_back, tf.function(there_and_back)):
        back = way(tf.constant(x)).numpy()
        inside = slice(length, back.shape[-1] - length)
        np.testing.assert_allclose(back[:, inside], x[:, : back.shape[-1]][:, inside], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("window", ["vorbis_window", "kaiser_bessel_derived_window", None])
def test_inverse_mdct_undoes_mdct(norm: str | None, window: str | None, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 48))
    window_fn = window and getattr(tf.signal, window)

    def there_and_back(x: Any) -> Any:
        return tf.signal.inverse_mdct(tf.signal.mdct(x, 16, window_fn, norm=norm), window_fn, norm=norm)

    for way in (there_and_back, tf.function(there_and_back)):
        np.testing.assert_allclose(way(tf.constant(x)).numpy()[:, 8:40], x[:, 8:40], rtol=1e-5, atol=1e-6)
    check_slopes(lambda x: tf.signal.mdct(x, 16, window_fn, norm=norm), x)


def test_mel_scale() -> None:
    weights = tf.signal.linear_to_mel_weight_matrix(10, 65, 8000, 100.0, 3900.0, tf.float64).numpy()
    assert weights.shape == (65, 10)
    assert not weights[0].any() and (weights >= 0).all() and (weights.max(0) <= 1).all()
    mel = 1127 * np.log1p(np.array([100.0, 3900.0]) / 700)
    centres = 700 * np.expm1(np.linspace(*mel, 12)[1:-1] / 1127)
    np.testing.assert_allclose(np.argmax(weights, 0) * 62.5, centres, atol=62.5)
    check(
        lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x), X, scipy_fft.dct(X, 2) / np.sqrt(2 * X.shape[-1]), 1e-7
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_lines_are_transformed_alike_by_any_threads(dtype: str) -> None:
    x = np.random.default_rng(3).standard_normal((37, 60, 50)).astype(dtype)
    c = (x + 1j * x[::-1]).astype(np.result_type(dtype, np.complex64))
    pairs = [
        (tf.signal.rfft2d, x, np.fft.rfft2(x)),
        (tf.signal.fft, c, np.fft.fft(c)),
        (tf.signal.ifft2d, c, np.fft.ifft2(c)),
        (tf.signal.irfft, c, np.fft.irfft(c)),
        (tf.signal.rfft, x.transpose(2, 1, 0), np.fft.rfft(x.transpose(2, 1, 0))),
    ]
    before, tolerance = num_threads(), 1e-4 if dtype == "float32" else 1e-11
    for function, given, wanted in pairs:
        for way in (function, tf.function(function)):
            found = []
            for n in (1, 4):
                set_num_threads(n)
                found.append(way(tf.constant(given)).numpy())
            set_num_threads(before)
            assert found[0].dtype == np.result_type(found[0].dtype, dtype)
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_allclose(found[0], wanted, rtol=tolerance, atol=tolerance * 10)
    with tf.GradientTape() as tape:  # of a transform's squares: the numbers themselves, twice their number times
        t = tf.constant(x)
        tape.watch(t)
        loss = tf.reduce_sum(tf.square(tf.abs(tf.signal.fft(tf.cast(t, c.dtype)))))
    np.testing.assert_allclose(tape.gradient(loss, t), 2 * 50 * x, rtol=tolerance * 10, atol=tolerance * 10)
