"""GraphDef: a graph as TensorFlow's protocol messages, written in the wire format.

Rule: what is written is the graph as it was traced, by the table of `op_table`, and functions for subgraphs. It is
written as bytes; messages are made of these where a program looks at them. No protocol-buffer library is needed.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import resource as RESOURCE
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.shapes import Aval, Shape, TensorShape
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import WITH_SUBGRAPHS, Graph, Node, Value, subgraphs
from fastgraph.graph.node_names import tensor_place
from fastgraph.graph.subgraphs import subgraph_name
from fastgraph.graphdef.attribute_bytes import (
    attribute_bytes,
    attributes_bytes,
    name_functions,
    shape_bytes,
    tensor_bytes,
    type_and_shape,
)
from fastgraph.graphdef.export_loops import in_order, widened
from fastgraph.graphdef.graph_copies import original
from fastgraph.graphdef.messages import Message, NameAttrList
from fastgraph.graphdef.node_bytes import (
    Definition,
    field,
    function_in_bytes,
    named,
    nodes_in_bytes,
    text_field,
    unique_in,
    varint,
)
from fastgraph.graphdef.node_definitions import definitions
from fastgraph.graphdef.op_table import Dims, One
from fastgraph.graphdef.protocol_buffers import as_protocol_buffer
from fastgraph.graphdef.wire_format import sealed_message

PRODUCER, MIN_CONSUMER = 898, 12  # the versions of the format


def graph_def(graph: Graph) -> Any:
    """Return the GraphDef of a graph: `node`, `library`, `versions`. Source: tf.Graph.as_graph_def.

    A protocol buffer where the tensorboard package is there, a Message that reads and prints the same otherwise.
    """
    return as_protocol_buffer("GraphDef", graph_bytes(graph))


class Library:
    """The functions that a GraphDef needs: each graph has a name of its own, found when it is first referred to."""

    def __init__(self) -> None:
        self.names: dict[Graph, str] = {}
        self.loops: dict[Graph, Node] = {}  # of a loop's test or body: the loop
        self.inside: set[Value] = set()  # parameters of functions that are written as operations inside of them
        self.behind: dict[Graph, dict[Value, Aval]] = {}  # see _behind
        self._taken: set[str] = set()

    def name_of(self, graph: Graph) -> str:
        """Return the name of a function; a copy has that of its graph."""
        graph = original(graph)
        found = self.names.get(graph)
        if found is None:
            base = graph.name
            if graph.trace is not None and graph.trace.kind == "function":
                base = graph.function_name = graph.function_name or subgraph_name(f"__inference_{base}")
            found = self.names[graph] = unique_in(self._taken, base)
        return found

    def attributes(self, definition: Definition) -> bytes:
        """Return the attributes of an operation with functions in the wire format."""
        if isinstance(definition.attrs.get("body"), Graph):
            self.loops.update({definition.attrs[part]: definition.loop for part in ("cond", "body")})
        name_functions(definition.attrs, self.name_of)
        return attributes_bytes(definition.attrs, self.name_of)


def graph_bytes(graph: Graph) -> bytes:
    """Return the GraphDef of a graph in the wire format."""
    with resting:
        library = Library()
        for name, function in graph.library.items():
            library.names[function] = unique_in(library._taken, name)
        found = definitions(graph)
        names: dict[Value, str] = {}
        named(found, names, False)
        nodes = nodes_in_bytes(found, names, 1, attributes_bytes, library.name_of, library.attributes, WITH_FUNCTIONS)
        done: dict[str, bytes] = {}
        while len(done) < len(library.names):
            for each, name in list(library.names.items()):
                if name not in done:
                    done[name] = field(1, function_bytes(each, name, library))
        functions = field(2, b"".join([done[name] for name in sorted(done)])) if done else b""
        return b"".join((nodes, functions, _VERSIONS))


_VERSIONS = field(4, b"\x08" + varint(PRODUCER) + b"\x10" + varint(MIN_CONSUMER))


def function_def(graph: Graph, name: str) -> Any:
    """Return the FunctionDef of a graph."""
    library = Library()
    library.names[graph] = unique_in(library._taken, name)
    return as_protocol_buffer("FunctionDef", function_bytes(graph, name, library))


def node_def(definition: Definition) -> Any:
    """Return the NodeDef of one operation."""
    names = {}
    for value in definition.inputs:
        name, i = tensor_place(value)
        names[value] = f"{name}:{i}" if i else name
    library = Library()
    content = nodes_in_bytes(
        [definition], names, 0, attributes_bytes, library.name_of, library.attributes, WITH_FUNCTIONS
    )
    return as_protocol_buffer("NodeDef", content)


#: Operations that have functions as attributes, which each GraphDef has to know, and calls as it likes.
WITH_FUNCTIONS = frozenset(
    [state + kind for state in ("", "Stateless", "Stateful") for kind in ("If", "While", "Case", "PartitionedCall")]
    + [f"{kind}Dataset" for kind in ("Filter", "FlatMap", "GroupByWindow", "Interleave", "Map", "Scan", "TakeWhile")]
)


def attr_value(attr: Any) -> Message:
    """Return an AttrValue."""
    return sealed_message(attribute_bytes(attr), "AttrValue")


def attribute(attr: object) -> Any:
    """Return an attribute as an operation gives it: text as bytes, a shape or tensor as its message."""
    if isinstance(attr, str):
        return attr.encode()
    if isinstance(attr, list):
        return [attribute(item) for item in attr]
    if isinstance(attr, Dims):
        return as_protocol_buffer("TensorShapeProto", shape_bytes(attr.shape))
    if isinstance(attr, EagerTensor):
        return as_protocol_buffer("TensorProto", tensor_bytes(attr))
    if isinstance(attr, One):
        return as_protocol_buffer("TensorProto", tensor_bytes(attr.tensor, True))
    return NameAttrList(name=attr.name) if isinstance(attr, Graph) else attr


def tensor_message(tensor: Any) -> Message:
    """Return a TensorProto."""
    return sealed_message(tensor_bytes(tensor), "TensorProto")


def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> Message:
    """Return the TensorProto of values, which `make_ndarray` reads. Source: tf.make_tensor_proto.

    Args:
        values: A tensor whose values are known, an array, a number, a text or lists of such.
        dtype: What they are converted to; None: what they are, of Python's numbers as in `constant`.
        shape: The shape that they are given, None for their own.
        verify_shape: Whether their own must be `shape`: TypeError if it is not.
        allow_broadcast: With `verify_shape`: whether one value may fill the whole `shape`.

    Where there are fewer values than the shape has, the last stands for the rest. Raises TypeError for what is no value
    of the dtype, ValueError for more values than the shape has.
    """
    tensor = convert_to_tensor(values, dtype)
    if not isinstance(tensor, EagerTensor):
        raise TypeError(f"List of Tensors when single Tensor expected, or a value that only a call knows: {values!r}")
    own = tensor.dims
    dims: tuple[Any, ...] = own if shape is None else tuple(TensorShape(shape).as_list())
    n = math.prod(dims)
    if own != dims:
        if verify_shape and not (allow_broadcast and math.prod(own) == 1):
            raise TypeError(f"Expected Tensor's shape: {dims}, but got {own}.")
        flat = np.asarray(tensor).reshape(-1)
        if flat.size > n or not flat.size:
            raise ValueError(f"A tensor of shape {list(dims)} takes 1 to {n} elements, {flat.size} were given.")
        tensor = from_array(np.append(flat, np.repeat(flat[-1:], n - flat.size)).reshape(dims), tensor.dtype)
    found: Message = as_protocol_buffer("TensorProto", tensor_bytes(tensor))
    return found


def function_bytes(graph: Graph, name: str, library: Library) -> bytes:
    """Return a FunctionDef: a subgraph with named arguments and results.

    A loop's body gives back what does not change.
    """
    parameters = own = graph.parameters
    if library.inside:
        parameters = own = [value for value in own if value not in library.inside]
    returned, passed, more = graph.outputs, frozenset[Value](), list[Definition]()
    in_loop = graph in library.loops
    if in_loop:
        parameters, returned, passed, more = widened(library.loops[graph], graph)
    users = _names_of_users(graph, parameters, library)
    apart = {value.node for value in own}  # those of captured tensors are written as constants elsewhere
    found = [d for d in definitions(graph) if d.type != "Placeholder" and d.node not in apart]
    if in_loop:
        found = in_order(graph, found, more)
    behind = _behind(graph, library.behind)
    arguments = [
        (_head(behind[value]) if value in behind else b"", _said(value.aval.shape, said))
        for value, said in zip(parameters, users, strict=True)
    ]
    return function_in_bytes(
        name, parameters, returned, passed, found, arguments, attributes_bytes, library.name_of, library.attributes,
        WITH_FUNCTIONS,
    )  # fmt: skip


def _head(aval: Aval) -> bytes:
    """Dtype and shape of what is behind a Variable's handle, in an ArgDef."""
    return field(7, type_and_shape(aval.dtype, aval.shape))


