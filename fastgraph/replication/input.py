"""Datasets shared out among replicas: each element a PerReplica, in Python and in graphs.

Rule: one pass goes over the dataset itself; a batch is cut into the replicas' parts, in their order, as it comes. A
replica for which nothing is left gets a part of no rows.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fastgraph.composites import sparse_ops
from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensor, SparseTensorSpec, with_shape
from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.devices import device
from fastgraph.core.tensor import Tensor, class_has, current_trace
from fastgraph.data import sharding
from fastgraph.data.element_specs import flat, packed
from fastgraph.data.iterators import OwnedIterator, SteppedIterator
from fastgraph.data.optionals import Optional
from fastgraph.data.options import AutoShardPolicy
from fastgraph.data.sources import INFINITE
from fastgraph.errors import InvalidArgumentError, NotFoundError
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import cast, identity, zeros_like
from fastgraph.ops.elementwise import minimum as minimum_op
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_any
from fastgraph.replication.contexts import of_all_processes
from fastgraph.staging import autograph
from fastgraph.state.distributed import DistributedValues, PerReplica, PerReplicaSpec


class Sharing(enum.Enum):
    """Ways to share elements out: cut into parts; one for each replica; stacked by `batch`; of a dataset of its own."""

    PARTS = 0
    EACH = 1
    STACKED = 2
    OWN = 3


def one_each(dataset: Any, n: int) -> tuple[Any, Sharing]:
    """Return a dataset of which each replica of `n` gets an element, and how; of an incomplete turn nothing is left.

    Where elements may have any number of rows, a replica gets none in an incomplete turn.
    """
    specs = nesting.flatten(dataset.element_spec)
    if n > 1 and _is_fixed(specs):
        return dataset.batch(n, drop_remainder=True), Sharing.STACKED
    return dataset, Sharing.EACH


def own_part(dataset: Any, n: int, index: int) -> tuple[Any, bool]:
    """Return what process `index` of `n` reads of a dataset, by its AutoShardPolicy, and whether that is all its own.

    If so its elements are one replica's; else each is to be cut into the replicas' parts. Raises NotFoundError
    where FILE finds no files of all elements, and InvalidArgumentError for fewer files than processes.
    """
    policy = dataset.options().experimental_distribute.auto_shard_policy
    if policy is AutoShardPolicy.DATA or dataset.source is None:
        return dataset, False
    source, files, auto = dataset.source, None, policy is AutoShardPolicy.AUTO
    rows = sharding.batch_size_of(source)
    if policy in (AutoShardPolicy.AUTO, AutoShardPolicy.FILE):
        source, files = sharding.by_files(source, n, index)
        if auto and (files is None or files < n):
            return dataset, False
        if files is None or files < n:
            kind = NotFoundError if files is None else InvalidArgumentError
            raise kind(
                None, None, f"AutoShardPolicy.FILE needs a file for each of {n} processes, and the dataset reads "
                f"{files or 'none, or not for all of its elements'}. Use AutoShardPolicy.DATA, or more files.",
            )  # fmt: skip
    elif policy is AutoShardPolicy.HINT:
        source = sharding.by_hint(source, n, index)
    found = dataset.made_as(source, dataset._spec, None)
    found._options = dataset._options
    if rows < 1:
        return found.flat_map(functools.partial(_in_parts, type(dataset).range(n), n, found.element_spec)), True
    sizes = [rows // n + (i < rows % n) for i in range(n)]
    return found.rebatch(sizes[index:] + sizes[:index]), True


def _in_parts(numbers: Any, n: int, spec: Any, *element: Any) -> Any:
    """Return a dataset of the n parts of a batch whose size nobody knows, the last ones shorter or empty."""
    batch = element if type(spec) is tuple else element[0]
    first = next(leaf for leaf in nesting.flatten(batch) if leaf is not None)
    rows = cast(_extents(first)[0], "int64")
    part = (rows + (n - 1)) // n

    def cut(i: Any) -> Any:
        begin, end = minimum_op(i * part, rows), minimum_op((i + 1) * part, rows)
        return nesting.map_structure(
            lambda leaf: _rows_of(leaf, begin, end) if isinstance(leaf, SparseTensor) else leaf[begin:end], batch
        )

    return numbers.map(cut)


class InputReplicationMode(enum.Enum):
    """The replicas that share a dataset. Source: tf.distribute.InputReplicationMode."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """Options of how input gets to replicas; only the mode has an effect. Source: tf.distribute.InputOptions."""

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


def is_per_replica(options: InputOptions | None) -> bool:
    """Return whether replicas have datasets of their own. Raises ValueError for options that exclude each other."""
    found = options is not None and options.experimental_replication_mode is InputReplicationMode.PER_REPLICA
    on_device = options is not None and options.experimental_place_dataset_on_device
    if on_device and (not found or options.experimental_fetch_to_device):  # type: ignore[union-attr]
        raise ValueError(
            "`experimental_place_dataset_on_device` can not be set to True when experimental_fetch_to_device is True "
            "or replication mode is set to `InputReplicationMode.PER_WORKER`"
        )
    return found


def _is_fixed(specs: Sequence[Any]) -> bool:
    """Return whether elements have as many rows as they say, so that none can have no rows."""
    return all(isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() for spec in specs)


def side_by_side(datasets: Sequence[Any]) -> Any:
    """Return a dataset of tuples: an element of each of some datasets of one kind.

    Where elements may have any number of rows, those of a dataset that has ended have none, until all have.
    """
    together, spec = type(datasets[0]).zip, datasets[0].element_spec
    leaves = nesting.flatten(spec)
    if _is_fixed(leaves) or not all(isinstance(leaf, TensorSpec) and leaf.shape.rank for leaf in leaves):
        return together(tuple(datasets))
    nothing = [zeros([0, *(n or 0 for n in leaf.shape[1:])], leaf.dtype) for leaf in leaves]

    def lasting(dataset: Any) -> Any:
        end = type(dataset).from_tensors((False, nesting.pack_sequence_as(spec, nothing))).repeat()
        return dataset.map(lambda *element: (True, element if type(spec) is tuple else element[0])).concatenate(end)

    whole = together(tuple(lasting(dataset) for dataset in datasets))
    lasts = whole.take_while(lambda *rows: reduce_any([goes_on for goes_on, _ in rows]))
    return lasts.map(lambda *rows: tuple(element for _, element in rows))


class RunOptions(NamedTuple):
    """Options of `Strategy.run`, of TPUs: without effect. Source: tf.distribute.RunOptions."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


