"""Functional models: symbolic tensors, shared layers, configs, and what is wrong with some. See also test_programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.errors import NotBuiltError
from fastgraph.keras import layers

X = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32")


def network() -> Any:
    """Two inputs, a layer twice, operators, a Lambda, a model in it, two outputs."""
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = layers.Dense(4, name="shared")
    inner = keras.Sequential([layers.Dense(2, input_shape=(4,), name="inside")], name="inner")
    joined = shared(a) * 2 + shared(b)[:, ::-1]
    scaled = layers.Lambda(double, name="twice")(joined)
    return keras.Model([a, b], {"left": inner(scaled), "right": layers.ReLU()(joined)}, name="net")


def double(x: Any) -> Any:
    return x * 2.0


def test_a_config_makes_the_same_model() -> None:
    model = network()
    again = keras.Model.from_config(model.get_config())
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    assert [w.name for w in again.weights] == [w.name for w in model.weights] and len(model.weights) == 4
    again.set_weights(model.get_weights())
    for one, other in zip(fg.nest.flatten(model([X, X])), fg.nest.flatten(again([X, X])), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="Unknown layer: 'Own'"):
        own = type("Own", (layers.Dense,), {})
        x = keras.Input((3,))
        keras.Model.from_config(keras.Model(x, own(2)(x)).get_config())


def test_it_is_the_function_that_its_layers_are() -> None:
    model = network()
    shared, inner = model.get_layer("shared"), model.get_layer("inner")
    joined = shared(X) * 2 + shared(X + 1)[:, ::-1]
    found = model([X, X + 1])
    np.testing.assert_allclose(found["left"], inner(joined * 2), rtol=1e-6)
    np.testing.assert_allclose(found["right"], fg.nn.relu(joined), rtol=1e-6)
    in_a_function = fg.function(lambda a, b: model({"a": a, "b": b}))(X, X + 1)
    np.testing.assert_allclose(in_a_function["left"], found["left"], rtol=1e-5)
    middle = keras.Model(model.inputs, model.get_layer("twice").output)
    np.testing.assert_allclose(inner(middle([X, X + 1])), found["left"], rtol=1e-6)


def test_training_is_handed_on_and_layers_can_be_frozen() -> None:
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dropout(0.5)(layers.Dense(3, kernel_initializer="identity")(x)))
    many = np.ones((50, 3), "float32")
    assert np.count_nonzero(model(many, training=True)) < np.count_nonzero(model(many))
    model.layers[1].trainable = False
    model.compile("sgd", "mse")
    assert model.trainable_variables == []
    before = model.get_weights()[0]
    model.layers[1].trainable = True
    model.fit(many, many * 3, verbose=0)
    assert not np.array_equal(before, model.get_weights()[0])


def test_symbols_say_what_they_are() -> None:
    x = keras.Input((None, 3), batch_size=2, dtype="float64", name="given")
    assert (x.shape.as_list(), x.dtype, x.name) == ([2, None, 3], fg.float64, "given")
    assert repr(x) == "<KerasTensor: shape=(2, None, 3) dtype=float64 (created by layer 'given')>"
    layer = layers.Dense(4)
    y = layer(x)
    assert layer.input is x and layer.output is y and y.shape.as_list() == [2, None, 4]


def sequential() -> Any:
    return keras.Sequential([layers.Dense(4, name="one"), layers.Dense(2, name="two")])


def test_layers_of_a_sequential_model_have_symbols() -> None:
    model = sequential()
    model.build((None, 3))
    middle = keras.Model(model.input, model.get_layer("one").output)
    np.testing.assert_allclose(middle(X), model.layers[0](X))
    with pytest.raises(AttributeError, match="no inbound nodes"):
        _ = sequential().layers[0].output


def shared_output() -> Any:
    layer, x = layers.Dense(2), keras.Input((3,))
    layer(x), layer(x)
    return layer.output


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: fg.exp(keras.Input((3,))), TypeError, "symbolic tensor .* tf.keras.layers.Lambda"),
    (lambda: np.exp(keras.Input((3,))), TypeError, "symbolic tensor"),
    (lambda: [*keras.Input((3,))], TypeError, "iterate"),
    (lambda: bool(keras.Input((3,))), TypeError, "no value yet"),
    (lambda: keras.Model(X, X), ValueError, "must come from `tf.keras.Input`"),
    (lambda: keras.Model(inputs=keras.Input((3,))), ValueError, "received only inputs"),
    (lambda: keras.Model(keras.Input((3,)), layers.Dense(1)(keras.Input((3,)))), ValueError, "Graph disconnected"),
    (lambda: network()([X]), ValueError, r'"net" expects 2 input\(s\), but it received 1'),
    (lambda: network()([X, X[:, :2]]), ValueError, r'Input 1 of layer "net" .*found shape=\(4, 2\)'),
    (lambda: network()({"a": X}), ValueError, r"Missing data for input \['b'\]"),
    (lambda: keras.Input((3,), sparse=True), NotBuiltError, "sparse"),
    (shared_output, AttributeError, "multiple inbound nodes"),
    (lambda: type("Own", (keras.Model,), {})().get_config(), NotImplementedError, "override `get_config`"),
]


@pytest.mark.parametrize(("run", "error", "text"), BAD)
def test_errors(run: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()
