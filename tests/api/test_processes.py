"""MultiWorkerMirroredStrategy: processes that MPI starts."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core import devices
from tests.api import distributed_programs as programs

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="mpi4py and mpiexec are not installed"
)


def started(text: list[str], size: int = 2, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments in processes, whose lines are not mixed: each writes all at once, in the end."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [str(MPIEXEC), "-n", str(size), sys.executable, *text],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONUNBUFFERED": "", "PYTHONPATH": path, **environment},
    )  # fmt: skip


def check_beside_devices(folder: Path, *names: str) -> None:
    """Check that programs give in two processes what they give on two parts of the CPU."""
    found = started(["-m", "tests.api.distributed_programs", "fastgraph", f"mpi={folder}", *names])
    assert found.returncode == 0, found.stderr
    ranks = [json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()]
    assert len(ranks) == 2 and ranks[0] == ranks[1]
    devices.divide([devices.LogicalDeviceConfiguration()] * 2)
    try:
        for name in names:
            here = getattr(programs, name)(fg, programs.TWO)
            np.testing.assert_allclose(ranks[0][name], here, rtol=2e-5, atol=2e-6)
    finally:
        devices.divide(None)


@needs_mpi
@pytest.mark.slow
def test_two_processes_give_what_two_devices_give(tmp_path: Path) -> None:
    check_beside_devices(tmp_path, "custom_loop", "worker_loop", "fit_normalised")


PROGRAM = """
import fastgraph as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id
with strategy.scope():
    v = tf.Variable(tf.random.uniform([2]) + rank)
    total = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)
    mean = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
def step():
    context = tf.distribute.get_replica_context()
    i = tf.cast(context.replica_id_in_sync_group, tf.float32)
    total.assign_add(i + 1.0)
    mean.assign(i)
    with tf.GradientTape() as tape:
        tape.watch(i)
        y = context.all_reduce("MEAN", i * [1.0, 2.0])[1] + tf.reduce_sum(context.all_gather(tf.reshape(i, [1]), 0))
    assert context.num_replicas_in_sync == 2
    return i, y, tape.gradient(y, i)
for run in (step, tf.function(step)):
    i, y, gradient = strategy.run(run)
    assert [float(each.values[0]) for each in (i, y, gradient)] == [rank, 2.0, 4.0], (i, y, gradient)
    assert float(mean) == 0.5
assert float(total) == 6.0 and float(strategy.reduce("SUM", i, axis=None)) == 1.0
assert strategy.gather(strategy.run(lambda: tf.ones([rank + 1])), 0).shape[0] == 3
rows = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce(
    "SUM", tf.IndexedSlices(tf.ones([1, 1]), tf.constant([rank]), [3, 1])))
assert tf.convert_to_tensor(rows).numpy().ravel().tolist() == [1.0, 1.0, 0.0]
same = strategy.gather(strategy.run(lambda: v[None]), 0).numpy()
assert (same[0] == same[1]).all(), same
assert strategy.cluster_resolver.cluster_spec().num_tasks("worker") == 2
assert strategy.extended.should_checkpoint is (rank == 0)
for way, whole in ("MEAN", 1.5), ("SUM", 3.0):  # numbers and tensors of programs differ too
    with strategy.scope():
        each = tf.Variable(0.0, aggregation=getattr(tf.VariableAggregation, way))
    strategy.run(lambda: each.assign_add(rank + 1.0))
    found = [each, *[strategy.reduce(way, value, axis=None) for value in (rank + 1.0, tf.constant(rank + 1.0))]]
    assert [float(value) for value in found] == [whole] * 3, (way, found)
print("done")
"""


@needs_mpi
def test_values_of_processes_are_brought_together() -> None:
    found = started(["-c", PROGRAM])
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr


NATIVE = """
import numpy as np, fastgraph as tf
from fastgraph.distribute.experimental import CommunicationOptions
from fastgraph.profiling import recording
from fastgraph.replication import collectives
short = CommunicationOptions(compression="bfloat16")
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, link = strategy.cluster_resolver.task_id, collectives.link(None)
@tf.function
def step(x, large):
    def run(x, large):
        context = tf.distribute.get_replica_context()
        whole, half = context.all_reduce("SUM", [x * 2.0, tf.cast(x, tf.float16)])
        again = context.all_reduce("SUM", whole + 1.0, short)
        return whole, half, again, context.all_reduce("SUM", large)
    return strategy.run(run, (x, large))
