"""Whole models in files of Keras 2 and 3, and what they give: written by those and read here, and the other way round.

    python -m tests.keras.whole_models write FOLDER MODULE SUFFIX    MODULE: tf_keras, keras, fastgraph.keras
    python -m tests.keras.whole_models read FOLDER MODULE SUFFIX     what differs of all models in FOLDER, of any maker

    python -m tests.keras.whole_models words FOLDER MODULE .keras    a model of layers that have learnt words, and what it gives

`whole_models.tar.xz` has FOLDER/NAME-MODULE.SUFFIX, and .json beside each, of tf_keras (.h5) and keras (.h5, .keras); of words .keras of both.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def _dense(k: Any) -> Any:
    parts = [k.layers.Dense(8, "relu", kernel_regularizer=k.regularizers.L2(1e-3)), k.layers.BatchNormalization()]
    return k.Sequential([k.Input((4,)), *parts, k.layers.Dropout(0.0), k.layers.Dense(1)]), k.optimizers.Adam(0.01)


def _shared(k: Any) -> Any:
    x, shared = k.Input((4,), name="x"), k.layers.Dense(4, activation="tanh", name="shared")
    y = k.layers.Concatenate()([k.layers.Add()([shared(x), shared(shared(x))]), x])
    rate = k.optimizers.schedules.ExponentialDecay(0.01, 2, 0.9)
    return k.Model(x, k.layers.Dense(1, name="out")(k.layers.BatchNormalization()(y))), k.optimizers.RMSprop(rate)


def _nested(k: Any) -> Any:
    inner = k.Sequential([k.layers.Dense(3, "relu"), k.layers.BatchNormalization()])
    return k.Sequential([k.Input((4,)), inner, k.layers.Dense(1)]), k.optimizers.SGD(0.01, momentum=0.9, nesterov=True)


def _inside(k: Any) -> Any:
    a, b = k.Input((4,)), k.Input((4,))
    inner = k.Model(a, k.layers.Dense(3, "elu")(a))
    headed = k.Sequential([k.Input((4,)), k.layers.Dense(3)])
    return k.Model(b, k.layers.Dense(1)(k.layers.Add()([inner(b), headed(b)]))), k.optimizers.Adamax(0.01)


def _recurrent(k: Any) -> Any:
    parts = [k.layers.LSTM(3, return_sequences=True), k.layers.Bidirectional(k.layers.GRU(2)), k.layers.Dense(1)]
    return k.Sequential([k.Input((5, 3)), *parts]), k.optimizers.Adam(0.01, amsgrad=True)


def _masked(k: Any) -> Any:
    x = k.Input((6,), dtype="int32")
    y = k.layers.LSTM(3)(k.layers.Embedding(20, 4, mask_zero=True)(x))
    return k.Model(x, k.layers.Dense(1)(y)), k.optimizers.SGD(0.5)


def _images(k: Any) -> Any:
    x = k.Input((6, 6, 2))
    y = k.layers.Conv2D(4, 3, padding="same", use_bias=False)(x)
    z = k.layers.LeakyReLU()(k.layers.DepthwiseConv2D(3, padding="same")(k.layers.MaxPooling2D()(y)))
    z = k.layers.Conv2DTranspose(4, 2, strides=2)(k.layers.SeparableConv2D(3, 2, padding="same")(z))
    y = k.layers.GlobalAveragePooling2D()(k.layers.Multiply()([y, z]))
    return k.Model(x, k.layers.Dense(1)(y)), k.optimizers.Adagrad(0.01)


def _operations(k: Any) -> Any:
    x = k.Input((4, 4))
    y = k.layers.LayerNormalization()(k.layers.MultiHeadAttention(2, 3)(x, x) + x)
    y = k.layers.GlobalAveragePooling1D()(1.0 - y * 2.0 / (x + 9.0))
    return k.Model(x, k.layers.Dense(1)(y)), k.optimizers.AdamW(0.01)


MODELS: dict[str, Callable[[Any], Any]] = {
    f.__name__[1:]: f for f in (_dense, _shared, _nested, _inside, _recurrent, _masked, _images, _operations)
}


def results(model: Any) -> dict[str, list[float]]:
    """Return what a model gives for numbers of a seed, and the losses of two more epochs."""
    noise = np.random.RandomState(0)
    shape = (8, *model.input_shape[1:])
    x = noise.randint(0, 20, shape) if shape == (8, 6) else noise.randn(*shape).astype("float32")
    y = noise.randn(8, 1).astype("float32")
    given = np.ravel(model.predict(x, verbose=0)).tolist()
    lost = np.ravel(model.evaluate(x, y, verbose=0)).tolist()
    return {"given": given, "lost": lost, **_trained(model, x, y)}


def _trained(model: Any, x: Any, y: Any) -> dict[str, list[float]]:
    history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history
    return {"losses": [float(loss) for loss in history["loss"]]}


def write(name: str, keras: Any, path: Path) -> None:
    """Write a model that was trained for two epochs, and what it gives then."""
    keras.backend.clear_session()
    model, optimizer = MODELS[name](keras)
    noise = np.random.RandomState(3)
    model.set_weights([np.abs(noise.randn(*w.shape) * 0.3).astype(w.dtype) for w in model.get_weights()])
    model.compile(optimizer, keras.losses.Huber() if name == "shared" else "mse", metrics=["mae"])
    results(model)
    model.save(path)
    Path(f"{path}.json").write_text(json.dumps(results(model)))


def differences(path: Path, keras: Any, **options: Any) -> list[str]:
    """Return what a model that is read gives other than it gave when it was written."""
    found = results(keras.models.load_model(path, **options))
    wanted = json.loads(Path(f"{path}.json").read_text())
    return [part for part in found if not np.allclose(found[part], wanted[part], rtol=1e-3, atol=1e-5)]


TEXTS, WORDS = [["a b a"], ["b c"], ["a d d d"], ["zz b"]], [["a", "b"], ["a", "q"], ["c", "c"], ["c", "b"]]
NUMBERS, VALUES = [[3, 5], [3, 9], [9, 7], [9, 5]], [[1.0], [30.0], [80.0], [4.0]]


def words(k: Any) -> Any:
    """Return a model of layers that have learnt words, numbers and ranges, each in another kind of rows."""
    inputs = [k.Input((1,), dtype="string"), k.Input((2,), dtype="string"), k.Input((2,), dtype="int64"), k.Input((1,))]
    learning = [
        (0, TEXTS, k.layers.TextVectorization(output_mode="tf_idf")), (0, TEXTS, k.layers.TextVectorization()),
        (1, WORDS[:3], k.layers.StringLookup(output_mode="multi_hot")), (1, WORDS[:3], k.layers.StringLookup()),
        (2, NUMBERS[:2], k.layers.IntegerLookup(output_mode="count")), (2, NUMBERS[:2], k.layers.IntegerLookup()),
        (3, VALUES, k.layers.Discretization(num_bins=3)), (3, VALUES, k.layers.Normalization()),
    ]  # fmt: skip
    outputs = []
    for place, learnt, layer in learning:
        layer.adapt(np.array(learnt, object if place < 2 else None))
        outputs.append(layer(inputs[place]))
    return k.Model(inputs, outputs)


def told(model: Any, constant: Callable[[Any], Any]) -> list[list[float]]:
    """Return what a model of `words` gives."""
    given = [constant(TEXTS), constant(WORDS), constant(np.array(NUMBERS)), constant(np.array(VALUES, np.float32))]
    return [np.ravel(rows).astype(float).tolist() for rows in model(given)]


def main() -> None:
    """Run what the arguments say."""
    do, folder, module, suffix = sys.argv[1:]
    keras = importlib.import_module(module)
    if do == "words":
        from tensorflow import constant

        model = words(keras)
        model.save(Path(folder, f"words-{module}{suffix}"))
        Path(folder, f"words-{module}{suffix}.json").write_text(json.dumps(told(model, constant)))
        return
    if do == "write":
        for name in MODELS:
            write(name, keras, Path(folder, f"{name}-{module}{suffix}"))
        return
    for path in sorted(Path(folder).glob(f"*{suffix}")):
        try:
            print(path.name, differences(path, keras) or "as it was", flush=True)
        except Exception as error:
            print(path.name, f"{type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
