"""Converted functions are code of the user's file: for debuggers, tracebacks, coverage and what looks at frames."""

from __future__ import annotations

import bdb
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import fastgraph as fg

HERE = str(Path(__file__).resolve())


def line_of(mark: str) -> int:
    """The line that ends with a comment of this one word."""
    lines = Path(HERE).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
    return found


def chosen(x: Any) -> Any:
    total = x * 0
    for i in fg.range(3):  # loop
        if x > 0:  # condition
            y = x * 2  # then
        else:
            y = -x  # otherwise
        total += y + i  # added
    return total  # result


class Breakpoints(bdb.Bdb):
    """Stops at some lines of this file, and notes the frames."""

    def __init__(self, *lines: int) -> None:
        bdb.Breakpoint.clearBreakpoints()  # those of earlier debuggers
        super().__init__()
        self.stops: list[tuple[int, str, set[str]]] = []
        for line in lines:
            self.set_break(HERE, line)

    def user_line(self, frame: FrameType) -> None:
        if self.break_here(frame):
            self.stops.append((frame.f_lineno, frame.f_code.co_name, set(frame.f_locals)))
        self.set_continue()


def stops(*marks: str) -> list[tuple[int, str, set[str]]]:
    debugger = Breakpoints(*map(line_of, marks))
    function = fg.function(chosen)
    debugger.runcall(function.get_concrete_function, fg.constant(1))
    return debugger.stops


@pytest.mark.parametrize("mark", ["loop", "condition", "then", "otherwise", "added", "result"])
def test_a_breakpoint_lands_in_the_source(mark: str) -> None:
    found = stops(mark)
    assert {(line, name) for line, name, _ in found} == {(line_of(mark), "chosen")}
    assert len(found) <= 3  # the body of a loop may be traced on trial first
    assert "x" in found[0][2] or mark == "result"


def test_the_body_of_a_loop_stops_as_often_as_its_other_lines() -> None:
    assert len(stops("then")) == len(stops("otherwise")) == len(stops("added"))


def test_every_line_counts_as_covered_and_none_else() -> None:
    seen: set[int] = set()

    def tracer(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return tracer

    def half(x: Any, flag: bool) -> Any:
        if flag:
            x = x * 2  # covered
        else:
            x = x * 3  # uncovered
        try:
            if x > 0:
                x = -x  # inner
        finally:
            x = x + 1  # finally
        return x  # last

    staged = fg.function(half)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        staged.get_concrete_function(fg.constant(1), True)
    finally:
        sys.settrace(before)
    assert {line_of(mark) for mark in ("covered", "inner", "finally", "last")} <= seen
    assert line_of("uncovered") not in seen
    first = half.__code__.co_firstlineno
    assert {line for line in seen if first <= line <= line_of("last")} == {
        *(first + 1 + i for i in (0, 1, 4, 5, 6, 8)), line_of("last")
    }  # fmt: skip


def test_breakpoint_stops_in_the_frame_that_wrote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def hook() -> None:
        frame = inspect.currentframe()
        assert frame is not None and frame.f_back is not None
        seen.append((frame.f_back.f_code.co_filename, frame.f_back.f_lineno, "y" in frame.f_back.f_locals))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    @fg.function
    def halted(x: Any) -> Any:
        if x > 0:
            y = x + 1
            breakpoint()  # halt
        else:
            y = x
        return y

    halted(fg.constant(1))
    assert set(seen) == {(__file__, line_of("halt"), True)}


def test_frames_are_the_ones_that_python_would_have() -> None:
    def caller() -> tuple[str, int]:
        frame = sys._getframe(1)
        return frame.f_code.co_name, frame.f_lineno

    @fg.function
    def looking(x: Any) -> Any:
        own = sys._getframe().f_code.co_name
        called = caller()  # calls
        if x > 0:
            x = -x
        names = sorted(locals())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("here", stacklevel=1)  # warns
        seen.append((own, called, "x" in names, caught[0].filename, caught[0].lineno))
        return x

    seen: list[Any] = []
    looking(fg.constant(1))
    assert seen == [("looking", ("looking", line_of("calls")), True, __file__, line_of("warns"))]


def test_a_block_has_the_variables_of_its_function() -> None:
    @fg.function
    def evaluated(x: Any) -> Any:
        y = 2
        if x > 0:
            z = eval("x * y")
            seen.append(sorted(name for name in locals() if name in ("x", "y", "z")))
        else:
            z = x
        return z

    seen: list[list[str]] = []
    assert int(evaluated(fg.constant(3))) == 6
    assert seen == [["x", "y", "z"]]


class Base:
    def scaled(self, x: Any) -> Any:
        return x * 10


class Derived(Base):
    def __init__(self) -> None:
        self.__hidden = 3

    @fg.function
    def scaled(self, x: Any) -> Any:
        if x > self.__hidden:
            x = super().scaled(x)
        return x


def test_super_and_mangled_names_in_staged_blocks() -> None:
    assert [int(Derived().scaled(fg.constant(v))) for v in (1, 5)] == [1, 50]


def raises(x: Any) -> Any:
    if x > 0:
        x = fg.matmul(x, x)  # raised
    return x


def test_no_generated_file_is_on_a_traceback() -> None:
    with pytest.raises(ValueError, match="in user code") as caught:
        fg.function(raises)(fg.constant(1.0))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not any("generated" in frame.filename for frame in frames)
    own = [(frame.lineno, frame.name) for frame in frames if frame.filename == __file__]
    assert own[-1] == (line_of("raised"), "raises")
    line = next(frame.line for frame in frames if frame.lineno == line_of("raised"))
    assert line is not None and line.startswith("x = fg.matmul(x, x)")


def test_the_columns_of_an_error_are_those_of_the_call() -> None:
    with pytest.raises(ValueError, match="in user code") as caught:
        fg.function(raises)(fg.constant(1.0))
    frame = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.lineno == line_of("raised")][-1]
    text = Path(HERE).read_text(encoding="utf-8").splitlines()[line_of("raised") - 1]
    assert text[frame.colno : frame.end_colno] == "fg.matmul(x, x)"


def test_names_and_code_of_functions_inside() -> None:
    @fg.function
    def outer(x: Any) -> Any:
        def inner(v: Any) -> Any:
            if v > 0:
                v = -v
            seen.append(sys._getframe().f_code)
            return v

        names.append((inner.__name__, inner.__qualname__))
        return inner(x) if x > 1 else x

    seen: list[CodeType] = []
    names: list[tuple[str, str]] = []
    outer(fg.constant(3))
    assert names == [("inner", f"{outer.python_function.__qualname__}.<locals>.inner")]
    assert {(code.co_name, code.co_filename) for code in seen} == {("inner", __file__)}


def test_functions_with_equal_code_in_two_files_keep_their_files(tmp_path: Path) -> None:
    text = "def f(x, note):\n    if x > 0:\n        note()\n    return x\n"
    functions: list[Callable[..., Any]] = []
    for name in ("one.py", "two.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        space: dict[str, Any] = {}
        exec(compile(text, str(path), "exec"), space)
        functions.append(space["f"])
    files: list[str] = []

    def note() -> None:
        files.append(Path(sys._getframe(1).f_code.co_filename).name)

    for function in functions:
        fg.function(function)(fg.constant(1), note)
    assert files == ["one.py", "two.py"]
