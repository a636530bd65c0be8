"""Where AutoGraph finds the text of a function: files, cells, lambdas, the program of python -c and of standard input."""

from __future__ import annotations

import linecache
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.staging.autograph import source_code

TABLE = {"a": lambda v: v * 2 if v > 0 else v, "b": lambda v: v if v > 5 else -v}
FIRST, SECOND = lambda x: x if x > 0 else -x, lambda x: x if x > 1 else x * 10
NESTED = lambda x: (lambda x: x * 2 if x > 1 else x)(x) if x > 0 else -x
SEVERAL_LINES = [
    lambda x: (
        x * 3
        if x > 0  # a comment
        else -x
    ),
    lambda x: (
        x * 4 if x > 0 else -x
    ),
]  # fmt: skip


@pytest.mark.parametrize("function", [*TABLE.values(), FIRST, SECOND, NESTED, *SEVERAL_LINES])
@pytest.mark.filterwarnings("error")
def test_lambdas_by_their_columns(function: Callable[[Any], Any]) -> None:
    for value in (-3, 1, 3, 9):
        assert int(fg.function(function)(fg.constant(value))) == int(function(value))


def indented() -> Callable[[Any], Any]:
    def with_text(x: Any) -> Any:
        text = """a string
of several lines, less indented"""
        if x > 0:
            x = x + len(text)
        return x

    return with_text


def test_a_string_keeps_its_lines() -> None:
    function = indented()
    assert int(fg.function(function)(fg.constant(1))) == function(1)


def test_a_definition_has_the_lines_of_its_file() -> None:
    node = source_code.definition(indented())  # type: ignore[arg-type]
    assert node is not None
    assert node.lineno == indented().__code__.co_firstlineno
    assert linecache.getline(__file__, node.body[1].lineno).strip() == "if x > 0:"  # type: ignore[index]


def test_a_text_that_does_not_fit_is_none(tmp_path: Path) -> None:
    """A file that was changed after its functions were made."""
    path = tmp_path / "changed.py"
    space: dict[str, Any] = {}
    path.write_text("def f(a, b):\n    return a\n", encoding="utf-8")
    exec(compile("def f(x):\n    return x if x > 0 else -x\n", str(path), "exec"), space)
    assert source_code.definition(space["f"]) is None
    path.write_text("\n\n", encoding="utf-8")
    linecache.clearcache()
    assert source_code.definition(space["f"]) is None


def test_a_cell_of_a_notebook() -> None:
    name, text = "<ipython-input-7-abc>", "def f(x):\n    if x > 0:\n        return x\n    return -x\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    assert [int(fg.function(space["f"])(fg.constant(v))) for v in (2, -2)] == [2, 2]


PROGRAM = """
import fastgraph as fg

@fg.function
def f(x):
    if x > 0:
        return x
    return -x

print(int(f(fg.constant(-2))), int(fg.function(lambda x: x if x > 3 else x * 5)(fg.constant(2))))
"""


@pytest.mark.parametrize("options", [["-c", PROGRAM], ["-Wignore", "-uc", PROGRAM], []])
def test_programs_that_are_in_no_file(options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_text("" if options else PROGRAM, encoding="utf-8")
    with path.open("rb") as given:
        done = subprocess.run([sys.executable, *options], stdin=given, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("2 10", 0), done.stderr


def from_nowhere(text: str, name: str = "f") -> Any:
    space: dict[str, Any] = {"fg": fg}
    exec(text, space)
    return space[name]


def test_a_function_without_source_is_named_where_a_tensor_decides() -> None:
    function = from_nowhere("def f(x):\n    return x\n")
    assert int(fg.function(function)(fg.constant(3))) == 3
    function = from_nowhere("def decide(x):\n    if x > 0:\n        return x\n    return -x\n", "decide")
    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError, match=r"'decide'.*source.*linecache") as caught:
        fg.function(function)(fg.constant(3))
    assert "tf.cond" in str(caught.value)


def test_a_lambda_without_source() -> None:
    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError, match=r"'<lambda>'.*source"):
        fg.function(eval("lambda x: x if x > 0 else -x"))(fg.constant(3))


def generated(x: Any) -> Any:
    for i in range(3):
        if x > i:
            yield x
        else:
            yield x * 0


def test_a_generator_is_named_where_a_tensor_decides() -> None:
    @fg.function
    def total(x: Any) -> Any:
        s = fg.constant(0)
        for value in generated(x):
            s = s + value
        return s

    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError, match="'generated'.*generator.*tf.where"):
        total(fg.constant(2))


def test_what_do_not_convert_leaves_alone_is_named() -> None:
    @fg.autograph.experimental.do_not_convert
    def left(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError, match="'left'.*do_not_convert"):
        fg.function(left)(fg.constant(1))


def test_recursion_without_end_is_no_failure_to_convert(recwarn: pytest.WarningsRecorder) -> None:
    def endless(x: Any) -> Any:
        if x > 0:
            return endless(x - 1) + deeper(x)
        return x

    def deeper(x: Any) -> Any:
        return x if x > 0 else endless(x)

    staged = fg.function(endless)
    for _ in range(2):
        with pytest.raises(RecursionError):
            staged(fg.constant(3))
    assert not [each for each in recwarn if "AutoGraph" in str(each.message)]


def test_what_a_library_has_made_a_function_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(x: Any) -> Any:
        return x + 1 if x > 0 else x

    def step(x: Any) -> Any:
        return x * 2 if x > 0 else -x

    def calls_helper(x: Any) -> Any:
        return helper(x)

    for function in (helper, step):
        monkeypatch.setattr(function, "__module__", "keras.src.utils.tests")
    assert [int(fg.function(step)(fg.constant(value))) for value in (-3, 3)] == [3, 6]
    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError):  # nobody has asked for the library's own function
        fg.function(calls_helper)(fg.constant(1))
