"""Gradients that functions state themselves (tf.custom_gradient) in SavedModels: functions of their own.

Rule: such a function takes the cotangents of an operation's results and operands, then what it needs of the function
that the operation is in. What cannot be said so is left out: whoever loads it differentiates the operations themselves.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.shapes import Aval, TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import convert
from fastgraph.errors import OpError
from fastgraph.graph.differentiate import entering
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.graph.structural_ops import CUSTOM, backward_function
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.graph_copies import CopiedGraph
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.node_definitions import definitions

if TYPE_CHECKING:
    from fastgraph.saving.saved_model_export import Functions


class Stated(NamedTuple):
    """One gradient: the operations' name for it, its function, the graph that its operation is in."""

    op_type: str
    graph: Graph  # of the gradient
    within: Graph
    n_dys: int
    residuals: list[Value]  # of `within`, that it takes
    given: list[Any]  # specs of what it returns, None where that is nothing
    variables: list[Aval]  # the types of the operands that are Variables


def stated_gradients(functions: Functions) -> list[Stated]:
    """Return the gradients that the functions' operations state."""
    found: list[Stated] = []
    for graph in _graphs([each for each in functions.library.names if each not in functions.library.loops]):
        for node in list(graph.nodes):
            if node.op is CUSTOM and isinstance(graph.trace, GraphTrace):
                if getattr(backward_function(node.attrs["key"]), "refusal", None) is not None:
                    continue  # the operation says so by itself
                try:
                    stated = _traced(node, graph)
                except (OpError, TypeError, ValueError, LookupError, RuntimeError) as error:
                    get_logger().warning("The gradient that %s states is not saved: %s", node.name, error)
                    continue
                if all(isinstance(held, Cell) for held in _captured(stated.graph)):
                    found.append(stated)
    return found


def has_one(graph: Graph, names: Container[str]) -> bool:
    """Return whether a graph, or one inside, has an operation whose gradient is called like one of `names`."""
    return any(
        (node.op is CUSTOM and node.attrs["key"] in names) or any(has_one(inner, names) for inner, _ in subgraphs(node))
        for node in graph.nodes
    )


def _graphs(roots: list[Graph]) -> Iterator[Graph]:
    """Yield graphs and those of their branches and calls; not those of loops, whose values change."""
    left, seen = list(roots), set(roots)
    while left:
        graph = left.pop(0)
        yield graph
        for node in graph.nodes:
            for inner, _ in subgraphs(node) if node.op.name != "while" else ():
                if inner not in seen:
                    seen.add(inner)
                    left.append(inner)


def _captured(graph: Graph) -> list[Any]:
    return [held() if callable(held) else held for held, _ in graph.captures]


def _traced(node: Node, within: Graph) -> Stated:
    """Trace the gradient of an operation."""
    n = node.attrs["n_outputs"]
    forward: Any = within.trace
    trace = GraphTrace(f"{within.name}_gradient", parent=forward, kind="backward")
    dys = [trace.add_input(value.aval.without_value(), f"dy_{i}") for i, value in enumerate(node.outputs)]
    handles = [forward.handle(value) for value in node.inputs[n:]]
    for i, (value, handle) in enumerate(zip(node.inputs[n:], handles, strict=True)):
        aval = handle.aval if isinstance(handle, Cell) else value.aval
        trace.add_input(aval.without_value(), f"unused_{i}")
    n_dys = len(trace.graph.inputs)
    with entering(trace):
        gradients = backward_function(node.attrs["key"])(*dys)
        gradients = [None if each is None else convert(each) for each in gradients]
        outputs = [trace.identity(each) for each in gradients if each is not None]
    trace.finish(outputs)
    given = [None if each is None else TensorSpec(each.shape, each.dtype) for each in gradients]
    variables = [handle.aval for handle in handles if isinstance(handle, Cell)]
    given = [*[None] * n, *given]
    return Stated(node.attrs["key"], trace.graph, within, n_dys, list(trace.residuals), given, variables)


def input_specs(stated: Stated) -> tuple[Any, dict[str, Any]]:
    """Return the structure of what such a function is given."""
    avals = [value.aval for value in stated.graph.inputs[: stated.n_dys]]
    return tuple([TensorSpec(TensorShape(aval.shape), aval.dtype) for aval in avals]), {}


def captured_name(value: Value, within: Graph, message: Message) -> str:
    """Return what a value of a function is called in the graph of it. Raises LookupError if it is not written."""
    if isinstance(within, CopiedGraph):
        value = within.values[value]
    parameters = list(within.parameters)
    if value in parameters:
        return f"{message.signature.input_arg[parameters.index(value)].name}:0"
    for definition in definitions(within):
        if value in definition.outputs:
            return f"{definition.name}:{definition.outputs.index(value)}"
    raise LookupError(f"{value.node.name} is not written")
