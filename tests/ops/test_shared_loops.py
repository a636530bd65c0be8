"""Eager C loops: of many elements by any number of threads, of mathematics by any instructions of this CPU."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core import registry
from fastgraph.core.native.thread_pool import num_threads, set_crowded, set_num_threads
from fastgraph.core.tensor import run
from tests import native

N = 300_007  # no multiple of what a thread takes at a time


@pytest.fixture(autouse=True)
def _threads_and_level_as_before() -> Iterator[None]:
    threads = num_threads()
    with native.using(native.LEVEL, native.LEVEL.value):
        yield
    set_num_threads(threads)
    set_crowded(0)


x = tf.constant(np.random.default_rng(3).standard_normal(N).astype(np.float32))
wide = tf.constant(np.random.default_rng(4).standard_normal((700, 433)))
whole = tf.constant(np.random.default_rng(5).integers(-9, 9, N).astype(np.int32))
rows = tf.reshape(x[: N // 1000 * 1000], (-1, 1000))
three = tf.reshape(x[: 66 * 65 * 67], (66, 65, 67))
indices = tf.constant(np.random.default_rng(6).integers(0, N, N))

SHARED: dict[str, Callable[[], Any]] = {
    "add": lambda: x + x,
    "with a number": lambda: 3.0 / x,
    "add to rows": lambda: rows + rows[3],
    "add to columns": lambda: three * three[:, :, :1],
    "outer": lambda: x[:900, None] - x[None, :500],
    "divide by what repeats in two places": lambda: three / three[:1, :, :1],
    "pow": lambda: tf.pow(tf.abs(x), x),
    "pow of rows": lambda: tf.pow(tf.abs(rows), rows[5]),
    "sin": lambda: tf.sin(x),
    "exp": lambda: tf.exp(x),
    "exp of float64": lambda: tf.exp(wide),
    "tanh": lambda: tf.tanh(x),
    "cast": lambda: tf.cast(x, tf.int32),
    "integers": lambda: whole * whole,
    "where": lambda: tf.where(x > 0, x, 0.0),
    "sum": lambda: tf.reduce_sum(x),
    "mean of float64": lambda: tf.reduce_mean(wide),
    "sum of integers": lambda: tf.reduce_sum(whole),
    "sum of rows": lambda: tf.reduce_sum(rows, 1),
    "sum of columns": lambda: tf.reduce_sum(rows, 0),
    "maximum": lambda: tf.reduce_max(x),
    "minimum of columns": lambda: tf.reduce_min(rows, 0),
    "argmax": lambda: tf.argmax(rows, -1),
    "argmin": lambda: tf.argmin(x),
    "softmax": lambda: tf.nn.softmax(rows),
    "transpose": lambda: tf.transpose(wide),
    "transpose of three axes": lambda: tf.transpose(three, (2, 0, 1)),
    "rows moved": lambda: tf.transpose(three, (1, 0, 2)),
    "gather": lambda: tf.gather(x, indices),
    "one_hot": lambda: tf.one_hot(tf.abs(whole), 7),
    "ones": lambda: tf.ones((N,)),
    "fill": lambda: tf.fill((N,), 2.5),
    "concat": lambda: tf.concat([x, x, x], 0),
}


@pytest.mark.parametrize("name", SHARED)
def test_the_number_of_threads_does_not_show(name: str) -> None:
    results = []
    for count in (1, 2, 5):
        set_num_threads(count)
        results += [np.asarray(SHARED[name]()) for _ in range(3)]
    set_crowded(60)
    results.append(np.asarray(SHARED[name]()))
    for other in results[1:]:
        assert results[0].tobytes() == other.tobytes()


def test_what_a_turn_leaves_is_shared_where_cores_are_crowded() -> None:
    """More than helpers are called for at once: the thread that calls does the first milliseconds alone."""
    many = tf.concat([x] * 20, 0)
    set_num_threads(3)
    expected = np.asarray(tf.pow(tf.abs(many), many))
    set_crowded(60)
    assert np.asarray(tf.pow(tf.abs(many), many)).tobytes() == expected.tobytes()


UNARY = ("exp", "log", "log1p", "expm1", "tanh", "sigmoid", "softplus", "sin", "cos", "tan", "erf", "elu", "selu")
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-40, -1e-40, 1.1754944e-38, 3.4e38, -3.4e38,
    88.7, 88.8, -87.4, -103.9, -104.1, 1e-8, -1e-8, 9.0, 17.0, -17.0, 20.0, 709.7, 709.9, -745.2, -0.99999994, 1e5,
]  # fmt: skip


def near(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], ulps: float) -> None:
    """The same NaN, infinities and signs of zero, and else within so many units in the last place."""
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    real = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isinf(got[real]), np.isinf(wanted[real]))
    np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(wanted[real]))
    finite = np.isfinite(wanted)
    apart = np.abs(got[finite] - wanted[finite]) / np.spacing(np.abs(wanted[finite]))
    assert apart.size == 0 or apart.max() <= ulps, apart.max()


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_mathematics_are_right_at_every_special_value(
    name: str, dtype: str, level: int, rng: np.random.Generator
) -> None:
    native.LEVEL.value = min(level, native.most_level())
    op = registry.get(name)
    scale = np.array([1e-3, 1, 10, 60], dtype)
    drawn = (rng.standard_normal((50, 4)) * scale).astype(dtype).ravel()
    with np.errstate(all="ignore"):
        given = np.concatenate([np.array(SPECIAL).astype(dtype), drawn])
        if name in ("sin", "cos", "tan"):
            given = given[~(np.abs(given) > 1e4)]  # NumPy's own are no oracle there
        exact = np.asarray(native.run_body(op, (tf.constant(given.astype(np.float64)),), {}))
        wanted = exact.astype(dtype)
    got = np.asarray(run(op, (tf.constant(given),), {}))
    near(got, wanted, 4)
    one_by_one = np.array([np.asarray(run(op, (tf.constant(each),), {})) for each in given])
    np.testing.assert_array_equal(one_by_one, got)  # a place in a vector does not show


@pytest.mark.parametrize("level", [0, 1, 2])
def test_powers_are_right_at_every_special_value(level: int) -> None:
    native.LEVEL.value = min(level, native.most_level())
    op = registry.get("pow")
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, -3], np.float32)
    with np.errstate(all="ignore"):
        bases, exponents = (each.ravel() for each in np.meshgrid(special, special))
        wanted = np.power(bases.astype(np.float64), exponents.astype(np.float64)).astype(np.float32)
    near(np.asarray(run(op, (tf.constant(bases), tf.constant(exponents)), {})), wanted, 2)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("n", [1, 100, 500, 20000])
def test_the_power_of_one_half_is_no_square_root(dtype: str, n: int) -> None:
    """Of minus infinity and of -0, for which NumPy's loops take one where the exponent is the same for all."""
    given = np.resize(np.array([-0.0, -np.inf, 4.0, np.nan, -1.0, np.inf]), 6 * n)
    x = tf.constant(given, dtype)
    wanted = np.resize(np.array([0.0, np.inf, 2.0, np.nan, np.nan, np.inf]), 6 * n)
    body = np.asarray(native.run_body(registry.get("pow"), (x, tf.constant(0.5, dtype)), {}))
    for got in (tf.pow(x, tf.constant(0.5, dtype)), x**0.5, tf.pow(x, tf.fill([6 * n], tf.constant(0.5, dtype))), body):
        as_float = np.asarray(got).astype(np.float64)
        np.testing.assert_array_equal(as_float, wanted)
        assert not np.signbit(as_float[wanted == 0]).any()


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "pow"])
def test_loops_of_numpy_are_called_as_numpy_does(name: str) -> None:
    function = getattr(np, {"pow": "power"}.get(name, name))
    given = np.concatenate([np.array(SPECIAL), np.asarray(x)]).astype(np.float32)
    set_num_threads(1)
    apart = 2 if name == "pow" else 0  # of which some are computed by our own loop
    with np.errstate(all="ignore"):
        for n in (511, 513, 20000, given.size):
            operands = [given[:n]] if name != "pow" else [given[:n], given[:n][::-1].copy()]
            got = np.asarray(getattr(tf, name)(*map(tf.constant, operands)))
            near(got, function(*operands), apart if n > 512 else 2)
        if name == "pow":
            got = tf.pow(tf.constant(given[:600, None]), tf.constant(given[:70]))
            near(np.asarray(got), np.power(given[:600, None], given[:70]), apart)
            near(np.asarray(tf.constant(given) ** 2.5), np.power(given, np.float32(2.5)), apart)
            near(np.asarray(2.5 ** tf.constant(given)), np.power(np.float32(2.5), given), apart)


