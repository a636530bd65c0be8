"""enable_check_numerics: the op that first gave NaN or an infinity, and its line, in eager mode and in graphs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fastgraph as fg

Invalid = fg.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    fg.debugging.enable_check_numerics()
    yield
    fg.debugging.disable_check_numerics()


def test_an_eager_op_is_named_with_its_inputs() -> None:
    with pytest.raises(Invalid, match='output 0 of eagerly-executing op "Log"') as caught:
        fg.math.log(fg.constant(-1.0))
    text = str(caught.value)
    for part in (
        "# of NaN elements: 1",
        "Input tensor: tf.Tensor(-1.0, shape=(), dtype=float32)",
        "test_check_numerics.py:",
    ):
        assert part in text, text
    with pytest.raises(Invalid, match=r"Tensor had \+Inf and NaN values"):
        fg.constant([1.0, 0.0]) / 0.0
    with pytest.raises(Invalid, match=r"-Inf values"):
        fg.constant([-1.0]) / fg.constant([0.0])
    assert float(fg.math.log(fg.constant(1.0))) == 0
    assert fg.reshape(fg.constant([float("nan")]), [1, 1]).shape == [1, 1]  # it moved, it was not made here


def test_a_graph_op_is_named_with_its_line() -> None:
    @fg.function
    def f(x: Any) -> Any:
        y = fg.sqrt(x)
        z = fg.math.log(x)  # here
        return y + z

    def fails() -> None:
        with pytest.raises(Invalid, match='output 0 of graph op "Log"') as caught:
            f(fg.constant([0.0]))
        text = str(caught.value)
        assert "# here" in text and "test_check_numerics.py" in text and "Tensor had -Inf values" in text, text

    fails()
    assert f(fg.constant([1.0])).numpy().tolist() == [1]
    assert f.get_concrete_function(fg.constant([1.0])).wait(60)
    fails()
    assert f(fg.constant([1.0])).numpy().tolist() == [1]


def test_loops_branches_and_gradients_are_looked_at() -> None:
    @fg.function
    def loop(x: Any) -> Any:
        for _ in fg.range(3):
            x = 1.0 / (x - 1.0)
        return x

    @fg.function
    def branch(x: Any) -> Any:
        if x > 0:
            return fg.math.log(x - x)
        return x

    @fg.function
    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.sqrt(x)
        return tape.gradient(y, x)

    for f, at in ((loop, 1.0), (branch, 1.0), (gradient, 0.0)):
        with pytest.raises(Invalid, match="Detected Infinity or NaN"):
            f(fg.constant(at))
    with fg.GradientTape() as tape:
        x = fg.constant(0.0)
        tape.watch(x)
        y = fg.sqrt(x)
    with pytest.raises(Invalid, match="eagerly-executing op"):
        tape.gradient(y, x)


def test_values_and_gradients_stay() -> None:
    def f(x: Any) -> Any:
        for i in fg.range(2):
            x = x * fg.sin(x) + fg.cast(i, fg.float32)
        return fg.reduce_sum(x)

    x = fg.constant([1.0, 2.0])

    def both() -> list[float]:
        g = fg.function(f)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        return [float(y), *tape.gradient(y, x).numpy().tolist()]

    checked = both()
    fg.debugging.disable_check_numerics()
    assert checked == both()


def test_it_ends_and_is_each_threads_own() -> None:
    fg.debugging.enable_check_numerics()  # twice is once
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(float(fg.math.log(fg.constant(-1.0)))))
    thread.start()
    thread.join()
    assert found[0] != found[0]
    fg.debugging.disable_check_numerics()
    assert float(fg.math.log(fg.constant(0.0))) == float("-inf")
    assert float(fg.function(lambda x: fg.math.log(x))(fg.constant(0.0))) == float("-inf")
    fg.debugging.disable_check_numerics()


def test_checks_are_named_after_what_they_check() -> None:
    @fg.function
    def f(x: Any) -> Any:
        with fg.name_scope("part"):
            y = fg.math.log(x)
        while fg.reduce_sum(y) < 3.0:
            y = fg.exp(y)
        return y

    graph = f.get_concrete_function(fg.constant([1.0, 2.0])).graph.as_graph_def()
    names = [node.name for node in graph.node]
    names += [node.name for function in graph.library.function for node in function.node_def]
    assert [name for name in names if name.endswith("CheckNumericsV2")] == [
        "part/Log/CheckNumericsV2",
        "while/Exp/CheckNumericsV2",
        "while/Sum/CheckNumericsV2",
    ]
