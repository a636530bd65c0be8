"""MultiWorkerMirroredStrategy: one replica in each process that MPI has started, by mpi4py (extra `mpi`).

Rule: all processes run the same program; whatever brings values together is called by all of them, in the same order.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import flags
from fastgraph.core.base.dtype import float32, int64
from fastgraph.core.replicas import GRADIENTS, process
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import stack
from fastgraph.ops.python_functions import communicated
from fastgraph.replication import cluster, collectives, slurm
from fastgraph.replication.contexts import check_between, of_all_processes
from fastgraph.replication.reductions import ReduceOp, Way, joined, per_replica, reduced, way
from fastgraph.replication.strategy import Strategy, StrategyExtended

_PACK = 4 << 20  # bytes in a message, where options do not say: 3 ms of a network of 10 Gbit/s, many latencies
_ALONE = 1 << 20  # bytes of a tensor that is sent from where it lies, by itself, where options do not say


class CommunicationImplementation(enum.Enum):
    """Ways that sums take: taken, MPI decides. Source: tf.distribute.experimental.CommunicationImplementation."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@dataclasses.dataclass(frozen=True)
class CommunicationOptions:
    """Options of communication between processes. Source: tf.distribute.experimental.CommunicationOptions.

    bytes_per_pack: how large messages are, 0: 4 MiB. timeout_seconds: how long a process is waited for, None: half an
    hour. implementation: MPI decides. compression: None, or "bfloat16" to send gradients in float32 as bfloat16.
    Raises ValueError for other values.
    """

    bytes_per_pack: int = 0
    timeout_seconds: float | None = None
    implementation: Any = CommunicationImplementation.AUTO
    compression: str | None = None

    def __post_init__(self) -> None:
        if self.bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {self.bytes_per_pack}.")
        if self.compression not in (None, "bfloat16"):
            raise ValueError(f'`compression` must be None or "bfloat16", received {self.compression!r}.')
        given = self.implementation
        if isinstance(given, str):
            given = CommunicationImplementation(given.upper())
        if not isinstance(given, CommunicationImplementation):
            raise ValueError(
                "Argument `implementation` must be instance of "
                "`tf.distribute.experimental.CommunicationImplementation`."
            )
        object.__setattr__(self, "implementation", given)


class CollectiveHints:
    """Make CommunicationOptions of what they once were. Source: tf.distribute.experimental.CollectiveHints.

    bytes_per_pack, timeout_seconds: as of CommunicationOptions. Raises ValueError for a negative bytes_per_pack.
    """

    def __new__(cls, bytes_per_pack: int = 0, timeout_seconds: float | None = None) -> Any:
        """Return the CommunicationOptions."""
        return CommunicationOptions(bytes_per_pack, timeout_seconds)


class _Processes(StrategyExtended):
    """Values of processes brought together: one message for each dtype, in the order of the program."""

    def __init__(self, strategy: Strategy, link: collectives.Link, options: CommunicationOptions) -> None:
        super().__init__(strategy)
        self._link, self.options = link, options
        self.should_checkpoint = self.should_save_summary = link.rank == 0
        self.num_hosts = link.size
        self._task_id = link.rank  # by which Keras 2 names the folders of the others

    def _in_multi_worker_mode(self) -> bool:
        return True

    def total(self, values: Sequence[Any]) -> Any:
        """Return the sum over the replicas of all processes."""
        return self._summed([reduced(ReduceOp.SUM, values)])[0]

    def reduce_to(self, reduce_op: Way, value: Any, destinations: object, options: Any = None) -> Any:
        """Return the sum or mean over all processes, of numbers and tensors too: they may differ."""
        check_between(self._strategy)
        return self.all_reduced(way(reduce_op), [value], options)[0]

    def begin(self, variable: Any) -> None:
        """Let a new Variable have the value that it has in the first process."""
        variable.assign(self.of_first(variable.value()))

    def of_first(self, value: Any) -> Any:
        """Return what the first process has."""
        if self.count == 1:
            return value
        return communicated(lambda array: [self._link.of_first(array)], [value], (value.dtype, 0, None))[0]

    def all_reduced(self, op: ReduceOp, values: Sequence[Any], options: Any = None) -> list[Any]:
        """Return the sums or means over the replicas of all processes."""
        own = [reduced(ReduceOp.SUM, per_replica(value) or (value,) * len(self.worker_devices)) for value in values]
        for_gradients = options is GRADIENTS
        chosen: CommunicationOptions = self.options if options is None or for_gradients else options
        compress = chosen.compression is not None and options is not None
        tensors = [value for value in own if not isinstance(value, IndexedSlices)]
        dense = iter(self._summed(tensors, chosen.bytes_per_pack, compress))
        totals = [self._rows(value) if isinstance(value, IndexedSlices) else next(dense) for value in own]
        return totals if op is ReduceOp.SUM else [_divided(total, self.count) for total in totals]

    def joined(self, values: Sequence[Any], axis: int) -> Any:
        """Return the values of the replicas of all processes joined along an axis."""
        return self._joined([joined(values, axis)], axis)[0]

    def _joined(self, own: list[Any], axis: int) -> list[Any]:
        """Return tensors of all processes, each joined along an axis."""
        if self.count == 1:
            return own

        def all_parts(*arrays: Any) -> list[Any]:
            return [np.concatenate(parts, axis) for parts in self._link.all_gather(arrays, axis)]

        return communicated(all_parts, own, *((tensor.dtype, i, axis) for i, tensor in enumerate(own)))

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
        values, indices = self._joined([slices.values, slices.indices], 0)
        return IndexedSlices(values, indices, slices.dense_shape)

    def _summed(self, tensors: list[Any], pack: int = 0, compress: bool = False) -> list[Any]:
        """Return sums over the processes. Packs leave as soon as they are whole: the last first, as gradients come."""
        if not tensors or self.count == 1:
            return tensors
        wides = [cast(tensor, _wide(tensor.dtype)) for tensor in tensors]
        packs: list[list[int]] = []
        # The pack that is not whole, and its bytes; by dtypes, of which float32 alone is sent in bfloat16.
        open_: dict[Any, tuple[list[int], int]] = {}
        kinds = [(wide.dtype, compress and own.dtype == float32) for wide, own in zip(wides, tensors, strict=True)]
        for i in reversed(range(len(wides))):
            nbytes = (wides[i].shape.num_elements() or 0) * wides[i].dtype.size
            own, size = open_.get(kinds[i], ([], 0))
            if not own or size + nbytes > (pack or _PACK) or (not pack and max(nbytes, size) >= _ALONE):
                own, size = [], 0
                packs.append(own)
            own.insert(0, i)
            open_[kinds[i]] = own, size + nbytes
        begun = []
        for own in packs:
            sent = [wides[i] for i in own]
            halves = [_Half(self._link, kinds[own[0]][1], ends) for ends in (False, True)]
            begun.append((communicated(halves[0], sent, (int64, None, None), early=True)[0], sent, halves[1]))
        sums: dict[int, Any] = {}
        for own, (number, sent, end) in zip(packs, begun, strict=True):
            results = [(tensor.dtype, i + 1, None) for i, tensor in enumerate(sent)]
            found = communicated(end, [number, *sent], *results)  # what is sent stays until then
            sums |= zip(own, found, strict=True)
        return [cast(sums[i], tensor.dtype) for i, tensor in enumerate(tensors)]


