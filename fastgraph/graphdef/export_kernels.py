"""Nodes that are one kernel here and one of TensorFlow's operations there, which has more attributes or other inputs.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.registry import get
from fastgraph.graph.ir import Node, Value
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import CODECS, Unwritable, defined, written

_MOST_COSINES = 512  # elements along the axis: the matrix is a constant


def operation(node: Node, kind: str, inputs: Sequence[Value], results: str, **attrs: Any) -> Definition:
    """Return an operation that gives the node's results, which are called so there."""
    found = Definition(node, kind, inputs, attrs)
    found.slots = [f"{name}:0" for name in results.split()]
    return found


def _scatter(node: Node) -> list[Definition]:
    _, indices, updates = node.inputs
    attrs = {"dtype": updates.aval.dtype, "Tindices": indices.aval.dtype}
    return [operation(node, str(node.op.op_type), node.inputs, "", **attrs)]


def _substr(node: Node) -> list[Definition]:
    attrs = {"T": node.inputs[1].aval.dtype, "unit": node.attrs["unit"]}
    return [operation(node, "Substr", node.inputs, "output", **attrs)]


def _hash_bucket(node: Node) -> list[Definition]:
    return [operation(node, "StringToHashBucket", node.inputs, "output", num_buckets=node.attrs["num_buckets"])]


def _ngrams(node: Node) -> list[Definition]:
    said = node.attrs
    left, right = said["ends"]
    return [
        operation(
            node, "StringNGrams", node.inputs, "ngrams ngrams_splits", separator=said["separator"],
            ngram_widths=list(said["widths"]), left_pad=left, right_pad=right, pad_width=said["pads"],
            preserve_short_sequences=said["short"], Tsplits=node.inputs[1].aval.dtype,
        )
    ]  # fmt: skip


def _max_pool_grad(node: Node) -> list[Definition]:
    """The gradient of a pooling, or of that, which takes what the pooling gave as well."""
    x, dy = node.inputs
    picks = node.op.name == "max_pool_pick"
    parts, window = Parts(node), CODECS["window"][0]
    flat = len(node.attrs["window"]) == 2
    kind, attrs = ("MaxPool" if flat else "MaxPool3D"), {
        "ksize": window(node.attrs["window"], node), "strides": window(node.attrs["strides"], node),
        "padding": node.attrs["padding"], "data_format": "NHWC" if flat else "NDHWC", "T": x.aval.dtype,
    }  # fmt: skip
    if not isinstance(node.attrs["padding"], str):
        raise Unwritable("the gradient of a pooling with paddings of its own")
    pooled = Node(node.op, (), {}, ((node.outputs[0] if picks else dy).aval.without_value(),), f"{node.name}/{kind}")
    parts.made.append(operation(pooled, kind, (x,), "output", **attrs))
    more = {} if flat or picks else {"TInput": x.aval.dtype}
    inputs = (x, pooled.outputs[0], dy)
    return [
        *parts.made,
        operation(node, f"{kind}GradGrad" if picks else f"{kind}Grad", inputs, "output", **attrs, **more),
    ]


def _pool(node: Node) -> list[Definition]:
    """A pooling; over three axes it has a type of its own, its gradient too."""
    if len(node.attrs["window"]) != 3:
        return written(node)
    if not isinstance(node.attrs["padding"], str):
        raise Unwritable("a pooling over three axes with paddings of its own")
    kinds = {"max_pool": "MaxPool3D", "avg_pool": "AvgPool3D", "avg_pool_grad": "AvgPool3DGrad"}
    kind, window = kinds[node.op.name], CODECS["window"][0]
    attrs = {
        "ksize": window(node.attrs["window"], node), "strides": window(node.attrs["strides"], node),
        "padding": node.attrs["padding"], "data_format": "NDHWC", "T": node.outputs[0].aval.dtype,
    }  # fmt: skip
    return [operation(node, kind, node.inputs, "output", **attrs)]


def _scatter_nd(node: Node) -> list[Definition]:
    """Values put into zeros, whose shape is of the dtype of the places."""
    indices, updates, shape = node.inputs
    if shape.aval.dtype == indices.aval.dtype:
        return written(node)
    parts = Parts(node)
    shape = parts.op("Cast", (shape,), Aval(indices.aval.dtype, shape.aval.shape))
    return parts.last("ScatterNd", (indices, updates, shape))


def _slice_grad(node: Node) -> list[Definition]:
    """The gradient of a slice: zeros around what came back."""
    dy, begin, shape = node.inputs
    parts, kind = Parts(node), begin.aval
    own = parts.op("Shape", (dy,), Aval(kind.dtype, kind.shape), out_type=kind.dtype)
    if shape.aval.dtype != kind.dtype:
        shape = parts.op("Cast", (shape,), Aval(kind.dtype, kind.shape))
    rest = parts.op("Sub", (shape, begin), Aval(kind.dtype, kind.shape))
    behind = parts.op("Sub", (rest, own), Aval(kind.dtype, kind.shape))
    dims = None if kind.shape is None else (*kind.shape, 2)
    paddings = parts.op("Pack", (begin, behind), Aval(kind.dtype, dims), axis=1)
    return parts.last("Pad", (dy, paddings))


