"""A hundred chained int32 products of 10x10 matrices: the cost of a step of a graph."""

import numpy as np

ROWS = {"100 products": 6}
CASES = {"100 products": {"times": 100}}
SMALL = {"times": 4}
GOALS = {"100 products": (0.45, "JAX")}


def data(times):
    return {"x": np.random.default_rng(0).integers(0, 3, (10, 10)).astype(np.int32), "times": times}


def _power(matmul, times):
    def power(x):
        result = x
        for _ in range(times):
            result = matmul(x, result)
        return result

    return power


def tensorflow(tf, stage, x, times):
    x, power = tf.constant(x), stage(_power(tf.matmul, times))
    return lambda: power(x)


def jax(jax, stage, x, times):
    x, power = jax.numpy.asarray(x), stage(_power(jax.numpy.matmul, times))
    return lambda: power(x)


def torch(torch, stage, x, times):
    x, power = torch.tensor(x), stage(_power(torch.matmul, times))
    return lambda: power(x)


def numpy(_, stage, x, times):
    power = _power(np.matmul, times)
    return lambda: power(x)


def numba(numba, stage, x, times):
    @numba.njit
    def power(x, times):
        a = x
        n = len(x)
        for _ in range(times):
            b = np.zeros_like(x)
            for i in range(n):
                for k in range(n):
                    for j in range(n):
                        b[i, j] += x[i, k] * a[k, j]
            a = b
        return a

    return lambda: power(x, times)


def pytensor(pytensor, stage, x, times):
    v = pytensor.tensor.matrix("x", dtype="int32")
    power = pytensor.function([v], _power(pytensor.tensor.dot, times)(v), trust_input=True)
    return lambda: power(x)
