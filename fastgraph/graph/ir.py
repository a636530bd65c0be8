"""The graph: nodes in program order, values between them, and the check that a graph is well formed.

Rule: a graph's node list is its program order; effects are ordered by it and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastgraph.shapes import Aval


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's program."""

    file: str
    line: int
    function: str


class Value:
    """An edge: the result `index` of `node`."""

    __slots__ = ("aval", "index", "node")

    def __init__(self, node: Node, index: int, aval: Aval) -> None:
        self.node = node
        self.index = index
        self.aval = aval


class Node:
    """One application of a primitive."""

    __slots__ = ("attrs", "device", "inputs", "name", "op", "outputs", "source")

    def __init__(
        self,
        op: Any,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        avals: tuple[Aval, ...],
        name: str,
        source: tuple[SourceLine, ...] = (),
        device: str | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.name = name
        self.source = source
        self.device = device
        self.outputs = tuple(Value(self, i, aval) for i, aval in enumerate(avals))


class Graph:
    """A function as data: placeholders in, values out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.captures: list[tuple[Any, Value]] = []  # outside tensor or Variable's cell -> its placeholder
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)
