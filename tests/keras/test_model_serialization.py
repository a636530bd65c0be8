"""Whole models in files, copies of them, users' objects in configs, folders as data sets, callbacks that write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.errors import FailedPreconditionError, NotBuiltError, NotFoundError

X = np.linspace(-1, 1, 60).reshape(20, 3).astype("float32")
Y = X.sum(1, keepdims=True)


def trained(optimizer: Any = "adam") -> Any:
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(4, activation="relu", kernel_regularizer="l2")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.BatchNormalization()(hidden)))
    model.compile(optimizer, keras.losses.Huber(0.5), metrics=["mae", keras.metrics.RootMeanSquaredError()])
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    return model


@pytest.mark.parametrize("name", ["folder", "model.keras", "model.h5"])
def test_a_model_comes_back_and_goes_on(name: str, tmp_path: Path) -> None:
    if name != "folder":
        pytest.importorskip("h5py")
    model = trained()
    model.save(tmp_path / name)
    again = keras.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(again(X), model(X))
    assert again.loss.delta == 0.5 and type(again.optimizer) is keras.optimizers.Adam
    np.testing.assert_allclose(again.evaluate(X, Y, verbose=0), model.evaluate(X, Y, verbose=0), rtol=1e-6)
    for one in (model, again):
        one.fit(X, Y, epochs=1, verbose=0, shuffle=False)
    np.testing.assert_allclose(again.get_weights()[0], model.get_weights()[0], rtol=1e-5)
    assert not keras.models.load_model(tmp_path / name, compile=False)._is_compiled
    with pytest.raises(FileExistsError):
        model.save(tmp_path / name, overwrite=False)


def test_a_model_says_what_it_is_called_with(tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Dense(2)])
    assert model.save_spec() is None
    with pytest.raises(ValueError, match="cannot be saved either because the input shape is not available"):
        model.save(tmp_path / "folder")
    model(fg.ones([5, 3]))
    (found,), named = model.save_spec()
    assert found.shape == [None, 3] and found.dtype == "float32" and named == {}


def test_what_is_no_model_of_ours(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No file or directory found"):
        keras.models.load_model(tmp_path / "none")
    with pytest.raises(NotBuiltError):
        keras.models.clone_model(trained(), [1])
    module = fg.Module()
    module.v = fg.Variable(2.0)
    fg.saved_model.save(module, tmp_path / "plain")
    assert float(keras.models.load_model(tmp_path / "plain").v) == 2.0


def test_copies_have_weights_of_their_own() -> None:
    model = trained()
    for again in (keras.models.clone_model(model), keras.models.model_from_json(model.to_json())):
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(again(X), model(X))
        again.layers[1].kernel.assign(again.layers[1].kernel * 2)
        assert np.any(again(X).numpy() != model(X).numpy())
    assert json.loads(model.to_json())["class_name"] == "Model"


def test_users_objects_by_name(tmp_path: Path) -> None:
    @keras.utils.register_keras_serializable("mine")
    class Twice(keras.layers.Layer):
        def __init__(self, factor: float = 2.0, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.factor = factor

        def call(self, x: Any) -> Any:
            return x * self.factor

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "factor": self.factor}

    class Unknown(Twice):
        pass

    assert keras.utils.get_registered_name(Twice) == "mine>Twice"
    assert keras.utils.get_registered_object("mine>Twice") is Twice
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,)), Twice(3.0)])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "m")(X), model(X))
    model = keras.Sequential([Unknown(1.5, input_shape=(3,))])
    assert keras.models.clone_model(model).layers[0].factor == 1.5
    with pytest.raises(ValueError, match="Unknown layer: 'Unknown'"):
        keras.Sequential.from_config(model.get_config())
    with keras.utils.custom_object_scope({"Unknown": Unknown, "third": lambda x: x / 3}):
        assert keras.Sequential.from_config(model.get_config()).layers[0].factor == 1.5
        assert float(keras.layers.Activation("third")(fg.constant([3.0]))[0]) == 1.0
    with pytest.raises(ValueError, match="Unknown activation function 'third'"):
        keras.activations.get("third")
    keras.utils.get_custom_objects()["half"] = lambda y, p: fg.reduce_mean(abs(y - p), -1) / 2
    try:
        model.compile("sgd", "half", metrics=["half"])
        assert set(model.evaluate(X, X, verbose=0, return_dict=True)) == {"loss", "half"}
    finally:
        del keras.utils.get_custom_objects()["half"]
    with pytest.raises(ValueError, match="does not have a get_config"):
        keras.utils.register_keras_serializable()(type("Bare", (), {}))


def test_configs_of_objects() -> None:
    for thing in (keras.losses.Huber(0.3), keras.metrics.AUC(curve="PR"), keras.optimizers.Nadam(0.5),
                  keras.layers.Dense(3, activation="relu"), keras.regularizers.L2(0.5)):  # fmt: skip
        config = keras.utils.serialize_keras_object(thing)
        again = keras.utils.deserialize_keras_object(json.loads(json.dumps(config, default=str)))
        assert type(again) is type(thing) and again.get_config() == thing.get_config()


def test_names_of_metrics_by_name() -> None:
    keras.backend.clear_session()
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid", input_shape=(3,))])
    model.compile("sgd", "hinge", metrics=["AUC", "Precision", "kld"])
    assert set(model.fit(X, (Y > 0).astype("float32"), verbose=0).history) == {"loss", "auc", "precision", "kld"}


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for number, name in enumerate("ab"):
        (tmp_path / name).mkdir()
        for i in range(5):
            png = fg.io.encode_png(np.full((8, 10, 3), 20 * number + i, "uint8"))
            (tmp_path / name / f"{i}.png").write_bytes(png.numpy())
            (tmp_path / name / f"{i}.txt").write_text(f"{name}{i} text")
    return tmp_path


def test_folders_are_data_sets(pictures: Path, capsys: Any) -> None:
    pytest.importorskip("PIL")
    utils = keras.utils
    whole = utils.image_dataset_from_directory(pictures, image_size=(4, 5), batch_size=4, shuffle=False)
    assert capsys.readouterr().out == "Found 10 files belonging to 2 classes.\n"
    images, labels = (np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*whole))
    assert whole.class_names == ["a", "b"] and images.shape == (10, 4, 5, 3) and images.dtype == "float32"
    assert images[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 20, 21, 22, 23, 24] and labels.tolist() == [0] * 5 + [1] * 5
    split = {"validation_split": 0.3, "seed": 3, "image_size": (2, 2), "label_mode": "categorical"}
    train, held = utils.image_dataset_from_directory(pictures, subset="both", **split)
    assert len(train.file_paths) == 7 and not set(train.file_paths) & set(held.file_paths)
    # The order that tf-keras makes of this seed.
    assert [os.path.relpath(path, pictures) for path in held.file_paths] == held_by_keras(pictures)
    texts = utils.text_dataset_from_directory(pictures, batch_size=None, shuffle=False, max_length=2)
    assert [(text.numpy(), int(label)) for text, label in texts][:2] == [(b"a0", 0), (b"a1", 0)]
    turned = utils.image_dataset_from_directory(pictures, class_names=["b", "a"], shuffle=False)
    assert turned.class_names == ["b", "a"] and turned.file_paths == whole.file_paths  # the order is the names' own
    assert [int(label) for _, labels in turned for label in labels] == [1] * 5 + [0] * 5
    plain = utils.image_dataset_from_directory(pictures, labels=None, shuffle=False)
    assert plain.element_spec.shape.rank == 4 and plain.class_names == [""]
    with pytest.raises(NotFoundError):
        utils.image_dataset_from_directory(pictures / "none")
    for wrong in ({"label_mode": "q"}, {"validation_split": 0.2}, {"class_names": ["x", "y"]}, {"color_mode": "q"}):
        with pytest.raises(ValueError, match=str(next(iter(wrong)))[:5]):
            utils.image_dataset_from_directory(pictures, **wrong)


def test_folders_of_pictures_padded_and_hidden(pictures: Path, capsys: Any) -> None:
    pytest.importorskip("PIL")
    (pictures / ".hidden").mkdir()
    make = keras.utils.image_dataset_from_directory
    how = {"image_size": (16, 10), "batch_size": None, "shuffle": False, "verbose": False}
    shape = make(pictures, pad_to_aspect_ratio=True, data_format="channels_first", **how)
    assert capsys.readouterr().out == "" and shape.class_names == ["a", "b"]
    assert keras.utils.text_dataset_from_directory(pictures).class_names == ["a", "b"]
    assert shape.element_spec[0].shape == (3, 16, 10)
    image = list(shape)[-1][0].numpy()  # of 8 by 10, all 24: four rows of zeros above and below
    assert image[:, :, 0].tolist() == [[0] * 4 + [24] * 8 + [0] * 4] * 3
    cut = make(pictures, crop_to_aspect_ratio=True, data_format="channels_first", **how)
    assert next(iter(cut))[0].shape == (3, 16, 10)
    with pytest.raises(TypeError, match="Unknown keywords argument\\(s\\): \\('nonsense',\\)"):
        make(pictures, nonsense=3)
    for wrong in ({"data_format": "q"}, {"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}):
        with pytest.raises(ValueError, match=str(next(iter(wrong)))):
            make(pictures, **wrong)


@pytest.mark.parametrize("name", ["a.keras", "a.weights.h5", "a.h5"])
def test_a_full_disk_leaves_the_file_before(name: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("resource")
    code = """
