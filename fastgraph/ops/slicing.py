"""Slices: the block of a size at a place, and its gradient, which sets it into zeros.

Rule: a block that does not lie inside is an error on every path, never a read outside the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.dtype import DType, bool_, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import as_tensor, extents, index_vector, named, residual_shape
from fastgraph.ops.elementwise import cast, maximum, minimum, ones_like, select
from fastgraph.ops.families import Array, Builder, Node, body_of, misuse, movement, public, validated
from fastgraph.ops.movement import shape, shape_of_value


def _check_slice(
    dims: Sequence[int | None], begin: Sequence[int | None], size: Sequence[int | None]
) -> tuple[int | None, ...]:
    """The shape of a slice. ValueError with TensorFlow's text if it does not lie inside."""
    if len(begin) != len(dims) or len(size) != len(dims):
        raise ValueError(
            f"Expected begin and size arguments to be 1-D tensors of size {len(dims)}, but got shapes [{len(begin)}] "
            f"and [{len(size)}] instead."
        )
    result: list[int | None] = []
    for i, (n, b, s) in enumerate(zip(dims, begin, size, strict=True)):
        if n is None or b is None or s is None:
            result.append(0 if n == 0 else n if b == 0 and s == -1 else None if s == -1 else s)
            continue
        if not 0 <= b <= n:
            raise ValueError(f"Expected begin[{i}] in [0, {n}], but got {b}")
        if s != -1 and not 0 <= s <= n - b:
            raise ValueError(f"Expected size[{i}] in [0, {n - b}], but got {s}")
        result.append(n - b if s == -1 else s)
    return tuple(result)


def _infer_slice(input: Aval, begin: Aval, *, size: tuple[int | None, ...]) -> Aval:
    if input.shape is None:
        return Aval(input.dtype, tuple(None if s == -1 else s for s in size))
    starts = begin.numbers
    if starts is None:
        starts = [None] * ((begin.shape or (None,))[0] or len(input.shape))
    return Aval(input.dtype, _check_slice(input.shape, starts, size))


def _lower_slice(b: Builder, node: Node) -> list[Any]:
    x, begin, out = b.input(0), b.input(1), b.output(0)
    starts, dims = node.inputs[1].aval.numbers, node.inputs[0].aval.shape
    if starts is not None and dims is not None and None not in (*starts, *dims, *(node.outputs[0].aval.shape or ())):
        # It lies inside, as inference has seen.
        by = list(zip([b.param(s) if s else 0 for s in starts], x.shape, out.shape, strict=True))
        return [lambda index: x.at([b.within(i + s, n, i, m) for i, (s, n, m) in zip(index, by, strict=True)])]

    def element(index: Sequence[Any]) -> Any:
        at, fits = [], None
        for i in range(x.rank):
            start = b.cast(begin.at((b.const(i, "int64"),)), "int64")
            inside = b.op("and", start >= 0, start + out.shape[i] <= x.shape[i])
            fits = inside if fits is None else b.op("and", fits, inside)
            at.append(index[i] + start)
        value = x.at(at)
        return value if fits is None else b.check(fits, value)

    return [element]


@movement(
    infer=_infer_slice,
    groups=("T", "Index"),
    dtypes={"Index": "index"},
    lower=_lower_slice,
    vjp=dict(input=lambda dy, begin, input_shape: slice_grad(dy, begin, residual_shape(input_shape))),
    samples=lambda: [
        ((np.arange(24).reshape(2, 3, 4).astype(t), np.array(b, np.int32)), {"size": s})
        for t in ("float32", "int64", "bool")
        for b, s in (((0, 0, 0), (2, 3, 4)), ((1, 1, 2), (1, 2, 1)), ((0, 3, 1), (2, 0, 3)))
    ],
    error_samples=lambda: [
        misuse(r"Expected size\[1\] in \[0, 2\], but got 3", np.ones([2, 3]), np.array([0, 1]), size=(2, 3)),
        misuse(r"Expected begin\[1\] in \[0, 3\], but got 4", np.ones([2, 3]), np.array([0, 4]), size=(2, 0)),
        misuse(
            "Expected begin and size arguments to be 1-D tensors of size 2", np.ones([2, 3]), np.array([0]), size=(2,)
        ),
    ],
)
def slice_p(input: Array, begin: Array, *, size: tuple[int, ...]) -> Any:
    """The block of `size` at `begin`; a size of -1 reaches to the end. t[*s], i[rank] -> t[*size]."""
    result = validated(_check_slice, input.shape, begin.tolist(), size)
    return input[tuple(slice(b, b + n) for b, n in zip(begin.tolist(), result, strict=True))]


