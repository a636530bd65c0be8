"""Who takes part: a cluster's tasks by the names of their jobs, and what TF_CONFIG says of them.

Rule: addresses are names here; nothing connects to them, MPI does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastgraph.core.base import flags
from fastgraph.errors import NotBuiltError


class ClusterSpec:
    """The tasks of a cluster: {job: addresses}, or {job: {number: address}}. Source: tf.train.ClusterSpec.

    Raises TypeError for addresses that are no texts, and for what is no such dict nor a ClusterSpec.
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._tasks
        if not isinstance(cluster, Mapping):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of addresses.")
        self._tasks: dict[str, dict[int, str]] = {}
        for job, tasks in cluster.items():
            known = dict(tasks) if isinstance(tasks, Mapping) else dict(enumerate(tasks))
            if isinstance(tasks, str) or not all(isinstance(address, str) for address in known.values()):
                raise TypeError(f"Task addresses of job {job!r} must be strings: {tasks!r}")
            self._tasks[job] = known

    def __bool__(self) -> bool:
        return bool(self._tasks)

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


class TFConfigClusterResolver:
    """Who takes part, and who this process is: as TF_CONFIG says.

    Source: tf.distribute.cluster_resolver.TFConfigClusterResolver.
    """

    def __init__(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:  # fmt: skip
        config = flags.get("tf_config")
        task = config.get("task", {})
        self.task_type: str | None = task_type or task.get("type")
        self.task_id: Any = task_id if task_id is not None else task.get("index")
        self.rpc_layer = rpc_layer or config.get("rpc_layer")
        self.environment = environment
        self._cluster = ClusterSpec(config.get("cluster") or {})

    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses by the kind of task."""
        return self._cluster


def resolver(rank: int, names: Sequence[str]) -> TFConfigClusterResolver:
    """Return who takes part as TF_CONFIG says, where it says who this process is, else as MPI does."""
    found = TFConfigClusterResolver()
    if found.task_type is None:
        found.task_type, found.task_id, found._cluster = "worker", rank, ClusterSpec({"worker": list(names)})
    return found


def check(config: dict[str, Any], rank: int, size: int) -> None:
    """Raise ValueError where TF_CONFIG says something else than MPI, NotBuiltError for tasks of other kinds."""
    cluster, task = config.get("cluster", {}), config.get("task", {})
    unknown = (set(cluster) | {task.get("type", "worker")}) - {"chief", "worker"}
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
