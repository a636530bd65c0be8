"""Lists that staged loops append to: no iteration copies the list, plans anew, or is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.program.program import WhileStep, programs
from fastgraph.core.base import flags
from tests.proportion import takes_less


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    with flags.override(tier="last"):
        yield


def plain(x: Any, n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(x * fg.cast(i, fg.float32))
    return fg.stack(values)


def carried(x: Any, n: Any) -> Any:
    values, state = [], x
    for _ in fg.range(n):
        state = fg.tanh(state * 0.9 + x)
        values.append(state)
    return fg.stack(values)


def conditional(x: Any, n: Any) -> Any:
    values = []
    for i in fg.range(n):
        if i % 2 == 0:
            values.append(x * fg.cast(i, fg.float32))
    return fg.stack(values)


def until(x: Any, n: Any) -> Any:
    values = []
    for i in fg.range(n + 2):
        if i >= n:
            break
        values.append(x * fg.cast(i, fg.float32))
    return fg.stack(values)


def last(x: Any, n: Any) -> Any:
    values = [x]
    for _ in fg.range(n):
        values.append(values[-1] * 0.9 + x)
    return fg.stack(values)


def nested(x: Any, n: Any) -> Any:
    values = []
    for i in fg.range(n // 2):
        for j in fg.range(2):
            values.append(x * fg.cast(i + j, fg.float32))
    return fg.stack(values)


def kept(x: Any, n: Any) -> Any:
    """What the list was an iteration ago is read after it has been appended to."""
    values, total = [x], x * 0.0
    for i in fg.range(n):
        before = fg.stack(values)
        values.append(x * fg.cast(i, fg.float32))
        total += fg.reduce_sum(before, 0) + values[-1]
    return fg.concat([fg.stack(values), [total]], 0)


def twice(x: Any, n: Any) -> Any:
    """Two appends an iteration, either of which may not take place."""
    values = [x]
    for i in fg.range(n):
        if i % 2 == 0:
            values.append(x * fg.cast(i, fg.float32))
        if i % 3 == 0:
            values.append(values[-1] + 1.0)
        values.append(values[0] + values[-1])
    return fg.stack(values)


def written(x: Any, n: Any) -> Any:
    values = fg.TensorArray(fg.float32, size=n, element_shape=x.shape)
    for i in fg.range(n):
        values = values.write(n - 1 - i, x * fg.cast(i, fg.float32))
    return values.stack()


def dynamic(x: Any, n: Any) -> Any:
    values = fg.TensorArray(fg.float32, size=0, dynamic_size=True)
    for i in fg.range(n):
        values = values.write(i, x * fg.cast(i, fg.float32))
    return values.stack()


def beginnings(x: Any, n: Any) -> Any:
    """What the list was between two loops is another name's."""
    values = []
    for i in fg.range(n):
        if i % 2 == 0:
            values.append(x)
    before = fg.stack(values)
    for i in fg.range(n):
        if i % 3 == 0:
            values.append(x * fg.cast(i, fg.float32))
    return fg.concat([before, fg.stack(values)], 0)


def of_two(x: Any, n: Any) -> Any:
    """Two lists, one of pairs; a loop inside appends a number of times that data decide."""
    pairs, others = [(x, 0)], [x]
    for i in fg.range(n):
        for j in fg.range(i % 3):
            pairs.append((x * fg.cast(j, fg.float32), i))
            if j == 1:
                others.append(x - fg.cast(i, fg.float32))
    numbers = fg.stack([fg.cast(k, fg.float32) for _, k in pairs])
    return fg.concat([fg.stack([y for y, _ in pairs]) + numbers[:, None], fg.stack(others)], 0)


KERNELS = [plain, carried, conditional, until, last, nested, written, dynamic]
ALL = [*KERNELS, kept, twice, beginnings, of_two]
X = np.float32([1.5, -2.0, 0.25])


def staged(function: Callable[..., Any], columns: int | None = 3) -> Any:
    return fg.function(function, input_signature=[fg.TensorSpec([columns], fg.float32), fg.TensorSpec([], fg.int32)])


def eagerly(function: Callable[..., Any], *arguments: Any) -> Any:
    fg.config.run_functions_eagerly(True)
    try:
        return fg.function(function)(*arguments)
    finally:
        fg.config.run_functions_eagerly(False)


