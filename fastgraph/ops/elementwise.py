"""Elementwise ops: arithmetic, selection, casts.

Rule: a body is the NumPy oracle of its `expr`; both give TensorFlow's result for NaN, infinities and signed zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import STORED, DType, DTypeLike, as_dtype, string
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.native import array_kernels
from fastgraph.core.op_errors import is_of_memory, message_name
from fastgraph.core.tape.gradient_tape import is_variable
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, bind, current_trace, quick_cast, quick_clip
from fastgraph.errors import InvalidArgumentError, UnimplementedError
from fastgraph.ops.arguments import as_tensor, named, no_layout
from fastgraph.ops.comparison import greater_equal, less_equal, not_equal_p
from fastgraph.ops.complex_numbers import complex_of, conj, conj_p, real_p
from fastgraph.ops.families import Array, Builder, Node, elementwise, public, shape_text
from fastgraph.ops.precise_sums import is_half


def widened(x: Array) -> Any:
    """`x`, as float32 if it is a 16-bit float: bodies of several steps round once, at the end."""
    if x.dtype == np.float16 and x.size > _FEW and x.flags.c_contiguous and x.flags.aligned:
        return array_kernels.converted(x)
    return x.astype(np.float32) if is_half(x.dtype) else x


def rounded(x: Array, dtype: Any) -> Any:
    """Return what was computed of `widened` values, as `dtype`."""
    if dtype == np.float16 and x.dtype == np.float32 and x.size > _FEW and x.flags.c_contiguous:
        return array_kernels.converted(x)
    return x.astype(dtype, copy=False)


#: Elements for which NumPy converts as soon.
_FEW = 64


# ---- arithmetic -----------------------------------------------------------------------------------------------------


@elementwise(
    "add", "math.add", op="AddV2", expr="x + y", dtypes="addable string", vjp=dict(x=lambda dy: dy, y=lambda dy: dy)
)
def add(x: Array, y: Array) -> Any:
    """Sum of x and y; strings are joined. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.add.

    Args:
        x: A tensor of numbers or strings.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.add([[1], [2]], [10, 20])
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[11, 21],
               [12, 22]], dtype=int32)>
        >>> tf.add("ab", "c")
        <tf.Tensor: shape=(), dtype=string, numpy=b'abc'>
    """
    return np.add(x, y)


@elementwise(
    "subtract",
    "math.subtract",
    op="Sub",
    expr="x - y",
    dtypes="bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 int64 complex64 complex128 uint32 uint64",
    vjp=dict(x=lambda dy: dy, y=lambda dy: -dy),
)
def subtract(x: Array, y: Array) -> Any:
    """Difference x - y. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.subtract."""
    return np.subtract(x, y)


@elementwise(
    "multiply",
    "math.multiply",
    op="Mul",
    expr="x * y",
    dtypes="arithmetic",
    vjp=dict(x=lambda dy, y: dy * conj(y), y=lambda dy, x: dy * conj(x)),
)
def multiply(x: Array, y: Array) -> Any:
    """Product of x and y, element by element. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.multiply."""
    return np.multiply(x, y)


@elementwise("negative", "math.negative", op="Neg", expr="-x", dtypes="signed_complex", vjp=dict(x=lambda dy: -dy))
def negative(x: Array) -> Any:
    """Minus x. t[*s] -> t[*s]. Source: tf.negative."""
    return np.negative(x)


@elementwise(expr="abs(x)", dtypes="signed", vjp=dict(x=lambda dy, x: dy * sign(x)))
def abs_p(x: Array) -> Any:
    """Absolute value of real numbers; of the least integer it is that integer again. t[*s] -> t[*s]."""
    return np.abs(x)


@elementwise(
    expr="abs(x)",
    dtypes="complex64 complex128",
    out="real",
    vjp=dict(x=lambda dy, x: complex_of(dy, zeros_like_p(dy)) * sign(x)),
)
def complex_abs(x: Array) -> Any:
    """Modulus of complex numbers. c64[*s] -> f32[*s], c128[*s] -> f64[*s]."""
    return np.abs(x)


@elementwise(
    "sign",
    "math.sign",
    expr="sign(x)",
    dtypes="signed_complex",
    vjp=dict(x=lambda dy, x: _turned(dy, x) if x.dtype.is_complex else zeros_like_p(x)),
)
def sign(x: Array) -> Any:
    """-1, 0 or 1 with the sign of x; NaN of NaN; x / |x| of complex numbers. t[*s] -> t[*s]. Source: tf.sign.

    Args:
        x: A tensor of signed or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sign([-3, 0, 5])
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([-1,  0,  1], dtype=int32)>
    """
    return np.sign(x)


def _turned(dy: Tensor, x: Tensor) -> Any:
    """dy's part across the direction of x, over |x|: what changes x / |x|. c[*s], c[*s] -> c[*s]."""
    way, size = sign(x), complex_abs(x)
    along = real_p(conj_p(way) * dy)
    across = dy - way * complex_of(along, zeros_like_p(along))
    there = not_equal_p(size, zeros_like_p(size))
    size = select(there, size, ones_like(size))
    return select(there, across / complex_of(size, zeros_like_p(size)), zeros_like_p(across))


