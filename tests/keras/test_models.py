"""Models: what belongs to them, its names and order, how calls hand `training` on; as Keras 2 has it."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.api.namespaces import tensorflow_names
from fastgraph.keras import layers


@pytest.fixture(autouse=True)
def new_names() -> None:
    keras.backend.clear_session()


class Nested(keras.Model):
    """Layers as attributes, in a list, in a dict and in a Sequential, and a Variable."""

    def __init__(self) -> None:
        super().__init__()
        self.v = fg.Variable(1.0, name="own")
        self.a = [layers.Dense(2), layers.Dense(3)]
        self.d = {"x": layers.Dense(1)}
        self.s = keras.Sequential([layers.Dense(2)])

    def call(self, x: Any, training: Any = None) -> Any:
        return self.s(self.d["x"](self.a[1](self.a[0](x)))) * self.v


def test_weights_names_and_order() -> None:
    model = Nested()
    model(np.ones((1, 2)))
    assert [w.name for w in model.weights] == [
        "nested/dense/kernel:0", "nested/dense/bias:0", "nested/dense_1/kernel:0", "nested/dense_1/bias:0",
        "nested/dense_2/kernel:0", "nested/dense_2/bias:0", "dense_3/kernel:0", "dense_3/bias:0", "own:0",
    ]  # fmt: skip
    assert model.name == "nested" and [layer.name for layer in model.layers] == [
        "dense", "dense_1", "dense_2", "sequential"
    ]  # fmt: skip
    assert model.count_params() == 24 and len(model.trainable_variables) == 9
    assert model.get_layer("dense_1") is model.get_layer(index=1)
    assert isinstance(model, fg.Module) and model.s in model.submodules


def test_trainable() -> None:
    model = keras.Sequential([layers.Dense(2), layers.BatchNormalization(), layers.Dense(1)])
    model(np.ones((1, 2)))
    names = [w.name.partition(":")[0] for w in model.weights]
    assert names == [
        "dense/kernel", "dense/bias", "batch_normalization/gamma", "batch_normalization/beta",
        "batch_normalization/moving_mean", "batch_normalization/moving_variance", "dense_1/kernel", "dense_1/bias",
    ]  # fmt: skip
    assert len(model.trainable_weights) == 6 and len(model.non_trainable_weights) == 2
    model.layers[0].trainable = False
    assert model.trainable_weights[0].name == "batch_normalization/gamma:0"
    model.trainable = False
    assert model.trainable_weights == [] and len(model.non_trainable_weights) == 8
    assert not any(layer.trainable for layer in model.layers)


def test_get_and_set_weights() -> None:
    first, second = Nested(), Nested()
    first.build((None, 2))
    second.build((None, 2))
    second.set_weights(first.get_weights())
    x = np.array([[1.0, -2.0]], np.float32)
    np.testing.assert_array_equal(first(x).numpy(), second(x).numpy())
    with pytest.raises(ValueError, match="weight list of length 1, but the layer was expecting 9 weights"):
        first.set_weights([np.ones(1)])
    with pytest.raises(ValueError, match=r"weight shape \(2,\) is not compatible with provided weight shape \(3,\)"):
        first.set_weights([*first.get_weights()[:1], np.ones(3), *first.get_weights()[2:]])


def test_build_makes_all_weights() -> None:
    model = Nested()
    assert not model.built
    model.build(input_shape=(None, 2))
    assert model.built and [w.name for w in model.weights][:2] == ["dense/kernel:0", "dense/bias:0"]
    assert all(layer.built for layer in model.layers)
    with pytest.raises(NotImplementedError, match="Unimplemented `tf.keras.Model.call"):
        keras.Model().build((1, 2))
    with pytest.raises(NotImplementedError, match="Unimplemented `tf.keras.Model.call"):
        keras.Model()(1.0)


def test_sequential_is_built_by_its_first_call_or_by_its_head() -> None:
    model = keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(2)])
    for use in (lambda: model.weights, lambda: model.trainable_weights, lambda: model.variables):
        with pytest.raises(ValueError, match="Weights for model 'sequential' have not yet been created"):
            use()
    assert model(np.ones((5, 4))).shape == (5, 2) and len(model.weights) == 4
    for head in (
        [layers.InputLayer((4,)), layers.Dense(2)], [keras.Input((4,)), layers.Dense(2)],
        [layers.Dense(2, input_shape=(4,))], [layers.Dense(2, input_dim=4)],
        [layers.Dense(2, batch_input_shape=(None, 4))], [keras.Sequential([layers.Dense(2, input_shape=(4,))])],
    ):  # fmt: skip
        built = keras.Sequential(head)
        assert built.built and len(built.layers) == 1 and len(built.weights) == 2
        assert built.input_shape == (None, 4) and built.output_shape == (None, 2)
    late = keras.Sequential([layers.Dense(2)])
    late.build((None, 4))
    assert late.output_shape == (None, 2) and late.weights[0].shape == (4, 2)


def test_sequential_add_and_pop() -> None:
    model = keras.Sequential([layers.Dense(3, input_shape=(4,))])
    model.add(layers.Dense(2))
    assert model.output_shape == (None, 2) and len(model.weights) == 4
    model.pop()
    assert model.output_shape == (None, 3) and len(model.weights) == 2
    model.pop()
    with pytest.raises(TypeError, match="There are no layers in the model"):
        model.pop()
    with pytest.raises(TypeError, match="The added layer must be an instance of class Layer. Received: layer=1"):
        model.add(1)
    model.add(layers.Dense(1, name="a"))
    with pytest.raises(ValueError, match='Name "a" is already the name of a layer in this model'):
        model.add(layers.Dense(1, name="a"))


def test_sequential_conforms_its_inputs() -> None:
    model = keras.Sequential([layers.Conv2D(2, 3, input_shape=(5, 5, 1)), layers.Flatten()])
    images = np.arange(25, dtype=np.uint8).reshape(1, 5, 5)
    np.testing.assert_allclose(model(images).numpy(), model(images[..., None].astype(np.float32)).numpy())
    text = r'layer "sequential" is incompatible with the layer: expected shape=\(None, 5, 5, 1\), found shape=\(1, 5, 6, 1\)'
    with pytest.raises(ValueError, match=text):
        model(np.ones((1, 5, 6, 1)))


def test_layers_found_by_name_or_index() -> None:
    model = keras.Sequential([layers.Dense(1), layers.Dense(1)])
    for use, text in (
        (lambda: model.get_layer("zz"), r"No such layer: zz. Existing layers are: \['dense', 'dense_1'\]"),
        (lambda: model.get_layer(index=5), "Was asked to retrieve layer at index 5 but model only has 2 layers"),
        (lambda: model.get_layer(), "Provide either a layer name or layer index"),
        (lambda: model.get_layer("a", 1), "Provide only a layer name or a layer index"),
    ):
        with pytest.raises(ValueError, match=text):
            use()


class Tells(layers.Layer):
    """Writes down with which `training` it was called."""

    def __init__(self, told: list[Any]) -> None:
        super().__init__()
        self.told = told

    def call(self, x: Any, training: Any = None) -> Any:
        self.told.append(training)
        return x


class Silent(layers.Layer):
    """Takes no `training`, but hands on that of its caller."""

    def __init__(self, told: list[Any]) -> None:
        super().__init__()
        self.inner = Tells(told)

    def call(self, x: Any) -> Any:
        return self.inner(x)


class Trains(layers.Layer):
    """Trains unless told otherwise."""

    def __init__(self, told: list[Any]) -> None:
        super().__init__()
        self.silent, self.tells = Silent(told), Tells(told)

    def call(self, x: Any, training: Any = True) -> Any:
        self.tells(x, training=False)
        self.tells(x)
        return self.silent(x)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_training_is_handed_on(staged: bool) -> None:
    told: list[Any] = []
    run: Any = fg.function if staged else (lambda f: f)
    silent, trains, model = Silent(told), Trains(told), keras.Sequential([Silent(told)])
    dense = layers.Dense(1)
    dense.build((None, 2))
    for call, expected in (
        (lambda: silent(1.0), [None]), (lambda: silent(1.0, training=True), [True]),
        (lambda: trains(1.0), [False, True, True]), (lambda: trains(1.0, training=None), [False, True, True]),
        (lambda: trains(1.0, training=False), [False, False, False]), (lambda: trains(1.0, False), [False, False, False]),
        (lambda: model(np.ones((1, 2)), training=True), [True]), (lambda: model(np.ones((1, 2))), [None]),
        (lambda: dense(np.ones((1, 2)), training=True), []),
    ):  # fmt: skip
        run(call)()
        assert told[-len(expected) :] == expected if expected else told == []
        told.clear()


def test_losses_of_weights_outputs_and_calls() -> None:
    layer = layers.Dense(2, kernel_regularizer="l2", activity_regularizer="l1", kernel_initializer="ones")
    model = keras.Sequential([layer])
    model(np.ones((3, 2)))
    np.testing.assert_allclose([float(loss) for loss in model.losses], [0.04, 0.04], rtol=1e-6)

    class Adds(layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(fg.reduce_sum(x))
            return x

    adds = Adds()
    for n in (2, 3):  # only what the last call added
        adds(np.ones(n, np.float32))
        assert [float(loss) for loss in adds.losses] == [n]
    adds.add_loss(lambda: fg.constant(7.0))
    adds(np.ones(1, np.float32))
    assert [float(loss) for loss in adds.losses] == [1, 7]


def test_losses_in_a_compiled_step() -> None:
    model = keras.Sequential([layers.Dense(1, kernel_regularizer=keras.regularizers.L2(0.5), use_bias=False)])
    model.build((None, 2))

    @fg.function
    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_sum(model(x, training=True)) + fg.add_n(model.losses)
        return tape.gradient(loss, model.trainable_variables)[0]

    np.testing.assert_allclose(
        gradient(fg.constant([[2.0, 3.0]])).numpy(), model.weights[0].numpy() + [[2.0], [3.0]], rtol=1e-6
    )


def test_add_weight() -> None:
    layer = layers.Layer()
    assert layer.name == "layer" and layers.Layer(name="q").name == "q"
    x = layer.add_weight("x", (2,))
    assert x.trainable and x.dtype == fg.float32 and x.name == "x:0"
    np.testing.assert_array_equal(layer.add_weight("i", (2,), dtype="int32").numpy(), [0, 0])
    still = layer.add_weight("f", shape=(2,), initializer="ones", trainable=False, regularizer="l1")
    assert [w.name for w in layer.weights] == ["x:0", "i:0", "f:0"] and layer.non_trainable_weights[-1] is still
    np.testing.assert_allclose(float(layer.losses[0]), 0.02, rtol=1e-6)
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 3
    with pytest.raises(TypeError, match="Unknown keyword argument"):
        layer.add_weight("y", (2,), foo=1)
    with pytest.raises(ValueError, match="An initializer for variable s of type string is required"):
        layer.add_weight("s", (2,), dtype="string")


def test_dtypes() -> None:
    wide = layers.Dense(2, dtype="float64")
    assert wide(np.ones((1, 2), np.float32)).dtype == fg.float64 and wide.compute_dtype == "float64"
    assert layers.Dense(2)(np.ones((1, 2))).dtype == fg.float32
    assert layers.Dense(2)(np.ones((1, 2), np.int32)).dtype == fg.float32


def test_subclasses_without_super_init() -> None:
    class Forgets(keras.Model):
        def __init__(self) -> None:
            self.a = layers.Dense(1)

    class LayerForgets(layers.Layer):
        def __init__(self) -> None:
            self.a = layers.Dense(1)

    with pytest.raises(RuntimeError, match=r"you forgot to call `super\(\).__init__\(\)`"):
        Forgets()
    with pytest.raises(RuntimeError, match=r"You must call `super\(\).__init__\(\)` in the layer constructor"):
        LayerForgets()(1.0)


def test_a_call_that_is_a_function_and_one_with_control_flow() -> None:
    class Decorated(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(2, kernel_initializer="ones")

        @fg.function
        def call(self, x: Any, training: bool = False) -> Any:
            return self.dense(x) * (2.0 if training else 1.0)

    model = Decorated()
    x = fg.ones((1, 3))
    assert model(x).numpy().tolist() == [[3, 3]] and model(x, training=True).numpy().tolist() == [[6, 6]]

    class Branches(layers.Layer):
        def call(self, x: Any) -> Any:
            if fg.reduce_sum(x) > 0:
                return x
            return -x

    layer = Branches()
    run = fg.function(lambda x: layer(x))
    assert float(run(fg.constant(-2.0))) == 2.0 == float(run(fg.constant(2.0)))


def test_a_second_model_without_weights_is_refused_in_a_function() -> None:
    @fg.function
    def run(model: Any, x: Any) -> Any:
        return model(x)

    x = fg.ones((1, 2))
    run(keras.Sequential([layers.Dense(1)]), x)
    second = keras.Sequential([layers.Dense(1)])
    with pytest.raises(ValueError, match="tried to create variables on non-first call"):
        run(second, x)
    third = keras.Sequential([layers.Dense(1)])
    third.build((None, 2))
    run(third, x)


def test_lists_that_grow_and_attributes_set_again() -> None:
    class Grows(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks: list[Any] = []
            for _ in range(3):
                self.blocks.append(layers.Dense(2))
            self.head = layers.Dense(1)
            self.head = layers.Dense(4, name="new")

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    model = Grows()
    model(np.ones((1, 2)))
    assert len(model.weights) == 8 and [layer.name for layer in model.layers][-1] == "new"


def test_what_is_not_there_says_so() -> None:
    model = keras.Sequential()
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'nonsense'"):
        _ = model.nonsense


def test_what_keras_has_and_this_not_names_keras_3() -> None:
    missing = 0
    for space, names in tensorflow_names().items():
        if space.startswith("keras."):
            for name in names:
                try:
                    reduce(getattr, [*space.split("."), name], fg)
                except NotImplementedError as error:
                    missing += 1
                    old = "optimizers.legacy" in f"{space}.{name}"
                    gone = f"{space}.{name}".startswith("keras.preprocessing.text")  # from Keras 3, too
                    layer = "fastgraph.keras.layers.TextVectorization"
                    helps = layer if gone else "Keras 3 (pip install fastgraph[keras]"
                    helps = "fastgraph.keras.optimizers" if old else helps
                    assert helps in str(error), f"{space}.{name}: {error}"
    assert missing > 200


SUMMARY = """\
Model: "sequential"
_________________________________________________________________
 Layer (type)                Output Shape              Param #   
