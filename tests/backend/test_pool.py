"""Threads: real overlap, the same bits for any number of them, forks, interrupts, exceptions, contention."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator

import native_kernels as native
import numpy as np
import pytest
from native_kernels import Builder

from fastgraph import errors
from fastgraph.core.native.buffer import pool_statistics
from fastgraph.core.native.thread_pool import (
    alive_threads,
    is_crowded,
    num_threads,
    set_crowded,
    set_num_threads,
    sleeping_threads,
)
from fastgraph.core.tensor import as_array, from_array
from fastgraph.runtime import executor
from fastgraph.runtime.plan import Branch, GemmCall, HostCall, Loop, Place


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """Each test begins with two threads and cores for both, and leaves as many as it found."""
    before = num_threads()
    set_num_threads(2)
    set_crowded(0)
    yield
    set_num_threads(before)
    set_crowded(0)


def flags_tensor() -> tuple[object, np.ndarray]:
    """An int64[8] tensor that kernels write to, against the rules, and a view of it."""
    flags = from_array(np.zeros(8, np.int64))
    return flags, as_array(flags)


def meeting_plan(pairs: list[tuple[int, int]], parallel: bool = True, cost: float = 1e7) -> object:
    """Independent steps; each sets its flag and waits for the other's."""
    b = Builder(parallel=parallel, cost=1e9)
    flags = b.input((8,), "int64")
    for me, other in pairs:
        out = b.block((1,))
        b.kernel(native.meet(), (flags,), (out,), sizes=(me, other, 0), cost=cost)
        b.output(out)
    return b.plan()


def met(outputs: list) -> list[float]:
    return [float(as_array(t)[0]) for t in outputs]


def test_two_independent_steps_overlap() -> None:
    plan = meeting_plan([(0, 1), (1, 0)])
    for _ in range(20):
        assert met(plan.run([flags_tensor()[0]])) == [1, 1]


