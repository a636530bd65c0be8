"""Kernels in C of Fourier transforms against NumPy's, of all lengths and axes; small QR factors; long sums of exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.library.fourier_lines import native_address
from fastgraph.core.base import flags
from fastgraph.ops.fourier import irfft_p
from fastgraph.ops.stable_sorting import SAMPLE, greatest

LENGTHS = [*range(1, 18), 21, 25, 33, 34, 40, 91, 96, 100, 121, 128, 169, 210, 256, 1001, 1024, 4096]


def compiled(function: Callable[..., Any], *args: Any, host: int = 0) -> Any:
    """What a Function gives by its kernels, of which no step may be one of Python's."""
    with flags.override(tier="last"):
        made = fg.function(function)
        found = fg.nest.map_structure(lambda t: t.numpy(), made(*[fg.constant(a) for a in args]))
    assert sum(each.host_steps for each in made._list_all_concrete_functions()) == host
    return found


@pytest.mark.skipif(not native_address("complex.float32"), reason="no kernels for this CPU")
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_are_numpys(rng: Any, n: int, single: bool) -> None:
    real, kind, near = ("float32", "complex64", 2e-6) if single else ("float64", "complex128", 1e-14)
    host = 0 if n not in (17, 34) else 4
    for shape in ((n,), (3, n), (11, n)):
        z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
        x, half = z.real.astype(real), z[..., : n // 2 + 1]

        def transforms(z: Any, x: Any, half: Any) -> Any:
            return fg.signal.fft(z), fg.signal.ifft(z), fg.signal.rfft(x), fg.signal.irfft(half, [n])

        found = compiled(transforms, z, x, half, host=host)
        wide = half.astype(complex)
        wanted = (np.fft.fft(z.astype(complex)), np.fft.ifft(z.astype(complex)), np.fft.rfft(x), np.fft.irfft(wide, n))
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=near * max(np.abs(theirs).max(), 1e-3))


@pytest.mark.parametrize("shape", [(4, 6, 10), (2, 3, 8, 9), (5, 16, 1), (1, 12, 13), (3, 17, 4)], ids=str)
def test_transforms_over_several_axes_and_their_gradients(rng: Any, shape: Any) -> None:
    x = rng.standard_normal(shape).astype("float32")
    for axes in ((-2, -1), (1, 2, 0), (0,), (-3, -1)):

        def whole(x: Any, axes: Any = axes) -> Any:
            with fg.GradientTape() as tape:
                tape.watch(x)
                half = fg.signal.rfftnd(x, axes=axes)
                back = fg.signal.irfftnd(half * half, [x.shape[a] for a in axes], axes=axes)
                result = fg.reduce_sum(back * x) + fg.reduce_sum(
                    fg.abs(fg.signal.fftnd(fg.complex(x, back), axes=axes))
                )
            return half, back, tape.gradient(result, x)

        with flags.override(tier="first"):
            wanted = fg.nest.map_structure(lambda t: t.numpy(), fg.function(whole)(fg.constant(x)))
        with flags.override(tier="last"):
            found = fg.nest.map_structure(lambda t: t.numpy(), fg.function(whole)(fg.constant(x)))
        np.testing.assert_allclose(found[0], np.fft.rfftn(x, axes=axes), rtol=0, atol=2e-5)
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-5 * np.abs(theirs).max())


def test_lengths_that_do_not_fit_are_refused_by_kernels_too() -> None:
    with flags.override(tier="last"), pytest.raises(fg.errors.InvalidArgumentError, match="have 3 freq"):
        fg.function(lambda z: irfft_p(z, 5, axes=(-1,), scaled=True, doubled=True))(fg.ones([2, 4], fg.complex64))


def test_transforms_of_many_lengths_from_many_threads(rng: Any) -> None:
    """More lengths than are kept, by shards of the pool: a length that gives way is still whole for who uses it."""
    x = rng.standard_normal((400, 70)).astype("float32")
    lengths = [n for n in range(2, 70) if n not in (17, 19, 23, 29, 31, 34, 37, 38, 41, 43, 46, 47, 51, 53, 57, 58, 59, 61,
                                                    62, 67, 68, 69)]  # fmt: skip
    found = compiled(lambda x: [fg.signal.rfft(x[:, :n]) for n in lengths], x)
    for n, mine in zip(lengths, found, strict=True):
        np.testing.assert_allclose(mine, np.fft.rfft(x[:, :n]), rtol=0, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [(3, 3), (40, 8), (2, 5, 6), (4, 1), (1, 4), (3, 32, 32), (0, 3, 2), (2, 2, 7), (300, 4), (2, 100, 12)],
    ids=str,
)
def test_small_factors_have_lapacks_signs(rng: Any, dtype: str, shape: Any) -> None:
    near = 1e-4 if dtype == "float32" else 1e-12
    drawn = rng.standard_normal(shape)
    for x in (drawn, np.zeros(shape), np.triu(drawn), drawn * 1e-25, drawn * np.array([1e-3, 1e20])[rng.integers(2)]):
        x = x.astype(dtype)
        q, r = compiled(lambda x: tuple(fg.linalg.qr(x)), x)
        wanted_q, wanted_r = np.linalg.qr(x.astype(float)) if x.size else (q, r)
        size = np.abs(wanted_r).max(initial=0)
        np.testing.assert_allclose(q, wanted_q, rtol=0, atol=near * 10)
        np.testing.assert_allclose(r, wanted_r, rtol=0, atol=near * size)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_long_sums_of_exponentials(rng: Any, exclusive: bool, reverse: bool) -> None:
    x = rng.standard_normal((9, 200)) * 300
    x[1, ::3] = x[2, :70] = -np.inf
    x[3, 90], x[4, 90], x[5] = np.inf, np.nan, -np.inf
    for dtype, near in (("float32", 1e-5), ("float64", 1e-13)):
        sums = lambda x: fg.math.cumulative_logsumexp(x, 1, exclusive, reverse)
        wanted = sums(fg.constant(x)).numpy()
        np.testing.assert_allclose(compiled(sums, x.astype(dtype)), wanted, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_the_greatest_of_long_rows(rng: Any, dtype: str) -> None:
    n = 5 * SAMPLE + 3
    rows = rng.standard_normal((7, n)) * 1000
    rows[1] %= 5
    rows[2].sort()
    rows[3, :: n // SAMPLE] = 0
    if dtype.startswith("float"):
        rows[4, ::19], rows[5, : n // 2], rows[6, 10:60] = np.nan, -np.inf, np.inf
    rows = np.abs(rows).astype(dtype) if dtype == "uint8" else rows.astype(dtype)
    for k in (129, 1000, n // 5):
        found = greatest(rows, k)
        for row, places in zip(rows.astype(float), found, strict=True):
            order = np.lexsort((np.arange(n), -np.where(np.isnan(row), 0, row), ~np.isnan(row)))
            np.testing.assert_array_equal(places, order[:k])
