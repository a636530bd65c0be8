"""The processes of the peers, as `benchmarks.run` sees them: started, asked, and ended when they do not answer."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import ROOT, Peer, variables

READY_S = 240.0  # torch.compile takes about 20 s for a step where nothing disturbs it
SAMPLE_S = 90.0


class Failure(Exception):
    """A peer's process stopped, or did not answer in time; the message is a line for the report."""


class Worker:
    """The process of one peer on one workload."""

    def __init__(self, peer: Peer, python: str, workload: str, cache: Path, small: bool = False) -> None:
        self.peer = peer
        cache.mkdir(parents=True, exist_ok=True)
        name = peer.name.replace(" ", "-")
        self.out = cache / f"{name}.npz"
        self.errors = cache / f"{name}.txt"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [python, "-m", "benchmarks.worker", peer.name, workload, *["small"] * small], cwd=ROOT, text=True,
                env=variables(cache), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip

    def ask(self, **wanted: Any) -> None:
        """Send a line without waiting for its answer."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it has stopped: `answer` says so
            print(json.dumps(wanted), file=self.process.stdin, flush=True)

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON. Raises Failure if there is none in time; the process is dead then."""
        assert self.process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return dict(json.loads(line))
        finally:
            timer.cancel()
        status = self.process.wait()
        if late.is_set():
            raise Failure(f"no answer within {seconds:.0f} s")
        said = [line for line in self.errors.read_text(errors="replace").splitlines() if line.strip()]
        raise Failure(f"stopped with status {status}: {said[-1].strip()[:300] if said else 'it said nothing'}")

    def start(self, case: str) -> None:
        """Let the process make a case ready; `answer` tells when it is."""
        self.ask(case=case, out=str(self.out))

    def results(self) -> dict[str, Any]:
        """The arrays of the first calls, by "call_position"."""
        with np.load(self.out) as arrays:
            return dict(arrays)

    def sample(self, seconds: float) -> dict[str, float]:
        """One sample: "us", in microseconds, and perhaps "waited", the share of it that a step waited for data."""
        self.ask(sample=seconds)
        return self.answer(SAMPLE_S)

    def mean(self, seconds: float) -> float:
        """The mean of all calls of some seconds."""
        self.ask(mean=seconds)
        return float(self.answer(SAMPLE_S)["us"])

    def costs(self, calls: int) -> dict[str, Any]:
        """fastgraph's costliest steps of some calls."""
        self.ask(costs=calls)
        return self.answer(SAMPLE_S)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def tolerance(module: Any, case: str) -> float:
    """By how much of the largest element results may differ: a module's number, or the first whose pattern fits."""
    given: float | dict[str, float] = getattr(module, "TOLERANCE", 1e-4)
    return given if isinstance(given, float) else next(given[each] for each in given if fnmatch.fnmatch(case, each))


def difference(wanted: dict[str, Any], got: dict[str, Any], tolerance: float) -> str | None:
    """The differences of a peer's arrays, relative to the largest element of each; None where there are none."""
    if len(wanted) != len(got):
        return f"returns {len(got)} arrays instead of {len(wanted)}"
    for name, array in wanted.items():
        if array.shape != got[name].shape:
            return f"array {name} has shape {got[name].shape} instead of {array.shape}"
        if not array.size:
            continue
        scale = max(1e-30, float(np.max(np.abs(array.astype(np.float64)))))
        error = float(np.max(np.abs(got[name].astype(np.float64) - array))) / scale
        if not error <= tolerance:
            return f"array {name} is off by {error:.1e} of the largest element"
    return None
