"""Kernels of the ops that must go through their input in order: running totals, scatters, the k largest, searches.

Rule: an op names its kind as `step="kind.combination"`; what an element is added to, and in which order, follows from
the shapes alone. Units of work are independent of each other (rows, columns, ranges of the result), so that threads
share them without changing a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.fourier_lines import fourier_kernel
from fastgraph.compiler.library.integer_matmul import integer_product
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.library.pooling_gradients import pool_kernel
from fastgraph.compiler.library.random_numbers import random_kernel
from fastgraph.compiler.library.row_sorts import row_sort
from fastgraph.compiler.library.slice_add import slice_add
from fastgraph.compiler.library.small_linear_systems import (
    cholesky_kernel,
    qr_kernel,
    solution_kernel,
    substitution_kernel,
)
from fastgraph.compiler.library.tridiagonal_systems import tridiagonal_kernel
from fastgraph.compiler.program.program import Size
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value

#: Columns whose running totals are kept side by side: the loop over them is vectorised.
TILE = 64
#: Rows of running totals that go side by side.
ROWS = 16
#: Into how many units a scatter is cut at most: each reads all indices.
PARTS = 8
#: Columns of a unit: of rows that are not as wide as two there is one. (Units of rows would pass over most indices,
#: which no CPU foresees: half a millisecond for 20,000.)
COLUMNS = 32
#: How many of a row are found by insertion; of more, NumPy's partition finds them sooner.
INSERTED = 128
_OTHER = {"string", "variant", "resource"}


def ordered(node: Node, number: Mapping[Value, int], avals: Mapping[Value, Aval]) -> Ordered | None:
    """The kernel of a node whose op is of one of these kinds; None where no kernel can compute it."""
    make, how = _KINDS.get(_kind(node)), (node.op.step or "").partition(".")[2]
    values = (*node.inputs, *node.outputs)
    if make is None or any(v.aval.dtype.name in _OTHER or avals[v].shape is None for v in values):
        return None
    return make(node, how, Shapes(number, avals))


def _kind(node: Node) -> str:
    return (node.op.step or "").partition(".")[0]


# ---- running totals --------------------------------------------------------------------------------------------------

_START = {"add": 0, "mul": 1, "logaddexp": float("-inf")}


def _combined(text: Text, how: str, dtype: str, total: str, value: str) -> str:
    return text.call(f"{how}_{render.register(dtype)}", total, value)


def _scan(node: Node, how: str, shapes: Shapes) -> Ordered:
    """out[k] = out[k - 1] combined with x[k], along one axis; a unit is one line of the tensor.

    Neighbouring lines, and rows, go side by side: no total waits for its own last step alone. There are as many rows
    as fill vectors, the last of them again and again.
    """
    x, out = node.inputs[0], node.outputs[0]
    dtype = x.aval.dtype.name
    text = Text()
    kept = render.register(dtype)
    start = render.number(_START[how], kept)
    new = _combined(text, how, dtype, "old", text.load("x0[at]", dtype))
    result = text.store("old" if node.attrs["exclusive"] else "new", dtype)
    columns = text.store("totals[c]" if node.attrs["exclusive"] else "new", dtype)
    wide, rows = (
        _combined(text, how, dtype, "totals[c]", text.load(f"x0[{place}]", dtype)) for place in ("at + c", "row")
    )
    last = "at = at + (n - 1) * inner\n" if node.attrs["reverse"] else ""
    move = f"at = at {'-' if node.attrs['reverse'] else '+'} inner"
    lines = f"""
