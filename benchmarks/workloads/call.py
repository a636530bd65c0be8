"""A call of a traced function: a * b + c of ten floats, and the identity."""

import numpy as np

ROWS = {"a * b + c": 5, "identity": 5}
CASES = {"a * b + c": {"what": "fused"}, "identity": {"what": "identity"}}
SMALL = {}
GOALS = {"a * b + c": (0.2, "JAX"), "identity": (0.2, "JAX")}
MODES = {"identity": ("staged", "jit")}  # eagerly there is nothing to call


def data(what):
    return {"x": np.arange(10, dtype=np.float32), "what": what}


def _calls(stage, x, what):
    if what == "identity":
        identity = stage(lambda x: x)
        return lambda: identity(x)
    fused = stage(lambda a, b, c: a * b + c)
    return lambda: fused(x, x, x)


def tensorflow(tf, stage, x, what):
    return _calls(stage, tf.constant(x), what)


def jax(jax, stage, x, what):
    return _calls(stage, jax.numpy.asarray(x), what)


def torch(torch, stage, x, what):
    return _calls(stage, torch.tensor(x), what)


def numpy(_, stage, x, what):
    return _calls(lambda function: function, x, what)


def numba(numba, stage, x, what):
    return _calls(numba.njit, x, what)


def pytensor(pytensor, stage, x, what):
    a, b, c = (pytensor.tensor.vector(name, dtype="float32") for name in "abc")
    if what == "identity":
        identity = pytensor.function([a], a, trust_input=True)
        return lambda: identity(x)
    fused = pytensor.function([a, b, c], a * b + c, trust_input=True)
    return lambda: fused(x, x, x)