@pytest.mark.parametrize("function", ALL)
def test_values(function: Callable[..., Any]) -> None:
    made = [staged(function)] + ([staged(function, None)] if function in (conditional, last) else [])
    for n in (2, 30):
        wanted = eagerly(function, fg.constant(X), fg.constant(n))
        for each in made:
            np.testing.assert_allclose(each(X, n), wanted, rtol=2e-5)
    with flags.override(tier="first"):
        np.testing.assert_allclose(staged(function)(X, 30), wanted, rtol=2e-5)


@pytest.mark.parametrize("function", [plain, carried, conditional, nested, last, written, dynamic])
def test_gradients(function: Callable[..., Any]) -> None:
    def slope(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            total = fg.reduce_sum(fg.sin(function(x, n)))
        return tape.gradient(total, x)

    wanted = eagerly(slope, fg.constant(X), fg.constant(6))
    np.testing.assert_allclose(staged(slope)(X, 6), wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("function", KERNELS)
def test_their_loops_are_kernels(function: Callable[..., Any]) -> None:
    concrete = staged(function).get_concrete_function()
    concrete(X, 3)
    loops = [s for each in programs(concrete.executable.program) for s in each.steps if isinstance(s, WhileStep)]
    assert loops and all(step.burst_program is not None for step in loops)


def test_an_iteration_that_fails_after_an_append() -> None:
    def divided(x: Any, n: Any) -> Any:
        values, found = [], x
        for i in fg.range(n):
            if i % 2 == 0:
                values.append(x * fg.cast(i, fg.float32))
            found += fg.cast(60 // (20 - i), fg.float32)
        return fg.concat([fg.stack(values), [found]], 0)

    made = staged(divided)
    np.testing.assert_allclose(made(X, 20), eagerly(divided, fg.constant(X), fg.constant(20)), rtol=1e-6)
    with pytest.raises(fg.errors.InvalidArgumentError, match="division by zero|Integer division"):
        made(X, 22)
    np.testing.assert_allclose(made(X, 20), eagerly(divided, fg.constant(X), fg.constant(20)), rtol=1e-6)


@pytest.mark.parametrize("function", [plain, carried, conditional, until, last, nested, written])
def test_their_cost_is_linear(function: Callable[..., Any]) -> None:
    """4000 elements of 4 kB: to copy the list at each of them would be to move 32 GB."""
    made, x = staged(function, 1000), np.ones(1000, np.float32)
    made(x, 4)
    made(x, 8)
    assert made(x, 4000).shape[0] >= 2000
    assert takes_less(lambda: made(x, 4000), 0.6)


@pytest.mark.parametrize("function", [plain, carried])
def test_their_gradient_has_loops_of_kernels(function: Callable[..., Any]) -> None:

    def slope(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            total = fg.reduce_sum(function(x, n))
        return tape.gradient(total, x)

    made = staged(slope)
    made(X, 5)
    assert takes_less(lambda: made(X, 2000), 0.005)  # as many calls of Python take ten times as long


def test_an_element_is_as_long_as_the_shape_says() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None, 8], fg.float32)])
    def f(x: Any) -> Any:
        like = fg.broadcast_to(1.0, fg.shape(x))
        more = fg.reshape(x, fg.concat([[2, -1], fg.shape(x)[1:]], 0))
        tall = fg.zeros(fg.cast(fg.shape(x), fg.int64))
        assert like.shape.as_list() == tall.shape.as_list() == [None, 8] and more.shape.rank == 3
        return like + tall, more

    like, more = f(fg.ones([4, 8]))
    assert like.shape == (4, 8) and more.shape == (2, 2, 8)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_loop_over_a_dataset_that_carries_the_list_alone(dtype: str) -> None:
    def scaled(x: Any) -> Any:
        values = []
        for i in fg.data.Dataset.range(7):
            values.append(x * fg.cast(i, x.dtype))
        return fg.stack(values)

    for x in (fg.cast([2, 3], dtype), fg.zeros([0, 3], dtype), fg.cast(2, dtype)):
        concrete = fg.function(scaled).get_concrete_function(x)
        wanted = scaled(x)
        assert concrete(x).shape == wanted.shape
        assert fg.reduce_all(concrete(x) == wanted)
        assert any(isinstance(step, WhileStep) for step in concrete.executable.program.steps)  # not interpreted