totals = {text.call(f"local_{kept}", str(TILE))}
unit = begin
while unit < end:
    outer = {text.call("truncatediv_int64", "unit", "inner")}
    first = unit - outer * inner
    width = {text.call("min_int64", text.call("min_int64", str(TILE), "inner - first"), "end - unit")}
    at = outer * n * inner + first
    {last}
    if inner == 1 and end - unit >= 4:
        width = {text.call("min_int64", str(ROWS), "end - unit")}
        for c in range({ROWS}):
            totals[c] = {start}
        for k in range(n):
            for c in range({ROWS}):
                row = at + {text.call("min_int64", "c", "width - 1")} * n
                new = {rows}
                x1[row] = {columns}
                totals[c] = new
            {move}
    elif width == 1:
        old = {start}
        for k in range(n):
            new = {new}
            x1[at] = {result}
            old = new
            {move}
    else:
        for c in range(width):
            totals[c] = {start}
        for k in range(n):
            for c in range(width):
                new = {wide}
                x1[at + c] = {columns}
                totals[c] = new
            {move}
    unit = unit + width
"""
    axis = node.attrs["axis"] % shapes.rank(x)
    sizes = {"n": shapes.of(x, axis, axis + 1), "inner": shapes.of(x, axis + 1)}
    if how == "logaddexp" and set((shapes.avals[x].shape or ())[axis + 1 :]) <= {1}:
        lines = _exponents_added(text, node, dtype)
    extent = Size(1, shapes.of(x, 0, axis).dims + sizes["inner"].dims)
    each = 6.0 if how == "logaddexp" else 1.2
    return text.kernel({"x0": x, "x1": out}, sizes, lines, extent, each, (sizes["n"],))


def _exponents_added(text: Text, node: Node, dtype: str) -> str:
    """The lines of logaddexp along the last axis: sums of exponentials over the greatest so far.

    Only the greatest and the sum go from one element to the next; all mathematics is done for `TILE` of them at once.
    """
    kept, exclusive = render.register(dtype), node.attrs["exclusive"]
    names = ("values", "tops", "falls", "sums")
    made = "\n".join([f"{name} = {text.call(f'local_{kept}', str(TILE))}" for name in names])
    place = "row + n - 1 - done - c" if node.attrs["reverse"] else "row + done + c"
    zero, infinite = render.number(0, kept), render.number(float("inf"), kept)
    fall = text.call(f"min_{kept}", "falls[c]", zero)
    result = text.call(f"add_{kept}", "tops[c]", text.call(f"log_{kept}", "sums[c]"))
    return f"""
{made}
for unit in range(begin, end):
    row = unit * n
    greatest = {render.number(float("-inf"), kept)}
    top = {zero}
    total = {zero}
    done = 0
    while done < n:
        width = {text.call("min_int64", str(TILE), "n - done")}
        for c in range(width):
            value = {text.load(f"x0[{place}]", dtype)}
            old = top
            greatest = value if value > greatest else greatest
            top = greatest if {text.call(f"abs_{kept}", "greatest")} < {infinite} else {zero}
            values[c] = value - top
            falls[c] = old - top
            tops[c] = {"old" if exclusive else "top"}
        for c in range(width):
            values[c] = {text.call(f"exp_{kept}", "values[c]")}
            falls[c] = {text.call(f"exp_{kept}", fall)}
        for c in range(width):
            old = total
            total = total * falls[c] + values[c]
            sums[c] = {"old" if exclusive else "total"}
        for c in range(width):
            values[c] = {result}
        for c in range(width):
            x1[{place}] = {text.store("values[c]", dtype)}
        done = done + width
