"""Checkpoints that TensorFlow 2.21 wrote (tests/oracle/checkpoint_files.py made them), restored bit for bit."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.checkpoint_reader import object_graph, open_checkpoint
from fastgraph.saving.object_graph import OBJECT_GRAPH
from fastgraph.saving.sstable import entries_of, table
from fastgraph.saving.tensor_bundle import BundleReader
from tests.oracle.checkpoint_files import DTYPES, STRINGS, numbers

FOLDER = Path(__file__).parent / "checkpoints"


def prefix(name: str, number: int | None = 1) -> str:
    return str(FOLDER / name / "ckpt") + ("" if number is None else f"-{number}")


def test_variables_of_all_dtypes_and_strings() -> None:
    whole = {
        f"v_{name}": tf.Variable(tf.zeros([2, 3], name) if "float8" not in name else tf.cast(tf.zeros([2, 3]), name))
        for name in DTYPES
    }
    text, single = tf.Variable([[b"", b"", b""]] * 2), tf.Variable(b"")
    empty, scalar = tf.Variable(tf.ones([0, 3])), tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(**whole, text=text, single=single, empty=empty, scalar=scalar)
    checkpoint.restore(prefix("dtypes")).assert_consumed()
    for name in DTYPES:
        wanted = tf.cast(numbers(1, (2, 3)) * 8, name)
        assert whole[f"v_{name}"].numpy().tobytes() == wanted.numpy().tobytes(), name
    assert text.numpy().tolist() == STRINGS
    assert single.numpy() == b"one" and scalar.numpy() == 2.5
    assert tf.train.latest_checkpoint(FOLDER / "dtypes") == prefix("dtypes")


def test_what_is_written_is_what_tensorflow_writes(tmp_path: Path) -> None:
    """Byte for byte: the table of the index, the data, the graph of objects."""
    for name in ("dtypes", "objects", "root"):
        reader = BundleReader(prefix(name))
        index = Path(prefix(name) + ".index").read_bytes()
        assert table(sorted(entries_of(index, name).items())) == index
        with BundleWriter(str(tmp_path / name)) as writer:
            for key in sorted(reader.keys(), key=lambda key: reader.entry(key).offset):
                writer.add(key, reader.read(key), reader.dtype_and_shape(key)[0])
            writer.finish()
        for end in (".index", ".data-00000-of-00001"):
            assert Path(str(tmp_path / name) + end).read_bytes() == Path(prefix(name) + end).read_bytes()


def test_a_tensor_in_slices_is_one() -> None:
    reader = tf.train.load_checkpoint(prefix("slices", None))
    assert reader.get_variable_to_shape_map() == {"a": [5, 4], "b": [2], "long/name": [100]}
    assert np.array_equal(reader.get_tensor("a"), numbers(2, (5, 4)))
    assert np.array_equal(reader.get_tensor("b"), numbers(3, (2,)))
    assert np.array_equal(reader.get_tensor("long/name"), numbers(4, (100,)))


def _objects() -> Any:
    module = tf.Module()
    module.w = tf.Variable(tf.zeros([3]), name="w")
    module.layers = [tf.Variable(tf.zeros([2])), {"b/c": tf.Variable(0.0), "same": module.w}, 3]
    module.pair = (tf.Variable(tf.zeros([1, 2])), [tf.Module()])
    module.pair[1][0].deep = tf.Variable(tf.zeros([4]))
    return module


def _are_right(module: Any) -> None:
    found = [module.w, module.layers[0], module.layers[1]["b/c"], module.pair[0], module.pair[1][0].deep]
    for i, variable in enumerate(found):
        assert np.array_equal(variable.numpy(), numbers(5 + i, variable.shape))


def test_objects_of_all_kinds() -> None:
    module = _objects()
    table_ = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    generator = tf.random.Generator.from_seed(0)
    checkpoint = tf.train.Checkpoint(module=module, table=table_, generator=generator)
    checkpoint.restore(prefix("objects")).assert_consumed()
    _are_right(module)
    assert table_.lookup(tf.constant(["a", "b", "c"])).numpy().tolist() == [1, 2, -1]
    again = tf.random.Generator.from_seed(7)
    again.normal([5])
    assert generator.state.numpy().tolist() == again.state.numpy().tolist()
    other, extra = _objects(), tf.Variable(tf.zeros([2]))
    tf.train.Checkpoint(other, extra=extra).restore(prefix("root")).assert_consumed()
    _are_right(other)
    assert np.array_equal(extra.numpy(), numbers(10, (2,)))


@pytest.mark.parametrize("texts", [False, True])
def test_dense_tables_are_kept_as_buckets(texts: bool, tmp_path: Path) -> None:
    kind, made = ("string", str) if texts else ("int64", int)

    def table(value: Any) -> Any:
        reserved = [tf.constant(made(n), kind) for n in (-1, -2)]
        return tf.lookup.experimental.DenseHashTable(kind, tf.float32, value, *reserved)

    keys = tf.constant([made(n) for n in (1, 9, 5, 17, 6)], kind)
    saved, other = table(-1.0), table(-1.0)
    saved.insert(keys, [1.0, 9.0, 5.0, 17.0, 6.0])
    path = tf.train.Checkpoint(table=saved).save(tmp_path / "c")
    found = (
        BundleReader(path).read("table/.ATTRIBUTES/table-keys"),
        BundleReader(path).read("table/.ATTRIBUTES/table-values"),
    )
    assert [part.shape for part in found] == [(8, 1)] * 2
    if not texts:  # a number stands at itself, or by steps of 1, 2, 3 ... behind it: where TensorFlow looks for it
        assert found[0][:, 0].tolist() == [-1, 1, 9, -1, 17, 5, 6, -1]
        assert found[1][:, 0].tolist() == [0, 1, 9, 0, 17, 5, 6, 0]
    other.insert(keys[:1] if texts else tf.constant([77], tf.int64), [3.0])
    tf.train.Checkpoint(table=other).restore(path).assert_consumed()
    assert int(other.size()) == 5
    assert other.lookup(keys).numpy().tolist() == [1.0, 9.0, 5.0, 17.0, 6.0]
    rows = table([0.0, 0.0])
    rows.insert(keys, tf.ones([5, 2]))
    rows._restore_from_tensors(rows._serialize_to_tensors())
    assert rows.lookup(keys[:2]).shape == [2, 2] and int(rows.size()) == 5


def test_the_rate_of_a_schedule_is_kept_and_follows_from_the_step(tmp_path: Path) -> None:
    v = tf.Variable([1.0])

    def made() -> Any:
        return tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5))

    optimizer, other = made(), made()
    optimizer.apply_gradients([(tf.constant([1.0]), v)])
    path = tf.train.Checkpoint(o=optimizer).save(tmp_path / "c")
    assert tf.train.load_variable(path, "o/_current_learning_rate/.ATTRIBUTES/VARIABLE_VALUE") == 0.25
    other.build([v])  # before it the velocity has no place
    tf.train.Checkpoint(o=other).restore(path).assert_consumed()
    assert float(other.learning_rate) == 0.25


def test_the_graph_of_objects_is_the_one_that_tensorflow_writes(tmp_path: Path) -> None:
    module = _objects()
    table_ = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    generator = tf.random.Generator.from_seed(0)
    path = tf.train.Checkpoint(module=module, table=table_, generator=generator).save(tmp_path / "c")
    assert str(object_graph(open_checkpoint(path))) == str(object_graph(open_checkpoint(prefix("objects"))))
    path = tf.train.Checkpoint(module, extra=tf.Variable(tf.zeros([2]))).save(tmp_path / "c")
    assert BundleReader(path).read(OBJECT_GRAPH)[()] == BundleReader(prefix("root")).read(OBJECT_GRAPH)[()]


def test_an_iterator_of_tensorflows_is_no_state_of_ours() -> None:
    v = tf.Variable(tf.zeros([2]))
    tf.train.Checkpoint(v=v).restore(prefix("iterator")).expect_partial()
    assert np.array_equal(v.numpy(), numbers(11, (2,)))
    iterator = iter(tf.data.Dataset.range(10).batch(2))
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.UnimplementedError), match="it/|iterator"):
        tf.train.Checkpoint(iterator=iterator).restore(prefix("iterator"))
    assert next(iterator).numpy().tolist() == [0, 1]


def test_names_of_variables_where_there_is_no_graph_of_objects() -> None:
    class Old(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            with tf.name_scope("a"):
                self.w = tf.Variable(tf.zeros([2, 2]), name="w")
            self.b = tf.Variable(tf.zeros([3]), name="b")

    old = Old()
    status = tf.train.Checkpoint(old=old).restore(prefix("names", None))
    assert type(status).__name__ == "NameBasedSaverStatus"
    status.assert_consumed()
    assert np.array_equal(old.w.numpy(), numbers(12, (2, 2)))
    assert np.array_equal(old.b.numpy(), numbers(13, (3,)))
    with pytest.raises(AssertionError, match="Object not restored"):
        tf.train.Checkpoint(c=tf.Variable(1.0, name="c")).restore(prefix("names", None)).assert_consumed()


def _model(keras: Any) -> Any:
    return keras.Sequential(
        [keras.layers.Dense(3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
    )


def _check(weights: Any) -> None:
    for i, weight in enumerate(weights):
        assert np.array_equal(np.asarray(weight.numpy()), numbers(i, weight.shape)), weight


@pytest.mark.parametrize("built", [True, False])
def test_models_of_keras_2(built: bool) -> None:
    model = _model(tf.keras)
    model.compile(tf.keras.optimizers.Adam(1.0), "mse")
    if built:
        model.build((None, 4))
        model.optimizer.build(model.trainable_variables)
    status = model.load_weights(prefix("keras_2", None))
    if not built:
        model.build((None, 4))
        model.optimizer.build(model.trainable_variables)
    status.assert_consumed()
    _check(model.weights)
    _check(model.optimizer.variables[1:])
    assert int(model.optimizer.iterations) == 3
    assert float(model.optimizer.learning_rate) == 0.25


def test_optimizers_that_keep_slots() -> None:
    """Of TensorFlow before 2.11: slots stand under the Variables."""
    model = _model(tf.keras)
    optimizer = tf.keras.optimizers.Adam(1.0)
    model.build((None, 4))
    tf.train.Checkpoint(model=model, optimizer=optimizer).restore(prefix("keras_2_slots")).expect_partial()
    optimizer.build(model.trainable_variables)
    _check(model.weights)
    _check([*optimizer._momentums, *optimizer._velocities])
    assert int(optimizer.iterations) == 3
    assert float(optimizer.learning_rate) == 0.25


_KERAS_3 = """
import sys
import numpy as np
import keras
import tensorflow as tf
sys.path.insert(0, {scripts!r})
from checkpoint_files import fill, numbers

