"""Kernels that sort short rows: neighbours change places where they are in the wrong order, many rows side by side.

Rule: equals never pass each other, so it is the stable order; NaN counts as greater than any number. Each row takes the
same steps whatever is in it: no jumps, and vectors across the rows. Of longer rows, of which the values alone are
wanted, elements that are far apart change places, by Batcher's merge exchange (Knuth 5.2.2, M).
"""

from __future__ import annotations

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.graph.ir import Node

#: Elements of the longest row that is sorted so. Of more, which take steps by their square, NumPy's sort is the faster.
MOST = 24
#: And of those of which values are wanted.
MOST_VALUES = 128
#: Rows side by side.
ROWS = 16


def row_sort(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The elements of rows of a known length in order, or ("places") where they stood; a unit is one row."""
    x, out = node.inputs[0], node.outputs[0]
    n = x.aval.shape[-1] if x.aval.shape else None
    if n is None or not 0 < n <= (MOST if how == "places" else MOST_VALUES):
        return None
    dtype = x.aval.dtype.name
    kept, text = render.register(dtype), Text()

    def choice(kind: str, yes: str, no: str) -> str:
        return text.call(f"select_{kind}", "turn", yes, no)

    more, less = ("a", "b") if node.attrs["descending"] else ("b", "a")
    turn = f"{more} < {less}"
    if x.aval.dtype.is_floating:
        turn = f"({turn}) | (({less} != {less}) & ({more} == {more}))"
    begun, moved = [], []
    result = text.store(f"kept[i * {ROWS} + c]", dtype)
    places = f"places = {text.call('local_int32', str(n * ROWS))}" if how == "places" else ""
    if places:
        begun = [f"places[i * {ROWS} + c] = {text.call('cast_int64_int32', 'i')}"]
        moved = [
            f"p = places[i * {ROWS} + c]",
            f"q = places[(i + 1) * {ROWS} + c]",
            f"places[i * {ROWS} + c] = {choice('int32', 'q', 'p')}",
            f"places[(i + 1) * {ROWS} + c] = {choice('int32', 'p', 'q')}",
        ]
        result = f"places[i * {ROWS} + c]"
    row = f"row = (unit + {text.call('min_int64', 'c', 'width - 1')}) * {n}"
    rows = text.call("tile_int64", str(ROWS), str(ROWS))  # not unrolled: whole vectors
    indented = "\n                ".join(moved)
    steps = f"""
    for turns in range({n}):
        for pair in range(({n} - (turns & 1)) >> 1):
            i = 2 * pair + (turns & 1)
            for c in range({rows}):
                a = kept[i * {ROWS} + c]
                b = kept[(i + 1) * {ROWS} + c]
                turn = {turn}
                kept[i * {ROWS} + c] = {choice(kept, "b", "a")}
                kept[(i + 1) * {ROWS} + c] = {choice(kept, "a", "b")}
                {indented}
"""
    pair = ""
    if n > MOST:  # of whose places the compiler does not see that they are two: copies tell
        room = text.call(f"local_{kept}", str(ROWS))
        pair = f"first = {room}\nsecond = {room}"
        steps = f"""
    p = {1 << (n - 1).bit_length() - 1}
    while p > 0:
        q = {1 << (n - 1).bit_length() - 1}
        r = 0
        d = p
        while d > 0:
            for i in range({n} - d):
                if (i & p) == r:
                    j = (i + d) * {ROWS}
                    for c in range({rows}):
                        first[c] = kept[i * {ROWS} + c]
                        second[c] = kept[j + c]
                    for c in range({rows}):
                        a = first[c]
                        b = second[c]
                        turn = {turn}
                        kept[i * {ROWS} + c] = {choice(kept, "b", "a")}
                    for c in range({rows}):
                        a = first[c]
                        b = second[c]
                        turn = {turn}
                        kept[j + c] = {choice(kept, "a", "b")}
            d = q - p
            q = q >> 1
            r = p
        p = p >> 1
"""
    lines = f"""
kept = {text.call(f"local_{kept}", str(n * ROWS))}
{pair}
{places}
unit = begin
while unit < end:
    width = {text.call("min_int64", str(ROWS), "end - unit")}
    for i in range({n}):
        for c in range({rows}):
            {row}
            kept[i * {ROWS} + c] = {text.load("x0[row + i]", dtype)}
            {"".join(begun)}
{steps}
    for i in range({n}):
        for c in range({rows}):
            {row}
            x1[row + i] = {result}
    unit = unit + width
"""
    source = [line for line in lines.splitlines() if line.strip()]
    cost = (0.1 * n * n if n <= MOST else 0.05 * n * n.bit_length() ** 2) + 0.5 * n
    return text.kernel({"x0": x, "x1": out}, {}, source, shapes.of(x, 0, -1), cost)
