"""Keras's savers and callbacks in one folder for all processes: `savers_program.py FOLDER`. Prints who is done."""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank, folder = strategy.cluster_resolver.task_id, sys.argv[1]
written = set()


def note(event, args):
    """Note what this process opens to write, makes anew or removes in the folder."""
    writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
    if (writes or event in ("os.rename", "os.remove", "os.rmdir")) and str(args[0]).startswith(folder):
        written.add(str(args[0]))


sys.addaudithook(note)
callbacks, layers = tf.keras.callbacks, tf.keras.layers
drawn = np.random.RandomState(0).randn(32, 7).astype("float32")
data = tf.data.Dataset.from_tensor_slices((drawn[:, :6], drawn[:, 6:])).batch(16)
with strategy.scope():
    model = tf.keras.Sequential([layers.Input((6,)), layers.Dense(3), layers.BatchNormalization(), layers.Dense(1)])
    model.compile("adam", "mse")
losses = []
for _ in range(2):
    found = model.fit(data, epochs=2, verbose=0, callbacks=[
        callbacks.ModelCheckpoint(folder + "/{epoch}.keras"),
        callbacks.ModelCheckpoint(folder + "/{epoch}.weights.h5", save_weights_only=True),
        callbacks.BackupAndRestore(folder + "/backup"), callbacks.CSVLogger(folder + "/log.csv", append=True),
        callbacks.TensorBoard(folder + "/logs"),
    ])  # fmt: skip
    losses += found.history["loss"]
model.save(folder + "/last.h5")
os.makedirs(folder + f"/rank{rank}", exist_ok=True)
model.save(folder + f"/rank{rank}/own.keras")
strategy.extended.of_first(tf.constant(0))  # what the first has written is whole now
for name in ("2.keras", f"rank{rank}/own.keras"):
    again = tf.keras.models.load_model(f"{folder}/{name}")
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])
print(
    json.dumps([rank, losses, sorted({os.path.relpath(path, folder) for path in written})]) + "\n", end="", flush=True
)