def _banded(node: Node) -> list[Definition]:
    attrs = {"lower": node.attrs["lower"], "adjoint": node.attrs["adjoint"], "T": node.inputs[0].aval.dtype}
    return [operation(node, "BandedTriangularSolve", node.inputs, "output", **attrs)]


def _cosines(node: Node) -> list[Definition]:
    """A product with the matrix of cosines."""
    (x,) = node.inputs
    shape, dtype = x.aval.shape, x.aval.dtype
    if not shape or shape[-1] is None or shape[-1] > _MOST_COSINES:
        raise Unwritable(f"a cosine transform of an axis that is not known to have at most {_MOST_COSINES} elements")
    n, parts = shape[-1], Parts(node)
    body: Any = get("dct").body
    table = body(np.eye(n, dtype=dtype.numpy_dtype), **node.attrs)
    matrix = parts.const(table, "cosines", dtype)
    rows = parts.op("Reshape", (x, parts.const(np.array([-1, n], np.int32), "rows")), Aval(dtype, (None, n)))
    product = parts.op("MatMul", (rows, matrix), Aval(dtype, (None, n)))
    like = parts.op("Shape", (x,), Aval(dtypes.int32, (len(shape),)), out_type=dtypes.int32)
    return parts.last("Reshape", (product, like))


def _alignments(node: Node) -> list[Definition]:
    """The loss of all alignments: labels as a sparse matrix, the blank the last class."""
    logits, labels, lengths, frames = node.inputs
    n, blank, parts = (logits.aval.shape or (None,))[-1], node.attrs["blank"], Parts(node)
    if n is None or logits.aval.dtype.size < 4:
        raise Unwritable("a CTC loss of a number of classes that is not known, or of half precision")
    order = np.array([*range(blank), *range(blank + 1, n), blank], np.int32)
    axis, dtype = parts.const(2, "axis", dtypes.int32), logits.aval.dtype
    moved = parts.op("GatherV2", (logits, parts.const(order, "order"), axis), Aval(dtype, logits.aval.shape))
    column, row = parts.const(1, "column", dtypes.int32), parts.const(0, "row", dtypes.int32)
    sizes = parts.op("Shape", (labels,), Aval(dtypes.int32, (2,)), out_type=dtypes.int32)
    most = parts.op("GatherV2", (sizes, column, row), Aval(dtypes.int32, ()))
    places = parts.op("Range", (row, most, column), Aval(dtypes.int32, (None,)))
    ends = parts.op("ExpandDims", (lengths, column), Aval(dtypes.int32, (None, 1)))
    used = parts.op("Less", (places, ends), Aval(dtypes.bool_, (None, None)))
    at = parts.op("Where", (used,), Aval(dtypes.int64, (None, 2)))
    values = parts.op("GatherNd", (labels, at), Aval(dtypes.int32, (None,)))
    behind = parts.op("Greater", (values, parts.const(blank, "blank", dtypes.int32)), Aval(dtypes.bool_, (None,)))
    one = parts.op("Cast", (behind,), Aval(dtypes.int32, (None,)))
    values = parts.op("Sub", (values, one), Aval(dtypes.int32, (None,)))
    attrs = {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True,
             "ignore_longer_outputs_than_inputs": False, "T": dtype}  # fmt: skip
    both = Node(
        node.op, (), {}, (node.outputs[0].aval, logits.aval.without_value()), f"{node.name}/CTCLoss", node.source
    )
    parts.made.append(operation(both, "CTCLoss", (moved, at, values, frames), "loss gradient", **attrs))
    parts.made[-1].outputs = (node.outputs[0], both.outputs[1])
    back = parts.const(np.argsort(order).astype(np.int32), "back")
    last = parts.last("GatherV2", (both.outputs[1], back, axis))
    last[-1].outputs = (node.outputs[1],)
    return last


def _without_last(shape: Shape, n: int = 1) -> Shape:
    return None if shape is None else shape[:-n]


