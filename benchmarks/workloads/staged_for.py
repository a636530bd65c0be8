"""`for i in range(n)` over a tensor n, staged: the cost of an iteration."""

import numpy as np

ROWS = {"per iteration": 24}
CASES = {"per iteration": {"n": 10_000}}
SMALL = {"n": 5}
GOALS = {}
PER = {"per iteration": 10_000}
MODES = ("staged", "jit")


def data(n):
    return {"n": n}


def tensorflow(tf, stage, n):
    @stage
    def count(n):
        total = tf.constant(0)
        for i in tf.range(n):
            total += i
        return total

    n = tf.constant(n)
    return lambda: count(n)


def jax(jax, stage, n):
    jnp = jax.numpy
    count = stage(lambda n: jax.lax.fori_loop(0, n, lambda i, total: total + i, jnp.int32(0)))
    n = jnp.int32(n)
    return lambda: count(n)


def numpy(_, stage, n):
    def count():
        total = 0
        for i in range(n):
            total += i
        return np.int32(total)

    return count
