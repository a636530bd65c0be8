"""Incomplete gamma and beta functions, Bessel functions and integrals: values, edges, gradients, compiled and eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import fastgraph as tf

nan, inf = np.nan, np.inf

#: name -> (SciPy's function, an interval)
OF_ONE: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "bessel_i0": (special.i0, (-20, 20)),
    "bessel_i0e": (special.i0e, (-200, 200)),
    "bessel_i1": (special.i1, (-20, 20)),
    "bessel_i1e": (special.i1e, (-200, 200)),
    "bessel_j0": (special.j0, (-30, 30)),
    "bessel_j1": (special.j1, (-30, 30)),
    "bessel_k0": (special.k0, (0.01, 30)),
    "bessel_k0e": (special.k0e, (0.01, 30)),
    "bessel_k1": (special.k1, (0.01, 30)),
    "bessel_k1e": (special.k1e, (0.01, 30)),
    "bessel_y0": (special.y0, (0.01, 30)),
    "bessel_y1": (special.y1, (0.01, 30)),
    "dawsn": (special.dawsn, (-5, 5)),
    "expint": (special.expi, (0.01, 20)),
    "fresnel_cos": (lambda x: special.fresnel(x)[1], (-4, 4)),
    "fresnel_sin": (lambda x: special.fresnel(x)[0], (-4, 4)),
    "spence": (special.spence, (0, 30)),
}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as kernels, for any number of elements."""
    spec = tf.TensorSpec([None], tf.float64)
    return tf.function(function, input_signature=[spec] * function.__code__.co_argcount)


