"""Errors that processes of MPI catch: those that all have had go on, and no sum is of two different steps."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.api.test_processes import needs_mpi, started

ALONE = "InvalidArgumentError .*Process 0 of {} .* has caught an error of a run before exchange number \\d+, process"

BEGINNING = """
import os, resource, signal, sys, threading, time, numpy as np, fastgraph as tf
from fastgraph.replication import collectives
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, size, link = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync, collectives.link(None)
first = lambda value: strategy.experimental_local_results(value)[0].numpy()
def said(number, call):
    try:
        print("result", rank, number, float(call()), flush=True)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        print("error", rank, number, type(error).__name__, str(error).replace("\\n", " "), flush=True)
def interrupted(seconds, call):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        call()
    except KeyboardInterrupt:
        return True
    return False
def all_reduced(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)
"""


def said(text: str, size: int = 2, *arguments: str, tier: str = "last") -> subprocess.CompletedProcess[str]:
    """Run a program behind the beginning of all of them."""
    return started(["-c", BEGINNING + text, *arguments], size, FASTGRAPH_TIER=tier)


FAILING = """
where, way = sys.argv[1], sys.argv[2]
def failing(x):
    if x > 0.0:
        raise ValueError("of this process alone")
    return np.float32(x)
def run(x, flag):
    for i in range(4):
        if where == str(i):
            flag = tf.numpy_function(failing, [flag], tf.float32)
        x = all_reduced(x + flag + 1.0)
    return x
def step(x, flag):
    return strategy.run(run, (x, flag))
step = tf.function(step) if way == "function" else step
def called(i, flag):
    return first(step(tf.fill([4], float(i)), tf.constant(flag)))[0]
called(0, 0.0), called(1, 0.0)
for i in range(2, 6):
    said(i, lambda: called(i, 1.0 if rank == 0 and i == 3 else 0.0))
"""


@needs_mpi
@pytest.mark.parametrize(
    ("where", "way", "tier", "size"),
    [
        ("2", "function", "last", 2),
        ("0", "function", "first", 3),
        pytest.param("2", "function", "last", 3, marks=pytest.mark.slow),
        pytest.param("0", "eager", "first", 2, marks=pytest.mark.slow),
        pytest.param("2", "eager", "first", 3, marks=pytest.mark.slow),
    ],
)
def test_no_sum_is_of_two_steps_after_an_error_in_one_process(where: str, way: str, tier: str, size: int) -> None:
    found = said(FAILING, size, where, way, tier=tier)
    right = {str(i): sum(size**k for k in range(1, 5)) + size**4 * i for i in range(6)}
    results = re.findall(r"^result \d (\d) (\S+)$", found.stdout, re.M)
    assert results and all(float(value) == right[number] for number, value in results), found.stdout
    told = re.findall(rf"^error (\d) [34] {ALONE.format(size)}", found.stdout, re.M)
    assert {*told} == {str(rank) for rank in range(size)} and found.returncode, (found.stdout, found.stderr)


ABANDONED = """
from fastgraph.config.experimental import get_memory_info
@tf.function
def step(arrays, places):
    def run(arrays, places):
        found = tf.reduce_sum(tf.gather(tf.range(200_000.0), places))  # fails once the sums of arguments have begun
        return all_reduced(arrays), found
    return strategy.run(run, (arrays, places))
good = tf.range(100_000)
bad = tf.where(good == 99_999, -1, good)
arrays = [tf.fill([1 << 19], rank + 1.0), tf.ones([100]), tf.ones([1 << 15])]
step(arrays, good), step(arrays, good)
before, begun = get_memory_info("CPU:0")["current"], link.journal.begun
for _ in range(20):
    try:
        step(arrays, bad)
    except tf.errors.InvalidArgumentError:
        continue
    raise AssertionError("no error")
begun = link.journal.begun - begun
until = time.monotonic() + 20.0
while link.journal.under_way or get_memory_info("CPU:0")["current"] > before + (1 << 20):
    assert time.monotonic() < until, (link.journal.under_way, before, get_memory_info("CPU:0"))
    time.sleep(0.01)
said("total", lambda: first(step(arrays, good)[0][0])[-1])
print("begun", begun)
"""


@needs_mpi
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_sums_that_nobody_asks_for_end_and_leave_their_memory(size: int) -> None:
    found = said(ABANDONED, size)
    assert found.returncode == 0, found.stderr
    assert len({*re.findall(r"begun (\d+)", found.stdout)} - {"0"}) == 1, found.stdout  # as many in all
    totals = re.findall(r"^result \d total (\S+)$", found.stdout, re.M)
    assert [float(total) for total in totals] == [size * (size + 1) / 2] * size, found.stdout


INTERRUPTED = """
way = sys.argv[1]
step = tf.function(lambda x: strategy.run(all_reduced, (x,))) if way == "plan" else lambda x: strategy.run(all_reduced, (x,))
if way == "gather":
    step = lambda x: strategy.run(lambda x: tf.distribute.get_replica_context().all_gather(x, 0), (x,))
x = tf.fill([1 << 16], rank + 1.0)
step(x), step(x)
if rank == 0:
    began = time.monotonic()
    assert interrupted(0.5, lambda: step(x))
    assert time.monotonic() - began < 1.9
    journal = link.journal
    assert not journal.awaited and not journal.waits
    time.sleep(2.5)
    assert not journal.under_way
else:
    time.sleep(2.0)
    said("same", lambda: first(step(x))[0])  # what the other one has begun ends all the same
