"""Every integer argument of every op, with values of every kind: the same value or the same error, however it is run.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.arguments [--only PATTERN] [--kernels] [--keep FOLDER]
        [--report docs/arguments.md]

The integers of the oracle's calls (literals, and tensors of integers that are no data) become tensors that are known
only when a Function runs: negative, 0, beyond the end, 2**31, 2**32 + 1; int32 and int64; one element of a vector and all
of them. Compared are eager mode, Functions with known and with unknown shapes on their first tier and, with `--kernels`,
on kernels, and TensorFlow; and Functions in which the numbers are written with TensorFlow's. Exit status 1 if results
differ without a written reason (tests/oracle/argument_reasons.py).

With `--keep`, results are written to a folder name by name, and cases that lie there are not run again: a run that was
broken off goes on, and after a change only the files of what it changed are deleted (`plain.NAME`, `kernels.NAME`;
`tensorflow.NAME` stays). With `--report`, what was compared and when is also said in the oracle.md beside the report.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import pickle
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fastgraph
from tests.oracle import processes
from tests.oracle.argument_reasons import reason, reason_of_number
from tests.oracle.compare import arrays_differ
from tests.oracle.draw import Case, draw, op_functions
from tests.oracle.reasons import NOT_COMPARED
from tests.oracle.runner import packed, unpacked
from tests.oracle.sections import with_section

RUNNER = Path(__file__).with_name("argument_runner.py")
#: Calls of a name whose arguments are taken, at most, for each parameter.
MOST = 3
#: What stands in the place of an integer: for both dtypes, and for one of them alone.
NUMBERS = [-1, -2, 0, 1, 2, 7, -7]
WIDE = {"int32": [2**31 - 1, -(2**31)], "int64": [2**31, 2**32 + 1, -(2**31) - 1, 2**63 - 1, -(2**63)]}
#: What is said of more elements than can be counted, and of more than there is memory for.
NO_ROOM = {"InvalidArgumentError", "ResourceExhaustedError"}
#: Arguments that are no integers of theirs, or cost more than they tell.
LEFT_OUT = {"debugging.enable_check_numerics", "debugging.disable_check_numerics", "py_function", "numpy_function"} | {
    "as_string",
    "strings.as_string",
    "math.sobol_sample",
}

#: Names of which many numbers that are written into a Function end TensorFlow's process, which takes seconds to start.
ENDS = r"conv|pool|patches|dilation2d|erosion2d"


@dataclass(frozen=True)
class Place:
    """An integer argument of a call: in `text` it is `n`; `value` is what stands there in the right call."""

    name: str
    parameter: str
    text: str
    arrays: dict[str, Any]
    value: Any
    how: str

    def __str__(self) -> str:
        what = ", ".join(f"{n}: {a[0]}{list(a[1])}" for n, a in self.arrays.items())
        return self.text + (f" ({what})" if what else "")

    def values(self, dtype: str, lengths: bool) -> list[Any]:
        """The right value and those of every kind; with `lengths`, also of one element less and more."""
        base = np.asarray(self.value, dtype)
        found = [base]
        for number in [*NUMBERS, *WIDE[dtype]]:
            for at in {0, base.size - 1} if base.size else ():
                other = base.copy()
                other.reshape(-1)[at] = number
                found.append(other)
        if base.size > 1:
            found += [np.full_like(base, -1), np.full_like(base, 0)]
        if lengths and base.ndim and len(base):
            found += [base[:-1], np.concatenate([base, base[-1:]])]
        kept: list[Any] = []
        for value in found:
            if not any(v.shape == value.shape and (v == value).all() for v in kept):
                kept.append(value)
        return kept


def _integers(node: ast.expr, arrays: dict[str, Any]) -> Any:
    """The integers that an argument is: of a literal, or of a tensor; None if it is something else."""
    if isinstance(node, ast.Name):
        record = arrays.get(node.id)
        return unpacked(record) if record is not None and record[0] in ("int32", "int64") else None
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError):
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind == "i" or (isinstance(value, list) and not value) else None


def _parameter(names: list[str], call: ast.Call, i: int) -> str:
    if i < len(call.args):
        return names[i] if i < len(names) else str(i)
    return call.keywords[i - len(call.args)].arg or ""


def _data(cases: list[Case], called: Any) -> set[tuple[str, str]]:
    """(name, parameter) of what other calls give floats or text: numbers to compute with, no sizes or places."""
    found = set()
    for case in cases:
        for parameter, node in called(case):
            if isinstance(node, ast.Name) and node.id in case.arrays:
                if not case.arrays[node.id][0].startswith(("int", "uint")):
                    found.add((case.name, parameter))
            elif isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
                found.add((case.name, parameter))
    return found


def places() -> list[Place]:
    """Every integer argument of the calls that the oracle draws, in order."""
    import inspect

    functions = op_functions()
    signatures = {n: list(inspect.signature(f).parameters) for n, f in functions.items()}
    cases = [c for c in draw() if not c.wrong and c.name in functions and c.name not in NOT_COMPARED]

    def called(case: Case) -> Iterator[tuple[str, ast.expr]]:
        for call in _calls(case):
            for i, node in enumerate([*call.args, *(k.value for k in call.keywords)]):
                yield _parameter(signatures[case.name], call, i), node

    data = _data(cases, called)
    first_of: dict[Any, str] = {}
    found: list[Place] = []
    n_of: Counter[Any] = Counter()
    seen = set()
    for case in sorted(cases, key=lambda c: any(a[0] not in ("float32", "int32") for a in c.arrays.values())):
        if first_of.setdefault(functions[case.name], case.name) != case.name or case.name in LEFT_OUT:
            continue
        for call in _calls(case):
            nodes = [*call.args, *(k.value for k in call.keywords)]
            for i, node in enumerate(nodes):
                parameter = _parameter(signatures[case.name], call, i)
                value = _integers(node, case.arrays)
                if value is None or (case.name, parameter) in data or value.size > 12:
                    continue
                text = _replaced(case.text, node)
                arrays = {k: a for k, a in case.arrays.items() if re.search(rf"(?<![\w.]){k}(?![\w=(])", text)}
                shapes = (case.name, parameter, value.ndim, text, tuple(a[:2] for a in arrays.values()))
                if shapes in seen or n_of[case.name, parameter, value.ndim] >= MOST:
                    continue
                seen.add(shapes)
                n_of[case.name, parameter, value.ndim] += 1
                found.append(Place(case.name, parameter, text, arrays, value, case.how))
    return sorted(found, key=lambda p: (p.name, p.text))


def _calls(case: Case) -> list[ast.Call]:
    tree = ast.parse(case.text, mode="eval")
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == f"tf.{case.name}"]


def _replaced(text: str, node: ast.expr) -> str:
    end = node.end_col_offset
    assert end is not None
    return text[: node.col_offset] + "n" + text[end:]


# ---- running --------------------------------------------------------------------------------------------------------

#: What is run: eager mode and the first tier, kernels, and TensorFlow's eager mode and whether it can trace.
PLAIN, KERNELS, TENSORFLOW = "plain", "kernels", "tensorflow"
#: Names whose calls one process runs.
PIECE = 24


def run(library: str, python: str, cases: list[Any]) -> list[list[dict[str, Any]]]:
    """Run (text, arrays, values, mode) cases; one that ends the process is run again value by value."""
    _, found = processes.run(library, python, cases, runner=RUNNER)
    crashed = [i for i, result in enumerate(found) if isinstance(result, dict)]
    single = [(t, a, [v], m) for i in crashed for t, a, values, m in [cases[i]] for v in values]
    if single:
        _, again = processes.run(library, python, single, runner=RUNNER)
        each = iter([r if isinstance(r, dict) else r[0] for r in again])
        for i in crashed:
            found[i] = [next(each) for _ in cases[i][2]]
    return found


def kept(what: str, python: str, cases: dict[str, list[Any]], folder: Path | None) -> dict[str, list[Any]]:
    """The results of names' cases: those that the folder has of the same case, and else run, and written there."""
    found: dict[str, dict[str, Any]] = {name: {} for name in cases}
    if folder is not None:
        for name in cases:
            path = folder / f"{what}.{name}"
            if path.exists():
                own, results = pickle.loads(path.read_bytes())
                found[name] = dict(zip(map(repr, own), results, strict=True))
    missing = {name: [case for case in own if repr(case) not in found[name]] for name, own in cases.items()}
    library = "tensorflow" if what == TENSORFLOW else "fastgraph"
    wanted = [case for own in missing.values() for case in own]
    each = iter(run(library, python, wanted) if wanted else ())
    made = {}
    for name, own in cases.items():
        found[name].update((repr(case), next(each)) for case in missing[name])
        made[name] = [found[name][repr(case)] for case in own]
        if folder is not None and missing[name]:
            path = folder / f"{what}.{name}"
            path.with_suffix(path.suffix + "~").write_bytes(pickle.dumps((own, made[name])))
            path.with_suffix(path.suffix + "~").replace(path)
    return made


