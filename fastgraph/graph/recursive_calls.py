"""Calls of a graph by itself: a node that names what it calls, which runs when, and only when, it is come to.

Rule: a graph holds its recursive calls by reference and nothing looks through them: each takes all that its graph
takes, captures included, and says itself what it does besides computing. Its gradient is a call of the same kind, of a
graph that computes the results again and goes back from them: nothing is saved from one call to another.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph._tape import watch_accessed
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import bind, convert, from_array
from fastgraph.errors import CancelledError, FailedPreconditionError, ResourceExhaustedError
from fastgraph.graph import ir
from fastgraph.graph.differentiate import differentiable, entering, replay, zeros_of
from fastgraph.graph.ir import Graph, SourceLine
from fastgraph.graph.structural_ops import CALL, RECURSIVE_CALL, rules
from fastgraph.graph.trace import GraphTrace

#: Calls within calls, at most.
MOST_DEPTH = 10_000
#: Calls within calls on one thread: then another thread goes on, with a stack of its own.
THREAD_DEPTH = 32

#: (dtype, shape) of each result.
Specs = tuple[tuple[Any, Shape], ...]
#: (kind, position of the operand or -1): what a call does besides computing, see ir.Effect; "check" is "host" where it
#: only checks, which does no harm when it is done again.
Effects = tuple[tuple[str, int], ...]


class Unknown(BaseException):
    """A call whose results are not known yet: the branch that makes it is left out. No handler of the user's stops it.

    `whose` is what the call was of, `lines` the user's lines that led to it. Who leaves the branch out says so to it.
    """

    def __init__(self, whose: Any, lines: tuple[SourceLine, ...]) -> None:
        super().__init__()
        self.whose = whose
        self.lines = lines

    def left_out(self) -> None:
        """Note that a branch was left out: what this pass says of names that are set there is not to be believed."""
        self.whose.left_out = True


class Callee(str):
    """The target of a recursive call: a graph, once it is there. As a string its name: an attribute of nodes.

    `run` makes the executable of the graph.
    """

    __slots__ = ("_executable", "_graph", "_lock", "build", "derivatives", "extra", "is_derivative", "run")

    _executable: Any
    _graph: Graph | None
    _lock: Lock
    build: Callable[[], tuple[Graph, list[Any]]] | None
    derivatives: dict[tuple[tuple[int, ...], tuple[int, ...]], Callee]
    extra: list[Any]  # captured tensors that calls do not pass
    is_derivative: bool
    run: Callable[[], Callable[[list[Any]], Sequence[Any]]] | None

    @property
    def graph(self) -> Graph:
        """The graph; of a derivative, made when it is first asked for."""
        if self._graph is None:
            with self._lock:
                if self._graph is None:
                    assert self.build is not None
                    self._graph, self.extra = self.build()
        return self._graph

    def become(self, graph: Graph, run: Callable[[], Any]) -> None:
        """Let calls run `graph`, by what `run` gives."""
        self._graph, self.run = graph, run

    def __call__(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Run the graph on `operands`; return its results and, if it takes Variables, which values these had."""
        if self.is_derivative:
            self._check_unchanged(operands)
        if self._executable is None:
            graph = self.graph
            self._executable = executables(graph, str(self)) if self.run is None else self.run()
        results = _within(self, [*operands, *self.extra])
        cells = [operand for operand in operands if type(operand) is Cell]
        return [*results, _stamp(cells)] if cells else results

    def _check_unchanged(self, operands: Sequence[Any]) -> None:
        """Raise FailedPreconditionError if a Variable was assigned since the results were computed."""
        cells = [operand for operand in operands if isinstance(operand, Cell)]
        if cells and list(operands[0].numpy()) != [cell.assignments for cell in cells]:
            names = ", ".join(cell.name for cell in cells)
            raise FailedPreconditionError(
                None,
                None,
                f"The gradient of a Function that calls itself ({self}) computes its calls again, and a Variable that "
                f"it reads (of {names}) was assigned since they were made: take the gradient before the assign",
            )


def callee(name: str) -> Callee:
    """Return what recursive calls of a graph name, which is still to be made."""
    made = Callee(name)
    made._executable = made._graph = made.build = made.run = None
    made._lock = Lock()
    made.derivatives, made.extra, made.is_derivative = {}, [], False
    return made


