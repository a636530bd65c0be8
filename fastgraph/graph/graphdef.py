"""GraphDef: a graph as TensorFlow's protocol messages, read as Python objects and printed in the text format.

Rule: what is written is the graph as it was traced: a node for each node, functions for subgraphs. No protocol-buffer
library is needed; the classes have the messages' field names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fastgraph.dtype import DType
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.op_errors import enum_name
from fastgraph.shapes import Shape

PRODUCER, MIN_CONSUMER = 898, 12  # the versions of the format

_VALUE_FIELDS = {
    "float16": "half_val", "bfloat16": "half_val", "float32": "float_val", "float64": "double_val",
    "int64": "int64_val",
    "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val", "string": "string_val",
    "complex64": "scomplex_val", "complex128": "dcomplex_val",
}  # fmt: skip


class Enum(str):
    """A name that prints without quotes."""


class Message:
    """A message: its fields in order, a list where a field is repeated."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __str__(self) -> str:
        return "".join(_lines(self, ""))

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _lines(message: Message, indent: str) -> Iterable[str]:
    for name, value in message.__dict__.items():
        if name in ("attr", "ret", "arg_attr") and isinstance(value, dict):
            for key in sorted(value):
                yield f"{indent}{name} {{\n"
                yield f"{indent}  key: {_scalar(key)}\n"
                yield from _field("value", value[key], indent + "  ")
                yield f"{indent}}}\n"
        else:
            for item in value if isinstance(value, list) else [value]:
                yield from _field(name, item, indent)


def _field(name: str, value: Any, indent: str) -> Iterable[str]:
    if isinstance(value, Message):
        yield f"{indent}{name} {{\n"
        yield from _lines(value, indent + "  ")
        yield f"{indent}}}\n"
    else:
        yield f"{indent}{name}: {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, Enum):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in value) + '"'
    if isinstance(value, str):
        return _scalar(value.encode())
    if isinstance(value, float | np.floating):
        number = float(value)
        if number != number or number in (np.inf, -np.inf):
            return str(number)
        return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{value!s}"
    return str(value)


def graph_def(graph: Graph) -> Message:
    """Return the GraphDef of a graph: `node`, `library`, `versions`. Source: tf.Graph.as_graph_def."""
    functions: dict[str, Graph] = {}
    nodes = [_node(node, functions, inside=False) for node in graph.nodes]
    fields: dict[str, Any] = {"node": nodes}
    done: dict[str, Message] = {}
    while len(done) < len(functions):
        for name, subgraph in list(functions.items()):
            if name not in done:
                done[name] = _function(subgraph, functions)
    if done:
        fields["library"] = Message(function=[done[name] for name in sorted(done)])
    fields["versions"] = Message(producer=PRODUCER, min_consumer=MIN_CONSUMER)
    return Message(**fields)


def _op_type(node: Node) -> str:
    from_step = {"cond": "StatelessIf", "while": "StatelessWhile"}
    if node.op.step in from_step and not any(_writes(graph) for graph, _ in subgraphs(node)):
        return from_step[node.op.step]
    return str(node.op.op_type)


def _writes(graph: Graph) -> bool:
    return any(
        node.op.effect not in (None, "read") or any(_writes(inner) for inner, _ in subgraphs(node))
        for node in graph.nodes
    )


def _edge(value: Value, inside: bool) -> str:
    """The name of an edge: `node` or `node:1`; in a function `node:output:0`, an argument by its name alone."""
    if not inside:
        return value.node.name if value.index == 0 else value.name
    return value.node.name if value.node.op.name == "placeholder" else f"{value.node.name}:output:{value.index}"


def _node(node: Node, functions: dict[str, Graph], inside: bool) -> Message:
    fields: dict[str, Any] = {"name": node.name, "op": _op_type(node)}
    if node.inputs:
        fields["input"] = [_edge(value, inside) for value in node.inputs]
    else:
        fields["input"] = []
    if node.device:
        fields["device"] = node.device
    fields["attr"] = _attrs(node, functions)
    return Message(**fields)


def _type(dtype: DType) -> Message:
    return Message(type=Enum(enum_name(dtype)))


def _shape(shape: Shape) -> Message:
    if shape is None:
        return Message(unknown_rank=True)
    return Message(dim=[Message(size=-1 if size is None else size) for size in shape])


