"""The pass over loops that are given one value twice, or stack one value twice.

Rule: only names are merged: what a loop stacks and takes afterwards once stands under one name, and `prune` drops the
rest. A gradient's loop takes what its forward loop stacked, often one value for several operations.

    a, b = while(..., body stacks x, x)     ->  a for both
    while(..., a, a), body of p, q          ->  body of p for both, nodes that are then equal merged
"""

from __future__ import annotations

from fastgraph.graph.ir import Graph, Node, Value, copy
from fastgraph.graph.passes.rewriter import Rebuild, fuel


def merge_duplicates(graph: Graph) -> Graph:
    """Return `graph` with duplicates of its loops, and of those inside them, merged; the graph itself without any."""
    same: dict[Value, Value] = {}
    changed: dict[Node, dict[str, Graph]] = {}
    for node in graph.nodes:
        graphs = {name: value for name, value in node.attrs.items() if isinstance(value, Graph)}
        if not graphs:
            continue
        made = {name: merge_duplicates(value) for name, value in graphs.items()}
        if node.op.name == "while":
            made = _taken_once(node, made, same)
            same.update(_stacked_twice(node, made["body_graph"]))
        if any(made[name] is not graphs[name] for name in made):
            changed[node] = made
    if not changed and not same:
        return graph
    attrs = {k: {**node.attrs, **changed[node]} for k, node in enumerate(graph.nodes) if node in changed}
    result = _renamed(graph, same)
    for k, made_attrs in attrs.items():
        result.nodes[k].attrs = made_attrs
    return result


def _taken_once(node: Node, graphs: dict[str, Graph], same: dict[Value, Value]) -> dict[str, Graph]:
    """The loop's graphs, with one name for what it is given twice and nodes that are equal then merged."""
    first: dict[Value, int] = {}
    doubles: dict[int, int] = {}
    for i, value in enumerate(node.inputs):
        if i >= node.attrs["n_carried"] and (j := first.setdefault(same.get(value, value), i)) != i:
            doubles[i] = j
    result = {}
    for name, graph in graphs.items():
        given = graph.parameters
        used = {value for each in graph.nodes for value in each.inputs} | set(graph.outputs)
        merged = {given[i]: given[j] for i, j in doubles.items() if given[i] in used}
        if merged and fuel().spend("what a loop takes twice"):
            renamed = _renamed(graph, merged)
            # A parameter may stand behind what has used another.
            renamed.nodes.sort(key=lambda node: node.op.name != "placeholder")
            graph = Rebuild(renamed, intern=True).run()
        result[name] = graph
    return result


def _stacked_twice(node: Node, body: Graph) -> dict[Value, Value]:
    """Results of a loop that are those of others."""
    joined = node.attrs.get("joined", ())
    apart = {*joined, *[k + 1 for k in joined]}  # end to end, with the sizes
    first: dict[Value, Value] = {}
    found: dict[Value, Value] = {}
    for k in range(node.attrs["n_carried"], len(node.outputs)):
        value, own = body.outputs[k], node.outputs[k]
        other = first.setdefault(value, own) if k not in apart else own
        if other is not own and other.aval.shape == own.aval.shape and fuel().spend("what a loop stacks twice"):
            found[own] = other
    return found


def _renamed(graph: Graph, same: dict[Value, Value]) -> Graph:
    """A copy of the graph with one value for another."""
    result, mapping = copy(graph)
    if same:
        own = {mapping[value]: mapping[other] for value, other in same.items()}
        for node in result.nodes:
            node.inputs = tuple([own.get(value, value) for value in node.inputs])
        result.outputs = [own.get(value, value) for value in result.outputs]
    return result
