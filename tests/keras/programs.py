"""Programs of training whose results are compared with tf-keras: losses by epoch, metrics, predictions, names.

    TF_USE_LEGACY_KERAS=1 python -m tests.keras.programs tensorflow      (writes programs.json, with tf-keras installed)

Each program is a function of the module that is `tf` and returns lists, dicts, numbers and text.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_name("programs.json")
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def _drawn() -> tuple[Any, ...]:
    """The programs' data, the same in every run."""
    random = np.random.RandomState(0)
    x, x2 = random.randn(50, 5).astype("float32"), random.randn(50, 3).astype("float32")
    classes, sides = random.randint(0, 3, 50), random.randint(0, 2, 50)
    y, w = random.randn(50).astype("float32"), random.rand(50).astype("float32")
    steps, mask = random.randn(6, 7, 3).astype("float32"), random.rand(6, 7) > 0.35
    mask[0], mask[1] = False, True
    return x, x2, classes, sides, y, w, steps, mask, random.randint(0, 4, (6, 7)), random.randn(20, 3) * 5 + 2


X, X2, CLASSES, SIDES, Y, W, STEPS, MASK, WORDS, TABLE = _drawn()


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """Return a result as JSON can hold it, numbers rounded."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (str, int, bool, type(None))):
        return value
    return plain_array(np.asarray(value))


def plain_array(array: np.ndarray) -> Any:
    return np.round(array.astype(float), 5).tolist() if array.dtype.kind in "fiub" else array.astype(str).tolist()


def started(model: Any) -> Any:
    """Return the model with weights that are the same everywhere."""
    random = np.random.RandomState(1)
    model.set_weights([random.uniform(-0.4, 0.4, w.shape).astype("float32") for w in model.get_weights()])
    return model


def mlp(tf: Any, units: int, activation: Any = None, **kwargs: Any) -> Any:
    layers = tf.keras.layers
    first = layers.Dense(8, activation="relu", input_shape=(5,), **kwargs)
    return started(tf.keras.Sequential([first, layers.Dense(units, activation=activation)]))


def fit(model: Any, *args: Any, **kwargs: Any) -> Any:
    return model.fit(*args, **{"shuffle": False, "verbose": 0, "epochs": 2, **kwargs}).history


def summary(model: Any) -> Any:
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    return [line.rstrip() for line in "\n".join(lines).split("\n")]


def weights_of(model: Any) -> Any:
    return [[layer.name for layer in model.layers], [w.name for w in model.weights]]


@program
def classes(tf: Any) -> Any:
    model = mlp(tf, 3)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return [
        fit(model, X, CLASSES, batch_size=16), model.evaluate(X, CLASSES, verbose=0), model.metrics_names,
        model.evaluate(X, CLASSES, verbose=0, return_dict=True), model.predict(X[:40], verbose=0)[::13],
        model.train_on_batch(X[:7], CLASSES[:7]), model.test_on_batch(X[:7], CLASSES[:7], return_dict=True),
    ]  # fmt: skip


@program
def regression_with_a_split(tf: Any) -> Any:
    model = mlp(tf, 1)
    model.compile("sgd", "mse", metrics=["mae", "mse", tf.keras.metrics.RootMeanSquaredError()])
    return fit(model, X, Y, validation_split=0.2)


@program
def sides_with_weights(tf: Any) -> Any:
    model = mlp(tf, 1, "sigmoid")
    metrics = {"metrics": ["accuracy", "ce"], "weighted_metrics": ["accuracy"]}
    model.compile(tf.keras.optimizers.SGD(0.1), "binary_crossentropy", **metrics)
    return fit(model, X, SIDES, sample_weight=W, validation_data=(X[:20], SIDES[:20], W[:20]))


@program
def weights_of_classes(tf: Any) -> Any:
    model = mlp(tf, 3, "softmax")
    model.compile(tf.keras.optimizers.SGD(0.1), "categorical_crossentropy", metrics=["acc", "categorical_accuracy"])
    return fit(model, X, np.eye(3, dtype="float32")[CLASSES], class_weight={0: 1.0, 1: 2.0, 2: 0.5})


@program
def regularizers_and_a_function(tf: Any) -> Any:
    model = mlp(tf, 1, kernel_regularizer="l2")
    model.compile(tf.keras.optimizers.SGD(0.1), lambda a, b: tf.reduce_mean(tf.abs(a - b), -1))
    return [fit(model, X, Y), model.evaluate(X, Y, verbose=0)]


def two(tf: Any) -> Any:
    keras, layers = tf.keras, tf.keras.layers
    a, b = keras.Input((5,), name="a"), keras.Input((3,), name="b")
    shared = layers.Dense(4, activation="tanh", name="shared")
    left, right = shared(a), shared(layers.Dense(5, name="e")(b))
    joined, added = layers.Concatenate()([left, right]), layers.Add()([left, right])
    outputs = [layers.Dense(3, name="cls")(joined), layers.Dense(1, name="reg")(layers.Dropout(0.0)(added))]
    return started(keras.Model([a, b], outputs))


@program
def several_inputs_and_outputs(tf: Any) -> Any:
    model = two(tf)
    losses = {"cls": tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), "reg": "mse"}
    weights = {"cls": 1.0, "reg": 0.2}
    model.compile(tf.keras.optimizers.SGD(0.1), losses, metrics={"cls": "accuracy"}, loss_weights=weights)
    found = [weights_of(model), summary(model), fit(model, [X, X2], [CLASSES, Y])]
    named = {"cls": CLASSES, "reg": Y}
    found += [fit(model, {"a": X, "b": X2}, named), model.evaluate([X, X2], [CLASSES, Y], verbose=0)]
    middle = tf.keras.Model(model.input, model.get_layer("cls").output)
    return [*found, model.metrics_names, weights_of(middle), middle([X[:2], X2[:2]])]


@program
def operators_and_lambdas(tf: Any) -> Any:
    keras, layers = tf.keras, tf.keras.layers
    x = keras.Input((5,))
    y = (layers.Dense(5)(x) + x) * 2 - 1
    model = started(keras.Model(x, layers.Lambda(lambda t: tf.reduce_sum(t, 1, keepdims=True))(y[:, 1:])))
    model.compile("sgd", "mse")
    return [fit(model, X, Y), summary(mlp(tf, 2))]


@program
def dicts(tf: Any) -> Any:
    keras, layers = tf.keras, tf.keras.layers
    given = {"p": keras.Input((5,), name="p"), "q": keras.Input((3,), name="q")}
    model = started(keras.Model(given, {"o": layers.Dense(1)(layers.concatenate([given["p"], given["q"]]))}))
    model.compile("sgd", "mse", metrics=["mae"])
    return [fit(model, {"p": X, "q": X2}, {"o": Y}), model.predict({"p": X[:3], "q": X2[:3]}, verbose=0)]


@program
def datasets(tf: Any) -> Any:
    model = mlp(tf, 1)
    model.compile("sgd", "mse", metrics=["mae"])
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
    endless = fit(model, data.repeat(), steps_per_epoch=3)
    return [fit(model, data, validation_data=data), endless, model.evaluate(data, verbose=0)]


@program
def early_stopping(tf: Any) -> Any:
    model = mlp(tf, 1)
    model.compile("sgd", "mse")
    stop = tf.keras.callbacks.EarlyStopping("loss", min_delta=0.05, patience=1, restore_best_weights=True)
    return [fit(model, X, Y, epochs=20, callbacks=[stop]), stop.stopped_epoch, model.get_weights()[0]]


@program
def callbacks_are_called(tf: Any) -> Any:
    seen: list[Any] = []

    class Watch(tf.keras.callbacks.Callback):  # type: ignore[name-defined,misc]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            seen.append(["batch begin", batch, sorted(logs or {})])

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.append(["batch end", batch, sorted(logs or {})])

        def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.append(["test batch end", batch, sorted(logs or {})])

        def on_test_end(self, logs: Any = None) -> None:
            seen.append(["test end", sorted(logs or {})])

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.append(["epoch begin", epoch, sorted(logs or {}), dict(self.params)])

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            seen.append(["epoch end", epoch, sorted(logs or {})])

        def on_train_end(self, logs: Any = None) -> None:
            seen.append(["train end", sorted(logs or {})])

    model = mlp(tf, 1)
    model.compile("sgd", "mse")
    fit(model, X, Y, batch_size=25, validation_split=0.5, callbacks=[Watch()])
    return seen


def _cells(kind: str) -> Callable[[Any], Any]:
    def run(tf: Any) -> Any:
        layers = tf.keras.layers
        found = []
        for arguments in (
            {}, {"return_sequences": True, "return_state": True}, {"return_state": True, "go_backwards": True},
            {"return_sequences": True, "unroll": True}, {"return_sequences": True, "zero_output_for_mask": True},
        ):  # fmt: skip
            layer = getattr(layers, kind)(4, **arguments)
            layer(STEPS)
            started(layer)
            found.append([layer(STEPS), layer(STEPS, mask=tf.constant(MASK))])
        both = layers.Bidirectional(getattr(layers, kind)(3, return_sequences=True))
        embedding = layers.Embedding(4, 5, mask_zero=True)
        model = tf.keras.Sequential([embedding, both, getattr(layers, kind)(4), layers.Dense(2)])
        model(WORDS)
        started(model)
        model.compile("sgd", "mse", metrics=["mae"])
        history = fit(model, WORDS, np.ones((6, 2), "float32"), batch_size=4)
        return [found, history, model.predict(WORDS, verbose=0), [w.name for w in model.weights]]

    run.__name__ = kind.lower()
    return run


for _kind in ("SimpleRNN", "LSTM", "GRU"):
    program(_cells(_kind))


@program
def gru_that_resets_before(tf: Any) -> Any:
    layer = tf.keras.layers.GRU(4, reset_after=False)
    layer(STEPS)
    return started(layer)(STEPS)


@program
def states_handed_on(tf: Any) -> Any:
    keras, layers = tf.keras, tf.keras.layers
    x = keras.Input((None, 3))
    output, *states = layers.LSTM(4, return_state=True)(x)
    model = keras.Model(x, [output, layers.LSTM(4, return_sequences=True)(x, initial_state=states)])
    return [started(model)(STEPS), model(STEPS[:, :3])]


@program
def masked_losses(tf: Any) -> Any:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Embedding(4, 5, mask_zero=True), layers.GRU(4, return_sequences=True), layers.Dense(3)]
    )
    model(WORDS)
    started(model)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=["accuracy"], weighted_metrics=["accuracy"])
    plain_history = fit(model, WORDS, WORDS % 3, batch_size=4)
    weights = np.arange(6, dtype="float32")
    return [plain_history, fit(model, WORDS, WORDS % 3, sample_weight=weights, batch_size=4)]


@program
def masks_elsewhere(tf: Any) -> Any:
    layers = tf.keras.layers
    embedding = layers.Embedding(4, 5, mask_zero=True)
    embedding(WORDS)
    x, y = started(embedding)(WORDS), layers.Embedding(4, 5)(WORDS)
    joined, added = layers.Concatenate()([x, y]), layers.Add()([x, y])
    normed = tf.keras.Sequential([layers.Masking(input_shape=(7, 3)), layers.BatchNormalization()])
    started(normed)
    return [
        layers.GlobalAveragePooling1D()(x), joined._keras_mask, added._keras_mask, embedding.compute_mask(WORDS),
        normed(STEPS * MASK[..., None], training=True), normed.get_weights(),
        layers.Softmax()(STEPS[:, :, 0], mask=MASK),
    ]  # fmt: skip


@program
def normalization(tf: Any) -> Any:
    found = []
    for arguments in ({}, {"axis": None}, {"invert": True}):
        layer = tf.keras.layers.Normalization(**arguments)
        layer.adapt(TABLE)
        found.append(layer(TABLE[:5]))
    layer = tf.keras.layers.Normalization()
    layer.adapt(tf.data.Dataset.from_tensor_slices(TABLE.astype("float32")).batch(6))
    given = tf.keras.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0])
    image = tf.keras.layers.Rescaling(1 / 127.5, offset=-1)(np.arange(10, dtype="uint8").reshape(2, 5))
    return [*found, layer(TABLE[:5]), layer.mean, layer.variance, given(TABLE[:5]), image]


@program
def lookups(tf: Any) -> Any:
    lookup = tf.keras.layers.StringLookup
    words, letters = np.array([["a", "b", "c"], ["d", "z", ""]]), ["a", "b", "c", "d"]
    learnt = lookup()
    learnt.adapt(np.array([["q", "w", "q", "e", "r", "e", "q", "w"]]))
    plain_one, masked = lookup(vocabulary=letters), lookup(vocabulary=letters, mask_token="")
    back = lookup(vocabulary=letters, invert=True)(np.array([[1, 2, 0], [3, 4, 9]]))
    found = [plain_one(words), masked(words), learnt.get_vocabulary(), masked.get_vocabulary()]
    found += [[[word.decode() for word in row] for row in np.asarray(back)], plain_one.vocabulary_size()]
    for mode in ("multi_hot", "count"):
        layer = lookup(vocabulary=letters, output_mode=mode)
        found += [layer(words), layer(np.array(["a", "b", "a"]))]
    one_hot = lookup(vocabulary=letters, output_mode="one_hot")
    return [*found, one_hot(words[0]), one_hot(np.array([["a"], ["z"]]))]


def main() -> None:
    tf = importlib.import_module(sys.argv[1])
    results = {}
    for name, run in PROGRAMS.items():
        tf.keras.backend.clear_session()
        results[name] = plain(run(tf))
    header = {"written by": f"{tf.__name__} {tf.__version__}, tf-keras"}
    RESULTS.write_text(json.dumps({**header, **results}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
