"""What iterations give is stacked: rows whose extents are data, strings, rows of other extents, no rows."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

NUMBERS = tf.constant([[3, 1, 2, 1], [0, 0, 3, 3], [2, 2, 1, 3]])
WORDS = tf.constant([[b"one word here", b"two words here"], [b"three words here", b"four words here"]])


pytestmark = pytest.mark.usefixtures("tier")


def agree(function: Any, *args: Any) -> None:
    """The Function gives what the eager call gives, also once the memory around it has been used again."""
    expected = tf.nest.flatten(function(*args))
    staged = tf.function(function)
    for _ in range(3):
        given = tf.nest.flatten(staged(*args))
        junk = [b"something else %d" % k for k in range(1000)]
        del junk
        gc.collect()
        for one, other in zip(expected, given, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def mapped(function: Any, like: Any = tf.int32) -> Any:
    return lambda x: tf.map_fn(function, x, fn_output_signature=like)


@pytest.mark.slow
def test_rows_whose_extents_are_data() -> None:
    agree(mapped(lambda row: tf.math.bincount(row, minlength=5)), NUMBERS)
    agree(mapped(lambda row: tf.range(tf.reduce_max(row)) * 2), NUMBERS)
    agree(mapped(lambda row: (tf.unique(row)[0][:2], tf.sort(row)), (tf.int32, tf.int32)), NUMBERS)
    agree(mapped(lambda row: tf.cast(tf.boolean_mask(row, row > 0)[:2], tf.float32), tf.float32), NUMBERS)


def test_gradient_of_rows_whose_extents_are_data() -> None:
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.map_fn(lambda row: tf.boolean_mask(row, row > tf.reduce_min(row))[:2] ** 2, x)
            total = tf.reduce_sum(rows)
        return tape.gradient(total, x), rows

    agree(gradient, tf.constant([[3.0, 1.0, 2.0], [0.0, 5.0, 3.0]]))


@pytest.mark.slow
def test_strings() -> None:
    agree(mapped(tf.strings.upper, tf.string), WORDS)
    agree(mapped(lambda row: (tf.strings.split(row[0])[:2], tf.strings.length(row)), (tf.string, tf.int32)), WORDS)
    agree(lambda x: tf.scan(lambda a, b: tf.strings.join([a, b]), x), WORDS)
    agree(mapped(lambda row: mapped(lambda word: tf.strings.join([word, "!"]), tf.string)(row), tf.string), WORDS)
    agree(mapped(tf.strings.as_string, tf.string), tf.range(100000, 100040))


def test_no_rows() -> None:
    def none(x: Any) -> Any:
        array = tf.TensorArray(tf.string, 0, dynamic_size=True, element_shape=[2])
        for i in tf.range(tf.shape(x)[0]):
            array = array.write(i, tf.strings.upper(x[i]))
        return array.stack()

    assert tf.function(none)(WORDS[:0]).shape == [0, 2]
    rows = tf.function(mapped(lambda row: tf.range(tf.reduce_max(row)) * 2))(NUMBERS[:0])
    assert rows.shape[0] == 0 and rows.dtype == tf.int32


def test_rows_that_differ_are_refused() -> None:
    for function in (lambda row: tf.range(row[0]) * 2, lambda row: tf.zeros([row[0], 3 - row[0]], tf.int32)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="differ in shape"):
            tf.function(mapped(function))(tf.constant([[1], [2]]))


def test_strings_that_differ_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="differ in shape"):
        tf.function(mapped(lambda word: tf.strings.split(word), tf.string))(tf.constant(["a b", "c"]))


def test_rows_of_equal_bytes_and_other_extents_are_refused() -> None:
    def grown(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, 2, infer_shape=False)
        for i in tf.range(2):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, None]))])
            rows = rows.write(i, x)
            x = tf.transpose(x)
        return rows.stack()

    with pytest.raises(tf.errors.InvalidArgumentError, match="differ in shape"):
        tf.function(grown)(tf.ones([2, 3]))
