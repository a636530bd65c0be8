"""Whole models trained: the guide's network and line, eagerly and by one compiled step without host steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.keras import layers


def guides_network() -> Any:
    return keras.Sequential(
        [
            layers.Conv2D(16, [3, 3], activation="relu", input_shape=(None, None, 1)),
            layers.Conv2D(16, [3, 3], activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )


def full_network() -> Any:
    """A layer of each kind that trains differently from how it predicts."""
    return keras.Sequential(
        [
            layers.Conv2D(8, 3, padding="same", use_bias=False, input_shape=(8, 8, 1)),
            layers.BatchNormalization(momentum=0.9),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.AveragePooling2D(),
            layers.Flatten(),
            layers.LayerNormalization(),
            layers.Dropout(0.1),
            layers.Dense(10, kernel_regularizer="l2"),
        ]
    )


def make_step(model: Any, optimizer: Any) -> Any:
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = keras.metrics.SparseCategoricalAccuracy()

    def step(images: Any, labels: Any) -> Any:
        with fg.GradientTape() as tape:
            logits = model(images, training=True)
            loss = loss_of(labels, logits)
            if model.losses:
                loss += fg.add_n(model.losses)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        accuracy.update_state(labels, logits)
        return loss

    return step


def blobs(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Ten patterns of 8x8 with noise, and which they are."""
    random = np.random.default_rng(seed)
    patterns = np.random.default_rng(99).random((10, 8, 8, 1))
    labels = random.integers(0, 10, n)
    images = patterns[labels] + 0.1 * random.normal(size=(n, 8, 8, 1))
    return fg.constant(images, fg.float32), fg.constant(labels, fg.int32)


@pytest.mark.parametrize("make", [guides_network, full_network])
@pytest.mark.slow
def test_a_compiled_step_has_no_host_steps(make: Any) -> None:
    step = fg.function(make_step(make(), keras.optimizers.Adam(1e-3)))
    concrete = step.get_concrete_function(*blobs(32))
    assert concrete.wait() and concrete.is_compiled and concrete.host_steps == 0


@pytest.mark.slow
def test_the_guides_network() -> None:
    model = guides_network()
    assert len(model.trainable_variables) == 6
    images, labels = blobs(32)
    logits = model(images[:1])
    assert logits.shape == (1, 10) and np.isfinite(logits.numpy()).all()
    weights = model.get_weights()
    losses: list[list[float]] = []
    for staged in (False, True):
        model.set_weights(weights)
        step = make_step(model, keras.optimizers.Adam())
        if staged:
            step = fg.function(step)
            step.get_concrete_function(images, labels).wait()
        losses.append([float(step(images, labels)) for _ in range(20)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
    assert losses[1][-1] < losses[1][0]


def test_a_full_network_learns() -> None:
    fg.random.set_seed(0)
    model = full_network()
    step = fg.function(make_step(model, keras.optimizers.AdamW(3e-3)))
    for seed in range(120):
        step(*blobs(32, seed))
    images, labels = blobs(200, seed=1000)
    predicted = fg.argmax(model(images, training=False), axis=1).numpy()
    assert (predicted == labels.numpy()).mean() > 0.97
    moved = model.layers[1].moving_mean.numpy()
    assert (moved != 0).all() and np.isfinite(moved).all()


class Line(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.W = fg.Variable(5.0, name="weight")
        self.B = fg.Variable(10.0, name="bias")

    def call(self, inputs: Any) -> Any:
        return inputs * self.W + self.B


def test_a_line_fitted() -> None:
    random = np.random.default_rng(0)
    inputs = fg.constant(random.normal(size=2000), fg.float32)
    outputs = inputs * 3 + 2 + fg.constant(random.normal(size=2000), fg.float32)
    model = Line()
    assert model(fg.constant(2.0)).numpy() == 20 and [w.name for w in model.weights] == ["weight:0", "bias:0"]
    optimizer = keras.optimizers.SGD(learning_rate=0.01)
    for _ in range(300):
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean(fg.square(model(inputs) - outputs))
        optimizer.apply_gradients(zip(tape.gradient(loss, [model.W, model.B]), [model.W, model.B], strict=True))
    assert abs(float(model.W) - 3) < 0.15 and abs(float(model.B) - 2) < 0.15 and abs(float(loss) - 0.985) < 0.2


def test_a_convolution_is_the_same_in_both_modes() -> None:
    layer = layers.Conv2D(100, 3)
    run = fg.function(lambda image: layer(image))
    image = fg.constant(np.random.default_rng(0).normal(size=(1, 20, 20, 100)), fg.float32)
    np.testing.assert_allclose(run(image).numpy(), layer(image).numpy(), atol=1e-4)


def test_foreign_and_missing_gradients() -> None:
    model, other = guides_network(), guides_network()
    optimizer = keras.optimizers.Adam()
    zeros = [fg.zeros(v.shape) for v in model.trainable_variables]
    optimizer.apply_gradients(zip(zeros, model.trainable_variables, strict=True))
    with pytest.raises(KeyError, match="The optimizer cannot recognize variable conv2d"):
        optimizer.apply_gradients(zip(zeros, other.trainable_variables, strict=True))
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, v) for v in model.trainable_variables])
