"""Arguments at the edge of what ops take: empty shapes, infinities, sizes below 0. What TensorFlow gives or raises."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as tf

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((0, 6), (0, -1, 3), (0, 2, 3)),
        ((0, 6), (-1, 0), (6, 0)),
        ((0, 6), (-1, 0, 4), (1, 0, 4)),
        ((0, 6), (-1, 3), (0, 3)),
        ((0, 0), (0, -1, 0), (0, 1, 0)),
        ((4, 0, 3), (0, -1), (0, 12)),
        ((6,), (0, -1), "tensor with 6 values, but the requested shape has 0"),
        ((6,), (0, 4, -1), "requires a multiple of 4"),
    ],
)
def test_reshape_with_extents_of_0_and_one_to_be_found(shape, target, expected):
    x = tf.zeros(shape)
    unknown = tf.TensorSpec([None] * len(shape), tf.float32)
    forms = [
        lambda: tf.reshape(x, target),
        tf.function(lambda: tf.reshape(x, target)),
        lambda: tf.function(lambda y: tf.reshape(y, target), input_signature=[unknown])(x),
        lambda: tf.function(tf.reshape)(x, tf.constant(target)),
    ]
    for form in forms:
        if isinstance(expected, tuple):
            assert form().shape == expected
        else:
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=expected):
                form()


@pytest.mark.parametrize(
    ("sizes", "num", "message"),
    [
        ([5, -2], None, "Split size at index 1 must be >= 0. Got: -2"),
        ([-1, -1], None, "only be one -1"),
        ([2, 1], 3, "same elements as outputs"),
    ],
)
def test_split_refuses_sizes_that_are_none(sizes, num, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.split([1, 2, 3], sizes, num=num)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.function(lambda s: tf.split([1, 2, 3], s, num=num))(tf.constant(sizes))
    assert [len(x) for x in tf.split([1, 2, 3], [2, -1], num=2)] == [2, 1]


@pytest.mark.parametrize(
    ("source", "target", "largest"),
    [
        ("float32", "float32", 3.4028235e38),
        ("float16", "float32", 65504.0),
        ("float16", "int64", 65504),
        ("float32", "int32", 2147483520),
        ("float64", "float16", 65504.0),
        ("float32", "int8", 127),
    ],
)
def test_saturate_cast_limits_infinities(source, target, largest):
    got = tf.saturate_cast(tf.constant([INF, -INF, 2.0], source), target).numpy()
    assert got[0] == np.asarray(largest, got.dtype) and got[1] < -100 and np.isfinite(got).all() and got[2] == 2


def test_saturate_cast_keeps_nan_and_parts_of_complex_numbers():
    assert np.isnan(tf.saturate_cast([NAN], tf.float16)).all()
    got = tf.saturate_cast(tf.constant([complex(INF, -INF)]), tf.complex64).numpy()
    assert np.isfinite(got.real).all() and np.isfinite(got.imag).all()


def test_a_shape_too_large_for_int32_is_refused():
    with pytest.raises(ValueError, match="a dimension is too large. Consider using tf.int64"):
        tf.convert_to_tensor(tf.TensorShape([2**31, 2]), tf.int32)
    assert tf.convert_to_tensor(tf.TensorShape([2**31, 2])).dtype == tf.int64
    with pytest.raises(TypeError, match="Allowed dtypes"):
        tf.convert_to_tensor(tf.TensorShape([2]), tf.int16)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn", "sum"])
@pytest.mark.parametrize("first", [1.0, 0.0])
def test_rows_without_ids_or_weights_are_zeros(combiner, first):
    ids = tf.SparseTensor([[0, 0], [2, 0]], tf.constant([0, 1], tf.int64), [4, 2])
    weights = tf.SparseTensor(ids.indices, [first, 1.0], [4, 2])
    got = tf.nn.embedding_lookup_sparse(tf.ones([3, 2]), ids, weights, combiner=combiner)
    assert np.array_equal(got, [[first] * 2, [0, 0], [1, 1]])


def test_a_sparse_extent_of_minus_1_is_not_known():
    x = tf.SparseTensor([[0, 0]], [1], [-1, 5])
    assert x.shape.as_list() == [None, 5] and x.dense_shape.numpy().tolist() == [-1, 5]
    assert tf.SparseTensorSpec.from_value(x).shape.as_list() == [None, 5]
    with pytest.raises(ValueError, match="Dimension -2 must be >= 0"):
        tf.SparseTensor([[0, 0]], [1], [-2, 5])


@pytest.mark.parametrize(
    ("pylist", "rank", "inner", "shape"),
    [
        ([], 0, (0, 100, 20), [0, 100, 20]),
        ([], 1, (100, 20), [0, None, 100, 20]),
        ([[1, 2], [3, 4]], None, (2, 2), [2, 2]),
        ([[[1, 2]], [[3, 4]]], 1, (2,), [2, None, 2]),
        ([[[]]], None, (2,), [1, None, None, 2]),
        ([[[]]], 0, None, [1, 1, 0]),
        (3, 0, (), []),
        ([], -1, None, "must be nonnegative"),
        ([[1]], -1, None, "must be nonnegative"),
        (3, 1, None, "incompatible with ragged_rank=1"),
        (3, None, (1,), r"incompatible with dim\(inner_shape\)=1"),
        ([[1, 2], [3, 4]], 3, None, "max depth smaller than ragged_rank=3"),
        ([[1], [2]], 0, (1, 2), "incompatible with ragged_rank=0"),
        ([[1, 2], [3]], 0, None, "non-rectangular"),
        ([[[1, 2]], [[3]]], 1, None, "inner values have inconsistent shape"),
    ],
)
def test_ragged_constants_of_a_rank_and_an_inner_shape(pylist, rank, inner, shape):
    if isinstance(shape, str):
        with pytest.raises(ValueError, match=shape):
            tf.ragged.constant(pylist, ragged_rank=rank, inner_shape=inner)
    else:
        assert tf.ragged.constant(pylist, ragged_rank=rank, inner_shape=inner).shape.as_list() == shape


def test_a_ragged_constant_does_not_fit_its_inner_shape():
    with pytest.raises(TypeError, match="4 elements, but got `shape`"):
        tf.ragged.constant([[1, 2], [3, 4]], inner_shape=(2,))
    with pytest.raises(ValueError, match="row_splits must have dtype"):
        tf.ragged.constant([[1, 2], [3]], row_splits_dtype=tf.float32)


def test_map_flat_values_keeps_what_any_argument_knows_of_its_rows():
    uniform = tf.RaggedTensor.from_uniform_row_length(tf.range(6), 2)
    split = tf.RaggedTensor.from_row_splits(tf.range(6), [0, 2, 4, 6])
    for args in ((uniform, split), (split, uniform)):
        assert tf.ragged.map_flat_values(tf.add, *args).uniform_row_length == 2
    listed = tf.ragged.map_flat_values(lambda xs: tf.stack(xs, 1), [split, uniform])
    assert listed.shape.as_list() == [3, 2, 2]
    outer = tf.RaggedTensor.from_uniform_row_length(tf.RaggedTensor.from_row_lengths(tf.range(6), [1, 2, 0, 3]), 2)
    plain = tf.RaggedTensor.from_nested_row_splits(tf.range(6), outer.nested_row_splits)
    assert tf.ragged.map_flat_values(tf.add, plain, outer).shape.as_list() == [2, 2, None]


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-6), ("float64", 1e-13)])
def test_gelu_is_exact_in_its_negative_tail(dtype, error):
    from scipy import special

    x = np.array([-6.0, -5, -9, -1, 0, 2])
    exact = x * special.ndtr(x)
    for f in (tf.nn.gelu, tf.function(tf.nn.gelu)):
        assert np.allclose(f(tf.constant(x, dtype)).numpy(), exact, rtol=error * 20, atol=0)


@pytest.mark.parametrize(
    ("matrix", "det", "slogdet", "solution"),
    [
        ([[0.0, 0], [INF, 1]], NAN, (0, NAN), None),
        ([[0.0, NAN], [0, 1]], NAN, (NAN, NAN), None),
        ([[-INF, 2], [-INF, 2]], NAN, (NAN, NAN), [NAN, NAN]),
        ([[1, 2], [NAN, 1]], NAN, (NAN, NAN), [NAN, NAN]),
        ([[INF, 0], [0, 1]], INF, (1, INF), [0, 1]),
        ([[NAN, 1], [1, 1]], NAN, (NAN, NAN), None),
        ([[0, 1], [0, 2]], 0, (0, -INF), None),
        ([[2, 0], [0, 1]], 2, (1, np.log(2)), [0.5, 1]),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_matrices_with_infinities_and_nan(matrix, det, slogdet, solution, dtype):
    x, ones = tf.constant([np.eye(2), matrix], dtype), tf.ones([2, 2, 1], dtype)
    assert np.array_equal(tf.linalg.det(x), np.array([1, det], dtype), equal_nan=True)
    assert np.allclose(tf.stack(tf.linalg.slogdet(x), 1), [[1, 0], slogdet], equal_nan=True)
    for each in (tf.linalg.solve, lambda a, b: tf.linalg.inv(a) @ b):
        if solution is None:
            with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
                each(x, ones)
        else:
            assert np.allclose(each(x, ones)[:, :, 0], [[1, 1], solution], equal_nan=True)
    if solution is not None:
        assert np.isnan(tf.linalg.lu(x).lu).any() == np.isnan(solution).any()


X = tf.constant([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_bad_indices_are_ignored_where_that_is_asked_for(wrap):
    ignore = {"bad_indices_policy": "IGNORE"}
    for indices, expected in (
        ([[0], [2]], [[1, 2], [0, 0]]),
        ([[-1], [1]], [[0, 0], [3, 4]]),
        ([[0, 0], [1, 5]], [1, 0]),
        ([[[1, 1]], [[9, 0]]], [[4], [0]]),
    ):
        assert np.array_equal(wrap(lambda i: tf.gather_nd(X, i, **ignore))(tf.constant(indices)), expected)
    assert wrap(lambda: tf.gather_nd(["a"], [[0], [2]], **ignore))().numpy().tolist() == [b"a", b""]
    batched = wrap(lambda: tf.gather_nd([X, X], [[[0], [2]], [[1], [0]]], batch_dims=1, **ignore))()
    assert np.array_equal(batched, [[[1, 2], [0, 0]], [[3, 4], [1, 2]]])
    bad = tf.constant([[0], [2]])
    assert np.array_equal(wrap(lambda i: tf.scatter_nd(i, X, [2, 2], **ignore))(bad), [[1, 2], [0, 0]])
    assert np.array_equal(wrap(lambda i: tf.tensor_scatter_nd_add(X, i, X, **ignore))(bad), [[2, 4], [3, 4]])
    assert np.array_equal(wrap(lambda i: tf.tensor_scatter_nd_sub(X, i, X, **ignore))(bad), [[0, 0], [3, 4]])
    assert np.array_equal(wrap(lambda i: tf.tensor_scatter_nd_max(X, i, X * 2, **ignore))(bad), [[2, 4], [3, 4]])
    assert np.array_equal(wrap(lambda i: tf.tensor_scatter_nd_min(X, i, -X, **ignore))(bad), [[-1, -2], [3, 4]])

    def gradient(i):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = tf.gather_nd(X, i, **ignore)
        return tape.gradient(y, X)

    assert np.array_equal(wrap(gradient)(tf.constant([[0, 0], [5, 5]])), [[1, 0], [0, 0]])


@pytest.mark.parametrize("shapes", [([None, None], [None, None]), (None, None)], ids=["unknown sizes", "unknown rank"])
def test_bad_indices_are_ignored_where_shapes_are_not_known(shapes):
    x, i = (tf.TensorSpec(s, t) for s, t in zip(shapes, (tf.float32, tf.int32), strict=True))
    ignore = {"bad_indices_policy": "IGNORE"}
    gather = tf.function(lambda x, i: tf.gather_nd(x, i, **ignore), input_signature=[x, i])
    scatter = tf.function(lambda x, i: tf.tensor_scatter_nd_add(x, i, x, **ignore), input_signature=[x, i])
    assert np.array_equal(gather(X, [[0], [2]]), [[1, 2], [0, 0]])
    assert np.array_equal(gather(X, [[0, 0], [1, 5]]), [1, 0])
    assert np.array_equal(scatter(X, [[1], [2]]), [[1, 2], [4, 6]])


def test_other_policies_for_bad_indices():
    for policy in ("", "DEFAULT", "ERROR", None):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[2\] does not index into"):
            tf.gather_nd(X, [[0], [2]], bad_indices_policy=policy)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown bad_indices_policy: 'foo'"):
        tf.scatter_nd([[0]], [1.0], [2], bad_indices_policy="foo")
    with pytest.raises(TypeError, match="Expected string"):
        tf.gather_nd(X, [[0]], bad_indices_policy=3)


def test_arguments_that_were_ignored_work_or_are_refused():
    initializers = tf.keras.initializers
    for made in (initializers.Zeros(), initializers.Constant(2.0), initializers.GlorotUniform(seed=1)):
        assert made([4, 4], partition_shape=(2, 4), partition_offset=(2, 0)).shape == (2, 4)
        with pytest.raises(TypeError, match=r"Unknown keyword arguments: \['foo'\]"):
            made([4, 4], foo=3)
    whole = initializers.GlorotUniform(seed=1)([100, 100], partition_shape=(10, 100))
    assert np.abs(whole).max() < 0.1733  # the limit is that of the whole shape
    for made in (initializers.Orthogonal(), initializers.Identity(), tf.constant_initializer(1.0)):
        with pytest.raises(ValueError, match="support partition-related arguments"):
            made([4, 4], partition_shape=(2, 4))
    with pytest.raises(TypeError, match="Cannot convert"):
        initializers.Constant(2.5)([2], tf.int32)
    with pytest.raises(TypeError, match="`tensor_dtype` argument is"):
        tf.math.accumulate_n([[1.0]], tensor_dtype=tf.int32)
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.Variable(1.0, variable_def=3)
    with pytest.raises(ValueError, match="critical_section_def"):
        tf.CriticalSection(critical_section_def=3)
    with pytest.raises(ValueError, match="handles are not supported"):
        tf.TensorArray(tf.float32, 2, handle=3)
    with pytest.raises(TypeError, match="Unknown keyword arguments"):
        tf.keras.layers.Dense(1).add_loss(1.0, foo=3)
    for f in (tf.zeros, tf.ones, tf.zeros_like, tf.ones_like):
        with pytest.raises(ValueError, match="layout"):
            f([2], layout=3)


def test_no_gradient_goes_through_a_loop_without_back_prop():
    @tf.function
    def gradients(x):
        y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), (tf.constant(0), x), back_prop=False)[1]
        return tf.gradients(y * x, x)

    assert np.array_equal(gradients(X)[0], X**3)


def test_the_static_value_of_a_vector_may_be_known_in_part():
    found = []

    @tf.function
    def f(n):
        found.extend([tf.get_static_value(tf.stack([1, n, 3]), partial=p) for p in (True, False)])

    f(tf.constant(2))
    assert found[0].tolist() == [1, None, 3] and found[1] is None
