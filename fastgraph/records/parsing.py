"""tf.io.parse_example and its kin: a dict of features in, a dict of tensors out.

Rule: what the features ask for is sorted into sparse, dense and ragged ones, parsed by one op, and put together again.
Source: tf.io.parse_example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastgraph.composites import sparse_ops
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import DType, as_dtype, int64, string
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import from_array
from fastgraph.ops.arguments import as_tensor, not_allowed, refused
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.families import bind_named
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import expand_dims, reshape
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.scans import cumsum
from fastgraph.ops.tiling import repeat
from fastgraph.records.example_ops import parse_example_v2, parse_sequence_example_v2
from fastgraph.records.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)

Features = Mapping[str, Any]
#: In which order their tensors come.
_ORDER = {VarLenFeature: 0, FixedLenFeature: 1, FixedLenSequenceFeature: 1, RaggedFeature: 2, SparseFeature: 3}
_EVERY = tuple(_ORDER)


class Asked:
    """The features to be parsed: keys and dtypes of sparse, dense and ragged ones, defaults of the dense ones."""

    def __init__(self, features: Features | None, allowed: tuple[type, ...], lists: bool = False) -> None:
        self.features = dict(sorted((features or {}).items()))
        self.sparse: dict[str, str] = {}
        self.dense: dict[str, tuple[str, tuple[int | None, ...]]] = {}
        self.ragged: dict[str, tuple[str, str]] = {}
        self.defaults: list[Any] = []
        self.lists = lists
        for key, feature in self.features.items():
            if not isinstance(feature, allowed):
                shown = feature if isinstance(feature, tuple) else f"{feature!r}"
                raise ValueError(f"Unsupported {type(feature).__name__} {shown} for key '{key}'")
            self._enter(key, feature)
        for first, second, names in (
            (self.dense, self.sparse, "dense_keys and sparse_keys"),
            (self.dense, self.ragged, "dense_keys and ragged_keys"),
            (self.ragged, self.sparse, "ragged_keys and sparse_keys"),
        ):
            if both := first.keys() & second.keys():
                raise ValueError(f"Keys must be unique among {names}, intersection: {both}")

    def _enter(self, key: str, feature: Any) -> None:
        if isinstance(feature, VarLenFeature):
            self._one(self.sparse, key, _dtype(key, feature.dtype, feature, "sparse_types"))
        elif isinstance(feature, SparseFeature):
            if not feature.index_key:
                raise ValueError(f"Missing index_key for SparseFeature {feature}.")
            if not feature.value_key:
                raise ValueError(f"Missing value_key for SparseFeature {feature}.")
            for index in _index_keys(feature):
                self._one(self.sparse, index, "int64")
            self._one(self.sparse, feature.value_key, _dtype(key, feature.dtype, feature, "sparse_types"))
        elif isinstance(feature, RaggedFeature):
            dtype = _dtype(key, feature.dtype, feature, "ragged_value_types")
            self._one(self.ragged, feature.value_key or key, (dtype, feature.row_splits_dtype.name))
            for partition in feature.partitions:
                if not isinstance(partition, RaggedFeature.UniformRowLength):
                    self._one(self.ragged, partition.key, ("int64", feature.row_splits_dtype.name))
        else:
            self._enter_dense(key, feature)

    @staticmethod
    def _one(table: dict[str, Any], key: str, said: Any) -> None:
        if table.setdefault(key, said) != said:
            raise ValueError(f"Conflicting type {table[key]} vs {said} for feature {key}.")

    def _enter_dense(self, key: str, feature: Any) -> None:
        dtype = _dtype(key, feature.dtype, feature, "Tdense")
        sequence = isinstance(feature, FixedLenSequenceFeature)
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        dims = TensorShape(feature.shape).as_list()
        if dims[:1] == [None] and not sequence:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. "
                f"Received feature={feature}."
            )
        if None in dims:
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {feature.shape!s}."
            )
        if sequence and not self.lists:
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            dims = [None, *dims]
        self.dense[key] = dtype, tuple(dims)
        if not self.lists:
            self.defaults.append(_default(key, feature, as_dtype(dtype), dims, sequence))

    def attributes(self) -> tuple[Any, Any, Any]:
        """Return the three kinds of features as the ops take them."""
        return tuple(self.sparse.items()), _rows(self.dense), _rows(self.ragged)


def _rows(table: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([(key, *said) for key, said in table.items()])


def _index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _dtype(key: str, given: Any, feature: object, letter: str) -> str:
    if not given:
        raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
    dtype = as_dtype(given)
    if dtype.name not in ("float32", "int64", "string"):
        raise refused(not_allowed(dtype, f"ParseExampleV2.{letter}", "float, int64, string"))
    return dtype.name


def _default(key: str, feature: Any, dtype: DType, dims: list[int | None], sequence: bool) -> Any:
    """The default of a dense feature: of its shape, for one of unknown length a scalar, without elements for none."""
    given = feature.default_value
    if given is None and sequence:
        return from_array(np.array(b"" if dtype == string else 0, dtype.as_numpy_dtype), dtype)
    if given is None:
        return from_array(np.zeros(0, dtype.as_numpy_dtype), dtype)
    value = convert_to_tensor(given, dtype, name=re.sub(r"[^A-Za-z0-9_./-]", "_", f"key_{key}"))
    return reshape(value, [] if sequence else [size or 0 for size in dims])


def _serialized(serialized: TensorLike, example_names: TensorLike | None) -> tuple[Any, Any]:
    names = as_tensor(np.zeros(0, object) if example_names is None else example_names, string)
    return as_tensor(serialized, string), names


def _take(found: list[Any], count: int) -> list[Any]:
    taken = found[:count]
    del found[:count]
    return taken


def _simple(asked: Asked, found: list[Any], single: bool) -> dict[str, Any]:
    """The tensors of the op, as one value for each key that it was asked for."""
    tensors: dict[str, Any] = {}
    indices, values, shapes = [_take(found, len(asked.sparse)) for _ in range(3)]
    tensors.update(zip(asked.sparse, map(SparseTensor, indices, values, shapes)))
    tensors.update(zip(asked.dense, _take(found, len(asked.dense))))
    values, splits = [_take(found, len(asked.ragged)) for _ in range(2)]
    if single:
        tensors.update(zip(asked.ragged, values))
    else:
        pairs = zip(values, splits)
        tensors.update(zip(asked.ragged, [RaggedTensor.from_row_splits(*pair, validate=False) for pair in pairs]))
    return tensors


def _composed(asked: Asked, tensors: dict[str, Any], single: bool) -> dict[str, Any]:
    """The values asked for, made of those of each key, in TensorFlow's order."""
    found: dict[str, Any] = {}
    for key, feature in sorted(asked.features.items(), key=lambda item: _ORDER[type(item[1])]):
        if isinstance(feature, SparseFeature):
            found[key] = _merged(feature, tensors)
        elif isinstance(feature, RaggedFeature):
            value = tensors[feature.value_key or key]
            for partition in reversed(feature.partitions):
                value = (_in_rows if single else _in_batched_rows)(value, partition, tensors, feature)
            found[key] = value
        else:
            found[key] = tensors[key]
    return found


