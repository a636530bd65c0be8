"""Results of public functions and methods have types, but for those of a list that says why they have none."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fastgraph"
LIST = Path(__file__).with_name("untyped_results.txt")
SPECIAL = ("__call__", "__getitem__", "__iter__", "__next__", "__add__")
Found = tuple[str, list[ast.stmt]]


@functools.cache
def tree(module: str) -> ast.Module | None:
    """The module's stub, else its source."""
    base = PACKAGE.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".pyi"), base / "__init__.pyi", base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return ast.parse(path.read_text(encoding="utf-8"))
    return None


def definition(module: str, name: str) -> Found | None:
    """Return the module that defines a name, and its definitions there (several of what is overloaded)."""
    here = tree(module)
    if here is None:
        return None
    made: list[ast.stmt] = [n for n in here.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name]
    if made:
        return module, made
    for node in here.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                same = (node.module, alias.name) == (module, name)  # a module below this one
                if (alias.asname or alias.name) == name and node.module.startswith("fastgraph") and not same:
                    return definition(node.module, alias.name)
        targets = node.targets if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) else []
        if name in [target.id for target in targets if isinstance(target, ast.Name)]:
            return definition(module, node.value.id)
    return None


def says_nothing(function: ast.FunctionDef) -> bool:
    given = function.returns
    return given is None or (isinstance(given, ast.Name) and given.id == "Any")


def untyped(module: str, nodes: list[ast.stmt]) -> Iterator[str]:
    """Yield "module name" of functions of which no definition says what it gives, and of such methods of classes."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    if functions and all(map(says_nothing, functions)):
        yield f"{module} {functions[0].name}"
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            methods: dict[str, list[ast.FunctionDef]] = {}
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and (not item.name.startswith("_") or item.name in SPECIAL):
                    methods.setdefault(item.name, []).append(item)
                elif isinstance(item, ast.Assign) and ast.unparse(item.value).startswith("ReadOnly[Any]("):
                    yield f"{module} {node.name}.{ast.unparse(item.targets[0])}"
            for name, several in methods.items():
                setter = any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in several[-1].decorator_list)
                if all(map(says_nothing, several[:1] if setter else several)):
                    yield f"{module} {node.name}.{name}"
            for base in node.bases:
                inherited = definition(module, base.id) if isinstance(base, ast.Name) else None
                if inherited is not None:
                    yield from untyped(*inherited)


def public() -> Iterator[Found]:
    """Yield what the names of the stub files stand for."""
    for path in sorted(PACKAGE.rglob("*.pyi")):
        text = path.read_text(encoding="utf-8")
        if not text.startswith("# Written by tools/stubs.py"):
            continue
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(text).body:
            names = [node.name] if isinstance(node, ast.FunctionDef) else []
            if isinstance(node, ast.ImportFrom):
                names = [alias.asname for alias in node.names if alias.asname]
            for name in names:
                found = definition(module, name)
                if found is not None:
                    yield found


def listed() -> dict[str, str]:
    """Return {"module name": the reason above it}."""
    reasons, reason = {}, ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line
        elif line:
            module, *names = line.split()
            reasons |= {f"{module} {name}": reason for name in names}
    return reasons


@pytest.mark.skipif(not PACKAGE.exists(), reason="no sources around the tests")
def test_results_of_public_names_have_types() -> None:
    found = {name for module, nodes in public() for name in untyped(module, nodes)}
    assert found - set(listed()) == set(), "say what they give (`-> Tensor`), or why nothing can be said, in the list"
    assert set(listed()) - found == set(), "these have types now: take them off the list"


def test_the_list_gives_reasons() -> None:
    assert all(len(reason.split()) > 4 for reason in listed().values())
