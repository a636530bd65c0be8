"""Small matrices: factors of Cholesky, Q and R, inverses, solutions of systems, as kernels: a unit of work is a matrix.

Rule: of the order in which `core/native/small_systems.h` goes, and only where the number of rows is known and small:
LAPACK and BLAS are faster for larger ones.
"""

from __future__ import annotations

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node

#: Rows of a matrix at most, as in array_kernels.pyx.
MOST = 32
#: And where there is one column to solve for: a call of BLAS by way of Python takes longer than the substitution.
MOST_FOR_ONE = 512
#: Of a matrix that is made Q and R, at most: rows, elements, and those times the columns of Q.
MOST_ROWS, MOST_ELEMENTS, MOST_PRODUCTS = 1024, 4096, 1 << 15


def cholesky_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """L with L L^T = x0: NaN in its lower triangle where a pivot is 0 or less."""
    x, out = node.inputs[0], node.outputs[0]
    dtype, n = x.aval.dtype.name, (shapes.avals[x].shape or (None,))[-1]
    if dtype not in render.FLOATS or n is None or not 0 < n <= MOST:
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
                x1[first + i * n + j] = {render.number(float("nan"), dtype)}
"""
    rows = shapes.of(x, -1)
    extent = shapes.of(x, 0, -2)
    return text.kernel({"x0": x, "x1": out}, {"n": rows}, lines, extent, 0.5, (Size(1, rows.dims * 3),))


def substitution_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """x2 with x0 x2 = x1 for triangular x0, of which there is one, or one for each x1."""
    (a, b), out = node.inputs, node.outputs[0]
    dtype, dims, given = out.aval.dtype.name, shapes.avals[a].shape or (None,), shapes.avals[b].shape or (None,)
    single = given[-1:] == (1,)
    if dtype not in render.FLOATS or dims[-1] is None or not 0 < dims[-1] <= (MOST_FOR_ONE if single else MOST):
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
    if single and dims[-1] > MOST:
        lines = _one_column(text, dtype, forth, turned, "0" if one else "m * n * n")
    sizes = {"n": shapes.of(a, -1), "w": shapes.of(b, -1)}
    extent, per_row = shapes.of(b, 0, -2), Size(1, sizes["n"].dims * 2 + sizes["w"].dims)
    return text.kernel({"x0": a, "x1": b, "x2": out}, sizes, lines, extent, 0.5, (per_row,))


def _one_column(text: Text, dtype: str, forth: bool, turned: bool, first: str) -> str:
    """Substitution for one column, along rows of x0: what precedes is summed up, or, turned, taken from the rest."""
    order = "s" if forth else "n - 1 - s"
    if turned:
        return f"""
for m in range(begin, end):
    row = m * n
    for i in range(n):
        x2[row + i] = x1[row + i]
    for s in range(n):
        i = {order}
        at = {first} + i * n
        found = x2[row + i] / x0[at + i]
        x2[row + i] = found
        for j in range({"i + 1, n" if forth else "0, i"}):
            x2[row + j] = x2[row + j] - x0[at + j] * found
"""
    return f"""
sums = {text.call(f"local_{dtype}", "8")}
for m in range(begin, end):
    row = m * n
    for s in range(n):
        i = {order}
        at = {first} + i * n
        j = {"0" if forth else "i + 1"}
        last = {"i" if forth else "n"}
        for k in range(8):
            sums[k] = {dtype}(0)
        while j + 8 <= last:
            for k in range(8):
                sums[k] = sums[k] + x0[at + j + k] * x2[row + j + k]
            j = j + 8
        total = (sums[0] + sums[4]) + (sums[1] + sums[5]) + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
        for k in range(j, last):
            total = total + x0[at + k] * x2[row + k]
        x2[row + i] = (x1[row + i] - total) / x0[at + i]