# ---- comparing ------------------------------------------------------------------------------------------------------


def outcome(result: dict[str, Any]) -> str:
    """The kind of a result, in a word: "values" or the class of its error."""
    return "values" if "values" in result else (result.get("error") or result["traced"])[0]


def differ(got: dict[str, Any], wanted: dict[str, Any], how: str) -> str:
    """How two results of one value differ, in words, or ""."""
    a, b = outcome(got), outcome(wanted)
    if a != b and {a, b} == NO_ROOM:
        return ""
    if a != b:
        text = wanted if b != "values" else got
        said = re.sub(r"\{\{function_node [^}]*\}\} ?", "", (text.get("error") or text["traced"])[1])[:150]
        return f"{a} is not {b}: {said}"
    if a != "values":
        return ""
    n = len(got["values"])
    for i, (x, y) in enumerate(zip(got["values"], wanted["values"], strict=False)):  # values, then their gradients
        if x[0] != y[0] or tuple(x[1]) != tuple(y[1]):
            return f"{x[0]}{list(x[1])} is not {y[0]}{list(y[1])}"
        if how == "values" and (text := arrays_differ(unpacked(x), unpacked(y), x[0], 10.0)):
            return f"{text} (result {i + 1} of {n})"
    return "" if n == len(wanted["values"]) else f"{n} results are not {len(wanted['values'])}"


