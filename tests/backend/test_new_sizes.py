"""Sizes 0, 1 and new ones of unknown dimensions compile nothing, whichever came first, nor does a gradient from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.program import symbolic_extents
from fastgraph.compiler.store import kernel_service
from fastgraph.core.base import flags
from fastgraph.runtime import executable as executables


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    with flags.override(tier="last"):
        yield


def n_kernels() -> int:
    """How many kernels were compiled or loaded so far."""
    s = kernel_service.statistics()
    return s.compiled + s.compiled_in_place + s.loaded_from_store


def unknown(*shape: int | None, dtype: Any = fg.float32) -> Any:
    return fg.TensorSpec(shape, dtype)


@pytest.mark.parametrize("first", [7, 3, 4, 1, 0])
def test_a_training_step(first: int) -> None:
    """Two arguments have the batch in common; it may be as large as a layer, or 1, or 0, in the first call already."""
    w, b = fg.Variable(np.ones((4, 3), np.float32)), fg.Variable(np.zeros(3, np.float32))
    optimizer = fg.keras.optimizers.SGD(0.1)

    @fg.function(input_signature=[unknown(None, 4), unknown(None, dtype=fg.int32)])
    def step(x: Any, y: Any) -> Any:
        with fg.GradientTape() as tape:
            logits = fg.tanh(x) @ w + b
            loss = fg.reduce_mean(fg.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
        return loss

    def call(n: int) -> None:
        step(np.ones((n, 4), np.float32), np.zeros(n, np.int32))

    call(first)
    before = n_kernels()
    for n in (0, 1, 2, 3, 4, 64, 5001):
        call(n)
    assert n_kernels() == before and step.experimental_get_tracing_count() == 1


def several(x: Any) -> Any:
    h = fg.nn.softmax(fg.transpose(x, [1, 0, 2]), axis=0)
    h = fg.concat([h, h * 2.0], 1)
    m = fg.reduce_max(h, axis=-1)
    return fg.reduce_sum(fg.cumsum(m, axis=1)), fg.reshape(h, [-1, 2])


@pytest.mark.parametrize("first", [(5, 6), (2, 2), (1, 1), (0, 3)])
def test_a_gradient_from_outside(first: tuple[int, int]) -> None:
    """What the backward graph takes has sizes that are sums and products of those that the forward graph takes."""
    f = fg.function(several, input_signature=[unknown(None, None, 4)])

    def gradient(function: Any, shape: tuple[int, int]) -> Any:
        x = fg.constant(np.random.default_rng(0).normal(size=(*shape, 4)).astype(np.float32))
        with fg.GradientTape() as tape:
            tape.watch(x)
            total, halves = function(x)
            y = total + fg.reduce_sum(halves * halves)
        return tape.gradient(y, x)

    gradient(f, first)
    before = n_kernels()
    for shape in ((5, 6), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (2, 2), (30, 20)):
        np.testing.assert_allclose(gradient(f, shape), gradient(several, shape), rtol=2e-5, atol=1e-6)
    assert n_kernels() == before


@pytest.mark.parametrize("n", [5, 1, 0])
def test_what_must_be_equal_in_a_loop_or_a_branch_is_no_reason_to_run_it_in_python(n: int) -> None:
    def loop(x: Any, y: Any) -> Any:
        return fg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + y), (0, x))[1]

    def branch(x: Any, y: Any) -> Any:
        return fg.cond(fg.size(x) > 3, lambda: x + y, lambda: x - y)

    for f in (loop, branch):
        function = fg.function(f, input_signature=[unknown(None), unknown(None)])
        x, y = fg.range(n, dtype=fg.float32), fg.ones([n])
        np.testing.assert_array_equal(function(x, y), f(x, y))
        assert function.get_concrete_function().host_steps == 0


@pytest.mark.parametrize(
    ("f", "specs", "shapes", "expected"),
    [
        # What must be equal is, what only happens to be is not.
        (lambda x, y: x + y, ([None], [None]), ([5], [5]), "PP"),
        (lambda x, y: x + y, ([None], [None]), ([1], [1]), "PP"),
        (lambda x, y: x + y, ([None], [None]), ([1], [5]), "1P"),
        (lambda x, y: x + y, ([None, None], [None, None]), ([2, 2], [2, 2]), "PQPQ"),
        (lambda x, y: (x * 2.0, y * 3.0), ([None], [None]), ([5], [5]), "PQ"),
        (lambda x, y: x @ y, ([None, None], [None, None]), ([3, 3], [3, 3]), "PQQR"),
        (lambda x, y: fg.broadcast_to(x, fg.shape(y)), ([None], [None, None]), ([4], [4, 4]), "PQP"),
        (lambda x, y: x + fg.zeros([3]) + y, ([None], [None]), ([3], [1]), "31"),
    ],
)
def test_as_few_sizes_as_will_do_are_taken_as_equal(f: Any, specs: Any, shapes: Any, expected: str) -> None:
    graph = fg.function(f, input_signature=[unknown(*spec) for spec in specs]).get_concrete_function().graph.ir
    witness = symbolic_extents.witness_shapes(graph, shapes)
    letters: dict[int, str] = {}
    text = "".join(
        str(n) if n < symbolic_extents.FIRST_WITNESS else letters.setdefault(n, "PQRST"[len(letters)])
        for shape in witness
        for n in shape
    )
    assert text == expected


SIZES_OF_RESULTS = {
    "shape": lambda x: fg.shape(fg.unique(x)[0]),
    "what follows from it": lambda x: fg.size(fg.boolean_mask(x, x > 1.0)) * 2,
    "beside its elements": lambda x: [fg.shape(fg.where(x > 1.0)), fg.unique(x)[0] * 2.0],
    "of both at once": lambda x: fg.broadcast_dynamic_shape(fg.shape(fg.unique(x)[0]), fg.shape(x[:1])),
    "in a branch": lambda x: fg.cond(x[0] > 0.0, lambda: fg.size(fg.unique(x)[0]), lambda: fg.size(x) * 3),
}


@pytest.mark.parametrize("name", SIZES_OF_RESULTS)
def test_a_size_that_is_data_is_a_result(name: str) -> None:
    """No step computes it: nothing else may have to wait for it either."""
    function = SIZES_OF_RESULTS[name]
    staged = fg.function(function)
    for values in ([1.0, 2.0, 1.0, 3.0], [2.0, 2.0, 2.0, 2.0], [-1.0, 0.0, 1.0, 1.0]):
        x = fg.constant(values)
        wanted, got = fg.nest.flatten(function(x)), fg.nest.flatten(staged(x))
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert np.array_equal(g.numpy(), w.numpy())


def test_steps_whose_sizes_no_step_gives_are_interpreted() -> None:
    """The slice's extents are elements of a vector: the rest of the plan was planned again and again, without end."""

    def function(x: Any, begin: Any, end: Any, y: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch([x, y])
            with fg.GradientTape() as tape:
                tape.watch([x, y])
                part = fg.strided_slice(x, begin, end, [1, -2, 1, 1], begin_mask=4, new_axis_mask=7, shrink_axis_mask=4)
                loss = fg.reduce_sum(part * y)
            gradients = tape.gradient(loss, [x, y])
            total = fg.add_n([fg.reduce_sum(fg.square(g)) for g in gradients])
        return [part * y, *gradients, *outer.gradient(total, [x, y])]

    random = np.random.default_rng(0)
    x = fg.constant(random.normal(size=(3, 5, 8, 17)).astype(np.float32))
    limits = fg.constant([2, 4, -1, 2]), fg.constant([-2, 0, -2, -4])
    y = fg.constant(np.full((1, 1, 1, 1), 0.25, np.float32))
    index = unknown(4, dtype=fg.int32)
    signature = [unknown(None, 5, 8, None), index, index, unknown(None, None, None, None)]
    staged = fg.function(function, input_signature=signature)
    for wanted, got in zip(function(x, *limits, y), staged(x, *limits, y), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_what_follows_from_a_size_follows_again() -> None:
    def function(x: Any) -> Any:
        n = fg.shape(x)
        filled = fg.fill([n[1]], fg.cast(n[0], fg.float32))
        return (
            n,
            fg.size(x),
            filled,
            fg.reshape(x, [n[1], n[0]]) + 1.0,
            fg.reduce_sum(x) / fg.cast(fg.size(x), fg.float32),
        )

    staged = fg.function(function, input_signature=[unknown(None, None)])
    for shape in ((2, 3), (4, 5), (1, 7), (3, 1), (4, 5), (600, 70)):
        x = fg.constant(np.random.default_rng(0).normal(size=shape).astype(np.float32))
        for got, want in zip(staged(x), function(x), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-5)


def test_plans_that_were_not_used_for_long_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "PLANS_KEPT", 4)
    staged = fg.function(lambda x: x * 2.0, input_signature=[unknown(None)], autograph=False)
    executable = staged.get_concrete_function().executable
    used = fg.ones([2])
    first = executable.plan([used])
    for n in range(3, 12):
        made = executable.plan([fg.ones([n])])
        np.testing.assert_array_equal(made.run([fg.ones([n])])[0], np.full(n, 2.0))
        assert executable.plan([used]) is first
    assert len(executable._plans) == 4


def test_programs_that_were_not_used_for_long_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "VERSIONS_KEPT", 3)
    staged = fg.function(lambda x: x * 2.0, input_signature=[fg.TensorSpec(None)], autograph=False)
    executable = staged.get_concrete_function().executable
    for rank in (1, 2, 3, 4, 1, 5, 6, 1):
        np.testing.assert_array_equal(staged(fg.ones([2] * rank)), np.full([2] * rank, 2.0))
        np.testing.assert_array_equal(executable([fg.ones([3] * rank)])[0], np.full([3] * rank, 2.0))
    assert len(executable._versions) == 3


def test_a_loop_over_what_has_an_unknown_rank_is_compiled() -> None:
    @fg.function(input_signature=[fg.TensorSpec([], fg.int32), fg.TensorSpec(None)])
    def weighed(n, y):
        total = 0.0
        for i in fg.range(n):
            total += fg.reduce_sum(y) * fg.cast(i, fg.float32)
        return total

    for shape in ([2, 2], [3], []):
        assert float(weighed(fg.constant(5), fg.ones(shape))) == 10.0 * np.prod(shape)
    concrete = weighed.get_concrete_function()
    assert concrete.wait(60) and concrete.is_compiled
