"""The benchmarks' workloads, shrunk: fastgraph staged, eager and NumPy give the same results; and exact counts."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("benchmarks.run", reason="the benchmarks lie beside the tests in a checkout")
from benchmarks import busy, once, report, run
from benchmarks.peers import KERAS, OWN_IN_MODE, PEERS, Driver, Peer, modes, program, takes_part
from benchmarks.processes import Failure, Worker, difference, tolerance
from benchmarks.run import WORKLOADS, Field

MODULES = {name: importlib.import_module(f"benchmarks.workloads.{name}") for name in WORKLOADS}
CASES = [(name, case) for name, module in MODULES.items() for case in module.CASES if name != "keras_fit"]
HERE = [peer for peer in PEERS if peer.name in ("NumPy", "fastgraph", "fastgraph eager")]
COUNTERS = Path(__file__).parents[2] / "benchmarks" / "counters.json"


def made(module: Any, peer: Peer, case: str, small: bool) -> tuple[Any, Driver] | None:
    """The workload's call for this peer, and its driver; None where the peer takes no part."""
    found = program(peer, module)
    if isinstance(found, str) or not takes_part(peer, module, case):
        return None
    driver = Driver(peer, host_steps=getattr(module, "HOST_STEPS", False))
    call = found(driver.lib, driver.stage, **module.data(**{**module.CASES[case], **(module.SMALL if small else {})}))
    return None if isinstance(call, str) else (call, driver)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_workload_gives_the_same_on_every_way(name: str, case: str) -> None:
    module = MODULES[name]
    results: dict[str, dict[str, Any]] = {}
    for peer in HERE:
        ready = made(module, peer, case, small=True)
        if ready is not None:
            call, driver = ready
            arrays = [driver.arrays(call())]
            driver.settle()
            arrays += [driver.arrays(call()) for _ in range(2)]
            results[peer.name] = {f"{i}_{k}": a for i, each in enumerate(arrays) for k, a in enumerate(each)}
    judge, *others = results
    for other in others:
        assert difference(results[judge], results[other], tolerance(module, case)) is None, (judge, other)


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras is not installed")
@pytest.mark.slow
def test_keras_fits_behind_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process: losses of three epochs are finite and fall, and the process is one of the peers."""
    monkeypatch.setenv("FASTGRAPH_TIER", "first")  # the kernels of four models take a while
    peer = next(each for each in PEERS if each.name == KERAS)
    module = MODULES["keras_fit"]
    worker = Worker(peer, sys.executable, "keras_fit", tmp_path, small=True)
    for case in ("MLP, small", "transformer, small"):
        worker.start(case)
        assert worker.answer(120.0)["version"].startswith("3.")
        losses = [loss for fit in worker.results().values() for loss in fit]  # of one epoch, of four and of four
        assert len(losses) == 9 and sorted(losses, reverse=True) == losses, (case, losses)
    worker.close()
    assert [peer.name for peer in PEERS if takes_part(peer, module, "MLP, small")] == [
        KERAS, "Keras on TensorFlow", "Keras on JAX", "Keras on PyTorch",
    ]  # fmt: skip


def test_every_row_is_measured_and_every_peer_has_code_or_a_reason() -> None:
    rows = {row for module in MODULES.values() for row in module.ROWS.values()}
    assert rows | {once.IMPORT_ROW, once.FIRST_ROW, once.MEMORY_ROW, once.SIZE_ROW} == {
        *range(1, 26),
        35,
        36,
        39,
        busy.ROW,
    }
    assert all(case in MODULES[name].CASES for name, case, _ in busy.CASES)
    for name, module in MODULES.items():
        assert set(module.ROWS) == set(module.CASES), name
        assert set(module.GOALS) <= set(module.CASES), name
        for case in module.CASES:
            assert set(modes(module, case)) <= set(OWN_IN_MODE)
            for peer in PEERS:
                assert not takes_part(peer, module, case) or program(peer, module)


@pytest.mark.slow
def test_a_peer_that_stops_or_computes_something_else_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "PEERS", [peer for peer in PEERS if peer.name != "Numba by hand"])  # compiles for seconds
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    broken.chmod(0o755)
    here = sys.executable
    field = Field("call", {"fastgraph": here, "jax": str(broken)}, tmp_path / "caches", small=True)
    try:
        row = field.measure("identity", rounds=1)
    finally:
        field.close()
    assert row["failed"] == {"JAX jit": "stopped with status 3: no such luck"}
    assert row["us"]["fastgraph"] and row["us"]["fastgraph, warm store"] and row["us"]["NumPy"]

    monkeypatch.setattr(Worker, "results", lambda self: {"0_0": np.full(3, len(self.peer.name))})
    field = Field("scalar_add", {"fastgraph": here}, tmp_path / "caches", small=True)
    try:
        row = field.measure("ten", rounds=1)
    finally:
        field.close()
    assert "off by" in row["failed"]["fastgraph eager"] and "fastgraph eager" not in row["us"]


def test_a_peer_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    silent = tmp_path / "python"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    worker = Worker(HERE[-1], str(silent), "call", tmp_path)
    worker.start("identity")
    with pytest.raises(Failure, match="no answer within 0 s"):
        worker.answer(0.2)
    worker.close()


def row(ours: float, numpys: float, **more: Any) -> dict[str, Any]:
    """A case's row with two samples each."""
    made = {"workload": "w", "case": "c", "row": 1, "goal": 0.5, "own": "fastgraph", "failed": {}, "absent": {}}
    return {**made, "versions": {}, "us": {"fastgraph": [ours, 2 * ours], "NumPy": [numpys, numpys]}, **more}


