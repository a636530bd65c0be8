"""Random operations as they are written: those that draw by themselves from their seeds, those of a seed that is given,
and those of a generator that is a Variable, whose state is read and goes on.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.graph_copies import origin
from fastgraph.graphdef.op_table import Definition, Unwritable, const_definition, constant, defined
from fastgraph.ops.random_states import RESERVED, generators

PHILOX = 1  # the algorithm's number


def _own(state: Node, graph: Graph) -> Any:
    """The generator that a draw is of if it is an op's own, else None."""
    cell = None
    if state.op.name == "draw" and graph.trace is not None:
        cell = graph.trace.handle(origin(graph, state.inputs[0]))
    return cell if cell is not None and cell in generators.traced else None


def _seeds(node: Node, graph: Graph) -> dict[str, int]:
    """The seeds of the generator that an op draws from; Unwritable where it is no op's own."""
    cell = _own(node.inputs[0].node, graph)
    if cell is None:
        raise Unwritable("random numbers of a generator that is a Variable")
    first, second = generators.traced[cell] or (0, 0)
    return {"seed": first, "seed2": second}


def _shape_input(parts: Parts, node: Node) -> Value:
    if node.op.name != "random_numbers":
        return node.inputs[1]
    scope, _, last = node.name.rpartition("/")
    made = constant(np.array(node.attrs["shape"], np.int32), node, "shape")
    if scope and last in _STATEFUL.values():  # beside the operation, in the scope of both
        made.name = f"{scope}/shape"
    parts.made.append(const_definition(made))
    return made.outputs[0]


_STATEFUL = {"unit": "RandomUniform", "normal": "RandomStandardNormal"}
_STATELESS = {
    "unit": "StatelessRandomUniformV2",
    "normal": "StatelessRandomNormalV2",
    "bits": "StatelessRandomUniformFullIntV2",
}


def random_numbers(node: Node, graph: Graph) -> list[Definition]:
    """Numbers of a distribution: drawn, or of a seed that the program gives."""
    kind = node.attrs["kind"]
    parts = Parts(node)
    state = node.inputs[0].node
    shape = _shape_input(parts, node)
    if state.op.name != "state_of_seed" and _own(state, graph) is None:
        return _stateless(parts, shape, key_and_counter(parts, node.inputs[0]), kind)
    if kind not in _STATEFUL and state.op.name != "state_of_seed":
        raise Unwritable("random words")
    if state.op.name != "state_of_seed":
        return parts.last(_STATEFUL[kind], (shape,), **_seeds(node, graph))
    seed = state.inputs[0]
    both = Node(state.op, (), {}, (Aval(dtypes.uint64, (1,)), Aval(dtypes.uint64, (2,))), f"{node.name}/{_KEYS}")
    parts.made.append(defined(both, _KEYS, (seed,)))
    return _stateless(parts, shape, both.outputs, kind)


def _stateless(parts: Parts, shape: Value, keys: Sequence[Value], kind: str) -> list[Definition]:
    """The last operation of a node: numbers of a key and a counter."""
    alg = parts.const(PHILOX, "alg", dtypes.int32)
    return parts.last(_STATELESS[kind], (shape, *keys, alg))


_KEYS = "StatelessRandomGetKeyCounter"


def truncated_numbers(node: Node, graph: Graph) -> list[Definition]:
    """Numbers of the normal distribution, none further than two deviations out."""
    return Parts(node).last("TruncatedNormal", node.inputs[1:2], **_seeds(node, graph))


def permutation(node: Node, graph: Graph) -> list[Definition]:
    """The numbers below n, shuffled."""
    seeds = _seeds(node, graph)
    parts = Parts(node)
    n = node.inputs[1]
    kind = n.aval.dtype
    zero, one = parts.const(0, "range/start", kind), parts.const(1, "range/delta", kind)
    numbers = parts.op("Range", (zero, n, one), node.outputs[0].aval.without_value())
    return parts.last("RandomShuffle", (numbers,), **seeds)


def skipped(node: Node, graph: Graph) -> list[Definition]:
    """The state of a generator that is a Variable, which goes on by so many numbers."""
    if _own(node, graph) is not None:
        raise Unwritable("the state of an op's own generator")
    resource, blocks = node.inputs
    parts = Parts(node)
    alg = parts.const(PHILOX, "alg", dtypes.int32)
    known = blocks.aval.value
    if known is None and blocks.node.op.name == "const":
        known = blocks.node.attrs["value"].numpy()
    if known is not None:
        delta = parts.const(np.uint64(-(-int(known) // RESERVED)), "delta", dtypes.uint64)
    else:
        number = Aval(dtypes.int64, ())
        by = parts.const(RESERVED, "FloorDiv/y", dtypes.int64)
        count = parts.op("FloorDiv", (blocks, by), number)
        delta = parts.op("Cast", (count,), Aval(dtypes.uint64, ()))
    return parts.last("RngReadAndSkip", (resource, alg, delta))


def key_and_counter(parts: Parts, state: Value) -> tuple[Value, Value]:
    """The key and the counter that a state holds, u64[1] and u64[2]."""
    found = []
    for begin, size in ((2, 1), (0, 2)):
        where = parts.const(np.array([begin], np.int32), "begin"), parts.const(np.array([size], np.int32), "size")
        part = Aval(dtypes.int64, (size,))
        words = parts.op("Slice", (state, *where), part)
        found.append(parts.op("Bitcast", (words,), Aval(dtypes.uint64, (size,))))
    return found[0], found[1]


#: What is written with the graph that knows the generators.
RANDOM = {
    "draw": skipped,
    "random_numbers": random_numbers,
    "random_numbers_dynamic": random_numbers,
    "truncated_numbers": truncated_numbers,
    "permutation": permutation,
}


def without_states(graph: Graph, found: list[Definition]) -> list[Definition]:
    """Leave out the states of generators that no operation takes any more, and the generators' placeholders."""
    states = {
        node
        for node in graph.nodes
        if node.op.name == "state_of_seed" or (node.op.name == "draw" and _own(node, graph) is not None)
    }
    if not states:
        return found
    held = {value.node for node in states for value in node.inputs if value.aval.dtype == dtypes.resource}
    outputs = {value.node for value in graph.outputs}
    for group in (states, {value.node for node in states for value in node.inputs}):
        used = {value.node for definition in found for value in definition.inputs} | outputs
        found = [
            each
            for each in found
            if each.node not in group or each.node in used or (each.type == "Placeholder" and each.node not in held)
        ]
    return found
