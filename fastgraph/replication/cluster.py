"""Clusters: tasks by the names of their jobs, and what TF_CONFIG says of them.

Rule: addresses are names here; nothing connects to them, MPI does.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastgraph.core.base import flags
from fastgraph.core.base.missing_methods import without
from fastgraph.errors import NotBuiltError


@without({"as_dict": "as_cluster_def"})
class ClusterSpec:
    """The tasks of a cluster: {job: addresses}, or {job: {number: address}}. Source: tf.train.ClusterSpec.

    Raises TypeError for jobs and addresses that are no texts, and for what is no such dict nor a ClusterSpec,
    ValueError for numbers of tasks that are none.
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._tasks
        if not isinstance(cluster, Mapping):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of addresses.")
        self._tasks: dict[str, dict[int, str]] = {}
        for job, tasks in cluster.items():
            if not isinstance(job, str):
                raise TypeError(f"Job name {job!r} must be bytes or unicode")
            listed = tasks if isinstance(tasks, Iterable) else [tasks]
            named = tasks if isinstance(tasks, Mapping) else dict(enumerate(listed))
            known = {int(number): address for number, address in named.items()}
            if isinstance(tasks, str) or not all(isinstance(address, str) for address in known.values()):
                raise TypeError(f"Task addresses of job {job!r} must be strings: {tasks!r}")
            self._tasks[job] = known

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._tasks == other._tasks

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))})"

    def as_dict(self) -> dict[str, Any]:
        """Return the addresses by job: lists, or dicts where numbers are missing."""
        return {
            job: list(tasks.values()) if sorted(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._tasks.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks a job has. Raises ValueError for none such."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the indices of a job's tasks, rising. Raises ValueError for none such."""
        return sorted(self._job(job_name))

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses by index, None where there is no task. Raises ValueError for no such job."""
        job = self._job(job_name)
        return [job.get(i) for i in range(max(job, default=-1) + 1)]

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task. Raises ValueError for none such."""
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return job[task_index]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._tasks:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._tasks[name]


class ClusterResolver(abc.ABC):
    """The base of what knows who takes part: states `cluster_spec` and `master`.

    task_type, task_id, rpc_layer, environment: who this process is, how others are reached, and in what surroundings.
    Source: tf.distribute.cluster_resolver.ClusterResolver.
    """

    task_type: str | None = None
    task_id: Any = None
    rpc_layer: str | None = None
    environment: str | None = ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses by the kind of task."""

    @abc.abstractmethod
    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task's session, or of this process's."""

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return how many devices beside the CPU a task has, by their kinds: none."""
        return {}


class SimpleClusterResolver(ClusterResolver):
    """A cluster as a ClusterSpec says. Source: tf.distribute.cluster_resolver.SimpleClusterResolver.

    Raises TypeError for what is no ClusterSpec.
    """

    def __init__(
        self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None,
        environment: str = "", num_accelerators: dict[str, int] | None = None, rpc_layer: str | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self.environment, self._cluster, self._master = environment, cluster_spec, master
        self._accelerators = num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        """Return the ClusterSpec."""
        return self._cluster

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task, with the layer before it, or the master that was given."""
        master, layer = self._master, rpc_layer or self.rpc_layer
        if task_type is not None and task_id is not None:
            master = self.cluster_spec().task_address(task_type, task_id)
        return f"{layer}://{master}" if layer else master

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the numbers that were given."""
        return self._accelerators or {}


class UnionResolver(SimpleClusterResolver):
    """A cluster of all that several resolvers say; the first one says the rest. Source: tf.distribute, same name.

    Raises ValueError for no resolver and for unknown keywords, TypeError for others than resolvers, KeyError for a task
    with two addresses.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(each, ClusterResolver) for each in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        jobs: dict[str, Any] = {}
        specs = [each.cluster_spec().as_dict() for each in args]
        for job, tasks in ((job, tasks) for spec in specs for job, tasks in spec.items()):
            known = jobs.setdefault(job, [] if all(isinstance(spec.get(job, []), list) for spec in specs) else {})
            if isinstance(known, list):
                known += tasks
                continue
            for number, address in (tasks if isinstance(tasks, Mapping) else dict(enumerate(tasks))).items():
                if known.setdefault(number, address) != address:
                    raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {number!r} of {job!r}")
        said = {key: getattr(args[0], key) for key in ("task_type", "task_id", "rpc_layer", "environment")}
        if unknown := kwargs.keys() - said.keys():
            raise ValueError(f"Unexpected kwargs provided: {', '.join(sorted(unknown))}")
        super().__init__(ClusterSpec(jobs), args[0].master(), **{**said, **kwargs})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task, with `rpc_layer` before it, or the first resolver's master."""
        if task_type is None or task_id is None:
            return self._master
        address = self._cluster.task_address(task_type, task_id)
        return f"{rpc_layer}://{address}" if rpc_layer else address


class TFConfigClusterResolver(ClusterResolver):
    """A cluster, and this process's place in it, as TF_CONFIG says.

    Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
    """

    def __init__(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:  # fmt: skip
        config = flags.get("tf_config")
        task = config.get("task", {})
        self.task_type: str | None = task_type or task.get("type")
        index = task_id if task_id is not None else task.get("index")
        self.task_id: Any = None if index is None else int(index)
        self.rpc_layer = rpc_layer or config.get("rpc_layer")
        self.environment = environment
        self._cluster = ClusterSpec(config.get("cluster") or {})

    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses by the kind of task."""
        return self._cluster

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address of a task or of this process; "" where there is one process."""
        spec, kind = self._cluster, self.task_type if task_type is None else task_type
        if not spec or len([task for job in spec.jobs for task in range(spec.num_tasks(job))]) == 1 or kind is None:
            return ""
        address = spec.task_address(kind, int((self.task_id if task_id is None else task_id) or 0))
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address


def resolver(rank: int, names: Sequence[str]) -> TFConfigClusterResolver:
    """Return who takes part as TF_CONFIG says, where it says who this process is, else as MPI does."""
    found = TFConfigClusterResolver()
    if found.task_type is None:
        found.task_type, found.task_id, found._cluster = "worker", rank, ClusterSpec({"worker": list(names)})
    return found


def said_by(resolver: Any) -> dict[str, Any]:
    """Return what a resolver says in the form of TF_CONFIG. Raises ValueError for what is none."""
    if not isinstance(resolver, ClusterResolver):
        raise ValueError(
            f"`cluster_resolver` must be a tf.distribute.cluster_resolver.ClusterResolver, received {resolver!r}."
        )
    spec, kind, number = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    task = {} if kind is None or number is None else {"type": kind, "index": number}
    return {"cluster": {job: [each for each in spec.job_tasks(job) if each] for job in spec.jobs}, "task": task}


def check(config: dict[str, Any], rank: int, size: int, source: str = "TF_CONFIG") -> None:
    """Raise ValueError where TF_CONFIG, or another source, says something else than MPI.

    NotBuiltError for tasks of other kinds, TypeError where its cluster is none.
    """
    cluster, task = config.get("cluster", {}), config.get("task", {})
    unknown = {*ClusterSpec(cluster).jobs, str(task.get("type", "worker"))} - {"chief", "worker"}
    if unknown:
        raise NotBuiltError(f"Tasks {sorted(unknown)} of {source} are not built yet: only chief and worker are.")
    workers = [*cluster.get("chief", ()), *cluster.get("worker", ())]
    place = int(task.get("index", 0)) + (len(cluster.get("chief", ())) if task.get("type") == "worker" else 0)
    if cluster and len(workers) != size:
        raise ValueError(
            f"{source} names {len(workers)} processes ({', '.join(map(str, workers))}), and MPI has started {size}: "
            f"start the program by `mpiexec -n {len(workers)} python PROGRAM`, or leave it out."
        )
    if task and place != rank:
        raise ValueError(f"{source} says that this is process {place} ({task}), MPI says {rank}: leave its task out.")
