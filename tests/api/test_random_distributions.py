"""Each distribution is the one that it says: Kolmogorov-Smirnov and chi-square tests, moments, independence.

Seeds are fixed, so a test always passes or always fails. A p-value above 1e-3 is asked for: a distribution whose
function is wrong by 0.01 anywhere gives less than 1e-8 with this many numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import fastgraph as fg
from fastgraph import random as R
from fastgraph.core.base import flags

N = 50_000
SEED = (12, 345)
LEAST = 1e-3


def continuous(x: Any, distribution: Any) -> None:
    x = np.asarray(x, np.float64).ravel()
    assert stats.kstest(x, distribution.cdf).pvalue > LEAST
    error = distribution.std() / np.sqrt(x.size)
    assert abs(x.mean() - distribution.mean()) < 4 * error
    fourth = distribution.stats(moments="k") + 3
    assert abs(x.var() / distribution.var() - 1) < 4 * np.sqrt((fourth - 1) / x.size)


def discrete(x: Any, distribution: Any) -> None:
    """Classes of at least 20 expected numbers; what lies outside them counts with the outermost."""
    x = np.asarray(x, np.float64).ravel()
    assert np.array_equal(x, np.round(x))
    values = np.arange(distribution.ppf(1e-9), distribution.ppf(1 - 1e-9) + 1)
    wanted = distribution.pmf(values) * x.size
    kept = values[wanted >= 20]
    first, last = kept[0], kept[-1]
    counts = np.array([np.sum(x <= first), *[np.sum(x == v) for v in kept[1:-1]], np.sum(x >= last)])
    shares = [distribution.cdf(first), *distribution.pmf(kept[1:-1]), distribution.sf(last - 1)]
    assert stats.chisquare(counts, np.array(shares) * x.size / np.sum(shares)).pvalue > LEAST
    assert abs(x.mean() - distribution.mean()) < 4 * distribution.std() / np.sqrt(x.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_and_normal(dtype: str) -> None:
    continuous(R.stateless_uniform([N], SEED, -1, 3, dtype=dtype), stats.uniform(-1, 4))
    continuous(R.stateless_normal([N], SEED, 1, 2, dtype=dtype), stats.norm(1, 2))
    truncated = R.stateless_truncated_normal([N], SEED, 1, 2, dtype=dtype).numpy()
    continuous(truncated, stats.truncnorm(-2, 2, 1, 2))
    assert truncated.min() > -3 and truncated.max() < 5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats(dtype: str) -> None:
    x = fg.cast(R.stateless_uniform([N], SEED, dtype=dtype), fg.float64).numpy()
    bits = {"float16": 10, "bfloat16": 7}[dtype]
    discrete(x * 2**bits, stats.randint(0, 2**bits))
    z = fg.cast(R.stateless_normal([N], SEED, dtype=dtype), fg.float64).numpy()
    assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02


def test_integers() -> None:
    discrete(R.stateless_uniform([N], SEED, -3, 11, dtype=fg.int32), stats.randint(-3, 11))
    discrete(R.stateless_uniform([N], SEED, -3, 11, dtype=fg.int64), stats.randint(-3, 11))
    full = R.stateless_uniform([N], SEED, None, None, dtype=fg.uint64).numpy()
    for shift in range(0, 64, 8):
        discrete((full >> np.uint64(shift)) & np.uint64(255), stats.randint(0, 256))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 1.5, 40.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(alpha: float, dtype: str) -> None:
    if (alpha, dtype) == (0.05, "float32"):  # a hundredth of all is below what float32 can hold
        alpha = 0.1
    continuous(R.stateless_gamma([N], SEED, alpha, 2.0, dtype=dtype), stats.gamma(alpha, scale=0.5))


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.9, 10.0, 35.0, 4000.0])
def test_poisson(rate: float) -> None:
    discrete(R.stateless_poisson([N], SEED, rate), stats.poisson(rate))


@pytest.mark.parametrize("n, p", [(1, 0.3), (12, 0.5), (40, 0.1), (40, 0.9), (300, 0.5), (3000, 0.02), (1000, 0.97)])
def test_binomial(n: int, p: float) -> None:
    discrete(R.stateless_binomial([N], SEED, float(n), p), stats.binom(n, np.float32(p)))


@pytest.mark.parametrize(
    "low, high",
    [(-1.0, 1.0), (-0.2, 0.3), (-np.inf, 0.5), (0.4, np.inf), (2.0, 2.1), (3.0, np.inf), (-9.0, -6.0), (-5.0, 0.1)],
)
def test_normal_between_ends(low: float, high: float) -> None:
    ends = [np.float64(v * 2 + 1) for v in (low, high)]
    x = R.stateless_parameterized_truncated_normal([N], SEED, np.float64(1), 2.0, *ends).numpy()
    assert x.min() >= ends[0] and x.max() <= ends[1]
    # truncnorm's own distribution function is inexact far out: by logarithms of the tails
    z, a, b = (x - 1) / 2, low, high
    if high < 0:
        z, a, b = -z, -high, -low
    total = special.ndtr(-a) - special.ndtr(-b)
    share = (special.ndtr(-a) - special.ndtr(-z)) / total
    assert stats.kstest(share, stats.uniform.cdf).pvalue > LEAST


@pytest.mark.parametrize(
    "dtype, low, high, wanted",
    [
        ("float32", -1.0, 2.0, [0.5441101, 0.20738031, 0.07356432, 0.04643455, -0.9538565, 0.84172857]),
        ("float32", 0.5, 1.0, [0.9220302, 0.59602267, 0.9981116, 0.5801937, 0.7196757, 0.5423841]),
        ("float32", 3.0, 9.0, [3.0513299, 3.0011456, 3.3942106, 3.6768384, 3.2490196, 3.4858367]),
        ("float32", -9.0, -3.0, [-3.0513299, -3.0011456, -3.3942106, -3.6768384, -3.2490196, -3.4858367]),
        ("float64", -1.0, 2.0, [-0.14231181, 0.74060725, 1.14774745, -0.72188139, -0.89821754, 0.60035928]),
        ("float64", 0.5, 1.0, [0.87624188, 0.75740594, 0.80387252, 0.91987403, 0.9105751, 0.60793801]),
        ("float64", 3.0, 9.0, [3.08610209, 3.52613705, 3.20102902, 3.05747205, 3.05288078, 3.09732219]),
        ("float16", -1.0, 2.0, [0.544, 0.2074, 0.07355, 0.04645, -0.9536, 0.842]),
        ("float16", 0.5, 1.0, [0.7715, 0.6177, 0.5303, 0.665, 0.6973, 0.9507]),
    ],
)
def test_normal_between_ends_takes_the_stream_of_tensorflow(
    dtype: str, low: float, high: float, wanted: list[float]
) -> None:
    parameters = [np.array(v, dtype) for v in (0, 1, low, high)]
    x = R.stateless_parameterized_truncated_normal([6], [1, 2], *parameters).numpy()
    np.testing.assert_allclose(x, wanted, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_normal_between_ends_of_several_parameters_takes_one_stream() -> None:
    x = R.stateless_parameterized_truncated_normal([2, 3], [1, 2], [0.0, 1.0, 2.0], 1.0, [-1.0, 0.0, 1.0], 5.0)
    np.testing.assert_allclose(x, [[0.5441101, 0.04614347, 2.6512578], [0.20738031, 1.8417286, 3.1048865]], atol=2e-7)


def test_categorical_and_shuffle() -> None:
    p = np.array([0.1, 0.5, 0.05, 0.35])
    drawn = R.stateless_categorical(np.log([p, p[::-1]]), N, SEED).numpy()
    for row, share in zip(drawn, (p, p[::-1]), strict=True):
        assert stats.chisquare(np.bincount(row, minlength=4), share * N).pvalue > LEAST
    assert stats.chi2_contingency(np.histogram2d(drawn[0], drawn[1], 4)[0]).pvalue > LEAST
    odd = R.stateless_categorical([[0.0, np.nan, -np.inf, 0.0]], 1000, SEED).numpy()
    assert set(odd.ravel()) == {0, 3}
    orders = [tuple(R.experimental.stateless_shuffle(fg.range(4), [i, 7]).numpy()) for i in range(2400)]
    counts = np.unique(np.array(orders), axis=0, return_counts=True)[1]
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LEAST


@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_index_shuffle_is_a_permutation(n: int) -> None:
    for seed in ([1, 2], [2, 1]):
        assert sorted(R.experimental.index_shuffle(fg.range(n), seed, n - 1).numpy()) == list(range(n))
    many = R.experimental.index_shuffle(fg.zeros([40], fg.int32), np.arange(80).reshape(40, 2).astype(np.int32), 10**6)
    assert len(set(many.numpy())) == 40


# ---- independence ---------------------------------------------------------------------------------------------------


def independent(a: Any, b: Any) -> None:
    table = np.histogram2d(np.ravel(a), np.ravel(b), 12)[0]
    assert stats.chi2_contingency(table).pvalue > LEAST


def test_draws_are_independent_of_each_other() -> None:
    x = R.stateless_uniform([N], SEED).numpy()
    for lag in (1, 2, 3, 4, 7, 64):
        independent(x[:-lag], x[lag:])
    z = R.stateless_normal([N], SEED).numpy()
    independent(stats.norm.cdf(z[0::2]), stats.norm.cdf(z[1::2]))  # the two of one pair of words
    g = R.Generator.from_seed(3)
    independent(g.uniform([N]), g.uniform([N]))
    fg.random.set_seed(4)
    independent(R.uniform([N]), R.uniform([N]))
    independent(R.uniform([N], seed=1), R.uniform([N], seed=2))


def test_seeds_give_independent_numbers() -> None:
    x = R.stateless_uniform([N], (12, 345))
    for other in ((12, 346), (13, 345), (345, 12), (12, 345 + 2**31 - 1)):
        independent(x, R.stateless_uniform([N], np.array(other, np.int64)))
    a, b = fg.unstack(R.split(SEED))
    independent(R.stateless_uniform([N], a), R.stateless_uniform([N], b))
    independent(x, R.stateless_uniform([N], R.fold_in(SEED, 1)))
    first, second = R.Generator.from_seed(3).split(2)
    independent(first.uniform([N]), second.uniform([N]))
    # The first number of each of many seeds is as even as the numbers of one.
    firsts = [float(R.stateless_uniform([], [0, i])) for i in range(3000)]
    assert stats.kstest(firsts, stats.uniform.cdf).pvalue > LEAST


# ---- gradients ------------------------------------------------------------------------------------------------------


def gradient(function: Callable[..., Any], *at: Any) -> Any:
    given = [fg.constant(v, fg.float64) for v in at]
    with fg.GradientTape() as tape:
        tape.watch(given)
        out = function(*given)
    return out.numpy(), [g.numpy() for g in tape.gradient(out, given)]


@pytest.mark.parametrize("alpha", [0.02, 0.5, 1.0, 3.0, 25.0, 900.0])
def test_gamma_follows_its_parameters(alpha: float) -> None:
    x, (by_alpha, by_beta) = gradient(lambda a, b: R.stateless_gamma([], [1, 2], a, b, fg.float64), alpha, 2.0)
    assert by_beta == pytest.approx(-x / 2)
    share, step = special.gammainc(alpha, 2 * x), 1e-4 * alpha
    wanted = (special.gammaincinv(alpha + step, share) - special.gammaincinv(alpha - step, share)) / (2 * step) / 2
    assert by_alpha == pytest.approx(wanted, rel=1e-4)


def test_gradients_of_gamma_have_the_shapes_of_its_parameters() -> None:
    alpha, beta = np.array([[0.5], [2.0], [7.0]]), np.array([1.0, 3.0])

    def by(draw: Callable[..., Any]) -> Any:
        _, grads = gradient(lambda a, b: fg.reduce_sum(draw(a, b), keepdims=True), alpha, beta)
        assert [g.shape for g in grads] == [(3, 1), (2,)]
        return grads

    eager = by(lambda a, b: R.stateless_gamma([5, 3, 2], [1, 2], a, b, fg.float64))
    graph = by(fg.function(lambda a, b: R.stateless_gamma([5, 3, 2], [1, 2], a, b, fg.float64)))
    for e, g in zip(eager, graph, strict=True):
        np.testing.assert_allclose(e, g, rtol=1e-12)
    assert by(lambda a, b: R.gamma([5], a, b, fg.float64, seed=1))[0].shape == (3, 1)


@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.5, 4.0), (-3.0, np.inf)])
def test_normal_between_ends_follows_its_parameters(ends: tuple[float, float]) -> None:
    at = [0.3, 1.5, *ends]
    x, slopes = gradient(lambda *p: R.stateless_parameterized_truncated_normal([], [1, 2], *p), *at)

    def quantile(share: float, mean: float, deviation: float, low: float, high: float) -> float:
        a, b = special.ndtr((low - mean) / deviation), special.ndtr((high - mean) / deviation)
        return float(mean + deviation * special.ndtri(a + share * (b - a)))

    a, b = (special.ndtr((e - at[0]) / at[1]) for e in ends)
    share = (special.ndtr((x - at[0]) / at[1]) - a) / (b - a)
    for i, slope in enumerate(slopes):
        if np.isfinite(at[i]):
            up, down = ([*at[:i], at[i] + h, *at[i + 1 :]] for h in (1e-5, -1e-5))
            assert slope == pytest.approx((quantile(share, *up) - quantile(share, *down)) / 2e-5, rel=1e-4, abs=1e-7)
        else:
            assert slope == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("alpha", [1.0, [0.3, 1.0, 4.0], [[0.5], [90.0]], np.nan, -1.0, np.inf, []], ids=str)
def test_gamma_kernels_give_the_numbers_of_eager_mode(dtype: str, alpha: Any) -> None:
    a = fg.constant(np.array(alpha), dtype)
    for samples in ([], [5], [0], [3, 7]):

        def draw(samples: list[int] = samples) -> Any:
            return fg.random.stateless_gamma([*samples, *a.shape], [3, 4], alpha=a, dtype=dtype)

        with flags.override(tier="last"):
            np.testing.assert_array_equal(fg.function(draw)(), draw())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 100_003])
def test_truncated_kernels_give_the_numbers_of_eager_mode(dtype: str, n: int) -> None:
    def draw() -> Any:
        return fg.random.stateless_truncated_normal([n], [3, 4], dtype=dtype)

    for threads in (1, 2):
        with flags.override(tier="last", threads=threads):
            np.testing.assert_array_equal(fg.function(draw)(), draw())


def test_of_no_trials_none_succeeds_whatever_the_probability():
    numbers = R.stateless_binomial([2], [1, 2], [0.0, 5.0], [float("nan")] * 2, fg.float32).numpy()
    assert numbers[0] == 0.0 and np.isnan(numbers[1])
