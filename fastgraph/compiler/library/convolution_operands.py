"""Operands of convolutions and of their gradients.

Rule: a module of its own, since every first call asks for it, and few for the kernels of convolutions.
"""

from __future__ import annotations

from fastgraph.graph.ir import Node, Value


def operands(node: Node) -> tuple[Value, Value, Value]:
    """(x, filter, result) of the convolution that a node or its gradient belongs to; what is computed is among them."""
    if node.op.name.endswith("input_grad"):
        return node.outputs[0], node.inputs[1], node.inputs[2]
    if node.op.name.endswith("filter_grad"):
        return node.inputs[0], node.outputs[0], node.inputs[2]
    return node.inputs[0], node.inputs[1], node.outputs[0]
