"""Statistics: a Gaussian process's step, a Kalman filter, k-means, Hamiltonian Monte Carlo."""

import numpy as np

CASES = {
    "Gaussian process, gradient": {"model": "process", "n": 300, "size": 8},
    "Kalman filter, 300 times": {"model": "filter", "n": 300, "size": 4},
    "k-means, 5 rounds": {"model": "means", "n": 20_000, "size": 8},
    "HMC, 10 samples of 8 chains": {"model": "chains", "n": 512, "size": 16},
}
SMALL = {"n": 12, "size": 2}
TOLERANCE = 5e-3
RATE, CENTRES, ROUNDS = 1e-3, 32, 5
CHAINS, SAMPLES, LEAPS, LEAP = 8, 10, 10, 0.02
SEEN = 2


def data(model, n, size):
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32)

    if model == "process":
        x = normal(n, size)
        given = [np.array([0.0, 1.0, -1.0], np.float32), x, np.sin(x.sum(1, keepdims=True)).astype(np.float32)]
    elif model == "filter":
        moves = np.eye(size, dtype=np.float32) + np.float32(0.05) * normal(size, size)
        given = [normal(n, SEEN), moves * np.float32(0.9), normal(SEEN, size),
                 np.float32(0.1) * np.eye(size, dtype=np.float32), np.eye(SEEN, dtype=np.float32)]  # fmt: skip
    elif model == "means":
        centres = np.float32(3) * normal(CENTRES, size)
        x = centres[rng.integers(0, CENTRES, n)] + normal(n, size)
        given = [x, x[: min(n, CENTRES)].copy()]
    else:
        x = normal(n, size)
        given = [np.float32(0.1) * normal(CHAINS, size), x, (rng.random(n) < 0.5).astype(np.float32),
                 normal(SAMPLES, CHAINS, size), rng.random((SAMPLES, CHAINS), np.float32)]  # fmt: skip
    return {"model": model, "given": given}


def tensorflow(tf, stage, model, given):
    def process(parameters, x, y):
        """Minus the logarithm of the marginal likelihood falls along its gradient by the kernel's three parameters."""
        with tf.GradientTape() as tape:
            tape.watch(parameters)
            amplitude, length, noise = tf.unstack(tf.exp(parameters))
            squares = tf.reduce_sum(x * x, axis=1)
            apart = squares[:, tf.newaxis] + squares - 2.0 * tf.matmul(x, x, transpose_b=True)
            kernel = amplitude * tf.exp(-0.5 * apart / length**2) + noise * tf.eye(x.shape[0])
            root = tf.linalg.cholesky(kernel)
            loss = 0.5 * tf.reduce_sum(y * tf.linalg.cholesky_solve(root, y))
            loss += tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root)))
        return loss, parameters - RATE * tape.gradient(loss, parameters)

    def kalman(seen, moves, shows, spread, noise):
        size = moves.shape[0]
        states = tf.TensorArray(tf.float32, seen.shape[0], element_shape=[size])
        x, p, likelihood = tf.zeros([size]), tf.eye(size), tf.constant(0.0)
        for t in tf.range(seen.shape[0]):
            x = tf.linalg.matvec(moves, x)
            p = moves @ p @ tf.transpose(moves) + spread
            root = tf.linalg.cholesky(shows @ p @ tf.transpose(shows) + noise)
            gain = tf.linalg.cholesky_solve(root, shows @ p)  # transposed
            off = seen[t] - tf.linalg.matvec(shows, x)
            weighted = tf.linalg.cholesky_solve(root, off[:, tf.newaxis])[:, 0]
            x = x + tf.linalg.matvec(gain, off, transpose_a=True)
            p = p - tf.matmul(gain, shows @ p, transpose_a=True)
            likelihood -= 0.5 * tf.reduce_sum(off * weighted) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(root)))
            states = states.write(t, x)
        return states.stack(), likelihood

    def means(x, centres):
        for _ in tf.range(ROUNDS):
            apart = tf.reduce_sum(centres * centres, axis=1) - 2.0 * tf.matmul(x, centres, transpose_b=True)
            nearest = tf.argmin(apart, axis=1, output_type=tf.int32)
            sums = tf.math.unsorted_segment_sum(x, nearest, centres.shape[0])
            counts = tf.math.unsorted_segment_sum(tf.ones([x.shape[0]]), nearest, centres.shape[0])
            centres = sums / tf.maximum(counts, 1.0)[:, tf.newaxis]
        return centres

    def chains(place, x, y, momenta, chances):
        def log_density(place):
            logits = tf.matmul(place, x, transpose_b=True)
            told = tf.reduce_sum(y * logits - tf.nn.softplus(logits), axis=1)
            return told - 0.5 * tf.reduce_sum(place * place, axis=1)

        def value_and_gradient(place):
            with tf.GradientTape() as tape:
                tape.watch(place)
                value = log_density(place)
            return value, tape.gradient(value, place)

        for i in tf.range(SAMPLES):
            momentum = momenta[i]
            before, slope = value_and_gradient(place)
            new, value, moving = place, before, momentum
            for _ in tf.range(LEAPS):
                moving = moving + 0.5 * LEAP * slope
                new = new + LEAP * moving
                value, slope = value_and_gradient(new)
                moving = moving + 0.5 * LEAP * slope
            gained = value - before + 0.5 * tf.reduce_sum(momentum**2 - moving**2, axis=1)
            place = tf.where((tf.math.log(chances[i]) < gained)[:, tf.newaxis], new, place)
        return place

    staged = stage({"process": process, "filter": kalman, "means": means, "chains": chains}[model])
    given = [tf.constant(each) for each in given]
    return lambda: staged(*given)


