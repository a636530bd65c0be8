"""The benchmarks' workloads, shrunk: fastgraph staged, eager and NumPy give the same results; and exact counts."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("benchmarks.run", reason="the benchmarks lie beside the tests in a checkout")
from benchmarks.peers import PEERS, Driver
from benchmarks.run import WORKLOADS, compare

CASES = [(name, case) for name in WORKLOADS for case in importlib.import_module(f"benchmarks.workloads.{name}").CASES]
MODULES = {name: importlib.import_module(f"benchmarks.workloads.{name}") for name in WORKLOADS}
OWN = [peer for peer in PEERS if peer.name in ("fastgraph", "fastgraph eager", "NumPy")]
COUNTERS = Path(__file__).parents[2] / "benchmarks" / "counters.json"


def made(module: Any, peer: Any, case: str, small: bool) -> tuple[Any, Driver] | None:
    """The workload's call for this peer, and its driver; None where the peer takes no part."""
    driver = Driver(peer)
    program = getattr(module, peer.namespace, None)
    if program is None or (peer.mode not in getattr(module, "MODES", ("eager", "staged")) and peer.name != "NumPy"):
        return None
    call = program(driver.lib, driver.stage, **module.data(**{**module.CASES[case], **(module.SMALL if small else {})}))
    return None if call is None else (call, driver)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_workload_gives_the_same_on_every_way(name: str, case: str) -> None:
    module = MODULES[name]
    results = {}
    for peer in OWN:
        ready = made(module, peer, case, small=True)
        if ready is not None:
            call, driver = ready
            arrays = [driver.arrays(call())]
            driver.settle()
            arrays += [driver.arrays(call()) for _ in range(2)]
            results[peer.name] = {f"{i}_{k}": a for i, each in enumerate(arrays) for k, a in enumerate(each)}
    assert results
    compare(results, getattr(module, "TOLERANCE", 1e-4))


def counts(name: str, case: str) -> dict[str, int] | None:
    """What a staged workload costs by count, which no machine's load can change."""
    peer = next(each for each in OWN if each.name == "fastgraph")
    ready = made(MODULES[name], peer, case, small=False)
    if ready is None or not ready[1].functions:
        return None
    call, driver = ready
    call()
    driver.settle()
    call()
    (function,) = driver.functions
    (concrete,) = function._concrete_functions()
    found = {**concrete.executable.counts(), "traces": function.experimental_get_tracing_count()}
    if name == "convnet":
        del found["arena_bytes"]  # how a gradient of filters is cut depends on the CPU's vectors
    return found


def test_counters_are_those_that_are_written_down() -> None:
    """`benchmarks/counters.json` changes only with a reason; with WRITE_COUNTERS=1 in the environment it is rewritten."""
    found = {f"{name}/{case}": counts(name, case) for name, case in CASES}
    found = {k: v for k, v in found.items() if v is not None}
    if os.environ.get("WRITE_COUNTERS") == "1":
        COUNTERS.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(COUNTERS.read_text())
    assert not any(each["host_steps"] for each in found.values())
