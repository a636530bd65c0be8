"""Measure the workloads side by side: `python -m benchmarks.run [options]` (`make bench`).

For each case every peer gets a process of its own. Their results are compared with each other first; then they take
samples in turn, so that what disturbs the machine disturbs all of them. A sample is the median of many calls; the
figure of a peer is the least of its samples, its spread their largest over their least. What a process does once
(import, first call, memory) is measured in new processes, with empty caches and with those that the first one left.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.peers import PEERS, ROOT, Peer, python_of, variables

WORKLOADS = (
    "scalar_add", "op_gradient", "small_ops", "call", "power", "chain", "softmax_cross_entropy", "gemm",
    "linear_regression", "mlp", "convnet", "loop", "rnn", "chains", "attention", "tracing", "staged_for",
)  # fmt: skip
ONCE = ("mlp", "convnet", "attention")  # whose first calls are measured
TIMEOUT_S = 300.0


class Worker:
    """The process of one peer on one case; `ready` is what it said after its first calls, None if it takes no part."""

    def __init__(self, peer: Peer, python: str, workload: str, case: str, cache: Path, small: bool) -> None:
        self.peer = peer
        self.out = cache / "result.npz"
        cache.mkdir(parents=True, exist_ok=True)
        arguments = [python, "-m", "benchmarks.worker", peer.name, workload, case, str(self.out)]
        self.process = subprocess.Popen(
            arguments + ["small"] * small, cwd=ROOT, env=variables(peer.environment, cache), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.ready = self._line()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
        assert self.process.stderr is not None
        text = self.process.stderr.read()
        raise RuntimeError(f"{self.peer.name} stopped ({self.process.wait()}):\n{text[-3000:]}")

    def results(self) -> dict[str, Any]:
        """The arrays of the first calls, by "call_position"."""
        with np.load(self.out) as arrays:
            return dict(arrays)

    def sample(self) -> float:
        """One sample, in microseconds."""
        assert self.process.stdin is not None
        print("sample", file=self.process.stdin, flush=True)
        return float(self._line()["us"])

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def compare(results: dict[str, dict[str, Any]], tolerance: float) -> None:
    """Raise ValueError unless all peers gave the same arrays, relative to the largest element of each."""
    first, *others = results
    for other in others:
        if len(results[first]) != len(results[other]):
            raise ValueError(f"{other} returns {len(results[other])} arrays, {first} {len(results[first])}")
        for name, wanted in results[first].items():
            got = results[other][name]
            if wanted.shape != got.shape:
                raise ValueError(f"array {name}: {other} returns shape {got.shape}, {first} {wanted.shape}")
            scale = max(1e-30, float(np.max(np.abs(wanted), initial=0)))
            error = float(np.max(np.abs(got.astype(np.float64) - wanted), initial=0)) / scale
            if not error <= tolerance:
                raise ValueError(f"array {name}: {other} and {first} differ by {error:.1e} of the largest element")


def cases(only: str | None) -> Iterator[tuple[str, str, Any]]:
    """(workload, case, module) of what is to be measured; `only`: patterns of "workload/case", separated by commas."""
    for name in WORKLOADS:
        module = importlib.import_module(f"benchmarks.workloads.{name}")
        for case in module.CASES:
            label = f"{name}/{case}"
            if only is None or any(
                fnmatch.fnmatch(label, each) or fnmatch.fnmatch(name, each) for each in only.split(";")
            ):
                yield name, case, module


def one_case(
    name: str, case: str, module: Any, pythons: dict[str, str], cache: Path, rounds: int, small: bool = False
) -> dict[str, Any]:
    """Compare the peers' results on one case, then time them in turn."""
    workers: list[Worker] = []
    failed: dict[str, str] = {}
    modes = getattr(module, "MODES", ("eager", "staged", "jit"))
    if "staged" not in modes:
        modes = (*modes, "none")
    try:
        for peer in PEERS:
            plain = peer.namespace in ("numpy", "numba")  # these have one mode only
            if peer.environment not in pythons or not (plain or peer.mode in modes):
                continue
            try:
                made = Worker(peer, pythons[peer.environment], name, case, cache / peer.environment, small)
            except RuntimeError as error:
                if peer.module == "fastgraph":
                    raise
                failed[peer.name] = str(error).splitlines()[-1]
                continue
            if made.ready.get("absent"):
                made.close()
            else:
                made.results_of_first = made.results()  # type: ignore[attr-defined]
                workers.append(made)
        compare(
            {each.peer.name: each.results_of_first for each in workers},  # type: ignore[attr-defined]
            getattr(module, "TOLERANCE", 1e-4),
        )
        samples: dict[str, list[float]] = {each.peer.name: [] for each in workers}
        for _ in range(rounds):
            for each in workers:
                samples[each.peer.name].append(each.sample())
    finally:
        for each in workers:
            each.close()
    return {"workload": name, "case": case, "row": module.ROWS[case], "goal": module.GOALS.get(case), "us": samples,
            "failed": failed}  # fmt: skip


