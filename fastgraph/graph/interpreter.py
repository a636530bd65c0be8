"""The interpreter: runs a graph node by node with the primitives' bodies. The first tier, and the oracle.

Rule: it computes what the graph says, in program order, and nothing else: no fusion, no threads, no kernels.
"""

from __future__ import annotations

import linecache
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.tensor import as_array, from_array, run
from fastgraph.errors import InternalError, InvalidArgumentError, OpError
from fastgraph.graph.ir import Graph, Node, Value, format_aval, subgraphs

_MOST_SHOWN = 8  # operands in an error's text


#: A node of a loop and its operands, and what runs it by the ops' bodies -> its results.
RunLoop = Callable[[Node, Sequence[Any], Callable[[Node, Sequence[Any]], list[Any]]], Sequence[Any]]


def interpret(graph: Graph, arguments: Sequence[Any], run_loop: RunLoop | None = None) -> list[Any]:
    """Run `graph` on `arguments` (eager tensors, and Cells for resources: inputs, then captures); return its outputs.

    Raises what the ops raise, with the node and the user's source lines added to the message.
    """
    outer, begun = (_run.attempt, _run.loop), replicas.process.begun()
    _run.attempt, _run.loop = None, run_loop  # a handler of a signal calls, in the middle of what may be given up
    try:
        return _interpret(graph, arguments)
    except BaseException:
        note_failure(graph, begun)
        raise
    finally:
        _run.attempt, _run.loop = outer


def note_failure(graph: Graph, begun: int) -> None:
    """Note that a run of a graph has failed, if it brings values of processes together: others may go on with it."""
    if replicas.process.journal is not None and talks(graph):
        replicas.process.note_failure(begun)


def talks(graph: Graph) -> bool:
    """Return whether a graph brings values of processes together."""
    return any(
        node.op.name == "communicate" or any(talks(inner) for inner, _ in subgraphs(node)) for node in graph.nodes
    )


def _interpret(graph: Graph, arguments: Sequence[Any]) -> list[Any]:
    """Run a graph as part of what this thread runs."""
    prepared = graph.interpreter
    if prepared is None:
        with resting:
            prepared = graph.interpreter = Interpreter(graph)
    results: list[Any] = prepared(arguments)
    return results


def interpret_unless(
    graph: Graph, arguments: Sequence[Any], seconds: float, better: Callable[[], bool], run_loop: RunLoop
) -> list[Any] | None:
    """Do as `interpret`; None where `better`, asked once after so much work, says that there is a better way.

    It is asked between two nodes, before anything has happened that cannot be done again: a write, or a call of Python.
    """
    outer, begun = (_run.attempt, _run.loop), replicas.process.begun()
    _run.attempt, _run.loop = _Attempt(time.thread_time() + seconds, better), run_loop
    try:
        return _interpret(graph, arguments)
    except _Enough as enough:
        if enough.args[0] is not _run.attempt:
            raise
        return None
    except BaseException:
        note_failure(graph, begun)
        raise
    finally:
        _run.attempt, _run.loop = outer


class _Enough(BaseException):
    """An attempt is over; no op's body may take it for an error of its own."""


class _Attempt:
    """A run that may be given up until it has had an effect."""

    __slots__ = ("asked", "at", "better")

    def __init__(self, at: float, better: Callable[[], bool]) -> None:
        self.at, self.better, self.asked = at, better, False

    def before(self, node: Node) -> None:
        """Give it up before this node, if it is time and there is a better way. Raises _Enough."""
        if self.asked:
            return
        op = node.op
        if op.name == "recursive_call" or (op.effect in ("write", "host") and op.op_type != "Assert"):
            self.asked = True
        elif time.thread_time() >= self.at:
            self.asked = True
            if self.better():
                raise _Enough(self)


class _Run(threading.local):
    attempt: _Attempt | None = None
    loop: RunLoop | None = None


#: The graphs that this thread is trying.
_run = _Run()


