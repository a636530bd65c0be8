"""Ops at the edges of what they take: infinite, empty and NaN inputs, steps and lengths that mean nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError

INF, NAN = np.inf, np.nan
TIERS = ["eager", "first", "last"]


def run(tier: str, function: Any, *arrays: Any) -> Any:
    """`function` of the arrays, eagerly or in a graph of unknown dimensions."""
    arguments = [tf.constant(a) for a in arrays]
    if tier == "eager":
        return function(*arguments)
    signature = [tf.TensorSpec([None] * a.shape.rank, a.dtype) for a in arguments]
    with flags.override(tier=tier):
        return tf.function(function, input_signature=signature, autograph=False)(*arguments)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeta_at_its_poles_and_at_infinity(tier: str, dtype: str) -> None:
    rows = [
        (-INF, 2, NAN), (-3, -1, NAN), (0, 0, NAN), (0.5, 2, NAN), (1, 2, INF), (1, NAN, INF), (1.5, -3, NAN),
        (2, -3, INF), (3, -3, NAN), (2, 0, INF), (INF, 0.5, INF), (INF, 1, 1), (INF, 1.5, 0), (INF, INF, 0), (2, INF, 0),
        (NAN, 2, NAN), (2, NAN, NAN), (2, 1, np.pi**2 / 6),
    ]  # fmt: skip
    x, q, wanted = np.array(rows, dtype).T
    np.testing.assert_allclose(run(tier, tf.math.zeta, x, q).numpy(), wanted, rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_segments_of_infinities_only(dtype: str) -> None:
    ids = [0, 0, 2]
    found = tf.math.segment_max(np.array([-INF, -INF, 1], dtype), ids)
    assert found.dtype.name == dtype and found.numpy().tolist() == [-INF, 0, 1]
    assert tf.math.segment_min(np.array([INF, INF, 1], dtype), ids).numpy().tolist() == [INF, 0, 1]


def test_polynomials_begin_with_their_first_coefficient() -> None:
    x = tf.constant([INF, 2.0])
    assert tf.math.polyval([1.0, 2.0], x).numpy().tolist() == [INF, 4]
    assert tf.math.polyval([2.0], x).shape == ()
    assert tf.math.polyval([], x).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("tier", TIERS)
def test_histograms_of_what_has_no_place(tier: str) -> None:
    def histogram(values: Any, ends: Any) -> Any:
        return tf.histogram_fixed_width(values, ends, 3)

    ends, x = np.array([0.0, 3.0]), np.array([-INF, 1.0, INF])
    assert run(tier, histogram, x, ends).numpy().tolist() == [1, 1, 1]
    with pytest.raises(InvalidArgumentError, match="must not contain NaN"):
        run(tier, histogram, np.array([1.0, NAN]), ends)
    for bad in ([1.0, 1.0], [2.0, 1.0], [NAN, 1.0]):
        with pytest.raises(InvalidArgumentError, match="value_range\\[0\\] < value_range\\[1\\]"):
            run(tier, histogram, x, np.array(bad))
    with pytest.raises((InvalidArgumentError, ValueError), match="vector of 2 elements"):
        tf.histogram_fixed_width([1.0], [0.0, 1.0, 2.0])


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(
    ("sequence", "values"), [((0,), (1,)), ((4,), (0,)), ((2, 0), (2, 3)), ((2, 3), (2, 0)), ((0, 3), (0, 2))]
)
def test_searches_in_nothing_and_for_nothing(tier: str, sequence: Any, values: Any) -> None:
    found = run(tier, lambda s, v: tf.searchsorted(s, v), np.zeros(sequence), np.ones(values))
    assert found.shape == values and not found.numpy().any()


@pytest.mark.parametrize("tier", TIERS)
def test_no_class_is_among_the_greatest(tier: str) -> None:
    found = run(tier, lambda p: tf.math.in_top_k([0, 1], p, 1), np.zeros([2, 0], np.float32))
    assert found.numpy().tolist() == [False, False]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("length", [-1, 4])
def test_sequences_of_impossible_lengths(tier: str, length: int) -> None:
    with pytest.raises(InvalidArgumentError):
        run(tier, lambda x, n: tf.reverse_sequence(x, n, 1, 0), np.ones([2, 3]), np.array([2, length]))


@pytest.mark.parametrize("step", [2**31, 2**62, 10**30, -(2**40)])
@pytest.mark.parametrize("in_function", [False, True])
def test_steps_of_windows_are_int32(step: int, in_function: bool) -> None:
    x, k = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])
    for apply in (
        lambda: tf.nn.conv2d(x, k, step, "SAME"),
        lambda: tf.nn.conv2d(x, k, 1, "SAME", dilations=step),
        lambda: tf.nn.max_pool2d(x, 2, step, "SAME"),
        lambda: tf.nn.avg_pool2d(x, step, 1, "SAME"),
    ):
        with pytest.raises(ValueError if in_function else InvalidArgumentError, match="out of range for an int32"):
            (tf.function(apply) if in_function else apply)()


def test_steps_that_are_none_are_1() -> None:
    x, k = tf.random.uniform([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])
    assert np.array_equal(tf.nn.conv2d(x, k, None, "SAME"), tf.nn.conv2d(x, k, 1, "SAME"))
    assert np.array_equal(tf.nn.max_pool2d(x, 2, None, "SAME"), tf.nn.max_pool2d(x, 2, 1, "SAME"))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2, 0], [1], []])
def test_labels_of_another_length_than_the_rows(tier: str, labels: list[int]) -> None:
    def losses(labels: Any, logits: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    with pytest.raises((InvalidArgumentError, ValueError), match="must"):
        run(tier, losses, np.array(labels, np.int32), np.ones([3, 3], np.float32))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("channels", [1, 4, 6])
def test_depthwise_windows_of_other_channels(tier: str, channels: int) -> None:
    def apply(x: Any, k: Any) -> Any:
        return tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME")

    k = np.ones([2, 2, 3, 4], np.float32)
    assert run(tier, apply, np.ones([1, 4, 4, 3], np.float32), k).shape == (1, 4, 4, 12)
    with pytest.raises(InvalidArgumentError):
        run(tier, apply, np.ones([1, 4, 4, channels], np.float32), k)
    with pytest.raises(InvalidArgumentError, match="4-dimensional"):
        tf.nn.depthwise_conv2d(tf.ones([1, 2, 4, 4, 3]), k, [1, 1, 1, 1], "SAME")


@pytest.mark.parametrize(
    "join",
    [
        lambda x: tf.concat([x, x], 1),
        lambda x: tf.stack([x, x], 1),
        lambda x: x @ tf.zeros([0, 0], x.dtype),
        lambda x: tf.matmul(x, tf.zeros([0, 0], x.dtype)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_nothing_takes_no_time_however_long_it_is(join: Any, dtype: str) -> None:
    found = join(tf.zeros([2**40, 0], dtype))
    assert found.shape[0] == 2**40 and tf.size(found, tf.int64) == 0


def test_amounts_may_be_lists_with_symbolic_tensors_in_them() -> None:
    @tf.function
    def f(n: Any, x: Any) -> Any:
        return tf.tile(x, [n]), tf.tile(x[None], (n + 1, 1)), tf.pad(x, [[n, 1]]), tf.pad(x[None], [[0, 0], [n, n]])

    once, rows, padded, both = f(tf.constant(2), tf.constant([1.0, 2.0]))
    assert once.numpy().tolist() == [1.0, 2.0, 1.0, 2.0] and rows.numpy().tolist() == [[1.0, 2.0]] * 3
    assert padded.numpy().tolist() == [0.0, 0.0, 1.0, 2.0, 0.0]
    assert both.numpy().tolist() == [[0.0, 0.0, 1.0, 2.0, 0.0, 0.0]]
    x = tf.constant([1.0, 2.0])
    assert tf.pad(x, [[tf.constant(1), 0]]).numpy().tolist() == [0.0, 1.0, 2.0]


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("matrix", "logarithm"),
    [
        ([[INF, 0], [0, 1]], NAN),
        ([[0, 0], [INF, 1]], NAN),
        ([[0, INF], [1, 0]], INF),
        ([[1, INF], [0, 1]], NAN),
        ([[1, 2], [3, INF]], INF),
        ([[NAN, 0], [0, 1]], NAN),
        ([[complex(0, INF), 0], [0, 1]], NAN),
        ([[-INF]], INF),
        ([[1, 2, 3], [4, complex(1, INF), 6], [7, 8, 10]], NAN),
    ],
)
def test_determinants_of_complex_matrices_that_are_not_finite(dtype: str, matrix: Any, logarithm: float) -> None:
    """They have no phase; in a batch the others are what they are by themselves."""
    other = np.eye(len(matrix)) * 2
    batch = tf.constant(np.array([matrix, other]), dtype)
    found = tf.linalg.slogdet(batch)
    assert np.isnan(found.sign[0].numpy().real) and np.isnan(found.sign[0].numpy().imag) and found.sign[1] == 1
    np.testing.assert_array_equal(found.log_abs_determinant[0].numpy().real, logarithm)
    assert found.log_abs_determinant[1].numpy().real == pytest.approx(len(matrix) * np.log(2))
    determinants = tf.linalg.det(batch).numpy()
    assert (
        np.isnan(determinants[0].real)
        and np.isnan(determinants[0].imag)
        and abs(determinants[1] - 2 ** len(matrix)) < 1e-5
    )


def test_scattering_to_no_place() -> None:
    """Places without coordinates are the whole tensor, which has no elements."""
    places, nothing = tf.zeros([0], tf.int32), tf.zeros([0])
    for run in (tf.scatter_nd, tf.function(tf.scatter_nd)):
        assert run(places, nothing, [0]).shape == [0]
    assert tf.tensor_scatter_nd_update(nothing, places, nothing).shape == [0]
