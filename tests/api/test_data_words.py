"""What datasets say and keep to where TensorFlow's own tests of tf.data look: errors, ends, states, tables of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def failing(x: Any) -> Any:
    return tf.debugging.check_numerics(1.0 / tf.cast(x, tf.float32), "bad")


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda d: d.map(failing), "MapDataset"),
        (lambda d: d.map(failing, 2), "ParallelMapDataset"),
        (lambda d: d.filter(lambda x: failing(x) > 0), "FilterDataset"),
        (lambda d: d.flat_map(lambda x: Dataset.from_tensors(failing(x))), "FlatMapDataset"),
        (lambda d: d.interleave(lambda x: Dataset.from_tensors(failing(x))), "InterleaveDataset"),
        (lambda d: d.scan(0.0, lambda s, x: (s, failing(x))), "ScanDataset"),
    ],
)
def test_an_error_in_a_function_says_which_dataset_it_is_of(made: Any, name: str) -> None:
    iterator = iter(made(Dataset.range(2)))
    with pytest.raises(
        errors.InvalidArgumentError, match=rf"passed to {name} transformation with iterator: .*(?s:.*)bad"
    ):
        next(iterator)
    assert name != "MapDataset" or next(iterator).numpy() == 1.0  # and it goes on


def test_the_end_of_an_iterator_inside_of_a_function_is_not_the_end() -> None:
    def ending(x: Any) -> Any:
        raise StopIteration

    dataset = Dataset.range(3).map(lambda x: tf.numpy_function(ending, [x], tf.int64))
    with pytest.raises(errors.InvalidArgumentError, match="produced OutOfRangeError"):
        next(iter(dataset))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (3, "elements. Got `tf.int32` elements"),
        (Dataset.from_tensors(0), "Got a dataset of `tf.int32` elements"),
        (Dataset.from_tensors([["a", "b"]]), r"of shape \[\] \(i.e. scalars\)"),
    ],
)
def test_names_of_files_are_strings(names: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        tf.data.TextLineDataset(names)


def test_a_file_of_another_size_is_refused_before_its_first_record(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    with pytest.raises(errors.InvalidArgumentError, match="body length 9 bytes"):
        next(iter(tf.data.FixedLengthRecordDataset(str(tmp_path / "f"), 4, 1, 1)))


def test_arrays_of_a_numpy_iterator_are_read_only_and_checkpoints_keep_it(tmp_path: Path) -> None:
    dataset = Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]])
    iterator = dataset.as_numpy_iterator()
    with pytest.raises(ValueError, match="read-only"):
        next(iterator)[0] = 0
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "c"))
    assert next(iterator).tolist() == [3, 4]
    again = dataset.as_numpy_iterator()
    tf.train.Checkpoint(iterator=again).read(path)
    assert next(again).tolist() == [3, 4]


def test_evaluated_composites_are_elements() -> None:
    sparse = tf.compat.v1.SparseTensorValue(np.array([[0, 1]]), np.array([4.0]), np.array([2, 3]))
    ragged = tf.ragged.constant([[1], [2, 3]])
    value = tf.compat.v1.ragged.RaggedTensorValue(ragged.values.numpy(), ragged.row_splits.numpy())
    dataset = Dataset.from_tensors({"s": sparse, "r": value})
    assert dataset.element_spec["s"] == tf.SparseTensorSpec([2, 3], tf.float64)
    (element,) = dataset
    assert element["r"].to_list() == [[1], [2, 3]]
    assert tf.sparse.to_dense(element["s"]).numpy().tolist() == [[0, 4, 0], [0, 0, 0]]


def test_datasets_zipped_stay_in_step_beside_an_error() -> None:
    first = Dataset.range(4).map(lambda x: failing(tf.abs(x - 1)))
    found = Dataset.zip(first, Dataset.range(4)).ignore_errors()
    assert [(float(x), int(y)) for x, y in found] == [(1.0, 0), (1.0, 2), (0.5, 3)]


def test_reduce_in_a_function_with_a_state_that_grows() -> None:
    @tf.function
    def grown(n: Any) -> Any:
        return Dataset.range(n).reduce(tf.zeros([1, 2]), lambda s, x: tf.concat([s, tf.ones([1, 2])], 0))

    @tf.function
    def last(n: Any) -> Any:
        start = tf.SparseTensor([[0]], [0], [9])
        made = Dataset.range(n).map(lambda x: tf.sparse.from_dense(tf.one_hot(tf.stack([x, x]), 9, dtype=tf.int32)[0]))
        return tf.sparse.to_dense(made.reduce(start, lambda state, x: x))

    assert grown(tf.constant(3, tf.int64)).shape == [4, 2]
    assert last(tf.constant(3, tf.int64)).numpy().tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]
    with pytest.raises(errors.InvalidArgumentError, match="reduce_func"):
        Dataset.range(5).reduce(0, lambda state, x: ())


def test_cardinalities_of_what_groups_and_turns_infinite_ones() -> None:
    endless = Dataset.range(1).repeat()
    grouped = endless.group_by_window(lambda x: x, lambda key, window: window.batch(2), 2)
    at_once = endless.interleave(lambda x: Dataset.range(2), num_parallel_calls=2)
    assert int(grouped.cardinality()) == int(at_once.cardinality()) == tf.data.INFINITE_CARDINALITY
    turned = endless.interleave(lambda x: Dataset.range(2))
    assert int(turned.cardinality()) == tf.data.UNKNOWN_CARDINALITY

    def too_many(key: Any, window: Any) -> Any:
        iterator = iter(window)
        return Dataset.from_tensor_slices([next(iterator) for _ in range(2)])

    with pytest.raises(errors.InternalError, match="OUT_OF_RANGE: function too_many"):
        next(iter(Dataset.range(1).group_by_window(lambda x: x, too_many, 2)))


@pytest.mark.parametrize(
    ("dataset", "shapes", "kind", "words"),
    [
        (Dataset.range(3), [1], ValueError, r"\(1,\) is not compatible with the shape \(\) of the corresponding"),
        (Dataset.from_tensors([1]), tf.constant([1.5]), TypeError, "its element type was float32"),
        (Dataset.from_tensors(tf.ragged.constant([[1]])), None, TypeError, "not a subclass of TensorSpec: `Ragged"),
        (Dataset.range(3).window(2), None, TypeError, "not supported for datasets of datasets"),
    ],
)
def test_what_cannot_be_padded(dataset: Any, shapes: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        dataset.padded_batch(2, shapes)


def test_tables_and_records_from_datasets(tmp_path: Path) -> None:
    pairs = Dataset.from_tensor_slices((["a", "b"], [3, 4]))
    table = tf.lookup.StaticHashTable(experimental.DatasetInitializer(pairs), -1)
    assert table.lookup(tf.constant(["b", "c"])).numpy().tolist() == [4, -1]
    with pytest.raises(ValueError, match="in the form"):
        experimental.DatasetInitializer(pairs.batch(2))
    path = str(tmp_path / "r")
    words = Dataset.from_tensor_slices(["x", "yy"])
    experimental.TFRecordWriter(path).write(words)
    assert list(tf.data.TFRecordDataset(path).as_numpy_iterator()) == [b"x", b"yy"]

    @tf.function
    def write() -> Any:
        experimental.TFRecordWriter(path, "GZIP").write(words.repeat(2))
        return 1

    write()
    assert len(list(tf.data.TFRecordDataset(path, "GZIP"))) == 4
    for wrong in ("no dataset", Dataset.range(3), words.batch(2)):
        with pytest.raises(TypeError, match="Invalid `dataset"):
            experimental.TFRecordWriter(path).write(wrong)


def test_mixed_arguments_of_zip_and_unknown_lists_of_types() -> None:
    with pytest.raises(TypeError, match="cannot be set"):
        Dataset.zip(Dataset.range(1), datasets=(Dataset.range(1),))
    with pytest.raises(TypeError, match=r"\[tf.int64\] to a TensorFlow DType"):
        Dataset.from_generator(lambda: iter([1]), output_types=[tf.int64])
    made = Dataset.range(100).rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], np.array([0.5, 0.5]))
    assert len(list(made)) == 100


def test_a_pass_of_many_small_batches_costs_each_the_same() -> None:
    assert sum(1 for _ in Dataset.range(3000).batch(2).rebatch([1, 2])) == 2000
    iterator = iter(Dataset.range(40_000).batch(100).rebatch([1]))
    for _ in range(20_000):  # what a batch keeps for the next ones does not grow
        next(iterator)
    assert next(iterator).numpy().tolist() == [20_000]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [([0, 2], [[], [0, 1], [], [2]]), ([2, 0], [[0, 1], [], [2]]), ([1, 0, 5], [[0], [], [1, 2]])],
)
def test_batches_of_no_elements_among_others(sizes: list[int], wanted: list[list[int]]) -> None:
    dataset = Dataset.range(3).batch(2).rebatch(sizes)
    assert dataset.element_spec.shape.as_list() == [None]
    assert [batch.tolist() for batch in dataset.as_numpy_iterator()] == wanted
    with pytest.raises(errors.InvalidArgumentError, match="at least 0"):
        Dataset.range(3).batch(2).rebatch([2, -1])


def test_sizes_that_a_function_has_as_constants_are_known() -> None:
    @tf.function
    def made(n: Any) -> Any:
        batches = Dataset.range(n).batch(tf.constant(2, tf.int64), drop_remainder=True)
        assert batches.element_spec.shape.as_list() == [2]
        return batches.reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.reduce_sum(x))

    assert int(made(tf.constant(5, tf.int64))) == 6


def test_a_quoted_field_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('1,"2')
    with pytest.raises(errors.InvalidArgumentError, match="without closing quoted field"):
        list(experimental.CsvDataset(str(tmp_path / "f"), [tf.int32, tf.string]))


def test_shapes_of_padded_batches_that_a_function_has_as_constants() -> None:
    @tf.function
    def made(n: Any) -> Any:
        batches = Dataset.range(n).map(lambda x: tf.fill([2, x], x)).padded_batch(3, tf.constant([-1, 7], tf.int64))
        assert batches.element_spec.shape.as_list() == [None, None, 7]
        return batches.reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.reduce_sum(x))

    assert int(made(tf.constant(4, tf.int64))) == 2 * (1 + 4 + 9)


@pytest.mark.parametrize("what", ["random", "variable"])
def test_a_pass_whose_function_has_a_state_is_not_saved(what: str, tmp_path: Path) -> None:
    counter = tf.Variable(0, dtype=tf.int64)
    functions = {"random": lambda x: tf.random.uniform([]), "variable": lambda x: counter.assign_add(x)}
    iterator = iter(Dataset.range(5).map(functions[what]).batch(2))
    next(iterator)
    with pytest.raises(errors.FailedPreconditionError, match="MapDataset is stateful"):
        tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "c"))
    fixed = iter(Dataset.range(5).map(lambda x: x + counter).shuffle(5))
    tf.train.Checkpoint(iterator=fixed).save(str(tmp_path / "c"))


@pytest.mark.parametrize(("n", "options", "words"), [
    (2, {}, "Expect 2 fields but have more in record"),
    (4, {}, "Expect 4 fields but have 3 in record"),
    (1, {"exclude_cols": [0]}, "Expect 1 fields but have more in record"),
    (3, {"exclude_cols": [1]}, "Expect 3 fields but have 2 in record"),
    (2, {"exclude_cols": [7]}, "Expect 2 fields but have more in record"),
    (2, {"select_cols": [0, 5]}, "Expect 2 fields but have 1 in record"),
    (2, {"exclude_cols": [1]}, None),
    (3, {"exclude_cols": [7]}, None),
])  # fmt: skip
def test_rows_have_the_columns_that_are_asked_for(n: int, options: Any, words: str | None, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1,2,3\n")
    dataset = experimental.CsvDataset(str(tmp_path / "f"), [tf.int32] * n, **options)
    if words is None:
        assert [int(x) for x in next(iter(dataset))] == ([1, 2, 3] if n == 3 else [1, 3])
        return
    with pytest.raises(errors.InvalidArgumentError, match=words):
        next(iter(dataset))


def test_lists_of_elements_of_several_shapes() -> None:
    dataset = experimental.from_list([np.zeros([1, 2]), np.ones([1, 3])])
    assert dataset.element_spec == tf.TensorSpec([1, None], tf.float64)
    assert [x.numpy().tolist() for x in dataset] == [[[0, 0]], [[1, 1, 1]]]
    with pytest.raises(TypeError, match="Incompatible dataset elements"):
        experimental.from_list([1, 2.0])


def test_lists_of_datasets_are_datasets_of_datasets() -> None:
    several = Dataset.from_tensor_slices([Dataset.range(n).map(lambda x: {"x": x}) for n in (2, 3)])
    assert several.element_spec.element_spec == {"x": tf.TensorSpec([], tf.int64)}
    assert [int(row["x"]) for row in several.flat_map(lambda d: d)] == [0, 1, 0, 1, 2]


def test_a_batch_of_a_map_that_fails_is_taken_whole() -> None:
    def failing(x: np.int64) -> np.int64:
        if x >= 15:
            raise ValueError(x)
        return x

    mapped = Dataset.range(30).map(lambda x: tf.numpy_function(failing, [x], tf.int64))
    batches = iter(mapped.batch(10))
    assert next(batches).numpy().tolist() == list(range(10))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError):
            next(batches)
    assert next(batches, None) is None


def test_keys_and_sizes_of_windows_are_scalars() -> None:
    two, dataset = tf.constant([0, 0], tf.int64), Dataset.range(4)
    reducer = experimental.Reducer(lambda _: np.int64(0), lambda s, x: s + x, lambda s: s)
    with pytest.raises(ValueError, match="Invalid `key_func`"):
        dataset.apply(experimental.group_by_reducer(lambda _: two, reducer))
    for other in ("a", 1, tf.constant(1)):
        with pytest.raises(ValueError, match="Invalid `key_func`"):
            dataset.apply(experimental.group_by_reducer(lambda _: other, reducer))  # noqa: B023
    for key, size, name in ((two, two[0], "key_func"), (two[0], two, "window_size_func")):
        with pytest.raises(ValueError, match=f"Invalid `{name}`"):
            dataset.group_by_window(lambda _: key, lambda _, d: d.batch(4), window_size_func=lambda _: size)  # noqa: B023


def test_states_of_reduce_grow() -> None:
    none: Any = tf.constant([], tf.int64)
    assert tf.data.Dataset.range(3).reduce(none, lambda s, x: tf.concat([s, [x]], 0)).numpy().tolist() == [0, 1, 2]
    assert tf.data.Dataset.range(3).reduce(tf.zeros([2, 1]), lambda s, x: tf.concat([s, s], 1)).shape == (2, 8)
    with pytest.raises(TypeError, match="must match the initial state"):
        tf.data.Dataset.range(3).reduce(0.0, lambda s, x: tf.cast(x, tf.int32))


def test_shapes_and_sizes_that_are_no_vectors() -> None:
    with pytest.raises(ValueError, match="vector"):
        tf.data.Dataset.range(3).padded_batch(2, padded_shapes=([None], [None]))
    with pytest.raises(ValueError, match="scalar or a vector"):
        tf.data.Dataset.range(3).batch(2).rebatch([[1]])
