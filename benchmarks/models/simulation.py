"""Simulations: Conway's game of life as an integer stencil, and bodies that attract each other."""

import numpy as np

CASES = {
    "game of life, 20 rounds": {"model": "life", "n": 512, "rounds": 20},
    "n-body, 10 steps": {"model": "bodies", "n": 400, "rounds": 10},
}
SMALL = {"n": 5, "rounds": 3}
TOLERANCE = 1e-3
STEP, SOFTENING = 1e-3, 1e-2
AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def data(model, n, rounds):
    rng = np.random.default_rng(0)
    if model == "life":
        given = [(rng.random((n, n)) < 0.3).astype(np.int32)]
    else:
        given = [rng.standard_normal((n, 3), np.float32) for _ in range(2)] + [
            rng.random(n, np.float32) / np.float32(n)
        ]
    return {"model": model, "given": given, "rounds": rounds}


def tensorflow(tf, stage, model, given, rounds):
    def life(board):
        for _ in tf.range(rounds):
            near = tf.add_n([tf.roll(board, shift, axis=(0, 1)) for shift in AROUND])
            board = tf.cast((near == 3) | ((board == 1) & (near == 2)), tf.int32)
        return board

    def bodies(x, v, masses):
        for _ in tf.range(rounds):
            apart = x[tf.newaxis] - x[:, tf.newaxis]
            inverse = tf.math.rsqrt(tf.reduce_sum(apart * apart, axis=-1) + SOFTENING)
            pulls = apart * (masses * inverse**3)[:, :, tf.newaxis]
            v = v + STEP * tf.reduce_sum(pulls, axis=1)
            x = x + STEP * v
        return x, v

    staged, given = stage(life if model == "life" else bodies), [tf.constant(each) for each in given]
    return lambda: staged(*given)


def jax(jax, stage, model, given, rounds):
    jnp = jax.numpy

    def life(board):
        def round_(_, board):
            near = sum(jnp.roll(board, shift, axis=(0, 1)) for shift in AROUND)
            return ((near == 3) | ((board == 1) & (near == 2))).astype(jnp.int32)

        return jax.lax.fori_loop(0, rounds, round_, board)

    def bodies(x, v, masses):
        def step(_, held):
            x, v = held
            apart = x[None] - x[:, None]
            inverse = jax.lax.rsqrt((apart * apart).sum(-1) + SOFTENING)
            v = v + STEP * (apart * (masses * inverse**3)[:, :, None]).sum(1)
            return x + STEP * v, v

        return jax.lax.fori_loop(0, rounds, step, (x, v))

    staged, given = stage(life if model == "life" else bodies), [jnp.asarray(each) for each in given]
    return lambda: staged(*given)


def torch(torch, stage, model, given, rounds):
    def life(board):
        near = sum(torch.roll(board, shift, (0, 1)) for shift in AROUND)
        return ((near == 3) | ((board == 1) & (near == 2))).int()

    def bodies(x, v, masses):
        apart = x[None] - x[:, None]
        inverse = torch.rsqrt((apart * apart).sum(-1) + SOFTENING)
        v = v + STEP * (apart * (masses * inverse**3)[:, :, None]).sum(1)
        return x + STEP * v, v

    staged, given = stage(life if model == "life" else bodies), [torch.tensor(each) for each in given]

    @torch.no_grad()
    def call():
        if model == "life":
            (board,) = given
            for _ in range(rounds):
                board = staged(board)
            return board
        x, v, masses = given
        for _ in range(rounds):
            x, v = staged(x, v, masses)
        return x, v

    return call