def once(pythons: dict[str, str], scratch: Path, runs: int) -> list[dict[str, Any]]:
    """Import, first call and memory of every peer on the workloads of `ONCE`, with empty caches and filled ones."""
    rows = []
    for name in ONCE:
        case = next(iter(importlib.import_module(f"benchmarks.workloads.{name}").CASES))
        for peer in PEERS:
            if peer.environment not in pythons or peer.name == "JAX eager":
                continue
            for state in ("cold", "warm"):
                taken = []
                for i in range(runs):
                    cache = scratch / "once" / name / peer.name.replace(" ", "-") / (str(i) if state == "cold" else "0")
                    worker = Worker(peer, pythons[peer.environment], name, case, cache, small=False)
                    worker.close()
                    if worker.ready.get("absent"):
                        break
                    taken.append(worker.ready)
                if taken:
                    row = {k: min(each[k] for each in taken) for k in taken[0] if k != "version"}
                    rows.append({"workload": name, "peer": peer.name, "caches": state, **row})
    return rows


def sizes(pythons: dict[str, str]) -> dict[str, float]:
    """MB of the packages installed in each environment that `PEERS=all` made; fastgraph's is its own part."""
    made = {}
    for environment in pythons:
        folder = ROOT / ".peers" / environment
        if environment == "fastgraph":
            folder = ROOT / "fastgraph"
        if folder.exists():
            files = (each for each in folder.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
            made[environment] = sum(each.stat().st_size for each in files) / 1e6
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", default="here", help='"here" (what can be imported), "all" (environments are made)')
    parser.add_argument("--only", help='patterns of "workload/case", separated by semicolons')
    parser.add_argument("--base", type=Path, help="an earlier --json file: changes over 15 %% are flagged")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-out" / "results.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-once", action="store_true", help="leave out imports and first calls")
    parser.add_argument("--small", action="store_true", help="shrunk workloads, to check that every peer's code runs")
    options = parser.parse_args()
    pythons = {}
    for environment in dict.fromkeys(peer.environment for peer in PEERS):
        python = python_of(environment, make=options.peers == "all")
        if python is not None:
            pythons[environment] = python
    results: dict[str, Any] = {
        "machine": f"{platform.system()} {platform.machine()}, {platform.python_version()}", "cases": [], "once": [],
        "sizes_mb": sizes(pythons),
    }  # fmt: skip
    scratch = Path(tempfile.mkdtemp(prefix="fastgraph-bench-"))
    try:
        for name, case, module in cases(options.only):
            row = one_case(name, case, module, pythons, scratch / "caches", options.rounds, options.small)
            results["cases"].append(row)
            print(report.line(row), flush=True)
        if not options.no_once:
            results["once"] = once(pythons, scratch, 3)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    text = report.markdown(results)
    options.json.with_suffix(".md").write_text(text)
    print(text)
    if options.base is not None and report.changed(json.loads(options.base.read_text()), results):
        sys.exit("some cases changed by more than 15 %")


if __name__ == "__main__":
    main()
