"""Epochs of Keras 3's `fit`, in small steps and in large ones: behind fastgraph's door, and on Keras's backends.

Each model is written in terms of `keras` alone. Keras decides how a step is compiled. What is timed is a `fit` of some
epochs, each of 64 or fewer steps, with its batches, metrics and callbacks; the first call is of one epoch.
"""

import numpy as np

VOCABULARY, CLASSES, EPOCHS = 1000, 10, 4
CASES = {
    "MLP, small": {"model": "perceptron", "rows": 2048, "batch": 32, "shape": (784,), "width": 128},
    "convnet, small": {"model": "convnet", "rows": 512, "batch": 16, "shape": (14, 14, 1), "width": 8},
    "LSTM, small": {"model": "recurrent", "rows": 512, "batch": 16, "shape": (16, 8), "width": 16},
    "transformer, small": {"model": "transformer", "rows": 512, "batch": 8, "shape": (16,), "width": 32},
    "MLP, large": {"model": "perceptron", "rows": 2048, "batch": 256, "shape": (784,), "width": 1024},
    "convnet, large": {"model": "convnet", "rows": 512, "batch": 64, "shape": (28, 28, 1), "width": 32},
    "LSTM, large": {"model": "recurrent", "rows": 512, "batch": 64, "shape": (64, 32), "width": 128},
    "transformer, large": {"model": "transformer", "rows": 256, "batch": 32, "shape": (64,), "width": 128},
}
SMALL = {"rows": 20, "batch": 8, "width": 8}
ROWS = dict.fromkeys(CASES, 36)
GOALS = {case: 0.6 if "small" in case else 0.9 for case in CASES}
MODES = ("keras",)
LIBRARIES = ("keras",)
PER = dict.fromkeys(CASES, EPOCHS)
SAMPLE_S = 0.5
#: Adam's first steps are ±rate for every weight, however small its gradient: rounding shows in the loss.
TOLERANCE = 2e-2


def data(model, rows, batch, shape, width):
    rng = np.random.default_rng(0)
    tokens = model == "transformer"
    x = rng.integers(0, VOCABULARY, (rows, *shape)) if tokens else rng.standard_normal((rows, *shape), np.float32)
    return {"model": model, "x": x, "labels": rng.integers(0, CLASSES, rows), "width": width, "batch": batch}


def perceptron(keras, inputs, width):
    return keras.layers.Dense(width, activation="relu")(inputs)


def convnet(keras, inputs, width):
    x = keras.layers.Conv2D(width, 3, activation="relu")(inputs)
    x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Conv2D(2 * width, 3, activation="relu")(x)
    return keras.layers.GlobalAveragePooling2D()(x)


def recurrent(keras, inputs, width):
    return keras.layers.LSTM(width)(inputs)


def transformer(keras, inputs, width):
    x = keras.layers.Embedding(VOCABULARY, width)(inputs)
    attended = keras.layers.MultiHeadAttention(4, width // 4)(x, x)
    x = keras.layers.LayerNormalization()(x + attended)
    hidden = keras.layers.Dense(2 * width, activation="relu")(x)
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(width)(hidden))
    return keras.layers.GlobalAveragePooling1D()(x)


MODELS = {each.__name__: each for each in (perceptron, convnet, recurrent, transformer)}


def keras(keras, stage, model, x, labels, width, batch):
    inputs = keras.Input(x.shape[1:], dtype="int32" if x.dtype.kind == "i" else "float32")
    made = keras.Model(inputs, keras.layers.Dense(CLASSES)(MODELS[model](keras, inputs, width)))
    rng = np.random.default_rng(1)
    for weight in made.trainable_weights:  # every backend has another generator
        if len(weight.shape) > 1:
            weight.assign(rng.standard_normal(weight.shape) * (2 / sum(weight.shape[-2:])) ** 0.5)
    made.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    fit = {"batch_size": batch, "shuffle": False, "verbose": 0}
    epochs = iter([1])
    return lambda: np.array(made.fit(x, labels, epochs=next(epochs, EPOCHS), **fit).history["loss"])
