"""Runner: a traced graph as something that can be called, inside traces, under tapes, or plainly.

Rule: the same graph serves all three: in a trace it becomes a call node, under a tape it runs with its residuals as
further outputs and leaves one record, else its executable runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph._tape import watch_accessed
from fastgraph.core.base.deferred_signals import deferred
from fastgraph.core.base.locks import Lock, importing
from fastgraph.core.tensor import bind, current_state, get_slot
from fastgraph.graph import recursive_calls
from fastgraph.graph.differentiate import Derivative, closed, derive, differentiable, extended
from fastgraph.graph.ir import Graph, Value
from fastgraph.graph.structural_ops import CALL
from fastgraph.graph.trace import GraphTrace
from fastgraph.staging.fast_call import Recording, followed

if TYPE_CHECKING:
    from fastgraph.runtime.executable import Executable


def make_executable(graph: Graph, name: str, origin: tuple[Runner, Sequence[Value]] | None) -> Executable:
    """Return what runs `graph`: the compiler's executable. For `origin` see Runner."""
    with importing, deferred:  # the compiler: not for who only decorates a function
        from fastgraph.runtime.executable import Executable, Origin
    if origin is None:
        return Executable(graph, name)
    runner, values = origin
    return Executable(graph, name, Origin(lambda: list(runner._executables.values()), values))


recursive_calls.executables = lambda graph, name: make_executable(graph, name, None)


class Runner:
    """A finished trace, callable on its parameters: tensors, and Cells where resources stand.

    `origin`: of a backward graph, the forward graph's Runner and the values there that its first parameters are or have
    the shapes of.
    """

    def __init__(self, trace: GraphTrace, name: str, origin: tuple[Runner, Sequence[Value]] | None = None) -> None:
        self.origin = origin
        self.trace = trace
        self.graph = trace.graph
        self.name = name
        self._lock = Lock()
        self._executables: dict[Any, Executable] = {}
        self._backward: dict[Derivative, Runner] = {}
        self._recordings: dict[tuple[tuple[int, ...], bool], Recording] = {}
        parameters = self.graph.parameters
        floating = tuple([i for i, value in enumerate(parameters) if differentiable(value.aval)])
        self._resources = tuple([i for i, value in enumerate(parameters) if value.aval.dtype.name == "resource"])
        self._outputs = tuple([value for value in self.graph.outputs if differentiable(value.aval)])
        #: The parameters that a tape may follow.
        self.candidates = (*floating, *self._resources) if self._outputs else ()

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
                    found = self._executables[key] = make_executable(graph, self.name, self.origin)
        return found

    def __call__(self, operands: list[Any]) -> Sequence[Any]:
        """Call the graph on `operands`, one for each of its parameters; return its flat outputs."""
        state = current_state()
        if state.trace is not None:
            self._watch(operands)
            outputs: tuple[Any, ...] = bind(CALL, tuple(operands), {"graph": self.graph})
            return outputs
        recording = self.recording(operands) if state.tapes else None
        if recording is None:
            return self.executable()(operands)
        return recording.note(operands, self.executable(recording.derivative)(operands))

    def _watch(self, operands: list[Any]) -> None:
        """Tell this thread's tapes of the Variables that are used."""
        for i in self._resources if current_state().tapes else ():
            watch_accessed(operands[i])

    def recording(self, operands: list[Any]) -> Recording | None:
        """Return how this thread's tapes record a call on `operands`, None if they follow none of them."""
        self._watch(operands)
        sources, again = followed(current_state().tapes, self.candidates, operands)
        if not sources:
            return None
        found = self._recordings.get((sources, again))
        if found is None:
            derivative = (closed if again else derive)(self.trace, sources, self._outputs)
            parameters, results = self.graph.parameters, self._results(derivative)
            places = {value: -1 - i for i, value in enumerate(parameters)}
            places.update((value, i) for i, value in enumerate(results))

            def backward_of(operands: list[Any], results_now: list[Any]) -> Callable[..., list[Any]]:
                known = dict(zip(parameters, operands, strict=True))
                known.update(zip(results, results_now, strict=True))
                return self._backward_of(derivative, known)

            noted = tuple([places[value] for value in derivative.outputs])
            found = Recording(self.name, sources, again, derivative, len(self.graph.outputs), noted, backward_of)
            self._recordings[sources, again] = found
        return found

    def _results(self, derivative: Derivative | None) -> list[Value]:
        """The values that the executable for a derivative gives: the graph's outputs, then the residuals."""
        if derivative is None:
            return self.graph.outputs
        parameters = set(self.graph.parameters)
        wanted = [value for value in (*derivative.outputs, *derivative.saved()) if value not in parameters]
        return list(dict.fromkeys([*self.graph.outputs, *wanted]))

    def _backward_of(self, derivative: Derivative, known: dict[Value, Any]) -> Callable[..., list[Any]]:
        """Return the record's backward: it runs the backward graph for the cotangents that come."""

        def backward(*dys: object) -> list[Any]:
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
                runner = self._backward[used] = Runner(used.graph.trace, name, (self, [*used.outputs, *used.residuals]))
            residuals = [known[value] for value in used.residuals]
            return used.pack(list(runner([*given, *residuals, *used.captured()])))

        return backward