def called(n):
    x, large = np.arange(n, dtype="float32") + rank, np.arange(1 << 19) + rank
    results = [strategy.experimental_local_results(each)[0].numpy() for each in step(tf.constant(x), tf.constant(large))]
    sums = 2.0 * np.arange(n) + 1.0
    for result, right in zip(results, (2 * sums, sums, 2 * (2 * sums + 1.0), 2 * np.arange(1 << 19) + 1)):
        np.testing.assert_array_equal(result, right)
    return results
called(5), called(7)  # compared by Python
concrete = step.get_concrete_function(tf.TensorSpec([5], tf.float32), tf.TensorSpec([1 << 19], tf.int64))
text = concrete.explain()
assert text.count(" native") == text.count("in C, on the calling thread") == 6, text
assert concrete.executable.host_steps == 0
started, ended = collectives.Link.start, collectives.Link.end
del collectives.Link.start, collectives.Link.end  # Python's way
before = link.journal.begun
for _ in range(300):
    results = called(5)
with recording.record() as found:
    called(5)
kinds = [event.kind for event in found.events if event.name == "communicate"]
assert kinds == ["native"] * 6, kinds
assert link.journal.begun == before + 3 * 301
collectives.Link.start, collectives.Link.end = started, ended
assert strategy.reduce("SUM", tf.constant(rank + 1.0), None) == 3.0
print("done")
"""


FAILING = """
import fastgraph as tf
from fastgraph.replication import collectives
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, x, y = strategy.cluster_resolver.task_id, tf.range(200_000.0), tf.ones([64])
def summed(*values):
    return [tf.distribute.get_replica_context().all_reduce("SUM", value) for value in values]
def step(y, places):
    found = tf.reduce_sum(tf.gather(x, places) * y[0])
    return found, summed(tf.exp(y) * 2.0, tf.sin(y) + tf.cumsum(y), y + 1.0)
called = tf.function(lambda y, places: strategy.run(step, (y, places)))
places = tf.range(100_000)
called(y, places)
for _ in range(100):
    try:
        called(y, tf.where(places == 99_999, -1, places))
    except tf.errors.InvalidArgumentError:
        pass
begun = collectives.link(None).journal.begun
assert strategy.reduce("SUM", tf.constant(rank + 1.0), None) == 3.0
print("begun", begun)
"""


@needs_mpi
def test_processes_that_fail_alike_have_begun_as_many_sums() -> None:
    found = started(["-c", FAILING], FASTGRAPH_TIER="last", FASTGRAPH_THREADS="3")
    begun = re.findall(r"begun (\d+)", found.stdout)
    assert found.returncode == 0 and len(begun) == 2 and begun[0] == begun[1], (begun, found.stderr)


@needs_mpi
def test_plans_add_up_without_python() -> None:
    found = started(["-c", NATIVE], FASTGRAPH_TIER="last")
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr


@needs_mpi
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.slow
def test_what_is_brought_together_is_whole_and_the_same_everywhere(size: int, tmp_path: Path) -> None:
    program = str(Path(__file__).with_name("process_program.py"))
    found = started([program, str(tmp_path)], size, FASTGRAPH_TIER="first")
    assert found.returncode == 0 and found.stdout.count("done") == size, found.stderr


@needs_mpi
def test_tf_config_that_says_something_else_is_an_error() -> None:
    config = json.dumps({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}})
    found = started(["-c", PROGRAM], TF_CONFIG=config)
    assert found.returncode != 0 and "TF_CONFIG names 3 processes" in found.stderr
    config = json.dumps({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}})
    found = started(["-c", PROGRAM], TF_CONFIG=config)  # in one process it is right: that one does not wait for ever
    assert found.returncode != 0 and "TF_CONFIG says that this is process 0" in found.stderr
    assert "Process 1 of 2 failed: all are ended." in found.stderr


@needs_mpi
def test_resolvers_and_options_that_do_not_fit_are_errors() -> None:
    found = started(["-c", """
