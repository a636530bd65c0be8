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
