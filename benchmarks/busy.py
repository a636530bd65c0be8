"""Some workloads beside busy neighbours: a spinning process for each core. `python -m benchmarks.busy` does it alone.

A figure is the mean over all calls of some seconds, since what waits for a core shows in few calls: the least of three
on the quiet machine, the middle of three beside the neighbours. Such neighbours take half of the machine: what nobody
waits for in vain takes twice as long. TensorFlow's factor stands beside fastgraph's.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS, cores, python_of
from benchmarks.processes import READY_S, Failure, Worker

ROW = 38
#: A figure beside neighbours over the quiet one.
LIMIT = 3.0
ROUNDS = 3
SAMPLE_S = 0.7
#: workload, case, and whether eager calls are measured.
CASES = (
    ("small_ops", "matmul 10x10", True), ("small_ops", "relu [32, 128]", True), ("gemm", "256", True),
    ("gemm", "1000", True), ("convolutions", "3x3, 16 to 16: result", True), ("factorizations", "cholesky 150", True),
    ("factorizations", "Gaussian process, step", False), ("chain", "values, 1e5", False), ("mlp", "step", False),
    ("convnet", "step", False), ("eager_convolutions", "conv 28, 3x3, 16 to 32: to filter", True),
)  # fmt: skip


@contextlib.contextmanager
def neighbours() -> Iterator[None]:
    """As many processes as there are cores, which compute without a pause, until they or this process end."""
    spin = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", spin]) for _ in range(cores())]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
        for process in spinning:
            process.wait()


def measure(
    pythons: dict[str, str], scratch: Path, small: bool, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """A row for each case: {"workload", "case", "us": {peer: [quiet, busy]}, "failed": {peer: why}}."""
    rows = []
    seconds = 0.0 if small else SAMPLE_S
    for workload, case, eager in CASES:
        row: dict[str, Any] = {"workload": workload, "case": case, "us": {}, "failed": {}}
        for own, name in ((True, "fastgraph eager" if eager else "fastgraph"),
                          (False, "TensorFlow eager" if eager else "TensorFlow function")):  # fmt: skip
            peer = next(each for each in PEERS if each.name == name)
            if peer.environment not in pythons:
                continue
            worker = Worker(peer, pythons[peer.environment], workload, scratch / peer.environment, small)
            try:
                worker.start(case)
                worker.answer(READY_S)
                quiet = [worker.mean(seconds) for _ in range(ROUNDS)]
                with neighbours():
                    busy = [worker.mean(seconds) for _ in range(ROUNDS)]
                row["us"]["fastgraph" if own else "TensorFlow"] = [min(quiet), statistics.median(busy)]
            except Failure as failure:
                row["failed"][name] = str(failure)
            finally:
                worker.close()
        rows.append(row)
        factors = ", ".join(f"{name} {busy / quiet:.2f}" for name, (quiet, busy) in row["us"].items())
        progress(f" {ROW} {workload}/{case} beside neighbours: {factors}{row['failed'] or ''}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    found = {environment: python_of(environment) for environment in ("fastgraph", "tensorflow")}
    pythons = {environment: python for environment, python in found.items() if python is not None}
    with tempfile.TemporaryDirectory(prefix="fastgraph-busy-") as scratch:
        for row in measure(pythons, Path(scratch), options.small, lambda text: print(text, flush=True)):
            for name, (quiet, busy) in row["us"].items():
                print(f"{row['workload']}/{row['case']}: {name} {quiet:,.1f} us quiet, {busy:,.1f} beside neighbours")


if __name__ == "__main__":
    main()
