"""The processes of the two libraries: each runs the same cases, and one that dies is started again behind the call.

TensorFlow's interpreter is named by PEER_TENSORFLOW, as for the benchmarks, or is this one if it has TensorFlow.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers import python_of

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("runner.py")
CRASHED = {"error": ("crash", "the process ended")}


def tensorflow_python() -> str | None:
    """The interpreter that has TensorFlow, or None."""
    return python_of("tensorflow")


def needed_tensorflow() -> str:
    """The interpreter that has TensorFlow; the program ends, and says so, where there is none."""
    found = tensorflow_python()
    if found is None:
        print("There is no TensorFlow: name its interpreter in PEER_TENSORFLOW", file=sys.stderr)
        raise SystemExit(2)
    return found


def _read(path: Path) -> tuple[Any, list[Any]]:
    found: list[Any] = []
    with path.open("rb") as file:
        while True:
            try:
                found.append(pickle.load(file))
            except EOFError:
                return (found[0] if found else None), found[1:]


def run(
    library: str, python: str, cases: list[Any], seconds: float = 3000.0, runner: Path = RUNNER
) -> tuple[Any, list[Any]]:
    """Run (text, arrays, gradients) cases with a library; return (versions of it and of NumPy, results)."""
    results: list[Any] = []
    versions = None
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    if library != "fastgraph":
        environment.pop("PYTHONPATH")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "cases"), Path(folder, "results")
        while len(results) < len(cases):
            source.write_bytes(pickle.dumps(cases[len(results) :]))
            command = [python, str(runner), library, str(source), str(target)]
            done = subprocess.run(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=seconds
            )
            found, more = _read(target)
            versions = versions or found
            if found is None:
                raise RuntimeError(f"{library} did not start:\n{done.stderr.decode()[-2000:]}")
            results += more
            if len(results) < len(cases):
                results.append(CRASHED)
    return versions, results


def own(cases: list[Any]) -> tuple[Any, list[dict[str, Any]]]:
    """Run the cases with fastgraph, in a process as well."""
    return run("fastgraph", sys.executable, cases)
