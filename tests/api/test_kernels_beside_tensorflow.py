"""What TensorFlow's tests of its kernels found to differ, once: gradients' kinds, missing checks, integers."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.errors import InvalidArgumentError

ROWS = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
AS_TENSORS = [
    (lambda x, n: tf.repeat(x, n, axis=0), [1, 2, 0], [[1, 1], [2, 2], [0, 0]]),
    (lambda x, n: tf.pad(x, n, "REFLECT"), [[1, 1], [0, 0]], [[1, 1], [3, 3], [1, 1]]),
    (lambda x, n: tf.pad(x, n, "SYMMETRIC"), [[1, 0], [0, 0]], [[2, 2], [1, 1], [1, 1]]),
    (lambda x, n: tf.sparse.segment_sum(x, n, [0, 0, 1]), [0, 2, 2], [[1, 1], [0, 0], [2, 2]]),
    (lambda x, n: tf.sparse.segment_mean(x, n, [0, 0, 1]), [0, 2, 2], [[0.5, 0.5], [0, 0], [1.5, 1.5]]),
    (lambda x, n: tf.sparse.segment_sqrt_n(x, n, [0, 1, 2], num_segments=3), [0, 1, 1], [[1, 1], [2, 2], [0, 0]]),
]


@pytest.mark.parametrize(("op", "amounts", "wanted"), AS_TENSORS)
@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_what_gathers_rows_inside_are_tensors(op, amounts, wanted, known):
    def slope(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = op(x, n)
        return tape.gradient(y, x)

    found = slope(ROWS, amounts) if known else tf.function(slope)(ROWS, tf.constant(amounts))
    assert isinstance(found, tf.Tensor)
    assert found.numpy().tolist() == wanted


def test_the_gradient_of_sparse_segments_is_slices_where_that_is_asked_for():
    with tf.GradientTape() as tape:
        tape.watch(ROWS)
        y = tf.sparse.segment_sum(ROWS, [0, 2, 2], [0, 0, 1], sparse_gradient=True)
    found = tape.gradient(y, ROWS)
    assert isinstance(found, tf.IndexedSlices)
    assert tf.convert_to_tensor(found).numpy().tolist() == [[1, 1], [0, 0], [2, 2]]


def test_gradient_operations_take_integers():
    t = np.broadcast_to(np.arange(7), (3, 2, 1, 7))
    by = [[1, 1], [0, 0], [0, 0], [2, 2]]
    found = tf.raw_ops.MirrorPadGrad(input=t, paddings=by, mode="SYMMETRIC")
    assert found.dtype == tf.int64
    assert found.numpy().tolist() == [[[[9, 27, 27]], [[9, 27, 27]]]]


def test_partitions_are_stacked_whatever_the_dtype_of_row_splits():
    data = tf.ragged.constant([["a", "b"], ["c"]], row_splits_dtype=tf.int32)
    found = tf.ragged.stack_dynamic_partitions(data, tf.constant([0, 1], tf.int64), 2)
    assert found.to_list() == [[[b"a", b"b"]], [[b"c"]]]
    assert found.row_splits.dtype == tf.int32


def offsets(axis, *shapes):
    return [each.numpy().tolist() for each in tf.raw_ops.ConcatOffset(concat_dim=axis, shape=shapes)]


def test_offsets_of_what_is_concatenated():
    assert offsets(-2, [2, 3, 5], [2, 7, 5], [2, 1, 5]) == [[0, 0, 0], [0, 3, 0], [0, 10, 0]]


REFUSED = [
    (lambda: offsets(1, [2, 3, 5], [2, 7, 10]), InvalidArgumentError, "All dimensions except 1 must match. Input 1"),
    (lambda: offsets(4, [2, 3, 5], [2, 7, 5]), InvalidArgumentError, "out of range: 4 vs. 3"),
    (
        lambda: offsets(1, [2, 3, 5], [2, 7, 5, 10]),
        InvalidArgumentError,
        "input 1 should contain 3 elements, but got 4",
    ),
    (lambda: offsets(1, [[2, 3]], [[2, 3]]), InvalidArgumentError, "input 0 should be a vector"),
    (lambda: tf.ragged.stack_dynamic_partitions([1, 2], [-1, 0], 2), InvalidArgumentError, "must be non-negative"),
    (lambda: tf.linalg.tensor_diag(1.0), InvalidArgumentError, "at least rank 1, got 0"),
    (lambda: tf.ragged.cross([tf.ones([2, 2, 2], "int64")]), InvalidArgumentError, "rank=2"),
    (lambda: tf.ragged.cross([tf.ones([2], "int64")]), InvalidArgumentError, "rank=2"),
    (lambda: tf.ragged.cross_hashed([tf.ragged.constant([[[1]]])]), ValueError, "rank=2"),
    (lambda: tf.sparse.segment_sum(1.0, [0], [0]), InvalidArgumentError, "at least rank 1"),
    (
        lambda: tf.nn.fractional_max_pool(ROWS[None, :, :, None], [1, 20, 1, 1]),
        InvalidArgumentError,
        "higher than input",
    ),
    (lambda: tf.ragged.cross([tf.ones([2, 2])]), ValueError, "Unexpected dtype for inputs.0."),
    (
        lambda: tf.sparse.bincount(tf.SparseTensor([[0, 0], [5, 0]], [1, 2], [2, 2]), axis=-1),
        InvalidArgumentError,
        "5 is out of bounds",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_what_does_not_fit_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_numpys_methods_are_named_with_the_way_to_have_them():
    with pytest.raises(AttributeError, match="experimental_enable_numpy_behavior"):
        tf.constant([1.0]).T
