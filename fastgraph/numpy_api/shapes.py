"""Arrays in other shapes and orders, joined, cut and indexed, by NumPy's names."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.graph.control_flow import cond
from fastgraph.numpy_api.arrays import padded_left
from fastgraph.numpy_api.promotion import all_together, ops, tensor
from fastgraph.numpy_api.tables import Function, make_weak, named, of_first, refuse
from fastgraph.ops.arguments import whole
from fastgraph.ops.control_dependencies import get_static_value
from fastgraph.ops.families import invalid
from fastgraph.ops.runtime_checks import checked

shape = of_first("shape", lambda a: a.shape, "the static shape")
ndim = of_first("ndim", lambda a: a.shape.rank, "the number of axes, None where it is not known")
isscalar = of_first("isscalar", lambda num: num.shape.rank == 0, "whether there are no axes")


def size(x: TensorLike, axis: None = None) -> Tensor | Any:
    """Return the number of elements, a tensor where it is not known. Raises: NotImplementedError for an axis."""
    if axis is not None:
        raise NotImplementedError("axis argument is not supported in the current `np.size` implementation")
    value = tensor(x)
    return np.int64(value.shape.num_elements() or 0) if value.shape.is_fully_defined() else ops.size(value)


def rank_of(x: Tensor, what: str) -> int:
    """The rank. Raises: ValueError where it is not known."""
    rank = x.shape.rank
    if rank is None:
        raise ValueError(f"Function `{what}` requires a known rank. Received: {x} (unknown rank)")
    return rank


def whole_axis(axis: int, rank: int, error: Callable[[str], Exception] = invalid) -> int:
    """An axis counted from the start. Raises: `error` for one out of range."""
    axis = whole(axis, "axis")
    if not -rank <= axis < rank:
        raise error(f"Argument `axis` (received axis={axis}) is out of bounds for rank {rank}.")
    return axis % rank


def choose(condition: TensorLike, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """One of two results: now, where the condition is known, else when the graph runs."""
    known = get_static_value(condition) if isinstance(condition, Tensor) else condition
    return cond(condition, then, otherwise) if known is None else (then if known else otherwise)()


def reshape(a: TensorLike, newshape: Any, order: str = "C") -> Tensor:
    """Return a in another shape, its elements read by rows ("C") or columns ("F")."""
    refuse(order not in ("C", "F"), f"Unsupported order argument {order}")
    x = tensor(a)
    dims = [newshape] if isinstance(newshape, int) else newshape
    if order == "F":
        return ops.transpose(ops.reshape(ops.transpose(x), dims[::-1]))
    return ops.reshape(x, dims)


ravel = of_first("ravel", lambda a: ops.reshape(a, [-1]), "all elements along one axis")


def flatten(a: TensorLike, order: str = "C") -> Tensor:
    """Return all elements along one axis, by rows or columns ("F")."""
    refuse(order not in ("C", "A", "K", "F"), "order can only be C, A, K (all row major) or F (column major).")
    x = tensor(a)
    return ops.reshape(ops.transpose(x) if order == "F" else x, [-1])


expand_dims = of_first("expand_dims", lambda a, axis: ops.expand_dims(a, axis=axis), "a with an axis of extent 1 more")
squeeze = of_first("squeeze", lambda a, axis=None: ops.squeeze(a, axis), "a without axes of extent 1")
transpose = of_first(
    "transpose",
    lambda a, axes=None: ops.transpose(a, None if axes is None else tensor(axes)),
    "a with its axes in another order",
)


def moveaxis(a: TensorLike, source: Any, destination: Any) -> Tensor | Any:
    """Return a with axes moved to other places.

    Raises: ValueError for axes out of range, other numbers of them, or a rank that is not known.
    """
    if not source and not destination:
        return a
    x = tensor(a)
    rank = rank_of(x, "moveaxis")
    sources, places = ([axes] if isinstance(axes, int) else list(axes) for axes in (source, destination))
    refuse(len(sources) != len(places), "The lengths of source and destination must equal")
    sources, places = ([whole_axis(axis, rank) for axis in axes] for axes in (sources, places))
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return ops.transpose(x, order)


def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Return a with two axes in each other's place. Raises IndexError for axes that are none."""
    x = tensor(a)
    rank = x.shape.rank
    if rank is None or not (isinstance(axis1, int) and isinstance(axis2, int)):
        count = ops.rank(x)
        first, second = (
            ops.floormod(ops.cast(checked(axis, -count, count - 1, "{} is no axis"), "int32"), count)
            for axis in (axis1, axis2)
        )
        order = ops.range(count)
        swapped = ops.where(order == first, second, ops.where(order == second, first, order))
        return ops.transpose(x, swapped)
    if not all(-rank <= axis < rank for axis in (axis1, axis2)):
        raise IndexError(f"swapaxes: axes from {-rank} to {rank - 1} are wanted for rank {rank}, got {axis1}, {axis2}")
    order = list(range(rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return ops.transpose(x, order)


flip = of_first(
    "flip",
    lambda m, axis=None: ops.reverse(m, ops.range(ops.rank(m)) if axis is None else [axis]),
    "m read backwards along an axis, or all",
)


flipud = of_first(
    "flipud", lambda m: ops.reverse(m, [0]) if m.shape.rank != 0 else m, "m with its first axis backwards"
)
fliplr = of_first(
    "fliplr", lambda m: ops.reverse(m, [1]) if m.shape.rank != 0 else m, "m with its second axis backwards"
)


def rot90(m: TensorLike, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """Return m turned k times by a right angle in the plane of two axes."""
    x = tensor(m)
    first, second = (axis if x.shape.rank is None else whole_axis(axis, x.shape.rank) for axis in axes)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return ops.reverse(x, [first, second])
    if turns == 1:
        return swapaxes(ops.reverse(x, [second]), first, second)
    return ops.reverse(swapaxes(x, first, second), [second])


def roll(a: TensorLike, shift: TensorLike, axis: Any = None) -> Tensor:
    """Return a moved round along axes, or its elements in a row."""
    x = tensor(a)
    return (
        ops.reshape(ops.roll(ops.reshape(x, [-1]), shift, 0), ops.shape(x))
        if axis is None
        else ops.roll(x, shift, axis)
    )


repeat = of_first(
    "repeat",
    lambda a, repeats, axis=None: ops.repeat(a, tensor(repeats), axis),
    "each element, or slice, several times",
)


def tile(a: TensorLike, reps: TensorLike) -> Tensor:
    """Return a beside itself, reps[i] times along axis i from the last."""
    x, counts = tensor(a), ops.reshape(tensor(reps, "int64"), [-1])
    rank, given = x.shape.rank, counts.shape[0]
    if rank is not None and given is not None:
        counts = ops.concat([ops.ones([builtins.max(rank - given, 0)], "int64"), counts], 0)
        return ops.tile(padded_left(x, given), counts)
    missing = ops.maximum(ops.rank(x) - ops.size(counts), 0)
    before = ops.ones([ops.maximum(ops.size(counts) - ops.rank(x), 0)], "int32")
    x = ops.reshape(x, ops.concat([before, ops.shape(x)], 0))
    return ops.tile(x, ops.concat([ops.ones([missing], "int64"), counts], 0))


def pad(array: TensorLike, pad_width: TensorLike, mode: str, **kwargs: Any) -> Tensor:
    """Return an array with elements around it: mode "constant", "reflect" or "symmetric".

    Raises: ValueError for other modes.
    """
    refuse(mode not in ("constant", "reflect", "symmetric"), "Unsupported padding mode: " + mode)
    value = kwargs.get("constant_values", 0)
    return ops.pad(tensor(array), tensor(pad_width, "int64"), mode.upper(), constant_values=value)


# Joined and cut.


def concatenate(arys: Any, axis: int | None = 0) -> Tensor:
    """Return arrays one after the other along an axis. Raises: ValueError for no arrays."""
    arrays = arys if isinstance(arys, list | tuple) else [arys]
    refuse(not arrays, "Need at least one array to concatenate.")
    return ops.concat(all_together(arrays), axis)


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """Return values after arr along an axis, both in a row without one."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Return arrays along a new axis."""
    if isinstance(arrays, Tensor):
        return arrays if axis == 0 else swapaxes(arrays, 0, axis)
    return ops.stack(all_together(arrays), axis)


def _stacked(name: str, n: int, axis: int) -> Function:
    def function(tup: Sequence[TensorLike]) -> Any:
        arrays = all_together([_at_least(n, tensor(a)) for a in tup])
        along = 0 if n == 1 and arrays[0].shape.rank == 1 else axis
        return ops.concat(arrays, axis=along)

    return named(function, name, f"Return NumPy's `{name}` of arrays.")


def _at_least(n: int, x: Tensor) -> Any:
    """A tensor of n axes or more: new ones before its own; of three, one of a vector's or matrix's comes last."""
    if n < 3 or x.shape.rank == 0 or (x.shape.rank is not None and x.shape.rank >= n):
        return padded_left(x, n)
    rank_of(x, "atleast_3d")
    return ops.expand_dims(padded_left(x, 2), -1)


def _at_least_all(name: str, n: int) -> Function:
    def function(*arys: TensorLike) -> Any:
        made = [_at_least(n, tensor(a)) for a in arys]
        return made[0] if len(made) == 1 else made

    return named(function, name, f"Return arrays of {n} axes or more: a list of several.")


atleast_1d = _at_least_all("atleast_1d", 1)
atleast_2d = _at_least_all("atleast_2d", 2)
atleast_3d = _at_least_all("atleast_3d", 3)
hstack = _stacked("hstack", 1, 1)
vstack = _stacked("vstack", 2, 0)
dstack = _stacked("dstack", 3, 2)


def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Return parts of an array: so many equal ones, or cut before indices.

    Raises: ValueError for an axis out of range, or indices that go down.
    """
    x = tensor(ary)
    if isinstance(indices_or_sections, int):
        return ops.split(x, indices_or_sections, axis=axis)
    refuse(axis >= rank_of(x, "split"), f"axis {axis} is out of bound for shape {x.shape}")
    total = x.shape[axis] if x.shape[axis] is not None else ops.shape(x)[axis]
    if any(a > b for a, b in zip([0, *indices_or_sections], indices_or_sections, strict=False)):
        raise ValueError(f"a boundary of {indices_or_sections} is smaller than the previous boundary")
    least = builtins.min if isinstance(total, int) else ops.minimum
    ends = [0, *[least(end, total) for end in indices_or_sections], total]
    return ops.split(x, [b - a for a, b in pairwise(ends)], axis=axis)


def _split_along(name: str, axis: int) -> Function:
    def function(ary: TensorLike, indices_or_sections: Any) -> Any:
        x = tensor(ary)
        along = 0 if axis == 1 and x.shape.rank == 1 else axis
        if isinstance(indices_or_sections, int) and x.shape.rank is not None:
            extent = x.shape[along]
            if extent is not None and extent % indices_or_sections:
                raise ValueError("array split does not result in an equal division")
        return split(x, indices_or_sections, axis=along)

    return named(function, name, f"Return NumPy's `{name}`: parts along an axis.")


vsplit = _split_along("vsplit", 0)
hsplit = _split_along("hsplit", 1)
dsplit = _split_along("dsplit", 2)


def broadcast_arrays(*args: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Return arrays broadcast to one shape. Raises ValueError for options."""
    refuse(bool(kwargs.pop("subok", False)), "subok=True is not supported.")
    refuse(bool(kwargs), f"Received unsupported arguments {kwargs.keys()}")
    arrays = [tensor(a) for a in args]
    if len(arrays) <= 1:
        return arrays
    dims = ops.shape(arrays[0])
    for a in arrays[1:]:
        dims = ops.broadcast_dynamic_shape(dims, ops.shape(a))
    return [ops.broadcast_to(a, dims) for a in arrays]


def meshgrid(*xi: TensorLike, **kwargs: Any) -> list[Tensor]:
    """Return vectors repeated to grids; indexing is "xy" or "ij".

    Raises: ValueError for sparse ones, or copy=False.
    """
    if kwargs.get("sparse", False):
        raise ValueError("Function `meshgrid` does not support returning sparse arrays yet. Received: sparse=True")
    refuse(not kwargs.get("copy", True), "Function `meshgrid` only supports copy=True. Received: copy=False")
    indexing = kwargs.get("indexing", "xy")
    refuse(indexing not in ("xy", "ij"), f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    places = [*range(len(xi))]
    places[:2] = places[:2][::-1] if indexing == "xy" else places[:2]
    extents = [[-1 if axis == place else 1 for axis in range(len(xi))] for place in places]
    return broadcast_arrays(*[ops.reshape(tensor(x), dims) for x, dims in zip(xi, extents, strict=True)])


def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Return differences of neighbours along an axis, n times.

    Raises: ValueError for an axis out of range, n below 0, or a rank that is not known.
    """
    x = tensor(a)
    rank = rank_of(x, "diff")
    along = whole_axis(axis, rank, ValueError)
    refuse(n < 0, f"Argument `order` must be a non-negative integer. Received: axis={n}")
    later, earlier = ((*[slice(None)] * along, part) for part in (slice(1, None), slice(None, -1)))
    op = ops.not_equal if x.dtype.is_bool else ops.subtract
    for _ in range(n):
        x = op(x[later], x[earlier])
    return x


# Elements chosen.


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Tensor | Any:
    """Return x where a condition holds, else y; without both, the indices where it does: one tensor an axis.

    Raises: ValueError for one of x and y alone.
    """
    holds = tensor(condition, bool)
    if x is None and y is None:
        return nonzero(holds)
    refuse(x is None or y is None, "Both x and y must be ndarrays, or both must be None.")
    return ops.where(holds, *all_together([x, y]))


def nonzero(a: TensorLike) -> list[Tensor]:
    """Return the indices of what is not 0, one tensor an axis."""
    x = padded_left(tensor(a), 1)
    return ops.unstack(ops.where(ops.cast(x, "bool")), rank_of(x, "nonzero"), axis=1)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: TensorLike = 0) -> Tensor:
    """Return elements of the first choice whose condition holds, of `default` where none does.

    Raises: ValueError for another number of choices than of conditions, or none.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    refuse(not condlist, "condlist must be non-empty")
    made, *choices = all_together([default, *choicelist])
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        made = ops.where(tensor(condition, bool), choice, made)
    return made


def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """Return the slices of a where a condition holds, False where it ends.

    Raises: ValueError for a condition of another rank than 1.
    """
    mask, x = tensor(condition, bool), tensor(a)
    refuse(mask.shape.rank != 1, "condition must be a 1-d array.")
    if axis is None or x.shape.rank == 0:
        x, axis = ops.reshape(x, [-1]), 0
    along = whole_axis(axis, rank_of(x, "compress"))
    missing = ops.maximum(ops.shape(x)[along] - ops.shape(mask)[0], 0)
    mask = ops.pad(mask, [[0, missing]], constant_values=False)
    return ops.boolean_mask(x, mask, axis=along)


def take(a: TensorLike, indices: TensorLike, axis: int | None = None, out: None = None, mode: str = "clip") -> Tensor:
    """Return elements, or slices along an axis, at indices; mode "clip" or "wrap" says what becomes of others.

    Raises: ValueError for other modes or an `out`.
    """
    refuse(out is not None, "out argument is not supported in take.")
    refuse(mode not in ("raise", "clip", "wrap"), f"Invalid mode '{mode}' for take")
    refuse(mode == "raise", "The 'raise' mode to take is not supported.")
    x, where_ = tensor(a), tensor(indices)
    if axis is None:
        x, axis = ops.reshape(x, [-1]), 0
    n = ops.shape(x, out_type=where_.dtype)[axis]
    where_ = ops.clip_by_value(where_, 0, n - 1) if mode == "clip" else ops.floormod(where_, n)
    return ops.gather(x, where_, axis=axis)


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None) -> Tensor:
    """Return elements at indices along an axis, the other axes broadcasting."""
    x, where_ = tensor(arr), tensor(indices)
    if axis is None:
        x, axis = ops.reshape(x, [-1]), 0
    rank = builtins.max(rank_of(x, "take_along_axis"), rank_of(where_, "take_along_axis"))
    axis = whole_axis(axis, rank_of(x, "take_along_axis")) + rank - rank_of(x, "take_along_axis")
    x, where_ = padded_left(x, rank), padded_left(where_, rank)
    x, where_ = moveaxis(x, axis, rank - 1), moveaxis(where_, axis, rank - 1)
    dims, own = (ops.shape(t, out_type="int32") for t in (x, where_))
    outer = ops.broadcast_dynamic_shape(dims[:-1], own[:-1])
    x = ops.broadcast_to(x, ops.concat([outer, dims[-1:]], 0))
    where_ = ops.broadcast_to(where_, ops.concat([outer, own[-1:]], 0))
    where_ = ops.where(where_ < 0, where_ + ops.cast(dims[-1], where_.dtype), where_)
    return moveaxis(ops.gather(x, where_, axis=rank - 1, batch_dims=rank - 1), rank - 1, axis)


def ix_(*args: TensorLike) -> list[Any]:
    """Return vectors along axes of their own, of bools where they hold.

    Raises: ValueError for other ranks and dtypes.
    """
    made = []
    for i, a in enumerate(args):
        x = tensor(a)
        refuse(x.shape.rank not in (1, None), f"Arguments must be 1-d, got arg {i} of rank {x.shape.rank}")
        if not (x.dtype.is_bool or x.dtype.is_integer):
            raise ValueError(f"Only integer and bool dtypes are supported, got {x.dtype!r}")
        places = [-1 if j == i else 1 for j in range(len(args))]
        made.append(ops.reshape(nonzero(x)[0] if x.dtype.is_bool else x, places))
    return made


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Return a matrix with v on diagonal k, or diagonal k of a matrix. Raises: ValueError for other ranks."""
    x = tensor(v)
    rank = rank_of(x, "diag")
    if rank == 2:
        return diagonal(x, k)
    if rank != 1:
        raise ValueError(f"diag takes a vector or a matrix, not {x}")
    if x.shape[0] == 0:
        return ops.zeros([abs(k), abs(k)], x.dtype)
    return ops.diag(x, k=k)


def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a diagonal of matrices in two axes, along a new last axis."""
    x = moveaxis(tensor(a), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2], x.shape[-1]
    if (rows is not None and offset <= -rows) or (columns is not None and offset >= columns):
        return ops.diag_part(x)[..., :0]
    return ops.diag_part(x, k=offset)


diagflat = of_first(
    "diagflat", lambda v, k=0: diag(ops.reshape(v, [-1]), k), "a matrix with all elements on diagonal k"
)


# Advanced indexing.

SLICE_ERROR = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays"


def index_of(part: Any) -> Any:
    """An item of a key that is no slice, as a number or an integer tensor of int32 or int64.

    Raises: IndexError for other dtypes; NotImplementedError for bools that are no vector.
    """
    if isinstance(part, int) and not isinstance(part, bool):
        return part
    x = tensor(part)
    if x.dtype.is_bool:
        if x.shape.rank != 1:
            raise NotImplementedError(f"Need rank 1 for bool index {part}")
        x = ops.reshape(ops.where(x), [-1])
    if not x.dtype.is_integer or x.dtype.name == "uint64":
        raise IndexError(f"{SLICE_ERROR}, got {part!r}")
    return x if x.dtype.name in ("int32", "int64") else ops.cast(x, "int32" if x.dtype.size < 4 else "int64")


def indexed(x: Tensor, key: tuple[Any, ...], basic: Callable[[Any, Any], Any]) -> Any:
    """x[key], where items of the key may be tensors of any shape; `basic` indexes by numbers, slices, new axes.

    The axes of several tensors come where these stood side by side, else first.
    """
    parts: list[Any] = []
    arrays: list[tuple[int, Tensor]] = []  # and where in `parts` each stood
    for part in key:
        if part is None or part is Ellipsis:
            parts.append(part)
        elif isinstance(part, slice):
            ends = (part.start, part.stop, part.step)
            parts.append(slice(*[end if end is None else index_of(end) for end in ends]))
        else:
            index = index_of(part)
            if isinstance(index, Tensor) and index.shape.rank != 0:
                arrays.append((len(parts), index))
                index = slice(None)
            parts.append(index)
    made = basic(x, tuple(parts))
    if not arrays:
        return made
    kept = [part is None or isinstance(part, slice) for part in parts]  # items that leave an axis
    dots = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    axes = [builtins.sum(kept[:at]) if at < dots else -builtins.sum(kept[at:]) for at, _ in arrays]
    if axes[-1] < 0 or len(axes) > 1:
        rank = rank_of(made, "indexing by tensors")
        axes = [axis % rank for axis in axes]
    indices = broadcast_arrays(*all_together([index for _, index in arrays]))
    dims = ops.shape(made, out_type=indices[0].dtype)
    indices = [ops.where(i < 0, i + dims[axis], i) for i, axis in zip(indices, axes, strict=True)]
    if len(axes) == 1:
        return ops.gather(made, indices[0], axis=axes[0])
    made = ops.gather_nd(moveaxis(made, axes, list(range(len(axes)))), ops.stack(indices, axis=-1))
    if axes != list(range(axes[0], axes[0] + len(axes))):
        return made
    own = range(rank_of(indices[0], "indexing by tensors"))
    return moveaxis(made, [*own], [axes[0] + axis for axis in own])


make_weak(globals())
