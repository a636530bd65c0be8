"""Elements made ahead and together: in threads, in order, with errors in their places; rows gathered at once."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors
from fastgraph.data import grouping, prefetching, sources, transformations

Dataset = tf.data.Dataset
SCALAR = tf.TensorSpec([], tf.int64)


def _threads(name):
    return [thread for thread in threading.enumerate() if thread.name.startswith(name)]


def _slow(n, fails_at=-1):
    def elements():
        for i in range(n):
            time.sleep(0.001)
            if i == fails_at:
                raise ValueError("no")
            yield i

    return Dataset.from_generator(elements, output_signature=SCALAR)


def test_prefetch_makes_slow_elements_ahead_and_ends_its_thread():
    elements = iter(_slow(30).prefetch(3))
    assert [int(next(elements)) for _ in range(10)] == list(range(10))
    assert len(_threads("fastgraph-prefetch")) == 1
    assert [int(x) for x in elements] == list(range(10, 30))
    abandoned = iter(_slow(10**6).prefetch(2))
    for _ in range(6):
        next(abandoned)
    del abandoned, elements
    gc.collect()
    for _ in range(200):
        if not _threads("fastgraph-prefetch"):
            break
        time.sleep(0.01)
    assert not _threads("fastgraph-prefetch")


def test_prefetch_calls_python_ahead_however_quick_it_is():
    called = threading.Event()

    def square(x):
        if x == 5:
            called.set()
        return x * x

    dataset = Dataset.range(20).map(lambda x: tf.numpy_function(square, [x], tf.int64))
    elements = iter(dataset.prefetch(3))
    assert [int(next(elements)) for _ in range(3)] == [0, 1, 4]
    assert called.wait(20)  # nobody asks for another element meanwhile
    assert [int(x) for x in elements] == [i * i for i in range(3, 20)]


def test_prefetch_gives_errors_in_their_places():
    found = []
    elements = iter(_slow(12, fails_at=8).prefetch(2))
    for _ in range(10):
        try:
            found.append(int(next(elements)))
        except StopIteration:
            found.append("stop")
        except errors.InvalidArgumentError:
            found.append("error")
    assert found == [*range(8), "error", "stop"]


@pytest.mark.parametrize("way", ["prefetch", "map"])
def test_a_forked_process_is_told_that_it_has_no_threads(way):
    script = f"""
import os, time, fastgraph as tf
def slow(x):
    time.sleep(0.001)
    return x
d = tf.data.Dataset.range(100).map(lambda x: tf.numpy_function(slow, [x], tf.int64), {"4" if way == "map" else "None"})
elements = iter(d{".prefetch(2)" if way == "prefetch" else ""})
for _ in range(8):
    next(elements)
