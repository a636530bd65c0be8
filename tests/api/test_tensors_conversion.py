"""What constant and convert_to_tensor make of values, and what they refuse.

Every row is an expression and what TensorFlow 2.21 gives for it, written down.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest
from tensor_rows import check_error, check_value

import fastgraph as fg

VALUES = [
    ("tf.constant(1,tf.int8)/2", "<tf.Tensor: shape=(), dtype=float32, numpy=0.5>"),
    ("tf.constant([[1.]])@[[2.]]", "<tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[2.]], dtype=float32)>"),
    ("tf.constant(2**31)", "<tf.Tensor: shape=(), dtype=int64, numpy=2147483648>"),
    ("tf.constant(-2**31)", "<tf.Tensor: shape=(), dtype=int32, numpy=-2147483648>"),
    ("tf.constant(2**31,tf.int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=-2147483648>"),
    ("tf.constant(2**40,tf.int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=0>"),
    ("tf.constant(300,tf.uint8)", "<tf.Tensor: shape=(), dtype=uint8, numpy=44>"),
    ("tf.constant(-1,tf.uint8)", "<tf.Tensor: shape=(), dtype=uint8, numpy=255>"),
    ("tf.constant(True,tf.int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=1>"),
    ("tf.constant(True,tf.float32)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("tf.constant([1,2.5])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>"),
    ("tf.constant([1,True])", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 1], dtype=int32)>"),
    ("tf.constant([])", "<tf.Tensor: shape=(0,), dtype=float32, numpy=array([], dtype=float32)>"),
    ("tf.constant([[]])", "<tf.Tensor: shape=(1, 0), dtype=float32, numpy=array([], shape=(1, 0), dtype=float32)>"),
    ("tf.constant([[],[]])", "<tf.Tensor: shape=(2, 0), dtype=float32, numpy=array([], shape=(2, 0), dtype=float32)>"),
    ("tf.constant(1+2j)", "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>"),
    ("tf.constant(1,tf.complex64)", "<tf.Tensor: shape=(), dtype=complex64, numpy=(1+0j)>"),
    ("tf.constant(np.longdouble(1.5),tf.float32)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>"),
    ("tf.constant(np.array([1,2]))", "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>"),
    (
        "tf.constant(np.array([1.5,2.]),tf.int32)",
        "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
    ),
    (
        "tf.constant(np.array([1,2]),tf.float32)",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
    ),
    ("tf.constant(np.float16(2))", "<tf.Tensor: shape=(), dtype=float16, numpy=2.0>"),
    ("tf.constant(np.array([2**40]),tf.int32)", "<tf.Tensor: shape=(1,), dtype=int32, numpy=array([0], dtype=int32)>"),
    (
        'tf.constant(np.array(["a","bc"]))',
        "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'bc'], dtype=object)>",
    ),
    (
        'tf.constant(np.array([b"a",b"bc"]))',
        "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'bc'], dtype=object)>",
    ),
    (
        'tf.constant(np.array(["a",b"bc"],object))',
        "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'bc'], dtype=object)>",
    ),
    ("tf.constant(np.array([1],'>i4'))", "<tf.Tensor: shape=(1,), dtype=int32, numpy=array([1], dtype=int32)>"),
    (
        "tf.constant(np.zeros((2,0,3)))",
        "<tf.Tensor: shape=(2, 0, 3), dtype=float64, numpy=array([], shape=(2, 0, 3), dtype=float64)>",
    ),
    (
        "tf.constant([1,2,3],shape=(3,1))",
        "<tf.Tensor: shape=(3, 1), dtype=int32, numpy=\narray([[1],\n       [2],\n       [3]], dtype=int32)>",
    ),
    (
        "tf.constant(1,shape=(2,2))",
        "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 1],\n       [1, 1]], dtype=int32)>",
    ),
    (
        "tf.constant([1,2,3,4],shape=(2,2))",
        "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
    ),
    ("tf.constant(5.,shape=())", "<tf.Tensor: shape=(), dtype=float32, numpy=5.0>"),
    ("tf.constant(f)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>"),
    ("tf.constant(f,shape=(2,))", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 1.5], dtype=float32)>"),
    ("tf.constant(v)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ('tf.constant(b"ab")', "<tf.Tensor: shape=(), dtype=string, numpy=b'ab'>"),
    ('tf.constant(bytearray(b"ab"))', "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([97, 98], dtype=int32)>"),
    ('tf.constant("é")', "<tf.Tensor: shape=(), dtype=string, numpy=b'\\xc3\\xa9'>"),
    ('tf.constant(["a","b"])', "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'b'], dtype=object)>"),
    ("tf.constant((1,2))", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"),
    ("tf.constant(range(3))", "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 1, 2], dtype=int32)>"),
    ("tf.constant(np.bool_(True))", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("tf.constant([np.float64(1), 2])", "<tf.Tensor: shape=(2,), dtype=float64, numpy=array([1., 2.])>"),
    (
        "tf.constant([np.float32(1), 2.5])",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
    ),
    (
        "tf.constant([np.array([1,2]), np.array([3,4])])",
        "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
    ),
    (
        "tf.constant([np.array([1,2]), [3,4]])",
        "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\narray([[1, 2],\n       [3, 4]], dtype=int32)>",
    ),
    (
        "tf.constant([np.int32(2), 2.5])",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2. , 2.5], dtype=float32)>",
    ),
    ("tf.constant(np.int32(2))", "<tf.Tensor: shape=(), dtype=int32, numpy=2>"),
    ('tf.constant(1.0, "float64")', "<tf.Tensor: shape=(), dtype=float64, numpy=1.0>"),
    ("tf.constant(1.0, np.float64)", "<tf.Tensor: shape=(), dtype=float64, numpy=1.0>"),
    ("tf.constant(1.0, float)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("tf.constant(1e400)", "<tf.Tensor: shape=(), dtype=float32, numpy=inf>"),
    ("tf.constant(1e40, tf.float16)", "<tf.Tensor: shape=(), dtype=float16, numpy=inf>"),
    ('tf.constant(memoryview(b"abc"))', "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([97, 98, 99], dtype=int32)>"),
    ("tf.constant(2.5, tf.bfloat16)", "<tf.Tensor: shape=(), dtype=bfloat16, numpy=2.5>"),
    (
        "tf.constant([0.1], tf.bfloat16)",
        "<tf.Tensor: shape=(1,), dtype=bfloat16, numpy=array([0.100098], dtype=bfloat16)>",
    ),
    ('tf.constant(["a"]).numpy()', "array([b'a'], dtype=object)"),
    ("tf.constant([[1.,2.]]).numpy().flags.writeable", "True"),
    ("tf.convert_to_tensor([1,2])", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"),
    (
        "tf.convert_to_tensor([1,2],dtype=tf.float32)",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
    ),
    (
        "tf.convert_to_tensor([1.5],dtype_hint=tf.int32)",
        "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.5], dtype=float32)>",
    ),
    (
        "tf.convert_to_tensor([1],dtype_hint=tf.float32)",
        "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>",
    ),
    ("tf.convert_to_tensor(f,dtype_hint=tf.int32)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>"),
    (
        "tf.convert_to_tensor([tf.constant(1),2.5],tf.float32)",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1. , 2.5], dtype=float32)>",
    ),
    (
        "tf.constant([[tf.constant(1.5),2],[tf.constant(3),4]],tf.int64)",
        "<tf.Tensor: shape=(2, 2), dtype=int64, numpy=\narray([[1, 2],\n       [3, 4]])>",
    ),
    ("tf.convert_to_tensor([f,f])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 1.5], dtype=float32)>"),
    ("tf.convert_to_tensor([f,1])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 1. ], dtype=float32)>"),
    (
        "tf.convert_to_tensor([f2,[3,4]])",
        "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>",
    ),
    (
        "tf.convert_to_tensor([[f,1.],[2.,f]])",
        "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1.5, 1. ],\n       [2. , 1.5]], dtype=float32)>",
    ),
    ("tf.convert_to_tensor([v,1.])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>"),
    ("tf.convert_to_tensor(v)", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("tf.convert_to_tensor(np.zeros(3)[::2])", "<tf.Tensor: shape=(2,), dtype=float64, numpy=array([0., 0.])>"),
    (
        "tf.convert_to_tensor(tf.TensorShape([1,2]))",
        "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
    ),
    (
        "tf.convert_to_tensor(np.array([1.5]), tf.int32)",
        "<tf.Tensor: shape=(1,), dtype=int32, numpy=array([1], dtype=int32)>",
    ),
    ("tf.convert_to_tensor(np.array([1.5]), tf.bool)", "<tf.Tensor: shape=(1,), dtype=bool, numpy=array([ True])>"),
    (
        "tf.convert_to_tensor(np.array([True]), tf.float32)",
        "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>",
    ),
    (
        "tf.convert_to_tensor(np.array([1+1j]), tf.float32)",
        "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>",
    ),
    ("tf.constant([True,False],tf.int32)", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 0], dtype=int32)>"),
    ("tf.constant([1,2],tf.float64)", "<tf.Tensor: shape=(2,), dtype=float64, numpy=array([1., 2.])>"),
    ("tf.constant([1,2**40])", "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([            1, 1099511627776])>"),
    ("tf.constant([2**31,1])", "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([2147483648,          1])>"),
    ("tf.constant([300],tf.int8)", "<tf.Tensor: shape=(1,), dtype=int8, numpy=array([44], dtype=int8)>"),
    ("tf.constant([1,2**40],tf.int32)", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 0], dtype=int32)>"),
    ("tf.constant([2, 1.5])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2. , 1.5], dtype=float32)>"),
    ("tf.constant([1.5, True])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 1. ], dtype=float32)>"),
    ("tf.constant([True, False])", "<tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>"),
    ("tf.constant([1j, 1.5])", "<tf.Tensor: shape=(2,), dtype=complex128, numpy=array([0. +1.j, 1.5+0.j])>"),
    ("tf.constant([1j, 2])", "<tf.Tensor: shape=(2,), dtype=complex128, numpy=array([0.+1.j, 2.+0.j])>"),
    ("tf.constant([np.nan, 1])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([nan,  1.], dtype=float32)>"),
    ("tf.constant(np.array(5))", "<tf.Tensor: shape=(), dtype=int64, numpy=5>"),
    ("tf.constant([np.array(5.0), 1.])", "<tf.Tensor: shape=(2,), dtype=float64, numpy=array([5., 1.])>"),
    ("tf.constant([1e40],tf.float64)", "<tf.Tensor: shape=(1,), dtype=float64, numpy=array([1.e+40])>"),
    ("tf.constant([1, 1e10])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.e+00, 1.e+10], dtype=float32)>"),
    (
        "tf.constant([2**53+1, 1.5])",
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([9.007199e+15, 1.500000e+00], dtype=float32)>",
    ),
    ('tf.constant(5, name="x")', "<tf.Tensor: shape=(), dtype=int32, numpy=5>"),
    (
        "tf.constant([[],[],[]],tf.int32)",
        "<tf.Tensor: shape=(3, 0), dtype=int32, numpy=array([], shape=(3, 0), dtype=int32)>",
    ),
    ("tf.constant((), tf.string)", "<tf.Tensor: shape=(0,), dtype=string, numpy=array([], dtype=object)>"),
    (
        "tf.constant([[[1]]*2]*3)",
        "<tf.Tensor: shape=(3, 2, 1), dtype=int32, numpy=\narray([[[1],\n        [1]],\n\n       [[1],\n  "
        "      [1]],\n\n       [[1],\n        [1]]], dtype=int32)>",
    ),
    ("tf.constant([np.bool_(True), False])", "<tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>"),
    ('tf.constant([b"a","b"])', "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'b'], dtype=object)>"),
    ('tf.constant("a", shape=(2,))', "<tf.Tensor: shape=(2,), dtype=string, numpy=array([b'a', b'a'], dtype=object)>"),
    ("tf.constant(1.0, tf.complex128)", "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+0j)>"),
    (
        "tf.constant([1, 2.5, 3], tf.float16)",
        "<tf.Tensor: shape=(3,), dtype=float16, numpy=array([1. , 2.5, 3. ], dtype=float16)>",
    ),
    ("tf.constant(-1, tf.uint32)", "<tf.Tensor: shape=(), dtype=uint32, numpy=4294967295>"),
    ("tf.constant(2**64-1, tf.uint64)", "<tf.Tensor: shape=(), dtype=uint64, numpy=18446744073709551615>"),
]

ERRORS: list[tuple[str, type[Exception], str]] = [
    ("tf.constant(2**63)", ValueError, "Can't convert Python sequence with out-of-range integer to Tensor."),
    ("tf.constant(1.5,tf.int32)", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("tf.constant(1,tf.bool)", TypeError, "Cannot convert 1 to EagerTensor of dtype bool"),
    ('tf.constant("a",tf.int32)', TypeError, "Cannot convert 'a' to EagerTensor of dtype int32"),
    ("tf.constant(1,tf.string)", TypeError, "Cannot convert 1 to EagerTensor of dtype string"),
    (
        "tf.constant(None)",
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
    ("tf.constant([1,[2]])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([[1],[2,3]])", ValueError, "Can't convert non-rectangular Python sequence to Tensor."),
    ('tf.constant([1,"a"])', ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ('tf.constant(["a",1])', ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([True,1])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([1,None])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    (
        "tf.constant({})",
        ValueError,
        "Attempt to convert a value ({}) with an unsupported type (<class 'dict'>) to a Tensor.",
    ),
    (
        "tf.constant({1:2})",
        ValueError,
        "Attempt to convert a value ({1: 2}) with an unsupported type (<class 'dict'>) to a Tensor.",
    ),
    ("tf.constant([1,2j])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant(1j,tf.float32)", TypeError, "Cannot convert 1j to EagerTensor of dtype float"),
    (
        'tf.constant(np.array([1,"b"],object))',
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported object type int).",
    ),
    (
        "tf.constant(np.array([1,2],object))",
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported object type int).",
    ),
    (
        "tf.constant(np.array([None],object))",
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported object type NoneType).",
    ),
    (
        'tf.constant(np.datetime64("2020-01-01"))',
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported numpy type: NPY_DATETIME).",
    ),
    (
        "tf.constant(np.longdouble(1))",
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported numpy type: NPY_LONGDOUBLE).",
    ),
    (
        "tf.constant([1,2,3],shape=(2,2))",
        TypeError,
        "Eager execution of tf.constant with unsupported shape. Tensor [1 2 3] (converted from [1, 2,"
        " 3]) has 3 elements, but got `shape` (2, 2) with 4 elements).",
    ),
    (
        "tf.constant([1,2],shape=(2,2))",
        TypeError,
        "Eager execution of tf.constant with unsupported shape. Tensor [1 2] (converted from [1, 2]) "
        "has 2 elements, but got `shape` (2, 2) with 4 elements).",
    ),
    ("tf.constant(f,tf.int32)", TypeError, "Expected tensor 1.5 with dtype tf.int32, but got dtype tf.float32."),
    ("tf.constant(f,tf.float64)", TypeError, "Expected tensor 1.5 with dtype tf.float64, but got dtype tf.float32."),
    (
        "tf.constant({1,2})",
        ValueError,
        "Attempt to convert a value ({1, 2}) with an unsupported type (<class 'set'>) to a Tensor.",
    ),
    (
        "tf.constant(1, int)",
        TypeError,
        "Cannot convert the argument `type_value`: <class 'int'> to a TensorFlow DType.",
    ),
    ('tf.constant(1, "nope")', TypeError, "Cannot convert the argument `type_value`: 'nope' to a TensorFlow DType."),
    (
        "tf.constant(1e40)",
        ValueError,
        "Can't convert Python sequence with a value out of range for a double-precision float.",
    ),
    ("tf.constant(0, shape=(-1,))", ValueError, "Dimension -1 must be >= 0"),
    ("tf.constant([1,2], shape=(-1,1))", ValueError, "Dimension -1 must be >= 0"),
    ("tf.convert_to_tensor([1.5],dtype=tf.int32)", TypeError, "Cannot convert [1.5] to EagerTensor of dtype int32"),
    (
        "tf.convert_to_tensor(f,dtype=tf.int32)",
        ValueError,
        "Tensor conversion requested dtype int32 for Tensor with dtype float32: <tf.Tensor: shape=(),"
        " dtype=float32, numpy=1.5>",
    ),
    (
        "tf.convert_to_tensor(tf.TensorShape([None,2]))",
        ValueError,
        "Cannot convert a partially known TensorShape (None, 2) to a Tensor.",
    ),
    (
        "tf.convert_to_tensor(np.array([1,2]), tf.string)",
        ValueError,
        "Failed to convert a NumPy array to a Tensor (Unsupported object type int).",
    ),
    ('tf.convert_to_tensor(["a"], tf.float32)', TypeError, "Cannot convert ['a'] to EagerTensor of dtype float"),
    ("tf.constant([1,2],tf.bool)", TypeError, "Cannot convert [1, 2] to EagerTensor of dtype bool"),
    ("tf.constant([1.5,2],tf.int32)", TypeError, "Cannot convert [1.5, 2] to EagerTensor of dtype int32"),
    ('tf.constant([["a"],[1]],tf.string)', ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([1,2**70])", ValueError, "Can't convert Python sequence with out-of-range integer to Tensor."),
    ("tf.constant([1.0, None])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([1.0, object()])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([[1.0, 2.0],[3.0]])", ValueError, "Can't convert non-rectangular Python sequence to Tensor."),
    ("tf.constant([1.0,[2.0]])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([[1.0],2.0])", ValueError, "Can't convert non-rectangular Python sequence to Tensor."),
    ('tf.constant([1.5, "a"])', ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ("tf.constant([1.5, 1j])", ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    (
        "tf.constant([np.array([1.,2.]), np.array([3.])])",
        ValueError,
        "Can't convert non-rectangular Python sequence to Tensor.",
    ),
    (
        "tf.constant([1e40])",
        ValueError,
        "Can't convert Python sequence with a value out of range for a double-precision float.",
    ),
    ('tf.constant(float("nan"), tf.int32)', TypeError, "Cannot convert nan to EagerTensor of dtype int32"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[row[0] for row in VALUES])
def test_value(expression: str, expected: str) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(expression: str, kind: type[Exception], message: str) -> None:
    check_error(expression, kind, message)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (np.array([1.5, 2, None], object), "float32", [1.5, 2.0, np.nan]),
        (np.array([1.5, True], object), "int32", [1, 1]),
        (np.array([1.5], np.longdouble), "float64", [1.5]),
        (np.array(["2", "3"]), "float32", [2.0, 3.0]),
        (np.array(["1970-01-03"], "M8[D]"), "int64", [2]),
        ([True, 1.5, 2], "float32", [1.0, 1.5, 2.0]),
        ([[True], [2]], "int64", [[1], [2]]),
    ],
)
def test_what_only_a_dtype_makes_numbers_of(value: Any, dtype: str, expected: Any) -> None:
    """Arrays of objects and the like are cast by NumPy, lists that begin with bools hold numbers, if a dtype is given."""
    for made in (
        fg.constant(value, dtype),
        fg.function(lambda: fg.constant(value, dtype))(),
        fg.Variable(value, dtype=dtype),
    ):
        assert made.dtype.name == dtype
        np.testing.assert_array_equal(made, expected)
    if np.asarray(value).dtype.kind != "U":  # that would be text
        with pytest.raises(ValueError, match="Failed to convert a NumPy array|mixed types"):
            fg.constant(value)


def test_members_of_enumerations_are_no_sequences() -> None:
    class Colour(enum.Enum):
        RED = 1

    with pytest.raises(ValueError, match="Attempt to convert a value .* with an unsupported type"):
        fg.constant(Colour.RED)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    ("program", "dtype", "expected"),
    [
        (lambda: fg.concat((fg.constant([1, 2]), [fg.constant(3, fg.int64)]), 0), "int32", [1, 2, 3]),
        (lambda: fg.constant([1.5]) + [fg.constant(3, fg.int64)], "float32", [4.5]),
        (lambda: fg.constant([1, 2]) * [fg.constant(2.9), 3], "int32", [2, 6]),
        (lambda: fg.stack([fg.constant([1.0]), [fg.constant(2)]]), "float32", [[1.0], [2.0]]),
    ],
)
def test_a_list_beside_a_tensor_is_cast_to_its_dtype(program: Any, dtype: str, expected: Any, staged: bool) -> None:
    """As TensorFlow packs a list with tensors in it where a dtype is wanted; a tensor itself is not cast."""
    made = (fg.function(program) if staged else program)()
    assert made.dtype.name == dtype and made.numpy().tolist() == expected


@pytest.mark.parametrize("staged", [False, True])
def test_tensors_of_several_dtypes_in_a_list_are_not_cast(staged: bool) -> None:
    def program() -> Any:
        return fg.constant([1, 2]) + [fg.constant(1), fg.constant(2, fg.int64)]

    with pytest.raises(TypeError if staged else fg.errors.InvalidArgumentError):
        (fg.function(program) if staged else program)()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (fg.maximum, [1.5, 2.5]),
        (fg.pow, [1.5, 6.25]),
        (fg.atan2, [0.98279375, 0.8960554]),
        (fg.math.floormod, [0.5, 0.5]),
        (lambda x, y: fg.where([True, False], x, y), [1.5, 2.0]),
        (lambda x, y: fg.einsum("i,i->i", x, y), [1.5, 5.0]),
        (lambda x, y: fg.concat([x, y], 0), [1.5, 2.5, 1.0, 2.0]),
        (lambda x, y: fg.stack([x, y])[0], [1.5, 2.5]),
        (lambda x, y: fg.dynamic_stitch([[0, 1], [2, 3]], [x, y]), [1.5, 2.5, 1.0, 2.0]),
        (lambda x, y: fg.nn.bias_add([x], y)[0], [2.5, 4.5]),
        (lambda x, y: fg.nn.bias_add([y], x)[0], [2.5, 4.5]),
        (lambda x, y: fg.tensor_scatter_nd_update(x, [[1]], y[:1]), [1.5, 1.0]),
    ],
)
def test_an_array_before_a_tensor_is_of_its_dtype(call: Any, expected: Any) -> None:
    """As TensorFlow's eager calls take it: of several arguments of one dtype the tensors say which."""
    for tensor in (fg.constant([1.0, 2.0]), fg.Variable([1.0, 2.0])):
        made = call(np.array([1.5, 2.5]), tensor)
        assert made.dtype is fg.float32
        np.testing.assert_allclose(made, expected, rtol=1e-6)


@pytest.mark.parametrize("call", [lambda x, y: fg.concat([x, y], 0), lambda x, y: fg.concat([y, x], 0)])
def test_an_array_in_a_list_is_of_the_tensors_dtype_in_graphs_too(call: Any) -> None:
    made = fg.function(lambda y: call(np.array([1, 2]), y))(fg.constant([3, 4]))
    assert made.dtype is fg.int32 and sorted(made.numpy().tolist()) == [1, 2, 3, 4]


def test_tf_add_takes_what_comes_first() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError):
        fg.add(np.array([1.5, 2.5]), fg.constant([1.0, 2.0]))
    np.testing.assert_array_equal(fg.divide(np.array([1.5, 2.5]), fg.Variable([1.0, 2.0])), [1.5, 1.25])


def test_a_sequence_that_ends_before_its_length_is_no_tensor() -> None:
    class Short:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, place: int) -> float:
            return [1.0, 2.0][place]

    for value in (Short(), [Short(), Short()]):
        with pytest.raises(ValueError, match="Can't convert non-rectangular Python sequence to Tensor"):
            fg.constant(value)
