"""compile, fit, evaluate, predict: what goes in, what comes back, what is said, what goes wrong."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import keras
from fastgraph.errors import InvalidArgumentError, NotBuiltError
from fastgraph.keras import backend, data_adapters, layers


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def model_of(units: int = 1, *, metrics: Any = None, loss: Any = "mse", optimizer: Any = "sgd") -> Any:
    model = keras.Sequential([layers.Dense(units, input_shape=(3,))])
    model.compile(optimizer, loss, metrics=metrics)
    return model


X, Y = np.linspace(-1, 1, 210).reshape(70, 3), np.linspace(0, 1, 70)


def test_a_step_is_traced_once_and_once_more_for_a_smaller_batch() -> None:
    traced = []

    class Counted(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            traced.append(inputs.shape[0])
            return self.dense(inputs)

    model = Counted()
    model.compile("sgd", "mse")
    model(X)
    traced.clear()
    for _ in range(2):
        model.fit(X, Y, batch_size=16, epochs=3, verbose=0)
    assert traced == [16, None]


def test_learning_goes_on_over_epochs_and_calls() -> None:
    model = model_of(optimizer=keras.optimizers.Adam(0.1))
    first = model.fit(X, Y, epochs=2, verbose=0)
    again = model.fit(X, Y, epochs=20, initial_epoch=2, verbose=0)
    assert first.epoch == [0, 1] and again.epoch == list(range(2, 20))
    assert again.history["loss"][-1] < first.history["loss"][-1] < first.history["loss"][0]
    assert model.history is again and int(model.optimizer.iterations) == 20 * 3


def test_steps_run_op_by_op_if_asked() -> None:
    kinds = []
    model = keras.Sequential([layers.Lambda(lambda x: kinds.append(type(x).__name__) or x), layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(X, Y, batch_size=35, verbose=0)
    assert kinds == ["EagerTensor"] * 2


def test_a_seed_makes_training_repeat_itself() -> None:
    def run() -> Any:
        keras.utils.set_random_seed(3)
        model = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dropout(0.5), layers.Dense(1)])
        model.compile("adam", "mse")
        return model.fit(X, Y, epochs=2, verbose=0).history["loss"], np.random.rand()  # noqa: NPY002

    assert run() == run()


def test_a_seed_makes_the_training_of_keras_2() -> None:
    x = np.sin(np.arange(48, dtype=np.float32)).reshape(12, 4)
    keras.utils.set_random_seed(42)
    noisy = [layers.Dropout(0.3), layers.GaussianNoise(0.1)]
    model = keras.Sequential([layers.Dense(5, activation="relu"), *noisy, layers.Dense(1)])
    model.compile("adam", "mse")
    losses = model.fit(x, x[:, :1], epochs=3, batch_size=5, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [0.38609, 0.39484, 0.40687], atol=2e-5)  # Keras 2's, as TensorFlow trains it


@pytest.mark.parametrize(
    ("functional", "batch_size", "eager", "losses"),
    [
        (False, 20, False, [7.2153, 4.4718, 3.6882]), (False, 25, True, [6.7306, 5.7905, 3.8642]),
        (True, 20, False, [4.542, 5.1532, 3.543]), (True, 20, True, [6.3809, 4.0905, 4.1752]),
    ],
)  # fmt: skip
def test_layers_with_seeds_draw_what_those_of_keras_2_draw(
    functional: bool, batch_size: int, eager: bool, losses: list[float]
) -> None:
    draws = np.random.RandomState(0)
    x, y = draws.randn(50, 8).astype("f"), draws.randn(50, 1).astype("f")
    keras.utils.set_random_seed(3)
    if functional:
        start = layers.Input((8,))
        model = keras.Model(start, layers.Dense(1)(layers.Dropout(0.5, seed=5)(start)))
    else:
        noisy = [layers.Dropout(0.5, seed=5), layers.GaussianNoise(0.1, seed=7)]
        model = keras.Sequential([*noisy, layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=eager)
    found = [loss for n in (2, 1) for loss in model.fit(x, y, batch_size, n, verbose=0).history["loss"]]
    np.testing.assert_allclose(found, losses, atol=1e-4)  # Keras 2's, as TensorFlow trains it


def test_metrics_named_by_strings_have_the_same_names_in_each_model() -> None:
    for _ in range(2):
        model = keras.Sequential([layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", "mse", metrics=["AUC", keras.metrics.Precision(name="p")], weighted_metrics=["AUC"])
        history = model.fit(X, (Y > 0).astype("float32"), verbose=0).history
        assert list(history) == ["loss", "auc", "p", "auc_1"]


def test_a_layer_with_a_seed_draws_others_each_time() -> None:
    layer = layers.Dropout(0.5, seed=5)
    drawn = []
    for each in range(2):
        fg.random.set_seed(3)
        drawn.append(layer(fg.ones((1, 64)), training=True).numpy())
        fg.random.set_seed(3)
        np.testing.assert_array_equal(drawn[-1], fg.nn.dropout(fg.ones((1, 64)), 0.5, seed=5 + each).numpy())
    assert (drawn[0] != drawn[1]).any()


def test_rows_are_shuffled_together_and_all_of_them(random: np.random.Generator, monkeypatch: Any) -> None:
    monkeypatch.setattr(data_adapters, "_BLOCK", 400)  # so that there are several blocks
    x = random.standard_normal((101, 5)).astype("float32")
    source = data_adapters.source_of([x, {"a": x[:, 0]}], x.sum(1), batch_size=8, shuffle=True)
    for _ in range(2):
        rows = list(source.epoch())
        assert [len(y) for _, y in rows] == [8] * 12 + [5]
        for (whole, named), y in rows:
            np.testing.assert_allclose(whole.sum(1), y, rtol=1e-5)
            np.testing.assert_array_equal(whole[:, 0], named["a"])
        seen = np.concatenate([whole for (whole, _), _ in rows])
        assert not np.array_equal(seen, x)
        np.testing.assert_array_equal(np.sort(seen[:, 0]), np.sort(x[:, 0]))


def test_slow_batches_are_prepared_beside_the_steps() -> None:
    threads = set()

    def slow() -> Any:
        for i in range(10):
            time.sleep(0.001)
            threads.add(threading.current_thread().name)
            yield i

    assert list(data_adapters.ahead(slow())) == list(range(10))
    assert len(threads) == 2
    assert not [t for t in threading.enumerate() if t.name.startswith("fastgraph-batches")]


def test_what_goes_in() -> None:
    class Pieces(keras.utils.Sequence):
        def __len__(self) -> int:
            return 7

        def __getitem__(self, index: int) -> Any:
            return X[index * 10 : index * 10 + 10], Y[index * 10 : index * 10 + 10]

    def pieces() -> Any:
        while True:
            yield X, Y

    model = model_of()
    given: tuple[tuple[Any, ...], ...] = (
        (X, Y), (fg.constant(X), fg.constant(Y)), (X, Y[:, None]), (Pieces(),)
    )  # fmt: skip
    for data in given:
        assert np.isfinite(model.fit(*data, verbose=0).history["loss"]).all()
    assert len(model.fit(pieces(), steps_per_epoch=2, epochs=3, verbose=0).epoch) == 3
    assert model.predict(Pieces(), verbose=0).shape == model.predict(X, verbose=0).shape == (70, 1)
    assert model.predict_on_batch(X[:4]).shape == (4, 1)


@pytest.mark.parametrize("kind", ["dataset", "arrays"])
def test_every_evaluation_begins_with_the_first_batch(kind: str) -> None:
    model = model_of(optimizer=keras.optimizers.SGD(0.0))
    data = fg.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    given: Any = data if kind == "dataset" else (X, Y)
    size = {} if kind == "dataset" else {"validation_batch_size": 8}
    history = model.fit(X, Y, epochs=6, verbose=0, validation_data=given, validation_steps=2, **size).history
    np.testing.assert_allclose(history["val_loss"], [model.evaluate(data.take(2), verbose=0)] * 6, rtol=1e-6)


def test_a_generator_that_ends_ends_training(caplog: Any) -> None:
    history = model_of().fit(((X, Y) for _ in range(3)), steps_per_epoch=2, epochs=5, verbose=0)
    assert history.epoch == [0, 1]
    assert "ran out of data" in caplog.text


def test_a_loss_that_is_no_number_is_seen() -> None:
    model = model_of(metrics=["mae"])
    history = model.fit(X * np.nan, Y, epochs=3, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()])
    assert np.isnan(history.history["loss"]).all() and len(history.epoch) == 1


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: keras.Sequential([layers.Dense(1)]).fit(X, Y), RuntimeError, "must compile your model"),
    (lambda: model_of().fit(X, Y[:3], verbose=0), ValueError, "x sizes: 70\n  y sizes: 3\n"),
    (lambda: model_of().fit(X[:, :2], Y, verbose=0), ValueError, r"expected shape=\(None, 3\), found shape=\(32, 2\)"),
    (lambda: model_of(loss="nope"), ValueError, "Unknown loss function: 'nope'. Known names: .*MeanSquaredError"),
    (lambda: model_of(metrics=["nope"]), ValueError, "Unknown metric function: 'nope'"),
    (lambda: model_of(optimizer="nope"), ValueError, "Unknown optimizer: 'nope'. Known names: adadelta, adafactor, adagrad, adam"),
    (lambda: model_of(loss=keras.losses.MeanSquaredError), ValueError, r"is a class: make one of it"),
    (lambda: model_of().fit(X, verbose=0), ValueError, "Target data is missing"),
    (lambda: model_of(loss=None).fit(X, Y, verbose=0), ValueError, "No loss found"),
    (lambda: model_of().fit(X, Y, epoch=3), TypeError, "Unknown argument: 'epoch'"),
    (lambda: model_of().fit([1.0, 2.0], Y), ValueError, "a list of Python numbers"),
    (lambda: model_of().fit(X[:0], Y[:0]), ValueError, "non-empty"),
    (lambda: model_of().fit(X, Y, validation_split=0.2, callbacks=[print]), TypeError, "Expected callbacks"),
    (lambda: model_of().fit(data_of(), validation_split=0.2), ValueError, "only supported for Tensors or NumPy"),
    (lambda: model_of().fit(data_of().take(0)), ValueError, "the data has no batches"),
    (lambda: model_of().fit(data_of(), Y), ValueError, "`y` argument is not supported when using dataset"),
    (lambda: model_of().fit(data_of().repeat()), ValueError, "infinitely repeating dataset.*`steps_per_epoch`"),
    (lambda: model_of().fit(X, Y, class_weight={1: 1.0}), ValueError, "keys from 0 to one less"),
]  # fmt: skip


def data_of() -> Any:
    return fg.data.Dataset.from_tensor_slices((X, Y)).batch(10)


@pytest.mark.parametrize(("run", "error", "text"), BAD)
def test_errors_teach(run: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run()


def test_lists_of_numbers_are_arrays() -> None:
    lists, found = ([1.0, 2.0, 3.0], [2, 4, 6], [1.0, 0.0, 2.0]), []
    for x, y, weights in (lists, tuple(np.array(each) for each in lists)):
        model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
        model.compile("sgd", "mse")
        trained = model.fit(x, y, sample_weight=weights, validation_data=(x, y), epochs=2, shuffle=False, verbose=0)
        found.append((trained.history, model.evaluate(x, y, verbose=0), model.predict(x, verbose=0).tolist()))
    assert found[0] == found[1]
    assert found[0][0]["loss"][0] == pytest.approx((1 + 2 * 9) / 3)


def test_labels_that_are_no_class_are_named() -> None:
    model = model_of(2, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(InvalidArgumentError, match="label"):
        model.fit(X, np.full(70, 5), verbose=0)


def test_what_is_said(capsys: Any) -> None:
    model = model_of(metrics=["mae"])
    model.fit(X, Y, epochs=2, validation_split=0.1)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Epoch 1/2" and out[2] == "Epoch 2/2" and len(out) == 4
    assert out[1].startswith("2/2 [==============================] - ")
    assert [part.split(":")[0] for part in out[1].split(" - ")[2:]] == ["loss", "mae", "val_loss", "val_mae"]
    model.fit(X, Y, verbose=2)
    assert capsys.readouterr().out.splitlines()[0].startswith("3/3 - 0s - loss: ")
    model.fit(X, Y, verbose=0)
    model.evaluate(X, Y, verbose=0)
    model.predict(X, verbose=0)
    assert capsys.readouterr().out == ""
    model.evaluate(X, Y)
    model.predict(X)
    assert [line[:6] for line in capsys.readouterr().out.splitlines()] == ["3/3 [="] * 2


def test_what_callbacks_add_to_the_logs_is_said(capsys: Any) -> None:
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    rate = keras.callbacks.LearningRateScheduler(lambda epoch: 0.25)
    model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=2, callbacks=[rate])
    assert " - lr: 0.2500 - " in capsys.readouterr().out


def test_a_bar_moves_on_a_terminal(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    bar = keras.utils.Progbar(3, interval=0)
    for _ in range(3):
        bar.add(1, [("loss", 0.5)])
    out = capsys.readouterr().out
    assert out.count("\r") == 3 and out.endswith("\n") and "ETA" in out.split("\r")[1] and " - loss: 0.5000" in out


def test_the_best_weights_come_back_where_no_epoch_was_too_much(capsys: Any) -> None:
    model = model_of(optimizer=keras.optimizers.SGD(1e6))  # which is worse after each step
    kept: list[Any] = []
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: kept.append(model.get_weights()))
    stop = keras.callbacks.EarlyStopping("loss", patience=9, restore_best_weights=True, verbose=1)
    model.fit(X, Y, batch_size=70, epochs=3, verbose=0, callbacks=[keep, stop])
    for best, now in zip(kept[0], model.get_weights(), strict=True):
        np.testing.assert_array_equal(best, now)
    stop.patience = 1
    model.fit(X, Y, batch_size=70, epochs=4, verbose=0, callbacks=[stop])
    once = "Restoring model weights from the end of the best epoch: 1.\n"
    assert capsys.readouterr().out == f"{once}Epoch 2: early stopping\n{once}"


def test_one_epoch_is_not_announced_and_runs_have_one(capsys: Any) -> None:
    class Noted(keras.callbacks.Callback):
        def on_predict_begin(self, logs: Any = None) -> None:
            assert self.params == {"verbose": 0, "epochs": 1, "steps": 3}

    model = model_of()
    model.fit(X, Y, verbose=2)
    line = capsys.readouterr().out
    assert line.startswith("3/3 - ") and "/epoch - " in line and line.endswith("/step\n")
    model.predict(X, verbose=0, callbacks=[Noted()])


@pytest.mark.parametrize("policy", ["OFF", "FILE", "AUTO", "DATA"])
def test_in_several_processes_a_policy_that_fit_does_not_follow_is_refused(policy: str, monkeypatch: Any) -> None:
    options = fg.data.Options()
    options.experimental_distribute.auto_shard_policy = fg.data.experimental.AutoShardPolicy[policy]
    data = fg.data.Dataset.from_tensor_slices((X, Y)).batch(35).with_options(options)
    model = model_of()
    model.fit(data, verbose=0)
    monkeypatch.setattr(type(model.distribute_strategy.extended), "_in_multi_worker_mode", lambda self: True)
    if policy in ("AUTO", "DATA"):
        model.fit(data, verbose=0)
    else:
        with pytest.raises(NotBuiltError, match=f"{policy} is not built"):
            model.fit(data, verbose=0)


def test_a_model_that_was_trained_is_freed() -> None:
    model = model_of()
    model.fit(X, Y, verbose=0, callbacks=[keras.callbacks.EarlyStopping("loss")])
    seen, end = weakref.ref(model), time.monotonic() + 60
    del model
    gc.collect()
    while seen() is not None and time.monotonic() < end:  # while a thread assembles its step, that holds it
        time.sleep(0.01)
        gc.collect()
    assert seen() is None


def test_shapes_are_of_any_batch(capsys: Any) -> None:
    model = keras.Sequential([layers.Dense(2), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    assert model.layers[0].output_shape == (None, 2) and model.output_shape == (None, 1)
    model.summary()
    assert "(None, 2)                 8" in capsys.readouterr().out
    with pytest.raises(AttributeError, match='Can\'t set the attribute "output"'):
        model.output = 3


def test_lambdas_and_schedules_are_called() -> None:
    seen: list[Any] = []
    model = model_of()
    halved = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    noted = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((epoch, logs["lr"])))
    history = model.fit(X, Y, epochs=2, verbose=0, callbacks=[halved, noted])
    assert seen == [(0, pytest.approx(0.005)), (1, pytest.approx(0.0025))] and len(history.history["lr"]) == 2


def test_checkpoints_are_written_when_they_are_better(tmp_path: Path) -> None:
    model = model_of(optimizer=keras.optimizers.SGD(0.5))
    path = tmp_path / "w-{epoch:02d}"
    best = keras.callbacks.ModelCheckpoint(path, "loss", save_best_only=True, save_weights_only=True)
    values = iter([3.0, 4.0, 2.0])
    lie = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(loss=next(values)))
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[lie, best])
    assert sorted(file.name for file in tmp_path.glob("*.index")) == ["w-01.index", "w-03.index"]
    every = keras.callbacks.ModelCheckpoint(tmp_path / "b{epoch}-{batch}.npz", save_weights_only=True, save_freq=2)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[every])
    assert sorted(file.name for file in tmp_path.glob("b*")) == ["b1-2.npz", "b2-1.npz", "b2-3.npz"]


def test_event_files_hold_the_values(tmp_path: Path) -> None:
    model = model_of(metrics=["mae"])
    board = keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, update_freq=2)
    model.fit(X, Y, epochs=2, verbose=0, validation_split=0.5, callbacks=[board])
    found: dict[str, list[int]] = {}
    for file in tmp_path.rglob("events*"):
        for event in fg.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                found.setdefault(f"{file.parent.name}/{value.tag}", []).append(event.step)
    assert found["train/epoch_loss"] == found["validation/epoch_mae"] == found["train/epoch_learning_rate"] == [0, 1]
    assert found["train/batch_loss"] == [2, 4]
    histograms = [steps for name, steps in found.items() if name.endswith("/kernel_0/histogram")]
    assert histograms and all(steps == [0, 1] for steps in histograms)


def test_steps_of_ones_own() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(1)
            self.distance = keras.metrics.Mean("distance")

        def call(self, inputs: Any) -> Any:
            return self.dense(inputs)

        def train_step(self, data: Any) -> Any:
            x, y = data
            with fg.GradientTape() as tape:
                loss = fg.reduce_mean(fg.square(self(x, training=True)[:, 0] - y))
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            self.distance.update_state(loss)
            return {"distance": self.distance.result()}

    keras.utils.set_random_seed(1)
    model = Own()
    model.compile("sgd")
    history = model.fit(X, Y, epochs=3, verbose=0).history
    assert list(history) == ["distance"] and history["distance"][2] < history["distance"][0]
    assert [metric.name for metric in model.metrics] == ["distance"]


def test_what_a_step_gives_under_a_metrics_name_is_the_metric_of_the_epoch() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.mean = keras.metrics.Mean("loss")

        def call(self, inputs: Any) -> Any:
            return inputs

        def train_step(self, data: Any) -> Any:
            loss = fg.reduce_sum(data)
            self.mean.update_state(loss)
            return {"loss": loss}

        def test_step(self, data: Any) -> Any:
            return self.train_step(data)

    model = Own()
    model.compile()
    data = fg.data.Dataset.range(4).batch(1)  # numbers by tf-keras 2.21
    assert model.fit(data, epochs=2, verbose=0).history == {"loss": [1.5, 1.5]}
    assert model.evaluate(data, verbose=0, return_dict=True) == {"loss": 1.5}


def test_batches_alone_are_shuffled_where_it_is_asked() -> None:
    seen: list[Any] = []

    class Own(keras.Model):
        def train_step(self, data: Any) -> Any:
            seen.append([part.numpy().tolist() for part in data])
            return {}

    model = Own()
    model.compile(run_eagerly=True)
    fg.random.set_seed(3)
    rows = np.arange(10)
    model.fit(rows, -rows, batch_size=4, shuffle="batch", verbose=0)
    assert [sorted(x) for x, _ in seen] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert all([-row for row in x] == y for x, y in seen) and [i for x, _ in seen for i in x] != rows.tolist()


def test_threads_count_names_for_themselves() -> None:
    with backend.counting_anew():
        assert backend.get_uid("of_threads") == 1
        with ThreadPoolExecutor(1) as pool:  # another thread's names are those of the process
            assert [pool.submit(backend.get_uid, "of_threads").result() for _ in range(2)] == [1, 2]
    assert backend.get_uid("of_threads") == 3


def test_shuffled_datasets_come_in_the_order_of_keras() -> None:
    """Numbers by TensorFlow 2.21 with tf-keras, whose fit, evaluate and predict begin a pass and drop it."""
    fg.random.set_seed(7)
    numbers = fg.data.Dataset.range(320).map(lambda i: (fg.cast(i, fg.float32)[None] / 320,) * 2)
    dataset = numbers.shuffle(320, seed=3).batch(100)
    model = fg.keras.Sequential([fg.keras.layers.Dense(1, input_shape=(1,), kernel_initializer="zeros")])
    model.compile("sgd", "mse")
    history = model.fit(dataset, epochs=2, verbose=0, validation_data=dataset).history
    assert history["loss"] == pytest.approx([0.3161514401435852, 0.2659744620323181], rel=1e-6)
    assert history["val_loss"] == pytest.approx([0.2786179184913635, 0.2357812374830246], rel=1e-6)
    assert model.evaluate(dataset, verbose=0) == pytest.approx(0.2357812374830246, rel=1e-6)
    found = model.predict(dataset.map(lambda x, y: x), verbose=0)[:2, 0]
    assert found.tolist() == pytest.approx([0.07655631750822067, 0.11924189329147339], rel=1e-6)
