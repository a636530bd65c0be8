"""Whole models in Keras 2's .h5 and in .keras, those that Keras 2 and 3 wrote among them; weights that do not all fit."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastgraph import constant, data, keras
from tests.keras import whole_models

h5py = pytest.importorskip("h5py")
ARCHIVE = Path(__file__).with_name("whole_models.tar.xz")
X = np.linspace(-1, 1, 32).reshape(8, 4).astype("float32")


@pytest.fixture(scope="session")
def written(tmp_path_factory: Any) -> Path:
    """Return a folder of the files that Keras 2 and 3 wrote."""
    folder: Path = tmp_path_factory.mktemp("whole")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", whole_models.MODELS)
@pytest.mark.parametrize("kind", ["tf_keras.h5", "keras.h5", "keras.keras"])
def test_what_keras_wrote_is_read_and_goes_on(name: str, kind: str, written: Path) -> None:
    assert whole_models.differences(written / f"{name}-{kind}", keras) == []


@pytest.mark.parametrize("name", ["inside", "operations"])
@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_what_is_written_here_is_read_and_goes_on(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{suffix}"
    whole_models.write(name, keras, path)
    assert whole_models.differences(path, keras) == []
    assert not keras.models.load_model(path, compile=False)._is_compiled


def test_h5_files_have_keras_2s_layout(tmp_path: Path) -> None:
    model, _ = whole_models.MODELS["inside"](keras)
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, X[:, :1], verbose=0)
    model.save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        config, training = (json.loads(file.attrs[name]) for name in ("model_config", "training_config"))
        names = [name.decode() for name in file["model_weights"].attrs["layer_names"]]
        assert names == [layer.name for layer in model.layers]
        slots = [name.decode() for name in file["optimizer_weights"].attrs["weight_names"]]
        (first, *_), kernel = model.get_layer(names[1]).weights, file["model_weights"][names[1]]
        np.testing.assert_array_equal(kernel[first.name], first)
    assert config["class_name"] == "Functional" and config["config"]["output_layers"] == [[names[-1], 0, 0]]
    calls = {row["name"]: row["inbound_nodes"] for row in config["config"]["layers"]}
    add, *_ = (name for name in names if name.startswith("add"))
    assert calls[add] == [[[names[1], 1, 0, {}], [names[2], 1, 0, {}]]]  # models' first calls are their own
    assert training["optimizer_config"]["class_name"] == "Custom>Adam" and training["loss"] == "mse"
    assert training["optimizer_config"]["config"]["is_legacy_optimizer"] is False
    assert slots[0] == "iteration:0" and len(slots) == 1 + 2 * len(model.trainable_weights)


def test_h5_files_without_an_optimizer_and_of_ones_own_classes(tmp_path: Path) -> None:
    class Doubling(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2

    model = keras.Sequential([keras.Input((4,)), Doubling(), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.save(tmp_path / "m.hdf5", include_optimizer=False)
    with pytest.raises(ValueError, match="Unknown layer: 'Doubling'"):
        keras.models.load_model(tmp_path / "m.hdf5")
    again = keras.models.load_model(tmp_path / "m.hdf5", custom_objects={"Doubling": Doubling})
    np.testing.assert_array_equal(again(X), model(X))
    assert not again._is_compiled
    with pytest.raises(NotImplementedError, match="Functional model or a Sequential model"):
        type("Own", (keras.Model,), {"call": lambda self, x: x})().save(tmp_path / "own.h5")
    model.save_weights(tmp_path / "w.h5")
    with pytest.raises(ValueError, match="No model config found in the file"):
        keras.models.load_model(tmp_path / "w.h5")


def test_long_lists_of_names_are_cut(tmp_path: Path) -> None:
    parts = [keras.layers.Dense(1, use_bias=False, name=f"{'long' * 1000}{i}") for i in range(20)]
    model = keras.Sequential([keras.Input((1,)), *parts])
    model.save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        assert "layer_names1" in file["model_weights"].attrs
    for one, two in zip(keras.models.load_model(tmp_path / "m.h5").weights, model.weights, strict=True):
        np.testing.assert_array_equal(one, two)


def of(last: int, name: str = "head") -> Any:
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, name="body"), keras.layers.Dense(last, name=name)]
    )


@pytest.mark.parametrize("suffix", [".h5", ".weights.h5"])
def test_layers_that_do_not_fit_are_left_as_they_are(suffix: str, tmp_path: Path) -> None:
    model, other = of(2), of(5)
    path, before = tmp_path / f"w{suffix}", other.get_weights()
    model.save_weights(path)
    with pytest.raises(ValueError, match="has shape"):
        other.load_weights(path)
    np.testing.assert_array_equal(other.get_weights()[0], before[0])
    with pytest.warns(UserWarning, match="left as it was.*has shape"):
        other.load_weights(path, skip_mismatch=True)
    for found, wanted in zip(other.get_weights(), [*model.get_weights()[:2], *before[2:]], strict=True):
        np.testing.assert_array_equal(found, wanted)
    bare = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, use_bias=False, name="body")])
    if suffix == ".h5":
        with pytest.raises(ValueError, match="Layer count mismatch"):
            bare.load_weights(path)
        other = of(2, "another")
        other.load_weights(path, by_name=True)
        np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
        assert np.any(other.get_weights()[2] != model.get_weights()[2])
    with pytest.warns(UserWarning, match="expected 1 (weights|variables)"):
        bare.load_weights(path, skip_mismatch=True, by_name=suffix == ".h5")


def test_steps_of_an_optimizer_without_slots_are_kept(written: Path, tmp_path: Path) -> None:
    model = keras.models.load_model(written / "masked-keras.keras")
    assert model.optimizer.iterations.numpy() == 4
    for suffix in (".keras", ".h5"):
        model.save(tmp_path / f"m{suffix}")
        assert keras.models.load_model(tmp_path / f"m{suffix}").optimizer.iterations.numpy() == 4


def test_an_optimizer_of_another_kind_begins_anew(tmp_path: Path) -> None:
    whole_models.write("dense", keras, tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5", "a") as file:
        training = json.loads(file.attrs["training_config"])
        training["optimizer_config"] = {"class_name": "SGD", "config": {"learning_rate": 0.5}}
        file.attrs["training_config"] = json.dumps(training)
    with pytest.warns(UserWarning, match="begins anew"):
        model = keras.models.load_model(tmp_path / "m.h5")
    assert model.optimizer.iterations.numpy() == 0


def test_the_product_of_nadams_momentums_is_in_files(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, kernel_initializer="ones")])
    model.compile(keras.optimizers.Nadam(0.1), "mse")
    model.fit(x, x[:, :2], epochs=3, verbose=0)
    model.save(tmp_path / "m.keras")
    other = keras.models.load_model(tmp_path / "m.keras")
    for each in (model, other):
        each.fit(x, x[:, :2], epochs=2, verbose=0, shuffle=False)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])


def test_layers_that_a_model_shares_with_one_inside_are_one_when_loaded(tmp_path: Path) -> None:
    shared, words = keras.layers.Dense(4, name="shared"), keras.layers.Embedding(10, 4, name="words")
    a, i, j = keras.Input((4,)), keras.Input((4,)), keras.Input((3,), dtype="int32")
    inner = keras.Model(a, shared(keras.layers.Dense(4, name="own")(a)), name="inner")
    chain = keras.Sequential([keras.Input((3,)), words, keras.layers.Flatten(), keras.layers.Dense(4)], name="chain")
    y = keras.layers.Add()([inner(shared(i)), shared(inner(i)), chain(j), keras.layers.Flatten()(words(j))[:, :4]])
    model = keras.Model([i, j], y)
    inputs = [np.arange(8, dtype=np.float32).reshape(2, 4) / 8, np.array([[1, 2, 3], [4, 5, 6]])]
    model.save(tmp_path / "m.keras")
    model.save(tmp_path / "folder")
    model.save(tmp_path / "m.h5")
    described = [keras.models.clone_model(model), keras.models.model_from_json(model.to_json())]
    for one in described:
        one.set_weights(model.get_weights())
    for found in [
        *map(keras.models.load_model, (tmp_path / "m.keras", tmp_path / "folder", tmp_path / "m.h5")),
        *described,
    ]:
        np.testing.assert_array_equal(found(inputs), model(inputs))
        assert found.get_layer("shared") is found.get_layer("inner").get_layer("shared")
        assert found.get_layer("words") is found.get_layer("chain").layers[0] and len(found.weights) == 7
    rows = json.loads(zipfile.ZipFile(tmp_path / "m.keras").read("config.json"))["config"]["layers"]
    assert {row["name"] for row in rows if "shared_object_id" in row} == {"shared", "words"}


def test_boundaries_and_weights_of_words_are_kept(tmp_path: Path) -> None:
    learnt = keras.layers.Discretization(num_bins=3)
    learnt.adapt(data.Dataset.from_tensor_slices(np.arange(20.0)))
    model = keras.Sequential([keras.Input((1,)), learnt])
    model.save(tmp_path / "ranges.keras")
    again = keras.models.load_model(tmp_path / "ranges.keras")
    assert again.layers[-1].bin_boundaries == learnt.bin_boundaries
    again.layers[-1].adapt(np.arange(40.0)[:, None])  # its boundaries were not given
    assert again.layers[-1].bin_boundaries[0] > learnt.bin_boundaries[0]
    with pytest.raises(ValueError, match="no boundaries yet"):
        keras.layers.Discretization(num_bins=3)(np.ones((2, 1)))

    kind = keras.layers.StringLookup
    given = kind(vocabulary=["[UNK]", "a", "b"], idf_weights=[9.0, 1.0, 2.0], output_mode="tf_idf")
    rows = kind.from_config(given.get_config())(np.array([["z", "b"]]))
    assert rows.numpy().tolist() == [[9.0, 0.0, 2.0]]


@pytest.mark.parametrize("kind", ["tf_keras", "keras"])
def test_what_layers_of_keras_have_learnt_is_read(kind: str, written: Path) -> None:
    path = written / f"words-{kind}.keras"
    found = whole_models.told(keras.models.load_model(path), constant)
    for layer, (own, wanted) in enumerate(zip(found, json.loads(Path(f"{path}.json").read_text()), strict=True)):
        np.testing.assert_allclose(own, wanted, rtol=1e-5, err_msg=str(layer))


def test_weights_of_words_are_where_keras_looks_for_them(tmp_path: Path) -> None:
    model = whole_models.words(keras)
    model.save(tmp_path / "m.keras")
    told = whole_models.told(model, constant)
    assert whole_models.told(keras.models.load_model(tmp_path / "m.keras"), constant) == told
    with zipfile.ZipFile(tmp_path / "m.keras") as file:
        weights = h5py.File(io.BytesIO(file.read("model.weights.h5")))
        assert len(weights["layers/text_vectorization/vars/idf_weights"]) == 6
        assert len(weights["layers/text_vectorization/_lookup_layer/vars/idf_weights"]) == 6
        layers = json.loads(file.read("config.json"))["config"]["layers"]
    assert {row["config"]["dtype"] for row in layers if row["class_name"] == "IntegerLookup"} == {"int64", "float32"}


@pytest.mark.parametrize("name", ["w", "w.npz", "w.weights.h5", "w.h5"])
def test_weights_in_files_keep_ranges(name: str, tmp_path: Path) -> None:
    def made(learning: bool) -> Any:
        layers = [keras.layers.Normalization(), keras.layers.Discretization(num_bins=4)]
        for layer in layers:
            if learning:
                layer.adapt(np.arange(40, dtype=np.float32).reshape(-1, 2))
        inputs = keras.Input((2,))
        return keras.Model(inputs, [layer(inputs) for layer in layers])

    model, other = made(True), made(False)
    model.save_weights(tmp_path / name)
    other.load_weights(tmp_path / name)
    for found, wanted in zip(other(X[:, :2] * 40), model(X[:, :2] * 40), strict=True):
        np.testing.assert_array_equal(found, wanted)
    model.save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:  # Keras 2 takes ranges or their number, not both
        rows = json.loads(file.attrs["model_config"])["config"]["layers"]
    (own,) = (row["config"] for row in rows if row["class_name"] == "Discretization")
    assert own["num_bins"] is None and own["bin_boundaries"] == model.layers[-1].bin_boundaries
    assert keras.models.load_model(tmp_path / "m.h5").layers[-1].bin_boundaries == own["bin_boundaries"]


@keras.utils.register_keras_serializable("tests")
class Loading(keras.layers.Layer):
    """A layer that loads a model while it is made."""

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path, self.inner = path, keras.models.load_model(path)

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "path": self.path}


def test_a_layer_may_load_a_model_while_one_is_loaded(tmp_path: Path) -> None:
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    inner.save(tmp_path / "inner.keras")
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(2)(Loading(str(tmp_path / "inner.keras"))(keras.layers.Dense(3)(inputs)))
    model = keras.Model(inputs, outputs)
    model.save(tmp_path / "outer.keras")
    again = keras.models.load_model(tmp_path / "outer.keras")
    np.testing.assert_array_equal(again(np.ones((1, 3))), model(np.ones((1, 3))))


def test_states_are_in_saved_models(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((5, 3), batch_size=4), keras.layers.LSTM(2, stateful=True)])
    model.save(tmp_path / "m")
    again, x = keras.models.load_model(tmp_path / "m"), np.linspace(0, 1, 60, dtype="float32").reshape(4, 5, 3)
    first, second = model(x), model(x)
    assert not np.allclose(first, second)
    np.testing.assert_allclose(again(x), first, rtol=1e-6)
    np.testing.assert_allclose(again(x), second, rtol=1e-6)
