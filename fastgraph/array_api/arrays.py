"""Arrays made, and arrays in other shapes and orders, by the standard's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.array_api.dtypes import DEFAULTS, array, asarray, axes_of, named_rows, on, place, result_type, together
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api import arrays, shapes
from fastgraph.numpy_api.promotion import ops
from fastgraph.numpy_api.tables import named

FLOAT = DEFAULTS["real floating"]


def _extents(shape: Any) -> Any:
    return [shape] if isinstance(shape, int) else shape


def _filled(name: str, op: str) -> Callable[..., Any]:
    def function(shape: Any, *, dtype: DType | None = None, device: str | None = None) -> Any:
        with on(device):
            return getattr(ops, op)(_extents(shape), FLOAT if dtype is None else as_dtype(dtype))

    return named(function, name, f"Return the standard's `{name}` of a shape. -> dtype[*shape].")


def _filled_like(name: str, op: str) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, dtype: DType | None = None, device: str | None = None) -> Any:
        with on(device):
            return getattr(ops, op)(array(x), None if dtype is None else as_dtype(dtype))

    return named(function, name, f"Return the standard's `{name}`: of the shape of x. t[*s] -> dtype[*s].")


def full(shape: Any, fill_value: Any, *, dtype: DType | None = None, device: str | None = None) -> Any:
    """Return a number in every place of a shape. -> dtype[*shape]."""
    with on(device):
        return ops.broadcast_to(asarray(fill_value, dtype=dtype), _extents(shape))


def full_like(x: TensorLike, /, fill_value: Any, *, dtype: DType | None = None, device: str | None = None) -> Any:
    """Return a number in every place of the shape of x. t[*s] -> dtype[*s]."""
    value = array(x)
    return full(ops.shape(value), fill_value, dtype=dtype or value.dtype, device=device)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: str | None = None) -> Any:
    """Return numbers from start (0) up to stop in steps. -> dtype[n]."""
    first, last = (0, start) if stop is None else (start, stop)
    kind = result_type(first, last, step) if dtype is None else as_dtype(dtype)
    with on(device):
        if any(isinstance(each, Tensor) for each in (first, last, step)):
            return ops.cast(ops.range(*together(first, last, step)), kind)
        if kind.is_integer and all(isinstance(each, int) for each in (first, last, step)):  # modulo 2**64
            n = np.arange(len(range(first, last, step)), dtype=np.uint64)
            made = n * np.uint64(step % 2**64) + np.uint64(first % 2**64)
        else:
            made = np.arange(first, last, step, dtype=np.float64)
        return asarray(made.astype(kind.as_numpy_dtype))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: DType | None = None, device: str | None = None, endpoint: bool = True
) -> Any:
    """Return num numbers from start to stop. -> dtype[num]."""
    kind = result_type(start, stop, 1.0) if dtype is None else as_dtype(dtype)
    with on(device):
        if any(isinstance(each, Tensor) for each in (start, stop)):
            first, last = together(start, stop)
            return ops.cast(arrays.linspace(first, last, num, endpoint=endpoint), kind)
        return asarray(np.linspace(start, stop, num, endpoint=endpoint).astype(kind.as_numpy_dtype))


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: str | None = None) -> Any:
    """Return a matrix with ones on diagonal k. -> dtype[n_rows, n_cols]."""
    return asarray(np.eye(n_rows, n_cols, k), dtype=FLOAT if dtype is None else dtype, device=device)


def broadcast_shapes(*shapes: Any) -> tuple[int | None, ...]:
    """Return what shapes broadcast to. Raises: ValueError for those that do not go together."""
    made: list[int | None] = []
    for shape in shapes:
        dims = [*[1] * (len(made) - len(shape)), *shape]
        made = [*[1] * (len(dims) - len(made)), *made]
        for i, (a, b) in enumerate(zip(made, dims, strict=True)):
            if a != b and 1 not in (a, b) and None not in (a, b):
                raise ValueError(f"broadcast_shapes: {shapes} do not go together: {a} and {b}")
            made[i] = b if a == 1 or (a is None and b != 1) else a
    return tuple(made)


def expand_dims(x: TensorLike, /, axis: Any = 0) -> Any:
    """Return an array with new axes of extent 1. Raises: AxisError, ValueError for places out of range or twice."""
    value, wanted = array(x), (axis,) if isinstance(axis, int) else axis
    for at in sorted(axes_of(wanted, (value.shape.rank or 0) + len(wanted), "expand_dims")):
        value = ops.expand_dims(value, at)
    return value


def squeeze(x: TensorLike, /, axis: Any) -> Any:
    """Return an array without axes of extent 1. Raises: ValueError for other extents."""
    value = array(x)
    wanted = axes_of(axis, value.shape.rank, "squeeze")
    if any(value.shape[at] not in (1, None) for at in wanted):
        raise ValueError(f"squeeze: not all of the axes {axis} of {value.shape} have extent 1")
    return ops.squeeze(value, wanted) if wanted else ops.identity(value)


def take(x: TensorLike, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return slices along an axis at indices, those below 0 from the end. Raises: ValueError where an axis lacks."""
    value, where = array(x), array(indices)
    if axis is None and value.shape.rank != 1:
        raise ValueError(f"take needs an axis of an array of rank {value.shape.rank}")
    along, where = place(axis or 0, value.shape.rank, "take"), ops.cast(where, "int64")
    where = ops.where(where < 0, where + ops.shape(value, "int64")[along], where)
    return ops.gather(value, where, axis=along)


