"""Arguments that do not fit are refused as TensorFlow refuses them, with the name of the op."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import fastgraph as tf

NO_VECTOR = r"shape must be a vector of \{int32,int64\}, got shape \[1,1\]"

CASES = [
    ("tf.zeros([[2]])", NO_VECTOR),
    ("tf.ones(tf.constant([[2]]))", NO_VECTOR),
    ("tf.fill([[2]], 1)", NO_VECTOR),
    ("tf.reshape([1, 2], [[2]])", NO_VECTOR),
    ("tf.reshape([1, 2], tf.constant([[2]]))", NO_VECTOR),
    ("tf.random.normal([[2]])", NO_VECTOR),
    ("tf.random.stateless_normal([[2]], [1, 2])", NO_VECTOR),
    ("tf.scatter_nd([[0]], [1.0], [[3]])", NO_VECTOR),
    ("tf.one_hot(1, [2])", r"depth must be a scalar, but got: \[1\]"),
    ("tf.one_hot(1, tf.constant([2]))", r"depth must be a scalar, but got: \[1\]"),
    ("tf.math.unsorted_segment_sum([1.0], [0], [2])", r"num_segments should be a scalar, not shape \[1\]"),
    ("tf.nn.top_k([1.0, 2.0], [1])", r"k must be scalar, got shape \[1\]"),
    ("tf.random.categorical([[1.0, 2.0]], [2])", r"num_samples should be a scalar, got shape \[1\]"),
    ("tf.repeat([1, 2], -1)", r"Expected multiples\[1\] >= 0, but got -1 \[Op:Tile\]"),
    ("tf.searchsorted([[1.0], [2.0]], [1.0])", r"Leading dim_size of both tensors must match\. \[Op:"),
    (
        "tf.nn.l2_loss([1, 2])",
        r"Value for attr 'T' of int32 is not in the list of allowed values: bfloat16, half, float",
    ),
    ("tf.split([1, 2, 3], 2)", r"\(size = 3\) and num_split 2 \[Op:Split\]"),
    ("tf.split([1, 2, 3], [4, -1])", r"\[Op:SplitV\]"),
    ("tf.nn.bias_add([[1.0, 2.0]], [1.0])", r"dimension of the input tensor: \[1\] vs. \[1,2\] \[Op:BiasAdd\]"),
    ("tf.nn.bias_add([1.0, 2.0], [1.0])", r"must be at least 2D: \[2\] \[Op:BiasAdd\]"),
    ("tf.roll([1, 2], 1, 5)", r"axis 5 is out of range \[Op:Roll\]"),
    ("tf.roll([1, 2], [[1]], 0)", r"shift must be a scalar or a 1-D vector. Found: \[1,1\] \[Op:Roll\]"),
    ("tf.histogram_fixed_width([1.0], [0.0, 1.0, 2.0])", r"a vector of 2 elements. \[Op:HistogramFixedWidth\]"),
]


@pytest.mark.parametrize(("expression", "text"), CASES, ids=[row[0] for row in CASES])
def test_refused(expression: str, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        eval(expression, {"tf": tf})


def test_no_identity_of_strings() -> None:
    with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype string"):
        tf.eye(2, dtype=tf.string)


def test_shapes_with_tensors_in_them() -> None:
    two = tf.constant(2)
    assert tf.zeros([two, 3]).shape == (2, 3)
    assert tf.reshape(tf.range(4), [two, -1]).shape == (2, 2)
    assert tf.function(lambda n: tf.zeros([n, 1]))(two).shape == (2, 1)
    assert tf.zeros(two).shape == (2,)


@pytest.mark.parametrize(
    ("sizes", "keywords"),
    [([5, -2], {}), ([5, -1], {}), ([1, 1, 1], {"num": 4}), ([-1, -1, 2], {}), (2, {}), (0, {}), (3, {"axis": 1})],
)
def test_splits_that_do_not_fit_are_value_errors_where_a_graph_is_made(sizes: Any, keywords: dict[str, int]) -> None:
    x = tf.constant([1, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.split(x, sizes, **keywords)
    with pytest.raises(ValueError, match="[Ss]plit|-1|Sizes"):
        tf.function(lambda x: tf.split(x, sizes, **keywords))(x)


def test_strided_slices_by_tensors_of_two_integer_types() -> None:
    x, begin, end = tf.range(5), tf.constant([0]), tf.constant([2], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input #2\(zero-based\) was expected to be a int32"):
        tf.strided_slice(x, begin, end)
    with pytest.raises(TypeError, match="Input 'end' of 'StridedSlice' Op has type int64 .* of argument 'begin'"):
        tf.function(tf.strided_slice)(x, begin, end)
    assert tf.strided_slice(x, tf.cast(begin, tf.int64), end).shape == [2]
    assert tf.strided_slice(x, begin, [2], tf.constant([1])).shape == [2]


X22 = tf.constant([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("call", "eagerly"),
    [
        (lambda: tf.concat([X22, X22], [0]), True),
        (lambda: tf.concat([X22, X22], tf.constant([0])), True),
        (lambda: tf.concat([X22, X22], [[0]]), False),
        (lambda: tf.concat([X22, X22], [0, 1]), False),
        (lambda: tf.split(X22, [1, 1], [0]), True),
        (lambda: tf.split(X22, [1, 1], tf.constant([0])), True),
        (lambda: tf.split(X22, 2, [0]), False),
        (lambda: tf.gather(X22, [0], axis=[0]), False),
        (lambda: tf.expand_dims(X22, [0, 1]), False),
        (lambda: tf.reverse(X22, 0), False),
        (lambda: tf.reduce_sum(X22, [[0]]), True),
        (lambda: tf.math.reduce_std(tf.cast(X22, tf.float32), [[0]]), True),
        (lambda: tf.raw_ops.UniqueV2(x=X22, axis=0), False),
        (lambda: tf.raw_ops.UniqueV2(x=X22, axis=[]), False),
        (lambda: tf.raw_ops.UniqueV2(x=X22, axis=[0, 1]), False),
        (lambda: tf.raw_ops.UniqueV2(x=X22, axis=[2]), False),
    ],
)
def test_axes_of_another_rank(call: Any, eagerly: bool) -> None:
    """A vector of one is an axis of concat, and of split into sizes, in eager mode alone, as in TensorFlow; so are axes of
    reductions in lists of lists."""
    if eagerly:
        call()
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            call()
    with pytest.raises(ValueError):
        tf.function(call)()


def test_sizes_lie_along_a_vector_of_one_that_only_the_call_knows() -> None:
    rows = tf.function(lambda axis: tf.split(X22, [1, 1], axis))(tf.constant([0]))
    assert [row.numpy().tolist() for row in rows] == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.gather(x, [0], axis=[0]),
        lambda x: tf.reshape(x, [3, 3]),
        lambda x: tf.matmul(x, tf.ones([3, 3])),
        lambda x: tf.linalg.band_part(x, 7, 0),
        lambda x: tf.cumsum(x, axis=5),
        lambda x: tf.scatter_nd([[0]], x[:1, 0], [0]),
        lambda x: tf.batch_to_space(x[:, :, None, None], [-1, 1], [[0, 0], [0, 0]]),
    ],
)
def test_what_does_not_fit_while_tracing_is_of_both_classes(call: Any) -> None:
    """TensorFlow's is ValueError where a shape function looks at it, and InvalidArgumentError when the graph runs."""
    for kind in (ValueError, tf.errors.InvalidArgumentError):
        with pytest.raises(kind) as caught:
            tf.function(call)(tf.ones([2, 2]))
    assert type(caught.value).__name__ == "ValueError" and "in user code" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)
    with pytest.raises(tf.errors.InvalidArgumentError) as eager:
        call(tf.ones([2, 2]))
    assert not isinstance(eager.value, ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.split(x, []),
        lambda x: tf.argmax(x, output_type=tf.float32),
        lambda x: tf.scan(lambda a, b: tf.cast(a, tf.int32), x),
        lambda x: tf.reduce_sum(x, "a"),
        lambda x: tf.random.stateless_uniform([2], [1.0, 2.0]),
        lambda x: tf.random.poisson([2], x, dtype=tf.int8),
        lambda x: tf.bitcast(x, tf.string),
        lambda x: tf.reverse_sequence(x, [1.0, 2.0], 1),
        lambda x: tf.linalg.tridiagonal_matmul(tf.zeros([3, 2], tf.int32), tf.zeros([2, 1], tf.int32), "compact"),
        lambda x: tf.nn.local_response_normalization(tf.zeros([1, 2, 2, 1], tf.float64)),
        lambda x: tf.nn.max_pool_with_argmax(tf.zeros([1, 2, 2, 1]), 2, 2, "SAME", output_dtype=tf.int8),
        lambda x: tf.sparse.bincount(x),
        lambda x: tf.sparse.softmax(tf.sparse.from_dense([[1, 2]])),
        lambda x: tf.math.sobol_sample(2, 2, dtype=tf.int32),
        lambda x: tf.pad(x, [[1.0, 1.0], [0.0, 0.0]]),
        lambda x: tf.strided_slice(x, [0.0], [1.0]),
        lambda x: tf.io.decode_raw(["a"], tf.string),
        lambda x: tf.io.decode_csv(["1"], [tf.constant([1], tf.int8)]),
        lambda x: tf.io.parse_example([""], {"a": tf.io.VarLenFeature(tf.int32)}),
        lambda x: tf.io.encode_png(x[..., None]),
    ],
)
def test_dtypes_that_are_refused_are_type_errors_where_a_graph_is_made(call: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call(tf.ones([2, 2]))
    assert not isinstance(caught.value, TypeError)
    for signature in (None, [tf.TensorSpec(None)]):
        with pytest.raises(TypeError):
            tf.function(call, input_signature=signature)(tf.ones([2, 2]))


@pytest.mark.parametrize("call", [lambda x: tf.concat([], 0), lambda x: tf.linalg.band_part(x, [1], 0)])
def test_refused_in_either_mode(call: Any) -> None:
    for f in (call, tf.function(call)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.ones([2, 2]))


def test_an_axis_that_must_be_said() -> None:
    for f in (tf.reverse_sequence, tf.function(tf.reverse_sequence)):
        with pytest.raises(TypeError, match="Expected int for argument 'seq_dim' not None"):
            f(tf.ones([1, 3]), [2])


@pytest.mark.parametrize("which", ["start", "limit", "delta"])
def test_bounds_of_a_range_are_scalars(which: str) -> None:
    bounds: dict[str, Any] = {"start": 0, "limit": 5, "delta": 1}
    matrix, one = tf.constant([[1, 2]]), tf.constant([3])
    said = rf"{which} must be a scalar, not shape \[1,2\]"

    def of(x: tf.Tensor) -> tf.Tensor:
        return tf.range(**{**bounds, which: x})

    unknown = tf.function(of, input_signature=[tf.TensorSpec(None, tf.int32)])
    for call in (of, unknown):
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            call(matrix)
        assert call(one).numpy().tolist() == list(range(*{**bounds, which: 3}.values()))
    with pytest.raises(ValueError, match=f"Shape must be rank 0 but is rank 2\n.*for '{which}'"):
        tf.function(of)(matrix)


def test_assertions_tell_the_first_elements_after_the_message() -> None:
    x = tf.constant([[1, -2], [3, 4]])
    begin = "sizes.  \nCondition x > 0 did not hold element-wise:\nx (shape=(2, 2) dtype=int32) = \n"
    for summarize, shown in ((None, "['1', '-2', '3', '...']"), (1, "['1', '...']"), (-1, "['1', '-2', '3', '4']")):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.debugging.assert_positive(x, message="sizes", summarize=summarize)
        assert str(caught.value) == begin + shown
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"x \(shape=\(\) dtype=float32\) = \n-1.0"):
        tf.debugging.assert_positive(-1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Summarized data: 1, -2, 3, ...\n7"):
        tf.debugging.Assert(False, [x, 7])
    checks = tf.debugging
    for check in (checks.assert_scalar, checks.assert_integer, lambda x, message: checks.assert_rank(x, 2, message)):
        with pytest.raises((TypeError, ValueError), match="^sizes.  [ET]"):
            check(tf.constant([1.0]), message="sizes")
