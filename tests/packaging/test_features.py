"""docs/features.md is true: rows are complete, and name tests that exist."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import conftest  # noqa: E402
from conftest import FEATURES, feature_rows  # noqa: E402

pytestmark = pytest.mark.skipif(not FEATURES.exists(), reason="no docs around the tests")
N_ROWS = 157


@cache
def functions_in(file: Path) -> frozenset[str]:
    """Names of the test functions in a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


def test_every_row_is_there_once() -> None:
    assert [number for number, _, _ in feature_rows()] == [str(i) for i in range(1, N_ROWS + 1)]


@pytest.mark.parametrize(("number", "state", "tests"), list(feature_rows()) if FEATURES.exists() else [])
def test_row(number: str, state: str, tests: list[str]) -> None:
    assert state in ("done", "part", "later"), f"row {number}: {state!r}"
    assert tests or state == "later", f"row {number} is called {state} and names no test"
    for test in tests:
        name, _, function = test.partition("::")
        file = TESTS / name
        assert file.exists(), f"row {number}: there is no tests/{name}"
        assert functions_in(file) if not function else function in functions_in(file), f"row {number}: no {test}"


@pytest.mark.parametrize("without", [None, "api/test_rows.py::test_eager_by_default", "null/test_fusion.py"])
def test_a_done_row_whose_test_did_not_run_fails_the_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], without: str | None
) -> None:
    """As at the end of a run of the whole suite in which all tests passed, but the one that did not run."""
    named = [test for _, _, tests in feature_rows() for test in tests]
    every = {test if "::" in test else f"{test}::test_of_it" for test in named}
    monkeypatch.setattr(conftest, "passed", {test for test in every if not without or not test.startswith(without)})
    option = SimpleNamespace(part=None, keyword="", markexpr="not soak", collectonly=False)
    session = SimpleNamespace(config=SimpleNamespace(option=option, args=[str(TESTS)]), exitstatus=0)
    conftest.pytest_sessionfinish(session, 0)
    assert bool(session.exitstatus) == bool(without)
    assert without is None or f"is called done, but {without} did not run" in capsys.readouterr().out