"""


# ---- scatters --------------------------------------------------------------------------------------------------------

#: An element `old` and a `value` that comes to it -> the new one: NaN as in TensorFlow's kernels.
COMBINE: dict[str, Callable[[Text, str], str]] = {
    "update": lambda text, dtype: "value",
    "add": lambda text, dtype: text.call(f"add_{dtype}", "old", "value"),
    "sub": lambda text, dtype: text.call(f"sub_{dtype}", "old", "value"),
    "mul": lambda text, dtype: text.call(f"mul_{dtype}", "old", "value"),
    "max": lambda text, dtype: "value if value > old else old",
    "min": lambda text, dtype: "value if value < old else old",
    "segmax": lambda text, dtype: "old if old > value else value",
    "segmin": lambda text, dtype: "old if old < value else value",
}


def identity_of(how: str, dtype: DType) -> Any:
    """The value of a result before anything has been scattered to it."""
    if how not in ("segmax", "segmin"):
        return int(how == "mul")
    edge = dtype.min if how == "segmax" else dtype.max
    return int(edge) if dtype.is_integer else float(edge)


@dataclass
class _Layout:
    """Places of the updates of a scatter: update j of outer index o goes to row `row` of the `rows` of o.

    `n` updates for each outer index, `mid` outer indices share the indices; a row has `inner` elements.
    """

    outer: Size
    rows: Size
    inner: Size
    n: Size
    mid: Size
    extents: tuple[Size, ...]  # of the axes that an index names
    wrong: str  # what an index out of range does: "fail", "fail unless negative" or "skip"
    columns: int | None  # what `inner` is, where that is known


def _scatter(node: Node, how: str, layout: _Layout) -> Ordered | None:
    """out = base, then for each update in order: out[row] = combination of out[row] and the update.

    The result lies over the base, if that is none of the other operands.
    """
    first, second, third = _PLACES[_kind(node)]
    updates, indices, out = node.inputs[first], node.inputs[second], node.outputs[0]
    base = None if third is None else node.inputs[third]
    dtype, index = out.aval.dtype.name, indices.aval.dtype.name
    if dtype in render.HALVES and how in ("add", "sub", "mul"):
        return None  # the ops' functions add in float32: rounding each of many sums to 16 bits would lose them
    text = Text()
    new = COMBINE[how](text, render.register(dtype))
    number = render.number(identity_of(how, out.aval.dtype), render.register(dtype))
    parts = PARTS if layout.columns is None else max(1, min(PARTS, layout.columns // COLUMNS))
    over = None if base in (updates, indices) else base
    fill = ""
    if over is None:  # what the result is before anything comes to it
        before = "x3[i]" if base is not None else text.store(number, dtype)
        fill = f"""for r in range({"outer * rows" if parts > 1 else 1}):
        for i in range(r * inner + left, {"r * inner + right" if parts > 1 else "outer * rows * inner"}):
            x2[i] = {before}"""
    depth = len(layout.extents)
    lines, row = [], "0"
    for d in range(depth):
        at = f"(batch * n + j) * {depth} + {d}" if depth > 1 else "batch * n + j"
        lines.append(f"k{d} = {text.call(f'cast_{index}_int64', f'x1[{at}]')}")
        row = f"k{d}" if d == 0 else f"({row}) * e{d} + k{d}"
    outside = " or ".join([f"k{d} < 0 or k{d} >= e{d}" for d in range(depth)])
    if depth:
        fail = [f"return {1 << 48} + batch * n + j"]
        if layout.wrong == "fail unless negative":
            fail = [f"if k0 >= 0: return {1 << 48} + batch * n + j", "continue"]
        elif layout.wrong == "skip":
            fail = ["continue"]
        lines += [f"if {outside}:", *["    " + line for line in fail]]
    checks = "\n            ".join(lines)
    shared = ""
    if parts > 1:
        shared = f"""
if inner >= {2 * COLUMNS}:
    left = {_part(text, "inner", "begin", parts)}
    right = {_part(text, "inner", "end", parts)}
elif begin > 0:
    return 0
