"""tf.edit_distance: how many insertions, deletions and exchanges make one sequence of another.

Rule: sequences are the last axes of sparse tensors; the work runs on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import float32
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor
from fastgraph.ops.families import invalid
from fastgraph.ops.python_functions import host_call


def _sparse(value: object, which: str) -> SparseTensor:
    try:
        return SparseTensor.from_value(value)
    except TypeError:
        raise TypeError(f"{which} must be a SparseTensor.") from None


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
        rows = np.concatenate([a[:, :-1], b[:, :-1]])
        if ((rows < 0) | (rows >= dims)).any():
            raise invalid("an index of the sequences is out of bounds")
        strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1)[: len(dims)]
        places = np.split(rows @ strides, [len(a)])
        codes = np.split(np.unique(np.concatenate([x, y]), return_inverse=True, equal_nan=False)[1], [len(a)])
        orders = [np.argsort(place, kind="stable") for place in places]
        touched = np.unique(np.concatenate(places))
        ends = np.array([np.searchsorted(place[order], touched, "right") for place, order in zip(places, orders)])
        first, second = (code[order] for code, order in zip(codes, orders))
        counts = array_kernels.edits(first, second, ends).astype(np.float64)
        if normalize:
            with np.errstate(divide="ignore"):
                counts /= np.diff(ends[1], prepend=0)
        result = np.zeros(dims, np.float32)
        result.reshape(-1)[touched] = counts
        return [result]

    parts = [part for each in (ours, theirs) for part in (each.indices, each.values, each.dense_shape)]
    shapes = [each.shape.as_list() for each in (ours, theirs) if each.shape.rank is not None]
    known: list[int | None] | None = [None] * (len(shapes[0]) - 1) if shapes else None
    if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):
        known = [None if None in pair else max(pair) for pair in zip(*shapes, strict=True)][:-1]
    with name_scope(name or "edit_distance"):
        said = "EditDistance", "output", {"normalize": bool(normalize), "T": ours.values.dtype}
        return host_call(distances, parts, (float32, TensorShape(known)), written=said)[0]
