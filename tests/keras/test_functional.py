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


WEIGHTS = fg.constant(np.linspace(-1, 1, 15, dtype=np.float32).reshape(3, 5))
OPS: dict[str, Callable[[Any], Any]] = {
    "operators": lambda x: (1.0 - x / 255.0) ** 2 + abs(-x) % 3.0,
    "slices": lambda x: x[:, ::2, 1:, fg.newaxis],
    "compare": lambda x: fg.where(x > 0.5, x, 0.0),
    "reduce": lambda x: fg.reduce_mean(x, axis=[1, 2]),
    "joined": lambda x: fg.concat([x, fg.nn.relu(x)], -1),
    "constant first": lambda x: fg.stack([fg.ones([8, 3]), fg.reduce_sum(x, [0, 1])]),
    "product": lambda x: fg.einsum("bijk,kl->bijl", x, WEIGHTS) + x @ WEIGHTS,
    "own sizes": lambda x: fg.reshape(x, [fg.shape(x)[0], x.shape[1] * 8, 3]),
    "resized": lambda x: fg.image.resize(x, (4, 5)),
    "several results": lambda x: fg.split(x, 3, axis=-1)[1] + fg.math.top_k(x, 2).values,
    "integers": lambda x: fg.one_hot(fg.argmax(x, -1), 3, dtype=fg.float64),
    "convolved": lambda x: fg.nn.conv2d(x, fg.reshape(WEIGHTS, [1, 1, 3, 5]), 2, "SAME"),
    "loss": lambda x: keras.losses.mse(x, fg.stop_gradient(x) * 0.5),
    "layer between": lambda x: layers.Flatten()(fg.transpose(x, [0, 3, 1, 2])) * 2.0,
}


@pytest.mark.parametrize("name", OPS)
def test_ops_become_layers(name: str, rng: np.random.Generator) -> None:
    x, given = keras.Input((8, 8, 3)), rng.random((2, 8, 8, 3), np.float32)
    y, wanted = OPS[name](x), OPS[name](fg.constant(given))
    assert (y.dtype, y.shape.is_compatible_with(wanted.shape)) == (wanted.dtype, True)
    model = keras.Model(x, y)
    for each in (model, keras.models.model_from_json(model.to_json()), keras.models.clone_model(model)):
        np.testing.assert_allclose(each(given), wanted, 1e-6, 1e-6)
    np.testing.assert_allclose(fg.function(model)(given), wanted, 1e-5, 1e-6)


def test_an_op_that_reads_a_variable_reads_it_at_each_call() -> None:
    x, variable = keras.Input((3,)), fg.Variable(2.0)
    model = keras.Model(x, x * variable)
    assert model(np.ones((1, 3), np.float32)).numpy().tolist() == [[2.0] * 3]
    variable.assign(3.0)
    assert model(np.ones((1, 3), np.float32)).numpy().tolist() == [[3.0] * 3]


def test_a_functional_model_adds_losses_of_symbols() -> None:
    """Numbers of tf-keras: a dense autoencoder whose loss is made of its inputs, outputs and code."""
    initial = keras.initializers.Constant(0.05)
    x = keras.Input((8,))
    code = layers.Dense(2, kernel_initializer=initial)(layers.Dense(6, "relu", kernel_initializer=initial)(x))
    y = layers.Dense(8, "sigmoid", kernel_initializer=initial)(fg.concat([code, fg.exp(0.5 * code)], -1))
    model = keras.Model(x, y)
    model.add_loss(fg.reduce_mean(keras.losses.binary_crossentropy(x, y)) * 8)
    model.add_loss(0.1 * fg.reduce_mean(fg.square(code)))
    model.compile(keras.optimizers.Adam(0.01))
    data = np.linspace(0, 1, 256, dtype=np.float32).reshape(32, 8) ** 2
    losses = model.fit(data, epochs=3, batch_size=16, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [5.6951437, 5.6202154, 5.5618520], 1e-6)
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    again.compile(keras.optimizers.Adam(0.01))
    assert again.evaluate(data, verbose=0) == pytest.approx(model.evaluate(data, verbose=0), 1e-5)


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
    (lambda: fg.nn.dropout(keras.Input((3,)), 0.5), TypeError, "symbolic tensor .* random .* tf.keras.layers.Lambda"),
    (lambda: fg.nn.dropout(keras.Input((3,), batch_size=2), 0.5), TypeError, "draws random numbers"),
    (lambda: fg.random.normal(fg.shape(keras.Input((3,)))), TypeError, "draws random numbers"),
    (lambda: fg.random.normal([2, 3], keras.Input((3,))), TypeError, "draws random numbers"),
    (lambda: fg.image.random_flip_left_right(keras.Input((8, 8, 3))), TypeError, "draws random numbers"),
    (lambda: fg.image.random_crop(keras.Input((8, 8, 3)), [1, 4, 4, 3]), TypeError, "draws random numbers"),
    (lambda: fg.image.random_hue(keras.Input((8, 8, 3)), 0.2), TypeError, "draws random numbers"),
    (lambda: fg.nn.fractional_max_pool(keras.Input((8, 8, 3)), 1.4), TypeError, "draws random numbers"),
    (lambda: fg.map_fn(fg.exp, keras.Input((3,))), TypeError, "number of elements .*Lambda"),
    (lambda: fg.scan(fg.add, keras.Input((3,))), TypeError, "number of elements .*Lambda"),
    (lambda: fg.function(fg.exp)(keras.Input((3,))), TypeError, "needs values"),
    (lambda: fg.cond(keras.Input(())[0] > 0, lambda: 1, lambda: 2), TypeError, "no value yet"),
    (lambda: layers.Dense(2).add_loss(fg.reduce_sum(keras.Input((3,)))), TypeError, "no value yet"),
    (lambda: keras.Input((3,)) @ fg.ones([2, 4]), ValueError, "Dimensions must be equal"),
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
