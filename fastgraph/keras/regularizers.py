"""tf.keras.regularizers: penalties on weights, which models add to their losses. Meaning of Keras 2.

Rule: a regularizer is a callable from a tensor to a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import identifiers
from fastgraph.keras.identifiers import Identifier, config_of
from fastgraph.ops.creation import eye
from fastgraph.ops.elementwise import abs, square
from fastgraph.ops.matmul import matmul
from fastgraph.ops.nn_ops import l2_normalize
from fastgraph.ops.reduction import reduce_sum

__all__ = [
    "L1", "L1L2", "L2", "OrthogonalRegularizer", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2",
    "orthogonal_regularizer", "serialize",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.regularizers")


class Regularizer:
    """The base of regularizers: `__call__(x)` gives the penalty. Source: tf.keras.regularizers.Regularizer."""

    def __call__(self, x: Any) -> Any:
        """Return the penalty of x."""
        return 0.0

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a regularizer."""
        raise NotImplementedError(f"{self} does not implement get_config()")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """Return the regularizer that `get_config` described."""
        return cls(**config)


class L1L2(Regularizer):
    """l1 * sum |x| + l2 * sum x². Raises ValueError for what is no number. Source: tf.keras.regularizers.L1L2."""

    def __init__(self, l1: float | None = 0.0, l2: float | None = 0.0) -> None:
        self.l1 = _number(0.0 if l1 is None else l1)
        self.l2 = _number(0.0 if l2 is None else l2)

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty. f[*s] -> f[]."""
        x = convert_to_tensor(x)
        parts = []
        if self.l1:
            parts.append(self.l1 * reduce_sum(abs(x)))
        if self.l2:
            parts.append(self.l2 * reduce_sum(square(x)))
        return sum(parts[1:], parts[0]) if parts else convert_to_tensor(0.0, x.dtype)

    get_config = config_of("l1 l2")


class L1(L1L2):
    """l1 * sum |x|. Source: tf.keras.regularizers.L1."""

    def __init__(self, l1: float | None = 0.01) -> None:
        super().__init__(l1=0.01 if l1 is None else l1)

    get_config = config_of("l1")


class L2(L1L2):
    """l2 * sum x². Source: tf.keras.regularizers.L2."""

    def __init__(self, l2: float | None = 0.01) -> None:
        super().__init__(l2=0.01 if l2 is None else l2)

    get_config = config_of("l2")


class OrthogonalRegularizer(Regularizer):
    """factor times the mean |cosine| of two rows of a matrix, or of two columns. Source: tf.keras.regularizers.

    Raises ValueError for a factor that is no number, and for a mode other than "rows" and "columns".
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        self.factor = _number(factor)
        if mode not in ("rows", "columns"):
            text = 'Invalid value for argument `mode`. Expected one of {"rows", "columns"}. '
            raise ValueError(f"{text}Received: mode={mode}")
        self.mode = mode

    def __call__(self, x: TensorLike) -> Tensor:
        """Return the penalty. f[m, n] -> f[]. Raises ValueError for another rank."""
        given = convert_to_tensor(x)
        if given.shape.rank != 2:
            raise ValueError(
                f"Inputs to OrthogonalRegularizer must have rank 2. Received: inputs.shape == {given.shape}"
            )
        by_rows = self.mode == "rows"
        unit = l2_normalize(given, axis=1 if by_rows else 0)
        products = matmul(unit, unit, transpose_a=not by_rows, transpose_b=by_rows)
        n: Any = given.shape.as_list()[0 if by_rows else 1]
        return self.factor * reduce_sum(abs(products * (1.0 - eye(n, dtype=given.dtype)))) / (n * (n - 1.0))

    get_config = config_of("factor mode")


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Return L1L2(l1, l2). Source: tf.keras.regularizers.l1_l2."""
    return L1L2(l1=l1, l2=l2)


l1 = L1
l2 = L2
orthogonal_regularizer = OrthogonalRegularizer
_TABLE: dict[str, Any] = {
    "l1": L1,
    "l2": L2,
    "l1_l2": l1_l2,
    "l1l2": L1L2,
    "orthogonal_regularizer": OrthogonalRegularizer,
    "orthogonalregularizer": OrthogonalRegularizer,
}


def get(identifier: Identifier) -> Any:
    """Return a regularizer: itself, None, or by its name or config. Raises ValueError for an unknown one."""
    if identifier is None or callable(identifier):
        return identifier
    return deserialize(identifier)


def deserialize(
    config: Identifier, custom_objects: Mapping[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the regularizer of a name or config, of either format. Raises ValueError for an unknown one."""
    if not isinstance(config, (str, dict)):
        raise ValueError(f"Could not interpret regularizer identifier: {config}")
    return identifiers.find(config, {**_TABLE, **(custom_objects or {})}, "regularizer")


def serialize(regularizer: object, use_legacy_format: bool = False) -> Any:
    """Return the config of a regularizer; in the format of Keras up to 2.12 if that is wanted."""
    return identifiers.described(regularizer, "keras.regularizers", use_legacy_format)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"Value {value} is not a valid regularization penalty number, expected an int or float value.")
    return float(value)
