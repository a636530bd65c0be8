"""Names of nodes that others give: a constant, a read or a capture is named after what takes it first.

Rule: arguments are called what TensorFlow calls them; the primitives' own names stand where they are the same.
"""

from __future__ import annotations

import functools
from typing import Any

#: The name of a node until something takes it.
UNNAMED = ""

#: (primitive, input) -> TensorFlow's name of the argument, where it is another.
ARGUMENT_NAMES = {
    **{(name, 0): "input" for name in ("sum", "mean", "max", "min", "prod", "any", "all", "conv2d", "conv3d")},
    **{(name, 0): "input" for name in ("conv2d_filter_grad", "max_pool", "where_index")},
    **{(name, 2): "out_backprop" for name in ("conv2d_input_grad", "conv2d_filter_grad")},
    **{(name, 0): "features" for name in ("cross_entropy", "sparse_cross_entropy")},
    ("avg_pool", 0): "value",
    ("avg_pool_grad", 0): "orig_input_shape",
    ("avg_pool_grad", 1): "grad",
    ("conv2d_filter_grad", 1): "filter_sizes",
    ("conv2d_input_grad", 0): "input_sizes",
    ("fill_dynamic", 1): "dims",
    ("pad", 1): "constant_values",
    ("select", 1): "t",
    ("select", 2): "e",
    ("swap_last", 0): "x",
}


class Reserved(str):
    """A name that is the node's alone already."""

    __slots__ = ()


@functools.cache
def argument_name(primitive: Any, i: int) -> str:
    """Return what TensorFlow calls input i of a primitive."""
    known = ARGUMENT_NAMES.get((primitive.name, i))
    if known is not None:
        return known
    names = primitive.inputs
    n_fixed = len(names) - (1 if names and names[-1].startswith("*") else 0)
    if i < n_fixed:
        return str(names[i])
    return f"{names[-1][1:]}_{i - n_fixed}" if n_fixed < len(names) else f"input_{i}"
