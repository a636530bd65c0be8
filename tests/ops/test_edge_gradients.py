"""First and second gradients where rules have edges, against TensorFlow's: zeros, ties, NaN, infinities, complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags

F = Callable[..., Any]
#: Function, input, gradient of its sum, gradient of that gradient's product with 1, 2, 3, ...
ROWS: list[tuple[str, F, list[Any], list[Any], Any]] = [
    # None: a slope that does not change.
    (
        "sigmoid cross entropy at 0",
        lambda x: tf.nn.sigmoid_cross_entropy_with_logits(tf.constant([1.0, 0.0, 1.0]), x),
        [0.0, 0.0, 100.0],
        [-0.5, 0.5, 0.0],
        [0.25, 0.5, 0.0],
    ),
    ("cumprod with a zero", tf.math.cumprod, [2.0, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ("cumprod with a complex zero", tf.math.cumprod, [2j, 0, 3], [1, 0, 0], [0, 0, 0]),
    ("relu6", tf.nn.relu6, [-1.0, 2.0, 7.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]),
    ("leaky_relu", tf.nn.leaky_relu, [-1.0, 2.0, 7.0], [0.2, 1.0, 1.0], [0.0, 0.0, 0.0]),
    (
        "xlogy's y",
        lambda y: tf.math.xlogy(tf.constant([0.0, 0.0, 2.0]), y),
        [0.0, nan, 4.0],
        [0, 0, 0.5],
        [0, 0, -0.375],
    ),
    ("xlogy's x", lambda x: tf.math.xlogy(x, tf.constant([0.0, 1.0, 1.0])), [0.0, 0.0, 2.0], [0, 0, 0], None),
    ("xlog1py's x", lambda x: tf.math.xlog1py(x, tf.constant([-1.0, 0.0])), [0.0, 2.0], [0, 0], None),
]


def gradients(f: F, x: Any) -> tuple[Any, Any]:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
        weights = tf.cast(tf.reshape(tf.range(1, 1 + tf.size(x)), tf.shape(x)), x.dtype)
        target = first * weights
    return first, outer.gradient(target, x)


@pytest.mark.parametrize("tier", ["eager", "first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "f", "x", "first", "second"), ROWS, ids=[r[0] for r in ROWS])
def test_gradients_at_edges(name: str, f: F, x: Any, first: Any, second: Any, tier: str) -> None:
    given = tf.constant(x)
    if tier == "eager":
        got = gradients(f, given)
    else:
        with flags.override(tier=tier):
            got = tf.function(lambda t: gradients(f, t))(given)
    np.testing.assert_allclose(got[0].numpy(), first, rtol=1e-6, atol=1e-20)
    if second is None:
        assert got[1] is None
    else:
        np.testing.assert_allclose(got[1].numpy(), second, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("tier", ["first", "last"])
def test_cubes_beyond_the_range(tier: str) -> None:
    """The gradient of rsqrt: the cube of the result alone is 0, or infinite, where the product with dy is neither."""

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.rsqrt(x) * tf.constant([1e30, 1e-30])
        return tape.gradient(y, x)

    with flags.override(tier=tier):
        for call in (gradient, tf.function(gradient)):
            np.testing.assert_allclose(call(tf.constant([1e36, 1e-36])), [-5e-25, -5e23], rtol=1e-5)


def test_second_gradient_of_a_weighted_variance_goes_through_the_mean() -> None:
    x, w = tf.constant([1.0, 2.0, 4.0]), tf.constant([1.0, 1.0, 2.0])
    _, second = gradients(lambda t: tf.nn.weighted_moments(t, [0], w)[1], x)
    share, v = w.numpy() / 4, np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(second.numpy(), 2 * share * (v - (share * v).sum()), rtol=1e-6)


def test_gradients_of_complex_modulus_and_sign() -> None:
    z = tf.constant([3 + 4j, 0], tf.complex64)
    first, second = gradients(lambda t: tf.cast(tf.abs(t), tf.complex64), z)
    np.testing.assert_allclose(first.numpy(), [0.6 + 0.8j, 0], rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), [0.128 - 0.096j, 0], rtol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.sign(z)
    np.testing.assert_allclose(tape.gradient(y, z).numpy(), [0.128 - 0.096j, 0], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_16_bit_floats_need_no_host_step(dtype: str) -> None:
    x = tf.cast(tf.constant([1.0, 3.0, 2.0]), dtype)

    def all_of_them(t: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(t)
            best = tf.math.top_k(t, 2)[0]
            top = tf.tensor_scatter_nd_max(t, [[0], [2]], tf.constant([2.0, 2.0], dtype))
        return [
            tf.tensor_scatter_nd_add(t, [[0], [0]], t[:2]),
            tf.tensor_scatter_nd_sub(t, [[0], [0]], t[:2]),
            tape.gradient(best, t),
            tape.gradient(top, t),
        ]

    with flags.override(tier="last"):
        function = tf.function(all_of_them)
        results = function(x)
        assert function.get_concrete_function(x).host_steps == 0
    wanted = [[5.0, 3.0, 2.0], [-3.0, 3.0, 2.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.5]]
    for got, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got.numpy().astype(np.float32), expected)


def test_special_functions_in_kernels_have_their_limits() -> None:
    cases = [
        lambda x: tf.math.zeta(tf.constant(2.0), x),
        lambda x: tf.math.polygamma(tf.constant(1.0), x),
        lambda x: tf.math.polygamma(tf.constant(0.5), x),
        lambda x: tf.math.zeta(tf.constant(nan), x),
    ]
    x = tf.constant([1.0, inf, nan, -inf, 0.0, -1.0])
    with flags.override(tier="last"):
        for f in cases[:2]:
            np.testing.assert_allclose(tf.function(f)(x[:3]).numpy(), [1.6449341, 0.0, nan], rtol=1e-6)
        for f in cases[2:]:
            assert np.isnan(tf.function(f)(x).numpy()).all() and np.isnan(f(x).numpy()).all()


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    "function", [tf.sqrt, tf.math.rsqrt, tf.math.reciprocal, lambda x: tf.norm(x[:, None], axis=1)]
)
def test_what_is_not_chosen_gives_roots_no_nan(function: Any, staged: bool) -> None:
    """As TensorFlow's SqrtGrad, RsqrtGrad and InvGrad: 0 where the gradient that comes in is."""

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.where(x > 1.0, function(x), 3.0)
        return tape.gradient(y, x)

    found = (tf.function(gradient) if staged else gradient)(tf.constant([0.0, -0.0, 4.0]))
    assert found.numpy()[:2].tolist() == [0.0, 0.0] and np.isfinite(found.numpy()).all()


