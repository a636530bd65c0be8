"""What make smoke and make quick choose: files that exist, something of every file, no part that is called slow."""

from __future__ import annotations

import re
from pathlib import Path

from tests import selection

TESTS = Path(__file__).parents[1]


def test_files_of_the_smoke_test_exist() -> None:
    named = [file for files in selection.SMOKE.values() for file in files] + [*selection.WHOLE]
    assert [file for file in named if not (TESTS / file).is_file()] == []


def test_every_test_function_takes_part_but_the_slow_ones() -> None:
    class Item:
        def __init__(self, file: str, name: str, slow: bool = False) -> None:
            self.path, self.nodeid, self.slow = TESTS / file, f"tests/{file}::{name}", slow

        def get_closest_marker(self, name: str) -> object:
            return self.slow or None

    names = [f"test_{k}[{case}]" for k in range(5) for case in range(k + 1)]
    items = [Item("ops/test_x.py", name, slow=name == "test_4[2]") for name in names]
    smoke = [Item(next(iter(selection.SMOKE.values()))[0], name) for name in names]
    quick = [item.nodeid for item in selection.chosen(items, "quick")]  # type: ignore[arg-type]
    assert [sum(f"test_{k}[" in name for name in quick) for k in range(5)] == [1] * 5
    assert "tests/ops/test_x.py::test_4[2]" not in quick
    assert sorted(quick, key=[item.nodeid for item in items].index) == quick
    assert len(selection.chosen([*items, *smoke], "smoke")) == 5  # type: ignore[list-item]


def test_no_test_draws_from_a_stream_that_others_draw_from() -> None:
    stream = re.compile(
        r"^\w+(?:: [\w.]+)? = [\w.]*(?:default_rng|RandomState|Random|Generator|from_seed)\([^()]*\)$", re.M
    )
    assert stream.search("x = 1\nRNG = np.random.default_rng(3)\n") and not stream.search("X = default_rng(3).normal()")
    shared = [str(path) for path in TESTS.rglob("*.py") if stream.search(path.read_text(encoding="utf-8"))]
    assert shared == [], "a module's stream gives a test what the tests before it have left: use the fixture `rng`"