class Interpreter:
    """A graph prepared for running: each value has a place, and is let go after its last use.

    A result takes the place of an operand that is used for the last time, where there is one: nothing else is to be
    done for it then, and small ops cost little more than themselves.
    """

    def __init__(self, graph: Graph) -> None:
        numbers: dict[Value, int] = {}
        n_values = 0
        last_use: dict[Value, int] = {}
        for i, node in enumerate(graph.nodes):
            for value in node.inputs:
                last_use[value] = i
        kept = set(graph.outputs)
        self.steps: list[tuple[Node, Any, Any, Any, list[int], int, list[int], list[int]]] = []
        for i, node in enumerate(graph.nodes):
            plain = node.op.name not in _SPECIAL and node.op.n_outputs == 1
            taken = [numbers[value] for value in node.inputs]
            dead = [
                numbers[value] for value in dict.fromkeys(node.inputs) if last_use[value] == i and value not in kept
            ]
            for value in node.outputs:
                if plain and dead:
                    numbers[value] = dead.pop(0)
                else:
                    numbers[value] = n_values
                    n_values += 1
            dead += [numbers[value] for value in node.outputs if value not in last_use and value not in kept]
            if node.op.name == "placeholder":
                continue
            places = [numbers[value] for value in node.outputs]
            take = itemgetter(*taken) if len(taken) > 1 else None
            self.steps.append(
                (node, node.op if plain else None, node.attrs, take, taken, places[0] if plain else -1, places, dead)
            )
        self.n_values = n_values
        self.parameters = [numbers[value] for value in graph.parameters]
        self.outputs = [numbers[value] for value in graph.outputs]

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Run on these arguments."""
        values: list[Any] = [None] * self.n_values
        for number, argument in zip(self.parameters, arguments, strict=True):
            values[number] = argument
        node, attempt = None, _run.attempt
        try:
            for node, op, attrs, take, inputs, place, places, dead in self.steps:
                if attempt is not None:
                    attempt.before(node)
                operands = take(values) if take is not None else tuple([values[number] for number in inputs])
                if op is not None:  # one result and no subgraph: what most nodes are, on the shortest way
                    values[place] = run(op, operands, attrs)
                else:
                    for number, result in zip(places, run_node(node, operands), strict=True):
                        values[number] = result
                if dead:
                    for number in dead:
                        values[number] = None
        except OpError as error:
            assert node is not None
            raise located(error, node, operands) from None
        return [values[number] for number in self.outputs]


def run_node(node: Node, inputs: tuple[Any, ...]) -> Sequence[Any]:
    """Run one node on eager tensors and Cells and return its results."""
    op = node.op
    special = _SPECIAL.get(op.name)
    if special is not None:
        results: Sequence[Any] = special(node, inputs)
        return results
    try:
        result = run(op, inputs, node.attrs)
    except OpError as error:
        raise located(error, node, inputs) from None
    if op.n_outputs == 1:
        return (result,)
    return result if result is not None else ()


def located(error: OpError, node: Node, operands: Sequence[Any]) -> OpError:
    """Return the error of a node with the place in the user's program where it was written, and what it was given."""
    if getattr(error, "_located", False):
        return error
    lines = ["Graph execution error:", "", f"Detected at node {node.name} defined at (most recent call last):"]
    for line in reversed(node.source):
        lines.append(f'  File "{line.file}", line {line.line}, in {line.function}')
        if source := linecache.getline(line.file, line.line).strip():
            lines.append(f"    {source}")
    text = error.message
    if text.startswith("{{function_node "):  # the eager op's own name says nothing about the graph
        end = text.find("}} ")
        text = text[end + 3 :] if end >= 0 else text
    text = text.split(" [Op:")[0]
    avals = [getattr(operand, "aval", None) for operand in operands[:_MOST_SHOWN]]
    given = ", ".join("?" if aval is None else format_aval(aval) for aval in avals)
    if len(operands) > _MOST_SHOWN:
        given += f" and {len(operands) - _MOST_SHOWN} more"
    lines += ["", f"{text}", f"\t [[{{{{node {node.name}}}}}]]" + (f" of operands {given}" if given else "")]
    new = type(error)(None, None, "\n".join(lines))
    new._located = True  # type: ignore[attr-defined]
    return new


