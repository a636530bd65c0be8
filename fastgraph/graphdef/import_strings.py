"""Types of operations on strings, ragged and sparse tensors, which GraphDefs write as the tensors that they consist of.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

from fastgraph.composites import ragged_functions, sparse_math, sparse_ops
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.registry import public_function
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_arrays import Make, public
from fastgraph.graphdef.import_sparse import sparse_of
from fastgraph.graphdef.import_values import fixed_text
from fastgraph.ops.arguments import known_value
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid
from fastgraph.ops.string_patterns import ngrams_p


def _replace(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The pattern and what takes its place are inputs, or attributes."""
    x, *rest = inputs
    pattern, rewrite = rest or (attrs["pattern"], attrs["rewrite"])
    pattern, rewrite = [_text(each, name) for each in (pattern, rewrite)]
    return public_function("strings.regex_replace")(x, pattern, rewrite, attrs.get("replace_global", True), name)


def _match(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, *rest = inputs
    return public_function("strings.regex_full_match")(x, _text(rest[0] if rest else attrs["pattern"], name), name)


def _text(given: Any, name: str) -> str:
    return given if isinstance(given, str) else fixed_text(given, f"Node '{name}': a pattern").decode()


def _strong(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    function = public_function("strings.to_hash_bucket_strong")
    return function(inputs[0], attrs["num_buckets"], attrs["key"], name=name)


def _ngrams(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Values and splits of rows -> the ngrams and their splits."""
    values, splits = inputs
    width, widths, short = attrs["pad_width"], tuple(attrs["ngram_widths"]), attrs["preserve_short_sequences"]
    if min(widths, default=1) < 1:
        raise invalid("ngram_widths must contain positive values", "StringNGrams")
    if short and not widths and width < 0:
        when = "when preserve_short_sequences is True and ngram_widths are not provided"
        raise invalid(f"Pad width should be >= 0 {when}, got {width}", "StringNGrams")
    if width >= 0:
        widths = widths or (2**30,)  # wider than any row, which is kept whole
    ends = tuple([attrs[key].encode() for key in ("left_pad", "right_pad")])
    return ngrams_p(values, splits, widths=widths, separator=attrs["separator"], ends=ends, pads=width, short=short)


def _nested(values: Any, splits: list[Any]) -> Any:
    for each in reversed(splits):
        values = RaggedTensor.from_row_splits(values, each, validate=False)
    return values


def _flat(ragged: Any) -> list[Any]:
    """The splits, outermost first, then the values."""
    if not isinstance(ragged, RaggedTensor):
        return [ragged]
    return [*ragged.nested_row_splits, ragged.flat_values]


def _to_tensor(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """A ragged tensor, given by how its rows are parted, as a tensor; what is missing gets the default."""
    shape, values, default, *parts = inputs
    kinds = attrs["row_partition_types"]
    rows = None
    if kinds[0] == "FIRST_DIM_SIZE":
        rows, kinds, parts = parts[0], kinds[1:], parts[1:]
    for i, (kind, part) in reversed(list(enumerate(zip(kinds, parts, strict=True)))):
        if kind == "ROW_SPLITS":
            values = RaggedTensor.from_row_splits(values, part, validate=False)
        elif i == 0 and rows is not None:
            values = RaggedTensor.from_value_rowids(values, part, cast(rows, part.dtype), validate=False)
        else:
            raise NotFoundError(
                None, None, f"Node '{name}': rows that are told by {kind} inside of others have no equal"
            )
    known = known_value(shape)
    if known is None:
        raise NotFoundError(None, None, f"Node '{name}': the shape must be a constant")
    dims = None if known.ndim == 0 else [None if n < 0 else int(n) for n in known]
    return values.to_tensor(default_value=default, shape=dims, name=name)


def _gathered(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    *splits, values, indices = inputs
    return _flat(public_function("gather")(_nested(values, splits), indices))


def _range(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    starts, limits, deltas = inputs
    return _flat(ragged_functions.range(starts, limits, deltas, row_splits_dtype=attrs.get("Tsplits", dtypes.int64)))


def _ragged_to_sparse(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    *splits, values = inputs
    found = _nested(values, splits).to_sparse(name)
    return found.indices, found.values, found.dense_shape


def _to_dense(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Rows of places (or places of one axis), the shape, the values there, what is elsewhere."""
    indices, shape, values, default = inputs
    tensors = public_function("tensor_scatter_nd_update")
    if indices.shape.rank != 2:
        indices = public_function("reshape")(indices, [-1, 1])
    if values.shape.rank == 0:
        values = public_function("fill")(public_function("shape")(indices)[:1], values)
    return tensors(public_function("fill")(shape, default), indices, values, name=name)


def _reordered(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    found = sparse_ops.reorder(sparse_of(*inputs[:3]))
    return found.indices, found.values


def _sparse_product(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    said = {key: attrs.get(key, False) for key in ("adjoint_a", "adjoint_b")}
    return sparse_math.sparse_dense_matmul(sparse_of(*inputs[:3]), inputs[3], **said, name=name)


def _sparse_dense(op: str) -> Make:
    """The values of an elementwise op of a sparse tensor and a dense one, where the sparse one has entries."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        indices, values, shape, dense = inputs
        met = public_function("gather_nd")(public_function("broadcast_to")(dense, shape), indices)
        return public_function(op)(values, met, name=name)

    return make


def _filled_rows(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The entries with one more in each row that has none; which rows those are, and where each entry went."""
    found, empty = sparse_ops.fill_empty_rows(sparse_of(*inputs[:3]), inputs[3])
    rows = inputs[0][:, 0]
    put_in = public_function("cumsum")(public_function("cast")(empty, dtypes.int64))
    order = public_function("argsort")(rows, stable=True)
    places = public_function("cast")(public_function("math.invert_permutation")(order), dtypes.int64)
    return found.indices, found.values, empty, places + public_function("gather")(put_in, rows)


def _sparse_reshape(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    indices, shape, new = inputs
    values = public_function("zeros")(public_function("shape")(indices)[:1], dtypes.float32)
    found = sparse_ops.reshape(SparseTensor(indices, values, shape), new)
    return found.indices, found.dense_shape


STRINGS: dict[str, Make] = {
    "RaggedGather": _gathered,
    "RaggedRange": _range,
    "RaggedTensorToSparse": _ragged_to_sparse,
    "RaggedTensorToTensor": _to_tensor,
    "RegexFullMatch": _match,
    "RegexReplace": _replace,
    "SparseDenseCwiseAdd": _sparse_dense("add"),
    "SparseDenseCwiseDiv": _sparse_dense("divide"),
    "SparseDenseCwiseMul": _sparse_dense("multiply"),
    "SparseFillEmptyRows": _filled_rows,
    "SparseReorder": _reordered,
    "SparseReshape": _sparse_reshape,
    "SparseTensorDenseMatMul": _sparse_product,
    "SparseToDense": _to_dense,
    "StaticRegexFullMatch": _match,
    "StaticRegexReplace": _replace,
    "StringNGrams": _ngrams,
    "StringToHashBucketFast": public("strings.to_hash_bucket_fast", "num_buckets"),
    "StringToHashBucketStrong": _strong,
}
