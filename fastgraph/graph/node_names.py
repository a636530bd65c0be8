"""Names of nodes that others give: a constant, a read or a capture is named after what takes it first.

Rule: arguments are called what TensorFlow calls them; the primitives' own names stand where they are the same.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from fastgraph.core.primitive import Primitive

if TYPE_CHECKING:
    from fastgraph.graph.ir import Value

#: The name of a node until something takes it.
UNNAMED = ""

#: (primitive, input) -> TensorFlow's name of the argument, where it is another.
ARGUMENT_NAMES = {
    **{(name, 0): "input" for name in ("sum", "mean", "max", "min", "prod", "any", "all", "conv2d", "conv3d")},
    **{(name, 0): "input" for name in ("conv2d_filter_grad", "conv3d_filter_grad", "max_pool", "where_index")},
    **{(name, 2): "out_backprop" for n in (2, 3) for name in (f"conv{n}d_input_grad", f"conv{n}d_filter_grad")},
    **{(name, 0): "features" for name in ("cross_entropy", "sparse_cross_entropy")},
    ("avg_pool", 0): "value",
    ("avg_pool_grad", 0): "orig_input_shape",
    ("avg_pool_grad", 1): "grad",
    **{(f"conv{n}d_filter_grad", 1): "filter_sizes" for n in (2, 3)},
    **{(f"conv{n}d_input_grad", 0): "input_sizes" for n in (2, 3)},
    ("fill_dynamic", 1): "dims",
    ("pad", 1): "constant_values",
    ("decode_compressed", 0): "bytes",
    ("select", 1): "t",
    ("matrix_diag", 1): "padding_value",
    ("matrix_diag_part", 1): "padding_value",
    ("select", 2): "e",
    ("swap_last", 0): "x",
}


def tensor_place(value: Value) -> tuple[str, int]:
    """Return the name of the operation that makes a value, as the graph is written, and which of its results it is.

    A cond's results are Identities of their own. A loop gives its counter and bound before what it carries; what the
    iterations give besides are lists, of which each is made a tensor by an operation of its own.
    """
    node, i = value.node, value.index
    if node.op.step == "cond" and node.attrs:
        return f"{node.name}/Identity" + (f"_{i}" if i else ""), 0
    if node.op.step != "while" or not node.attrs:
        return node.name, i
    k = i - node.attrs["n_carried"]
    if k < 0:
        return node.name, i + 2
    kind = "TensorListConcatV2" if i in node.attrs.get("joined", ()) else "TensorListStack"
    return f"{node.name}/{kind}" + (f"_{k}" if k else ""), 0


class Reserved(str):
    """A name that is the node's alone already."""

    __slots__ = ()


@functools.cache
def argument_name(primitive: Primitive, i: int) -> str:
    """Return what TensorFlow calls input i of a primitive."""
    known = ARGUMENT_NAMES.get((primitive.name, i))
    if known is not None:
        return known
    names = primitive.inputs
    n_fixed = len(names) - (1 if names and names[-1].startswith("*") else 0)
    if i < n_fixed:
        return str(names[i])
    return f"{names[-1][1:]}_{i - n_fixed}" if n_fixed < len(names) else f"input_{i}"
