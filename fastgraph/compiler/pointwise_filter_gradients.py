"""Gradients of convolutions to filters of one tap, rewritten as the products of matrices that they are.

Rule: the same sums over all pixels. A convolution's kernel reads a few channels of each pixel where it lies: rows of
many channels, often a power of two apart, share few places of the cache. A product copies them into panels first.
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.core.tensor import Tensor
from fastgraph.graph.ir import Node
from fastgraph.ops.matmul import matmul
from fastgraph.ops.movement import reshape

#: Channels of the image from which on the product is faster; both figures were measured by vectors of 256 bits.
MANY = 64
#: Pixels up to which it is faster with fewer columns than rows, too: the gradient is most of what is written.
FEW_PIXELS = 2048


def is_product(node: Node) -> bool:
    """Return whether the gradient is computed as a product."""
    if node.op.name != "conv2d_filter_grad" or node.outputs[0].aval.dtype.name != "float32":
        return False
    x, filter = node.inputs[0].aval.shape, node.outputs[0].aval.shape
    if not x or filter is None or None in (x[-1], *filter):
        return False
    *window, c, f = [n or 0 for n in filter]
    plain = node.attrs["padding"] in ("SAME", "VALID") and {*node.attrs["strides"]} == {1}
    few = None not in x and math.prod([n or 0 for n in x[:-1]]) <= FEW_PIXELS
    return plain and window == [1, 1] and x[-1] == c >= MANY and (c <= f or (few and f >= MANY))


def product(node: Node, x: Tensor, sizes: Tensor, dy: Tensor) -> Any:
    """Return the transposed rows of pixels of x times those of dy. f32[*s, c], i[4], f32[*s, f] -> f32[1, 1, c, f]."""
    *_, c, f = node.outputs[0].aval.shape or ()
    return reshape(matmul(reshape(x, [-1, c]), reshape(dy, [-1, f]), transpose_a=True), [1, 1, c, f])
