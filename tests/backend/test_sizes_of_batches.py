"""Extents of datasets' elements and of lists' elements that only inference knows: what takes them is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.program import DynamicStep, HostStep
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph


def by_bodies(function: Any, *args: Any) -> list[str]:
    """The names of the ops that the Program, or one inside of it, runs by their bodies."""
    graph = compile_graph(function.get_concrete_function(*args).graph.ir)
    shapes = [tuple([3 if n is None else n for n in value.aval.shape or ()]) for value in graph.parameters]
    program = assemble(graph, witness_shapes(graph, shapes))
    return list(named(program))


def named(program: Any) -> Iterator[str]:
    for step in program.steps:
        if isinstance(step, (DynamicStep, HostStep)):
            yield step.node.op.name
        for inner in ("then_program", "else_program", "body_program"):
            if hasattr(step, inner):
                yield from named(getattr(step, inner))


def recurrent(size: Any) -> Any:
    """The outputs of a recurrent network, its last state, and gradients: its TensorArray says no shape of elements."""

    def function(x: Any, w: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(w)
            steps, n = fg.transpose(x, [1, 0, 2]), fg.shape(x)[1]
            written = fg.TensorArray(fg.float32, size=size(n))

            def body(i: Any, h: Any, written: Any) -> Any:
                h = fg.tanh(steps[i] + h @ w)
                return i + 1, h, written.write(i if size(7) == 7 else 0, h)

            start = (0, fg.zeros([fg.shape(x)[0], 4]), written)
            _, h, written = fg.while_loop(lambda i, h, written: i < n, body, start)
            loss = fg.reduce_sum(written.stack() ** 2) + fg.reduce_sum(h)
        return written.stack(), h, tape.gradient(loss, w)

    return function


@pytest.mark.parametrize("size", [lambda n: n, lambda n: 1], ids=["each", "last"])
def test_lists_of_blanks(size: Any) -> None:
    eager = recurrent(size)
    signature = [fg.TensorSpec([None, None, 4]), fg.TensorSpec([4, 4])]
    function = fg.function(eager, input_signature=signature)
    assert {*by_bodies(function)} == {"assert"}
    random = np.random.default_rng(0)
    w = fg.constant(random.normal(size=(4, 4)).astype("f") / 4)
    with flags.override(tier="last"):
        for shape in ((3, 5, 4), (2, 1, 4), (1, 1, 4), (0, 2, 4), (7, 3, 4)):
            x = fg.constant(random.normal(size=shape).astype("f"))
            for got, want in zip(function(x, w), eager(x, w), strict=True):
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
        with pytest.raises(fg.errors.InvalidArgumentError, match="only contains uninitialized tensors"):
            function(fg.zeros([3, 0, 4]), w)


def test_lists_where_arguments_have_one_batch() -> None:
    def step(x: Any, y: Any, w: Any) -> Any:
        outputs, _, gradient = recurrent(lambda n: n)(x, w)
        return fg.reduce_sum(outputs[-1] * y), gradient

    signature = [fg.TensorSpec([None, 3, 4]), fg.TensorSpec([None, 1]), fg.TensorSpec([4, 4])]
    assert {*by_bodies(fg.function(step, input_signature=signature))} == {"assert"}


def test_elements_may_be_others_than_those_that_were_foreseen() -> None:
    """The first write is in a branch that is not taken: the one that is says the shape."""

    @fg.function(input_signature=[fg.TensorSpec([None, 2]), fg.TensorSpec([None, 2]), fg.TensorSpec([], fg.bool)])
    def f(a: Any, b: Any, first: Any) -> Any:
        written = fg.TensorArray(fg.float32, size=3, element_shape=[None, 2])
        i = 0
        while fg.less(i, 3):
            written = written.write(i, a) if first else written.write(i, b)
            i += 1
        return written.stack()

    a, b = np.ones([2, 2], "f"), np.full([3, 2], 5.0, "f")
    with flags.override(tier="last"):
        for _ in range(2):
            np.testing.assert_array_equal(f(a, b, True), np.stack([a] * 3))
            np.testing.assert_array_equal(f(a, b, False), np.stack([b] * 3))


def batches(*arrays: Any, size: int = 4) -> Any:
    return fg.data.Dataset.from_tensor_slices(arrays).batch(size)


def test_examples_and_labels_have_one_batch() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(10, 3)).astype("f"), random.normal(size=(10, 1)).astype("f")
    w = fg.Variable(np.ones([3, 1], np.float32))

    def step(iterator: Any) -> Any:
        features, target = next(iterator)
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean((features @ w - target) ** 2)
        return loss, tape.gradient(loss, w)

    function = fg.function(step)
    assert by_bodies(function, iter(batches(x, y))) == ["iterator_get_next"]
    with flags.override(tier="last"):
        ours, theirs = iter(batches(x, y)), iter(batches(x, y))
        for _ in range(3):  # the last batch is smaller
            for got, want in zip(function(ours), step(theirs), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5)


def test_several_steps_in_a_loop() -> None:
    """What the loop carries is a batch whose size each iteration may change."""
    random = np.random.default_rng(2)
    x, y = random.normal(size=(11, 3)).astype("f"), random.normal(size=(11, 1)).astype("f")
    w = fg.Variable(np.zeros([3, 1], np.float32))

    def steps(iterator: Any) -> Any:
        def body(k: Any, following: Any) -> Any:
            features, target = following.get_value()
            with fg.GradientTape() as tape:
                loss = fg.reduce_mean((features @ w - target) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return k + 1, fg.cond(k < 2, iterator.get_next_as_optional, lambda: following)

        fg.while_loop(lambda k, following: (k < 3) & following.has_value(), body, (0, iterator.get_next_as_optional()))
        return w.read_value()

    function = fg.function(steps)
    assert {*by_bodies(function, iter(batches(x, y)))} == {"iterator_get_next_as_optional", "assert"}
    with flags.override(tier="last"):
        got = function(iter(batches(x, y)))
    w.assign(np.zeros([3, 1], np.float32))
    for features, target in batches(x, y):
        w.assign_sub(0.1 * 2 * features.numpy().T @ (features @ w - target).numpy() / len(features))
    np.testing.assert_allclose(got, w, rtol=1e-5)


def test_parts_become_one_in_any_order() -> None:
    x, y, w = np.ones([6, 2], "f"), np.arange(6, dtype="f"), np.full(6, 0.5, "f")

    @fg.function
    def f(iterator: Any) -> Any:
        features, target, weight = next(iterator)
        weighted = target * weight
        return fg.reduce_sum(fg.reduce_sum(features, 1) * target * weight), fg.reduce_sum(weighted)

    assert by_bodies(f, iter(batches(x, y, w))) == ["iterator_get_next"]
    with flags.override(tier="last"):
        iterator = iter(batches(x, y, w))
        np.testing.assert_allclose([fg.stack(f(iterator)) for _ in range(2)], [[6.0, 3.0], [9.0, 4.5]])


def test_many_columns_that_meet_one_after_the_other() -> None:
    columns = [np.full([5, 2], k + 1.0, "f") for k in range(12)]

    @fg.function
    def f(iterator: Any) -> Any:
        parts = next(iterator)
        total = parts[0]
        for part in parts[1:]:
            total = total * 0.5 + part
        return total

    assert by_bodies(f, iter(batches(*columns))) == ["iterator_get_next"]
    with flags.override(tier="last"):
        iterator = iter(batches(*columns))
        want = sum([(k + 1.0) * 0.5 ** (11 - k) for k in range(12)])
        np.testing.assert_allclose(f(iterator), np.full([4, 2], want), rtol=1e-6)
        np.testing.assert_allclose(f(iterator), np.full([1, 2], want), rtol=1e-6)


@pytest.mark.parametrize("rows", [(5, 5), (5, 1), (1, 5), (0, 1), (0, 0)])
def test_parts_of_an_element_may_broadcast(rows: tuple[int, int]) -> None:
    def elements() -> Any:
        for k in range(3):
            yield np.full([rows[0]], k + 1.0, "f"), np.full([rows[1]], 10.0 * k, "f")

    spec = fg.TensorSpec([None]), fg.TensorSpec([None])

    @fg.function
    def f(iterator: Any) -> Any:
        a, b = next(iterator)
        return a + b, fg.concat([a, b], 0)

    with flags.override(tier="last"):
        iterator = iter(fg.data.Dataset.from_generator(elements, output_signature=spec))
        for a, b in elements():
            total, both = f(iterator)
            np.testing.assert_array_equal(total, a + b)
            np.testing.assert_array_equal(both, np.concatenate([a, b]))


def test_parts_that_never_meet_have_sizes_of_their_own() -> None:
    def elements() -> Any:
        for k in range(3):
            yield np.arange(k + 2, dtype="f"), np.arange(2 * k + 1, dtype="f")

    spec = fg.TensorSpec([None]), fg.TensorSpec([None])

    @fg.function
    def f(iterator: Any) -> Any:
        a, b = next(iterator)
        return fg.reduce_sum(a * a), fg.reduce_sum(b * 2.0)

    assert by_bodies(f, iter(fg.data.Dataset.from_generator(elements, output_signature=spec))) == ["iterator_get_next"]
    with flags.override(tier="last"):
        iterator = iter(fg.data.Dataset.from_generator(elements, output_signature=spec))
        for a, b in elements():
            np.testing.assert_allclose(f(iterator), [np.sum(a * a), np.sum(b * 2)], rtol=1e-6)
