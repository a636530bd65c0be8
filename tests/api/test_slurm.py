"""Clusters as Slurm's environment describes them."""

from __future__ import annotations

import os
from typing import Any

import pytest

import fastgraph as tf
from fastgraph.replication import slurm
from tests.api.test_processes import needs_mpi, started

make = tf.distribute.cluster_resolver.SlurmClusterResolver
STEP = {"PROCID": "3", "STEP_NUM_TASKS": "6", "STEP_NODELIST": "t02n[13,41-42]", "STEP_TASKS_PER_NODE": "3,2,1"}


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in STEP.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return monkeypatch


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-2],m5,o[3-4,6,7-9]", ["n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"]),
        ("a[098-101]", ["a098", "a099", "a100", "a101"]),
        ("b,c[2]", ["b", "c2"]),
    ],
)
def test_lists_of_nodes(text: str, names: list[str]) -> None:
    assert slurm.hosts(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "n[a]", "n]1", ",a", "a,,b"])
def test_what_is_no_list_of_nodes_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid hostlist format"):
        slurm.hosts(text)


def test_numbers_of_tasks() -> None:
    assert slurm.tasks_of_nodes("3(x2),2,1") == [3, 3, 2, 1]
    with pytest.raises(ValueError, match="Invalid tasks-per-node list format"):
        slurm.tasks_of_nodes("3(x2,1")


@pytest.mark.usefixtures("step")
def test_the_tasks_of_a_step() -> None:
    one = make()
    assert (one.get_task_info(), one.master()) == ((None, None), "")
    assert one.cluster_spec().as_dict() == {
        "worker": ["t02n13:8888", "t02n13:8889", "t02n13:8890", "t02n41:8888", "t02n41:8889", "t02n42:8888"]
    }
    assert one.get_task_info() == ("worker", 3) and one.num_accelerators() == {"GPU": 0}
    assert one.master() == "grpc://t02n41:8888" and one.master("worker", 0, "x") == "x://t02n13:8888"


def test_jobs_and_gpus_of_a_step(step: Any) -> None:
    step.setenv("SLURM_STEP_TASKS_PER_NODE", "2(x3)")
    one = make({"ps": 2, "worker": 4}, 10, gpus_per_node=4)
    assert one.cluster_spec().as_dict() == {
        "ps": ["t02n13:10", "t02n13:11"], "worker": ["t02n41:10", "t02n41:11", "t02n42:10", "t02n42:11"],
    }  # fmt: skip
    assert (one.task_type, one.task_id, os.environ["CUDA_VISIBLE_DEVICES"]) == ("worker", 1, "2,3")
    step.setenv("CUDA_VISIBLE_DEVICES", "7")
    make(gpus_per_node=4, tasks_per_node=2, auto_set_gpu=False).cluster_spec()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"
    same = make(tasks_per_node={"b": 1, "a": 5}, port_base=1, gpus_per_task=0).cluster_spec().as_dict()["worker"]
    assert same == ["a:1", "a:2", "a:3", "a:4", "a:5", "b:1"]


def test_what_slurm_does_not_have_is_an_error(step: Any) -> None:
    with pytest.raises(RuntimeError, match="Requested more GPUs per node than available"):
        make(gpus_per_node=2, gpus_per_task=1)
    with pytest.raises(RuntimeError, match="Requested 7 tasks but only 6 were assigned"):
        make({"worker": 7})
    step.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="PROCID not found in environment"):
        make()


@needs_mpi
def test_processes_that_mpi_does_not_know_of_are_an_error() -> None:
    found = started(["-c", "import fastgraph as tf; tf.distribute.MultiWorkerMirroredStrategy()"], 1,
                    SLURM_STEP_NUM_TASKS="2")  # fmt: skip
    assert found.returncode != 0 and "Slurm has started 2 processes, and MPI knows of this one alone" in found.stderr


@needs_mpi
def test_a_strategy_takes_the_tasks_of_a_step() -> None:
    program = (
        "import os, fastgraph as tf\n"
        "os.environ |= {'SLURM_PROCID': os.environ['PMI_RANK'], 'SLURM_STEP_NUM_TASKS': '2'}\n"
        "os.environ |= {'SLURM_STEP_NODELIST': 'n[1-2]', 'SLURM_STEP_TASKS_PER_NODE': '1(x2)'}\n"
        "resolver = tf.distribute.cluster_resolver.SlurmClusterResolver()\n"
        "strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)\n"
        "print('as', strategy.cluster_resolver.task_id, strategy.cluster_resolver.master())\n"
    )
    found = started(["-c", program])
    assert sorted(found.stdout.split("\n")) == ["", "as 0 grpc://n1:8888", "as 1 grpc://n2:8888"], found.stderr