def _no_executables(graph: Graph, name: str) -> Any:
    raise NotImplementedError


#: The function that makes the executable of a graph: the layers above fill it in.
executables: Callable[[Graph, str], Any] = _no_executables


def _stamp(cells: Sequence[Cell]) -> Any:
    import numpy as np

    return from_array(np.array([cell.assignments for cell in cells], np.int64), dtypes.int64)


# ---------------------------------------------------------------------------------------------------------------------
# Running: each call is one of the executable's, on a stack that is deep enough


class _Chain:
    """The threads that go on from each other."""

    cancelled = False


class _Depth:
    """The depth of a thread's calls within calls."""

    __slots__ = ("all", "chain", "here")

    def __init__(self, depth: int = 0, chain: _Chain | None = None) -> None:
        self.all = depth  # on all threads that this one goes on from
        self.here = 0  # of these, on this one
        self.chain = chain


class _Thread(threading.local):
    def __init__(self) -> None:
        self.depth = _Depth()


_thread = _Thread()


def _within(called: Callee, operands: list[Any]) -> Sequence[Any]:
    """Run one call within those that this thread is in."""
    depth = _thread.depth
    if depth.all >= MOST_DEPTH:
        raise ResourceExhaustedError(
            None, None, f"{called} calls itself more than {MOST_DEPTH} calls deep: its base case may never be reached"
        )
    if depth.chain is not None and depth.chain.cancelled:
        raise CancelledError(None, None, f"the call of {called} was interrupted")
    if depth.here >= THREAD_DEPTH:
        return _on_a_thread(called, operands, depth)
    depth.all += 1
    depth.here += 1
    try:
        results: Sequence[Any] = called._executable(operands)
        return results
    except BaseException as error:
        error.__traceback__ = None  # which would grow by ten frames of this package with every call
        raise
    finally:
        depth.all -= 1
        depth.here -= 1


def _on_a_thread(called: Callee, operands: list[Any], depth: _Depth) -> Sequence[Any]:
    """Go on with a thread of its own, whose stack is empty; this one waits."""
    chain = depth.chain or _Chain()
    results: list[Sequence[Any]] = []
    errors: list[BaseException] = []

    def go_on() -> None:
        _thread.depth = _Depth(depth.all, chain)
        try:
            results.append(_within(called, operands))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=go_on, name="fastgraph-recursion", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise ResourceExhaustedError(
            None, None, f"{called} calls itself {depth.all} calls deep, and there is no thread to go on with: {error}"
        ) from None
    try:
        thread.join()
    except BaseException:
        chain.cancelled = True
        raise
    if errors:
        raise errors[0]
    return results[0]


# ---- Nodes ----------------------------------------------------------------------------------------------------------


def apply(called: Callee, operands: Sequence[Any], specs: Specs, effects: Effects) -> list[Any]:
    """Add a call to the trace that is made and return its results; the last of them is the stamp, see Callee."""
    cells = [operand for operand in operands if isinstance(operand, Cell)]
    for cell in cells:
        watch_accessed(cell)
    if cells:
        specs = (*specs, (dtypes.int64, (len(cells),)))
    attrs = {"callee": called, "specs": specs, "effects": effects}
    return list(bind(RECURSIVE_CALL, tuple(operands), attrs))


def effects_of(graph: Graph) -> Effects:
    """Return what a graph does besides computing, by the positions of its parameters."""
    position = {value: i for i, value in enumerate(graph.parameters)}
    found = {
        (effect.kind, -1 if effect.resource is None else position[effect.resource])
        for node in graph.nodes
        for effect in ir.effects(node)
    } - {("write", -1)}  # which "host" says
    if ("host", -1) in found and _only_checks(graph):
        found = found - {("host", -1)} | {("check", -1)}
    return tuple(sorted(found))


def _only_checks(graph: Graph) -> bool:
    """Return whether the effects that are of no resource are assertions."""
    for node in graph.nodes:
        if node.op.effect == "host" and node.op.op_type != "Assert":
            return False
        if node.op is RECURSIVE_CALL and ("host", -1) in node.attrs["effects"]:
            return False
        if not all(_only_checks(inner) for inner, _ in ir.subgraphs(node)):
            return False
    return True


# ---- The gradient ---------------------------------------------------------------------------------------------------


