"""Elements chosen by numbers: gather, and what data alone decides: where, boolean_mask.

Rule: an index out of range is an error on every path, never a read outside the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import bool_, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.op_errors import MAX_RANK, rank_too_large
from fastgraph.core.tensor import Tensor, bind, get_slot
from fastgraph.ops.arguments import are_known, as_tensor, index_vector, known_axis, named, residual_shape, whole
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast, select
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    canonical_axis,
    custom,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.movement import (
    expand_dims,
    expand_dims_p,
    reshape,
    shape,
    shape_of_value,
    size,
    squeeze_p,
    transpose_p,
)
from fastgraph.ops.precise_sums import HALF, is_half


def dim(x: Tensor, axis: int) -> Any:
    """The extent of x along `axis`: an int if it is known, else a scalar tensor."""
    n = x.shape[axis] if x.shape.rank is not None else None
    return shape(x)[axis] if n is None else n


# ---- gather ---------------------------------------------------------------------------------------------------------


def _gathered(params: Dims, indices: Dims, axis: int, batch_dims: int) -> Dims:
    """The shape of gather's result. ValueError with TensorFlow's text for what does not fit."""
    if params is not None:
        rank = len(params)
        if rank == 0:
            raise ValueError("params must be at least 1 dimensional")
        if not -rank <= axis < rank:
            raise ValueError(f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {rank}")
        axis %= rank
    if params is None or indices is None:
        return None
    if batch_dims < 0:
        batch_dims += len(indices)
    if not 0 <= batch_dims <= min(axis, len(indices)):
        raise ValueError(
            f"batch_dims ({batch_dims}) must be less than or equal to axis ({axis}) and the rank of indices"
        )
    for i in range(batch_dims):
        if params[i] is not None and indices[i] is not None and params[i] != indices[i]:
            raise ValueError(f"params.shape[{i}]: {params[i]} should be equal to indices.shape[{i}]: {indices[i]}")
    return (*params[:axis], *indices[batch_dims:], *params[axis + 1 :])


def _infer_gather(params: Aval, indices: Aval, *, axis: int, batch_dims: int) -> Aval:
    return Aval(params.dtype, _gathered(params.shape, indices.shape, axis, batch_dims))


def _lower_gather(b: Builder, node: Node) -> list[Any]:
    params, indices = b.input(0), b.input(1)
    axis = canonical_axis(node.attrs["axis"], params.rank)
    batch = (
        node.attrs["batch_dims"] % max(indices.rank, 1) if node.attrs["batch_dims"] < 0 else node.attrs["batch_dims"]
    )
    own = indices.rank - batch

    def element(index: Sequence[Any]) -> Any:
        where = (*index[:batch], *index[axis : axis + own])
        k = b.cast(indices.at(where), "int64")
        inside = b.op("and", k >= 0, k < params.shape[axis])
        value = params.at((*index[:axis], k, *index[axis + own :]))
        return b.check(inside, value, b.flat(where, indices.shape))

    return [element]


def _gather_params(dy: Tensor, indices: Tensor, params_shape: TensorLike, axis: int, batch_dims: int) -> Any:
    slices = get_slot("indexed_slices")
    if batch_dims == 0 and isinstance(params_shape, tuple):
        if canonical_axis(axis, len(params_shape)) == 0:
            n: Any = -1
            if 0 in params_shape[1:]:  # the number of elements does not say it
                n = indices.shape.num_elements()
                n = size(indices) if n is None else n
            values = reshape(dy, (n, *params_shape[1:]))
            return slices(values, reshape(indices, (-1,)), index_vector(params_shape))
    elif batch_dims == axis == 0 and indices.shape.rank in (0, 1):  # of as many rows as the run will tell
        return slices(dy if indices.shape.rank else expand_dims(dy, 0), reshape(indices, (-1,)), params_shape)
    where = residual_shape(params_shape)
    if dy.dtype.name in HALF:  # many are added: in float32, rounded once
        return cast(gather_grad(cast(dy, "float32"), indices, where, axis=axis, batch_dims=batch_dims), dy.dtype)
    return gather_grad(dy, indices, where, axis=axis, batch_dims=batch_dims)


def _gather_samples() -> list[Any]:
    return [
        ((np.arange(24).reshape(2, 3, 4).astype(t), np.array(i, it)), {"axis": a, "batch_dims": bd})
        for t, it in (("float32", "int32"), ("int64", "int64"), ("bool", "int16"))
        for i, a, bd in (
            (1, 0, 0),
            ([0, 1, 1], 0, 0),
            ([[2, 0], [1, 1]], 1, 0),
            ([3], -1, 0),
            ([[0, 2], [1, 1]], 1, 1),
            ([[0, 2], [1, 1]], -1, -1),
            ([2, 0], 1, 1),
            ([], 2, 0),
        )
    ]


@movement(
    op="GatherV2",
    infer=_infer_gather,
    groups=("Tparams", "Tindices"),
    dtypes={"Tindices": "int16 int32 int64"},
    lower=_lower_gather,
    vjp=dict(
        params=lambda dy, indices, params_shape, axis, batch_dims: _gather_params(
            dy, indices, params_shape, axis, batch_dims
        )
    ),
    samples=_gather_samples,
    error_samples=lambda: [
        misuse(r"indices\[0\] = 2 is not in \[0, 2\)", np.ones([2, 3]), np.array([2]), axis=0, batch_dims=0),
        misuse(
            r"indices\[1,0\] = 5 is not in \[0, 3\)", np.ones([2, 3]), np.array([[0, 1], [5, 0]]), axis=1, batch_dims=0
        ),
        misuse(r"indices\[0\] = -1 is not in \[0, 2\)", np.ones([2, 3]), np.array([-1]), axis=0, batch_dims=0),
        misuse("params must be at least 1 dimensional", np.ones([]), np.array([0]), axis=0, batch_dims=0),
        misuse("Shape must be at least rank 3 but is rank 2", np.ones([2, 3]), np.array([0]), axis=2, batch_dims=0),
    ],
)
def gather_p(params: Array, indices: Array, *, axis: int, batch_dims: int) -> Any:
    """Slices of params along `axis` at indices. t[*p], i[*q] -> t[*p before axis, *q, *p after axis]."""
    validated(_gathered, params.shape, indices.shape, axis, batch_dims)
    axis %= params.ndim
    n = params.shape[axis]
    if indices.size and (np.minimum.reduce(indices, axis=None) < 0 or np.maximum.reduce(indices, axis=None) >= n):
        bad = (indices < 0) | (indices >= n)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"indices{shape_text(first)}" if first else "indices"
        raise invalid(f"{place} = {int(indices[first])} is not in [0, {n})")
    if batch_dims < 0:
        batch_dims += indices.ndim
    rank = params.ndim + indices.ndim - batch_dims - 1
    if rank > MAX_RANK:  # NumPy does not see it
        raise invalid(rank_too_large(rank))
    if batch_dims == 0:
        return params.take(indices, axis=axis)
    extents, where = _four_axes(params.shape, indices, axis, batch_dims)
    return params.reshape(extents)[where].reshape(
        params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1 :]
    )


def _four_axes(params: tuple[int, ...], indices: Array, axis: int, batch_dims: int) -> tuple[Any, Any]:
    """The tensor gathered from as [batch, before the axis, axis, after it], and the three indices that take from it.

    NumPy allows fewer indices than axes, and its `ufunc.at` crashes above 32 of them (2.4).
    """
    batch, before, after = (
        math.prod(part) for part in (params[:batch_dims], params[batch_dims:axis], params[axis + 1 :])
    )
    own = math.prod(indices.shape[batch_dims:])
    where = (np.arange(batch)[:, None, None], np.arange(before)[:, None], indices.reshape((batch, 1, own)))
    return (batch, before, params[axis], after), where


def combine_at(how: str, result: Array, where: Sequence[Array], updates: Array) -> None:
    """Combine updates with the slices of `result` at `where`, in order: "add", "sub", "mul", "max", "min".

    "segmax", "segmin": with NaN as in TensorFlow's segments. Slices at a negative last index are passed over.
    result: contiguous. where: int[*q] for each of the first axes of `result`. updates: t[*q, *its other axes].
    """
    assert result.flags.c_contiguous
    depth = len(where)
    inner = math.prod(result.shape[depth:])
    ids = where[0].reshape(-1).astype(np.int64, copy=False)
    for n, each in zip(result.shape[1:], where[1:], strict=False):
        ids = ids * n + each.reshape(-1)
    rows = result.reshape((math.prod(result.shape[:depth]), inner))
    updates = np.ascontiguousarray(updates).reshape((len(ids), inner))
    if array_kernels.combine(how, rows, np.ascontiguousarray(ids), updates):
        return
    kept = ids >= 0
    if not kept.all():
        ids, updates = ids[kept], updates[kept]
    if how in _COMBINE:
        _COMBINE[how].at(rows, ids, updates)
    else:
        for i, update in zip(ids.tolist(), updates, strict=True):
            rows[i] = np.where(update > rows[i] if how == "max" else update < rows[i], update, rows[i])


_COMBINE = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


@custom(
    infer=lambda dy, indices, shape, *, axis, batch_dims: Aval(dy.dtype, shape_of_value(shape)),
    groups=("T", "Tindices", "Tshape"),
    dtypes={"T": "summable", "Tindices": "int16 int32 int64", "Tshape": "index"},
    shape_inputs=(2,),
    vjp=dict(dy=lambda dy, indices, axis, batch_dims: gather_p(dy, indices, axis=axis, batch_dims=batch_dims)),
    samples=lambda: [
        (
            (np.arange(12.0).reshape(2, 2, 3), np.array([[0, 1], [1, 1]]), np.array([2, 3])),
            {"axis": 0, "batch_dims": 0},
        ),
        ((np.arange(4.0).reshape(2, 2), np.array([[0, 2], [1, 1]]), np.array([2, 3])), {"axis": 1, "batch_dims": 1}),
        ((np.arange(6.0).reshape(2, 3), np.array([0, 0, 3]), np.array([2, 4])), {"axis": 1, "batch_dims": 0}),
        ((np.arange(2.0), np.array([2, 0]), np.array([2, 3])), {"axis": 1, "batch_dims": 1}),
        ((np.arange(4.0).reshape(2, 2), np.array([[0, 2], [1, 1]]), np.array([2, 3])), {"axis": 1, "batch_dims": -1}),
    ],
    step="gather_grad.add",
)
def gather_grad(dy: Array, indices: Array, shape: Array, *, axis: int, batch_dims: int) -> Any:
    """Zeros of `shape` to which dy is added at the places that gather took it from. t[*r], i[*q], i[n] -> t[*shape]."""
    dims = tuple(shape.tolist())
    axis %= len(dims)
    if batch_dims < 0:
        batch_dims += indices.ndim
    result = np.zeros(dims, np.float32 if is_half(dy.dtype) else dy.dtype)
    extents, where = _four_axes(dims, indices, axis, batch_dims)
    batch, before, n, after = extents
    ids = (where[0] * before + where[1]) * n + where[2]
    outside = (where[2] < 0) | (where[2] >= n)
    if outside.any():
        ids = np.where(outside, -1, ids)
    combine_at("add", result.reshape((batch * before * n, after)), [ids], dy)
    return result.astype(dy.dtype, copy=False)


@public("gather")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: Any = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Slices of params along `axis` at indices. t[*p], i[*q] -> t[*p before axis, *q, *p after axis].

    Args:
        params: The tensor that slices are taken of.
        indices: int32 or int64, from 0 to the extent of `axis` - 1.
        validate_indices: Taken and without effect: they always are.
        axis: The axis of params; None: `batch_dims`.
        batch_dims: How many leading axes params and indices share: one choice for each of their elements.

    Raises:
        InvalidArgumentError: An index is out of range, or the leading axes differ.

    Examples:
        >>> tf.gather([10, 20, 30], [2, 0])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([30, 10], dtype=int32)>
        >>> scores = tf.constant([[0.1, 0.9], [0.8, 0.2]])
        >>> tf.gather(scores, [1, 0], batch_dims=1)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.9, 0.8], dtype=float32)>

    Source: tf.gather.
    """
    batch_dims = batch_dims if type(batch_dims) is int else whole(batch_dims, "batch_dims")
    if axis is None and batch_dims < 0 and (hasattr(params, "row_splits") or hasattr(indices, "row_splits")):
        batch_dims += as_tensor(indices).shape.rank or 0  # of the indices; as an axis it would be one of params
    along = batch_dims if axis is None else axis
    if type(along) is not int:
        x, places = as_tensor(params), as_tensor(indices)
        if not are_known(along) and isinstance(x, Tensor) and isinstance(places, Tensor):
            rank, more = x.shape.rank, places.shape.rank
            shape = None if rank is None or more is None else [None] * (rank + more - 1 - batch_dims)
            call = partial(gather, batch_dims=batch_dims)
            return late_unless_known(call, [x, places], {"axis": along}, x.dtype, shape, name)
        along = known_axis(along, "axis must be scalar, not", "GatherV2.Taxis", hint=False)
    if name is None:
        return gather_p(params, indices, axis=along, batch_dims=batch_dims)
    return named(name, gather_p, params, indices, axis=along, batch_dims=batch_dims)


