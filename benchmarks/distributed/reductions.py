"""Sums of arrays over processes, through fastgraph and by mpi4py alone, in turn: `mpiexec -n 2 python -m ...`.

The first process prints [[bytes, seconds by fastgraph, by mpi4py's Allreduce], ...] as JSON: the best of the rounds.
"""

from __future__ import annotations

import json
import math
import sys
import time

import numpy as np
from mpi4py import MPI

from fastgraph.replication import communication


def main(rounds: int) -> None:
    """Measure."""
    link, world, rows = communication.link(60.0), MPI.COMM_WORLD, []
    for n in [1 << power for power in range(0, 25, 3)]:
        given, total = np.ones(n, np.float32), np.empty(n, np.float32)
        best = [math.inf, math.inf]
        repeat = max(1, min(100, (1 << 22) // n))
        for _ in range(rounds + 1):
            world.Barrier()
            began = time.perf_counter()
            for _ in range(repeat):
                link.all_reduce([given])
            best[0] = min(best[0], (time.perf_counter() - began) / repeat)
            world.Barrier()
            began = time.perf_counter()
            for _ in range(repeat):
                world.Allreduce(given, total)
            best[1] = min(best[1], (time.perf_counter() - began) / repeat)
        rows.append([n * 4, *(float(world.allreduce(each, MPI.MAX)) for each in best)])
    if world.rank == 0:
        print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
