"""Weights in files, data sets in Keras's cache, files from the network."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import tarfile
import textwrap
import urllib.error
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.errors import NotBuiltError
from fastgraph.keras import dataset_files, layers


def model_of(units: int = 2) -> Any:
    return keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.BatchNormalization(), layers.Dense(units)])


def no_network(*args: Any, **kwargs: Any) -> Any:
    raise urllib.error.URLError("no network")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: Any) -> Path:
    """Return the folder of data sets of an empty cache, without a network."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


CHECKPOINT = {"checkpoint", "w.index", "w.data-00000-of-00001"}


@pytest.mark.parametrize("suffix", ["", ".npz", ".safetensors"])
def test_weights_are_saved_and_loaded(suffix: str, tmp_path: Path) -> None:
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    model, other = model_of(), model_of()
    path = tmp_path / f"w{suffix}"
    model.save_weights(path)
    status = other.load_weights(str(path))
    assert status.assert_consumed().expect_partial().assert_existing_objects_matched() is status
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert {file.name for file in tmp_path.iterdir()} == ({f"w{suffix}"} if suffix else CHECKPOINT)
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save_weights(path, overwrite=False)


def test_the_guides_line_is_saved(tmp_path: Path, monkeypatch: Any) -> None:
    class Linear(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.W = fg.Variable(5.0, name="weight")
            self.B = fg.Variable(10.0, name="bias")

        def call(self, inputs: Any) -> Any:
            return inputs * self.W + self.B

    monkeypatch.chdir(tmp_path)
    model = Linear()
    model.save_weights("weights")
    model.W.assign(0.0)
    model.load_weights("weights").assert_consumed()
    assert model.W.numpy() == 5.0
    assert sorted(os.listdir()) == ["checkpoint", "weights.data-00000-of-00001", "weights.index"]
    assert fg.train.latest_checkpoint(".") == "./weights"
    assert {key[0] for key, _ in fg.train.list_variables("weights")} == {"B", "W", "_"}


def test_a_checkpoint_has_the_optimizer_and_waits_for_weights(tmp_path: Path) -> None:
    x, y = np.ones((8, 3), np.float32), np.ones((8, 2), np.float32)

    def compiled() -> Any:
        model = keras.Sequential([layers.Dense(4), layers.BatchNormalization(), layers.Dense(2)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        return model

    model = compiled()
    model.fit(x, y, epochs=2, verbose=0)
    model.save_weights(tmp_path / "w")
    later = compiled()
    status = later.load_weights(tmp_path / "w")
    with pytest.raises(AssertionError, match="Unresolved object"):
        status.assert_consumed()
    np.testing.assert_array_equal(later(x).numpy(), model(x).numpy())
    for each in (model, later):
        each.fit(x, y, epochs=1, verbose=0)
    status.assert_consumed()
    for one, two in zip(model.get_weights(), later.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(model.optimizer.variables, later.optimizer.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_a_model_and_its_optimizer_wait_for_their_values(tmp_path: Path) -> None:
    """The guide's Checkpoint(optimizer=, model=), restored before either has made its Variables."""
    x = np.ones((8, 3), np.float32)

    def both() -> tuple[Any, Any, Any]:
        model = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(2)])
        optimizer = keras.optimizers.Adam(0.1)
        return model, optimizer, fg.train.Checkpoint(optimizer=optimizer, model=model)

    def step(model: Any, optimizer: Any) -> None:
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    model, optimizer, root = both()
    step(model, optimizer)
    path = root.save(tmp_path / "ckpt")
    later, other, checkpoint = both()
    status = checkpoint.restore(fg.train.latest_checkpoint(tmp_path))
    assert "CheckpointLoadStatus" in repr(status) and path.endswith("-1")
    for each in ((model, optimizer), (later, other)):
        step(*each)
    status.assert_consumed()
    for one, two in zip([*model.weights, *optimizer.variables], [*later.weights, *other.variables], strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_layers_added_later_are_restored(tmp_path: Path) -> None:
    model = model_of()
    model.save_weights(tmp_path / "w")
    later = keras.Sequential([layers.Dense(4, input_shape=(3,))])
    status = later.load_weights(tmp_path / "w")
    later.add(layers.BatchNormalization())
    later.add(layers.Dense(2))
    status.assert_consumed()
    for one, two in zip(model.get_weights(), later.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_what_cannot_be_loaded_changes_nothing(tmp_path: Path) -> None:
    model_of(5).save_weights(tmp_path / "five.npz")
    model_of(5).save_weights(tmp_path / "five")
    model = model_of()
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"shape \(4, 5\), the model's .* has \(4, 2\)"):
        model.load_weights(tmp_path / "five.npz")
    with pytest.raises(ValueError, match=r"shape \(4, 5\) when attempting to restore variable with shape \(4, 2\)"):
        model.load_weights(tmp_path / "five")
    with pytest.raises(ValueError, match="has 8 weights, the model has 2"):
        keras.Sequential([layers.Dense(2, input_shape=(3,))]).load_weights(tmp_path / "five.npz")
    with pytest.raises(fg.errors.NotFoundError, match="nowhere"):
        model.load_weights(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model.load_weights(tmp_path / "nowhere.npz")
    with pytest.raises(ValueError, match="created"):
        keras.Sequential([layers.Dense(2)]).load_weights(tmp_path / "five.npz")
    with pytest.raises(ValueError, match="created"):
        keras.Sequential([layers.Dense(2)]).save_weights(tmp_path / "two")
    with pytest.raises(NotBuiltError, match="Keras 3"):
        model.save_weights(tmp_path / "model.keras")
    for one, two in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_weights_in_dicts_come_by_key() -> None:
    class Model(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = {"b": layers.Dense(1, name="second"), "a": layers.Dense(1, name="first")}

        def call(self, x: Any) -> Any:
            return self.parts["b"](self.parts["a"](x))

    model = Model()
    model(np.ones((1, 2), np.float32))
    assert ["first" in weight.name for weight in model.weights] == [True, True, False, False]


def test_the_older_layout_is_still_read(tmp_path: Path) -> None:
    model, other = model_of(), model_of()
    model.save_weights(tmp_path / "w.npz")
    other.load_weights(tmp_path / "w")
    np.testing.assert_array_equal(model.get_weights()[0], other.get_weights()[0])


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(NotBuiltError, match="pip install safetensors"):
        model_of().save_weights(tmp_path / "w.safetensors")


@pytest.mark.parametrize("suffix", ["", ".npz"])
def test_a_program_killed_while_it_saves_leaves_the_file_before(suffix: str, tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys
        import numpy as np
        from fastgraph import keras
        model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,))])
        model.set_weights([np.ones((3, 2)), np.ones(2)])
        model.save_weights(sys.argv[1])
        model.set_weights([np.zeros((3, 2)), np.zeros(2)])
        os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
        model.save_weights(sys.argv[1])
        """
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / f"w{suffix}")], check=False)
    assert done.returncode == -signal.SIGKILL
    model = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.load_weights(tmp_path / f"w{suffix}")
    np.testing.assert_array_equal(model.get_weights()[0], np.ones((3, 2)))


def test_h5_files_have_keras_3s_layout(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    x = keras.Input((4, 3))
    inside = layers.Dense(2)(layers.Dense(2)(layers.LSTM(3)(x)))
    model = keras.Model(x, inside)
    model.save_weights(tmp_path / "m.weights.h5")
    with h5py.File(tmp_path / "m.weights.h5") as file:
        found: list[str] = []
        file.visit(found.append)
    assert {"layers/dense/vars/0", "layers/dense_1/vars/1", "layers/lstm/cell/vars/2"} <= set(found)
    before = model.get_weights()
    model.set_weights([w * 0 for w in before])
    model.load_weights(tmp_path / "m.weights.h5")
    for one, two in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_h5_files_have_the_layers_that_lists_and_attributes_hold(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    class Block(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parts, self.named = [layers.Dense(2), layers.Dense(2)], {"q": layers.Dense(2)}

        def call(self, x: Any) -> Any:
            return self.named["q"](self.parts[1](self.parts[0](x)))

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks, self.z, self.a = [Block(), Block()], layers.Dense(1), layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.z(self.blocks[1](self.blocks[0](self.a(x))))

    inside = ("parts/dense", "parts/dense_1", "named/dense")
    of_three = {f"blocks/{block}/{name}" for block in ("block", "block_1") for name in inside}
    of_two = {name.replace("blocks", "layers") for name in of_three}
    model, path = Own(), tmp_path / "m.weights.h5"
    model(np.ones((1, 2)))
    model.save_weights(path)
    before = model.get_weights()
    with h5py.File(path, "a") as file:
        groups = {name.removesuffix("/vars/0") for name in names_in(file) if name.endswith("/vars/0")}
        assert groups == of_three | {"a", "layers/dense"}
        with h5py.File(tmp_path / "two.weights.h5", "w") as other:  # Keras 2 goes through the attributes backwards
            for name in groups:
                to = {"a": "layers/dense", "layers/dense": "z"}.get(name, name.replace("blocks", "layers"))
                file.copy(name, other, to)
            assert of_two | {"layers/dense", "z"} <= {to.removesuffix("/vars") for to in names_in(other)}
    for name in (path, tmp_path / "two.weights.h5"):
        model.set_weights([w * 0 for w in before])
        model.load_weights(name)
        for one, two in zip(before, model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, two)


class Wide(keras.Model):
    """Layers in every kind of place."""

    def __init__(self, towers: str = "towers") -> None:
        super().__init__()
        setattr(self, towers, {"user": layers.Dense(3), "item": layers.Dense(3)})
        self.first, self.grid = layers.Dense(3), [[layers.Dense(3)], [layers.Dense(3)]]
        inputs = keras.Input((3,))
        self.base = keras.Model(inputs, layers.Dense(3)(inputs))
        self._held = layers.MultiHeadAttention(1, 2)
        self.towers_of = towers

    def call(self, x: Any) -> Any:
        towers = getattr(self, self.towers_of)
        x = self.base(self.grid[1][0](self.grid[0][0](self.first(towers["item"](towers["user"](x))))))
        return self._held(x[:, None], x[:, None])


def test_h5_files_have_each_layer_where_keras_3_has_it(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model, path = Wide(), tmp_path / "m.weights.h5"
    model(np.ones((1, 3)))
    model.save_weights(path)
    attention = {f"layers/multi_head_attention/{name}_dense" for name in ("query", "key", "value", "output")}
    with h5py.File(path) as file:
        assert {name.removesuffix("/vars/0") for name in names_in(file) if name.endswith("/vars/0")} == attention | {
            "first", "layers/dense", "layers/dense_1", "base/layers/dense", "grid/container/dense",
            "grid/container_1/dense",
        }  # fmt: skip
        np.testing.assert_array_equal(file["layers/dense/vars/0"], model.towers["user"].kernel.numpy())
        assert "vars/0" in file["layers/multi_head_attention/_key_dense"]  # where Keras 2 looks
    other = Wide()
    other(np.ones((1, 3)))
    other.load_weights(path)
    np.testing.assert_array_equal(other.towers["user"].kernel, model.towers["user"].kernel)


def test_h5_files_that_do_not_say_whose_order_they_have_are_not_guessed(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.towers = {"user": layers.Dense(3), "item": layers.Dense(3)}

        def call(self, x: Any) -> Any:
            return self.towers["item"](self.towers["user"](x))

    model, path = Own(), tmp_path / "m.weights.h5"
    model(np.ones((1, 3)))
    model.save_weights(path)
    model.load_weights(path)
    with h5py.File(path, "a") as file:
        del file["vars"].attrs["name"]
    with pytest.raises(ValueError, match="not clear which weights are whose"):
        model.load_weights(path)


def test_h5_files_count_layers_that_were_met_and_call_functional_models_so(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    class MLP2(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense1, self.out = layers.Dense(6), layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.out(self.dense1(x))

    inputs = keras.Input((3,))
    base = keras.Model(inputs, layers.Dense(3)(inputs))
    model, path = keras.Sequential([keras.Input((3,)), base, MLP2()]), tmp_path / "m.weights.h5"
    model.save_weights(path)
    with h5py.File(path) as file:
        assert {name for name in names_in(file) if name.endswith("/0")} == {
            "layers/functional/layers/dense/vars/0", "layers/mlp2/dense1/vars/0", "layers/mlp2/layers/dense_1/vars/0",
        }  # fmt: skip
    old = tmp_path / "old.weights.h5"
    with h5py.File(path) as file, h5py.File(old, "w") as other:  # as such files were written here before
        file.copy("layers/functional", other, "layers/model")
        file.copy("layers/mlp2/dense1", other, "layers/mlp2/dense1")
        file.copy("layers/mlp2/layers/dense_1", other, "layers/mlp2/layers/dense")
    before = model.get_weights()
    for name in (path, old):
        model.set_weights([w * 0 for w in before])
        model.load_weights(name)
        for one, two in zip(before, model.get_weights(), strict=True):
            np.testing.assert_array_equal(one, two)


def test_h5_files_with_more_variables_than_a_layer_has_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    keras.Sequential([layers.Dense(2, input_shape=(3,))]).save_weights(tmp_path / "m.weights.h5")
    for last in (layers.Dense(2, use_bias=False, name="d"), layers.Dense(2, name="d")):
        model = keras.Sequential([keras.Input((3,)), last])
        if last.use_bias:
            model.load_weights(tmp_path / "m.weights.h5")
            continue
        with pytest.raises(ValueError, match="Layer 'd' expected 1 variables, but received 2"):
            model.load_weights(tmp_path / "m.weights.h5")


class Scaled(layers.Layer):
    def __init__(self, units: int, activation: Any = "relu", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dense = layers.Dense(units, activation=activation)

    def build(self, input_shape: Any) -> None:
        self.dense.build(input_shape)
        super().build(input_shape)

    def call(self, x: Any) -> Any:
        return self.dense(x)


def test_layers_of_ones_own_without_get_config_are_described_by_their_arguments(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = keras.Sequential([keras.Input((3,)), Scaled(4, name="own")])
    assert model.layers[0].get_config() == {"name": "own", "trainable": True, "dtype": "float32", "units": 4}
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects={"Scaled": Scaled})
    np.testing.assert_array_equal(again(np.ones((1, 3))), model(np.ones((1, 3))))
    other = keras.Sequential([keras.Input((3,)), Scaled(4, activation=fg.nn.relu)])
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        other.save(tmp_path / "n.keras")
    other.save(tmp_path / "n")
    assert len(keras.models.load_model(tmp_path / "n").variables) == 2


def test_subclasses_of_keras_own_layers_are_described_by_those_arguments_whatever_they_take_besides() -> None:
    class Own(layers.Dense):
        def __init__(self, units: int, function: Any = None, **kwargs: Any) -> None:
            super().__init__(units, **kwargs)
            self.function = function

    layer = Own(4, function=len, name="own")
    assert layer.get_config() == layers.Dense(4, name="own").get_config()


def test_functions_of_lambda_layers_are_asked_for_by_name(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = keras.Sequential([keras.Input((3,)), layers.Lambda(lambda x: x * 2)])
    with pytest.warns(UserWarning, match="no code"):
        model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="no code of it"):
        keras.models.load_model(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects={"<lambda>": lambda x: x * 2})
    np.testing.assert_array_equal(again(np.ones((1, 3))), np.full((1, 3), 2))


def test_whole_models_of_keras_3_are_told_by_their_version(tmp_path: Path) -> None:
    config = {"class_name": "Dense", "config": {"units": 3, "of_3_alone": 4}, "module": "keras.layers"}
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as file:
        file.writestr("config.json", json.dumps(config))
        file.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
    with pytest.raises(ValueError, match=r"no whole model: model\.weights\.h5 is not in it"):
        keras.models.load_model(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras", "a") as file:
        file.writestr("model.weights.h5", b"")
    with pytest.raises(NotBuiltError, match=r"of Keras 3\.15\.1"):
        keras.models.load_model(tmp_path / "m.keras")


def names_in(file: Any) -> list[str]:
    found: list[str] = []
    file.visit(found.append)
    return found


def images(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 28, 28), dtype=np.uint8)


def test_mnist_is_read_from_the_cache(cache: Path) -> None:
    x, y = images(5, 0), np.arange(5, dtype=np.uint8)
    np.savez(cache / "mnist.npz", x_train=x, y_train=y, x_test=x[:2], y_test=y[:2])
    (found, labels), (tests, _) = keras.datasets.mnist.load_data()
    np.testing.assert_array_equal(found, x)
    assert labels.tolist() == [0, 1, 2, 3, 4] and len(tests) == 2


def test_without_mnist_there_are_digits_and_a_warning(cache: Path, monkeypatch: Any) -> None:
    pytest.importorskip("sklearn")
    with pytest.warns(UserWarning, match="digits, 1,797 images of 8x8 enlarged to 28x28"):
        (x, y), (x_test, y_test) = keras.datasets.mnist.load_data()
    assert x.shape == (1497, 28, 28) and x_test.shape == (300, 28, 28) and x.dtype == y.dtype == np.uint8
    assert x.max() == 255 and set(y_test) == set(range(10))
    from sklearn.datasets import load_digits

    means = x[:50].astype(float).mean(axis=(1, 2)) * 28 * 28 / (9 * 255 / 16)  # a pixel has become 3x3
    np.testing.assert_allclose(means, load_digits().images[:50].sum(axis=(1, 2)), rtol=0.05)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(OSError, match=f"The file is expected at {cache}/mnist.npz"):
        keras.datasets.mnist.load_data()


def test_other_data_sets_are_read_from_the_cache(cache: Path, monkeypatch: Any) -> None:
    def known(name: str) -> None:
        digest = hashlib.sha256((cache / name).read_bytes()).hexdigest()
        monkeypatch.setitem(dataset_files._HASHES, name, digest)

    x = images(4, 1)
    folder = cache / "fashion-mnist"
    folder.mkdir()
    for kind, n in (("train", 4), ("t10k", 2)):
        (folder / f"{kind}-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + x[:n].tobytes()))
        (folder / f"{kind}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + bytes(range(n))))
    (found, labels), (tests, _) = keras.datasets.fashion_mnist.load_data()
    np.testing.assert_array_equal(found, x)
    assert labels.tolist() == [0, 1, 2, 3] and len(tests) == 2

    with tarfile.open(cache / "cifar-10-batches-py.tar.gz", "w:gz") as archive:
        for i, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
            content = pickle.dumps({b"data": np.full((2, 3072), i, np.uint8), b"labels": [i, i]})
            entry = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    digest = hashlib.sha256((cache / "cifar-10-batches-py.tar.gz").read_bytes()).hexdigest()
    monkeypatch.setitem(dataset_files._HASHES, "cifar-10-python.tar.gz", digest)
    (found, labels), (tests, _) = keras.datasets.cifar10.load_data()
    assert found.shape == (10, 32, 32, 3) and labels.shape == (10, 1) and tests.max() == 5

    np.savez(cache / "boston_housing.npz", x=np.arange(20.0).reshape(10, 2), y=np.arange(10.0))
    (found, labels), (tests, _) = keras.datasets.boston_housing.load_data()
    np.testing.assert_array_equal(found[:, 0], labels * 2)
    assert len(found) == 8 and len(tests) == 2

    reviews = np.array([[5, 9], [7], [1, 2, 3]], object)
    np.savez(cache / "imdb.npz", x_train=reviews, y_train=[0, 1, 2], x_test=reviews, y_test=[0, 1, 2])
    known("imdb.npz")
    (found, labels), _ = keras.datasets.imdb.load_data(num_words=10)
    by_label = dict(zip(labels.tolist(), found.tolist(), strict=True))
    assert by_label == {0: [1, 8, 2], 1: [1, 2], 2: [1, 4, 5, 6]}
    np.savez(cache / "reuters.npz", x=reviews, y=[0, 1, 2])
    known("reuters.npz")
    (found, labels), (tests, _) = keras.datasets.reuters.load_data(test_split=0.34)
    assert len(found) == 1 and len(tests) == 2
    np.savez(cache / "imdb.npz", x_train=reviews[:1], y_train=[0], x_test=reviews, y_test=[0, 1, 2])
    with pytest.raises(OSError, match="URL fetch failure"):  # another file than Keras's is not unpickled
        keras.datasets.imdb.load_data()


def test_files_are_fetched_whole_or_not_at_all(tmp_path: Path, monkeypatch: Any) -> None:
    source = tmp_path / "source.txt"
    source.write_bytes(b"content")
    origin = source.as_uri()
    path = keras.utils.get_file(
        "a.txt", origin, cache_dir=str(tmp_path), file_hash=hashlib.sha256(b"content").hexdigest()
    )
    assert Path(path).read_bytes() == b"content" and path == str(tmp_path / "datasets" / "a.txt")
    source.write_bytes(b"other")
    assert Path(keras.utils.get_file("a.txt", origin, cache_dir=str(tmp_path))).read_bytes() == b"content"
    with pytest.raises(ValueError, match="does not have the hash"):
        keras.utils.get_file("b.txt", origin, cache_dir=str(tmp_path), md5_hash="0" * 32)
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    with pytest.raises(OSError, match="URL fetch failure"):
        keras.utils.get_file("c.txt", "http://nowhere.invalid/c.txt", cache_dir=str(tmp_path))
    assert os.listdir(tmp_path / "datasets") == ["a.txt"]


def test_labels_as_rows() -> None:
    assert keras.utils.to_categorical([[2], [0]]).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert keras.utils.to_categorical(1, 3, "int64").tolist() == [0, 1, 0]
    with pytest.raises(IndexError):
        keras.utils.to_categorical([3], 3)


def test_clones_of_two_classes_of_one_name_are_refused() -> None:
    layers = fg.keras.layers
    other = type("Dense", (layers.Dense,), {"call": lambda self, x: layers.Dense.call(self, x) * 0.0 + 42.0})
    model = fg.keras.Sequential([fg.keras.Input((2,)), other(3), layers.Dense(2)])
    with pytest.raises(fg.errors.NotBuiltError, match="two classes of one name"):
        fg.keras.models.clone_model(model)
