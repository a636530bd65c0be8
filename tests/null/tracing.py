"""Graphs for tests: a Python function traced over avals, and the Program made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.program import KernelStep, Program
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import use_trace
from fastgraph.graph.ir import Graph
from fastgraph.graph.trace import GraphTrace
from fastgraph.runtime.executable import compile_graph

Spec = tuple[Any, ...]  # (dtype, extents...), or just extents for float32


def trace(function: Callable[..., Any], *specs: Spec) -> Graph:
    """The graph of `function` on arguments like `specs`."""
    made = GraphTrace("f")
    with use_trace(made):
        arguments = []
        for i, spec in enumerate(specs):
            dtype, shape = (spec[0], spec[1:]) if spec and isinstance(spec[0], str) else ("float32", spec)
            arguments.append(made.add_input(Aval(as_dtype(dtype), tuple(shape)), f"x{i}"))
        result = function(*arguments)
        results = result if isinstance(result, (tuple, list)) else (result,)
        outputs = [made.value_of(r) for r in results]
    return made.finish(outputs)


def program(function: Callable[..., Any], *specs: Spec) -> Program:
    """The Program of `function`; None extents are run at 7."""
    graph = compile_graph(trace(function, *specs))
    shapes = [tuple([7 if n is None else n for n in v.aval.shape or ()]) for v in graph.parameters]
    return assemble(graph, witness_shapes(graph, shapes))


def kernels(made: Program) -> list[KernelStep]:
    """The kernel steps of a Program."""
    return [step for step in made.steps if isinstance(step, KernelStep)]


def sources(made: Program) -> list[str]:
    """The sources of its kernels."""
    return [step.kernel.source for step in kernels(made)]