def gather_densely(x: Tensor, places: TensorLike, axis: int, name: str | None = None) -> Any:
    """`gather` of a tensor of known rank, whose gradient is a tensor along the first axis too, not IndexedSlices."""
    if axis:
        return gather(x, places, axis=axis, name=name)
    return squeeze_p(gather(expand_dims_p(x, axes=(0,)), places, axis=1, name=name), axes=(0,))


# ---- what data decides ----------------------------------------------------------------------------------------------


@custom(
    op="Where",
    infer=lambda condition: Aval(int64, (None, None if condition.shape is None else len(condition.shape))),
    dtypes="summable bool",
    step="counted.where",
    samples=lambda: [((np.array(c),), {}) for c in ([True, False, True], [[0, 1], [2, 0]], [], True, [0.0, -1.0])],
)
def where_index(condition: Array) -> Any:
    """The indices of the elements that are not 0, in row-major order. t[*s] -> i64[n, rank]."""
    return np.argwhere(condition).astype(np.int64)


def _infer_mask(tensor: Aval, mask: Aval) -> Aval:
    if tensor.shape is None or mask.shape is None:
        return Aval(tensor.dtype, None)
    return Aval(tensor.dtype, (None, *tensor.shape[len(mask.shape) :]))


@custom(
    op="BooleanMask",
    infer=_infer_mask,
    groups=("T", "bool"),
    step="counted.mask",
    vjp=dict(tensor=lambda dy, mask, tensor_shape: mask_scatter(dy, mask, residual_shape(tensor_shape))),
    samples=lambda: [
        ((np.arange(6).reshape(2, 3).astype(t), np.array(m)), {})
        for t in ("float32", "int32")
        for m in ([True, False], [[True, False, True], [False, False, True]], [False, False])
    ],
    error_samples=lambda: [
        misuse(r"Shapes \(2,\) and \(3,\) are incompatible", np.ones([2, 3]), np.array([True, False, True]))
    ],
)
def mask_p(tensor: Array, mask: Array) -> Any:
    """The slices of tensor where mask holds; the mask covers its leading axes. t[*m, *r], bool[*m] -> t[n, *r]."""
    if tensor.shape[: mask.ndim] != mask.shape:
        raise invalid(f"Shapes {tensor.shape[: mask.ndim]} and {mask.shape} are incompatible")
    return tensor[mask]


