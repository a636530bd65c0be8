"""Sums of arrays over processes, through fastgraph and by mpi4py alone, in turn: `mpiexec -n 2 python -m ...`.

The first process prints [[bytes, seconds by fastgraph, by mpi4py's Allreduce], ...] as JSON: medians over the rounds,
which are short and take turns, so that other work on the machine is in both.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np
from mpi4py import MPI

from fastgraph.replication import collectives


def main(rounds: int) -> None:
    """Measure."""
    link, world, rows = collectives.link(60.0), MPI.COMM_WORLD, []
    for n in [1 << power for power in range(0, 25, 3)]:
        given, total = np.ones(n, np.float32), np.empty(n, np.float32)
        ways = (lambda: link.all_reduce([given]), lambda: world.Allreduce(given, total))  # noqa: B023 (used here)
        times: list[list[float]] = [[], []]
        repeat = max(1, min(10, (1 << 18) // n))
        for _ in range(max(5, rounds * min(10, (1 << 22) // n))):
            for way, found in zip(ways, times, strict=True):
                world.Barrier()
                began = time.perf_counter()
                for _ in range(repeat):
                    way()
                found.append((time.perf_counter() - began) / repeat)
        rows.append([n * 4, *(float(world.allreduce(statistics.median(found), MPI.MAX)) for found in times)])
    if world.rank == 0:
        print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
