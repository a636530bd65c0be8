"""docs/architecture.md and docs/protocols.md are true: rooms are folders in the order of the layers, lists those of the sources."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.null.test_layers import LAYERS, PACKAGE, is_module

ROOT = Path(__file__).parents[2]
PROTOCOLS = ROOT / "docs" / "protocols.md"

pytestmark = pytest.mark.skipif(not (ROOT / "tools").exists(), reason="no tools around the tests")


def test_the_lists_are_those_of_the_docstrings() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "architecture.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/architecture.py"


def test_the_head_is_read_in_one_sitting() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "architecture.py"))
    head = tool["PAGE"].read_text(encoding="utf-8").partition(tool["BEGIN"])[0]
    assert len(head.splitlines()) <= 60, (
        "sixty lines in the order in which data flows; what is more has pages of its own"
    )


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
    page = PROTOCOLS.read_text(encoding="utf-8")
    assert asked == set(protocol.findall(page))


#: Methods that change what an attribute holds.
CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update"}
#: Fields that are called like those of graphs: of files' messages and definitions, syntax trees, LLVM's functions,
#: threads' states, classes of the room's own.
NAMESAKES = {
    "compiler": {"name", "outputs", "variables", "within"}, "core": {"device", "extra", "trace"},
    "data": {"attrs", "name", "node", "outputs"}, "graphdef": {"attrs", "control", "device", "name", "outputs"},
    "keras": {"_name", "extra", "variables"}, "ops": {"extra"}, "replication": {"device", "extra", "trace"},
    "saving": {"_name", "name", "nodes", "op"}, "staging": {"device", "name", "shapes"}, "state": {"aval", "name"},
    "summaries": {"extra"},
}  # fmt: skip


def fields(tree: ast.Module, *classes: str) -> set[str]:
    """Return the attributes that classes of a module have: those named, or all."""
    found = set()
    for kind in ast.walk(tree):
        if isinstance(kind, ast.ClassDef) and (not classes or kind.name in classes):
            for node in ast.walk(kind):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is(node.value, "self"):
                    found.add(node.attr)
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.add(node.target.id)
    return found


def written(tree: ast.Module) -> Iterator[str]:
    """Yield the attributes of others than `self` that a module assigns to, or changes what they hold."""
    for node in ast.walk(tree):
        place: ast.expr | None = node if isinstance(node, (ast.Attribute, ast.Subscript)) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            place = node.func.value
        elif place is None or isinstance(getattr(place, "ctx", None), ast.Load):
            continue
        place = place.value if isinstance(place, ast.Subscript) else place
        if isinstance(place, ast.Attribute) and not _is(place.value, "self"):
            yield place.attr


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def test_the_page_names_everybody_who_writes_fields_of_graphs_from_another_room() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    of_graphs = fields(trees[PACKAGE / "graph" / "ir.py"], "Value", "Node", "Graph")
    of_graphs |= fields(trees[PACKAGE / "graph" / "trace.py"], "GraphTrace")
    found = {("core/tape/rules", field) for field in ("control", "node_name")}  # Cython's
    for path, tree in trees.items():
        module = str(path.relative_to(PACKAGE).with_suffix(""))
        room = module.partition("/")[0]
        theirs = of_graphs - NAMESAKES.get(room, set()) - fields(tree) if room != "graph" else set()
        found |= {(module, field) for field in written(tree) if field in theirs}
    page = PROTOCOLS.read_text(encoding="utf-8").partition("Who writes fields of graphs")[2]
    said = set()
    for group in re.findall(r"((?:`[a-z_0-9]+/[\w/]+`[,\s]*)+)\(([^)]*)\)", page):
        said |= {
            (module, field) for module in re.findall(r"`(.*?)`", group[0]) for field in re.findall(r"`(.*?)`", group[1])
        }
    assert {module for module, _ in found} == {module for module, _ in said}
    assert found <= said