said("next", lambda: first(step(x))[0])
"""


@needs_mpi
@pytest.mark.parametrize("way", ["plan", "eager", "gather"])
def test_who_was_interrupted_while_it_waited_does_not_wait(way: str) -> None:
    found = said(INTERRUPTED, 2, way, tier="last" if way == "plan" else "first")
    told = re.findall(rf"^error (\d) next {ALONE.format(2)}", found.stdout, re.M)
    if way == "gather":  # half of it cannot be made whole
        left = r"UnavailableError .*Process 0 of 2 .* has left exchange number \d+: KeyboardInterrupt"
        assert re.search(rf"^error 1 same {left}", found.stdout, re.M), (found.stdout, found.stderr)
        assert re.search(rf"^error 0 next {left}", found.stdout, re.M), (found.stdout, found.stderr)
    else:
        assert re.search(r"^result 1 same 3.0$", found.stdout, re.M) and sorted(told) == ["0", "1"], (
            found.stdout, found.stderr,
        )  # fmt: skip


FORKED = """
array = np.ones(4, np.float32)
link.all_reduce([array])
number = link.start([array])
time.sleep(0.3)
child = os.fork()
if not child:
    try:
        link.end(number)
    except tf.errors.FailedPreconditionError as error:
        os._exit(7 if "This is a fork of Process" in str(error) else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert link.end(number)[0][0] == 2.0
print("done")
"""


@needs_mpi
def test_a_fork_does_not_end_its_parent_s_sums() -> None:
    found = said(FORKED)
    assert found.returncode == 0 and found.stdout.count("done") == 2, (found.stdout, found.stderr)


EXHAUSTED = """
array = np.full(1 << 26, rank + 1.0, np.float32)
if rank == 0:
    used = 4096 * int(open("/proc/self/statm").read().split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), limits[1]))
    try:
        link.start([array])
    except tf.errors.ResourceExhaustedError:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        print("exhausted")
print("sum", link.all_reduce([array])[0][-1], link.journal.begun, flush=True)
"""


@needs_mpi
def test_a_sum_without_memory_has_not_begun() -> None:
    found = said(EXHAUSTED)
    assert found.returncode == 0 and "exhausted" in found.stdout, (found.stdout, found.stderr)
    assert found.stdout.count("sum 3.0 1") == 2, found.stdout


SHARES = """
from fastgraph.distribute.experimental import CommunicationOptions
short = CommunicationOptions(compression="bfloat16", bytes_per_pack=1 << 26)
n = 3 * (1 << 20) * size + 5  # each process adds up more than one message
step = tf.function(lambda x: strategy.run(lambda x: tf.distribute.get_replica_context().all_reduce("SUM", x, short), (x,)))
x = np.arange(n, dtype=np.float32) % 64 + rank
for _ in range(3):
    np.testing.assert_array_equal(first(step(tf.constant(x))), size * (np.arange(n) % 64) + sum(range(size)))
print("done")
"""


@needs_mpi
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_large_shares_are_sent_in_pieces(size: int) -> None:
    found = said(SHARES, size)
    assert found.returncode == 0 and found.stdout.count("done") == size, (found.stdout, found.stderr)


BEFORE = """
kind = sys.argv[1]
@tf.function(input_signature=[tf.TensorSpec([2])] if kind == "signature" else None)
def step(x, fails=False):
    found = strategy.run(all_reduced, (x,))
    if fails:
        raise ValueError("while tracing")
    return found
def value(context):
    if rank == 1 and value.number == 1:
        raise ValueError("of this process alone")
    return np.full(2, 10.0**value.number, np.float32)
def called(i):
    value.number, wrong = i, rank == 1 and i == 1
    if kind == "values":
        return first(step(strategy.experimental_distribute_values_from_function(value)))[0]
    if kind == "variable":
        with strategy.scope():
            tf.Variable(lambda: value(None))
    x = np.full(3 if wrong and kind == "signature" else 2, 10.0**i, np.float32)
    return first(step(x, True) if wrong and kind == "tracing" else step(x))[0]
for i in range(4):
    said(i, lambda: called(i))
"""


@needs_mpi
@pytest.mark.parametrize("kind", ["tracing", "signature", "values", "variable"])
def test_errors_before_a_graph_runs_are_noted_too(kind: str) -> None:
    found = said(BEFORE, 2, kind, tier="first")
    results = re.findall(r"result \d (\d) ([\d.]+)", found.stdout)
    assert found.returncode != 0 and results, found.stderr
    assert all(float(value) == 2 * 10.0 ** int(i) for i, value in results), found.stdout
    assert "Process 1 of 2" in found.stdout and "has caught an error of a run before exchange" in found.stdout


APART = """
def run(x, before, behind):
    return all_reduced(tf.debugging.check_numerics(x + before, "before")) + tf.debugging.check_numerics(behind, "behind")
@tf.function
def step(x, before, behind):
    return strategy.run(run, (x, before, behind))
def called(i):  # process 0 fails behind the sum of step 2, process 1 before that of step 3: one sum is between them
    before, behind = np.float32([np.nan if rank == 1 and i == 3 else 0, np.nan if rank == 0 and i == 2 else 0])
    return first(step(tf.constant([10.0**i]), before, behind))[0]
for i in range(6):
    said(i, lambda: called(i))
"""


@needs_mpi
@pytest.mark.parametrize("tier", ["first", "last"])
def test_errors_of_two_steps_between_two_sums_are_told_apart(tier: str) -> None:
    found = said(APART, 2, tier=tier)
    results = re.findall(r"result \d (\d) ([\d.]+)", found.stdout)
    assert results and all(float(value) == 2 * 10.0 ** int(i) for i, value in results), found.stdout
    assert "one of another step: they are not at the same step any more" in found.stdout
