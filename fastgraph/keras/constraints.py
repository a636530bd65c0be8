"""tf.keras.constraints: what weights become after each step of an optimizer. Meaning of Keras 2.

Rule: a constraint is a callable from the new value to the allowed one nearest to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend, identifiers
from fastgraph.keras.identifiers import Identifier
from fastgraph.ops.comparison import greater_equal
from fastgraph.ops.elementwise import cast, clip_by_value, square
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.scatter import gather_nd

__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "RadialConstraint",
    "UnitNorm",
    "deserialize",
    "get",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "radial_constraint",
    "serialize",
    "unit_norm",
]

__getattr__, __dir__ = lookup("keras.constraints")


class Constraint:
    """The base of constraints: `__call__(w)` gives the allowed value. Source: tf.keras.constraints.Constraint."""

    def __call__(self, w: Any) -> Any:
        """Return the allowed value for w."""
        raise NotImplementedError("All keras constraint subclasses must implement __call__.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a constraint."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Constraint:
        """Return the constraint that `get_config` described."""
        return cls(**config)


class _Norm(Constraint):
    """The base of those whose attributes are their arguments."""

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a constraint."""
        return dict(vars(self))


class MaxNorm(_Norm):
    """Norms along `axis` are at most `max_value`. f[*s] -> f[*s]. Source: tf.keras.constraints.MaxNorm."""

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: Tensor) -> Any:
        """Return w, made shorter where it is too long."""
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        return w * (clip_by_value(norms, 0.0, self.max_value) / (backend.epsilon() + norms))


class NonNeg(Constraint):
    """Elements that are not negative. f[*s] -> f[*s]. Source: tf.keras.constraints.NonNeg."""

    def __call__(self, w: Tensor) -> Any:
        """Return w with 0 for negative elements."""
        w = convert_to_tensor(w)
        return w * cast(greater_equal(w, cast(0, w.dtype)), w.dtype)


class UnitNorm(_Norm):
    """Norms along `axis` are 1. f[*s] -> f[*s]. Source: tf.keras.constraints.UnitNorm."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: Tensor) -> Any:
        """Return w over its norms."""
        w = convert_to_tensor(w)
        return w / (backend.epsilon() + _norms(w, self.axis))


class MinMaxNorm(_Norm):
    """Norms along `axis` move by the share `rate` into [min_value, max_value]. f[*s] -> f[*s].

    Source: tf.keras.constraints.MinMaxNorm.
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: Tensor) -> Any:
        """Return w with lengths that are allowed."""
        w = convert_to_tensor(w)
        norms = _norms(w, self.axis)
        wanted = self.rate * clip_by_value(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (backend.epsilon() + norms))


class RadialConstraint(Constraint):
    """Each square round the middle of a kernel f[size, size, in, out] has one value: one of the kernel's diagonal.

    Raises ValueError for another rank. Source: tf.keras.constraints.RadialConstraint.
    """

    def __call__(self, w: Tensor) -> Any:
        """Return w, all elements as far from the middle alike. f[*s] -> f[*s]."""
        w = convert_to_tensor(w)
        if w.shape.rank != 4:
            raise ValueError(f"The weight tensor must have rank 4. Received weight tensor with shape: {w.shape}")
        size: Any = w.shape.as_list()[0]
        ring = np.abs(2 * np.arange(size) - size + 1) // 2
        farther = np.maximum(ring[:, None], ring)
        source = farther + size // 2 - np.where(farther > 0, size % 2, 1)  # the middle is that of Keras
        return gather_nd(w, np.stack([np.maximum(source, 0)] * 2, -1).astype("int32"))


_KINDS = (MaxNorm, NonNeg, UnitNorm, MinMaxNorm, RadialConstraint)
max_norm, non_neg, unit_norm, min_max_norm, radial_constraint = _KINDS
_TABLE: dict[str, Any] = {
    name: kind for kind in _KINDS for name in (backend.snake_case(kind.__name__), kind.__name__.lower())
}


def get(identifier: Identifier) -> Any:
    """Return a constraint: itself, None, or by its name or config. Raises ValueError for an unknown one."""
    if identifier is None or callable(identifier):
        return identifier
    return deserialize(identifier)


def deserialize(
    config: Identifier, custom_objects: Mapping[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the constraint of a name or config, of either format. Raises ValueError for an unknown one."""
    if not isinstance(config, (str, dict)):
        raise ValueError(f"Could not interpret constraint function identifier: {config}")
    return identifiers.find(config, {**_TABLE, **(custom_objects or {})}, "constraint")


def serialize(constraint: object, use_legacy_format: bool = False) -> Any:
    """Return the config of a constraint; in the format of Keras up to 2.12 if that is wanted."""
    return identifiers.described(constraint, "keras.constraints", use_legacy_format)


def _norms(w: Tensor, axis: int | Sequence[int]) -> Any:
    return sqrt(reduce_sum(square(w), axis=axis, keepdims=True))
