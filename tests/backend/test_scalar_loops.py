"""Loops over a few numbers: one kernel that iterates by itself; all others as before, with the same values."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.library import scalar_loops
from fastgraph.compiler.program.program import KernelStep, Program, WhileStep, programs
from fastgraph.core.base import flags
from fastgraph.runtime.executable import Executable


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with flags.override(tier="last"):
        yield


def _loops(function: Any, *args: Any) -> list[tuple[WhileStep, Program]]:
    """The loops of the compiled function and the Programs of their bodies, the innermost last."""
    concrete = function.get_concrete_function(*args)
    concrete(*args)
    executable = concrete.executable
    assert isinstance(executable, Executable)
    assert executable.program is not None
    steps = [s for program in programs(executable.program) for s in program.steps]
    return [(s, s.body_program) for s in steps if isinstance(s, WhileStep)]


def _is_one_kernel(body: Program) -> bool:
    return len(body.steps) == 1 and isinstance(body.steps[0], KernelStep) and "for k in" in body.steps[0].kernel.source


@fg.function
def counted(n: Any) -> Any:
    total = fg.constant(0)
    for i in fg.range(n):
        total = total * 3 + i
    return total


def _counted(n: int) -> int:
    total = 0
    for i in range(n):
        total = (total * 3 + i) & 0xFFFFFFFF
    return int(np.uint32(total).astype(np.int32))


@pytest.mark.parametrize("n", [0, 1, 2, 7, scalar_loops.BURST, scalar_loops.BURST + 1, 3 * scalar_loops.BURST - 1])
def test_a_staged_for_is_one_kernel(n: int) -> None:
    assert int(counted(fg.constant(n))) == _counted(n)
    ((_, body),) = _loops(counted, fg.constant(n))
    assert _is_one_kernel(body)


def test_values_that_change_places() -> None:
    @fg.function
    def swapped(a: Any, b: Any, n: Any) -> Any:
        i = fg.constant(0)
        while i < n:
            a, b = b, a
            i += 1
        return a, b, i

    assert _is_one_kernel(_loops(swapped, fg.constant(1.5), fg.constant(2.5), fg.constant(3))[0][1])
    for n in range(4):
        want = (1.5, 2.5) if n % 2 == 0 else (2.5, 1.5)
        assert tuple(float(x) for x in swapped(fg.constant(1.5), fg.constant(2.5), fg.constant(n))) == (*want, n)


def test_one_value_for_two_names_and_constants() -> None:
    @fg.function
    def looped(n: Any) -> Any:
        i, a, b, c = fg.constant(0), fg.constant(10.0), fg.constant(20.0), fg.constant(False)
        while i < n:
            a = b = a * 0.75
            c = fg.constant(True)
            i += 1
        return i, a, b, c

    assert _is_one_kernel(_loops(looped, fg.constant(2))[0][1])
    assert [x.numpy().item() for x in looped(fg.constant(0))] == [0, 10.0, 20.0, False]
    assert [x.numpy().item() for x in looped(fg.constant(2))] == [2, 5.625, 5.625, True]


def test_conditions_become_selections() -> None:
    @fg.function
    def collatz(n: Any) -> Any:
        steps = fg.constant(0)
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    assert _is_one_kernel(_loops(collatz, fg.constant(97))[0][1])
    assert int(collatz(fg.constant(97))) == 118
    assert int(collatz(fg.constant(837799, fg.int64))) == 524


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "float32", "float64"])
def test_arithmetic_is_that_of_the_dtype(dtype: str) -> None:
    def looped(x: Any, n: Any) -> Any:
        i = fg.constant(0)
        while i < n:
            x = x * 3 + 1
            i += 1
        return x

    staged, x = fg.function(looped), fg.constant(7, dtype)
    assert _is_one_kernel(_loops(staged, x, fg.constant(9))[0][1])
    want = np.array(7, dtype)
    for _ in range(9):
        want = want * np.array(3, dtype) + np.array(1, dtype)
    assert staged(x, fg.constant(9)).numpy() == want


def test_break_and_continue() -> None:
    def looped(n: Any) -> Any:
        total = fg.constant(0)
        for i in fg.range(n):
            if i % 3 == 0:
                continue
            if i > 10:
                break
            total += i
        return total

    staged = fg.function(looped)
    for n in (0, 5, 100):
        assert int(staged(fg.constant(n))) == sum(i for i in range(min(n, 11)) if i % 3)


def test_a_number_from_outside_the_loop() -> None:
    scale = fg.constant(0.3)

    @fg.function
    def decayed(x: Any, rate: Any) -> Any:
        while x > rate:
            x = x * scale
        return x

    assert _is_one_kernel(_loops(decayed, fg.constant(8.0), fg.constant(0.5))[0][1])
    want = np.float32(8.0)
    while want > np.float32(0.5):
        want = want * np.float32(0.3)
    assert decayed(fg.constant(8.0), fg.constant(0.5)).numpy() == want


def test_gradients() -> None:
    @fg.function
    def powers(x: Any, n: Any) -> Any:
        y, i = fg.constant(1.0), fg.constant(0)
        while i < n:
            y = y * x
            i += 1
        return y

    x = fg.constant(2.0)
    with fg.GradientTape() as outer:
        outer.watch(x)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = powers(x, fg.constant(5))
        first = tape.gradient(y, x)
    assert (float(y), float(first), float(outer.gradient(first, x))) == (32.0, 80.0, 160.0)


def test_what_might_fail_is_told_as_before() -> None:
    @fg.function
    def divided(a: Any, b: Any) -> Any:
        while a > 0:
            a = a // b - 1
            b = b - 1
        return a

    assert not _is_one_kernel(_loops(divided, fg.constant(0), fg.constant(2))[0][1])
    with pytest.raises(fg.errors.InvalidArgumentError, match="division by zero"):
        divided(fg.constant(100), fg.constant(1))


@pytest.mark.parametrize("start", [fg.ones([3]), fg.constant(1.0, fg.float16)], ids=["vector", "half"])
def test_what_is_not_a_few_numbers_is_run_as_before(start: Any) -> None:
    @fg.function
    def halved(x: Any) -> Any:
        i = fg.constant(0)
        while i < 3:
            x = x * 0.5
            i += 1
        return x

    assert not _is_one_kernel(_loops(halved, start)[0][1])
    np.testing.assert_array_equal(halved(start).numpy(), start.numpy() / 8)


def test_effects_keep_their_place() -> None:
    count = fg.Variable(0)

    @fg.function
    def looped(n: Any) -> Any:
        i = fg.constant(0)
        while i < n:
            count.assign_add(2)
            i += 1
        return i

    assert int(looped(fg.constant(5))) == 5
    assert int(count) == 10


def test_an_interrupt_ends_a_loop_without_end() -> None:
    @fg.function
    def endless(x: Any) -> Any:
        while x != 0.5:
            x = 1.0 - x
        return x

    assert _is_one_kernel(_loops(endless, fg.constant(0.5))[0][1])
    assert float(endless(fg.constant(0.5))) == 0.5
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless(fg.constant(1.0))
    assert time.perf_counter() - sent[0] < 3.0  # 0.06 s on a quiet machine
    timer.join()
    assert float(endless(fg.constant(0.5))) == 0.5


def _drawn(seed: int) -> Any:
    """A loop over three numbers whose body is drawn at random."""
    rng = np.random.default_rng(seed)
    steps = [(int(rng.integers(6)), *map(int, rng.integers(0, 3, 3))) for _ in range(int(rng.integers(3, 9)))]

    def body(i: Any, a: Any, b: Any, c: Any) -> Any:
        state = [a, b, c]
        for kind, target, p, q in steps:
            x, y = state[p], fg.cast(state[q], state[p].dtype)
            if kind == 0:
                z = x + y
            elif kind == 1:
                z = fg.cond(x < y, lambda x=x: x * 2, lambda y=y: y - 1)  # type: ignore[misc]
            elif kind == 2:
                z = fg.maximum(x, y) - fg.minimum(x, y) // 3
            elif kind == 3:
                z = fg.where(fg.cast(i % 2, fg.bool), x, y)
            elif kind == 4:
                z = fg.cast(x < y, x.dtype) + x
            else:
                z = x * 3 % 17
            state[target] = fg.cast(z, state[target].dtype)
        return (i + 1, *state)

    @fg.function
    def looped(n: Any, a: Any, b: Any, c: Any) -> Any:
        return fg.while_loop(lambda i, *_: i < n, body, [fg.constant(0), a, b, c])

    return looped


@pytest.mark.parametrize("seed", range(12))
def test_any_loop_gives_what_its_ops_give(seed: int) -> None:
    looped = _drawn(seed)
    args = fg.constant(9), fg.constant(5), fg.constant(2.5, fg.float64), fg.constant(-3, fg.int64)
    assert _is_one_kernel(_loops(looped, *args)[0][1])
    got = [x.numpy() for x in looped(*args)]
    with flags.override(tier="first"):
        want = [x.numpy() for x in looped(*args)]
    np.testing.assert_array_equal(got, want)
