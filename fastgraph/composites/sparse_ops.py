"""tf.sparse: SparseTensors made, made dense, moved, cut, joined. What computes with their values is in sparse_math.

Rule: everything is written in ops on the three component tensors: gradients and Functions need nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import (
    SparseLike,
    SparseTensor,
    SparseTensorSpec,
    as_sparse,
    known_rank,
    with_shape,
)
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32, int64, string
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.core.tape.indexed_slices import IndexedSlices, known_extents
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.arguments import are_known, as_tensor, known_axes, preferred, static_int
from fastgraph.ops.comparison import logical_not, not_equal
from fastgraph.ops.creation import fill, ones, range_, zeros
from fastgraph.ops.deferred_calls import late_structure
from fastgraph.ops.division import floordiv, floormod
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.joining import concat as join
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import reshape as reshape_dense
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_all, reduce_any, reduce_max, reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import assert_equal, check_indices, ensure_shape
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.scans import cumprod, cumsum
from fastgraph.ops.scatter import gather_nd, tensor_scatter_update_p
from fastgraph.ops.sorting import argsort


def late_like(function: Callable[..., SparseTensor], sp: SparseTensor, *given: Any) -> Any:
    """The SparseTensor of sp's dtype that function(sp, *given) gives, called when a run knows the rank."""
    return late_structure(function, (sp, *given), SparseTensorSpec(None, sp.dtype))


# ---- order ----------------------------------------------------------------------------------------------------------


def sort_order(indices: Tensor, known: TensorShape | None = None) -> Any:
    """The places of the rows of i64[n, rank] in row-major order; equal rows stay in theirs. Needs a known rank.

    known: what is known of the shape that they lie in; of a small one, a row is one number.
    """
    rank = indices.shape[1]
    if not rank:
        return range_(shape(indices, int64)[0])
    total = known.num_elements() if known is not None and known.rank == rank else None
    if known is not None and total is not None and total < 1 << 31:
        extents: list[Any] = known.as_list()
        steps = [math.prod(extents[axis + 1 :]) for axis in range(rank)]
        return cast(argsort(reduce_sum(indices * np.array(steps, np.int64), 1), stable=True), int64)
    order = argsort(indices[:, rank - 1], stable=True)
    for axis in reversed(range(rank - 1)):  # not by one number per row: it would overflow where a shape is huge
        order = gather(order, argsort(gather(indices[:, axis], order), stable=True))
    return cast(order, int64)


def take(rows: Any, places: Any) -> Any:
    """gather along the first axis; but its gradient is dense, as that of TensorFlow's sparse operations."""
    return gather_nd(rows, reshape_dense(places, [-1, 1]))


def groups_of_equal(rows: Tensor) -> tuple[Any, Any]:
    """Return of sorted rows i64[n, rank]: (the first row of each group of equal ones, each row's group i64[n])."""
    first = ones([minimum(shape(rows)[0], 1)], "bool")
    starts = join([first, reduce_any(not_equal(rows[1:], rows[:-1]), 1)], 0)
    return boolean_mask(rows, starts), cumsum(cast(starts, int64)) - 1


