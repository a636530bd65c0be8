"""The k greatest elements: top_k, in_top_k, and those of TPUs, approx_max_k and approx_min_k, which are exact here.

Rule: of equal elements the first comes first; NaN counts as greater than any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, has_dtype, named, static_int, whole
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.division import floordiv
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    canonical_axis,
    custom,
    invalid,
    misuse,
    public,
    validated,
)
from fastgraph.ops.gathering import dim, gather_grad
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import reshape, shape, size, transpose_p
from fastgraph.ops.precise_sums import HALF
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.slicing import slice_tensor
from fastgraph.ops.stable_sorting import greatest


def _top_shape(dims: Dims, k: int | None) -> Dims:
    if dims is None:
        return None
    if not dims:
        raise ValueError("input must be >= 1-D, got shape []")
    if k is not None and k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    if k is not None and dims[-1] is not None and dims[-1] < k:
        raise ValueError(f"input must have at least k columns. Had {dims[-1]}, needed {k}")
    return (*dims[:-1], k)


def _infer_top(input: Aval, *, k: int, index_type: DType) -> tuple[Aval, Aval]:
    dims = _top_shape(input.shape, k)
    return Aval(input.dtype, dims), Aval(index_type, dims)


def _top_grad(dys: list[Any], input: Tensor, outs: list[Any]) -> dict[str, Any]:
    if dys[0] is None:
        return {}
    rank, places = input.shape.rank, outs[1]
    if places.dtype.name not in ("int16", "int32", "int64"):
        places = cast(places, "int32")
    dy = dys[0]
    wide = cast(dy, "float32") if dy.dtype.name in HALF else dy  # which kernels add
    if rank is None:  # the same of the rows of a matrix
        n, k = dim(input, -1), dim(places, -1)
        rows = floordiv(size(places), maximum(k, 1))
        wide, places = (reshape(x, stack([rows, k])) for x in (wide, places))
        found = reshape(gather_grad(wide, places, stack([rows, n]), axis=1, batch_dims=1), shape(input))
        return {"input": cast(found, dy.dtype)}
    return {"input": cast(gather_grad(wide, places, shape(input), axis=rank - 1, batch_dims=rank - 1), dy.dtype)}


def _top_samples() -> list[Any]:
    x = np.array([[3, 1, 4, 0, 5], [9, 2, 6, 5, 3]])
    found = [
        ((x.astype(as_dtype(t).numpy_dtype),), {"k": k, "index_type": int32})
        for t in ("float32", "float64", "int32", "uint8", "bfloat16")
        for k in (0, 1, 3, 5)
    ]
    nan = np.array([1.0, np.nan, 3.0, 5.0, np.nan], np.float32)
    return [
        *found,
        ((nan,), {"k": 4, "index_type": as_dtype("int64")}),
        ((np.array([2, 2, 2]),), {"k": 2, "index_type": int32}),
    ]


def _top_errors() -> list[Any]:
    x = np.ones([4])
    return [
        misuse("input must have at least k columns. Had 4, needed 5", x, k=5, index_type=int32),
        misuse("Need k >= 0, got -1", x, k=-1, index_type=int32),
        misuse(r"input must be >= 1-D, got shape \[\]", np.array(1.0), k=1, index_type=int32),
    ]


@custom(
    op="TopKV2",
    infer=_infer_top,
    dtypes="ordered",
    n_outputs=2,
    step="top_k",
    vjp_all=_top_grad,
    samples=_top_samples,
    error_samples=_top_errors,
)
def top_k_p(input: Array, *, k: int, index_type: DType) -> Any:
    """The k greatest along the last axis, falling, and where they stand. t[*s, n] -> t[*s, k], i[*s, k]."""
    validated(_top_shape, input.shape, k)
    places = greatest(input, k)
    return np.take_along_axis(input, places, -1), places.astype(index_type.numpy_dtype)


class TopKV2(NamedTuple):
    """The k greatest elements, and where they stand."""

    values: Tensor
    indices: Tensor


@public("math.top_k", "nn.top_k")
def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None
) -> TopKV2:
    """The k greatest elements along the last axis, falling, and where they stand. t[*s, n] -> t[*s, k], i[*s, k].

    Raises: InvalidArgumentError for more than there are. Source: tf.math.top_k.
    """
    number = static_int(k, "k must be scalar, got shape")
    if number is None:
        x = as_tensor(input)
        if x.shape.rank == 0:
            raise ValueError("input must be >= 1-D, got shape []")
        if x.shape.rank is None or x.shape[-1] is None:
            as_index = as_dtype(index_type)
            again = lambda t, n: top_k(t, n, sorted, as_index)
            found = late(again, [x, k], x.dtype, as_index, name=name)
            for part in found:
                part.set_shape(None if x.shape.rank is None else [*x.shape[:-1], None])
            return TopKV2(*found)
        n = x.shape[-1]
        every = top_k_p(x, k=n, index_type=as_dtype(index_type))
        k = checked(reshape(k, ()), 0, n, "Need 0 <= k <= {most}, the last dimension of input, got {}")
        begin, size = [0] * x.shape.rank, [*[-1] * (x.shape.rank - 1), k]
        return TopKV2(*[slice_tensor(found, begin, size) for found in every])
    return TopKV2(*named(name, top_k_p, input, k=number, index_type=as_dtype(index_type)))


def _infer_in_top(predictions: Aval, targets: Aval, k: Aval) -> Aval:
    _check_in_top(predictions.shape, targets.shape)
    if k.shape is not None and k.shape != ():
        raise ValueError("k must be 0-D")
    return Aval(as_dtype("bool"), targets.shape)


def _check_in_top(predictions: Dims, targets: Dims) -> None:
    if predictions is not None and len(predictions) != 2:
        raise ValueError("predictions must be 2-dimensional")
    if targets is not None and len(targets) != 1:
        raise ValueError("targets must be 1-dimensional")
    if predictions is None or targets is None or None in (predictions[0], targets[0]):
        return
    if predictions[0] != targets[0]:
        raise ValueError(f"First dimension of predictions {predictions[0]} must match length of targets {targets[0]}")


def _lower_in_top(b: Builder, node: Node) -> list[Any]:
    predictions, targets, k = b.input(0), b.input(1), b.input(2)

    def element(index: Sequence[Any]) -> Any:
        row, n = index[0], predictions.shape[1]
        target = b.cast(targets.at((row,)), "int64")
        inside = (target >= 0) & (target < n)
        mine = b.select(inside, predictions.at((row, target)), b.const(np.nan, "float32"))
        finite = b.reduce("all", [n], lambda at: b.op("isfinite", predictions.at((row, at[0]))))
        above = b.reduce("sum", [n], lambda at: b.cast(predictions.at((row, at[0])) > mine, "int64"))
        return inside & finite & (above < b.cast(k.at(()), "int64"))

    return [element]


@custom(
    op="InTopKV2",
    infer=_infer_in_top,
    groups=("float32", "T", "T"),
    dtypes="index",
    lower=_lower_in_top,
    samples=lambda: [
        ((np.array(p, np.float32), np.array(t, it), np.array(k, it)), {})
        for it in ("int32", "int64")
        for k in (1, 2)
        for p, t in (
            ([[0.1, 0.9], [0.2, 0.8], [0.5, 0.5]], [0, 1, 1]),
            ([[0.1, 0.9], [np.inf, 0.8], [np.nan, 0.5]], [0, 1, 1]),
            ([[0.1, 0.9], [0.2, 0.8]], [-1, 5]),
        )
    ],
    error_samples=lambda: [
        misuse(
            "First dimension of predictions 2 must match length of targets 1",
            np.ones([2, 2], np.float32),
            np.array([0]),
            np.array(1),
        ),
        misuse("targets must be 1-dimensional", np.ones([1, 2], np.float32), np.array([[0]]), np.array(1)),
        misuse("predictions must be 2-dimensional", np.ones([2], np.float32), np.array([0]), np.array(1)),
    ],
)
def in_top_k_p(predictions: Array, targets: Array, k: Array) -> Any:
    """True where fewer than k classes have more than the target's; never where something is not finite."""
    validated(_check_in_top, predictions.shape, targets.shape)
    if k.ndim:
        raise invalid("k must be 0-D")
    inside = (targets >= 0) & (targets < predictions.shape[1])
    safe = np.where(inside, targets, 0)[:, None]
    if not predictions.shape[1]:  # no class, and so no target
        return inside
    above = (predictions > np.take_along_axis(predictions, safe, 1)).sum(1)
    return inside & np.isfinite(predictions).all(1) & (above < k)


