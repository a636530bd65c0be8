"""Casts, reductions and changes of shape that eager mode does in C: they give what the ops' NumPy bodies give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.registry import get
from fastgraph.core.tensor import bind
from tests import native

NAMES = ["float32", "float64", "int32", "uint8", "int16", "int8", "int64", "bool", "uint16", "uint32", "uint64"]
SHAPES = [(), (1,), (7,), (0,), (3, 5), (1, 600), (600, 3), (2, 3, 4), (2, 0, 3), (2, 1, 3, 1), (3, 40, 17), (1100,)]


def elements(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small whole numbers with signs where the dtype has them: sums are exact in every order."""
    values = np.random.default_rng(sum(shape)).integers(-9, 9, shape)
    return (values > 0 if dtype == "bool" else abs(values) if dtype.startswith("u") else values).astype(dtype)


def compare(name: str, *operands: Any, **attrs: Any) -> None:
    """Assert that bind and the body of primitive `name` agree in dtype, shape and every bit, signs of zero apart."""
    tensors = tuple(tf.constant(x) for x in operands)
    got = bind(get(name), tensors, attrs)
    expected = native.run_body(get(name), tensors, attrs)
    assert got.dtype is expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected.numpy(), err_msg=f"{name} {attrs}")


@pytest.mark.parametrize("source", NAMES)
def test_casts(source: str) -> None:
    for shape, target in itertools.product([(), (0,), (37,), (2, 3)], NAMES):
        compare("cast", elements(shape, source), dtype=tf.as_dtype(target))


def test_casts_cut_off_and_wrap() -> None:
    x = tf.constant([1.9, -1.9, 0.0, -0.0, np.nan, 1e6])
    np.testing.assert_array_equal(tf.cast(x[:4], tf.int32).numpy(), [1, -1, 0, 0])
    np.testing.assert_array_equal(tf.cast(x, tf.bool).numpy(), [True, True, False, False, True, True])
    np.testing.assert_array_equal(tf.cast(tf.constant([300, -1]), tf.uint8).numpy(), [44, 255])


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_reductions(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = elements(shape, dtype)
        choices = [axes for n in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), n)]
        for axes, keepdims in itertools.product([None, *choices, (-1,)], [False, True]):
            if axes == (-1,) and not shape:
                continue
            if x.size == 0 and name != "sum":
                continue
            tensor = tf.constant(x)
            attrs = {"axes": axes, "keepdims": keepdims}
            got = bind(get(name), (tensor,), attrs)
            expected = native.run_body(get(name), (tensor,), attrs)
            assert got.dtype is expected.dtype and got.shape == expected.shape
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6, err_msg=f"{shape} {attrs}")
            if name != "mean":
                np.testing.assert_array_equal(got.numpy(), expected.numpy(), err_msg=f"{shape} {attrs}")


