"""Deep Q-learning: steps of an environment in NumPy, each with a choice for one observation and a batch from a memory.

Small calls one after the other, arrays passed in and an action out, as such programs are; soft updates of the target.
"""

import itertools

import numpy as np

from benchmarks import adam
from benchmarks.models import steps

CASES = {"DQN, 10 steps": {"n": 10, "batch": 32, "width": 64}}
SMALL = {"n": 2, "batch": 3, "width": 4}
TOLERANCE = 2e-2
SEEN, ACTIONS, MEMORY, DISCOUNT, SOFT = 8, 4, 1000, 0.99, 0.01


def data(n, batch, width):
    rng = np.random.default_rng(0)
    sizes = (SEEN, width, width, ACTIONS)
    weights = [
        (rng.standard_normal((n, m), np.float32) / np.float32(n**0.5), np.zeros(m, np.float32))
        for n, m in itertools.pairwise(sizes)
    ]
    memory = [
        rng.standard_normal((MEMORY, SEEN), np.float32), rng.integers(0, ACTIONS, MEMORY).astype(np.int32),
        rng.standard_normal(MEMORY).astype(np.float32), rng.standard_normal((MEMORY, SEEN), np.float32),
        (rng.random(MEMORY) < 0.9).astype(np.float32),
    ]  # fmt: skip
    return {"weights": weights, "memory": memory, "n": n, "batch": batch}


def values(x, layers, relu):
    for w, b in layers[:-1]:
        x = relu(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def episode(memory, n, batch, act, train):
    """What all libraries do in Python: act(observation) -> action; train(*batch) -> loss."""
    effects = np.random.default_rng(1).standard_normal((ACTIONS, SEEN), np.float32)

    def call():
        rng, seen, losses, actions = np.random.default_rng(2), np.zeros(SEEN, np.float32), [], []
        for _ in range(n):
            actions.append(act(seen[None]))
            seen = np.float32(0.9) * seen + effects[actions[-1]]
            chosen = rng.integers(0, MEMORY, batch)
            losses.append(float(train(*(each[chosen] for each in memory))))
        return np.array(losses), np.array(actions)

    return call


def tensorflow(tf, stage, weights, memory, n, batch):
    policy, target = steps.mapped(tf.Variable, weights), steps.mapped(tf.Variable, weights)
    trained, held = list(steps.leaves(policy)), list(steps.leaves(target))
    optimizer = tf.keras.optimizers.Adam(adam.RATE)

    def choose(x):
        return tf.argmax(values(x, policy, tf.nn.relu), axis=-1)[0]

    def step(x, actions, rewards, after, going_on):
        wanted = rewards + DISCOUNT * going_on * tf.reduce_max(values(after, target, tf.nn.relu), axis=1)
        with tf.GradientTape() as tape:
            said = tf.gather(values(x, policy, tf.nn.relu), actions, batch_dims=1)
            error = tf.abs(said - wanted)
            loss = tf.reduce_mean(tf.where(error < 1.0, 0.5 * error * error, error - 0.5))
        optimizer.apply_gradients(zip(tape.gradient(loss, trained), trained, strict=True))
        for old, new in zip(held, trained, strict=True):
            old.assign_add(SOFT * (new - old))
        return loss

    choose, step = stage(choose), stage(step)
    # Tensors, since a NumPy array would be traced as a constant where nothing says what it is.
    act = lambda x: int(choose(tf.constant(x)))
    return episode(memory, n, batch, act, lambda *given: step(*(tf.constant(each) for each in given)))


def jax(jax, stage, weights, memory, n, batch):
    jnp, relu = jax.numpy, jax.nn.relu
    state, update = adam.pure(jax, steps.mapped(jnp.array, weights))

    def choose(policy, x):
        return jnp.argmax(values(x, policy, relu), axis=-1)[0]

    def step(held, x, actions, rewards, after, going_on):
        state, target = held
        wanted = rewards + DISCOUNT * going_on * values(after, target, relu).max(1)

        def loss_of(policy):
            said = jnp.take_along_axis(values(x, policy, relu), actions[:, None], 1)[:, 0]
            error = jnp.abs(said - wanted)
            return jnp.where(error < 1, 0.5 * error * error, error - 0.5).mean()

        loss, gradients = jax.value_and_grad(loss_of)(state[0])
        state = update(state, gradients)
        return loss, (state, jax.tree.map(lambda old, new: old + SOFT * (new - old), target, state[0]))

    choose, step = stage(choose), stage(step, donate_argnums=0)
    held = [(state, steps.mapped(jnp.array, weights))]

    def train(*given):
        loss, held[0] = step(held[0], *given)
        return loss

    return episode(memory, n, batch, lambda x: int(choose(held[0][0][0], x)), train)


def torch(torch, stage, weights, memory, n, batch):
    functional = torch.nn.functional
    policy, target = steps.torch_parameters(torch, weights), steps.mapped(torch.tensor, weights)
    trained, held = list(steps.leaves(policy)), list(steps.leaves(target))
    optimizer = steps.torch_adam(torch, policy)

    def linear(x, layers):
        for w, b in layers[:-1]:
            x = torch.relu(torch.addmm(b, x, w))
        return torch.addmm(layers[-1][1], x, layers[-1][0])

    def loss_of(x, actions, rewards, after, going_on):
        with torch.no_grad():
            wanted = rewards + DISCOUNT * going_on * linear(after, target).amax(1)
        said = linear(x, policy).gather(1, actions[:, None].long())[:, 0]
        return functional.smooth_l1_loss(said, wanted)

    def choose(x):
        return linear(x, policy).argmax(-1)

    choose, loss_of = stage(choose), stage(loss_of)

    def act(x):
        with torch.no_grad():
            return int(choose(torch.from_numpy(x)))

    def train(*given):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*(torch.from_numpy(each) for each in given))
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(held, trained, SOFT)
        return loss.detach()

    return episode(memory, n, batch, act, train)
