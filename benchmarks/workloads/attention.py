"""Layer norm and an attention block with residual, batch 8, 128 tokens, width 128, 4 heads: loss and gradients."""

import numpy as np

ROWS = {"gradient": 18}
CASES = {"gradient": {"batch": 8, "tokens": 128, "width": 128, "heads": 4}}
SMALL = {"batch": 2, "tokens": 3, "width": 4, "heads": 2}
GOALS = {"gradient": 0.75}
TOLERANCE = 1e-3
EPSILON = 1e-5
ABSENT = {
    "numba": "nobody writes this by hand: most of it is BLAS's, as in NumPy's row",
    "pytensor": "it compiles for more than a minute",
}


def data(batch, tokens, width, heads):
    rng = np.random.default_rng(0)

    def matrix(n, m):
        return rng.standard_normal((n, m), np.float32) / np.float32(n**0.5)

    weights = [np.ones(width, np.float32), np.zeros(width, np.float32), matrix(width, 3 * width), matrix(width, width)]
    return {"x": rng.standard_normal((batch, tokens, width), np.float32), "weights": weights, "heads": heads}


def tensorflow(tf, stage, x, weights, heads):
    batch, tokens, width = x.shape
    head = width // heads

    def block(x, gain, offset, w_in, w_out):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        centred = x - mean
        variance = tf.reduce_mean(centred * centred, axis=-1, keepdims=True)
        h = centred * tf.math.rsqrt(variance + EPSILON) * gain + offset
        qkv = tf.matmul(tf.reshape(h, [batch * tokens, width]), w_in)
        qkv = tf.transpose(tf.reshape(qkv, [batch, tokens, 3, heads, head]), [2, 0, 3, 1, 4])
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * head**-0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(scores, v), [0, 2, 1, 3]), [batch * tokens, width])
        return x + tf.reshape(tf.matmul(mixed, w_out), [batch, tokens, width])

    def gradient(x, *weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            y = block(x, *weights)
            loss = tf.reduce_mean(y * y)
        return loss, tape.gradient(loss, list(weights))

    made = stage(gradient)
    x, weights = tf.constant(x), [tf.constant(each) for each in weights]
    return lambda: made(x, *weights)


def jax(jax, stage, x, weights, heads):
    jnp = jax.numpy
    batch, tokens, width = x.shape
    head = width // heads

    def loss_of(weights, x):
        gain, offset, w_in, w_out = weights
        centred = x - x.mean(-1, keepdims=True)
        h = centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * gain + offset
        q, k, v = (h @ w_in).reshape(batch, tokens, 3, heads, head).transpose(2, 0, 3, 1, 4)
        scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) * head**-0.5)
        y = x + (scores @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ w_out
        return (y * y).mean()

    made = stage(jax.value_and_grad(loss_of))
    x, weights = jnp.asarray(x), [jnp.asarray(each) for each in weights]
    return lambda: made(weights, x)


def torch(torch, stage, x, weights, heads):
    batch, tokens, width = x.shape
    head = width // heads
    functional = torch.nn.functional
    weights = [torch.tensor(each, requires_grad=True) for each in weights]

    def loss_of(x, gain, offset, w_in, w_out):
        h = functional.layer_norm(x, (width,), gain, offset, EPSILON)
        q, k, v = (h @ w_in).reshape(batch, tokens, 3, heads, head).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        y = x + mixed.transpose(1, 2).reshape(x.shape) @ w_out
        return (y * y).mean()

    x, staged = torch.tensor(x), stage(loss_of)

    def gradient():
        loss = staged(x, *weights)
        return loss.detach(), torch.autograd.grad(loss, weights)

    return gradient


def numpy(_, stage, x, weights, heads):
    batch, tokens, width = x.shape
    head = width // heads
    gain, offset, w_in, w_out = weights

    def gradient():
        centred = x - x.mean(-1, keepdims=True)
        normed = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(EPSILON))
        h = normed * gain + offset
        q, k, v = (h @ w_in).reshape(batch, tokens, 3, heads, head).transpose(2, 0, 3, 1, 4)
        scale = np.float32(head**-0.5)
        scores = q @ k.swapaxes(-1, -2) * scale
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ v).transpose(0, 2, 1, 3).reshape(-1, width)
        y = x + (mixed @ w_out).reshape(x.shape)
        dy = (y * np.float32(2 / y.size)).reshape(-1, width)
        dw_out = mixed.T @ dy
        dmixed = (dy @ w_out.T).reshape(batch, tokens, heads, head).transpose(0, 2, 1, 3)
        dv = scores.swapaxes(-1, -2) @ dmixed
        dscores = dmixed @ v.swapaxes(-1, -2)
        dscores = scores * (dscores - (dscores * scores).sum(-1, keepdims=True)) * scale
        dqkv = np.stack([dscores @ k, dscores.swapaxes(-1, -2) @ q, dv]).transpose(1, 3, 0, 2, 4).reshape(-1, 3 * width)
        dw_in = h.reshape(-1, width).T @ dqkv
        dh = (dqkv @ w_in.T).reshape(x.shape)
        return (y * y).mean(), (dh * normed).sum((0, 1)), dh.sum((0, 1)), dw_in, dw_out

    return gradient
