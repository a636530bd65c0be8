"""Measure the workloads side by side: `python -m benchmarks.run [options]` (`make bench`).

For each workload every peer gets a process of its own. The results of a case are compared with each other first (where
NumPy has any, with those); then the peers take samples in turn, so that what disturbs the machine disturbs all of them.
A sample is the median of many calls; the figure of a peer is the least of its samples, its spread their largest over
their least. A peer that stops, does not answer or computes something else is listed as failed, and the others go on.
What a process does once (import, first calls, memory) is measured in new processes, one at a time; some workloads also
beside a busy neighbour (`benchmarks.busy`).
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import busy, once, plot, report
from benchmarks.peers import (
    OWN,
    OWN_IN_MODE,
    PEERS,
    ROOT,
    WARM,
    Peer,
    cores,
    modes,
    module_of,
    program,
    python_of,
    takes_part,
)
from benchmarks.processes import READY_S, Failure, Worker, difference, tolerance

WORKLOADS = (
    "scalar_add", "op_gradient", "small_ops", "call", "power", "chain", "softmax_cross_entropy", "gemm",
    "linear_regression", "mlp", "convnet", "loop", "rnn", "chains", "attention", "tracing", "traces",
    "conversion", "convolutions", "eager_convolutions", "graph_defs", "staged_for", "appended_lists", "recurrences",
    "factorizations", "library_ops", "loop_shapes", "pipelines", "saved_models", "surroundings", "keras_fit",
    "small_keras_fit", "ops",
)  # fmt: skip
SAMPLE_S = 0.15
PUBLISHED = ROOT / "benchmarks" / "results"


def cases(only: str | None, workloads: tuple[str, ...] = WORKLOADS) -> dict[str, list[str]]:
    """The cases to measure by workload; `only`: patterns of "workload/case" or "workload", separated by semicolons."""
    patterns = ["*"] if only is None else only.split(";")
    wanted = {
        name: [
            case
            for case in module_of(name).CASES
            if any(fnmatch.fnmatch(label, each) for label in (name, f"{name}/{case}") for each in patterns)
        ]
        for name in workloads
    }
    return {name: each for name, each in wanted.items() if each}


class Field:
    """The peers' processes on one workload. One that fails is started anew for the next case."""

    def __init__(
        self, name: str, pythons: dict[str, str], cache: Path, small: bool, peers: Sequence[Peer] | None = None
    ) -> None:
        self.name, self.pythons, self.cache, self.small = name, pythons, cache, small
        self.peers = PEERS if peers is None else peers
        self.module = module_of(name)
        self.workers: dict[str, Worker] = {}

    def _start(self, peer: Peer, case: str) -> None:
        if peer.name not in self.workers:
            cache = self.cache / peer.environment
            self.workers[peer.name] = Worker(peer, self.pythons[peer.environment], self.name, cache, self.small)
        self.workers[peer.name].start(case)

    def _drop(self, name: str) -> None:
        self.workers.pop(name).close()

    def ready(self, case: str, row: dict[str, Any]) -> dict[str, Any]:
        """Make a case ready in all processes at once, since nothing is timed yet; the first calls' results by peer."""
        taking = []
        for peer in self.peers:
            if peer.environment in self.pythons and takes_part(peer, self.module, case):
                code = program(peer, self.module)
                if isinstance(code, str):
                    row["absent"][peer.name] = code
                else:
                    taking.append(peer)
        for peer in taking:
            if peer.name != WARM:
                self._start(peer, case)
        results = {}
        for peer in sorted(taking, key=lambda peer: peer.name == WARM):
            if peer.name == WARM:  # only now has the store what "fastgraph" compiled
                self._start(peer, case)
            try:
                said = self.workers[peer.name].answer(READY_S)
            except Failure as failure:
                self._drop(peer.name)
                row["failed"][peer.name] = str(failure)
                continue
            if "absent" in said:
                row["absent"][peer.name] = said["absent"]
            else:
                results[peer.name] = self.workers[peer.name].results()
                row["versions"][peer.module] = said["version"]
        return results

    def measure(self, case: str, rounds: int) -> dict[str, Any]:
        """Compare the peers' results on one case, then time them in turn."""
        goals, numbers = getattr(self.module, "GOALS", {}), getattr(self.module, "ROWS", {})
        row: dict[str, Any] = {
            "workload": self.name, "case": case, "row": numbers.get(case, 0), "goal": goals.get(case),
            "own": OWN_IN_MODE[modes(self.module, case)[0]], "us": {}, "failed": {}, "absent": {}, "versions": {},
        }  # fmt: skip
        results = self.ready(case, row)
        if results:
            judge = "NumPy" if "NumPy" in results else next((n for n in results if n not in OWN), next(iter(results)))
            for name, arrays in results.items():
                wrong = difference(results[judge], arrays, tolerance(self.module, case))
                if wrong is None:
                    row["us"][name] = []
                else:
                    row["failed"][name] = f"{wrong} ({judge}'s)"
        seconds = 0.0 if self.small else getattr(self.module, "SAMPLE_S", SAMPLE_S)
        for _ in range(rounds):
            for name in list(row["us"]):
                try:
                    sample = self.workers[name].sample(seconds)
                except Failure as failure:
                    self._drop(name)
                    del row["us"][name]
                    row["failed"][name] = str(failure)
                    continue
                row["us"][name].append(sample["us"])
                if "waited" in sample:
                    row.setdefault("waited", {}).setdefault(name, []).append(sample["waited"])
        return row

    def close(self) -> None:
        """End all processes."""
        for name in list(self.workers):
            self._drop(name)


