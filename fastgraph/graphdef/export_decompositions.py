"""Nodes that are written as several operations: a small writer of definitions, and what it writes: sums over what was
broadcast, lists of tensors, orders.

Rule: the last operation has the node's name and gives its results; the names of those before it begin with the node's.
A list is a tensor here, its elements along the first axis, and stays one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value
from fastgraph.graphdef.node_bytes import Definition, const_definition, constant, node_beside
from fastgraph.graphdef.op_table import Unwritable, defined
from fastgraph.ops.matrix_functions import PADE


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

    def const(self, array: Any, name: str, dtype: DType | None = None) -> Value:
        """A constant."""
        node = constant(array, self.node, self._free(name), dtype)
        self.made.append(const_definition(node))
        return node.outputs[0]

    def op(self, kind: str, inputs: Sequence[Value], aval: Aval, **attrs: object) -> Value:
        """One operation with one result."""
        node = node_beside(self.node, aval, f"{self.node.name}/{self._free(kind)}")
        self.made.append(defined(node, kind, inputs, **attrs))
        return node.outputs[0]

    def several(self, kind: str, inputs: Sequence[Value], avals: tuple[Aval, ...]) -> Sequence[Value]:
        """One operation with several results."""
        node = Node(self.node.op, (), {}, avals, f"{self.node.name}/{self._free(kind)}", self.node.source)
        self.made.append(defined(node, kind, inputs))
        return node.outputs

    def last(
        self, kind: str, inputs: Sequence[Value], apart: Mapping[str, object] | None = None, /, **attrs: object
    ) -> list[Definition]:
        """The operation that the node itself is; return all."""
        return [*self.made, defined(self.node, kind, inputs, apart, **attrs)]


# ---- Gradients of what was broadcast --------------------------------------------------------------------------------


def sum_to_like(node: Node) -> list[Definition]:
    """The sum over the axes that broadcasting added, in the shape of another tensor (or in a shape that is given)."""
    dy, like = node.inputs
    to = node.outputs[0].aval.shape
    parts = Parts(node)
    if None not in (dy.aval.shape or (None,)) and to is not None and None not in to:
        axes: Any = _summed(dy.aval.shape or (), to)
        if not axes:
            return parts.last("Identity", (dy,))
        axes = parts.const(np.array(axes, np.int32), "Sum/reduction_indices")
        shape = parts.const(np.array(to, np.int32), "Shape")
    else:
        sizes = parts.op("Shape", (dy,), Aval(dtypes.int32, (None,)))
        if node.op.name == "sum_to_shape":
            shape = like
            if like.aval.dtype != dtypes.int32:
                shape = parts.op("Cast", (like,), Aval(dtypes.int32, (None,)))
        else:
            shape = parts.op("Shape", (like,), Aval(dtypes.int32, (None,)))
        vector = Aval(dtypes.int32, (None,))
        axes = parts.op("BroadcastGradientArgs", (shape, sizes), vector)
    total = parts.op("Sum", (dy, axes), dy.aval.without_value())
    return parts.last("Reshape", (total, shape))


def _summed(shape: Sequence[Any], to: Sequence[Any]) -> list[int]:
    more = len(shape) - len(to)
    return [i for i, size in enumerate(shape) if i < more or (to[i - more] == 1 and size != 1)]


# ---- Lists: the elements along the first axis -----------------------------------------------------------------------


def list_reserve(node: Node) -> list[Definition]:
    """Zeros: as many as the list is long. What of its elements' shape is not known is 0, until the first is written."""
    element = node.attrs["element"]
    if element is None:
        raise Unwritable("a list of elements of unknown rank")
    element = [size or 0 for size in element]
    parts = Parts(node)
    (size,) = node.inputs
    dtype, kind = node.outputs[0].aval.dtype, size.aval.dtype
    sizes = [size, *[parts.const(n, "element_shape", kind) for n in element]]
    dims = parts.op("Pack", sizes, Aval(kind, (len(sizes),)))
    zero = parts.const(b"" if dtype == dtypes.string else 0, "value", dtype)
    return parts.last("Fill", (dims, zero))


def list_set(node: Node) -> list[Definition]:
    """The list, one element updated."""
    buffer, index, value = node.inputs
    return _updated(Parts(node), buffer, index, value)