def _least(a: Any, b: Any) -> Any:
    return minimum_op(a, b) if isinstance(b, Tensor) else min(a, b)


def _extents(value: Any) -> Any:
    if isinstance(value, RaggedTensor):
        return [value.nrows()]
    return value.dense_shape if isinstance(value, SparseTensor) else shape(value)


def _rows_of(sparse: SparseTensor, begin: Any, end: Any) -> SparseTensor:
    """Some rows of a SparseTensor, which keep their width."""
    begin, end = cast(begin, "int64"), cast(end, "int64")
    rest = sparse.dense_shape[1:]
    found = sparse_ops.slice(sparse, concat([[begin], zeros_like(rest)], 0), concat([[end - begin], rest], 0))
    return with_shape(found.indices, found.values, found.dense_shape, TensorShape([None]).concatenate(sparse.shape[1:]))


def _on_each(strategy: Any, of: Callable[[int], Any]) -> PerReplica:
    """Return what `of` gives for the number of each of this process's replicas, made on its device."""
    found = []
    for index, place in zip(strategy._own, strategy._devices, strict=True):
        with device(place):
            found.append(of(index))
    return PerReplica(found)


def _moved(leaf: Any) -> Any:
    """Return a tensor where the device is that this is on; others stay."""
    return identity(leaf) if isinstance(leaf, Tensor) else leaf


def parts_of(batch: Any, strategy: Any) -> Any:
    """Return a structure of tensors [rows, *s] as one of PerReplica values: parts of equal length while rows last.

    They are of the replicas of this process, on their devices. What is PerReplica already stays.
    """
    leaves = [leaf for leaf in nesting.flatten(batch) if leaf is not None]
    if not leaves or isinstance(leaves[0], DistributedValues):
        return batch
    first = leaves[0]
    rows: Any = first.shape[0] if first.shape.rank else None
    if rows is None:
        rows = _extents(first)[0]
    n = strategy.num_replicas_in_sync
    part = (rows + (n - 1)) // n
    ends = [_least(i * part, rows) for i in range(n + 1)]

    def cut(leaf: Any) -> Any:
        if leaf is None:
            return None
        if isinstance(leaf, SparseTensor):
            return _on_each(strategy, lambda i: _rows_of(leaf, ends[i], ends[i + 1]))
        return _on_each(strategy, lambda i: leaf[ends[i] : ends[i + 1]])

    return nesting.map_structure(cut, batch)


