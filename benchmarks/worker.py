"""One peer on one case of one workload, in a process of its own: `python -m benchmarks.worker PEER WORKLOAD CASE OUT`.

It imports the peer, calls the workload once, waits for full speed, writes the results of the first calls to OUT and
prints one line of JSON. Then, for every line it reads, it takes one sample and prints it; at the end of its input it
stops. A peer for which the workload has no code prints "absent".
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

CHECKED_CALLS = 3
SAMPLE_S = 0.25  # how long one sample takes, at least one call
BLOCK_S = 1e-3


def say(value: dict[str, Any]) -> None:
    """Print one line for the process that asked."""
    print(json.dumps(value), flush=True)


def memory() -> dict[str, float]:
    """Resident memory of this process now and at its peak, in MB (0 where the system does not tell)."""
    if sys.platform != "linux":
        return {"resident_mb": 0.0, "peak_mb": 0.0}
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return {name: int(lines[key].split()[0]) / 1024 for name, key in (("resident_mb", "VmRSS"), ("peak_mb", "VmHWM"))}


def sample(call: Callable[[], Any], seconds: float = SAMPLE_S) -> float:
    """The median time of a call in seconds; short calls are timed in blocks of a millisecond."""
    clock = time.perf_counter
    begin = clock()
    call()
    once = clock() - begin
    block = max(1, min(10_000, int(BLOCK_S / max(once, 1e-9))))
    times = []
    end = clock() + seconds
    while not times or clock() < end:
        begin = clock()
        for _ in range(block):
            call()
        times.append((clock() - begin) / block)
    return statistics.median(times)


def main() -> None:
    name, workload_name, case, out = sys.argv[1:5]
    small = "small" in sys.argv[5:]
    before = memory()
    started = time.perf_counter()
    from benchmarks.peers import PEERS, Driver

    peer = next(each for each in PEERS if each.name == name)
    importlib.import_module("numpy")
    with_numpy = time.perf_counter()
    driver = Driver(peer)
    imported = time.perf_counter()
    after = memory()
    if peer.namespace == "torch":
        driver.lib.set_num_threads(len(__import__("os").sched_getaffinity(0)))
    import numpy as np

    workload = importlib.import_module(f"benchmarks.workloads.{workload_name}")
    program = getattr(workload, peer.namespace, None)
    parameters = {**workload.CASES[case], **(workload.SMALL if small else {})}
    made = program and program(driver.lib, driver.stage, **workload.data(**parameters))
    if made is None:
        say({"absent": True})
        return
    call = driver.synchronous(made)
    begin = time.perf_counter()
    results = [driver.arrays(call())]
    first = time.perf_counter()
    driver.settle()
    full = time.perf_counter()
    results += [driver.arrays(call()) for _ in range(CHECKED_CALLS - 1)]
    np.savez(out, **{f"{i}_{k}": array for i, arrays in enumerate(results) for k, array in enumerate(arrays)})
    per = getattr(workload, "PER", {}).get(case, 1) if not small else 1
    say({
        "import_ms": 1e3 * (imported - started), "import_without_numpy_ms": 1e3 * (imported - with_numpy),
        "import_mb": after["resident_mb"] - before["resident_mb"], "import_resident_mb": after["resident_mb"],
        "first_ms": 1e3 * (first - begin), "full_ms": 1e3 * (full - begin), "peak_mb": memory()["peak_mb"],
        "version": getattr(driver.lib, "__version__", ""),
    })  # fmt: skip
    until = time.perf_counter() + (0 if small else 0.3)
    while time.perf_counter() < until:
        call()
    for _ in sys.stdin:
        say({"us": 1e6 * sample(call, 0.0 if small else SAMPLE_S) / per})


if __name__ == "__main__":
    main()
