"""Ops on StructuredTensors: concat, gather, expand_dims, random shuffles, zeros and ones, shape, size, rank.

Rule: an op is done to each field, and to a tensor of the structures' own shape, from whose result that of the results
is read.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.composites.ragged_shape import DynamicRaggedShape
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.row_splits import along
from fastgraph.composites.structured_tensor import StructuredTensor as StructuredTensor
from fastgraph.core.api_dispatch import dispatch_for_api
from fastgraph.core.base.dtype import DTypeLike, float32, int32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import fill, range_
from fastgraph.ops.elementwise import cast, ones_like, zeros_like
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, rank, shape, size
from fastgraph.ops.random_ops import shuffle
from fastgraph.ops.reduction import reduce_prod

Op = Callable[[list[Any]], Any]


def each_field(op: Op, values: Sequence[StructuredTensor]) -> Any:
    """Return the StructuredTensor of what the op gives of the values' fields of each name.

    Raises: ValueError for values of other fields, or with a StructuredTensor of another rank in the place of one.
    """
    first = values[0]
    for other in values[1:]:
        if not isinstance(other, StructuredTensor) or other.rank != first.rank:
            raise ValueError("Ranks of sub-message do not match")
        if set(other.field_names()) != set(first.field_names()):
            names = [", ".join(sorted(each.field_names())) for each in (first, other)]
            raise ValueError("Fields are not the same: ({}) and ({})".format(*names))
    fields = {}
    for name in first.field_names():
        parts: list[Any] = [value.field_value(name) for value in values]
        structured = isinstance(parts[0], StructuredTensor)
        fields[name] = each_field(op, parts) if structured else op(parts)
    outer = DynamicRaggedShape.from_tensor(op([_marks(value) for value in values]), first._ragged_shape.dtype)
    return StructuredTensor._of(fields, outer)


def _marks(value: StructuredTensor) -> Any:
    """Return a tensor of the structures' shape."""
    outer = value._ragged_shape
    return outer.rows_of(fill(outer.inner_shape, False))


#: Elements of a list for concat: those that are no StructuredTensors get an error of their own.
_Parts = typing.List[typing.Union[StructuredTensor, RaggedTensor, Tensor]]  # noqa: UP006, UP007 # the documented form


@dispatch_for_api(concat, {"values": _Parts})
def _concat(values: Any, axis: int, name: str | None = None) -> Any:
    structured = [isinstance(value, StructuredTensor) for value in values]
    if not any(structured):
        return NotImplemented
    if not all(structured):
        raise ValueError("values must be a list of StructuredTensors")
    at = along(axis, values[0].rank)
    return each_field(lambda parts: concat(parts, at), values)


@dispatch_for_api(gather, {"params": StructuredTensor})
def _gather(params: Any, indices: TensorLike, validate_indices: bool | None = None, axis: int | None = None,
            batch_dims: int = 0, name: str | None = None) -> Any:  # fmt: skip
    places = indices if isinstance(indices, RaggedTensor) else as_tensor(indices)
    at = along(batch_dims if axis is None else axis, params.rank)
    batches = along(batch_dims, params.rank, "batch_dims") if batch_dims else 0
    if batches > (places.shape.rank or 0):
        raise ValueError(f"batch_dims={batch_dims} out of bounds: expected 0<=batch_dims<={places.shape.rank}")
    return each_field(lambda parts: gather(parts[0], places, axis=at, batch_dims=batches), [params])


@dispatch_for_api(expand_dims, {"input": StructuredTensor})
def _expand_dims(input: Any, axis: int, name: str | None = None) -> Any:
    at = along(axis, input.rank + 1)
    return each_field(lambda parts: expand_dims(parts[0], at), [input])


@dispatch_for_api(shuffle, {"value": StructuredTensor})
def _shuffle(value: Any, seed: TensorLike | None = None, name: str | None = None) -> Any:
    if value.rank == 0:
        raise ValueError("Cannot shuffle a scalar StructuredTensor")
    return gather(value, shuffle(range_(value.nrows()), seed))


@dispatch_for_api(zeros_like, {"input": StructuredTensor})
def _zeros_like(input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None) -> Any:
    return zeros_like(_marks(input), float32 if dtype is None else dtype)


@dispatch_for_api(ones_like, {"input": StructuredTensor})
def _ones_like(input: Any, dtype: DTypeLike | None = None, name: str | None = None, layout: Any = None) -> Any:
    return ones_like(_marks(input), float32 if dtype is None else dtype)


@dispatch_for_api(shape, {"input": StructuredTensor})
def _shape(input: Any, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
    return input._ragged_shape.with_dtype(int32 if out_type is None else out_type)


@dispatch_for_api(size, {"input": StructuredTensor})
def _size(input: Any, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    return cast(reduce_prod(input._ragged_shape.inner_shape), int32 if out_type is None else out_type)


@dispatch_for_api(rank, {"input": StructuredTensor})
def _rank(input: Any, name: str | None = None) -> Tensor:
    return as_tensor(input.rank, int32)
