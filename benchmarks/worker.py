"""One peer on the cases of one workload, in a process of its own: `python -m benchmarks.worker PEER WORKLOAD [small]`.

It imports the peer and then does what it reads, a line of JSON each. {"case": NAME, "out": FILE} makes a case ready: it
is called once, then until it runs at full speed; the results of the first calls go to FILE. {"sample": SECONDS} times
it: the median of its calls; {"mean": SECONDS}: their mean. {"soon": NAME} calls a case until it is as fast as it gets,
and says when that was; {"costs": CALLS}: fastgraph's costliest steps. Every line is answered by one; the input's end is
this process's. What a peer cannot do is answered by {"absent": REASON}.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS, Driver, module_of, program

CHECKED_CALLS = 3
WARM_UP_S = 0.25
BLOCK_S = 1e-3
#: At full speed: so many calls, in the middle, within so much of those of the last seconds; given up after MOST_S.
NEIGHBOURS, NEARLY, LAST_S, MOST_S = 5, 1.2, 1.0, 60.0
MOST_COSTLY = 5


def memory(process: str = "self") -> dict[str, float]:
    """Resident memory of a process now and at its peak, in MB (0 where the system does not tell)."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return {"resident_mb": 0.0, "peak_mb": 0.0}
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    names = (("resident_mb", "VmRSS"), ("peak_mb", "VmHWM"))
    return {name: int(lines.get(key, "0 kB").split()[0]) / 1024 for name, key in names}


def held(processes: list[str]) -> float:
    """The memory that processes hold, in MB: what they share, as twins do, is counted once."""
    found = 0.0
    for each in processes:
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return found


def helpers(process: str = "self") -> list[str]:
    """The numbers of the processes that a process has started and that still run, and of theirs."""
    found = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += tasks.read_text().split()
        except OSError:
            continue
    return found + [each for child in found for each in helpers(child)]


class Timer:
    """Times a call; short calls are timed in blocks of a millisecond, so that the clock's own cost does not show."""

    def __init__(self, call: Callable[[], Any], warm_up: float) -> None:
        self.call = call
        times = []
        end = time.perf_counter() + warm_up
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        self.block = max(1, min(10_000, int(BLOCK_S / max(statistics.median(times), 1e-9))))

    def sample(self, seconds: float) -> float:
        """The median time of a call in seconds, measured for so long and at least once."""
        call, block, clock = self.call, self.block, time.perf_counter
        times = []
        end = clock() + seconds
        while not times or clock() < end:
            begin = clock()
            for _ in range(block):
                call()
            times.append((clock() - begin) / block)
        return statistics.median(times)

    def mean(self, seconds: float) -> float:
        """The mean time of a call in seconds, measured for so long and at least once."""
        begin = now = time.perf_counter()
        n = 0
        while not n or now < begin + seconds:
            for _ in range(self.block):
                self.call()
            n += self.block
            now = time.perf_counter()
        return (now - begin) / n


