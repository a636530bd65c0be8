"""Weights beside values, as metrics have them."""

from __future__ import annotations

from typing import Any

import fastgraph as fg
from fastgraph.core.conversion import TensorLike


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Any:
    """Return weights in the shape of values: t[] or t[*s] with dimensions that are 1 or those of `values`.

    Raises ValueError for static shapes that do not fit, InvalidArgumentError for others. Source:
    tf.__internal__.ops.broadcast_weights.
    """
    values, weights = fg.convert_to_tensor(values), fg.convert_to_tensor(weights)
    known = weights.shape, values.shape
    if known[0].is_fully_defined() and known[1].is_fully_defined() and known[0].is_compatible_with(known[1]):
        return weights
    if known[0].rank is not None and known[1].rank is not None and known[0].rank != 0:
        fits = known[0].rank == known[1].rank and all(
            a in (None, 1) or b is None or a == b for a, b in zip(*known, strict=True)
        )
        if not fits:
            raise ValueError(
                f"weights can not be broadcast to values. weights.shape={known[0]}, values.shape={known[1]}."
            )
    return fg.broadcast_to(weights, fg.shape(values))