def _spec_of(spec: Any, strategy: Any, how: Sharing) -> Any:
    """The spec of elements that are shared out."""

    def one(leaf: Any) -> Any:
        if how is Sharing.STACKED:
            leaf = TensorSpec(leaf.shape[1:], leaf.dtype, leaf.name)
        elif how is Sharing.PARTS and leaf.shape.rank:
            rows, n = leaf.shape[0], strategy.num_replicas_in_sync
            known = None if rows is None or rows % n or isinstance(leaf, SparseTensorSpec) else rows // n
            part = TensorShape([known]).concatenate(leaf.shape[1:])
            if isinstance(leaf, RaggedTensorSpec):
                leaf = RaggedTensorSpec(part, leaf.dtype, leaf.ragged_rank, leaf.row_splits_dtype)
            elif isinstance(leaf, SparseTensorSpec):
                leaf = SparseTensorSpec(part, leaf.dtype)
            else:
                leaf = TensorSpec(part, leaf.dtype, leaf.name)
        return PerReplicaSpec(*[leaf] * len(strategy._own))

    if how is Sharing.OWN:
        return nesting.map_structure(PerReplicaSpec, *spec)
    return nesting.map_structure(one, spec)


class _SharedOut(TypeSpec):
    """The type of what is shared out: that of what it is made of, and among how many, and how."""

    __slots__ = ("_how", "_inner", "_strategy")

    def __init__(self, inner: Any, strategy: Any, how: Sharing) -> None:
        self._inner, self._strategy, self._how = inner, strategy, how

    @property
    def element_spec(self) -> Any:
        """The spec of an element."""
        return _spec_of(self._inner.element_spec, self._strategy, self._how)

    def _serialize(self) -> tuple[Any, ...]:
        return self._inner, self._strategy, self._how

    @property
    def _component_specs(self) -> Any:
        return self._inner

    def _to_components(self, value: Any) -> Any:
        return value._inner

    def _from_components(self, components: Any) -> Any:
        return self.value_type(components, self._strategy, self._how)


class DistributedDatasetSpec(_SharedOut):
    """The spec of a DistributedDataset."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        return DistributedDataset


class DistributedIteratorSpec(_SharedOut):
    """The spec of a DistributedIterator."""

    __slots__ = ()

    @property
    def value_type(self) -> type:
        return DistributedIterator


@without({"a loop over it, or Dataset.reduce before it is distributed": "reduce"})
class DistributedDataset:
    """A dataset of which each replica gets a part of each element. Source: tf.distribute.DistributedDataset."""

    def __init__(self, dataset: Any, strategy: Any, how: Sharing) -> None:
        self._inner, self._strategy, self._how = dataset, strategy, how

    element_spec = ReadOnly[Any]("_type_spec.element_spec", "The spec of an element: PerReplicaSpecs.")

    @property
    def _type_spec(self) -> DistributedDatasetSpec:
        return DistributedDatasetSpec(self._inner._type_spec, self._strategy, self._how)

    @property
    def cardinality(self) -> Tensor:
        """The number of elements, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
        found: Tensor = self._inner.cardinality()
        n = len(self._strategy._own)
        return found if self._how is not Sharing.EACH or int(found) < 0 else (found + (n - 1)) // n

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(iter(self._inner), self._strategy, self._how)

    def __fg_staged_for__(self) -> tuple[Any, Any]:
        """Return what a staged loop goes over: (is there another element, the next element), two functions."""
        return iter(self).__fg_staged_for__()


