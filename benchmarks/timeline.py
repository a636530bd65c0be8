"""Draw what one call did: a bar for each step, a row for each thread (python benchmarks/timeline.py [file]).

The call is workload 17 of the benchmarks: eight independent chains of four products with tanh between them, summed.
Chains overlap where there is more than one thread; the last sum waits for all of them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.profiler import Recording, record

COLOURS = {"gemm": "#4878a8", "kernel": "#e08214", "host": "#b2182b"}


def chains(n: int = 8, depth: int = 4, order: int = 256) -> tuple[Any, Any]:
    """The Function and its argument."""
    rng = np.random.default_rng(0)
    weights = [fg.constant(rng.standard_normal((order, order)).astype(np.float32) / order**0.5) for _ in range(n)]

    @fg.function(autograph=False)
    def summed(x: Any) -> Any:
        ends = []
        for weight in weights:
            h = x
            for _ in range(depth):
                h = fg.tanh(h @ weight)
            ends.append(h)
        return fg.add_n(ends)

    return summed, fg.constant(rng.standard_normal((order, order)).astype(np.float32))


def draw(recording: Recording, path: str) -> None:
    """Write the recording's kernels and products as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    work = [event for event in recording.events if event.kind in COLOURS]
    names = {event.thread: recording.threads[event.thread] for event in work}
    rows = {thread: row for row, thread in enumerate(sorted(names, key=lambda t: names[t].startswith("pool")))}
    origin = min(event.begin for event in work)
    figure, axes = pyplot.subplots(figsize=(9, 0.7 + 0.5 * len(rows)), layout="constrained")
    for kind, colour in COLOURS.items():
        chosen = [event for event in work if event.kind == kind]
        axes.barh(
            [rows[event.thread] for event in chosen],
            [(event.end - event.begin) / 1e3 for event in chosen],
            left=[(event.begin - origin) / 1e3 for event in chosen],
            color=colour, edgecolor="white", linewidth=0.4, label=kind if chosen else None,
        )  # fmt: skip
    axes.set_yticks(list(rows.values()), [names[thread] for thread in rows])
    axes.set_xlabel("µs")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main(path: str = "docs/timeline.svg") -> None:
    function, x = chains()
    with flags.override(tier="last"):
        function(x)
    for _ in range(20):
        function(x)
    with record() as recording:
        function(x)
    draw(recording, path)
    print(recording.table(5))


if __name__ == "__main__":
    main(*sys.argv[1:])
