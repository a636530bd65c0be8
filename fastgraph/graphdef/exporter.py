"""GraphDef: a graph as TensorFlow's protocol messages, read as Python objects and printed in the text format.

Rule: what is written is the graph as it was traced, by the table of `op_table`, and functions for subgraphs. No
protocol-buffer library is needed; the classes have the messages' field names.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.shapes import Aval, Shape, TensorShape
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.op_errors import enum_name
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.graph.node_names import tensor_place
from fastgraph.graph.subgraphs import subgraph_name
from fastgraph.graphdef.export_loops import in_order, widened
from fastgraph.graphdef.graph_copies import original
from fastgraph.graphdef.import_values import attribute as attribute_of
from fastgraph.graphdef.message_types import KINDS, Enum, Later
from fastgraph.graphdef.messages import (
    ArgAttrs,
    ArgDef,
    AttrValue,
    Dim,
    FunctionDef,
    FunctionDefLibrary,
    GraphDef,
    ListValue,
    Message,
    MessageMap,
    NameAttrList,
    NodeDef,
    OpDef,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)
from fastgraph.graphdef.node_definitions import SMALL, definitions
from fastgraph.graphdef.op_table import Definition, Dims, One
from fastgraph.graphdef.protocol_buffers import as_protocol_buffer, has_protocol_buffers
from fastgraph.graphdef.wire_format import field, serialized

PRODUCER, MIN_CONSUMER = 898, 12  # the versions of the format

_VALUE_FIELDS = {
    "float16": "half_val", "bfloat16": "half_val", "float32": "float_val", "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val", "string": "string_val",
    "complex64": "scomplex_val", "complex128": "dcomplex_val",
}  # fmt: skip


def graph_def(graph: Graph) -> Any:
    """Return the GraphDef of a graph: `node`, `library`, `versions`. Source: tf.Graph.as_graph_def.

    A protocol buffer where the tensorboard package is there, a Message that reads and prints the same otherwise.
    """
    with resting:
        return as_protocol_buffer(message(graph, in_bytes=has_protocol_buffers()))


class Library:
    """The functions that a GraphDef needs: each graph has a name of its own, found when it is first referred to.

    With `in_bytes`, nodes are in the wire format as soon as they are made, for what is read by another library.
    """

    def __init__(self, in_bytes: bool = False) -> None:
        self.in_bytes = in_bytes
        self.inputs: dict[str, bytes] = {}  # by names, in the wire format
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
            found = self.names[graph] = _unique(base, self._taken)
        return found


def message(graph: Graph, *, in_bytes: bool = False) -> Message:
    """Return the GraphDef of a graph as a Message; with `in_bytes`, one that can only be serialized."""
    library = Library(in_bytes)
    for name, function in graph.library.items():
        library.names[function] = _unique(name, library._taken)
    fields: dict[str, Any] = {"node": _nodes(graph, library)}
    done: dict[str, Message] = {}
    while len(done) < len(library.names):
        for each, name in list(library.names.items()):
            if name not in done:
                done[name] = function_message(each, name, library)
    if done:
        fields["library"] = FunctionDefLibrary(function=[done[name] for name in sorted(done)])
    fields["versions"] = VersionDef(producer=PRODUCER, min_consumer=MIN_CONSUMER)
    return GraphDef(**fields)


def function_def(graph: Graph, name: str) -> Any:
    """Return the FunctionDef of a graph."""
    library = Library(has_protocol_buffers())
    library.names[graph] = _unique(name, library._taken)
    return as_protocol_buffer(function_message(graph, name, library))


def node_def(definition: Definition) -> Any:
    """Return the NodeDef of one operation."""
    names = {}
    for value in definition.inputs:
        name, i = tensor_place(value)
        names[value] = f"{name}:{i}" if i else name
    found = _node(definition, names, Library())
    assert isinstance(found, Message)
    return as_protocol_buffer(found)


def _nodes(graph: Graph, library: Library) -> list[Message | bytes]:
    found = definitions(graph)
    known = graph.__dict__.get("_written_names")
    if known is None or known[0] is not found:
        names = {}
        for definition in found:
            for i, value in enumerate(definition.outputs):
                names[value] = definition.name if i == 0 else f"{definition.name}:{i}"
        known = graph.__dict__["_written_names"] = found, names
    names = known[1]
    return [_node(definition, names, library) for definition in found]


def _node(definition: Definition, names: dict[Value, str], library: Library) -> Message | bytes:
    if library.in_bytes and definition.type not in _WITH_FUNCTIONS:
        return _node_in_bytes(definition, names, library)
    inputs = [names[value] for value in definition.inputs]
    if definition.control or definition.after:
        inputs += [f"^{name}" for name in sorted((*definition.control, *definition.after))]
    fields: dict[str, Any] = {"name": definition.name, "op": definition.type, "input": inputs}
    if definition.device:
        fields["device"] = definition.device
    if isinstance(definition.attrs.get("body"), Graph):
        library.loops.update({definition.attrs[part]: definition.loop for part in ("cond", "body")})
    if definition.type in _WITH_FUNCTIONS:  # which are to be known
        return NodeDef(**fields, attr={name: attr_value(value, library) for name, value in definition.attrs.items()})
    fields[""] = {"attr": _Attributes(definition.attrs)}
    made: Message = NodeDef.__new__(NodeDef)
    made.__dict__.update(fields)  # which have no messages among them, and are there
    return made


def _node_in_bytes(definition: Definition, names: dict[Value, str], library: Library) -> bytes:
    """A NodeDef in the wire format: name, type, inputs, device and attributes, in this order."""
    parts, known = [_text_field(1, definition.name), _type_field(definition.type)], library.inputs
    for value in definition.inputs:
        name = names[value]
        found = known.get(name)
        if found is None:
            found = known[name] = _text_field(3, name)
        parts.append(found)
    parts += [_text_field(3, f"^{name}") for name in sorted((*definition.control, *definition.after))]
    if definition.device:
        parts.append(_text_field(4, definition.device))
    parts.append(_attributes_in_bytes(definition.attrs))
    return b"".join(parts)


def _text_field(number: int, text: str) -> bytes:
    return field(number, text.encode())


@functools.cache
def _type_field(op: str) -> bytes:
    return _text_field(2, op)


_WITH_FUNCTIONS = frozenset(
    [state + kind for state in ("", "Stateless", "Stateful") for kind in ("If", "While", "Case", "PartitionedCall")]
    + [f"{kind}Dataset" for kind in ("Filter", "FlatMap", "GroupByWindow", "Interleave", "Map", "Scan", "TakeWhile")]
)


def _read_again(value: object) -> Any:
    """Return an attribute as it is once it was written and read."""
    if isinstance(value, DType | str | bool | int | Dims | EagerTensor):
        return value
    if isinstance(value, list):
        return [_read_again(item) for item in value]
    if isinstance(value, One):
        return value.tensor
    return attribute_of(attr_value(value, Library()))


#: Attributes in the wire format, of values that many nodes have.
_ENTRIES: dict[tuple[str, Any, Any], bytes] = {}
_FEW = (DType, bool, int, str)
_SMALLEST = 4  # elements of constants: axes, shapes, numbers


class _Attributes(Later):
    """The attributes of a node, which few programs look at."""

    __slots__ = ("attrs",)

    def __init__(self, attrs: dict[str, Any]) -> None:
        self.attrs = attrs

    def made(self) -> Any:
        """Return the field."""
        library = Library()
        return MessageMap(AttrValue, {name: attr_value(value, library) for name, value in self.attrs.items()})

    def values(self) -> dict[str, Any]:
        """Return the attributes as they are read again."""
        return {name: _read_again(value) for name, value in self.attrs.items()}

    def serialized(self) -> bytes:
        """Return the field in the wire format."""
        return _attributes_in_bytes(self.attrs)


def _attributes_in_bytes(attrs: dict[str, Any]) -> bytes:
    parts = []
    for name in sorted(attrs):
        value = attrs[name]
        key = _entry_key(name, value)
        known = None if key is None else _ENTRIES.get(key)
        if known is None:
            known = serialized(NodeDef(attr={name: attr_value(value, Library())}))
            if key is not None and len(_ENTRIES) < 100_000:
                _ENTRIES[key] = known
        parts.append(known)
    return b"".join(parts)


def _entry_key(name: str, value: object) -> Any:
    """Return what tells an attribute from others, None for one that few nodes have."""
    if isinstance(value, _FEW):
        return name, type(value), value
    if isinstance(value, EagerTensor) and value.num_elements <= _SMALLEST and value.dtype.name != "string":
        return name, value.dtype, (value.dims, np.asarray(value).tobytes())
    return None


def _shape(shape: Shape) -> Message:
    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[Dim(size=-1 if size is None else size) for size in shape])


def attr_value(attr: Any, library: Library) -> Message:
    """An AttrValue."""
    if isinstance(attr, list):
        return AttrValue(list=_list(attr, library))
    field, value = _single(attr, library)
    return AttrValue(**{field: value})


def _single(attr: object, library: Library) -> tuple[str, Any]:
    """The field of an AttrValue and what stands in it."""
    if isinstance(attr, Graph):
        return "func", NameAttrList(name=library.name_of(attr))
    if isinstance(attr, bool):
        return "b", attr
    if isinstance(attr, int):
        return "i", attr
    if isinstance(attr, float):
        return "f", attr
    if isinstance(attr, DType):
        return "type", Enum(enum_name(attr))
    if isinstance(attr, Dims):
        return "shape", _shape(attr.shape)
    if isinstance(attr, EagerTensor):
        return "tensor", tensor_message(attr)
    if isinstance(attr, One):
        return "tensor", tensor_message(attr.tensor, True)
    if isinstance(attr, tuple) and all(isinstance(item, int) for item in attr):
        return "list", ListValue(i=list(attr))
    return "s", attr if isinstance(attr, bytes) else (attr if isinstance(attr, str) else repr(attr)).encode()


def _list(items: list[Any], library: Library) -> Message:
    if not items:
        return ListValue()
    pairs = [_single(item, library) for item in items]
    return ListValue(**{pairs[0][0]: [value for _, value in pairs]})


def attribute(attr: object) -> Any:
    """Return an attribute as an operation gives it: text as bytes, a shape or tensor as its message."""
    if isinstance(attr, str):
        return attr.encode()
    if isinstance(attr, list):
        return [attribute(item) for item in attr]
    if isinstance(attr, Dims):
        return as_protocol_buffer(_shape(attr.shape))
    if isinstance(attr, EagerTensor | One):
        return as_protocol_buffer(_single(attr, Library())[1])
    return NameAttrList(name=attr.name) if isinstance(attr, Graph) else attr


def tensor_message(tensor: Any, is_one: bool = False) -> Message:
    """Return a TensorProto: bytes; one value where that `is_one`, or where a large tensor has the same everywhere."""
    array = np.asarray(tensor)
    fields: dict[str, Any] = {"dtype": Enum(enum_name(tensor.dtype)), "tensor_shape": _shape(tuple(array.shape))}
    name = _VALUE_FIELDS.get(tensor.dtype.name, "int_val")
    flat = array.reshape(-1)
    if name == "half_val":
        flat = flat.view(np.uint16)
    if (
        flat.size
        and name not in ("scomplex_val", "dcomplex_val")
        and (flat.size == 1 or ((is_one or flat.size > SMALL) and _is_one_number(flat)))
    ):
        fields[name] = [flat[0]]
    elif name == "string_val":
        fields[name] = list(flat)
    elif flat.size:
        fields["tensor_content"] = np.ascontiguousarray(array).tobytes()
    return TensorProto(**fields)


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
    message = tensor_message(tensor)
    return as_protocol_buffer(message) if has_protocol_buffers() else message


def _is_one_number(flat: np.ndarray) -> bool:
    """Return whether all elements are the same, zeros of either sign apart."""
    same = bool((flat == flat[0]).all())
    return same and (flat.dtype.kind not in "fV" or flat[0] != 0 or len(set(np.signbit(flat).tolist())) == 1)


def function_message(graph: Graph, name: str, library: Library) -> Message:
    """A FunctionDef: a subgraph with named arguments and results. A loop's body gives back what does not change."""
    parameters = [value for value in graph.parameters if value not in library.inside]
    returned, passed, more = graph.outputs, frozenset[Value](), list[Definition]()
    if graph in library.loops:
        parameters, returned, passed, more = widened(library.loops[graph], graph)
    taken: set[str] = set()
    arguments = {
        value: _unique(_plain(value.node.name) + ("_0" if value in passed else ""), taken) for value in parameters
    }
    taken = set()
    users = _names_of_users(graph, parameters, library)
    own = {
        value.node for value in graph.parameters if value not in library.inside
    }  # those of captured tensors are written as constants elsewhere
    found = [d for d in definitions(graph) if d.type != "Placeholder" and d.node not in own]
    if graph in library.loops:
        found = in_order(graph, found, more)
    names = dict(arguments)
    for definition in found:
        for slot, value in zip(definition.slots, definition.outputs, strict=False):
            names[value] = f"{definition.name}:{slot}"
    called = {value: definition.name for definition in found for value in definition.outputs}
    results = [_unique(_plain(called.get(value, value.node.name)), taken) for value in returned]
    fields: dict[str, Any] = {
        "signature": OpDef(
            name=name,
            input_arg=[
                ArgDef(
                    name=each,
                    type=_enum(value),
                    handle_data=[
                        KINDS["DtypeAndShape"](dtype=Enum(enum_name(aval.dtype)), shape=_shape(aval.shape))
                        for aval in [_behind(graph, library.behind).get(value)]
                        if aval is not None
                    ],
                )
                for value, each in arguments.items()
            ],
            output_arg=[ArgDef(name=each, type=_enum(value)) for each, value in zip(results, returned, strict=True)],
        ),
        "node_def": [_node(definition, names, library) for definition in found],
        "ret": {each: names[value] for each, value in zip(results, returned, strict=True)},
        "attr": {"_construction_context": AttrValue(s=b"kEagerRuntime")},
        "arg_attr": {i: _argument(value, said) for i, (value, said) in enumerate(zip(parameters, users, strict=True))},
    }
    effects = [definition.name for definition in found if definition.type == "NoOp"]
    if effects:
        fields["signature"].control_output.extend(effects)
        fields["control_ret"] = {each: each for each in effects}
    return FunctionDef(**fields)


def _behind(graph: Graph, known: dict[Graph, dict[Value, Aval]]) -> dict[Value, Aval]:
    """Dtypes and shapes of what Variables hold, by the handles that a graph reads; its subgraphs are looked through."""
    if graph not in known:
        found = known[graph] = {}
        for node in graph.nodes:
            if node.op.name == "read_variable":
                found[node.inputs[0]] = node.outputs[0].aval
            for inner, first in subgraphs(node):
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


def _argument(value: Value, said: str) -> Message:
    """The attributes of a function's argument."""
    attrs = {"_output_shapes": AttrValue(list=ListValue(shape=[_shape(value.aval.shape)]))}
    if said:
        attrs["_user_specified_name"] = AttrValue(s=said.encode())
    return ArgAttrs(attr=attrs)


def _enum(value: Value) -> Enum:
    return Enum(enum_name(value.aval.dtype))


def _plain(name: str) -> str:
    """A name as arguments and results have it: letters, digits and underscores, small letters."""
    found = "".join(c if c.isalnum() and c.isascii() else "_" for c in name.lower()).lstrip("_")
    return found if found[:1].isalpha() else f"arg_{found}".rstrip("_")


def _unique(name: str, taken: set[str]) -> str:
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
