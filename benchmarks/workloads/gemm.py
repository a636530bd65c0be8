"""Products of square float32 matrices, and 200 of order 1000 one after the other, each a call of its own."""

import numpy as np

_ORDERS = {"64": 64, "256": 256, "1000": 1000}
ROWS = {**dict.fromkeys(_ORDERS, 11), "1000, 200 times": 19}
CASES = {**{case: {"n": n, "times": 1} for case, n in _ORDERS.items()}, "1000, 200 times": {"n": 1000, "times": 200}}
SMALL = {"n": 8, "times": 2}
GOALS = {"64": 1.0, "256": 1.2, "1000": 1.0, "1000, 200 times": 1.0}
MODES = ("eager", "staged", "jit")


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
    return _call(stage(tf.matmul), tf.constant(x), times)


def jax(jax, stage, x, times):
    return _call(stage(jax.numpy.matmul), jax.numpy.asarray(x), times)


def torch(torch, stage, x, times):
    return _call(stage(torch.matmul), torch.tensor(x), times)


def numpy(_, stage, x, times):
    return _call(np.matmul, x, times)


def numba(numba, stage, x, times):
    return _call(numba.njit(lambda x, y: np.dot(x, y)), x, times)


def pytensor(pytensor, stage, x, times):
    a, b = (pytensor.tensor.matrix(name, dtype="float32") for name in "ab")
    return _call(pytensor.function([a, b], pytensor.tensor.dot(a, b), trust_input=True), x, times)
