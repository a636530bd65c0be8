"""Branches, loops and calls as they are written: the operations that take functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.core.registry import get
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graphdef.export_loops import while_definitions
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import shapes_of, types_of


def writes(graph: Graph) -> bool:
    """Return whether the graph does anything besides computing and reading."""
    return any(
        node.op.effect not in (None, "read")
        or any(kind != "read" for kind, _ in node.attrs.get("effects", ()))  # of a recursive call
        or any(writes(inner) for inner, _ in ir.subgraphs(node))
        for node in graph.nodes
    )


def _stateless(node: Node) -> bool:
    """Return whether a node reads no Variable either: TensorFlow finds no gradient through loops of calls that do."""
    return not ir.effects(node)


def _identities(definition: Definition, kinds: tuple[Value, ...]) -> list[Definition]:
    """The operation, and an Identity of each of its results: what the nodes after it take."""
    node = definition.node
    raw = Node(node.op, (), {}, tuple([value.aval for value in kinds]), node.name)
    definition.outputs = raw.outputs
    found = [definition]
    for i, value in enumerate(kinds):
        name = f"{node.name}/Identity" + (f"_{i}" if i else "")
        identity = Definition(node, "Identity", (raw.outputs[i],), {"T": value.aval.dtype}, name=name)
        identity.outputs = (value,)
        found.append(identity)
    return found


def _cond(node: Node) -> list[Definition]:
    if node.attrs.get("indexed") and (case := _case(node)) is not None:
        return case
    operands = node.inputs[1:]
    attrs = {
        "Tcond": node.inputs[0].aval.dtype,
        "Tin": types_of(operands),
        "Tout": types_of(node.outputs),
        "then_branch": node.attrs["then_graph"],
        "else_branch": node.attrs["else_graph"],
        "output_shapes": shapes_of(node.outputs),
        "_lower_using_switch_merge": True,
        "_read_only_resource_inputs": [],
    }
    return _identities(Definition(node, "StatelessIf" if _stateless(node) else "If", node.inputs, attrs), node.outputs)


def _case(node: Node) -> list[Definition] | None:
    """Branches that ask for one number after the other, from 0 on: an operation that goes by the index.

    None where the results of the later ones are more than passed on, as those that gradients take are.
    """
    index, number = node.inputs[0].node.inputs
    numbered = _numbered_branches(node) if number.aval.value is not None and not number.aval.value.any() else None
    if numbered is None:
        return None
    branches, kept = numbered
    operands = [node.inputs[1 + i] for i in kept]
    attrs = {
        "Tin": types_of(operands),
        "Tout": types_of(node.outputs),
        "branches": branches,
        "output_shapes": shapes_of(node.outputs),
        "_lower_using_switch_merge": True,
        "_read_only_resource_inputs": [],
    }
    op = "StatelessCase" if _stateless(node) else "Case"
    return _identities(Definition(node, op, (index, *operands), attrs), node.outputs)


def _numbered_branches(node: Node) -> tuple[list[Graph], list[int]] | None:
    """Return the branches as graphs of the same inputs and results, and which of the node's operands the inputs are."""
    rest: Graph = node.attrs["else_graph"]
    state = tuple(rest.outputs)
    known: Any = rest.__dict__.get("_numbered")
    if known is not None and known[0] == state:
        return known[1]
    found: list[tuple[Graph, list[int], list[int]]] = []
    inner: Node | None = node
    taken = list(range(len(node.inputs) - 1))  # which of the node's operands the inner node's are
    given = list(range(len(node.outputs)))  # which of the inner node's results the node's are
    while inner is not None:
        found.append((inner.attrs["then_graph"], taken, given))
        last: Graph = inner.attrs["else_graph"]
        inner = next((each for each in last.nodes if each.attrs.get("indexed") and each.name == node.name), None)
        if inner is None:
            found.append((last, taken, given))
            break
        outer = dict(zip(last.inputs, taken, strict=True))
        passed = [_passed_on(value) for value in last.outputs]
        if any(passed[i].node is not inner for i in given) or not all(value in outer for value in inner.inputs[1:]):
            return None
        taken, given = [outer[value] for value in inner.inputs[1:]], [passed[i].index for i in given]
    kept = sorted({number for graph, each, _ in found for number in _used(graph, each)})
    branches = [
        _with_inputs(graph, dict(zip(each, graph.inputs, strict=True)), node, kept, results)
        for graph, each, results in found
    ]
    rest.__dict__["_numbered"] = state, (branches, kept)
    return branches, kept


def _passed_on(value: Value) -> Value:
    while value.node.op.name == "identity":
        value = value.node.inputs[0]
    return value


def _used(graph: Graph, numbers: list[int]) -> list[int]:
    """Return which of these numbers stand for inputs that the graph uses."""
    taken = {value for node in graph.nodes for value in node.inputs}.union(graph.outputs)
    return [number for value, number in zip(graph.inputs, numbers, strict=True) if value in taken]


def _with_inputs(graph: Graph, own: dict[int, Value], node: Node, numbers: list[int], results: list[int]) -> Graph:
    """Return a graph of the same nodes with these results, whose inputs are these operands of `node`.

    A placeholder stands for an operand that the graph does not take.
    """
    result = graph.beside(graph.nodes)
    result.outputs.extend(graph.outputs[i] for i in results)
    for number in numbers:
        value = own.get(number)
        if value is None:
            aval = node.inputs[1 + number].aval.without_value()
            attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": ""}
            value = result.add(get("placeholder"), (), attrs, avals=(aval,), name="Placeholder").outputs[0]
        result.inputs.append(value)
    return result


def _recursive_call(node: Node) -> list[Definition]:
    graph = node.attrs["callee"].graph
    n = len(graph.outputs)  # a result more is the stamp of Variables, which only gradients take
    return [_called(node, graph, types_of(node.outputs[:n]))]


#: How a function runs, as TensorFlow writes it for the CPU alone (the message ConfigProto).
CONFIG = b"\n\x07\n\x03CPU\x10\x01\n\x07\n\x03GPU\x10\x002\x02J\x008\x01\x82\x01\x00\x92\x01\x02J\x00"


def _called(node: Node, graph: Graph, results: object) -> Definition:
    attrs = {
        "Tin": types_of(node.inputs),
        "Tout": results,
        "f": graph,
        "config": "",
        "config_proto": CONFIG,
        "executor_type": "",
        "_read_only_resource_inputs": [],
        "_collective_manager_ids": [],
    }
    op = "PartitionedCall" if _stateless(node) else "StatefulPartitionedCall"
    return Definition(node, op, node.inputs, attrs)


#: How branches, loops and calls are written, by the names of primitives.
CALLS: dict[str, Callable[[Node], list[Definition]]] = {
    "call": lambda node: [_called(node, node.attrs["graph"], types_of(node.outputs))],
    "cond": _cond,
    "recursive_call": _recursive_call,
    "while": lambda node: while_definitions(node, "StatelessWhile" if _stateless(node) else "While"),
}
