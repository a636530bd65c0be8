"""Recordings of compiled calls: all steps are there with their threads and sizes, and a recording changes nothing."""

from __future__ import annotations

import gzip
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.graphdef.node_bytes import field, varint
from fastgraph.profiling import recording as recordings
from fastgraph.profiling.xplane import xspace


def warm(function: Any, *arguments: Any) -> None:
    """Call until the kernels are there."""
    with flags.override(tier="last"):
        function(*arguments)


@fg.function(autograph=False)
def step(x: Any, w: Any) -> Any:
    return fg.reduce_sum(fg.tanh(x @ w), axis=1)


X, W = fg.ones([64, 48]), fg.ones([48, 32])


@pytest.mark.slow
def test_every_step_of_every_call() -> None:
    warm(step, X, W)
    with fg.profiler.record() as recording:
        for _ in range(3):
            step(X, W)
    calls = [e for e in recording.events if e.kind == "call"]
    work = [e for e in recording.events if e.kind in ("kernel", "gemm")]
    assert len(calls) == 3 and {e.plan for e in calls} == {"step"}
    assert sum(e.kind == "gemm" for e in work) == 3 and sum(e.kind == "kernel" for e in work) == 3
    for event in work:
        assert any(c.begin <= event.begin <= event.end <= c.end for c in calls)
    (product,) = [row for row in recording.rows() if row.kind == "gemm"]
    assert product.runs == 3
    gemm = next(e for e in work if e.kind == "gemm")
    assert gemm.operations == 2 * 64 * 48 * 32 and gemm.bytes == 4 * (64 * 48 + 48 * 32 + 64 * 32)
    kernel = next(e for e in work if e.kind == "kernel")
    assert kernel.operations == 2 * 64 * 32 and kernel.bytes == 4 * (64 * 32 + 64)
    assert recording.lost == 0


def test_nothing_is_noted_outside_a_recording() -> None:
    warm(step, X, W)
    with fg.profiler.record() as recording:
        pass
    step(X, W)
    assert recording.events == []


def test_the_parts_of_a_step_are_on_several_threads_and_add_up() -> None:
    @fg.function(autograph=False)
    def chain(x: Any) -> Any:
        return fg.exp(fg.tanh(x)) + 1.0

    x = fg.ones([1_000_000])
    warm(chain, x)
    with fg.profiler.record() as recording:
        for _ in range(20):
            chain(x)
    parts = [e for e in recording.events if e.kind == "kernel"]
    assert len(parts) > 20
    assert sum(e.units[1] - e.units[0] for e in parts) == 20 * 1_000_000
    assert sum(e.bytes for e in parts) == pytest.approx(20 * 8_000_000)
    assert sum(e.operations for e in parts) == pytest.approx(20 * 3_000_000)
    assert recording.threads[parts[0].thread]
    (row,) = recording.rows()
    assert row.runs == 20


def test_the_same_bits_with_a_recording() -> None:
    x = fg.constant(np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32))
    warm(step, x, W)
    plain = step(x, W).numpy()
    with fg.profiler.record():
        recorded = step(x, W).numpy()
    assert plain.tobytes() == recorded.tobytes()


def test_loops_branches_and_host_steps() -> None:
    @fg.function
    def loop(x: Any) -> Any:
        i = fg.constant(0)
        while i < 5:
            x = fg.tanh(x)
            i += 1
        if fg.reduce_sum(x) > 0:
            x = x * 2.0
        return fg.strings.as_string(x)

    x = fg.ones([300, 300])  # a loop over few elements is one kernel
    warm(loop, x)
    with fg.profiler.record() as recording:
        loop(x)
    kinds = [e.kind for e in recording.events]
    assert kinds.count("while") == 1 and kinds.count("cond") == 1 and kinds.count("host") == 1
    while_step = next(e for e in recording.events if e.kind == "while")
    inside = [e for e in recording.events if e.kind == "kernel" and while_step.begin <= e.begin <= while_step.end]
    assert len(inside) >= 10  # condition and body, five times


def test_sizes_that_are_data() -> None:
    @fg.function(autograph=False)
    def chosen(x: Any, keep: Any) -> Any:
        return fg.exp(fg.boolean_mask(x, keep)) * 2.0

    x, keep = fg.ones([100]), fg.constant(np.arange(100) % 3 == 0)
    warm(chosen, x, keep)
    with fg.profiler.record() as recording:
        chosen(x, keep)
    kernel = next(e for e in recording.events if e.kind == "kernel" and e.name.startswith("exp"))
    assert kernel.bytes == 8 * 34


def test_a_full_table_loses_only_what_comes_later() -> None:
    warm(step, X, W)
    with fg.profiler.record(capacity=4) as recording:
        for _ in range(10):
            step(X, W)
    assert len(recording.events) == 4 and recording.lost == 26
    assert "26 later events" in recording.table()


def test_one_recording_at_a_time() -> None:
    with fg.profiler.record(), pytest.raises(RuntimeError, match="under way"), fg.profiler.record():
        pass
    with fg.profiler.record():  # the first one ended
        pass


def test_calls_from_several_threads() -> None:
    warm(step, X, W)

    def work() -> None:
        for _ in range(50):
            step(X, W)

    threads = [threading.Thread(target=work, name=f"user {k}") for k in range(3)]
    with fg.profiler.record() as recording:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    calls = [e for e in recording.events if e.kind == "call"]
    assert len(calls) == 150 and len({e.thread for e in calls}) == 3


def test_plans_that_are_gone_when_the_recording_ends() -> None:
    @fg.function(autograph=False)
    def short(x: Any) -> Any:
        return fg.tanh(x) * 3.0

    warm(short, X)
    with fg.profiler.record() as recording:
        short(X)
        del short
    assert "kernel" in {e.kind for e in recording.events}


