"""What comparing every op with TensorFlow (tests/oracle) found to differ, once: values, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.errors import InvalidArgumentError

TEXTS = [
    ("tf.as_string([1.5, -2.25, 100.0], precision=2, width=8, fill='0')", [b"00001.50", b"-0002.25", b"00100.00"]),
    ("tf.as_string([5, -7], width=5, fill='0')", [b"00005", b"-0007"]),
    ("tf.as_string([1.5, -2.25], precision=2, width=8, fill='+')", [b"   +1.50", b"   -2.25"]),
    ("tf.as_string([1.5, -2.25], precision=2, width=8, fill='-')", [b"1.50    ", b"-2.25   "]),
    ("tf.as_string([1.5], fill='+')", [b"+1.500000"]),
    ("tf.as_string([5], fill=' ')", [b" 5"]),
    ("tf.as_string([True], width=8)", [b"true"]),
    ("tf.as_string(['a'], width=5)", [b"    a"]),
    ("tf.as_string([1 + 2j], width=8, precision=2)", [b"(    1.00,    2.00)"]),
    ("tf.as_string([float('inf'), -float('inf')], width=8, fill='0')", [b"     inf", b"    -inf"]),
]


@pytest.mark.parametrize(("text", "wanted"), TEXTS, ids=[t[0] for t in TEXTS])
def test_numbers_as_text(text: str, wanted: Any) -> None:
    assert eval(text).numpy().tolist() == wanted


VALUES = [
    ("tf.math.divide_no_nan(tf.constant([2 + 2j, 1j]), tf.constant([1 + 1j, 0j]))", "complex128", [2, 0]),
    ("tf.math.reciprocal_no_nan(tf.constant([2j, 0j], 'complex64'))", "complex64", [-0.5j, 0]),
    ("tf.math.multiply_no_nan([1.0, np.inf], [2, 0])", "float32", [2.0, 0.0]),
    ("tf.linspace(0.0, [1.0, 2.0], 3)", "float32", [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]]),
    ("tf.linspace(0.0, tf.constant([[1.0, 2.0]]), 3, axis=-1)", "float32", [[[0.0, 0.5, 1.0], [0.0, 1.0, 2.0]]]),
    ("tf.linspace(tf.constant(0), tf.constant(5), 3)", "float64", [0.0, 2.5, 5.0]),
    ("tf.debugging.assert_scalar(1.0) is None", None, True),
    ("tf.signal.rfft(tf.zeros([2, 0]))", "complex64", np.zeros([2, 0])),
    ("tf.signal.irfft(tf.zeros([2, 0], 'complex64'))", "float32", np.zeros([2, 0])),
    ("tf.signal.irfft2d(tf.zeros([3, 0], 'complex64'))", "float32", np.zeros([3, 0])),
    ("tf.signal.overlap_and_add(tf.zeros([2, 0, 5]), 2)", "float32", np.zeros([2, 3])),
    ("tf.signal.inverse_stft(tf.zeros([0, 5], 'complex64'), 8, 4)", "float32", np.zeros([4])),
    ("tf.signal.inverse_mdct(tf.zeros([2, 0]))", "float32", np.zeros([0])),
    ("tf.nn.compute_average_loss(tf.zeros([0]))", "float32", 0.0),
    ("tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=0)", "float32", 0.0),
    ("tf.nn.scale_regularization_loss(tf.constant([1, 2]))", "float64", 3.0),
    ("tf.nn.scale_regularization_loss(tf.constant([1, 2], 'int8'))", "float32", 3.0),
    ("tf.signal.dct(np.float64([1.0, 2.0]), 3)", "float64", [1 + 2 * np.sqrt(2), 1 - 2 * np.sqrt(2)]),
    *[
        (f"{call.format(f'[13.5, 2.7, 99.9, 5.0], {t!r}', f'[0.3, 0.9, 0.1, -0.3], {t!r}')}", t, [45, 3, most, last])
        for t, most in (("float16", 999), ("bfloat16", 1000))
        for call, last in (
            ("tf.constant({}) // tf.constant({})", -17),
            ("tf.truncatediv(tf.constant({}), tf.constant({}))", -16),
        )
    ],
    ("tf.sparse.add(tf.compat.v1.SparseTensorValue([[0, 1]], [5], [1, 2]), tf.constant([[1, 2]]))", "int32", [[1, 7]]),
    ("tf.ragged.range(1136033460, -2110457150, -1849827689).flat_values", "int32", [1136033460, -713794229]),
    ("tf.compat.v1.losses.sigmoid_cross_entropy([[1, 0]], np.array([[0.1, 0.3]]))", "float64", 0.749376),
    ("tf.compat.v1.losses.softmax_cross_entropy([[1, 0]], np.array([[0.1, 0.3]]))", "float64", 0.798139),
    ("tf.compat.v1.random.stateless_multinomial([[0.0, 99.0]], 2, [1, 2], tf.int32)", "int32", [[1, 1]]),
    ("tf.strings.length([b'\\x80a\\x80\\xc3', b'\\xff\\xfe\\xe2\\x82z'], 'UTF8_CHAR')", "int32", [2, 4]),
    ("tf.strings.length('\u20ac', b'UTF8_CHAR')", "int32", 1),
    ("tf.strings.length(tf.strings.lower('A', b''))", "int32", 1),
    ("tf.strings.length(tf.strings.ngrams(['a', 'b'], 2, b'::'))", "int32", [4]),
    ("tf.strings.length(tf.strings.unicode_transcode('a', b'UTF-8', b'UTF-16-BE', b'strict'))", "int32", 2),
    ("tf.strings.unicode_decode('a', b'UTF-8')", "int32", [97]),
    ("tf.io.decode_csv('1;2', [1, 2], b';', na_value=b'')[1]", "int32", 2),
    ("tf.strings.length(tf.io.decode_compressed('a', b''))", "int32", 1),
    ("tf.reduce_mean(tf.ragged.constant([[4], [], [1, 8]]))", "float64", 13 / 3),
    ("tf.reduce_mean(tf.ragged.constant([[4], [], [1, 8]]), keepdims=True)", "float64", [[13 / 3]]),
    (
        "tf.image.resize(tf.RaggedTensor.from_tensor(tf.zeros([0, 5, 6, 3]), ragged_rank=2), (4, 2))",
        "float32",
        np.zeros([0, 4, 2, 3]),
    ),
    ("tf.ragged.constant([[1, 2], [3]]).to_tensor(shape=tf.TensorShape(None))", "int32", [[1, 2], [3, 0]]),
    ("tf.ragged.constant([[1, 2], [3]]).to_tensor(shape=tf.constant(-1))", "int32", [[1, 2], [3, 0]]),
    ("tf.repeat(3, 2, axis=0)", "int32", [3, 3]),
    ("tf.repeat(3, [2], axis=-1)", "int32", [3, 3]),
    ("tf.repeat(tf.zeros([0]), [], axis=0)", "float32", np.zeros([0])),
    ("tf.random.uniform([2, 0], 5, 1, tf.int64)", "int64", np.zeros([2, 0])),
    ("tf.random.stateless_uniform([0], [1, 2], 0, 0, tf.int32)", "int32", np.zeros([0])),
    ("tf.signal.fft(np.array([1, 0, 2]))", "complex64", np.fft.fft([1, 0, 2])),
    ("tf.signal.irfft(np.array([1, 0, 1]))", "float32", np.fft.irfft([1, 0, 1])),
    ("tf.signal.rfft([True, False])", "complex64", [1, 1]),
    ("tf.ragged.segment_ids_to_row_splits(np.array([0, 0, 2], 'int32'))", "int64", [0, 2, 2, 3]),
    ("tf.cast(tf.nn.collapse_repeated([[1, 1]], tf.constant([True]))[1], 'int32')", "int32", [1]),
]


@pytest.mark.parametrize(("text", "dtype", "wanted"), VALUES, ids=[v[0] for v in VALUES])
def test_values(text: str, dtype: Any, wanted: Any) -> None:
    got = eval(text)
    if dtype is None:
        assert got is wanted
        return
    assert got.dtype.name == dtype
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(tf.function(lambda: eval(text))().numpy(), wanted, rtol=1e-6)


def test_gradients() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = tf.math.nextafter(x, y) * [2.0, 3.0]
    dx, dy = tape.gradient(z, [x, y])
    assert dx.numpy().tolist() == [2.0, 3.0] and dy.numpy().tolist() == [0.0]
    a, b = tf.constant([1 + 2j, 3j]), tf.constant([2 - 1j, 0j])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        z = tf.math.divide_no_nan(a, b)
    da, db = tape.gradient(z, [a, b])
    np.testing.assert_allclose(da.numpy(), [np.conj(1 / (2 - 1j)), 0], rtol=1e-12)
    np.testing.assert_allclose(db.numpy(), [np.conj(-(1 + 2j) / (2 - 1j) ** 2), 0], rtol=1e-12)


ERRORS: list[tuple[str, Any, str]] = [
    ("tf.range(-1e38, 1.0)", InvalidArgumentError, "limit - start"),
    ("tf.ragged.range([0.0], [float('nan')], [1.0])", InvalidArgumentError, "limit - start"),
    ("tf.ragged.boolean_mask(tf.ragged.constant([[1, 2]]), tf.constant([[0, 1]]))", ValueError, "dtype bool"),
    ("tf.ragged.boolean_mask(tf.ragged.constant([[1]]), tf.ragged.constant([[0]]))", ValueError, "dtype bool"),
    ("tf.RaggedTensor.from_tensor([[1, 2]], padding=[0])", ValueError, "incompatible"),
    ("tf.RaggedTensor.from_tensor([[1, 2]], lengths=([1], [2]))", ValueError, "rank at least 3"),
    ("tf.RaggedTensor.from_tensor([[[[1]]]], ([1], [1]), ragged_rank=3)", ValueError, r"len\(lengths\): 2"),
    ("tf.ragged.stack_dynamic_partitions([1, 2], [1, 2, 3], 9)", ValueError, r"\(3,\) and \(2,\) are incompatible"),
    ("tf.ragged.stack_dynamic_partitions([1, 2], [1, 2], [3])", ValueError, "must have rank 0"),
    (
        "tf.ragged.stack_dynamic_partitions(tf.ragged.constant([[1], []]), tf.ragged.constant([[1, 2], [1]]), 9)",
        InvalidArgumentError,
        "data and partitions have incompatible ragged shapes",
    ),
    ("tf.reduce_mean(tf.ragged.constant([[True]]), 1)", InvalidArgumentError, "bool"),
    ("tf.ragged.range([0, 0], [2**31 - 1, 1], row_splits_dtype=tf.int32)", InvalidArgumentError, "overflowed"),
    ("tf.ragged.row_splits_to_segment_ids(tf.constant([0.5]))", ValueError, "splits must have dtype int32 or int64"),
    ("tf.ragged.segment_ids_to_row_splits([0.5])", TypeError, "int64"),
    ("tf.ragged.segment_ids_to_row_splits(tf.constant([0.5]))", TypeError, "must be of type integer"),
    ("tf.ragged.constant([[1]]).merge_dims({}, 1)", TypeError, "outer_axis must be an int; got dict"),
    ("tf.ragged.constant([[1]]).merge_dims(0, 2)", ValueError, "inner_axis=2 out of bounds"),
    ("tf.ragged.constant([[1]]).to_tensor(shape=-1)", ValueError, "Dimension -1 must be >= 0"),
    ("tf.ragged.constant([[1]]).to_tensor(shape=tf.constant(5))", InvalidArgumentError, "rank = 2 but shape.rank = 1"),
    ("tf.image.resize(tf.RaggedTensor.from_tensor(tf.zeros([5, 5, 3])), [4, 4])", ValueError, "rank must be 4"),
    ("tf.strings.ngrams(['a', 'b'], 2, 3)", TypeError, "Expected string for argument 'separator'"),
    ("tf.dynamic_partition([1, 2], [0, 1], [2])", TypeError, "Expected int for argument 'num_partitions'"),
    ("tf.strings.length('a', 'x')", InvalidArgumentError, "'BYTE', 'UTF8_CHAR'"),
    ("tf.strings.substr('a', 0, 1, 'x')", InvalidArgumentError, "'BYTE', 'UTF8_CHAR'"),
    ("tf.RaggedTensor.from_tensor([[1, 2]], ragged_rank='1')", TypeError, "`ragged_rank` must be an int"),
    ("tf.math.bincount([[[1, 2]]], axis=-1)", InvalidArgumentError, "at most rank 2 but is rank 3"),
    ("tf.raw_ops.ConcatOffset(concat_dim=4, shape=[[2, 3], [2, 7]])", InvalidArgumentError, "out of range: 4 vs. 2"),
    ("tf.raw_ops.ConcatOffset(concat_dim=1, shape=[[2, 3], [2, 7, 1]])", InvalidArgumentError, "should contain 2 elements, but got 3"),
    ("tf.as_string([5], precision=2)", InvalidArgumentError, "precision not supported for datatype int32"),
    ("tf.as_string([5], scientific=True)", InvalidArgumentError, "scientific and shortest format not supported"),
    ("tf.as_string([1.5], fill='ab')", InvalidArgumentError, "one or fewer characters"),
    ("tf.as_string([1.5], fill='x')", InvalidArgumentError, 'Fill argument not supported: "x"'),
    ("tf.math.conj('a')", TypeError, "Expected numeric or variant tensor"),
    ("tf.math.real([True])", TypeError, "must be a numeric tensor"),
    ("tf.nn.gelu([1])", ValueError, "`features.dtype` must be a floating point tensor"),
    ("tf.math.multiply_no_nan([1.0], tf.constant([1]))", ValueError, "conversion requested dtype float32"),
    ("tf.math.scalar_mul(tf.constant(1), tf.constant([1.0]))", ValueError, "conversion requested dtype float32"),
    ("tf.linspace(0, tf.constant(5.0), 3)", ValueError, "conversion requested dtype int32"),
    ("tf.linspace(tf.constant(0.0), tf.constant(1j), 3)", ValueError, "conversion requested dtype float32"),
    ("tf.sort([1.0], axis=5)", InvalidArgumentError, "slice index 5 of dimension 0 out of bounds"),
    ("tf.argsort([1.0], axis=-3)", InvalidArgumentError, "slice index -2 of dimension 0 out of bounds"),
    ("tf.math.is_non_decreasing([True])", TypeError, "Expected x to be numeric"),
    ("tf.math.is_strictly_increasing(['a'])", TypeError, "Expected x to be numeric"),
    ("tf.zeros(tf.constant([1.0]))", InvalidArgumentError, "of float is not in the list of allowed values: int32, int64"),
    ("tf.reshape([1.0], tf.constant([1.0]))", InvalidArgumentError, "attr 'Tshape' of float is not in the list"),
    ("tf.linalg.tensor_diag([True])", InvalidArgumentError, "attr 'T' of bool is not in the list"),
    ("tf.linalg.tensor_diag_part(tf.zeros([2, 2], 'string'))", InvalidArgumentError, "attr 'T' of string"),
    ("tf.histogram_fixed_width([1], [0.0, 5.0])", TypeError, "Cannot convert"),
    ("tf.histogram_fixed_width([1j], [0, 5.0])", InvalidArgumentError, "attr 'T' of complex128"),
    ("tf.math.reciprocal_no_nan([1])", InvalidArgumentError, "attr 'T' of int32 is not in the list"),
    ("tf.math.accumulate_n([[1.0], tf.constant([1])])", ValueError, "same dtype and shape"),
    (
        "tf.tensor_scatter_nd_add(tf.ones([3], 'bfloat16'), [[0]], tf.constant([1]))",
        InvalidArgumentError,
        "expected to be a bfloat16 tensor but is a int32 tensor",
    ),
    ("tf.bitcast([1], tf.string)", InvalidArgumentError, "attr 'type' of string"),
    ("tf.bitcast('a', tf.int32)", InvalidArgumentError, "attr 'T' of string"),
    ("tf.pad([1.0], [[1, 1]], constant_values=[1.0, 2.0])", InvalidArgumentError, "must be a scalar. Found: \\[2\\]"),
    ("tf.batch_to_space(tf.ones([4, 1, 1, 1]), [2, 2], [[2, 1], [0, 0]])", InvalidArgumentError, "must be non-negative"),
    ("tf.maximum([1], [1.5])", TypeError, "Cannot convert \\[1.5\\] to EagerTensor of dtype int32"),
    ("tf.multiply(tf.constant(1), 1.5)", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.constant(1) * 1.5", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.constant(1) + 1.5", InvalidArgumentError, "expected to be a int32 tensor but is a float tensor"),
    ("tf.add(tf.constant(1), 1.5)", InvalidArgumentError, "expected to be a int32 tensor but is a float tensor"),
    ("tf.cast('a', tf.float32)", tf.errors.UnimplementedError, "Cast string to float is not supported"),
    ("tf.eye(2.5)", TypeError, "must be positive integer values. Received: num_rows=2.5"),
    ("tf.tile([1, 2], 2)", InvalidArgumentError, "Expected multiples to be 1-D, but got shape \\[\\]"),
    ("tf.reverse([1], 0)", InvalidArgumentError, "'dims' must be 1-dimension, not 0"),
    ("tf.sort([1], axis=None)", ValueError, "Attempt to convert a value \\(None\\)"),
    ("tf.expand_dims([1], None)", ValueError, "Attempt to convert a value \\(None\\)"),
    ("tf.stack([[1], [2]], axis=3)", ValueError, "Argument `axis` = 3 not in range \\[-2, 2\\)"),
    ("tf.tensordot([1.0], [1.0], [[0], [0, 1]])", ValueError, "Different number of contraction axes"),
    ("tf.signal.irfft(tf.constant([1.0, 2.0]))", ValueError, "IRFFT requires tf.complex64 or tf.complex128"),
    ("tf.signal.irfft2d(tf.constant([[1, 2]]))", ValueError, "IRFFT requires tf.complex64 or tf.complex128"),
    ("tf.signal.inverse_stft(tf.ones([3, 5]), 8, 4)", ValueError, "IRFFT requires tf.complex64 or tf.complex128"),
    ("tf.linalg.expm([[True]])", InvalidArgumentError, "attr 'T' of bool"),
    ("tf.nn.isotonic_regression([1j])", InvalidArgumentError, "attr 'T' of complex128"),
    ("tf.extract_volume_patches(tf.zeros([1, 2, 2, 2, 1], 'bool'), [1] * 5, [1] * 5, 'VALID')",
     InvalidArgumentError, "attr 'T' of bool"),
    ("tf.histogram_fixed_width_bins([1j], [0.0, 5.0])", InvalidArgumentError, "attr 'T' of complex128"),
    ("tf.math.approx_max_k(1.0, 1)", InvalidArgumentError, "input must be >= 1-D"),
    ("tf.nn.collapse_repeated([1, 2], [1])", InvalidArgumentError, "labels must be 2-dimensional"),
    ("tf.nn.collapse_repeated([[1, 2]], [[1]])", ValueError, "seq_length must be a scalar or a vector"),
    ("tf.nn.compute_average_loss([True])", InvalidArgumentError, "attr 'T' of bool"),
    ("tf.nn.compute_average_loss(['a'])", InvalidArgumentError, "attr 'T' of string"),
    ("tf.nn.fractional_avg_pool(tf.zeros([1, 4, 4, 1], 'bool'), 1.5)", InvalidArgumentError, "attr 'T' of bool"),
    ("tf.nn.ctc_loss([[True]], tf.ones([2, 1, 3]), [1], [2])", InvalidArgumentError, "attr 'T' of bool"),
    ("tf.nn.ctc_loss([[1]], tf.ones([2, 3]), [1], [2])", InvalidArgumentError, "logits must be 3-dimensional"),
    ("tf.nn.atrous_conv2d(tf.ones([4, 4, 2]), tf.ones([2, 2, 2, 3]), 2, 'SAME')", ValueError, "must be at least 4"),
    ("tf.nn.atrous_conv2d(tf.ones([1, 4, 4, 3]), tf.ones([2, 2, 2, 3]), 2, 'SAME')", ValueError, "not divisible"),
    ("tf.nn.atrous_conv2d(tf.ones([1, 4, 4, 2]), tf.ones([2, 2, 3]), 2, 'SAME')", ValueError, "4-dimensional"),
    ("tf.nn.atrous_conv2d_transpose(tf.ones([1, 4, 4, 3, 2]), tf.ones([2, 2, 2, 3]), [1, 4, 4, 2], 2, 'SAME')",
     ValueError, "must have rank 4"),
]  # fmt: skip


@pytest.mark.parametrize("place", [[3, 1], [0, 4], [-1, 0]])
def test_sets_have_no_elements_outside_of_their_shape(place: list[int]) -> None:
    a, b = (tf.SparseTensor([[0, 0], last], [1, 2], [3, 4]) for last in (place, [1, 1]))
    for wrong in (
        lambda: tf.sets.size(a),
        lambda: tf.sets.union(a, b),
        lambda: tf.sets.difference(tf.ones([3, 4], "int32"), a),
    ):
        with pytest.raises(InvalidArgumentError, match="out of bounds"):
            wrong()


def test_tables_say_what_is_wrong_as_tensorflow_does(tmp_path: Any) -> None:
    lookup = tf.lookup
    (tmp_path / "words").write_text("a x\n")

    def of_file(name: Any) -> Any:
        return lookup.StaticHashTable(lookup.TextFileInitializer(name, tf.string, 0, tf.int64, 1, delimiter=" "), -1)

    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        of_file(str(tmp_path / "none"))
    with pytest.raises(InvalidArgumentError, match="Field x in line 0 is not a valid int64"):
        of_file(str(tmp_path / "words"))
    with pytest.raises(ValueError, match="`filename` argument required"):
        of_file("")
    with pytest.raises(InvalidArgumentError, match=r"Expected shape \[2\] for value, got \[1\]"):
        lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1]), -1)
    with pytest.raises(InvalidArgumentError, match="filename should be a single string"):
        of_file(["a", "b"])
    with pytest.raises(NotImplementedError, match="keys are no scalars"):
        lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=[0, 0], deleted_key=[1, 1])
    dense = lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    for wrong in (dense.lookup, lambda keys: dense.insert(keys, keys), tf.function(dense.lookup)):
        with pytest.raises(InvalidArgumentError, match="empty_key as a table key is not allowed"):
            wrong(tf.constant([3, 0], tf.int64))


def test_a_jacobian_of_nothing_has_its_shape_either_way() -> None:
    v = tf.Variable(tf.ones([1, 7]))
    for at_once in (True, False):
        with tf.GradientTape() as tape:
            y = v * tf.zeros([0, 7])
        assert tape.jacobian(y, v, experimental_use_pfor=at_once).shape == (0, 7, 1, 7)


def test_printing_to_a_level_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tensorflow"):
        tf.print("so many:", tf.constant(3), output_stream=tf.compat.v1.logging.info)
    assert [record.getMessage() for record in caplog.records] == ["so many: 3"]


def test_ragged_rows_of_other_kinds() -> None:
    dense, ragged = tf.constant([[1, 2], [3, 4]]), tf.ragged.constant([[0, 1], [0, 1]])
    assert tf.ragged.stack_dynamic_partitions(dense, ragged, 2).to_list() == [[1, 3], [2, 4]]
    whole = tf.ragged.stack_dynamic_partitions(tf.ragged.constant([[1, 2], [3]]), 0, 2)
    assert whole.to_list() == [[[[1, 2], [3]]], []]
    assert tf.RaggedTensor.from_tensor(np.zeros([0, 2, 0]), ragged_rank=2).shape == (0, 2, 0)


@pytest.mark.parametrize("name", ["flip_left_right", "flip_up_down", "transpose", "rot90"])
def test_images_whose_rank_only_a_run_knows(name: str, rng: np.random.Generator) -> None:
    images, act = rng.random((2, 3, 4, 1)), getattr(tf.image, name)
    unknown = tf.function(act, input_signature=[tf.TensorSpec(None, tf.float64)])
    for x in (images, images[0]):
        assert (unknown(x) == act(x)).numpy().all()


@pytest.mark.parametrize("seed", range(4))
def test_images_of_unknown_rank_are_flipped_by_the_same_chance(seed: int, rng: np.random.Generator) -> None:
    def by_chance(x: Any) -> Any:
        return tf.image.stateless_random_flip_left_right(x, [seed, 2])

    unknown = tf.function(by_chance, input_signature=[tf.TensorSpec(None, tf.float64)])
    images = rng.random((2, 3, 4, 1))
    for x in (images, images[0]):
        assert (unknown(x) == by_chance(x)).numpy().all()


NO = InvalidArgumentError


@pytest.mark.parametrize(
    "word, pos, wanted",
    [
        ("\u00e9\u20acx", -4, [NO] * 4),
        ("\u00e9\u20acx", -3, [NO, "", "\u00e9", "\u00e9\u20acx"]),
        ("\u00e9\u20acx", 1, ["", "", "\u20ac", "\u20acx"]),
        ("\u00e9\u20acx", 3, [""] * 4),
        ("\u00e9\u20acx", 4, [NO] * 4),
        (b"\x80\x80a\x80", 0, ["", "", b"\x80\x80", b"\x80\x80a\x80"]),
        (b"\x80\x80a\x80", -1, [NO, "", b"a\x80", b"a\x80"]),
        ("", 0, [""] * 4),
        ("", -1, [NO] * 4),
    ],
)
def test_parts_of_strings_in_characters(word: str | bytes, pos: int, wanted: list[Any]) -> None:
    for n, part in zip((-1, 0, 1, 5), wanted, strict=True):
        for act in (tf.strings.substr, tf.function(tf.strings.substr)):
            if part is NO:
                with pytest.raises(NO, match="out of range"):
                    act(word, pos, n, unit="UTF8_CHAR")
            else:
                assert act(word, pos, n, unit="UTF8_CHAR").numpy() == (part.encode() if isinstance(part, str) else part)


def test_ranks_known_only_when_a_graph_runs() -> None:
    unknown = tf.TensorSpec(None, tf.int32)
    filled = tf.function(lambda s: tf.ragged.constant([[1, 2], [3]]).to_tensor(shape=s), input_signature=[unknown])
    assert filled(-1).numpy().tolist() == [[1, 2], [3, 0]]
    assert filled([1, 3]).numpy().tolist() == [[1, 2, 0]]
    pads = tf.function(lambda n: tf.required_space_to_batch_paddings(n, [2, 2]), input_signature=[unknown])
    assert pads([3, 4])[0].numpy().tolist() == [[0, 1], [0, 0]]
    with pytest.raises(InvalidArgumentError):
        pads([3, 4, 4])
    rows_of = tf.function(lambda p: tf.ragged.stack_dynamic_partitions([1, 2], p, 9), input_signature=[unknown])
    with pytest.raises(ValueError, match="partitions must have known rank"):
        rows_of([0, 1])
    rows = tf.function(lambda x: tf.math.bincount(x, axis=-1), input_signature=[unknown])
    assert rows(tf.constant([[1, 2], [1, 1]])).numpy().tolist() == [[0, 1, 1], [0, 2, 0]]
    assert rows(tf.constant([2, 2])).numpy().tolist() == [0, 0, 2]
    with pytest.raises(InvalidArgumentError):
        rows(tf.constant([[[1]]]))
    image = tf.reshape(tf.range(16), [1, 4, 4, 1])
    there = tf.function(lambda x: tf.nn.space_to_depth(x, 2), input_signature=[unknown])
    back = tf.function(lambda x: tf.nn.depth_to_space(x, 2), input_signature=[unknown])
    assert there(image).shape == (1, 2, 2, 4) and (back(there(image)) == image).numpy().all()
    with pytest.raises(InvalidArgumentError):
        there(image[0])


@pytest.mark.parametrize(("text", "error", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(text: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        eval(text)
