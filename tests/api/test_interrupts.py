"""Handlers of signals that use fastgraph while the program does."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import warnings
from typing import Any

import pytest

import fastgraph as tf
from fastgraph.compiler import assemble as assembling
from fastgraph.core.base import deferred_signals, flags
from fastgraph.core.base.deferred_signals import Untraced, deferred
from fastgraph.core.tensor import current_state
from fastgraph.staging import autograph


def test_handlers_wait_for_imports_and_come_in_order() -> None:
    came: list[Any] = []
    earlier = [signal.signal(number, lambda n, frame: came.append(n)) for number in (signal.SIGUSR1, signal.SIGUSR2)]
    try:
        with deferred, deferred:
            signal.raise_signal(signal.SIGUSR2)
            signal.raise_signal(signal.SIGUSR1)
            assert came == []
        assert came == [signal.SIGUSR2, signal.SIGUSR1]
        signal.raise_signal(signal.SIGUSR1)
        assert came[2:] == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, earlier[0])
        signal.signal(signal.SIGUSR2, earlier[1])


def test_ctrl_c_comes_after_the_import() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), deferred:
        signal.raise_signal(signal.SIGINT)
        steps.append("imported")
    assert steps == ["imported"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("logging", "tf.get_logger().name"),
        ("scipy.special", "tf.math.bessel_i0(1.0)"),
    ],
)
def test_a_handler_finds_no_half_of_a_library(module: str, call: str) -> None:
    """What libraries are loaded at a call's first need, a handler that comes meanwhile finds whole."""
    program = f"""
        import signal, sys
        import fastgraph as tf

        class During:
            def find_spec(self, name, path=None, target=None):
                if {module!r} in sys.modules and not found:
                    found.append(None)
                    signal.raise_signal(signal.SIGUSR1)

        found = []
        assert {module!r} not in sys.modules
        signal.signal(signal.SIGUSR1, lambda *_: found.append({call}))
        sys.meta_path.insert(0, During())
        {call}
        assert len(found) == 2, found
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)


@pytest.mark.parametrize("manager", [deferred, Untraced], ids=["deferred", "untraced"])
def test_handlers_that_raise_while_handlers_are_exchanged(manager: Any, monkeypatch: Any) -> None:
    """Each moment between two handlers is tried: whatever is raised is raised here, and all handlers are back."""
    left: list[int] = []

    class Interrupted:
        getsignal, default_int_handler = signal.getsignal, signal.default_int_handler

        @staticmethod
        def signal(number: int, handler: Any) -> None:
            signal.signal(number, handler)
            left[0] -= 1
            if left[0] in (0, 1):
                signal.raise_signal((signal.SIGUSR1, signal.SIGUSR2)[left[0]])

    def handler(number: int, *_: object) -> None:
        raise TimeoutError(number)

    numbers = (signal.SIGUSR1, signal.SIGALRM, signal.SIGUSR2)
    earlier = [signal.signal(number, handler) for number in numbers]
    before = [signal.getsignal(number) for number in range(1, signal.NSIG)]
    monkeypatch.setattr(deferred_signals, "_signal", Interrupted)
    try:
        for moment in range(1, 40):
            left[:] = [moment]
            raised = False
            try:
                with deferred if manager is deferred else Untraced(current_state()):
                    pass
            except TimeoutError:
                raised = True
            assert raised == (left[0] <= 1), moment
            assert [signal.getsignal(number) for number in range(1, signal.NSIG)] == before, moment
            assert (deferred_signals._depth, deferred_signals._handlers, deferred_signals._came) == (0, {}, [])
        assert not raised
    finally:
        for number, handler_before in zip(numbers, earlier, strict=True):
            signal.signal(number, handler_before)


def test_what_a_handler_raises_while_a_function_is_converted_is_no_reason_not_to_convert_it(monkeypatch: Any) -> None:
    armed = [True]
    convert = autograph.get_converter()

    def interrupted(function: Any) -> Any:
        if armed:
            armed.clear()
            signal.raise_signal(signal.SIGUSR1)
        return convert(function)

    def handler(*_: object) -> None:
        raise ArithmeticError("too long")

    @tf.function
    def halved(x: tf.Tensor) -> tf.Tensor:
        while x > 1.0:
            x = x / 2.0
        return x

    monkeypatch.setattr(autograph, "get_converter", lambda: interrupted)
    earlier = signal.signal(signal.SIGUSR1, handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ArithmeticError, match="too long"):
                halved(tf.constant(8.0))
            assert not armed
            assert halved(tf.constant(8.0)).numpy() == 1.0
    finally:
        signal.signal(signal.SIGUSR1, earlier)


def test_what_a_handler_raises_while_a_graph_is_compiled_is_no_reason_to_run_uncompiled(monkeypatch: Any) -> None:
    armed = [True]
    assemble = assembling.assemble

    def interrupted(*arguments: Any) -> Any:
        if armed:
            armed.clear()
            signal.raise_signal(signal.SIGUSR1)
        return assemble(*arguments)

    def handler(*_: object) -> None:
        raise ArithmeticError("too long")

    f = tf.function(lambda x: tf.sin(x) * 2.0 + 1.0)
    monkeypatch.setattr(assembling, "assemble", interrupted)
    earlier = signal.signal(signal.SIGUSR1, handler)
    try:
        with flags.override(tier="last"), warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ArithmeticError, match="too long"):
                f(tf.constant(0.0))
            assert not armed
            assert f(tf.constant(0.0)).numpy() == 1.0
    finally:
        signal.signal(signal.SIGUSR1, earlier)


PROGRAM = """
import signal, traceback
import fastgraph as tf