@pytest.mark.parametrize("shapes", [((40, 1, 30), (1, 25, 1)), ((7, 1, 300, 1), (5, 1, 40)), ((3, 1), (3, 70000))])
def test_broadcasting_in_parts_is_broadcasting(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], rng: np.random.Generator
) -> None:
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    for threads in (1, 3):
        set_num_threads(threads)
        np.testing.assert_array_equal(np.asarray(tf.constant(a) - tf.constant(b)), a - b)
        np.testing.assert_array_equal(np.asarray(tf.constant(b) / tf.constant(a)), b / a)


def test_vectors_of_any_width_give_the_same_bits() -> None:
    if native.most_level() < 2:
        pytest.skip("this CPU has no AVX-512")
    for name in UNARY:
        op = registry.get(name)
        native.LEVEL.value = 2
        wide_bits = np.asarray(run(op, (x[:400],), {})).tobytes()
        native.LEVEL.value = 1
        assert np.asarray(run(op, (x[:400],), {})).tobytes() == wide_bits, name


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"]
)
def test_clipping_in_one_pass_is_a_minimum_and_a_maximum(dtype: str, rng: np.random.Generator) -> None:
    values = rng.integers(0, 100, 70001).astype(dtype)
    limits: list[tuple[float, float]] = [(10, 50), (50, 10), (0, 0)]
    if dtype.startswith("float"):
        values = (values - 50) / 7
        values[:7] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310, 1e-40]
        values = values.astype(dtype)
        limits += [(-1.5, 1.5), (-0.0, 0.0), (0.0, -0.0), (-np.inf, np.inf), (np.nan, 1.0), (-1.0, np.nan)]
    whole = tf.constant(values)
    for x in (whole, whole[3:], whole[:0], whole[7], tf.reshape(whole[1:], [7, 10000])):
        for low, high in limits:
            for bounds in ((low, high), (tf.constant(low, dtype), tf.constant(high, dtype))):
                if dtype not in ("float32", "float64", "int32", "int64") and not isinstance(bounds[0], tf.Tensor):
                    continue
                want = tf.maximum(tf.minimum(x, bounds[1]), bounds[0])
                got = tf.clip_by_value(x, *bounds)
                assert (got.dtype, got.shape) == (x.dtype, x.shape)
                assert got.numpy().tobytes() == want.numpy().tobytes()


