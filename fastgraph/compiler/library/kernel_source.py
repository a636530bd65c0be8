"""A kernel written op by op, not fused: its source in the making, its sizes, and what a KernelStep takes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import Size
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Value


@dataclass
class Ordered:
    """A kernel and its arguments, as a KernelStep takes them."""

    spec: KernelSpec
    buffers: tuple[Value, ...]
    sizes: tuple[Size, ...]
    extent: Size
    cost: float  # nanoseconds per unit
    cost_dims: tuple[Size, ...]
    fallible: bool
    over: Value | None  # the input that the result is written over: what the kernel does not write stays


class Text:
    """The source of a kernel while it is written: notes the functions that it calls."""

    def __init__(self) -> None:
        self.imports: dict[str, None] = {}

    def call(self, name: str, *args: str) -> str:
        self.imports[name] = None
        return f"{name}({', '.join(args)})"

    def load(self, text: str, dtype: str) -> str:
        return render.loaded(text, dtype, self.call)

    def store(self, text: str, dtype: str) -> str:
        return render.stored(text, dtype, self.call)

    def spec(self, buffers: Mapping[str, str], sizes: Collection[str], lines: str | Iterable[str]) -> KernelSpec:
        """The kernel of these lines: the names of its slots, with their dtypes, and of its run-time numbers."""
        lines = lines.strip("\n").splitlines() if isinstance(lines, str) else lines
        types = tuple([render.storage(dtype) for dtype in buffers.values()])
        return KernelSpec(render.kernel(buffers, sizes, lines), types, len(sizes), tuple(sorted(self.imports)))

    def kernel(
        self,
        buffers: Mapping[str, Value],
        sizes: Mapping[str, Size],
        lines: str | Iterable[str],
        extent: Size,
        cost: float,
        cost_dims: tuple[Size, ...] = (),
        *,
        fallible: bool = False,
        over: Value | None = None,
    ) -> Ordered:
        """The kernel of these lines with its arguments: the values in its slots, its run-time numbers."""
        spec = self.spec({name: value.aval.dtype.name for name, value in buffers.items()}, sizes, lines)
        values, numbers = tuple(buffers.values()), tuple(sizes.values())
        return Ordered(spec, values, numbers, extent, cost, cost_dims, fallible, over)


class Shapes:
    """Products of the extents of a node's values, as run-time sizes."""

    def __init__(self, number: Mapping[Value, int], avals: Mapping[Value, Aval]) -> None:
        self.number = number
        self.avals = avals

    def rank(self, value: Value) -> int:
        shape = self.avals[value].shape
        assert shape is not None
        return len(shape)

    def of(self, value: Value, first: int = 0, stop: int | None = None) -> Size:
        """The product of the extents of the axes from `first` to before `stop`."""
        axes = range(self.rank(value))[first:stop]
        return Size(1, tuple([(self.number[value], axis) for axis in axes]))
