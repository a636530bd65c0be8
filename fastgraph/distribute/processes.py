"""MultiWorkerMirroredStrategy: one replica in each process that MPI has started, by mpi4py (extra `mpi`).

Rule: all processes run the same program; whatever brings values together is called by all of them, in the same order.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base import flags
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.distribute.reductions import ReduceOp, joined, per_replica, reduced
from fastgraph.distribute.strategy import Strategy, StrategyExtended
from fastgraph.errors import NotBuiltError
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import stack
from fastgraph.ops.python_functions import numpy_function


class CommunicationOptions(NamedTuple):
    """How processes communicate: MPI decides. Source: tf.distribute.experimental.CommunicationOptions."""

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: Any = None


class TFConfigClusterResolver:
    """Who takes part, and who this process is: as TF_CONFIG says.

    Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
    """

    def __init__(self, task_type: str | None = None, task_id: int | None = None, **_: Any) -> None:
        config = flags.get("tf_config")
        task = config.get("task", {})
        self.task_type: str | None = task_type or task.get("type")
        self.task_id: Any = task_id if task_id is not None else task.get("index")
        self._cluster: dict[str, list[str]] = dict(config.get("cluster") or {})

    def cluster_spec(self) -> dict[str, list[str]]:
        """Return the addresses by the kind of task."""
        return self._cluster


def _world() -> Any:
    try:
        mpi: Any = importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise NotBuiltError(
            f"MultiWorkerMirroredStrategy needs mpi4py and an MPI ({error}): pip install fastgraph[mpi], and start the "
            "program by `mpiexec -n 4 python PROGRAM`. In one process use tf.distribute.MirroredStrategy."
        ) from None
    return mpi.COMM_WORLD


def _ending(hook: Any, world: Any) -> Any:
    """An excepthook that ends all processes with one that fails: the others would wait for it for ever."""

    def ending(*error: Any) -> None:
        hook(*error)
        print(f"Process {world.rank} of {world.size} failed: all are ended.", file=sys.stderr, flush=True)
        world.Abort(1)

    ending.ends_all = True  # type: ignore[attr-defined]
    return ending


def _check(config: dict[str, Any], rank: int, size: int) -> None:
    """Raise ValueError where TF_CONFIG says something else than MPI."""
    cluster, task = config.get("cluster", {}), config.get("task", {})
    unknown = set(cluster) - {"chief", "worker"}
    if unknown:
        raise NotBuiltError(f"Tasks {sorted(unknown)} of TF_CONFIG are not built yet: only chief and worker are.")
    workers = [*cluster.get("chief", ()), *cluster.get("worker", ())]
    place = int(task.get("index", 0)) + (len(cluster.get("chief", ())) if task.get("type") == "worker" else 0)
    if cluster and len(workers) != size:
        raise ValueError(
            f"TF_CONFIG names {len(workers)} processes ({', '.join(map(str, workers))}), and MPI has started {size}: "
            f"start the program by `mpiexec -n {len(workers)} python PROGRAM`, or leave TF_CONFIG out."
        )
    if task and place != rank:
        raise ValueError(
            f"TF_CONFIG says that this is process {place} ({task}), MPI says {rank}: leave TF_CONFIG's task out."
        )


class _Processes(StrategyExtended):
    """Values of processes brought together: one message for each dtype, in the order of the program."""

    def __init__(self, strategy: Strategy, world: Any) -> None:
        super().__init__(strategy)
        self._world = world
        self.should_checkpoint = self.should_save_summary = world.rank == 0
        self.num_hosts = world.size

    def _in_multi_worker_mode(self) -> bool:
        return True

    def total(self, values: Sequence[Any]) -> Any:
        """Return the sum over the replicas of all processes."""
        return self._summed([reduced(ReduceOp.SUM, values)])[0]

    def begin(self, variable: Any) -> None:
        """Let a new Variable have the value that it has in the first process."""
        variable.assign(self.of_first(variable.value()))

    def of_first(self, value: Any) -> Any:
        """Return what the first process has."""
        found = numpy_function(lambda array: np.asarray(self._world.bcast(array), array.dtype), [value], value.dtype)
        found.set_shape(value.shape)
        return found

    def all_reduced(self, op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        """Return the sums or means over the replicas of all processes."""
        own = [reduced(ReduceOp.SUM, per_replica(value) or (value,) * len(self.worker_devices)) for value in values]
        dense = iter(self._summed([value for value in own if not isinstance(value, IndexedSlices)]))
        totals = [self._rows(value) if isinstance(value, IndexedSlices) else next(dense) for value in own]
        return totals if op is ReduceOp.SUM else [_divided(total, self.count) for total in totals]

    def joined(self, values: Sequence[Any], axis: int) -> Any:
        """Return the values of the replicas of all processes joined along an axis."""
        own = joined(values, axis)
        dtype = own.dtype.as_numpy_dtype

        def all_parts(array: Any) -> Any:
            return np.concatenate(self._world.allgather(array), axis).astype(dtype)

        found = numpy_function(all_parts, [own], own.dtype)
        dims = own.shape.as_list()
        dims[axis] = None
        found.set_shape(dims)
        return found

    def places(self, values: Sequence[Any], axis: int) -> list[Any]:
        """Return, for each value, how long each replica's part is along an axis."""
        found = []
        for lengths in super().places(values, axis):
            own = [cast(length, "int64") for length in lengths]
            whole = self.joined([stack(own)], 0)
            whole.set_shape([self.count])
            found.append(tuple(whole[i] for i in range(self.count)))
        return found

    def _rows(self, slices: IndexedSlices) -> IndexedSlices:
        return IndexedSlices(self.joined([slices.values], 0), self.joined([slices.indices], 0), slices.dense_shape)

    def _summed(self, tensors: list[Any]) -> list[Any]:
        if not tensors:
            return []

        def add(*arrays: np.ndarray) -> list[np.ndarray]:
            found: list[Any] = [None] * len(arrays)
            for dtype in dict.fromkeys(array.dtype for array in arrays):
                places = [i for i, array in enumerate(arrays) if array.dtype == dtype]
                packed = np.concatenate([np.ravel(arrays[i]) for i in places])
                wide = packed if dtype.kind in "iufc" and dtype.itemsize > 2 else packed.astype(np.float32)
                total = np.empty_like(wide)
                self._world.Allreduce(wide, total)
                ends = np.cumsum([arrays[i].size for i in places])[:-1]
                for i, part in zip(places, np.split(total.astype(dtype), ends), strict=True):
                    found[i] = part.reshape(arrays[i].shape)
            return found

        sums = numpy_function(add, tensors, [tensor.dtype for tensor in tensors])
        for total, tensor in zip(sums, tensors, strict=True):
            total.set_shape(tensor.shape)
        return list(sums)


