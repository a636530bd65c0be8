"""What Keras 2 (tf_keras) asks of the door: dispatchers, operators as functions, tracked containers, nest's inside.

Keras 2 itself is tested where it is installed: `pip install --no-deps tf-keras`.
"""

from __future__ import annotations

import importlib.util
import inspect
import pathlib
import subprocess
import sys
import textwrap

import pytest

import fastgraph as fg
from fastgraph.core.base import shallow_nesting as nest
from fastgraph.door.internal_decorators import make_decorator
from fastgraph.state import tracked_containers as containers
from tests.door.test_door import answer, environment


def test_a_graph_that_is_entered_again_keeps_its_tapes() -> None:
    w = fg.Variable(3.0)

    @fg.function
    def gradient():
        with fg.GradientTape() as tape:
            y = w * 2.0
            with fg.compat.v1.get_default_graph().as_default():
                z = y * y
        return tape.gradient(z, w)

    assert gradient().numpy() == 24.0


def test_keras_may_be_imported_while_kernels_are_prepared() -> None:
    code = """
    import tensorflow as tf
    @tf.function
    def f(x):
        return tf.reduce_sum(tf.sin(x) * 2)
    f(tf.ones([3]))
    import tensorflow.keras, tensorflow.math, tensorflow.linalg
    print("imported")
    """
    command = [sys.executable, "-m", "fastgraph", "run", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment())
    assert done.stdout == "imported\n", done.stderr


def test_dimensions_count_as_their_values_known_or_not() -> None:
    known, unknown = fg.TensorShape([2, None]).dims
    assert (known.value, unknown.value, known == 2, (unknown == 2), (known + 1).value) == (2, None, True, None, 3)
    assert fg.TensorShape([known, unknown]).as_list() == [2, None] and [*range(known)] == [0, 1]
    with pytest.raises(ValueError, match="not compatible"):
        known.assert_is_compatible_with(3)


def test_structures_as_deep_as_another_one() -> None:
    assert nest.flatten_up_to({"b": 0, "a": (0,)}, {"b": [1], "a": ([2, 3],)}) == [[2, 3], [1]]
    assert nest.map_structure_up_to([0, 0], lambda a, b: (a, b), [[1], 2], [3, 4]) == [([1], 3), (2, 4)]
    assert nest.flatten_with_tuple_paths({"a": [1, {"b": 2}]}) == [(("a", 0), 1), (("a", 1, "b"), 2)]
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})
    goes = nest.get_traverse_shallow_structure(lambda s: isinstance(s, list), [1, (2, 3), [4]])
    assert goes == [False, False, [False]]
    for shallow, tree, error, words in (
        ([1, 2], (1, 2), TypeError, "same sequence type"),
        ([1, 2], [1], ValueError, "same sequence length"),
        ([1], 3, TypeError, "input must also be a sequence"),
    ):
        with pytest.raises(error, match=words):
            nest.assert_shallow_structure(shallow, tree)


def test_tracked_containers_show_what_was_given() -> None:
    given = [fg.Variable(1.0, name="a"), fg.Variable(2.0, trainable=False)]
    owner = fg.Module()
    shown = containers.sticky_attribute_assignment(owner, "parts", given)
    given.append(fg.Variable(3.0))
    assert len(shown) == 3 and isinstance(shown, list) and isinstance(shown, containers.TrackableDataStructure)
    assert [v.numpy() for v in shown.trainable_weights] == [1.0, 3.0]
    assert owner._trackable_children()["parts"] is shown
    assert fg.nest.map_structure(lambda v: v.numpy(), shown) == [1.0, 2.0, 3.0]


def test_variables_belong_to_no_graph_and_are_renamed_by_their_handles() -> None:
    variable = fg.Variable(1.0)
    assert not variable._in_graph_mode and variable._handle_name == "Variable:0"
    variable._handle_name = "dense/kernel:0"
    assert variable.name == "dense/kernel:0"


def test_classes_in_tracked_containers_have_no_weights() -> None:
    parts = containers.sticky_attribute_assignment(fg.Module(), "parts", {"kind": fg.Variable, "v": fg.Variable(1.0)})
    several = containers.sticky_attribute_assignment(fg.Module(), "parts", [fg.Variable, containers.TrackedDict, parts])
    assert [v.numpy() for v in several.weights] == [v.numpy() for v in parts.trainable_weights] == [1.0]
    assert several.losses == several.updates == several.layers == []


def test_dispatchers_are_asked_where_a_call_fails() -> None:
    found = answer(
        """
        import tensorflow as tf
        dispatch = tf.__internal__.dispatch
        class Mine:
            pass
        for name in tf.Tensor.OVERLOADABLE_OPERATORS:
            setattr(Mine, name, getattr(tf.Tensor, name))
        class Global(dispatch.GlobalOpDispatcher):
            def handle(self, op, args, kwargs):
                if any(isinstance(each, Mine) for each in tf.nest.flatten([args, kwargs])):
                    return op.__name__
                return self.NOT_SUPPORTED
        Global().register()
        m = Mine()
        found["names"] = [tf.reduce_mean(m), tf.concat([m, m], 0), tf.nn.relu(m), m + 1, 1 - m, m * 2, m[0], -m, m > 1]
        x = tf.constant([1.0, 2.0])
        found["left"] = [x + m, 1.0 + m, sum([m, m]), x == m, m == x]
        found["composed"] = [tf.convert_to_tensor(m), tf.strings.split(m), tf.io.decode_raw(m, tf.uint8), tf.sets.size(m)]
        found["values"] = [float(tf.reduce_mean(x)), float((x + 1)[0]), float(tf.Tensor.__add__(x, 1)[1])]
        try:
            tf.reduce_mean(object())
        except (TypeError, ValueError) as error:
            found["error"] = "Global" not in str(error)
        """
    )
    names = ["reduce_mean", "concat", "relu", "add", "subtract", "multiply", "getitem", "negative", "greater"]
    left, composed = ["add", "add", "add", "eq", "eq"], ["convert_to_tensor", "split", "decode_raw", "size"]
    assert found.pop("left") == left and found.pop("composed") == composed
    assert found == {"names": names, "values": [1.5, 2.0, 3.0], "error": True}


