"""Sums that loops carry, to parts of which they add: in place, right to second order, and never under another's eyes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.library import loop_kernels
from fastgraph.compiler.program.program import HostStep, WhileStep, programs
from fastgraph.core.base import flags
from fastgraph.graph.ir import Graph
from fastgraph.graph.passes.optimize import optimise


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with flags.override(tier="last"):
        yield


def rows(x: Any) -> Any:
    total = fg.constant(0.0)
    for i in fg.range(fg.shape(x)[0]):
        total = total * 0.5 + fg.reduce_sum(fg.sin(x[i])) * x[-i, 1]
    return total


def inner(x: Any) -> Any:
    total = fg.constant(0.0)
    for i in fg.range(fg.shape(x)[0]):
        for j in fg.range(3):
            for k in fg.range(2):
                total = total * 0.8 + fg.sin(x[i, j] * x[i, k + 1])
    return total


def branches(x: Any) -> Any:
    total = fg.constant(0.0)
    for i in fg.range(fg.shape(x)[0]):
        if total > 3.0:
            break
        if total > 0.3:
            total = total * 0.5 + x[i, 0] * x[i, 1]
        else:
            total = total + fg.reduce_sum(x[-i] ** 2)
    return total


def slices(x: Any) -> Any:
    total = fg.constant(0.0)
    for i in fg.range(fg.shape(x)[0] - 1):
        total = total * 0.9 + fg.reduce_sum(fg.sin(x[i : i + 2])) + fg.reduce_sum(x[::2, i % 4] ** 2)
        total = total + fg.reduce_sum(x[i, ::-1, None] ** 2) + fg.reduce_sum(x * x)
    return total


def gathers(x: Any) -> Any:
    total = fg.constant(0.0)
    for i in fg.range(fg.shape(x)[0]):
        total = total * 0.9 + fg.reduce_sum(fg.gather(x, [i, 0]) ** 3)
        total = total + fg.reduce_sum(fg.gather(x, [1, i % 4], axis=1) ** 3)
    return total


def _gradients(loss: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def gradients(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = loss(x)
            first = tape.gradient(y, x)
            again = fg.reduce_sum(first * first)
        return y, first, outer.gradient(again, x)

    return gradients


def _ops(graph: Graph) -> Iterator[str]:
    """The ops of the loops in a graph."""
    for node in graph.nodes:
        for value in node.attrs.values():
            if isinstance(value, Graph):
                yield from [each.op.name for each in value.nodes]
                yield from _ops(value)


@pytest.mark.parametrize("shape", [[6, 4], [None, 4], [None, None]])
@pytest.mark.parametrize("loss", [rows, inner, branches, slices, gathers])
def test_gradients_to_second_order(loss: Any, shape: Any) -> None:
    x = fg.constant(np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32) * 0.7)
    staged = fg.function(_gradients(loss), input_signature=[fg.TensorSpec(shape)])
    for found, wanted in zip(staged(x), _gradients(loss)(x), strict=True):
        np.testing.assert_allclose(fg.convert_to_tensor(found), fg.convert_to_tensor(wanted), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("loss", [rows, inner, branches])
def test_nothing_is_as_long_as_the_whole(loss: Any) -> None:
    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = loss(x)
        return tape.gradient(y, x)

    concrete = fg.function(gradient).get_concrete_function(fg.TensorSpec([6, 4]))
    found = set(_ops(optimise(concrete.graph.ir)))
    assert "strided_slice_add" in found
    assert "strided_slice_grad" not in found


def _own_sum(history: bool) -> Callable[..., Any]:
    """A sum of gradients that the user's loop carries; its earlier values are looked at, too."""

    def loop(x: Any, total: Any) -> Any:
        kept = fg.TensorArray(fg.float32, size=4, element_shape=x.shape)
        before = fg.zeros([])
        for i in fg.range(4):
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = x[i] ** 3 + x[0]
            if history:
                before = before + total[i] * 10.0
            total = total + tape.gradient(y, x)
            kept = kept.write(i, total if history else x)
        return total, before, kept.stack()

    return loop


@pytest.mark.parametrize("history", [False, True])
def test_what_others_look_at_stays(history: bool) -> None:
    x, total = fg.constant([1.0, 2.0, 3.0, 4.0]), fg.constant([0.5, 0.0, 0.0, 0.0])
    loop = _own_sum(history)
    wanted = [each.numpy() for each in loop(x, total)]
    staged = fg.function(loop)
    for _ in range(3):
        for found, expected in zip(staged(x, total), wanted, strict=True):
            np.testing.assert_allclose(found, expected)
        np.testing.assert_array_equal(total, [0.5, 0.0, 0.0, 0.0])


