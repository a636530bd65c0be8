"""The most used ops, eagerly, at 1 to 1e7 elements: which, by how often user code names them (a count over guides,
examples and libraries; operators are not named and are counted by judgement).

A case is "op, size". Operands are float32 and dense unless an op's line says otherwise; n is the number of elements of
the largest tensor that goes in or comes out (of a product: of each of the three, as squares). Only NumPy and PyTorch
are peers here: no other calls within a microsecond or two.
"""

import numpy as np

SIZES = {"1": 1, "10": 10, "1e3": 1000, "1e5": 100_000, "1e7": 10_000_000}
LIBRARIES = ("fastgraph", "numpy", "torch")
MODES = ("eager",)
SAMPLE_S = 0.03  # so many cases that each must be short
WARM_UP_S = 0.03
TOLERANCE = 1e-5  # relative to the largest element; sums of 1e7 numbers and products are within it too


def vectors(n):
    """Two vectors, the second positive."""
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal(n, np.float32), "y": rng.uniform(0.5, 2, n).astype(np.float32)}


def table(n):
    """A table of rows of ten, or of one where there are fewer, and as many numbers of rows, drawn."""
    width = min(n, 10)
    rows = n // width
    i = np.random.default_rng(1).integers(0, rows, rows).astype(np.int32)
    return {"x": vectors(n)["x"].reshape(rows, width), "i": i}


def squares(n):
    """Two square matrices of about n elements."""
    side = max(1, round(n**0.5))
    v = vectors(side * side)
    return {name: each.reshape(side, side) for name, each in v.items()}


