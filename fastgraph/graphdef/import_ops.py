"""Types of operations that are several primitives: what each becomes where no row of `op_table` says it.

Rule: a function takes the node's name, its inputs as tensors of the graph, and its attributes, and returns the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.conversion import constant
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import convert
from fastgraph.graphdef.import_arrays import ARRAY_VARIANTS, ARRAYS
from fastgraph.graphdef.import_gradients import (
    AVG_POOL,
    AVG_POOL_3D,
    CONV2D,
    CONV3D,
    GRADIENT_VARIANTS,
    GRADIENTS,
    MAX_POOL,
    MAX_POOL_3D,
    batch_norm,
    depthwise,
    dilation,
    local_response,
)
from fastgraph.graphdef.import_images import IMAGES
from fastgraph.graphdef.import_lists import LISTS
from fastgraph.graphdef.import_random import RANDOM
from fastgraph.graphdef.import_raw_ops import RAW_OP_IMPORTS
from fastgraph.graphdef.import_records import RECORDS
from fastgraph.graphdef.import_recurrent import RECURRENT
from fastgraph.graphdef.import_slices import slice_gradient, slice_update, sliced
from fastgraph.graphdef.import_sparse import SPARSE
from fastgraph.graphdef.import_sparse_matrices import SPARSE_MATRICES
from fastgraph.graphdef.import_strings import STRINGS
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops import joining, matmul, movement, nn_ops, padding
from fastgraph.ops.arguments import known_value
from fastgraph.ops.custom_gradients import prevent_gradient
from fastgraph.ops.einsum import einsum
from fastgraph.ops.families import bind_named, invalid
from fastgraph.ops.print_op import print_


def _batched(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, y = inputs
    adjoint_x, adjoint_y = attrs.get("adj_x", False), attrs.get("adj_y", False)
    return matmul.matmul(x, y, adjoint_a=adjoint_x, adjoint_b=adjoint_y, name=name)


class Broadcast(NamedTuple):
    """The axes over which a tensor of this shape was broadcast: what a gradient is summed over.

    other: The shape of what it was broadcast with.
    rank: That of what it was broadcast to, a number or i32[]. A gradient may have more axes, which stay.
    first: The axis of the gradient that is the first of these, as where an equation has letters before its ellipsis.
    """

    shape: Any
    other: Any
    rank: Any
    first: int = 0

    def axes(self) -> Any:
        """Return their numbers, as operations take them that are no sums. -> i[k]."""
        size, ones, concat = public_function("size"), public_function("ones"), joining.concat
        both = self.shape, self.other
        own, wide = [concat([ones([self.rank - size(each)], each.dtype), each], 0) for each in both]
        alone = public_function("logical_and")(public_function("equal")(own, 1), public_function("not_equal")(wide, 1))
        found = public_function("reshape")(public_function("where")(alone), [-1])
        return public_function("cast")(found, self.shape.dtype) + self.first


def _broadcast_axes(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    ranks = [each.shape[0] for each in inputs]
    rank = public_function("maximum")(*map(public_function("size"), inputs)) if None in ranks else max(ranks)
    x, y = inputs
    return Broadcast(x, y, rank), Broadcast(y, x, rank)


def sum_over_broadcast(name: str, op: str, given: list[Any]) -> Any:
    """Return the sum over such axes, of the shape that a Reshape gives it in a GraphDef; or the axes moved on.

    None of an operation that takes the axes as numbers.
    """
    axes = given[-1]
    if op == "GreaterEqual" and isinstance(given[0], Broadcast):
        least = known_value(axes)
        return constant(True) if least is not None and not least.any() else None  # as none is below 0
    if op == "AddV2":
        axes, by = given if isinstance(given[0], Broadcast) else given[::-1]
        moved = known_value(by)
        return None if moved is None else axes._replace(first=axes.first + int(moved))
    if op != "Sum" or isinstance(given[0], Broadcast):
        return None
    dy, shape, rank = given[0], axes.shape, axes.rank
    if axes.first:
        sizes, size = public_function("shape")(dy, shape.dtype), public_function("size")(shape)
        ones = public_function("ones")([rank - size], shape.dtype)
        shape = joining.concat([sizes[: axes.first], ones, shape, sizes[axes.first + rank :]], 0)
    elif not isinstance(rank, int) or dy.shape.rank != rank:  # of products of many matrices
        shape = joining.concat([shape, public_function("shape")(dy, shape.dtype)[rank:]], 0)
    return bind_named(name, get("sum_to_shape"), (dy, shape), {})


def _pad(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    known = known_value(inputs[1])
    return padding.pad(inputs[0], inputs[1] if known is None else known, name=name)


def _list_diff(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return the elements of the first vector that the second has not, and where. t[n], t[m] -> t[k], i[k]."""
    known = [known_value(each) for each in inputs]
    kind = as_dtype(attrs.get("out_idx", "int32"))
    if all(each is not None for each in known):
        x, y = [np.array(each) for each in known]
        places = np.flatnonzero(~np.isin(x, y))
        return [constant(x[places], inputs[0].dtype), constant(places.astype(kind.numpy_dtype))]
    x, y = [each if each.shape.rank == 1 else public_function("ensure_shape")(each, [None]) for each in inputs]
    both = public_function("equal")(public_function("expand_dims")(x, 1), y)
    new = public_function("logical_not")(public_function("reduce_any")(both, 1))
    places = public_function("reshape")(public_function("where")(new), [-1])
    return [public_function("boolean_mask")(x, new), public_function("cast")(places, kind)]


