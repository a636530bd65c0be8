"""isotonic_regression: the falling or rising numbers nearest to given ones, by least squares, with its gradient.

Rule: levels are data, so that finding them is a host step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import as_dtype, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, of_dtypes, whole
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, zeros_like
from fastgraph.ops.families import Array, canonical_axis, custom, public
from fastgraph.ops.movement import transpose_p


class IsotonicRegression(NamedTuple):
    """Results of isotonic_regression."""

    output: Tensor
    segments: Tensor


def _falling(row: Array) -> tuple[Array, Array]:
    """The falling row nearest to `row`, and the number of each element's level: pool adjacent violators."""
    starts: list[int] = []
    sums: list[float] = []
    counts: list[int] = []
    for i, value in enumerate(row.tolist()):
        starts.append(i)
        sums.append(value)
        counts.append(1)
        while len(sums) > 1 and sums[-1] * counts[-2] > sums[-2] * counts[-1]:
            total, n = sums.pop(), counts.pop()
            starts.pop()
            sums[-1] += total
            counts[-1] += n
    levels = np.repeat(np.arange(len(sums)), counts)
    means = np.array([s / n for s, n in zip(sums, counts, strict=True)])
    return means[levels] if len(sums) else row.astype(np.float64), levels


def _rows(x: Array) -> Array:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


@custom(
    op="IsotonicRegression",
    infer=lambda x: (Aval(x.dtype, x.shape), Aval(as_dtype("int32"), x.shape)),
    n_outputs=2,
    dtypes="floating",
    vjp=dict(x=lambda dys, outs: None if dys[0] is None else isotonic_grad(dys[0], outs[1])),
    samples=lambda: [
        ((np.array(v).astype(t),), {})
        for t in ("float32", "float64")
        for v in ([3.0, 1.0, 2.5, 5.0], [[1.0, 2.0, 0.5], [0.25, 0.5, 0.125]], np.zeros([2, 0]), [1.5])
    ],
    reason="which elements share a level depends on data, one after the other",
)
def isotonic_p(x: Array) -> Any:
    """The falling rows nearest to x's, by least squares, and the number of each element's level. f[*s, n] -> f, i32."""
    wide = _rows(x.astype(np.float64))
    output, levels = np.empty_like(wide), np.empty(wide.shape, np.int32)
    for i, row in enumerate(wide):
        output[i], levels[i] = _falling(row)
    return output.reshape(x.shape).astype(x.dtype), levels.reshape(x.shape)


@custom(
    op="IsotonicRegressionGrad",
    infer=lambda dy, segments: Aval(dy.dtype, dy.shape),
    groups=("T", "int32"),
    dtypes="floating",
    vjp=dict(dy=lambda dy, segments: isotonic_grad(dy, segments)),
    samples=lambda: [((np.array([[1.0, 2.0, 4.0, 3.0]]), np.array([[0, 1, 1, 2]], np.int32)), {})],
    reason="which elements share a level depends on data, one after the other",
)
def isotonic_grad(dy: Array, segments: Array) -> Any:
    """The mean of dy over the elements of each level. f[*s, n], i32[*s, n] -> f[*s, n]."""
    rows, levels = _rows(dy.astype(np.float64)), _rows(segments)
    result = np.empty_like(rows)
    for i, (row, level) in enumerate(zip(rows, levels, strict=True)):
        result[i] = (np.bincount(level, row) / np.maximum(np.bincount(level), 1))[level] if len(row) else row
    return result.reshape(dy.shape).astype(dy.dtype)


@public("nn.isotonic_regression")
def isotonic_regression(inputs: TensorLike, decreasing: bool = True, axis: TensorLike = -1) -> IsotonicRegression:
    """The falling (or rising) numbers along `axis` nearest to inputs, and each element's level. f[*s] -> f, i32[*s].

    Raises: InvalidArgumentError for other dtypes than real ones.
    Source: Best, Chakravarti and Ubhaya 2000; tf.nn.isotonic_regression.
    """
    x = of_dtypes(as_tensor(inputs), "real")
    if not x.dtype.is_floating:
        x = cast(x, "float64" if x.dtype.name in ("int32", "int64", "uint32", "uint64") else "float32")
    rank = x.shape.rank
    if rank is None:
        return IsotonicRegression(*late(lambda t: isotonic_regression(t, decreasing, axis), [x], x.dtype, int32))
    if rank == 0:
        return IsotonicRegression(x, cast(zeros_like(x), "int32"))
    at = canonical_axis(whole(axis, "axis"), rank)
    perm = (*[i for i in range(rank) if i != at], at)
    back = tuple(int(i) for i in np.argsort(perm))
    output, levels = isotonic_p(transpose_p(x if decreasing else -x, perm=perm))
    output = transpose_p(output, perm=back)
    return IsotonicRegression(output if decreasing else -output, transpose_p(levels, perm=back))
