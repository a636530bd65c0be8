"""Whole functions, interpreted and compiled: equal results, no host steps, kernels shared between calls and shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.runtime import explain

X, Y = np.random.default_rng(3).normal(size=(2, 6, 5)).astype("float32")
W = np.random.default_rng(4).normal(size=(5, 4)).astype("float32")
IDS = np.array([3, 0, 5, 5], "int32")


@pytest.fixture(autouse=True)
def _in_this_process() -> Iterator[None]:
    with flags.override(worker=False):
        yield


def layer_norm(x: Any) -> Any:
    mean = fg.reduce_mean(x, axis=-1, keepdims=True)
    variance = fg.reduce_mean(fg.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * fg.math.rsqrt(variance + 1e-3)


def gradient(x: Any, w: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch([x, w])
        y = fg.reduce_mean(fg.nn.softmax(fg.matmul(fg.tanh(x), w)) ** 2.0)
    return [y, *tape.gradient(y, [x, w])]


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "chain": (lambda x: fg.tanh(x) * fg.sigmoid(x) + fg.exp(-x * x) - fg.math.log(1 + x * x), (X,)),
    "broadcast": (lambda x, y: x[:, :1] * y + x[0] - y[:, 2:3], (X, Y)),
    "softmax": (lambda x: fg.nn.softmax(x), (X,)),
    "layer norm": (layer_norm, (X,)),
    "column statistic": (lambda x: (x - fg.reduce_mean(x, axis=0)) / fg.math.reduce_std(x, axis=0), (X,)),
    "product and epilogue": (lambda x, w: fg.nn.relu(fg.matmul(x, w) + 1.0), (X, W)),
    "integers": (lambda i: (i * 3 + 1) // 2 - i % 4, (IDS,)),
    "integer product": (lambda i: fg.matmul(i[:, None] * 2, i[None, :]), (IDS,)),
    "gather": (lambda x, i: fg.gather(x, i) * 2.0, (X, IDS)),
    "one hot": (lambda i: fg.one_hot(i, 6) * 0.5, (IDS,)),
    "concat": (lambda x, y: fg.exp(fg.concat([x, y * 2.0], axis=1)), (X, Y)),
    "transpose": (lambda x, y: fg.transpose(x) @ y, (X, Y)),
    "argmax": (lambda x: fg.argmax(x * x, axis=1), (X,)),
    "select": (lambda x, y: fg.where(x > y, x, fg.zeros_like(y)), (X, Y)),
    "several": (lambda x, y: (x + y, fg.reduce_sum(x + y), fg.reduce_max(x, axis=0), x), (X, Y)),
    "long sum": (lambda x: fg.reduce_sum(fg.tile(x, [1000, 7]) ** 2.0), (X,)),
    "long normalisation": (lambda x: (lambda y: y / fg.reduce_sum(y))(fg.exp(fg.tile(x, [200, 5]))), (X,)),
    "mask": (lambda x: fg.reduce_sum(fg.boolean_mask(x, x > 0.0) * 2.0), (X,)),
    "gradient": (gradient, (X, W)),
    "half": (lambda x: fg.reduce_sum(fg.cast(x, "float16") * 2, axis=1), (X,)),
    "empty": (lambda x: (fg.reduce_sum(x[:0] * 2.0), x[:, :0] + 1.0), (X,)),
    "numbers": (lambda x: functools.reduce(lambda y, i: y * 1.01 - i, range(100), x[0, 0]), (X,)),
    "many numbers": (
        lambda x: fg.stack([functools.reduce(lambda y, i: y * 1.1 + i, range(8), x[k // 5, k % 5]) for k in range(30)]),
        (X,),
    ),
    "shape": (lambda x: fg.cast(fg.shape(x)[0] * 2, "float32") * x, (X,)),
    "cond": (lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: fg.exp(x)), (X,)),
    "while": (lambda x: fg.while_loop(lambda v: fg.reduce_sum(v) < 1e3, lambda v: [v * v + 1.0], [x])[0], (X,)),
}


def both(function: Callable[..., Any], arrays: tuple[np.ndarray, ...], signature: Any = None) -> Any:
    """The results of the first and of the last tier, and the concrete function."""
    results = []
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            staged = fg.function(function, input_signature=signature)
            results.append([np.asarray(r) for r in fg.nest.flatten(staged(*map(fg.constant, arrays)))])
    return (*results, staged.get_concrete_function(*map(fg.constant, arrays)))


def agree(first: list[np.ndarray], last: list[np.ndarray]) -> None:
    assert len(first) == len(last)
    for a, b in zip(first, last, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
        else:
            rtol = 2e-3 if a.dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_interpreted(name: str) -> None:
    first, last, concrete = both(*CASES[name])
    agree(first, last)
    assert concrete.is_compiled
    assert concrete.host_steps == 0


@pytest.mark.parametrize("name", ["chain", "softmax", "layer norm", "column statistic", "shape", "long sum", "argmax"])
def test_unknown_extents_compile_once(name: str, rng: np.random.Generator) -> None:
    from fastgraph.compiler.store import kernel_service

    function = CASES[name][0]
    with flags.override(tier="last"):
        staged = fg.function(function, input_signature=[fg.TensorSpec([None, None], "float32")])
        staged(fg.constant(X))
        before = kernel_service.statistics().compiled + kernel_service.statistics().loaded_from_store
        for shape in ((1, 5), (6, 1), (3, 9), (1, 1), (40, 11), (2, 2)):
            x = rng.normal(size=shape).astype("float32")
            last = [np.asarray(r) for r in fg.nest.flatten(staged(fg.constant(x)))]
            with flags.override(tier="first"):
                first = [np.asarray(r) for r in fg.nest.flatten(staged(fg.constant(x)))]
            agree(first, last)
        assert kernel_service.statistics().compiled + kernel_service.statistics().loaded_from_store == before


def test_a_failing_index_names_op_and_position() -> None:
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            staged = fg.function(lambda x, i: fg.gather(x * 2.0, i) + 1.0)
            with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[2\] = 6 is not in \[0, 6\)"):
                staged(fg.constant(X), fg.constant(np.array([0, 5, 6], "int32")))


def test_variables_are_read_and_assigned_in_program_order() -> None:
    v = fg.Variable(np.ones(4, "float32"))

    def step(x: Any) -> Any:
        a = v + x
        v.assign(a * 2.0)
        b = v + 0.0
        v.assign_add(x)
        return a, b, v.read_value()

    for tier in ("first", "last"):
        with flags.override(tier=tier):
            v.assign(np.ones(4, "float32"))
            a, b, c = fg.function(step)(fg.constant(np.full(4, 3.0, "float32")))
        assert np.asarray(a).tolist() == [4.0] * 4
        assert np.asarray(b).tolist() == [8.0] * 4
        assert np.asarray(c).tolist() == v.numpy().tolist() == [11.0] * 4


def test_an_interpreted_rest_knows_the_shapes_of_what_it_does_not_read() -> None:
    def program(x: fg.Tensor, mask: fg.Tensor) -> fg.Tensor:
        """The branch not taken leaves zeros without rows, which its gradient does not fit: the rest is interpreted."""
        with fg.GradientTape() as tape:
            tape.watch(x)
            mean = fg.reduce_mean(fg.boolean_mask(x, mask), axis=2)
            y = fg.cond(fg.reduce_all(mask), lambda: fg.sigmoid(mean) + mean / 2, lambda: -mean)
        return tape.gradient(y, x)

    operands = fg.constant([[[1.0, 2.0]], [[3.0, 5.0]]]), fg.constant([True, False])
    f = fg.function(program)
    f.get_concrete_function(*operands).wait()
    np.testing.assert_array_equal(f(*operands), program(*operands))


def test_an_interpreted_rest_has_all_that_its_nodes_are_computed_from() -> None:
    """A kernel may read less than the nodes it stands for: the branch's gradient does not look at `scale`."""

    def program(x: fg.Tensor, scale: fg.Tensor, pick: fg.Tensor) -> fg.Tensor:
        with fg.GradientTape() as tape:
            tape.watch([x, scale])
            rows = fg.reshape(fg.asin(fg.tanh(x) / 2), [-1]) + scale
            body = lambda i, y: (i + 1, fg.tanh(fg.sigmoid(y) + y / 2))
            y = fg.while_loop(lambda i, y: i < 1, body, (fg.constant(0), rows))[1]
            y = fg.cond(pick, lambda: fg.sigmoid(y) + y / 2, lambda: -y)
        return tape.gradient(y, [x, scale])

    operands = fg.ones([2, 3, 2]), fg.constant(-2.5), fg.constant(False)
    f = fg.function(
        program, input_signature=[fg.TensorSpec([None, None, 2]), fg.TensorSpec([]), fg.TensorSpec([], bool)]
    )
    f.get_concrete_function().wait()
    for came, expected in zip(f(*operands), program(*operands)):
        np.testing.assert_allclose(came, expected, rtol=1e-6)


