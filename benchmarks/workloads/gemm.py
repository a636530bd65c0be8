"""Products of square float32 matrices, and 200 of order 1000 one after the other."""

import numpy as np

_ORDERS = {"64": 64, "256": 256, "1000": 1000}
ROWS = {**dict.fromkeys(_ORDERS, 11), "1000, 200 times": 19}
CASES = {**{case: {"n": n, "times": 1} for case, n in _ORDERS.items()}, "1000, 200 times": {"n": 1000, "times": 200}}
SMALL = {"n": 8, "times": 2}
GOALS = {"64": 1.0, "256": 1.2, "1000": 1.0, "1000, 200 times": 1.0}
MODES = ("eager",)


def data(n, times):
    x = np.random.default_rng(0).standard_normal((n, n), np.float32) / np.float32(n**0.5)
    return {"x": x, "times": times}


def _call(matmul, x, times):
    def call():
        y = x
        for _ in range(times):
            y = matmul(x, y)
        return y

    return (lambda: matmul(x, x)) if times == 1 else call


def tensorflow(tf, stage, x, times):
    return _call(tf.matmul, tf.constant(x), times)


def jax(jax, stage, x, times):
    return _call(jax.numpy.matmul, jax.numpy.asarray(x), times)


def torch(torch, stage, x, times):
    return _call(torch.matmul, torch.tensor(x), times)


def numpy(_, stage, x, times):
    return _call(np.matmul, x, times)
