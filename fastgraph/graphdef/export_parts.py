"""Nodes that are written as several operations: a small writer of definitions, and what it writes: sums over what was
broadcast, lists of tensors, orders.

Rule: the last operation has the node's name and gives its results; the names of those before it begin with the node's.
A list is a tensor here, its elements along the first axis, and stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value
from fastgraph.graphdef.op_table import Definition, Unwritable, const_definition, constant


class Parts:
    """The definitions of one node, one after the other."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.made: list[Definition] = []
        self._taken: set[str] = set()

    def _free(self, name: str) -> str:
        found, n = name, 0
        while found in self._taken:
            n += 1
            found = f"{name}_{n}"
        self._taken.add(found)
        return found

    def const(self, array: Any, name: str, dtype: Any = None) -> Value:
        """A constant."""
        node = constant(array, self.node, self._free(name), dtype)
        self.made.append(const_definition(node))
        return node.outputs[0]

    def op(self, kind: str, inputs: Sequence[Value], aval: Aval, slot: str, **attrs: object) -> Value:
        """One operation with one result, whose name in the signature is `slot`."""
        node = Node(self.node.op, (), {}, (aval,), f"{self.node.name}/{self._free(kind)}", self.node.source)
        self.made.append(_definition(node, kind, inputs, slot, attrs))
        return node.outputs[0]

    def several(
        self, kind: str, inputs: Sequence[Value], avals: tuple[Aval, ...], slots: Sequence[str], **attrs: object
    ) -> Sequence[Value]:
        """One operation with several results."""
        node = Node(self.node.op, (), {}, avals, f"{self.node.name}/{self._free(kind)}", self.node.source)
        definition = _definition(node, kind, inputs, slots[0], attrs)
        definition.slots = [f"{slot}:0" for slot in slots]
        self.made.append(definition)
        return node.outputs

    def last(self, kind: str, inputs: Sequence[Value], slot: str, **attrs: object) -> list[Definition]:
        """The operation that the node itself is; return all."""
        return [*self.made, _definition(self.node, kind, inputs, slot, attrs)]


def _definition(node: Node, kind: str, inputs: Sequence[Value], slot: str, attrs: dict[str, Any]) -> Definition:
    found = Definition(node, kind, inputs, attrs)
    found.slots = [f"{slot}:0"]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Gradients of what was broadcast


def sum_to_like(node: Node) -> list[Definition]:
    """The sum over the axes that broadcasting added, in the shape of another tensor (or in a shape that is given)."""
    dy, like = node.inputs
    to = node.outputs[0].aval.shape
    parts = Parts(node)
    if None not in (dy.aval.shape or (None,)) and to is not None and None not in to:
        axes: Any = _summed(dy.aval.shape or (), to)
        if not axes:
            return parts.last("Identity", (dy,), "output", T=dy.aval.dtype)
        axes = parts.const(np.array(axes, np.int32), "Sum/reduction_indices")
        shape = parts.const(np.array(to, np.int32), "Shape")
    else:
        sizes = parts.op("Shape", (dy,), Aval(dtypes.int32, (None,)), "output", T=dy.aval.dtype, out_type=dtypes.int32)
        if node.op.name == "sum_to_shape":
            shape = like
            if like.aval.dtype != dtypes.int32:
                shape = parts.op("Cast", (like,), Aval(dtypes.int32, (None,)), "y", SrcT=like.aval.dtype,
                                 DstT=dtypes.int32, Truncate=False)  # fmt: skip
        else:
            shape = parts.op(
                "Shape", (like,), Aval(dtypes.int32, (None,)), "output", T=like.aval.dtype, out_type=dtypes.int32
            )
        vector = Aval(dtypes.int32, (None,))
        axes = parts.op("BroadcastGradientArgs", (shape, sizes), vector, "r0", T=dtypes.int32)
    total = parts.op("Sum", (dy, axes), dy.aval.without_value(), "output", T=dy.aval.dtype, Tidx=dtypes.int32,
                     keep_dims=False)  # fmt: skip
    return parts.last("Reshape", (total, shape), "output", T=dy.aval.dtype, Tshape=dtypes.int32)


def _summed(shape: Sequence[Any], to: Sequence[Any]) -> list[int]:
    more = len(shape) - len(to)
    return [i for i, size in enumerate(shape) if i < more or (to[i - more] == 1 and size != 1)]


