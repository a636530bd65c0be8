"""Random numbers: reproducible by seed, the same eagerly and in graphs, of the right distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import _philox


def numbers(x: Any) -> Any:
    return x.numpy().astype(np.float64)


def test_known_answers_of_philox() -> None:
    # Random123's kat_vectors, philox2x32 with 10 rounds: counter and key of zeros, of ones, of pi's digits.
    assert _philox.words64(0, 0, 1)[0] == 0x6CD10DF2FF1DAE59
    assert _philox.words64(0xFFFFFFFF, 2**64 - 1, 1)[0] == 0xAB4FD7AD2C3F628B
    assert _philox.words64(0x13198A2E, 0x85A308D3243F6A88, 1)[0] == 0xF62A4C12DD7CE038


def test_words_are_pure_functions_of_the_counter() -> None:
    whole = _philox.words64(123, 2**32 - 3, 10)
    assert np.array_equal(whole[4:], _philox.words64(123, 2**32 + 1, 6))
    assert np.array_equal(whole.astype(np.uint32), _philox.words32(123, 2**32 - 3, 10))


def test_a_seed_begins_the_sequence_anew() -> None:
    fg.random.set_seed(1234)
    first = [numbers(fg.random.uniform([3])) for _ in range(3)]
    fg.random.set_seed(1234)
    again = [numbers(fg.random.uniform([3])) for _ in range(3)]
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    fg.random.set_seed(1235)
    assert not np.array_equal(first[0], numbers(fg.random.uniform([3])))


def test_an_op_seed_has_a_sequence_of_its_own() -> None:
    fg.random.set_seed(7)
    a = [numbers(fg.random.normal([4], seed=1)) for _ in range(2)]
    fg.random.set_seed(7)
    fg.random.uniform([100])
    b = [numbers(fg.random.normal([4], seed=1)) for _ in range(2)]
    assert np.array_equal(a, b)
    assert not np.array_equal(a[0], a[1])
    assert not np.array_equal(a[0], numbers(fg.random.normal([4], seed=2)))


def test_unseeded_sequences_differ() -> None:
    fg.random.set_seed(None)
    a = numbers(fg.random.uniform([4]))
    fg.random.set_seed(None)
    assert not np.array_equal(a, numbers(fg.random.uniform([4])))


DRAWS = {
    "uniform": lambda: fg.random.uniform([5]),
    "uniform of a matrix": lambda: fg.random.uniform((2, 3), -1.0, 2.0),
    "uniform float64": lambda: fg.random.uniform([3], dtype=fg.float64),
    "uniform float16": lambda: fg.random.uniform([3], dtype=fg.float16),
    "uniform int32": lambda: fg.random.uniform([6], maxval=10, dtype=fg.int32),
    "uniform int64": lambda: fg.random.uniform([6], -5, 2**40, dtype=fg.int64),
}


@pytest.mark.parametrize("name", DRAWS)
def test_graphs_draw_what_eager_mode_draws(name: str) -> None:
    def three() -> Any:
        return [DRAWS[name]() for _ in range(3)]

    fg.random.set_seed(42)
    eager = [numbers(x) for x in three() + three()]
    fg.random.set_seed(42)
    function = fg.function(three)
    graph = [numbers(x) for x in function() + function()]
    assert np.array_equal(eager, graph)


def test_graph_and_eager_draws_share_one_generator() -> None:
    function = fg.function(lambda: fg.random.uniform([2]))
    fg.random.set_seed(3)
    mixed = [numbers(function()), numbers(fg.random.uniform([2])), numbers(function())]
    fg.random.set_seed(3)
    eager = [numbers(fg.random.uniform([2])) for _ in range(3)]
    assert np.array_equal(mixed, eager)


def test_a_draw_whose_numbers_are_unused_still_advances() -> None:
    @fg.function
    def unused() -> Any:
        fg.random.uniform([3])
        return fg.constant(1)

    fg.random.set_seed(5)
    unused()
    after = numbers(fg.random.uniform([3]))
    fg.random.set_seed(5)
    fg.random.uniform([3])
    assert np.array_equal(after, numbers(fg.random.uniform([3])))


def test_a_shape_known_only_at_run_time() -> None:
    function = fg.function(lambda n: fg.random.uniform([n, 2]))
    fg.random.set_seed(9)
    got = [function(fg.constant(n)) for n in (3, 0, 1)]
    fg.random.set_seed(9)
    wanted = [fg.random.uniform([n, 2]) for n in (3, 0, 1)]
    for g, w in zip(got, wanted, strict=True):
        assert np.array_equal(g.numpy(), w.numpy())


def test_distributions() -> None:
    fg.random.set_seed(11)
    n = 200_000
    u = numbers(fg.random.uniform([n]))
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.004 and abs(u.var() - 1 / 12) < 0.002
    z = numbers(fg.random.normal([n], mean=1.0, stddev=2.0))
    assert abs(z.mean() - 1) < 0.03 and abs(z.std() - 2) < 0.03
    assert abs(((z - 1) / 2 > 1.6448536).mean() - 0.05) < 0.003
    t = numbers(fg.random.truncated_normal([n]))
    assert np.abs(t).max() <= 2.0001 and abs(t.std() - 0.87963) < 0.01
    k = fg.random.uniform([n], maxval=7, dtype=fg.int32).numpy()
    counts = np.bincount(k, minlength=7)
    assert len(counts) == 7 and np.abs(counts - n / 7).max() < 900
    c = fg.random.categorical([[0.0, np.log(3.0)]], n).numpy()
    assert abs(c.mean() - 0.75) < 0.005
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.01


def test_small_floats_stay_below_the_upper_end() -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        x = fg.random.uniform([20_000], dtype=dtype)
        assert x.dtype.name == dtype
        assert float(fg.reduce_max(x)) < 1 and float(fg.reduce_min(x)) >= 0


def test_gradients_flow_through_the_parameters() -> None:
    mean, stddev = fg.constant(1.0), fg.constant(2.0)
    with fg.GradientTape() as tape:
        tape.watch([mean, stddev])
        x = fg.random.normal([5], mean, stddev)
        total = fg.reduce_sum(x)
    by_mean, by_stddev = tape.gradient(total, [mean, stddev])
    assert float(by_mean) == 5.0
    assert float(by_stddev) == pytest.approx(float(fg.reduce_sum((x - mean) / stddev)), rel=1e-5)


def test_dropout() -> None:
    fg.random.set_seed(2)
    x = fg.ones([20_000])
    y = fg.nn.dropout(x, 0.25).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.01
    rows = fg.nn.dropout(fg.ones([50, 4]), 0.5, noise_shape=[50, 1]).numpy()
    assert all(len(set(row)) == 1 for row in rows) and 0 < rows.sum() < 400
    graph = fg.function(lambda t: fg.nn.dropout(t, 0.5), input_signature=[fg.TensorSpec([None], fg.float32)])
    fg.random.set_seed(2)
    first = graph(fg.ones([100])).numpy()
    fg.random.set_seed(2)
    assert np.array_equal(first, fg.nn.dropout(fg.ones([100]), 0.5).numpy())
