"""SavedModels of functions that make datasets, go over them, or captured them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

Data = tf.data.Dataset


def int64(value: int) -> Any:
    return tf.constant(value, tf.int64)


def over_a_range(n: Any) -> Any:
    total = int64(0)
    for x in Data.range(n).batch(3):
        total += tf.reduce_sum(x)
    return total


def left_early(n: Any) -> Any:
    total = int64(0)
    for x in Data.range(n).map(lambda v: v * n):
        if x > 40:
            break
        if x == 27:
            continue
        total += x
    return total


def gone_on(n: Any) -> Any:
    iterator = iter(Data.range(n).skip(1))
    first, second, total = next(iterator), next(iterator), int64(0)
    for x in iterator:
        total += x
        if total > 10:
            break
    return first * 1000 + second * 100 + total + next(iterator)


def one_inside_another(n: Any) -> Any:
    total = int64(0)
    for x in Data.range(n):
        for y in Data.range(x):
            total += x * y
    return total


def of_datasets(n: Any) -> Any:
    made = Data.range(n).flat_map(lambda v: Data.range(v)).filter(lambda v: v % 2 == 0).take(100).repeat(2)
    mixed = made.interleave(lambda v: Data.from_tensors(v).repeat(2), cycle_length=2, block_length=1)
    return mixed.reduce(int64(0), lambda a, x: a * 3 % 1000 + x)


def of_structures(n: Any) -> Any:
    numbers = Data.range(n).enumerate(start=3).shuffle(2, seed=3).cache().prefetch(1).shard(2, 1)
    both = Data.zip((numbers, Data.from_tensor_slices({"a": [1, 2, 3, 4]})))
    total = int64(0)
    for (_, _), each in both.padded_batch(3):
        total = total * 10 + tf.cast(tf.reduce_sum(each["a"]), tf.int64)
    return total


def scanned(n: Any) -> Any:
    made = Data.range(n).scan(int64(0), lambda a, b: (a + b, a * b)).take_while(lambda v: v < 30)
    total = int64(0)
    for x in made.concatenate(Data.range(3)).batch(2).unbatch():
        total = total * 2 + x
    return total + made.batch(2).cardinality()


def in_branches(n: Any) -> Any:
    total = n
    if n > 7:
        for x in Data.range(10).take(n):
            total += x
    return total


CASES = [over_a_range, left_early, gone_on, one_inside_another, of_datasets, of_structures, scanned, in_branches]


@pytest.mark.parametrize("function", CASES)
def test_functions_that_go_over_datasets_are_saved_and_loaded(function: Any, tmp_path: Path) -> None:
    made = tf.Module()
    made.f = tf.function(function, input_signature=[tf.TensorSpec([], tf.int64)])
    wanted = [int(made.f(int64(n))) for n in (9, 7)]
    tf.saved_model.save(made, tmp_path, signatures={"numbered": made.f})
    loaded = tf.saved_model.load(tmp_path)
    assert [int(loaded.f(int64(n))) for n in (9, 7)] == wanted
    (found,) = loaded.signatures["numbered"](n=int64(9)).values()
    assert int(found) == wanted[0]
    assert [int(made.f(int64(n))) for n in (9, 7)] == wanted  # which the saving leaves as it was
    assert int(function(int64(9))) == wanted[0]
    tf.saved_model.save(loaded, tmp_path / "again")
    assert int(tf.saved_model.load(tmp_path / "again").f(int64(9))) == wanted[0]


def written_types(folder: Path) -> set[str]:
    from fastgraph.graphdef.wire_format import parsed

    meta = parsed((folder / "saved_model.pb").read_bytes(), "SavedModel").meta_graphs[0]
    return {node.op for function in meta.graph_def.library.function for node in function.node_def}


def test_datasets_that_functions_captured_begin_inside_of_them(tmp_path: Path) -> None:
    many = tf.range(200, dtype=tf.int64)
    made = tf.Module()
    made.v = tf.Variable(int64(0))
    made.data = Data.range(10).map(lambda x: x * 2 + many[3])
    made.g = tf.function(lambda: made.data.reduce(int64(0), lambda a, b: a + b), input_signature=[])

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def f(n: Any) -> Any:
        for x in made.data:
            made.v.assign_add(x)
        return made.v.read_value() + n + made.g()

    made.f = f
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert [int(loaded.f(int64(1))), int(loaded.f(int64(1)))] == [241, 361]
    assert int(made.f(int64(1))) == 241
    assert {"MapDataset", "AnonymousIteratorV3", "IteratorGetNextAsOptional"} <= written_types(tmp_path)


def test_functions_of_elements_may_read_the_variables_of_their_function(tmp_path: Path) -> None:
    made = tf.Module()
    made.v = tf.Variable(int64(5))

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def f(n: Any) -> Any:
        known = Data.range(3).map(lambda x: x + made.v).reduce(int64(0), lambda a, b: a + b)
        return known + Data.range(n).map(lambda x: x * made.v).reduce(int64(0), lambda a, b: a + b)

    made.f = f
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    loaded.v.assign(7)
    assert [int(made.f(int64(3))), int(loaded.f(int64(3)))] == [18 + 15, 24 + 21]


def test_the_next_element_may_be_asked_for_as_an_optional(tmp_path: Path) -> None:
    made = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def f(n: Any) -> Any:
        iterator = iter(Data.range(n))
        first, second = iterator.get_next_as_optional(), iterator.get_next_as_optional()
        return first.has_value(), second.has_value(), first.get_value()

    made.f = f
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert [np.asarray(each).item() for each in loaded.f(int64(1))] == [True, False, 0]


def of_generator() -> Any:
    spec = tf.TensorSpec([], tf.int64)
    made = Data.from_generator(lambda: iter([1, 2]), output_signature=spec)
    return lambda: made.reduce(int64(0), lambda a, b: a + b)


def of_a_pass() -> Any:
    iterator = iter(Data.range(3))
    return lambda: next(iterator)


def of_a_variable() -> Any:
    variable = tf.Variable(int64(1))
    made = Data.range(3).map(lambda x: x + variable)
    return lambda: made.reduce(int64(0), lambda a, b: a + b)


def of_random_numbers() -> Any:
    made = Data.range(3).map(lambda x: tf.random.uniform([]))
    return lambda: made.reduce(0.0, lambda a, b: a + b)


def of_python() -> Any:
    double = lambda x: tf.py_function(lambda v: v * 2, [x], tf.int64)
    return lambda: Data.range(3).map(double).reduce(int64(0), lambda a, b: a + b)


def of_arrays() -> Any:
    double = lambda x: tf.numpy_function(lambda v: v * 2, [x], tf.int64)
    nested = lambda x: tf.cond(x > 1, lambda: double(x), lambda: x)
    return lambda: Data.range(3).map(nested).reduce(int64(0), lambda a, b: a + b)


def of_generators() -> Any:
    one = lambda x: Data.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec([], tf.int64))
    return lambda: Data.range(2).flat_map(one).reduce(int64(0), lambda a, b: a + b)


def given_ragged() -> Any:
    rows = tf.ragged.constant([[1], [2, 3]])
    return lambda: Data.from_tensor_slices(rows).batch(1)


def of_a_list() -> Any:
    @tf.function(input_signature=[])
    def listed() -> Any:
        found = []
        for x in Data.range(3):
            found.append(x)
        return tf.stack(found)

    return listed


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (of_generator, "its elements come from Python"),
        (of_a_list, "While, in __inference"),
        (of_a_pass, "iterator that was made outside"),
        (of_a_variable, "reads a Variable"),
        (of_random_numbers, "draws random numbers"),
        (of_python, "calls Python"),
        (of_arrays, "calls Python"),
        (of_generators, "its elements come from Python"),
        (given_ragged, "RaggedTensorSpec"),
    ],
)
def test_what_cannot_be_written_is_said(make: Any, text: str, tmp_path: Path) -> None:
    made = tf.Module()
    made.f = tf.function(make(), input_signature=[])
    wanted = type(make()())
    with pytest.raises(ValueError, match=text):
        tf.saved_model.save(made, tmp_path / "model")
    assert type(made.f()) is wanted  # the function is as it was


def windows(n: Any) -> Any:
    made = Data.range(n).window(3, shift=2).flat_map(lambda window: window.batch(3))
    return made.reduce(int64(0), lambda a, x: a * 5 + tf.reduce_sum(x))


def grouped(n: Any) -> Any:
    made = Data.range(n).group_by_window(lambda x: x % 2, lambda key, group: group.batch(4), window_size=4)
    return made.reduce(int64(0), lambda a, x: a * 5 + x[-1])


def chosen(n: Any) -> Any:
    made = Data.choose_from_datasets([Data.range(n), Data.range(10, 20)], Data.range(2).repeat(3))
    return made.map(lambda x: x % 4).unique().batch(3).rebatch(2).reduce(int64(0), lambda a, x: a * 5 + x[0])


def single(n: Any) -> Any:
    return Data.range(n).batch(9).get_single_element()[-1]


@pytest.mark.parametrize("function", [windows, grouped, chosen, single])
def test_datasets_of_datasets_are_saved(function: Any, tmp_path: Path) -> None:
    made = tf.Module()
    made.f = tf.function(function, input_signature=[tf.TensorSpec([], tf.int64)])
    tf.saved_model.save(made, tmp_path)
    assert int(tf.saved_model.load(tmp_path).f(int64(9))) == int(function(int64(9)))


def test_functions_take_and_give_datasets_and_iterators(tmp_path: Path) -> None:
    made, of_numbers = tf.Module(), tf.TensorSpec([], tf.int64)

    @tf.function(input_signature=[tf.data.DatasetSpec(of_numbers), of_numbers])
    def total(data: Any, n: Any) -> Any:
        found = n
        for x in data.map(lambda v: v * n):
            found += x
        return found

    made.total = total
    made.pairs = tf.function(lambda data: data.batch(2), input_signature=[tf.data.DatasetSpec(of_numbers)])
    made.next = tf.function(lambda iterator: next(iterator) * 2)
    made.next.get_concrete_function(tf.data.IteratorSpec(of_numbers))
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert int(loaded.total(Data.range(5), int64(3))) == 33
    assert [each.tolist() for each in loaded.pairs(Data.range(3)).as_numpy_iterator()] == [[0, 1], [2]]
    iterator = iter(Data.range(5))
    assert [int(loaded.next(iterator)), int(loaded.next(iterator)), int(next(iterator))] == [0, 2, 2]


def test_other_threads_may_call_trace_and_show_functions_while_these_are_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tf.Module()
    made.data = Data.range(3)

    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return x * 3.0, lambda dy: dy * 30.0

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64), tf.TensorSpec([])])
    def f(n: Any, x: Any) -> Any:
        total = tripled(x)
        for each in Data.range(n).map(lambda v: v * n).concatenate(made.data):
            if each > 100:
                break
            total += x * tf.cast(each, tf.float32)
        return total

    made.f = f
    types = {value: value.aval for node in f.get_concrete_function()._trace.graph for value in node.outputs}
    shown = str(f.get_concrete_function().graph.as_graph_def())
    found: list[Any] = []

    def beside() -> None:
        with tf.GradientTape() as tape:
            x = tf.constant(2.0)
            tape.watch(x)
            result = tf.function(lambda x: made.f(int64(3), x) + 1.0)(x)
        again = tf.function(made.f.python_function)(int64(3), x)
        same = all(value.aval is aval for value, aval in types.items())
        graph_def = str(f.get_concrete_function().graph.as_graph_def())
        found.append((float(result), float(again), float(tape.gradient(result, x)), same, graph_def == shown))

    from fastgraph.saving import saved_model_export

    write = saved_model_export.function_bytes

    def write_and_look(*arguments: Any) -> Any:
        message = write(*arguments)
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        return message

    monkeypatch.setattr(saved_model_export, "function_bytes", write_and_look)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(made, tmp_path, options=options)
    assert len(found) > 3
    assert set(found) == {(31.0, 30.0, 42.0, True, True)}
    assert float(tf.saved_model.load(tmp_path).f(int64(3), tf.constant(2.0))) == 30.0


def of_files(folder: Path) -> dict[str, Any]:
    """Functions of a number over datasets of what is in files."""
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    (folder / "rows.csv").write_text("a,b,c\n1,2.5,x\n3,,y\n")
    (folder / "pieces").write_bytes(bytes(range(12)))
    with tf.io.TFRecordWriter(str(folder / "records"), "GZIP") as writer:
        for record in (b"first", b"second", b"third"):
            writer.write(record)
    lines, records, pieces, rows = [str(folder / each) for each in ("lines.txt", "records", "pieces", "rows.csv")]

    def joined(data: Any, n: Any) -> Any:
        return data.take(n).reduce(tf.constant(""), lambda a, x: a + "|" + x)

    def of_names(n: Any) -> Any:
        return joined(tf.data.TextLineDataset(Data.from_tensors(lines).repeat(2)), n)

    def in_turns(n: Any) -> Any:
        return joined(tf.data.TextLineDataset([lines, lines], num_parallel_reads=2), n)

    def of_rows(n: Any) -> Any:
        made = tf.data.experimental.CsvDataset(rows, [tf.int32, [1.5]], header=True, select_cols=[0, 1])
        return made.take(n).reduce(0.0, lambda a, row: a * 10 + tf.cast(row[0], tf.float32) + row[1])

    fixed = lambda: tf.data.FixedLengthRecordDataset(pieces, 2, header_bytes=1, footer_bytes=1)
    return {
        "lines": lambda n: joined(tf.data.TextLineDataset(lines), n),
        "records": lambda n: joined(tf.data.TFRecordDataset([records], "GZIP"), n),
        "pieces": lambda n: joined(fixed().map(tf.io.encode_base64), n),
        "of_names": of_names, "in_turns": in_turns, "of_rows": of_rows,
    }  # fmt: skip


def test_datasets_of_files_are_saved(tmp_path: Path) -> None:
    bodies = of_files(tmp_path)
    made = tf.Module()
    for name, body in bodies.items():
        setattr(made, name, tf.function(body, input_signature=[tf.TensorSpec([], tf.int64)]))
    tf.saved_model.save(made, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model", options=tf.saved_model.LoadOptions(experimental_open_files=True))
    for name in bodies:
        for n in (2, 5):
            wanted = np.asarray(getattr(made, name)(int64(n)))
            assert np.asarray(getattr(loaded, name)(int64(n))) == wanted, name
    wanted = {"CSVDatasetV2", "FixedLengthRecordDatasetV2", "InterleaveDataset", "TFRecordDataset", "TextLineDataset"}
    assert wanted <= written_types(tmp_path / "model")
    with pytest.raises(tf.errors.NotFoundError, match="experimental_open_files"):
        tf.saved_model.load(tmp_path / "model")


def sums(data: Any) -> Any:
    return data.reduce(int64(0), lambda a, x: a * 7 + tf.cast(x, tf.int64))


def ragged_rows(n: Any) -> Any:
    rows = tf.ragged.constant([[[1], [2, 3]], [], [[4], [], [5, 6, 7]], [[8]]])
    made = Data.from_tensor_slices((rows, [1, 2, 3, 4])).take(n)
    batches = made.batch(2).map(lambda rows, _: tf.reduce_sum(rows.to_tensor(), [1, 2]))
    return sums(made.map(lambda rows, x: tf.reduce_sum(rows) * x)) + sums(batches.unbatch())


def ragged_batches(n: Any) -> Any:
    made = Data.range(n).map(lambda x: (tf.range(x), x)).ragged_batch(3)
    again = made.map(lambda rows, _: rows * 2).unbatch().batch(2)
    return sums(made.map(lambda rows, x: tf.reduce_sum(rows[-1]) + x[0])) + sums(again.map(lambda rows: rows.nrows()))


def sparse_rows(n: Any) -> Any:
    made = Data.from_tensor_slices(tf.sparse.from_dense([[0, 1, 2], [0, 0, 0], [3, 0, 4]])).take(n)
    batches = made.batch(2)
    dense = batches.map(lambda rows: tf.reduce_sum(tf.sparse.to_dense(rows) * [1, 2, 3]))
    return sums(dense) + sums(batches.unbatch().map(tf.sparse.reduce_sum))


def ragged_windows(n: Any) -> Any:
    rows = tf.ragged.constant([[[1], [2, 3]], [], [[4], [], [5, 6, 7]], [[8]]])
    made = Data.from_tensor_slices((rows, [1, 2, 3, 4])).take(n)
    pairs = made.window(2, 1).flat_map(lambda rows, x: Data.zip((rows.batch(2), x.batch(2))))
    flat = made.batch(3).window(2).flat_map(lambda rows, x: rows.map(lambda each: each * 2))
    sparse = Data.from_tensor_slices(tf.sparse.from_dense([[0, 1, 2], [0, 0, 0], [3, 0, 4]])).take(n).window(2)
    both = sums(pairs.map(lambda rows, x: tf.reduce_sum(rows.to_tensor()) * 5 + tf.reduce_sum(x)))
    return both + sums(flat.map(tf.reduce_sum)) + sums(sparse.flat_map(lambda x: x.map(tf.sparse.reduce_sum)))


def other_batches(n: Any) -> Any:
    rows = tf.ragged.constant([[[1], [2, 3]], [], [[4], [], [5, 6, 7]], [[8]]])
    made = Data.from_tensor_slices((rows, [1, 2, 3, 4])).take(n).batch(3).rebatch(2)
    sparse = Data.from_tensor_slices(tf.sparse.from_dense([[0, 1, 2], [0, 0, 0], [3, 0, 4]])).take(n).batch(2)
    dense = sparse.rebatch([1, 2]).map(lambda x: tf.reduce_sum(tf.sparse.to_dense(x) * [1, 2, 3]))
    return sums(made.map(lambda rows, x: tf.reduce_sum(rows.to_tensor()) * 5 + x[0])) + sums(dense)


def mixed_loops(n: Any) -> Any:
    total = int64(0)
    for x in Data.range(n).map(lambda x: {"a": tf.RaggedTensor.from_row_lengths(tf.range(x), [x]), "b": x}):
        if x["b"] == 6:
            break
        total = total * 3 + tf.reduce_sum(x["a"])
    return total


@pytest.mark.parametrize(
    "function", [ragged_rows, ragged_batches, sparse_rows, ragged_windows, other_batches, mixed_loops]
)
def test_datasets_of_ragged_and_sparse_elements_are_saved(function: Any, tmp_path: Path) -> None:
    made = tf.Module()
    made.f = tf.function(function, input_signature=[tf.TensorSpec([], tf.int64)])
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert [int(loaded.f(int64(n))) for n in (8, 2, 0)] == [int(function(int64(n))) for n in (8, 2, 0)]


def test_random_functions_of_elements_draw_the_same_numbers_once_they_are_loaded(tmp_path: Path) -> None:
    drawn = tf.function(lambda x: tf.random.uniform([], seed=4) + tf.cast(x, tf.float32))

    def f(n: Any) -> Any:
        made = Data.range(n).map(lambda x: (tf.random.normal([], seed=3), drawn(x), tf.random.shuffle([1, 2, 3], 5)))
        found = made.map(lambda x, y, z: tf.stack([x, y, tf.cast(z[0], tf.float32)]) + tf.random.uniform([3], seed=2))
        return found.reduce(tf.zeros([3]), lambda a, x: a * 3 + x)

    made = tf.Module()
    made.f = tf.function(f, input_signature=[tf.TensorSpec([], tf.int64)])
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for _ in range(2):
        np.testing.assert_array_equal(loaded.f(int64(4)), made.f(int64(4)))


def test_optionals_of_texts_may_be_empty_in_graphs() -> None:
    @tf.function
    def ends() -> Any:
        iterator = iter(Data.from_tensors("only"))
        first, second = iterator.get_next_as_optional(), iterator.get_next_as_optional()
        return first.get_value(), second.has_value()

    text, more = ends()
    assert (text.numpy(), bool(more)) == (b"only", False)


@pytest.mark.parametrize("over", [tf.range, Data.range])
def test_loops_are_written_after_a_gradient_went_through_them(over: Any, tmp_path: Path) -> None:
    def f(n: Any, x: Any) -> Any:
        total = x * 3.0
        for each in over(n):
            if each % 2 == 0:
                total = total * x
            else:
                total += tf.sin(total) * x
        return total

    made = tf.Module()
    made.f = tf.function(f, input_signature=[tf.TensorSpec([], tf.int64), tf.TensorSpec([])])

    def slope(function: Any) -> tuple[float, float]:
        x = tf.constant(0.7)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(int64(4), x)
        return float(y), float(tape.gradient(y, x))

    wanted = slope(made.f)  # the loop gives more from now on
    assert made.f.get_concrete_function().graph.as_graph_def().node
    tf.saved_model.save(made, tmp_path)
    assert slope(tf.saved_model.load(tmp_path).f) == wanted == slope(made.f)
