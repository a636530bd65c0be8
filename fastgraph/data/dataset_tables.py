"""Lookup tables filled from datasets: tf.data.experimental.table_from_dataset and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.lookup_tables import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
    TableInitializer,
)
from fastgraph.core.base.dtype import DTypeLike, as_dtype, string
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import convert, init_scope
from fastgraph.data.dataset import Dataset


class DatasetInitializer(TableInitializer):
    """Keys and values for a lookup table from a dataset of pairs of scalars. Source: tf.data.experimental.

    Raises: ValueError for elements that are no such pairs.
    """

    def __init__(self, dataset: Dataset) -> None:
        spec = dataset.element_spec
        pair = isinstance(spec, tuple) and len(spec) == 2
        if not pair or any(not isinstance(leaf, TensorSpec) or leaf.shape.rank not in (None, 0) for leaf in spec):
            raise ValueError(
                "Datasets used to initialize a static lookup table must produce elements in the form (key, value), "
                f"where the keys and values are scalar tensors. Full dataset element spec: {spec}."
            )
        self.dataset = dataset
        super().__init__(spec[0].dtype, spec[1].dtype)

    def initialize(self, table: Any) -> None:
        """Fill `table`. Raises FailedPreconditionError for a key with two values."""
        specs = self.dataset.element_spec
        with init_scope():
            pairs = list(self.dataset.as_numpy_iterator())
            columns = [np.array([pair[i] for pair in pairs], specs[i].dtype.as_numpy_dtype) for i in range(2)]
            keys, values = map(convert, columns, [spec.dtype for spec in specs])
            KeyValueTensorInitializer(keys, values).initialize(table)


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = None,
    hasher_spec: Any = None,
    key_dtype: DTypeLike = string,
    name: str | None = None,
) -> Any:
    """Return the lookup table of a dataset of pairs (key, value). Source: tf.data.experimental.table_from_dataset.

    Raises: ValueError without a dataset of such pairs, or for a default value with buckets.
    """
    spec = getattr(dataset, "element_spec", None)
    if not isinstance(spec, tuple) or len(spec) != 2:
        raise ValueError("`dataset` must be a dataset of pairs of a key and a value.")
    filled, of_values = DatasetInitializer(dataset if vocab_size is None else dataset.take(vocab_size)), spec[1].dtype
    if default_value is None and not (of_values.is_integer or of_values.is_floating):
        raise ValueError(f"`default_value` must be specified for a dataset that produces values of type {of_values}.")
    if num_oov_buckets:
        if as_dtype(key_dtype).is_integer != spec[0].dtype.is_integer:
            raise TypeError(f"Invalid `key_dtype` {as_dtype(key_dtype)} for keys of {spec[0].dtype}.")
        return StaticVocabularyTable(filled, num_oov_buckets, key_dtype)
    return StaticHashTable(filled, -1 if default_value is None else default_value)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: DTypeLike = string,
    name: str | None = None,
) -> Any:
    """Return the lookup table from the elements of a dataset to their numbers. Source: tf.data.experimental."""
    if not hasattr(dataset, "element_spec"):
        raise ValueError("`dataset` must be a dataset of keys.")
    pairs = dataset.enumerate().map(lambda number, key: (key, number))
    return table_from_dataset(pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype)
