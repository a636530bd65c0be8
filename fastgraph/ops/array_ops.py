"""Ops that belong to no other family: shapes of several tensors, masks of lengths, bits seen as other types, blocks of
pixels moved into channels.

Rule: what can be written in other ops is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, bool_, int32, int64
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.op_errors import message_name, misfit
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import (
    are_known,
    as_tensor,
    holds_int64,
    known_value,
    named,
    of_dtypes,
    preferred,
    static_int,
    whole,
)
from fastgraph.ops.comparison import less
from fastgraph.ops.complex_numbers import complex_of, imag, real
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, identity, maximum, minimum, multiply, ones_like, select, zeros_like
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    Operand,
    custom,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.gathering import gather_p
from fastgraph.ops.late_calls import late
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims, reshape, shape, size, transpose_p
from fastgraph.ops.nn_ops import add_n
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import count_nonzero, reduce_all, reduce_max
from fastgraph.ops.runtime_assertions import ensure_shape_p
from fastgraph.ops.slicing import slice_grad

# ---- several tensors ------------------------------------------------------------------------------------------------


@public("identity_n")
def identity_n(input: TensorLike, name: str | None = None) -> Any:
    """The tensors of a list themselves. t[*s]... -> [t[*s], ...].

    Raises: InvalidArgumentError for an empty list; in a graph TypeError for what is none. Source: tf.identity_n.
    """
    tensors = list(_listed(input, "identity_n"))
    if not tensors:
        raise invalid("Length for attr 'T' of 0 must be at least minimum 1")
    return [identity(x) for x in tensors]


def _listed(value: TensorLike, op: str) -> Any:
    if current_trace() is not None and not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for 'input' argument to '{op}' Op, not {value!r}.")
    return value


@public("shape_n")
def shape_n(input: TensorLike, out_type: DTypeLike = int32, name: str | None = None) -> Any:
    """The extents of each tensor of a list at run time. t[*s]... -> [i[rank], ...].

    Raises: in a graph TypeError for what is no list. Source: tf.shape_n.
    """
    return [shape(x, out_type) for x in _listed(input, "shape_n")]


@public("tuple")
def tuple_of(
    tensors: Sequence[TensorLike | None], control_inputs: Sequence[Any] | None = None, name: str | None = None
) -> Any:
    """The tensors of a list, None among them, as a list. t[*s]... -> [t[*s], ...]. Source: tf.tuple."""
    return [None if x is None else identity(x) for x in tensors]


@public("math.accumulate_n")
def accumulate_n(
    inputs: Sequence[TensorLike], shape: ShapeLike = None, tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Sum of a list of tensors of one shape. t[*s]... -> t[*s].

    Raises: ValueError for an empty list or shapes that differ, TypeError if they are not of `tensor_dtype`.
    Source: tf.math.accumulate_n.
    """
    if hasattr(inputs, "__fg_summed__"):  # a list whose length a tensor decides
        inputs = [inputs.__fg_summed__()]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    tensors = [as_tensor(x) for x in inputs]
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {as_dtype(tensor_dtype)!r}, but `input` is of type {tensors[0].dtype!r}. "
            "These must be equal. Try casting the input to the desired type."
        )
    if any(x.dtype is not tensors[0].dtype for x in tensors):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    wanted = TensorShape(shape) if shape is not None else tensors[0].shape
    for x in tensors:
        if not x.shape.is_compatible_with(wanted):
            raise ValueError(f"Shapes {wanted} and {x.shape} are not compatible")
    return add_n(tensors, name=name)


# ---- shapes ---------------------------------------------------------------------------------------------------------


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
    if any(hasattr(type(each), "__fg_bind__") for each in (shape_x, shape_y)):
        return named(None, broadcast_args, shape_x, shape_y)
    x, y = (convert_to_tensor(each, dtype_hint=int64 if holds_int64(each) else int32) for each in (shape_x, shape_y))
    if not isinstance(shape_x, Tensor):
        x = cast(x, y.dtype) if y.dtype == int64 else x
    if not isinstance(shape_y, Tensor):
        y = cast(y, x.dtype) if x.dtype == int64 else y
    return named(None, broadcast_args, x, y)


