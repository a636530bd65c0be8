"""Training steps of transformers: an encoder (norms after, no mask) and a causal decoder (norms before); Adam.

Cross-entropy over all tokens; the output's weights are the embeddings'.
"""

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

SIZES = {"batch": 8, "tokens": 64, "width": 128, "layers": 2, "vocabulary": 1000}
CASES = {"encoder, step": {"causal": False, **SIZES}, "decoder, step": {"causal": True, **SIZES}}
SMALL = {"batch": 2, "tokens": 3, "width": 8, "layers": 1, "vocabulary": 7}
TOLERANCE = 2e-2
HEADS, EPSILON = 4, 1e-3


def transformer(rng, tokens, width, layers, vocabulary):
    """The weights: a table, positions, and for each layer those of attention and of the two dense layers."""

    def dense(n, m):
        return rng.standard_normal((n, m), np.float32) / np.float32(n**0.5), np.zeros(m, np.float32)

    def embedding(n):
        return rng.standard_normal((n, width), np.float32) * np.float32(0.1)

    made = [
        {"qkv": dense(width, 3 * width), "out": dense(width, width), "wide": dense(width, 4 * width),
         "narrow": dense(4 * width, width)}
        for _ in range(layers)
    ]  # fmt: skip
    return {"table": embedding(vocabulary), "positions": embedding(tokens), "layers": made}


def data(causal, batch, tokens, width, layers, vocabulary):
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, vocabulary, (batch, tokens + 1)).astype(np.int32)
    weights = transformer(rng, tokens, width, layers, vocabulary)
    return {"causal": causal, "x": drawn[:, :-1], "labels": drawn[:, 1:], "weights": weights}


def hidden(h, layers, causal, attention, mlp, norms):
    """The layers in a library's terms."""
    for i, layer in enumerate(layers):
        first, second = norms[2 * i], norms[2 * i + 1]
        if causal:
            h = h + attention(first(h), layer)
            h = h + mlp(second(h), layer)
        else:
            h = first(h + attention(h, layer))
            h = second(h + mlp(h, layer))
    return norms[-1](h) if causal else h


def tensorflow(tf, stage, causal, x, labels, weights):
    variables = steps.mapped(tf.Variable, weights)
    (_, tokens), width = x.shape, weights["table"].shape[1]
    head = width // HEADS
    norms = [tf.keras.layers.LayerNormalization(epsilon=EPSILON) for _ in range(2 * len(weights["layers"]) + causal)]
    for norm in norms:
        norm(tf.zeros([1, 1, width]))
    future = tf.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))

    def attention(h, layer):
        w, b = layer["qkv"]
        q, k, v = tf.unstack(tf.reshape(h @ w + b, [-1, tokens, 3, HEADS, head]), axis=2)
        q, k, v = (tf.transpose(each, [0, 2, 1, 3]) for each in (q, k, v))
        scores = tf.matmul(q, k, transpose_b=True) * head**-0.5
        mixed = tf.matmul(tf.nn.softmax(scores + future if causal else scores), v)
        w, b = layer["out"]
        return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, tokens, width]) @ w + b

    def mlp(h, layer):
        w, b = layer["wide"]
        h = tf.nn.gelu(h @ w + b)
        w, b = layer["narrow"]
        return h @ w + b

    def loss_of(x, labels):
        h = tf.nn.embedding_lookup(variables["table"], x) + variables["positions"]
        h = hidden(h, variables["layers"], causal, attention, mlp, norms)
        logits = tf.matmul(h, variables["table"], transpose_b=True)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    optimizer = tf.keras.optimizers.Adam(adam.RATE)
    variables["norms"] = [each for norm in norms for each in norm.trainable_variables]
    return steps.tensorflow_step(tf, stage, optimizer, variables, loss_of, x, labels)


def jax(jax, stage, causal, x, labels, weights):
    jnp = jax.numpy
    (_, tokens), width = x.shape, weights["table"].shape[1]
    n = 2 * len(weights["layers"]) + causal
    norms = [(np.ones(width, np.float32), np.zeros(width, np.float32)) for _ in range(n)]
    future = jnp.triu(jnp.full((tokens, tokens), -1e9), 1)

    def attention(h, layer):
        w, b = layer["qkv"]
        q, k, v = (h @ w + b).reshape(-1, tokens, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) * (width // HEADS) ** -0.5
        mixed = jax.nn.softmax(scores + future if causal else scores) @ v
        w, b = layer["out"]
        return mixed.transpose(0, 2, 1, 3).reshape(h.shape) @ w + b

    def mlp(h, layer):
        w, b = layer["wide"]
        h = jax.nn.gelu(h @ w + b, approximate=False)
        w, b = layer["narrow"]
        return h @ w + b

    def norm(gain, offset):
        def normed(h):
            mean, variance = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
            return (h - mean) * jax.lax.rsqrt(variance + EPSILON) * gain + offset

        return normed

    def loss_of(weights, x, labels):
        h = weights["table"][x] + weights["positions"]
        h = hidden(h, weights["layers"], causal, attention, mlp, [norm(*each) for each in weights["norms"]])
        logits = jax.nn.log_softmax(h @ weights["table"].T)
        return -jnp.take_along_axis(logits, labels[..., None], -1).mean()

    return steps.jax_step(jax, stage, adam.pure, {**weights, "norms": norms}, loss_of, x, labels)


def torch(torch, stage, causal, x, labels, weights):
    functional = torch.nn.functional
    (_, tokens), width = x.shape, weights["table"].shape[1]
    n = 2 * len(weights["layers"]) + causal
    norms = [(np.ones(width, np.float32), np.zeros(width, np.float32)) for _ in range(n)]
    parameters = steps.torch_parameters(torch, {**weights, "norms": norms})

    def attention(h, layer):
        w, b = layer["qkv"]
        q, k, v = (h @ w + b).view(-1, tokens, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        w, b = layer["out"]
        return mixed.transpose(1, 2).reshape(h.shape) @ w + b

    def mlp(h, layer):
        w, b = layer["wide"]
        h = functional.gelu(h @ w + b)
        w, b = layer["narrow"]
        return h @ w + b

    def norm(gain, offset):
        return lambda h: functional.layer_norm(h, (width,), gain, offset, EPSILON)

    def loss_of(x, labels):
        h = functional.embedding(x, parameters["table"]) + parameters["positions"]
        h = hidden(h, parameters["layers"], causal, attention, mlp, [norm(*each) for each in parameters["norms"]])
        return functional.cross_entropy((h @ parameters["table"].T).flatten(0, 1), labels.flatten())

    x, labels = (torch.tensor(each.astype(np.int64)) for each in (x, labels))
    return steps.torch_step(stage, steps.torch_adam(torch, parameters), loss_of, x, labels)
