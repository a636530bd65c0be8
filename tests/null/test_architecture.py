"""docs/architecture.md is true: its rooms are the folders, in the order of the layers, and its lists are the docstrings."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.null.test_layers import LAYERS, PACKAGE, is_module

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "tools").exists(), reason="no tools around the tests")


def test_the_lists_are_those_of_the_docstrings() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "architecture.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/architecture.py"


def test_the_rooms_are_the_folders_in_the_order_of_the_layers() -> None:
    rooms = runpy.run_path(str(ROOT / "tools" / "architecture.py"))["ROOMS"]
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("__init__.py")}
    assert set(rooms) == {"" if folder == "." else folder for folder in folders}
    layers = [member[:-1].replace(".", "/") for _, members in LAYERS for member in members if member.endswith(".")]
    assert [room for room in rooms if room in layers] == layers
    assert all(is_module(layer.replace("/", ".")) for layer in layers)


def test_the_page_names_every_attribute_that_rooms_ask_objects_for() -> None:
    protocol = re.compile(r"__fg_\w+__")
    sources = [path for suffix in ("py", "pyx", "pxi", "pxd") for path in PACKAGE.rglob(f"*.{suffix}")]
    asked = {name for path in sources for name in protocol.findall(path.read_text(encoding="utf-8"))}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert asked == set(protocol.findall(page))


def test_the_page_names_every_module_below_the_graphs_that_writes_into_a_trace() -> None:
    layers = [members for _, members in LAYERS]
    below = {
        member for members in layers[: next(i for i, m in enumerate(layers) if "graph." in m)] for member in members
    }
    found = set()
    for path in PACKAGE.rglob("*.p[yx]*"):
        name = str(path.relative_to(PACKAGE).with_suffix(""))
        room = f"{path.parent.relative_to(PACKAGE)}.".replace("/", ".")
        source = path.read_text(encoding="utf-8") if room in below and path.suffix != ".pyi" else ""
        if re.search(r"\btrace\.[a-z_]+ [+]?= ", source):
            found.add(name)
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "core/tape/rules" in found and not {name for name in found if f"`{name}`" not in page}
