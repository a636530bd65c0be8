"""Ops whose work is not arithmetic alone, of float32: orders, groups, rows of a table, transforms, small systems.

"table": rows of a Variable [50,000, 128] are read, and 1,024 of them changed, in one step.
"""

import numpy as np

CASES = {
    "sort 1e6": {"what": "sort", "shape": (1_000_000,)},
    "argsort 1e6": {"what": "argsort", "shape": (1_000_000,)},
    "top 1,000 of 64 x 10,000": {"what": "top", "shape": (64, 10_000)},
    "different among 1e6": {"what": "unique", "shape": (1_000_000,)},
    "segment sums 40,000 x 64": {"what": "segments", "shape": (40_000, 64)},
    "table": {"what": "table", "shape": (50_000, 128)},
    "rfft 256 x 4,096": {"what": "rfft", "shape": (256, 4096)},
    "4,096 factors 8 x 8": {"what": "cholesky", "shape": (4096, 8, 8)},
    "4,096 systems 8 x 8": {"what": "solve", "shape": (4096, 8, 8)},
    "[8, 4, 64] x [500, 64]^T": {"what": "product", "shape": (8, 4, 64)},
}
ROWS = dict.fromkeys(CASES, 38)
SMALL = {"small": True}
GOALS: dict[str, float] = {}
TOLERANCE = 1e-3
HOST_STEPS = True
ABSENT = {
    "jax": "its arrays have sizes that are known before, and its tables are not changed",
    "numba": "nobody writes these by hand",
    "pytensor": "it has not all of them",
}


def data(what, shape, small=False):
    rng = np.random.default_rng(0)
    shape = tuple(min(n, 8) for n in shape) if small else shape
    x = rng.standard_normal(shape, np.float32)
    n = min(1024, shape[0])
    ids = {"segments": np.sort(rng.integers(0, 2000, shape[0])), "unique": rng.integers(0, 1000, shape)}
    if what in ("cholesky", "solve"):
        x = x @ np.swapaxes(x, -1, -2) + 8 * np.eye(shape[-1], dtype=np.float32)
    other = rng.standard_normal((500, shape[-1]), np.float32) if what == "product" else x[..., :1]
    ids = ids.get(what, rng.permutation(shape[0])[:n]).astype(np.int32)
    return {"what": what, "x": x, "ids": ids, "other": other, "k": max(1, shape[-1] // 10)}


def tensorflow(tf, stage, what, x, ids, other, k):
    table = tf.Variable(x) if what == "table" else None

    @stage
    def call(x, ids, other):
        if what == "table":
            rows = tf.gather(table, ids)
            table.scatter_sub(tf.IndexedSlices(0.001 * rows, ids))
            return tf.reduce_sum(rows)
        return {
            "sort": lambda: tf.sort(x),
            "argsort": lambda: tf.argsort(x),
            "top": lambda: tf.math.top_k(x, k).values,
            "unique": lambda: tf.unique(ids).y,
            "segments": lambda: tf.math.segment_sum(x, ids),
            "rfft": lambda: tf.abs(tf.signal.rfft(x)),
            "cholesky": lambda: tf.linalg.cholesky(x),
            "solve": lambda: tf.linalg.solve(x, other),
            "product": lambda: tf.matmul(x, other, transpose_b=True),
        }[what]()

    x, ids, other = (tf.constant(each) for each in (x, ids, other))
    return lambda: call(x, ids, other)


def torch(torch, stage, what, x, ids, other, k):
    if what in ("unique", "segments"):
        return "its like gives another order, or needs their number"
    x, ids, other = torch.tensor(x), torch.tensor(ids).long(), torch.tensor(other)

    @stage
    def call(x, ids, other):
        if what == "table":
            rows = x[ids]
            x.index_add_(0, ids, rows, alpha=-0.001)
            return rows.sum()
        return {
            "sort": lambda: torch.sort(x).values,
            "argsort": lambda: torch.argsort(x),
            "top": lambda: torch.topk(x, k).values,
            "rfft": lambda: torch.fft.rfft(x).abs(),
            "cholesky": lambda: torch.linalg.cholesky(x),
            "solve": lambda: torch.linalg.solve(x, other),
            "product": lambda: x @ other.T,
        }[what]()

    return lambda: call(x, ids, other)


def numpy(_, stage, what, x, ids, other, k):
    def table():
        rows = x[ids]
        x[ids] -= np.float32(0.001) * rows
        return rows.sum()

    def segments():
        sums = np.zeros((ids[-1] + 1, x.shape[1]), x.dtype)
        np.add.at(sums, ids, x)
        return sums

    def unique():
        return ids[np.sort(np.unique(ids, return_index=True)[1])]

    return {
        "sort": lambda: np.sort(x),
        "argsort": lambda: np.argsort(x, kind="stable"),
        "top": lambda: -np.sort(np.partition(-x, k - 1)[:, :k]),
        "unique": unique,
        "segments": segments,
        "table": table,
        "rfft": lambda: np.abs(np.fft.rfft(x)),
        "cholesky": lambda: np.linalg.cholesky(x),
        "solve": lambda: np.linalg.solve(x, other),
        "product": lambda: x @ other.T,
    }[what]
