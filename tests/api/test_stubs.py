"""The committed stub files are what the ops' definitions say now."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import fastgraph as tf
from tests.null.test_results import definition
from tests.oracle.draw import draw, name_of
from tests.oracle.runner import PLAIN, Runner

TOOL = Path(__file__).resolve().parents[2] / "tools" / "stubs.py"


@pytest.mark.skipif(not TOOL.exists(), reason="no source tree around the tests")
def test_stubs_are_up_to_date() -> None:
    generated: dict[Path, str] = runpy.run_path(str(TOOL))["generate"]()
    package = TOOL.parents[1] / "fastgraph"
    written = {path for path in package.rglob("*.pyi") if "Written by tools/stubs.py" in path.read_text()[:99]}
    assert written == {path for path in generated if path.suffix == ".pyi"}, "stubs of names that are elsewhere now"
    old = [path.name for path, text in generated.items() if not path.exists() or path.read_text() != text]
    assert old == [], "run: python tools/stubs.py"
    assert len(generated) > 5 and all(
        "import" in text or "def " in text or path.name == "dtensor.pyi"  # whose names are none yet
        for path, text in generated.items()
    )


def test_package_is_typed() -> None:
    assert (Path(tf.__file__).parent / "py.typed").exists()


def fits(value: Any, result: ast.expr | None) -> bool:
    """Whether a value is of a type that is written down."""
    if isinstance(result, ast.BinOp):
        return fits(value, result.left) or fits(value, result.right)
    if isinstance(result, ast.Constant):
        return value is result.value
    if isinstance(result, ast.Subscript):
        of = ast.unparse(result.value).removeprefix("builtins.")
        if of not in ("list", "tuple"):
            return True  # what is more than a container of results
        inner = result.slice.elts if isinstance(result.slice, ast.Tuple) else [result.slice]
        if of == "list" or isinstance(inner[-1], ast.Constant):
            inner = inner[:1] * len(value)
        return type(value).__name__ == of and len(inner) == len(value) and all(map(fits, value, inner))
    name = "Any" if result is None else ast.unparse(result).removeprefix("builtins.")
    return name in ("Any", "R", "Structure") or name in [each.__name__ for each in type(value).__mro__]


def test_results_are_of_the_types_that_are_written() -> None:
    runner = Runner("fastgraph")
    done, wrong = set(), []
    for case in draw():
        space, _, last = case.name.rpartition(".")
        if case.name in done or case.wrong or not last or re.match("enable|disable|set_", last):
            continue
        found = definition(f"fastgraph.{space}".rstrip("."), last)
        functions = [node for node in (found[1] if found else []) if isinstance(node, ast.FunctionDef)]
        calls = [node for node in ast.walk(ast.parse(case.text)) if isinstance(node, ast.Call)]
        call = next((node for node in calls if name_of(ast.unparse(node)) == case.name), None)
        if not functions or call is None:
            continue
        try:
            value = eval(ast.unparse(call), {"tf": tf, **PLAIN, **runner.tensors(case.arrays)})
        except Exception:
            continue  # a case of an error
        done.add(case.name)
        if not any(fits(value, function.returns) for function in functions):
            wrong.append(
                (case.text, type(value).__name__, [ast.unparse(f.returns or ast.Name("?")) for f in functions])
            )
    assert len(done) > 600
    assert wrong == []
