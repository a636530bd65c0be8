"""Hostile arguments of every public op: a result or one of TensorFlow's errors, no crash, no warning.

The long form runs in `make soak`: `python -m tests.ops.hostile --seconds 1800`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError
from tests.ops.hostile import LEFT_OUT, MEMORY, fault_of, good_calls, hammer, hostile_call, memory_limit
from tests.oracle.draw import op_functions

WAYS = st.sampled_from(["eager", "eager", "gradient", "function"])


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), WAYS)
@pytest.mark.slow
def test_hostile_calls_end_well(chance: random.Random, way: str) -> None:
    text = hostile_call(chance)
    with memory_limit(MEMORY):
        assert fault_of(text, way) is None, f"{way}: {text}"


def test_the_memory_of_hostile_calls_is_bounded() -> None:
    with memory_limit(2**28), pytest.raises(ResourceExhaustedError, match="OOM"):
        tf.ones([2**28])
    assert tf.ones([2**26]).shape == [2**26]


@pytest.mark.slow
def test_no_call_ends_the_process() -> None:
    report, n_faults = hammer(15, seed=1)
    assert n_faults == 0, report


@pytest.mark.slow
def test_every_op_is_called() -> None:
    called = {hostile_call(random.Random(seed)).partition("(")[0].removeprefix("tf.") for seed in range(8000)}
    assert called == set(op_functions()) - LEFT_OUT
    assert len(good_calls()) > 0.9 * len(called)


@pytest.mark.parametrize("fault", ["[][1]", "np.array(1e300) * np.array(1e300)", "{}['a']", "(1).a", "1 // 0"])
def test_faults_are_seen(fault: str) -> None:
    assert fault_of(f"tf.sin({fault})", "eager") is not None


#: Calls that once ended in an error of Python's or NumPy's own, a warning, or a wrong result.
ROWS: list[tuple[str, Any, str]] = [
    ("tf.linalg.normalize([3.0, 4.0], axis=2**40)", InvalidArgumentError, "Invalid reduction dimension"),
    ("tf.nn.pool(1.0, [2], 'MAX', dilations=[2])", ValueError, "must have rank 3"),
    ("tf.nn.depth_to_space(tf.ones([1, 2, 2, 4]), np.ma.masked)", TypeError, "Expected int for argument 'block_size'"),
    ("tf.reduce_max([[1]], tf.constant([2**63], 'uint64'))", InvalidArgumentError, "'Tidx' of uint64"),
    ("tf.reduce_sum([1.0], axis=2**63)", ValueError, "out-of-range integer"),
    ("tf.reshape([1], 10**30)", ValueError, "out-of-range integer"),
    ("tf.broadcast_to(1.0, [2**64])", ValueError, "out-of-range integer"),
    ("tf.concat([[1], [2]], 2**31)", (InvalidArgumentError, ValueError), "2147483648"),
    ("tf.expand_dims([1], axis=2**31)", InvalidArgumentError, "Tried to expand dim index 2147483648"),
    ("tf.expand_dims([1], [-1, -1])", InvalidArgumentError, "a tensor with a single value"),
    ("tf.argmax([1.0], axis=[])", TypeError, "axis must be int or Tensor"),
    ("tf.cumsum([1.0], axis=[0, 0])", InvalidArgumentError, "must be a scalar"),
    ("tf.gather([1.0], [0], axis=[0, 0])", InvalidArgumentError, "must be scalar"),
    ("tf.gather([1.0], [0], batch_dims='a')", TypeError, "Expected int for argument 'batch_dims' not 'a'"),
    ("tf.sort([1.0], axis=[])", ValueError, "must be a constant scalar"),
    ("tf.boolean_mask([1.0], [True], axis=[])", TypeError, "must be a scalar"),
    ("tf.linalg.diag([1, 2], k=tf.zeros([0], 'int32'))", InvalidArgumentError, "only one or two elements"),
    ("tf.linalg.diag([1.0], num_cols=())", InvalidArgumentError, "must be a scalar"),
    ("tf.linalg.cross(1.0, 2.0)", InvalidArgumentError, "at least 1D"),
    ("tf.tensordot([1.0], [1.0], [[1], [0]])", InvalidArgumentError, "out of range"),
    ("tf.searchsorted(1.0, [1.0])", InvalidArgumentError, "slice index -1 of dimension 0 out of bounds"),
    ("tf.repeat([1, 2], 2**62)", ResourceExhaustedError, "OOM"),
    ("tf.gather_nd([[1]], [[0]], batch_dims='a')", TypeError, "Expected int for argument 'batch_dims'"),
    ("tf.gather_nd(1, [[[1]]], batch_dims=1)", ValueError, "must be < rank of `params`"),
    ("tf.gather_nd([[1]], [[0]], batch_dims=-1)", ValueError, "must be >= 0"),
    ("tf.nn.pool(tf.ones([1, 3, 1]), [2], 'MAX', dilations=0)", ValueError, "dilation_rate` must be positive"),
    ("tf.repeat([1, 2], 3, axis='a')", TypeError, "Argument `axis` must be an int"),
    ("tf.stack([[1, 2], [3]], axis=2**63)", (ValueError, InvalidArgumentError), "out"),
    ("tf.stack(tf.zeros([0]), axis=1)", ValueError, "at least one tensor"),
    ("tf.pad([1], [[1, 1]], mode=range(3))", TypeError, "Expected string for argument 'mode'"),
    ("tf.einsum(-1, 7)", TypeError, "must be a string"),
    ("tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=np.array(['a']))", TypeError, "'lower_edge_hertz'"),
    ("tf.nn.lrn(tf.ones([1, 1, 1, 3]), bias=np.ma.masked)", TypeError, "'bias' not masked"),
    ("tf.random.gamma([2], 2.0, seed=np.ma.masked)", TypeError, "A seed must be an integer or None"),
    ("tf.as_string(1, width=2**31)", InvalidArgumentError, "Attr width has value 2147483648 out of range for an int32"),
    ("tf.debugging.assert_rank_in(1j, np.float16([np.inf]))", TypeError, "must be of type tf.int32; got tf.float16"),
    ("tf.linspace(1.0, 2.0, 3, axis=np.array(['a']))", TypeError, "'axis'"),
    ("tf.signal.irfft2d(tf.ones([1, 2], 'complex64'), [1, 2**31])", InvalidArgumentError, "fft_length"),
    ("tf.debugging.Assert(False, [tf.constant(b'\\xff')])", InvalidArgumentError, "xff"),
    ("tf.nn.bias_add([1.0], [1.0], data_format='NCHW')", InvalidArgumentError, "must be at least 2D: \\[1\\]"),
    ("tf.nn.bias_add([[1.0]], 1.0)", InvalidArgumentError, "Biases must be 1D: \\[\\]"),
    ("tf.nn.bias_add([[1.0]], [1.0], data_format=[1.5])", TypeError, "Expected string for argument 'data_format'"),
    ("tf.strings.join(['a'], separator=...)", TypeError, "Expected string for argument 'separator'"),
    ("tf.strings.join(['a', tf.constant(1.0)])", ValueError, "requested dtype string for Tensor with dtype float32"),
    ("tf.function(lambda: tf.strings.join([['a'], ['b', 'c']]))()", ValueError, "equal, but are 1 and 2. Shapes are"),
    ("tf.strings.reduce_join(['a'], separator=(1, 1))", TypeError, "Expected string for argument 'separator'"),
    ("tf.as_string([1.5], precision=-inf)", TypeError, "Expected int for argument 'precision' not -inf"),
    ("tf.as_string([1.5], width=np.ma.masked)", TypeError, "Expected int for argument 'width'"),
    ("tf.batch_to_space(0, [0], [[0, 0]])", InvalidArgumentError, "must be positive"),
    ("tf.batch_to_space([[1]], [1, 1], [[0, 0], [0, 0]])", InvalidArgumentError, "input rank should be >= 3"),
    ("tf.batch_to_space([[1]], [1], [1])", InvalidArgumentError, "should have shape \\[1, 2\\]"),
    ("tf.space_to_batch([[1]], [1], [[-1, 0]])", InvalidArgumentError, "must be non-negative"),
    ("tf.reverse_sequence(5, [0, 0])", TypeError, "Expected int for argument 'seq_dim' not None"),
    ("tf.reverse_sequence([[1]], [1], seq_axis=0, batch_axis=0)", InvalidArgumentError, "batch_dim == seq_dim"),
    ("tf.reverse_sequence([[1]], [True])", InvalidArgumentError, "attr 'Tlen' of bool"),
    ("tf.stack([tf.constant([1.0])], axis='a')", TypeError, "Expected int for argument 'axis'"),
    ("tf.assert_rank([1.0], -inf)", TypeError, "Rank must be an integer"),
    ("tf.nn.max_pool1d([[[1.0]]], [1j * np.ones(())], 1, 'VALID')", TypeError, "Expected int for argument 'ksize'"),
    ("tf.nn.conv1d([[[1.0]]], [[[1.0]]], -inf, 'SAME')", TypeError, "Expected int for argument 'stride"),
    ("tf.nn.leaky_relu([1.0], alpha=tf.constant([1j]))", TypeError, "Expected float for argument 'alpha'"),
    ("tf.nn.leaky_relu([1.0], alpha=tf.float32)", TypeError, "Expected float for argument 'alpha'"),
    ("tf.random.normal([2], seed=-inf)", TypeError, "A seed must be an integer"),
    ("tf.strided_slice([1.0], [0], [1], begin_mask=inf)", TypeError, "Expected int for argument 'begin_mask'"),
    ("tf.one_hot([0], 3, off_value=[1.0, 2.0])", InvalidArgumentError, "off_value must be a scalar"),
    ("tf.zeros(2**40, tf.string)", ResourceExhaustedError, "OOM when allocating"),
    ("tf.math.sobol_sample(3, 5, skip=2**63 - 1)", InvalidArgumentError, "less than 2147483647"),
    ("tf.signal.linear_to_mel_weight_matrix(np.array(['a']))", TypeError, "argument 'num_mel_bins'"),
    ("tf.math.in_top_k([0], [[1.0, 2.0]], [-1, -1])", InvalidArgumentError, "k must be 0-D"),
    ("tf.concat([[1.0], [2.0]], 2**63)", InvalidArgumentError, "9223372036854775808"),
    ("tf.expand_dims([1.0], 10**30)", InvalidArgumentError, "1" + "0" * 30),
    ("tf.squeeze([[1.0]], 10**30)", InvalidArgumentError, "1" + "0" * 30),
    ("tf.one_hot([0], 2, axis=2**63)", (InvalidArgumentError, ValueError), "out of range for an int64"),
    ("tf.one_hot([0], 2, axis=np.ma.masked)", TypeError, "Expected int for argument 'axis'"),
    ("tf.split([1.0, 2.0], 2**64)", InvalidArgumentError, "18446744073709551616"),
    ("tf.nn.crelu([1.0], axis=10**30)", InvalidArgumentError, "1" + "0" * 30),
    ("tf.nn.atrous_conv2d(tf.ones([1, 6, 6, 2]), tf.ones([2, 2, 2, 3]), inf, 'SAME')", TypeError, "argument 'rate'"),
    ("tf.math.approx_min_k([1.0, 2.0], 1, reduction_dimension=inf)", TypeError, "argument 'axis'"),
    ("tf.nn.isotonic_regression([[1.0, 2.0]], axis=-inf)", TypeError, "argument 'axis'"),
    ("tf.nn.lrn(tf.ones([1, 2, 2, 6]), np.array(['a']))", TypeError, "argument 'depth_radius'"),
    ("tf.nn.lrn(tf.ones([1, 2, 2, 6]), np.ma.masked)", TypeError, "argument 'depth_radius'"),
    ("tf.debugging.assert_same_float_dtype(np.array(['a']))", TypeError, "Expected tensors"),
    ("tf.math.sobol_sample(2, 2**40)", InvalidArgumentError, "less than 2147483647"),
    ("tf.dynamic_partition([1.0], [0], 2**62)", ResourceExhaustedError, "Out of memory"),
    ("tf.signal.linear_to_mel_weight_matrix(num_spectrogram_bins=2**63 - 1)", InvalidArgumentError, "for an int32"),
    ("tf.signal.fftnd(tf.ones([1, 2], 'complex64'), tf.constant([2**63, 5], 'uint64'))", ValueError, "out-of-range"),
    ("tf.debugging.check_numerics([1.0], 5)", TypeError, "Expected string for argument 'message'"),
]


@pytest.mark.parametrize(("text", "error", "message"), ROWS, ids=[r[0] for r in ROWS])
def test_clean_errors(text: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        eval(text, {"tf": tf, "np": np, "inf": float("inf")})
    assert not isinstance(caught.value, IndexError)
    assert fault_of(text, "function") is None


def test_values_where_numpy_warns_or_fails() -> None:
    assert tf.dtypes.saturate_cast([2**31 - 1, 1], tf.float16).numpy().tolist() == [65504.0, 1.0]
    assert tf.strings.reduce_join(tf.zeros([0, 2], "string"), axis=0).numpy().tolist() == [b"", b""]
    assert fault_of("tf.dtypes.saturate_cast((1, 1), tf.float16)", "eager") is None
    assert fault_of("tf.constant([1e300, 1.0], 'complex64')", "eager") is None
    assert fault_of("tf.random.fold_in(-inf, 3)", "function") is None
    assert fault_of("tf.broadcast_dynamic_shape(-1, tf.constant([1]))", "function") is None


@pytest.mark.parametrize("text", ["tf.pow(2, tf.constant([True]))", "2 ** tf.constant([True])"])
def test_a_dtype_that_the_second_input_sets_in_a_graph(text: str) -> None:
    with pytest.raises(TypeError):
        tf.function(lambda: eval(text))()


def test_an_output_shape_that_is_no_vector_in_a_graph() -> None:
    conv = tf.function(lambda s: tf.nn.conv_transpose(tf.ones([1, 3, 3, 2]), tf.ones([3, 3, 3, 2]), s, 2))
    with pytest.raises(ValueError, match="output_shape must be a vector"):
        conv(tf.constant(586))


def test_memory_that_is_not_there_while_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise MemoryError("no")

    monkeypatch.setattr(np, "repeat", none)
    with pytest.raises(ResourceExhaustedError):
        tf.repeat([[1, 2]], [3, 1], axis=1)


@pytest.mark.parametrize("stage", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.sparse.sparse_dense_matmul(tf.SparseTensor([[-1, 0]], [1.0], [2, 3]), tf.ones([3, 2])),
        lambda: tf.sparse.sparse_dense_matmul(tf.SparseTensor([[0, -1]], [1.0], [2, 3]), tf.ones([3, 2])),
        lambda: tf.RaggedTensor.from_sparse(tf.SparseTensor([[-1, 0]], [1.0], [2, 3])),
        lambda: tf.linalg.lu_reconstruct(tf.eye(3), [5, 6, 7]),
        lambda: tf.linalg.lu_reconstruct(tf.eye(3, batch_shape=[2]), [[-1, 0, 1], [0, 1, 2]]),
    ],
)
def test_rows_that_are_not_there_are_refused(call: Any, stage: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        stage(call)()


def test_an_axis_that_is_a_word() -> None:
    with pytest.raises((TypeError, ValueError, InvalidArgumentError)):
        tf.nn.softmax_cross_entropy_with_logits([[1.0, 2.0]], [[1.0, 2.0]], axis=np.array(["a"]))


def test_as_many_elements_as_an_int64_counts_end_in_an_error_and_not_in_waiting() -> None:
    with flags.override(tier="last"), pytest.raises(ResourceExhaustedError):
        tf.function(lambda: tf.sequence_mask(tf.constant(0), 2**63 - 1))()


@pytest.mark.parametrize("rank", [5, 33, 64])
def test_what_is_added_at_indices_may_have_as_many_axes_as_an_array(rank: int) -> None:
    """NumPy's `ufunc.at` ends the process above 32 axes."""
    shape = [3, *[1] * (rank - 3), 2, 2]
    x, rows = np.arange(12.0).reshape(shape), np.array([[0], [2], [0]])
    added = np.zeros((3, 4))
    np.add.at(added, rows[:, 0], x.reshape(3, 4))
    assert np.array_equal(tf.scatter_nd(rows, x, shape), added.reshape(shape))
    turned = tf.tensor_scatter_nd_sub(tf.transpose(tf.transpose(tf.constant(x))), rows, x)
    assert np.array_equal(turned, x - added.reshape(shape))
    sums = tf.math.unsorted_segment_sum(x, [0, 2, 0], 3)
    assert np.array_equal(sums, added.reshape(shape))
    largest = tf.math.unsorted_segment_max(x, [1, 0, 1], 2)
    assert np.array_equal(largest, x[[1, 2]])

    def gradient(x: Any, batch_dims: int) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            taken = tf.gather(x, np.zeros([3] * batch_dims + [2], int), axis=rank - 2, batch_dims=batch_dims)
            loss = tf.reduce_sum(taken * taken)
        return tape.gradient(loss, x)

    expected = np.zeros_like(x)
    expected[..., 0, :] = 4 * x[..., 0, :]
    for batch_dims in (0, 1):
        with flags.override(tier="first"):
            staged = tf.function(gradient)(tf.constant(x), batch_dims)
        assert np.array_equal(gradient(tf.constant(x), batch_dims), expected) and np.array_equal(staged, expected)


