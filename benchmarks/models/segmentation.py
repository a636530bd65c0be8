"""A training step of a U-Net: two convolutions a level, pooling down, transposed convolutions up, joined; Adam."""

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

CASES = {"U-Net, step": {"batch": 4, "side": 64, "widths": (16, 32, 64)}}
SMALL = {"batch": 1, "side": 4, "widths": (2, 3)}
TOLERANCE = 2e-2
CLASSES = 3


def data(batch, side, widths):
    rng = np.random.default_rng(0)

    def conv(size, before, channels):
        filters = rng.standard_normal((size, size, before, channels), np.float32)
        return filters * np.float32((2 / (size * size * before)) ** 0.5), np.zeros(channels, np.float32)

    def up(before, channels):
        """Filters [2, 2, channels, before], as of the convolution whose gradient it is."""
        filters = rng.standard_normal((2, 2, channels, before), np.float32)
        return filters * np.float32((1 / before) ** 0.5), np.zeros(channels, np.float32)

    weights = {"down": [], "up": [], "head": conv(1, widths[0], CLASSES)}
    before = 3
    for width in widths:
        weights["down"].append((conv(3, before, width), conv(3, width, width)))
        before = width
    for width in widths[-2::-1]:
        weights["up"].append((up(before, width), conv(3, 2 * width, width), conv(3, width, width)))
        before = width
    x = rng.random((batch, side, side, 3), np.float32)
    return {"x": x, "labels": rng.integers(0, CLASSES, (batch, side, side)).astype(np.int32), "weights": weights}


def logits_of(h, weights, conv, pool, joined):
    """In a library's terms: conv(h, w, b) with relu; joined(h, w, b, skipped): up, and beside what came down."""
    levels = []
    for i, (first, second) in enumerate(weights["down"]):
        h = conv(conv(pool(h) if i else h, *first), *second)
        levels.append(h)
    for i, (up, first, second) in enumerate(weights["up"]):
        h = conv(conv(joined(h, *up, levels[-2 - i]), *first), *second)
    return h


def tensorflow(tf, stage, x, labels, weights):
    variables = steps.mapped(tf.Variable, weights)

    def conv(h, w, b):
        return tf.nn.relu(tf.nn.conv2d(h, w, 1, "SAME") + b)

    def pool(h):
        return tf.nn.max_pool2d(h, 2, 2, "SAME")

    def joined(h, w, b, skipped):
        h = tf.nn.conv2d_transpose(h, w, skipped.shape, 2, "SAME")
        return tf.concat([h + b, skipped], axis=-1)

    def loss_of(x, labels):
        w, b = variables["head"]
        logits = tf.nn.conv2d(logits_of(x, variables, conv, pool, joined), w, 1, "SAME") + b
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    return steps.tensorflow_step(tf, stage, tf.keras.optimizers.Adam(adam.RATE), variables, loss_of, x, labels)


def jax(jax, stage, x, labels, weights):
    jnp, lax = jax.numpy, jax.lax
    layout = ("NHWC", "HWIO", "NHWC")

    def plain(h, w, b):
        return lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=layout) + b

    def conv(h, w, b):
        return jax.nn.relu(plain(h, w, b))

    def pool(h):
        return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")

    def joined(h, w, b, skipped):
        h = lax.conv_transpose(h, w, (2, 2), "SAME", dimension_numbers=layout, transpose_kernel=True)
        return jnp.concatenate([h + b, skipped], axis=-1)

    def loss_of(weights, x, labels):
        logits = plain(logits_of(x, weights, conv, pool, joined), *weights["head"])
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()

    return steps.jax_step(jax, stage, adam.pure, weights, loss_of, x, labels)


def torch(torch, stage, x, labels, weights):
    functional = torch.nn.functional
    parameters = steps.torch_parameters(torch, weights)

    def conv(h, w, b):
        return functional.relu(functional.conv2d(h, w, b, padding="same"))

    def pool(h):
        return functional.max_pool2d(h, 2)

    def joined(h, w, b, skipped):
        return torch.cat([functional.conv_transpose2d(h, w, b, 2), skipped], dim=1)

    def loss_of(x, labels):
        w, b = parameters["head"]
        return functional.cross_entropy(functional.conv2d(logits_of(x, parameters, conv, pool, joined), w, b), labels)

    x, labels = torch.tensor(x).permute(0, 3, 1, 2), torch.tensor(labels.astype(np.int64))
    return steps.torch_step(stage, steps.torch_adam(torch, parameters), loss_of, x, labels)
