"""Passes over datasets of which some elements are errors: which error, whose line, and what comes after, as TensorFlow."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

Dataset = tf.data.Dataset
experimental = tf.data.experimental
WRONG = "InvalidArgumentError"


def drained(dataset: Any) -> list[Any]:
    """The elements and the classes of the errors among them."""
    found: list[Any] = []
    elements = iter(dataset)
    while True:
        try:
            found.append(np.asarray(next(elements)).tolist())
        except StopIteration:
            return found
        except errors.OpError as error:
            found.append(type(error).__name__)


def without(number: int) -> Any:
    """A function that gives what it gets, and an error for one number."""

    def checked(value: Any) -> Any:
        if value == number:
            raise ValueError(f"no {number}")
        return value

    return lambda x: tf.numpy_function(checked, [x], x.dtype)


def numbers(*given: int) -> Any:
    return Dataset.from_tensor_slices(np.array(given))


def test_skip_begins_again_after_an_error() -> None:
    assert drained(Dataset.range(7).map(without(3)).skip(2)) == [2, WRONG, 4, 5, 6]
    assert drained(Dataset.range(7).map(without(3)).skip(5)) == [WRONG]
    assert drained(Dataset.range(9).map(without(3)).skip(5)) == [WRONG]
    assert drained(Dataset.range(10).map(without(3)).skip(5)) == [WRONG, 9]


def times(x: Any) -> Any:
    return Dataset.from_tensors(x).repeat(x)


def test_a_parallel_interleave_has_a_turn_for_an_error() -> None:
    made = numbers(4, 5, 6, 2).map(without(5))
    assert drained(made.interleave(times, 2, 1)) == [4, WRONG, 6, 4, 6, 4, 6, 4, 6, 6, 2, 6, 2]
    turns = [4, WRONG, 4, 4, 6, 4, 6, 6, 2, 6, 2, 6, 6]
    assert drained(made.interleave(times, 2, 1, num_parallel_calls=2)) == turns
    assert drained(made.apply(experimental.parallel_interleave(times, 2))) == turns
    of_function = numbers(4, 5, 6, 2).interleave(lambda x: times(without(5)(x)), 3, 2, num_parallel_calls=2)
    assert drained(of_function) == [4, 4, WRONG, 6, 6, 4, 4, 2, 2, 6, 6, 6, 6]
    inner = numbers(4, 5, 6, 2).interleave(lambda x: Dataset.range(x + 1).map(without(5)), 2, 2, num_parallel_calls=2)
    assert drained(inner) == [0, 1, 0, 1, 2, 3, 2, 3, 4, 4, WRONG, 0, 1, 2, 3, 0, 1, 4, WRONG, 2, 6]
    with pytest.raises(errors.InvalidArgumentError, match="num_parallel_calls"):
        made.interleave(times, 2, num_parallel_calls=0)


def test_what_a_generator_raises_is_unknown_and_names_its_line() -> None:
    def elements() -> Any:
        yield 1
        raise errors.NotFoundError(None, None, "words")

    dataset = Dataset.from_generator(elements, output_signature=tf.TensorSpec([], tf.int32))
    assert drained(dataset) == [1, "UnknownError"]
    with pytest.raises(errors.UnknownError, match=r'words(.|\n)*test_data_after_errors\.py", line \d+, in elements'):
        list(dataset)


def test_ranges_of_small_integers_take_the_low_bits() -> None:
    assert drained(Dataset.range(254, 258, output_type=tf.uint8)) == [254, 255, 0, 1]
    assert drained(Dataset.range(254, 258, output_type=tf.uint8).batch(4)) == [[254, 255, 0, 1]]
    assert drained(Dataset.range(-1, 1, output_type=tf.uint64)) == [2**64 - 1, 0]
    for dtype in (tf.string, tf.bool):
        for dataset in (Dataset.range(2, output_type=dtype), Dataset.range(2, output_type=dtype).batch(2)):
            with pytest.raises(errors.InvalidArgumentError, match="Unsupported data type"):
                list(dataset)


def test_cardinalities_have_an_end() -> None:
    huge = Dataset.range(2**62).repeat(4)
    assert int(huge.cardinality()) == 2**63 - 1
    assert (
        int(tf.function(lambda n: Dataset.range(n).repeat(4).cardinality())(tf.constant(2**62, tf.int64))) == 2**63 - 1
    )
    assert int(Dataset.from_tensors(tf.range(0)).unbatch().cardinality()) == tf.data.UNKNOWN_CARDINALITY


def test_a_cardinality_that_is_wrong_is_said_in_words() -> None:
    counted = lambda n, said: Dataset.range(n).apply(experimental.assert_cardinality(said))
    for n, said, words in (
        (9, 1, "1 element but contained at least 2 elements"),
        (1, 2, "contained only 1 element\\."),
    ):
        with pytest.raises(errors.FailedPreconditionError, match=words):
            list(counted(n, said))
    for said, place, kind in ((10, 10, errors.OutOfRangeError), (10, 5, errors.FailedPreconditionError)):
        with pytest.raises(kind):
            experimental.at(counted(5, said), place)
    assert int(experimental.at(counted(5, 10), 3)) == 3


def test_only_known_cardinalities_are_filled_up() -> None:
    one = Dataset.from_tensors({"a": 1})
    for dataset, n in ((one.repeat(), -1), (one.filter(lambda _: True), -2)):
        with pytest.raises(ValueError, match=f"known cardinalty, but has cardinality {n}"):
            dataset.apply(experimental.pad_to_cardinality(5))
    with pytest.raises(ValueError, match="less than the target"):
        one.repeat(5).apply(experimental.pad_to_cardinality(2))
    filled = tf.function(lambda n: one.repeat(n).apply(experimental.pad_to_cardinality(5)).cardinality())
    assert int(filled(tf.constant(2, tf.int64))) == 5


def test_sizes_of_padded_batches_are_counts_or_open() -> None:
    rows = Dataset.range(3).map(lambda x: tf.fill([x], x))
    assert drained(rows.padded_batch(3, [-1])) == [[[0, 0], [1, 0], [2, 2]]]
    for given in ([-2], tf.constant([-5], tf.int64)):
        with pytest.raises(ValueError, match="must be >= 0"):
            rows.padded_batch(3, given)
    grouped = rows.group_by_window(
        lambda x: tf.size(x, tf.int64), lambda _, w: w.padded_batch(2, tf.constant([5], tf.int64) * -1), 2
    )
    with pytest.raises(errors.InternalError, match="INVALID_ARGUMENT(.|\n)*Dimension -5 must be >= -1"):
        list(grouped)
    for wrong in ([3.5], ["a"]):
        with pytest.raises(TypeError, match="must be a `tf.int64` vector tensor"):
            rows.padded_batch(3, wrong)


def test_a_loop_that_tracing_cannot_end_is_a_value_error() -> None:
    def forever(dataset: Any) -> None:
        for _ in dataset:
            pass

    with pytest.raises(ValueError, match="unrolled"):
        tf.function(forever, autograph=False)(Dataset.range(3))


def test_files_of_values_without_a_header_and_defaults_without_a_place(tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    (tmp_path / "rows").write_text("a,b\n1,2\n")
    with pytest.raises(errors.InvalidArgumentError, match="Can't read header"):
        list(experimental.CsvDataset(str(tmp_path / "none"), [[0]] * 2, header=True))
    for default, words in (([[0]], "at most rank 1"), ([0, 1], "field 0 has 2")):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            experimental.CsvDataset(str(tmp_path / "rows"), [tf.constant(default)] * 2)
    for kind, words in (("ZLIB", "not supported for probing"), ("X", "unknown `compression_type` X")):
        with pytest.raises(ValueError, match=words):
            experimental.make_csv_dataset(str(tmp_path / "rows"), 1, compression_type=kind)


def test_queries_of_one_column_and_none(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers")
    with sqlite3.connect(path) as connection:
        connection.execute("create table numbers (n int)")
        connection.executemany("insert into numbers values (?)", [(0,), (1,), (2,)])
    dataset = experimental.SqlDataset("sqlite", path, "select * from numbers", tf.int32)
    assert dataset.element_spec == tf.TensorSpec([], tf.int32) and drained(dataset.batch(2)) == [[0, 1], [2]]
    for query, n in (("insert into numbers values (3)", 0), ("select n, n from numbers where n > 9", 2)):
        with pytest.raises(errors.InvalidArgumentError, match=rf"columns in query \({n}\) must match .* \(1\)"):
            list(experimental.SqlDataset("sqlite", path, query, tf.int32))
    assert len(drained(dataset)) == 3
