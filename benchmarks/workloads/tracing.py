"""Tracing a function of 3,000 small operations and its first run: the cost of an operation in a graph that is new."""

import numpy as np

ROWS = {"trace of 3,000 ops": 23, "per op": 23}
CASES = {"trace of 3,000 ops": {"n": 3000}, "per op": {"n": 3000}}
SMALL = {"n": 6}
GOALS = {"trace of 3,000 ops": {"us": 500_000}, "per op": {"us": 30}}
PER = {"per op": 3000}
MODES = ("staged",)
ABSENT = {
    "numpy": "it has no graphs", "numba": "it has no graphs",
    "torch": "it traces only to compile: 3,000 operations take minutes",
    "pytensor": "it builds a graph only to compile it: 3,000 operations take minutes",
}  # fmt: skip


def data(n):
    return {"x": np.arange(10, dtype=np.float32), "n": n}


def _fresh(stage, x, n):
    """Every call stages a function that was never seen."""

    def call():
        def ops(x):
            y = x
            for i in range(n // 3):
                y = (y + x) * 0.5 - float(i % 3)
            return y

        return stage(ops)(x)

    return call


def tensorflow(tf, stage, x, n):
    return _fresh(lambda f: tf.function(f, autograph=False), tf.constant(x), n)


def jax(jax, stage, x, n):
    return _fresh(jax.jit, jax.numpy.asarray(x), n)