def test_two_python_threads_inside_two_calls_overlap() -> None:
    """Only calls that give the GIL away can both see the other's flag. Neither plan uses the pool."""
    set_num_threads(1)
    first, second = meeting_plan([(0, 1)], parallel=False), meeting_plan([(1, 0)], parallel=False)
    flags, _ = flags_tensor()
    results: dict[int, list[float]] = {}
    threads = [
        threading.Thread(target=lambda k=k, plan=plan: results.update({k: met(plan.run([flags]))}))
        for k, plan in enumerate((first, second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: [1], 1: [1]}


def test_two_calls_of_one_plan_overlap() -> None:
    """Each call has a frame of its own: two threads run one plan, and each call's step 0 waits for the other's."""
    b = Builder(cost=1e9)
    flags, turn, out = b.input((8,), "int64"), b.input((8,), "int64"), b.block((1,))
    b.kernel(native.meet_by(), (flags, turn), (out,), cost=1e7)
    b.output(out)
    plan = b.plan()
    flags, _ = flags_tensor()
    turns = [from_array(np.array([me, 1 - me, 0, 0, 0, 0, 0, 0])) for me in (0, 1)]
    results: dict[int, list[float]] = {}
    threads = [
        threading.Thread(target=lambda me=me: results.update({me: met(plan.run([flags, turns[me]]))})) for me in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: [1], 1: [1]}


def unequal_plan(own: int, others: int) -> executor.Plan:
    """Four short shards that sleep for so many microseconds on the thread that calls, and on another one."""
    b = Builder(parallel=True, cost=1e6)
    out = b.block((4,))
    b.kernel(native.sleep(), (), (out,), sizes=(native.pthread_self(), own, others), extent=4, chunk=1, cost=1e6)
    b.output(out)
    return b.plan()


def test_what_threads_slow_down_one_runs_until_they_gain() -> None:
    """Both ways are tried: what a helper does worse is left to the thread that calls; what two do sooner is not."""
    slower, sooner = unequal_plan(100, 20_000), unequal_plan(2000, 2000)
    runs = 0
    while not slower.alone and runs < 2000:
        slower.run([])
        runs += 1
    assert slower.alone
    assert runs > 32
    for _ in range(100):
        sooner.run([])
    assert not sooner.alone


def test_shards_of_one_step_overlap() -> None:
    """Shard k sets flag k and waits for the other's."""
    b = Builder(parallel=True, cost=1e9)
    flags, out = b.input((8,), "int64"), b.block((2,))
    b.kernel(native.meet_in_shards(), (flags,), (out,), extent=2, chunk=1, cost=1e7)
    b.output(out)
    (r,) = b.plan().run([flags_tensor()[0]])
    assert as_array(r).tolist() == [1, 1]


def test_steps_of_a_nested_plan_overlap_and_a_nested_call_needs_no_free_worker() -> None:
    """Two branches run side by side; inside each, two steps must meet. Four parties need four threads; with two
    threads each branch's steps meet one after the other only if callers help their own plans first."""
    inner = meeting_plan([(0, 1), (1, 0)])
    set_num_threads(4)
    b = Builder(parallel=True, cost=1e9)
    p = b.input((), "bool")
    f1, f2 = b.input((8,), "int64"), b.input((8,), "int64")
    for flags in (f1, f2):
        outs = (b.given((1,)), b.given((1,)))
        step = Branch(
            predicate=p,
            then_plan=inner,
            else_plan=inner,
            inputs=(flags,),
            outputs=tuple(b.operand(out) for out in outs),
            cost=1e7,
        )
        b.step(step, (p, flags), outs)
        for out in outs:
            b.output(out)
    plan = b.plan()
    for _ in range(10):
        assert met(plan.run([from_array(np.array(True)), flags_tensor()[0], flags_tensor()[0]])) == [1] * 4


def test_a_call_inside_a_host_step_progresses_with_one_thread() -> None:
    set_num_threads(1)
    inner = large_plan()
    x = from_array(np.linspace(0, 1, 100_000, dtype=np.float32))

    def function(t):
        return inner.run([x])

    b = Builder(parallel=True, cost=1e9)
    i, out = b.input((1,)), b.given((100_000,))
    b.step(HostCall(operands=(b.operand(i),), outputs=(b.operand(out),), function=function), (i,), (out,))
    b.output(out)
    (r,) = b.plan().run([from_array(np.zeros(1, np.float32))])
    np.testing.assert_array_equal(as_array(r), as_array(inner.run([x])[0]))


def large_plan(n: int = 100_000) -> object:
    """Sharded kernels, two products along M and N, and independent chains, all joined at the end."""
    b = Builder(parallel=True, cost=1e9)
    x = b.input((n,))
    side = 256
    parts = []
    for k in range(4):
        y = b.arena((n,))
        b.kernel(native.add(), (x, x), (y,), chunk=4096, cost=1e5)
        for _ in range(k):
            z = b.arena((n,))
            b.kernel(native.multiply_add(), (y, x, y), (z,), chunk=4096, cost=1e5)
            y = z
        product = b.arena((n,))
        step = GemmCall(a=y, b=x, c=product, m=side, n=side, k=side, along_n=bool(k % 2), pieces=4, cost=1e6)
        b.step(step, (y, x), (product,))
        total = b.arena((n,))
        b.kernel(native.add(), (y, y), (total,), chunk=4096, cost=1e5)
        b.kernel(
            native.add(),
            (product, y),
            (total,),
            extent=side * side,
            chunk=4096,
            cost=1e5,
            after=(len(b.spec.steps) - 1,),
        )
        parts.append(total)
    out = parts[0]
    for part in parts[1:]:
        joined = b.arena((n,)) if part is not parts[-1] else b.block((n,))
        b.kernel(native.add(), (out, part), (joined,), chunk=4096, cost=1e5)
        out = joined
    b.output(out)
    return b.plan()


def sleeping_plan(microseconds: int) -> object:
    """Two steps that meet; then the second one, which is a helper's, sleeps."""
    b = Builder(parallel=True, cost=1e9)
    flags = b.input((8,), "int64")
    for me, nap in ((0, 0), (1, microseconds)):
        out = b.block((1,))
        b.kernel(native.meet(), (flags,), (out,), sizes=(me, 1 - me, nap), cost=2e7 - me)
        b.output(out)
    return b.plan()


def test_a_wait_for_a_helper_without_a_core_is_noted() -> None:
    """The process computes nothing while its thread waits: so it is when other programs have the helper's core."""
    assert met(sleeping_plan(0).run([flags_tensor()[0]])) == [1, 1]
    set_crowded(0)
    assert met(sleeping_plan(20_000).run([flags_tensor()[0]])) == [1, 1]
    assert is_crowded()


@pytest.mark.parametrize("cost", [1e3, 1e6])
def test_a_helper_is_called_for_ready_work_not_for_what_comes_after_it(cost: float) -> None:
    """Two steps of `cost` before a long one: the second is a helper's only if it pays."""
    b = Builder(parallel=True, cost=1e9)
    flags = b.input((8,), "int64")
    naps = [b.arena((1,)) for _ in range(2)]
    for me, nap in enumerate(naps):
        b.kernel(native.meet(), (flags,), (nap,), sizes=(me, me, 3000), cost=cost)
    out = b.block((1,))
    b.kernel(native.add(), naps, (out,), cost=1e8)
    b.output(out)
    plan, argument = b.plan(), flags_tensor()[0]
    executor.start_recording(100)
    plan.run([argument])
    events, _, _ = executor.stop_recording()
    assert len(set(events[np.isin(events["step"], (0, 1))]["thread"])) == (1 if cost < 1e4 else 2)


def test_where_cores_are_crowded_helpers_come_for_long_steps_only() -> None:
    """Short steps run on the thread that calls, one after another, with the same bits; long ones still overlap."""
    b = Builder(parallel=True, cost=1e9)
    x, long, out = b.input((8192,)), b.arena((8192,)), b.block((8192,))
    for k in range(8):
        b.kernel(native.add(), (x, x), (b.arena((8192,)),), chunk=1024, cost=1e5, name=f"short{k}")
    b.kernel(native.add(), (x, x), (long,), chunk=1024, cost=1e7)
    b.kernel(native.add(), (long, x), (out,), chunk=1024, cost=1e5)
    b.output(out)
    plan, argument = b.plan(), from_array(np.arange(8192, dtype=np.float32))
    expected = as_array(plan.run([argument])[0]).tobytes()
    set_crowded(60)
    executor.start_recording(1000)
    assert as_array(plan.run([argument])[0]).tobytes() == expected
    events, _, _ = executor.stop_recording()
    short = events[(events["step"] >= 0) & (events["step"] < 8)]
    assert len(short) == 64
    assert set(short["thread"]) == {executor.thread_id()}
    assert met(meeting_plan([(0, 1), (1, 0)]).run([flags_tensor()[0]])) == [1, 1]


def bound_threads() -> list[int]:
    """Threads of this process that may be on one core only."""
    threads = [int(thread) for thread in os.listdir("/proc/self/task")]
    return [thread for thread in threads if len(os.sched_getaffinity(thread)) == 1]


def new_helpers(threads: int) -> None:
    """End the pool's threads and let others, never bound before, come in their place."""
    set_num_threads(1)
    while alive_threads():
        time.sleep(0.001)
    set_num_threads(threads)


SEVERAL_CORES = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core"
)


@SEVERAL_CORES
def test_where_cores_are_crowded_one_helper_comes_to_the_core_of_the_caller() -> None:
    """A plan of short steps has one helper, on the caller's core; once nobody else wants cores, it may be anywhere."""
    new_helpers(4)
    before = bound_threads()
    plan = meeting_plan([(0, 1), (1, 0)], cost=1e6)
    set_crowded(60)
    assert met(plan.run([flags_tensor()[0]])) == [1, 1]
    assert len(bound_threads()) == len(before) + 1
    set_crowded(0)
    for _ in range(100):  # until it is that one who comes
        assert met(plan.run([flags_tensor()[0]])) == [1, 1]
        if bound_threads() == before:
            break
    assert bound_threads() == before


@SEVERAL_CORES
def test_where_cores_are_crowded_no_second_helper_comes_to_that_core() -> None:
    """Each step that begins looks for helpers for the others: nobody is called where one is at work already."""
    new_helpers(4)
    b = Builder(parallel=True, cost=1e9)
    flags = b.input((8,), "int64")
    for me in range(8):
        out = b.block((1,))
        b.kernel(native.meet(), (flags,), (out,), sizes=(me, me, 2000), cost=1e6)
        b.output(out)
    plan = b.plan()
    set_crowded(60)
    executor.start_recording(1000)
    plan.run([flags_tensor()[0]])
    events, _, _ = executor.stop_recording()
    steps = events[events["step"] >= 0]
    assert max(sum((steps["begin"] <= t) & (t < steps["end"])) for t in steps["begin"]) == 2


@SEVERAL_CORES
def test_a_helper_stays_where_somebody_else_bound_it() -> None:
    """`taskset -a` while cores are crowded holds for helpers on the caller's core too, once they leave it."""
    new_helpers(2)
    before = bound_threads()
    plan = meeting_plan([(0, 1), (1, 0)], cost=1e6)
    set_crowded(60)
    assert met(plan.run([flags_tensor()[0]])) == [1, 1]
    (helper,) = set(bound_threads()) - set(before)
    other = os.sched_getaffinity(0) - os.sched_getaffinity(helper)
    os.sched_setaffinity(helper, {min(other)})
    set_crowded(0)
    assert met(plan.run([flags_tensor()[0]])) == [1, 1]
    assert os.sched_getaffinity(helper) == {min(other)}
    new_helpers(2)


def test_results_are_bit_identical_for_any_number_of_threads() -> None:
    plan = large_plan()
    x = from_array(np.random.default_rng(0).normal(size=100_000).astype(np.float32))
    results = []
    for threads in (1, 2, 8, 3, 1):
        set_num_threads(threads)
        for _ in range(3):
            results.append(as_array(plan.run([x])[0]).tobytes())
    assert len(set(results)) == 1


def test_stress() -> None:
    """Six Python threads call one plan with eight pool threads; every result is right, and nothing is left behind."""
    set_num_threads(8)
    plan = large_plan()
    rng = np.random.default_rng(1)
    arguments = [from_array(rng.normal(size=100_000).astype(np.float32)) for _ in range(6)]
    expected = [as_array(plan.run([x])[0]).tobytes() for x in arguments]
    before = pool_statistics()["live_blocks"]
    wrong = []

    def work(k: int) -> None:
        for _ in range(25):
            if as_array(plan.run([arguments[k]])[0]).tobytes() != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert pool_statistics()["live_blocks"] == before


def test_many_small_steps_under_contention() -> None:
    """A thousand cheap steps in random order on eight threads: each is the sum of two earlier ones, exactly."""
    set_num_threads(8)
    rng = np.random.default_rng(2)
    b = Builder(parallel=True, cost=1e9)
    slots = [b.input((16,))]
    expected = [np.arange(16, dtype=np.float32)]
    for _ in range(1000):
        i, j = (int(k) for k in rng.integers(max(0, len(slots) - 30), len(slots), 2))
        slot = b.arena((16,))
        b.kernel(native.mean(), (slots[i], slots[j]), (slot,), cost=1e4)
        slots.append(slot)
        expected.append((expected[i] + expected[j]) * np.float32(0.5))
    out = b.block((16,))
    b.kernel(native.add(), (slots[-1], slots[-2]), (out,))
    b.output(out)
    plan = b.plan()
    for _ in range(30):
        (r,) = plan.run([from_array(expected[0])])
        np.testing.assert_array_equal(as_array(r), expected[-1] + expected[-2])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_failure_in_program_order_wins_whatever_the_timing(threads: int) -> None:
    set_num_threads(threads)
    b = Builder(parallel=True, cost=1e9)
    x = b.input((64,))
    for k in range(12):
        out = b.block((64,))
        b.kernel(native.check_positive(), (x,), (out,), sizes=(k,), chunk=4, name=f"step{k}", cost=1e5)
        b.output(out)
    plan = b.plan()
    values = np.ones(64, np.float32)
    values[37:] = -1
    before = pool_statistics()["live_blocks"]
    for _ in range(50):
        with pytest.raises(errors.InternalError, match=r"'step0': check 0 failed at position 37"):
            plan.run([from_array(values)])
    assert pool_statistics()["live_blocks"] <= before + 1


def test_workers_sleep_when_idle() -> None:
    set_num_threads(4)
    plan = large_plan()
    plan.run([from_array(np.zeros(100_000, np.float32))])
    deadline = time.monotonic() + 20
    while sleeping_threads() < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive_threads() == sleeping_threads() == 3
    assert min(_cpu_seconds_asleep() for _ in range(5)) < 0.05  # others of this process may be at work for a while


def _cpu_seconds_asleep() -> float:
    begin = time.process_time()
    time.sleep(0.3)
    return time.process_time() - begin


def test_the_number_of_threads_can_change() -> None:
    plan = large_plan()
    x = from_array(np.zeros(100_000, np.float32))
    for threads in (4, 1, 3):
        set_num_threads(threads)
        plan.run([x])
        deadline = time.monotonic() + 5
        while alive_threads() != threads - 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert alive_threads() == threads - 1
        assert num_threads() == threads
    with pytest.raises(ValueError, match="number of threads"):
        set_num_threads(0)


def test_a_forked_child_has_a_pool_of_its_own() -> None:
    plan = large_plan()
    x = from_array(np.linspace(0, 1, 100_000, dtype=np.float32))
    expected = as_array(plan.run([x])[0]).tobytes()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            same = as_array(plan.run([x])[0]).tobytes() == expected
            overlap = met(meeting_plan([(0, 1), (1, 0)]).run([flags_tensor()[0]])) == [1, 1]
            status = 0 if same and overlap else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    assert as_array(plan.run([x])[0]).tobytes() == expected  # and the parent goes on


def endless_loop() -> object:
    c = Builder()
    x, yes = c.input((1,)), c.slot(Place.CONSTANT, (), "bool", tensor=from_array(np.array(True)))
    del x
    c.output(yes)
    b = Builder()
    x, out = b.input((1,)), b.block((1,))
    b.kernel(native.increment(), (x,), (out,), in_place=True, copies=((x, out, 4),))
    b.output(out)
    o = Builder(cost=1e9)
    x, out = o.input((1,)), o.given((1,))
    step = Loop(cond_plan=c.plan(), body_plan=b.plan(), n_carried=1, inputs=(x,), outputs=(o.operand(out),))
    o.step(step, (x,), (out,))
    o.output(out)
    return o.plan()


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_an_interrupt_ends_an_endless_loop() -> None:
    plan = endless_loop()
    before = pool_statistics()["live_blocks"]
    for _ in range(3):
        timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT))
        begin = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            plan.run([from_array(np.zeros(1, np.float32))])
        timer.join()
        assert time.monotonic() - begin < 5
    assert pool_statistics()["live_blocks"] <= before + 1


