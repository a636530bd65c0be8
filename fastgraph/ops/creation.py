"""Tensors made from numbers and shapes: fill, zeros, ones, range, eye, linspace.

Rule: a static shape is an attribute; one known only at run time is an input of the op's `_dynamic` form.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike, filled, whole_numbers
from fastgraph.core.op_errors import DEVICE, MAX_RANK, out_of_memory, rank_too_large
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, bind, convert, current_trace, from_array, zeros_or_ones
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError
from fastgraph.ops.arguments import are_known, as_tensor, extents, index_vector, named, no_layout, static_int, whole
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast, identity, maximum, select
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    body_of,
    canonical_axis,
    custom,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.movement import reshape, shape, shape_of_value, transpose_p
from fastgraph.ops.precise_sums import is_half
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import narrow


def check_dims(dims: Sequence[int | None]) -> None:
    """ValueError with TensorFlow's text for a negative extent, or more elements than can be counted."""
    if len(dims) > MAX_RANK:
        raise ValueError(rank_too_large(len(dims)))
    total = 1
    for n in dims:
        if n is not None and n < 0:
            raise ValueError(f"Dimension {n} must be >= 0")
        total *= 1 if n is None else n
    if total > 2**63 - 1:
        raise ValueError(f"Shape [{','.join(map(str, dims))}] would have more than 2**63 - 1 elements")


def _filled_shape(dims: tuple[int, ...]) -> tuple[int, ...]:
    validated(check_dims, dims)
    return tuple(dims)


# ---- fill -----------------------------------------------------------------------------------------------------------


def _infer_fill(value: Aval, *, shape: tuple[int, ...]) -> Aval:
    check_dims(shape)
    if value.shape is not None and value.size not in (1, None):
        raise ValueError(f"value must be a scalar, got shape {shape_text(value.shape)}")
    return Aval(value.dtype, shape)


def _lower_fill(b: Builder, node: Node) -> list[Any]:
    value = b.input(0)
    return [lambda index: value.at(() if value.rank == 0 else (b.const(0, "int64"),) * value.rank)]


@movement(
    infer=_infer_fill,
    lower=_lower_fill,
    vjp=dict(value=lambda dy, value_shape: reshape(reduce_sum(dy), value_shape)),
    samples=lambda: [
        ((np.array(v, t),), {"shape": s})
        for v, t in ((1.5, "float32"), (7, "int32"), (True, "bool"), (2.0, "float16"))
        for s in ((), (3,), (2, 0), (2, 3))
    ],
    error_samples=lambda: [
        misuse("Dimension -1 must be >= 0", np.array(1.0), shape=(2, -1)),
        misuse(
            r"Shape \[1099511627776,1099511627776\] would have more than 2\*\*63 - 1 elements",
            np.array(1.0),
            shape=(2**40, 2**40),
        ),
        misuse(r"value must be a scalar, got shape \[2\]", np.array([1.0, 2.0]), shape=(2,)),
    ],
)
def fill_p(value: Array, *, shape: tuple[int, ...]) -> Any:
    """A tensor of `shape` with `value` everywhere. t[] -> t[*shape]."""
    if value.size != 1:
        raise invalid(f"value must be a scalar, got shape [{','.join(map(str, value.shape))}]")
    return np.full(_filled_shape(shape), value.reshape(()), value.dtype)


def _infer_fill_dynamic(value: Aval, shape: Aval) -> Aval:
    dims = shape_of_value(shape)
    check_dims(dims or ())
    return Aval(value.dtype, dims)


@movement(
    op="Fill",
    infer=_infer_fill_dynamic,
    groups=("T", "Tindex"),
    dtypes={"Tindex": "index"},
    shape_inputs=(1,),
    lower=_lower_fill,
    vjp=dict(value=lambda dy, value_shape: reshape(reduce_sum(dy), value_shape)),
    samples=lambda: [((np.array(1.5), np.array([2, 3])), {})],
)
def fill_dynamic(value: Array, shape: Array) -> Any:
    """`fill` of a shape known only at run time. t[], i[n] -> t[*shape]."""
    return body_of(fill_p)(value, shape=tuple(shape.tolist()))