def _pseudoinverse(node: Node) -> list[Definition]:
    """The factors that singular values give, those that count as 0 divided by infinity."""
    a, limit = node.inputs
    parts, dtype = Parts(node), a.aval.dtype
    real = dtype.real_dtype
    outer, axis = _without_last(a.aval.shape, 2), parts.const(-1, "axis", dtypes.int32)
    row = None if outer is None else (*outer, None)
    matrix = None if outer is None else (*outer, None, None)
    s, u, v = parts.several("Svd", (a,), (Aval(dtype, row), Aval(dtype, matrix), Aval(dtype, matrix)))
    if real != dtype:
        s = parts.op("Real", (s,), Aval(real, row))
    most = parts.op("Max", (s, axis), Aval(real, row), keep_dims=True)
    limit = parts.op("ExpandDims", (limit, axis), Aval(real, None))
    limit = parts.op("Mul", (limit, most), Aval(real, row))
    kept = parts.op("Greater", (s, limit), Aval(dtypes.bool_, row))
    s = parts.op("SelectV2", (kept, s, parts.const(np.inf, "infinity", real)), Aval(real, row))
    s = parts.op("ExpandDims", (s, parts.const(-2, "rows", dtypes.int32)), Aval(real, matrix))
    if real != dtype:
        s = parts.op("Cast", (s,), Aval(dtype, matrix))
    return parts.last("BatchMatMulV2", (parts.op("RealDiv", (v, s), Aval(dtype, matrix)), u), adj_y=True)


def _tridiagonal(node: Node) -> list[Definition]:
    """The eigenvectors of the whole matrix, of which the part on and below the diagonal is read."""
    alpha, beta = node.inputs
    parts, dtype, square = Parts(node), alpha.aval.dtype, (None, None)
    zero, none = parts.const(0, "zero", dtype), parts.const(-1, "all", dtypes.int32)
    diagonal = parts.const(0, "diagonal", dtypes.int32)
    whole, below = [
        parts.op("MatrixDiagV3", (each, diagonal, none, none, zero), Aval(dtype, square)) for each in (alpha, beta)
    ]
    paddings = parts.const(np.array([[1, 0], [0, 1]], np.int32), "paddings")
    below = parts.op("Pad", (below, paddings), Aval(dtype, square))
    whole = parts.op("AddV2", (whole, below), Aval(dtype, square))
    _, vectors = parts.several("SelfAdjointEigV2", (whole,), (node.outputs[0].aval, node.outputs[1].aval))
    begin, size = parts.const(np.array([0, 0], np.int32), "begin"), parts.const(np.array([1, -1], np.int32), "size")
    ends = parts.op(
        "Minimum", (parts.op("Shape", (vectors,), Aval(dtypes.int32, (2,))), size), Aval(dtypes.int32, (2,))
    )
    first = parts.op("Slice", (vectors, begin, ends), Aval(dtype, square))
    negative = parts.op("Less", (first, zero), Aval(dtypes.bool_, square))
    signs = parts.const(-1, "minus", dtype), parts.const(1, "plus", dtype)
    sign = parts.op("SelectV2", (negative, *signs), Aval(dtype, square))
    last = parts.last("Mul", (vectors, sign))
    last[-1].outputs = (node.outputs[1],)
    for each in parts.made:
        if each.type == "SelfAdjointEigV2":
            each.outputs = (node.outputs[0], each.outputs[1])
    return last


def _real_first(node: Node) -> list[Definition]:
    """Factors whose first result is real here and of the matrix's type there."""
    found, x = written(node), node.inputs[0]
    if x.aval.dtype.is_complex:
        first = node.outputs[0]
        raw = Node(node.op, (), {}, (Aval(x.aval.dtype, first.aval.shape),), node.name, node.source)
        found[-1].outputs = (raw.outputs[0], *node.outputs[1:])
        real = Node(node.op, (), {}, (first.aval.without_value(),), f"{node.name}/Real", node.source)
        found.append(defined(real, "Real", raw.outputs))
        found[-1].outputs = (first,)
    return found


def _index_shuffle(node: Node) -> list[Definition]:
    attrs = {"dtype": node.outputs[0].aval.dtype, "Tseed": node.inputs[1].aval.dtype, **node.attrs}
    return [operation(node, "RandomIndexShuffle", node.inputs, "output", **attrs)]


KERNELS: dict[str, Callable[[Node], list[Definition]]] = {
    **dict.fromkeys(("avg_pool", "avg_pool_grad", "max_pool"), _pool),
    "banded_triangular_solve": _banded,
    "ctc": _alignments,
    "dct": _cosines,
    "eigh_tridiagonal": _tridiagonal,
    "hash_bucket": _hash_bucket,
    "index_shuffle": _index_shuffle,
    "max_pool_grad": _max_pool_grad,
    "max_pool_pick": _max_pool_grad,
    "ngrams": _ngrams,
    "pinv": _pseudoinverse,
    **dict.fromkeys(("eigh", "eigvalsh", "singular_values", "svd"), _real_first),
    **{f"scatter_{name}_variable": _scatter for name in ("add", "div", "max", "min", "mul", "sub", "update")},
    "scatter_nd": _scatter_nd,
    "slice_grad": _slice_grad,
    "substr": _substr,
    "timestamp": lambda node: [operation(node, "Timestamp", (), "ts")],
}