def list_begin(node: Node) -> list[Definition]:
    """The list, one element updated: as wide as that element before, for the first one says how wide all are."""
    buffer, index, value, _ = node.inputs
    shape, dtype = value.aval.shape, value.aval.dtype
    if shape is None or dtype == dtypes.string:
        raise Unwritable("a list of elements of unknown rank, or of strings of unknown shape")
    parts = Parts(node)
    many, number = Aval(dtypes.int32, (len(shape) + 1,)), Aval(dtypes.int32, ())
    zero = parts.const(0, "zero", dtypes.int32)
    sizes = parts.op("Shape", (buffer,), many)
    long = parts.op("ExpandDims", (parts.op("GatherV2", (sizes, zero, zero), number), zero), Aval(dtypes.int32, (1,)))
    element = parts.op("Shape", (value,), Aval(dtypes.int32, (len(shape),)))
    missing = parts.op("Sub", (parts.op("ConcatV2", (long, element, zero), many), sizes), many)
    pairs = (parts.op("ZerosLike", (missing,), many), missing)
    paddings = parts.op("Pack", pairs, Aval(dtypes.int32, (len(shape) + 1, 2)), axis=1)
    fill = parts.const(0, "fill", dtype)
    wide = parts.op("PadV2", (buffer, paddings, fill), Aval(dtype, (None, *shape)))
    return _updated(parts, wide, index, value)


def _updated(parts: Parts, buffer: Value, index: Value, value: Value) -> list[Definition]:
    """The last operation of a node: the list, one element updated."""
    shape = buffer.aval.shape
    kind, dtype = index.aval.dtype, value.aval.dtype
    one = parts.const(np.array([1, 1], np.int32), "indices/shape")
    at = parts.op("Reshape", (index, one), Aval(kind, (1, 1)))
    zero = parts.const(0, "ExpandDims/dim", dtypes.int32)
    row = Aval(dtype, None if shape is None else (1, *shape[1:]))
    update = parts.op("ExpandDims", (value, zero), row)
    return parts.last("TensorScatterUpdate", (buffer, at, update))


def list_get(node: Node) -> list[Definition]:
    """One element of the list."""
    buffer, index, _ = node.inputs
    parts = Parts(node)
    zero = parts.const(0, "axis", dtypes.int32)
    return parts.last("GatherV2", (buffer, index, zero))


def list_grow(node: Node) -> list[Definition]:
    """The list with as many zeros after it as it is too short."""
    parts = Parts(node)
    return parts.last("PadV2", _padded(parts, *node.inputs))


def list_push(node: Node) -> list[Definition]:
    """The list, longer where it is too short, one element updated."""
    buffer, index, value = node.inputs
    parts = Parts(node)
    operands = _padded(parts, buffer, index)
    longer = Aval(buffer.aval.dtype, (None, *(buffer.aval.shape or ())[1:]))
    return _updated(parts, parts.op("PadV2", operands, longer), index, value)


def list_extend(node: Node) -> list[Definition]:
    """The list, longer where it is too short, some elements updated."""
    buffer, index, values = node.inputs
    shape = values.aval.shape
    if shape is None:
        raise Unwritable("a list of elements of unknown rank that grows")
    parts = Parts(node)
    number, vector = Aval(dtypes.int32, ()), Aval(dtypes.int32, (None,))
    if index.aval.dtype != dtypes.int32:
        index = parts.op("Cast", (index,), number)
    zero, one = parts.const(0, "zero", dtypes.int32), parts.const(1, "one", dtypes.int32)
    kind = values.aval.dtype
    sizes = parts.op("Shape", (values,), Aval(dtypes.int32, (len(shape),)))
    more = parts.op("GatherV2", (sizes, zero, zero), number)
    stop = parts.op("AddV2", (index, more), number)
    last = parts.op("Sub", (stop, one), number)
    longer = parts.op("PadV2", _padded(parts, buffer, last), Aval(kind, (None, *shape[1:])))
    places = parts.op("Range", (index, stop, one), vector)
    at = parts.op("ExpandDims", (places, one), Aval(dtypes.int32, (None, 1)))
    return parts.last("TensorScatterUpdate", (longer, at, values))


def list_trim(node: Node) -> list[Definition]:
    """The first elements of the list."""
    buffer, size = node.inputs
    shape, kind = buffer.aval.shape, size.aval.dtype
    if shape is None:
        raise Unwritable("a list of elements of unknown rank that is cut")
    parts = Parts(node)
    begin = parts.const(np.zeros(len(shape), kind.numpy_dtype), "begin")
    first = parts.op("Pack", (size,), Aval(kind, (1,)))
    rest = parts.const(np.full(len(shape) - 1, -1, kind.numpy_dtype), "rest")
    zero = parts.const(0, "axis", dtypes.int32)
    sizes = parts.op("ConcatV2", (first, rest, zero), Aval(kind, (len(shape),)))
    return parts.last("Slice", (buffer, begin, sizes))


