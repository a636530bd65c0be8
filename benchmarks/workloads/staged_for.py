"""`for i in range(n)` over a tensor n, staged: the cost of an iteration.

`total = 3 total + i` has no closed form that a compiler knows: the iterations take place.
"""

import numpy as np

ROWS = {"per iteration": 24}
CASES = {"per iteration": {"n": 10_000}}
SMALL = {"n": 5}
GOALS = {"per iteration": {"us": 0.1}}
ABSENT = {"torch": "torch.compile unrolls a for: it has no staged one"}
PER = {"per iteration": 10_000}
MODES = ("staged", "jit")


def data(n):
    return {"n": n}


def tensorflow(tf, stage, n):
    @stage
    def count(n):
        total = tf.constant(0)
        for i in tf.range(n):
            total = total * 3 + i
        return total

    n = tf.constant(n)
    return lambda: count(n)


def jax(jax, stage, n):
    jnp = jax.numpy
    count = stage(lambda n: jax.lax.fori_loop(0, n, lambda i, total: total * 3 + i, jnp.int32(0)))
    n = jnp.int32(n)
    return lambda: count(n)


def numpy(_, stage, n):
    def count():
        total = 0
        for i in range(n):
            total = (total * 3 + i) & 0xFFFFFFFF
        return np.uint32(total).astype(np.int32)

    return count


def numba(numba, stage, n):
    @numba.njit
    def count(n):
        total = np.int32(0)
        for i in range(n):
            total = np.int32(total * 3 + i)
        return total

    return lambda: count(n)


def pytensor(pytensor, stage, n):
    tensor = pytensor.tensor
    limit = tensor.scalar("n", dtype="int32")
    totals = pytensor.scan(
        lambda i, total: total * np.int32(3) + i, sequences=[tensor.arange(limit, dtype="int32")],
        outputs_info=[tensor.as_tensor_variable(np.int32(0))], return_updates=False,
    )  # fmt: skip
    count = pytensor.function([limit], totals[-1], trust_input=True)
    n = np.asarray(n, np.int32)
    return lambda: count(n)
