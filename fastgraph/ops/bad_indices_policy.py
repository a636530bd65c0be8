"""Index vectors out of range that are no error: `bad_indices_policy="IGNORE"` of gather_nd, scatter_nd and their like.

Rule: written in other ops, so that shapes, gradients and kernels are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.core.base.dtype import int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import greater_equal, less, logical_and
from fastgraph.ops.elementwise import cast, ones_like, select, zeros_like
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import boolean_mask
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, reshape, shape, size
from fastgraph.ops.reduction import reduce_all


def ignored(policy: TensorLike | None, op: str) -> bool:
    """Return whether indices out of range are ignored. Raises: TypeError, InvalidArgumentError for unknown policies."""
    if policy is None:
        return False
    if not isinstance(policy, str):
        raise TypeError(f"Expected string for argument 'bad_indices_policy' not {policy!r}.")
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise invalid(f"Unknown bad_indices_policy: {policy!r}; it is '', 'DEFAULT', 'ERROR' or 'IGNORE' [Op:{op}]")
    return policy == "IGNORE"


def _inside(indices: Tensor, dims: Tensor) -> Any:
    """True for index vectors within the extents. i[*q, d], i64[rank] -> bool[*q]."""
    depth = indices.shape[-1]
    wide = cast(indices, int64)
    limits = dims[: shape(indices)[-1] if depth is None else depth]
    return reduce_all(logical_and(greater_equal(wide, as_tensor(0, int64)), less(wide, limits)), -1)


def gathered(gather: Callable[..., Any], params: Tensor, indices: Tensor) -> Any:
    """The result of `gather`, zeros (or empty strings) where an index vector is out of range."""
    fits = _inside(indices, shape(params, int64))
    found = gather(params, select(expand_dims(fits, -1), indices, zeros_like(indices)))
    places, dims = shape(fits), shape(found)
    wide = reshape(fits, concat([places, ones_like(dims[size(places) :])], 0))
    return select(broadcast_to(wide, dims), found, zeros_like(found))


def within(indices: Tensor, updates: Tensor, dims: Tensor) -> tuple[Any, Any]:
    """The index vectors that lie within the extents i64[rank], and their updates. -> i[n, d], t[n, *r]."""
    if indices.shape[-1] == 0:
        return indices, updates
    outer = size(shape(indices)) - 1 if indices.shape.rank is None else indices.shape.rank - 1
    fits = reshape(_inside(indices, dims), [-1])
    flat = reshape(indices, concat([[-1], shape(indices)[outer:]], 0))
    rows = reshape(updates, concat([[-1], shape(updates)[outer:]], 0))
    return boolean_mask(flat, fits), boolean_mask(rows, fits)
