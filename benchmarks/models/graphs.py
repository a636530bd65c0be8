"""A training step of a graph convolution network of two layers: rows gathered along edges, summed where they end."""

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

CASES = {"graph convolution, step": {"nodes": 4000, "edges": 20_000, "features": 128, "width": 64}}
SMALL = {"nodes": 6, "edges": 14, "features": 4, "width": 3}
TOLERANCE = 2e-2
CLASSES = 8


def data(nodes, edges, features, width):
    rng = np.random.default_rng(0)
    begins, ends = rng.integers(0, nodes, edges).astype(np.int32), np.sort(rng.integers(0, nodes, edges))
    degree = np.float32(1) + np.bincount(ends, minlength=nodes).astype(np.float32)
    sizes = ((features, width), (width, CLASSES))
    weights = [
        (rng.standard_normal((n, m), np.float32) / np.float32(n**0.5), np.zeros(m, np.float32)) for n, m in sizes
    ]
    scales, labels = (1 / np.sqrt(degree[begins] * degree[ends]))[:, None], rng.integers(0, CLASSES, nodes)
    x = rng.standard_normal((nodes, features), np.float32)
    given = [x, begins, ends.astype(np.int32), scales, labels.astype(np.int32)]
    return {"weights": weights, "given": given}


def tensorflow(tf, stage, weights, given):
    variables, nodes = steps.mapped(tf.Variable, weights), len(given[0])

    def loss_of(x, begins, ends, scales, labels):
        h = x
        for i, (w, b) in enumerate(variables):
            h = (tf.nn.relu(h) if i else h) @ w
            h = h + tf.math.unsorted_segment_sum(tf.gather(h, begins) * scales, ends, nodes) + b
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))

    return steps.tensorflow_step(tf, stage, tf.keras.optimizers.Adam(adam.RATE), variables, loss_of, *given)


def jax(jax, stage, weights, given):
    jnp, nodes = jax.numpy, len(given[0])

    def loss_of(weights, x, begins, ends, scales, labels):
        h = x
        for i, (w, b) in enumerate(weights):
            h = (jax.nn.relu(h) if i else h) @ w
            h = h + jax.ops.segment_sum(h[begins] * scales, ends, nodes, indices_are_sorted=True) + b
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], 1).mean()

    return steps.jax_step(jax, stage, adam.pure, weights, loss_of, *given)


def torch(torch, stage, weights, given):
    parameters = steps.torch_parameters(torch, weights)

    def loss_of(x, begins, ends, scales, labels):
        h = x
        for i, (w, b) in enumerate(parameters):
            h = (torch.relu(h) if i else h) @ w
            h = (h + b).index_add(0, ends, h[begins] * scales)
        return torch.nn.functional.cross_entropy(h, labels)

    given = [torch.tensor(each.astype(np.int64) if each.dtype == np.int32 else each) for each in given]
    return steps.torch_step(stage, steps.torch_adam(torch, parameters), loss_of, *given)