@public("fill")
def fill(dims: SizeLike, value: TensorLike, name: str | None = None) -> Any:
    """A tensor of shape `dims` with the scalar `value` everywhere. t[] -> t[*dims].

    Args:
        dims: The extents: a list of ints or an integer tensor.
        value: A scalar of any dtype.

    Raises:
        InvalidArgumentError: An extent is negative, there are too many elements, or the value is no scalar.
        ValueError: In a Function, the extents are a scalar tensor.

    Examples:
        >>> tf.fill([2, 2], 7)
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[7, 7],
               [7, 7]], dtype=int32)>

    Source: tf.fill.
    """
    if isinstance(dims, Tensor) and not isinstance(dims, EagerTensor) and dims.shape.rank == 0:
        raise ValueError("Shape must be rank 1 but is rank 0 for `dims` of Fill, a scalar tensor.")
    size = extents(dims, "Fill.index_type")
    if size.static is not None:
        return named(name, fill_p, value, shape=size.static)
    return named(name, fill_dynamic, value, _vector(size.tensor))


def _vector(size: Any) -> Any:
    """Extents; of a tensor of them a scalar is one."""
    if not isinstance(size, Tensor) or size.shape.rank == 1:
        return size
    return bind(get("reshape"), (size,), {"shape": (-1,)})


def _constant(shape: SizeLike, number: int, dtype: DTypeLike, name: str | None) -> Any:
    target = dtype if type(dtype) is DType else as_dtype(dtype)
    if current_trace() is not None:
        shape = whole_numbers(shape)
    size = extents(shape, "")
    if size.static is not None and current_trace() is None:
        dims = _filled_or_raise(size.static)
        if target is string:
            try:
                return filled(dims, b"", target)
            except MemoryError:
                raise ResourceExhaustedError(None, None, out_of_memory(dims, target)) from None
        found = zeros_or_ones(dims, target, number)
        if found is not None:
            return found
        make = np.ones if number else np.zeros
        try:
            return from_array(make(dims, target.numpy_dtype), target, False)
        except (MemoryError, ValueError):  # NumPy's ValueError: more bytes than can be counted
            raise ResourceExhaustedError(None, None, out_of_memory(dims, target)) from None
    name = ("ones" if number else "zeros") if name is None and current_trace() is not None else name
    return fill(
        _vector(shape if size.tensor is None else size.tensor),
        as_tensor(b"" if target is string else target.as_numpy_dtype(number), target),
        name,
    )


def _filled_or_raise(dims: tuple[int, ...]) -> tuple[int, ...]:
    """`dims`, refused with the words of the op Fill, which is not run here."""
    try:
        check_dims(dims)
    except ValueError as error:
        raise InvalidArgumentError(
            None, None, f"{{{{function_node __wrapped__Fill_device_{DEVICE}}}}} {error} [Op:Fill] name: "
        ) from None
    return dims


@public("zeros")
def zeros(shape: SizeLike, dtype: DTypeLike = float32, name: str | None = None, layout: object = None) -> Any:
    """Zeros of `shape` ("" for strings). -> dtype[*shape].

    Args:
        shape: The extents: a list of ints, a TensorShape, or an integer tensor.
        dtype: Any dtype.
        layout: None; others are refused.

    Raises:
        InvalidArgumentError: An extent is negative, or there are too many elements.

    Examples:
        >>> tf.zeros([3], tf.int32)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 0, 0], dtype=int32)>
        >>> x = tf.ones([2, 5])
        >>> tf.zeros(tf.shape(x)[:1])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 0.], dtype=float32)>

    Source: tf.zeros.
    """
    if layout is not None:
        raise no_layout(layout)
    made = zeros_or_ones(shape, dtype, 0)
    return made if made is not None else _constant(shape, 0, dtype, name)


