"""What the forward pass of a traced function keeps for its gradient: only what the backward pass reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def residuals(f: Any, *args: Any, argnum: int = 0) -> list[tuple[str, Any]]:
    """Return the names and types of what a recorded call keeps besides arguments and results; check the gradient."""
    function = fg.function(f)

    def slope(call: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(args[argnum])
            y = call(*args)
        return tape.gradient(y, args[argnum])

    np.testing.assert_allclose(slope(function), slope(f), rtol=1e-5)
    (concrete,) = function._list_all_concrete_functions()
    runner = concrete._runner
    (recording,) = runner._recordings.values()
    n_outputs = len(runner.graph.outputs)
    return [(value.name, str(value.aval)) for value in runner._results(recording.derivative)[n_outputs:]]


x = fg.constant(0.3)
matrix = fg.constant(np.arange(6, dtype=np.float32).reshape(2, 3) / 7.0 + 0.1)
weights = fg.constant(np.arange(12, dtype=np.float32).reshape(3, 4) / 11.0 - 0.3)

CHAINS = {
    "each value is read once": (lambda x: fg.tanh(fg.sin(fg.exp(x))), (x,), ["Exp:0", "Tanh:0"]),
    "a linear function keeps nothing": (lambda x: fg.reduce_sum(x * 2.0 + 1.0), (matrix,), []),
    "the arguments are there anyway": (lambda x: x * x * x, (x,), ["mul:0"]),
    "the results of exp": (lambda x: fg.exp(fg.exp(x)), (x,), ["Exp:0", "Exp_1:0"]),
    "the result of relu": (lambda x, w: fg.nn.relu(fg.matmul(x, w)), (matrix, weights), ["Relu:0"]),
    "the result of softmax": (lambda x: fg.nn.softmax(x * 3.0)[:, 0], (matrix,), ["Softmax:0"]),
    "nothing behind stop_gradient": (
        lambda x: fg.sin(x) + fg.stop_gradient(fg.exp(fg.cos(fg.exp(x)))),
        (matrix,),
        [],
    ),
    "nothing that is not returned": (lambda x: (fg.sin(x), fg.cos(fg.exp(x)))[0], (matrix,), []),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str) -> None:
    f, args, expected = CHAINS[name]
    assert sorted(each for each, _ in residuals(f, *args)) == expected


def test_a_loop_keeps_one_vector_for_what_its_body_reads_and_none_for_a_linear_one() -> None:
    def waves(x: Any) -> Any:
        for _ in fg.range(5):
            x = fg.sin(x) * 2.0
        return x

    def linear(x: Any) -> Any:
        for _ in fg.range(5):
            x = x * 2.0 + 1.0
        return x

    def until(x: Any) -> Any:
        while x < 9.0:
            x = fg.sin(x) + x + 2.0
        return x

    # A number for each iteration; rows of nothing: their number says how many iterations there were.
    assert [kind for _, kind in residuals(waves, x)] == ["bool[5, 0]", "float32[5]"]
    assert [kind for _, kind in residuals(until, x)] == ["bool[?, 0]", "float32[?]"]  # how many, the data decides
    assert [kind for _, kind in residuals(linear, x)] == ["bool[5, 0]"]


def test_a_condition_keeps_the_predicate_and_what_its_branches_read() -> None:
    def simple(x: Any) -> Any:
        if x > 0.0:
            y = fg.sin(x)
        else:
            y = x * 2.0
        return y

    def deep(x: Any) -> Any:
        if x > 0.0:
            y = fg.sin(fg.exp(x))
        else:
            y = fg.cos(x * 3.0)
        return y

    assert [name for name, _ in residuals(simple, x)] == ["Greater:0"]
    assert len(residuals(deep, x)) == 3  # the predicate, and one value of each branch


def test_with_respect_to_what_is_followed_only() -> None:
    def f(a: Any, b: Any) -> Any:
        return fg.exp(a) * fg.cos(fg.exp(b))

    assert len(residuals(f, x, x + 1.0, argnum=0)) == 2  # exp(a), and the cosine
    assert len(residuals(f, x, x + 1.0, argnum=1)) == 2  # exp(b), and exp(a)
