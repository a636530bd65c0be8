"""What stands around a model: images changed, lines split and looked up, systems of linear operators solved.

"images": [128, 224, 224, 3] of uint8, resized, some of them mirrored, contrast and saturation changed, cut to 160 x
160; "lines": eight words each, looked up in a table of 5,000; "operators": a diagonal of 4,096 with an update of rank
32, and a Kronecker product of 64 x 64 and 48 x 48, for eight right sides each.
"""

import numpy as np

CASES = {
    "128 images changed": {"what": "images", "n": 128},
    "100,000 lines split and looked up": {"what": "lines", "n": 100_000},
    "update of rank 32 solved": {"what": "update", "n": 4096},
    "Kronecker product solved": {"what": "kronecker", "n": 64},
}
ROWS = dict.fromkeys(CASES, 39)
SMALL = {"n": 4}
GOALS = dict.fromkeys(CASES, (0.7, "TensorFlow"))
TOLERANCE = 1e-3
HOST_STEPS = True
MODES = {"100,000 lines split and looked up": ("staged", "eager")}
ABSENT = {
    "jax": "it has no text, and its images and operators are other programs",
    "torch": "it has no text, and its images and operators are other programs",
    "numba": "nobody writes these by hand",
    "pytensor": "it has none of them",
}


def data(what, n):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n, 224, 224, 3) if what == "images" else (1, 1, 1, 3), np.uint8)
    words = np.array([b"word%d" % i for i in range(5000)], object)
    lines = np.array([b" ".join(row) for row in words[rng.integers(0, 5000, (n if what == "lines" else 1, 8))]], object)
    square = rng.standard_normal((2, n, n if what == "kronecker" else 1)) / n
    side = n * (3 * n // 4) if what == "kronecker" else n
    return {
        "what": what, "images": images, "mirrored": rng.integers(0, 2, (len(images), 1, 1, 1)).astype(bool),
        "words": words, "lines": lines, "square": square, "update": rng.standard_normal((n, min(n, 32))) / n,
        "right": rng.standard_normal((side, 8)),
    }  # fmt: skip


def tensorflow(tf, stage, what, images, mirrored, words, lines, square, update, right):
    linalg = tf.linalg
    keys = tf.constant(words)
    values = tf.range(len(words), dtype=tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    def of_images(images, mirrored):
        x = tf.image.resize(tf.cast(images, tf.float32) / 255.0, [192, 192])
        x = tf.where(mirrored, tf.image.flip_left_right(x), x)
        x = tf.image.adjust_saturation(tf.image.adjust_contrast(x, 1.2), 1.1)
        return tf.clip_by_value(x, 0.0, 1.0)[:, 16:176, 16:176]

    def of_lines(lines, _):
        rows = tf.strings.split(lines)
        return tf.reduce_sum(tf.ragged.map_flat_values(table.lookup, rows), axis=1)

    def of_update(update, right):
        base = linalg.LinearOperatorDiag(2.0 + update[:, 0] ** 2, is_positive_definite=True)
        whole = linalg.LinearOperatorLowRankUpdate(base, update, is_positive_definite=True, is_self_adjoint=True)
        return whole.solve(right)

    def of_kronecker(square, right):
        n = square.shape[-1]
        parts = [2.0 * tf.eye(n, dtype=tf.float64) + square[0], (3.0 * tf.eye(n, dtype=tf.float64) + square[1])]
        parts[1] = parts[1][: 3 * n // 4, : 3 * n // 4]
        return linalg.LinearOperatorKronecker([linalg.LinearOperatorFullMatrix(x) for x in parts]).solve(right)

    run, args = {
        "images": (of_images, (images, mirrored)),
        "lines": (of_lines, (lines, mirrored)),
        "update": (of_update, (update, right)),
        "kronecker": (of_kronecker, (square, right)),
    }[what]
    call = stage(run)
    args = [tf.constant(each) for each in args]
    return lambda: call(*args)


def numpy(_, stage, what, images, mirrored, words, lines, square, update, right):
    if what in ("images", "lines"):
        return "it has none of its functions"
    if what == "update":
        matrix = np.diag(2.0 + update[:, 0] ** 2) + update @ update.T
        return lambda: np.linalg.solve(matrix, right)
    n = square.shape[-1]
    first, second = 2.0 * np.eye(n) + square[0], (3.0 * np.eye(n) + square[1])[: 3 * n // 4, : 3 * n // 4]
    return lambda: np.linalg.solve(np.kron(first, second), right)
