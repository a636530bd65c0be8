"""Methods that the array API standard asks of an array and TensorFlow's tensors have not: their slots."""

from __future__ import annotations

import sys
from typing import Any

from fastgraph import array_api
from fastgraph.array_api import dtypes, linalg
from fastgraph.core.tensor import Tensor, register_slot
from fastgraph.numpy_api.promotion import ops


def namespace(tensor: Tensor, api_version: str | None) -> Any:
    """The module of the standard's functions. Raises: ValueError for a version that it has not."""
    if api_version not in (None, *array_api.VERSIONS):
        raise ValueError(
            f"__array_namespace__: api_version is one of {', '.join(array_api.VERSIONS)}, not {api_version!r}"
        )
    return sys.modules[array_api.__name__]


def to_device(tensor: Tensor, device: str | None, stream: object) -> Any:
    """A tensor on a device. Raises: ValueError for a stream."""
    if stream is not None:
        raise ValueError("to_device: there are no streams")
    with dtypes.on(device):
        return ops.identity(tensor)


register_slot("array_namespace", namespace)
register_slot("mT", linalg.matrix_transpose)
register_slot("to_device", to_device)
