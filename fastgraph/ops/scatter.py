"""Elements named by index vectors: gather_nd takes them, scatter_nd and tensor_scatter_nd_* put them.

Rule: updates are applied in the order in which they are given; an index out of range is an error that names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import alike, as_tensor, extents, named, residual_shape, whole
from fastgraph.ops.bad_indices_policy import gathered, ignored, within
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import equal_p
from fastgraph.ops.creation import range_
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import cast, negative, ones_like, select, zeros_like
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    custom,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.gathering import combine_at, dim
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import reshape, shape, shape_of_value
from fastgraph.ops.precise_sums import HALF, is_half

_INDICES = "int16 int32 int64"


def _checked(indices: Array, dims: Sequence[int], text: str) -> tuple[Array, ...]:
    """The indices of each axis. InvalidArgumentError with the first index vector that is out of range."""
    depth = indices.shape[-1]
    rows = indices.reshape((math.prod(indices.shape[:-1]), depth))
    bad = ((rows < 0) | (rows >= np.array(dims[:depth], np.int64))).any(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        where = [int(i) for i in np.unravel_index(first, indices.shape[:-1])]
        found = ", ".join(str(int(i)) for i in rows[first])
        place = f"indices{shape_text(where)}" if where else "indices[]"
        raise invalid(f"{place} = [{found}] does not index into {text.format(shape_text(dims))}")
    return tuple([indices[..., d] for d in range(depth)])


# ---- gather_nd ------------------------------------------------------------------------------------------------------


def _gathered(params: Dims, indices: Dims) -> Dims:
    if params is not None and not params:
        raise ValueError("params must be at least a vector")
    if indices is None:
        return None
    if not indices:
        raise ValueError("indices must be at least a vector")
    depth = indices[-1]
    if params is None or depth is None:
        return None
    if depth > len(params):
        raise ValueError(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(params)}")
    return (*indices[:-1], *params[depth:])


def _lower_gather_nd(b: Builder, node: Node) -> list[Any]:
    params, indices = b.input(0), b.input(1)
    depth = params.rank + indices.rank - 1 - b.output(0).rank  # the graph may not know it as an extent

    def element(index: Sequence[Any]) -> Any:
        where = index[: indices.rank - 1]
        fits, at = None, []
        for d in range(depth):
            k = b.cast(indices.at((*where, b.const(d, "int64"))), "int64")
            inside = b.op("and", k >= 0, k < params.shape[d])
            fits = inside if fits is None else b.op("and", fits, inside)
            at.append(k)
        value = params.at((*at, *index[indices.rank - 1 :]))
        return value if fits is None else b.check(fits, value, b.flat(where, indices.shape[:-1]))

    return [element]


def _gather_nd_samples() -> list[Any]:
    return [
        ((np.arange(24).reshape(2, 3, 4).astype(t), np.array(i, it)), {})
        for t, it in (("float32", "int32"), ("int64", "int64"), ("bool", "int16"))
        for i in ([[1], [0]], [[1, 2], [0, 0]], [[[1, 2, 3]], [[0, 0, 1]]], [1, 2, 3], [0])
    ] + [
        ((np.arange(6.0).reshape(2, 3), np.zeros([2, 0], np.int32)), {}),
        ((np.ones([2, 3]), np.zeros([0, 1], np.int32)), {}),
    ]


def _gather_nd_errors() -> list[Any]:
    x = np.array([[1, 2], [3, 4]])
    return [
        misuse(r"indices\[0\] = \[0, 2\] does not index into param shape \[2,2\]", x, np.array([[0, 2]])),
        misuse(r"indices\[1\] = \[-1, 0\] does not index into param shape \[2,2\]", x, np.array([[1, 0], [-1, 0]])),
        misuse("index innermost dimension length must be <= params rank; saw: 3 vs. 2", x, np.array([[0, 0, 0]])),
        misuse("indices must be at least a vector", x, np.array(0)),
    ]


@movement(
    infer=lambda params, indices: Aval(params.dtype, _gathered(params.shape, indices.shape)),
    groups=("Tparams", "Tindices"),
    dtypes={"Tindices": _INDICES},
    lower=_lower_gather_nd,
    vjp=dict(params=lambda dy, indices, params_shape: _scattered(indices, dy, residual_shape(params_shape))),
    samples=_gather_nd_samples,
    error_samples=_gather_nd_errors,
)
def gather_nd_p(params: Array, indices: Array) -> Any:
    """The slices of params at the index vectors in the last axis of indices. t[*p], i[*q, d] -> t[*q, *p[d:]]."""
    dims = validated(_gathered, params.shape, indices.shape)
    if params.size == 0 and int(np.prod(indices.shape[:-1])) > 0 and 0 in params.shape[: indices.shape[-1] or None]:
        raise invalid(f"Requested more than 0 entries, but params is empty.  Params shape: {shape_text(params.shape)}")
    where = _checked(indices, params.shape, "param shape {}, node name: GatherNd")
    if not where:
        return np.broadcast_to(params, dims)
    return params[where]


@public("gather_nd")
def gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: TensorLike = 0, name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:  # fmt: skip
    """The slices of params at the index vectors in the last axis of indices. t[*b, *p], i[*b, *q, d] -> t[*b, *q, *r].

    The first `batch_dims` axes of both are batches. With the policy "IGNORE" an index out of range gives zeros.
    Raises: InvalidArgumentError for an index out of range or too long, or an unknown policy. Source: tf.gather_nd.
    """
    params, indices = as_tensor(params), as_tensor(indices)
    batch_dims = whole(batch_dims, "batch_dims")
    if hasattr(params, "row_splits") or hasattr(indices, "row_splits"):
        if batch_dims != 0:
            raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
        if bad_indices_policy not in ("", "DEFAULT"):
            raise ValueError("non-default bad_indices_policy not supported for ragged gather")
        return named(name, gather_nd_p, params, indices)

    def gather(indices: Tensor) -> Any:
        if ignored(bad_indices_policy, "GatherNd"):
            return gathered(lambda p, i: named(name, gather_nd_p, p, i), params, indices)
        return named(name, gather_nd_p, params, indices)

    if batch_dims == 0:
        return gather(indices)
    rank = indices.shape.rank
    if rank is None or params.shape.rank is None:
        again = lambda p, i: gather_nd(p, i, batch_dims, bad_indices_policy=bad_indices_policy)
        return late(again, [params, indices], params.dtype, name=name)
    if batch_dims >= rank:
        raise ValueError(f"`batch_dims` ({batch_dims}) must be < rank of `indices` ({rank})")
    if batch_dims >= params.shape.rank:
        raise ValueError(f"`batch_dims` ({batch_dims}) must be < rank of `params` ({params.shape.rank})")
    if batch_dims < 0:
        raise ValueError(f"`batch_dims` ({batch_dims}) must be >= 0")
    # The place in the batch becomes the beginning of each index vector.
    lead = [dim(indices, i) for i in range(rank - 1)]
    places = []
    for axis in range(batch_dims):
        place = reshape(cast(range_(dim(params, axis)), indices.dtype), [-1 if i == axis else 1 for i in range(rank)])
        places.append(broadcast_to(place, [*lead, 1]))
    return gather(concat([*places, indices], -1))


# ---- scatter_nd -----------------------------------------------------------------------------------------------------


def _scatter_problem(
    indices: Sequence[int | None], updates: Sequence[int | None], dims: Sequence[int | None]
) -> str | None:
    """Tell what does not fit in a scatter_nd, as TensorFlow says it."""
    if not indices:
        return "Indices shape must have rank at least one. Found:[]"
    depth, outer = indices[-1], len(indices) - 1
    if depth is None:
        return None
    if depth > len(dims) or len(updates) != outer + len(dims) - depth:
        return (
            f"Dimensions [{depth},{len(dims)}) of input[shape={shape_text(dims)}] must match dimensions "
            f"[{outer},{len(updates)}) of updates[shape={shape_text(updates)}]"
        )
    if _differ(indices[:-1], updates[:outer]):
        return (
            f"Dimensions [0,{outer}) of indices[shape={shape_text(indices)}] must match dimensions [0,{outer}) of "
            f"updates[shape={shape_text(updates)}]"
        )
    if _differ(dims[depth:], updates[outer:]):
        return (
            f"Dimensions [{depth},{len(dims)}) of input[shape={shape_text(dims)}] must match dimensions "
            f"[{outer},{len(updates)}) of updates[shape={shape_text(updates)}]"
        )
    return None


def _differ(a: Sequence[int | None], b: Sequence[int | None]) -> bool:
    return len(a) != len(b) or any(m is not None and n is not None and m != n for m, n in zip(a, b, strict=True))


def _check(problem: str | None) -> None:
    if problem is not None:
        raise ValueError(problem)


_NO_PLACE = "Indices and updates specified for empty output.  indices shape: "


def _infer_scatter_nd(indices: Aval, updates: Aval, shape: Aval) -> Aval:
    dims = shape_of_value(shape)
    if dims is not None and indices.shape is not None and updates.shape is not None:
        if any(n is not None and n < 0 for n in dims):
            raise ValueError(f"Dimension {min(n for n in dims if n is not None)} must be >= 0")
        if 0 in dims and all((*indices.shape, *updates.shape)):
            raise ValueError(_NO_PLACE + shape_text(indices.shape))
        _check(_scatter_problem(indices.shape, updates.shape, dims))
    return Aval(updates.dtype, dims)


def _scatter_nd_samples() -> list[Any]:
    wide = np.arange(2.0 * 130).reshape(2, 130) % 11
    found: list[Any] = []
    for t, it in (("float32", "int32"), ("int64", "int64"), ("float64", "int16"), ("uint8", "int32")):
        found += [
            ((np.array([[0], [2], [0]], it), np.array([1, 2, 3]).astype(t), np.array([4])), {}),
            ((np.array([[1, 2], [0, 0]], it), np.array([5, 6]).astype(t), np.array([2, 3])), {}),
            ((np.array([[1], [1]], it), np.arange(6).reshape(2, 3).astype(t), np.array([2, 3])), {}),
        ]
    return [
        *found,
        ((np.array([[2], [2]]), wide, np.array([3, 130])), {}),
        ((np.array([[2], [0]]), wide[:, :9], np.array([3, 9])), {}),
        ((np.zeros([2, 0], np.int32), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2])), {}),
        ((np.zeros([0, 1], np.int32), np.zeros([0, 2]), np.array([3, 2])), {}),
        ((np.array([1, 0]), np.array(3.0), np.array([2, 2])), {}),
    ]


def _scatter_nd_errors() -> list[Any]:
    one, four = np.array([1.0, 2.0]), np.array([4])
    return [
        misuse(r"indices\[1\] = \[4\] does not index into shape \[4\]", np.array([[0], [4]]), one, four),
        misuse(r"indices\[1\] = \[-1\] does not index into shape \[4\]", np.array([[0], [-1]]), one, four),
        misuse(r"Dimensions \[0,1\) of indices\[shape=\[1,1\]\] must match", np.array([[0]]), one, four),
        misuse(
            r"Dimensions \[2,1\) of input\[shape=\[4\]\] must match dimensions \[1,1\) of updates\[shape=\[1\]\]",
            np.array([[0, 0]]),
            one[:1],
            four,
        ),
        misuse(
            r"Indices and updates specified for empty output.  indices shape: \[1,1\]",
            np.array([[0]]),
            one[:1],
            np.array([0]),
        ),
        misuse("Dimension -1 must be >= 0", np.array([[0]]), one[:1], np.array([-1])),
    ]


@custom(
    infer=_infer_scatter_nd,
    groups=("Tindices", "T", "Tshape"),
    dtypes={"Tindices": _INDICES, "T": "summable string", "Tshape": "index"},
    shape_inputs=(2,),
    step="scatter_nd.add",
    vjp=dict(updates=lambda dy, indices: gather_nd_p(dy, indices)),
    samples=_scatter_nd_samples,
    error_samples=_scatter_nd_errors,
)
def scatter_nd_p(indices: Array, updates: Array, shape: Array) -> Any:
    """Zeros of `shape` to which each update is added where its index says. i[*q, d], t[*q, *r], i[n] -> t[*s].

    Of strings: empty ones, to the ends of which the updates are put.
    """
    dims = tuple(shape.tolist())
    if any(n < 0 for n in dims):
        raise invalid(f"Dimension {min(dims)} must be >= 0")
    if 0 in dims and indices.size and updates.size:
        raise invalid(_NO_PLACE + shape_text(indices.shape))
    problem = _scatter_problem(indices.shape, updates.shape, dims)
    if problem is not None:
        raise invalid(problem)
    if updates.dtype == object:
        result = np.full(dims, b"", object)
    else:
        result = np.zeros(dims, np.float32 if is_half(updates.dtype) else updates.dtype)
    _apply("add", result, _checked(indices, dims, "shape {}"), updates)
    return result.astype(updates.dtype, copy=False)


def _apply(how: str, result: Array, where: tuple[Array, ...], updates: Array) -> None:
    """Combine updates with the slices of `result` at `where`, in order."""
    if not where:  # each update is a whole tensor
        n = updates.ndim - result.ndim
        for update in updates.reshape((math.prod(updates.shape[:n]), *result.shape)):
            _apply(how, result[None], (np.zeros(1, int),), update[None])
    elif how == "update":
        result[where] = updates
    else:  # max, min: TensorFlow's comparison: what is no number neither replaces nor is replaced
        combine_at(how, result, where, updates)


@public("scatter_nd")
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: SizeLike, bad_indices_policy: str = "", name: str | None = None
) -> Any:
    """Zeros of `shape` to which each update is added where its index vector says. i[*q, d], t[*q, *r] -> t[*shape].

    With the policy "IGNORE" updates at an index out of range are left out.
    Raises: InvalidArgumentError for an index out of range, shapes that do not fit, or an unknown policy.
    Source: tf.scatter_nd.
    """
    size = extents(shape, no_vector="Shape must be a vector [Op:ScatterNd]")
    given: Any = as_tensor(updates)
    dims = residual_shape(size.static or ()) if size.tensor is None else size.tensor
    if ignored(bad_indices_policy, "ScatterNd"):
        indices, given = within(as_tensor(indices), given, cast(as_tensor(dims), "int64"))
    return _scattered(indices, given, dims, name)


def _scattered(indices: TensorLike, updates: Tensor, dims: TensorLike, name: str | None = None) -> Any:
    """`scatter_nd` to a shape that is an input. Many are added: 16-bit floats in float32, rounded once."""
    if updates.dtype.is_bool:  # whether any of them holds
        return cast(scatter_nd_p(indices, cast(updates, "int32"), dims), "bool", name)
    if updates.dtype.name in HALF:
        return cast(scatter_nd_p(indices, cast(updates, "float32"), dims), updates.dtype, name)
    return named(name, scatter_nd_p, indices, updates, dims)


# ---- tensor_scatter_nd_* --------------------------------------------------------------------------------------------


def _tensor_scatter_problem(tensor: Dims, indices: Dims, updates: Dims) -> str | None:
    if tensor is None or indices is None or updates is None:
        return None
    if not indices:
        return "Indices shape must have rank at least one. Found:[]"
    depth, outer = indices[-1], len(indices) - 1
    if _differ(indices[:-1], updates[:outer]):
        return (
            "Outer dimensions of indices and update must match. "
            f"Indices shape: {shape_text(indices)}, updates shape:{shape_text(updates)}"
        )
    if depth is not None and (depth > len(tensor) or _differ(tensor[depth:], updates[outer:])):
        return (
            "Inner dimensions of output shape must match inner dimensions of updates shape. "
            f"Output: {shape_text(tensor)} updates: {shape_text(updates)}"
        )
    return None


def _infer_tensor_scatter(tensor: Aval, indices: Aval, updates: Aval) -> Aval:
    _check(_tensor_scatter_problem(tensor.shape, indices.shape, updates.shape))
    return Aval(tensor.dtype, tensor.shape)


def _tensor_scatter(how: str, tensor: Array, indices: Array, updates: Array) -> Any:
    problem = _tensor_scatter_problem(tensor.shape, indices.shape, updates.shape)
    if problem is not None:
        raise invalid(problem)
    result = np.array(tensor, order="C")
    _apply(how, result, _checked(indices, tensor.shape, "shape {}"), updates)
    return result


def _tensor_scatter_samples(how: str) -> Callable[[], list[Any]]:
    def samples() -> list[Any]:
        # The gradient of an update that is overwritten is not that of the last one alone: names are distinct there.
        twice = [[0], [2], [0]] if how in ("add", "sub") else [[0], [2], [1]]
        wide = np.arange(3.0 * 130).reshape(3, 130) % 11
        found: list[Any] = []
        for t, it in (("float32", "int32"), ("int64", "int64"), ("float64", "int32"), ("uint8", "int16")):
            x = np.arange(1, 7).reshape(3, 2).astype(t)
            found += [
                ((x, np.array(twice, it), np.array([[5, 1], [2, 9], [7, 7]]).astype(t)), {}),
                ((x, np.array([[1, 0], [2, 1]], it), np.array([5, 4]).astype(t)), {}),
            ]
        found += [
            ((wide, np.array([[2], [0]]), wide[:2] + 3), {}),
            ((wide[:, :9].copy(), np.array([[2], [1]]), wide[:2, :9] - 2.5), {}),
            ((np.ones([3]), np.zeros([0, 1], np.int32), np.zeros([0])), {}),
            ((np.arange(4.0), np.array([3]), np.array(2.5)), {}),
        ]
        if how == "update":
            found.append(((np.array([True, False]), np.array([[1]]), np.array([True])), {}))
        if how in ("max", "min"):
            found.append(((np.array([np.nan, 2.0]), np.array([[0], [1]]), np.array([5.0, np.nan])), {}))
        return found

    return samples


def _tensor_scatter_errors() -> list[Any]:
    x = np.array([1.0, 2.0, 3.0])
    return [
        misuse(r"indices\[0\] = \[3\] does not index into shape \[3\]", x, np.array([[3]]), np.array([5.0])),
        misuse(
            r"indices\[1\] = \[-1\] does not index into shape \[3\]", x, np.array([[0], [-1]]), np.array([5.0, 6.0])
        ),
        misuse(
            r"Outer dimensions of indices and update must match. Indices shape: \[1,1\], updates shape:\[2\]",
            x,
            np.array([[0]]),
            np.array([5.0, 6.0]),
        ),
        misuse(
            r"Inner dimensions of output shape must match inner dimensions of updates shape. Output: \[2,2\] up",
            np.ones([2, 2]),
            np.array([[0]]),
            np.array([5.0]),
        ),
    ]


def _kept(dy: Tensor, tensor: Tensor, indices: Tensor, updates: Tensor, out: Tensor) -> tuple[Any, Any, Any]:
    """True where the tensor and where the updates attain the extreme, and dy shared by all that do."""
    mine = cast(equal_p(tensor, out), dy.dtype)
    theirs = cast(equal_p(updates, gather_nd_p(out, indices)), dy.dtype)
    shares = mine + _scattered(indices, theirs, shape(out))
    return mine, theirs, dy / select(equal_p(shares, zeros_like(shares)), ones_like(shares), shares)


def _extreme_tensor(dy: Tensor, tensor: Tensor, indices: Tensor, updates: Tensor, out: Tensor) -> Any:
    mine, _, share = _kept(dy, tensor, indices, updates, out)
    return mine * share


def _extreme_updates(dy: Tensor, tensor: Tensor, indices: Tensor, updates: Tensor, out: Tensor) -> Any:
    _, theirs, share = _kept(dy, tensor, indices, updates, out)
    return theirs * gather_nd_p(share, indices)


def _cleared(dy: Tensor, indices: Tensor) -> Any:
    gone = zeros_like(gather_nd_p(dy, indices))
    return list_scatter(dy, indices, gone)


_EXTREME = dict(
    tensor=lambda dy, tensor, indices, updates, out: _extreme_tensor(dy, tensor, indices, updates, out),
    updates=lambda dy, tensor, indices, updates, out: _extreme_updates(dy, tensor, indices, updates, out),
)
_VJPS: dict[str, dict[str, Callable[..., Any]]] = {
    "update": dict(tensor=_cleared, updates=lambda dy, indices: gather_nd_p(dy, indices)),
    "add": dict(tensor=lambda dy: dy, updates=lambda dy, indices: gather_nd_p(dy, indices)),
    "sub": dict(tensor=lambda dy: dy, updates=lambda dy, indices: negative(gather_nd_p(dy, indices))),
    "max": _EXTREME,
    "min": _EXTREME,
}
_DTYPES = {"update": "", "add": "summable", "sub": "summable", "max": "ordered", "min": "ordered"}
_WORDS = {
    "update": "each slice at an index vector replaced by the update for it, the last of several",
    "add": "each update added to the slice at its index vector",
    "sub": "each update subtracted from the slice at its index vector",
    "max": "the greater of each update and the slice at its index vector",
    "min": "the lesser of each update and the slice at its index vector",
}


def _tensor_scatter_op(how: str) -> Callable[..., Any]:
    def body(tensor: Array, indices: Array, updates: Array) -> Any:
        if tensor.size == 0 and indices.size:
            raise invalid("Indices and updates specified for empty output shape")
        return _tensor_scatter(how, tensor, indices, updates)

    body.__name__ = f"tensor_scatter_{how}_p"
    body.__doc__ = f"tensor with {_WORDS[how]}. t[*s], i[*q, d], t[*q, *r] -> t[*s]."
    primitive = custom(
        op=f"TensorScatter{how.capitalize()}",
        infer=_infer_tensor_scatter,
        groups=("T", "Tindices", "T"),
        dtypes={"T": _DTYPES[how], "Tindices": _INDICES},
        step=f"tensor_scatter.{how}",
        vjp=_VJPS[how],
        samples=_tensor_scatter_samples(how),
        error_samples=_tensor_scatter_errors,
    )(body)

    op = f"TensorScatter{how.capitalize()}"

    def function(
        tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: str = "",
        name: str | None = None,
    ) -> Any:  # fmt: skip
        tensor, updates = alike([tensor, updates])
        if ignored(bad_indices_policy, op):
            indices, updates = within(as_tensor(indices), updates, shape(tensor, int64))
        # many halves are added: in float32, rounded once
        if how in ("add", "sub") and tensor.dtype.name in HALF and as_tensor(updates).dtype is tensor.dtype:
            wide = primitive(cast(tensor, "float32"), indices, cast(updates, "float32"))
            return cast(wide, tensor.dtype, name)
        return named(name, primitive, tensor, indices, updates)

    def update(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any:
        return function(tensor, indices, updates, name=name)

    shown: Any = update if how == "update" else function  # which takes no policy, TensorFlow's neither
    shown.__name__ = shown.__qualname__ = f"tensor_scatter_nd_{how}"
    shown.__doc__ = f"""tensor with {_WORDS[how]}. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_{how}.
    """
    globals()[shown.__name__] = public(f"tensor_scatter_nd_{how}")(shown)  # where pickles look for it
    return primitive


tensor_scatter_update_p = _tensor_scatter_op("update")
tensor_scatter_add_p = _tensor_scatter_op("add")
tensor_scatter_sub_p = _tensor_scatter_op("sub")
tensor_scatter_max_p = _tensor_scatter_op("max")
tensor_scatter_min_p = _tensor_scatter_op("min")


@custom(
    op="TensorScatterUpdate",
    infer=_infer_tensor_scatter,
    groups=("T", "Tindices", "T"),
    dtypes={"Tindices": _INDICES},
    step="tensor_scatter.update",
    vjp=_VJPS["update"],
    samples=lambda: [
        *_tensor_scatter_samples("update")(),
        ((np.ones([3, 0]), np.array([[2], [0]]), np.ones([2, 0])), {}),
    ],
    error_samples=lambda: [
        *_tensor_scatter_errors(),
        misuse(r"indices\[1\] = \[3\] does not index into", np.ones([3, 0]), np.array([[1], [3]]), np.ones([2, 0])),
    ],
)
def list_scatter(tensor: Array, indices: Array, updates: Array) -> Any:
    """tensor_scatter_update of a list, whose elements may be empty. t[*s], i[*q, d], t[*q, *r] -> t[*s]."""
    return _tensor_scatter("update", tensor, indices, updates)
