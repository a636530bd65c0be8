"""Products of matrices that loops add up: one product of all factors, right to second order, seen by nobody before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.graph.ir import Graph
from fastgraph.graph.passes.optimize import optimise

CASES = {
    "vectors": lambda h, w: h + 0.1 * fg.tanh(fg.linalg.matvec(w, h)),
    "rows": lambda h, w: fg.tanh(fg.matmul(h, w) + h),
    "twice": lambda h, w: fg.tanh(fg.matmul(fg.sin(fg.matmul(h, w)), w)),
    "turned": lambda h, w: fg.tanh(fg.matmul(h, w, transpose_b=True)),
    "wide": lambda h, w: fg.tanh(fg.matmul(h, w)) * 0.5,
}
SHAPES = {"vectors": (6,), "wide": (40, 6)}  # of many rows the factors are larger than the sum


def _program(step: Any) -> Any:
    def run(x: Any, w: Any, n: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(w)
            with fg.GradientTape() as tape:
                tape.watch(w)
                h = x
                for _ in fg.range(n):
                    h = step(h, w)
                loss = fg.reduce_sum(h * h) + fg.reduce_sum(w * w)
            first = tape.gradient(loss, w)
            again = fg.reduce_sum(first * first)
        return loss, first, outer.gradient(again, w)

    return run


def _products_inside(graph: Graph, inside: bool = False) -> Iterator[Any]:
    for node in graph.nodes:
        if inside and node.op.name == "add" and any(v.node.op.name == "matmul" for v in node.inputs):
            yield node
        for each in node.attrs.values():
            if isinstance(each, Graph):
                yield from _products_inside(each, inside or node.op.name == "while")


@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_gradients_to_second_order(name: str, tier: str) -> None:
    generator = np.random.default_rng(3)
    x = fg.constant(generator.normal(size=SHAPES.get(name, (2, 6))), fg.float64)
    w = fg.constant(generator.normal(size=(6, 6)) * 0.4, fg.float64)
    staged = fg.function(_program(CASES[name]))
    for n in (0, 1, 5):
        with flags.override(tier=tier):
            found = staged(x, w, fg.constant(n))
        for a, b in zip(found, _program(CASES[name])(x, w, n), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["vectors", "rows", "twice"])
def test_no_iteration_adds_a_product(name: str) -> None:
    def gradient(x: Any, w: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(w)
            h = x
            for _ in fg.range(9):
                h = CASES[name](h, w)
            loss = fg.reduce_sum(h * h)
        return tape.gradient(loss, w)

    x, w = fg.TensorSpec(SHAPES.get(name, (2, 6))), fg.TensorSpec((6, 6))
    sums = _products_inside(optimise(fg.function(gradient).get_concrete_function(x, w).graph.ir))
    assert [n for n in sums if n.outputs[0].aval.shape == (6, 6)] == []


def test_a_sum_that_is_looked_at_stays() -> None:
    def run(x: Any, n: Any) -> Any:
        total, seen = fg.zeros((4, 4)), fg.constant(0.0)
        for i in fg.range(n):
            row = x * fg.cast(i + 1, fg.float32)
            total = total + fg.matmul(row, row, transpose_a=True)
            seen += total[0, 0]
        other = fg.zeros((4, 4))
        for _ in fg.range(n):
            if other[0, 0] > 20.0:
                break
            other = other + fg.matmul(x, x, transpose_a=True) + x
        return total, seen, other

    x = fg.constant(np.arange(4, dtype="f")[None] + 1)
    for a, b in zip(fg.function(run)(x, fg.constant(7)), run(x, 7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_long_loop_keeps_no_more_than_it_reads() -> None:
    def run(n: Any) -> Any:
        total = fg.zeros((8, 8))
        for i in fg.range(n):
            row = fg.fill([1, 8], fg.cast(i, fg.float32))
            total = total + fg.matmul(row, row, transpose_a=True)
        return total

    sums = _products_inside(optimise(fg.function(run).get_concrete_function(fg.TensorSpec((), fg.int32)).graph.ir))
    assert len(list(sums)) == 1
