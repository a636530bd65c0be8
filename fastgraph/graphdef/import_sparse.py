"""Types of operations on sparse and ragged tensors: joins, sums, sets, counts, crosses and their gradients.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_sets import ragged_cross, ragged_cross_hashed
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import float32, int32, int64
from fastgraph.core.tensor import Tensor
from fastgraph.graphdef.import_arrays import Make
from fastgraph.graphdef.import_raw_ops import call_public
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid


def sparse_of(indices: Tensor, values: Tensor, dense_shape: Tensor) -> SparseTensor:
    """Return the SparseTensor of an operation's inputs. InvalidArgumentError for other than one value an index."""
    counts = [each.shape[0] if each.shape.rank else None for each in (indices, values)]
    if None not in counts and counts[0] != counts[1]:
        raise invalid(f"Number of elements in indices ({counts[0]}) and values ({counts[1]}) do not match")
    return SparseTensor(cast(indices, int64), values, cast(dense_shape, int64))


def _parts(x: Any) -> list[Any]:
    return [x.indices, x.values, x.dense_shape]


def _sparse_join(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    n = len(inputs) // 3
    tensors = [sparse_of(inputs[i], inputs[n + i], inputs[2 * n + i]) for i in range(n)]
    return _parts(call_public("sparse.concat", attrs["concat_dim"], tensors))


def _sparse_split(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    axis = int(fixed(inputs[0], f"Node '{name}': the axis"))
    found = call_public("sparse.split", sparse_of(*inputs[1:]), attrs["num_split"], axis)
    return [part for parts in zip(*map(_parts, found), strict=True) for part in parts]


def _sparse_reduced(function: str, *, sparse: bool = True) -> Make:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        axes = fixed(inputs[3], f"Node '{name}': the axes").tolist()
        keep = attrs.get("keep_dims", False)
        found = call_public(function, sparse_of(*inputs[:3]), axes, keep, output_is_sparse=sparse)
        return _parts(found) if sparse else found

    return make


def _sparse_plus(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The sparse tensor's values with what a dense one, broadcast, has in their places added."""
    indices, values, shape, dense = inputs
    return values + call_public("gather_nd", call_public("broadcast_to", dense, shape), indices)


_SET_OPERATIONS = {"intersection": "intersection", "union": "union", "a-b": "difference", "b-a": "difference"}


def _set_operation(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Two sets in each row, dense or sparse."""
    how = attrs["set_operation"].lower()
    if how not in _SET_OPERATIONS:
        raise invalid(f"Invalid set_operation {how}.")
    n = len(inputs)
    first = inputs[0] if n < 6 else sparse_of(*inputs[:3])
    second = inputs[1] if n == 2 else sparse_of(*inputs[-3:])
    said: dict[str, Any] = {"aminusb": how == "a-b"} if "-" in how else {}
    found = call_public(
        f"sets.{_SET_OPERATIONS[how]}", first, second, validate_indices=attrs.get("validate_indices", True), **said
    )
    return _parts(found)


def _segment_gradient(how: str, *, of_rows: bool = False) -> Make:
    """The gradient to the rows that were gathered into segments: each row gets its segments' gradients.

    of_rows: Only of those that were gathered, and which these are, in order.
    """

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        dy, indices, segments, rows = inputs
        named = None
        if of_rows:
            named = call_public("sort", call_public("unique", indices)[0])
            indices, rows = call_public("searchsorted", named, indices), call_public("size", named)
        parts = call_public("gather", dy, segments)
        if how != "sum":
            ones = call_public("ones_like", cast(segments, dy.dtype))
            count = call_public(
                "gather",
                call_public("math.unsorted_segment_sum", ones, segments, call_public("shape", dy)[0]),
                segments,
            )
            count = call_public("sqrt", count) if how == "sqrt_n" else count
            dims = call_public(
                "concat", [call_public("shape", count), call_public("ones", [call_public("rank", dy) - 1], int32)], 0
            )
            parts = parts / call_public("reshape", count, dims)
        found = call_public("math.unsorted_segment_sum", parts, indices, rows)
        return found if named is None else (found, named)

    return make


def _filled_rows_gradient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Gradients of the values that were there, and of the default, which is the sum over those that were put in."""
    places, dy = inputs
    for what, each in (("reverse_index_map", places), ("grad_values", dy)):
        if each.shape.rank not in (None, 1):
            raise invalid(f"{what} must be a vector, got shape {each.shape}")
    found = call_public("gather", dy, places)
    return found, call_public("reduce_sum", dy) - call_public("reduce_sum", found)


def _counts(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return how often each number is there, of the rows of a sparse or ragged tensor."""
    *given, size, weights = inputs
    x: Any
    x = sparse_of(*given) if len(given) == 3 else RaggedTensor.from_row_splits(given[1], given[0], validate=False)
    binary, held = attrs.get("binary_output", False), None
    if weights.shape.num_elements() != 0 and not binary:  # whether a number is there has no weight
        held = x.with_values(call_public("reshape", weights, [-1]))
    rows = len(given) == 2 or given[2].shape.num_elements() == 2
    return call_public(
        "math.bincount", x, held, size, size, weights.dtype, axis=-1 if rows else None, binary_output=binary
    )


def _sparse_counts(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Counts of each number, of a vector or of the rows of a matrix, where it is there at all."""
    values, weights = inputs
    held = None if weights.shape.num_elements() == 0 else weights
    axis = 0 if values.shape.rank == 1 else -1
    return _counted(values, held, axis, weights.dtype, attrs)


def _counted(values: Any, weights: Any, axis: int, dtype: Any, attrs: dict[str, Any]) -> Any:
    limits = {key: None if attrs.get(key, -1) < 0 else attrs[key] for key in ("minlength", "maxlength")}
    found = call_public("sparse.bincount", values, weights, axis, **limits, binary_output=attrs["binary_output"])
    return found.indices, cast(found.values, dtype), found.dense_shape


def _row_counts(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Counts of each number in the rows of a sparse or ragged tensor, where it is there at all."""
    *given, weights = inputs
    x: Any
    if len(given) == 3:
        x = sparse_of(*given)
    else:
        x = RaggedTensor.from_row_splits(given[1], given[0], validate=False)
    held = None if weights.shape.num_elements() == 0 else x.with_values(weights)
    axis = 0 if len(given) == 3 and given[2].shape.num_elements() == 1 else -1
    return _counted(x, held, axis, weights.dtype, attrs)


def _ragged_cross(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Every choice of one feature of each column; `input_order` says of which kind each column is."""
    n_ragged, n_sparse = (attrs["input_order"].count(kind) for kind in "RS")
    ragged, rest = inputs[: 2 * n_ragged], inputs[2 * n_ragged :]
    sparse, dense = rest[: 3 * n_sparse], rest[3 * n_sparse :]
    columns = {
        "R": iter([RaggedTensor.from_row_splits(*pair) for pair in zip(ragged[:n_ragged], ragged[n_ragged:])]),
        "S": iter([sparse_of(*sparse[i::n_sparse]) for i in range(n_sparse)]),
        "D": iter(dense),
    }
    chosen: list[Any] = [next(columns[kind]) for kind in attrs["input_order"]]
    if attrs["hashed_output"]:
        found = ragged_cross_hashed(chosen, attrs["num_buckets"], attrs["hash_key"], name)
    else:
        found = ragged_cross(chosen, name)
    return found.values, cast(found.row_splits, attrs["out_row_splits_type"])


def _at_same_places(values: Any, places: Any, wanted: Any) -> Any:
    """Values of the elements at `places` (in order) for each of the places `wanted`, 0 where there is none."""
    extents = call_public("reduce_max", call_public("concat", [places, wanted], 0), 0) + 1
    steps = call_public("math.cumprod", extents, exclusive=True, reverse=True)
    keys, sought = (call_public("reduce_sum", each * steps, 1) for each in (places, wanted))
    at = call_public("searchsorted", keys, sought)
    keys = call_public("concat", [keys, [-1]], 0)
    values = call_public("concat", [values, call_public("zeros", [1], values.dtype)], 0)
    found = call_public("gather", values, at)
    return call_public("where", call_public("gather", keys, at) == sought, found, call_public("zeros_like", found))


def _sum_gradients(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dy, a, b, of_sum = inputs
    return _at_same_places(dy, of_sum, a), _at_same_places(dy, of_sum, b)


def _slice_gradient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dy, places, start, of_slice = inputs
    return _at_same_places(dy, of_slice + start, places)


def _dense_product(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The product of two matrices with many zeros, f32."""
    a, b = (cast(each, float32) for each in inputs)
    sides = attrs.get("transpose_a", False), attrs.get("transpose_b", False)
    return call_public("matmul", a, b, *sides, name=name)


SPARSE: dict[str, Make] = {
    "DenseCountSparseOutput": _sparse_counts,
    "DenseToDenseSetOperation": _set_operation,
    "DenseToSparseSetOperation": _set_operation,
    "RaggedBincount": _counts,
    "RaggedCountSparseOutput": _row_counts,
    "RaggedCross": _ragged_cross,
    "SparseAddGrad": _sum_gradients,
    "SparseBincount": _counts,
    "SparseConcat": _sparse_join,
    "SparseCountSparseOutput": _row_counts,
    "SparseDenseCwiseAdd": _sparse_plus,
    "SparseFillEmptyRowsGrad": _filled_rows_gradient,
    "SparseMatMul": _dense_product,
    "SparseReduceMax": _sparse_reduced("sparse.reduce_max", sparse=False),
    "SparseReduceMaxSparse": _sparse_reduced("sparse.reduce_max"),
    "SparseReduceSum": _sparse_reduced("sparse.reduce_sum", sparse=False),
    "SparseReduceSumSparse": _sparse_reduced("sparse.reduce_sum"),
    "SparseSegmentMeanGrad": _segment_gradient("mean"),
    "SparseSegmentMeanGradV2": _segment_gradient("mean", of_rows=True),
    "SparseSegmentSqrtNGrad": _segment_gradient("sqrt_n"),
    "SparseSegmentSqrtNGradV2": _segment_gradient("sqrt_n", of_rows=True),
    "SparseSegmentSumGrad": _segment_gradient("sum"),
    "SparseSegmentSumGradV2": _segment_gradient("sum", of_rows=True),
    "SparseSliceGrad": _slice_gradient,
    "SparseSplit": _sparse_split,
    "SparseToSparseSetOperation": _set_operation,
}
