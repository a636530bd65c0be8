"""Random programs with their kernels run as plain Python: every index is checked, and no compiler is needed."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from plain import run_program

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.runtime.executable import compile_graph
from tests.fuzz import check
from tests.fuzz.draw import draw_program
from tests.fuzz.programs import Line, Program

SEEDS = range(560_000, 560_040)


def run(program: Any) -> list[np.ndarray]:
    """The outputs of a drawn program, then its Variables' values, by way of its Program in plain Python."""
    names = program.namespace()
    tensors = [fg.constant(value) for value in program.arguments.values()]
    concrete = fg.function(names["program"]).get_concrete_function(*tensors)
    graph = compile_graph(concrete.graph.ir)
    held = [item() if isinstance(item, weakref.ref) else item for item, _ in concrete.graph.ir.captures]
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
    try:
        expected = check.run_eagerly(program)
    except (
        fg.errors.OpError
    ) as error:  # lines are run as they are drawn, gradients are not: polygamma has no half floats
        pytest.skip(str(error))
    try:
        came = run(program)
    except CannotPlan:
        pytest.skip("its shapes are data in a way that is left to the ops' bodies")
    assert check.compare(expected, came) is None, program


def test_a_reduction_in_a_branch_shares_no_loop_outside_it() -> None:
    """The second half of the roll reads row i - 1, which row 0 has not; the product wants a copy of a0 in a loop."""
    random = np.random.default_rng(0)
    texts = {
        "t0": "fg.expand_dims(a0, 2)",
        "t1": "fg.roll(fg.argmin(fg.roll(t0, 2, 2), axis=1), 1, 0)",
        "t2": "fg.bitwise.bitwise_and(t1, fg.argmin(a2, axis=0))",
        "t3": "fg.matmul(t0, a1)",
    }
    program = Program(
        seed=0,
        arguments={f"a{i}": random.normal(size=shape) for i, shape in enumerate([(17, 3), (17, 1, 3), (2, 3)])},
        variables={},
        lines=tuple([Line(name, text, frozenset(), ()) for name, text in texts.items()]),
        outputs=("t2", "t3"),
    )
    assert check.compare(check.run_eagerly(program), run(program)) is None


@pytest.mark.parametrize(
    "text",
    [
        "fg.math.top_k(a0, 0)[0]",  # wrote one element before its results
        "fg.math.top_k(a0, 0)[1]",
        "fg.bitcast(fg.bitcast(a0, fg.int32), fg.float32)",
    ],
)
def test_memory_of_no_results_and_of_other_types(text: str) -> None:
    program = Program(
        seed=0,
        arguments={"a0": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)},
        variables={},
        lines=(Line("t0", text, frozenset(), ()),),
        outputs=("t0",),
    )
    assert check.compare(check.run_eagerly(program), run(program)) is None