@elementwise(
    "square",
    "math.square",
    expr="x * x",
    dtypes="signed uint8 uint16 uint32 uint64 complex64 complex128",
    vjp=dict(x=lambda dy, x: dy * (conj(x) * 2)),
)
def square(x: Array) -> Any:
    """x * x. t[*s] -> t[*s]. Source: tf.square.

    Args:
        x: A tensor of numbers.

    Raises:
        InvalidArgumentError: x is no number.

    Examples:
        >>> tf.square([-2, 3])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 9], dtype=int32)>
    """
    return np.square(x)


@elementwise(
    "math.squared_difference",
    expr="(x - y) * conj(x - y)",
    dtypes="bfloat16 float16 float32 float64 int32 int64 complex64 complex128",
    vjp=dict(x=lambda dy, x, y: dy * (x - y) * 2, y=lambda dy, x, y: dy * (y - x) * 2),
)
def squared_difference(x: Array, y: Array) -> Any:
    """(x - y) * conj(x - y). t[*s], t[*s] -> t[*s], broadcasting. Source: tf.math.squared_difference.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.math.squared_difference([1.0, 5.0], 2.0)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 9.], dtype=float32)>
    """
    difference = np.subtract(x, y)
    return difference * np.conj(difference)


@elementwise(
    op="MulNoNan",
    expr="select(y == 0, 0, x * y)",
    dtypes="fractional",
    vjp=dict(x=lambda dy, y: multiply_no_nan_p(dy, conj(y)), y=lambda dy, x: multiply_no_nan_p(conj(x), dy)),
)
def multiply_no_nan_p(x: Array, y: Array) -> Any:
    """x * y, and 0 where y is 0 whatever x is. f[*s], f[*s] -> f[*s], broadcasting. Source: MulNoNan."""
    return np.where(y == 0, np.zeros((), x.dtype), np.multiply(x, y))


@elementwise(
    "math.reciprocal",
    expr="1 / x",
    dtypes="fractional",
    vjp=dict(x=lambda dy, out: multiply_no_nan_p(-conj(out * out), dy)),  # 0 where dy is, as in TensorFlow
    domain=(0.3, 3),
)
def reciprocal(x: Array) -> Any:
    """1 / x. f[*s] -> f[*s]. Source: tf.math.reciprocal.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.math.reciprocal([4.0, 0.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.25,  inf], dtype=float32)>
    """
    return np.divide(np.ones((), x.dtype), x)


@elementwise(
    "maximum",
    "math.maximum",
    expr="max(x, y)",
    dtypes="real",
    vjp=dict(
        x=lambda dy, x, y: select(greater_equal(x, y), dy, zeros_like_p(dy)),
        y=lambda dy, x, y: select(greater_equal(x, y), zeros_like_p(dy), dy),
    ),
)
def maximum(x: Array, y: Array) -> Any:
    """The larger of x and y; NaN if either is. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.maximum.

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.maximum([1, 5, 3], 2)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 5, 3], dtype=int32)>
    """
    return np.maximum(x, y)


