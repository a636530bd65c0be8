"""Values of replicas made one: sums and means, joined values, and the names of ways to bring them across devices.

Rule: every replica gets the very same tensor, added up in the order of the replicas.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor
from fastgraph.core.tensor_type import TensorType
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import shape
from fastgraph.ops.nn_ops import add_n
from fastgraph.ops.reduction import reduce_sum
from fastgraph.state.distributed import AggregatingVariable, DistributedValues
from fastgraph.state.variable import VariableAggregation


class ReduceOp(enum.Enum):
    """Ways in which values of replicas become one. Source: tf.distribute.ReduceOp."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: VariableAggregation) -> ReduceOp:
        """Return the way that an aggregation of Variables names. Raises ValueError for one that names none."""
        if aggregation.name not in ReduceOp.__members__:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {aggregation} to`tf.distribute.ReduceOp` type"
            )
        return ReduceOp[aggregation.name]


#: A ReduceOp, or its name.
Way = ReduceOp | str


def way(reduce_op: Way) -> ReduceOp:
    """Return a ReduceOp, which may be given by its name. Raises ValueError for a name of none, TypeError for others."""
    if isinstance(reduce_op, str):
        return ReduceOp(reduce_op.upper())
    if isinstance(reduce_op, enum.Enum):  # TensorFlow's own counts too
        return ReduceOp(reduce_op.value)
    raise TypeError(f"Expected `reduce_op` to be a `tf.distribute.ReduceOp`, not: {reduce_op!r}")


def per_replica(value: Any) -> tuple[Any, ...] | None:
    """Return the replicas' values of `value`, None where it is one for all."""
    return value.values if isinstance(value, DistributedValues) and not isinstance(value, AggregatingVariable) else None


def reduced(op: ReduceOp, values: Sequence[Any]) -> Any:
    """Return the sum or mean of tensors, or of IndexedSlices. t[*s]... -> t[*s]."""
    if len(values) == 1:
        return values[0] if isinstance(values[0], IndexedSlices) else convert_to_tensor(values[0])
    if all(isinstance(value, IndexedSlices) for value in values):
        rows = concat([value.values for value in values], 0)
        if op is ReduceOp.MEAN:
            rows = rows / cast(len(values), rows.dtype)
        return IndexedSlices(rows, concat([value.indices for value in values], 0), values[0].dense_shape)
    total: Any = add_n([convert_to_tensor(value) for value in values])
    return total if op is ReduceOp.SUM else total / cast(len(values), total.dtype)


def reduce_any(op: ReduceOp, value: Any, count: int) -> Any:
    """Return the sum or mean over `count` replicas of what each of them has of `value`.

    Raises ValueError for the sum of what is one value for all, unless it is 0.
    """
    values = per_replica(value)
    if values is not None:
        return reduced(op, values)
    if not isinstance(value, TensorType) and np.all(np.asarray(value) == 0):
        return value
    if op is ReduceOp.SUM and count != 1:
        raise ValueError(f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}.")
    return value


def reduced_along(op: ReduceOp, values: Sequence[Any], axis: Any, add: Callable[[list[Any]], Any]) -> Any:
    """Return the sum or mean of the replicas' tensors, over an axis (or axes) of theirs as well.

    The mean is that of all elements, also where replicas have different numbers of them. Of scalars, which have no axis
    0, each is one element: Keras 3 asks so for losses. add: what adds up values of this process's replicas, and those
    of the others.
    """
    tensors = [convert_to_tensor(value) for value in values]
    if axis == 0 and all(tensor.shape.rank == 0 for tensor in tensors):
        tensors = [tensor[None] for tensor in tensors]
    total = add([reduce_sum(tensor, axis) for tensor in tensors])
    if op is ReduceOp.SUM:
        return total
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    counts = []
    for tensor in tensors:
        extents: Any = shape(tensor, "int64")
        n: Any = 1
        for each in axes:
            n = n * extents[each]
        counts.append(n)
    count = add(counts)
    return total / cast(count, total.dtype)


def joined(values: Sequence[Any], axis: int) -> Tensor:
    """Return the replicas' tensors joined along an axis. Raises NotImplementedError for IndexedSlices."""
    if any(isinstance(value, IndexedSlices) for value in values):
        raise NotImplementedError("gather does not support IndexedSlices")
    found: Tensor = concat([convert_to_tensor(value) for value in values], axis)
    return found


@without(
    {
        "reduce, overridden": "reduce_implementation",
        "batch_reduce, overridden": "batch_reduce_implementation",
        "reduce, with the devices as destinations": "broadcast broadcast_implementation",
    }
)
class CrossDeviceOps:
    """Transport of values across devices. Here all lie in one memory: every way is the same sum, in order.

    Source: tf.distribute.CrossDeviceOps.
    """

    def reduce(self, reduce_op: Way, per_replica_value: Any, destinations: Any, options: object = None) -> Any:
        """Return the sum or mean of a value over its replicas."""
        values = per_replica(per_replica_value)
        return per_replica_value if values is None else reduced(way(reduce_op), values)

    def batch_reduce(
        self, reduce_op: Way, value_destination_pairs: Sequence[tuple[Any, Any]], options: object = None
    ) -> list[Any]:
        """Return what `reduce` gives for each pair."""
        return [self.reduce(reduce_op, value, where, options) for value, where in value_destination_pairs]


class ReductionToOneDevice(CrossDeviceOps):
    """Values are added on one device. Source: tf.distribute.ReductionToOneDevice."""

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device = reduce_to_device
        self._accumulate = accumulation_fn

    def reduce(self, reduce_op: Way, per_replica_value: Any, destinations: Any, options: object = None) -> Any:
        """Return the sum, by `accumulation_fn` if one was given, or mean of a value over its replicas."""
        values = per_replica(per_replica_value)
        if self._accumulate is None or values is None:
            return super().reduce(reduce_op, per_replica_value, destinations, options)
        total = self._accumulate(list(values))
        return total if way(reduce_op) is ReduceOp.SUM else total / cast(len(values), total.dtype)


class _Packed(CrossDeviceOps):
    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"num_packs must be greater than zero: {num_packs}")
        self.num_packs = num_packs


class NcclAllReduce(_Packed):
    """Taken as on GPUs; on CPU devices the sum is the same. Source: tf.distribute.NcclAllReduce."""


class HierarchicalCopyAllReduce(_Packed):
    """Taken as on GPUs; on CPU devices the sum is the same. Source: tf.distribute.HierarchicalCopyAllReduce."""


def flat_tensors(value: Any) -> list[Any]:
    """Return the leaves of a structure as tensors, IndexedSlices as they are."""
    return [leaf if isinstance(leaf, IndexedSlices) else convert_to_tensor(leaf) for leaf in nesting.flatten(value)]