child = os.fork()
if not child:
    try:
        next(elements)
    except RuntimeError as error:
        os._exit(7 if "after the fork" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(next(elements)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "7 8\n", done.stdout + done.stderr


def test_quick_pipelines_have_no_thread():
    elements = iter(Dataset.range(100).map(lambda x: x + 1, num_parallel_calls=4).prefetch(8))
    for _ in range(50):
        next(elements)
    assert not _threads("fastgraph-prefetch") and not _threads("fastgraph-map")


def test_a_function_that_makes_datasets_is_no_call_of_python():
    dataset = Dataset.range(3).flat_map(lambda x: Dataset.range(4 * x, 4 * x + 4).batch(2))
    elements = iter(dataset.map(lambda pair: pair[0] + pair[1]).prefetch(4))
    assert [int(next(elements)) for _ in range(4)] == [1, 5, 9, 13]
    assert not _threads("fastgraph-prefetch")
    assert [int(x) for x in elements] == [17, 21]


def test_prefetch_calls_python_of_inner_datasets_ahead():
    called = threading.Event()

    def square(x):
        if x == 5:
            called.set()
        return x * x

    def inner(x):
        return Dataset.range(x, x + 4).map(lambda y: tf.numpy_function(square, [y], tf.int64))

    elements = iter(Dataset.range(0, 12, 4).flat_map(inner).prefetch(3))
    assert [int(next(elements)) for _ in range(3)] == [0, 1, 4]
    assert called.wait(20)  # nobody asks for another element meanwhile
    assert [int(x) for x in elements] == [i * i for i in range(3, 12)]


def _wait(x):
    time.sleep(0.002)
    if x == 11:
        raise ValueError("eleven")
    return x


@pytest.mark.parametrize("deterministic", [True, False])
def test_calls_of_map_run_at_once(deterministic):
    running, most = 0, 0
    lock = threading.Lock()

    def counted(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return x * 2

    dataset = Dataset.range(30).map(lambda x: tf.numpy_function(counted, [x], tf.int64), 4, deterministic)
    found = [int(x) for x in dataset]
    assert (found if deterministic else sorted(found)) == list(range(0, 60, 2))
    assert 2 <= most <= 4


def test_an_error_of_a_call_is_in_its_place():
    elements = iter(Dataset.range(14).map(lambda x: tf.numpy_function(_wait, [x], tf.int64), 3))
    found = []
    for _ in range(15):
        try:
            found.append(int(next(elements)))
        except StopIteration:
            found.append("stop")
        except errors.OpError:
            found.append("error")
    assert found == [*range(11), "error", 12, 13, "stop"]


def test_random_ops_are_called_one_after_the_other():
    tf.random.set_seed(3)
    try:
        dataset = Dataset.range(20).map(lambda x: tf.random.uniform([], seed=5), num_parallel_calls=4).prefetch(4)
        assert [float(x) for x in dataset] == [float(x) for x in dataset]
        assert not _threads("fastgraph-map")
    finally:
        tf.random.set_seed(None)


def test_a_program_ends_while_elements_are_made():
    text = (
        "import time, fastgraph as tf\n"
        "def slow():\n"
        "    while True:\n"
        "        time.sleep(0.001); yield 1\n"
        "it = iter(tf.data.Dataset.from_generator(slow, tf.int32).prefetch(2))\n"
        "print([int(next(it)) for _ in range(8)])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[1, 1, 1, 1, 1, 1, 1, 1]\n" and done.returncode == 0, done.stderr


NUMBERS = np.arange(33)
TABLES = [
    lambda: Dataset.from_tensor_slices((NUMBERS, NUMBERS * 1.5)),
    lambda: Dataset.range(5, 100, 3),
    lambda: Dataset.range(10, -9, -2, output_type=tf.float32),
    lambda: Dataset.zip((Dataset.range(40), Dataset.from_tensor_slices(NUMBERS).shuffle(9, 1))),
    lambda: Dataset.from_tensor_slices(["a", "b", "c"]),
    lambda: Dataset.range(0),
]
STEPS = [
    lambda d: d,
    lambda d: d.take(7),
    lambda d: d.skip(4),
    lambda d: d.shard(3, 1),
    lambda d: d.shuffle(5, 2),
    lambda d: d.shuffle(1000, 2),
    lambda d: d.repeat(3),
    lambda d: d.repeat().take(50) if int(d.cardinality()) else d,
    lambda d: d.prefetch(2),
]


@pytest.mark.parametrize("base", range(len(TABLES)))
def test_rows_gathered_at_once_are_the_elements(base):
    for first, second in itertools.product(STEPS, STEPS):
        for size, drop in ((1, False), (4, True), (4, False), (64, False)):

            def batches():
                return second(first(TABLES[base]())).batch(size, drop).source  # noqa: B023

            own, by_rows = batches(), batches()
            slow = transformations._Batches(own, sources.Run())
            for expected, found in itertools.zip_longest(slow, by_rows.elements(sources.Run())):
                for a, b in zip(expected, found, strict=True):
                    assert a.dtype == b.dtype and a.numpy().tolist() == b.numpy().tolist()


def test_batches_of_arrays_are_gathered():
    dataset = Dataset.from_tensor_slices((NUMBERS, NUMBERS)).shuffle(10).repeat(2).batch(4)
    assert not isinstance(dataset.source.elements(sources.Run()), transformations._Batches)


@pytest.mark.parametrize(("own", "option", "ordered"),
                         [(None, None, True), (None, False, False), (True, False, True), (False, True, False)])  # fmt: skip
def test_a_slow_element_holds_up_no_other_where_the_order_is_free(own, option, ordered):
    begun = threading.Event()

    def waits(x):
        if x == 0 and not ordered:
            assert begun.wait(60)
        elif x == 5:
            begun.set()
        return x

    dataset = Dataset.range(40).map(lambda x: tf.numpy_function(waits, [x], tf.int64), 2, own)
    if option is not None:
        options = tf.data.Options()
        options.deterministic = option
        dataset = dataset.with_options(options).map(lambda x: x)
    found = [int(x) for x in dataset]
    assert sorted(found) == list(range(40))
    assert (found == sorted(found)) is ordered


def test_threads_are_given_up_where_elements_are_quick(monkeypatch):
    monkeypatch.setattr(prefetching, "LONG", 60.0)
    elements = iter(Dataset.range(200).map(lambda x: x + 1, 2, False))
    found = [int(next(elements)) for _ in range(150)]
    assert elements._cursor._elements.crew is None
    assert sorted(found + [int(x) for x in elements]) == list(range(1, 201))


def _inner(i):
    """Three, or fewer, numbers; an error in place of 21; the sixth dataset is none."""
    tf.debugging.assert_less(i, 5)
    return Dataset.range(i * 10, i * 10 + i % 4).map(lambda x: x // tf.cast(x != 21, tf.int64))


def _with_errors(dataset):
    found, elements = [], iter(dataset)
    while True:
        try:
            found.append(int(next(elements)))
        except StopIteration:
            return found
        except errors.OpError as error:
            found.append(type(error))


@pytest.mark.parametrize("cycle", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("block", [1, 2, 5])
def test_threads_interleave_what_one_alone_does(cycle, block, monkeypatch):
    rows = Dataset.range(8).interleave(_inner, cycle, block, num_parallel_calls=cycle)
    monkeypatch.setattr(grouping, "LONG", 60.0)
    alone = _with_errors(rows)
    assert errors.InvalidArgumentError in alone and 32 in alone
    monkeypatch.setattr(grouping, "LONG", -1.0)  # every element takes long
    assert _with_errors(rows) == alone
    assert sorted(map(str, _with_errors(rows.with_options(_free())))) == sorted(map(str, alone))


def _free():
    options = tf.data.Options()
    options.deterministic = False
    return options


def test_a_slow_dataset_holds_up_no_other_and_threads_end():
    held, begun = threading.Event(), []

    def elements(i):
        for n in range(12):
            if i == 0 and n == 6:
                held.wait(60)
            time.sleep(0.001)
            begun.append(i)
            yield 100 * i + n

    rows = Dataset.range(2).interleave(
        lambda i: Dataset.from_generator(elements, args=[i], output_signature=SCALAR), 2, 1, 2, deterministic=False
    )
    found = iter(rows)
    assert sorted(int(next(found)) for _ in range(18)) == [*range(6), *range(100, 112)]
    held.set()
    assert [int(x) for x in found] == list(range(6, 12))
    found = iter(rows)
    for _ in range(8):
        next(found)
    assert _threads("fastgraph-interleave")
    del found
    for _ in range(500):
        if not _threads("fastgraph-interleave"):
            break
        time.sleep(0.01)
    assert not _threads("fastgraph-interleave")


def test_random_datasets_are_interleaved_in_their_order(monkeypatch):
    monkeypatch.setattr(grouping, "LONG", -1.0)
    rows = Dataset.range(3).interleave(lambda i: Dataset.range(5).shuffle(5, seed=4), 3, 1, 3)
    alone = Dataset.range(3).interleave(lambda i: Dataset.range(5).shuffle(5, seed=4), 3, 1)
    assert [int(x) for x in rows] == [int(x) for x in alone]
    assert not _threads("fastgraph-interleave")
