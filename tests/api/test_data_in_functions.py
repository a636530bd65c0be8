"""Datasets and iterators in Functions: arguments by spec, elements in program order on every call, staged loops."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors
from fastgraph.data import handles
from tests.graph_names import ops_in

Dataset = tf.data.Dataset
SCALAR = tf.TensorSpec((), tf.int64)


pytestmark = pytest.mark.usefixtures("tier")


def zero() -> Any:
    return tf.constant(0, tf.int64)


@tf.function
def total(dataset: Any) -> Any:
    s = zero()
    for x in dataset:
        s += x
    return s


# ---- arguments ------------------------------------------------------------------------------------------------------


def test_next_advances_on_every_call() -> None:
    traces = []

    @tf.function
    def double(iterator: Any) -> Any:
        traces.append(1)
        return next(iterator) * 2

    iterator = iter(Dataset.range(3))
    assert [int(double(iterator)) for _ in range(3)] == [0, 2, 4]
    with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
        double(iterator)
    assert int(double(iter(Dataset.range(7)))) == 0
    assert len(traces) == 1


def test_eager_mode_and_a_function_share_a_pass() -> None:
    @tf.function
    def take(iterator: Any) -> Any:
        return next(iterator)

    iterator = iter(Dataset.range(5))
    assert [int(next(iterator)), int(take(iterator)), int(iterator.get_next()), int(take(iterator))] == [0, 1, 2, 3]


def test_datasets_are_keyed_by_their_spec() -> None:
    traces = []

    @tf.function
    def f(dataset: Any) -> Any:
        traces.append(dataset.element_spec)
        s = 0.0
        for x in dataset:
            s += tf.reduce_sum(tf.cast(x, tf.float32))
        return s

    assert [float(f(Dataset.range(n))) for n in (3, 10, 0)] == [3, 45, 0]
    assert float(f(Dataset.range(20).filter(lambda x: x < 3).map(lambda x: 2 * x))) == 6
    assert traces == [SCALAR]
    f(Dataset.range(4).batch(2))
    f(Dataset.from_tensors(1.0))
    assert len(traces) == 3


def test_spec_in_an_input_signature() -> None:
    @tf.function(input_signature=[tf.data.DatasetSpec(SCALAR)])
    def f(dataset: Any) -> Any:
        return dataset.reduce(zero(), lambda s, x: s + x)

    assert int(f(Dataset.range(4))) == 6
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        f(Dataset.from_tensors(1.0))


def test_arguments_in_structures_and_composites() -> None:
    @tf.function
    def f(both: Any, scale: Any) -> Any:
        s = zero()
        for x in both["dataset"]:
            s += x * next(both["iterator"]) * scale
        return s

    both = {"dataset": Dataset.range(1, 4), "iterator": iter(Dataset.range(10))}
    assert int(f(both, tf.constant(10, tf.int64))) == 80
    assert int(next(both["iterator"])) == 3


def test_a_function_gives_a_dataset_and_an_iterator() -> None:
    @tf.function
    def f(dataset: Any, n: Any) -> Any:
        return dataset.map(lambda x: x + n), iter(dataset.skip(1))

    dataset, iterator = f(Dataset.range(3), tf.constant(5, tf.int64))
    gc.collect()
    assert [int(x) for x in dataset] == [5, 6, 7]
    assert [int(x) for x in iterator] == [1, 2]


# ---- effects --------------------------------------------------------------------------------------------------------


def test_elements_come_in_program_order() -> None:
    @tf.function
    def f(iterator: Any) -> Any:
        a, b = next(iterator), next(iterator)
        next(iterator)  # its value is not used
        return a, b

    iterator = iter(Dataset.range(6))
    assert [(int(a), int(b)) for a, b in (f(iterator), f(iterator))] == [(0, 1), (3, 4)]


def test_elements_and_prints_keep_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    def generator() -> Iterator[int]:
        for i in range(2):
            print("made", i, file=sys.stderr)
            yield i

    @tf.function
    def f(iterator: Any) -> None:
        tf.print("before")
        x = next(iterator)
        tf.print("between", x)
        next(iterator)
        tf.print("after")

    f(iter(Dataset.from_generator(generator, tf.int32)))
    assert capsys.readouterr().err.split("\n") == ["before", "made 0", "between 0", "made 1", "after", ""]


def test_next_in_a_branch() -> None:
    @tf.function
    def f(iterator: Any, wanted: Any) -> Any:
        x = tf.constant(-1, tf.int64)
        if wanted:
            x = next(iterator)
        return x

    iterator = iter(Dataset.range(9))
    assert [int(f(iterator, tf.constant(wanted))) for wanted in (True, False, True)] == [0, -1, 1]


def test_iterator_made_in_a_function_is_new_on_every_call() -> None:
    @tf.function
    def f(dataset: Any) -> Any:
        iterator = iter(dataset)
        return next(iterator) + 10 * next(iterator) + 100 * next(iterator)

    assert [int(f(Dataset.range(1, 5))), int(f(Dataset.range(1, 5)))] == [321, 321]


def test_captured_iterator_and_dataset() -> None:
    dataset, iterator = Dataset.range(4), iter(Dataset.range(10))

    @tf.function
    def f() -> Any:
        s = zero()
        for x in dataset:
            s += x
        return s + 100 * next(iterator)

    assert [int(f()), int(f())] == [6, 106]


def test_dataset_made_in_a_function_lives_with_its_graph() -> None:
    @tf.function
    def f(n: Any) -> Any:
        s = zero()
        for i, x in Dataset.from_tensor_slices([5, 6, 7]).enumerate():
            s += i * tf.cast(x, tf.int64) * n
        return s

    for _ in range(2):
        gc.collect()
        assert int(f(tf.constant(1, tf.int64))) == 20


def test_dataset_of_symbolic_operands() -> None:
    @tf.function
    def f(n: Any, rows: Any) -> Any:
        s = zero()
        for x in Dataset.range(n).map(lambda v: v * n).filter(lambda v: v > 0).batch(n).take(n):
            s += tf.reduce_sum(x)
        for row in Dataset.from_tensor_slices(rows).repeat(n).flat_map(lambda r: Dataset.from_tensors(r + n)):
            s += row[0]
        return s, Dataset.range(n).repeat(2).cardinality()

    rows = tf.constant([[1], [2]], tf.int64)
    for n, expected in ((3, (9 + 27, 6)), (5, (50 + 65, 10))):
        assert tuple(map(int, f(tf.constant(n, tf.int64), rows))) == expected


def test_handles_do_not_pile_up() -> None:
    @tf.function
    def f(n: Any) -> Any:
        s = zero()
        for x in Dataset.range(n).batch(2):
            s += x[0]
        return s

    f(tf.constant(3, tf.int64))
    gc.collect()
    before = len(handles._objects)
    for _ in range(50):
        f(tf.constant(3, tf.int64))
        total(Dataset.range(3))
    gc.collect()
    assert len(handles._objects) <= before + 2


def test_threads_share_an_iterator_through_a_function() -> None:
    @tf.function
    def f(iterator: Any) -> Any:
        return next(iterator)

    iterator = iter(Dataset.range(200))
    f(iter(Dataset.range(1)))
    found: list[int] = []

    def work() -> None:
        for _ in range(50):
            found.append(int(f(iterator)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(200))


# ---- loops ----------------------------------------------------------------------------------------------------------


def test_the_body_is_in_the_graph_once() -> None:
    @tf.function
    def train(dataset: Any) -> Any:
        loss = tf.constant(0)
        for x, y in dataset:
            loss += tf.abs(y - x)
        return loss

    def graph(n: int) -> tf.Graph:
        data = Dataset.from_generator(lambda: [(1, 1)] * n, (tf.int32, tf.int32))
        found = tf.function(train.python_function).get_concrete_function(data).graph
        assert isinstance(found, tf.Graph)
        return found

    three, ten = list(ops_in(graph(3))), list(ops_in(graph(10)))
    assert three == ten
    assert three.count("abs") == 1
    assert len(graph(3).as_graph_def().node) == len(graph(10).as_graph_def().node)


def test_break_reads_no_element_ahead() -> None:
    @tf.function
    def f(iterator: Any) -> Any:
        s = zero()
        for x in iterator:
            s += x
            if s > 3:
                break
        return s

    iterator = iter(Dataset.range(10))
    assert [int(f(iterator)), int(next(iterator)), int(f(iterator))] == [6, 4, 5]


def test_continue_and_break() -> None:
    @tf.function
    def f(dataset: Any) -> Any:
        s = zero()
        for i, x in dataset.enumerate():
            if x == 2:
                continue
            if i > 4:
                break
            s += x
        return s

    assert int(f(Dataset.range(10))) == 8


def test_loops_in_loops_pass_anew() -> None:
    @tf.function
    def f(a: Any, b: Any) -> Any:
        s = zero()
        for x in a:
            for y in b:
                s += x * y
        return s

    assert int(f(Dataset.range(4), Dataset.range(3))) == 18


def test_loop_with_effects_only() -> None:
    v = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def f(dataset: Any) -> None:
        for x in dataset:
            v.assign_add(x)

    f(Dataset.range(4))
    assert int(v) == 6


def test_last_batch_is_smaller() -> None:
    @tf.function
    def f(dataset: Any) -> Any:
        s = 0.0
        for x in dataset:
            s += tf.reduce_sum(x) * tf.cast(tf.shape(x)[0], tf.float32)
        return s

    assert float(f(Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2))) == 9


def test_state_whose_shape_varies() -> None:
    @tf.function
    def f(dataset: Any) -> Any:
        rows = tf.zeros([0, 2])
        for x in dataset:
            rows = tf.concat([rows, x], 0)
        return rows

    data = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_array_equal(f(Dataset.from_tensor_slices(data).batch(2)), data)


def test_builtins_of_datasets() -> None:
    @tf.function
    def f(dataset: Any) -> Any:
        s = zero()
        for i, x in enumerate(dataset):
            s += i * x
        for a, b in zip(dataset, dataset):
            s += 10 * a * b
        for x in map(tf.square, dataset):
            s += 100 * x
        for x in filter(lambda v: v > 1, dataset):
            s += 10_000 * x
        return s

    assert int(f(Dataset.range(4))) == 14 + 140 + 1400 + 50_000


def test_length_and_truth_of_datasets() -> None:
    @tf.function
    def measured(dataset: Any) -> Any:
        return len(dataset), any(x > 2 for x in range(2)), any(dataset), all(dataset)

    for given in ([], [False], [True], [True, False], [0, 0], [0, 3], [1, 2]):
        taken = tf.data.Dataset.from_tensor_slices(tf.constant(given, tf.bool if not given else None))
        n, plain, one, every = measured(taken)
        assert (int(n), bool(plain), bool(one), bool(every)) == (len(given), False, any(given), all(given))
    forever = tf.data.Dataset.from_tensor_slices([True, False]).repeat()
    found = tf.function(lambda dataset: [any(dataset), all(dataset)])(forever)  # no further than the first that decides
    assert [bool(each) for each in found] == [True, False]
    with pytest.raises(errors.InvalidArgumentError, match="len requires dataset with definitive cardinality, got "):
        tf.function(lambda dataset: len(dataset))(forever)
    with pytest.raises(ValueError, match='the "all" builtin only works with datasets of scalars'):
        tf.function(lambda dataset: all(dataset))(forever.batch(2))


def test_length_decides_a_loop() -> None:
    @tf.function
    def total(dataset: Any) -> Any:
        s = tf.constant(0, tf.int64)
        for i in range(len(dataset)):
            s += i
        return s

    assert [int(total(tf.data.Dataset.range(n))) for n in (0, 2, 4)] == [0, 1, 6]
    assert total.experimental_get_tracing_count() == 1


def test_length_of_ragged_and_sparse_tensors() -> None:
    ragged, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])
    for specs in (None, [tf.RaggedTensorSpec([None, None], tf.int32), tf.SparseTensorSpec([None, None], tf.int32)]):
        lengths = tf.function(lambda r, s: [len(r), len(s)], input_signature=specs)(ragged, sparse)
        assert [int(n) for n in lengths] == [2, 3]


def test_gradient_through_a_loop_over_a_dataset() -> None:
    w = tf.Variable(2.0)

    @tf.function
    def f(dataset: Any) -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = 0.0
                for x in dataset:
                    loss += w * w * tf.reduce_sum(x)
            first = inner.gradient(loss, w)
        return first, outer.gradient(first, w)

    first, second = f(Dataset.from_tensor_slices([1.0, 2.0, 3.0]).batch(2))
    assert (float(first), float(second)) == (24, 12)


def test_training_loop() -> None:
    w = tf.Variable(0.0)

    @tf.function
    def train(dataset: Any) -> None:
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = (w * x - y) ** 2
            w.assign_sub(0.1 * tape.gradient(loss, w))

    train(Dataset.from_tensor_slices(([1.0, 2.0], [2.0, 4.0])).repeat(10))
    assert float(w) == pytest.approx(2.0, abs=1e-4)


def test_failing_generator_in_a_loop() -> None:
    def generator() -> Iterator[int]:
        yield 1
        raise ValueError("boom")

    @tf.function
    def f(dataset: Any) -> Any:
        s = 0
        for x in dataset:
            s += x
        return s

    with pytest.raises(errors.InvalidArgumentError, match="ValueError: boom"):
        f(Dataset.from_generator(generator, tf.int32))
    assert int(f(Dataset.from_generator(lambda: [1, 2], tf.int32))) == 3


def test_function_called_by_a_map_of_a_dataset_that_a_function_reads() -> None:
    @tf.function
    def square(x: Any) -> Any:
        return x * x

    assert int(total(Dataset.range(4).map(square).map(lambda x: square(x) + 1))) == 1 + 2 + 17 + 82


def test_unconverted_loop_is_told_apart() -> None:
    @tf.function(autograph=False)
    def f(dataset: Any) -> Any:
        s = zero()
        for x in dataset:
            s += x
        return s

    with pytest.raises(ValueError, match="would go on for ever"):
        f(Dataset.range(3))
    with pytest.raises(RuntimeError, match="only supported in eager mode"):
        tf.function(lambda: Dataset.range(3).as_numpy_iterator())()
    with pytest.raises(TypeError, match=r"only supports `len` in eager mode"):
        tf.function(lambda d: len(d), autograph=False)(Dataset.range(3))


# ---------------------------------------------------------------------------------------------------------------------
# Optional


def test_optionals_hold_a_value_or_none() -> None:
    full = tf.experimental.Optional.from_value({"a": 1, "b": [1.0, 2.0]})
    empty = tf.experimental.Optional.empty(tf.TensorSpec([None], tf.string))
    assert bool(full.has_value()) and not bool(empty.has_value())
    assert int(full.get_value()["a"]) == 1 and full.get_value()["b"].numpy().tolist() == [1.0, 2.0]
    assert full.element_spec == {"a": tf.TensorSpec([], tf.int32), "b": tf.TensorSpec([2], tf.float32)}
    assert tf.type_spec_from_value(empty) == tf.OptionalSpec(tf.TensorSpec([None], tf.string))
    with pytest.raises(errors.InvalidArgumentError, match="The given optional does not have a value"):
        empty.get_value()


def test_next_as_optional() -> None:
    iterator = iter(Dataset.range(2))
    found = [iterator.get_next_as_optional() for _ in range(4)]
    assert [bool(each.has_value()) for each in found] == [True, True, False, False]
    assert [int(each.get_value()) for each in found[:2]] == [0, 1]
    assert found[2].element_spec == tf.TensorSpec([], tf.int64)


def test_next_as_optional_in_a_staged_loop() -> None:
    @tf.function
    def f(iterator: Any) -> Any:
        n, text = tf.constant(0), tf.constant("")
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            n += tf.reduce_sum(optional.get_value()["n"])
            text += tf.strings.reduce_join(optional.get_value()["text"])
            optional = iterator.get_next_as_optional()
        return n, text

    dataset = Dataset.from_tensor_slices({"n": [1, 2, 3], "text": ["x", "y", "z"]}).batch(2)
    for _ in range(3):
        n, text = f(iter(dataset))
        assert int(n) == 6 and text.numpy() == b"xyz"
    assert f.experimental_get_tracing_count() == 1

    @tf.function
    def each(iterator: Any) -> Any:
        s = tf.constant(0, tf.int64)
        for _ in tf.range(5):
            optional = iterator.get_next_as_optional()
            if optional.has_value():
                s += optional.get_value()
            else:
                s += tf.constant(100, tf.int64)
        return s

    assert int(each(iter(Dataset.range(3)))) == 203


def test_optionals_cross_functions_branches_and_loops() -> None:
    @tf.function
    def make(x: Any) -> Any:
        if x > 0.0:
            return tf.experimental.Optional.from_value(x)
        return tf.experimental.Optional.empty(tf.TensorSpec([], tf.float32))

    @tf.function
    def use(optional: Any) -> Any:
        return optional.get_value() * 2.0 if optional.has_value() else -1.0

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = make(x).get_value() ** 2.0
    assert float(tape.gradient(y, x)) == 6.0
    assert float(use(make(x))) == 6.0 and float(use(make(-x))) == -1.0
    assert use.experimental_get_tracing_count() == 1

    @tf.function
    def grown(n: Any) -> Any:
        optional = tf.experimental.Optional.empty(tf.TensorSpec([None], tf.float32))
        for _ in tf.range(n):
            optional = tf.experimental.Optional.from_value(tf.ones([3]))
        return optional.has_value()

    assert [bool(grown(tf.constant(n))) for n in (0, 2)] == [False, True]

    @tf.function
    def missing() -> Any:
        return tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32)).get_value()

    with pytest.raises(errors.InvalidArgumentError, match="The given optional does not have a value"):
        missing()


def test_what_waits_for_no_element_is_done_where_there_is_none() -> None:
    """As in TensorFlow: an optimizer has counted the step, and a layer drawn its seed, in which the iterator ended."""
    steps, drawn, total = tf.Variable(0), tf.Variable([0, 0]), tf.Variable(zero())
    waiting, large, at_once = tf.Variable(0), tf.Variable(tf.zeros([70_000])), tf.Variable(0)

    @tf.function(jit_compile=True)
    def counted(x: Any) -> Any:
        at_once.assign_add(1)
        return x + 1

    @tf.function
    def inner(x: Any) -> Any:
        drawn.assign(drawn + [0, 1])
        total.assign_add(x)
        large.assign(large + 1.0)
        with tf.control_dependencies([x]):
            waiting.assign_add(1)
        return counted(x)

    @tf.function
    def step(iterator: Any) -> Any:
        before = steps.read_value()
        x = inner(next(iterator))
        steps.assign_add(1)
        return x, before, steps.read_value()

    iterator = iter(Dataset.range(2))
    assert [[int(each) for each in step(iterator)] for _ in range(2)] == [[1, 0, 1], [2, 1, 2]]
    with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
        step(iterator)
    assert int(steps) == 3 and drawn.numpy().tolist() == [0, 3]
    assert (int(total), int(waiting), float(large[0]), int(at_once)) == (1, 2, 2.0, 2)


def test_what_python_may_have_changed_is_read_behind_it() -> None:
    count, seen = tf.Variable(0), []

    @tf.function
    def step(iterator: Any) -> Any:
        x = next(iterator)
        tf.py_function(lambda: seen.append(int(count)), [], [])
        count.assign_add(1)
        return x

    iterator = iter(Dataset.range(2))
    step(iterator), step(iterator)
    with pytest.raises(errors.OutOfRangeError):
        step(iterator)
    assert seen == [0, 1] and int(count) == 2


def test_errors_behind_an_element_have_the_lines_of_all_calls() -> None:
    @tf.function
    def inner(x: Any, n: Any) -> Any:
        for i in tf.range(n):
            x += tf.reshape(tf.ones([i + 2]), [2])
        return x

    @tf.function
    def step(iterator: Any, n: Any) -> Any:
        return inner(next(iterator), n)

    iterator = iter(Dataset.from_tensors(tf.constant([3.0, 1.0])))
    with pytest.raises(errors.InvalidArgumentError, match=r"return inner(.|\n)*x \+= tf.reshape"):
        step(iterator, tf.constant(2))