Group = tuple[Place, str, bool]


def groups(wanted: list[Place]) -> list[Group]:
    """What is run together: a place, the dtype of its argument, and whether lengths differ."""
    return [(place, dtype, lengths) for place in wanted for dtype in ("int32", "int64") for lengths in (False, True)]


def small(values: list[Any]) -> list[int]:
    """Which of the values TensorFlow is given: for large numbers it waits ten seconds for memory that is not there."""
    return [i for i, v in enumerate(values) if abs(v.astype(float)).max(initial=0) < 2**31 - 1]


def cases_of(group: Group, what: str) -> dict[str, Any]:
    """The cases of a group, by mode: (text, arrays, values, mode)."""
    place, dtype, lengths = group
    values = place.values(dtype, lengths)
    where = "unknown" if lengths else "static"
    given = [values[i] for i in small(values)]
    chosen: dict[str, dict[str, list[Any]]] = {
        PLAIN: {"eager": values, f"{where}/first": values},
        KERNELS: {f"{where}/last": values},
        TENSORFLOW: {"eager": given, where: values[:1]},
    }
    if dtype == "int32" and not re.search(ENDS, place.name):  # Python's numbers have no dtype
        chosen[PLAIN]["written/first"] = chosen[TENSORFLOW]["written"] = given
    return {mode: (place.text, place.arrays, [packed(v) for v in some], mode) for mode, some in chosen[what].items()}


