"""Costs that a process has once: imports, first calls, memory; and those of an installation. Rows 20, 21, 22 and 25.

Every figure is of new processes, one at a time, with the byte code of earlier ones: the least of up to three, of fewer
where they take long. "cold": what a peer compiles is kept in a folder that is empty; "warm": in that of the first
process.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import json
import re
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import BY_HAND, KERAS, PEERS, REQUIREMENTS, ROOT, WARM, Peer, program, takes_part, variables
from benchmarks.processes import READY_S, Failure, Worker
from benchmarks.workloads import keras_fit

IMPORT_ROW, FIRST_ROW, MEMORY_ROW, SIZE_ROW = 20, 21, 22, 25
#: The cases whose first calls are measured, and within how many ms fastgraph's first result is to come: less where
#: AutoGraph has nothing to convert. None: as soon as the soonest peer's.
FIRST: dict[tuple[str, str], float | None] = {
    ("mlp", "step"): 250, ("convnet", "step"): 250, ("attention", "gradient"): 100,
    **dict.fromkeys((("keras_fit", case) for case in keras_fit.CASES if "small" in case), None),
}  # fmt: skip
FULL = {"cold": 1500, "warm": 250}  # full speed, ms
IMPORT_MS, IMPORT_MB, PEAK_MB, OWN_MB = 150, 60, 200, 10
#: Peers that keep what they compile.
KEEPING = ("fastgraph", KERAS, "PyTorch compile", "PyTensor")
RUNS = 3
ENOUGH_S = 5.0

#: The first operation, since an import may leave part of its work for later. Numba and PyTensor would compile.
OPERATIONS = {
    "numpy": "lib.ones(10) + 1", "torch": "lib.ones(10) + 1", "jax": "(lib.numpy.ones(10) + 1).block_until_ready()",
    "fastgraph": "lib.constant([1.0] * 10) + 1", "tensorflow": "lib.constant([1.0] * 10) + 1",
}  # fmt: skip
IMPORT = """
import json, sys, time
def resident():
    text = open("/proc/self/status").read() if sys.platform == "linux" else "VmRSS: 0 kB"
    return int(text.split("VmRSS:")[1].split()[0]) / 1024
begin = time.perf_counter()
{before}
import {module} as lib
made = {{"import_ms": 1e3 * (time.perf_counter() - begin), "import_mb": resident()}}
{operation}
made |= {{"operation_ms": 1e3 * (time.perf_counter() - begin), "operation_mb": resident()}} if {any_operation} else {{}}
print(json.dumps(made))
"""

SIZE = """
import importlib.metadata as metadata, json, re, sys
wanted, seen, total, absent = sys.argv[1:], set(), 0, []
while wanted:
    name = re.match(r"[\\w.-]+", wanted.pop())[0]
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        continue
    seen.add(key)
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        absent.append(name)
        continue
    paths = [file.locate() for file in package.files or () if file.suffix != ".pyc"]
    total += sum(path.stat().st_size for path in paths if path.exists())
    wanted += [each for each in package.requires or () if "extra ==" not in each.replace("extra==", "extra ==")]
print(json.dumps([total / 1e6, absent]))
"""


def repeated(measure: Callable[[int], dict[str, Any]], runs: int) -> dict[str, Any]:
    """The least of every figure over several processes, which together take no longer than they need to."""
    taken: list[dict[str, Any]] = []
    begin = time.perf_counter()
    while not taken or (len(taken) < runs and time.perf_counter() - begin < ENOUGH_S):
        taken.append(measure(len(taken)))
    if any("failed" in each for each in taken):
        return next(each for each in taken if "failed" in each)
    return {key: min(each[key] for each in taken) for key, value in taken[0].items() if isinstance(value, float)}


def _import(python: str, text: str, cache: Path, _: int) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [python, "-c", text], cwd=ROOT, env=variables(cache), text=True, capture_output=True, timeout=READY_S
        )
    except subprocess.TimeoutExpired:
        return {"failed": "no end in time"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["it said nothing"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def imports(pythons: dict[str, str], scratch: Path, runs: int) -> Iterator[dict[str, Any]]:
    """Time and resident memory of each library's import, and with the first operation after it."""
    for peer in {(peer.module, peer.before): peer for peer in PEERS}.values():
        if peer.environment not in pythons:
            continue
        operation = OPERATIONS.get(peer.module)
        text = IMPORT.format(
            module=peer.module, before=peer.before, operation=operation or "", any_operation=operation is not None
        )
        one = functools.partial(_import, pythons[peer.environment], text, scratch / peer.environment)
        one(0)  # writes byte code
        yield {"module": peer.name if peer.before else peer.module, **repeated(one, runs)}


