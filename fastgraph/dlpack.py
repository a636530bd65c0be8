"""tf.experimental.dlpack: tensors shared with other libraries without a copy.

Rule: a tensor never changes, so what is exported is read-only by agreement, and what is imported must not be written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph._tensor import EagerTensor, from_array


def to_dlpack(tf_tensor: Any) -> Any:
    """Return a capsule of the memory of an eager tensor. Source: tf.experimental.dlpack.to_dlpack.

    Raises TypeError for what is no eager tensor, BufferError for elements that DLPack does not know (strings).
    """
    if not isinstance(tf_tensor, EagerTensor):
        raise TypeError(f"The argument to `to_dlpack` must be a TF tensor, not Python object: {type(tf_tensor)}")
    return tf_tensor.__dlpack__()


class _Capsule:
    """Gives NumPy a capsule as its protocol wants it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU


def from_dlpack(dlcapsule: Any) -> EagerTensor:
    """Return a tensor over the memory of a capsule, or of an object with `__dlpack__`.

    A capsule is used once. Raises ValueError, BufferError or RuntimeError where it cannot be. Source:
    tf.experimental.dlpack.from_dlpack.
    """
    given = dlcapsule if hasattr(dlcapsule, "__dlpack__") else _Capsule(dlcapsule)
    return from_array(np.from_dlpack(given), copy=False)