def test_classes_that_are_not_built_can_be_asked_about() -> None:
    found = answer(
        """
        import tensorflow as tf
        Optimizer = tf.compat.v1.train.Optimizer
        found["none"] = isinstance(1, Optimizer)
        try:
            Optimizer()
        except NotImplementedError as error:
            found["error"] = str(error)
        """
    )
    assert found["none"] is False and "tf.compat.v1.train.Optimizer is not built" in str(found["error"])


@pytest.mark.skipif(importlib.util.find_spec("tf_keras") is None, reason="tf_keras is not installed")
def test_keras_2_fits_saves_and_loads(tmp_path) -> None:
    found = answer(
        """
        import sys
        import numpy as np
        import tensorflow as tf
        keras = tf.keras
        keras.utils.set_random_seed(2)
        x = np.random.default_rng(0).standard_normal((96, 8)).astype("float32")
        i = keras.Input((8,))
        z = keras.layers.Dense(8, activation="tanh")(i) * 2 + 1
        model = keras.Model(i, keras.layers.Dense(1)(z - tf.reduce_mean(z, axis=1, keepdims=True)))
        model.compile("adam", "mse")
        losses = model.fit(x, x[:, :1], epochs=3, verbose=0).history["loss"]
        found["falls"] = losses[0] > losses[-1]
        for suffix in ("h5", "keras"):
            model.save(f"{sys.argv[1]}/model.{suffix}")
            again = keras.models.load_model(f"{sys.argv[1]}/model.{suffix}")
            found[suffix] = float(abs(again.predict(x, verbose=0) - model.predict(x, verbose=0)).max())
        """,
        str(tmp_path),
        TF_USE_LEGACY_KERAS="1",
    )
    assert found == {"falls": True, "h5": 0.0, "keras": 0.0}


@pytest.mark.skipif(importlib.util.find_spec("tf_keras") is None, reason="Keras 2 is not installed")
def test_a_model_saved_in_a_folder_is_loaded_again(tmp_path: pathlib.Path) -> None:
    found = answer(
        """
        import numpy as np
        import tensorflow as tf
        keras = tf.keras
        x = np.random.default_rng(0).standard_normal((8, 6)).astype("float32")
        layers = [keras.layers.Reshape((3, 2)), keras.layers.Bidirectional(keras.layers.LSTM(3)), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((6,)), *layers])
        model.compile("adam", "mse", metrics=["mae"])
        model.fit(x, x[:, :1], verbose=0)
        model.save(sys.argv[1])
        again = keras.models.load_model(sys.argv[1])
        found["model"] = float(abs(again.predict(x, verbose=0) - model.predict(x, verbose=0)).max())
        found["loss"] = again.evaluate(x, x[:, :1], verbose=0) == model.evaluate(x, x[:, :1], verbose=0)
        loaded = tf.saved_model.load(sys.argv[1])
        (served,) = loaded.signatures["serving_default"](tf.constant(x)).values()
        found["functions"] = float(abs(served - model(x)).numpy().max() + abs(loaded(x) - model(x)).numpy().max())
        """,
        str(tmp_path),
        TF_USE_LEGACY_KERAS="1",
    )
    assert found["model"] < 1e-6 and found["loss"] and found["functions"] < 1e-6


def test_what_keras_2_asks_of_functions_and_objects() -> None:
    class Layer:
        def call(self, x, training=None):
            return x

    said = inspect.getfullargspec(Layer.call)._replace(defaults=(False,))
    made = make_decorator(Layer().call, lambda *args, **kwargs: args[0], decorator_argspec=said)
    assert str(inspect.signature(made)) == "(x, training=False)"
    assert fg.function(made).function_spec.arg_names == ["x", "training"]
    module = fg.train.Checkpoint()
    module._setattr_tracking = False
    module.aside = fg.Module()
    module._setattr_tracking = True
    module.part = fg.Module()
    assert [*module._self_unconditional_dependency_names] == ["part"]
    assert fg.TensorSpec([2], name="a")._without_tensor_names() == fg.TensorSpec([2])


def test_objects_of_one_saved_model_share_a_cache(tmp_path: pathlib.Path) -> None:
    seen = []

    class Part(fg.Module):
        def _trackable_children(self, save_type="checkpoint", **kwargs):
            if save_type == "savedmodel":
                seen.append(kwargs["cache"])
            return super()._trackable_children(save_type, **kwargs)

    root = Part()
    root.part = Part()
    fg.saved_model.save(root, str(tmp_path))
    assert len(seen) > 1 and all(cache is seen[0] for cache in seen)
