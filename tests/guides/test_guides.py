"""The TensorFlow guides, cell by cell, where their folder lies beside the checkout (../shared/guides).

The guides and their runner are no part of this repository: where they are absent these tests say so and are skipped,
and every row of docs/features.md has tests of its own elsewhere. `NOT_YET` lists the cells that do not work yet; a cell
that starts to work fails here until it is taken off the list.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT.parent / "shared" / "guides", ROOT / "shared" / "guides")
FOLDER = next((folder for folder in FOLDERS if (folder / "run.py").exists()), None)
ABSENT = "the guides are not here: ../shared/guides, beside the checkout, holds no run.py"

#: Guide -> numbers of the cells that do not work yet.
NOT_YET: dict[str, tuple[int, ...]] = json.loads((Path(__file__).parent / "not_yet.json").read_text())

#: Guide -> numbers of the cells that compare times. No test may fail because a machine is busy; benchmarks/ measures.
TIMED = {"graphs": (25,)}


def cells() -> list[Any]:
    """Return a parameter for every cell of every guide, marked where it is not expected to work."""
    if FOLDER is None:
        return [pytest.param("", 0, marks=pytest.mark.skip(reason=ABSENT), id="absent")]
    found = []
    for guide in ("course", "graphs", "function", "eager"):
        for number in re.findall(r"^# %% (\d+) ", (FOLDER / f"{guide}.py").read_text(encoding="utf-8"), re.MULTILINE):
            listed = int(number) in NOT_YET.get(guide, ())
            marks = []
            if listed:
                marks = [pytest.mark.xfail(strict=True, reason="not built yet (tests/guides/not_yet.json)")]
            elif int(number) in TIMED.get(guide, ()):
                marks = [pytest.mark.xfail(strict=False, reason="compares times: a busy machine may fail it")]
            found.append(pytest.param(guide, int(number), marks=marks, id=f"{guide}-{number}"))
    return found


@cache
def results(guide: str) -> dict[int, dict[str, Any]]:
    """Run a guide once, in a process of its own, and return its record by cell."""
    assert FOLDER is not None
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import run; "
        "print('|' + json.dumps(run.run_guide(sys.argv[2])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(FOLDER), guide], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.rpartition("|")[2])
    assert report["cells"], report["error"]
    return {record["number"]: {**record, "error": report["error"]} for record in report["cells"]}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("guide", "number"), cells())
def test_cell(guide: str, number: int) -> None:
    record = results(guide)[number]
    lines = [f"{guide} cell {number}: {record['title']}"]
    lines += [f"expected {p['expected']}\ncame     {p['came']}" for p in record["problems"]]
    if record["output"] is None:
        lines.append(f"the process ended early: {record['error']}")
    lines.append(f"repeat: python {FOLDER}/run.py --guide {guide} -v")
    assert record["passed"], "\n".join(lines)


def test_the_list_names_cells_that_are_there() -> None:
    if FOLDER is None:
        pytest.skip(ABSENT)
    known: dict[str, set[int]] = {}
    for parameter in cells():
        known.setdefault(parameter.values[0], set()).add(parameter.values[1])
    for guide, numbers in NOT_YET.items():
        assert set(numbers) <= known[guide] and list(numbers) == sorted(set(numbers))
