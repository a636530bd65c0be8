"""Training steps as users of each library write them, for nests (tuples, lists, dicts) of weights.

Every `*_step` gives a call that returns the loss: `loss_of` with its gradients in the library's stage, the optimizer's
update, in place wherever the library can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.adam import EPSILON, RATE, torch_call


def mapped(function: Callable[[Any], Any], nest: Any) -> Any:
    """The nest with `function` of each leaf."""
    if isinstance(nest, dict):
        return {key: mapped(function, each) for key, each in nest.items()}
    if isinstance(nest, (list, tuple)):
        return type(nest)([mapped(function, each) for each in nest])
    return function(nest)


def leaves(nest: Any) -> Iterator[Any]:
    """The leaves of a nest, in order."""
    if isinstance(nest, (dict, list, tuple)):
        for each in nest.values() if isinstance(nest, dict) else nest:
            yield from leaves(each)
    else:
        yield nest


def tensorflow_step(tf: Any, stage: Any, optimizer: Any, variables: Any, loss_of: Any, *data: Any) -> Any:
    """`loss_of(*data)` reads the Variables of the nest `variables`."""
    trained = list(leaves(variables))

    def step(*data: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(*data)
        optimizer.apply_gradients(zip(tape.gradient(loss, trained), trained, strict=True))
        return loss

    staged, given = stage(step), [tf.constant(each) for each in data]
    return lambda: staged(*given)


def momentum(rate: float, decay: float) -> Callable[[Any, Any], tuple[Any, Any]]:
    """SGD with momentum for JAX: (jax, weights) -> (state, update), as `benchmarks.adam.pure`."""

    def pure(jax: Any, weights: Any) -> tuple[Any, Any]:
        def update(state: Any, gradients: Any) -> Any:
            weights, moved = state
            moved = jax.tree.map(lambda m, g: decay * m - rate * g, moved, gradients)
            return jax.tree.map(lambda w, m: w + m, weights, moved), moved

        return (weights, jax.tree.map(jax.numpy.zeros_like, weights)), update

    return pure


def adagrad(rate: float, begin: float = 0.1, epsilon: float = 1e-7) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Adagrad for JAX, as `momentum`."""

    def pure(jax: Any, weights: Any) -> tuple[Any, Any]:
        def update(state: Any, gradients: Any) -> Any:
            weights, squares = state
            squares = jax.tree.map(lambda s, g: s + g * g, squares, gradients)
            moved = jax.tree.map(lambda w, g, s: w - rate * g * jax.lax.rsqrt(s + epsilon), weights, gradients, squares)
            return moved, squares

        return (weights, jax.tree.map(lambda w: jax.numpy.full_like(w, begin), weights)), update

    return pure


def jax_step(jax: Any, stage: Any, optimizer: Any, weights: Any, loss_of: Any, *data: Any, kept: Any = None) -> Any:
    """`loss_of(weights, *data)`; with `kept`, a nest: `loss_of(weights, kept, *data)`, which returns (loss, kept)."""
    state, update = optimizer(jax, mapped(jax.numpy.array, weights))
    aside = kept is not None

    def step(held: Any, *data: Any) -> Any:
        state, kept = held
        if aside:
            (loss, kept), gradients = jax.value_and_grad(loss_of, has_aux=True)(state[0], kept, *data)
        else:
            loss, gradients = jax.value_and_grad(loss_of)(state[0], *data)
        return loss, (update(state, gradients), kept)

    staged, held = stage(step, donate_argnums=0), [(state, mapped(jax.numpy.array, kept) if aside else None)]
    given = [jax.numpy.asarray(each) for each in data]

    def call() -> Any:
        loss, held[0] = staged(held[0], *given)
        return loss

    return call


def torch_parameters(torch: Any, nest: Any) -> Any:
    """The nest of weights as parameters; filters [h, w, c, f] as [f, c, h, w] in memory's order of channels last."""

    def parameter(array: Any) -> Any:
        made = torch.tensor(array)
        if made.ndim == 4:
            made = made.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        return made.requires_grad_()

    return mapped(parameter, nest)


def torch_adam(torch: Any, parameters: Any) -> Any:
    """Adam as the others have it."""
    return torch.optim.Adam(list(leaves(parameters)), RATE, eps=EPSILON, fused=True)


#: (stage, optimizer, loss_of, *data)
torch_step = torch_call
