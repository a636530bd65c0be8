"""Products of bfloat16, and of int32 that were numbers of 8 or 16 bits, rewritten as products of pairs.

Rule: only where the CPU multiplies two pairs and adds both products in one instruction, which is twice the products of
float32. Sums of bfloat16 are float32, rounded once; those of integers are exact, or wrap.

    a @ b  ->  pairs(a) @ pairs(b), where a pair is two neighbours along the axis that is summed over, seen as 32 bits
"""

from __future__ import annotations

import math
from typing import Any

from fastgraph.core.base.dtype import int16, uint32
from fastgraph.core.native.matmul import pair_products
from fastgraph.core.tensor import as_array
from fastgraph.graph.ir import Node, Value
from fastgraph.ops.casts import bitcast_p
from fastgraph.ops.elementwise import cast
from fastgraph.ops.matmul import paired_matmul_p
from fastgraph.ops.movement import reshape, transpose_p

#: Multiplications from which on it pays.
LEAST = 1 << 13
_NARROW = ("int8", "uint8", "int16")


def is_served(kind: str) -> bool:
    """Return whether this CPU multiplies pairs of bfloat16, or of int16."""
    return bool(pair_products() & {"bfloat16": 1, "int16": 2}[kind])


def is_paired(node: Node) -> bool:
    """Return whether the product is computed in pairs."""
    if node.op.name != "matmul":
        return False
    dtype = node.outputs[0].aval.dtype.name
    kind = "bfloat16" if dtype == "bfloat16" else "int16"
    fits = is_served(kind) and (kind == "bfloat16" or (dtype == "int32" and all(map(_is_narrow, node.inputs))))
    shapes = [value.aval.shape for value in (*node.inputs, *node.outputs)]
    if not fits or any(shape is None or [*shape].count(None) > 1 for shape in shapes):
        return False
    left, _, result = shapes
    depth = left[-2 if node.attrs["transpose_a"] else -1]  # type: ignore[index]
    sizes = [n for n in (*(result or ())[-2:], depth) if n is not None]
    return depth is not None and depth > 0 and depth % 2 == 0 and math.prod(sizes) >= LEAST


def _is_narrow(value: Value) -> bool:
    """Return whether what is known of a tensor of int32 says that int16 holds it."""
    node = value.node
    if node.op.name == "const":
        held = as_array(node.attrs["value"])
        return held.size > 0 and held.min() >= -(2**15) and held.max() < 2**15
    return node.op.name == "cast" and node.inputs[0].aval.dtype.name in _NARROW


def paired(node: Node, *operands: Any) -> Any:
    """The product in terms of ops."""
    dtype, turned = node.outputs[0].aval.dtype, (node.attrs["transpose_a"], not node.attrs["transpose_b"])
    pairs = [
        _pairs(x if dtype.name == "bfloat16" else cast(x, int16), t) for x, t in zip(operands, turned, strict=True)
    ]
    kind = "bfloat16" if dtype.name == "bfloat16" else "int16"
    return cast(paired_matmul_p(*pairs, **node.attrs, pairs=kind), dtype)


def _pairs(x: Any, down: bool) -> Any:
    """Matrices with neighbours, `down` their columns or along their rows, as one element."""
    *outer, m, n = [-1 if extent is None else extent for extent in x.shape.as_list()]
    if not down:
        return bitcast_p(reshape(x, [*outer, m, n // 2, 2]), type=uint32)
    rows, rank = reshape(x, [*outer, m // 2, 2, n]), len(outer)
    return bitcast_p(transpose_p(rows, perm=(*range(rank + 1), rank + 2, rank + 1)), type=uint32)
