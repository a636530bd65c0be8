"""tf.nn's convolutions and poolings: TensorFlow's values, arguments and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags

nn = tf.nn
X = tf.ones([2, 5, 6, 4])
W = tf.ones([3, 3, 4, 8])


def count(*dims: int) -> Any:
    return tf.reshape(tf.range(int(np.prod(dims)), dtype=tf.float32), dims)


@pytest.mark.parametrize(
    ("made", "shape", "first"),
    [
        (lambda: nn.conv2d(X, W, 1, "SAME"), (2, 5, 6, 8), 16.0),
        (lambda: nn.conv2d(X, W, [1, 2, 2, 1], "VALID"), (2, 2, 2, 8), 36.0),
        (lambda: nn.conv2d(X, W, 1, "SAME", dilations=2), (2, 5, 6, 8), 16.0),
        (lambda: nn.conv2d(X, W, 2, "SAME", dilations=2), (2, 3, 3, 8), 16.0),
        (lambda: nn.conv2d(X, W, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]), (2, 6, 5, 8), 24.0),
        (lambda: nn.conv2d(X, tf.ones([3, 3, 2, 8]), 1, "SAME"), (2, 5, 6, 8), 8.0),
        (lambda: nn.conv2d(X, tf.ones([6, 3, 4, 8]), 1, "VALID"), (2, 0, 4, 8), None),
        (lambda: nn.conv2d(X[:0], W, 1, "SAME"), (0, 5, 6, 8), None),
        (lambda: nn.conv2d(X[:, :0], W, 1, "SAME"), (2, 0, 6, 8), None),
        (lambda: nn.conv2d(tf.ones([2, 3, 5, 6, 4]), W, 1, "SAME"), (2, 3, 5, 6, 8), 16.0),
        (lambda: nn.conv2d(tf.ones([2, 4, 5, 6]), W, 1, "SAME", data_format="NCHW"), (2, 8, 5, 6), 16.0),
        (lambda: nn.conv1d(tf.ones([2, 7, 3]), tf.ones([3, 3, 5]), 2, "SAME"), (2, 4, 5), 6.0),
        (lambda: nn.conv1d(tf.ones([2, 3, 7]), tf.ones([3, 3, 5]), 2, "SAME", "NCW"), (2, 5, 4), 6.0),
        (lambda: nn.conv3d(tf.ones([2, 4, 5, 6, 3]), tf.ones([2, 2, 2, 3, 4]), [1] * 5, "SAME"), (2, 4, 5, 6, 4), 24.0),
        (lambda: nn.convolution(X, W), (2, 3, 4, 8), 36.0),
        (lambda: nn.convolution(X, W, strides=2, padding="SAME"), (2, 3, 3, 8), 24.0),
        (lambda: nn.convolution(tf.ones([2, 7, 3]), tf.ones([3, 3, 5]), padding="SAME"), (2, 7, 5), 6.0),
        (lambda: nn.depthwise_conv2d(X, tf.ones([3, 3, 4, 2]), [1, 2, 2, 1], "SAME"), (2, 3, 3, 8), 6.0),
        (
            lambda: nn.separable_conv2d(X, tf.ones([3, 3, 4, 2]), tf.ones([1, 1, 8, 5]), [1] * 4, "SAME"),
            (2, 5, 6, 5),
            32.0,
        ),
        (lambda: nn.conv2d_transpose(tf.ones([2, 3, 3, 8]), W, [2, 5, 6, 4], 2, "SAME"), (2, 5, 6, 4), 8.0),
        (
            lambda: nn.conv1d_transpose(tf.ones([2, 3, 8]), tf.ones([3, 4, 8]), [2, 6, 4], 2, "SAME"),
            (2, 6, 4),
            8.0,
        ),
        (lambda: nn.max_pool(count(2, 5, 6, 3), 2, 2, "VALID"), (2, 2, 3, 3), 21.0),
        (lambda: nn.max_pool(count(2, 5, 6, 3), 3, 2, "SAME"), (2, 3, 3, 3), 24.0),
        (lambda: nn.max_pool(count(2, 5, 6, 3), [1, 1, 1, 3], [1, 1, 1, 3], "VALID"), (2, 5, 6, 1), 2.0),
        (lambda: nn.max_pool(count(2, 5, 6, 3), 2, 2, [[0, 0], [1, 1], [0, 1], [0, 0]]), (2, 3, 3, 3), 3.0),
        (lambda: nn.max_pool(count(2, 5, 6, 3), 2, 2, "VALID", data_format="NCHW"), (2, 5, 3, 1), 4.0),
        (lambda: nn.max_pool(count(2, 5, 6, 3), 7, 2, "VALID"), (2, 0, 0, 3), None),
        (lambda: nn.avg_pool(count(2, 5, 6, 3), 2, 2, "SAME"), (2, 3, 3, 3), 10.5),
        (lambda: nn.avg_pool(tf.ones([1, 3, 3, 1]), 3, 1, "SAME"), (1, 3, 3, 1), 1.0),
        (lambda: nn.max_pool1d(tf.ones([2, 7, 3]), 2, 2, "VALID"), (2, 3, 3), 1.0),
        (lambda: nn.avg_pool3d(tf.ones([2, 4, 4, 4, 3]), 2, 2, "SAME"), (2, 2, 2, 2, 3), 1.0),
        (lambda: nn.pool(count(2, 5, 6, 3), [2, 2], "MAX"), (2, 4, 5, 3), 21.0),
        (lambda: nn.pool(count(2, 5, 6, 3), [2, 2], "MAX", dilations=[2, 1]), (2, 3, 5, 3), 39.0),
    ],
)
def test_values(made: Callable[[], Any], shape: tuple[int, ...], first: float | None) -> None:
    got = made()
    assert tuple(got.shape) == shape
    if first is not None:
        assert float(got.numpy().ravel()[0]) == first


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda: nn.conv2d(X, W, 0, "SAME"), tf.errors.InvalidArgumentError, "strides should be larger than 0"),
        (lambda: nn.conv2d(X, W, -1, "SAME"), tf.errors.InvalidArgumentError, "strides should be larger than 0"),
        (lambda: nn.conv2d(X, W, [2, 1, 1, 1], "SAME"), tf.errors.UnimplementedError, "batch and depth dimensions"),
        (lambda: nn.conv2d(X, W, [2, 1, 1], "SAME"), ValueError, "strides should be of length 1, 2 or 4"),
        (lambda: nn.conv2d(X, W, 1, "FOO"), tf.errors.InvalidArgumentError, "'padding' of \"FOO\" is not in the list"),
        (lambda: nn.conv2d(X, W, 1, "EXPLICIT"), ValueError, "'EXPLICIT' is not a valid value"),
        (lambda: nn.conv2d(X, W, 1, [[1, 2], [0, 1]]), ValueError, "it must be of size 4"),
        (
            lambda: nn.conv2d(X, W, 1, [[0, 0], [-1, 2], [0, 1], [0, 0]]),
            tf.errors.InvalidArgumentError,
            "must be nonnegative",
        ),
        (
            lambda: nn.conv2d(X, W, 1, [[1, 0], [1, 2], [0, 1], [0, 0]]),
            tf.errors.InvalidArgumentError,
            "Nonzero explicit padding in the batch or depth dimensions",
        ),
        (lambda: nn.conv2d(X, W, 1, "SAME", dilations=0), tf.errors.InvalidArgumentError, "larger than 0"),
        (lambda: nn.conv2d(X, W, 1, "SAME", "NHCW"), tf.errors.InvalidArgumentError, "not in the list of allowed"),
        (lambda: nn.conv2d(X[0], W, 1, "SAME"), tf.errors.InvalidArgumentError, "must be 4-dimensional"),
        (lambda: nn.conv2d(X, W[0], 1, "SAME"), tf.errors.InvalidArgumentError, "filter must be 4-dimensional"),
        (
            lambda: nn.conv2d(X, tf.ones([3, 3, 5, 8]), 1, "SAME"),
            tf.errors.InvalidArgumentError,
            "input depth must be evenly divisible by filter depth: 4 vs 5",
        ),
        (
            lambda: nn.conv2d(X, tf.ones([7, 3, 4, 8]), 1, "VALID"),
            tf.errors.InvalidArgumentError,
            "Computed output size would be negative: -1",
        ),
        (
            lambda: nn.conv2d(tf.cast(X, tf.int64), tf.cast(W, tf.int64), 1, "SAME"),
            tf.errors.InvalidArgumentError,
            "'T' of int64 is not in the list of allowed values",
        ),
        (lambda: nn.conv3d(tf.ones([1, 2, 2, 2, 1]), tf.ones([1, 1, 1, 1, 1]), 1, "SAME"), TypeError, "Expected list"),
        (lambda: nn.convolution(X, W, strides=[2, 1], dilations=[2, 1]), ValueError, "in conjunction with"),
        (
            lambda: nn.depthwise_conv2d(X, tf.ones([3, 3, 3, 2]), [1] * 4, "SAME"),
            tf.errors.InvalidArgumentError,
            "must have the same depth: 4 vs 3",
        ),
        (
            lambda: nn.depthwise_conv2d(X, tf.ones([3, 3, 4, 2]), [1, 2, 1, 1], "SAME"),
            tf.errors.InvalidArgumentError,
            "equal length strides",
        ),
        (lambda: nn.depthwise_conv2d(X, tf.ones([3, 3, 4, 2]), 1, "SAME"), TypeError, "Expected list for 'strides'"),
        (
            lambda: nn.separable_conv2d(X, tf.ones([3, 3, 4, 2]), tf.ones([2, 1, 8, 5]), [1] * 4, "SAME"),
            ValueError,
            "Dimensions 2 and 1 are not compatible",
        ),
        (
            lambda: nn.conv2d_transpose(tf.ones([2, 3, 3, 8]), W, [2, 9, 6, 4], 2, "SAME"),
            tf.errors.InvalidArgumentError,
            "Size of out_backprop doesn't match computed",
        ),
        (
            lambda: nn.conv2d_transpose(tf.ones([2, 3, 3, 8]), W, [5, 6, 4], 2, "SAME"),
            tf.errors.InvalidArgumentError,
            "input_sizes",
        ),
        (lambda: nn.max_pool(X, [2, 2, 2, 1], 1, "SAME"), tf.errors.UnimplementedError, "batch dimension"),
        (lambda: nn.max_pool(X, [1, 2, 1, 2], [1, 2, 1, 2], "VALID"), tf.errors.UnimplementedError, "exactly one of"),
        (lambda: nn.max_pool(X, 0, 1, "SAME"), tf.errors.InvalidArgumentError, "ksize must be positive"),
        (lambda: nn.max_pool(X, 2, 0, "SAME"), tf.errors.InvalidArgumentError, "larger than 0"),
        (lambda: nn.max_pool(X[0, 0], 2, 2, "SAME"), ValueError, "must be 3, 4 or 5"),
        (lambda: nn.max_pool(X, [2, 2, 2], 1, "SAME"), ValueError, "ksize should be of length 1, 2 or 4"),
        (
            lambda: nn.max_pool(X, 2, 2, [[0, 0], [2, 1], [0, 1], [0, 0]]),
            tf.errors.InvalidArgumentError,
            "Top padding 2 needs to be smaller than the window size 2",
        ),
        (lambda: nn.max_pool(X, 2, 2, 3), TypeError, "Expected string for argument 'padding' not 3"),
        (lambda: nn.avg_pool(X, 2, 2, [[0, 0]] * 4), TypeError, "Expected string for argument 'padding'"),
        (
            lambda: nn.avg_pool(tf.cast(X, tf.int32), 2, 2, "SAME"),
            tf.errors.InvalidArgumentError,
            "'T' of int32 is not in the list",
        ),
        (lambda: nn.pool(X, [2, 2], "MIN"), ValueError, "2-D MIN pooling is not supported"),
        (lambda: nn.pool(X, [2, 1], "MAX", [1, 2]), ValueError, "`strides` > `window_shape` not supported"),
        (lambda: nn.pool(X, [2, 0], "MAX"), ValueError, "`strides` > `window_shape` not supported"),
        (lambda: nn.pool(X, tf.constant([2, 2]), "AVG", tf.constant([2])), ValueError, "`len(strides)` should be 2"),
        (lambda: nn.pool(X, [2, 2], "AVG", dilations=[2]), ValueError, "`len(dilation_rate)` should be 2"),
        (lambda: nn.pool(X, [2, 2], "AVG", [0, 1]), ValueError, "all values of `strides` must be positive"),
        (lambda: nn.convolution(X, W, dilations=[0, 2]), ValueError, "all values of `dilation_rate` must be positive"),
        (lambda: nn.convolution(X, W, [-1, 1], dilations=[1, 2]), ValueError, "all values of `strides` must be"),
        (
            lambda: nn.depthwise_conv2d(X, tf.ones([3, 3, 4, 2]), [1] * 4, "SAME", dilations=[2]),
            ValueError,
            "dilations must have 2 elements",
        ),
        (
            lambda: nn.separable_conv2d(
                X, tf.ones([3, 3, 4, 2]), tf.ones([1, 1, 8, 5]), [1] * 4, "SAME", None, [-1, 2]
            ),
            ValueError,
            "must be positive",
        ),
        (
            lambda: nn.conv3d(tf.ones([1, 2, 2, 2, 1]), tf.ones([1, 1, 1, 1, 1]), [2, 1, 1, 1, 1], "SAME"),
            tf.errors.InvalidArgumentError,
            "does not yet support strides in the batch and depth",
        ),
        (lambda: nn.pool(X, [2, 2], "MAX", padding="SAME", dilations=[2, 2]), ValueError, "not implemented for"),
    ],
)
def test_errors(made: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        made()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("function", "shapes", "text"),
    [
        (
            lambda x, w: nn.conv2d(x, w, 1, "VALID"),
            ([1, 5, 5, 3], [3, 3, 4, 4]),
            "Depth of input (3) is not a multiple",
        ),
        (lambda x, w: nn.conv2d(x, w, 1, "VALID"), ([1, 5, 5, 3], [7, 3, 3, 4]), "subtracting 7 from 5"),
        (lambda x, w: nn.conv2d(x, w, 1, "VALID"), ([5, 5, 3], [3, 3, 3, 4]), "must be rank 4 but is rank 3"),
        (lambda x: nn.max_pool2d(x, 7, 2, "VALID"), ([1, 5, 5, 3],), "subtracting 7 from 5"),
    ],
)
def test_errors_while_tracing(function: Callable[..., Any], shapes: Any, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        tf.function(function).get_concrete_function(*[tf.TensorSpec(s) for s in shapes])
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("x", "w", "shape"),
    [
        ([None, None, 7, 3], [3, 3, 3, 4], (None, None, 4, 4)),
        (None, [3, 3, 3, 4], (None, None, None, 4)),
        ([1, None, 5, 3], None, (1, None, 3, None)),
        ([1, 5, 5, None], [3, 3, 3, 4], (1, 3, 3, 4)),
    ],
)
def test_shapes_that_are_known_in_part(x: Any, w: Any, shape: Any) -> None:
    made = tf.function(lambda x, w: nn.conv2d(x, w, 2, "SAME")).get_concrete_function(
        tf.TensorSpec(x), tf.TensorSpec(w)
    )
    strided = tuple(None if n is None else n for n in shape)
    got = made.outputs[0].shape.as_list()
    assert len(got) == 4
    assert [g is None for g in got] == [s is None for s in strided]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("window", "largest", "gradient"),
    [
        ([NAN, 1, 2, 3], 3.0, [1, 0, 0, 0]),  # a first NaN stays what all others are compared with
        ([1, NAN, 2, 3], 3.0, [0, 0, 0, 1]),
        ([1, 2, 3, NAN], 3.0, [0, 0, 1, 0]),
        ([1, 1, 1, 1], 1.0, [1, 0, 0, 0]),
        ([INF, INF, 1, 2], INF, [1, 0, 0, 0]),
        ([3, NAN, 3, 1], 3.0, [1, 0, 0, 0]),
        ([-INF] * 4, float(np.finfo(np.float32).min), [1, 0, 0, 0]),
        ([NAN] * 4, float(np.finfo(np.float32).min), [1, 0, 0, 0]),
    ],
)
def test_maximum_of_special_numbers(window: list[float], largest: float, gradient: list[int]) -> None:
    x = tf.reshape(tf.constant(window, tf.float32), [1, 2, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.max_pool2d(x, 2, 2, "VALID")
    assert float(y.numpy().ravel()[0]) == largest
    assert tape.gradient(y, x).numpy().ravel().tolist() == gradient


def test_steps_are_given_by_tensors_that_are_known() -> None:
    x, k = np.arange(16, dtype="f").reshape(1, 4, 4, 1), np.ones((2, 2, 1, 1), "f")
    plain = tf.nn.conv2d(x, k, [2, 1], "VALID").numpy()

    def staged(form: Any) -> Any:
        return tf.function(lambda: tf.nn.conv2d(x, k, form, "VALID"))()

    for form in (
        tf.constant([2, 1]),
        tf.constant([2, 1], tf.int64),
        tf.constant([2.0, 1.0]),
        tf.shape(tf.zeros([2, 1])),
    ):
        np.testing.assert_array_equal(tf.nn.conv2d(x, k, form, "VALID").numpy(), plain)
        np.testing.assert_array_equal(staged(form).numpy(), plain)
    wide = tf.nn.conv2d(x, k, 1, "VALID", dilations=[2, 1]).numpy()
    np.testing.assert_array_equal(tf.nn.convolution(x, k, dilations=tf.constant([2, 1])).numpy(), wide)
    pooled = tf.nn.max_pool2d(x, tf.constant([2, 2]), tf.constant([2, 2]), "VALID").numpy()
    assert pooled.ravel().tolist() == [5, 7, 13, 15]


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    ("values", "window", "step", "gradient"),
    [
        ([1, 1, 0, 1, -1, 1, 1, 0], (2, 2, 2), 2, [1, 1, 0, 1, 0, 1, 1, 0]),
        ([np.nan, 1, 1, 0, 1, 1, 1, 1], (2, 2, 2), 2, [0, 1, 1, 0, 1, 1, 1, 1]),
        ([1, 1, 1, 0, 1, 1, 1, 0], (3, 1, 1), 1, [2, 3, 3, 0, 3, 3, 3, 0]),
    ],
)
def test_equal_maxima_over_three_axes(values: Any, window: Any, step: int, gradient: Any, staged: bool) -> None:
    """TensorFlow gives each of them the gradient, over two axes the first; the numbers are TensorFlow's."""

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nn.max_pool3d(x, window, step, "SAME")
        return tape.gradient(y, x)

    x = tf.constant(values, tf.float32, (1, 2, 2, 2, 1) if step == 2 else (1, 8, 1, 1, 1))
    assert (tf.function(slope) if staged else slope)(x).numpy().ravel().tolist() == gradient


@pytest.mark.parametrize("tier", ["eager", "first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 3, 0)])
def test_filters_without_elements(tier: str, unknown: bool, shape: tuple[int, ...]) -> None:
    """They are refused where the graph runs; what they are transposed to is 0."""
    x, dy, w = tf.ones([2, 5, 5, 3]), tf.ones([2, 5, 5, shape[3]]), tf.ones(shape)
    specs = [tf.TensorSpec([None] * 4)] * 2 if unknown else None

    def run(f: Any, *arguments: Any) -> Any:
        if tier == "eager":
            return f(*arguments)
        with flags.override(tier=tier):
            return tf.function(f, input_signature=specs)(*arguments)

    for convolved in (tf.nn.conv2d, lambda x, w, s, p: tf.nn.depthwise_conv2d(x, w, [1, s, s, 1], p)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="filter must not have zero elements"):
            run(lambda x, w, convolved=convolved: convolved(x, w, 1, "VALID"), x, w)
    found = run(lambda dy, w: tf.nn.conv2d_transpose(dy, w, [2, 6, 6, 3], 1, "VALID"), dy, w)
    assert found.shape == [2, 6, 6, 3] and not found.numpy().any()
