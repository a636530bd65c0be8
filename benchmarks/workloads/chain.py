"""A chain of elementwise functions, tanh(x) sigmoid(x) + exp(-x²) - log(1 + x²): values, their sum, its gradient."""

import numpy as np

_SIZES = {"1e3": 1_000, "1e5": 100_000, "1e7": 10_000_000}
ROWS = {f"{what}, {n}": row for what, row in (("values", 7), ("sum", 8), ("gradient", 9)) for n in _SIZES}
CASES = {f"{what}, {n}": {"n": _SIZES[n], "what": what} for what in ("values", "sum", "gradient") for n in _SIZES}
del ROWS["sum, 1e3"], CASES["sum, 1e3"]
SMALL = {"n": 50}
GOALS = {
    "values, 1e3": 0.4, "values, 1e5": 0.7, "values, 1e7": 0.75, "sum, 1e5": 0.6, "sum, 1e7": 0.65,
    "gradient, 1e3": 0.35, "gradient, 1e5": 0.5, "gradient, 1e7": 0.8,
}  # fmt: skip


def data(n, what):
    return {"x": np.random.default_rng(0).standard_normal(n, np.float32), "what": what}


def tensorflow(tf, stage, x, what):
    x = tf.constant(x)

    def chain(x):
        return tf.tanh(x) * tf.sigmoid(x) + tf.exp(-x * x) - tf.math.log(1.0 + x * x)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(chain(x))
        return tape.gradient(y, x)

    made = stage({"values": chain, "sum": lambda x: tf.reduce_sum(chain(x)), "gradient": gradient}[what])
    return lambda: made(x)


def jax(jax, stage, x, what):
    jnp = jax.numpy
    x = jnp.asarray(x)

    def chain(x):
        return jnp.tanh(x) * jax.nn.sigmoid(x) + jnp.exp(-x * x) - jnp.log(1.0 + x * x)

    def total(x):
        return jnp.sum(chain(x))

    made = stage({"values": chain, "sum": total, "gradient": jax.grad(total)}[what])
    return lambda: made(x)


def torch(torch, stage, x, what):
    x = torch.tensor(x, requires_grad=what == "gradient")

    def chain(x):
        return torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x) - torch.log(1.0 + x * x)

    forward = stage(chain if what == "values" else lambda x: chain(x).sum())
    if what == "gradient":
        return lambda: torch.autograd.grad(forward(x), x)[0]
    return lambda: forward(x)


def numpy(_, stage, x, what):
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def chain(x):
        return np.tanh(x) * sigmoid(x) + np.exp(-x * x) - np.log(1 + x * x)

    def gradient(x):
        t, s, square = np.tanh(x), sigmoid(x), x * x
        return (1 - t * t) * s + t * s * (1 - s) - 2 * x * np.exp(-square) - 2 * x / (1 + square)

    made = {"values": chain, "sum": lambda x: np.sum(chain(x)), "gradient": gradient}[what]
    return lambda: made(x)


def numba(numba, stage, x, what):
    """Plain loops over libm's functions, as one writes them; on all cores where that pays."""
    parallel = x.size > 50_000
    one = np.float32(1)
    two = np.float32(2)

    @numba.njit(fastmath={"reassoc", "contract", "nsz"}, inline="always")
    def chain(v):
        return np.tanh(v) / (one + np.exp(-v)) + np.exp(-v * v) - np.log(one + v * v)

    @numba.njit(parallel=parallel)
    def values(x):
        y = np.empty_like(x)
        for i in numba.prange(x.size):
            y[i] = chain(x[i])
        return y

    @numba.njit(parallel=parallel)
    def total(x):
        result = 0.0
        for i in numba.prange(x.size):
            result += chain(x[i])
        return np.float32(result)

    @numba.njit(parallel=parallel)
    def gradient(x):
        y = np.empty_like(x)
        for i in numba.prange(x.size):
            v = x[i]
            t = np.tanh(v)
            s = one / (one + np.exp(-v))
            y[i] = (one - t * t) * s + t * s * (one - s) - two * v * np.exp(-v * v) - two * v / (one + v * v)
        return y

    made = {"values": values, "sum": total, "gradient": gradient}[what]
    return lambda: made(x)


def pytensor(pytensor, stage, x, what):
    tensor = pytensor.tensor
    v = tensor.vector("x", dtype="float32")
    y = tensor.tanh(v) * tensor.sigmoid(v) + tensor.exp(-v * v) - tensor.log(1 + v * v)
    made = {"values": lambda: y, "sum": lambda: y.sum(), "gradient": lambda: pytensor.grad(y.sum(), v)}[what]()
    function = pytensor.function([v], made, trust_input=True)
    return lambda: function(x)
