"""Compares every op with TensorFlow on drawn inputs.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle [--report docs/oracle.md] [--only PATTERN]

Exit status 1 if results differ without a written reason (tests/oracle/reasons.py), 2 without TensorFlow.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastgraph
from tests.oracle import processes
from tests.oracle.compare import difference
from tests.oracle.draw import Case, draw, op_functions
from tests.oracle.reasons import NOT_COMPARED, reason
from tests.oracle.sections import KEPT, section, with_section


@dataclass
class Comparison:
    """What came of comparing cases."""

    versions: tuple[str, str]
    cases: list[Case]
    results: list[tuple[dict[str, Any], dict[str, Any]]]
    #: (case, difference, reason or None)
    differences: list[tuple[Case, str, str | None]] = field(default_factory=list)

    @property
    def unexplained(self) -> list[str]:
        return [f"{case}\n    {text}" for case, text, why in self.differences if why is None]


def compare(cases: list[Case], python: str) -> Comparison:
    """Run the cases with both libraries and compare the results."""
    cases = [case for case in cases if case.name not in NOT_COMPARED]
    sent = [case.sent() for case in cases]
    versions, theirs = processes.run("tensorflow", python, sent)
    _, ours = processes.own(sent)
    made = Comparison(versions, cases, list(zip(ours, theirs, strict=True)))
    for case, (got, wanted) in zip(cases, made.results, strict=True):
        text = difference(got, wanted, case.how)
        if text:
            made.differences.append((case, text, reason(case.name, text)))
    return made


def report(made: Comparison) -> str:
    """The report, as Markdown."""
    names = {case.name for case in made.cases}
    differing: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    example: dict[tuple[str, str], str] = {}
    for case, text, why in made.differences:
        kind = "gradient" if "gradient" in text.split(":")[0] else text.split(":")[0]
        row = kind, (why or "not explained: " + text[:150]).replace("|", "\\|").replace("\n", " ")
        differing[row][case.name] += 1
        example.setdefault(row, str(case).replace("|", "\\|"))
    values = sum("values" in a and "values" in b for a, b in made.results)
    errors = sum("error" in a and "error" in b for a, b in made.results)
    first = sum("first" in a and "first" in b for a, b in made.results)
    second = sum("second" in a and "second" in b for a, b in made.results)
    absent = sorted(set(op_functions()) - names)
    lines = [
        "# Every op beside TensorFlow",
        "",
        f"fastgraph {fastgraph.__version__} and TensorFlow {made.versions[0]} (NumPy {made.versions[1]}) on the CPU, "
        "in eager mode. Made by `python -m tests.oracle --report docs/oracle.md`; what is drawn is fixed.",
        "",
        f"- names compared: {len(names)} of {len(op_functions())}",
        f"- cases: {len(made.cases)}; both give values in {values}, both an error in {errors}; gradients of first order "
        f"in {first}, of second order in {second}",
        f"- cases that differ: {len(made.differences)}, of {len(set().union(*differing.values()))} names; "
        f"without a reason: {len(made.unexplained)}",
        "",
        "Compared are values (float64 to 1e-10 of the largest, float32 to 2e-5, half precision to a few units in the last",
        "place), dtypes, shapes, gradients of both orders (None and zeros count as equal), and the class of the error for",
        "inputs of a wrong dtype, rank or size. Of random ops: dtypes, shapes, means and deviations.",
        "",
        "## Names that differ",
        "",
        "| cases | in what | why | names | such a case |",
        "|---|---|---|---|---|",
    ]
    for row, counts in sorted(differing.items()):
        listed = ", ".join(sorted(counts))
        lines.append(f"| {counts.total()} | {row[0]} | {row[1]} | {listed} | `{example[row]}` |")
    lines += ["", "## Names not compared", "", "| name | why |", "|---|---|"]
    lines += [f"| {name} | {NOT_COMPARED.get(name, 'no call is drawn')} |" for name in absent] or ["| none | |"]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    parser.add_argument("--only", default="", help="names that this pattern finds")
    options = parser.parse_args()
    python = processes.needed_tensorflow()
    made = compare([case for case in draw() if re.search(options.only, case.name)], python)
    if options.report:
        old = options.report.read_text(encoding="utf-8") if options.report.exists() else ""
        text = report(made)
        for heading in KEPT:
            text = with_section(text, section(old, heading), heading)
        options.report.write_text(text, encoding="utf-8")
    print("\n".join(made.unexplained))
    print(f"{len(made.cases)} cases, {len(made.differences)} differ, {len(made.unexplained)} without a reason")
    return 1 if made.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