def _infer_slice_dynamic(input: Aval, begin: Aval, size: Aval) -> Aval:
    sizes = size.numbers
    if sizes is None:
        return Aval(input.dtype, shape_of_value(size) if input.shape is None else (None,) * len(input.shape))
    return _infer_slice(input, begin, size=tuple(sizes))


@movement(
    op="Slice",
    infer=_infer_slice_dynamic,
    groups=("T", "Index", "Index"),
    dtypes={"Index": "index"},
    shape_inputs=(1, 2),
    lower=_lower_slice,
    vjp=dict(input=lambda dy, begin, input_shape: slice_grad(dy, begin, residual_shape(input_shape))),
    samples=lambda: [((np.arange(6.0).reshape(2, 3), np.array([1, 0]), np.array([1, -1])), {})],
)
def slice_dynamic(input: Array, begin: Array, size: Array) -> Any:
    """`slice` of a size known only at run time. t[*s], i[rank], i[rank] -> t[*size]."""
    return body_of(slice_p)(input, begin, size=tuple(size.tolist()))


def _check_room(dims: Sequence[int], begin: Sequence[int], shape: Sequence[int]) -> None:
    """ValueError with TensorFlow's text, which pads here, if a block does not lie inside."""
    for n, first, m in zip(dims, begin, shape, strict=True):
        if first < 0 or first + n > m:
            raise ValueError(f"Paddings must be non-negative: {first} {m - first - n}")


def _lower_slice_grad(b: Builder, node: Node) -> list[Any]:
    dy, begin, out = b.input(0), b.input(1), b.output(0)
    seen = None not in (node.inputs[1].aval.numbers or (None,))  # by the slice: it lies inside

    def element(index: Sequence[Any]) -> Any:
        at, inside, room = [], None, None
        for i in range(dy.rank):
            start = b.cast(begin.at((b.const(i, "int64"),)), "int64")
            k = index[i] - start
            fits = b.op("and", k >= 0, k < dy.shape[i])
            inside = fits if inside is None else b.op("and", inside, fits)
            at.append(k)
            if not seen:
                fits = b.op("and", start >= 0, start + dy.shape[i] <= out.shape[i])
                room = fits if room is None else b.op("and", room, fits)
        value = dy.at(at)
        if inside is None:
            return value
        value = b.select(inside, value, b.const(0, node.inputs[0].aval.dtype.name))
        return value if room is None else b.check(room, value)

    return [element]


@movement(
    infer=lambda dy, begin, shape: Aval(dy.dtype, shape_of_value(shape)),
    groups=("T", "Index", "Tshape"),
    dtypes={"Index": "index", "Tshape": "index"},
    shape_inputs=(2,),
    lower=_lower_slice_grad,
    vjp=dict(dy=lambda dy, begin, dy_shape: slice_tensor(dy, begin, dy_shape)),
    samples=lambda: [
        ((np.ones([1, 2]), np.array([1, 0]), np.array([2, 3])), {}),
        ((np.array(1.5), np.zeros([0], int), np.zeros([0], int)), {}),
    ],
    error_samples=lambda: [
        misuse("Paddings must be non-negative: 2 -1", np.ones([1, 3]), np.array([0, 2]), np.array([1, 4])),
        misuse("Paddings must be non-negative: -1 2", np.ones([1, 3]), np.array([0, -1]), np.array([1, 4])),
    ],
)
def slice_grad(dy: Array, begin: Array, shape: Array) -> Any:
    """dy set into zeros of `shape` at `begin`. t[*r], i[rank], i[rank] -> t[*shape]."""
    validated(_check_room, dy.shape, begin.tolist(), shape.tolist())
    result = np.zeros(tuple(shape.tolist()), dy.dtype)
    result[tuple(slice(b, b + n) for b, n in zip(begin.tolist(), dy.shape, strict=True))] = dy
    return result


