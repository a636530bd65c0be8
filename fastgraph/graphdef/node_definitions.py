"""The operations that a graph is written as: of each node by its row, or as what has none says.

Rule: the graph stays as it was traced; its definitions are made once, and anew for what has been added.
"""

from __future__ import annotations

import functools

import numpy as np

from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import WITH_SUBGRAPHS, Graph, Node
from fastgraph.graphdef.attribute_bytes import SMALL
from fastgraph.graphdef.export_random import RANDOM, STATES
from fastgraph.graphdef.export_structure import STRUCTURE, control_of
from fastgraph.graphdef.graph_copies import CopiedGraph, Structure
from fastgraph.graphdef.node_bytes import Definition, Kind, const_definition, settled, walked, without_unused
from fastgraph.graphdef.op_table import Unwritable, as_is, form_of, written


def _kind(structure: Structure, op: Primitive) -> Kind:
    special = op.name in structure or op.name in RANDOM
    effect = op.effect is not None or op.step in WITH_SUBGRAPHS
    return Kind(None if special else functools.partial(form_of, op.name), effect, op.name in STATES)


_KINDS: dict[Primitive, Kind] = {}


def definitions(graph: Graph) -> list[Definition]:
    """Return what the nodes of the graph are written as, in program order."""
    if graph.trace is not None:
        graph.trace.settle_names()
    state = (len(graph.nodes), len(graph.captures), list(graph.outputs), dict(graph.control))
    before = graph.__dict__.get("_definitions")
    if before is not None and before[0] == state:
        whole: list[Definition] = before[1]
        return whole
    structure: Structure = graph.structure if isinstance(graph, CopiedGraph) else STRUCTURE
    stated = graph.stated if isinstance(graph, CopiedGraph) else {}
    kinds = _KINDS if structure is STRUCTURE else {}
    cache: dict[Node, list[Definition]] = graph.__dict__.setdefault("_written", dict(stated))
    held = {value.node: tensor for tensor, value in graph.captures if isinstance(tensor, EagerTensor)}

    def of_node(node: Node, known: list[Definition] | None) -> list[Definition]:
        if known is not None and node.outputs and not any(node.outputs[-1] in each.outputs for each in known):
            known = None  # a gradient has made a loop or branch give more
        if known is None:
            known = cache[node] = _of_node(graph, node, structure, held)
        return known

    kind = functools.partial(_kind, structure)
    found, touching, states = walked(graph, cache, kinds, kind, of_node, held)
    if graph.implied or states:
        found = without_unused(found, graph.implied, states, graph.outputs)
    if touching or graph.control:
        found = control_of(graph, found, touching)
    graph.__dict__["_definitions"] = state, found
    return found


def _of_node(graph: Graph, node: Node, structure: Structure, held: dict[Node, EagerTensor]) -> list[Definition]:
    """Return what a node is written as, with names that are no other's."""
    if node in held and (held[node].aval.size or 0) <= SMALL:  # eager tensors that a function uses, as TensorFlow does
        return [Definition(node, "Const", (), {"dtype": held[node].dtype, "value": held[node]})]
    special, random = structure.get(node.op.name), RANDOM.get(node.op.name)
    try:
        if random is not None:
            known = random(node, graph)
        else:
            known = special(node) if special is not None else written(node)
    except Unwritable:
        known = [as_is(node)]
    if node in graph.listed and len(known) == 2:
        value = known[0].attrs["value"]
        known[0].node.attrs["value"] = from_array(np.reshape(value.numpy(), 1), value.dtype)
        known[0], name, free = const_definition(known[0].node), known[0].name, known[0].free
        known[0].name, known[0].free = name, free
    return settled(known, node, graph)
