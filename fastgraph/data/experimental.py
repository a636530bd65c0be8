"""tf.data.experimental: what tf.data has not, and older names of what it has."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.dtype import int64, string
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import as_array, convert, executing_eagerly
from fastgraph.data import checked_elements, dataset_ops, grouping, transformations, windows
from fastgraph.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, of_list
from fastgraph.data.dataset_base import DatasetSpec, count, made
from fastgraph.data.element_functions import Mapped, state_spec
from fastgraph.data.element_specs import packed
from fastgraph.data.handles import resolve
from fastgraph.data.optionals import Optional, get_next_as_optional
from fastgraph.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from fastgraph.data.record_datasets import make_batched_features_dataset, parse_example_dataset
from fastgraph.data.sharding import SHARD_HINT
from fastgraph.data.sources import Run
from fastgraph.records.record_files import TFRecordWriter as RecordWriter

# Rarer than what they import is large: found when they are asked for, as api/public_names.py says.
if TYPE_CHECKING:
    from fastgraph.data.csv_files import CsvDataset, SqlDataset, make_csv_dataset
    from fastgraph.data.dataset_tables import DatasetInitializer, index_table_from_dataset, table_from_dataset

Counter = Dataset.counter
RandomDataset = Dataset.random
sample_from_datasets = Dataset.sample_from_datasets
load = Dataset.load


def choose_from_datasets(datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = False) -> Dataset:
    """Return an element of the dataset that each choice names. Source: tf.data.Dataset.choose_from_datasets."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


_Applied = Callable[[Dataset], Any]


