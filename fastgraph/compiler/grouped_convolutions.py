"""Convolutions with few groups of few channels and a large window, rewritten as one convolution per group.

Rule: every element stays the same sum in the same order. A convolution without groups can use the kernels of register
blocks. With groups, vectors over so few channels would be almost empty; the op's loop nest reads each tap by itself
(for the gradient of an 11x11 window over three channels: 31 ms instead of 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.core.tensor import from_array
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.structural_ops import CONST
from fastgraph.ops.convolution_primitives import LINED, UNROLLED

#: Groups up to which there is one convolution for each.
MOST_GROUPS = 8
#: Channels of a group from which on it fills vectors.
FULL = 4


def is_apart(node: Node) -> bool:
    """Return whether the convolution is computed group by group."""
    if node.op.name not in ("conv2d", "conv2d_input_grad", "conv2d_filter_grad"):
        return False
    if node.outputs[0].aval.dtype.name != "float32":
        return False
    x, filter, _ = _shapes(node)
    if x is None or x[-1] is None or filter is None or None in filter or not filter[-2]:
        return False
    *window, c, f = [n or 0 for n in filter]
    groups = x[-1] // c
    if not 1 < groups <= MOST_GROUPS or x[-1] % c or f % groups:
        return False
    if c == 1 and f == groups and math.prod(window) <= LINED:
        return False  # whose rows are lines of full vectors
    return min(c, f // groups) < FULL and math.prod(window) > UNROLLED


def _shapes(node: Node) -> list[tuple[int | None, ...] | None]:
    """The shapes of the image, the filter and the result of the convolution that the node is, or is a gradient of."""
    values = list(node.inputs)
    if node.op.name != "conv2d":
        values[("conv2d_input_grad", "conv2d_filter_grad").index(node.op.name)] = node.outputs[0]
    else:
        values.append(node.outputs[0])
    return [value.aval.shape for value in values]


def apart(node: Node, inputs: Sequence[Value], into: Graph) -> list[Value]:
    """Append a convolution for each group, of the slices that belong to it, and what joins their results."""
    x, filter, _ = _shapes(node)
    assert x is not None and filter is not None  # asked before
    groups = (x[-1] or 0) // (filter[-2] or 1)

    def shares(value: Value) -> tuple[int | None, ...]:
        *outer, last = value.aval.shape or ()
        return (*outer, (last or 0) // groups)

    def parts(value: Value) -> tuple[Value, ...]:
        if value.aval.dtype.name == "float32":
            shape = shares(value)
            attrs = {"sizes": (shape[-1],) * groups, "axis": len(shape) - 1}
            avals = (Aval(value.aval.dtype, shape),) * groups
            name = f"{node.name}/split"
            return into.add(get("split"), (value,), attrs, avals=avals, name=name, source=node.source).outputs
        scale = from_array(np.asarray([1, 1, 1, groups], value.aval.dtype.numpy_dtype))  # sizes: the last is divided
        held = into.add(CONST, (), {"value": scale}, source=node.source).outputs[0]
        aval = Aval(value.aval.dtype, value.aval.shape)
        return into.add(get("floordiv"), (value, held), {}, avals=(aval,), source=node.source).outputs * groups

    result = node.outputs[0]
    aval = Aval(result.aval.dtype, shares(result))
    made = [
        into.add(node.op, operands, dict(node.attrs), avals=(aval,), name=node.name, source=node.source).outputs[0]
        for operands in zip(*[parts(value) for value in inputs], strict=True)
    ]
    joined, whole = {"axis": len(aval.shape or ()) - 1}, (result.aval.without_value(),)
    return list(into.add(get("concat"), tuple(made), joined, avals=whole, source=node.source).outputs)
