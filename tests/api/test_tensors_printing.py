"""print, repr and format of tensors.

Every row is an expression and what TensorFlow 2.21 gives for it, written down.
"""

from __future__ import annotations

import pytest
from tensor_rows import check_error, check_value

VALUES = [
    ('"b"+s', "<tf.Tensor: shape=(), dtype=string, numpy=b'ba'>"),
    ("str(f)", "'tf.Tensor(1.5, shape=(), dtype=float32)'"),
    ("str(f2)", "'tf.Tensor([1. 2.], shape=(2,), dtype=float32)'"),
    ("str(tf.constant([[1,2],[3,4]]))", "'tf.Tensor(\\n[[1 2]\\n [3 4]], shape=(2, 2), dtype=int32)'"),
    ("str(tf.constant([[2.]]))", "'tf.Tensor([[2.]], shape=(1, 1), dtype=float32)'"),
    ("repr(tf.constant([[2.]]))", "'<tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[2.]], dtype=float32)>'"),
    ("str(tf.constant([[1,2]]))", "'tf.Tensor([[1 2]], shape=(1, 2), dtype=int32)'"),
    ("repr(f2)", "'<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>'"),
    ("repr(s)", "\"<tf.Tensor: shape=(), dtype=string, numpy=b'a'>\""),
    ("str(s)", "\"tf.Tensor(b'a', shape=(), dtype=string)\""),
    ('str(tf.constant(["a","b"]))', "\"tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)\""),
    (
        'repr(tf.constant(["a","b"]))',
        "\"<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'b'], dtype=object)>\"",
    ),
    ('str(tf.constant([["a"],["b"]]))', "\"tf.Tensor(\\n[[b'a']\\n [b'b']], shape=(2, 1), dtype=string)\""),
    ("repr(tf.constant(2.5, tf.bfloat16))", "'<tf.Tensor: shape=(), dtype=bfloat16, numpy=2.5>'"),
    ("str(tf.constant([[2.5]], tf.bfloat16))", "'tf.Tensor([[2.5]], shape=(1, 1), dtype=bfloat16)'"),
    (
        "repr(tf.constant([1.,2.], tf.float16))",
        "'<tf.Tensor: shape=(2,), dtype=float16, numpy=array([1., 2.], dtype=float16)>'",
    ),
    ("str(tf.zeros([2000]))", "'tf.Tensor([0. 0. 0. ... 0. 0. 0.], shape=(2000,), dtype=float32)'"),
    ("str(tf.zeros((2,0)))", "'tf.Tensor([], shape=(2, 0), dtype=float32)'"),
    (
        "repr(tf.zeros((2,0)))",
        "'<tf.Tensor: shape=(2, 0), dtype=float32, numpy=array([], shape=(2, 0), dtype=float32)>'",
    ),
    ("repr(tf.constant(1+2j))", "'<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>'"),
    ("repr(tf.constant(True))", "'<tf.Tensor: shape=(), dtype=bool, numpy=True>'"),
    ("str(tf.constant([True]))", "'tf.Tensor([ True], shape=(1,), dtype=bool)'"),
    ("repr(tf.constant(3, tf.uint8))", "'<tf.Tensor: shape=(), dtype=uint8, numpy=3>'"),
    ("repr(tf.constant(0.1))", "'<tf.Tensor: shape=(), dtype=float32, numpy=0.10000000149011612>'"),
    ("str(tf.constant(0.1))", "'tf.Tensor(0.1, shape=(), dtype=float32)'"),
    ("repr(tf.constant(1e-7))", "'<tf.Tensor: shape=(), dtype=float32, numpy=1.0000000116860974e-07>'"),
    ("repr(tf.constant(np.float64(0.1)))", "'<tf.Tensor: shape=(), dtype=float64, numpy=0.1>'"),
    ('"{}".format(f)', "'1.5'"),
    ('"{}".format(f2)', "'[1. 2.]'"),
    ('"{:.3f}".format(f)', "'1.500'"),
    ('"{:5}".format(i)', "'    3'"),
    ('"{:d}".format(i)', "'3'"),
    ('"{}".format(s)', "\"b'a'\""),
    ('"{}".format(tf.constant([[4.]]))', "'[[4.]]'"),
    ('f"{f}"', "'1.5'"),
    ('f"{f!r}"', "'<tf.Tensor: shape=(), dtype=float32, numpy=1.5>'"),
    ('"%.2f" % f', "'1.50'"),
    ('"%d" % i', "'3'"),
    ("tf.constant(1).numpy()", "np.int32(1)"),
    ("type(tf.constant(1).numpy())", "<class 'numpy.int32'>"),
    ("type(tf.constant([1]).numpy())", "<class 'numpy.ndarray'>"),
    ("s.numpy()", "b'a'"),
]

ERRORS: list[tuple[str, type[Exception], str]] = [
    ('"{:.3f}".format(f2)', TypeError, "unsupported format string passed to numpy.ndarray.__format__"),
    ('"{:>5}".format(s)', TypeError, "unsupported format string passed to bytes.__format__"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[row[0] for row in VALUES])
def test_value(expression: str, expected: str) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(expression: str, kind: type[Exception], message: str) -> None:
    check_error(expression, kind, message)
