"""Eager additions of a scalar and of ten floats, and the second recorded on a tape."""

import numpy as np

ROWS = {"scalar": 1, "ten": 2, "ten, recorded": 2}
CASES = {
    "scalar": {"n": None, "recorded": 0},
    "ten": {"n": 10, "recorded": 0},
    "ten, recorded": {"n": 10, "recorded": 200},
}
SMALL = {}
GOALS = {"scalar": (0.5, "NumPy"), "ten": (0.5, "NumPy"), "ten, recorded": {"us": 0.12, "over": "ten"}}
MODES = ("eager",)
ABSENT = {"pytensor": "it has no eager calls"}
PER = {"ten, recorded": 200}  # a tape of 200 records, so that no tape grows large and none is measured empty


def data(n, recorded):
    x = np.float32(1.5) if n is None else np.arange(n, dtype=np.float32)
    return {"x": x, "recorded": recorded}


def tensorflow(tf, stage, x, recorded):
    x = tf.constant(x)
    if not recorded:
        return lambda: x + x

    def record():
        with tf.GradientTape() as tape:
            tape.watch(x)
            for _ in range(recorded):
                y = x + x
        return y

    return record


def jax(jax, stage, x, recorded):
    x = jax.numpy.asarray(x)
    return "it has no tape" if recorded else lambda: x + x


def torch(torch, stage, x, recorded):
    x = torch.tensor(x, requires_grad=bool(recorded))
    if not recorded:
        return lambda: x + x

    def record():
        for _ in range(recorded):
            y = x + x
        return y

    return record


def numpy(_, stage, x, recorded):
    x = np.asarray(x)
    return "it has no gradients" if recorded else lambda: x + x


def numba(numba, stage, x, recorded):
    if recorded:
        return "it has no gradients"
    plus = numba.njit(lambda x, y: x + y)
    return lambda: plus(x, x)
