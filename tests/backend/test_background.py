"""When programs are made in the background: after who traces, and only for graphs that are still there."""

from __future__ import annotations

import gc
import io
import itertools
import math
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.store import kernel_service, wait_message
from fastgraph.compiler.store.kernel_store import PROGRAM, store
from fastgraph.core.base import flags
from fastgraph.graph import interpreter
from fastgraph.graph.interpreter import interpret_unless
from fastgraph.runtime import deferred_compilation, foreground_threads
from fastgraph.runtime import executable as executables


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of what is made from now on, in the tier that compiles in the background."""
    names: list[str] = []
    make = executables.Executable._make

    def noted(self: Any, version: Any) -> None:
        names.append(self.name)
        make(self, version)

    monkeypatch.setattr(executables.Executable, "_make", noted)
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
    with foreground_threads.foreground:
        function = fg.function(lambda x: x * 2.0 + 1.0)
        assert function(fg.constant([1.0])).numpy().tolist() == [3.0]
        del function
        gc.collect()
        assert ended()
    assert made == []


def test_who_waits_for_all_does_not_wait_for_what_is_gone(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "LATEST_S", 60.0)
    assert ended()
    with foreground_threads.foreground:
        function = fg.function(lambda x: x * 5.0 - 1.0)
        assert function(fg.constant([1.0])).numpy().tolist() == [4.0]
        assert len(executables._begun) == 1
        del function
        gc.collect()
        begun = time.monotonic()
        assert executables.wait_for_all(30.0)
        assert time.monotonic() - begun < 10.0
    assert ended()


def test_who_waits_for_all_kernels_does_not_wait_for_those_nobody_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = kernel_service.KernelService()
    monkeypatch.setattr(kernel_service, "_desk", desk)
    monkeypatch.setattr(desk, "hire", lambda: None)
    (handle,) = desk.request(
        [KernelSpec("def kernel(buffers, sizes, begin, end):\n    return 77\n", ("float32",), 0, ())]
    )
    waits = threading.Thread(target=lambda: found.append(kernel_service.wait_for_all(30.0)))
    found: list[bool] = []
    waits.start()
    time.sleep(0.05)
    handle.close()
    monkeypatch.setattr(kernel_service, "IDLE_SECONDS", 0.0)
    assert desk._next() is None
    waits.join(10.0)
    assert found == [True]


def test_a_handle_that_is_gone_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = kernel_service.KernelService()
    monkeypatch.setattr(kernel_service, "_desk", desk)
    monkeypatch.setattr(desk, "hire", lambda: None)
    spec = KernelSpec("def kernel(buffers, sizes, begin, end):\n    return 78\n", ("float32",), 0, ())
    (handle,) = kernel_service.request([spec])
    (again,) = kernel_service.request([spec])
    with desk.lock:  # a thread that waits for an import, amid which Python collects in the one that imports
        thread = threading.Thread(target=handle.close)
        thread.start()
        thread.join(20.0)
        assert not thread.is_alive()
    again.close()
    assert not desk._table


def test_it_waits_while_a_thread_traces(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended()
    made.clear()
    monkeypatch.setattr(executables, "LATEST_S", 60.0)
    function = fg.function(lambda x: x * 2.0 - 1.0)
    with foreground_threads.foreground:
        function(fg.constant([1.0]))
        time.sleep(0.05)
        assert made == []
    assert ended() and len(made) == 1


def test_it_does_not_wait_for_long(made: list[str]) -> None:
    function = fg.function(lambda x: x * 2.0 - 3.0)
    with foreground_threads.foreground:
        function(fg.constant([1.0]))
        assert ended()
    assert len(made) == 1


def test_later_calls_do_not_wait(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they have worked as long as it takes."""
    monkeypatch.setattr(executables, "LATEST_S", 60.0)
    monkeypatch.setattr(executables, "MAKING_S", 0.0)
    function = fg.function(lambda x: x * 3.0 - 1.0)
    with foreground_threads.foreground:
        for _ in range(2):
            function(fg.constant([1.0]))
        assert ended()
    assert len(made) == 1


