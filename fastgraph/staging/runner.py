"""Runner: a traced graph as something that can be called, inside traces, under tapes, or plainly.

Rule: the same graph serves all three: in a trace it becomes a call node, under a tape it runs with its residuals as
further outputs and leaves one record, else its executable runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph._tape import record_operation, watch_accessed
from fastgraph._tensor import bind, current_state, get_slot, run
from fastgraph.graph import passes
from fastgraph.graph.differentiate import Derivative, closed, derive, differentiable, extended
from fastgraph.graph.interpret import interpret
from fastgraph.graph.ir import Graph, Value
from fastgraph.graph.structure import CALL
from fastgraph.graph.trace import GraphTrace
from fastgraph.primitive import get

Executable = Callable[[list[Any]], list[Any]]


class Interpreted:
    """An executable that interprets its optimised graph: what is used where the compiler is not built."""

    host_steps = 0
    is_compiled = False

    def __init__(self, graph: Graph, name: str = "") -> None:
        self.graph = passes.optimise(graph)

    def __call__(self, inputs: list[Any]) -> list[Any]:
        """Run the graph."""
        return interpret(self.graph, inputs)


def make_executable(graph: Graph, name: str) -> Executable:
    """Return what runs `graph`: the compiler's executable."""
    try:
        from fastgraph.compiler import pipeline
    except ImportError:
        return Interpreted(graph, name)
    return pipeline.Executable(graph, name)


class Runner:
    """A finished trace, callable on its parameters: tensors, and Cells where resources stand."""

    def __init__(self, trace: GraphTrace, name: str) -> None:
        self.trace = trace
        self.graph = trace.graph
        self.name = name
        self._lock = threading.Lock()
        self._executables: dict[Any, Executable] = {}
        self._backward: dict[Derivative, Runner] = {}
        parameters = self.graph.parameters
        self._floating = tuple([i for i, value in enumerate(parameters) if differentiable(value.aval)])
        self._resources = tuple([i for i, value in enumerate(parameters) if value.aval.dtype.name == "resource"])
        self._outputs = tuple([value for value in self.graph.outputs if differentiable(value.aval)])

    def executable(self, derivative: Derivative | None = None) -> Executable:
        """Return what runs the graph; with `derivative`, what gives its residuals besides."""
        key = None if derivative is None else (derivative.sources, derivative.outputs)
        found = self._executables.get(key)
        if found is None:
            with self._lock:
                found = self._executables.get(key)
                if found is None:
                    graph = self.graph
                    if derivative is not None:
                        graph = extended(graph, self._results(derivative)[len(graph.outputs) :])
                    found = self._executables[key] = make_executable(graph, self.name)
        return found

    def __call__(self, operands: list[Any]) -> Sequence[Any]:
        """Call the graph on `operands`, one for each of its parameters; return its flat outputs."""
        state = current_state()
        if state.tapes:
            for i in self._resources:
                watch_accessed(operands[i])
        if state.trace is not None:
            outputs: tuple[Any, ...] = bind(CALL, tuple(operands), {"graph": self.graph})
            return outputs
        if state.tapes:
            return self._recorded(operands, state.tapes)
        return self.executable()(operands)

    def _recorded(self, operands: list[Any], tapes: list[Any]) -> Sequence[Any]:
        """Run the graph and leave one record on the tapes that follow what it is applied to."""
        sources = []
        followers = []
        for tape in tapes:
            if hasattr(tape, "follows"):
                followed = [i for i in (*self._floating, *self._resources) if tape.follows(operands[i])]
                sources += followed
                if followed:
                    followers.append(tape)
        if not sources or not self._outputs:
            return self.executable()(operands)
        wanted = tuple(sorted(set(sources)))
        # Only where a gradient may be differentiated again do the residuals count as outputs of the record.
        again = len(followers) > 1 or followers[0].persistent
        derivative = (closed if again else derive)(self.trace, wanted, self._outputs)
        results = _distinct(self.executable(derivative)(operands), operands)
        outputs = results[: len(self.graph.outputs)]
        known = dict(zip(self.graph.parameters, operands, strict=True))
        known.update(zip(self._results(derivative), results, strict=True))
        record_operation(
            self.name,
            [operands[i] for i in wanted],
            [known[value] for value in derivative.outputs],
            self._backward_of(derivative, known),
            pass_none=True,
        )
        return outputs

    def _results(self, derivative: Derivative | None) -> list[Value]:
        """The values that the executable for a derivative gives: the graph's outputs, then the residuals."""
        if derivative is None:
            return self.graph.outputs
        parameters = set(self.graph.parameters)
        wanted = [value for value in (*derivative.outputs, *derivative.saved()) if value not in parameters]
        return list(dict.fromkeys([*self.graph.outputs, *wanted]))

    def _backward_of(self, derivative: Derivative, known: dict[Value, Any]) -> Callable[..., list[Any]]:
        """Return the record's backward: it runs the backward graph for the cotangents that come."""

        def backward(*dys: Any) -> list[Any]:
            given = [dy for dy in dys if dy is not None]
            used = derivative
            if len(given) < len(dys):
                outputs = tuple([value for value, dy in zip(derivative.outputs, dys, strict=True) if dy is not None])
                used = derive(self.trace, derivative.sources, outputs)
                if any(value not in known for value in used.residuals):  # kept only for all cotangents together
                    used, zeros_like = derivative, get_slot("zeros_like")
                    given = [
                        zeros_like(known[value]) if dy is None else dy
                        for value, dy in zip(derivative.outputs, dys, strict=True)
                    ]
            runner = self._backward.get(used)
            if runner is None:
                name = f"__backward_{self.name.removeprefix('__inference_')}"
                runner = self._backward[used] = Runner(used.graph.trace, name)
            residuals = [known[value] for value in used.residuals]
            return used.pack(list(runner([*given, *residuals, *used.captured()])))

        return backward


def _distinct(results: list[Any], operands: list[Any]) -> list[Any]:
    """Return the results as tensors that are no operands and differ from each other: tapes go by ids."""
    seen = {operand.id for operand in operands}
    distinct = []
    for result in results:
        if result.id in seen:
            result = run(get("identity"), (result,), {})
        seen.add(result.id)
        distinct.append(result)
    return distinct
