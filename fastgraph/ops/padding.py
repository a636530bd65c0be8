"""Larger and reordered copies: pad, tile, reverse, roll, repeat, meshgrid.

Rule: amounts are static attributes; an element function says which input element, if any, stands at an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.dtype import int32, int64, uint64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.op_errors import MAX_RANK
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError
from fastgraph.ops.arguments import (
    UnknownAxis,
    as_tensor,
    extents,
    known_axes,
    known_value,
    named,
    of_dtypes,
    preferred,
    word,
)
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.creation import fill, range_
from fastgraph.ops.elementwise import cast, maximum, minimum, select
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    canonical_axis,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.gathering import dim, gather
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.late_calls import late
from fastgraph.ops.movement import expand_dims_p, reshape, shape, squeeze_p
from fastgraph.ops.reduction import reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import ensure_shape_p
from fastgraph.ops.runtime_checks import MOST, checked, wide
from fastgraph.ops.scans import cumsum_p
from fastgraph.ops.slicing import slice_tensor
from fastgraph.ops.sorting import search_sorted

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


def _along(x: Any, axis: int, start: Any, size: Any) -> Any:
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
            f"Received `mode` = {mode}"
        )
    if not isinstance(paddings, Tensor):
        paddings = preferred(paddings, int32)  # a list may have tensors in it
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
    if amounts.size and amounts.dtype.kind not in "iu":
        raise TypeError(f"pad: paddings must be integers, not {amounts.dtype}")
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
            x = gather(x, place, axis=axis)
    return x


# ---- tile -----------------------------------------------------------------------------------------------------------


def _tiled(dims: Sequence[int | None], multiples: Sequence[int]) -> tuple[int | None, ...]:
    if len(multiples) != len(dims):
        raise ValueError(
            f"Expected multiples argument to be a vector of length {len(dims)} but got length {len(multiples)}"
        )
    for i, m in enumerate(multiples):
        if m < 0:
            raise ValueError(f"Expected multiples[{i}] >= 0, but got {m}")
    return tuple(None if n is None else n * m for n, m in zip(dims, multiples, strict=True))


def _tile_grad(dy: Tensor, input: Tensor, multiples: tuple[int, ...]) -> Any:
    split: list[Any] = []
    axes = []
    for i, m in enumerate(multiples):
        if m != 1:
            axes.append(len(split))
            split.append(m)
        split.append(dim(input, i))
    return reduce_sum(reshape(dy, split), tuple(axes))


@movement(
    infer=lambda input, *, multiples: Aval(
        input.dtype, (None,) * len(multiples) if input.shape is None else _tiled(input.shape, multiples)
    ),
    lower=lambda b, node: [lambda index: b.input(0).at([i % n for i, n in zip(index, b.input(0).shape, strict=True)])],
    vjp=dict(input=lambda dy, input, multiples: _tile_grad(dy, input, multiples)),
    samples=lambda: [
        ((np.arange(6).reshape(2, 3).astype(t),), {"multiples": m})
        for t in ("float32", "int32", "bool")
        for m in ((2, 1), (1, 3), (0, 1), (2, 2))
    ],
    error_samples=lambda: [
        misuse(
            "Expected multiples argument to be a vector of length 2 but got length 1", np.ones([2, 3]), multiples=(2,)
        ),
        misuse(r"Expected multiples\[1\] >= 0, but got -1", np.ones([2, 3]), multiples=(2, -1)),
    ],
)
def tile_p(input: Array, *, multiples: tuple[int, ...]) -> Any:
    """input repeated multiples[i] times along axis i. t[*s] -> t[*r]."""
    try:
        _tiled(input.shape, multiples)
    except ValueError as error:
        raise invalid(str(error)) from None
    # By one copy: [n, m] -> [1, n, m] -> [a, n, m] -> [a * n, m]; what is not repeated keeps its one axis.
    pairs = list(zip(multiples, input.shape, strict=True))
    dims = [n for m, size in pairs for n in ((size,) if m == 1 else (m, size))]
    if len(dims) > MAX_RANK:
        return np.tile(input, multiples)  # axis by axis
    apart = input.reshape([n for m, size in pairs for n in ((size,) if m == 1 else (1, size))])
    return np.broadcast_to(apart, dims).reshape([m * size for m, size in pairs])


@public("tile")
def tile(input: TensorLike, multiples: SizeLike, name: str | None = None) -> Any:
    """input repeated multiples[i] times along axis i. t[*s] -> t[*r].

    Raises: InvalidArgumentError if there is not one number per axis, or a negative one. Source: tf.tile.
    """
    times = extents(multiples, "Tile.Tmultiples", "Expected multiples to be 1-D, but got shape [] [Op:Tile]")
    if times.static is not None:
        return named(name, tile_p, input, multiples=times.static)
    input = as_tensor(input)
    rank = input.shape.rank
    if rank is None:
        return late(tile, [input, times.tensor], input.dtype, name=name)
    # [n, m] -> [1, n, 1, m] -> [a, n, b, m] -> [a * n, b * m]
    spread = expand_dims_p(input, axes=tuple(range(0, 2 * rank, 2)))
    wide: list[Any] = []
    for i in range(rank):
        wide += [times.tensor[i], dim(input, i)]
    return reshape(broadcast_to(spread, wide), shape(input, times.tensor.dtype) * times.tensor, name)


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
        x = concat([_along(x, along, n - by, by), _along(x, along, 0, n - by)], along)
    return x


def _rolled_in_the_middle(x: Tensor, shift: int, axis: int) -> Any:
    """Where the rank is not known: the same along the middle of three axes."""
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


_MOST_PLACES = 2**20  # that are written into a graph; places of more are computed as it runs


def _times(repeats: TensorLike) -> Any:
    """How often each is there: a negative number of times is none, and too many do not wrap. i[*s] -> i64[*s]."""
    return minimum(maximum(wide(repeats), 0), MOST)


@public("repeat")
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Any:
    """Each element (or slice along `axis`) `repeats` times. t[*s] -> t[*r].

    Raises: ValueError for an axis out of range. Source: tf.repeat.
    """
    x = as_tensor(input)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if not isinstance(axis, int):
        raise TypeError(f"Argument `axis` must be an int. Received `axis` = {axis} of type {type(axis).__name__}")
    amounts: Any = preferred(int(repeats) if isinstance(repeats, (bool, np.generic)) else repeats, int32)
    if amounts.dtype == uint64:
        amounts = cast(amounts, int64)
    if x.shape.rank is None and axis >= 0:  # the same along the middle of three axes
        dims = shape(x)
        before, after = dims[:axis], dims[axis + 1 :]
        y = repeat(reshape(x, stack([reduce_prod(before), dim(x, axis), reduce_prod(after)])), amounts, 1)
        return reshape(y, concat([before, shape(y)[1:2], after], 0), name=name)
    if x.shape.rank is None:
        return late(lambda t, n: repeat(t, n, axis), [x, amounts], x.dtype, name=name)
    if not amounts.dtype.is_integer and amounts.shape != (0,):
        raise TypeError(f"Argument `tensor` (name: repeats) must be of type integer. Received `tensor` = {amounts}")
    if (amounts.shape.rank or 0) > 1:
        raise ValueError(f"Shape {amounts.shape} must have rank at most 1")
    axis = canonical_axis(axis, len(x.shape))
    counts, n = known_value(amounts), x.shape[axis]
    if n is not None and counts is not None and (current_trace() is None or n <= _MOST_PLACES):
        if counts.size == 1 and counts.dtype.kind == "i" and counts.min() < 0:
            raise InvalidArgumentError(
                None, None, f"Expected multiples[{axis + 1}] >= 0, but got {counts.min()} [Op:Tile]"
            )
        counts = np.maximum(counts, 0) if counts.dtype.kind == "i" else counts  # of many, fewer than none are none
        # NumPy does not see that the number of bytes overflows.
        total = sum(counts.ravel().tolist()) * (n if counts.size == 1 else 1) if counts.dtype.kind in "iu" else 0
        if total >= 2**40:
            raise ResourceExhaustedError(None, None, f"OOM when allocating tensor of {total} elements")
        try:
            places = np.repeat(np.arange(n, dtype=np.int32), counts)
        except MemoryError as error:
            raise ResourceExhaustedError(None, None, f"Out of memory: {error}") from None
        if axis == 0 and counts.size == 1:  # as the one row of a matrix: its gradient is dense, as TensorFlow's
            return squeeze_p(gather(expand_dims_p(x, axes=(0,)), places, axis=1, name=name), axes=(0,))
        return gather(x, places, axis=axis, name=name)
    dims = [dim(x, i) for i in range(len(x.shape))]
    if amounts.shape.num_elements() == 1:
        text = f"Expected multiples[{axis + 1}] >= 0, but got {{}}"
        times: Any = checked(reshape(amounts, ()), 0, 2**63 - 1, text) if counts is None else int(counts.reshape(()))
        every = wide(dims[axis]) * times if isinstance(times, Tensor) else dims[axis] * times
        rows = broadcast_to(expand_dims_p(x, axes=(axis + 1,)), [*dims[: axis + 1], times, *dims[axis + 1 :]])
        return reshape(rows, [*dims[:axis], every, *dims[axis + 1 :]], name=name)
    each = broadcast_to(_times(amounts), [dims[axis]])
    ends = cumsum_p(each, axis=0, exclusive=False, reverse=False)
    places = range_(reduce_sum(each))  # each shows the element whose end is the first above it
    return gather(
        x,
        search_sorted(expand_dims_p(ends, axes=(0,)), expand_dims_p(places, axes=(0,)), right=True, out_type=int32)[0],
        axis=axis,
        name=name,
    )


@public("meshgrid")
def meshgrid(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Vectors repeated to grids of coordinates; indexing "xy" (first two swapped) or "ij". Source: tf.meshgrid."""
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    del name
    vectors = [reshape(as_tensor(a), (-1,)) for a in args]
    n = len(vectors)
    first: Any = vectors[0].dtype if vectors else None
    for i, v in enumerate(vectors):  # TensorFlow multiplies each by ones of the first one's dtype
        if v.dtype is not first and (v.dtype.is_bool or first.is_bool):
            vectors[i] = cast(v, "bool")
        elif v.dtype is not first:
            raise op_errors.mixed_dtypes("Mul", ("x", "y"), [v.dtype, first], "", current_trace())
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[:2] = [1, 0]
    full: list[Any] = [None] * n
    for i, v in enumerate(vectors):
        full[order[i]] = dim(v, 0)
    return [
        broadcast_to(reshape(v, [-1 if k == order[i] else 1 for k in range(n)]), full) for i, v in enumerate(vectors)
    ]