"""
    combined = f"""
                value = {text.load("x0[source + c]", dtype)}
                old = {text.load("x2[to + c]", dtype)}
                x2[to + c] = {text.store(f"({new})", dtype)}"""
    rows_of = f"""to = row * inner
            source = (o * n + j) * inner
            for c in range(left, right):{combined}"""
    begun = ended = ""
    if layout.columns == 1 and how == "update":  # a loop of one turn would cost three times what it moves
        rows_of = "c, to, source = 0, row, o * n + j" + combined.replace("\n    ", "\n")
    elif layout.columns == 1:  # what comes to one element in a row is added up in a register: memory is waited for
        kept = f"x2[to] = {text.store('old', dtype)}"
        begun = f"to, old = 0, {text.load('x2[0]', dtype)}"
        rows_of = f"""value = {text.load("x0[o * n + j]", dtype)}
            if row != to:
                {kept}
                to, old = row, {text.load("x2[row]", dtype)}
            old = {new}"""
        ended = kept
    source = f"""
left = 0
right = inner
{shared}
if outer * rows > 0:
    {fill}
    {begun}
    for o in range(outer):
        batch = {text.call("truncatediv_int64", "o", "mid")}
        for j in range(n):
            {checks}
            row = o * rows + {row}
            {rows_of}
    {ended}
"""
    buffers = {"x0": updates, "x1": indices, "x2": out} | ({} if base is None or base is over else {"x3": base})
    sizes = {"outer": layout.outer, "rows": layout.rows, "inner": layout.inner, "n": layout.n, "mid": layout.mid}
    sizes.update((f"e{d}", extent) for d, extent in enumerate(layout.extents))
    work = Size(1, layout.outer.dims + layout.n.dims + layout.inner.dims)
    fallible = layout.wrong != "skip" and depth > 0
    each = 0.3 if parts > 1 else 1.5
    return text.kernel(buffers, sizes, source, Size(parts), each / parts, (work,), fallible=fallible, over=over)


def _part(text: Text, extent: str, unit: str, parts: int) -> str:
    return text.call("truncatediv_int64", f"{extent} * {unit}", str(parts))


def _columns(value: Value, first: int) -> int | None:
    """Number of elements of a slice, where that is known: of the axes from `first` on."""
    dims = (None,) if value.aval.shape is None else value.aval.shape[first:]
    return None if None in dims else math.prod([n or 0 for n in dims])


#: The inputs that are the updates, the indices and, if there is one, the base, by kind.
_PLACES: dict[str, tuple[int, int, int | None]] = {
    "scatter_nd": (1, 0, None),
    "tensor_scatter": (2, 1, 0),
    "segment": (0, 1, None),
    "gather_grad": (0, 1, None),
    "gather_add": (1, 2, 0),
}


def _scatter_nd(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """Rows named by the last axis of the indices."""
    indices, out = node.inputs[_PLACES[_kind(node)][1]], node.outputs[0]
    depth = indices.aval.shape[-1] if indices.aval.shape else None
    if depth is None:
        return None
    extents = tuple([shapes.of(out, d, d + 1) for d in range(depth)])
    rows, inner, n = shapes.of(out, 0, depth), shapes.of(out, depth), shapes.of(indices, 0, -1)
    return _scatter(node, how, _Layout(Size(), rows, inner, n, Size(), extents, "fail", _columns(out, depth)))


def _segment(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    ids, out = node.inputs[1], node.outputs[0]
    rows = shapes.of(out, 0, 1)
    inner, wrong = shapes.of(out, 1), "fail unless negative"
    layout = _Layout(Size(), rows, inner, shapes.of(ids), Size(), (rows,), wrong, _columns(out, 1))
    return _scatter(node, how, layout)


def _gathered(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """Back to where `gather` took elements from."""
    indices, out = node.inputs[_PLACES[_kind(node)][1]], node.outputs[0]
    axis = node.attrs["axis"] % shapes.rank(out)
    batch = node.attrs["batch_dims"]
    batch = batch % shapes.rank(indices) if batch < 0 else batch
    rows, inner, n = shapes.of(out, axis, axis + 1), shapes.of(out, axis + 1), shapes.of(indices, batch)
    outer, mid, columns = shapes.of(out, 0, axis), shapes.of(out, batch, axis), _columns(out, axis + 1)
    layout = _Layout(outer, rows, inner, n, mid, (rows,), "skip", columns)
    return _scatter(node, how, layout)


# ---- the k largest ---------------------------------------------------------------------------------------------------


def _top_k(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """Values and places of the k largest of each row, by insertion into the k found so far; a unit is one row."""
    if node.attrs["k"] > INSERTED:
        return None
    x, (values, places) = node.inputs[0], node.outputs
    dtype, index = x.aval.dtype.name, places.aval.dtype.name
    text = Text()
    value = text.load("x0[row * n + i]", dtype)
    before = text.load("x1[at - 1]", dtype)
    place = text.call(f"cast_int64_{index}", "i")
    lines = f"""
