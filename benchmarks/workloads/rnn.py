"""A recurrent network, h = tanh(x W + h U + b), 100 steps, batch 32, hidden 64: forward, and with the gradient."""

import numpy as np

ROWS = {"forward": 16, "gradient": 16}
_SIZES = {"steps": 100, "batch": 32, "hidden": 64}
CASES = {what: {**_SIZES, "what": what} for what in ROWS}
SMALL = {"steps": 3, "batch": 2, "hidden": 4}
GOALS = {"forward": 0.7, "gradient": 0.7}
TOLERANCE = 1e-3
ABSENT = {"numba": "its products are BLAS's and its loop costs little: it would be NumPy's row"}


def data(steps, batch, hidden, what):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32) * np.float32(0.7 / hidden**0.5)

    weights = [normal(hidden, hidden), normal(hidden, hidden), np.zeros(hidden, np.float32)]
    return {"x": rng.standard_normal((steps, batch, hidden), np.float32), "weights": weights, "what": what}


def tensorflow(tf, stage, x, weights, what):
    weights = [tf.constant(each) for each in weights]
    steps = x.shape[0]

    def forward(x, w, u, b):
        h = tf.zeros_like(x[0])
        for t in tf.range(steps):
            h = tf.tanh(tf.matmul(x[t], w) + tf.matmul(h, u) + b)
        return tf.reduce_sum(h * h)

    def gradient(x, *weights):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            y = forward(x, *weights)
        return y, tape.gradient(y, list(weights))

    x = tf.constant(x)
    made = stage(forward if what == "forward" else gradient)
    return lambda: made(x, *weights)


def jax(jax, stage, x, weights, what):
    jnp = jax.numpy

    def forward(weights, x):
        w, u, b = weights
        h, _ = jax.lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u + b), None), jnp.zeros_like(x[0]), x)
        return jnp.sum(h * h)

    weights, x = [jnp.asarray(each) for each in weights], jnp.asarray(x)
    made = stage(forward if what == "forward" else jax.value_and_grad(forward))
    return lambda: made(weights, x)


def torch(torch, stage, x, weights, what):
    w, u, b = weights = [torch.tensor(each, requires_grad=what == "gradient") for each in weights]

    def forward(x):
        h = torch.zeros_like(x[0])
        for each in x:
            h = torch.tanh(torch.addmm(b, each, w) + h @ u)
        return (h * h).sum()

    x, staged = torch.tensor(x), stage(forward)
    if what == "forward":
        return lambda: staged(x)

    def gradient():
        y = staged(x)
        return y.detach(), torch.autograd.grad(y, weights)

    return gradient


def numpy(_, stage, x, weights, what):
    w, u, b = weights

    def run():
        states = [np.zeros_like(x[0])]
        for each in x:
            states.append(np.tanh(each @ w + states[-1] @ u + b))
        y = (states[-1] * states[-1]).sum()
        if what == "forward":
            return y
        dh = 2 * states[-1]
        dw, du, db = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
        for t in reversed(range(len(x))):
            da = dh * (1 - states[t + 1] * states[t + 1])
            dw += x[t].T @ da
            du += states[t].T @ da
            db += da.sum(0)
            dh = da @ u.T
        return y, dw, du, db

    return run


def pytensor(pytensor, stage, x, weights, what):
    if what == "gradient":
        return "it compiles for more than a minute"
    tensor = pytensor.tensor
    v = tensor.tensor3("x", dtype="float32")
    w, u, b = (pytensor.shared(each) for each in weights)
    zeros = tensor.zeros((x.shape[1], x.shape[2]), dtype="float32")
    states = pytensor.scan(
        lambda x, h: tensor.tanh(tensor.dot(x, w) + tensor.dot(h, u) + b), sequences=[v], outputs_info=[zeros],
        return_updates=False,
    )  # fmt: skip
    y = (states[-1] * states[-1]).sum()
    run = pytensor.function([v], y, trust_input=True)
    return lambda: run(x)