@pytest.mark.parametrize("rank", ["known", "unknown"])
def test_scalar_tensors_are_shapes_of_one_extent_in_functions(rank: str) -> None:
    spec = [tf.TensorSpec(() if rank == "known" else None, tf.int32)]
    for make in (tf.ones, tf.zeros):
        made = tf.function(make, input_signature=spec)(3)
        assert made.numpy().tolist() == make(tf.constant(3)).numpy().tolist() == make([3]).numpy().tolist()
    filled = tf.function(lambda n: tf.fill(n, 7), input_signature=spec)
    if rank == "unknown":
        assert filled(3).numpy().tolist() == [7, 7, 7]
    else:
        with pytest.raises(ValueError, match="must be rank 1 but is rank 0"):
            filled(3)


def test_a_block_beyond_the_end_lies_at_the_end() -> None:
    from fastgraph.ops.slicing import dynamic_slice

    x = np.arange(12).reshape(3, 4)
    for starts, (i, j) in {(1, 1): (1, 1), (2, 3): (1, 2), (-5, 9): (0, 2)}.items():
        for apply in (dynamic_slice, tf.function(dynamic_slice)):
            found = apply(tf.constant(x), tf.constant(starts), tf.constant([2, 2]))
            assert found.numpy().tolist() == x[i : i + 2, j : j + 2].tolist()