@public("ones")
def ones(shape: SizeLike, dtype: DTypeLike = float32, name: str | None = None, layout: object = None) -> Any:
    """Ones of `shape`. -> dtype[*shape].

    Args:
        shape: The extents: a list of ints, a TensorShape, or an integer tensor.
        dtype: A dtype of numbers, or bool.
        layout: None; others are refused.

    Raises:
        TypeError: The dtype is a string's.
        InvalidArgumentError: An extent is negative.

    Examples:
        >>> tf.ones([2, 3])
        <tf.Tensor: shape=(2, 3), dtype=float32, numpy=
        array([[1., 1., 1.],
               [1., 1., 1.]], dtype=float32)>
        >>> tf.ones([], tf.int64)
        <tf.Tensor: shape=(), dtype=int64, numpy=1>

    Source: tf.ones.
    """
    if dtype is not float32 and as_dtype(dtype) is string:
        raise TypeError("Cannot convert 1 to EagerTensor of dtype string")
    if layout is not None:
        raise no_layout(layout)
    made = zeros_or_ones(shape, dtype, 1)
    return made if made is not None else _constant(shape, 1, dtype, name)


# ---- range ----------------------------------------------------------------------------------------------------------


_MOST_STEPS = 2**46  # bytes, of the smallest dtype: no machine has as many


_BOUNDS = ("start", "limit", "delta")


