"""Python's operators on tensors, and what stands beside a tensor: numbers, lists, arrays, strings.

Every row is an expression and what TensorFlow 2.21 gives for it, written down.
"""

from __future__ import annotations

import array
import collections
import enum
import unittest.mock

import numpy as np
import pytest
from tensor_rows import check_error, check_value, kernel

import fastgraph as fg
from fastgraph.errors import InvalidArgumentError

VALUES = [
    ("f+1", "<tf.Tensor: shape=(), dtype=float32, numpy=2.5>"),
    ("i+1", "<tf.Tensor: shape=(), dtype=int32, numpy=4>"),
    ("f+np.array([1.,2.])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.5, 3.5], dtype=float32)>"),
    ("f+np.array([1,2])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.5, 3.5], dtype=float32)>"),
    ("i+np.array([1.5,2.])", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 5], dtype=int32)>"),
    ("i+np.array([1,2])", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 5], dtype=int32)>"),
    ("f+np.float64(2)", "<tf.Tensor: shape=(), dtype=float32, numpy=3.5>"),
    ("np.float64(2)*f", "<tf.Tensor: shape=(), dtype=float32, numpy=3.0>"),
    ("np.array([1.,2.])+f", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.5, 3.5], dtype=float32)>"),
    ("np.array([1.,2.],'f4')+f", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.5, 3.5], dtype=float32)>"),
    ("i+np.float64(2)", "<tf.Tensor: shape=(), dtype=int32, numpy=5>"),
    ("tf.add(np.array([1.,2.]), 1)", "<tf.Tensor: shape=(2,), dtype=float64, numpy=array([2., 3.])>"),
    ("tf.add(f, [1,2])", "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([2.5, 3.5], dtype=float32)>"),
    ("s+s", "<tf.Tensor: shape=(), dtype=string, numpy=b'aa'>"),
    ('s+"b"', "<tf.Tensor: shape=(), dtype=string, numpy=b'ab'>"),
    ("b*b", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("b&b", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("b|True", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("b^b", "<tf.Tensor: shape=(), dtype=bool, numpy=False>"),
    ("~b", "<tf.Tensor: shape=(), dtype=bool, numpy=False>"),
    ("i&i", "<tf.Tensor: shape=(), dtype=int32, numpy=3>"),
    ("~i", "<tf.Tensor: shape=(), dtype=int32, numpy=-4>"),
    ("f/2", "<tf.Tensor: shape=(), dtype=float32, numpy=0.75>"),
    ("i/2", "<tf.Tensor: shape=(), dtype=float64, numpy=1.5>"),
    ("u8/u8", "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"),
    ("l/2", "<tf.Tensor: shape=(), dtype=float64, numpy=1.5>"),
    ("i//2", "<tf.Tensor: shape=(), dtype=int32, numpy=1>"),
    ("f//2", "<tf.Tensor: shape=(), dtype=float32, numpy=0.0>"),
    ("l%2", "<tf.Tensor: shape=(), dtype=int64, numpy=1>"),
    ("f%2", "<tf.Tensor: shape=(), dtype=float32, numpy=1.5>"),
    ("-5 % i", "<tf.Tensor: shape=(), dtype=int32, numpy=1>"),
    ("i**2", "<tf.Tensor: shape=(), dtype=int32, numpy=9>"),
    ("2**i", "<tf.Tensor: shape=(), dtype=int32, numpy=8>"),
    ("f**2", "<tf.Tensor: shape=(), dtype=float32, numpy=2.25>"),
    ("f2==f3", "<tf.Tensor: shape=(), dtype=bool, numpy=False>"),
    ("f2!=f3", "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("f2==f2", "<tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True,  True])>"),
    ("f==1", "<tf.Tensor: shape=(), dtype=bool, numpy=False>"),
    ("f==None", "False"),
    ('s=="a"', "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ("f<1", "<tf.Tensor: shape=(), dtype=bool, numpy=False>"),
    ("u8+100", "<tf.Tensor: shape=(), dtype=uint8, numpy=44>"),
    ("u8+300", "<tf.Tensor: shape=(), dtype=uint8, numpy=244>"),
    ("u8+(-1)", "<tf.Tensor: shape=(), dtype=uint8, numpy=199>"),
    ("i+2**31", "<tf.Tensor: shape=(), dtype=int32, numpy=-2147483645>"),
    ("i+2**40", "<tf.Tensor: shape=(), dtype=int32, numpy=3>"),
    ("f+2**200", "<tf.Tensor: shape=(), dtype=float32, numpy=inf>"),
    ("np.array(f2, dtype='f8')", "array([1., 2.])"),
]

ERRORS: list[tuple[str, type[Exception], str]] = [
    (
        "f+i",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a int3"
        "2 tensor [Op:AddV2] name: ",
    ),
    (
        "i+1.5",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a floa"
        "t tensor [Op:AddV2] name: ",
    ),
    (
        "f+d",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a doub"
        "le tensor [Op:AddV2] name: ",
    ),
    ("f2+f3", InvalidArgumentError, kernel("AddV2", "Incompatible shapes: [2] vs. [3]")),
    (
        "tf.add(np.array([1.,2.]), f)",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a double tensor but is a flo"
        "at tensor [Op:AddV2] name: ",
    ),
    (
        "tf.add(1, 2.5)",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a floa"
        "t tensor [Op:AddV2] name: ",
    ),
    (
        "tf.add(np.array([1,2]), 1.5)",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int64 tensor but is a floa"
        "t tensor [Op:AddV2] name: ",
    ),
    (
        "tf.add([1,2], [1.5, 2])",
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a floa"
        "t tensor [Op:AddV2] name: ",
    ),
    (
        "tf.add(f, None)",
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
    (
        "f+None",
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
    (
        "None+f",
        ValueError,
        "Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.",
    ),
    (
        'f+"a"',
        InvalidArgumentError,
        "cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a stri"
        "ng tensor [Op:AddV2] name: ",
    ),
    ("i//0", InvalidArgumentError, kernel("FloorDiv", "Integer division by zero")),
    ("i%0", InvalidArgumentError, kernel("FloorMod", "Integer division by zero")),
    ("i**-1", InvalidArgumentError, kernel("Pow", "Integers to negative integer powers are not allowed")),
    ('f=="a"', TypeError, "Cannot convert 'a' to EagerTensor of dtype float"),
    (
        "f==i",
        InvalidArgumentError,
        "cannot compute Equal as input #1(zero-based) was expected to be a float tensor but is a int3"
        "2 tensor [Op:Equal] name: ",
    ),
    ("i==1.0", TypeError, "Cannot convert 1.0 to EagerTensor of dtype int32"),
    ("i==1.5", TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    ("i*2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("2.5*i", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("2.5+i", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i-2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("2.5-i", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i//2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i%2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i**2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("2.5**i", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i<2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("2.5<i", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("i&2.5", TypeError, "Cannot convert 2.5 to EagerTensor of dtype int32"),
    ("f2<f3", InvalidArgumentError, kernel("Less", "Incompatible shapes: [2] vs. [3]")),
    ("l+2**63", ValueError, "Can't convert Python sequence with out-of-range integer to Tensor."),
    ("f+10**400", ValueError, "Can't convert Python sequence with out-of-range integer to Tensor."),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES, ids=[row[0] for row in VALUES])
def test_value(expression: str, expected: str) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(("expression", "kind", "message"), ERRORS, ids=[row[0] for row in ERRORS])
def test_error(expression: str, kind: type[Exception], message: str) -> None:
    check_error(expression, kind, message)


def test_what_pythons_own_sequences_and_numbers_are_made_of_is_compared_elementwise() -> None:
    number, text = enum.IntEnum("number", "one"), enum.Enum("text", [("x", "x")], type=str)  # type: ignore[misc]
    pair, row = collections.namedtuple("pair", "a b"), type("row", (list,), {})
    x, words = fg.constant([1, 2]), fg.constant(["x", "y"])
    cases = [(x, array.array("i", [1, 3])), (x, pair(1, 3)), (x, row([1, 3])), (x, number.one), (words, text.x)]
    for tensor, other in cases:
        held = fg.function(lambda: tensor == other)  # noqa: B023
        for equal in (tensor == other, other == tensor, held()):
            assert equal.numpy().tolist() == [True, False], other
        assert (tensor != other).numpy().tolist() == [False, True]
    assert (x == unittest.mock.ANY) is True  # which has a comparison of its own


def test_round_takes_digits() -> None:
    x = fg.constant([1.264, -2.5, 15.0])
    np.testing.assert_allclose(round(x, 2), [1.26, -2.5, 15.0])
    assert round(x).numpy().tolist() == round(x, 0).numpy().tolist() == [1.0, -2.0, 15.0]
    assert round(x, -1).numpy().tolist() == [0.0, 0.0, 20.0]
    whole = fg.constant([15, 24, -26], fg.int64)
    assert round(whole, 2).numpy().tolist() == [15, 24, -26] and round(whole, -1).numpy().tolist() == [20, 20, -30]
    assert fg.function(lambda t: round(t, 1))(x).numpy()[0] == np.float32(1.3)