@public("math.in_top_k", "nn.in_top_k")
def in_top_k(targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None) -> Any:
    """True where the target of a row is among its k greatest predictions. i[n], f32[n, c] -> bool[n].

    Never for a target out of range or where something is not finite.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.math.in_top_k.
    """
    targets = as_tensor(targets, getattr(k, "dtype", None) if has_dtype(k) else None)
    return named(name, in_top_k_p, predictions, targets, as_tensor(k, targets.dtype))


class ApproxTopK(NamedTuple):
    """Results of approx_max_k and approx_min_k."""

    values: Tensor
    indices: Tensor


def _extreme(operand: TensorLike, k: TensorLike, axis: Tensor | int, sign: int, name: str | None) -> Any:
    x = as_tensor(operand)
    rank = x.shape.rank
    if rank is None:
        again = lambda t, n: _extreme(t, n, axis, sign, None)
        return ApproxTopK(*late(again, [x, as_tensor(k)], x.dtype, int32, name=name))
    if rank == 0:
        raise invalid("input must be >= 1-D, got shape []")
    at = canonical_axis(whole(axis, "axis"), rank)
    perm = (*[i for i in range(rank) if i != at], at)
    back = tuple(int(i) for i in np.argsort(perm))
    moved = transpose_p(x, perm=perm)
    found = top_k(moved if sign > 0 else -moved, k, name=name)
    values = found.values if sign > 0 else -found.values
    return ApproxTopK(transpose_p(values, perm=back), transpose_p(found.indices, perm=back))


@public("math.approx_max_k", "nn.approx_max_k")
def approx_max_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k greatest elements along an axis, falling, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_max_k.
    """
    return _extreme(operand, k, reduction_dimension, 1, name)


@public("math.approx_min_k", "nn.approx_min_k")
def approx_min_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k least elements along an axis, rising, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_min_k.
    """
    return _extreme(operand, k, reduction_dimension, -1, name)