def _range_size(*given: Array) -> int:
    for each, what in zip(given, _BOUNDS, strict=True):
        if np.size(each) != 1 or np.ndim(each) > 1:  # TensorFlow's kernel takes [2] for 2, its graphs do not
            raise ValueError(f"{what} must be a scalar, not shape [{','.join(map(str, np.shape(each)))}]")
    start, limit, delta = [np.reshape(each, ()) for each in given]
    if delta == 0:
        raise ValueError(f"Requires delta != 0: {_number(delta)}")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {_number(start)}/{_number(limit)}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {_number(start)}/{_number(limit)}")
    if isinstance(start.item(), int):
        first, last, step = int(start), int(limit), int(delta)
        return -((first - last) // step) if step > 0 else -((last - first) // -step)
    n = float(np.ceil(np.abs((limit - start) / delta)))
    if not n < 2**63:
        raise ValueError(f"Requires ((limit - start) / delta) <= {2**63 - 1}")
    return int(n)


def _number(x: Array) -> str:
    return f"{x.item():g}"


def _infer_range(start: Aval, limit: Aval, delta: Aval) -> Aval:
    for each, what in zip((start, limit, delta), _BOUNDS, strict=True):
        if each.shape:
            raise ValueError(f"Shape must be rank 0 but is rank {len(each.shape)}\n\t for '{what}'")
    if start.value is None or limit.value is None or delta.value is None:
        return Aval(start.dtype, (None,))
    return Aval(start.dtype, (_range_size(start.value, limit.value, delta.value),))


def _lower_range(b: Builder, node: Node) -> list[Any]:
    dtype = node.outputs[0].aval.dtype
    wide = "float32" if dtype.name in ("float16", "bfloat16") else dtype.name

    def element(index: Sequence[Any]) -> Any:
        start, delta = b.cast(b.input(0).at(()), wide), b.cast(b.input(2).at(()), wide)
        return b.cast(start + b.cast(index[0], wide) * delta, dtype)

    return [element]


@custom(
    infer=_infer_range,
    groups=("Tidx", "Tidx", "Tidx"),
    dtypes={"Tidx": "bfloat16 float16 float32 float64 int8 int16 int32 int64 uint16 uint32 uint64"},
    shape_inputs=(0, 1, 2),
    lower=_lower_range,
    samples=lambda: (
        [
            (tuple(np.array(x, as_dtype(t).numpy_dtype) for x in bounds), {})
            for t in ("int32", "int64", "float32", "float64", "bfloat16")
            for bounds in ((0, 5, 1), (10, 0, -3), (2, 2, 1), (-3, 4, 2))
        ]
        + [(tuple(np.array(x, np.float32) for x in (0, 1, 0.3)), {})]
    ),
    error_samples=lambda: [
        (tuple(np.array(x) for x in (0, 10, 0)), {}, InvalidArgumentError, "Requires delta != 0: 0"),
        (
            tuple(np.array(x) for x in (10, 0, 1)),
            {},
            InvalidArgumentError,
            "Requires start <= limit when delta > 0: 10/0",
        ),
        (
            tuple(np.array(x) for x in (0, 10, -1)),
            {},
            InvalidArgumentError,
            "Requires start >= limit when delta < 0: 0/10",
        ),
    ],
)
def range_p(start: Array, limit: Array, delta: Array) -> Any:
    """start, start + delta, ... up to but without limit. t[], t[], t[] -> t[n]."""
    n = validated(_range_size, start, limit, delta)
    wide = np.float32 if is_half(start.dtype) else start.dtype
    if n > _MOST_STEPS:  # from 2**63 - 1 on, NumPy's arange is empty
        raise ResourceExhaustedError(None, None, out_of_memory((n,), as_dtype(start.dtype)))
    try:
        steps = np.arange(n).astype(wide)
        return (start.astype(wide) + steps * delta.astype(wide)).astype(start.dtype)
    except MemoryError:
        raise ResourceExhaustedError(None, None, out_of_memory((n,), as_dtype(start.dtype))) from None


_WORTH_KEEPING = 4096  # elements
_NO_EXTENT = "Dimension {} must be >= 0 and an int32"
_RANGE_ORDER = ("int32", "int64", "float32", "float64")


@public("range")
def range_(
    start: TensorLike, limit: TensorLike | None = None, delta: TensorLike = 1, dtype: DTypeLike | None = None,
    name: str | None = "range",
) -> Any:  # fmt: skip
    """start (0), start + delta, ... up to but without limit. t[], t[], t[] -> t[n].

    Args:
        start: The first number; of one argument alone: the limit.
        limit: What the numbers stay below, or above if delta is negative.
        delta: From each number to the next.
        dtype: The result's; None: the widest of the arguments', in the order int32, int64, float32, float64.

    Raises:
        InvalidArgumentError: delta is 0 or of the wrong sign.

    Examples:
        >>> tf.range(4)
        <tf.Tensor: shape=(4,), dtype=int32, numpy=array([0, 1, 2, 3], dtype=int32)>
        >>> tf.range(10, 4, -2)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([10,  8,  6], dtype=int32)>
        >>> tf.range(0, 1, 0.25)
        <tf.Tensor: shape=(4,), dtype=float32, numpy=array([0.  , 0.25, 0.5 , 0.75], dtype=float32)>

    Source: tf.range.
    """
    first: Any = 0 if limit is None else start
    last: Any = start if limit is None else limit
    step: Any = delta
    plain = type(first) is type(last) is type(step) is int and dtype is None and current_trace() is None
    if plain and step > 0 and -(2**31) <= first <= last < 2**31 - step:  # most calls: no tensors need be made
        try:
            steps = np.arange(first, last, step, dtype=np.int32)
        except MemoryError:
            n = len(builtins.range(first, last, step))
            raise ResourceExhaustedError(None, None, out_of_memory((n,), int32)) from None
        return from_array(steps, int32, steps.size < _WORTH_KEEPING)  # a small copy costs less than NumPy's memory
    found = bounds(first, last, step, None if dtype is None else as_dtype(dtype))
    return named(name if name != "range" else None, range_p, *found)


def bounds(start: TensorLike, limit: TensorLike, delta: TensorLike, target: DType | None = None) -> list[Tensor]:
    """The three of a range in one dtype: `target`, or the widest of theirs."""
    given = [_scalar(x, target) for x in (start, limit, delta)]
    if target is None:
        names = [x.dtype.name for x in given]
        if any(n not in _RANGE_ORDER for n in names):
            odd = next(n for n in names if n not in _RANGE_ORDER)
            if builtins.len({n for n in names if n not in ("int32",)}) > 1:
                raise TypeError(f"range() does not mix dtypes {', '.join(names)}; give `dtype`.")
            target = as_dtype(odd)
        else:
            target = as_dtype(max(names, key=_RANGE_ORDER.index))
    if target.is_bool or target is string:
        raise TypeError(f"range() needs numbers, not {target.name}")
    return [cast(x, target) for x in given]


def _scalar(x: TensorLike, dtype: DType | None) -> Tensor:
    try:
        return as_tensor(x, dtype)
    except (TypeError, ValueError):
        return as_tensor(x)


@public("linspace")
def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis: TensorLike = 0
) -> Any:
    """num numbers from start to stop, evenly spaced, along a new axis. t[*s], t[*s] -> t[*s with num].

    Args:
        start: The first. Integers of up to 16 bits give float32, wider ones float64.
        stop: The last; start and stop broadcast.
        num: How many.
        axis: Where the new axis stands.

    Raises:
        ValueError: start and stop differ in dtype.

    Examples:
        >>> tf.linspace(0.0, 1.0, 5)
        <tf.Tensor: shape=(5,), dtype=float32, numpy=array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)>
        >>> tf.linspace([0.0, 10.0], [1.0, 20.0], 3)
        <tf.Tensor: shape=(3, 2), dtype=float32, numpy=
        array([[ 0. , 10. ],
               [ 0.5, 15. ],
               [ 1. , 20. ]], dtype=float32)>

    Source: tf.linspace.
    """
    first: Any = as_tensor(start)
    last: Any = convert(stop, first.dtype)
    if first.dtype.is_integer:
        wide = "float32" if first.dtype.size <= 2 else "float64"
        first, last = cast(first, wide), cast(last, wide)
    if not are_known(axis):
        return late_unless_known(linspace, [first, last], {"num": num, "axis": axis}, first.dtype, None, name)
    axis = whole(axis, "axis")
    rank = 0 if type(num) is int else as_tensor(num).shape.rank
    if rank and (rank > 1 or current_trace() is not None):
        raise invalid(f"num must be a scalar, not shape {shape_text(as_tensor(num).shape)} [Op:Range]")
    number: Any = static_int(num)
    known = number is not None
    number = number if known else num
    if first.shape.rank is None or last.shape.rank is None:
        many = as_tensor(number)
        return late(lambda a, b, n: linspace(a, b, n, axis=axis), [first, last, many], first.dtype, name=name)
    rank = max(first.shape.rank, last.shape.rank)
    steps = reshape(range_(number), (number, *(1,) * rank))
    gaps = max(number - 1, 1) if known else cast(maximum(number - 1, 1), first.dtype)
    points = first + (last - first) / gaps * cast(steps, first.dtype)
    if not known or number >= 2:
        points = select(steps < number - 1, points, last)
    points = select(steps > 0, points, first)  # the ends as they are, infinite ones too
    if current_trace() is None and not -rank - 1 <= axis <= rank:
        raise invalid(f"Tried to expand dim index {axis} for tensor with {rank} dimensions.")
    at = canonical_axis(axis, rank + 1)
    if at:
        points = transpose_p(points, perm=(*range(1, at + 1), 0, *range(at + 1, rank + 1)))
    return points if name is None else identity(points, name=name)