def jax(jax, stage, model, given):
    jnp, lax = jax.numpy, jax.lax
    solve = jax.scipy.linalg.cho_solve

    def process(parameters, x, y):
        def loss_of(parameters):
            amplitude, length, noise = jnp.exp(parameters)
            squares = (x * x).sum(1)
            apart = squares[:, None] + squares - 2 * x @ x.T
            root = jnp.linalg.cholesky(amplitude * jnp.exp(-0.5 * apart / length**2) + noise * jnp.eye(len(x)))
            return 0.5 * (y * solve((root, True), y)).sum() + jnp.log(jnp.diagonal(root)).sum()

        loss, gradient = jax.value_and_grad(loss_of)(parameters)
        return loss, parameters - RATE * gradient

    def kalman(seen, moves, shows, spread, noise):
        def step(held, z):
            x, p, likelihood = held
            x, p = moves @ x, moves @ p @ moves.T + spread
            root = jnp.linalg.cholesky(shows @ p @ shows.T + noise)
            gain = solve((root, True), shows @ p)
            off = z - shows @ x
            x, p = x + gain.T @ off, p - gain.T @ (shows @ p)
            likelihood -= 0.5 * off @ solve((root, True), off) + jnp.log(jnp.diagonal(root)).sum()
            return (x, p, likelihood), x

        size = moves.shape[0]
        (_, _, likelihood), states = lax.scan(step, (jnp.zeros(size), jnp.eye(size), jnp.float32(0)), seen)
        return states, likelihood

    def means(x, centres):
        def round_(_, centres):
            nearest = jnp.argmin((centres * centres).sum(1) - 2 * x @ centres.T, axis=1)
            sums = jax.ops.segment_sum(x, nearest, len(centres))
            counts = jax.ops.segment_sum(jnp.ones(len(x)), nearest, len(centres))
            return sums / jnp.maximum(counts, 1)[:, None]

        return lax.fori_loop(0, ROUNDS, round_, centres)

    def chains(place, x, y, momenta, chances):
        def log_density(place):
            logits = place @ x.T
            return (y * logits - jax.nn.softplus(logits)).sum(1) - 0.5 * (place * place).sum(1)

        def value_and_gradient(place):
            value, back = jax.vjp(log_density, place)
            return value, back(jnp.ones_like(value))[0]

        def sample(place, given):
            momentum, chance = given
            before, slope = value_and_gradient(place)

            def leap(_, held):
                new, moving, _, slope = held
                moving = moving + 0.5 * LEAP * slope
                new = new + LEAP * moving
                value, slope = value_and_gradient(new)
                return new, moving + 0.5 * LEAP * slope, value, slope

            new, moving, value, _ = lax.fori_loop(0, LEAPS, leap, (place, momentum, before, slope))
            gained = value - before + 0.5 * (momentum**2 - moving**2).sum(1)
            return jnp.where((jnp.log(chance) < gained)[:, None], new, place), None

        return lax.scan(sample, place, (momenta, chances))[0]

    staged = stage({"process": process, "filter": kalman, "means": means, "chains": chains}[model])
    given = [jnp.asarray(each) for each in given]
    return lambda: staged(*given)


