"""Integers and extents that are known only when a graph runs: their check, at the one place where graphs check them.

Rule: an int64 stays an int64 until it is known to be small; what eager mode refuses, the graph refuses as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import OutOfRangeError
from fastgraph.ops.arguments import as_tensor, extents, index_vector
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import (
    Array,
    Dims,
    elementwise,
    invalid,
    lower_elementwise,
    misuse,
    movement,
    shape_text,
    validated,
)
from fastgraph.ops.movement import shape, shape_of_value

#: More of anything than memory holds, and few enough that sums and products of such numbers do not wrap.
MOST = 2**40


@elementwise(
    groups=("T", "T", "T"),
    dtypes="index",
    lower=lower_elementwise("value", ("value", "least", "most"), (), "(value >= least) & (value <= most)"),
    samples=lambda: [
        ((np.array(v, t), np.array(0, t), np.array(9, t)), {"text": "{}"})
        for v in (4, [0, 9])
        for t in ("int32", "int64")
    ],
    error_samples=lambda: [
        misuse("e: -1", np.array([3, -1]), np.array(0), np.array(9), text="in range: {}"),
        misuse("10 of 9", np.array(10), np.array(0), np.array(9), text="{} of {most}"),
    ],
)
def within(value: Array, least: Array, most: Array, *, text: str, beyond: bool = False) -> Any:
    """The integers themselves, if least <= value <= most; else `text` says which is not. i[*s], i[], i[] -> i[*s].

    Raises InvalidArgumentError, with `beyond` OutOfRangeError.
    """
    wrong = (value < least) | (value > most)
    if np.any(wrong):
        first = np.broadcast_to(value, wrong.shape)[wrong].flat[0]
        text = text.format(int(first), least=int(np.min(least)), most=int(np.max(most)))
        raise OutOfRangeError(None, None, text) if beyond else invalid(text)
    return np.array(np.broadcast_to(value, wrong.shape))


def checked(value: TensorLike, least: Tensor | int, most: Tensor | int, text: str, **how: bool) -> Any:
    """`within`, with bounds that are ints or tensors of any integer dtype, in int64. i[*s] -> i64[*s]."""
    return within(wide(value), wide(least), wide(most), text=text, **how)


def wide(value: TensorLike) -> Any:
    """An int or a tensor of integers as int64."""
    value = value if isinstance(value, Tensor) else as_tensor(value, int64)
    return value if value.dtype is int64 else cast(value, int64)


def narrow(value: TensorLike, least: int, text: str) -> Any:
    """Integers of an int32's range, from `least` on, as int32. i[*s] -> i32[*s]."""
    return cast(checked(value, least, 2**31 - 1, text), int32)


# ---- extents --------------------------------------------------------------------------------------------------------


def _agreed(own: Dims, wanted: Dims) -> Dims:
    """Join what is known of a shape that must be both. Raises: ValueError where they differ."""
    if own is None or wanted is None:
        return wanted if own is None else own
    if len(own) != len(wanted):
        raise ValueError(f"Expected rank {len(wanted)} of the input shaped {shape_text(own)}")
    for axis, (m, n) in enumerate(zip(own, wanted, strict=True)):
        if m is not None and n is not None and m != n:
            raise ValueError(f"Expected dimension {n} at axis {axis} of the input shaped {shape_text(own)} but got {m}")
    return tuple([n if m is None else m for m, n in zip(own, wanted, strict=True)])


@movement(
    op="EnsureShape",
    infer=lambda tensor, shape: Aval(tensor.dtype, _agreed(tensor.shape, shape_of_value(shape)), tensor.value),
    groups=("T", "Tshape"),
    dtypes={"Tshape": "index"},
    shape_inputs=(1,),
    lower=lambda b, node: [lambda index: b.input(0).at(index)],
    vjp=dict(tensor=lambda dy: dy),
    samples=lambda: [
        ((np.ones(s, t), np.array(s, np.int32)), {}) for s in ((2, 3), (0, 4), ()) for t in ("float32", "int64")
    ],
    error_samples=lambda: [
        misuse(r"dimension 4 at axis 1 .* \[0,3\] but got 3", np.ones([0, 3]), np.array([0, 4])),
        misuse(r"Expected rank 2 of the input shaped \[6\]", np.ones([6]), np.array([2, 3])),
    ],
)
def ensure_extents(tensor: Array, shape: Array) -> Any:
    """The tensor itself, if this is its shape. t[*s], i[rank] -> t[*s].

    A reshape would compare products alone, which are 0 whatever the other extents of what is empty are.
    """
    validated(_agreed, tensor.shape, tuple([int(n) for n in shape]))
    return tensor


def with_extents(x: Tensor, wanted: Mapping[int, Any]) -> Any:
    """x itself, whose axes must have these extents: InvalidArgumentError, when this runs, where one has not."""
    if not wanted:
        return x
    own = shape(x)
    size = extents([wanted.get(i, own[i] if n is None else n) for i, n in enumerate(x.shape.as_list())])
    return ensure_extents(x, as_tensor(index_vector(size.static)) if size.static is not None else size.tensor)


def of_rank(x: Tensor, rank: int) -> Tensor:
    """x itself, whose rank must be this one: InvalidArgumentError, when this runs, where it is not known yet."""
    if x.shape.rank is not None:
        return x
    own = shape(x)
    return ensure_extents(x, extents([own[i] for i in range(rank)]).tensor)