import fastgraph as tf
make = tf.distribute.MultiWorkerMirroredStrategy
spec, resolver = tf.train.ClusterSpec, tf.distribute.cluster_resolver.SimpleClusterResolver
def refused(text, *args, **named):
    try:
        make(*args, **named)
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
refused("The cluster_resolver names 3 processes", resolver(spec({"worker": ["a:1", "b:1", "c:1"]})))
refused("`cluster_resolver` must be", 3)
refused("`communication_options` must be", communication_options=3)
rank = make().cluster_resolver.task_id
two = spec({"worker": ["a:1", "b:1"]})
refused("The cluster_resolver says that this is process", resolver(two, task_type="worker", task_id=1 - rank))
assert make(resolver(two, task_type="worker", task_id=rank)).num_replicas_in_sync == 2
print("done")
"""])  # fmt: skip
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr


ALIKE = """
import hashlib, time, numpy as np, fastgraph as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
shapes = (20, 30), (30, 1), (64, 20)
with strategy.scope():
    *weights, x = [tf.Variable(np.random.RandomState(0).randn(*shape).astype("float32") / 5) for shape in shapes]
    optimizer = tf.keras.optimizers.Adam(0.01)
x = x.numpy() * 5
@tf.function
def step(x):
    def run(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.softmax(tf.tanh(x @ weights[0])) @ weights[1] - tf.reduce_sum(x, 1, True)) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    strategy.run(run, (x,))
for i in range(200):
    step(tf.constant(x))
    time.sleep(0.1 * (i % 10 == 0))
print(hashlib.sha256(b"".join(each.numpy().tobytes() for each in weights)).hexdigest(), flush=True)
"""


@needs_mpi
@pytest.mark.slow
def test_runs_have_the_same_bits_whether_their_kernels_are_stored_or_not(tmp_path: Path) -> None:
    runs = [started(["-c", ALIKE], FASTGRAPH_TIER="auto", FASTGRAPH_STORE=str(tmp_path)) for _ in range(2)]
    bits = [line for each in runs for line in each.stdout.split()]
    assert len(bits) == 4 and len({*bits}) == 1, (bits, runs[0].stderr)


@needs_mpi
def test_an_error_in_one_process_ends_all() -> None:
    program = (
        PROGRAM.partition("for run in")[0]
        + """
if rank == 1:
    raise KeyError("what happened")
strategy.run(step)
"""
    )
    found = started(["-c", program])
    assert found.returncode != 0 and "what happened" in found.stderr and "Process 1 of 2 failed" in found.stderr


def test_without_mpi_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(fg.errors.NotBuiltError, match=r"pip install fastgraph\[mpi\].*mpiexec -n 4"):
        fg.distribute.MultiWorkerMirroredStrategy()


def test_a_cluster_s_tasks_have_names() -> None:
    spec = fg.train.ClusterSpec({"worker": ["a:1", "b:2"], "chief": {3: "c:4"}})
    assert spec.as_dict() == {"worker": ["a:1", "b:2"], "chief": {3: "c:4"}} and spec.jobs == ["worker", "chief"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_address("chief", 3) == "c:4"
    assert fg.train.ClusterSpec(spec).as_dict() == spec.as_dict() and not fg.train.ClusterSpec({})
    with pytest.raises(ValueError, match="No such job in cluster: 'ps'"):
        spec.num_tasks("ps")
    with pytest.raises(ValueError, match="No task with index 0 in job 'chief'"):
        spec.task_address("chief", 0)
    assert spec == fg.train.ClusterSpec(spec) != fg.train.ClusterSpec({})
    assert repr(spec) == "ClusterSpec({'chief': {3: 'c:4'}, 'worker': ['a:1', 'b:2']})"
    for bad, error, text in (
        (["a:1"], TypeError, "must be a dictionary"),
        ({3: ["a:1"]}, TypeError, "Job name 3 must be bytes or unicode"),
        ({"worker": {"x": "a:1"}}, ValueError, "invalid literal"),
        ({"worker": 3}, TypeError, "must be strings"),
    ):
        with pytest.raises(error, match=text):
            fg.train.ClusterSpec(bad)


def test_a_tf_config_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = fg.distribute.cluster_resolver.TFConfigClusterResolver
    for text in ("3", "[]", '{"task": 3}', '{"cluster": []}'):
        monkeypatch.setenv("TF_CONFIG", text)
        with pytest.raises(ValueError, match="TF_CONFIG=.* cannot be used: it has to be a JSON object"):
            resolver()
    monkeypatch.setenv("TF_CONFIG", '{"task": {"type": "worker", "index": "1"}}')
    assert resolver().task_id == 1


def test_the_older_strategy_takes_how_to_communicate_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    older = fg.distribute.experimental.MultiWorkerMirroredStrategy
    monkeypatch.setattr(fg.distribute.MultiWorkerMirroredStrategy, "__init__", lambda self, *args: seen.append(args))
    older(fg.distribute.experimental.CollectiveCommunication.RING)
    older(cluster_resolver=3, communication=fg.distribute.experimental.CommunicationImplementation.AUTO)
    assert [(resolver, options.implementation.name) for resolver, options in seen] == [(None, "RING"), (3, "AUTO")]
    with pytest.raises(ValueError, match="implementation"):
        older(3)


SAVING = """
import os, sys, fastgraph as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, folder = strategy.cluster_resolver.task_id, sys.argv[1]
with strategy.scope():
    v = tf.Variable(tf.ones([1000]))
