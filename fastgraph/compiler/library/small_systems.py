"""Small matrices' factors of Cholesky and triangular systems as kernels: a unit of work is one matrix.

Rule: of the order in which `core/native/small_systems.h` goes, and only where the number of rows is known and small:
LAPACK and BLAS are faster for larger ones.
"""

from __future__ import annotations

from fastgraph.compiler.cpu import spelling as spell
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node

#: Rows of a matrix at most, as in array_loops.pyx.
MOST = 32


def cholesky_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """L with L L^T = x0: NaN in its lower triangle where a pivot is 0 or less."""
    x, out = node.inputs[0], node.outputs[0]
    dtype, n = x.aval.dtype.name, (shapes.avals[x].shape or (None,))[-1]
    if dtype not in spell.FLOATS or n is None or not 0 < n <= MOST:
        return None
    text = Text()
    lines = f"""
for m in range(begin, end):
    first = m * n * n
    wrong = 0
    for i in range(n):
        row = first + i * n
        for j in range(i):
            other = first + j * n
            total = x0[row + j]
            for k in range(j):
                total = total - x1[row + k] * x1[other + k]
            x1[row + j] = total / x1[other + j]
        pivot = x0[row + i]
        for k in range(i):
            pivot = pivot - x1[row + k] * x1[row + k]
        if pivot <= 0:
            wrong = 1
        x1[row + i] = {text.call(f"sqrt_{dtype}", "pivot")}
        for j in range(i + 1, n):
            x1[row + j] = 0
    if wrong == 1:
        for i in range(n):
            for j in range(i + 1):
                x1[first + i * n + j] = {spell.number(float("nan"), dtype)}
"""
    rows = shapes.of(x, -1)
    extent = shapes.of(x, 0, -2)
    return text.kernel({"x0": x, "x1": out}, {"n": rows}, lines, extent, 0.5, (Size(1, rows.dims * 3),))


def substitution_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """x2 with x0 x2 = x1 for triangular x0, of which there is one, or one for each x1."""
    (a, b), out = node.inputs, node.outputs[0]
    dtype, dims, given = out.aval.dtype.name, shapes.avals[a].shape or (None,), shapes.avals[b].shape or (None,)
    if dtype not in spell.FLOATS or dims[-1] is None or not 0 < dims[-1] <= MOST:
        return None
    one = len(dims) == 2
    if not one and (dims[:-2] != given[:-2] or None in given[:-2]):
        return None  # batches that broadcast, perhaps
    text = Text()
    lower, turned = node.attrs["lower"], node.attrs["adjoint"]
    forth = lower is not turned
    at = "j * n + i" if turned else "i * n + j"
    lines = f"""
for m in range(begin, end):
    first = m * n * w
    from_ = {"0" if one else "m * n * n"}
    for s in range(n):
        i = {"s" if forth else "n - 1 - s"}
        row = first + i * w
        for c in range(w):
            x2[row + c] = x1[row + c]
        for j in range({"0, i" if forth else "i + 1, n"}):
            factor = x0[from_ + {at}]
            other = first + j * w
            for c in range(w):
                x2[row + c] = x2[row + c] - factor * x2[other + c]
        pivot = x0[from_ + i * n + i]
        for c in range(w):
            x2[row + c] = x2[row + c] / pivot
"""
    sizes = {"n": shapes.of(a, -1), "w": shapes.of(b, -1)}
    extent, per_row = shapes.of(b, 0, -2), Size(1, sizes["n"].dims * 2 + sizes["w"].dims)
    return text.kernel({"x0": a, "x1": b, "x2": out}, sizes, lines, extent, 0.5, (per_row,))