@pytest.mark.parametrize("length", [1, 15, 16, 31, 32, 33, 100])
def test_nan_wins(length: int) -> None:
    for at in (0, length // 2, length - 1):
        for dtype in ("float32", "float64"):
            x = np.arange(length, dtype=dtype)
            x[at] = np.nan
            for reduce in (tf.reduce_max, tf.reduce_min, tf.reduce_sum, tf.reduce_mean):
                assert np.isnan(reduce(tf.constant(x)).numpy())
                assert np.isnan(reduce(tf.constant(np.stack([x, x], 1)), axis=0).numpy()).all()


def test_integer_sums_wrap() -> None:
    for dtype in ("int32", "int64"):
        x = np.full(100, np.iinfo(dtype).max, dtype)
        with np.errstate(all="ignore"):
            assert tf.reduce_sum(tf.constant(x)).numpy() == np.sum(x, dtype=dtype)


def test_long_sums_stay_exact() -> None:
    """A plain float32 accumulator is off by more than 1e-4 here."""
    x = np.random.default_rng(0).random(3_000_000, dtype=np.float32)
    exact = np.sum(x, dtype=np.float64)
    assert abs(tf.reduce_sum(tf.constant(x)).numpy() / exact - 1) < 1e-7
    assert abs(tf.reduce_mean(tf.constant(x.reshape(-1, 3)), axis=0).numpy().sum() * 1e6 / exact - 1) < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_share_memory(shape: tuple[int, ...]) -> None:
    x = tf.constant(elements(shape, "float32"))
    flat = tf.reshape(x, (-1,)) if x.num_elements else tf.reshape(x, (0,))
    assert flat.buffer.pointer == x.buffer.pointer
    np.testing.assert_array_equal(flat.numpy(), x.numpy().reshape(-1))
    compare("reshape", x.numpy(), shape=(1, *shape, 1))
    for axis in range(-len(shape) - 1, len(shape) + 1):
        np.testing.assert_array_equal(tf.expand_dims(x, axis).numpy(), np.expand_dims(x.numpy(), axis))


def test_bad_shapes() -> None:
    x = tf.constant(np.zeros((2, 3)))
    for shape in ((4,), (-1, 4), (-1, -1), (0, 6), (2, 3, 2), (2**40, 2**40), (-2, 3)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:Reshape\]"):
            tf.reshape(x, shape)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex64", "complex128", "float16"])
def test_transposes(dtype: str) -> None:
    for shape in ((3, 5), (1, 4), (4, 1), (0, 3), (33, 50), (17, 16)):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        np.testing.assert_array_equal(tf.transpose(tf.constant(x)).numpy(), x.T)
    np.testing.assert_array_equal(tf.transpose(tf.constant([["a", "b"]])).numpy(), [[b"a"], [b"b"]])


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (2, 3)),
        ((2, 3), (3,)),
        ((4, 2, 3), (2, 3)),
        ((2, 3), ()),
        ((2, 3), (1, 1)),
        ((2, 3), (2, 1)),
        ((2, 3), (1, 3)),
    ],
)
def test_sums_down_to_a_shape(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for dtype in ("float32", "int64", "complex64"):
        compare("sum_to_like", elements(shapes[0], dtype), elements(shapes[1], "float32"))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_broadcasts(dtype: str) -> None:
    for shape, target in [
        ((), ()), ((), (3,)), ((), (2, 0)), ((1,), (5,)), ((3,), (2, 3)), ((3, 1), (3, 4)), ((1, 3), (4, 3)),
        ((2, 1, 3), (5, 2, 4, 3)), ((1, 2, 1, 3, 1), (2, 2, 2, 3, 3)), ((2, 3), (2, 3)), ((0, 1), (0, 5)), ((1, 1), (1, 1, 1)),
    ]:  # fmt: skip
        compare("broadcast_to", elements(shape, dtype), shape=target)
    for shape, target in [((3,), (4,)), ((2, 3), (3,)), ((2,), (2, 3))]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:BroadcastTo\]"):
            tf.broadcast_to(tf.constant(elements(shape, dtype)), target)
    assert tf.broadcast_to("a", (2,)).numpy().tolist() == [b"a", b"a"]


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_joins(dtype: str) -> None:
    for shape in ((3,), (2, 3), (2, 0, 3), (2, 3, 4)):
        x = elements(shape, dtype)
        for axis in range(-len(shape), len(shape)):
            compare("concat", x, x, x, axis=axis)
            compare("concat", x, np.delete(x, slice(0, 1), axis=axis), axis=axis)
        for axis in range(-len(shape) - 1, len(shape) + 1):
            compare("stack", x, x, axis=axis)
    compare("stack", elements((), dtype), elements((), dtype), axis=0)
    x = tf.constant(elements((2, 3), dtype))
    for bad in (lambda: tf.concat([x, x[:, :2]], 0), lambda: tf.concat([x, x[0]], 0), lambda: tf.stack([x, x[:1]])):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[Op:(ConcatV2|Pack)\]"):
            bad()
    assert tf.concat([["a"], ["b"]], 0).numpy().tolist() == [b"a", b"b"]


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_gathers(dtype: str, index_type: str) -> None:
    x = elements((4, 3, 5), dtype)
    for axis in range(-3, 3):
        for indices in (np.array(2), np.array([0, 2, 2]), np.array([[1, 0], [2, 1]]), np.zeros((0, 2))):
            compare("gather", x, indices.astype(index_type), axis=axis, batch_dims=0)
    for bad in (4, -1, 2**31 - 1):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 4\)"):
            tf.gather(tf.constant(x), np.array([0, bad], index_type))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_selects(dtype: str) -> None:
    for shapes in [
        ((5,), (5,), (5,)),
        ((2, 3), (), (2, 3)),
        ((2, 3), (2, 3), ()),
        ((4,), (), ()),
        ((), (), ()),
        ((3,), (2, 3), (3,)),
    ]:
        c, x, y = (
            elements(shapes[0], "bool"),
            elements(shapes[1], dtype),
            ~elements(shapes[2], dtype) if dtype == "bool" else -elements(shapes[2], dtype),
        )
        compare("select", c, x, y)


def test_a_result_that_changes_nothing_is_a_tensor_of_its_own() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 3.0
        same = tf.broadcast_to(x, [2, 2])
    assert same is not x
    np.testing.assert_array_equal(tape.gradient(y, x), np.full((2, 2), 3.0))
