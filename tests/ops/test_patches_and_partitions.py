"""Patches, morphology, blocks, partitions, local responses and averages: against loops in NumPy, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags

X = np.random.default_rng(11).standard_normal((2, 5, 6, 4))


def unknown(function: Callable[..., Any], *like: Any) -> Callable[..., Any]:
    """`function` traced for tensors of these ranks and dtypes, of no known size."""
    return tf.function(
        function, input_signature=[tf.TensorSpec([None] * np.ndim(a), np.asarray(a).dtype) for a in like]
    )


def check(function: Callable[..., Any], x: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    """The same in eager mode, compiled, and with unknown sizes."""
    for way in (function, tf.function(function), unknown(function, x)):
        np.testing.assert_allclose(way(tf.constant(x)), wanted, rtol=tolerance, atol=tolerance)


def slopes(function: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """The gradients of sum f**2 and of the sum of that gradient's squares."""
    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(function(x)))
        first = tape.gradient(y, x)
        z = tf.reduce_sum(tf.square(first))
    return first, outer.gradient(z, x)


def check_slopes(function: Callable[..., Any], x: Any, step: float = 1e-6) -> None:
    """Gradients of both orders against differences along a random direction, and the same with unknown sizes."""
    v = np.random.default_rng(0).standard_normal(x.shape)
    first, second = slopes(function, x)

    def along(f: Callable[[Any], float]) -> float:
        return (f(x + step * v) - f(x - step * v)) / (2 * step)

    wanted = along(lambda at: float(np.sum(np.asarray(function(tf.constant(at))) ** 2)))
    assert np.sum(first * v) == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    wanted = along(lambda at: float(np.sum(np.asarray(slopes(function, at)[0]) ** 2)))
    assert np.sum(second * v) == pytest.approx(wanted, rel=1e-5, abs=1e-5)
    compiled = unknown(lambda at: slopes(function, at), x)(tf.constant(x))
    np.testing.assert_allclose(compiled[0], first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(compiled[1], second, rtol=1e-9, atol=1e-9)


# ---- windows --------------------------------------------------------------------------------------------------------


def windows(x: Any, window: Any, strides: Any, padding: str, rates: Any) -> Any:
    """[*out, *window, n, c] of elements, NaN outside, by a loop."""
    rank = len(window)
    reach = [(k - 1) * r + 1 for k, r in zip(window, rates, strict=True)]
    dims = x.shape[1:-1]
    if padding == "SAME":
        out = [-(-n // s) for n, s in zip(dims, strides, strict=True)]
        total = [max((o - 1) * s + k - n, 0) for o, s, k, n in zip(out, strides, reach, dims, strict=True)]
        x = np.pad(x, [(0, 0), *[(t // 2, t - t // 2) for t in total], (0, 0)], constant_values=np.nan)
    else:
        out = [(n - k) // s + 1 for n, k, s in zip(dims, reach, strides, strict=True)]
    found = np.empty((*out, *window, x.shape[0], x.shape[-1]))
    for at in np.ndindex(*out, *window):
        place = [o * s + t * r for o, t, s, r in zip(at[:rank], at[rank:], strides, rates, strict=True)]
        found[at] = x[(slice(None), *place)]
    return found


MORPHOLOGY = [((1, 1), "SAME", (1, 1)), ((2, 1), "VALID", (1, 2)), ((2, 2), "SAME", (2, 1))]


@pytest.mark.parametrize(("strides", "padding", "rates"), MORPHOLOGY)
def test_dilation_and_erosion(strides: Any, padding: str, rates: Any, rng: np.random.Generator) -> None:
    kernel = rng.standard_normal((2, 3, 4))
    steps, gaps = [1, *strides, 1], [1, *rates, 1]
    parts = windows(X, (2, 3), strides, padding, rates)
    wanted = np.moveaxis(np.nanmax(parts + kernel[:, :, None], axis=(2, 3)), 2, 0)

    def dilated(x: Any) -> Any:
        return tf.nn.dilation2d(x, kernel, steps, padding, "NHWC", gaps)

    check(dilated, X, wanted)
    check_slopes(dilated, X)
    check_slopes(
        lambda k: tf.nn.dilation2d(tf.constant(X), tf.ensure_shape(k, [2, 3, 4]), steps, padding, "NHWC", gaps), kernel
    )
    turned = kernel[::-1, ::-1]
    parts = windows(-X, (2, 3), strides, padding, rates)
    wanted = -np.moveaxis(np.nanmax(parts + turned[:, :, None], axis=(2, 3)), 2, 0)
    check(lambda x: tf.nn.erosion2d(x, kernel, steps, padding, "NHWC", gaps), X, wanted)


def test_the_first_of_equal_sums_takes_the_gradient() -> None:
    x = tf.ones([1, 1, 3, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.dilation2d(x, tf.zeros([1, 3, 1]), [1] * 4, "VALID", "NHWC", [1] * 4)
    assert tape.gradient(y, x).numpy().ravel().tolist() == [1.0, 0.0, 0.0]


def test_dilation_of_integers() -> None:
    x = np.arange(16).reshape(1, 4, 4, 1)
    y = tf.nn.dilation2d(x, np.zeros([2, 2, 1], int), [1] * 4, "SAME", "NHWC", [1] * 4)
    assert y.dtype is tf.int64
    assert y.numpy()[0, :, :, 0].tolist() == [[5, 6, 7, 7], [9, 10, 11, 11], [13, 14, 15, 15], [13, 14, 15, 15]]


@pytest.mark.parametrize(
    ("window", "strides", "padding"), [((2, 2, 2), (1, 2, 1), "VALID"), ((3, 2, 1), (2, 2, 1), "SAME")]
)
def test_extract_volume_patches(window: Any, strides: Any, padding: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 4, 5, 3, 2))
    parts = np.nan_to_num(windows(x, window, strides, padding, (1, 1, 1)))
    wanted = np.moveaxis(parts, 6, 0).reshape(2, *parts.shape[:3], -1)

    def patches(x: Any) -> Any:
        return tf.extract_volume_patches(x, [1, *window, 1], [1, *strides, 1], padding)

    channels = tf.TensorSpec([None, None, None, None, 2], tf.float64)
    for way in (patches, tf.function(patches), tf.function(patches, input_signature=[channels])):
        np.testing.assert_allclose(way(tf.constant(x)), wanted)
    check_slopes(lambda x: patches(tf.ensure_shape(x, [2, 4, 5, 3, 2])), x)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("with_batch", [False, True])
def test_max_pool_with_argmax(padding: str, with_batch: bool) -> None:
    def pooled(x: Any) -> Any:
        return tf.nn.max_pool_with_argmax(x, [2, 3], [2, 1], padding, include_batch_in_index=with_batch)

    places = np.arange(X.size).reshape(X.shape)
    numbers = places if with_batch else places % (X.size // 2)
    for way in (pooled, tf.function(pooled), unknown(pooled, X)):
        largest, at = way(tf.constant(X))
        np.testing.assert_allclose(largest, tf.nn.max_pool2d(X, [2, 3], [2, 1], padding))
        found = X.ravel()[np.asarray(at)] if with_batch else X.reshape(2, -1)[np.arange(2)[:, None, None, None], at]
        np.testing.assert_array_equal(found, largest)
        assert at.dtype is tf.int64 and np.isin(at, numbers).all()
    check_slopes(lambda x: pooled(x).output, X)
    assert tf.nn.max_pool_with_argmax(X, 2, 2, "SAME", output_dtype=tf.int32).argmax.dtype is tf.int32
    ties = tf.nn.max_pool_with_argmax(tf.zeros([1, 2, 2, 1]), 2, 2, "SAME")
    assert int(ties.argmax[0, 0, 0, 0]) == 0


# ---- convolutions ---------------------------------------------------------------------------------------------------


def test_gaps_by_dilation_and_by_blocks_are_the_same(rng: np.random.Generator) -> None:
    x, kernel = rng.standard_normal((2, 9, 8, 3)), rng.standard_normal((3, 3, 3, 2))
    for rate in (1, 2, 3):
        for padding in ("SAME", "VALID"):
            wanted = tf.nn.conv2d(x, kernel, 1, padding, dilations=rate)
            np.testing.assert_allclose(tf.nn.atrous_conv2d(x, kernel, rate, padding), wanted, rtol=1e-10, atol=1e-10)
            by_blocks = tf.nn.with_space_to_batch(
                tf.constant(x),
                [rate, rate],
                padding,
                lambda x, _, padding: tf.nn.conv2d(x, kernel, 1, padding),
                filter_shape=[3, 3],
            )
            np.testing.assert_allclose(by_blocks, wanted, rtol=1e-10, atol=1e-10)


def test_transposed_and_depthwise_gradients_are_those_of_the_tape(rng: np.random.Generator) -> None:
    x, kernel = tf.constant(rng.standard_normal((2, 6, 7, 3))), tf.constant(rng.standard_normal((3, 2, 3, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, kernel])
        atrous = tf.nn.atrous_conv2d(x, kernel, 2, "SAME")
        deep = tf.nn.depthwise_conv2d(x, kernel, [1, 2, 2, 1], "SAME")
    g = tf.constant(rng.standard_normal(atrous.shape))
    transposed = tf.nn.atrous_conv2d_transpose(g, kernel, [2, 6, 7, 3], 2, "SAME")
    np.testing.assert_allclose(transposed, tape.gradient(atrous, x, g), rtol=1e-10)
    g = tf.constant(rng.standard_normal(deep.shape))
    by_x, by_filter = tape.gradient(deep, [x, kernel], g)
    found = tf.nn.depthwise_conv2d_backprop_input([2, 6, 7, 3], kernel, g, [1, 2, 2, 1], "SAME")
    np.testing.assert_allclose(found, by_x, rtol=1e-10)
    found = tf.nn.depthwise_conv2d_backprop_filter(x, [3, 2, 3, 2], g, [1, 2, 2, 1], "SAME")
    np.testing.assert_allclose(found, by_filter, rtol=1e-10)
    first = [tf.transpose(t, [0, 3, 1, 2]) for t in (x, g)]
    found = tf.nn.depthwise_conv2d_backprop_filter(
        first[0], [3, 2, 3, 2], first[1], [1, 1, 2, 2], "SAME", data_format="NCHW"
    )
    np.testing.assert_allclose(found, by_filter, rtol=1e-10)
    found = tf.nn.depthwise_conv2d_backprop_input([2, 3, 6, 7], kernel, first[1], [1, 1, 2, 2], "SAME", "NCHW")
    np.testing.assert_allclose(found, tf.transpose(by_x, [0, 3, 1, 2]), rtol=1e-10)


def test_depthwise_gradients_for_another_depth_than_the_filters() -> None:
    """Such a filter would be one in groups: known or not, it is refused."""
    kernel, g = tf.ones([2, 2, 2, 1]), tf.ones([1, 3, 3, 2])

    def by_input(sizes: Any, kernel: Any, g: Any) -> Any:
        return tf.nn.depthwise_conv2d_backprop_input(sizes, kernel, g, [1] * 4, "VALID")

    def by_filter(x: Any, g: Any) -> Any:
        return tf.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 2, 1], g, [1] * 4, "VALID")

    unknown = tf.TensorSpec([None] * 4)
    sizes = tf.TensorSpec([None], tf.int32)
    ways = [
        (by_input, by_filter),
        (
            tf.function(by_input, input_signature=[sizes, unknown, unknown]),
            tf.function(by_filter, input_signature=[unknown, unknown]),
        ),
        (tf.function(by_input, input_signature=[sizes, tf.TensorSpec(kernel.shape), unknown]), by_filter),
    ]
    for one, other in ways:
        assert one(tf.constant([1, 4, 4, 2]), kernel, g).shape == (1, 4, 4, 2)
        assert other(tf.ones([1, 4, 4, 2]), g).shape == (2, 2, 2, 1)
        for depth in (0, 1, 4):
            with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same depth"):
                one(tf.constant([1, 4, 4, depth]), kernel, g)
            with pytest.raises(tf.errors.InvalidArgumentError, match="have the same depth|dimension 2 at axis 3"):
                other(tf.ones([1, 4, 4, depth]), g)
        for wrong in ([1, 4, 4], [1, 4, 4, 2, 2]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                one(tf.constant(wrong), kernel, g)


def test_required_paddings_and_names_of_space_to_batch() -> None:
    pads, crops = tf.required_space_to_batch_paddings([5, 7], [2, 3], [[1, 0], [0, 1]])
    assert pads.numpy().tolist() == [[1, 0], [0, 2]] and crops.numpy().tolist() == [[0, 0], [0, 1]]
    traced = tf.function(lambda n: tf.required_space_to_batch_paddings(n, [2, 3]))
    pads, crops = traced(tf.constant([5, 7]))
    assert pads.numpy().tolist() == crops.numpy().tolist() == [[0, 1], [0, 2]]
    assert tf.space_to_batch_nd is tf.space_to_batch is tf.nn.space_to_batch


# ---- partitions -----------------------------------------------------------------------------------------------------


def test_dynamic_partition_and_stitch(rng: np.random.Generator) -> None:
    x, ids = rng.standard_normal((6, 3)), np.array([0, 2, 0, 1, 2, 2], np.int32)

    def there_and_back(x: Any) -> Any:
        parts = tf.dynamic_partition(x, ids, 4)
        places = tf.dynamic_partition(tf.range(6), ids, 4)
        return tf.dynamic_stitch(places, [p * (i + 1.0) for i, p in enumerate(parts)])

    for part, i in zip(tf.dynamic_partition(x, ids, 4), range(4), strict=True):
        np.testing.assert_array_equal(part, x[ids == i])
    check(there_and_back, x, x * (ids + 1.0)[:, None])
    check_slopes(there_and_back, x)
    whole = tf.dynamic_partition([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2)
    assert [p.numpy().tolist() for p in whole] == [[1, 4], [2, 3]]
    assert tf.dynamic_partition([[1, 2]], 1, 2)[1].shape == (1, 1, 2)


def test_dynamic_stitch_fills_gaps_and_keeps_the_last() -> None:
    for way in (tf.dynamic_stitch, lambda i, d: tf.function(lambda: tf.dynamic_stitch(i, d))()):
        assert way([[0, 2], [4]], [[1, 3], [2]]).numpy().tolist() == [1, 0, 3, 0, 2]
        assert way([[0, 0], [0]], [[1, 2], [3]]).numpy().tolist() == [3]
        assert way([1, [0, 3]], [[1, 1], [[2, 2], [4, 4]]]).numpy().tolist() == [[2, 2], [1, 1], [0, 0], [4, 4]]
        assert way([[]], [[]]).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: tf.dynamic_partition([1, 2], [0, 5], 2),
            tf.errors.InvalidArgumentError,
            r"\[1\] = 5 is not in \[0, 2\)",
        ),
        (lambda: tf.dynamic_partition([1, 2, 3], [0, 1], 2), tf.errors.InvalidArgumentError, "must start with"),
        (lambda: tf.dynamic_partition([1], [0], 0), tf.errors.InvalidArgumentError, "must be at least minimum 1"),
        (lambda: tf.dynamic_stitch([[-1, 1]], [[1, 2]]), tf.errors.InvalidArgumentError, r"\[-1\]"),
        (lambda: tf.dynamic_stitch([[0, 1]], [[1]]), tf.errors.InvalidArgumentError, "does not start with"),
        (lambda: tf.dynamic_stitch([[0], [1]], [[[1, 2]], [3]]), tf.errors.InvalidArgumentError, "Need data"),
        (lambda: tf.dynamic_stitch([], []), tf.errors.InvalidArgumentError, "as many indices as data"),
        (
            lambda: tf.nn.dilation2d(X[0], X[0], [1] * 4, "SAME", "NHWC", [1] * 4),
            tf.errors.InvalidArgumentError,
            "4-dim",
        ),
        (lambda: tf.nn.dilation2d(X, X[0], [1] * 4, "SAME", "NCHW", [1] * 4), ValueError, "other than 'NHWC'"),
        (
            lambda: tf.nn.dilation2d(X, X[0, :, :, :2], [1] * 4, "SAME", "NHWC", [1] * 4),
            tf.errors.InvalidArgumentError,
            "must have the same depth: 4 vs 2",
        ),
        (
            lambda: tf.nn.dilation2d(X[:, :2], X[0], [1] * 4, "VALID", "NHWC", [1] * 4),
            tf.errors.InvalidArgumentError,
            "Negative dimension size",
        ),
        (lambda: tf.nn.max_pool_with_argmax(X, 2, 2, "SAME", "NCHW"), ValueError, "'NHWC' are not supported"),
        (lambda: tf.nn.max_pool_with_argmax(X[0], 2, 2, "SAME"), tf.errors.InvalidArgumentError, "4-dimensional"),
        (lambda: tf.nn.lrn(X), tf.errors.InvalidArgumentError, "not in the list of allowed values"),
        (lambda: tf.nn.lrn(tf.ones([1, 2, 3])), tf.errors.InvalidArgumentError, "in must be 4-dimensional"),
        (lambda: tf.nn.atrous_conv2d(X, X[:3, :3], 0, "SAME"), ValueError, "cannot be less than one"),
        (lambda: tf.nn.compute_average_loss(2.0), ValueError, "at least rank 1"),
        (lambda: tf.nn.compute_average_loss([1.0], global_batch_size=2.0), TypeError, "must be an integer"),
        (lambda: tf.nn.compute_average_loss([1.0], global_batch_size=[2]), ValueError, "must be scalar"),
        (lambda: tf.nn.compute_average_loss([1.0], None, -1), tf.errors.InvalidArgumentError, "non-negative"),
        (lambda: tf.math.sobol_sample(0, 4), tf.errors.InvalidArgumentError, "dim must be at least one"),
        (lambda: tf.histogram_fixed_width_bins([1.0], [0.0, 5.0], 0), tf.errors.InvalidArgumentError, "must > 0"),
        (lambda: tf.parallel_stack([1, 2]), RuntimeError, "not compatible with eager execution"),
        (lambda: tf.nn.experimental.general_dropout([1.0], 1.5, None), ValueError, r"in the range \[0, 1\)"),
        (lambda: tf.nn.with_space_to_batch(X, [2, 2], "SAME", None), ValueError, "`filter_shape` must be specified"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# ---- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("radius", "bias", "alpha", "beta"), [(5, 1, 1, 0.5), (1, 2.0, 0.3, 0.75), (0, 1, 1, 1.5)])
def test_local_response_normalization(
    radius: int, bias: float, alpha: float, beta: float, rng: np.random.Generator
) -> None:
    x = rng.standard_normal((2, 2, 3, 6)).astype(np.float32)
    total = np.stack([np.sum(x[..., max(c - radius, 0) : c + radius + 1] ** 2, -1) for c in range(6)], -1)
    wanted = x / (bias + alpha * total) ** beta
    assert tf.nn.lrn is tf.nn.local_response_normalization
    check(lambda x: tf.nn.lrn(x, radius, bias, alpha, beta), x, wanted, 1e-5)
    first, second = slopes(lambda x: tf.nn.lrn(x, radius, bias, alpha, beta), x)
    v, step = rng.standard_normal(x.shape), 1e-2

    def energy(at: Any) -> float:
        return float(
            np.sum(tf.nn.lrn(tf.constant(at, tf.float32), radius, bias, alpha, beta).numpy() ** 2, dtype=float)
        )

    along = (energy(x + step * v) - energy(x - step * v)) / (2 * step)
    assert np.sum(first * v) == pytest.approx(along, rel=2e-2, abs=2e-2)
    assert np.isfinite(second).all()
    assert tf.nn.lrn(tf.cast(x, tf.bfloat16), 2).dtype is tf.bfloat16


def test_average_losses() -> None:
    loss = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert float(tf.nn.compute_average_loss(loss, [1.0, 2.0])) == 8.5
    assert float(tf.nn.compute_average_loss(loss[0], global_batch_size=4)) == 0.75
    traced = unknown(lambda x: tf.nn.compute_average_loss(x), loss)
    assert float(traced(tf.constant(loss))) == 5.0
    assert float(tf.nn.scale_regularization_loss(loss)) == 10.0


def test_batch_norm_with_global_normalization(rng: np.random.Generator) -> None:
    mean, variance, beta, gamma = rng.uniform(0.5, 1, (4, 4))
    for scaled in (False, True):
        wanted = (X - mean) / np.sqrt(variance + 0.01) * (gamma if scaled else 1) + beta
        found = tf.nn.batch_norm_with_global_normalization(X, mean, variance, beta, gamma, 0.01, scaled)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_isotonic_regression(rng: np.random.Generator) -> None:
    from scipy.optimize import isotonic_regression

    x = rng.standard_normal((3, 8))
    for falling in (True, False):
        wanted = np.stack([isotonic_regression(row, increasing=not falling).x for row in x])

        def fitted(x: Any, falling: bool = falling) -> Any:
            return tf.nn.isotonic_regression(x, falling).output

        check(fitted, x, wanted)
        check_slopes(fitted, x)
        np.testing.assert_allclose(tf.nn.isotonic_regression(x.T, falling, axis=0).output, wanted.T)
    assert tf.nn.isotonic_regression([3.0, 1.0, 2.0]).segments.numpy().tolist() == [0, 1, 1]


def test_collapse_repeated() -> None:
    labels, lengths = np.array([[1, 1, 2, 2, 1], [1, 1, 1, 1, 1]]), np.array([5, 3])
    for way in (tf.nn.collapse_repeated, unknown(lambda a, b: tf.nn.collapse_repeated(a, b), labels, lengths)):
        found, count = way(tf.constant(labels), tf.constant(lengths))
        assert found.numpy().tolist() == [[1, 2, 1], [1, 0, 0]]
        assert count.numpy().tolist() == [3, 1]


def test_bins_points_and_ranks(rng: np.random.Generator) -> None:
    values = np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0])
    check(lambda x: tf.histogram_fixed_width_bins(x, [0.0, 5.0], 5), values, [0, 0, 1, 2, 4, 4])
    points = tf.math.sobol_sample(2, 4, dtype=tf.float64).numpy()
    assert points.tolist() == [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.375, 0.375]]
    assert tf.math.sobol_sample(2, 3, skip=1).numpy().tolist() == points[1:].tolist()
    x = rng.standard_normal((3, 7))
    for function, order in ((tf.nn.approx_max_k, -1), (tf.nn.approx_min_k, 1)):
        values, places = function(tf.constant(x), 2)
        np.testing.assert_array_equal(values, order * np.sort(order * x, -1)[:, :2])
        np.testing.assert_array_equal(places, np.argsort(order * x, -1)[:, :2])
        np.testing.assert_array_equal(function(tf.constant(x.T), 2, 0).values, values.numpy().T)


def test_names_in_other_places() -> None:
    assert tf.scalar_mul is tf.math.scalar_mul
    np.testing.assert_allclose(tf.realdiv([1.0, 2.0], 4.0), [0.25, 0.5])
    stacked = tf.function(lambda: tf.parallel_stack([[1, 2], [3, 4]]))()
    assert stacked.numpy().tolist() == [[1, 2], [3, 4]]


def test_general_dropout() -> None:
    def drawn(shape: Any, dtype: Any) -> Any:
        return tf.constant([0.1, 0.6, 0.5, 0.9], dtype)

    dropped = tf.nn.experimental.general_dropout(tf.ones([2, 4]), 0.5, drawn)
    assert dropped.numpy().tolist() == [[0.0, 2.0, 2.0, 2.0]] * 2


def test_paddings_wrap_alike_whether_known_or_not() -> None:
    most = 2**31 - 1
    traced = tf.function(tf.required_space_to_batch_paddings)
    for size, block in ((most, 3), (most, most), (most - 1, most), (5, 2**30), (-7, 4)):
        vectors = [tf.constant(x, tf.int32) for x in ([size], [block], [[most, most]])]
        for ours, theirs in zip(tf.required_space_to_batch_paddings(*vectors), traced(*vectors), strict=True):
            assert ours.numpy().tolist() == theirs.numpy().tolist()
    assert tf.required_space_to_batch_paddings([most], [3], [[most, most]])[0].numpy().tolist() == [[most, -(2**31)]]


def test_a_range_known_while_tracing_that_does_not_rise_is_refused() -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"value_range\[0\] < value_range\[1\]"):
        tf.function(lambda x: tf.histogram_fixed_width(x, [0.0, -1.0], nbins=4))(x)


def test_strings_are_stitched_with_empty_ones_between() -> None:
    for call in (tf.dynamic_stitch, tf.function(tf.dynamic_stitch)):
        given = call([[0, 2], [4]], [tf.constant([["a", "b"], ["c", "d"]]), tf.constant([["e", "f"]])])
        assert given.numpy().tolist() == [[b"a", b"b"], [b"", b""], [b"c", b"d"], [b"", b""], [b"e", b"f"]]


@pytest.mark.parametrize("staged", [False, True])
def test_slices_of_text_and_of_booleans_are_stitched(staged: bool) -> None:
    """What no index names is "" or False."""

    def stitched() -> Any:
        texts = tf.dynamic_stitch([[1], [3]], [[b"a\0"], [b"b"]])
        return texts, tf.dynamic_stitch([[[1]], [[0]]], [[[[True]]], [[[True]]]])

    texts, flags = (tf.function(stitched) if staged else stitched)()
    assert texts.numpy().tolist() == [b"", b"a\0", b"", b"b"] and flags.numpy().tolist() == [[True], [True]]


def test_a_gradient_of_dilation_with_unknown_sizes_by_kernels() -> None:
    """Of many elements that are moved, those of one value are written by one kernel: who takes it waits for that."""
    strides, rates = [1, 2, 1, 1], [1, 1, 2, 1]
    kernel = np.random.default_rng(1).standard_normal((2, 3, 4))

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(tf.nn.dilation2d(x, kernel, strides, "VALID", "NHWC", rates)))
        return tape.gradient(y, x)

    with flags.override(tier="last"):
        np.testing.assert_allclose(unknown(slope, X)(tf.constant(X)), slope(tf.constant(X)), rtol=1e-12)


def test_histograms_of_ranges_wider_than_their_numbers_and_at_the_edges_of_bins(rng: np.random.Generator) -> None:
    values = np.array([2e38, -2e38, 3e38, 0.0], np.float32)
    assert tf.histogram_fixed_width(values, [-3e38, 3e38], 4).numpy().tolist() == [1, 0, 1, 2]
    least, most = -(2**31), 2**31 - 1
    assert tf.histogram_fixed_width([most, least, 0], [least, most], 4).numpy().tolist() == [1, 0, 1, 1]
    for _ in range(20):
        low = np.float32(rng.uniform(-1, 1))
        high, n = np.float32(low + rng.uniform(0.1, 2)), int(rng.integers(2, 40))
        edges = np.linspace(float(low), float(high), n + 1).astype(np.float32)
        values = np.concatenate([edges, np.nextafter(edges, np.float32(9)), np.nextafter(edges, np.float32(-9))])
        wide = (values.astype(np.float64) - low) / (np.float64(high) - low) * n
        counts = np.bincount(np.clip(np.floor(wide), 0, n - 1).astype(int), minlength=n)
        np.testing.assert_array_equal(tf.histogram_fixed_width(values, [low, high], n), counts)
        places = np.clip(np.floor(np.float32(n) * ((values - low) / (high - low))), 0, n - 1)
        np.testing.assert_array_equal(tf.histogram_fixed_width_bins(values, [low, high], n), places)
