"""An epoch of `fit` of the small built-in Keras, beside tf_keras: 64 batches of 32.

A perceptron 784-128-10, softmax cross-entropy, Adam, accuracy.
"""

import itertools

import numpy as np

ROWS = {"epoch": 36}
CASES = {"epoch": {"rows": 2048, "sizes": (784, 128, 10), "batch": 32}}
SMALL = {"rows": 70, "sizes": (5, 4, 3), "batch": 32}
GOALS = {"epoch": 0.6}
MODES = ("staged",)  # Keras itself stages the step
#: Adam's first steps are ±rate for every weight, however small its gradient: rounding shows in the loss.
TOLERANCE = 1e-2
ABSENT = dict.fromkeys(("jax", "torch", "pytensor", "numpy", "numba"), "the row is of tf.keras")


def data(rows, sizes, batch):
    rng = np.random.default_rng(0)
    weights = []
    for n, m in itertools.pairwise(sizes):
        weights += [rng.standard_normal((n, m), np.float32) * np.float32((2 / n) ** 0.5), np.zeros(m, np.float32)]
    x = rng.standard_normal((rows, sizes[0]), np.float32)
    return {"x": x, "labels": rng.integers(0, sizes[-1], rows), "weights": weights, "batch": batch}


def tensorflow(tf, stage, x, labels, weights, batch):
    keras = tf.keras
    hidden = keras.layers.Dense(weights[0].shape[1], activation="relu")
    model = keras.Sequential([keras.Input((x.shape[1],)), hidden, keras.layers.Dense(weights[-1].shape[0])])
    model.set_weights(weights)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return lambda: model.fit(x, labels, batch_size=batch, shuffle=False, verbose=0).history["loss"][0]
