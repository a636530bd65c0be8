"""Scatters that compute what they add, in one kernel: the same values and errors as by two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors
from fastgraph.compiler.assemble import assemble
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph

COMBINATIONS = ("sum", "prod", "min", "max")


def messages(kind: str) -> Any:
    combine = getattr(fg.math, f"unsorted_segment_{kind}")
    return lambda x, sources, targets, w: combine(fg.gather(x, sources) + w, targets, 50)


def operands(rng: np.random.Generator) -> list[np.ndarray]:
    sources, targets = rng.integers(0, 50, (2, 300)).astype(np.int32)
    return [rng.random(50, np.float32), sources, targets, rng.random(300, np.float32)]


def kernels(function: Any, *args: Any) -> list[str]:
    graph = compile_graph(fg.function(function).get_concrete_function(*args).graph.ir)
    return [step.name for step in assemble(graph, [v.aval.shape for v in graph.parameters]).steps]


@pytest.mark.parametrize("kind", COMBINATIONS)
def test_what_is_gathered_to_be_combined_is_not_stored(rng: np.random.Generator, kind: str) -> None:
    arrays = operands(rng)
    arrays[2][::3] = -1  # passed over
    given = [fg.constant(each) for each in arrays]
    assert kernels(messages(kind), *given) == [f"gather+add+unsorted_segment_{kind}"]
    with flags.override(tier="last"):
        got = fg.function(messages(kind))(*given)
    np.testing.assert_array_equal(got.numpy(), messages(kind)(*given).numpy())


@pytest.mark.parametrize(("operand", "number"), [(1, 50), (1, -1), (2, 50)])
def test_each_index_is_checked_as_before(rng: np.random.Generator, operand: int, number: int) -> None:
    arrays = operands(rng)
    arrays[operand][7] = number
    given = [fg.constant(each) for each in arrays]
    named = rf"{'segment_ids' if operand == 2 else 'indices'}\[7\] = {number} is (not in|out of range) \[0, 50\)"
    with flags.override(tier="last"), pytest.raises(errors.InvalidArgumentError, match=named):
        fg.function(messages("sum"))(*given)


def test_what_others_take_or_several_threads_gather_is_stored() -> None:
    x, places, many = fg.ones([50]), fg.zeros([300], fg.int32), fg.zeros([2_000_000], fg.int32)

    def both(x: fg.Tensor, places: fg.Tensor) -> Any:
        rows = fg.gather(x, places) * 2.0
        return rows, fg.math.unsorted_segment_sum(rows, places, 50)

    def onto(x: fg.Tensor, places: fg.Tensor) -> Any:
        return fg.tensor_scatter_nd_add(x, places[:, None], fg.gather(x, places))

    assert len(kernels(both, x, places)) == 2
    assert len(kernels(lambda x, places: both(x, places)[1], x, places)) == 1
    assert len(kernels(lambda x, places: both(x, places)[1], x, many)) == 2
    assert len(kernels(onto, x, places)) == 2  # which writes over what is gathered


@pytest.mark.parametrize("n", [64, 200])
def test_what_is_read_under_another_shape_is_not_written_over(n: int) -> None:
    rng = np.random.default_rng(0)
    terms, (picked, places) = rng.random(64, np.float32), rng.integers(0, 64, (2, n)).astype(np.int32)

    @fg.function
    def scattered(terms: fg.Tensor, picked: fg.Tensor, places: fg.Tensor) -> fg.Tensor:
        whole = fg.cumsum(terms)
        square = fg.reshape(whole, [8, 8])
        taken = whole if n == 64 else fg.gather(whole, picked)
        return fg.tensor_scatter_nd_add(square, places, taken)

    whole = np.cumsum(terms)
    expected = whole.copy()
    np.add.at(expected, places, whole if n == 64 else whole[picked])
    with flags.override(tier="last"):
        found = scattered(*map(fg.constant, (terms, picked, np.stack([places // 8, places % 8], 1))))
    np.testing.assert_allclose(np.reshape(found, -1), expected, rtol=1e-5)
