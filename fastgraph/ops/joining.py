"""Joining and splitting: concat, stack, split, unstack; lists of tensors as they are: identity_n, shape_n, tuple.

Rule: the pieces' number is static; their extents along the joined axis may be known only at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, int32, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import EagerTensor, Tensor, bind, current_trace, equal_parts
from fastgraph.ops.arguments import as_tensor, extents, named, of_dtypes, preferred, static_int, whole
from fastgraph.ops.comparison import equal_p
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import identity, select
from fastgraph.ops.families import Array, elementwise, invalid, lower_elementwise, misuse, public, shape_text
from fastgraph.ops.gathering import dim
from fastgraph.ops.joining_primitives import UNEVEN, concat_p, split_p, stack_p, unstack_p
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import checked, wide
from fastgraph.ops.slicing import slice_tensor

#: The message for a size that is negative, or more than the extent.
_NO_SIZE = "Split size {} does not fit a dimension of {most}"

# ---- joining --------------------------------------------------------------------------------------------------------


_CONCAT = concat_p.primitive  # type: ignore[attr-defined]


@public("concat")
def concat(values: TensorLike | Iterable[TensorLike], axis: TensorLike, name: str | None = "concat") -> Any:
    """values one after the other along `axis`. t[*s]... -> t[*r].

    Args:
        values: A list of tensors of one dtype and rank, equal in all extents but that of `axis`.
        axis: The axis that grows, from -rank to rank - 1.

    Raises:
        InvalidArgumentError: The ranks, dtypes or other extents differ, or there is no such axis.

    Examples:
        >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0)
        <tf.Tensor: shape=(3, 2), dtype=int32, numpy=
        array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)>
        >>> tf.concat([[[1, 2]], [[3]]], axis=1)
        <tf.Tensor: shape=(1, 3), dtype=int32, numpy=array([[1, 2, 3]], dtype=int32)>

    Source: tf.concat.
    """
    if not isinstance(values, (list, tuple)):
        if hasattr(values, "__fg_joined__"):  # a list whose length a tensor decides
            return values.__fg_joined__(axis)
        values = [values]
    along: Any = axis
    if type(axis) is not int:
        along = _concat_axis(axis)
    if along is None:
        return _concat_late(values, axis, name if name != "concat" else None)
    if not values:
        raise invalid("concat needs at least one tensor")
    if len(values) == 1:
        if type(axis) is not int:  # here the axis says nothing, and is looked at as TensorFlow does
            as_tensor(axis, int32).shape.assert_has_rank(0)
        return named(None, identity, values[0])
    if name == "concat":
        return bind(_CONCAT, tuple(values), {"axis": along})
    return named(name, concat_p, *values, axis=along)


def _dims(axis: TensorLike) -> tuple[int | None, ...]:
    """The extents of an axis, a number or a tensor; none where its rank is not known."""
    shape = getattr(axis, "shape", None)
    if shape is None:
        return tuple(np.shape(axis))  # type: ignore[arg-type]
    return () if getattr(shape, "rank", 0) is None else tuple(shape)


def _concat_axis(axis: TensorLike) -> int | None:
    """The axis of concat: a scalar; in eager mode a vector of one as well, as in TensorFlow."""
    dims = _dims(axis)
    if dims and (current_trace() is not None or dims != (1,)):
        raise invalid(f"axis tensor should be a scalar integer, but got shape {shape_text(dims)}", "ConcatV2")
    return static_int(axis, letter="ConcatV2.Tidx")


def _concat_late(values: Sequence[Any], axis: TensorLike, name: str | None) -> Any:
    """`concat` along an axis that only a run knows."""
    dtype = next((x.dtype for x in values if isinstance(x, Tensor)), None)
    tensors = [as_tensor(x, dtype) for x in values]
    made = late(lambda at, *rows: concat(rows, at), [axis, *tensors], tensors[0].dtype, name=name)
    rank = next((x.shape.rank for x in tensors if x.shape.rank is not None), None)
    made.set_shape(None if rank is None else [None] * rank)
    return made


_STACK = stack_p.primitive  # type: ignore[attr-defined]


@public("stack")
def stack(values: TensorLike | Iterable[TensorLike], axis: TensorLike = 0, name: str | None = "stack") -> Any:
    """values along a new axis. t[*s]... -> t[*r].

    Args:
        values: A list of tensors of one shape and dtype.
        axis: Where the new axis stands in the result, negative from its end.

    Raises:
        InvalidArgumentError: Shapes or dtypes differ.
        ValueError: The axis is out of range.

    Examples:
        >>> x, y = tf.constant([1, 2, 3]), tf.constant([4, 5, 6])
        >>> tf.stack([x, y])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)>
        >>> tf.stack([x, y], axis=-1).shape
        TensorShape([3, 2])

    Source: tf.stack.
    """
    if isinstance(axis, (EagerTensor, np.ndarray)) and np.size(axis) == 1:
        axis = np.asarray(axis).item()
    axis = whole(axis, "axis")
    rows: Any = values
    if not isinstance(rows, (list, tuple)):
        if hasattr(rows, "__fg_stacked__"):  # a list whose length a tensor decides
            return rows.__fg_stacked__(axis)
        if axis == 0:
            return as_tensor(rows)
        rows = unstack(rows)
        if not rows:
            raise ValueError("stack needs at least one tensor")
    if not rows or not (
        isinstance(rows[0], Tensor) or any(isinstance(v, Tensor) or hasattr(v, "__fg_tensor__") for v in rows)
    ):
        try:  # plain numbers: one constant
            array = as_tensor(list(rows))
        except (TypeError, ValueError):
            if not rows:
                raise
        else:
            width = len(array.shape)
            if not -width <= axis < width:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-width}, {width})")
            return array if axis == 0 else stack_p(*unstack(array), axis=axis)
    if not rows:
        raise ValueError("stack needs at least one tensor")
    tensors = [v for v in rows if isinstance(v, Tensor)]
    first = tensors[0] if tensors else None
    rank = first.ndim if type(first) is EagerTensor else first.shape.rank if first is not None else None
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank - 1}, {rank + 1})")
    if name == "stack":
        return bind(_STACK, tuple(rows), {"axis": axis})
    return named(name, stack_p, *rows, axis=axis)


# ---- splitting ------------------------------------------------------------------------------------------------------


def _split_axis(axis: TensorLike, no_scalar: str) -> int | None:
    """The axis of split, of int32. Raises: InvalidArgumentError for other dtypes, or for what is no scalar."""
    if isinstance(axis, Tensor) and axis.dtype is not int32:
        raise invalid(
            f"cannot compute Split as input #0(zero-based) was expected to be a int32 tensor but is a "
            f"{axis.dtype.name} tensor",
            "Split",
        )
    return static_int(axis, no_scalar)


@public("split")
def split(
    value: TensorLike, num_or_size_splits: TensorLike, axis: TensorLike = 0, num: int | None = None,
    name: str | None = "split",
) -> Any:  # fmt: skip
    """value in pieces along `axis`: so many equal ones, or of the sizes given. t[*s] -> list of t[*r].

    Args:
        value: The tensor.
        num_or_size_splits: How many pieces, an int; or their sizes, of which one may be -1: what is left.
        axis: The axis that is cut.
        num: How many sizes there are, where they are a tensor of unknown length.

    Raises:
        InvalidArgumentError: The sizes do not fit; ValueError where a graph is made.

    Examples:
        >>> [piece.numpy() for piece in tf.split([1, 2, 3, 4, 5, 6], 3)]
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32), array([5, 6], dtype=int32)]
        >>> left, right = tf.split(tf.zeros([2, 10]), [3, -1], axis=1)
        >>> left.shape, right.shape
        (TensorShape([2, 3]), TensorShape([2, 7]))

    Source: tf.split.
    """
    value = as_tensor(value)
    if hasattr(value, "row_splits"):
        return value._split(num_or_size_splits, whole(axis, "axis"), num)  # type: ignore[attr-defined]
    if isinstance(num_or_size_splits, (list, tuple)) and not num_or_size_splits:
        of_dtypes(as_tensor([]), "int8 int32 int64", "Tlen")  # refused: TensorFlow makes floats of nothing
    along: Any = axis
    if type(axis) is not int:
        equal = isinstance(num_or_size_splits, (int, np.integer))
        scalar = "split_dim must be a scalar but has shape"
        along = _split_axis(axis, scalar if equal else "")
        # Sizes may lie along a vector of one; not where a graph is made and knows it, as in TensorFlow.
        if (dims := _dims(axis)) and along is not None and current_trace() is not None:
            raise invalid(f"{scalar} {shape_text(dims)}")
    if (
        type(value) is EagerTensor
        and type(num_or_size_splits) is int
        and num_or_size_splits < 2**63
        and name == "split"
    ):
        parts = equal_parts(value, num_or_size_splits, along)
        if parts is not None:  # views, or copies in C, of what fits: the words for what does not stand below
            return parts
    rank = value.shape.rank
    if rank is None or along is None:
        return _split_late(value, num_or_size_splits, axis, num, name if name != "split" else None)
    if not -rank <= along < rank:
        raise invalid(f"-input rank({-rank}) <= split_dim < input rank ({rank}), but got {along}")
    n = value.shape[along]
    if isinstance(num_or_size_splits, int):
        if n is None and num_or_size_splits > 0:
            return _equal_parts(value, num_or_size_splits, along % rank)
        if num_or_size_splits <= 0 or n % num_or_size_splits:
            uneven = f"Dimension size must be evenly divisible by {num_or_size_splits} but is {n} "
            raise invalid(
                ("" if current_trace() is None or num_or_size_splits <= 0 else uneven)
                + "Number of ways to split should evenly divide the split dimension, but got split_dim "
                f"{along % rank} (size = {n}) and num_split {num_or_size_splits}",
                "Split",
                value.shape,
            )
        if num_or_size_splits >= 2**31:  # of nothing: TensorFlow counts outputs by int32
            raise invalid(f"Output list size {num_or_size_splits} is beyond that of int32", "Split", value.shape)
        sizes = (n // num_or_size_splits,) * num_or_size_splits
    else:
        if not isinstance(num_or_size_splits, (list, tuple)) and as_tensor(num_or_size_splits).shape.rank == 0:
            raise ValueError(
                "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: "
                f"{num_or_size_splits!s}"
            )
        given = extents(num_or_size_splits)
        found = given.static
        if found is None:
            count = num if num is not None else given.tensor.shape.num_elements()
            if count is None:
                raise ValueError(f"Cannot infer argument `num` from shape {given.tensor.shape}")
            return _parts(value, unstack(given.tensor, count), along % rank)
        if num is not None and whole(num, "num_split") != len(found):
            raise invalid(
                "size of the split_tensor must be 1-D and have the same elements as outputs got 1 -D and "
                f"{len(found)} elements",
                "SplitV",
                value.shape,
            )
        if found.count(-1) > 1:
            raise invalid("There can only be one -1 in the input.", "SplitV", value.shape)
        if wrong := [i for i, size in enumerate(found) if size < -1]:
            raise invalid(f"Split size at index {wrong[0]} must be >= 0. Got: {found[wrong[0]]}", "SplitV", value.shape)
        if -1 in found:
            if n is None:
                return _parts(value, list(found), along % rank)
            found = tuple(n - sum(found) - 1 if s == -1 else s for s in found)
            if min(found) < 0:
                raise invalid(f"Sizes {list(found)} do not fit a dimension of {n}", "SplitV", value.shape)
        sizes = found
    return list(named(name if name != "split" else None, split_p, value, sizes=sizes, axis=along))


def _split_late(value: Tensor, given: TensorLike, axis: TensorLike, num: int | None, name: str | None) -> Any:
    """Pieces of a tensor of unknown rank, or along an axis that is a tensor; their number must be known."""
    count = given if isinstance(given, int) else num
    if count is None:
        given = preferred(given, int32)
        count = given.shape.num_elements()
        if count is None:
            raise ValueError(f"Cannot infer argument `num` from shape {given.shape}")
    where = [x for x in (given, axis) if isinstance(x, Tensor)]

    def parts(x: Tensor, *known: Tensor) -> Any:
        rest = iter(known)
        sizes, along = [next(rest) if isinstance(x, Tensor) else x for x in (given, axis)]
        return split(x, sizes, along, num)

    pieces = late(parts, [value, *where], *[value.dtype] * count, name=name)
    pieces = pieces if count != 1 else [pieces]
    for piece in pieces:
        piece.set_shape(None if value.shape.rank is None else [None] * value.shape.rank)
    return pieces


def _equal_parts(value: Any, n: int, axis: int) -> list[Any]:
    """n pieces of an axis of unknown extent, which n must divide."""
    dims = [dim(value, i) for i in range(value.shape.rank)]
    return unstack(reshape(value, [*dims[:axis], n, dims[axis] // n, *dims[axis + 1 :]]), n, axis)


@elementwise(
    op="SplitVSizes",
    dtypes="index",
    lower=lower_elementwise("total", ("total", "extent"), (), "total == extent"),
    samples=lambda: [((np.array(4, t), np.array(4, t)), {}) for t in ("int32", "int64")],
    error_samples=lambda: [misuse("along split_dim .* Got: 3", np.array(3), np.array(4))],
)
def whole_split(total: Array, extent: Array) -> Any:
    """The sum of a split's sizes, which must be the extent of the axis. i[], i[] -> i[]."""
    if np.any(total != extent):
        raise invalid(UNEVEN + str(int(total)))
    return total


