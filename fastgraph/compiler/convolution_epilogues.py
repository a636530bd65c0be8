"""Elementwise work after a convolution, fused into it while the sums are still in registers: a bias, then relu.

Rule: a graph in, a graph out. Only a result with a single consumer is fused, so nothing is computed twice. Without this
pass the result is written to memory, read, and written again.
"""

from __future__ import annotations

from fastgraph.core.base import flags
from fastgraph.core.registry import get
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value

_SUBGRAPHS = ("then_graph", "else_graph", "cond_graph", "body_graph")
_FUSED = {"conv2d": "conv2d_bias", "conv3d": "conv3d_bias"}


def fuse_epilogues(graph: Graph) -> Graph:
    """`graph` with convolution + bias, and relu of that, as one node each, in its subgraphs too."""
    if "fuse" not in flags.get("passes") or not any(_has_convolution(node) for node in graph.nodes):
        return graph
    takers: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            takers.setdefault(value, []).append(node)
    outputs = set(graph.outputs)

    def only_taker(value: Value) -> Node | None:
        found = takers.get(value, [])
        return found[0] if len(found) == 1 and value not in outputs else None

    fused: dict[Node, tuple[Node, Value, bool]] = {}  # last node -> (convolution, bias, whether relu follows)
    gone: set[Node] = set()
    for node in graph.nodes:
        if node.op.name not in _FUSED or node.outputs[0].aval.dtype.name != "float32":
            continue
        add = only_taker(node.outputs[0])
        bias = _bias(node, add) if add is not None else None
        if add is None or bias is None:
            continue
        relu = only_taker(add.outputs[0])
        last = relu if relu is not None and relu.op.name == "relu" else add
        fused[last] = (node, bias, last is relu)
        gone |= {node, add} - {last}
    return _rebuilt(graph, fused, gone)


def _has_convolution(node: Node) -> bool:
    if node.op.step not in ir.WITH_SUBGRAPHS:
        return node.op.name in _FUSED
    return any(_has_convolution(n) for g, _ in ir.subgraphs(node) for n in g.nodes)


def _bias(convolution: Node, add: Node) -> Value | None:
    """The other operand of an addition, if it is one number per channel."""
    if add.op.name != "add" or add.inputs[0] is add.inputs[1]:
        return None
    other = add.inputs[1] if add.inputs[0] is convolution.outputs[0] else add.inputs[0]
    filter = convolution.inputs[1].aval.shape
    if filter is None or filter[-1] is None or other.aval.shape != (filter[-1],):
        return None
    return other


def _rebuilt(graph: Graph, fused: dict[Node, tuple[Node, Value, bool]], gone: set[Node]) -> Graph:
    result = Graph(graph.name)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        if node in gone:
            continue
        avals = tuple([v.aval for v in node.outputs])
        if node in fused:
            convolution, bias, relu = fused[node]
            op = get(_FUSED[convolution.op.name])
            operands = (*convolution.inputs, bias)
            attrs = {**convolution.attrs, "relu": relu}
        else:
            op, operands, attrs = node.op, node.inputs, dict(node.attrs)
            attrs.update((k, fuse_epilogues(attrs[k])) for k in _SUBGRAPHS if isinstance(attrs.get(k), Graph))
        inputs = tuple([mapping[v] for v in operands])
        new = result.add(op, inputs, attrs, avals=avals, name=node.name, source=node.source, device=node.device)
        mapping.update(zip(node.outputs, new.outputs, strict=True))
    return result.with_ends_of(graph, mapping)
