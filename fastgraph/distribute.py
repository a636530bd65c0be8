"""tf.distribute: the strategy of one process on one device, which is what every program runs under here.

Rule: one replica. Strategies of several devices or machines are named, and say that they are not built.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from fastgraph.api.namespaces import lookup
from fastgraph.core.devices import CPU
from fastgraph.core.registry import public_function
from fastgraph.errors import NotBuiltError
from fastgraph.state.variable import Variable, VariableAggregation

__all__ = [
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "InputContext",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "ReplicaContext",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]

__getattr__, __dir__ = lookup("distribute")


#: Arguments for a function, by position and by name.
Args = Sequence[Any]
Named = Mapping[str, Any] | None


class DistributedValues:
    """Values of which each replica has its own; with one replica no value is one."""


class DistributedDataset:
    """A dataset of which each replica gets a part; with one replica datasets stay as they are."""


class DistributedIterator:
    """An iterator over a DistributedDataset."""


class ReduceOp:
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> str:
        """Return the way that an aggregation of Variables names."""
        return {"SUM": ReduceOp.SUM, "MEAN": ReduceOp.MEAN}[aggregation.name]


class InputContext:
    """Which part of the input a process has to read: all of it."""

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return how many examples a replica gets of a batch. Raises ValueError if they cannot be shared out."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync!r} "
            )
        return global_batch_size // self.num_replicas_in_sync


class _Scopes(threading.local):
    """Whose scope this thread is in: pairs of a strategy and its replica's context, None between replicas."""

    def __init__(self) -> None:
        self.stack: list[tuple[Strategy, ReplicaContext | None]] = []


_scopes = _Scopes()


class ReplicaContext:
    """The replica that a step runs on. Source: tf.distribute.ReplicaContext."""

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: int = 0) -> None:
        self.strategy = strategy
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = 1
        self.devices = (CPU,)

    def __enter__(self) -> Self:
        _scopes.stack.append((self.strategy, self))
        return self

    def __exit__(self, *exc: object) -> None:
        _scopes.stack.pop()

    def merge_call(self, merge_fn: Callable[..., Any], args: Args = (), kwargs: Named = None) -> Any:
        """Return `merge_fn(strategy, *args)`, called between the replicas."""
        _scopes.stack.append((self.strategy, None))
        try:
            return merge_fn(self.strategy, *args, **(kwargs or {}))
        finally:
            _scopes.stack.pop()

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any, options: object = None) -> Any:
        """Return the sum or mean of a value over the replicas: the value."""
        return value

    def all_gather(self, value: Any, axis: int, options: object = None) -> Any:
        """Return the values of the replicas joined along an axis: the value."""
        return value


class StrategyExtended:
    """The part of a strategy that libraries ask beyond its public methods. Source: tf.distribute.StrategyExtended."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self.worker_devices = (CPU,)
        self.parameter_devices = (CPU,)
        self.should_checkpoint = True
        self.should_save_summary = True
        self.experimental_require_static_shapes = False
        self.num_hosts = 1
        self.num_replicas_per_host = 1

    def _in_multi_worker_mode(self) -> bool:
        """Return whether several machines take part."""
        return False

    def _use_merge_call(self) -> bool:
        return True

    def update(
        self, var: Variable, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, group: bool = True
    ) -> Any:
        """Return `fn(var, *args)`: each replica's copy of a Variable is updated."""
        return fn(var, *args, **(kwargs or {}))

    def call_for_each_replica(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None) -> Any:
        """Return `fn(*args, **kwargs)` of the one replica."""
        with ReplicaContext(self._strategy):
            return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: object, options: object = None) -> Any:
        """Return the sum or mean of a value over the replicas: the value."""
        return value

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Iterable[tuple[Any, Any]], options: object = None
    ) -> list[Any]:
        """Return what `reduce_to` gives for each pair."""
        return [value for value, _ in value_destination_pairs]

    def colocate_vars_with(self, colocate_with_variable: object) -> Any:
        """Return a context whose Variables lie where another one lies."""
        return contextlib.nullcontext()

    def variable_created_in_scope(self, v: object) -> bool:
        """Return whether a Variable was made in a scope of this strategy: all are of the same kind."""
        return True

    def value_container(self, value: Any) -> Any:
        """Return what holds the replicas' values of which `value` is one: itself."""
        return value


