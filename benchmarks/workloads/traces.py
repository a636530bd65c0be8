"""A function with few and with many traces: a call that has its trace, and one with a new shape.

The call's time must not grow with the number of traces that are kept.
"""

import numpy as np

ROWS = {"call, 1 trace": 5, "call, 300 traces": 5, "new shape, 1 trace": 23, "new shape, 300 traces": 23}
CASES = {
    "call, 1 trace": {"kept": 1, "fresh": False}, "call, 300 traces": {"kept": 300, "fresh": False},
    "new shape, 1 trace": {"kept": 1, "fresh": True}, "new shape, 300 traces": {"kept": 300, "fresh": True},
}  # fmt: skip
SMALL = {"kept": 2}
GOALS = {"call, 300 traces": {"us": 0.1, "over": "call, 1 trace"}}
PER = {"new shape, 1 trace": 2}
MODES = ("staged",)
ABSENT = {
    "numpy": "it has no traces", "numba": "it compiles for dtypes and ranks, not for shapes",
    "torch": "it traces only to compile, seconds for a shape, and then for all shapes",
    "pytensor": "its graphs are for any shape",
}  # fmt: skip


def data(kept, fresh):
    return {"numbers": np.ones((2048, 64), np.float32), "kept": kept, "fresh": fresh}


def _calls(stage, tensor, total, numbers, kept, fresh):
    def shape(k):
        return tensor(numbers[: k // 64 + 1, : k % 64 + 1])

    def new():
        return stage(lambda x: total(x * 2.0 + 1.0))

    if fresh and kept == 1:  # a new function, its trace, and one for another shape: two of them

        def both():
            f = new()
            return f(shape(0)), f(shape(1))

        return both
    f = new()
    for k in range(kept):
        f(shape(k))
    if not fresh:
        x = shape(kept // 2)
        return lambda: f(x)
    following = iter(range(kept, 2048 * 64))
    return lambda: f(shape(next(following)))


def tensorflow(tf, stage, numbers, kept, fresh):
    return _calls(lambda f: tf.function(f, autograph=False), tf.constant, tf.reduce_sum, numbers, kept, fresh)


def jax(jax, stage, numbers, kept, fresh):
    return _calls(jax.jit, jax.numpy.asarray, jax.numpy.sum, numbers, kept, fresh)
