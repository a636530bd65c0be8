"""A kernel written op by op, not fused: its source in the making, its sizes, and what a KernelStep takes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastgraph.compiler.cpu import spelling as spell
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
    fallible: bool = False
    over: Value | None = None  # the input that the result is written over: what the kernel does not write stays


class Text:
    """The source of a kernel while it is written: notes the functions that it calls."""

    def __init__(self) -> None:
        self.imports: dict[str, None] = {}

    def call(self, name: str, *args: str) -> str:
        self.imports[name] = None
        return f"{name}({', '.join(args)})"

    def load(self, text: str, dtype: str) -> str:
        return spell.loaded(text, dtype, self.call)

    def store(self, text: str, dtype: str) -> str:
        return spell.stored(text, dtype, self.call)

    def spec(self, source: str, dtypes: Sequence[str], n_sizes: int) -> KernelSpec:
        return KernelSpec(source, tuple([spell.storage(d) for d in dtypes]), n_sizes, tuple(sorted(self.imports)))


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
