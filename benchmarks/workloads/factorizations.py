"""A factorisation of a matrix of order 150, and a step of fitting a Gaussian process to 150 points, of float64."""

import numpy as np

ROWS = {"cholesky 150": 38, "Gaussian process, step": 38}
CASES = {"cholesky 150": {"n": 150, "what": "cholesky"}, "Gaussian process, step": {"n": 150, "what": "step"}}
SMALL = {"n": 6}
GOALS: dict[str, float] = {}
MODES = {"cholesky 150": ("eager",), "Gaussian process, step": ("staged", "eager")}
#: Factorisations are NumPy's in Functions too.
HOST_STEPS = True
ABSENT = {
    "jax": "it computes in float32 unless the whole process is told otherwise",
    "torch": "its gradient of such a step is another program",
    "numba": "its factorisation is LAPACK's, as in NumPy's row",
    "pytensor": "its factorisation is LAPACK's, as in NumPy's row",
}


def data(n, what):
    rng = np.random.default_rng(0)
    points, values = rng.standard_normal((n, 2)), rng.standard_normal((n, 1))
    return {"what": what, "points": points, "values": values, "matrix": points @ points.T + n * np.eye(n)}


def tensorflow(tf, stage, what, points, values, matrix):
    if what == "cholesky":
        matrix = tf.constant(matrix)
        return lambda: tf.linalg.cholesky(matrix)
    noise = 0.1 * tf.eye(len(points), dtype=tf.float64)
    points, values = tf.constant(points), tf.constant(values)
    scale = tf.Variable(1.0, dtype=tf.float64)

    @stage
    def step():
        with tf.GradientTape() as tape:
            distances = tf.reduce_sum((points[:, None] - points[None]) ** 2, -1)
            factor = tf.linalg.cholesky(tf.exp(-distances / (2.0 * scale**2)) + noise)
            solved = tf.linalg.cholesky_solve(factor, values)
            loss = tf.reduce_sum(values * solved) + 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
        scale.assign_sub(1e-12 * tape.gradient(loss, scale))
        return loss

    return step


def numpy(_, stage, what, points, values, matrix):
    if what == "cholesky":
        return lambda: np.linalg.cholesky(matrix)
    return "it has no gradients"
