"""Many integers in few segments: combined in parts, with the bits and the errors of one loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.library.segment_parts import PARTS
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph

N = 40_001


def combined(kind: str) -> Any:
    combine = getattr(fg.math, f"unsorted_segment_{kind}")
    return lambda data, ids: combine(data, ids, 100)


def steps(function: Any, *args: Any) -> list[Any]:
    graph = compile_graph(fg.function(function).get_concrete_function(*args).graph.ir)
    return assemble(graph, [v.aval.shape for v in graph.parameters]).steps


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("kind", ["sum", "prod", "min", "max"])
def test_integers_in_parts(rng: np.random.Generator, kind: str, dtype: str) -> None:
    data = fg.constant(rng.integers(0, 100, N).astype(dtype))
    ids = fg.constant(rng.integers(-1, 100, N).astype(np.int32))
    assert [step.extent.constant for step in steps(combined(kind), data, ids)] == [PARTS, 1]
    with flags.override(tier="last"):
        got = fg.function(combined(kind))(data, ids)
    np.testing.assert_array_equal(got.numpy(), combined(kind)(data, ids).numpy())


def test_an_id_out_of_range_is_named(rng: np.random.Generator) -> None:
    ids = rng.integers(0, 100, N).astype(np.int32)
    ids[30_000] = 100
    named = r"segment_ids\[30000\] = 100 is out of range \[0, 100\)"
    with flags.override(tier="last"), pytest.raises(errors.InvalidArgumentError, match=named):
        fg.function(combined("sum"))(fg.ones([N], fg.int32), fg.constant(ids))


@pytest.mark.parametrize(("data", "ids"), [("float32", [N]), ("int32", [1000]), ("int32", [N, 2])])
def test_floats_few_numbers_and_rows_have_one_loop(data: str, ids: list[int]) -> None:
    shape = ids if len(ids) == 1 else [N, 2]
    given = fg.ones(shape, data), fg.zeros(ids[:1], fg.int32)
    assert len(steps(combined("sum"), *given)) == 1


def test_checks_before_loops_without_indices() -> None:
    """What is only computed and checked is of vectors, little as it is: the checks have a loop of their own."""
    (step,) = steps(lambda x: fg.math.bincount(fg.cast(x, fg.int32), minlength=8, maxlength=8), fg.ones([N], fg.int8))[
        :1
    ]
    assert step.kernel.source.count("for i0 in range(begin, end)") == 3
