"""Summaries: as TensorFlow writes them (recorded), whole whatever happens to the process or the disk, read by TensorBoard."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from tests.oracle import summaries

RECORDED = Path(summaries.__file__).with_name("summaries.tar.xz")


def values(folder: Path) -> list[tuple[int, str, Any]]:
    """(step, tag, value) of all the summaries below a folder, file by file."""
    found = []
    for path in sorted(folder.rglob("events.out.*")):
        for event in tf.compat.v1.train.summary_iterator(path):
            found += [(event.step, each.tag, tf.make_ndarray(each.tensor).tolist()) for each in event.summary.value]
    return found


def test_programs_write_what_they_write_with_tensorflow() -> None:
    pytest.importorskip("PIL")
    assert summaries.differences(summaries.loaded(RECORDED)) == []


def test_the_comparison_finds_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.setattr(summaries, "CASES", {name: summaries.CASES[name] for name in ("texts", "threads")})
    recorded = summaries.loaded(RECORDED)
    kept = {name: recorded[name] for name in ("seen.json", "texts.events", "threads.events")}
    assert summaries.differences(kept) == []
    kept["texts.events"] = kept["texts.events"].replace(b"plain", b"plane")
    assert len(summaries.differences(kept)) == 1


def test_a_scalar_of_unknown_rank_is_checked_when_it_is_there(tmp_path: Path) -> None:
    write = tf.function(lambda x: tf.summary.scalar("x", x, step=0), input_signature=[tf.TensorSpec(None)])
    with tf.summary.create_file_writer(tmp_path).as_default():
        assert write(tf.constant(2.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected scalar shape"):
            write(tf.constant([1.0, 2.0]))
    assert values(tmp_path) == [(0, "x", 2.0)]


def test_compiled_functions_write_in_program_order(tmp_path: Path) -> None:
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train(x: Any) -> Any:
        for _ in tf.range(3):
            step.assign_add(1)
            x = tf.tanh(x) * 2.0
            tf.summary.scalar("x", tf.reduce_sum(x), step=step)
            with tf.summary.record_if(lambda: step % 2 == 0):
                tf.summary.histogram("h", x, step=step, buckets=1)
        return x

    with tf.summary.create_file_writer(tmp_path).as_default():
        for _ in range(20):  # the interpreter first, kernels later
            train(tf.zeros([4]))
    found = [(when, tag) for when, tag, _ in values(tmp_path)]
    assert found == [(n, tag) for n in range(1, 61) for tag in ("while/x", "while/h") if tag == "while/x" or n % 2 == 0]


def test_the_graph_of_a_function_that_writes_is_exported(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(tmp_path).as_default():
        f = tf.function(lambda x: (tf.summary.scalar("x", x, step=0), x * 2.0)[1])
        tf.summary.trace_on()
        f(tf.constant(1.0))
        tf.summary.trace_export("f", step=0)
        names = [node.op for node in f.get_concrete_function(tf.constant(1.0)).graph.as_graph_def().node]
    assert "WriteSummary" in names
    assert {tag for _, tag, _ in values(tmp_path)} == {"x", "f"}


def test_traces_with_the_profiler(tmp_path: Path) -> None:
    f = tf.function(lambda x: x * 2.0)
    with tf.summary.create_file_writer(tmp_path).as_default():
        tf.summary.trace_on(graph=True, profiler=True, profiler_outdir=tmp_path)
        f(tf.constant(1.0))
        tf.summary.trace_export("f", step=0)
    assert list(tmp_path.glob("plugins/profile/*/*.trace.json.gz"))
    assert [tag for _, tag, _ in values(tmp_path)] == ["f"]


KILLED = """
import sys, numpy as np, fastgraph as tf
with tf.summary.create_file_writer(sys.argv[1]).as_default():
    print("ready", flush=True)
    for step in range(10**6):
        tf.summary.scalar("n", step, step=step)
        tf.summary.write("big", np.full([100_000 if step % 5 == 0 else 10], step, np.int32), step=step)
        print(step, flush=True)
