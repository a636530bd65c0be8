"""Tensors where Python asks for a length, a truth value, a number, an iterator, an attribute.

Every row is an expression and what TensorFlow 2.21 gives for it, written down.
"""

from __future__ import annotations

import pytest
from tensor_rows import check_error, check_value

VALUES = [
    ("abs(i)", "<tf.Tensor: shape=(), dtype=int32, numpy=3>"),
    ("len(f2)", "2"),
    ("bool(f)", "True"),
    ("bool(tf.constant(0))", "False"),
    ("bool(tf.constant([1]))", "True"),
    ("bool(s)", "True"),
    ('bool(tf.constant(""))', "False"),
    ("int(f)", "1"),
    ("float(i)", "3.0"),
    ('int(tf.constant("12"))', "12"),
    ("complex(c)", "(1+2j)"),
    ("int(c)", "1"),
    ("float(c)", "1.0"),
    ("range(i)", "range(0, 3)"),
    ("[1,2,3,4][i]", "4"),
    ("list(f2)", "[<tf.Tensor: shape=(), dtype=float32, numpy=1.0>, <tf.Tensor: shape=(), dtype=float32, numpy=2.0>]"),
    (
        "list(tf.constant([[1,2],[3,4]]))",
        "[<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>, <tf.Tensor: shape=("
        "2,), dtype=int32, numpy=array([3, 4], dtype=int32)>]",
    ),
    ("f in [f]", "True"),
    ("1. in f2", "True"),
    ("np.asarray(f2).flags.writeable", "False"),
    ("np.multiply(f2,f2)", "array([1., 4.], dtype=float32)"),
    ("np.add(f2, 1)", "array([2., 3.], dtype=float32)"),
    ("f2.shape", "TensorShape([2])"),
    ("f2.shape[0]", "2"),
    ("f.shape", "TensorShape([])"),
    ("f2.dtype", "tf.float32"),
    ("f2.ndim", "1"),
    ("f2.device", "'/job:localhost/replica:0/task:0/device:CPU:0'"),
    ("f2.is_packed", "False"),
    ("f2.get_shape()", "TensorShape([2])"),
    ("f2.ref()", "<Reference wrapping <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>>"),
    ("tf.executing_eagerly()", "True"),
]

ERRORS: list[tuple[str, type[Exception], str]] = [
    ("len(f)", TypeError, "Scalar tensor has no `len()`"),
    (
        "bool(f2)",
        ValueError,
        "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
    ),
    (
        "bool(tf.zeros([0, 2]))",
        ValueError,
        "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.",
    ),
    ("int(f2)", TypeError, "only 0-dimensional arrays can be converted to Python scalars"),
    ("int(tf.constant([3]))", TypeError, "only 0-dimensional arrays can be converted to Python scalars"),
    ("float(s)", ValueError, "could not convert string to float: b'a'"),
    ("list(f)", TypeError, "Cannot iterate over a scalar tensor."),
    ("hash(f)", TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key."),
    ("{f:1}", TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key."),
    ("f2.name", AttributeError, "Tensor.name is undefined when eager execution is enabled."),
    ("f2.op", AttributeError, "Tensor.op is undefined when eager execution is enabled."),
    ("f2.graph", AttributeError, "Tensor.graph is undefined when eager execution is enabled."),
    ("f2.set_shape((3,))", ValueError, "Tensor's shape (2,) is not compatible with supplied shape (3,)."),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[row[0] for row in VALUES])
def test_value(expression: str, expected: str) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(expression: str, kind: type[Exception], message: str) -> None:
    check_error(expression, kind, message)
