"""Conversion and elementwise loops over every dtype, rank, layout and size, against NumPy."""

from __future__ import annotations

import operator
import re
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fastgraph as tf
from fastgraph.core.registry import get
from fastgraph.core.tensor import bind
from tests import native

ROOT = Path(__file__).parents[2]

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
ALL = [*NUMBERS, "bool", "complex64", "complex128"]

shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)


@st.composite
def arrays(draw: Any, dtypes: list[str] = ALL) -> np.ndarray:
    """An array of any dtype and shape, in any layout: strided, reversed, transposed, swapped bytes, misaligned."""
    array = draw(hnp.arrays(draw(st.sampled_from(dtypes)), draw(shapes)))
    layout = draw(st.sampled_from(["plain", "transposed", "reversed", "strided", "swapped", "misaligned"]))
    if layout == "transposed":
        return array.T
    if layout == "reversed":
        return array[tuple([slice(None, None, -1)] * array.ndim)]
    if layout == "strided":
        wide = np.zeros((*array.shape, 2), array.dtype)
        wide[..., 1] = array
        return wide[..., 1]
    if layout == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if layout == "misaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(np.uint8)
        raw[:] = np.frombuffer(array.tobytes(), np.uint8)
        return raw.view(array.dtype).reshape(array.shape)
    return array


@given(array=arrays())
@settings(max_examples=120, deadline=None)
def test_arrays_keep_dtype_shape_and_elements(array: np.ndarray) -> None:
    before = array.copy()
    tensor = tf.constant(array)
    assert tensor.dtype == array.dtype.newbyteorder("=") and tensor.shape == array.shape
    np.testing.assert_array_equal(tensor.numpy(), array)
    np.testing.assert_array_equal(array, before, err_msg="the source was changed")
    view = np.asarray(tensor)
    assert view.flags.c_contiguous and view.flags.aligned and not view.flags.writeable


@given(array=arrays(NUMBERS), target=st.sampled_from([*NUMBERS, "bool", "complex64"]))
@settings(max_examples=120, deadline=None)
def test_arrays_are_cast_as_numpy_casts(array: np.ndarray, target: str) -> None:
    if array.dtype.kind == "f" and np.dtype(target).kind in "iu":  # out of range: the CPU's business, as in NumPy
        info = np.iinfo(target)
        wide = np.nan_to_num(array.astype(np.float64), nan=0, posinf=0, neginf=0)
        array = wide.clip(max(info.min // 2, -60000), min(info.max // 2, 60000)).astype(array.dtype)
    with np.errstate(all="ignore"):
        expected = array.astype(target)
    np.testing.assert_array_equal(tf.constant(array, dtype=target).numpy(), expected)


@given(array=arrays(["float64", "int64", "bool"]))
@settings(max_examples=100, deadline=None)
def test_nested_lists(array: np.ndarray) -> None:
    small = array % 100 if array.dtype == np.int64 else array
    tensor = tf.constant(small.tolist(), dtype=small.dtype)
    if 0 not in small.shape:  # a list cannot say what lies inside an empty one
        assert tensor.shape == small.shape
    np.testing.assert_array_equal(tensor.numpy().reshape(small.shape), small)


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_basic_indexing_is_numpys(data: st.DataObject) -> None:
    array = np.arange(120).reshape(2, 3, 4, 5)[tuple(data.draw(st.sampled_from([0, slice(None)])) for _ in range(4))]
    key = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True, allow_ellipsis=True))
    expected = array[key]
    tensor = tf.constant(array)
    part = tensor[key]
    assert part.shape == expected.shape
    np.testing.assert_array_equal(part.numpy(), expected)
    with tf.GradientTape() as tape:  # the general road, noted by a tape
        watched = tf.cast(tensor, tf.float64)
        tape.watch(watched)
        total = watched[key]
    grad = tape.gradient(total, watched)
    wanted = np.zeros(array.shape)
    wanted[key] = 1
    np.testing.assert_array_equal(grad.numpy(), wanted)


def _loops() -> list[tuple[str, str]]:
    tf.add
    codes = {d.code: d.name for d in (tf.as_dtype(name) for name in [*NUMBERS, "bool"])}
    written = (ROOT / "fastgraph" / "_generated" / "eager_loops.h").read_text(encoding="utf-8")
    loops = [(name, codes[int(code)]) for name, code in re.findall(r'^  \{"(\w+)", (\d+),', written, re.MULTILINE)]
    return [loop for loop in loops if loop[0] not in ("cast", "clip", "softmax")]  # loops of another form