class _Half:
    """The beginning of a sum, of tensors -> its number; or its end, of that and the tensors -> the sums."""

    def __init__(self, link: collectives.Link, compress: bool, ends: bool) -> None:
        self._link, self._compress, self._ends = link, compress, ends

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        if self._ends:
            return self._link.end(arrays[0])
        return [self._link.start(arrays, self._compress)]

    def __fg_native__(self, layout: collectives.Layout) -> tuple[int, int]:
        """Return the step in C that does the same for arrays of these dtypes and shapes."""
        return self._link.steps(layout[self._ends :], self._compress)[self._ends]

    def __fg_device__(self, layout: collectives.Layout, gpu: Any) -> tuple[Callable[..., Any], bool] | None:
        """Return what does the same with a GPU's memory, and whether it begins; None: MPI cannot read that."""
        if self._compress or not collectives.takes_memory_of(gpu):
            return None
        link = self._link
        if self._ends:
            return functools.partial(link.end_on_device, gpu, layout[1:]), False
        return functools.partial(link.start_on_device, gpu, layout), True


def _wide(dtype: Any) -> Any:
    """The dtype in which tensors of one are added up."""
    own = np.dtype(dtype.as_numpy_dtype)
    return dtype if own.kind in "iufc" and own.itemsize > 2 else float32


def _divided(total: Any, count: int) -> Any:
    if isinstance(total, IndexedSlices):
        return total.with_values(_divided(total.values, count))
    return total / cast(count, total.dtype)


class MultiWorkerMirroredStrategy(Strategy):
    """Copies of a program in the processes that MPI has started, kept alike: `mpiexec -n 4 python PROGRAM`.

    Raises NotBuiltError without mpi4py or an MPI, ValueError where TF_CONFIG says something else than MPI,
    DeadlineExceededError where a process does not come, FailedPreconditionError where versions or programs differ; what
    waits for a process that has died, hangs or does something else raises UnavailableError, DeadlineExceededError or
    InvalidArgumentError. Source: tf.distribute.MultiWorkerMirroredStrategy.
    """

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        super().__init__()
        world = collectives.world()
        slurm.check(world.size)
        cluster.check(flags.get("tf_config"), world.rank, world.size)
        if cluster_resolver is not None:
            cluster.check(cluster.said_by(cluster_resolver), world.rank, world.size, "The cluster_resolver")
        options = CommunicationOptions() if communication_options is None else communication_options
        if not isinstance(options, CommunicationOptions):
            raise ValueError(
                "`communication_options` must be a tf.distribute.experimental.CommunicationOptions, received "
                f"{communication_options!r}."
            )
        link = collectives.link(options.timeout_seconds)
        self._rank, self._size = link.rank, link.size
        process.number = link.rank
        self.cluster_resolver = cluster_resolver or cluster.resolver(link.rank, link.names)
        self.extended = _Processes(self, link, options)

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas that run together."""
        return int(self._size)

    @property
    def _own(self) -> range:
        return range(self._rank, self._rank + 1)

    _each = of_all_processes(Strategy._each)


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """MultiWorkerMirroredStrategy with the arguments that it had first.

    communication: a CommunicationImplementation. Raises ValueError for what is none.
    Source: tf.distribute.experimental.MultiWorkerMirroredStrategy.
    """

    def __init__(
        self,
        communication: CommunicationImplementation | str = CommunicationImplementation.AUTO,
        cluster_resolver: object = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))
