"""Adam as one writes it where the library has none: for NumPy, and for JAX as a pure function."""

from __future__ import annotations

from typing import Any

RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


class InPlace:
    """Adam that changes a list of NumPy arrays in place."""

    def __init__(self, variables: list[Any]) -> None:
        self.variables = variables
        self.moments = [(v * 0, v * 0) for v in variables]
        self.steps = 0

    def apply(self, gradients: list[Any]) -> None:
        """One update."""
        self.steps += 1
        rate = RATE * (1 - BETA_2**self.steps) ** 0.5 / (1 - BETA_1**self.steps)
        for variable, gradient, (m, v) in zip(self.variables, gradients, self.moments, strict=True):
            m += (gradient - m) * (1 - BETA_1)
            v += (gradient * gradient - v) * (1 - BETA_2)
            variable -= rate * m / (v**0.5 + EPSILON)


def pure(jax: Any, variables: Any) -> tuple[Any, Any]:
    """(state, update): `update(state, gradients)` gives the new state, whose first part are the variables."""
    jnp = jax.numpy

    def update(state: Any, gradients: Any) -> Any:
        variables, m, v, steps = state
        steps = steps + 1
        rate = RATE * jnp.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
        m = jax.tree.map(lambda m, g: m + (g - m) * (1 - BETA_1), m, gradients)
        v = jax.tree.map(lambda v, g: v + (g * g - v) * (1 - BETA_2), v, gradients)
        variables = jax.tree.map(lambda x, m, v: x - rate * m / (jnp.sqrt(v) + EPSILON), variables, m, v)
        return variables, m, v, steps

    moments = [jax.tree.map(jnp.zeros_like, variables) for _ in range(2)]  # not one: a call may give memory away
    return (variables, *moments, jnp.float32(0)), update


def jax_step(jax: Any, stage: Any, variables: Any, loss_of: Any, *data: Any) -> Any:
    """A training step of JAX: `loss_of(variables, *data)`, its gradients, Adam; the call returns the loss."""
    state, update = pure(jax, variables)

    def step(state: Any, *data: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(state[0], *data)
        return loss, update(state, gradients)

    staged, held = stage(step), [state]

    def call() -> Any:
        loss, held[0] = staged(held[0], *data)
        return loss

    return call


def tensorflow_step(tf: Any, stage: Any, variables: list[Any], loss_of: Any, *data: Any) -> Any:
    """A training step of TensorFlow: `loss_of(*data)`, its gradients, the optimizer; the call returns the loss."""
    optimizer = tf.keras.optimizers.Adam(RATE)

    def step(*data: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(*data)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    staged = stage(step)
    return lambda: staged(*data)


def torch_step(torch: Any, stage: Any, variables: list[Any], loss_of: Any, *data: Any) -> Any:
    """A training step of PyTorch: the loss staged, its gradients, the fused optimizer; the call returns the loss."""
    return torch_call(stage, torch.optim.Adam(variables, RATE, eps=EPSILON, fused=True), loss_of, *data)


def torch_call(stage: Any, optimizer: Any, loss_of: Any, *data: Any) -> Any:
    """The same with an optimizer that has the parameters already, which `loss_of(*data)` reads."""
    staged = stage(loss_of)

    def call() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = staged(*data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return call


def pytensor_updates(pytensor: Any, variables: list[Any], gradients: list[Any]) -> list[Any]:
    """The updates of shared variables by which PyTensor does a step of Adam."""
    import numpy as np

    one, beta_1, beta_2 = np.float32(1), np.float32(BETA_1), np.float32(BETA_2)
    steps = pytensor.shared(np.float32(0))
    now = steps + one
    rate = np.float32(RATE) * pytensor.tensor.sqrt(one - beta_2**now) / (one - beta_1**now)
    updates = [(steps, now)]
    for variable, gradient in zip(variables, gradients, strict=True):
        zeros = np.zeros_like(variable.get_value())
        m, v = pytensor.shared(zeros), pytensor.shared(zeros.copy())
        new_m = m + (gradient - m) * (one - beta_1)
        new_v = v + (gradient * gradient - v) * (one - beta_2)
        step = rate * new_m / (pytensor.tensor.sqrt(new_v) + np.float32(EPSILON))
        updates += [(m, new_m), (v, new_v), (variable, variable - step)]
    return updates


def numba_update(numba: Any) -> Any:
    """(variable, gradient, m, v, number of the step) -> Adam's update of flat arrays in place, in one loop."""
    import numpy as np

    one, beta_1, beta_2, epsilon = np.float32(1), np.float32(BETA_1), np.float32(BETA_2), np.float32(EPSILON)

    @numba.njit(fastmath={"reassoc", "contract", "nsz"})
    def update(variable: Any, gradient: Any, m: Any, v: Any, steps: int) -> None:
        rate = np.float32(RATE * np.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps))
        for i in range(variable.size):
            g = gradient[i]
            m[i] += (g - m[i]) * (one - beta_1)
            v[i] += (g * g - v[i]) * (one - beta_2)
            variable[i] -= rate * m[i] / (np.sqrt(v[i]) + epsilon)

    return update


def numba_loss(numba: Any) -> Any:
    """(logits before the bias, bias, labels) -> (mean cross-entropy, its gradient by the logits, by the bias)."""
    import numpy as np

    @numba.njit
    def loss_of(h: Any, b: Any, labels: Any) -> Any:
        n, k = h.shape
        loss, db = np.float32(0), np.zeros(k, np.float32)
        for i in range(n):
            h[i] += b
            shifted = h[i] - h[i].max()
            exps = np.exp(shifted)
            total = exps.sum()
            loss += np.log(total) - shifted[labels[i]]
            for j in range(k):
                h[i, j] = (exps[j] / total - (j == labels[i])) / np.float32(n)
                db[j] += h[i, j]
        return loss / np.float32(n), h, db

    return loss_of
