"""Ops that belong to no other family: shapes of several tensors, masks of lengths, bits seen as other types.

Rule: what can be written in other ops is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, bool_, int32, int64
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.op_errors import message_name
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, class_has, convert, current_trace
from fastgraph.ops.arguments import (
    as_tensor,
    has_dtype,
    holds_int64,
    known_value,
    named,
    not_allowed,
    of_dtypes,
    refused,
    static_int,
    whole,
)
from fastgraph.ops.comparison import less
from fastgraph.ops.complex_numbers import complex_of, imag, real
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import late
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
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims, reshape, shape, size, transpose_p
from fastgraph.ops.nn_ops import add_n
from fastgraph.ops.reduction import count_nonzero, reduce_all, reduce_max
from fastgraph.ops.slicing import slice_grad, slice_tensor

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


#: Dtypes whose bits can be read as another dtype's.
_BITS = (
    "bfloat16 float16 float32 float64 int64 int32 uint8 uint16 uint32 uint64 int8 int16 complex64 complex128 qint8 "
    "quint8 qint16 quint16 qint32"
)


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
        allowed = ", ".join(message_name(as_dtype(each)) for each in _BITS.split())
        raise refused(not_allowed(target, "Bitcast.type", allowed))
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


# ---- order, polynomials ---------------------------------------------------------------------------------------------


def _axis_of(axis: TensorLike | None, rank: int, what: str) -> int:
    found = whole(axis, what)
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
    x, lengths = as_tensor(input), of_dtypes(as_tensor(seq_lengths), "int32 int64", "Tlen")
    if lengths.shape.rank not in (None, 1):
        raise invalid(f"seq_lens input must be 1-dim, not {lengths.shape.rank}")
    if x.shape.rank is None:
        return late(lambda t, n: reverse_sequence(t, n, seq_axis, batch_axis), [x, lengths], x.dtype, name=name)
    rank = len(x.shape)
    batch_axis = 0 if batch_axis is None else batch_axis
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


def _in_order(x: TensorLike) -> Any:
    """The elements in row-major order. Raises: TypeError for what is no number."""
    x = as_tensor(x)
    if x.dtype.is_bool or x.dtype.name == "string":
        raise TypeError(f"Expected x to be numeric, instead found: {x}")
    return reshape(x, [-1])


@public("math.is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Any:
    """True if no element is less than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_non_decreasing.
    """
    flat = _in_order(x)
    return reduce_all(flat[1:] >= flat[:-1], name=name)


@public("math.is_strictly_increasing")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Any:
    """True if every element is greater than the one before, in row-major order. t[*s] -> bool[].

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


def dynamic_slice(x: TensorLike, starts: TensorLike, sizes: TensorLike) -> Any:
    """Return the block of these sizes that begins at `starts`. t[*s], i[rank], i[rank] -> t[*sizes].

    A block that would reach beyond the end lies at the end, as XLA has it. Source: TensorFlow's xla.dynamic_slice.
    """
    x = convert(x)
    begin, size = cast(convert(starts), int64), cast(convert(sizes), int64)
    return slice_tensor(x, minimum(maximum(begin, 0), cast(shape(x), int64) - size), size)
