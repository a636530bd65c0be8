"""docs/walks.md: each file is there, and each function that it names in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WALKS = ROOT / "docs" / "walks.md"
pytestmark = pytest.mark.skipif(not WALKS.exists(), reason="no docs around the tests")


def is_defined(name: str, text: str) -> bool:
    """Whether the text of a source file defines a function, method or class, in Python or Cython."""
    *classes, function = name.split(".")
    head = r"^[ \t]*(?:async def|def|cp?def)\b[^=(\n]*?[ *]{}\("
    where = 0
    for each in classes:
        found = re.compile(rf"^(?:cdef )?class {each}\b", re.MULTILINE).search(text, where)
        if found is None:
            return False
        where = found.end()
    return re.compile(head.format(re.escape(function)), re.MULTILINE).search(text, where) is not None


def hops() -> list[tuple[str, str]]:
    """Return (file, function) of every hop: a file in backticks and the function in backticks behind it."""
    return re.findall(r"`(fastgraph/[\w./]+)` `([\w.]+)`", WALKS.read_text(encoding="utf-8"))


def test_every_hop_exists() -> None:
    found = hops()
    assert len(found) > 60
    absent = [
        f"{file} {function}"
        for file, function in found
        if not (ROOT / file).is_file() or not is_defined(function, (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert absent == []


def test_every_row_is_a_hop() -> None:
    rows = [line for line in WALKS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(rows) > 60 and all(re.match(r"\| `fastgraph/[\w./]+` `[\w.]+` \|", row) for row in rows)
    assert not is_defined("bond", "cpdef object bind(int a):\n") and is_defined("bind", "cpdef object bind(int a):\n")