# ---------------------------------------------------------------------------------------------------------------------
# Lists: the elements along the first axis


def list_reserve(node: Node) -> list[Definition]:
    """Zeros: as many as the list is long."""
    element = node.attrs["element"]
    if element is None or None in element:
        raise Unwritable("a list of elements of unknown shape")
    parts = Parts(node)
    (size,) = node.inputs
    dtype, kind = node.outputs[0].aval.dtype, size.aval.dtype
    sizes = [size, *[parts.const(n, "element_shape", kind) for n in element]]
    dims = parts.op("Pack", sizes, Aval(kind, (len(sizes),)), "output", N=len(sizes), T=kind, axis=0)
    zero = parts.const(b"" if dtype == dtypes.string else 0, "value", dtype)
    return parts.last("Fill", (dims, zero), "output", T=dtype, index_type=kind)


def list_set(node: Node) -> list[Definition]:
    """The list, one element updated."""
    buffer, index, value = node.inputs
    if buffer.node.op.name == "list_blank":
        raise Unwritable("a list of elements of unknown shape")
    return _updated(Parts(node), buffer, index, value)


def list_begin(node: Node) -> list[Definition]:
    """Nothing: which shape the list gets is data."""
    raise Unwritable("a list of elements of unknown shape")


def _updated(parts: Parts, buffer: Value, index: Value, value: Value) -> list[Definition]:
    """The last operation of a node: the list, one element updated."""
    shape = buffer.aval.shape
    kind, dtype = index.aval.dtype, value.aval.dtype
    one = parts.const(np.array([1, 1], np.int32), "indices/shape")
    at = parts.op("Reshape", (index, one), Aval(kind, (1, 1)), "output", T=kind, Tshape=dtypes.int32)
    zero = parts.const(0, "ExpandDims/dim", dtypes.int32)
    row = Aval(dtype, None if shape is None else (1, *shape[1:]))
    update = parts.op("ExpandDims", (value, zero), row, "output", T=dtype, Tdim=dtypes.int32)
    return parts.last(
        "TensorScatterUpdate", (buffer, at, update), "output", T=dtype, Tindices=kind, bad_indices_policy=""
    )


def list_get(node: Node) -> list[Definition]:
    """One element of the list."""
    buffer, index, _ = node.inputs
    parts = Parts(node)
    zero = parts.const(0, "axis", dtypes.int32)
    attrs = {"Tparams": buffer.aval.dtype, "Tindices": index.aval.dtype, "Taxis": dtypes.int32, "batch_dims": 0}
    return parts.last("GatherV2", (buffer, index, zero), "output", **attrs)


def list_grow(node: Node) -> list[Definition]:
    """The list with as many zeros after it as it is too short."""
    parts = Parts(node)
    operands, attrs = _padded(parts, *node.inputs)
    return parts.last("PadV2", operands, "output", **attrs)


def list_push(node: Node) -> list[Definition]:
    """The list, longer where it is too short, one element updated."""
    buffer, index, value = node.inputs
    parts = Parts(node)
    operands, attrs = _padded(parts, buffer, index)
    longer = Aval(buffer.aval.dtype, (None, *(buffer.aval.shape or ())[1:]))
    return _updated(parts, parts.op("PadV2", operands, longer, "output", **attrs), index, value)


def list_extend(node: Node) -> list[Definition]:
    """The list, longer where it is too short, some elements updated."""
    buffer, index, values = node.inputs
    shape = values.aval.shape
    if shape is None:
        raise Unwritable("a list of elements of unknown rank that grows")
    parts, i32 = Parts(node), {"T": dtypes.int32}
    number, vector = Aval(dtypes.int32, ()), Aval(dtypes.int32, (None,))
    if index.aval.dtype != dtypes.int32:
        index = parts.op("Cast", (index,), number, "y", SrcT=index.aval.dtype, DstT=dtypes.int32, Truncate=False)
    zero, one = parts.const(0, "zero", dtypes.int32), parts.const(1, "one", dtypes.int32)
    kind = values.aval.dtype
    sizes = parts.op("Shape", (values,), Aval(dtypes.int32, (len(shape),)), "output", T=kind, out_type=dtypes.int32)
    attrs = {"Tparams": dtypes.int32, "Tindices": dtypes.int32, "Taxis": dtypes.int32, "batch_dims": 0}
    more = parts.op("GatherV2", (sizes, zero, zero), number, "output", **attrs)
    stop = parts.op("AddV2", (index, more), number, "z", **i32)
    last = parts.op("Sub", (stop, one), number, "z", **i32)
    operands, padding = _padded(parts, buffer, last)
    longer = parts.op("PadV2", operands, Aval(kind, (None, *shape[1:])), "output", **padding)
    places = parts.op("Range", (index, stop, one), vector, "output", Tidx=dtypes.int32)
    at = parts.op("ExpandDims", (places, one), Aval(dtypes.int32, (None, 1)), "output", Tdim=dtypes.int32, **i32)
    return parts.last(
        "TensorScatterUpdate", (longer, at, values), "output", T=kind, Tindices=dtypes.int32, bad_indices_policy=""
    )


