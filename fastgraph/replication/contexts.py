"""The place of a program of tf.distribute: in a strategy's scope, on one of its replicas, or between them.

Rule: a thread's scopes are a stack (core/replicas.py); outside of all there is the default strategy with one replica.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast

from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int32
from fastgraph.core.conversion import constant, convert_to_tensor
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError, OutOfRangeError
from fastgraph.ops.custom_gradients import custom_gradient
from fastgraph.ops.python_functions import numpy_function
from fastgraph.replication.reductions import ReduceOp, flat_tensors, way
from fastgraph.state.distributed import select, wrapped

#: Arguments for a function, by position and by name.
Args = Sequence[Any]
Named = Mapping[str, Any] | None

outside: Any = None  #: The context of the default strategy, which strategy.py makes.

_Method = TypeVar("_Method", bound=Callable[..., Any])


def of_all_processes(method: _Method) -> _Method:
    """Make a method that all processes call alike: an error of this one, but for the end of data, is noted."""

    @functools.wraps(method)
    def noting(*args: object, **kwargs: object) -> Any:
        begun = replicas.process.begun()
        try:
            return method(*args, **kwargs)
        except (StopIteration, OutOfRangeError):
            raise
        except BaseException:
            replicas.process.note_failure(begun)
            raise

    return cast("_Method", noting)


class InputContext:
    """The part of the input that a process has to read. Source: tf.distribute.InputContext."""

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def __str__(self) -> str:
        of = f"input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines}"
        return f"tf.distribute.InputContext({of})"

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return how many examples a replica gets of a batch. Raises ValueError if they cannot be shared out."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync!r} "
            )
        return global_batch_size // self.num_replicas_in_sync


class ValueContext:
    """The replica that a value is made for. Source: tf.distribute.experimental.ValueContext."""

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self.replica_id_in_sync_group}, "
            f" total replicas in sync: {self.num_replicas_in_sync})"
        )


class ReplicaContext:
    """The replica that a step runs on. Source: tf.distribute.ReplicaContext."""

    def __init__(self, strategy: Any, replica_id_in_sync_group: int = 0) -> None:
        self.strategy = strategy
        self._replica_id = replica_id_in_sync_group
        self.thread: Any = None  # what runs it, where there are several
        self.made: dict[str, int] = {}  # how many Variables of each name this replica's run has made

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """The number of this replica. i32[]."""
        return constant(self._replica_id, int32)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that run together."""
        n: int = self.strategy.num_replicas_in_sync
        return n

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this replica: one."""
        return (self.strategy.extended.worker_devices[self._replica_id - self.strategy._own[0]],)

    def __enter__(self) -> Self:
        replicas.scopes.stack.append((self.strategy, self))
        return self

    def __exit__(self, *exc: object) -> None:
        replicas.scopes.stack.pop()

    def merge_call(self, merge_fn: Callable[..., Any], args: Args = (), kwargs: Named = None) -> Any:
        """Return this replica's part of `merge_fn(strategy, *args, **kwargs)`, called once between the replicas.

        Arguments in which the replicas differ come as PerReplica values. Raises RuntimeError in a nested tf.function,
        and where a replica ends while others wait.
        """
        if self.thread is not None:
            return self.thread.meet(merge_fn, args, dict(kwargs or {}))
        if len(self.strategy._own) > 1:
            raise RuntimeError(
                "This replica has ended: what brings replicas together, and gradients through it, is asked for "
                "on the replica, in what `strategy.run` runs."
            )
        if self.num_replicas_in_sync == 1:
            return merge(self.strategy, merge_fn, args, dict(kwargs or {}))
        return select(merge(self.strategy, merge_fn, wrapped(tuple(args)), wrapped(dict(kwargs or {}))), 0)

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any, options: object = None) -> Any:
        """Return the sum or mean of a value, or of those in a structure, over the replicas. Gradients go through.

        options: CommunicationOptions for processes, instead of those of the strategy.
        """
        op = way(reduce_op)
        alone = self.num_replicas_in_sync == 1
        if alone and options is replicas.GRADIENTS:
            return value
        flat = flat_tensors(value)
        if alone:
            return nesting.pack_sequence_as(value, flat)

        def together(*tensors: Any) -> tuple[Any, ...]:
            if self.thread is not None and self.thread.is_nested():
                return self._met_in_function(op, tensors)
            return tuple(
                self.merge_call(lambda strategy, *all_: strategy.extended.all_reduced(op, all_, options), tensors)
            )

        def reduced(*tensors: Any) -> Any:
            return together(*tensors), lambda *dys: self.all_reduce(op, list(dys))

        plain = not flat or options is replicas.GRADIENTS or any(isinstance(leaf, IndexedSlices) for leaf in flat)
        found = together(*flat) if plain else custom_gradient(reduced)(*flat)
        return nesting.pack_sequence_as(value, list(found))

    def _met_in_function(self, op: ReduceOp, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return sums or means in a Function called on the replica: replicas meet when their graphs run."""
        if any(isinstance(tensor, IndexedSlices) for tensor in tensors):
            tensors = [convert_to_tensor(tensor) for tensor in tensors]
        strategy, mine = self.strategy, self._replica_id - self.strategy._own[0]

        def reduced(*arrays: Any) -> list[Any]:
            def together(strategy: Any, *all_: Any) -> Any:
                return strategy.extended.all_reduced(op, all_)

            given = [convert_to_tensor(array) for array in arrays]
            found: list[Any] = strategy._running[mine].meet(together, given, {}, at_run_time=True)
            return [convert_to_tensor(each).numpy() for each in found]

        found = numpy_function(reduced, list(tensors), [tensor.dtype for tensor in tensors])
        for each, tensor in zip(found, tensors, strict=True):
            each.set_shape(tensor.shape)
        return tuple(found)

    def all_gather(self, value: Any, axis: int, options: object = None) -> Any:
        """Return the values of the replicas joined along an axis, of one tensor or of each in a structure.

        Raises NotImplementedError for IndexedSlices.
        """
        if any(isinstance(leaf, IndexedSlices) for leaf in nesting.flatten(value)):
            raise NotImplementedError("all_gather does not support IndexedSlices")
        if self.num_replicas_in_sync == 1:
            return value
        mine, flat = self._replica_id, flat_tensors(value)

        def joined(*tensors: Any) -> Any:
            def both(strategy: Any, *all_: Any) -> Any:
                return [strategy.gather(each, axis) for each in all_], strategy.extended.places(all_, axis)

            found, places = self.merge_call(both, tensors)

            def backward(*dys: Any) -> Any:
                whole = self.all_reduce(ReduceOp.SUM, list(dys))
                return [self.strategy.extended.cut(dy, at, mine, axis) for dy, at in zip(whole, places, strict=True)]

            return tuple(found), backward

        return nesting.pack_sequence_as(value, list(custom_gradient(joined)(*flat)))