import resource, signal, sys, fastgraph as fg, numpy as np
model = fg.keras.Sequential([fg.keras.layers.Dense(300, input_shape=(8,)), fg.keras.layers.Dense(3)])
path = sys.argv[1]
save = model.save_weights if path.endswith(".weights.h5") else model.save
save(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
try:
    save(path)
except OSError as error:
    assert error.filename == path and "too large" in str(error), error
    print("told")
"""
    path = tmp_path / name
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert ran.stdout == "told\n", ran.stderr
    assert os.listdir(tmp_path) == [name] and path.stat().st_size > 6000
    if name != "a.weights.h5":
        assert len(keras.models.load_model(path).weights) == 4


def test_configs_of_keras_2_make_models() -> None:
    def layer(name: str, kind: str, calls: list[Any], **config: Any) -> dict[str, Any]:
        row = {"module": "keras.layers", "class_name": kind, "config": {"name": name, **config}}
        return {**row, "registered_name": None, "name": name, "inbound_nodes": calls}

    head = {"batch_input_shape": [None, 2], "dtype": "float32", "sparse": False, "ragged": False, "optional": False}
    inner = [layer("i", "InputLayer", [], **head), layer("double", "Rescaling", [], scale=2.0)]
    config = {
        "name": "m",
        "layers": [
            layer("x", "InputLayer", [], **head),
            layer("inner", "Sequential", [[["x", 0, 0, {}]], [["inner", 1, 0, {}]]], layers=inner),
            layer("sum", "Add", [[["x", 0, 0, {}], ["inner", 2, 0, {}]]]),
            layer("drop", "Dropout", [[["sum", 0, 0, {"training": False}]]], rate=0.5),
        ],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["drop", 0, 0]],
    }
    model = keras.Model.from_config(config)
    assert model(fg.ones([1, 2])).numpy().tolist() == [[5.0, 5.0]]
    again = keras.Model.from_config(model.get_config())
    assert again(fg.ones([1, 2])).numpy().tolist() == [[5.0, 5.0]]
    layer_of, own = keras.layers.deserialize, {"kernel_size": [3, 3], "groups": 1, "name": "c"}
    assert layer_of({"class_name": "DepthwiseConv2D", "config": own}).kernel_size == (3, 3)
    with pytest.raises(TypeError):
        layer_of({"class_name": "DepthwiseConv2D", "config": {**own, "groups": 2}})
    kernel = {"filters": 2, "kernel_initializer": "zeros", **own}
    assert layer_of({"class_name": "SeparableConv2D", "config": kernel}).filters == 2
    rate = {"module": "keras.optimizers.schedules", "class_name": "CosineDecay", "registered_name": None}
    rate["config"] = {"initial_learning_rate": 0.1, "decay_steps": 10}
    assert float(keras.utils.deserialize_keras_object(rate)(0)) == pytest.approx(0.1)


def held_by_keras(folder: Path) -> list[str]:
    names = [f"{name}/{i}.png" for name in "ab" for i in range(5)]
    np.random.RandomState(3).shuffle(names)
    return names[7:]


def test_arrays_of_images_and_lists() -> None:
    assert keras.utils.img_to_array(np.zeros((2, 3), "uint8")).shape == (2, 3, 1)
    assert keras.utils.img_to_array(np.zeros((2, 3, 4)), "channels_first").shape == (4, 2, 3)
    pad = keras.preprocessing.sequence.pad_sequences
    for wrong in (lambda: pad(3), lambda: pad([1, 2]), lambda: pad([[1]], padding="q"), lambda: pad([[1]], value="a")):
        with pytest.raises(ValueError):
            wrong()


def test_drawings_need_pydot() -> None:
    try:
        import pydot  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="You must install pydot"):
            keras.utils.plot_model(trained())
        return
    text = keras.utils.model_to_dot(trained(), show_shapes=True).to_string()
    assert "Dense" in text and "->" in text


def test_values_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for append in (False, True):
        trained().fit(X, Y, epochs=2, verbose=0, callbacks=[keras.callbacks.CSVLogger(path, append=append)])
    rows = [line.split(",") for line in path.read_text().splitlines()]
    assert rows[0][:3] == ["epoch", "loss", "mae"] and [row[0] for row in rows[1:]] == ["0", "1", "0", "1"]


@pytest.mark.parametrize("often", ["epoch", 1])
@pytest.mark.parametrize(("of", "eager"), [("arrays", False), ("arrays", True), ("dataset", False), ("steps", False)])
def test_training_goes_on_after_a_fault(often: Any, of: str, eager: bool, tmp_path: Path) -> None:
    class Fault(keras.callbacks.Callback):
        epoch = 0

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch
            if epoch == 2 and often == "epoch":
                raise RuntimeError("fault")

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if self.epoch == 2 and batch == 1:
                raise RuntimeError("fault")

    def model_of() -> Any:
        fg.random.set_seed(5)
        noise = [keras.layers.Dropout(0.5), keras.layers.Dropout(0.2, seed=3)]
        model = keras.Sequential([keras.Input((3,)), *noise, keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", run_eagerly=eager)
        return model

    def fit(model: Any, *callbacks: Any) -> Any:
        data, kwargs = (X, Y), {"batch_size": len(X) // 3}
        if of == "dataset":
            data, kwargs = (fg.data.Dataset.from_tensor_slices(data).shuffle(len(X)).batch(len(X) // 3),), {}
        if of == "steps":
            dataset = fg.data.Dataset.from_tensor_slices(data).shuffle(len(X)).repeat().batch(len(X) // 3)
            data, kwargs = (dataset,), {"steps_per_epoch": 3}
        return model.fit(*data, **kwargs, epochs=4, verbose=0, callbacks=list(callbacks))

    wanted = fit(model_of()).history["loss"]
    with pytest.raises(RuntimeError, match="fault"):
        fit(model_of(), keras.callbacks.BackupAndRestore(tmp_path / "b", often), Fault())
    history = fit(model_of(), keras.callbacks.BackupAndRestore(tmp_path / "b", often))
    assert history.epoch == [2, 3] and not list((tmp_path / "b").glob("chief"))
    first = 2 if often == "epoch" else 3  # the mean of an epoch that was broken off is that of its rest
    np.testing.assert_allclose(history.history["loss"][first - 2 :], wanted[first:], rtol=1e-5)


def pieces() -> Any:
    return fg.data.Dataset.from_tensor_slices((X, Y))


ORDERS = {
    "two orders": lambda: pieces().shuffle(20).repeat(2).batch(8),
    "repeated and taken": lambda: pieces().shuffle(20).repeat().batch(8).take(3),
    "shuffled twice": lambda: pieces().shuffle(9).batch(2).shuffle(5).unbatch().batch(8),
    "kept orders": lambda: pieces().shuffle(20).cache().batch(8),
    "one behind the other": lambda: pieces().take(9).shuffle(9).concatenate(pieces().skip(9).shuffle(11)).batch(8),
}


@pytest.mark.parametrize("validated", ["not", "other", "same"])
@pytest.mark.parametrize("kind", ORDERS)
def test_data_goes_on_in_the_orders_of_a_run_without_a_fault(kind: str, validated: str, tmp_path: Path) -> None:
    def fit(epochs: int, *callbacks: Any) -> Any:
        fg.random.set_seed(5)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="zeros")])
        model.compile("sgd", "mse")
        data = ORDERS[kind]()
        held = {"other": {"validation_data": pieces().shuffle(20).batch(8), "validation_steps": 1}}
        held |= {"not": {}, "same": {"validation_data": data}}
        options: Any = held[validated]
        return model.fit(data, epochs=epochs, validation_freq=2, verbose=0, callbacks=callbacks, **options).history

    wanted = fit(4)
    fit(2, keras.callbacks.BackupAndRestore(tmp_path, delete_checkpoint=False))
    history = fit(4, keras.callbacks.BackupAndRestore(tmp_path))
    for name, values in history.items():
        np.testing.assert_allclose(values, wanted[name][-len(values) :], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("weighed", [False, True])
def test_a_generator_that_goes_on_loses_no_batch(weighed: bool, tmp_path: Path) -> None:
    class Fault(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.append(batch)
            if len(seen) == 6:
                raise RuntimeError("fault")

    def batches() -> Any:
        for _ in range(30):
            taken.append(len(taken))
            yield X, np.zeros((20, 1))

    seen: list[int] = []
    taken: list[int] = []
    going = batches()
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    options: Any = {"epochs": 3, "steps_per_epoch": 4, "verbose": 0, "class_weight": {0: 1.0} if weighed else None}
    options["callbacks"] = [keras.callbacks.BackupAndRestore(tmp_path / "b", 1), Fault()]
    with pytest.raises(RuntimeError, match="fault"):
        model.fit(going, **options)
    begun = len(taken)
    model.fit(going, **options)
    assert seen == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] and len(taken) <= begun + 6 + 1  # one is made ahead


@pytest.mark.parametrize("dtype", ["complex64", "bool", "bfloat16", "int64", "string"])
def test_backups_keep_copies_of_all_types(dtype: str, tmp_path: Path) -> None:
    class Backup(keras.callbacks.BackupAndRestore):
        def __init__(self, copy: Any) -> None:
            super().__init__(tmp_path, delete_checkpoint=False)
            self.copy = copy

        def _copies(self) -> list[Any]:
            return [self.copy]

    ones = ["1", "\0"] if dtype == "string" else fg.cast([1, 0], dtype)
    values = [fg.Variable(ones), fg.Variable(fg.zeros_like(ones))]
    for value in values:
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, Y, verbose=0, callbacks=[Backup(value)])
    assert values[1].numpy().tolist() == values[0].numpy().tolist()


def test_the_rate_falls_on_a_plateau() -> None:
    model = trained(keras.optimizers.SGD(0.5))
    slower = keras.callbacks.ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=100.0, min_lr=0.2, cooldown=1)
    history = model.fit(X, Y, epochs=5, verbose=0, callbacks=[slower])
    np.testing.assert_allclose(history.history["lr"], [0.5, 0.5, 0.25, 0.2, 0.2], rtol=1e-6)
    with pytest.raises(ValueError, match="factor >= 1.0"):
        keras.callbacks.ReduceLROnPlateau(factor=1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keras.metrics.AUC(curve="x"), "Invalid AUC curve value"),
        (lambda: keras.metrics.AUC(num_thresholds=1), "must be an integer > 1"),
        (lambda: keras.metrics.AUC(num_labels=2), "`num_labels` is needed only when"),
        (lambda: keras.metrics.Precision(thresholds=[-1.0]), r"Threshold values must be in \[0, 1\]"),
        (lambda: keras.metrics.IoU(2, [3]), "Target class id 3 is out of range"),
        (lambda: keras.layers.Permute((1, 3)), "Invalid permutation argument"),
        (lambda: keras.layers.ZeroPadding2D((1, 2, 3)), "`padding` should have two elements"),
        (lambda: keras.layers.Cropping2D(5)(np.zeros((1, 4, 4, 1))), "Argument `cropping`"),
        (lambda: keras.layers.Dot(axes=(1, 2, 3)), "it should contain two elements"),
        (lambda: keras.layers.Dot(axes=1)([X, X[:, :2]]), "Incompatible input shapes"),
        (lambda: keras.layers.TimeDistributed(3), "Please initialize `TimeDistributed`"),
        (lambda: keras.layers.TimeDistributed(keras.layers.Dense(2))(X), "at least 3 dimensions"),
        (lambda: keras.layers.EinsumDense("ab,c->d", 3)(X), "do not match the shapes"),
        (lambda: keras.layers.RandomFlip("q"), "unknown mode argument q"),
        (lambda: keras.layers.CategoryEncoding(), "num_tokens must be set"),
        (lambda: keras.layers.TextVectorization(output_mode="q"), "received an invalid value 'q'"),
    ],
)
def test_errors_of_keras(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_images_change_in_training_only() -> None:
    image = np.arange(2 * 4 * 6 * 3, dtype="float32").reshape(2, 4, 6, 3)
    for layer in (keras.layers.RandomFlip(), keras.layers.RandomRotation(0.2), keras.layers.RandomZoom(0.2),
                  keras.layers.GaussianNoise(1.0), keras.layers.SpatialDropout2D(0.5)):  # fmt: skip
        np.testing.assert_array_equal(layer(image, training=False), image)
        staged = fg.function(lambda x, layer=layer: layer(x, training=True))
        results = [staged(image).numpy() for _ in range(8)]
        assert all(one.shape == image.shape for one in results) and any(np.any(one != image) for one in results)
    dropped = keras.layers.SpatialDropout2D(0.5)(np.ones((8, 4, 4, 6), "float32"), training=True).numpy()
    assert np.all(dropped == dropped[:, :1, :1]) and set(np.unique(dropped)) == {0.0, 2.0}


def test_a_saved_model_that_is_loaded_as_such_lists_its_variables(tmp_path: Path) -> None:
    model = trained()
    fg.saved_model.save(model, tmp_path / "m")
    loaded = fg.saved_model.load(tmp_path / "m")
    for name in ("variables", "trainable_variables", "non_trainable_variables"):
        for ours, theirs in zip(getattr(loaded, name), getattr(model, name), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("module", "thing"),
    [
        ("layers", lambda: keras.layers.Dense(2, name="d")),
        ("losses", lambda: keras.losses.Huber(0.5)),
        ("metrics", lambda: keras.metrics.Mean("m")),
        ("optimizers", lambda: keras.optimizers.SGD(0.5)),
        ("regularizers", lambda: keras.regularizers.L2(0.5)),
        ("initializers", lambda: keras.initializers.Constant(2.0)),
        ("constraints", lambda: keras.constraints.MaxNorm(2.0)),
    ],
)
def test_configs_in_the_earlier_format(module: str, thing: Any) -> None:
    part, given = getattr(keras, module), thing()
    config = part.serialize(given, use_legacy_format=True)
    assert sorted(config) == ["class_name", "config"] and config["class_name"] == type(given).__name__
    again = part.deserialize(config, use_legacy_format=True)
    assert type(again) is type(given) and part.serialize(again) == part.serialize(given)
    own = {"Mine": type("Mine", (type(given),), {})}
    made = part.deserialize({**config, "class_name": "Mine"}, custom_objects=own, use_legacy_format=True)
    assert type(made) is own["Mine"]
    assert keras.activations.serialize(keras.activations.relu, use_legacy_format=True) == "relu"


def test_words_that_were_learnt_are_saved_with_the_model(tmp_path: Path) -> None:
    words = keras.layers.TextVectorization(output_sequence_length=3)
    words.adapt(["great film", "bad film"])
    model = keras.Sequential([keras.Input((1,), dtype="string"), words, keras.layers.Embedding(5, 2)])
    texts = fg.constant([["great film"], ["new film"]])
    model.save(tmp_path / "texts.keras")
    again = keras.models.load_model(tmp_path / "texts.keras")
    assert again.layers[0].get_vocabulary() == words.get_vocabulary() == ["", "[UNK]", "film", "great", "bad"]
    np.testing.assert_array_equal(again(texts), model(texts))


def test_numbers_of_words_that_nothing_has_learnt() -> None:
    given = keras.Input((1,), dtype="string")
    for layer in (keras.layers.StringLookup(), keras.layers.TextVectorization()):
        model = keras.Model(given, layer(given))
        texts = fg.constant([["a"], ["b"]])
        for ask in (layer, fg.function(layer), model, lambda x, model=model: model.predict(x, verbose=0)):
            with pytest.raises(FailedPreconditionError, match="Table not initialized"):
                ask(texts)
        layer.adapt(["b"])
        wanted = [[layer.get_vocabulary().index(word)] for word in ("[UNK]", "b")]
        assert model(texts).numpy().tolist() == model.predict(texts, verbose=0).tolist() == wanted
    with pytest.raises(RuntimeError, match="no vocabulary yet"):
        keras.layers.StringLookup(output_mode="one_hot")(["a"])


def test_words_are_read_from_files_of_keras_2(tmp_path: Path) -> None:
    given = keras.Input((1,), dtype="string", name="given")
    texts, words = keras.layers.TextVectorization(vocabulary=["a b"]), keras.layers.StringLookup(vocabulary=["a"])
    keras.Model(given, [texts(given), words(given)]).save(tmp_path / "here.keras")
    with zipfile.ZipFile(tmp_path / "here.keras") as here, zipfile.ZipFile(tmp_path / "there.keras", "w") as there:
        whole = json.loads(here.read("config.json"))
        for layer in whole["config"]["layers"][1:]:
            layer["config"] |= {"vocabulary": None, "vocabulary_size": 20}
        there.writestr("config.json", json.dumps(whole))
        for name in ("metadata.json", "model.weights.h5"):
            there.writestr(name, here.read(name))
        there.writestr("assets/layers/text_vectorization/vocabulary.txt", "\n[UNK]\ncat\nhat\u2028")
        there.writestr("assets/layers/string_lookup/vocabulary.txt", "[UNK]\ncat")
    found = keras.models.load_model(tmp_path / "there.keras")(fg.constant([["the cat"], ["cat"]]))
    assert [each.numpy().tolist() for each in found] == [[[1, 2], [2, 0]], [[0], [1]]]


def test_words_in_files_of_keras_3_say_how_wide_the_next_layer_is(tmp_path: Path) -> None:
    words = keras.layers.TextVectorization(vocabulary=["a", "b"], output_mode="multi_hot")
    model = keras.Sequential([keras.Input((1,), dtype="string"), words, keras.layers.Dense(2)])
    model.save(tmp_path / "here.keras")
    with zipfile.ZipFile(tmp_path / "here.keras") as here, zipfile.ZipFile(tmp_path / "there.keras", "w") as there:
        whole = json.loads(here.read("config.json"))
        policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}
        (row,) = (row for row in whole["config"]["layers"] if row["class_name"] == "TextVectorization")
        row["config"] |= {"vocabulary": None, "vocabulary_size": 3, "dtype": policy}
        there.writestr("config.json", json.dumps(whole))
        there.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        there.writestr("model.weights.h5", here.read("model.weights.h5"))
        there.writestr("assets/layers/text_vectorization/vocabulary.txt", "[UNK]\na\nb")
    texts = fg.constant([["b a"], ["c"]])
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "there.keras")(texts), model(texts))
