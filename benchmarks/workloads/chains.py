"""Eight independent chains of four products of order 256 with tanh between them, summed: parallel work."""

import numpy as np

ROWS = {"8 chains": 17}
CASES = {"8 chains": {"n": 8, "depth": 4, "order": 256}}
SMALL = {"n": 2, "depth": 2, "order": 5}
GOALS = {"8 chains": 0.95}
ABSENT = {"numba": "its products are BLAS's: it would be NumPy's row"}


def data(n, depth, order):
    rng = np.random.default_rng(0)

    def matrix():
        return rng.standard_normal((order, order), np.float32) / np.float32(order**0.5)

    return {"x": matrix(), "weights": [matrix() for _ in range(n)], "depth": depth}


def _chains(matmul, tanh, depth):
    def chains(x, weights):
        ends = []
        for weight in weights:
            h = x
            for _ in range(depth):
                h = tanh(matmul(h, weight))
            ends.append(h)
        return sum(ends[1:], ends[0])

    return chains


def tensorflow(tf, stage, x, weights, depth):
    made = stage(_chains(tf.matmul, tf.tanh, depth))
    x, weights = tf.constant(x), [tf.constant(each) for each in weights]
    return lambda: made(x, weights)


def jax(jax, stage, x, weights, depth):
    made = stage(_chains(jax.numpy.matmul, jax.numpy.tanh, depth))
    x, weights = jax.numpy.asarray(x), [jax.numpy.asarray(each) for each in weights]
    return lambda: made(x, weights)


def torch(torch, stage, x, weights, depth):
    made = stage(_chains(torch.matmul, torch.tanh, depth))
    x, weights = torch.tensor(x), [torch.tensor(each) for each in weights]
    return lambda: made(x, weights)


def numpy(_, stage, x, weights, depth):
    made = _chains(np.matmul, np.tanh, depth)
    return lambda: made(x, weights)


def pytensor(pytensor, stage, x, weights, depth):
    v = pytensor.tensor.matrix("x", dtype="float32")
    end = _chains(pytensor.tensor.dot, pytensor.tensor.tanh, depth)(v, [pytensor.shared(each) for each in weights])
    function = pytensor.function([v], end, trust_input=True)
    return lambda: function(x)
