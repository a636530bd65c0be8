"""What a newcomer's tools meet: pickles of namespaces, signatures, tab completion, hints, arrays of other libraries."""

from __future__ import annotations

import copy
import importlib
import inspect
import operator
import pickle
import typing
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.api import namespaces, public_names


@pytest.mark.parametrize("name", sorted({*public_names.NAMESPACES, *public_names.FILES}))
def test_namespaces_pickle_by_name(name: str) -> None:
    namespace = importlib.import_module(f"fastgraph.{name}")
    assert pickle.loads(pickle.dumps(namespace)) is namespace
    assert copy.deepcopy({"here": namespace})["here"] is namespace


def test_other_modules_are_pickled_as_ever() -> None:
    assert pickle.loads(pickle.dumps(fg)) is fg
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle 'module' object"):
            copied(operator)


def test_programs_that_name_public_modules_and_functions_travel() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")

    def program(x: Any) -> Any:
        return fg.keras.activations.relu(fg.nn.relu(x)) + fg.linalg.trace([[fg.data.AUTOTUNE]])

    data = cloudpickle.dumps(program)
    assert len(data) < 2000 and pickle.loads(data)(fg.constant([1])).numpy() == program(fg.constant([1])).numpy()
    for name in ("keras.layers.Dense", "keras.losses.mse", "data.Dataset.range", "linalg.trace", "function", "float32"):
        value = operator.attrgetter(name)(fg)
        for library in (pickle, cloudpickle):
            assert pickle.loads(library.dumps(value)) == value and len(library.dumps(value)) < 200


def test_public_functions_pickle_by_name() -> None:
    for name in dir(fg):
        found = getattr(fg, name)
        if inspect.isroutine(found) or inspect.isclass(found):
            assert pickle.loads(pickle.dumps(found)) is found, name


def test_cloudpickle_of_a_function_that_mentions_namespaces() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    nn = fg.nn

    def f(x: Any) -> Any:
        return nn.relu(x) + fg.math.square(x)

    for made in (f, fg.function(f)):
        again = pickle.loads(cloudpickle.dumps(made))
        assert again(fg.constant(2.0)).numpy() == 6.0


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (fg.GradientTape, ["persistent", "watch_accessed_variables"]),
        (fg.Tensor, []),
        (fg.init_scope, []),
        (fg.Variable, ["initial_value", "trainable", "validate_shape"]),
        (fg.TensorArray, ["dtype", "size", "dynamic_size"]),
        (fg.keras.layers.Dense, ["units", "activation", "use_bias"]),
    ],
)
def test_classes_have_signatures(kind: type, parameters: list[str]) -> None:
    assert list(inspect.signature(kind).parameters)[:3] == parameters


def test_a_subclass_of_variable_has_its_own_signature() -> None:
    class Counter(fg.Variable):
        def __init__(self, start: int) -> None:
            super().__init__(start)

    assert list(inspect.signature(Counter).parameters) == ["start"]
    assert Counter(3).numpy() == 3


@pytest.mark.parametrize("name", ["", *public_names.FILES, *public_names.NAMESPACES])
def test_tab_completion_shows_public_names_alone(name: str) -> None:
    """No imports of the module's own, no submodules that are not public; every name shown is there."""
    module = importlib.import_module(f"fastgraph.{name}" if name else "fastgraph")
    known = {*namespaces.built_names(), *public_names.NAMESPACES, *public_names.FILES}
    for shown in dir(module):
        full = f"{name}.{shown}" if name else shown
        value = getattr(module, shown)
        home = str(getattr(value, "__module__", "fastgraph"))
        assert not shown.startswith("_") or shown == "__version__", full
        assert shown not in typing.__all__ or getattr(typing, shown) is not value, full
        if not inspect.ismodule(value):
            assert home.startswith(("fastgraph", "builtins", "typing")) or full in known, full
        else:
            assert full in known or full == "compat.v2", full


