"""When programs are made in the background: after who traces, and only for graphs that are still there."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import fastgraph as fg
from fastgraph import flags
from fastgraph.compiler import pipeline
from fastgraph.graph import foreground


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of what is made from now on, in the tier that compiles in the background."""
    names: list[str] = []
    make = pipeline.Executable._make

    def noted(self: Any, version: Any) -> None:
        names.append(self.name)
        make(self, version)

    monkeypatch.setattr(pipeline.Executable, "_make", noted)
    before = flags.get("tier")
    flags.set_flag("tier", "auto")
    yield names
    flags.set_flag("tier", before)


def ended(seconds: float = 20.0) -> bool:
    """Whether all threads that make programs have ended."""
    end = time.monotonic() + seconds
    while any(each.name == "fastgraph-build" for each in threading.enumerate()):
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def test_a_graph_that_is_gone_is_not_compiled(made: list[str]) -> None:
    assert ended()
    made.clear()
    with foreground.foreground:
        function = fg.function(lambda x: x * 2.0 + 1.0)
        assert function(fg.constant([1.0])).numpy().tolist() == [3.0]
        del function
        gc.collect()
        assert ended()
    assert made == []


def test_it_waits_while_a_thread_traces(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended()
    made.clear()
    monkeypatch.setattr(pipeline, "LATEST_S", 60.0)
    function = fg.function(lambda x: x * 2.0 - 1.0)
    with foreground.foreground:
        function(fg.constant([1.0]))
        time.sleep(0.05)
        assert made == []
    assert ended() and len(made) == 1


def test_it_does_not_wait_for_long(made: list[str]) -> None:
    function = fg.function(lambda x: x * 2.0 - 3.0)
    with foreground.foreground:
        function(fg.constant([1.0]))
        assert ended()
    assert len(made) == 1


def test_a_second_call_does_not_wait(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LATEST_S", 60.0)
    function = fg.function(lambda x: x * 3.0 - 1.0)
    with foreground.foreground:
        function(fg.constant([1.0]))
        function(fg.constant([1.0]))
        assert ended()
    assert len(made) == 1


def test_who_waits_for_it_does_not_wait_for_others(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LATEST_S", 60.0)
    function = fg.function(lambda x: x * 3.0 - 2.0)
    with foreground.foreground:
        function(fg.constant([1.0]))
        assert function.get_concrete_function(fg.TensorSpec([1])).wait(60.0)
    assert len(made) == 1