def _same_integers(begin: TensorLike, size: TensorLike) -> None:
    """Refuse a slice whose tensors are of two integer types."""
    types = [x.dtype for x in (begin, size) if isinstance(x, Tensor)]
    if len(types) == 2 and types[0] is not types[1]:
        raise op_errors.mixed_dtypes("Slice", ("input", "begin", "size"), types, "", current_trace())


def slice_tensor(input: Any, begin: Any, size: TensorLike, name: str | None = None) -> Any:
    """`fastgraph.slice` where begin and size need not be of one integer type: gradients have them as they come."""
    text = "Expected begin and size arguments to be 1-D tensors, but one of them is a scalar. [Op:Slice]"
    amount, start = extents(size, "Slice.Index", text), extents(begin, "Slice.Index", text)
    if amount.static is not None:
        if -1 in amount.static and start.static is None:
            return named(name, slice_dynamic, input, start.tensor, _numbers(amount.static, start.tensor.dtype))
        first = index_vector(start.static) if start.static is not None else start.tensor
        return named(name, slice_p, input, first, size=amount.static)
    first = _numbers(start.static, amount.tensor.dtype) if start.static is not None else start.tensor
    if isinstance(first, Tensor) and first.dtype is not amount.tensor.dtype:  # one of them was computed, say
        return named(name, slice_dynamic, input, cast(first, int64), cast(amount.tensor, int64))
    return named(name, slice_dynamic, input, first, amount.tensor)


def _numbers(values: tuple[int, ...], dtype: DType) -> Any:
    """Numbers that are known, of the dtype of those that are not."""
    return as_tensor(np.array(values, dtype.numpy_dtype))


@public("slice")
def slice_(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Any:
    """The block of `size` at `begin`; a size of -1 reaches to the end. t[*s] -> t[*size].

    Raises: InvalidArgumentError if it does not lie inside, TypeError for mixed integer types. Source: tf.slice.
    """
    _same_integers(begin, size)
    return slice_tensor(input_, begin, size, name)


def dynamic_update_slice(operand: TensorLike, update: TensorLike, indices: TensorLike) -> Any:
    """Return `operand` with the block `update` of the same rank in place of what begins at `indices`.

    t[*s], t[*u], i[rank] -> t[*s]. A block that would reach beyond the end lies at the end, as XLA has it. Source:
    TensorFlow's xla.dynamic_update_slice.
    """
    operand = convert(operand)
    update = as_tensor(update, operand.dtype)
    begin = cast(convert(indices), int64)
    room = cast(shape(operand), int64) - cast(shape(update), int64)
    begin = minimum(maximum(begin, 0), room)
    whole_shape = shape(operand)
    put = slice_grad(update, begin, whole_shape)
    there = slice_grad(ones_like(update, bool_), begin, whole_shape)
    return select(there, put, operand)


def dynamic_slice(x: TensorLike, starts: TensorLike, sizes: TensorLike) -> Any:
    """Return the block of these sizes that begins at `starts`. t[*s], i[rank], i[rank] -> t[*sizes].

    A block that would reach beyond the end lies at the end, as XLA has it. Source: TensorFlow's xla.dynamic_slice.
    """
    x = convert(x)
    begin, size = cast(convert(starts), int64), cast(convert(sizes), int64)
    return slice_tensor(x, minimum(maximum(begin, 0), cast(shape(x), int64) - size), size)