checkpoint = tf.train.Checkpoint(v=v)
manager = tf.train.CheckpointManager(checkpoint, folder + "/shared", max_to_keep=2)
for _ in range(10):
    path = manager.save()
assert path.endswith("shared/ckpt-10") and len(manager.checkpoints) == 2, path
checkpoint.write(folder + "/written/ck")
module = tf.Module()
module.v = v
tf.saved_model.save(module, folder + "/model")
if rank:  # as in TensorFlow's guide: a folder of its own, removed behind it
    own = folder + f"/workertemp_{rank}"
    mine = tf.train.CheckpointManager(checkpoint, own, max_to_keep=1).save()
    checkpoint.read(mine).assert_consumed()
    tf.saved_model.save(module, own + "/model")
    tf.io.gfile.rmtree(own)
    checkpoint.write(folder + "/other/ck")
    tf.io.gfile.rmtree(folder + "/other")
print("done")
"""


@needs_mpi
def test_the_first_process_writes_what_all_save(tmp_path: Path) -> None:
    found = started(["-c", SAVING, str(tmp_path)])
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    shards = "data-00000-of-00001"
    assert files == [
        "model/fingerprint.pb", "model/saved_model.pb", f"model/variables/variables.{shards}",
        "model/variables/variables.index", "shared/checkpoint",
        *[f"shared/ckpt-{n}.{end}" for n in (10, 9) for end in (shards, "index")],
        f"written/ck.{shards}", "written/ck.index",
    ]  # fmt: skip


@needs_mpi
def test_a_fork_does_not_take_its_parent_s_place() -> None:
    found = started(["-c", """
import os, fastgraph as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id
total = lambda: float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(rank + 1.0)), None))
assert total() == 3.0
if rank and not (child := os.fork()):
    try:
        total()
    except tf.errors.FailedPreconditionError as error:
        os._exit(7 if "This is a fork of Process 1 of 2" in str(error) else 8)
    os._exit(9)
if rank:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert total() == 3.0
print("done")
"""])  # fmt: skip
    assert found.returncode == 0 and found.stdout.count("done") == 2, found.stderr


@needs_mpi
def test_witnesses_say_when_a_process_was_killed() -> None:
    found = started(["-c", """
import os, fastgraph as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id
strategy.reduce("SUM", tf.constant(1.0), None)
if rank:
    os.kill(os.getpid(), 9)
strategy.reduce("SUM", tf.constant(1.0), None)
"""])  # fmt: skip
    assert found.returncode != 0
    told = re.findall(r"Process 1 of 2 .* crashed, at \d\d:\d\d:\d\d", found.stderr)
    assert told, found.stderr


@needs_mpi
@pytest.mark.slow  # imports Keras
def test_of_keras_too_the_first_process_alone_writes(tmp_path: Path) -> None:
    if importlib.util.find_spec("keras") is None:
        pytest.skip("Keras 3 is not installed")
    script = str(Path(__file__).parents[1] / "door" / "savers_program.py")
    found = started(["-m", "fastgraph", "run", script, str(tmp_path)])
    assert found.returncode == 0, found.stderr
    (_, losses, _), (_, others, written) = sorted(
        json.loads(line) for line in found.stdout.splitlines() if line[:1] == "["
    )
    assert losses == others and len(losses) == 4
    assert all(path.startswith("rank1/") for path in written) and written, written
    assert len(list((tmp_path / "logs" / "train").iterdir())) == 2  # of two fits: one each
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 5