class Cases:
    """The cases of one workload for one peer."""

    def __init__(self, peer: Any, workload: str, small: bool) -> None:
        self.peer, self.small = peer, small
        self.workload = module_of(workload)
        self.host_steps = getattr(self.workload, "HOST_STEPS", "." in workload)
        self.timer: Timer | None = None
        self.driver: Driver | None = None
        self.per = 1

    def call(self, case: str) -> Callable[[], Any] | str:
        """A case's call, which returns with its results, or why there is none; `driver` is its driver."""
        self.timer = self.driver = None
        gc.collect()  # what the case before held
        self.driver = driver = Driver(self.peer, host_steps=self.host_steps)
        made = program(self.peer, self.workload)
        if not isinstance(made, str):
            parameters = {**self.workload.CASES[case], **(self.workload.SMALL if self.small else {})}
            made = made(driver.lib, driver.stage, **self.workload.data(**parameters))
        return made if isinstance(made, str) else driver.synchronous(made)

    def ready(self, case: str, out: str) -> dict[str, Any]:
        """Make a case ready and say how long its first calls took."""
        import numpy as np

        call = self.call(case)
        if isinstance(call, str):
            return {"absent": call}
        assert self.driver is not None
        driver = self.driver
        begin = time.perf_counter()
        results = [driver.arrays(call())]
        first = time.perf_counter()
        driver.settle()
        full = time.perf_counter()
        results += [driver.arrays(call()) for _ in range(CHECKED_CALLS - 1)]
        np.savez(out, **{f"{i}_{k}": array for i, arrays in enumerate(results) for k, array in enumerate(arrays)})
        taken = {"first_ms": 1e3 * (first - begin), "full_ms": 1e3 * (full - begin), **memory()}
        taken["helpers_peak_mb"] = held(helpers())
        self.timer = Timer(call, 0.0 if self.small else getattr(self.workload, "WARM_UP_S", WARM_UP_S))
        self.per = 1 if self.small else getattr(self.workload, "PER", {}).get(case, 1)
        return {**taken, "version": getattr(driver.lib, "__version__", "")}

    def sample(self, seconds: float) -> dict[str, Any]:
        """One sample, in microseconds; of steps that are fed the share of the time that they waited for data, too."""
        assert self.timer is not None
        waits: list[float] = getattr(self.workload, "WAITS", [])
        waits.clear()
        found = {"us": 1e6 * self.timer.sample(seconds) / self.per}
        return {**found, "waited": statistics.median(waits)} if waits else found

    def mean(self, seconds: float) -> dict[str, Any]:
        """The mean of all calls, in microseconds."""
        assert self.timer is not None
        return {"us": 1e6 * self.timer.mean(seconds) / self.per}

    def soon(self, case: str) -> dict[str, Any]:
        """The times of the first result, and of when calls first were within `NEARLY` of their last ones' time."""
        call = self.call(case)
        if isinstance(call, str):
            return {"absent": call}
        assert self.driver is not None
        clock, ends, times, beside = time.perf_counter, [], [], 0.0
        begin = now = looked = clock()
        settled = None
        while settled is None or now < settled + LAST_S or len(times) < 3 * NEIGHBOURS:
            call()
            before, now = now, clock()
            ends.append(now - begin)
            times.append(now - before)
            if now > looked + 0.1 or len(times) == 1:  # not after each call: it takes a while itself
                beside = max(beside, held(helpers()))
                if settled is None and all(each.wait(0.0) for each in self.driver.concretes()):
                    settled = now
                now = looked = clock()
            if now > begin + MOST_S:
                break
        last = [each for end, each in zip(ends, times, strict=True) if end > ends[-1] - LAST_S]
        final = statistics.median(last)
        i = 0
        while i < len(times) - 1 and statistics.median(times[i : i + NEIGHBOURS]) > NEARLY * final:
            i += 1
        taken = {"first_ms": 1e3 * ends[0], "full_ms": 1e3 * ends[i], "final_ms": 1e3 * final}
        return {**taken, **memory(), "helpers_peak_mb": beside}

    def costs(self, calls: int) -> dict[str, Any]:
        """fastgraph's costliest steps of some calls, and how much of their time any step computed."""
        assert self.driver is not None and self.timer is not None
        if self.peer.module != "fastgraph":
            return {}
        begin = time.perf_counter()
        with self.driver.lib.profiler.record() as recording:
            for _ in range(calls):
                self.timer.call()
        seconds = time.perf_counter() - begin
        rows = recording.rows()
        shares = [1e-6 * row.microseconds / seconds for row in rows]
        costly = zip(rows[:MOST_COSTLY], shares, strict=False)
        best = self.driver.lib.profiler.ceilings()
        # Those that compute more for each byte than the machine does: what memory they move costs less.
        heavy = [row for row in rows if row.rate * best.bandwidth > row.bandwidth * best.operations]
        return {
            "ms": 1e3 * seconds / calls,
            "gflop": sum(1e-6 * row.rate * row.microseconds for row in heavy) / calls,
            "gigabytes": sum(1e-6 * row.bandwidth * row.microseconds for row in rows if row not in heavy) / calls,
            "peak": [
                max([best.operations, *[row.rate for row in heavy if row.microseconds > 20 * row.runs]]),
                best.bandwidth,
            ],
            "host_steps": sum(each.host_steps for each in self.driver.concretes()),
            "steps": [[row.kind, row.name, row.runs / calls, share] for row, share in costly],
            "computing": sum(shares),
        }


def main() -> None:
    name, workload = sys.argv[1:3]
    peer = next(each for each in PEERS if each.name == name)
    cases = Cases(peer, workload, "small" in sys.argv[3:])
    for line in sys.stdin:
        wanted = json.loads(line)
        if "case" in wanted:
            answer = cases.ready(wanted["case"], wanted["out"])
        elif "soon" in wanted:
            answer = cases.soon(wanted["soon"])
        elif "costs" in wanted:
            answer = cases.costs(wanted["costs"])
        else:
            answer = cases.mean(wanted["mean"]) if "mean" in wanted else cases.sample(wanted["sample"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
