"""A program as tutorials have them, which knows nothing of fastgraph: test_door.py runs it behind the door.

TensorFlow 2.21 with Keras 3.15.1 gave the numbers that are expected there.
"""

import json

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(7)


class Scaled(layers.Layer):
    """A layer of one's own."""

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones")

    def call(self, inputs):
        return inputs * self.scale


class Model(keras.Model):
    """Steps of one's own."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"loss": loss}


class Losses(keras.callbacks.Callback):
    """Notes what every batch gives."""

    def on_train_batch_end(self, batch, logs=None):
        noted.append(float(logs["loss"]))


noted = []
text = np.random.randint(0, 20, (40, 6))  # noqa: NPY002  the seed above is also that of this generator
numbers = np.random.normal(3.0, 2.0, (40, 4)).astype("float32")  # noqa: NPY002
labels = text[:, 0] % 2
normalize = layers.Normalization()
normalize.adapt(numbers)
words, values = keras.Input((6,), dtype="int32", name="words"), keras.Input((4,), name="values")
x = layers.LSTM(5)(layers.Embedding(20, 8, mask_zero=True)(words))
y = layers.Dropout(0.3)(layers.Dense(5, activation="gelu")(normalize(values)))
outputs = layers.Dense(1, activation="sigmoid")(Scaled()(layers.add([x, y])))
model = Model({"words": words, "values": values}, outputs)
model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy())
given = {"words": text, "values": numbers}
model.fit(given, labels, batch_size=16, epochs=3, verbose=0, callbacks=[Losses()])
noted.append(model.evaluate(given, labels, verbose=0))
print(json.dumps([noted, model.predict(given, verbose=0)[:3, 0].tolist()]))