# ---- eye ------------------------------------------------------------------------------------------------------------


def _lower_eye(b: Builder, node: Node) -> list[Any]:
    dtype = node.outputs[0].aval.dtype
    one, zero = (True, False) if dtype.is_bool else (1, 0)
    return [lambda index: b.select(index[-2].eq(index[-1]), b.const(one, dtype.name), b.const(zero, dtype.name))]


def _infer_eye(*, rows: int, columns: int, dtype: DType) -> Aval:
    check_dims((rows, columns))
    return Aval(dtype, (rows, columns))


@custom(
    infer=_infer_eye,
    lower=_lower_eye,
    samples=lambda: [
        ((), {"rows": r, "columns": c, "dtype": as_dtype(t)})
        for t in ("float32", "int32", "bool", "float16")
        for r, c in ((2, 3), (3, 3), (0, 2))
    ],
    error_samples=lambda: [misuse("Dimension -1 must be >= 0", rows=-1, columns=2, dtype=float32)],
)
def eye_p(*, rows: int, columns: int, dtype: DType) -> Any:
    """Ones on the diagonal of zeros. -> dtype[rows, columns]."""
    _filled_shape((rows, columns))
    return np.eye(rows, columns).astype(dtype.numpy_dtype)


@custom(
    op="Eye",
    infer=lambda rows, columns, *, dtype: Aval(
        dtype, tuple(None if x.value is None else int(x.value) for x in (rows, columns))
    ),
    groups=("int32", "int32"),
    shape_inputs=(0, 1),
    lower=_lower_eye,
    samples=lambda: [((np.array(2, np.int32), np.array(3, np.int32)), {"dtype": float32})],
)
def eye_dynamic(rows: Array, columns: Array, *, dtype: DType) -> Any:
    """`eye` of a size known only at run time. i32[], i32[] -> dtype[rows, columns]."""
    return body_of(eye_p)(rows=int(rows), columns=int(columns), dtype=dtype)