def made(built):
    model = keras.Sequential([
        keras.layers.Dense(3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)
    ])
    optimizer = keras.optimizers.Adam(1.0)
    if built:
        build(model, optimizer)
    return model, optimizer, tf.train.Checkpoint(model=model, optimizer=optimizer)

def build(model, optimizer):
    model.build((None, 4))
    optimizer.build(model.trainable_variables)

def check(model, optimizer):
    for kept in (model.weights, optimizer.variables[2:]):
        for i, variable in enumerate(kept):
            assert np.array_equal(np.asarray(variable), numbers(i, variable.shape)), variable
    assert int(optimizer.iterations) == 3 and float(optimizer.learning_rate) == 0.25

for built in (True, False):
    model, optimizer, checkpoint = made(built)
    status = checkpoint.restore({prefix!r})
    if not built:
        build(model, optimizer)
    status.assert_consumed()
    check(model, optimizer)
path = checkpoint.save({folder!r} + "/c")
model, optimizer, checkpoint = made(True)
checkpoint.restore(path).assert_consumed()
check(model, optimizer)
from tensorflow.python.training.saving.saveable_object import SaveableObject
print(len(tf.train.list_variables(path)))
"""


@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="Keras 3 is not installed")
def test_models_and_optimizers_of_keras_3(tmp_path: Path) -> None:
    """Behind the door: restored before they have weights and after, saved again."""
    root = Path(__file__).parents[2]
    program = _KERAS_3.format(scripts=str(root / "tests" / "oracle"), prefix=prefix("keras_3"), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "fastgraph", "run", "-c", program], capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    n = len(tf.train.list_variables(prefix("keras_3")))
    assert done.stdout.split() == [str(n)]