def test_the_table_names_rates_and_ceilings() -> None:
    warm(step, X, W)
    with fg.profiler.record() as recording:
        step(X, W)
    best = fg.profiler.ceilings()
    assert best.bandwidth > 0.1 and best.operations > 0.1
    text = recording.table(limit=1)
    assert "GB/s copied" in text and "1 more steps" in text and "(step, step" in text


def test_the_timeline_is_chromes_format(tmp_path: Path) -> None:
    warm(step, X, W)
    with fg.profiler.record() as recording:
        step(X, W)
    recording.save(tmp_path / "trace.json")
    recording.save(tmp_path / "trace.json.gz")
    plain = json.loads((tmp_path / "trace.json").read_text())
    assert plain == json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.json", "trace.json.gz"]
    complete = [e for e in plain["traceEvents"] if e["ph"] == "X"]
    named = {e["tid"] for e in plain["traceEvents"] if e["name"] == "thread_name"}
    assert {"name", "cat", "ts", "dur", "pid", "tid", "args"} <= set(complete[0])
    assert {e["tid"] for e in complete} <= named
    gemm = next(e for e in complete if e["cat"] == "gemm")
    assert gemm["args"]["bytes"] and gemm["args"]["operations"] and gemm["dur"] > 0


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with fg.profiler.record() as recording:
        pass
    with pytest.raises(FileNotFoundError):
        recording.save(tmp_path / "absent" / "trace.json")


def test_tensorflows_names(tmp_path: Path) -> None:
    warm(step, X, W)
    profiler = fg.profiler.experimental
    with pytest.raises(fg.errors.UnavailableError, match="No profiler is running"):
        profiler.stop()
    profiler.start(str(tmp_path), options=profiler.ProfilerOptions(host_tracer_level=3))
    with pytest.raises(fg.errors.AlreadyExistsError):
        profiler.start(str(tmp_path))
    with profiler.Trace("train", step_num=7, _r=1):
        step(X, W)
    profiler.stop()
    (trace,) = tmp_path.glob("plugins/profile/*/*.trace.json.gz")
    assert b"/host:CPU" in next(tmp_path.glob("plugins/profile/*/*.xplane.pb")).read_bytes()
    (table,) = tmp_path.glob("plugins/profile/*/*.kernels.txt")
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    mark = next(e for e in events if e["name"] == "train")
    assert mark["args"] == {"step_num": 7}
    call = next(e for e in events if e.get("cat") == "call")
    assert mark["ts"] <= call["ts"] and call["ts"] + call["dur"] <= mark["ts"] + mark["dur"]
    assert "matmul" in table.read_text()


def test_a_profiled_block_that_raises_is_written(tmp_path: Path) -> None:
    with pytest.raises(KeyError), fg.profiler.experimental.Profile(str(tmp_path)):
        raise KeyError("mine")
    assert list(tmp_path.glob("plugins/profile/*/*.trace.json.gz"))
    fg.profiler.experimental.start(str(tmp_path))  # the session of before is over
    fg.profiler.experimental.stop(save=False)


def test_what_json_does_not_have_is_text_in_a_timeline(tmp_path: Path) -> None:
    profiler = fg.profiler.experimental
    profiler.start(str(tmp_path))
    with profiler.Trace("odd", a=float("nan"), b=fg.constant(2), c=b"\xff", d=None, e=0.5):
        pass
    shutil.rmtree(tmp_path / "plugins")  # the folder is made again
    profiler.stop()
    (trace,) = tmp_path.glob("plugins/profile/*/*.trace.json.gz")
    events = json.loads(gzip.decompress(trace.read_bytes()), parse_constant=pytest.fail)["traceEvents"]
    arguments = next(e for e in events if e["name"] == "odd")["args"]
    assert arguments == {"a": "nan", "b": str(fg.constant(2)), "c": "b'\\xff'", "d": None, "e": 0.5}


def test_busy_time_counts_overlaps_once() -> None:
    def event(begin: int, end: int) -> recordings.StepEvent:
        return recordings.StepEvent("x", "kernel", "p", 0, 1, begin, end)

    assert recordings._busy([event(0, 10), event(5, 15), event(20, 30), event(22, 25)]) == 25


def test_a_timeline_as_tensorboards_plugin_reads_it() -> None:
    events = [
        {"ph": "M", "tid": 7, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "X", "tid": 7, "name": "a", "ts": 1.5, "dur": 0.25},
        {"ph": "X", "tid": 8, "name": "b", "ts": 300.0, "dur": 0.0},
        {"ph": "X", "tid": 7, "name": "a", "ts": 2.0, "dur": 1.0},
    ]

    def event(number: int, begin: int, length: int) -> bytes:
        return field(4, varint(8) + varint(number) + varint(16) + varint(begin) + varint(24) + varint(length))

    main = b"\x08\x07" + field(2, b"main") + event(1, 1_500_000, 250_000) + event(1, 2_000_000, 1_000_000)
    other = b"\x08\x08" + field(2, b"thread 8") + event(2, 300_000_000, 0)
    names = [
        b"\x08" + bytes([n]) + field(2, b"\x08" + bytes([n]) + field(2, name)) for n, name in ((1, b"a"), (2, b"b"))
    ]
    plane = (
        b"\x08\x00" + field(2, b"/host:CPU") + field(3, main) + field(3, other) + b"".join(field(4, n) for n in names)
    )
    assert xspace({"traceEvents": events}, "here") == field(1, plane) + field(4, b"here")
