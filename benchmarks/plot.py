"""Draw a run of the benchmarks: `python -m benchmarks.plot results.json [out.svg]`.

A row for each case, a dot for each peer: how many times longer it takes than fastgraph. Left of 1 the peer is faster.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers import OWN
from benchmarks.report import GRID, best_own, figure

COLOURS = {
    "NumPy": "#7f7f7f", "Numba by hand": "#bcbd22", "TensorFlow": "#e08214", "JAX": "#4878a8", "PyTorch": "#b2182b",
    "PyTensor": "#6a51a3", "grain": "#8c6d31",
}  # fmt: skip


def draw(results: dict[str, Any], out: Path) -> None:
    """Write the picture of a run's cases; nothing where Matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "fastgraph"  # the same results give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: half the size
    rows = [row for row in results["cases"] if best_own(row) and row["workload"] != GRID]
    rows.sort(key=lambda row: row["row"], reverse=True)
    figure_, axes = pyplot.subplots(figsize=(9, 0.28 * len(rows) + 1.2))
    dots: dict[str, list[tuple[float, int]]] = {name: [] for name in COLOURS}
    for y, row in enumerate(rows):
        own = figure(row["us"][row["own"]])
        for name, samples in row["us"].items():
            library = next((each for each in COLOURS if name.removeprefix("Keras on ").startswith(each)), None)
            if name not in OWN and library is not None and samples:
                dots[library].append((figure(samples) / own, y))
    for library, places in dots.items():
        if places:
            axes.plot(*zip(*places), "o", color=COLOURS[library], label=library, markersize=5, alpha=0.8)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [f"{row['workload']}: {row['case']}" for row in rows], fontsize=7)
    axes.set_xlabel("time of the peer / time of fastgraph (right of 1: fastgraph is faster)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure_.tight_layout()
    figure_.savefig(out, metadata={"Date": None})
    pyplot.close(figure_)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        draw(json.load(file), Path(sys.argv[2] if len(sys.argv) > 2 else "docs/benchmarks.svg"))
