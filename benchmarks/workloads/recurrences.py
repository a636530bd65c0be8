"""Recurrences as staged loops: a small RNN, an array that grows, rows of a matrix, nested loops, mixed state.

The cost of an iteration; of nested loops, of an inner one.
"""

import numpy as np

ROWS = {"TensorArray": 16, "TensorArray, gradient": 16, "growing": 16, "rows, gradient": 16, "nested": 24, "mixed": 15}
CASES = {
    "TensorArray": {"what": "cell", "n": 1000, "size": 8},
    "TensorArray, gradient": {"what": "gradient", "n": 1000, "size": 8},
    "growing": {"what": "growing", "n": 10_000, "size": 1},
    "rows, gradient": {"what": "rows", "n": 10_000, "size": 4},
    "nested": {"what": "nested", "n": 300, "size": 1},
    "mixed": {"what": "mixed", "n": 10_000, "size": 4},
}
SMALL = {"n": 4, "size": 2}
GOALS = {"TensorArray": 0.7, "TensorArray, gradient": 0.7, "rows, gradient": 0.7, "nested": 0.7, "mixed": 0.7}
PER = {
    "TensorArray": 1000,
    "TensorArray, gradient": 1000,
    "growing": 10_000,
    "rows, gradient": 10_000,
    "nested": 300 * 299 // 2,
    "mixed": 10_000,
}
TOLERANCE = 2e-3
MODES = ("staged", "jit")
ABSENT = {"torch": "torch.compile unrolls a for: it has no staged one", "pytensor": "it compiles for minutes"}


def data(what, n, size):
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((size, size), np.float32) * np.float32(0.5 / size**0.5) for _ in range(2)]
    return {"what": what, "x": rng.standard_normal((n, size), np.float32), "weights": weights, "n": n}


def tensorflow(tf, stage, what, x, weights, n):
    def cell(x, w, u):
        steps = tf.shape(x)[0]
        states = tf.TensorArray(tf.float32, size=steps, element_shape=x.shape[1:])
        h = tf.zeros_like(x[0])
        for t in tf.range(steps):
            h = tf.tanh(tf.linalg.matvec(w, x[t]) + tf.linalg.matvec(u, h))
            states = states.write(t, h)
        return tf.reduce_sum(states.stack() ** 2)

    def gradient(x, w, u):
        with tf.GradientTape() as tape:
            tape.watch([w, u])
            y = cell(x, w, u)
        return y, tape.gradient(y, [w, u])

    def growing(x, w, u):
        grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=())
        total = tf.constant(0.0)
        for t in tf.range(n):
            total = 0.5 * total + x[t, 0]
            grown = grown.write(t, total)
        return grown.stack()

    def rows(x, w, u):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.constant(0.0)
            for t in tf.range(n):
                total = 0.5 * total + tf.reduce_sum(x[t] * x[t])
        return total, tape.gradient(total, x)

    def nested(x, w, u):
        total = tf.constant(0)
        for i in tf.range(n):
            for j in tf.range(i):
                total = total * 3 + j
        return total

    def mixed(x, w, u):
        state, energy = x[0], tf.constant(0.0)
        for _ in tf.range(n):
            state = 0.9 * state + 0.1 * tf.sin(state + energy)
            energy = 0.9 * energy + 0.1 * tf.reduce_sum(state * state)
        return state, energy

    every = {"cell": cell, "gradient": gradient, "growing": growing, "rows": rows, "nested": nested, "mixed": mixed}
    made = stage(every[what])
    given = [tf.constant(x), *[tf.constant(each) for each in weights]]
    return lambda: made(*given)


def jax(jax, stage, what, x, weights, n):
    jnp, lax = jax.numpy, jax.lax

    def cell(weights, x):
        w, u = weights

        def step(h, row):
            h = jnp.tanh(w @ row + u @ h)
            return h, h

        return jnp.sum(lax.scan(step, jnp.zeros_like(x[0]), x)[1] ** 2)

    def growing(weights, x):
        def step(total, row):
            total = 0.5 * total + row
            return total, total

        return lax.scan(step, jnp.float32(0), x[:, 0])[1]

    def weighted(x):
        return lax.fori_loop(0, n, lambda t, total: 0.5 * total + jnp.sum(x[t] * x[t]), jnp.float32(0))

    def rows(weights, x):
        return jax.value_and_grad(weighted)(x)

    def nested(weights, x):
        inner = lambda i, total: lax.fori_loop(0, i, lambda j, total: total * 3 + j, total)
        return lax.fori_loop(0, n, inner, jnp.int32(0))

    def mixed(weights, x):
        def step(_, carried):
            state, energy = carried
            state = 0.9 * state + 0.1 * jnp.sin(state + energy)
            return state, 0.9 * energy + 0.1 * jnp.sum(state * state)

        return lax.fori_loop(0, n, step, (x[0], jnp.float32(0)))

    gradient = jax.value_and_grad(cell)
    every = {"cell": cell, "gradient": gradient, "growing": growing, "rows": rows, "nested": nested, "mixed": mixed}
    made = stage(every[what])
    weights, x = [jnp.asarray(each) for each in weights], jnp.asarray(x)
    return lambda: made(weights, x)


def numpy(_, stage, what, x, weights, n):
    w, u = weights

    def cell():
        states = [np.zeros_like(x[0])]
        for row in x:
            states.append(np.tanh(w @ row + u @ states[-1]))
        return np.stack(states[1:])

    def gradient():
        states = cell()
        before = np.concatenate([np.zeros_like(x[:1]), states[:-1]])
        dw, du, dh = np.zeros_like(w), np.zeros_like(u), np.zeros_like(x[0])
        for t in reversed(range(n)):
            da = (dh + 2 * states[t]) * (1 - states[t] * states[t])
            dw += np.outer(da, x[t])
            du += np.outer(da, before[t])
            dh = u.T @ da
        return (states**2).sum(), dw, du

    def growing():
        total, grown = np.float32(0), []
        for t in range(n):
            total = np.float32(0.5) * total + x[t, 0]
            grown.append(total)
        return np.stack(grown)

    def rows():
        total, dx, d = np.float32(0), np.zeros_like(x), np.float32(1)
        for t in range(n):
            total = np.float32(0.5) * total + (x[t] * x[t]).sum()
        for t in reversed(range(n)):
            dx[t] += 2 * d * x[t]
            d = np.float32(0.5) * d
        return total, dx

    def nested():
        total = 0
        for i in range(n):
            for j in range(i):
                total = (total * 3 + j) & 0xFFFFFFFF
        return np.uint32(total).astype(np.int32)

    def mixed():
        state, energy = x[0], np.float32(0)
        for _ in range(n):
            state = np.float32(0.9) * state + np.float32(0.1) * np.sin(state + energy)
            energy = np.float32(0.9) * energy + np.float32(0.1) * (state * state).sum()
        return state, energy

    made = {"gradient": gradient, "growing": growing, "rows": rows, "nested": nested, "mixed": mixed}
    return made[what] if what in made else lambda: (cell() ** 2).sum()


def numba(numba, stage, what, x, weights, n):
    if what != "mixed":
        return "it would be NumPy's row"

    @numba.njit
    def mixed(state, n):
        state, energy = state.copy(), np.float32(0)
        for _ in range(n):
            total = np.float32(0)
            for k in range(state.size):
                state[k] = np.float32(0.9) * state[k] + np.float32(0.1) * np.sin(state[k] + energy)
                total += state[k] * state[k]
            energy = np.float32(0.9) * energy + np.float32(0.1) * total
        return state, energy

    return lambda: mixed(x[0], n)
