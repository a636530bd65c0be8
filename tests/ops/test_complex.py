"""Gradients through complex numbers: TensorFlow's convention, d/dx + i d/dy of a real result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

Z = np.array([1.0 + 2.0j, -0.5 + 0.3j, 0.7 - 1.1j])
STEP = 1e-6

CASES: dict[str, Callable[[Any], Any]] = {
    "abs": lambda z: fg.reduce_sum(fg.abs(z)),
    "real of a product": lambda z: fg.reduce_sum(fg.math.real(z * z * (2.0 - 1.0j))),
    "imag of a quotient": lambda z: fg.reduce_sum(fg.math.imag((1.0 + 1.0j) / z)),
    "conj": lambda z: fg.reduce_sum(fg.math.real(z * fg.math.conj(z))),
    "exp": lambda z: fg.reduce_sum(fg.math.imag(fg.exp(z))),
    "log": lambda z: fg.reduce_sum(fg.math.real(fg.math.log(z))),
    "sqrt": lambda z: fg.reduce_sum(fg.math.imag(fg.sqrt(z))),
    "sin": lambda z: fg.reduce_sum(fg.math.real(fg.sin(z))),
    "tanh": lambda z: fg.reduce_sum(fg.math.imag(fg.tanh(z))),
    "sigmoid": lambda z: fg.reduce_sum(fg.math.real(fg.sigmoid(z))),
    "pow": lambda z: fg.reduce_sum(fg.math.real(z**3)),
    "matmul": lambda z: fg.reduce_sum(fg.math.imag(fg.matmul(z[None], z[:, None] * 1.0j))),
    "cumprod": lambda z: fg.reduce_sum(fg.math.imag(fg.math.cumprod(z) * (1.0 + 2.0j))),
    "reduce_prod": lambda z: fg.reduce_sum(fg.math.real(fg.reduce_prod(z) * (1.0 + 2.0j))),
    "parts": lambda z: fg.reduce_sum(fg.abs(fg.complex(fg.math.imag(z), fg.math.real(z) * 2.0))),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_of_a_real_function_of_complex_numbers(name: str) -> None:
    f = CASES[name]
    z = fg.constant(Z)
    with fg.GradientTape() as tape:
        tape.watch(z)
        y = f(z)
    assert not y.dtype.is_complex
    got = tape.gradient(y, z).numpy()
    for k in range(Z.size):
        e = np.zeros_like(Z)
        e[k] = STEP
        slope_x = float(f(fg.constant(Z + e)) - f(fg.constant(Z - e))) / (2 * STEP)
        slope_y = float(f(fg.constant(Z + 1j * e)) - f(fg.constant(Z - 1j * e))) / (2 * STEP)
        assert got[k] == pytest.approx(slope_x + 1j * slope_y, rel=1e-6, abs=1e-7), name


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("name", "values", "slopes"),
    [  # TensorFlow's, whose rules conjugate nothing here
        ("xlogy", [0, 3.150304 - 2.1589352j], [(0, 0), (0.723459 + 0.2449787j, 0.9411765 - 2.2352941j)]),
        ("xdivy", [0, 0.9411765 - 2.2352941j], [(0, 0), (0.4705882 - 0.1176471j, -0.1799308 + 1.1626298j)]),
        ("xlog1py", [0, 3.99753004 - 3.95380107j], [(0, 0), (1.1123118 + 0.1651487j, 0.7567568 - 1.4594595j)]),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_products_and_quotients_that_stay_0(name: str, values: Any, slopes: Any, dtype: str, traced: bool) -> None:
    x, y = fg.constant([0, 3 - 4j], dtype), fg.constant([0, 2 + 0.5j], dtype)
    function = getattr(fg.math, name)
    with fg.GradientTape() as tape:
        tape.watch([x, y])
        z = (fg.function(function) if traced else function)(x, y)
    np.testing.assert_allclose(z, values, rtol=1e-5)
    by_x, by_y = tape.gradient(z, [x, y])
    np.testing.assert_allclose(np.stack([by_x, by_y], 1), slopes, rtol=1e-5, atol=1e-6)
