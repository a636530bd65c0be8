"""Fourier transforms and masks as they are written: TensorFlow's operations, several each.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

import math

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import Unwritable

# ---- Fourier transforms ---------------------------------------------------------------------------------------------


def _name(node: Node, kind: str) -> str:
    """The type of a transform along the last one, two or three axes."""
    count = len(node.attrs["axes"])
    if node.attrs["axes"] != tuple(range(-count, 0)) or count not in (1, 2, 3):
        raise Unwritable("a transform along other axes than the last")
    return kind if count == 1 else f"{kind}{count}D"


def _elements(value: Value, node: Node) -> int:
    """Return how many real numbers are transformed at once; Unwritable where that is not known."""
    shape = value.aval.shape
    sizes = [None] if shape is None else [shape[axis] for axis in node.attrs["axes"]]
    if None in sizes:
        raise Unwritable("a scaled transform of unknown size")
    return math.prod([size or 0 for size in sizes])


def _times(parts: Parts, kind: str, value: Value, factor: object) -> tuple[str, tuple[Value, Value]]:
    """An operation's type and inputs: a value times (Mul) or over (RealDiv) constants."""
    dtype = value.aval.dtype
    made = parts.const(np.asarray(factor).astype(dtype.numpy_dtype), kind.lower() + "/y")
    return kind, (value, made)


def _lengths(parts: Parts, value: Value, count: int, last: Value | None = None) -> Value:
    """Return how many real numbers there are along each axis, i32[count]; `last`, a scalar, along the last one."""
    shape = value.aval.shape
    sizes: list[int | None] = [None] * count if shape is None else list(shape[-count:])
    known = None if last is None else last.aval.value
    if last is not None:
        sizes[-1] = None if known is None else int(known)
    if None not in sizes:
        return parts.const(np.array(sizes, np.int32), "fft_length")
    if shape is None:
        raise Unwritable("a transform of a tensor of unknown rank")
    number, vector = Aval(dtypes.int32, ()), Aval(dtypes.int32, (len(shape),))
    every = parts.op("Shape", (value,), vector)
    each = []
    for axis in range(len(shape) - count, len(shape)):
        if last is not None and axis == len(shape) - 1:
            each.append(last)
        else:
            place, zero = parts.const(axis, "dim", dtypes.int32), parts.const(0, "axis", dtypes.int32)
            each.append(parts.op("GatherV2", (every, place, zero), number))
    return parts.op("Pack", each, Aval(dtypes.int32, (count,)))


def fft(node: Node) -> list[Definition]:
    """A transform of complex numbers."""
    (x,) = node.inputs
    inverse, scaled = node.attrs["inverse"], node.attrs["scaled"]
    kind = _name(node, "IFFT" if inverse else "FFT")
    parts, aval = Parts(node), x.aval.without_value()
    if inverse is scaled:
        return parts.last(kind, (x,))
    made = parts.op(kind, (x,), aval)
    return parts.last(*_times(parts, "Mul" if inverse else "RealDiv", made, _elements(x, node)))


def rfft(node: Node) -> list[Definition]:
    """A transform of real numbers."""
    (x,) = node.inputs
    parts, count = Parts(node), len(node.attrs["axes"])
    kind, aval = _name(node, "RFFT"), node.outputs[0].aval.without_value()
    inputs: tuple[Value, ...] = (x, _lengths(parts, x, count))
    if node.attrs["scaled"]:
        n = _elements(x, node)
        kind, inputs = _times(parts, "RealDiv", parts.op(kind, inputs, aval), n)
    if node.attrs["doubled"]:
        weight = _weight(None if x.aval.shape is None else x.aval.shape[-1])
        kind, inputs = _times(parts, "Mul", parts.op(kind, inputs, aval), weight)
    return parts.last(kind, inputs)


def irfft(node: Node) -> list[Definition]:
    """A transform back to real numbers."""
    x, length = node.inputs
    parts, count = Parts(node), len(node.attrs["axes"])
    kind, aval = _name(node, "IRFFT"), node.outputs[0].aval.without_value()
    if not node.attrs["doubled"]:
        weight = _weight(None if aval.shape is None else aval.shape[-1])
        x = parts.op(*_times(parts, "RealDiv", x, weight), x.aval.without_value())
    inputs: tuple[Value, ...] = (x, _lengths(parts, x, count, length))
    if node.attrs["scaled"]:
        return parts.last(kind, inputs)
    return parts.last(*_times(parts, "Mul", parts.op(kind, inputs, aval), _elements(node.outputs[0], node)))


def _weight(n: int | None) -> np.ndarray:
    """2 for the frequencies that stand for their negative as well, 1 for the others, of n real numbers."""
    if n is None:
        raise Unwritable("a weighted transform of unknown size")
    weight = np.full(n // 2 + 1, 2.0)
    weight[0] = 1
    if n % 2 == 0:
        weight[-1] = 1
    return weight


def fitted(node: Node) -> list[Definition]:
    """A tensor of another shape: each axis is cut, or zeros follow."""
    x, sizes = node.inputs
    shape, dtype, kind = x.aval.shape, x.aval.dtype, sizes.aval.dtype
    if shape is None:
        raise Unwritable("a tensor of unknown rank, fitted")
    parts, vector = Parts(node), Aval(sizes.aval.dtype, (len(shape),))
    before = parts.op("Shape", (x,), vector)
    kept = parts.op("Minimum", (before, sizes), vector)
    zeros = parts.const(np.zeros(len(shape), kind.numpy_dtype), "begin")
    part = parts.op("Slice", (x, zeros, kept), Aval(dtype, (None,) * len(shape)))
    missing = parts.op("Sub", (sizes, kept), vector)
    pairs = Aval(kind, (len(shape), 2))
    paddings = parts.op("Pack", (zeros, missing), pairs, axis=1)
    return parts.last("Pad", (part, paddings))


# ---- Masks ----------------------------------------------------------------------------------------------------------


def _places(parts: Parts, mask: Value) -> Value:
    rank = None if mask.aval.shape is None else len(mask.aval.shape)
    return parts.op("Where", (mask,), Aval(dtypes.int64, (None, rank)))


def masked(node: Node) -> list[Definition]:
    """Return the slices at the places where a mask holds, as they are written."""
    tensor, mask = node.inputs
    parts = Parts(node)
    return parts.last("GatherNd", (tensor, _places(parts, mask)))


def mask_scattered(node: Node) -> list[Definition]:
    """Values at the places where a mask holds, zeros elsewhere."""
    values, mask, shape = node.inputs
    parts = Parts(node)
    if shape.aval.dtype != dtypes.int64:
        wide = Aval(dtypes.int64, shape.aval.shape)
        shape = parts.op("Cast", (shape,), wide)
    return parts.last("ScatterNd", (_places(parts, mask), values, shape))


#: Ops that are written as several operations.
TRANSFORMS = {"fft": fft, "fit": fitted, "rfft": rfft, "irfft": irfft, "mask": masked, "mask_scatter": mask_scattered}