@elementwise(
    "minimum",
    "math.minimum",
    expr="min(x, y)",
    dtypes="real",
    vjp=dict(
        x=lambda dy, x, y: select(less_equal(x, y), dy, zeros_like_p(dy)),
        y=lambda dy, x, y: select(less_equal(x, y), zeros_like_p(dy), dy),
    ),
)
def minimum(x: Array, y: Array) -> Any:
    """The smaller of x and y; NaN if either is. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.minimum.

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.minimum([[1], [5]], [2, 4])
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[1, 1],
               [2, 4]], dtype=int32)>
    """
    return np.minimum(x, y)


@elementwise(
    op="SelectV2",
    expr="select(condition, x, y)",
    groups=("bool", "T", "T"),
    dtypes="any",
    vjp=dict(
        x=lambda dy, condition: select(condition, dy, zeros_like_p(dy)),
        y=lambda dy, condition: select(condition, zeros_like_p(dy), dy),
    ),
)
def select(condition: Array, x: Array, y: Array) -> Any:
    """x where condition holds, else y. bool[*s], t[*s], t[*s] -> t[*s], broadcasting."""
    try:
        return np.where(condition, x, y).astype(x.dtype, copy=False)
    except ValueError as error:
        if is_of_memory(error):
            raise
        shapes = shape_text(condition.shape), shape_text(x.shape), shape_text(y.shape)
        text = "condition {}, then {}, and else {} must be broadcastable".format(*shapes)
        raise InvalidArgumentError(None, None, text) from None


# ---- constants of a tensor's shape ----------------------------------------------------------------------------------


@elementwise(expr="0", dtypes="any")
def zeros_like_p(x: Array) -> Any:
    """Zeros of x's shape and dtype; "" for strings. t[*s] -> t[*s]."""
    if x.dtype == object:
        return np.full(x.shape, b"", object)
    return np.zeros(x.shape, x.dtype)


@elementwise(expr="1", dtypes="real complex64 complex128 bool")
def ones_like_p(x: Array) -> Any:
    """Ones of x's shape and dtype. t[*s] -> t[*s]."""
    return np.ones(x.shape, x.dtype)


# ---- identity, casts ------------------------------------------------------------------------------------------------


@elementwise("identity", expr="input", dtypes="any", vjp=dict(input=lambda dy: dy), of_parts=True)
def identity(input: Array) -> Any:
    """The input itself. t[*s] -> t[*s]. Source: tf.identity.

    Args:
        input: A tensor, or what is made of several; of a Variable, what it holds now.

    Examples:
        >>> v = tf.Variable(1.0)
        >>> before = tf.identity(v)
        >>> v.assign(2.0).numpy(), before.numpy()
        (np.float32(2.0), np.float32(1.0))
    """
    return input


@elementwise("stop_gradient", expr="input", dtypes="any", of_parts=True)
def stop_gradient(input: Array) -> Any:
    """The input, through which no gradient flows. t[*s] -> t[*s]. Source: tf.stop_gradient.

    Args:
        input: A tensor, or what is made of several.

    Examples:
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * tf.stop_gradient(x)
        >>> float(tape.gradient(y, x))
        3.0
    """
    return input


@elementwise(
    op="Identity",
    expr="input",
    dtypes="any",
    vjp=dict(input=lambda dy: dy),
    samples=lambda: [((np.arange(6.0).reshape(2, 3).astype(t),), {"number": 1}) for t in ("float32", "int64", "bool")],
)
def apart(input: Array, *, number: int) -> Any:
    """The input itself, in graphs a value of its own for each number, so that none is merged. t[*s] -> t[*s]."""
    return input


def _lower_cast(b: Builder, node: Node) -> list[Any]:
    return [lambda index: b.cast(b.input(0).at(index), node.attrs["dtype"])]


def _cast_samples() -> list[Any]:
    numbers = np.array([[0.0, 1.5, -2.5], [3.0, 100.0, -7.0]])
    types = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "bool")
    pairs = [(a, b) for a in types for b in types]
    with np.errstate(invalid="ignore"):  # a few of them, in a type without a sign or of four bits
        return [((numbers.astype(as_dtype(a).numpy_dtype),), {"dtype": as_dtype(b)}) for a, b in pairs]


def _cast_back(dy: Tensor, x_dtype: DType) -> Any:
    return cast(dy, x_dtype) if x_dtype.is_floating or x_dtype.is_complex else None


@elementwise(groups=("-",), out="dtype", lower=_lower_cast, vjp=dict(x=_cast_back), samples=_cast_samples)
def cast_p(x: Array, *, dtype: DType) -> Any:
    """x with elements of `dtype`: floats are cut off to integers, anything but 0 is True. t[*s] -> dtype[*s]."""
    return _cast(x, dtype)


def _cast(x: Array, dtype: DType) -> Any:
    target = dtype.numpy_dtype
    if (x.dtype.kind == "O") != (target.kind == "O"):
        names = message_name(as_dtype(x.dtype)), message_name(dtype)
        raise UnimplementedError(None, None, "Cast {} to {} is not supported".format(*names))
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    if target.kind == "b":
        return x != 0
    if target.kind in "iu" and is_half(x.dtype):
        x = x.astype(np.float32)
    if target == np.uint32 and x.dtype.kind == "f":  # NumPy's NaN is 0 or 2**31, by the size of the array
        x = x.astype(np.int64)
    return x.astype(target)


def _stored_samples() -> list[Any]:
    numbers = np.array([[0.0, 1.5, -2.5], [3.0, 12.0, -7.0]])
    types = [t.name for t in STORED if not t.is_quantized]
    pairs = [(a, b) for t in types for a, b in (("float32", t), (t, "float16"), (t, "int32"))]
    with np.errstate(invalid="ignore"):  # a few of them, in a type without a sign or of four bits
        return [((numbers.astype(as_dtype(a).numpy_dtype),), {"dtype": as_dtype(b)}) for a, b in pairs]


@elementwise(
    op="Cast",
    groups=("-",),
    out="dtype",
    samples=_stored_samples,
    reason="floats of 8 bits, whole numbers of 4, steps of ranges: kernels have no such elements",
)
def cast_stored_p(x: Array, *, dtype: DType) -> Any:
    """`cast_p` to or from what is only stored, small floats by way of float32; no gradient. t[*s] -> dtype[*s]."""
    if x.dtype.kind == "O":
        raise UnimplementedError(None, None, f"Cast string to {message_name(dtype)} is not supported")
    x = x.view(as_dtype(x.dtype).plain)
    if any(as_dtype(kind) in STORED for kind in (x.dtype, dtype.plain)):
        x = (x.real if x.dtype.kind == "c" else x).astype(np.float32)
        return x != 0 if dtype.is_bool else x.astype(dtype.plain).view(dtype.numpy_dtype)
    return _cast(x, as_dtype(dtype.plain)).view(dtype.numpy_dtype)


# ---- public functions that decide which op to apply -----------------------------------------------------------------


_ABS = abs_p.primitive  # type: ignore[attr-defined]


@public("cast", "dtypes.cast")
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """x with elements of `dtype`: floats are cut off to integers, anything but 0 is True. t[*s] -> dtype[*s].

    Args:
        x: A tensor, or sparse or indexed parts of one, whose values are cast.
        dtype: The dtype wanted; one that x has already costs nothing (a Variable of this dtype is given back unread).

    Raises:
        UnimplementedError: One dtype is a string's, the other is not.

    Examples:
        >>> tf.cast([1.9, -1.9, 0.0], tf.int32)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([ 1, -1,  0], dtype=int32)>
        >>> tf.cast([0, 3], tf.bool)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>

    Source: tf.cast.
    """
    if name is None:
        found = quick_cast(x, dtype)
        if found is not None:
            return found
    target = as_dtype(dtype)
    if isinstance(x, IndexedSlices):  # stays one: the rest of its rows are 0 in any dtype
        return x if x.dtype is target else IndexedSlices(cast(x.values, target, name), x.indices, x.dense_shape)
    if not isinstance(x, Tensor):
        if is_variable(x) and getattr(x, "dtype", None) is target:
            return x  # who keeps it sees later assignments, as in TensorFlow
        x = as_tensor(x)
    if x.dtype is target:
        return x
    op = cast_stored_p if target in STORED or x.dtype in STORED else cast_p
    return op(x, dtype=target) if name is None else named(name, op, x, dtype=target)


@public("abs", "math.abs")
def abs(x: Any, name: str | None = None) -> Any:
    """Absolute value; modulus of complex numbers. t[*s] -> t[*s], c64[*s] -> f32[*s]. Source: tf.abs.

    Args:
        x: A tensor of signed numbers.

    Raises:
        InvalidArgumentError: x is no number, or unsigned.

    Examples:
        >>> tf.abs([-1.5, 2.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 2. ], dtype=float32)>
        >>> tf.abs(tf.constant(3 + 4j))
        <tf.Tensor: shape=(), dtype=float64, numpy=5.0>
    """
    if not isinstance(x, Tensor):
        x = as_tensor(x)
    if name is None and not x.dtype.is_complex:
        return bind(_ABS, (x,), {})
    return named(name, complex_abs if x.dtype.is_complex else abs_p, x)


@public("zeros_like")
def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: TensorLike | None = None
) -> Any:
    """Zeros of the shape of input. t[*s] -> t[*s] or dtype[*s].

    Args:
        input: Whose shape the result has.
        dtype: The result's dtype; None: the input's.
        layout: None.

    Raises:
        ValueError: There is a layout.

    Examples:
        >>> tf.zeros_like([[1, 2], [3, 4]], tf.float32)
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[0., 0.],
               [0., 0.]], dtype=float32)>

    Source: tf.zeros_like.
    """
    if layout is not None:
        raise no_layout(layout)
    if dtype is None and name is None:
        return zeros_like_p(input)
    return _cast_constant(named(name, zeros_like_p, input), dtype)


@public("ones_like")
def ones_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, layout: TensorLike | None = None
) -> Any:
    """Ones of the shape of input. t[*s] -> t[*s] or dtype[*s].

    Args:
        input: Whose shape the result has.
        dtype: The result's dtype; None: the input's.
        layout: None.

    Raises:
        ValueError: There is a layout.

    Examples:
        >>> tf.ones_like([0.5, 1.5])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>

    Source: tf.ones_like.
    """
    if layout is not None:
        raise no_layout(layout)
    if dtype is not None and getattr(input, "dtype", None) is string:  # which have no ones, but a shape
        input = not_equal_p(input, input)
    return _cast_constant(named(name, ones_like_p, input), dtype)


def _cast_constant(x: Tensor, dtype: DTypeLike | None) -> Any:
    return x if dtype is None else cast(x, dtype)


@public("clip_by_value")
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """t limited to [clip_value_min, clip_value_max]; NaN stays. t[*s] -> t[*s].

    Args:
        t: A tensor of real numbers, or IndexedSlices.
        clip_value_min: The least that stays as it is, of t's dtype; it broadcasts.
        clip_value_max: The greatest.

    Raises:
        ValueError: The limits would make it larger.
        InvalidArgumentError: Dtypes differ, or shapes do not broadcast.

    Examples:
        >>> tf.clip_by_value([-3.0, 0.5, 7.0], -1.0, 1.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-1. ,  0.5,  1. ], dtype=float32)>

    Source: tf.clip_by_value.
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_value(t.values, clip_value_min, clip_value_max, name))
    if not isinstance(t, Tensor):
        t = as_tensor(t)
    clipped = quick_clip(t, clip_value_max, clip_value_min)
    if clipped is not None:
        return clipped
    if current_trace() is None:
        return _as_large(t, maximum(_as_large(t, minimum(t, clip_value_max)), clip_value_min))
    with name_scope(name or "clip_by_value") as scope:
        return _as_large(t, maximum(_as_large(t, minimum(t, clip_value_max)), clip_value_min, name=scope))


def _as_large(t: Tensor, result: Tensor) -> Any:
    """`result`, which must have the shape of t. Raises: ValueError if it has not."""
    t.shape.assert_is_compatible_with(result.shape)
    return result