def merge(strategy: Any, merge_fn: Callable[..., Any], args: Args, kwargs: Mapping[str, Any]) -> Any:
    """Return `merge_fn(strategy, *args, **kwargs)`, called between the replicas."""
    replicas.scopes.stack.append((strategy, None))
    try:
        with replicas.acting(None):
            return merge_fn(strategy, *args, **kwargs)
    finally:
        replicas.scopes.stack.pop()


def get_replica_context() -> ReplicaContext | None:
    """Return the context of the replica that runs here, None between replicas. Source: tf.distribute."""
    if not replicas.scopes.stack:
        if outside is None:
            from fastgraph.replication import strategy  # noqa: F401 - which makes it
        return outside  # type: ignore[no-any-return]
    found: ReplicaContext | None = replicas.scopes.stack[-1][1]
    return found


def in_cross_replica_context() -> bool:
    """Return whether this is between replicas: in the scope of a strategy, and not in its `run`."""
    return replicas.between()


def check_between(strategy: Any, instead: str = "Method requires being in cross-replica context, use {}") -> None:
    """Raise RuntimeError on a replica, and in the scope of another strategy."""
    stack = replicas.scopes.stack
    if stack and stack[-1][0] is not strategy:
        raise RuntimeError(f"Mixing different tf.distribute.Strategy objects: {stack[-1][0]!r} is not {strategy!r}")
    if stack and stack[-1][1] is not None:
        raise RuntimeError(instead.format("get_replica_context().merge_call()"))


def maybe_merge_call(fn: Callable[..., Any], strategy: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `fn(strategy, *args, **kwargs)`, called between the replicas."""
    context = get_replica_context()
    return fn(strategy, *args, **kwargs) if context is None else context.merge_call(fn, args, kwargs)


def strategy_supports_no_merge_call() -> bool:
    """Return whether updates of Variables need no meeting of the replicas: they need one, which costs nothing."""
    return False


@contextmanager
def variable_sync_on_read_context() -> Iterator[None]:
    """Enter a context in which Variables that replicas keep their own values of are read as one value.

    They are so between replicas, and where there is one replica. Raises NotBuiltError on one of several replicas.
    """
    context = get_replica_context()
    if context is not None and context.num_replicas_in_sync > 1:
        raise NotBuiltError(
            "tf.__internal__.distribute.variable_sync_on_read_context is not built on one of several replicas: read "
            "the Variable between them, in tf.distribute.get_replica_context().merge_call()."
        )
    yield
