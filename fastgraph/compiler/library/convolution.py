"""Convolutions -> steps: which of them have kernels of register blocks, and those.

Rule: such a kernel is special to the blocks of registers that it is made of, which are the CPU's; batch, image,
channels, window and strides are run-time sizes, so that a network's convolutions are few kernels. What it does not do
(other dtypes, filters of unknown size, groups of few channels) is left to the op's loop nest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.compiler.library import bias_gradient, depthwise_blocks, depthwise_rows
from fastgraph.compiler.library.convolution_filter_gradient import FilterGradient, combined
from fastgraph.compiler.library.convolution_forward import Correlation, few_filter, turned_filter
from fastgraph.compiler.library.convolution_operands import operands
from fastgraph.compiler.library.register_blocks import BIAS, BIAS_RELU, STORE, Geometry, SharedText
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import KernelStep, Size
from fastgraph.graph.ir import Node, Value

#: Floating-point operations per nanosecond of one thread that the estimates reckon with.
FLOPS_NS = 90.0
_IMPORTS = (
    "apart_gradient_float32",
    "apart_float32", "block_float32", "few_float32", "local_float32", "muladd_float32", "pointer_float32",
    "turned_block",
)  # fmt: skip


def geometry(node: Node, shape_of: Callable[[Value], Any]) -> Geometry | None:
    """The geometry of a convolution that has a kernel of blocks, else None. `shape_of`: run-time (witness) shapes."""
    if node.op.step != "convolution" or node.outputs[0].aval.dtype.name != "float32":
        return None
    x, filter, _ = operands(node)
    dims, image = shape_of(filter), shape_of(x)
    if dims is None or image is None or 0 in dims or dims[-2] == 0:
        return None
    noted = filter.aval.shape
    if noted is None or None in noted:
        return None
    *window, c, f = dims
    groups = image[-1] // c
    if groups == 0 or image[-1] % c or f % groups:
        return None  # an error of the call, which the op's own words say
    attrs = node.attrs
    made = Geometry(tuple(window), c, f // groups, groups, attrs["strides"], attrs["dilations"], attrs["padding"])
    if _is_depthwise(made, node):
        return made
    if groups > 1 and min(made.c, made.f) < 4:
        return None  # a vector would be nearly empty: the loop nest goes over all channels
    if node.op.name.endswith("input_grad") and any(
        s > 1 and d > 1 for s, d in zip(made.strides, made.dilations, strict=True)
    ):
        return None
    fits = Correlation(made, turned=node.op.name.endswith("input_grad")).fits()
    return made if fits or node.op.name.endswith("filter_grad") else None


def _is_depthwise(g: Geometry, node: Node) -> bool:
    return depthwise_rows.fits(g) or depthwise_blocks.fits(g, node.op.name.endswith("input_grad"))


def steps(
    node: Node, g: Geometry, number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    """The steps of a convolution. `number` numbers values, `scratch(dtype, n)` names a new one of n elements."""
    if _is_depthwise(g, node):
        return _depthwise_steps(node, g, number, scratch)
    if node.op.name.endswith("filter_grad"):
        return _filter_steps(node, g, number, scratch)
    x, filter, result = operands(node)
    turned = node.op.name.endswith("input_grad")
    made: list[KernelStep] = []
    source, target, weights = (result, x, filter) if turned else (x, result, filter)
    # Only what the compiler fused has a bias.
    more = [number(node.inputs[2])] if node.op.name.endswith("_bias") else []
    ending = (BIAS_RELU if node.attrs["relu"] else BIAS) if more else STORE
    noted = target.aval.shape
    kernel = Correlation(g, turned, ending, None if noted is None else noted[-2])
    if turned or kernel.few or kernel.packed:
        weights = scratch("float32", kernel.filter_room)
        units = math.prod(g.window) * (kernel.blocks if kernel.packed else 1)
        text = kernel.packed_filter() if kernel.packed else turned_filter(g, kernel.few) if turned else few_filter(g)
        cost = 0.6 * g.filter_size / units
        made.append(_step(node, (number(filter),), number(weights), text, (), Size(units), cost, ()))
    sizes = [(number(v), 1 + k) for v in (source, target) for k in range(g.rank)]
    rows = tuple((number(target), k) for k in range(g.rank))
    pieces = kernel.blocks if kernel.looped else 1
    flops = 2.0 * math.prod(g.window) * g.c * g.f * g.groups / (math.prod(g.strides) if turned else 1) / pieces
    cost = flops / FLOPS_NS + 0.3 * max(g.c, g.f) / pieces
    made.append(
        _step(
            node, (number(source), number(weights), *more), number(target), kernel.text(),
            [*[Size(1, (s,)) for s in sizes], *[Size(1, rows)] * kernel.looped], Size(pieces, rows), cost,
            (Size(1, ((number(target), g.rank),)),), flops,
        )
    )  # fmt: skip
    return made


def _depthwise_steps(
    node: Node, g: Geometry, number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    x, filter, result = operands(node)
    size, turned = g.filter_size, node.op.name.endswith("input_grad")
    source, target = (result, x) if turned else (x, result)
    sizes = [Size(1, ((number(v), 1 + k),)) for v in (source, target) for k in range(2)]
    rows, columns = Size(1, ((number(target), 0), (number(target), 1))), (number(target), 2)
    flops = 2.0 * size * (1 if turned else g.strides[1])
    if node.op.name.endswith("filter_grad"):
        chunks = depthwise_rows.CHUNKS
        part, pixels = number(scratch("float32", chunks * size)), Size(1, (*rows.dims, columns))
        in_blocks = depthwise_blocks.fits(g, False)
        text = (
            depthwise_blocks.filter_gradient(g, chunks)
            if in_blocks
            else depthwise_rows.DepthwiseRows(g).filter_gradient()
        )
        flops /= chunks
        inputs = (number(x), number(result))
        first = _step(node, inputs, part, text, [*sizes, rows], Size(chunks), flops / 20, (pixels,), flops)
        text = combined(size, chunks)
        return [first, _step(node, (part,), number(filter), text, (), Size(-(-size // 256)), 0.1 * size, ())]
    more = [number(node.inputs[2])] if node.op.name.endswith("_bias") else []
    ending = (BIAS_RELU if node.attrs["relu"] else BIAS) if more else STORE
    in_blocks = depthwise_blocks.fits(g, turned)
    text = (
        depthwise_blocks.text(g, turned, ending)
        if in_blocks
        else depthwise_rows.DepthwiseRows(g, turned, ending).text()
    )
    taken = (number(source), number(filter), *more)
    cost, columns_of = flops / (FLOPS_NS if in_blocks else 20), (Size(1, (columns,)),)
    return [_step(node, taken, number(target), text, sizes, rows, cost, columns_of, flops)]


def _filter_steps(
    node: Node, g: Geometry, number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    x, filter, dy = operands(node)
    kernel = FilterGradient(g)
    part = number(scratch("float32", kernel.chunks * g.filter_size)) if kernel.chunks > 1 else number(filter)
    dims = [(number(x), 0), *[(number(v), 1 + k) for v in (x, dy) for k in range(g.rank)]]
    pixels = tuple((number(dy), k) for k in range(g.rank + 1))
    flops = 2.0 * g.filter_size / kernel.units
    cost = flops / FLOPS_NS
    made = [
        _step(
            node, (number(x), number(dy)), part, kernel.text(), [Size(1, (s,)) for s in dims], Size(kernel.units),
            cost, (Size(1, pixels),), flops,
        )
    ]  # fmt: skip
    if kernel.chunks > 1:
        n = -(-g.filter_size // 256)
        adds = 256.0 * kernel.chunks
        text = combined(g.filter_size, kernel.chunks)
        made.append(_step(node, (part,), number(filter), text, (), Size(n), 0.05 * adds, (), adds))
    return made


def column_sum(
    node: Node, shape: tuple[int, ...], number: Callable[[Value], int], scratch: Callable[[str, int], Value]
) -> list[KernelStep]:
    """The steps of a sum over all axes but the last of a value of this (witness) shape."""
    n, x = shape[-1], number(node.inputs[0])
    part = number(scratch("float32", n * bias_gradient.CHUNKS))
    rows = Size(1, tuple((x, axis) for axis in range(len(shape) - 1)))
    cost = 0.1 * n / bias_gradient.CHUNKS
    text, chunks = bias_gradient.source(n), Size(bias_gradient.CHUNKS)
    first = _step(node, (x,), part, text, (rows,), chunks, cost, (rows,), n / bias_gradient.CHUNKS)
    text = combined(n, bias_gradient.CHUNKS)
    last = _step(node, (part,), number(node.outputs[0]), text, (), Size(-(-n // 256)), 2.0 * n, ())
    return [first, last]


def _step(
    node: Node,
    inputs: tuple[int, ...],
    output: int,
    text: SharedText,
    dims: Sequence[Size],
    extent: Size,
    cost: float,
    cost_dims: tuple[Size, ...],
    operations: float = 0.0,
) -> KernelStep:
    source, sizes = text.source(), (*dims, *map(Size, text.numbers.values()))
    imports = tuple(name for name in _IMPORTS if name in source)
    spec = KernelSpec(source, ("float32",) * (len(inputs) + 1), len(sizes), imports)
    return KernelStep(
        inputs=inputs, outputs=(output,), nodes=(node,), kernel=spec, buffers=(*inputs, output), sizes=sizes,
        extent=extent, cost=cost, cost_dims=cost_dims, operations=operations,
    )  # fmt: skip
