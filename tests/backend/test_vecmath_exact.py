"""Vector maths over all exponents that float64 has, against whole numbers and decimals of many more digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import exact
import numpy as np
import pytest
from elementwise_kernels import evaluate

#: function -> what it should be, and the largest exponent of its arguments
FUNCTIONS: dict[str, tuple[Callable[[float], Fraction], float]] = {
    "exp": (exact.exponential, 9.45),
    "expm1": (exact.exponential_less_one, 9.45),
    "log": (exact.logarithm, 1024),
    "log1p": (exact.logarithm_of_one_more, 1024),
    "tanh": (exact.hyperbolic_tangent, 4.2),
    "sigmoid": (exact.logistic, 9.45),
    "softplus": (exact.softplus, 9.45),
    "sin": (lambda x: exact.sine_and_cosine(x)[0], 1024),
    "cos": (lambda x: exact.sine_and_cosine(x)[1], 1024),
    "tan": (exact.tangent, 1024),
}


def points(most: float, seed: int, count: int = 200) -> np.ndarray:
    """Numbers of both signs of all exponents up to `most`, half of them about 1."""
    rng = np.random.default_rng(seed)
    exponents = np.concatenate([rng.uniform(-1070, most, count // 2), rng.uniform(-8, min(most, 8), count // 2)])
    return np.exp2(exponents) * rng.choice([-1, 1], count)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_over_all_exponents(name: str) -> None:
    reference, most = FUNCTIONS[name]
    x = points(most, seed=1)
    x = abs(x) if name == "log" else np.where(x <= -1, -x, x) if name == "log1p" else x
    got = evaluate(f"{name}_float64(a)", x)
    for given, result in zip(x.tolist(), got.tolist(), strict=True):
        wrong = exact.units(result, reference(given))
        assert wrong <= 2.0, f"{name}({given!r}) = {result!r}: {wrong:.3g} units"


def nearest_to_quarter_turns() -> np.ndarray:
    """For many exponents the float64 that is nearest to a multiple of pi / 2: reductions lose 60 bits there."""
    found = [5.319372648326541e255, 6381956970095103.0 * 2.0**797]
    for exponent in range(-50, 970, 6):
        # Convergents of 2**exponent / (pi / 2): the last one whose denominator has no more than 53 bits.
        rest = Fraction(2) ** exponent * 2 * exact.ONE / exact.pi()
        before, last = 1, 0
        while rest:
            before, last = last, int(rest) * last + before
            if last >= 1 << 53:
                break
            rest = rest - int(rest)
            rest = 1 / rest if rest else rest
        found.append(float(before) * 2.0**exponent)
    return np.array(found + [-x for x in found])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_near_quarter_turns(name: str) -> None:
    x = nearest_to_quarter_turns()
    got = evaluate(f"{name}_float64(a)", x)
    assert max(exact.units(v, FUNCTIONS[name][0](u)) for u, v in zip(x.tolist(), got.tolist(), strict=True)) <= 1.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_over_all_exponents(dtype: type) -> None:
    """Results from the least denormal to the largest number, of bases of all exponents and of ones next to 1."""
    rng = np.random.default_rng(2)
    info = np.finfo(dtype)
    n = 400
    exponents = np.concatenate(
        [rng.uniform(info.minexp - info.nmant, info.maxexp - 0.1, n // 2), rng.uniform(-1, 1, n // 2)]
    )
    exponents[::3] *= 2.0 ** rng.uniform(-20, 0, exponents[::3].size)
    x = np.exp2(exponents).astype(dtype)
    x[x == 1] = 2
    y = (rng.uniform(info.minexp - info.nmant, info.maxexp - 0.1, n) / np.log2(x.astype(np.float64))).astype(dtype)
    y[::7] = np.rint(y[::7])
    inside = (abs(y * np.log2(x)) < info.maxexp - 0.01) | (x < 1) & (y > 0) | (x > 1) & (y < 0)
    x, y = x[inside], y[inside]
    got = evaluate(f"pow_{np.dtype(dtype)}(a, b)", x, y)
    assert got.size > 300
    for a, b, result in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
        wrong = exact.units(result, exact.power(a, b), info.nmant, info.minexp)
        assert wrong <= 1.0, f"{a!r} ** {b!r} = {result!r}: {wrong:.3g} units"