def _attrs(node: Node, functions: dict[str, Graph]) -> dict[str, Message]:
    if node.op.name == "placeholder":
        return {
            "_user_specified_name": Message(s=str(node.attrs.get("name") or node.name)),
            "dtype": _type(node.attrs["dtype"]),
            "shape": Message(shape=_shape(node.attrs["shape"])),
        }
    if node.op.name == "const":
        tensor = node.attrs["value"]
        return {"dtype": _type(tensor.dtype), "value": Message(tensor=_tensor(tensor))}
    attrs: dict[str, Message] = {}
    for letter, value in zip(node.op.groups, node.inputs, strict=False):
        if letter[:1].isupper():
            attrs.setdefault(letter, _type(value.aval.dtype))
    if node.op.step in ("cond", "while", "call"):
        attrs |= _subgraph_attrs(node, functions)
    for name, attr in node.attrs.items():
        if not isinstance(attr, Graph):
            attrs[name] = _attr(attr)
    return attrs


def _subgraph_attrs(node: Node, functions: dict[str, Graph]) -> dict[str, Message]:
    attrs: dict[str, Message] = {}
    names = {"then_graph": "then_branch", "else_graph": "else_branch", "cond_graph": "cond", "body_graph": "body"}
    for name, graph in node.attrs.items():
        if isinstance(graph, Graph):
            functions[graph.name] = graph
            attrs[names.get(name, "f")] = Message(func=Message(name=graph.name))
    inputs = node.inputs[1:] if node.op.step == "cond" else node.inputs
    types = [Enum(enum_name(value.aval.dtype)) for value in inputs]
    results = [Enum(enum_name(value.aval.dtype)) for value in node.outputs]
    shapes = Message(list=Message(shape=[_shape(value.aval.shape) for value in node.outputs]))
    if node.op.step == "while":
        return {**attrs, "T": Message(list=Message(type=types)), "output_shapes": shapes}
    attrs |= {"Tin": Message(list=Message(type=types)), "Tout": Message(list=Message(type=results))}
    if node.op.step == "cond":
        attrs |= {
            "Tcond": _type(node.inputs[0].aval.dtype),
            "output_shapes": shapes,
            "_lower_using_switch_merge": Message(b=True),
            "_read_only_resource_inputs": Message(list=Message()),
        }
    return attrs


def _attr(attr: Any) -> Message:
    if isinstance(attr, bool):
        return Message(b=attr)
    if isinstance(attr, int):
        return Message(i=attr)
    if isinstance(attr, float):
        return Message(f=attr)
    if isinstance(attr, DType):
        return _type(attr)
    if isinstance(attr, tuple) and all(isinstance(item, int) for item in attr):
        return Message(list=Message(i=list(attr)))
    return Message(s=attr if isinstance(attr, bytes | str) else repr(attr))


def _tensor(tensor: Any) -> Message:
    """A TensorProto: one value where all are the same, the bytes of larger tensors."""
    array = np.asarray(tensor.numpy())
    fields: dict[str, Any] = {"dtype": Enum(enum_name(tensor.dtype)), "tensor_shape": _shape(tuple(array.shape))}
    name = _VALUE_FIELDS.get(tensor.dtype.name, "int_val")
    flat = array.reshape(-1)
    if name == "half_val":
        flat = flat.view(np.uint16)
    if flat.size and name not in ("scomplex_val", "dcomplex_val") and (flat == flat[0]).all():
        fields[name] = flat[0]
    elif name == "string_val":
        fields[name] = list(flat)
    elif flat.size:
        fields["tensor_content"] = np.ascontiguousarray(array).tobytes()
    return Message(**fields)


def _function(graph: Graph, functions: dict[str, Graph]) -> Message:
    """A FunctionDef: a subgraph with named arguments and results."""
    arguments = [Message(name=value.node.name, type=Enum(enum_name(value.aval.dtype))) for value in graph.parameters]
    results = [
        Message(name=_result_name(value, i), type=Enum(enum_name(value.aval.dtype)))
        for i, value in enumerate(graph.outputs)
    ]
    return Message(
        signature=Message(name=graph.name, input_arg=arguments, output_arg=results),
        node_def=[_node(node, functions, inside=True) for node in graph.nodes if node.op.name != "placeholder"],
        ret={_result_name(value, i): _edge(value, inside=True) for i, value in enumerate(graph.outputs)},
        attr={"_construction_context": Message(s="kEagerRuntime")},
        arg_attr={
            i: Message(attr={"_output_shapes": Message(list=Message(shape=[_shape(value.aval.shape)]))})
            for i, value in enumerate(graph.parameters)
        },
    )


def _result_name(value: Value, position: int) -> str:
    return value.node.name.replace("/", "_").lower() + (f"_r{position}" if value.node.op.name == "placeholder" else "")
