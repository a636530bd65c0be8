"""Programs made for the sizes of one call serve others: no kernel has a number of that call in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags


def solvable(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).normal(size=shape) + 4 * np.eye(*shape[-2:])).astype("f")


#: A function of one matrix, or several, of sizes that its graph does not know.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "qr": lambda x: fg.matmul(*fg.linalg.qr(x)),
    "inv": lambda x: fg.linalg.inv(fg.matmul(x, x, transpose_b=True) + fg.eye(fg.shape(x)[1])),
    "cholesky": lambda x: fg.linalg.cholesky(fg.matmul(x, x, transpose_b=True) + fg.eye(fg.shape(x)[1])),
    "fft": lambda x: fg.abs(fg.signal.fft(fg.cast(x, fg.complex64))),
    "rfft": lambda x: fg.abs(fg.signal.rfft(x)),
    "irfft": lambda x: fg.signal.irfft(fg.cast(x, fg.complex64)),
    "sort": lambda x: fg.sort(x, -1),
    "top_k": lambda x: fg.math.top_k(x, 2)[0],
    "cumulative_logsumexp": lambda x: fg.math.cumulative_logsumexp(x, -1),
    "tridiagonal": lambda x: fg.linalg.tridiagonal_solve(x[:, :3] + 9.0, x[:, 3], diagonals_format="compact"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_follow_the_call(name: str) -> None:
    f = FUNCTIONS[name]
    with flags.override(tier="last"):
        function = fg.function(f, input_signature=[fg.TensorSpec([None, None, None])])
        for shape in ((1, 4, 2), (1, 4, 2), (1, 5, 3), (1, 5, 5), (2, 6, 4), (1, 50, 20), (1, 8, 33)):
            x = fg.constant(solvable(*shape))
            np.testing.assert_allclose(function(x), f(x), rtol=2e-3, atol=2e-3)
