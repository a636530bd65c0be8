"""RowPartition: how values are cut into rows, without the values.

Rule: it is a RaggedTensor of the values' numbers, which says all that can be asked.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites.extension_type import ExtensionType
from fastgraph.composites.ragged_tensor import RaggedTensor, nvals, positions
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int64
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, static_int
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast
from fastgraph.ops.reduction import reduce_sum


class RowPartition(ExtensionType):
    """A vector of values cut into rows. Made by `from_row_splits` and its like. Source: tf.experimental.RowPartition.

    Examples:
        >>> rows = tf.experimental.RowPartition.from_row_lengths([2, 0, 1])
        >>> rows.row_splits().numpy(), rows.value_rowids().numpy()
        (array([0, 2, 2, 3]), array([0, 0, 2]))
    """

    _rows: RaggedTensor

    def __init__(self, rows: Any, internal: bool = False) -> None:
        if not internal:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods instead (e.g., "
                "RowPartition.from_row_lengths())"
            )
        self._rows = rows

    @classmethod
    def _of(cls, make: Any, count: Any, part: Any, validate: bool, *rest: Any) -> Any:
        return cls(make(range_(count), part, *rest, validate=validate), internal=True)

    @classmethod
    def from_row_splits(
        cls, row_splits: Data, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> Any:
        """Rows that begin and end where row_splits i[n + 1] says. Raises: InvalidArgumentError unless it rises from 0."""
        splits = _vector(row_splits, dtype, dtype_hint)
        if splits.shape[0] == 0:
            raise ValueError("row_splits tensor may not be empty.")
        return cls._of(RaggedTensor.from_row_splits, splits[-1], splits, validate)

    @classmethod
    def from_row_lengths(
        cls, row_lengths: Data, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> Any:
        """Rows of the lengths i[n]. Raises: InvalidArgumentError for one below 0."""
        lengths = _vector(row_lengths, dtype, dtype_hint)
        return cls._of(RaggedTensor.from_row_lengths, reduce_sum(lengths), lengths, validate)

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Data,
        nrows: Data | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: Any = None,
    ) -> Any:
        """Rows of the values whose row's number i[n], which never falls, is theirs. Raises: as RaggedTensor's."""
        ids = _vector(value_rowids, dtype, dtype_hint)
        return cls._of(RaggedTensor.from_value_rowids, nvals(ids), ids, validate, nrows)

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Data,
        nvals: Data,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: Any = None,
    ) -> Any:
        """Rows of `nvals` values that begin where row_starts i[n] says."""
        return cls._of(RaggedTensor.from_row_starts, nvals, _vector(row_starts, dtype, dtype_hint), validate)

    @classmethod
    def from_row_limits(
        cls, row_limits: Data, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> Any:
        """Rows that end where row_limits i[n] says."""
        limits = _vector(row_limits, dtype, dtype_hint)
        return cls._of(RaggedTensor.from_row_limits, reduce_sum(limits[-1:]), limits, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Data,
        nvals: Data | None = None,
        nrows: Data | None = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: Any = None,
    ) -> Any:
        """Rows that are all of one length: of `nvals` values, or `nrows` of them. Raises: ValueError for neither."""
        if nvals is None and nrows is None:
            raise ValueError("At least one of {nvals,nrows} must be specified")
        target = as_dtype(dtype) if dtype is not None else int64
        count = cast(nrows, target) * cast(uniform_row_length, target) if nvals is None else nvals
        known = static_int(as_tensor(count))
        values = range_(count if known is None else known)
        rows = RaggedTensor.from_uniform_row_length(values, uniform_row_length, nrows, validate=validate)
        return cls(rows.with_row_splits_dtype(target), internal=True)

    @property
    def dtype(self) -> DType:
        """int32 or int64."""
        dtype: DType = self._rows.row_splits.dtype
        return dtype

    @property
    def static_nrows(self) -> int | None:
        """The number of rows, if it is known."""
        found: int | None = self._rows.shape[0]
        return found

    @property
    def static_nvals(self) -> int | None:
        """The number of values, if it is known."""
        found: int | None = self._rows.values.shape[0]
        return found

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows, if they have one and it is known."""
        found: int | None = self._rows.shape[1]
        return found

    def row_splits(self) -> Tensor:
        """Where rows begin, and where the last ends. i[n + 1]."""
        return self._rows.row_splits  # type: ignore[no-any-return]

    def row_starts(self) -> Tensor:
        """Where rows begin. i[n]."""
        return self._rows.row_starts()  # type: ignore[no-any-return]

    def row_limits(self) -> Tensor:
        """Where rows end. i[n]."""
        return self._rows.row_limits()  # type: ignore[no-any-return]

    def row_lengths(self) -> Tensor:
        """The lengths of the rows. i[n]."""
        return self._rows.row_lengths()  # type: ignore[no-any-return]

    def value_rowids(self) -> Tensor:
        """The row that each value is in. i[nvals]."""
        return self._rows.value_rowids()  # type: ignore[no-any-return]

    def offsets_in_rows(self) -> Tensor:
        """The place of each value in its row. i[nvals]."""
        return cast(positions(self.row_lengths()), self.dtype)

    def nrows(self) -> Tensor:
        """The number of rows. i[]."""
        return self._rows.nrows()  # type: ignore[no-any-return]

    def nvals(self) -> Tensor:
        """The number of values. i[]."""
        return cast(nvals(self._rows.values), self.dtype)

    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows where it was given as one, else None."""
        found = self._rows.uniform_row_length
        return None if found is None else cast(found, self.dtype)

    def is_uniform(self) -> bool:
        """Whether the rows were given one length."""
        return self._rows.uniform_row_length is not None

    def with_dtype(self, dtype: DTypeLike) -> Any:
        """The same with row splits of int32 or int64."""
        return type(self)(self._rows.with_row_splits_dtype(dtype), internal=True)

    def rows_of(self, values: Any) -> Any:
        """The RaggedTensor of values (a Tensor or RaggedTensor) cut so."""
        return self._rows.with_values(values)

    def __repr__(self) -> str:
        shown = getattr(self.row_splits(), "numpy", self.row_splits)()
        uniform = self.static_uniform_row_length
        return f"tf.RowPartition(row_splits={shown}" + (")" if uniform is None else f", uniform_row_length={uniform})")


def _vector(part: Data, dtype: DTypeLike | None, hint: Any) -> Any:
    """Splits, lengths, ... as a tensor of int32 or int64; Python's integers are int64 unless a dtype is wanted."""
    target = as_dtype(dtype or hint or int64)
    return cast(part, target) if dtype is not None else as_tensor(part, target)
