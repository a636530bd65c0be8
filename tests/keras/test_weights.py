"""Initializers, regularizers, constraints and activations against the values that Keras 2 gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras import activations, constraints, initializers, layers, optimizers, regularizers

X = np.array([-3.0, -1.0, -0.2, 0.0, 0.2, 1.0, 3.0, 7.0], np.float32)

ACTIVATIONS = {
    "linear": X,
    "relu": [0, 0, 0, 0, 0.2, 1, 3, 7],
    "relu6": [0, 0, 0, 0, 0.2, 1, 3, 6],
    "elu": [-0.950213, -0.6321206, -0.1812692, 0, 0.2, 1, 3, 7],
    "selu": [-1.6705687, -1.1113307, -0.3186893, 0, 0.2101402, 1.050701, 3.1521029, 7.3549068],
    "gelu": [-0.0040497, -0.1586553, -0.0841481, 0, 0.1158519, 0.8413447, 2.9959502, 7],
    "softplus": [0.0485874, 0.3132617, 0.5981389, 0.6931472, 0.7981389, 1.3132616, 3.0485871, 7.0009117],
    "softsign": [-0.75, -0.5, -1 / 6, 0, 1 / 6, 0.5, 0.75, 0.875],
    "sigmoid": [0.0474259, 0.2689414, 0.4501659, 0.5, 0.5498340, 0.7310586, 0.9525741, 0.9990889],
    "hard_sigmoid": [0, 0.3, 0.46, 0.5, 0.54, 0.7, 1, 1],
    "tanh": [-0.9950547, -0.7615942, -0.1973753, 0, 0.1973753, 0.7615942, 0.9950547, 0.9999983],
    "swish": [-0.1422776, -0.2689414, -0.0900332, 0, 0.1099668, 0.7310586, 2.8577223, 6.9936228],
    "silu": [-0.1422776, -0.2689414, -0.0900332, 0, 0.1099668, 0.7310586, 2.8577223, 6.9936228],
    "exponential": [0.0497871, 0.3678794, 0.8187308, 1, 1.2214028, 2.7182817, 20.0855370, 1096.6331787],
    "mish": [-0.1456475, -0.3034015, -0.1071448, 0, 0.132599, 0.8650984, 2.9865351, 6.999989],
    "leaky_relu": [-0.6, -0.2, -0.04, 0, 0.2, 1, 3, 7],
    "softmax": [4.43382e-5, 3.276171e-4, 7.291253e-4, 8.905556e-4, 1.0877267e-3, 2.4207809e-3, 0.0178873, 0.9766127],
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    function = activations.get(name)
    for run in (function, fg.function(function)):
        np.testing.assert_allclose(run(fg.constant(X[None])).numpy()[0], ACTIVATIONS[name], rtol=2e-5, atol=1e-7)
    assert activations.get(activations.serialize(function)) is function


def test_activations_with_arguments_and_unknown_ones() -> None:
    values = activations.relu(X, alpha=0.1, max_value=5, threshold=0.5).numpy()
    np.testing.assert_allclose(values, [-0.35, -0.15, -0.07, -0.05, -0.03, 1, 3, 5], rtol=1e-5)
    np.testing.assert_allclose(activations.elu(X[:2], alpha=0.5).numpy(), [-0.4751065, -0.3160603], rtol=1e-5)
    assert activations.get(None) is activations.linear and activations.get(abs) is abs
    with pytest.raises(TypeError, match="Could not interpret activation function identifier: 3"):
        activations.get(3)
    with pytest.raises(ValueError, match="Cannot apply softmax to a tensor that is 1D"):
        activations.softmax(X)


def sd(scale: float, n: float) -> float:
    return math.sqrt(scale / n)


#: Of a window of 3x3, 64 channels and 128 filters: 576 inputs, 1152 outputs.
DEVIATIONS = {
    "glorot_uniform": sd(2, 576 + 1152), "glorot_normal": sd(2, 576 + 1152), "he_uniform": sd(2, 576),
    "he_normal": sd(2, 576), "lecun_uniform": sd(1, 576), "lecun_normal": sd(1, 576), "random_normal": 0.05,
    "random_uniform": 0.1 / math.sqrt(12), "truncated_normal": 0.05 * 0.87962566,
}  # fmt: skip


@pytest.mark.parametrize("name", DEVIATIONS)
def test_random_initializers(name: str) -> None:
    initializer = initializers.get(name)
    values = initializer((3, 3, 64, 128)).numpy()
    assert values.dtype == np.float32
    np.testing.assert_allclose([values.mean() + 1, values.std()], [1, DEVIATIONS[name]], rtol=0.01)
    if name != "random_normal":  # even ones end at 1.73 deviations, truncated ones at 2 / 0.88
        assert np.abs(values).max() <= 2.3 * DEVIATIONS[name]
    assert initializers.get(initializers.serialize(initializer)).get_config() == initializer.get_config()
    seeded = type(initializer)(seed=7)
    np.testing.assert_array_equal(seeded((4, 4)).numpy(), type(initializer)(seed=7)((4, 4)).numpy())
    assert (seeded((4, 4)).numpy() != type(initializer)(seed=8)((4, 4)).numpy()).any()
    with pytest.raises(ValueError, match="Expected floating point type"):
        (initializers.HeNormal() if name == "random_uniform" else initializer)((2,), "int32")


#: What Keras 2 draws of seed 3, f[2, 2].
DRAWN = {
    "RandomUniform": [-0.03041, 0.04393, 0.00323, 0.0341], "RandomNormal": [-0.03358, 0.0838, -0.04721, 0.0304],
    "TruncatedNormal": [-0.03358, 0.0838, -0.04721, 0.0304], "GlorotUniform": [-0.74486, 1.07617, 0.07906, 0.83538],
    "HeNormal": [-0.76349, 1.90541, -1.07346, 0.69113], "Orthogonal": [-0.57959, 0.81491, -0.81491, -0.57959],
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_seeded_weights_are_those_of_keras(name: str) -> None:
    values = getattr(initializers, name)(seed=3)((2, 2)).numpy()
    np.testing.assert_allclose(values.ravel(), DRAWN[name], atol=1e-5)


def test_parts_of_weights_are_those_of_keras() -> None:
    part = initializers.RandomUniform(seed=4)((4,), partition_shape=(2,), partition_offset=(2,))
    np.testing.assert_allclose(part.numpy(), [0.0456291, -0.03190595], rtol=1e-5)
    np.testing.assert_array_equal(initializers.RandomUniform(0, 9, seed=4)((4,), fg.int32).numpy(), [6, 1, 8, 8])


def test_weights_count_as_no_random_ops() -> None:
    drawn = []
    for build in (False, True):
        fg.random.set_seed(5)
        if build:
            layers.Dense(3).build((None, 3))
        drawn.append(fg.random.normal((2,)).numpy())
    np.testing.assert_array_equal(*drawn)


def test_seed_of_all_random_numbers() -> None:
    drawn = []
    for _ in range(2):
        fg.random.set_seed(5)
        layer = layers.Dense(3)
        layer.build((None, 3))
        drawn.append(layer.kernel.numpy())
    np.testing.assert_array_equal(*drawn)
    other = layers.Dense(3)
    other.build((None, 3))
    assert (other.kernel.numpy() != drawn[0]).any()


def test_other_initializers() -> None:
    np.testing.assert_array_equal(initializers.get("zeros")((2, 3), "int32").numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(initializers.Ones()((2,)).numpy(), [1, 1])
    np.testing.assert_array_equal(initializers.Constant(3)((2,)).numpy(), [3, 3])
    np.testing.assert_array_equal(initializers.Identity(2.0)((2, 3)).numpy(), [[2, 0, 0], [0, 2, 0]])
    assert initializers.get({"class_name": "Constant", "config": {"value": 4}})((1,)).numpy() == [4]
    assert initializers.get(initializers.Zeros).__class__ is initializers.Zeros
    assert fg.initializers.GlorotUniform is initializers.glorot_uniform


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 3, 4), (2, 2, 9)])
def test_orthogonal_weights(shape: tuple[int, ...]) -> None:
    initializer = initializers.get({"class_name": "Orthogonal", "config": {"gain": 2.0, "seed": 3}})
    w = initializer(shape).numpy().reshape(-1, shape[-1])
    gram = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
    np.testing.assert_allclose(gram, 4 * np.eye(min(w.shape)), atol=1e-5)
    assert initializer(shape).shape == shape and initializer(shape, "float64").dtype == fg.float64
    assert initializers.orthogonal is initializers.Orthogonal is type(initializers.get("orthogonal"))
    assert initializer.get_config() == {"gain": 2.0, "seed": 3}


@pytest.mark.parametrize(
    ("make", "text"),
    [(lambda: initializers.VarianceScaling(scale=-1), "`scale` must be positive float"),
     (lambda: initializers.VarianceScaling(mode="x"), "Invalid `mode` argument: x"),
     (lambda: initializers.VarianceScaling(distribution="x"), "Invalid `distribution` argument: x"),
     (lambda: initializers.Zeros()((2,), "string"), "Expected numeric or boolean dtype"),
     (lambda: initializers.Identity()((2,)), "can only be used for 2D matrices"),
     (lambda: initializers.Orthogonal()((2,)), "The tensor to initialize must be at least two-dimensional"),
     (lambda: initializers.get(3), "Could not interpret initializer identifier: 3"),
     (lambda: regularizers.L2("a"), "Value a is not a valid regularization penalty number"),
     (lambda: regularizers.get(3), "Could not interpret regularizer identifier: 3"),
     (lambda: constraints.get(3), "Could not interpret constraint function identifier: 3")],
)  # fmt: skip
def test_bad_arguments(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    ("identifier", "value"),
    [("l1", 0.154), ("l2", 0.6908), ("l1_l2", 0.8448), (regularizers.L1L2(0.1, 0.2), 15.356),
     (regularizers.L2(0.0), 0.0)],
)  # fmt: skip
def test_regularizers(identifier: Any, value: float) -> None:
    regularizer = regularizers.get(identifier)
    np.testing.assert_allclose(regularizer(X).numpy(), value, rtol=1e-5)
    again = regularizers.get(regularizers.serialize(regularizer))
    assert again.get_config() == regularizer.get_config()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("max_norm", [[1.9727879, -1.9993753], [0.328798, 0.0499844]]), ("NonNeg", [[3.0, 0.0], [0.5, 0.1]]),
     ("unit_norm", [[0.9863939, -0.9996877], [0.164399, 0.0249922]]),
     ("min_max_norm", [[0.9863939, -0.9996877], [0.164399, 0.0249922]])],
)  # fmt: skip
def test_constraints(name: str, expected: list[list[float]]) -> None:
    constraint = constraints.get(name)
    np.testing.assert_allclose(constraint(fg.constant([[3.0, -4.0], [0.5, 0.1]])).numpy(), expected, rtol=1e-5)
    assert constraints.get(constraints.serialize(constraint)).get_config() == constraint.get_config()


def test_a_layers_constraint_holds_after_a_step() -> None:
    layer = layers.Dense(1, kernel_constraint="non_neg", kernel_initializer="ones", use_bias=False)
    layer.build((None, 2))
    optimizers.SGD(1.0).apply_gradients([(fg.constant([[3.0], [-1.0]]), layer.kernel)])
    np.testing.assert_array_equal(layer.kernel.numpy(), [[0.0], [2.0]])
