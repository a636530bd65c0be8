"""SavedModels made and written, written again, read, read and called: a small convnet, a recurrent model of 50 MB.

Both are `tf.Module`s. The small one has two convolutions, two dense layers, three signatures. The recurrent one looks
words up, goes through them backwards and forwards with LSTM cells in loops, chooses between two heads by a condition,
and has a signature that trains: 50 MB of Variables. "Made and written" makes the module and traces it, too; "written
again" has it made and traced. Writing goes over what the call before wrote, reading is of files in the system's memory.
fastgraph writes beside the files' places, waits for the disk and renames; TensorFlow does neither.
"""

import os
import tempfile

import numpy as np

MODELS = ("convnet", "recurrent, 50 MB")
WHATS = ("made and written", "written again", "read", "read and called")
CASES = {f"{model}: {what}": {"model": model, "what": what} for model in MODELS for what in WHATS}
ROWS = dict.fromkeys(CASES, 23)
SMALL = {"words": 50, "width": 8}
GOALS = dict.fromkeys(CASES, (1.0, "TensorFlow"))
SAMPLE_S = 1.0
TOLERANCE = 1e-3
MODES = ("staged",)
_WHY = "it has no SavedModels"
ABSENT = {"numpy": _WHY, "numba": _WHY, "jax": _WHY, "torch": _WHY, "pytensor": _WHY}


def data(model, what, words=18_000, width=512):
    return {"model": model, "what": what, "words": words, "width": width}


def weight(tf, rng, *shape):
    return tf.Variable((rng.random(shape, np.float32) - np.float32(0.5)) / np.float32(max(shape) ** 0.5))


def convnet(tf, words, width):
    """A module and its signatures, and an input."""
    rng = np.random.default_rng(0)
    images = tf.TensorSpec([None, 28, 28, 1], tf.float32)

    class Convnet(tf.Module):
        def __init__(self):
            super().__init__()
            self.filters = [weight(tf, rng, 3, 3, 1, 16), weight(tf, rng, 3, 3, 16, 32)]
            self.kernels = [weight(tf, rng, 1568, 64), weight(tf, rng, 64, 10)]
            self.biases = [tf.Variable(tf.zeros([n])) for n in (16, 32, 64, 10)]

        def body(self, x):
            for filters, bias in zip(self.filters, self.biases[:2], strict=True):
                x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + bias), 2, 2, "SAME")
            x = tf.reshape(x, [tf.shape(x)[0], 1568])
            return tf.nn.relu(x @ self.kernels[0] + self.biases[2])

        @tf.function(input_signature=[images])
        def features(self, images):
            return {"features": self.body(images)}

        @tf.function(input_signature=[images])
        def serve(self, images):
            logits = self.body(images) @ self.kernels[1] + self.biases[3]
            return {"probabilities": tf.nn.softmax(logits), "classes": tf.argmax(logits, -1)}

        @tf.function(input_signature=[images, tf.TensorSpec([None], tf.int32)])
        def loss(self, images, labels):
            logits = self.body(images) @ self.kernels[1] + self.biases[3]
            return {"loss": tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)}

    made = Convnet()
    signatures = {"serving_default": made.serve, "features": made.features, "loss": made.loss}
    return made, signatures, {"images": np.linspace(0, 1, 2 * 784, dtype=np.float32).reshape(2, 28, 28, 1)}, "classes"


def recurrent(tf, words, width):
    """As `convnet`."""
    rng = np.random.default_rng(0)
    sentences = tf.TensorSpec([None, None], tf.int32)

    class Recurrent(tf.Module):
        def __init__(self):
            super().__init__()
            self.words = weight(tf, rng, words, width)
            self.cells = [weight(tf, rng, 2 * width, 4 * width) for _ in range(2)]
            self.heads = [weight(tf, rng, 2 * width, 8) for _ in range(2)]
            self.biases = [tf.Variable(tf.zeros([4 * width])) for _ in range(2)]
            self.calls = tf.Variable(0)

        def through(self, x, cell, bias):
            outputs = tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=[None, width])
            h = c = tf.zeros([tf.shape(x)[1], width])
            for t in tf.range(tf.shape(x)[0]):
                i, f, g, o = tf.split(tf.concat([x[t], h], 1) @ cell + bias, 4, 1)
                c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(c)
                outputs = outputs.write(t, h)
            return outputs.stack()

        def body(self, sentences):
            x = tf.transpose(tf.gather(self.words, sentences), [1, 0, 2])
            x = self.through(x, self.cells[0], self.biases[0])
            backwards = self.through(tf.reverse(x, [0]), self.cells[1], self.biases[1])
            last = tf.concat([x[-1], backwards[-1]], 1)
            if tf.shape(sentences)[1] > 20:
                return last @ self.heads[0]
            return last @ self.heads[1]

        @tf.function(input_signature=[sentences])
        def serve(self, sentences):
            return {"logits": self.body(sentences)}

        @tf.function(input_signature=[sentences, tf.TensorSpec([None], tf.int32)])
        def train(self, sentences, labels):
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.body(sentences))
                loss = tf.reduce_mean(losses)
            weights = [*self.cells, *self.heads]
            for each, change in zip(weights, tape.gradient(loss, weights), strict=True):
                each.assign_sub(0.01 * change)
            self.calls.assign_add(1)
            return {"loss": loss}

    made = Recurrent()
    sentence = np.arange(2 * 12, dtype=np.int32).reshape(2, 12) % words
    return made, {"serving_default": made.serve, "train": made.train}, {"sentences": sentence}, "logits"


def tensorflow(tf, stage, model, what, words, width):
    folder = tempfile.TemporaryDirectory()  # removed with the function that holds it
    make = convnet if model == "convnet" else recurrent
    module, signatures, inputs, result = make(tf, words, width)
    inputs = {name: tf.constant(value) for name, value in inputs.items()}

    def call():
        made = make(tf, words, width)[:2] if what == "made and written" else (module, signatures)
        if "written" in what:
            tf.saved_model.save(made[0], folder.name, made[1])
            return tf.constant(float(os.path.exists(os.path.join(folder.name, "saved_model.pb"))))
        loaded = tf.saved_model.load(folder.name)
        if what == "read":
            return tf.constant(float(len(loaded.signatures)))
        return loaded.signatures["serving_default"](**inputs)[result]

    tf.saved_model.save(module, folder.name, signatures)
    return call