def _gradient(
    needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any], attrs: dict[str, Any]
) -> dict[str, Any]:
    """A call of the graph's derivative: as the graph, it calls itself."""
    called: Callee = attrs["callee"]
    _check_pure(called, attrs["effects"], outs)
    cells = [operand for operand in operands if isinstance(operand, Cell)]
    tensors = [operand for operand in operands if not isinstance(operand, Cell)]
    sources = tuple([i for i, x in enumerate(operands) if needs[i] and (isinstance(x, Cell) or differentiable(x.aval))])
    flowing = tuple([i for i, dy in enumerate(dys) if dy is not None and differentiable(outs[i].aval)])
    grads: list[Any] = [None] * len(operands)
    if not sources or not flowing:
        return {"operands": grads}
    derivative = _derivative(called, sources, flowing)
    stamp = [outs[-1]] if cells else []
    given = [*stamp, *tensors, *[convert(dys[i]) for i in flowing]]
    specs = tuple([(operands[i].aval.dtype, operands[i].aval.shape) for i in sources])
    reads = tuple([("read", len(given) + i) for i in range(len(cells))])
    results = apply(derivative, [*given, *cells], specs, reads)
    for i, grad in zip(sources, results, strict=False):
        grads[i] = grad
    return {"operands": grads}


def _check_pure(called: Callee, effects: Effects, outs: list[Any]) -> None:
    """Raise NotImplementedError if computing again would do again what the calls do besides."""
    done = sorted({kind for kind, _ in effects} - {"read", "check"})
    if done:
        line = outs[0].value.node.source[0] if outs and outs[0].value.node.source else None
        what = " and ".join(
            {"write": "assigns Variables or draws random numbers", "host": "prints, reads data or runs Python"}[k]
            for k in done
        )
        raise NotImplementedError(
            f"{called} calls itself{f' at {line}' if line else ''} and {what}: such calls have no gradient, for it "
            "computes them again. Do this outside of the Function that calls itself."
        )


def _derivative(called: Callee, sources: tuple[int, ...], flowing: tuple[int, ...]) -> Callee:
    """Return what computes the gradients of the results `flowing` for the operands `sources`: of (the stamp, the
    tensors among the operands, the cotangents, the cells).
    """
    made = called.derivatives.get((sources, flowing))
    if made is None:
        made = callee(f"__backward_{called.removeprefix('__inference_')}")
        made.is_derivative = True
        made.build = lambda: _derivative_graph(called, sources, flowing)
        made = called.derivatives.setdefault((sources, flowing), made)
    return made


def _derivative_graph(called: Callee, sources: tuple[int, ...], flowing: tuple[int, ...]) -> tuple[Graph, list[Any]]:
    graph = called.graph
    trace = GraphTrace(f"{graph.name}_gradient")
    held = {value: capture for capture, value in graph.captures}
    cells = {v: held[v]() for v in graph.parameters if v.aval.dtype is dtypes.resource}
    if cells:
        trace.add_input(Aval(dtypes.int64, (len(cells),)), "stamp")
    n_passed = len(graph.parameters) - len(called.extra)
    operands: list[Any] = []
    for value in graph.parameters[:n_passed]:
        is_cell = value in cells
        operands.append(cells[value] if is_cell else trace.add_input(value.aval.without_value(), value.node.name))
    outputs = [graph.outputs[i] for i in flowing]
    dys = [trace.add_input(value.aval.without_value(), f"grad_{value.node.name}") for value in outputs]
    with entering(trace):
        for cell in cells.values():
            trace.value_of(cell)
        results = bind(CALL, (*operands, *called.extra), {"graph": graph})
        wanted = [operands[i] for i in sources]
    tape = replay(trace, wanted)
    with entering(trace):
        grads = tape.finish([results[i] for i in flowing], wanted, dys, False)
        made = [zeros_of(x) if grad is None else convert(grad) for x, grad in zip(wanted, grads, strict=True)]
        trace.finish([trace.identity(grad) for grad in made])
    more = [capture for capture, _ in trace.graph.captures[len(cells) :]]
    if any(isinstance(capture, weakref.ref) for capture in more):
        raise NotImplementedError(f"The gradient of {called}, which calls itself, reads Variables that it does not")
    return trace.graph, more


rules["recursive_call"] = _gradient