@public("sequence_mask")
def sequence_mask(
    lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = bool_, name: str | None = None
) -> Any:
    """Rows that hold up to each length, then not. i[*s] -> dtype[*s, maxlen].

    Raises: ValueError if maxlen is no scalar. Source: tf.sequence_mask.
    """
    lengths = as_tensor(lengths)
    limit = reduce_max(lengths) if maxlen is None else as_tensor(maxlen)
    if limit.shape.rank not in (None, 0):
        raise ValueError(
            f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen!r} with shape "
            f"'{limit.shape}' instead"
        )
    known = static_int(limit) if limit.dtype.is_integer else None
    if maxlen is None:
        limit = maximum(cast(limit, lengths.dtype), cast(0, lengths.dtype))
    line = (
        cast(range_(known), limit.dtype)
        if known is not None and known >= 0
        else range_(cast(0, limit.dtype), limit, cast(1, limit.dtype))
    )
    mask = less(line, cast(expand_dims(lengths, -1), limit.dtype))
    return mask if as_dtype(dtype) is bool_ else cast(mask, dtype, name)


# ---- other views of the same bits -----------------------------------------------------------------------------------


#: What can be seen as other bits.
_BITS = "bfloat16 float16 float32 float64 int64 int32 uint8 uint16 uint32 uint64 int8 int16 complex64 complex128"