def test_second_gradient_of_a_root_where_the_first_is_0() -> None:
    x = tf.constant([4.0, 9.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = (tf.sqrt(x) - tf.constant([2.0, 1.0])) ** 2
        first = inner.gradient(y, x)
    np.testing.assert_allclose(first, [0.0, 2 / 3], rtol=1e-6)
    np.testing.assert_allclose(outer.gradient(first, x), [2 / 16, 1 / (2 * 27)], rtol=1e-5)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("product", [tf.math.segment_prod, lambda x, ids: tf.math.unsorted_segment_prod(x, ids, 2)])
def test_second_gradient_of_a_segments_product_beside_a_zero(product: F, staged: bool) -> None:
    """The zero's own gradient is 0 to the others, but theirs is the rest of the product to the zero."""

    def gradients(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = product(x, [0, 0, 0, 1])
            first = inner.gradient(y, x)
            weighted = first * tf.constant([1.0, 2.0, 3.0, 4.0])
        return first, outer.gradient(weighted, x)

    first, second = (tf.function(gradients) if staged else gradients)(tf.constant([0.0, 2.0, 3.0, 5.0]))
    assert first.numpy().tolist() == [6.0, 0.0, 0.0, 1.0]
    assert second.numpy().tolist() == [12.0, 3.0, 2.0, 0.0]


@pytest.mark.parametrize("staged", [False, True])
def test_second_gradient_of_the_greatest_in_windows_is_0(staged: bool) -> None:
    def second(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.nn.max_pool2d(x, 2, 2, "VALID")
            first = inner.gradient(y, x)
        return outer.gradient(first, x)

    x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    assert (tf.function(second) if staged else second)(x).numpy().tolist() == np.zeros((1, 4, 4, 1)).tolist()


@pytest.mark.parametrize("staged", [False, True])
def test_swish_by_a_tensor(staged: bool) -> None:
    def gradients(x: Any, beta: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, beta])
            y = tf.nn.silu(x, beta)
        return (y, *tape.gradient(y, [x, beta]))

    f = tf.function(gradients) if staged else gradients
    y, dx, dbeta = f(tf.constant([1.0, -2.0]), tf.constant(1.5))
    s = 1 / (1 + np.exp([-1.5, 3.0]))
    np.testing.assert_allclose(y, [1.0, -2.0] * s, rtol=1e-6)
    np.testing.assert_allclose(dx, s + [1.5, -3.0] * s * (1 - s), rtol=1e-6)
    np.testing.assert_allclose(dbeta, np.sum([1.0, 4.0] * s * (1 - s)), rtol=1e-6)
