"""The examples in the docstrings of TensorFlow's public names, run with both: what is printed is the same.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.docstrings [--only PATTERN] [--report docs/oracle.md]

The examples are read from the TensorFlow that is installed, and are kept nowhere. Compared is what TensorFlow prints,
not what its docstrings say; what it prints otherwise a second time is left out. Numbers are compared to 1e-4 of them or 1e-5 of
the largest.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.oracle import processes
from tests.oracle.sections import DOCSTRINGS, with_section

RUNNER = Path(__file__).with_name("docstring_runner.py")
_NUMBER = re.compile(r"(?<![A-Za-z_0-9])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")

#: Patterns of names, and why what is printed there differs.
REASONS: dict[str, str] = {
    r"distribute\.(Distributed.*|MirroredStrategy.*|ReplicaContext.*|experimental\.ValueContext)|identity": (
        "devices that are not there: here replicas share the CPU"
    ),
    r"(data\.experimental\.(service.*|distributed_save)|distribute\..*(TPU.*|rpc.*)|tuple|while_loop|sysconfig.*"
    r"|io\.decode_proto|SparseTensor.set_shape|saved_model.experimental.TrackableResource)": "not built, and says so",
    r"train\.(BytesList|Example|FloatList|Int64List)|io\.(RaggedFeature|decode_json_example)": (
        "the package protobuf is not needed here, and so not there"
    ),
    r"TensorSpec": "the class of the error is one of TypeError's",
    r"nn\.RNNCellDeviceWrapper\.(losses|metrics)": "what Keras's layers collect (see docs/keras.md)",
    r"train\.(CheckpointView|TrackableView).*": "lists that are watched print as lists",
    r"distribute\.StrategyExtended.*": "Variables of one replica are of the same kind wherever they were made",
    r"shape": "values of shapes of Keras's inputs are not followed",
}


def _words(text: str) -> tuple[str, list[float]]:
    """What is printed without its numbers, white space and addresses; and the numbers."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    text = re.sub(r"\b(tensorflow|fastgraph)(\.[a-z_0-9]+)*\.", "", text)
    return re.sub(r"\s+", "", _NUMBER.sub("#", text)), [float(each) for each in _NUMBER.findall(text)]


def same(wanted: tuple[str, str], got: tuple[str, str]) -> bool:
    """Whether two results of an example say the same."""
    if wanted[0] != got[0] or wanted[0] == "error":
        return wanted[0] == got[0] and wanted[1].split("\n")[0] == got[1].split("\n")[0]
    (first, a), (second, b) = _words(wanted[1]), _words(got[1])
    if first != second or len(a) != len(b):
        return False
    least = 1e-5 * max(map(abs, a), default=0.0) + 1e-6
    return all(abs(x - y) <= 1e-4 * max(abs(x), abs(y)) + least for x, y in zip(a, b, strict=True))


def compare(python: str, pattern: str) -> tuple[Any, dict[str, int], list[tuple[str, str, Any, Any]]]:
    """Run all examples; return versions, numbers for the report, and (name, source, wanted, got) of what differs."""
    _, (cases,) = processes.run("tensorflow", python, ["collect"], runner=RUNNER)
    cases = [case for case in cases if re.search(pattern, case[0])]
    versions, first = processes.run("tensorflow", python, cases, runner=RUNNER)
    _, second = processes.run("tensorflow", python, cases, runner=RUNNER)
    _, ours = processes.run("fastgraph", sys.executable, cases, runner=RUNNER)
    counts: Counter[str] = Counter(names=len(cases))
    differences = []
    for (name, sources), wanted, again, got in zip(cases, first, second, ours, strict=True):
        if not isinstance(got, list) or not isinstance(wanted, list):
            counts["examples"] += len(sources)
            if isinstance(wanted, list):
                differences.append((name, "all", "", "the process ended"))
            continue
        for source, expected, other, found in zip(sources, wanted, again, got, strict=True):
            counts["examples"] += 1
            if expected[0] == "error" and expected[1].startswith("NameError"):
                counts["left out"] += 1  # one before it failed
            elif not same(expected, other):
                counts["by chance"] += 1
            elif not same(expected, found):
                differences.append((name, source, expected, found))
    return versions, counts, differences


def reason(name: str) -> str | None:
    """Why what the examples of a name print differs, or None."""
    return next((why for pattern, why in REASONS.items() if re.fullmatch(pattern, name)), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, metavar="OUT", help="write what was counted there")
    parser.add_argument("--only", default="", help="names that this pattern finds")
    options = parser.parse_args()
    python = processes.needed_tensorflow()
    _, counts, differences = compare(python, options.only)
    unexplained = [each for each in differences if reason(each[0]) is None]
    for name, source, wanted, got in unexplained:
        print(f"--- {name}\n{source}wanted {wanted}\ngot    {got}")
    print(f"{dict(counts)}, {len(differences)} differ, {len(unexplained)} without a reason")
    if options.report:
        rows = Counter([(name, reason(name) or "not explained") for name, *_ in differences])
        lines = [
            "The examples in the docstrings of TensorFlow's public names (but keras), read from the package and run with",
            "both by `python -m tests.oracle.docstrings`; compared is what TensorFlow itself prints.",
            "",
            f"- compared on {datetime.date.today()}",
            f"- docstrings: {counts['names']}, examples: {counts['examples']}, of which {counts['by chance']} print "
            f"something else each time and {counts['left out']} need what failed before in TensorFlow too",
            f"- examples that differ: {len(differences)}; without a reason: {len(unexplained)}",
            "",
            "| name | examples | why |",
            "|---|---|---|",
            *[f"| {name} | {n} | {why} |" for (name, why), n in sorted(rows.items())],
        ]
        text = options.report.read_text(encoding="utf-8")
        options.report.write_text(with_section(text, "\n".join(lines) + "\n", DOCSTRINGS), encoding="utf-8")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