def test_calls_that_are_pythons_are_left_alone_until_they_have_worked_as_long(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Program takes Python from them; it is made when there is a pause."""
    for name in ("LATEST_S", "MAKING_S"):
        monkeypatch.setattr(executables, name, 60.0)
    assert ended()
    made.clear()
    function = fg.function(lambda x: x * 3.0 - 1.5)
    with foreground_threads.foreground:
        for _ in range(50):
            assert function(fg.constant([1.0])).numpy().tolist() == [1.5]
        assert made == []
    assert ended() and len(made) == 1
    assert function(fg.constant([1.0])).numpy().tolist() == [1.5]


def test_a_loop_of_calls_puts_off_what_was_begun_before_it_for_a_while_only(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executables, "LATEST_S", 0.0)
    monkeypatch.setattr(executables, "FIRST_RUN_S", 60.0)
    for name in ("MAKING_S", "LOOP_S"):
        monkeypatch.setattr(executables, name, 60.0)
    assert ended()
    made.clear()
    function = fg.function(lambda x: x * 3.0 - 2.5)
    with foreground_threads.foreground:
        function(fg.constant([1.0]))
        time.sleep(0.05)
        assert made == []
        monkeypatch.setattr(executables, "LOOP_S", 0.0)
        assert ended()
    assert len(made) == 1


def test_who_waits_for_it_does_not_wait_for_others(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executables, "LATEST_S", 60.0)
    function = fg.function(lambda x: x * 3.0 - 2.0)
    with foreground_threads.foreground:
        function(fg.constant([1.0]))
        assert function.get_concrete_function(fg.TensorSpec([1])).wait(60.0)
    assert len(made) == 1


def test_the_end_of_a_program_waits_as_long_as_its_graphs_took(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no process can be forked for them; and not where nothing would come of it."""
    monkeypatch.setattr(deferred_compilation, "hand_over", lambda graphs: False)
    monkeypatch.setattr(executables, "LATEST_S", 60.0)
    monkeypatch.setattr(executables, "PATIENCE_S", 20.0)
    function = fg.function(lambda x: x * 3.0 - 5.0)
    with foreground_threads.foreground:
        function(fg.constant([1.0]))
        ((executable, version),) = executables._begun
        executable()._spent = 20.0  # type: ignore[union-attr]
        with flags.override(linger=0):
            executables._finish()
        assert made == [] and not version.wanted.is_set()
        with flags.override(linger=1, worker=True):
            executables._finish()
    assert len(made) == 1
    assert ended() and executables._begun == []


# ---- first calls that take long, while all kernels are stored ----


@pytest.fixture
def tried(made: list[str], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each first call from now on, which all count as long, whether it was given up for the kernels."""
    given_up: list[bool] = []

    def noted(*arguments: Any) -> Any:
        results = interpret_unless(*arguments)
        given_up.append(results is None)
        return results

    monkeypatch.setattr(executables, "LONG_S", 0.0)
    monkeypatch.setattr(executables, "interpret_unless", noted)
    return given_up


def with_stored_kernels(make: Callable[[], Any], *arguments: Any) -> Any:
    """A Function that has not run yet, whose kernels are there, but not its Program."""
    assert make().get_concrete_function(*arguments).wait(60.0)
    assert not store().is_empty()
    for each in Path(store().directory).glob(f"*{PROGRAM}"):
        each.unlink()
    return make()


def test_a_long_first_call_takes_the_stored_kernels(tried: list[bool]) -> None:
    def body(x: Any) -> Any:
        for _ in fg.range(3):
            x = fg.tanh(x) + 5.0
        return x

    function = with_stored_kernels(lambda: fg.function(body), fg.constant([1.0]))
    assert function(fg.constant([1.0])).numpy() == pytest.approx(body(fg.constant([1.0])).numpy())
    assert tried == [True]


def test_kernels_that_are_not_stored_are_not_waited_for(tried: list[bool]) -> None:
    with_stored_kernels(lambda: fg.function(lambda x: x * 7.0 + 1.0), fg.constant([1.0]))
    other = fg.function(lambda x: fg.tanh(x) * 7.0 + 2.0 - x)
    assert other(fg.constant([0.0])).numpy().tolist() == [2.0]
    assert tried == [False]


@pytest.mark.parametrize(
    ("latest", "done", "left", "waits"),
    [(1.0, 3, 1, True), (1.0, 1, 3, False), (1.0, 0, 1, False), (0.01, 3, 1, False)],
)
def test_a_later_call_waits_for_kernels_that_nearly_are_there(latest: float, done: int, left: int, waits: bool) -> None:
    """Where the one before took long, and they come fast enough; kernels count by their length."""

    class Kernel:
        def __init__(self, ready: bool) -> None:
            self.ready, self.seconds = ready, -1.0

        def wait(self, seconds: float) -> bool:
            self.seconds = seconds
            return True

    executable = fg.function(lambda x: x + 1.0).get_concrete_function(fg.constant(1.0)).executable
    version = executables._Version(())
    kernels = [Kernel(False), Kernel(True)]
    sources = ("a" * left, "b" * max(done, 1))
    handles = {KernelSpec(text, (), 0, ()): each for text, each in zip(sources, kernels, strict=True)}
    if not done:
        handles.popitem()
    version.handles, version.asked = handles, time.monotonic() - 1.0  # type: ignore[assignment]
    executable._latest, executable._latest_s = version, latest
    assert not executable._nearly_compiled()  # its Program is not made yet
    version.made.set()
    assert executable._nearly_compiled() == waits
    assert (0.0 < kernels[0].seconds <= 2 * latest) == waits


@pytest.mark.parametrize("when", ["before", "in a loop", "after"])
@pytest.mark.parametrize("late", [True, False])
def test_what_a_first_call_does_it_does_once(
    tried: list[bool], monkeypatch: pytest.MonkeyPatch, when: str, late: bool
) -> None:
    """Writes and draws: the call is begun again if it has taken long before its first effect, not after it."""
    total, generator = fg.Variable(0.0), fg.random.Generator.from_seed(1)

    def body(x: Any) -> Any:
        if when == "before":
            total.assign_add(x)
        for _ in fg.range(3):
            x = fg.tanh(x) + 3.0
            if when == "in a loop":
                x = x + 0.0 * generator.normal(())
        if when == "after":
            total.assign_add(x)
        return x

    function = with_stored_kernels(lambda: fg.function(body), fg.constant(1.0))
    before = generator.state.numpy().tolist()

    ticks = itertools.count()

    def clock() -> float:
        happened = total.numpy() != 0.0 or generator.state.numpy().tolist() != before
        return float(happened) if late else next(ticks)

    monkeypatch.setattr(interpreter, "time", types.SimpleNamespace(thread_time=clock))
    monkeypatch.setattr(executables, "LONG_S", 0.5)
    function(fg.constant(1.0))
    assert tried == [not late]
    once = fg.random.Generator.from_seed(1)
    for _ in range(3 if when == "in a loop" else 0):
        once.normal(())
    assert generator.state.numpy().tolist() == once.state.numpy().tolist()
    expected = {"before": 1.0, "in a loop": 0.0, "after": 3.0 + math.tanh(3.0 + math.tanh(3.0 + math.tanh(1.0)))}
    assert total.numpy() == pytest.approx(expected[when])


def test_a_long_wait_says_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, while it waits."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class Slow:
        error = None
        waits = 0
        ready = False

        def wait(self, timeout: float) -> bool:
            self.waits += 1
            self.ready = self.waits > 2
            return self.ready

    monkeypatch.setattr(wait_message, "NOTICED_S", 0.0)
    for stream, said in ((Terminal(), True), (io.StringIO(), False), (None, False)):
        monkeypatch.setattr(wait_message.sys, "stderr", stream)
        wait_message.wait("step", [Slow(), Slow()])  # type: ignore[list-item]
        text = stream.getvalue() if stream is not None else ""
        assert ("step waits for its kernels: 1 of 2 compiled" in text) == said
        assert text.endswith("\r") == said and (not said or text.split("\r")[-2].strip() == "")


def with_a_loop(x: Any) -> Any:
    """A loop over the rows of a tensor, and more ops around it than in it."""
    total = fg.zeros_like(x[0])
    for row in fg.tanh(x):
        total = fg.tanh(total + row)
    for _ in range(10):
        total = fg.sin(total) + fg.cos(total) * fg.exp(-total)
    return total


def test_loops_run_compiled_before_their_graph_does(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also at other sizes; the graph's own Program does not come here."""
    monkeypatch.setattr(executables.Executable, "_make", lambda self, version: None)
    monkeypatch.setattr(executables, "CALLS_AHEAD", math.inf)
    x = fg.random.normal([40, 16], seed=5)
    function = fg.function(with_a_loop, input_signature=[fg.TensorSpec([None, 16])])
    expected, shorter = function(x).numpy(), function(x[:7]).numpy()
    whole = function.get_concrete_function().executable
    end = time.monotonic() + 60.0
    while not all(loop.part is not None and loop.part.is_compiled for loop in whole._loops.values()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert whole._loops and not whole.is_compiled
    monkeypatch.setattr(interpreter, "_iterate", lambda node, inputs: pytest.fail("a loop is interpreted"))
    np.testing.assert_allclose(function(x).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(function(x[:7]).numpy(), shorter, rtol=1e-5, atol=1e-6)
