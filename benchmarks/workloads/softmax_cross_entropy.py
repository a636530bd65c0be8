"""Softmax cross-entropy of logits [128, 1000] with sparse labels, and with its gradient."""

import numpy as np

ROWS = {"values": 10, "gradient": 10}
CASES = {"values": {"n": 128, "k": 1000, "what": "values"}, "gradient": {"n": 128, "k": 1000, "what": "gradient"}}
SMALL = {"n": 4, "k": 7}
GOALS = {"values": 0.8, "gradient": 0.7}


def data(n, k, what):
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal((n, k), np.float32), "labels": rng.integers(0, k, n), "what": what}


def tensorflow(tf, stage, x, labels, what):
    x, labels = tf.constant(x), tf.constant(labels.astype(np.int32))

    def loss(x, labels):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))

    def gradient(x, labels):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(x, labels)
        return y, tape.gradient(y, x)

    made = stage(loss if what == "values" else gradient)
    return lambda: made(x, labels)


def jax(jax, stage, x, labels, what):
    x, labels = jax.numpy.asarray(x), jax.numpy.asarray(labels.astype(np.int32))

    def loss(x, labels):
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1).mean()

    made = stage(loss if what == "values" else jax.value_and_grad(loss))
    return lambda: made(x, labels)


def torch(torch, stage, x, labels, what):
    x, labels = torch.tensor(x, requires_grad=what == "gradient"), torch.tensor(labels)
    loss = stage(torch.nn.functional.cross_entropy)
    if what == "values":
        return lambda: loss(x, labels)

    def gradient():
        y = loss(x, labels)
        return y, torch.autograd.grad(y, x)[0]

    return gradient


def numpy(_, stage, x, labels, what):
    rows = np.arange(len(x))

    def values():
        shifted = x - x.max(1, keepdims=True)
        exps = np.exp(shifted)
        totals = exps.sum(1)
        loss = (np.log(totals) - shifted[rows, labels]).mean()
        if what == "values":
            return loss
        exps /= totals[:, None]
        exps[rows, labels] -= 1
        exps /= np.float32(len(x))
        return loss, exps

    return values


def numba(numba, stage, x, labels, what):
    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def values(x, labels, gradient):
        loss, dx = np.float32(0), np.empty_like(x) if gradient else x
        n, k = x.shape
        exps = np.empty(k, np.float32)
        for i in range(n):
            largest = x[i].max()
            total = np.float32(0)
            for j in range(k):
                exps[j] = np.exp(x[i, j] - largest)
                total += exps[j]
            loss += np.log(total) - (x[i, labels[i]] - largest)
            if gradient:
                scale = np.float32(1) / (total * np.float32(n))
                for j in range(k):
                    dx[i, j] = exps[j] * scale
                dx[i, labels[i]] -= np.float32(1) / np.float32(n)
        return loss / np.float32(n), dx

    if what == "values":
        return lambda: values(x, labels, False)[0]
    return lambda: values(x, labels, True)


def pytensor(pytensor, stage, x, labels, what):
    tensor = pytensor.tensor
    v, wanted = tensor.matrix("x", dtype="float32"), tensor.vector("labels", dtype="int64")
    loss = -tensor.special.log_softmax(v, axis=1)[tensor.arange(v.shape[0]), wanted].mean()
    outputs = loss if what == "values" else [loss, pytensor.grad(loss, v)]
    function = pytensor.function([v, wanted], outputs, trust_input=True)
    return lambda: function(x, labels)
