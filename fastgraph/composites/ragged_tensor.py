"""RaggedTensor: rows of different lengths, one after the other in one tensor; a composite of values and row splits.

Rule: here is what a RaggedTensor is and how it is made; what ops do to one is in ragged_ops, [] in ragged_indexing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.composites.ragged_operators import RaggedOperators
from fastgraph.composites.row_splits import along, as_partition, common_dtype, rows_of_values, splits_of
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32, int64
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import TensorShape, as_dims, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike, unsupported
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_trace
from fastgraph.ops.arguments import known_value, static_int
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast, maximum, ones_like
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_max
from fastgraph.ops.runtime_assertions import assert_equal, assert_non_negative
from fastgraph.ops.segments import unsorted_segment_sum
from fastgraph.ops.tiling import repeat

if TYPE_CHECKING:
    from fastgraph.composites.sparse_tensor import SparseTensor


class RaggedTensor(RaggedOperators, CompositeTensor):
    """Row i is values[row_splits[i] : row_splits[i + 1]]; the values may themselves be ragged. Source: tf.RaggedTensor.

    Made by RaggedTensor.from_row_splits and its like, or by ragged.constant.
    """

    _is_tensor = True
    __array_ufunc__ = None  # array + ragged is ragged's affair

    def __init__(self, values: Any, row_partition: Any, internal: bool = False) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
                "RaggedTensor.from_row_lengths())"
            )
        self._values = values
        self._row_splits, self._uniform = row_partition

    # -- made of values and a partition

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: TensorLike, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin and end where row_splits i[n + 1] says. Raises: InvalidArgumentError unless it rises from 0
        to the number of values. Source: tf.RaggedTensor.from_row_splits.
        """
        values, splits = _parts(values, row_splits, "row_splits")
        if splits.shape[0] == 0:
            raise ValueError("row_splits tensor may not be empty.")
        if validate:
            what = "Arguments to from_row_splits do not form a valid RaggedTensor"
            assert_equal(splits[0], zeros([], splits.dtype), f"{what}:zero")
            assert_non_negative(splits[1:] - splits[:-1], message=f"{what}:monotonic.")
            _assert_all_used(values, splits[-1])
        return made(values, splits)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of the lengths i[n]. Raises: InvalidArgumentError unless they make up all values.
        Source: tf.RaggedTensor.from_row_lengths.
        """
        values, lengths = _parts(values, row_lengths, "row_lengths")
        if validate:
            assert_non_negative(lengths, message="Arguments to from_row_lengths do not form a valid RowPartition.")
        splits = splits_of(lengths)
        if validate:
            _assert_all_used(values, splits[-1])
        return made(values, splits)

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows of the values whose row's number i[n], which never falls, is theirs. Raises: ValueError for another
        number of them or of rows. Source: tf.RaggedTensor.from_value_rowids.
        """
        values, ids = _parts(values, value_rowids, "value_rowids")
        n_values = values.shape[0]
        if None not in (ids.shape[0], n_values) and ids.shape[0] != n_values:
            raise ValueError(f"Shapes ({n_values},) and ({ids.shape[0]},) are incompatible")
        last, known = known_value(ids), None if nrows is None else static_int(nrows)
        if known is not None and known < 0:
            raise ValueError(f"Expected nrows >= 0; got {known}")
        if known is not None and last is not None and last.size and last[-1] >= known:
            raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, value_rowids[-1]={last[-1]}")
        count = cast(reduce_max(concat([ids + 1, zeros([1], ids.dtype)], 0)) if nrows is None else nrows, ids.dtype)
        if validate:
            what = "Arguments to from_value_rowids do not form a valid RowPartition."
            assert_non_negative(ids[1:] - ids[:-1], message=what)
            assert_non_negative(ids[:1], message=what)
            assert_non_negative(count - 1 - ids[-1:], message=what)
        return made(values, splits_of(unsorted_segment_sum(ones_like(ids), ids, count if known is None else known)))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that begin where row_starts i[n] says. Source: tf.RaggedTensor.from_row_starts."""
        values, starts = _parts(values, row_starts, "row_starts")
        if validate:
            what = "Arguments to from_row_starts do not form a valid RaggedTensor"
            assert_equal(starts[:1], zeros(shape(starts[:1]), starts.dtype), what)
        return cls.from_row_splits(values, concat([starts, [cast(nvals(values), starts.dtype)]], 0), validate=validate)

    @classmethod
    def from_row_limits(
        cls, values: object, row_limits: object, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows that end where row_limits i[n] says. Source: tf.RaggedTensor.from_row_limits."""
        values, limits = _parts(values, row_limits, "row_limits")
        return cls.from_row_splits(values, concat([zeros([1], limits.dtype), limits], 0), validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: object = None, validate: bool = True, name: str | None = None
    ) -> RaggedTensor:
        """Rows that are all of one length. Raises: ValueError unless they make up all values.
        Source: tf.RaggedTensor.from_uniform_row_length.
        """
        values = as_values(values)
        dtype = common_dtype(splits_dtype(values), uniform_row_length=uniform_row_length, nrows=nrows)
        _check_splits_dtype(values, dtype)
        length, count = static_int(uniform_row_length), values.shape[0]
        rows = None if nrows is None else static_int(nrows)
        if length is not None and length < 0:
            raise ValueError("uniform_row_length must be >= 0.")
        if nrows is None and length is not None and count is not None:
            nrows = rows = count // length if length else 0
        if None not in (length, rows, count) and length * rows != count:  # type: ignore[operator]
            raise ValueError(f"uniform_row_length={length} times nrows={rows} must equal nvals={count}")
        size = convert(length, dtype) if length is not None else cast(uniform_row_length, dtype)
        if nrows is None:
            nrows = cast(nvals(values), dtype) // maximum(size, 1)
        n = convert(rows, dtype) if rows is not None else cast(nrows, dtype)
        if validate and None in (length, rows, count):
            assert_equal(size * n, cast(nvals(values), dtype), "uniform_row_length times nrows must equal nvals")
        return made(values, range_(n + 1) * size, size if length is None else length)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """from_row_splits once for each of the splits, the last first. Source: tf.RaggedTensor."""
        return _nested(cls.from_row_splits, flat_values, nested_row_splits, "nested_row_splits", validate)

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """from_row_lengths once for each of the lengths, the last first. Source: tf.RaggedTensor."""
        return _nested(cls.from_row_lengths, flat_values, nested_row_lengths, "nested_row_lengths", validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """from_value_rowids once for each of the ids, the last first. Source: tf.RaggedTensor."""
        _assert_list(nested_value_rowids, "nested_value_rowids")
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else nested_nrows
        if len(counts) != len(nested_value_rowids):
            raise ValueError("Argument `nested_nrows` must have the same length as argument `nested_value_rowids`.")
        result = flat_values
        for ids, count in reversed(list(zip(nested_value_rowids, counts, strict=True))):
            result = cls.from_value_rowids(result, ids, count, validate=validate)
        return result

    @classmethod
    def from_tensor(
        cls,
        tensor: object,
        lengths: object = None,
        padding: object = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> RaggedTensor:
        """A dense tensor's rows, cut to `lengths` or without `padding` at their ends.

        Raises: ValueError for both, or too small a rank. Source: tf.RaggedTensor.from_tensor.
        """
        from fastgraph.composites.ragged_ops import from_dense

        return from_dense(tensor, lengths, padding, ragged_rank, as_dtype(row_splits_dtype))

    @classmethod
    def from_sparse(
        cls, st_input: object, name: str | None = None, row_splits_dtype: DTypeLike = int64
    ) -> RaggedTensor:
        """The rows of a SparseTensor of rank 2 whose values stand at the rows' beginnings, without gaps. Raises:
        InvalidArgumentError if they do not. Source: tf.RaggedTensor.from_sparse.
        """
        from fastgraph.composites.ragged_ops import from_sparse

        return from_sparse(st_input, as_dtype(row_splits_dtype))

    # -- what it is made of

    values = ReadOnly[Any]("_values", "The rows one after the other: a Tensor, or a RaggedTensor.")
    row_splits = ReadOnly[Tensor]("_row_splits", "The places where rows begin, and where the last ends. i[n + 1].")

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows where it was given as one, else None."""
        length = self._uniform
        return convert(length, self._row_splits.dtype) if isinstance(length, int) else length

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a Tensor."""
        inner = self._values
        while isinstance(inner, RaggedTensor):
            inner = inner._values
        return inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        return (self._row_splits, *(self._values.nested_row_splits if self.ragged_rank > 1 else ()))

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions, after the first, that are ragged."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self) -> TensorShape:
        """The shape as far as it is known; ragged dimensions are None."""
        n = self._row_splits.shape[0]
        length = self._uniform if isinstance(self._uniform, int) else None
        return shape_of((None if n is None else n - 1, length)).concatenate(self._values.shape[1:])

    def get_shape(self) -> TensorShape:
        """Return what is known of the shape."""
        return self.shape

    dtype = ReadOnly[DType]("_values.dtype", "The dtype of the values.")

    def consumers(self) -> list[Any]:
        """Return the operations that take it: in eager mode none are known."""
        return []

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The number of rows, a scalar."""
        n = self._row_splits.shape[0]
        dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        return convert(n - 1, dtype) if n is not None else shape(self._row_splits, dtype)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return where rows begin. i[n]."""
        return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return where rows end. i[n]."""
        return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor | Any:
        """The lengths of the rows, or of those along a further axis. Raises: ValueError for an axis out of range."""
        axis = along(axis, self.shape.rank)
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._row_splits[1:] - self._row_splits[:-1]
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        extents = shape(self._values, self._row_splits.dtype)
        return self.with_values(zeros(extents[: axis - 1], extents.dtype) + extents[axis - 1])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row that each value is in. i[nvals]."""
        if current_trace() is None or self._values is self._row_splits:  # which stand for values that nobody has
            return repeat(range_(self.nrows()), self.row_lengths())
        return rows_of_values(self._row_splits, nvals(self._values))

    def _places(self) -> Tensor:
        """The place of each value in its row. i[nvals]."""
        rows = self.value_rowids()
        return range_(cast(nvals(self._values), rows.dtype)) - gather(self.row_starts(), rows)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of all ragged dimensions, the outermost first."""
        return tuple(level.row_lengths() for level in levels(self))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """The value_rowids of all ragged dimensions, the outermost first."""
        return tuple(level.value_rowids() for level in levels(self))

    def bounding_shape(self, axis: object = None, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
        """The smallest shape that holds it: i[rank], or what `axis` takes of it."""
        dtype = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        longest = [reduce_max(concat([n, zeros([1], n.dtype)], 0)) for n in self.nested_row_lengths()]
        inner = shape(self.flat_values, dtype)[1:]
        extents = concat([stack([cast(n, dtype) for n in (self.nrows(), *longest)]), inner], 0)
        return extents if axis is None else gather(extents, axis)

    # -- with other parts

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values. Raises: ValueError for another number of values."""
        new_values = as_values(new_values)
        old, new = self._values.shape[:1], new_values.shape[:1]
        if not old.is_compatible_with(new):
            raise ValueError(f"Shapes {old} and {new} are incompatible")
        if splits_dtype(new_values, self.row_splits.dtype) is not self.row_splits.dtype:
            raise ValueError(f"self and new_values have {MISMATCH}")
        return made(new_values, self._row_splits, self._uniform)

    def with_flat_values(self, new_values: object) -> RaggedTensor:
        """The same rows of rows of other innermost values. Raises: ValueError for another number of them."""
        inner = self._values
        return self.with_values(inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """The same with row splits of int32 or int64."""
        if as_dtype(dtype) not in (int32, int64):
            raise ValueError(f"Argument `row_splits` dtype must be int32 or int64. Received {dtype}.")
        inner = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return made(inner, cast(self._row_splits, dtype), self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The axes from outer_axis to inner_axis as one. Raises: ValueError unless outer_axis is the lesser."""
        from fastgraph.composites.ragged_ops import merge_dims

        return merge_dims(self, outer_axis, inner_axis)

    def to_tensor(self, default_value: object = None, name: str | None = None, shape: object = None) -> Tensor:
        """A dense tensor, its rows filled up with default_value, cut or filled to `shape` where that is given."""
        from fastgraph.composites.ragged_ops import to_dense

        return to_dense(self, default_value, shape)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A SparseTensor with the values at their places."""
        from fastgraph.composites.ragged_ops import to_sparse

        return to_sparse(self)

    def numpy(self) -> np.ndarray[Any, Any]:
        """An array of objects, the rows as arrays; of rows of one length, one array. ValueError in Functions."""
        _assert_eager(self)
        rows, splits = np.asarray(self._values.numpy()), self._row_splits.numpy().tolist()
        parts = [rows[i:j] for i, j in pairwise(splits)]
        if parts and len({len(part) for part in parts}) == 1:
            return np.stack(parts)
        found = np.empty(len(parts), object)
        found[:] = parts
        return found

    def to_list(self) -> list[Any]:
        """The rows as lists. Raises: ValueError in Functions."""
        _assert_eager(self)
        rows = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        splits = self._row_splits.numpy().tolist()
        return [rows[i:j] for i, j in pairwise(splits)]

    def __repr__(self) -> str:
        if not isinstance(self.flat_values, EagerTensor):
            return f"tf.RaggedTensor(values={self._values!s}, row_splits={self._row_splits!s})"
        with np.printoptions(formatter={"all": _text}):
            return f"<tf.RaggedTensor {_text(self.numpy())}>"

    __str__ = __repr__

    # -- how it takes part

    def _split(self, num_or_size_splits: object, axis: int, num: object) -> list[Any]:
        """Pieces along an axis, for tf.split."""
        from fastgraph.composites.ragged_axis_ops import split_ragged

        return split_ragged(self, num_or_size_splits, axis, num)

    def _softmax(self, axis: int) -> Any:
        """Numbers that add up to 1 along an axis, for tf.nn.softmax."""
        from fastgraph.composites.ragged_axis_ops import softmax_along

        return softmax_along(self, axis)

    def __getitem__(self, key: object) -> Any:
        from fastgraph.composites.ragged_indexing import getitem

        return getitem(self, key)

    def __iter__(self) -> Iterator[Any]:
        n = self._row_splits.shape[0]
        if n is None:
            raise TypeError("Iterating over a RaggedTensor needs a number of rows that is known.")
        return (self[i] for i in range(n - 1))

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable.")

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return self._shape_invariant_to_type_spec(self.shape)

    def _shape_invariant_to_type_spec(self, shape: TensorShape) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    @property
    def aval(self) -> Any:
        """Raise ValueError as its conversion to a tensor does: no one tensor stands for it."""
        raise unsupported(self)

    def __fg_tensor__(self, dtype: DType | None = None) -> RaggedTensor:
        return self

    def __fg_shown__(self) -> tuple[Any, ...]:
        """Return the parts that tf.print shows."""
        return ((self.flat_values, *self.nested_row_splits),)

    def __fg_bind__(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        from fastgraph.composites.ragged_ops import apply

        return apply(prim, inputs, attrs)


def _length(value: RaggedTensor) -> Any:
    n = value.shape[0]
    return value.nrows() if n is None else n


#: Python's builtins in converted code; `len` of an eager one is refused, as TensorFlow does.
RaggedTensor.__fg_builtins__ = {len: _length}  # type: ignore[attr-defined]


class RaggedTensorSpec(TypeSpec):
    """The type of a RaggedTensor: shape, dtype, ragged rank. Source: tf.RaggedTensorSpec."""

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")
    _parts_in_list = True

    def __init__(
        self,
        shape: Any = None,
        dtype: DTypeLike = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = int64,
        flat_values_spec: Any = None,
    ) -> None:
        if flat_values_spec is not None:
            raise NotImplementedError("RaggedTensorSpec takes no flat_values_spec: flat values are Tensors here")
        self._shape = shape_of(as_dims(shape))
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._dtype, self._ragged_rank = as_dtype(dtype), ragged_rank
        self._row_splits_dtype = as_dtype(row_splits_dtype)

    @classmethod
    def from_value(cls, value: object) -> RaggedTensorSpec:
        """Return the spec of a RaggedTensor. Raises TypeError for anything else."""
        if not isinstance(value, RaggedTensor):
            raise TypeError(f"Expected a RaggedTensor, not {value!r}")
        return value._type_spec

    shape = ReadOnly[TensorShape]("_shape", "The shape, ragged and unknown dimensions None.")
    dtype = ReadOnly[DType]("_dtype", "The dtype of the values.")

    ragged_rank = ReadOnly[int]("_ragged_rank", "The number of dimensions, after the first, that are ragged.")
    row_splits_dtype = ReadOnly[DType]("_row_splits_dtype", "int32 or int64.")

    @property
    def flat_values_spec(self) -> None:
        """None: flat values are Tensors."""
        return

    @property
    def value_type(self) -> type:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        dims, r = self._shape._dims, max(self._ragged_rank, 0)
        if not dims:
            flat, outer = dims, None
        else:
            flat = (dims[0] if r == 0 else None, *dims[r + 1 :])
            outer = None if dims[0] is None else dims[0] + 1
        splits = [TensorSpec([outer if i == 0 else None], self._row_splits_dtype) for i in range(r)]
        return TensorSpec(flat, self._dtype), *splits

    def _to_components(self, value: object) -> tuple[Any, ...]:
        return (value.flat_values, *value.nested_row_splits) if isinstance(value, RaggedTensor) else (value,)

    def _from_components(self, components: tuple[Any, ...]) -> Any:
        result, *splits = components
        for level in reversed(range(len(splits))):
            length = self._shape[level + 1] if self._shape.rank is not None else None
            result = made(result, splits[level], length)
        return result


# ---- what partitions are made of ------------------------------------------------------------------------------------


def made(values: object, row_splits: object, uniform: object = None) -> RaggedTensor:
    """The RaggedTensor of parts that are known to fit; `uniform` is the length of all rows, or None."""
    return RaggedTensor(values, (row_splits, uniform), internal=True)


def as_values(values: object) -> Any:
    """Values as a RaggedTensor or a Tensor. Raises ValueError for a scalar."""
    values = values if isinstance(values, RaggedTensor) else convert(values)
    values.shape.with_rank_at_least(1)
    return values


#: The words for RaggedTensors that do not go together.
MISMATCH = (
    "mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
)


def splits_dtype(values: object, otherwise: DType = int64) -> DType:
    """The dtype of a RaggedTensor's row splits; of anything else the one given."""
    return values.row_splits.dtype if isinstance(values, RaggedTensor) else otherwise


def check_splits_dtypes(values: Sequence[Any]) -> None:
    """Raise ValueError where those that are RaggedTensors have row splits of two dtypes."""
    if len({x.row_splits.dtype for x in values if isinstance(x, RaggedTensor)}) > 1:
        raise ValueError(f"Input RaggedTensors have {MISMATCH}")


def _check_splits_dtype(values: object, dtype: DType) -> None:
    own = splits_dtype(values, dtype)
    if own is not dtype:
        raise ValueError(
            "Argument `row_partition` of RaggedTensor with name: partition must have same dtype as Argument `values`. "
            f"({dtype} vs. {own})."
        )


def _parts(values: object, partition: object, what: str) -> tuple[Any, Any]:
    """Values and what cuts them into rows, of the dtype that the values' own rows have."""
    values = as_values(values)
    part = as_partition(partition, what, splits_dtype(values))
    _check_splits_dtype(values, part.dtype)
    return values, part


def levels(rt: RaggedTensor) -> list[RaggedTensor]:
    """rt, its values, theirs, ... as long as they are ragged."""
    found = [rt]
    while isinstance(found[-1].values, RaggedTensor):
        found.append(found[-1].values)
    return found


def nvals(values: object) -> Any:
    """Return how many rows a Tensor or RaggedTensor has."""
    return values.nrows() if isinstance(values, RaggedTensor) else shape(values, int64)[0]


def _assert_all_used(values: Tensor | RaggedTensor, last: Tensor) -> None:
    what = "Arguments to _from_row_partition do not form a valid RaggedTensor"
    assert_equal(last, cast(nvals(values), last.dtype), what)


def _assert_list(given: object, label: str) -> None:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"Argument `{label}` must be a list of Tensors. Received {given}.")


def _nested(make: Any, flat_values: object, parts: Sequence[Any], label: str, validate: bool) -> Any:
    _assert_list(parts, label)
    result = flat_values
    for part in reversed(parts):
        result = make(result, part, validate=validate)
    return result


def _assert_eager(rt: RaggedTensor) -> None:
    if not isinstance(rt.flat_values, EagerTensor):
        raise ValueError("RaggedTensor.numpy() is only supported in eager mode.")


def _text(x: object) -> str:
    if isinstance(x, np.ndarray):
        return np.array2string(x, separator=", ") if x.size else repr(x.tolist())
    return str(x)
