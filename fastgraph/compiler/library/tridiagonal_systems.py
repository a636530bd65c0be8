"""Tridiagonal systems as a kernel: a unit of work is one matrix with its right sides.

Rule: rows are exchanged as LAPACK's gtsv exchanges them, and only where the number of rows is known, for what
elimination changes is kept on the stack.
"""

from __future__ import annotations

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node

#: Rows at most: three diagonals of them are on the stack.
MOST = 2048
#: And where systems with one right side go side by side, so many as fill vectors.
MOST_IN_TILES = 256
TILE = 16


def tridiagonal_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """x2 with the matrix of the three rows of x0 times x2 = x1; NaN where a pivot is 0."""
    (a, b), out = node.inputs, node.outputs[0]
    dtype, n = out.aval.dtype.name, (a.aval.shape or (None,))[-1]  # noted: it stands in the source
    if dtype not in render.FLOATS or n is None or not 0 < n <= MOST or node.attrs["perturb"]:
        return None
    text = Text()
    local = text.call(f"local_{dtype}", str(n))
    size = [text.call(f"abs_{dtype}", each) for each in ("pivot", "low")]
    lines = f"""
main = {local}
above = {local}
far = {local}
for m in range(begin, end):
    given = m * n * 3
    first = m * n * w
    for i in range(n):
        above[i] = x0[given + i]
        main[i] = x0[given + n + i]
        far[i] = 0
    for i in range(n * w):
        x2[first + i] = x1[first + i]
    wrong = 0
    for i in range(n - 1):
        pivot = main[i]
        low = x0[given + 2 * n + i + 1]
        row = first + i * w
        if {size[0]} >= {size[1]}:
            if pivot == 0:
                wrong = 1
            factor = low / pivot
            main[i + 1] = main[i + 1] - factor * above[i]
            for c in range(w):
                x2[row + w + c] = x2[row + w + c] - factor * x2[row + c]
        else:
            factor = pivot / low
            below = main[i + 1]
            main[i] = low
            main[i + 1] = above[i] - factor * below
            above[i] = below
            if i < n - 2:
                far[i] = above[i + 1]
                above[i + 1] = -factor * far[i]
            for c in range(w):
                upper = x2[row + c]
                lower = x2[row + w + c]
                x2[row + c] = lower
                x2[row + w + c] = upper - factor * lower
    if main[n - 1] == 0:
        wrong = 1
    for s in range(n):
        i = n - 1 - s
        row = first + i * w
        pivot = main[i]
        if s > 0:
            for c in range(w):
                x2[row + c] = x2[row + c] - above[i] * x2[row + w + c]
        if s > 1:
            for c in range(w):
                x2[row + c] = x2[row + c] - far[i] * x2[row + 2 * w + c]
        for c in range(w):
            x2[row + c] = x2[row + c] / pivot
    if wrong == 1:
        for i in range(n * w):
            x2[first + i] = {render.number(float("nan"), dtype)}
"""
    if n <= MOST_IN_TILES and (shapes.avals[b].shape or (None,))[-1] == 1:
        text = Text()
        lines = _side_by_side(text, dtype, n)
    sizes = {"n": shapes.of(a, -1), "w": shapes.of(b, -1)}
    per_matrix = Size(1, sizes["n"].dims + sizes["w"].dims)
    return text.kernel({"x0": a, "x1": b, "x2": out}, sizes, lines, shapes.of(a, 0, -2), 10.0, (per_matrix,))


def _side_by_side(text: Text, dtype: str, n: int) -> str:
    """The same numbers for a tile of systems; the last of them stands in the places that are left."""
    local = text.call(f"local_{dtype}", str(n * TILE))

    def either(a: str, b: str) -> str:
        return text.call(f"select_{dtype}", "keep", a, b)

    size = [text.call(f"abs_{dtype}", each) for each in ("pivot", "below")]
    nothing, nan = render.number(0, dtype), render.number(float("nan"), dtype)
    return f"""
above = {local}
main = {local}
low = {local}
y = {local}
m = begin
while m < end:
    width = {text.call("min_int64", str(TILE), "end - m")}
    for c in range({TILE}):
        system = m + {text.call("min_int64", "c", "width - 1")}
        given = system * n * 3
        for i in range(n):
            above[i * {TILE} + c] = x0[given + i]
            main[i * {TILE} + c] = x0[given + n + i]
            low[i * {TILE} + c] = x0[given + 2 * n + i]
            y[i * {TILE} + c] = x1[system * n + i]
        above[(n - 1) * {TILE} + c] = {nothing}
    for i in range(n - 1):
        for c in range({TILE}):
            here = i * {TILE} + c
            next = here + {TILE}
            pivot = main[here]
            below = low[next]
            right = above[here]
            under = main[next]
            beyond = above[next]
            first = y[here]
            second = y[next]
            keep = {size[0]} >= {size[1]}
            factor = {either("below", "pivot")} / {either("pivot", "below")}
            main[here] = {either("pivot", "below")}
            main[next] = {either("under", "right")} - factor * {either("right", "under")}
            above[here] = {either("right", "under")}
            above[next] = {either("beyond", "-factor * beyond")}
            low[here] = {either(nothing, "beyond")}
            y[here] = {either("first", "second")}
            y[next] = {either("second", "first")} - factor * {either("first", "second")}
    for c in range({TILE}):
        here = (n - 1) * {TILE} + c
        pivot = main[here]
        keep = pivot == 0
        y[here] = {either(nan, "y[here] / pivot")}
    for s in range(1, n):
        i = n - 1 - s
        for c in range({TILE}):
            here = i * {TILE} + c
            value = y[here] - above[here] * y[here + {TILE}]
            if s > 1:
                value = value - low[here] * y[here + {2 * TILE}]
            y[here] = value / main[here]
    for c in range(width):
        for i in range(n):
            x2[(m + c) * n + i] = y[i * {TILE} + c]
    m = m + {TILE}
"""