def list_trim(node: Node) -> list[Definition]:
    """The first elements of the list."""
    buffer, size = node.inputs
    shape, kind = buffer.aval.shape, size.aval.dtype
    if shape is None:
        raise Unwritable("a list of elements of unknown rank that is cut")
    parts = Parts(node)
    begin = parts.const(np.zeros(len(shape), kind.numpy_dtype), "begin")
    first = parts.op("Pack", (size,), Aval(kind, (1,)), "output", N=1, T=kind, axis=0)
    rest = parts.const(np.full(len(shape) - 1, -1, kind.numpy_dtype), "rest")
    zero = parts.const(0, "axis", dtypes.int32)
    sizes = parts.op(
        "ConcatV2", (first, rest, zero), Aval(kind, (len(shape),)), "output", N=2, T=kind, Tidx=dtypes.int32
    )
    return parts.last("Slice", (buffer, begin, sizes), "output", T=buffer.aval.dtype, Index=kind)


def _padded(parts: Parts, buffer: Value, index: Value) -> tuple[tuple[Value, ...], dict[str, Any]]:
    """The operands and attributes of a PadV2 that makes a list long enough for an element at `index`."""
    shape, dtype = buffer.aval.shape, buffer.aval.dtype
    if shape is None or dtype == dtypes.string:
        raise Unwritable("a list of elements of unknown rank that grows")
    number = Aval(dtypes.int32, ())
    i32 = {"T": dtypes.int32}
    sizes = parts.op("Shape", (buffer,), Aval(dtypes.int32, (len(shape),)), "output", T=dtype, out_type=dtypes.int32)
    zero, one = parts.const(0, "zero", dtypes.int32), parts.const(1, "one", dtypes.int32)
    attrs = {"Tparams": dtypes.int32, "Tindices": dtypes.int32, "Taxis": dtypes.int32, "batch_dims": 0}
    long = parts.op("GatherV2", (sizes, zero, zero), number, "output", **attrs)
    if index.aval.dtype != dtypes.int32:
        index = parts.op("Cast", (index,), number, "y", SrcT=index.aval.dtype, DstT=dtypes.int32, Truncate=False)
    needed = parts.op("AddV2", (index, one), number, "z", **i32)
    missing = parts.op("Sub", (needed, long), number, "z", **i32)
    more = parts.op("Maximum", (missing, zero), number, "z", **i32)
    first = parts.op("Pack", (zero, more), Aval(dtypes.int32, (2,)), "output", N=2, T=dtypes.int32, axis=0)
    row = parts.op("ExpandDims", (first, zero), Aval(dtypes.int32, (1, 2)), "output", Tdim=dtypes.int32, **i32)
    rest = parts.const(np.zeros((len(shape) - 1, 2), np.int32), "paddings")
    paddings = parts.op(
        "ConcatV2", (row, rest, zero), Aval(dtypes.int32, (len(shape), 2)), "output", N=2, Tidx=dtypes.int32, **i32
    )
    return (buffer, paddings, parts.const(0, "value", dtype)), {"T": dtype, "Tpaddings": dtypes.int32}


# ---------------------------------------------------------------------------------------------------------------------
# Order, and what is a constant


def search_sorted(node: Node) -> list[Definition]:
    """Where values go in sorted rows."""
    kind = "UpperBound" if node.attrs["right"] else "LowerBound"
    dtype = node.inputs[0].aval.dtype
    return Parts(node).last(kind, node.inputs, "output", T=dtype, out_type=node.attrs["out_type"])


