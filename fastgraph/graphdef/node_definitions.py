"""The operations that a graph is written as: of each node by its row, or as what has none says.

Rule: the graph stays as it was traced; its definitions are made once, and anew for what has been added.
"""

from __future__ import annotations

import numpy as np

from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import Graph, Node
from fastgraph.graphdef.export_random import RANDOM, without_states
from fastgraph.graphdef.export_structure import STRUCTURE, control_of
from fastgraph.graphdef.graph_copies import CopiedGraph
from fastgraph.graphdef.op_table import Definition, Unwritable, as_is, written

#: Eager tensors that a function uses are written as constants up to this many elements, as TensorFlow does.
SMALL = 128


def definitions(graph: Graph) -> list[Definition]:
    """Return what the nodes of the graph are written as, in program order."""
    if graph.trace is not None:
        graph.trace.settle_names()
    state = (len(graph.nodes), len(graph.captures), list(graph.outputs), dict(graph.control))
    before = graph.__dict__.get("_definitions")
    if before is not None and before[0] == state:
        return before[1]
    structure, stated = (graph.structure, graph.stated) if isinstance(graph, CopiedGraph) else (STRUCTURE, {})
    cache: dict[Node, list[Definition]] = graph.__dict__.setdefault("_written", dict(stated))
    held = {value.node: tensor for tensor, value in graph.captures if isinstance(tensor, EagerTensor)}
    found: list[Definition] = []
    for node in graph.nodes:
        known = cache.get(node)
        if known is not None and node.outputs and not any(node.outputs[-1] in each.outputs for each in known):
            known = None  # a gradient has made a loop or branch give more
        if known is None and node in held and (held[node].aval.size or 0) <= SMALL:
            known = cache[node] = [Definition(node, "Const", (), {"dtype": held[node].dtype, "value": held[node]})]
        if known is None:
            special, random = structure.get(node.op.name), RANDOM.get(node.op.name)
            try:
                if random is not None:
                    known = random(node, graph)
                else:
                    known = special(node) if special is not None else written(node)
            except Unwritable:
                known = [as_is(node)]
            cache[node] = known
            if node in graph.listed and len(known) == 2:
                value = known[0].attrs["value"]
                known[0].attrs["value"] = from_array(np.reshape(value.numpy(), 1), value.dtype)
            for definition in known:  # a name that the user took already
                if definition.free:
                    definition.name = graph.unique_name(definition.name)
                    continue
                taken = definition.name != node.name and definition.name.lower() in graph._names
                definition.name += "_of_graph" if taken else ""
            for definition in known:
                if definition.node is not node:  # of what is written besides, its tensors are called so as well
                    definition.node.name = definition.name
        found += _after_constants(graph, found, known) if graph.implied else known
    found = control_of(graph, without_states(graph, _without_implied(graph, found)))
    graph.__dict__["_definitions"] = state, found
    return found


def _after_constants(graph: Graph, found: list[Definition], known: list[Definition]) -> list[Definition]:
    """Return what a node is written as, after it took the constants that it implies, in the order of its arguments."""
    last = known[-1]
    if not found or found[-1].node not in graph.implied or last.type == "OneHot":
        return known
    if all(value.node is not found[-1].node for value in last.inputs):
        return known
    order = {value.node: i for i, value in enumerate(last.inputs)}
    before = known[:-1]
    if not all(each.node in order for each in before):
        return known
    while found and found[-1].node in graph.implied and found[-1].node in order:
        before.append(found.pop())
    return [*sorted(before, key=lambda each: order[each.node]), last]


def _without_implied(graph: Graph, found: list[Definition]) -> list[Definition]:
    """Leave out constants of Python values, and conditions, that no operation takes as it is written."""
    if not graph.implied:
        return found
    taken = {value.node for value in graph.outputs}
    kept = []
    for each in reversed(found):
        if each.node not in graph.implied or each.node in taken:
            kept.append(each)
            taken.update([value.node for value in each.inputs])
    return kept[::-1]
