"""Gamma variates of kernels, compiled by Numba from the plain Python here.

Rule: as in `distributions.h`, whose numbers these are: output i reads the blocks from 256 i on and nothing else;
double inside; of a block's pair the last number is taken first. Logarithms and powers are libm's, as there.
Source: Marsaglia and Tsang 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit


def functions(table: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The variate of an output; `table` has the functions of Philox and of its words."""
    word0, word1, word2, word3 = [table[f"philox_word{j}"] for j in range(4)]
    unit, sine, cosine = table["random_unit_float64"], table["random_sine_float64"], table["random_cosine_float64"]

    def variate(low: int, high: int, key: int, output: int, shape: float) -> float:
        alpha = np.float64(shape)
        block = output * 256
        if alpha == 1.0:
            a, b = word2(low, high, key, block), word3(low, high, key, block)
            return -math.log1p(-unit(a, b))
        if not alpha >= 0.0:
            return math.nan
        below = alpha < 1.0  # alpha + 1 is drawn, and uniform ** (1 / alpha) times it is what was wanted
        d = alpha + (2.0 / 3 if below else -1.0 / 3)
        c = 1.0 / 3 / math.sqrt(d)
        if math.isinf(d):
            return d
        is_normal, is_uniform = False, False  # whether a pair's first number is still to be taken
        normal, uniform = 0.0, 0.0
        while True:
            if is_normal:
                x, is_normal = normal, False
            else:
                w0, w1 = word0(low, high, key, block), word1(low, high, key, block)
                w2, w3 = word2(low, high, key, block), word3(low, high, key, block)
                x, normal, is_normal = cosine(w0, w1, w2, w3), sine(w0, w1, w2, w3), True
                block += 1
            v = 1.0 + c * x
            if v <= 0.0:
                continue
            v = v * v * v
            if is_uniform:
                u, is_uniform = uniform, False
            else:
                w0, w1 = word0(low, high, key, block), word1(low, high, key, block)
                w2, w3 = word2(low, high, key, block), word3(low, high, key, block)
                u, uniform, is_uniform = unit(w2, w3), unit(w0, w1), True
                block += 1
            if u < 1.0 - 0.0331 * (x * x) * (x * x) or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                break
        result = d * v
        if below:
            if is_uniform:
                u = uniform
            else:
                u = unit(word2(low, high, key, block), word3(low, high, key, block))
            result *= math.pow(u, 1.0 / alpha)
        return result

    return {"random_gamma": njit(error_model="numpy")(variate)}
