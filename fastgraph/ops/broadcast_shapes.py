"""Shapes to which others broadcast, static and at run time, and the axes that gradients are summed over.

Rule: these are numbers about shapes; broadcasting.py moves the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import int32, int64
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.ops.arguments import has_dtype, holds_int64, known_value, named
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, Builder, Node, Operand, custom, invalid, misuse, public, shape_text


@public("broadcast_static_shape")
def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The shape to which two shapes broadcast. Raises: ValueError if they do not. Source: tf.broadcast_static_shape."""
    x, y = TensorShape(shape_x), TensorShape(shape_y)
    if x.rank is None or y.rank is None:
        return TensorShape(None)
    dims: list[int | None] = []
    a, b = x.as_list(), y.as_list()
    n = max(len(a), len(b))
    for m, k in zip([1] * (n - len(a)) + a, [1] * (n - len(b)) + b, strict=True):
        if m is None or k is None:
            dims.append(m if m not in (None, 1) else k if k not in (None, 1) else None)
        elif m == k or 1 in (m, k):
            dims.append(k if m == 1 else m)
        else:
            raise ValueError(
                "Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they are "
                f"either equal or one of them is 1. Received: {x} and {y}."
            )
    return TensorShape(dims)


def _infer_broadcast_args(s0: Aval, s1: Aval) -> Aval:
    if s0.shape is None or s1.shape is None:
        return Aval(s0.dtype, (None,))
    lengths = [n for n in (*s0.shape, *s1.shape) if n is not None]
    known = len(lengths) == len(s0.shape) + len(s1.shape)
    return Aval(s0.dtype, (max(lengths, default=0) if known else None,))


def _lower_broadcast_args(b: Builder, node: Node) -> list[Any]:
    out = b.output(0)

    def element(index: Sequence[Any]) -> Any:
        def extent(operand: Operand) -> Any:
            if operand.rank == 0:
                return b.const(1, operand.dtype)
            at = index[0] - (out.shape[0] - operand.shape[0])
            return b.select(at >= 0, operand.at((at,)), b.const(1, operand.dtype))

        m, n = extent(b.input(0)), extent(b.input(1))
        fits = b.op("or", m.eq(n), b.op("or", m.eq(1), n.eq(1)))
        return b.check(fits, b.select(m.eq(1), n, m), index[0])

    return [element]


@custom(
    infer=_infer_broadcast_args,
    dtypes="index",
    lower=_lower_broadcast_args,
    samples=lambda: [
        ((np.array(a, t), np.array(b, t)), {})
        for t in ("int32", "int64")
        for a, b in (([1, 3], [2, 1]), ([4], [2, 3, 1]), ([], [5]), ([2, 0], [1, 0]))
    ],
    error_samples=lambda: [misuse(r"Incompatible shapes: \[2\] vs. \[3\]", np.array([2]), np.array([3]))],
)
def broadcast_args(s0: Array, s1: Array) -> Any:
    """The extents to which two shapes broadcast. i[m], i[n] -> i[max(m, n)]."""
    rank = max(s0.size, s1.size)
    m, n = (np.concatenate([np.ones(rank - s.size, s.dtype), s.reshape(-1)]) for s in (s0, s1))
    if not ((m == n) | (m == 1) | (n == 1)).all():  # NumPy's own shapes know no extents below 0
        raise invalid(f"Incompatible shapes: {shape_text(s0.tolist())} vs. {shape_text(s1.tolist())}")
    return np.where(m == 1, n, m)


@public("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Any:
    """The extents to which two shapes broadcast, at run time. i[m], i[n] -> i[max(m, n)].

    Raises: InvalidArgumentError if they do not. Source: tf.broadcast_dynamic_shape.
    """
    if any(class_has(each, "__fg_bind__") for each in (shape_x, shape_y)):
        return named(None, broadcast_args, shape_x, shape_y)
    x, y = (convert_to_tensor(each, dtype_hint=int64 if holds_int64(each) else int32) for each in (shape_x, shape_y))
    if not isinstance(shape_x, Tensor):
        x = cast(x, y.dtype) if y.dtype == int64 else x
    if not isinstance(shape_y, Tensor):
        y = cast(y, x.dtype) if x.dtype == int64 else y
    return named(None, broadcast_args, x, y)


class SummedAxes(NamedTuple):
    """The axes over which the gradients of two tensors that were broadcast together are summed."""

    r0: Tensor
    r1: Tensor


@public("raw_ops.BroadcastGradientArgs")
def broadcast_gradient_args(s0: TensorLike, s1: TensorLike, name: str | None = None) -> SummedAxes:
    """The axes over which gradients of two tensors of shapes `s0` and `s1`, broadcast together, are summed.

    i[m], i[n] -> i[k], i[l]. Raises: InvalidArgumentError if the shapes do not broadcast.
    Source: tf.raw_ops.BroadcastGradientArgs.
    """
    given: tuple[Any, Any] = (s0, s1)
    own = next((each.dtype for each in given if has_dtype(each)), int32)
    x, y = (convert_to_tensor(each, own) for each in given)
    known = known_value(x), known_value(y)
    if known[0] is not None and known[1] is not None:
        return SummedAxes(*map(convert_to_tensor, _summed_axes(known[0], known[1])))

    def found(m: Tensor, n: Tensor) -> Any:
        return _summed_axes(np.asarray(m), np.asarray(n))

    axes = late(found, [x, y], x.dtype, x.dtype, name=name)
    for each in axes:
        each.set_shape([None])
    return SummedAxes(*axes)


def _summed_axes(s0: Array, s1: Array) -> list[Array]:
    rank = max(s0.size, s1.size)
    padded = [np.concatenate([np.ones(rank - s.size, s.dtype), s]) for s in (s0, s1)]
    if any(m != n and 1 not in (m, n) for m, n in zip(*padded, strict=True)):
        texts = [shape_text(tuple(s.tolist())) for s in (s0, s1)]
        raise invalid(f"Incompatible shapes: {texts[0]} vs. {texts[1]}", "BroadcastGradientArgs")
    axes = [np.flatnonzero(s == 1).astype(s.dtype) for s in padded]
    return [each[:0] for each in axes] if np.array_equal(s0, s1) else axes
