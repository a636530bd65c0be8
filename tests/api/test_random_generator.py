"""random.Generator: its states, Functions that advance them, threads; and what random ops refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import random as R
from fastgraph.core.base import flags


def state_of(g: Any) -> list[int]:
    values: list[int] = g.state.numpy().tolist()
    return values


def test_how_a_state_is_made() -> None:
    for seed, wanted in (
        (1234, [1234, 0, 0]),
        (2**70 + 5, [5, 64, 0]),
        (-1, [-1, -1, -1]),
        ([1, 2], [0, 1, 2]),
        ([1, 2, 3, 4], [1, 2, 3]),
        ([2**63, 1], [0, -(2**63), 1]),
    ):
        assert R.create_rng_state(seed, "philox").numpy().tolist() == wanted
        assert state_of(R.Generator.from_seed(seed)) == wanted
    assert R.create_rng_state([12, 34], "threefry").numpy().tolist() == [12, 34]
    g = R.Generator.from_key_counter(5, [1, 2], "philox")
    assert state_of(g) == [1, 2, 5] and int(g.key) == 5 and g.algorithm == 1
    g.reset([7, 8, 9])
    assert state_of(g) == [7, 8, 9]
    g.reset_from_seed(3)
    assert state_of(g) == [3, 0, 0]
    g.reset_from_key_counter(2, [0, 1])
    assert state_of(g) == [0, 1, 2]
    assert state_of(R.Generator(copy_from=g)) == [0, 1, 2]
    held = fg.Variable([1, 2, 3], dtype=fg.int64)
    assert R.Generator.from_state(held, alg=R.Algorithm.PHILOX).state is held
    states = [state_of(R.Generator.from_non_deterministic_state()) for _ in range(2)]
    assert states[0] != states[1]
    assert R.experimental.Generator is R.Generator and R.experimental.Algorithm is R.Algorithm


def test_a_state_is_a_variable_that_tapes_do_not_follow() -> None:
    g = R.Generator.from_seed(1)
    assert isinstance(g.state, fg.Variable) and g.state.dtype == fg.int64 and not g.state.trainable
    first = g.normal([5]).numpy()
    g.state.assign([1, 0, 0])
    assert np.array_equal(g.normal([5]).numpy(), first)


def test_the_global_generator() -> None:
    before = R.get_global_generator()
    assert R.get_global_generator() is before
    mine = R.Generator.from_seed(5)
    R.set_global_generator(mine)
    try:
        assert R.experimental.get_global_generator() is mine
    finally:
        R.set_global_generator(before)


def test_skip_goes_on_as_a_draw_does() -> None:
    a, b = R.Generator.from_seed(9), R.Generator.from_seed(9)
    a.uniform([3, 4])
    before = b.skip(12)
    assert before.numpy().tolist() == [9, 0, 0] and state_of(a) == state_of(b)
    fg.function(lambda n: b.skip(n))(fg.constant(12))
    a.normal([12])
    assert state_of(a) == state_of(b)
    high = R.Generator.from_state([-1, 6, 3], "philox")
    high.skip(1)
    assert state_of(high) == [255, 7, 3]  # the carry
    in_graph = R.Generator.from_state([-1, 6, 3], "philox")
    draw = fg.function(lambda: in_graph.uniform([2]))
    draw()
    draw()
    assert state_of(in_graph) == [1023, 7, 3]


METHODS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda g: g.normal([3, 7], 1.0, 2.0),
    "normal float64": lambda g: g.normal([9], dtype=fg.float64),
    "truncated": lambda g: g.truncated_normal([300]),
    "uniform": lambda g: g.uniform([5], -1, 1),
    "uniform int": lambda g: g.uniform([5], 2, 9, fg.int32),
    "full": lambda g: g.uniform([5], None, None, fg.int64),
    "uniform_full_int": lambda g: g.uniform_full_int([5]),
    "binomial": lambda g: g.binomial([5, 2], [4.0, 300.0], 0.4),
    "make_seeds": lambda g: g.make_seeds(3),
}


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("name", METHODS)
def test_functions_advance_a_generator_as_eager_mode_does(name: str, tier: str) -> None:
    a, b = R.Generator.from_seed(77), R.Generator.from_seed(77)
    with flags.override(tier=tier):
        function = fg.function(lambda: METHODS[name](b))
        for _ in range(3):
            eager, graph = METHODS[name](a), function()
            assert eager.dtype == graph.dtype and np.array_equal(eager.numpy(), graph.numpy())
            assert state_of(a) == state_of(b)


def test_a_loop_in_a_function_draws_anew_each_time() -> None:
    g, h = R.Generator.from_seed(4), R.Generator.from_seed(4)

    @fg.function
    def total(n: Any) -> Any:
        return fg.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + g.uniform([3])), [0, fg.zeros([3])])[1]

    wanted = np.zeros(3, np.float32)
    for _ in range(5):
        wanted = wanted + h.uniform([3]).numpy()
    assert np.array_equal(total(fg.constant(5)).numpy(), wanted) and state_of(g) == state_of(h)


def test_a_shape_known_only_at_run_time() -> None:
    g, h = R.Generator.from_seed(4), R.Generator.from_seed(4)

    @fg.function(input_signature=[fg.TensorSpec([None], fg.int32)])
    def draw(shape: Any) -> Any:
        return g.normal(shape), g.truncated_normal(shape), g.uniform(shape, 0, 9, fg.int64)

    for shape in ([4], [0], [7]):
        got = draw(fg.constant(shape))
        wanted = h.normal(shape), h.truncated_normal(shape), h.uniform(shape, 0, 9, fg.int64)
        for a, b in zip(got, wanted, strict=True):
            assert np.array_equal(a.numpy(), b.numpy())
    assert state_of(g) == state_of(h)


def test_split_and_make_seeds_give_different_ones_each_time() -> None:
    g = R.Generator.from_seed(1)
    made = [*g.split(3), *g.split(3)]
    assert len({tuple(state_of(x)) for x in made}) == 6
    assert g.split(0) == [] and g.make_seeds().shape == (2, 1)
    assert not np.array_equal(g.make_seeds(4).numpy(), g.make_seeds(4).numpy())


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_threads_never_get_the_same_numbers(kind: str) -> None:
    g = R.Generator.from_seed(1)

    def eager() -> Any:
        return g.uniform_full_int([2])

    draw = eager if kind == "eager" else fg.function(eager)
    draw()
    found: list[tuple[int, ...]] = []

    def work() -> None:
        found.extend([tuple(draw().numpy().tolist()) for _ in range(200)])

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(found)) == 1200 and state_of(g) == [1 + 1201 * 512, 0, 0]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_bits_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    def draw() -> Any:
        seed, shape = [5, 6], [3, 70_001]
        return [
            R.stateless_uniform(shape, seed),
            R.stateless_normal(shape, seed),
            R.stateless_normal(shape, seed, dtype=fg.float64),
            R.stateless_uniform(shape, seed, dtype=fg.bfloat16),
            R.stateless_uniform(shape, seed, None, None, fg.uint64),
            R.stateless_truncated_normal(shape, seed),
        ]

    eager = [x.numpy() for x in draw()]
    with flags.override(tier="last", threads=threads):
        for e, g in zip(eager, fg.function(draw)(), strict=True):
            assert np.array_equal(e, g.numpy())


# ---- what is refused ------------------------------------------------------------------------------------------------

Invalid = fg.errors.InvalidArgumentError


def philox() -> R.Generator:
    return R.Generator.from_seed(1)


REFUSED: dict[str, tuple[Callable[[], Any], type[BaseException], str]] = {
    "algorithm": (
        lambda: R.Generator.from_seed(1, alg="foo"),
        ValueError,
        "Argument `alg` got unsupported value foo. ",
    ),
    "number": (lambda: R.Generator.from_seed(1, alg=7), ValueError, "Supported values are 1 for the Philox"),
    "kind": (lambda: R.Generator.from_seed(1, alg=1.5), TypeError, "Can't convert argument `alg` .of value 1.5"),
    "threefry": (
        lambda: R.Generator.from_seed(1, alg="threefry").normal([2]),
        fg.errors.UnimplementedError,
        "Non-XLA devices don't support the ThreeFry algorithm",
    ),
    "stateless alg": (lambda: R.stateless_normal([2], [1, 2], alg="foo"), ValueError, "unsupported value foo"),
    "state": (
        lambda: R.Generator.from_state([1, 2], "philox"),
        ValueError,
        r"Shapes \(2,\) and \[3\] are incompatible",
    ),
    "reset": (lambda: philox().reset([1, 2]), ValueError, r"Shapes \(2,\) and \[3\] are incompatible"),
    "counter": (lambda: R.Generator.from_key_counter(1, [1], "philox"), ValueError, r"Shapes \(1,\) and \[2\]"),
    "float state": (lambda: R.create_rng_state(1.5, "philox"), TypeError, "is integers, not float32"),
    "nothing": (lambda: R.Generator(), AssertionError, "copy_from"),
    "one bound": (lambda: philox().uniform([2], dtype=fg.int32), ValueError, "must be both `None` or both non-`None`"),
    "empty range": (lambda: philox().uniform([2], 5, 3, fg.int32), Invalid, "Need minval < maxval, got 5 >= 3"),
    "small int": (lambda: philox().uniform_full_int([2], fg.int8), Invalid, "Value for attr 'dtype' of int8 is not in"),
    "integers": (
        lambda: philox().normal([2], dtype=fg.int32),
        TypeError,
        "Cannot convert 0.0 to EagerTensor of dtype int32",
    ),
    "size": (lambda: philox().normal([-1]), Invalid, "Dimension -1 must be >= 0"),
    "uniform size": (lambda: R.uniform([-2]), Invalid, "Dimension -2 must be >= 0"),
    "gamma size": (lambda: R.gamma([-2], [1.0]), Invalid, "Dimension -2 must be >= 0"),
    "truncated size": (lambda: R.truncated_normal([-2]), Invalid, "Dimension -2 must be >= 0"),
    "vector bound": (lambda: R.uniform([2], [1], [3], dtype=fg.int32), Invalid, r"minval must be 0-D, got shape \[1\]"),
    "unsigned": (lambda: R.stateless_uniform([2], [1, 2], 0, 5, fg.uint32), ValueError, "Please don't use unsigned"),
    "int8": (
        lambda: R.stateless_uniform([2], [1, 2], dtype=fg.int8),
        ValueError,
        "got invalid value tf.int8. Accepted",
    ),
    "gamma dtype": (lambda: R.gamma([2], [1.0], dtype=fg.int32), TypeError, "Cannot convert"),
    "gamma shape": (lambda: R.gamma(3, 2.0), Invalid, "shape must be a vector of {int32,int64}, got shape"),
    "gamma broadcast": (lambda: R.gamma([3], [1.0, 2.0], [1.0, 2.0, 3.0]), Invalid, "Incompatible shapes"),
    "gamma ends": (lambda: R.stateless_gamma([2], [1, 2], [1.0] * 3), Invalid, "must end with broadcasted shape"),
    "poisson dtype": (
        lambda: R.poisson([2], [1.0], fg.int8),
        Invalid,
        "Value for attr 'dtype' of int8 is not in the list",
    ),
    "poisson rate": (lambda: R.poisson([2], fg.constant(["a"])), Invalid, "of string is not in the list of allowed"),
    "poisson ends": (lambda: R.stateless_poisson([2], [1, 2], [1.0] * 3), Invalid, "must end with broadcasted shape"),
    "binomial ends": (lambda: R.stateless_binomial([2], [1, 2], [1.0] * 3, 0.5), Invalid, "must end with broadcasted"),
    "between": (
        lambda: R.stateless_parameterized_truncated_normal([2], [1, 2], 0.0, 1.0, 3.0, 2.0),
        Invalid,
        "Invalid parameters",
    ),
    "index": (lambda: R.experimental.index_shuffle(5, [1, 2], 3), Invalid, "max_index must be >= index, but 3 < 5"),
    "seed shape": (lambda: R.stateless_gamma([2], [1, 2, 3], 1.0), Invalid, r"seed must have shape \[2\], not \[3\]"),
    "seed dtype": (lambda: R.stateless_poisson([2], [1.0, 2], 1.0), Invalid, "Value for attr 'Tseed' of float"),
    "split": (lambda: R.split([1, 2], -1), Invalid, "Dimension -1 must be >= 0"),
    "categorical dtype": (
        lambda: R.stateless_categorical([[1.0, 2]], 3, [1, 2], fg.float32),
        ValueError,
        r"Accepted dtypes are \(tf.int32, tf.int64\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused(name: str) -> None:
    make, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        make()


def test_parameters_outside_their_range_give_what_tensorflow_gives() -> None:
    got = R.gamma([2], [-1.0, 0.0]).numpy()
    assert np.isnan(got[:, 0]).all() and (got[:, 1] == np.finfo(np.float32).tiny).all()
    assert R.poisson([2], [-1.0, 0.0, np.inf]).numpy().tolist() == [[0, 0, np.inf]] * 2
    assert R.stateless_poisson([2], [1, 2], 1e30).numpy().tolist() == [2**31 - 1] * 2
    assert R.stateless_binomial([2], [1, 2], -1.0, 0.5).numpy().tolist() == [0, 0]
    assert R.stateless_binomial([2], [1, 2], 3.0, 1.5).numpy().tolist() == [3, 3]
    for make in (lambda: R.gamma([0, 2], [1.0, 2.0]), lambda: R.poisson([2], np.zeros([0, 3]))):
        assert make().numpy().size == 0


def test_shapes_are_known_while_tracing() -> None:
    seen = []

    @fg.function(input_signature=[fg.TensorSpec([None, 2])])
    def trace(x: Any) -> Any:
        seed = [1, 2]
        drawn = [
            R.gamma([3], [1.0, 2.0]),
            R.poisson([3], [1.0, 2.0]),
            R.stateless_gamma([3, 2], seed, [1.0, 2.0]),
            R.stateless_binomial([3], seed, 3.0, 0.5),
            R.stateless_parameterized_truncated_normal([3, 4], seed),
            R.truncated_normal([3, 4]),
            R.stateless_truncated_normal([5], seed),
            R.experimental.stateless_shuffle(fg.range(4), seed),
            R.shuffle(x),
            R.split(seed, 3),
            R.experimental.index_shuffle(fg.range(3), seed, 5),
            R.gamma([2], x),
        ]
        seen.extend([d.shape.as_list() for d in drawn])
        return drawn

    got = trace(fg.ones([6, 2]))
    assert seen == [[3, 2], [3, 2], [3, 2], [3], [3, 4], [3, 4], [5], [4], [None, 2], [3, 2], [3], [2, None, 2]]
    assert [d.shape.as_list() for d in got][-4:] == [[6, 2], [3, 2], [3], [2, 6, 2]]
