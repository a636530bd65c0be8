"""Strategies: how a program runs on devices. The default one, one device, several devices of this machine.

Rule: a replica is a thread with a device and copies of the Variables (replica_threads.py); a strategy of one replica
runs the program as it is.
"""

from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.devices import CPU, device, device_name, list_logical_devices, part_of, placed
from fastgraph.core.tensor import Tensor, current_trace, init_scope
from fastgraph.data.dataset import Dataset
from fastgraph.errors import NotBuiltError
from fastgraph.ops.joining import split
from fastgraph.ops.movement import shape
from fastgraph.ops.no_op import group
from fastgraph.replication import contexts
from fastgraph.replication.contexts import (
    Args,
    InputContext,
    Named,
    ReplicaContext,
    ValueContext,
    check_between,
    get_replica_context,
    merge,
    of_all_processes,
)
from fastgraph.replication.input import (
    Calls,
    DistributedDataset,
    InputReplicationMode,
    RestartedIterator,
    Sharing,
    is_per_replica,
    one_each,
    own_part,
    parts_of,
    side_by_side,
)
from fastgraph.replication.reductions import (
    CrossDeviceOps,
    ReduceOp,
    Way,
    joined,
    per_replica,
    reduce_any,
    reduced,
    reduced_along,
    way,
)
from fastgraph.replication.replica_threads import run_replicas
from fastgraph.staging import autograph
from fastgraph.staging.function import BoundFunction, Function, functions_run_eagerly
from fastgraph.state.distributed import (
    AggregatingVariable,
    DistributedVariable,
    PerReplica,
    assert_alike,
    distributed,
    regroup,
    select,
    wrapped,
)
from fastgraph.state.variable import Variable, VariableAggregation, variable_creator_scope

_PER_WORKER = InputReplicationMode.PER_WORKER
#: The difference between names of Variables that are one: a number at the end of a part.
_NUMBER = re.compile(r"_\d+(?=/|$)")