def of_one(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(tf.math.special, name)(x)


@pytest.mark.parametrize("name", OF_ONE)
def test_values_are_scipys(name: str, rng: np.random.Generator) -> None:
    reference, (low, high) = OF_ONE[name]
    x = rng.uniform(low, high, 300)
    np.testing.assert_allclose(getattr(tf.math.special, name)(x), reference(x), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(compiled(of_one(name))(x), reference(x), rtol=1e-12, atol=1e-14)
    half = getattr(tf.math.special, name)(tf.cast(x[:20], tf.float16))
    assert half.dtype is tf.float16
    with np.errstate(over="ignore"):
        wanted = reference(x[:20].astype(np.float16).astype(np.float64)).astype(np.float16)
    np.testing.assert_allclose(half.numpy(), wanted, rtol=2e-3)


@pytest.mark.parametrize(
    ("name", "wanted"),  # at nan, inf, -inf, 0 and -1
    [
        ("bessel_i0", [nan, nan, nan, 1.0, special.i0(1)]),
        ("bessel_i0e", [nan, 0.0, 0.0, 1.0, special.i0e(1)]),
        ("bessel_i1", [nan, nan, nan, 0.0, -special.i1(1)]),
        ("bessel_i1e", [nan, 0.0, 0.0, 0.0, -special.i1e(1)]),
        ("bessel_j0", [nan, nan, nan, 1.0, special.j0(1)]),
        ("bessel_j1", [nan, nan, nan, 0.0, -special.j1(1)]),
        ("bessel_k0", [nan, 0.0, inf, inf, inf]),
        ("bessel_k0e", [nan, 0.0, inf, inf, inf]),
        ("bessel_k1", [nan, 0.0, inf, inf, inf]),
        ("bessel_k1e", [nan, 0.0, inf, inf, inf]),
        ("bessel_y0", [nan, nan, -inf, -inf, -inf]),
        ("bessel_y1", [nan, nan, -inf, -inf, -inf]),
        ("dawsn", [nan, 0.0, 0.0, 0.0, -special.dawsn(1)]),
        ("expint", [nan, nan, nan, -inf, nan]),
        ("fresnel_cos", [nan, 0.5, -0.5, 0.0, -special.fresnel(1)[1]]),
        ("fresnel_sin", [nan, 0.5, -0.5, 0.0, -special.fresnel(1)[0]]),
        ("spence", [nan, nan, nan, np.pi**2 / 6, nan]),
    ],
)
def test_outside_the_domain_as_tensorflow(name: str, wanted: list[float]) -> None:
    x = np.array([nan, inf, -inf, 0.0, -1.0])
    for function in (of_one(name), compiled(of_one(name))):
        np.testing.assert_allclose(function(tf.constant(x)), wanted, rtol=1e-12)


def slopes(function: Callable[..., Any], *values: Any, order: int = 1) -> list[Any]:
    """The gradients of the sum by each value; of order 2 the gradient of the first gradient."""
    inputs = [tf.convert_to_tensor(v) for v in values]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(inputs)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            y = function(*inputs)
        first = tape.gradient(y, inputs)
    return first if order == 1 else [outer.gradient(g, x) for g, x in zip(first, inputs, strict=True)]


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-4) -> Any:
    """The derivative by Richardson's central differences."""
    coarse = (function(x + 2 * step) - function(x - 2 * step)) / (4 * step)
    fine = (function(x + step) - function(x - step)) / (2 * step)
    return (4 * fine - coarse) / 3


@pytest.mark.parametrize("x", [5e-324, -5e-324, 1e-310, 2e-308])
def test_lgamma_of_denormals(x: float) -> None:
    """The gamma function overflows there, its logarithm does not."""
    given = tf.constant([x], tf.float64)
    for function in (tf.math.lgamma, compiled(lambda x: tf.math.lgamma(x))):
        np.testing.assert_allclose(function(given).numpy(), [-np.log(abs(x))], rtol=1e-15)


def test_digamma_just_below_nought() -> None:
    """There it is -1 / x and little more; 1 + x has lost most of x, or all."""
    x = np.array([-1e-3, -1e-8, -1e-12, -1e-16, -1e-45, -1e-300])
    np.testing.assert_allclose(compiled(lambda x: tf.math.digamma(x))(x), special.psi(1 + x) - 1 / x, rtol=1e-14)


@pytest.mark.parametrize("name", OF_ONE)
def test_gradients_of_both_orders(name: str) -> None:
    reference = OF_ONE[name][0]
    x = np.array([0.3, 0.9, 1.7, 3.4])
    function = of_one(name)
    first = differences(reference, x)
    np.testing.assert_allclose(slopes(function, x)[0], first, rtol=1e-7, atol=1e-9)
    second = differences(lambda at: slopes(function, at)[0].numpy(), x)
    np.testing.assert_allclose(slopes(function, x, order=2)[0], second, rtol=1e-7, atol=1e-8)
    graph = compiled(lambda at: slopes(function, at)[0])
    np.testing.assert_allclose(graph(tf.constant(x)), first, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("bessel_i0", 0.0), ("bessel_i0e", 0.0), ("bessel_i1", 0.5), ("bessel_i1e", 0.5), ("bessel_j0", 0.0), ("bessel_j1", 0.5)],
)  # fmt: skip
def test_gradient_at_nought(name: str, wanted: float) -> None:
    assert float(slopes(of_one(name), np.float64(0.0))[0]) == wanted


def test_gradient_of_spence_at_one() -> None:
    assert float(slopes(tf.math.special.spence, np.float64(1.0))[0]) == -1.0


# ---- incomplete gamma -----------------------------------------------------------------------------------------------


def pairs() -> tuple[Any, Any]:
    """a and x: small, large, and x near a large a; the same ones whichever tests have drawn before."""
    drawn = np.random.default_rng(5)  # by which SciPy is right: near large a its sums may stop early
    a = np.concatenate([10 ** drawn.uniform(-4, 3, 400), 10 ** drawn.uniform(2, 8, 200), [100.0, 100.0, 99.9]])
    x = np.concatenate([a[:200] * drawn.uniform(0.2, 3, 200), 10 ** drawn.uniform(-4, 3, 200)])
    return a, np.concatenate(
        [x, a[400:600] * (1 + drawn.normal(size=200) * 2 / np.sqrt(a[400:600])), [100.0, 130.0, 70.1]]
    )


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma(name: str) -> None:
    a, x = pairs()
    function = getattr(tf.math, name)
    wanted = getattr(special, "gammainc" if name == "igamma" else "gammaincc")(a, x)
    got = function(a, x).numpy()
    np.testing.assert_allclose(got, wanted, atol=1e-11)
    precise = (wanted > 1e-200) & (a < 1e3)  # SciPy's own sums stop early for larger ones
    np.testing.assert_allclose(got[precise], wanted[precise], rtol=1e-10)
    graph = compiled(lambda a, x: function(a, x))
    np.testing.assert_allclose(graph(tf.constant(a), tf.constant(x)), function(a, x), rtol=1e-11, atol=1e-200)


