"""Bad arguments of ops: an error of TensorFlow's class that says what is wrong, never a crash or a wrong shape."""

from __future__ import annotations

from typing import Any

import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError

HUGE = 2**40

ROWS: list[tuple[str, Any, str]] = [
    ("tf.zeros([HUGE, HUGE])", InvalidArgumentError, "more than 2\\*\\*63 - 1 elements"),
    ("tf.fill([HUGE, HUGE], 1.0)", InvalidArgumentError, "more than 2\\*\\*63 - 1 elements"),
    ("tf.eye(HUGE)", InvalidArgumentError, "more than 2\\*\\*63 - 1 elements"),
    ("tf.random.uniform([HUGE, HUGE])", InvalidArgumentError, "more than 2\\*\\*63 - 1 elements"),
    ("tf.reshape(x, [2**31, 2**31, 2**31])", InvalidArgumentError, "too many elements"),
    ("tf.zeros([HUGE])", ResourceExhaustedError, "OOM when allocating tensor with shape\\[1099511627776\\]"),
    (
        "tf.broadcast_to(1.0, [HUGE])",
        ResourceExhaustedError,
        "OOM when allocating tensor with shape\\[1099511627776\\]",
    ),
    ("tf.tile(x, [HUGE])", ResourceExhaustedError, "Out of memory"),
    ("tf.pad(x, [[0, HUGE]])", ResourceExhaustedError, "Out of memory"),
    ("tf.one_hot([1], HUGE)", ResourceExhaustedError, "OOM when allocating tensor with shape"),
    ("tf.range(0, 2**62)", ResourceExhaustedError, "OOM when allocating tensor with shape"),
    ("tf.range(0, 2**63 - 1)", ResourceExhaustedError, "OOM when allocating tensor with shape"),
    ("tf.ones([2**63 - 1])", ResourceExhaustedError, "OOM when allocating tensor with shape"),
    ("tf.broadcast_to(1.0, [2**62])", ResourceExhaustedError, "Out of memory"),
    ("tf.roll(x, [1, 2], 0)", InvalidArgumentError, "shift and axis must have the same size"),
    ("tf.expand_dims(tf.zeros([1] * 64), 0)", InvalidArgumentError, "dimension.* 64"),
    ("tf.stack([tf.zeros([1] * 64)])", InvalidArgumentError, "dimensions must be within .0, 64"),
    ("tf.reduce_sum(x, axis='a')", InvalidArgumentError, "attr 'Tidx' of string is not in the list"),
    ("tf.reduce_sum(x, axis=1.5)", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.transpose([[1.0]], [1.0, 0.0])", InvalidArgumentError, "attr 'Tperm' of float is not in the list"),
    ("tf.reshape(x, 'a')", InvalidArgumentError, "attr 'Tshape' of string is not in the list"),
    ("tf.reshape(x, [1.5])", InvalidArgumentError, "attr 'Tshape' of float is not in the list"),
    ("tf.random.uniform('a')", InvalidArgumentError, "attr 'T' of string is not in the list"),
    ("tf.concat(None, 0)", ValueError, "None"),
    ("tf.add(x, None)", ValueError, "None"),
    ("tf.add(x, object())", ValueError, "unsupported type"),
    ("tf.stack(object())", ValueError, "unsupported type"),
    ("tf.cast(x, 'nope')", TypeError, "Cannot convert the argument `type_value`: 'nope' to a TensorFlow DType."),
    ("tf.argmax(x, output_type=tf.float32)", InvalidArgumentError, "attr 'output_type' of float"),
    ("tf.one_hot(x, 3)", InvalidArgumentError, "attr 'TI' of float is not in the list"),
    ("tf.gather(x, x)", InvalidArgumentError, "attr 'Tindices' of float is not in the list"),
    ("tf.split(x, 0)", InvalidArgumentError, "should evenly divide"),
    ("tf.split(x, [3, -2])", InvalidArgumentError, "Split size at index 1 must be >= 0"),
    ("tf.pad(x, [1, 2])", InvalidArgumentError, "paddings must be a matrix with 2 columns: \\[2\\]"),
    ("tf.boolean_mask(1.0, [True])", ValueError, "are incompatible"),
    ("tf.roll(x, 1, 3)", InvalidArgumentError, "axis 3 is out of range"),
    ("tf.norm(x, ord='weird')", ValueError, "'ord' must be a supported vector norm, got 'weird'"),
    ("tf.meshgrid([1], indexing='zz')", ValueError, "must be either 'xy' or 'ij', got 'zz'"),
    ("tf.tensordot(x, x, 5)", ValueError, "must not be larger than the number of dimensions"),
    ("tf.one_hot([0], 2, on_value=1, off_value=0.5)", TypeError, "of on_value does not match dtype"),
    (
        "tf.strings.substr(['a', 'b'], [0, 0], 1)",
        InvalidArgumentError,
        r"should have the same shape, got: \[2\] vs. \[\]",
    ),
    ("tf.function(tf.strings.substr)(['a', 'b'], [0], [1, 1])", ValueError, "should have the same shape"),
    (
        "tf.strings.reduce_join(['a', 'b'], [0, 1])",
        tf.errors.OutOfRangeError,
        "Invalid reduction dimension 1 for input",
    ),
    ("tf.function(lambda: tf.strings.reduce_join(['a', 'b'], -2))()", ValueError, "Invalid reduction dimension -2"),
    ("tf.strings.substr('a', 5, 1)", InvalidArgumentError, "pos 5 out of range for string b'a'"),
    ("tf.reverse_sequence(tf.ones([2, 3]), [1, 2], seq_axis=-1, batch_axis=0)", InvalidArgumentError, "seq_dim -1"),
    ("tf.reverse_sequence(tf.ones([2, 3]), [1, 2], seq_axis=1, batch_axis=-2)", InvalidArgumentError, "batch_dim -2"),
    (
        "tf.math.unsorted_segment_sum(x, [0, 5], 2)",
        InvalidArgumentError,
        "segment_ids\\[1\\] = 5 is out of range \\[0, 2\\)",
    ),
    ("tf.random.set_seed('a')", TypeError, "Expected int for argument 'seed'"),
    ("tf.print(1, foo=2)", ValueError, "Unrecognized keyword arguments for tf.print: {'foo': 2}"),
]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.ones([2**63 - 1]),
        lambda x: tf.broadcast_to(x[0], [2**40, 2**22]),
        lambda x: tf.tile(x, [2**61]),
        lambda x: tf.range(0, 2**63 - 1),
    ],
    ids=["ones", "broadcast_to", "tile", "range"],
)
@pytest.mark.parametrize("tier", ["first", "last"])
def test_more_bytes_than_can_be_counted_in_a_function(make: Any, tier: str) -> None:
    with flags.override(tier=tier), pytest.raises(ResourceExhaustedError):
        tf.function(make, autograph=False)(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("axis", [[0, 0], [1, 0, -1]])
def test_axes_named_twice_in_a_function(axis: list[int]) -> None:
    with pytest.raises(InvalidArgumentError, match="Axes contains duplicate dimension"):
        tf.function(lambda x: tf.reduce_sum(x, axis))(tf.constant([[1.0, 2.0]]))


@pytest.mark.parametrize("index", [-1, 3, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("in_function", [False, True])
def test_rows_that_a_variable_does_not_have(index: int, in_function: bool) -> None:
    variable = tf.Variable([1.0, 2.0, 3.0])

    def scatter(values: Any, indices: Any) -> Any:
        return variable.scatter_add(tf.IndexedSlices(values, indices))

    with pytest.raises(InvalidArgumentError, match=r"indices\[0\] = .* is not in \[0, 3\)"):
        (tf.function(scatter) if in_function else scatter)(tf.constant([1.0]), tf.constant([index]))
    assert variable.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(("text", "error", "message"), ROWS, ids=[r[0] for r in ROWS])
def test_bad_argument(text: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        eval(text, {"tf": tf, "x": tf.constant([1.0, 2.0]), "HUGE": HUGE})