def test_an_op_without_results() -> None:
    with flags.override(passes=""):
        f = fg.function(lambda x: fg.stack(fg.unstack(x, 0, 0), 0), autograph=False)
        f.get_concrete_function(fg.ones([0, 4])).wait()
        assert f(fg.ones([0, 4])).shape == [0]


def test_the_tier_changes_between_calls_only() -> None:
    with flags.override(tier="auto"):
        staged = fg.function(lambda x: fg.exp(x) * 3.0)
        first = np.asarray(staged(fg.constant(X)))
        concrete = staged.get_concrete_function(fg.constant(X))
        assert concrete.wait(60) and concrete.is_compiled
        np.testing.assert_allclose(np.asarray(staged(fg.constant(X))), first, rtol=1e-6)


def test_explain_shows_passes_steps_and_sources() -> None:
    text = fg.function(CASES["product and epilogue"][0]).get_concrete_function(fg.constant(X), fg.constant(W)).explain()
    assert "def kernel(buffers, sizes, begin, end)" in text and "gemm" in text and "# after" in text


@pytest.mark.parametrize("passes", ["all", "none"])
def test_what_two_names_share_is_not_written_over_by_the_steps_that_wait_for_sizes(passes: str) -> None:
    def two_names(x: Any, chosen: Any) -> Any:
        a = fg.tanh(x)
        b = fg.reshape(a, [-1])
        total = fg.reduce_sum(fg.boolean_mask(x, chosen))
        return fg.sin(b * total), a * total

    with flags.override(passes=flags._passes(passes)):
        first, last, _ = both(two_names, (X, X[:, 0] > 0))
    agree(first, last)


@pytest.mark.parametrize(
    ("number", "text"), [(2234.5, "2,230"), (999.6, "1,000"), (1e6, "1,000,000"), (0.01234, "0.0123")]
)
def test_estimates_are_shown_without_exponents(number: float, text: str) -> None:
    assert explain._digits(number) == text
