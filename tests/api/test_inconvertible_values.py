"""What no tensor can be made of, or only of mixed kinds: in eager mode and while a Function is traced, as in TensorFlow.

Tracing converts with NumPy: numbers of several kinds become the widest kind, and what is no tensor is a TypeError; only
None alone and lists that are not rectangular are ValueErrors in both modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

X = tf.constant([[1.0, 2.0], [3.0, 4.0]])
NOTHING = object()
FAILED, EXPECTED = "Failed to convert elements of", "Expected (int32|float|float32|bool|string), but got"
MIXED = "mixed types"
EAGER = f"{MIXED}|unsupported type|out-of-range integer|Unsupported object type|partially known"


def traced(f: Callable[[], Any]) -> Any:
    return tf.function(f, autograph=False)()


#: What no tensor can be made of, and what tracing says of it.
NO_TENSORS = [
    (lambda: tf.reshape(X, (2, "x")), FAILED),
    (lambda: tf.reshape(X, NOTHING), FAILED),
    (lambda: tf.tile(X, ["a", 1]), FAILED),
    (lambda: tf.tile(X, [1, NOTHING]), FAILED),
    (lambda: tf.tile(X, {}), FAILED),
    (lambda: tf.tile(X, [1, None]), FAILED),
    (lambda: tf.constant([1, None]), FAILED),
    (lambda: tf.constant([None]), FAILED),
    (lambda: tf.constant(NOTHING), FAILED),
    (lambda: tf.constant([1, "a"], shape=[2]), FAILED),
    (lambda: tf.constant([2**70]), FAILED),
    (lambda: tf.constant([1, "a"], tf.int32), EXPECTED),
    (lambda: tf.constant(NOTHING, tf.float32), EXPECTED),
    (lambda: tf.constant([1.0, None], tf.float32), "Expected float32, but got None of type 'NoneType'"),
    (lambda: tf.convert_to_tensor([X[0], NOTHING]), EXPECTED),
    (lambda: tf.convert_to_tensor({1}), FAILED),
    (lambda: tf.convert_to_tensor(tf.ragged.constant([[1], [2, 3]])), FAILED),
    (lambda: tf.convert_to_tensor(tf.sparse.from_dense([[1.0, 0.0]])), FAILED),
    (lambda: tf.convert_to_tensor(tf.data.Dataset.range(3)), FAILED),
    (lambda: tf.convert_to_tensor(np.array(["a", 1], object)), "Expected binary or"),
    (lambda: tf.convert_to_tensor([["a"], [1]]), FAILED),
    (lambda: X + NOTHING, FAILED),
    (lambda: tf.add(X, [1, "a"]), FAILED),
    (lambda: tf.exp([1.0, "a"]), FAILED),
    (lambda: tf.gather(X, [0, "a"]), FAILED),
    (lambda: tf.where(X > 0, NOTHING, X), FAILED),
    (lambda: tf.reduce_any([True, 1]), EXPECTED),
]


@pytest.mark.parametrize(("call", "text"), NO_TENSORS)
def test_what_is_no_tensor_is_a_value_error_and_while_tracing_a_type_error(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=EAGER):
        call()
    with pytest.raises(TypeError, match=text):
        traced(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.constant(None),
        lambda: tf.reshape(X, None),
        lambda: X + None,
        lambda: tf.constant([[1], [1, 2]]),
        lambda: tf.tile(X, [1, [1]]),
        lambda: tf.constant([1, [None]]),
        lambda: tf.constant([[1], [1, 2]], tf.float32),
    ],
)
def test_none_and_lists_that_are_not_rectangular_are_value_errors(call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"None|rectangular|mixed"):
        call()
    with pytest.raises(ValueError, match=r"None|rectangular|mixed"):
        traced(call)


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        ([1, 1j], None, tf.complex128),
        ([1.0, 1j], None, tf.complex128),
        ([1, 1.5, 1j], None, tf.complex128),
        ([True, 1j], tf.complex64, tf.complex64),
        ([True, 1], None, tf.int32),
        ([False, 2**40], None, tf.int64),
        ([[True], [2.5]], None, tf.float32),
        ([True, np.float64(2.5)], None, tf.float32),
        ([True, 1], tf.int8, tf.int8),
    ],
)
def test_numbers_of_several_kinds_are_the_widest_while_tracing(value: Any, dtype: Any, wanted: Any) -> None:
    found = traced(lambda: tf.constant(value, dtype))
    assert found.dtype is wanted
    np.testing.assert_array_equal(found, np.array(value, wanted.as_numpy_dtype))
    assert traced(lambda: tf.identity(value if dtype is None else tf.cast(value, dtype))).dtype is wanted
    if dtype is None:
        with pytest.raises(ValueError, match=MIXED):
            tf.constant(value)


def test_numbers_beyond_a_float32_are_infinite_where_a_dtype_is_asked_for() -> None:
    for call in (lambda: tf.constant([1.0, 1e300], tf.float32)[1], lambda: (X + 1e300)[0, 0], lambda: X[0, 0] * 1e39):
        assert call() == traced(call) == np.inf
    assert traced(lambda: tf.constant(1e300)) == np.inf
    with pytest.raises(ValueError, match="out of range for a double"):
        tf.constant(1e300)


IMAGE = tf.ones([4, 2, 2, 1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.batch_to_space(IMAGE, [2, 2], [1, "a"]), MIXED),
        (lambda: tf.batch_to_space(IMAGE, {}, [[0, 0], [0, 0]]), "unsupported type"),
        (lambda: tf.space_to_batch(IMAGE, [2, NOTHING], [[0, 0], [0, 0]]), MIXED),
    ],
)
def test_blocks_and_their_sides_are_converted_before_they_are_checked(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
    with pytest.raises(TypeError, match=FAILED):
        traced(call)


def test_a_python_number_is_the_block_of_two_axes() -> None:
    wanted = tf.batch_to_space(IMAGE, [2, 2], [[0, 0], [0, 1]])
    np.testing.assert_array_equal(tf.batch_to_space(IMAGE, 2, [[0, 0], [0, 1]]), wanted)
    np.testing.assert_array_equal(tf.batch_to_space(IMAGE, np.array([2, 2], np.int8), [[0, 0], [0, 1]]), wanted)
    with pytest.raises(tf.errors.InvalidArgumentError, match="crops should have shape"):
        tf.batch_to_space(IMAGE, 2, [[0, 0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the list of allowed values"):
        tf.batch_to_space(IMAGE, [2.0, 2], [[0, 0], [0, 0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.one_hot([0], "a"),
        lambda: tf.linalg.band_part(X, "a", 0),
        lambda: tf.split(X, 2, "a"),
        lambda: tf.split(X, [1, 1], num="a"),
        lambda: tf.split(X, [1, 1], num=[2]),
    ],
)
def test_text_is_no_number_in_either_mode(call: Callable[[], Any]) -> None:
    for f in (call, lambda: traced(call)):
        with pytest.raises(TypeError, match=r"Cannot convert .*'a' to|Expected int for argument 'num_split'"):
            f()


def test_lists_of_tensors_are_lists_while_tracing() -> None:
    for op in (tf.identity_n, tf.shape_n):
        assert len(op((X, X))) == len(traced(lambda op=op: op((X, X)))) == 2
        assert len(op(X)) == 2
        with pytest.raises(TypeError, match="Expected list for 'input' argument"):
            traced(lambda op=op: op(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.reduce_sum(X, "a"),
        lambda: tf.concat([X, X], "a"),
        lambda: tf.gather(X, [0], axis="a"),
        lambda: tf.expand_dims(X, "a"),
        lambda: tf.cumsum(X, tf.constant(0.5)),
        lambda: tf.reverse(X, ["a"]),
    ],
)
def test_an_axis_of_another_dtype_is_a_type_error_while_tracing(call: Callable[[], Any]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the list of allowed values"):
        call()
    with pytest.raises(TypeError, match="is not in the list of allowed values"):
        traced(call)


def test_a_grid_of_bools_and_numbers_is_of_bools_where_one_of_them_is() -> None:
    numbers, bools = tf.constant([1.0, 0.0, 3.0]), tf.constant([True, False])
    for grids in (lambda: tf.meshgrid(numbers, bools), lambda: tf.meshgrid(bools, numbers)):
        for one, other in zip(grids(), traced(grids), strict=True):
            assert one.dtype is other.dtype
            np.testing.assert_array_equal(one, other)
    one, two = tf.meshgrid(numbers, bools)
    assert (one.dtype, two.dtype) == (tf.float32, tf.bool)
    one, two = tf.meshgrid(bools, numbers)
    np.testing.assert_array_equal(two, [[True, True], [False, False], [True, True]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot compute Mul"):
        tf.meshgrid(numbers, [1, 2])
