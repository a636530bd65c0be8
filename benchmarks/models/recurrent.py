"""Training steps of language models with one recurrent layer: LSTM and GRU; embeddings, cross-entropy, Adam."""

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

SIZES = {"batch": 16, "tokens": 32, "width": 128, "vocabulary": 500}
CASES = {"LSTM language model, step": {"cell": "LSTM", **SIZES}, "GRU language model, step": {"cell": "GRU", **SIZES}}
SMALL = {"batch": 2, "tokens": 3, "width": 4, "vocabulary": 7}
TOLERANCE = 2e-2


def data(cell, batch, tokens, width, vocabulary):
    """The cell's weights as Keras has them: w, u, b (the GRU's [2, 3 * width]), its gates beside each other."""
    rng, gates = np.random.default_rng(0), 4 if cell == "LSTM" else 3

    def matrix(n, m):
        return rng.standard_normal((n, m), np.float32) / np.float32(n**0.5)

    drawn = rng.integers(0, vocabulary, (batch, tokens + 1)).astype(np.int32)
    bias = np.zeros(gates * width if cell == "LSTM" else (2, gates * width), np.float32)
    weights = {
        "table": matrix(vocabulary, width), "w": matrix(width, gates * width), "u": matrix(width, gates * width),
        "b": bias, "out": (matrix(width, vocabulary), np.zeros(vocabulary, np.float32)),
    }  # fmt: skip
    return {"cell": cell, "x": drawn[:, :-1], "labels": drawn[:, 1:], "weights": weights}


def tensorflow(tf, stage, cell, x, labels, weights):
    width = weights["table"].shape[1]
    table, out, bias = (tf.Variable(each) for each in (weights["table"], *weights["out"]))
    layer = getattr(tf.keras.layers, cell)(width, return_sequences=True)
    layer(tf.zeros([*x.shape, width]))
    layer.set_weights([weights["w"], weights["u"], weights["b"]])

    def loss_of(x, labels):
        logits = layer(tf.nn.embedding_lookup(table, x)) @ out + bias
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    variables = [table, *layer.trainable_variables, out, bias]
    return steps.tensorflow_step(tf, stage, tf.keras.optimizers.Adam(adam.RATE), variables, loss_of, x, labels)


def jax(jax, stage, cell, x, labels, weights):
    jnp = jax.numpy
    sigmoid = jax.nn.sigmoid

    def lstm(weights, inputs):
        def step(held, given):
            h, c = held
            i, f, g, o = jnp.split(given + h @ weights["u"], 4, axis=-1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        given = inputs @ weights["w"] + weights["b"]
        zeros = jnp.zeros_like(inputs[0])
        return jax.lax.scan(step, (zeros, zeros), given)[1]

    def gru(weights, inputs):
        def step(h, given):
            (z, r, n), (uz, ur, un) = jnp.split(given, 3, -1), jnp.split(h @ weights["u"] + weights["b"][1], 3, -1)
            z = sigmoid(z + uz)
            h = z * h + (1 - z) * jnp.tanh(n + sigmoid(r + ur) * un)
            return h, h

        return jax.lax.scan(step, jnp.zeros_like(inputs[0]), inputs @ weights["w"] + weights["b"][0])[1]

    def loss_of(weights, x, labels):
        h = (lstm if cell == "LSTM" else gru)(weights, weights["table"][x.T])
        w, b = weights["out"]
        logits = jax.nn.log_softmax(h @ w + b)
        return -jnp.take_along_axis(logits, labels.T[..., None], -1).mean()

    return steps.jax_step(jax, stage, adam.pure, weights, loss_of, x, labels)


def torch(torch, stage, cell, x, labels, weights):
    functional = torch.nn.functional
    width = weights["table"].shape[1]
    layer = getattr(torch.nn, cell)(width, width, batch_first=True)

    def ordered(array):
        """[..., gates]: PyTorch's GRU has the reset gate first, and its biases for both products."""
        if cell == "GRU":
            z, r, n = np.split(array, 3, -1)
            array = np.concatenate([r, z, n], -1)
        return torch.tensor(np.ascontiguousarray(array.T))

    biases = weights["b"] if cell == "GRU" else (weights["b"], 0 * weights["b"])
    with torch.no_grad():
        layer.weight_ih_l0.copy_(ordered(weights["w"]))
        layer.weight_hh_l0.copy_(ordered(weights["u"]))
        layer.bias_ih_l0.copy_(ordered(biases[0]))
        layer.bias_hh_l0.copy_(ordered(biases[1]))
    layer.bias_hh_l0.requires_grad_(cell == "GRU")  # the others have one bias
    table, out, bias = steps.torch_parameters(torch, [weights["table"], *weights["out"]])

    def loss_of(x, labels):
        h, _ = layer(functional.embedding(x, table))
        return functional.cross_entropy((h @ out + bias).flatten(0, 1), labels.flatten())

    trained = [table, *(each for each in layer.parameters() if each.requires_grad), out, bias]
    x, labels = (torch.tensor(each.astype(np.int64)) for each in (x, labels))
    return steps.torch_step(stage, steps.torch_adam(torch, trained), loss_of, x, labels)
