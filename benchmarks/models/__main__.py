"""Measure the programs side by side: `python -m benchmarks.models [options]` (`make bench-models`).

As `benchmarks.run` does it: a process for each peer, results compared, samples taken in turn. Then each program begins
in new processes, one at a time, with nothing compiled before ("cold") and with what that one left ("warm"). The page
says of every row what fastgraph's time goes to.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import once, report
from benchmarks.models import FAMILIES
from benchmarks.peers import PEERS, ROOT, module_of, python_of, takes_part
from benchmarks.processes import READY_S, Failure, Worker
from benchmarks.run import Field, cases, machine

OWN = "fastgraph"
NAMES = (OWN, "TensorFlow function", "TensorFlow jit", "JAX jit", "PyTorch compile", "PyTorch eager")
TAKING_PART = tuple(peer for peer in PEERS if peer.name in NAMES)
RESULTS, PAGE = Path(__file__).with_name("results.json"), ROOT / "docs" / "models.md"
PROFILED_S = 0.5
HOW = """\
Written by `python -m benchmarks.models`, which says how it measures; `benchmarks/models/` has the programs. A step is
the least of several medians, in milliseconds; the ratio is fastgraph's over the best peer's: below 1 fastgraph is
faster. First result and full speed (the first calls within 1.2 of the last ones' time) count from the first call, in a
new process, after the imports: with nothing compiled before, and, for fastgraph, behind the semicolon with its kernels
stored. The peer beside is the one that is soonest, of those asked (`--begin`). Peak memory is of the whole process and,
behind the plus, of the processes that compile, what they share counted once; the peer beside has the least."""

#: Less good figures of the other processor, which rows above replaced.
REPLACED = [
    "By vectors of AVX-512 ResNet-50's step was 1.03 of the best peer's (1,328 ms, TensorFlow 1,292; 2026-11-29). "
    "With AVX2 its first call with all kernels stored took 5.6 s on 2026-12-01, nothing beside it: 1.5 s to trace and "
    "plan, 4 s for the first run of the plan, which touches 1.3 GB of memory for the first time; the second took 1.6."
]

#: What of a row is measured at once.
_STEPS, _FIRST = "steps", "first calls and memory"
SHARES = "Shares of the time of a call, of what takes most; threads overlap."
LIMIT = """\
The limit of a row: what the arithmetic of products, convolutions and the like takes at the highest rate that any of
them has here, {:.0f} GF/s, and what all other steps read and write at that of the best copy of 64 MB, {:.0f} GB/s, both
on all cores (what lies in caches moves faster)."""


class Programs(Field):
    """The peers on one family; a row has fastgraph's costliest steps, too."""

    def measure(self, case: str, rounds: int) -> dict[str, Any]:
        """Compare, time in turn, and profile."""
        row = super().measure(case, rounds)
        if row["us"].get(OWN):
            calls = max(1, min(1000, int(PROFILED_S / (1e-6 * report.figure(row["us"][OWN])))))
            row["costs"] = self.workers[OWN].costs(1 if self.small else calls)
        return row


def begun(name: str, case: str, pythons: dict[str, str], scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """{peer: {"cold": figures, "warm": figures}} of the peers that `options.begin` names."""
    module, made = module_of(name), {}
    for peer in TAKING_PART:
        if peer.environment not in pythons or not takes_part(peer, module, case):
            continue
        if not any(fnmatch.fnmatch(peer.name, each) for each in options.begin.split(";")):
            continue
        made[peer.name] = {}
        for state in ("cold", "warm") if peer.name in once.KEEPING else ("cold",):
            worker = Worker(peer, pythons[peer.environment], name, scratch / peer.name.replace(" ", "-"), options.small)
            try:
                worker.ask(soon=case)
                made[peer.name][state] = worker.answer(READY_S)
            except Failure as failure:
                made[peer.name][state] = {"failed": str(failure)}
            finally:
                worker.close()
    shutil.rmtree(scratch, ignore_errors=True)
    return made


def ratio(row: dict[str, Any]) -> float | None:
    """fastgraph's time over the best peer's."""
    own, peer = report.best_own(row), report.best_peer(row)
    return None if own is None or peer is None else own[1] / peer[1]


def geometric_mean(values: list[float]) -> float:
    """NaN of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def ms(us: float) -> str:
    """Milliseconds with three digits, of less than a tenth of a microsecond none."""
    return report.us(us / 1e3 if us >= 0.1 else 0.0)


def least(row: dict[str, Any], what: str) -> tuple[str, float] | None:
    """The peer whose figure of a cold process is the least."""
    figures = {
        peer: sum(states["cold"].get(each, 0.0) for each in what.split("+"))
        for peer, states in row.get("begun", {}).items()
        if peer != OWN and what.split("+")[0] in states.get("cold", {})
    }
    return min(figures.items(), key=lambda item: item[1], default=None)


def soon(row: dict[str, Any], what: str) -> list[str]:
    """Two cells: fastgraph's figure, cold; warm, and the soonest peer's."""
    own, peer = row.get("begun", {}).get(OWN, {}), least(row, what)
    mine = "; ".join(report.us(own[state][what]) for state in ("cold", "warm") if what in own.get(state, {}))
    return [mine, "" if peer is None else f"{peer[0]} {report.us(peer[1])}"]


def memory(row: dict[str, Any]) -> list[str]:
    """Two cells: fastgraph's peak and its helpers', and the least of the peers'."""
    own, peer = row.get("begun", {}).get(OWN, {}).get("cold", {}), least(row, "peak_mb+helpers_peak_mb")
    mine = f"{own['peak_mb']:,.0f} + {own['helpers_peak_mb']:,.0f}" if "peak_mb" in own else ""
    return [mine, "" if peer is None else f"{peer[0]} {peer[1]:,.0f}"]


def lacking(row: dict[str, Any], peak: tuple[float, float]) -> str:
    """Where fastgraph's time goes, and the least that the machine's rates leave: the roofline."""
    costs, own = row.get("costs"), report.best_own(row)
    if not costs or own is None:
        return "nothing was recorded."
    steps = [f"{name if len(name) < 70 else name[:67] + '...'} ({kind}, {count:.4g} runs) {share:.0%}"
             for kind, name, count, share in costs["steps"]]  # fmt: skip
    outside = max(0.0, 1 - costs["computing"])
    text = f"{'; '.join(steps)}; no step at all {outside:.0%}; {costs['host_steps']} host steps in the graph."
    if "gflop" not in costs:
        return text
    computed, moved = 1e3 * costs["gflop"] / peak[0], 1e3 * costs["gigabytes"] / peak[1]
    return (
        f"{text} Limit: {ms(1e3 * computed)} ms of arithmetic ({costs['gflop']:.3g} GF), {ms(1e3 * moved)} ms of "
        f"memory ({costs['gigabytes']:.2g} GB): {1e3 * (computed + moved) / own[1]:.0%} of the step."
    )


def markdown(results: dict[str, Any]) -> str:
    """The page."""
    where, rows = results["machine"], results["cases"]
    versions = {module: version for row in rows for module, version in row["versions"].items()}
    lines = ["# Models", ""]
    named = ", ".join(f"{module} {version}" for module, version in sorted(versions.items()))
    place = f"{where['cpu']}, {where['cores']} cores, {where['system']}, CPython {where['python']}"
    load = f", load {where['load'][0]:.1f} as it began" if where.get("load") else ""
    lines += [f"{where['date']}, {place}{load}: {named}.", "", HOW, ""]
    if where.get("load") and where["load"][0] > where["cores"] / 2:
        lines += [
            "**Other programs ran beside: no figure or ratio below tells how fast anything is on a quiet machine.**",
            "",
        ]
    ratios = {f"{row['workload']}/{row['case']}": value for row in rows if (value := ratio(row)) is not None}
    slower = sum(value > 1 for value in ratios.values())
    text = f"{len(ratios)} programs, geometric mean of the ratios {geometric_mean([*ratios.values()]):.2f}, "
    lines += [f"{text}{slower} slower than the best peer.", ""]
    lines += measured_when(rows)
    titles = ["program", "fastgraph, ms", "best peer", "ratio", "first result, ms", "soonest peer", "full speed, ms",
              "soonest peer", "peak, MB", "least peer"]  # fmt: skip
    cells = []
    for row in rows:
        own, peer, value = report.best_own(row), report.best_peer(row), ratio(row)
        figures = ["failed" if own is None else ms(own[1]), "" if peer is None else f"{peer[0]} {ms(peer[1])}",
                   "" if value is None else f"{value:.2f}" if value <= 1 else f"**{value:.2f}**"]  # fmt: skip
        cells.append([row["case"], *figures, *soon(row, "first_ms"), *soon(row, "full_ms"), *memory(row)])
    lines += report.table(titles, cells)
    rates = [row["costs"]["peak"] for row in rows if "peak" in row.get("costs", {})]
    peak = tuple(max(each) for each in zip(*rates, strict=True)) if rates else (math.nan, math.nan)
    lines += ["## What each row lacks", "", SHARES, *([LIMIT.format(*peak)] if rates else []), ""]
    by_ratio = sorted(rows, key=lambda row: -(ratio(row) or math.inf))
    lines += [
        f"- {row['case']} ({'failed' if (r := ratio(row)) is None else f'{r:.2f}'}): {lacking(row, peak)}"
        for row in by_ratio
    ]
    lines += ["", "## Every peer", "", "Milliseconds a step, with the largest sample over the least.", ""]
    cells = [[row["case"], *(cell(row["us"].get(name)) for name in NAMES)] for row in rows]
    lines += report.table(["program", *NAMES], cells)
    lines += [
        *report._missing(rows, "failed", "Failed"),
        *report._missing(rows, "absent", "Who takes no part, and why"),
    ]
    return "\n".join(lines).rstrip() + "\n"


def measured_when(rows: list[dict[str, Any]]) -> list[str]:
    """Say which rows' figures are of which run and kind of vectors, where there are several."""
    names: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for what, run in row.get("measured", {}).items():
            names.setdefault((what, run["date"], run["vectors"]), []).append(row["case"])
    if len({run[1:] for run in names}) < 2:
        return []
    lines = [
        f"- {what}, {date}, vectors of {kind}: {'; '.join(of)}." for (what, date, kind), of in sorted(names.items())
    ]
    kinds = " nor of one kind of processor" if len({run[2] for run in names}) > 1 else ""
    return [f"Not all is of one run{',' * bool(kinds)}{kinds}:", "", *lines, "", *REPLACED, ""]


def cell(samples: list[float] | None) -> str:
    return f"{ms(report.figure(samples))} ({report.spread(samples):.2f}x)" if samples else ""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", default="here", help='"here" (what can be imported), "all" (environments are made)')
    parser.add_argument("--only", help='patterns of "family/program", separated by semicolons')
    parser.add_argument("--begin", default="*", help='whose first calls are measured, patterns; "" for nobody\'s')
    parser.add_argument("--rounds", type=int, default=5, help="0: first calls alone, of rows that there are")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-out" / "models.json")
    parser.add_argument(
        "--publish", action="store_true", help=f"write models/{RESULTS.name} and {PAGE.name}, rows measured"
    )
    parser.add_argument("--small", action="store_true", help="shrunk programs, to check that every peer's code runs")
    parser.add_argument("--page", action="store_true", help="only write the page again, of the results that there are")
    options = parser.parse_args()
    if options.publish:
        options.json = RESULTS
    return options


def measured(
    wanted: dict[str, list[str]], pythons: dict[str, str], scratch: Path, options: argparse.Namespace, earlier: Any
) -> Any:
    """The rows, each as soon as it is there; a family's first calls come after all its steps, and make rows anew."""
    for name, each in wanted.items():
        field, rows = Programs(name, pythons, scratch / "caches", options.small, TAKING_PART), []
        try:
            if not options.rounds:
                rows += [row for row in earlier if row["workload"] == name and row["case"] in each]
            for case in each if options.rounds else ():
                rows.append(field.measure(case, options.rounds))
                yield rows[-1]
        finally:
            field.close()
        for row in rows if options.begin else ():
            kept = {} if options.rounds else row.get("begun", {})
            row["begun"] = {**kept, **begun(name, row["case"], pythons, scratch / "begun", options)}
            yield row


def replaced(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with this one in its place, in the order of the families."""
    key = row["workload"], row["case"]
    earlier = next((each for each in rows if (each["workload"], each["case"]) == key), {})
    if "begun" in earlier and "begun" not in row:
        row = {**row, "begun": earlier["begun"], "measured": {**earlier.get("measured", {}), **row["measured"]}}
    kept = [each for each in rows if (each["workload"], each["case"]) != key]
    order = [(f"models.{name}", case) for name in FAMILIES for case in module_of(f"models.{name}").CASES]
    kept = [each for each in kept if (each["workload"], each["case"]) in order]  # programs that there are no more
    return sorted([*kept, row], key=lambda each: order.index((each["workload"], each["case"])))


def main() -> None:
    options = arguments()
    page = PAGE if options.publish else options.json.with_suffix(".md")
    results: dict[str, Any] = {"machine": machine(), "cases": []}
    if options.json.exists():  # what is not measured again stays
        earlier = json.loads(options.json.read_text())
        if options.page or (earlier["machine"]["cpu"], earlier["machine"]["cores"]) == (
            results["machine"]["cpu"], results["machine"]["cores"],
        ):  # fmt: skip
            results["cases"] = earlier["cases"]
            results["machine"] = earlier["machine"] if options.page else results["machine"]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    if not options.page:
        environments = dict.fromkeys(peer.environment for peer in TAKING_PART)
        found = {each: python_of(each, make=options.peers == "all") for each in environments}
        pythons = {environment: python for environment, python in found.items() if python is not None}
        only = None if options.only is None else ";".join(f"models.{each}" for each in options.only.split(";"))
        scratch, began = Path(tempfile.mkdtemp(prefix="fastgraph-models-")), time.perf_counter()
        try:
            wanted = cases(only, tuple(f"models.{name}" for name in FAMILIES))
            for row in measured(wanted, pythons, scratch, options, results["cases"]):
                run = {name: results["machine"][name] for name in ("date", "vectors")}
                new = {_STEPS: run} if options.rounds and "begun" not in row else {_FIRST: run}
                row["measured"] = {**row.get("measured", {}), **new}
                results["cases"] = replaced(results["cases"], row)
                options.json.write_text(report.as_json(results))
                text = f"{time.perf_counter() - began:5.0f} s {report.line(row, results['cases'])}"
                own = row.get("begun", {}).get(OWN, {}).get("cold", {})
                print(text + (f"; full speed {own['full_ms']:,.0f} ms" if "full_ms" in own else ""), flush=True)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    page.write_text(markdown(results))
    print(f"{options.json}, {page}")
    if any(OWN in row["failed"] for row in results["cases"]):
        sys.exit("fastgraph failed on some programs")


if __name__ == "__main__":
    main()