def _cast_shape(dims: Dims, old: DType, new: DType) -> Dims:
    if dims is None or old.size == new.size:
        return dims
    if old.size > new.size:
        return (*dims, old.size // new.size)
    if not dims or dims[-1] not in (None, new.size // old.size):
        raise ValueError(f"Cannot bitcast from {old.as_datatype_enum} to {new.as_datatype_enum}")
    return dims[:-1]


def _bitcast_samples() -> list[Any]:
    pairs = [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float64", "int64"),
        ("bfloat16", "int16"),
        ("uint8", "int8"),
        ("float32", "uint8"),
        ("float64", "int32"),
        ("int64", "float32"),
    ]
    numbers = np.array([[1.0, 2.0], [3.0, 0.5]])
    found = [((numbers.astype(as_dtype(a).numpy_dtype),), {"type": as_dtype(b)}) for a, b in pairs]
    return [*found, ((np.array([[0, 0, 128, 63]], np.uint8),), {"type": as_dtype("float32")})]


@movement(
    infer=lambda input, *, type: Aval(type, _cast_shape(input.shape, input.dtype, type)),
    dtypes=_BITS,
    step="alias",
    samples=_bitcast_samples,
    error_samples=lambda: [
        misuse("Cannot bitcast from 4 to 1", np.array([0, 0, 1], np.uint8), type=as_dtype("float32"))
    ],
)
def bitcast_p(input: Array, *, type: DType) -> Any:
    """The same bytes as elements of another dtype; narrower ones add a last axis, wider ones take it."""
    dims = validated(_cast_shape, input.shape, as_dtype(input.dtype), type)
    return np.frombuffer(np.ascontiguousarray(input).tobytes(), type.numpy_dtype).reshape(dims)


@public("bitcast")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Any:
    """The same bytes as elements of another dtype; narrower ones add a last axis, wider ones take it. t[*s] -> u[*r].

    Raises: InvalidArgumentError where the last axis does not make up one element. Source: tf.bitcast.
    """
    target = as_dtype(type)
    if target.name not in _BITS.split():
        text = f"Value for attr 'type' of {message_name(target)} is not in the list of allowed values: "
        raise invalid(text + ", ".join(message_name(as_dtype(each)) for each in _BITS.split()) + " [Op:Bitcast]")
    return named(name, bitcast_p, input, type=target)


def _limits(dtype: DType) -> tuple[Any, Any]:
    """The smallest and largest number of a dtype as Python's, which compare exactly."""
    plain = float if dtype.is_floating else int
    return plain(dtype.min), plain(dtype.max)


@public("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """value with elements of `dtype`, limited to what that holds; of complex ones each part. t[*s] -> dtype[*s].

    Source: tf.saturate_cast.
    """
    x, target = as_tensor(value), as_dtype(dtype)
    if x.dtype.is_complex and target.is_complex:
        return complex_of(saturate_cast(real(x), target.real_dtype), saturate_cast(imag(x), target.real_dtype), name)
    if x.dtype.is_complex:
        x = real(x)
    (low, high), (least, most) = _limits(x.dtype), _limits(target.real_dtype)
    floating = x.dtype.is_floating  # whose infinities are beyond its own limits, too
    for beyond, limit, pick in ((low < least, max(low, least), maximum), (high > most, min(high, most), minimum)):
        if beyond or floating:
            bound = np.asarray(limit).astype(x.dtype.numpy_dtype)
            if floating and abs(float(bound)) > abs(limit):
                bound = np.nextafter(bound, np.asarray(0, bound.dtype))  # rounded away from 0, it would not fit
            x = pick(x, as_tensor(bound))
    return cast(x, target, name)


@public("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Any:
    """The share of elements that are 0; NaN of none. t[*s] -> f32[]. Source: tf.math.zero_fraction."""
    x = as_tensor(value)
    total = size(x, int64)
    return cast(total - count_nonzero(x), "float32") / cast(total, "float32")


# ---- blocks of pixels -----------------------------------------------------------------------------------------------


def _checked_block(x: TensorLike, block_size: int, data_format: str, op: str) -> tuple[Any, bool]:
    if block_size < 2:
        raise invalid(f"Value for attr 'block_size' of {block_size} must be at least minimum 2 [Op:{op}]")
    if data_format not in ("NHWC", "NCHW"):
        raise invalid(f"Value for attr 'data_format' of \"{data_format}\" is not built; use NHWC or NCHW [Op:{op}]")
    x = as_tensor(x)
    if x.shape.rank is None:  # known when the graph runs
        x = ensure_shape_p(x, shape=(None,) * 4)
    elif x.shape.rank != 4:
        raise invalid(f"Input rank should be 4 instead of {x.shape.rank} [Op:{op}]")
    return x, data_format == "NHWC"


@public("nn.space_to_depth")
def space_to_depth(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Blocks of block_size x block_size pixels as channels. t[n, h, w, c] -> t[n, h / b, w / b, b * b * c].

    Raises: InvalidArgumentError for extents that b does not divide. Source: tf.nn.space_to_depth.
    """
    block_size = whole(block_size, "block_size")
    x, last = _checked_block(input, block_size, data_format, "SpaceToDepth")
    h, w = (1, 2) if last else (2, 3)
    height, width = x.shape[h], x.shape[w]
    if (height or 0) % block_size or (width or 0) % block_size:
        if current_trace() is not None:
            extent = height if (height or 0) % block_size else width
            what = f"Dimension size must be evenly divisible by {block_size} but is {extent}"
            raise misfit(what, "SpaceToDepth", x.shape)
        raise invalid(
            f"Image width {width} and height {height} should be divisible by block_size: {block_size} [Op:SpaceToDepth]"
        )
    e = extents_of(x)
    if last:
        cut = reshape(x, [e[0], e[1] // block_size, block_size, e[2] // block_size, block_size, e[3]])
        moved = transpose_p(cut, perm=(0, 1, 3, 2, 4, 5))
        result = [e[0], e[1] // block_size, e[2] // block_size, e[3] * block_size * block_size]
    else:
        cut = reshape(x, [e[0], e[1], e[2] // block_size, block_size, e[3] // block_size, block_size])
        moved = transpose_p(cut, perm=(0, 3, 5, 1, 2, 4))
        result = [e[0], e[1] * block_size * block_size, e[2] // block_size, e[3] // block_size]
    return reshape(moved, result, name=name)


@public("nn.depth_to_space")
def depth_to_space(
    input: TensorLike, block_size: TensorLike, data_format: str = "NHWC", name: str | None = None
) -> Any:
    """Channels as blocks of block_size x block_size pixels. t[n, h, w, b * b * c] -> t[n, h * b, w * b, c].

    Raises: InvalidArgumentError for channels that b * b does not divide. Source: tf.nn.depth_to_space.
    """
    block_size = whole(block_size, "block_size")
    x, last = _checked_block(input, block_size, data_format, "DepthToSpace")
    depth, square = x.shape[3 if last else 1], block_size * block_size
    if (depth or 0) % square:
        raise invalid(f"Input depth dimension {depth} should be divisible by: {square} [Op:DepthToSpace]")
    e = extents_of(x)
    if last:
        cut = reshape(x, [e[0], e[1], e[2], block_size, block_size, e[3] // square])
        moved = transpose_p(cut, perm=(0, 1, 3, 2, 4, 5))
        return reshape(moved, [e[0], e[1] * block_size, e[2] * block_size, e[3] // square], name=name)
    cut = reshape(x, [e[0], block_size, block_size, e[1] // square, e[2], e[3]])
    moved = transpose_p(cut, perm=(0, 3, 4, 1, 5, 2))
    return reshape(moved, [e[0], e[1] // square, e[2] * block_size, e[3] * block_size], name=name)


def _numbers(values: Any, what: str) -> Array:
    """An argument of integers, tensors among them; NotImplementedError where one is known only at run time."""
    small = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
    tensor = preferred(values.astype(np.int64) if small else values, int32)
    found = known_value(tensor if tensor.shape.num_elements() == 0 else of_dtypes(tensor, "index", f"T{what}"))
    if found is None:
        raise NotImplementedError(f"{what} must be known while a function is traced")
    return found


def _block(block_shape: TensorLike) -> list[int]:
    found = np.ravel(_numbers(block_shape, "block_shape")).tolist()
    block = [whole(b, "block_shape") for b in found]
    if any(b < 1 for b in block):
        raise invalid(f"All values in block_shape must be positive, got {block}")
    return block


def _sides(values: TensorLike, k: int, x: Tensor, what: str) -> list[list[int]]:
    """An argument of two numbers for each axis of a block; x has these axes, and one of batches before them."""
    pairs = _numbers(values, what)
    if pairs.shape != (k, 2):
        raise invalid(f"{what} should have shape [{k}, 2] instead of {shape_text(pairs.shape)}")
    if len(x.shape) < k + 1:
        raise invalid(f"input rank should be >= {k + 1} instead of {len(x.shape)}")
    sides = [[whole(n, what) for n in pair] for pair in pairs.tolist()]
    if any(n < 0 for pair in sides for n in pair):
        raise invalid(f"{what} must be non-negative, got {sides}")
    return sides


@public("space_to_batch")
def space_to_batch(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None) -> Any:
    """Blocks of the padded axes after the first as batches. t[n, *m, *r] -> t[n * prod(block), *m / block, *r].

    Raises: InvalidArgumentError for extents that the block does not divide. Source: tf.space_to_batch.
    """
    x = as_tensor(input)
    if x.shape.rank is None or not are_known(block_shape, paddings):
        return late(space_to_batch, [x, preferred(block_shape, int32), preferred(paddings, int32)], x.dtype, name=name)
    block = _block(block_shape)
    k, rank = len(block), len(x.shape)
    sides = _sides(paddings, k, x, "paddings")
    x = pad(x, [[0, 0], *sides, *[[0, 0]] * (rank - k - 1)])
    e = extents_of(x)
    for i, b in enumerate(block):
        if isinstance(e[i + 1], int) and e[i + 1] % b:
            raise invalid(f"padded_shape[{i}]={e[i + 1]} is not divisible by block_shape[{i}]={b} [Op:SpaceToBatchND]")
    cut = [e[0], *[n for i, b in enumerate(block) for n in (e[i + 1] // b, b)], *e[k + 1 :]]
    perm = (*[2 * i + 2 for i in range(k)], 0, *[2 * i + 1 for i in range(k)], *range(2 * k + 1, rank + k))
    result = [e[0] * product_of(block), *[e[i + 1] // b for i, b in enumerate(block)], *e[k + 1 :]]
    return reshape(transpose_p(reshape(x, cut), perm=perm), result, name=name)


@public("batch_to_space")
def batch_to_space(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None) -> Any:
    """Batches as blocks of the axes after the first, which are then cropped: the inverse of space_to_batch.

    t[n * prod(block), *m, *r] -> t[n, *m * block - crops, *r]. A Python number is the block of two axes.
    Raises: InvalidArgumentError for a batch that the block does not divide. Source: tf.batch_to_space.
    """
    x, block_shape = as_tensor(input), [block_shape] * 2 if isinstance(block_shape, int) else block_shape
    if x.shape.rank is None or not are_known(block_shape, crops):
        return late(batch_to_space, [x, preferred(block_shape, int32), preferred(crops, int32)], x.dtype, name=name)
    block = _block(block_shape)
    k, rank = len(block), len(x.shape)
    sides = _sides(crops, k, x, "crops")
    e, total = extents_of(x), math.prod(block)
    if isinstance(e[0], int) and e[0] % total:
        raise invalid(
            f"Input batch dimension ({e[0]}) is not divisible by product of block sizes ({total}) [Op:BatchToSpaceND]"
        )
    for i, (n, b, pair) in enumerate(zip(e[1:], block, sides, strict=False)):
        if isinstance(n, int) and n * b < sum(pair):
            raise invalid(f"cropped_shape[{i}]={n * b - sum(pair)} must be non-negative [Op:BatchToSpaceND]")
    cut = reshape(x, [*block, e[0] // total, *e[1:]])
    perm = (k, *[i for j in range(k) for i in (k + 1 + j, j)], *range(2 * k + 1, rank + k))
    wide = reshape(
        transpose_p(cut, perm=perm), [e[0] // total, *[e[i + 1] * b for i, b in enumerate(block)], *e[k + 1 :]]
    )
    key = [slice(a, -c if c else None) for a, c in sides]
    return wide[(slice(None), *key)]


def _axis_of(axis: TensorLike | None, rank: int, what: str) -> int:
    found = 0 if axis is None else whole(axis, what)
    if found < 0:
        raise invalid(f"Invalid {what} {found}")
    if found >= rank:
        raise invalid(f"{what} must be < input rank ({found} vs. {rank})")
    return found


@public("reverse_sequence")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: TensorLike | None = None,
    batch_axis: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Each slice along batch_axis with its first seq_lengths elements along seq_axis reversed. t[*s], i[n] -> t[*s].

    Raises: InvalidArgumentError for lengths below 0 or beyond the axis. Source: tf.reverse_sequence.
    """
    x, lengths = as_tensor(input), as_tensor(seq_lengths)
    if lengths.dtype.name not in ("int32", "int64"):
        raise invalid(
            f"Value for attr 'Tlen' of {message_name(lengths.dtype)} is not in the list of allowed values: int32, int64"
        )
    if lengths.shape.rank not in (None, 1):
        raise invalid(f"seq_lens input must be 1-dim, not {lengths.shape.rank}")
    if x.shape.rank is None:
        return late(lambda t, n: reverse_sequence(t, n, seq_axis, batch_axis), [x, lengths], x.dtype, name=name)
    rank = len(x.shape)
    seq, batch = (_axis_of(axis, rank, what) for axis, what in ((seq_axis, "seq_dim"), (batch_axis, "batch_dim")))
    if seq == batch:
        raise invalid(f"batch_dim == seq_dim == {seq}")
    order = (batch, seq, *[i for i in range(rank) if i not in (batch, seq)])
    back = tuple(int(i) for i in np.argsort(order))
    moved = transpose_p(x, perm=order)
    at = expand_dims(cast(range_(extents_of(moved)[1]), lengths.dtype), 0)
    n = expand_dims(lengths, 1)
    places = select(at < n, n - 1 - at, at)
    places = select(n < 0, n, places)  # which is no place, as the gather says
    return transpose_p(named(name, gather_p, moved, places, axis=1, batch_dims=1), perm=back)


# ---- order and polynomials ------------------------------------------------------------------------------------------


def _in_order(x: TensorLike) -> Any:
    """The elements in row-major order. Raises: TypeError for what is no number."""
    x = as_tensor(x)
    if x.dtype.is_bool or x.dtype.name == "string":
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    return reshape(x, [-1])


@public("math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Any:
    """Whether no element is less than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_non_decreasing.
    """
    flat = _in_order(x)
    return reduce_all(flat[1:] >= flat[:-1], name=name)


@public("math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Any:
    """Whether every element is greater than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_strictly_increasing.
    """
    flat = _in_order(x)
    return reduce_all(flat[1:] > flat[:-1], name=name)


@public("math.polyval")
def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """The polynomial of these coefficients, the highest power first, at x. [t[*s], ...], t[*s] -> t[*s].

    By Horner's rule. Raises: ValueError if coeffs is no list. Source: tf.math.polyval.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = as_tensor(x)
    if not coeffs:
        return zeros_like(x)
    total = as_tensor(coeffs[0], x.dtype)  # not 0 * x + coeffs[0]: x may be infinite
    for c in coeffs[1:]:
        total = as_tensor(c, x.dtype) + total * x
    return total


@public("math.scalar_mul")
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """A scalar times a tensor. t[], t[*s] -> t[*s]. Raises: ValueError for no scalar, or another dtype.

    Source: tf.math.scalar_mul.
    """
    if isinstance(x, IndexedSlices):
        return x.with_values(scalar_mul(scalar, x.values, name))
    x = as_tensor(x)
    factor = convert(scalar, x.dtype)
    if factor.shape.rank not in (None, 0):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {factor.shape}.")
    return multiply(factor, x, name=name)


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
