"""Loops as they are written: a While with TensorFlow's counter and bound before what it carries.

Rule: what the iterations give besides is a TensorList that each adds to, for how many there are is not known before;
what does not change the body gives back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graphdef.node_bytes import Definition, const_definition, constant, node_beside
from fastgraph.graphdef.op_table import Dims, defined, types_of

VARIANT = Aval(dtypes.variant, ())
_COUNT = Aval(dtypes.int32, ())


def _element(row: Value) -> np.ndarray:
    """The shape of one iteration's row as an argument: -1 for what is not known."""
    shape = row.aval.shape
    return np.array(-1 if shape is None else [-1 if size is None else size for size in shape], np.int32)


def while_definitions(node: Node, op: str) -> list[Definition]:
    """The operations of a loop: its counter and bound, empty lists, the loop, the lists stacked."""
    n = node.attrs["n_carried"]
    body = node.attrs["body_graph"]
    bound = constant(-1, node, "maximum_iterations", dtypes.int32)
    counter = constant(0, node, "loop_counter", dtypes.int32)
    made = [const_definition(bound), const_definition(counter)]
    rows = body.outputs[n:]
    shapes = [constant(_element(row), node, "element_shape" + _suffix(k)) for k, row in enumerate(rows)]
    made += [const_definition(shape) for shape in shapes]
    lists = []
    if rows:
        no_bound = constant(-1, node, "max_num_elements", dtypes.int32)
        made.append(const_definition(no_bound))
    for k, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        empty = node_beside(node, VARIANT, f"{node.name}/EmptyTensorList{_suffix(k)}")
        attrs = {"element_dtype": row.aval.dtype, "shape_type": dtypes.int32}
        made.append(Definition(empty, "EmptyTensorList", (shape.outputs[0], no_bound.outputs[0]), attrs))
        made[-1].slots = ["handle:0"]
        lists.append(empty.outputs[0])
    inputs = (counter.outputs[0], bound.outputs[0], *node.inputs[:n], *lists, *node.inputs[n:])
    results = [*[value.aval for value in node.outputs[:n]], *[VARIANT] * len(lists)]
    avals = [_COUNT, _COUNT, *results, *[value.aval.without_value() for value in node.inputs[n:]]]
    raw = Node(node.op, (), {}, tuple(avals), node.name)
    attrs = {
        "T": types_of(inputs),
        "cond": node.attrs["cond_graph"],
        "body": body,
        "output_shapes": [Dims(aval.shape) for aval in avals],
        "parallel_iterations": 10,
        "_lower_using_switch_merge": True,
        "_num_original_outputs": len(inputs),
        "_read_only_resource_inputs": [],
    }
    loop = Definition(node, op, inputs, attrs)
    loop.outputs = (*raw.outputs[:2], *node.outputs[:n], *raw.outputs[2 + n :])
    loop.slots = [f"output:{i}" for i in range(len(inputs))]
    made.append(loop)
    for k, (row, shape) in enumerate(zip(rows, shapes, strict=True)):
        given: tuple[Value, ...] = loop.outputs[2 + n + k], shape.outputs[0]
        attrs = {"element_dtype": row.aval.dtype}
        if n + k in node.attrs.get("joined", ()):  # vectors of any lengths, end to end
            lengths = constant(np.zeros(0, np.int64), node, "leading_dims" + _suffix(k))
            made.append(const_definition(lengths))
            kind, given = "TensorListConcatV2", (*given, lengths.outputs[0])
            attrs["shape_type"] = dtypes.int32
        else:
            kind, attrs["num_elements"] = "TensorListStack", -1
        stack = Definition(node, kind, given, attrs, name=f"{node.name}/{kind}{_suffix(k)}")
        stack.outputs = (node.outputs[n + k],)
        stack.slots = ["tensor:0"]
        made.append(stack)
    return made


def _suffix(k: int) -> str:
    return f"_{k}" if k else ""


class Widened(NamedTuple):
    """A loop's test or body with the counter, the bound and the lists."""

    parameters: list[Value]
    returned: list[Value]
    passed: frozenset[Value]  # the parameters that the body gives back unchanged
    more: list[Definition]


def widened(node: Node, graph: Graph) -> Widened:
    """Return the test or body of a loop, made once."""
    cache: dict[Node, Widened] = graph.__dict__.setdefault("_widened", {})
    found = cache.get(node)
    if found is None:
        found = cache[node] = _widened(node, graph)
    return found


def _widened(node: Node, graph: Graph) -> Widened:
    scope, n, own = node.name, node.attrs["n_carried"], graph.parameters
    counter, bound = (
        _value(node, _COUNT, f"{scope}/{scope}/{name}") for name in ("loop_counter", "maximum_iterations")
    )
    lists = [_value(node, VARIANT, f"{scope}/accumulator{_suffix(k)}") for k in range(len(node.outputs) - n)]
    parameters = [counter, bound, *own[:n], *lists, *own[n:]]
    if graph is not node.attrs["body_graph"]:
        return Widened(parameters, list(graph.outputs), frozenset(), [])
    add = node_beside(node, _COUNT, graph.unique_name(f"{scope}/add"))
    one = constant(1, add, "y", dtypes.int32)
    more = [const_definition(one), defined(add, "AddV2", (counter, one.outputs[0]))]
    for value in (add.outputs[0], bound):
        identity = node_beside(node, _COUNT, graph.unique_name(f"{scope}/Identity"))
        more.append(defined(identity, "Identity", (value,)))
    first = [definition.outputs[0] for definition in more[-2:]]
    for held, row in zip(lists, graph.outputs[n:], strict=True):
        push = node_beside(node, VARIANT, graph.unique_name(f"{scope}/TensorListPushBack"))
        more.append(defined(push, "TensorListPushBack", (held, row)))
    pushed = [definition.outputs[0] for definition in more[4:]]
    return Widened(parameters, [*first, *graph.outputs[:n], *pushed, *own[n:]], frozenset(own[n:]), more)


def in_order(graph: Graph, found: list[Definition], more: list[Definition]) -> list[Definition]:
    """Return the operations of a loop's test or body with those `more`, the results last.

    The results' Identities are numbered as they come: the counter's and the bound's first.
    """
    outputs = {value.node for value in graph.outputs}
    results = [each for each in found if each.node in outputs and each.type == "Identity"]
    ours = [each for each in more if each.type == "Identity"]
    if not ours or len(results) < len(outputs):
        return [*found, *more]
    moved = set(map(id, results))  # of a branch among the results, all but the operation itself
    rest = [each for each in found if id(each) not in moved]
    pushes = [each for each in more if each.type == "TensorListPushBack"]
    before = [each for each in more if each.type not in ("Identity", "TensorListPushBack")]
    ordered = [*ours, *results]
    for each, name in zip(ordered, sorted([each.name for each in ordered], key=_number), strict=True):
        each.name = name
    return [*rest, *before, *ordered, *pushes]


def _number(name: str) -> tuple[int, str]:
    """Return the key by which names that count are ordered."""
    return len(name), name


def _value(node: Node, aval: Aval, name: str) -> Value:
    return node_beside(node, aval, name).outputs[0]