def _parts(value: Any, sizes: list[Any], axis: int) -> list[Any]:
    """Pieces whose sizes are tensors, or one of them -1 along an axis of unknown extent."""
    extent = wide(dim(value, axis))
    given = checked(stack([wide(s) for s in sizes]), -1, extent, _NO_SIZE)  # their sum does not wrap
    given = select(equal_p(given, as_tensor(-1, int64)), extent - reduce_sum(given) - 1, given)
    given = checked(given, 0, extent, _NO_SIZE)  # the -1 may have become a negative size
    rest = whole_split(reduce_sum(given), extent)
    found, sizes = [], unstack(given, len(sizes))
    for i, size in enumerate(sizes):
        begin, amount = [0] * value.shape.rank, [-1] * value.shape.rank
        begin[axis], amount[axis] = rest - reduce_sum(given[i:]), size
        found.append(slice_tensor(value, begin, amount))
    return found


@public("unstack")
def unstack(
    value: TensorLike, num: TensorLike | None = None, axis: TensorLike = 0, name: str | None = "unstack"
) -> Any:
    """The slices of value along `axis`, without it. t[*s] -> list of t[*r].

    Raises: ValueError if their number is neither known nor given; InvalidArgumentError if it is not `num`.
    Source: tf.unstack.
    """
    value = as_tensor(value)
    axis = axis if type(axis) is int else whole(axis, "axis")
    rank = value.shape.rank
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    if num is None:
        num = None if rank is None else value.shape[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    elif type(num) is not int:
        num = whole(num, "num")
    return list(named(name if name != "unstack" else None, unstack_p, value, num=num, axis=axis))


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


@public("parallel_stack")
def parallel_stack(values: TensorLike, name: str | None = "parallel_stack") -> Any:
    """Tensors of one shape along a new first axis, in graphs only. t[*s]... -> t[n, *s].

    Raises: RuntimeError in eager mode. Source: tf.parallel_stack.
    """
    if current_trace() is None:
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    return stack(values, 0)
