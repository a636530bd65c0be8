"""Signatures give the types that are known, and docstrings begin so that a stranger understands them."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fastgraph"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.fixture(autouse=True)
def collector_paused() -> Iterator[None]:
    """Keep Python's collector from passing over the trees of all sources again and again: it took most of the time."""
    gc.disable()
    yield
    gc.enable()


#: The share of annotated parameters that may be `Any`: what has no type of its own (leaves of nests, values that a
#: library hands through, arguments that a user's function takes) needs no more.
MOST = 0.13
#: Of the parameters that may be `object`: what is compared, shown or asked for its class, and nothing else.
MOST_OBJECTS = 0.06


def annotation_of(parameter: ast.arg) -> ast.expr | None:
    """Return the annotation of a parameter, read if it is written as text."""
    given = parameter.annotation
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return ast.parse(given.value, mode="eval").body
    return given


def parameters(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the annotations of all parameters of functions, methods and nested functions; *args and **kwargs too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            taken = node.args
            every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
            yield from (found for p in every if p is not None and (found := annotation_of(p)) is not None)


def aliases(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return for each module the names that stand for `Any` in it: assigned at its top, or imported from such a one."""
    own = {
        module: {"Any"}
        | {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == "Any"
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for module, tree in trees.items()
    }
    return {
        module: own[module]
        | {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in own.get(node.module or "", ())
        }
        for module, tree in trees.items()
    }


def is_any(annotation: ast.expr, names: set[str]) -> bool:
    """Whether an annotation says nothing: `Any`, another name for it, or a union with it (`Any | None`)."""
    if isinstance(annotation, ast.BinOp):
        return is_any(annotation.left, names) or is_any(annotation.right, names)
    return isinstance(annotation, ast.Name) and annotation.id in names


def shares() -> tuple[float, float, dict[str, tuple[int, int]]]:
    """Return the shares of `Any` and of `object`, and {room: (parameters that are Any, parameters)}."""
    trees = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
             for path in SOURCES}  # fmt: skip
    every, objects, unknown = 0, 0, 0
    rooms: dict[str, tuple[int, int]] = {}
    names = aliases(trees)
    for module, tree in trees.items():
        found = list(parameters(tree))
        of_any = sum(is_any(annotation, names[module]) for annotation in found)
        every, unknown = every + len(found), unknown + of_any
        objects += sum(isinstance(annotation, ast.Name) and annotation.id == "object" for annotation in found)
        room = module.split(".")[1]
        before = rooms.get(room, (0, 0))
        rooms[room] = before[0] + of_any, before[1] + len(found)
    return unknown / every, objects / every, rooms


def test_few_parameters_are_of_any_type() -> None:
    unknown, objects, rooms = shares()
    worst = sorted(rooms, key=lambda room: -rooms[room][0])[:5]
    told = ", ".join(f"{room} {rooms[room][0]} of {rooms[room][1]}" for room in worst)
    assert unknown <= MOST, f"{unknown:.1%} of the parameters are Any, and {MOST:.0%} may be: {told}"
    assert objects <= MOST_OBJECTS, f"{objects:.1%} of the parameters are object, and {MOST_OBJECTS:.0%} may be"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Any", True), ("Any | None", True), ("Lane", True), ("list[Any]", False), ("TensorLike | None", False)],
)
def test_what_counts_as_any(text: str, expected: bool) -> None:
    assert is_any(ast.parse(text, mode="eval").body, {"Any", "Lane"}) is expected


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each docstring; of Cython's sources of each text in three quotes that begins a line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".py", ".pyi"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                said = ast.get_docstring(node)
                if said:
                    yield node.body[0].lineno, said
        return
    for found in re.finditer(r'^ *"""(.*)', text, re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, found[1]


#: Words that begin a question, or half a sentence: whoever reads the docstring alone does not know what is meant.
QUESTIONS = re.compile(r"(What(ever)?|Whether|How|Which|Where|Why|When|Who(se)?|That|If|As|By|Of|For|In|There|So)\b")


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    files = [path for suffix in ("py", "pyi", "pyx", "pxi", "pxd") for path in sorted(PACKAGE.rglob(f"*.{suffix}"))]
    bad = [
        f"{path.relative_to(PACKAGE)}:{line}: {said.splitlines()[0]}"
        for path in files
        for line, said in docstrings(path)
        if QUESTIONS.match(said)
    ]
    assert not bad, "say what it is, or what it does:\n" + "\n".join(bad)


def test_comments_begin_with_no_question() -> None:
    begins = re.compile(r"^\s*(?://|#:?|/\*|\*)\s+(?:What|Whether)\b.*", re.MULTILINE)
    files = [path for suffix in ("py", "pyx", "pxi", "pxd", "h") for path in sorted(PACKAGE.rglob(f"*.{suffix}"))]
    assert begins.search("int x;\n/* Whether there is one. */") and not begins.search("x = 1  # What it is.")
    bad = [
        f"{path.relative_to(PACKAGE)}: {found[0].strip()}"
        for path in files
        if "_generated" not in path.parts
        for found in begins.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not bad, "say what it is, or what it does:\n" + "\n".join(bad)
