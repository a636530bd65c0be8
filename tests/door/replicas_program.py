"""A program for Keras 3 on one replica and on two: prints the losses of both."""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

import keras  # noqa: E402

drawn = np.random.RandomState(0).randn(24 * 6 + 6 * 5 + 5 * 3).astype("float32")
x, y = drawn[:144].reshape(24, 6), np.arange(24) % 3
first, last = drawn[144:174].reshape(6, 5), drawn[174:].reshape(5, 3)
found = []
for devices in (["CPU:0"], ["CPU:0", "CPU:1"]):
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        model = keras.Sequential([
            keras.layers.Input((6,)), keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(3)
        ])  # fmt: skip
        model.set_weights([first, np.zeros(5, "float32"), last, np.zeros(3, "float32")])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(loss=loss, optimizer=keras.optimizers.Adam(0.05), metrics=["accuracy"])
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    values = [
        *history["loss"],
        *history["accuracy"],
        *model.evaluate(x, y, verbose=0),
        model.predict(x, verbose=0).sum(),
    ]
    found.append([float(value) for value in values])
    assert strategy.num_replicas_in_sync == len(devices) == len(strategy.experimental_local_results(strategy.run(
        lambda: tf.distribute.get_replica_context().replica_id_in_sync_group
    )))  # fmt: skip
json.dump(found, sys.stdout)