def cardinality(dataset: Dataset) -> Any:
    """Return how many elements there are, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
    return dataset.cardinality()


def _applied(method: str) -> Callable[..., _Applied]:
    """Return the older form of a method: a function of its arguments that gives a function of the dataset."""

    def applied(*args: Any, **kwargs: Any) -> _Applied:
        return lambda dataset: getattr(dataset, method)(*args, **kwargs)

    applied.__name__ = applied.__qualname__ = method
    applied.__doc__ = f"Return a function of a dataset that gives its `{method}`. Source: tf.data.Dataset.{method}."
    own = inspect.signature(getattr(Dataset, method))
    left = [p for name, p in own.parameters.items() if name not in ("self", "name")]
    applied.__signature__ = own.replace(parameters=left)  # type: ignore[attr-defined]
    return applied


bucket_by_sequence_length = _applied("bucket_by_sequence_length")
dense_to_ragged_batch = _applied("ragged_batch")
dense_to_sparse_batch = _applied("sparse_batch")
enumerate_dataset = _applied("enumerate")
group_by_window = _applied("group_by_window")
ignore_errors = _applied("ignore_errors")
rejection_resample = _applied("rejection_resample")
scan = _applied("scan")
snapshot = _applied("snapshot")
take_while = _applied("take_while")
unbatch = _applied("unbatch")
unique = _applied("unique")


def assert_cardinality(expected_cardinality: TensorLike) -> _Applied:
    """Return a function of a dataset that gives it with so many elements; other numbers are FailedPreconditionError."""
    return lambda dataset: made(checked_elements.OfCardinality, dataset, count(expected_cardinality))


def at(dataset: Dataset, index: TensorLike) -> Any:
    """Return element `index`, in the one order that it has here for what is shuffled. Source: tf.data.experimental.at.

    Raises: OutOfRangeError where there are fewer, FailedPreconditionError where there is no end of them.
    """
    place = count(index)
    if executing_eagerly() and dataset.source is not None and isinstance(place, int):
        return packed(dataset.element_spec, transformations.element_at(dataset.source, place))
    return packed(dataset.element_spec, dataset_ops.get_at(dataset.handle, place, dataset.element_spec))


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> _Applied:
    """Return a function of a dataset that gives it: elements are where ops are run. Source: tf.data.experimental."""
    return lambda dataset: dataset


def prefetch_to_device(device: str, buffer_size: TensorLike | None = None) -> _Applied:
    """Return a function of a dataset that gives its `prefetch`. Source: tf.data.experimental.prefetch_to_device."""
    return lambda dataset: dataset.prefetch(-1 if buffer_size is None else buffer_size)


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """Return the dataset of the elements of a list, whose shapes may differ. Source: tf.data.experimental.from_list.

    Raises: ValueError for an empty one, TypeError for elements of other structures or dtypes.
    """
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` should be a list.")
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    return of_list(elements)


def to_variant(dataset: Dataset) -> Any:
    """Return the tensor by which graphs know a dataset. Source: tf.data.experimental.to_variant."""
    return dataset._as_element().handle


def from_variant(variant: Any, structure: Any) -> Dataset:
    """Return the dataset with elements like `structure` that such a tensor stands for. Source: tf.data.experimental."""
    spec = structure.element_spec if isinstance(structure, DatasetSpec) else structure
    return DatasetSpec(spec)._from_components(variant)


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the spec of an element. Raises: TypeError for what has none. Source: tf.data.experimental."""
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(f"Invalid `dataset_or_iterator`: {type(dataset_or_iterator)} has no elements.") from None


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset. Source: tf.data.Dataset.get_single_element."""
    return dataset.get_single_element()


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: dict[str, Any] | None = None,
) -> None:
    """Write the elements of a dataset below a path. Source: tf.data.Dataset.save."""
    dataset.save(path, compression, shard_func, checkpoint_args)


class Reducer:
    """Three functions: the first state of a key, the next one with an element, a result."""

    def __init__(
        self, init_func: Callable[..., Any], reduce_func: Callable[..., Any], finalize_func: Callable[..., Any]
    ) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> _Applied:
    """Return a function of a dataset that gives one result for each key i64[]. Source: tf.data.experimental."""
    where = "tf.data.experimental.group_by_reducer()"

    def applied(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        key = Mapped(key_func, spec, where)
        grouping.check_integer(key.spec, "key_func", (int64,))
        init = Mapped(reducer.init_func, TensorSpec((), int64), where)
        inner = spec if type(spec) is tuple else (spec,)

        def reduced(state: Any, *x: Any) -> Any:
            return reducer.reduce_func(state, x if type(spec) is tuple else x[0])

        state = init.spec
        reduce = Mapped(reduced, (state, *inner), where)
        while reduce.spec != state:
            state = state_spec(state, reduce.spec, "reducer")
            reduce = Mapped(reduced, (state, *inner), where)
        state = state if type(state) is tuple else (state,)
        finalize = Mapped(reducer.finalize_func, state, where)
        return made(grouping.GroupByReducer, dataset, key=key, init=init, reduce=reduce, finalize=finalize)

    return applied


def pad_to_cardinality(cardinality: TensorLike, mask_key: str = "valid") -> _Applied:
    """Return a function of a dataset of dicts that gives them with a mask, and zeros until there are so many.

    Raises: ValueError for elements that are no dicts, or have that key. Source: tf.data.experimental.
    """

    def applied(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        if mask_key in spec:
            raise ValueError(f"The dataset already has a feature named {mask_key!r}: name another `mask_key`.")
        return made(windows.PadToCardinality, dataset, count(cardinality), key=mask_key)

    return applied


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: TensorLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: TensorLike | None = None,
) -> _Applied:
    """Return a function of a dataset that gives batches of its `map`. Source: tf.data.experimental.map_and_batch."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: TensorLike | None = None
) -> _Applied:
    """Return a function of a dataset that gives it shuffled and repeated. Source: tf.data.experimental."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> _Applied:
    """Return a function of a dataset that gives its `interleave`. Source: tf.data.experimental.parallel_interleave."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE, not sloppy)


class TFRecordWriter:
    """Writes a dataset of strings to a file of records. Source: tf.data.experimental.TFRecordWriter."""

    def __init__(self, filename: TensorLike, compression_type: str | None = None) -> None:
        self._filename, self._compression = convert(filename, string), compression_type or ""

    def write(self, dataset: Dataset) -> Any:
        """Write the elements. Raises TypeError for what is no dataset of scalar strings."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        if not (isinstance(dataset.element_spec, TensorSpec)
                and dataset.element_spec.is_compatible_with(TensorSpec([], string))):  # fmt: skip
            raise TypeError(
                "Invalid `dataset`. Expected a`dataset` that produces scalar `tf.string` elements, but got one of "
                f"{dataset.element_spec}."
            )

        def act(handle: Any, path: Any) -> Any:
            with RecordWriter(os.fsdecode(np.asarray(path).item()), self._compression) as writer:
                for element in resolve(handle).elements(Run()):
                    writer.write(as_array(element[0]).item())
            return np.int64(0)

        if executing_eagerly():
            act(dataset.handle, self._filename)
            return None
        return public_function("numpy_function")(act, [dataset.handle, self._filename], int64).op


__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "index_table_from_dataset",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "table_from_dataset",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

__getattr__, __dir__ = lookup("data.experimental")
