"""A cluster as Slurm's environment describes it: the nodes of a job step, and how many tasks each has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from fastgraph.core import gpus
from fastgraph.core.base import flags
from fastgraph.replication.cluster import ClusterResolver, ClusterSpec

#: A name between commas, with at most one range of numbers in it, at its end.
_HOSTS = re.compile(r"([^,\[\]]*)(?:\[([^\[\]]+)\])?(?:,|$)")
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def _said(name: str) -> str:
    text = flags.of_others(f"SLURM_{name}", "")
    if not text:
        raise RuntimeError(f"SLURM_{name} not found in environment. Not running inside a SLURM step?")
    return text


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


def hosts(text: str) -> list[str]:
    """Return the names in a list of Slurm's: "n[1-2],m5" -> n1, n2, m5. Raises ValueError for what is none."""
    found, at = [], 0
    while at < len(text):
        match = _HOSTS.match(text, at)
        try:
            if match is None or match.end() == at or match.group() == ",":
                raise ValueError(f"{text[at:]!r} is no name")
            name, ranges = match.groups()
            found += [name] if ranges is None else [name + number for number in _numbers(ranges)]
        except ValueError as error:
            raise ValueError(f'Invalid hostlist format "{text}": {error}') from None
        at = match.end()
    return found


def tasks_of_nodes(text: str) -> list[int]:
    """Return the numbers in a list of Slurm's: "3(x2),1" -> 3, 3, 1. Raises ValueError for what is none."""
    found = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part)
        if match is None:
            raise ValueError(f'Invalid tasks-per-node list format "{text}": {part!r} is no number of tasks')
        found += [int(match[1])] * int(match[2] or 1)
    return found


class SlurmClusterResolver(ClusterResolver):
    """The tasks of a job step of Slurm's. Source: tf.distribute.cluster_resolver.SlurmClusterResolver.

    jobs: {name: number of tasks}, all are workers by default; port_base: of the first task of a node; tasks_per_node:
    one number, {node: number}, or as Slurm says; gpus_per_node, gpus_per_task: as many as there are, shared evenly;
    auto_set_gpu: CUDA_VISIBLE_DEVICES has this task's when `cluster_spec` is asked for. Raises RuntimeError outside of
    a step, for more tasks than there are, and for more GPUs; ValueError for lists that are not Slurm's.
    """

    def __init__(
        self, jobs: Mapping[str, int] | None = None, port_base: int = 8888, gpus_per_node: int | None = None,
        gpus_per_task: int | None = None, tasks_per_node: int | Mapping[str, int] | None = None,
        auto_set_gpu: bool = True, rpc_layer: str | None = "grpc",
    ) -> None:  # fmt: skip
        self._rank, self.rpc_layer, self._sets_gpu = int(_said("PROCID")), rpc_layer, auto_set_gpu
        self._jobs = {"worker": int(_said("STEP_NUM_TASKS"))} if jobs is None else dict(jobs)
        if isinstance(tasks_per_node, Mapping):
            nodes = dict(tasks_per_node)
        else:
            names = hosts(_said("STEP_NODELIST"))
            given = tasks_per_node is None and tasks_of_nodes(_said("STEP_TASKS_PER_NODE"))
            nodes = dict(zip(names, given or [int(tasks_per_node or 0)] * len(names), strict=False))
        most = max(nodes.values())
        visible = flags.of_others("CUDA_VISIBLE_DEVICES", "")
        there = len(visible.split(",")) if visible else len(gpus.found())
        self._of_node = there if gpus_per_node is None else gpus_per_node
        self._of_task = self._of_node // most if gpus_per_task is None else gpus_per_task
        if most * self._of_task > self._of_node:
            raise RuntimeError("Requested more GPUs per node than available.")
        if sum(self._jobs.values()) != sum(nodes.values()):
            raise RuntimeError(
                f"Requested {sum(self._jobs.values())} tasks but only {sum(nodes.values())} were assigned."
            )
        #: (address, number of its first GPU) of each task.
        self._tasks = [
            (f"{node}:{port_base + i}", i * self._of_task)
            for node, count in sorted(nodes.items())
            for i in range(count)
        ]

    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses by the kind of task; find out which of them this process is."""
        jobs, first = {}, 0
        for job, count in sorted(self._jobs.items()):
            jobs[job] = [address for address, _ in self._tasks[first : first + count]]
            if first <= self._rank < first + count:
                self.task_type, self.task_id = job, self._rank - first
            first += count
        if self._sets_gpu and self._of_task:
            start = self._tasks[self._rank][1]
            flags.tell_others("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(start, start + self._of_task))))
        return ClusterSpec(jobs)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Return which kind of task this process is, and its number; None before `cluster_spec` was asked for."""
        return self.task_type, self.task_id

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task, by default this process's; "" where that is not known yet."""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None or number is None:
            return ""
        address, layer = self.cluster_spec().task_address(kind, number), rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:
        """Return the number of GPUs that a task has."""
        return {"GPU": self._of_task}


def check(size: int) -> None:
    """Raise ValueError where Slurm has started several processes that MPI takes for one each."""
    tasks = int(flags.of_others("SLURM_STEP_NUM_TASKS", "1"))
    if size == 1 and tasks > 1:
        raise ValueError(
            f"Slurm has started {tasks} processes, and MPI knows of this one alone: start them by `srun --mpi=pmi2 "
            "python PROGRAM` with MPICH, by `srun --mpi=pmix python PROGRAM` with Open MPI."
        )