tf.get_logger().setLevel("ERROR")
failed, n, inside = [], 0, False


def handler(*_):
    global n, inside
    if inside:
        return
    inside, n = True, n + 1
    try:
        tf.function(lambda x: tf.cos(x) + n)(tf.constant(1.0))
    except Exception:
        failed.append(traceback.format_exc())
    inside = False


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.007)
for k in range(30):
    @tf.function
    def g(x, k=k):
        for i in tf.range(3):
            if x[0] > 0:
                x = x * 2.0
        return tf.reduce_sum(x)

    assert g(tf.constant([1.0, 2.0])).numpy() == 24.0
signal.setitimer(signal.ITIMER_REAL, 0)
assert n > 0
print("\\n".join(failed) or "fine")
"""


def test_a_handler_that_traces_while_the_program_traces(tmp_path: Any) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=250, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stdout + done.stderr


def test_what_a_handler_does_is_no_part_of_the_trace_that_it_interrupts() -> None:
    came: list[Any] = []
    places = ["at the start", "in a loop"]

    def interrupt(place: str) -> None:
        if place in places:
            places.remove(place)
            with tf.name_scope("around"), tf.device("/CPU:0"):
                signal.raise_signal(signal.SIGUSR1)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        interrupt("at the start")
        for _ in tf.range(3):
            interrupt("in a loop")
            x = x * 2.0
        return x

    made: list[tf.Variable] = []

    @tf.function
    def scaled(x: tf.Tensor) -> tf.Tensor:
        if not made:
            made.append(tf.Variable(3.0))
        if x > 0.0:
            return x * made[0]
        return step(-x)

    def handler(*_: object) -> None:
        came.append([tf.executing_eagerly(), float(tf.constant(1.0) + 2.0), float(step(tf.constant(3.0)))])
        came[-1] += [float(scaled(tf.constant(2.0))), float(scaled(tf.constant(-2.0)))]

    earlier = signal.signal(signal.SIGUSR1, handler)
    try:
        assert step(tf.constant(1.0)).numpy() == 8.0
        assert signal.getsignal(signal.SIGUSR1) is handler
    finally:
        signal.signal(signal.SIGUSR1, earlier)
    assert came == [[True, 3.0, 24.0, 6.0, 16.0]] * 2


def test_what_a_handler_raises_ends_the_trace_and_leaves_the_handlers_as_they_were() -> None:
    def handler(*_: object) -> None:
        raise TimeoutError("too long")

    @tf.function
    def endless(x: tf.Tensor) -> tf.Tensor:
        signal.raise_signal(signal.SIGUSR1)
        return x

    earlier = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError, match="too long"):
            endless(tf.constant(1.0))
        assert tf.executing_eagerly()
        assert signal.getsignal(signal.SIGUSR1) is handler
    finally:
        signal.signal(signal.SIGUSR1, earlier)


@pytest.mark.parametrize("make", [lambda x: tf.unstack(x), list], ids=["unstack", "iterated"])
def test_millions_of_tensors_that_are_made_at_once_can_be_interrupted(make: Any) -> None:
    x, making = tf.zeros([3_000_000], tf.int32), [True]

    def stop(*_: object) -> None:
        if making:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        # Again and again: what a handler raises inside a callback of the collector's is lost.
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(KeyboardInterrupt):
            try:
                make(x)
            finally:
                making.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