def rows(n):
    """A matrix of rows of up to a thousand."""
    width = min(n, 1000)
    return {"x": vectors(n)["x"].reshape(n // width, width)}


def halves(n):
    """Two vectors that make n elements together."""
    return {"x": vectors(max(1, n // 2))["x"]}


# op: operands, what they are for TensorFlow's names, for NumPy, for PyTorch. `o` holds the operands, as `o.x`.
OPS = {
    "add": (vectors, lambda tf, o: lambda: o.x + o.y, lambda o: lambda: o.x + o.y, lambda t, o: lambda: o.x + o.y),
    "subtract": (vectors, lambda tf, o: lambda: o.x - o.y, lambda o: lambda: o.x - o.y, lambda t, o: lambda: o.x - o.y),
    "multiply": (vectors, lambda tf, o: lambda: o.x * o.y, lambda o: lambda: o.x * o.y, lambda t, o: lambda: o.x * o.y),
    "divide": (vectors, lambda tf, o: lambda: o.x / o.y, lambda o: lambda: o.x / o.y, lambda t, o: lambda: o.x / o.y),
    "pow": (
        vectors,
        lambda tf, o: lambda: tf.pow(o.y, o.x),
        lambda o: lambda: np.power(o.y, o.x),
        lambda t, o: lambda: t.pow(o.y, o.x),
    ),
    "cast": (
        lambda n: {"i": np.arange(n, dtype=np.int32)},
        lambda tf, o: lambda: tf.cast(o.i, tf.float32),
        lambda o: lambda: o.i.astype(np.float32),
        lambda t, o: lambda: o.i.to(t.float32),
    ),
    "where": (
        lambda n: {**vectors(n), "c": vectors(n)["x"] > 0},
        lambda tf, o: lambda: tf.where(o.c, o.x, o.y),
        lambda o: lambda: np.where(o.c, o.x, o.y),
        lambda t, o: lambda: t.where(o.c, o.x, o.y),
    ),
    "ones": (
        lambda n: {"n": n},
        lambda tf, o: lambda: tf.ones((o.n,)),
        lambda o: lambda: np.ones((o.n,), np.float32),
        lambda t, o: lambda: t.ones((o.n,)),
    ),
    "zeros": (
        lambda n: {"n": n},
        lambda tf, o: lambda: tf.zeros((o.n,)),
        lambda o: lambda: np.zeros((o.n,), np.float32),
        lambda t, o: lambda: t.zeros((o.n,)),
    ),
    "zeros_like": (
        vectors,
        lambda tf, o: lambda: tf.zeros_like(o.x),
        lambda o: lambda: np.zeros_like(o.x),
        lambda t, o: lambda: t.zeros_like(o.x),
    ),
    "reshape": (
        vectors,
        lambda tf, o: lambda: tf.reshape(o.x, (-1, 1)),
        lambda o: lambda: np.reshape(o.x, (-1, 1)),
        lambda t, o: lambda: t.reshape(o.x, (-1, 1)),
    ),
    "expand_dims": (
        vectors,
        lambda tf, o: lambda: tf.expand_dims(o.x, 0),
        lambda o: lambda: np.expand_dims(o.x, 0),
        lambda t, o: lambda: t.unsqueeze(o.x, 0),
    ),
    "squeeze": (
        lambda n: {"x": vectors(n)["x"][:, None]},
        lambda tf, o: lambda: tf.squeeze(o.x, 1),
        lambda o: lambda: np.squeeze(o.x, 1),
        lambda t, o: lambda: t.squeeze(o.x, 1),
    ),
    "transpose": (
        squares,
        lambda tf, o: lambda: tf.transpose(o.x),
        lambda o: lambda: np.ascontiguousarray(np.transpose(o.x)),
        lambda t, o: lambda: t.transpose(o.x, 0, 1).contiguous(),
    ),
    "concat": (
        halves,
        lambda tf, o: lambda: tf.concat([o.x, o.x], 0),
        lambda o: lambda: np.concatenate([o.x, o.x], 0),
        lambda t, o: lambda: t.cat([o.x, o.x], 0),
    ),
    "stack": (
        halves,
        lambda tf, o: lambda: tf.stack([o.x, o.x]),
        lambda o: lambda: np.stack([o.x, o.x]),
        lambda t, o: lambda: t.stack([o.x, o.x]),
    ),
    "split": (
        lambda n: {"x": vectors(max(2, n))["x"]},
        lambda tf, o: lambda: tf.split(o.x, 2),
        lambda o: lambda: np.split(o.x, 2),
        lambda t, o: lambda: t.tensor_split(o.x, 2),
    ),
    "broadcast_to": (
        lambda n: {"x": vectors(min(n, 10))["x"], "shape": (n // min(n, 10), min(n, 10))},
        lambda tf, o: lambda: tf.broadcast_to(o.x, o.shape),
        lambda o: lambda: np.broadcast_to(o.x, o.shape).copy(),
        lambda t, o: lambda: t.broadcast_to(o.x, o.shape).contiguous(),
    ),
    "gather": (
        table,
        lambda tf, o: lambda: tf.gather(o.x, o.i),
        lambda o: lambda: np.take(o.x, o.i, 0),
        lambda t, o: lambda: t.index_select(o.x, 0, o.i),
    ),
    "one_hot": (
        lambda n: {"i": (np.arange(max(1, n // 10)) % 7).astype(np.int64), "ten": np.arange(10)},
        lambda tf, o: lambda: tf.one_hot(o.i, 10),
        lambda o: lambda: (o.i[:, None] == o.ten).astype(np.float32),
        lambda t, o: lambda: t.nn.functional.one_hot(o.i, 10).to(t.float32),
    ),
    "equal": (
        vectors,
        lambda tf, o: lambda: tf.equal(o.x, o.y),
        lambda o: lambda: np.equal(o.x, o.y),
        lambda t, o: lambda: t.eq(o.x, o.y),
    ),
    "maximum": (
        vectors,
        lambda tf, o: lambda: tf.maximum(o.x, o.y),
        lambda o: lambda: np.maximum(o.x, o.y),
        lambda t, o: lambda: t.maximum(o.x, o.y),
    ),
    "clip_by_value": (
        vectors,
        lambda tf, o: lambda: tf.clip_by_value(o.x, -1.0, 1.0),
        lambda o: lambda: np.clip(o.x, -1.0, 1.0),
        lambda t, o: lambda: t.clamp(o.x, -1.0, 1.0),
    ),
    "abs": (vectors, lambda tf, o: lambda: tf.abs(o.x), lambda o: lambda: np.abs(o.x), lambda t, o: lambda: t.abs(o.x)),
    "square": (
        vectors,
        lambda tf, o: lambda: tf.square(o.x),
        lambda o: lambda: np.square(o.x),
        lambda t, o: lambda: t.square(o.x),
    ),
    "sqrt": (
        vectors,
        lambda tf, o: lambda: tf.sqrt(o.y),
        lambda o: lambda: np.sqrt(o.y),
        lambda t, o: lambda: t.sqrt(o.y),
    ),
    "exp": (vectors, lambda tf, o: lambda: tf.exp(o.x), lambda o: lambda: np.exp(o.x), lambda t, o: lambda: t.exp(o.x)),
    "log": (
        vectors,
        lambda tf, o: lambda: tf.math.log(o.y),
        lambda o: lambda: np.log(o.y),
        lambda t, o: lambda: t.log(o.y),
    ),
    "log1p": (
        vectors,
        lambda tf, o: lambda: tf.math.log1p(o.y),
        lambda o: lambda: np.log1p(o.y),
        lambda t, o: lambda: t.log1p(o.y),
    ),
    "tanh": (
        vectors,
        lambda tf, o: lambda: tf.tanh(o.x),
        lambda o: lambda: np.tanh(o.x),
        lambda t, o: lambda: t.tanh(o.x),
    ),
    "sigmoid": (
        vectors,
        lambda tf, o: lambda: tf.sigmoid(o.x),
        lambda o: lambda: 1 / (1 + np.exp(-o.x)),
        lambda t, o: lambda: t.sigmoid(o.x),
    ),
    "relu": (
        vectors,
        lambda tf, o: lambda: tf.nn.relu(o.x),
        lambda o: lambda: np.maximum(o.x, 0),
        lambda t, o: lambda: t.relu(o.x),
    ),
    "softmax": (
        rows,
        lambda tf, o: lambda: tf.nn.softmax(o.x),
        lambda o: lambda: softmax(o.x),
        lambda t, o: lambda: t.softmax(o.x, -1),
    ),
    "reduce_sum": (
        vectors,
        lambda tf, o: lambda: tf.reduce_sum(o.y),
        lambda o: lambda: np.sum(o.y),
        lambda t, o: lambda: t.sum(o.y),
    ),
    "reduce_mean": (
        vectors,
        lambda tf, o: lambda: tf.reduce_mean(o.y),
        lambda o: lambda: np.mean(o.y),
        lambda t, o: lambda: t.mean(o.y),
    ),
    "reduce_max": (
        vectors,
        lambda tf, o: lambda: tf.reduce_max(o.x),
        lambda o: lambda: np.max(o.x),
        lambda t, o: lambda: t.amax(o.x),
    ),
    "argmax": (
        rows,
        lambda tf, o: lambda: tf.argmax(o.x, -1),
        lambda o: lambda: np.argmax(o.x, -1),
        lambda t, o: lambda: t.argmax(o.x, -1),
    ),
    "matmul": (
        squares,
        lambda tf, o: lambda: tf.matmul(o.x, o.y),
        lambda o: lambda: np.matmul(o.x, o.y),
        lambda t, o: lambda: t.matmul(o.x, o.y),
    ),
}

CASES = {f"{op}, {size}": {"op": op, "n": n} for op in OPS for size, n in SIZES.items()}
SMALL = {"n": 20}
ROWS = dict.fromkeys(CASES, 4)
GOALS = {}  # below 1, each: the page's grid shows it, and what is behind is named


def softmax(x):
    e = np.exp(x - np.max(x, -1, keepdims=True))
    return e / np.sum(e, -1, keepdims=True)


class Operands:
    """The operands of a call, as attributes."""

    def __init__(self, made, convert):
        for name, value in made.items():
            setattr(self, name, convert(value) if isinstance(value, np.ndarray) else value)


def data(op, n):
    return {"op": op, "operands": OPS[op][0](n)}


def tensorflow(tf, stage, op, operands):
    return OPS[op][1](tf, Operands(operands, tf.constant))


def numpy(_, stage, op, operands):
    return OPS[op][2](Operands(operands, np.asarray))


def torch(torch, stage, op, operands):
    return OPS[op][3](torch, Operands(operands, torch.tensor))