def _merged(feature: SparseFeature, tensors: dict[str, Any]) -> SparseTensor:
    """Values and their places as one sparse tensor."""
    values = tensors[feature.value_key]
    sizes = list(feature.size) if isinstance(feature.size, list | tuple) else [feature.size]
    keys = _index_keys(feature)
    if len(sizes) != len(keys):
        raise ValueError(f"Dimension of `size` ({len(sizes)}) must match number of index keys ({len(keys)})")
    places = [expand_dims(cast(tensors[key].values, int64), 1) for key in keys]
    known = [place.shape[0] for place in (values.values, *places) if place.shape[0] is not None]
    for size in known[1:]:
        if size != known[0]:
            raise ValueError(f"Dimensions {size} and {known[0]} are not compatible")
    indices = concat([values.indices[:, :-1], *places], 1)
    extents = concat([values.dense_shape[:-1], cast(stack([cast(size, int64) for size in sizes]), int64)], 0)
    merged = SparseTensor(indices, values.values, extents)
    return merged if feature.already_sorted else sparse_ops.reorder(merged)


def _in_rows(values: Any, partition: Any, tensors: dict[str, Any], feature: RaggedFeature) -> Any:
    """Values of one Example, in rows."""
    validate = feature.validate
    if isinstance(partition, RaggedFeature.UniformRowLength):
        if isinstance(values, RaggedTensor):
            return RaggedTensor.from_uniform_row_length(values, partition.length, validate=validate)
        return reshape(values, [-1, partition.length, *values.shape[1:]])
    said = cast(tensors[partition.key], feature.row_splits_dtype)
    if isinstance(partition, RaggedFeature.ValueRowIds):
        return RaggedTensor.from_value_rowids(values, said, validate=validate)
    return _MAKE[type(partition)](values, said, validate=validate)


