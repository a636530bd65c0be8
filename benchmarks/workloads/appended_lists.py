"""`values.append(x * i)` in a staged loop over a tensor n, and what came together stacked: per element.

TensorFlow has no such lists: there it is a TensorArray; JAX's is a scan.
"""

import numpy as np

CASES = {
    f"{what}{name}": {"n": 10_000, "shape": shape, "gradient": bool(what)}
    for what in ("", "gradient, ")
    for name, shape in (("scalars", ()), ("vectors of 8", (8,)))
}
ROWS = dict.fromkeys(CASES, 24)
SMALL = {"n": 5}
GOALS = dict.fromkeys(CASES, (3.0, "JAX"))
PER = dict.fromkeys(CASES, 10_000)
MODES = ("staged", "jit")
ABSENT = {
    "torch": "torch.compile unrolls a for: it has no staged one",
    "numba": "its lists hold no arrays whose number the compiler does not know",
    "pytensor": "its scan of an outer product is one product",
}


def data(n, shape, gradient):
    return {"n": n, "x": np.full(shape, 1.25, np.float32), "gradient": gradient}


def tensorflow(tf, stage, n, x, gradient):
    def appended(x, n):
        values = []
        for i in tf.range(n):
            values.append(x * tf.cast(i, tf.float32))
        return tf.stack(values)

    def written(x, n):
        values = tf.TensorArray(tf.float32, size=n, element_shape=x.shape)
        for i in tf.range(n):
            values = values.write(i, x * tf.cast(i, tf.float32))
        return values.stack()

    rows = appended if tf.__name__ == "fastgraph" else written

    def slope(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(rows(x, n))
        return tape.gradient(total, x)

    made, x, n = stage(slope if gradient else rows), tf.constant(x), tf.constant(n)
    return lambda: made(x, n)


def jax(jax, stage, n, x, gradient):
    jnp = jax.numpy
    numbers = jnp.arange(n)

    def rows(x):
        return jax.lax.scan(lambda carried, i: (carried, x * i.astype(jnp.float32)), 0, numbers)[1]

    made, x = stage(jax.grad(lambda x: jnp.sum(rows(x))) if gradient else rows), jnp.asarray(x)
    return lambda: made(x)


def numpy(_, stage, n, x, gradient):
    if gradient:
        return "it has no gradients"
    return lambda: np.stack([x * np.float32(i) for i in range(n)])
