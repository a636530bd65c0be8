"""Composites of arrays instead of tensors: what evaluating a sparse tensor, a ragged one, IndexedSlices gives.

Rule: no tensors in here, and no conversion: what a caller puts in is what is kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tape.indexed_slices import IndexedSlices


class SparseTensorValue(NamedTuple):
    """indices[n, rank], values[n], dense_shape[rank]. Source: tf.compat.v1.SparseTensorValue."""

    indices: Any
    values: Any
    dense_shape: Any


class IndexedSlicesValue(NamedTuple):
    """values[n, *s], indices[n], dense_shape or None."""

    values: Any
    indices: Any
    dense_shape: Any


class RaggedTensorValue:
    """Rows of different lengths as arrays. Source: tf.compat.v1.ragged.RaggedTensorValue."""

    def __init__(self, values: Any, row_splits: TensorLike) -> None:
        splits = np.asarray(row_splits)
        if splits.dtype not in (np.int32, np.int64) or splits.ndim != 1:
            raise TypeError(f"row_splits must be a 1D int32 or int64 numpy array; got {row_splits!r}")
        if not isinstance(values, np.ndarray | np.generic | RaggedTensorValue):
            raise TypeError(f"values must be a numpy array or a RaggedTensorValue; got {values!r}")
        self.values, self.row_splits = values, splits

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        return self.values.flat_values if isinstance(self.values, RaggedTensorValue) else self.values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged axes, the outermost first."""
        inner = self.values.nested_row_splits if isinstance(self.values, RaggedTensorValue) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return len(self.nested_row_splits)

    dtype = ReadOnly[Any]("flat_values.dtype", "The NumPy dtype of the values.")

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape, None where rows differ."""
        return (len(self.row_splits) - 1, None, *self.values.shape[1:])

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        rows = self.values.to_list() if isinstance(self.values, RaggedTensorValue) else self.values.tolist()
        return [rows[a:b] for a, b in zip(self.row_splits[:-1], self.row_splits[1:], strict=True)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedTensorValue) and self.to_list() == other.to_list()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self.values!r}, row_splits={self.row_splits!r})"

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"


def evaluated(value: Any) -> Any:
    """Return a tensor as an array, a composite as one of arrays. Raises ValueError for what has no value."""
    if value is None:
        return None
    if isinstance(value, SparseTensor):
        return SparseTensorValue(*[part.numpy() for part in (value.indices, value.values, value.dense_shape)])
    if isinstance(value, RaggedTensor):
        return RaggedTensorValue(evaluated(value.values), value.row_splits.numpy())
    if isinstance(value, IndexedSlices):
        return IndexedSlicesValue(*[evaluated(part) for part in (value.values, value.indices, value.dense_shape)])
    numpy = getattr(value, "numpy", None)
    if not callable(numpy):
        raise ValueError(f"Unsupported type {type(value).__name__!r}.")
    return numpy()
