"""Which tests `make smoke` and `make quick` run; the only place that says so.

Nothing names single tests: all of a file's test functions take part, new ones too, each with the case (the parameter
set) that stands first in a fixed random order. So every module of fastgraph that a test reaches is reached, and what a
test function asserts is asserted; only its breadth is left to `make test`. The mark `slow` leaves a function, or some of
its cases, out of both.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

#: What `make smoke` is to show, and the files that show it: one case of each test function.
SMOKE = {
    "eager": ("api/test_tensors_operators.py", "api/test_tensors_indexing.py"),
    "gradients": ("api/test_gradients.py",),
    "graphs": ("api/test_function.py", "null/test_passes.py", "null/test_ir.py"),
    "kernels": ("backend/test_kernels.py", "backend/test_compiled.py"),
    "rules of the layers": ("null/test_layers.py", "null/test_line_budget.py"),
}
#: Files whose cases are modules, each as quick as the next: all of them are run.
WHOLE = {"null/test_layers.py"}


def _is_one_of(path: Path, files: Iterable[str]) -> bool:
    return path.as_posix().endswith(tuple(f"tests/{file}" for file in files))


def is_left_out(path: Path, how: str) -> bool:
    """Whether no test of a file belongs to "smoke", so that the file need not be imported."""
    smoke = [file for files in SMOKE.values() for file in files]
    return how == "smoke" and path.name.startswith("test_") and not _is_one_of(path, smoke)


def _order(item: pytest.Item) -> int:
    return zlib.crc32(item.nodeid.encode())


def chosen(items: Sequence[pytest.Item], how: str) -> list[pytest.Item]:
    """Return the tests of `items` that belong to "quick" or "smoke", in their order."""
    cases: Counter[str] = Counter()
    found = set()
    for item in sorted(items, key=_order):
        if item.get_closest_marker("slow") or is_left_out(item.path, how):
            continue
        function = item.nodeid.partition("[")[0]
        cases[function] += 1
        if cases[function] == 1 or _is_one_of(item.path, WHOLE):
            found.add(item)
    return [item for item in items if item in found]
