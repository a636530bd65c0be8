"""Rows handed out by numbers and put together again: dynamic_partition, dynamic_stitch.

Rule: only what data decides the size of is a host step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import ResourceExhaustedError
from fastgraph.ops.arguments import alike, as_tensor, index_vector, named, static_int, whole
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, ones_like, zeros_like
from fastgraph.ops.families import Array, custom, invalid, misuse, public, shape_text
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import reshape, shape, size
from fastgraph.ops.reduction import reduce_max, reduce_sum
from fastgraph.ops.scatter import scatter_nd, tensor_scatter_update_p

_COUNTED = "the number of results is data: a pass over all elements decides it"


def _infer_partition(data: Aval, partitions: Aval, *, count: int) -> tuple[Aval, ...]:
    dims = None
    if data.shape is not None and partitions.shape is not None:
        rank = len(partitions.shape)
        if len(data.shape) < rank or any(
            n != m for n, m in zip(data.shape, partitions.shape, strict=False) if None not in (n, m)
        ):
            raise ValueError(_UNLIKE.format(shape_text(data.shape), shape_text(partitions.shape)))
        dims = (None, *data.shape[rank:])
    return (Aval(data.dtype, dims),) * count


_UNLIKE = "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}"


def _partition_grad(
    dys: Sequence[Tensor | None],
    partitions: Tensor,
    outs: Sequence[Tensor],
    data_shape: tuple[int, ...] | Tensor,
    count: int,
) -> Any:
    places = reshape(range_(reduce_sum(ones_like(partitions))), shape(partitions))
    parts = [zeros_like(out) if dy is None else dy for dy, out in zip(dys, outs, strict=True)]
    rank, n = len(partitions.shape), reshape(size(partitions), [1])
    tail = index_vector(data_shape[rank:]) if isinstance(data_shape, tuple) else data_shape[rank:]
    where = reshape(concat(dynamic_partition(places, partitions, count), 0), [-1, 1])  # each place once
    return reshape(scatter_nd(where, concat(parts, 0), concat([n, cast(tail, int32)], 0)), data_shape)


@custom(
    infer=_infer_partition,
    groups=("T", "int32"),
    n_outputs=None,
    step="dynamic",
    vjp=dict(data=_partition_grad),
    samples=lambda: [
        ((np.arange(12).reshape(4, 3).astype(t), np.array(p, np.int32)), {"count": 3})
        for t in ("float32", "float64", "int32", "bool")
        for p in ([0, 2, 0, 1], [1, 1, 1, 1], [[0, 1, 2], [2, 1, 0], [0, 0, 0], [2, 2, 2]])
    ],
    error_samples=lambda: [
        misuse(r"\[1\] = 5 is not in \[0, 2\)", np.ones(3), np.array([0, 5, 1], np.int32), count=2),
        misuse("must start with partitions.shape", np.ones(3), np.array([0, 1], np.int32), count=2),
    ],
    reason=_COUNTED,
)
def dynamic_partition_p(data: Array, partitions: Array, *, count: int) -> Any:
    """The slices of data that partitions gives 0, those it gives 1, ... t[*p, *r], i32[*p] -> t[n, *r]..."""
    if data.shape[: partitions.ndim] != partitions.shape:
        raise invalid(_UNLIKE.format(shape_text(data.shape), shape_text(partitions.shape)))
    bad = np.argwhere((partitions < 0) | (partitions >= count))
    if len(bad):
        place = tuple(bad[0])
        text = ",".join(map(str, place))
        raise invalid(f"partitions[{text}] = {partitions[place]} is not in [0, {count})")
    return tuple(data[partitions == i] for i in range(count))


@public("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: TensorLike, name: str | None = None
) -> Any:
    """The slices of data by the numbers in partitions, below num_partitions. t[*p, *r], i32[*p] -> list of t[n, *r].

    Raises: InvalidArgumentError for numbers outside, or shapes that do not fit; TypeError for a
    num_partitions that is no int. Source: tf.dynamic_partition.
    """
    given = isinstance(num_partitions, Tensor)
    count = static_int(num_partitions) if given else whole(num_partitions, "num_partitions")
    if count is None:
        raise NotImplementedError("num_partitions must be known while a function is traced")
    if count < 1:
        raise invalid(f"Value for attr 'num_partitions' of {count} must be at least minimum 1")
    if count >= 2**28:
        raise ResourceExhaustedError(None, None, f"Out of memory: {count} tensors")
    return list(named(name, dynamic_partition_p, as_tensor(data), as_tensor(partitions, "int32"), count=count))


def _bad(text: str) -> Exception:
    """The error of wrong arguments: another class while a function is traced."""
    return invalid(text) if current_trace() is None else ValueError(text)


#: Tensors in a list, or one, whose slices along axis 0 they are.
Rows = Tensor | Array | Sequence[TensorLike]


@public("dynamic_stitch")
def dynamic_stitch(indices: Rows, data: Rows, name: str | None = None) -> Any:
    """Slices put where the indices say, 0 elsewhere; of equal indices the last counts.

    i[*s]..., t[*s, *r]... -> t[n, *r].
    Raises: InvalidArgumentError for negative indices, or shapes that do not fit. Source: tf.dynamic_stitch.
    """
    indices, data = (unstack(x) if isinstance(x, Tensor) else x for x in (indices, data))
    if not indices or len(indices) != len(data):
        raise _bad(
            f"dynamic_stitch needs as many indices as data, and at least one, got {len(indices)} and {len(data)}"
        )
    places = [as_tensor(i, "int32") for i in indices]
    values = alike(data)
    if any(t.shape.rank is None for t in (*places, *values)):
        n = len(places)
        return late(lambda *t: dynamic_stitch(list(t[:n]), list(t[n:])), [*places, *values], values[0].dtype, name=name)
    rank = places[0].shape.rank
    rest = values[0].shape[rank:].as_list() if values[0].shape.rank is not None else None
    for i, (place, value) in enumerate(zip(places, values, strict=True)):
        own, whole = place.shape.as_list(), value.shape.as_list()
        if len(whole) < len(own) or any(n != m for n, m in zip(own, whole, strict=False) if None not in (n, m)):
            raise _bad(
                f"data[{i}].shape = {shape_text(whole)} does not start with indices[{i}].shape = {shape_text(own)}"
            )
        if rest is not None and len(whole) - len(own) != len(rest):
            raise _bad(
                f"Need data[0].shape[{rank}:] = data[{i}].shape[{len(own)}:], got data[0].shape = "
                f"{shape_text(values[0].shape.as_list())}, data[{i}].shape = {shape_text(whole)}"
            )
    tail = extents_of(values[0])[rank:]
    where = concat([reshape(p, [-1]) for p in places], 0)
    count = reduce_max(concat([where, np.array([-1], np.int32)], 0)) + 1
    nothing = zeros(stack([count, *[cast(as_tensor(n), "int32") for n in tail]]), values[0].dtype)
    if any(isinstance(n, int) and n == 0 for n in tail):  # slices of nothing
        return nothing
    rows = concat([reshape(v, [-1, *tail]) for v in values], 0)
    return named(name, tensor_scatter_update_p, nothing, reshape(where, [-1, 1]), rows)
