"""Random operations as they are written: those that draw by themselves from their seeds, those of a seed that is given,
and those of a generator that is a Variable, whose state is read and goes on.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.graph_copies import origin
from fastgraph.graphdef.node_bytes import Definition, const_definition, constant, node_beside
from fastgraph.graphdef.op_table import Unwritable, as_is, defined
from fastgraph.ops.random_states import RESERVED, generators

PHILOX = 1  # the algorithm's number


def _own(state: Node, graph: Graph) -> Any:
    """The generator that a draw is of if it is an op's own, else None."""
    cell = None
    if state.op.name == "draw" and graph.trace is not None:
        cell = graph.trace.handle(origin(graph, state.inputs[0]))
    return cell if cell is not None and cell in generators.traced else None


def _seeds(node: Node, graph: Graph, cell: Any = None) -> dict[str, int]:
    """The seeds of the generator that an op draws from, `cell` if it is known; Unwritable where it is no op's own."""
    cell = cell or _own(node.inputs[0].node, graph)
    if cell is None:
        raise Unwritable("random numbers of a generator that is a Variable")
    first, second = generators.traced[cell] or (0, 0)
    return {"seed": first, "seed2": second}


def _shape_input(parts: Parts, node: Node) -> Value:
    if node.op.name != "random_numbers":
        return node.inputs[1]
    scope, _, last = node.name.rpartition("/")
    made = constant(tuple(node.attrs["shape"]), node, "shape", dtypes.int32)
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
    own = _own(state, graph)
    if kind == "bits" and own is not None:
        return _words(parts, node, graph)
    shape = _shape_input(parts, node)
    if own is not None:
        return parts.last(_STATEFUL[kind], (shape,), _seeds(node, graph, own))
    return _stateless(parts, shape, _keys_of(parts, node), kind)


def _keys_of(parts: Parts, node: Node) -> Sequence[Value]:
    """The key and the counter of a seed that the program gives, or of the state of a generator."""
    state = node.inputs[0].node
    if state.op.name != "state_of_seed":
        return key_and_counter(parts, node.inputs[0])
    both = Node(state.op, (), {}, (Aval(dtypes.uint64, (1,)), Aval(dtypes.uint64, (2,))), f"{node.name}/{_KEYS}")
    parts.made.append(defined(both, _KEYS, (state.inputs[0],)))
    return both.outputs


def _stateless(parts: Parts, shape: Value, keys: Sequence[Value], kind: str) -> list[Definition]:
    """The last operation of a node: numbers of a key and a counter."""
    alg = parts.const(PHILOX, "alg", dtypes.int32)
    return parts.last(_STATELESS[kind], (shape, *keys, alg))


def _words(parts: Parts, node: Node, graph: Graph) -> list[Definition]:
    """Random words: integers from the least one on, taken for numbers without signs. One word of all never comes."""
    dtype = node.outputs[0].aval.dtype
    signed = dtypes.int64 if dtype.size == 8 else dtypes.int32
    if dtype.size not in (4, 8):
        raise Unwritable("random words")
    aval, bounds = node.outputs[0].aval.without_value(), np.iinfo(signed.numpy_dtype)
    shape = _shape_input(parts, node)
    low, high = parts.const(bounds.min, "min", signed), parts.const(bounds.max, "max", signed)
    attrs = {**_seeds(node, graph), "Tout": signed, "T": shape.aval.dtype}
    drawn = node_beside(node, Aval(signed, aval.shape), f"{node.name}/RandomUniformInt")
    parts.made.append(Definition(drawn, "RandomUniformInt", (shape, low, high), attrs))
    parts.made[-1].slots = ["output:0"]
    words = parts.op("Bitcast", drawn.outputs, aval, type=dtype)
    return parts.last("AddV2", (words, parts.const(2 ** (8 * dtype.size - 1), "AddV2/y", dtype)))


_KEYS = "StatelessRandomGetKeyCounter"


def _of_seed(node: Node, kind: str, inputs: Sequence[Value], **attrs: Any) -> list[Definition]:
    """An operation that takes a shape, a seed that the program gives, and what is said of the distribution."""
    seed = node.inputs[0].node.inputs[0]
    types = {"Tseed": seed.aval.dtype, "dtype": node.outputs[0].aval.dtype, **attrs}
    found = Definition(node, kind, (inputs[0], seed, *inputs[1:]), types)
    found.slots = ["output:0"]
    return [found]


def of_rates(node: Node, graph: Graph) -> list[Definition]:
    """Numbers of the gamma and Poisson distributions: of each parameter as many as the shape before its own says."""
    state, size, rates = node.inputs[0].node, *node.inputs[1:3]
    gamma, parts, dtype = node.op.name == "random_gamma", Parts(node), node.outputs[0].aval.dtype
    if state.op.name == "state_of_seed":
        if not gamma:
            attrs = {"T": size.aval.dtype, "Rtype": rates.aval.dtype}
            return _of_seed(node, "StatelessRandomPoisson", (size, rates), **attrs)
        inputs = (size, *_keys_of(parts, node), parts.const(PHILOX, "alg", dtypes.int32), rates)
        last = Definition(node, "StatelessRandomGammaV3", inputs, {"dtype": dtype, "shape_dtype": size.aval.dtype})
    else:
        seeds, before, own = _seeds(node, graph), size.aval.shape, rates.aval.shape
        if not before or before[0] is None or own is None:
            raise Unwritable("random numbers of parameters of unknown rank")
        bounds = parts.const(np.array([0], np.int32), "begin"), parts.const(np.array([before[0] - len(own)]), "size")
        bounds = bounds[0], parts.op("Cast", (bounds[1],), Aval(dtypes.int32, (1,)))
        outer = parts.op("Slice", (size, *bounds), Aval(size.aval.dtype, (before[0] - len(own),)))
        types = {"T": dtype} if gamma else {"R": rates.aval.dtype, "dtype": dtype}
        kind = "RandomGamma" if gamma else "RandomPoissonV2"
        last = Definition(node, kind, (outer, rates), {**seeds, "S": size.aval.dtype, **types})
    last.slots = ["output:0"]
    return [*parts.made, last]