def test_a_loop_inside_gets_what_the_outer_one_carries() -> None:
    """Written over there, but not where the outer loop, or its caller, still looks at it."""

    def loop(x: Any, n: Any) -> Any:
        kept = fg.TensorArray(fg.float32, size=3, element_shape=x.shape)
        first = x
        for i in fg.range(3):
            if i == 1:
                first = x
            for j in fg.range(n):
                x = fg.tensor_scatter_nd_add(x, [[j]], [1.0])
            kept = kept.write(i, x)
            for j in fg.range(n):
                x = fg.tensor_scatter_nd_update(x, [[j]], [fg.cast(i, fg.float32)])
        return x, first, kept.stack()

    x, n = fg.zeros([2000]), fg.constant(5)
    wanted = [each.numpy() for each in loop(x, n)]
    staged = fg.function(loop)
    for _ in range(3):
        for found, expected in zip(staged(x, n), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
        assert not x.numpy().any()


def test_an_index_that_does_not_fit() -> None:
    def loop(x: Any, n: Any) -> Any:
        for j in fg.range(n):
            x = fg.tensor_scatter_nd_add(x, [[j]], [1.0])
        return x

    x = fg.zeros([4])
    staged = fg.function(loop)
    np.testing.assert_array_equal(staged(x, fg.constant(4)), np.ones(4))
    with pytest.raises(fg.errors.InvalidArgumentError, match="does not index into shape"):
        staged(x, fg.constant(5))
    assert not x.numpy().any()
    np.testing.assert_array_equal(staged(x, fg.constant(3)), [1, 1, 1, 0])


def twice(x: Any, n: Any) -> Any:
    made = fg.TensorArray(fg.float32, size=200, element_shape=(4,), clear_after_read=False)
    h = x[0]
    for t in fg.range(n):
        made = made.write(2 * t, 0.5 * h + x[t])
        h = made.read(2 * t)
        made = made.write(2 * t + 1, 2.0 * h)
    return made.stack()


def read_before(x: Any, n: Any) -> Any:
    """The first write may not happen in place: the row is read before it, and the second may fail."""
    made = fg.TensorArray(fg.float32, size=200, element_shape=(4,), clear_after_read=False).unstack(fg.ones([200, 4]))
    for t in fg.range(n):
        made = made.write(0, made.read(0) + 1.0)
        made = made.write(2 * t + 1, x[t])
    return made.stack()


@pytest.mark.parametrize(("loop", "bursts"), [(twice, 1), (read_before, 0)])
def test_two_writes_an_iteration(monkeypatch: pytest.MonkeyPatch, loop: Any, bursts: int) -> None:
    x = fg.constant(np.random.default_rng(0).standard_normal((100, 4)).astype(np.float32))
    staged = fg.function(loop)
    found = staged(x, fg.constant(100)).numpy()
    executable: Any = staged.get_concrete_function(x, fg.constant(100)).executable
    loops = [s for p in programs(executable.program) for s in p.steps if isinstance(s, WhileStep)]
    assert sum(s.burst_program is not None for s in loops) >= bursts
    with monkeypatch.context() as patch:
        patch.setattr(loop_kernels, "burst_program", lambda *_: None)
        np.testing.assert_array_equal(found, fg.function(loop)(x, fg.constant(100)))
    with pytest.raises(fg.errors.InvalidArgumentError, match="in a list with 200 elements|out of bounds"):
        staged(x, fg.constant(101))


def test_a_first_element_of_many() -> None:
    """Written before a loop: put among zeros, not stacked with as many."""

    def loop(x: Any) -> Any:
        made = fg.TensorArray(fg.float32, size=501, element_shape=(4,), clear_after_read=False).write(0, x[0])
        for t in fg.range(500):
            made = made.write(t + 1, 0.5 * made.read(t) + x[t])
        return made.stack()

    x = fg.constant(np.random.default_rng(0).standard_normal((500, 4)).astype(np.float32))
    staged = fg.function(loop)
    wanted = [x.numpy()[0]]
    for row in x.numpy():
        wanted.append(np.float32(0.5) * wanted[-1] + row)
    np.testing.assert_allclose(staged(x), np.stack(wanted), rtol=1e-6)
    executable: Any = staged.get_concrete_function(x).executable
    assert not [s for p in programs(executable.program) for s in p.steps if isinstance(s, HostStep)]
