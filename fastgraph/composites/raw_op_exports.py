"""Operations that TensorFlow exports at its top by the names of kernels: conv, approx_top_k, ragged_fill_empty_rows.

Rule: each is a few public ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fastgraph.core.base.dtype import int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.comparison import logical_not
from fastgraph.ops.convolutions import convolution
from fastgraph.ops.creation import fill, ones, zeros
from fastgraph.ops.elementwise import cast, identity
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_assertions import check_indices
from fastgraph.ops.scatter import tensor_scatter_update_p
from fastgraph.ops.sorting import argsort
from fastgraph.ops.top_k import ApproxTopK, approx_max_k, approx_min_k


class RaggedFillEmptyRows(NamedTuple):
    """The results of ragged_fill_empty_rows."""

    output_value_rowids: Tensor
    output_values: Tensor
    empty_row_indicator: Tensor
    reverse_index_map: Tensor


class RaggedFillEmptyRowsGrad(NamedTuple):
    """The results of ragged_fill_empty_rows_grad."""

    d_values: Tensor
    d_default_value: Tensor


def approx_top_k(
    input: TensorLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95, is_max_k: bool = True,
    reduction_input_size_override: int = -1, aggregate_to_topk: bool = True, name: str | None = None,
) -> ApproxTopK:  # fmt: skip
    """Return math.approx_max_k, or approx_min_k. f[*s] -> f[*r], i32[*r]. Source: tf.approx_top_k."""
    op = approx_max_k if is_max_k else approx_min_k
    return op(input, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk, name)


def conv(
    input: TensorLike, filter: TensorLike, strides: Sequence[int], padding: str, explicit_paddings: Sequence[int] = (),
    data_format: str = "CHANNELS_LAST", dilations: Sequence[int] = (), batch_dims: int = 1, groups: int = 1,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the correlation over two or three spatial axes, after `batch_dims` axes of a batch. Source: tf.conv.

    f[*batch, *spatial, c], f[*size, c, d] -> f[*batch, *places, d]. strides, dilations, explicit_paddings (pairs): of
    all axes. groups: those that the channels say. Raises: InvalidArgumentError for other ranks and words.
    """
    x, kernel = as_tensor(input), as_tensor(filter)
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        allowed = '"SAME", "VALID", "EXPLICIT"'
        raise invalid(f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: {allowed}")
    if x.shape.rank is None or x.shape.rank != batch_dims + 1 + len(strides) - 2:
        raise invalid(f"conv: an input of rank {batch_dims + len(strides) - 1} is wanted, got {x.shape}")
    last, batch = data_format == "CHANNELS_LAST", shape(x)[:batch_dims]
    spatial = slice(1, -1) if last else slice(2, None)
    with name_scope(name or "Conv"):
        x = reshape(x, concat([[-1], shape(x)[batch_dims:]], 0)) if batch_dims != 1 else x
        if padding == "EXPLICIT":
            x = pad(x, reshape(explicit_paddings, [-1, 2]))
        layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(strides) - 2][not last]
        own = list(dilations[spatial]) or None
        found = convolution(
            x, kernel, list(strides[spatial]), "VALID" if padding == "EXPLICIT" else padding, layout, own
        )
        return reshape(found, concat([batch, shape(found)[1:]], 0)) if batch_dims != 1 else found


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the input; nothing asks for the promise. t[*s] -> t[*s]. Source: tf.guarantee_const."""
    return identity(input, name=name)


def ragged_fill_empty_rows(
    value_rowids: TensorLike, values: TensorLike, nrows: TensorLike, default_value: TensorLike, name: str | None = None
) -> RaggedFillEmptyRows:
    """Return rows by their numbers, with default_value in each that was empty. i64[n], t[n], i64[], t[] -> see above.

    Results: i64[m], t[m], bool[nrows], and where each value went: i64[n]. Raises: InvalidArgumentError for a row out of
    range, or a default_value that is no scalar. Source: tf.ragged_fill_empty_rows.
    """
    rows, given, n = as_tensor(value_rowids, int64), as_tensor(values), as_tensor(nrows, int64)
    default = as_tensor(default_value, given.dtype)
    if default.shape.rank not in (0, None):
        raise invalid(f"default_value must be a scalar, saw: {shape_text(default.shape.as_list())}")
    with name_scope(name or "RaggedFillEmptyRows"):
        count = reshape(n, [1])
        numbers = check_indices(expand_dims(rows, 1), count, sorted=False)
        empty = logical_not(tensor_scatter_update_p(zeros(count, "bool"), numbers, ones(shape(rows), "bool")))
        added = where(empty)[:, 0]
        ids = concat([rows, added], 0)
        order = argsort(ids, stable=True)
        filled = concat([given, fill(shape(added), default)], 0)
        places = argsort(order, stable=True)[: shape(rows)[0]]
        return RaggedFillEmptyRows(gather(ids, order), gather(filled, order), empty, cast(places, int64))


def ragged_fill_empty_rows_grad(
    reverse_index_map: TensorLike, grad_values: TensorLike, name: str | None = None
) -> RaggedFillEmptyRowsGrad:
    """Return the gradients to values and to default_value. i64[n], t[m] -> t[n], t[]. Source: same name."""
    places, grads = as_tensor(reverse_index_map, int64), as_tensor(grad_values)
    with name_scope(name or "RaggedFillEmptyRowsGrad"):
        mine = tensor_scatter_update_p(zeros(shape(grads), "bool"), expand_dims(places, 1), ones(shape(places), "bool"))
        rest = where(mine, zeros(shape(grads), grads.dtype), grads)
        return RaggedFillEmptyRowsGrad(gather(grads, places), reduce_sum(rest))
