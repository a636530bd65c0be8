"""Eager ops on float16 and bfloat16: computed in float32 and rounded once, as NumPy's conversions say."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fastgraph as fg

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")


def same(came: Any, wanted: Any) -> None:
    """Equal bits, but for NaNs, which are any."""
    came, wanted = np.asarray(came), np.asarray(wanted)
    assert came.dtype == wanted.dtype and came.shape == wanted.shape
    bits = f"u{came.dtype.itemsize}"
    odd = np.isnan(wanted.astype(np.float32))
    assert (np.isnan(came.astype(np.float32)) == odd).all()
    np.testing.assert_array_equal(came.view(bits)[~odd], wanted.view(bits)[~odd])


@pytest.mark.parametrize("name", HALVES)
def test_every_half_float_is_widened_and_comes_back(name: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(HALVES[name])
    wide = fg.cast(fg.constant(every), fg.float32)
    same(wide.numpy(), every.astype(np.float32))
    same(fg.cast(wide, name).numpy(), every)


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("n", [1, 7, 8, 100_003])
def test_float32_is_rounded_to_the_nearest(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x = rng.integers(0, 1 << 32, n, dtype=np.uint32).view(np.float32)
    x[::3] = rng.standard_normal(x[::3].shape) * 2.0 ** rng.uniform(-30, 18, x[::3].shape)
    halfway = (np.arange(1 << 15, dtype=np.uint16).view(HALVES[name]).astype(np.float64)[:n]) * (1 + 2.0**-11)
    x[: len(halfway) // 2] = halfway[: len(halfway) // 2]
    same(fg.cast(fg.constant(x), name).numpy(), x.astype(HALVES[name]))


@pytest.mark.parametrize("name", HALVES)
def test_ops_round_once(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal((50, 7)).astype(HALVES[name]) for _ in range(2))
    row = x[0]
    a, b, c = fg.constant(x), fg.constant(y), fg.constant(row)
    wide = [v.astype(np.float32) for v in (x, y, row)]
    half = HALVES[name]
    same((a + b).numpy(), (wide[0] + wide[1]).astype(half))
    same((a * c).numpy(), (wide[0] * wide[2]).astype(half))
    same((a[:0] - b[:0]).numpy(), x[:0])
    same(fg.maximum(a, b).numpy(), np.maximum(wide[0], wide[1]).astype(half))
    same(fg.sqrt(fg.abs(a)).numpy(), np.sqrt(abs(wide[0])).astype(half))
    assert (a < b).numpy().tolist() == (wide[0] < wide[1]).tolist()
    assert not fg.math.is_finite(a / 0.0).numpy().any()
    assert fg.argmax(a, 1).numpy().tolist() == wide[0].argmax(1).tolist()
    same(fg.reduce_max(a, 0).numpy(), x.max(0))
    for f in (lambda v: fg.reduce_sum(v, 1), fg.nn.softmax, lambda v: fg.reduce_mean(v)):
        np.testing.assert_allclose(
            fg.cast(f(a), fg.float32).numpy(),
            f(fg.constant(wide[0])).numpy(),
            rtol=1e-2 if name == "bfloat16" else 2e-3,
            atol=1e-2,
        )
        came = fg.function(f)(a)
        assert came.dtype == name
