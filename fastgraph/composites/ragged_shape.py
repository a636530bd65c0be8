"""DynamicRaggedShape: what tf.shape says of a RaggedTensor.

Rule: it holds the RaggedTensor's rows; an axis whose rows differ in length has no length.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core.base.dtype import DType
from fastgraph.core.tensor import convert
from fastgraph.ops.arguments import known_value
from fastgraph.ops.elementwise import cast
from fastgraph.ops.movement import shape


class DynamicRaggedShape:
    """The lengths of a RaggedTensor's axes, as tensors of one dtype. Source: tf.experimental.DynamicRaggedShape."""

    def __init__(self, value: RaggedTensor, dtype: DType) -> None:
        self._value, self._dtype = value, dtype

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        return self._dtype

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return int(self._value.ragged_rank + self.inner_rank)

    @property
    def num_row_partitions(self) -> int:
        """How many axes are of rows."""
        return int(self._value.ragged_rank)

    @property
    def inner_shape(self) -> Any:
        """The shape of the values within all rows. -> dtype[inner_rank]."""
        return shape(self._value.flat_values, self._dtype)

    @property
    def inner_rank(self) -> int:
        """How many axes the values have, rows of all of them counted as one."""
        return int(self._value.flat_values.shape.rank or 0)

    def _partition(self, axis: int) -> Any:
        """The RaggedTensor whose rows are those of an axis from 1 to num_row_partitions."""
        found = self._value
        for _ in range(axis - 1):
            found = found.values
        return found

    def is_uniform(self, axis: int) -> bool:
        """Return whether an axis has one length. Raises IndexError for one that is none."""
        if not 0 <= axis < self.rank:
            raise IndexError(f"Expected 0 <= axis < {self.rank}, got {axis}")
        return not 0 < axis <= self.num_row_partitions or self._partition(axis).uniform_row_length is not None

    def __getitem__(self, index: int) -> Any:
        """Return the length of an axis. Raises ValueError for one whose rows differ, NotImplementedError for slices."""
        if isinstance(index, slice):
            raise NotImplementedError("Slices of a RaggedTensor's shape are not built: ask for each axis")
        axis = index + self.rank if index < 0 else index
        if not self.is_uniform(axis):
            raise ValueError(f"Index {axis} is not uniform")
        if axis == 0:
            return cast(self._value.nrows(), self._dtype)
        if axis <= self.num_row_partitions:
            return cast(convert(self._partition(axis).uniform_row_length), self._dtype)
        return self.inner_shape[axis - self.num_row_partitions]

    def static_lengths(self) -> list[Any]:
        """Return the lengths that are known: an int, None, or a tuple of the rows' lengths for each axis."""
        found: list[Any] = []
        for axis in range(self.rank):
            lengths = known_value(self[axis] if self.is_uniform(axis) else self._partition(axis).row_lengths())
            uniform = self.is_uniform(axis)
            found.append((None if uniform else (None, ...)) if lengths is None else
                         int(lengths) if uniform else tuple(lengths.tolist()))  # fmt: skip
        return found

    def __repr__(self) -> str:
        lengths = ", ".join(str(n).replace("Ellipsis", "...") for n in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self.num_row_partitions}>"
