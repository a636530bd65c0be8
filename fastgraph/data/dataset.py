"""`tf.data.Dataset`: elements that come one after the other, and what can be made of them.

Rule: a Dataset only describes; nothing runs before it is iterated over. What its methods make is a Source (sources.py,
transformations.py, element_functions.py), at once where all operands have values, by a node of the graph where one is
symbolic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike, as_dtype, bool_, int64
from fastgraph.core.base.paths import local_path
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.data import element_functions, shuffling, sources, stored_elements, transformations, windows
from fastgraph.data.dataset_base import DatasetBase, DatasetSpec, count, element_of, made
from fastgraph.data.dataset_combinations import Combinations
from fastgraph.data.element_specs import common, flat, spec_of
from fastgraph.data.sources import INFINITE, UNKNOWN
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops import comparison, elementwise, runtime_assertions
from fastgraph.ops.random_states import generators

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec", "count", "made"]

_count = count  # methods have parameters of this name

AUTOTUNE = -1
INFINITE_CARDINALITY = INFINITE
UNKNOWN_CARDINALITY = UNKNOWN


class Dataset(Combinations):
    """Elements one after the other, each a structure of tensors. Source: tf.data.Dataset."""

    # -- where elements come from

    @staticmethod
    def from_tensors(tensors: object, name: str | None = None) -> Dataset:
        """Return the dataset of one element. Source: tf.data.Dataset.from_tensors."""
        element = element_of(tensors)
        return made(sources.Tensors, *flat(element), spec=spec_of(element))

    @staticmethod
    def from_tensor_slices(tensors: object, name: str | None = None) -> Dataset:
        """Return the dataset of what lies along the first axis of each tensor. t[n,*s]... -> n elements t[*s]...

        Args:
            tensors: A tensor or a structure of them, with first axes of one size.

        Raises:
            ValueError: There is a scalar, or the first axes differ in size.

        Examples:
            >>> images, labels = tf.zeros([4, 28, 28]), tf.constant([7, 2, 1, 0])
            >>> dataset = tf.data.Dataset.from_tensor_slices((images, labels))
            >>> [int(label) for _, label in dataset]
            [7, 2, 1, 0]
            >>> dataset.element_spec[0]
            TensorSpec(shape=(28, 28), dtype=tf.float32, name=None)

        Source: tf.data.Dataset.
        """
        if isinstance(tensors, list) and tensors and all(item is None for item in tensors):
            raise ValueError("Invalid `element`. `element` should not be empty.")
        if isinstance(tensors, list) and tensors and all(isinstance(item, Dataset) for item in tensors):
            return of_list(tensors)
        element = element_of(tensors)
        return made(sources.Slices, *flat(element), spec=spec_of(element))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: object = None,
        output_shapes: object = None,
        args: Sequence[Any] | None = None,
        output_signature: object = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the dataset of what `generator(*args)` yields, called anew by every pass.

        output_signature: the spec of an element; or `output_types` (and `output_shapes`), structures of dtypes (and
        shapes). What it yields becomes tensors of these types; what cannot is an InvalidArgumentError at that element.
        Raises: TypeError for what is no function or signature. Source: tf.data.Dataset.from_generator.
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        spec = sources.generator_spec(output_types, output_shapes, output_signature)
        arguments = [element_of(argument) for argument in args or ()]
        return made(sources.Generated, *arguments, generator=generator, spec=spec)

    @staticmethod
    def range(*args: TensorLike, output_type: DTypeLike = int64, name: str | None = None) -> Dataset:
        """Return the numbers of range(stop), range(start, stop) or range(start, stop, step), as t[].

        Raises: ValueError for another number of arguments, InvalidArgumentError for a step of 0.
        Source: tf.data.Dataset.range.
        """
        if not 1 <= len(args) <= 3:
            text = f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}."
            raise ValueError(text)
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return made(sources.Range, *map(count, (start, stop, step)), dtype=as_dtype(output_type))

    @staticmethod
    def zip(*args: object, datasets: object = None, name: str | None = None) -> Dataset:
        """Return structures of elements, one of each dataset, until one of them has no more.

        Raises: TypeError for what is no structure of datasets. Source: tf.data.Dataset.zip.
        """
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        flat_datasets = nesting.flatten(structure)
        for dataset in flat_datasets:
            if isinstance(structure, list):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` "
                    "objects. Python `list` is not supported and you should use `tuple` instead."
                )
            if not isinstance(dataset, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` "
                    f"objects but encountered object of type {type(dataset)}."
                )
        mould = nesting.map_structure(lambda _: 0, structure)
        return made(transformations.Zip, *flat_datasets, structure=mould)

    # -- elements from elements

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return `map_func` of each element; it is converted by AutoGraph and traced once, now.

        Args:
            map_func: A function of an element that gives a structure of tensors. A tuple is spread over its parameters.
            num_parallel_calls: How many calls may run at once, such as tf.data.AUTOTUNE; they do where one takes long.
            deterministic: False: elements may come in another order.
            synchronous, use_unbounded_threadpool: Taken and without effect.

        Raises:
            TypeError: A result is no tensor. And what tracing raises.

        Examples:
            >>> pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [10, 20, 30]))
            >>> [int(total) for total in pairs.map(lambda x, y: x + y)]
            [11, 22, 33]
            >>> pairs.map(lambda x, y: {"double": 2 * x, "half": y / 2}).element_spec["half"].dtype
            tf.float64

        Source: tf.data.Dataset.map.
        """
        function = element_functions.Mapped(map_func, self._spec, "Dataset.map()")
        calls = 0 if num_parallel_calls is None else count(num_parallel_calls)
        if isinstance(calls, int) and (calls < AUTOTUNE or (calls == 0 and num_parallel_calls is not None)):
            raise InvalidArgumentError(
                None, None, "num_parallel_calls must be greater than zero. [Op:ParallelMapDatasetV2]"
            )
        options = {"mapped": function, "calls": calls if isinstance(calls, int) else AUTOTUNE}
        return made(element_functions.Map, self, *function.captured, ordered=deterministic, **options)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements of which `predicate`, traced once, is true. Raises: ValueError if it gives no bool."""
        function = element_functions.Mapped(predicate, self._spec, "Dataset.filter()")
        return made(element_functions.Filter, self, *function.captured, mapped=function)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements of the datasets that `map_func` gives, one after the other."""
        function = element_functions.Mapped(map_func, self._spec, "Dataset.flat_map()")
        return made(element_functions.FlatMap, self, *function.captured, mapped=function)

    def batch(
        self,
        batch_size: TensorLike,
        drop_remainder: bool = False,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return `batch_size` elements at a time along a new first axis.

        Args:
            batch_size: How many, an integer of at least 1.
            drop_remainder: Whether the last batch is left out if it is smaller; then the size is known in graphs.
            num_parallel_calls, deterministic: Taken and without effect.

        Raises:
            InvalidArgumentError: The size is below 1, or on iteration: elements have different shapes.

        Examples:
            >>> [batch.numpy().tolist() for batch in tf.data.Dataset.range(5).batch(2)]
            [[0, 1], [2, 3], [4]]
            >>> tf.data.Dataset.range(5).batch(2, drop_remainder=True).element_spec
            TensorSpec(shape=(2,), dtype=tf.int64, name=None)
        """
        parallel = num_parallel_calls is not None
        drop = bool(drop_remainder)
        return made(transformations.Batch, self, count(batch_size), drop_remainder=drop, parallel=parallel)

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return what lies along the first axis of each element."""
        return made(transformations.Unbatch, self)

    def rebatch(self, batch_size: TensorLike, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Return batches of another size (or of several, in turn) of what lies along the first axis."""
        sizes = batch_size if isinstance(batch_size, list | tuple) else [batch_size]
        if any(isinstance(size, list | tuple) for size in sizes):
            raise ValueError("Invalid `batch_sizes`. Expected `batch_sizes` to be a scalar or a vector.")
        return made(transformations.Rebatch, self, *map(count, sizes), drop_remainder=bool(drop_remainder))

    def shard(self, num_shards: TensorLike, index: TensorLike, name: str | None = None) -> Dataset:
        """Return every `num_shards`-th element, from number `index` on.

        Raises: InvalidArgumentError for an index that is none of a shard. Source: tf.data.Dataset.shard.
        """
        return made(transformations.Shard, self, count(num_shards), count(index))

    def take(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return the first `count` elements.

        Args:
            count: How many; -1: all.

        Examples:
            >>> [int(x) for x in tf.data.Dataset.range(10).repeat().take(3)]
            [0, 1, 2]
        """
        return made(transformations.Take, self, _count(count))

    def skip(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return the elements after the first `count`; none if it is -1."""
        return made(transformations.Skip, self, _count(count))

    def repeat(self, count: TensorLike | None = None, name: str | None = None) -> Dataset:
        """Return all elements `count` times.

        Args:
            count: How often; None or -1: for ever.

        Examples:
            >>> [int(x) for x in tf.data.Dataset.range(3).repeat(2)]
            [0, 1, 2, 0, 1, 2]
        """
        return made(transformations.Repeat, self, -1 if count is None else _count(count))

    def shuffle(
        self,
        buffer_size: TensorLike,
        seed: TensorLike | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements in random order: each is chosen from the next `buffer_size`.

        Args:
            buffer_size: From how many; as many as there are elements: every order is as likely.
            seed: An integer from which the orders follow, together with that of tf.random.set_seed, as in TensorFlow.
            reshuffle_each_iteration: Whether every pass has its own order (None: yes).

        Raises:
            InvalidArgumentError: buffer_size is below 1.

        Examples:
            >>> dataset = tf.data.Dataset.range(100).shuffle(100, seed=1)
            >>> first, second = ([int(x) for x in dataset] for _ in range(2))
            >>> first == second, sorted(first) == sorted(second) == list(range(100))
            (False, True)
        """
        if seed is not None:
            seeds: tuple[int, int] | None = generators.seeds(count(seed))
        else:
            seeds = generators.next_seeds()
        return self._shuffled(buffer_size, seeds, reshuffle_each_iteration is not False)

    def _shuffled(self, buffer_size: TensorLike, seeds: tuple[int, int] | None, reshuffle: bool) -> Dataset:
        """Return `shuffle` with the two seeds that its operation has."""
        return made(shuffling.Shuffle, self, count(buffer_size), seed=seeds, reshuffle=reshuffle)

    def prefetch(self, buffer_size: TensorLike, name: str | None = None) -> Dataset:
        """Return the same elements, made ahead in a thread once one takes long enough for that to pay.

        Args:
            buffer_size: How many are made ahead, such as tf.data.AUTOTUNE.

        Raises:
            InvalidArgumentError: The size is below -1, which like None means AUTOTUNE.

        Examples:
            >>> [int(x) for x in tf.data.Dataset.range(3).prefetch(tf.data.AUTOTUNE)]
            [0, 1, 2]
        """
        size = AUTOTUNE if buffer_size is None else count(buffer_size)
        if isinstance(size, int) and size < AUTOTUNE:
            text = "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning [Op:PrefetchDataset]"
            raise InvalidArgumentError(None, None, text)
        return made(transformations.Prefetch, self, size)

    def cache(self, filename: TensorLike = "", name: str | None = None) -> Dataset:
        """Return the same elements, kept by the first pass that comes to the end.

        Args:
            filename: "": in memory; else the beginning of the paths of files, as TensorFlow writes them.

        Raises:
            AlreadyExistsError: On iteration: another pass is writing these files.

        Examples:
            >>> drawn = tf.data.Dataset.range(3).map(lambda x: tf.random.uniform([])).cache()
            >>> [float(x) for x in drawn] == [float(x) for x in drawn]
            True
        """
        path = local_path(filename.numpy() if hasattr(filename, "numpy") else filename)  # type: ignore[arg-type]
        if path:
            return made(stored_elements.FileCache, self, path=path)
        return made(transformations.Cache, self)

    def enumerate(self, start: TensorLike = 0, name: str | None = None) -> Dataset:
        """Return pairs of a number i64[], from `start` on, and an element."""
        return made(transformations.Enumerate, self, count(start))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return these elements, then those of `dataset`. Raises: TypeError if no spec fits both."""
        return made(transformations.Concatenate, self, dataset)

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """Return `transformation_func` of this dataset. Raises: TypeError if that is no dataset."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(result)}.")
        return result


DatasetBase.made_as = Dataset


def _enumerated(dataset: Dataset, start: TensorLike = 0) -> Any:
    return dataset.enumerate(start)


def _absolutes(dataset: Dataset) -> Any:
    def of_element(*parts: object) -> Any:
        return nesting.map_structure(elementwise.abs, parts[0] if len(parts) == 1 else parts)

    return dataset.map(of_element)


def _length(dataset: Dataset) -> Any:
    n = dataset.cardinality()
    runtime_assertions.Assert(n >= 0, ["len requires dataset with definitive cardinality, got ", n])
    return n


def _any_or_all(name: str, deciding: bool, dataset: Dataset) -> Any:
    """any or all of scalars: whether one is `deciding`, looked for no further than the first that is."""
    spec = dataset.element_spec
    if not isinstance(spec, TensorSpec) or spec.shape.rank != 0:
        raise ValueError(f'in a graph, the "{name}" builtin only works with datasets of scalars; got {spec}')

    def decides(value: object) -> Any:
        return comparison.equal(elementwise.cast(value, bool_), deciding)

    return dataset.map(decides).filter(lambda found: found).take(1).reduce(not deciding, lambda _, found: deciding)


#: Python's builtins for datasets in converted code, where a pass cannot be made while tracing.
Dataset.__fg_builtins__ = {  # type: ignore[attr-defined]
    abs: _absolutes,
    enumerate: _enumerated,
    zip: Dataset.zip,
    map: lambda function, *datasets: (datasets[0] if len(datasets) == 1 else Dataset.zip(*datasets)).map(function),
    filter: lambda function, dataset: dataset.filter(function),
    len: _length,
    any: functools.partial(_any_or_all, "any", True),
    all: functools.partial(_any_or_all, "all", False),
}


def of_list(elements: list[Any]) -> Dataset:
    """Return the dataset of elements of one structure, of any shapes. Raises TypeError for others."""
    rows = [element_of(element) for element in elements]
    spec = functools.reduce(common, map(spec_of, rows))
    return made(windows.Elements, [flat(row) for row in rows], spec)
