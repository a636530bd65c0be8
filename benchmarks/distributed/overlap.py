"""How much of the communication of a step is hidden behind its backward part: `mpiexec -n 2 python -m ... MODEL STEPS`.

With a third argument, bytes a second, it runs without mpiexec, as one of two processes between which is a network that
takes its time and no processor: what could be hidden on machines of their own.

Three steps of the same model take turns in the same processes, so that other work on the machine is in all of them: one
whose sums begin as gradients are there, one whose sums begin after the backward part, one without any. The first
process prints {"early": seconds, "late": ..., "none": ...} as JSON: medians over the steps, of the slower process; and
of timelines of the first kind in the first process when the first sum begins ("begins"), when the last product of
matrices or convolution ends ("products"), what is computed between them ("meanwhile"), and the whole step ("step").
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

import fastgraph
from benchmarks.distributed.steps import of_tensorflow
from fastgraph.profiling import recording
from fastgraph.replication import collectives, multi_worker

LATENCY = 50e-6  # of the network, in seconds


class _Network:
    """A link to a process that has the same; what is sent waits for what was sent before."""

    rank, size, names = 0, 2, ("here:0", "there:0")

    def __init__(self, bandwidth: float) -> None:
        self._bandwidth, self._free, self._begun = bandwidth, 0.0, {}

    def _sent(self, arrays: Sequence[np.ndarray]) -> float:
        time_taken = 2 * LATENCY + sum(array.nbytes for array in arrays) / self._bandwidth
        self._free = max(self._free, time.perf_counter()) + time_taken
        return self._free

    def start(self, arrays: Sequence[np.ndarray], compress: bool = False) -> int:
        """Begin to add up."""
        number = id(arrays)
        self._begun[number] = _Waiting(self._sent(arrays), arrays)
        return number

    def end(self, number: int) -> list[np.ndarray]:
        """Wait for the sums."""
        return self._begun.pop(number).end()

    def steps(self, layout: object, compress: bool) -> tuple[tuple[int, int], tuple[int, int]]:
        """There are none in C."""
        return (0, 0), (0, 0)

    def all_gather(self, arrays: Sequence[np.ndarray], axis: int = 0) -> list[list[np.ndarray]]:
        """Return what both have."""
        _Waiting(self._sent(arrays), arrays).end()
        return [[array, array] for array in arrays]

    def of_first(self, array: np.ndarray) -> np.ndarray:
        """Return what this process has."""
        return array


class _Waiting(NamedTuple):
    """Sums that are there at a time."""

    until: float
    arrays: Sequence[np.ndarray]

    def end(self) -> list[np.ndarray]:
        """Wait for them."""
        time.sleep(max(0.0, self.until - time.perf_counter()))
        return [array * 2 for array in self.arrays]


_COMMUNICATED, _OWN = multi_worker.communicated, multi_worker._Processes


def _late(*given: Any, early: bool = False) -> Any:
    return _COMMUNICATED(*given)


def traced(kind: str, model: str, size: int) -> Callable[[], Any]:
    """Return a step of a model, traced with sums of one of the three kinds."""
    before = multi_worker.communicated, _OWN._summed, _OWN._joined
    if kind == "late":
        multi_worker.communicated = _late
    try:
        step = of_tensorflow(fastgraph, model, 0, size)
        if kind == "none":
            _OWN._summed = lambda self, tensors, *rest: tensors  # type: ignore[method-assign]
            _OWN._joined = lambda self, own, axis: own  # type: ignore[method-assign]
        step()
    finally:
        multi_worker.communicated, _OWN._summed, _OWN._joined = before  # type: ignore[method-assign]
    return step


def seen(step: Callable[[], Any]) -> dict[str, float]:
    """Return when the sums of a step begin and its products end, in seconds, as its timeline has it."""
    with recording.record() as found:
        step()
    calls = [event for event in found.events if event.kind == "call"]
    events = [event for event in found.events if event.kind != "call"]
    sums = [event.begin for event in events if event.name == "communicate"]
    products = [event.end for event in events if "matmul" in event.name or "conv" in event.name]
    if not sums or not products:  # not compiled yet
        return {}
    began, first, last = min(event.begin for event in calls), min(sums), max(products)
    others = [event for event in events if event.name != "communicate" and first <= event.begin < last]
    times = {
        "begins": first - began,
        "products": last - began,
        "meanwhile": sum(event.end - event.begin for event in others),
        "step": max(event.end for event in calls) - began,
    }
    return {name: time / 1e9 for name, time in times.items()}


def main(model: str, steps: int, bandwidth: float) -> None:
    """Measure, and print what was found."""
    world, kinds = MPI.COMM_WORLD, ("early", "late", "none")
    if bandwidth:
        network: Any = _Network(bandwidth)
        collectives.world, collectives.link = (lambda: network), (lambda limit: network)
    made = {kind: traced(kind, model, 2 if bandwidth else world.size) for kind in kinds}
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
    timelines = [found for _ in range(9) if (found := seen(made["early"]))]
    if world.rank == 0:
        result = {kind: statistics.median(found) for kind, found in times.items()}
        result |= {name: statistics.median([each[name] for each in timelines]) for name in (timelines or [{}])[0]}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
