"""The benchmarks' whole programs, shrunk: fastgraph builds each, losses fall, and all else is what eager calls give."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("benchmarks.run", reason="the benchmarks lie beside the tests in a checkout")
from benchmarks.models import FAMILIES, preprocessing
from benchmarks.models import __main__ as programs
from benchmarks.peers import PEERS, Driver, module_of
from benchmarks.processes import difference, tolerance
from fastgraph.core.base import flags

CASES = [(name, case) for name in FAMILIES for case in module_of(f"models.{name}").CASES]
STAGED, EAGER = (next(peer for peer in PEERS if peer.name == name) for name in ("fastgraph", "fastgraph eager"))
#: Two networks against each other: one's loss need not fall.
CONTENDING = ("GAN, step",)
CALLS = 4


def results(peer: Any, name: str, case: str, calls: int) -> dict[str, Any]:
    """The arrays of some calls of a shrunk program on NumPy bodies, as "call_position"."""
    module, driver = module_of(f"models.{name}"), Driver(peer, host_steps=True)
    with flags.override(tier="first"):
        call = module.tensorflow(driver.lib, driver.stage, **module.data(**{**module.CASES[case], **module.SMALL}))
        found = [driver.arrays(call()) for _ in range(calls)]
    return {f"{i}_{k}": array for i, arrays in enumerate(found) for k, array in enumerate(arrays)}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_program_runs(name: str, case: str) -> None:
    training = case.endswith(", step") and case not in CONTENDING
    found = results(STAGED, name, case, CALLS if training else 1)
    assert all(np.isfinite(array).all() for array in found.values())
    if training:
        losses = [float(found[f"{i}_0"]) for i in range(CALLS)]
        assert losses[-1] < losses[0] - 1e-4 * abs(losses[0]), losses
    else:
        eager = results(EAGER, name, case, 1)
        assert difference(eager, found, tolerance(module_of(f"models.{name}"), case)) is None


def test_words_become_the_numbers_that_python_gives() -> None:
    texts, known = preprocessing.data("text", **preprocessing.SMALL)["given"]
    (found,) = results(STAGED, "preprocessing", "text to numbers", 1).values()
    assert (found == preprocessing.numbers(texts, known)).all() and (found > 1).any() and (found == 1).any()


@pytest.mark.slow
def test_a_run_and_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row has figures of steps and of new processes, and what they went to; the page says all of it."""
    monkeypatch.setattr(programs, "TAKING_PART", (STAGED,))
    monkeypatch.setattr(sys, "argv", ["models", "--only", "simulation/n-body*", "--small", "--rounds", "1",
                                      "--json", str(tmp_path / "m.json")])  # fmt: skip
    programs.main()
    page = (tmp_path / "m.md").read_text()
    assert "| n-body, 10 steps | 0." in page and "no step at all" in page
    row = {"workload": "models.simulation", "case": "n-body, 10 steps", "own": "fastgraph", "failed": {}, "absent": {},
           "versions": {}, "us": {"fastgraph": [3e3], "JAX jit": [2e3], "PyTorch eager": [4e3]},
           "begun": {"fastgraph": {"cold": {"first_ms": 5.0}, "warm": {"first_ms": 4.0}},
                     "JAX jit": {"cold": {"first_ms": 7.0}}}}  # fmt: skip
    where = dict.fromkeys(("cpu", "cores", "system", "python", "date"), "x")
    page = programs.markdown({"machine": where, "cases": [row]})
    assert "| n-body, 10 steps | 3 | JAX jit 2 | **1.50** | 5; 4 | JAX jit 7 |" in page
    assert "1 programs, geometric mean of the ratios 1.50, 1 slower than the best peer." in page
