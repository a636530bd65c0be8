"""Whether two traces of a block compute the same, whatever values their graphs have left behind.

Rule: equal expressions have equal numbers: the op, its attributes and the numbers of its operands; what has an effect,
or reads what others write, has also its place among the effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph._buffer import Cell
from fastgraph._tensor import Tensor
from fastgraph.graph.ir import Graph, Node, Value, effects
from fastgraph.graph.structure import CONST, CUSTOM, PLACEHOLDER
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops.generators import generators


class Computed:
    """The numbers of a graph's values, those of its effects in order, and the values that no own input decides."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.effects: list[int] = []
        self.invariant: set[Value] = set()

    def of(self, values: Iterable[Value]) -> tuple[int, ...]:
        """Return what the graph computes: the numbers of these values and of the effects."""
        return (*[self.numbers[value] for value in values], *self.effects)


class Expressions:
    """The numbers of expressions, over several graphs."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any) -> int:
        """Return the number of an expression."""
        return self._numbers.setdefault(key, len(self._numbers))

    def new(self) -> int:
        """Return a number that no expression has."""
        return self.number(object())

    def traced(self, trace: GraphTrace, own: Sequence[Value], known: Mapping[Value, int]) -> Computed:
        """Number the values of a trace; `own` are its inputs, `known` placeholders that stand for expressions."""
        computed = Computed()
        origins = trace.origins()
        states = 0
        for node in trace.graph.nodes:
            if node.op is not PLACEHOLDER:
                self._node(node, computed)
                continue
            value = node.outputs[0]
            key: Any = ("captured", origins.get(value, value))
            if value in known:
                computed.numbers[value] = known[value]
                continue
            if value in own:
                key = "input", own.index(value)
            else:
                computed.invariant.add(value)
                cell = trace.handle(value)
                if isinstance(cell, Cell) and cell in generators.traced:  # an op's own: each trace makes another
                    key = "generator", states
                    states += 1
            computed.numbers[value] = self.number(key)
        return computed

    def _graph(self, graph: Graph) -> Any:
        computed = Computed()
        places = {value: k for k, value in enumerate(graph.parameters)}
        for node in graph.nodes:
            if node.op is PLACEHOLDER:
                value = node.outputs[0]
                computed.numbers[value] = self.number(("parameter", places.get(value, node)))
            else:
                self._node(node, computed)
        return len(places), computed.of(graph.outputs)

    def _node(self, node: Node, computed: Computed) -> None:
        found = effects(node)
        operands = tuple([computed.numbers[value] for value in node.inputs])
        attrs = [(name, self._attribute(value)) for name, value in sorted(node.attrs.items())
                 if not (node.op is CUSTOM and name == "key")]  # fmt: skip
        key: Any = node.op.name, tuple(attrs), operands
        if found:
            key = *key, len(computed.effects)
            computed.effects.append(self.number(key))
        elif node.op is CONST or all(value in computed.invariant for value in node.inputs):
            computed.invariant.update(node.outputs)
        for value in node.outputs:
            computed.numbers[value] = self.number((key, value.index))

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, Graph):
            return self.number(self._graph(value))
        if isinstance(value, Tensor):
            value = value.numpy()
        if isinstance(value, (np.ndarray, np.generic)):
            held = value.tolist() if value.dtype.hasobject else value.tobytes()
            return str(value.dtype), value.shape, repr(held)
        if isinstance(value, (list, tuple)):
            return type(value).__name__, tuple([self._attribute(each) for each in value])
        if isinstance(value, dict):
            return tuple([(name, self._attribute(each)) for name, each in value.items()])
        if isinstance(value, (bool, int, float, complex)):
            return type(value).__name__, repr(value)  # 1 is not True, and 0.0 not -0.0
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value