class StrategyExtended:
    """The part of a strategy that libraries ask beyond its public methods. Source: tf.distribute.StrategyExtended."""

    experimental_require_static_shapes = False
    should_checkpoint = True
    should_save_summary = True
    num_hosts = 1
    _global_batch_size = True  # Keras 2 asks whether batch sizes are those of all replicas

    def __init__(self, strategy: Strategy, cross_device_ops: CrossDeviceOps | None = None) -> None:
        self._strategy = strategy
        self._cross_device_ops = cross_device_ops or CrossDeviceOps()

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas, in their order."""
        return self._strategy._devices

    parameter_devices = worker_devices

    @property
    def num_replicas_per_host(self) -> int:
        """The number of this process's replicas."""
        return len(self.worker_devices)

    @property
    def count(self) -> int:
        """The number of replicas, those of other processes among them."""
        return self._strategy.num_replicas_in_sync

    _num_replicas_in_sync = count

    def total(self, values: Sequence[Any]) -> Any:
        """Return the sum over all replicas of the values that this process's have."""
        return reduced(ReduceOp.SUM, values)

    def begin(self, variable: Variable) -> None:
        """Let a new Variable have the value that it has in the first process."""

    def of_first(self, value: Any) -> Any:
        """Return what the first process has."""
        return value

    def _container_strategy(self) -> Strategy:
        return self._strategy

    def _in_multi_worker_mode(self) -> bool:
        """Return whether several processes take part."""
        return False

    def _allow_variable_partition(self) -> bool:
        return False

    def _use_merge_call(self) -> bool:
        return True

    def update(
        self, var: Variable, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, group: bool = True
    ) -> Any:
        """Call `fn(copy, *args, **kwargs)` for each replica's copy of a Variable, with the replica's arguments.

        On a replica, all of them meet for it. Returns: what it gave, a PerReplica of several; without `group` a tuple.
        """
        context = get_replica_context()
        if context is not None and context.strategy is self._strategy:
            return context.merge_call(lambda _, *own, **named: self.update(var, fn, own, named, group), args, kwargs)
        check_between(self._strategy)
        if not isinstance(var, DistributedVariable):
            result = fn(var, *args, **(kwargs or {}))
            return result if group else nesting.map_structure(lambda each: (each,), result)
        found = []
        for index, copy in enumerate(var.values):
            own = select((tuple(args), dict(kwargs or {})), index)
            with replicas.acting(replicas.Replica(index, len(var.values), updates=True)), device(copy.device):
                found.append(fn(copy, *own[0], **own[1]))
        return regroup(found) if group else tuple(found)

    def call_for_each_replica(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None) -> Any:
        """Return `fn(*args, **kwargs)` of each replica, as `Strategy.run` does."""
        check_between(self._strategy)
        return self._strategy._each(fn, args, dict(kwargs or {}))

    def reduce_to(self, reduce_op: Way, value: Any, destinations: object, options: object = None) -> Any:
        """Return the sum or mean of a value over the replicas. Raises RuntimeError on a replica."""
        check_between(self._strategy)
        if per_replica(value) is not None:
            return self.all_reduced(way(reduce_op), [value])[0]
        return reduce_any(way(reduce_op), value, self._num_replicas_in_sync)

    def batch_reduce_to(
        self, reduce_op: Way, value_destination_pairs: Iterable[tuple[Any, Any]], options: object = None
    ) -> list[Any]:
        """Return what `reduce_to` gives for each pair."""
        return [self.reduce_to(reduce_op, value, where, options) for value, where in value_destination_pairs]

    def all_reduced(self, op: ReduceOp, values: Sequence[Any], options: object = None) -> list[Any]:
        """Return the sums or means over the replicas of `values`. A tensor that all of them share counts once."""
        return self._cross_device_ops.batch_reduce(op, [(value, value) for value in values])

    def joined(self, values: Sequence[Any], axis: int) -> Any:
        """Return the values of all replicas joined along an axis, of those that this process's have."""
        return joined(values, axis)

    def aggregated(self, aggregation: VariableAggregation, value: Any, variable: Variable) -> Any:
        """Return what replicas assign to a Variable together."""
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            values = per_replica(value)
            return value if values is None else values[0]
        return self.reduce_to(ReduceOp.from_variable_aggregation(aggregation), value, variable)

    def places(self, values: Sequence[Any], axis: int) -> list[Any]:
        """Return, for each value, how long each replica's part is along an axis."""
        return [tuple(shape(part)[axis] for part in per_replica(value) or (value,)) for value in values]

    def cut(self, whole: Any, lengths: Sequence[Any], index: int, axis: int) -> Any:
        """Return the part of a joined value that is one replica's."""
        return split(whole, list(lengths), axis)[index]

    def broadcast_to(self, tensor: Any, destinations: object) -> Tensor:
        """Return what every device has of a tensor: the tensor."""
        return convert_to_tensor(tensor)

    def non_slot_devices(self, var_list: object) -> tuple[str, ...]:
        """Return the devices of Variables that belong to none of `var_list`: those of all Variables."""
        return self.parameter_devices

    def read_var(self, v: Variable) -> Tensor:
        """Return a Variable's value: a replica's own, or between them what its copies come to."""
        return v.read_value()

    def colocate_vars_with(self, colocate_with_variable: object) -> contextlib.AbstractContextManager[None]:
        """Return a context whose Variables lie where another one lies."""
        return contextlib.nullcontext()

    def variable_created_in_scope(self, v: object) -> bool:
        """Return whether a Variable was made in a scope of this strategy; with one replica all are of the same kind."""
        return self._num_replicas_in_sync == 1 or getattr(v, "distribute_strategy", None) is self._strategy

    def value_container(self, value: Any) -> Any:
        """Return what holds the replicas' values of which `value` is one."""
        owner = getattr(value, "_distributed_container", None)
        return value if owner is None else owner()


