"""Random numbers: reproducible by seed, the same eagerly and in graphs, of the right distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native import philox


def numbers(x: Any) -> Any:
    return x.numpy().astype(np.float64)


def state(*words: int) -> Any:
    return np.array(words, np.uint64).view(np.int64)


def test_known_answers_of_philox() -> None:
    # Random123's kat_vectors, philox4x32 with 10 rounds: counter and key of zeros, of ones, of pi's digits.
    ones = 2**64 - 1
    pi = 0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822
    for given, wanted in (
        ((0, 0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ((ones, ones, ones), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (pi, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ):
        assert philox.words(state(*given), 4).tolist() == wanted


def test_words_are_pure_functions_of_the_counter() -> None:
    whole = philox.words(state(2**64 - 3, 7, 123), 1000)
    for blocks in (1, 3, 5, 64, 100):  # over the end of the counter's low half
        later = state((2**64 - 3 + blocks) % 2**64, 7 + (blocks >= 3), 123)
        assert np.array_equal(whole[4 * blocks :], philox.words(later, 1000 - 4 * blocks))
    for n in (0, 1, 255, 256, 257):
        assert np.array_equal(whole[:n], philox.words(state(2**64 - 3, 7, 123), n))


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


DRAWS: dict[str, Callable[[], Any]] = {
    "uniform": lambda: fg.random.uniform([5], seed=6),
    "uniform of a matrix": lambda: fg.random.uniform((2, 3), -1.0, 2.0, seed=6),
    "uniform float64": lambda: fg.random.uniform([3], dtype=fg.float64, seed=6),
    "uniform float16": lambda: fg.random.uniform([3], dtype=fg.float16, seed=6),
    "uniform bfloat16": lambda: fg.random.uniform([3], dtype=fg.bfloat16, seed=6),
    "uniform int32": lambda: fg.random.uniform([6], maxval=10, dtype=fg.int32, seed=6),
    "uniform int64": lambda: fg.random.uniform([6], -5, 2**40, dtype=fg.int64, seed=6),
    "normal": lambda: fg.random.normal([2, 501], seed=6),
    "normal float64": lambda: fg.random.normal([7], dtype=fg.float64, seed=6),
    "normal float16": lambda: fg.random.normal([7], dtype=fg.float16, seed=6),
    "truncated": lambda: fg.random.truncated_normal([70], seed=6),
    "categorical": lambda: fg.random.categorical(np.zeros([2, 9]), 5, seed=6),
    "shuffle": lambda: fg.random.shuffle(fg.range(10), seed=6),
    "gamma": lambda: fg.random.gamma([3], [0.5, 2.0], seed=6),
    "poisson": lambda: fg.random.poisson([3], [0.5, 20.0], seed=6),
    "dropout": lambda: fg.nn.dropout(fg.ones([30]), 0.3, seed=6),
}


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("name", DRAWS)
def test_a_function_draws_what_eager_mode_draws(name: str, tier: str) -> None:
    fg.random.set_seed(42)
    eager = [numbers(DRAWS[name]()) for _ in range(3)]
    assert not np.array_equal(eager[0], eager[1])
    with flags.override(tier=tier):
        function = fg.function(DRAWS[name])
        assert np.array_equal(eager, [numbers(function()) for _ in range(3)])
        fg.random.set_seed(42)
        assert np.array_equal(eager, [numbers(function()) for _ in range(3)])


def two(seed: int | None = None) -> Any:
    return fg.random.uniform([3], seed=seed), fg.random.uniform([3], seed=seed)


# The examples of tf.random.set_seed's documentation.


def test_functions_of_one_text_draw_the_same_under_a_global_seed() -> None:
    fg.random.set_seed(1234)
    f, g = fg.function(lambda: two()), fg.function(lambda: two())
    a, b = (numbers(x) for x in f())
    assert not np.array_equal(a, b)
    assert np.array_equal([a, b], [numbers(x) for x in g()])


def test_an_op_seed_in_eager_mode_counts_its_calls() -> None:
    for global_seed in (None, 1234):
        fg.random.set_seed(global_seed)
        a, b = (numbers(x) for x in two(seed=1))
        assert not np.array_equal(a, b)
        fg.random.set_seed(global_seed)
        assert np.array_equal([a, b], [numbers(x) for x in two(seed=1)])


def test_ops_of_a_function_with_one_seed_draw_the_same_and_count_each_for_itself() -> None:
    fg.random.set_seed(None)
    foo = fg.function(lambda: two(seed=1))
    a1, a2 = (numbers(x) for x in foo())
    b1, b2 = (numbers(x) for x in foo())
    assert np.array_equal(a1, a2) and np.array_equal(b1, b2) and not np.array_equal(a1, b1)
    bar = fg.function(lambda: two())
    drawn = [numbers(x) for _ in range(2) for x in bar()]
    assert len({tuple(x) for x in drawn}) == 4


def test_set_seed_resets_the_counters_of_functions() -> None:
    fg.random.set_seed(5)
    function = fg.function(lambda: (*two(), *two(seed=3)))
    first = [numbers(x) for x in function()]
    assert not np.array_equal(first, [numbers(x) for x in function()])
    fg.random.set_seed(5)
    assert np.array_equal(first, [numbers(x) for x in function()])


def test_eager_ops_and_functions_do_not_disturb_each_other() -> None:
    fg.random.set_seed(3)
    function = fg.function(lambda: fg.random.uniform([2]))
    alone = [numbers(function()) for _ in range(3)]
    fg.random.set_seed(3)
    mixed = []
    for _ in range(3):
        mixed.append(numbers(function()))
        fg.random.uniform([2])
    assert np.array_equal(alone, mixed)


def test_draws_in_branches_loops_and_inner_functions() -> None:
    inner = fg.function(lambda: fg.random.uniform([2]))

    @fg.function
    def outer(n: Any) -> Any:
        local = fg.function(lambda: fg.random.uniform([2]))  # gone when the trace ends; its generator is not
        total = fg.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + fg.random.uniform([2])), [0, fg.zeros([2])])
        return inner(), local(), total[1], fg.cond(n > 1, lambda: fg.random.uniform([2]), lambda: fg.zeros([2]))

    fg.random.set_seed(11)
    first = [numbers(x) for x in outer(fg.constant(3))]
    second = [numbers(x) for x in outer(fg.constant(3))]
    fg.random.set_seed(11)
    assert np.array_equal(first, [numbers(x) for x in outer(fg.constant(3))])
    assert all(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    # each is the first op of a Function or a branch
    assert np.array_equal(first[0], first[1]) and np.array_equal(first[0], first[3])
    assert len({tuple(x) for x in (*first, *second)}) == 4


def test_ops_of_a_branch_or_a_body_are_counted_by_themselves() -> None:
    one = lambda: fg.random.uniform([])
    functions = (
        (lambda p: [one(), fg.cond(p, one, lambda: one() + 10.0), one()], [0.812696, 0.812696, 0.055544]),
        (
            lambda p: [*fg.unstack(fg.scan(lambda a, x: a + one(), fg.zeros([3]))), one()],
            [0, 0.812696, 1.339985, 0.812696],
        ),
        # of a function for many elements they stand in the graph around it
        (lambda p: [fg.vectorized_map(lambda x: x + one(), fg.zeros([2]))[0], one()], [0.812696, 0.055544]),
    )
    for function, wanted in functions:
        fg.random.set_seed(1)
        np.testing.assert_allclose(fg.function(function)(fg.constant(True)), wanted, rtol=1e-4)


def test_binomial_numbers_move_a_generator_on_as_in_tensorflow() -> None:
    for shape, counts, moved in (([2], 5.0, 250), ([2], [5.0, 6.0], 400), ([3, 2], [5.0, 6.0], 600)):
        generator = fg.random.Generator.from_state([0, 0, 7], alg="philox")
        generator.binomial(shape, counts, 0.5)
        assert generator.state.numpy().tolist() == [moved * 256, 0, 7]


def test_a_draw_whose_numbers_are_unused_still_counts() -> None:
    @fg.function
    def unused() -> Any:
        fg.random.uniform([3])
        return fg.random.uniform([3])

    fg.random.set_seed(5)
    _, wanted = fg.function(lambda: two())()
    assert np.array_equal(numbers(unused()), numbers(wanted))


def test_a_shape_known_only_at_run_time() -> None:
    function = fg.function(lambda n: fg.random.uniform([n, 2], seed=4))
    fg.random.set_seed(9)
    got = [function(fg.constant(n)) for n in (3, 0, 1)]
    fg.random.set_seed(9)
    wanted = [fg.random.uniform([n, 2], seed=4) for n in (3, 0, 1)]
    for g, w in zip(got, wanted, strict=True):
        assert np.array_equal(g.numpy(), w.numpy())


STATELESS = {
    "uniform": lambda seed: fg.random.stateless_uniform([3, 2], seed),
    "uniform int": lambda seed: fg.random.stateless_uniform([9], seed, 2, 1000, fg.int32),
    "full range": lambda seed: fg.random.stateless_uniform([4], seed, None, None, fg.int64),
    "normal": lambda seed: fg.random.stateless_normal([4], seed, 1.0, 2.0),
    "normal float64": lambda seed: fg.random.stateless_normal([4], seed, dtype=fg.float64),
    "truncated": lambda seed: fg.random.stateless_truncated_normal([4], seed),
    "categorical": lambda seed: fg.random.stateless_categorical(fg.zeros([2, 50]), 5, seed),
    "shuffle": lambda seed: fg.random.experimental.stateless_shuffle(fg.range(30), seed),
    "dropout": lambda seed: fg.nn.experimental.stateless_dropout(fg.ones([40]), 0.5, seed),
    "split": lambda seed: fg.random.split(seed, 3),
    "fold_in": lambda seed: fg.random.fold_in(seed, 7),
}


@pytest.mark.parametrize("name", STATELESS)
def test_stateless_numbers_follow_from_the_seed(name: str) -> None:
    draw = STATELESS[name]
    first = numbers(draw([1, 2]))
    fg.random.set_seed(99)
    assert np.array_equal(first, numbers(draw(fg.constant([1, 2]))))
    assert not np.array_equal(first, numbers(draw([2, 1]))) and not np.array_equal(first, numbers(draw([1, 3])))
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            got = numbers(fg.function(draw)(fg.constant([1, 2])))
        np.testing.assert_allclose(got, first, rtol=1e-6)


def test_stateless_seeds_are_checked() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"seed must have shape \[2\], not \[3\]"):
        fg.random.stateless_uniform([2], [1, 2, 3])
    with pytest.raises(fg.errors.InvalidArgumentError, match="Value for attr 'Tseed' of float is not in the list"):
        fg.random.stateless_uniform([2], [1.0, 2])
    with pytest.raises(ValueError, match="must be both None or not None"):
        fg.random.stateless_uniform([2], [1, 2], dtype=fg.int32)
    with pytest.raises(fg.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 3"):
        fg.random.stateless_uniform([2], [1, 2], 5, 3, fg.int32)


OF_DTYPE = {
    "uniform minval": lambda n: fg.random.uniform([2], n, 9),
    "uniform maxval": lambda n: fg.random.uniform([2], -9, n, fg.int32),
    "normal": lambda n: fg.random.normal([2], 0.0, n),
    "truncated_normal": lambda n: fg.random.truncated_normal([2], n),
    "gamma alpha": lambda n: fg.random.gamma([2], n),
    "gamma beta": lambda n: fg.random.gamma([2], 1.0, n),
    "stateless_uniform": lambda n: fg.random.stateless_uniform([2], [1, 2], -9, n, fg.int32),
    "stateless_normal": lambda n: fg.random.stateless_normal([2], [1, 2], n),
    "stateless_gamma": lambda n: fg.random.stateless_gamma([2], [1, 2], n),
    "Generator.normal": lambda n: fg.random.Generator.from_seed(1).normal([2], n),
}


@pytest.mark.parametrize("name", OF_DTYPE)
def test_parameters_of_another_dtype_are_refused(name: str) -> None:
    """No number of another dtype comes of them, and a function says the same."""
    draw = OF_DTYPE[name]
    for parameter in (fg.constant(3, fg.int64), fg.constant(3.0, fg.float64)):
        with pytest.raises(ValueError, match="Tensor conversion requested dtype"):
            draw(parameter)
        if name != "Generator.normal":
            with pytest.raises(ValueError, match="Tensor conversion requested dtype"):
                fg.function(draw)(parameter)


def test_shuffle() -> None:
    fg.random.set_seed(8)
    x = fg.reshape(fg.range(60), [20, 3])
    for result in (fg.random.shuffle(x), fg.function(fg.random.shuffle)(x)):
        rows = result.numpy()
        assert not np.array_equal(rows, x.numpy()) and np.array_equal(rows[np.argsort(rows[:, 0])], x.numpy())
    firsts = np.bincount([int(fg.random.shuffle([0, 1, 2, 3])[0]) for _ in range(400)], minlength=4)
    assert firsts.min() > 60
    assert int(fg.random.shuffle(fg.constant(3))) == 3 and fg.random.shuffle(fg.zeros([0, 2])).shape == (0, 2)


def test_categorical() -> None:
    fg.random.set_seed(4)
    logits = np.log(np.array([[1.0, 0.0, 3.0], [0.2, 0.2, 0.6]]) + 1e-300)
    logits[0, 1] = -np.inf
    drawn = fg.random.categorical(logits, 20_000).numpy()
    assert not (drawn[0] == 1).any() and abs((drawn[0] == 2).mean() - 0.75) < 0.015
    assert np.abs(np.bincount(drawn[1]) / 20_000 - [0.2, 0.2, 0.6]).max() < 0.015
    graph = fg.function(lambda t: fg.random.categorical(t, 7), input_signature=[fg.TensorSpec([None, None])])
    assert graph(fg.zeros([3, 4])).shape == (3, 7)
    for arguments, text in (
        ((fg.zeros([3]), 5), r"logits should be a matrix, got shape \[3\]"),
        ((fg.zeros([2, 0]), 5), "num_classes should be positive, got 0"),
        ((fg.zeros([2, 3]), -1), "num_samples should be non-negative, got -1"),
    ):
        with pytest.raises(fg.errors.InvalidArgumentError, match=text):
            fg.random.categorical(*arguments)


def test_dropout_refuses() -> None:
    x = fg.ones([2, 3])
    for rate, text in (
        (1.5, "in the range"),
        (1, "in the range"),
        ("a", "`rate` must be a scalar or scalar tensor. Received: rate=a"),
        (fg.constant(0), "`x.dtype` must be compatible with `rate.dtype`"),
    ):
        with pytest.raises(ValueError, match=text):
            fg.nn.dropout(x, rate)
    with pytest.raises(ValueError, match="`x.dtype` must be a floating point tensor"):
        fg.nn.dropout(fg.ones([2], fg.int32), 0.5)
    assert set(fg.nn.dropout(fg.ones([30, 4]), 0.5, noise_shape=[None, 1]).numpy().std(1)) == {0.0}


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
    graph = fg.function(lambda t: fg.nn.dropout(t, 0.5, seed=1), input_signature=[fg.TensorSpec([None], fg.float32)])
    fg.random.set_seed(2)
    first = graph(fg.ones([100])).numpy()
    assert np.array_equal(first, fg.nn.dropout(fg.ones([100]), 0.5, seed=1).numpy())
