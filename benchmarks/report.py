"""The results of a run as text: a line for each case, tables in Markdown, what changed against an earlier run.

`python -m benchmarks.report results.json [docs/benchmarks.md]` writes the page (and its picture) from a run's file once
more, for instance after a change of `remarks.toml`; of docs/benchmarks.md also the table in the README, so that no two
pages give different figures for one thing.
"""

from __future__ import annotations

import json
import statistics
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import busy, once
from benchmarks.peers import BY_HAND, KERAS, OWN, PEERS, WARM

CHANGE = 0.15
ROOT = Path(__file__).resolve().parents[1]
#: "workload/case" = why it is behind its goal; kept from run to run.
REMARKS = Path(__file__).with_name("remarks.toml")
#: The workload whose cases, "op, size", make a table of their own: a row an op, a column a size.
GRID = "ops"
HOW = """\
Written by `python -m benchmarks.run`, which says how it measures. Microseconds of a synchronous call: the least of
several medians, with the spread (the largest over the least) behind it. The ratio is fastgraph's time over the best
peer's: below 1 fastgraph is faster. Gaps under 15 % are ties. The best peer leaves out Numba by hand, which is code
written for the one workload: the limit to approach. `#` numbers what was to be measured; 20 to 22 and 25 are under
"Once"."""
HOW_WAITING = """\
Of passes that feed training steps: the share of a pass in which the step waited at the iterator (the median of the
samples), and that share of the pass's microseconds. What is left is the steps' own time; data that is made while a step
runs, on the cores that it leaves free, is waited for by nobody."""
HOW_BUSY = """\
Microseconds, the mean of all calls, on the quiet machine and beside one spinning process for each core, and their
ratio: the neighbours take half of the machine, so it is 2 for what nobody waits for in vain. Eager calls, but for steps
and chains."""
HOW_GRID = """\
Eager calls of the most used ops on float32: fastgraph's time over that of the better of NumPy (N) and PyTorch (P), and
fastgraph's microseconds. Below 1 fastgraph is faster. `benchmarks/workloads/ops.py` says what each call is; NumPy and
PyTorch copy where their result would be a view of another layout (transpose, broadcast_to)."""


#: The cases that the README shows: (workload, case, what it is called there).
SHOWN = (
    ("scalar_add", "scalar", "a + b, two scalars, eager"),
    ("scalar_add", "ten, recorded", "a + b, 10 floats, eager, recorded on a tape"),
    ("op_gradient", "x * x", "one op and its gradient by a tape"),
    ("call", "a * b + c", "call of a traced a * b + c"),
    ("loop", "5 elements", "iteration of a while_loop, tanh of 5 floats"),
    ("chain", "gradient, 1e5", "gradient of a chain of 11 elementwise ops, 100,000 floats"),
    ("mlp", "step", "MLP 784-256-128-10, training step of 64"),
    ("convnet", "step", "convolutional network, training step of 32"),
    ("attention", "gradient", "attention block, gradient, 8 x 128 x 128"),
)
BEGIN, END = "<!-- measured figures: begin -->\n", "<!-- measured figures: end -->\n"


def figure(samples: list[float]) -> float:
    """A peer's figure: its least sample, which is the least disturbed."""
    return min(samples)


def spread(samples: list[float]) -> float:
    """The largest sample over the least."""
    return max(samples) / min(samples)


def best_own(row: dict[str, Any]) -> tuple[str, float] | None:
    """fastgraph's mode that the case is about (a Function, or eager where eager calls count) and its figure."""
    return (row["own"], figure(row["us"][row["own"]])) if row["us"].get(row["own"]) else None


def others(row: dict[str, Any], library: str = "") -> dict[str, float]:
    """The figures of the peers (of one library), without what was written by hand for the workload."""
    named = {name: us for name, us in row["us"].items() if name not in (*OWN, *BY_HAND) and name.startswith(library)}
    return {name: figure(us) for name, us in named.items() if us}


def best_peer(row: dict[str, Any]) -> tuple[str, float] | None:
    """The fastest peer and its figure."""
    return min(others(row).items(), key=lambda item: item[1], default=None)


