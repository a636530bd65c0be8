"""Loops whose innermost axis is short, that sum down columns, or whose elements come from round a corner.

"n-body": the accelerations of 1,000 bodies; "life": 10 generations of 512 x 512 cells; "image": what a uint8 image
goes through before a network; "batch norm": normalisation by its own moments with the gradient; "scan": the gradient
to a weight that 64 iterations read.
"""

import numpy as np

CASES = {
    "sums of 1,000 x 1,000 x 3": {"what": "short", "shape": (1000, 1000, 3)},
    "distances 1,000 x 1,000 x 3": {"what": "distances", "shape": (1000, 3)},
    "n-body 1,000": {"what": "bodies", "shape": (1000, 3)},
    "least and its place, 20,000 x 50": {"what": "place", "shape": (20_000, 50)},
    "moments of 32 x 32 x 32 x 16": {"what": "moments", "shape": (32, 32, 32, 16)},
    "moments of 32 x 32 x 32 x 64": {"what": "moments", "shape": (32, 32, 32, 64)},
    "batch norm 32 x 32 x 32 x 16": {"what": "norm", "shape": (32, 32, 32, 16)},
    "life 512 x 512": {"what": "life", "shape": (512, 512)},
    "image 16 x 224 x 224 x 3": {"what": "image", "shape": (16, 224, 224, 3)},
    "scan 64 x 256": {"what": "scan", "shape": (32, 256)},
}
ROWS = dict.fromkeys(CASES, 39)
SMALL = {"small": True}
GOALS: dict[str, float] = {}
# A whole number that rounding leaves a last bit short of is cut to the one below: one of the 120 that an image has.
TOLERANCE = {"image*": 1e-2, "*": 1e-3}
ABSENT = {
    "jax": "written for the peers that have NumPy's names and Variables",
    "numpy": "it makes a temporary of each operation",
    "numba": "nobody writes these by hand",
    "pytensor": "it has not all of them",
    "torch": "written for the peers that have NumPy's names and Variables",
}


def data(what, shape, small=False):
    rng = np.random.default_rng(0)
    shape = tuple(min(n, 8) for n in shape[:-1]) + shape[-1:] if small else shape
    x = rng.standard_normal(shape, np.float32)
    if what == "life":
        x = rng.integers(0, 2, shape).astype(np.int32)
    if what == "image":
        x = rng.integers(0, 256, shape).astype(np.uint8)
    w = 0.05 * rng.standard_normal((shape[-1], shape[-1]), np.float32)
    return {"what": what, "x": x, "w": w, "steps": 3 if small else 64}


def tensorflow(tf, stage, what, x, w, steps):
    w = tf.Variable(w)

    def bodies(x):
        apart = x[None] - x[:, None]
        return tf.reduce_sum(apart / (tf.reduce_sum(apart**2, -1, keepdims=True) + 1e-2) ** 1.5, 1)

    def norm(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            y = tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, w[0], w[1], 1e-3))
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, [x, w])[0]

    def life(x):
        for _ in range(10):
            n = tf.add_n([tf.roll(x, [i, j], [0, 1]) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
            x = tf.cast((n == 3) | ((n == 2) & (x == 1)), x.dtype)
        return x

    def scan(x):
        with tf.GradientTape() as tape:
            for _ in tf.range(steps):
                x = tf.tanh(x @ w)
            loss = tf.reduce_sum(x)
        return tape.gradient(loss, w)

    @stage
    def call(x):
        return {
            "short": lambda: tf.reduce_sum(x, -1),
            "distances": lambda: tf.reduce_sum((x[:, None] - x[None]) ** 2, -1),
            "bodies": lambda: bodies(x),
            "place": lambda: (tf.reduce_min(x, -1), tf.argmin(x, -1)),
            "moments": lambda: tf.nn.moments(x, [0, 1, 2]),
            "norm": lambda: norm(x),
            "life": lambda: life(x),
            "image": lambda: tf.saturate_cast((tf.cast(x, tf.float32) / 255.0 - [0.4, 0.5, 0.6]) * 200.0, tf.uint8),
            "scan": lambda: scan(x),
        }[what]()

    x = tf.constant(x)
    return lambda: call(x)
