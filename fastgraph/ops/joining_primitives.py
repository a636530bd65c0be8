"""The primitives that join and split: concat, stack, split, unstack of a static number of pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import Tensor
from fastgraph.ops.comparison import equal_p
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, zeros_like_p
from fastgraph.ops.families import Array, Builder, Dims, Node, canonical_axis, invalid, misuse, movement, shape_text
from fastgraph.ops.gathering import dim
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.slicing import slice_tensor

#: The message of a split whose sizes do not sum to the extent; the sum follows.
UNEVEN = (
    "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than the "
    "size of the input along split_dim if not fully specified.  Got: "
)


def _concat_problem(shapes: Sequence[Sequence[int | None]], axis: int) -> str | None:
    first = shapes[0]
    for i, other in enumerate(shapes[1:], 1):
        if len(other) != len(first):
            return (
                "Ranks of all input tensors should match: "
                f"shape[0] = {shape_text(first)} vs. shape[{i}] = {shape_text(other)}"
            )
    if not first:
        return "Can't concatenate scalars (use tf.stack instead)"
    if not -len(first) <= axis < len(first):
        return f"Expected concatenating dimensions in the range [{-len(first)}, {len(first)}), but got {axis}"
    for i, other in enumerate(shapes[1:], 1):
        for d, (m, n) in enumerate(zip(first, other, strict=True)):
            if d != axis % len(first) and m is not None and n is not None and m != n:
                return (
                    f"Dimension {d} in both shapes must be equal: "
                    f"shape[0] = {shape_text(first)} vs. shape[{i}] = {shape_text(other)}"
                )
    return None


def _infer_concat(*values: Aval, axis: int) -> Aval:
    shapes = [v.shape for v in values if v.shape is not None]
    if not shapes:
        return Aval(values[0].dtype, None)
    problem = _concat_problem(shapes, axis)
    if problem is not None:
        raise ValueError(problem)
    axis %= len(shapes[0])
    dims: list[int | None] = [next((s[d] for s in shapes if s[d] is not None), None) for d in range(len(shapes[0]))]
    along = [None if v.shape is None else v.shape[axis] for v in values]
    dims[axis] = None if None in along else sum(along)  # type: ignore[arg-type]
    return Aval(values[0].dtype, tuple(dims))


def _lower_concat(b: Builder, node: Node) -> list[Any]:
    axis = canonical_axis(node.attrs["axis"], b.input(0).rank)

    def element(index: Sequence[Any]) -> Any:
        starts = [b.const(0, "int64")]
        for i in range(b.n_inputs - 1):
            starts.append(starts[-1] + b.input(i).shape[axis])
        result = None
        for i in reversed(range(b.n_inputs)):
            value = b.input(i).at((*index[:axis], index[axis] - starts[i], *index[axis + 1 :]))
            result = value if result is None else b.select(index[axis] < starts[i + 1], value, result)
        return result

    return [element]


def _concat_grad(dys: Tensor, values: list[Any], axis: int) -> list[Any]:
    shapes = [v.shape for v in values]
    rank = next((s.rank for s in shapes if s.rank is not None), None)
    if rank is None:
        along = _only(axis, reshape(shape(shape(dys)), ()))
    else:
        axis = canonical_axis(axis, rank)
        if all(s.rank is not None and s[axis] is not None for s in shapes):
            return list(split_p(dys, sizes=tuple(s[axis] for s in shapes), axis=axis))
    sizes = [dim(v, axis) for v in values]
    grads, start = [], 0
    for v, n in zip(values, sizes, strict=True):
        begin = along * start if rank is None else [start if d == axis else 0 for d in range(rank)]
        grads.append(slice_tensor(dys, begin, shape(v)))
        start = start + n
    return grads


def _only(axis: int, rank: Tensor) -> Any:
    """1 at `axis` and 0 at the other axes of a tensor, whose rank is known when it is computed. i[] -> i[rank]."""

    return cast(equal_p(range_(rank), axis if axis >= 0 else rank + axis), int32)


@movement(
    op="ConcatV2",
    infer=_infer_concat,
    node_name="concat",
    lower=_lower_concat,
    vjp=dict(values=lambda dy, values, axis: _concat_grad(dy, values, axis)),
    samples=lambda: (
        [
            (tuple(np.arange(n * 3).astype(t).reshape(n, 3) for n in sizes), {"axis": 0})
            for t in ("float32", "int64", "bool")
            for sizes in ((2, 1), (1, 0, 3), (2,))
        ]
        + [((np.ones([2, 1]), np.zeros([2, 2])), {"axis": a}) for a in (1, -1)]
    ),
    error_samples=lambda: [
        misuse(
            r"ConcatOp : Dimension 1 in both shapes must be equal: shape\[0\] = \[2,3\] vs. shape\[1\] = \[2,4\]",
            np.ones([2, 3]),
            np.ones([2, 4]),
            axis=0,
        ),
        misuse(
            "ConcatOp : Ranks of all input tensors should match: shape\\[0\\] = \\[2,3\\] vs. shape\\[1\\] = \\[2\\]",
            np.ones([2, 3]),
            np.ones([2]),
            axis=0,
        ),
        misuse(
            "Expected concatenating dimensions in the range \\[-2, 2\\), but got 2",
            np.ones([2, 3]),
            np.ones([2, 3]),
            axis=2,
        ),
        misuse("Can't concatenate scalars", np.ones([]), np.ones([]), axis=0),
    ],
)
def concat_p(*values: Array, axis: int) -> Any:
    """values one after the other along `axis`. t[*s]... -> t[*r]."""
    try:
        if axis == -(2**31):  # by which NumPy means all elements of all, in a row
            raise ValueError
        return np.concatenate(values, axis=axis)
    except ValueError:
        problem = _concat_problem([v.shape for v in values], axis)
        raise invalid(f"ConcatOp : {problem}") from None


def _infer_stack(*values: Aval, axis: int) -> Aval:
    dims: Dims = values[0].shape
    for i, v in enumerate(values):
        if v.shape is None or dims is None:
            dims = dims if v.shape is None else v.shape
            continue
        if len(dims) != len(v.shape) or any(
            m is not None and n is not None and m != n for m, n in zip(dims, v.shape, strict=True)
        ):
            raise ValueError(
                f"Shapes of all inputs must match: values[0].shape = {shape_text(dims)} != "
                f"values[{i}].shape = {shape_text(v.shape)}"
            )
        dims = tuple(n if m is None else m for m, n in zip(dims, v.shape, strict=True))
    if dims is None:
        return Aval(values[0].dtype, None)
    at = canonical_axis(axis, len(dims) + 1)
    return Aval(values[0].dtype, (*dims[:at], len(values), *dims[at:]))


def _lower_stack(b: Builder, node: Node) -> list[Any]:
    axis = canonical_axis(node.attrs["axis"], b.output(0).rank)

    def element(index: Sequence[Any]) -> Any:
        rest = (*index[:axis], *index[axis + 1 :])
        result = b.input(b.n_inputs - 1).at(rest)
        for i in reversed(range(b.n_inputs - 1)):
            result = b.select(index[axis].eq(i), b.input(i).at(rest), result)
        return result

    return [element]


@movement(
    op="Pack",
    infer=_infer_stack,
    node_name="stack",
    lower=_lower_stack,
    vjp=dict(values=lambda dy, values_dtype, axis: unstack_p(dy, num=len(values_dtype), axis=axis)),
    samples=lambda: (
        [
            (tuple(np.full([2, 3], i).astype(t) for i in range(3)), {"axis": a})
            for t in ("float32", "int32", "bool")
            for a in (0, 1, -1)
        ]
        + [((np.array(1.0), np.array(2.0)), {"axis": 0})]
    ),
    error_samples=lambda: [
        misuse(
            "Shapes of all inputs must match: values\\[0\\].shape = \\[2,3\\] != values\\[1\\].shape = \\[2,4\\]",
            np.ones([2, 3]),
            np.ones([2, 4]),
            axis=0,
        )
    ],
)
def stack_p(*values: Array, axis: int) -> Any:
    """values along a new axis. t[*s]... -> t[*r]."""
    first = values[0].shape
    for i, v in enumerate(values):
        if v.shape != first:
            raise invalid(
                f"Shapes of all inputs must match: values[0].shape = {shape_text(values[0].shape)} != "
                f"values[{i}].shape = {shape_text(v.shape)}"
            )
    return np.stack(values, axis)


def _infer_split(value: Aval, *, sizes: tuple[int, ...], axis: int) -> tuple[Aval, ...]:
    if value.shape is None:
        return tuple(Aval(value.dtype, None) for _ in sizes)
    axis = canonical_axis(axis, len(value.shape))
    n = value.shape[axis]
    if n is not None and n != sum(sizes):
        raise ValueError(f"Sizes {list(sizes)} do not add up to dimension {axis} of {shape_text(value.shape)}")
    return tuple(Aval(value.dtype, (*value.shape[:axis], s, *value.shape[axis + 1 :])) for s in sizes)


def _or_zeros(dys: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
    """The gradients of results, zeros of those that have none."""
    return [zeros_like_p(out) if dy is None else dy for dy, out in zip(dys, outs, strict=True)]


def _lower_split(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)
    axis = canonical_axis(node.attrs["axis"], x.rank)
    starts = [sum(node.attrs["sizes"][:i]) for i in range(len(node.attrs["sizes"]))]

    def part(start: int) -> Callable[..., Any]:
        return lambda index: x.at((*index[:axis], index[axis] + b.param(start), *index[axis + 1 :]))

    return [part(start) for start in starts]


@movement(
    op="SplitV",
    infer=_infer_split,
    n_outputs=None,
    lower=_lower_split,
    vjp=dict(value=lambda dys, outs, axis: concat_p(*_or_zeros(dys, outs), axis=axis)),
    samples=lambda: [
        ((np.arange(12).astype(t).reshape(2, 6),), {"sizes": s, "axis": a})
        for t in ("float32", "int32")
        for s, a in (((1, 1), 0), ((2, 4), 1), ((6,), -1), ((0, 3, 3), 1))
    ],
)
def split_p(value: Array, *, sizes: tuple[int, ...], axis: int) -> Any:
    """Pieces of `sizes` along `axis`. t[*s] -> t[*r]..."""
    if value.shape[axis] != sum(sizes):
        raise invalid(UNEVEN + str(sum(sizes)))
    return tuple(np.split(value, np.cumsum(sizes)[:-1], axis=axis))


def _infer_unstack(value: Aval, *, num: int, axis: int) -> tuple[Aval, ...]:
    if value.shape is None:
        return tuple(Aval(value.dtype, None) for _ in range(num))
    axis = canonical_axis(axis, len(value.shape))
    if value.shape[axis] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {value.shape[axis]}")
    rest = (*value.shape[:axis], *value.shape[axis + 1 :])
    return tuple(Aval(value.dtype, rest) for _ in range(num))


def _lower_unstack(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)
    axis = canonical_axis(node.attrs["axis"], x.rank)

    def part(i: int) -> Callable[..., Any]:
        return lambda index: x.at((*index[:axis], b.param(i), *index[axis:]))

    return [part(i) for i in range(node.attrs["num"])]


@movement(
    op="Unpack",
    infer=_infer_unstack,
    n_outputs=None,
    lower=_lower_unstack,
    vjp=dict(value=lambda dys, outs, axis: stack_p(*_or_zeros(dys, outs), axis=axis)),
    samples=lambda: [((np.arange(6.0).reshape(2, 3),), {"num": n, "axis": a}) for n, a in ((2, 0), (3, 1), (3, -1))],
    error_samples=lambda: [
        misuse("Input shape axis 0 must equal 3, got shape \\[2,3\\]", np.ones([2, 3]), num=3, axis=0)
    ],
)
def unstack_p(value: Array, *, num: int, axis: int) -> Any:
    """The slices of value along `axis`. t[*s] -> t[*r]..."""
    if value.shape[axis] != num:
        raise invalid(f"Input shape axis {axis % value.ndim} must equal {num}, got shape {shape_text(value.shape)}")
    return tuple(np.moveaxis(value, axis, 0))
