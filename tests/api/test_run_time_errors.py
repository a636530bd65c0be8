"""Errors of ops that run in a graph: every line of the user's on the way there, and where the Function was called."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg

pytestmark = pytest.mark.usefixtures("tier")


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
    return found


def told(error: fg.errors.OpError) -> list[tuple[int, str]]:
    """The lines of this file in an error's text, each with its function."""
    return [(int(line), name) for line, name in re.findall(rf'File "{__file__}", line (\d+), in (\S+)', str(error))]


def pick(x: Any, i: Any) -> Any:
    return fg.gather(x, i)  # where it is gathered


@fg.function
def inner(x: Any, i: Any) -> Any:
    return pick(x, i) * 2.0  # where it is picked


@fg.function
def outer(x: Any, i: Any) -> Any:
    y = inner(x + 1.0, fg.zeros_like(i))
    return y + inner(x, i)  # where inner is called


def failing(function: Any, *arguments: Any) -> fg.errors.InvalidArgumentError:
    with pytest.raises(fg.errors.InvalidArgumentError, match="Graph execution error") as caught:
        function(*arguments)  # where Python calls
    return caught.value


def test_calls_of_functions_in_functions_are_told() -> None:
    error = failing(outer, fg.constant([1.0, 2.0]), fg.constant([5]))
    assert told(error) == [
        (line_of("where inner is called"), "outer"),
        (line_of("where it is picked"), "inner"),
        (line_of("where it is gathered"), "pick"),
    ]
    assert "indices[0] = 5 is not in [0, 2)" in str(error)
    assert "GatherV2" in str(error)


def test_the_text_of_the_lines_is_shown() -> None:
    text = str(failing(outer, fg.constant([1.0, 2.0]), fg.constant([5])))
    lines = [line.strip() for line in text.splitlines()]
    at = next(i for i, line in enumerate(lines) if line.endswith("in pick"))
    assert lines[at + 1] == "return fg.gather(x, i)  # where it is gathered"


def test_the_traceback_leads_to_the_line_of_the_call() -> None:
    error = failing(outer, fg.constant([1.0, 2.0]), fg.constant([5]))
    frames = [
        (each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__) if each.filename == __file__
    ]
    assert frames == [("failing", line_of("where Python calls"))]


@fg.function
def counting(x: Any, n: Any) -> Any:
    for i in fg.range(n):
        if fg.reduce_sum(x) > 0.0:
            x += fg.gather(x, [i])  # in the loop
    return x


@fg.function
def calls_twice(x: Any, n: Any) -> Any:
    y = counting(x, 1)
    return counting(y, n)  # the second call


def test_loops_in_functions_that_are_called() -> None:
    error = failing(calls_twice, fg.constant([1.0, 2.0]), fg.constant(3))
    assert told(error) == [(line_of("the second call"), "calls_twice"), (line_of("in the loop"), "counting")]


def test_equal_loops_of_one_line_stay_one() -> None:
    @fg.function
    def same(x: Any) -> Any:
        return counting(x, 2) + counting(x, 2)

    graph = same.get_concrete_function(fg.constant([1.0, 2.0])).executable.graph
    assert [node.op.name for node in graph.nodes].count("while") == 1