def reorder(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor with its indices in row-major order. Source: tf.sparse.reorder."""
    sp = as_sparse(sp_input)
    if sp.shape.rank is None:
        return late_like(reorder, sp)
    order = sort_order(sp.indices, sp.shape)
    return with_shape(gather(sp.indices, order), take(sp.values, order), sp.dense_shape, sp.shape)


# ---- dense tensors --------------------------------------------------------------------------------------------------


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The elements of a dense tensor that are not zero (not empty, not False). Source: tf.sparse.from_dense."""
    tensor = as_tensor(tensor)
    if tensor.shape.rank == 0:
        raise invalid("WhereOp : Unhandled input dimensions: 0")
    present = tensor if tensor.dtype.is_bool else not_equal(tensor, zero_of(tensor.dtype))
    indices = where(present)
    return with_shape(indices, gather_nd(tensor, indices), shape(tensor, int64), tensor.shape)


def zero_of(dtype: DType) -> Any:
    """Return the element that a SparseTensor has where it holds none."""
    return convert(b"", string) if dtype is string else convert(False if dtype.is_bool else 0, dtype)


def to_dense(
    sp_input: SparseLike, default_value: TensorLike | None = None, validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The dense tensor: the values where the indices say, `default_value` elsewhere. t[*dense_shape].

    Raises: InvalidArgumentError for indices out of range and, with `validate_indices`, out of order or repeated.
    Source: tf.sparse.to_dense.
    """
    sp = as_sparse(sp_input)
    default = zero_of(sp.dtype) if default_value is None else as_tensor(default_value, sp.dtype)
    if default.shape.rank != 0:
        raise invalid("default_value should be a scalar.")
    indices = check_indices(sp.indices, sp.dense_shape, sorted=bool(validate_indices))
    extents = sp.shape.as_list() if sp.shape.is_fully_defined() else sp.dense_shape
    return fitted(tensor_scatter_update_p(fill(extents, default), indices, sp.values), sp.shape)


def fitted(tensor: Tensor, known: TensorShape) -> Any:
    """The tensor, of whose shape `known` is known."""
    return tensor if known.rank is None or tensor.shape.is_fully_defined() else ensure_shape(tensor, known)


def to_indicator(sp_input: SparseLike, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """True at those of vocab_size numbers that the last axis of sp_input holds as values. bool[*s, vocab_size].

    Raises: InvalidArgumentError for a number out of range. Source: tf.sparse.to_indicator.
    """
    sp = as_sparse(sp_input)
    rank = sp.shape.rank
    if rank is None:
        return late_structure(to_indicator, (sp, vocab_size), TensorSpec(None, "bool"))
    ids = reshape_dense(cast(sp.values, int64), [-1, 1])
    indices = join([sp.indices[:, : rank - 1], ids], 1)
    last = static_int(vocab_size)
    dense_shape = join([sp.dense_shape[: rank - 1], reshape_dense(cast(vocab_size, int64), [1])], 0)
    present = ones([shape(ids)[0]], "bool")
    return to_dense(with_shape(indices, present, dense_shape, [*sp.shape[: rank - 1], last]), validate_indices=False)


def eye(
    num_rows: TensorLike, num_columns: TensorLike | None = None, dtype: DTypeLike = float32, name: str | None = None
) -> SparseTensor:
    """The matrix with ones on its diagonal. Raises: TypeError for sizes that are no integers. Source: tf.sparse.eye."""
    sizes = {"num_rows": num_rows, "num_columns": num_rows if num_columns is None else num_columns}
    tensors = []
    for label, size in sizes.items():
        size = as_tensor(size, int64)
        if size.shape.rank != 0 or not size.dtype.is_integer:
            raise TypeError(f"{label} must be an integer value")
        tensors.append(cast(size, int64))
    n = minimum(*tensors)
    places = range_(n)
    return SparseTensor(stack([places, places], 1), ones(reshape_dense(n, [1]), as_dtype(dtype)), stack(tensors))


# ---- shapes ---------------------------------------------------------------------------------------------------------


def reset_shape(sp_input: SparseLike, new_shape: SizeLike = None) -> SparseTensor:
    """The SparseTensor with a larger dense shape, or with the smallest that holds its values.

    Raises: ValueError if new_shape is smaller. Source: tf.sparse.reset_shape.
    """
    sp = as_sparse(sp_input)
    if new_shape is None:
        if sp.shape.rank == 0:
            return sp
        last = maximum(reduce_max(sp.indices, 0), -1) + 1  # of no indices the greatest is the least integer
        return SparseTensor(sp.indices, sp.values, last)
    target = cast(as_tensor(new_shape, int64), int64)
    known = known_extents(target)
    if known is not None and sp.shape.rank is not None:
        if len(known) != sp.shape.rank:
            raise ValueError(f"Dimensions {len(known)} and {sp.shape.rank} are not compatible")
        if any(None not in (m, n) and m < n for m, n in zip(known, sp.shape, strict=True)):  # type: ignore[operator]
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
                f"([{' '.join(map(str, known))}]), sp_input.shape ([{' '.join(map(str, sp.shape))}])."
            )
    if known is None or None in known or not sp.shape.is_fully_defined():
        assert_equal(maximum(sp.dense_shape, target), target, "new_shape must not be smaller than the shape there is")
    return SparseTensor(sp.indices, sp.values, target)


def reshape(sp_input: SparseLike, shape: SizeLike, name: str | None = None) -> SparseTensor:
    """The SparseTensor in another dense shape, one of whose extents may be -1: what is left.

    Raises: InvalidArgumentError if the number of elements differs. Source: tf.sparse.reshape.
    """
    sp = as_sparse(sp_input)
    given = cast(as_tensor(shape, int64), int64)
    target = known_extents(given)
    if target is None:
        return late_like(reshape, sp, given)
    before = sp.shape
    holes = [i for i, n in enumerate(target) if n == -1]
    if len(holes) > 1:
        raise invalid(f"only one output dimension may be -1, not both {holes[0]} and {holes[1]}")
    total = before.num_elements()
    if total is not None and None not in target:
        target = _filled(target, holes, total, before)
        given = convert(list(target), int64)
    else:
        rest = reduce_prod(where(given < 0, 1, given))
        whole = reduce_prod(sp.dense_shape)
        given = where(given < 0, floordiv(whole, maximum(rest, 1)), given)
        assert_equal(reduce_prod(given), whole, "Input to reshape has another number of elements than the shape asked")
        target = tuple(None if n == -1 else n for n in target)
    weights = cumprod(sp.dense_shape, exclusive=True, reverse=True)
    steps = cumprod(given, exclusive=True, reverse=True)
    place = reduce_sum(sp.indices * weights, 1, keepdims=True)
    # An index out of range stays one: nothing is taken off along the first axis.
    limits = join([[int64.max], maximum(given[1:], 1)], 0)
    indices = floormod(floordiv(place, maximum(steps, 1)), limits)
    return with_shape(indices, sp.values, given, target)


def _filled(target: Any, holes: list[int], total: int, before: Any) -> tuple[int, ...]:
    """The extents asked for with -1 replaced. InvalidArgumentError if they are not of `total` elements."""
    rest = 1
    for n in target:
        rest *= n if n != -1 else 1
    if holes:
        if rest == 0:
            raise invalid(
                "reshape cannot infer the missing input size for an empty tensor unless all specified input "
                "sizes are non-zero"
            )
        whole = total // rest
        result = tuple(whole if n == -1 else n for n in target)
        if rest * whole != total:
            raise invalid(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a "
                f"multiple of {rest}. input_shape={shape_text(before)} output_shape={shape_text(result)}"
            )
        return result
    if rest != total:
        raise invalid(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has {rest}. "
            f"input_shape={shape_text(before)} output_shape={shape_text(target)}"
        )
    return tuple(target)


def transpose(sp_input: SparseLike, perm: TensorLike | None = None, name: str | None = None) -> SparseTensor:
    """The SparseTensor with its axes in the order `perm`, by default reversed. Source: tf.sparse.transpose."""
    sp = as_sparse(sp_input)
    rank = sp.shape.rank
    if rank is None:
        return late_like(transpose, sp, perm)
    if not are_known(perm):
        return late_along(lambda one, perm: [transpose(one[0], perm)], [sp], perm, [None] * rank)[0]
    order = tuple(reversed(range(rank))) if perm is None else known_axes(perm)
    if len(order) != rank:
        raise ValueError(f"Dimensions {len(order)} and {rank} are not compatible")
    indices = gather(sp.indices, list(order), axis=1)
    known = [sp.shape[axis] for axis in order]
    return reorder(with_shape(indices, sp.values, gather(sp.dense_shape, list(order)), known))


def expand_dims(sp_input: SparseLike, axis: TensorLike | None = None, name: str | None = None) -> SparseTensor:
    """The SparseTensor with an axis of size 1 before axis `axis`, by default at the end.

    Raises: InvalidArgumentError if there is no such place. Source: tf.sparse.expand_dims.
    """
    sp = as_sparse(sp_input)
    rank = sp.shape.rank
    if rank is None:
        return late_like(expand_dims, sp, axis)
    at = static_int(-1 if axis is None else axis)
    if at is None:
        return late_along(lambda one, axis: [expand_dims(one[0], axis)], [sp], axis, [None] * (rank + 1))[0]
    if not -rank - 1 <= at <= rank:
        raise invalid(f"Expected size[1] in [0, {rank}], but got {at}")
    at %= rank + 1
    column = zeros([shape(sp.indices)[0], 1], int64)
    indices = join([sp.indices[:, :at], column, sp.indices[:, at:]], 1)
    dense_shape = join([sp.dense_shape[:at], ones([1], int64), sp.dense_shape[at:]], 0)
    return with_shape(indices, sp.values, dense_shape, [*sp.shape[:at], 1, *sp.shape[at:]])


def late_along(
    function: Callable[..., Sequence[SparseTensor]], inputs: Sequence[SparseTensor], axis: Any, known: Any, n: int = 1
) -> list[SparseTensor]:
    """The n SparseTensors of shape `known` that function(inputs, axis) gives, called when a run knows the axis."""
    spec = SparseTensorSpec(known, inputs[0].dtype)
    return list(late_structure(function, (list(inputs), preferred(axis, int32)), [spec] * n))


# ---- parts ----------------------------------------------------------------------------------------------------------


def retain(sp_input: SparseLike, to_retain: TensorLike) -> SparseTensor:
    """The values for which to_retain holds, at their places. Source: tf.sparse.retain.

    Raises: ValueError if there is not one of them per value.
    """
    sp = as_sparse(sp_input)
    kept = as_tensor(to_retain).shape.with_rank(1)
    count = sp.values.shape[0]
    if None not in (kept[0], count) and kept[0] != count:
        raise ValueError(f"Dimensions {count} and {kept[0]} are not compatible")
    return _only(sp, convert(to_retain))


def _only(sp: SparseTensor, kept: Tensor) -> SparseTensor:
    return with_shape(boolean_mask(sp.indices, kept), boolean_mask(sp.values, kept), sp.dense_shape, sp.shape)


def slice(sp_input: SparseLike, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The block that begins at `start` and has at most the extents `size`.

    Raises: InvalidArgumentError if these are not of its rank, or sizes below 0. Source: tf.sparse.slice.
    """
    sp = as_sparse(sp_input)
    start, size = (cast(as_tensor(n, int64), int64) for n in (start, size))
    rank = sp.shape.rank
    for label, vector in (("start", start), ("size", size)):
        if rank is not None and vector.shape.num_elements() not in (None, rank):
            n = vector.shape.num_elements()
            raise invalid(f"Expected {label} to be a vector of length {rank} but got length {n}")
    size = checked(size, 0, 2**63 - 1, "Expected a non-negative size, got {}")
    inside = reduce_all((sp.indices >= start) & (sp.indices - start < size), 1)
    extents = maximum(minimum(size, sp.dense_shape - start), 0)
    block = _only(sp, inside)
    return SparseTensor(block.indices - start, block.values, extents)


def split(
    sp_input: SparseLike | None = None,
    num_split: TensorLike | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """num_split parts along `axis`, the first of them longer by one where they cannot be equal.

    Raises: ValueError for an argument that is missing; InvalidArgumentError for an axis or a number out of range.
    Source: tf.sparse.split.
    """
    for label, value in (("num_split", num_split), ("axis", axis), ("sp_input", sp_input)):
        if value is None:
            raise ValueError(f"{label} is required")
    sp = as_sparse(sp_input)
    rank, n, along = sp.shape.rank, static_int(num_split), static_int(axis)
    if n is None:
        raise TypeError(f"Expected int for argument 'num_split' not {num_split!r}.")
    if rank is None:
        return late_along(lambda one, axis: split(one[0], n, axis), [sp], axis, None, n)
    if along is None:
        return late_along(lambda one, axis: split(one[0], n, axis), [sp], axis, [None] * rank, n)
    if not -rank <= along < rank:
        raise invalid(f"Input axis should be in range [{-rank}, {rank}), got {along}")
    along %= rank
    extent = sp.shape[along]
    if n < 1 or (extent is not None and n > extent):
        raise invalid(f"Input num_split should be between 1 and the splitting dimension size ({extent}), got {n}")
    whole, longer = floordiv(sp.dense_shape[along], n), floormod(sp.dense_shape[along], n)
    chosen = np.arange(rank) == along
    indices = check_indices(sp.indices, sp.dense_shape, sorted=False)
    sp = with_shape(indices, sp.values, sp.dense_shape, sp.shape.as_list())
    parts = []
    for i in range(n):
        begin = whole * i + minimum(longer, i)
        size = whole + cast(longer > i, int64)
        parts.append(slice(sp, where(chosen, begin, 0), where(chosen, size, sp.dense_shape)))
    return parts


def concat(
    axis: TensorLike, sp_inputs: Sequence[SparseLike], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """SparseTensors one after the other along `axis`; with expand_nonconcat_dims the other extents may differ.

    Raises: InvalidArgumentError if ranks or extents differ. Source: tf.sparse.concat.
    """
    if not isinstance(sp_inputs, (list, tuple)) or hasattr(sp_inputs, "_fields"):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [as_sparse(one) for one in sp_inputs]
    if not inputs:
        raise invalid("concat needs at least one SparseTensor")
    along = static_int(axis)
    if along is None:
        raise TypeError(f"Expected int for argument 'concat_dim' not {axis!r}.")
    if len(inputs) == 1:
        return inputs[0]
    if any(one.shape.rank is None for one in inputs):
        return late_like(lambda *inputs: concat(along, inputs, expand_nonconcat_dims), *inputs)
    rank = known_rank(inputs[0], "concat")
    for i, one in enumerate(inputs):
        if one.shape.rank != rank:
            raise invalid(
                f"Ranks of all input tensors must match: expected {rank} but got {one.shape.rank} at position {i}"
            )
        if one.dtype is not inputs[0].dtype:
            raise invalid(
                f"cannot compute SparseConcat as input #{len(inputs) + i}(zero-based) was expected to be a "
                f"{message_name(inputs[0].dtype)} tensor but is a {message_name(one.dtype)} tensor"
            )
    if not -rank <= along < rank:
        raise invalid(f"Concat dimension must be in range [{-rank}, {rank}), got {along}")
    along %= rank
    if not expand_nonconcat_dims:
        _check_extents(inputs, along)
    chosen = np.arange(rank) == along
    begin: Any = zeros([], int64)
    rows, extents = [], inputs[0].dense_shape
    for one in inputs:
        rows.append(one.indices + where(chosen, begin, 0))
        begin = begin + one.dense_shape[along]
        extents = maximum(extents, one.dense_shape)
    known = [_joined_extent([one.shape[i] for one in inputs], i == along) for i in range(rank)]
    values = join([one.values for one in inputs], 0)
    made = with_shape(join(rows, 0), values, where(chosen, begin, extents), known)
    return made if along == 0 else reorder(made)


def _check_extents(inputs: Sequence[SparseTensor], along: int) -> None:
    first = inputs[0].shape
    for i, one in enumerate(inputs):
        for axis, (m, n) in enumerate(zip(first, one.shape, strict=True)):
            if axis != along and None not in (m, n) and m != n:
                raise invalid(f"Input shapes must match: expected {m} for dimension {axis} but got {n} at position {i}")
        if i and not (first.is_fully_defined() and one.shape.is_fully_defined()):
            others = np.arange(len(first)) != along
            assert_equal(
                boolean_mask(one.dense_shape, others),
                boolean_mask(inputs[0].dense_shape, others),
                "Input shapes must match, but for the axis of concatenation",
            )


def _joined_extent(extents: Sequence[int | None], added: bool) -> int | None:
    known = [n for n in extents if n is not None]
    if len(known) < len(extents):
        return None
    return sum(known) if added else max(known)


def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """The IndexedSlices `a` without the rows that mask_indices names. Source: tf.sparse.mask."""
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"Argument `a` must be IndexedSlices, not {a!r}")
    rows = as_tensor(a.indices)
    named = reshape_dense(as_tensor(mask_indices, rows.dtype), [1, -1])
    kept = logical_not(reduce_any(reshape_dense(rows, [-1, 1]) == named, 1))
    return IndexedSlices(boolean_mask(a.values, kept), boolean_mask(rows, kept), a.dense_shape)


def map_values(op: Callable[..., Any], *args: object, **kwargs: object) -> SparseTensor:
    """op of the values of the SparseTensors among the arguments, which must have the same indices, at their places.

    Raises: ValueError without a SparseTensor, or if the result is of other length; InvalidArgumentError if the indices
    differ. Source: tf.sparse.map_values.
    """
    sparse = [v for v in (*args, *kwargs.values()) if isinstance(v, SparseTensor)]
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    for other in sparse[1:]:
        if other.indices is not sparse[0].indices:
            assert_equal(sparse[0].indices, other.indices, "Mismatched indices!")
        if other.dense_shape is not sparse[0].dense_shape:
            assert_equal(sparse[0].dense_shape, other.dense_shape, "Mismatched shapes!")
    values = [v.values if isinstance(v, SparseTensor) else v for v in args]
    named = {key: v.values if isinstance(v, SparseTensor) else v for key, v in kwargs.items()}
    return sparse[0].with_values(op(*values, **named))


def fill_empty_rows(
    sp_input: SparseLike, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """(sp_input with default_value at the start of each row that was empty, which rows those were: bool[rows]).

    Raises: InvalidArgumentError for a default_value that is no scalar, or a row out of range.
    Source: tf.sparse.fill_empty_rows.
    """
    sp = as_sparse(sp_input)
    rank = sp.shape.rank
    if rank is None:
        result = (SparseTensorSpec(None, sp.dtype), TensorSpec([None], "bool"))
        return late_structure(fill_empty_rows, (sp, default_value), result)
    default = as_tensor(default_value, sp.dtype)
    if default.shape.rank:
        raise invalid(f"default_value must be a scalar, saw: {shape_text(default.shape.as_list())}")
    n_rows = sp.dense_shape[:1]
    rows = check_indices(sp.indices[:, :1], n_rows, sorted=False)
    seen = tensor_scatter_update_p(zeros(n_rows, "bool"), rows, ones([shape(rows)[0]], "bool"))
    empty = logical_not(seen)
    added = where(empty)
    added = join([added, zeros([shape(added)[0], rank - 1], int64)], 1)
    indices = join([sp.indices, added], 0)
    values = join([sp.values, fill([shape(added)[0]], reshape_dense(default, ()))], 0)
    order = argsort(indices[:, 0], stable=True)
    made = with_shape(gather(indices, order), take(values, order), sp.dense_shape, sp.shape)
    return made, fitted(empty, sp.shape[:1])
