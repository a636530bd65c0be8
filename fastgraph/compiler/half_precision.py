"""Ops on half floats that are computed in float32: products, convolutions and gradients of pooling.

Rule: the ops' NumPy bodies do the same and round once, so the values are equal. That avoids a generic loop nest, which
such an op would need because it has no kernel for its own dtype. The casts become part of the neighbouring kernels.
Convolutions of bfloat16 stay as they are where the CPU multiplies pairs: their bodies do, in half the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fastgraph.compiler.library.convolution_operands import operands
from fastgraph.core.base.dtype import float32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.convolutions import has_pairs
from fastgraph.core.registry import Primitive, get
from fastgraph.graph.ir import Graph, Node, Value

HALVES = ("float16", "bfloat16")
#: Multiplications from which a product is worth a step of its own: fewer are cheaper among their neighbours.
PRODUCT = 1 << 13
#: Those of a convolution from which on pairs pay, and the channels and results that each group must have for it.
CONVOLUTION, CHANNELS = 1 << 21, 8


def is_widened(node: Node) -> bool:
    """Return whether the op is computed in float32."""
    kind = (node.op.step or "").partition(".")[0]
    if kind not in ("gemm", "convolution", "max_pool") or node.outputs[0].aval.dtype.name not in HALVES:
        return False
    if kind in ("max_pool", "convolution"):
        return not is_by_pairs(node)
    left, right = node.inputs[0].aval.shape, node.outputs[0].aval.shape
    if left is None or right is None or None in left or None in right:
        return True
    depth = left[-2 if node.attrs["transpose_a"] else -1] or 0
    return math.prod([n or 0 for n in right]) * depth >= PRODUCT


def is_by_pairs(node: Node) -> bool:
    """Return whether the op is a convolution of bfloat16 whose body multiplies pairs, and enough of them."""
    if node.op.step != "convolution" or node.outputs[0].aval.dtype.name != "bfloat16" or not has_pairs():
        return False
    image, window, places = [value.aval.shape for value in operands(node)]
    if image is None or window is None or places is None or None in window or image[-1] is None:
        return False
    *taps, c, f = [extent or 0 for extent in window]
    groups = image[-1] // c if c else 0
    wide = c == 1 < groups or (c >= CHANNELS and f >= CHANNELS * groups)
    return wide and math.prod([*(n or 1 for n in places), *taps, c]) >= CONVOLUTION


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
