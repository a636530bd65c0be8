"""A step of linear regression on 2,000 points: loss, gradients of w and b, an update in place (SGD)."""

import numpy as np

ROWS = {"step": 12}
CASES = {"step": {"n": 2000}}
SMALL = {"n": 20}
GOALS = {"step": (0.1, "JAX")}
RATE = 0.1


def data(n):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n, np.float32)
    return {"x": x, "y": 3 * x + 2 + rng.standard_normal(n, np.float32)}


def tensorflow(tf, stage, x, y):
    x, y = tf.constant(x), tf.constant(y)
    w, b = tf.Variable(5.0), tf.Variable(0.0)

    @stage
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - (w * x + b)))
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(RATE * dw)
        b.assign_sub(RATE * db)
        return loss

    return lambda: step(x, y)


def jax(jax, stage, x, y):
    x, y = jax.numpy.asarray(x), jax.numpy.asarray(y)
    held = [(jax.numpy.float32(5.0), jax.numpy.float32(0.0))]

    def loss_of(held, x, y):
        w, b = held
        return jax.numpy.mean((y - (w * x + b)) ** 2)

    @stage
    def step(held, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(held, x, y)
        return loss, jax.tree.map(lambda v, g: v - RATE * g, held, gradients)

    def call():
        loss, held[0] = step(held[0], x, y)
        return loss

    return call


def torch(torch, stage, x, y):
    x, y = torch.tensor(x), torch.tensor(y)
    w, b = torch.tensor(5.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)

    @stage
    def step(x, y):
        loss = torch.mean((y - (w * x + b)) ** 2)
        dw, db = torch.autograd.grad(loss, [w, b])
        with torch.no_grad():
            w.sub_(RATE * dw)
            b.sub_(RATE * db)
        return loss.detach()

    return lambda: step(x, y)


def numpy(_, stage, x, y):
    held = [np.float32(5.0), np.float32(0.0)]
    rate = np.float32(RATE)

    def call():
        w, b = held
        error = w * x + b - y
        scale = np.float32(2 / len(x))
        held[0] = w - rate * scale * np.dot(error, x)
        held[1] = b - rate * scale * error.sum()
        return np.dot(error, error) / np.float32(len(x))

    return call


def numba(numba, stage, x, y):
    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def step(held, x, y, rate):
        w, b = held[0], held[1]
        loss, dw, db = np.float32(0), np.float32(0), np.float32(0)
        for i in range(x.size):
            error = w * x[i] + b - y[i]
            loss += error * error
            dw += error * x[i]
            db += error
        scale = np.float32(2) / np.float32(x.size)
        held[0] -= rate * scale * dw
        held[1] -= rate * scale * db
        return loss / np.float32(x.size)

    held, rate = np.array([5.0, 0.0], np.float32), np.float32(RATE)
    return lambda: step(held, x, y, rate)


def pytensor(pytensor, stage, x, y):
    w, b = pytensor.shared(np.float32(5.0)), pytensor.shared(np.float32(0.0))
    xs, ys = pytensor.shared(x), pytensor.shared(y)
    loss = pytensor.tensor.mean((ys - (w * xs + b)) ** 2)
    rate = np.float32(RATE)
    return pytensor.function([], loss, updates=[(v, v - rate * g) for v, g in zip([w, b], pytensor.grad(loss, [w, b]))])
