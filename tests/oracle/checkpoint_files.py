"""Makes the small checkpoints of TensorFlow's that tests/api/test_checkpoints_of_tensorflow.py restores.

    /path/to/tensorflow/python tests/oracle/checkpoint_files.py tests/api/checkpoints

The values follow from `numbers` alone, so that the tests need no further files. Needs tensorflow, tf_keras and Keras 3.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

DTYPES = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
]  # fmt: skip
STRINGS = [[b"", b"a", b"\xff\x00"], [b"x" * 130, "käse".encode(), b"tensor"]]


def numbers(i: int, shape: Any) -> Any:
    """The values of the i-th Variable, float32: eighths, exact in every dtype that is wide enough."""
    size = int(np.prod(shape))
    return ((np.arange(size) + i) % 15 / 8).astype(np.float32).reshape(shape)


def fill(variables: Any) -> None:
    """Give Variables their values, in order."""
    for i, variable in enumerate(variables):
        variable.assign(numbers(i, variable.shape).astype(str(getattr(variable.dtype, "name", variable.dtype))))


def main(folder: str) -> None:
    """Write all of them."""
    import tensorflow as tf

    def path(name: str) -> str:
        return os.path.join(folder, name, "ckpt")

    whole = {f"v_{name}": tf.Variable(tf.cast(numbers(1, (2, 3)) * 8, name)) for name in DTYPES}
    tf.train.Checkpoint(
        **whole, text=tf.Variable(STRINGS), single=tf.Variable(b"one"), empty=tf.Variable(tf.zeros([0, 3])),
        scalar=tf.Variable(2.5),
    ).save(path("dtypes"))  # fmt: skip

    os.makedirs(os.path.join(folder, "slices"))
    parts = numbers(2, (5, 4))
    tf.raw_ops.SaveV2(
        prefix=path("slices"),
        tensor_names=["a", "a", "b", "long/name", "long/name"],
        shape_and_slices=["5 4 0,3:-", "5 4 3,2:-", "", "100 70,30", "100 0,70"],
        tensors=[parts[:3], parts[3:], numbers(3, (2,)), numbers(4, (100,))[70:], numbers(4, (100,))[:70]],
    )

    module = tf.Module()
    module.w = tf.Variable(numbers(5, (3,)), name="w")
    module.layers = [tf.Variable(numbers(6, (2,))), {"b/c": tf.Variable(numbers(7, ())), "same": module.w}, 3]
    module.pair = (tf.Variable(numbers(8, (1, 2))), [tf.Module()])
    module.pair[1][0].deep = tf.Variable(numbers(9, (4,)))
    table = tf.lookup.experimental.MutableHashTable("string", "int64", -1)
    table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], "int64"))
    generator = tf.random.Generator.from_seed(7)
    generator.normal([5])
    tf.train.Checkpoint(module=module, table=table, generator=generator).save(path("objects"))
    tf.train.Checkpoint(module, extra=tf.Variable(numbers(10, (2,)))).save(path("root"))

    iterator = iter(tf.data.Dataset.range(10).shuffle(5, seed=1).batch(2))
    next(iterator)
    tf.train.Checkpoint(iterator=iterator, v=tf.Variable(numbers(11, (2,)))).save(path("iterator"))

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.get_variable("a/w", initializer=numbers(12, (2, 2)))
        tf.compat.v1.get_variable("b", initializer=numbers(13, (3,)))
        session.run(tf.compat.v1.global_variables_initializer())
        os.makedirs(os.path.join(folder, "names"))
        tf.compat.v1.train.Saver(save_relative_paths=True).save(session, path("names"), write_meta_graph=False)

    import tf_keras

    def two(keras: Any) -> Any:
        model = keras.Sequential(
            [keras.layers.Dense(3, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(2)]
        )
        model.build((None, 4))
        fill(model.weights)
        return model

    model = two(tf_keras)
    model.compile(tf_keras.optimizers.Adam(0.25), "mse")
    model.optimizer.build(model.trainable_variables)
    fill(model.optimizer.variables[1:])
    model.optimizer.iterations.assign(3)
    os.makedirs(os.path.join(folder, "keras_2"))
    model.save_weights(path("keras_2"))
    model = two(tf_keras)
    optimizer = tf_keras.optimizers.legacy.Adam(0.25)
    optimizer._create_all_weights(model.trainable_variables)
    fill(optimizer.weights[1:])
    optimizer.iterations.assign(3)
    tf.train.Checkpoint(model=model, optimizer=optimizer).save(path("keras_2_slots"))

    import keras

    model = two(keras)
    optimizer = keras.optimizers.Adam(0.25)
    optimizer.build(model.trainable_variables)
    fill(optimizer.variables[2:])
    optimizer.iterations.assign(3)
    tf.train.Checkpoint(model=model, optimizer=optimizer).save(path("keras_3"))


if __name__ == "__main__":
    main(sys.argv[1])