if k == 0:
    return 0
for row in range(begin, end):
    first = row * k
    filled = 0
    for i in range(n):
        value = {value}
        at = first + filled
        if filled == k:
            last = {text.load("x1[first + k - 1]", dtype)}
            if not (value > last or (value != value and last == last)):
                continue
            at = at - 1
        else:
            filled = filled + 1
        while at > first:
            before = {before}
            if not (value > before or (value != value and before == before)):
                break
            x1[at] = x1[at - 1]
            x2[at] = x2[at - 1]
            at = at - 1
        x1[at] = {text.store("value", dtype)}
        x2[at] = {place}
"""
    buffers, sizes = {"x0": x, "x1": values, "x2": places}, {"n": shapes.of(x, -1), "k": shapes.of(values, -1)}
    return text.kernel(buffers, sizes, lines, shapes.of(x, 0, -1), 2.0, (sizes["n"],))


# ---- searches and permutations ---------------------------------------------------------------------------------------


def _search(node: Node, how: str, shapes: Shapes) -> Ordered:
    """Find where values go in sorted rows, by halving, `TILE` values at a time: their steps wait for no other's.

    Which half is arithmetic: no jump, and vectors. The steps are those of one search alone, also among NaN. Integers,
    among which there is no NaN, are first looked for where the one before went, and behind that: many ascend.
    """
    (rows, values), out = node.inputs, node.outputs[0]
    dtype, index = rows.aval.dtype.name, out.aval.dtype.name
    text = Text()

    def before(place: str, value: str = "value") -> str:
        kept = text.load(f"x0[{place}]", dtype)
        return f"not {value} < {kept}" if node.attrs["right"] else f"{kept} < {value}"

    def number(condition: str) -> str:
        return text.call("cast_bool_int64", condition)

    def least(a: str, b: str) -> str:
        return text.call("min_int64", a, b)

    wanted = text.load("x1[unit + c]", dtype)
    result = text.call(f"cast_int64_{index}", "low - first")
    near = f"""
    near = 0
    while near < width and first <= low <= first + n:
        value = {text.load("x1[unit + near]", dtype)}
        if low < first + n and {before("low")}:
            low = low + 1
        if (low > first and not ({before("low - 1")})) or (low < first + n and {before("low")}):
            break
        x2[unit + near] = {result}
        near = near + 1
    unit = unit + near
    width = width - near
"""
    lines = f"""
if rows != asking:
    return {1 << 48}
lows = {text.call("local_int64", str(TILE))}
lefts = {text.call("local_int64", str(TILE))}
steps = 0
while n >> steps > 0:
    steps = steps + 1
last = n * rows - 1
low = -1
unit = begin
while unit < end:
    row = {text.call("truncatediv_int64", "unit", "m")}
    first = row * n
    width = {least(least(str(TILE), "end - unit"), "m - (unit - row * m)")}
{near if node.inputs[0].aval.dtype.is_integer else ""}
    for c in range(width):
        lows[c] = first
        lefts[c] = n
    for step in range(steps):
        for c in range(width):
            left = lefts[c]
            half = left >> 1
            middle = {least("lows[c] + half", "last")}
            came = -({number(before("middle", wanted))} & {number("left > 0")})
            lows[c] = lows[c] + ((half + 1) & came)
            lefts[c] = half - ((1 - (left & 1)) & came)
    for c in range(width):
        low = lows[c]
        x2[unit + c] = {result}
    unit = unit + width