def goal(row: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[bool, str] | None:
    """Return whether a case reaches its goal, and in words; None where it has none or nothing to be compared with.

    A goal is a ratio to the best peer, (ratio, library), {"us": limit}, or {"us": limit, "over": another case}.
    """
    wanted, own = row["goal"], best_own(row)
    if wanted is None or own is None:
        return None
    if isinstance(wanted, dict):
        reached, limit = own[1], float(wanted["us"])
        if "over" in wanted:
            same = (each for each in rows if each["workload"] == row["workload"] and each["case"] == wanted["over"])
            over = next((figure(each["us"][own[0]]) for each in same if each["us"].get(own[0])), None)
            if over is None:
                return None
            reached -= over
        said = f"{us(reached)} µs" + (f" over {wanted['over']}" if "over" in wanted else "")
        return reached <= limit, f"{said}, goal {us(limit)}"
    limit, library = wanted if isinstance(wanted, (list, tuple)) else (float(wanted), "")
    figures = others(row, library)
    if not figures:
        return None
    reached = own[1] / min(figures.values())
    return reached <= limit, f"{reached:.2f}, goal {limit:g}" + (f" of {library}" if library else "")


def as_json(results: dict[str, Any]) -> str:
    """Return a run's results as JSON: each case on a line of its own."""
    parts = []
    for key, value in results.items():
        each = ",\n".join(map(json.dumps, value)) if isinstance(value, list) else json.dumps(value)
        parts.append(f'"{key}": ' + (f"[\n{each}\n]" if isinstance(value, list) else each))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def us(value: float) -> str:
    """A time in microseconds with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def line(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """One case in one line."""
    own, peer, reached = best_own(row), best_peer(row), goal(row, rows)
    text = f"{row['row']:3} {row['workload']}/{row['case']}"
    if own is not None:
        text += f": {own[0]} {us(own[1])} us"
    if peer is not None:
        text += f"; {peer[0]} {us(peer[1])} us" + (f"; ratio {own[1] / peer[1]:.2f}" if own is not None else "")
    if reached is not None:
        text += f"; {'met' if reached[0] else 'MISSED'}: {reached[1]}"
    return text + "".join(f"; {failed} FAILED: {why}" for failed, why in row["failed"].items())


def table(titles: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown, and an empty line."""
    return ["| " + " | ".join(each) + " |" for each in (titles, ["---"] * len(titles), *rows)] + [""]


def markdown(results: dict[str, Any]) -> str:
    """The whole run as a page."""
    machine = results["machine"]
    every = sorted(results["cases"], key=lambda row: row["row"])
    rows = [row for row in every if row["workload"] != GRID]
    versions = {module: version for row in every for module, version in row["versions"].items()}
    where = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, CPython {machine['python']}"
    named = ", ".join(f"{module} {version}" for module, version in sorted(versions.items()))
    lines = ["# Benchmarks", "", f"{machine['date']}, {where}: {named}.{_earlier(every, results)}", "", HOW, ""]
    lines += ["![time of the peers over fastgraph's](benchmarks.svg)", ""]
    titles = ["#", "workload", "fastgraph", "best peer", "by hand", "ratio", "goal"]
    lines += table(titles, [_cells(row, rows) for row in rows])
    lines += _grid([row for row in every if row["workload"] == GRID])
    lines += _behind(every, results["once"], results.get("busy", []))
    lines += _waiting(rows)
    lines += _busy(results.get("busy", []))
    if results["once"]:
        lines += list(_once(results["once"]))
    names = [peer.name for peer in PEERS if any(peer.name in row["us"] for row in rows)]
    lines += ["## Every peer", ""]
    lines += table(
        ["#", "workload", *names],
        [[str(r["row"]), f"{r['workload']}: {r['case']}", *(_cell(r["us"].get(name)) for name in names)] for r in rows],
    )
    lines += [*_missing(every, "failed", "Failed"), *_missing(every, "absent", "Who takes no part, and why")]
    return "\n".join(lines).rstrip() + "\n"


def readme(results: dict[str, Any]) -> str:
    """The table of the README, between its two marks."""
    machine, measured = results["machine"], results["once"]
    rows = []
    for row in measured.get("imports", ()):
        if row["module"] in ("fastgraph", "tensorflow"):
            rows.append((row["module"], row["import_ms"], row["operation_ms"], row["operation_mb"]))
    (_, ours, our_first, our_mb), (_, theirs, their_first, their_mb) = sorted(rows)
    lines = [
        f"On {machine['cores']} cores ({machine['cpu']}, CPython {machine['python']}, {machine['date'][:10]}); the "
        "page has the spread, all peers, and what is behind:",
        "",
    ]
    shown = [
        [
            "import; with a first op",
            f"{ours:,.0f}; {our_first:,.0f} ms",
            f"TensorFlow {theirs:,.0f}; {their_first:,.0f} ms",
        ],
        ["resident after a first op", f"{our_mb:,.0f} MB", f"TensorFlow {their_mb:,.0f} MB"],
    ]
    calls = {(row["workload"], row["peer"], row["caches"]): row for row in measured.get("first_calls", ())}
    for workload, name in (("mlp", "MLP"), ("convnet", "convolutional network")):
        cold, warm = calls[workload, "fastgraph", "cold"], calls[workload, "fastgraph", "warm"]
        peer = calls[workload, "TensorFlow function", "cold"]
        ours_said = (
            f"{cold['first_ms']:,.0f}, {cold['full_ms']:,.0f} ms; {warm['first_ms']:,.0f}, {warm['full_ms']:,.0f} ms"
        )
        shown.append([f"{name}: first result, full speed; with stored kernels", ours_said,
                      f"TensorFlow {peer['first_ms']:,.0f}, {peer['full_ms']:,.0f} ms"])  # fmt: skip
    for workload, case, name in SHOWN:
        row = next(row for row in results["cases"] if (row["workload"], row["case"]) == (workload, case))
        own, peer_best = best_own(row), best_peer(row)
        if own is not None and peer_best is not None:
            shown.append([name, f"{us(own[1])} us", f"{peer_best[0]} {us(peer_best[1])} us"])
    return "\n".join([*lines, *table(["", "fastgraph", "beside"], shown)])


def write_readme(results: dict[str, Any], page: Path) -> None:
    """Put the table between the marks of a README."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    page.write_text(before + BEGIN + readme(results) + END + rest.partition(END)[2], encoding="utf-8")


def _earlier(rows: list[dict[str, Any]], results: dict[str, Any]) -> str:
    """The parts that are of earlier runs."""
    today = results["machine"]["date"]
    dates: dict[str, dict[str, None]] = {}
    runs: dict[str, set[str]] = {}
    for row in rows:
        runs.setdefault(row["workload"], set()).add(row.get("date", today))
    for row in rows:
        whole = len(runs[row["workload"]]) == 1
        name = row["workload"] if whole else f"{row['workload']}/{row['case']}"
        dates.setdefault(row.get("date", today), {})[name] = None
    if "date" in results["once"]:
        dates.setdefault(results["once"]["date"], {})["what is done once"] = None
    parts = [f"{', '.join(named)} ({date})" for date, named in sorted(dates.items()) if date != today]
    return f" Of earlier runs: {'; '.join(parts)}." if parts else ""


def _grid(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The ops by sizes: ratio to the better peer, its letter, and fastgraph's time."""
    if not rows:
        return
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        op, size = row["case"].split(", ")
        own, peer = best_own(row), best_peer(row)
        cells.setdefault(op, {})[size] = "failed" if own is None else us(own[1])
        if own is not None and peer is not None:
            ratio = own[1] / peer[1]
            shown = f"{ratio:.2f}" if ratio <= 1 + CHANGE else f"**{ratio:.2f}**"
            cells[op][size] = f"{shown} {peer[0][0]} ({us(own[1])})"
    sizes = list(dict.fromkeys(size for each in cells.values() for size in each))
    yield from ["## Ops", "", HOW_GRID, ""]
    yield from table(["op", *sizes], [[op, *(each.get(size, "") for size in sizes)] for op, each in cells.items()])


def _cells(row: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    own, peer, reached = best_own(row), best_peer(row), goal(row, rows)
    by_hand = next((_cell(row["us"][name]) for name in BY_HAND if name in row["us"]), "")
    return [
        str(row["row"]), f"{row['workload']}: {row['case']}",
        "failed" if own is None else _cell(row["us"][own[0]]) + (" eager" if "eager" in own[0] else ""),
        "" if peer is None else f"{peer[0]} {_cell(row['us'][peer[0]])}", by_hand,
        "" if own is None or peer is None else f"{own[1] / peer[1]:.2f}",
        "" if reached is None else f"{'met' if reached[0] else '**missed**'}: {reached[1]}",
    ]  # fmt: skip


def _cell(samples: list[float] | None) -> str:
    return f"{us(figure(samples))} ({spread(samples):.2f}x)" if samples else ""


def _waiting(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What part of a pass its steps waited for data, of each peer."""
    fed = [row for row in rows if "waited" in row]
    if not fed:
        return
    yield from ["## Waiting for data", "", HOW_WAITING, ""]
    names = [peer.name for peer in PEERS if any(peer.name in row["waited"] for row in fed)]
    cells = []
    for row in fed:
        shares = {name: statistics.median(each) for name, each in row["waited"].items() if row["us"].get(name)}
        shown = [f"{shares[n]:.0%}, {us(shares[n] * figure(row['us'][n]))}" if n in shares else "" for n in names]
        cells.append([f"{row['workload']}: {row['case']}", *shown])
    yield from table(["workload", *names], cells)


def _busy(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The effect of neighbours on all cores on some workloads."""
    if not rows:
        return
    yield from [f"## Beside a busy neighbour ({busy.ROW})", "", HOW_BUSY, ""]
    titles = ["workload", "quiet", "beside neighbours", "factor", "TensorFlow's factor", f"goal {busy.LIMIT:g}"]
    cells = []
    for row in rows:
        quiet, beside = row["us"].get("fastgraph", (None, None))
        others_ = row["us"].get("TensorFlow")
        factor = None if quiet is None else beside / quiet
        cells.append([
            f"{row['workload']}: {row['case']}", "failed" if quiet is None else us(quiet),
            "" if quiet is None else us(beside), "" if factor is None else f"{factor:.2f}",
            "" if others_ is None else f"{others_[1] / others_[0]:.2f}",
            "" if factor is None else "met" if factor <= busy.LIMIT else "**missed**",
        ])  # fmt: skip
    yield from table(titles, cells)


def _behind(rows: list[dict[str, Any]], measured: dict[str, Any], beside: list[dict[str, Any]]) -> Iterator[str]:
    """A sentence for every row behind its goal or the best peer, from the remarks."""
    remarks = tomllib.loads(REMARKS.read_text()) if REMARKS.exists() else {}
    found = [(f"{row['workload']}/{row['case']}", text) for row in rows if (text := _why_behind(row, rows)) is not None]
    found += [(name, text) for name, reached, text in once_goals(measured) if not reached]
    for row in beside:
        quiet, busy_ = row["us"].get("fastgraph", (1.0, 0.0))
        if busy_ > busy.LIMIT * quiet:
            text = f"{busy_ / quiet:.2f} beside neighbours, goal {busy.LIMIT:g}"
            found.append((f"{row['workload']}/{row['case']}, busy", text))
    yield from ["## Behind", ""]
    for name, text in found:
        remark = remarks.get(name) or remarks.get(name.split(", ")[0], "not looked into yet.")
        yield f"- {name} ({text}): {remark}"
    yield from ([] if found else ["Nothing is behind its goal."])
    yield ""


def _why_behind(row: dict[str, Any], rows: list[dict[str, Any]]) -> str | None:
    own, peer, reached = best_own(row), best_peer(row), goal(row, rows)
    if own is None:
        return "fastgraph failed"
    if reached is not None:
        return None if reached[0] else reached[1]
    if row["goal"] is None and peer is not None and own[1] > (1 + CHANGE) * peer[1]:
        return f"{own[1] / peer[1]:.2f} of {peer[0]}"
    return None


def once_goals(measured: dict[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """(what, whether it is reached, in words) of the goals of what is done once."""

    def one(what: str, value: float, limit: float, unit: str) -> tuple[str, bool, str]:
        return what, value <= limit, f"{value:,.0f} {unit}, goal {limit:g}"

    for row in measured.get("imports", ()):
        if row["module"] == "fastgraph" and "failed" not in row:
            yield one("import", row["import_ms"], once.IMPORT_MS, "ms")
            yield one("import and a first operation", row["operation_ms"], once.IMPORT_MS, "ms")
            yield one("memory after a first operation", row["operation_mb"], once.IMPORT_MB, "MB")
    keras = {row["module"]: row["import_ms"] for row in measured.get("imports", ()) if "failed" not in row}
    if {KERAS, "Keras on TensorFlow"} <= set(keras):
        yield one("import of Keras", keras[KERAS], keras["Keras on TensorFlow"], "ms")
    calls = [row for row in measured.get("first_calls", ()) if "failed" not in row]
    for row in calls:
        if row["peer"] not in ("fastgraph", KERAS):
            continue
        case = row["workload"], row["case"]
        where = f"{row['workload']}/{row['case']}, {row['caches']}"
        limit = once.FIRST[case]
        if limit is None:
            same = [each for each in calls if case == (each["workload"], each["case"]) and each["peer"] != KERAS]
            if same:
                yield one(f"{where}: first epoch", row["first_ms"], min(each["first_ms"] for each in same), "ms")
            continue
        yield one(f"{where}: first result", row["first_ms"], limit, "ms")
        yield one(f"{where}: full speed", row["full_ms"], once.FULL[row["caches"]], "ms")
        if row["workload"] == "convnet":
            yield one(f"{where}: peak memory", row["peak_mb"], once.PEAK_MB, "MB")
    if "sizes" in measured:
        yield one("installed size, own part", measured["sizes"]["fastgraph"]["own_mb"], once.OWN_MB, "MB")


def _once(measured: dict[str, Any]) -> Iterator[str]:
    """Figures of what is done once, as tables."""
    yield from [f"## Once: import ({once.IMPORT_ROW})", ""]
    columns = ("import_ms", "import_mb", "operation_ms", "operation_mb")
    titles = ["import, ms", "resident, MB", "and a first operation, ms", "resident, MB"]
    yield from table(["", *titles], [[row["module"], *_figures(row, columns)] for row in measured["imports"]])
    yield from [f"## Once: first calls ({once.FIRST_ROW}) and memory ({once.MEMORY_ROW})", ""]
    yield "In a new process, after the import. Helpers: processes that compile; pages that they share count in each."
    yield ""
    columns = ("first_ms", "full_ms", "peak_mb", "helpers_peak_mb")
    titles = ["workload", "peer", "caches", "first result, ms", "full speed, ms", "peak, MB", "helpers' peaks, MB"]
    yield from table(
        titles,
        [
            [f"{row['workload']}: {row['case']}", row["peer"], row["caches"], *_figures(row, columns)]
            for row in measured["first_calls"]
        ],
    )
    yield from [f"## Once: installed size with requirements ({once.SIZE_ROW})", ""]
    yield from table(
        ["", "MB", "of it fastgraph's", "required but not installed here"],
        [
            [
                name,
                f"{each['all_mb']:,.0f}",
                f"{each['own_mb']:.1f}" if "own_mb" in each else "",
                ", ".join(each["absent"]),
            ]
            for name, each in measured["sizes"].items()
        ],
    )
    yield from ["## Once: goals", ""]
    rows = [[what, "met" if reached else "**missed**", text] for what, reached, text in once_goals(measured)]
    yield from table(["", "", ""], rows)


def _figures(row: dict[str, Any], columns: tuple[str, ...]) -> list[str]:
    if "failed" in row:
        return ["failed", *[""] * (len(columns) - 1)]
    return [f"{row[column]:,.0f}" if column in row else "" for column in columns]


def _missing(rows: list[dict[str, Any]], key: str, title: str) -> Iterator[str]:
    """The peers that are missing in a row and why; one line for peers and cases with the same reason."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for name, why in row[key].items():
            reasons.setdefault((row["workload"], why), {})[name] = None
    if reasons:
        yield from [f"## {title}", ""]
        yield from (f"- {workload}: {', '.join(names)}: {why}" for (workload, why), names in reasons.items())
        yield ""


def changed(base: dict[str, Any], results: dict[str, Any]) -> bool:
    """Print what changed by more than 15 % against an earlier run, and return whether anything became slower.

    Compared are ratios to NumPy where both runs have it, so that a machine's load does not count; times otherwise.
    """
    before = {(row["workload"], row["case"]): row for row in base["cases"]}
    slower = False
    for row in results["cases"]:
        earlier = before.get((row["workload"], row["case"]), {"us": {}})
        for name in OWN:
            if name == WARM or not row["us"].get(name) or not earlier["us"].get(name):
                continue
            now, then = figure(row["us"][name]), figure(earlier["us"][name])
            if row["us"].get("NumPy") and earlier["us"].get("NumPy"):
                now, then = now / figure(row["us"]["NumPy"]), then / figure(earlier["us"]["NumPy"])
            if abs(now / then - 1) > CHANGE:
                slower = slower or now > then
                word = "SLOWER" if now > then else "faster"
                print(f"{word}: {row['workload']}/{row['case']}, {name}: {now / then:.2f}x")
    return slower


def main() -> None:
    from benchmarks import plot

    results = json.loads(Path(sys.argv[1]).read_text())
    page = Path(sys.argv[2] if len(sys.argv) > 2 else "docs/benchmarks.md")
    page.write_text(markdown(results))
    plot.draw(results, page.with_suffix(".svg"))
    if page.resolve() == ROOT / "docs" / "benchmarks.md":
        write_readme(results, ROOT / "README.md")


if __name__ == "__main__":
    main()
