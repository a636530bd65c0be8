"""Layers against the values, names and errors that Keras 2 gives."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.keras import initializers, layers

ROWS = (np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 1.3 / 7).astype(np.float32)
SPOTS = (np.arange(50) % 7).reshape(1, 5, 5, 2).astype(np.float32)


def tenths(**arguments: Any) -> dict[str, Any]:
    """Arguments of a layer whose weights are all 0.1 and biases 1."""
    return {"kernel_initializer": initializers.Constant(0.1), "bias_initializer": "ones", **arguments}


CASES: list[tuple[Callable[[], Any], Any, tuple[int, ...], float, list[float], list[str]]] = [
    (lambda: layers.Conv2D(2, 3, **tenths()), SPOTS, (1, 3, 3, 2), 114.6, [6.0, 6.0, 6.8], ["kernel", "bias"]),
    (lambda: layers.Conv2D(2, 3, padding="same", **tenths()), SPOTS, (1, 5, 5, 2), 251.6, [3.4, 3.4, 4.4],
     ["kernel", "bias"]),
    (lambda: layers.Conv2D(2, [3, 3], strides=2, padding="same", **tenths()), SPOTS, (1, 3, 3, 2), 78.2,
     [3.4, 3.4, 4.7], ["kernel", "bias"]),
    (lambda: layers.Conv2D(2, 3, dilation_rate=2, **tenths()), SPOTS, (1, 1, 1, 2), 11.8, [5.9, 5.9],
     ["kernel", "bias"]),
    (lambda: layers.Conv2D(2, 3, groups=2, **tenths()), SPOTS, (1, 3, 3, 2), 66.3, [3.4, 3.6, 3.8],
     ["kernel", "bias"]),
    (lambda: layers.Conv2D(2, (2, 3), use_bias=False, activation="relu", **tenths()), SPOTS, (1, 4, 3, 2), 85.4,
     [3.4, 3.4, 3.7], ["kernel"]),
    (lambda: layers.Conv1D(2, 2, kernel_initializer="ones", padding="causal"), SPOTS[0], (5, 5, 2), 536.0,
     [1.0, 1.0, 6.0, 6.0, 14.0, 14.0], ["kernel", "bias"]),
    (lambda: layers.Conv2DTranspose(2, 3, strides=2, kernel_initializer="ones"), SPOTS, (1, 11, 11, 2), 2646.0,
     [1.0, 1.0], ["kernel", "bias"]),
    (lambda: layers.Conv2DTranspose(2, 3, strides=2, padding="same", kernel_initializer="ones"), SPOTS,
     (1, 10, 10, 2), 2310.0, [1.0, 1.0], ["kernel", "bias"]),
    (lambda: layers.DepthwiseConv2D(3, depth_multiplier=2, depthwise_initializer="ones"), SPOTS, (1, 3, 3, 4), 966.0,
     [24.0, 24.0, 26.0, 26.0], ["depthwise_kernel", "bias"]),
    (lambda: layers.SeparableConv2D(2, 3, depthwise_initializer="ones", pointwise_initializer="ones"), SPOTS,
     (1, 3, 3, 2), 966.0, [50.0, 50.0, 58.0], ["depthwise_kernel", "pointwise_kernel", "bias"]),
    (layers.MaxPooling2D, SPOTS, (1, 2, 2, 2), 45.0, [5.0, 6.0, 6.0], []),
    (lambda: layers.MaxPool2D(3, 2, "same"), SPOTS, (1, 3, 3, 2), 102.0, [5.0, 6.0, 6.0], []),
    (layers.AveragePooling2D, SPOTS, (1, 2, 2, 2), 23.75, [2.5, 3.5, 3.0], []),
    (lambda: layers.AvgPool2D((3, 2), 1, "same"), SPOTS, (1, 5, 5, 2), 146.75, [2.5, 3.5, 2.75], []),
    (layers.GlobalAveragePooling2D, SPOTS, (1, 2), 5.88, [3.0, 2.88], []),
    (lambda: layers.GlobalMaxPooling2D(keepdims=True), SPOTS, (1, 1, 1, 2), 12.0, [6.0, 6.0], []),
    (layers.MaxPooling1D, SPOTS[0], (5, 2, 2), 88.0, [2.0, 3.0, 6.0], []),
    (lambda: layers.AveragePooling1D(3, 1, "same"), SPOTS[0], (5, 5, 2), 148.16667, [1.0, 2.0, 2.0], []),
    (layers.GlobalAveragePooling1D, SPOTS[0], (5, 2), 29.4, [2.6, 2.2, 2.8], []),
    (lambda: layers.Dense(3, "relu", **tenths()), ROWS, (2, 3, 3), 44.523014, [1.109049, 1.109049], ["kernel", "bias"]),
    (layers.Flatten, ROWS, (2, 12), 88.41006, [0.0, 0.1428571, 0.3517555], []),
    (lambda: layers.Reshape((2, -1, 1)), ROWS, (2, 2, 6, 1), 88.41006, [0.0, 0.1428571], []),
    (lambda: layers.Activation("softsign"), ROWS, (2, 3, 4), 16.07783, [0.0, 0.125, 0.2602213], []),
    (lambda: layers.ReLU(2.0, 0.5, 1.0), ROWS, (2, 3, 4), 34.89594, [-0.5, -0.4285714, -0.3241223], []),
    (lambda: layers.LeakyReLU(), -ROWS, (2, 3, 4), -26.523018, [0.0, -0.0428571, -0.1055267], []),
    (lambda: layers.Softmax(axis=1), ROWS, (2, 3, 4), 8.0, [0.0846393, 0.0705836], []),
]  # fmt: skip


@pytest.mark.parametrize(("make", "inputs", "shape", "total", "first", "names"), CASES)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_values(
    make: Callable[[], Any], inputs: Any, shape: tuple[int, ...], total: float, first: list[float], names: list[str],
    staged: bool,
) -> None:  # fmt: skip
    layer = make()
    assert tuple(layer.compute_output_shape((None, *inputs.shape[1:])))[1:] == shape[1:]
    run = fg.function(layer) if staged else layer
    result = run(fg.constant(inputs)).numpy()
    assert result.shape == shape
    np.testing.assert_allclose(result.sum(), total, rtol=3e-6)
    np.testing.assert_allclose(result.ravel()[: len(first)], first, rtol=3e-6, atol=1e-7)
    assert [w.name.rpartition("/")[2] for w in layer.weights] == [f"{name}:0" for name in names]


NORMALIZED = [
    (lambda: layers.BatchNormalization(), ROWS,
     [-1.288760, -1.319996, -1.338780, -1.352487, -0.934049, -0.920106],
     {"gamma": [1.0] * 4, "beta": [0.0] * 4, "moving_mean": [0.0314686, 0.0349246, 0.03858, 0.0423769],
      "moving_variance": [1.0496125, 1.0543833, 1.0585809, 1.0624951]},
     [-0.0307012, 0.1050625, 0.3042431, 0.5367266, 0.8143026, 1.0928327]),
    (lambda: layers.BatchNormalization(axis=1, momentum=0.5, epsilon=0.1, center=False), ROWS,
     [-1.1062983, -1.0358816, -0.9329121, -0.8125784, -1.1677585, -1.0438319],
     {"gamma": [1.0] * 3, "moving_mean": [1.1221954, 1.8064072, 2.5970257],
      "moving_variance": [2.5078917, 3.2161999, 3.7854767]}, None),
    # Of images Keras 2 keeps the unbiased variance.
    (lambda: layers.BatchNormalization(), (np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3) ** 1.3 / 7),
     [-1.3284558, -1.363436, -1.384486, -1.0902733, -1.0844684, -1.0828011],
     {"gamma": [1.0] * 3, "beta": [0.0] * 3, "moving_mean": [0.0332351, 0.0367777, 0.0404997],
      "moving_variance": [1.061519, 1.0668098, 1.0715342]},
     [-0.0322425, 0.102656, 0.3005466, 0.5458419, 0.8025809, 1.0786763]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "inputs", "trained", "weights", "after"), NORMALIZED)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_batch_normalization(
    make: Callable[[], Any], inputs: Any, trained: list[float], weights: dict[str, list[float]],
    after: list[float] | None, staged: bool,
) -> None:  # fmt: skip
    layer = make()
    layer.build(inputs.shape)
    run = fg.function(lambda x, training: layer(x, training=training)) if staged else layer
    x = fg.constant(inputs, fg.float32)
    np.testing.assert_allclose(run(x, training=True).numpy().ravel()[:6], trained, rtol=3e-6)
    assert [w.name.partition(":")[0] for w in layer.weights] == list(weights)
    for weight, values in zip(layer.weights, weights.values(), strict=True):
        np.testing.assert_allclose(weight.numpy(), values, rtol=2e-6, atol=1e-7)
    if after is not None:
        np.testing.assert_allclose(run(x, training=False).numpy().ravel()[:6], after, rtol=3e-6, atol=1e-7)
    assert [w.trainable for w in layer.weights[-2:]] == [False, False]


def test_batch_normalization_that_is_not_trained_keeps_its_moments() -> None:
    layer = layers.BatchNormalization(scale=False)
    layer.trainable = False
    np.testing.assert_allclose(
        layer(ROWS, training=True).numpy().ravel()[:3], [0.0, 0.1427858, 0.3515798], rtol=3e-6, atol=1e-7
    )
    np.testing.assert_array_equal(layer.moving_mean.numpy(), np.zeros(4))
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 3


def test_batch_normalization_with_a_tensor_for_training() -> None:
    layer = layers.BatchNormalization()
    layer.build(ROWS.shape)
    run = fg.function(lambda x, training: layer(x, training=training))
    still = run(fg.constant(ROWS), fg.constant(False)).numpy()
    np.testing.assert_allclose(still, ROWS / np.sqrt(1.001), rtol=1e-5)
    np.testing.assert_allclose(run(fg.constant(ROWS), fg.constant(True)).numpy().ravel()[0], -1.28876, rtol=1e-5)
    assert (layer.moving_mean.numpy() != 0).all()


@pytest.mark.parametrize(
    ("make", "first", "shapes"),
    [(lambda: layers.LayerNormalization(), [-1.201555, -0.5719293, 0.3487653, 1.4247192, -1.310787], [[4], [4]]),
     (lambda: layers.LayerNormalization(axis=[1, 2]), [-1.3693321, -1.2318075, -1.0307071, -0.7956942, -0.5355393],
      [[3, 4], [3, 4]]),
     (lambda: layers.LayerNormalization(axis=1, epsilon=0.1, scale=False),
      [-1.0735647, -1.1080444, -1.1260846, -1.1382203, -0.1433436], [[3]])],
)  # fmt: skip
def test_layer_normalization(make: Callable[[], Any], first: list[float], shapes: list[list[int]]) -> None:
    layer = make()
    for run in (layer, fg.function(layer)):
        np.testing.assert_allclose(run(fg.constant(ROWS)).numpy().ravel()[:5], first, rtol=3e-6)
    assert [w.shape.as_list() for w in layer.weights] == shapes


def test_gradients_reach_the_weights_of_normalisation() -> None:
    """d/dgamma of sum(y * r) is sum(x_normalised * r), d/dbeta sum(r); the same eagerly and compiled."""
    r = np.random.default_rng(0).normal(size=ROWS.shape).astype(np.float32)
    layer = layers.BatchNormalization()
    layer.build(ROWS.shape)

    def gradients(x: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(layer(x, training=True) * r)
        return tape.gradient(loss, layer.trainable_weights)

    x = fg.constant(ROWS)
    normalised = (ROWS - ROWS.mean((0, 1))) / np.sqrt(ROWS.var((0, 1)) + 1e-3)
    for run in (gradients, fg.function(gradients)):
        gamma, beta = run(x)
        np.testing.assert_allclose(gamma.numpy(), (normalised * r).sum((0, 1)), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(beta.numpy(), r.sum((0, 1)), rtol=1e-5, atol=1e-5)


def test_dropout() -> None:
    fg.random.set_seed(3)
    layer = layers.Dropout(0.25)
    x = fg.ones((100, 100))
    np.testing.assert_array_equal(layer(x).numpy(), x.numpy())
    for run in (layer, fg.function(layer)):
        first, second = run(x, training=True).numpy(), run(x, training=True).numpy()
        assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.75)} and (first != second).any()
        assert abs((first == 0).mean() - 0.25) < 0.02
    rows = layers.Dropout(0.5, noise_shape=(None, 1))(x, training=True).numpy()
    assert (rows == rows[:, :1]).all() and 0 < (rows[:, 0] == 0).mean() < 1
    np.testing.assert_array_equal(layers.Dropout(1.0)(x, training=True).numpy(), np.zeros((100, 100)))


def test_dropout_with_a_tensor_for_training() -> None:
    run = fg.function(layers.Dropout(0.5))
    x = fg.ones((100, 100))
    assert (run(x, training=fg.constant(True)).numpy() == 0).any()
    np.testing.assert_array_equal(run(x, training=fg.constant(False)).numpy(), x.numpy())


def test_embedding() -> None:
    layer = layers.Embedding(4, 3)
    rows = layer(np.array([[1, 3], [1, 0]])).numpy()
    table = layer.embeddings.numpy()
    np.testing.assert_array_equal(rows, table[[[1, 3], [1, 0]]])
    assert table.shape == (4, 3) and np.abs(table).max() <= 0.05
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[0,1\] = 5 is not in \[0, 4\)"):
        layer(np.array([[1, 5]]))
    with fg.GradientTape() as tape:
        loss = fg.reduce_sum(layer(np.array([1, 1, 2])))
    gradient = fg.convert_to_tensor(tape.gradient(loss, layer.embeddings)).numpy()
    np.testing.assert_array_equal(gradient, np.array([[0], [2], [1], [0]]) * np.ones((4, 3)))


def test_merging() -> None:
    a, b = fg.constant([[1.0, 5.0]]), fg.constant([[3.0, 2.0]])
    for layer, expected in (
        (layers.Concatenate(), [[1, 5, 3, 2]]), (layers.Add(), [[4, 7]]), (layers.Subtract(), [[-2, 3]]),
        (layers.Multiply(), [[3, 10]]), (layers.Average(), [[2, 3.5]]), (layers.Maximum(), [[3, 5]]),
        (layers.Minimum(), [[1, 2]]),
    ):  # fmt: skip
        np.testing.assert_array_equal(layer([a, b]).numpy(), expected)
    with pytest.raises(ValueError, match="should be called on a list"):
        layers.Add()(a)


def test_channels_first() -> None:
    first = np.ascontiguousarray(SPOTS.transpose(0, 3, 1, 2))
    weights = tenths(kernel_size=3, filters=2)
    expected = layers.Conv2D(**weights)(SPOTS).numpy().transpose(0, 3, 1, 2)
    np.testing.assert_allclose(layers.Conv2D(**weights, data_format="channels_first")(first).numpy(), expected)
    pooled = layers.MaxPooling2D(data_format="channels_first")(first).numpy()
    np.testing.assert_array_equal(pooled, layers.MaxPooling2D()(SPOTS).numpy().transpose(0, 3, 1, 2))
    mean = layers.GlobalAveragePooling2D(data_format="channels_first")(first).numpy()
    np.testing.assert_allclose(mean, SPOTS.mean((1, 2)), rtol=1e-6)


def test_unknown_batch_and_image_sizes_trace_once() -> None:
    layer = layers.Conv2D(3, 3, activation="relu")
    layer.build((None, None, None, 2))
    flat = layers.Flatten()
    traces = []

    @fg.function(input_signature=[fg.TensorSpec([None, None, None, 2], fg.float32)])
    def run(x: Any) -> Any:
        traces.append(x.shape)
        return layer(x), flat(x)

    for size in (5, 7, 4):
        x = np.random.default_rng(size).normal(size=(2, size, size, 2)).astype(np.float32)
        outputs, flattened = run(fg.constant(x))
        np.testing.assert_allclose(outputs.numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)
        assert flattened.shape == (2, 2 * size * size)
    assert len(traces) == 1


@pytest.mark.parametrize("make", [case[0] for case in CASES] + [lambda: layers.BatchNormalization(momentum=0.5)])
def test_configs_make_the_same_layer(make: Callable[[], Any]) -> None:
    layer = make()
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


#: The arguments of Keras 2 in their order: they may be given by position.
ARGUMENTS = {
    "Dense": (
        "units activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
        "activity_regularizer kernel_constraint bias_constraint"
    ),
    "Conv1D": (
        "filters kernel_size strides padding data_format dilation_rate groups activation use_bias "
        "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer "
        "kernel_constraint bias_constraint"
    ),
    "Conv2D": (
        "filters kernel_size strides padding data_format dilation_rate groups activation use_bias "
        "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer "
        "kernel_constraint bias_constraint"
    ),
    "Conv3D": (
        "filters kernel_size strides padding data_format dilation_rate groups activation use_bias "
        "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer "
        "kernel_constraint bias_constraint"
    ),
    "Conv2DTranspose": (
        "filters kernel_size strides padding output_padding data_format dilation_rate activation use_bias "
        "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer "
        "kernel_constraint bias_constraint"
    ),
    "DepthwiseConv2D": (
        "kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias "
        "depthwise_initializer bias_initializer depthwise_regularizer bias_regularizer activity_regularizer "
        "depthwise_constraint bias_constraint"
    ),
    "SeparableConv2D": (
        "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
        "depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer "
        "pointwise_regularizer bias_regularizer activity_regularizer depthwise_constraint "
        "pointwise_constraint bias_constraint"
    ),
    "MaxPooling2D": "pool_size strides padding data_format",
    "AveragePooling2D": "pool_size strides padding data_format",
    "GlobalAveragePooling2D": "data_format keepdims",
    "Flatten": "data_format",
    "Dropout": "rate noise_shape seed",
    "BatchNormalization": (
        "axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
        "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint "
        "synchronized"
    ),
    "LayerNormalization": (
        "axis epsilon center scale beta_initializer gamma_initializer beta_regularizer gamma_regularizer "
        "beta_constraint gamma_constraint"
    ),
    "Activation": "activation",
    "Embedding": (
        "input_dim output_dim embeddings_initializer embeddings_regularizer activity_regularizer "
        "embeddings_constraint mask_zero input_length sparse"
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_have_the_names_and_the_order_of_keras(name: str) -> None:
    parameters = inspect.signature(getattr(layers, name)).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ARGUMENTS[name].split()


def test_lookups_of_ragged_rows() -> None:
    lookup = layers.StringLookup(vocabulary=["a", "b"])
    rows = fg.ragged.constant([["a"], ["b", "q"], []])
    assert lookup(rows).to_list() == [[1], [2, 0], []]
    assert fg.function(lookup)(rows).to_list() == [[1], [2, 0], []]
    back = layers.StringLookup(vocabulary=["a", "b"], invert=True)
    assert back(lookup(rows)).to_list() == [[b"a"], [b"b", b"[UNK]"], []]


def test_empty_batches() -> None:
    for layer, shape, expected in (
        (layers.Dense(3), (0, 2), (0, 3)), (layers.Conv2D(4, 3), (0, 5, 5, 2), (0, 3, 3, 4)),
        (layers.Flatten(), (0, 3, 2), (0, 6)), (layers.MaxPooling2D(), (0, 4, 4, 2), (0, 2, 2, 2)),
    ):  # fmt: skip
        for run in (layer, fg.function(layer)):
            assert run(fg.zeros(shape)).shape == expected


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: layers.Dense(-1), ValueError, "invalid value for `units`, expected a positive integer"),
    (lambda: layers.Dense(2, foo=1), TypeError, "Keyword argument not understood"),
    (lambda: layers.Dense(2, activation="nope"), ValueError, "Unknown activation function 'nope'"),
    (lambda: layers.Dense(2, kernel_initializer="nope"), ValueError, "Unknown initializer: 'nope'"),
    (lambda: layers.Dense(2, kernel_regularizer="nope"), ValueError, "Unknown regularizer: 'nope'"),
    (lambda: layers.Dense(2, kernel_constraint="nope"), ValueError, "Unknown constraint: 'nope'"),
    (lambda: layers.Dense(2)(np.float32(1)), ValueError, "expected min_ndim=2, found ndim=0"),
    (lambda: layers.Dense(2)(np.ones(3, "f4")), ValueError, r"layer \"dense.*found ndim=1. Full shape received: \(3,\)"),
    (lambda: layers.Dense(2).build((None, None)), ValueError, "last dimension of the inputs to a Dense layer"),
    (lambda: layers.Dense(2)([1.0, 2.0]), ValueError, r"expects 1 input\(s\), but it received 2 input tensors"),
    (lambda: layers.Conv2D(2, 3)(np.ones((2, 4))), ValueError, "expected min_ndim=4, found ndim=2"),
    (lambda: layers.Conv2D(2, 3, name="c")(np.ones((1, 2, 2, 1))), ValueError, "output is <= 0 due to .* in c"),
    (lambda: layers.Conv2D(0, 3), ValueError, "Invalid value for argument `filters`"),
    (lambda: layers.Conv2D(3, (3, 3, 3)), ValueError, "`kernel_size` argument must be a tuple of 2 integers"),
    (lambda: layers.Conv2D(3, 0), ValueError, "does not satisfy the requirement `> 0`"),
    (lambda: layers.Conv2D(3, "a"), ValueError, "`kernel_size` argument must be a tuple of 2 integers"),
    (lambda: layers.Conv2D(3, 3, strides=0), ValueError, "`strides` cannot contains 0"),
    (lambda: layers.Conv2D(3, 3, groups=2), ValueError, "evenly divisible by the number of groups"),
    (lambda: layers.Conv2D(4, 3, groups=4)(SPOTS), ValueError, "Received groups=4, but the input has 2 channels"),
    (lambda: layers.Conv2D(3, 3, padding="x"), ValueError, "The `padding` argument must be"),
    (lambda: layers.Conv2D(3, 3, padding="causal"), ValueError, "Causal padding is only supported"),
    (lambda: layers.Conv2D(3, 3, strides=2, dilation_rate=2), ValueError, "not supported in conjunction"),
    (lambda: layers.Conv2D(3, 3).build((None, 5, 5, None)), ValueError, "channel dimension of the inputs"),
    (lambda: layers.Conv2D(3, 3, data_format="x"), ValueError, "`data_format` argument must be one of"),
    (lambda: layers.MaxPooling2D(3)(SPOTS[0]), ValueError, "expected ndim=4, found ndim=3"),
    (lambda: layers.MaxPooling2D((3, 3, 3)), ValueError, "`pool_size` argument must be a tuple of 2 integers"),
    (lambda: layers.Dropout(2), ValueError, "Invalid value 2 received for `rate`"),
    (lambda: layers.BatchNormalization(axis="a"), TypeError, "Expected an int or a list/tuple of ints"),
    (lambda: layers.BatchNormalization(axis=5)(ROWS), ValueError, "Invalid value for `axis` argument"),
    (lambda: layers.BatchNormalization().build((None, None)), ValueError, "undefined `axis` dimension"),
    (lambda: layers.Reshape((3, 5))(keras.Input((16,))), ValueError, r"input_shape = \[16\], output_shape = \[3, 5\]"),
    (lambda: layers.Reshape((3, -1))(keras.Input((16,))), ValueError, "total size of new array must be unchanged"),
    (lambda: layers.Reshape((3,))(ROWS), fg.errors.InvalidArgumentError, "24 values, but the requested shape has 6"),
    (lambda: layers.Dense(2)(), ValueError, "first argument to `Layer.call` must always be passed"),
    (lambda: layers.Embedding(0, 2), ValueError, "should be positive"),
    (lambda: layers.Dense(3).count_params(), ValueError, "the layer isn't built"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "error", "text"), BAD)
def test_errors(run: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


@pytest.mark.parametrize(
    ("layer", "fitting", "other", "text"),
    [(layers.Dense(2, name="d"), (2, 3), (2, 4), "expected axis -1 of input shape to have value 3"),
     (layers.Conv2D(2, 3, name="d"), (1, 4, 4, 1), (1, 4, 4, 2), "expected axis -1 of input shape to have value 1"),
     (layers.BatchNormalization(name="d"), (2, 3), (2, 4), "expected axis 1 of input shape to have value 3"),
     (layers.BatchNormalization(name="d"), (2, 3), (2, 3, 3), "expected ndim=2, found ndim=3")],
)  # fmt: skip
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_inputs_that_differ_from_what_the_layer_was_built_for(
    layer: Any, fitting: tuple[int, ...], other: tuple[int, ...], text: str, staged: bool
) -> None:
    layer(fg.zeros(fitting))
    with pytest.raises(ValueError, match=f'Input 0 of layer "d" is incompatible with the layer: {text}'):
        (fg.function(layer) if staged else layer)(fg.zeros(other))


def test_an_error_says_in_which_layer_it_was_raised() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError) as caught:
        layers.Reshape((3,), name="r")(ROWS)
    assert any("calling layer 'r' (type Reshape)" in note for note in caught.value.__notes__)


def test_a_copy_has_weights_of_its_own() -> None:
    layer = layers.Dense(2, kernel_regularizer="l2", kernel_initializer="ones")
    layer(np.ones((1, 3)))
    twin = copy.deepcopy(layer)
    twin.kernel.assign(2.0 * twin.kernel)
    np.testing.assert_array_equal(layer.kernel.numpy(), np.ones((3, 2)))
    np.testing.assert_allclose([float(twin.losses[0]), float(layer.losses[0])], [0.24, 0.06], rtol=1e-6)


def test_softmax_over_several_axes_together() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 5
    wanted = np.exp(x) / np.exp(x).sum((1, 2), keepdims=True)
    np.testing.assert_allclose(fg.keras.layers.Softmax(axis=[1, 2])(x).numpy(), wanted, rtol=2e-6)
    one = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(fg.keras.layers.Softmax(axis=(1,))(x).numpy(), one, rtol=2e-6)
    with pytest.raises(TypeError, match="one integer"):
        fg.nn.softmax(x, axis=[0, 1])


def test_batch_normalisation_of_one_element_has_no_variance() -> None:
    layer = fg.keras.layers.BatchNormalization()
    assert layer(fg.fill([1, 1, 1, 2], 3.0), training=True).numpy().tolist() == [[[[0, 0]]]]
    np.testing.assert_allclose(layer.moving_variance.numpy(), [0.99, 0.99])


@pytest.mark.parametrize("make", [fg.keras.layers.BatchNormalization, fg.keras.layers.LayerNormalization])
def test_normalisation_of_whole_numbers(make: Any) -> None:
    x = np.array([[1, -2, 4], [3, 0, 5]], np.int32)
    found = (
        make()(fg.constant(x), training=True) if make is fg.keras.layers.BatchNormalization else make()(fg.constant(x))
    )
    axis = 0 if make is fg.keras.layers.BatchNormalization else 1
    wanted = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-3)
    assert found.dtype == fg.float32
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_layers_that_add_a_loss_can_be_called_in_staged_loops_and_branches() -> None:
    layer = fg.keras.layers.Dense(3, activity_regularizer="l2", kernel_initializer="ones")
    layer.build((None, 3))

    @fg.function
    def looped(x):
        total = 0.0
        for _ in fg.range(2):
            x = layer(x)
            total += sum(layer.losses)
        return x, total

    @fg.function
    def branched(x):
        if x[0, 0] > 0.0:
            x = layer(x)
        return x

    @fg.function
    def leaving(x):
        for _ in fg.range(2):
            x = layer(x)
        return sum(layer.losses)

    x = fg.constant([[1.0, 2.0, 3.0]])
    y, total = looped(x)
    assert y.numpy().tolist() == [[18.0] * 3]
    np.testing.assert_allclose(total, 0.01 * 3 * (6.0**2 + 18.0**2), rtol=1e-5)
    assert branched(x).numpy().tolist() == [[6.0] * 3]
    with pytest.raises(TypeError, match="out of scope"):
        leaving(x)


@pytest.mark.parametrize("kind", [layers.SimpleRNN, layers.LSTM, layers.GRU])
def test_stateful_layers_go_on_where_the_call_before_ended(kind: Any) -> None:
    x = np.random.default_rng(0).standard_normal((4, 6, 3)).astype(np.float32)
    model = keras.Sequential([kind(5, stateful=True, return_sequences=True, batch_input_shape=(4, 3, 3)), kind(2)])
    stateful = model.layers[0]
    whole = kind.from_config({**stateful.get_config(), "stateful": False, "name": "whole"})
    whole.build((4, 6, 3))
    whole.set_weights(stateful.get_weights())
    assert len(stateful.weights) == 3
    halves = [stateful(x[:, :3]), fg.function(stateful)(x[:, 3:])]
    np.testing.assert_allclose(np.concatenate(halves, axis=1), whole(x), rtol=1e-5, atol=1e-6)
    first = model.predict(x[:, :3], batch_size=4, verbose=0)
    model.reset_states()
    again = model.predict(x[:, :3], batch_size=4, verbose=0)
    assert not np.allclose(first, again)
    stateful.reset_states([np.zeros((4, 5))] * len(stateful.states))
    np.testing.assert_array_equal(model.predict(x[:, :3], batch_size=4, verbose=0), again)
    for wrong, error, text in (
        (lambda: whole.reset_states(), AttributeError, "must be stateful"),
        (lambda: stateful.reset_states([x] * 5), ValueError, "received 5 state values"),
        (lambda: stateful.reset_states([np.zeros((1, 5))] * len(stateful.states)), ValueError, "State 0 is incompat"),
        (lambda: keras.Sequential([kind(2, stateful=True, input_shape=(5, 3))]), ValueError, "know its batch size"),
    ):
        with pytest.raises(error, match=text):
            wrong()


def test_cells_one_on_top_of_the_other_are_layers_one_after_the_other() -> None:
    x = np.random.default_rng(0).standard_normal((4, 6, 3)).astype(np.float32)
    stacked = layers.RNN([layers.LSTMCell(5), layers.GRUCell(2)], return_state=True, return_sequences=True)
    output, first, last = stacked(x)
    below, above = layers.LSTM(5, return_sequences=True), layers.GRU(2, return_sequences=True)
    for layer, given in ((below, (4, 6, 3)), (above, (4, 6, 5))):
        layer.build(given)
    below.set_weights(stacked.get_weights()[:3])
    above.set_weights(stacked.get_weights()[3:])
    np.testing.assert_allclose(output, above(below(x)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, output[:, -1])
    assert [state.shape.as_list() for state in first] == [[4, 5], [4, 5]] and stacked.cell.output_size == 2
    same = layers.RNN.from_config(stacked.get_config())
    same.build((4, 6, 3))
    same.set_weights(stacked.get_weights())
    np.testing.assert_array_equal(same(x)[0], output)


def test_stacked_cells_drop_the_same_in_all_steps() -> None:
    stacked = layers.RNN(
        [layers.SimpleRNNCell(8, dropout=0.5, kernel_initializer="ones", recurrent_initializer="zeros")],
        return_sequences=True,
    )
    x = np.full((4, 6, 16), 0.01, np.float32)
    shown = stacked(x, training=True).numpy()
    np.testing.assert_array_equal(shown, np.repeat(shown[:, :1], 6, axis=1))
    assert len(np.unique(shown[:, 0, 0])) > 1
    np.testing.assert_allclose(stacked(x, training=False), np.tanh(0.16), rtol=1e-5)
    held = layers.RNN([layers.SimpleRNNCell(2, recurrent_dropout=0.9, kernel_initializer="ones", activation=None)])
    assert len({float(np.sum(held(x, training=True))) for _ in range(6)}) > 1


def test_a_state_that_is_given_serves_a_stateful_layer_that_has_none() -> None:
    x, given = np.ones((2, 3, 1), np.float32), np.full((2, 2), 0.5, np.float32)
    layer = layers.SimpleRNN(2, stateful=True)
    first = layer(x, initial_state=given)
    layer.reset_states(given)
    np.testing.assert_array_equal(layer(x), first)
    assert not np.array_equal(layer(x, initial_state=given), first)
    both = layers.Bidirectional(layers.SimpleRNN(2, stateful=True, batch_input_shape=(2, 3, 1)))
    before = both(x)
    assert both.stateful and not np.array_equal(both(x), before)
    both.reset_states()
    np.testing.assert_array_equal(both(x), before)


def test_checkpoints_keep_the_counts_of_lookups_that_learn_their_words(tmp_path: Path) -> None:
    def kept(layer: Any) -> list[str]:
        path = fg.train.Checkpoint(o=layer).write(tmp_path / "c")
        return [key for key, _ in fg.train.list_variables(path) if key.startswith("o/")]

    layer = layers.StringLookup()
    layer.adapt(["q", "r", "q"])
    assert kept(layer) == [f"o/token_counts/.ATTRIBUTES/table-{part}" for part in ("keys", "values")]
    assert len(kept(layers.TextVectorization())) == 2
    assert kept(layers.StringLookup(vocabulary=["a"])) == kept(layers.TextVectorization(vocabulary=["a"])) == []


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("constant_initializer", "Constant"),
        ("random_normal_initializer", "RandomNormal"),
        ("random_uniform_initializer", "RandomUniform"),
    ],
)
def test_initializers_of_core_stand_in_configs_by_the_names_that_keras_has(name: str, known_as: str) -> None:
    given = getattr(fg, name)(0.5)
    config = fg.keras.layers.Dense(2, kernel_initializer=given).get_config()
    assert config["kernel_initializer"]["class_name"] == known_as
    again = fg.keras.layers.Dense.from_config(config).kernel_initializer
    assert again.get_config() == given.get_config()
