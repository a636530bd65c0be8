"""What kernels of known sizes do without: divisions of indices, columns gone through one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf


def _told(function: Any, x: Any) -> tuple[Any, str]:
    staged = tf.function(function)
    return staged(x), staged.get_concrete_function(x).explain()


@pytest.mark.parametrize("shape, multiples", [((5, 6), [1, 4]), ((5, 6), [3, 2]), ((2, 3, 4), [1, 5, 1])])
def test_copies_side_by_side_divide_no_index_in_their_inner_loop(rng: Any, shape: Any, multiples: list[int]) -> None:
    x = rng.standard_normal(shape).astype(np.float32)
    found, text = _told(lambda x: tf.tile(x, multiples), tf.constant(x))
    np.testing.assert_array_equal(found, np.tile(x, multiples))
    assert "floormod_int64(i1" not in text


def test_positions_along_a_leading_axis_read_neighbours(rng: Any) -> None:
    x = rng.standard_normal((9, 40)).astype(np.float32)
    found, text = _told(lambda x: tf.argmax(x, 0), tf.constant(x))
    np.testing.assert_array_equal(found, np.argmax(x, 0))
    assert "for t in range(" in text


@pytest.mark.parametrize("inner", [1, 3, 8, 13, 32, 45])
@pytest.mark.parametrize("kind", ["sum", "mean", "max", "prod"])
def test_segments_of_any_width(rng: Any, inner: int, kind: str) -> None:
    ids = np.sort(rng.integers(0, 9, 40)).astype(np.int32)
    x = rng.standard_normal((40, inner)).astype(np.float32)
    function = getattr(tf.math, f"segment_{kind}")
    found = tf.function(function)(tf.constant(x), tf.constant(ids))
    np.testing.assert_allclose(found, function(x, ids), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(function)(tf.constant(x), tf.constant(ids[::-1].copy()))
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(function)(tf.constant(x), tf.constant(ids - 9))


def test_counts_of_a_known_number_are_no_steps_of_python(rng: Any) -> None:
    x = rng.integers(0, 12, 50).astype(np.int32)
    found, text = _told(lambda x: tf.math.bincount(x, minlength=8, maxlength=8), tf.constant(x))
    np.testing.assert_array_equal(found, np.bincount(x, minlength=8)[:8])
    assert "dynamic" not in text
