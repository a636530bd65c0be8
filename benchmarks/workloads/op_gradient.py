"""One small operation and its gradient by a tape, eagerly."""

import numpy as np

ROWS = {"x * x": 3}
CASES = {"x * x": {"n": 10}}
SMALL = {}
GOALS = {"x * x": (0.3, "PyTorch")}
MODES = ("eager",)
ABSENT = {"numpy": "it has no gradients", "numba": "it has no gradients", "pytensor": "it has no eager calls"}


def data(n):
    return {"x": np.arange(n, dtype=np.float32)}


def tensorflow(tf, stage, x):
    x = tf.constant(x)

    def call():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    return call


def jax(jax, stage, x):
    x = jax.numpy.asarray(x)
    ones = jax.numpy.ones_like(x)
    return lambda: jax.vjp(lambda x: x * x, x)[1](ones)


def torch(torch, stage, x):
    x = torch.tensor(x, requires_grad=True)
    ones = torch.ones_like(x)
    return lambda: torch.autograd.grad(x * x, x, ones)