@custom(
    infer=lambda values, mask, shape: Aval(values.dtype, shape_of_value(shape)),
    groups=("T", "bool", "Tshape"),
    dtypes={"Tshape": "index"},
    step="placed.mask",
    shape_inputs=(2,),
    vjp=dict(values=lambda dy, mask: mask_p(dy, mask)),
    samples=lambda: [((np.array([1.0, 2.0]), np.array([True, False, True]), np.array([3])), {})],
)
def mask_scatter(values: Array, mask: Array, shape: Array) -> Any:
    """Zeros of `shape` with the values where mask holds, in order. t[n, *r], bool[*m], i[rank] -> t[*m, *r]."""
    result = np.zeros(tuple(shape.tolist()), values.dtype)
    count = int(np.count_nonzero(mask))
    if count != len(values):
        raise invalid(f"The mask holds at {count} places, and there are {len(values)} values")
    result[mask] = values
    return result


def mask_axis(axis: TensorLike) -> int:
    """The axis of boolean_mask. Raises: TypeError for a list."""
    if isinstance(axis, (list, tuple)):
        raise TypeError(f"boolean_mask: axis must be a scalar, not {axis!r}")
    return known_axis(axis, "axis must be a scalar, not", hint=False)


@public("boolean_mask")
def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str | None = "boolean_mask") -> Any:
    """The slices of tensor where mask holds; the mask covers axes from `axis` (0) on. t[*a, *m, *r] -> t[*a, n, *r].

    Raises: ValueError for a scalar mask or shapes that do not fit. Source: tf.boolean_mask.
    """
    tensor = as_tensor(tensor)
    mask = cast(as_tensor(mask), bool_)
    rank, covered = tensor.shape.rank, mask.shape.rank
    if not are_known(axis) and covered:
        shape = None if rank is None else [None] * (rank - covered + 1)
        return late_unless_known(boolean_mask, [tensor, mask], {"axis": axis}, tensor.dtype, shape)
    start = 0 if axis is None else mask_axis(axis)
    if covered == 0:
        raise ValueError("mask cannot be scalar.")
    if covered is None:
        raise ValueError(
            "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is ok, "
            "but shape=None is not."
        )
    if rank is not None:
        if not -rank <= start < max(rank, 1):
            raise ValueError(f"boolean_mask: axis {start} is out of range for a tensor of rank {rank}")
        start %= max(rank, 1)
        own = tensor.shape[start : start + covered]
        if not own.is_compatible_with(mask.shape):
            raise ValueError(f"Shapes {own} and {mask.shape} are incompatible")
    label = name if name != "boolean_mask" else None
    if start == 0:
        return named(label, mask_p, tensor, mask)
    if rank is None:
        return late(lambda t, m: boolean_mask(t, m, start), [tensor, mask], tensor.dtype, name=label)
    covering = tuple(range(start, start + covered))
    order = covering + tuple(i for i in range(rank) if i not in covering)
    chosen = named(label, mask_p, transpose_p(tensor, perm=order), mask)
    back = (*range(1, start + 1), 0, *range(start + 1, rank - covered + 1))
    return transpose_p(chosen, perm=back)