class Strategy:
    """How a program runs on devices: here as it is, on one. Source: tf.distribute.Strategy."""

    def __init__(self, extended: object = None) -> None:
        self.extended = StrategyExtended(self)
        self.num_replicas_in_sync = 1
        self.cluster_resolver = None

    def __repr__(self) -> str:
        return f"<fastgraph.distribute.{type(self).__name__} on {CPU}>"

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this is the strategy of what is made."""
        _scopes.stack.append((self, None))
        try:
            yield self
        finally:
            _scopes.stack.pop()

    def run(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, options: object = None) -> Any:
        """Return `fn(*args, **kwargs)` of the one replica."""
        with ReplicaContext(self):
            return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Return the sum or mean of the replicas' values; with `axis`, over that axis as well."""
        if axis is None:
            return value
        word = getattr(reduce_op, "name", reduce_op).upper()
        return public_function("reduce_mean" if word == "MEAN" else "reduce_sum")(value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """Return the replicas' values joined along an axis: the value."""
        return value

    def experimental_distribute_dataset(self, dataset: Any, options: object = None) -> Any:
        """Return the dataset: one replica gets all of it."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: object = None
    ) -> Any:
        """Return `dataset_fn(InputContext())`."""
        return dataset_fn(InputContext())

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """Return the one replica's value."""
        return value_fn(ReplicaContext(self))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Return the values of this process's replicas: one."""
        return (value,)


class _DefaultStrategy(Strategy):
    """The strategy of programs that name none."""

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context like none: the default strategy is no other inside it."""
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        yield self

    def run(self, fn: Callable[..., Any], args: Args = (), kwargs: Named = None, options: object = None) -> Any:
        """Return `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))


class OneDeviceStrategy(Strategy):
    """A program on the device that it names. Source: tf.distribute.OneDeviceStrategy."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device


class MirroredStrategy(Strategy):
    """Copies of a program on several devices of one machine: here on the one there is.

    Args:
        devices: A list of one device, or None.
        cross_device_ops: Taken and without effect: nothing crosses devices.

    Raises:
        NotBuiltError: More devices are asked for.

    Examples:
        >>> strategy = tf.distribute.MirroredStrategy()
        >>> with strategy.scope():
        ...     v = tf.Variable(2.0)
        >>> float(strategy.run(lambda: v * 3.0)), strategy.num_replicas_in_sync
        (6.0, 1)

    Source: tf.distribute.MirroredStrategy.
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: object = None) -> None:
        if devices is not None and len(devices) > 1:
            raise NotBuiltError(
                f"MirroredStrategy of {len(devices)} devices is not built yet: fastgraph has one device, {CPU}, whose "
                "threads share the work of each op. Leave the argument out."
            )
        super().__init__()


class _NotBuiltStrategy(Strategy):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotBuiltError(
            f"{type(self).__name__} is not built yet: fastgraph runs in one process on one device, {CPU}. Use the "
            "default strategy (tf.distribute.get_strategy()), under which programs run unchanged."
        )


class TPUStrategy(_NotBuiltStrategy):
    """Copies of a program on TPUs: not built."""


class MultiWorkerMirroredStrategy(_NotBuiltStrategy):
    """Copies of a program on several machines: not built."""


class ParameterServerStrategy(_NotBuiltStrategy):
    """Workers that share Variables on other machines: not built."""


_default = _DefaultStrategy()


def get_strategy() -> Strategy:
    """Return the strategy in whose scope this is, the default one outside of all. Source: tf.distribute."""
    return _scopes.stack[-1][0] if _scopes.stack else _default


def has_strategy() -> bool:
    """Return whether this is in the scope of a strategy that the program has chosen."""
    return bool(_scopes.stack) and _scopes.stack[-1][0] is not _default


def get_replica_context() -> ReplicaContext | None:
    """Return the context of the replica that runs here, None between replicas."""
    return _scopes.stack[-1][1] if _scopes.stack else ReplicaContext(_default)


def in_cross_replica_context() -> bool:
    """Return whether this is between replicas: in the scope of a strategy, and not in its `run`."""
    return bool(_scopes.stack) and _scopes.stack[-1][1] is None


def strategy_supports_no_merge_call() -> bool:
    """Return whether updates of Variables need no meeting of the replicas: they need one, which costs nothing."""
    return False


def maybe_merge_call(fn: Callable[..., Any], strategy: Strategy, *args: Any, **kwargs: Any) -> Any:
    """Return `fn(strategy, *args, **kwargs)`, called between the replicas."""
    context = get_replica_context()
    return fn(strategy, *args, **kwargs) if context is None else context.merge_call(fn, args, kwargs)
