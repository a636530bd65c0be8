"""Ops on half floats that are computed in float32: products, convolutions and gradients of pooling.

Rule: the ops' NumPy bodies do the same and round once, so the values are equal. That avoids a generic loop nest, which
such an op would need because it has no kernel for its own dtype. The casts become part of the neighbouring kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fastgraph.core.base.dtype import float32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import Primitive, get
from fastgraph.graph.ir import Graph, Node, Value

HALVES = ("float16", "bfloat16")
#: Multiplications from which a product is worth a step of its own: fewer are cheaper among their neighbours.
PRODUCT = 1 << 13


def is_widened(node: Node) -> bool:
    """Return whether the op is computed in float32."""
    kind = (node.op.step or "").partition(".")[0]
    if kind not in ("gemm", "convolution", "max_pool") or node.outputs[0].aval.dtype.name not in HALVES:
        return False
    if kind in ("max_pool", "convolution"):
        return True
    left, right = node.inputs[0].aval.shape, node.outputs[0].aval.shape
    if left is None or right is None or None in left or None in right:
        return True
    depth = left[-2 if node.attrs["transpose_a"] else -1] or 0
    return math.prod([n or 0 for n in right]) * depth >= PRODUCT


def widened(node: Node, inputs: Sequence[Value], into: Graph) -> list[Value]:
    """Append what stands for the op: itself on operands in float32, the result rounded to what the node gives."""

    def added(op: Primitive, operands: Sequence[Value], attrs: dict[str, Any], aval: Aval, name: str) -> Value:
        return into.add(op, tuple(operands), attrs, avals=(aval,), name=name, source=node.source).outputs[0]

    cast, result = get("cast"), node.outputs[0].aval
    wide = [
        added(cast, (v,), {"dtype": float32}, Aval(float32, v.aval.shape), f"{node.name}/Cast")
        if v.aval.dtype.name in HALVES
        else v
        for v in inputs
    ]
    made = added(node.op, wide, node.attrs, Aval(float32, result.shape), f"{node.name}/wide")
    return [added(cast, (made,), {"dtype": result.dtype}, result.without_value(), node.name)]
