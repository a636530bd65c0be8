"""Ops that are defined by other ops, replaced by those: what is left has a lowering, or is a step of its own.

Among them: ops on half floats that are computed in float32 (`half_precision`), convolutions in few groups of few
channels (`grouped_convolutions`), gradients to filters of one tap (`pointwise_filter_gradients`), products of pairs
(`paired_products`), means of the windows at every place (`separable_pooling`), and Fourier transforms over several axes
(`fourier_axes`).

Rule: a graph in, a graph out; nothing else changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.compiler.fourier_axes import axis_by_axis, is_of_axes
from fastgraph.compiler.grouped_convolutions import apart, is_apart
from fastgraph.compiler.half_precision import is_widened, widened
from fastgraph.compiler.paired_products import is_paired, paired
from fastgraph.compiler.pointwise_filter_gradients import is_product, product
from fastgraph.compiler.separable_pooling import is_sliding, sliding
from fastgraph.core.tensor import use_trace
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.structural_ops import CONST
from fastgraph.graph.trace import GraphTrace

_SUBGRAPHS = ("then_graph", "else_graph", "cond_graph", "body_graph")


def expand(graph: Graph) -> Graph:
    """`graph` with the ops that only `decompose` says how to compute replaced, in its subgraphs too."""
    while any(map(_stands_for_others, graph.nodes)) or any(map(_with_inner, graph.nodes)):
        graph = _expanded(graph)
    return graph


def _stands_for_others(node: Node) -> bool:
    return (node.op.decompose is not None and node.op.lower is None) or any(
        each(node) for each in (is_widened, is_apart, is_sliding, is_paired, is_of_axes, is_product)
    )


def _with_inner(node: Node) -> bool:
    return node.op.step in ir.WITH_SUBGRAPHS and any(
        isinstance(inner := node.attrs.get(key), Graph) and any(map(_stands_for_others, _all_nodes(inner)))
        for key in _SUBGRAPHS
    )


def _all_nodes(graph: Graph) -> list[Node]:
    return [n for node in graph.nodes for n in (node, *[m for g, _ in ir.subgraphs(node) for m in _all_nodes(g)])]


def _expanded(graph: Graph) -> Graph:
    result = Graph(graph.name)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        inputs = tuple([mapping[v] for v in node.inputs])
        if is_widened(node) and not is_paired(node):
            outputs = widened(node, inputs, result)
        elif is_apart(node):
            outputs = apart(node, inputs, result)
        elif _stands_for_others(node):
            outputs = computed(node, inputs, result, _meaning(node))
        else:
            attrs = {k: expand(a) if k in _SUBGRAPHS and isinstance(a, Graph) else a for k, a in node.attrs.items()}
            avals = tuple([v.aval for v in node.outputs])
            new = result.add(
                node.op, inputs, attrs, avals=avals, name=node.name, source=node.source, device=node.device
            )
            outputs = list(new.outputs)
        mapping.update(zip(node.outputs, outputs, strict=True))
    return result.with_ends_of(graph, mapping)


def _meaning(node: Node) -> Callable[..., Any]:
    for stands, meaning in (
        (is_of_axes, axis_by_axis), (is_sliding, sliding), (is_paired, paired), (is_product, product),
    ):  # fmt: skip
        if stands(node):
            return functools.partial(meaning, node)
    assert node.op.decompose is not None
    return functools.partial(node.op.decompose, **node.attrs)


def computed(node: Node, inputs: Sequence[Value], into: Graph, compute: Callable[..., Any]) -> list[Value]:
    """Append the ops by which `compute` makes of tensors what `node` gives; return the values of its outputs."""
    trace = GraphTrace(node.name)
    with use_trace(trace):
        made = compute(*[trace.add_input(v.aval, f"x{i}") for i, v in enumerate(inputs)])
        results = () if made is None else tuple(made) if isinstance(made, (tuple, list)) else (made,)
        outputs = [trace.value_of(t) for t in results][: len(node.outputs)]
    body: Any = trace.finish(outputs)
    captured = [
        into.add(CONST, (), {"value": held}, name=f"{node.name}/const", source=node.source).outputs[0]
        for held, _ in body.captures
    ]
    for inner in body.nodes:
        if not inner.source:
            inner.source = node.source
    return ir.splice(body, into, [*inputs, *captured], prefix=f"{node.name}/")