def test_clipping_broadcasts_and_is_recorded() -> None:
    x = tf.constant([[1.0], [5.0]])
    assert tf.clip_by_value([[1.0, 1.0], [5.0, 5.0]], [0.0, 2.0], 4.0).numpy().tolist() == [[1.0, 2.0], [4.0, 4.0]]
    with pytest.raises(ValueError, match="incompatible"):  # the values keep their shape
        tf.clip_by_value(x, [0.0, 2.0], 4.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.clip_by_value(x, 0.0, 4.0)
    assert tape.gradient(y, x).numpy().tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unusual_powers_are_right_beside_usual_ones(dtype: str) -> None:
    """Of many elements NumPy computes those that it is fast at; an element's bits do not depend on its neighbours."""
    least, random = np.finfo(dtype).smallest_normal, np.random.default_rng(1)
    base = random.uniform(0.1, 10, 3000).astype(dtype)
    power = random.uniform(-3, 3, 3000).astype(dtype)
    odd = random.random(3000) < 0.3
    unusual = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, least / 8, -1.5, -3.0, 1e30, 1e-30], dtype)
    mixed = np.where(odd, random.choice(unusual, 3000), base).astype(dtype)
    for y in (power, np.where(odd, np.round(power), power).astype(dtype), np.array(3.0, dtype), np.array(0.5, dtype)):
        found = tf.pow(mixed, y).numpy()
        wide = np.broadcast_to(y, mixed.shape)
        alone = np.concatenate([tf.pow(a, b).numpy() for a, b in zip(mixed.reshape(-1, 100), wide.reshape(-1, 100))])
        np.testing.assert_allclose(found, alone, rtol=np.finfo(dtype).eps * 4, atol=least / 2**20)
        np.testing.assert_array_equal(found[~odd], tf.pow(base, y).numpy()[~odd])
        np.testing.assert_array_equal(np.signbit(found[odd]), np.signbit(alone[odd]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unusual_powers_cost_a_few_usual_ones(dtype: str) -> None:
    """NumPy's loop takes up to a thousand times as long for some of them."""
    x = tf.constant(np.random.default_rng(2).uniform(0.5, 2, 40_000).astype(dtype))
    three, least = tf.fill(x.shape, tf.constant(3.0, dtype)), float(np.finfo(dtype).smallest_normal)

    def seconds(base: Any, power: Any) -> float:
        return min(timeit.repeat(lambda: tf.pow(base, power), number=1, repeat=7))

    usual = seconds(x, three)
    for base, power in ((-x, three), (x * least / 8, x), (x * 0.0, x), (x * 1e30, three * 100), (x * 1e-30, three * 4)):
        assert seconds(base, power) < 30 * usual


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 31, 32, 63, 64, 95, 96, 97])
def test_short_rows_are_reduced_as_long_ones(dtype: str, n: int) -> None:
    """NaN, infinities and negative zeros at either end of a row; rows that are no multiple of a vector; all threads."""
    random = np.random.default_rng(n)
    for rows in (1, 17, 40_001 // n):
        x = (random.standard_normal((rows, n)) * 50).astype(dtype)
        x[rows // 2] = x[rows // 2, 0]  # the first of equals
        if dtype.startswith("float"):
            x[0, 0], x[rows // 3, n // 2], x[-1, -1] = -np.inf, np.nan, -0.0
            x[rows // 4] = -np.inf
        given = tf.constant(x)
        assert np.array_equal(tf.reduce_max(given, 1).numpy(), x.max(1), equal_nan=True)
        assert np.array_equal(tf.reduce_min(given, 1).numpy(), x.min(1), equal_nan=True)
        with np.errstate(invalid="ignore"):
            for got, wide in ((tf.reduce_sum(given, 1), np.sum), (tf.reduce_mean(given, 1), np.mean)):
                if dtype.startswith("float"):
                    near = wide(x.astype(np.float64), 1)
                    assert np.allclose(got.numpy(), near, rtol=1e-5, atol=1e-3, equal_nan=True)
        assert np.array_equal(tf.reduce_sum(given, 1).numpy(), x.sum(1)) or dtype.startswith("float")
        if dtype.startswith("float"):
            for got, place, worst in ((tf.argmax, np.argmax, -np.inf), (tf.argmin, np.argmin, np.inf)):
                assert np.array_equal(got(given, 1).numpy(), place(np.where(np.isnan(x), worst, x), 1))
        else:
            assert np.array_equal(tf.argmax(given, 1).numpy(), x.argmax(1))
            assert np.array_equal(tf.argmin(given, 1).numpy(), x.argmin(1))
