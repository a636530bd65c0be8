"""Kernels of the ops whose results are counted: masks, the places of what is not 0, segments of sorted ids.

Rule: the first kernel counts, part by part; the second is run when there is memory for just that many results, and each
of its parts begins where the counts before it say. A part reads nothing that another writes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Shapes, Text
from fastgraph.compiler.library.sequential_ops import COMBINE
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import CountedStep, Fallible, KernelStep, Size, Step
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node, Value

#: Into how many parts the work is cut.
PARTS = 32
#: Columns of a row that are summed side by side, in registers: the last ones lie over those before them.
WIDTHS = (32, 8)
#: Rows that are added to them in one turn: a total waits for itself as seldom.
ROWS = 4
_OTHER = {"string", "variant", "resource"}
_FAIL = f"return {1 << 48}"


@dataclass
class _Kernel:
    """One of the two kernels, apart from the counts: its body, its operands, its sizes by name."""

    lines: str
    operands: tuple[Value, ...]
    sizes: dict[str, Size]
    each: float  # nanoseconds per element of `work`
    work: Size


@dataclass
class _Pair:
    """The kernel that counts, and the one that writes the result."""

    text: tuple[Text, Text]
    count: _Kernel
    write: _Kernel
    fallible: bool = False


def steps(
    node: Node, number: Mapping[Value, int], avals: Mapping[Value, Aval], scratch: Callable[[str, int], Value]
) -> list[Step] | None:
    """The steps of a node whose op is of one of these kinds; None where no kernel can compute it."""
    kind, _, how = (node.op.step or "").partition(".")
    values = (*node.inputs, *node.outputs)
    if any(v.aval.dtype.name in _OTHER or avals[v].shape is None for v in values):
        return None
    pair = _KINDS[kind](node, how, Shapes(number, avals))
    if pair is None:
        return None
    counts = scratch("int64", PARTS)
    (out,) = node.outputs

    def step(kernel: _Kernel, text: Text, inputs: Sequence[Value], output: Value) -> KernelStep:
        buffers = (*kernel.operands, counts, *([out] if output is out else []))
        if pair.fallible:  # its NumPy body says what is wrong
            inputs = [*inputs, *[v for v in node.inputs if v not in inputs and avals[v].value is None]]
        return KernelStep(
            inputs=tuple([number[v] for v in inputs]),
            outputs=(number[output],),
            nodes=(node,),
            kernel=_spec(text, kernel, buffers),
            buffers=tuple([number[v] for v in buffers]),
            sizes=tuple(kernel.sizes.values()),
            extent=Size(PARTS),
            cost=kernel.each / PARTS,
            cost_dims=(kernel.work,),
            fallible=(Fallible(node, "body"),) if pair.fallible else (),
        )

    first = step(pair.count, pair.text[0], pair.count.operands, counts)
    second = step(pair.write, pair.text[1], (*pair.write.operands, counts), out)
    return [first, CountedStep(**vars(second), counts=number[counts]) if kind == "counted" else second]


def _spec(text: Text, kernel: _Kernel, buffers: Sequence[Value]) -> KernelSpec:
    names = [*[f"x{i}" for i in range(len(kernel.operands))], "counts", "out"]
    dtypes = [value.aval.dtype.name for value in buffers]
    return text.spec(dict(zip(names, dtypes, strict=False)), kernel.sizes, kernel.lines)


def _divided(text: Text, a: str, b: str) -> str:
    return text.call("truncatediv_int64", a, b)


def _begin(text: Text, n: str, part: str) -> str:
    """Return where a part of n elements begins."""
    return _divided(text, f"{n} * ({part})", str(PARTS))


def _holds(text: Text, read: str, dtype: str) -> str:
    """1 where an element is not 0, else 0."""
    value = text.load(read, dtype)
    if dtype == "bool":
        return text.call("cast_bool_int64", value)
    kind = render.register(dtype)
    return text.call("cast_bool_int64", text.call(f"ne_{kind}", value, render.number(0, kind)))


def _counting(text: Text, dtype: str, checks: Sequence[str] = ()) -> str:
    refuse = f"if {' or '.join(checks)}:\n    {_FAIL}\n" if checks else ""
    return f"""{refuse}for part in range(begin, end):
    total = 0
    for i in range({_begin(text, "n", "part")}, {_begin(text, "n", "part + 1")}):
        total = total + {_holds(text, "x0[i]", dtype)}
    counts[part] = total
"""


_FROM = """at = 0
    for p in range(part):
        at = at + counts[p]
    stop = at + counts[part]"""


# ---- places and masks ------------------------------------------------------------------------------------------------


def _where(node: Node, shapes: Shapes) -> _Pair:
    """The indices of what is not 0. Every position is written, and stays where the element holds: without a branch."""
    (x,), dtype, rank = node.inputs, node.inputs[0].aval.dtype.name, shapes.rank(node.inputs[0])
    first, second = Text(), Text()
    n = {"n": shapes.of(x)}
    lines = ""
    if rank:
        last = "at" if rank == 1 else f"at * {rank} + {rank - 1}"
        lines = f"""for part in range(begin, end):
    {_FROM}
    low = at
    i = {_begin(second, "n", "part")}
    while at < stop:
        out[{last}] = i
        at = at + {_holds(second, "x0[i]", dtype)}
        i = i + 1