@functools.lru_cache(4096)
def _said(shape: Shape, said: str) -> bytes:
    """The attributes of an argument: its shape, and how the user calls it."""
    content = field(1, _OUTPUT_SHAPES + field(2, field(1, field(7, shape_bytes(shape)))))
    if said:
        content += field(1, _USER_NAME + field(2, text_field(2, said)))
    return field(2, content)


_OUTPUT_SHAPES, _USER_NAME = text_field(1, "_output_shapes"), text_field(1, "_user_specified_name")


def _behind(graph: Graph, known: dict[Graph, dict[Value, Aval]]) -> dict[Value, Aval]:
    """Dtypes and shapes of what Variables hold, by the handles that a graph reads; its subgraphs are looked through."""
    if graph not in known:
        found = known[graph] = {}
        takes_any = any(value.aval.dtype is RESOURCE for value in graph.parameters)
        for node in graph.nodes if takes_any else ():
            if node.op.name == "read_variable":
                found[node.inputs[0]] = node.outputs[0].aval
            for inner, first in subgraphs(node) if node.op.step in WITH_SUBGRAPHS else ():
                places = dict(zip(inner.parameters, node.inputs[first:], strict=False))
                found.update({places[value]: aval for value, aval in _behind(inner, known).items() if value in places})
    return known[graph]


def _names_of_users(graph: Graph, parameters: list[Value], library: Library) -> list[str]:
    """Return the name that the user, or the graph around a loop, gives each parameter; "" where there is none.

    Newer versions of TensorFlow say it of branches too, the guide's does not.
    """
    if graph in library.loops:
        node = library.loops[graph]
        before = [f"{node.name}/loop_counter", f"{node.name}/maximum_iterations"]
        n_own, captured = node.attrs["n_carried"], node.inputs[node.attrs["n_carried"] :]
        n_lists = len(parameters) - 2 - n_own - len(captured)
        return [*before, *[""] * (n_own + n_lists), *[value.node.name for value in captured]]
    own = set(graph.inputs) if graph.trace is not None and graph.trace.kind == "function" else set()
    return [value.node.attrs.get("name") or "" if value in own else "" for value in parameters]
