"""Global and op seeds as tf.random.set_seed documents them, and the streams themselves: they are TensorFlow's.

The numbers that are written down here are TensorFlow 2.21's, on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def calls(make: Callable[[], Any], n: int = 2) -> list[tuple[float, ...]]:
    return [tuple(np.ravel(make().numpy()).tolist()) for _ in range(n)]


def eager_and_function() -> dict[str, Callable[[Callable[[], Any]], Callable[[], Any]]]:
    return {"eager": lambda f: f, "function": fg.function}


# ---- the four cases of tf.random.set_seed ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["eager", "function"])
def test_no_seed_gives_unforeseeable_numbers(way: str) -> None:
    wrap = eager_and_function()[way]
    fg.random.set_seed(None)
    first = calls(wrap(lambda: fg.random.uniform([2])), 3)
    fg.random.set_seed(None)
    again = calls(wrap(lambda: fg.random.uniform([2])), 3)
    assert len({*first, *again}) == 6


@pytest.mark.parametrize("way", ["eager", "function"])
def test_a_global_seed_gives_one_sequence_each_run(way: str) -> None:
    wrap = eager_and_function()[way]

    def run() -> list[tuple[float, ...]]:
        fg.random.set_seed(1234)
        uniform = calls(wrap(lambda: fg.random.uniform([2])), 3)
        return uniform + calls(wrap(lambda: fg.random.normal([2])), 2)

    first = run()
    assert run() == first and len(set(first)) == 5


@pytest.mark.parametrize("way", ["eager", "function"])
def test_an_op_seed_alone_gives_one_sequence_each_run(way: str) -> None:
    wrap = eager_and_function()[way]

    def run() -> list[tuple[float, ...]]:
        fg.random.set_seed(None)  # as a program that begins
        return calls(wrap(lambda: fg.random.uniform([2], seed=1)), 3)

    first = run()
    assert run() == first and len(set(first)) == 3
    fg.random.set_seed(87654321)  # what stands for a global seed
    assert calls(wrap(lambda: fg.random.uniform([2], seed=1)), 3) == first


@pytest.mark.parametrize("way", ["eager", "function"])
def test_both_seeds_decide_together(way: str) -> None:
    wrap = eager_and_function()[way]

    def run(global_seed: int, seed: int) -> list[tuple[float, ...]]:
        fg.random.set_seed(global_seed)
        return calls(wrap(lambda: fg.random.uniform([2], seed=seed)), 2)

    runs = [run(a, b) for a in (1, 2) for b in (1, 2)]
    assert runs == [run(a, b) for a in (1, 2) for b in (1, 2)]
    assert len({numbers for r in runs for numbers in r}) == 8


def test_a_function_made_anew_starts_its_counters_anew() -> None:
    fg.random.set_seed(1234)
    made = [fg.function(lambda: fg.random.uniform([2], seed=1)) for _ in range(2)]
    assert calls(made[0], 3) == calls(made[1], 3)
    unseeded = [fg.function(lambda: fg.random.uniform([2])) for _ in range(2)]
    assert calls(unseeded[0], 3) == calls(unseeded[1], 3)


def test_set_seed_resets_counters_and_leaves_traced_seeds() -> None:
    fg.random.set_seed(5)
    function = fg.function(lambda: fg.random.uniform([2]))
    first = calls(function, 2)
    fg.random.set_seed(6)
    assert calls(function, 2) == first  # the Function was traced under 5
    free = fg.function(lambda: fg.random.normal([2], seed=3))
    under_six = calls(free, 2)
    fg.random.set_seed(6)
    assert calls(free, 2) == under_six == calls(lambda: fg.random.normal([2], seed=3), 2)


def test_an_eager_counter_belongs_to_op_dtype_and_seed() -> None:
    fg.random.set_seed(5)
    plain = calls(lambda: fg.random.uniform([3], seed=1), 2)
    fg.random.set_seed(5)
    fg.random.normal([3], seed=1)
    fg.random.uniform([3], seed=2)
    fg.random.uniform([3], dtype=fg.float64, seed=1)
    assert calls(lambda: fg.random.uniform([3], seed=1), 2) == plain


@pytest.mark.parametrize("seed", ["a", 1j, [1], float("nan")])
def test_a_seed_is_an_integer(seed: Any) -> None:
    with pytest.raises(TypeError, match="A seed must be an integer or None"):
        fg.random.uniform([2], seed=seed)


# ---- TensorFlow's own numbers ---------------------------------------------------------------------------------------


def close(got: Any, wanted: Any) -> None:
    got = got.numpy()
    np.testing.assert_allclose(got.astype(np.float64).ravel(), np.ravel(wanted), rtol=3e-7, atol=3e-8)


def test_stateful_streams() -> None:
    fg.random.set_seed(5)
    close(fg.random.uniform([4], seed=3), [0.2886784, 0.6889242, 0.689944, 0.09692049])
    fg.random.set_seed(5)
    close(fg.random.uniform([7], seed=3)[:1], [0.2886784])
    close(fg.random.uniform([3], seed=3), [0.08578897, 0.07670355, 0.505919])
    fg.random.set_seed(5)
    close(fg.random.uniform([2]), [0.6263931, 0.5298432])
    close(fg.random.uniform([2]), [0.7017075, 0.04336786])
    close(fg.function(lambda: fg.random.uniform([2]))(), [0.18286479, 0.68998957])
    fg.random.set_seed(5)
    assert fg.random.shuffle(fg.range(20), seed=3).numpy().tolist()[:10] == [10, 16, 4, 14, 18, 11, 17, 15, 8, 3]
    assert fg.random.shuffle(fg.range(20), seed=3).numpy().tolist()[:10] == [18, 7, 2, 1, 0, 10, 12, 17, 5, 15]


def test_stateless_streams() -> None:
    close(fg.random.stateless_uniform([2], [1, 2], alg="philox"), [0.8440604, 0.19204533])
    assert fg.random.split([1, 2], 3).numpy().tolist() == [
        [1105988140, 1738052849],
        [-335576002, 370444179],
        [10670227, -246211131],
    ]
    assert fg.random.fold_in([1, 2], 3).numpy().tolist() == [1105988140, 3]
    assert fg.random.fold_in([1, 2], fg.constant(3, fg.int64)).numpy().tolist() == [7464880146280614444, 3]
    close(fg.random.stateless_normal([3], [1105988140, 3]), [0.03197195, 0.8979765, 0.13253039])
    shuffled = fg.random.experimental.stateless_shuffle([[1, 2], [3, 4], [5, 6]], seed=[8, 9])
    assert shuffled.numpy().tolist() == [[5, 6], [1, 2], [3, 4]]
    index = fg.random.experimental.index_shuffle
    assert index(fg.range(4), [5, 9], 3).numpy().tolist() == [2, 0, 1, 3]
    assert index(fg.range(10), [5, 8], 9).numpy().tolist() == [3, 8, 0, 1, 2, 7, 6, 9, 4, 5]
    binomial = fg.random.stateless_binomial([6, 4], [1, 2], [5.0, 50.0, 1000.0, 20], [0.3, 0.9, 0.5, 0.2])
    assert binomial.numpy().T.tolist() == [
        [3, 2, 2, 2, 3, 2],
        [42, 48, 40, 45, 44, 45],
        [471, 478, 506, 538, 516, 472],
        [5, 3, 5, 2, 6, 4],
    ]


def test_the_streams_of_a_generator() -> None:
    for wrap in eager_and_function().values():
        g = fg.random.Generator.from_seed(1234)
        normal = wrap(lambda g=g: g.normal([2, 3]))
        close(normal(), [0.9356609, 1.0854305, -0.93788373, -0.5061547, 1.3169702, 0.7137579])
        assert g.state.numpy().tolist() == [2770, 0, 0]
        close(wrap(lambda g=g: g.uniform([3]))(), [0.6512613, 0.9295906, 0.50873387])
        full = wrap(lambda g=g: g.uniform_full_int([3]))()
        assert full.numpy().tolist() == [14789844842584512396, 7910833019651599265, 8981873782301624389]
        truncated = wrap(lambda g=g: g.truncated_normal([5]))()
        close(truncated, [-0.47656408, -1.604162, 1.856634, 1.7417849, 0.24427608])
        drawn = wrap(lambda g=g: g.binomial([6], [5.0, 50.0, 1000.0, 20, 3, 4], [0.3]))()
        assert drawn.numpy().tolist() == [2, 17, 302, 6, 1, 1]
        assert g.state.numpy().tolist() == [312786, 0, 0]
        assert g.make_seeds(2).numpy().tolist() == [[-8605435588599248847, -5617333122841053782], [0, 0]]
        assert g.split(2)[1].state.numpy().tolist() == [0, 0, -946273272237435960]
        assert g.skip(3).numpy().tolist() == [313810, 0, 0]
        assert g.uniform([2], maxval=10, dtype=fg.int32).numpy().tolist() == [1, 9]


@pytest.mark.parametrize("seed", ["a", b"a", "7", float("nan"), float("inf"), [1], object()])
def test_what_is_no_global_seed(seed: Any) -> None:
    with pytest.raises(TypeError, match="Expected int for argument 'seed' not"):
        fg.random.set_seed(seed)


def test_indices_are_shuffled_by_tensorflows_rounds() -> None:
    def places(rounds: int) -> list[int]:
        seed, last = fg.constant([123456, 789, 42], fg.uint32), fg.constant(10**9, fg.int64)
        return [int(fg.random_index_shuffle(fg.constant(i, fg.int64), seed, last, rounds)) for i in range(3)]

    assert places(4) == [773515218, 784264817, 777577705]
    assert places(8) == [282184248, 393810102, 542923923]
    assert places(64) == [615592479, 939232029, 63230181]
    assert fg.random_index_shuffle([0, 1], [[1, 2, 3], [4, 5, 6]], 3).numpy().tolist() == [2, 1]
    raw = fg.raw_ops.RandomIndexShuffle(index=fg.range(10), seed=[498247692, 5, 8], max_index=9)
    assert raw.numpy().tolist() == fg.random.experimental.index_shuffle(fg.range(10), [5, 8], 9).numpy().tolist()
    for call, text in (
        (lambda: fg.random_index_shuffle(0, [1, 2, 3], 5, rounds=3), "even number"),
        (lambda: fg.random_index_shuffle(0, [1, 2], 5), r"vector of size \[3\]"),
        (lambda: fg.random.experimental.index_shuffle(0, [1, 2, 3], 5), r"vector of size \[2\]"),
        (lambda: fg.random.experimental.index_shuffle(0, [1, 2], -1), "max_index must be >= 0"),
    ):
        with pytest.raises(fg.errors.InvalidArgumentError, match=text):
            call()


def test_a_function_draws_anew_in_each_place_where_it_is_called() -> None:
    fg.random.set_seed(7)
    inner = fg.function(lambda: fg.random.uniform([3]))
    once = fg.function(lambda: inner() * 2.0)
    twice = fg.function(lambda: (inner(), inner()))
    first, second = [0.7537285, 0.0779376, 0.45880914], [0.79150355, 0.5101167, 0.5416639]
    assert np.allclose(calls(inner), [first, second])
    assert np.allclose(calls(once), 2 * np.array([first, second]))
    assert np.allclose(twice(), [first, first]) and np.allclose(twice(), [second, second])
    assert np.allclose(inner(), [0.15525949, 0.38092852, 0.804065])  # as if no other had called it
    fg.random.set_seed(7)
    assert np.allclose(twice(), [first, first]) and np.allclose(inner(), first)


def test_a_called_function_draws_in_loops_branches_and_gradients() -> None:
    fg.random.set_seed(7)
    inner = fg.function(lambda: fg.random.uniform([3]))
    inner()

    @fg.function
    def outer(x: Any, n: Any) -> Any:
        total = fg.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + inner()), [0, fg.zeros([3])])[1]
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = x * inner()
        return total, tape.gradient(y, x), fg.cond(n > 1, inner, lambda: x)

    first, second = [0.7537285, 0.0779376, 0.45880914], [0.79150355, 0.5101167, 0.5416639]
    total, slope, chosen = outer(fg.ones([3]), fg.constant(2))
    assert np.allclose(total, np.add(first, second)) and np.allclose(slope, first) and np.allclose(chosen, first)
    assert np.allclose(outer(fg.ones([3]), fg.constant(0))[1], second)


def test_a_function_that_calls_itself_and_one_that_draws() -> None:
    fg.random.set_seed(7)
    inner = fg.function(lambda: fg.random.uniform([]))

    @fg.function
    def down(n: Any) -> Any:
        return fg.cond(n > 0, lambda: inner() + down(n - 1), lambda: 0.0)

    drawn = [float(down(fg.constant(3))) for _ in range(2)]
    fg.random.set_seed(7)
    assert drawn[0] == float(down(fg.constant(3))) != drawn[1]