_SELECT = select.primitive  # type: ignore[attr-defined]


@public("where")
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Any:
    """x where condition holds, else y; without x and y: the indices where it holds.

    bool[*s], t[*s], t[*s] -> t[*s], broadcasting; t[*s] -> i64[n, rank].

    Args:
        condition: bool; without x and y a number is as good: what is not 0 holds.
        x: What is taken where condition holds.
        y: What is taken elsewhere, of the same dtype.

    Raises:
        ValueError: Only one of x and y is given.
        InvalidArgumentError: The shapes do not broadcast, or the dtypes differ.

    Examples:
        >>> x = tf.constant([-1.0, 4.0, 9.0])
        >>> tf.where(x > 0, x, 0.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 4., 9.], dtype=float32)>
        >>> tf.where([[True, False], [False, True]])
        <tf.Tensor: shape=(2, 2), dtype=int64, numpy=
        array([[0, 0],
               [1, 1]])>

        Both branches count in a gradient, so a NaN in the one not taken spoils it: make what is computed safe, too.

        >>> safe = tf.where(x > 0, x, 1.0)
        >>> tf.where(x > 0, tf.sqrt(safe), 0.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 2., 3.], dtype=float32)>

    Source: tf.where.
    """
    if x is None and y is None:
        return named(name, where_index, condition)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return bind(_SELECT, (condition, x, y), {}) if name is None else named(name, select, condition, x, y)