def _padded(parts: Parts, buffer: Value, index: Value) -> tuple[Value, ...]:
    """The operands of a PadV2 that makes a list long enough for an element at `index`."""
    shape, dtype = buffer.aval.shape, buffer.aval.dtype
    if shape is None or dtype == dtypes.string:
        raise Unwritable("a list of elements of unknown rank that grows")
    number = Aval(dtypes.int32, ())
    sizes = parts.op("Shape", (buffer,), Aval(dtypes.int32, (len(shape),)))
    zero, one = parts.const(0, "zero", dtypes.int32), parts.const(1, "one", dtypes.int32)
    long = parts.op("GatherV2", (sizes, zero, zero), number)
    if index.aval.dtype != dtypes.int32:
        index = parts.op("Cast", (index,), number)
    needed = parts.op("AddV2", (index, one), number)
    missing = parts.op("Sub", (needed, long), number)
    more = parts.op("Maximum", (missing, zero), number)
    first = parts.op("Pack", (zero, more), Aval(dtypes.int32, (2,)))
    row = parts.op("ExpandDims", (first, zero), Aval(dtypes.int32, (1, 2)))
    rest = parts.const(np.zeros((len(shape) - 1, 2), np.int32), "paddings")
    paddings = parts.op("ConcatV2", (row, rest, zero), Aval(dtypes.int32, (len(shape), 2)))
    return buffer, paddings, parts.const(0, "value", dtype)


# ---- Order, and what is a constant ----------------------------------------------------------------------------------


def search_sorted(node: Node) -> list[Definition]:
    """Write a search for where values go in sorted rows."""
    kind = "UpperBound" if node.attrs["right"] else "LowerBound"
    return Parts(node).last(kind, node.inputs)


def argsort(node: Node) -> list[Definition]:
    """The places of the largest elements first, all of them; of the negative ones for the other order. So `sort`."""
    (values,) = node.inputs
    shape, dtype = values.aval.shape, values.aval.dtype
    if not shape:
        raise Unwritable("sorting a tensor of unknown rank")
    parts = Parts(node)
    rising = not node.attrs["descending"]
    if rising:
        if dtype.is_unsigned or dtype.is_bool:
            raise Unwritable(f"sorting {dtype.name} from the least on")
        # Not 0 - x, for of equal elements the first must stay the first.
        values = parts.op("Neg", (values,), values.aval.without_value())
    if shape[-1] is None:
        sizes = parts.op("Shape", (values,), Aval(dtypes.int32, (len(shape),)), out_type=dtypes.int32)
        last, zero = parts.const(len(shape) - 1, "last", dtypes.int32), parts.const(0, "axis", dtypes.int32)
        k = parts.op("GatherV2", (sizes, last, zero), Aval(dtypes.int32, ()))
    else:
        k = parts.const(shape[-1], "k", dtypes.int32)
    found = parts.several("TopKV2", (values, k), (values.aval.without_value(), Aval(dtypes.int32, shape)))
    if node.op.name == "argsort":
        return parts.last("Identity", (found[1],))
    return parts.last("Neg" if rising else "Identity", (found[0],))


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
        return parts.op("Transpose", (x, perm), turned)

    if indices.aval.dtype != kind:
        indices = parts.op("Cast", (indices,), Aval(kind, own))
    last = parts.const(-1, "ExpandDims/dim", dtypes.int32)
    at = parts.op("ExpandDims", (indices, last), Aval(kind, (*own, 1)))
    if axis == 0:
        return parts.last("ScatterNd", (at, dy, shape))
    n = len(own)
    before, of_rows = list(range(axis)), list(range(axis, axis + n))
    rows = turned(dy, [*of_rows, *before, *range(axis + n, rank - 1 + n)], "rows")
    first = [axis, *before, *range(axis + 1, rank)]
    zero, order = parts.const(0, "axis", dtypes.int32), parts.const(np.array(first, np.int32), "order")
    dims = parts.op("GatherV2", (shape, order, zero), Aval(kind, (rank,)))
    known = node.outputs[0].aval.shape or ()
    whole = parts.op("ScatterNd", (at, rows, dims), Aval(dtype, tuple([known[i] for i in first])))
    back = parts.const(np.argsort(first).astype(np.int32), "perm")
    return parts.last("Transpose", (whole, back))


def gather_add(node: Node) -> list[Definition]:
    """A tensor with rows added where gather took them from."""
    x, dy, indices = node.inputs
    own = indices.aval.shape
    if node.attrs["batch_dims"] or node.attrs["axis"] or own is None:
        raise Unwritable("the sum of a tensor and the gradient of a gather of batches, or along an axis")
    parts = Parts(node)
    last = parts.const(-1, "ExpandDims/dim", dtypes.int32)
    at = parts.op("ExpandDims", (indices, last), Aval(indices.aval.dtype, (*own, 1)))
    return parts.last("TensorScatterAdd", (x, at, dy))


