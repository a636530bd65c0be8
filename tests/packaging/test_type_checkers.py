"""Type checkers, and with them editors, find the public names in the stub files."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fastgraph
from fastgraph.api import namespaces

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


#: Made by calls, or in a module beside whose file no folder of stubs can stand.
UNTYPED = re.compile(
    r"keras\.backend\.|keras\.metrics\.experimental|(keras\.)?metrics\.\w+At(Recall|Precision|Specificity|Sensitivity)"
)


@pytest.mark.slow
def test_every_public_name_has_a_type(tmp_path: Path) -> None:
    """What a module's `__getattr__` finds is Any to a checker, what a stub imports under another name is private."""
    pytest.importorskip("mypy")
    files = [(file, importlib.import_module(f"fastgraph.{file}")) for file in namespaces.FILES]
    built = {*namespaces.built_names(), *(f"{file}.{name}" for file, module in files for name in dir(module))}
    names = sorted(name for name in built if not name.startswith(("compat.", "testing.")) and not UNTYPED.match(name))
    program = tmp_path / "names.py"
    lines = [f"reveal_type(fastgraph.{name})" for name in names]
    program.write_text("\n".join(["import fastgraph", "from typing_extensions import reveal_type", *lines]))
    said = run(tmp_path, ("mypy", "--ignore-missing-imports"), program).stdout
    wrong = [names[int(line) - 3] for line in re.findall(r"names\.py:(\d+): (?:error|.* \"Any\"$)", said, re.MULTILINE)]
    assert said.count("Revealed type") == len(names) and wrong == []