"""


def solution_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The last buffer is what x0, or its transpose, has to be multiplied by to give x1, or ones on the diagonal.

    Rows are exchanged for the largest pivots; one of 0, or a first one that is NaN, fails.
    """
    a, out = node.inputs[0], node.outputs[0]
    dtype, n = out.aval.dtype.name, (a.aval.shape or (None,))[-1]  # noted: it stands in the source
    if dtype not in render.FLOATS or n is None or not 0 < n <= MOST:
        return None
    text = Text()
    given = "x1[first + i]" if len(node.inputs) > 1 else f"{dtype}(1 if i % (n + 1) == 0 else 0)"
    x = f"x{len(node.inputs)}"
    from_ = "j * n + i" if node.attrs.get("adjoint") else "i * n + j"
    lines = f"""
packed = {text.call(f"local_{dtype}", str(n * n))}
for m in range(begin, end):
    first = m * n * w
    for i in range(n * w):
        {x}[first + i] = {given}
    for i in range(n):
        for j in range(n):
            packed[i * n + j] = x0[m * n * n + {from_}]
    for j in range(n):
        best = j
        most = {text.call(f"abs_{dtype}", "packed[j * n + j]")}
        for i in range(j + 1, n):
            size = {text.call(f"abs_{dtype}", "packed[i * n + j]")}
            if size > most:
                most = size
                best = i
        if most == 0 or (j == 0 and most != most):
            return {1 << 48} + m
        if best != j:
            for c in range(j, n):
                kept = packed[j * n + c]
                packed[j * n + c] = packed[best * n + c]
                packed[best * n + c] = kept
            for c in range(w):
                kept = {x}[first + j * w + c]
                {x}[first + j * w + c] = {x}[first + best * w + c]
                {x}[first + best * w + c] = kept
        for i in range(j + 1, n):
            factor = packed[i * n + j] / packed[j * n + j]
            for c in range(j + 1, n):
                packed[i * n + c] = packed[i * n + c] - factor * packed[j * n + c]
            for c in range(w):
                {x}[first + i * w + c] = {x}[first + i * w + c] - factor * {x}[first + j * w + c]
    for s in range(n):
        i = n - 1 - s
        for j in range(i + 1, n):
            factor = packed[i * n + j]
            for c in range(w):
                {x}[first + i * w + c] = {x}[first + i * w + c] - factor * {x}[first + j * w + c]
        pivot = packed[i * n + i]
        for c in range(w):
            {x}[first + i * w + c] = {x}[first + i * w + c] / pivot
"""
    buffers = {f"x{i}": value for i, value in enumerate((*node.inputs, out))}
    sizes = {"n": shapes.of(a, -1), "w": shapes.of(out, -1)}
    per_matrix = Size(1, sizes["n"].dims * 2 + sizes["w"].dims)
    return text.kernel(buffers, sizes, lines, shapes.of(a, 0, -2), 1.0, (per_matrix,), fallible=True)


def qr_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """x1 x2 = x0 by reflections, whose signs are LAPACK's: x1 of orthonormal columns, x2 upper triangular.

    A column that is 0 below its diagonal is not reflected. `w` is 0 for what is done, so that loops are of one length.
    """
    x, (q, r) = node.inputs[0], node.outputs
    dtype, dims = x.aval.dtype.name, (x.aval.shape or ())[-2:]  # noted: what a call alone says stands in no source
    if dtype not in render.FLOATS or len(dims) < 2 or node.attrs["full_matrices"]:
        return None
    m, n = dims
    if not m or not n or n > MOST or m > MOST_ROWS or m * n > MOST_ELEMENTS:
        return None
    k = min(m, n)
    if m * n * k > MOST_PRODUCTS:
        return None
    text = Text()
    made = {"a": m * n, "v": k * m, "w": n, "tau": k}
    kept = "\n".join([f"{name} = {text.call(f'local_{dtype}', str(size))}" for name, size in made.items()])
    zero, one = render.number(0, dtype), render.number(1, dtype)
    lines = f"""
{kept}
for p in range(begin, end):
    for i in range({m * n}):
        a[i] = x0[p * {m * n} + i]
    for j in range({k}):
        most = {zero}
        for i in range(j + 1, {m}):
            size = {text.call(f"abs_{dtype}", f"a[i * {n} + j]")}
            if size > most or size != size:
                most = size
        tau[j] = {zero}
        if most != 0:
            alpha = a[j * {n} + j]
            size = {text.call(f"abs_{dtype}", "alpha")}
            most = size if size > most or size != size else most
            total = {zero}
            for i in range(j, {m}):
                part = a[i * {n} + j] / most
                total = total + part * part
            beta = most * {text.call(f"sqrt_{dtype}", "total")}
            if alpha >= 0:
                beta = -beta
            tau[j] = (beta - alpha) / beta
            v[j * {m} + j] = {one}
            for i in range(j + 1, {m}):
                v[j * {m} + i] = a[i * {n} + j] / (alpha - beta)
            for c in range({n}):
                w[c] = {zero}
            for i in range(j, {m}):
                for c in range({n}):
                    w[c] = w[c] + v[j * {m} + i] * a[i * {n} + c]
            for c in range({n}):
                w[c] = w[c] * tau[j] if c > j else {zero}
            for i in range(j, {m}):
                for c in range({n}):
                    a[i * {n} + c] = a[i * {n} + c] - v[j * {m} + i] * w[c]
            a[j * {n} + j] = beta
    for i in range({k}):
        for c in range({n}):
            x2[p * {k * n} + i * {n} + c] = a[i * {n} + c] if c >= i else {zero}
    for i in range({m}):
        for c in range({k}):
            x1[p * {m * k} + i * {k} + c] = {one} if i == c else {zero}
    for s in range({k}):
        j = {k - 1} - s
        if tau[j] != 0:
            for c in range({k}):
                w[c] = {zero}
            for i in range(j, {m}):
                for c in range({k}):
                    w[c] = w[c] + v[j * {m} + i] * x1[p * {m * k} + i * {k} + c]
            for c in range({k}):
                w[c] = w[c] * tau[j]
            for i in range(j, {m}):
                for c in range({k}):
                    x1[p * {m * k} + i * {k} + c] = x1[p * {m * k} + i * {k} + c] - v[j * {m} + i] * w[c]
"""
    return text.kernel({"x0": x, "x1": q, "x2": r}, {}, lines, shapes.of(x, 0, -2), 0.8 * m * n * k)