"""
    sizes = {"n": shapes.of(rows, 1), "m": shapes.of(values, 1)}
    sizes |= {"rows": shapes.of(rows, 0, 1), "asking": shapes.of(values, 0, 1)}
    buffers = {"x0": rows, "x1": values, "x2": out}
    return text.kernel(buffers, sizes, lines, shapes.of(values), 6.0, fallible=True)


def _permutation(node: Node, how: str, shapes: Shapes) -> Ordered:
    """out[x[i]] = i, once for each; one unit."""
    x, out = node.inputs[0], node.outputs[0]
    dtype = x.aval.dtype.name
    text = Text()
    lines = f"""
for i in range(n):
    x1[i] = {dtype}(-1)
for i in range(n):
    at = {text.call(f"cast_{dtype}_int64", "x0[i]")}
    if at < 0 or at >= n:
        return {1 << 48} + i
    if x1[at] >= 0:
        return {1 << 48} + i
    x1[at] = {text.call(f"cast_int64_{dtype}", "i")}
"""
    length = shapes.of(x)
    return text.kernel({"x0": x, "x1": out}, {"n": length}, lines, Size(), 2.0, (length,), fallible=True)


def _list_set(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The result lies over the list: one row is written; all of it, if the elements' shape was not known before.

    Of a list that is written in order the first element says it; of any other, the first of one that is not begun.
    """
    buffer, index, value, *begun = node.inputs
    out = node.outputs[0]
    if shapes.rank(buffer) != shapes.rank(value) + 1 or buffer is value:
        return None
    text = Text()
    rank = shapes.rank(value)
    differ = " or ".join([f"b{d} != v{d}" for d in range(rank)])
    is_begun = "k != 0" if node.attrs.get("in_order") else "x2[0]" if begun else "True"
    rows = f"x{2 + len(begun)}"
    blank = f"""if {differ}:
    if {is_begun}:
        return {1 << 48}
    for i in range(n * inner):
        {rows}[i] = 0"""
    lines = f"""
k = {text.call(f"cast_{index.aval.dtype.name}_int64", "x1[0]")}
if k < 0 or k >= n:
    return {1 << 48}
{blank if rank else ""}
for i in range(inner):
    {rows}[k * inner + i] = x0[i]
"""
    sizes = {"n": shapes.of(buffer, 0, 1), "inner": shapes.of(value)}
    for d in range(rank):
        sizes |= {f"b{d}": shapes.of(buffer, d + 1, d + 2), f"v{d}": shapes.of(value, d, d + 1)}
    buffers = {f"x{k}": taken for k, taken in enumerate((value, index, *begun, out))}
    return text.kernel(buffers, sizes, lines, Size(), 5.0, (sizes["inner"],), fallible=True, over=buffer)


_KINDS: dict[str, Callable[[Node, str, Shapes], Ordered | None]] = {
    "philox": random_kernel,
    "scan": _scan,
    "scatter_nd": _scatter_nd,
    "tensor_scatter": _scatter_nd,
    "segment": _segment,
    "gather_grad": _gathered,
    "gather_add": _gathered,
    "slice_add": slice_add,
    "top_k": _top_k,
    "sort": row_sort,
    "search": _search,
    "list_set": _list_set,
    "permutation": _permutation,
    "max_pool": pool_kernel,
    "gemm": integer_product,
    "cholesky": cholesky_kernel,
    "qr": qr_kernel,
    "substitution": substitution_kernel,
    "solution": solution_kernel,
    "tridiagonal": tridiagonal_kernel,
    "fourier": fourier_kernel,
}

#: The kinds of step that this module writes kernels for.
KINDS = frozenset(_KINDS)
