"""A training step of a perceptron 784-256-128-10, batch 64, softmax cross-entropy, Adam."""

import itertools

import numpy as np

from benchmarks import adam

ROWS = {"step": 13}
CASES = {"step": {"batch": 64, "sizes": (784, 256, 128, 10)}}
SMALL = {"batch": 3, "sizes": (5, 4, 3, 2)}
GOALS = {"step": 0.75}
#: Adam's first steps are ±rate for every weight, however small its gradient: rounding shows in the loss.
TOLERANCE = 1e-3


def data(batch, sizes):
    rng = np.random.default_rng(0)
    weights = []
    for n, m in itertools.pairwise(sizes):
        weights += [rng.standard_normal((n, m), np.float32) * np.float32((2 / n) ** 0.5), np.zeros(m, np.float32)]
    return {
        "x": rng.standard_normal((batch, sizes[0]), np.float32),
        "labels": rng.integers(0, sizes[-1], batch),
        "weights": weights,
    }


def tensorflow(tf, stage, x, labels, weights):
    variables = [tf.Variable(each) for each in weights]

    def loss_of(x, labels):
        h = x
        for i in range(0, len(variables), 2):
            h = tf.matmul(h, variables[i]) + variables[i + 1]
            if i + 2 < len(variables):
                h = tf.nn.relu(h)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))

    return adam.tensorflow_step(tf, stage, variables, loss_of, tf.constant(x), tf.constant(labels.astype(np.int32)))


def jax(jax, stage, x, labels, weights):
    jnp = jax.numpy

    def loss_of(weights, x, labels):
        h = x
        for i in range(0, len(weights), 2):
            h = h @ weights[i] + weights[i + 1]
            if i + 2 < len(weights):
                h = jax.nn.relu(h)
        return -jnp.take_along_axis(jax.nn.log_softmax(h), labels[:, None], 1).mean()

    weights = [jnp.asarray(each) for each in weights]
    return adam.jax_step(jax, stage, weights, loss_of, jnp.asarray(x), jnp.asarray(labels.astype(np.int32)))


def torch(torch, stage, x, labels, weights):
    variables = [torch.tensor(each, requires_grad=True) for each in weights]
    functional = torch.nn.functional

    def loss_of(x, labels):
        h = x
        for i in range(0, len(variables), 2):
            h = torch.addmm(variables[i + 1], h, variables[i])
            if i + 2 < len(variables):
                h = functional.relu(h)
        return functional.cross_entropy(h, labels)

    return adam.torch_step(torch, stage, variables, loss_of, torch.tensor(x), torch.tensor(labels))


def numpy(_, stage, x, labels, weights):
    weights = [each.copy() for each in weights]
    optimizer = adam.InPlace(weights)
    rows = np.arange(len(x))

    def step():
        layers = [x]
        for i in range(0, len(weights), 2):
            h = layers[-1] @ weights[i] + weights[i + 1]
            layers.append(np.maximum(h, 0) if i + 2 < len(weights) else h)
        h = layers.pop()
        shifted = h - h.max(1, keepdims=True)
        exps = np.exp(shifted)
        totals = exps.sum(1, keepdims=True)
        loss = (np.log(totals[:, 0]) - shifted[rows, labels]).mean()
        dh = exps / totals
        dh[rows, labels] -= 1
        dh /= np.float32(len(x))
        gradients = [None] * len(weights)
        for i in reversed(range(0, len(weights), 2)):
            below = layers.pop()
            gradients[i], gradients[i + 1] = below.T @ dh, dh.sum(0)
            if i:
                dh = (dh @ weights[i].T) * (below > 0)
        optimizer.apply(gradients)
        return loss

    return step


def pytensor(pytensor, stage, x, labels, weights):
    tensor = pytensor.tensor
    variables = [pytensor.shared(each) for each in weights]
    h = x = pytensor.shared(x)
    for i in range(0, len(variables), 2):
        h = tensor.dot(h, variables[i]) + variables[i + 1]
        if i + 2 < len(variables):
            h = tensor.maximum(h, np.float32(0))
    loss = -tensor.special.log_softmax(h, axis=1)[np.arange(len(labels)), labels].mean()
    return pytensor.function(
        [], loss, updates=adam.pytensor_updates(pytensor, variables, pytensor.grad(loss, variables))
    )


def numba(numba, stage, x, labels, weights):
    """Products by BLAS, everything between them in loops."""
    weights = tuple(each.copy() for each in weights)
    update = adam.numba_update(numba)
    moments = [(np.zeros_like(each), np.zeros_like(each)) for each in weights]

    @numba.njit
    def relu(h, b):
        for i in range(h.shape[0]):
            for j in range(h.shape[1]):
                h[i, j] = max(h[i, j] + b[j], np.float32(0))

    @numba.njit
    def masked(dh, h):
        db = np.zeros(h.shape[1], np.float32)
        for i in range(h.shape[0]):
            for j in range(h.shape[1]):
                dh[i, j] = dh[i, j] if h[i, j] > 0 else np.float32(0)
                db[j] += dh[i, j]
        return db

    @numba.njit
    def gradients(x, labels, w1, b1, w2, b2, w3, b3):
        h1 = np.dot(x, w1)
        relu(h1, b1)
        h2 = np.dot(h1, w2)
        relu(h2, b2)
        loss, dh3, db3 = adam_loss(np.dot(h2, w3), b3, labels)
        dh2 = np.dot(dh3, w3.T)
        db2 = masked(dh2, h2)
        dh1 = np.dot(dh2, w2.T)
        db1 = masked(dh1, h1)
        return loss, (np.dot(x.T, dh1), db1, np.dot(h1.T, dh2), db2, np.dot(h2.T, dh3), db3)

    adam_loss = adam.numba_loss(numba)
    steps = [0]

    def step():
        loss, found = gradients(x, labels, *weights)
        steps[0] += 1
        for variable, gradient, (m, v) in zip(weights, found, moments):
            update(variable.ravel(), gradient.ravel(), m.ravel(), v.ravel(), steps[0])
        return loss

    return step
