"""Every method and property of TensorFlow's classes is there, or says that it is not, and what to use."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.core.unimplemented_classes import Unbuilt

LISTED = Path(__file__).with_name("tensorflow_methods.txt").read_text(encoding="utf-8").splitlines()
METHODS = {full: names.split() for full, _, names in (line.partition(": ") for line in LISTED if line[0] != "#")}


def network() -> Any:
    """A compiled model: some of a model's properties come from there."""
    model = fg.keras.Sequential([fg.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


#: Objects of classes whose properties their constructors set.
OBJECTS: dict[str, Callable[[], Any]] = {
    "CriticalSection": lambda: fg.CriticalSection(),
    "data.Options": lambda: fg.data.Options(),
    "data.ThreadingOptions": lambda: fg.data.Options().threading,
    "data.experimental.AutotuneOptions": lambda: fg.data.Options().autotune,
    "data.experimental.DistributeOptions": lambda: fg.data.Options().experimental_distribute,
    "data.experimental.OptimizationOptions": lambda: fg.data.Options().experimental_optimization,
    "data.experimental.Reducer": lambda: fg.data.experimental.Reducer(lambda _: 0, lambda s, _: s, lambda s: s),
    "distribute.InputContext": lambda: fg.distribute.InputContext(),
    "distribute.ReplicaContext": lambda: fg.distribute.get_replica_context(),
    "distribute.Strategy": lambda: fg.distribute.OneDeviceStrategy("cpu:0"),
    "distribute.experimental.ValueContext": lambda: fg.distribute.experimental.ValueContext(),
    "keras.Model": network,
    "keras.callbacks.CallbackList": lambda: fg.keras.callbacks.CallbackList([]),
    "keras.layers.GRU": lambda: fg.keras.layers.GRU(2),
    "keras.layers.LSTM": lambda: fg.keras.layers.LSTM(2),
    "keras.layers.Layer": lambda: fg.keras.layers.Layer(),
    "keras.layers.SimpleRNN": lambda: fg.keras.layers.SimpleRNN(2),
    "metrics.AUC": lambda: fg.keras.metrics.AUC(),
    "optimizers.Optimizer": lambda: fg.keras.optimizers.SGD(),
    "profiler.experimental.ProfilerOptions": lambda: fg.profiler.experimental.ProfilerOptions(),
    "saved_model.LoadOptions": lambda: fg.saved_model.LoadOptions(),
    "saved_model.SaveOptions": lambda: fg.saved_model.SaveOptions(),
}
#: What raises an AttributeError as in TensorFlow: of eager tensors, and of layers that were never called.
OTHERWISE = {
    "keras.layers.Layer": "input input_shape output output_shape",
    "Tensor": "eval name set_shape",
}


def test_every_method_is_there_or_says_what_to_use() -> None:
    silent = []
    for full, names in METHODS.items():
        try:
            cls = operator.attrgetter(full)(fg)
        except (AttributeError, ImportError):
            continue
        if isinstance(cls, Unbuilt) or not isinstance(cls, type):
            continue
        where = OBJECTS[full]() if full in OBJECTS else cls
        for name in set(names) - set(OTHERWISE.get(full, "").split()):
            try:
                getattr(where, name)
            except fg.errors.NotBuiltError as error:
                assert "Use " in str(error), str(error)
            except AttributeError as error:
                silent.append(f"{full}.{name}: {error}")
            except RuntimeError:  # there, and not without more than was given
                pass
    assert silent == []


def test_a_missing_method_is_no_attribute_and_gives_way_to_what_is_set() -> None:
    layer = fg.keras.layers.Layer()
    assert not hasattr(layer, "add_metric")
    with pytest.raises(fg.errors.NotBuiltError, match=r"Layer\.add_metric is not built\. Use "):
        fg.keras.layers.Layer.add_metric
    layer.updates = [1]
    assert list(layer.updates) == [1]
    with pytest.raises(fg.errors.NotBuiltError, match="Use fit"):
        network().fit_generator(iter([]))