"""


def test_what_was_written_outlives_the_process(tmp_path: Path) -> None:
    for i in range(3):
        folder = tmp_path / str(i)
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        time.sleep(0.02 + 0.05 * i)
        child.send_signal(signal.SIGKILL)
        told = child.communicate()[0].split("\n")[:-1]
        last = int(told[-1]) if told else -1
        (path,) = folder.iterdir()
        steps = []
        try:
            for event in tf.compat.v1.train.summary_iterator(path):
                steps += [event.step for _ in event.summary.value]
        except tf.errors.DataLossError as error:
            assert "truncated" in error.message  # the one that was being written
        assert steps == [n // 2 for n in range(len(steps))] and len(steps) >= 2 * (last + 1)


def test_a_full_disk_takes_back_what_is_not_whole(tmp_path: Path) -> None:
    write = tf.function(lambda x: tf.summary.write("x", x, step=1))
    writer = tf.summary.create_file_writer(tmp_path)
    (path,) = tmp_path.iterdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with writer.as_default():
            tf.summary.scalar("before", 1.0, step=0)
            size = path.stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, before[1]))
            for call in (lambda: tf.summary.write("x", np.zeros(4000), step=1), lambda: write(tf.zeros([4000]))):
                with pytest.raises(tf.errors.OutOfRangeError, match="File too large"):
                    call()
                assert path.stat().st_size == size
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            tf.summary.scalar("after", 2.0, step=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert values(tmp_path) == [(0, "before", 1.0), (2, "after", 2.0)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_no_space_is_resource_exhausted(tmp_path: Path) -> None:
    writer: Any = tf.summary.create_file_writer(tmp_path)
    full = os.open("/dev/full", os.O_WRONLY)
    kept, writer._file._file = writer._file._file, full
    try:
        with writer.as_default(), pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            tf.summary.scalar("x", 1.0, step=0)
    finally:
        writer._file._file = kept
        os.close(full)


def test_folders_that_may_not_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        with pytest.raises(tf.errors.OpError, match="/proc"):  # where the superuser may not either
            tf.summary.create_file_writer("/proc/summaries")
        return
    tmp_path.chmod(0o555)
    with pytest.raises(tf.errors.PermissionDeniedError):
        tf.summary.create_file_writer(tmp_path)


def test_a_file_that_is_removed_is_begun_anew(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(tmp_path).as_default():
        tf.summary.scalar("x", 1.0, step=0)
        (path,) = tmp_path.iterdir()
        path.unlink()
        tf.summary.scalar("x", 2.0, step=1)
    assert values(tmp_path) == [(1, "x", 2.0)]


def test_threads_writers_and_forked_children_share_a_folder(tmp_path: Path) -> None:
    one, two = tf.summary.create_file_writer(tmp_path), tf.summary.create_file_writer(tmp_path)

    def write(writer: Any, tag: str) -> None:
        with writer.as_default():
            for step in range(50):
                tf.summary.write(tag, np.full(5000, step), step=step)

    threads = [threading.Thread(target=write, args=(w, t)) for w, t in ((one, "a"), (one, "b"), (two, "c"))]
    child = os.fork()
    if child == 0:
        write(one, "child")
        os._exit(0)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(tmp_path.iterdir())) == 2
    found = values(tmp_path)
    for tag in ("a", "b", "c", "child"):
        assert [(step, value[0]) for step, name, value in found if name == tag] == [(n, n) for n in range(50)]


def test_tensorboard_shows_every_kind(tmp_path: Path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with tf.summary.create_file_writer(tmp_path).as_default(step=1):
        tf.summary.scalar("s", 1.0)
        tf.summary.histogram("h", [1.0, 2.0])
        tf.summary.image("i", np.zeros([1, 2, 3, 3], np.float32))
        tf.summary.audio("a", np.zeros([1, 20, 1], np.float32), 8000)
        tf.summary.text("t", "**bold**")
    found = loader.EventAccumulator(str(tmp_path))
    found.Reload()
    for tag, plugin in zip("shiat", ("scalars", "histograms", "images", "audio", "text"), strict=True):
        assert found.SummaryMetadata(tag).plugin_data.plugin_name == plugin
        assert len(found.Tensors(tag)) == 1
