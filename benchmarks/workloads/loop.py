"""`while sum(x) > c: x = tanh(x)`, staged: the cost of an iteration, of 5 and of 1,000 elements.

"5 elements" runs thousands of iterations a call and shows what one more costs; "5 elements, 40 iterations" is the
loop of TensorFlow's guide to functions, 36 a call: the time of the whole call by their number.
"""

import importlib

import numpy as np

ROWS = {"5 elements": 15, "5 elements, 40 iterations": 15, "1,000 elements": 15}
CASES = {
    "5 elements": {"n": 5, "limit": 0.1},
    "5 elements, 40 iterations": {"n": 5, "limit": 1.0},
    "1,000 elements": {"n": 1000, "limit": 20.0},
}
SMALL = {"n": 3, "limit": 2.0}
GOALS = {"5 elements": 0.35, "5 elements, 40 iterations": 0.35, "1,000 elements": 0.5}
#: Rounding decides in which iteration the sum falls below the limit.
TOLERANCE = 1e-3


def data(n, limit):
    return {"x": np.ones(n, np.float32), "limit": np.float32(limit)}


def _iterations(case):
    x, n = np.ones(1, np.float32), CASES[case]["n"]
    count = 0
    while n * x[0] > CASES[case]["limit"]:
        x, count = np.tanh(x), count + 1
    return count


PER = {case: _iterations(case) for case in CASES}


def tensorflow(tf, stage, x, limit):
    @stage
    def loop(x):
        while tf.reduce_sum(x) > limit:
            x = tf.tanh(x)
        return x

    x = tf.constant(x)
    return lambda: loop(x)


def jax(jax, stage, x, limit):
    jnp = jax.numpy
    loop = stage(lambda x: jax.lax.while_loop(lambda x: jnp.sum(x) > limit, jnp.tanh, x))
    x = jnp.asarray(x)
    return lambda: loop(x)


def torch(torch, stage, x, limit):
    body = stage(torch.tanh)
    limit = float(limit)

    def loop(x):
        while x.sum() > limit:
            x = body(x)
        return x

    x = torch.tensor(x)
    return lambda: loop(x)


def numpy(_, stage, x, limit):
    def loop(x):
        while x.sum() > limit:
            x = np.tanh(x)
        return x

    return lambda: loop(x)


def numba(numba, stage, x, limit):
    @numba.njit
    def loop(x, limit):
        x = x.copy()
        while x.sum() > limit:
            for i in range(x.size):
                x[i] = np.tanh(x[i])
        return x

    return lambda: loop(x, limit)


def pytensor(pytensor, stage, x, limit):
    """`scan` tests after its body: the same here, since the first test is true."""
    tensor, until = pytensor.tensor, importlib.import_module("pytensor.scan.utils").until
    v = tensor.vector("x", dtype="float32")

    def body(x):
        x = tensor.tanh(x)
        return x, until(x.sum() <= limit)

    states = pytensor.scan(body, outputs_info=[v], n_steps=1_000_000, return_updates=False)
    loop = pytensor.function([v], states[-1], trust_input=True)
    return lambda: loop(x)
