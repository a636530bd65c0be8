"""Arguments of public functions made ready for ops: numbers that decide shapes and axes, known now or only at run time.

Rule: what is known while the op is called becomes an attribute; only what is not becomes a tensor input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import (
    INT_RANGE,
    SizeLike,
    TensorLike,
    cast_items,
    convert_to_tensor,
    has_tensor,
    unsupported,
)
from fastgraph.core.op_errors import message_name
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, bind, class_has, convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.families import bind_named, dtype_set, invalid, shape_text


def no_layout(layout: object) -> ValueError:
    """The error for a layout of DTensor: tensors are of one device."""
    return ValueError(f"Tensors are of one device: a layout of DTensor is not built, got layout={layout!r}")


def as_tensor(value: Any, dtype: DTypeLike | None = None) -> Tensor:
    """`value` as a Tensor, of `dtype` if it has none of its own. TypeError or ValueError as TensorFlow raises them.

    A composite that no one tensor can stand for stays what it is: the op, once applied, asks it.
    """
    if isinstance(value, Tensor):
        return value
    if class_has(value, "__fg_bind__"):
        return value
    return convert(value, None if dtype is None or has_dtype(value) else as_dtype(dtype))


def converted_like(value: Any, other: Tensor) -> Tensor:
    """`value` as a Tensor, of `other`'s dtype if it has none of its own and can be that."""
    if isinstance(value, Tensor):
        return value
    try:
        return as_tensor(value, other.dtype)
    except (TypeError, ValueError):
        return as_tensor(value)


def alike(values: Any) -> list[Tensor]:
    """`values` as Tensors: those without a dtype of their own take that of the first that has one, else the first's."""
    dtype = next((value.dtype for value in values if has_dtype(value)), None)
    tensors: list[Tensor] = []
    for value in values:
        tensors.append(as_tensor(value, dtype or (tensors[0].dtype if tensors else None)))
    return tensors


def tensor_of(value: TensorLike, dtype: DType) -> Tensor:
    """`value` as a Tensor of `dtype` and no other. Raises: ValueError for a tensor or a Variable of another dtype."""
    return convert_to_tensor(value, dtype) if has_dtype(value) else as_tensor(value, dtype)


def has_dtype(value: TensorLike) -> bool:
