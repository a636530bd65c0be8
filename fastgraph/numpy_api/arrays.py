"""Arrays made, by NumPy's names: of values, of ranges, of one number, of diagonals."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api.elementwise import log10, sign
from fastgraph.numpy_api.promotion import default_float, dtype_argument, ops, result_type, tensor
from fastgraph.numpy_api.tables import Function, as_function, make_weak, named, of_first, refuse

# NumPy's own classes and constants.
bool_, object_, string_, unicode_ = np.bool_, np.object_, np.bytes_, np.str_
int8, int16, int32, int64, int_ = np.int8, np.int16, np.int32, np.int64, np.int_
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64, float_ = np.float16, np.float32, np.float64, np.float64
complex64, complex128, complex_, inexact = np.complex64, np.complex128, np.complex128, np.inexact
e, inf, pi, newaxis = np.e, np.inf, np.pi, None
iinfo, issubdtype = np.iinfo, np.issubdtype

MAX_NDMIN = 32


def array(val: TensorLike, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Return a tensor of NumPy's dtype for a value, or of `dtype`, of at least `ndmin` axes.

    Raises: ValueError for more of them than 32.
    """
    made = tensor(val, dtype)
    refuse(
        isinstance(ndmin, int) and ndmin > MAX_NDMIN, f"ndmin bigger than allowable number of dimensions: {MAX_NDMIN}."
    )
    if copy and made is val:
        made = ops.identity(made)
    return made if isinstance(ndmin, int) and ndmin == 0 else padded_left(made, ndmin)


asarray, asanyarray = (
    as_function(name, lambda a, dtype=None: tensor(a, dtype), "a tensor as it is, or as `array` makes it")
    for name in ("asarray", "asanyarray")
)


ascontiguousarray = as_function(
    "ascontiguousarray", lambda a, dtype=None: padded_left(tensor(a, dtype), 1), "a tensor of at least one axis"
)


copy = of_first("copy", lambda a: ops.identity(a), "a tensor of its own with the same elements")


def padded_left(x: Tensor, n: int) -> Any:
    """A tensor with axes of extent 1 before its own, so that it has n of them."""
    rank = x.shape.rank
    if rank is not None and isinstance(n, int):
        return ops.reshape(x, ops.concat([[1] * (n - rank), ops.shape(x)], 0)) if rank < n else x
    dims = ops.shape(x)
    more = ops.maximum(ops.cast(n, "int64"), 0) - ops.size(dims, "int64")  # the least int64 has no room for a rank less
    return ops.reshape(x, ops.concat([ops.ones([ops.maximum(more, 0)], "int32"), dims], 0))


def _extents(shape: Any) -> Any:
    """A shape as TensorFlow's functions take it: a tensor may be one extent."""
    return ops.reshape(shape, [-1]) if isinstance(shape, Tensor) else shape


def zeros(shape: SizeLike, dtype: DTypeLike | None = float) -> Tensor:
    """Return zeros of a shape. -> dtype[*shape]."""
    return ops.zeros(_extents(shape), dtype_argument(dtype) or "float64")


def ones(shape: SizeLike, dtype: DTypeLike | None = float) -> Tensor:
    """Return ones of a shape. -> dtype[*shape]."""
    return ops.ones(_extents(shape), dtype_argument(dtype) or "float32")


empty = as_function("empty", lambda shape, dtype=float: zeros(shape, dtype), "zeros: no memory is left unwritten")


def _like(name: str, op: str) -> Function:
    def function(a: TensorLike, dtype: DTypeLike | None = None) -> Any:
        return getattr(ops, op)(tensor(a), dtype_argument(dtype))

    return named(function, name, f"Return NumPy's `{name}`, of the dtype of a or of another. t[*s] -> dtype[*s].")


empty_like = _like("empty_like", "zeros_like")
ones_like = _like("ones_like", "ones_like")
zeros_like = _like("zeros_like", "zeros_like")