def _divided(total: Any, count: int) -> Any:
    if isinstance(total, IndexedSlices):
        return total.with_values(_divided(total.values, count))
    return total / cast(count, total.dtype)


class MultiWorkerMirroredStrategy(Strategy):
    """Copies of a program in the processes that MPI has started, kept alike: `mpiexec -n 4 python PROGRAM`.

    communication_options are taken and without effect: MPI decides. Raises NotBuiltError without mpi4py or an MPI,
    ValueError where TF_CONFIG says something else than MPI. Source: tf.distribute.MultiWorkerMirroredStrategy.
    """

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        super().__init__()
        world = _world()
        _check(flags.get("tf_config"), world.rank, world.size)
        self._rank, self._size = world.rank, world.size
        self.cluster_resolver = cluster_resolver or TFConfigClusterResolver()
        if cluster_resolver is None and self.cluster_resolver.task_type is None:  # MPI alone says who this is
            self.cluster_resolver = TFConfigClusterResolver("worker", world.rank)
        self.extended = _Processes(self, world)
        if world.size > 1 and not getattr(sys.excepthook, "ends_all", False):
            sys.excepthook = _ending(sys.excepthook, world)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run together."""
        return int(self._size)

    @property
    def _own(self) -> range:
        return range(self._rank, self._rank + 1)
