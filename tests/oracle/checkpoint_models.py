"""Models of Keras 2 whose weights and optimizers are saved by one library and restored by the other."""

from __future__ import annotations

from typing import Any

import numpy as np


def _dense(k: Any) -> Any:
    return k.Sequential([k.layers.Dense(3, activation="relu", input_shape=(4,)), k.layers.Dense(2)]), (4,)


def _normalized(k: Any) -> Any:
    parts = [k.layers.Dense(3), k.layers.BatchNormalization(), k.layers.LayerNormalization(), k.layers.Dropout(0.5)]
    return k.Sequential([*parts, k.layers.Dense(1)]), (4,)


def _images(k: Any) -> Any:
    parts = [k.layers.Conv2D(4, 3), k.layers.MaxPooling2D(), k.layers.SeparableConv2D(2, 2), k.layers.Flatten()]
    return k.Sequential([*parts, k.layers.Dense(2)]), (8, 8, 3)


def _recurrent(k: Any) -> Any:
    parts = [k.layers.LSTM(3, return_sequences=True), k.layers.Bidirectional(k.layers.GRU(2)), k.layers.Dense(1)]
    return k.Sequential(parts), (5, 2)


def _functional(k: Any) -> Any:
    x = k.Input((4,))
    shared = k.layers.Dense(4, activation="tanh")
    y = k.layers.Add()([shared(x), shared(shared(x))])
    return k.Model(x, [k.layers.Dense(2)(y), k.layers.Dense(1)(k.layers.BatchNormalization()(y))]), (4,)


def _nested(k: Any) -> Any:
    inside = k.Sequential([k.layers.Dense(3), k.Sequential([k.layers.Dense(3), k.layers.Dense(3)])])
    return k.Sequential([inside, k.layers.Dense(2)]), (4,)


def _subclass(k: Any) -> Any:
    class Block(k.layers.Layer):
        def __init__(self, units: int) -> None:
            super().__init__()
            self.units = units
            self.inner = k.layers.Dense(units)

        def build(self, input_shape: Any) -> None:
            self.scale = self.add_weight(name="gain", shape=(self.units,), initializer="ones")
            super().build(input_shape)

        def call(self, x: Any) -> Any:
            return self.inner(x) * self.scale

    class Model(k.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block(3), Block(4)]
            self.named = {"out": k.layers.Dense(1), "more": k.layers.Dense(1)}

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.named["out"](x) + self.named["more"](x)

    return Model(), (4,)


MODELS = {f.__name__[1:]: f for f in (_dense, _normalized, _images, _recurrent, _functional, _nested, _subclass)}
OPTIMIZERS = {
    "adam": lambda o: o.Adam(0.5, amsgrad=True),
    "sgd": lambda o: o.SGD(0.5, momentum=0.5),
    "rmsprop": lambda o: o.RMSprop(0.5, momentum=0.5, centered=True),
    "adagrad": lambda o: o.Adagrad(0.5),
}


def model_answer(tf: Any, keras: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Save a model with weights of a seed, or restore it: before its weights are made if `later`."""
    model, shape = MODELS[order["model"]](keras)
    model.compile(OPTIMIZERS[order["optimizer"]](keras.optimizers), "mse")

    def make() -> None:
        model(np.zeros((1, *shape), np.float32))
        model.optimizer.build(model.trainable_variables)

    status = None
    if order["do"] == "restore" and order["later"]:
        status = model.load_weights(order["path"])
    make()
    variables = [*model.weights, *model.optimizer.variables[1:]]
    if order["do"] == "save":
        noise = np.random.default_rng(order["seed"])
        for variable in variables:
            variable.assign(noise.normal(size=variable.shape).astype(np.float32))
        model.optimizer.iterations.assign(order["seed"])
        model.optimizer.learning_rate = 0.125
        model.save_weights(order["path"])
    elif status is None:
        status = model.load_weights(order["path"])
    if status is not None:
        status.assert_consumed()
    found = {str(i): np.asarray(variable.numpy()).tobytes().hex() for i, variable in enumerate(variables)}
    found |= {"step": int(model.optimizer.iterations.numpy()), "rate": float(model.optimizer.learning_rate.numpy())}
    return {"path": order["path"], "values": found}