EDGES = np.array([nan, -1.0, 0.0, 0.5, inf])


@pytest.mark.parametrize(
    ("a", "lower", "upper"),
    [
        (nan, [nan, nan, 0, nan, nan], [nan] * 5),
        (-1.0, [nan, nan, 0, nan, nan], [nan] * 5),
        (0.0, [nan, nan, 0, nan, nan], [nan] * 5),
        (1.0, [nan, nan, 0, 1 - np.exp(-0.5), 1], [nan, nan, 1, np.exp(-0.5), 0]),
        (inf, [nan, nan, 0, 0, 0], [nan, nan, 1, 1, 0]),
    ],
)
def test_incomplete_gamma_at_its_edges(a: float, lower: list[float], upper: list[float]) -> None:
    for function, wanted in ((tf.math.igamma, lower), (tf.math.igammac, upper)):
        first = np.full(5, a)
        np.testing.assert_allclose(function(first, EDGES), wanted, rtol=1e-14)
        graph = tf.function(function)
        np.testing.assert_allclose(graph(tf.constant(first), tf.constant(EDGES)), wanted, rtol=1e-14)


def test_incomplete_gamma_of_tiny_a_does_not_cancel() -> None:
    a, x = np.array([1e-10, 1e-7, 1e-5]), np.array([0.3, 0.6, 1.0])
    wanted = a * special.exp1(x)  # to first order
    np.testing.assert_allclose(tf.function(tf.math.igammac)(tf.constant(a), tf.constant(x)), wanted, rtol=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_gradients_of_incomplete_gamma(sign: int) -> None:
    function = tf.math.igamma if sign == 1 else tf.math.igammac
    a = np.array([0.3, 1.0, 2.5, 2.5, 20.0, 20.0, 150.0, 150.0, 400.0])
    x = np.array([0.2, 2.0, 1.0, 6.0, 15.0, 31.0, 140.0, 300.0, 390.0])
    by_a, by_x = slopes(function, a, x)
    np.testing.assert_allclose(by_a, sign * differences(lambda t: special.gammainc(t, x), a), rtol=1e-6, atol=1e-11)
    np.testing.assert_allclose(by_x, sign * differences(lambda t: special.gammainc(a, t), x), rtol=1e-6, atol=1e-11)
    graph = tf.function(lambda a, x: slopes(function, a, x))
    for got, wanted in zip(graph(tf.constant(a), tf.constant(x)), (by_a, by_x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-15)


def test_second_order_of_incomplete_gamma_by_x() -> None:
    a, x = np.array([0.7, 2.5, 9.0]), np.array([0.4, 3.0, 7.0])
    x_tensor = tf.convert_to_tensor(x)
    with tf.GradientTape() as outer:
        outer.watch(x_tensor)
        with tf.GradientTape() as tape:
            tape.watch(x_tensor)
            y = tf.math.igamma(a, x_tensor)
        first = tape.gradient(y, x_tensor)
    density = np.exp(-x + (a - 1) * np.log(x) - special.gammaln(a))
    np.testing.assert_allclose(outer.gradient(first, x_tensor), density * ((a - 1) / x - 1), rtol=1e-12)


def test_second_order_by_a_is_an_error_as_in_tensorflow() -> None:
    with pytest.raises(LookupError, match="IgammaGradA"):
        slopes(tf.math.igamma, np.array([2.0]), np.array([1.0]), order=2)


def test_incomplete_gamma_keeps_no_host_step() -> None:
    @tf.function
    def step(a: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([a, x])
            y = tf.math.igamma(a, x) + tf.math.igammac(x, a) * tf.math.bessel_i0e(x) + tf.math.bessel_i1e(a)
        return tape.gradient(y, [a, x])

    from fastgraph.core.registry import get

    for name in ("igamma", "igammac", "igamma_grad_a", "bessel_i0e", "bessel_i1e", "bessel_i0", "bessel_i1"):
        assert get(name).lower is not None
    assert np.isfinite(step(tf.constant([0.5, 2.0]), tf.constant([1.0, 3.0]))[0]).all()


# ---- incomplete beta ------------------------------------------------------------------------------------------------


def test_incomplete_beta(rng: np.random.Generator) -> None:
    a, b, x = (rng.uniform(low, high, 50) for low, high in ((0.1, 9), (0.1, 9), (0, 1)))
    wanted = special.betainc(a, b, x)
    np.testing.assert_allclose(tf.math.betainc(a, b, x), wanted, rtol=1e-13)
    np.testing.assert_allclose(tf.function(tf.math.betainc)(a, b, x), wanted, rtol=1e-13)
    by_a, by_b, by_x = slopes(tf.math.betainc, a, b, x)
    assert by_a is None and by_b is None
    np.testing.assert_allclose(by_x, x ** (a - 1) * (1 - x) ** (b - 1) / special.beta(a, b), rtol=1e-10)
    second = slopes(lambda x: tf.math.betainc(a, b, x), x, order=2)[0]
    np.testing.assert_allclose(second, by_x.numpy() * ((a - 1) / x - (b - 1) / (1 - x)), rtol=1e-9)


def beta_arguments(rng: np.random.Generator) -> list[Any]:
    a, b = 10 ** rng.uniform(-4, 3, 2000), 10 ** rng.uniform(-3, 3, 2000)
    near_the_mean = np.clip(a / (a + b) * (1 + rng.normal(size=2000) / np.sqrt(a + 1)), 0, 1)
    return [a, b, np.where(rng.random(2000) < 0.5, rng.random(2000), near_the_mean)]


@pytest.mark.parametrize(("dtype", "precision"), [("float32", 1e-7), ("float64", 1e-11)])
def test_the_kernel_of_incomplete_beta(rng: np.random.Generator, dtype: str, precision: float) -> None:
    given = [x.astype(dtype) for x in beta_arguments(rng)]
    wanted = special.betainc(*[x.astype("float64") for x in given])
    graph = tf.function(tf.math.betainc, input_signature=[tf.TensorSpec([None], dtype)] * 3)
    concrete = graph.get_concrete_function()
    assert concrete.wait(100) and concrete.host_steps == 0
    np.testing.assert_allclose(graph(*given), wanted, rtol=precision, atol=1e-30)


@pytest.mark.parametrize("name", ["igamma", "igammac", "igamma_grad_a", "betainc"])
def test_neighbours_change_no_bits(rng: np.random.Generator, name: str) -> None:
    """Loops over lanes side by side end for each by itself."""
    given = beta_arguments(rng)[: 3 if name == "betainc" else 2]
    spec = [tf.TensorSpec([None], tf.float64)] * len(given)
    function = tf.function(by_a if name == "igamma_grad_a" else getattr(tf.math, name), input_signature=spec)
    assert function.get_concrete_function().wait(100)
    order = rng.permutation(2000)
    together = function(*map(tf.constant, given)).numpy()
    moved = function(*[tf.constant(x[order]) for x in given]).numpy()
    np.testing.assert_array_equal(moved, together[order])


def by_a(a: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.math.igamma(a, x)
    return tape.gradient(y, a)


def test_incomplete_beta_at_its_edges() -> None:
    x = np.array([nan, -1.0, 0.0, 0.3, 1.0, 2.0])
    for a, b, wanted in (
        (1.0, 2.0, [nan, nan, 0, 0.51, 1, nan]),
        (nan, 1.0, [nan, nan, 0, nan, 1, nan]),
        (inf, 1.0, [nan, nan, 0, nan, 1, nan]),
        (0.0, 1.0, [nan] * 6),
        (1.0, -1.0, [nan] * 6),
    ):
        np.testing.assert_allclose(tf.math.betainc(np.float64(a), np.float64(b), x), wanted, rtol=1e-14)
        given = [np.full(6, a), np.full(6, b), x]
        np.testing.assert_allclose(compiled(lambda a, b, x: tf.math.betainc(a, b, x))(*given), wanted, rtol=1e-14)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]"):
        tf.math.igamma([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shapes of a and x are inconsistent: \[2\] vs. \[1,2\]"):
        tf.math.betainc([1.0, 2.0], [1.0, 2.0], [[0.5, 0.5]])
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.math.bessel_i0e([1, 2])