def measured(
    wanted: dict[str, list[str]], pythons: dict[str, str], cache: Path, options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The rows of the cases, each as soon as it is there."""
    for name, each in wanted.items():
        field = Field(name, pythons, cache, options.small)
        try:
            for case in each:
                yield field.measure(case, options.rounds)
        finally:
            field.close()


#: What processors of one name may differ in, with the flag that Linux has for it.
VECTORS = {"AVX-512": "avx512f", "AVX2": "avx2"}


def machine() -> dict[str, Any]:
    """The surroundings that the figures depend on besides the code."""
    model, vectors = platform.processor() or platform.machine(), ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
        vectors = next((name for name, flag in VECTORS.items() if flag in flags), "")
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return {
        "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version(), "cpu": model,
        "cores": cores(), "vectors": vectors,
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"),
    }  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", default="here", help='"here" (what can be imported), "all" (environments are made)')
    parser.add_argument("--only", help='patterns of "workload/case", separated by semicolons')
    parser.add_argument("--base", type=Path, help="an earlier --json file: changes over 15 %% are flagged")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-out" / "results.json")
    parser.add_argument(
        "--publish",
        action="store_true",
        help="write benchmarks/results/DATE.json, docs/benchmarks and the README's table",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--no-once", action="store_true", help="leave out imports, first calls, memory, sizes, neighbours"
    )
    parser.add_argument("--small", action="store_true", help="shrunk workloads, to check that every peer's code runs")
    options = parser.parse_args()
    if options.publish and options.small:
        parser.error("--publish is of the workloads as they are")
    if options.publish:
        options.json = PUBLISHED / f"{datetime.date.today().isoformat()}.json"
    return options


def published() -> dict[str, Any] | None:
    """The newest published results, of which a run of some workloads replaces only those."""
    found = sorted(PUBLISHED.glob("*.json"))
    return json.loads(found[-1].read_text()) if found else None


def joined(base: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """`results` and what of `base`, on the same machine, was not measured again; that keeps the date of its own run."""
    if (base["machine"]["cpu"], base["machine"]["cores"]) != (results["machine"]["cpu"], results["machine"]["cores"]):
        sys.exit("the published results are of another machine: publish a whole run")
    again = {(row["workload"], row["case"]) for row in results["cases"]}
    for row in base["cases"]:
        row.setdefault("date", base["machine"]["date"])
    kept = [row for row in base["cases"] if (row["workload"], row["case"]) not in again]
    once_ = results["once"] or {"date": base["machine"]["date"], **base["once"]}
    beside = results["busy"] or base.get("busy", [])
    return {"machine": results["machine"], "cases": [*kept, *results["cases"]], "once": once_, "busy": beside}


def main() -> None:
    options = arguments()
    began = time.perf_counter()

    def progress(text: str) -> None:
        print(f"{time.perf_counter() - began:5.0f} s  {text}", flush=True)

    pythons = {}
    for environment in dict.fromkeys(peer.environment for peer in PEERS):
        python = python_of(environment, make=options.peers == "all")
        if python is not None:
            pythons[environment] = python
    progress(f"environments: {', '.join(pythons)}")
    results: dict[str, Any] = {"machine": machine(), "cases": [], "once": {}, "busy": []}
    base = published() if options.publish and (options.only or options.no_once) else None
    options.json.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="fastgraph-bench-"))
    try:
        for row in measured(cases(options.only), pythons, scratch / "caches", options):
            results["cases"].append({**row, "date": results["machine"]["date"]})
            progress(report.line(row, results["cases"]))
            if base is None:
                options.json.write_text(report.as_json(results))
        if not options.no_once:
            once.measure(results["once"], pythons, scratch / "once", options.small, progress)
            results["busy"] = busy.measure(pythons, scratch / "busy", options.small, progress)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if base is not None:
        results = joined(base, results)
    options.json.write_text(report.as_json(results))
    page = ROOT / "docs" / "benchmarks.md" if options.publish else options.json.with_suffix(".md")
    page.write_text(report.markdown(results))
    progress(f"{options.json}, {page}")
    plot.draw(results, page.with_suffix(".svg"))
    if options.publish:
        report.write_readme(results, ROOT / "README.md")
    if options.base is not None and report.changed(json.loads(options.base.read_text()), results):
        sys.exit("some cases are slower by more than 15 %")
    if any(name in row["failed"] for row in results["cases"] for name in OWN):
        sys.exit("fastgraph failed on some cases")


if __name__ == "__main__":
    main()
