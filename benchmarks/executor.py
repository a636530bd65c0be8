"""The executor's work on two workloads: `python -m benchmarks.executor [--report docs/executor.md]`.

The timeline of one call of workload 17 (eight independent chains of products), as text, and what `explain()` says of a
training step of the convolutional network: its steps, what waits for what and memory; not the kernels' sources.
"""

from __future__ import annotations

import argparse
import datetime
import platform
from pathlib import Path
from typing import Any

import fastgraph as fg
from benchmarks.timeline import chains
from benchmarks.workloads import convnet
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool import num_threads
from fastgraph.profiler import record


def timeline() -> list[str]:
    """The steps of one call, in order of their beginning, and how much of the time threads worked side by side."""
    function, x = chains()
    with flags.override(tier="last"):
        function(x)
    best = None
    for _ in range(300):
        with record() as recording:
            function(x)
        events = [event for event in recording.events if event.kind in ("kernel", "gemm")]
        length = max(event.end for event in events) - min(event.begin for event in events)
        if best is None or length < best[0]:
            best = (length, events, recording.threads)
    assert best is not None
    length, events, threads = best
    first = min(event.begin for event in events)
    busy = sum(event.end - event.begin for event in events)
    names = {thread: threads[thread] for thread in dict.fromkeys(event.thread for event in events)}
    lines = [
        "## Timeline of workload 17",
        "",
        f"The shortest of 300 calls: {length / 1e3:.0f} us, in which {len(names)} threads ran steps for",
        f"{busy / 1e3:.0f} us: {busy / length:.2f} at a time.",
        "",
        "```",
        f"{'begin us':>10} {'end us':>10}  {'thread':12} {'kind':8} {'units':>9}  step",
    ]
    for event in events:
        begin, end = (event.begin - first) / 1e3, (event.end - first) / 1e3
        units = f"{event.units[0]}..{event.units[1]}"
        name = f"{event.step} {event.name}"
        lines.append(f"{begin:10.1f} {end:10.1f}  {names[event.thread]:12} {event.kind:8} {units:>9}  {name}")
    return [*lines, "```"]


def explained() -> list[str]:
    """The plan of the convnet's training step."""
    staged: list[Any] = []

    def stage(function: Any, **_: Any) -> Any:
        staged.append(fg.function(function))
        return staged[-1]

    with flags.override(tier="last"):
        call = convnet.tensorflow(fg, stage, **convnet.data(**convnet.CASES["step"]))
        for _ in range(2):
            call()
    (function,) = staged
    (concrete,) = function._list_all_concrete_functions()
    text = concrete.explain()
    lines = text[text.index("\n# program of ") + 1 :].splitlines()
    lines = [line for line in lines if not line.lstrip().startswith("|")]  # the kernels' sources
    return ["## A training step of the convnet", "", "```", *lines, "```"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    options = parser.parse_args()
    lines = [
        "# The executor at work",
        "",
        f"fastgraph {fg.__version__}, Python {platform.python_version()}, {platform.machine()},",
        f"{num_threads()} threads, {datetime.date.today()}.",
        "Made by `python -m benchmarks.executor --report docs/executor.md`.",
        "",
    ]
    text = "\n".join([*lines, *timeline(), "", *explained()]) + "\n"
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
