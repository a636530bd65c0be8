"""Kernels that sort short rows: neighbours change places where they are in the wrong order, many rows side by side.

Rule: equals never pass each other, so it is the stable order; NaN counts as greater than any number. Each row takes the
same steps whatever is in it: no jumps, and vectors across the rows. Of longer rows elements that are far apart change
places, by Batcher's merge exchange (Knuth 5.2.2, M): where they stood decides among equals that differ.
"""

from __future__ import annotations

from collections.abc import Callable

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.graph.ir import Node

#: Elements of the longest row whose neighbours change places: there are steps by their square.
NEAR = 24
#: Elements of the longest row. Of more NumPy's sort is the faster.
MOST = 128
#: Rows side by side.
ROWS = 16


def row_sort(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The elements of rows of a known length in order, or ("places") where they stood; a unit is one row."""
    x, out = node.inputs[0], node.outputs[0]
    n = x.aval.shape[-1] if x.aval.shape else None
    if n is None or not 0 < n <= MOST:
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
    tracked = how == "places" or (n > NEAR and x.aval.dtype.is_floating)  # of floats there are two noughts
    places = f"places = {text.call('local_int32', str(n * ROWS))}" if tracked else ""
    if tracked:
        begun = [f"places[i * {ROWS} + c] = {text.call('cast_int64_int32', 'i')}"]
        moved = [
            f"p = places[i * {ROWS} + c]",
            f"q = places[(i + 1) * {ROWS} + c]",
            f"places[i * {ROWS} + c] = {choice('int32', 'q', 'p')}",
            f"places[(i + 1) * {ROWS} + c] = {choice('int32', 'p', 'q')}",
        ]
        result = f"places[i * {ROWS} + c]" if how == "places" else result
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
    if n > NEAR:
        steps, more_places = _merge_exchange(n, kept, tracked, x.aval.dtype.is_floating, turn, choice, text, rows)
        places += more_places
    lines = f"""
kept = {text.call(f"local_{kept}", str(n * ROWS))}
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
    cost = (0.1 * n * n if n <= NEAR else 0.05 * n * n.bit_length() ** 2) + 0.5 * n
    return text.kernel({"x0": x, "x1": out}, {}, source, shapes.of(x, 0, -1), cost)


def _merge_exchange(
    n: int,
    kept: str,
    tracked: bool,
    floating: bool,
    turn: str,
    choice: Callable[[str, str, str], str],
    text: Text,
    rows: str,
) -> tuple[str, str]:
    """The steps, and the room for pairs: copies, or the compiler would not see that their places are two."""
    arrays = {"kept": (kept, "a", "b"), **({"places": ("int32", "p", "q")} if tracked else {})}
    room = [
        f"{k}_of_{name} = {text.call(f'local_{kind}', str(ROWS))}" for name, (kind, *_) in arrays.items() for k in "ij"
    ]
    if tracked:
        same = "(a == b) | ((a != a) & (b != b))" if floating else "a == b"
        turn = f"({turn}) | (({same}) & (p > q))"
    take, give_i, give_j = [], [], []
    read = [
        f"{letter} = {k}_of_{name}[c]"
        for name, (_, *both) in arrays.items()
        for k, letter in zip("ij", both, strict=True)
    ]
    for name, (kind, first, second) in arrays.items():
        take += [f"i_of_{name}[c] = {name}[i * {ROWS} + c]", f"j_of_{name}[c] = {name}[j + c]"]
        give_i.append(f"{name}[i * {ROWS} + c] = {choice(kind, second, first)}")
        give_j.append(f"{name}[j + c] = {choice(kind, first, second)}")
    loops = [take, *[[*read, f"turn = {turn}", give] for give in (*give_i, *give_j)]]
    indent = "\n" + " " * 24
    body = "".join(
        [f"\n{' ' * 20}for c in range({rows}):" + "".join([indent + line for line in loop]) for loop in loops]
    )
    half = 1 << (n - 1).bit_length() - 1
    steps = f"""
    p_ = {half}
    while p_ > 0:
        q_ = {half}
        r_ = 0
        d = p_
        while d > 0:
            for i in range({n} - d):
                if (i & p_) == r_:
                    j = (i + d) * {ROWS}{body}
            d = q_ - p_
            q_ = q_ >> 1
            r_ = p_
        p_ = p_ >> 1
"""
    return steps, "\n" + "\n".join(room)
