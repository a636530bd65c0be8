"""tensor[key].

Every row is an expression and what TensorFlow 2.21 gives for it, written down.
"""

from __future__ import annotations

import pytest
from tensor_rows import check_error, check_value, kernel

from fastgraph.errors import InvalidArgumentError

VALUES = [
    ("f2[0]", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("f2[-1]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[0:1]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    ("f2[::-1]", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 1.], dtype=float32)>"),
    ("f2[::2]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    ("f2[1:10]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>"),
    ("f2[...]", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"),
    ("f2[None]", "<tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)>"),
    (
        "tf.reshape(tf.range(4),(2,2))[:,:True]",
        "<tf.Tensor: shape=(2, 1), dtype=int32, numpy=\narray([[0],\n       [2]], dtype=int32)>",
    ),
    ("f2[...,None]", "<tf.Tensor: shape=(2, 1), dtype=float32, numpy=\narray([[1.],\n       [2.]], dtype=float32)>"),
    ("f2[tf.newaxis]", "<tf.Tensor: shape=(1, 2), dtype=float32, numpy=array([[1., 2.]], dtype=float32)>"),
    ("f2[f2>1]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>"),
    ("f2[tf.constant(1)]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[tf.constant(1,tf.int64)]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[tf.constant(1,tf.int16)]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("tf.function(lambda k: f2[k])(tf.constant(1,tf.int16))", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[(0,)]", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("f2[np.int64(1)]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[np.array(1)]", "<tf.Tensor: shape=(), dtype=float32, numpy=2.0>"),
    ("f2[i:]", "<tf.Tensor: shape=(0,), dtype=float32, numpy=array([], dtype=float32)>"),
    ("f2[:tf.constant(1)]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    ("f2[0,None]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    ("f2[None,0]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    (
        "tf.reshape(tf.range(24),(2,3,4))[1,...,2]",
        "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([14, 18, 22], dtype=int32)>",
    ),
    (
        "tf.reshape(tf.range(24),(2,3,4))[...,::-2]",
        "<tf.Tensor: shape=(2, 3, 2), dtype=int32, numpy=\narray([[[ 3,  1],\n        [ 7,  5],\n       "
        " [11,  9]],\n\n       [[15, 13],\n        [19, 17],\n        [23, 21]]], dtype=int32)>",
    ),
    (
        "tf.reshape(tf.range(24),(2,3,4))[:,1:2,None,-1]",
        "<tf.Tensor: shape=(2, 1, 1), dtype=int32, numpy=\narray([[[ 7]],\n\n       [[19]]], dtype=int32)>",
    ),
    (
        "tf.reshape(tf.range(24),(2,3,4))[::-1,3:0:-1]",
        "<tf.Tensor: shape=(2, 2, 4), dtype=int32, numpy=\narray([[[20, 21, 22, 23],\n        [16, 17, "
        "18, 19]],\n\n       [[ 8,  9, 10, 11],\n        [ 4,  5,  6,  7]]], dtype=int32)>",
    ),
    ("f[...]", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>"),
    ("f[None]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.5], dtype=float32)>"),
    ('tf.constant(["a","b"])[0]', "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"),
    ("f2[1:2**40]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>"),
    ("f2[-2**40:]", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"),
    ("f2[:np.int64(1)]", "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>"),
    ("f2[:None]", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"),
    ("tf.constant([1,2,3])[::-1]", "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([3, 2, 1], dtype=int32)>"),
]

ERRORS: list[tuple[str, type[Exception], str]] = [
    (
        "f2[5]",
        InvalidArgumentError,
        kernel("StridedSlice", "slice index 5 of dimension 0 out of bounds.", "strided_slice/"),
    ),
    (
        "f2[-3]",
        InvalidArgumentError,
        kernel("StridedSlice", "slice index -1 of dimension 0 out of bounds.", "strided_slice/"),
    ),
    ("f2[::0]", InvalidArgumentError, kernel("StridedSlice", "strides[0] must be non-zero", "strided_slice/")),
    (
        "f2[tf.constant(1.)]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got <tf.Tensor: shape=(), dtype=float32, numpy=1.0>",
    ),
    (
        "f2[1.]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got 1.0",
    ),
    (
        'f2["a"]',
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got 'a'",
    ),
    (
        "f2[[0,1]]",
        InvalidArgumentError,
        kernel("StridedSlice", "Index out of range using input dim 1; input has only 1 dims", "strided_slice/"),
    ),
    (
        "f2[0,0]",
        InvalidArgumentError,
        kernel("StridedSlice", "Index out of range using input dim 1; input has only 1 dims", "strided_slice/"),
    ),
    (
        "f2[np.array([0,1])]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got array([0, 1])",
    ),
    (
        "f2[tf.constant([0,1])]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got <tf.Tensor: shape=(2,), dtype=int32, numpy=array([0, 1], "
        "dtype=int32)>",
    ),
    ("f2[True]", ValueError, "mask cannot be scalar."),
    (
        "f2[np.True_]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        "valid indices, got np.True_",
    ),
    (
        "f2[...,...]",
        InvalidArgumentError,
        kernel("StridedSlice", "Multiple ellipses in slice spec not allowed", "strided_slice/"),
    ),
    (
        "f2[:,:]",
        InvalidArgumentError,
        kernel("StridedSlice", "Index out of range using input dim 1; input has only 1 dims", "strided_slice/"),
    ),
    ("f[0]", InvalidArgumentError, kernel("StridedSlice", "Attempting to slice scalar input.", "strided_slice/")),
    ("s[0]", InvalidArgumentError, kernel("StridedSlice", "Attempting to slice scalar input.", "strided_slice/")),
    (
        "f2[2**40]",
        InvalidArgumentError,
        kernel("StridedSlice", "slice index 1099511627776 of dimension 0 out of bounds.", "strided_slice/"),
    ),
    (
        "f2[1.5:]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got 1.5",
    ),
    (
        "f2[:True]",
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got slice(None, True, None)",
    ),
    (
        'f2["a":]',
        TypeError,
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.in"
        "t64 tensors are valid indices, got 'a'",
    ),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[row[0] for row in VALUES])
def test_value(expression: str, expected: str) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(expression: str, kind: type[Exception], message: str) -> None:
    check_error(expression, kind, message)
