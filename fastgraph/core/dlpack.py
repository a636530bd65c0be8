"""tf.experimental.dlpack: tensors shared with other libraries without a copy.

Rule: a tensor never changes, so what is exported is read-only by agreement, and what is imported must not be written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import bfloat16
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import EagerTensor, bfloat16_as_uint16, from_array


def to_dlpack(tf_tensor: TensorLike) -> Any:
    """Return a capsule of the memory of an eager tensor. Source: tf.experimental.dlpack.to_dlpack.

    Raises TypeError for what is no eager tensor, BufferError for elements that DLPack does not know (strings).
    """
    if not isinstance(tf_tensor, EagerTensor):
        raise TypeError(f"The argument to `to_dlpack` must be a TF tensor, not Python object: {type(tf_tensor)}")
    return tf_tensor.__dlpack__()


class _Elements:
    """Gives NumPy a capsule, or what an object with the protocol exports, with bfloat16 under another name."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.given.__dlpack__(**options) if hasattr(self.given, "__dlpack__") else self.given
        self.bfloat16 = bfloat16_as_uint16(capsule)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.given.__dlpack_device__() if hasattr(self.given, "__dlpack_device__") else (1, 0)  # kDLCPU


def from_dlpack(dlcapsule: Any) -> EagerTensor:
    """Return a tensor over the memory of a capsule, or of an object with `__dlpack__`.

    A capsule is used once. Raises ValueError, BufferError or RuntimeError where it cannot be. Source:
    tf.experimental.dlpack.from_dlpack.
    """
    elements = _Elements(dlcapsule)
    array = np.from_dlpack(elements)
    return from_array(array.view(bfloat16.as_numpy_dtype) if elements.bfloat16 else array, copy=False)