def _first_call(
    peer: Peer, python: str, name: str, case: str, folder: Path, warm: bool, small: bool, i: int
) -> dict[str, Any]:
    worker = Worker(peer, python, name, folder / ("0" if warm else str(i)), small)
    try:
        worker.start(case)
        return worker.answer(READY_S)
    finally:
        worker.close()


def first_calls(pythons: dict[str, str], scratch: Path, small: bool) -> Iterator[dict[str, Any]]:
    """First result, full speed and memory of every peer on the cases of `FIRST`."""
    for (name, case), peer in itertools.product(FIRST, PEERS):
        module = importlib.import_module(f"benchmarks.workloads.{name}")
        able = peer.name != WARM and takes_part(peer, module, case) and not isinstance(program(peer, module), str)
        if peer.environment not in pythons or not able or (peer.name in BY_HAND and name != "convnet"):
            continue  # what is written by hand is there for its memory
        for state in ("cold", "warm") if peer.name in KEEPING else ("cold",):
            row: dict[str, Any] = {"workload": name, "case": case, "peer": peer.name, "caches": state}

            folder = scratch / name / peer.name.replace(" ", "-")
            python = pythons[peer.environment]
            one = functools.partial(_first_call, peer, python, name, case, folder, state == "warm", small)
            try:
                row |= repeated(one, 1 if small else RUNS)
            except Failure as failure:
                row["failed"] = str(failure)
            yield row


def own_requirements() -> list[str]:
    """The requirements of fastgraph's own package."""
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


def sizes(pythons: dict[str, str]) -> dict[str, dict[str, Any]]:
    """MB of each peer with what it requires, and of fastgraph's own part."""
    made: dict[str, dict[str, Any]] = {}
    for environment, python in pythons.items():
        wanted = own_requirements() if environment == "fastgraph" else list(REQUIREMENTS[environment])
        done = subprocess.run([python, "-c", SIZE, *wanted], capture_output=True, text=True, check=True)
        total, absent = json.loads(done.stdout)
        made[environment] = {"all_mb": total, "absent": absent}
    files = [each for each in (ROOT / "fastgraph").rglob("*") if each.is_file()]
    skipped = re.compile(r"\.(c|html|pyc)$|/_generated/")
    own = sum(each.stat().st_size for each in files if not skipped.search(str(each))) / 1e6
    made["fastgraph"] |= {"own_mb": own, "all_mb": made["fastgraph"]["all_mb"] + own}
    return made


def measure(
    made: dict[str, Any], pythons: dict[str, str], scratch: Path, small: bool, progress: Callable[[str], None]
) -> None:
    """Put all of it into `made`, which is complete as far as it goes: "sizes", "imports", "first_calls"."""
    made |= {"sizes": sizes(pythons), "imports": [], "first_calls": []}
    for row in imports(pythons, scratch / "imports", 1 if small else 2 * RUNS):
        made["imports"].append(row)
        progress(f"{IMPORT_ROW:3} import {row['module']}: {row.get('failed') or '{:.0f} ms'.format(row['import_ms'])}")
    for row in first_calls(pythons, scratch / "first", small):
        made["first_calls"].append(row)
        text = row.get("failed") or f"first result {row['first_ms']:.0f} ms, full speed {row['full_ms']:.0f} ms"
        progress(f"{FIRST_ROW:3} {row['workload']}, {row['peer']}, {row['caches']}: {text}")