def _concat(arrays: Any, /, *, axis: Any = 0) -> Any:
    given = together(*arrays)
    return ops.concat([ops.reshape(x, [-1]) for x in given], 0) if axis is None else ops.concat(given, axis)


def _axes(x: TensorLike, axes: Any, what: str) -> Any:
    return axes_of(axes, array(x).shape.rank, what)


def _roll(x: TensorLike, /, shift: Any, *, axis: Any = None) -> Any:
    shift = (shift,) * len(axis) if isinstance(axis, tuple) and isinstance(shift, int) else shift
    return shapes.roll(array(x), shift, axis)


def _repeat(x: TensorLike, repeats: Any, /, *, axis: Any = None) -> Any:
    return ops.repeat(array(x), repeats if isinstance(repeats, int) else ops.cast(repeats, "int64"), axis)


_made: dict[str, Callable[..., Any]] = {
    **{name: _filled(name, op) for name, op in (("empty", "zeros"), ("ones", "ones"), ("zeros", "zeros"))},
    **{f"{name}_like": _filled_like(f"{name}_like", f"{op}_like")
       for name, op in (("empty", "zeros"), ("ones", "ones"), ("zeros", "zeros"))},
    **{each.__name__: each for each in
       (arange, broadcast_shapes, expand_dims, eye, full, full_like, linspace, squeeze, take)},
    **named_rows({
        "broadcast_arrays": (lambda *arrays: tuple(shapes.broadcast_arrays(*map(array, arrays))),
                             "arrays broadcast to one shape"),
        "broadcast_to": (lambda x, /, shape: ops.broadcast_to(array(x), shape), "x broadcast to a shape"),
        "concat": (_concat, "arrays one after the other along an axis; None: all elements in a row"),
        "flip": (lambda x, /, *, axis=None: ops.reverse(array(x), _axes(x, axis, "flip")), "x backwards along axes"),
        "meshgrid": (lambda *arrays, indexing="xy": tuple(shapes.meshgrid(*map(array, arrays), indexing=indexing)),
                     "vectors repeated to grids"),
        "moveaxis": (lambda x, source, destination, /: shapes.moveaxis(array(x), source, destination),
                     "x with axes in other places"),
        "permute_dims": (lambda x, /, axes: ops.transpose(array(x), _axes(x, axes, "permute_dims")),
                         "x with its axes in another order"),
        "repeat": (_repeat, "each element, or slice along an axis, several times"),
        "reshape": (lambda x, /, shape, *, copy=None: ops.reshape(array(x), _extents(shape)), "x in another shape"),
        "roll": (_roll, "x moved round along axes, or its elements in a row"),
        "stack": (lambda arrays, /, *, axis=0: ops.stack(together(*arrays), axis), "arrays along a new axis"),
        "take_along_axis": (lambda x, indices, /, *, axis=-1: shapes.take_along_axis(
            array(x), ops.cast(array(indices), "int64"), axis), "elements at indices along an axis"),
        "tile": (lambda x, repetitions, /: shapes.tile(array(x), [*repetitions]) if repetitions else
                 ops.identity(array(x)), "x beside itself, so many times along each axis from the last"),
        "tril": (lambda x, /, *, k=0: arrays.tril(array(x), k), "matrices with zeros above diagonal k"),
        "triu": (lambda x, /, *, k=0: arrays.triu(array(x), k), "matrices with zeros below diagonal k"),
        "unstack": (lambda x, /, *, axis=0: tuple(ops.unstack(array(x), axis=axis)), "the parts along an axis"),
    }),
}  # fmt: skip
globals().update(_made)
__all__ = [*_made]