def of_seed_alone(node: Node, graph: Graph) -> list[Definition]:
    """Binomial numbers, and normal ones between bounds."""
    if node.inputs[0].node.op.name != "state_of_seed":
        raise Unwritable(node.op.name)
    size, *rest = node.inputs[1:]
    types = {"S": size.aval.dtype, **({"T": rest[0].aval.dtype} if node.op.name == "random_binomial" else {})}
    return _of_seed(node, str(node.op.op_type), (size, *rest), **types)


def host_call(node: Node, graph: Graph) -> list[Definition]:
    """A function of this package that is one of TensorFlow's operations, by what it says itself."""
    said = node.attrs["key"].written
    if said is None:
        raise Unwritable(node.op.name)
    kind, results, attrs = said
    inputs = node.inputs
    if inputs and inputs[0].node.op.name == "draw":
        inputs, attrs = inputs[1:], {**attrs, **_seeds(node, graph)}
    found = Definition(node, kind, inputs, attrs)
    if kind != "UnicodeDecodeWithOffsets":
        found.slots = [f"{name}:0" for name in results.split()]
        return [found]
    n, parts = node.inputs[0].aval.shape, Parts(node)  # where rows begin, of which their lengths follow
    splits = Node(node.op, (), {}, (Aval(dtypes.int64, None),), f"{node.name}/{kind}", node.source).outputs[0]
    found.name, found.outputs = f"{node.name}/{kind}", (splits, *node.outputs[:2])
    found.slots = [f"{name}:0" for name in results.split()]
    parts.made.append(found)
    one, strides = parts.const(np.array([1], np.int32), "one"), parts.const(np.array([1], np.int32), "strides")
    zero, last = parts.const(np.array([0], np.int32), "zero"), parts.const(np.array([-1], np.int32), "last")
    ends = parts.op("StridedSlice", (splits, one, zero, strides), Aval(dtypes.int64, n), end_mask=1)
    begins = parts.op("StridedSlice", (splits, zero, last, strides), Aval(dtypes.int64, n), begin_mask=1)
    lengths = parts.last("Sub", (ends, begins))
    lengths[-1].outputs = (node.outputs[2],)
    return lengths


def truncated_numbers(node: Node, graph: Graph) -> list[Definition]:
    """Numbers of the normal distribution, none further than two deviations out."""
    parts, size, own = Parts(node), node.inputs[1], _own(node.inputs[0].node, graph)
    if own is not None:
        return parts.last("TruncatedNormal", (size,), _seeds(node, graph, own))
    inputs = (size, *_keys_of(parts, node), parts.const(PHILOX, "alg", dtypes.int32))
    attrs = {"dtype": node.outputs[0].aval.dtype, "Tshape": size.aval.dtype}
    last = Definition(node, "StatelessTruncatedNormalV2", inputs, attrs)
    last.slots = ["output:0"]
    return [*parts.made, last]


def permutation(node: Node, graph: Graph) -> list[Definition]:
    """The numbers below n, shuffled."""
    parts, n, own = Parts(node), node.inputs[1], _own(node.inputs[0].node, graph)
    zero, one = parts.const(0, "range/start", n.aval.dtype), parts.const(1, "range/delta", n.aval.dtype)
    numbers = parts.op("Range", (zero, n, one), node.outputs[0].aval.without_value())
    if own is not None:
        return parts.last("RandomShuffle", (numbers,), _seeds(node, graph, own))
    inputs = (numbers, *_keys_of(parts, node), parts.const(PHILOX, "alg", dtypes.int32))
    last = Definition(node, "StatelessShuffle", inputs, {"T": numbers.aval.dtype})
    last.slots = ["output:0"]
    return [*parts.made, last]


def skipped(node: Node, graph: Graph) -> list[Definition]:
    """The state of a generator that is a Variable, which goes on by so many numbers."""
    if _own(node, graph) is not None:  # left out, where nothing else takes it: see without_states
        return [as_is(node)]
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


#: Ops that are written with the graph that knows the generators.
RANDOM: dict[str, Callable[[Node, Graph], list[Definition]]] = {
    "draw": skipped,
    "host_call": host_call,
    "random_binomial": of_seed_alone,
    "random_gamma": of_rates,
    "random_poisson": of_rates,
    "random_truncated": of_seed_alone,
    "random_numbers": random_numbers,
    "random_numbers_dynamic": random_numbers,
    "truncated_numbers": truncated_numbers,
    "permutation": permutation,
}


#: Primitives whose nodes are states that random numbers come from.
STATES = frozenset({"state_of_seed", "draw"})
