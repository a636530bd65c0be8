"""tf.edit_distance: how many insertions, deletions and exchanges make one sequence of another.

Rule: sequences are the last axes of sparse tensors; the work runs on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import float32
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import Tensor
from fastgraph.ops.families import invalid
from fastgraph.ops.python_functions import host_call


def _sparse(value: object, which: str) -> SparseTensor:
    try:
        return SparseTensor.from_value(value)
    except TypeError:
        raise TypeError(f"{which} must be a SparseTensor.") from None


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the distance of two sequences."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _sequences(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distance of the sequences along the last axis, over the truth's length if `normalize`.

    hypothesis, truth: SparseTensors t[*s, n] -> f32[*s], s the larger one of both. Normalized, of an empty truth: inf.
    Raises: TypeError for other values. Source: tf.edit_distance.
    """
    ours, theirs = _sparse(hypothesis, "Hypothesis"), _sparse(truth, "Truth")
    if ours.values.dtype is not theirs.values.dtype:
        raise invalid("hypothesis and truth must have one dtype")

    def distances(a: Any, x: Any, size: Any, b: Any, y: Any, other: Any) -> list[Any]:
        if len(size) != len(other):
            raise invalid(f"Shapes must have equal ranks, got {len(size)} and {len(other)}")
        dims = np.maximum(size[:-1], other[:-1])
        result = np.zeros(dims, np.float32)
        said, meant = _sequences(a, x), _sequences(b, y)
        for place in {*said, *meant}:
            first, second = said.get(place, []), meant.get(place, [])
            count = float(levenshtein(first, second))
            result[place] = count if not normalize else count / len(second) if second else np.inf
        return [result]

    parts = [part for each in (ours, theirs) for part in (each.indices, each.values, each.dense_shape)]
    rank = ours.shape.rank or theirs.shape.rank
    with name_scope(name or "edit_distance"):
        return host_call(distances, parts, (float32, TensorShape(None if rank is None else [None] * (rank - 1))))[0]
