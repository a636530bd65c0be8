"""Random programs with their kernels run as plain Python: every index is checked, and no compiler is needed."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from plain import run_program

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.extents import witness_shapes
from fastgraph.compiler.pipeline import compile_graph
from fastgraph.compiler.sizes import CannotPlan
from tests.fuzz import check
from tests.fuzz.draw import draw_program

SEEDS = range(560_000, 560_040)


def run(program: Any) -> list[np.ndarray]:
    """The outputs of a drawn program, then its Variables' values, by way of its Program in plain Python."""
    names = program.namespace()
    tensors = [fg.constant(value) for value in program.arguments.values()]
    concrete = fg.function(names["program"]).get_concrete_function(*tensors)
    graph = compile_graph(concrete.graph)
    held = [item() if isinstance(item, weakref.ref) else item for item, _ in concrete.graph.captures]
    arguments = [*tensors, *held][: len(graph.parameters)]
    shapes = [
        () if v.aval.dtype.name == "resource" else x.aval.shape
        for v, x in zip(graph.parameters, arguments, strict=True)
    ]
    with np.errstate(all="ignore"):
        outputs = run_program(assemble(graph, witness_shapes(graph, shapes)), arguments)
    return [np.array(value) for value in outputs] + [names[name].numpy() for name in program.variables]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_in_plain_python(seed: int) -> None:
    program = draw_program(seed)
    expected = check.run_eagerly(program)
    try:
        came = run(program)
    except CannotPlan:
        pytest.skip("its shapes are data in a way that is left to the ops' bodies")
    assert check.compare(expected, came) is None, program
