"""Pruning: what neither an output nor an effect needs is dropped, inside and around branches and loops too.

Rule: TensorFlow's non-strict execution: an op that nothing needs does not run, and so does not fail. A cond or while
loses the results that nobody uses and the operands that are then unused; placeholders of a function's parameters stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fastgraph.core.base import flags
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value

#: Ops that only tell of what goes on: the flag `passes` may have them taken out.
_TELLING = frozenset({"assert", "print", "check_numerics"})
#: Ops that compute, but are there to stop the program: they run whether or not their result is needed.
CHECKING = frozenset({"check_numerics"})


class _Trimmed(NamedTuple):
    """The rest of a node with subgraphs: its attributes, and which inputs and outputs it keeps."""

    attrs: dict[str, Any]
    inputs: list[int]
    outputs: list[int]


def prune(graph: Graph) -> Graph:
    """Return the graph without what is not needed; the graph itself if all is needed."""
    kept, trimmed = _needed(graph)
    if len(kept) == len(graph.nodes) and not trimmed:
        return graph
    if not trimmed:  # the nodes that are left stay as they are: both graphs have them
        result = Graph(graph.name)
        result.inputs, result.captures, result.outputs = [*graph.inputs], [*graph.captures], [*graph.outputs]
        result.nodes = [node for node in graph.nodes if node in kept]
        result._names = dict(graph._names)
        return result
    return _rebuilt(graph, kept, trimmed)


def _needed(graph: Graph) -> tuple[set[Node], dict[Node, _Trimmed]]:
    """Walk backward: the nodes that are needed, and those of them that become smaller."""
    telling = _TELLING if flags.STRIP in flags.get("passes") else frozenset()
    live: set[Value] = set(graph.outputs)
    kept: set[Node] = set()
    trimmed: dict[Node, _Trimmed] = {}
    parameters = {value.node for value in graph.parameters}
    for node in reversed(graph.nodes):
        if node in parameters:
            kept.add(node)
            continue
        unused = live.isdisjoint(node.outputs)
        if unused and (node.op.name in telling or (_only_reads(node) and not checks(node))):
            continue
        kept.add(node)
        smaller = None
        if node.op.step in ("cond", "while"):
            wanted = [i for i, value in enumerate(node.outputs) if value in live]
            smaller = _trim_cond(node, wanted) if node.op.step == "cond" else _trim_while(node, wanted)
        if smaller is None:
            live.update(node.inputs)
        else:
            trimmed[node] = smaller
            live.update([node.inputs[i] for i in smaller.inputs])
    return kept, trimmed


def checks(node: Node) -> bool:
    """Return whether the node, or one of its subgraphs, has an op that is there to stop the program."""
    return node.op.name in CHECKING or any(
        isinstance(attr, Graph) and any(map(checks, attr.nodes)) for attr in node.attrs.values()
    )


def _only_reads(node: Node) -> bool:
    return all(kind == "read" for kind, _ in ir.effects(node))


def _rebuilt(graph: Graph, kept: set[Node], trimmed: dict[Node, _Trimmed]) -> Graph:
    result = Graph(graph.name)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        if node not in kept:
            continue
        smaller = trimmed.get(node)
        inputs = node.inputs if smaller is None else [node.inputs[i] for i in smaller.inputs]
        outputs = node.outputs if smaller is None else [node.outputs[i] for i in smaller.outputs]
        new = Node(
            node.op,
            tuple([mapping[value] for value in inputs]),
            node.attrs if smaller is None else smaller.attrs,
            tuple([value.aval for value in outputs]),
            result.unique_name(node.name),
            node.source,
            node.device,
        )
        result.nodes.append(new)
        mapping.update(zip(outputs, new.outputs, strict=True))
    return result.with_ends_of(graph, mapping)


def _with_outputs(graph: Graph, outputs: list[int]) -> Graph:
    """The graph with only these of its outputs, pruned."""
    result = Graph(graph.name)
    result.inputs, result.captures, result.nodes = graph.inputs, graph.captures, graph.nodes
    result.outputs = [graph.outputs[i] for i in outputs]
    return prune(result)


def _used_inputs(graph: Graph) -> set[int]:
    used = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    return {i for i, value in enumerate(graph.inputs) if value in used}


def _without_inputs(graph: Graph, inputs: list[int]) -> Graph:
    """The graph with only these of its inputs; the others are unused."""
    result, mapping = ir.copy(graph)
    keep = [mapping[graph.inputs[i]] for i in inputs]
    gone = {value.node for value in result.inputs} - {value.node for value in keep}
    result.inputs = keep
    result.nodes = [node for node in result.nodes if node not in gone]
    return result


def _trim_cond(node: Node, outputs: list[int]) -> _Trimmed | None:
    graphs = [node.attrs["then_graph"], node.attrs["else_graph"]]
    pruned = [_with_outputs(graph, outputs) for graph in graphs]
    inputs = sorted(_used_inputs(pruned[0]) | _used_inputs(pruned[1]))
    if (
        len(outputs) == len(node.outputs)
        and len(inputs) == len(graphs[0].inputs)
        and all(a.nodes == b.nodes for a, b in zip(pruned, graphs, strict=True))  # none became smaller, either
    ):
        return None
    then_graph, else_graph = [_without_inputs(graph, inputs) for graph in pruned]
    attrs = {**node.attrs, "then_graph": then_graph, "else_graph": else_graph}
    return _Trimmed(attrs, [0, *[i + 1 for i in inputs]], outputs)


def _trim_while(node: Node, wanted: list[int]) -> _Trimmed | None:
    n_carried: int = node.attrs["n_carried"]
    test, body = prune(node.attrs["cond_graph"]), node.attrs["body_graph"]
    stacked = [i for i in wanted if i >= n_carried]
    # A loop variable is needed if its last value is, or the test or another needed value asks for it.
    carried = {i for i in wanted if i < n_carried} | {i for i in _used_inputs(test) if i < n_carried}
    while True:
        pruned = _with_outputs(body, [*sorted(carried), *stacked])
        more = {i for i in _used_inputs(pruned) if i < n_carried} - carried
        if not more:
            break
        carried |= more
    outputs = [*sorted(carried), *stacked]
    used = _used_inputs(test) | _used_inputs(pruned)
    inputs = [i for i in range(len(node.inputs)) if i in carried or (i >= n_carried and i in used)]
    if (
        len(outputs) == len(node.outputs)
        and len(inputs) == len(node.inputs)
        and pruned.nodes == body.nodes  # of which none became smaller, either
        and test.nodes == node.attrs["cond_graph"].nodes
    ):
        return None
    attrs = {
        **node.attrs,
        "cond_graph": _without_inputs(test, inputs),
        "body_graph": _without_inputs(pruned, inputs),
        "n_carried": len(carried),
    }
    joined = tuple([k for k, i in enumerate(outputs) if i in node.attrs.get("joined", ())])
    attrs.pop("joined", None)
    if joined:
        attrs["joined"] = joined
    return _Trimmed(attrs, inputs, outputs)