@without(
    {
        "extended.colocate_vars_with": "colocate_vars_with",
        "environment variables (TF_CONFIG) and tf.config": "configure update_config_proto",
    }
)
class Strategy:
    """The way a program runs on devices. Source: tf.distribute.Strategy."""

    _devices: tuple[str, ...] = (CPU,)

    #: True where a coordinator hands steps to other processes: there is none.
    _should_use_with_coordinator = False

    def __init__(self, extended: object = None) -> None:
        self.extended: Any = StrategyExtended(self) if extended is None else extended
        self.cluster_resolver: Any = None
        self._running: list[Any] = []  # the threads of a run's replicas
        self._made: dict[tuple[str, int], Any] = {}  # Variables that the replicas of a run make: each once
        self._lifted: weakref.WeakKeyDictionary[Function, Function] = weakref.WeakKeyDictionary()

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that run together."""
        return len(self._devices)

    @property
    def _own(self) -> range:
        """The numbers of this process's replicas."""
        return range(len(self._devices))

    def __repr__(self) -> str:
        return f"<fastgraph.distribute.{type(self).__name__} on {', '.join(self._devices)}>"

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this is the strategy of what is made. Raises RuntimeError in another strategy's."""
        stack = replicas.scopes.stack
        check_between(self)
        stack.append((self, None))
        try:
            several = self.num_replicas_in_sync > 1 and len(stack) == 1
            with variable_creator_scope(self._create) if several else self._place():
                yield self
        finally:
            stack.pop()

    def _place(self) -> contextlib.AbstractContextManager[Any]:
        """The device of a strategy of one, where it is not the first."""
        others = len(self._devices) > 1 or self._devices[0] == CPU
        return contextlib.nullcontext() if others else device(self._devices[0])

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Make a Variable with a copy for each replica; what the first replica made the others find, by its name."""
        replica = replicas.current()
        if replica is None or replica.context is None:
            return self._new(next_creator, kwargs)
        given = str(kwargs.get("name") or "Variable")
        name = _NUMBER.sub("", given)  # replicas may number them
        count = replica.context.made.get(name, 0)
        replica.context.made[name] = count + 1
        if (name, count) not in self._made:
            if replica.index:
                place = self._devices[replica.index]
                raise RuntimeError(f"Tried to create variable {given} with mismatching name on device {place}")
            with replicas.acting(None):
                self._made[name, count] = self._new(next_creator, kwargs)
        return self._made[name, count]

    @of_all_processes
    def _new(self, next_creator: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        with device(self._devices[0]):
            first = next_creator(**kwargs)
        if isinstance(first, DistributedVariable):
            return first
        copies = [first]
        with init_scope():
            self.extended.begin(first)
            value = first.numpy()
            for place in self._devices[1:]:
                with device(place):
                    copies.append(first._copied(value))
        return distributed(copies, self)

    def run(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, options: object = None) -> Any:
        """Return what `fn(*args, **kwargs)` gives on each replica: one structure, with a PerReplica where they differ.

        Of PerReplica arguments a replica gets its own. In a trace, `fn` is traced once for each replica; a Function
        (without a signature) becomes one graph of all replicas, in which they may meet. Raises RuntimeError on a
        replica, and where one ends while others wait for it; ValueError for `args` that are no list.
        """
        check_between(self)
        if not isinstance(args, (tuple, list)):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        if current_trace() is not None and not isinstance(fn, Function):
            fn = autograph.convert(fn)
        return self._each(fn, args, dict(kwargs or {}))

    def _lift(self, fn: Function) -> Function:
        """Return the Function of what all replicas do with one: of `args` and `kwargs`."""
        given: Any = fn  # a BoundFunction says that it is a Function
        function: Function = given.function if type(given) is BoundFunction else given
        lifted = self._lifted.get(function)
        if lifted is None:

            def step(function: Function, args: Any, kwargs: Any) -> Any:
                return self._each(function._call_in_trace, args, kwargs)

            step.__qualname__ = function.name
            options = {**function._options, "name": function.name, "autograph": False}
            lifted = self._lifted[function] = Function(step, target=weakref.ref(function), **options)
        return lifted

    def _each(self, fn: Callable[..., Any], args: Args, kwargs: dict[str, Any]) -> Any:
        lifts = len(self._own) > 1 and isinstance(fn, Function) and not functions_run_eagerly()
        if lifts and fn._parameters.input_signature is None:  # type: ignore[attr-defined]
            return self._lift(fn)(tuple(args), kwargs)  # type: ignore[arg-type]
        if self.num_replicas_in_sync == 1:
            with ReplicaContext(self), self._place():
                return fn(*args, **kwargs)
        before, self._made = self._made, {}
        all_ = [ReplicaContext(self, index) for index in self._own]
        try:
            with self.scope():
                if len(all_) == 1:  # of several processes
                    with all_[0], replicas.acting(replicas.Replica(0, 1, all_[0])):
                        return wrapped(fn(*select(tuple(args), 0), **select(kwargs, 0)))
                return run_replicas(self, all_, self._devices, fn, args, kwargs, lambda *call: merge(self, *call))
        finally:
            self._made = before

    def reduce(self, reduce_op: Way, value: Any, axis: Any = None) -> Any:
        """Return the sum or mean of the replicas' values; with `axis`, over that axis of theirs as well.

        Raises ValueError for the sum of what is one value for all replicas.
        """
        check_between(self)
        op = way(reduce_op)

        def one(leaf: Any) -> Any:
            if axis is None:
                return self.extended.reduce_to(op, leaf, leaf)
            return reduced_along(op, per_replica(leaf) or (leaf,) * len(self._own), axis, self.extended.total)

        return nesting.map_structure(one, value)

    def gather(self, value: Any, axis: int) -> Any:
        """Return the replicas' values joined along an axis. Raises NotImplementedError for IndexedSlices."""
        check_between(
            self,
            "tf.distribute.Strategy.gather method requires cross-replica context, use "
            "get_replica_context().all_gather() instead",
        )
        return nesting.map_structure(lambda leaf: self.extended.joined(per_replica(leaf) or (leaf,), axis), value)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return a dataset of PerReplica elements: each batch of `dataset`, shared out among the replicas.

        Raises NotImplementedError for InputOptions that ask for a dataset of each replica; AttributeError for what is
        no dataset.
        """
        if is_per_replica(options):
            raise NotImplementedError(
                "InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`."
            )
        if not isinstance(dataset, (Dataset, DistributedDataset)) and not isinstance(self, _DefaultStrategy):
            name = type(dataset).__name__
            raise AttributeError(
                f"{name!r} object has no attribute '_variant_tensor': experimental_distribute_dataset wants a "
                f"tf.data.Dataset, got {dataset!r:.100}."
            )
        if self.num_replicas_in_sync == 1:
            return dataset
        n = self.num_replicas_in_sync // len(self._own)
        dataset, own = own_part(dataset, n, self._own[0] // len(self._own)) if n > 1 else (dataset, False)
        return DistributedDataset(dataset, self, Sharing.EACH if own else Sharing.PARTS)

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """Return a dataset of PerReplica elements: one after the other, each for a replica.

        dataset_fn: called with an InputContext it gives a dataset of batches that are one replica's; called once, or
        with InputOptions of PER_REPLICA for each replica, whose dataset it gives.
        """
        n = self.num_replicas_in_sync
        if is_per_replica(options) and len(self._own) > 1:
            datasets = [dataset_fn(InputContext(n, index, n)) for index in self._own]
            return DistributedDataset(side_by_side(datasets), self, Sharing.OWN)
        dataset = dataset_fn(InputContext(n // len(self._own), self._own[0] // len(self._own), n))
        if n == 1:
            return dataset
        dataset, how = one_each(dataset, len(self._own))
        return DistributedDataset(dataset, self, how)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    @of_all_processes
    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Return what `value_fn(ValueContext)` gives for each replica, as one structure of PerReplica values.

        Raises AssertionError where the structures differ.
        """
        n = self.num_replicas_in_sync
        rows = [value_fn(ValueContext(index, n)) for index in self._own]
        if n == 1:
            return rows[0]
        assert_alike(rows)
        return nesting.map_structure(lambda *leaves: PerReplica(leaves), *rows)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of this process's replicas."""
        leaves = [per_replica(leaf) for leaf in nesting.flatten(value)]
        if not nesting.is_nested(value):
            return leaves[0] or (value,)
        n = len(self._own)

        def own(index: int) -> Callable[[Any], Any]:
            return lambda leaf: (per_replica(leaf) or (leaf,) * n)[index]

        return tuple(nesting.map_structure(own(index), value) for index in range(n))

    unwrap = _local_results = experimental_local_results

    # For programs of TensorFlow 1: TensorFlow's classes still have these.

    def make_dataset_iterator(self, dataset: Any) -> RestartedIterator:
        """Return an iterator over a dataset, each batch shared out among the replicas; `initialize` begins it anew."""
        return RestartedIterator(self.experimental_distribute_dataset(dataset))

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: InputReplicationMode = _PER_WORKER
    ) -> RestartedIterator:
        """Return an iterator over what `input_fn` gives: a dataset, or a function called for each replica's element.

        Raises ValueError for another replication mode than PER_WORKER.
        """
        if replication_mode is not _PER_WORKER:
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        n, own = self.num_replicas_in_sync, self._own
        given = input_fn(InputContext(n // len(own), own[0] // len(own), n))
        if callable(given) and not hasattr(given, "element_spec"):
            return RestartedIterator(Calls(self, given))
        return RestartedIterator(self.distribute_datasets_from_function(lambda _: given))

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Return what `run` gives of `fn` with the next element of an iterator, or with nothing."""
        with self.scope():
            return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def group(self, value: Any, name: str | None = None) -> Any:
        """Return `tf.group` of what this process's replicas have of a value."""
        return group(*nesting.flatten(self.experimental_local_results(value)), name=name)

    # For `fit`.

    def _share(self, batch: Any) -> Any:
        """Return a batch as PerReplica values."""
        return parts_of(batch, self)


class _DefaultStrategy(Strategy):
    """The strategy of programs that name none."""

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context like none: the default strategy is no other inside it."""
        if replicas.scopes.stack:
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        yield self

    def run(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, options: object = None) -> Any:
        """Return `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))


class OneDeviceStrategy(Strategy):
    """A program on the device that it names. Source: tf.distribute.OneDeviceStrategy.

    Raises InvalidArgumentError for a device that is not there, and that the CPU may not stand for.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._devices = (device_name(0, part_of(placed(device))),)


class MirroredStrategy(Strategy):
    """Copies of a program on several devices of one machine, kept alike.

    Args:
        devices: The devices, by name: parts of the CPU, which `tf.config.set_logical_device_configuration` makes. None:
            all of them.
        cross_device_ops: How values are added up; every way gives the same sums here.

    Raises:
        InvalidArgumentError: A device is not there, and the CPU may not stand for it.
        AssertionError: A device is named twice.

    Examples:
        >>> strategy = tf.distribute.MirroredStrategy()
        >>> with strategy.scope():
        ...     v = tf.Variable(2.0)
        >>> float(strategy.run(lambda: v * 3.0)), strategy.num_replicas_in_sync
        (6.0, 1)

    Source: tf.distribute.MirroredStrategy.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        super().__init__(None)
        self.extended = StrategyExtended(self, cross_device_ops)
        names = devices or [each.name for each in list_logical_devices("GPU") or list_logical_devices("CPU")]
        if len({name.upper().rpartition("DEVICE:")[2].strip("/") for name in names}) < len(names):
            full = tuple(device_name(0, part_of(placed(name))) for name in names)
            raise AssertionError(f"No duplicates allowed in `devices` argument: {full}")
        self._devices = tuple(device_name(0, part_of(placed(name))) for name in names)


class CentralStorageStrategy(MirroredStrategy):
    """Replicas on several devices, and each Variable once, on one of them.

    Args:
        compute_devices: The replicas' devices, by name. None: the CPU's first part.
        parameter_device: Where Variables lie. None: on the only device, of several on the CPU's first part.

    Raises:
        InvalidArgumentError: A device is not there, and the CPU may not stand for it.
        AssertionError: A device is named twice.

    Source: tf.distribute.experimental.CentralStorageStrategy.
    """

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(compute_devices or [CPU])
        place = parameter_device or (self._devices[0] if len(self._devices) == 1 else CPU)
        self.extended = _CentralStorage(self, device_name(0, part_of(placed(place))))

    def _new(self, next_creator: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        with device(self.extended.parameter_devices[0]):
            first = next_creator(**kwargs)
        return first if isinstance(first, DistributedVariable) else AggregatingVariable([first], self)


class _CentralStorage(StrategyExtended):
    def __init__(self, strategy: Strategy, place: str) -> None:
        super().__init__(strategy)
        self._place = place

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device of Variables: one."""
        return (self._place,)


class _NotBuilt(Strategy):
    _instead = (
        "tf.distribute.MirroredStrategy over parts of the CPU (tf.config.set_logical_device_configuration), or "
        "tf.distribute.MultiWorkerMirroredStrategy in the processes that `mpiexec -n 4 python PROGRAM` starts,"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotBuiltError(f"{type(self).__name__} is not built yet. Use {self._instead} instead.")


@without(
    {
        "tf.distribute.MirroredStrategy": "experimental_assign_to_logical_device "
        "experimental_replicate_to_logical_devices experimental_split_to_logical_devices"
    }
)
class TPUStrategy(_NotBuilt):
    """Copies of a program on TPUs: not built."""


class ParameterServerStrategy(_NotBuilt):
    """Workers that share Variables on other machines: not built."""


default = _DefaultStrategy()
contexts.outside = ReplicaContext(default)


def get_strategy() -> Strategy:
    """Return the strategy in whose scope this is, the default one outside of all. Source: tf.distribute."""
    return replicas.strategy() or default


def has_strategy() -> bool:
    """Return whether this is in the scope of a strategy that the program has chosen."""
    return get_strategy() is not default


_scope: Any = None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Enter the scope of a strategy for the rest of the program, of another one later; None: leave it.

    Raises RuntimeError within a scope. Source: tf.distribute.experimental_set_strategy.
    """
    global _scope
    if len(replicas.scopes.stack) > (_scope is not None):
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if _scope is not None:
        _scope.__exit__(None, None, None)
    _scope = None if strategy is None else strategy.scope()
    if _scope is not None:
        _scope.__enter__()
