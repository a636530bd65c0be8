"""Updates of Variables and draws of random numbers by several threads at once: none gets lost, none is given twice."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.tensor import cell_assign, cell_read
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.plan import AssignCell, HostCall, Operand, Place, PlanSpec, ReadCell, Slot

N_THREADS = 4


@pytest.fixture(autouse=True)
def switch_often() -> Any:
    """Let Python's threads interrupt each other everywhere."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(*work: Callable[[], Any]) -> None:
    """Run the functions on threads of their own; raise what one of them raises."""
    errors: list[BaseException] = []

    def guarded(function: Callable[[], Any]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("n", [1, 100_000])
def test_no_update_gets_lost(tier: str, n: int) -> None:
    count, large = fg.Variable(0), fg.Variable(fg.zeros([n]))

    @fg.function
    def step(x: Any) -> Any:
        count.assign_add(1)
        large.assign_add(x)
        large.assign_sub(x / 2)
        return fg.tanh(x)

    x = fg.ones([n])
    n_calls = 300 if n == 1 else 60

    def in_graphs() -> None:
        for _ in range(n_calls):
            step(x)

    def eagerly() -> None:
        for _ in range(n_calls):
            count.assign_add(1)
            large.assign_add(x)
            large.assign_sub(x / 2)

    with flags.override(tier=tier):
        step(x)
        at_once(*[in_graphs] * N_THREADS, eagerly)
    expected = (N_THREADS + 1) * n_calls + 1
    assert count.numpy() == expected
    np.testing.assert_array_equal(large, np.full(n, expected / 2, np.float32))


DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128")  # fmt: skip


def executor_takes(cell: Any, after: Any, before: Any) -> None:
    """Run a plan that reads the Cell, has it assigned by another what it holds now, and then takes an update."""
    now = cell_read(cell)
    cell_assign(cell, before)
    code, dims = after.dtype.code, tuple(after.shape)
    slots = [
        Slot(Place.CELL, index=0),
        Slot(Place.GIVEN, after.nbytes),
        Slot(Place.CONSTANT, after.nbytes, tensor=after),
    ]

    def meanwhile() -> list[Any]:
        cell_assign(cell, now)
        return []

    steps = [
        ReadCell(cell=0, output=Operand(1, code, dims)),
        HostCall(function=meanwhile, after=(0,)),
        AssignCell(cell=0, value=Operand(2, code, dims), before=1, after=(1,), release=(1,)),
    ]
    Plan(PlanSpec(slots, steps, [Operand(0, code, None)], [])).run([cell])


def body_takes(cell: Any, after: Any, before: Any) -> None:
    """The same by the op's body, as the first tier runs it."""
    fg.core.registry.get("take_variable").body(cell, np.asarray(after), np.asarray(before))


TAKERS = pytest.mark.parametrize("take", [executor_takes, body_takes])


@TAKERS
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_update_that_finds_another_value_adds_its_change(dtype: str, take: Any) -> None:
    v = fg.Variable(fg.cast([5, 6, 7], dtype))  # by now, as another thread has assigned
    take(v.__fg_cell__, fg.cast([11, 22, 33], dtype), fg.cast([1, 2, 3], dtype))
    assert v.numpy().astype("complex128").tolist() == [15, 26, 37]


@TAKERS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_infinities_do_not_become_nan(dtype: str, take: Any) -> None:
    v = fg.Variable(fg.cast([2.0, np.inf, 3.0, -0.5], dtype))
    take(v.__fg_cell__, fg.cast([np.inf, np.inf, 5.0, 0.25], dtype), fg.cast([1.0, np.inf, 2.0, 0.5], dtype))
    assert v.numpy().astype("float64").tolist() == [np.inf, np.inf, 6.0, -0.75]


def test_half_sums_are_rounded_like_numpys() -> None:
    rng = np.random.default_rng(0)
    for dtype, kind in (("float16", np.dtype("float16")), ("bfloat16", np.dtype(ml_dtypes.bfloat16))):
        bits = rng.integers(0, 2**16, (3, 20_000)).astype(np.uint16)
        now, after, before = (fg.constant(row.view(kind)) for row in bits)
        made = []
        for take in (executor_takes, body_takes):
            v = fg.Variable(now)
            take(v.__fg_cell__, after, before)
            made.append(v.numpy().astype("float64"))
        with np.errstate(all="ignore"):
            single = [np.asarray(t).astype("float32") for t in (now, after, before)]
            change = single[1] - single[2]
            expected = np.where(np.isfinite(change), single[0] + change, single[1]).astype(kind).astype("float64")
        np.testing.assert_array_equal(made[0], expected, err_msg=dtype)


@TAKERS
def test_a_variable_of_another_shape_takes_the_value(take: Any) -> None:
    v = fg.Variable([1.0, 2.0], shape=fg.TensorShape(None))
    take(v.__fg_cell__, fg.constant([1.0, 2.0, 3.0]), fg.constant([0.0, 0.0, 0.0]))
    assert v.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize("tier", ["first", "last"])
def test_no_random_number_is_given_twice(tier: str) -> None:
    draw = fg.function(lambda: fg.random.uniform([4]), autograph=False)
    drawn: list[bytes] = []

    def in_graphs() -> None:
        mine = [draw().numpy().tobytes() for _ in range(500)]
        drawn.extend(mine)

    def eagerly() -> None:
        mine = [fg.random.uniform([4]).numpy().tobytes() for _ in range(500)]
        drawn.extend(mine)

    with flags.override(tier=tier):
        draw()
        at_once(*[in_graphs] * N_THREADS, eagerly)
    assert len(set(drawn)) == len(drawn) == 500 * (N_THREADS + 1)


def test_several_threads_come_first_to_the_products() -> None:
    code = (
        "import sys, threading, fastgraph as fg\n"
        "sys.setswitchinterval(1e-6)\n"
        "x = fg.ones([64, 64]); ready = threading.Barrier(8); wrong = []\n"
        "def work():\n"
        "    ready.wait()\n"
        "    try: fg.matmul(x, x)\n"
        "    except BaseException as error: wrong.append(error)\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert not wrong, wrong\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("passes", ["", "all"])
def test_what_was_read_stays_in_another_shape(passes: str) -> None:
    v = fg.Variable([1.0, 2.0])

    @fg.function
    def program() -> Any:
        read = v.assign_add([1.0, 1.0]).read_value()
        column = fg.expand_dims(read, 1)
        v.assign(fg.tanh(read))
        return column

    with flags.override(tier="last", **({"passes": passes} if passes != "all" else {})):
        program.get_concrete_function().wait()
        np.testing.assert_array_equal(program(), [[2.0], [3.0]])
    np.testing.assert_allclose(v.numpy(), np.tanh([2.0, 3.0]), rtol=1e-5)