def test_an_interrupt_ends_a_wait_for_a_worker() -> None:
    """Both the caller's own steps and those on workers end; the loops run on both threads."""
    loop = endless_loop()
    b = Builder(parallel=True, cost=1e9)
    x, p = b.input((1,)), b.input((), "bool")
    for _ in range(2):
        out = b.given((1,))
        step = Branch(predicate=p, then_plan=loop, else_plan=loop, inputs=(x,), outputs=(b.operand(out),), cost=1e7)
        b.step(step, (p, x), (out,))
        b.output(out)
    plan = b.plan()
    timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        plan.run([from_array(np.zeros(1, np.float32)), from_array(np.array(True))])
    timer.join()
    assert time.monotonic() - begin < 5


@pytest.mark.slow
def test_exit_while_the_pool_is_in_use() -> None:
    """A process whose daemon thread is inside a call ends, at once and with the right status."""
    script = textwrap.dedent(
        """
        import sys, threading, time
        sys.path[:0] = sys.argv[1:]
        import numpy as np
        from test_pool import endless_loop, large_plan
        from fastgraph.core.native.thread_pool import set_num_threads
        from fastgraph.core.tensor import from_array
        set_num_threads(4)
        large_plan().run([from_array(np.zeros(100_000, np.float32))])
        loop = endless_loop()
        threading.Thread(target=lambda: loop.run([from_array(np.zeros(1, np.float32))]), daemon=True).start()
        time.sleep(0.2)
        print("done")
        """
    )
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    result = subprocess.run(
        [sys.executable, "-c", script, here, root], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