def eye(node: Node) -> list[Definition]:
    """Ones on the diagonal: a constant."""
    dtype = node.attrs["dtype"]
    parts = Parts(node)
    ones = parts.const(np.eye(node.attrs["rows"], node.attrs["columns"]).astype(dtype.numpy_dtype), "ones")
    return parts.last("Identity", (ones,))


def eye_dynamic(node: Node) -> list[Definition]:
    """Ones on the diagonal, of a size that only a call knows."""
    parts, aval = Parts(node), node.outputs[0].aval
    rows, columns = node.inputs
    index = rows.aval.dtype
    least = parts.op("Pack", (parts.op("Minimum", (rows, columns), Aval(index, ())),), Aval(index, (1,)))
    one = parts.const(np.ones((), aval.dtype.numpy_dtype), "ones/Const", aval.dtype)
    zero = parts.const(np.zeros((), aval.dtype.numpy_dtype), "zeros/Const", aval.dtype)
    ones = parts.op("Fill", (least, one), Aval(aval.dtype, (None,)))
    zeros = parts.op("Fill", (parts.op("Pack", (rows, columns), Aval(index, (2,))), zero), aval.without_value())
    return parts.last("MatrixSetDiagV3", (zeros, ones, parts.const(0, "k", dtypes.int32)))


#: Squarings of a matrix exponential as it is written: of norms up to 2**18, above which numbers overflow or are 0.
_SQUARINGS = 18


def expm(node: Node) -> list[Definition]:
    """Matrix exponentials by scaling and squaring: TensorFlow's own operation is refused by TensorFlow."""
    parts, x, aval = Parts(node), node.inputs[0], node.outputs[0].aval.without_value()
    real = {"complex64": dtypes.float32, "complex128": dtypes.float64}.get(aval.dtype.name, aval.dtype)
    if real.size < 4:
        raise Unwritable("matrix exponentials of 16 bits")
    degree, limit = PADE["d" if real.size == 8 else "f"]

    def number(value: float, kind: DType = aval.dtype) -> Value:
        return parts.const(np.asarray(value).astype(kind.numpy_dtype), "Const", kind)

    def of(kind: str, *inputs: Value, of: Aval = aval, **attrs: object) -> Value:
        return parts.op(kind, inputs, of, **attrs)

    def axis(place: int) -> Value:
        return parts.const(np.array(place, np.int32), "axis", dtypes.int32)

    loose = Aval(real, None)
    sizes = of("ComplexAbs" if aval.dtype.is_complex else "Abs", x, of=loose)
    norm = of("Max", of("Sum", sizes, axis(-2), of=loose), axis(-1), of=loose)
    twos = of("Log", of("RealDiv", norm, number(limit, real), of=loose), of=loose)
    steps = of("Ceil", of("RealDiv", twos, number(math.log(2), real), of=loose), of=loose)
    steps = of("Minimum", of("Maximum", steps, number(0, real), of=loose), number(_SQUARINGS, real), of=loose)
    steps = of("ExpandDims", of("ExpandDims", steps, axis(-1), of=loose), axis(-1), of=loose)
    scale = of("Pow", number(0.5, real), steps, of=loose)
    x = of("Mul", x, of("Cast", scale, of=Aval(aval.dtype, None)) if aval.dtype.is_complex else scale)
    whole = math.factorial(2 * degree)
    ones = of(
        "OnesLike", of("MatrixDiagPartV3", x, axis(0), number(0), of=Aval(aval.dtype, None)), of=Aval(aval.dtype, None)
    )
    power = of("MatrixSetDiagV3", of("ZerosLike", x), ones, axis(0))
    squared, halves = of("BatchMatMulV2", x, x), [of("ZerosLike", x), of("ZerosLike", x)]
    for j in range(degree + 1):
        weight = math.comb(degree, j) * math.factorial(2 * degree - j) / whole
        halves[j % 2] = of("AddV2", halves[j % 2], of("Mul", power, number(weight)))
        power = of("BatchMatMulV2", power, squared) if j % 2 else power
    even, odd = halves[0], of("BatchMatMulV2", x, halves[1])
    found = of("MatrixSolve", of("Sub", even, odd), of("AddV2", even, odd))
    for step in range(_SQUARINGS):
        more = of("Greater", steps, number(step, real), of=Aval(dtypes.bool_, None))
        found = of("SelectV2", more, of("BatchMatMulV2", found, found), found)
    return parts.last("Identity", (found,))


#: Ops that are written as several operations.
SEVERAL = {
    "eye_dynamic": eye_dynamic,
    "sum_to_like": sum_to_like,
    "sum_to_shape": sum_to_like,
    "list_reserve": list_reserve,
    "list_blank": list_reserve,
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
    "sort": argsort,
    "eye": eye,
    "gather_add": gather_add,
    "gather_grad": gather_grad,
}
