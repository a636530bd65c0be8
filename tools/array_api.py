"""The array API standard's own tests as the judge.

    python tools/array_api.py CHECKOUT [PATTERN ...] [--examples N] [--plain] [--again]    # of all: docs/array_api.md

CHECKOUT is a copy of github.com/data-apis/array-api-tests with its submodule, whose requirements are installed or in
PYTHONPATH (ndindex, pytest-json-report, hypothesis); nothing of it is copied here. Each file
runs in a process of its own, with a limit on its time; finished files are not run again unless `--again` says so.
The tests run with NumPy's behaviour switched on (operators of several dtypes, `x.T`); `--plain`: without.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "array_api.md"
RESULTS = ROOT / "build" / "array_api"
SECONDS = 1500

#: The module under test. Shapes count as sequences: the tests' own helpers take no others.
MODULE = (
    "exec('import collections.abc, fastgraph as tf; {on}collections.abc.Sequence.register(tf.TensorShape); "
    "xp = tf.constant(0).__array_namespace__()')"
)
ON = "tf.experimental.numpy.experimental_enable_numpy_behavior(); "

#: A miss by its test or the text of its error: (what fits, the reason). The first that fits counts.
REASONS: tuple[tuple[str, str], ...] = (
    (r"item assignment|setitem", "tensors are immutable: `x[key] = value` is refused by a TypeError"),
    (r"__i?mod__", "`%` of zeros keeps TensorFlow's sign; `remainder` has the standard's"),
    (
        r"__(abs|neg|i?pow)__",
        "operators take TensorFlow's dtypes: `abs`, `-` and `**` no unsigned integers; functions do",
    ),
    (r"tanh\(", "`tanh` of a complex infinity: the sign of the zero that is its other part"),
    (r"masking", "masks are TensorFlow's: none of rank 0, and a ValueError for another shape; and so are shapes"),
    (r"TensorShape|not a valid shape", "`x.shape` is TensorFlow's TensorShape, where Hypothesis takes tuples alone"),
    (r"not run|timeout", "out of time"),
)


def run(checkout: Path, name: str, examples: int, plain: bool) -> None:
    """Run one file of tests; its outcomes go to RESULTS."""
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": MODULE.format(on="" if plain else ON),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"array_api_tests/{name}.py",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=short",
    ]
    command += [
        "--disable-deadline",
        "--derandomize",
        f"--max-examples={examples}",
        f"--junitxml={result(name, plain)}",
    ]
    try:
        done = subprocess.run(command, cwd=checkout, env=environment, timeout=SECONDS, capture_output=True, text=True)
        print(name, (done.stdout + done.stderr).strip().splitlines()[-1:])
    except subprocess.TimeoutExpired:
        print(name, "timeout")


def result(name: str, plain: bool) -> Path:
    """Return where a file's outcomes lie."""
    return RESULTS / f"{name}{'-plain' if plain else ''}.xml"


def outcomes(name: str, plain: bool) -> dict[str, str | None]:
    """Return {test: None for a pass, else the text of its error}; skipped ones are left out."""
    if not result(name, plain).exists():
        return {f"{name}: the file": "timeout"}
    found: dict[str, str | None] = {}
    for case in ElementTree.parse(result(name, plain)).iter("testcase"):
        wrong = [part for part in case if part.tag in ("failure", "error")]
        if not any(part.tag == "skipped" for part in case):
            found[f"{name}::{case.get('name')}"] = (
                (wrong[0].get("message") or "") + (wrong[0].text or "") if wrong else None
            )
    return found


def reason(test: str, error: str) -> str:
    """Return why a test does not pass, "NOT KNOWN" where no row says."""
    return next(
        (text for pattern, text in REASONS if re.search(pattern, test) or re.search(pattern, error)), "NOT KNOWN"
    )


def page(names: list[str], examples: int, checkout: Path) -> str:
    """Return the text of the page."""
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h %cs"], cwd=checkout, capture_output=True, text=True
    ).stdout
    rows = {name: outcomes(name, False) for name in names}
    every = {test: error for row in rows.values() for test, error in row.items()}
    plain = {
        test: error for name in names if result(name, True).exists() for test, error in outcomes(name, True).items()
    }
    passed = sum(error is None for error in every.values())
    lines = [
        "# The array API standard's tests",
        "",
        f"`x.__array_namespace__()` under github.com/data-apis/array-api-tests ({commit.strip()}), version 2025.12, "
        f"{examples} examples a test, NumPy's behaviour switched on: **{passed} of {len(every)} pass "
        f"({passed / len(every):.1%})**.",
    ]
    if plain:
        held = sum(error is None for error in plain.values())
        lines += [
            f"Without the switch {held} of {len(plain)} ({held / len(plain):.1%}): operators then refuse operands of "
            "two dtypes, `+x`, `x.T`, `x.size` and indices of several arrays, as TensorFlow's tensors do."
        ]
    lines += ["", "Written by `tools/array_api.py`.", "", "| file | pass | miss |", "|---|---|---|"]
    for name, row in rows.items():
        good = sum(error is None for error in row.values())
        lines.append(f"| {name} | {good} | {len(row) - good} |")
    lines += ["", "| reason | tests |", "|---|---|"]
    misses: dict[str, list[str]] = collections.defaultdict(list)
    for test, error in every.items():
        if error is not None:
            misses[reason(test, error)].append(test.partition("::")[2] or test)
    for text, tests in sorted(misses.items(), key=lambda item: -len(item[1])):
        lines.append(f"| {text} | {', '.join(f'`{test}`' for test in tests)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is asked for, and write the page when every file has been run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("pattern", nargs="*")
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = sorted(path.stem for path in (given.checkout / "array_api_tests").glob("test_*.py"))
    for name in names:
        wanted = not given.pattern or any(pattern in name for pattern in given.pattern)
        if wanted and (given.again or not result(name, given.plain).exists()):
            result(name, given.plain).unlink(missing_ok=True)
            run(given.checkout.resolve(), name, given.examples, given.plain)
    if not given.pattern and not given.plain:
        PAGE.write_text(page(names, given.examples, given.checkout))
    for name in names:
        for test, error in outcomes(name, given.plain).items() if result(name, given.plain).exists() else ():
            if error is not None:
                print(f"{test}: {reason(test, error)}: {error.strip().splitlines()[0][:150] if error.strip() else ''}")


if __name__ == "__main__":
    main()