"""
    if rank > 1:
        lines += f"    for k in range(low, stop):\n        rest = out[k * {rank} + {rank - 1}]\n"
        for d in reversed(range(1, rank)):
            lines += f"        outer = {_divided(second, 'rest', f'e{d}')}\n"
            lines += f"        out[k * {rank} + {d}] = rest - outer * e{d}\n        rest = outer\n"
        lines += f"        out[k * {rank}] = rest\n"
    extents = {f"e{d}": shapes.of(x, d, d + 1) for d in range(1, rank)}
    count = _Kernel(_counting(first, dtype), (x,), n, 0.3, n["n"])
    return _Pair((first, second), count, _Kernel(lines, (x,), {**n, **extents}, 1.5, n["n"]))


def _covered(shapes: Shapes, mask: Value, tensor: Value) -> dict[str, Size]:
    """The extents of a mask and those that it covers."""
    axes = range(shapes.rank(mask))
    return {f"{name}{d}": shapes.of(v, d, d + 1) for d in axes for name, v in (("m", mask), ("t", tensor))}


def _mask(node: Node, shapes: Shapes) -> _Pair | None:
    """The rows of a tensor where a mask holds."""
    tensor, mask = node.inputs
    depth = shapes.rank(mask)
    if shapes.rank(tensor) < depth:
        return None
    first, second = Text(), Text()
    extents = _covered(shapes, mask, tensor)
    n, inner = {"n": shapes.of(mask)}, {"inner": shapes.of(tensor, depth)}
    whole = shapes.rank(tensor) == depth  # a row is one element, which is written without asking
    copy = "out[at] = x1[i]"
    if not whole:
        copy = f"""if {second.load("x0[i]", "bool")}:
            for c in range(inner):
                out[at * inner + c] = x1[i * inner + c]"""
    lines = f"""for part in range(begin, end):
    {_FROM}
    i = {_begin(second, "n", "part")}
    while at < stop:
        {copy}
        at = at + {_holds(second, "x0[i]", "bool")}
        i = i + 1
"""
    checks = [f"m{d} != t{d}" for d in range(depth)]
    count = _Kernel(_counting(first, "bool", checks), (mask,), {**n, **extents}, 0.3, n["n"])
    work = Size(1, n["n"].dims + inner["inner"].dims)
    write = _Kernel(lines, (mask, tensor), {**n, **inner}, 1.0, work)
    return _Pair((first, second), count, write, True)


def _place(node: Node, how: str, shapes: Shapes) -> _Pair | None:
    """Zeros, and the rows of a tensor where a mask holds."""
    values, mask, _ = node.inputs
    (out,) = node.outputs
    depth = shapes.rank(mask)
    if shapes.rank(values) < 1 or shapes.rank(out) != depth + shapes.rank(values) - 1:
        return None
    dtype = values.aval.dtype.name
    first, second = Text(), Text()
    extents = _covered(shapes, mask, out)
    rows = {f"r{d}": shapes.of(values, d, d + 1) for d in range(1, shapes.rank(values))}
    wide = {f"o{d}": shapes.of(out, depth + d - 1, depth + d) for d in range(1, shapes.rank(values))}
    n, given, inner = shapes.of(mask), shapes.of(values, 0, 1), shapes.of(values, 1)
    checks = [f"m{d} != t{d}" for d in range(depth)] + [f"r{d} != o{d}" for d in range(1, shapes.rank(values))]
    zero = second.store(render.number(0, render.register(dtype)), dtype)
    row = f"""\
        if {second.load("x0[i]", "bool")}:
            for c in range(inner):
                out[i * inner + c] = x1[at * inner + c]
            at = at + 1
        else:
            for c in range(inner):
                out[i * inner + c] = {zero}
"""
    if shapes.rank(values) == 1:  # without a branch: some element is read for each
        near = second.call("min_int64", "at", "given - 1")
        row = f"""\
        holds = {_holds(second, "x0[i]", "bool")}
        value = x1[{near}] if given > 0 else {zero}
        out[i] = value if holds != 0 else {zero}
        at = at + holds
"""
    lines = f"""total = 0
for p in range({PARTS}):
    total = total + counts[p]
if total != given:
    {_FAIL}
