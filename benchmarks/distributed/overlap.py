"""How much of the communication of a step is hidden behind its backward part: `mpiexec -n 2 python -m ... MODEL STEPS`.

Three steps of the same model take turns in the same processes, so that other work on the machine is in all of them: one
whose sums begin as gradients are there, one whose sums begin after the backward part, one without any. The first
process prints {"early": seconds, "late": ..., "none": ...} as JSON: medians over the steps, of the slower process.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

import fastgraph
from benchmarks.distributed.steps import of_tensorflow
from fastgraph.replication import processes

_COMMUNICATED, _OWN = processes.communicated, processes._Processes


def _late(*given: Any, early: bool = False) -> Any:
    return _COMMUNICATED(*given)


def traced(kind: str, model: str) -> Callable[[], Any]:
    """Return a step of a model, traced with sums of one of the three kinds."""
    before = processes.communicated, _OWN._summed, _OWN._joined
    if kind == "late":
        processes.communicated = _late
    try:
        step = of_tensorflow(fastgraph, model, 0, MPI.COMM_WORLD.size)
        if kind == "none":
            _OWN._summed = lambda self, tensors, *rest: tensors  # type: ignore[method-assign]
            _OWN._joined = lambda self, own, axis: own  # type: ignore[method-assign]
        step()
    finally:
        processes.communicated, _OWN._summed, _OWN._joined = before  # type: ignore[method-assign]
    return step


def main(model: str, steps: int) -> None:
    """Measure, and print what was found."""
    world, kinds = MPI.COMM_WORLD, ("early", "late", "none")
    made = {kind: traced(kind, model) for kind in kinds}
    until = time.perf_counter() + 8.0  # until the kernels are compiled
    while world.allreduce(float(time.perf_counter() < until), MPI.MAX):
        for step in made.values():
            step()
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(steps):
        for kind, step in made.items():
            world.Barrier()
            began = time.perf_counter()
            step()
            times[kind].append(float(world.allreduce(time.perf_counter() - began, MPI.MAX)))
    if world.rank == 0:
        print(json.dumps({kind: statistics.median(found) for kind, found in times.items()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