#: Where the body gives a zero of either sign; SciPy forgets that of odd functions.
EITHER_ZERO = ("relu", "relu6", "floormod", "erfinv", "bessel_i1", "bessel_i1e")
#: Loops of floats that round as NumPy's do: arithmetic.
EXACT = {
    "abs", "add", "ceil", "divide_no_nan", "floor", "floordiv", "floormod", "maximum", "minimum", "multiply",
    "multiply_no_nan", "negative", "realdiv", "reciprocal", "relu", "relu6", "round", "sign", "sqrt", "square",
    "squared_difference", "subtract",
}  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), _loops())
def test_loops_give_what_the_bodies_give(name: str, dtype: str) -> None:
    """Every generated C loop, on every pattern of broadcasting, bit for bit as the op's NumPy body.

    Mathematics is within a few units in the last place of it (tests/backend/test_vecmath.py has the true values).
    """
    primitive = get(name)
    rng = np.random.default_rng(7)
    patterns = [
        ((), ()), ((7,), (7,)), ((5,), ()), ((), (5,)), ((3, 4), (4,)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((0,), (1,)),
        ((2, 1, 3), (4, 1)), ((2, 3, 4), (2, 1, 4)), ((1,), (1, 1)), ((2, 0), (2, 1)), ((2, 3, 1, 5), (1, 3, 4, 1)),
        ((33,), (33,)),
    ]  # fmt: skip
    for left, right in patterns:
        operands = [tf.constant(_elements(rng, dtype, shape)) for shape in (left, right)][: len(primitive.inputs)]
        if name in ("pow", "floordiv", "floormod", "truncatediv", "truncatemod") and "int" in dtype:
            operands[1] = tf.constant(np.abs(operands[1].numpy() % np.dtype(dtype).type(5)) + np.ones((), dtype))
        got = np.asarray(bind(primitive, tuple(operands), {}))
        expected = np.asarray(native.run_body(primitive, tuple(operands), {}))
        assert got.dtype == expected.dtype and got.shape == expected.shape
        where = f"{name} {dtype} {left} {right}"
        if got.dtype.kind == "f" and name not in EXACT:
            np.testing.assert_allclose(
                got, expected, rtol=32 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny, err_msg=where
            )
        else:
            np.testing.assert_array_equal(got, expected, err_msg=where)
        if got.dtype.kind == "f" and name not in EITHER_ZERO:
            np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(expected)[~np.isnan(got)])


def _elements(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1.0, -1.0, 2.5, -3.5], dtype)
        values = rng.normal(0, 3, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.4, rng.choice(special, shape), values).astype(dtype)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, (values % 7).astype(dtype), values).astype(dtype)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.lt, operator.eq, operator.ge])
@pytest.mark.parametrize(
    ("number", "dtype"),
    [(n, d) for n in (3, -2, True) for d in ("int32", "int64", "float32", "float64")]
    + [(2.5, "float32"), (-0.0, "float64")],
)
def test_numbers_beside_tensors(op: Any, number: Any, dtype: str) -> None:
    """A Python number takes the tensor's dtype, on either side; also while a tape records."""
    array = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    tensor = tf.constant(array)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        recorded = op(tensor, number), op(number, tensor)
    for pair in ((op(tensor, number), op(number, tensor)), recorded):
        like = np.array(number, dtype)
        for got, expected in zip(pair, (op(array, like), op(like, array)), strict=True):
            np.testing.assert_array_equal(got.numpy(), expected)
            assert got.numpy().dtype == expected.dtype


def test_names_of_operators_and_the_earlier_name_of_ref() -> None:
    names = tf.Tensor.OVERLOADABLE_OPERATORS
    assert len(names) == 34 and {"__add__", "__rdiv__", "__getitem__", "__ne__", "__invert__"} <= names
    for x in (tf.constant(1.0), tf.Variable(1.0)):
        assert x.experimental_ref() == x.ref() and x.experimental_ref().deref() is x


def test_extents_that_no_integer_of_64_bits_holds() -> None:
    for depth in (2**63, -(2**63) - 1):
        with pytest.raises(ValueError, match="out-of-range integer"):
            tf.one_hot([0], depth)
        for sizes in ((depth,), (2, depth)):
            with pytest.raises(OverflowError, match="integers of 64 bits"):
                tf.eye(*sizes)
