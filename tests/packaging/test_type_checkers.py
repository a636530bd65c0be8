"""Type checkers, and with them editors, find the public names in the stub files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fastgraph

PROGRAM = """\
import fastgraph as fg
from typing_extensions import reveal_type

reveal_type(fg.nn.relu)
reveal_type(fg.keras.layers.Dense)
reveal_type(fg.linalg.cholesky)
reveal_type(fg.math.special.dawsn)
reveal_type(fg.constant([1.0]))
fg.nn.reluu
"""
TENSOR, DENSE = r"\bTensor\b", r"\bDense\b"
WRONG = 9  # the line of the name that is not there


CHECKERS = pytest.mark.parametrize(
    "command", [("mypy", "--ignore-missing-imports"), ("basedpyright",)], ids=["mypy", "pyright"]
)
HERE = Path(__file__).parent
CLEAN = [HERE / "typical_program.py", *sorted((HERE.parents[1] / "examples").glob("*.py"))]


def run(folder: Path, command: Sequence[str], *files: Path) -> subprocess.CompletedProcess[str]:
    """Check files as a user's own, in a folder that is not this project's."""
    root = str(Path(fastgraph.__file__).parents[1])
    environment = {**os.environ, "MYPYPATH": root, "PYTHONPATH": root}
    # pyright's own rules, not the stricter ones of the distribution that is on PyPI as one wheel
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard", "reportMissingImports": false}')
    return subprocess.run(
        [sys.executable, "-m", *command, *map(str, files)], capture_output=True, text=True, env=environment,
        cwd=folder, timeout=250, check=False,
    )  # fmt: skip


def checked(tmp_path: Path, *command: str) -> list[str]:
    """What a checker says of each line of the program: [line 1, line 2, ...]."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    made = run(tmp_path, command, program)
    said = [""] * (PROGRAM.count("\n") + 1)
    for line in made.stdout.splitlines():
        found = re.search(r"program\.py:(\d+)(?::\d+)?(?: -)?:? (.*)", line)
        if found:
            said[int(found[1])] += found[2]
    assert any(said), made.stdout + made.stderr
    return said


@pytest.mark.slow
@CHECKERS
def test_public_names_resolve(tmp_path: Path, command: tuple[str, ...]) -> None:
    pytest.importorskip(command[0])
    said = checked(tmp_path, *command)
    for line, wanted in ((4, TENSOR), (5, DENSE), (6, TENSOR), (7, TENSOR), (8, TENSOR)):
        assert re.search(wanted, said[line]), (line, said[line])
        assert "error" not in said[line], said[line]
    assert "reluu" in said[WRONG] and "error" in said[WRONG]


@pytest.mark.slow
@CHECKERS
def test_typical_programs_have_no_errors(tmp_path: Path, command: tuple[str, ...]) -> None:
    pytest.importorskip(command[0])
    files = [Path(shutil.copy(file, tmp_path)) for file in CLEAN]
    made = run(tmp_path, command, *files)
    assert made.returncode == 0, made.stdout + made.stderr
