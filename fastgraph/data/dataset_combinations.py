"""The methods of `tf.data.Dataset` that group, mingle, draw and keep elements.

Rule: as in dataset.py, which has the methods used most: they describe, and nothing runs before a pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.core.base import cpu_count, nesting
from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, float64, int32, int64, string, uint64
from fastgraph.core.base.paths import local_path
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, convert, current_trace, from_array
from fastgraph.data import (
    checked_elements,
    dataset_ops,
    grouping,
    shuffling,
    sources,
    stored_elements,
    transformations,
    windows,
)
from fastgraph.data.dataset_base import DatasetBase, DatasetSpec, count, element_of, made
from fastgraph.data.element_functions import Mapped, state_spec
from fastgraph.data.element_specs import flat, normalized, packed, spec_of
from fastgraph.data.handles import resolve
from fastgraph.errors import InvalidArgumentError
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops import comparison, elementwise, exponentials, gathering, one_hot, reduction, runtime_assertions
from fastgraph.ops.random_ops import uniform
from fastgraph.ops.random_states import generators
from fastgraph.ops.stateless_random import stateless_categorical
from fastgraph.saving.checkpoint import Checkpoint
from fastgraph.saving.checkpoint_rotation import CheckpointManager

if TYPE_CHECKING:
    from fastgraph.data.dataset import Dataset

AUTOTUNE = -1


def _cycle_length(threads: Any) -> int:
    """Return how many datasets are interleaved by so many threads where nothing else is said."""
    cores = cpu_count.affinity()
    if not isinstance(threads, int) or not threads:
        return cores
    return (cores + 2) // 3 if threads == AUTOTUNE else min(threads, cores)


class Combinations(DatasetBase):
    """The datasets that are made of several elements, or of several datasets."""

    # -- several elements together

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: TensorLike = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return datasets of `size` elements, `stride` apart, each beginning `shift` (None: size) after the last.

        A structure of components becomes a structure of datasets. Raises: InvalidArgumentError for counts below 1.
        Source: tf.data.Dataset.window.
        """
        size = count(size)
        shift = size if shift is None else count(shift)
        drop = bool(drop_remainder)
        return made(windows.Window, self, size, shift, count(stride), drop=drop, of_spec=DatasetSpec)

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return `batch_size` elements at a time along a new first axis, filled up to one shape.

        padded_shapes: A structure of shapes; None (or -1) in one: as long as the longest. padding_values: scalars of
        the components' dtypes; None: zeros. Raises: ValueError, TypeError for shapes and values that do not fit; on
        iteration DataLossError for an element that is larger. Source: tf.data.Dataset.padded_batch.
        """
        shapes = windows.padded_shapes_of(self._spec, padded_shapes)
        fill = windows.padding_values_of(self._spec, padding_values)
        sizes = windows.padded_sizes_of(self._spec, padded_shapes, shapes)
        size = count(batch_size)
        return made(windows.PaddedBatch, self, size, *sizes, *fill, drop=bool(drop_remainder), shapes=shapes)

    def ragged_batch(
        self,
        batch_size: TensorLike,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = int64,
        name: str | None = None,
    ) -> Dataset:
        """Return batches in which tensors whose shapes the spec leaves open are RaggedTensors.

        Source: tf.data.Dataset.ragged_batch.
        """
        return made(windows.RaggedRows, self, row_splits_dtype=as_dtype(row_splits_dtype)).batch(
            batch_size, drop_remainder
        )

    def sparse_batch(self, batch_size: TensorLike, row_shape: Any, name: str | None = None) -> Dataset:
        """Return batches as SparseTensors with rows of one shape (None, -1: the longest).

        Raises: TypeError for elements of several components; on iteration DataLossError for a larger element.
        Source: tf.data.Dataset.sparse_batch.
        """
        shape = TensorShape([None if n is None or n < 0 else n for n in TensorShape(row_shape).as_list()])
        return made(windows.SparseBatch, self, count(batch_size), row_shape=shape)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: TensorLike | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements of `reduce_func(key, dataset of window_size elements with that key)`.

        Raises: ValueError unless exactly one of window_size and window_size_func is given, or for a key that is no
        integer. Source: tf.data.Dataset.group_by_window.
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be specified."
                if window_size is None
                else "The `window_size` and the `window_size_func` argument cannot be specified at the same time."
            )
        of_key: Callable[..., Any] = window_size_func or (lambda _: convert(window_size, int64))
        key_spec = TensorSpec((), int64)
        key = Mapped(lambda *x: convert(key_func(*x), int64), self._spec, "Dataset.group_by_window()")
        reduce = Mapped(reduce_func, (key_spec, DatasetSpec(self._spec)), "Dataset.group_by_window()")
        size = Mapped(lambda k: convert(of_key(k), int64), key_spec, "Dataset.group_by_window()")
        captured = (*key.captured, *reduce.captured, *size.captured)
        counts = len(key.captured), len(reduce.captured)
        return made(grouping.GroupByWindow, self, *captured, key=key, reduce=reduce, size=size, counts=counts)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return padded batches of elements whose lengths lie between the same two boundaries.

        Raises: ValueError unless there is one batch size more than boundaries. Source: tf.data.Dataset.
        """
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but `len(bucket_batch_sizes)="
                f"{len(bucket_batch_sizes)}` and `len(bucket_boundaries)={len(bucket_boundaries)}`."
            )
        limits, sizes = list(bucket_boundaries), list(bucket_batch_sizes)

        def bucket(*element: Any) -> Any:
            length = elementwise.cast(element_length_func(*element), int64)
            return reduction.reduce_sum(elementwise.cast(comparison.less_equal(convert(limits, int64), length), int64))

        def size_of(number: Any) -> Any:
            return gathering.gather(convert(sizes, int64), number)

        def batches(number: Any, group: Any) -> Any:
            size = size_of(number)
            if no_padding:
                return group.batch(size, drop_remainder=drop_remainder)
            shapes = padded_shapes or nesting.map_structure(lambda leaf: leaf.shape, group.element_spec)
            if not pad_to_bucket_boundary:
                return group.padded_batch(size, shapes, padding_values, drop_remainder)
            text = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            runtime_assertions.Assert(comparison.less(number, len(sizes) - 1), [text])
            edge = gathering.gather(convert([*limits, 0], int64), number) - 1
            return _padded_to(group, size, shapes, padding_values, drop_remainder, edge)

        return self.group_by_window(bucket, batches, window_size_func=size_of)

    # -- elements of several datasets

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: TensorLike | None = None,
        block_length: TensorLike | None = None,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return elements of the datasets that `map_func` gives: `block_length` of each of `cycle_length` in turn.

        cycle_length: None, AUTOTUNE: as many as the process may use cores, with `num_parallel_calls` at most those,
            with AUTOTUNE there a third.
        num_parallel_calls: how many threads make elements of theirs, once those take long.
        deterministic: False: elements come as they are there. None: what the options say.
        Raises: TypeError if it gives no dataset, InvalidArgumentError for lengths below 1.
        Source: tf.data.Dataset.interleave.
        """
        threads = 0 if num_parallel_calls is None else count(num_parallel_calls)
        if isinstance(threads, int) and (threads < AUTOTUNE or (threads == 0 and num_parallel_calls is not None)):
            raise InvalidArgumentError(None, None, "`num_parallel_calls` must be > 0. [Op:ParallelInterleaveDatasetV4]")
        cycle = AUTOTUNE if cycle_length is None else count(cycle_length)
        cycle = _cycle_length(threads) if isinstance(cycle, int) and cycle == AUTOTUNE else cycle
        block = 1 if block_length is None else count(block_length)
        mapped = Mapped(map_func, self._spec, "Dataset.interleave()")
        options = {"mapped": mapped, "parallel": num_parallel_calls is not None, "ordered": deterministic}
        options["threads"] = threads if isinstance(threads, int) else 0
        return made(grouping.Interleave, self, cycle, block, *mapped.captured, **options)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Return an element of `datasets[i]` for each i64[] i that `choice_dataset` gives.

        Raises: ValueError without datasets, TypeError for choices that are no such numbers. Source: tf.data.Dataset.
        """
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        if not isinstance(choice_dataset, DatasetBase):
            raise TypeError(
                "Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is "
                f"{type(choice_dataset)}."
            )
        spec = choice_dataset.element_spec
        if not (isinstance(spec, TensorSpec) and spec.dtype is int64 and spec.shape.is_compatible_with(())):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are "
                f"{spec}."
            )
        return made(windows.Directed, choice_dataset, *datasets, stop=stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: TensorLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Return elements of datasets drawn at random, with the given probabilities (a dataset of them: ever new ones).

        Raises: ValueError without datasets or for another number of weights, TypeError for weights that are no floats.
        Source: tf.data.Dataset.sample_from_datasets.
        """
        if not datasets:
            raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
        datasets = list(datasets)
        if isinstance(weights, DatasetBase):
            logits: Any = weights.map(lambda *p: exponentials.log(convert(p)))  # type: ignore[attr-defined]
            draws = Combinations.random(seed, rerandomize_each_iteration).batch(2)
            choice = made(transformations.Zip, logits, draws, structure=(0, 0)).map(_drawn)
            return made(windows.Directed, choice, *datasets, stop=stop_on_empty_dataset)
        if weights is None:
            fixed = convert([[1.0] * len(datasets)])
        else:
            if isinstance(weights, Tensor):
                if not weights.shape.is_compatible_with([len(datasets)]):
                    raise ValueError(
                        "Invalid `weights`. The shape of `weights` should be compatible with `[len(datasets)]` but is "
                        f"{weights.shape}."
                    )
            elif len(datasets) != len(weights):
                raise ValueError(
                    "Invalid `weights`. `weights` should have the same length as `datasets` but got "
                    f"`len(weights)={len(weights)}` vs. `len(datasets)={len(datasets)}`."
                )
            else:
                kept = [pair for pair in zip(datasets, weights, strict=True) if pair[1] > 0]
                datasets, weights = map(list, zip(*kept, strict=True)) if kept else ([datasets[0].take(0)], [1.0])
            weights = convert(weights)
            if weights.dtype not in (float32, float64):
                raise TypeError(
                    "Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is "
                    f"{weights.dtype}."
                )
            fixed = exponentials.log(weights)[None]
        if len(datasets) == 1:
            return datasets[0]
        choice = Combinations.random(seed, rerandomize_each_iteration).batch(2).map(lambda draw: _drawn(fixed, draw))
        return made(windows.Directed, choice, *datasets, stop=stop_on_empty_dataset)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: TensorLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return pairs (class, element), some left out so that classes are as frequent as `target_dist` says.

        initial_dist: How frequent they are; None: counted as they come. Source: tf.data.Dataset.rejection_resample.
        """
        this: Any = self
        target = convert(target_dist)
        if initial_dist is not None:
            initial = elementwise.cast(convert(initial_dist), target.dtype)
            known = made(sources.Tensors, initial, spec=TensorSpec(initial.shape, initial.dtype)).repeat()
        else:
            n = target.shape[0]

            def counted(seen: Any, classes: Any) -> Any:
                seen = seen + reduction.reduce_sum(one_hot.one_hot(classes, n, dtype=int64), 0)
                share = elementwise.cast(seen / reduction.reduce_sum(seen), target.dtype)
                return seen, gathering.gather(share[None], [0] * 32)

            known = this.map(class_func).batch(32).scan(np.full(n, 10, np.int64), counted).unbatch()
        odds = known.map(lambda initial: _acceptance(initial, target))

        def with_class(odds: Any, element: Any) -> Any:
            number = class_func(*element) if isinstance(element, tuple) else class_func(element)
            return number, gathering.gather(odds[0], number), element

        # TensorFlow looks at `known` once more, to warn of many that it rejects: one more pass of what is shuffled
        asked = made(transformations.Zip, odds, known, structure=(0, 0)).map(lambda odds, initial: odds)
        paired = made(transformations.Zip, asked, self, structure=(0, 0)).map(with_class)
        kept = paired.filter(lambda number, p, element: uniform([], seed=seed, dtype=p.dtype) < p)
        filtered = kept.map(lambda number, p, element: (number, element))

        def labelled(*element: Any) -> Any:
            return class_func(*element), element[0] if len(element) == 1 else element

        if initial_dist is not None and not isinstance(initial, SymbolicTensor):
            share = float(np.min(np.asarray(target) / np.asarray(initial)))
            if share in (0, 1):
                return filtered if share == 0 else this.map(labelled)
        weights = odds.map(lambda accept, share: [(share, 1.0 - share)])
        return Combinations.sample_from_datasets([this.map(labelled), filtered], weights, seed, True)

    # -- functions with a memory

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the outputs of `state, output = scan_func(state, element)`.

        Raises: TypeError if it gives no such pair, or a state of another kind. Source: tf.data.Dataset.scan.
        """
        state = element_of(initial_state)
        spec = spec_of(state)

        def checked(state: Any, *element: Any) -> Any:
            found = scan_func(state, element if type(self._spec) is tuple else element[0])
            if not isinstance(found, list | tuple) or len(found) != 2:
                raise TypeError(
                    "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the output "
                    "value."
                )
            return normalized(found[0]), found[1]

        inner = self._spec if type(self._spec) is tuple else (self._spec,)
        mapped = Mapped(checked, (spec, *inner), "Dataset.scan()")
        while mapped.spec[0] != spec:
            spec = state_spec(spec, mapped.spec[0], "scan_func")
            mapped = Mapped(checked, (spec, *inner), "Dataset.scan()")
        tensors = flat(state)
        return made(grouping.Scan, self, *tensors, *mapped.captured, mapped=mapped, n_state=len(tensors))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return the elements before the first of which `predicate` is false. Raises: ValueError for no bool."""
        mapped = Mapped(predicate, self._spec, "Dataset.take_while()")
        return made(grouping.TakeWhile, self, *mapped.captured, mapped=mapped)

    def unique(self, name: str | None = None) -> Dataset:
        """Return each element the first time it comes. Raises: TypeError for dtypes but int32, int64 and string."""
        leaves = nesting.flatten(self._spec)
        if len(leaves) != 1:
            raise InvalidArgumentError(None, None, f"unique takes elements of one component, not {len(leaves)}")
        for leaf in leaves:
            if leaf.dtype not in (int32, int64, string):
                raise TypeError(
                    "`tf.data.Dataset.unique` does not support type "
                    f"{leaf.dtype} -- only `tf.int32`, `tf.int64`, and `tf.string` are supported."
                )
        return made(checked_elements.Unique, self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Return the elements without those that raise an error. Source: tf.data.Dataset.ignore_errors."""
        return made(checked_elements.IgnoreErrors, self, log=log_warning)

    # -- sources

    @staticmethod
    def random(
        seed: TensorLike | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Return random numbers i64[] in [0, 2**32), for ever; the same ones in every pass unless it says otherwise."""
        seeds = generators.next_seeds() if seed is None else generators.seeds(count(seed))
        return Combinations._random(seeds, bool(rerandomize_each_iteration))

    @staticmethod
    def _random(seeds: tuple[int, int] | None, again: bool) -> Dataset:
        """Return `random` with the two seeds that its operation has."""
        return made(shuffling.Random, seed=seeds, again=again)

    @staticmethod
    def counter(
        start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = int64, name: str | None = None
    ) -> Dataset:
        """Return start, start + step, ... for ever, as dtype[]. Source: tf.data.Dataset.counter."""
        dtype = as_dtype(dtype)
        first, gap = convert(start, dtype), convert(step, dtype)
        once = made(sources.Tensors, convert(0), spec=TensorSpec((), int32))
        return once.repeat().scan(first, lambda state, _: (state + gap, state))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: TensorLike | None = None, name: str | None = None
    ) -> Dataset:
        """Return the paths that fit a pattern, or one of several, as string[]; in random order unless `shuffle=False`.

        Raises: InvalidArgumentError where none fits. Source: tf.data.Dataset.list_files.
        """
        pattern = file_pattern.numpy() if hasattr(file_pattern, "numpy") else file_pattern
        found = stored_elements.matching(pattern)
        if not found:
            raise InvalidArgumentError(None, None, f"No files matched pattern: {pattern}")
        paths = from_array(np.array(found, object), string)
        files = made(sources.Slices, paths, spec=TensorSpec([len(found)], string))
        return files.shuffle(len(found), seed=seed) if shuffle or shuffle is None else files

    # -- elements taken out, written and read

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element. Raises: InvalidArgumentError where there are none, or more."""
        if current_trace() is None and self.source is not None:
            elements = iter(self)
            element = next(elements, None)
            if element is None:
                raise InvalidArgumentError(None, None, "Dataset was empty. [Op:DatasetToSingleElement]")
            if elements.get_next_as_optional().has_value():
                text = "Dataset had more than one element. [Op:DatasetToSingleElement]"
                raise InvalidArgumentError(None, None, text)
            return element
        handle = dataset_ops.iterator_of(self.handle, self._spec)
        has_any, *found = dataset_ops.get_next_as_optional(handle, self._spec)
        runtime_assertions.Assert(has_any, ["Dataset was empty."])
        has_more, *_ = dataset_ops.get_next_as_optional(handle, self._spec)
        runtime_assertions.Assert(comparison.equal(has_more, False), ["Dataset had more than one element."])
        return packed(self._spec, found)

    def fingerprint(self) -> Any:
        """Return a number that says how the dataset is made: another one for another pipeline. -> u64[]."""
        if self.source is None:  # known when the graph runs
            number = lambda handle: np.uint64(stored_elements.fingerprint_of(resolve(handle)))
            return public_function("numpy_function")(number, [self.handle], uint64)
        return convert(np.uint64(stored_elements.fingerprint_of(self.source)), uint64)

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: dict[str, Any] | None = None,
    ) -> None:
        """Write all elements below a path, as TensorFlow does: `Dataset.load` reads them, here and there.

        compression: None, GZIP, ZLIB or SNAPPY. shard_func: to which shard i64[] an element goes. checkpoint_args:
        arguments of a CheckpointManager, which keeps how far the pass is after each element; a pass that was broken off
        begins with the same random order again. Raises: ValueError for a `checkpoint` among them.
        Source: tf.data.Dataset.save.
        """
        shard = _shard_of(_shards(shard_func, self._spec))
        written = functools.partial(stored_elements.Saved, path=_path(path), compression=compression, shard=shard)
        source: Any = self.source
        if not checkpoint_args:
            for _ in written(source).elements(sources.Run()):
                pass
            return
        if "checkpoint" in checkpoint_args:
            raise ValueError("Invalid `checkpoint_args`. `checkpoint_args` are not allowed to include 'checkpoint'.")
        iterator = iter(self.made_as(written(source)))
        checkpoint = Checkpoint(iterator=iterator)
        manager = CheckpointManager(**{**checkpoint_args, "checkpoint": checkpoint})
        checkpoint.restore(manager.latest_checkpoint)
        for _ in iterator:
            if "step_counter" in checkpoint_args:
                checkpoint_args["step_counter"].assign_add(1)
            manager.save(check_interval=True)

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[..., Any] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Return the elements that `save` has written below a path, there or in TensorFlow.

        reader_func: Makes one dataset of that of the shards. wait: until they are there. Raises: NotFoundError.
        Source: tf.data.Dataset.load.
        """
        spec, n, shards = stored_elements.saved(_path(path), element_spec, compression, wait)
        return made(checked_elements.Known, _read_by(reader_func, shards, spec), n)

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements; the first whole pass keeps them below a path, where later ones find them.

        Source: tf.data.Dataset.snapshot.
        """
        shard = _shards(shard_func, self._spec)
        read = Mapped(reader_func or stored_elements.interleaved, DatasetSpec(DatasetSpec(self._spec)), "snapshot()")
        if not isinstance(read.spec, DatasetSpec):
            raise TypeError(f"The `reader_func` argument must return a `Dataset` object. Got {read.spec}.")

        def called(outer: Any) -> Any:
            return packed(read.spec, read.bound((), sources.Run())((windows.handle_of(outer.source),)))

        def again(shards: list[Any]) -> Any:
            return _read_by(called, shards, self._spec).source

        options = {"compression": compression, "shard": _shard_of(shard), "again": again, "mapped": (read, shard)}
        return made(stored_elements.Snapshot, self, folder=_path(path), **options)


def _path(path: Any) -> str:
    return local_path(path.numpy() if hasattr(path, "numpy") else path)


def _shards(shard_func: Callable[..., Any] | None, spec: Any) -> Mapped | None:
    """The function of elements that says in which shard each is kept."""
    if shard_func is None:
        return None
    mapped = Mapped(shard_func, spec, "save()")
    found = mapped.spec
    if not (isinstance(found, TensorSpec) and found.dtype in (int32, int64) and found.shape.is_compatible_with(())):
        text = f"`shard_func` must return `tf.int64` scalar tensor but its return type is {found}."
        raise TypeError(f"Invalid `shard_func`. {text}")
    return mapped


def _shard_of(mapped: Mapped | None) -> Callable[[Any], int] | None:
    if mapped is None:
        return None
    function, fits = mapped.bound((), sources.Run()), mapped.spec.dtype is int64

    def shard(element: Any) -> int:
        number = np.asarray(function(element)[0])
        if not fits or number.ndim:  # where a snapshot is only read nobody asks
            raise InvalidArgumentError(None, None, "`shard_func` must return a scalar int64. [Op:IteratorGetNext]")
        return int(number)

    return shard


def _read_by(reader_func: Callable[..., Any] | None, shards: list[Any], spec: Any) -> Any:
    rows = [(windows.handle_of(shard),) for shard in shards]
    outer = made(windows.Elements, rows, DatasetSpec(spec))
    found = (reader_func or stored_elements.interleaved)(outer)
    if not isinstance(found, DatasetBase):
        raise TypeError(f"The `reader_func` argument must return a `Dataset` object. Got {type(found)}.")
    return found


def _drawn(logits: Any, draw: Any) -> Any:
    """The number of the dataset that two random numbers choose. f[1, n], i64[2] -> i64[]."""
    return stateless_categorical(logits, 1, seed=draw)[0, 0]


def _acceptance(initial: Any, target: Any) -> Any:
    """Return how often to keep an element of each class, and how often to take one without asking."""
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    least, most = reduction.reduce_min(ratio), reduction.reduce_max(ratio)
    return (ratio - least) / (most - least), least


def _padded_to(group: Any, size: Any, shapes: Any, values: Any, drop: bool, edge: Any) -> Any:
    """Padded batches of a group whose open sizes are all `edge`."""
    spec = group.element_spec
    known = windows.padded_shapes_of(spec, shapes)
    fill = windows.padding_values_of(spec, values)
    sizes = [
        convert([edge if n is None else n for n in shape], int64) if shape.rank else convert([], int64)
        for shape in known
    ]
    return made(windows.PaddedBatch, group, size, *sizes, *fill, drop=drop, shapes=known)
