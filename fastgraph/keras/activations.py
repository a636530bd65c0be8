"""tf.keras.activations: functions of a layer's output, by name. Meaning and messages of Keras 2.

Rule: each is made of public ops; `get` is the only place that knows their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.keras import identifiers
from fastgraph.ops import activations, comparison, elementwise, exponentials
from fastgraph.ops.softmax import log_softmax
from fastgraph.ops.softmax import softmax as softmax_of

__all__ = [
    "deserialize",
    "elu",
    "exponential",
    "gelu",
    "get",
    "hard_sigmoid",
    "linear",
    "mish",
    "relu",
    "selu",
    "serialize",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "swish",
    "tanh",
]

__getattr__, __dir__ = lookup("keras.activations")

Activation = Callable[[Any], Any]
#: An activation as layers are given it; None is the linear one.
ActivationLike = Activation | str | None


def linear(x: TensorLike) -> Any:
    """Return x."""
    return x


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """max(x, 0), or: x above `threshold`, at most `max_value`; alpha * (x - threshold) below. f[*s] -> f[*s].

    Source: tf.keras.activations.relu.
    """
    x = convert_to_tensor(x)
    if threshold:
        above = x * elementwise.cast(comparison.greater(x, threshold), x.dtype)
    else:
        above = activations.relu(x)
    if max_value is not None:
        above = elementwise.minimum(above, elementwise.cast(max_value, x.dtype))
    if alpha:
        above = above - alpha * activations.relu(threshold - x)
    return above


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere. f[*s] -> f[*s]. Source: tf.keras.activations.elu."""
    x = convert_to_tensor(x)
    plain = activations.elu(x)
    if alpha == 1:
        return plain
    return activations.relu(x) + alpha * exponentials.expm1(elementwise.minimum(x, elementwise.cast(0, x.dtype)))


def selu(x: TensorLike) -> Any:
    """The scaled elu that keeps mean 0 and variance 1. f[*s] -> f[*s]. Source: tf.keras.activations.selu."""
    return activations.selu(convert_to_tensor(x))


def gelu(x: TensorLike, approximate: bool = False) -> Any:
    """x times the normal distribution function of x. f[*s] -> f[*s]. Source: tf.keras.activations.gelu."""
    return activations.gelu(convert_to_tensor(x), approximate)


def softplus(x: TensorLike) -> Any:
    """log(1 + exp(x)). f[*s] -> f[*s]. Source: tf.keras.activations.softplus."""
    return activations.softplus(convert_to_tensor(x))


def softsign(x: TensorLike) -> Any:
    """x / (1 + |x|). f[*s] -> f[*s]. Source: tf.keras.activations.softsign."""
    x = convert_to_tensor(x)
    return x / (1.0 + elementwise.abs(x))


def sigmoid(x: TensorLike) -> Any:
    """1 / (1 + exp(-x)). f[*s] -> f[*s]. Source: tf.keras.exponentials.sigmoid."""
    return exponentials.sigmoid(convert_to_tensor(x))


def hard_sigmoid(x: TensorLike) -> Any:
    """0.2 x + 0.5, kept in [0, 1]. f[*s] -> f[*s]. Source: tf.keras.activations.hard_sigmoid."""
    x = convert_to_tensor(x)
    return elementwise.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def tanh(x: TensorLike) -> Any:
    """The hyperbolic tangent. f[*s] -> f[*s]. Source: tf.keras.activations.tanh."""
    return exponentials.tanh(convert_to_tensor(x))


def swish(x: TensorLike) -> Any:
    """x * sigmoid(x). f[*s] -> f[*s]. Source: tf.keras.activations.swish."""
    return activations.silu(convert_to_tensor(x))


def mish(x: TensorLike) -> Any:
    """x * tanh(softplus(x)). f[*s] -> f[*s]. Source: tf.keras.activations.mish."""
    x = convert_to_tensor(x)
    return x * exponentials.tanh(activations.softplus(x))


def exponential(x: TensorLike) -> Any:
    """exp(x). f[*s] -> f[*s]. Source: tf.keras.activations.exponential."""
    return exponentials.exp(convert_to_tensor(x))


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """Probabilities: exp(x) over their sum along `axis`. f[*s] -> f[*s].

    Raises ValueError for a vector. Source: tf.keras.activations.softmax.
    """
    x = convert_to_tensor(x)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return softmax_of(x, axis=axis)


def _relu6(x: TensorLike) -> Any:
    return relu(x, max_value=6.0)


def _leaky_relu(x: TensorLike) -> Any:
    return relu(x, alpha=0.2)


def _log_softmax(x: TensorLike) -> Any:
    return log_softmax(convert_to_tensor(x))


_FUNCTIONS: dict[str, Activation] = {
    **{f.__name__: f for f in (linear, relu, elu, selu, gelu, softplus, softsign, sigmoid, hard_sigmoid, tanh, swish)},
    **{f.__name__: f for f in (mish, exponential, softmax)},
    "silu": swish,
    "relu6": _relu6,
    "leaky_relu": _leaky_relu,
    "log_softmax": _log_softmax,
}


def get(identifier: ActivationLike) -> Activation:
    """Return the activation of a name, `linear` for None, a callable itself.

    Raises ValueError for an unknown name, TypeError for another object. Source: tf.keras.activations.get.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, Mapping) and identifier.get("class_name") == "function":  # one of a program's own
        return deserialize(identifier["config"])
    raise TypeError(f"Could not interpret activation function identifier: {identifier}")


def deserialize(
    name: str, custom_objects: dict[str, Activation] | None = None, use_legacy_format: bool = False
) -> Activation:
    """Return the activation of a name. Raises ValueError for an unknown one."""
    found: Activation | None = identifiers.get_registered_object(name, custom_objects, _FUNCTIONS)
    if found is None:
        raise ValueError(f"Unknown activation function {name!r} cannot be deserialized.")
    return found


def serialize(activation: Activation, use_legacy_format: bool = False) -> str:
    """Return the name of an activation, which is the same in both formats."""
    for name, function in _FUNCTIONS.items():
        if function is activation:
            return name
    if not hasattr(activation, "__name__"):
        raise ValueError(f"Unknown activation function '{activation}' cannot be serialized.")
    return identifiers.get_registered_name(activation)