for part in range(begin, end):
    at = 0
    for p in range(part):
        at = at + counts[p]
    for i in range({_begin(second, "n", "part")}, {_begin(second, "n", "part + 1")}):
{row}"""
    count = _Kernel(_counting(first, "bool", checks), (mask,), {"n": n, **extents, **rows, **wide}, 0.3, n)
    write = _Kernel(lines, (mask, values), {"n": n, "given": given, "inner": inner}, 1.0, Size(1, n.dims + inner.dims))
    return _Pair((first, second), count, write, True)


# ---- segments of sorted ids ------------------------------------------------------------------------------------------


def _segments(node: Node, how: str, shapes: Shapes) -> _Pair | None:
    """One row for each id up to the last: that of its elements, found by halving; added in their order."""
    data, ids = node.inputs
    if shapes.rank(data) < 1 or shapes.rank(ids) != 1:
        return None
    dtype, index = data.aval.dtype.name, ids.aval.dtype.name
    first, second = Text(), Text()
    n, rows, inner = shapes.of(ids), shapes.of(data, 0, 1), shapes.of(data, 1)
    own, before = (first.call(f"cast_{index}_int64", f"x0[{i}]") for i in ("i", "i - 1"))
    lines = f"""if n != rows:
    {_FAIL}
for part in range(begin, end):
    counts[part] = 0
    i = {_begin(first, "n", "part")}
    stop = {_begin(first, "n", "part + 1")}
    if i == 0 and n > 0 and {own} < 0:
        return {1 << 48}
    falls = 0
    for i in range({first.call("max_int64", "i", "1")}, stop):
        falls = falls + {first.call("cast_bool_int64", f"{own} < {before}")}
    if falls > 0:
        return {1 << 48}
    if part == {PARTS - 1} and n > 0:
        counts[part] = {first.call(f"cast_{index}_int64", "x0[n - 1]")} + 1
"""
    count = _Kernel(lines, (ids,), {"n": n, "rows": rows}, 0.5, n)
    return _Pair((first, second), count, _segment_rows(second, how, dtype, index, (ids, data), (n, inner)), True)


def _segment_rows(
    text: Text, how: str, dtype: str, index: str, operands: tuple[Value, ...], sizes: tuple[Size, Size]
) -> _Kernel:
    kept = render.register(dtype)
    combined = COMBINE["add" if how == "mean" else how](text, kept)
    none = render.number(int(how == "mul"), kept)
    start = none
    if how in ("segmax", "segmin"):
        start = render.edge("max" if how == "segmax" else "min", kept)
    result = "total"
    if how == "mean":
        count = text.call(f"cast_int64_{dtype}", "at - first")
        integer = dtype not in (*render.FLOATS, "complex64", "complex128")
        result = text.call(f"{'truncatediv' if integer else 'div'}_{kept}", result, count)
    result = f"{none} if at == first else {result}"
    n, inner = sizes
    found = f"{text.call(f'cast_{index}_int64', 'x0[at]')} == row"
    turns = "\n".join(
        f"""\
                    value = {text.load(f"x1[(j + {k}) * inner + left + c]", dtype)}
                    old = {combined}"""
        for k in range(ROWS)
    )
    folded = f"""\
            for c in range(WIDTH):
                totals[c] = {start}
            j = first
            while j + {ROWS} <= at:
                for c in range(WIDTH):
                    old = totals[c]
{turns}
                    totals[c] = old
                j = j + {ROWS}
            while j < at:
                for c in range(WIDTH):
                    old = totals[c]
                    value = {text.load("x1[j * inner + left + c]", dtype)}
                    totals[c] = {combined}
                j = j + 1
            for c in range(WIDTH):
                total = totals[c]
                out[row * inner + left + c] = {result}"""
    tiles = [
        f"""\
        {"el" if k else ""}if inner >= {width}:
            for c0 in range(0, inner, {width}):
                left = {text.call("min_int64", "c0", f"inner - {width}")}
{textwrap.indent(folded.replace("WIDTH", str(width)), "    ")}"""
        for k, width in enumerate(WIDTHS)
    ]
    columns = f"""\
        while at < n and {found}:
            at = at + 1
{chr(10).join(tiles)}
        else:
            left = 0
{folded.replace("WIDTH", "inner")}
"""
    array = "totals = " + text.call(f"local_{kept}", str(WIDTHS[0]))
    single = f"""\
        total = {start}
        while at < n and {found}:
            old = total
            value = {text.load("x1[at]", dtype)}
            total = {combined}
            at = at + 1
        out[row] = {result}
"""
    lines = f"""rows = counts[{PARTS - 1}]
{array}
for part in range(begin, end):
    begins = {_begin(text, "rows", "part")}
    ends = {_begin(text, "rows", "part + 1")}
    at = 0
    high = n
    while at < high:
        middle = at + ((high - at) >> 1)
        if {text.call(f"cast_{index}_int64", "x0[middle]")} < begins:
            at = middle + 1
        else:
            high = middle
    for row in range(begins, ends):
        first = at
{columns if inner.dims else single}"""
    return _Kernel(lines, operands, {"n": n, "inner": inner}, 1.5, Size(1, n.dims + inner.dims))


def _counted(node: Node, how: str, shapes: Shapes) -> _Pair | None:
    if how == "where":
        return _where(node, shapes)
    return _mask(node, shapes) if how == "mask" else _segments(node, how, shapes)


_KINDS: dict[str, Callable[[Node, str, Shapes], _Pair | None]] = {"counted": _counted, "placed": _place}

#: The kinds of step that this module writes kernels for.
KINDS = frozenset(_KINDS)
