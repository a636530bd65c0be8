"""Small operations, eagerly: a product of 10x10 matrices, relu of [32, 128]."""

import numpy as np

ROWS = {"matmul 10x10": 4, "relu [32, 128]": 4}
CASES = {"matmul 10x10": {"shape": (10, 10), "what": "matmul"}, "relu [32, 128]": {"shape": (32, 128), "what": "relu"}}
SMALL = {}
GOALS = {"matmul 10x10": 0.9, "relu [32, 128]": 0.7}
MODES = ("eager",)
ABSENT = {"pytensor": "it has no eager calls"}


def data(shape, what):
    return {"x": np.random.default_rng(0).standard_normal(shape, np.float32), "what": what}


def tensorflow(tf, stage, x, what):
    x = tf.constant(x)
    return (lambda: tf.matmul(x, x)) if what == "matmul" else (lambda: tf.nn.relu(x))


def jax(jax, stage, x, what):
    x = jax.numpy.asarray(x)
    return (lambda: jax.numpy.matmul(x, x)) if what == "matmul" else (lambda: jax.nn.relu(x))


def torch(torch, stage, x, what):
    x = torch.tensor(x)
    return (lambda: torch.matmul(x, x)) if what == "matmul" else (lambda: torch.relu(x))


def numpy(_, stage, x, what):
    return (lambda: np.matmul(x, x)) if what == "matmul" else (lambda: np.maximum(x, 0))


def numba(numba, stage, x, what):
    @numba.njit
    def relu(x):
        y = np.empty_like(x)
        for i in range(x.size):
            y.flat[i] = max(x.flat[i], np.float32(0))
        return y

    @numba.njit
    def matmul(x):
        return np.dot(x, x)

    return (lambda: matmul(x)) if what == "matmul" else (lambda: relu(x))
