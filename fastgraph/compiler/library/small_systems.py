"""Kernels that factor and solve small systems of equations, matrix by matrix; a unit is one of them.

Rule: the arithmetic and its order are those of core/native/small_systems.h, so that eager calls give the same bits. A
pivot of 0 ends the kernel: the op's body says what is wrong. Large matrices are LAPACK's, by the op's body.
"""

from __future__ import annotations

from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.graph.ir import Node, Value

#: Rows up to which a matrix is worth a kernel: as in array_loops.pyx.
SMALL = 32

_CHOLESKY = """
for m in range(begin, end):
    at = m * n * n
    failed = False
    for i in range(n):
        row = at + i * n
        for j in range(i):
            total = x0[row + j]
            for k in range(j):
                total = total - x1[row + k] * x1[at + j * n + k]
            x1[row + j] = total / x1[at + j * n + j]
        pivot = x0[row + i]
        for k in range(i):
            pivot = pivot - x1[row + k] * x1[row + k]
        if pivot <= 0:
            failed = True
        x1[row + i] = {root}
        for j in range(i + 1, n):
            x1[row + j] = {zero}
    if failed:
        for i in range(n):
            for j in range(i + 1):
                x1[at + i * n + j] = {nan}
"""

_SUBSTITUTE = """
for m in range(begin, end):
    at = m * n * k
    for e in range(at, at + n * k):
        x2[e] = x1[e]
    for s in range(n):
        i = {row}
        to = at + i * k
        for j in {others}:
            factor = x0[m * n * n + {place}]
            other = at + j * k
            for c in range(k):
                x2[to + c] = x2[to + c] - factor * x2[other + c]
        pivot = x0[(m * n + i) * n + i]
        for c in range(k):
            x2[to + c] = x2[to + c] / pivot
"""

_SOLVE = """
w = {room}
for m in range(begin, end):
    at = m * n * k
    for i in range(n):
        for j in range(n):
            w[i * n + j] = x0[m * n * n + {place}]
        for c in range(k):
            {given}
    for j in range(n):
        best = j
        most = w[j * n + j]
        if most < 0:
            most = -most
        for i in range(j + 1, n):
            size = w[i * n + j]
            if size < 0:
                size = -size
            if size > most:
                most = size
                best = i
        if most == 0 or (j == 0 and most != most):
            return {failed} + m
        if best != j:
            for c in range(j, n):
                kept = w[j * n + c]
                w[j * n + c] = w[best * n + c]
                w[best * n + c] = kept
            for c in range(k):
                kept = {out}[at + j * k + c]
                {out}[at + j * k + c] = {out}[at + best * k + c]
                {out}[at + best * k + c] = kept
        for i in range(j + 1, n):
            factor = w[i * n + j] / w[j * n + j]
            for c in range(j + 1, n):
                w[i * n + c] = w[i * n + c] - factor * w[j * n + c]
            for c in range(k):
                {out}[at + i * k + c] = {out}[at + i * k + c] - factor * {out}[at + j * k + c]
    for s in range(n):
        i = n - 1 - s
        for j in range(i + 1, n):
            factor = w[i * n + j]
            for c in range(k):
                {out}[at + i * k + c] = {out}[at + i * k + c] - factor * {out}[at + j * k + c]
        for c in range(k):
            {out}[at + i * k + c] = {out}[at + i * k + c] / w[i * n + i]
"""


def small_system(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The kernel of "cholesky", "inverse", "solve" or "substitute"; None for matrices that are or may be large."""
    a, out = node.inputs[0], node.outputs[0]
    dtype = a.aval.dtype.name
    first, *others = (shapes.avals[x].shape or () for x in node.inputs)
    if dtype not in ("float32", "float64") or len(first) < 2:
        return None
    *batch, rows, n = first
    if n is None or n > SMALL or rows != n:
        return None
    if any(None in batch or list(other[:-1]) != [*batch, n] for other in others):  # batches may broadcast, or not fit
        return None
    text = Text()
    buffers: dict[str, Value] = {f"x{i}": value for i, value in enumerate((*node.inputs, out))}
    extent, columns = shapes.of(a, -1), shapes.of(out, -1)
    sizes = {"n": extent}
    if how == "cholesky":
        lines = _CHOLESKY.format(root=text.call(f"sqrt_{dtype}", "pivot"), zero=f"{dtype}(0)", nan=f"{dtype}(nan)")
        work = 0.3
    elif how == "substitute":
        lower, turned = node.attrs["lower"], node.attrs["adjoint"]
        forth = lower != turned
        lines = _SUBSTITUTE.format(
            row="s" if forth else "n - 1 - s",
            others="range(i)" if forth else "range(i + 1, n)",
            place="j * n + i" if turned else "i * n + j",
        )
        sizes["k"], work = columns, 0.3
    else:
        turned = bool(node.attrs.get("adjoint", False))
        result = f"x{len(node.inputs)}"
        one = text.call(f"select_{dtype}", "i == c", f"{dtype}(1)", f"{dtype}(0)")
        lines = _SOLVE.format(
            room=text.call(f"local_{dtype}", str(SMALL * SMALL)),
            place="j * n + i" if turned else "i * n + j",
            given=f"{result}[at + i * k + c] = {'x1[at + i * k + c]' if how == 'solve' else one}",
            out=result,
            failed=1 << 48,
        )
        sizes["k"], work = columns, 0.6
    fallible = how in ("solve", "inverse")
    return text.kernel(buffers, sizes, lines, shapes.of(a, 0, -2), work, (extent, extent, columns), fallible=fallible)