def _recursive_call(node: Node, inputs: tuple[Any, ...]) -> Sequence[Any]:
    results: Sequence[Any] = node.attrs["callee"](inputs)
    return results


def _cond(node: Node, inputs: tuple[Any, ...]) -> list[Any]:
    taken = node.attrs["then_graph" if _truth(inputs[0], node) else "else_graph"]
    return _interpret(taken, inputs[1:])


def _while(node: Node, inputs: tuple[Any, ...]) -> Sequence[Any]:
    return _iterate(node, inputs) if _run.loop is None else _run.loop(node, inputs, _iterate)


def _iterate(node: Node, inputs: Sequence[Any]) -> list[Any]:
    n_carried = node.attrs["n_carried"]
    test, body = node.attrs["cond_graph"], node.attrs["body_graph"]
    carried, invariants = list(inputs[:n_carried]), list(inputs[n_carried:])
    rows: list[list[Any]] = [[] for _ in body.outputs[n_carried:]]
    while _truth(_interpret(test, [*carried, *invariants])[0], node):
        results = _interpret(body, [*carried, *invariants])
        carried = results[:n_carried]
        for column, result in zip(rows, results[n_carried:], strict=True):
            column.append(as_array(result))
    joined = node.attrs.get("joined", ())
    stacked = [
        _join(column, value) if i in joined else _stack(column, value)
        for i, (column, value) in enumerate(zip(rows, body.outputs[n_carried:], strict=True), start=n_carried)
    ]
    return [*carried, *stacked]


def _join(rows: list[Any], like: Value) -> Any:
    """Return vectors of any lengths end to end."""
    dtype = like.aval.dtype
    return from_array(np.concatenate(rows) if rows else np.empty((0,), dtype.as_numpy_dtype), dtype)


def _stack(rows: list[Any], like: Value) -> Any:
    """Return the rows as one tensor; with no iteration, one without rows."""
    if rows:
        if any(np.shape(row) != np.shape(rows[0]) for row in rows):
            raise unlike_rows(like.node)
        return from_array(np.stack(rows), like.aval.dtype)
    shape = tuple([size or 0 for size in like.aval.shape or ()])
    return from_array(np.empty((0, *shape), like.aval.dtype.as_numpy_dtype), like.aval.dtype)


def unlike_rows(node: Node) -> OpError:
    """The error for what an iteration of a loop gives, to be stacked, in another shape than the one before."""
    text = "The elements that the iterations of a loop give differ in shape: they cannot be stacked"
    return located(InvalidArgumentError(None, None, text), node, ())


def _truth(tensor: Any, node: Node) -> bool:
    array = as_array(tensor)
    if array.size != 1:
        text = f"the predicate of {node.name} must be a scalar, and is of shape {array.shape}"
        raise InvalidArgumentError(None, None, text)
    return bool(array.reshape(())[()])


def _no_placeholder(node: Node, inputs: tuple[Any, ...]) -> Any:
    raise InternalError(None, None, f"placeholder {node.name} is no parameter of its graph")


_SPECIAL = {
    "call": lambda node, inputs: _interpret(node.attrs["graph"], inputs),
    "recursive_call": _recursive_call,
    "cond": _cond,
    "while": _while,
    "const": lambda node, inputs: (node.attrs["value"],),
    "custom_gradient_identity": lambda node, inputs: inputs[: node.attrs["n_outputs"]],
    "placeholder": _no_placeholder,
}


def deref(captures: Sequence[Any]) -> list[Any]:
    """Return the captured tensors and Cells; a freed Cell is None."""
    return [held() if isinstance(held, weakref.ref) else held for held in captures]