def torch(torch, stage, model, given):
    """What PyTorch has no staged loop for is a Python loop around a staged body."""
    given = [torch.tensor(each) for each in given]

    def loss_of(parameters, x, y):
        amplitude, length, noise = parameters.exp().unbind()
        squares = (x * x).sum(1)
        apart = squares[:, None] + squares - 2 * x @ x.T
        root = torch.linalg.cholesky(amplitude * torch.exp(-0.5 * apart / length**2) + noise * torch.eye(len(x)))
        return 0.5 * (y * torch.cholesky_solve(y, root)).sum() + root.diagonal().log().sum()

    def filtered(x, p, z, moves, shows, spread, noise):
        x, p = moves @ x, moves @ p @ moves.T + spread
        root = torch.linalg.cholesky(shows @ p @ shows.T + noise)
        gain = torch.cholesky_solve(shows @ p, root)
        off = z - shows @ x
        told = 0.5 * off @ torch.cholesky_solve(off[:, None], root)[:, 0] + root.diagonal().log().sum()
        return x + gain.T @ off, p - gain.T @ (shows @ p), told

    def round_(x, centres):
        nearest = ((centres * centres).sum(1) - 2 * x @ centres.T).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, x)
        counts = torch.bincount(nearest, minlength=len(centres))
        return sums / counts.clamp(min=1)[:, None]

    def log_density(place, x, y):
        logits = place @ x.T
        return (y * logits - torch.nn.functional.softplus(logits)).sum(1) - 0.5 * (place * place).sum(1)

    staged = stage({"process": loss_of, "filter": filtered, "means": round_, "chains": log_density}[model])

    def process(parameters, x, y):
        parameters = parameters.requires_grad_()
        loss = staged(parameters, x, y)
        (gradient,) = torch.autograd.grad(loss, parameters)
        return loss.detach(), parameters.detach() - RATE * gradient

    def kalman(seen, moves, *fixed):
        size = len(moves)
        x, p, likelihood, states = torch.zeros(size), torch.eye(size), torch.zeros(()), []
        with torch.no_grad():
            for z in seen:
                x, p, told = staged(x, p, z, moves, *fixed)
                likelihood = likelihood - told
                states.append(x)
        return torch.stack(states), likelihood

    def means(x, centres):
        with torch.no_grad():
            for _ in range(ROUNDS):
                centres = staged(x, centres)
        return centres

    def value_and_gradient(place, x, y):
        place = place.requires_grad_()
        value = staged(place, x, y)
        return value.detach(), torch.autograd.grad(value.sum(), place)[0]

    def chains(place, x, y, momenta, chances):
        for momentum, chance in zip(momenta, chances, strict=True):
            before, slope = value_and_gradient(place, x, y)
            new, moving, value = place.detach(), momentum, before
            for _ in range(LEAPS):
                moving = moving + 0.5 * LEAP * slope
                new = new.detach() + LEAP * moving
                value, slope = value_and_gradient(new, x, y)
                moving = moving + 0.5 * LEAP * slope
            gained = value - before + 0.5 * (momentum**2 - moving**2).sum(1)
            place = torch.where((chance.log() < gained)[:, None], new.detach(), place.detach())
        return place

    called = {"process": process, "filter": kalman, "means": means, "chains": chains}[model]
    return lambda: called(*given)
