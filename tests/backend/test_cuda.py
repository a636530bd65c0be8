"""The second target, in processes of its own: in the simulator, as PTX where that can be made, on a GPU where one is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.test_processes import needs_mpi, started

CASES = Path(__file__).with_name("cuda_cases.py")


def outcome(simulated: bool) -> tuple[int, dict[str, int], str]:
    """The exit status of the cases, how many passed, failed and were skipped, and what was printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(CASES)]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1" if simulated else "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500, cwd=CASES.parents[2])
    last = done.stdout.strip().splitlines()[-1]
    return done.returncode, {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last)}, done.stdout + done.stderr


@pytest.mark.slow
def test_in_the_simulator() -> None:
    status, counts, text = outcome(simulated=True)
    assert status == 0, text
    assert counts["passed"] >= 25


@needs_mpi
@pytest.mark.slow
def test_sums_over_processes_in_the_simulator() -> None:
    found = started(["-m", "tests.backend.cuda_process_program"], NUMBA_ENABLE_CUDASIM="1")
    assert found.returncode == 0 and found.stdout.count("alike") == 2, found.stderr


@pytest.mark.slow
def test_as_ptx_or_on_a_gpu() -> None:
    status, counts, text = outcome(simulated=False)
    assert status == 0, text
    if counts["passed"] < 20:
        pytest.skip("neither a GPU nor NVVM is here")


def test_nothing_else_imports_it() -> None:
    program = """
import sys, fastgraph as fg
with __import__("fastgraph.core.base.flags", fromlist=["override"]).override(tier="last", worker=False):
    fg.function(lambda x: fg.exp(x) * 2.0)(fg.constant([1.0]))
print([name for name in sys.modules if name.startswith(("numba.cuda.cudadrv", "fastgraph.compiler.cuda"))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
