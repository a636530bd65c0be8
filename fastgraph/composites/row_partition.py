"""RowPartition: how values are cut into rows, without the values.

Rule: what a RaggedTensor with these row splits says of its rows, it says.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites.extension_type import ExtensionType
from fastgraph.composites.ragged_tensor import RaggedTensor, made, nvals
from fastgraph.composites.row_splits import as_partition, common_dtype, positions
from fastgraph.core.base.dtype import DTypeLike, as_dtype, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.arguments import as_tensor, static_int
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast
from fastgraph.ops.reduction import reduce_sum


class RowPartition(ExtensionType):
    """A vector of values cut into rows. Made by `from_row_splits` and its like. Source: tf.experimental.RowPartition.

    Raises: ValueError when it is called itself.
    """

    _splits: Tensor
    _length: int | Tensor | None

    def __init__(self, rows: Any, internal: bool = False) -> None:
        if not internal:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods instead (e.g., "
                "RowPartition.from_row_lengths())"
            )
        self._splits, self._length = rows.row_splits, rows._uniform

    @classmethod
    def from_row_splits(
        cls, row_splits: TensorLike, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Rows that begin and end where row_splits i[n + 1] says, rising from 0. Raises: InvalidArgumentError."""
        splits = _vector(row_splits, dtype, dtype_hint)
        if splits.shape[0] == 0:
            raise ValueError("row_splits tensor may not be empty.")
        return _of("row_splits", splits[-1], splits, validate)

    @classmethod
    def from_row_lengths(
        cls, row_lengths: TensorLike, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Rows of the lengths i[n]. Raises: InvalidArgumentError for one below 0."""
        lengths = _vector(row_lengths, dtype, dtype_hint)
        return _of("row_lengths", reduce_sum(lengths), lengths, validate)

    @classmethod
    def from_value_rowids(
        cls, value_rowids: TensorLike, nrows: Any = None, validate: bool = True, dtype: DTypeLike | None = None,
        dtype_hint: Any = None,
    ) -> RowPartition:  # fmt: skip
        """Rows of the values whose row's number i[n], which never falls, is theirs. Raises: as RaggedTensor's."""
        ids = _vector(value_rowids, dtype, dtype_hint)
        return _of("value_rowids", nvals(ids), ids, validate, nrows)

    @classmethod
    def from_row_starts(
        cls,
        row_starts: TensorLike,
        nvals: TensorLike,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: Any = None,
    ) -> RowPartition:
        """Rows of `nvals` values that begin where row_starts i[n] says."""
        return _of("row_starts", nvals, _vector(row_starts, dtype, dtype_hint), validate)

    @classmethod
    def from_row_limits(
        cls, row_limits: TensorLike, validate: bool = True, dtype: DTypeLike | None = None, dtype_hint: Any = None
    ) -> RowPartition:
        """Rows that end where row_limits i[n] says."""
        limits = _vector(row_limits, dtype, dtype_hint)
        return _of("row_limits", reduce_sum(limits[-1:]), limits, validate)

    @classmethod
    def from_uniform_row_length(
        cls, uniform_row_length: TensorLike, nvals: Any = None, nrows: Any = None, validate: bool = True,
        dtype: DTypeLike | None = None, dtype_hint: Any = None,
    ) -> RowPartition:  # fmt: skip
        """Rows that are all of one length: of `nvals` values, or `nrows` of them. Raises: ValueError for neither."""
        if nvals is None and nrows is None:
            raise ValueError("At least one of {nvals,nrows} must be specified")
        given = {"uniform_row_length": uniform_row_length, "nrows": nrows, "nvals": nvals}
        target = as_dtype(dtype or common_dtype(as_dtype(dtype_hint or int64), **given))
        count = cast(nrows, target) * cast(uniform_row_length, target) if nvals is None else as_tensor(nvals)
        known = static_int(count)
        rows = _of("uniform_row_length", count if known is None else known, uniform_row_length, validate, nrows)
        return rows.with_dtype(target)

    @property
    def _rows(self) -> Any:
        """A RaggedTensor of these rows, whose values nobody asks for."""
        return made(self._splits, self._splits, self._length)

    #: Int32 or int64; the number of rows, of values, and the length of all rows, as far as they are known.
    dtype = property(lambda self: self._splits.dtype)
    static_nrows = property(lambda self: self._rows.shape[0])
    static_nvals = property(lambda self: static_int(self.nvals()))
    static_uniform_row_length = property(lambda self: self._rows.shape[1])

    def row_splits(self) -> Tensor:
        """Return where rows begin, and where the last ends. i[n + 1]."""
        return self._splits

    def offsets_in_rows(self) -> Tensor:
        """The place of each value in its row. i[nvals]."""
        return cast(positions(self._rows.row_lengths()), self._splits.dtype)

    def nvals(self) -> Tensor:
        """The number of values. i[]."""
        return self._splits[-1]

    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows where it was given as one, else None."""
        return None if self._length is None else cast(self._length, self._splits.dtype)

    def is_uniform(self) -> bool:
        """Return whether the rows were given one length."""
        return self._length is not None

    def with_dtype(self, dtype: DTypeLike) -> RowPartition:
        """The same with row splits of int32 or int64."""
        return RowPartition(self._rows.with_row_splits_dtype(dtype), internal=True)

    def rows_of(self, values: Any) -> RaggedTensor:
        """The RaggedTensor of values (a Tensor or RaggedTensor) cut so."""
        return made(values, self._splits, self._length)

    def __repr__(self) -> str:
        uniform = self.static_uniform_row_length
        if uniform is not None:
            return f"tf.RowPartition(nrows={self.static_nrows}, uniform_row_length={uniform})"
        return f"tf.RowPartition(row_splits={getattr(self._splits, 'numpy', self.row_splits)()})"


def _asked(name: str, doc: str) -> Any:
    def ask(self: Any) -> Any:
        return getattr(self._rows, name)()

    ask.__name__, ask.__qualname__, ask.__doc__ = name, f"RowPartition.{name}", doc
    return ask


for _name, _doc in {
    "nrows": "The number of rows. i[].",
    "row_starts": "Return where rows begin. i[n].",
    "row_limits": "Return where rows end. i[n].",
    "row_lengths": "The lengths of the rows. i[n].",
    "value_rowids": "The row that each value is in. i[nvals].",
}.items():
    setattr(RowPartition, _name, _asked(_name, _doc))


def _of(kind: str, count: Any, part: Any, validate: bool, *rest: Any) -> Any:
    rows = getattr(RaggedTensor, f"from_{kind}")(range_(count), part, *rest, validate=validate)
    return RowPartition(rows, internal=True)


def _vector(part: Any, dtype: DTypeLike | None, hint: Any) -> Any:
    """Splits, lengths, ... as a vector of int32 or int64; what is no tensor of `dtype`, or of `hint`."""
    given = part if dtype is None else convert(part, as_dtype(dtype))
    return as_partition(given, "row_splits", as_dtype(hint or int64))