@public("eye", "linalg.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: SizeLike = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Any:
    """Ones on the diagonal of zeros, as often as batch_shape says. -> dtype[*batch_shape, rows, columns].

    Args:
        num_rows: How many rows.
        num_columns: How many columns; None: as many as rows.
        batch_shape: The leading extents; None: there are none.
        dtype: A dtype of numbers, or bool.

    Raises:
        InvalidArgumentError: A size is negative.
        OverflowError: A Python int is none of 64 bits.

    Examples:
        >>> tf.eye(2)
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[1., 0.],
               [0., 1.]], dtype=float32)>
        >>> tf.eye(2, 3, batch_shape=[5]).shape
        TensorShape([5, 2, 3])

    Source: tf.eye.
    """
    for n in (num_rows, num_columns):
        if isinstance(n, (float, str)) and not isinstance(n, np.generic):
            raise TypeError(
                "Arguments `num_rows` and `num_columns` must be positive integer values. "
                f"Received: num_rows={num_rows!s}, num_columns={num_rows if num_columns is None else num_columns!s}"
            )
        if isinstance(n, int) and not -(2**63) <= n < 2**63:
            raise OverflowError(f"Extents of tf.eye are integers of 64 bits. Received: {n}")
    for n in (num_rows, num_columns):
        if isinstance(n, (list, tuple, np.ndarray)):
            raise TypeError(
                "Arguments `num_rows` and `num_columns` must be positive integer values. Received: "
                f"num_rows={num_rows!s}, num_columns={num_columns!s}"
            )
    num_rows, num_columns = (  # type: ignore[assignment]
        cast(n, int32) if isinstance(n, Tensor) and n.dtype.is_floating else n for n in (num_rows, num_columns)
    )
    rows = static_int(num_rows)
    columns = rows if num_columns is None else static_int(num_columns)
    target = as_dtype(dtype)
    if target is string:
        raise TypeError("Cannot convert 1 to EagerTensor of dtype string")
    if rows is None or columns is None:
        wide = num_rows if num_columns is None else num_columns
        result = named(name, eye_dynamic, *[narrow(n, 0, _NO_EXTENT) for n in (num_rows, wide)], dtype=target)
    else:
        result = named(name, eye_p, rows=rows, columns=columns, dtype=target)
    if batch_shape is None:
        return result
    if isinstance(batch_shape, (int, float, np.generic, np.ndarray)) and not np.ndim(batch_shape):
        raise TypeError(f"batch_shape must be a list of sizes, got {batch_shape!r}")
    if current_trace() is not None and isinstance(batch_shape, (list, tuple)):  # there floats become integers
        batch_shape = [int(n) if isinstance(n, float) else n for n in batch_shape]
    lead = extents(batch_shape, "", no_vector="batch_shape must be a vector, got a scalar")
    if rows is not None and columns is not None and lead.static is not None:
        return broadcast_to(result, (*lead.static, rows, columns))
    own = shape(result, lead.tensor.dtype) if lead.static is None else shape(result)
    first = lead.tensor if lead.static is None else as_tensor(index_vector(lead.static), own.dtype)
    return broadcast_to(result, bind(get("concat"), (first, own), {"axis": 0}))