_MAKE: dict[type, Any] = {
    RaggedFeature.RowSplits: RaggedTensor.from_row_splits,
    RaggedFeature.RowLengths: RaggedTensor.from_row_lengths,
    RaggedFeature.RowStarts: RaggedTensor.from_row_starts,
    RaggedFeature.RowLimits: RaggedTensor.from_row_limits,
}


def _in_batched_rows(rows: RaggedTensor, partition: Any, tensors: dict[str, Any], feature: RaggedFeature) -> Any:
    """Values of each Example of a batch, in rows. What a partition counts it counts from its Example's first value."""
    dtype, validate = feature.row_splits_dtype, feature.validate
    values, splits = rows.values, rows.row_splits
    if isinstance(partition, RaggedFeature.UniformRowLength):
        length = cast(partition.length, splits.dtype)
        if isinstance(values, RaggedTensor):
            inner = RaggedTensor.from_uniform_row_length(values, partition.length, validate=validate)
        else:
            inner = reshape(values, [-1, partition.length, *values.shape[1:]])
        return RaggedTensor.from_row_splits(inner, splits // length, validate=validate)
    given = tensors[partition.key]
    if isinstance(partition, RaggedFeature.RowSplits):  # where rows begin, and where the last one ends
        given = given[:, :-1]
    said, outer = cast(given.values, dtype), cast(given.row_splits, dtype)
    lengths = outer[1:] - outer[:-1]
    if isinstance(partition, RaggedFeature.RowLengths):
        inner = RaggedTensor.from_row_lengths(values, said, validate=validate)
    elif isinstance(partition, RaggedFeature.ValueRowIds):
        counts = maximum(reduce_max(RaggedTensor.from_row_splits(said, outer, validate=False), 1) + 1, 0)
        ids = said + repeat(cumsum(counts, exclusive=True), lengths)
        inner = RaggedTensor.from_value_rowids(values, ids, reduce_sum(counts), validate=validate)
        return RaggedTensor.from_row_lengths(inner, counts, validate=validate)
    else:
        said = said + repeat(cast(splits[:-1], dtype), lengths)
        make = RaggedTensor.from_row_limits if isinstance(partition, RaggedFeature.RowLimits) else None
        inner = (make or RaggedTensor.from_row_starts)(values, said, validate=validate)
    return RaggedTensor.from_row_splits(inner, outer, validate=validate)


def parse_example(
    serialized: TensorLike, features: Features, example_names: TensorLike | None = None, name: str | None = None
) -> dict[str, Any]:
    """Parse serialized Examples, all of a batch at once. string[n] -> a tensor for each feature.

    Args:
        serialized: Messages tf.train.Example, as SerializeToString gives them.
        features: {key: FixedLenFeature, FixedLenSequenceFeature (-> t[n, *shape]), VarLenFeature, SparseFeature
            (-> SparseTensor) or RaggedFeature (-> RaggedTensor)}.
        example_names: What errors call the messages, string[n].
        name: The name of the operation.

    Raises:
        ValueError: There are no features, or one says what cannot be.
        InvalidArgumentError: A message is none, lacks a feature without default, or has one of another dtype or size.

    Examples:
        >>> feature = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))
        >>> example = tf.train.Example(features=tf.train.Features(feature={"x": feature}))
        >>> batch = [example.SerializeToString()] * 3
        >>> tf.io.parse_example(batch, {"x": tf.io.FixedLenFeature([2], tf.float32)})["x"].shape
        TensorShape([3, 2])

    Source: tf.io.parse_example.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    asked = Asked(features, _EVERY)
    sparse, dense, ragged = asked.attributes()
    given, names = _serialized(serialized, example_names)
    attributes = {"sparse": sparse, "dense": dense, "ragged": ragged}
    found = bind_named(name, parse_example_v2.primitive, (given, names, *asked.defaults), attributes)  # type: ignore[attr-defined]
    single = given.shape.rank == 0
    return _composed(asked, _simple(asked, list(found), single), single)


def parse_single_example(
    serialized: TensorLike, features: Features, example_names: TensorLike | None = None, name: str | None = None
) -> dict[str, Any]:
    """`parse_example` of one message. string[] -> a tensor for each feature. Source: tf.io.parse_single_example.

    Raises: ValueError also for what is no scalar.
    """
    if not features:
        raise ValueError(f"Invalid argument: `features` cannot be None. Received {features}")
    one = as_tensor(serialized, string)
    if one.shape.rank not in (None, 0):
        raise ValueError("Input serialized must be a scalar")
    return parse_example(_as_scalar(one), features, example_names, name)


def _as_scalar(tensor: Any) -> Any:
    return reshape(tensor, []) if tensor.shape.rank is None else tensor


def _sequences(
    serialized: TensorLike, context_features: Features | None, sequence_features: Features | None,
    example_names: TensorLike | None, name: str | None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # fmt: skip
    asked = Asked(context_features, (VarLenFeature, FixedLenFeature, RaggedFeature))
    lists = Asked(sequence_features, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature), lists=True)
    optional = tuple([key for key in lists.dense if lists.features[key].allow_missing])
    given, names = _serialized(serialized, example_names)
    attributes = {"context": asked.attributes(), "lists": lists.attributes(), "optional": optional}
    primitive = parse_sequence_example_v2.primitive  # type: ignore[attr-defined]
    found = list(bind_named(name, primitive, (given, names, *asked.defaults), attributes))
    single = given.shape.rank == 0
    context = _composed(asked, _simple(asked, found, single), single)
    tensors: dict[str, Any] = {}
    parts = [_take(found, len(lists.sparse)) for _ in range(3)]
    tensors.update(zip(lists.sparse, map(SparseTensor, *parts)))
    tensors.update(zip(lists.dense, _take(found, len(lists.dense))))
    lengths = dict(zip(lists.dense, _take(found, len(lists.dense))))
    for key, values, outer, inner in zip(lists.ragged, *[_take(found, len(lists.ragged)) for _ in range(3)]):
        rows = RaggedTensor.from_row_splits(values, inner, validate=False)
        tensors[key] = rows if single else RaggedTensor.from_row_splits(rows, outer, validate=False)
    return context, _composed_lists(lists, tensors, single), lengths


def _composed_lists(lists: Asked, tensors: dict[str, Any], single: bool) -> dict[str, Any]:
    """The values asked for of lists. Raises ValueError for a ragged one in other rows than its own."""
    for key, feature in lists.features.items():
        if isinstance(feature, RaggedFeature) and feature.partitions:
            raise NotImplementedError(f"Feature list '{key}': partitions of lists of features are not built")
    return _composed(lists, tensors, single)


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse serialized SequenceExamples. string[n] -> dicts of the contexts' tensors, of the lists', and of lengths.

    context_features: as those of `parse_example`. sequence_features: {key: FixedLenSequenceFeature (-> t[n, most,
    *shape], and its length i64[n]), VarLenFeature or RaggedFeature}. Raises: ValueError without features;
    InvalidArgumentError for messages that are none or do not fit. Source: tf.io.parse_sequence_example.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one should have values."
        )
    return _sequences(serialized, context_features, sequence_features, example_names, name)


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`parse_sequence_example` of one message and without lengths. Source: tf.io.parse_single_sequence_example."""
    if not (context_features or sequence_features):
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    one = as_tensor(serialized, string)
    if one.shape.rank not in (None, 0):
        raise ValueError("Input serialized must be a scalar")
    names = None if example_name is None else reshape(as_tensor(example_name, string), [1])
    return _sequences(_as_scalar(one), context_features, sequence_features, names, name)[:2]