@pytest.mark.parametrize(
    ("name", "says", "says_not"),
    [
        ("keras.utils.FeatureSpace", "Keras 3 (pip install fastgraph[keras]", "NumPy"),
        ("load_library", "numpy_function", "Use one process"),
        ("compat.v1.Session", "TensorFlow 2", "Did you mean"),
        ("data.experimental.ServiceOptions", "Dataset.shard", "saved_model"),
        ("data.experimental.make_saveable_from_iterator", "train.Checkpoint", "from_generator"),
        ("experimental.dtensor.device_name", "MirroredStrategy", "gpu_device_name"),
        ("distribute.cluster_resolver.GCEClusterResolver", "ClusterResolver", "one process"),
        ("keras.preprocessing.text.Tokenizer", "TextVectorization", "summary"),
    ],
)
def test_hints_lead_somewhere(name: str, says: str, says_not: str) -> None:
    value: Any = fg
    with pytest.raises(fg.errors.NotBuiltError) as raised:
        for part in name.split("."):
            value = getattr(value, part)
    assert says in str(raised.value) and says_not not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("log", "tf.math.log"),
        ("placeholder", "arguments of a tf.function"),
        ("set_random_seed", "tf.random.set_seed"),
        ("to_float", "tf.cast"),
        ("Session", "calls of a tf.function"),
        ("global_variables_initializer", "nothing, for Variables"),
        ("layers", "tf.keras.layers"),
        ("layers.dense", "tf.keras.layers"),
        ("contrib", "tf.keras"),
        ("train.AdamOptimizer", "a tf.keras.optimizers optimizer"),
        ("train.Saver", "tf.train.Checkpoint"),
        ("image.resize_images", "tf.image.resize"),
        ("losses.softmax_cross_entropy", "tf.keras.losses"),
        ("matrix_inverse", "tf.linalg.inv"),
        ("decode_csv", "tf.io.decode_csv"),
    ],
)
def test_names_of_tensorflow_1_say_what_programs_write_now(name: str, way: str) -> None:
    value: Any = fg
    with pytest.raises(AttributeError, match="has no attribute") as raised:
        for part in name.split("."):
            value = getattr(value, part)
    assert f"If it is TensorFlow 1's: use {way}" in str(raised.value)


@pytest.mark.parametrize("section", ["RENAMED", "ARGUMENTS"])
def test_what_names_of_tensorflow_1_are_now_is_there(section: str) -> None:
    from fastgraph.door import v1_names

    for name in getattr(v1_names, section):
        target = v1_names.spelling(name).removeprefix("tf.")
        assert not target or operator.attrgetter(target)(fg) is not None, name


class Image:
    """What an image of Pillow shows of itself."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"shape": (2, 3), "typestr": "|u1", "version": 3, "data": bytes(range(6))}


def test_what_has_an_array_interface_is_a_tensor() -> None:
    wanted = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert fg.constant(Image()).dtype is fg.uint8
    np.testing.assert_array_equal(fg.constant(Image()), wanted)
    np.testing.assert_array_equal(fg.cast(Image(), fg.float32) / 2, wanted / 2)
    np.testing.assert_array_equal(fg.function(lambda: fg.constant(Image()) + 1)(), wanted + 1)


def test_variables_of_an_optimizer_may_be_called() -> None:
    optimizer = fg.keras.optimizers.Adam()
    assert optimizer.variables() == optimizer.variables
    assert isinstance(optimizer.variables, list)


def test_a_sequential_model_made_from_its_config() -> None:
    class Twice(fg.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return 2 * x

    layers = fg.keras.layers
    inner = fg.keras.Sequential([layers.Dense(3, activation="relu", input_shape=(4,)), layers.ReLU()], name="inner")
    model = fg.keras.Sequential([inner, Twice(), layers.Dense(2)], name="outer")
    model(fg.ones([1, 4]))
    again = fg.keras.Sequential.from_config(model.get_config(), custom_objects={"Twice": Twice})
    again(fg.ones([1, 4]))
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(fg.ones([5, 4])), model(fg.ones([5, 4])))
    assert (again.name, [layer.name for layer in again.layers]) == ("outer", [layer.name for layer in model.layers])
    with pytest.raises(ValueError, match="Unknown layer: 'Twice'"):
        fg.keras.Sequential.from_config(model.get_config())
