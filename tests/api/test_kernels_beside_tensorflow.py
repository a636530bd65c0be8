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


# ---- raw operations


def test_a_slice_is_written_over_by_what_broadcasts():
    with tf.GradientTape() as tape:
        x, value = tf.constant(np.arange(6.0)), tf.constant([1.0], tf.float64)
        tape.watch([x, value])
        y = tf.raw_ops.TensorStridedSliceUpdate(input=x, begin=[0], end=[4], strides=[1], value=value)
        z = tf.reduce_sum(y * y)
    assert y.numpy().tolist() == [1, 1, 1, 1, 4, 5]
    of_x, of_value = tape.gradient(z, [x, value])
    assert of_x.numpy().tolist() == [0, 0, 0, 0, 8, 10] and of_value.numpy().tolist() == [8]


def test_slices_with_nan_are_all_different():
    for dtype in ("float32", "float16"):
        x = tf.constant([0.0, 1.0, np.nan, -0.0, np.nan], dtype)
        found = tf.raw_ops.UniqueWithCountsV2(x=x, axis=np.array([], np.int32))
        assert found.idx.numpy().tolist() == [0, 1, 2, 0, 3] and found.count.numpy().tolist() == [2, 1, 1, 1]
    assert tf.raw_ops.UniqueV2(x=[[0.0, np.nan], [0.0, np.nan]], axis=[0]).idx.numpy().tolist() == [0, 1]


def test_quantised_numbers_are_equal_by_their_steps():
    for dtype in (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32):
        x, y = tf.cast(tf.constant([1, 2]), dtype), tf.cast(tf.constant([1, 3]), dtype)
        assert tf.equal(x, y).numpy().tolist() == [True, False]
        assert tf.function(tf.not_equal)(x, y).numpy().tolist() == [False, True]


def test_gradients_of_fractional_poolings():
    bounds = {"row_pooling_sequence": [0, 2, 4], "col_pooling_sequence": [0, 2, 4]}
    dy = tf.constant([[[[1.0], [2.0]], [[3.0], [4.0]]]])
    x, y = tf.reshape(tf.range(16.0), [1, 4, 4, 1]), tf.constant([[[[5.0], [7.0]], [[13.0], [15.0]]]])
    dx = tf.raw_ops.FractionalMaxPoolGrad(orig_input=x, orig_output=y, out_backprop=dy, **bounds)
    assert dx[0, :, :, 0].numpy().tolist() == [[0, 0, 0, 0], [0, 1, 0, 2], [0, 0, 0, 0], [0, 3, 0, 4]]
    dx = tf.raw_ops.FractionalAvgPoolGrad(orig_input_tensor_shape=[1, 4, 4, 1], out_backprop=dy, **bounds)
    rows = [[0.25, 0.25, 0.5, 0.5]] * 2 + [[0.75, 0.75, 1, 1]] * 2
    assert dx[0, :, :, 0].numpy().tolist() == rows


def test_rows_without_widths_are_one_ngram():
    given = {"data": ["1", "2", "3"], "separator": "-", "left_pad": "<", "right_pad": ">", "ngram_widths": []}

    def found(pad_width, preserve):
        ngrams = tf.raw_ops.StringNGrams(
            data_splits=[0, 1, 3], pad_width=pad_width, preserve_short_sequences=preserve, **given
        )
        return list(ngrams[0].numpy())

    assert found(0, True) == [b"1", b"2-3"] and found(2, True) == [b"<-<-1->->", b"<-<-2-3->->"]
    assert found(0, False) == []


def _ngrams(splits, **given):
    said = {"separator": "", "left_pad": "", "right_pad": "", "pad_width": 0, "preserve_short_sequences": True}
    return tf.raw_ops.StringNGrams(data=["a", "b"], data_splits=splits, **{**said, "ngram_widths": [1], **given})


def _max_pool_grad(y, dy):
    x, places = tf.ones([1, 2, 2, 2, 1]), [1, 2, 2, 2, 1]
    return tf.raw_ops.MaxPool3DGrad(
        orig_input=x, orig_output=tf.ones(y), grad=tf.ones(dy), ksize=places, strides=places, padding="VALID"
    )