@dataclass
class Difference:
    place: Place
    mode: str
    value: Any
    text: str

    @property
    def why(self) -> str | None:
        return reason(self.place.name, self.place.parameter, self.mode, self.text) or reason_of_number(
            self.place, self.mode, self.value, self.text
        )


def differences(group: Group, own: dict[str, Any], other: dict[str, Any]) -> Iterator[Difference]:
    """Where the results of a group differ: those of Functions from eager mode's, eager mode's from TensorFlow's.

    Those of numbers that are written into a Function differ from TensorFlow's.
    """
    place = group[0]
    values = place.values(group[1], group[2])
    at = small(values)
    theirs = dict(zip(at, other.pop("eager"), strict=True)) if other else {}
    written = zip(at, own.pop("written/first", ()), other.pop("written", ()), strict=False)
    traced = [r[0] for r in other.values()]
    for i, ours, wanted in written:
        if text := differ(ours, wanted, place.how):
            yield Difference(place, "written from TensorFlow", values[i], text)
    for i, value in enumerate(values):
        eager = own["eager"][i]
        for mode, results in own.items():
            if mode != "eager" and (text := differ(results[i], eager, place.how)):
                if "traced" in results[i]:  # known while tracing alone: told once, unless TensorFlow asks the same
                    text = "" if i or not traced or "traced" in traced[0] else f"not traced: {text}"
                if text:
                    yield Difference(place, f"{mode} from eager", value, text)
        if i in theirs and (text := differ(eager, theirs[i], place.how)):
            yield Difference(place, "eager from TensorFlow", value, text)


@dataclass
class Comparison:
    """What came of comparing: results by the way they came, and where they differ."""

    places: list[Place]
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def unexplained(self) -> list[Difference]:
        return [d for d in self.differences if d.why is None]


def compare(wanted: list[Place], python: str | None, kernels: bool, folder: Path | None = None) -> Comparison:
    """Run the calls of places and compare; TensorFlow's where its interpreter is given, in a process beside ours."""
    made = Comparison(wanted)
    by_name: dict[str, list[Group]] = defaultdict(list)
    for group in groups(wanted):
        by_name[group[0].name].append(group)
    names = list(by_name)
    ways = [(PLAIN, sys.executable), *([(KERNELS, sys.executable)] if kernels else [])]
    ways += [(TENSORFLOW, python)] if python is not None else []
    with ThreadPoolExecutor(2) as pool:
        for start in range(0, len(names), PIECE):
            piece = names[start : start + PIECE]
            cases = {what: {n: [cases_of(g, what) for g in by_name[n]] for n in piece} for what, _ in ways}
            flat = {w: {n: [c for g in rows for c in g.values()] for n, rows in of.items()} for w, of in cases.items()}
            runs = {what: pool.submit(kept, what, python, flat[what], folder) for what, python in ways}
            results = {what: {n: iter(r) for n, r in future.result().items()} for what, future in runs.items()}
            for name in piece:
                for at, group in enumerate(by_name[name]):
                    found = {w: {m: next(results[w][name]) for m in cases[w][name][at]} for w, _ in ways}
                    theirs = found.pop(TENSORFLOW, {})
                    own = {mode: rows for of in found.values() for mode, rows in of.items()}
                    made.counts.update({mode: len(rows) for mode, rows in own.items()})
                    made.counts["TensorFlow"] += sum(len(theirs.get(mode, ())) for mode in ("eager", "written"))
                    made.differences += differences(group, own, theirs)
            print(f"{start + len(piece)} of {len(names)} names", file=sys.stderr, flush=True)
    return made


def counts_of(made: Comparison) -> list[str]:
    """What was compared and when, and what came of it, as Markdown."""
    ways = {
        "eager": "eager mode",
        "first": "Functions on NumPy",
        "last": "Functions on kernels",
        "TensorFlow": "TensorFlow",
    }
    counts: Counter[str] = Counter()
    for mode, n in made.counts.items():
        counts[ways[mode.rpartition("/")[2]]] += n
    return [
        f"- compared on {datetime.date.today()}",
        f"- names: {len({p.name for p in made.places})}, arguments: {len({(p.name, p.parameter) for p in made.places})},"
        f" in {len(made.places)} calls",
        f"- results, each with its gradients: {', '.join(f'{n:,} of {way}' for way, n in counts.items())}",
        f"- results that differ: {len(made.differences)}; without a reason: {len(made.unexplained)}",
    ]


