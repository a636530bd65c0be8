"""What more cores give, simulated: plans of a few steps whose times one can add up by hand, and a recording."""

from __future__ import annotations

import pytest

pytest.importorskip("benchmarks.run", reason="the benchmarks lie beside the tests in a checkout")
import fastgraph as tf
from benchmarks.cores import HANDOVER, WAKE, Contention, Run, Shard, Step, recorded, simulate
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool import num_threads, set_num_threads
from fastgraph.profiling.recording import with_inner_plans
from fastgraph.runtime import executor

ALONE = Contention()
MS = 1e6


def step(*shards: float, after: tuple[int, ...] = (), pinned: bool = False) -> Step:
    return Step([Shard(each) for each in shards], after, pinned)


def test_a_chain_is_as_long_on_many_threads() -> None:
    chain = Run([step(MS), step(2 * MS, after=(0,)), step(MS, after=(1,))], parallel=True)
    assert simulate(chain, 1, ALONE) == 4 * MS
    assert simulate(chain, 8, ALONE) == pytest.approx(4 * MS, abs=3 * HANDOVER + 1)


def test_independent_steps_share_threads_once_these_are_awake() -> None:
    apart = Run([step(MS) for _ in range(4)], parallel=True)
    assert simulate(apart, 2, ALONE) == pytest.approx(2 * MS + WAKE, abs=4 * HANDOVER)
    assert simulate(apart, 64, ALONE) == pytest.approx(MS + WAKE, abs=4 * HANDOVER)
    assert simulate(Run(apart.steps, parallel=False), 64, ALONE) == 4 * MS


def test_shards_are_shared_and_what_follows_waits_for_all() -> None:
    run = Run([step(*[MS] * 8), step(MS, after=(0,))], parallel=True)
    assert simulate(run, 4, ALONE) == pytest.approx(3 * MS + WAKE, abs=20 * HANDOVER)


def test_python_stays_on_the_thread_that_calls() -> None:
    run = Run([step(MS, pinned=True), step(MS, pinned=True), step(MS)], parallel=True)
    assert simulate(run, 8, ALONE) == pytest.approx(2 * MS, abs=4 * HANDOVER)


def test_little_work_wakes_nobody() -> None:
    run = Run([step(1000.0), step(1000.0)], parallel=True)
    assert simulate(run, 8, ALONE) == pytest.approx(2000.0 + 2 * HANDOVER)


def test_threads_at_once_slow_each_other_down() -> None:
    streams = Run([Step([Shard(MS, 1.0), Shard(MS, 1.0)])], parallel=True)
    slower = Contention(computing=1.0, streaming=2.0)
    assert simulate(streams, 1, slower) == 2 * MS
    assert simulate(streams, 2, slower) > simulate(streams, 2, ALONE) + 0.9 * MS


def test_a_recording_of_one_thread_takes_as_long_again() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = tf.matmul(x, x)
        for _ in tf.range(3):
            y = tf.sort(tf.tanh(tf.matmul(y, x)), axis=-1)
        return tf.reduce_sum(y)

    x = tf.ones([60, 60])
    with flags.override(tier="last", threads=1):
        f(x)
        executor.start_recording(10_000)
        for _ in range(4):
            f(x)
        events, plans, lost = executor.stop_recording()
    calls = recorded(events, plans, bandwidth=10.0)
    whole = [end - begin for begin, end, *_, number, _ in events.tolist() if number == -1]
    assert lost == 0 and len(calls) == 4
    for (run, outside), taken in zip(calls, whole, strict=True):
        assert simulate(run, 1, ALONE) + outside == pytest.approx(taken, rel=1e-6)
        assert 0 <= outside < taken
        (loop,) = [each for each in run.steps if each.inner]
        assert (
            len(loop.inner) >= 3
        )  # a body an iteration; the conditions are too short to be seen, or runs of their own


def test_parts_of_a_product_move_its_bytes_once() -> None:
    @tf.function
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, y)

    x, y = tf.ones([1024, 256]), tf.ones([256, 1024])
    before = num_threads()
    set_num_threads(1)
    try:
        with flags.override(tier="last"):
            f(x, y)
            executor.start_recording(1000)
            f(x, y)
            events, plans, _ = executor.stop_recording()
    finally:
        set_num_threads(before)
    ((run, _),) = recorded(events, plans, bandwidth=1e6)
    (product,) = [each for each in run.steps if each.shards[0].alone]
    assert len(product.shards) > 1
    moved = 1e6 * sum(shard.alone * shard.streaming for shard in product.shards)
    assert moved == pytest.approx(4 * (2 * 1024 * 256 + 1024**2), rel=1e-3)


def test_a_recording_knows_the_plans_of_many_rounds_at_once() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(300):
            x = tf.tanh(tf.linalg.matvec(tf.ones([2, 2]), x)) + 0.5
        return x

    x = tf.ones([2])
    with flags.override(tier="last", threads=1):
        f(x)
        executor.start_recording(10_000)
        f(x)
        events, plans, _ = executor.stop_recording()
    known: dict[int, executor.Plan] = {}
    for plan in plans.values():
        with_inner_plans(plan, known)
    assert set(events["plan"].tolist()) <= set(known)
    assert any(getattr(step, "burst_plan", None) is not None for plan in known.values() for step in plan.spec.steps)