=================================================================
 dense (Dense)               (2, 3)                    15        
                                                                 
 batch_normalization (Batch  (2, 3)                    12        
 Normalization)                                                  
                                                                 
 dropout (Dropout)           (2, 3)                    0         
                                                                 
 dense_1 (Dense)             (2, 2)                    8         
                                                                 
=================================================================
Total params: 35 (140.00 Byte)
Trainable params: 29 (116.00 Byte)
Non-trainable params: 6 (24.00 Byte)
_________________________________________________________________
"""  # noqa: W291, W293


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    model = keras.Sequential(
        [layers.Dense(3, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(2)]
    )
    with pytest.raises(ValueError, match="This model has not yet been built"):
        model.summary()
    model(np.ones((2, 4)))
    model.summary()
    assert capsys.readouterr().out == SUMMARY
    lines: list[str] = []
    nested = Nested()
    nested.build((None, 2))
    nested.summary(print_fn=lines.append)
    assert lines[4].split() == ["dense_2", "(Dense)", "multiple", "6"] and "Total params: 24 (96.00 Byte)" in lines


def test_signatures_of_models_have_the_names_and_dtypes_that_keras_2_gives_them(tmp_path: Path) -> None:
    class Own(keras.Model):
        def call(self, x: Any) -> Any:
            numbers = fg.cast(x["b"], "float32") if isinstance(x, dict) else x
            return {"z": numbers, "a": (numbers, [numbers])} if isinstance(x, dict) else [numbers, 2 * numbers]

    words = keras.layers.TextVectorization(vocabulary=["cat"], output_sequence_length=3)
    given = keras.Input((4,), name="inp")
    models = {
        "text": keras.Sequential([keras.Input((), dtype="string", name="words"), words]),
        "late": keras.Sequential([keras.layers.Embedding(5, 2, name="e"), keras.layers.Flatten(name="f")]),
        "outputs": keras.Model(given, {"s": keras.layers.Dense(1, name="q")(given), "c": given * 2}),
        "list": Own(),
        "dict": Own(),
    }
    models["late"](fg.constant([[1, 2]]))
    models["list"](fg.ones([2, 3]))
    models["dict"]({"a": fg.ones([1, 2]), "b": fg.ones([1, 2], "int32")})
    found = {}
    for name, model in models.items():
        fg.saved_model.save(model, tmp_path / name)
        signature = fg.saved_model.load(tmp_path / name).signatures["serving_default"]
        specs = signature.structured_input_signature[1]
        found[name] = {key: spec.dtype.name for key, spec in specs.items()}, sorted(signature.structured_outputs)
    assert found["text"] == ({"words": "string"}, [words.name])
    assert found["late"] == ({"e_input": "float32"}, ["f"])  # of any length
    assert found["outputs"][0] == {"inp": "float32"} and "q" in found["outputs"][1] and "c" not in found["outputs"][1]
    assert found["list"] == ({"input_1": "float32"}, ["output_1", "output_2"])
    assert found["dict"] == ({"a": "float32", "b": "int32"}, ["a_1", "a_2_1", "z"])
    loaded = fg.saved_model.load(tmp_path / "text")
    assert loaded(fg.constant(["cat dog"])).numpy().tolist() == [[2, 1, 0]]
    models["text"].export(tmp_path / "exported")
    assert sorted(fg.saved_model.load(tmp_path / "exported").signatures) == ["serve", "serving_default"]


def test_saved_models_are_called_to_predict_and_to_train(tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,)), keras.layers.Dropout(0.5)])
    x = fg.ones([4, 3])
    fg.saved_model.save(model, tmp_path / "model")
    loaded = fg.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose(loaded(x), model(x), rtol=1e-6)
    assert 0 < np.count_nonzero(loaded(fg.ones([400, 3]), training=True)) < 800
    assert loaded.signatures["serving_default"](dense_input=x)["dropout"].shape == [4, 2]
    fg.saved_model.save(keras.Sequential([keras.layers.Dense(2)]), tmp_path / "unbuilt")
    assert not callable(fg.saved_model.load(tmp_path / "unbuilt"))


def test_models_are_exported(tmp_path: Path) -> None:
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    y = keras.layers.Dropout(0.5)(keras.layers.Dense(2)(keras.layers.Concatenate()([a, b])))
    model = keras.Model({"a": a, "b": b}, {"y": y})
    model.export(tmp_path / "model")
    loaded = fg.saved_model.load(tmp_path / "model")
    given = {"a": fg.ones([4, 3]), "b": fg.ones([4, 2])}
    np.testing.assert_allclose(loaded.serve(given)["y"], model(given)["y"], rtol=1e-6)
    np.testing.assert_allclose(loaded.signatures["serving_default"](**given)["y"], model(given)["y"], rtol=1e-6)
    assert len(loaded.trainable_variables) == 2
    with pytest.raises(ValueError, match="must be built before it is exported"):
        keras.Sequential([keras.layers.Dense(1)]).export(tmp_path / "none")


def test_a_model_of_two_arguments_is_saved_with_both(tmp_path: Path) -> None:
    class Summed(fg.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = fg.keras.layers.Dense(2)

        def call(self, x, y):
            return self.dense(x) + y

    model, x, y = Summed(), fg.ones([3, 4]), fg.constant([[1.0, 2.0]] * 3)
    wanted = model(x, y)
    fg.saved_model.save(model, str(tmp_path))
    loaded = fg.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.signatures["serving_default"](args_0=x, args_1=y)["output_1"], wanted)
    np.testing.assert_allclose(loaded(x[:1], y[:1]), wanted[:1])