_UNLIKE = r"Number of elements in indices \(1\) and values \(2\) do not match"
_PARTS = {"weights": np.zeros(0, np.int32), "minlength": -1, "maxlength": -1, "binary_output": False}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _ngrams([1, 2]), "First split value must be 0, got 1"),
        (lambda: _ngrams([0, 5]), r"Invalid split value 5, must be in \[0, 2\]"),
        (lambda: _ngrams([0, 1]), "Last split value must be data size. Expected 2, got 1"),
        (lambda: _ngrams([0, 2], ngram_widths=[0]), "ngram_widths must contain positive values"),
        (lambda: _ngrams([0, 2], ngram_widths=[], pad_width=-5), "Pad width should be >= 0 when"),
        (lambda: _ngrams([0, 2], ngram_widths=[2**30], pad_width=2**30), "Pad width could lead to integer overflow"),
        (lambda: tf.raw_ops.SobolSample(dim=2560, num_results=16384000, skip=0), r"num_results\*dim must be less"),
        (lambda: tf.math.sobol_sample(2, 3, 2**31 - 2), r"num_results\+skip must be less than 2147483647"),
        (lambda: _max_pool_grad([1, 2, 2, 2, 1], [1, 1, 1, 1, 1]), r"Expected orig_output shape to be \[1,1,1,1,1\]"),
        (lambda: _max_pool_grad([1, 1, 1, 1, 1], [1, 2, 1, 1, 1]), r"Expected grad shape to be \[1,1,1,1,1\]"),
        (
            lambda: tf.raw_ops.SparseReorder(input_indices=[[0, 0]], input_values=[1.0, 2.0], input_shape=[2, 3]),
            _UNLIKE,
        ),
        (
            lambda: tf.raw_ops.SparseSlice(
                indices=[[0, 0]], values=[1.0, 2.0], shape=[2, 3], start=[0, 0], size=[1, 1]
            ),
            _UNLIKE,
        ),
        (
            lambda: tf.raw_ops.SparseCountSparseOutput(indices=[[0]], values=[1, 2], dense_shape=[3], **_PARTS),
            _UNLIKE,
        ),
    ],
)  # fmt: skip
def test_raw_operations_refuse_what_does_not_fit(call, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call()


# ---- public functions


def test_complex_matrices_over_a_real_norm():
    x = tf.constant([[1 + 1j, 2], [3, 4j]], tf.complex128)
    found, norm = tf.linalg.normalize(x, ord=1, axis=(-2, -1))
    assert norm.dtype == tf.complex128 and norm.numpy().tolist() == [[6]]
    np.testing.assert_allclose(found.numpy() * 6, x.numpy())


def test_features_of_any_name_have_defaults_in_functions():
    features = {"a:b c": tf.io.FixedLenFeature([], tf.int64, default_value=3)}
    text = tf.constant(tf.train.Example().SerializeToString())
    assert int(tf.function(lambda x: tf.io.parse_single_example(x, features)["a:b c"])(text)) == 3


def test_values_of_frames_and_names_of_files_are_checked():
    with pytest.raises(ValueError, match="must have rank 0"):
        tf.signal.frame([1], 1, 1, pad_end=True, pad_value=[1])
    line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    with pytest.raises(ValueError, match="string"):
        tf.lookup.TextFileInitializer(tf.constant(1), tf.string, line, tf.int64, number)


def test_cond_of_tensorflow_1_takes_what_is_alone_out_of_its_list():
    def branches():
        return tf.constant(True), lambda: [tf.constant(10)], lambda: [tf.constant(20)]

    cond = tf.compat.v1.cond
    assert int(cond(*branches())) == 10 and isinstance(cond(*branches(), strict=True), list)
    assert isinstance(tf.function(lambda: cond(*branches()))(), list)
    with pytest.raises(TypeError, match="simultaneously"):
        cond(*branches(), fn1=lambda: 1)


def test_a_part_may_be_what_the_others_leave():
    parts = tf.raw_ops.SplitV(value=tf.range(9), size_splits=[3, 2, -1], axis=0, num_split=3)
    assert [each.numpy().tolist() for each in parts] == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