def write(made: Comparison, out: Path) -> None:
    """Write the report, and into the oracle.md beside it what was compared."""
    out.write_text(report(made), encoding="utf-8")
    beside = out.with_name("oracle.md")
    if beside.exists():
        text = f"Each of the integers of these calls, with values of every kind: [{out.name}]({out.name}).\n\n"
        text += "\n".join(counts_of(made)) + "\n"
        beside.write_text(with_section(beside.read_text(encoding="utf-8"), text), encoding="utf-8")


def report(made: Comparison) -> str:
    """The report, as Markdown."""
    rows: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for d in made.differences:
        rows[d.why or "not explained", re.sub("(static|unknown)/", "", d.mode)].append(d)
    lines = [
        "# Every integer argument beside TensorFlow",
        "",
        f"fastgraph {fastgraph.__version__}, made by `python -m tests.oracle.arguments --kernels --report docs/arguments.md`;",
        "what is drawn is fixed. The integers of the calls that [oracle.md](oracle.md) compares become tensors that only a call",
        "knows: negative, 0, beyond the end, 2**31, 2**32 + 1 and the ends of their dtype, int32 and int64, one element of a",
        "vector and all of them, one element less and more; with known and with unknown extents.",
        "",
        *counts_of(made),
        "",
        "Compared are values, dtypes, shapes and gradients, and the class of the error, of Functions with eager mode, and of",
        "eager mode, and of Functions in which the numbers are written, with TensorFlow. TensorFlow is not given numbers from",
        "2**31 - 1 on, for whose memory it waits.",
        "",
        "| differ | from | why | names | such a call |",
        "|---|---|---|---|---|",
    ]
    for (why, mode), found in sorted(rows.items()):
        names = sorted({d.place.name for d in found})
        told = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        d = found[0]
        call = f"{d.place}, n = {d.value.dtype}{d.value.tolist()}: {' '.join(d.text.split())[:100]}".replace("|", "\\|")
        lines.append(f"| {len(found)} | {mode} | {why} | {told} | `{call}` |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="names that this pattern finds")
    parser.add_argument("--names", type=int, help="so many names, drawn by chance")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (%(default)s)")
    parser.add_argument("--kernels", action="store_true", help="compile too")
    parser.add_argument("--all", action="store_true", help="print every difference, not one of each kind")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write results there, and read what is there")
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    options = parser.parse_args()
    python = processes.tensorflow_python()
    if python is None:
        print("There is no TensorFlow: fastgraph is compared with itself alone", file=sys.stderr)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    chosen = [p for p in places() if re.search(options.only, p.name)]
    if options.names is not None:
        names = sorted({p.name for p in chosen})
        drawn = random.Random(options.seed).sample(names, min(options.names, len(names)))
        chosen = [p for p in chosen if p.name in drawn]
    made = compare(chosen, python, options.kernels, options.keep)
    kinds: dict[Any, list[Difference]] = defaultdict(list)
    for d in made.unexplained:
        kind = id(d) if options.all else re.sub(r"[-\d.e+]+", "#", d.text)[:60]
        kinds[d.place.name, d.place.parameter, d.mode, kind].append(d)
    for rows in kinds.values():
        d = rows[0]
        print(
            f"{len(rows)}x {d.mode}: {d.place}\n    n = {d.value.dtype}{d.value.tolist()}: {' '.join(d.text.split())}"
        )
    if options.report:
        write(made, options.report)
    print(
        f"{len(made.places)} calls, {made.counts.total()} results, {len(made.differences)} differ, "
        f"{len(made.unexplained)} without a reason"
    )
    return 1 if made.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