def _public(function: str, *names: str) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    """A public function of the inputs, and of the attributes `names` as keywords."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        return public_function(function)(*inputs, **{key: attrs[key] for key in names if key in attrs}, name=name)

    return make


def _search(side: str) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        out_type = attrs.get("out_type", "int32")
        for given in inputs:
            if given.shape.rank not in (2, None):
                raise invalid(f"Shape must be rank 2 but is rank {given.shape.rank}")
        return public_function("searchsorted")(*inputs, side=side, out_type=out_type, name=name)

    return make


def _matrix_diag(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    diagonal, *sizes, padding_value = inputs
    k, rows, columns = (fixed(each, f"Node '{name}': where the diagonals lie").tolist() for each in sizes)
    align = attrs.get("align", "RIGHT_LEFT")
    return public_function("linalg.diag")(diagonal, name, k, rows, columns, padding_value, align)


def _slope(slope: Callable[[Any], Any]) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    """A gradient that follows from the result: dy times a slope of y."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        y, dy = inputs
        return bind_named(name, get("multiply"), (dy, slope(y)), {})

    return make


def _concat_offset(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return where each of several tensors begins in their concatenation."""
    axis, rank = fixed(inputs[0], f"Node '{name}': the axis"), inputs[1].shape.num_elements()
    for i, shape in enumerate(inputs[1:]):
        if shape.shape.rank != 1:
            raise invalid(f"input {i} should be a vector, but got shape {shape.shape} [Op:ConcatOffset]")
        if shape.shape[0] != rank:
            raise invalid(f"input {i} should contain {rank} elements, but got {shape.shape[0]} [Op:ConcatOffset]")
    if np.ndim(axis) or not -rank <= axis < rank:
        raise invalid(f"Concat dim is out of range: {axis} vs. {rank} [Op:ConcatOffset]")
    axis = int(axis) % rank
    gather, others = public_function("gather"), [i for i in range(rank) if i != axis]
    for i, shape in enumerate(inputs[2:], 1):
        text = f"All dimensions except {axis} must match. Input {i} doesn't match input 0 [Op:ConcatOffset]"
        public_function("debugging.assert_equal")(gather(shape, others), gather(inputs[1], others), text)
    found, begin = [], movement.reshape(public_function("zeros_like")(inputs[1][:1]), [])
    for shape in inputs[1:]:
        unit = convert(np.eye(shape.shape[0])[axis].astype(shape.dtype.numpy_dtype))
        found.append(unit * begin)
        begin = begin + shape[axis]
    return found


def _eigenvalues(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Eigenvalues whose vectors are not asked for: none."""
    return [public_function("linalg.eigvals")(inputs[0], name=name), public_function("zeros")([0], attrs["Tout"])]


def _einsum(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Sums of products; of labels that the result has several times the sum lies on the diagonal, among zeros."""
    given, arrow, result = attrs["equation"].replace(" ", "").partition("->")
    axes = re.findall(r"\.\.\.|.", result)
    first = [axes.index(label) for label in axes]
    if first == [*range(len(axes))]:
        return einsum(attrs["equation"], *inputs, name=name)
    found = einsum(given + arrow + "".join(dict.fromkeys(axes)), *inputs)
    spread = found.shape.rank - len(set(axes))  # axes of the ellipsis but one
    places = [i + (spread if "..." in axes[:i] else 0) for i in range(len(axes))]
    for i, at in enumerate(first):
        if at != i:
            found = movement.expand_dims(found, places[i])
    for i, at in enumerate(first):
        if at != i:
            count = public_function("range")(movement.shape(found)[places[at]])
            sides = [
                movement.reshape(count, [-1 if axis == place else 1 for axis in range(found.shape.rank)])
                for place in (places[at], places[i])
            ]
            found = public_function("where")(sides[0] == sides[1], found, public_function("zeros")([], found.dtype))
    return public_function("identity")(found, name=name)


_TRANSFORMS = [kind + n for kind in ("FFT", "IFFT", "RFFT", "IRFFT") for n in ("", "2D", "3D")]
#: Types that no row has.
COMPOSITES: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "AvgPool3D": AVG_POOL_3D,
    "Add": lambda name, inputs, attrs: bind_named(name, get("add"), tuple(inputs), {}),
    "ParallelConcat": lambda name, inputs, attrs: joining.concat(inputs, 0, name=name),
    "BiasAdd": lambda name, inputs, attrs: nn_ops.bias_add(*inputs, attrs.get("data_format", "NHWC"), name),
    "BatchMatMul": _batched,
    "BroadcastGradientArgs": _broadcast_axes,
    "BatchMatMulV2": _batched,
    "BatchMatMulV3": _batched,
    "ConcatOffset": _concat_offset,
    "DepthwiseConv2dNative": depthwise,
    "Dilation2D": dilation,
    "Einsum": _einsum,
    "FusedBatchNorm": lambda name, inputs, attrs: batch_norm(name, inputs, attrs)[:5],
    "FusedBatchNormV2": lambda name, inputs, attrs: batch_norm(name, inputs, attrs)[:5],
    "FusedBatchNormV3": batch_norm,
    "IdentityN": lambda name, inputs, attrs: [bind_named(None, get("identity"), (each,), {}) for each in inputs],
    "LRN": local_response,
    "ListDiff": _list_diff,
    "LowerBound": _search("left"),
    "MatrixDiagV2": lambda name, inputs, attrs: _matrix_diag(name, inputs, {"align": "LEFT_LEFT"}),
    "MatrixDiagV3": _matrix_diag,
    "MaxPool3D": MAX_POOL_3D,
    "Pad": _pad,
    "PrintV2": lambda name, inputs, attrs: print_(inputs[0], end=attrs.get("end", "\n")),
    "PreventGradient": lambda name, inputs, attrs: prevent_gradient(inputs[0], attrs.get("message", ""), name),
    "ReciprocalGrad": _slope(lambda y: -(y * y)),
    "RsqrtGrad": _slope(lambda y: y * y * y * -0.5),
    "ScatterNd": _public("scatter_nd", "bad_indices_policy"),
    "Select": lambda name, inputs, attrs: bind_named(name, get("select"), tuple(inputs), {}),
    "ShapeN": lambda name, inputs, attrs: [
        public_function("shape")(each, attrs.get("out_type", "int32")) for each in inputs
    ],
    "SigmoidGrad": _slope(lambda y: y * (1 - y)),
    "Snapshot": lambda name, inputs, attrs: bind_named(name, get("identity"), tuple(inputs), {}),
    "Split": lambda name, inputs, attrs: joining.split(
        inputs[1], attrs["num_split"], int(fixed(inputs[0], f"Node '{name}': the axis")), name=name
    ),
    "SqrtGrad": _slope(lambda y: 0.5 / y),
    "StridedSlice": sliced,
    "TanhGrad": _slope(lambda y: 1 - y * y),
    "Unique": _public("unique", "out_idx"),
    "UniqueWithCounts": _public("unique_with_counts", "out_idx"),
    "UpperBound": _search("right"),
    "StridedSliceGrad": slice_gradient,
    "TensorStridedSliceUpdate": slice_update,
    **{name: _public(f"signal.{name.lower()}") for name in _TRANSFORMS},
    **ARRAYS,
    **GRADIENTS,
    **IMAGES,
    **LISTS,
    **RANDOM,
    **RECORDS,
    **RAW_OP_IMPORTS,
    **RECURRENT,
    **SPARSE,
    **SPARSE_MATRICES,
    **STRINGS,
}

#: Types that a row has, for the attributes that it does not.
VARIANTS: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "Conv2D": CONV2D,
    "Eig": _eigenvalues,
    "MatrixInverse": lambda name, inputs, attrs: public_function("linalg.inv")(inputs[0], attrs["adjoint"], name),
    "Conv3D": CONV3D,
    "PadV2": lambda name, inputs, attrs: public_function("pad")(
        inputs[0], inputs[1], constant_values=inputs[2], name=name
    ),
    "MirrorPad": lambda name, inputs, attrs: public_function("pad")(inputs[0], inputs[1], attrs["mode"], name=name),
    "Slice": _public("slice"),
    "Tile": _public("tile"),
    "Transpose": _public("transpose"),
    "MaxPool": MAX_POOL,
    "AvgPool": AVG_POOL,
    "Equal": lambda name, inputs, attrs: inputs[0] == inputs[1],  # False where the shapes do not fit
    "NotEqual": lambda name, inputs, attrs: inputs[0] != inputs[1],
    **ARRAY_VARIANTS,
    **GRADIENT_VARIANTS,
}
