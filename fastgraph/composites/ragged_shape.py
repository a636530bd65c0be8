"""DynamicRaggedShape: what tf.shape says of a RaggedTensor, and what makes one as a shape makes a tensor.

Rule: it holds partitions into rows, and the extents of the values in all of them; an axis whose rows differ in length
has no length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.extension_batching import BatchableExtensionType
from fastgraph.composites.ragged_tensor import RaggedTensor, levels
from fastgraph.composites.row_partition import RowPartition
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike, unsupported
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import fill
from fastgraph.ops.elementwise import cast, select
from fastgraph.ops.movement import reshape, shape


class DynamicRaggedShape(BatchableExtensionType):
    """The lengths of a RaggedTensor's axes, as tensors of one dtype. Source: tf.experimental.DynamicRaggedShape.

    row_partitions: a RowPartition for each axis of rows; inner_shape: the extents i[n] of the values, all rows as one.
    Raises: ValueError where a partition's values are not the next one's rows.
    """

    _row_partitions: tuple[RowPartition, ...]
    _inner_shape: Tensor

    class Spec:
        """Knowledge of such shapes: their partitions' specs, and how many axes the values have.

        Raises: TypeError for what is no spec of a RowPartition, ValueError for specs of another dtype than int32 or
        int64, or than the shape's, and for partitions without values.
        """

        _row_partitions: tuple[Any, ...]
        _inner_shape: TensorSpec

        def __init__(self, row_partitions: Sequence[Any], static_inner_shape: ShapeLike, dtype: DTypeLike) -> None:
            kind, inner = as_dtype(dtype), TensorShape(static_inner_shape)
            wanted: Any = RowPartition.Spec
            if kind not in (int32, int64):
                raise ValueError(f"dtype must be tf.int32 or tf.int64. Received: {kind!r}")
            for each in row_partitions:
                if not isinstance(each, wanted):
                    raise TypeError(f"row_partitions should be specs of RowPartitions. Received: {each!r}")
                if each._splits.dtype is not kind:
                    raise ValueError(f"A row partition of {each._splits.dtype!r} in a shape of {kind!r}")
            if row_partitions and inner.rank == 0:
                raise ValueError("If row_partitions are provided, the values must have at least one axis.")
            self._row_partitions = tuple(row_partitions)
            self._inner_shape = TensorSpec([inner.rank], kind)

        #: As those of the shape itself.
        dtype = property(lambda self: self._inner_shape.dtype)
        num_row_partitions = property(lambda self: len(self._row_partitions))
        inner_rank = property(lambda self: self._inner_shape.shape[0])
        rank = property(lambda self: None if self.inner_rank is None else self.num_row_partitions + self.inner_rank)

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: TensorLike,
        dtype: DTypeLike | None = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ) -> None:
        if not isinstance(row_partitions, Sequence):
            raise TypeError(f"row_partitions should be a list of RowPartitions. Instead, got {row_partitions}")
        for each in row_partitions:
            if not isinstance(each, RowPartition):
                raise TypeError(f"row_partitions should contain RowPartitions. Instead, got {each}")
        own = [x.dtype for x in (inner_shape, *row_partitions) if isinstance(x, (Tensor, RowPartition))]
        target = (*own, int64)[0] if dtype is None else as_dtype(dtype)
        self._row_partitions = tuple([each.with_dtype(target) for each in row_partitions])
        self._inner_shape = cast(as_tensor(inner_shape, target), target)
        ends = [each.static_nrows for each in row_partitions[1:]] + self._known_inner()[:1]
        for each, n in zip(row_partitions, ends, strict=False):
            if None not in (each.static_nvals, n) and each.static_nvals != n:
                raise ValueError(f"RowPartitions do not fit: {each.static_nvals} values are followed by {n} rows")

    @classmethod
    def from_tensor(cls, t: Any, dtype: DTypeLike | None = None) -> DynamicRaggedShape:
        """Return the shape of a Tensor or RaggedTensor."""
        if not isinstance(t, RaggedTensor):
            return cls([], shape(as_tensor(t), int32 if dtype is None else dtype))
        target = t.row_splits.dtype if dtype is None else as_dtype(dtype)
        parts = [RowPartition(level, internal=True) for level in levels(t)]
        return cls(parts, shape(t.flat_values, target), target)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: Sequence[RowPartition], dtype: DTypeLike | None = None
    ) -> DynamicRaggedShape:
        """Return the shape of scalars cut into rows, these into rows, ... Raises: ValueError for no partition."""
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        return cls(row_partitions, [row_partitions[-1].nvals()], dtype)

    @classmethod
    def from_lengths(
        cls, lengths: Sequence[Any], num_row_partitions: int | None = None, dtype: DTypeLike = int64
    ) -> DynamicRaggedShape:
        """Return the shape of these lengths: an int for each axis, or a list of ints, the lengths of its rows.

        Raises: ValueError for lists that do not fit one another, and for an axis 0 with one.
        """
        if not isinstance(lengths, (list, tuple)):
            raise ValueError("lengths should be a list")
        ragged = [i for i, n in enumerate(lengths) if not isinstance(n, int)]
        least = ragged[-1] if ragged else 0
        count = least if num_row_partitions is None else num_row_partitions
        if ragged[:1] == [0] or count < least or (count and count >= len(lengths)):
            raise ValueError(f"{count} row partitions do not make a shape of the lengths {lengths}")
        parts: list[RowPartition] = []
        n = lengths[0] if lengths else 0
        for each in lengths[1 : count + 1]:
            if isinstance(each, int):
                parts.append(RowPartition.from_uniform_row_length(each, n * each, n, dtype=dtype))
                n *= each
            else:
                if len(each) != n:
                    raise ValueError(f"Expected {n} lengths of rows, got {each}")
                parts.append(RowPartition.from_row_lengths(list(each), dtype=dtype))
                n = sum(each)
        return cls(parts, [n, *lengths[count + 1 :]] if lengths else [], dtype)

    #: Int32 or int64; the partitions into rows, the outermost first, and their number; the shape of the values.
    dtype = property(lambda self: self._inner_shape.dtype)
    row_partitions = property(lambda self: self._row_partitions)
    num_row_partitions = property(lambda self: len(self._row_partitions))
    inner_shape = property(lambda self: self._inner_shape)

    @property
    def inner_rank(self) -> int | Any:
        """The number of axes of the values, rows of all of them counted as one."""
        return self._inner_shape.shape[0]

    @property
    def rank(self) -> int | Any:
        """The number of axes."""
        return None if self.inner_rank is None else self.num_row_partitions + self.inner_rank

    def _known_inner(self) -> list[int | None]:
        value = known_value(self._inner_shape)
        numbers = self._inner_shape.aval.numbers if value is None else value.tolist()
        return [None] * (self.inner_rank or 0) if numbers is None else list(numbers)

    def is_uniform(self, axis: int) -> bool:
        """Return whether an axis has one length. Raises IndexError for one that is none."""
        rank = self.rank
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0 or (rank is not None and axis >= rank):
            raise IndexError(f"Expected 0 <= axis < {rank}, got {axis}")
        return not 0 < axis <= self.num_row_partitions or self._row_partitions[axis - 1].is_uniform()

    def __getitem__(self, index: Any) -> Any:
        """Return the length of an axis, or the shape of the first axes, or of the values' ones.

        Raises ValueError for an axis whose rows differ.
        """
        if isinstance(index, slice):
            return self._slice(*index.indices(self.rank))
        if not isinstance(index, int):
            raise TypeError("index is not an int or a slice")
        axis = index + self.rank if index < 0 else index
        if not self.is_uniform(axis):
            raise ValueError(f"Index {axis} is not uniform")
        if axis == 0:
            return self._row_partitions[0]._rows.nrows() if self._row_partitions else self._inner_shape[0]
        if axis <= self.num_row_partitions:
            return self._row_partitions[axis - 1].uniform_row_length()
        return self._inner_shape[axis - self.num_row_partitions]

    def _slice(self, start: int, stop: int, step: int) -> DynamicRaggedShape:
        if step != 1:
            raise IndexError("Cannot stride through a shape")
        n, kind = self.num_row_partitions, type(self)
        if stop <= start:
            return kind([], cast([], self.dtype))
        if start == 0 and stop <= n:
            first = [self._row_partitions[0]._rows.nrows()] if stop == 1 else [self._row_partitions[stop - 2].nvals()]
            return kind(self._row_partitions[: stop - 1], first, self.dtype)
        if start == 0:
            return kind(self._row_partitions, self._inner_shape[: stop - n], self.dtype)
        if all(map(self.is_uniform, range(start, stop))):
            return kind([], [self[axis] for axis in range(start, stop)], self.dtype)
        raise ValueError(f"Index {next(i for i in range(start, stop) if not self.is_uniform(i))} is not uniform")

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """Return the lengths that are known: an int, None, or a tuple of the rows' lengths for each axis."""
        found: list[Any] = []
        if self._row_partitions:
            found.append(self._row_partitions[0].static_nrows)
        for each in self._row_partitions:
            if each.is_uniform():
                found.append(each.static_uniform_row_length)
            else:
                lengths = known_value(each._rows.row_lengths())
                known = (None, ...) if lengths is None else tuple(lengths.tolist())
                found.append(known if ragged_lengths else None)
        inner = self._known_inner()[1 if self._row_partitions else 0 :]
        return [*found, *inner] if self.inner_rank is not None else [*found, ...]

    def with_dtype(self, dtype: DTypeLike) -> DynamicRaggedShape:
        """Return the same with tensors of int32 or int64."""
        return self if as_dtype(dtype) is self.dtype else type(self)(self._row_partitions, self._inner_shape, dtype)

    def __repr__(self) -> str:
        lengths = ", ".join(str(n).replace("Ellipsis", "...") for n in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self.num_row_partitions}>"

    def rows_of(self, flat: Any) -> RaggedTensor | Any:
        """Return the RaggedTensor (without partitions the Tensor) of these innermost values."""
        for each in reversed(self._row_partitions):
            flat = each.rows_of(flat)
        return flat

    def __fg_tensor__(self, dtype: DType | None = None) -> DynamicRaggedShape:
        return self

    def __fg_bind__(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Apply an op that takes a shape, with this one."""
        name, first = prim.name.removesuffix("_dynamic"), as_tensor(inputs[0])
        if name == "fill":
            return self.rows_of(fill(self._inner_shape, first))
        if name == "reshape":
            flat = first.flat_values if isinstance(first, RaggedTensor) else first
            return self.rows_of(reshape(flat, self._inner_shape))
        if name == "broadcast_to":
            if not self._row_partitions:
                return broadcast_to(first, self._inner_shape)
            return select(self._truths(), first, first)
        if name == "broadcast_args":
            shapes = [each if isinstance(each, DynamicRaggedShape) else type(self)([], each) for each in inputs]
            both = public_function("logical_or")(*[each._truths() for each in shapes])
            return type(self).from_tensor(both, self.dtype)
        raise unsupported(self)

    def _truths(self) -> Any:
        return self.rows_of(fill(self._inner_shape, True))