def argsort(node: Node) -> list[Definition]:
    """The places of the largest elements first, all of them; of the negative ones for the other order."""
    (values,) = node.inputs
    shape, dtype = values.aval.shape, values.aval.dtype
    if shape is None or shape[-1] is None:
        raise Unwritable("sorting along an axis of unknown size")
    parts = Parts(node)
    if not node.attrs["descending"]:
        if dtype.is_unsigned or dtype.is_bool:
            raise Unwritable(f"sorting {dtype.name} from the least on")
        # Not 0 - x, for of equal elements the first must stay the first.
        values = parts.op("Neg", (values,), values.aval.without_value(), "y", T=dtype)
    k = parts.const(shape[-1], "k", dtypes.int32)
    kind = node.outputs[0].aval.dtype
    attrs = {"T": dtype, "sorted": True, "Tk": dtypes.int32, "index_type": kind}
    avals = (values.aval.without_value(), Aval(kind, shape))
    _, places = parts.several("TopKV2", (values, k), avals, ("values", "indices"), **attrs)
    return parts.last("Identity", (places,), "output", T=kind)


def gather_grad(node: Node) -> list[Definition]:
    """Zeros with the rows added where gather took them from; along another axis than the first, turned round it."""
    dy, indices, shape = node.inputs
    rank, own = len(node.outputs[0].aval.shape or ()), indices.aval.shape
    if node.attrs["batch_dims"] or not rank or own is None:
        raise Unwritable("the gradient of a gather of batches, or of a tensor of unknown rank")
    axis, dtype, kind = node.attrs["axis"] % rank, dy.aval.dtype, shape.aval.dtype
    parts = Parts(node)

    def turned(x: Value, order: list[int], name: str) -> Value:
        perm = parts.const(np.array(order, np.int32), f"{name}/perm")
        dims = x.aval.shape
        turned = Aval(x.aval.dtype, None if dims is None else tuple([dims[i] for i in order]))
        return parts.op("Transpose", (x, perm), turned, "y", T=x.aval.dtype, Tperm=dtypes.int32)

    if indices.aval.dtype != kind:
        attrs = {"SrcT": indices.aval.dtype, "DstT": kind, "Truncate": False}
        indices = parts.op("Cast", (indices,), Aval(kind, own), "y", **attrs)
    last = parts.const(-1, "ExpandDims/dim", dtypes.int32)
    at = parts.op("ExpandDims", (indices, last), Aval(kind, (*own, 1)), "output", T=kind, Tdim=dtypes.int32)
    attrs = {"T": dtype, "Tindices": kind, "bad_indices_policy": ""}
    if axis == 0:
        return parts.last("ScatterNd", (at, dy, shape), "output", **attrs)
    n = len(own)
    before, of_rows = list(range(axis)), list(range(axis, axis + n))
    rows = turned(dy, [*of_rows, *before, *range(axis + n, rank - 1 + n)], "rows")
    first = [axis, *before, *range(axis + 1, rank)]
    zero, order = parts.const(0, "axis", dtypes.int32), parts.const(np.array(first, np.int32), "order")
    taken = {"Tparams": kind, "Tindices": dtypes.int32, "Taxis": dtypes.int32, "batch_dims": 0}
    dims = parts.op("GatherV2", (shape, order, zero), Aval(kind, (rank,)), "output", **taken)
    known = node.outputs[0].aval.shape or ()
    whole = parts.op("ScatterNd", (at, rows, dims), Aval(dtype, tuple([known[i] for i in first])), "output", **attrs)
    back = parts.const(np.argsort(first).astype(np.int32), "perm")
    return parts.last("Transpose", (whole, back), "y", T=dtype, Tperm=dtypes.int32)


def eye(node: Node) -> list[Definition]:
    """Ones on the diagonal: a constant."""
    dtype = node.attrs["dtype"]
    parts = Parts(node)
    ones = parts.const(np.eye(node.attrs["rows"], node.attrs["columns"]).astype(dtype.numpy_dtype), "ones")
    return parts.last("Identity", (ones,), "output", T=dtype)


#: What is written as several operations.
SEVERAL = {
    "sum_to_like": sum_to_like,
    "sum_to_shape": sum_to_like,
    "list_reserve": list_reserve,
    "list_set": list_set,
    "list_get": list_get,
    "list_grow": list_grow,
    "list_begin": list_begin,
    "list_push": list_push,
    "list_push_begin": list_begin,
    "list_extend": list_extend,
    "list_trim": list_trim,
    "search_sorted": search_sorted,
    "argsort": argsort,
    "eye": eye,
    "gather_grad": gather_grad,
}
