"""Features of an Example, as they are to be read: tf.io.FixedLenFeature and its kin.

Rule: they hold what they were given; parsing.py checks it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from fastgraph.core.base.dtype import DTypeLike, as_dtype, int32, int64


class FixedLenFeature(NamedTuple):
    """A feature of as many values in each Example, of a default where there is none. Source: tf.io.FixedLenFeature.

    Args:
        shape: Their shape, [] for one value.
        dtype: tf.float32, tf.int64 or tf.string.
        default_value: What an Example without the feature has; None: it must have it.

    Examples:
        >>> example = tf.train.Example(features=tf.train.Features(feature={
        ...     "age": tf.train.Feature(int64_list=tf.train.Int64List(value=[42]))}))
        >>> asked = {"age": tf.io.FixedLenFeature([], tf.int64)}
        >>> found = tf.io.parse_single_example(example.SerializeToString(), asked)
        >>> int(found["age"])
        42
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """Any number of values: a SparseTensor. Source: tf.io.VarLenFeature."""

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """Elements of one shape, filled up to the most in the batch. Source: tf.io.FixedLenSequenceFeature."""

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """Values and where they are, two features, as one SparseTensor. Source: tf.io.SparseFeature.

    index_key: one key, or one for each axis; size: how many places there are in it, or in each.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


for _kind in (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength):
    _kind.__name__ = _kind.__name__[1:]
    _kind.__qualname__ = f"RaggedFeature.{_kind.__name__}"
    _kind.__doc__ = f"Rows as RaggedTensor.from_* makes them. Source: tf.io.RaggedFeature.{_kind.__name__}."


class _RaggedFeature(NamedTuple):
    dtype: Any
    value_key: str | None = None
    partitions: tuple[Any, ...] = ()
    row_splits_dtype: Any = int32
    validate: bool = False


class RaggedFeature(_RaggedFeature):
    """Any number of values: a RaggedTensor. Source: tf.io.RaggedFeature.

    value_key: the feature with the values, if not the one it is entered for. partitions: how the values lie in rows,
    from the outermost on; each names a feature. Raises TypeError for what is no partition, ValueError for a dtype of
    splits that is not int32 or int64.
    """

    __slots__ = ()
    RowSplits, RowLengths, RowStarts = _RowSplits, _RowLengths, _RowStarts
    RowLimits, ValueRowIds, UniformRowLength = _RowLimits, _ValueRowIds, _UniformRowLength

    def __new__(
        cls, dtype: Any, value_key: str | None = None, partitions: Any = (), row_splits_dtype: DTypeLike = int32,
        validate: bool = False,
    ) -> Self:  # fmt: skip
        splits = as_dtype(row_splits_dtype)
        if splits not in (int32, int64):
            raise ValueError(f"Argument `row_splits_dtype` must be tf.int32 or tf.int64. Received {row_splits_dtype}.")
        if not isinstance(partitions, list | tuple):
            raise TypeError(f"Argument `partitions` must be a list or tuple. Received {partitions}.")
        if value_key is not None and not isinstance(value_key, str):
            raise ValueError(f"Argument `value_key` must be a string; got {value_key}")
        for each in partitions:
            if not isinstance(each, PARTITIONS):
                raise TypeError(f"Argument `partitions` must be a list of partition objects {PARTITIONS}. "
                                f"Received: {partitions}.")  # fmt: skip
        return super().__new__(cls, as_dtype(dtype), value_key, tuple(partitions), splits, bool(validate))


PARTITIONS = (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength)
