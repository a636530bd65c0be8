"""Larger and reordered copies: pad, reverse, roll.

Rule: amounts are static attributes; an element function says which input element, if any, stands at an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import (
    UnknownAxis,
    are_known,
    as_tensor,
    known_axes,
    known_value,
    named,
    of_dtypes,
    preferred,
    word,
)
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import fill, range_
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast, maximum, select
from fastgraph.ops.families import Array, Builder, Node, invalid, misuse, movement, public, shape_text, validated
from fastgraph.ops.gathering import dim, gather_densely
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.reduction import reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import ensure_shape_p
from fastgraph.ops.runtime_checks import checked, wide
from fastgraph.ops.slicing import slice_tensor

Paddings = tuple[tuple[int, int], ...]

# ---- pad ------------------------------------------------------------------------------------------------------------


def _padded(dims: Sequence[int | None], paddings: Paddings) -> tuple[int | None, ...]:
    if len(paddings) != len(dims):
        raise ValueError(
            f"The first dimension of paddings must be the rank of inputs[{len(paddings)},2] {shape_text(dims)}"
        )
    for before, after in paddings:
        if before < 0 or after < 0:
            raise ValueError(f"Paddings must be non-negative: {before} {after}")
    return tuple(None if n is None else n + a + b for n, (a, b) in zip(dims, paddings, strict=True))


def _infer_pad(input: Aval, constant: Aval, *, paddings: Paddings) -> Aval:
    return Aval(input.dtype, (None,) * len(paddings) if input.shape is None else _padded(input.shape, paddings))


def _lower_pad(b: Builder, node: Node) -> list[Any]:
    x, paddings = b.input(0), node.attrs["paddings"]

    def element(index: Sequence[Any]) -> Any:
        at, inside = [], None
        for i in range(x.rank):
            k = index[i] - b.param(paddings[i][0])
            fits = b.op("and", k >= 0, k < x.shape[i])
            inside = fits if inside is None else b.op("and", inside, fits)
            at.append(k)
        value = x.at(at)
        return value if inside is None else b.select(inside, value, b.input(1).at(()))

    return [element]


def _pad_grad(dy: Tensor, input_shape: TensorLike, paddings: Paddings) -> Any:
    return slice_tensor(dy, [before for before, _ in paddings], input_shape)


@movement(
    op="PadV2",
    infer=_infer_pad,
    groups=("T", "T"),
    lower=_lower_pad,
    vjp=dict(
        input=lambda dy, input_shape, paddings: _pad_grad(dy, input_shape, paddings),
        constant=lambda dy, input_shape, paddings: reduce_sum(dy) - reduce_sum(_pad_grad(dy, input_shape, paddings)),
    ),
    samples=lambda: [
        ((np.arange(6).reshape(2, 3).astype(t), np.array(1, t)), {"paddings": p})
        for t in ("float32", "int32", "bool")
        for p in (((1, 0), (0, 2)), ((0, 0), (0, 0)), ((2, 1), (1, 1)))
    ],
    error_samples=lambda: [
        misuse(
            r"The first dimension of paddings must be the rank of inputs\[1,2\] \[2,3\]",
            np.ones([2, 3]),
            np.array(0.0),
            paddings=((1, 1),),
        ),
        misuse("Paddings must be non-negative: -1 0", np.ones([2, 3]), np.array(0.0), paddings=((1, 1), (-1, 0))),
    ],
)
def pad_p(input: Array, constant: Array, *, paddings: Paddings) -> Any:
    """input with `constant` before and after along each axis. t[*s], t[] -> t[*r]."""
    dims: Any = validated(_padded, input.shape, paddings)
    result = np.full(dims, constant, input.dtype)
    result[tuple(slice(a, a + n) for n, (a, _) in zip(input.shape, paddings, strict=True))] = input
    return result


def _mirror_offset(mode: str) -> int:
    return 1 if mode == "REFLECT" else 0


def _mirrored(dims: Sequence[int | None], paddings: Paddings, mode: str) -> tuple[int | None, ...]:
    result = _padded(dims, paddings)
    for n, (before, after) in zip(dims, paddings, strict=True):
        if n is None:
            continue
        if max(before, after) > n - _mirror_offset(mode):
            how = "less than" if mode == "REFLECT" else "no greater than"
            then = "not less than" if mode == "REFLECT" else "greater than"
            raise ValueError(f"paddings must be {how} the dimension size: {before}, {after} {then} {n}")
    return result


def _lower_mirror(b: Builder, node: Node) -> list[Any]:
    x, paddings, offset = b.input(0), node.attrs["paddings"], _mirror_offset(node.attrs["mode"])

    def element(index: Sequence[Any]) -> Any:
        at = []
        for i in range(x.rank):
            k = index[i] - b.param(paddings[i][0])
            n = x.shape[i]
            k = b.select(k < 0, b.const(offset - 1, "int64") - k, k)
            at.append(b.select(k >= n, n + n - (1 + offset) - k, k))
        return x.at(at)

    return [element]


def _infer_mirror(input: Aval, *, paddings: Paddings, mode: str) -> Aval:
    dims = (None,) * len(paddings) if input.shape is None else _mirrored(input.shape, paddings, mode)
    return Aval(input.dtype, dims)


def _mirror_grad(dy: Tensor, input_shape: tuple[int, ...], paddings: Paddings, mode: str) -> Any:
    """Each mirrored border is added to what it mirrors, axis by axis."""
    offset = _mirror_offset(mode)
    for axis, (before, after) in enumerate(paddings):
        n = dim(dy, axis) - before - after
        middle = _along(dy, axis, before, n)
        if before:
            border = reverse_p(_along(dy, axis, 0, before), axes=(axis,))
            middle = middle + _set_into(border, axis, offset, n)
        if after:
            border = reverse_p(_along(dy, axis, before + n, after), axes=(axis,))
            middle = middle + _set_into(border, axis, n - after - offset, n)
        dy = middle
    return dy


def _along(x: Any, axis: int, start: Any, size: TensorLike) -> Any:
    rank = x.shape.rank
    begin = [start if i == axis else 0 for i in range(rank)]
    return slice_tensor(x, begin, [size if i == axis else -1 for i in range(rank)])


def _set_into(x: Any, axis: int, start: Tensor | int, n: Tensor | int) -> Any:
    """x with zeros before and after along `axis`, to a length of n."""
    zeros_before = _along(x, axis, 0, 0)
    own = dim(x, axis)
    lengths = [(start, zeros_before), (n - start - own, zeros_before)]
    pieces = []
    for length, _ in lengths:
        dims = [length if i == axis else dim(x, i) for i in range(x.shape.rank)]
        pieces.append(broadcast_to(cast(0, x.dtype), dims))
    return concat([pieces[0], x, pieces[1]], axis)


@movement(
    infer=_infer_mirror,
    lower=_lower_mirror,
    vjp=dict(input=lambda dy, input_shape, paddings, mode: _mirror_grad(dy, input_shape, paddings, mode)),
    samples=lambda: [
        ((np.arange(12.0).reshape(3, 4),), {"paddings": p, "mode": m})
        for m in ("REFLECT", "SYMMETRIC")
        for p in (((1, 0), (0, 2)), ((2, 2), (3, 1)), ((0, 0), (0, 0)))
    ],
    error_samples=lambda: [
        misuse(
            "paddings must be less than the dimension size: 3, 0 not less than 2",
            np.ones([2, 3]),
            paddings=((3, 0), (0, 0)),
            mode="REFLECT",
        ),
        misuse(
            "paddings must be no greater than the dimension size: 3, 0 greater than 2",
            np.ones([2, 3]),
            paddings=((3, 0), (0, 0)),
            mode="SYMMETRIC",
        ),
    ],
)
def mirror_pad_p(input: Array, *, paddings: Paddings, mode: str) -> Any:
    """input with its own elements, mirrored, before and after along each axis. t[*s] -> t[*r]."""
    validated(_mirrored, input.shape, paddings, mode)
    if not paddings:  # which NumPy does not take, not even of a scalar
        return input.copy()
    return np.pad(input, paddings, mode="reflect" if mode == "REFLECT" else "symmetric")


@public("pad")
def pad(
    tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", constant_values: TensorLike = 0,
    name: str | None = None,
) -> Any:  # fmt: skip
    """tensor with paddings[i] elements before and after along axis i: a constant, or itself mirrored. t[*s] -> t[*r].

    Args:
        tensor: The tensor.
        paddings: i[rank, 2]: for each axis how many before, how many after.
        mode: "CONSTANT"; "REFLECT": mirrored without the element at the border; "SYMMETRIC": with it.
        constant_values: The constant, of the tensor's dtype.

    Raises:
        InvalidArgumentError: The paddings do not fit.
        ValueError: There is no such mode.

    Examples:
        >>> tf.pad([1, 2, 3], [[1, 2]])
        <tf.Tensor: shape=(6,), dtype=int32, numpy=array([0, 1, 2, 3, 0, 0], dtype=int32)>
        >>> tf.pad([1, 2, 3], [[2, 0]], mode="REFLECT")
        <tf.Tensor: shape=(5,), dtype=int32, numpy=array([3, 2, 1, 2, 3], dtype=int32)>
        >>> tf.pad([1, 2, 3], [[2, 0]], mode="SYMMETRIC")
        <tf.Tensor: shape=(5,), dtype=int32, numpy=array([2, 1, 1, 2, 3], dtype=int32)>

    Source: tf.pad.
    """
    kind = word(mode, "mode").upper()
    if kind not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {kind}"
        )
    allowed = "int32 int64" if isinstance(paddings, Tensor) else "integer"
    paddings = of_dtypes(preferred(paddings, int32), allowed, "Pad.Tpaddings")  # a list may have tensors in it
    amounts = known_value(paddings)
    tensor = as_tensor(tensor)
    if tensor.dtype.name == "string" and isinstance(constant_values, int):
        constant_values = ""
    elif tensor.dtype.is_bool and isinstance(constant_values, int):
        constant_values = bool(constant_values)
    filler = as_tensor(constant_values, None if isinstance(constant_values, Tensor) else tensor.dtype)
    if filler.shape.rank:
        raise invalid(f"constant_values must be a scalar. Found: {shape_text(tuple(filler.shape))}")
    if amounts is None:
        return _padded_by(paddings, tensor, kind, constant_values)
    if amounts.size and (amounts.ndim != 2 or amounts.shape[1] != 2):
        raise invalid(f"paddings must be a matrix with 2 columns: {shape_text(amounts.shape)}")
    pairs = tuple((int(a), int(b)) for a, b in np.reshape(amounts, (-1, 2)))
    if kind != "CONSTANT":
        return named(name, mirror_pad_p, tensor, paddings=pairs, mode=kind)
    if name is None and (isinstance(constant_values, Tensor) or constant_values) and current_trace() is not None:
        name = "PadV2"
    return named(name, pad_p, tensor, constant_values, paddings=pairs)


def _padded_by(paddings: Tensor, x: Tensor, kind: str, value: TensorLike) -> Any:
    """x padded by amounts that are known only when this runs: axis by axis, by what each place is taken from."""
    rank = x.shape.rank
    if rank is None:
        return late(lambda t, by, v: pad(t, by, kind, v), [x, paddings, as_tensor(value, x.dtype)], x.dtype)
    paddings, value = ensure_shape_p(paddings, shape=(rank, 2)), as_tensor(value, x.dtype)
    paddings = checked(paddings, 0, 2**63 - 1, "Paddings must be non-negative: {}")
    for axis in range(rank):
        if kind == "CONSTANT":
            dims = [dim(x, i) for i in range(rank)]
            edges = [fill([*dims[:axis], paddings[axis][side], *dims[axis + 1 :]], value) for side in (0, 1)]
            x = concat([edges[0], x, edges[1]], axis)
        else:  # each place shows another one, mirrored at the ends
            n, at_end = wide(dim(x, axis)), int(kind == "SYMMETRIC")
            text = f"paddings must be {'no greater' if at_end else 'less'} than the dimension size: {{}} is not"
            both = checked(paddings[axis], 0, n - 1 + at_end, text)
            place = range_(-both[0], n + both[1])
            place = select(place < 0, -at_end - place, select(place < n, place, 2 * n - 2 + at_end - place))
            x = gather_densely(x, place, axis)
    return x


# ---- reverse, roll --------------------------------------------------------------------------------------------------


def _reversed_axes(axes: tuple[int, ...], rank: int) -> set[int]:
    found: set[int] = set()
    for i, a in enumerate(axes):
        if not -rank <= a < rank:
            raise ValueError(f"'axis'[{i}] = {a} is out of valid range [0, {rank - 1}")  # TensorFlow's text

        if a % rank in found:
            raise ValueError(f"axis {a % rank} specified more than once.")
        found.add(a % rank)
    return found


def _infer_reverse(tensor: Aval, *, axes: tuple[int, ...]) -> Aval:
    if tensor.shape is not None:
        _reversed_axes(axes, len(tensor.shape))
    return Aval(tensor.dtype, tensor.shape)


def _lower_reverse(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)
    axes = _reversed_axes(node.attrs["axes"], x.rank)
    return [lambda index: x.at([x.shape[i] - 1 - k if i in axes else k for i, k in enumerate(index)])]


@movement(
    op="ReverseV2",
    infer=_infer_reverse,
    lower=_lower_reverse,
    vjp=dict(tensor=lambda dy, axes: reverse_p(dy, axes=axes)),
    samples=lambda: [
        ((np.arange(6).reshape(2, 3).astype(t),), {"axes": a})
        for t in ("float32", "int32", "bool")
        for a in ((0,), (-1,), (0, 1), ())
    ],
    error_samples=lambda: [
        misuse("axis 0 specified more than once.", np.ones([2]), axes=(0, 0)),
        misuse(r"'axis'\[0\] = 1 is out of valid range \[0, 0", np.ones([2]), axes=(1,)),
    ],
)
def reverse_p(tensor: Array, *, axes: tuple[int, ...]) -> Any:
    """tensor read backwards along `axes`. t[*s] -> t[*s]."""
    return np.flip(tensor, tuple(validated(_reversed_axes, axes, tensor.ndim)))


@public("reverse")
def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Any:
    """tensor read backwards along the axes `axis`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range or named twice. Source: tf.reverse.
    """
    try:
        axes = known_axes(axis)
    except UnknownAxis:
        x = as_tensor(tensor)
        made = late(reverse, [x, preferred(axis, int32)], x.dtype, name=name)
        made.set_shape(x.shape)
        return made
    rank = 0 if isinstance(axis, (int, np.generic)) else np.ndim(axis) if isinstance(axis, np.ndarray) else _rank(axis)
    if rank != 1:
        raise invalid(f"'dims' must be 1-dimension, not {rank}", "ReverseV2", as_tensor(tensor).shape)
    return named(name, reverse_p, tensor, axes=axes)


def _rank(x: TensorLike) -> int:
    return int(as_tensor(x).shape.rank or 0)


def _lower_roll(b: Builder, node: Node) -> list[Any]:
    x, dims = b.input(0), node.inputs[0].aval.shape or ()

    def element(index: Sequence[Any]) -> Any:
        at = list(index)
        for by, axis in zip(node.attrs["shifts"], node.attrs["axes"], strict=True):
            i, n, known = at[axis], x.shape[axis], dims[axis] if dims else None
            if known is None or by % max(known, 1):
                start = b.op("floormod", b.param(by), n) if known is None else b.param(by % known)
                at[axis] = b.within(b.select(i < start, i + (n - start), i - start), n, i, b.output(0).shape[axis])
        return x.at(at)

    return [element]


@movement(
    op="Roll",
    infer=lambda input, shifts, axes: Aval(input.dtype, input.shape),
    lower=_lower_roll,
    vjp=dict(input=lambda dy, shifts, axes: roll_p(dy, shifts=tuple(-by for by in shifts), axes=axes)),
    samples=lambda: (
        [
            ((np.arange(24).reshape(4, 6).astype(t),), {"shifts": by, "axes": axes})
            for t in ("float32", "int32", "bool")
            for by, axes in (((1,), (0,)), ((-8,), (1,)), ((2, 13), (0, 1)), ((1, 1), (1, 1)), ((0,), (1,)))
        ]
        + [((np.zeros([2, 0], np.float32),), {"shifts": (3,), "axes": (1,)})]
    ),
)
def roll_p(input: Array, *, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """input moved by `shifts` along as many `axes`, counted from the front. t[*s] -> t[*s]."""
    return np.roll(input, shifts, axes)


@public("roll")
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Any:
    """input moved by `shift` along `axis`, what leaves at the end coming in at the start. t[*s] -> t[*s].

    Several shifts go with as many axes. Raises: InvalidArgumentError for an axis out of range or other numbers.
    Source: tf.roll.
    """
    x = as_tensor(input)
    if not are_known(axis):
        return late_unless_known(roll, [x], {"shift": shift, "axis": axis}, x.dtype, x.shape, name)
    axes = known_axes(axis, "Taxis", hint=False)
    if not isinstance(shift, (int, list, tuple)):
        of_dtypes(as_tensor(shift), "index", "Tshift")
    if _rank(shift) > 1 and isinstance(shift, Tensor):
        raise invalid(f"shift must be a scalar or a 1-D vector. Found: {shape_text(tuple(shift.shape))}", "Roll")
    if _rank(shift) < 2 and _rank(shift) != _rank(axis):
        raise invalid("shift and axis must have the same size", "Roll")
    shifts = _list(shift, len(axes))
    if any(isinstance(by, (list, tuple)) for by in shifts):
        raise invalid(f"shift must be a scalar or a 1-D vector. Found: {shape_text(np.shape(shifts))}", "Roll")
    if len(shifts) != len(axes):
        raise invalid("shift and axis must have the same size", "Roll")
    if x.shape.rank is None:
        for by, along in zip(shifts, axes, strict=True):
            x = _rolled_in_the_middle(x, by, along)
        return x
    if len(x.shape) == 0:
        raise invalid("input must be 1-D or higher", "Roll")
    for along in axes:
        if not -len(x.shape) <= along < len(x.shape):
            raise invalid(f"axis {along if along >= 0 else along + len(x.shape)} is out of range", "Roll")
    axes = tuple([along % len(x.shape) for along in axes])
    known = tuple([int(by) for by in shifts if isinstance(by, (int, np.integer)) and -(2**31) < by < 2**31])
    if current_trace() is not None and len(known) == len(shifts):
        return named(name, roll_p, x, shifts=known, axes=axes)
    for by, along in zip(shifts, axes, strict=True):
        n = dim(x, along)
        if isinstance(by, Tensor) or isinstance(n, Tensor):
            n = wide(n)
            by = wide(by) % maximum(n, 1)  # an axis may turn out to be empty
        else:
            by = by % max(n, 1)
            if by == 0:  # a slice without elements would keep the rest from being a kernel
                continue
        static = x.shape
        x = concat([_along(x, along, n - by, by), _along(x, along, 0, n - by)], along)
        x.set_shape(static)
    return x


def _rolled_in_the_middle(x: Tensor, shift: int, axis: int) -> Any:
    """Roll where the rank is not known: along the middle of three axes."""
    dims = shape(x)
    before, after = reduce_prod(dims[:axis]), 1 if axis == -1 else reduce_prod(dims[axis + 1 :])
    return reshape(roll(reshape(x, stack([before, dims[axis], after])), shift, 1), dims)


def _list(x: TensorLike, n: int) -> Any:
    """The n integers of a list, or of a tensor, whose length a graph may not know."""
    if isinstance(x, (int, np.integer, list, tuple)):
        return [x] if isinstance(x, (int, np.integer)) else x
    tensor = as_tensor(x)
    if tensor.shape.rank == 1 and tensor.shape[0] is None:
        return unstack(tensor, n)
    return unstack(tensor) if tensor.shape.rank == 1 else [tensor]