class DistributedIterator(SteppedIterator):
    """An iterator over a DistributedDataset. Source: tf.distribute.DistributedIterator."""

    def __init__(self, iterator: OwnedIterator, strategy: Any, how: Sharing) -> None:
        self._inner, self._strategy, self._how = iterator, strategy, how

    element_spec = ReadOnly[Any]("_type_spec.element_spec", "The spec of an element: PerReplicaSpecs.")

    @property
    def _type_spec(self) -> DistributedIteratorSpec:
        return DistributedIteratorSpec(self._inner._type_spec, self._strategy, self._how)

    @of_all_processes
    def __next__(self) -> Any:
        if not self._agrees or current_trace() is not None:
            return self._completed(next(self._inner))
        found = self._inner.get_next_as_optional()
        if not self._goes_on(found.has_value()):
            raise StopIteration
        return self._completed(packed(self._inner.element_spec, found._components))

    @property
    def _agrees(self) -> bool:
        """True if other processes have datasets of their own, that may be shorter or longer."""
        strategy, cursor = self._strategy, self._inner._cursor
        if cursor is not None and cursor.source.cardinality() == INFINITE:
            return False
        return self._how is not Sharing.PARTS and strategy.num_replicas_in_sync > len(strategy._own)

    def _goes_on(self, has_value: Any) -> Any:
        """True if any process has another element; where elements have as many rows as they say, if all have."""
        if not self._agrees:
            return has_value
        total = self._strategy.extended.total([cast(has_value, "int32")])
        specs = nesting.flatten(self._inner.element_spec)
        return total >= (self._strategy.num_replicas_in_sync if _is_fixed(specs) else 1)

    def _completed(self, first: Any) -> Any:
        """The parts of the replicas, of which `first` is the first element."""
        spec, own = self._inner.element_spec, self._strategy._own
        if self._how is Sharing.STACKED:
            return nesting.map_structure(lambda leaf: _on_each(self._strategy, lambda i: leaf[i - own[0]]), first)
        if self._how is Sharing.PARTS:
            return parts_of(first, self._strategy)
        if self._how is Sharing.OWN:
            elements = first
        else:
            others = [self._inner.get_next_as_optional()._components for _ in own[1:]]
            elements = [first, *(packed(spec, components) for components in others)]
        return nesting.map_structure(
            lambda *leaves: _on_each(self._strategy, lambda i: _moved(leaves[i - own[0]])), *elements
        )

    @of_all_processes
    def get_next_as_optional(self) -> Optional:
        """Return the next element as an Optional, an empty one after the last."""
        found = self._inner.get_next_as_optional()
        spec = self._inner.element_spec
        parts = self._completed(packed(spec, found._components))
        return Optional(_spec_of(spec, self._strategy, self._how), self._goes_on(found.has_value()), flat(parts))

    def __fg_staged_for__(self) -> tuple[Any, Any]:
        """Return what a staged loop goes over: (is there another element, the next element), two functions."""
        has_next, get_next = self._inner.__fg_staged_for__()
        if not self._agrees:
            return has_next, lambda: self._completed(get_next())
        spec, inner = self._inner.element_spec, self._inner
        return (
            lambda: self._goes_on(has_next()),
            lambda: self._completed(packed(spec, inner.get_next_as_optional()._components)),
        )


class Calls:
    """An iterator over what a function gives, which is called anew for each replica."""

    def __init__(self, strategy: Any, function: Callable[[], Any]) -> None:
        self._strategy, self._function = strategy, function

    def __iter__(self) -> Calls:
        return self

    def get_next(self, name: str | None = None) -> Any:
        """Return each replica's element."""
        return self._strategy.experimental_distribute_values_from_function(lambda _: self._function())

    __next__ = get_next


class RestartedIterator:
    """An iterator over what replicas share that `initialize` begins anew, as programs of TensorFlow 1 have it."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.initialize()

    def initialize(self) -> list[Any]:
        """Begin with the first element. Returns what is to be run for it: nothing."""
        self._iterator = iter(self._dataset)
        return []

    initializer = property(initialize, doc="What is to be run to begin with the first element: nothing, it is done.")

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element. Raises OutOfRangeError after the last."""
        return self._iterator.get_next()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __iter__(self) -> Any:
        return self._iterator

    def __next__(self) -> Any:
        return next(self._iterator)


def _numbered(elements: DistributedDataset | DistributedIterator, start: int = 0) -> Any:
    if current_trace() is None:
        return enumerate(elements, start)
    raise NotImplementedError(
        f"enumerate not supported with {type(elements).__name__} types within tf.functions. Use a for loop over the "
        "dataset and keep a separate counter instead."
    )


class _Combined:
    """Elements of several passes at once, as `zip` and `map` give them, for loops in graphs."""

    def __init__(self, function: Any, parts: Sequence[Any]) -> None:
        self._function, self._parts = function, parts

    def __fg_staged_for__(self) -> tuple[Any, Any]:
        """Return what a staged loop goes over: (is there another element of all, the next ones), two functions."""
        staged = [part.__fg_staged_for__() for part in self._parts]

        def has_next() -> Any:
            return functools.reduce(logical_and, [has() for has, _ in staged])

        return has_next, lambda: self._function(*[following() for _, following in staged])

    def __iter__(self) -> Any:
        return map(self._function, *self._parts)


def _together(*parts: Any, strict: bool = False) -> Any:
    if current_trace() is None or not all(class_has(part, "__fg_staged_for__") for part in parts):
        return zip(*parts, strict=strict)
    if strict:
        raise NotImplementedError("zip(..., strict=True) over what replicas share is not supported in tf.functions.")
    return _Combined(lambda *elements: elements, parts)


def _through(function: Any, *parts: Any) -> Any:
    if current_trace() is None or not all(class_has(part, "__fg_staged_for__") for part in parts):
        return map(function, *parts)
    return _Combined(autograph.convert(function), parts)


#: Python's builtins in converted code: a pass made while tracing would not end.
DistributedDataset.__fg_builtins__ = DistributedIterator.__fg_builtins__ = {  # type: ignore[attr-defined]
    enumerate: _numbered, map: _through, zip: _together,
}  # fmt: skip
_Combined.__fg_builtins__ = DistributedDataset.__fg_builtins__  # type: ignore[attr-defined]
