"""ConvLSTM, SpectralNormalization, ThresholdedReLU, ActivityRegularization, clones by a function, files of pictures.

Values stand beside those of other layers of which they are made, or of Keras 2 (tf_keras 2.21) where that is said.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.keras import layers, utils

KINDS = {1: layers.ConvLSTM1D, 2: layers.ConvLSTM2D, 3: layers.ConvLSTM3D}


def filled(layer: Any, x: Any) -> Any:
    """The layer, with weights that are drawn by their places."""
    layer(x)
    layer.set_weights([np.random.default_rng(i).normal(0, 0.4, w.shape) for i, w in enumerate(layer.get_weights())])
    return layer


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_windows_of_one_place_are_an_lstm_of_each_place(rank: int, data_format: str) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, *(3, 2, 2)[:rank], 5)).astype(np.float32)
    kept = np.array([[True, False, True, True], [True, True, False, False]])
    one = {"recurrent_activation": "sigmoid", "return_sequences": True}
    last = data_format == "channels_last"
    given = x if last else np.moveaxis(x, -1, 2)
    layer = filled(KINDS[rank](3, 1, data_format=data_format, **one), given)
    plain = layers.LSTM(3, **one)
    rows = x.reshape(2, 4, -1, 5).transpose(0, 2, 1, 3).reshape(-1, 4, 5)
    plain(rows)
    plain.set_weights([w.reshape(w.shape[-2:]) for w in layer.get_weights()])
    for mask in (None, kept):
        of_rows = None if mask is None else np.repeat(mask, rows.shape[0] // 2, axis=0)
        wanted = plain(rows, mask=of_rows).numpy().reshape(2, -1, 4, 3).transpose(0, 2, 1, 3)
        found = layer(given, mask=None if mask is None else fg.constant(mask)).numpy()
        found = found if last else np.moveaxis(found, 2, -1)
        np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)


def test_a_convolution_of_inputs_and_of_states() -> None:
    x = np.random.default_rng(1).normal(size=(2, 2, 7, 6, 2)).astype(np.float32)
    layer = filled(layers.ConvLSTM2D(3, (3, 2), strides=2, return_state=True), x)
    kernel, recurrent, bias = map(fg.constant, layer.get_weights())
    h = c = np.zeros((2, 3, 3, 3), np.float32)
    for t in range(2):
        gates = fg.nn.conv2d(x[:, t], kernel, 2, "VALID") + bias + fg.nn.conv2d(h, recurrent, 1, "SAME")
        i, f, new, o = fg.split(gates, 4, -1)
        hard = keras.activations.hard_sigmoid
        c = hard(f) * c + hard(i) * fg.tanh(new)
        h = hard(o) * fg.tanh(c)
    output, *states = layer(x)
    np.testing.assert_allclose(output, h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[1], c, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(states[0], output)


def test_a_conv_lstm_trains_with_dropout_and_comes_back(tmp_path: Path) -> None:
    x = np.random.default_rng(2).normal(size=(8, 3, 6, 6, 1)).astype(np.float32)
    inside = layers.ConvLSTM2D(
        2, 3, padding="same", dropout=0.1, recurrent_dropout=0.1, return_sequences=True, name="c"
    )
    model = keras.Sequential([keras.Input((3, 6, 6, 1)), inside, layers.ConvLSTM2D(1, 3, dilation_rate=2)])
    model.compile("adam", "mse")
    losses = model.fit(x, np.ones((8, 2, 2, 1)), epochs=8, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert [w.name for w in inside.weights] == ["c/kernel:0", "c/recurrent_kernel:0", "c/bias:0"]
    config = inside.get_config()
    assert {"filters", "kernel_size", "recurrent_activation"} <= config.keys() and "rank" not in config
    assert type(inside).from_config(config).get_config() == config
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(x), model(x))
    fg.saved_model.save(model, tmp_path)
    loaded = fg.saved_model.load(tmp_path).signatures["serving_default"](fg.constant(x))
    np.testing.assert_allclose(next(iter(loaded.values())), model(x), rtol=1e-5, atol=1e-6)


def test_extents_of_a_conv_lstm_have_to_be_known() -> None:
    with pytest.raises(ValueError, match="should be defined"):
        layers.ConvLSTM2D(1, 3)(keras.Input((3, None, 6, 1)))
    with pytest.raises(ValueError, match="expected ndim=5"):
        layers.ConvLSTM2D(1, 3)(np.zeros((2, 3, 4, 4), "float32"))


def test_spectral_norms_come_to_one() -> None:
    layer = layers.SpectralNormalization(layers.Dense(4), power_iterations=30)
    x = np.random.default_rng(3).normal(size=(5, 6)).astype(np.float32)
    layer(x)
    left, right = (np.linalg.qr(np.random.default_rng(i).normal(size=(n, n)))[0] for i, n in enumerate((6, 4)))
    before = ((left[:, :4] * [3.0, 1.0, 0.5, 0.2]) @ right).astype(np.float32)  # singular values apart: it converges
    layer.layer.kernel.assign(before)
    np.testing.assert_allclose(layer(x), x @ before, rtol=1e-5, atol=1e-6)
    layer(x, training=True)
    after = layer.layer.kernel.numpy()
    np.testing.assert_allclose(np.linalg.norm(after, 2), 1, rtol=1e-4)
    np.testing.assert_allclose(after * np.linalg.norm(before, 2), before, rtol=1e-3)
    assert len(layer.trainable_weights) == 2 and layer.weights[-1].shape == (1, 4)
    layer.layer.kernel.assign(fg.zeros([6, 4]))
    assert np.all(layer(x, training=True) == 0)
    step = fg.function(lambda x: layer(x, training=True))
    layer.layer.kernel.assign(before)
    step(fg.constant(x))
    np.testing.assert_allclose(layer.layer.kernel, after, rtol=1e-3)
    copy = layers.deserialize(layers.serialize(layer))
    assert copy.power_iterations == 30 and copy.layer.units == 4
    with pytest.raises(ValueError, match="greater than zero"):
        layers.SpectralNormalization(layers.Dense(4), 0)
    with pytest.raises(ValueError, match="no attribute 'kernel' nor 'embeddings'"):
        layers.SpectralNormalization(layers.ReLU())(x)


def test_rectified_above_a_threshold_and_regularized_activity() -> None:
    x = np.array([[-2.0, 0.5, 1.0, 1.5]], np.float32)
    assert layers.ThresholdedReLU()(x).numpy().tolist() == [[0, 0, 0, 1.5]]
    assert layers.ThresholdedReLU(0.4)(x).numpy().tolist() == [[0, 0.5, 1.0, 1.5]]
    for wrong in (-1.0, None):
        with pytest.raises(ValueError, match="Thresholded ReLU"):
            layers.ThresholdedReLU(wrong)  # type: ignore[arg-type]
    layer = layers.ActivityRegularization(0.1, 0.2)
    assert layer(np.concatenate([x, x])).numpy().tolist() == [*x.tolist()] * 2
    assert float(layer.losses[0]) == pytest.approx(0.1 * 5.0 + 0.2 * 7.5)  # per example
    assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()


def test_clones_whose_layers_a_function_makes() -> None:
    inputs = keras.Input((4,), name="i")
    shared = layers.Dense(3, name="a")
    model = keras.Model(inputs, [layers.Dense(2, name="b")(shared(inputs) + shared(2.0 * inputs)), shared(inputs)])
    seen: list[str] = []

    def other(layer: Any) -> Any:
        seen.append(layer.name)
        return layers.Dense(5, name="new") if layer.name == "b" else type(layer).from_config(layer.get_config())

    clone = keras.models.clone_model(model, clone_function=other)
    assert [tuple(each.shape) for each in clone.outputs] == [(None, 5), (None, 3)] and seen.count("a") == 1
    assert "i" not in seen and [w.shape for w in clone.weights] == [(4, 3), (3,), (3, 5), (5,)]
    line = keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.Dropout(0.5, name="d")], name="line")
    clone = keras.models.clone_model(line, clone_function=lambda layer: type(layer).from_config(layer.get_config()))
    assert clone.name == "line" and clone.layers[1].name == "d" and clone.input_shape == (None, 3)
    with pytest.raises(ValueError, match="to be a callable"):
        keras.models.clone_model(line, clone_function=3)  # type: ignore[arg-type]

    class Own(keras.Model):  # type: ignore[misc]
        pass

    with pytest.raises(ValueError, match="subclassed model"):
        keras.models.clone_model(Own(), clone_function=lambda layer: layer)


def test_pictures_as_arrays_and_files(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    x = np.random.default_rng(4).random((6, 5, 3))
    utils.save_img(tmp_path / "p.png", x)
    image = utils.load_img(tmp_path / "p.png")
    stretched = (x - x.min()) / (x - x.min()).max() * 255
    np.testing.assert_allclose(utils.img_to_array(image), stretched, atol=1)
    assert utils.load_img(str(tmp_path / "p.png"), target_size=(4, 3)).size == (3, 4)
    assert utils.load_img(tmp_path / "p.png", color_mode="rgba").mode == "RGBA"
    assert utils.load_img(io.BytesIO((tmp_path / "p.png").read_bytes()), grayscale=True).mode == "L"
    square = utils.load_img(tmp_path / "p.png", target_size=(5, 5), keep_aspect_ratio=True)
    np.testing.assert_array_equal(utils.img_to_array(square), utils.img_to_array(image)[:5])
    plain = utils.array_to_img(np.full((2, 2, 1), 7), scale=False)
    assert plain.mode == "L" and np.asarray(plain).tolist() == [[7, 7], [7, 7]]
    assert utils.array_to_img(np.full((2, 2, 1), 700), scale=False).mode == "I"
    utils.save_img(tmp_path / "p.jpg", np.zeros((4, 4, 4)), file_format="jpeg")
    for wrong, error in (
        (lambda: utils.load_img(tmp_path / "p.png", color_mode="x"), ValueError),
        (lambda: utils.load_img(tmp_path / "p.png", target_size=(2, 2), interpolation="x"), ValueError),
        (lambda: utils.load_img(3), TypeError),
        (lambda: utils.load_img(tmp_path / "none.png"), FileNotFoundError),
        (lambda: utils.array_to_img(np.zeros((2, 2))), ValueError),
        (lambda: utils.array_to_img(np.zeros((2, 2, 2))), ValueError),
    ):
        with pytest.raises(error):
            wrong()


def test_arrays_over_their_norms() -> None:
    assert utils.normalize([[3.0, 4.0], [0.0, 0.0]]).tolist() == [[0.6, 0.8], [0.0, 0.0]]
    assert utils.normalize([[1.0, 3.0], [3.0, 1.0]], axis=0, order=1).tolist() == [[0.25, 0.75], [0.75, 0.25]]