def test_changes_over_15_percent_are_flagged(capsys: pytest.CaptureFixture[str]) -> None:
    assert not report.changed({"cases": [row(1, 2)]}, {"cases": [row(2.2, 4)]})  # the machine was slower, not fastgraph
    assert not capsys.readouterr().out
    assert report.changed({"cases": [row(1, 2)]}, {"cases": [row(1.2, 2)]})
    assert "SLOWER: w/c, fastgraph: 1.20x" in capsys.readouterr().out
    assert not report.changed({"cases": [row(1, 2)]}, {"cases": [row(0.8, 2)]})
    assert "faster: w/c, fastgraph: 0.80x" in capsys.readouterr().out


def test_goals_are_ratios_or_limits() -> None:
    assert report.goal(row(1, 2), []) == (True, "0.50, goal 0.5")
    assert report.goal(row(1.2, 2, goal=[0.5, "NumPy"]), []) == (False, "0.60, goal 0.5 of NumPy")
    assert report.goal(row(1.2, 2, goal=[0.5, "JAX"]), []) is None
    assert report.goal(row(1.2, 2, goal={"us": 1}), []) == (False, "1.2 µs, goal 1")
    recorded = row(1.2, 2, goal={"us": 0.3, "over": "d"})
    assert report.goal(recorded, [row(1, 2, case="d")]) == (True, "0.2 µs over d, goal 0.3")
    text = report.markdown({"machine": dict.fromkeys(("cpu", "cores", "system", "python", "date"), "x"), "once": {},
                            "cases": [row(3, 2, absent={"JAX jit": "it cannot"})]})  # fmt: skip
    assert "| 1 | w: c | 3 (2.00x) | NumPy 2 (1.00x) |  | 1.50 | **missed**: 1.50, goal 0.5 |" in text
    assert "- w/c (1.50, goal 0.5): not looked into yet." in text
    assert "- w: JAX jit: it cannot" in text


def counts(name: str, case: str) -> dict[str, int] | None:
    """What a staged workload costs by count, which no machine's load can change."""
    peer = next(each for each in HERE if each.name == "fastgraph")
    ready = made(MODULES[name], peer, case, small=False)
    if ready is None or not ready[1].functions:
        return None
    call, driver = ready
    call()
    driver.settle()
    call()
    (function,) = driver.functions
    (concrete,) = function._list_all_concrete_functions()
    found = {**concrete.executable.counts(), "traces": function.experimental_get_tracing_count()}
    if name == "convnet":
        del found["arena_bytes"]  # how a gradient of filters is cut depends on the CPU's vectors
    return found


@pytest.mark.slow
def test_counters_are_those_that_are_written_down() -> None:
    """`benchmarks/counters.json` changes only with a reason; with WRITE_COUNTERS=1 in the environment it is rewritten."""
    found = {f"{name}/{case}": counts(name, case) for name, case in CASES}
    found = {k: v for k, v in found.items() if v is not None}
    if os.environ.get("WRITE_COUNTERS") == "1":
        COUNTERS.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(COUNTERS.read_text())
    able = {k for k, v in found.items() if not getattr(MODULES[k.partition("/")[0]], "HOST_STEPS", False)}
    assert not any(found[name]["host_steps"] for name in able)


def test_beside_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row has both figures; the page has their ratio, and says which are above the limit."""
    monkeypatch.setattr(busy, "CASES", (("factorizations", "cholesky 150", True),))
    (row,) = busy.measure({"fastgraph": sys.executable}, tmp_path, True, lambda text: None)
    assert row["failed"] == {} and all(us > 0 for us in row["us"]["fastgraph"]) and len(row["us"]["fastgraph"]) == 2
    row["us"] = {"fastgraph": [100.0, 350.0], "TensorFlow": [100.0, 450.0]}
    page = "\n".join([*report._busy([row]), *report._behind([], {}, [row])])
    assert "| factorizations: cholesky 150 | 100 | 350 | 3.50 | 4.50 | **missed** |" in page
    assert "- factorizations/cholesky 150, busy (3.50 beside neighbours, goal 3)" in page
