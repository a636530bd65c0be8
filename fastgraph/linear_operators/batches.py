"""Batches of matrices: their shapes as far as they are known, and matrices brought to a common batch.

Rule: a batch is a tuple of ints where all of it is known, else a vector i32[b].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Shape, broadcast_shapes
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.broadcast_shapes import broadcast_dynamic_shape
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat
from fastgraph.ops.linear_solvers import solve
from fastgraph.ops.matmul import product_of
from fastgraph.ops.matrix_transposes import adjoint
from fastgraph.ops.movement import reshape, shape, transpose

Batch = tuple[int, ...] | Tensor


def known(x: Any, axis: int) -> int | None:
    """The extent of a tensor or an operator along an axis, None where only a run knows it."""
    dims = x.shape._dims
    return None if dims is None or len(dims) < -axis else dims[axis]


def extent(x: Any, axis: int) -> Any:
    """The extent of a tensor or an operator along an axis: an int, or a scalar where only a run knows it."""
    n = known(x, axis)
    return _at_run_time(x)[axis] if n is None else n


def _at_run_time(x: Any) -> Any:
    return x.shape_tensor() if class_has(x, "shape_tensor") else shape(x)


def batch_dims(x: Any, own: int) -> Shape:
    """The batch of a tensor or an operator that has `own` axes besides, as far as it is known."""
    dims = x.shape._dims
    return None if dims is None else dims[: len(dims) - own]


def batch_of(x: Any, own: int = 2) -> Batch:
    """The batch of a tensor or an operator that has `own` axes besides."""
    dims = batch_dims(x, own)
    if dims is None or None in dims:
        found: Tensor = _at_run_time(x)
        return found[:-own] if own else found
    return dims  # type: ignore[return-value]


def vector(batch: Batch) -> Any:
    """A batch as i32[b]."""
    return batch if isinstance(batch, Tensor) else as_tensor(list(batch), int32)


def common(*batches: Batch) -> Batch:
    """The batch to which several broadcast. Raises: ValueError, InvalidArgumentError if they do not."""

    def two(a: Batch, b: Batch) -> Any:
        if isinstance(a, tuple) and isinstance(b, tuple):
            return broadcast_shapes(a, b)
        return broadcast_dynamic_shape(vector(a), vector(b))

    return reduce(two, batches)


def full(batch: Batch, *dims: Any) -> Any:
    """The shape of a batch of arrays, for ops that take shapes."""
    if isinstance(batch, tuple):
        return [*batch, *dims]
    return concat([batch, *(reshape(cast(as_tensor(n), int32), [1]) for n in dims)], 0)


def spread(x: Any, batch: Batch, own: int = 2) -> Any:
    """x repeated so that it has this batch."""
    if isinstance(batch, tuple) and batch_of(x, own) == batch:
        return as_tensor(x)
    return broadcast_to(x, full(batch, *(extent(x, i) for i in range(-own, 0))))


def together(*given: Any, own: int = 2) -> list[Any]:
    """Tensors with as many axes of their own, brought to one batch."""
    batch = common(*(batch_of(x, own) for x in given))
    return [spread(x, batch, own) for x in given]


def regrouped(x: Tensor, dropped: int, *dims: Any) -> Any:
    """x with other axes in place of its last ones."""
    return reshape(x, full(batch_of(x, dropped), *dims))


def solved(matrix: Any, rhs: Any, turned: bool = False) -> Any:
    """x with matrix x = rhs, or with its adjoint; batches broadcast, and one matrix is factored once."""
    matrix, rhs = as_tensor(matrix), as_tensor(rhs)
    rank = rhs.shape.rank or 0
    if matrix.shape.rank == 2 and rank > 2:  # the batch is more columns
        columns = transpose(rhs, [rank - 2, *range(rank - 2), rank - 1])
        dims = [extent(columns, i) for i in range(-rank, 0)]
        x = reshape(solve(matrix, reshape(columns, [dims[0], product_of(dims[1:])]), adjoint=turned), dims)
        return transpose(x, [*range(1, rank - 1), 0, rank - 1])
    return solve(*together(matrix, rhs), adjoint=turned)


def turned_if(x: Any, turned: bool) -> Any:
    """x, or its adjoint."""
    return adjoint(x) if turned else as_tensor(x)


def total(numbers: Sequence[Any]) -> Any:
    """The sum of extents, None if one of them is not known."""
    return None if any(n is None for n in numbers) else sum(numbers)


def product(numbers: Sequence[Any]) -> Any:
    """The product of extents, None if one of them is not known."""
    return None if any(n is None for n in numbers) else product_of(numbers)