def full(shape: Any, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Return a value broadcast to a shape. -> dtype[*shape]."""
    return ops.broadcast_to(tensor(fill_value, dtype), ops.reshape(ops.cast(shape, "int64"), [-1]))


def broadcast_to(array: TensorLike, shape: SizeLike) -> Tensor:
    """Return an array broadcast to a shape. t[*s] -> t[*shape]."""
    return full(shape, array)


def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: None = None,
) -> Tensor:
    """Return a value in the shape of a. Raises ValueError for other orders, subok, shapes."""
    refuse(order != "K", "Non-standard orders are not supported.")
    refuse(not subok, "subok being False is not supported.")
    refuse(shape is not None, "Overriding the shape is not supported.")
    x = tensor(a)
    return ops.broadcast_to(tensor(fill_value, dtype or x.dtype), ops.shape(x))


def eye(N: Any, M: Any = None, k: int = 0, dtype: DTypeLike = float) -> Tensor:
    """Return an N x M matrix with ones on diagonal k."""
    kind = dtype_argument(dtype) or "float32"
    rows, columns, k = int(N), int(M or N), int(k)
    if k >= columns or -k >= rows:
        return ops.zeros([rows, columns], kind)
    length = builtins.min(rows, columns - k) if k > 0 else builtins.min(rows + k, columns)
    return ops.diag(ops.ones([length], kind), num_rows=rows, num_cols=columns, k=k)


identity = as_function("identity", lambda n, dtype=float: eye(n, n, dtype=dtype), "the n x n unit matrix")


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix with ones on diagonal k and below it."""
    rows, columns = (ops.range(ops.cast(n, "int64")) for n in (N, N if M is None else M))
    return ops.cast(columns - rows[:, None] <= ops.cast(k, "int64"), dtype_argument(dtype) or default_float())


def _triangle(name: str, keep: Any) -> Function:
    def function(m: TensorLike, k: int = 0) -> Any:
        x = tensor(m)
        refuse(x.shape.rank is None or x.shape.rank < 2, f"Argument to {name} must have known rank and rank at least 2")
        rows, columns = ops.shape(x)[-2], ops.shape(x)[-1]
        inside = keep(ops.range(columns) - ops.range(rows)[:, None], k)
        return ops.where(inside, x, ops.zeros_like(x))

    return named(
        function, name, f"Return NumPy's `{name}`: matrices with zeros outside a triangle. t[*s, m, n] -> same."
    )


tril = _triangle("tril", lambda distance, k: distance <= k)
triu = _triangle("triu", lambda distance, k: distance >= k)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Tensor:
    """Return numbers from start (0) up to stop in steps. -> dtype[n]. Raises: ValueError for a step of 0."""
    refuse(not step, "step must be non-zero.")
    given = [start, step] if stop is None else [start, step, stop]
    kind = dtype_argument(dtype) or result_type(*given)
    first, last = (0, start) if stop is None else (start, stop)
    if (step > 0 and first > last) or (step < 0 and first < last):
        return ops.zeros([0], kind)
    return ops.cast(ops.range(start, limit=stop, delta=step), kind)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = float,
    axis: int = 0,
) -> Tensor | Any:
    """Return num numbers from start to stop along a new axis, and if asked their distance.

    Their dtype is that of the ends. Raises: ValueError for a number below 0.
    """
    kind = result_type([start * 1.0, stop * 1.0]) if dtype else None
    first, last = tensor(start, kind), tensor(stop, kind)
    refuse(num < 0, f"Argument `num` (number of samples) must be a non-negative integer. Received: num={num}")
    step: Any = ops.cast(np.nan, "float32")
    if num > endpoint:
        step = (last - first) / (num - endpoint)
    if not endpoint and num > 1:
        last = ops.cast(last, step.dtype) - step
        first = ops.cast(first, step.dtype)
    made = ops.linspace(first, last, num, axis=axis) if num else _no_row(first, last, axis)
    if kind is not None:
        made = ops.cast(ops.floor(made) if kind.is_integer else made, kind)
    return (made, step) if retstep else made


def _no_row(first: Tensor, last: Tensor, axis: int) -> Any:
    """Return what `linspace` gives of no numbers."""
    one = ops.expand_dims(first + last, axis)
    return ops.gather(one, ops.zeros([0], "int32"), axis=axis)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Return base to the power of `linspace`."""
    kind = result_type([start * 1.0, stop * 1.0])
    made = linspace(start, stop, num=num, endpoint=endpoint, dtype=kind, axis=axis)
    return ops.cast(ops.pow(ops.cast(base, made.dtype), made), kind)


def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Return num numbers from start to stop with one ratio."""
    kind = dtype_argument(dtype) or result_type(start, stop, float(num), zeros((), None))
    working = np.promote_types(kind.numpy_dtype, np.float32)
    first, last = tensor(start, working), tensor(stop, working)
    flip = 1 - (1 - sign(ops.real(first))) * (1 - sign(ops.real(last))) // 2
    powers = logspace(log10(flip * first), log10(flip * last), num, endpoint=endpoint, dtype=working)
    made = flip * powers
    if axis:
        rank = made.ndim
        order = list(range(1, rank))
        order.insert(axis % rank, 0)
        made = ops.transpose(made, order)
    return ops.cast(made, kind)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """Return the indices of a diagonal, ndim times. Raises ValueError below 0."""
    for name, value in (("n", n), ("ndim", ndim)):
        refuse(value < 0, f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (ops.range(n),) * ndim


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the powers of a vector, one a column. t[n] -> t[n, N].

    Raises: ValueError for another rank, or N below 0.
    """
    vector = tensor(x)
    refuse(vector.shape.rank not in (1, None), "x must be a one-dimensional array")
    refuse(N is not None and not isinstance(N, Tensor) and N < 0, "N must be nonnegative")
    powers = ops.range(ops.shape(vector)[0] if N is None else N)
    powers = powers if increasing else ops.reverse(powers, [0])
    return ops.pow(ops.expand_dims(vector, -1), ops.cast(powers, vector.dtype))


make_weak(globals())
