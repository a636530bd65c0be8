"""The kernel that adds a tensor to part of another: the sum lies over the other, and only the part is touched.

Rule: what the indices say is checked against the extents of this call, so that nothing is written outside; what does
not fit is left alone, as in the gradient that this replaces (reading the part has failed before).
"""

from __future__ import annotations

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes, Text
from fastgraph.compiler.program.program import Size
from fastgraph.graph.ir import Node
from fastgraph.ops.indexing import Part, lay_out

_FAR = 2**62
_WHOLE = ((None, None, None), (None, None, 1))


def slice_add(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The kernel of `strided_slice_add`; None where one of its operands is what it would write over."""
    x, dy, *positions = node.inputs
    if x is dy or x in positions:
        return None
    return _Part(node, shapes).kernel()


class _Part:
    """The kernel in the making: the axes of x, outermost first, with those of dy that run along them."""

    def __init__(self, node: Node, shapes: Shapes) -> None:
        self.x, self.dy, *self.positions = node.inputs
        self.out, self.shapes, self.text = node.outputs[0], shapes, Text()
        self.parts, self.layout = lay_out(node.attrs["spec"], shapes.rank(self.x))
        self.buffers = list(dict.fromkeys([self.dy, self.out, *self.positions]))
        self.sizes: dict[Size, str] = {}
        self.lines: list[str] = []
        self.fits: list[str] = []
        self.taken = 0

    def kernel(self) -> Ordered:
        """The whole."""
        parts, dtype = self.parts, self.out.aval.dtype.name
        n = len(parts)
        while n and _is_whole(parts[n - 1]):
            n -= 1
        inner = self.shapes.of(self.x, n)
        loops: list[str] = []
        to = source = ""
        for axis in range(n):
            extent = self.size(self.shapes.of(self.x, axis, axis + 1))
            at = self.index(axis, extent) if parts[axis][0] == "i" else ""
            if not at:
                place = self.layout.index(axis)
                count = self.size(self.shapes.of(self.dy, place, place + 1))
                at = f"i{axis}" if _is_whole(parts[axis]) else self.slice(axis, extent, count)
                loops.append(f"for i{axis} in range({count}):")
                source = f"({source}) * {count} + i{axis}" if source else f"i{axis}"
            to = f"({to}) * {extent} + {at}" if to else at
        row = self.size(inner)
        body = [f"to = ({to or '0'}) * {row}", f"source = ({source or '0'}) * {row}", f"for c in range({row}):"]
        old, value = self.text.load("x1[to + c]", dtype), self.text.load("x0[source + c]", dtype)
        new = self.text.call(f"add_{render.register(dtype)}", "old", "value")
        body += [f"    old = {old}", f"    value = {value}", f"    x1[to + c] = {self.text.store(new, dtype)}"]
        for depth, header in enumerate([f"if {' and '.join(self.fits)}:" if self.fits else "if True:", *loops]):
            self.lines.append("    " * depth + header)
        self.lines += ["    " * (1 + len(loops)) + line for line in body]
        buffers = {f"x{k}": value for k, value in enumerate(self.buffers)}
        sizes = {name: size for size, name in self.sizes.items()}
        return self.text.kernel(buffers, sizes, self.lines, Size(), 0.5, (self.shapes.of(self.dy),), over=self.x)

    def size(self, size: Size) -> str:
        """The name of a run-time number. Numbers of the spec are such too: indices then share a kernel."""
        return self.sizes.setdefault(size, f"n{len(self.sizes)}")

    def number(self, n: int | str) -> str:
        """A number of the spec: the next of the positions where it says "t"."""
        if isinstance(n, int):
            return self.size(Size(max(-_FAR, min(n, _FAR))))
        vector = len(self.positions) == 1 and self.shapes.rank(self.positions[0]) == 1
        value = self.positions[0 if vector else self.taken]
        at = f"x{self.buffers.index(value)}[{self.taken if vector else 0}]"
        self.taken += 1
        return self.text.call(f"cast_{value.aval.dtype.name}_int64", at)

    def from_end(self, name: str, n: int | str, extent: str) -> None:
        """Lines that give `name` the place that a number names, from the end if it is negative."""
        self.lines += [f"{name} = {self.number(n)}", f"if {name} < 0:", f"    {name} = {name} + {extent}"]

    def index(self, axis: int, extent: str) -> str:
        name = f"k{axis}"
        self.from_end(name, self.parts[axis][1], extent)
        self.fits += [f"{name} >= 0", f"{name} < {extent}"]
        return name

    def slice(self, axis: int, extent: str, count: str) -> str:
        """The place on this axis of element i of a slice; lines that find where it begins, as Python does."""
        _, first, end, step = self.parts[axis]
        begin, low, high, by, last = (f"{letter}{axis}" for letter in "klhsz")
        start = f"f{axis}"
        if first is not None:
            self.from_end(start, first, extent)
        if end == "t":
            self.number(end)  # how many elements there are says where a slice ends
        self.lines += [
            f"{by} = {1 if step is None else self.number(step)}",
            f"{low} = 0",
            f"{high} = {extent}",
            f"if {by} < 0:",
            f"    {low} = -1",
            f"    {high} = {extent} - 1",
        ]
        if first is None:
            self.lines += [f"{begin} = {low}", f"if {by} < 0:", f"    {begin} = {high}"]
        else:
            lowest = self.text.call("max_int64", start, low)
            self.lines.append(f"{begin} = {self.text.call('min_int64', lowest, high)}")
        self.lines += [f"{last} = {begin}", f"if {count} > 0:", f"    {last} = {begin} + ({count} - 1) * {by}"]
        self.fits += [f"({count} == 0 or ({begin} >= 0 and {begin} < {extent} and {last} >= 0 and {last} < {extent}))"]
        return f"{begin} + i{axis} * {by}"


def _is_whole(part: Part) -> bool:
    return part[0] == "s" and part[1:] in _WHOLE
